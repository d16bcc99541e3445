//! Every registry, row by row: examples parse and print back, and every source is in the bibliography.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use tamis::classify::ClassifierSpec;
use tamis::features::{Score, Selector, Size};
use tamis::hierarchy::pipeline::Method;
use tamis::measure::Measure;
use tamis::registry::List;
use tamis::threshold::Threshold;

const METHOD: &str = include_str!("../../../docs/method.md");

fn column(list: List, name: &str) -> Vec<String> {
    let table = list.table();
    let at = table.columns.iter().position(|c| *c == name).unwrap_or_else(|| panic!("{list} has no column {name}"));
    table.rows.into_iter().map(|row| row[at].clone()).collect()
}

/// Parsed and printed.
fn again<T: std::str::FromStr<Err = tamis::Error> + ToString>(text: &str) -> String {
    text.parse::<T>().unwrap_or_else(|e| panic!("{text}: {e}")).to_string()
}

#[test]
fn every_list_is_a_table_with_names_of_its_own() {
    for &list in List::ALL {
        assert_eq!(again::<List>(list.name()), list.name());
        let table = list.table();
        assert!(table.rows.len() > 3, "{list}");
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{list}");
        assert!(table.rows.iter().flatten().all(|cell| !cell.contains(['\t', '\n'])), "{list}");
        let names: BTreeSet<&String> = table.rows.iter().map(|row| &row[0]).collect();
        assert_eq!(names.len(), table.rows.len(), "{list}");
        assert!(names.iter().all(|name| !name.is_empty()), "{list}");
    }
}

#[test]
fn examples_parse_and_print_back() {
    for list in [List::Selectors, List::Combinations, List::Searches] {
        for example in column(list, "example") {
            assert_eq!(again::<Selector>(&example), example);
        }
    }
    for example in column(List::Thresholds, "example") {
        assert_eq!(again::<Threshold>(&example), example);
    }
    for example in column(List::Methods, "example") {
        assert_eq!(again::<Method>(&example), example);
    }
    for example in column(List::Measures, "example") {
        assert_eq!(again::<Measure>(&example), example);
    }
    for (name, example) in column(List::Classifiers, "name").iter().zip(column(List::Classifiers, "example")) {
        // Parameters at their default are not printed.
        let printed = again::<ClassifierSpec>(&example);
        assert!(printed.starts_with(name.as_str()), "{example}");
        assert_eq!(again::<ClassifierSpec>(&printed), printed);
    }
    assert_eq!(again::<Size>("200"), "200");
}

/// `chi2max`, `chi2avg` and `chi2sum` have one formula; the list says what makes them three.
#[test]
fn selectors_say_how_they_pool() {
    let rows = List::Selectors.table().rows;
    let of = |name: &str| rows.iter().find(|row| row[0] == name).unwrap();
    assert_eq!(of("chi2max")[3], of("chi2sum")[3]);
    let pooled = ["chi2max", "chi2avg", "chi2sum", "ig"].map(|name| of(name)[4].as_str());
    assert_eq!(pooled, ["the largest", "the mean, weighted by P(c)", "the sum", "one score for all"]);
    assert_eq!(of("bns")[4], "the largest");
    assert_eq!(rows.len(), Score::all().count());
}

/// Keys of the bibliography: `* **key** …`.
fn bibliography() -> Vec<&'static str> {
    let (_, bibliography) = METHOD.split_once("\n## 12 Bibliography").unwrap();
    bibliography.lines().filter_map(|line| line.strip_prefix("* **")?.split_once("**")).map(|(key, _)| key).collect()
}

#[test]
fn every_source_is_in_the_bibliography() {
    let keys = bibliography();
    for list in [
        List::Selectors,
        List::Combinations,
        List::Searches,
        List::Classifiers,
        List::Thresholds,
        List::Methods,
        List::Measures,
    ] {
        assert!(column(list, "what").iter().all(|what| !what.is_empty()), "{list}");
        for source in column(list, "source") {
            for citation in source.split("; ") {
                let known = match citation.strip_prefix("method ") {
                    Some(section) => METHOD.contains(&format!("\n## {section} ")),
                    // The key, then nothing, a section or a name.
                    None => keys.iter().any(|key| {
                        citation.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
                    }),
                };
                assert!(known, "{list}: {citation:?} is not in the bibliography of docs/method.md");
            }
        }
    }
}

#[test]
fn the_bibliography_is_in_order_and_the_sections_have_anchors() {
    let keys = bibliography();
    assert_eq!(keys[..4], ["olsson", "novovicova", "li", "addis"]);
    let rest: Vec<String> = keys[4..].iter().map(|key| key.to_lowercase().replace('ä', "a")).collect();
    assert!(rest.is_sorted(), "{rest:?}");
    for section in 1..=12 {
        assert!(METHOD.contains(&format!("<a id=\"method-{section}\"></a>\n## {section} ")), "{section}");
        assert!(METHOD.contains(&format!("](#method-{section})")), "{section}");
    }
}
