//! Rows in bytes and back, beside the rows themselves; and bytes that are not rows.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common;
use common::Chance;
use model::column::Texts;
use model::{Batch, Column, EdgeId, EdgeRef, NO_VERTEX, Nulls, Value, VertexId};
use store::{read_rows, write_rows};
use tanglewood_store as store;

fn value(chance: &mut Chance) -> Value {
    match chance.below(8) {
        0 => Value::Null,
        1 => Value::Bool(chance.below(2) == 0),
        2 => Value::Int(chance.next() as i64),
        3 => Value::Float(f64::from_bits(chance.next())),
        4 => Value::string("é".repeat(chance.below(20))),
        5 => Value::Vertex(VertexId(chance.next() >> 24)),
        6 => Value::edge(EdgeRef {
            id: EdgeId(chance.next() >> 14),
            source: VertexId(chance.below(9) as u64),
            target: NO_VERTEX,
        }),
        _ => Value::list((0..chance.below(3)).map(|_| value(chance)).collect()),
    }
}

/// NaN and the sign of zero are told apart.
fn shown(batch: &Batch) -> Vec<String> {
    (0..batch.len()).map(|row| format!("{:?}", batch.row(row))).collect()
}

#[test]
fn rows_are_read_as_they_were_written() {
    for seed in 0..400 {
        let mut chance = Chance(seed);
        let (width, rows) = (chance.below(4), chance.below(200));
        let kinds: Vec<Value> = (0..width).map(|_| value(&mut chance)).collect();
        let mut drawn = |kind: &Value| loop {
            let value = value(&mut chance);
            let is_alike = std::mem::discriminant(&value) == std::mem::discriminant(kind);
            if is_alike || value.is_null() || kind.is_null() {
                return value;
            }
        };
        let rows: Vec<Vec<Value>> = (0..rows).map(|_| kinds.iter().map(&mut drawn).collect()).collect();
        let mut batch = Batch::from_rows(width, &rows);
        batch.push(Column::Constant(Value::string("the same"), rows.len()));
        let mut dictionary = Texts::default();
        ["one", "", "drei"].iter().for_each(|text| dictionary.push(text));
        let codes = (0..rows.len()).map(|_| chance.below(3) as u16).collect();
        batch.push(Column::Text(Texts::from_codes(dictionary.into(), codes), Nulls::none()));
        if chance.below(2) == 0 {
            batch = batch.select((0..rows.len() as u32).filter(|row| row % 3 != 1).rev().collect());
        }
        let mut bytes = vec![];
        write_rows(&batch, &mut bytes);
        assert_eq!(shown(&read_rows(&bytes).unwrap()), shown(&batch), "seed {seed}");
        // Cut short: an error. Changed: an error or other rows, never more memory than the bytes call for.
        let cut = chance.below(bytes.len());
        assert!(read_rows(&bytes[..cut]).is_err(), "seed {seed}");
        bytes[cut] ^= 1 << chance.below(8);
        let _ = read_rows(&bytes);
    }
}
