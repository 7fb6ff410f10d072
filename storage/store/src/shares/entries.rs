//! Entries of indexes in a share: changes, and all entries page by page.
//!
//! Invariant: a reader's index holds the entries of all shards, in one tree, as of the versions that its snapshot has.

use crate::bytes::{Reader, Writer};
use crate::checkpoint::index_statistics;
use crate::indexes::gather::Gathered;
use crate::indexes::run::{Entry, EntryChange};
use crate::indexes::run_bytes::{decode_entries, encode_entries};
use crate::indexes::tree::Index;
use crate::snapshots::root::{LayerCache, Root};
use crate::{Snapshot, StoreError};
use model::schema::{IndexDefinition, IndexId};
use std::sync::Arc;

/// Entries of one page.
const PAGE_ENTRIES_MAX: usize = 1 << 14;
/// Bytes of values in one page, unless its first entry has more.
const PAGE_BYTES_MAX: usize = 4 << 20;

/// Writes the changes; none where all are to be loaded.
pub(super) fn write_changes(changes: Option<&[&EntryChange]>, writer: &mut Writer) {
    writer.byte(u8::from(changes.is_some()));
    let changes = changes.unwrap_or_default();
    writer.size(changes.len());
    for change in changes {
        writer.uint(u64::from(change.index.0));
        writer.byte(u8::from(change.came));
        encode_entries(std::iter::once(&change.entry), writer);
    }
}

/// Reads the output of [`write_changes`].
pub(super) fn read_changes(reader: &mut Reader<'_>) -> Result<Option<Vec<EntryChange>>, StoreError> {
    let is_told = reader.byte()? != 0;
    let mut changes = Vec::new();
    for _ in 0..reader.count()? {
        let (index, came) = (IndexId(reader.uint32()?), reader.byte()? != 0);
        let entry = decode_entries(reader)?.pop();
        let entry = entry.ok_or_else(|| reader.fail("a change of an index without an entry"))?;
        changes.push(EntryChange { index, came, entry });
    }
    Ok(is_told.then_some(changes))
}

/// Is each index of the catalogue there?
pub(super) fn has_all(root: &Root) -> bool {
    root.catalog.indexes.len() == root.indexes.len()
        && root
            .catalog
            .indexes
            .iter()
            .zip(&root.indexes)
            .all(|(known, (_, index))| *known == *index.definition)
}

/// Applies changes of entries to the indexes.
pub(super) fn bring_up(root: &mut Root, changes: Vec<EntryChange>) -> Result<(), StoreError> {
    let delta_min = root.options.index_delta_min;
    for EntryChange { index, came, entry } in changes {
        let Some((_, index)) = root.indexes.iter_mut().find(|(id, _)| *id == index) else { continue };
        let (index, Entry { key, vertex }) = (Arc::make_mut(index), entry);
        if came {
            index.insert(key, vertex, delta_min)?;
        } else {
            index.remove(key, vertex, delta_min)?;
        }
    }
    Ok(())
}

impl Snapshot {
    /// Entries of one index of a share, after those that the reader has: the answer to a request of [`Snapshot::with_loaded_indexes`].
    pub fn index_page(&self, request: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut reader = Reader::checked(request, "request for an index")?;
        let (id, from) = (IndexId(reader.uint32()?), decode_entries(&mut reader)?.pop());
        reader.finish()?;
        let index = self.root.indexes.iter().find(|(index, _)| *index == id);
        let (_, index) = index.ok_or(StoreError::NoIndex(id))?;
        let (page, is_last) = index.page_behind(from.as_ref())?;
        let mut writer = Writer::new();
        encode_entries(page.iter(), &mut writer);
        writer.byte(u8::from(is_last));
        Ok(writer.seal())
    }
    /// The same graph with all entries of all indexes, which `ask` fetches from each shard, page by page.
    pub fn with_loaded_indexes(
        &self,
        shards: u16,
        mut ask: impl FnMut(u16, Vec<u8>) -> Result<Vec<u8>, StoreError>,
    ) -> Result<Snapshot, StoreError> {
        let mut root = self.root.copy();
        root.indexes.clear();
        for definition in self.root.catalog.indexes.iter() {
            // Whether it is unique was decided when its entries were committed.
            let of_shares = IndexDefinition { unique: false, ..definition.clone() };
            let mut gathered = Gathered::new(&of_shares, None);
            for shard in 0..shards {
                let mut last: Option<Entry> = None;
                loop {
                    let mut writer = Writer::new();
                    writer.uint(u64::from(definition.id.0));
                    encode_entries(last.iter(), &mut writer);
                    let page = ask(shard, writer.seal())?;
                    let mut reader = Reader::checked(&page, "page of an index")?;
                    let (entries, is_last) = (decode_entries(&mut reader)?, reader.byte()? != 0);
                    reader.finish()?;
                    if !is_last && entries.last() <= last.as_ref() {
                        return Err(StoreError::corrupt("a page of an index that leads nowhere"));
                    }
                    last = entries.last().cloned();
                    gathered.take(|open| {
                        open.extend(entries);
                        Ok(())
                    })?;
                    if is_last {
                        break;
                    }
                }
            }
            let mut index = gathered.index(None, &root.pager)?;
            index.definition = Arc::new(definition.clone());
            root.indexes.push((definition.id, Arc::new(index)));
        }
        root.statistics.indexes = root.indexes.iter().map(index_statistics).collect();
        root.layers = LayerCache::default();
        Ok(Snapshot::from_root(root))
    }
}

impl Index {
    /// Entries after this one, one page, and whether they are the last.
    fn page_behind(&self, from: Option<&Entry>) -> Result<(Vec<Entry>, bool), StoreError> {
        let behind = |entry: &Entry| from.is_none_or(|from| entry > from);
        let mut place = from.map_or_else(|| self.partition_point(|_| false), |from| self.place_of(from));
        let (mut page, mut bytes) = (Vec::new(), 0);
        while let Some(leaf) = self.leaf(place) {
            place = self.after(place);
            for entry in leaf.entries()?.into_iter().filter(|entry| behind(entry)) {
                if page.len() >= PAGE_ENTRIES_MAX || bytes >= PAGE_BYTES_MAX {
                    return Ok((page, false));
                }
                bytes += entry.key.values().iter().map(model::Value::heap_bytes).sum::<usize>();
                page.push(entry);
            }
        }
        Ok((page, true))
    }
}
