//! `tanglewood history`: how far back a database can be asked.

use super::{Exit, folder};
use clap::Args;
use database::{History as Kept, Options};
use std::io::Write;
use std::path::PathBuf;

/// Show or change how far back a database can be asked with AS OF
///
/// Shows how far back the past is kept, and the oldest and the newest commit that can be asked for. With HOW, changes it first: what is
/// to be kept is kept from the last checkpoint on, what is given up is gone at once.
#[derive(Args)]
#[command(after_help = "Examples:
  tanglewood history people.db
  tanglewood history people.db 7d
  tanglewood query people.db \"AS OF datetime('2026-11-20T10:00:00Z') MATCH (n) RETURN count(*)\"")]
pub struct History {
    /// Folder of the database, which must not be open
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// none, forever, or a time such as 12h, 7d or 4w
    #[arg(value_name = "HOW")]
    how: Option<Kept>,
}

impl History {
    pub fn run(self) -> Result<(), Exit> {
        let options = Options { history: self.how, ..Options::default() };
        let database = folder::open(&self.database, false, options)?;
        let ((oldest, newest), mut out) = (database.kept(), world::files::stdout());
        writeln!(out, "history  {}", database.history())?;
        writeln!(out, "oldest   {oldest}")?;
        writeln!(out, "newest   {newest}")?;
        Ok(())
    }
}
