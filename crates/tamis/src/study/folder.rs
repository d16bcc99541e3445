//! A study's folder: plan, rows, times. Rows are appended unit by unit and each unit is on the disk before the next one
//! starts, so that a study can be killed at any moment and go on.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::difference::difference;
use super::plan::Plan;
use super::rows::{Row, Timing};
use super::run::Sink;
use crate::atomic::AtomicFile;
use crate::counts::Counts;
use crate::hierarchy::Taxonomy;
use crate::{Error, Result};

/// Names of the files in a study's folder.
const PLAN: &str = "plan.toml";
const STUDY: &str = "study.json";
const ROWS: &str = "rows.jsonl";
const TIMES: &str = "times.jsonl";
const UNITS: &str = "units.txt";

/// Version of the folder.
const FORMAT: u32 = 1;

/// The corpus that a study ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusNote {
    /// What the user called it.
    pub source: String,
    /// What the user called the taxonomy, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taxonomy: Option<String>,
    /// Documents that took part.
    pub documents: usize,
    /// Their terms.
    pub terms: usize,
    /// Their labels.
    pub labels: usize,
    /// Tells corpora apart: a hash of everything in the counts.
    pub fingerprint: String,
}

impl CorpusNote {
    /// Describes counts, and the taxonomy where there is one.
    pub fn of(source: &str, counts: &Counts, taxonomy: Option<&Taxonomy>) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut numbers = |values: &mut dyn Iterator<Item = u32>| {
            let mut bytes = Vec::with_capacity(1 << 16);
            for value in values {
                bytes.extend_from_slice(&value.to_le_bytes());
                if bytes.len() >= 1 << 16 {
                    hasher.update(&bytes);
                    bytes.clear();
                }
            }
            hasher.update(&bytes);
            hasher.update(b";");
        };
        numbers(&mut counts.matrix.offsets().iter().map(|&o| o as u32));
        numbers(&mut counts.matrix.indices().iter().copied());
        numbers(&mut counts.matrix.values().iter().copied());
        numbers(&mut counts.assignments.offsets().iter().map(|&o| o as u32));
        numbers(&mut counts.assignments.indices().iter().copied());
        numbers(&mut counts.lengths.iter().copied());
        numbers(&mut counts.parts.iter().map(|part| part.map_or(9, |p| p as u32)));
        if !counts.weights.is_empty() {
            numbers(&mut counts.weights.iter().flat_map(|w| [w.to_bits() as u32, (w.to_bits() >> 32) as u32]));
        }
        let names = counts.vocabulary.iter().chain(counts.labels.iter()).chain(counts.ids.iter().map(String::as_str));
        for name in names.chain(counts.dates.iter().flatten().map(String::as_str)) {
            hasher.update(name.as_bytes());
            hasher.update(b"\n");
        }
        for node in taxonomy.map(Taxonomy::records).unwrap_or_default() {
            hasher.update(node.id.as_bytes());
            hasher.update(b"<");
            hasher.update(node.parent.unwrap_or_default().as_bytes());
        }
        Self {
            source: source.to_owned(),
            taxonomy: None,
            documents: counts.len(),
            terms: counts.vocabulary.len(),
            labels: counts.labels.len(),
            fingerprint: hasher.finalize().to_hex()[..16].to_owned(),
        }
    }
}

/// What `study.json` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    format: u32,
    program: String,
    /// Hash of everything in the plan that decides what the rows say.
    plan: String,
    seed: u64,
    corpus: Option<CorpusNote>,
}

impl Header {
    fn new(plan: &Plan, seed: u64, corpus: Option<CorpusNote>) -> Self {
        Self {
            format: FORMAT,
            program: format!("tamis {}", env!("CARGO_PKG_VERSION")),
            plan: blake3::hash(plan.essence(seed).as_bytes()).to_hex()[..32].to_owned(),
            seed,
            corpus,
        }
    }
}

/// A study's folder, open for writing. No other process can write to it meanwhile.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    rows: File,
    times: Option<File>,
    /// Bytes of finished units.
    length: u64,
    /// Rows of finished units.
    written: usize,
    /// A hash for each finished unit, in a line each: rows that were changed are not the rows of the study.
    units: File,
}

impl Folder {
    /// Begins a study in a new or empty folder. `text` is the plan's.
    pub fn create(
        path: impl AsRef<Path>,
        plan: &Plan,
        text: &str,
        seed: u64,
        corpus: Option<CorpusNote>,
    ) -> Result<Self> {
        let path = path.as_ref();
        if std::fs::metadata(path.join(ROWS)).is_ok_and(|m| m.len() > 0) {
            return Err(Error::File {
                path: path.to_owned(),
                reason: "has the rows of a study already; go on with the option `resume`, or choose another folder with the option `output`".into(),
            });
        }
        std::fs::create_dir_all(path).map_err(|e| Error::io(path, e))?;
        Self::begin(path, plan, text, &Header::new(plan, seed, corpus))
    }

    /// Goes on with a study, or begins it when it has not begun. Refuses the folder of another plan, seed or corpus, and
    /// shows the difference.
    pub fn resume(
        path: impl AsRef<Path>,
        plan: &Plan,
        text: &str,
        seed: u64,
        corpus: Option<CorpusNote>,
    ) -> Result<Self> {
        let path = path.as_ref();
        if !path.join(STUDY).exists() || std::fs::metadata(path.join(ROWS)).map_or(0, |m| m.len()) == 0 {
            return Self::create(path, plan, text, seed, corpus);
        }
        let header = Header::new(plan, seed, corpus);
        let found = read_header(path)?;
        if found.plan != header.plan {
            let stored = std::fs::read_to_string(path.join(PLAN)).map_err(|e| Error::io(path.join(PLAN), e))?;
            let stored = Plan::parse(&stored, path.join(PLAN))?.essence(found.seed);
            return Err(refused(path, "another plan", &difference(&stored, &plan.essence(seed))));
        }
        let same = |note: &CorpusNote| (note.fingerprint.clone(), note.documents);
        if found.corpus.as_ref().map(same) != header.corpus.as_ref().map(same) {
            let show = |note: &Option<CorpusNote>| serde_json::to_string_pretty(note).unwrap_or_default();
            return Err(refused(path, "another corpus", &difference(&show(&found.corpus), &show(&header.corpus))));
        }
        Self::open_rows(path)
    }

    fn begin(path: &Path, plan: &Plan, text: &str, header: &Header) -> Result<Self> {
        debug_assert_eq!(Plan::parse(text, "plan").ok().as_ref(), Some(plan));
        let json = serde_json::to_string_pretty(header).expect("names and numbers can be written as JSON");
        for (name, content) in [(PLAN, text), (STUDY, &json)] {
            let mut file = AtomicFile::create(path.join(name))?;
            file.write_all(content.as_bytes()).map_err(|e| Error::io(path.join(name), e))?;
            file.commit()?;
        }
        Self::open_rows(path)
    }

    fn open_rows(path: &Path) -> Result<Self> {
        let name = path.join(ROWS);
        let error = |e| Error::io(&name, e);
        let rows = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&name).map_err(error)?;
        match rows.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let reason = "another tamis is running this study now".into();
                return Err(Error::File { path: path.to_owned(), reason });
            }
            // A file system without locks is no reason to stop.
            Err(TryLockError::Error(_)) => {}
        }
        // The name of the file must be as durable as what is in it.
        #[cfg(unix)]
        File::open(path).and_then(|folder| folder.sync_all()).map_err(|e| Error::io(path, e))?;
        let name = path.join(UNITS);
        let units = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&name);
        let units = units.map_err(|e| Error::io(&name, e))?;
        Ok(Self { path: path.to_owned(), rows, times: None, length: 0, written: 0, units })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&mut self, error: &std::io::Error) -> Error {
        // What was half written goes; when even that fails, --resume cuts it off.
        let _ = self.rows.set_len(self.length);
        let source = std::io::Error::new(
            error.kind(),
            format!(
                "{error}; the {} rows of finished work are safe, what was being written is not: make room and go on with \
                 the option `resume`",
                self.written
            ),
        );
        Error::io(self.path.join(ROWS), source)
    }
}

fn refused(path: &Path, what: &str, difference: &str) -> Error {
    let reason = format!(
        "holds the rows of {what} (- there, + now):\n{difference}\nchoose another folder with -o, or go back to what it was"
    );
    Error::File { path: path.to_owned(), reason }
}

fn read_header(path: &Path) -> Result<Header> {
    let name = path.join(STUDY);
    let text = std::fs::read_to_string(&name).map_err(|e| Error::io(&name, e))?;
    let header: Header = serde_json::from_str(&text)
        .map_err(|e| Error::File { path: name.clone(), reason: format!("is no description of a study: {e}") })?;
    if header.format > FORMAT {
        let reason = format!("is of format {}, newer than this program knows ({FORMAT}); update tamis", header.format);
        return Err(Error::File { path: name, reason });
    }
    Ok(header)
}

/// The whole lines of a file, parsed; a last line without an end was torn by a crash and is left out.
fn whole_lines<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<(T, usize)>> {
    let mut parsed = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate().filter(|(_, line)| line.ends_with('\n')) {
        let value = serde_json::from_str(line)
            .map_err(|e| Error::malformed(path, number as u64 + 1, format!("is not a row of a study: {e}")))?;
        parsed.push((value, line.len()));
    }
    Ok(parsed)
}

impl Sink for Folder {
    fn resume(&mut self, sizes: &[usize]) -> Result<usize> {
        let name = self.path.join(ROWS);
        let mut bytes = Vec::new();
        self.rows.seek(SeekFrom::Start(0)).map_err(|e| Error::io(&name, e))?;
        self.rows.read_to_end(&mut bytes).map_err(|e| Error::io(&name, e))?;
        // A torn line may end inside a character.
        let end = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&bytes[..end]).map_err(|e| Error::malformed_file(&name, e.to_string()))?;
        let rows: Vec<(Row, usize)> = whole_lines(&name, text)?;
        let known = self.hashes()?;
        let mut hashes = String::new();
        let (mut units, mut done, mut length) = (0, 0, 0);
        for &size in sizes {
            if done + size > rows.len() {
                break;
            }
            let bytes_of_unit: usize = rows[done..done + size].iter().map(|(_, bytes)| *bytes).sum();
            let hash = hash_of_unit(&text.as_bytes()[length..length + bytes_of_unit]);
            match known.get(units) {
                Some(same) if *same == hash => {}
                Some(_) => {
                    let reason = format!(
                        "the rows {} to {} are not as they were written: somebody changed them; choose another folder with the \
                         option `output`, or delete this one",
                        done + 1,
                        done + size
                    );
                    return Err(Error::File { path: name, reason });
                }
                // The last unit was finished and its hash not yet on the disk, or the folder is of a version without.
                None if known.is_empty() || units == known.len() => {}
                None => break,
            }
            hashes.push_str(&hash);
            hashes.push('\n');
            length += bytes_of_unit;
            done += size;
            units += 1;
        }
        let length = length as u64;
        if units == sizes.len() && rows.len() > done {
            let reason = format!("has {} rows, and the study gives {done}", rows.len());
            return Err(Error::File { path: name, reason });
        }
        // Rows of a unit that was not finished go as well: the unit is done again.
        self.rows
            .set_len(length)
            .and_then(|()| self.rows.seek(SeekFrom::Start(length)))
            .and_then(|_| self.rows.sync_all())
            .map_err(|e| Error::io(&name, e))?;
        (self.length, self.written) = (length, done);
        let name = self.path.join(UNITS);
        self.units
            .set_len(0)
            .and_then(|()| self.units.seek(SeekFrom::Start(0)))
            .and_then(|_| self.units.write_all(hashes.as_bytes()))
            .and_then(|()| self.units.sync_all())
            .map_err(|e| Error::io(&name, e))?;
        Ok(units)
    }

    fn unit(&mut self, rows: &[Row]) -> Result<()> {
        let text: String = rows.iter().map(Row::line).collect();
        let done = self.rows.write_all(text.as_bytes()).and_then(|()| self.rows.sync_data());
        if let Err(error) = done {
            return Err(self.failed(&error));
        }
        self.length += text.len() as u64;
        self.written += rows.len();
        let line = hash_of_unit(text.as_bytes()) + "\n";
        self.units.write_all(line.as_bytes()).map_err(|e| Error::io(self.path.join(UNITS), e))
    }

    fn time(&mut self, timing: &Timing) {
        if self.times.is_none() {
            self.times = OpenOptions::new().append(true).create(true).open(self.path.join(TIMES)).ok();
        }
        if let (Some(file), Ok(mut line)) = (&mut self.times, serde_json::to_string(timing)) {
            line.push('\n');
            // Times are worth having, not worth failing for.
            let _ = file.write_all(line.as_bytes());
        }
    }
}

/// What tells the rows of a unit from others.
fn hash_of_unit(rows: &[u8]) -> String {
    blake3::hash(rows).to_hex()[..32].to_owned()
}

impl Folder {
    /// The hashes of finished units; a torn last line is left out.
    fn hashes(&mut self) -> Result<Vec<String>> {
        let mut text = String::new();
        let read = self.units.seek(SeekFrom::Start(0)).and_then(|_| self.units.read_to_string(&mut text));
        read.map_err(|e| Error::io(self.path.join(UNITS), e))?;
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        Ok(whole.map(|line| line.trim().to_owned()).collect())
    }
}

/// What a study's folder says.
#[derive(Debug, Clone)]
pub struct Record {
    /// The plan.
    pub plan: Plan,
    /// The seed it ran with.
    pub seed: u64,
    /// The corpus it ran on.
    pub corpus: Option<CorpusNote>,
    /// All whole rows.
    pub rows: Vec<Row>,
    /// Times, as far as there are any.
    pub times: Vec<Timing>,
}

impl Record {
    /// Reads a folder, finished or not.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if !path.join(STUDY).is_file() {
            let reason = format!("is no folder of a study: it has no {STUDY}");
            return Err(Error::File { path: path.to_owned(), reason });
        }
        let Header { seed, corpus, .. } = read_header(path)?;
        let text = std::fs::read_to_string(path.join(PLAN)).map_err(|e| Error::io(path.join(PLAN), e))?;
        let plan = Plan::parse(&text, path.join(PLAN))?;
        let name = path.join(ROWS);
        let bytes = std::fs::read(&name).map_err(|e| Error::io(&name, e))?;
        let rows = whole_lines(&name, &String::from_utf8_lossy(&bytes))?.into_iter().map(|(row, _)| row).collect();
        let times = std::fs::read(path.join(TIMES)).unwrap_or_default();
        let times = String::from_utf8_lossy(&times);
        let times = times.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { plan, seed, corpus, rows, times })
    }
}
