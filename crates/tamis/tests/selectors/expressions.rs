//! Expressions print what they parse, and errors point at the character.

use proptest::prelude::*;
use tamis::Error;
use tamis::features::search::Strategy as Searching;
use tamis::features::{Combination, Formula, Lambda, Score, Selector};

use super::selector;

fn score() -> impl Strategy<Value = Selector> {
    let all: Vec<Score> = Score::all().collect();
    (prop::sample::select(all), prop::option::of(0.0..=1.0f64)).prop_map(|(score, lambda)| {
        let score = match (score.formula(), lambda) {
            (Formula::Wfo(_), Some(l)) => Score::new(Formula::Wfo(Lambda::Fixed(l)), score.pool()).unwrap(),
            _ => score,
        };
        Selector::score(score)
    })
}

fn any_selector() -> impl Strategy<Value = Selector> {
    let cut = || prop::option::of(prop_oneof![0u32..10, Just(u32::MAX)]);
    let leaf = (score(), cut()).prop_map(|(s, cut)| s.with_cut(cut));
    let ranked = leaf.prop_recursive(4, 24, 4, move |inner| {
        let inputs = prop::collection::vec((inner, 1e-9..1e9f64), 2..4);
        (prop::sample::select(&Combination::ALL[..]), inputs, cut()).prop_map(|(combination, inputs, cut)| {
            let (inputs, weights): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
            let weights = if combination.spec().weighted { weights } else { Vec::new() };
            Selector::combine(combination, inputs, weights).unwrap().with_cut(cut)
        })
    });
    let depths = (1u32..5).prop_map(Searching::Oscillating);
    let strategy = prop_oneof![depths, prop::sample::select(&Searching::ALL[..])];
    (ranked, prop::option::of(strategy), cut()).prop_map(|(selector, strategy, cut)| match strategy {
        Some(strategy) => Selector::search(strategy, selector).unwrap().with_cut(cut),
        None => selector,
    })
}

proptest! {
    #[test]
    fn what_is_printed_parses_to_the_same(selector in any_selector()) {
        let text = selector.to_string();
        let parsed: Selector = text.parse().map_err(|e: Error| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(&parsed, &selector);
        prop_assert_eq!(parsed.to_string(), text.clone());
        // Blanks anywhere between parts change nothing.
        let spaced: String = text.chars().flat_map(|c| if "(),@*".contains(c) { vec![' ', c, '\t'] } else { vec![c] }).collect();
        prop_assert_eq!(&spaced.parse::<Selector>().unwrap(), &selector);
        // Files store the string.
        let json = serde_json::to_string(&selector).unwrap();
        prop_assert_eq!(serde_json::from_str::<Selector>(&json).unwrap(), selector);
    }

    #[test]
    fn nothing_panics(text in "[a-z0-9(),@*. é-]{0,24}") {
        if let Err(error) = text.parse::<Selector>() {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn the_expressions_of_the_specification() {
    for text in [
        "chi2max",
        "chi2max@5",
        "lr(chi2max,chi2avg)@1",
        "ar(chi2max@5,chi2avg@0)",
        "wfo(0.3)",
        "os(ib)",
        "os(ib,2)",
        "os(lr(ib,ig)@2)@1",
        "sfs(ib)",
        "sbs(chi2max@5)",
        "sffs(lr(ib,ig))@1",
        "sbfs(wfo(0.3))@20",
        "wfo(auto)",
        "wfoavg(0.5)",
        "wr(0.7*chi2max,0.3*ig)",
        "ws(1*or,2*ig-presence)@3",
        "ib(100)",
        "os(ib(0.5)@3,2)",
    ] {
        assert_eq!(selector(text).to_string(), text);
    }
    for wrong in ["ib(0)", "ib(-1)", "ib()", "ib(x)", "ib(100", "os(ib(100)"] {
        assert!(wrong.parse::<Selector>().is_err(), "{wrong}");
    }
    let search = selector("os(ib@5,2)@1");
    assert_eq!(
        search.as_search().map(|s| (s.start().to_string(), s.strategy())),
        Some(("ib@5".to_owned(), Searching::Oscillating(2)))
    );
    assert_eq!(search.lowest_cut(), 5);
    assert_eq!(selector("os(ib)@3").lowest_cut(), 3);
    assert_eq!(selector("ar(chi2max@5,chi2avg)@2").lowest_cut(), 2);
}

/// The character an expression fails at, as the message shows it, and a word of the reason.
#[test]
fn errors_point_at_the_character() {
    let cases = [
        ("", 0, "expected a selector"),
        ("  ", 2, "expected a selector"),
        ("lr(chi2max,)", 11, "expected a selector"),
        ("lr(chi2max,ig", 13, "')'"),
        ("lr(chi2max ig)", 11, "','"),
        ("lr(chi2max)", 10, "two selectors or more"),
        ("lr", 2, "combines selectors"),
        ("lr(0.5*ig,df)", 3, "wr and ws"),
        ("wr(ig,df)", 3, "weight"),
        ("wr(0.5*ig,df)", 10, "weight"),
        ("wr(0.5 ig,1*df)", 7, "'*'"),
        ("wr(-1*ig,1*df)", 3, "0 or more"),
        ("wr(0*ig,0*df)", 12, "above 0"),
        ("chi2max@", 8, "whole number"),
        ("chi2max@x", 8, "whole number"),
        ("chi2max@99999999999", 8, "whole number"),
        ("chi2max@1@2", 9, "one cut"),
        ("chi2max)", 7, "expected the end"),
        ("chi2max(3)", 7, "nothing in parentheses"),
        ("wfo", 3, "needs its λ"),
        ("wfo(1.5)", 4, "between 0"),
        ("wfo(-0.1)", 4, "between 0"),
        ("wfo(x)", 4, "auto"),
        ("ar(chi2max,wfo(2))", 15, "between 0"),
        ("os(os(ib))", 3, "no ranking"),
        ("ar(ig,os(ib))", 6, "no ranking"),
        ("os(ib,0)", 6, "1 or more"),
        ("sfs(ib,2)", 6, "')'"),
        ("sfs", 3, "searches from a selector"),
        ("sffs(sfs(ib))", 5, "no ranking"),
        ("sfss(ib)", 0, "did you mean sffs or sfs"),
        ("é", 0, "unknown"),
        ("ar(ig,chi2mx)", 6, "did you mean chi2max"),
        ("chi2", 0, "chi2max"),
        ("bnsmax", 0, "bns"),
        ("qqqqqqqq", 0, "formulas are df ig"),
    ];
    for (text, at, reason) in cases {
        match text.parse::<Selector>() {
            Err(Error::Expression { at: found, reason: why, .. }) => {
                assert_eq!(found, at, "{text}: {why}");
                assert!(why.contains(reason), "{text}: {why}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let deep = "lr(".repeat(100_000);
    assert!(deep.parse::<Selector>().unwrap_err().to_string().contains("inside each other"));
}

#[test]
fn what_an_error_looks_like() {
    let error = "lr(chi2max,ch2avg)@1".parse::<Selector>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown selector \"ch2avg\"; did you mean chi2avg or acc2avg or g2avg?\n  lr(chi2max,ch2avg)@1\n             ^"
    );
}

#[test]
fn lambda_is_set_everywhere_it_is_to_be_learned() {
    let auto = selector("lr(wfo(auto)@2,ar(wfosum(auto),wfo(0.1)))");
    assert!(auto.has_auto());
    let set = auto.with_lambda(0.25).unwrap();
    assert_eq!(set.to_string(), "lr(wfo(0.25)@2,ar(wfosum(0.25),wfo(0.1)))");
    assert!(!set.has_auto());
    assert!(auto.with_lambda(1.01).is_err());
}
