//! What fewer terms cost: quality against terms and bytes.

use super::axis::{Axis, Scale};
use super::svg::{Anchor, Svg, series_color, short};
use crate::Result;
use crate::model::{FrontierPoint, Trained};

/// The sizes that were tried, and the model that was made.
#[derive(Debug, Clone)]
pub struct Frontier<'a> {
    /// Quality by size, fewest terms first.
    pub points: &'a [FrontierPoint],
    /// Terms of the model.
    pub taken: usize,
    /// About how many bytes the file of each of them would have.
    pub bytes: Vec<u64>,
}

/// A model should lose no more than this to be the one that the headline names.
const WORTH_NAMING: f64 = 0.98;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 76.0;
const TOP: f64 = 58.0;
const BASE: f64 = HEIGHT - 74.0;

impl<'a> Frontier<'a> {
    /// Of a model that was just made.
    pub fn of(trained: &'a Trained) -> Result<Self> {
        let taken = trained.model.terms.len();
        let points = trained.frontier.as_slice();
        let bytes = points.iter().map(|p| trained.bytes_with(terms_of(p, taken))).collect::<Result<_>>()?;
        Ok(Self { points, taken, bytes })
    }
}

/// All terms of a fold are fewer than all terms of the model.
fn terms_of(point: &FrontierPoint, taken: usize) -> usize {
    if point.all { point.size.max(taken) } else { point.size }
}

impl Frontier<'_> {
    fn megabytes(&self, point: &FrontierPoint) -> String {
        let bytes = self.points.iter().zip(&self.bytes).find(|(p, _)| *p == point).map_or(0, |(_, bytes)| *bytes);
        // Two digits: it is an estimate.
        match bytes as f64 / 1e6 {
            m if m >= 10.0 => format!("{m:.0} MB"),
            m if m >= 1.0 => format!("{m:.1} MB"),
            m if m >= 0.095 => format!("{} MB", short((m * 100.0).round() / 100.0)),
            m => format!("{:.0} kB", m * 1e3),
        }
    }

    /// "2,000 terms keep 98.9 % of it, in about 0.2 MB".
    pub fn sentence(&self, point: &FrontierPoint) -> String {
        let (terms, kept) = (grouped(point.size), 100.0 * point.kept);
        format!("{terms} terms keep {kept:.1} % of it, in about {}", self.megabytes(point))
    }

    /// Sizes below that of the model.
    pub fn fewer(&self) -> impl Iterator<Item = &FrontierPoint> {
        self.points.iter().filter(|p| !p.all && p.size < self.taken)
    }

    /// The smallest number of terms that loses hardly anything; none where all sizes below the model's lose more.
    pub fn bargain(&self) -> Option<&FrontierPoint> {
        self.fewer().find(|p| p.kept >= WORTH_NAMING)
    }

    /// The plot; nothing when fewer than two sizes were tried.
    pub fn draw(&self) -> Option<String> {
        if self.points.len() < 2 {
            return None;
        }
        let best = self.points.iter().map(|p| p.mean).fold(0.0, f64::max);
        let bargain = self.bargain();
        let title = bargain.map_or_else(|| "What fewer terms cost".to_owned(), |p| self.sentence(p));
        let xs = Scale::new(&Axis::log("terms"), self.points.iter().map(|p| p.size as f64), LEFT + 26.0, RIGHT - 26.0);
        let ends = self.points.iter().flat_map(|p| [p.mean - p.error, p.mean + p.error]);
        let ys = Scale::new(&Axis::linear("R-precision"), ends, BASE, TOP);
        let mut svg = Svg::new(WIDTH, HEIGHT, &title);
        svg.text(LEFT, 20.0, Anchor::Start, "title", &title);
        svg.text(
            LEFT,
            38.0,
            Anchor::Start,
            "small mute",
            "R-precision of held-out training documents, ± one standard error",
        );
        self.grid(&mut svg, &xs, &ys, best);
        let (ink, strong) = (series_color(0), series_color(1));
        let place = |p: &FrontierPoint| (xs.place(p.size as f64), ys.place(p.mean));
        let edge = |p: &FrontierPoint, sign: f64| (xs.place(p.size as f64), ys.place(p.mean + sign * p.error));
        let upper = self.points.iter().map(|p| edge(p, 1.0));
        let lower = self.points.iter().rev().map(|p| edge(p, -1.0));
        svg.polygon(&upper.chain(lower).collect::<Vec<_>>(), ink, 0.14);
        svg.polyline(&self.points.iter().map(place).collect::<Vec<_>>(), ink, false);
        for point in self.points {
            let (x, y) = place(point);
            let tip = format!("{}: {:.4} ± {:.4}", self.sentence(point), point.mean, point.error);
            svg.circle(x, y, 4.0, ink, 1.0, &tip);
        }
        if let Some(point) = self.points.iter().rev().find(|p| p.size <= self.taken) {
            let (x, y) = place(point);
            svg.circle(x, y, 7.0, strong, 1.0, &format!("the model: {}", self.sentence(point)));
            svg.text(x, y - 13.0, if x > WIDTH * 0.7 { Anchor::End } else { Anchor::Middle }, "small", "this model");
        }
        if let Some(point) = bargain {
            let (x, y) = place(point);
            svg.circle(x, y, 7.0, series_color(2), 1.0, &self.sentence(point));
            let note = format!("{:.1} % in {}", 100.0 * point.kept, self.megabytes(point));
            let (anchor, shift) = if x > WIDTH * 0.6 { (Anchor::End, -12.0) } else { (Anchor::Start, 12.0) };
            svg.text(x + shift, y + 22.0, anchor, "small", &note);
        }
        Some(svg.finish())
    }

    /// Quality on the left, its share of the best on the right; below the numbers of terms, and under them bytes.
    fn grid(&self, svg: &mut Svg, xs: &Scale, ys: &Scale, best: f64) {
        for tick in ys.ticks() {
            let at = ys.place(tick);
            svg.line(LEFT, at, RIGHT, at, "grid");
            svg.text(LEFT - 7.0, at + 4.0, Anchor::End, "small mute", &short(tick));
            let share = if best > 0.0 { 100.0 * tick / best } else { 0.0 };
            if share <= 100.5 {
                svg.text(RIGHT + 7.0, at + 4.0, Anchor::Start, "small mute", &format!("{share:.1} %"));
            }
        }
        let top = ys.place(best);
        svg.polyline(&[(LEFT, top), (RIGHT, top)], series_color(7), true);
        let mut free = f64::NEG_INFINITY;
        for point in self.points {
            let x = xs.place(point.size as f64);
            svg.line(x, BASE, x, BASE + 4.0, "axis");
            // Sizes that are close to each other on the axis leave no room for the words of both.
            if x - free < 52.0 {
                continue;
            }
            free = x;
            let name = if point.all { "all".to_owned() } else { grouped(point.size) };
            svg.text(x, BASE + 18.0, Anchor::Middle, "small", &name);
            svg.text(x, BASE + 33.0, Anchor::Middle, "small mute", &self.megabytes(point));
        }
        svg.line(LEFT, BASE, RIGHT, BASE, "axis");
        svg.text(
            f64::midpoint(LEFT, RIGHT),
            HEIGHT - 12.0,
            Anchor::Middle,
            "small",
            "terms, and about how large the file is",
        );
        svg.text_up(14.0, f64::midpoint(TOP, BASE), Anchor::Middle, -90.0, "R-precision");
        svg.text_up(WIDTH - 6.0, f64::midpoint(TOP, BASE), Anchor::Middle, -90.0, "share of the best");
    }
}

/// Thousands apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<FrontierPoint> {
        [(200, 0.8), (2000, 0.89), (20_000, 0.9)]
            .map(|(size, mean)| FrontierPoint { size, mean, error: 0.004, kept: mean / 0.9, all: size == 20_000 })
            .to_vec()
    }

    #[test]
    fn the_headline_is_the_smallest_that_loses_little() {
        let points = points();
        let frontier = Frontier { points: &points, taken: 20_000, bytes: vec![20_000, 200_000, 2_000_000] };
        let drawn = frontier.draw().unwrap();
        assert!(drawn.contains("2,000 terms keep 98.9 % of it, in about 0.2 MB"), "{drawn}");
        assert!(drawn.contains("this model") && drawn.contains("20 kB") && !drawn.contains("NaN"));
        assert!(drawn.contains(">all</text>"));
        let whole = Frontier { taken: 25_000, ..frontier.clone() };
        assert_eq!(whole.fewer().count(), 2, "all terms of a fold are not fewer");
        let small = Frontier { taken: 200, ..frontier.clone() };
        assert_eq!(small.bargain(), None);
        assert!(Frontier { points: &points[..1], ..frontier }.draw().is_none());
    }

    #[test]
    fn a_frontier_of_nothing_right_is_a_plot() {
        let points: Vec<FrontierPoint> =
            [1, 2].map(|size| FrontierPoint { size, mean: 0.0, error: 0.0, kept: 1.0, all: false }).to_vec();
        let drawn = Frontier { points: &points, taken: 0, bytes: Vec::new() }.draw().unwrap();
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    }
}
