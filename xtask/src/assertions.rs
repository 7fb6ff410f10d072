//! Assertions of the product, counted by crate: an invariant that a module states is asserted where the state changes. [`KNOWN`] has the least number
//! for each crate; a change that removes one explains in its place why the invariant holds, and one that adds some may raise the number.
//!
//! Counted are `assert!`, `debug_assert!` and their kin, outside of tests and comments; those over constants (`const _`) as well.

use crate::product::{ProductFile, above_tests};
use std::collections::BTreeMap;

/// Fewest assertions of each crate, one a line.
const KNOWN: &str = include_str!("assertions.txt");

/// Holds the counts against the list.
pub fn check(product: &[ProductFile], faults: &mut Vec<String>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in product {
        *counts.entry(&file.package).or_default() += count(&file.text);
    }
    let known: BTreeMap<&str, usize> = known(KNOWN).collect();
    for (package, fewest) in &known {
        let found = counts.get(package).copied().unwrap_or(0);
        if found < *fewest {
            faults.push(format!(
                "{package} asserts in {found} places, and in {fewest} before: an invariant lost its assertion (xtask/src/assertions.txt)"
            ));
        }
    }
    let unlisted = counts.keys().filter(|package| !known.contains_key(**package));
    faults.extend(unlisted.map(|package| format!("{package} is not in xtask/src/assertions.txt")));
}

fn known(list: &str) -> impl Iterator<Item = (&str, usize)> {
    list.lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(package, n)| Some((package, n.parse().ok()?)))
}

/// Assertions of a file.
fn count(text: &str) -> usize {
    let code = above_tests(text).map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    let kinds = ["assert!(", "assert_eq!(", "assert_ne!("];
    code.map(|line| kinds.iter().map(|kind| line.matches(kind).count()).sum::<usize>()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_are_counted_above_the_tests_and_not_in_comments() {
        let text = "const _: () = assert!(A < B);\nfn f() {\n    debug_assert_eq!(a, b); assert!(c);\n    // assert!(d)\n}\n\
                    #[cfg(test)]\nmod tests { fn g() { assert!(h) } }";
        assert_eq!(count(text), 3);
    }

    #[test]
    fn fewer_than_before_are_told() {
        let (package, fewest) = known(KNOWN).find(|(_, fewest)| *fewest > 0).expect("some crate asserts");
        let mut faults = Vec::new();
        let file = ProductFile {
            package: package.to_string(),
            inner: "a.rs".into(),
            text: "assert!(a);\n".repeat(fewest - 1),
        };
        check(&[file], &mut faults);
        assert!(
            faults.iter().any(|fault| fault.starts_with(&format!("{package} asserts in {}", fewest - 1))),
            "{faults:?}"
        );
        assert!(known(KNOWN).map(|(package, _)| package).is_sorted(), "sort assertions.txt");
    }
}
