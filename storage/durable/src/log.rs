//! The commit log: an ordered list of records that a crash cannot take back.
//!
//! Problem: what does "committed" mean when the power may fail at any moment?
//! Idea: append each group of commits with one write, sync, and only then confirm. On open, read until the first bad record; it is
//! where the power failed, or it is damage, and `frame` tells which.
//! Invariant: segments follow each other without a gap; only the last may have a torn tail, and it is cut on open before anything is
//! appended; commit versions strictly increase. A failed write or sync is final, because the system may have dropped the bytes and
//! would report success next time; only a full disk, noticed before anything was promised, is not.
//! Cost: one write and one sync a group, twenty bytes a record, one segment in memory while reading.
//!
//! Format: `docs/formats/log.md`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use world::disk::{Disk, DiskError, DiskFile, OpenHow};

use crate::header::HEADER_BYTES;
use crate::{DurableError, DurableResult};

pub(crate) mod frame;
mod recovery;
pub(crate) mod segment;

use frame::{FRAME_BYTES, Frame, MARK_VERSION, was_durable};
use recovery::Extent;
pub use recovery::Recovery;
use segment::{Segment, segment_numbers};

/// The most bytes of one group with its framing. Offsets in a segment are 32 bits, so a segment that is nearly full must have room for one.
pub const GROUP_BYTES_MAX: u64 = 1 << 30;

/// Bytes that the log adds to each record.
pub const RECORD_FRAME_BYTES: usize = FRAME_BYTES;

/// The largest segment size: with a whole group behind it, offsets stay below 4 GiB.
pub const SEGMENT_BYTES_LARGEST: u64 = 1 << 30;

/// A buffer for groups is kept between appends up to this size, given back above.
const BUFFER_KEPT_BYTES_MAX: usize = 4 << 20;

/// How the log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// A segment that has reached this length is closed and another begun. At most [`SEGMENT_BYTES_LARGEST`].
    pub segment_bytes_max: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        // Large enough that rotation (three syncs) is rare, small enough to be read whole and dropped soon after a checkpoint.
        Self { segment_bytes_max: 64 << 20 }
    }
}

/// An open log.
pub struct Log {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    options: LogOptions,
    /// All segments; the last is the one appended to.
    segments: Vec<Segment>,
    file: Box<dyn DiskFile>,
    /// Length of the last segment.
    length: u64,
    /// How much of it is durable.
    synced: u64,
    /// Length of all segments before the last.
    earlier_bytes: u64,
    last_version: u64,
    poisoned: Option<String>,
    buffer: Vec<u8>,
}

impl Log {
    /// Creates an empty log in a folder, which is created too; durable on return, but for the folder's own name.
    pub fn create(disk: &dyn Disk, dir: &Path) -> DurableResult<()> {
        disk.create_dir_all(dir)?;
        Segment { number: 1, base_version: 0 }.create(disk, dir)?;
        Ok(())
    }

    /// Opens a log, cuts a torn tail, and hands back the records from `from_version` on.
    pub fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        options: LogOptions,
        from_version: u64,
    ) -> DurableResult<(Self, Recovery)> {
        // What a killed process left in the system's cache must be durable before anyone builds on it.
        disk.sync_dir(dir)?;
        let (mut segments, earlier_bytes) = read_segments(&*disk, dir)?;
        let last = *segments.last().expect("read_segments refuses an empty list");
        let path = last.path(dir);
        let bytes = disk.read_whole(&path)?;
        let file = disk.open(&path, OpenHow::Write)?;
        let options =
            LogOptions { segment_bytes_max: options.segment_bytes_max.clamp(1, SEGMENT_BYTES_LARGEST) };
        let mut log = Self {
            disk,
            dir: dir.to_path_buf(),
            options,
            segments: Vec::new(),
            file,
            length: 0,
            synced: 0,
            earlier_bytes,
            last_version: last.base_version,
            poisoned: None,
            buffer: Vec::new(),
        };
        if bytes.len() < HEADER_BYTES || Segment::decode(last.number, &bytes, &path).is_err() {
            log.file = last.create(&*log.disk, dir)?;
            log.length = HEADER_BYTES as u64;
        } else {
            let good = good_part(last, &bytes, &path)?;
            (log.length, log.last_version) = (good.length, good.last_version);
            if log.length < bytes.len() as u64 {
                log.file.truncate(log.length)?;
            }
            // After a failed sync the system may call bytes clean that never reached the disk, and a sync alone would not write them.
            let doubtful = &bytes[good.durable as usize..good.length as usize];
            log.file.write_at(doubtful, good.durable)?;
            log.file.sync()?;
        }
        log.synced = log.length;
        log.segments.append(&mut segments);
        let recovery = log.records_from(from_version)?;
        Ok((log, recovery))
    }

    /// The records from this commit version on, as far as they are appended now.
    pub fn records_from(&self, from_version: u64) -> DurableResult<Recovery> {
        let first = self.segments[0];
        if first.base_version >= from_version.max(1) {
            let what = format!(
                "the log begins behind version {}, so records from version {from_version} on are missing",
                first.base_version
            );
            return Err(DurableError::corrupt(&first.path(&self.dir), 24, what));
        }
        // A segment is skipped when the next one's base says that all its records come before.
        let nexts = self.segments.iter().skip(1).map(|next| (Some(next.base_version), Extent::Closed));
        let ends = nexts.chain([(None, Extent::Open(self.length))]);
        let needed =
            self.segments.iter().zip(ends).filter(|(_, (last, _))| last.is_none_or(|l| l >= from_version));
        let needed = needed.map(|(segment, (_, extent))| (*segment, extent)).collect();
        Ok(Recovery::new(Arc::clone(&self.disk), self.dir.clone(), from_version, needed))
    }

    /// Commit version of the last record, or the commit version the log was advanced to; 0 before the first.
    #[must_use]
    pub fn last_version(&self) -> u64 {
        self.last_version
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.earlier_bytes + self.length
    }

    /// Appends a group of records with one write. Durable after [`Log::sync`].
    ///
    /// A full disk leaves the log as it was, and another try may succeed; so do a group too large and a commit version out of order. After any
    /// other error the log is poisoned.
    pub fn append(&mut self, records: &[(u64, &[u8])]) -> DurableResult<()> {
        self.check_usable()?;
        let last_version = self.check_group(records)?;
        if records.is_empty() {
            return Ok(());
        }
        if self.length >= self.options.segment_bytes_max && self.length > HEADER_BYTES as u64 {
            // Nothing of the group is written yet, so it is known not to be there.
            self.rotate(self.last_version).map_err(|error| match error {
                DurableError::Unconfirmed { cause } => DurableError::Disk(cause),
                other => other,
            })?;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let synced = u32::try_from(self.synced).expect("segments stay below 4 GiB");
        for &(commit_version, payload) in records {
            Frame { commit_version, synced, payload }.encode_into(&mut buffer);
        }
        let outcome = self.write(&buffer);
        if buffer.capacity() <= BUFFER_KEPT_BYTES_MAX {
            self.buffer = buffer;
        }
        outcome?;
        self.last_version = last_version;
        Ok(())
    }

    /// Makes everything appended durable. A failure is final.
    pub fn sync(&mut self) -> DurableResult<()> {
        self.check_usable()?;
        if self.synced == self.length {
            return Ok(());
        }
        let outcome = self.file.sync();
        self.unconfirmed_on_error(outcome)?;
        self.synced = self.length;
        Ok(())
    }

    /// Gives up records before this commit version, as far as that frees whole segments. Frees all of them if nothing comes behind.
    pub fn truncate_before(&mut self, commit_version: u64) -> DurableResult<()> {
        while let Some(segment) = self.first_before(commit_version)? {
            let length = segment.remove(&*self.disk, &self.dir)?;
            self.forget_first(length);
        }
        Ok(())
    }

    /// The first segment, if all its records come before this commit version and another follows; one that would be the last gets a successor.
    pub(crate) fn first_before(&mut self, commit_version: u64) -> DurableResult<Option<Segment>> {
        self.check_usable()?;
        if self.last_version < commit_version && self.length > HEADER_BYTES as u64 {
            self.rotate(self.last_version)?;
        }
        let is_before = self.segments.get(1).is_some_and(|next| next.base_version < commit_version);
        Ok(is_before.then_some(self.segments[0]))
    }

    /// The first segment was removed; it had `length` bytes.
    pub(crate) fn forget_first(&mut self, length: u64) {
        self.segments.remove(0);
        self.earlier_bytes -= length;
    }

    /// The folder of its segments, and the disk that folder is on.
    pub(crate) fn home(&self) -> (Arc<dyn Disk>, PathBuf) {
        (self.disk.clone(), self.dir.clone())
    }

    /// Goes on behind this commit version, for a checkpoint that holds commits which never were in the log (a bulk load).
    pub fn advance_to(&mut self, commit_version: u64) -> DurableResult<()> {
        self.check_usable()?;
        if commit_version > self.last_version {
            self.rotate(commit_version)?;
            self.last_version = commit_version;
        }
        Ok(())
    }

    /// Syncs and writes a mark, by which the next open can tell that nothing before it is torn. The log may still be used.
    pub fn close(&mut self) -> DurableResult<()> {
        self.sync()?;
        if self.length > HEADER_BYTES as u64 {
            self.write_mark()?;
        }
        Ok(())
    }

    /// Takes no more records, for this reason; the error that says so.
    pub(crate) fn poison(&mut self, cause: String) -> DurableError {
        self.poisoned = Some(cause.clone());
        DurableError::Poisoned { cause }
    }

    fn check_usable(&self) -> DurableResult<()> {
        match &self.poisoned {
            Some(cause) => Err(DurableError::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// The commit version of the last record of a group that may be appended.
    fn check_group(&self, records: &[(u64, &[u8])]) -> DurableResult<u64> {
        let mut last = self.last_version;
        let mut length_bytes = 0;
        for &(commit_version, payload) in records {
            if commit_version <= last {
                return Err(DurableError::OutOfOrder { commit_version, last });
            }
            last = commit_version;
            length_bytes += (FRAME_BYTES + payload.len()) as u64;
        }
        if length_bytes > GROUP_BYTES_MAX {
            return Err(DurableError::TooLarge { length_bytes, length_bytes_max: GROUP_BYTES_MAX });
        }
        Ok(last)
    }

    fn write(&mut self, bytes: &[u8]) -> DurableResult<()> {
        match self.file.write_at(bytes, self.length) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                Ok(())
            }
            Err(full @ DiskError::Full { .. }) => {
                // Part of the group may be there. It must be gone for good before the caller hears that it failed.
                let undone = self.file.truncate(self.length).and_then(|()| self.file.sync());
                self.unconfirmed_on_error(undone)?;
                self.synced = self.length;
                Err(full.into())
            }
            Err(error) => self.unconfirmed_on_error(Err(error)),
        }
    }

    fn write_mark(&mut self) -> DurableResult<()> {
        let synced = u32::try_from(self.synced).expect("segments stay below 4 GiB");
        let mut bytes = Vec::with_capacity(FRAME_BYTES);
        Frame { commit_version: MARK_VERSION, synced, payload: &[] }.encode_into(&mut bytes);
        self.write(&bytes)?;
        self.sync()
    }

    /// Closes the last segment and begins another, whose records come behind `base_version`.
    fn rotate(&mut self, base_version: u64) -> DurableResult<()> {
        self.write_mark()?;
        let number = self.segments.last().expect("there is always a segment").number + 1;
        let segment = Segment { number, base_version };
        match segment.create(&*self.disk, &self.dir) {
            Ok(file) => {
                self.file = file;
                self.earlier_bytes += self.length;
                self.length = HEADER_BYTES as u64;
                self.synced = self.length;
                self.segments.push(segment);
                Ok(())
            }
            Err(error) => {
                // A half-made successor must not be found behind a segment that goes on growing.
                let path = segment.path(&self.dir);
                let removed = self.remove_if_there(&path);
                let full = matches!(error, DurableError::Disk(DiskError::Full { .. }));
                if !full || removed.is_err() {
                    self.poisoned = Some(error.to_string());
                }
                Err(error)
            }
        }
    }

    fn remove_if_there(&self, path: &Path) -> DurableResult<()> {
        if self.disk.exists(path)? {
            self.disk.remove(path)?;
        }
        self.disk.sync_dir(&self.dir)?;
        Ok(())
    }

    /// After a write or sync that failed, other than for lack of space, the state of the disk is unknown.
    fn unconfirmed_on_error<T>(&mut self, outcome: Result<T, DiskError>) -> DurableResult<T> {
        outcome.map_err(|cause| {
            self.poisoned = Some(cause.to_string());
            DurableError::Unconfirmed { cause }
        })
    }
}

/// The segments of a folder and the length of all but the last. If the last was never finished, its base is that of its creation.
fn read_segments(disk: &dyn Disk, dir: &Path) -> DurableResult<(Vec<Segment>, u64)> {
    let numbers = segment_numbers(disk, dir)?;
    let Some((&last, earlier)) = numbers.split_last() else {
        return Err(DurableError::corrupt(dir, 0, "the log has no segments"));
    };
    let mut segments = Vec::with_capacity(numbers.len());
    let mut earlier_bytes = 0;
    for &number in earlier {
        let segment = Segment::read(disk, dir, number)?;
        earlier_bytes += disk.size(&segment.path(dir))?;
        segments.push(segment);
    }
    let last = match Segment::read(disk, dir, last) {
        Ok(segment) => segment,
        Err(error @ DurableError::Corrupt { .. }) => unfinished(disk, dir, last, segments.last(), error)?,
        Err(other) => return Err(other),
    };
    segments.push(last);
    for pair in segments.windows(2) {
        if pair[1].base_version < pair[0].base_version {
            let path = pair[1].path(dir);
            return Err(DurableError::corrupt(&path, 24, "the segment begins before the one before it"));
        }
    }
    Ok((segments, earlier_bytes))
}

/// The last segment has a bad header. If nothing durable is behind that, the power failed during its creation, and it may begin anew.
fn unfinished(
    disk: &dyn Disk,
    dir: &Path,
    number: u64,
    before: Option<&Segment>,
    error: DurableError,
) -> DurableResult<Segment> {
    let Some(before) = before else { return Err(error) };
    let bytes = disk.read_whole(&Segment { number, base_version: 0 }.path(dir))?;
    if was_durable(&bytes, 0) {
        return Err(error);
    }
    let path = before.path(dir);
    let bytes = disk.read_whole(&path)?;
    let mut walk = before.walk();
    while walk.next(&bytes).map_err(|what| DurableError::corrupt(&path, walk.at as u64, what))?.is_some() {}
    Ok(Segment { number, base_version: walk.last_version })
}

/// The valid part of a segment before its tail.
struct GoodPart {
    /// Bytes of good frames, the header included.
    length: u64,
    /// How many of them were durable for certain: a later frame says so.
    durable: u64,
    /// Commit version of the last record.
    last_version: u64,
}

/// How far the last segment is valid. Damage to durable data is an error.
fn good_part(segment: Segment, bytes: &[u8], path: &Path) -> DurableResult<GoodPart> {
    let mut walk = segment.walk();
    let mut durable = 0;
    loop {
        match walk.next(bytes) {
            Ok(Some(frame)) => durable = durable.max(u64::from(frame.synced)),
            Err(what) if was_durable(bytes, walk.at) => {
                return Err(DurableError::corrupt(path, walk.at as u64, what));
            }
            Ok(None) | Err(_) => {
                return Ok(GoodPart { length: walk.at as u64, durable, last_version: walk.last_version });
            }
        }
    }
}

#[cfg(test)]
mod tests;
