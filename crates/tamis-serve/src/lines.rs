//! Bytes to lines, in pieces of many lines and within bounds. Every byte is looked at a fixed number of times.

use std::collections::VecDeque;

use axum::body::Bytes;
use bytes::BytesMut;

/// Lines are worked on in pieces of about this size.
pub(crate) const PIECE: usize = 64 << 10;

/// What comes out, in order.
#[derive(Debug, PartialEq)]
pub(crate) enum Part {
    Lines(Piece),
    /// A line that is not worked on, and why.
    Wrong {
        line: u64,
        detail: String,
    },
}

/// Whole lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) lines: Bytes,
    /// Number of the first of them, from 1.
    pub(crate) first: u64,
}

/// Lines that have come in.
pub(crate) struct Lines {
    held: BytesMut,
    /// Up to here lines are whole; no line ends after it.
    whole: usize,
    /// Number of the first line held.
    line: u64,
    /// The line that comes is passed over up to its end.
    skipping: bool,
    /// Most bytes of a line.
    limit: usize,
    ready: VecDeque<Part>,
}

fn find(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&b| b == b'\n')
}

fn find_last(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|&b| b == b'\n')
}

impl Lines {
    pub(crate) fn new(limit: usize) -> Self {
        Self { held: BytesMut::new(), whole: 0, line: 1, skipping: false, limit, ready: VecDeque::new() }
    }

    /// Bytes held.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether there are whole lines that did not come out yet.
    pub(crate) fn has_whole(&self) -> bool {
        self.whole > 0 || !self.ready.is_empty()
    }

    /// Takes what came. Only these bytes are searched.
    pub(crate) fn push(&mut self, mut data: &[u8]) {
        loop {
            if self.skipping {
                let Some(end) = find(data) else { return };
                data = &data[end + 1..];
                self.line += 1;
                self.skipping = false;
            }
            let open = self.held.len() - self.whole;
            // Lines of data that is no longer than the limit cannot be longer; only the first of them has a beginning.
            let fits = open + find(data).unwrap_or(data.len()) <= self.limit;
            if !fits {
                let detail = format!("the line is longer than {} bytes; send it in parts", self.limit);
                self.skip(detail);
                continue;
            }
            let taken = match find_last(data) {
                Some(last) if data.len() <= self.limit => last + 1,
                Some(_) => find(data).map_or(data.len(), |end| end + 1),
                None => {
                    self.held.extend_from_slice(data);
                    return;
                }
            };
            self.held.extend_from_slice(&data[..taken]);
            self.whole = self.held.len();
            data = &data[taken..];
        }
    }

    /// Gives up the line that is coming, and says why in its place.
    pub(crate) fn skip(&mut self, detail: String) {
        if self.skipping {
            return;
        }
        self.held.truncate(self.whole);
        while let Some(piece) = self.cut() {
            self.ready.push_back(Part::Lines(piece));
        }
        self.ready.push_back(Part::Wrong { line: self.line, detail });
        self.skipping = true;
    }

    /// Nothing more will come. With a reason when more was expected: it stands in place of the line that is missing.
    pub(crate) fn end(&mut self, broken: Option<String>) {
        match broken {
            None => self.whole = self.held.len(),
            Some(detail) => {
                if self.skipping {
                    self.line += 1;
                    self.skipping = false;
                }
                self.skip(detail);
            }
        }
    }

    /// What is ready: pieces of full size, what is wrong, and with `all` every whole line.
    pub(crate) fn next(&mut self, all: bool) -> Option<Part> {
        if let Some(part) = self.ready.pop_front() {
            return Some(part);
        }
        if all || self.whole >= PIECE { self.cut().map(Part::Lines) } else { None }
    }

    /// Whole lines, of about the size of a piece.
    fn cut(&mut self) -> Option<Piece> {
        if self.whole == 0 {
            return None;
        }
        let end = if self.whole <= PIECE {
            self.whole
        } else {
            let before = find_last(&self.held[..PIECE]);
            // A longer line is a piece of its own.
            before.or_else(|| find(&self.held[PIECE..self.whole]).map(|at| PIECE + at)).map_or(self.whole, |at| at + 1)
        };
        let lines = self.held.split_to(end).freeze();
        self.whole -= end;
        let first = self.line;
        self.line += lines.iter().filter(|&&b| b == b'\n').count() as u64;
        Some(Piece { lines, first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that comes out, as lines with their numbers; what is wrong begins with a sign.
    fn out(lines: &mut Lines) -> Vec<(u64, String)> {
        let mut all = Vec::new();
        while let Some(part) = lines.next(true) {
            match part {
                Part::Lines(piece) => {
                    let text = String::from_utf8_lossy(&piece.lines).into_owned();
                    all.extend((piece.first..).zip(text.lines().map(str::to_owned)));
                }
                Part::Wrong { line, detail } => all.push((line, format!("!{detail}"))),
            }
        }
        all
    }

    #[test]
    fn lines_come_out_however_they_came_in() {
        let text = "a\nbb\n\nccccccccccc\nd\neeeeeeeeeeeeeeeeee\nf\nlast";
        for size in 1..=text.len() {
            let mut lines = Lines::new(8);
            text.as_bytes().chunks(size).for_each(|chunk| lines.push(chunk));
            lines.end(None);
            let found = out(&mut lines);
            let numbers: Vec<u64> = found.iter().map(|(n, _)| *n).collect();
            assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8], "{size}: {found:?}");
            for (number, right) in text.lines().enumerate() {
                let said = &found[number].1;
                let long = right.len() > 8;
                assert!(if long { said.starts_with("!the line is longer than 8") } else { said == right }, "{said}");
            }
        }
    }

    #[test]
    fn what_breaks_off_is_said_in_its_place() {
        for (text, at) in [("a\nb\nc", 3), ("a\nb\n", 3), ("", 1), ("a\nb", 2)] {
            let mut lines = Lines::new(100);
            lines.push(text.as_bytes());
            lines.end(Some("gone".into()));
            let found = out(&mut lines);
            assert_eq!(found.last().map(|(n, s)| (*n, s.as_str())), Some((at, "!gone")), "{text:?}");
            assert_eq!(found.len() as u64, at);
        }
        let mut lines = Lines::new(2);
        lines.push(b"too long");
        lines.end(Some("gone".into()));
        assert_eq!(out(&mut lines).len(), 2);
    }

    #[test]
    fn pieces_have_a_size_and_a_long_line_is_one() {
        let mut lines = Lines::new(PIECE * 4);
        let long = "x".repeat(PIECE * 2) + "\n";
        lines.push(("short\n".repeat(30_000) + &long + "short\n").as_bytes());
        let mut next = 1;
        while let Some(Part::Lines(piece)) = lines.next(false) {
            assert!(piece.lines.len() <= PIECE || piece.lines == long.as_bytes(), "{}", piece.lines.len());
            assert_eq!(piece.first, next);
            next += piece.lines.iter().filter(|&&b| b == b'\n').count() as u64;
        }
        assert!(lines.len() < PIECE && lines.next(true).is_some());
    }

    #[test]
    fn bytes_one_by_one_take_no_longer_than_all_at_once() {
        // Quadratic search would look at 32 million million bytes here.
        let mut lines = Lines::new(16 << 20);
        (0..8 << 20).for_each(|_| lines.push(b"x"));
        assert_eq!(lines.len(), 8 << 20);
    }
}
