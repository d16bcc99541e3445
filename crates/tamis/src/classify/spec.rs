//! Classifiers by name: `knn(100)`, `wknn`, `bayes`, `svm(c=0.1,loss=hinge)`, `logistic`.

use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::svm::Solution;
use super::{
    BayesOptions, Classifier, Knn, KnnOptions, LabelTrees, Linear, LogisticOptions, Problem, Query, Scored, Scratch,
    Similarity, SvmOptions, TreeOptions,
};
use crate::registry::Row;
use crate::{Error, Progress, Result};

/// A classifier with its parameters. Its name parses and prints back the same; parameters at their default are left out.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassifierSpec {
    /// `knn(k)` and `wknn(k)`.
    Knn(KnnOptions),
    /// `bayes`.
    Bayes(BayesOptions),
    /// `svm`.
    Svm(SvmOptions),
    /// `logistic`.
    Logistic(LogisticOptions),
    /// `tree(svm)`.
    Tree(TreeOptions),
}

impl ClassifierSpec {
    /// All classifiers, for lists and help.
    pub const ROWS: [Row; 6] = [
        Row {
            name: "svm",
            example: "svm(c=1,loss=squared,multi=ovr)",
            what: "Linear SVM on tfidf vectors; loss=squared|hinge, multi=ovr|ovo, vectors=tfidf|tfidf-by-block|binary|tf|okapi, also times a selector score as in tfidf*rf, \
                   or binary*lpr(per=label) with beta=0.25, classes=equal|balanced|label:weight;label:weight.",
            formula: "",
            source: "method 7; Hsieh et al. 2008",
        },
        Row {
            name: "logistic",
            example: "logistic(c=1,form=ovr)",
            what: "Logistic regression on tfidf vectors: its scores are log probabilities; form=ovr|multinomial (the second by default where every \
                   document has one label), vectors and classes as of svm.",
            formula: "",
            source: "method 7; Lin, Weng & Keerthi 2008",
        },
        Row {
            name: "tree",
            example: "tree(svm,trees=3,leaf=100,beam=10,prune=0.1)",
            what: "Label trees for thousands of labels: an svm (or `logistic`) at each node, probabilities multiplied along the path, a few trees averaged; \
                   by=means (like labels together), taxonomy, flat, or several of them as in flat+taxonomy.",
            formula: "",
            source: "method 7; Prabhu et al. 2018",
        },
        Row {
            name: "bayes",
            example: "bayes(multi=ovr)",
            what: "Multinomial Bayes with add-one smoothing, or word priors with prior=100; multi=ovr decides each label by itself.",
            formula: "",
            source: "novovicova 5.3; method 7",
        },
        Row {
            name: "knn",
            example: "knn(100)",
            what: "The k nearest training documents by Okapi similarity; labels score the sum. unit=10000 for svmlight values read as weights.",
            formula: "",
            source: "olsson 6.1; method 7",
        },
        Row {
            name: "wknn",
            example: "wknn(20)",
            what: "The k nearest by cosine; labels score their share, from 0 to 1.",
            formula: "",
            source: "addis; method 7",
        },
    ];

    /// Fits it to training documents.
    pub fn fit(&self, problem: &Problem, progress: &dyn Progress) -> Result<Fitted> {
        self.fit_with_solutions(problem, progress).map(|(fitted, _)| fitted)
    }

    /// The same, and how well each problem of an SVM or logistic regression was solved.
    pub fn fit_with_solutions(&self, problem: &Problem, progress: &dyn Progress) -> Result<(Fitted, Vec<Solution>)> {
        Ok(match self {
            Self::Knn(options) => {
                let model = Box::new(Knn::fit(problem, options)?);
                (Fitted::Knn { model, problem: problem.clone() }, Vec::new())
            }
            Self::Bayes(options) => (Fitted::Linear(options.fit(problem)?), Vec::new()),
            Self::Svm(options) => {
                let fit = options.fit(problem, progress)?;
                (Fitted::Linear(fit.model), fit.solutions)
            }
            Self::Logistic(options) => {
                let fit = options.fit(problem, progress)?;
                (Fitted::Linear(fit.model), fit.solutions.into_iter().map(Solution::from).collect())
            }
            Self::Tree(options) => (Fitted::Trees(options.fit(problem, progress)?), Vec::new()),
        })
    }
}

impl ClassifierSpec {
    /// Whether its scores are log probabilities that can be believed as they are. Those of `bayes` are log probabilities too, but
    /// words are not independent, and so they are far too sure of themselves.
    pub fn gives_probabilities(&self) -> bool {
        matches!(self, Self::Logistic(_))
    }
}

/// Ranks every document of a problem in parallel; results are in document order.
pub fn rank_documents<T: Send>(
    classifier: &dyn Classifier,
    test: &Problem,
    visit: impl Fn(usize, &[Scored], &[u32]) -> T + Sync,
) -> Vec<T> {
    (0..test.documents())
        .into_par_iter()
        .map_init(
            || (Scratch::default(), Vec::new()),
            |(scratch, ranked), row| {
                classifier.rank(test.query(row), scratch, ranked);
                visit(row, ranked, test.assignments.row_indices(row))
            },
        )
        .collect()
}

impl fmt::Display for ClassifierSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Knn(options) => {
                let (name, default) = match options.similarity {
                    Similarity::Okapi => ("knn", KnnOptions::KNN),
                    Similarity::Cosine => ("wknn", KnnOptions::WKNN),
                };
                match (options.k == default.k, options.unit) {
                    (true, 1) => f.write_str(name),
                    (false, 1) => write!(f, "{name}({})", options.k),
                    (_, unit) => write!(f, "{name}({},unit={unit})", options.k),
                }
            }
            Self::Bayes(options) => options.fmt(f),
            Self::Svm(options) => options.fmt(f),
            Self::Logistic(options) => options.fmt(f),
            Self::Tree(options) => options.fmt(f),
        }
    }
}

impl FromStr for ClassifierSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let name = text.split('(').next().unwrap_or_default().trim();
        match name {
            "knn" => neighbours(text, KnnOptions::KNN),
            "wknn" => neighbours(text, KnnOptions::WKNN),
            "bayes" => text.parse().map(Self::Bayes),
            "svm" => text.parse().map(Self::Svm),
            "logistic" => text.parse().map(Self::Logistic),
            "tree" => text.parse().map(Self::Tree),
            _ => Err(Error::unknown("classifier", name, Self::ROWS.iter().map(|row| row.name))),
        }
    }
}

fn neighbours(text: &str, default: KnnOptions) -> Result<ClassifierSpec> {
    let Some((_, rest)) = text.split_once('(') else { return Ok(ClassifierSpec::Knn(default)) };
    let wrong = |reason| Err(Error::invalid("knn", text, reason));
    let Some(inside) = rest.trim_end().strip_suffix(')') else { return wrong("expected ) at the end") };
    let mut options = default;
    for argument in inside.split(',').map(str::trim) {
        if let Some(unit) = argument.strip_prefix("unit=") {
            options.unit = match unit.trim().parse() {
                Ok(unit @ 1..) if default.similarity == Similarity::Okapi => unit,
                _ => {
                    return wrong(
                        "what counts as one occurrence is a whole number from 1, as in knn(unit=10000); wknn has none",
                    );
                }
            };
        } else {
            options.k = match argument.trim_start_matches("k=").trim().parse() {
                Ok(k @ 1..) => k,
                _ => return wrong("the number of neighbours is a whole number from 1, as in knn(100)"),
            };
        }
    }
    Ok(ClassifierSpec::Knn(options))
}

impl Serialize for ClassifierSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClassifierSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A fitted classifier of any kind.
#[derive(Debug, Clone)]
pub enum Fitted {
    /// Neighbours, with the documents they are.
    Knn {
        /// The index.
        model: Box<Knn>,
        /// The training documents over the features, from which the index is made.
        problem: Problem,
    },
    /// Bayes, SVM or logistic regression.
    Linear(Linear),
    /// Label trees.
    Trees(LabelTrees),
}

impl Classifier for Fitted {
    fn labels(&self) -> usize {
        match self {
            Self::Knn { model, .. } => model.labels(),
            Self::Linear(model) => model.labels(),
            Self::Trees(model) => model.labels(),
        }
    }

    fn rank(&self, document: Query<'_>, scratch: &mut Scratch, ranked: &mut Vec<Scored>) {
        match self {
            Self::Knn { model, .. } => model.rank(document, scratch, ranked),
            Self::Linear(model) => model.rank(document, scratch, ranked),
            Self::Trees(model) => model.rank(document, scratch, ranked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in [
            "knn",
            "knn(5)",
            "knn(100,unit=10000)",
            "bayes(prior=100)",
            "wknn",
            "wknn(7)",
            "bayes",
            "bayes(multi=ovr)",
            "svm",
            "svm(c=0.1,loss=hinge)",
            "logistic(c=3)",
            "tree(svm)",
            "tree(svm(c=0.3),by=flat+taxonomy)",
        ] {
            assert_eq!(name.parse::<ClassifierSpec>().unwrap().to_string(), name);
        }
        assert_eq!("knn(100)".parse::<ClassifierSpec>().unwrap().to_string(), "knn");
        for row in ClassifierSpec::ROWS {
            assert!(row.example.parse::<ClassifierSpec>().is_ok(), "{}", row.example);
        }
        assert!("knn(0)".parse::<ClassifierSpec>().is_err());
        assert_eq!("knn(unit=10000)".parse::<ClassifierSpec>().unwrap().to_string(), "knn(100,unit=10000)");
        for wrong in ["knn(unit=0)", "knn(unit=x)", "wknn(unit=5)", "knn(5", "knn(k=)"] {
            assert!(wrong.parse::<ClassifierSpec>().is_err(), "{wrong}");
        }
        assert!("smv".parse::<ClassifierSpec>().unwrap_err().to_string().contains("did you mean svm"));
    }
}
