//! Selector expressions: the one string that names a selector everywhere (method 3).
//!
//! ```text
//! selector    := what [ "@" level ]                  terms with df ≤ level are cut before scoring; inside wins
//! what        := score                               chi2max, ig, bnsavg, orsum
//!              | "wfo" [pool] "(" λ | "auto" ")"     wfo(0.3), wfoavg(0.5), wfo(auto)
//!              | "ib" "(" m ")"                      ib(100): word priors of weight m instead of add-one
//!              | combination "(" selector "," selector … ")"         lr(chi2max,chi2avg@5)
//!              | weighted "(" w "*" selector "," w "*" selector … ")"  wr(0.7*chi2max,0.3*ig)
//!              | "os" "(" selector [ "," depth ] ")" os(ib), os(chi2max,2)
//!              | search "(" selector ")"             sfs(ib), sffs(chi2max@5)
//! score       := formula [pool]
//! pool        := "max" | "avg" | "sum"               over labels; each formula has one way to write each
//! combination := hr | lr | ar | dmor | dlor | dmand | dland | rr
//! weighted    := wr | ws
//! search      := sfs | sbs | sffs | sbfs             for a subset of the size asked for; not inside another selector
//! ```
//! Blanks between the parts are allowed and not printed.

use std::ops::{Deref, DerefMut};
use std::str::FromStr;

use super::registry::{Formula, LAMBDA_RANGE, Lambda, PRIOR_RANGE, Score, WordPrior};
use super::search::Strategy;
use super::selector::{Combination, Kind, SEARCH_HAS_NO_RANKING, Selector, WEIGHT_RANGE};
use crate::cursor::Cursor;
use crate::{Error, Result};

/// How deep parentheses may nest: far beyond any sense, far below what the stack bears.
const DEEPEST: usize = 64;

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { cursor: Cursor::new(text), depth: 0 };
        let selector = parser.selector()?;
        parser.blanks();
        match parser.rest().chars().next() {
            None => Ok(selector),
            Some('@') => Err(parser.error("a selector has one cut")),
            Some(c) => Err(parser.error(format!("expected the end, found {c:?}"))),
        }
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    depth: usize,
}

impl<'a> Deref for Parser<'a> {
    type Target = Cursor<'a>;

    fn deref(&self) -> &Cursor<'a> {
        &self.cursor
    }
}

impl DerefMut for Parser<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.cursor
    }
}

impl Parser<'_> {
    fn selector(&mut self) -> Result<Selector> {
        self.blanks();
        let start = self.at;
        let name = self.run(|c| c.is_alphanumeric() || c == '-' || c == '_');
        if name.is_empty() {
            return Err(self.error("expected a selector, such as chi2max or lr(chi2max,ig)"));
        }
        if self.depth == DEEPEST {
            return Err(self.error_at(start, format!("more than {DEEPEST} selectors inside each other")));
        }
        self.depth += 1;
        let selector = if let Some(strategy) = Strategy::ALL.into_iter().find(|s| s.spec().name == name) {
            self.search(strategy)?
        } else if let Some(combination) = Combination::ALL.into_iter().find(|c| c.spec().name == name) {
            self.combination(combination)?
        } else if let Some(score) = Score::all().find(|score| score.name() == name) {
            self.score(score)?
        } else {
            return Err(self.error_at(start, unknown(name)));
        };
        self.depth -= 1;
        if self.eat('@') {
            let cut = self.integer("a cut is a whole number, such as @5")?;
            return Ok(selector.with_cut(Some(cut)));
        }
        Ok(selector)
    }

    fn score(&mut self, score: Score) -> Result<Selector> {
        if matches!(score.formula(), Formula::Ib(_)) && self.eat('(') {
            self.blanks();
            let at = self.at;
            let m = self.number(PRIOR_RANGE)?;
            let prior = WordPrior::Weight(m).check().map_err(|_| self.error_at(at, PRIOR_RANGE))?;
            self.expect(')', || "expected ')' after the weight of word priors".to_owned())?;
            return Score::new(Formula::Ib(prior), None).map(Selector::score);
        }
        let Formula::Wfo(_) = score.formula() else {
            self.blanks();
            if self.rest().starts_with('(') {
                return Err(self.error(format!("{score} takes nothing in parentheses")));
            }
            return Ok(Selector::score(score));
        };
        let name = score.name();
        self.expect('(', || format!("{name} needs its λ: {name}(0.3), or {name}(auto) to learn it"))?;
        self.blanks();
        let at = self.at;
        let lambda = if self.rest().starts_with("auto") {
            self.at += "auto".len();
            Lambda::Auto
        } else {
            let value = self.number(&format!("expected a number from 0 to 1, or auto. {LAMBDA_RANGE}"))?;
            if !(0.0..=1.0).contains(&value) {
                return Err(self.error_at(at, format!("{LAMBDA_RANGE}, not {value}")));
            }
            Lambda::Fixed(value + 0.0)
        };
        self.expect(')', || "expected ')' after λ".to_owned())?;
        Score::new(Formula::Wfo(lambda), score.pool()).map(Selector::score)
    }

    fn combination(&mut self, combination: Combination) -> Result<Selector> {
        let spec = combination.spec();
        let example = spec.example;
        self.expect('(', || format!("{} combines selectors: {example}", spec.name))?;
        let (mut inputs, mut weights) = (Vec::new(), Vec::new());
        loop {
            self.blanks();
            let at = self.at;
            let has_weight = self.rest().starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-' || c == '+');
            if has_weight && spec.weighted {
                weights.push(self.weight()?);
            } else if has_weight {
                return Err(self.error(format!("{} has no weights; wr and ws have", spec.name)));
            } else if spec.weighted && !self.rest().is_empty() {
                return Err(self.error(format!("each input of {} needs its weight: {example}", spec.name)));
            }
            inputs.push(self.input(at)?);
            if !self.eat(',') {
                break;
            }
        }
        self.blanks();
        let end = self.at;
        if inputs.len() < 2 && self.rest().starts_with(')') {
            return Err(self.error(format!(
                "{} combines two selectors or more: {example}; one selector alone needs no combination",
                spec.name
            )));
        }
        self.expect(')', || format!("expected ',' and a selector, or ')' to end {}", spec.name))?;
        // What is left to refuse (all weights 0) concerns the whole list.
        Selector::combine(combination, inputs, weights).map_err(|error| self.error_at(end, error.to_string()))
    }

    fn weight(&mut self) -> Result<f64> {
        let at = self.at;
        let weight = self.number(WEIGHT_RANGE)?;
        if weight < 0.0 || !weight.is_finite() {
            return Err(self.error_at(at, WEIGHT_RANGE));
        }
        self.expect('*', || "expected '*' between weight and selector, as in 0.7*chi2max".to_owned())?;
        Ok(weight)
    }

    /// A selector inside another: anything but a search.
    fn input(&mut self, at: usize) -> Result<Selector> {
        let input = self.selector()?;
        if matches!(input.kind(), Kind::Search(_)) {
            return Err(self.error_at(at, SEARCH_HAS_NO_RANKING));
        }
        Ok(input)
    }

    fn search(&mut self, strategy: Strategy) -> Result<Selector> {
        let name = strategy.spec().name;
        self.expect('(', || format!("{name} searches from a selector: {}", strategy.spec().example))?;
        self.blanks();
        let at = self.at;
        let start = self.input(at)?;
        let strategy = match strategy {
            Strategy::Oscillating(_) if self.eat(',') => {
                self.blanks();
                let at = self.at;
                let depth = self.integer("the depth of a search is a whole number, as in os(ib,2)")?;
                if depth == 0 {
                    return Err(self.error_at(at, "the depth of a search is 1 or more"));
                }
                Strategy::Oscillating(depth)
            }
            other => other,
        };
        self.expect(')', || format!("expected ')' to end {name}"))?;
        Selector::search(strategy, start)
    }

    fn integer(&mut self, expected: &str) -> Result<u32> {
        self.blanks();
        let at = self.at;
        let digits = self.run(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| self.error_at(at, expected))
    }

    fn number(&mut self, expected: &str) -> Result<f64> {
        self.blanks();
        let at = self.at;
        let mut digits = self.run(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
        // Only a digit ends a number, so that a name may follow it.
        digits = digits.trim_end_matches(['e', 'E', '+', '-']);
        self.at = at + digits.len();
        match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.error_at(at, expected)),
        }
    }
}

fn searches() -> [&'static str; 5] {
    Strategy::ALL.map(|strategy| strategy.spec().name)
}

/// What to say to a name that is not known.
fn unknown(name: &str) -> String {
    let scores: Vec<String> = Score::all().map(Score::name).collect();
    let known =
        scores.iter().map(String::as_str).chain(Combination::ALL.iter().map(|c| c.spec().name)).chain(searches());
    let nearest = match Error::unknown("selector", name, known) {
        Error::Unknown { nearest, .. } => nearest,
        _ => Vec::new(),
    };
    let formulas = || Formula::ALL.iter().map(|f| f.spec().name).collect::<Vec<_>>().join(" ");
    match nearest.as_slice() {
        [] => format!(
            "unknown selector {name:?}; formulas are {} (those on single labels with max, avg or sum); combinations are \
             {}; searches are {}",
            formulas(),
            Combination::ALL.map(|c| c.spec().name).join(" "),
            searches().join(" ")
        ),
        nearest => format!("unknown selector {name:?}; did you mean {}?", nearest.join(" or ")),
    }
}
