//! `tamis list`: what there is to choose from.

use clap::ValueEnum;
use tamis::classify::ClassifierSpec;
use tamis::corpus::Format;
use tamis::features::{Combination, Score};
use tamis::measure::Measure;
use tamis::terms::{stemmers, stop_word_languages};
use tamis::threshold::Threshold;

use crate::global::Global;
use crate::output::{self, Rows, print_rows};

/// List what can be named: formats, selectors, classifiers, measures …
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to list.
    #[arg(value_enum)]
    what: What,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: output::Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Corpus formats.
    Formats,
    /// Selectors, for --by.
    Selectors,
    /// Ways to combine selectors.
    Combinations,
    /// Classifiers.
    Classifiers,
    /// Ways to decide labels.
    Thresholds,
    /// Measures of quality.
    Measures,
    /// Languages with a stop-word list.
    StopWords,
    /// Snowball stemmers.
    Stemmers,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let rows = match args.what {
        What::Formats => {
            let mut rows = Rows::new(["name", "endings", "written", "description"]);
            for spec in Format::ALL.map(Format::spec) {
                let written = if spec.written { "yes" } else { "" };
                rows.push([spec.name, &spec.endings.join(" "), written, spec.description]);
            }
            rows
        }
        What::Selectors => {
            let mut rows = Rows::new(["name", "what", "formula", "source"]);
            for score in Score::all() {
                let spec = score.formula().spec();
                // The only parameter there is; the name alone does not parse.
                let parameter = if score.to_string() == score.name() { "" } else { "(λ)" };
                rows.push([&format!("{}{parameter}", score.name()), spec.title, spec.formula, spec.source]);
            }
            rows
        }
        What::Combinations => {
            let mut rows = Rows::new(["name", "rule", "source"]);
            for spec in Combination::ALL.map(Combination::spec) {
                rows.push([spec.name, spec.rule, spec.source]);
            }
            rows
        }
        What::Classifiers => {
            let mut rows = Rows::new(["name", "example", "what", "source"]);
            for row in ClassifierSpec::ROWS {
                rows.push([row.name, row.example, row.help, row.source]);
            }
            rows
        }
        What::Thresholds => {
            let mut rows = Rows::new(["name", "example", "what", "source"]);
            for row in Threshold::registry() {
                rows.push([row.name, row.example, row.help, row.source]);
            }
            rows
        }
        What::Measures => {
            let mut rows = Rows::new(["name", "what", "better"]);
            for spec in Measure::registry() {
                rows.push([spec.name, spec.help, if spec.higher_is_better { "higher" } else { "lower" }]);
            }
            rows
        }
        What::StopWords => single("language", stop_word_languages()),
        What::Stemmers => single("stemmer", stemmers()),
    };
    if args.format == output::Format::Json {
        return output::print_json(&rows.objects());
    }
    print_rows(&rows, args.format, global)
}

fn single<'a>(header: &str, names: impl Iterator<Item = &'a str>) -> Rows {
    let mut rows = Rows::new([header]);
    names.for_each(|name| rows.push([name]));
    rows
}
