//! Hands the records of the log back, segment by segment. Holds one segment in memory at a time.

use std::path::PathBuf;
use std::sync::Arc;

use world::disk::Disk;

use super::frame::Walk;
use super::segment::Segment;
use crate::{DurableError, DurableResult, Record};

/// The records from a commit version on, in order, up to where the log ended when this was made.
/// Any damage is an error, and the end: the tail that a crash may tear was cut when the log was opened.
pub struct Recovery {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    from_version: u64,
    /// Segments still to read, the last first.
    waiting: Vec<(Segment, Extent)>,
    reading: Option<Reading>,
}

/// How far a segment reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// To the end of the file, where a mark must stand.
    Closed,
    /// So far; bytes behind that came later.
    Open(u64),
}

struct Reading {
    path: PathBuf,
    bytes: Vec<u8>,
    walk: Walk,
    extent: Extent,
}

impl Recovery {
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        from_version: u64,
        mut segments: Vec<(Segment, Extent)>,
    ) -> Self {
        segments.reverse();
        Self { disk, dir, from_version, waiting: segments, reading: None }
    }

    fn start(&mut self, segment: Segment, extent: Extent) -> DurableResult<()> {
        let path = segment.path(&self.dir);
        let mut bytes = self.disk.read_whole(&path)?;
        if let Extent::Open(end) = extent {
            bytes.truncate(usize::try_from(end).expect("a segment is below 4 GiB"));
            if (bytes.len() as u64) < end {
                return Err(DurableError::corrupt(&path, bytes.len() as u64, "the segment became shorter"));
            }
        }
        let found = Segment::decode(segment.number, &bytes, &path)?;
        if found != segment {
            return Err(DurableError::corrupt(&path, 24, "the header changed"));
        }
        self.reading = Some(Reading { path, bytes, walk: segment.walk(), extent });
        Ok(())
    }

    fn advance(&mut self) -> DurableResult<Option<Record>> {
        loop {
            let Some(reading) = &mut self.reading else {
                let Some((segment, extent)) = self.waiting.pop() else { return Ok(None) };
                self.start(segment, extent)?;
                continue;
            };
            match reading.walk.next(&reading.bytes) {
                Ok(Some(frame)) if frame.is_mark() || frame.commit_version < self.from_version => {}
                Ok(Some(frame)) => {
                    return Ok(Some(Record {
                        commit_version: frame.commit_version,
                        payload: frame.payload.to_vec(),
                    }));
                }
                Ok(None) => {
                    reading.check_end()?;
                    self.reading = None;
                }
                Err(what) => return Err(reading.corrupt(what)),
            }
        }
    }
}

impl Reading {
    fn corrupt(&self, what: &str) -> DurableError {
        DurableError::corrupt(&self.path, self.walk.at as u64, what)
    }

    fn check_end(&self) -> DurableResult<()> {
        if self.extent == Extent::Closed && !self.walk.after_mark {
            return Err(self.corrupt("the segment ends without its closing mark"));
        }
        Ok(())
    }
}

impl Iterator for Recovery {
    type Item = DurableResult<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        let outcome = self.advance();
        if outcome.is_err() {
            self.waiting.clear();
            self.reading = None;
        }
        outcome.transpose()
    }
}
