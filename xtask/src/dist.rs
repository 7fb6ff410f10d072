//! Builds the distribution in `target/dist/`: a static binary for each [`Machine`], Debian packages, a container, completions, manual pages, a list
//! of their content (SBOM), the Python package's wheel, and the checksums of all.
//!
//! A part whose tools are missing is skipped with a note; every part is tried out before it counts.

mod binary;
mod checksums;
mod container;
mod debian;
mod sbom;
mod wheel;

use crate::{root, step};
use binary::Machine;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All of it.
pub fn everything() -> bool {
    wheel(&[]) && binaries()
}

/// The wheel alone; `options` go to maturin.
pub fn wheel(options: &[&str]) -> bool {
    wheel::make(&folder(), options)
}

/// All but the wheel; a wheel that is there already gets its checksum.
pub fn binaries() -> bool {
    let folder = folder();
    if !done(&folder, std::fs::create_dir_all(&folder)) {
        return false;
    }
    for machine in Machine::ALL {
        match machine.obstacle() {
            Some(obstacle) => println!("== binary for {}: passed over, {obstacle}", machine.name()),
            None if step(&format!("binary for {}", machine.name()), || binary::make(machine, &folder)) => {}
            None => return false,
        }
    }
    pack()
}

/// The parts made from the binaries in the folder, built here or elsewhere.
pub fn pack() -> bool {
    let folder = folder();
    let made: Vec<Machine> =
        Machine::ALL.into_iter().filter(|machine| machine.binary(&folder).exists()).collect();
    if made.is_empty() {
        println!("   {} holds no binary of version {}", folder.display(), version());
        return false;
    }
    step("completions and manual", || binary::write_texts(&made, &folder))
        && step("list of components", || sbom::make(&made, &folder))
        && made.iter().all(|machine| step("Debian package", || debian::make(*machine, &folder)))
        && step("container", || container::make(&made, &folder))
        && step("checksums", || checksums::make(&folder))
}

/// Where it all goes.
fn folder() -> PathBuf {
    target().join("dist")
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Version of the workspace.
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Runs a command to its end; reports failures.
fn runs(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) if status.success() => true,
        Ok(status) => {
            println!("   {command:?}: {status}");
            false
        }
        Err(error) => {
            println!("   {command:?}: {error}");
            false
        }
    }
}

/// The standard output of a command; none where it failed, which is reported.
fn output(command: &mut Command) -> Option<String> {
    match command.output() {
        Ok(out) if out.status.success() => Some(String::from_utf8_lossy(&out.stdout).into_owned()),
        Ok(out) => {
            println!("   {command:?}: {}\n{}", out.status, String::from_utf8_lossy(&out.stderr));
            None
        }
        Err(error) => {
            println!("   {command:?}: {error}");
            None
        }
    }
}

/// Is there a program of this name that starts?
fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
}

/// Does work that may fail by the file system; reports failures.
fn done(what: &Path, result: std::io::Result<()>) -> bool {
    result.map_err(|error| println!("   {}: {error}", what.display())).is_ok()
}
