//! Names of types: each is defined in [`CRATES_MAX`] crates of the product at most, so that a word means one thing. Those that were defined in
//! more stand in [`KNOWN`], with the number of crates, which may only shrink.

use crate::product::{ProductFile, above_tests};
use std::collections::{BTreeMap, BTreeSet};

/// Crates that may define a type of one name.
const CRATES_MAX: usize = 2;

/// Names that more crates define, one a line with the number of crates.
const KNOWN: &str = include_str!("names.txt");

/// Holds the names against the list.
pub fn check(product: &[ProductFile], faults: &mut Vec<String>) {
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in product {
        for name in types(&file.text) {
            crates.entry(name).or_default().insert(file.package.clone());
        }
    }
    let known = known(KNOWN);
    for (name, crates) in crates {
        let allowed = known.get(name.as_str()).copied().unwrap_or(CRATES_MAX).max(CRATES_MAX);
        if crates.len() > allowed {
            let crates: Vec<String> = crates.into_iter().collect();
            faults.push(format!(
                "a type `{name}` is defined in {} crates, at most {allowed} may: {}; name yours for what it is",
                crates.len(),
                crates.join(", ")
            ));
        }
    }
}

fn known(list: &str) -> BTreeMap<&str, usize> {
    list.lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, n)| Some((name, n.parse().ok()?)))
        .collect()
}

/// Types that a file defines at its own level, above its tests.
fn types(text: &str) -> impl Iterator<Item = String> {
    above_tests(text).filter_map(|line| {
        let code = match line.strip_prefix("pub") {
            Some(behind) => {
                behind.strip_prefix('(').and_then(|scope| scope.split_once(')')).map_or(behind, |(_, c)| c)
            }
            None => line,
        };
        // Only what stands at the very beginning, or behind its visibility.
        let code = if line.starts_with("pub") { code.trim_start() } else { code };
        let code = code.strip_prefix("unsafe ").unwrap_or(code);
        let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
        let name = kinds.iter().find_map(|kind| code.strip_prefix(kind))?;
        let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
        Some(name[..end].to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_off_the_beginnings_of_lines() {
        let text = "pub(in crate::x) struct A<T> {\n    type B = u8;\n}\nunsafe trait C {}\npub type D = A<u8>;\nenum E {\n}\n\
                    // struct F\n#[cfg(test)]\nstruct G;";
        assert_eq!(types(text).collect::<Vec<_>>(), ["A", "C", "D", "E"]);
    }

    #[test]
    fn the_list_is_sorted_and_of_names_that_too_many_define() {
        let names: Vec<&str> = KNOWN.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(names.is_sorted(), "sort names.txt");
        assert!(known(KNOWN).values().all(|crates| *crates > CRATES_MAX));
        assert_eq!(known(KNOWN).len(), KNOWN.lines().count());
    }
}
