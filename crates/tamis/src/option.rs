//! How messages name options: in one neutral spelling, which every skin turns into its own.
//!
//! The library does not know whether it is called by a command line, from Python or over HTTP. A message that names an
//! option writes ``the option `max_record` `` or, with a value, ``the option `encoding=latin1` ``. That reads well as it
//! stands, survives being quoted by other messages, and [`spell_options`] finds it again.

/// Options that messages name.
pub const OPTIONS: &[&str] = &[
    "answers",
    "calibrate",
    "char_ngrams",
    "classifier",
    "columns",
    "corpus",
    "costs",
    "date_field",
    "dates",
    "delimiter",
    "encoding",
    "features",
    "folds",
    "format",
    "from",
    "goal",
    "id",
    "id_field",
    "imbalance",
    "keep",
    "label_prefix",
    "labels_field",
    "language",
    "least_utility",
    "loss",
    "max_record",
    "min_length",
    "negatives",
    "ngrams",
    "number",
    "only_score",
    "output",
    "parent",
    "per_node",
    "prefer",
    "prefix",
    "qrels",
    "quantise",
    "quotes",
    "resume",
    "set",
    "split_field",
    "step",
    "stop_words",
    "taxonomy",
    "terms",
    "text_field",
    "threshold",
    "to",
    "to_prefix",
    "to_separator",
    "tokens_field",
    "unlabelled",
    "utility",
    "values",
    "weight_field",
];

const BEGIN: &str = "the option `";
const END: char = '`';

/// An option as messages name it; `value` is what it is or should be set to.
pub(crate) fn mention(option: &str, value: &str) -> String {
    format!("{BEGIN}{option}={value}{END}")
}

/// A message with its options in another spelling: `spell` is given the name and, where there is one, the value.
///
/// ```
/// let message = "not UTF-8; name the encoding, such as the option `encoding=latin1`";
/// let flags = tamis::spell_options(message, |option, value| format!("--{option} {}", value.unwrap_or_default()));
/// assert_eq!(flags, "not UTF-8; name the encoding, such as --encoding latin1");
/// ```
pub fn spell_options(message: &str, spell: impl Fn(&'static str, Option<&str>) -> String) -> String {
    let mut spelled = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(BEGIN) {
        let after = &rest[at + BEGIN.len()..];
        let Some(end) = after.find(END) else { break };
        let (name, value) = after[..end].split_once('=').map_or((&after[..end], None), |(n, v)| (n, Some(v)));
        if let Some(option) = OPTIONS.iter().find(|option| **option == name) {
            spelled.push_str(&rest[..at]);
            spelled.push_str(&spell(option, value));
        } else {
            spelled.push_str(&rest[..at + BEGIN.len() + end + END.len_utf8()]);
        }
        rest = &after[end + END.len_utf8()..];
    }
    spelled + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") && path.file_name().is_some_and(|n| n != "option.rs")
            {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }

    /// Every message names options that are in the table, in the one spelling, and the table has no others.
    #[test]
    fn messages_and_table_agree() {
        let mut files = Vec::new();
        sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut files);
        let mut named = std::collections::BTreeSet::new();
        for (path, text) in &files {
            for mentioned in text.split(BEGIN).skip(1).chain(text.split("Error::invalid(\"").skip(1)) {
                let name = mentioned.split(|c: char| c != '_' && !c.is_ascii_lowercase()).next().unwrap_or_default();
                if OPTIONS.contains(&name) {
                    named.insert(name);
                }
            }
            for mentioned in text.split(BEGIN).skip(1) {
                let known = OPTIONS.iter().any(|name| mentioned.starts_with(name)) || mentioned.starts_with('{');
                assert!(known, "{path}: {}", mentioned.lines().next().unwrap_or_default());
            }
            // Styles have names with two dashes too, and reports print whole commands.
            let code = |line: &&str| {
                !["//", "tamis study", "var(--", ":root", " --corpus {", " --taxonomy {"]
                    .iter()
                    .any(|exempt| line.contains(exempt))
            };
            for line in text.lines().filter(code) {
                let flag = line.split("--").skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_lowercase()));
                assert!(!flag, "{path}: flags are the command's: {}", line.trim());
            }
        }
        // The fields are named by their roles.
        named.extend(OPTIONS.iter().filter(|name| name.ends_with("_field")));
        assert_eq!(named.into_iter().collect::<Vec<_>>(), OPTIONS);
    }

    #[test]
    fn only_options_are_spelled() {
        let shout = |option: &str, value: Option<&str>| format!("<{option}|{}>", value.unwrap_or("-"));
        assert_eq!(spell_options("a the option `terms`, the option `from=csv`.", shout), "a <terms|->, <from|csv>.");
        for plain in ["", "no option", "the option `nonsense=1` stays", "the option `by", "`by`"] {
            assert_eq!(spell_options(plain, shout), plain);
        }
        assert_eq!(spell_options("the option `date_field=`", shout), "<date_field|>");
    }
}
