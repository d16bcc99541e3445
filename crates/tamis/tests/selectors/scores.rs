//! Every score against the formula as the specification writes it, label by label and pair by pair.

use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};
use tamis::counts::{Cell, Contingency};
use tamis::features::{Formula, Lambda, Pool, Score, Selector, WordPrior, rank_all};

use super::{by_term, has_contrast, random_table, rank, selector};

fn half(x: f64) -> f64 {
    if x == 0.0 { 0.5 } else { x }
}

fn rate(x: f64, y: f64) -> f64 {
    if y == 0.0 { 0.0 } else { x / y }
}

fn x_log_x(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * x.ln() }
}

/// Method 2, written out a second time; other formulas only by the library's own function of one cell.
fn cell_score(formula: Formula, cell: Cell) -> f64 {
    let Cell { a, b, c, d } = cell;
    let n = a + b + c + d;
    let n_c = a + c;
    let log_ratio = ((half(a) / half(n_c)) / (half(b) / half(n - n_c))).ln();
    match formula {
        Formula::Chi2 => rate(n * (a * d - c * b).powi(2), (a + c) * (b + d) * (a + b) * (c + d)),
        Formula::Mi => -(1.0 + half(b) / half(a)).ln() - (n_c / n).ln(),
        Formula::Rf => (2.0 + a / b.max(1.0)).log2(),
        Formula::Bns => {
            let quantile = |p: f64| Normal::standard().inverse_cdf(p.clamp(0.0005, 0.9995));
            (quantile(rate(a, n_c)) - quantile(rate(b, n - n_c))).abs()
        }
        Formula::Wllr => rate(a, n_c) * log_ratio,
        Formula::Wfo(Lambda::Fixed(lambda)) if a > 0.0 && log_ratio > 1e-12 => {
            (a / n_c).powf(lambda) * log_ratio.powf(1.0 - lambda)
        }
        Formula::Wfo(_) => 0.0,
        Formula::Or => (half(a) * half(d) / (half(b) * half(c))).ln(),
        other => other.of_cell(cell).expect("a formula on cells"),
    }
}

fn slow_score(score: Score, table: &Contingency, term: u32, classes: &[Class]) -> f64 {
    let n = table.documents() as f64;
    let labels: Vec<u32> =
        (0..table.label_documents().len() as u32).filter(|&l| table.label_documents()[l as usize] > 0).collect();
    let cells: Vec<Cell> = labels.iter().map(|&l| table.cell(term, l)).collect();
    let df = f64::from(table.df()[term as usize]);
    match score.formula() {
        Formula::Df => df,
        Formula::Ig => {
            let entropy: f64 = cells.iter().map(|x| x_log_x((x.a + x.c) / n)).sum();
            let present: f64 = cells.iter().map(|x| x_log_x(rate(x.a, df))).sum();
            let absent: f64 = cells.iter().map(|x| x_log_x(rate(x.c, n - df))).sum();
            -entropy + df / n * present + (n - df) / n * absent
        }
        Formula::IgPresence => {
            cells.iter().filter(|x| x.a > 0.0).map(|x| x.a / n * ((x.a / n) / ((x.a + x.c) / n * (df / n))).ln()).sum()
        }
        Formula::Ib(prior) => slow_ib(table, term, classes, prior),
        formula => {
            let scores = cells.iter().map(|&cell| cell_score(formula, cell));
            match score.pool().expect("a pool") {
                Pool::Max => scores.fold(f64::NEG_INFINITY, f64::max),
                Pool::Sum => scores.sum(),
                Pool::Avg => scores.zip(&cells).map(|(s, x)| (x.a + x.c) / n * s).sum(),
            }
        }
    }
}

/// Label, `P_c`, `V`, `Σ_v N_vc` and `Σ_v N_v` of method 5.
struct Class {
    label: u32,
    prior: f64,
    words: f64,
    tokens: f64,
    all_tokens: f64,
}

fn classes(table: &Contingency, cut: u32) -> Vec<Class> {
    let kept: Vec<usize> = (0..table.terms()).filter(|&t| table.df()[t] > cut).collect();
    let documents: f64 = table.label_documents().iter().map(|&n| f64::from(n)).sum();
    (0u32..)
        .zip(table.label_documents())
        .filter(|(_, n)| **n > 0)
        .map(|(label, &n)| {
            let all: f64 = kept.iter().map(|&t| occurrences(table, t, label)).sum();
            let all_tokens = kept.iter().map(|&t| table.occurrences()[t] as f64).sum();
            Class { label, prior: f64::from(n) / documents, words: kept.len() as f64, tokens: all, all_tokens }
        })
        .collect()
}

fn occurrences(table: &Contingency, term: usize, label: u32) -> f64 {
    table.meetings().get(term, label).map_or(0.0, |m| f64::from(m.occurrences))
}

/// Method 5 over all pairs. The bracket is `1 − ½((√p_j − √p_k)² + (√q_j − √q_k)²)`, which keeps its digits when the
/// classes are almost alike.
fn slow_ib(table: &Contingency, term: u32, classes: &[Class], prior: WordPrior) -> f64 {
    let p: Vec<f64> = classes
        .iter()
        .map(|c| {
            let own = occurrences(table, term as usize, c.label);
            match prior {
                WordPrior::AddOne => (1.0 + own) / (c.words + c.tokens),
                WordPrior::Weight(m) => {
                    let share = table.occurrences()[term as usize] as f64 / c.all_tokens;
                    (own + m * share) / (c.tokens + m)
                }
            }
        })
        .collect();
    let mut sum = 0.0;
    for j in 0..classes.len() {
        for k in 0..j {
            let root = (p[j].sqrt() - p[k].sqrt()).powi(2) + ((1.0 - p[j]).sqrt() - (1.0 - p[k]).sqrt()).powi(2);
            sum += classes[j].prior * classes[k].prior * -(-0.5 * root).ln_1p();
        }
    }
    sum
}

/// Within 1e-9 of the slow number, or of what rounding leaves of the numbers it is made from.
fn close(fast: f64, slow: f64, scale: f64) -> bool {
    (fast - slow).abs() <= 1e-9 * slow.abs() + 1e-13 * scale
}

fn all_scores() -> Vec<Score> {
    Score::all()
        .flat_map(|score| match score.formula() {
            Formula::Wfo(_) => [0.0, 0.3, 1.0]
                .map(|l| Score::new(Formula::Wfo(Lambda::Fixed(l)), score.pool()).expect("λ in range"))
                .to_vec(),
            Formula::Ib(_) => [WordPrior::AddOne, WordPrior::Weight(1.0), WordPrior::Weight(100.0)]
                .map(|prior| Score::new(Formula::Ib(prior), None).expect("a weight above 0"))
                .to_vec(),
            _ => vec![score],
        })
        .collect()
}

fn compare(table: &Contingency, cut: u32) -> Result<(), TestCaseError> {
    let taking_part = table.label_documents().iter().filter(|&&n| n > 0).count();
    let scores: Vec<Score> =
        all_scores().into_iter().filter(|s| taking_part > 1 || !matches!(s.formula(), Formula::Ib(_))).collect();
    let selectors: Vec<Selector> = scores.iter().map(|&s| Selector::score(s).with_cut(Some(cut))).collect();
    let rankings = rank_all(&selectors, table).expect("labels with contrast");
    let classes = classes(table, cut);
    for (score, ranking) in scores.iter().zip(&rankings) {
        let fast = by_term(ranking, table);
        for term in 0..table.terms() as u32 {
            let df = table.df()[term as usize];
            let Some(fast) = fast[term as usize] else {
                prop_assert!(df <= cut);
                continue;
            };
            prop_assert!(df > cut && fast.is_finite());
            let slow = slow_score(*score, table, term, &classes);
            // ib is a sum of squares of small angles; everything else is of the order of its parts.
            let scale = if matches!(score.formula(), Formula::Ib(_)) { 1e-4 } else { 10.0 };
            prop_assert!(
                close(fast, slow, scale),
                "{} of term {} at cut {}: {} instead of {}",
                score,
                term,
                cut,
                fast,
                slow
            );
        }
        // Where a label is named, it is the first that reaches the maximum.
        if let Some(labels) = ranking.labels() {
            for (&term, &label) in ranking.terms().iter().zip(labels) {
                let of = |l: u32| score.formula().of_cell(table.cell(term, l)).expect("a formula on cells");
                let first_best = (0..table.label_documents().len() as u32)
                    .filter(|&l| table.label_documents()[l as usize] > 0)
                    .reduce(|best, l| if of(l) > of(best) { l } else { best });
                prop_assert_eq!(Some(label), first_best, "{} of term {}", score, term);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn few_labels(seed: u64, documents in 1usize..40, words in 1usize..60, labels in 1usize..5, cut in 0u32..3) {
        let table = random_table(seed, documents, words, labels);
        prop_assume!(has_contrast(&table));
        compare(&table, cut)?;
    }

    #[test]
    fn many_labels(seed: u64, documents in 100usize..250, words in 60usize..900, labels in 20usize..90, cut in 0u32..2) {
        let table = random_table(seed, documents, words, labels);
        prop_assume!(has_contrast(&table));
        compare(&table, cut)?;
    }

    /// The order of method 2 is total and the list is complete, for any selector.
    #[test]
    fn rankings_are_in_order(seed: u64, documents in 2usize..60, cut in 0u32..4) {
        let table = random_table(seed, documents, 50, 6);
        prop_assume!(has_contrast(&table));
        for expression in ["chi2max", "bns", "miavg", "orsum", "dfs"] {
            let ranking = selector(expression).with_cut(Some(cut)).rank(&table).unwrap();
            prop_assert_eq!(ranking.len(), table.df().iter().filter(|&&df| df > cut).count());
            for i in 1..ranking.len() {
                let key = |i: usize| (ranking.scores()[i], table.df()[ranking.terms()[i] as usize], ranking.terms()[i]);
                let ((s0, df0, t0), (s1, df1, t1)) = (key(i - 1), key(i));
                prop_assert!(s0 > s1 || (s0 == s1 && (df0 > df1 || (df0 == df1 && t0 < t1))));
            }
        }
    }

    /// Local lists have the score of the cell, whatever the pool.
    #[test]
    fn lists_for_a_label(seed: u64, documents in 5usize..60) {
        let table = random_table(seed, documents, 40, 5);
        prop_assume!(has_contrast(&table));
        for expression in ["chi2avg@1", "bns", "wfo(0.4)", "lr(chi2max,g2@1)"] {
            let selector = selector(expression);
            let all = selector.rank_per_label(&table, 7).unwrap();
            for (label, top) in all.iter().enumerate() {
                let one = selector.rank_label(&table, label as u32).unwrap();
                prop_assert_eq!(top.terms(), one.top(7));
                if table.label_documents()[label] == 0 {
                    prop_assert!(one.is_empty());
                } else if let tamis::features::Kind::Score(score) = selector.kind() {
                    for (&term, &score_of_term) in one.terms().iter().zip(one.scores()) {
                        let expected = score.formula().of_cell(table.cell(term, label as u32)).unwrap();
                        prop_assert_eq!(score_of_term, expected);
                    }
                }
            }
        }
    }
}

/// Labels of equal size are exchangeable: a term that meets one of them scores as a term that meets another, to the bit,
/// so that ties stay ties in whatever order labels are added.
#[test]
fn equal_cells_in_any_order_give_equal_bits() {
    use tamis::counts::Counts;
    // Three labels of five documents each; x, y and z meet them 1, 2 and 3 times, in different order.
    let meets = [("x", [1, 2, 3]), ("y", [3, 1, 2]), ("z", [2, 3, 1]), ("u", [3, 2, 1])];
    let corpus: Vec<(Vec<&str>, Vec<&str>)> = ["A", "B", "C"]
        .iter()
        .enumerate()
        .flat_map(|(l, &label)| {
            (0..5).map(move |d| (meets.iter().filter(|m| d < m.1[l]).map(|m| m.0).collect(), vec![label]))
        })
        .collect();
    let table = Contingency::of(&Counts::from_rows(&corpus));
    for score in all_scores().into_iter().filter(|s| !matches!(s.formula(), Formula::Ib(_))) {
        let ranking = rank(&score.to_string(), &table);
        assert!(
            ranking.scores().windows(2).all(|w| w[0].to_bits() == w[1].to_bits()),
            "{score}: {:?}",
            ranking.scores()
        );
        assert_eq!(ranking.average_ranks(), [2.5; 4], "{score}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let table = random_table(7, 900, 2000, 60);
    let selectors: Vec<Selector> = all_scores().into_iter().map(Selector::score).collect();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| rank_all(&selectors, &table)).unwrap()
    };
    let bits = |rankings: &[tamis::features::Ranking]| -> Vec<(Vec<u32>, Vec<u64>)> {
        rankings.iter().map(|r| (r.terms().to_vec(), r.scores().iter().map(|s| s.to_bits()).collect())).collect()
    };
    let one = with(1);
    assert_eq!(bits(&one), bits(&with(2)));
    assert_eq!(bits(&one), bits(&with(5)));
    // And alone as in company.
    for (selector, together) in selectors.iter().zip(&one) {
        assert_eq!(&selector.rank(&table).unwrap(), together, "{selector}");
    }
}
