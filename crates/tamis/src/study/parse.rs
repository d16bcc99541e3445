//! Plan files: TOML → [`Plan`], with errors that name key and line.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;

use super::generate::{Generator, combination};
use super::keep::Keep;
use super::pipelines::Pipelines;
use super::plan::{Baseline, CorpusPlan, Grid, Plan, Profile, Size, TestPlan, TextPlan, Work};
use crate::corpus::{Digits, Words};
use crate::features::{LambdaOptions, Selector};
use crate::measure::simulation::SimulationOptions;
use crate::{Error, Result};

type Strings = Spanned<Vec<Spanned<String>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Spanned<String>,
    title: Option<String>,
    paper: Option<String>,
    #[serde(default)]
    about: String,
    seed: Option<u64>,
    corpus: Option<RawCorpus>,
    splits: Option<RawSplits>,
    selectors: Option<Spanned<RawSelectors>>,
    sizes: Option<RawSizes>,
    baseline: Option<RawBaseline>,
    classifiers: Option<RawList>,
    thresholds: Option<RawThresholds>,
    measures: Option<RawMeasures>,
    search: Option<RawSearch>,
    lambda: Option<Spanned<RawLambda>>,
    profile: Option<RawProfile>,
    simulation: Option<Spanned<SimulationOptions>>,
    pipelines: Option<Spanned<Pipelines>>,
    tests: Option<Spanned<TestPlan>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCorpus {
    default: Option<String>,
    words: Option<Words>,
    lowercase: Option<bool>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    digits: Option<Digits>,
    stop_words: Option<Spanned<String>>,
    stem: Option<Spanned<String>>,
    ngrams: Option<usize>,
    labels: Option<Vec<String>>,
    single_label: Option<bool>,
    min_documents: Option<u32>,
    labelled: Option<bool>,
    per_label: Option<u32>,
    min_occurrences: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSplits {
    how: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSelectors {
    list: Option<Strings>,
    combine: Option<Strings>,
    of: Option<Strings>,
    arity: Option<Spanned<Vec<usize>>>,
    cuts: Option<Vec<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSizes {
    at: Spanned<Vec<Spanned<Size>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBaseline {
    selector: Spanned<String>,
    size: Size,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawList {
    list: Strings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawThresholds {
    list: Strings,
    folds: Option<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMeasures {
    list: Strings,
    #[serde(default)]
    documents: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSearch {
    swings: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLambda {
    grid: Option<Vec<f64>>,
    folds: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    top: Spanned<f64>,
    scores: Strings,
}

/// A plan file, so that errors can say where.
struct Source<'a> {
    path: PathBuf,
    text: &'a str,
}

impl Source<'_> {
    /// An error at a place of the text; `key` is what the user wrote there.
    fn error(&self, span: Range<usize>, key: &str, reason: impl std::fmt::Display) -> Error {
        Error::malformed(&self.path, self.line(span.start), format!("{key}: {reason}"))
    }

    fn line(&self, at: usize) -> u64 {
        1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|b| **b == b'\n').count() as u64
    }

    /// What the TOML reader says, with the key it is about: the one written before the place, under its heading.
    fn of_toml(&self, error: &toml::de::Error) -> Error {
        let Some(span) = error.span() else { return Error::malformed_file(&self.path, error.message()) };
        match self.key_at(span.start) {
            Some(key) => self.error(span, &key, error.message()),
            None => Error::malformed(&self.path, self.line(span.start), error.message()),
        }
    }

    fn key_at(&self, at: usize) -> Option<String> {
        // The line of the place belongs to it as a whole, so that an unknown key is found as well as a bad value.
        let end = self.text[at.min(self.text.len())..].find('\n').map_or(self.text.len(), |n| at + n);
        let mut key = None;
        for line in self.text[..end].lines().rev() {
            let line = line.trim();
            if let Some(heading) = line.strip_prefix('[').and_then(|l| l.split(']').next()) {
                return Some(key.map_or_else(|| heading.to_owned(), |key: &str| format!("{heading}.{key}")));
            }
            if let (None, Some((before, _))) = (key, line.split_once('='))
                && !before.starts_with('#')
            {
                key = Some(before.trim());
            }
        }
        key.map(str::to_owned)
    }

    fn parse<T: FromStr<Err = Error>>(&self, key: &str, value: &Spanned<String>) -> Result<T> {
        value.get_ref().parse().map_err(|e| self.error(value.span(), key, e))
    }

    /// A list of names, not empty and without repetition.
    fn list<T: FromStr<Err = Error> + PartialEq>(&self, key: &str, values: &Strings) -> Result<Vec<T>> {
        let mut list: Vec<T> = Vec::new();
        for value in values.get_ref() {
            let item = self.parse(key, value)?;
            if list.contains(&item) {
                return Err(self.error(value.span(), key, format!("{:?} is listed twice", value.get_ref())));
            }
            list.push(item);
        }
        if list.is_empty() {
            return Err(self.error(values.span(), key, "at least one is needed"));
        }
        Ok(list)
    }

    fn missing(&self, section: &str) -> Error {
        Error::malformed_file(
            &self.path,
            format!("there is no [{section}]; a plan needs it, unless it has [simulation] or [pipelines]"),
        )
    }
}

impl Plan {
    /// Reads a plan. `path` is what errors call it.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self> {
        let source = Source { path: path.as_ref().to_owned(), text };
        let raw: Raw = toml::from_str(text).map_err(|e| source.of_toml(&e))?;
        let name = raw.name.get_ref();
        if name.is_empty() || name.contains(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))) {
            return Err(source.error(
                raw.name.span(),
                "name",
                "must be letters, digits and -_. only: files are named after it",
            ));
        }
        let tests = match raw.tests {
            None => TestPlan::default(),
            Some(tests) => {
                let span = tests.span();
                let tests = tests.into_inner();
                tests.resampling().check().map_err(|e| source.error(span.clone(), "tests", e))?;
                if tests.methods < 2 {
                    return Err(source.error(span, "tests.methods", "at least two are compared"));
                }
                tests
            }
        };
        let corpus = raw.corpus.map(|c| corpus_plan(&source, c)).transpose()?.unwrap_or_default();
        let work = if let Some(simulation) = raw.simulation {
            if raw.splits.is_some() || raw.selectors.is_some() || raw.measures.is_some() {
                return Err(source.error(
                    simulation.span(),
                    "simulation",
                    "a simulation has no corpus: [splits], [selectors] and [measures] do not go with it",
                ));
            }
            let span = simulation.span();
            let options = simulation.into_inner();
            options.check().map_err(|e| source.error(span, "simulation", e))?;
            Work::Simulation(options)
        } else if let Some(pipelines) = raw.pipelines {
            let span = pipelines.span();
            let pipelines = pipelines.into_inner();
            pipelines.check().map_err(|(key, reason)| source.error(span, key, reason))?;
            Work::Pipelines(Box::new(pipelines))
        } else {
            let parts = GridParts {
                splits: raw.splits.ok_or_else(|| source.missing("splits"))?,
                selectors: raw.selectors.ok_or_else(|| source.missing("selectors"))?,
                sizes: raw.sizes.ok_or_else(|| source.missing("sizes"))?,
                classifiers: raw.classifiers.ok_or_else(|| source.missing("classifiers"))?,
                measures: raw.measures.ok_or_else(|| source.missing("measures"))?,
                baseline: raw.baseline,
                thresholds: raw.thresholds,
                search: raw.search,
                lambda: raw.lambda,
                profile: raw.profile,
            };
            Work::Grid(Box::new(grid(&source, parts)?))
        };
        Ok(Self {
            title: raw.title.unwrap_or_else(|| name.clone()),
            name: raw.name.into_inner(),
            paper: raw.paper,
            about: raw.about.trim().to_owned(),
            seed: raw.seed,
            corpus,
            work,
            tests,
        })
    }

    /// Reads a plan with some values replaced: each change is `key.key=value`, the value as in TOML; text that is no TOML
    /// value stands for itself. Returns the plan and its text.
    pub fn parse_with(text: &str, path: impl AsRef<Path>, changes: &[String]) -> Result<(Self, String)> {
        if changes.is_empty() {
            return Ok((Self::parse(text, path)?, text.to_owned()));
        }
        let path = path.as_ref();
        // The plan must be right by itself, so that its errors name lines of its own file.
        Self::parse(text, path)?;
        let source = Source { path: path.to_owned(), text };
        let mut table: toml::Table = toml::from_str(text).map_err(|e| source.of_toml(&e))?;
        for change in changes {
            let (key, value) = change
                .split_once('=')
                .ok_or_else(|| Error::invalid("--set", change, "expected key=value, such as splits.how=given"))?;
            set(&mut table, key.trim(), value.trim()).map_err(|reason| Error::invalid("--set", change, reason))?;
        }
        let text = toml::to_string(&table).map_err(|e| Error::invalid("--set", changes.join(" "), e.to_string()))?;
        let plan = Self::parse(&text, format!("{} with --set", path.display()))?;
        Ok((plan, text))
    }
}

fn set(table: &mut toml::Table, key: &str, value: &str) -> std::result::Result<(), String> {
    let parsed = toml::from_str::<toml::Table>(&format!("v = {value}")).ok().and_then(|mut t| t.remove("v"));
    let value = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let (sections, last) = key.rsplit_once('.').map_or((None, key), |(s, l)| (Some(s), l));
    let mut place = table;
    for section in sections.into_iter().flat_map(|s| s.split('.')) {
        let entry = place.entry(section).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        place = entry.as_table_mut().ok_or_else(|| format!("{section} is no section"))?;
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

fn corpus_plan(source: &Source<'_>, raw: RawCorpus) -> Result<CorpusPlan> {
    let usual = TextPlan::default();
    let language = |name: &Option<Spanned<String>>| name.as_ref().map(|s| s.get_ref().clone());
    let text = TextPlan {
        words: raw.words.unwrap_or(usual.words),
        lowercase: raw.lowercase.unwrap_or(usual.lowercase),
        min_length: raw.min_length.unwrap_or(usual.min_length),
        max_length: raw.max_length.unwrap_or(usual.max_length),
        digits: raw.digits.unwrap_or(usual.digits),
        stop_words: language(&raw.stop_words),
        stem: language(&raw.stem),
        ngrams: raw.ngrams.unwrap_or(usual.ngrams),
    };
    let named = [(&raw.stop_words, "corpus.stop_words"), (&raw.stem, "corpus.stem")];
    text.options().map_err(|e| match named.iter().find_map(|(value, key)| Some((value.as_ref()?.span(), *key))) {
        Some((span, key)) => source.error(span, key, e),
        None => Error::malformed_file(&source.path, format!("corpus: {e}")),
    })?;
    let keep = Keep {
        labels: raw.labels.unwrap_or_default(),
        single_label: raw.single_label.unwrap_or_default(),
        min_documents: raw.min_documents.unwrap_or_default(),
        labelled: raw.labelled.unwrap_or_default(),
        per_label: raw.per_label.unwrap_or_default(),
        min_occurrences: raw.min_occurrences.unwrap_or_default(),
    };
    Ok(CorpusPlan { default: raw.default, text, keep })
}

struct GridParts {
    splits: RawSplits,
    selectors: Spanned<RawSelectors>,
    sizes: RawSizes,
    classifiers: RawList,
    measures: RawMeasures,
    baseline: Option<RawBaseline>,
    thresholds: Option<RawThresholds>,
    search: Option<RawSearch>,
    lambda: Option<Spanned<RawLambda>>,
    profile: Option<RawProfile>,
}

fn grid(source: &Source<'_>, raw: GridParts) -> Result<Grid> {
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

fn selectors(source: &Source<'_>, raw: &Spanned<RawSelectors>) -> Result<Vec<Selector>> {
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

fn sizes(source: &Source<'_>, raw: &Spanned<Vec<Spanned<Size>>>) -> Result<Vec<Size>> {
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

fn lambda(source: &Source<'_>, raw: Option<Spanned<RawLambda>>) -> Result<LambdaOptions> {
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

fn profile(source: &Source<'_>, raw: &RawProfile) -> Result<Profile> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
name = "small"

[splits]
how = "random(0.5,2)"

[selectors]
list = ["df", "ig"]

[sizes]
at = [10, "all"]

[classifiers]
list = ["knn"]

[measures]
list = ["RPrec"]
"#;

    fn error(text: &str) -> String {
        Plan::parse(text, "p.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_small_plan() {
        let plan = Plan::parse(SMALL, "p.toml").unwrap();
        let grid = plan.grid().unwrap();
        assert_eq!((plan.title.as_str(), plan.seed), ("small", None));
        assert_eq!(grid.sizes, [Size::Top(10), Size::All]);
        assert_eq!(grid.thresholds.len(), 1);
        assert_eq!(plan.essence(1), Plan::parse(&SMALL.replace("small", "other"), "q").unwrap().essence(1));
        assert_ne!(plan.essence(1), plan.essence(2));
    }

    #[test]
    fn errors_name_key_and_line() {
        let cases = [
            ("\"ig\"", "\"igg\"", "p.toml:8: selectors.list: unknown selector \"igg\""),
            ("\"RPrec\"", "\"RPerc\"", "p.toml:17: measures.list: unknown measure \"RPerc\""),
            ("\"knn\"", "\"kn\"", "p.toml:14: classifiers.list: unknown classifier \"kn\""),
            ("10, \"all\"", "10, 5", "p.toml:11: sizes.at: sizes must ascend"),
            ("10, \"all\"", "0", "p.toml:11: sizes.at: a size is at least 1"),
            ("10, \"all\"", "", "p.toml:11: sizes.at: at least one size"),
            ("random(0.5,2)", "random(2)", "p.toml:5: splits.how: expected the share"),
            ("list = [\"df\"", "lost = [\"df\"", "p.toml:8: selectors.lost: unknown field `lost`"),
            ("[sizes]", "[size]", "p.toml:10: size: unknown field `size`"),
            ("list = [\"RPrec\"]", "list = 3", "p.toml:17: measures.list: invalid type"),
            ("\"RPrec\"", "\"F1@micro\"", "p.toml:17: measures.list: F1@micro is about decided labels"),
            ("\"RPrec\"", "\"hF1\"", "p.toml:17: measures.list: hF1 needs a taxonomy"),
            ("\"df\", \"ig\"", "\"df\", \"df\"", "p.toml:8: selectors.list: \"df\" is listed twice"),
            ("name = \"small\"", "name = \"a/b\"", "p.toml:2: name: must be letters"),
        ];
        for (from, to, expected) in cases {
            let found = error(&SMALL.replace(from, to));
            assert!(found.starts_with(expected), "{found}\n  instead of {expected}");
        }
        assert!(error("name = \"x\"").contains("there is no [splits]"));
        assert!(error("name = ").starts_with("p.toml:1"));
    }

    #[test]
    fn changes_from_the_command_line() {
        let set = |changes: &[&str]| {
            let changes: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
            Plan::parse_with(SMALL, "p.toml", &changes)
        };
        let (plan, text) = set(&["splits.how=given", "sizes.at=[7]", "corpus.labels=[\"a\"]"]).unwrap();
        assert_eq!(plan.grid().unwrap().sizes, [Size::Top(7)]);
        assert_eq!(plan.corpus.keep.labels, ["a"]);
        assert_eq!(Plan::parse(&text, "x").unwrap(), plan);
        assert!(set(&["sizes.at=[0]"]).unwrap_err().to_string().contains("p.toml with --set:"));
        assert!(set(&["sizes"]).is_err());
        assert!(set(&["name.x=1"]).unwrap_err().to_string().contains("name is no section"));
    }

    #[test]
    fn simulations_have_no_corpus() {
        let plan = Plan::parse("name = \"s\"\n[simulation]\nsets = 5\n", "p").unwrap();
        assert!(matches!(plan.work, Work::Simulation(SimulationOptions { sets: 5, .. })));
        assert!(error("name = \"s\"\n[simulation]\nsets = 0\n").contains("p.toml:2: simulation: sets = 0"));
        assert!(error(&format!("{SMALL}\n[simulation]\n")).contains("do not go with it"));
    }
}
