//! The models by name, and new files swapped in.
//!
//! Each file has a thread that looks at it: a file that cannot be read to its end (a stalled mount) keeps only itself from
//! being replaced, and nobody waits for that thread.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use tamis::model::Model;

use crate::App;
use crate::options::ModelSource;
use crate::problem::Problem;
use crate::served::Served;

/// What tells one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    changed: SystemTime,
    bytes: u64,
    inode: u64,
}

impl Stamp {
    fn of(path: &Path) -> tamis::Result<Self> {
        let data = std::fs::metadata(path).map_err(|e| tamis::Error::io(path, e))?;
        if !data.is_file() {
            // A pipe may never end, and gives its bytes only once.
            let name = path.display();
            return Err(tamis::Error::data(format!("{name}: a model is served from a regular file; copy it to one")));
        }
        Self::from(&data).map_err(|e| tamis::Error::io(path, e))
    }

    fn from(data: &Metadata) -> std::io::Result<Self> {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(data);
        #[cfg(not(unix))]
        let inode = 0;
        Ok(Self { changed: data.modified()?, bytes: data.len(), inode })
    }
}

struct Slot {
    name: String,
    /// Number of its file.
    file: usize,
    served: RwLock<Arc<Served>>,
}

/// A file that models are served from.
struct Source {
    path: PathBuf,
    watch: Mutex<Watch>,
}

/// What is known about a file.
#[derive(Debug, Clone, Copy)]
struct Watch {
    /// The state that was read, or refused.
    settled: Option<Stamp>,
    /// The state seen last time: a file is read when it did not change for one look.
    last: Option<Stamp>,
    /// What is in service, once it was read again.
    hash: Option<blake3::Hash>,
}

/// All models, in the order given.
pub(crate) struct Models {
    slots: Vec<Slot>,
    files: Vec<Source>,
}

impl Models {
    pub(crate) fn load(sources: &[ModelSource]) -> tamis::Result<Self> {
        if sources.is_empty() {
            return Err(tamis::Error::invalid("model", "none", "name at least one model file"));
        }
        let mut models = Self { slots: Vec::new(), files: Vec::new() };
        for ModelSource { name, path } in sources {
            if models.slots.iter().any(|s| s.name == *name) {
                let reason = "another model has this name; give names as NAME=FILE";
                return Err(tamis::Error::invalid("model", name, reason));
            }
            // One file is read once, whatever the number of its names.
            let served = match models.slots.iter().find(|s| models.files[s.file].path == *path) {
                Some(slot) => slot.current().renamed(name.clone()),
                None => {
                    let stamp = Stamp::of(path)?;
                    // Mapped: the file is read once, as it is verified.
                    let model = Model::read(path)?;
                    let watch = Mutex::new(Watch { settled: Some(stamp), last: Some(stamp), hash: None });
                    models.files.push(Source { path: path.clone(), watch });
                    Served::new(name.clone(), model, stamp.bytes, 1)
                }
            };
            let file = models.files.iter().position(|f| f.path == *path).unwrap_or(0);
            models.slots.push(Slot { name: name.clone(), file, served: RwLock::new(Arc::new(served)) });
        }
        Ok(models)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.slots.iter().map(|s| s.name.clone()).collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Served>> {
        self.slots.iter().map(Slot::current).collect()
    }

    /// The named model, or the first.
    pub(crate) fn get(&self, name: Option<&str>) -> Result<Arc<Served>, Problem> {
        let slot = match name {
            None => self.slots.first(),
            Some(name) => self.slots.iter().find(|s| s.name == name),
        };
        slot.map(Slot::current).ok_or_else(|| {
            let known = self.slots.iter().map(|s| s.name.as_str());
            tamis::Error::unknown("model", name.unwrap_or_default(), known).into()
        })
    }
}

impl Slot {
    fn current(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn swap(&self, model: Model, bytes: u64) -> u64 {
        let generation = self.current().generation + 1;
        let served = Arc::new(Served::new(self.name.clone(), model, bytes, generation));
        served.warm();
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = served;
        generation
    }
}

/// The threads that look at files. They end when this is dropped, as soon as they can.
pub(crate) struct Watchers(Vec<mpsc::Sender<()>>);

impl Watchers {
    /// Lets every file be read, changed or not.
    pub(crate) fn look_now(&self) {
        tracing::info!("told to read the models again");
        for thread in &self.0 {
            let _ = thread.send(());
        }
    }
}

/// Looks at the model files now and then, each on a thread of its own.
pub(crate) fn watch(app: &Arc<App>) -> Watchers {
    let start = |file: usize| {
        let (tell, told) = mpsc::channel();
        let app = Arc::clone(app);
        let path = app.models.files[file].path.clone();
        let thread = std::thread::Builder::new().name("model".into());
        if let Err(error) = thread.spawn(move || watch_file(&app, file, &told)) {
            tracing::warn!("{}: changes will not be seen: {error}", path.display());
        }
        tell
    };
    Watchers((0..app.models.files.len()).map(start).collect())
}

fn watch_file(app: &App, file: usize, told: &mpsc::Receiver<()>) {
    app.models.slots.iter().filter(|s| s.file == file).for_each(|s| s.current().warm());
    let every = app.options.reload;
    loop {
        let now = if every.is_zero() {
            told.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            told.recv_timeout(every)
        };
        match now {
            Ok(()) => look(app, file, true),
            Err(RecvTimeoutError::Timeout) => look(app, file, false),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Looks at a file, and swaps in what is new and whole. `told` when someone asks for it: then it is read at once.
fn look(app: &App, file: usize, told: bool) {
    let Source { path, watch } = &app.models.files[file];
    let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = Stamp::of(path);
    let now = seen.as_ref().ok().copied();
    // Unless told, wait until it stays the same for one look: it may still be written.
    let still = now == watch.last;
    watch.last = now;
    if !told && (now == watch.settled || !still) {
        return;
    }
    let read = match seen {
        Ok(_) => {
            app.metrics.read.fetch_add(1, Ordering::Relaxed);
            read(path)
        }
        Err(error) => Err(error),
    };
    let loaded = match read {
        // Not what was looked at: later.
        Ok((_, stamp)) if Some(stamp) != Stamp::of(path).ok() => return,
        Ok((bytes, stamp)) => {
            let hash = blake3::hash(&bytes);
            watch.settled = Some(stamp);
            watch.last = Some(stamp);
            if watch.hash == Some(hash) {
                tracing::info!("{}: the same model as before", path.display());
                return;
            }
            Model::from_bytes(&bytes).map(|model| (model, hash, stamp.bytes))
        }
        Err(error) => {
            watch.settled = now;
            Err(error)
        }
    };
    match loaded {
        Ok((model, hash, bytes)) => {
            watch.hash = Some(hash);
            for slot in app.models.slots.iter().filter(|s| s.file == file) {
                let generation = slot.swap(model.clone(), bytes);
                app.metrics.swapped.fetch_add(1, Ordering::Relaxed);
                tracing::info!(model = %slot.name, generation, "{}: new model in service", path.display());
            }
        }
        Err(error) => {
            app.metrics.refused.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("{}: refused, the old model keeps serving: {error}", path.display());
        }
    }
}

/// The bytes of a file, and the state they are of. Read into memory instead of mapped: whoever writes the file in place
/// cannot take the ground from under us.
fn read(path: &Path) -> tamis::Result<(Vec<u8>, Stamp)> {
    let failed = |e| tamis::Error::io(path, e);
    let mut file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    let stamp = Stamp::from(&file.metadata().map_err(failed)?).map_err(failed)?;
    Ok((bytes, stamp))
}
