//! `cargo xtask wheel`: the Python package as a wheel.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{check, python, root};

/// How the Rust part is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As the tests are: shares what they compiled.
    Dev,
    /// For users and benchmarks.
    Release,
}

/// Builds the wheel with maturin and returns its file.
pub(crate) fn build(profile: Profile) -> Result<PathBuf> {
    let (name, folder) = match profile {
        Profile::Dev => ("dev", root().join("target/wheels/dev")),
        Profile::Release => ("release", root().join("target/wheels")),
    };
    // Only wheels of this build are wanted, whatever their version.
    for old in wheels(&folder).unwrap_or_default() {
        std::fs::remove_file(old)?;
    }
    let mut maturin = Command::new(python()?);
    maturin.current_dir(root()).args(["-m", "maturin", "build", "--quiet", "--profile", name, "--out"]).arg(&folder);
    check(&mut maturin)?;
    match wheels(&folder)?.as_slice() {
        [wheel] => Ok(wheel.clone()),
        found => bail!("expected one wheel in {}, found {}", folder.display(), found.len()),
    }
}

/// Builds the wheel and installs it in the project's Python.
pub(crate) fn install(profile: Profile) -> Result<()> {
    let wheel = build(profile)?;
    let mut pip = Command::new(python()?);
    pip.args(["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps"]).arg(wheel);
    check(&mut pip)
}

fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "whl")).collect())
}

/// Builds the release wheel and says where it is.
#[allow(clippy::print_stdout)]
pub(crate) fn run() -> Result<()> {
    println!("{}", build(Profile::Release)?.display());
    Ok(())
}
