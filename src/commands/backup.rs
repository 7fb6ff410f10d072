//! `tanglewood backup`: a copy of a database that may be open.

use super::remote::{LogOn, url};
use super::{Exit, folder};
use clap::Args;
use database::{BackupReport, Error, Params, Value};
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
#[command(after_help = "Examples:
  tanglewood backup people.db backups/monday
  tanglewood backup bolt://db.example.org monday")]
pub struct Backup {
    /// Folder of the database, or a server's bolt://HOST:PORT
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Folder to make, which must be missing or empty; a server makes it below the folder of its --backup-folder
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    #[command(flatten)]
    log_on: LogOn,
}

impl Backup {
    pub fn run(self) -> Result<(), Exit> {
        if folder::is_memory(&self.database) {
            let code = "Tanglewood.ClientError.Backup.Memory";
            return Err(Error::new(code, "a database in memory has no files").hint("name a folder").into());
        }
        if let Some(url) = url(&self.database) {
            return self.there(url);
        }
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let report = database::backup(&disk, &self.database, &self.target)?;
        show(&report)
    }

    /// Made by the server, on its disk.
    fn there(&self, url: &str) -> Result<(), Exit> {
        let mut remote = self.log_on.at(url, None)?;
        let params =
            Params::from([("target".into(), Value::from(self.target.to_string_lossy().into_owned()))]);
        let (columns, rows) = remote.table_with("CALL dbms.backup($target)", &params)?;
        let number = |title: &str| {
            let at = columns.iter().position(|column| **column == *title)?;
            u64::try_from(rows.first()?.get(at)?.as_int()?).ok()
        };
        let count = |title: &str| number(title).unwrap_or_default();
        show(&BackupReport { files: count("files"), bytes: count("bytes"), commit_version: count("commit") })
    }
}

/// What was copied.
pub fn show(report: &BackupReport) -> Result<(), Exit> {
    let files = counted(report.files, "file", "files");
    let bytes = counted(report.bytes, "byte", "bytes");
    Ok(writeln!(
        world::files::stdout(),
        "{files}, {bytes}; last commit at version {}",
        report.commit_version
    )?)
}
