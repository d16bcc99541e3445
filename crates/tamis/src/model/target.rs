//! What labels were before they became text: their types, their order and the form they came in.

use serde::{Deserialize, Serialize};

use crate::named::named;

named! {
    /// How labels are handed over for each document.
    pub enum TargetForm ("form of the target") {
        /// One label.
        Vector = "vector",
        /// A list of labels.
        Lists = "lists",
        /// A row of zeros and ones, a column for each label.
        Indicator = "indicator",
    }
}

/// A label as a caller has it. Its text, which is what a model ranks and the command prints, is made by the caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TargetLabel {
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Number(f64),
    /// Text.
    Text(String),
}

/// The target of a caller whose labels are more than text, so that a model that is read again answers as it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// How labels were given, and are answered.
    pub form: TargetForm,
    /// The caller's name of their type, such as numpy's `int64`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The labels in the caller's order, with those that no document has.
    pub labels: Vec<TargetLabel>,
}

impl Target {
    /// Whether it says no more than a file without it: lists of text, or one text for each document where each gets one anyway.
    pub(super) fn is_plain(&self, one_each: bool) -> bool {
        let text = self.labels.iter().all(|label| matches!(label, TargetLabel::Text(_)));
        text && match self.form {
            TargetForm::Lists => true,
            TargetForm::Vector => one_each,
            TargetForm::Indicator => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_writes() {
        for labels in ["[2,10]", "[true,false]", "[0.5,1.0]", r#"["b","a"]"#] {
            let text = format!(r#"{{"form":"vector","type":"x","labels":{labels}}}"#);
            let target: Target = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&target).unwrap(), text);
        }
    }

    #[test]
    fn text_in_the_usual_form_needs_no_section() {
        let target = |form, label: &TargetLabel| Target { form, kind: "object".into(), labels: vec![label.clone()] };
        let text = TargetLabel::Text("a".into());
        assert!(target(TargetForm::Lists, &text).is_plain(false));
        assert!(target(TargetForm::Vector, &text).is_plain(true));
        assert!(!target(TargetForm::Vector, &text).is_plain(false));
        assert!(!target(TargetForm::Indicator, &text).is_plain(true));
        assert!(!target(TargetForm::Lists, &TargetLabel::Whole(2)).is_plain(true));
    }
}
