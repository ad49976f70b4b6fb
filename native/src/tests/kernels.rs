//! Counting words.

use super::*;
use crate::bits::cpu::{vectorised, widths};
use crate::bits::lanes::{Counting, Lanes};

#[test]
fn kernels_of_every_width_agree() {
    let mut random = Random(1);
    for _ in 0..300 {
        // Long enough for the vector units or not; up to as many questions as are answered together.
        let most = [40, 300][random.below(2) as usize];
        let n = 1 + random.below(most) as usize;
        let x = random.words(n);
        let n_asked = 1 + random.below(9) as usize;
        let ys: Vec<Vec<u64>> = (0..n_asked).map(|_| random.words(n)).collect();
        let cut = random.below(n as u64 + 1) as usize;
        let segment = |cell, also, multiplier, start, end| Segment {
            cell,
            also,
            multiplier,
            start,
            end,
            mask: u64::MAX,
        };
        let segments = [segment(0, 2, 1, 0, cut), segment(1, NO_CELL, 4, cut, n)];
        let counts = widths::each(|| {
            let mut counts = vec![0; 3 * n_asked];
            let mut asked: Vec<Question> = ys.iter().map(Vec::as_slice).zip(counts.chunks_mut(3)).collect();
            (fastest().count_each)(&x, &mut asked, &segments);
            counts
        });
        let by_hand = |y: &[u64]| {
            let both =
                |range: std::ops::Range<usize>| -> u64 { range.map(|w| u64::from((x[w] & y[w]).count_ones())).sum() };
            let first = both(0..cut);
            [first, 4 * both(cut..n), first]
        };
        for (y, counts) in ys.iter().zip(counts.chunks(3)) {
            assert_eq!(counts, by_hand(y));
        }

        let eight: [Vec<u64>; LANES] = std::array::from_fn(|_| random.words(n));
        let block: Vec<Lanes> = (0..n).map(|word| eight.each_ref().map(|y| y[word])).collect();
        let side_by_side = widths::each(|| {
            let mut counts = [[7; LANES]; 3];
            vectorised(Counting {
                rows: &x,
                block: &block,
                segments: &segments,
                counts: &mut counts,
            });
            counts
        });
        for (lane, y) in eight.iter().enumerate() {
            assert_eq!(side_by_side.map(|lanes| lanes[lane]), by_hand(y));
        }

        let y = &ys[0];
        let gathered = widths::each(|| {
            let mut gathered = vec![0; n];
            (fastest().gather)(&x, y, &mut gathered);
            gathered
        });
        let bit = |words: &[u64], place: usize| words[place / 64] >> (place % 64) & 1;
        let kept: Vec<u64> = (0..n * 64).filter(|&p| bit(y, p) == 1).map(|p| bit(&x, p)).collect();
        assert!(kept.iter().enumerate().all(|(place, &b)| bit(&gathered, place) == b));
    }
}
