//! CALL dbms.backup and EXPORT DATABASE: files written on the calling thread, since executors must not wait for a disk.
//!
//! The work is listed from beginning to end, and checks before each piece of a file, or each chunk of the graph, whether it was ended; then none of
//! its files stay. Its memory is bounded, and not charged: a piece of a file, and the pages of the copy that is verified.

use super::Session;
use crate::{Error, ExportFormat, ExportReport, Limits};
use execute::QueryId;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use transact::BackupReport;
use world::disk::Disk;
use world::watched_disk::WatchedDisk;

impl Session {
    /// Makes a backup in a folder, as a statement with this text.
    pub(super) fn back_up(
        &self,
        text: &str,
        folder: &Path,
        (limits, deadline_ns): (&Limits, Option<u64>),
    ) -> Result<BackupReport, Error> {
        self.listed_work(text, (limits, deadline_ns), |look, _| {
            let watch =
                |disk: &Arc<dyn Disk>| -> Arc<dyn Disk> { Arc::new(WatchedDisk::new(disk.clone(), look)) };
            self.database.backup_watched(folder, watch)
        })
    }
    /// Exports the graph into a folder, as a statement with this text.
    pub(super) fn export(
        &self,
        text: &str,
        (folder, format): (&Path, ExportFormat),
        limits: (&Limits, Option<u64>),
    ) -> Result<ExportReport, Error> {
        self.listed_work(text, limits, |look, whole| {
            self.database.export_watched(folder, format, Some(Arc::new(move || !look())), whole)
        })
    }
    /// Does work that is listed as a statement with this text; it checks before each piece whether it may go on, and gets the id of the query it is
    /// listed under.
    fn listed_work<T>(
        &self,
        text: &str,
        (limits, deadline_ns): (&Limits, Option<u64>),
        work: impl FnOnce(Arc<dyn Fn() -> bool + Send + Sync>, Option<QueryId>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let bytes_max = self.bytes_within(limits);
        let whole = self.start_whole(text, bytes_max, deadline_ns)?;
        let id = whole.id();
        let whole = Arc::new(Mutex::new(whole));
        let (watched, meanwhile) = (whole.clone(), self.meanwhile.clone());
        let look = move || {
            meanwhile.iter().for_each(|meanwhile| meanwhile());
            watched.lock().check().is_ok()
        };
        // Why it was ended says more than the read that was refused.
        work(Arc::new(look), id).map_err(|error| whole.lock().check().err().unwrap_or(error))
    }
}
