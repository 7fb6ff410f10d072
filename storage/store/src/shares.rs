//! A graph whose chunks lie with several shards, as a reader elsewhere sees it: a snapshot that knows every chunk's head and reads a chunk from its
//! owner on first touch.
//!
//! ```text
//!   shard: apply_share, commit version by commit version ── changed since? ──> heads of chunks, names, counts ──┐
//!   reader: its last snapshot of the shares, with these ──> a snapshot ── first touch ──> a whole chunk, by (shard, chunk, version)
//! ```
//!
//! Idea: a chunk's version is the commit version of the last record that wrote to it, so an unchanged chunk keeps its key, and the reader keeps its
//! page. A changed chunk in the reader's memory is updated by the records that changed it (`records`). Commit versions count anew in each life of a
//! shard, so a key names the life, too. The reader has complete indexes: it gets the entries that came and went, and loads all of them where it has
//! missed too much (`entries`). Invariant: a snapshot is made of one answer of every shard, all pinned for one stamp. Cost: the heads of the chunks
//! and the entries of indexes that changed.

mod catalogue;
mod entries;
mod records;

use crate::bytes::{Reader, Writer};
use crate::checkpoint::{index_statistics, read_counts, read_meta, write_counts, write_meta};
use crate::chunks::chunk_bytes;
use crate::indexes::run::EntryChange;
use crate::schema::definitions::{decode_name, encode_name};
use crate::schema::names::NameCounts;
use crate::schema::statistics::Statistics;
use crate::snapshots::root::{LayerCache, Lease, Root};
use crate::versions::cell::Cell;
use crate::{BlobKey, Names, Snapshot, StoreError};
use model::id::CHUNK_COUNT_MAX;
use model::{ChunkNo, EdgeTypeId};
use records::Changed;
use std::sync::Arc;

/// The state that a reader has of one shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShareRequest {
    /// The life of the shard that `since` is about; see [`ShareKey::life`].
    pub life: u64,
    /// It has the heads of all chunks that changed up to this commit version.
    pub since: u64,
    /// Its counts of names.
    pub names: NameCounts,
}

impl ShareRequest {
    /// As bytes.
    pub fn encode(self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.uint(self.life);
        writer.uint(self.since);
        self.names.encode(&mut writer);
        writer.seal()
    }
    /// Inverse of [`ShareRequest::encode`].
    pub fn decode(bytes: &[u8]) -> Result<ShareRequest, StoreError> {
        let mut reader = Reader::checked(bytes, "request for a share")?;
        let (life, since) = (reader.uint()?, reader.uint()?);
        let request = ShareRequest { life, since, names: NameCounts::decode(&mut reader)? };
        reader.finish()?;
        Ok(request)
    }
}

/// The changes of a shard's graph for a reader.
pub struct ShareNews<'a> {
    /// The life of the shard.
    pub life: u64,
    /// Names that the reader has.
    pub names: NameCounts,
    /// Chunks, by number with their versions.
    pub chunks: &'a [(ChunkNo, u64)],
    /// Are indexes, constraints and entries of the interfaces included?
    pub catalogue: bool,
    /// Entries that the indexes gained and lost, in order; none where the reader has to load all.
    pub entries: Option<Vec<&'a EntryChange>>,
    /// The share's parts of all records since, in order; none where the reader has to fetch the chunks anew.
    pub records: Option<&'a [&'a [u8]]>,
}

/// The joined answers of all shards.
pub struct JoinedShares {
    /// The graph of all shards. Its names are its own.
    pub snapshot: Snapshot,
    /// Each shard's life and version in it.
    pub commit_versions: Vec<(u64, u64)>,
    /// Its indexes are to be loaded: see [`Snapshot::with_loaded_indexes`].
    pub loads_indexes: bool,
}

/// A shard's answer: the changes of its graph.
pub struct Share<'a> {
    /// The shard.
    pub shard: u16,
    /// The output of [`Snapshot::write_share`].
    pub bytes: &'a [u8],
}

/// Names a version of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ShareKey {
    /// The shard.
    pub shard: u16,
    /// Which life of it: a number of 48 bits that no other life has.
    pub life: u64,
    /// The chunk.
    pub chunk: ChunkNo,
    /// The commit version of the last record that wrote to the chunk.
    pub version: u64,
}

impl ShareKey {
    /// As the key of a blob.
    pub fn blob(self) -> BlobKey {
        let mut key = [0; 20];
        key[..2].copy_from_slice(&self.shard.to_le_bytes());
        key[2..6].copy_from_slice(&self.chunk.to_le_bytes());
        key[6..14].copy_from_slice(&self.version.to_le_bytes());
        key[14..].copy_from_slice(&self.life.to_le_bytes()[..6]);
        BlobKey(key)
    }
    /// Inverse of [`ShareKey::blob`].
    pub fn of(key: BlobKey) -> ShareKey {
        let number = |from: usize, to: usize| {
            key.0[from..to].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        ShareKey {
            shard: number(0, 2) as u16,
            chunk: number(2, 6) as ChunkNo,
            version: number(6, 14),
            life: number(14, 20),
        }
    }
}

impl Snapshot {
    /// Serialises the changes of this share for a reader.
    pub fn write_share(&self, news: &ShareNews<'_>) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.uint(news.life);
        writer.uint(self.root.commit_version);
        let names = self.root.catalog.names.definitions_since(news.names);
        writer.size(names.len());
        names.iter().for_each(|definition| encode_name(definition, &mut writer));
        write_counts(&self.root.statistics, &mut writer);
        let cells = news.chunks.iter().filter_map(|(chunk, version)| {
            self.root.directory.get(*chunk).map(|cell| (*chunk, *version, cell))
        });
        let cells: Vec<(ChunkNo, u64, &Arc<Cell>)> = cells.collect();
        writer.size(cells.len());
        for (chunk, version, cell) in cells {
            writer.uint(u64::from(chunk));
            writer.uint(version);
            write_meta(&cell.meta, &mut writer);
        }
        catalogue::write(&self.root.catalog, news.catalogue, &mut writer);
        entries::write_changes(news.entries.as_deref(), &mut writer);
        records::write(news.records, &mut writer);
        writer.seal()
    }
    /// A chunk as a whole, for readers elsewhere; none where there is none of this number.
    pub fn chunk_bytes(&self, chunk: ChunkNo) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.chunk(chunk)?.map(|chunk| chunk_bytes::encode(&chunk)))
    }
    /// Is there a chunk of this number?
    pub fn has_chunk(&self, chunk: ChunkNo) -> bool {
        self.root.directory.get(chunk).is_some()
    }
    /// The shard that has a chunk, where this is made of shares.
    pub fn shard_of(&self, chunk: ChunkNo) -> Option<u16> {
        let key = self.root.directory.get(chunk)?.blob()?;
        Some(ShareKey::of(key).shard)
    }
    /// Its lease; see [`Snapshot::leased`].
    pub fn lease(&self) -> Option<&Lease> {
        self.root.lease.as_ref()
    }
    /// Edge slots of this type that a chunk has given out lie below this.
    pub fn edge_slot_bound(&self, chunk: ChunkNo, edge_type: EdgeTypeId) -> u32 {
        self.root.directory.get(chunk).map_or(0, |cell| cell.meta.edge_slot_bound(edge_type))
    }
    /// The snapshot that one answer of every shard makes of an earlier one.
    pub fn with_shares(&self, shares: &[Share<'_>], commit_version: u64) -> Result<JoinedShares, StoreError> {
        let (mut root, mut commit_versions) = (self.root.copy(), Vec::new());
        let (mut changes, mut loads_indexes) = (Vec::new(), false);
        let names = Names::forked(self.root.catalog.names.clone());
        let mut statistics = Statistics::default();
        let mut changed = Vec::new();
        for share in shares {
            let mut chunks = Vec::new();
            let reader = &mut Reader::checked(share.bytes, "share")?;
            let (shard, life) = (share.shard, reader.uint()?);
            commit_versions.push((life, reader.uint()?));
            for _ in 0..reader.count()? {
                let name = decode_name(reader)?;
                if !names.knows(&name) {
                    names.define(&name)?;
                }
            }
            for (counter, count) in &read_counts(reader)?.counts {
                statistics.add(*counter, *count as i64);
            }
            for _ in 0..reader.count()? {
                let (chunk, version) = (reader.uint32()?, reader.uint()?);
                if chunk as usize >= CHUNK_COUNT_MAX {
                    return Err(reader.fail("a chunk's number is beyond all"));
                }
                root.catalog.names = names.table();
                let meta = read_meta(reader, &root.catalog)?;
                chunks.push((chunk, ShareKey { shard, life, chunk, version }.blob(), meta));
            }
            catalogue::read(reader, &mut root.catalog)?;
            match entries::read_changes(reader)? {
                Some(more) => changes.extend(more),
                None => loads_indexes = true,
            }
            changed.push(Changed { chunks, records: records::read(reader)? });
            reader.finish()?;
        }
        root.catalog.names = names.table();
        root.names = Arc::new(names);
        changed.into_iter().try_for_each(|changed| records::take(&mut root, changed))?;
        statistics.names = root.catalog.names.clone();
        loads_indexes |= !entries::has_all(&root);
        if !loads_indexes {
            entries::bring_up(&mut root, changes)?;
        }
        statistics.indexes = root.indexes.iter().map(index_statistics).collect();
        (root.statistics, root.commit_version) = (statistics, commit_version);
        root.layers = LayerCache::default();
        let snapshot = Snapshot::from_root(Root { lease: None, ..root });
        Ok(JoinedShares { snapshot, commit_versions, loads_indexes })
    }
    /// The same graph, with an interner of its own: names that it hands out are unknown to others.
    pub fn with_own_names(&self) -> Snapshot {
        let names = Arc::new(Names::forked(self.root.catalog.names.clone()));
        Snapshot::from_root(Root { names, ..self.root.copy() })
    }
}
