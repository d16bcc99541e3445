//! Taxonomy files, but for thesauri (`skos.rs`): `child<TAB>parent[<TAB>name]`, RCV1's `parent child child …`, and the `parent: … child: …` lines of
//! the RCV1-v2 (LYRL2004) topic hierarchy.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::build::{Origin, ParentPolicy, Said, Statement, build};
use super::{Taxonomy, skos};
use crate::whole::{Limited, MAX_TAXONOMY};
use crate::{Error, Result};

/// How a taxonomy file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaxonomyFormat {
    /// Found out from the lines: see [`Taxonomy::read`].
    #[default]
    Auto,
    /// `child<TAB>parent[<TAB>name]`, an empty parent for a root.
    ChildParent,
    /// `parent child child …`, separated by tabs (or by spaces where the file has no tab).
    ParentChildren,
    /// `parent: CCAT child: C11 child-description: STRATEGY/PLANS`.
    Rcv1Hierarchy,
    /// A SKOS thesaurus in Turtle or N-Triples; known by the ending `ttl` or `nt`.
    Turtle,
    /// A SKOS thesaurus in RDF/XML; known by the ending `rdf`, `owl` or `xml`.
    RdfXml,
}

/// How to read a taxonomy file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaxonomyOptions {
    /// The format of the file.
    pub format: TaxonomyFormat,
    /// What to do with a node that has several parents.
    pub parents: ParentPolicy,
}

impl Taxonomy {
    /// Reads a taxonomy file; see [`Taxonomy::read`].
    pub fn open(path: impl AsRef<Path>, options: &TaxonomyOptions) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        Self::read(BufReader::new(Limited::new(file, "a taxonomy", MAX_TAXONOMY)), path, options)
    }

    /// Reads a taxonomy from lines of text; `path` is for messages.
    ///
    /// Blank lines, a header `child<TAB>parent[<TAB>name]` and lines that begin with `#` and have no tab are skipped.
    /// A parent that has no line of its own is a root, except `Root`, which stands for no parent.
    /// The format is found out so: that header means child, parent and name; lines of `parent: … child: …` are RCV1-v2's hierarchy; lines without any tab, with
    /// more than three fields, or that hang below a line that begins with `Root` are a parent and its children; everything
    /// else is child, parent and name. An empty second field (a root) settles for the last.
    pub fn read(input: impl BufRead, path: impl AsRef<Path>, options: &TaxonomyOptions) -> Result<Self> {
        let path = path.as_ref();
        let rdf = match options.format {
            TaxonomyFormat::Auto => skos::by_name(path),
            given => Some(given).filter(|f| matches!(f, TaxonomyFormat::Turtle | TaxonomyFormat::RdfXml)),
        };
        if let Some(format) = rdf {
            return skos::read(input, path, format, options.parents);
        }
        let (lines, header) = read_lines(input, path)?;
        let format = match options.format {
            TaxonomyFormat::Auto if header => TaxonomyFormat::ChildParent,
            TaxonomyFormat::Auto => detect(&lines),
            given => given,
        };
        let mut statements = Vec::with_capacity(lines.len());
        let tabs = lines.iter().any(|(_, line)| line.contains('\t'));
        for (number, line) in &lines {
            match format {
                TaxonomyFormat::ChildParent
                | TaxonomyFormat::Auto
                | TaxonomyFormat::Turtle
                | TaxonomyFormat::RdfXml => {
                    statements.push(child_parent(line, *number, path)?);
                }
                TaxonomyFormat::ParentChildren => parent_children(line, *number, tabs, path, &mut statements)?,
                TaxonomyFormat::Rcv1Hierarchy => statements.extend(rcv1_hierarchy(line, *number, path)?),
            }
        }
        without_virtual_root(&mut statements);
        build(statements, Origin { path: Some(path), parents: options.parents })
    }
}

/// Lines that say something, with their numbers from 1; and whether a header came first.
fn read_lines(mut input: impl BufRead, path: &Path) -> Result<(Vec<(u64, String)>, bool)> {
    let mut lines = Vec::new();
    let mut header = false;
    let mut number = 0;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if input.read_until(b'\n', &mut bytes).map_err(|e| Error::io(path, e))? == 0 {
            return Ok((lines, header));
        }
        number += 1;
        let text = std::str::from_utf8(&bytes).map_err(|e| {
            Error::malformed(path, number, format!("not UTF-8 at byte {} of the line", e.valid_up_to() + 1))
        })?;
        let text = if number == 1 { text.trim_start_matches('\u{feff}') } else { text };
        let text = text.trim_end_matches(['\n', '\r']);
        let comment = text.starts_with('#') && !text.contains('\t');
        if lines.is_empty() && !header && matches!(text, "child\tparent" | "child\tparent\tname") {
            header = true;
        } else if !text.trim().is_empty() && !comment {
            lines.push((number, text.to_owned()));
        }
    }
}

fn detect(lines: &[(u64, String)]) -> TaxonomyFormat {
    let texts = || lines.iter().map(|(_, line)| line.as_str());
    let filled = |line: &str| line.split('\t').filter(|f| !f.trim().is_empty()).count();
    let second_is_empty = |line: &str| line.split('\t').nth(1).is_some_and(|f| f.trim().is_empty());
    if texts().any(|line| line.trim_start().starts_with("parent:") && line.contains("child:")) {
        TaxonomyFormat::Rcv1Hierarchy
    } else if !texts().any(|line| line.contains('\t')) || texts().any(|line| filled(line) > 3) {
        TaxonomyFormat::ParentChildren
    } else if texts().any(second_is_empty) {
        TaxonomyFormat::ChildParent
    } else if below_virtual_root(&texts().collect::<Vec<_>>()) {
        TaxonomyFormat::ParentChildren
    } else {
        TaxonomyFormat::ChildParent
    }
}

/// Whether lines are a virtual `Root` and what hangs below it. A plant has a root too: `root<TAB>plant` is a child and its
/// parent. So `Root` must be nobody's child, every other parent must be a child, and nobody may have two parents; and where
/// both readings are possible still, since lines are pairs, the spelling decides.
fn below_virtual_root(lines: &[&str]) -> bool {
    let fields: Vec<Vec<&str>> =
        lines.iter().map(|line| line.split('\t').map(str::trim).filter(|f| !f.is_empty()).collect()).collect();
    let parents = || fields.iter().filter_map(|line| line.first().copied());
    let Some(root) = parents().find(|id| is_root(id)) else { return false };
    // A third field that begins another line is no name.
    let nodes: FxHashSet<&str> = parents().collect();
    if fields.iter().any(|line| line.len() > 2 && line[2] != line[0] && nodes.contains(line[2])) {
        return true;
    }
    let mut children = FxHashSet::default();
    let once = fields.iter().flat_map(|line| line.iter().skip(1)).all(|child| children.insert(*child));
    let below = once && !children.contains(root) && parents().all(|id| id == root || children.contains(id));
    below && (root == "Root" || fields.iter().any(|line| line.len() > 2))
}

fn child_parent(line: &str, number: u64, path: &Path) -> Result<Statement> {
    let mut fields = line.split('\t').map(str::trim);
    let id = fields.next().unwrap_or_default();
    let parent = fields.next();
    let name = fields.next();
    if id.is_empty() {
        return Err(Error::malformed(path, number, "the first field, the node, is empty"));
    }
    if fields.any(|f| !f.is_empty()) {
        let reason = "more than three fields; expected child, parent and name separated by tabs";
        return Err(Error::malformed(path, number, reason));
    }
    Ok(Statement {
        id: id.to_owned(),
        parent: match parent {
            None => Said::Nothing,
            Some("") => Said::Root,
            Some(p) => Said::ChildOf(p.to_owned()),
        },
        name: name.map(str::to_owned),
        line: Some(number),
    })
}

fn parent_children(line: &str, number: u64, tabs: bool, path: &Path, out: &mut Vec<Statement>) -> Result<()> {
    let mut fields: Vec<&str> =
        if tabs { line.split('\t').map(str::trim).collect() } else { line.split_whitespace().collect() };
    while fields.last().is_some_and(|f| f.is_empty()) {
        fields.pop();
    }
    if let Some(at) = fields.iter().position(|f| f.is_empty()) {
        return Err(Error::malformed(
            path,
            number,
            format!("field {} is empty; expected a parent and its children", at + 1),
        ));
    }
    let (parent, children) = fields.split_first().expect("a line with text has a field");
    out.push(Statement { id: (*parent).to_owned(), line: Some(number), ..Statement::default() });
    out.extend(children.iter().map(|child| Statement {
        id: (*child).to_owned(),
        parent: Said::ChildOf((*parent).to_owned()),
        name: None,
        line: Some(number),
    }));
    Ok(())
}

fn rcv1_hierarchy(line: &str, number: u64, path: &Path) -> Result<Option<Statement>> {
    let parts = || {
        let rest = line.trim().strip_prefix("parent:")?;
        let (parent, rest) = rest.split_once("child:")?;
        let (child, name) = match rest.split_once("child-description:") {
            Some((child, name)) => (child, Some(name.trim())),
            None => (rest, None),
        };
        let (parent, child) = (parent.trim(), child.trim());
        (!parent.is_empty() && !child.is_empty()).then_some((parent, child, name))
    };
    let Some((parent, child, name)) = parts() else {
        return Err(Error::malformed(path, number, "expected \"parent: NODE child: NODE child-description: NAME\""));
    };
    // The virtual root's own line: `parent: None child: Root`.
    let none = parent.eq_ignore_ascii_case("none");
    if none && is_root(child) {
        return Ok(None);
    }
    Ok(Some(Statement {
        id: child.to_owned(),
        parent: (!none).then(|| parent.to_owned()).into(),
        name: name.map(str::to_owned),
        line: Some(number),
    }))
}

fn is_root(id: &str) -> bool {
    id.eq_ignore_ascii_case("root")
}

/// `Root` stands for "no parent", unless a line makes it a node itself: written-out taxonomies have a line for each
/// node, so a real label of that name survives the way to a file and back.
fn without_virtual_root(statements: &mut Vec<Statement>) {
    let declared: FxHashSet<String> =
        statements.iter().filter(|s| s.parent != Said::Nothing && is_root(&s.id)).map(|s| s.id.clone()).collect();
    let is_virtual = |id: &str| is_root(id) && !declared.contains(id);
    statements.retain(|s| !is_virtual(&s.id));
    for statement in statements {
        if matches!(&statement.parent, Said::ChildOf(parent) if is_virtual(parent)) {
            statement.parent = Said::Root;
        }
    }
}
