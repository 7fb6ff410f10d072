//! A crate in the copy of the tree: its files, and the changes that they have.

use crate::find::{self, Mutant};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Brings the copy of the tree up to date, writing only files that differ, so that cargo builds only what changed. Build output lies beside it.
pub fn copy(root: &Path) -> Result<PathBuf, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let tree = target.join("mutants/tree");
    let wanted = files(root)?;
    for name in &wanted {
        let (from, to) = (root.join(name), tree.join(name));
        // A file that is listed and not there was removed and is not committed yet.
        let Ok(mut bytes) = std::fs::read(&from) else { continue };
        if name == "Cargo.toml" {
            bytes = lenient(&String::from_utf8_lossy(&bytes)).into_bytes();
        }
        write(&to, &bytes)?;
    }
    let list = tree.join("target-files");
    let before = std::fs::read_to_string(&list).unwrap_or_default();
    for gone in before.lines().filter(|name| !wanted.contains(*name)) {
        let _ = std::fs::remove_file(tree.join(gone));
    }
    let now: Vec<&str> = wanted.iter().map(String::as_str).collect();
    write(&list, now.join("\n").as_bytes())?;
    Ok(tree)
}

/// The workspace's file, with lints allowed that would make the compiler refuse code that only fails at run time: one such change would stop the
/// whole build.
fn lenient(manifest: &str) -> String {
    let table = "[workspace.lints.rust]\n";
    manifest
        .replace(table, &format!("{table}arithmetic_overflow = \"allow\"\nunconditional_panic = \"allow\"\n"))
}

/// Writes a file with the folders above it, unless it holds these bytes already.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, bytes).map_err(failed)
}

/// Files that git tracks or would track.
fn files(root: &Path) -> Result<BTreeSet<String>, String> {
    let mut command = Command::new("git");
    command.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = command.output().map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect())
}

/// All changes of a crate's own code.
pub fn mutants(tree: &Path, layer: &str, package: &str) -> Result<Vec<Mutant>, String> {
    let source = tree.join(layer).join(package).join("src");
    let mut texts = Vec::new();
    read_all(&source, &mut texts)?;
    let mut tests = BTreeSet::new();
    for (path, text) in &texts {
        for (name, own_path) in find::test_modules(text) {
            let (stem, folder) = (path.file_stem().unwrap_or_default(), path.parent().unwrap_or(&source));
            let below = if stem == "lib" || stem == "mod" || stem == "main" {
                folder.into()
            } else {
                folder.join(stem)
            };
            match own_path {
                Some(own_path) => drop(tests.insert(folder.join(own_path))),
                None => tests.extend([
                    below.join(format!("{name}.rs")),
                    below.join(&name),
                    below.join(&name).join("mod.rs"),
                ]),
            }
        }
    }
    let mut found = Vec::new();
    for (path, text) in &texts {
        if path.ancestors().any(|above| tests.contains(above)) {
            continue;
        }
        let name = path.strip_prefix(tree).unwrap_or(path).display().to_string();
        found.extend(find::mutants(&name, text)?);
    }
    Ok(found)
}

fn read_all(folder: &Path, found: &mut Vec<(PathBuf, String)>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read_all(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            found.push((path, text));
        }
    }
    Ok(())
}
