//! Parts against one machine, and the gap against its definition.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;

use super::step::rows_of;
use super::*;
use crate::Silent;
use crate::classify::svm::{Loss, Solution};
use crate::classify::{ClassifierSpec, Fitted, Linear, Problem};
use crate::counts::{Contingency, Counts};

/// A training in parts, as far as it has come.
struct Training {
    rounds: Rounds,
    parts: Vec<Part>,
    kept: Vec<Vec<u8>>,
    terms: Vec<u32>,
    table: Contingency,
}

impl Training {
    fn new(counts: &Counts, classifier: &ClassifierSpec, parts: usize) -> Self {
        let table = Contingency::of(counts);
        let terms: Vec<u32> = (0..table.terms() as u32).collect();
        let packer = Packer {
            text: (*counts.text).clone(),
            terms: Arc::clone(&counts.vocabulary),
            labels: Arc::clone(&counts.labels),
        };
        assert_eq!(Packer::from_bytes(&packer.to_bytes().unwrap()).unwrap(), packer);
        let packed = packer.pack_counted(counts);
        let part = |number: usize| {
            let own = packed.iter().filter(|d| part_of(fingerprint_of(d).unwrap(), parts) == number);
            let pieces = pieces(own.map(Vec::as_slice).collect());
            Part::read(pieces.iter().map(Vec::as_slice), terms.len(), counts.labels.len()).unwrap()
        };
        let exclusive = (0..counts.len()).all(|row| counts.assignments.row_indices(row).len() == 1);
        let vectors = match classifier {
            ClassifierSpec::Svm(options) => options.vectors,
            ClassifierSpec::Logistic(options) => options.vectors,
            _ => unreachable!(),
        };
        let plan = Plan {
            classifier: classifier.clone(),
            features: terms.len(),
            labels: counts.labels.len(),
            folds: 0,
            models: vec![PlannedModel { held_out: None, weighter: vectors.fit_counts(&table, &terms).unwrap() }],
            groups: Vec::new(),
            questions: Plan::questions(classifier, 0, &table, exclusive).unwrap(),
        };
        assert_eq!(Plan::from_bytes(&plan.to_bytes()).unwrap(), plan);
        let rounds = Rounds::new(plan, parts, 2000).unwrap();
        Self { rounds, parts: (0..parts).map(part).collect(), kept: vec![Vec::new(); parts], terms, table }
    }

    fn round(&mut self) -> RoundReport {
        let message = self.rounds.message();
        let plan = self.rounds.plan().clone();
        let mut answers = Vec::new();
        for (part, kept) in self.parts.iter().zip(&mut self.kept) {
            let (next, answer) = plan.step(part, kept, &message, &Silent).unwrap();
            *kept = next;
            answers.push(answer);
        }
        self.rounds.add(&answers).unwrap()
    }

    fn linear(&self) -> Linear {
        let weighter = self.rounds.plan().models[0].weighter.clone();
        let with: Vec<u32> = (0..self.table.label_documents().len() as u32)
            .filter(|&l| self.table.label_documents()[l as usize] > 0)
            .collect();
        self.rounds.linear(0, &self.terms, weighter, &with).unwrap()
    }

    /// `P(w)` and `D(α)` of an SVM by the definition (Hsieh et al. 2008), at the weights of all and at the dual variables that the parts keep, for
    /// each problem that is kept.
    fn values(&self, loss: Loss) -> Vec<(u32, f64, f64)> {
        let plan = self.rounds.plan();
        let mut found = Vec::new();
        for (number, question) in plan.questions.iter().enumerate() {
            let (places, weights, bias) = self.rounds.weights(number);
            let mut w = vec![0.0f32; plan.features];
            places.iter().zip(weights).for_each(|(&place, &weight)| w[place as usize] = weight);
            let mut v = vec![0.0; plan.features + 1];
            let (mut losses, mut value, mut known) = (0.0, 0.0, false);
            for (part, kept) in self.parts.iter().zip(&self.kept) {
                let (rows, members) = rows_of(part, &plan.models[0], 0);
                let kept = plan.kept(kept).unwrap();
                let alphas = kept.get(&(number as u32)).map_or(&[][..], |kept| &kept.alphas);
                known |= kept.contains_key(&(number as u32));
                for row in 0..rows.len() as u32 {
                    let positive = members.row_indices(question.of as usize).contains(&row);
                    let cost = question.costs[usize::from(positive)];
                    let y = if positive { 1.0 } else { -1.0 };
                    let x: Vec<(u32, f32)> = rows.matrix.row(row as usize).collect();
                    if let Some((_, alpha)) = alphas.iter().find(|(r, _)| *r == row) {
                        let alpha = f64::from(*alpha);
                        x.iter().for_each(|(f, x)| v[*f as usize] += alpha * y * f64::from(*x));
                        v[plan.features] += alpha * y;
                        value += alpha - if loss == Loss::Squared { alpha * alpha / (4.0 * cost) } else { 0.0 };
                    }
                    let dot: f64 = x.iter().map(|(f, x)| f64::from(w[*f as usize]) * f64::from(*x)).sum();
                    let e = (1.0 - y * (bias + dot)).max(0.0);
                    losses += cost * if loss == Loss::Squared { e * e } else { e };
                }
            }
            let square = bias * bias + w.iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>();
            if known {
                found.push((number as u32, 0.5 * square + losses, value - 0.5 * v.iter().map(|v| v * v).sum::<f64>()));
            }
        }
        found
    }
}

fn corpus() -> impl Strategy<Value = Counts> {
    let document = (prop::collection::vec("[a-h]", 0..9), prop::collection::vec("[XYZ]", 0..3), any::<u64>());
    prop::collection::vec(document, 8..60).prop_map(|documents| {
        let rows: Vec<(Vec<String>, Vec<String>)> =
            documents.iter().map(|(terms, labels, _)| (terms.clone(), labels.clone())).collect();
        let mut counts = Counts::from_rows(&rows);
        counts.fingerprints = documents.iter().map(|(.., fingerprint)| *fingerprint).collect();
        counts
    })
}

const CLASSIFIERS: [&str; 5] = [
    "svm",
    "svm(c=0.3,loss=hinge,vectors=binary)",
    "svm(c=2,classes=balanced,vectors=tfidf*rf)",
    "logistic",
    "logistic(c=5,classes=balanced)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What parts reach lies as near to the best as their gap says: `½‖w − w*‖² ≤ P(w) − P(w*) ≤ gap`, for the objective is strongly convex.
    #[test]
    fn parts_reach_what_one_machine_reaches(counts in corpus(), which in 0usize..5, parts in 1usize..5) {
        let classifier: ClassifierSpec = CLASSIFIERS[which].parse().unwrap();
        // Rows of one label alone have nothing to be told from.
        let labels = Contingency::of(&counts).label_documents().to_vec();
        prop_assume!(labels.iter().any(|&n| n > 0));
        let mut training = Training::new(&counts, &classifier, parts);
        while !training.rounds.is_done() {
            training.round();
        }
        let ours = training.rounds.solutions(0);
        prop_assert!(ours.iter().all(|s| s.converged), "{:?}", ours);
        let problem = Problem::new(&counts, &counts.rows(), &training.terms);
        let (Fitted::Linear(single), theirs) = alone(&classifier, &problem) else { unreachable!() };
        let linear = training.linear();
        let scale = |p: f64| 1e-6 * p.max(1.0);
        for (a, b) in ours.iter().zip(&theirs) {
            prop_assert_eq!(a.label, b.label);
            prop_assert!(a.primal - b.primal <= a.gap + scale(a.primal), "{:?} {:?}", a, b);
            prop_assert!(b.primal - a.primal <= b.gap + scale(a.primal), "{:?} {:?}", a, b);
            let apart: f64 = (0..training.terms.len() as u32)
                .map(|f| (linear.weight(a.label, f) - single.weight(b.label, f)).powi(2))
                .sum::<f64>() + (linear.bias(a.label) - single.bias(b.label)).powi(2);
            let allowed = (2.0 * (a.gap + scale(a.primal))).sqrt() + (2.0 * (b.gap + scale(b.primal))).sqrt();
            prop_assert!(apart.sqrt() <= allowed, "{} > {}: {:?} {:?}", apart.sqrt(), allowed, a, b);
        }
    }

    #[test]
    fn the_gap_is_that_of_the_definition(counts in corpus(), hinge: bool, parts in 1usize..4) {
        let (name, loss) = if hinge { ("svm(loss=hinge)", Loss::Hinge) } else { ("svm", Loss::Squared) };
        let labels = Contingency::of(&counts).label_documents().to_vec();
        prop_assume!(labels.iter().any(|&n| n > 0));
        let mut training = Training::new(&counts, &name.parse().unwrap(), parts);
        let mut last = f64::INFINITY;
        let mut best = vec![0.0f64; training.rounds.plan().questions.len()];
        while !training.rounds.is_done() {
            let expected = training.values(loss);
            let before = training.rounds.solutions(0);
            let report = training.round();
            // A problem that was solved is not asked about again, and its parts have gone on since it was measured.
            for (number, primal, dual) in expected.into_iter().filter(|(n, ..)| !before[*n as usize].converged) {
                let best = &mut best[number as usize];
                *best = best.max(dual);
                let ours = training.rounds.solutions(0)[number as usize];
                prop_assert!((ours.primal - primal).abs() <= 1e-6 * primal.max(1.0), "{:?} is not {}", ours, primal);
                let gap = (primal - *best).max(0.0);
                prop_assert!((ours.gap - gap).abs() <= 1e-6 * primal.max(1.0), "{:?} is not {}", ours, gap);
            }
            last = last.min(report.gap);
        }
        prop_assert!(last <= training.rounds.plan().gap());
    }

    #[test]
    fn parts_depend_on_documents_alone(counts in corpus(), turn in 0usize..60) {
        let mut order: Vec<usize> = counts.rows();
        order.rotate_left(turn % counts.len());
        let classifier: ClassifierSpec = "svm".parse().unwrap();
        prop_assume!(Contingency::of(&counts).label_documents().iter().any(|&n| n > 0));
        let parts = |counts: &Counts| Training::new(counts, &classifier, 3).parts;
        prop_assert_eq!(parts(&counts), parts(&counts.select(&order)));
    }

    #[test]
    fn bytes_that_are_no_message_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let counts = Counts::from_rows(&[(vec!["a", "b"], vec!["X"]), (vec!["b"], vec!["Y"]), (vec!["a"], vec!["X"])]);
        let training = Training::new(&counts, &"svm".parse().unwrap(), 1);
        let _ = training.rounds.plan().step(&training.parts[0], &bytes, &bytes, &Silent);
        let _ = training.rounds.clone().add(&[&bytes]);
        let _ = Part::read([bytes.as_slice()], 2, 2);
        let _ = (Plan::from_bytes(&bytes), Packer::from_bytes(&bytes), Scorers::from_bytes(&bytes));
        let _ = scored(&bytes, 3, |_, _, _| {});
    }
}

/// One machine; logistic regression label by label, as parts have it.
fn alone(classifier: &ClassifierSpec, problem: &Problem) -> (Fitted, Vec<Solution>) {
    let classifier = match classifier.clone() {
        ClassifierSpec::Logistic(mut options) => {
            options.form = Some(crate::classify::logistic::Form::Ovr);
            ClassifierSpec::Logistic(options)
        }
        other => other,
    };
    classifier.fit_with_solutions(problem, &Silent).unwrap()
}

/// Thousands of documents press on the bias of a label that four have: in CoCoA+ parts hand it over by less than a thousandth a round.
#[test]
fn labels_of_few_documents_need_few_rounds() {
    let mut seed = 1u64;
    let mut draw = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for document in 0..4000 {
        let topic = draw(4);
        // Rare words and frequent ones, some of them of the topic.
        let words = (0..12).map(|_| match draw(3) {
            0 => format!("t{topic}w{}", draw(40)),
            1 => format!("common{}", draw(30)),
            _ => format!("word{}", draw(800)),
        });
        let words: Vec<String> = words.collect();
        let rare = (document % 1300 == 7).then(|| "rare".to_owned());
        rows.push((words, [Some(format!("topic{topic}")), rare].into_iter().flatten().collect()));
    }
    let mut counts = Counts::from_rows(&rows);
    counts.fingerprints = (1..=rows.len() as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    for (classifier, most) in [("svm(gap=0.01)", 20), ("logistic(gap=0.01)", 20), ("svm(loss=hinge,gap=0.01)", 60)] {
        let rounds = |resist: bool| {
            let mut training = Training::new(&counts, &classifier.parse().unwrap(), 4);
            let mut taken = 0;
            while !training.rounds.is_done() && taken < 3 * most {
                training.round();
                taken += 1;
                if !resist {
                    training.rounds.slacken();
                }
            }
            taken
        };
        let (taken, slack) = (rounds(true), rounds(false));
        println!("{classifier}: {taken} rounds, {slack} without resistance");
        assert!(taken <= most, "{classifier} took {taken} rounds");
        assert!(
            !classifier.contains("hinge") || slack > 2 * taken,
            "{taken} and {slack}: resistance is what makes it fast"
        );
    }
}

/// Documents of the built-in corpus over its most frequent words: nearly every word is in nearly every document.
fn of_frequent_words(documents: u64, words: usize) -> Counts {
    use crate::corpus::Body;
    use crate::corpus::synth::{Generator, Shape, SynthOptions};
    let generator = Generator::new(&SynthOptions { documents, ..SynthOptions::of(Shape::Topics) }).unwrap();
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for document in (0..documents).map(|number| generator.document(number)).filter(|d| !d.labels.is_empty()) {
        let Body::Text(text) = document.body else { unreachable!() };
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase);
        rows.push((words.collect(), vec![document.labels[0].to_string()]));
    }
    let mut frequency: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for (own, _) in &rows {
        let own: std::collections::BTreeSet<&str> = own.iter().map(String::as_str).collect();
        own.into_iter().for_each(|word| *frequency.entry(word).or_default() += 1);
    }
    let mut order: Vec<(usize, String)> = frequency.into_iter().map(|(word, n)| (n, word.to_owned())).collect();
    order.sort_by(|a, b| b.cmp(a));
    let kept: std::collections::BTreeSet<String> = order.into_iter().take(words).map(|(_, word)| word).collect();
    rows.iter_mut().for_each(|(own, _)| own.retain(|word| kept.contains(word)));
    let mut counts = Counts::from_rows(&rows);
    counts.fingerprints = (1..=rows.len() as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    counts
}

#[test]
fn frequent_words_need_few_rounds() {
    let counts = of_frequent_words(600, 200);
    for (classifier, most) in [("svm(gap=0.01)", 20), ("logistic(gap=0.01)", 10), ("svm(loss=hinge,gap=0.01)", 60)] {
        let mut training = Training::new(&counts, &classifier.parse().unwrap(), 2);
        let mut taken = 0;
        while !training.rounds.is_done() && taken <= most {
            training.round();
            taken += 1;
        }
        assert!(taken <= most, "{classifier} took {taken} rounds or more");
    }
}

#[test]
fn what_is_not_trained_in_parts_is_refused() {
    let counts = Counts::from_rows(&[(vec!["a"], vec!["X"]), (vec!["b"], vec!["Y"])]);
    let table = Contingency::of(&counts);
    for (name, reason) in [
        ("svm(multi=ovo)", "multi=ovr"),
        ("logistic(form=multinomial)", "form=ovr"),
        ("svm(vectors=tfidf*rf(per=label))", "per=label"),
        ("knn", "only svm"),
        ("tree(svm)", "only svm"),
    ] {
        let error = Plan::questions(&name.parse().unwrap(), 0, &table, true).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
