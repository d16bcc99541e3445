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

    /// A vector of so many numbers that are 0 but for those at `places`, which ascend; with or without its zeros, whichever is shorter.
    pub(super) fn vector(&mut self, places: &[u32], values: &[f32], length: usize) {
        let set = || places.iter().zip(values).filter(|(_, x)| **x != 0.0);
        let count = set().count();
        if count * 5 >= length * 4 {
            self.number(1);
            let start = self.0.len();
            self.0.resize(start + 4 * length, 0);
            for (&place, x) in set() {
                self.0[start + 4 * place as usize..][..4].copy_from_slice(&x.to_le_bytes());
            }
            return;
        }
        self.number(0);
        self.number(count as u64);
        let mut next = 0;
        for (&place, &x) in set() {
            self.number(u64::from(place - next));
            self.single(x);
            next = place;
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

    /// The numbers of a vector of so many that are not 0, in their order.
    pub(super) fn vector(&mut self, length: usize, mut each: impl FnMut(u32, f32)) -> Result<()> {
        if self.number()? == 1 {
            if self.0.len() / 4 < length {
                return Err(damaged());
            }
            for at in 0..length as u32 {
                let x = self.single()?;
                if x != 0.0 {
                    each(at, x);
                }
            }
            return Ok(());
        }
        let mut at = 0u64;
        for _ in 0..self.length()? {
            at = at.checked_add(self.number()?).filter(|at| *at < length as u64).ok_or_else(damaged)?;
            each(at as u32, self.single()?);
        }
        Ok(())
    }

    /// Those numbers of a vector of so many that are at `places`, which ascend.
    pub(super) fn vector_at(&mut self, places: &[u32], length: usize) -> Result<Vec<f32>> {
        let mut values = vec![0.0; places.len()];
        let mut next = 0;
        self.vector(length, |at, x| {
            while places.get(next).is_some_and(|&place| place < at) {
                next += 1;
            }
            if places.get(next) == Some(&at) {
                values[next] = x;
            }
        })?;
        Ok(values)
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
            let all: Vec<u32> = (0..vector.len() as u32).collect();
            writer.vector(&all, &vector, vector.len());
            writer.vector(&set, &vec![2.0; set.len()], 500);
            writer.text("é");
            let mut reader = Reader(&writer.0);
            for &number in &numbers {
                prop_assert_eq!(reader.number().unwrap(), number);
            }
            let mut read = Vec::new();
            reader.ascending(500, &mut read).unwrap();
            prop_assert_eq!(&read, &set);
            prop_assert_eq!(reader.vector_at(&all, vector.len()).unwrap(), vector);
            let some: Vec<u32> = (0..500).step_by(3).collect();
            let expected: Vec<f32> = some.iter().map(|at| if set.contains(at) { 2.0 } else { 0.0 }).collect();
            prop_assert_eq!(reader.vector_at(&some, 500).unwrap(), expected);
            prop_assert_eq!(reader.text().unwrap(), "é");
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn any_bytes_are_an_error_at_most(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Reader(&bytes).number();
            let _ = Reader(&bytes).text();
            let _ = Reader(&bytes).doubles();
            let _ = Reader(&bytes).vector(100, |_, _| ());
            let _ = Reader(&bytes).vector_at(&[0, 7, 99], 100);
            let _ = Reader(&bytes).ascending(50, &mut Vec::new());
        }
    }
}
