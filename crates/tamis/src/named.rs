//! Small enumerations whose variants have one name each: the same in options, files and messages.

/// Defines an enumeration with its names: `ALL`, `name`, `Display`, `FromStr` and serde all read one table.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $type:ident ($kind:literal) { $($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type { $($(#[$doc])* $variant),+ }

        impl $type {
            /// All of them, in the order they are listed to people.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in options and files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                let known = || Self::ALL.iter().copied();
                known()
                    .find(|one| one.name() == text)
                    .ok_or_else(|| $crate::Error::unknown($kind, text, known().map(Self::name)))
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                name.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use named;
