//! `tanglewood check`: is the database sound?

use super::{Exit, folder};
use clap::Args;
use database::Error;
use shell::text::counted;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use world::disk::{Disk, RealDisk};
use world::files::TemporaryFolder;

/// Code of a database that another process has open.
const OPEN: &str = "Tanglewood.ClientError.Database.AlreadyOpen";
/// Problems listed; a damaged disk can make thousands.
const PROBLEMS_SHOWN_MAX: usize = 50;

/// Read every byte of a database or a backup and say whether it is sound
///
/// Reads every byte, compares every checksum, opens it as it would be opened, and reads all that it holds; changes nothing. The exit code is
/// 1 if something is damaged or it does not open.
#[derive(Args)]
#[command(after_help = "Examples:\n  tanglewood check people.db\n  tanglewood check --live people.db")]
pub struct Check {
    /// Folder of the database, which must not be open (check a copy then: `tanglewood backup`), or of a backup
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Check it while a server has it open: a copy of one moment is made beside it, checked, and removed
    #[arg(long)]
    live: bool,
}

impl Check {
    /// What is written at the moment cannot be told from what is damaged: a copy of one moment can.
    fn refused(&self, error: Error) -> Error {
        match error.code == OPEN {
            true => {
                let database = self.database.display();
                error.hint(format!("nothing was read; to check it while it is open, `tanglewood check --live {database}` checks a copy of one moment; `tanglewood backup {database} COPY` keeps one"))
            }
            false => error,
        }
    }
    /// A copy of one moment, on the same disk.
    fn copy(&self, disk: &Arc<dyn Disk>) -> Result<TemporaryFolder, Exit> {
        let above = self.database.parent().filter(|above| !above.as_os_str().is_empty());
        let copy = TemporaryFolder::inside(above.unwrap_or(Path::new(".")), "check")?;
        database::backup(disk, &self.database, copy.path())?;
        Ok(copy)
    }
    pub fn run(self) -> Result<(), Exit> {
        if folder::is_memory(&self.database) {
            let error =
                Error::new("Tanglewood.ClientError.Check.Memory", "a database in memory has no files");
            return Err(error.hint("name a folder").into());
        }
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let copy = if self.live { Some(self.copy(&disk)?) } else { None };
        let folder = copy.as_ref().map_or(self.database.as_path(), TemporaryFolder::path);
        let checked = database::check(&disk, folder).map_err(|error| self.refused(error))?;
        let database::Checked { report, entries: [users, tenants, standing], set_aside, not_judged } =
            checked;
        let mut out = world::files::stdout();
        writeln!(
            out,
            "{}, {}, {}; last commit at version {}",
            counted(report.files, "file", "files"),
            counted(report.records, "log record", "log records"),
            counted(report.blobs, "blob", "blobs"),
            report.last_version
        )?;
        if report.torn_tail_bytes > 0 {
            let bytes = counted(report.torn_tail_bytes, "byte", "bytes");
            writeln!(out, "{bytes} at the end of the log were never confirmed; the next open cuts them")?;
        }
        if !report.leftovers.is_empty() {
            let files = counted(report.leftovers.len() as u64, "file", "files");
            writeln!(out, "{files} of an interrupted checkpoint; the next open removes them")?;
        }
        if users + tenants + standing > 0 {
            let users = counted(users as u64, "user", "users");
            let tenants = counted(tenants as u64, "tenant", "tenants");
            let standing = counted(standing as u64, "standing query", "standing queries");
            writeln!(out, "{users}, {tenants}, {standing}")?;
        }
        for aside in set_aside.iter().take(PROBLEMS_SHOWN_MAX) {
            writeln!(out, "{aside}")?;
        }
        for name in not_judged.iter().take(PROBLEMS_SHOWN_MAX) {
            let seconds = database::CHECK_INSTALL_TIME_MAX.as_secs();
            writeln!(
                out,
                "standing query `{name}` is not judged: its first answer takes longer than {seconds} s"
            )?;
        }
        if report.problems.is_empty() {
            writeln!(
                out,
                "{}",
                if self.live {
                    "sound, as of that commit"
                } else if report.is_backup {
                    "a sound backup"
                } else {
                    "sound"
                }
            )?;
            return Ok(());
        }
        out.flush()?;
        for problem in report.problems.iter().take(PROBLEMS_SHOWN_MAX) {
            let file = problem.file.display();
            world::files::say(format_args!("{file}: byte {}: {}", problem.offset, problem.what));
        }
        let problems = counted(report.problems.len() as u64, "problem", "problems");
        let error = Error::new(
            "durable.corrupt",
            format!("the {} is damaged: {problems}", if report.is_backup { "backup" } else { "database" }),
        );
        Err(error.hint("restore it from a backup, or import its source files again").into())
    }
}
