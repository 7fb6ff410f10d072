//! One command checks everything: `cargo xtask check`.
//!
//! Each step is a file: the project rules ([`tidy`]), then formatting, lints and tests through cargo. Steps run in order of how quickly
//! they fail. `mutants` measures how much the tests notice, by a program of its own. One dependency, which reads cargo's metadata of the workspace,
//! so that it builds in seconds.
#![cfg_attr(not(test), deny(clippy::unwrap_used))]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a developer's tool, outside the product"
)]

mod assertions;
mod circles;
mod crates;
mod dist;
mod facade;
mod folders;
mod names;
mod page;
mod panics;
mod product;
mod suites;
mod tidy;
mod walk;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "\
cargo xtask COMMAND

  check           everything: project rules, formatting, lints, tests (what CI runs)
  check --slow    the same, and the long soak tests
  tidy            only the project rules: import table, sizes, banned words, links
  fmt             formats every file
  dist            everything that is handed out, in target/dist/: static binaries, Debian packages, container, wheel, checksums
  dist binaries   the same without the wheel
  dist pack       what is made from binaries that lie there already: packages, container, manual, list of components, checksums
  dist wheel      the Python package's wheel alone, tested in a fresh environment (needs maturin)
  web             the page that the server shows, from interfaces/web/src into interfaces/web/dist (needs node and npm)
  mutants         changes the code in a sample of small ways, and tells what the tests of its crate do not notice
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let passed = match words.as_slice() {
        ["check"] => check(false),
        ["check", "--slow"] => check(true),
        ["tidy"] => step("project rules", || tidy::run(&root())),
        ["mutants", options @ ..] => {
            cargo(&[&["run", "--quiet", "--package", "tanglewood-mutants", "--"], options].concat())
        }
        ["dist"] => dist::everything(),
        ["dist", "binaries"] => dist::binaries(),
        ["dist", "pack"] => dist::pack(),
        ["dist", "wheel", options @ ..] => dist::wheel(options),
        ["web"] => step("page", || page::build(&root())),
        ["fmt"] => cargo(&["fmt", "--all"]),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check(slow: bool) -> bool {
    let started = Instant::now();
    let passed = step("project rules", || tidy::run(&root()))
        && optional("formatting", "fmt", &["fmt", "--all", "--check"])
        && optional(
            "lints",
            "clippy",
            &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
        )
        // With no feature asked for, which no other steps compile.
        && step("library alone", || cargo(&["check", "--quiet", "-p", facade::FACADE]))
        && step("command alone", || cargo(&["check", "--quiet", "--no-default-features"]))
        && step("tests", || cargo(&["test", "--quiet", "--workspace", "--no-fail-fast"]))
        && (!slow
            || step("soak", || cargo(&["test", "--quiet", "--release", "--workspace", "--", "--ignored"])));
    println!(
        "check {} in {:.0} s",
        if passed { "passed" } else { "FAILED" },
        started.elapsed().as_secs_f64()
    );
    passed
}

/// A step whose cargo tool may be absent from a minimal toolchain; CI insists on it.
fn optional(name: &str, tool: &str, arguments: &[&str]) -> bool {
    let present =
        Command::new(cargo_path()).args([tool, "--version"]).output().is_ok_and(|out| out.status.success());
    if present {
        return step(name, || cargo(arguments));
    }
    println!("== {name}: skipped, `cargo {tool}` is not installed (rustup component add {tool})");
    std::env::var_os("CI").is_none()
}

fn step(name: &str, run: impl FnOnce() -> bool) -> bool {
    println!("== {name}");
    let started = Instant::now();
    let passed = run();
    println!(
        "== {name}: {} ({:.1} s)",
        if passed { "passed" } else { "FAILED" },
        started.elapsed().as_secs_f64()
    );
    passed
}

fn cargo(arguments: &[&str]) -> bool {
    Command::new(cargo_path())
        .args(arguments)
        .current_dir(root())
        .status()
        .is_ok_and(|status| status.success())
}

fn cargo_path() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}
