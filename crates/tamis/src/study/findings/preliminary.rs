//! olsson 6.2: the search of the space of combinations.

use super::{Finding, mean, minus};
use crate::features::{Combination, Kind, Selector, Size};
use crate::study::arena::{Arena, Curve};
use crate::study::evidence::{Claim, Rule, Units};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        key: "O1",
        paper: "The best combinations peak above the best single selectors (figure 3)",
        effect: "R-precision of the best combination less that of the best single selector, method and size chosen for each split on the other splits",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "O2",
        paper: "The best combinations use only two inputs (CIKM paper, section 3)",
        effect: "R-precision of the best pair less that of the best combination of three or four, chosen in the same way",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "O3",
        paper: "The best single selectors and the best combinations are based on χ² (figure 3)",
        effect: "R-precision of the best with χ² less that of the best without, of singles and of combinations, chosen in the same way",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "O4",
        paper: "Pairs beat all features more often by LR than by HR (table 2)",
        effect: "share of (pair, size) that beat all features at cut 1, LR less HR",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "O5",
        paper: "With three or more inputs it is the other way round: HR beats all features more often than LR (table 2)",
        effect: "share of (combination of three or four, size) that beat all features at cut 1, HR less LR",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "O6",
        paper: "Methods with χ²max gain from cutting at 5 instead of 1 (table 3)",
        effect: "share of (method, size) with χ²max that are better at cut 5 than at cut 1, less one half, and less the share of those without χ²max",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "O7",
        paper: "LR pairs with χ²max peak with fewer features than χ²max alone, and their tops are flatter (figure 2)",
        effect: "octaves by which the peak of the three LR pairs comes earlier, and by which their top (within 1 % of the peak) is wider, at cut 1",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "O8",
        paper: "All features are better with cut 1 and 5 than without (section 6.2.1)",
        effect: "R-precision of all features at cut 1, and at cut 5, less that without",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "O9",
        paper: "Combinations beat all features over a wider range of sizes than single selectors (section 6.2.1)",
        effect: "share of sizes at which all features are beaten at cut 1, mean of all combinations less mean of the four single selectors",
        rule: Rule::Above(0.0),
    },
];

/// The way and inputs of a curve's selector, without cuts.
fn parts(curve: &Curve) -> (Option<Combination>, Vec<String>) {
    let Ok(selector) = curve.selector.parse::<Selector>() else { return (None, Vec::new()) };
    match selector.kind() {
        Kind::Combine(combine) => {
            let inputs = combine.inputs().iter().map(|s| s.clone().with_cut(None).to_string()).collect();
            (Some(combine.combination()), inputs)
        }
        _ => (None, vec![selector.with_cut(None).to_string()]),
    }
}

/// A curve and what it is made of.
struct Method<'a> {
    curve: &'a Curve,
    way: Option<Combination>,
    inputs: Vec<String>,
    cut: Option<u32>,
}

impl Method<'_> {
    fn has_chi2(&self) -> bool {
        self.inputs.iter().any(|name| name.starts_with("chi2"))
    }

    fn has_chi2max(&self) -> bool {
        self.inputs.iter().any(|name| name == "chi2max")
    }

    fn is_combination(&self) -> bool {
        self.way.is_some()
    }
}

pub(super) fn findings(arenas: &[Arena], units: &Units) -> Vec<Finding> {
    let Some(arena) = arenas.first() else { return Vec::new() };
    let methods: Vec<Method<'_>> = arena
        .curves
        .iter()
        .map(|curve| {
            let (way, inputs) = parts(curve);
            Method { curve, way, inputs, cut: curve.without_cut().0 }
        })
        .collect();
    let splits = arena.curves[0].values[0].len();
    let mut found = Vec::new();
    let best = |of: &dyn Fn(&Method<'_>) -> bool| best_elsewhere(&methods, splits, of);
    let name = |of: &dyn Fn(&Method<'_>) -> bool| {
        let peak = |m: &&Method<'_>| m.curve.mean(m.curve.peak());
        let best = methods.iter().filter(|m| of(m)).max_by(|a, b| peak(a).total_cmp(&peak(b)));
        best.map_or(String::new(), |m| {
            format!("{} {:.4} with {}", m.curve.selector, peak(&m), m.curve.sizes[m.curve.peak()])
        })
    };
    let contest = |a: &dyn Fn(&Method<'_>) -> bool, b: &dyn Fn(&Method<'_>) -> bool| minus(&best(a), &best(b));
    let (combined, single) = (|m: &Method<'_>| m.is_combination(), |m: &Method<'_>| !m.is_combination());
    let pair = |m: &Method<'_>| m.is_combination() && m.inputs.len() == 2;
    let more = |m: &Method<'_>| m.is_combination() && m.inputs.len() > 2;
    let told = |a: String, b: String| format!("by the mean of all splits {a}, {b}");
    found.push(CLAIMS[0].judge(&contest(&combined, &single), units, told(name(&combined), name(&single))));
    found.push(CLAIMS[1].judge(&contest(&pair, &more), units, told(name(&pair), name(&more))));
    let chi2 = [
        ("singles".to_owned(), contest(&|m| single(m) && m.has_chi2(), &|m| single(m) && !m.has_chi2())),
        ("combinations".to_owned(), contest(&|m| combined(m) && m.has_chi2(), &|m| combined(m) && !m.has_chi2())),
    ];
    found.push(CLAIMS[2].judge_all(&chi2, units, String::new()));
    let won = |of: &dyn Fn(&Method<'_>) -> bool| shares_won(&methods, splits, &|m| m.cut == Some(1) && of(m));
    let by = |way: Combination, pairs: bool| won(&|m| m.way == Some(way) && (m.inputs.len() == 2) == pairs);
    let percent = |a: &str, x: &[f64], b: &str, y: &[f64]| {
        format!("{a} {:.0} %, {b} {:.0} % of all trials", 100.0 * mean(x), 100.0 * mean(y))
    };
    let [lr, hr] = [Combination::Lr, Combination::Hr].map(|way| by(way, true));
    found.push(CLAIMS[3].judge(&minus(&lr, &hr), units, percent("LR", &lr, "HR", &hr)));
    let [lr, hr] = [Combination::Lr, Combination::Hr].map(|way| by(way, false));
    found.push(CLAIMS[4].judge(&minus(&hr, &lr), units, percent("HR", &hr, "LR", &lr)));
    let with = shares_of_cut(&methods, splits, true);
    let without = shares_of_cut(&methods, splits, false);
    let cut = [
        ("beyond one half".to_owned(), with.iter().map(|x| x - 0.5).collect()),
        ("beyond those without χ²max".to_owned(), minus(&with, &without)),
    ];
    found.push(CLAIMS[5].judge_all(&cut, units, percent("with", &with, "without", &without)));
    found.extend(tops(&methods, splits, units));
    found.extend(all_features(&methods, units));
    let (wide, narrow) = (won(&combined), won(&single));
    found.push(CLAIMS[8].judge(&minus(&wide, &narrow), units, percent("combinations", &wide, "singles", &narrow)));
    found
}

/// For each split the value of the method and size that are best on the other splits: the best of many has no advantage by chance then.
fn best_elsewhere(methods: &[Method<'_>], splits: usize, of: &dyn Fn(&Method<'_>) -> bool) -> Vec<f64> {
    if splits < 2 {
        return Vec::new();
    }
    let places: Vec<&Vec<f64>> = methods.iter().filter(|m| of(m)).flat_map(|m| &m.curve.values).collect();
    let choose = |split: usize| {
        let elsewhere = |values: &&&Vec<f64>| values.iter().sum::<f64>() - values[split];
        places.iter().max_by(|a, b| elsewhere(a).total_cmp(&elsewhere(b))).map_or(0.0, |values| values[split])
    };
    if places.is_empty() { Vec::new() } else { (0..splits).map(choose).collect() }
}

/// For each split the share of methods and sizes that beat all features of the same method; mean over methods.
fn shares_won(methods: &[Method<'_>], splits: usize, of: &dyn Fn(&Method<'_>) -> bool) -> Vec<f64> {
    let (mut won, mut all) = (vec![0.0; splits], 0.0);
    for method in methods.iter().filter(|m| of(m)) {
        let curve = method.curve;
        let Some(reference) = curve.sizes.iter().position(|s| *s == Size::All) else { continue };
        for at in 0..curve.sizes.len() {
            if curve.features[at] < curve.features[reference] {
                all += 1.0;
                for (won, (a, b)) in won.iter_mut().zip(curve.values[at].iter().zip(&curve.values[reference])) {
                    *won += f64::from(u8::from(a > b));
                }
            }
        }
    }
    won.iter().map(|won| if all > 0.0 { won / all } else { 0.0 }).collect()
}

/// For each split the share of methods and sizes that are better at cut 5 than at cut 1; equals count for neither.
fn shares_of_cut(methods: &[Method<'_>], splits: usize, with: bool) -> Vec<f64> {
    let (mut won, mut all) = (vec![0.0; splits], vec![0.0; splits]);
    for low in methods.iter().filter(|m| m.cut == Some(1) && m.has_chi2max() == with) {
        let name = low.curve.without_cut().1;
        let Some(high) = methods.iter().find(|m| m.cut == Some(5) && m.curve.without_cut().1 == name) else { continue };
        for (at, size) in low.curve.sizes.iter().enumerate() {
            let Some(other) = high.curve.sizes.iter().position(|s| s == size) else { continue };
            for split in 0..splits {
                let (a, b) = (high.curve.values[other][split], low.curve.values[at][split]);
                won[split] += f64::from(u8::from(a > b));
                all[split] += f64::from(u8::from(a != b));
            }
        }
    }
    won.iter().zip(all).map(|(won, all)| if all > 0.0 { won / all } else { 0.5 }).collect()
}

/// olsson figure 2.
fn tops(methods: &[Method<'_>], splits: usize, units: &Units) -> Option<Finding> {
    let alone = methods.iter().find(|m| m.curve.selector == "chi2max@1")?;
    let pairs: Vec<&Method<'_>> = methods
        .iter()
        .filter(|m| m.way == Some(Combination::Lr) && m.cut == Some(1) && m.inputs.len() == 2 && m.has_chi2max())
        .collect();
    // Octaves of features up to the peak, and of the sizes whose value is within 1 % of it.
    let top = |curve: &Curve, split: usize| {
        let at = |i: usize| curve.values[i][split];
        let peak = (1..curve.sizes.len()).fold(0, |best, i| if at(i) > at(best) { i } else { best });
        let near = |i: &usize| at(*i) >= 0.99 * at(peak);
        let first = (0..=peak).rev().take_while(near).last().unwrap_or(peak);
        let last = (peak..curve.sizes.len()).take_while(near).last().unwrap_or(peak);
        (curve.features[peak].log2(), curve.features[last].log2() - curve.features[first].log2())
    };
    let mut earlier = vec![0.0; splits];
    let mut wider = vec![0.0; splits];
    for split in 0..splits {
        let (peak, width) = top(alone.curve, split);
        for pair in &pairs {
            let of_pair = top(pair.curve, split);
            earlier[split] += (peak - of_pair.0) / pairs.len() as f64;
            wider[split] += (of_pair.1 - width) / pairs.len() as f64;
        }
    }
    let parts = [("earlier by".to_owned(), earlier), ("wider by".to_owned(), wider)];
    (!pairs.is_empty()).then(|| CLAIMS[6].judge_all(&parts, units, "octaves".into()))
}

/// All features at the three cuts; which selector does not matter then.
fn all_features(methods: &[Method<'_>], units: &Units) -> Option<Finding> {
    let of = |cut: u32| {
        let method = methods.iter().find(|m| m.cut == Some(cut))?;
        let at = method.curve.sizes.iter().position(|s| *s == Size::All)?;
        Some(&method.curve.values[at])
    };
    let (none, one, five) = (of(0)?, of(1)?, of(5)?);
    let parts = [("cut 1".to_owned(), minus(one, none)), ("cut 5".to_owned(), minus(five, none))];
    let said = format!("{:.4} without, {:.4} with 1, {:.4} with 5", mean(none), mean(one), mean(five));
    Some(CLAIMS[7].judge_all(&parts, units, said))
}
