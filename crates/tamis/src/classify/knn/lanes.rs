//! Loops over similarities that vector instructions make several times faster, with a plain version of each that gives
//! the same.

/// Moves the pairs whose value reaches `floor` to the front, in order; gives their number.
pub(super) fn retain(documents: &mut [u32], values: &mut [f64], floor: f64) -> usize {
    let len = documents.len().min(values.len());
    let (documents, values) = (&mut documents[..len], &mut values[..len]);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as the line above made sure.
        return unsafe { avx2::retain(documents, values, floor) };
    }
    retain_from(documents, values, floor, 0, 0)
}

/// Continues from pair `from`, with `kept` pairs at the front already.
fn retain_from(documents: &mut [u32], values: &mut [f64], floor: f64, from: usize, mut kept: usize) -> usize {
    for i in from..values.len() {
        let value = values[i];
        documents[kept] = documents[i];
        values[kept] = value;
        kept += usize::from(value >= floor);
    }
    kept
}

/// Copies the pairs whose value reaches `floor`, in order; gives their number. There is room for all and
/// [`SLACK`] more.
pub(super) fn select(
    documents: &[u32],
    values: &[f64],
    floor: f64,
    kept_documents: &mut [u32],
    kept_values: &mut [f64],
) -> usize {
    let len = documents.len().min(values.len());
    let (documents, values) = (&documents[..len], &values[..len]);
    let (kept_documents, kept_values) = (&mut kept_documents[..len + SLACK], &mut kept_values[..len + SLACK]);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as the line above made sure.
        return unsafe { avx2::select(documents, values, floor, kept_documents, kept_values) };
    }
    select_from(documents, values, floor, kept_documents, kept_values, 0)
}

/// How far beyond the last pair [`select`] may write.
pub(super) const SLACK: usize = 4;

/// Continues with `kept` pairs there already.
fn select_from(
    documents: &[u32],
    values: &[f64],
    floor: f64,
    kept_documents: &mut [u32],
    kept_values: &mut [f64],
    mut kept: usize,
) -> usize {
    for (&document, &value) in documents.iter().zip(values) {
        kept_documents[kept] = document;
        kept_values[kept] = value;
        kept += usize::from(value >= floor);
    }
    kept
}

/// A number that exactly k of the values reach; or, if values tie, the k-th largest. There are more than k values; they
/// are positive, as is k.
///
/// Interpolation on the number of values that reach a bar, over the bits of positive floats, which order as the floats
/// do. Each step counts without a branch, which beats a quick-select on the few hundred values there are.
pub(super) fn kth(values: &[f64], k: usize) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as the line above made sure.
        return unsafe { avx2::kth(values, k) };
    }
    kth_any(values, k)
}

// Within `avx2::kth` it is compiled with those instructions, which takes inlining.
#[allow(clippy::inline_always)]
#[inline(always)]
fn kth_any(values: &[f64], k: usize) -> f64 {
    let (mut smallest, mut largest) = ([f64::INFINITY; 4], [0.0f64; 4]);
    let (fours, rest) = values.as_chunks::<4>();
    for four in fours {
        for i in 0..4 {
            smallest[i] = smallest[i].min(four[i]);
            largest[i] = largest[i].max(four[i]);
        }
    }
    let smallest = smallest.iter().chain(rest).copied().fold(f64::INFINITY, f64::min);
    let largest = largest.iter().chain(rest).copied().fold(0.0, f64::max);
    // More than k values reach `low`, fewer reach `high`; by how many is what interpolation goes by.
    let (mut low, mut above) = (smallest.to_bits(), (values.len() - k) as i64);
    let (mut high, mut below) = (largest.to_bits() + 1, k as i64);
    let mut steps = 0;
    while high - low > 1 {
        // Where values tie there may be no bar for exactly k: bisection then ends the search.
        let share = if steps < 12 { above as f64 / (above + below) as f64 } else { 0.5 };
        steps += 1;
        let between = (high - low) as i64;
        let middle = low + ((between as f64 * share) as i64).clamp(1, between - 1) as u64;
        let bar = f64::from_bits(middle);
        let excess = values.iter().map(|&value| i64::from(value >= bar)).sum::<i64>() - k as i64;
        if excess == 0 {
            return bar;
        }
        // Which end moves cannot be predicted, so this is not to become a branch.
        let enough = excess > 0;
        low = if enough { middle } else { low };
        above = if enough { excess } else { above };
        high = if enough { high } else { middle };
        below = if enough { below } else { -excess };
    }
    f64::from_bits(low)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256d, __m256i, _CMP_GE_OQ, _mm_loadu_si128, _mm_shuffle_epi8, _mm_storeu_si128,
        _mm256_castpd_si256, _mm256_castsi256_pd, _mm256_cmp_pd, _mm256_loadu_pd, _mm256_loadu_si256,
        _mm256_movemask_pd, _mm256_permutevar8x32_epi32, _mm256_set1_pd, _mm256_storeu_pd,
    };

    #[target_feature(enable = "avx2")]
    pub(super) fn kth(values: &[f64], k: usize) -> f64 {
        super::kth_any(values, k)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn retain(documents: &mut [u32], values: &mut [f64], floor: f64) -> usize {
        let whole = values.len() & !3;
        let bar = _mm256_set1_pd(floor);
        let mut kept = 0;
        for i in (0..whole).step_by(4) {
            let four = Four::load(&documents[i..], &values[i..]);
            // Nothing beyond pair i + 3 is written, and all up to there has been read.
            kept += four.store_reaching(bar, &mut documents[kept..], &mut values[kept..]);
        }
        super::retain_from(documents, values, floor, whole, kept)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn select(
        documents: &[u32],
        values: &[f64],
        floor: f64,
        kept_documents: &mut [u32],
        kept_values: &mut [f64],
    ) -> usize {
        let whole = values.len() & !15;
        let bar = _mm256_set1_pd(floor);
        let mut kept = 0;
        for i in (0..whole).step_by(16) {
            let fours: [Four; 4] = std::array::from_fn(|j| Four::load(&documents[i + 4 * j..], &values[i + 4 * j..]));
            // Most runs of sixteen hold none; the others are copied without further questions.
            if fours.iter().fold(0, |any, four| any | four.reaching(bar)) != 0 {
                for four in fours {
                    kept += four.store_reaching(bar, &mut kept_documents[kept..], &mut kept_values[kept..]);
                }
            }
        }
        super::select_from(&documents[whole..], &values[whole..], floor, kept_documents, kept_values, kept)
    }

    /// Four pairs.
    struct Four {
        documents: __m128i,
        values: __m256d,
    }

    impl Four {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn load(documents: &[u32], values: &[f64]) -> Self {
            let (documents, values) = (&documents[..4], &values[..4]);
            // SAFETY: both slices hold the four numbers that are read; the loads need no alignment.
            unsafe {
                Self { documents: _mm_loadu_si128(documents.as_ptr().cast()), values: _mm256_loadu_pd(values.as_ptr()) }
            }
        }

        #[target_feature(enable = "avx2")]
        #[inline]
        fn reaching(&self, bar: __m256d) -> usize {
            _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(self.values, bar)) as usize
        }

        /// Writes four pairs of which the first are those that reach `bar`; gives their number.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn store_reaching(&self, bar: __m256d, documents: &mut [u32], values: &mut [f64]) -> usize {
            let mask = self.reaching(bar) & 15;
            let (documents, values) = (&mut documents[..4], &mut values[..4]);
            // SAFETY: the tables hold 32 and 16 bytes a row, the slices four numbers each; no alignment is needed.
            unsafe {
                let eights: __m256i = _mm256_loadu_si256(VALUE_MOVES[mask].as_ptr().cast());
                let moved = _mm256_permutevar8x32_epi32(_mm256_castpd_si256(self.values), eights);
                _mm256_storeu_pd(values.as_mut_ptr(), _mm256_castsi256_pd(moved));
                let bytes = _mm_loadu_si128(DOCUMENT_MOVES[mask].as_ptr().cast());
                _mm_storeu_si128(documents.as_mut_ptr().cast(), _mm_shuffle_epi8(self.documents, bytes));
            }
            mask.count_ones() as usize
        }
    }

    /// For each set of lanes, where the lanes to keep come from, first ones first.
    const MOVES: [[u8; 4]; 16] = {
        let mut moves = [[0; 4]; 16];
        let mut mask = 0;
        while mask < 16 {
            let (mut lane, mut to) = (0, 0);
            while lane < 4 {
                if mask >> lane & 1 == 1 {
                    moves[mask][to] = lane;
                    to += 1;
                }
                lane += 1;
            }
            mask += 1;
        }
        moves
    };

    /// [`MOVES`] in halves of 64-bit lanes.
    static VALUE_MOVES: [[u32; 8]; 16] = {
        let mut table = [[0; 8]; 16];
        let mut i = 0;
        while i < 16 * 8 {
            table[i / 8][i % 8] = 2 * MOVES[i / 8][i % 8 / 2] as u32 + i as u32 % 2;
            i += 1;
        }
        table
    };

    /// [`MOVES`] in bytes of 32-bit lanes.
    static DOCUMENT_MOVES: [[u8; 16]; 16] = {
        let mut table = [[0; 16]; 16];
        let mut i = 0;
        while i < 16 * 16 {
            table[i / 16][i % 16] = 4 * MOVES[i / 16][i % 16 / 4] + i as u8 % 4;
            i += 1;
        }
        table
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_versions_keep_the_same(values in prop::collection::vec(0u8..9, 0..70), floor in 0u8..10) {
            let floor = f64::from(floor);
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let documents: Vec<u32> = (100..).take(values.len()).collect();
            let expected: Vec<(u32, f64)> =
                documents.iter().copied().zip(values.iter().copied()).filter(|(_, v)| *v >= floor).collect();
            let pairs = |d: &[u32], v: &[f64], n: usize| -> Vec<(u32, f64)> {
                d[..n].iter().copied().zip(v[..n].iter().copied()).collect()
            };

            let (mut d, mut v) = (documents.clone(), values.clone());
            let n = retain(&mut d, &mut v, floor);
            prop_assert_eq!(pairs(&d, &v, n), expected.clone());
            let (mut d, mut v) = (documents.clone(), values.clone());
            let n = retain_from(&mut d, &mut v, floor, 0, 0);
            prop_assert_eq!(pairs(&d, &v, n), expected.clone());

            let (mut d, mut v) = (vec![0; values.len() + SLACK], vec![0.0; values.len() + SLACK]);
            let n = select(&documents, &values, floor, &mut d, &mut v);
            prop_assert_eq!(pairs(&d, &v, n), expected.clone());
            let n = select_from(&documents, &values, floor, &mut d, &mut v, 0);
            prop_assert_eq!(pairs(&d, &v, n), expected);
        }

        #[test]
        fn kth_cuts_where_sorting_would(
            values in prop::collection::vec(prop_oneof![(1u8..6).prop_map(f64::from), 0.001f64..9.0], 1..200),
            k in 1usize..60,
        ) {
            prop_assume!(values.len() > k);
            let mut sorted = values.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            for bar in [kth(&values, k), kth_any(&values, k)] {
                let reaching = values.iter().filter(|&&v| v >= bar).count();
                prop_assert_eq!(reaching, sorted.iter().filter(|&&v| v >= sorted[k - 1]).count());
                prop_assert!(reaching == k || bar == sorted[k - 1]);
            }
        }
    }
}
