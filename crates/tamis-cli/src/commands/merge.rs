//! `tamis merge`: counts of parts → counts of the whole.

use std::path::PathBuf;

use tamis::counts::CountsFile;

/// Add up counts of parts; the result is, byte for byte, the counts of the whole.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files written by `tamis count`.
    #[arg(required = true, value_name = "COUNTS")]
    parts: Vec<PathBuf>,
    /// File to write.
    #[arg(short, long, value_name = "COUNTS")]
    output: PathBuf,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let mut whole: Option<CountsFile> = None;
    for path in &args.parts {
        let part = CountsFile::read(path)?;
        whole = Some(match whole {
            None => part,
            Some(so_far) => {
                so_far.merge(&part).map_err(|e| anyhow::Error::from(e).context(path.display().to_string()))?
            }
        });
    }
    if let Some(whole) = whole {
        whole.write(&args.output)?;
    }
    Ok(())
}
