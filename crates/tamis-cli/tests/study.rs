//! Studies as processes: killed, interrupted, out of room, and going on.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PLAN: &str = r#"
name = "tiny"
[corpus]
default = "synth:topics:300"
[splits]
how = "random(0.4,16)"
[selectors]
list = ["chi2max", "ig@1", "os(ib)@2"]
[sizes]
at = [5, 20, 60]
[classifiers]
list = ["knn(9)", "bayes"]
[thresholds]
list = ["rcut(best)"]
[measures]
list = ["RPrec", "F1@micro"]
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::write(place.path("tiny.toml"), PLAN).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn study(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.current_dir(self.0.path()).arg("study").args(arguments).stdin(Stdio::null());
        command
    }

    fn rows(&self, folder: &str) -> Vec<u8> {
        std::fs::read(self.path(folder).join("rows.jsonl")).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

/// Random numbers are good enough from the clock: when a kill strikes is chance in any case.
fn chance(below: Duration) -> Duration {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    below.mul_f64(f64::from(nanos.wrapping_mul(2_654_435_761) >> 8) / f64::from(1u32 << 24))
}

#[test]
fn killed_at_any_moment_it_ends_with_the_same_rows() {
    let place = Place::new();
    let start = Instant::now();
    succeed(&mut place.study(&["tiny.toml", "-o", "whole", "-q"]));
    let whole_takes = start.elapsed();
    let whole = place.rows("whole");
    assert!(whole.len() > 10_000);

    let (mut kills, mut folder, mut partial) = (0, 0, 0);
    let deadline = Instant::now() + Duration::from_mins(3);
    while kills < 24 && Instant::now() < deadline {
        let name = format!("killed{folder}");
        let mut command = place.study(&["tiny.toml", "-o", &name, "-q", "--resume"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(chance(whole_takes));
        if child.try_wait().unwrap().is_none() {
            // SIGKILL: no handler runs, nothing is flushed.
            child.kill().unwrap();
            kills += 1;
        }
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            assert!(place.rows(&name) == whole, "after {kills} kills");
            folder += 1;
        } else {
            assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
            let rows = std::fs::read(place.path(&name).join("rows.jsonl")).unwrap_or_default();
            partial += usize::from(!rows.is_empty() && rows.len() < whole.len());
        }
    }
    assert!(kills >= 20, "only {kills} kills in the time there is");
    assert!(partial >= 3, "kills must strike in the middle to mean anything: {partial} of {kills}");
    let name = format!("killed{folder}");
    succeed(&mut place.study(&["tiny.toml", "-o", &name, "-q", "--resume"]));
    assert!(place.rows(&name) == whole);
    // A finished study that goes on stays as it is, with any number of threads.
    succeed(&mut place.study(&["tiny.toml", "-o", &name, "-q", "--resume", "--threads", "1"]));
    assert!(place.rows(&name) == whole);
}

#[cfg(unix)]
#[test]
fn interrupted_it_says_how_to_go_on() {
    let place = Place::new();
    succeed(&mut place.study(&["tiny.toml", "-o", "whole", "-q"]));
    for attempt in 0..20 {
        let name = format!("stopped{attempt}");
        let child = place.study(&["tiny.toml", "-o", &name, "-q"]).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(chance(Duration::from_millis(600)));
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        // Too early there is no handler yet, too late nothing is left to stop.
        if output.status.code() == Some(1) && said.contains("rows are safe; go on with --resume") {
            succeed(&mut place.study(&["tiny.toml", "-o", &name, "-q", "--resume"]));
            assert!(place.rows(&name) == place.rows("whole"));
            return;
        }
    }
    panic!("no interrupt struck while the study ran");
}

/// A limit on the size of files stands in for a full disk: writing fails in the middle of the rows.
#[cfg(unix)]
#[test]
fn without_room_it_says_what_is_safe() {
    let place = Place::new();
    succeed(&mut place.study(&["tiny.toml", "-o", "whole", "-q"]));
    let whole = place.rows("whole");
    let script = format!(
        "trap '' XFSZ; ulimit -f {}; exec {} study tiny.toml -o full -q",
        whole.len() / 2 / 1024,
        env!("CARGO_BIN_EXE_tamis")
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(place.0.path()).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("rows.jsonl: File too large") && said.contains("rows of finished work are safe"), "{said}");
    let kept = place.rows("full");
    assert!(!kept.is_empty() && whole.starts_with(&kept), "what is there is the beginning of the rows");
    assert!(said.contains(&format!("the {} rows", text(&kept).lines().count())), "{said}");
    succeed(&mut place.study(&["tiny.toml", "-o", "full", "-q", "--resume"]));
    assert!(place.rows("full") == whole);
}

#[test]
fn what_comes_out() {
    let place = Place::new();
    let output = succeed(&mut place.study(&["tiny.toml", "--set", "splits.how=random(0.4,7)"]));
    let said = text(&output.stdout);
    assert!(said.contains("is best: RPrec with knn(9) reaches") && said.contains("Report: tiny.study"), "{said}");
    let folder = place.path("tiny.study");
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for part in [
        "<svg",
        "Tests of",
        "Holm",
        "Do the measures agree?",
        "Time of a search",
        "within 1 error",
        "tamis study plan.toml",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("NaN") && !page.contains("src=\"http"));
    assert!(folder.join("figures/knn-9-RPrec-quality.svg").is_file());
    let csv = std::fs::read_to_string(folder.join("rows.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 7 * 2 * 3 * 3);
    assert!(std::fs::read(folder.join("rows.parquet")).unwrap().starts_with(b"PAR1"));
    // The report follows from the rows.
    std::fs::remove_file(folder.join("report.html")).unwrap();
    let mut again = Command::new(env!("CARGO_BIN_EXE_tamis"));
    succeed(again.current_dir(place.0.path()).args(["report", "tiny.study", "--png"]));
    assert!(std::fs::read_to_string(folder.join("report.html")).unwrap() == page);
    let drawn = std::fs::read(folder.join("figures/knn-9-RPrec-quality.png")).unwrap();
    assert!(drawn.starts_with(b"\x89PNG") && drawn.len() > 5000);
}

/// Along pipelines: with the taxonomy of a built-in corpus, and with none.
#[test]
fn pipelines_come_out() {
    let place = Place::new();
    let small = ["addis", "--corpus", "synth:rcv1:1500", "--set", "pipelines.least=5", "--set", "pipelines.most=3"];
    let said = text(&succeed(&mut place.study(&small)).stdout);
    assert!(said.contains("3 pipelines of 3 levels") && said.contains("Exact proved its thresholds best"), "{said}");
    let page = std::fs::read_to_string(place.path("addis.study/report.html")).unwrap();
    for part in ["213.7k", "0.273", "addis table 1", "other documents", "2^-7"] {
        assert!(page.contains(part), "{part}");
    }
    let csv = std::fs::read_to_string(place.path("addis.study/rows.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 3 * 4 * 8);
    std::fs::write(place.path("some.jsonl"), "{\"text\": \"a\", \"label\": \"x\"}\n").unwrap();
    refused(&mut place.study(&["addis", "--corpus", "some.jsonl"]), &["needs the taxonomy", "--taxonomy FILE"]);
    refused(&mut place.study(&["tiny.toml", "--taxonomy", "names"]), &["uses no taxonomy"]);
}

/// The seed of the command line, of the plan, or 1: the first that is given.
#[test]
fn the_seed_of_the_command_line_wins() {
    let place = Place::new();
    let small = ["--set", "splits.how=random(0.4)", "--set", "sizes.at=[5]"];
    let run = |name: &str, more: &[&str]| {
        succeed(place.study(&[name, "-q", "-o", "out"]).args(small).args(more));
        let page = std::fs::read_to_string(place.path("out/report.html")).unwrap();
        let rows = place.rows("out");
        std::fs::remove_dir_all(place.path("out")).unwrap();
        let seed = page.split("--seed ").nth(1).unwrap().split(|c: char| !c.is_ascii_digit()).next().unwrap();
        (seed.to_owned(), rows)
    };
    std::fs::write(place.path("seeded.toml"), format!("seed = 5\n{PLAN}")).unwrap();
    let usual = run("tiny.toml", &[]);
    assert_eq!(usual.0, "1");
    assert_eq!(run("seeded.toml", &["--seed", "1"]), usual);
    let plans = run("seeded.toml", &[]);
    assert_eq!(plans.0, "5");
    // The built-in corpus is drawn with it too.
    assert_eq!(run("tiny.toml", &["--seed", "5"]), plans);
    assert_ne!(plans.1, usual.1);
}

#[test]
fn dry_runs_run_nothing() {
    let place = Place::new();
    let said = text(&succeed(&mut place.study(&["tiny.toml", "--dry-run"])).stdout);
    assert!(said.contains("classifications  34,560\n"), "{said}");
    assert!(said.contains("time             about") && said.contains("and the searches"), "{said}");
    assert!(!place.path("tiny.study").exists());
    let shown = text(&succeed(&mut place.study(&["olsson-preliminary", "--show"])).stdout);
    assert!(shown.contains("combine = [\"hr\", \"lr\", \"ar\", \"dmor\", \"dlor\"]"));
    let listed = text(&succeed(&mut place.study(&["--list"])).stdout);
    assert!(listed.contains("olsson-simulation") && listed.contains("novovicova"));
}

#[track_caller]
fn refused(command: &mut Command, expected: &[&str]) {
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in expected {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
}

#[test]
fn mistakes_are_named() {
    let place = Place::new();
    let with = |from: &str, to: &str| std::fs::write(place.path("bad.toml"), PLAN.replace(from, to)).unwrap();
    with("chi2max", "ch2max");
    refused(
        &mut place.study(&["bad.toml"]),
        &["bad.toml:8: selectors.list: unknown selector \"ch2max\"; did you mean chi2max"],
    );
    with("RPrec", "Rprecision");
    refused(&mut place.study(&["bad.toml"]), &["bad.toml:16: measures.list: unknown measure"]);
    refused(&mut place.study(&["olson-preliminary"]), &["did you mean olsson-preliminary"]);
    refused(&mut place.study(&["no.toml"]), &["no.toml: No such file"]);
    with("default = \"synth:topics:300\"", "");
    refused(&mut place.study(&["bad.toml"]), &["give one with --corpus"]);
    succeed(&mut place.study(&["tiny.toml", "-q", "--set", "splits.how=random(0.4)"]));
    refused(&mut place.study(&["tiny.toml", "-q"]), &["has the rows of a study already", "--resume"]);
    refused(
        &mut place.study(&["tiny.toml", "--resume"]),
        &["another plan", "- \"splits\": \"random(0.4)\"", "+ \"splits\": \"random(0.4,16)\""],
    );
    let set = ["--set", "splits.how=random(0.4)"];
    let other = ["tiny.toml", "--resume", "--corpus", "synth:topics:301", set[0], set[1]];
    refused(&mut place.study(&other), &["another corpus", "- \"documents\": 300"]);
    let mut report = Command::new(env!("CARGO_BIN_EXE_tamis"));
    refused(report.current_dir(place.0.path()).args(["report", "."]), &["is no folder of a study"]);
    assert!(Path::new(&place.path("tiny.study")).exists());
}
