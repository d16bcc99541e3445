//! olsson 2: which measures prefer the same classifier.

use rand::RngExt;

use super::Finding;
use crate::measure::correlation::r_squared_matrix;
use crate::measure::significance::{quantile, stream};
use crate::report::short;
use crate::study::evidence::{Claim, Estimated, Rule, Units, Verdict};
use crate::study::papers::OLSSON_REVERSALS;
use crate::study::rows::Row;
use crate::study::simulated::Simulated;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        key: "S1",
        paper: "MAP and R-precision reverse least: 0.194, against 0.314 and 0.352 with F1 (olsson table 1)",
        effect: "share of sets that a pair with F1 reverses less that of the two ranked measures, for each of both pairs",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "S2",
        paper: "The ranked measures agree more with each other than with F1 (olsson figure 1: r²)",
        effect: "r² of MAP and R-precision less the larger r² with F1 (the interval is a percentile bootstrap over sets)",
        rule: Rule::Above(0.0),
    },
];

/// Replicates of the bootstrap.
const REPLICATES: usize = 2000;

pub(super) fn findings(rows: &[Row], units: &Units) -> Vec<Finding> {
    let Some(run) = Simulated::of(rows) else { return Vec::new() };
    let sets = || rows.iter().filter_map(|row| if let Row::Set(set) = row { Some(set) } else { None });
    let differences: Vec<[f64; 3]> =
        sets().map(|s| [s.a.map - s.b.map, s.a.rprec - s.b.rprec, s.a.f1 - s.b.f1]).collect();
    let reversed = |x: usize, y: usize| -> Vec<f64> {
        differences.iter().map(|d| f64::from(u8::from(d[x] * d[y] < 0.0))).collect()
    };
    let ranked = reversed(0, 1);
    let parts: Vec<(String, Vec<f64>)> = [("MAP, F1", reversed(0, 2)), ("RPrec, F1", reversed(1, 2))]
        .into_iter()
        .map(|(name, of)| (name.to_owned(), super::minus(&of, &ranked)))
        .collect();
    let shares: Vec<String> = OLSSON_REVERSALS
        .iter()
        .zip(&run.reversals)
        .map(|((a, b, _), r)| format!("{a}/{b} {}", short(r.share())))
        .collect();
    vec![CLAIMS[0].judge_all(&parts, units, shares.join(", ")), agreement(&run, units)]
}

/// `r²` is no mean over sets, so its interval is drawn.
fn agreement(run: &Simulated, units: &Units) -> Finding {
    let claim = &CLAIMS[1];
    let ahead = |r: &[Vec<f64>]| r[0][1] - r[0][2].max(r[1][2]);
    let sets = run.values[0].len();
    let mut rng = stream(1, 0);
    let mut drawn: Vec<f64> = (0..REPLICATES)
        .map(|_| {
            let rows: Vec<usize> = (0..sets).map(|_| rng.random_range(0..sets)).collect();
            let values: Vec<Vec<f64>> = run.values.iter().map(|of| rows.iter().map(|&row| of[row]).collect()).collect();
            ahead(&r_squared_matrix(&values))
        })
        .collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - units.level) / 2.0;
    let interval = (quantile(&drawn, tail), quantile(&drawn, 1.0 - tail));
    let estimated = Estimated { effect: ahead(&run.r_squared), interval: Some(interval), p: None };
    let [ranked, map_f1, rprec_f1] = [run.r_squared[0][1], run.r_squared[0][2], run.r_squared[1][2]];
    Finding {
        key: claim.key.to_owned(),
        paper: claim.paper.to_owned(),
        rule: claim.rule_text(units),
        ours: format!("{estimated}; r² {} against {} and {}", short(ranked), short(map_f1), short(rprec_f1)),
        estimated: Some(estimated),
        verdict: if interval.0 > 0.0 {
            Verdict::Seen
        } else if interval.1 <= 0.0 {
            Verdict::NotSeen
        } else {
            Verdict::CannotTell
        },
    }
}
