//! Plots as pixels, for slides and documents that take no SVG.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

use crate::{Error, Result};

/// A font of our own, so that plots have letters on machines without fonts, and the same ones everywhere.
const FACES: [&[u8]; 2] =
    [include_bytes!("font/DejaVuSans-subset.ttf"), include_bytes!("font/DejaVuSans-Bold-subset.ttf")];

fn database() -> Database {
    let mut fonts = Database::new();
    FACES.into_iter().for_each(|face| fonts.load_font_data(face.to_vec()));
    fonts.set_sans_serif_family("DejaVu Sans");
    fonts
}

static OWN: LazyLock<Arc<Database>> = LazyLock::new(|| Arc::new(database()));

/// The machine's fonts too: looked for only when a plot has letters that ours lacks.
static ALL: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = database();
    fonts.load_system_fonts();
    // Reading the machine's settings may have named another.
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// Whether our font has it: Latin and Greek, punctuation, arrows and signs.
fn covered(c: char) -> bool {
    matches!(c, '\t' | '\n' | ' '..='\u{17f}' | '\u{391}'..='\u{3c9}' | '\u{2010}'..='\u{2026}' | '\u{2070}'..='\u{208e}')
        || matches!(c, '\u{2190}'..='\u{2193}' | '\u{2200}'..='\u{2265}' | '\u{2030}' | '\u{fffd}')
}

/// Draws one of our plots on white, `scale` times as large as its SVG.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>> {
    let fonts = if svg.chars().all(covered) { &*OWN } else { &*ALL };
    let options = Options { fontdb: Arc::clone(fonts), font_family: "DejaVu Sans".into(), ..Options::default() };
    let tree = Tree::from_str(&plain_colours(svg), &options).map_err(|e| Error::data(format!("a plot as PNG: {e}")))?;
    let size = tree.size();
    let sides = [size.width(), size.height()].map(|side| (side * scale).ceil() as u32);
    let too_large = || Error::data(format!("a plot as PNG: {} × {} pixels are too many", sides[0], sides[1]));
    let mut pixels = Pixmap::new(sides[0], sides[1]).ok_or_else(too_large)?;
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| Error::data(format!("a plot as PNG: {e}")))
}

/// Plots name the page's colours, `var(--ink,#222)`; outside a page the second of the two counts.
fn plain_colours(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some(at) = rest.find("var(--") {
        out.push_str(&rest[..at]);
        let inside = &rest[at..];
        match (inside.find(','), inside.find(')')) {
            (Some(comma), Some(end)) if comma < end => {
                out.push_str(&inside[comma + 1..end]);
                rest = &inside[end + 1..];
            }
            _ => {
                out.push_str("var(--");
                rest = &inside["var(--".len()..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Axis, Series, lines};

    fn plot(name: &str) -> String {
        let points = vec![(1.0, 0.2), (2.0, 0.4)];
        let series = [Series { name: name.into(), points, ..Series::default() }];
        lines("Quality", &Axis::linear("features"), &Axis::linear("F1"), &series)
    }

    fn pixels(svg: &str, scale: f32) -> Pixmap {
        Pixmap::decode_png(&png(svg, scale).unwrap()).unwrap()
    }

    #[test]
    fn colours_outside_a_page() {
        assert_eq!(plain_colours("a{fill:var(--ink,#222)}b{c:var(--x)}"), "a{fill:#222}b{c:var(--x)}");
        assert_eq!(plain_colours("var(--a,#1)var(--b,#2)"), "#1#2");
    }

    #[test]
    fn lines_and_letters_are_drawn() {
        let drawn = pixels(&plot("χ²max"), 2.0);
        assert_eq!((drawn.width(), drawn.height()), (1520, 760));
        let has = |of: (u8, u8, u8)| drawn.pixels().iter().any(|p| (p.red(), p.green(), p.blue()) == of);
        assert!(has((255, 255, 255)) && has((0x00, 0x72, 0xb2)) && has((0x22, 0x22, 0x22)));
        // The name is drawn, not left out: spaces in its place, which take the same room, leave less ink.
        let ink = |map: &Pixmap| map.pixels().iter().filter(|p| p.red() < 200).count();
        assert!(ink(&drawn) > ink(&pixels(&plot("     "), 2.0)) + 100);
    }

    #[test]
    fn what_is_no_plot_is_refused() {
        assert!(png("no svg", 1.0).is_err());
        assert!(png(&plot("a"), 1e6).unwrap_err().to_string().contains("too many"));
    }
}
