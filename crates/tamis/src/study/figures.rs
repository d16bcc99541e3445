//! The plots of a report.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::arena::{Arena, Curve};
use super::findings::p_value;
use super::papers::{OLSSON_DOT_SIZES, olsson_first_dot};
use super::rows::Timing;
use super::statistics::{best_by_size, wins_by_size, wins_of_cut, wins_over_reference};
use crate::features::{Kind, Selector, Size};
use crate::measure::significance::{SignTest, sign_test_of};
use crate::report::{Axis, HeatMap, Point, Series, lines, scatter, short};

/// Half the width of the interval of a mean: Student's t; 0 for one value.
fn half_width(values: &[f64], level: f64) -> f64 {
    let n = values.len() as f64;
    if values.len() < 2 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).map_or(1.96, |t| t.inverse_cdf(0.5 + level / 2.0));
    t * (variance / n).sqrt()
}

fn series(arena: &Arena, curve: &Curve, level: f64, dashed: bool) -> Series {
    let mut points = Vec::new();
    let mut band = Vec::new();
    for (i, &features) in curve.features.iter().enumerate() {
        let (mean, half) = (arena.shown(curve.mean(i)), half_width(&curve.values[i], level));
        if points.last().is_none_or(|&(x, _)| features > x) {
            points.push((features, mean));
            band.push((mean - half, mean + half));
        }
    }
    if band.iter().all(|(low, high)| low == high) {
        band.clear();
    }
    Series { name: curve.selector.clone(), points, band, dashed }
}

/// The lines of the best methods, and of the baseline across.
fn quality_lines(arena: &Arena, most: usize, level: f64) -> Vec<Series> {
    let mut all: Vec<Series> =
        arena.best(most).into_iter().map(|i| series(arena, &arena.curves[i], level, false)).collect();
    if let Some(baseline) = &arena.baseline {
        let mut line = series(arena, baseline, level, true);
        // All features are one point; a line across shows what must be beaten.
        let ends = all.iter().flat_map(|s| s.points.iter().map(|p| p.0));
        let (low, high) = ends.fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
        if let (Some(&(_, y)), true) = (line.points.first(), high > 0.0) {
            line.points = vec![(low, y), (high, y)];
            line.band = line.band.first().map_or(Vec::new(), |&b| vec![b, b]);
        }
        line.name = format!("{} ({} features)", baseline.selector, baseline.sizes[0]);
        all.push(line);
    }
    all
}

fn draw_quality(arena: &Arena, title: &str, all: &[Series]) -> String {
    lines(title, &Axis::log("features"), &Axis::linear(&arena.measure.to_string()), all)
}

/// Quality against number of features, one line a selector, with bands.
pub(super) fn quality(arena: &Arena, most: usize, level: f64) -> String {
    draw_quality(arena, &arena.title(), &quality_lines(arena, most, level))
}

/// The same near the top, where methods differ by little; nothing when the whole plot shows that already.
pub(super) fn quality_top(arena: &Arena, most: usize, level: f64) -> Option<String> {
    let mut all = quality_lines(arena, most, level);
    let values = || all.iter().flat_map(|s| s.points.iter().map(|p| p.1));
    let (least, best) = values().fold((f64::INFINITY, 0.0f64), |(l, h), y| (l.min(y), h.max(y)));
    let floor = 0.95 * best;
    if !arena.measure.higher_is_better() || least > 0.85 * best {
        return None;
    }
    for s in &mut all {
        let kept: Vec<usize> = (0..s.points.len()).filter(|&i| s.points[i].1 >= floor).collect();
        s.band = if s.band.is_empty() { Vec::new() } else { kept.iter().map(|&i| s.band[i]).collect() };
        s.points = kept.iter().map(|&i| s.points[i]).collect();
    }
    all.retain(|s| s.points.len() > 1);
    let title = format!("{}: from {} on", arena.title(), short(floor));
    (!all.is_empty()).then(|| draw_quality(arena, &title, &all))
}

fn tip(what: &str, size: Size, test: &SignTest) -> String {
    let all = test.wins + test.losses + test.ties;
    format!("{what}, {size}: {} of {all} ({} one-sided)", test.wins, p_value(test.p_one_sided))
}

/// Splits on which each method beats the reference, by size: olsson table 2 in colours. One map for each cut.
pub(super) fn dots(arena: &Arena) -> Vec<(String, String)> {
    let mut cuts: Vec<Option<u32>> = arena.curves.iter().map(|c| c.without_cut().0).collect();
    cuts.sort_unstable();
    cuts.dedup();
    // Methods with cuts of their own in a handful of lines need one map, not one for each cut.
    let together = arena.curves.len() <= 12;
    let groups: Vec<Option<Option<u32>>> = if together { vec![None] } else { cuts.into_iter().map(Some).collect() };
    let mut maps = Vec::new();
    for group in groups {
        let curves: Vec<&Curve> =
            arena.curves.iter().filter(|c| group.is_none_or(|cut| c.without_cut().0 == cut)).collect();
        let tests: Vec<Vec<Option<SignTest>>> = curves.iter().map(|c| wins_over_reference(arena, c)).collect();
        let Some(widest) = curves.iter().max_by_key(|c| c.sizes.len()) else { continue };
        let columns: Vec<usize> =
            (0..widest.sizes.len()).filter(|&i| tests.iter().any(|t| t.get(i).is_some_and(Option::is_some))).collect();
        if columns.is_empty() {
            continue;
        }
        let mut map = HeatMap {
            title: match group {
                Some(Some(cut)) => format!("Splits on which a method beats all features, cut {cut}"),
                _ => "Splits on which a method beats the reference".to_owned(),
            },
            rows: curves.iter().map(|c| c.selector.clone()).collect(),
            columns: columns.iter().map(|&i| widest.sizes[i].to_string()).collect(),
            range: Some((0.0, arena.curves[0].values[0].len() as f64)),
            numbers: curves.len() <= 12,
            ..HeatMap::default()
        };
        for (curve, tests) in curves.iter().zip(&tests) {
            for &i in &columns {
                let test = tests.get(i).copied().flatten();
                map.values.push(test.map_or(f64::NAN, |t| t.wins as f64));
                map.tips.push(test.map_or(String::new(), |t| tip(&curve.selector, curve.sizes[i], &t)));
            }
        }
        let name = group.flatten().map_or("dots".to_owned(), |cut| format!("dots-cut{cut}"));
        maps.push((name, map.draw()));
    }
    maps
}

/// What our copy of olsson's table 2 shows: where there is a dot.
pub(super) fn paper_dots(arena: &Arena) -> Option<String> {
    let mut map = HeatMap {
        title: "olsson table 2: where the paper has a dot (cut 1; sizes of dots are lost)".to_owned(),
        columns: OLSSON_DOT_SIZES.iter().map(ToString::to_string).collect(),
        range: Some((0.0, 1.0)),
        ..HeatMap::default()
    };
    for curve in arena.curves.iter().filter(|c| c.without_cut().0 == Some(1)) {
        let selector: Selector = curve.selector.parse().ok()?;
        let Some(first) = olsson_first_dot(&selector) else { continue };
        map.rows.push(curve.selector.clone());
        map.values.extend(OLSSON_DOT_SIZES.iter().map(|&size| f64::from(u8::from(size >= first))));
    }
    (!map.rows.is_empty()).then(|| map.draw())
}

/// How often a cut beats another, by method and size: olsson table 3.
pub(super) fn cuts(arena: &Arena, low: u32, high: u32) -> Option<String> {
    let wins = wins_of_cut(arena, low, high);
    let sizes: Vec<Size> = wins.first()?.1.iter().map(|(size, _)| *size).collect();
    let mut map = HeatMap {
        title: format!("Splits on which cut {high} beats cut {low}"),
        columns: sizes.iter().map(ToString::to_string).collect(),
        range: Some((0.0, arena.curves[0].values[0].len() as f64)),
        ..HeatMap::default()
    };
    for (name, tests) in &wins {
        map.rows.push(name.clone());
        for (size, test) in tests {
            map.values.push(test.wins as f64);
            map.tips.push(tip(name, *size, test));
        }
    }
    Some(map.draw())
}

/// Peaks of all methods: olsson figure 3.
pub(super) fn peaks(arena: &Arena) -> String {
    let groups: Vec<String> = ["single", "pair", "three or more", "search"].map(str::to_owned).to_vec();
    let ranking = arena.ranking();
    let labelled: Vec<usize> = {
        let of = |single: bool| ranking.iter().copied().filter(move |&i| arena.curves[i].is_combination() != single);
        of(true).take(3).chain(of(false).take(3)).collect()
    };
    let point = |(i, curve): (usize, &Curve)| {
        let group = match curve.selector.parse::<Selector>() {
            Ok(selector) => match selector.kind() {
                Kind::Score(_) => 0,
                Kind::Combine(combine) => (combine.inputs().len() - 1).min(2),
                Kind::Search(_) => 3,
            },
            Err(_) => 0,
        };
        let at = curve.peak();
        Point {
            x: curve.features[at].max(1.0),
            y: arena.shown(curve.mean(at)),
            name: curve.selector.clone(),
            group,
            labelled: labelled.contains(&i),
        }
    };
    let points: Vec<Point> = arena.curves.iter().enumerate().map(point).collect();
    let used = points.iter().map(|p| p.group).max().unwrap_or(0) + 1;
    let y = Axis::linear(&format!("peak {}", arena.measure));
    scatter("Peak of each method, and where it is", &Axis::log("features at the peak"), &y, &groups[..used], &points)
}

/// Who beats whom by the best value of each split: a row's wins over a column.
pub(super) fn win_matrix(arena: &Arena, most: usize) -> Option<String> {
    let mut curves: Vec<&Curve> = arena.ranking().into_iter().take(most).map(|i| &arena.curves[i]).collect();
    curves.extend(&arena.baseline);
    let bests: Vec<Vec<f64>> = curves.iter().map(|c| c.bests(arena.over)).collect();
    if bests.first()?.len() < 2 {
        return None;
    }
    let mut map = HeatMap {
        title: "Wins of the row over the column, by best value".to_owned(),
        rows: curves.iter().map(|c| c.selector.clone()).collect(),
        columns: curves.iter().map(|c| c.selector.clone()).collect(),
        numbers: true,
        ..HeatMap::default()
    };
    for (i, a) in bests.iter().enumerate() {
        for (j, b) in bests.iter().enumerate() {
            let test = sign_test_of(a, b).ok().filter(|_| i != j);
            map.values.push(test.map_or(f64::NAN, |t| t.wins as f64));
            map.tips.push(test.map_or(String::new(), |t| {
                let all = t.wins + t.losses + t.ties;
                format!(
                    "{} beats {} on {} of {all}: {} one-sided",
                    map.rows[i],
                    map.rows[j],
                    t.wins,
                    p_value(t.p_one_sided)
                )
            }));
        }
    }
    Some(map.draw())
}

/// Pair by pair and size by size: olsson figures 5 and 6.
pub(super) fn wins_by_pair(arena: &Arena, most: usize) -> Option<String> {
    let mut curves: Vec<&Curve> = arena.ranking().into_iter().take(most).map(|i| &arena.curves[i]).collect();
    curves.extend(&arena.baseline);
    if curves.first()?.values[0].len() < 2 {
        return None;
    }
    let columns = &curves.iter().max_by_key(|c| c.sizes.len())?.sizes;
    let mut map = HeatMap {
        title: "Wins of the first over the second, by number of features".to_owned(),
        columns: columns.iter().map(ToString::to_string).collect(),
        range: Some((0.0, curves[0].values[0].len() as f64)),
        numbers: true,
        ..HeatMap::default()
    };
    for (i, a) in curves.iter().enumerate() {
        for b in &curves[i + 1..] {
            let tests = wins_by_size(a, b);
            let name = format!("{} over {}", a.selector, b.selector);
            for size in columns {
                let test = tests.iter().find(|(s, _)| s == size).map(|(_, t)| t);
                map.values.push(test.map_or(f64::NAN, |t| t.wins as f64));
                map.tips.push(test.map_or(String::new(), |t| tip(&name, *size, t)));
            }
            map.rows.push(name);
        }
    }
    (!map.rows.is_empty()).then(|| map.draw())
}

/// How often each method is the best of all, by size: olsson figure 7.
pub(super) fn best_of_all(arena: &Arena, most: usize) -> Option<String> {
    let mut curves: Vec<&Curve> = arena.ranking().into_iter().take(most).map(|i| &arena.curves[i]).collect();
    curves.extend(&arena.baseline);
    let splits = curves.first()?.values[0].len();
    if splits < 2 || curves.len() < 2 {
        return None;
    }
    let table = best_by_size(&curves);
    let map = HeatMap {
        title: "How often a method is the best of these".to_owned(),
        rows: curves.iter().map(|c| c.selector.clone()).collect(),
        columns: table.iter().map(|(size, _)| size.to_string()).collect(),
        values: (0..curves.len()).flat_map(|c| table.iter().map(move |(_, wins)| wins[c] as f64)).collect(),
        range: Some((0.0, splits as f64)),
        numbers: true,
        tips: Vec::new(),
    };
    Some(map.draw())
}

/// Seconds of searches by size: novovicova figure 3.
pub(super) fn search_times(times: &[Timing]) -> Option<String> {
    let mut by_selector: Vec<(String, Vec<(usize, Vec<f64>)>)> = Vec::new();
    for time in times.iter().filter(|t| t.what == "search") {
        let (Some(selector), Some(Size::Top(size))) = (&time.selector, time.size) else { continue };
        let at = by_selector.iter().position(|(s, _)| s == selector).unwrap_or_else(|| {
            by_selector.push((selector.clone(), Vec::new()));
            by_selector.len() - 1
        });
        let sizes = &mut by_selector[at].1;
        match sizes.iter_mut().find(|(s, _)| *s == size) {
            Some((_, seconds)) => seconds.push(time.seconds),
            None => sizes.push((size, vec![time.seconds])),
        }
    }
    let series: Vec<Series> = by_selector
        .into_iter()
        .map(|(name, mut sizes)| {
            sizes.sort_by_key(|(size, _)| *size);
            let mean = |s: &[f64]| s.iter().sum::<f64>() / s.len() as f64;
            let points = sizes.iter().map(|(size, seconds)| (*size as f64, mean(seconds))).collect();
            Series { name, points, ..Series::default() }
        })
        .collect();
    (!series.is_empty()).then(|| lines("Time of a search", &Axis::log("features"), &Axis::linear("seconds"), &series))
}

/// Two measures over simulated sets.
pub(super) fn measure_plot(names: [&str; 2], values: [&[f64]; 2], r_squared: f64) -> String {
    let points: Vec<Point> = values[0]
        .iter()
        .zip(values[1])
        .enumerate()
        .map(|(i, (&x, &y))| Point { x, y, name: format!("set {}", i + 1), group: 0, labelled: false })
        .collect();
    let title = format!("{} and {}: r² = {}", names[0], names[1], short(r_squared));
    scatter(&title, &Axis::linear(names[0]), &Axis::linear(names[1]), &[], &points)
}

#[cfg(test)]
mod tests {
    use super::half_width;

    /// t with two degrees of freedom at 0.975 is 4.3027; the mean of 1, 2, 3 has the standard error 1/√3.
    #[test]
    fn intervals_of_means() {
        assert!((half_width(&[1.0, 2.0, 3.0], 0.95) - 4.302_652_729_7 / 3f64.sqrt()).abs() < 1e-6);
        assert_eq!(half_width(&[1.0], 0.95), 0.0);
    }
}
