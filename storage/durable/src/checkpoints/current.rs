//! `CURRENT`: which checkpoint is the latest, which older ones are kept, and which blob files are alive. Replaced by rename, so it is
//! always whole.
//!
//! Sealed file; first number = commit version of the latest checkpoint, 0 for none; the body is drawn in `docs/formats/checkpoint.md`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::header::{Kind, seal, u32_at, u64_at, unseal, version_of};
use crate::{Anchor, CheckpointMark, DurableError, DurableResult};

/// Name of the file.
pub(crate) const CURRENT_NAME: &str = "CURRENT";

/// Bytes of the body before its two lists.
const FIXED_BYTES: usize = 24;

/// Bytes of a live file's number and length.
const FILE_BYTES: usize = 12;

/// Bytes of an anchor.
const ANCHOR_BYTES: usize = 32;

/// The contents of `CURRENT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    pub(crate) commit_version: u64,
    /// Counts checkpoints, so that two at the same commit version have different names. 0: there is none yet.
    pub(crate) sequence: u32,
    pub(crate) next_file: u32,
    /// How far back the past is kept; what the number means is the business of who sets it. 0: not at all.
    pub(crate) history: u64,
    /// Blob files that are alive and how long they are; 0 where version 1 did not say.
    pub(crate) live: BTreeMap<u32, u64>,
    /// Checkpoints that are kept, by rising commit version; the last is the latest. Never empty.
    pub(crate) anchors: Vec<Anchor>,
}

impl Current {
    /// Before the first checkpoint.
    pub(crate) fn empty() -> Self {
        let anchors = vec![Anchor::default()];
        Self { commit_version: 0, sequence: 0, next_file: 1, history: 0, live: BTreeMap::new(), anchors }
    }

    /// Name of the manifest; none before the first checkpoint.
    pub(crate) fn manifest_name(&self) -> Option<String> {
        (self.sequence > 0).then(|| manifest_name(self.commit_version, self.sequence))
    }

    /// Names of all manifests that are kept, with their commit versions.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (u64, String)> {
        let anchors = self.anchors.iter().filter(|anchor| anchor.sequence > 0);
        anchors.map(|anchor| (anchor.commit_version, manifest_name(anchor.commit_version, anchor.sequence)))
    }

    /// What follows when a checkpoint at this commit version becomes the latest.
    pub(crate) fn after(&self, commit_version: u64, sequence: u32, mark: &CheckpointMark) -> Self {
        let mut next = self.clone();
        (next.commit_version, next.sequence) = (commit_version, sequence);
        next.anchors.retain(|anchor| {
            anchor.commit_version < commit_version && mark.kept.contains(&anchor.commit_version)
        });
        let CheckpointMark { time_micros, log_bytes, beside_log, .. } = *mark;
        next.anchors.push(Anchor { commit_version, time_micros, log_bytes, sequence, beside_log });
        next
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&self.sequence.to_le_bytes());
        body.extend_from_slice(&self.next_file.to_le_bytes());
        body.extend_from_slice(&self.history.to_le_bytes());
        for count in [self.live.len(), self.anchors.len()] {
            let count = u32::try_from(count).expect("files and checkpoints are numbered by 32 bits");
            body.extend_from_slice(&count.to_le_bytes());
        }
        for (number, length) in &self.live {
            body.extend_from_slice(&number.to_le_bytes());
            body.extend_from_slice(&length.to_le_bytes());
        }
        for anchor in &self.anchors {
            body.extend_from_slice(&anchor.commit_version.to_le_bytes());
            body.extend_from_slice(&anchor.time_micros.to_le_bytes());
            body.extend_from_slice(&anchor.log_bytes.to_le_bytes());
            body.extend_from_slice(&anchor.sequence.to_le_bytes());
            body.extend_from_slice(&u32::from(anchor.beside_log).to_le_bytes());
        }
        seal(Kind::Current, self.commit_version, &body)
    }

    pub(crate) fn decode(bytes: &[u8], file: &Path) -> DurableResult<Self> {
        let (commit_version, body) = unseal(Kind::Current, bytes, file)?;
        let decoded = if version_of(bytes) == 1 {
            Self::decode_1(commit_version, body)
        } else {
            Self::decode_2(commit_version, body)
        };
        let corrupt = |what| DurableError::corrupt(file, 24, what);
        let current = decoded.ok_or_else(|| corrupt("the contents have an impossible length"))?;
        current.check().map_err(corrupt)?;
        Ok(current)
    }

    /// Version 1 had no anchors but the latest checkpoint.
    fn decode_1(commit_version: u64, body: &[u8]) -> Option<Self> {
        if body.len() < 8 || !body.len().is_multiple_of(4) {
            return None;
        }
        let (sequence, next_file) = (u32_at(body, 0), u32_at(body, 4));
        let live = body[8..].chunks_exact(4).map(|number| (u32_at(number, 0), 0)).collect();
        let anchors = vec![Anchor { commit_version, sequence, ..Anchor::default() }];
        Some(Self { commit_version, sequence, next_file, history: 0, live, anchors })
    }

    fn decode_2(commit_version: u64, body: &[u8]) -> Option<Self> {
        if body.len() < FIXED_BYTES {
            return None;
        }
        let (files, anchors) = (u64::from(u32_at(body, 16)), u64::from(u32_at(body, 20)));
        if body.len() as u64 != FIXED_BYTES as u64 + FILE_BYTES as u64 * files + ANCHOR_BYTES as u64 * anchors
        {
            return None;
        }
        let (files, anchors) = body[FIXED_BYTES..].split_at(FILE_BYTES * files as usize);
        let anchor = |bytes: &[u8]| Anchor {
            commit_version: u64_at(bytes, 0),
            time_micros: u64_at(bytes, 8),
            log_bytes: u64_at(bytes, 16),
            sequence: u32_at(bytes, 24),
            beside_log: u32_at(bytes, 28) != 0,
        };
        Some(Self {
            commit_version,
            sequence: u32_at(body, 0),
            next_file: u32_at(body, 4),
            history: u64_at(body, 8),
            live: files.chunks_exact(FILE_BYTES).map(|file| (u32_at(file, 0), u64_at(file, 4))).collect(),
            anchors: anchors.chunks_exact(ANCHOR_BYTES).map(anchor).collect(),
        })
    }

    fn check(&self) -> Result<(), &'static str> {
        let latest = self.anchors.last().map(|anchor| (anchor.commit_version, anchor.sequence));
        if latest != Some((self.commit_version, self.sequence)) {
            return Err("the last of the kept checkpoints is not the latest");
        }
        let rises = |pair: &[Anchor]| {
            pair[0].commit_version < pair[1].commit_version && pair[0].sequence < pair[1].sequence
        };
        if !self.anchors.windows(2).all(rises) {
            return Err("the kept checkpoints are not in order");
        }
        Ok(())
    }
}

/// Name of the manifest of one checkpoint.
pub(crate) fn manifest_name(commit_version: u64, sequence: u32) -> String {
    format!("MANIFEST-{commit_version:020}-{sequence:08}")
}
