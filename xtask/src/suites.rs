//! Crates whose tests share a binary list them by hand: in `tests/suite.rs`, or as a binary of its own in `Cargo.toml`. A file in neither would
//! silently never run.

use std::path::{Path, PathBuf};

/// Lists the tests that share a process.
const SUITE: &str = "tests/suite.rs";

/// Each test of a crate that has a [`SUITE`] is listed.
pub fn check(root: &Path, sources: &[PathBuf], faults: &mut Vec<String>) {
    for suite in sources.iter().filter(|file| file.ends_with(SUITE)) {
        let Some(folder) = suite.parent() else { continue };
        let listed = std::fs::read_to_string(suite).unwrap_or_default();
        let manifest = std::fs::read_to_string(folder.with_file_name("Cargo.toml")).unwrap_or_default();
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let is_test = path.extension().is_some_and(|ext| ext == "rs") || path.join("main.rs").exists();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if is_test && path != *suite && !is_listed(&name, &listed, &manifest) {
                let shown = path.strip_prefix(root).unwrap_or(&path).display();
                faults
                    .push(format!("{shown} is never run: name it in {SUITE} or as a [[test]] of Cargo.toml"));
            }
        }
    }
}

fn is_listed(name: &str, suite: &str, manifest: &str) -> bool {
    suite.lines().any(|line| line == format!("mod {name};"))
        || manifest.lines().any(|line| line == format!("name = \"{name}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_listed_in_one_of_two_places() {
        let (suite, manifest) = ("mod reads;\nmod twin;\n", "[[test]]\nname = \"memory\"\n");
        assert!(is_listed("twin", suite, manifest) && is_listed("memory", suite, manifest));
        assert!(!is_listed("read", suite, manifest) && !is_listed("writes", suite, manifest));
    }
}
