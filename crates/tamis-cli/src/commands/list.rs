//! `tamis list`: what there is to choose from.

use tamis::registry::List;

use crate::global::Global;
use crate::output::{self, Rows, print_rows};

/// List what can be named, with its meaning, formula and source: formats, selectors, classifiers, measures …
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to list: formats, selectors, combinations, searches, classifiers, thresholds, methods, measures, stop-words or
    /// stemmers.
    #[arg(value_name = "WHAT", value_parser = str::parse::<List>)]
    what: List,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: output::Format,
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
