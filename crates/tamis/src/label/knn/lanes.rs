//! The few loops that vector instructions make several times faster, with a plain version of each that gives the same.

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

/// Adds `byte·factor/256`, rounded, of four rows to the sums, which saturate. Factors are below 2¹⁵.
pub(super) fn add_rows(sums: &mut [u16], rows: [(&[u8], u16); 4]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as the line above made sure.
        unsafe { avx2::add_rows(sums, rows) };
        return;
    }
    add_rows_any(sums, rows);
}

fn add_rows_any(sums: &mut [u16], [a, b, c, d]: [(&[u8], u16); 4]) {
    let part = |byte: u8, factor: u16| ((u32::from(byte) * u32::from(factor) + 128) >> 8) as u16;
    for ((((sum, &w), &x), &y), &z) in sums.iter_mut().zip(a.0).zip(b.0).zip(c.0).zip(d.0) {
        let first = part(w, a.1).saturating_add(part(x, b.1));
        let second = part(y, c.1).saturating_add(part(z, d.1));
        *sum = sum.saturating_add(first.saturating_add(second));
    }
}

/// A number that at least k of the sums reach, and not many more if that can be; or 0.
pub(super) fn bar(sums: &[u16], k: usize) -> u16 {
    let (mut low, mut high) = (0u32, 1u32 << 16);
    while high - low > 1 {
        let middle = low.midpoint(high);
        let reaching = count(sums, middle as u16);
        if reaching < k {
            high = middle;
        } else {
            low = middle;
            if reaching - k <= k / 16 {
                break;
            }
        }
    }
    low as u16
}

/// How many sums reach `bar`.
fn count(sums: &[u16], bar: u16) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as the line above made sure.
        return unsafe { avx2::count(sums, bar) };
    }
    count_any(sums, bar)
}

fn count_any(sums: &[u16], bar: u16) -> usize {
    sums.iter().filter(|&&sum| sum >= bar).count()
}

/// Appends the places of the sums that reach `bar`.
pub(super) fn reaching(sums: &[u16], bar: u16, places: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as the line above made sure.
        unsafe { avx2::reaching(sums, bar, places) };
        return;
    }
    reaching_any(sums, bar, places);
}

fn reaching_any(sums: &[u16], bar: u16, places: &mut Vec<u32>) {
    places.extend(sums.iter().zip(0..).filter(|&(&sum, _)| sum >= bar).map(|(_, place)| place));
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256d, __m256i, _CMP_GE_OQ, _mm_loadu_si128, _mm_shuffle_epi8, _mm_storeu_si128, _mm256_adds_epu16,
        _mm256_castpd_si256, _mm256_castsi256_pd, _mm256_cmp_pd, _mm256_cmpeq_epi16, _mm256_cvtepu8_epi16,
        _mm256_loadu_pd, _mm256_loadu_si256, _mm256_max_epu16, _mm256_movemask_epi8, _mm256_movemask_pd,
        _mm256_mulhrs_epi16, _mm256_permutevar8x32_epi32, _mm256_set1_epi16, _mm256_set1_pd, _mm256_slli_epi16,
        _mm256_storeu_pd, _mm256_storeu_si256, _mm256_sub_epi16,
    };

    #[target_feature(enable = "avx2")]
    pub(super) fn add_rows(sums: &mut [u16], rows: [(&[u8], u16); 4]) {
        let len = rows.iter().map(|row| row.0.len()).fold(sums.len(), usize::min) & !15;
        let factors = rows.map(|row| _mm256_set1_epi16(row.1 as i16));
        for i in (0..len).step_by(16) {
            let part = |r: usize| {
                let bytes = &rows[r].0[i..i + 16];
                // SAFETY: the slice holds the 16 bytes that are read; the load needs no alignment.
                let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
                // This multiplication divides by 2¹⁵ and rounds.
                _mm256_mulhrs_epi16(_mm256_slli_epi16::<7>(_mm256_cvtepu8_epi16(bytes)), factors[r])
            };
            let added = _mm256_adds_epu16(_mm256_adds_epu16(part(0), part(1)), _mm256_adds_epu16(part(2), part(3)));
            let sums = &mut sums[i..i + 16];
            // SAFETY: the slice holds the 16 numbers that are read and written; no alignment is needed.
            unsafe {
                let before = _mm256_loadu_si256(sums.as_ptr().cast());
                _mm256_storeu_si256(sums.as_mut_ptr().cast(), _mm256_adds_epu16(before, added));
            }
        }
        super::add_rows_any(&mut sums[len..], rows.map(|(row, factor)| (&row[len.min(row.len())..], factor)));
    }

    /// Sixteen sums from `at` on; all ones where they reach `bar`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn sixteen(sums: &[u16], at: usize, bar: __m256i) -> __m256i {
        let sums = &sums[at..at + 16];
        // SAFETY: the slice holds the 16 numbers that are read; the load needs no alignment.
        let sums = unsafe { _mm256_loadu_si256(sums.as_ptr().cast()) };
        _mm256_cmpeq_epi16(_mm256_max_epu16(sums, bar), sums)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn count(sums: &[u16], bar: u16) -> usize {
        let wide_bar = _mm256_set1_epi16(bar as i16);
        let mut count = 0;
        // Counters of 16 bits do not overflow within a part.
        for part in sums.chunks(16 << 15) {
            let whole = part.len() & !31;
            let mut lanes = [_mm256_set1_epi16(0); 2];
            for i in (0..whole).step_by(32) {
                lanes[0] = _mm256_sub_epi16(lanes[0], sixteen(part, i, wide_bar));
                lanes[1] = _mm256_sub_epi16(lanes[1], sixteen(part, i + 16, wide_bar));
            }
            for lanes in lanes {
                // SAFETY: both types are 32 bytes of plain numbers.
                let lanes: [u16; 16] = unsafe { std::mem::transmute(lanes) };
                count += lanes.iter().map(|&lane| usize::from(lane)).sum::<usize>();
            }
            count += super::count_any(&part[whole..], bar);
        }
        count
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn reaching(sums: &[u16], bar: u16, places: &mut Vec<u32>) {
        let whole = sums.len() & !15;
        let wide_bar = _mm256_set1_epi16(bar as i16);
        for i in (0..whole).step_by(16) {
            // Two bits for each sum.
            let mut bits = _mm256_movemask_epi8(sixteen(sums, i, wide_bar)) as u32;
            while bits != 0 {
                let at = bits.trailing_zeros();
                places.push(i as u32 + at / 2);
                bits &= !(3 << at);
            }
        }
        places.extend((whole..sums.len()).filter(|&i| sums[i] >= bar).map(|i| i as u32));
    }

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
        fn sums_of_rows_are_the_same(
            bytes in prop::collection::vec(prop::array::uniform4(any::<u8>()), 0..80),
            factors in prop::array::uniform4(0u16..1 << 15),
            start in any::<u16>(),
            bar_at in any::<u16>(),
        ) {
            let rows: [Vec<u8>; 4] = std::array::from_fn(|r| bytes.iter().map(|b| b[r]).collect());
            let rows = std::array::from_fn(|r| (&rows[r][..], factors[r]));
            let (mut one, mut other) = (vec![start; bytes.len()], vec![start; bytes.len()]);
            add_rows(&mut one, rows);
            add_rows_any(&mut other, rows);
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(count(&one, bar_at), count_any(&one, bar_at));
            let (mut places, mut expected) = (Vec::new(), Vec::new());
            reaching(&one, bar_at, &mut places);
            reaching_any(&one, bar_at, &mut expected);
            prop_assert_eq!(places, expected);
            for k in 1..one.len() {
                let found = bar(&one, k);
                let mut sorted = one.clone();
                sorted.sort_unstable_by(|a, b| b.cmp(a));
                prop_assert!(found <= sorted[k - 1]);
                prop_assert!(found == sorted[k - 1] || count_any(&one, found) - k <= k / 16);
            }
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
