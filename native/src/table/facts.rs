//! Facts about a whole table: complements, fingerprints, rows that tell conditions apart, minimal rules. They do not depend
//! on the order of the rows, and those of parts of a table can be combined.

use crate::bits::bitset::{are_disjoint, size};
use crate::table::Table;
use std::collections::HashMap;

/// For each proposition its complement, which holds on all other rows, if there is one on the same column: its counts are
/// the rule's own less those of the proposition.
pub fn complements(table: &Table) -> Vec<Option<u32>> {
    let n_rows = size(&table.all);
    let sizes: Vec<u64> = (0..table.propositions.len())
        .map(|index| size(table.proposition(index)))
        .collect();
    let mut by_column: HashMap<usize, Vec<u32>> = HashMap::new();
    for (index, proposition) in table.propositions.iter().enumerate() {
        by_column.entry(proposition.column).or_default().push(index as u32);
    }
    let mut complements = vec![None; sizes.len()];
    for column in by_column.values() {
        // Disjoint sets that together make up all rows: by size, then by their codes.
        let mut by_size: HashMap<u64, Vec<u32>> = HashMap::new();
        for &index in column {
            let same_size = by_size.entry(sizes[index as usize]).or_default();
            same_size.push(index);
        }
        for &index in column {
            let this = &table.propositions[index as usize];
            let others = by_size.get(&(n_rows - sizes[index as usize]));
            // A row with a missing value possibly satisfies both, so the codes alone do not decide.
            let is_disjoint = |other: u32| {
                this.excludes(&table.propositions[other as usize])
                    && are_disjoint(table.proposition(index as usize), table.proposition(other as usize))
            };
            complements[index as usize] = others.into_iter().flatten().find(|&&other| is_disjoint(other)).copied();
        }
    }
    complements
}

/// An order-independent 128-bit hash of the rows of each proposition; with different salts, the hashes of the parts add up
/// to that of the table.
pub fn fingerprints(table: &Table, salt: u64) -> Vec<u128> {
    let mix = |mut x: u64| {
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    };
    let hash = |rows: &[u64], seed: u64| {
        let seed = mix(seed.wrapping_add(salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        rows.iter()
            .fold(seed, |hash, &word| mix(hash ^ word).wrapping_add(seed))
    };
    let propositions = 0..table.propositions.len();
    let fingerprint = |index| {
        let rows = table.proposition(index);
        u128::from(hash(rows, 1)) << 64 | u128::from(hash(rows, 2))
    };
    propositions.map(fingerprint).collect()
}

/// See [`Rows::demand`].
pub fn demand(table: &Table, chosen: &[u32], implied: &[u32]) -> Option<Vec<u64>> {
    let rows = table.extension(implied);
    // The words with rows still to exclude, and these rows.
    let surplus = table.extension(chosen).into_iter().zip(rows);
    let surplus = surplus.map(|(chosen, rows)| chosen & !rows).enumerate();
    let mut surplus: Vec<(usize, u64)> = surplus.filter(|&(_, rows)| rows != 0).collect();
    if surplus.is_empty() {
        return None;
    }
    let mut demand = vec![0; implied.len().div_ceil(64)];
    for (local, &condition) in implied.iter().enumerate() {
        let holds = table.proposition(condition as usize);
        let kept = surplus.iter().map(|&(word, rows)| (word, rows & holds[word]));
        let kept: Vec<(usize, u64)> = kept.filter(|&(_, rows)| rows != 0).collect();
        if kept.is_empty() {
            demand[local / 64] |= 1 << (local % 64);
        } else {
            surplus = kept;
        }
    }
    Some(demand)
}

/// For each condition, the rows that it alone excludes: it is redundant beside the others, and beside a child's condition,
/// unless that holds on one of these rows. See [`Rows::are_minimal`].
pub fn excluded_by_one(table: &Table, conditions: &[u32]) -> Vec<Vec<u64>> {
    let holds = |condition: &u32| table.proposition(*condition as usize);
    let (mut once, mut twice) = (vec![0; table.words], vec![0; table.words]);
    for condition in conditions {
        let words = once.iter_mut().zip(&mut twice).zip(holds(condition));
        for ((once, twice), holds) in words {
            *twice |= *once & !holds;
            *once |= !holds;
        }
    }
    let by_one = |condition: &u32| -> Vec<u64> {
        let words = once.iter().zip(&twice).zip(&table.all);
        words
            .zip(holds(condition))
            .map(|(((once, twice), all), holds)| once & !twice & all & !holds)
            .collect()
    };
    conditions.iter().map(by_one).collect()
}
