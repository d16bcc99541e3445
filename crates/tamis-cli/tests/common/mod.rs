//! What the tests of the command share: a folder to work in, and the program run there.

#![allow(dead_code)] // each test program uses its own part of it

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// Six documents of two labels; words of theirs, shared ones, and one that is in four documents.
pub(crate) const SMALL: &str = r#"{"id":"1","text":"goals and the referee","labels":["sport"]}
{"id":"2","text":"the cup match goals","labels":["sport"]}
{"id":"3","text":"stars and the telescope","labels":["space"]}
{"id":"4","text":"planet orbit telescope the","labels":["space"]}
{"id":"5","text":"goals match referee","labels":["sport"]}
{"id":"6","text":"orbit stars planet","labels":["space"]}
"#;

/// Every command that reads a corpus and writes or prints something.
pub(crate) const READERS: [&str; 6] = [
    "inspect CORPUS",
    "convert CORPUS written.jsonl",
    "count CORPUS -o written.counts",
    "rank CORPUS --by chi2max",
    "fit CORPUS -o written.model",
    "fit CORPUS -o written.model --by df --features all --classifier svm --folds 0",
];

/// A temporary folder; the program runs in it, so that messages name files as a user would.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with `small.jsonl`.
    pub(crate) fn small() -> Self {
        let folder = Self::new();
        folder.file("small.jsonl", SMALL);
        folder
    }

    /// A folder with `small.jsonl` and `small.model`, trained on it.
    pub(crate) fn with_model() -> Self {
        let folder = Self::small();
        folder.ok("fit small.jsonl -o small.model --by df --features all --classifier bayes --folds 0");
        folder
    }

    /// A folder with `docs.jsonl`: 300 documents of the built-in corpus, with several labels and a split.
    pub(crate) fn topics() -> Self {
        let folder = Self::new();
        folder.ok("synth -n 300 docs.jsonl");
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// The program, in this folder.
    pub(crate) fn tamis(&self) -> Command {
        let mut command = Command::cargo_bin("tamis").unwrap();
        // A panic's trace is long and slow to make; its message says enough.
        command.current_dir(self.0.path()).env("RUST_BACKTRACE", "0");
        command
    }

    /// Runs the program with words separated by blanks.
    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.tamis().args(arguments.split_ascii_whitespace()).output().unwrap()
    }

    /// The same with something on standard input.
    pub(crate) fn run_with(&self, arguments: &str, input: impl Into<Vec<u8>>) -> Output {
        self.tamis().args(arguments.split_ascii_whitespace()).write_stdin(input).output().unwrap()
    }

    /// Standard output of a run that must succeed.
    pub(crate) fn ok(&self, arguments: &str) -> String {
        out(arguments, &self.run(arguments))
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.ok(arguments)).unwrap()
    }

    /// Lines of standard output as JSON.
    pub(crate) fn json_lines(&self, arguments: &str) -> Vec<Value> {
        self.ok(arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Rows of standard output as TSV, the header first.
    pub(crate) fn tsv(&self, arguments: &str) -> Vec<Vec<String>> {
        self.ok(arguments).lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    /// What the folder holds.
    pub(crate) fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.0.path()).unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    all.insert(name, Vec::new());
                    folders.push(path);
                } else {
                    all.insert(name, std::fs::read(&path).unwrap());
                }
            }
        }
        all
    }

    /// A run that must fail because of its input: exit code 2, nothing on standard output, nothing written or changed.
    /// Gives back the message.
    pub(crate) fn refused(&self, arguments: &str) -> String {
        let words: Vec<&str> = arguments.split_ascii_whitespace().collect();
        self.refused_words(&words)
    }

    /// The same for arguments with blanks in them.
    pub(crate) fn refused_words(&self, words: &[&str]) -> String {
        let before = self.contents();
        let output = self.tamis().args(words).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {message}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{words:?}");
        assert!(!message.contains("panicked"), "{words:?}: {message}");
        assert!(before == self.contents(), "{words:?} changed the folder: {:?}", self.contents().keys());
        message
    }
}

/// Standard output of a run that must have succeeded.
pub(crate) fn out(what: &str, output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{what}: {message}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard error of a run that must have succeeded.
pub(crate) fn warned(what: &str, output: &Output) -> String {
    let message = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{what}: {message}");
    message
}

/// Asserts that a message has each of the parts.
#[track_caller]
pub(crate) fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}
