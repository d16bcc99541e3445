//! Damage: a case is a number, so that a failure can be run again.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// What breaks parsers more often than chance does.
const NASTY: [&[u8]; 24] = [
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\n",
    b"\r\n",
    b",",
    b"\t",
    b":",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"<",
    b">",
    b"&#x110000;",
    b"\\u12",
    b"\\ud800",
    b"-1",
    b"1e999",
    b"99999999999999999999",
    b"NaN",
    b"\xc3\x28",
    b"__label__",
];

pub(crate) struct Damage(ChaCha8Rng);

impl Damage {
    pub(crate) fn new(seed: u64, case: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(case);
        Self(rng)
    }

    /// A number below `n`; 0 where `n` is.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// The bytes with one to eight mutations; `other` is there to be spliced in.
    pub(crate) fn of(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(8) {
            self.once(&mut bytes, other);
        }
        bytes
    }

    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let from = self.below(len + 1);
        let longest = (len - from).min(1 + self.below(64));
        from..from + self.below(longest + 1)
    }

    fn once(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let len = bytes.len();
        match self.below(9) {
            0 if len > 0 => {
                let at = self.below(len);
                bytes[at] ^= 1 << self.below(8);
            }
            1 if len > 0 => {
                let at = self.below(len);
                bytes[at] = self.below(256) as u8;
            }
            2 => {
                let at = self.below(len + 1);
                let nasty = self.pick(&NASTY);
                bytes.splice(at..at, nasty.iter().copied());
            }
            3 => {
                let range = self.range(len);
                bytes.drain(range);
            }
            4 => {
                let range = self.range(len);
                let (at, copy) = (self.below(len + 1), bytes[range].to_vec());
                bytes.splice(at..at, copy);
            }
            5 => bytes.truncate(self.below(len + 1)),
            6 => {
                let (from, range) = (self.range(other.len()), self.range(len));
                bytes.splice(range, other[from].iter().copied());
            }
            7 => {
                // Many times the same: long lines, deep nesting.
                let at = self.below(len + 1);
                let nasty = self.pick(&NASTY);
                let times = 1 << self.below(12);
                bytes.splice(at..at, nasty.iter().copied().cycle().take(nasty.len() * times));
            }
            _ => {
                // Another number where one is.
                if let Some(at) = bytes.iter().position(u8::is_ascii_digit) {
                    let nasty = self.pick(&NASTY[18..22]);
                    bytes.splice(at..=at, nasty.iter().copied());
                }
            }
        }
    }
}
