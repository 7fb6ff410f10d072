//! An index in a manifest: its definition and its leaves. Writer and reader are both here, with one set of bounds (docs/formats/chunk.md,
//! "Manifest").
//!
//! A leaf with a short delta is written as its run's blob and that delta. One with a longer delta is compacted for the disk: it becomes the
//! runs that a compaction in memory would give, none longer than `leaf::LEAF_ENTRIES_MAX`. Earlier versions wrote run and delta as one run, up to
//! [`LEAF_ENTRIES_READ_MAX`] entries; these are read, and cut at their next compaction.

use crate::bytes::{Reader, Writer};
use crate::indexes::leaf::{LEAF_ENTRIES_READ_MAX, Leaf};
use crate::indexes::run::{Entry, IndexRun, RunKnown};
use crate::indexes::run_bytes::{decode_entries, encode_entries, encode_run};
use crate::indexes::tree::Index;
use crate::paging::page::Page;
use crate::paging::pager::Pager;
use crate::paging::source::read_blob;
use crate::schema::catalog::Catalog;
use crate::schema::definitions::{decode_index, encode_index};
use crate::{BlobKey, StoreError};
use model::schema::IndexId;
use std::collections::HashMap;
use std::sync::Arc;

/// Delta entries of an index leaf that a manifest carries; a leaf with more is written as new runs instead.
const LEAF_DELTA_MAX: usize = 64;

/// Where the blobs of an index go.
pub(crate) struct IndexBlobs<'a, E> {
    /// Pieces that were written ahead, by address.
    pub(crate) ahead: &'a HashMap<usize, BlobKey>,
    pub(crate) write: &'a mut dyn FnMut(&[u8]) -> Result<BlobKey, E>,
    /// Runs of leaves that are stored from now on.
    pub(crate) runs: &'a mut Vec<(Arc<Page<IndexRun>>, BlobKey)>,
}

/// One leaf as written.
struct ManifestRow<'a> {
    first: Entry,
    known: RunKnown,
    blob: BlobKey,
    /// The leaf whose delta is written with it.
    delta_of: Option<&'a Leaf>,
}

pub(crate) fn write_index<E: From<StoreError>>(
    index: &Index,
    writer: &mut Writer,
    blobs: &mut IndexBlobs<'_, E>,
) -> Result<(), E> {
    let mut rows = Vec::new();
    for leaf in index.leaves() {
        store_leaf(leaf, blobs, &mut rows)?;
    }
    encode_index(&index.definition, writer);
    writer.size(rows.len());
    rows.iter().for_each(|row| write_row(row, writer));
    Ok(())
}

/// Writes the runs of a leaf that are not stored yet, and returns its rows for the manifest.
fn store_leaf<'a, E: From<StoreError>>(
    leaf: &'a Leaf,
    blobs: &mut IndexBlobs<'_, E>,
    rows: &mut Vec<ManifestRow<'a>>,
) -> Result<(), E> {
    if leaf.delta_len() > LEAF_DELTA_MAX {
        for (first, run) in leaf.compacted_runs()? {
            let known = RunKnown::of(&run, leaf.page.known.width);
            rows.push(ManifestRow { first, known, blob: (blobs.write)(&encode_run(&run))?, delta_of: None });
        }
        return Ok(());
    }
    let written = || blobs.ahead.get(&(Arc::as_ptr(&leaf.page) as usize)).copied();
    let blob = match leaf.page.blob().or_else(written) {
        Some(blob) => blob,
        None => {
            let blob = (blobs.write)(&encode_run(&*leaf.page.read()?))?;
            blobs.runs.push((leaf.page.clone(), blob));
            blob
        }
    };
    rows.push(ManifestRow { first: leaf.first.clone(), known: leaf.page.known, blob, delta_of: Some(leaf) });
    Ok(())
}

fn write_row(row: &ManifestRow<'_>, writer: &mut Writer) {
    debug_assert!(row.known.len <= LEAF_ENTRIES_READ_MAX as u64, "a run that no reader would take");
    encode_entries(std::iter::once(&row.first), writer);
    writer.uint(row.known.len);
    writer.uint(row.known.distinct);
    writer.raw(&row.blob.0);
    match row.delta_of {
        Some(leaf) => {
            [&leaf.added, &leaf.removed].iter().for_each(|delta| encode_entries(delta.iter(), writer))
        }
        None => (0..2).for_each(|_| encode_entries(std::iter::empty(), writer)),
    }
}

pub(crate) fn read_index(
    reader: &mut Reader<'_>,
    catalog: &mut Catalog,
    pager: &Arc<Pager>,
) -> Result<(IndexId, Arc<Index>), StoreError> {
    let definition = decode_index(reader)?;
    catalog.add_index(&definition)?;
    let (id, width, mut leaves) = (definition.id, definition.keys.len(), Vec::<Leaf>::new());
    for _ in 0..reader.count()? {
        let leaf = read_leaf(reader, width, pager)?;
        if leaves.last().is_some_and(|last| last.first >= leaf.first) {
            return Err(reader.fail("index leaves do not rise"));
        }
        leaves.push(leaf);
    }
    Ok((id, Arc::new(Index::of_leaves(definition, leaves, pager))))
}

fn read_leaf(reader: &mut Reader<'_>, width: usize, pager: &Arc<Pager>) -> Result<Leaf, StoreError> {
    let mut first = decode_entries(reader)?;
    let (Some(first), true) = (first.pop(), first.is_empty()) else {
        return Err(reader.fail("an index leaf has one first entry"));
    };
    let (len, distinct) = (reader.uint()?, reader.uint()?);
    let blob = read_blob(reader)?;
    let (added, removed) = (decode_entries(reader)?, decode_entries(reader)?);
    if len > LEAF_ENTRIES_READ_MAX as u64 || distinct > len {
        return Err(reader.fail("index leaf outside its bounds"));
    }
    if removed.len() as u64 > len {
        return Err(reader.fail("index leaf with more entries gone than it had"));
    }
    let page = Page::stored(blob, RunKnown { len, distinct, width }, pager);
    Ok(Leaf::over(first, page).with_delta(added, removed))
}

#[cfg(test)]
mod tests;
