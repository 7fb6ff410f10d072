//! The command as one static file for each machine, stripped, and its own output: completions and manual pages.

use super::{done, is_installed, output, runs, target, version};
use crate::{cargo_path, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes that a binary may have, and those that are aimed at. The first may only fall.
const BINARY_BYTES_MAX: u64 = 46_000_000;
const BINARY_BYTES_WANTED: u64 = 20_000_000;
/// The features of distributed binaries: all but the benches, which need the sources beside them.
const FEATURES: &str = "cluster,columnar,deployed-programs,kronos,object-stores,telemetry";
/// Shells that completions are written for, and how each wants its file to be called.
const SHELLS: [(&str, &str); 3] =
    [("bash", "tanglewood.bash"), ("zsh", "_tanglewood"), ("fish", "tanglewood.fish")];

/// A kind of machine that a binary is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// 64 bits, Intel and AMD.
    X86,
    /// 64 bits, ARM.
    Arm,
}

impl Machine {
    /// All of them; the first is the one that is run to write completions and manual.
    pub const ALL: [Machine; 2] = [Machine::X86, Machine::Arm];

    /// As the files are called.
    pub fn name(self) -> &'static str {
        match self {
            Machine::X86 => "x86_64-linux",
            Machine::Arm => "aarch64-linux",
        }
    }
    /// As Debian and containers call it.
    pub fn debian(self) -> &'static str {
        match self {
            Machine::X86 => "amd64",
            Machine::Arm => "arm64",
        }
    }
    /// As rustc calls it. Debian has a cross compiler with glibc for ARM, and none with musl.
    pub fn triple(self) -> &'static str {
        match self {
            Machine::X86 => "x86_64-unknown-linux-musl",
            Machine::Arm => "aarch64-unknown-linux-gnu",
        }
    }
    /// The C compiler for it, from this machine; for ARM it links, too.
    fn compiler(self) -> &'static str {
        match (self, std::env::consts::ARCH) {
            (Machine::X86, _) => "musl-gcc",
            (Machine::Arm, "aarch64") => "gcc",
            (Machine::Arm, _) => "aarch64-linux-gnu-gcc",
        }
    }
    /// Is this machine of the same kind?
    pub fn is_native(self) -> bool {
        match self {
            Machine::X86 => std::env::consts::ARCH == "x86_64",
            Machine::Arm => std::env::consts::ARCH == "aarch64",
        }
    }
    /// The runner of its programs here: none needed, an emulator, or none available.
    fn runner(self) -> Option<&'static [&'static str]> {
        match self {
            _ if self.is_native() => Some(&[]),
            Machine::Arm if is_installed("qemu-aarch64-static") => Some(&["qemu-aarch64-static"]),
            Machine::X86 if is_installed("qemu-x86_64-static") => Some(&["qemu-x86_64-static"]),
            _ => None,
        }
    }
    /// Why it cannot be built here, and what would help; none where it can.
    pub fn obstacle(self) -> Option<String> {
        if !is_installed(self.compiler()) {
            let package = match self {
                Machine::X86 => "musl-tools",
                Machine::Arm => "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
            };
            return Some(format!("there is no {} (Debian: apt-get install {package})", self.compiler()));
        }
        let standard =
            output(Command::new("rustc").args(["--print", "target-libdir", "--target", self.triple()]));
        let has_standard = standard.is_some_and(|folder| Path::new(folder.trim()).exists());
        (!has_standard)
            .then(|| format!("the standard library for it is missing (rustup target add {})", self.triple()))
    }
    /// Its binary in the folder of the distribution.
    pub fn binary(self, folder: &Path) -> PathBuf {
        folder.join(format!("tanglewood-{}-{}", version(), self.name()))
    }
}

/// Builds it, looks whether it is static and small, and runs it where that is possible.
pub fn make(machine: Machine, folder: &Path) -> bool {
    let triple = machine.triple();
    let variable = triple.to_uppercase().replace('-', "_");
    let mut build = Command::new(cargo_path());
    // Rust brings what links with musl; with musl-gcc as the linker the program would not start.
    if machine == Machine::Arm {
        build.env(format!("CARGO_TARGET_{variable}_LINKER"), machine.compiler());
    }
    build
        .args([
            "build",
            "--quiet",
            "--profile",
            "dist",
            "--package",
            "tanglewood",
            "--no-default-features",
            "--features",
            FEATURES,
            "--target",
            triple,
        ])
        .env(format!("CC_{}", triple.replace('-', "_")), machine.compiler())
        .env(format!("CARGO_TARGET_{variable}_RUSTFLAGS"), "-C target-feature=+crt-static")
        .current_dir(root());
    let built = target().join(triple).join("dist/tanglewood");
    let binary = machine.binary(folder);
    if !runs(&mut build) || !done(&binary, std::fs::copy(&built, &binary).map(drop)) {
        return false;
    }
    let bytes = std::fs::metadata(&binary).map_or(0, |about| about.len());
    println!("   {} {:.1} MB", binary.display(), bytes as f64 / 1e6);
    if bytes > BINARY_BYTES_WANTED {
        let [wanted, most] = [BINARY_BYTES_WANTED, BINARY_BYTES_MAX].map(|bytes| bytes as f64 / 1e6);
        println!("   larger than the {wanted:.1} MB that are aimed at; at most {most:.1} MB pass");
    }
    if bytes > BINARY_BYTES_MAX {
        return false;
    }
    if std::fs::read(&binary).is_ok_and(|file| names_interpreter(&file)) {
        println!("   it is not static: it names a dynamic loader");
        return false;
    }
    try_out(machine, &binary)
}

/// Does an ELF file of 64 bits, little end first, name a dynamic loader (a program header PT_INTERP)?
fn names_interpreter(file: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    let number = |at: usize, bytes: usize| {
        let piece = file.get(at..at + bytes).unwrap_or_default();
        piece.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let (start, size, count) = (number(32, 8) as usize, number(54, 2) as usize, number(56, 2) as usize);
    (0..count).any(|at| number(start + at * size, 4) == u64::from(PT_INTERP))
}

/// Runs a query on a database in memory.
fn try_out(machine: Machine, binary: &Path) -> bool {
    let Some(runner) = machine.runner() else {
        println!("   not run: this machine has no emulator for it (Debian: qemu-user-static)");
        return true;
    };
    let words: Vec<&std::ffi::OsStr> =
        runner.iter().map(std::ffi::OsStr::new).chain([binary.as_os_str()]).collect();
    let mut ask = Command::new(words[0]);
    ask.args(&words[1..]).args(["query", ":memory:", "RETURN 6 * 7 AS answer", "--format", "csv"]);
    let answer = output(&mut ask);
    let is_right = answer.as_deref().is_some_and(|answer| answer.lines().eq(["answer", "42"]));
    println!("   {}", if is_right { "it answers" } else { "it does not answer" });
    is_right
}

/// Completions and manual pages, written by the command itself.
pub fn write_texts(made: &[Machine], folder: &Path) -> bool {
    let Some(machine) = made.iter().find(|machine| machine.runner() == Some(&[])) else {
        println!("   passed over: no binary was made that runs here");
        return true;
    };
    let binary = machine.binary(folder);
    let completions = folder.join("completions");
    done(&completions, std::fs::create_dir_all(&completions))
        && SHELLS.iter().all(|(shell, file)| {
            let text = output(Command::new(&binary).args(["completions", shell]));
            let path = completions.join(file);
            text.is_some_and(|text| done(&path, std::fs::write(&path, text)))
        })
        && runs(Command::new(&binary).arg("manual").arg("--to").arg(folder.join("man")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_loader_is_seen() {
        let own = std::fs::read(std::env::current_exe().expect("a test has a file")).expect("it can be read");
        let is_dynamic = !cfg!(target_feature = "crt-static");
        assert_eq!(names_interpreter(&own), is_dynamic);
        assert!(!names_interpreter(b"\x7fELF"));
    }
}
