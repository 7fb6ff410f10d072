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
