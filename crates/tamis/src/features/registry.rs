//! Every selector score in one table: name, formula, source, function. Names, help, documentation and Python read it.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::Serialize;

use super::formulas::{association, frequency, information, odds, separation};
use crate::counts::Cell;
use crate::registry::Row;
use crate::{Error, Result};

/// A formula that gives a term a number: from one cell, from the whole row of its cells, or from pairs of classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Formula {
    /// Document frequency.
    Df,
    /// Information gain.
    Ig,
    /// Information gain, presence only.
    IgPresence,
    /// Individual Bhattacharyya distance.
    Ib(WordPrior),
    /// χ² statistic.
    Chi2,
    /// Pointwise mutual information.
    Mi,
    /// Bi-normal separation.
    Bns,
    /// Weighted log-likelihood ratio.
    Wllr,
    /// Weighed frequency and odds.
    Wfo(Lambda),
    /// Log odds ratio.
    Or,
    /// Gini index.
    Gini,
    /// Accuracy.
    Acc,
    /// Balanced accuracy.
    Acc2,
    /// F1 of the term as a classifier.
    F1,
    /// Correlation coefficient of Ng, Goh and Low.
    Ngl,
    /// Simplified χ² of Galavotti, Sebastiani and Simi.
    Gss,
    /// Log-likelihood ratio statistic.
    G2,
    /// Kullback–Leibler divergence.
    Kl,
    /// Weight of evidence.
    Woe,
    /// Log probability ratio.
    Lpr,
    /// Smoothed log probability ratio.
    Slpr,
    /// Relevancy score.
    Rs,
    /// DIA association factor.
    Dia,
    /// Distinguishing feature selector.
    Dfs,
    /// Relevance frequency.
    Rf,
    /// Forman's power.
    Power,
    /// Odds ratio numerator.
    Oddn,
    /// Fisher's discriminant.
    Fisher,
}

/// The λ of `wfo`: between the ratio measurement (0) and the frequency measurement (1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lambda {
    /// A value in `[0, 1]`.
    Fixed(f64),
    /// To be learned on the training documents (li 4.3), see [`learn_lambda`](super::learn_lambda).
    Auto,
}

impl fmt::Display for Lambda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(value) => write!(f, "{value}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// How probabilities of words in a class are estimated from `N_vc` occurrences among `N_c` (method 5).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum WordPrior {
    /// `(1 + N_vc) / (V + N_c)`: one more occurrence of each of the `V` words.
    #[default]
    AddOne,
    /// `(N_vc + m·P(v)) / (N_c + m)`: `m` more occurrences, divided between words as they are in all documents.
    Weight(f64),
}

pub(crate) const PRIOR_RANGE: &str = "the weight of word priors is a number above 0, such as 100";

impl WordPrior {
    /// Refuses a weight that gives no probabilities.
    pub(crate) fn check(self) -> Result<Self> {
        match self {
            Self::Weight(m) if !(m.is_finite() && m > 0.0) => Err(Error::invalid("word prior", m, PRIOR_RANGE)),
            fine => Ok(fine),
        }
    }
}

/// How the scores of a term for each label become one score (method 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    /// The largest over labels.
    Max,
    /// `Σ P(c)·score`, weighted by the priors.
    Avg,
    /// The sum over labels.
    Sum,
}

impl Pool {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Max, Self::Avg, Self::Sum];

    /// How it makes one score of several, in words.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Max => "the largest",
            Self::Avg => "the mean, weighted by P(c)",
            Self::Sum => "the sum",
        }
    }

    /// The end it puts to a name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Avg => "avg",
            Self::Sum => "sum",
        }
    }
}

/// How a formula is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Function {
    /// From one cell; `row` is `one` over a slice, so that the loop over a row is compiled with the formula inside.
    Cell { one: fn(Cell) -> f64, row: fn(&[Cell], &mut Vec<f64>) },
    /// From one cell and λ.
    Wfo(Lambda),
    /// From the document frequency alone.
    Frequency,
    /// A sum over labels, of which those not met are given together, by n, df and their documents.
    Parts { met: fn(Cell) -> f64, unmet: fn(f64, f64, f64) -> f64 },
    /// From the occurrences in pairs of classes.
    Pairs(WordPrior),
}

/// What a corpus must have for a formula to say anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// Documents only.
    Documents,
    /// A label that some documents have and some have not.
    Contrast,
    /// Two labels with documents.
    TwoLabels,
}

/// One row of the registry.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Name (in expressions, without the end that [`Pool`] puts to it), meaning, formula and source.
    pub row: Row,
    /// What the corpus must have.
    pub needs: Needs,
    /// For formulas on one cell: the pool that the name alone stands for. `None`: the name always has an end
    /// (`chi2max`).
    pub bare: Option<Pool>,
    pub(crate) function: Function,
}

impl Deref for Spec {
    type Target = Row;

    fn deref(&self) -> &Row {
        &self.row
    }
}

macro_rules! cell {
    ($function:path) => {
        Function::Cell { one: $function, row: |cells, scores| scores.extend(cells.iter().map(|&cell| $function(cell))) }
    };
}

impl Formula {
    /// The whole registry, in the order it is listed; `wfo` stands with λ still to be learned.
    pub const ALL: [Self; 28] = [
        Self::Df,
        Self::Ig,
        Self::IgPresence,
        Self::Chi2,
        Self::Mi,
        Self::Bns,
        Self::Wllr,
        Self::Wfo(Lambda::Auto),
        Self::Or,
        Self::Ib(WordPrior::AddOne),
        Self::Gini,
        Self::Acc,
        Self::Acc2,
        Self::F1,
        Self::Ngl,
        Self::Gss,
        Self::G2,
        Self::Kl,
        Self::Woe,
        Self::Lpr,
        Self::Slpr,
        Self::Rs,
        Self::Dia,
        Self::Dfs,
        Self::Rf,
        Self::Power,
        Self::Oddn,
        Self::Fisher,
    ];

    /// The row of the registry.
    #[rustfmt::skip]
    pub fn spec(self) -> Spec {
        use Needs::{Contrast, Documents, TwoLabels};
        let row = |name, what, formula, source, needs, bare, function| {
            // Names that always have an end, or a parameter.
            let example = match name { "chi2" => "chi2max", "mi" => "mimax", "wfo" => "wfo(0.3)", whole => whole };
            Spec { row: Row { name, example, what, formula, source }, needs, bare, function }
        };
        let max = Some(Pool::Max);
        match self {
            Self::Df => row("df", "document frequency", "df(t)", "olsson 3.1; li 3.1", Documents, None, Function::Frequency),
            Self::Ig => row("ig", "information gain",
                "−Σ P(c) log P(c) + P(t) Σ P(c|t) log P(c|t) + P(t̄) Σ P(c|t̄) log P(c|t̄)",
                "olsson 3.2; li 3.3; Yang & Pedersen 1997", Contrast, None,
                Function::Parts { met: information::ig_part, unmet: information::ig_absent }),
            Self::IgPresence => row("ig-presence", "information gain of presence (expected cross entropy)",
                "Σ P(c,t) log( P(c,t) / (P(c) P(t)) )", "novovicova eq. 1; Mladenić & Grobelnik 1999", Contrast, None,
                Function::Parts { met: information::ig_presence_part, unmet: |_, _, _| 0.0 }),
            Self::Ib(prior) => row("ib", "individual Bhattacharyya distance",
                "Σ_{j<k} P_j P_k · −log( √(p_j p_k) + √((1−p_j)(1−p_k)) ), p = (1 + N_tc) / (V + N_c); ib(m): p = (N_tc + m·P(t)) / (N_c + m)",
                "novovicova 4.1, eq. 4", TwoLabels, None, Function::Pairs(prior)),
            Self::Chi2 => row("chi2", "χ² statistic", "n (ad − cb)² / ((a+c)(b+d)(a+b)(c+d))",
                "olsson 3.3; li 3.4; Yang & Pedersen 1997", Contrast, None, cell!(association::chi2)),
            Self::Mi => row("mi", "pointwise mutual information", "−log(1 + b/a) − log P(c); ½ for an a or b of 0",
                "li 3.2; Yang & Pedersen 1997", Contrast, None, cell!(information::mi)),
            Self::Bns => row("bns", "bi-normal separation", "|F⁻¹(a/n_c) − F⁻¹(b/(n−n_c))|, rates clipped to [0.0005, 0.9995]",
                "li 3.5; Forman 2003", Contrast, max, cell!(separation::bns)),
            Self::Wllr => row("wllr", "weighted log-likelihood ratio", "(a/n_c) log( (a/n_c) / (b/(n−n_c)) )",
                "li 3.6; Nigam et al. 2000", Contrast, max, cell!(odds::wllr)),
            Self::Wfo(lambda) => row("wfo", "weighed frequency and odds",
                "(a/n_c)^λ · log( (a/n_c) / (b/(n−n_c)) )^(1−λ) where the ratio exceeds 1, else 0", "li 3.7", Contrast, max,
                Function::Wfo(lambda)),
            Self::Or => row("or", "log odds ratio", "log( a·d / (b·c) )", "Forman 2003; Mladenić & Grobelnik 1999", Contrast, max,
                cell!(odds::or)),
            Self::Gini => row("gini", "Gini index", "P(t|c)² · P(c|t)²", "Shang et al. 2007", Contrast, Some(Pool::Sum),
                cell!(frequency::gini)),
            Self::Acc => row("acc", "accuracy", "a − b", "Forman 2003", Contrast, max, cell!(frequency::acc)),
            Self::Acc2 => row("acc2", "balanced accuracy", "|a/n_c − b/(n−n_c)|", "Forman 2003", Contrast, max,
                cell!(frequency::acc2)),
            Self::F1 => row("f1", "F1 of the term as a classifier", "2a / (n_c + df)", "Forman 2003", Contrast, max,
                cell!(frequency::f1)),
            Self::Ngl => row("ngl", "NGL correlation coefficient", "√n (ad − cb) / √((a+c)(b+d)(a+b)(c+d))",
                "Ng, Goh & Low 1997", Contrast, max, cell!(association::ngl)),
            Self::Gss => row("gss", "GSS coefficient (simplified χ²)", "(ad − bc) / n²", "Galavotti, Sebastiani & Simi 2000",
                Contrast, max, cell!(association::gss)),
            Self::G2 => row("g2", "log-likelihood ratio statistic", "2 Σ O log(O/E) over the four fields", "Dunning 1993",
                Contrast, max, cell!(association::g2)),
            Self::Kl => row("kl", "Kullback–Leibler divergence of label from rest",
                "tpr log(tpr/fpr) + (1−tpr) log((1−tpr)/(1−fpr)), tpr = a/n_c, fpr = b/(n−n_c)", "Kullback & Leibler 1951",
                Contrast, max, cell!(information::kl)),
            Self::Woe => row("woe", "weight of evidence for text", "P(t) · |log( odds(c|t) / odds(c) )|",
                "Mladenić & Grobelnik 1999", Contrast, Some(Pool::Avg), cell!(information::woe)),
            Self::Lpr => row("lpr", "log probability ratio", "log( (a/n_c) / (b/(n−n_c)) )",
                "Mladenić & Grobelnik 1999; Forman 2003", Contrast, max, cell!(odds::log_ratio)),
            Self::Slpr => row("slpr", "smoothed log probability ratio", "log( (a/n_c + 1/n) / (b/(n−n_c) + 1/n) )",
                "Wiener, Pedersen & Weigend 1995; Wang & Manning 2012", Contrast, max, cell!(odds::smoothed_ratio)),
            Self::Rs => row("rs", "relevancy score", "log( (a/n_c + 1/6) / (b/(n−n_c) + 1/6) )",
                "Wiener, Pedersen & Weigend 1995; Sebastiani 2002", Contrast, max, cell!(odds::rs)),
            Self::Dia => row("dia", "DIA association factor", "P(c|t) = a / df", "Fuhr et al. 1991; Sebastiani 2002", Contrast, max,
                cell!(frequency::dia)),
            Self::Dfs => row("dfs", "distinguishing feature selector", "P(c|t) / (P(t̄|c) + P(t|c̄) + 1)", "Uysal & Gunal 2012",
                Contrast, Some(Pool::Sum), cell!(frequency::dfs)),
            Self::Rf => row("rf", "relevance frequency", "log₂( 2 + a / max(1, b) )", "Lan, Tan, Su & Lu 2009", Contrast, max,
                cell!(odds::rf)),
            Self::Power => row("power", "power", "(1−fpr)⁵ − (1−tpr)⁵", "Forman 2003", Contrast, max, cell!(separation::power)),
            Self::Oddn => row("oddn", "odds ratio numerator", "tpr · (1−fpr)", "Forman 2003", Contrast, max, cell!(odds::oddn)),
            Self::Fisher => row("fisher", "Fisher's discriminant", "J/(1+J), J = (tpr−fpr)² / (tpr(1−tpr) + fpr(1−fpr))",
                "Chakrabarti et al. 1998", Contrast, max, cell!(association::fisher)),
        }
    }

    /// Whether the formula gives a score for each label, to be pooled or kept.
    pub fn is_per_label(self) -> bool {
        matches!(self.spec().function, Function::Cell { .. } | Function::Wfo(_))
    }

    /// The score of one cell; `None` for formulas that need the whole row. `wfo` with λ to be learned is taken at ½.
    pub fn of_cell(self, cell: Cell) -> Option<f64> {
        match self.spec().function {
            Function::Cell { one, .. } => Some(one(cell)),
            Function::Wfo(Lambda::Fixed(lambda)) => Some(odds::wfo(lambda, cell)),
            Function::Wfo(Lambda::Auto) => Some(odds::wfo(0.5, cell)),
            Function::Frequency | Function::Parts { .. } | Function::Pairs(_) => None,
        }
    }
}

/// A selector score: a formula, and for formulas on one cell how labels are pooled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    formula: Formula,
    pool: Option<Pool>,
}

impl Score {
    /// A formula with its pool; `None` takes the formula's own (and for formulas on the whole row is the only choice).
    pub fn new(formula: Formula, pool: Option<Pool>) -> Result<Self> {
        let spec = formula.spec();
        if let Formula::Wfo(Lambda::Fixed(lambda)) = formula
            && !(0.0..=1.0).contains(&lambda)
        {
            return Err(Error::invalid("λ of wfo", lambda, LAMBDA_RANGE));
        }
        if let Formula::Ib(prior) = formula {
            prior.check()?;
        }
        let pool = match (formula.is_per_label(), pool) {
            (true, Some(pool)) => Some(pool),
            (true, None) if spec.bare.is_some() => spec.bare,
            (false, None) => None,
            (true, None) => {
                return Err(Error::invalid(spec.name, "no pool", "say how labels are pooled: max, avg or sum"));
            }
            (false, Some(pool)) => {
                return Err(Error::invalid(
                    spec.name,
                    pool.suffix(),
                    "is one score for all labels and cannot be pooled",
                ));
            }
        };
        Ok(Self { formula, pool })
    }

    /// The formula.
    pub fn formula(self) -> Formula {
        self.formula
    }

    /// How labels are pooled; `None` for formulas on the whole row.
    pub fn pool(self) -> Option<Pool> {
        self.pool
    }

    /// The name before any parameter, such as `chi2max` or `wfo`.
    pub fn name(self) -> String {
        let spec = self.formula.spec();
        match self.pool {
            Some(pool) if spec.bare != Some(pool) => format!("{}{}", spec.name, pool.suffix()),
            _ => spec.name.to_owned(),
        }
    }

    /// Every score there is, each formula with each of its pools; `wfo` stands with λ still to be learned.
    pub fn all() -> impl Iterator<Item = Self> {
        Formula::ALL.into_iter().flat_map(|formula| {
            let pools: &[Option<Pool>] =
                if formula.is_per_label() { &[Some(Pool::Max), Some(Pool::Avg), Some(Pool::Sum)] } else { &[None] };
            pools.iter().map(move |&pool| Self { formula, pool })
        })
    }

    /// The same with λ set, when it is `wfo(auto)`.
    pub(crate) fn with_lambda(self, lambda: f64) -> Self {
        match self.formula {
            Formula::Wfo(Lambda::Auto) => Self { formula: Formula::Wfo(Lambda::Fixed(lambda)), ..self },
            _ => self,
        }
    }
}

pub(crate) const LAMBDA_RANGE: &str = "λ must lie between 0 (ratio only) and 1 (frequency only)";

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        match self.formula {
            Formula::Wfo(lambda) => write!(f, "({lambda})"),
            Formula::Ib(WordPrior::Weight(m)) => write!(f, "({m})"),
            _ => Ok(()),
        }
    }
}

/// By its name; `wfo`, which has a parameter, is no score by itself here.
impl FromStr for Score {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = || Self::all().filter(|score| !matches!(score.formula, Formula::Wfo(_)));
        named().find(|score| score.name() == text).ok_or_else(|| {
            let names: Vec<String> = named().map(Self::name).collect();
            Error::unknown("score", text, names.iter().map(String::as_str))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_row_is_complete_and_every_name_is_its_own() {
        let mut names = HashSet::new();
        for formula in Formula::ALL {
            let spec = formula.spec();
            assert!(!spec.what.is_empty() && !spec.formula.is_empty() && !spec.source.is_empty(), "{}", spec.name);
            assert!(spec.bare.is_none() || formula.is_per_label(), "{}", spec.name);
        }
        for score in Score::all() {
            assert!(names.insert(score.name()), "two scores are called {}", score.name());
        }
        for named in "df ig ig-presence chi2max chi2avg mimax miavg bns wllr wfo or ib gini acc2 f1 ngl gss".split(' ')
        {
            assert!(names.contains(named), "{named} is missing");
        }
    }

    #[test]
    fn scores_that_make_no_sense_are_refused() {
        assert!(Score::new(Formula::Chi2, None).is_err());
        assert!(Score::new(Formula::Ig, Some(Pool::Max)).is_err());
        assert!(Score::new(Formula::Wfo(Lambda::Fixed(1.5)), None).is_err());
        assert!(Score::new(Formula::Wfo(Lambda::Fixed(f64::NAN)), None).is_err());
        assert_eq!(Score::new(Formula::Bns, None).expect("max is its own").to_string(), "bns");
        assert_eq!(Score::new(Formula::Gini, None).expect("sum is its own").pool(), Some(Pool::Sum));
    }
}
