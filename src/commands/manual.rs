//! `tanglewood manual`: the manual pages, written from the flags.

use super::{CommandLine, Exit};
use clap::{Args, CommandFactory};
use std::io::Write;
use std::path::PathBuf;

/// Write the manual page, or all pages into a folder
///
/// Writes the page of the whole command to standard output, or with --to a page for it and for each of its commands into a folder.
#[derive(Args)]
#[command(after_help = "Example: tanglewood manual | man -l -")]
pub struct Manual {
    /// Folder to write all pages into
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

impl Manual {
    pub fn run(self) -> Result<(), Exit> {
        match self.to {
            Some(folder) => {
                world::files::create_folder(&folder)?;
                clap_mangen::generate_to(CommandLine::command(), folder)?;
            }
            None => {
                let mut page = Vec::new();
                clap_mangen::Man::new(CommandLine::command()).render(&mut page)?;
                world::files::stdout().write_all(&page)?;
            }
        }
        Ok(())
    }
}
