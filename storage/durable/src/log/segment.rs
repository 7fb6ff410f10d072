//! Names, headers and whole-file reading of segments.

use std::path::{Path, PathBuf};

use world::disk::{Disk, DiskFile, OpenHow};

use super::frame::Walk;
use crate::header::{HEADER_BYTES, Header, Kind};
use crate::{DurableError, DurableResult};

/// One segment, as the log knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    /// Every record in it has a commit version above this, every record of earlier segments one up to this.
    pub(crate) base_version: u64,
}

impl Segment {
    pub(crate) fn path(self, dir: &Path) -> PathBuf {
        dir.join(segment_name(self.number))
    }

    /// Creates the file with nothing but its header, durable with its name.
    pub(crate) fn create(self, disk: &dyn Disk, dir: &Path) -> DurableResult<Box<dyn DiskFile>> {
        let file = disk.open(&self.path(dir), OpenHow::Replace)?;
        file.write_at(&self.header().encode(), 0)?;
        file.sync()?;
        disk.sync_dir(dir)?;
        Ok(file)
    }

    /// Removes the file; gone for good on return, so that segments removed one by one never leave a gap. Its length.
    pub(crate) fn remove(self, disk: &dyn Disk, dir: &Path) -> DurableResult<u64> {
        let path = self.path(dir);
        let length = disk.size(&path)?;
        disk.remove(&path)?;
        disk.sync_dir(dir)?;
        Ok(length)
    }

    fn header(self) -> Header {
        Header { kind: Kind::Log, first: self.number, second: self.base_version }
    }

    /// Reads the header of the segment with this number.
    pub(crate) fn decode(number: u64, bytes: &[u8], path: &Path) -> DurableResult<Self> {
        let header = Header::decode(Kind::Log, bytes, path)?;
        if header.first != number {
            let what = format!("this is segment {}, under another's name", header.first);
            return Err(DurableError::corrupt(path, 16, what));
        }
        Ok(Self { number, base_version: header.second })
    }

    /// Reads only the header from disk.
    pub(crate) fn read(disk: &dyn Disk, dir: &Path, number: u64) -> DurableResult<Self> {
        let path = dir.join(segment_name(number));
        let mut bytes = [0; HEADER_BYTES];
        let length = disk.open(&path, OpenHow::Read)?.read_at(&mut bytes, 0)?;
        Self::decode(number, &bytes[..length], &path)
    }

    /// A walk over its records.
    pub(crate) fn walk(self) -> Walk {
        Walk::new(HEADER_BYTES, self.base_version)
    }
}

fn segment_name(number: u64) -> String {
    format!("{number:020}.log")
}

/// The number of the segment with this name; none for other files.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    let number = digits.parse().ok()?;
    (segment_name(number) == name && number > 0).then_some(number)
}

/// The numbers of all segments in a folder, ascending; they must follow each other without a gap.
pub(crate) fn segment_numbers(disk: &dyn Disk, dir: &Path) -> DurableResult<Vec<u64>> {
    // Twenty digits with leading zeros: sorted by name is sorted by number.
    let numbers: Vec<u64> = disk.list(dir)?.iter().filter_map(|name| segment_number(name)).collect();
    for pair in numbers.windows(2) {
        if pair[1] != pair[0] + 1 {
            let path = dir.join(segment_name(pair[0] + 1));
            return Err(DurableError::corrupt(&path, 0, "the segment is missing"));
        }
    }
    Ok(numbers)
}
