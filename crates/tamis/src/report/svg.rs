//! Drawing: a little SVG, escaped, with colours that follow the page.
//!
//! Plots are written by hand, not by a plotting crate: inline SVG must inherit the page's colours (light, dark, paper),
//! carry a tooltip for each mark, and stay small; none of the crates tried gives all three.

use std::fmt::Write;

/// Escapes text for HTML and SVG, attribute values included.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters are not allowed in XML, escaped or not.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Colours of series: Okabe and Ito's set, told apart by people with any kind of colour vision.
pub(super) const SERIES: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f"];

/// The colour of a series.
pub(super) fn series_color(index: usize) -> &'static str {
    SERIES[index % SERIES.len()]
}

/// Styles inside every plot. Variables come from the page; a plot saved as a file uses the fallbacks.
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:var(--ink,#222)}\
.small{font-size:11px}.mute{fill:var(--mute,#666)}.title{font-weight:600;font-size:13px}\
.grid{stroke:var(--grid,#ddd);stroke-width:1}.axis{stroke:var(--mute,#888);stroke-width:1}\
.mark:hover{stroke:var(--ink,#222);stroke-width:2}";

/// A drawing in progress.
pub(super) struct Svg {
    width: f64,
    height: f64,
    label: String,
    body: String,
}

/// Where text sits at its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(super) fn new(width: f64, height: f64, label: &str) -> Self {
        Self { width, height, label: escape(label), body: String::new() }
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{}</text>"#,
            escape(text)
        );
    }

    /// Text that reads upwards, for vertical axes and narrow columns.
    pub(super) fn text_up(&mut self, x: f64, y: f64, anchor: Anchor, degrees: f64, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.body,
            r#"<text transform="translate({x:.1} {y:.1}) rotate({degrees})" text-anchor="{anchor}" class="small">{}</text>"#,
            escape(text)
        );
    }

    pub(super) fn line(&mut self, x1: f64, y1: f64, x2: f64, y2: f64, class: &str) {
        let _ = write!(self.body, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#);
    }

    pub(super) fn rect(&mut self, (x, y, w, h): (f64, f64, f64, f64), fill: &str, tip: &str) {
        let _ = write!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{:.1}" height="{:.1}" fill="{fill}" class="mark">{}</rect>"#,
            w.max(0.0),
            h.max(0.0),
            title(tip)
        );
    }

    pub(super) fn circle(&mut self, x: f64, y: f64, r: f64, fill: &str, opacity: f64, tip: &str) {
        let _ = write!(
            self.body,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{r}" fill="{fill}" fill-opacity="{opacity}" class="mark">{}</circle>"#,
            title(tip)
        );
    }

    pub(super) fn polyline(&mut self, points: &[(f64, f64)], color: &str, dashed: bool) {
        let dash = if dashed { r#" stroke-dasharray="5 4""# } else { "" };
        let _ = write!(
            self.body,
            r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2" stroke-linejoin="round"{dash}/>"#,
            path(points)
        );
    }

    pub(super) fn polygon(&mut self, points: &[(f64, f64)], color: &str, opacity: f64) {
        let _ = write!(self.body, r#"<polygon points="{}" fill="{color}" fill-opacity="{opacity}"/>"#, path(points));
    }

    pub(super) fn finish(self) -> String {
        let Self { width, height, label, body } = self;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-label="{label}"><style>{STYLE}</style>{body}</svg>"#
        )
    }
}

fn title(tip: &str) -> String {
    if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(tip)) }
}

fn path(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

/// Numbers as people write them: three significant digits, no needless zeros, thousands grouped.
pub fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let size = value.abs();
    if size >= 1e6 {
        return format!("{}M", trim(&format!("{:.1}", value / 1e6)));
    }
    if size >= 1e4 {
        return format!("{}k", trim(&format!("{:.1}", value / 1e3)));
    }
    if size >= 100.0 {
        return format!("{value:.0}");
    }
    if size < 1e-3 {
        return format!("{value:.1e}");
    }
    let digits = (2 - size.log10().floor() as i32).max(0) as usize;
    trim(&format!("{value:.digits$}"))
}

fn trim(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers() {
        let cases = [(0.0, "0"), (0.1234, "0.123"), (1.5, "1.5"), (42.0, "42"), (1234.0, "1234"), (47_200.0, "47.2k")];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
        assert_eq!(short(0.000_012_3), "1.2e-5");
    }

    #[test]
    fn user_text_cannot_leave_its_place() {
        let mut svg = Svg::new(10.0, 10.0, "a\"b");
        svg.text(0.0, 0.0, Anchor::Start, "", "<script>&'\u{1}");
        let drawn = svg.finish();
        assert!(drawn.contains("&lt;script&gt;&amp;&#39;\u{fffd}") && drawn.contains("a&quot;b"));
    }
}
