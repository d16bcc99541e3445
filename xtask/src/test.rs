//! `cargo xtask test`: every test there is, with whatever it needs.

use std::process::Command;

use anyhow::Result;

use crate::run::{capture, cargo, check, exists, python, root};

/// Runs all tests; a filter is passed to nextest and skips the rest.
pub(crate) fn run(filter: &[&str]) -> Result<()> {
    match std::env::var_os("TAMIS_DATA") {
        Some(folder) => note(&format!("real corpora: {}", folder.to_string_lossy())),
        None => note("TAMIS_DATA is not set: tests on real corpora will say that they skip"),
    }
    rust(filter)?;
    if !filter.is_empty() {
        return Ok(());
    }
    // Doctests: nextest does not run them.
    check(cargo().args(["test", "--quiet", "--workspace", "--doc"]))?;
    crate::docs::check()?;
    pytest()
}

fn rust(filter: &[&str]) -> Result<()> {
    if !exists("cargo", &["nextest", "--version"]) {
        note("installing cargo-nextest");
        check(cargo().args(["install", "--locked", "cargo-nextest"]))?;
    }
    check(cargo().args(["nextest", "run", "--workspace", "--no-fail-fast"]).args(filter))
}

fn pytest() -> Result<()> {
    let python = python()?;
    // The binary that the Rust tests ran is the one that Python compares with its own libraries.
    check(cargo().args(["build", "--quiet", "--package", "tamis-cli"]))?;
    let target = capture(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let target: serde_json::Value = serde_json::from_str(&target)?;
    let binary = std::path::Path::new(target["target_directory"].as_str().unwrap_or("target")).join("debug/tamis");
    check(Command::new(python).current_dir(root()).env("TAMIS_BIN", binary).args([
        "-m",
        "pytest",
        "--quiet",
        "-p",
        "no:cacheprovider",
        "tests/python",
    ]))
}

#[allow(clippy::print_stderr)]
fn note(text: &str) {
    eprintln!("xtask: {text}");
}
