//! The group table against a list that is searched from front to back.

use crate::{GroupTable, NO_GROUP, hash_columns};
use model::batch::Carried;
use model::column::{LONG_TEXT_BYTES, Texts};
use model::compare::equivalent;
use model::{Column, EdgeId, EdgeRef, Nulls, Value, VertexId};
use std::sync::Arc;
use world::chance::Chance;

fn random_value(kind: u64, chance: &mut Chance) -> Value {
    if chance.happens(0.1) {
        return Value::Null;
    }
    match kind {
        0 => Value::Int(chance.below(6) as i64),
        1 => VertexId(chance.below(6)).into(),
        2 => ["a", "b", ""][chance.index(3)].into(),
        3 => [0.0, 1.0, -0.0, f64::NAN, 1.5][chance.index(5)].into(),
        4 => {
            let i = chance.below(4);
            EdgeRef { id: EdgeId(i), source: VertexId(i), target: VertexId(0) }.into()
        }
        5 => Value::Bool(chance.happens(0.5)),
        _ => {
            let kind = chance.below(6);
            let value = random_value(kind, chance);
            if chance.happens(0.2) { Value::list(vec![value]) } else { value }
        }
    }
}

fn random_column(kind: u64, rows: usize, chance: &mut Chance) -> Carried {
    if chance.happens(0.1) {
        return Carried::new(Column::Constant(random_value(kind, chance), rows));
    }
    if kind == 2 && chance.happens(0.5) {
        let mut dictionary = Texts::default();
        // Of two chunks with the same texts: in the same order, or not.
        let order = [["", "b", "never", "a"], ["a", "b", "never", ""]][chance.index(2)];
        order.iter().for_each(|text| dictionary.push(text));
        let codes = (0..rows).map(|_| [0, 1, 3][chance.index(3)]).collect();
        let column = Column::Text(Texts::from_codes(Arc::new(dictionary), codes), Nulls::none());
        return Carried::new(column);
    }
    // Columns without a null have loops of their own.
    let (has_nulls, has_long) = (chance.happens(0.5), kind == 2 && chance.happens(0.1));
    let value = |chance: &mut Chance| loop {
        let value = random_value(kind, chance);
        match value {
            Value::String(_) if has_long && chance.happens(0.3) => {
                return Value::string("long".repeat(LONG_TEXT_BYTES / 4 + 1));
            }
            Value::Null if !has_nulls => {}
            value => return value,
        }
    };
    Carried::new((0..rows).map(|_| value(chance)).collect())
}

#[test]
fn groups_agree_with_a_linear_search() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..500 {
        let width = chance.index(4);
        let mut table = GroupTable::new(width);
        let mut known: Vec<Vec<Value>> = Vec::new();
        let mut kinds: Vec<u64> = (0..width).map(|_| chance.below(7)).collect();
        for _ in 0..4 {
            if chance.happens(0.2) {
                kinds.iter_mut().for_each(|kind| *kind = chance.below(7));
            }
            // Of many rows with few combinations, one of each is looked up.
            let rows_max = if chance.happens(0.2) { 400 } else { 10 };
            let mut rows = 1 + chance.index(rows_max);
            let mut keys: Vec<Carried> =
                kinds.iter().map(|kind| random_column(*kind, rows, &mut chance)).collect();
            if rows <= 10 && chance.happens(0.3) {
                // As behind an expand: each row comes several times.
                let repeated: Vec<u32> =
                    (0..rows as u32).flat_map(|row| std::iter::repeat_n(row, 1 + row as usize * 3)).collect();
                rows = repeated.len();
                keys.iter_mut().for_each(|key| {
                    *key = Carried::picked(key.shared().clone(), Arc::new(repeated.clone()));
                });
            }
            let mut groups = vec![77];
            assert_eq!((table.len(), table.is_empty()), (known.len(), known.is_empty()), "seed {seed}");
            table.find(&keys, rows, &mut groups);
            assert_eq!(groups.len(), rows, "seed {seed}");
            for (row, group) in groups.iter().enumerate() {
                let is_it =
                    |held: &Vec<Value>| held.iter().zip(&keys).all(|(a, b)| equivalent(a, &b.get(row)));
                let expected = known.iter().position(is_it).map_or(NO_GROUP, |group| group as u32);
                assert_eq!(*group, expected, "seed {seed}: row {row} of {known:?}");
            }
            table.assign(&keys, rows, &mut groups);
            assert_eq!(groups.len(), rows, "seed {seed}");
            for (row, group) in groups.iter().enumerate() {
                let key: Vec<Value> = keys.iter().map(|key| key.get(row)).collect();
                let same = |held: &Vec<Value>| held.iter().zip(&key).all(|(a, b)| equivalent(a, b));
                let expected = known.iter().position(same).unwrap_or_else(|| {
                    known.push(key.clone());
                    known.len() - 1
                });
                assert_eq!(*group as usize, expected, "seed {seed}: {key:?} of {known:?}");
            }
        }
        assert_eq!(table.len(), known.len());
        for column in 0..width {
            let held = table.key_column(column, 0..known.len());
            (0..known.len()).for_each(|group| assert!(equivalent(&held.get(group), &known[group][column])));
        }
        let mut merged = GroupTable::new(width);
        let mut numbers = Vec::new();
        for _ in 0..2 {
            merged.merge(&table, 0..table.len(), &mut numbers);
            assert_eq!(numbers, (0..known.len() as u32).collect::<Vec<_>>());
        }
    }
}

#[test]
fn equivalent_keys_hash_alike_in_every_form() {
    let forms = [
        Column::Int(vec![1], model::Nulls::none()),
        Column::Float(vec![1.0], model::Nulls::none()),
        Column::Any(vec![Value::Int(1)]),
        Column::Constant(Value::Float(1.0), 1),
    ];
    let texts: [Column; 2] = [["x".into()].into_iter().collect(), Column::Any(vec!["x".into()])];
    let constant = Column::Constant("x".into(), 1);
    let hash = |column: &Column| {
        let mut hashes = Vec::new();
        hash_columns(&[Carried::new(column.clone())], 1, &mut hashes);
        hashes[0]
    };
    assert!(forms.iter().all(|column| hash(column) == hash(&forms[0])));
    assert!(texts.iter().all(|column| hash(column) == hash(&constant)));
}
