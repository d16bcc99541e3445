//! Which documents a model was trained on, in a few kilobytes: who judges a model on documents it knows should be told.

use crate::counts::Counts;

/// The smallest fingerprints of the training documents (a bottom-k sketch: Bar-Yossef et al. 2002). Documents whose fingerprint is
/// not above the largest of them are a random sample of all documents, and of those the sketch knows every one it was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Ascending, without repetition.
    fingerprints: Vec<u64>,
}

/// How many documents of a sample the sketch knows. Parts add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SeenTally {
    looked_at: u64,
    known: u64,
}

impl Seen {
    /// Fingerprints kept: 4 kB, and of a test part a quarter as large as the training part about a hundred are looked at.
    pub const MOST: usize = 512;

    /// From the training documents; empty where the counts did not come from documents.
    pub(super) fn of(counts: &Counts, rows: &[usize]) -> Self {
        let fingerprints = rows.iter().filter_map(|&row| counts.fingerprints.get(row).copied()).collect();
        Self::from_fingerprints(fingerprints)
    }

    /// From fingerprints in any order; those of empty documents (0) are left out.
    pub(super) fn from_fingerprints(mut fingerprints: Vec<u64>) -> Self {
        fingerprints.retain(|&f| f != 0);
        fingerprints.sort_unstable();
        fingerprints.dedup();
        fingerprints.truncate(Self::MOST);
        Self { fingerprints }
    }

    /// The fingerprints kept, ascending.
    pub fn fingerprints(&self) -> &[u64] {
        &self.fingerprints
    }

    /// Looks at a document.
    pub(super) fn look(&self, fingerprint: u64, tally: &mut SeenTally) {
        let whole = self.fingerprints.len() < Self::MOST;
        let Some(&last) = self.fingerprints.last() else { return };
        if fingerprint != 0 && (whole || fingerprint <= last) {
            tally.looked_at += 1;
            tally.known += u64::from(self.fingerprints.binary_search(&fingerprint).is_ok());
        }
    }
}

impl SeenTally {
    pub(super) fn merge(&mut self, other: Self) {
        self.looked_at += other.looked_at;
        self.known += other.known;
    }

    /// The share of the documents that were trained on, nearly; none where too few could be looked at.
    pub(super) fn share(self) -> Option<f64> {
        (self.looked_at > 0).then(|| self.known as f64 / self.looked_at as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn share(seen: &Seen, documents: impl IntoIterator<Item = u64>) -> Option<f64> {
        let mut tally = SeenTally::default();
        documents.into_iter().for_each(|f| seen.look(f, &mut tally));
        tally.share()
    }

    /// Fingerprints as they come: spread over all numbers.
    fn spread(range: std::ops::Range<u64>) -> Vec<u64> {
        range.map(|i| crate::corpus::Body::Text(i.to_string().into()).fingerprint()).collect()
    }

    #[test]
    fn a_share_is_estimated() {
        let seen = Seen::from_fingerprints(spread(0..20_000));
        assert_eq!(seen.fingerprints().len(), 512);
        assert_eq!(share(&seen, spread(0..5000)), Some(1.0));
        assert_eq!(share(&seen, spread(30_000..40_000)), Some(0.0));
        let half = share(&seen, spread(15_000..25_000)).unwrap();
        assert!((0.4..0.6).contains(&half), "{half}");
        assert_eq!(share(&Seen::default(), spread(0..10)), None, "nothing is known, nothing is said");
    }

    proptest! {
        #[test]
        fn small_corpora_are_known_whole(train in 1u64..300, from in 0u64..400, len in 1u64..100) {
            let seen = Seen::from_fingerprints(spread(0..train));
            let expected = (from..from + len).filter(|&i| i < train).count() as f64 / len as f64;
            prop_assert_eq!(share(&seen, spread(from..from + len)), Some(expected));
        }
    }
}
