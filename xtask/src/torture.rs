//! `cargo xtask torture`: damaged input, kills and full disks for as long as it is told.

use anyhow::{Context, Result, bail};

use crate::run::{cargo, check};

/// Kinds of damage that run side by side on two cores: each gets its share of the time.
const KINDS: u64 = 17;

/// Runs all kinds for about so many minutes (`--minutes N`, 2 when not given), from a seed (`--seed S`, 1 when not given).
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let (mut minutes, mut seed) = (2.0, 1);
    for pair in words.chunks(2) {
        match pair {
            ["--minutes", value] => minutes = value.parse().context("minutes are a number")?,
            ["--seed", value] => seed = value.parse::<u64>().context("a seed is a whole number")?,
            _ => bail!("usage: cargo xtask torture [--minutes N] [--seed S]"),
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let seconds = (minutes * 60.0 * cores / KINDS as f64).ceil().max(1.0);
    check(
        cargo()
            .env("TAMIS_TORTURE_SECONDS", seconds.to_string())
            .env("TAMIS_TORTURE_SEED", seed.to_string())
            .args(["nextest", "run", "--workspace", "--no-fail-fast", "--success-output", "immediate"])
            .args(["-E", "binary(torture)"]),
    )
}
