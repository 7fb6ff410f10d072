//! The page that the server shows: built by npm, committed compressed, and known to be current without npm.
//!
//! The build writes a hash of its sources beside its output. A source that was changed without a new build breaks the project rules.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where its sources are.
const FOLDER: &str = "interfaces/web";
/// The output of the build, below [`FOLDER`].
const BUILT: &str = "dist";
/// The hash of the sources, beside the output.
const MARK: &str = "SOURCES";
/// Bytes of all files together, compressed.
const BYTES_MAX: u64 = 600_000;
/// Folders below [`FOLDER`] that are no sources.
const NO_SOURCES: [&str; 3] = [BUILT, "node_modules", "tests"];

/// Builds the page and marks it with the hash of its sources.
pub fn build(root: &Path) -> bool {
    let folder = root.join(FOLDER);
    let npm = |arguments: &[&str]| {
        let status = Command::new("npm").args(arguments).current_dir(&folder).status();
        status.is_ok_and(|status| status.success())
    };
    let steps: [&[&str]; 3] = [&["ci", "--no-audit", "--no-fund"], &["test"], &["run", "build"]];
    if !steps.iter().all(|step| npm(step)) {
        println!("   the page was not built; its tests must pass, and node 20 and npm are needed");
        return false;
    }
    let mark = folder.join(BUILT).join(MARK);
    let written = std::fs::write(&mark, format!("{}\n", hash_of(&folder)));
    let mut faults = Vec::new();
    check(root, &mut faults);
    faults.iter().for_each(|fault| println!("   {fault}"));
    written.is_ok() && faults.is_empty()
}

/// Checks that the output is current, and small.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let folder = root.join(FOLDER);
    let built = folder.join(BUILT);
    let mark = std::fs::read_to_string(built.join(MARK)).unwrap_or_default();
    if mark.trim() != hash_of(&folder) {
        faults.push(format!("{FOLDER}/{BUILT} was not built from these sources: run `cargo xtask web`"));
    }
    let packed = std::fs::read_dir(&built).into_iter().flatten().flatten();
    let bytes: u64 = packed.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum();
    if bytes > BYTES_MAX {
        faults.push(format!("{FOLDER}/{BUILT}: {bytes} bytes, {BYTES_MAX} at most"));
    }
}

/// A hash of names and bytes of all sources: FNV-1a in 64 bits, which finds forgotten builds, not forged ones.
fn hash_of(folder: &Path) -> String {
    let mut sources = Vec::new();
    gather(folder, &mut sources);
    sources.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for source in sources {
        let name = source.strip_prefix(folder).unwrap_or(&source).to_string_lossy().replace('\\', "/");
        let bytes = std::fs::read(&source).unwrap_or_default();
        let length = (bytes.len() as u64).to_le_bytes();
        for byte in name.bytes().chain([0]).chain(length).chain(bytes) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

fn gather(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() {
            if !NO_SOURCES.contains(&&*name) {
                gather(&path, sources);
            }
        } else if !name.starts_with('.') {
            sources.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_follows_names_and_bytes_of_sources_alone() {
        let folder = std::env::temp_dir().join(format!("page-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("src/a.ts", "1");
        let first = hash_of(&folder);
        write("dist/a.js", "1");
        write("node_modules/a/a.js", "1");
        assert_eq!(hash_of(&folder), first);
        write("src/a.ts", "2");
        let second = hash_of(&folder);
        write("src/b.ts", "");
        assert!(first != second && second != hash_of(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
