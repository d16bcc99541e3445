//! Loops over 16-bit sums that vector instructions make several times faster, with a plain version of each that gives the
//! same.

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
        __m256i, _mm_loadu_si128, _mm256_adds_epu16, _mm256_cmpeq_epi16, _mm256_cvtepu8_epi16, _mm256_loadu_si256,
        _mm256_max_epu16, _mm256_movemask_epi8, _mm256_mulhrs_epi16, _mm256_set1_epi16, _mm256_slli_epi16,
        _mm256_storeu_si256, _mm256_sub_epi16,
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
    }
}
