//! `cargo xtask`: everything about the project that is not the product.
//!
//! ```text
//! cargo xtask test [FILTER]   installs what the tests need and runs all of them
//! cargo xtask bench NAME      prints a table: what was run, ours, peer, ratio
//! cargo xtask reproduce [NAME]   published tables and figures, run again and compared: [--accept] [--resume] [--list]
//! cargo xtask torture         damaged input, kills and full disks, or `server`: [--minutes N] [--seed S]
//! cargo xtask fuzz [KIND]     a coverage-guided fuzzer on what is read: [--runs N]
//! cargo xtask wheel           builds the Python package into target/wheels
//! cargo xtask docs            writes the pages that are made from the code; --check fails when they are stale
//! ```

mod bench;
mod docs;
mod fuzz;
mod markdown;
mod reproduce;
mod run;
mod test;
mod torture;
mod wheel;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test", filter @ ..] => test::run(filter),
        ["bench"] => bench::list(),
        ["bench", name, rest @ ..] => bench::run(name, rest),
        ["reproduce", rest @ ..] => reproduce::run(rest),
        ["torture", rest @ ..] => torture::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["wheel"] => wheel::run(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        _ => bail!(
            "usage: cargo xtask test [FILTER] | bench [NAME] | reproduce [NAME] | torture | fuzz | wheel | docs [--check]"
        ),
    }
}
