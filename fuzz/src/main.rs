//! Coverage-guided fuzzing of everything that is read: `cargo xtask fuzz [KIND…]`. One program for all kinds; `TAMIS_FUZZ` names
//! the one to run, and `TAMIS_FUZZ_SEEDS` the folder into which whole samples are written first.
#![no_main]
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod http;
#[path = "../../crates/tamis/tests/torture/kinds.rs"]
mod kinds;

use std::cell::RefCell;
use std::path::Path;

use kinds::Kind;

thread_local! {
    static KIND: RefCell<Option<Kind>> = const { RefCell::new(None) };
}

/// The kind that is asked for. Its files are in memory where the machine has such a folder: a case is one write and two reads.
fn begin() -> Kind {
    let name = std::env::var("TAMIS_FUZZ").expect("TAMIS_FUZZ names a kind of input");
    if name == "names" {
        kinds::NAMES.iter().chain(&["http"]).for_each(|name| println!("{name}"));
        std::process::exit(0);
    }
    let memory = Path::new("/dev/shm");
    let near = if memory.exists() { memory.to_path_buf() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(near).unwrap().keep();
    let kind = if name == "http" { http::kind(&folder) } else { kinds::kind(&name, &folder) };
    if let Some(seeds) = std::env::var_os("TAMIS_FUZZ_SEEDS") {
        for (number, whole) in kind.wholes.iter().enumerate() {
            std::fs::write(Path::new(&seeds).join(format!("whole-{number}")), whole).unwrap();
        }
        std::fs::write(Path::new(&seeds).with_extension("folder"), folder.to_str().unwrap()).unwrap();
    }
    kind
}

libfuzzer_sys::fuzz_target!(
    init: KIND.with(|kind| *kind.borrow_mut() = Some(begin())),
    |bytes: &[u8]| {
        KIND.with(|kind| {
            if let Some(kind) = kind.borrow_mut().as_mut() {
                (kind.case)(bytes);
            }
        });
    }
);
