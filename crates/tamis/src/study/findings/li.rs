//! li 4: what selectors prefer, and what that is worth.

use super::{Finding, learned_by_split, mean, mean_of, minus};
use crate::features::Size;
use crate::report::short;
use crate::study::arena::{Arena, Curve};
use crate::study::evidence::{Claim, Rule, Units};
use crate::study::plan::Grid;
use crate::study::rows::Row;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        key: "L1",
        paper: "MI and BNS prefer category information most, then IG, CHI and WLLR, DF least (table 1)",
        effect: "mean MI of the top 2 %: the lower of the first group less the highest of the second, and the lowest of the second less DF",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "L2",
        paper: "WFO performs similarly to or better than the top methods at all numbers of features (section 4.3, figure 2)",
        effect: "accuracy of WFO less that of the best of the six at each size, mean over sizes",
        rule: Rule::Above(-0.01),
    },
    Claim {
        key: "L3",
        paper: "WFO is never the worst (section 4.3, figure 2)",
        effect: "accuracy of WFO less that of the worst of the six, at the size where that is least",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "L4",
        paper: "λ is around 0.5 for few features: 0.42, 0.50 and 0.34 at 500 (section 4.3)",
        effect: "mean λ at sizes up to 1,000",
        rule: Rule::Within(0.3, 0.6),
    },
    Claim {
        key: "L5",
        paper: "λ falls with the number of features, on 20NG to 0.28 at 10,000 and 0.01 at 30,000 (section 4.3)",
        effect: "λ of the smallest size less λ of the largest at which there is something to choose",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "L6",
        paper: "Below 1,000 features IG, CHI and WLLR perform better than the other two groups (section 4.3)",
        effect: "accuracy, mean of the three less the better mean of (MI, BNS) and (DF) at each size below 1,000, mean over sizes",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "L7",
        paper: "With many features MI and BNS take the lead on 20NG and movies (IG and CHI are better on DVD; R2 is too noisy) (section 4.3)",
        effect: "accuracy of MI, and of BNS, less that of the best of DF, IG, CHI and WLLR, mean over sizes from 5,000 to less than all",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "L8",
        paper: "500 to 4,000 features are as good as all (section 4.3, movies)",
        effect: "accuracy of the best of the six less that of all features, mean over the sizes from 500 to 4,000",
        rule: Rule::Above(-0.01),
    },
];

const FIRST: [&str; 2] = ["mimax", "bns"];
const SECOND: [&str; 3] = ["ig", "chi2max", "wllr"];

pub(super) fn findings(grid: &Grid, arenas: &[Arena], rows: &[Row], units: &Units) -> Vec<Finding> {
    let mut found: Vec<Finding> = preferences(rows, units).into_iter().collect();
    if let Some(arena) = arenas.first() {
        found.extend(accuracies(arena, units));
    }
    let learned = learned_by_split(grid, rows);
    let at = |few: bool| -> Vec<f64> {
        learned
            .iter()
            .map(|of| {
                let few: Vec<f64> = of.iter().filter(|(s, _)| !few || *s <= Size::Top(1000)).map(|(_, l)| *l).collect();
                mean(&few)
            })
            .collect()
    };
    if learned.iter().any(|of| !of.is_empty()) {
        let said: Vec<String> = grid
            .sizes
            .iter()
            .filter_map(|size| {
                let of: Vec<f64> = learned.iter().flatten().filter(|(s, _)| s == size).map(|(_, l)| *l).collect();
                (!of.is_empty()).then(|| format!("{} at {size}", short(mean(&of))))
            })
            .collect();
        found.push(CLAIMS[3].judge(&at(true), units, format!("λ {}", said.join(", "))));
        let fall: Vec<f64> = learned.iter().filter_map(|of| Some(of.first()?.1 - of.last()?.1)).collect();
        found.push(CLAIMS[4].judge(&fall, units, String::new()));
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

/// li table 1.
fn preferences(rows: &[Row], units: &Units) -> Option<Finding> {
    let profiles = || rows.iter().filter_map(|row| if let Row::Profile(p) = row { Some(p) } else { None });
    let splits = profiles().map(|p| p.split).max()?;
    let of = |name: &str, split: u32| {
        let profile = profiles().find(|p| p.split == split && p.selector.split('@').next() == Some(name))?;
        profile.means.iter().find(|(score, _)| score.starts_with("mi")).map(|(_, value)| *value)
    };
    let (mut upper, mut lower) = (Vec::new(), Vec::new());
    for split in 1..=splits {
        let group = |names: &[&str]| names.iter().map(|n| of(n, split)).collect::<Option<Vec<f64>>>();
        let (first, second, df) = (group(&FIRST)?, group(&SECOND)?, of("df", split)?);
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        upper.push(least(&first) - second.iter().copied().fold(0.0, f64::max));
        lower.push(least(&second) - df);
    }
    let parts = [("first over second".to_owned(), upper), ("second over DF".to_owned(), lower)];
    Some(CLAIMS[0].judge_all(&parts, units, String::new()))
}

fn accuracies(arena: &Arena, units: &Units) -> Vec<Finding> {
    let curve = |name: &str| arena.curves.iter().find(|c| c.selector.split('@').next() == Some(name));
    let Some(wfo) = curve("wfo(auto)") else { return Vec::new() };
    let six: Vec<&Curve> = ["df", "mimax", "ig", "bns", "chi2max", "wllr"].iter().filter_map(|n| curve(n)).collect();
    if six.len() < 6 || six.iter().any(|c| c.sizes != wfo.sizes) {
        return Vec::new();
    }
    let best = |of: &[&'_ Curve], i: usize| -> Vec<f64> {
        let best = of.iter().max_by(|a, b| a.mean(i).total_cmp(&b.mean(i)));
        best.map_or(Vec::new(), |c| c.values[i].clone())
    };
    let all = wfo.features.iter().copied().fold(0.0, f64::max);
    // Where all features are taken, all methods are the same.
    let sizes: Vec<usize> = (0..wfo.sizes.len()).filter(|&i| wfo.features[i] < all).collect();
    let over = |keep: &dyn Fn(Size) -> bool, of: &dyn Fn(usize) -> Vec<f64>| {
        mean_of(&sizes.iter().filter(|&&i| keep(wfo.sizes[i])).map(|&i| of(i)).collect::<Vec<_>>())
    };
    let mut found = Vec::new();
    let places: Vec<String> =
        sizes.iter().map(|&i| (1 + six.iter().filter(|c| c.mean(i) > wfo.mean(i)).count()).to_string()).collect();
    let ahead = over(&|_| true, &|i| minus(&wfo.values[i], &best(&six, i)));
    found.push(CLAIMS[1].judge(&ahead, units, format!("place of seven by size: {}", places.join(" "))));
    let above_worst = |i: usize| {
        let worst = six.iter().min_by(|a, b| a.mean(i).total_cmp(&b.mean(i)));
        worst.map_or(Vec::new(), |c| minus(&wfo.values[i], &c.values[i]))
    };
    let least = sizes.iter().map(|&i| (i, above_worst(i))).min_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
    if let Some((at, values)) = least {
        found.push(CLAIMS[2].judge(&values, units, format!("at {}", wfo.sizes[at])));
    }
    let group = |names: &[&str], i: usize| {
        mean_of(&names.iter().filter_map(|n| curve(n)).map(|c| c.values[i].clone()).collect::<Vec<_>>())
    };
    let second = over(&|size| size < Size::Top(1000), &|i| {
        let (first, df) = (group(&FIRST, i), group(&["df"], i));
        minus(&group(&SECOND, i), if mean(&first) > mean(&df) { &first } else { &df })
    });
    if !second.is_empty() {
        found.push(CLAIMS[5].judge(&second, units, String::new()));
    }
    let others: Vec<&Curve> = ["df", "ig", "chi2max", "wllr"].iter().filter_map(|n| curve(n)).collect();
    let lead = |name: &str| over(&|size| size >= Size::Top(5000), &|i| minus(&group(&[name], i), &best(&others, i)));
    let parts: Vec<(String, Vec<f64>)> =
        [("MI", lead("mimax")), ("BNS", lead("bns"))].map(|(name, values)| (name.to_owned(), values)).into();
    if parts.iter().all(|(_, values)| !values.is_empty()) {
        found.push(CLAIMS[6].judge_all(&parts, units, String::new()));
    }
    if let Some(at) = wfo.sizes.iter().position(|s| *s == Size::All) {
        let few = over(&|size| (Size::Top(500)..=Size::Top(4000)).contains(&size), &|i| {
            minus(&best(&six, i), &wfo.values[at])
        });
        if !few.is_empty() {
            found.push(CLAIMS[7].judge(&few, units, String::new()));
        }
    }
    found
}
