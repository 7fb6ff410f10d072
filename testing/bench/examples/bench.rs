//! Runs a bench by name, with the allocator of the command line: `cargo run --release --example bench -- first FOLDER`.

use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "first".into());
    let data = arguments.next().map(PathBuf::from);
    match tanglewood_bench::run(&name, data.as_deref(), tanglewood_bench::Choice::default()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
