//! The wheel of the Python package, built by maturin, installed into a fresh environment and tested there.

use super::runs;
use crate::{root, step};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes that a wheel may have.
const WHEEL_BYTES_MAX: u64 = 15 << 20;

/// Packages that results are handed to, whose tests are passed over where they are missing.
const COMPANIONS: [&str; 6] = ["numpy", "pandas", "pyarrow", "polars", "networkx", "tqdm"];

/// Makes the wheel in `folder`; `options` go to maturin (`--profile dev` makes one in less time).
pub fn make(folder: &Path, options: &[&str]) -> bool {
    step("wheel", || build(folder, options)) && step("wheel in a fresh environment", || try_out(folder))
}

fn build(folder: &Path, options: &[&str]) -> bool {
    for old in wheels(folder) {
        let _ = std::fs::remove_file(old);
    }
    let release = options.is_empty();
    let how = if release { &["--profile", "dist"][..] } else { options };
    let mut maturin = Command::new("python3");
    maturin.args(["-m", "maturin", "build", "--out"]).arg(folder).args(how);
    if !runs(maturin.current_dir(root().join("interfaces/python"))) {
        println!("   maturin is needed: python3 -m pip install maturin");
        return false;
    }
    let sizes = wheels(folder)
        .into_iter()
        .map(|path| (std::fs::metadata(&path).map_or(0, |about| about.len()), path));
    let sizes: Vec<(u64, PathBuf)> = sizes.collect();
    for (bytes, path) in &sizes {
        println!("   {} {:.1} MB", path.display(), *bytes as f64 / 1e6);
    }
    !sizes.is_empty() && (!release || sizes.iter().all(|(bytes, _)| *bytes <= WHEEL_BYTES_MAX))
}

fn wheels(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|end| end == "whl")).collect()
}

fn said(text: &str) -> bool {
    println!("   {text}");
    true
}

/// Runs the package's tests with the wheel alone, and the tests' own requirements.
fn try_out(folder: &Path) -> bool {
    let environment = folder.join("environment");
    let _ = std::fs::remove_dir_all(&environment);
    let python = environment.join("bin/python");
    let tests = root().join("interfaces/python/tests");
    let passed = runs(Command::new("python3").args(["-m", "venv"]).arg(&environment))
        && runs(
            Command::new(&python).args(["-m", "pip", "install", "--quiet", "pytest"]).args(wheels(folder)),
        )
        // The package does without these; their tests do not.
        && (runs(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(COMPANIONS))
            || said("their tests are passed over"))
        && runs(
            Command::new(&python)
                .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
                .arg(tests)
                .current_dir(folder)
                .env("PYTHONDONTWRITEBYTECODE", "1"),
        );
    let _ = std::fs::remove_dir_all(&environment);
    passed
}
