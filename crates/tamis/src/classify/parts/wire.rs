//! Numbers as bytes, for what goes from machine to machine. Whatever arrives is checked: bytes that are not what they should be are an
//! error, never a panic.

use crate::{Error, Result};

/// Appends numbers to bytes.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    /// A whole number in as few bytes as it needs, seven bits in each.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(super) fn double(&mut self, number: f64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn single(&mut self, number: f32) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub(super) fn doubles(&mut self, numbers: &[f64]) {
        self.number(numbers.len() as u64);
        numbers.iter().for_each(|&number| self.double(number));
    }

    /// Ascending numbers: how many, and how far each is from the one before.
    pub(super) fn ascending(&mut self, numbers: impl ExactSizeIterator<Item = u32>) {
        self.number(numbers.len() as u64);
        let mut next = 0;
        for number in numbers {
            self.number(u64::from(number - next));
            next = number;
        }
    }

    /// A vector, with or without its zeros, whichever is shorter.
    pub(super) fn vector(&mut self, vector: &[f32]) {
        let set = vector.iter().filter(|x| **x != 0.0).count();
        if set * 5 >= vector.len() * 4 {
            self.number(1);
            vector.iter().for_each(|&x| self.single(x));
            return;
        }
        self.number(0);
        self.number(set as u64);
        let mut next = 0;
        for (at, &x) in vector.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            self.number((at - next) as u64);
            self.single(x);
            next = at;
        }
    }
}

/// Takes numbers from bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

pub(super) fn damaged() -> Error {
    Error::data("what came from another machine is no part of this training, or is damaged")
}

impl<'a> Reader<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or_else(damaged)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> Result<usize> {
        let number = self.number()?;
        usize::try_from(number).ok().filter(|n| *n < limit).ok_or_else(damaged)
    }

    /// How many things follow, each of at least one byte.
    pub(super) fn length(&mut self) -> Result<usize> {
        let limit = self.0.len() + 1;
        self.below(limit)
    }

    pub(super) fn double(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    pub(super) fn single(&mut self) -> Result<f32> {
        Ok(f32::from_le_bytes(self.take()?))
    }

    pub(super) fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| damaged())
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn doubles(&mut self) -> Result<Vec<f64>> {
        let length = self.length()?;
        (0..length).map(|_| self.double()).collect()
    }

    /// Strictly ascending numbers below `limit`, appended to `into`.
    pub(super) fn ascending(&mut self, limit: usize, into: &mut Vec<u32>) -> Result<()> {
        let length = self.length()?;
        let mut next = 0;
        for at in 0..length {
            let step = self.number()?;
            if at > 0 && step == 0 {
                return Err(damaged());
            }
            next = u64::checked_add(next, step).filter(|next| *next < limit as u64).ok_or_else(damaged)?;
            into.push(next as u32);
        }
        Ok(())
    }

    /// A vector of so many numbers.
    pub(super) fn vector(&mut self, length: usize) -> Result<Vec<f32>> {
        if self.number()? == 1 {
            if self.0.len() / 4 < length {
                return Err(damaged());
            }
            return (0..length).map(|_| self.single()).collect();
        }
        let mut vector = vec![0.0; length];
        let mut at = 0usize;
        for _ in 0..self.length()? {
            at = usize::try_from(self.number()?).ok().and_then(|step| at.checked_add(step)).ok_or_else(damaged)?;
            *vector.get_mut(at).ok_or_else(damaged)? = self.single()?;
        }
        Ok(vector)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            numbers in prop::collection::vec(any::<u64>(), 0..20),
            set in prop::collection::btree_set(0u32..500, 0..40),
            vector in prop::collection::vec(prop::option::weighted(0.6, -9.0f32..9.0), 0..60),
        ) {
            let vector: Vec<f32> = vector.into_iter().map(Option::unwrap_or_default).collect();
            let set: Vec<u32> = set.into_iter().collect();
            let mut writer = Writer::default();
            numbers.iter().for_each(|&n| writer.number(n));
            writer.ascending(set.iter().copied());
            writer.vector(&vector);
            writer.text("é");
            let mut reader = Reader(&writer.0);
            for &number in &numbers {
                prop_assert_eq!(reader.number().unwrap(), number);
            }
            let mut read = Vec::new();
            reader.ascending(500, &mut read).unwrap();
            prop_assert_eq!(read, set);
            prop_assert_eq!(reader.vector(vector.len()).unwrap(), vector);
            prop_assert_eq!(reader.text().unwrap(), "é");
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn any_bytes_are_an_error_at_most(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Reader(&bytes).number();
            let _ = Reader(&bytes).text();
            let _ = Reader(&bytes).doubles();
            let _ = Reader(&bytes).vector(100);
            let _ = Reader(&bytes).ascending(50, &mut Vec::new());
        }
    }
}
