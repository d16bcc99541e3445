//! Damaged input of every kind, in process: nothing panics, nothing hangs, and what is accepted is whole.
//!
//! A case is a number: the same seed gives the same cases anywhere. By default a few thousand of each kind run; `cargo xtask torture`
//! runs them for as long as it is told (`TAMIS_TORTURE_SECONDS` for each kind), and `TAMIS_TORTURE_SEED` draws others.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod mutate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutate::Damage;
use tamis::Silent;
use tamis::corpus::{Format, ReadOptions, WriteOptions, Writer, open, synth};
use tamis::counts::{CountOptions, Counts, CountsFile, count};
use tamis::features::Size;
use tamis::hierarchy::pipeline::ScoreTable;
use tamis::hierarchy::{Taxonomy, TaxonomyOptions};
use tamis::model::{FitOptions, Model};

/// Cases of a kind where nobody asks for more.
const USUAL: u64 = 1500;
/// A case that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(20);

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs cases and counts what became of them; a case returns whether its input was accepted.
fn torture(kind: &str, mut case: impl FnMut(&mut Damage) -> bool) {
    let seed = setting("TAMIS_TORTURE_SEED").unwrap_or(1);
    let (begin, time) = (Instant::now(), setting("TAMIS_TORTURE_SECONDS").map(Duration::from_secs));
    let (mut cases, mut accepted) = (0, 0);
    while time.map_or(cases < USUAL, |time| begin.elapsed() < time) {
        let started = Instant::now();
        let found = catch_unwind(AssertUnwindSafe(|| case(&mut Damage::new(seed, cases))));
        let found = found.unwrap_or_else(|_| panic!("{kind}: case {cases} of seed {seed} panics"));
        assert!(started.elapsed() < LONGEST, "{kind}: case {cases} of seed {seed} took {:?}", started.elapsed());
        (cases, accepted) = (cases + 1, accepted + u64::from(found));
    }
    println!("torture: {kind}: {cases} cases, {accepted} accepted, {} refused, no failure", cases - accepted);
}

fn documents() -> synth::SynthOptions {
    synth::SynthOptions { documents: 12, ..synth::SynthOptions::of(synth::Shape::Topics) }
}

/// A small corpus of a format that can be written.
fn written(folder: &Path, format: Format) -> Vec<u8> {
    let path = folder.join(format!("whole.{}", format.spec().endings[0]));
    let mut writer = Writer::create(&path, &WriteOptions { to: Some(format), ..WriteOptions::default() }).unwrap();
    let generator = synth::Generator::new(&documents()).unwrap();
    (0..12).for_each(|n| writer.write(&generator.document(n)).unwrap());
    writer.finish().unwrap();
    std::fs::read(path).unwrap()
}

const REUTERS: &str = r#"<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="1">
<DATE>26-FEB-1987 15:01:01.79</DATE><TOPICS><D>cocoa</D><D>trade</D></TOPICS><PLACES><D>usa</D></PLACES>
<TEXT>&#2;<TITLE>COCOA REVIEW</TITLE><BODY>Showers continued &lt;in&gt; the zone.&#3;</BODY></TEXT></REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="2" NEWID="2">
<TOPICS><D>grain</D></TOPICS><TEXT TYPE="BRIEF"><TITLE>WHEAT</TITLE></TEXT></REUTERS>
"#;
const REVIEW: &str = "<review>\n<unique_id>\n1\n</unique_id>\n<rating>\n5.0\n</rating>\n<review_text>\nGood & cheap.\n</review_text>\n</review>\n<review>\n<rating>\n1.0\n</rating>\n<review_text>\nBad.\n</review_text>\n</review>\n";
const LYRL: &str = ".I 2286\n.W\nrecov recov excit\nmexic\n\n.I 2287\n.W\nplay match\n";

/// Reads a damaged file of a format to its end, and counts it where it could be read.
fn read_damaged(format: Format, whole: &[u8], ending: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("damaged.{ending}"));
    let options = ReadOptions { from: Some(format), max_record_bytes: 1 << 20, ..ReadOptions::default() };
    torture(&format!("{format} files"), |damage| {
        let bytes = damage.of(whole, REUTERS.as_bytes());
        std::fs::write(&path, bytes).unwrap();
        let paths: [PathBuf; 1] = [path.clone()];
        let Ok(corpus) = open(&paths, &options) else { return false };
        let Ok(tally) = corpus.for_each(|_| Ok(())) else { return false };
        let (counts, _) = count(corpus.batches().unwrap(), &CountOptions::default(), &Silent).unwrap();
        assert_eq!(counts.len() as u64, tally.documents, "two ways of reading agree");
        true
    });
}

macro_rules! formats {
    ($($name:ident $format:ident $ending:literal $whole:expr;)*) => {
        $(#[test]
        fn $name() {
            let folder = tempfile::tempdir().unwrap();
            let whole: fn(&Path) -> Vec<u8> = $whole;
            read_damaged(Format::$format, &whole(folder.path()), $ending);
        })*
    };
}

formats! {
    jsonl Jsonl "jsonl" |folder| written(folder, Format::Jsonl);
    csv Csv "csv" |folder| written(folder, Format::Csv);
    tsv Tsv "tsv" |folder| written(folder, Format::Tsv);
    svmlight SvmLight "svm" |folder| written(folder, Format::SvmLight);
    fasttext FastText "txt" |folder| written(folder, Format::FastText);
    reuters Reuters "sgm" |_| REUTERS.into();
    review Review "review" |_| REVIEW.into();
    lyrl Lyrl "dat" |_| LYRL.into();
}

#[cfg(feature = "parquet")]
#[test]
fn parquet() {
    let folder = tempfile::tempdir().unwrap();
    read_damaged(Format::Parquet, &written(folder.path(), Format::Parquet), "parquet");
}

/// Compressed files, damaged outside and inside.
#[test]
fn gzip() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.jsonl.gz");
    let mut writer = Writer::create(&path, &WriteOptions::default()).unwrap();
    let generator = synth::Generator::new(&documents()).unwrap();
    (0..12).for_each(|n| writer.write(&generator.document(n)).unwrap());
    writer.finish().unwrap();
    read_damaged(Format::Jsonl, &std::fs::read(path).unwrap(), "jsonl.gz");
}

fn counted() -> Counts {
    count(synth::batches(&documents()).unwrap(), &CountOptions::default(), &Silent).unwrap().0
}

/// A damaged model is refused, or is the model.
#[test]
fn models() {
    let counts = counted();
    let fit = |classifier: &str, threshold: &str| {
        let options = FitOptions {
            by: Some("chi2max".parse().unwrap()),
            features: Some(Size::Top(40)),
            classifier: Some(classifier.parse().unwrap()),
            threshold: Some(threshold.parse().unwrap()),
            folds: Some(0),
            ..FitOptions::default()
        };
        options.fit(&counts, &counts.rows(), &Silent).unwrap().model.to_bytes().unwrap()
    };
    let whole = [fit("svm", "rcut(1)"), fit("bayes", "fixed(0)"), fit("knn(3)", "rcut(2)")];
    torture("models", |damage| {
        let (one, other) = (&whole[damage.below(3)], &whole[damage.below(3)]);
        match Model::from_bytes(&damage.of(one, other)) {
            Err(_) => false,
            Ok(model) => {
                assert!(whole.contains(&model.to_bytes().unwrap()), "a damaged model was taken");
                true
            }
        }
    });
}

#[test]
fn counts_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.counts");
    let counts = counted();
    let contingency = tamis::counts::Contingency::of(&counts);
    let text = (*counts.text).clone();
    CountsFile { text, pruned: tamis::counts::Pruned::default(), contingency }.write(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let damaged = folder.path().join("damaged.counts");
    torture("counts files", |damage| {
        let bytes = damage.of(&whole, &whole);
        std::fs::write(&damaged, &bytes).unwrap();
        let accepted = CountsFile::read(&damaged).is_ok();
        assert!(!accepted || bytes == whole, "damaged counts were taken");
        accepted
    });
}

#[test]
fn taxonomies_and_score_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.tsv");
    let wholes =
        ["a\troot\tAll\nb\ta\tSome\nc\ta\nd\tb\n", "parent: Root child: A child-description: a\nparent: A child: A1\n"];
    let table = "truth\tlevel1\tlevel2\n1\t0.5\t0.25\n0\t1\t0\n1\t0.125\t0.75\n";
    torture("taxonomies", |damage| {
        let whole = damage.pick(&wholes);
        std::fs::write(&path, damage.of(whole.as_bytes(), table.as_bytes())).unwrap();
        let Ok(tree) = Taxonomy::open(&path, &TaxonomyOptions::default()) else { return false };
        assert!(tree.nodes().all(|n| tree.ancestors(n).count() < tree.len()), "no node is above itself");
        true
    });
    torture("score tables", |damage| {
        let bytes = damage.of(table.as_bytes(), wholes[0].as_bytes());
        let Ok(read) = ScoreTable::read(bytes.as_slice(), "t.tsv") else { return false };
        assert!((0..read.depth()).all(|k| read.level(k).iter().all(|s| (0.0..=1.0).contains(s))));
        true
    });
}

/// What can be written down: a parsed expression prints as one that is parsed to the same.
#[test]
fn expressions() {
    const PARTS: [&str; 44] = [
        "chi2max",
        "ig",
        "df",
        "wfo",
        "lr",
        "hr",
        "ar",
        "wr",
        "os",
        "sffs",
        "ib",
        "@1",
        "@",
        "(",
        ")",
        ",",
        "*",
        "+",
        "0.3",
        "1",
        "-1",
        "1e400",
        "auto",
        "words",
        "chars",
        "title:",
        "1-2",
        "3-5",
        "stem=english",
        "stop=",
        "kind=text",
        "svm",
        "bayes",
        "knn",
        "c=",
        "vectors=tfidf*rf",
        "scut",
        "rcut",
        "pcut",
        "F1@macro",
        "nDCG@",
        "random",
        "prior",
        "é",
    ];
    fn back<T: std::str::FromStr + ToString + PartialEq>(text: &str) -> bool {
        let Ok(parsed) = text.parse::<T>() else { return false };
        let printed = parsed.to_string();
        assert!(printed.parse::<T>().is_ok_and(|again| again == parsed), "{text:?} prints as {printed:?}");
        true
    }
    torture("expressions", |damage| {
        let mut text = String::new();
        for _ in 0..=damage.below(9) {
            text.push_str(damage.pick(&PARTS));
        }
        [
            back::<tamis::features::Selector>(&text),
            back::<tamis::terms::TextOptions>(&text),
            back::<tamis::classify::ClassifierSpec>(&text),
            back::<tamis::threshold::Threshold>(&text),
            back::<tamis::measure::Measure>(&text),
            back::<tamis::counts::SplitPlan>(&text),
            back::<tamis::hierarchy::pipeline::Imbalance>(&text),
            back::<tamis::hierarchy::pipeline::Utility>(&text),
        ]
        .contains(&true)
    });
}

#[test]
fn plans() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut wholes: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    wholes.sort();
    torture("plans", |damage| {
        let (one, other) = (damage.below(wholes.len()), damage.below(wholes.len()));
        let bytes = damage.of(wholes[one].as_bytes(), wholes[other].as_bytes());
        tamis::study::Plan::parse(&String::from_utf8_lossy(&bytes), Path::new("damaged.toml")).is_ok()
    });
}
