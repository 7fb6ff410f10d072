//! The pieces of a checkpoint behind their checksums: a manifest, chunks, index runs, with any byte in them.
//!
//! The first byte says which piece the rest stands for; all others are as they were written.

use crate::damage::{contents, example};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use store::{BlobKey, ChunkSource, Snapshot, StoreError, StoreOptions};

struct Pieces {
    manifest: Vec<u8>,
    blobs: BTreeMap<BlobKey, Vec<u8>>,
}

struct Source(BTreeMap<BlobKey, Vec<u8>>);

impl ChunkSource for Source {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        let found = self.0.get(&key).cloned();
        found.ok_or_else(|| StoreError::Corrupt("a piece that is not there".into()))
    }
}

static PIECES: LazyLock<Pieces> = LazyLock::new(|| {
    let mut blobs = BTreeMap::new();
    let snapshot = example().snapshot();
    let mut put = |bytes: &[u8]| -> Result<BlobKey, StoreError> {
        let mut key = [0; 20];
        key[0] = blobs.len() as u8;
        blobs.insert(BlobKey(key), bytes.to_vec());
        Ok(BlobKey(key))
    };
    let written = snapshot.checkpoint(&mut put).expect("memory takes everything");
    let manifest = written.manifest().to_vec();
    Pieces { manifest, blobs }
});

/// Opens a checkpoint of which one piece is these bytes, and reads all of it.
pub fn chunk(bytes: &[u8]) {
    let Some((which, piece)) = bytes.split_first() else { return };
    let Pieces { manifest, blobs } = &*PIECES;
    let (mut manifest, mut blobs) = (manifest.clone(), blobs.clone());
    match blobs.values_mut().nth((*which as usize).wrapping_sub(1)) {
        Some(blob) => *blob = piece.to_vec(),
        None => manifest = piece.to_vec(),
    }
    let opened = Snapshot::open(&manifest, Arc::new(Source(blobs)), StoreOptions::default());
    // An answer of any kind will do: there is no checksum here to tell a wrong one by.
    drop(opened.map(|snapshot| contents(&snapshot)));
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let Pieces { manifest, blobs } = &*PIECES;
    let pieces = std::iter::once(manifest).chain(blobs.values());
    pieces.enumerate().map(|(which, piece)| [&[which as u8], piece.as_slice()].concat()).collect()
}
