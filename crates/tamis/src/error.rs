//! The one error of the library: it knows where the trouble is and what to do next.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::option::{OPTIONS, mention};

/// Result with the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where in an input something was found: a file (or `-`) and, when known, a line counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, folder or `-` for standard input, as the user named it.
    pub path: PathBuf,
    /// Line counted from 1.
    pub line: Option<u64>,
}

impl Place {
    /// A whole file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), line: None }
    }

    /// A line of a file, counted from 1.
    pub fn line(path: impl Into<PathBuf>, line: u64) -> Self {
        Self { path: path.into(), line: Some(line) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.path.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

/// Everything that can go wrong in the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A record or file does not follow its format.
    #[error("{place}: {reason}")]
    Malformed {
        /// File and line.
        place: Place,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A name that is not in a registry.
    #[error("unknown {kind} {name:?}{}", suggestion(nearest, known))]
    Unknown {
        /// What kind of thing was named, such as "selector".
        kind: &'static str,
        /// The name as given.
        name: String,
        /// Known names close to the given one.
        nearest: Vec<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// An expression that does not parse; `at` is the byte offset of the offending character.
    #[error("{reason}\n  {text}\n  {}^", " ".repeat(text[..*at].chars().count()))]
    Expression {
        /// The expression.
        text: String,
        /// Byte offset into `text`, on a character boundary.
        at: usize,
        /// What was expected there.
        reason: String,
    },
    /// An option outside its range, or options that exclude each other.
    #[error("{}: {reason}", setting(option, value))]
    Invalid {
        /// The option; of [`OPTIONS`](crate::OPTIONS) where the user has it.
        option: String,
        /// The value given.
        value: String,
        /// What is allowed.
        reason: String,
    },
    /// The data does not allow what was asked, such as training without labels.
    #[error("{reason}")]
    Data {
        /// What is missing and what to do.
        reason: String,
    },
    /// A model or counts file that is damaged, or of a version this program does not know.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Wraps an I/O error with the path it happened on.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// A malformed record at a line of a file.
    pub fn malformed(path: impl AsRef<Path>, line: u64, reason: impl Into<String>) -> Self {
        Self::Malformed { place: Place::line(path.as_ref(), line), reason: reason.into() }
    }

    /// A malformed file as a whole.
    pub fn malformed_file(path: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        Self::Malformed { place: Place::file(path.as_ref()), reason: reason.into() }
    }

    /// An option with a value that is not allowed.
    pub fn invalid(option: impl Into<String>, value: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self::Invalid { option: option.into(), value: value.to_string(), reason: reason.into() }
    }

    /// Data that does not allow what was asked.
    pub fn data(reason: impl Into<String>) -> Self {
        Self::Data { reason: reason.into() }
    }

    /// A name missing from a registry; the nearest known names are suggested.
    pub fn unknown<'a>(kind: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
        let mut near: Vec<(usize, &String)> = known
            .iter()
            .map(|k| (edit_distance(name, k), k))
            .filter(|(d, k)| *d <= 1 + k.chars().count() / 3 || (name.len() >= 2 && k.contains(name)))
            .collect();
        near.sort();
        let nearest = near.into_iter().take(3).map(|(_, k)| k.clone()).collect();
        Self::Unknown { kind, name: name.to_owned(), nearest, known }
    }

    /// Whether the user's input or options are at fault (exit code 2), not the machine (exit code 1).
    pub fn is_input(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                use std::io::ErrorKind;
                matches!(
                    source.kind(),
                    ErrorKind::NotFound
                        | ErrorKind::AlreadyExists
                        | ErrorKind::DirectoryNotEmpty
                        | ErrorKind::InvalidData
                        | ErrorKind::InvalidFilename
                        | ErrorKind::InvalidInput
                        | ErrorKind::IsADirectory
                        | ErrorKind::NotADirectory
                        | ErrorKind::PermissionDenied
                        | ErrorKind::ReadOnlyFilesystem
                        | ErrorKind::UnexpectedEof
                ) || source.raw_os_error() == Some(TOO_MANY_LINKS)
            }
            Self::Interrupted => false,
            _ => true,
        }
    }
}

/// What Linux calls a path whose links go in a circle (ELOOP); the standard library has no stable name for it.
const TOO_MANY_LINKS: i32 = 40;

/// An option and its value; those that users have are written so that skins find them.
fn setting(option: &str, value: &str) -> String {
    if OPTIONS.contains(&option) { mention(option, value) } else { format!("{option} = {value}") }
}

fn suggestion(nearest: &[String], known: &[String]) -> String {
    if !nearest.is_empty() {
        format!("; did you mean {}? Known: {}", nearest.join(" or "), some(known))
    } else if known.is_empty() {
        String::new()
    } else {
        format!("; known: {}", some(known))
    }
}

/// Names in a message: the first ones, where there are very many, as labels may be.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 100;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(" ");
    if more > 0 { format!("{shown} … and {more} more") } else { shown }
}

/// Levenshtein distance over characters; names are short, so one row suffices.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_nearest_name() {
        let error = Error::unknown("selector", "ch2max", ["df", "ig", "chi2max", "chi2avg"]);
        assert_eq!(
            error.to_string(),
            "unknown selector \"ch2max\"; did you mean chi2max? Known: df ig chi2max chi2avg"
        );
    }

    #[test]
    fn very_many_names_are_not_all_listed() {
        let names: Vec<String> = (0..10_000).map(|i| format!("label{i}")).collect();
        let message = Error::unknown("label", "zzz", names.iter().map(String::as_str)).to_string();
        assert!(message.len() < 2_000 && message.ends_with("… and 9900 more"), "{message}");
    }

    #[test]
    fn what_the_user_can_mend_is_input() {
        use std::io::{Error as IoError, ErrorKind};
        let io = |kind: ErrorKind| Error::io("a", kind.into());
        for kind in [ErrorKind::PermissionDenied, ErrorKind::AlreadyExists, ErrorKind::InvalidFilename] {
            assert!(io(kind).is_input(), "{kind}");
        }
        assert!(Error::io("a", IoError::from_raw_os_error(40)).is_input());
        assert!(!io(ErrorKind::StorageFull).is_input());
    }

    #[test]
    fn points_at_the_character() {
        let error = Error::Expression { text: "lr(chi2max,)".into(), at: 11, reason: "expected a selector".into() };
        assert_eq!(error.to_string(), "expected a selector\n  lr(chi2max,)\n             ^");
    }
}
