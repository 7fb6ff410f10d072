//! Every script in `scripts/`: the anomalies of the LDBC ACID suite (Waudby and others, TPCTC 2020), and some of our own.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use tanglewood_sim::script;

/// Those of the suite, each by the beginning of its script's name.
const LDBC_ACID: [&str; 12] = [
    "atomicity_commit",
    "atomicity_rollback",
    "g0_",
    "g1a_",
    "g1b_",
    "g1c_",
    "otv_",
    "fr_",
    "imp_",
    "pmp_",
    "lu_",
    "ws_",
];

fn scripts() -> BTreeMap<String, String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files
        .map(|path| {
            (path.file_stem().unwrap().to_string_lossy().into(), std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn every_script_comes_out_as_written() {
    let failures: Vec<String> = scripts()
        .iter()
        .filter_map(|(name, text)| script::run(text).err().map(|told| format!("{name}, {told}")))
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
}

#[test]
fn the_acid_suite_is_complete() {
    let scripts = scripts();
    for name in LDBC_ACID {
        assert!(scripts.keys().any(|script| script.starts_with(name)), "no script for {name}");
    }
}

#[test]
fn a_script_that_promises_otherwise_fails() {
    let told = script::run("s CREATE (:A {n: 1})\ns MATCH (a:A) RETURN a.n ==> [2]").unwrap_err();
    assert_eq!(told, "line 2: s  MATCH (a:A) RETURN a.n\n  expected [2]\n  got      [1]");
    let told = script::run("s commit").unwrap_err();
    assert!(told.contains("TransactionNotFound"), "{told}");
    assert!(script::run("s commit ==> TransactionNotFound").is_ok());
    assert!(script::run("alone").unwrap_err().contains("line 1"));
}
