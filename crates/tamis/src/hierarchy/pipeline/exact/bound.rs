//! An upper bound for all thresholds in a box.

use super::super::ScoreTable;
use super::super::ranks::Ranks;
use super::super::utility::{Scorer, Units, unit};

/// Whether a utility is above λ, in whole numbers: `gain·tp − cost·fp > target`. A utility is a quotient, so "above λ" is
/// linear in the counts. Roundings are outwards: what passes no test is certainly not above λ.
pub(super) struct Line {
    lambda: f64,
    gain: i64,
    cost: i64,
    target: i64,
    scale: f64,
    /// Least denominator of a utility above λ.
    below: f64,
}

impl Line {
    pub(super) fn through(scorer: &Scorer, bounder: &Bounder, lambda: f64) -> Self {
        let f = &scorer.fraction;
        let positives = f64::from(scorer.positives);
        let gain = (f.gain - lambda * (f.true_positive - f.false_negative)).max(0.0);
        let cost = lambda * f.false_positive * scorer.negative_weight;
        let target = lambda * f.false_negative * positives;
        let largest = gain * positives + cost * bounder.negatives as f64 + target;
        let scale = 2f64.powi(60) / largest.max(1e-300);
        let least_tp = if gain > 0.0 { (target / gain).max(1.0) } else { positives };
        Self {
            lambda,
            gain: (gain * scale).ceil() as i64 + 1,
            cost: ((cost * scale).floor() as i64 - 1).max(0),
            target: (target * scale).floor() as i64 - 1,
            scale,
            below: f.false_negative * positives + (f.true_positive - f.false_negative) * least_tp,
        }
    }

    /// The utility that `gain·tp − cost·fp = value` cannot exceed.
    fn utility(&self, value: i64) -> f64 {
        (self.lambda + (value - self.target) as f64 / self.scale / self.below).min(1.0)
    }
}

/// What is known about a box that may hold something better than λ.
pub(super) struct Seen {
    /// No choice in the box has a higher utility.
    pub bound: f64,
    /// Choices in the box worth a look: accepted documents, and places at all levels.
    pub choices: [(Units, Vec<u32>); 2],
    /// Where to split; none when the bound is the utility of a choice.
    pub split: Option<(usize, u32)>,
}

/// Documents ordered for the sweep, equal ones merged.
pub(super) struct Bounder {
    /// Levels in boxes.
    held: Vec<usize>,
    /// The level that is swept from high thresholds to low; none in a pipeline of one level.
    swept: Option<usize>,
    /// The level whose thresholds are all kept in the tree.
    kept: usize,
    depth: usize,
    thresholds: Vec<usize>,
    /// For each level the first threshold that is a positive's score; lower ones are no choices.
    least: Vec<u32>,
    documents: Vec<Document>,
    /// Places at the held levels, document after document.
    places: Vec<u32>,
    negatives: u64,
}

struct Document {
    swept: u32,
    kept: u32,
    count: u32,
    positive: bool,
}

impl Bounder {
    pub(super) fn new(table: &ScoreTable, ranks: &Ranks) -> Self {
        let depth = table.depth();
        let thresholds: Vec<usize> = ranks.thresholds.iter().map(Vec::len).collect();
        // Boxes get the levels with the fewest thresholds.
        let mut order: Vec<usize> = (0..depth).collect();
        order.sort_by_key(|&k| thresholds[k]);
        let kept = order.pop().expect("a table has a level");
        let swept = order.pop();
        let held = order;
        // A threshold of 0 below all positives' scores accepts more negatives than the next one and nothing else, so
        // choices begin at the first threshold that is a positive's score; negatives below it never pass.
        let least: Vec<u32> = (0..depth)
            .map(|k| {
                table.truth().iter().zip(&ranks.places[k]).filter(|(t, _)| **t).map(|(_, &p)| p).min().unwrap_or(0)
            })
            .collect();
        let key = |d: u32| swept.iter().chain([&kept]).chain(&held).map(move |&k| ranks.places[k][d as usize]);
        let truth = |d: u32| table.truth()[d as usize];
        let mut sorted: Vec<u32> = (0..table.documents() as u32)
            .filter(|&d| (0..depth).all(|k| ranks.places[k][d as usize] >= least[k]))
            .collect();
        sorted.sort_unstable_by(|&x, &y| key(y).cmp(key(x)).then(truth(y).cmp(&truth(x))));
        let (mut documents, mut places, mut negatives) = (Vec::new(), Vec::new(), 0);
        for same in sorted.chunk_by(|&x, &y| truth(x) == truth(y) && key(x).eq(key(y))) {
            let first = same[0] as usize;
            documents.push(Document {
                swept: swept.map_or(0, |k| ranks.places[k][first]),
                kept: ranks.places[kept][first],
                count: same.len() as u32,
                positive: table.truth()[first],
            });
            places.extend(held.iter().map(|&k| ranks.places[k][first]));
            negatives += if table.truth()[first] { 0 } else { same.len() as u64 };
        }
        Self { held, swept, kept, depth, thresholds, least, documents, places, negatives }
    }

    /// The box of all thresholds that are choices. It must not begin below them: negatives that pass there are not among
    /// the documents, so the tally of such a corner would be too good.
    pub(super) fn whole(&self) -> Vec<(u32, u32)> {
        self.held.iter().map(|&k| (self.least[k], self.thresholds[k] as u32 - 1)).collect()
    }

    /// Bounds a box; none when nothing in it is above the line.
    pub(super) fn bound(&self, held: &[(u32, u32)], line: &Line, tree: &mut Tree) -> Option<Seen> {
        tree.clear(self.thresholds[self.kept]);
        let (mut best, mut best_swept, mut best_kept) = (line.target, 0, 0);
        let mut positive_came = false;
        for (at, document) in self.documents.iter().enumerate() {
            let places = &self.places[at * held.len()..][..held.len()];
            let passes = if document.positive {
                places.iter().zip(held).all(|(&p, &(lo, _))| p >= lo)
            } else {
                places.iter().zip(held).all(|(&p, &(_, hi))| p >= hi)
            };
            if passes {
                let weight = if document.positive { line.gain } else { -line.cost };
                tree.add(document.kept, weight * i64::from(document.count));
                positive_came |= document.positive;
            }
            let group_ends = self.documents.get(at + 1).is_none_or(|next| next.swept != document.swept);
            if group_ends && positive_came {
                positive_came = false;
                if tree.best() > best {
                    best = tree.best();
                    (best_swept, best_kept) = (document.swept, tree.best_leaf());
                }
            }
        }
        (best > line.target).then(|| self.describe(held, line, best, best_swept, best_kept))
    }

    /// The two extreme choices of the box at the best of the sweep, and where the bound is loose between them.
    fn describe(&self, held: &[(u32, u32)], line: &Line, best: i64, swept: u32, kept: u32) -> Seen {
        let mut tallies: [Units; 2] = [0, 0];
        // For each held level the places of documents that make the bound loose, with their weight.
        let mut loose: Vec<Vec<(u32, i64)>> = vec![Vec::new(); held.len()];
        for (at, document) in self.documents.iter().enumerate() {
            if document.swept < swept || document.kept < kept {
                continue;
            }
            let places = &self.places[at * held.len()..][..held.len()];
            let unsure = places.iter().zip(held).filter(|&(&p, &(_, hi))| p < hi).count();
            let may_pass = places.iter().zip(held).all(|(&p, &(lo, _))| p >= lo);
            if !may_pass {
                continue;
            }
            let tally = unit(document.positive) * u64::from(document.count);
            tallies[0] += tally;
            if unsure == 0 {
                tallies[1] += tally;
                continue;
            }
            let weight = if document.positive { line.gain } else { line.cost } * i64::from(document.count);
            for (level, (&p, &(_, hi))) in places.iter().zip(held).enumerate() {
                if p < hi {
                    loose[level].push((p, weight / unsure as i64));
                }
            }
        }
        let total = |places: &[(u32, i64)]| places.iter().map(|&(_, w)| w).sum::<i64>();
        let split = (0..held.len()).filter(|&k| !loose[k].is_empty()).max_by_key(|&k| total(&loose[k])).map(|level| {
            let places = &mut loose[level];
            places.sort_unstable();
            let half = total(places) / 2;
            let mut sum = 0;
            let middle = places.iter().find(|&&(_, w)| {
                sum += w;
                sum >= half
            });
            (level, middle.map_or(held[level].0, |&(p, _)| p) + 1)
        });
        let choice = |corner: fn(&(u32, u32)) -> u32| {
            let mut at = vec![0; self.depth];
            at[self.kept] = kept;
            if let Some(k) = self.swept {
                at[k] = swept;
            }
            for (&k, range) in self.held.iter().zip(held) {
                at[k] = corner(range);
            }
            at
        };
        Seen {
            bound: line.utility(best),
            choices: [(tallies[0], choice(|r| r.0)), (tallies[1], choice(|r| r.1))],
            split,
        }
    }
}

/// Sums over "this leaf and all after it", and the largest of them, under changes at leaves.
#[derive(Default)]
pub(super) struct Tree {
    /// A heap-shaped binary tree: the sum of a node's leaves, and the largest sum of leaves from one of them on.
    nodes: Vec<(i64, i64)>,
    leaves: usize,
}

impl Tree {
    fn clear(&mut self, leaves: usize) {
        self.leaves = leaves.next_power_of_two();
        self.nodes.clear();
        self.nodes.resize(2 * self.leaves, (0, 0));
    }

    #[inline]
    fn add(&mut self, leaf: u32, weight: i64) {
        let mut node = self.leaves + leaf as usize;
        let sum = self.nodes[node].0 + weight;
        self.nodes[node] = (sum, sum);
        while node > 1 {
            node /= 2;
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            self.nodes[node] = (left.0 + right.0, right.1.max(right.0 + left.1));
        }
    }

    #[inline]
    fn best(&self) -> i64 {
        self.nodes[1].1
    }

    fn best_leaf(&self) -> u32 {
        let mut node = 1;
        while node < self.leaves {
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            node = if right.1 >= right.0 + left.1 { 2 * node + 1 } else { 2 * node };
        }
        (node - self.leaves) as u32
    }
}
