//! `tanglewood version`.

use super::Exit;
use std::io::Write;

pub fn run() -> Result<(), Exit> {
    let version = env!("CARGO_PKG_VERSION");
    writeln!(world::files::stdout(), "tanglewood {version} (file format {})", durable::FORMAT_VERSION)?;
    Ok(())
}
