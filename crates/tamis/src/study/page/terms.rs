//! Which terms selectors prefer, and the λ they were given (li 4).

use crate::features::Selector;
use crate::report::Page;
use crate::study::findings::learned_lambdas;
use crate::study::papers::{LI_CORPORA, LI_LAMBDA_20NG, LI_LAMBDA_AT_500, LI_PROFILE};
use crate::study::plan::{Grid, Plan};
use crate::study::rows::Row;

pub(super) fn profile_section(page: &mut Page, plan: &Plan, rows: &[Row]) {
    let profiles: Vec<_> = rows.iter().filter_map(|r| if let Row::Profile(p) = r { Some(p) } else { None }).collect();
    let Some(first) = profiles.first() else { return };
    let mut selectors: Vec<&str> = Vec::new();
    for profile in &profiles {
        if !selectors.contains(&profile.selector.as_str()) {
            selectors.push(&profile.selector);
        }
    }
    let is_li = plan.paper.as_deref() == Some("li");
    let mut header: Vec<String> = vec!["selector".into()];
    header.extend(first.means.iter().map(|(name, _)| format!("{name} here")));
    if is_li {
        header.extend(LI_CORPORA.iter().flat_map(|c| [format!("DF {c}"), format!("MI {c}")]));
    }
    let mut table = Vec::new();
    for selector in selectors {
        let of: Vec<_> = profiles.iter().filter(|p| p.selector == selector).collect();
        let mut row = vec![selector.to_owned()];
        for i in 0..first.means.len() {
            row.push(format!("{:.3}", of.iter().map(|p| p.means[i].1).sum::<f64>() / of.len() as f64));
        }
        if is_li {
            let plain = selector.parse::<Selector>().map(|s| s.with_cut(None).to_string()).unwrap_or_default();
            let printed = LI_PROFILE.iter().find(|(name, _)| *name == plain).map(|(_, values)| values);
            for corpus in 0..LI_CORPORA.len() {
                let [df, mi] = printed.map_or([String::new(), String::new()], |v| {
                    [format!("{:.3}", v[corpus].0), format!("{:.3}", v[corpus].1)]
                });
                row.extend([df, mi]);
            }
        }
        table.push(row);
    }
    page.section("Which terms the selectors prefer");
    page.text("Mean of other scores, min-max normalised over all terms, of the first terms of each selector.");
    if is_li {
        page.text("The columns of the paper (li table 1) are its four corpora.");
    }
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    page.table(&header, &table);
}

pub(super) fn lambda_section(page: &mut Page, plan: &Plan, grid: &Grid, rows: &[Row]) {
    let learned = learned_lambdas(grid, rows);
    let mut table = Vec::new();
    for &size in &grid.sizes {
        let values: Vec<f64> = learned.iter().filter(|(s, _)| *s == size).map(|(_, l)| *l).collect();
        if !values.is_empty() {
            table.push(vec![size.to_string(), format!("{:.3}", values.iter().sum::<f64>() / values.len() as f64)]);
        }
    }
    if table.is_empty() {
        return;
    }
    page.section("λ as learned");
    page.text("For the sizes at which there is something to choose: with all features every λ is the same.");
    page.table(&["features", "mean λ"], &table);
    if plan.paper.as_deref() == Some("li") {
        let at_500: Vec<String> = LI_LAMBDA_AT_500.iter().map(|(c, l)| format!("{l} ({c})")).collect();
        let later: Vec<String> = LI_LAMBDA_20NG.iter().map(|(n, l)| format!("{l} at {n}")).collect();
        page.text(&format!(
            "The paper (li 4.3) learned {} for 500 features; on 20NG {}.",
            at_500.join(", "),
            later.join(", ")
        ));
    }
}
