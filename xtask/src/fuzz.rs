//! `cargo xtask fuzz`: a coverage-guided fuzzer on every reader, the model container, the expressions and the HTTP service.
//!
//! libFuzzer, compiled into `fuzz/` with counters at every branch; the flags are those that cargo-fuzz gives, without a
//! sanitizer, so that the stable compiler takes them. What was found to lead somewhere is kept in `target/fuzz/KIND` and is
//! where the next run begins.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::run::{capture, cargo, check, root};

const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Runs kinds (all when none is named), each for `--runs N` cases (100,000 when not given) from a fixed seed (`--seed S`).
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let (mut kinds, mut runs, mut seed) = (Vec::new(), 100_000u64, 1u32);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--runs" => runs = rest.next().context("--runs takes a number")?.parse().context("runs are a number")?,
            "--seed" => seed = rest.next().context("--seed takes a number")?.parse().context("a seed is a number")?,
            option if option.starts_with('-') => bail!("usage: cargo xtask fuzz [KIND…] [--runs N] [--seed S]"),
            kind => kinds.push(kind.to_owned()),
        }
    }
    let host = capture(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let host = host.trim();
    check(
        cargo()
            .current_dir(root().join("fuzz"))
            .env("RUSTFLAGS", COVERAGE)
            .env("CARGO_TARGET_DIR", root().join("target/fuzz-build"))
            // Named, so that build scripts and macros are not instrumented.
            .args(["build", "--release", "--target", host]),
    )?;
    let program = root().join("target/fuzz-build").join(host).join("release/tamis-fuzz");
    let names = capture(Command::new(&program).env("TAMIS_FUZZ", "names"))?;
    if kinds.is_empty() {
        kinds = names.lines().map(str::to_owned).collect();
    }
    for kind in &kinds {
        if !names.lines().any(|name| name == kind) {
            bail!("no kind of input is called {kind}; there are: {}", names.lines().collect::<Vec<_>>().join(", "));
        }
        fuzz(&program, kind, runs, seed)?;
    }
    Ok(())
}

#[allow(clippy::print_stdout)]
fn fuzz(program: &Path, kind: &str, runs: u64, seed: u32) -> Result<()> {
    let corpus = root().join("target/fuzz").join(kind);
    std::fs::create_dir_all(&corpus)?;
    let output = Command::new(program)
        .env("TAMIS_FUZZ", kind)
        .env("TAMIS_FUZZ_SEEDS", &corpus)
        .arg(&corpus)
        .arg(format!("-runs={runs}"))
        .arg(format!("-seed={seed}"))
        .arg(format!("-artifact_prefix={}/found-", root().join("target/fuzz").join(kind).display()))
        .args(["-max_len=8192", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1", "-verbosity=0"])
        .stdout(Stdio::inherit())
        .output()
        .context("cannot start the fuzzer")?;
    // Its files lie in memory.
    let folder = corpus.with_extension("folder");
    if let Ok(place) = std::fs::read_to_string(&folder) {
        std::fs::remove_dir_all(place).ok();
        std::fs::remove_file(folder)?;
    }
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{kind}: {}\n{told}", output.status);
    }
    let figure = |name: &str| {
        let line = told.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next()).unwrap_or("?").to_owned()
    };
    println!(
        "fuzz: {kind}: {} cases, {} a second, {} samples kept, {} MB at most, no failure",
        figure("stat::number_of_executed_units"),
        figure("stat::average_exec_per_sec"),
        std::fs::read_dir(&corpus)?.count(),
        figure("stat::peak_rss_mb"),
    );
    Ok(())
}
