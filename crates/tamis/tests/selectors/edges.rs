//! Corpora at the edge: everything is a number or an explanation.

use tamis::Error;
use tamis::counts::{Contingency, Counts};
use tamis::features::{Formula, Lambda, Needs, Score, Selector};

use super::{rank, selector};

fn table(documents: &[(Vec<&str>, Vec<&str>)]) -> Contingency {
    Contingency::of(&Counts::from_rows(documents))
}

fn scores() -> impl Iterator<Item = Score> {
    Score::all().map(|score| match score.formula() {
        Formula::Wfo(_) => Score::new(Formula::Wfo(Lambda::Fixed(0.5)), score.pool()).unwrap(),
        _ => score,
    })
}

/// Every score either ranks with finite numbers or says what it needs; returns the names that ranked.
fn ranked(table: &Contingency) -> Vec<String> {
    scores()
        .filter(|&score| match Selector::score(score).rank(table) {
            Ok(ranking) => {
                assert!(ranking.scores().iter().all(|s| s.is_finite()), "{score}: {:?}", ranking.scores());
                true
            }
            Err(Error::Data { reason }) => {
                assert!(reason.contains(score.formula().spec().what), "{reason}");
                assert_ne!(score.formula().spec().needs, Needs::Documents);
                false
            }
            Err(other) => panic!("{score}: {other}"),
        })
        .map(Score::name)
        .collect()
}

fn all_but_ib() -> Vec<String> {
    scores().map(Score::name).filter(|name| name != "ib").collect()
}

#[test]
fn nothing_to_tell_apart() {
    assert_eq!(ranked(&table(&[])), ["df"]);
    assert_eq!(ranked(&table(&[(vec!["a", "b"], vec!["X"])])), ["df"]);
    assert_eq!(ranked(&table(&[(vec!["a"], vec![]), (vec!["b"], vec![])])), ["df"]);
    assert_eq!(ranked(&table(&[(vec!["a"], vec!["X"]), (vec!["b"], vec!["X"])])), ["df"]);
    // Two labels, on every document: ib still has its pair of classes.
    assert_eq!(ranked(&table(&[(vec!["a"], vec!["X", "Y"]), (vec!["b"], vec!["X", "Y"])])), ["df", "ib"]);
    let error = selector("chi2max").rank(&table(&[(vec!["a"], vec!["X"])])).unwrap_err().to_string();
    assert_eq!(
        error,
        "chi2max (χ² statistic) cannot be computed: every training document has the same labels, so there is nothing to \
         tell apart. Give documents of at least two classes; df needs no labels"
    );
}

#[test]
fn one_label_and_the_rest() {
    let one = table(&[(vec!["a", "b"], vec!["X"]), (vec!["b"], vec![]), (vec![], vec![])]);
    assert_eq!(ranked(&one), all_but_ib());
    let error = selector("ib").rank(&one).unwrap_err().to_string();
    assert!(error.contains("only one label has training documents"), "{error}");
}

#[test]
fn labels_and_terms_that_cover_everything() {
    let everywhere =
        table(&[(vec!["a", "b"], vec!["X", "all"]), (vec!["a", "c"], vec!["Y", "all"]), (vec!["a"], vec!["all"])]);
    assert_eq!(ranked(&everywhere).len(), scores().count());
    // A term in every document tells nothing. (Scores of two rates see a rate of 0 outside a label that has no outside,
    // Method 1, and so do not say this here.)
    for name in ["ig", "chi2max", "chi2avg", "ngl", "gss", "g2", "ig-presence"] {
        let ranking = rank(name, &everywhere);
        let a = ranking.terms().iter().position(|&t| table_name(&everywhere, t) == "a").unwrap();
        assert_eq!(ranking.scores()[a], 0.0, "{name}");
    }
    // A label without documents among those counted takes no part.
    let counts =
        Counts::from_rows(&[(vec!["a", "b"], vec!["X"]), (vec!["a", "c"], vec!["Y"]), (vec!["a", "d"], vec!["Z"])]);
    let part = Contingency::of_rows(&counts, &[0, 1]);
    assert_eq!(ranked(&part).len(), scores().count());
    for score in scores() {
        let ranking = Selector::score(score).rank(&part).unwrap();
        assert!(!ranking.terms().contains(&3), "{score} ranks a term that no document contains");
        if let Some(labels) = ranking.labels() {
            assert!(!labels.contains(&2), "{score} names a label without documents");
        }
    }
}

fn table_name(table: &Contingency, term: u32) -> &str {
    table.vocabulary().name(term)
}

#[test]
fn more_features_than_there_are_means_all() {
    let small = table(&[(vec!["a", "b"], vec!["X"]), (vec!["b"], vec!["Y"])]);
    let ranking = rank("ig", &small);
    let sizes = [1, 50];
    let last = ranking.sweep(&sizes).last().unwrap();
    assert_eq!((last.asked, last.terms.len()), (50, 2));
    assert!(rank("ig@9", &small).is_empty());
    assert!(rank("lr(ig,df)@9", &small).is_empty());
    assert!(rank("dmor(ig@9,chi2max)", &small).len() == 2);
}

#[test]
fn what_cannot_be_ranked_says_why() {
    let small = table(&[(vec!["a", "b"], vec!["X"]), (vec!["b"], vec!["Y"])]);
    let why = |text: &str| selector(text).rank(&small).unwrap_err().to_string();
    assert!(why("os(ib)").contains("no ranking"));
    assert!(why("wfo(auto)").contains("not learned"));
    assert!(selector("ig").rank_label(&small, 0).unwrap_err().to_string().contains("g2"));
    assert!(selector("df").rank_label(&small, 0).is_ok());
    assert!(selector("chi2max").rank_label(&small, 9).is_err());
}
