//! `tanglewood backup`: a copy of a database that may be open.

use super::{Exit, folder};
use clap::Args;
use database::{BackupReport, Error};
use shell::text::counted;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use world::disk::{Disk, RealDisk};

/// Copy a database into a folder, also while a server has it open
///
/// Copies a database as it is after its last commit, the past that it keeps included; nobody who uses it waits. The copy is read back,
/// checked and opened; it is whole, or it is not there. `tanglewood check` checks it again, `tanglewood restore` makes a database of it.
#[derive(Args)]
#[command(after_help = "Example: tanglewood backup people.db backups/monday")]
pub struct Backup {
    /// Folder of the database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Folder to make, which must be missing or empty
    #[arg(value_name = "TARGET")]
    target: PathBuf,
}

impl Backup {
    pub fn run(self) -> Result<(), Exit> {
        if folder::is_memory(&self.database) {
            let code = "Tanglewood.ClientError.Backup.Memory";
            return Err(Error::new(code, "a database in memory has no files").hint("name a folder").into());
        }
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let report = database::backup(&disk, &self.database, &self.target)?;
        show(&report)
    }
}

/// What was copied.
pub fn show(report: &BackupReport) -> Result<(), Exit> {
    let files = counted(report.files, "file", "files");
    let bytes = counted(report.bytes, "byte", "bytes");
    Ok(writeln!(world::files::stdout(), "{files}, {bytes}; last commit at place {}", report.place)?)
}
