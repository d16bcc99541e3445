//! novovicova 5.4: searched subsets against the best individual words.

use super::{Finding, mean_of, minus};
use crate::features::Size;
use crate::study::arena::{Arena, Curve};
use crate::study::evidence::{Claim, Rule, Units};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        key: "N1",
        paper: "Oscillating search is constantly superior to both best-individual selections up to about 1,000 words (figures 1 and 2)",
        effect: "accuracy of the search less that of the better of the two at each size up to 1,000, mean over sizes, for each classifier",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "N2",
        paper: "For larger subsets the improvement is hardly observable (figures 1 and 2)",
        effect: "the same over the sizes above 1,000",
        rule: Rule::Within(-0.005, 0.005),
    },
    Claim {
        key: "N3",
        paper: "Individual Bhattacharyya is slightly superior to information gain (section 5.4)",
        effect: "accuracy of the individual Bhattacharyya distance less that of information gain, mean over all sizes, for each classifier",
        rule: Rule::Above(0.0),
    },
    Claim {
        key: "N4",
        paper: "The improvement is equally notable for both classifiers (section 5.4)",
        effect: "the effect of N1 with the first classifier less that with the second",
        rule: Rule::Within(-0.01, 0.01),
    },
];

pub(super) fn findings(arenas: &[Arena], units: &Units) -> Vec<Finding> {
    let (mut small, mut large, mut individual) = (Vec::new(), Vec::new(), Vec::new());
    for arena in arenas {
        let curve = |start: &str| arena.curves.iter().find(|c| c.selector.starts_with(start));
        let (Some(os), Some(ib), Some(ig)) = (curve("os("), curve("ib"), curve("ig")) else { continue };
        let better = |i: usize| -> &Curve { if ib.mean(i) > ig.mean(i) { ib } else { ig } };
        let ahead = |up_to: bool| {
            let sizes = (0..os.sizes.len()).filter(|&i| (os.sizes[i] <= Size::Top(1000)) == up_to);
            mean_of(&sizes.map(|i| minus(&os.values[i], &better(i).values[i])).collect::<Vec<_>>())
        };
        small.push((arena.classifier.clone(), ahead(true)));
        large.push((arena.classifier.clone(), ahead(false)));
        let all: Vec<Vec<f64>> = (0..ib.sizes.len()).map(|i| minus(&ib.values[i], &ig.values[i])).collect();
        individual.push((arena.classifier.clone(), mean_of(&all)));
    }
    let mut found = vec![
        CLAIMS[0].judge_all(&small, units, String::new()),
        CLAIMS[1].judge_all(&large, units, String::new()),
        CLAIMS[2].judge_all(&individual, units, String::new()),
    ];
    if let [first, second, ..] = small.as_slice() {
        found.push(CLAIMS[3].judge(&minus(&first.1, &second.1), units, String::new()));
    }
    found
}
