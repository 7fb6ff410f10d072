//! `tanglewood completions`: scripts with which a shell completes the command line.

use super::{CommandLine, Exit};
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};
use std::io::Write;

/// Write completions for a shell to standard output
///
/// Writes a script that lets a shell complete commands and flags.
#[derive(Args)]
#[command(after_help = "Examples:
  tanglewood completions bash > ~/.local/share/bash-completion/completions/tanglewood
  tanglewood completions fish > ~/.config/fish/completions/tanglewood.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<(), Exit> {
        let mut script = Vec::new();
        generate(self.shell, &mut CommandLine::command(), "tanglewood", &mut script);
        Ok(world::files::stdout().write_all(&script)?)
    }
}
