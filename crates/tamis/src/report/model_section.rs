//! A model and how good it is, on a page.

use super::{Axis, Bar, HeatMap, Page, Series, TreeNode, bars, lines, short};
use crate::Result;
use crate::classify::Fitted;
use crate::measure::{Evaluation, Resampling};
use crate::model::{Model, Quality, Ranker};

/// How labels are decided, as the end of a sentence.
pub(super) fn decided_by(model: &Model) -> String {
    if model.only_ranks() { "labels are only ranked".into() } else { format!("labels decided by {}", model.deciding()) }
}

impl Page {
    /// How the model came about and what it measures on test documents.
    pub fn model(&mut self, model: &Model, quality: &Quality) -> Result<&mut Self> {
        let evaluation = &quality.evaluation;
        let summary = &model.summary;
        self.section("The model");
        self.text(&format!(
            "{} on {} of {} words, selected by {}; {}.",
            summary.classifier,
            model.terms.len(),
            summary.vocabulary,
            summary.selector,
            decided_by(model)
        ));
        for reason in &summary.choices {
            self.text(reason);
        }
        let intervals = evaluation.intervals(&Resampling::default())?;
        let shown = quality.values();
        let rows: Vec<Vec<String>> = intervals
            .iter()
            .filter(|i| shown.iter().any(|v| v.measure == i.measure))
            .map(|i| vec![i.measure.to_string(), format!("{:.4}", i.value), format!("{:.4} to {:.4}", i.low, i.high)])
            .collect();
        self.text(&format!("Measured on {} test documents, with 95 % bootstrap intervals:", evaluation.documents()));
        self.table(&["measure", "value", "95 %"], &rows);
        let without = evaluation.documents_without_truth();
        if without > 0 {
            let labelled = evaluation.documents() - without;
            self.text(&format!("Measures of rankings are over the {labelled} documents with a label."));
        }
        if quality.only_ranks {
            self.text("The model only ranks: there are no decisions to judge.");
        } else {
            self.per_label(quality);
        }
        self.trust(evaluation)?;
        self.thresholds_of(model);
        if summary.single_label {
            if !quality.only_ranks {
                self.confusion(model, evaluation);
            }
        } else {
            self.together(model, evaluation);
        }
        self.weights(model);
        Ok(self)
    }

    fn per_label(&mut self, quality: &Quality) {
        let mut rows = quality.evaluation.per_label();
        rows.retain(|r| r.tally.support() > 0);
        rows.sort_by(|a, b| b.f1.total_cmp(&a.f1).then(a.label.cmp(&b.label)));
        let all: Vec<Bar> = rows
            .iter()
            .map(|r| Bar {
                name: quality.name(r.label).to_owned(),
                value: r.f1,
                mark: None,
                tip: format!(
                    "{}: F1 {:.3}, precision {:.3}, recall {:.3}, {} test documents",
                    quality.name(r.label),
                    r.f1,
                    r.precision,
                    r.recall,
                    r.tally.support()
                ),
            })
            .collect();
        let caption = "F1 of every label on the test documents, best first; hover for precision and recall.";
        self.figure("labels-f1", bars("Quality by label", "F1", &all), caption);
    }

    /// F against threshold for the most common labels, where labels have thresholds.
    pub(super) fn thresholds_of(&mut self, model: &Model) {
        if model.thresholds.values().is_none() {
            return;
        }
        let mut chosen: Vec<_> = model.curves.iter().filter(|c| c.points.len() > 2).collect();
        chosen.sort_by(|a, b| b.positives.cmp(&a.positives).then(a.label.cmp(&b.label)));
        chosen.truncate(5);
        if chosen.is_empty() {
            return;
        }
        let series: Vec<Series> = chosen
            .iter()
            .map(|c| Series {
                name: model.labels.name(c.label).to_owned(),
                points: c.points.iter().rev().map(|p| (p.threshold, f64::from(p.f))).collect(),
                ..Series::default()
            })
            .collect();
        let (x, y) = (Axis::linear("threshold"), Axis::linear("F1 on held-out training documents").within(0.0, 1.0));
        self.figure(
            "thresholds",
            lines("F1 against threshold", &x, &y, &series),
            "The five most common labels. A label's threshold is at or near the top of its curve; how flat the top is \
             shows how much a slightly wrong threshold would cost.",
        );
    }

    fn confusion(&mut self, model: &Model, evaluation: &Evaluation) {
        let Some(confusion) = evaluation.confusion() else { return };
        let mut labels: Vec<u32> = confusion.worst(12).iter().flat_map(|c| [c.truth, c.decided]).flatten().collect();
        labels.sort_unstable();
        labels.dedup();
        let known = |l: &u32| (*l as usize) < model.labels.len();
        labels.retain(known);
        if labels.len() < 2 {
            return;
        }
        let names: Vec<String> = labels.iter().map(|&l| model.labels.name(l).to_owned()).collect();
        let mut values = Vec::new();
        for &truth in &labels {
            for &decided in &labels {
                let n = confusion.count(truth, decided) as f64;
                values.push(if truth == decided || n == 0.0 { f64::NAN } else { n });
            }
        }
        let map = HeatMap {
            title: "What is taken for what".into(),
            rows: names.clone(),
            columns: names,
            values,
            range: None,
            numbers: true,
            tips: Vec::new(),
        };
        self.figure(
            "confusion",
            map.draw(),
            "Rows are labels that were missed, columns labels that were given instead, for the most frequent confusions.",
        );
    }

    /// Labels that test documents carry together, for the most frequent pairs.
    fn together(&mut self, model: &Model, evaluation: &Evaluation) {
        let Some(pairs) = evaluation.co_occurrence() else { return };
        let mut frequent = pairs.pairs();
        frequent
            .retain(|((a, b), _)| a != b && (*b as usize) < model.labels.len() && (*a as usize) < model.labels.len());
        frequent.sort_by(|x, y| y.1.cmp(&x.1).then(x.0.cmp(&y.0)));
        let mut labels: Vec<u32> = Vec::new();
        for ((a, b), _) in &frequent {
            for label in [*a, *b] {
                if labels.len() < 14 && !labels.contains(&label) {
                    labels.push(label);
                }
            }
        }
        if labels.len() < 2 {
            return;
        }
        labels.sort_unstable();
        let names: Vec<String> = labels.iter().map(|&l| model.labels.name(l).to_owned()).collect();
        let mut values = Vec::new();
        for &a in &labels {
            for &b in &labels {
                let n = pairs.count(a.min(b), a.max(b)) as f64;
                values.push(if a == b || n == 0.0 { f64::NAN } else { n });
            }
        }
        let map = HeatMap {
            title: "Which labels go together".into(),
            rows: names.clone(),
            columns: names,
            values,
            range: None,
            numbers: true,
            tips: Vec::new(),
        };
        self.figure(
            "together",
            map.draw(),
            "Test documents that carry both labels, for the labels of the most frequent pairs.",
        );
    }

    fn weights(&mut self, model: &Model) {
        let Ranker::Flat(Fitted::Linear(linear)) = &model.ranker else { return };
        let names = model.words();
        let ranked = linear.parts().outputs.labels();
        let mut by_label: Vec<Vec<(f64, usize)>> = vec![Vec::new(); ranked.len()];
        for feature in 0..linear.features() {
            for (place, weight) in linear.feature_weights(feature as u32).into_iter().enumerate() {
                if weight != 0.0 {
                    by_label[place].push((weight, feature));
                }
            }
        }
        let mut largest: Vec<usize> = (0..ranked.len()).collect();
        largest.sort_by_key(|&place| std::cmp::Reverse(model.summary.label_documents[ranked[place] as usize]));
        let rows: Vec<Vec<String>> = largest
            .into_iter()
            .take(15)
            .map(|place| {
                let list = &mut by_label[place];
                list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                let show = |items: &[(f64, usize)]| {
                    items.iter().map(|(w, f)| format!("{} {}", names[*f], short(*w))).collect::<Vec<_>>().join(", ")
                };
                let against: Vec<(f64, usize)> = list.iter().rev().take(4).copied().filter(|(w, _)| *w < 0.0).collect();
                vec![model.labels.name(ranked[place]).to_owned(), show(&list[..list.len().min(8)]), show(&against)]
            })
            .collect();
        self.heading("Words by label with their weights");
        self.table(&["label", "for", "against"], &rows);
    }

    /// The taxonomy as a tree, with quality and threshold at each node that is a label.
    pub fn taxonomy(&mut self, model: &Model, quality: &Quality) -> Result<&mut Self> {
        let Some(taxonomy) = &model.taxonomy else { return Ok(self) };
        self.section("The taxonomy");
        let decides = !quality.only_ranks;
        self.text(if decides {
            "Each node with its F1 on the test documents, its documents and its threshold."
        } else {
            "Each node with its test documents."
        });
        let quality = quality.evaluation.per_label();
        let mut nodes = Vec::new();
        let mut stack: Vec<u32> = taxonomy.roots().collect::<Vec<_>>().into_iter().rev().collect();
        while let Some(node) = stack.pop() {
            stack.extend(taxonomy.children(node).iter().rev());
            let label = model.labels.id(taxonomy.id(node));
            let row = label.and_then(|l| quality.iter().find(|r| r.label == l));
            let threshold = label.and_then(|l| model.label_facts(l).threshold).filter(|t| t.is_finite());
            let mut remark = row.map_or_else(
                || "no label of its own".to_owned(),
                |r| {
                    let documents = format!("{} test documents", r.tally.support());
                    if decides { format!("F1 {:.2}, {documents}", r.f1) } else { documents }
                },
            );
            if let Some(threshold) = threshold {
                remark.extend([", threshold ", &short(threshold)]);
            }
            nodes.push(TreeNode {
                depth: taxonomy.depth(node) - 1,
                name: taxonomy.name(node).to_owned(),
                value: row.map_or(0.0, |r| r.f1),
                remark,
            });
        }
        self.tree(&nodes);
        Ok(self)
    }
}
