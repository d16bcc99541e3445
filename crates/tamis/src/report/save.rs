//! Plots as files.

use std::io::Write;
use std::path::Path;

use super::Page;
use crate::atomic::AtomicFile;
use crate::{Error, Result};

/// How large a PNG is beside its SVG: sharp in print, readable on a slide.
#[cfg(feature = "png")]
const SCALE: f32 = 2.0;

/// Saves the plots of a page into a folder, which is made when there is none: as SVG, and as PNG where asked for.
pub fn save_figures(page: &Page, folder: impl AsRef<Path>, png: bool) -> Result<()> {
    let folder = folder.as_ref();
    if png && cfg!(not(feature = "png")) {
        return Err(Error::invalid("png", true, "this build cannot draw PNG; build with the feature png"));
    }
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    for (name, svg) in page.figures() {
        save(&folder.join(format!("{name}.svg")), svg.as_bytes())?;
    }
    #[cfg(feature = "png")]
    if png {
        use rayon::prelude::*;
        page.figures()
            .par_iter()
            .try_for_each(|(name, svg)| save(&folder.join(format!("{name}.png")), &super::png(svg, SCALE)?))?;
    }
    Ok(())
}

fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|e| Error::io(path, e))?;
    file.commit()
}

impl Page {
    /// Saves the page.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), self.finish().as_bytes())
    }
}
