//! `cargo xtask test`: every test there is, with whatever it needs.

use std::process::Command;

use anyhow::{Result, bail};

use crate::run::{capture, cargo, check, exists, program, python, python_with, root};
use crate::wheel::{self, Profile};

/// Runs all tests; a filter is passed to nextest and skips the rest.
pub(crate) fn run(filter: &[&str]) -> Result<()> {
    match std::env::var_os("TAMIS_DATA") {
        Some(folder) => note(&format!("real corpora: {}", folder.to_string_lossy())),
        None => note("TAMIS_DATA is not set: tests on real corpora will say that they skip"),
    }
    if !filter.is_empty() {
        return rust(filter);
    }
    // All of them, whatever the first ones say: one run shows everything that is wrong.
    let suites: [(&str, fn() -> Result<()>); 10] = [
        ("links in the Markdown pages", crate::markdown::check),
        ("what registries are told", crate::dist::check_metadata),
        ("clippy", clippy),
        ("cargo doc", docs),
        ("cargo deny, where it is installed", deny),
        ("Rust", || rust(&[])),
        // nextest does not run doctests.
        ("examples in the documentation", || check(cargo().args(["test", "--quiet", "--workspace", "--doc"]))),
        ("pages made from the program", crate::docs::check),
        ("published tables that take seconds", crate::reproduce::test),
        ("Python and Spark", pytest),
        ("browser", browser),
    ];
    let mut failed = Vec::new();
    for (name, suite) in suites {
        let start = std::time::Instant::now();
        match suite() {
            Ok(()) => note(&format!("{name}: passed in {:.0} s", start.elapsed().as_secs_f64())),
            Err(error) => {
                note(&format!("{name}: FAILED: {error}"));
                failed.push(name);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

fn rust(filter: &[&str]) -> Result<()> {
    if !exists("cargo", &["nextest", "--version"]) {
        note("installing cargo-nextest");
        // Not optimised, and without what updates itself: half the time, and it runs tests as fast.
        let light = ["--debug", "--no-default-features", "--features", "default-no-update"];
        check(cargo().args(["install", "--locked"]).args(light).arg("cargo-nextest"))?;
    }
    let mut nextest = cargo();
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        // The same cases for everyone: a change is not refused for what chance found in another place. Other seeds look further.
        nextest.env("PROPTEST_RNG_SEED", "1");
    }
    check(nextest.args(["nextest", "run", "--workspace", "--no-fail-fast"]).args(filter))
}

/// Warnings are errors, in tests and benchmarks too.
fn clippy() -> Result<()> {
    check(cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// The library's documentation has no dead links. It is read from what clippy checked already.
fn docs() -> Result<()> {
    check(cargo().env("RUSTDOCFLAGS", "-D warnings").args(["doc", "--quiet", "--workspace", "--no-deps"]))
}

/// Licences and known holes of the dependencies, where the tool is there: it needs the network.
fn deny() -> Result<()> {
    if exists("cargo", &["deny", "--version"]) {
        return check(cargo().args(["deny", "check"]));
    }
    note("cargo-deny is not installed: licences and advisories were NOT checked");
    Ok(())
}

fn pytest() -> Result<()> {
    let python = python()?;
    java()?;
    wheel::install(Profile::Dev)?;
    // The binary that the Rust tests ran is the one that Python compares with its own libraries.
    let binary = program()?;
    let pytest = || {
        let mut command = Command::new(&python);
        command.current_dir(root()).env("TAMIS_BIN", &binary).args([
            "-m",
            "pytest",
            "--quiet",
            "-p",
            "no:cacheprovider",
        ]);
        command
    };
    let tests = check(pytest().arg("tests/python"));
    // The examples in the package's own documentation.
    check(pytest().args(["--doctest-modules", "--pyargs", "tamis"])).and(tests)
}

/// The server's page in a real browser, and its API against its own description.
fn browser() -> Result<()> {
    if !["chromium", "chromium-browser"].iter().any(|name| exists(name, &["--version"])) {
        if !exists("apt-get", &["--version"]) || capture(Command::new("id").arg("-u"))?.trim() != "0" {
            bail!(
                "the tests of the page need Chromium: install the package chromium (as root, this does it by itself)"
            );
        }
        note("installing chromium");
        check(Command::new("apt-get").args(["update", "--quiet=2"]))?;
        let install = ["install", "--yes", "--quiet=2", "--no-install-recommends", "chromium", "fonts-liberation"];
        check(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(install))?;
    }
    let python = python_with("tests/browser/requirements.txt")?;
    let binary = program()?;
    let pytest = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests/browser"];
    check(Command::new(python).current_dir(root()).env("TAMIS_BIN", binary).args(pytest))
}

/// Spark runs in Java.
fn java() -> Result<()> {
    if exists("java", &["-version"]) {
        return Ok(());
    }
    if !exists("apt-get", &["--version"]) || capture(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("the tests of tamis.spark need Java 17 or newer: install a JRE (as root on Debian this is done here)");
    }
    note("installing a Java runtime");
    check(Command::new("apt-get").args(["update", "--quiet", "--quiet"]))?;
    let packages = ["install", "--quiet", "--quiet", "--yes", "--no-install-recommends", "default-jre-headless"];
    check(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(packages))
}

#[allow(clippy::print_stderr)]
fn note(text: &str) {
    eprintln!("xtask: {text}");
}
