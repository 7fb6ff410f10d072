//! The command `tanglewood`: one file a command, see `commands`.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]
// They panic where nobody reads; see `world::files::say`.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod commands;

/// Many threads make and drop many small lists.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    commands::main()
}
