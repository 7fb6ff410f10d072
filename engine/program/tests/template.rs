//! The folder that a program begins with: its own test passes, the guide shows it as it is, and it builds for WebAssembly.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// As whoever copies it has it; its own test runs with those here.
#[path = "../template/src/lib.rs"]
mod around;

const TARGET: &str = "wasm32-unknown-unknown";

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

#[test]
fn the_guide_shows_the_template() {
    let template = std::fs::read_to_string(here().join("template/src/lib.rs")).unwrap();
    let guide = std::fs::read_to_string(here().join("../../docs/guide/node-programs.md")).unwrap();
    assert!(
        guide.contains(&template),
        "docs/guide/node-programs.md shows another program than engine/program/template"
    );
}

/// The libraries of the target are there where it was installed.
fn has_target() -> bool {
    let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    libraries.is_ok_and(|told| Path::new(String::from_utf8_lossy(&told.stdout).trim()).is_dir())
}

#[test]
fn the_template_builds_for_webassembly() {
    if !has_target() {
        return println!("skipped: the target {TARGET} is not installed");
    }
    let target = std::env::temp_dir().join(format!("tanglewood-template-{}", std::process::id()));
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--release", "--offline", "--target", TARGET]).current_dir(here().join("template"));
    // Those of the build that runs this test are not for it.
    build.env("CARGO_TARGET_DIR", &target).env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let built = build.output().unwrap();
    let module = std::fs::read(target.join(TARGET).join("release/around.wasm"));
    let _ = std::fs::remove_dir_all(&target);
    let _ = std::fs::remove_file(here().join("template/Cargo.lock"));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let module = module.unwrap();
    assert!(module.starts_with(b"\0asm"), "a module of WebAssembly");
    for name in ["tanglewood_version", "tanglewood_reserve", "tanglewood_needs", "tanglewood_visit"] {
        assert!(module.windows(name.len()).any(|part| part == name.as_bytes()), "it exports {name}");
    }
}
