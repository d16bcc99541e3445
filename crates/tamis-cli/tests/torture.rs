//! The program killed at any moment, and with nowhere to write to.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::Folder;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Moments spread over a run: a golden-ratio sequence from 0 to 1.
fn moment(case: u64) -> f64 {
    (case as f64 * 0.618_033_988_75).fract()
}

/// Whatever moment a kill strikes at, the output is what was there before or the whole new one, and nothing else is left.
#[test]
fn killed_at_any_moment_outputs_are_old_or_whole() {
    let folder = Folder::new();
    folder.ok("synth -n 1500 docs.jsonl");
    let jobs = [
        ("count docs.jsonl -o out.counts", "out.counts"),
        ("convert docs.jsonl out.jsonl.gz", "out.jsonl.gz"),
        ("convert docs.jsonl out.svm", "out.svm"),
        ("fit docs.jsonl -o out.model --by df --features 500 --classifier bayes --folds 0", "out.model"),
    ];
    let (begin, time) = (Instant::now(), setting("TAMIS_TORTURE_SECONDS").map(Duration::from_secs));
    let program = assert_cmd::cargo::cargo_bin("tamis");
    let (mut kills, mut ended) = (0u64, 0u64);
    let references: Vec<(Vec<u8>, Duration)> = jobs
        .iter()
        .map(|(job, output)| {
            let started = Instant::now();
            folder.ok(job);
            (folder.bytes(output), started.elapsed())
        })
        .collect();
    while time.map_or(kills + ended < 60, |time| begin.elapsed() < time) {
        let case = kills + ended;
        let ((job, output), (whole, takes)) =
            (&jobs[case as usize % jobs.len()], &references[case as usize % jobs.len()]);
        let before = b"what was here before".to_vec();
        folder.file(output, &before);
        let mut child = Command::new(&program)
            .args(job.split(' '))
            .current_dir(folder.path("."))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(takes.mul_f64(moment(case) * 1.1));
        let killed = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        (kills, ended) = (kills + u64::from(killed), ended + u64::from(!killed));
        let found = folder.bytes(output);
        assert!(found == before || found == *whole, "{job}: the output is neither the old nor the new one");
        if *output == "out.svm" && found == *whole {
            // The words belong to it: it is read, or refused; never with other words.
            let read = folder.run("inspect out.svm --format json");
            assert!(matches!(read.status.code(), Some(0 | 2)), "{}", String::from_utf8_lossy(&read.stderr));
        }
    }
    println!("torture: kills: {kills} killed, {ended} ended before, no failure");
}

/// A full disk is told, with an exit code, and never as a panic.
#[test]
fn with_nowhere_to_write_it_says_so() {
    let folder = Folder::with_model();
    for command in [
        "inspect small.jsonl",
        "rank small.jsonl --by chi2max",
        "classify small.model small.jsonl",
        "evaluate small.model small.jsonl",
        "explain small.model",
        "convert small.jsonl - --to jsonl",
        "list selectors",
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let program = assert_cmd::cargo::cargo_bin("tamis");
        let output =
            Command::new(program).args(command.split(' ')).current_dir(folder.path(".")).stdout(full).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{command}: {:?} {told}", output.status);
        assert!(!told.contains("panicked") && told.contains("space"), "{command}: {told}");
    }
}
