//! kNN against an obvious dense version (exactly: order and bits), and the sweep against one fit for each size.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tamis::classify::{Classifier, Knn, KnnOptions, KnnSweep, Nested, Problem, Query, Scored, Scratch, Similarity};
use tamis::{Error, Silent, counts::Csr};

/// Documents as dense counts, lengths and labels.
#[derive(Debug, Clone)]
struct Dense {
    counts: Vec<Vec<u32>>,
    lengths: Vec<u32>,
    labels: Vec<Vec<u32>>,
    label_count: usize,
}

impl Dense {
    fn problem(&self, features: usize) -> Problem {
        let (mut matrix, mut assignments) = (Csr::new(features), Csr::new(self.label_count));
        for (row, labels) in self.counts.iter().zip(&self.labels) {
            matrix.push_row((0..).zip(row.iter().copied()).filter(|(_, count)| *count > 0));
            assignments.push_row(labels.iter().map(|&l| (l, ())));
        }
        Problem::of(matrix, self.lengths.clone(), assignments)
    }

    /// The same documents with only the given features, renumbered by place.
    fn select(&self, features: &[u32]) -> Self {
        let counts = self.counts.iter().map(|row| features.iter().map(|&f| row[f as usize]).collect()).collect();
        Self { counts, ..self.clone() }
    }
}

/// Method 6 and 7 word for word, one similarity at a time. Returns the ranked list and the neighbours, best first.
fn obvious(train: &Dense, query: &[u32], length: u32, options: &KnnOptions) -> (Vec<Scored>, Vec<(u32, f64)>) {
    let n = train.counts.len() as f64;
    let mean = train.lengths.iter().map(|&l| f64::from(l)).sum::<f64>() / n;
    let counted: Vec<f64> =
        (0..query.len()).map(|t| train.counts.iter().filter(|row| row[t] > 0).count() as f64).collect();
    let df = |t: usize| counted[t];
    let okapi = |tf: u32, dl: u32| {
        let (tf, dl) = (f64::from(tf), f64::from(dl));
        tf / (f64::from(options.unit) * (0.5 + 1.5 * (if mean == 0.0 { 0.0 } else { dl / mean })) + tf)
    };
    let tfidf = |row: &[u32], t: usize| {
        if row[t] == 0 || df(t) == 0.0 { 0.0 } else { (1.0 + f64::from(row[t]).ln()) * (n / df(t)).ln() }
    };
    let inverse_norm = |row: &[u32]| {
        let squares = (0..row.len()).fold(0.0, |sum, t| sum + tfidf(row, t) * tfidf(row, t));
        if squares > 0.0 { 1.0 / f64::sqrt(squares) } else { 0.0 }
    };
    let similarity = |d: usize| {
        let mut sum = 0.0;
        for t in 0..query.len() {
            if query[t] > 0 && train.counts[d][t] > 0 {
                let idf = f64::max(0.0, ((n - df(t) + 0.5) / (df(t) + 0.5)).ln());
                sum += match options.similarity {
                    Similarity::Okapi => {
                        let product = (okapi(query[t], length) * idf) * okapi(train.counts[d][t], train.lengths[d]);
                        (product * 2f64.powi(40)).round_ties_even() / 2f64.powi(40)
                    }
                    Similarity::Cosine => tfidf(query, t) * tfidf(&train.counts[d], t),
                };
            }
        }
        match options.similarity {
            Similarity::Okapi => sum,
            Similarity::Cosine => sum * inverse_norm(query) * inverse_norm(&train.counts[d]),
        }
    };
    let mut neighbours: Vec<(u32, f64)> =
        (0..train.counts.len()).map(|d| (d as u32, similarity(d))).filter(|(_, s)| *s > 0.0).collect();
    neighbours.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    neighbours.truncate(options.k);
    let mut by_training_order = neighbours.clone();
    by_training_order.sort_by_key(|(d, _)| *d);
    let total = by_training_order.iter().fold(0.0, |sum, (_, s)| sum + s);
    let mut ranked: Vec<Scored> = (0..train.label_count as u32)
        .map(|label| {
            let carrying = by_training_order.iter().filter(|(d, _)| train.labels[*d as usize].contains(&label));
            let sum = carrying.fold(0.0, |sum, (_, s)| sum + s);
            let score = match options.similarity {
                Similarity::Okapi => sum,
                Similarity::Cosine if total == 0.0 => 0.0,
                Similarity::Cosine => sum / total,
            };
            Scored { label, score }
        })
        .filter(|s| s.score > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.score.partial_cmp(&a.score).unwrap().then(a.label.cmp(&b.label)));
    (ranked, neighbours)
}

fn rank(knn: &Knn, query: Query<'_>, scratch: &mut Scratch) -> Vec<Scored> {
    let mut ranked = vec![Scored { label: 0, score: 7.0 }];
    knn.rank(query, scratch, &mut ranked);
    ranked
}

/// Few features, small counts and few lengths make many ties; some documents are exact copies.
fn documents(features: usize, at_most: usize) -> impl Strategy<Value = Dense> {
    let document = (
        prop::collection::vec(prop_oneof![3 => Just(0u32), 2 => Just(1), 1 => 2u32..4], features),
        prop_oneof![Just(5u32), Just(10), 0u32..40],
        prop::collection::btree_set(0u32..5, 0..4),
        1usize..4,
    );
    prop::collection::vec(document, 1..at_most).prop_map(|drawn| {
        let mut dense = Dense { counts: vec![], lengths: vec![], labels: vec![], label_count: 6 };
        for (counts, length, labels, copies) in drawn {
            for _ in 0..copies {
                dense.counts.push(counts.clone());
                dense.lengths.push(length);
                dense.labels.push(labels.iter().copied().collect());
            }
        }
        dense
    })
}

fn options() -> impl Strategy<Value = KnnOptions> {
    let k = prop_oneof![1usize..6, 10usize..60, Just(10_000)];
    (k, prop_oneof![Just(Similarity::Okapi), Just(Similarity::Cosine)], prop_oneof![3 => Just(1u32), 1 => Just(10_000)])
        .prop_map(|(k, similarity, unit)| KnnOptions { k, similarity, unit })
}

/// Per test document, ranking and size, in the order of visits.
fn swept(sweep: &KnnSweep, test: &Problem) -> Vec<(usize, usize, usize, Vec<Scored>)> {
    let runs = sweep
        .fold(
            test,
            &Silent,
            |_| Vec::new(),
            |all, place, ranked| all.push((place.document, place.ranking, place.size, ranked.to_vec())),
        )
        .unwrap();
    runs.into_iter().flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn equals_the_obvious_version(train in documents(9, 40), test in documents(9, 6), options in options()) {
        let knn = Knn::fit(&train.problem(9), &options).unwrap();
        let queries = test.problem(9);
        let mut scratch = Scratch::default();
        for q in 0..test.counts.len() {
            let (ranked, neighbours) = obvious(&train, &test.counts[q], test.lengths[q], &options);
            prop_assert_eq!(rank(&knn, queries.query(q), &mut scratch), ranked);
            prop_assert_eq!(knn.neighbours(queries.query(q)), neighbours);
        }
    }

    #[test]
    fn sweep_equals_one_fit_for_each_size(
        train in documents(12, 60),
        test in documents(12, 6),
        rankings in prop::collection::vec((Just((0..12u32).collect::<Vec<_>>()).prop_shuffle(), 6usize..=12), 1..9),
        sizes in prop::collection::btree_set(1usize..=14, 1..8),
        options in options(),
    ) {
        let sizes: Vec<usize> = sizes.into_iter().collect();
        let nested: Vec<Nested> = rankings
            .into_iter()
            .map(|(features, len)| Nested { features: features[..len].to_vec(), sizes: sizes.clone() })
            .collect();
        let sweep = KnnSweep::over(&train.problem(12), &nested, &options).unwrap();
        let mut scratch = Scratch::default();
        let mut expected = Vec::new();
        for q in 0..test.counts.len() {
            for (r, ranking) in nested.iter().enumerate() {
                for (s, &size) in ranking.sizes.iter().enumerate() {
                    let prefix = &ranking.features[..size.min(ranking.features.len())];
                    let knn = Knn::fit(&train.select(prefix).problem(prefix.len()), &options).unwrap();
                    let queries = test.select(prefix).problem(prefix.len());
                    expected.push((q, r, s, rank(&knn, queries.query(q), &mut scratch)));
                }
            }
        }
        prop_assert_eq!(swept(&sweep, &test.problem(12)), expected);
    }
}

/// A larger random corpus with a skewed vocabulary: many words in few documents, few words in many.
fn skewed(documents: usize, features: usize, seed: u64) -> Dense {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut dense = Dense { counts: vec![], lengths: vec![], labels: vec![], label_count: 30 };
    for _ in 0..documents {
        let mut row = vec![0u32; features];
        for _ in 0..rng.random_range(5..60) {
            let u: f64 = rng.random();
            row[(u * u * u * features as f64) as usize] += 1;
        }
        dense.lengths.push(row.iter().sum::<u32>() + rng.random_range(0..20));
        dense.labels.push((0..30).filter(|_| rng.random::<f64>() < 0.08).collect());
        dense.counts.push(row);
    }
    dense
}

/// Every list of the sweep against one fit for its size.
fn check_sweep(train: &Dense, test: &Dense, rankings: Vec<Vec<u32>>, sizes: &[usize], options: &KnnOptions) {
    let features = train.counts[0].len();
    let nested: Vec<Nested> = rankings.into_iter().map(|features| Nested { features, sizes: sizes.to_vec() }).collect();
    let sweep = KnnSweep::over(&train.problem(features), &nested, options).unwrap();
    let all = swept(&sweep, &test.problem(features));
    let queries_count = test.counts.len();
    assert_eq!(all.len(), queries_count * nested.len() * sizes.len());
    for (r, ranking) in nested.iter().enumerate() {
        for (s, &size) in sizes.iter().enumerate() {
            let prefix = &ranking.features[..size];
            let knn = Knn::fit(&train.select(prefix).problem(size), options).unwrap();
            let queries = test.select(prefix).problem(size);
            let mut scratch = Scratch::default();
            for q in 0..queries_count {
                let expected = (q, r, s, rank(&knn, queries.query(q), &mut scratch));
                assert_eq!(all[(q * nested.len() + r) * sizes.len() + s], expected);
            }
        }
    }
}

#[test]
fn sweep_with_bounds_at_work_equals_one_fit_for_each_size() {
    let (mut train, test) = (skewed(3000, 300, 1), skewed(40, 300, 2));
    // Copies far apart, so that ties span the parts into which a sweep cuts the documents.
    for d in 0..1500 {
        train.counts[1500 + d] = train.counts[d].clone();
        train.lengths[1500 + d] = train.lengths[d];
    }
    let forward: Vec<u32> = (0..300).collect();
    let backward: Vec<u32> = (0..300).rev().collect();
    let interleaved: Vec<u32> = (0..300).map(|i| i * 7 % 300).collect();
    let few = vec![forward, backward, interleaved];
    let many: Vec<Vec<u32>> = few.iter().cycle().take(7).cloned().collect();
    for options in [KnnOptions { k: 20, ..KnnOptions::KNN }, KnnOptions { k: 101, ..KnnOptions::KNN }, KnnOptions::WKNN]
    {
        for rankings in [&few, &many] {
            check_sweep(&train, &test, rankings.clone(), &[5, 20, 40, 41, 80, 150, 300], &options);
        }
    }
}

/// More documents than one block of the index holds, nearly all of them tied with thousands of others.
#[test]
fn many_documents_and_many_ties() {
    let mut train = Dense { counts: vec![], lengths: vec![], labels: vec![], label_count: 4 };
    for d in 0..40_000u32 {
        train.counts.push(vec![u32::from(d % 3 == 0), u32::from(d % 7 == 0) * 2, u32::from(d % 1000 == 999), d % 2]);
        train.lengths.push(10);
        train.labels.push(vec![d % 4]);
    }
    let test = Dense {
        counts: vec![vec![1, 1, 0, 0], vec![0, 1, 1, 1], vec![0, 0, 2, 0], vec![1, 1, 1, 1]],
        lengths: vec![10, 12, 10, 7],
        labels: vec![vec![]; 4],
        label_count: 4,
    };
    let queries = test.problem(4);
    let rankings: Vec<Vec<u32>> = (0..7).map(|r| (0..4).map(|i| (i + r) % 4).collect()).collect();
    for k in [1, 39, 45, 1000, 20_000, 100_000] {
        for similarity in [Similarity::Okapi, Similarity::Cosine] {
            let options = KnnOptions { k, similarity, unit: 1 };
            let knn = Knn::fit(&train.problem(4), &options).unwrap();
            for q in 0..4 {
                let (ranked, neighbours) = obvious(&train, &test.counts[q], test.lengths[q], &options);
                assert_eq!(knn.neighbours(queries.query(q)), neighbours);
                assert_eq!(rank(&knn, queries.query(q), &mut Scratch::default()), ranked);
            }
            if k == 45 {
                check_sweep(&train, &test, rankings.clone(), &[1, 2, 4], &options);
                check_sweep(&train, &test, rankings[..1].to_vec(), &[1, 2, 4], &options);
            }
        }
    }
}

/// Words in most documents, with counts that no byte and no two bytes can hold.
#[test]
fn frequent_words_and_huge_counts() {
    let (mut train, mut test) = (skewed(800, 40, 7), skewed(30, 40, 8));
    for d in 0..800 {
        train.counts[d][20 + d % 20] += [3, 20, 70, 300, 70_000, 1_000_000][d % 6];
        train.lengths[d] += [3, 20, 70, 300, 70_000, 1_000_000][d % 6];
    }
    for q in 0..30 {
        test.counts[q][20 + q % 20] += [1, 64, 66_000][q % 3];
        test.lengths[q] += [1, 64, 66_000][q % 3];
    }
    for similarity in [Similarity::Okapi, Similarity::Cosine] {
        for k in [1, 10, 50] {
            let options = KnnOptions { k, similarity, unit: 1 };
            let knn = Knn::fit(&train.problem(40), &options).unwrap();
            let queries = test.problem(40);
            for q in 0..30 {
                let (ranked, neighbours) = obvious(&train, &test.counts[q], test.lengths[q], &options);
                assert_eq!(knn.neighbours(queries.query(q)), neighbours);
                assert_eq!(rank(&knn, queries.query(q), &mut Scratch::default()), ranked);
            }
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let (train, test) = (skewed(500, 200, 3), skewed(150, 200, 4));
    for options in [KnnOptions::KNN, KnnOptions::WKNN] {
        let sweep = KnnSweep::new(&train.problem(200), &[10, 50, 200], &options).unwrap();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| swept(&sweep, &test.problem(200)))
        };
        let one = with(1);
        assert_eq!(one.len(), 150 * 3);
        assert_eq!(one, with(2));
        assert_eq!(one, with(5));
    }
}

/// Method 6 and 7 by hand. Three training documents of length 4 (= avdl, so a single occurrence weighs
/// 1/(0.5+1.5+1) = 1/3 and two weigh 2/4): idf of a word in one of three documents is log(2.5/1.5).
#[test]
fn worked_example() {
    let train = Dense {
        counts: vec![vec![1, 0, 0], vec![0, 2, 0], vec![0, 0, 1]],
        lengths: vec![4; 3],
        labels: vec![vec![0], vec![0, 1], vec![2]],
        label_count: 3,
    };
    let knn = Knn::fit(&train.problem(3), &KnnOptions::default()).unwrap();
    let query = Query { features: &[0, 1], counts: &[1, 1], length: 4 };
    let idf = (2.5f64 / 1.5).ln();
    let (first, second) = (idf / 9.0, idf / 6.0);
    let neighbours = knn.neighbours(query);
    assert_eq!(neighbours.iter().map(|(d, _)| *d).collect::<Vec<_>>(), [1, 0]);
    assert!((neighbours[0].1 - second).abs() < 1e-12 && (neighbours[1].1 - first).abs() < 1e-12);
    let ranked = rank(&knn, query, &mut Scratch::default());
    assert_eq!(ranked.iter().map(|s| s.label).collect::<Vec<_>>(), [0, 1]);
    assert!((ranked[0].score - (first + second)).abs() < 1e-12 && (ranked[1].score - second).abs() < 1e-12);

    // wknn: the query is equally near to documents 0 and 1 (cosine 1/√2 each); label 0 has both, label 1 half.
    let wknn = Knn::fit(&train.problem(3), &KnnOptions::WKNN).unwrap();
    let neighbours = wknn.neighbours(query);
    assert!(neighbours.iter().all(|(_, s)| (s - 0.5f64.sqrt()).abs() < 1e-15) && neighbours.len() == 2);
    let ranked = rank(&wknn, query, &mut Scratch::default());
    assert_eq!(ranked[0], Scored { label: 0, score: 1.0 });
    assert!(ranked[1].label == 1 && (ranked[1].score - 0.5).abs() < 1e-15 && ranked.len() == 2);
}

#[test]
fn nothing_known_gives_an_empty_list() {
    let train = skewed(50, 20, 5);
    for options in [KnnOptions::KNN, KnnOptions::WKNN] {
        let knn = Knn::fit(&train.problem(20), &options).unwrap();
        let mut scratch = Scratch::default();
        for query in [
            Query { features: &[], counts: &[], length: 9 },
            Query { features: &[21, 4_000_000_000], counts: &[1, 2], length: 9 },
        ] {
            assert_eq!(rank(&knn, query, &mut scratch), []);
            assert_eq!(knn.neighbours(query), []);
        }
    }
}

#[test]
fn refuses_what_cannot_be() {
    let train = skewed(10, 20, 6).problem(20);
    let message = |result: Result<(), Error>| result.unwrap_err().to_string();
    let fit = |problem: &Problem, k| Knn::fit(problem, &KnnOptions { k, ..KnnOptions::KNN }).map(|_| ());
    assert_eq!(message(fit(&train, 0)), "k = 0: at least one neighbour is needed");
    let empty = Problem::of(Csr::new(3), vec![], Csr::new(2));
    assert!(message(fit(&empty, 5)).contains("no training documents"));
    let sweep = |sizes: &[usize]| KnnSweep::new(&train, sizes, &KnnOptions::KNN).map(|_| ());
    assert_eq!(message(sweep(&[])), "sizes = []: at least one size is needed");
    assert_eq!(message(sweep(&[0, 3])), "sizes = 0: a selection needs at least one feature");
    assert_eq!(message(sweep(&[5, 3])), "sizes = 3: sizes must ascend, but it follows 5");
    let over = |features: &[u32]| {
        let nested = Nested { features: features.to_vec(), sizes: vec![1] };
        KnnSweep::over(&train, &[nested], &KnnOptions::KNN).map(|_| ())
    };
    assert_eq!(message(over(&[1, 20])), "a ranking names feature 20, but there are only 20");
    assert_eq!(message(over(&[1, 2, 1])), "a ranking names feature 1 twice");
    let good = KnnSweep::new(&train, &[3], &KnnOptions::KNN).unwrap();
    let other = skewed(10, 19, 6).problem(19);
    assert!(good.fold(&other, &Silent, |_| (), |(), _, _| ()).unwrap_err().to_string().contains("19 features"));
}
