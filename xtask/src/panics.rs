//! The places of the product where it would panic, counted by crate: `expect`, `panic!`, `unreachable!`, `assert!` and its kin, outside of tests. The
//! page [`PAGE`] says of each crate why none of its places is reached, and how many there are at most; a change that removes one lowers the number
//! there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The page with the counts, and the findings of the last review.
const PAGE: &str = "docs/decisions/2026-11-23-panics.md";
/// Where the product lies; tests, benches and tools may panic.
const PRODUCT: [&str; 5] = ["storage/", "language/", "engine/", "interfaces/", "src/"];
/// Parts of a crate that are not part of the product.
const BESIDE: [&str; 4] = ["/tests/", "/examples/", "/benches/", "/simulation"];
/// Parsers have a method of that name, which returns errors.
const METHODS: [&str; 1] = ["self.expect("];

/// Holds the counts against the page.
pub fn check(root: &Path, sources: &[PathBuf], faults: &mut Vec<String>) {
    let page = std::fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    let allowed = allowed(&page);
    let found = found(root, sources);
    for (package, count) in &found {
        match allowed.get(package.as_str()) {
            Some(most) if count > most => faults.push(format!(
                "{package} may panic in {count} places, and in {most} before: return an error, or show in {PAGE} why it cannot happen"
            )),
            Some(_) => {}
            None => faults.push(format!("{package} may panic in {count} places, and {PAGE} does not list it")),
        }
    }
    let gone = allowed.keys().filter(|package| !found.contains_key(**package));
    faults.extend(gone.map(|package| format!("{PAGE} lists {package}, which may panic nowhere")));
}

/// The second column of the page's table, by the first.
fn allowed(page: &str) -> BTreeMap<&str, usize> {
    let row = |line| {
        let (package, cells) = str::strip_prefix(line, "| `")?.split_once("` |")?;
        Some((package, cells.split('|').next()?.trim().parse().ok()?))
    };
    page.lines().filter_map(row).collect()
}

fn found(root: &Path, sources: &[PathBuf]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for file in sources {
        let path = file.strip_prefix(root).unwrap_or(file).display().to_string();
        let is_product = PRODUCT.iter().any(|folder| path.starts_with(folder));
        let is_beside = BESIDE.iter().any(|folder| path.contains(folder));
        if !is_product || is_beside || crate::tidy::is_test(file) {
            continue;
        }
        let count = places(&std::fs::read_to_string(file).unwrap_or_default());
        if count > 0 {
            let package = path.split_once("/src/").map_or("src", |(package, _)| package);
            *counts.entry(package.to_string()).or_default() += count;
        }
    }
    counts
}

/// Places of a file, above its tests.
fn places(text: &str) -> usize {
    let is_test = |line: &&str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,");
    let code = text.lines().map(str::trim_start).take_while(|line| !is_test(line));
    // What is asserted of constants is asserted when it is compiled.
    code.filter(|line| !line.starts_with("//") && !line.starts_with("const _")).map(places_of_line).sum()
}

fn places_of_line(line: &str) -> usize {
    let methods: usize = METHODS.iter().map(|method| line.matches(method).count()).sum();
    let asserts = |word: &str| line.matches(word).count() - line.matches(&format!("debug_{word}")).count();
    line.matches(".expect(").count() - methods
        + line.matches("panic!(").count()
        + line.matches("unreachable!(").count()
        + asserts("assert!(")
        + asserts("assert_eq!(")
        + asserts("assert_ne!(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_above_the_tests_and_not_in_comments() {
        let text = "fn f() {\n    a.expect(\"b\"); panic!(\"c\")\n    // unreachable!()\n    debug_assert!(d); assert_eq!(e, f);\n    \
                    self.expect('(')?;\n}\n#[cfg(test)]\nmod tests { fn g() { assert!(h) } }";
        assert_eq!(places(text), 3);
    }

    #[test]
    fn the_table_is_read() {
        let page = "| crate | places | why |\n|---|---|---|\n| `storage/model` | 3 | small |\n| `src` | 12 | `clap` |\n";
        assert_eq!(allowed(page), BTreeMap::from([("storage/model", 3), ("src", 12)]));
    }
}
