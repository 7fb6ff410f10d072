//! Backups: a copy of a database, made while it is used, complete or not there at all; and back again.
//!
//! Problem: copy a database that another process has open and goes on writing to. Idea: all its files are immutable or only grow, so writers need not
//! stop. All files that `CURRENT` and the log consist of are opened first, which keeps their bytes even if they are removed; if `CURRENT` is still
//! the same afterwards, the files opened belong together. Then they are copied up to the lengths they had when opened: a crash could have cut the end
//! of the log there.
//! Invariant: the marker `BACKUP` is written last, after everything is durable, was read back without a flaw and was opened by the code that
//! opens a database (the caller brings it); a folder without it is no backup. `IDENTITY` is what a restored database gets last, so half of one is never opened.
//! Cost: every byte is read twice and written once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use world::disk::{Disk, DiskError, DiskFile, OpenHow, OverlayDisk, replace_whole};

use crate::checkpoints::blobs::blob_path;
use crate::checkpoints::current::{CURRENT_NAME, Current};
use crate::checkpoints::data_folder;
use crate::folder::{IDENTITY_NAME, encode_identity, log_folder, read_identity};
use crate::header::{Kind, seal, u64_at, unseal};
use crate::log::segment::{Segment, segment_numbers};
use crate::{DurableError, DurableResult, Report, verify};

/// Name of the file that makes a folder a backup.
pub(crate) const BACKUP_NAME: &str = "BACKUP";

/// Files of earlier versions that interfaces kept in a database's folder: users, tenants, standing queries. They are copied if they are there.
const COMPANION_NAMES: [&str; 3] = ["users.json", "tenants.cypher", "standing.cypher"];

/// Times the files are gathered anew if a checkpoint gets in between.
const GATHER_ATTEMPTS_MAX: usize = 100;

/// Bytes copied at once.
const COPY_BYTES: usize = 1 << 20;

/// The report of a backup or a restoration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// The version of the last commit that it contains.
    pub commit_version: u64,
    /// Files copied.
    pub files: u64,
    /// Bytes copied.
    pub bytes: u64,
}

/// Opens a copy as a database, on a disk whose changes are forgotten: passed in, since this crate knows bytes alone.
pub type Examine<'a> = &'a dyn Fn(Arc<dyn Disk>, &Path) -> DurableResult<()>;

/// Copies a database, open or not, into a folder that is missing or empty. The copy counts once `examine` has opened it.
///
/// # Errors
/// There is no database; the folder is in use; the database is damaged or does not open; the disk refuses. Nothing is left behind then.
pub fn backup(
    disk: &Arc<dyn Disk>,
    database: &Path,
    folder: &Path,
    examine: Examine<'_>,
) -> DurableResult<BackupReport> {
    let sources = gather(&**disk, database)?;
    transfer(disk, folder, &sources, examine, |disk, place| {
        let body = sources.creation_id.to_le_bytes();
        Ok(replace_whole(disk, folder, BACKUP_NAME, &seal(Kind::Backup, place, &body))?)
    })
}

/// Makes a database of a backup, in a folder that is missing or empty. The backup is read and checked whole before.
///
/// # Errors
/// There is no backup, or it is damaged or does not open; the folder is in use; the disk refuses. Nothing is left behind then.
pub fn restore(
    disk: &Arc<dyn Disk>,
    backup: &Path,
    folder: &Path,
    examine: Examine<'_>,
) -> DurableResult<BackupReport> {
    if !is_backup(&**disk, backup)? {
        return Err(DurableError::NoBackup { path: backup.to_path_buf() });
    }
    demand_sound(backup, &verify(disk, backup)?)?;
    let sources = gather(&**disk, backup)?;
    transfer(disk, folder, &sources, examine, |disk, _| {
        Ok(replace_whole(disk, folder, IDENTITY_NAME, &encode_identity(sources.creation_id))?)
    })
}

/// The disk with a backup, or a folder that is to become one, as a database, with all changes kept apart.
pub fn as_database(disk: &Arc<dyn Disk>, folder: &Path) -> DurableResult<Arc<dyn Disk>> {
    let over: Arc<dyn Disk> = Arc::new(OverlayDisk::new(disk.clone()));
    if !over.exists(&folder.join(IDENTITY_NAME))? {
        let creation_id = if is_backup(&*over, folder)? { read_marker(&*over, folder)?.0 } else { 0 };
        replace_whole(&*over, folder, IDENTITY_NAME, &encode_identity(creation_id))?;
    }
    Ok(over)
}

/// Is the folder a backup?
pub fn is_backup(disk: &dyn Disk, folder: &Path) -> DurableResult<bool> {
    Ok(disk.exists(&folder.join(BACKUP_NAME))?)
}

/// The content of a backup's marker: the creation id of the database, and the version of the last commit.
pub(crate) fn read_marker(disk: &dyn Disk, folder: &Path) -> DurableResult<(u128, u64)> {
    let file = folder.join(BACKUP_NAME);
    let bytes = disk.read_whole(&file)?;
    let (place, body) = unseal(Kind::Backup, &bytes, &file)?;
    if body.len() != 16 {
        return Err(DurableError::corrupt(&file, 24, "the contents have an impossible length"));
    }
    Ok((u128::from(u64_at(body, 0)) | u128::from(u64_at(body, 8)) << 64, place))
}

/// Files that belong together, held open.
struct Sources {
    creation_id: u128,
    current: Vec<u8>,
    files: Vec<Source>,
}

struct Source {
    /// Within the database's folder.
    name: PathBuf,
    file: Box<dyn DiskFile>,
    length: u64,
}

fn gather(disk: &dyn Disk, root: &Path) -> DurableResult<Sources> {
    let creation_id = match (disk.exists(&root.join(IDENTITY_NAME))?, is_backup(disk, root)?) {
        (true, _) => read_identity(disk, root)?,
        (false, true) => read_marker(disk, root)?.0,
        (false, false) => return Err(DurableError::NoDatabase { path: root.to_path_buf() }),
    };
    for _ in 1..GATHER_ATTEMPTS_MAX {
        if let Some((current, files)) = gather_once(disk, root).or_else(changed)? {
            return Ok(Sources { creation_id, current, files });
        }
    }
    let (current, files) = gather_once(disk, root)?.ok_or(DurableError::CheckpointRunning)?;
    Ok(Sources { creation_id, current, files })
}

/// A file that is gone was given up by a checkpoint that got in between; unless it is still missing at the last attempt.
fn changed<T>(error: DurableError) -> DurableResult<Option<T>> {
    match error {
        DurableError::Disk(DiskError::NotFound { .. }) | DurableError::Corrupt { .. } => Ok(None),
        other => Err(other),
    }
}

/// The bytes of `CURRENT` and the files it speaks of; none if it changed meanwhile.
fn gather_once(disk: &dyn Disk, root: &Path) -> DurableResult<Option<(Vec<u8>, Vec<Source>)>> {
    let path = root.join(CURRENT_NAME);
    let bytes = disk.read_whole(&path)?;
    let current = Current::decode(&bytes, &path)?;
    let mut names: Vec<PathBuf> = current.manifests().map(|(_, name)| PathBuf::from(name)).collect();
    names.extend(current.live.keys().map(|number| blob_path(&data_folder(Path::new("")), *number)));
    for number in segment_numbers(disk, &log_folder(root))? {
        names.push(Segment { number, base_version: 0 }.path(&log_folder(Path::new(""))));
    }
    for name in COMPANION_NAMES {
        if disk.exists(&root.join(name))? {
            names.push(PathBuf::from(name));
        }
    }
    let mut files = Vec::with_capacity(names.len());
    for name in names {
        let file = disk.open(&root.join(&name), OpenHow::Read)?;
        let length = file.len()?;
        files.push(Source { name, file, length });
    }
    let is_same = disk.read_whole(&root.join(CURRENT_NAME))? == bytes;
    Ok(is_same.then_some((bytes, files)))
}

/// Copies the sources into a folder, reads them back, and lets `mark` write the marker.
fn transfer(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    sources: &Sources,
    examine: Examine<'_>,
    mark: impl FnOnce(&dyn Disk, u64) -> DurableResult<()>,
) -> DurableResult<BackupReport> {
    if disk.exists(folder)? && !(disk.is_dir(folder)? && disk.list(folder)?.is_empty()) {
        return Err(DurableError::InTheWay { path: folder.to_path_buf() });
    }
    let had_folder = disk.exists(folder)?;
    let outcome = copy(&**disk, folder, sources).and_then(|report| {
        let read_back = crate::verify::verify_files(&**disk, folder)?;
        demand_sound(folder, &read_back)?;
        cut_tail(&**disk, folder, read_back.torn_tail_bytes)?;
        examine(as_database(disk, folder)?, folder)?;
        mark(&**disk, read_back.last_version)?;
        Ok(BackupReport { commit_version: read_back.last_version, ..report })
    });
    if outcome.is_err() {
        // What cannot be removed has no marker, and is neither a backup nor a database.
        let _ = clear(&**disk, folder, had_folder);
    }
    outcome
}

fn copy(disk: &dyn Disk, folder: &Path, sources: &Sources) -> DurableResult<BackupReport> {
    crate::folder::create_folder(disk, folder)?;
    disk.create_dir_all(&data_folder(folder))?;
    disk.create_dir_all(&log_folder(folder))?;
    let mut report = BackupReport::default();
    let mut buffer = vec![0; COPY_BYTES];
    for source in &sources.files {
        let target = disk.open(&folder.join(&source.name), OpenHow::Replace)?;
        let mut at = 0;
        while at < source.length {
            let wanted = usize::try_from(source.length - at).unwrap_or(COPY_BYTES).min(COPY_BYTES);
            let read = source.file.read_at(&mut buffer[..wanted], at)?;
            if read == 0 {
                return Err(DurableError::corrupt(&source.name, at, "the file became shorter"));
            }
            target.write_at(&buffer[..read], at)?;
            at += read as u64;
        }
        target.sync()?;
        report.files += 1;
        report.bytes += source.length;
    }
    disk.sync_dir(&data_folder(folder))?;
    disk.sync_dir(&log_folder(folder))?;
    replace_whole(disk, folder, CURRENT_NAME, &sources.current)?;
    Ok(report)
}

/// Cuts unconfirmed records from the end of the log, so that from now on anything missing there is damage.
fn cut_tail(disk: &dyn Disk, folder: &Path, torn_bytes: u64) -> DurableResult<()> {
    let log = log_folder(folder);
    let last = segment_numbers(disk, &log)?.last().copied();
    if let Some(number) = last.filter(|_| torn_bytes > 0) {
        let path = Segment { number, base_version: 0 }.path(&log);
        let good_bytes = disk.size(&path)? - torn_bytes;
        if good_bytes == 0 {
            // Not even its header was finished.
            disk.remove(&path)?;
            disk.sync_dir(&log)?;
        } else {
            let file = disk.open(&path, OpenHow::Write)?;
            file.truncate(good_bytes)?;
            file.sync()?;
        }
    }
    Ok(())
}

fn demand_sound(folder: &Path, report: &Report) -> DurableResult<()> {
    match report.problems.first() {
        None => Ok(()),
        Some(problem) => {
            let what = format!("{} (found while {} was read)", problem.what, folder.display());
            Err(DurableError::Corrupt { file: problem.file.clone(), offset: problem.offset, what })
        }
    }
}

fn clear(disk: &dyn Disk, folder: &Path, keep_folder: bool) -> DurableResult<()> {
    for inner in [data_folder(folder), log_folder(folder), folder.to_path_buf()] {
        if !disk.exists(&inner)? {
            continue;
        }
        for name in disk.list(&inner)? {
            if !disk.is_dir(&inner.join(&name))? {
                disk.remove(&inner.join(name))?;
            }
        }
        if inner != folder || !keep_folder {
            disk.remove(&inner)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
