//! The plots: lines with bands, points, bars, heat maps.

use super::axis::{Axis, Scale};
use super::svg::{Anchor, Svg, series_color, short};

/// A line with an optional band around it.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, ascending in x.
    pub points: Vec<(f64, f64)>,
    /// Low and high at each point.
    pub band: Vec<(f64, f64)>,
    /// Drawn dashed: a reference, not a result.
    pub dashed: bool,
}

const LEFT: f64 = 62.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;

/// Lines over a common axis, one for each series.
pub fn lines(title: &str, x: &Axis, y: &Axis, series: &[Series]) -> String {
    let (width, height) = (760.0, 380.0);
    let legend = 16.0 + 6.6 * series.iter().map(|s| s.name.chars().count()).max().unwrap_or(0) as f64;
    let right = width - (legend + 20.0).clamp(20.0, 300.0);
    let xs = Scale::new(x, series.iter().flat_map(|s| s.points.iter().map(|p| p.0)), LEFT, right);
    let ys = Scale::new(
        y,
        series.iter().flat_map(|s| s.points.iter().map(|p| p.1).chain(s.band.iter().flat_map(|b| [b.0, b.1]))),
        height - BOTTOM,
        TOP,
    );
    let mut svg = Svg::new(width, height, title);
    frame(&mut svg, title, (x, &xs), (y, &ys), right, height);
    for (i, s) in series.iter().enumerate() {
        let color = series_color(i);
        if s.band.len() == s.points.len() && !s.band.is_empty() {
            let upper = s.points.iter().zip(&s.band).map(|(p, b)| (xs.place(p.0), ys.place(b.1)));
            let lower = s.points.iter().zip(&s.band).rev().map(|(p, b)| (xs.place(p.0), ys.place(b.0)));
            svg.polygon(&upper.chain(lower).collect::<Vec<_>>(), color, 0.13);
        }
        let placed: Vec<(f64, f64)> = s.points.iter().map(|p| (xs.place(p.0), ys.place(p.1))).collect();
        svg.polyline(&placed, color, s.dashed);
        if s.points.len() <= 40 {
            for (j, ((px, py), value)) in placed.iter().zip(&s.points).enumerate() {
                let band = s.band.get(j).map_or(String::new(), |b| format!(" ({} to {})", short(b.0), short(b.1)));
                let tip = format!("{}: {} at {}{band}", s.name, short(value.1), short(value.0));
                svg.circle(*px, *py, 3.5, color, 1.0, &tip);
            }
        }
    }
    for (i, s) in series.iter().enumerate() {
        let at = TOP + 8.0 + 18.0 * i as f64;
        svg.rect((right + 14.0, at - 7.0, 12.0, 4.0), series_color(i), "");
        svg.text(right + 31.0, at, Anchor::Start, "small", &s.name);
    }
    svg.finish()
}

fn frame(svg: &mut Svg, title: &str, (x, xs): (&Axis, &Scale), (y, ys): (&Axis, &Scale), right: f64, height: f64) {
    let base = height - BOTTOM;
    svg.text(LEFT, 18.0, Anchor::Start, "title", title);
    for tick in ys.ticks() {
        let at = ys.place(tick);
        svg.line(LEFT, at, right, at, "grid");
        svg.text(LEFT - 7.0, at + 4.0, Anchor::End, "small mute", &short(tick));
    }
    for tick in xs.ticks() {
        let at = xs.place(tick);
        svg.line(at, base, at, base + 4.0, "axis");
        svg.text(at, base + 17.0, Anchor::Middle, "small mute", &short(tick));
    }
    svg.line(LEFT, base, right, base, "axis");
    svg.text(f64::midpoint(LEFT, right), height - 8.0, Anchor::Middle, "small", &x.label);
    svg.text_up(14.0, f64::midpoint(TOP, base), Anchor::Middle, -90.0, &y.label);
}

/// A point of a scatter plot.
#[derive(Debug, Clone)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Shown on hover.
    pub name: String,
    /// Group: its colour.
    pub group: usize,
    /// Whether its name is written beside it.
    pub labelled: bool,
}

/// Points over two axes, in groups.
pub fn scatter(title: &str, x: &Axis, y: &Axis, groups: &[String], points: &[Point]) -> String {
    let (width, height) = (760.0, 420.0);
    let legend = 16.0 + 6.6 * groups.iter().map(|g| g.chars().count()).max().unwrap_or(0) as f64;
    let right = width - (legend + 20.0).clamp(20.0, 300.0);
    let xs = Scale::new(x, points.iter().map(|p| p.x), LEFT, right);
    let ys = Scale::new(y, points.iter().map(|p| p.y), height - BOTTOM, TOP);
    let mut svg = Svg::new(width, height, title);
    frame(&mut svg, title, (x, &xs), (y, &ys), right, height);
    for p in points {
        let tip = format!("{}: {} / {}", p.name, short(p.x), short(p.y));
        svg.circle(xs.place(p.x), ys.place(p.y), 3.5, series_color(p.group), 0.6, &tip);
    }
    // Names last, above all marks, to the right or the left of theirs; one that would cover another is left to the tooltip.
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    for p in points.iter().filter(|p| p.labelled) {
        let (px, py, w) = (xs.place(p.x), ys.place(p.y), 6.5 * p.name.chars().count() as f64);
        let free = |&(start, _): &(f64, Anchor)| {
            let covers = |&(ox, oy, ow): &(f64, f64, f64)| (py - oy).abs() < 12.0 && start < ox + ow && ox < start + w;
            !taken.iter().any(covers) && start > LEFT && start + w < width
        };
        let sides = [(px + 6.0, Anchor::Start), (px - 6.0 - w, Anchor::End)];
        if let Some((start, anchor)) = sides.into_iter().find(free) {
            let at = if matches!(anchor, Anchor::End) { px - 6.0 } else { start };
            svg.text(at, py + 4.0, anchor, "small", &p.name);
            taken.push((start, py, w));
        }
    }
    for (i, name) in groups.iter().enumerate() {
        let at = TOP + 8.0 + 18.0 * i as f64;
        svg.circle(right + 20.0, at - 4.0, 4.0, series_color(i), 0.8, "");
        svg.text(right + 31.0, at, Anchor::Start, "small", name);
    }
    svg.finish()
}

/// A bar with an optional mark on it, such as a threshold.
#[derive(Debug, Clone)]
pub struct Bar {
    /// What it stands for.
    pub name: String,
    /// Its length; negative bars go left.
    pub value: f64,
    /// A mark across it.
    pub mark: Option<f64>,
    /// Shown on hover.
    pub tip: String,
}

/// Horizontal bars, in the order given.
pub fn bars(title: &str, label: &str, bars: &[Bar]) -> String {
    let names = 6.8 * bars.iter().map(|b| b.name.chars().count()).max().unwrap_or(0) as f64;
    let left = (names + 16.0).clamp(60.0, 340.0);
    let (width, row) = (760.0, 20.0);
    let height = TOP + row * bars.len() as f64 + 26.0;
    let right = width - 60.0;
    let low = bars.iter().map(|b| b.value.min(0.0)).fold(0.0, f64::min);
    let high = bars.iter().map(|b| b.value.max(b.mark.unwrap_or(0.0))).fold(0.0, f64::max);
    let high = if high > low { high } else { low + 1.0 };
    let scale = Scale::new(&Axis::linear("").within(low, high), std::iter::empty(), left, right);
    let mut svg = Svg::new(width, height, title);
    svg.text(8.0, 18.0, Anchor::Start, "title", title);
    let zero = scale.place(0.0);
    for (i, bar) in bars.iter().enumerate() {
        let y = TOP + row * i as f64;
        let end = scale.place(bar.value);
        let color = if bar.value < 0.0 { series_color(1) } else { series_color(0) };
        svg.rect((zero.min(end), y + 3.0, (end - zero).abs().max(0.5), row - 6.0), color, &bar.tip);
        svg.text(left - 8.0, y + 14.0, Anchor::End, "small", &bar.name);
        let (at, anchor) = if bar.value < 0.0 { (end - 5.0, Anchor::End) } else { (end + 5.0, Anchor::Start) };
        svg.text(at, y + 14.0, anchor, "small mute", &short(bar.value));
        if let Some(mark) = bar.mark {
            svg.line(scale.place(mark), y + 1.0, scale.place(mark), y + row - 1.0, "axis");
        }
    }
    svg.line(zero, TOP, zero, TOP + row * bars.len() as f64, "axis");
    svg.text(f64::midpoint(left, right), height - 8.0, Anchor::Middle, "small mute", label);
    svg.finish()
}

/// A heat map: rows × columns of values; NaN cells stay empty.
#[derive(Debug, Clone, Default)]
pub struct HeatMap {
    /// Heading.
    pub title: String,
    /// Row names.
    pub rows: Vec<String>,
    /// Column names.
    pub columns: Vec<String>,
    /// Values, row by row.
    pub values: Vec<f64>,
    /// Values of the palest and the strongest colour; the data's when not given.
    pub range: Option<(f64, f64)>,
    /// Whether values are written into the cells.
    pub numbers: bool,
    /// Shown on hover, row by row; made from names and value when empty.
    pub tips: Vec<String>,
}

impl HeatMap {
    /// Draws it.
    pub fn draw(&self) -> String {
        let columns = self.columns.len().max(1);
        let longest = |names: &[String]| names.iter().map(|n| n.chars().count()).max().unwrap_or(0) as f64;
        let left = (6.6 * longest(&self.rows) + 16.0).clamp(40.0, 330.0);
        let slanted = longest(&self.columns) > 5.0;
        let top = TOP + if slanted { (4.8 * longest(&self.columns)).min(200.0) + 12.0 } else { 18.0 };
        let cell_w = ((900.0 - left) / columns as f64).clamp(9.0, 54.0);
        let cell_h = if self.numbers { 22.0 } else { (cell_w * 0.8).clamp(9.0, 20.0) };
        // Slanted names reach beyond the last column.
        let slack = if slanted { 4.8 * longest(&self.columns) + 16.0 } else { 16.0 };
        let width = (left + cell_w * columns as f64 + slack).max(320.0);
        let height = top + cell_h * self.rows.len() as f64 + 12.0;
        let finite = || self.values.iter().copied().filter(|v| v.is_finite());
        let (low, high) = self
            .range
            .unwrap_or_else(|| (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)));
        let mut svg = Svg::new(width, height, &self.title);
        svg.text(8.0, 18.0, Anchor::Start, "title", &self.title);
        for (c, name) in self.columns.iter().enumerate() {
            let x = left + cell_w * (c as f64 + 0.5);
            if slanted {
                svg.text_up(x + 4.0, top - 6.0, Anchor::Start, -45.0, name);
            } else {
                svg.text(x, top - 6.0, Anchor::Middle, "small", name);
            }
        }
        for (r, name) in self.rows.iter().enumerate() {
            let y = top + cell_h * r as f64;
            svg.text(left - 8.0, y + cell_h / 2.0 + 4.0, Anchor::End, "small", name);
            for (c, column) in self.columns.iter().enumerate() {
                let value = self.values[r * self.columns.len() + c];
                if !value.is_finite() {
                    continue;
                }
                let t = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
                let x = left + cell_w * c as f64;
                let tip = match self.tips.get(r * self.columns.len() + c) {
                    Some(tip) => tip.clone(),
                    None => format!("{name}, {column}: {}", short(value)),
                };
                svg.rect((x, y, cell_w - 1.0, cell_h - 1.0), &heat(t), &tip);
                if self.numbers {
                    let class = if t > 0.55 { "small light" } else { "small dark" };
                    svg.text(x + cell_w / 2.0, y + cell_h / 2.0 + 4.0, Anchor::Middle, class, &short(value));
                }
            }
        }
        // Numbers sit on the cell's colour, which does not follow the page's.
        svg.finish().replacen("</style>", ".light{fill:#fff}.dark{fill:#222}</style>", 1)
    }
}

/// Pale to strong blue; the same on a light and a dark page.
fn heat(t: f64) -> String {
    let mix = |from: f64, to: f64| (from + t * (to - from)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(236.0, 8.0), mix(241.0, 64.0), mix(248.0, 129.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_of_nothing_are_plots() {
        for drawn in [
            lines("t", &Axis::log("x"), &Axis::linear("y"), &[]),
            scatter("t", &Axis::log("x"), &Axis::linear("y"), &[], &[]),
            bars("t", "x", &[]),
            HeatMap::default().draw(),
        ] {
            assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>") && !drawn.contains("NaN"));
        }
    }

    #[test]
    fn values_are_on_hover() {
        let series = Series { name: "ig".into(), points: vec![(50.0, 0.25), (100.0, 0.5)], ..Series::default() };
        let drawn = lines("t", &Axis::log("features"), &Axis::linear("RPrec"), &[series]);
        assert!(drawn.contains("<title>ig: 0.5 at 100</title>"));
    }
}
