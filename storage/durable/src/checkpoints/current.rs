//! `CURRENT`: which checkpoint is the latest, and which blob files are alive. Replaced by rename, so it is always whole.
//!
//! Sealed file; first number = place of the checkpoint, 0 for none; body = sequence, next file number, then the live files, 4 bytes each.

use std::collections::BTreeSet;
use std::path::Path;

use crate::header::{Kind, seal, u32_at, unseal};
use crate::{DurableError, DurableResult};

/// Name of the file.
pub(crate) const CURRENT_NAME: &str = "CURRENT";

/// The contents of `CURRENT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    pub(crate) place: u64,
    /// Counts checkpoints, so that two at the same place have different names. 0: there is none yet.
    pub(crate) sequence: u32,
    pub(crate) next_file: u32,
    pub(crate) live: BTreeSet<u32>,
}

impl Current {
    /// Before the first checkpoint.
    pub(crate) fn empty() -> Self {
        Self { place: 0, sequence: 0, next_file: 1, live: BTreeSet::new() }
    }

    /// Name of the manifest; none before the first checkpoint.
    pub(crate) fn manifest_name(&self) -> Option<String> {
        (self.sequence > 0).then(|| manifest_name(self.place, self.sequence))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let numbers = [self.sequence, self.next_file].into_iter().chain(self.live.iter().copied());
        let body: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
        seal(Kind::Current, self.place, &body)
    }

    pub(crate) fn decode(bytes: &[u8], file: &Path) -> DurableResult<Self> {
        let (place, body) = unseal(Kind::Current, bytes, file)?;
        if body.len() < 8 || !body.len().is_multiple_of(4) {
            return Err(DurableError::corrupt(file, 24, "the contents have an impossible length"));
        }
        let mut numbers = body.chunks_exact(4).map(|number| u32_at(number, 0));
        let mut next = || numbers.next().expect("two numbers were checked to be there");
        let (sequence, next_file) = (next(), next());
        Ok(Self { place, sequence, next_file, live: numbers.collect() })
    }
}

/// Name of the manifest of one checkpoint.
pub(crate) fn manifest_name(place: u64, sequence: u32) -> String {
    format!("MANIFEST-{place:020}-{sequence:08}")
}
