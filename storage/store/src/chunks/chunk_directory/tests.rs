//! Chunks with a directory beside the same chunks without one, and damaged ends.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;
use crate::chunks::chunk::{Chunk, ChunkMeta};
use crate::chunks::chunk_bytes::{decode, decode_group, decode_whole, encode, encode_within};
use crate::chunks::column::{PropertyRef, StoredColumn};
use crate::chunks::table::EdgeTable;
use model::LabelSetId;
use std::sync::Arc;

struct Stored(Vec<u8>);

impl ChunkSource for Stored {
    fn read(&self, _: BlobKey) -> Result<Vec<u8>, StoreError> {
        Ok(self.0.clone())
    }
}

/// Numbers that are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize % bound
    }
}

fn column(slot_count: u32, numbers: &mut Numbers) -> Option<Arc<StoredColumn>> {
    let slots: Vec<u32> = (0..slot_count).filter(|_| numbers.below(3) > 0).collect();
    let values: Vec<_> = slots.iter().map(|slot| (*slot, PropertyRef::Int(i64::from(*slot) * 7))).collect();
    StoredColumn::build(slot_count, &values).map(Arc::new)
}

fn table(slot_count: usize, degree: usize, numbers: &mut Numbers) -> EdgeTable {
    let (mut offsets, mut neighbours) = (vec![0], Vec::new());
    for _ in 0..slot_count {
        let mut list: Vec<u32> =
            (0..numbers.below(degree + 1)).map(|_| numbers.below(1 << 30) as u32).collect();
        list.sort_unstable();
        list.dedup();
        neighbours.extend(list);
        offsets.push(neighbours.len() as u32);
    }
    // Every other table has slots of its own: here those from behind.
    let count = neighbours.len() as u32;
    let slots = (numbers.below(2) == 0).then(|| (0..count).rev().collect());
    EdgeTable::new(offsets.into(), neighbours.into(), slots)
}

fn chunk(slot_count: usize, degree: usize, labels: usize, numbers: &mut Numbers) -> Chunk {
    let mut base = Base { slot_count: slot_count as u32, ..Base::empty() };
    for slot in (0..slot_count).filter(|slot| slot % 5 != 2) {
        base.exists[slot / 64] |= 1 << (slot % 64);
    }
    base.labels = (0..labels.min(slot_count)).map(|slot| (slot as u16, LabelSetId(70_000))).collect();
    for key in 0..numbers.below(4) as u32 {
        base.columns.extend(column(slot_count as u32, numbers).map(|column| (KeyId(3 * key), column)));
    }
    for lane in 0..numbers.below(4) as u32 {
        base.tables.push((Lane(5 * lane), Arc::new(table(slot_count, degree, numbers))));
    }
    for key in 0..numbers.below(3) as u32 {
        let column = column(slot_count as u32, numbers);
        base.edge_columns.extend(column.map(|column| ((EdgeTypeId(1), KeyId(key)), column)));
    }
    let live = base.exists.iter().map(|word| word.count_ones()).sum();
    let meta = ChunkMeta { slot_bound: slot_count as u32, live, ..ChunkMeta::new(LabelSetId(0)) };
    Chunk { meta: Arc::new(meta), base: Arc::new(base), delta: None }
}

fn known(chunk: &Chunk) -> BaseKnown {
    BaseKnown { slot_bound: chunk.meta.slot_bound, live: chunk.meta.live }
}

fn directory(bytes: &[u8], known: BaseKnown) -> Option<Directory> {
    Directory::of_stored(&Stored(bytes.to_vec()), BlobKey([0; 20]), known).unwrap()
}

/// Chunks below, at and above a group, of tables that are read in groups and of others, with directories of one read and of two.
#[test]
fn both_versions_hold_the_same_and_groups_are_parts_of_it() {
    let numbers = &mut Numbers(7);
    let mut grouped = 0;
    for slot_count in [0, 1, GROUP_SLOTS - 1, GROUP_SLOTS, GROUP_SLOTS + 1, 2_000, CHUNK_SLOTS] {
        for (degree, labels) in [(0, 0), (3, 1), (40, 0), (12, 4_000)] {
            let chunk = chunk(slot_count, degree, labels, numbers);
            let (bytes, known) = (encode(&chunk), known(&chunk));
            let found = directory(&bytes, known).expect("a directory");
            let older = encode_within(&chunk, 0);
            let body: usize = found.sections.iter().map(|section| section.piece.length as usize).sum();
            assert_eq!(encode_within(&chunk, body), bytes);
            if body == 0 {
                continue;
            }
            assert_eq!(encode_within(&chunk, body - 1), older);
            assert!(directory(&older, known).is_none(), "version 1 has none");
            let (read, noted) = decode_whole(&older, known, true).unwrap();
            let again = Chunk { base: Arc::new(read), ..chunk.clone() };
            assert_eq!(encode(&again), bytes, "{slot_count} slots, degree {degree}");
            let noted = noted.expect("wanted");
            assert_eq!(noted.sections.len(), found.sections.len());
            for (noted, found) in noted.sections.iter().zip(&found.sections) {
                assert_eq!((noted.name, noted.crc), (found.name, found.crc));
                assert_eq!(noted.piece.length, found.piece.length);
                let crcs = |section: &Section| section.groups.as_ref().map(|groups| groups.crcs);
                assert_eq!(crcs(noted), crcs(found));
                let (Some(groups), PartName::Table(lane)) = (&found.groups, found.name) else { continue };
                grouped += 1;
                let whole = again.base.table(lane).unwrap();
                let TablePlaces { groups, slot_count, has_slots } = &groups.places;
                for (number, place) in groups.iter().enumerate() {
                    let slots = group_slots(number, *slot_count);
                    let of_group: Vec<u8> =
                        place.pieces().iter().flat_map(|piece| piece.of(&bytes)).copied().collect();
                    let reader = &mut Reader::new(&of_group, "group");
                    let part = decode_group(reader, slots.clone(), place.first_edge, *has_slots).unwrap();
                    for slot in slots {
                        assert_eq!(part.list(slot), whole.list(slot));
                        let slots = |table: &EdgeTable| {
                            table.range(slot).map(|at| table.edge_slot(at)).collect::<Vec<_>>()
                        };
                        assert_eq!(slots(&part), slots(whole));
                    }
                }
            }
        }
    }
    assert!(grouped > 5, "{grouped} tables of groups");
}

#[test]
fn an_end_that_is_cut_or_damaged_is_no_directory() {
    let chunk = chunk(700, 20, 3, &mut Numbers(12));
    let (bytes, known) = (encode(&chunk), known(&chunk));
    let Ok(End::Directory(_, length)) = Directory::of_end(&bytes, known) else { panic!("a directory") };
    for count in 0..bytes.len() {
        match Directory::of_end(&bytes[bytes.len() - count..], known).unwrap() {
            End::Older => assert!(count < TAIL_BYTES),
            End::Longer(bytes) => assert!(bytes == length && count < length),
            End::Directory(_, bytes) => assert!(bytes == length && count >= length),
        }
    }
    for at in (bytes.len() - length..bytes.len()).chain([0, 4, 5, 900]) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        let is_checked = at == BODY_AT - 1 || (bytes.len() - length..bytes.len() - 4).contains(&at);
        assert_eq!(directory(&damaged, known).is_none(), is_checked, "byte {at}");
        assert!(decode(&damaged, known).is_err(), "byte {at}");
    }
    // What looks like a directory at the end of an older chunk.
    let mut older = bytes.clone();
    older[BODY_AT - 1] = 1;
    assert!(directory(&older, known).is_none());
    // A directory that is whole, of another chunk.
    let other = BaseKnown { live: known.live + 1, ..known };
    assert!(Directory::of_end(&bytes, other).is_err() && decode(&bytes, other).is_err());
}
