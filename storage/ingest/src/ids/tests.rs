//! The id map against an ordered map that is filled row by row.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;
use std::collections::BTreeMap;
use world::chance::Chance;

fn parallel(count: usize, task: &(dyn Fn(usize) + Sync)) {
    world::threads::map_parallel("ids", 3, &(0..count).collect::<Vec<_>>(), |at| task(*at));
}

fn random_id(chance: &mut Chance, kind: u64) -> String {
    match kind {
        0 => chance.below(60).to_string(),
        1 => (chance.below(60) * 1_000_003).to_string(),
        2 => ["7", "07", "x", "-3", "-0", "+7", "19", "y"][chance.below(8) as usize].to_string(),
        _ => i64::MAX.wrapping_sub(chance.below(3) as i64).to_string(),
    }
}

fn check(chance: &mut Chance, rows: usize, kinds: u64) {
    let kind = chance.below(kinds);
    let (mut columns, mut expected, mut repeated) = (Vec::new(), BTreeMap::new(), Vec::new());
    let mut row = 0u32;
    for _ in 0..1 + chance.below(4) {
        let mut column = IdColumn::default();
        for _ in 0..chance.below(rows as u64) {
            let id = random_id(chance, kind);
            column.push(Id::of(id.as_bytes()).unwrap());
            match expected.entry(id) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(row);
                }
                std::collections::btree_map::Entry::Occupied(_) => repeated.push(row),
            }
            row += 1;
        }
        columns.push(column);
    }
    let (mut map, found) = IdMap::build(&columns.iter().collect::<Vec<_>>(), &parallel);
    assert_eq!(found, repeated);
    for (id, row) in &expected {
        assert_eq!(map.get(Id::of(id.as_bytes()).unwrap()), Some(*row), "{id}");
    }
    map.renumber(|row| row + 1);
    for id in ["7", "07", "-1", "61", "1000003", "9223372036854775807", "zz"] {
        let wanted = expected.get(id).map(|row| row + 1);
        assert_eq!(map.get(Id::of(id.as_bytes()).unwrap()), wanted, "{id}");
    }
}

#[test]
fn random_ids_map_as_in_the_slow_map() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    (0..3_000).for_each(|_| check(&mut chance, 40, 4));
}

#[test]
fn many_ids_go_to_shards() {
    let ids: Vec<i64> = (0..200_000).map(|at| (at % 150_000) * 1_000_003).collect();
    let column = IdColumn::Ints(ids.clone());
    let (map, repeated) = IdMap::build(&[&column], &parallel);
    assert!(matches!(&map.ints, Ints::Hashed(tables) if tables.len() == SHARDS));
    assert_eq!(repeated, (150_000..200_000).collect::<Vec<u32>>());
    assert!(ids[..150_000].iter().enumerate().all(|(row, id)| map.get(Id::Int(*id)) == Some(row as u32)));
    assert_eq!(map.get(Id::Int(1)), None);
}

#[test]
fn close_ids_go_to_an_array() {
    let column = IdColumn::Ints((-5..50).collect());
    let (map, _) = IdMap::build(&[&column], &parallel);
    assert!(matches!(map.ints, Ints::Array(-5, _)));
    assert_eq!([-6, -5, 49, 50].map(|id| map.get(Id::Int(id))), [None, Some(0), Some(54), None]);
}

#[test]
fn few_ids_share_one_table() {
    for (count, tables) in [(SHARDED_MIN - 1, 1), (SHARDED_MIN, SHARDS), (SHARDED_MIN + 1, SHARDS)] {
        let ids: Vec<i64> = (0..count as i64).map(|at| at * 1_000_003).collect();
        let (map, repeated) = IdMap::build(&[&IdColumn::Ints(ids)], &parallel);
        assert!(matches!(&map.ints, Ints::Hashed(made) if made.len() == tables), "{count} ids");
        assert!(repeated.is_empty());
        assert_eq!(map.get(Id::Int(1_000_003)), Some(1));
    }
}

/// A map that grew answers alike before it is packed and after, and becomes an array where that takes no more room than tables.
#[test]
fn a_map_that_grew_is_packed_where_ids_lie_close() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for round in 0..600 {
        let (mut map, mut expected) = (IdMap::growing(), BTreeMap::new());
        let (low, count) = (chance.below(100) as i64 - 50, 1 + chance.below(40) as i64);
        // About where an array begins to be too large.
        let apart = 1 + chance.below(6) as i64;
        for row in 0..count {
            let id = low + row * apart;
            assert!(map.insert(Id::Int(id), row as u32), "{id} is new");
            assert!(!map.insert(Id::Int(id), 9_999), "{id} was there");
            expected.insert(id, row as u32);
        }
        assert!(map.insert(Id::Text("07"), 77) && !map.insert(Id::Text("07"), 78));
        let check = |map: &IdMap| {
            for id in low - 3..low + count * apart + 3 {
                assert_eq!(map.get(Id::Int(id)), expected.get(&id).copied(), "round {round}: {id}");
            }
            assert_eq!((map.get(Id::Text("07")), map.get(Id::Text("7"))), (Some(77), None));
        };
        check(&map);
        map.pack();
        let places = (count - 1) * apart;
        let is_close = (places as u64) < count as u64 * PLACES_PER_ID_MAX;
        assert_eq!(matches!(map.ints, Ints::Array(..)), is_close, "round {round}: {count} ids {apart} apart");
        check(&map);
    }
    let mut nothing = IdMap::growing();
    nothing.pack();
    assert_eq!(nothing.get(Id::Int(0)), None);
}
