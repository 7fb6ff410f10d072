//! The vertices of edge lists: their distinct ids, and the vertex of each.

use super::lines::{Numbers, Parsed};
use crate::ImportError;
use crate::existing::Existing;
use crate::ids::{Id, IdColumn, IdMap};
use crate::load::Counts;
use crate::rules::Rules;
use crate::work::Work;
use model::schema::SchemaTarget;
use model::{Column, KeyId, LabelId, Nulls};
use std::sync::atomic::{AtomicU64, Ordering};
use store::{Bulk, Names};

/// Bits of a bitmap that an edge may cost; sorting its two ends needs more memory than this.
const BITS_PER_EDGE_MAX: u64 = 128;
/// Ids that are gathered at least before they are sorted in among those that are known.
const FRESH_MIN: usize = 1 << 18;
/// Vertices that are handed over at once.
const PIECE_VERTICES: usize = 1 << 18;

/// All ids, sorted, each once.
pub(super) fn distinct(work: &Work<'_>, blocks: &[&Parsed]) -> Vec<i64> {
    let low = blocks.iter().map(|block| block.low).min().unwrap_or(i64::MAX);
    let high = blocks.iter().map(|block| block.high).max().unwrap_or(i64::MIN);
    if low > high {
        return Vec::new();
    }
    let count: usize = blocks.iter().map(|block| block.ends.len() * 2 + block.vertices.len()).sum();
    if high.abs_diff(low) > count as u64 * BITS_PER_EDGE_MAX {
        let sorted = work.map(blocks.len(), |at| blocks[at].distinct());
        let mut ids = sorted.concat();
        ids.sort_unstable();
        ids.dedup();
        return ids;
    }
    let words: Vec<AtomicU64> = (0..high.abs_diff(low) / 64 + 1).map(|_| AtomicU64::new(0)).collect();
    work.parallel(blocks.len(), &|at| {
        blocks[at].for_each_id(&mut |id| {
            let place = id.abs_diff(low);
            let (word, bit) = (&words[(place / 64) as usize], 1 << (place % 64));
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        });
    });
    let mut ids = Vec::new();
    for (at, word) in words.into_iter().enumerate() {
        let mut left = word.into_inner();
        while left != 0 {
            ids.push(low + (at as u64 * 64 + u64::from(left.trailing_zeros())) as i64);
            left &= left - 1;
        }
    }
    ids
}

/// Ids gathered block by block, where the blocks are not kept.
#[derive(Default)]
pub(super) struct Gathered {
    /// Sorted, each once.
    ids: Vec<i64>,
    fresh: Vec<i64>,
    /// By file: which property columns hold a fraction.
    pub(super) floats: Vec<Vec<bool>>,
}

impl Gathered {
    pub(super) fn new(files: usize) -> Gathered {
        Gathered { floats: vec![Vec::new(); files], ..Gathered::default() }
    }
    /// Takes the distinct ids of a block, and which of its columns hold fractions.
    pub(super) fn take(&mut self, file: usize, mut ids: Vec<i64>, floats: Vec<bool>) {
        self.fresh.append(&mut ids);
        // So that sorting all of them again is paid for by as many that came.
        if self.fresh.len() >= FRESH_MIN.max(self.ids.len() / 2) {
            self.merge();
        }
        let held = &mut self.floats[file];
        held.resize(floats.len().max(held.len()), false);
        held.iter_mut().zip(floats).for_each(|(held, float)| *held |= float);
    }
    fn merge(&mut self) {
        self.ids.append(&mut self.fresh);
        self.ids.sort_unstable();
        self.ids.dedup();
    }
    /// All ids, sorted, each once.
    pub(super) fn take_ids(&mut self) -> Vec<i64> {
        self.merge();
        std::mem::take(&mut self.ids)
    }
}

/// Which columns of a block hold fractions.
pub(super) fn floats(block: &Parsed) -> Vec<bool> {
    block.numbers.iter().map(|numbers| matches!(numbers, Numbers::Floats(_))).collect()
}

/// Makes the vertices that the database has not got yet; the map from id to dense vertex.
pub(super) fn make_vertices(
    work: &Work<'_>,
    bulk: &Bulk<'_>,
    existing: &Existing,
    names: &Names,
    (label, key): (LabelId, KeyId),
    ids: Vec<i64>,
    counts: &mut Counts,
) -> Result<IdMap, ImportError> {
    let mut dense = Vec::with_capacity(ids.len());
    let (rules, label_set) = (Rules::new(existing.snapshot()), names.intern_label_set(&[label])?);
    let mut made_count = 0;
    for piece in ids.chunks(PIECE_VERTICES) {
        let (mut new, mut rows) = (Vec::new(), Vec::new());
        for id in piece {
            let found = existing.has_any(0).then(|| existing.find(0, Id::Int(*id))).transpose()?.flatten();
            if found.is_none() {
                new.push(*id);
                rows.push(dense.len());
            }
            dense.push(found.unwrap_or_default());
        }
        let count = new.len();
        made_count += count as u64;
        let columns = vec![(key, Column::Int(new, Nulls::none()))];
        let broken = rules.broken(&[SchemaTarget::Vertices(label)], count, &columns);
        if let Some((_, what)) = broken.into_iter().next() {
            return Err(ImportError::Constraint { what });
        }
        let made = bulk.vertices(label_set, count, columns)?;
        rows.into_iter().zip(made.into_iter().flatten()).for_each(|(row, vertex)| dense[row] = vertex);
        bulk.seal()?;
    }
    work.vertices.store(made_count, Ordering::Relaxed);
    counts.vertices.insert(vec![label], made_count);
    let (mut map, _) = IdMap::build(&[&IdColumn::Ints(ids)], &|count, task| work.parallel(count, task));
    map.renumber(|row| dense[row as usize]);
    Ok(map)
}
