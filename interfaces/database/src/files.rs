//! Files of a database that this process does not have open: verification and copies.
//!
//! Invariant: a database that [`check`] calls sound opens, and one that does not open is not backed up, since both use the code that opens it (see
//! `transact::check`), on a disk that forgets changes.

use crate::{Database, Error, Options, SetAside};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::EntryKind;
use transact::{BackupReport, Report};
use world::disk::Disk;

/// Time that a check waits for the first answers of standing queries; those that take longer are named, and not judged.
pub const CHECK_INSTALL_TIME_MAX: Duration = Duration::from_secs(30);
/// Bytes of the graph that a check keeps in memory while it makes them.
const MEMORY_BYTES: u64 = 256 << 20;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Of the files, and of the graph in them.
    pub report: Report,
    /// Users, tenants and standing queries in the catalogue.
    pub entries: [usize; 3],
    /// Those of them that cannot be used. They do not keep the database from opening.
    pub set_aside: Vec<SetAside>,
    /// Standing queries whose first answer was not computed within [`CHECK_INSTALL_TIME_MAX`]: whether it can be is unknown.
    pub not_judged: Vec<String>,
}

/// Reads every byte of a database that is not open, or of a backup, opens it without leaving a trace, and reports damage.
///
/// # Errors
/// There is no database; it is open elsewhere, or of a newer version.
pub fn check(disk: &Arc<dyn Disk>, path: impl AsRef<Path>) -> Result<Checked, Error> {
    check_within(disk, path.as_ref(), CHECK_INSTALL_TIME_MAX)
}

/// The same, waiting for the first answers of standing queries so long.
///
/// # Errors
/// As [`check`].
pub fn check_within(disk: &Arc<dyn Disk>, path: &Path, install_time: Duration) -> Result<Checked, Error> {
    let report = transact::check(disk, path)?;
    let mut checked = Checked { report, ..Checked::default() };
    if checked.report.problems.is_empty() {
        let over = transact::without_trace(disk, path)?;
        let memory_bytes = Some(MEMORY_BYTES);
        let options = Options { create: false, executors: Some(1), memory_bytes, ..Options::default() };
        let database = Database::open_on(over, path, options)?;
        database.standing_queries().await_installed(install_time);
        let snapshot = database.snapshot();
        let count = |kind| snapshot.catalog().entries().table(kind).map_or(0, |table| table.len());
        checked.entries = [EntryKind::USER, EntryKind::TENANT, EntryKind::STANDING].map(count);
        (checked.not_judged, checked.set_aside) =
            (database.standing_queries().waiting(), database.set_aside());
    }
    Ok(checked)
}

/// Opens a backup, or a database that no process has open, read-only: nothing on the disk changes. Any number of processes may do so at once.
///
/// # Errors
/// There is no database, or it does not open.
pub fn open_backup(
    disk: &Arc<dyn Disk>,
    path: impl AsRef<Path>,
    options: Options,
) -> Result<Database, Error> {
    let path = path.as_ref();
    let over = transact::without_trace(disk, path)?;
    Database::open_on(over, path, Options { create: false, read_only: true, ..options })
}

/// Copies a database, open or not, into a folder that is missing or empty; the copy is verified by opening it.
///
/// # Errors
/// There is no database; the folder is in use; the database is damaged or does not open; the disk refuses.
pub fn backup(
    disk: &Arc<dyn Disk>,
    database: impl AsRef<Path>,
    folder: impl AsRef<Path>,
) -> Result<BackupReport, Error> {
    Ok(transact::backup(disk, database.as_ref(), folder.as_ref())?)
}
