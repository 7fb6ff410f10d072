//! The walk of ARCHITECTURE.md from a request's bytes to its rows: it names few crates and few files, and each file is there.

use std::collections::BTreeSet;
use std::path::Path;

/// Under which heading it stands.
const HEADING: &str = "## From Bolt bytes to rows";
/// Crates that a newcomer walks through.
const CRATES_MAX: usize = 9;
/// Files likewise.
const FILES_MAX: usize = 20;

/// Holds the walk against its limits and the tree.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let files = files(&page);
    if files.is_empty() {
        faults.push(format!("ARCHITECTURE.md names no file under {HEADING}"));
    }
    let crates: BTreeSet<&str> =
        files.iter().filter_map(|file| file.split_once("/src/").map(|(package, _)| package)).collect();
    if crates.len() > CRATES_MAX || files.len() > FILES_MAX {
        let (crates, files) = (crates.len(), files.len());
        faults.push(format!(
            "ARCHITECTURE.md, {HEADING}: {crates} crates and {files} files, at most {CRATES_MAX} and {FILES_MAX}"
        ));
    }
    let gone = files.iter().filter(|file| !root.join(file).is_file());
    faults.extend(gone.map(|file| format!("ARCHITECTURE.md, {HEADING}: {file} is not there")));
}

/// The files of the product that the walk names, each once.
fn files(page: &str) -> BTreeSet<String> {
    let lines = page.lines().skip_while(|line| *line != HEADING).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("## "));
    let names = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    names.filter(|name| name.contains("/src/") && name.ends_with(".rs")).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::files;

    #[test]
    fn files_are_those_under_the_heading() {
        let page = "`a/b/src/x.rs`\n## From Bolt bytes to rows\n1. `a/b/src/y.rs`: `call`, `z.rs`\n2. `a/b/src/y.rs`\n## Next\n`a/b/src/z.rs`";
        assert_eq!(files(page).into_iter().collect::<Vec<_>>(), ["a/b/src/y.rs"]);
    }
}
