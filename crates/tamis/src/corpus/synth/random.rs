//! Random draws that depend on nothing but a seed and a document's number.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The key of a corpus: every document has its own ChaCha8 stream under it, so documents can be drawn in any order and
/// on any thread.
#[derive(Debug, Clone)]
pub(super) struct Key(ChaCha8Rng);

impl Key {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// The stream of document `number`.
    pub(super) fn stream(&self, number: u64) -> Stream {
        let mut rng = self.0.clone();
        rng.set_stream(number);
        Stream(rng)
    }
}

/// Draws for one document.
pub(super) struct Stream(ChaCha8Rng);

impl Stream {
    /// A stream of its own, for what is fixed once for all corpora (invented words, which terms a topic likes).
    pub(super) fn fixed(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// 32 random bits.
    #[inline]
    pub(super) fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number in `0..n`; the bias of the multiplication is below n / 2³².
    #[inline]
    pub(super) fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.0.next_u32()) * n as u64) >> 32) as usize
    }

    /// True with probability `p`.
    #[inline]
    pub(super) fn chance(&mut self, p: f64) -> bool {
        self.bits() < share(p)
    }

    /// A number in [0, 1) with 53 random bits.
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A probability as a bound for [`Stream::bits`].
#[inline]
pub(super) fn share(p: f64) -> u32 {
    (p * 4_294_967_296.0) as u32
}

/// Walker's alias method: draws from any finite distribution with one look-up (Vose 1991, "A linear algorithm for
/// generating random numbers with a given distribution").
///
/// The table is built in integers, so that the last bits of a platform's `powf` do not change documents.
#[derive(Debug)]
pub(super) struct Alias {
    /// For each place: draw it when 32 random bits are below the bound, else its other.
    places: Vec<(u32, u32)>,
}

impl Alias {
    /// A table for weights that are finite, not negative and not all zero.
    pub(super) fn new(weights: &[f64]) -> Self {
        let n = weights.len() as u128;
        let sum: f64 = weights.iter().sum();
        let units: Vec<u128> = weights.iter().map(|w| (w / sum * (1u64 << 44) as f64).round() as u128).collect();
        let total: u128 = units.iter().sum();
        // Every place has room for `total`; weight i fills n·unitᵢ of it.
        let mut left: Vec<u128> = units.iter().map(|u| u * n).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|&i| left[i as usize] < total);
        let mut places: Vec<(u32, u32)> = (0..weights.len() as u32).map(|i| (u32::MAX, i)).collect();
        while let (Some(s), Some(&l)) = (small.pop(), large.last()) {
            let fill = left[s as usize];
            places[s as usize] = (((fill << 32) / total) as u32, l);
            left[l as usize] -= total - fill;
            if left[l as usize] < total {
                large.pop();
                small.push(l);
            }
        }
        Self { places }
    }

    /// One draw.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> usize {
        let bits = stream.0.next_u64();
        let place = ((bits >> 32) * self.places.len() as u64) >> 32;
        let (bound, other) = self.places[place as usize];
        if (bits as u32) < bound { place as usize } else { other as usize }
    }
}

/// Weights of the ranks `0..n` by Zipf and Mandelbrot: (rank + q)^−s.
pub(super) fn zipf_mandelbrot(n: usize, q: f64, s: f64) -> Vec<f64> {
    (0..n).map(|rank| (rank as f64 + q).powf(-s)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probabilities that the table implies, place by place.
    fn implied(alias: &Alias) -> Vec<f64> {
        let n = alias.places.len();
        let mut p = vec![0.0; n];
        for (i, &(bound, other)) in alias.places.iter().enumerate() {
            let stay = f64::from(bound) / 4_294_967_296.0;
            p[i] += stay / n as f64;
            p[other as usize] += (1.0 - stay) / n as f64;
        }
        p
    }

    #[test]
    fn the_alias_table_holds_the_weights() {
        for weights in [
            vec![3.0],
            vec![1.0, 1.0],
            vec![0.0, 5.0, 0.0, 2.5, 1e-6],
            zipf_mandelbrot(1_000, 2.7, 1.1),
            zipf_mandelbrot(47_219, 100.0, 1.6),
        ] {
            let sum: f64 = weights.iter().sum();
            for (p, w) in implied(&Alias::new(&weights)).iter().zip(&weights) {
                assert!((p - w / sum).abs() < 2e-9, "{p} for a weight of {w} in {sum}");
            }
        }
    }

    #[test]
    fn draws_follow_the_weights() {
        let alias = Alias::new(&[1.0, 0.0, 6.0, 3.0]);
        let mut stream = Key::new(1).stream(9);
        let mut seen = [0u32; 4];
        for _ in 0..100_000 {
            seen[alias.draw(&mut stream)] += 1;
        }
        assert_eq!(seen[1], 0);
        for (n, expected) in [(seen[0], 10_000.0), (seen[2], 60_000.0), (seen[3], 30_000.0)] {
            // Five standard deviations of the widest binomial here.
            assert!((f64::from(n) - expected).abs() < 800.0, "{seen:?}");
        }
    }

    #[test]
    fn a_stream_is_its_own_whatever_was_drawn_before() {
        let key = Key::new(7);
        let first: Vec<u32> = (0..8).map(|n| key.stream(n).bits()).collect();
        let mut other = key.stream(3);
        other.bits();
        assert_eq!(first, (0..8).map(|n| key.stream(n).bits()).collect::<Vec<_>>());
        assert_ne!(first[0], first[1]);
        assert_ne!(Key::new(8).stream(0).bits(), first[0]);
    }
}
