//! Labels that exclude each other: how much surer a higher score makes.

use rayon::prelude::*;

use crate::classify::Scored;

/// So many rivals of the true label are kept; the rest of a long list weighs nothing.
const RIVALS: usize = 64;

/// Held-out documents with one label each, and how far the scores of other labels lie above that of the true one.
#[derive(Debug, Clone, Default)]
pub struct Rivalry {
    /// Scores less that of the true label, document after document.
    leads: Vec<f32>,
    ends: Vec<usize>,
}

impl Rivalry {
    /// Adds a held-out document; one whose only label is not ranked, or that has another number of labels, tells nothing.
    pub fn add(&mut self, ranked: &[Scored], truth: &[u32]) {
        let [label] = truth else { return };
        let Some(own) = ranked.iter().find(|s| s.label == *label).map(|s| s.score).filter(|s| s.is_finite()) else {
            return;
        };
        let rivals = ranked.iter().filter(|s| s.label != *label && s.score.is_finite()).take(RIVALS);
        self.leads.extend(rivals.map(|s| (s.score - own) as f32));
        self.ends.push(self.leads.len());
    }

    /// Documents.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Mean logarithmic loss of probabilities in proportion to `exp(scale · score)`.
    fn loss(&self, scale: f64) -> f64 {
        let document = |d: usize| {
            let from = if d == 0 { 0 } else { self.ends[d - 1] };
            let leads = &self.leads[from..self.ends[d]];
            let most = leads.iter().fold(0.0_f64, |most, &lead| most.max(scale * f64::from(lead)));
            let rest: f64 = leads.iter().map(|&lead| (scale * f64::from(lead) - most).exp()).sum();
            most + ((-most).exp() + rest).ln()
        };
        // Collected, so that the sum has one order whatever the threads.
        let losses: Vec<f64> = (0..self.len()).into_par_iter().map(document).collect();
        losses.iter().sum::<f64>() / self.len().max(1) as f64
    }

    /// The scale with the least logarithmic loss (temperature scaling, Guo et al. 2017). The loss is convex in it, and looked at
    /// on a logarithmic scale from a thousandth to a thousand: golden section, to three digits.
    pub fn scale(&self) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_894_8;
        let at = |exponent: f64| self.loss(exponent.exp());
        let (mut low, mut high) = (-7.0_f64, 7.0_f64);
        let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (mut at_left, mut at_right) = (at(left), at(right));
        while high - low > 1e-3 {
            if at_left <= at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - GOLDEN * (high - low);
                at_left = at(left);
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + GOLDEN * (high - low);
                at_right = at(right);
            }
        }
        f64::midpoint(low, high).exp()
    }
}

/// Probabilities in proportion to `exp(scale · score)`, into the places of the labels; 0 for labels that are not ranked.
pub(super) fn softmax(scale: f64, ranked: &[Scored], probabilities: &mut [f64]) {
    let most = ranked.iter().fold(f64::NEG_INFINITY, |most, s| most.max(s.score));
    let mut sum = 0.0;
    for s in ranked {
        let share = if s.score.is_finite() { (scale * (s.score - most)).exp() } else { 0.0 };
        if let Some(p) = probabilities.get_mut(s.label as usize) {
            *p = share;
            sum += share;
        }
    }
    if sum > 0.0 {
        probabilities.iter_mut().for_each(|p| *p /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(scores: &[f64]) -> Vec<Scored> {
        let mut all: Vec<Scored> = scores.iter().zip(0..).map(|(&score, label)| Scored { label, score }).collect();
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        all
    }

    /// Labels drawn from probabilities that scores halve: the scale is found to be two.
    #[test]
    fn the_scale_that_made_the_labels_is_found() {
        let mut rivalry = Rivalry::default();
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for _ in 0..20_000 {
            let scores = [next(), next(), next()].map(|u| 2.0 * u - 1.0);
            let weights = scores.map(|s| (2.0 * s).exp());
            let draw = next() * weights.iter().sum::<f64>();
            let label = if draw < weights[0] {
                0
            } else if draw < weights[0] + weights[1] {
                1
            } else {
                2
            };
            rivalry.add(&scored(&scores), &[label]);
        }
        let scale = rivalry.scale();
        assert!((1.9..2.1).contains(&scale), "{scale}");
        // It is the least of a fine grid.
        let grid = (1..400).map(|i| rivalry.loss(f64::from(i) * 0.01)).fold(f64::INFINITY, f64::min);
        assert!(rivalry.loss(scale) <= grid + 1e-6);
    }

    #[test]
    fn probabilities_sum_to_one_in_the_order_of_scores() {
        let mut p = [0.0; 4];
        softmax(3.0, &scored(&[0.1, -800.0, 0.4]), &mut p);
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(p[2] > p[0] && p[0] > p[1] && p[3] == 0.0);
    }

    #[test]
    fn without_documents_any_scale_will_do() {
        assert!(Rivalry::default().scale().is_finite());
    }
}
