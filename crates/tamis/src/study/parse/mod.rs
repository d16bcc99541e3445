//! Plan files: TOML → [`Plan`], with errors that name key and line.

mod grid;
mod raw;
mod source;

use std::path::Path;

use toml::Spanned;

use self::grid::{GridParts, grid};
use self::raw::{Raw, RawCorpus};
use self::source::PlanText;
use super::keep::Keep;
use super::plan::{CorpusPlan, Plan, TestPlan, Work};
use crate::terms::{StopWords, TextChoices};
use crate::{Error, Result};

impl Plan {
    /// Reads a plan. `path` is what errors call it.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self> {
        let source = PlanText { path: path.as_ref().to_owned(), text };
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
            if raw.splits.is_some() || raw.selectors.is_some() || raw.measures.is_some() {
                return Err(source.error(
                    span,
                    "pipelines",
                    "pipelines have keys of their own: [splits], [selectors] and [measures] do not go with them",
                ));
            }
            pipelines.check().map_err(|(key, reason)| source.error(source.key_in(span, key), key, reason))?;
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
        let source = PlanText { path: path.to_owned(), text };
        let mut table: toml::Table = toml::from_str(text).map_err(|e| source.of_toml(&e))?;
        for change in changes {
            let (key, value) = change
                .split_once('=')
                .ok_or_else(|| Error::invalid("set", change, "expected key=value, such as splits.how=given"))?;
            set(&mut table, key.trim(), value.trim()).map_err(|reason| Error::invalid("set", change, reason))?;
        }
        let text = toml::to_string(&table).map_err(|e| Error::invalid("set", changes.join(" "), e.to_string()))?;
        let plan = Self::parse(&text, format!("{} with the option `set`", path.display()))?;
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

fn corpus_plan(source: &PlanText<'_>, raw: RawCorpus) -> Result<CorpusPlan> {
    let written = |value: &Option<Spanned<String>>| value.as_ref().map(|s| s.get_ref().clone());
    let text = TextChoices {
        terms: written(&raw.terms),
        words: raw.words,
        lowercase: raw.lowercase,
        min_length: raw.min_length,
        max_length: raw.max_length,
        digits: raw.digits,
        stop_words: written(&raw.stop_words).map(StopWords::Named),
        stem: written(&raw.stem),
        ngrams: raw.ngrams,
        char_ngrams: raw.char_ngrams,
        language: None,
        html: raw.html,
    };
    let named = [(&raw.terms, "corpus.terms"), (&raw.stop_words, "corpus.stop_words"), (&raw.stem, "corpus.stem")];
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
#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Size;
    use crate::measure::simulation::SimulationOptions;

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
        assert!(set(&["sizes.at=[0]"]).unwrap_err().to_string().contains("p.toml with the option `set`:"));
        assert!(set(&["sizes"]).is_err());
        assert!(set(&["name.x=1"]).unwrap_err().to_string().contains("name is no section"));
    }

    #[test]
    fn pipelines_are_checked() {
        let with = |line: &str| format!("name = \"p\"\n[corpus]\nlabelled = true\n[pipelines]\ndepth = 3\n{line}\n");
        let plan = Plan::parse(&with("methods = [\"tsa\"]"), "p").unwrap();
        assert!(plan.needs_taxonomy() && matches!(&plan.work, Work::Pipelines(p) if p.depth == 3));
        for (line, expected) in [
            ("tsa_step = 0.0", "p.toml:6: pipelines.tsa_step: a step is above 0"),
            ("rbf_step = 1.5", "p.toml:6: pipelines.rbf_step: a step is above 0"),
            ("methods = []", "p.toml:6: pipelines.methods: at least one"),
            ("methods = [\"best\"]", "p.toml:6: pipelines.methods: "),
            ("imbalance = [-1]", "p.toml:6: pipelines.imbalance: exponents"),
            ("classifier = \"svm\"", "p.toml:6: pipelines.classifier: the scores of svm"),
            ("features = 0", "p.toml:6: pipelines.features: at least"),
            ("steps = 3", "p.toml:6: pipelines.steps: unknown field"),
            ("[splits]\nhow = \"given\"", "p.toml:4: pipelines: pipelines have keys of their own"),
        ] {
            let found = error(&with(line));
            assert!(found.starts_with(expected), "{found}\n  instead of {expected}");
        }
    }

    #[test]
    fn simulations_have_no_corpus() {
        let plan = Plan::parse("name = \"s\"\n[simulation]\nsets = 5\n", "p").unwrap();
        assert!(matches!(plan.work, Work::Simulation(SimulationOptions { sets: 5, .. })));
        assert!(error("name = \"s\"\n[simulation]\nsets = 0\n").contains("p.toml:2: simulation: sets = 0"));
        assert!(error(&format!("{SMALL}\n[simulation]\n")).contains("do not go with it"));
    }
}
