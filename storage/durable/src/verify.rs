//! Reads every byte of a database and reports all damage, without changing anything but taking the lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use world::disk::{Disk, OpenHow};

use crate::backup::{is_backup, read_marker};
use crate::checkpoints::blobs::{blob_path, walk_blob_file};
use crate::checkpoints::current::Current;
use crate::checkpoints::{data_folder, find_leftovers, read_current, read_manifest};
use crate::folder::{IDENTITY_NAME, log_folder};
use crate::log::frame::was_durable;
use crate::log::segment::{Segment, segment_numbers};
use crate::{DurableError, DurableResult, Folder, OpenMode};

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files read to their end.
    pub files: u64,
    /// Good records in the log.
    pub records: u64,
    /// Good blobs in the checkpoint's files.
    pub blobs: u64,
    /// Commit version of the last record or checkpoint.
    pub last_version: u64,
    /// Bytes at the end of the log that were never confirmed; opening the database cuts them.
    pub torn_tail_bytes: u64,
    /// Files of an interrupted checkpoint; opening the database removes them.
    pub leftovers: Vec<PathBuf>,
    /// Is it a backup?
    pub is_backup: bool,
    /// Damage; empty for a sound database.
    pub problems: Vec<Problem>,
}

/// One damaged spot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// Where in it, in bytes.
    pub offset: u64,
    /// The damage.
    pub what: String,
}

/// Verifies a database that is not open, or a backup. An error means that there is nothing to verify: no database, open elsewhere, newer.
pub fn verify(disk: &Arc<dyn Disk>, root: &Path) -> DurableResult<Report> {
    if !disk.exists(&root.join(IDENTITY_NAME))? && is_backup(&**disk, root)? {
        return verify_backup(&**disk, root);
    }
    let mut problem = None;
    let _held = match Folder::open(disk, root, OpenMode::Existing) {
        Ok(folder) => Some(folder),
        Err(DurableError::Corrupt { file, offset, what }) => {
            problem = Some(Problem { file, offset, what });
            None
        }
        Err(other) => return Err(other),
    };
    let mut report = verify_files(&**disk, root)?;
    report.files += u64::from(problem.is_none());
    report.problems.splice(0..0, problem);
    Ok(report)
}

/// Of a backup it is known where its log must end.
fn verify_backup(disk: &dyn Disk, root: &Path) -> DurableResult<Report> {
    let mut report = verify_files(disk, root)?;
    report.is_backup = true;
    let marker = report.collect(read_marker(disk, root))?;
    report.files += u64::from(marker.is_some());
    if let Some((_, commit_version)) = marker
        && (report.last_version != commit_version || report.torn_tail_bytes > 0)
    {
        let what = format!(
            "the log of the backup is sound up to version {} and should be so up to {commit_version}",
            report.last_version
        );
        report.problems.push(Problem { file: log_folder(root), offset: 0, what });
    }
    Ok(report)
}

/// Verifies checkpoints and log of a folder, be it a database or a backup.
pub(crate) fn verify_files(disk: &dyn Disk, root: &Path) -> DurableResult<Report> {
    let mut report = Report::default();
    let current = report.collect(read_current(disk, root))?;
    if let Some(current) = &current {
        report.verify_checkpoint(disk, root, current)?;
    }
    report.verify_log(disk, &log_folder(root))?;
    if let Some(current) = current.filter(|current| current.commit_version > report.last_version) {
        let what = format!(
            "the log ends at version {}, before the checkpoint at {}",
            report.last_version, current.commit_version
        );
        report.problems.push(Problem { file: log_folder(root), offset: 0, what });
        report.last_version = current.commit_version;
    }
    Ok(report)
}

impl Report {
    /// Notes damage and goes on; other errors end the verification.
    fn collect<T>(&mut self, outcome: DurableResult<T>) -> DurableResult<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(DurableError::Corrupt { file, offset, what }) => {
                self.problems.push(Problem { file, offset, what });
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    fn verify_checkpoint(&mut self, disk: &dyn Disk, root: &Path, current: &Current) -> DurableResult<()> {
        self.files += 1;
        for (commit_version, name) in current.manifests() {
            let outcome = read_manifest(disk, &root.join(name), commit_version);
            self.files += u64::from(self.collect(outcome)?.is_some());
        }
        for (&number, &length) in &current.live {
            let path = blob_path(&data_folder(root), number);
            let file = disk.open(&path, OpenHow::Read)?;
            let outcome = walk_blob_file(&*file, number, &path);
            if let Some(blobs) = self.collect(outcome)? {
                self.files += 1;
                self.blobs += blobs;
                let found = file.len()?;
                if length > 0 && found != length {
                    let what = format!("the file has {found} bytes and should have {length}");
                    self.problems.push(Problem { file: path, offset: found.min(length), what });
                }
            }
        }
        self.leftovers = find_leftovers(disk, root, current)?;
        Ok(())
    }

    fn verify_log(&mut self, disk: &dyn Disk, dir: &Path) -> DurableResult<()> {
        let outcome = segment_numbers(disk, dir);
        let Some(numbers) = self.collect(outcome)? else { return Ok(()) };
        if numbers.is_empty() {
            let what = "the log has no segments".to_string();
            self.problems.push(Problem { file: dir.to_path_buf(), offset: 0, what });
        }
        for (index, &number) in numbers.iter().enumerate() {
            let path = Segment { number, base_version: 0 }.path(dir);
            let bytes = disk.read_whole(&path)?;
            let is_last = index + 1 == numbers.len();
            let outcome = self.verify_segment(number, &bytes, &path, is_last && index > 0, is_last);
            self.files += u64::from(self.collect(outcome)?.is_some());
        }
        Ok(())
    }

    fn verify_segment(
        &mut self,
        number: u64,
        bytes: &[u8],
        path: &Path,
        may_be_unfinished: bool,
        is_last: bool,
    ) -> DurableResult<()> {
        let segment = match Segment::decode(number, bytes, path) {
            Err(DurableError::Corrupt { .. }) if may_be_unfinished && !was_durable(bytes, 0) => {
                self.torn_tail_bytes = bytes.len() as u64;
                return Ok(());
            }
            outcome => outcome?,
        };
        if segment.base_version < self.last_version {
            return Err(DurableError::corrupt(path, 24, "the segment begins before the one before it ends"));
        }
        let mut walk = segment.walk();
        let outcome = loop {
            match walk.next(bytes) {
                Ok(Some(frame)) => self.records += u64::from(!frame.is_mark()),
                Ok(None) if !is_last && !walk.after_mark => {
                    break Err("the segment ends without its closing mark");
                }
                Ok(None) => break Ok(()),
                Err(_) if is_last && !was_durable(bytes, walk.at) => {
                    self.torn_tail_bytes = (bytes.len() - walk.at) as u64;
                    break Ok(());
                }
                Err(what) => break Err(what),
            }
        };
        self.last_version = walk.last_version;
        outcome.map_err(|what| DurableError::corrupt(path, walk.at as u64, what))
    }
}

#[cfg(test)]
mod tests;
