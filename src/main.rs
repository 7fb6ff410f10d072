//! The command `tanglewood`: one file a command, see `commands`.

mod commands;

/// Many threads make and drop many small lists.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    commands::main()
}
