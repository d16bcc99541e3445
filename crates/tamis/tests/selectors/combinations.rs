//! Combinations of method 3 against a literal version.

use proptest::prelude::*;
use tamis::counts::Contingency;
use tamis::features::{Combination, Ranking};

use super::{has_contrast, random_table, rank};

/// Rank and score of a term in an input, as method 3 has it, by counting.
fn rank_and_score(ranking: &Ranking, term: u32) -> (f64, f64) {
    match ranking.terms().iter().position(|&t| t == term) {
        None => (ranking.len() as f64 + 1.0, 0.0),
        Some(at) => {
            let score = ranking.scores()[at];
            let better = ranking.scores().iter().filter(|s| **s > score).count() as f64;
            let equal = ranking.scores().iter().filter(|s| **s == score).count() as f64;
            // Ranks better+1 … better+equal, on average:
            (better + f64::midpoint(equal, 1.0), score)
        }
    }
}

fn literal(combination: Combination, weights: &[f64], inputs: &[Ranking], table: &Contingency) -> Vec<u32> {
    let candidates: Vec<u32> =
        (0..table.terms() as u32).filter(|t| inputs.iter().any(|i| i.terms().contains(t))).collect();
    if combination == Combination::Rr {
        let mut order: Vec<u32> = Vec::new();
        while order.len() < candidates.len() {
            for input in inputs {
                if let Some(&next) = input.terms().iter().find(|t| !order.contains(t)) {
                    order.push(next);
                }
            }
        }
        return order;
    }
    let by_rank = matches!(combination, Combination::Hr | Combination::Lr | Combination::Ar | Combination::Wr);
    let mut keyed: Vec<(f64, f64, u32, u32)> = candidates
        .iter()
        .map(|&term| {
            let each: Vec<(f64, f64)> = inputs.iter().map(|i| rank_and_score(i, term)).collect();
            let mean = each.iter().map(|e| e.0).sum::<f64>() / each.len() as f64;
            let normalised = |norm: &dyn Fn(&Ranking) -> f64| -> Vec<f64> {
                inputs.iter().zip(&each).map(|(i, e)| if norm(i) == 0.0 { 0.0 } else { e.1 / norm(i) }).collect()
            };
            let maximum = |i: &Ranking| i.scores().iter().copied().fold(f64::NEG_INFINITY, f64::max).abs();
            let length = |i: &Ranking| i.scores().iter().map(|s| s * s).sum::<f64>().sqrt();
            let max = |x: Vec<f64>| x.into_iter().fold(f64::NEG_INFINITY, f64::max);
            let min = |x: Vec<f64>| x.into_iter().fold(f64::INFINITY, f64::min);
            let ranks: Vec<f64> = each.iter().map(|e| e.0).collect();
            let weigh = |x: &[f64]| x.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
            // Ascending.
            let key = match combination {
                Combination::Hr => min(ranks),
                Combination::Lr => max(ranks),
                Combination::Ar | Combination::Rr => mean,
                Combination::Wr => weigh(&ranks) / weights.iter().sum::<f64>(),
                Combination::Dmor => -max(normalised(&maximum)),
                Combination::Dlor => -max(normalised(&length)),
                Combination::Dmand => -min(normalised(&maximum)),
                Combination::Dland => -min(normalised(&length)),
                Combination::Ws => -weigh(&normalised(&maximum)),
            };
            (key, if by_rank { mean } else { 0.0 }, u32::MAX - table.df()[term as usize], term)
        })
        .collect();
    keyed.sort_by(|x, y| x.partial_cmp(y).expect("no NaN"));
    keyed.into_iter().map(|k| k.3).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]
    #[test]
    fn combinations_are_what_the_specification_says(
        seed: u64,
        documents in 3usize..60,
        pick in prop::collection::vec((0usize..6, 0u32..4), 2..4),
        outer in prop::option::of(0u32..3),
    ) {
        let table = random_table(seed, documents, 30, 5);
        prop_assume!(has_contrast(&table));
        let names = ["chi2max", "chi2avg", "ig", "df", "mimax", "wfo(0.5)"];
        let inputs: Vec<String> = pick.iter().map(|&(name, cut)| {
            // A level of 3 stands for none of its own: the one outside holds.
            if cut == 3 { names[name].to_owned() } else { format!("{}@{cut}", names[name]) }
        }).collect();
        let rankings: Vec<Ranking> = pick.iter().map(|&(name, cut)| {
            let cut = if cut == 3 { outer.unwrap_or(0) } else { cut };
            rank(&format!("{}@{cut}", names[name]), &table)
        }).collect();
        let weights = [0.5, 2.0, 0.25];
        for combination in Combination::ALL {
            let spec = combination.spec();
            let list: Vec<String> = inputs.iter().zip(weights).map(|(input, weight)| {
                if spec.weighted { format!("{weight}*{input}") } else { input.clone() }
            }).collect();
            let cut = outer.map_or(String::new(), |cut| format!("@{cut}"));
            let expression = format!("{}({}){cut}", spec.name, list.join(","));
            let ranking = rank(&expression, &table);
            let weights = if spec.weighted { &weights[..inputs.len()] } else { &[] };
            prop_assert_eq!(ranking.terms(), literal(combination, weights, &rankings, &table), "{}", expression);
            prop_assert!(ranking.scores().windows(2).all(|w| w[0] >= w[1]), "{}", expression);
        }
    }
}

/// Three terms by hand: ranks (1, 2.5), (2, 1), (3, 2.5).
#[test]
fn by_hand() {
    use tamis::counts::Counts;
    let corpus = [
        (vec!["p", "q", "r"], vec!["X"]),
        (vec!["p", "q"], vec!["X"]),
        (vec!["p", "q"], vec!["Y"]),
        (vec!["p", "r"], vec!["Y"]),
        (vec!["p"], vec!["Y"]),
    ];
    let table = Contingency::of(&Counts::from_rows(&corpus));
    let names = |expression: &str| -> Vec<String> {
        rank(expression, &table).terms().iter().map(|&t| table.vocabulary().name(t).to_owned()).collect()
    };
    // df: p 5, q 3, r 2. chi2max: q 2.22, r 0.14 (5·(1·2−1·1)²/36), p 0.
    assert_eq!(names("df"), ["p", "q", "r"]);
    assert_eq!(names("chi2max"), ["q", "r", "p"]);
    // Ranks by df and chi2: p 1 3, q 2 1, r 3 2.
    let points = |expression: &str| rank(expression, &table).scores().to_vec();
    assert_eq!(names("ar(df,chi2max)"), ["q", "p", "r"]);
    assert_eq!(points("ar(df,chi2max)"), [2.5, 2.0, 1.5]);
    // Best ranks: p 1, q 1, r 2; the tie goes to the better mean.
    assert_eq!(names("hr(df,chi2max)"), ["q", "p", "r"]);
    assert_eq!(points("hr(df,chi2max)"), [3.0, 3.0, 2.0]);
    // Worst: p 3, q 2, r 3; p has the better mean.
    assert_eq!(names("lr(df,chi2max)"), ["q", "p", "r"]);
    assert_eq!(names("rr(df,chi2max)"), ["p", "q", "r"]);
    assert_eq!(names("wr(3*df,1*chi2max)"), ["p", "q", "r"]);
    // r is cut from df at 2: rank 3 there (after p and q), score 0.
    assert_eq!(names("ar(df@2,chi2max)"), ["q", "p", "r"]);
    assert_eq!(points("ar(df@2,chi2max)"), [2.5, 2.0, 1.5]);
    assert_eq!(points("dmand(df@2,chi2max)")[1..], [0.0, 0.0]);
}
