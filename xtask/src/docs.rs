//! `cargo xtask docs`: pages made from the code, so that they cannot go stale unseen.

use anyhow::{Context, Result, bail};

use crate::run::{capture, cargo, root};

/// Each page: file, what it is, and the command that prints its body.
const PAGES: &[(&str, &str, &[&str])] = &[];

fn page(title: &str, command: &[&str]) -> Result<String> {
    let body = capture(cargo().args(["run", "--quiet", "--package", "tamis-cli", "--"]).args(command))?;
    Ok(format!("# {title}\n\nMade by `cargo xtask docs` from `tamis {}`; do not edit.\n\n{body}", command.join(" ")))
}

/// Writes all pages.
pub(crate) fn write() -> Result<()> {
    for (file, title, command) in PAGES {
        std::fs::write(root().join(file), page(title, command)?).with_context(|| (*file).to_owned())?;
    }
    Ok(())
}

/// Fails when a page is not what the code says.
pub(crate) fn check() -> Result<()> {
    for (file, title, command) in PAGES {
        if std::fs::read_to_string(root().join(file)).unwrap_or_default() != page(title, command)? {
            bail!("{file} is stale: run `cargo xtask docs`");
        }
    }
    Ok(())
}
