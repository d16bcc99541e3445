//! `cargo xtask torture`: damaged input, kills and full disks for as long as it is told.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{cargo, check, program, root};

/// Kinds of damage that run side by side on two cores: each gets its share of the time.
const KINDS: u64 = 17;

/// A server under mixed load, swaps, files that are no models, and bad clients, for so many minutes.
fn server(minutes: f64, seed: u64) -> Result<()> {
    let script = root().join("xtask/peers/soak.py");
    let seconds = (minutes * 60.0).to_string();
    check(Command::new("python3").arg(script).arg(program()?).args([seconds, seed.to_string()]))
}

/// Runs all kinds for about so many minutes (`--minutes N`, 2 when not given), from a seed (`--seed S`, 1 when not given);
/// `server` is the service under load instead.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let (mut minutes, mut seed) = (2.0, 1);
    let (is_server, words) = match words {
        ["server", rest @ ..] => (true, rest),
        words => (false, words),
    };
    for pair in words.chunks(2) {
        match pair {
            ["--minutes", value] => minutes = value.parse().context("minutes are a number")?,
            ["--seed", value] => seed = value.parse::<u64>().context("a seed is a whole number")?,
            _ => bail!("usage: cargo xtask torture [server] [--minutes N] [--seed S]"),
        }
    }
    if is_server {
        return server(minutes, seed);
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
