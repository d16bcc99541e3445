//! Small models of each kind, and a server that runs in the test.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use tamis::Silent;
use tamis::counts::Counts;
use tamis::features::Size;
use tamis::hierarchy::GivenTaxonomy;
use tamis::hierarchy::progressive::Answers;
use tamis::model::{FitOptions, HierarchyOptions, Model};
use tamis_serve::{Limits, ModelSource, Options, listen};
use tempfile::TempDir;
use tokio::sync::oneshot;

const KINDS: [(&str, &str); 4] = [
    ("sport/hockey", "ice puck stick rink goalie penalty team season"),
    ("sport/football", "grass goal striker corner referee penalty team season"),
    ("trade/oil", "barrel crude pipeline export price market tanker"),
    ("trade/grain", "wheat corn harvest export price market bushel"),
];

/// Documents of a few words of their kind and shared ones; every fifth has two labels.
fn counts(prefix: &str) -> Counts {
    let documents: Vec<(Vec<String>, Vec<&str>)> = (0..240usize)
        .map(|n| {
            let (label, words) = KINDS[n % KINDS.len()];
            let pick = |words: &str, at: usize| {
                let all: Vec<&str> = words.split(' ').collect();
                format!("{prefix}{}", all[at % all.len()])
            };
            let mut text: Vec<String> = (0..4).map(|i| pick(words, n / 4 + i * i)).collect();
            text.extend((0..3).map(|i| format!("common{}", (n * 7 + i * 3) % 11)));
            let mut labels = vec![label];
            if n % 5 == 0 {
                let (other, more) = KINDS[(n + 1) % KINDS.len()];
                labels.push(other);
                text.extend((0..3).map(|i| pick(more, n / 3 + i)));
            }
            (text, labels)
        })
        .collect();
    Counts::from_rows(&documents)
}

/// A model; `prefix` stands before every word that matters, so that models can be told apart.
pub(crate) fn model(classifier: &str, prefix: &str) -> Model {
    let counts = counts(prefix);
    let options = FitOptions {
        by: Some("chi2max".parse().unwrap()),
        features: Some(Size::Top(60)),
        classifier: Some(classifier.parse().unwrap()),
        threshold: Some("scut".parse().unwrap()),
        folds: Some(3),
        ..FitOptions::default()
    };
    options.fit(&counts, &counts.training(), &Silent).unwrap().model
}

/// A classifier for each node.
pub(crate) fn tree() -> Model {
    let counts = counts("");
    let options = FitOptions {
        features: Some(Size::Top(40)),
        taxonomy: Some(GivenTaxonomy::Names),
        hierarchy: HierarchyOptions { answers: Some(Answers::All), ..HierarchyOptions::default() },
        ..FitOptions::default()
    };
    options.fit(&counts, &counts.training(), &Silent).unwrap().model
}

/// The usual model, as bytes.
pub(crate) fn usual() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| model("svm", "").to_bytes().unwrap())
}

/// A server in this process; it ends when it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) folder: TempDir,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    /// With the usual model, named `usual`.
    pub(crate) fn usual(change: impl FnOnce(&mut Options)) -> Self {
        Self::with(&[("usual", usual())], change)
    }

    pub(crate) fn with(models: &[(&str, &[u8])], change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sources = models.iter().map(|(name, bytes)| {
            let path = folder.path().join(format!("{name}.model"));
            std::fs::write(&path, bytes).unwrap();
            ModelSource { name: (*name).to_owned(), path }
        });
        let mut options = Options::new(sources.collect());
        options.bind.set_port(0);
        options.threads = 2;
        options.reload = Duration::from_millis(20);
        options.limits = Limits { concurrency: 2, ..Limits::default() };
        change(&mut options);
        let (end, ended) = oneshot::channel();
        let (ready, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let server = listen(options).await.unwrap();
                ready.send(server.address()).unwrap();
                server.until(async { drop(ended.await) }).await;
            });
        });
        Self { address: address.recv().unwrap(), folder, end: Some(end), thread: Some(thread) }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.model"))
    }

    /// Asks the server to end, without waiting.
    pub(crate) fn tell_to_end(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) {
        self.tell_to_end();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tell_to_end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Puts a file in place as `tamis fit` does: whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    std::fs::write(&new, bytes).unwrap();
    std::fs::rename(new, path).unwrap();
}
