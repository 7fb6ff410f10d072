//! The disk of this machine, through the operating system. Positioned reads and writes, `fdatasync`, `flock`.
//!
//! Created files belong to their owner alone: folders get mode 0700, files 0600, reduced by the process's umask.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::contract::{Disk, DiskFile, DiskLock, OpenHow};
use super::error::{DiskError, DiskResult};

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

/// Mode of folders that are created.
pub(crate) const FOLDER_MODE: u32 = 0o700;
/// Mode of files that are created.
const FILE_MODE: u32 = 0o600;

/// A lock file holds a process number in decimal; anything longer was not written by us.
const PID_TEXT_BYTES_MAX: u64 = 20;

fn named<T>(result: io::Result<T>, path: &Path, operation: &'static str) -> DiskResult<T> {
    result.map_err(|error| DiskError::from_io(&error, path, operation))
}

/// The metadata of a name; none where a folder above it is missing, or is a file.
fn look_up(path: &Path) -> DiskResult<Option<fs::Metadata>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match fs::metadata(path) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        found => Ok(Some(named(found, path, "look up")?)),
    }
}

impl Disk for RealDisk {
    fn create_dir_all(&self, path: &Path) -> DiskResult<()> {
        let created = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path);
        named(created, path, "create folder")
    }

    fn open(&self, path: &Path, how: OpenHow) -> DiskResult<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).mode(FILE_MODE);
        match how {
            OpenHow::Read => &mut options,
            OpenHow::Write => options.write(true),
            OpenHow::CreateNew => options.write(true).create_new(true),
            OpenHow::Replace => options.write(true).create(true).truncate(true),
        };
        let file = named(options.open(path), path, "open")?;
        Ok(Box::new(RealFile { file, path: path.to_path_buf(), end: Mutex::new(()) }))
    }

    fn read_whole(&self, path: &Path) -> DiskResult<Vec<u8>> {
        named(fs::read(path), path, "read")
    }

    fn list(&self, folder: &Path) -> DiskResult<Vec<String>> {
        let mut names = Vec::new();
        for entry in named(fs::read_dir(folder), folder, "list")? {
            names.push(named(entry, folder, "list")?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> DiskResult<()> {
        named(fs::rename(from, to), from, "rename")
    }

    fn remove(&self, path: &Path) -> DiskResult<()> {
        if self.is_dir(path)? {
            return named(fs::remove_dir(path), path, "remove folder");
        }
        named(fs::remove_file(path), path, "remove")
    }

    fn sync_dir(&self, folder: &Path) -> DiskResult<()> {
        named(File::open(folder).and_then(|file| file.sync_all()), folder, "sync folder")
    }

    fn exists(&self, path: &Path) -> DiskResult<bool> {
        Ok(look_up(path)?.is_some())
    }

    fn is_dir(&self, path: &Path) -> DiskResult<bool> {
        Ok(look_up(path)?.is_some_and(|metadata| metadata.is_dir()))
    }

    fn size(&self, path: &Path) -> DiskResult<u64> {
        Ok(named(fs::metadata(path), path, "look up")?.len())
    }

    fn lock(&self, path: &Path) -> DiskResult<Box<dyn DiskLock>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
        let opened = options.open(path);
        let mut file = named(opened, path, "open")?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(DiskError::Locked { path: path.to_path_buf(), pid: pid_written_in(&file) });
            }
            Err(TryLockError::Error(error)) => return Err(DiskError::from_io(&error, path, "lock")),
        }
        // The number only helps the reader of an error message; the lock itself is the operating system's.
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        named(written, path, "write")?;
        Ok(Box::new(RealLock { _file: file }))
    }
}

fn pid_written_in(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_TEXT_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Dropping the file releases the lock.
struct RealLock {
    _file: File,
}

impl DiskLock for RealLock {}

struct RealFile {
    file: File,
    path: PathBuf,
    /// Held while appending, so that two appenders of one handle never take the same offset.
    end: Mutex<()>,
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> DiskResult<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(DiskError::from_io(&error, &self.path, "read")),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> DiskResult<()> {
        named(self.file.write_all_at(bytes, offset), &self.path, "write")
    }

    fn append(&self, bytes: &[u8]) -> DiskResult<u64> {
        let _one_at_a_time = self.end.lock();
        let offset = self.len()?;
        self.write_at(bytes, offset)?;
        Ok(offset)
    }

    fn sync(&self) -> DiskResult<()> {
        named(self.file.sync_data(), &self.path, "sync")
    }

    fn truncate(&self, length: u64) -> DiskResult<()> {
        named(self.file.set_len(length), &self.path, "truncate")
    }

    fn len(&self) -> DiskResult<u64> {
        Ok(named(self.file.metadata(), &self.path, "look up")?.len())
    }
}
