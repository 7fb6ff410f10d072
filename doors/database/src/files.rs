//! The files of a database that nobody here has open: are they sound, and a copy of them.
//!
//! Invariant: what [`check`] calls sound opens, and what does not open is not backed up, since both open it by the code that opens it (see
//! `transact::check`), on a disk whose changes are forgotten.

use crate::Error;
use std::path::Path;
use std::sync::Arc;
use transact::{BackupReport, Report};
use world::disk::Disk;

/// Reads every byte of a database that is not open, or of a backup, opens it without leaving a trace, and says what is wrong with it.
///
/// # Errors
/// There is nothing to check: no database, open elsewhere, newer.
pub fn check(disk: &Arc<dyn Disk>, path: impl AsRef<Path>) -> Result<Report, Error> {
    Ok(transact::check(disk, path.as_ref())?)
}

/// Copies a database, open or not, into a folder that is missing or empty; what is copied was opened before it counts.
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
