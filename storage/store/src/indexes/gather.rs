//! Sorts many new entries for an index: sorted parts, merged into leaves.
//!
//! ```text
//!   entries, chunk by chunk ─> a part: sorted, in blocks of one leaf's length ─┐  held, or spilled
//!   leaves of the existing index: a part as they are ──────────────────────────┴─ merged ─> leaves, held or emitted
//! ```
//! Invariant: at any moment only the entries of the open part, of one block of each part, and of the leaf in the making are decoded; all others are
//! in compact blocks, each freed when it is used up. Cost: one comparison an entry where parts follow one another, as ids that count up do, else as
//! many as the parts' number has bits. The slow twin is [`Index::build`].

use crate::StoreError;
use crate::indexes::edges::not_unique;
use crate::indexes::leaf::{LEAF_ENTRIES, Leaf};
use crate::indexes::run::{Entry, IndexRun, RunKnown};
use crate::indexes::run_bytes::{decode_run, encode_run};
use crate::indexes::tree::Index;
use crate::paging::page::Page;
use crate::paging::pager::Pager;
use crate::paging::spill::{Emit, Portion, Room};
use model::pace;
use model::schema::IndexDefinition;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Entries of a part: few enough that the open part is small, so many that parts are few. Fewer where memory is short.
const PART_ENTRIES_MAX: usize = 1 << 17;
/// Bytes that an entry of the open part takes, about.
const OPEN_ENTRY_BYTES: usize = 64;

/// Up to a leaf's length of sorted entries.
enum Block {
    Held(IndexRun),
    Aside(Portion),
    There(Arc<Leaf>),
}

/// Sorted entries that are yet to be taken, the next one in hand.
struct Part {
    blocks: std::vec::IntoIter<Block>,
    run: IndexRun,
    at: usize,
}

impl Part {
    /// The next entry; none where the part is used up.
    fn next(&mut self, room: Option<Room<'_>>) -> Result<Option<Entry>, StoreError> {
        while self.at == self.run.len() {
            let Some(block) = self.blocks.next() else { return Ok(None) };
            self.at = 0;
            self.run = match (block, room) {
                (Block::Held(run), _) => run,
                (Block::There(leaf), _) => leaf.merged_run()?,
                (Block::Aside(portion), Some(room)) => decode_run(&room.get(portion)?)?,
                (Block::Aside(_), None) => return Err(StoreError::corrupt("a block put aside without room")),
            };
        }
        self.at += 1;
        Ok(Some(self.run.entry(self.at - 1)))
    }
}

/// Entries on their way into an index.
pub(crate) struct Gathered<'a> {
    definition: IndexDefinition,
    open: Vec<Entry>,
    parts: Vec<Vec<Block>>,
    /// Bytes of the blocks in memory.
    held_bytes: usize,
    room: Option<Room<'a>>,
}

impl<'a> Gathered<'a> {
    /// Without entries. With `room`, blocks that do not fit are spilled.
    pub(crate) fn new(definition: &IndexDefinition, room: Option<Room<'a>>) -> Gathered<'a> {
        let (open, parts) = (Vec::new(), Vec::new());
        Gathered { definition: definition.clone(), open, parts, held_bytes: 0, room }
    }
    /// Was nothing gathered?
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.parts.is_empty()
    }
    /// Takes entries in any order: those that `give` appends.
    pub(crate) fn take(
        &mut self,
        give: impl FnOnce(&mut Vec<Entry>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        give(&mut self.open)?;
        let enough = self.room.map_or(PART_ENTRIES_MAX, |room| room.share() / OPEN_ENTRY_BYTES);
        if self.open.len() >= enough.clamp(LEAF_ENTRIES, PART_ENTRIES_MAX) {
            self.close_part()
        } else {
            Ok(())
        }
    }
    /// Takes the entries of an index.
    pub(crate) fn take_index(&mut self, index: &Index) {
        self.parts.push(index.leaves().map(|leaf| Block::There(leaf.clone())).collect());
    }
    fn close_part(&mut self) -> Result<(), StoreError> {
        let mut entries = std::mem::take(&mut self.open);
        entries.sort();
        pace::spend(entries.len() as u64)?;
        let mut blocks = Vec::with_capacity(entries.len() / LEAF_ENTRIES + 1);
        let mut entries = entries.into_iter();
        while entries.len() > 0 {
            let run = IndexRun::build(entries.by_ref().take(LEAF_ENTRIES).collect());
            self.held_bytes += run.heap_bytes();
            blocks.push(match self.room.filter(|room| self.held_bytes > room.share()) {
                Some(room) => {
                    self.held_bytes -= run.heap_bytes();
                    Block::Aside(room.put(&encode_run(&run))?)
                }
                None => Block::Held(run),
            });
        }
        self.parts.push(blocks);
        Ok(())
    }
    /// The index; with `emit` its leaves leave memory, and `emit` must be settled before they are read. Fails where it is unique and the entries are
    /// not.
    pub(crate) fn index(mut self, emit: Option<&dyn Emit>, pager: &Arc<Pager>) -> Result<Index, StoreError> {
        self.close_part()?;
        let Gathered { definition, parts, room, .. } = self;
        let mut parts: Vec<Part> = parts
            .into_iter()
            .map(|blocks| Part { blocks: blocks.into_iter(), run: IndexRun::build(Vec::new()), at: 0 })
            .collect();
        let mut waiting = BinaryHeap::with_capacity(parts.len());
        for (number, part) in parts.iter_mut().enumerate() {
            waiting.extend(part.next(room)?.map(|entry| Reverse((entry, number))));
        }
        let mut leaves = Leaves { definition: &definition, emit, pager, done: Vec::new(), open: Vec::new() };
        while let Some(Reverse((entry, number))) = waiting.pop() {
            leaves.push(entry)?;
            // As long as this part is first, the others need not be looked at.
            while let Some(next) = parts[number].next(room)? {
                if waiting.peek().is_some_and(|Reverse((other, _))| *other < next) {
                    waiting.push(Reverse((next, number)));
                    break;
                }
                leaves.push(next)?;
            }
        }
        let done = leaves.finish()?;
        Ok(Index::of_leaves(definition, done, pager))
    }
}

/// Leaves being made of entries in order.
struct Leaves<'a> {
    definition: &'a IndexDefinition,
    emit: Option<&'a dyn Emit>,
    pager: &'a Arc<Pager>,
    done: Vec<Leaf>,
    open: Vec<Entry>,
}

impl Leaves<'_> {
    fn push(&mut self, entry: Entry) -> Result<(), StoreError> {
        let same = |last: &&Entry| last.key.same_first(&entry.key, self.definition.keys.len());
        if let Some(last) = self.open.last().filter(|last| self.definition.unique && same(last)) {
            return Err(not_unique(self.definition, last, &entry));
        }
        if self.open.len() > LEAF_ENTRIES {
            self.close(LEAF_ENTRIES)?;
        }
        self.open.push(entry);
        Ok(())
    }
    /// Makes a leaf of the first entries; the last one stays, since the next may have its key.
    fn close(&mut self, count: usize) -> Result<(), StoreError> {
        pace::spend(count as u64)?;
        let rest = self.open.split_off(count);
        let entries = std::mem::replace(&mut self.open, rest);
        let first = entries[0].clone();
        let (run, width) = (IndexRun::build(entries), self.definition.keys.len());
        self.done.push(match self.emit {
            None => Leaf::new(first, run, width, self.pager),
            Some(emit) => {
                let (known, blob) = (RunKnown::of(&run, width), emit.put(&encode_run(&run))?);
                Leaf::over(first, Page::stored(blob, known, self.pager))
            }
        });
        Ok(())
    }
    fn finish(mut self) -> Result<Vec<Leaf>, StoreError> {
        if !self.open.is_empty() {
            self.close(self.open.len())?;
        }
        Ok(self.done)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::disallowed_types)]
    use super::*;
    use crate::indexes::run::IndexKey;
    use crate::paging::spill::Spill;
    use model::schema::{IndexId, SchemaTarget};
    use model::{KeyId, LabelId, Value};
    use parking_lot::Mutex;

    #[derive(Default)]
    struct Bytes(Mutex<Vec<u8>>);

    impl Spill for Bytes {
        fn write(&self, bytes: &[u8]) -> Result<u64, StoreError> {
            let mut all = self.0.lock();
            all.extend_from_slice(bytes);
            Ok((all.len() - bytes.len()) as u64)
        }
        fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, StoreError> {
            Ok(self.0.lock()[at as usize..at as usize + len].to_vec())
        }
    }

    fn definition(unique: bool) -> IndexDefinition {
        let target = SchemaTarget::Vertices(LabelId(0));
        IndexDefinition { id: IndexId(0), name: "i".into(), target, keys: vec![KeyId(0)], unique }
    }

    fn given(mut entries: Vec<Entry>) -> impl FnOnce(&mut Vec<Entry>) -> Result<(), StoreError> {
        move |open| {
            open.append(&mut entries);
            Ok(())
        }
    }

    /// Compared with the slow twin: ascending, at random, with repeated keys and with texts; held and spilled; onto an existing index.
    #[test]
    fn what_is_gathered_is_the_index_built_at_once() {
        let mut state = 20_261_122_u64;
        println!("seed {state}");
        let mut chance = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let (pager, spill) = (Pager::new(None), Bytes::default());
        for kind in 0..4 {
            let mut entry = |vertex: u32| {
                let number = match kind {
                    0 => i64::from(vertex),
                    1 => chance(1 << 30) as i64,
                    _ => chance(500) as i64,
                };
                let value = if kind == 3 { Value::string(format!("{number}")) } else { Value::Int(number) };
                Entry { key: IndexKey::One(value), vertex }
            };
            let (there, new) = (5_000, 300_000);
            let all: Vec<Entry> = (0..there + new).map(&mut entry).collect();
            let before = Index::build(definition(false), all[..there as usize].to_vec(), &pager).unwrap();
            let twin = Index::build(definition(false), all.clone(), &pager).unwrap().entries().unwrap();
            for room in [None, Some(Room { bytes: 1 << 20, spill: &spill })] {
                let mut gathered = Gathered::new(&definition(false), room);
                gathered.take_index(&before);
                for part in all[there as usize..].chunks(3_000) {
                    gathered.take(given(part.to_vec())).unwrap();
                }
                let index = gathered.index(None, &pager).unwrap();
                assert_eq!(index.entry_count(), u64::from(there + new));
                assert!(index.entries().unwrap() == twin, "kind {kind}");
            }
        }
        assert!(!spill.0.lock().is_empty());
    }

    /// Two entries of one key may be the last of a leaf and the first of the next.
    #[test]
    fn a_repeated_key_is_found_wherever_leaves_end() {
        for repeated in [0, LEAF_ENTRIES as i64 - 1, LEAF_ENTRIES as i64, 2 * LEAF_ENTRIES as i64 - 1] {
            let mut gathered = Gathered::new(&definition(true), None);
            let key = |number: i64| IndexKey::One(Value::Int(number));
            let each = (0..3 * LEAF_ENTRIES as i64).map(|n| Entry { key: key(n), vertex: n as u32 });
            gathered.take(given(each.collect())).unwrap();
            gathered.take(given(vec![Entry { key: key(repeated), vertex: 1 << 20 }])).unwrap();
            let found = gathered.index(None, &Pager::new(None));
            assert!(matches!(found, Err(StoreError::NotUnique { .. })), "{repeated}");
        }
    }
}
