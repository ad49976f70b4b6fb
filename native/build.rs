//! maturin reads the C declarations from `header.h` in cargo's target folder; put ours there.

use std::{env, fs, path::PathBuf};

fn main() {
    let source = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("include/causalrules.h");
    println!("cargo:rerun-if-changed={}", source.display());
    // OUT_DIR is <target>/<profile>/build/<crate>-<hash>/out, with the platform before the profile
    // when one is named: the target folder is the ancestor that holds cargo's CACHEDIR.TAG.
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    let target = out.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let target = target.unwrap_or_else(|| out.ancestors().nth(4).expect("OUT_DIR is too short"));
    fs::copy(&source, target.join("header.h")).expect("cannot copy the C header");
}
