//! Which instruction widths the current thread may use, to run the code of older machines on this one.

use std::cell::Cell;
use std::io::Write;
use std::sync::Once;

const PLAIN: usize = 0;
pub const AVX2: usize = 1;
pub const AVX512: usize = 2;
const NAMES: [&str; 3] = ["plain", "AVX2", "AVX-512 with VPOPCNTDQ"];

thread_local! {
    static WIDEST: Cell<usize> = const { Cell::new(AVX512) };
}

pub fn may_use(width: usize) -> bool {
    width <= WIDEST.get()
}

fn has(width: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    match width {
        AVX2 => return super::x86::has_avx2(),
        AVX512 => return super::x86::has_avx512(),
        _ => {}
    }
    width == PLAIN
}

/// Runs the same code on this thread in each width of this machine, plain first; the results must be equal.
pub fn each<A: PartialEq + std::fmt::Debug>(mut run: impl FnMut() -> A) -> A {
    let (here, missing): (Vec<usize>, Vec<usize>) = (PLAIN..=AVX512).partition(|&w| has(w));
    static REPORTED: Once = Once::new();
    REPORTED.call_once(|| {
        for width in missing {
            // Not by a macro: cargo shows its output for failing tests only.
            let said = writeln!(std::io::stderr(), "skipped: this machine has no {}", NAMES[width]);
            said.unwrap();
        }
    });
    let mut answers = here.into_iter().map(|width| {
        WIDEST.set(width);
        let answer = run();
        WIDEST.set(AVX512);
        (width, answer)
    });
    let (_, plain) = answers.next().unwrap();
    for (width, answer) in answers {
        assert_eq!(plain, answer, "plain and {} differ", NAMES[width]);
    }
    plain
}
