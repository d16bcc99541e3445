//! The individual Bhattacharyya distance of a term, over all pairs of classes, without walking over all pairs.
//!
//! `ib(t) = Σ_{j<k} P_j P_k · −log( √(p_j p_k) + √((1−p_j)(1−p_k)) )`, `p_j = (1 + N_tj) / (V + N_j)`, `P_j = n_j / Σ n`
//! (method 2 and 5; novovicova eq. 4 without the constant document length).
//!
//! With `p = sin² θ` the bracket is `cos(θ_j − θ_k)`, so a term needs `Σ_{j<k} P_j P_k · g(θ_j − θ_k)` with
//! `g(x) = −log cos x = x²/2 + x⁴/12 + x⁶/45 + …`. An even power of a difference falls into products of moments
//! `M_r = Σ P_j (θ_j − μ)^r`, so the sum over m² pairs becomes a short polynomial in moments. A class that the term
//! does not meet has the angle `asin √(1/(V + N_j))`, the same for every term: their moments are those of all classes
//! minus those of the classes met. So a term costs its met classes, not `m²`.
//!
//! With word priors (`ib(m)`) unmet classes have angles that differ from term to term, so a term costs all classes, still
//! not their pairs.
//!
//! `μ` is the mean angle: the quadratic part is then a sum of positive numbers and nothing cancels. Angles far from
//! the others, where the series would be long, are taken out and paired directly with every class.

use crate::counts::{Contingency, Meeting};
use crate::features::registry::WordPrior;

/// Powers of `g` used at most: `x^2` to `x^16`.
const TERMS: usize = 8;
/// Moments kept: 0 to `2·TERMS`.
const MOMENTS: usize = 2 * TERMS + 1;
/// Angles farther than this from the mean angle of unmet classes are paired directly. Differences that enter the series
/// are then at most 0.3, where the first power left out is below 1e-12 of the sum.
const NEAR: f64 = 0.15;
/// What the first power left out may be, relative to the first.
const TOLERANCE: f64 = 1e-13;

/// `g_i`: `−log cos x = Σ g_i x^{2i}`, `i ≥ 1`.
const SERIES: [f64; TERMS] = [
    1.0 / 2.0,
    1.0 / 12.0,
    1.0 / 45.0,
    17.0 / 2_520.0,
    31.0 / 14_175.0,
    691.0 / 935_550.0,
    10_922.0 / 42_567_525.0,
    929_569.0 / 10_216_206_000.0,
];

/// Binomial coefficients `C(r, s)`.
const BINOMIAL: [[f64; MOMENTS]; MOMENTS] = {
    let mut rows = [[0.0; MOMENTS]; MOMENTS];
    let mut r = 0;
    while r < MOMENTS {
        rows[r][0] = 1.0;
        let mut s = 1;
        while s <= r {
            rows[r][s] = rows[r - 1][s - 1] + if s < r { rows[r - 1][s] } else { 0.0 };
            s += 1;
        }
        r += 1;
    }
    rows
};

/// What the distance needs to know of the classes: prepared once for a (cut) vocabulary, used for every term.
#[derive(Debug)]
pub struct Bhattacharyya {
    /// `P_c`; 0 for labels without documents.
    priors: Vec<f64>,
    /// `V + N_c`, or `N_c + m`.
    denominators: Vec<f64>,
    /// Classes with documents: those without change nothing, not even the last digit.
    classes: usize,
    /// Angle of each class for a term it does not contain.
    unmet: Vec<f64>,
    /// Largest and smallest of `unmet` among classes that take part.
    unmet_range: (f64, f64),
    /// Mean of `unmet`, weighted by the priors: the point that prepared moments are taken around.
    centre: f64,
    /// `P_c (unmet_c − centre)^r` of each class.
    powers: Vec<[f64; MOMENTS]>,
    /// Sums of `powers` over all classes.
    totals: [f64; MOMENTS],
    /// Word priors: their weight, and the occurrences of all terms.
    prior: Option<(f64, f64)>,
    /// Whether even the unmet angles are too far apart for the series (a vocabulary of a few terms).
    direct: bool,
}

/// Reusable memory for one thread.
#[derive(Debug, Default)]
pub struct Angles {
    met: Vec<f64>,
    far: Vec<(u32, f64)>,
    all: Vec<f64>,
}

impl Bhattacharyya {
    /// Prepares the classes of a contingency for the vocabulary of terms with `df > cut`.
    pub fn new(table: &Contingency, cut: u32, prior: WordPrior) -> Self {
        let labels = table.label_documents().len();
        let mut occurrences = vec![0u64; labels];
        let (mut vocabulary, mut all) = (0u64, 0u64);
        for (term, &df) in table.df().iter().enumerate() {
            if df > cut {
                vocabulary += 1;
                all += table.occurrences()[term];
                for (label, meeting) in table.meetings().row(term) {
                    occurrences[label as usize] += u64::from(meeting.occurrences);
                }
            }
        }
        let documents: u64 = table.label_documents().iter().map(|&n| u64::from(n)).sum();
        let priors: Vec<f64> =
            table.label_documents().iter().map(|&n| super::quotient(f64::from(n), documents as f64)).collect();
        let prior = match prior {
            WordPrior::AddOne => None,
            WordPrior::Weight(m) => Some((m, all.max(1) as f64)),
        };
        let denominator = |n: u64| prior.map_or((vocabulary + n).max(1) as f64, |(m, _)| n as f64 + m);
        let denominators: Vec<f64> = occurrences.iter().map(|&n| denominator(n)).collect();
        let unmet: Vec<f64> = denominators.iter().map(|&d| angle(1.0, d)).collect();
        let taking_part = || unmet.iter().zip(&priors).filter(|(_, p)| **p > 0.0);
        let unmet_range =
            taking_part().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (&u, _)| (lo.min(u), hi.max(u)));
        let centre = taking_part().map(|(u, p)| u * p).sum::<f64>();
        let powers: Vec<[f64; MOMENTS]> = unmet.iter().zip(&priors).map(|(u, p)| weighted(*p, u - centre)).collect();
        let mut totals = [0.0; MOMENTS];
        for of_class in &powers {
            add(&mut totals, of_class, MOMENTS);
        }
        let direct = unmet_range.1 - centre > NEAR || centre - unmet_range.0 > NEAR;
        let classes = taking_part().count();
        Self { priors, denominators, classes, unmet, unmet_range, centre, powers, totals, prior, direct }
    }

    /// The distance of one term from its occurrences in all documents, the classes it meets and how often it occurs there.
    pub fn score(&self, occurrences: u64, labels: &[u32], meetings: &[Meeting], angles: &mut Angles) -> f64 {
        if let Some((m, all)) = self.prior {
            return self.score_with(m * occurrences as f64 / all, labels, meetings, angles);
        }
        angles.met.clear();
        angles.far.clear();
        let (mut low, mut high) = self.unmet_range;
        for (&label, meeting) in labels.iter().zip(meetings) {
            let theta = angle(1.0 + f64::from(meeting.occurrences), self.denominators[label as usize]);
            angles.met.push(theta);
            if (theta - self.centre).abs() > NEAR {
                angles.far.push((label, theta));
            } else {
                low = low.min(theta);
                high = high.max(theta);
            }
        }
        if self.direct {
            self.all_angles(labels, angles);
            return self.pairs(&angles.all);
        }
        let near = self.near_pairs(labels, &angles.met, high - low);
        if angles.far.is_empty() { near } else { near + self.far_pairs(labels, angles) }
    }

    /// The same where every class has so many occurrences more of the term.
    fn score_with(&self, more: f64, labels: &[u32], meetings: &[Meeting], angles: &mut Angles) -> f64 {
        angles.all.clear();
        angles.all.extend(self.denominators.iter().map(|&d| angle(more, d)));
        for (&label, meeting) in labels.iter().zip(meetings) {
            let class = label as usize;
            angles.all[class] = angle(more + f64::from(meeting.occurrences), self.denominators[class]);
        }
        let centre: f64 = self.priors.iter().zip(&angles.all).map(|(p, theta)| p * theta).sum();
        let near = |theta: f64| (theta - centre).abs() <= NEAR;
        let of_class = || self.priors.iter().zip(&angles.all).filter(|(p, _)| **p > 0.0);
        // The mean of the near ones, so that the quadratic part is a sum of positive numbers.
        let (mut weight, mut first) = (0.0, 0.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (p, &theta) in of_class().filter(|(_, theta)| near(**theta)) {
            weight += p;
            first += p * theta;
            (low, high) = (low.min(theta), high.max(theta));
        }
        let mean = super::quotient(first, weight);
        let terms = series_length((high - low).max(0.0));
        let mut moments = [0.0; MOMENTS];
        for (p, &theta) in of_class().filter(|(_, theta)| near(**theta)) {
            add(&mut moments, &weighted(*p, theta - mean), 2 * terms + 1);
        }
        let mut sum = pair_sum(&moments, terms);
        for (j, (p, &theta)) in self.priors.iter().zip(&angles.all).enumerate() {
            if *p == 0.0 || near(theta) {
                continue;
            }
            let others = self.priors.iter().zip(&angles.all).enumerate();
            // Two far classes are one pair.
            let others = others.filter(|(k, (_, other))| *k < j || near(**other)).filter(|(k, _)| *k != j);
            sum += p * others.map(|(_, (q, other))| q * minus_log_cos(theta - other)).sum::<f64>();
        }
        sum
    }

    /// Pairs of classes whose angles lie near the centre, by moments.
    fn near_pairs(&self, labels: &[u32], met: &[f64], spread: f64) -> f64 {
        let terms = series_length(spread);
        let moments = 2 * terms + 1;
        let mut around_centre = self.unmet_moments(labels, moments);
        let near = || labels.iter().zip(met).filter(|(_, theta)| (**theta - self.centre).abs() <= NEAR);
        // The mean angle of near classes, relative to the centre.
        let (mut weight, mut first) = (around_centre[0], around_centre[1]);
        for (&label, theta) in near() {
            let prior = self.priors[label as usize];
            weight += prior;
            first += prior * (theta - self.centre);
        }
        let mean = super::quotient(first, weight);
        shift(&mut around_centre, -mean, moments);
        for (&label, theta) in near() {
            let mut power = self.priors[label as usize];
            for sum in &mut around_centre[..moments] {
                *sum += power;
                power *= theta - self.centre - mean;
            }
        }
        pair_sum(&around_centre, terms)
    }

    /// Moments, around the centre, of the classes not met. Taken from the totals when few classes are met; added up
    /// when most are, where the difference of two almost equal sums would have few correct digits.
    fn unmet_moments(&self, labels: &[u32], moments: usize) -> [f64; MOMENTS] {
        if 2 * labels.len() < self.classes {
            let mut sums = self.totals;
            for &label in labels {
                for (sum, power) in sums[..moments].iter_mut().zip(&self.powers[label as usize]) {
                    *sum -= power;
                }
            }
            return sums;
        }
        let mut sums = [0.0; MOMENTS];
        let mut met = labels.iter().peekable();
        for (label, of_class) in self.powers.iter().enumerate() {
            if met.next_if(|l| **l as usize == label).is_none() {
                add(&mut sums, of_class, moments);
            }
        }
        sums
    }

    /// Pairs with at least one class whose angle lies far from the centre.
    fn far_pairs(&self, labels: &[u32], angles: &mut Angles) -> f64 {
        self.all_angles(labels, angles);
        let mut sum = 0.0;
        let mut earlier = angles.far.iter().map(|(label, _)| *label).peekable();
        let is_far: Vec<bool> =
            (0..self.priors.len() as u32).map(|label| earlier.next_if_eq(&label).is_some()).collect();
        for &(label, theta) in &angles.far {
            let mut of_class = 0.0;
            for (other, (&prior, &angle)) in self.priors.iter().zip(&angles.all).enumerate() {
                // Two far classes meet twice in these loops; only the one with the lower number counts the pair.
                if prior > 0.0 && (!is_far[other] || other > label as usize) {
                    of_class += prior * minus_log_cos(theta - angle);
                }
            }
            sum += self.priors[label as usize] * of_class;
        }
        sum
    }

    /// The angle of every class, met or not.
    fn all_angles(&self, labels: &[u32], angles: &mut Angles) {
        angles.all.clone_from(&self.unmet);
        for (&label, &theta) in labels.iter().zip(&angles.met) {
            angles.all[label as usize] = theta;
        }
    }

    /// All pairs, one by one.
    fn pairs(&self, angles: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (j, (&prior, &theta)) in self.priors.iter().zip(angles).enumerate() {
            let of_class: f64 =
                self.priors[..j].iter().zip(angles).map(|(p, other)| p * minus_log_cos(theta - other)).sum();
            sum += prior * of_class;
        }
        sum
    }
}

/// `asin √(x/y)`.
fn angle(x: f64, y: f64) -> f64 {
    (x / y).sqrt().min(1.0).asin()
}

/// `−log cos x`, exact also where the cosine is almost 1.
fn minus_log_cos(x: f64) -> f64 {
    if x.abs() < std::f64::consts::FRAC_PI_4 {
        let sine = x.sin();
        -0.5 * (-sine * sine).ln_1p()
    } else {
        // Angles come from add-one estimates, so their difference stays below π/2; the bound keeps rounding out.
        -x.cos().max(f64::MIN_POSITIVE).ln()
    }
}

/// `weight · x^r` for every r.
fn weighted(weight: f64, x: f64) -> [f64; MOMENTS] {
    let mut power = weight;
    std::array::from_fn(|_| {
        let this = power;
        power *= x;
        this
    })
}

fn add(sums: &mut [f64; MOMENTS], of_class: &[f64; MOMENTS], moments: usize) {
    for (sum, x) in sums[..moments].iter_mut().zip(of_class) {
        *sum += x;
    }
}

/// Moments around a point become moments around another: `x ↦ x + by`.
fn shift(sums: &mut [f64; MOMENTS], by: f64, moments: usize) {
    let mut powers = [1.0; MOMENTS];
    for r in 1..moments {
        powers[r] = powers[r - 1] * by;
    }
    for r in (1..moments).rev() {
        sums[r] = (0..=r).map(|s| BINOMIAL[r][s] * powers[r - s] * sums[s]).sum();
    }
}

/// How many powers of the series a largest difference of `spread` needs.
fn series_length(spread: f64) -> usize {
    // The coefficients fall by (2/π)² from one power to the next.
    let ratio = (spread * std::f64::consts::FRAC_2_PI).powi(2);
    let mut left_out = ratio;
    let mut terms = 1;
    while terms < TERMS && left_out > TOLERANCE {
        left_out *= ratio;
        terms += 1;
    }
    terms
}

/// `Σ_{j<k} w_j w_k g(x_j − x_k)` from the moments of the x.
fn pair_sum(m: &[f64; MOMENTS], terms: usize) -> f64 {
    let mut sum = 0.0;
    // Small parts first.
    for i in (1..=terms).rev() {
        let power = 2 * i;
        let mut of_power = 0.0;
        for r in 0..i {
            let sign = if r % 2 == 0 { 1.0 } else { -1.0 };
            of_power += sign * BINOMIAL[power][r] * m[power - r] * m[r];
        }
        let sign = if i % 2 == 0 { 0.5 } else { -0.5 };
        of_power += sign * BINOMIAL[power][i] * m[i] * m[i];
        sum += SERIES[i - 1] * of_power;
    }
    sum.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_that_of_minus_log_cos() {
        for x in [1e-6, 1e-3, 0.01, 0.1, 0.2, 0.3_f64] {
            let terms = series_length(x);
            let series: f64 = (1..=terms).map(|i| SERIES[i - 1] * x.powi(2 * i as i32)).sum();
            let exact = minus_log_cos(x);
            assert!((series / exact - 1.0).abs() < 1e-12, "{x} with {terms}: {series} against {exact}");
        }
    }

    #[test]
    fn minus_log_cos_is_one_function() {
        let at = std::f64::consts::FRAC_PI_4;
        assert!((minus_log_cos(at - 1e-9) - minus_log_cos(at + 1e-9)).abs() < 1e-8);
        assert_eq!(minus_log_cos(0.0), 0.0);
        assert!((minus_log_cos(1.0) + 1.0_f64.cos().ln()).abs() < 1e-15);
    }
}
