//! From statements "this node has that parent" to a checked forest.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{NodeRecord, Taxonomy};
use crate::counts::{Csr, Vocabulary};
use crate::{Error, Place, Result};

/// What to do with a node that is given several parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParentPolicy {
    /// An error names the node and its parents.
    #[default]
    Refuse,
    /// The first parent that the source names.
    First,
}

/// What a source says about the parent of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Said<T> {
    #[default]
    Nothing,
    Root,
    ChildOf(T),
}

impl<T> From<Option<T>> for Said<T> {
    fn from(parent: Option<T>) -> Self {
        parent.map_or(Self::Root, Self::ChildOf)
    }
}

/// One statement of a source.
#[derive(Debug, Clone, Default)]
pub(super) struct Statement {
    pub id: String,
    pub parent: Said<String>,
    pub name: Option<String>,
    /// Line of the source, where it has lines.
    pub line: Option<u64>,
}

/// Where statements come from, for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub path: Option<&'a std::path::Path>,
    pub parents: ParentPolicy,
}

impl Origin<'_> {
    fn error(&self, line: Option<u64>, reason: String) -> Error {
        match self.path {
            Some(path) => Error::Malformed { place: Place { path: path.to_owned(), line }, reason },
            None => Error::data(reason),
        }
    }
}

/// What is known about a node while statements come in.
#[derive(Default)]
struct Draft {
    parent: Said<u32>,
    parent_line: Option<u64>,
    name: Option<Box<str>>,
}

/// Collects statements, then numbers, checks and orders the nodes.
pub(super) fn build(statements: impl IntoIterator<Item = Statement>, source: Origin<'_>) -> Result<Taxonomy> {
    let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
    let mut drafts: Vec<Draft> = Vec::new();
    let mut labels: Vec<String> = Vec::new();
    let mut number = |id: &str, line: Option<u64>, drafts: &mut Vec<Draft>, labels: &mut Vec<String>| {
        if let Some(&n) = numbers.get(id) {
            return Ok(n);
        }
        check_text("label", id).map_err(|reason| source.error(line, reason))?;
        let n = drafts.len() as u32;
        numbers.insert(id.to_owned(), n);
        drafts.push(Draft::default());
        labels.push(id.to_owned());
        Ok::<u32, Error>(n)
    };
    for statement in statements {
        let node = number(&statement.id, statement.line, &mut drafts, &mut labels)?;
        if let Some(name) = statement.name.filter(|name| !name.is_empty()) {
            check_text("name", &name).map_err(|reason| source.error(statement.line, reason))?;
            drafts[node as usize].name.get_or_insert(name.into_boxed_str());
        }
        let parent = match statement.parent {
            Said::Nothing => continue,
            Said::Root => Said::Root,
            Said::ChildOf(id) => Said::ChildOf(number(&id, statement.line, &mut drafts, &mut labels)?),
        };
        let draft = &mut drafts[node as usize];
        match draft.parent {
            Said::Nothing => (draft.parent, draft.parent_line) = (parent, statement.line),
            first if first == parent || source.parents == ParentPolicy::First => {}
            first => {
                let describe = |said: Said<u32>| match said {
                    Said::ChildOf(p) => labels[p as usize].as_str(),
                    Said::Root | Said::Nothing => "no parent",
                };
                let at = draft.parent_line.map(|l| format!(" (line {l})")).unwrap_or_default();
                let reason = format!(
                    "{:?} has several parents: {}{at} and {}; a taxonomy is a forest; \
                     correct it, or take the first parent (the option `parent=first`)",
                    statement.id,
                    describe(first),
                    describe(parent),
                );
                return Err(source.error(statement.line, reason));
            }
        }
    }
    if labels.is_empty() {
        return Err(source.error(None, "the taxonomy has no nodes".to_owned()));
    }
    number_and_check(&labels, drafts, source)
}

fn number_and_check(labels: &[String], mut drafts: Vec<Draft>, source: Origin<'_>) -> Result<Taxonomy> {
    let mut by_label: Vec<u32> = (0..labels.len() as u32).collect();
    by_label.sort_unstable_by(|&a, &b| labels[a as usize].cmp(&labels[b as usize]));
    let mut final_number = vec![0u32; labels.len()];
    for (at, &draft) in by_label.iter().enumerate() {
        final_number[draft as usize] = at as u32;
    }
    let ids = Vocabulary::from_sorted(by_label.iter().map(|&d| &labels[d as usize]));
    let parents: Vec<Option<u32>> = by_label
        .iter()
        .map(|&d| match drafts[d as usize].parent {
            Said::ChildOf(p) => Some(final_number[p as usize]),
            Said::Root | Said::Nothing => None,
        })
        .collect();
    let lines: Vec<Option<u64>> = by_label.iter().map(|&d| drafts[d as usize].parent_line).collect();
    let names = by_label.iter().map(|&d| drafts[d as usize].name.take()).collect();
    if let Some(cycle) = find_cycle(&parents) {
        let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(|&n| ids.name(n)).collect();
        let line = cycle.iter().filter_map(|&n| lines[n as usize]).max();
        let reason = format!("the parents go in a circle: {}; a taxonomy is a forest", path.join(" → "));
        return Err(source.error(line, reason));
    }
    let mut of_parent: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
    for (node, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            of_parent[*parent as usize].push(node as u32);
        }
    }
    let mut children = Csr::new(parents.len());
    for row in &of_parent {
        children.push_row(row.iter().map(|&n| (n, ())));
    }
    let mut order: Vec<u32> = (0..parents.len() as u32).filter(|&n| parents[n as usize].is_none()).collect();
    let mut depths = vec![1u32; parents.len()];
    let mut next = 0;
    while next < order.len() {
        let node = order[next];
        next += 1;
        for &child in children.row_indices(node as usize) {
            depths[child as usize] = depths[node as usize] + 1;
            order.push(child);
        }
    }
    Ok(Taxonomy { ids, names, parents, children, depths, order })
}

/// The nodes of a circle of parents, child before parent.
fn find_cycle(parents: &[Option<u32>]) -> Option<Vec<u32>> {
    // 0: not seen. Otherwise 1 + the start of the walk that saw it first.
    let mut walk_of = vec![0u32; parents.len()];
    for start in 0..parents.len() as u32 {
        let mut node = Some(start);
        while let Some(n) = node {
            if walk_of[n as usize] == start + 1 {
                let mut cycle = vec![n];
                cycle.extend(
                    std::iter::successors(parents[n as usize], |&m| parents[m as usize]).take_while(|&m| m != n),
                );
                return Some(cycle);
            }
            if walk_of[n as usize] != 0 {
                break;
            }
            walk_of[n as usize] = start + 1;
            node = parents[n as usize];
        }
    }
    None
}

/// Labels and names are fields of a line: no control characters, no space around.
fn check_text(what: &str, text: &str) -> Result<(), String> {
    if text.is_empty() {
        Err(format!("a {what} of the taxonomy is empty"))
    } else if text.chars().any(char::is_control) {
        Err(format!("the {what} {text:?} contains a control character, such as a tab or a line end"))
    } else if text.trim() != text {
        Err(format!("the {what} {text:?} begins or ends with a space"))
    } else {
        Ok(())
    }
}

impl Taxonomy {
    /// From (child, parent) pairs; `None` declares a root, and a parent that is nobody's child is a root.
    pub fn from_pairs<C: AsRef<str>, P: AsRef<str>>(
        pairs: impl IntoIterator<Item = (C, Option<P>)>,
        parents: ParentPolicy,
    ) -> Result<Self> {
        let statements = pairs.into_iter().map(|(child, parent)| Statement {
            id: child.as_ref().to_owned(),
            parent: parent.map(|p| p.as_ref().to_owned()).into(),
            ..Statement::default()
        });
        build(statements, Origin { path: None, parents })
    }

    /// From records with label, parent and name.
    pub fn from_records(records: impl IntoIterator<Item = NodeRecord>, parents: ParentPolicy) -> Result<Self> {
        let statements = records.into_iter().map(|r| Statement {
            id: r.id,
            parent: r.parent.into(),
            name: r.name,
            ..Statement::default()
        });
        build(statements, Origin { path: None, parents })
    }
}

impl TryFrom<Vec<NodeRecord>> for Taxonomy {
    type Error = Error;

    fn try_from(records: Vec<NodeRecord>) -> Result<Self> {
        Self::from_records(records, ParentPolicy::Refuse)
    }
}

impl From<Taxonomy> for Vec<NodeRecord> {
    fn from(taxonomy: Taxonomy) -> Self {
        taxonomy.records()
    }
}
