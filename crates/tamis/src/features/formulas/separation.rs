//! Distances between the rates of a term inside and outside a label.

use super::rates;
use crate::counts::Cell;

/// `|F⁻¹(a/n_c) − F⁻¹(b/(n−n_c))|`, bi-normal separation; F is the standard normal distribution function and both
/// rates are clipped to [0.0005, 0.9995]. Method 2; li 3.5; Forman 2003, section 3.1.
pub fn bns(cell: Cell) -> f64 {
    let (tpr, fpr) = rates(cell);
    (clipped_quantile(tpr) - clipped_quantile(fpr)).abs()
}

/// `(1 − fpr)⁵ − (1 − tpr)⁵`. Forman 2003, section 3 (Pow, with the paper's k = 5).
pub fn power(cell: Cell) -> f64 {
    let (tpr, fpr) = rates(cell);
    (1.0 - fpr).powi(5) - (1.0 - tpr).powi(5)
}

/// Rates below and above have no trustworthy quantile.
const CLIP: f64 = 0.0005;

/// `F⁻¹` of a rate clipped to [0.0005, 0.9995].
///
/// Wichura 1988, algorithm AS 241 (PPND16): rational approximations, relative error about 1e-16. After clipping the
/// paper's outermost region is never reached. Most rates of a sparse table fall below the clip, whose quantile is a
/// constant; the others cost a dozen multiplications, and a logarithm near the ends.
pub fn clipped_quantile(rate: f64) -> f64 {
    const AT_CLIP: f64 = -3.290_526_731_491_895;
    if rate <= CLIP {
        return AT_CLIP;
    }
    if rate >= 1.0 - CLIP {
        return -AT_CLIP;
    }
    let centred = rate - 0.5;
    if centred.abs() <= 0.425 {
        let r = 0.180_625 - centred * centred;
        return centred * polynomial(&CENTRE_OVER, r) / polynomial(&CENTRE_UNDER, r);
    }
    let tail = if centred < 0.0 { rate } else { 1.0 - rate };
    let r = (-tail.ln()).sqrt() - 1.6;
    let size = polynomial(&TAIL_OVER, r) / polynomial(&TAIL_UNDER, r);
    if centred < 0.0 { -size } else { size }
}

/// Horner's scheme, highest power first.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}

#[rustfmt::skip]
#[allow(clippy::excessive_precision, reason = "digits as published")]
const CENTRE_OVER: [f64; 8] = [
    2.509_080_928_730_122_672_7e3, 3.343_057_558_358_812_810_5e4, 6.726_577_092_700_870_085_3e4,
    4.592_195_393_154_987_145_7e4, 1.373_169_376_550_946_112_5e4, 1.971_590_950_306_551_442_7e3,
    1.331_416_678_917_843_774_5e2, 3.387_132_872_796_366_608,
];
#[rustfmt::skip]
#[allow(clippy::excessive_precision, reason = "digits as published")]
const CENTRE_UNDER: [f64; 8] = [
    5.226_495_278_852_854_561e3, 2.872_908_573_572_194_267_4e4, 3.930_789_580_009_271_061e4,
    2.121_379_430_158_659_586_7e4, 5.394_196_021_424_751_107_7e3, 6.871_870_074_920_579_083e2,
    4.231_333_070_160_091_125_2e1, 1.0,
];
#[rustfmt::skip]
#[allow(clippy::excessive_precision, reason = "digits as published")]
const TAIL_OVER: [f64; 8] = [
    7.745_450_142_783_414_076_4e-4, 2.272_384_498_926_918_458_33e-2, 2.417_807_251_774_506_117_7e-1,
    1.270_458_252_452_368_382_58, 3.647_848_324_763_204_605_04, 5.769_497_221_460_691_405_5,
    4.630_337_846_156_545_295_9, 1.423_437_110_749_683_577_34,
];
#[rustfmt::skip]
#[allow(clippy::excessive_precision, reason = "digits as published")]
const TAIL_UNDER: [f64; 8] = [
    1.050_750_071_644_416_843_24e-9, 5.475_938_084_995_344_946e-4, 1.519_866_656_361_645_719_66e-2,
    1.481_039_764_274_800_745_9e-1, 6.897_673_349_851_000_045_5e-1, 1.676_384_830_183_803_849_4,
    2.053_191_626_637_758_821_87, 1.0,
];

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn quantile_agrees_with_an_independent_one() {
        let normal = Normal::standard();
        for i in 0..=10_000 {
            let rate = f64::from(i) / 10_000.0;
            let expected = normal.inverse_cdf(rate.clamp(0.0005, 0.9995));
            let got = clipped_quantile(rate);
            assert!((got - expected).abs() < 1e-10, "F⁻¹({rate}) = {got}, statrs has {expected}");
            assert!((got + clipped_quantile(1.0 - rate)).abs() < 1e-12, "odd around ½ at {rate}");
        }
    }

    #[test]
    fn no_step_where_the_regions_meet() {
        for edge in [0.0005, 0.075, 0.925, 0.9995_f64] {
            let step = clipped_quantile(edge + 1e-12) - clipped_quantile(edge - 1e-12);
            assert!((0.0..1e-8).contains(&step), "step {step} at {edge}");
        }
    }
}
