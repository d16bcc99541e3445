//! What can be damaged: whole samples of each kind, and what must hold of anything that is made of them. The torture tests damage
//! them at random; `cargo xtask fuzz` lets a coverage-guided fuzzer do it.

use std::path::{Path, PathBuf};

use tamis::Silent;
use tamis::corpus::{Format, ReadOptions, WriteOptions, Writer, open, synth};
use tamis::counts::{Contingency, CountOptions, Counts, CountsFile, Pruned, count};
use tamis::features::Size;
use tamis::hierarchy::pipeline::ScoreTable;
use tamis::hierarchy::{Taxonomy, TaxonomyOptions};
use tamis::model::{FitOptions, Model};

/// A kind of input.
pub(crate) struct Kind {
    /// Samples that are accepted.
    pub(crate) wholes: Vec<Vec<u8>>,
    /// Takes bytes and tells whether they were accepted; panics where a promise is broken.
    pub(crate) case: Box<dyn FnMut(&[u8]) -> bool>,
}

impl Kind {
    fn new(wholes: Vec<Vec<u8>>, case: impl FnMut(&[u8]) -> bool + 'static) -> Self {
        Self { wholes, case: Box::new(case) }
    }
}

/// Names of all kinds.
#[allow(dead_code, reason = "the fuzzer lists them")]
pub(crate) const NAMES: [&str; 16] = [
    "jsonl",
    "csv",
    "tsv",
    "svmlight",
    "fasttext",
    "reuters",
    "review",
    "lyrl",
    "parquet",
    "gzip",
    "models",
    "counts",
    "taxonomies",
    "scores",
    "plans",
    "expressions",
];

/// The kind of a name; files are put into the folder.
pub(crate) fn kind(name: &str, folder: &Path) -> Kind {
    let corpus = |format: Format, whole: Vec<u8>, ending: &str| {
        corpus_file(format, whole, &folder.join(format!("damaged.{ending}")))
    };
    let written = |format: Format| written(&folder.join(format!("whole.{}", format.spec().endings[0])), Some(format));
    match name {
        "jsonl" => corpus(Format::Jsonl, written(Format::Jsonl), "jsonl"),
        "csv" => corpus(Format::Csv, written(Format::Csv), "csv"),
        "tsv" => corpus(Format::Tsv, written(Format::Tsv), "tsv"),
        "svmlight" => corpus(Format::SvmLight, written(Format::SvmLight), "svm"),
        "fasttext" => corpus(Format::FastText, written(Format::FastText), "txt"),
        "reuters" => corpus(Format::Reuters, REUTERS.into(), "sgm"),
        "review" => corpus(Format::Review, REVIEW.into(), "review"),
        "lyrl" => corpus(Format::Lyrl, LYRL.into(), "dat"),
        #[cfg(feature = "parquet")]
        "parquet" => corpus(Format::Parquet, written(Format::Parquet), "parquet"),
        "gzip" => {
            let whole = self::written(&folder.join("whole.jsonl.gz"), None);
            corpus_file(Format::Jsonl, whole, &folder.join("damaged.jsonl.gz"))
        }
        "models" => models(),
        "counts" => counts_files(folder),
        "taxonomies" => taxonomies(folder),
        "scores" => Kind::new(vec![SCORES.into(), TAXONOMIES[0].into()], |bytes| {
            let Ok(read) = ScoreTable::read(bytes, "t.tsv") else { return false };
            assert!((0..read.depth()).all(|k| read.level(k).iter().all(|s| (0.0..=1.0).contains(s))));
            true
        }),
        "plans" => Kind::new(plans(), |bytes| {
            tamis::study::Plan::parse(&String::from_utf8_lossy(bytes), Path::new("damaged.toml")).is_ok()
        }),
        "expressions" => Kind::new(WRITTEN.iter().chain(&PARTS).map(|w| w.as_bytes().to_vec()).collect(), expression),
        other => panic!("no kind of input is called {other}"),
    }
}

fn documents() -> synth::SynthOptions {
    synth::SynthOptions { documents: 12, ..synth::SynthOptions::of(synth::Shape::Topics) }
}

/// A small corpus of a format that can be written.
fn written(path: &Path, to: Option<Format>) -> Vec<u8> {
    let mut writer = Writer::create(path, &WriteOptions { to, ..WriteOptions::default() }).unwrap();
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
const TAXONOMIES: [&str; 2] =
    ["a\troot\tAll\nb\ta\tSome\nc\ta\nd\tb\n", "parent: Root child: A child-description: a\nparent: A child: A1\n"];
const SCORES: &str = "truth\tlevel1\tlevel2\n1\t0.5\t0.25\n0\t1\t0\n1\t0.125\t0.75\n";

/// Reads a file of a format to its end, and counts it where it could be read.
fn corpus_file(format: Format, whole: Vec<u8>, path: &Path) -> Kind {
    let options = ReadOptions { from: Some(format), max_record_bytes: 1 << 20, ..ReadOptions::default() };
    let paths: [PathBuf; 1] = [path.to_path_buf()];
    Kind::new(vec![whole, REUTERS.into()], move |bytes| {
        std::fs::write(&paths[0], bytes).unwrap();
        let Ok(corpus) = open(&paths, &options) else { return false };
        let Ok(tally) = corpus.for_each(|_| Ok(())) else { return false };
        let (counts, _) = count(corpus.batches().unwrap(), &CountOptions::default(), &Silent).unwrap();
        assert_eq!(counts.len() as u64, tally.documents, "two ways of reading agree");
        true
    })
}

fn counted() -> Counts {
    count(synth::batches(&documents()).unwrap(), &CountOptions::default(), &Silent).unwrap().0
}

/// A damaged model is refused, or is the model.
fn models() -> Kind {
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
    let wholes = vec![fit("svm", "rcut(1)"), fit("bayes", "fixed(0)"), fit("knn(3)", "rcut(2)")];
    let known = wholes.clone();
    Kind::new(wholes, move |bytes| match Model::from_bytes(bytes) {
        Err(_) => false,
        Ok(model) => {
            assert!(known.contains(&model.to_bytes().unwrap()), "a damaged model was taken");
            true
        }
    })
}

fn counts_files(folder: &Path) -> Kind {
    let path = folder.join("whole.counts");
    let counts = counted();
    let text = (*counts.text).clone();
    CountsFile { text, pruned: Pruned::default(), contingency: Contingency::of(&counts) }.write(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let damaged = folder.join("damaged.counts");
    let known = whole.clone();
    Kind::new(vec![whole], move |bytes| {
        std::fs::write(&damaged, bytes).unwrap();
        let accepted = CountsFile::read(&damaged).is_ok();
        assert!(!accepted || bytes == known, "damaged counts were taken");
        accepted
    })
}

fn taxonomies(folder: &Path) -> Kind {
    let path = folder.join("tree.tsv");
    let wholes = TAXONOMIES.iter().chain([&SCORES]).map(|whole| whole.as_bytes().to_vec()).collect();
    Kind::new(wholes, move |bytes| {
        std::fs::write(&path, bytes).unwrap();
        let Ok(tree) = Taxonomy::open(&path, &TaxonomyOptions::default()) else { return false };
        assert!(tree.nodes().all(|n| tree.ancestors(n).count() < tree.len()), "no node is above itself");
        true
    })
}

fn plans() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let folder = if folder.exists() { folder } else { Path::new(env!("CARGO_MANIFEST_DIR")).join("../studies") };
    let mut wholes: Vec<Vec<u8>> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    wholes.sort();
    wholes
}

/// Pieces of expressions.
pub(crate) const PARTS: [&str; 44] = [
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

const WRITTEN: [&str; 10] = [
    "lr(chi2max,chi2avg)@1",
    "wfo(lambda=0.3)@2",
    "title:words(1-2,stem=english)+chars(3-5)",
    "svm(c=0.3,vectors=tfidf*rf)",
    "knn(30,kind=text)",
    "scut(rare=20)",
    "F1@macro",
    "nDCG@5",
    "random(0.2)",
    "os(10)",
];

/// What can be written down: a parsed expression prints as one that is parsed to the same.
fn expression(bytes: &[u8]) -> bool {
    fn back<T: std::str::FromStr + ToString + PartialEq>(text: &str) -> bool {
        let Ok(parsed) = text.parse::<T>() else { return false };
        let printed = parsed.to_string();
        assert!(printed.parse::<T>().is_ok_and(|again| again == parsed), "{text:?} prints as {printed:?}");
        true
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    [
        back::<tamis::features::Selector>(text),
        back::<tamis::terms::TextOptions>(text),
        back::<tamis::classify::ClassifierSpec>(text),
        back::<tamis::threshold::Threshold>(text),
        back::<tamis::measure::Measure>(text),
        back::<tamis::counts::SplitPlan>(text),
        back::<tamis::hierarchy::pipeline::Imbalance>(text),
        back::<tamis::hierarchy::pipeline::Utility>(text),
    ]
    .contains(&true)
}
