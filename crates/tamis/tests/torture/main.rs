//! Damaged input of every kind, in process: nothing panics, nothing hangs, and what is accepted is whole.
//!
//! A case is a number: the same seed gives the same cases anywhere. By default a few thousand of each kind run; `cargo xtask torture`
//! runs them for as long as it is told (`TAMIS_TORTURE_SECONDS` for each kind), and `TAMIS_TORTURE_SEED` draws others.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod kinds;
mod mutate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use kinds::PARTS;
use mutate::Damage;

/// Cases of a kind where nobody asks for more.
const USUAL: u64 = 1500;
/// A case that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(20);

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs cases of a kind and counts what became of them.
fn torture(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut kind = kinds::kind(name, folder.path());
    let seed = setting("TAMIS_TORTURE_SEED").unwrap_or(1);
    let (begin, time) = (Instant::now(), setting("TAMIS_TORTURE_SECONDS").map(Duration::from_secs));
    let (mut cases, mut accepted) = (0, 0);
    while time.map_or(cases < USUAL, |time| begin.elapsed() < time) {
        let started = Instant::now();
        let damage = &mut Damage::new(seed, cases);
        let bytes = if name == "expressions" {
            (0..=damage.below(9)).map(|_| damage.pick(&PARTS)).collect::<String>().into_bytes()
        } else {
            let (one, other) = (damage.below(kind.wholes.len()), damage.below(kind.wholes.len()));
            damage.of(&kind.wholes[one], &kind.wholes[other])
        };
        let found = catch_unwind(AssertUnwindSafe(|| (kind.case)(&bytes)));
        let found = found.unwrap_or_else(|_| panic!("{name}: case {cases} of seed {seed} panics"));
        assert!(started.elapsed() < LONGEST, "{name}: case {cases} of seed {seed} took {:?}", started.elapsed());
        (cases, accepted) = (cases + 1, accepted + u64::from(found));
    }
    println!("torture: {name}: {cases} cases, {accepted} accepted, {} refused, no failure", cases - accepted);
}

macro_rules! kinds {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            torture(stringify!($name));
        })*
    };
}

kinds! { jsonl csv tsv svmlight fasttext reuters review lyrl gzip models counts taxonomies scores plans expressions }

#[cfg(feature = "parquet")]
#[test]
fn parquet() {
    torture("parquet");
}
