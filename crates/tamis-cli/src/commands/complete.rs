//! `tamis completions` and `tamis man`: made from the one definition of the command line.

use std::io::Write;
use std::path::PathBuf;

use clap::CommandFactory;

use crate::Cli;
use crate::output::stdout;

/// Print shell completions.
#[derive(clap::Args)]
pub(crate) struct CompletionArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn completions(args: CompletionArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tamis", &mut script);
    let mut out = stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(())
}

/// Write manual pages: `tamis.1` and one for each command.
#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// Folder to write to; it is made when missing.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn man(args: ManArgs) -> anyhow::Result<()> {
    std::fs::create_dir_all(&args.folder).map_err(|e| tamis::Error::io(&args.folder, e))?;
    clap_mangen::generate_to(Cli::command(), &args.folder).map_err(|e| tamis::Error::io(&args.folder, e))?;
    Ok(())
}
