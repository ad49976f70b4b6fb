use super::*;
use crate::front::Front;

#[test]
fn the_front_says_which_rules_are_beaten() {
    let mut random = Random(31);
    for _ in 0..500 {
        let mut front = Front::default();
        let mut seen: Vec<(Score, u64)> = Vec::new();
        for _ in 0..random.below(40) {
            let (value, n_covered) = (random.below(12) as Score, random.below(12));
            let better = |&&(other, _): &&(Score, u64)| other > value;
            let most = seen.iter().filter(better).map(|&(_, n)| n).max();
            assert_eq!(front.min_rows(value), most.map_or(0, |n| n + 1));
            front.takes_in(value, n_covered);
            seen.push((value, n_covered));
        }
    }
}
