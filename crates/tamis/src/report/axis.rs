//! Numbers → places: linear and logarithmic axes with round ticks.

/// What an axis shows.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    /// Its label.
    pub label: String,
    /// Logarithmic (base 10); values must be positive.
    pub log: bool,
    /// Fixed ends; the data's when not given.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: &str) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// A logarithmic axis.
    pub fn log(label: &str) -> Self {
        Self { label: label.into(), log: true, range: None }
    }

    /// With fixed ends.
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

/// An axis laid over pixels.
pub(super) struct Scale {
    log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Covers all values, with a little air on a linear axis; `from` and `to` are the pixels of low and high.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let usable = |v: &f64| v.is_finite() && (!axis.log || *v > 0.0);
        let (mut low, mut high) =
            values.filter(usable).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if let Some(range) = axis.range {
            (low, high) = range;
        } else if low > high {
            (low, high) = if axis.log { (1.0, 10.0) } else { (0.0, 1.0) };
        } else if !axis.log {
            let air = if high > low { (high - low) * 0.05 } else { high.abs().max(1.0) * 0.1 };
            // Numbers that cannot be negative keep their zero.
            low = if low >= 0.0 { (low - air).max(0.0) } else { low - air };
            high += air;
        } else if high / low < 1.5 {
            (low, high) = (low / 2.0, high * 2.0);
        }
        Self { log: axis.log, low, high, from, to }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let t = if self.log {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + t.clamp(-0.05, 1.05) * (self.to - self.from)
    }

    /// Round values, from about four to nine.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.log {
            let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            let steps: &[f64] = if (self.high / self.low).log10() > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            return decades
                .flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)))
                .filter(|t| (self.low * 0.999..=self.high * 1.001).contains(t))
                .collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let scale = Scale::new(&Axis::linear("").within(0.0, 1.0), std::iter::empty(), 0.0, 100.0);
        assert_eq!(scale.ticks(), [0.0, 0.2, 0.4, 0.600_000_000_000_000_1, 0.8, 1.0]);
        let scale = Scale::new(&Axis::log("").within(50.0, 10_000.0), std::iter::empty(), 0.0, 100.0);
        assert_eq!(scale.ticks(), [50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0]);
        assert!((scale.place(10_000.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn no_values_or_one_value_is_fine() {
        for values in [vec![], vec![3.0], vec![f64::NAN]] {
            let scale = Scale::new(&Axis::linear(""), values.into_iter(), 0.0, 100.0);
            assert!(scale.place(3.0).is_finite() && !scale.ticks().is_empty());
        }
    }
}
