//! `cargo xtask bench NAME`: ours beside a peer, as a ratio measured in one run.
//!
//! A benchmark has two halves: `benches/NAME.rs` of a crate (a plain program) and `xtask/peers/NAME_peer.py`. Each prints
//! JSON lines `{"what": …, "value": …, "unit": …}`, and lines with the same `what` are compared; a line may carry
//! `"note"`. What a peer needs beyond the packages of the tests is in `xtask/peers/NAME_requirements.txt`. A benchmark of the
//! Python package, or of the program beside peers in Python, is one program, `xtask/peers/NAME_bench.py`: its lines say by `"side"` whose they are, `ours` or `peer`.
//! The halves run one after the other on an otherwise idle machine; ratios are of the same run.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::{capture, cargo, check, python, python_with, root};

/// Crates with benchmarks.
const PACKAGES: [&str; 2] = ["tamis", "tamis-serve"];

fn source(package: &str, name: &str) -> std::path::PathBuf {
    root().join("crates").join(package).join("benches").join(format!("{name}.rs"))
}

fn names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for package in PACKAGES {
        for entry in std::fs::read_dir(root().join("crates").join(package).join("benches"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "rs") {
                names.extend(path.file_stem().map(|s| s.to_string_lossy().into_owned()));
            }
        }
    }
    for entry in std::fs::read_dir(root().join("xtask/peers"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix("_bench.py").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Prints the names of the benchmarks.
#[allow(clippy::print_stdout)]
pub(crate) fn list() -> Result<()> {
    println!("benchmarks: {}", names()?.join(" "));
    Ok(())
}

/// A Python with what a peer needs: one that needs more than the tests do has a list of its own.
fn python_for(name: &str) -> Result<std::path::PathBuf> {
    let more = format!("xtask/peers/{name}_requirements.txt");
    if root().join(&more).exists() { python_with(&more) } else { python() }
}

/// Runs a benchmark and its peer and prints the comparison.
pub(crate) fn run(name: &str, rest: &[&str]) -> Result<()> {
    if !names()?.iter().any(|n| n == name) {
        bail!("unknown benchmark {name:?}; known: {}", names()?.join(" "));
    }
    if std::env::var_os("TAMIS_DATA").is_none() {
        bail!("benchmarks run on the real corpora: set TAMIS_DATA to their folder");
    }
    check(cargo().args(["build", "--release", "--quiet", "--package", "tamis-cli"]))?;
    let both = root().join("xtask/peers").join(format!("{name}_bench.py"));
    if both.exists() {
        // Some only run the program.
        if std::fs::read_to_string(&both)?.contains("import tamis") {
            crate::wheel::install(crate::wheel::Profile::Release)?;
        }
        let mut program = Command::new(python_for(name)?);
        program.env("TAMIS_BIN", root().join("target/release/tamis")).arg(both).args(rest);
        let (peers, ours): (Vec<_>, Vec<_>) =
            lines(&capture(&mut program)?)?.into_iter().partition(|l| l.side == "peer");
        print(&ours, &peers);
        return Ok(());
    }
    let package = PACKAGES.into_iter().find(|package| source(package, name).exists()).unwrap_or("tamis");
    let ours = capture(
        cargo()
            .env("TAMIS_BIN", root().join("target/release/tamis"))
            .args(["bench", "--quiet", "--package", package, "--bench", name, "--"])
            .args(rest),
    )?;
    let peers = root().join("xtask/peers");
    let script = peers.join(format!("{name}_peer.py"));
    let python = python_for(name)?;
    let peer = if script.exists() { capture(Command::new(python).arg(script).args(rest))? } else { String::new() };
    print(&lines(&ours)?, &lines(&peer)?);
    Ok(())
}

struct Line {
    what: String,
    value: f64,
    unit: String,
    note: String,
    side: String,
}

fn lines(text: &str) -> Result<Vec<Line>> {
    text.lines()
        .filter(|l| l.starts_with('{'))
        .map(|l| {
            let v: serde_json::Value = serde_json::from_str(l)?;
            let string = |key: &str| v[key].as_str().unwrap_or_default().to_owned();
            Ok(Line {
                what: string("what"),
                value: v["value"].as_f64().unwrap_or(f64::NAN),
                unit: string("unit"),
                note: string("note"),
                side: string("side"),
            })
        })
        .collect()
}

/// A rate is better when larger, a time or size when smaller; the ratio says how many times better ours is.
#[allow(clippy::print_stdout)]
fn print(ours: &[Line], peers: &[Line]) {
    let mut by_what: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for line in peers {
        by_what.entry(&line.what).or_default().push(line);
    }
    println!("{:<52} {:>14} {:>14} {:>8}  {:<6} note", "what", "ours", "peer", "ratio", "unit");
    let show = |what: &str, ours: &str, peer: &str, ratio: &str, unit: &str, note: &str| {
        println!("{what:<52} {ours:>14} {peer:>14} {ratio:>8}  {unit:<6} {note}");
    };
    for line in ours {
        let Some(peers) = by_what.remove(line.what.as_str()) else {
            show(&line.what, &number(line.value), "", "", &line.unit, &line.note);
            continue;
        };
        for peer in peers {
            let rate = line.unit.contains("/s") || line.unit == "score";
            let ratio = if rate { line.value / peer.value } else { peer.value / line.value };
            let note = [line.note.as_str(), peer.note.as_str()].join(" ");
            let ratio = if line.unit == "score" { String::new() } else { format!("{ratio:.1}") };
            show(&line.what, &number(line.value), &number(peer.value), &ratio, &line.unit, note.trim());
        }
    }
    for line in by_what.into_values().flatten() {
        show(&line.what, "", &number(line.value), "", &line.unit, &line.note);
    }
}

fn number(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.4}") }
}
