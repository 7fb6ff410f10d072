//! The package passes its own tests, with the native part that cargo built just now.
//!
//! Passed over, with a notice, where python3 has no pytest; `.ci/drivers` fetches it. Tests of data frames need pandas, polars, pyarrow and
//! networkx, too, and are skipped one by one where those are missing.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use world::files::TemporaryFolder;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");
/// Seconds that all tests may take on a slow and loaded machine.
const TIME_S: &str = "900";

/// The library, beside this test.
fn native() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let name = format!("{}tanglewood_python{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(&name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("no {name} near {}", test.display()))
}

/// The command, if cargo has built it: tests over Bolt need a server.
fn command() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let name = format!("tanglewood{}", std::env::consts::EXE_SUFFIX);
    test.ancestors().skip(1).take(2).map(|folder| folder.join(&name)).find(|path| path.exists())
}

/// The package as it is installed.
fn installed(folder: &Path) {
    let package = folder.join("tanglewood");
    std::fs::create_dir(&package).unwrap();
    for file in std::fs::read_dir(Path::new(PACKAGE).join("tanglewood")).unwrap().flatten() {
        symlink(file.path(), package.join(file.file_name())).unwrap();
    }
    let _ = std::fs::remove_file(package.join("_native.abi3.so"));
    symlink(native(), package.join("_native.abi3.so")).unwrap();
}

#[test]
fn the_package_passes_its_tests() {
    let has_pytest = Command::new("python3").args(["-c", "import pytest"]).output();
    if !has_pytest.is_ok_and(|output| output.status.success()) {
        eprintln!("passed over: needs python3 with the package pytest; `.ci/drivers` fetches it");
        return;
    }
    let folder = TemporaryFolder::new("python").unwrap();
    installed(folder.path());
    let output = Command::new("timeout")
        .args([TIME_S, "python3", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--basetemp"])
        .arg(folder.path().join("pytest"))
        .arg(Path::new(PACKAGE).join("tests"))
        // Not beside the package without its native part.
        .current_dir(folder.path())
        .env("PYTHONPATH", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(command().map(|path| ("TANGLEWOOD", path)))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // What was skipped is told.
    eprintln!(
        "{}",
        said.lines()
            .filter(|line| line.contains("SKIPPED") || line.contains("passed"))
            .collect::<Vec<_>>()
            .join("\n")
    );
}
