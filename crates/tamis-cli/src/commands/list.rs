//! `tamis list`: what there is to choose from.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tamis::registry::List;

use crate::global::Global;
use crate::output::{self, Rows, print_rows};

/// List what can be named, with its meaning, formula and source: formats, selectors, classifiers, measures …
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to list.
    #[arg(value_parser = lists())]
    what: List,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: output::Format,
}

/// The names, known to help and completions.
fn lists() -> impl TypedValueParser<Value = List> {
    PossibleValuesParser::new(List::ALL.iter().map(|list| list.name())).try_map(|name| name.parse::<List>())
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let table = args.what.table();
    let mut rows = Rows::new(table.columns);
    table.rows.into_iter().for_each(|row| rows.push(row));
    if args.format == output::Format::Json {
        return output::print_json(&rows.objects());
    }
    print_rows(&rows, args.format, global)
}
