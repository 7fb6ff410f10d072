//! The code of the product: files below `src` of its crates, but those of tests. Read once for all rules that look at it.

use std::path::{Path, PathBuf};

/// Where the product lies.
const FOLDERS: [&str; 4] = ["storage/", "language/", "engine/", "interfaces/"];

/// A file of the product.
pub struct ProductFile {
    /// Its crate: `storage/store`.
    pub package: String,
    /// Its path below `src`.
    pub inner: String,
    pub text: String,
}

/// Reads the product's files out of all sources of the workspace.
pub fn read(root: &Path, sources: &[PathBuf]) -> Vec<ProductFile> {
    let file = |file: &PathBuf| {
        let path = file.strip_prefix(root).unwrap_or(file).display().to_string();
        let is_product = FOLDERS.iter().any(|folder| path.starts_with(folder)) && !crate::tidy::is_test(file);
        let (package, inner) = path.split_once("/src/").filter(|_| is_product)?;
        let text = std::fs::read_to_string(file).unwrap_or_default();
        Some(ProductFile { package: package.to_string(), inner: inner.to_string(), text })
    };
    sources.iter().filter_map(file).collect()
}

/// The lines of a file without its tests: a module of tests in a file of its own may be declared anywhere, one that stands here ends the file.
pub fn above_tests(text: &str) -> impl Iterator<Item = &str> {
    let is_test = |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,");
    let is_declared = |line: &str| line.starts_with("mod ") && line.ends_with(';');
    let lines: Vec<&str> = text.lines().collect();
    let mut product = Vec::with_capacity(lines.len());
    let mut at = 0;
    while at < lines.len() {
        if is_test(lines[at]) {
            if !lines.get(at + 1).is_some_and(|next| is_declared(next)) {
                break;
            }
            at += 2;
            continue;
        }
        product.push(lines[at]);
        at += 1;
    }
    product.into_iter()
}

#[cfg(test)]
mod tests {
    use super::above_tests;

    #[test]
    fn modules_of_tests_that_are_only_declared_do_not_end_a_file() {
        let text = "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\nmod more {\n}\nc";
        assert_eq!(above_tests(text).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(above_tests("a\n#[cfg(test)]").collect::<Vec<_>>(), ["a"]);
        assert_eq!(above_tests("a\n#[cfg(test)]\nuse x;\nb").collect::<Vec<_>>(), ["a"]);
    }
}
