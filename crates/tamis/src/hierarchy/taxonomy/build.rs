//! From statements "this node has that parent" to a checked taxonomy.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{NodeRecord, Taxonomy};
use crate::counts::{Csr, Vocabulary};
use crate::{Error, Place, Result};

/// What to do with a node that is given several parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParentPolicy {
    /// It has all of them, and the ancestors of all.
    #[default]
    All,
    /// An error names the node and its parents.
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
    /// Whether a statement makes it a root.
    is_root: bool,
    /// Its parents, in the order they were named.
    parents: Vec<u32>,
    parent_line: Option<u64>,
    name: Option<Box<str>>,
}

impl Draft {
    /// Takes in what a statement says of the parent; tells what was said before where that is something else.
    fn hear(&mut self, said: Said<u32>, line: Option<u64>, policy: ParentPolicy) -> Option<Said<u32>> {
        let before = match self.parents.first() {
            Some(&first) => Said::ChildOf(first),
            None if self.is_root => Said::Root,
            None => Said::Nothing,
        };
        match (before, said) {
            (_, Said::Nothing) => {}
            (Said::Nothing, Said::Root) => (self.is_root, self.parent_line) = (true, line),
            (Said::Nothing, Said::ChildOf(parent)) => {
                self.parents.push(parent);
                self.parent_line = line;
            }
            (before, said) if before == said || policy == ParentPolicy::First => {}
            (before, _) if policy == ParentPolicy::Refuse => return Some(before),
            // Of a root that has a parent too, the parent says more.
            (_, Said::Root) => {}
            (_, Said::ChildOf(parent)) => {
                if !self.parents.contains(&parent) {
                    self.parents.push(parent);
                }
                self.parent_line = self.parent_line.or(line);
            }
        }
        None
    }
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
        if let Some(first) = draft.hear(parent, statement.line, source.parents) {
            let describe = |said: Said<u32>| match said {
                Said::ChildOf(p) => labels[p as usize].as_str(),
                Said::Root | Said::Nothing => "no parent",
            };
            let at = draft.parent_line.map(|l| format!(" (line {l})")).unwrap_or_default();
            let reason = format!(
                "{:?} has several parents: {}{at} and {}; take all of them (the option `parent=all`) or the first (the option \
                 `parent=first`)",
                statement.id,
                describe(first),
                describe(parent),
            );
            return Err(source.error(statement.line, reason));
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
    let parents: Vec<Vec<u32>> = by_label
        .iter()
        .map(|&d| drafts[d as usize].parents.iter().map(|&p| final_number[p as usize]).collect())
        .collect();
    let lines: Vec<Option<u64>> = by_label.iter().map(|&d| drafts[d as usize].parent_line).collect();
    let names = by_label.iter().map(|&d| drafts[d as usize].name.take()).collect();
    let mut of_parent: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
    for (node, parents) in parents.iter().enumerate() {
        parents.iter().for_each(|&parent| of_parent[parent as usize].push(node as u32));
    }
    let mut children = Csr::new(parents.len());
    for row in &of_parent {
        children.push_row(row.iter().map(|&n| (n, ())));
    }
    // A node comes when its last parent has come.
    let mut waits: Vec<usize> = parents.iter().map(Vec::len).collect();
    let mut order: Vec<u32> = (0..parents.len() as u32).filter(|&n| waits[n as usize] == 0).collect();
    let mut depths = vec![1u32; parents.len()];
    let mut above: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
    let mut next = 0;
    while next < order.len() {
        let node = order[next] as usize;
        next += 1;
        if let Some(&first) = parents[node].first() {
            depths[node] = depths[first as usize] + 1;
            above[node] = ancestors(&parents[node], &above);
        }
        for &child in children.row_indices(node) {
            waits[child as usize] -= 1;
            if waits[child as usize] == 0 {
                order.push(child);
            }
        }
    }
    if order.len() < parents.len() {
        let cycle = find_cycle(&parents, &waits);
        let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(|&n| ids.name(n)).collect();
        let line = cycle.iter().filter_map(|&n| lines[n as usize]).max();
        let reason = format!("the parents go in a circle: {}", path.join(" → "));
        return Err(source.error(line, reason));
    }
    Ok(Taxonomy { ids, names, parents, above, children, depths, order })
}

/// All nodes above one with the given parents, each once: those of the first parent, nearest first, then what the others add.
fn ancestors(parents: &[u32], above: &[Vec<u32>]) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    for &parent in parents {
        for node in std::iter::once(parent).chain(above[parent as usize].iter().copied()) {
            if parents.len() == 1 || !all.contains(&node) {
                all.push(node);
            }
        }
    }
    all
}

/// The nodes of a circle of parents, child before parent; `waits` is above 0 for nodes in a circle and below one.
fn find_cycle(parents: &[Vec<u32>], waits: &[usize]) -> Vec<u32> {
    let Some(start) = waits.iter().position(|&n| n > 0) else { return Vec::new() };
    let up = |&node: &u32| parents[node as usize].iter().copied().find(|&p| waits[p as usize] > 0);
    let mut walk: Vec<u32> = Vec::new();
    for node in std::iter::successors(Some(start as u32), up) {
        if let Some(at) = walk.iter().position(|&n| n == node) {
            return walk.split_off(at);
        }
        walk.push(node);
    }
    walk
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
        let statements = records.into_iter().flat_map(|r| {
            let first = Statement { id: r.id.clone(), parent: r.parent.into(), name: r.name, line: None };
            let further = r.further.into_iter().map(move |parent| Statement {
                id: r.id.clone(),
                parent: Said::ChildOf(parent),
                ..Statement::default()
            });
            std::iter::once(first).chain(further)
        });
        build(statements, Origin { path: None, parents })
    }
}

impl TryFrom<Vec<NodeRecord>> for Taxonomy {
    type Error = Error;

    fn try_from(records: Vec<NodeRecord>) -> Result<Self> {
        Self::from_records(records, ParentPolicy::All)
    }
}

impl From<Taxonomy> for Vec<NodeRecord> {
    fn from(taxonomy: Taxonomy) -> Self {
        taxonomy.records()
    }
}
