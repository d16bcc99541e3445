//! `cargo xtask reproduce [NAME…]`: published tables and figures, run again, compared, and written down.
//!
//! For each plan in `xtask/reproduce` it runs the commands of the program, compares numbers and verdicts with those of the last time, and writes
//! `docs/reproduced/NAME.md`, which nobody edits. What moved beyond the plan's tolerance is an error; `--accept` takes the new numbers over.

mod page;
mod plan;
mod results;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::plan::{Gives, Plan, Run, accepted, all};
use self::results::{Number, Results, Written, drift, judge};
use crate::run::{cargo, check, program, root};

/// Seconds up to which a plan is one of the tests.
const QUICK: f64 = 12.0;

struct Wanted {
    names: Vec<String>,
    accept: bool,
    resume: bool,
}

/// Runs plans: those named, or all.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let mut wanted = Wanted { names: Vec::new(), accept: false, resume: false };
    for word in words {
        match *word {
            "--accept" => wanted.accept = true,
            "--resume" => wanted.resume = true,
            "--list" => return list(),
            option if option.starts_with('-') => {
                bail!("usage: cargo xtask reproduce [NAME…] [--accept] [--resume] | --list")
            }
            name => wanted.names.push(name.to_owned()),
        }
    }
    let plans = all()?;
    if let Some(unknown) = wanted.names.iter().find(|name| !plans.iter().any(|(known, _)| known == *name)) {
        let known: Vec<&str> = plans.iter().map(|(name, _)| name.as_str()).collect();
        bail!("no plan is called {unknown}; there are {}", known.join(" "));
    }
    let program = match std::env::var_os("TAMIS_BIN") {
        Some(program) => PathBuf::from(program),
        None => {
            check(cargo().args(["build", "--release", "--quiet", "--package", "tamis-cli"]))?;
            root().join("target/release/tamis")
        }
    };
    let mut moved = Vec::new();
    for (name, path) in &plans {
        if wanted.names.is_empty() || wanted.names.contains(name) {
            moved.extend(one(name, path, &program, &wanted)?);
        }
    }
    write_index()?;
    if moved.is_empty() { Ok(()) } else { bail!("numbers moved; --accept takes them over:\n{}", moved.join("\n")) }
}

/// The plans that take seconds, where their corpora are: as a test. Nothing is written but into `target`.
pub(crate) fn test() -> Result<()> {
    let program = program()?;
    let wanted = Wanted { names: Vec::new(), accept: false, resume: false };
    let (mut moved, mut skipped) = (Vec::new(), Vec::new());
    for (name, path) in all()? {
        let plan = Plan::read(&path)?;
        let seconds = plan.seen.as_ref().map_or(f64::INFINITY, |seen| seen.seconds);
        if seconds > QUICK || !plan.missing(data().as_deref()).is_empty() {
            skipped.push(name);
            continue;
        }
        let done = execute(&name, &plan, &program, &wanted)?;
        let seen = plan.seen.clone().with_context(|| format!("{name} was never accepted"))?;
        let now = done.results.seen(&plan, seen.seconds, seen.megabytes)?;
        moved.extend(drift(&seen, &now, plan.tolerance).into_iter().map(|m| format!("{name}: {m}")));
        let page = page::page(&name, &plan, &done.results, &seen);
        if std::fs::read_to_string(page_of(&name)).unwrap_or_default() != page {
            moved.push(format!("docs/reproduced/{name}.md is stale: cargo xtask reproduce {name}"));
        }
    }
    let plans = all()?.into_iter().map(|(name, path)| Ok((name, Plan::read(&path)?))).collect::<Result<Vec<_>>>()?;
    if std::fs::read_to_string(page_of("README")).unwrap_or_default() != page::index(&plans) {
        moved.push("docs/reproduced/README.md is stale: cargo xtask reproduce".into());
    }
    if !skipped.is_empty() {
        note(&format!("not reproduced here (longer than seconds, or without their corpora): {}", skipped.join(" ")));
    }
    if moved.is_empty() { Ok(()) } else { bail!("{}", moved.join("\n")) }
}

fn page_of(name: &str) -> PathBuf {
    root().join("docs/reproduced").join(format!("{name}.md"))
}

#[allow(clippy::print_stdout)]
fn list() -> Result<()> {
    for (name, path) in all()? {
        let plan = Plan::read(&path)?;
        let seconds = plan.seen.as_ref().map_or("never run".to_owned(), |seen| format!("{:.0} s", seen.seconds.ceil()));
        let missing = if plan.missing(data().as_deref()).is_empty() { "" } else { ", corpora are missing" };
        println!("{name:<24} {seconds}{missing}: {}", plan.source);
    }
    Ok(())
}

fn write_index() -> Result<()> {
    let plans = all()?.into_iter().map(|(name, path)| Ok((name, Plan::read(&path)?))).collect::<Result<Vec<_>>>()?;
    std::fs::write(page_of("README"), page::index(&plans)).context("docs/reproduced/README.md")
}

fn data() -> Option<PathBuf> {
    std::env::var_os("TAMIS_DATA").map(PathBuf::from)
}

/// What all runs of a plan came to, and what they took.
struct Done {
    results: Results,
    seconds: f64,
    megabytes: f64,
}

/// Runs a plan, compares, writes its page; returns what moved.
fn one(name: &str, path: &Path, program: &Path, wanted: &Wanted) -> Result<Vec<String>> {
    let plan = Plan::read(path)?;
    let data = data();
    let missing = plan.missing(data.as_deref());
    if !missing.is_empty() {
        let list: Vec<String> = missing.iter().map(|c| format!("{} ({})", c.path, c.get)).collect();
        note(&format!("{name}: passed over, not under TAMIS_DATA: {}", list.join("; ")));
        return Ok(Vec::new());
    }
    let done = execute(name, &plan, program, wanted)?;
    let now = done.results.seen(&plan, done.seconds.ceil(), done.megabytes.round())?;
    // What a resumed run took says nothing, and a page does not change because the machine was busy.
    let kept = match &plan.seen {
        Some(seen) if !wanted.accept || wanted.resume => seen.clone(),
        _ => now.clone(),
    };
    let took = plan::Seen { seconds: kept.seconds, megabytes: kept.megabytes, ..now.clone() };
    let moved = match &plan.seen {
        Some(seen) if !wanted.accept => drift(seen, &now, plan.tolerance),
        _ => Vec::new(),
    };
    if wanted.accept || plan.seen.is_none() {
        let text = std::fs::read_to_string(path)?;
        std::fs::write(path, accepted(&text, &took)).with_context(|| path.display().to_string())?;
    }
    std::fs::create_dir_all(root().join("docs/reproduced"))?;
    for (file, from) in figures(name, &plan) {
        std::fs::copy(&from, root().join("docs/reproduced").join(file)).with_context(|| from.display().to_string())?;
    }
    std::fs::write(page_of(name), page::page(name, &plan, &done.results, &took))?;
    note(&format!(
        "{name}: {:.0} s, {:.0} MB, {}",
        done.seconds,
        done.megabytes,
        if moved.is_empty() { "as before" } else { "MOVED" }
    ));
    Ok(moved.into_iter().map(|m| format!("{name}: {m}")).collect())
}

/// Folder of a run's results.
fn folder(name: &str, run: &Run, each: usize) -> PathBuf {
    let mut last = if run.name.is_empty() { "run".to_owned() } else { run.name.replace('/', "-") };
    if !run.each.is_empty() {
        last = format!("{last}-{each}");
    }
    root().join("target/reproduce").join(name).join(last)
}

/// Plots that are shown: the file's name in `docs/reproduced`, and where it is made.
fn figures(name: &str, plan: &Plan) -> Vec<(String, PathBuf)> {
    let of = |run: &Run| {
        let made = folder(name, run, 0).join("figures");
        let start = if run.name.is_empty() { name.to_owned() } else { format!("{name}-{}", run.name) };
        run.figures.iter().map(|f| (format!("{start}-{f}.svg"), made.join(format!("{f}.svg")))).collect::<Vec<_>>()
    };
    plan.run.iter().flat_map(of).collect()
}

fn execute(name: &str, plan: &Plan, program: &Path, wanted: &Wanted) -> Result<Done> {
    let mut done = Done { results: Results::default(), seconds: 0.0, megabytes: 0.0 };
    for run in &plan.run {
        let times = run.each.len().max(1);
        let mut all = Vec::new();
        for each in 0..times {
            let folder = folder(name, run, each);
            let value = run.each.get(each).map_or("", String::as_str);
            let data = data().unwrap_or_default();
            let words: Vec<String> = run
                .command
                .iter()
                .map(|w| w.replace("{data}", &data.display().to_string()).replace("{each}", value))
                .collect();
            note(&format!("{name}: tamis {}", words.join(" ")));
            let mut command = Command::new(program);
            command.args(&words).args(["--seed", "1", "--quiet"]);
            let written = match run.gives {
                Gives::Study => {
                    let resumes = wanted.resume && folder.join("plan.toml").exists();
                    if resumes {
                        command.arg("--resume");
                    } else {
                        std::fs::remove_dir_all(&folder).ok();
                    }
                    std::fs::create_dir_all(folder.parent().unwrap_or(&folder))?;
                    measured(command.arg("-o").arg(&folder), &mut done)?;
                    Written::read(&folder.join("numbers.json"))?
                }
                Gives::Lines => {
                    let lines = measured(&mut command, &mut done)?.lines().count();
                    let number = Number { effect: lines.saturating_sub(1) as f64, interval: None };
                    Written { corpus: None, numbers: [("lines".to_owned(), number)].into(), findings: Vec::new() }
                }
            };
            all.push(written);
        }
        if run.each.is_empty() {
            done.results.add(&run.name, all.swap_remove(0));
            continue;
        }
        done.results.add(&run.name, Written::mean(&all));
        for claim in plan.claim.iter().filter(|claim| claim.run == run.name) {
            let finding = judge(claim, &all)?;
            done.results.findings.push((finding.key.clone(), finding));
        }
        for (each, written) in run.each.iter().zip(all) {
            let name = if run.name.is_empty() { each.clone() } else { format!("{}/{each}", run.name) };
            done.results.add(&name, written);
        }
    }
    done.results.figures = figures(name, plan)
        .into_iter()
        .map(|(file, from)| (from.file_stem().unwrap_or_default().to_string_lossy().into_owned(), file))
        .collect();
    Ok(done)
}

/// Runs a command to its end, adds its time, and notes its memory where the system tells.
fn measured(command: &mut Command, done: &mut Done) -> Result<String> {
    let start = Instant::now();
    let output = tempfile();
    let mut child = command
        .stdout(std::fs::File::create(&output)?)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let status_file = format!("/proc/{}/status", child.id());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Some(kilobytes) = std::fs::read_to_string(&status_file).ok().and_then(|text| peak(&text)) {
            done.megabytes = done.megabytes.max(kilobytes / 1024.0);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    done.seconds += start.elapsed().as_secs_f64();
    let text = std::fs::read_to_string(&output)?;
    std::fs::remove_file(&output)?;
    if !status.success() {
        bail!("{} failed: {status}", command.get_program().display());
    }
    Ok(text)
}

fn tempfile() -> PathBuf {
    std::env::temp_dir().join(format!("tamis-reproduce-{}.out", std::process::id()))
}

/// The most memory of a process, in kilobytes, from what Linux says about it.
fn peak(status: &str) -> Option<f64> {
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[allow(clippy::print_stderr)]
fn note(text: &str) {
    eprintln!("xtask: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_system() {
        assert_eq!(peak("Name:\ttamis\nVmPeak:\t 90 kB\nVmHWM:\t   20480 kB\n"), Some(20480.0));
        assert_eq!(peak("Name:\ttamis\n"), None);
    }
}
