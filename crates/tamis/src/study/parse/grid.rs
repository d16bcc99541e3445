//! Raw sections → [`Grid`].

use toml::Spanned;

use super::raw::{
    RawBaseline, RawLambda, RawList, RawMeasures, RawProfile, RawSearch, RawSelectors, RawSizes, RawSplits,
    RawThresholds, Strings,
};
use super::source::PlanText;
use crate::Result;
use crate::features::{LambdaOptions, Selector, Size};
use crate::study::generate::{Generator, combination};
use crate::study::plan::{Baseline, Grid, Profile};

pub(super) struct GridParts {
    pub(super) splits: RawSplits,
    pub(super) selectors: Spanned<RawSelectors>,
    pub(super) sizes: RawSizes,
    pub(super) classifiers: RawList,
    pub(super) measures: RawMeasures,
    pub(super) baseline: Option<RawBaseline>,
    pub(super) thresholds: Option<RawThresholds>,
    pub(super) search: Option<RawSearch>,
    pub(super) lambda: Option<Spanned<RawLambda>>,
    pub(super) profile: Option<RawProfile>,
}

pub(super) fn grid(source: &PlanText<'_>, raw: GridParts) -> Result<Grid> {
    let folds = match raw.thresholds.as_ref().and_then(|t| t.folds.as_ref()) {
        Some(folds) if *folds.get_ref() < 2 => {
            return Err(source.error(folds.span(), "thresholds.folds", "at least two folds are needed"));
        }
        Some(folds) => *folds.get_ref(),
        None => 5,
    };
    let thresholds = match &raw.thresholds {
        Some(thresholds) => source.list("thresholds.list", &thresholds.list)?,
        None => vec!["none".parse()?],
    };
    let measures_span = raw.measures.list.span();
    let grid = Grid {
        splits: source.parse("splits.how", &raw.splits.how)?,
        selectors: selectors(source, &raw.selectors)?,
        sizes: sizes(source, &raw.sizes.at)?,
        baseline: match raw.baseline {
            Some(RawBaseline { selector, size }) => {
                let selector: Selector = source.parse("baseline.selector", &selector)?;
                Some(Baseline { selector, size })
            }
            None => None,
        },
        classifiers: source.list("classifiers.list", &raw.classifiers.list)?,
        thresholds,
        folds,
        measures: source.list("measures.list", &raw.measures.list)?,
        documents: raw.measures.documents,
        swings: raw.search.and_then(|s| s.swings),
        lambda: lambda(source, raw.lambda)?,
        profile: raw.profile.map(|p| profile(source, &p)).transpose()?,
    };
    grid.check().map_err(|(key, reason)| source.error(measures_span, key, reason))?;
    Ok(grid)
}

fn selectors(source: &PlanText<'_>, raw: &Spanned<RawSelectors>) -> Result<Vec<Selector>> {
    let RawSelectors { list, combine, of, arity, cuts } = raw.get_ref();
    let names = |key: &str, values: &Option<Strings>| -> Result<Vec<Selector>> {
        values.as_ref().map_or(Ok(Vec::new()), |values| source.list(key, values))
    };
    let mut ways = Vec::new();
    for name in combine.iter().flat_map(Spanned::get_ref) {
        let way = combination(name.get_ref()).map_err(|e| source.error(name.span(), "selectors.combine", e))?;
        ways.push(way);
    }
    let (span, arity) = match arity {
        Some(arity) => (arity.span(), arity.get_ref().clone()),
        None if ways.is_empty() => (raw.span(), Vec::new()),
        None => (raw.span(), vec![2]),
    };
    let generator = Generator {
        list: names("selectors.list", list)?,
        combine: ways,
        of: names("selectors.of", of)?,
        arity,
        cuts: cuts.clone().unwrap_or_default(),
    };
    let selectors = generator.selectors().map_err(|e| source.error(span, "selectors", e))?;
    if selectors.is_empty() {
        return Err(source.error(raw.span(), "selectors", "no selector: give list, or combine with of"));
    }
    Ok(selectors)
}

fn sizes(source: &PlanText<'_>, raw: &Spanned<Vec<Spanned<Size>>>) -> Result<Vec<Size>> {
    let sizes: Vec<Size> = raw.get_ref().iter().map(|s| *s.get_ref()).collect();
    if sizes.is_empty() {
        return Err(source.error(raw.span(), "sizes.at", "at least one size is needed"));
    }
    if let Some(i) = (1..sizes.len()).find(|&i| sizes[i] <= sizes[i - 1]) {
        let reason = format!("sizes must ascend, with \"all\" last, but {} follows {}", sizes[i], sizes[i - 1]);
        return Err(source.error(raw.get_ref()[i].span(), "sizes.at", reason));
    }
    Ok(sizes)
}

fn lambda(source: &PlanText<'_>, raw: Option<Spanned<RawLambda>>) -> Result<LambdaOptions> {
    let usual = LambdaOptions::default();
    let Some(raw) = raw else { return Ok(usual) };
    let span = raw.span();
    let RawLambda { grid, folds } = raw.into_inner();
    let options = LambdaOptions { grid: grid.unwrap_or(usual.grid), folds: folds.unwrap_or(usual.folds), ..usual };
    if options.grid.is_empty() || options.grid.iter().any(|l| !(0.0..=1.0).contains(l)) {
        return Err(source.error(span, "lambda.grid", "values from 0 to 1 are tried, at least one"));
    }
    if options.folds < 2 {
        return Err(source.error(span, "lambda.folds", "at least two folds are needed"));
    }
    Ok(options)
}

fn profile(source: &PlanText<'_>, raw: &RawProfile) -> Result<Profile> {
    let top = *raw.top.get_ref();
    if !(top > 0.0 && top <= 1.0) {
        return Err(source.error(raw.top.span(), "profile.top", "must be a share of the terms, above 0 and at most 1"));
    }
    let scores: Vec<Selector> = source.list("profile.scores", &raw.scores)?;
    if let Some(bad) = scores.iter().position(|s| s.as_search().is_some() || s.has_auto()) {
        let span = raw.scores.get_ref()[bad].span();
        return Err(source.error(span, "profile.scores", format!("{} has no score to average", scores[bad])));
    }
    Ok(Profile { top, scores })
}
