//! How fast rows are counted, beside the fastest that this machine reads the same words:
//! `cargo run --release --example kernel`.
//!
//! One line of CSV for each size: where both operands lie, their bytes together, the gigabytes per second
//! that our kernel counts, that its plain build counts, and that a loop reads which only ANDs and adds,
//! with the same vector units. All three take turns, and of each the median is given, for the machine's
//! speed changes while it is measured.

use causalrules_core::bits::bitset::{Kernel, Segment, NO_CELL};
use causalrules_core::fastest_kernel;
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;
const LEAST: Duration = Duration::from_millis(20);

/// Reads both operands and does the least with them that cannot be left out.
#[inline(always)]
fn read(x: &[u64], y: &[u64]) -> u64 {
    // Sixteen sums, so that no addition waits for the one before.
    let mut sums = [0u64; 16];
    for (x, y) in x.chunks_exact(16).zip(y.chunks_exact(16)) {
        for i in 0..16 {
            sums[i] = sums[i].wrapping_add(x[i] & y[i]);
        }
    }
    sums.iter().fold(0, |total, &sum| total.wrapping_add(sum))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn read_vector(x: &[u64], y: &[u64]) -> u64 {
    read(x, y)
}

fn fastest_read() -> fn(&[u64], &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the instructions it is compiled for have just been found.
        return |x, y| unsafe { read_vector(x, y) };
    }
    read
}

/// Words without a pattern.
fn words(count: usize, mut state: u64) -> Vec<u64> {
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(next).collect()
}

/// Gigabytes per second of one pass over this many bytes, repeated for long enough to be timed.
fn speed(bytes: usize, mut pass: impl FnMut()) -> f64 {
    let (start, mut passes) = (Instant::now(), 0);
    while start.elapsed() < LEAST {
        // The clock is not read after every pass: one over the smallest tables takes half a microsecond.
        for _ in 0..1 + 1_000_000 / bytes {
            pass();
            passes += 1;
        }
    }
    (bytes * passes) as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    println!("place,bytes,ours,plain,limit");
    for (place, bytes) in [("L1", 16 << 10), ("L2", 256 << 10), ("memory", 256 << 20)] {
        let count = bytes / 2 / size_of::<u64>();
        let (x, y) = (words(count, 1), words(count, 2));
        // Two strata with two outcomes each, as in an ordinary table.
        let segments: Vec<Segment> = (0..4)
            .map(|i| Segment {
                cell: i as u32,
                also: NO_CELL,
                multiplier: 1,
                start: i * count / 4,
                end: (i + 1) * count / 4,
                mask: u64::MAX,
            })
            .collect();
        let mut counts = [0; 4];
        let mut count_with = |kernel: Kernel| {
            speed(bytes, || {
                let mut asked = [(black_box(y.as_slice()), counts.as_mut_slice())];
                (kernel.count_each)(black_box(&x), &mut asked, &segments);
                black_box(&counts);
            })
        };
        let read = fastest_read();
        let (mut ours, mut plain, mut limit) = (vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            ours.push(count_with(fastest_kernel()));
            plain.push(count_with(Kernel::PLAIN));
            limit.push(speed(bytes, || {
                black_box(read(black_box(&x), black_box(&y)));
            }));
        }
        println!(
            "{place},{bytes},{:.2},{:.2},{:.2}",
            median(ours),
            median(plain),
            median(limit)
        );
    }
}
