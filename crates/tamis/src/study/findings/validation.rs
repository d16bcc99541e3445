//! olsson 6.3: the validation on disjoint splits.

use super::{Finding, minus, p_value};
use crate::measure::significance::sign_test_of;
use crate::study::arena::{Arena, Curve};
use crate::study::evidence::{Claim, Rule, Units};
use crate::study::statistics::wins_by_size;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        key: "V1",
        paper: "By peak R-precision the combinations beat the single selectors and all features, every pair significantly (figure 8)",
        effect: "best R-precision of a split, combination less single selector or all features, for each pair",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "V2",
        paper: "The same by micro-averaged F1 (figure 8)",
        effect: "best F1 of a split, combination less single selector or all features, for each pair",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "V3",
        paper: "At most sizes the combinations improve over the single selectors significantly (figure 6)",
        effect: "share of sizes at which the combination has the higher R-precision less one half, for each pair",
        rule: Rule::Above(0.0),
    },
];

pub(super) fn findings(arenas: &[Arena], units: &Units) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, arena) in arenas.iter().take(2).enumerate() {
        let (combined, single): (Vec<&Curve>, Vec<&Curve>) = arena.curves.iter().partition(|c| c.is_combination());
        let mut parts = Vec::new();
        for c in &combined {
            for s in single.iter().copied().chain(&arena.baseline) {
                let (a, b) = (c.bests(arena.over), s.bests(arena.over));
                let sign = sign_test_of(&a, &b).map_or(String::new(), |t| {
                    format!(" ({}–{}, sign test {})", t.wins, t.losses, p_value(t.p_one_sided))
                });
                parts.push((format!("{} over {}{sign}", c.selector, s.selector), minus(&a, &b)));
            }
        }
        found.push(CLAIMS[number].judge_all(&parts, units, String::new()));
    }
    let Some(arena) = arenas.first() else { return found };
    let mut parts = Vec::new();
    for c in arena.curves.iter().filter(|c| c.is_combination()) {
        for s in arena.curves.iter().filter(|s| !s.is_combination()) {
            let tests = wins_by_size(c, s);
            let significant = tests.iter().filter(|(_, t)| t.p_one_sided <= 0.05).count();
            let splits = c.values[0].len();
            let share = |split: usize| {
                let won = c.values.iter().zip(&s.values).filter(|(a, b)| a[split] > b[split]).count();
                won as f64 / c.sizes.len() as f64 - 0.5
            };
            let name =
                format!("{} over {} (significant at {significant} of {} sizes)", c.selector, s.selector, tests.len());
            parts.push((name, (0..splits).map(share).collect()));
        }
    }
    found.push(CLAIMS[2].judge_all(&parts, units, String::new()));
    found
}
