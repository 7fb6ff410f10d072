//! A database opened without leaving a trace, and read whole: the base of `check` and `backup`.
//!
//! Idea: a database is sound if it opens. So the folder is opened by the very code that opens it, decoders and bounds included, on a disk whose
//! changes are kept apart and forgotten; then everything that is usually read on first touch is read. Invariant: nothing on the disk is changed.
//! Cost: the log behind the checkpoint is replayed, and every chunk and index run is decoded once; a check replays the retained past, too.

use crate::history::Point;
use crate::open::open;
use crate::replay::replay;
use crate::{Engine, OpenOptions, TransactError};
use durable::{BackupReport, DurableError, DurableResult, Problem, Report};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use store::StoreOptions;
use world::disk::Disk;

/// Bytes of chunks and index runs that an inspection keeps in memory.
const INSPECTION_BYTES: u64 = 256 << 20;

/// Reads every byte of a database that is not open, or of a backup; then opens it as usual, reads its content and rebuilds its past. Nothing is
/// changed. A database without problems opens.
///
/// # Errors
/// There is no database; it is open elsewhere, or of a newer version.
pub fn check(disk: &Arc<dyn Disk>, folder: &Path) -> Result<Report, TransactError> {
    let mut report = durable::verify(disk, folder)?;
    if report.problems.is_empty() {
        let outcome = durable::as_database(disk, folder)
            .map_err(TransactError::from)
            .and_then(|over| inspected(over, folder))
            .and_then(|engine| engine.rebuild_all());
        report.problems.extend(outcome.err().map(|error| problem_of(error, folder)));
    }
    Ok(report)
}

/// A disk over this one on which the database, or the backup, in the folder opens; changes to it are forgotten.
///
/// # Errors
/// There is no database.
pub fn without_trace(disk: &Arc<dyn Disk>, folder: &Path) -> Result<Arc<dyn Disk>, TransactError> {
    Ok(durable::as_database(disk, folder)?)
}

/// Copies a database, open or not, into a folder that is missing or empty. The copy is read back, opened, and read as a whole; it is complete, or it
/// is not there.
///
/// # Errors
/// There is no database; the folder is in use; the database is damaged or does not open; the disk refuses.
pub fn backup(disk: &Arc<dyn Disk>, database: &Path, folder: &Path) -> Result<BackupReport, TransactError> {
    Ok(durable::backup(disk, database, folder, &examine)?)
}

/// Makes a database of a backup, in a folder that is missing or empty, with the same checks.
///
/// # Errors
/// There is no backup, or it is damaged or does not open; the folder is in use; the disk refuses.
pub fn restore(disk: &Arc<dyn Disk>, backup: &Path, folder: &Path) -> Result<BackupReport, TransactError> {
    Ok(durable::restore(disk, backup, folder, &examine)?)
}

fn examine(disk: Arc<dyn Disk>, folder: &Path) -> DurableResult<()> {
    inspected(disk, folder).map(|_| ()).map_err(|error| {
        let Problem { file, offset, what } = problem_of(error, folder);
        DurableError::Corrupt { file, offset, what }
    })
}

/// The engine over an inspected database, everything it holds read once.
fn inspected(disk: Arc<dyn Disk>, folder: &Path) -> Result<Engine, TransactError> {
    let store = StoreOptions { memory_bytes: Some(INSPECTION_BYTES), ..StoreOptions::default() };
    let options = OpenOptions { create: false, store, ..OpenOptions::default() };
    let (engine, _) = open(Some((disk, folder)), &options)?;
    let mut seen = HashSet::new();
    engine.snapshot().load_all(&mut seen)?;
    for anchor in engine.shared.backing.anchors() {
        engine.open_anchor(&anchor)?.load_all(&mut seen)?;
    }
    Ok(engine)
}

fn problem_of(error: TransactError, folder: &Path) -> Problem {
    match error {
        TransactError::Durable(DurableError::Corrupt { file, offset, what }) => {
            Problem { file, offset, what }
        }
        other => {
            let what = format!("it does not open: {other}");
            Problem { file: folder.to_path_buf(), offset: 0, what }
        }
    }
}

impl Engine {
    /// Rebuilds the graph at each kept checkpoint from the one before it, as a read of the past would.
    fn rebuild_all(&self) -> Result<(), TransactError> {
        let anchors = self.shared.backing.anchors();
        for pair in anchors.windows(2).filter(|pair| !pair[1].beside_log) {
            let records = self.shared.backing.recover(pair[0].commit_version + 1)?;
            let wanted = |point: Point| point.commit_version <= pair[1].commit_version;
            replay(self.open_anchor(&pair[0])?, records, wanted)?;
        }
        Ok(())
    }
}
