//! Label trees in a model file: for each tree the sizes of its nodes, and their numbers one node after the other.

use crate::Result;
use crate::classify::tree::{Node, Tree, TreeParts};
use crate::container::{Builder, Container};
use crate::counts::Csr;

/// Kids, labels, features and weights of a node, as numbers of them.
const SIZES: usize = 4;

pub(super) fn store(parts: &TreeParts, file: &mut Builder) {
    super::file::store_weighter(&parts.weighter, file);
    for (number, tree) in parts.trees.iter().enumerate() {
        let name = |part: &str| format!("tree {number} {part}");
        let sizes = |n: &Node| [n.kids.len(), n.labels.len(), n.features.len(), n.weights.entries()].map(|n| n as u32);
        let ends = |n: &Node| n.weights.offsets()[1..].iter().map(|&o| o as u32).collect::<Vec<_>>();
        let all = |of: &dyn Fn(&Node) -> Vec<u32>| tree.nodes.iter().flat_map(of).collect::<Vec<u32>>();
        file.add_slice(&name("sizes"), &all(&|n| sizes(n).to_vec()));
        file.add_slice(&name("kids"), &all(&|n| n.kids.clone()));
        file.add_slice(&name("labels"), &all(&|n| n.labels.clone()));
        file.add_slice(&name("bias"), &tree.nodes.iter().flat_map(|n| n.bias.iter().copied()).collect::<Vec<f32>>());
        file.add_slice(&name("features"), &all(&|n| n.features.clone()));
        file.add_slice(&name("ends"), &all(&ends));
        file.add_slice(&name("classes"), &all(&|n| n.weights.indices().to_vec()));
        let weights = tree.nodes.iter().flat_map(|n| n.weights.values().iter().copied());
        file.add_slice(&name("weights"), &weights.collect::<Vec<f32>>());
    }
}

/// Reads so many trees. What does not fit together is found by [`crate::classify::LabelTrees::from_parts`].
pub(super) fn load(file: &Container, trees: usize) -> Result<Vec<Tree>> {
    (0..trees).map(|number| load_tree(file, number)).collect()
}

/// A section that is taken piece by piece.
struct Pieces<'a, T> {
    rest: &'a [T],
}

impl<'a, T: Copy> Pieces<'a, T> {
    fn take(&mut self, n: usize) -> Option<&'a [T]> {
        let (piece, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(piece)
    }
}

fn load_tree(file: &Container, number: usize) -> Result<Tree> {
    let name = |part: &str| format!("tree {number} {part}");
    let whole = |part: &str| file.slice::<u32>(&name(part));
    let wrong = || file.error(format!("tree {number}: its sections do not belong together"));
    let sizes = whole("sizes")?;
    let (kids, labels, features) = (whole("kids")?, whole("labels")?, whole("features")?);
    let (ends, classes) = (whole("ends")?, whole("classes")?);
    let (bias, weights) = (file.slice::<f32>(&name("bias"))?, file.slice::<f32>(&name("weights"))?);
    let (mut kids, mut labels) = (Pieces { rest: kids }, Pieces { rest: labels });
    let (mut features, mut ends) = (Pieces { rest: features }, Pieces { rest: ends });
    let (mut classes, mut bias) = (Pieces { rest: classes }, Pieces { rest: bias });
    let mut weights = Pieces { rest: weights };
    let mut nodes = Vec::with_capacity(sizes.len() / SIZES);
    for size in sizes.chunks_exact(SIZES) {
        let [k, l, f, w] = [0, 1, 2, 3].map(|at| size[at] as usize);
        let mut node = || {
            let (kids, labels, bias) = (kids.take(k)?, labels.take(l)?, bias.take(k.checked_add(l)?)?);
            Some((kids, labels, bias, features.take(f)?, ends.take(f)?, classes.take(w)?, weights.take(w)?))
        };
        let (kids, labels, bias, features, ends, classes, weights) = node().ok_or_else(wrong)?;
        let offsets = std::iter::once(0).chain(ends.iter().map(|&end| end as usize)).collect();
        nodes.push(Node {
            kids: kids.to_vec(),
            labels: labels.to_vec(),
            bias: bias.to_vec(),
            features: features.to_vec(),
            weights: Csr::try_from_parts(k + l, offsets, classes.to_vec(), weights.to_vec())
                .map_err(|reason| file.error(format!("tree {number}: {reason}")))?,
        });
    }
    Ok(Tree { nodes })
}
