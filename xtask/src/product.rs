//! The code of the product: files below `src` of its crates, but those of tests. Read once for all rules that look at it.

use std::path::{Path, PathBuf};

/// Where the product lies.
const FOLDERS: [&str; 4] = ["storage/", "language/", "engine/", "doors/"];

/// A file of the product.
pub struct ProductFile {
    /// Its crate: `storage/store`.
    pub room: String,
    /// Its path below `src`.
    pub inner: String,
    pub text: String,
}

/// Reads the product's files out of all sources of the workspace.
pub fn read(root: &Path, sources: &[PathBuf]) -> Vec<ProductFile> {
    let file = |file: &PathBuf| {
        let path = file.strip_prefix(root).unwrap_or(file).display().to_string();
        let is_product = FOLDERS.iter().any(|folder| path.starts_with(folder)) && !crate::tidy::is_test(file);
        let (room, inner) = path.split_once("/src/").filter(|_| is_product)?;
        let text = std::fs::read_to_string(file).unwrap_or_default();
        Some(ProductFile { room: room.to_string(), inner: inner.to_string(), text })
    };
    sources.iter().filter_map(file).collect()
}

/// The lines of a file above its tests.
pub fn above_tests(text: &str) -> impl Iterator<Item = &str> {
    let is_test = |line: &&str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,");
    text.lines().take_while(move |line| !is_test(line))
}
