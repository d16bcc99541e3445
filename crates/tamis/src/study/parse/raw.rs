//! A plan file as TOML gives it, with the place of everything that can be wrong.

use serde::Deserialize;
use toml::Spanned;

use crate::features::Size;
use crate::measure::simulation::SimulationOptions;
use crate::study::pipelines::Pipelines;
use crate::study::plan::TestPlan;
use crate::terms::{Digits, Words};

pub(super) type Strings = Spanned<Vec<Spanned<String>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) name: Spanned<String>,
    pub(super) title: Option<String>,
    pub(super) paper: Option<String>,
    #[serde(default)]
    pub(super) about: String,
    pub(super) seed: Option<u64>,
    pub(super) corpus: Option<RawCorpus>,
    pub(super) splits: Option<RawSplits>,
    pub(super) selectors: Option<Spanned<RawSelectors>>,
    pub(super) sizes: Option<RawSizes>,
    pub(super) baseline: Option<RawBaseline>,
    pub(super) classifiers: Option<RawList>,
    pub(super) thresholds: Option<RawThresholds>,
    pub(super) measures: Option<RawMeasures>,
    pub(super) search: Option<RawSearch>,
    pub(super) lambda: Option<Spanned<RawLambda>>,
    pub(super) profile: Option<RawProfile>,
    pub(super) simulation: Option<Spanned<SimulationOptions>>,
    pub(super) pipelines: Option<Spanned<Pipelines>>,
    pub(super) tests: Option<Spanned<TestPlan>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCorpus {
    pub(super) default: Option<String>,
    pub(super) words: Option<Words>,
    pub(super) lowercase: Option<bool>,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) digits: Option<Digits>,
    pub(super) stop_words: Option<Spanned<String>>,
    pub(super) stem: Option<Spanned<String>>,
    pub(super) ngrams: Option<usize>,
    pub(super) char_ngrams: Option<(usize, usize)>,
    pub(super) html: Option<crate::terms::Html>,
    pub(super) terms: Option<Spanned<String>>,
    pub(super) labels: Option<Vec<String>>,
    pub(super) single_label: Option<bool>,
    pub(super) min_documents: Option<u32>,
    pub(super) labelled: Option<bool>,
    pub(super) per_label: Option<u32>,
    pub(super) min_occurrences: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSplits {
    pub(super) how: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSelectors {
    pub(super) list: Option<Strings>,
    pub(super) combine: Option<Strings>,
    pub(super) of: Option<Strings>,
    pub(super) arity: Option<Spanned<Vec<usize>>>,
    pub(super) cuts: Option<Vec<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSizes {
    pub(super) at: Spanned<Vec<Spanned<Size>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBaseline {
    pub(super) selector: Spanned<String>,
    pub(super) size: Size,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawList {
    pub(super) list: Strings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawThresholds {
    pub(super) list: Strings,
    pub(super) folds: Option<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMeasures {
    pub(super) list: Strings,
    #[serde(default)]
    pub(super) documents: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSearch {
    pub(super) swings: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLambda {
    pub(super) grid: Option<Vec<f64>>,
    pub(super) folds: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProfile {
    pub(super) top: Spanned<f64>,
    pub(super) scores: Strings,
}
