//! What the papers print, for the reports to show beside ours. Numbers only; each table says where it stands.

/// olsson table 1: share of simulated sets on which two measures disagree.
pub use crate::measure::simulation::PAPER_REVERSALS as OLSSON_REVERSALS;

use crate::features::{Combination, Kind, Selector};

/// olsson table 2 (cutting level 1), as far as our copy of the paper can be read: from which of the sizes 1,000 to 10,000 on
/// a method has a dot, which means that it beat the use of all features on at least one of five splits. Dot sizes cannot be
/// read in it.
pub fn olsson_first_dot(selector: &Selector) -> Option<usize> {
    let inputs = |combine: &crate::features::Combine| -> Vec<String> {
        combine.inputs().iter().map(|s| s.clone().with_cut(None).to_string()).collect()
    };
    match selector.kind() {
        Kind::Score(score) => match score.name().as_str() {
            "df" => Some(10_000),
            "ig" => Some(5000),
            "chi2max" => Some(3000),
            "chi2avg" => Some(1000),
            _ => None,
        },
        Kind::Combine(combine) => {
            let inputs = inputs(combine);
            let only_frequent = inputs.iter().all(|name| name == "df" || name == "ig");
            match (combine.combination(), inputs.len()) {
                (Combination::Hr, 2) | (Combination::Lr, 3..) => Some(10_000),
                (Combination::Lr | Combination::Ar, 2) if only_frequent => Some(10_000),
                (Combination::Lr | Combination::Ar | Combination::Hr, _) => Some(1000),
                (Combination::Dmor | Combination::Dlor, _) => Some(10_000),
                _ => None,
            }
        }
        Kind::Search(_) => None,
    }
}

/// The sizes of olsson table 2.
pub const OLSSON_DOT_SIZES: [usize; 8] = [1000, 1500, 2000, 2500, 3000, 4000, 5000, 10_000];

/// Corpora of li table 1.
pub const LI_CORPORA: [&str; 4] = ["20NG", "R2", "Movie", "DVD"];

/// li table 1: mean min-max-normalised DF and MI of the top 2 % of terms, by selector (our name) and corpus.
pub const LI_PROFILE: [(&str, [(f64, f64); 4]); 6] = [
    ("mimax", [(0.004, 0.870), (0.047, 0.959), (0.003, 0.888), (0.004, 0.881)]),
    ("bns", [(0.005, 0.864), (0.117, 0.922), (0.008, 0.881), (0.006, 0.880)]),
    ("chi2max", [(0.015, 0.814), (0.211, 0.748), (0.092, 0.572), (0.055, 0.676)]),
    ("ig", [(0.087, 0.525), (0.209, 0.792), (0.095, 0.559), (0.066, 0.669)]),
    ("wllr", [(0.026, 0.764), (0.206, 0.805), (0.168, 0.414), (0.127, 0.481)]),
    ("df", [(0.122, 0.252), (0.268, 0.562), (0.419, 0.09), (0.321, 0.111)]),
];

/// li 4.3: λ learned for 500 features on 20NG, Movie and DVD.
pub const LI_LAMBDA_AT_500: [(&str, f64); 3] = [("20NG", 0.42), ("Movie", 0.50), ("DVD", 0.34)];

/// li 4.3: λ learned on 20NG for more features.
pub const LI_LAMBDA_20NG: [(usize, f64); 4] = [(10_000, 0.28), (15_000, 0.20), (20_000, 0.08), (30_000, 0.01)];

/// addis table 1: seconds of RBF and TSA up to each step, and their ratio.
pub const ADDIS_TIMES: [(&str, f64, f64, f64); 4] = [
    ("step 1 (level 4)", 10_333.0, 382.0, 27.02),
    ("step 2 (level 3)", 97_907.0, 3497.0, 28.0),
    ("step 3 (level 2)", 213_724.0, 7610.0, 28.08),
    ("step 4 (level 1)", 328_372.0, 11_634.0, 28.22),
];

/// addis table 2: F1 of RBF and TSA at input imbalance 2^-1 … 2^-7.
pub const ADDIS_IMBALANCE: [(f64, f64); 7] =
    [(0.830, 0.835), (0.722, 0.733), (0.619, 0.632), (0.497, 0.515), (0.404, 0.428), (0.323, 0.345), (0.245, 0.273)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_of_table_2() {
        let first = |name: &str| olsson_first_dot(&name.parse().unwrap());
        assert_eq!(first("ig@1"), Some(5000));
        assert_eq!(first("lr(df,ig)@1"), Some(10_000));
        assert_eq!(first("lr(chi2max,chi2avg)@1"), Some(1000));
        assert_eq!(first("lr(df,ig,chi2max)@1"), Some(10_000));
        assert_eq!(first("hr(df,ig,chi2max)@1"), Some(1000));
        assert_eq!(first("dmor(chi2max,chi2avg)@1"), Some(10_000));
        assert_eq!(first("os(ib)"), None);
    }
}
