//! Selector lists written short: `of` × `combine` × `arity` × `cuts`.

use crate::features::{Combination, Selector};
use crate::{Error, Result};

/// What the `[selectors]` of a plan may say.
#[derive(Debug, Clone, Default)]
pub(super) struct Generator {
    /// Selectors as they are.
    pub(super) list: Vec<Selector>,
    /// Ways to combine.
    pub(super) combine: Vec<Combination>,
    /// What is combined; `list` when empty.
    pub(super) of: Vec<Selector>,
    /// How many at a time.
    pub(super) arity: Vec<usize>,
    /// Cuts, applied where a selector has none of its own; none when empty.
    pub(super) cuts: Vec<u32>,
}

impl Generator {
    /// All selectors: for each cut the list, then for each arity and way every combination of that many of `of`.
    pub(super) fn selectors(&self) -> Result<Vec<Selector>> {
        let of = if self.of.is_empty() { &self.list } else { &self.of };
        let mut plain = self.list.clone();
        for &arity in &self.arity {
            if arity < 2 || arity > of.len() {
                return Err(Error::invalid(
                    "arity",
                    arity,
                    format!("must be from 2 to {}, as many as there are", of.len()),
                ));
            }
            for &way in &self.combine {
                if way.spec().weighted {
                    return Err(Error::invalid(
                        "combine",
                        way.spec().name,
                        "needs a weight for each input: write it out in list, as in wr(0.7*chi2max,0.3*ig)",
                    ));
                }
                for places in choose(of.len(), arity) {
                    let inputs = places.iter().map(|&i| of[i].clone()).collect();
                    plain.push(Selector::combine(way, inputs, Vec::new())?);
                }
            }
        }
        let mut all = Vec::new();
        if self.cuts.is_empty() {
            all = plain;
        } else {
            for &cut in &self.cuts {
                all.extend(plain.iter().map(|s| s.clone().under_cut(Some(cut))));
            }
        }
        // A selector with its own cut comes out the same for every cut.
        let mut unique: Vec<Selector> = Vec::with_capacity(all.len());
        for selector in all {
            if !unique.contains(&selector) {
                unique.push(selector);
            }
        }
        Ok(unique)
    }
}

/// All ascending choices of `k` of the first `n` numbers, in order.
fn choose(n: usize, k: usize) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut places: Vec<usize> = (0..k).collect();
    loop {
        found.push(places.clone());
        let Some(at) = (0..k).rev().find(|&i| places[i] < n - k + i) else { return found };
        places[at] += 1;
        for i in at + 1..k {
            places[i] = places[i - 1] + 1;
        }
    }
}

/// A way to combine by its name.
pub(super) fn combination(name: &str) -> Result<Combination> {
    let found = Combination::ALL.into_iter().find(|c| c.spec().name == name);
    found.ok_or_else(|| Error::unknown("combination", name, Combination::ALL.map(|c| c.spec().name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(names: &[&str]) -> Vec<Selector> {
        names.iter().map(|n| n.parse().unwrap()).collect()
    }

    #[test]
    fn the_preliminary_grid_has_59_methods() {
        let generator = Generator {
            list: parse(&["df", "ig", "chi2max", "chi2avg"]),
            combine: ["hr", "lr", "ar", "dmor", "dlor"].map(|n| combination(n).unwrap()).to_vec(),
            arity: vec![2, 3, 4],
            cuts: vec![0, 1, 5],
            ..Generator::default()
        };
        let names: Vec<String> = generator.selectors().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), 3 * 59);
        assert_eq!(names[4], "hr(df,ig)@0");
        assert_eq!(names[59 + 9 + 3], "lr(df,chi2avg)@1");
        assert_eq!(names[3 * 59 - 1], "dlor(df,ig,chi2max,chi2avg)@5");
    }

    #[test]
    fn own_cuts_win_and_are_listed_once() {
        let generator = Generator { list: parse(&["ig", "chi2max@5"]), cuts: vec![0, 1], ..Generator::default() };
        let names: Vec<String> = generator.selectors().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["ig@0", "chi2max@5", "ig@1"]);
    }

    #[test]
    fn choices() {
        assert_eq!(choose(4, 3), [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]);
        assert_eq!(choose(2, 2), [[0, 1]]);
        let bad = Generator { list: parse(&["ig"]), arity: vec![2], ..Generator::default() };
        assert!(bad.selectors().is_err());
    }
}
