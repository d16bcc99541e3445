//! Where the records of a format end.

use memchr::{memchr, memchr2, memmem, memrchr};

/// Where records end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cut {
    /// After every line feed.
    Lines,
    /// Before every line that begins so.
    Before(&'static [u8]),
    /// After a line feed outside quotes.
    Csv { delimiter: u8, quotes: bool },
    /// Nowhere: the stream is one record.
    Never,
}

impl Cut {
    /// The end of the last whole record of `bytes`, which begin with a record. `None`: there is no whole one.
    pub(super) fn last(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Lines | Self::Csv { quotes: false, .. } => memrchr(b'\n', bytes).map(|at| at + 1),
            Self::Before(start) => {
                let mut end = bytes.len();
                while let Some(at) = memmem::rfind(&bytes[..end], start) {
                    match at.checked_sub(1) {
                        Some(before) if bytes[before] == b'\n' => return Some(at),
                        _ => end = at,
                    }
                }
                None
            }
            Self::Csv { delimiter, quotes: true } => csv_records(bytes, delimiter).0,
            Self::Never => None,
        }
    }

    /// Where to go on after a record that is too long, or `None` when that is further on.
    pub(super) fn resume(self, bytes: &[u8]) -> Option<usize> {
        match self {
            // A quote that never closes is the usual reason for an endless record, so quotes are not heeded.
            Self::Lines | Self::Csv { .. } => memchr(b'\n', bytes).map(|at| at + 1),
            Self::Before(start) => memmem::find_iter(bytes, start).find(|&at| at > 0 && bytes[at - 1] == b'\n'),
            Self::Never => None,
        }
    }

    /// How many bytes at the end may be the beginning of a boundary.
    pub(super) fn overlap(self) -> usize {
        match self {
            Self::Lines | Self::Csv { .. } | Self::Never => 0,
            Self::Before(start) => start.len() + 1,
        }
    }
}

/// The end of the last whole CSV record, and whether the bytes end within quotes. A quote opens only at the start of a
/// field, as in the csv crate.
pub(super) fn csv_records(bytes: &[u8], delimiter: u8) -> (Option<usize>, bool) {
    let mut last = None;
    let mut at = 0;
    while let Some(found) = memchr2(b'"', b'\n', &bytes[at..]) {
        let here = at + found;
        at = here + 1;
        if bytes[here] == b'\n' {
            last = Some(at);
        } else if here == 0 || matches!(bytes[here - 1], b'\n' | b'\r') || bytes[here - 1] == delimiter {
            loop {
                let Some(quote) = memchr(b'"', &bytes[at..]) else { return (last, true) };
                at += quote + 1;
                if bytes.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
        }
    }
    (last, false)
}
