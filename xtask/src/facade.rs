//! Counts the external crates that a program compiles that uses the database as a library without features. The number may only fall.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The façade.
pub const FACADE: &str = "tanglewood-database";
/// Crates below it that are not of this project.
const CRATES_MAX: usize = 50;

/// Counts them.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["tree", "--quiet", "-p", FACADE, "-e", "normal", "--prefix", "none", "--format", "{p}"];
    let output = match Command::new(cargo).args(arguments).current_dir(root).output() {
        Ok(output) if output.status.success() => output,
        Ok(output) => {
            return faults.push(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Err(error) => return faults.push(format!("cargo tree: {error}")),
    };
    let found = others(&String::from_utf8_lossy(&output.stdout));
    if found.len() > CRATES_MAX {
        let listed: Vec<&str> = found.iter().map(String::as_str).collect();
        faults.push(format!(
            "{FACADE} pulls {} crates without features, {CRATES_MAX} are allowed: {}",
            found.len(),
            listed.join(", ")
        ));
    }
}

/// Names and versions of the crates of a tree that are not of this project, each once.
fn others(tree: &str) -> BTreeSet<String> {
    let named = tree.lines().map(|line| line.split(" (").next().unwrap_or(line).trim().to_string());
    named.filter(|name| !name.is_empty() && !name.starts_with("tanglewood")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crate_counts_once_and_rooms_do_not() {
        let tree = "tanglewood-database v0.1.0 (/w)\nlibc v0.2.1\nlibc v0.2.1 (*)\nserde_derive v1.0.2 (proc-macro)\n\n";
        assert_eq!(others(tree).into_iter().collect::<Vec<_>>(), ["libc v0.2.1", "serde_derive v1.0.2"]);
    }
}
