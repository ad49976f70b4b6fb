//! Counting words.

use super::*;

#[test]
fn vector_and_plain_kernels_agree() {
    let mut random = Random(1);
    for _ in 0..300 {
        // Long enough for the vector units, or too short; as many questions as are answered together, or fewer.
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
        };
        let segments = [segment(0, 2, 1, 0, cut), segment(1, NO_CELL, 4, cut, n)];
        let count = |kernel: Kernel| {
            let mut counts = vec![0; 3 * n_asked];
            let mut asked: Vec<Question> = ys
                .iter()
                .map(Vec::as_slice)
                .zip(counts.chunks_mut(3))
                .collect();
            (kernel.count_each)(&x, &mut asked, &segments);
            counts
        };
        let plain = count(Kernel::PLAIN);
        assert_eq!(plain, count(fastest()));
        for (y, counts) in ys.iter().zip(plain.chunks(3)) {
            let by_hand = |range: std::ops::Range<usize>| -> u64 {
                range.map(|w| u64::from((x[w] & y[w]).count_ones())).sum()
            };
            let first = by_hand(0..cut);
            assert_eq!(counts, [first, 4 * by_hand(cut..n), first]);
        }
        let y = &ys[0];

        let (mut gathered, mut again) = (vec![0; n], vec![0; n]);
        (Kernel::PLAIN.gather)(&x, y, &mut gathered);
        (fastest().gather)(&x, y, &mut again);
        assert_eq!(gathered, again);
        let bit = |words: &[u64], place: usize| words[place / 64] >> (place % 64) & 1;
        let kept: Vec<u64> = (0..n * 64)
            .filter(|&p| bit(y, p) == 1)
            .map(|p| bit(&x, p))
            .collect();
        assert!(kept
            .iter()
            .enumerate()
            .all(|(place, &b)| bit(&gathered, place) == b));
    }
}
