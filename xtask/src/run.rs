//! Running other programs, and finding the project's folders.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command that must succeed.
pub(crate) fn check(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !status.success() {
        bail!("{} failed: {status}", command.get_program().display());
    }
    Ok(())
}

/// Runs a command that must succeed and returns what it printed.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !output.status.success() {
        bail!("{} failed: {}", command.get_program().display(), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether a program answers to `--version`.
pub(crate) fn exists(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|o| o.status.success())
}

/// A Python of the project's own, in the checkout, with the packages of `tests/python/requirements.txt`.
pub(crate) fn python() -> Result<PathBuf> {
    let venv = root().join("target/venv");
    let python = venv.join("bin/python");
    let requirements = root().join("tests/python/requirements.txt");
    let wanted = std::fs::read(&requirements).context("tests/python/requirements.txt")?;
    let stamp = venv.join("requirements.installed");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    check(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    check(Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r"]).arg(&requirements))?;
    // Without what it needs to train: its thresholds are compared with, nothing else.
    check(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-deps", "libmultilabel==0.10.0"]))?;
    std::fs::write(stamp, wanted)?;
    Ok(python)
}

/// The project's Python with the packages of another list too.
pub(crate) fn python_with(requirements: &str) -> Result<PathBuf> {
    let python = python()?;
    let file = root().join(requirements);
    let wanted = std::fs::read(&file).with_context(|| requirements.to_owned())?;
    let stamp = root().join("target/venv").join(format!("{}.installed", requirements.replace('/', "-")));
    if !std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        check(Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r"]).arg(&file))?;
        std::fs::write(stamp, wanted)?;
    }
    Ok(python)
}

/// Programs from PyPI in a folder of their own, by a list of packages; gives where they are.
pub(crate) fn tools(requirements: &str) -> Result<PathBuf> {
    let name = requirements.replace(['/', '.'], "-");
    let venv = root().join("target/tools").join(name);
    let wanted = std::fs::read(root().join(requirements)).with_context(|| requirements.to_owned())?;
    let stamp = venv.join("installed");
    if !std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        check(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        check(Command::new(venv.join("bin/python")).args(pip).arg(root().join(requirements)))?;
        std::fs::write(stamp, wanted)?;
    }
    Ok(venv.join("bin"))
}

/// Where cargo puts what it compiles.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = capture(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    Ok(PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target")))
}

/// Builds the program together with the tests of the workspace, which need it, and says where it is. By itself it would be
/// compiled again: other packages and their tests turn on other features of the same dependencies.
pub(crate) fn program() -> Result<PathBuf> {
    check(cargo().args(["test", "--quiet", "--no-run", "--workspace"]))?;
    Ok(target()?.join("debug/tamis"))
}
