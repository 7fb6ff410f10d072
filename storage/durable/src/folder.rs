//! A database folder: is it one, which one, is it free, can this program read it.
//!
//! Idea: `IDENTITY` is written last when a database is created, so a folder without it is not a database, or not yet one. `LOCK` is held
//! from before the first look until the folder is closed, and freed by the system if the process dies.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use world::chance::Chance;
use world::disk::{Disk, DiskError, DiskLock, replace_whole};

use crate::backup::BACKUP_NAME;
use crate::checkpoints::{Checkpoints, data_folder};
use crate::header::{HEADER_BYTES, Kind, seal, u64_at, unseal};
use crate::log::segment::segment_numbers;
use crate::{DurableError, DurableResult, Log};

pub(crate) const IDENTITY_NAME: &str = "IDENTITY";
const LOCK_NAME: &str = "LOCK";

/// What a creation that was cut short may have left, besides the folders `log` and `data`.
const CREATION_NAMES: [&str; 7] =
    [LOCK_NAME, "IDENTITY.new", "CURRENT", "CURRENT.new", "log", "data", "lost+found"];

/// Whether a database that is not there is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must be there.
    Existing,
    /// It is created if the folder is missing or empty.
    CreateIfMissing,
}

/// Where a process that has a database's folder open writes its number: held as long as it is open, and left behind when it ends.
#[must_use]
pub fn lock_path(folder: &Path) -> PathBuf {
    folder.join(LOCK_NAME)
}

/// A database folder, held.
pub struct Folder {
    path: PathBuf,
    creation_id: u128,
    _lock: Box<dyn DiskLock>,
}

impl Folder {
    /// Takes hold of a database folder, or creates one.
    pub fn open(disk: &Arc<dyn Disk>, path: &Path, mode: OpenMode) -> DurableResult<Self> {
        let disk = &**disk;
        let state = look(disk, path)?;
        match (state, mode) {
            (State::Foreign, _) => return Err(DurableError::NotADatabase { path: path.to_path_buf() }),
            (State::Nothing, OpenMode::Existing) => {
                return Err(DurableError::NoDatabase { path: path.to_path_buf() });
            }
            (State::Nothing, OpenMode::CreateIfMissing) => create_folder(disk, path)?,
            (State::Database, _) => {}
        }
        let lock = disk.lock(&lock_path(path)).map_err(|error| match error {
            DiskError::Locked { pid, .. } => DurableError::AlreadyOpen { path: path.to_path_buf(), pid },
            other => other.into(),
        })?;
        // Another process may have created it between the look and the lock.
        if look(disk, path)? == State::Nothing {
            create_database(disk, path)?;
        }
        let creation_id = read_identity(disk, path)?;
        Ok(Self { path: path.to_path_buf(), creation_id, _lock: lock })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A number drawn when the database was created: two databases have different ones, a copy has the same.
    #[must_use]
    pub fn creation_id(&self) -> u128 {
        self.creation_id
    }
}

/// Where the log of a database lies.
pub(crate) fn log_folder(root: &Path) -> PathBuf {
    root.join("log")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No folder, an empty one, or one whose creation was cut short.
    Nothing,
    Database,
    Foreign,
}

fn look(disk: &dyn Disk, path: &Path) -> DurableResult<State> {
    if !disk.exists(path)? {
        return Ok(State::Nothing);
    }
    if !disk.is_dir(path)? {
        return Ok(State::Foreign);
    }
    let names = disk.list(path)?;
    if names.iter().any(|name| name == IDENTITY_NAME) {
        return Ok(State::Database);
    }
    if names.iter().any(|name| name == BACKUP_NAME) {
        return Err(DurableError::IsBackup { path: path.to_path_buf() });
    }
    if names.iter().any(|name| !CREATION_NAMES.contains(&name.as_str())) {
        return Ok(State::Foreign);
    }
    if holds_data(disk, path)? {
        let file = path.join(IDENTITY_NAME);
        return Err(DurableError::corrupt(&file, 0, "the file is missing, but the folder holds data"));
    }
    Ok(State::Nothing)
}

/// Whether there is more than what a creation that was cut short leaves.
fn holds_data(disk: &dyn Disk, path: &Path) -> DurableResult<bool> {
    let data = data_folder(path);
    if disk.is_dir(&data)? && !disk.list(&data)?.is_empty() {
        return Ok(true);
    }
    let log = log_folder(path);
    if !disk.is_dir(&log)? {
        return Ok(false);
    }
    let numbers = segment_numbers(disk, &log)?;
    let first_is_empty = || -> DurableResult<bool> {
        Ok(disk.size(&log.join(format!("{:020}.log", 1)))? <= HEADER_BYTES as u64)
    };
    Ok(match numbers.as_slice() {
        [] => false,
        [1] => !first_is_empty()?,
        _ => true,
    })
}

/// Creates what is missing of the path and makes all its names durable: those of folders that are there already, too, since whoever
/// made them may have been cut short before their names were safe.
pub(crate) fn create_folder(disk: &dyn Disk, path: &Path) -> DurableResult<()> {
    disk.create_dir_all(path)?;
    for parent in path.ancestors().skip(1) {
        // A relative path ends in the empty path, which stands for the folder we are in.
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        match disk.sync_dir(parent) {
            // A folder that we may not open is not one that we, or who was cut short, made a name in.
            Err(DiskError::Io { kind: io::ErrorKind::PermissionDenied, .. }) => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

fn create_database(disk: &dyn Disk, path: &Path) -> DurableResult<()> {
    Log::create(disk, &log_folder(path))?;
    Checkpoints::create(disk, path)?;
    let mut chance = Chance::from_system();
    let (high, low) = (chance.next_u64(), Chance::system_seed());
    let creation_id = u128::from(high) << 64 | u128::from(low);
    Ok(replace_whole(disk, path, IDENTITY_NAME, &encode_identity(creation_id))?)
}

/// The bytes of `IDENTITY`.
pub(crate) fn encode_identity(creation_id: u128) -> Vec<u8> {
    let (low, high) = (creation_id as u64, (creation_id >> 64) as u64);
    seal(Kind::Identity, low, &high.to_le_bytes())
}

/// The creation id of the database in a folder.
pub(crate) fn read_identity(disk: &dyn Disk, path: &Path) -> DurableResult<u128> {
    let file = path.join(IDENTITY_NAME);
    decode_identity(&disk.read_whole(&file)?, &file)
}

/// The creation id in the bytes of `IDENTITY`.
fn decode_identity(bytes: &[u8], file: &Path) -> DurableResult<u128> {
    let (low, body) = unseal(Kind::Identity, bytes, file)?;
    if body.len() != 8 {
        return Err(DurableError::corrupt(file, 24, "the contents have an impossible length"));
    }
    Ok(u128::from(u64_at(body, 0)) << 64 | u128::from(low))
}

#[cfg(test)]
mod tests;
