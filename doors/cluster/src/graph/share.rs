//! What a shard holds: its share of the graph, as many versions of it as reads may ask for.
//!
//! Invariant: a version is the share after a record, so a place is answered by the last version that is not above it. A record that cannot be
//! executed stops the shard: it answers nothing any more, since what it would answer is not what was committed.

use super::{CHANGED, CHUNK, FAILED, HERE};
use crate::Content;
use imbl::OrdMap;
use model::ChunkNo;
use protocol::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use store::{BlobKey, Change, Names, ShareKey, ShareRequest, Snapshot, StoreError, StoreOptions};
use world::clock;

/// Versions that no open read needs are kept so long: for rows of a statement that has been committed.
const GRACE: Duration = Duration::from_secs(5);
/// Versions kept for that at most; each holds the chunks that a record changed.
const GRACE_VERSIONS_MAX: usize = 1_024;
/// Lives have so many bits in a key.
const LIFE_BITS: u32 = 48;

struct Version {
    place: u64,
    snapshot: Snapshot,
    /// The place of the last record that wrote to each chunk.
    chunks: OrdMap<ChunkNo, u64>,
    made_ns: u64,
}

/// One shard's share of the graph.
pub struct ShardGraph {
    shard: u16,
    life: u64,
    versions: VecDeque<Version>,
    broken: Option<String>,
}

impl ShardGraph {
    /// An empty share; the records follow.
    pub fn new(shard: u16) -> ShardGraph {
        let life = clock::wall_us() & ((1 << LIFE_BITS) - 1);
        ShardGraph { shard, life, versions: VecDeque::from([empty()]), broken: None }
    }
    fn execute(&mut self, place: u64, part: &[u8]) -> Result<(), StoreError> {
        let changes = Change::decode_all(part)?;
        let latest = self.versions.back().ok_or(StoreError::Unsupported("a share without a version"))?;
        let snapshot = latest.snapshot.apply_share(place, &changes)?;
        let mut chunks = latest.chunks.clone();
        for chunk in changes.iter().flat_map(Change::chunks).flatten() {
            if snapshot.has_chunk(chunk) {
                chunks.insert(chunk, place);
            }
        }
        self.versions.push_back(Version { place, snapshot, chunks, made_ns: clock::monotonic_ns() });
        Ok(())
    }
    fn answer(&self, place: u64, query: &[u8]) -> Result<Vec<u8>, String> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        match query.split_first() {
            Some((&CHANGED, request)) => {
                let request = ShareRequest::decode(request).map_err(|error| error.to_string())?;
                let version = self.versions.iter().rev().find(|version| version.place <= place);
                let version = version.ok_or("the version is not kept any more")?;
                let since = if request.life == self.life { request.since } else { 0 };
                let changed = version.chunks.iter().filter(|(_, at)| **at > since);
                let changed: Vec<(ChunkNo, u64)> = changed.map(|(chunk, at)| (*chunk, *at)).collect();
                Ok(version.snapshot.write_share(self.life, request.names, &changed))
            }
            Some((&CHUNK, key)) => {
                let key = key.try_into().map_err(|_| "a key of another length")?;
                let key = ShareKey::of(BlobKey(key));
                let has_it = |version: &&Version| version.chunks.get(&key.chunk) == Some(&key.version);
                let version = self.versions.iter().rev().find(has_it);
                let version = version.filter(|_| (key.shard, key.life) == (self.shard, self.life));
                let bytes = version.map(|version| version.snapshot.chunk_bytes(key.chunk)).transpose();
                let bytes = bytes.map_err(|error| error.to_string())?.flatten();
                bytes.ok_or_else(|| "this version of a chunk is not kept any more".to_string())
            }
            _ => Err("an unknown query".to_string()),
        }
    }
}

fn empty() -> Version {
    let snapshot = Snapshot::empty(Arc::new(Names::new()), StoreOptions::default());
    Version { place: 0, snapshot, chunks: OrdMap::new(), made_ns: clock::monotonic_ns() }
}

impl Content for ShardGraph {
    fn reset(&mut self) {
        *self = ShardGraph::new(self.shard);
    }
    fn apply(&mut self, place: u64, part: &[u8]) {
        if part.is_empty() || self.broken.is_some() {
            return;
        }
        if let Err(error) = self.execute(place, part) {
            let what = format!("shard {} cannot execute record {place}: {error}", self.shard);
            eprintln!("{what}");
            self.broken = Some(what);
        }
    }
    fn forget(&mut self, below: u64) {
        let now_ns = clock::monotonic_ns();
        let grace_ns = clock::span_ns(GRACE);
        while self.versions.len() > 1 && self.versions[1].place <= below {
            let is_young = self.versions[1].made_ns.saturating_add(grace_ns) > now_ns;
            if is_young && self.versions.len() <= GRACE_VERSIONS_MAX {
                return;
            }
            self.versions.pop_front();
        }
    }
    fn query(&mut self, place: u64, query: &[u8]) -> Bytes {
        let (first, rest) = match self.answer(place, query) {
            Ok(bytes) => (HERE, bytes),
            Err(why) => (FAILED, why.into_bytes()),
        };
        [&[first], &rest[..]].concat().into()
    }
}
