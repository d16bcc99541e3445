//! Whether documents to judge on have the ancestors of their labels, and the one form that they are judged in.

use crate::hierarchy::Taxonomy;
use crate::named::named;

named! {
    /// How documents are labelled along a taxonomy.
    pub enum LabelForm ("form of labels") {
        /// With the most specific labels only.
        MostSpecific = "most-specific",
        /// With all ancestors of their labels.
        WithAncestors = "with-ancestors",
        /// Some documents one way, some the other, or with some of the ancestors.
        Mixed = "mixed",
    }
}

/// How many documents have which form. Parts add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FormTally {
    specific: u64,
    closed: u64,
    other: u64,
}

impl FormTally {
    /// Looks at the nodes of a document, ascending, and brings them into the form that is asked for: with ancestors, or the most specific.
    /// Roots alone are of both forms, and tell nothing.
    pub(super) fn add(&mut self, taxonomy: &Taxonomy, nodes: &mut Vec<u32>, asked: Option<bool>) {
        let given = nodes.len();
        let mut specific = nodes.clone();
        taxonomy.most_specific(&mut specific);
        let all = taxonomy.closure(specific.iter().copied());
        if all.len() > specific.len() {
            let seen = match given {
                _ if given == specific.len() => &mut self.specific,
                _ if given == all.len() => &mut self.closed,
                _ => &mut self.other,
            };
            *seen += 1;
        }
        match asked {
            Some(true) => *nodes = all,
            Some(false) => *nodes = specific,
            None => {}
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.specific += other.specific;
        self.closed += other.closed;
        self.other += other.other;
    }

    /// The form of all documents; none where no label has an ancestor.
    pub(super) fn form(&self) -> Option<LabelForm> {
        match (self.specific, self.closed, self.other) {
            (0, 0, 0) => None,
            (_, 0, 0) => Some(LabelForm::MostSpecific),
            (0, _, 0) => Some(LabelForm::WithAncestors),
            _ => Some(LabelForm::Mixed),
        }
    }
}
