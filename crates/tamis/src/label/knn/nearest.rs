//! The k best similarities of one pass over documents in training order; ties go to the earlier document.

/// The best documents so far, in training order.
#[derive(Debug, Default, Clone)]
pub(super) struct Nearest {
    k: usize,
    len: usize,
    documents: Vec<u32>,
    similarities: Vec<f64>,
    work: Vec<u64>,
}

/// How many documents a scan looks at before it asks whether any of them is wanted.
const STEP: usize = 8;

impl Nearest {
    /// Starts again, for at most `k` documents. There is room for two rounds of k, so that each selection is paid for
    /// by k insertions.
    pub(super) fn reset(&mut self, k: usize) {
        self.k = k;
        self.len = 0;
        let room = limit(k) + STEP;
        if self.documents.len() < room {
            self.documents.resize(room, 0);
            self.similarities.resize(room, 0.0);
        }
    }

    pub(super) fn documents(&self) -> &[u32] {
        &self.documents[..self.len]
    }

    pub(super) fn similarities(&self) -> &[f64] {
        &self.similarities[..self.len]
    }

    /// Whether there are k.
    pub(super) fn full(&self) -> bool {
        self.len == self.k
    }

    /// The smallest similarity that a *later* document needs to get in; positive.
    pub(super) fn entry(&self) -> f64 {
        if self.full() {
            self.similarities().iter().copied().fold(f64::INFINITY, f64::min).next_up()
        } else {
            f64::from_bits(1)
        }
    }

    /// Takes the documents `first, first + 1, …` with these similarities, all later than those already here. Nothing
    /// below `entry` (which is positive) belongs to the k best; the caller knows that.
    pub(super) fn scan(&mut self, values: &[f64], first: u32, entry: f64) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as the line above made sure.
            unsafe { scan_avx2(self, values, first, entry) };
            return;
        }
        self.scan_steps(values, first, entry);
    }

    /// Takes all these documents, which are in training order, that are among the k best.
    pub(super) fn take(&mut self, documents: &[u32], similarities: &[f64]) {
        let mut entry = self.entry();
        for (&document, &similarity) in documents.iter().zip(similarities) {
            self.offer(document, similarity, entry);
            entry = self.keep_room(entry);
        }
        self.keep_best();
    }

    #[inline(always)]
    fn scan_steps(&mut self, values: &[f64], first: u32, mut entry: f64) {
        let (steps, rest) = values.as_chunks::<STEP>();
        let mut document = first;
        for step in steps {
            if step.iter().fold(false, |any, &value| any | (value >= entry)) {
                for (&value, document) in step.iter().zip(document..) {
                    self.offer(document, value, entry);
                }
                entry = self.keep_room(entry);
            }
            document += STEP as u32;
        }
        for (&value, document) in rest.iter().zip(document..) {
            self.offer(document, value, entry);
        }
        self.keep_best();
    }

    /// Takes a document if its similarity is at least `entry`. At most [`STEP`] offers between two
    /// [`Nearest::keep_room`].
    #[inline(always)]
    fn offer(&mut self, document: u32, similarity: f64, entry: f64) {
        self.documents[self.len] = document;
        self.similarities[self.len] = similarity;
        self.len += usize::from(similarity >= entry);
    }

    /// Makes room when it runs out; gives what later documents need now.
    #[inline(always)]
    fn keep_room(&mut self, entry: f64) -> f64 {
        if self.len >= limit(self.k) { self.keep_best() } else { entry }
    }

    /// Cuts down to the k best and keeps training order; gives what a later document needs, when there were more.
    fn keep_best(&mut self) -> f64 {
        let Some(surplus) = self.len.checked_sub(self.k).filter(|&surplus| surplus > 0) else {
            return f64::from_bits(1);
        };
        self.work.clear();
        // Positive floats order as their bits do.
        self.work.extend(self.similarities[..self.len].iter().map(|s| s.to_bits()));
        let (_, &mut kth, above) = self.work.select_nth_unstable(surplus);
        let mut ties = self.k - above.iter().filter(|&&s| s > kth).count();
        let kth = f64::from_bits(kth);
        let mut kept = 0;
        for i in 0..self.len {
            let similarity = self.similarities[i];
            self.documents[kept] = self.documents[i];
            self.similarities[kept] = similarity;
            let tied = similarity == kth && ties > 0;
            ties -= usize::from(tied);
            kept += usize::from(similarity > kth || tied);
        }
        self.len = kept;
        kth.next_up()
    }
}

fn limit(k: usize) -> usize {
    (2 * k).max(64)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn scan_avx2(nearest: &mut Nearest, values: &[f64], first: u32, entry: f64) {
    nearest.scan_steps(values, first, entry);
}
