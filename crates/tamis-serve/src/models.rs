//! The models by name, and new files swapped in.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use tamis::model::Model;

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
    fn of(path: &Path) -> std::io::Result<Self> {
        let data = std::fs::metadata(path)?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&data);
        #[cfg(not(unix))]
        let inode = 0;
        Ok(Self { changed: data.modified()?, bytes: data.len(), inode })
    }
}

struct Slot {
    source: ModelSource,
    served: RwLock<Arc<Served>>,
    watch: RwLock<Watch>,
}

/// What is known about the file.
#[derive(Debug, Clone, Copy)]
struct Watch {
    /// The state that was read, or refused.
    settled: Option<Stamp>,
    /// The state seen last time: a file is read when it did not change for one look.
    last: Option<Stamp>,
}

/// All models, in the order given.
pub(crate) struct Models {
    slots: Vec<Slot>,
}

/// What a look at the files did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileSeen {
    pub(crate) swapped: u64,
    pub(crate) refused: u64,
}

impl Models {
    pub(crate) fn load(sources: &[ModelSource]) -> tamis::Result<Self> {
        if sources.is_empty() {
            return Err(tamis::Error::invalid("model", "none", "name at least one model file"));
        }
        let mut slots: Vec<Slot> = Vec::new();
        for source in sources {
            if slots.iter().any(|s| s.source.name == source.name) {
                let reason = "another model has this name; give names as NAME=FILE";
                return Err(tamis::Error::invalid("model", &source.name, reason));
            }
            let stamp = Stamp::of(&source.path).map_err(|e| tamis::Error::io(&source.path, e))?;
            // Mapped: the file is read once, as it is verified.
            let model = Model::read(&source.path)?;
            let served = Arc::new(Served::new(source.name.clone(), model, stamp.bytes, 1));
            let watch = RwLock::new(Watch { settled: Some(stamp), last: Some(stamp) });
            slots.push(Slot { source: source.clone(), served: RwLock::new(served), watch });
        }
        Ok(Self { slots })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.slots.iter().map(|s| s.source.name.clone()).collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Served>> {
        self.slots.iter().map(Slot::current).collect()
    }

    /// The named model, or the first.
    pub(crate) fn get(&self, name: Option<&str>) -> Result<Arc<Served>, Problem> {
        let slot = match name {
            None => self.slots.first(),
            Some(name) => self.slots.iter().find(|s| s.source.name == name),
        };
        slot.map(Slot::current).ok_or_else(|| {
            let known = self.slots.iter().map(|s| s.source.name.as_str());
            tamis::Error::unknown("model", name.unwrap_or_default(), known).into()
        })
    }

    /// Looks at every file, and swaps in what is new and whole. Reads and verifies: not for an async thread.
    pub(crate) fn look(&self) -> FileSeen {
        let mut looked = FileSeen::default();
        for slot in &self.slots {
            match slot.look() {
                Some(true) => looked.swapped += 1,
                Some(false) => looked.refused += 1,
                None => {}
            }
        }
        looked
    }
}

impl Slot {
    fn current(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a new file was swapped in (true), refused (false), or there is none.
    fn look(&self) -> Option<bool> {
        let path = &self.source.path;
        let now = Stamp::of(path).ok();
        let watch = *self.watch.read().unwrap_or_else(PoisonError::into_inner);
        let remember = |watch: Watch| *self.watch.write().unwrap_or_else(PoisonError::into_inner) = watch;
        if now == watch.settled {
            remember(Watch { last: now, ..watch });
            return None;
        }
        if now != watch.last {
            // It may still be written: wait until it stays the same for one look.
            remember(Watch { last: now, ..watch });
            return None;
        }
        let done = self.replace(now);
        if Stamp::of(path).ok() == now {
            remember(Watch { settled: now, last: now });
        }
        Some(done)
    }

    fn replace(&self, stamp: Option<Stamp>) -> bool {
        let (name, path) = (&self.source.name, &self.source.path);
        // Read into memory instead of mapped: whoever writes the file in place cannot take the ground from under us.
        let model = match std::fs::read(path) {
            Ok(bytes) => Model::from_bytes(&bytes),
            Err(error) => Err(tamis::Error::io(path, error)),
        };
        match model {
            Ok(model) => {
                let generation = self.current().generation + 1;
                let served = Arc::new(Served::new(name.clone(), model, stamp.map_or(0, |s| s.bytes), generation));
                served.warm();
                *self.served.write().unwrap_or_else(PoisonError::into_inner) = served;
                tracing::info!(model = %name, generation, "{}: new model in service", path.display());
                true
            }
            Err(error) => {
                tracing::warn!(model = %name, "{}: refused, the old model keeps serving: {error}", path.display());
                false
            }
        }
    }
}
