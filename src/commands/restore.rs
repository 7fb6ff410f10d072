//! `tanglewood restore`: a database again, from a backup.

use super::Exit;
use super::backup::show;
use clap::Args;
use std::path::PathBuf;

/// Make a database of a backup
///
/// Reads and checks the whole backup, copies it, and checks the copy. The backup stays as it is.
#[derive(Args)]
#[command(after_help = "Example: tanglewood restore backups/monday people.db")]
pub struct Restore {
    /// Folder that `tanglewood backup` made
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// Folder of the database to make, which must be missing or empty
    #[arg(value_name = "DB")]
    database: PathBuf,
}

impl Restore {
    pub fn run(self) -> Result<(), Exit> {
        show(&database::restore(&self.backup, &self.database)?)
    }
}
