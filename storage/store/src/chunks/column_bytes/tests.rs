//! Columns through bytes and back, at the sizes where their form changes, against the list of values they were built from; and damaged.

use super::*;
use crate::chunks::column::PropertyRef;
use model::temporal::Date;
use model::{CHUNK_SLOTS, Value};

/// SplitMix64: small, seeded, replayable.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

fn written(column: &StoredColumn) -> Vec<u8> {
    let mut writer = Writer::new();
    encode_column(column, &mut writer);
    writer.bytes
}

fn read(bytes: &[u8]) -> Result<StoredColumn, StoreError> {
    let mut reader = Reader::new(bytes, "column");
    let column = decode_column(&mut reader)?;
    reader.finish().map(|()| column)
}

/// Every slot of the column read back is as in the list, and equal to the column that was written.
fn check(slot_count: u32, values: &[(u32, Value)]) -> StoredColumn {
    let refs: Vec<(u32, PropertyRef<'_>)> =
        values.iter().map(|(slot, value)| (*slot, PropertyRef::from(value))).collect();
    let column = StoredColumn::build(slot_count, &refs).unwrap();
    let back = read(&written(&column)).unwrap();
    assert_eq!(written(&back), written(&column), "written again it is the same");
    let shown = |value: PropertyRef<'_>| format!("{:?}", value.to_value());
    let mut expected = values.iter().peekable();
    for slot in 0..slot_count + 70 {
        let wanted = expected.next_if(|(at, _)| *at == slot).map_or(Value::Null, |(_, value)| value.clone());
        assert_eq!(shown(back.get(slot)), format!("{wanted:?}"), "slot {slot} of {slot_count}");
    }
    let mut found = Vec::new();
    back.for_each(|slot, value| found.push((slot, shown(value))));
    assert!(found.into_iter().eq(values.iter().map(|(slot, value)| (*slot, format!("{value:?}")))));
    back
}

fn texts(slots: impl Iterator<Item = u32>, distinct: usize) -> Vec<(u32, Value)> {
    let text = |at: usize| Value::string(format!("{}ü", at % distinct));
    slots.enumerate().map(|(at, slot)| (slot, text(at))).collect()
}

/// All slots, most of them, few: a column changes its form at one value in eight slots.
#[test]
fn slots_are_read_as_they_were_written_at_every_density() {
    for slot_count in [1, 2, 63, 64, 65, 127, 128, 129, 512, CHUNK_SLOTS as u32 - 1, CHUNK_SLOTS as u32] {
        let eighth = slot_count / 8;
        for count in [1, eighth.saturating_sub(1), eighth, eighth + 1, slot_count - 1, slot_count] {
            let count = count.clamp(1, slot_count);
            // At the begin, at the end, and spread.
            for first in [0, slot_count - count] {
                let values: Vec<_> = (first..first + count).map(|slot| (slot, Value::Int(7))).collect();
                let column = check(slot_count, &values);
                let expected = match count {
                    count if count == slot_count => 0,
                    count if count * 8 < slot_count => 2,
                    _ => 1,
                };
                let form = match column.presence {
                    Presence::All(_) => 0,
                    Presence::Bits(_) => 1,
                    Presence::Slots(_) => 2,
                };
                assert_eq!(form, expected, "{count} of {slot_count}");
            }
            let spread: Vec<_> =
                (0..count).map(|at| (at * slot_count / count, Value::Bool(at.is_multiple_of(3)))).collect();
            check(slot_count, &spread);
        }
    }
}

/// A dictionary has at most a quarter as many texts as there are values, and at most 65,536.
#[test]
fn texts_are_read_as_they_were_written_below_at_and_above_a_dictionary() {
    for count in [1_u32, 3, 4, 5, 8, 1_023, 1_024, 1_025, 262_144, 262_150] {
        let most = (count as usize / 4).min(1 << 16);
        // A column of edges is as long as a chunk has edges of a type: long enough for a dictionary that is full.
        let few = [1, most.saturating_sub(1), most, most + 1, count as usize];
        for distinct in if count > 262_000 { &few[2..4] } else { &few } {
            let distinct = *distinct;
            let column = check(count, &texts(0..count, distinct.max(1)));
            let is_dictionary = matches!(column.data, Data::Codes(..));
            assert_eq!(is_dictionary, distinct.max(1) <= most, "{distinct} of {count}");
        }
        if count > 262_000 {
            continue;
        }
        // With slots that have none.
        check(count * 3, &texts((0..count).map(|at| at * 3), most.max(1)));
        check(count * 20, &texts((0..count).map(|at| at * 20 + 1), most.max(1)));
    }
    for length in [0, 1, 127, 128, 16_383, 16_384, 1 << 20] {
        check(3, &[(0, "".into()), (1, Value::string("x".repeat(length))), (2, "é".into())]);
    }
}

#[test]
fn numbers_are_read_as_they_were_written() {
    let far = [0, 1, -1, 63, 64, -64, -65, 8_191, 8_192, i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1];
    for first in far {
        check(
            2 * far.len() as u32,
            &far.iter()
                .enumerate()
                .map(|(at, int)| (2 * at as u32 + 1, Value::Int(int.wrapping_add(first))))
                .collect::<Vec<_>>(),
        );
    }
    let floats = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX, 0.1];
    let values: Vec<_> =
        floats.iter().enumerate().map(|(at, float)| (at as u32, Value::Float(*float))).collect();
    let column = check(8, &values);
    let bits = |slot| match column.get(slot) {
        PropertyRef::Float(float) => float.to_bits(),
        other => panic!("{other:?}"),
    };
    assert!(floats.iter().enumerate().all(|(at, float)| bits(at as u32) == float.to_bits()), "to the bit");
}

/// Dates of all, of many and of few slots; one value among them that is none.
#[test]
fn dates_are_read_as_they_were_written() {
    for (slots, step) in [(40, 1), (40, 3), (400, 9)] {
        let date = |slot: u32| Value::Date(Date { days: i64::from(slot) - 20 });
        let mut values: Vec<(u32, Value)> = (0..slots).step_by(step).map(|slot| (slot, date(slot))).collect();
        let column = check(slots, &values);
        assert!(matches!(column.data, Data::Date(_)));
        let far = [i64::MIN, i64::MAX, 0].map(|days| Value::Date(Date { days }));
        values.iter_mut().zip(far).for_each(|((_, value), far)| *value = far);
        assert!(matches!(check(slots, &values).data, Data::Date(_)));
        values[1].1 = "1994-08-23".into();
        assert!(matches!(check(slots, &values).data, Data::Any(_)));
    }
}

/// Values of several types, in random slots; then damaged: a reader refuses the bytes, or gives a column whose every slot can be read.
#[test]
fn random_columns_are_read_as_they_were_written_and_damage_is_refused_or_harmless() {
    let mut chance = Chance(20_261_123);
    println!("seed {}", chance.0);
    for round in 0..400 {
        let slot_count = 1 + chance.below([70, 600][round % 2]) as u32;
        let (kind, dense) = (chance.below(7), 1 + chance.below(12));
        let values: Vec<(u32, Value)> = (0..slot_count)
            .filter(|slot| chance.below(dense) == 0 || *slot == slot_count / 2)
            .collect::<Vec<_>>()
            .into_iter()
            .map(|slot| (slot, value(&mut chance, kind)))
            .collect();
        let bytes = written(&check(slot_count, &values));
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "cut at {length} of {}", bytes.len());
        }
        for _ in 0..40 {
            let mut damaged = bytes.clone();
            let at = chance.below(damaged.len());
            damaged[at] ^= 1 << chance.below(8);
            if let Ok(column) = read(&damaged) {
                (0..slot_count + 70).for_each(|slot| drop(column.get(slot).to_value()));
            }
        }
    }
}

fn value(chance: &mut Chance, kind: usize) -> Value {
    match kind {
        0 => Value::Bool(chance.below(2) == 0),
        1 => Value::Int(chance.below(1 << 40) as i64 - 5),
        2 => Value::Float(chance.below(100) as f64 / 7.0),
        3 => Value::string("é".repeat(chance.below(9))),
        4 => Value::string(["a", "b"][chance.below(2)]),
        5 => Value::list(vec![Value::Int(chance.below(9) as i64), Value::Null]),
        _ => {
            let other = chance.below(6);
            value(chance, other)
        }
    }
}

/// Bytes that no writer writes are refused, each for its own reason.
#[test]
fn what_no_column_can_be_is_refused() {
    let column = |presence: &[u8], data: &[u8]| [presence, data].concat();
    let all = |count: u8| vec![0, count];
    let refused = |bytes: Vec<u8>, why: &str| {
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains(why), "{error}; {why} expected");
    };
    refused(vec![3], "unknown kind of presence");
    refused(column(&all(1), &[6]), "unknown kind of column");
    refused(column(&all(2), &[1, 1, 0]), "fewer rows than slots");
    refused(
        column(&[1, 1, 0, 1, 0, 0, 0, 0, 0, 0], &[1, 8, 0, 0, 0, 0, 0, 0, 0, 0]),
        "fewer rows than slots",
    );
    refused(column(&[2, 2, 5, 0], &[1, 2, 0, 0]), "do not rise");
    refused(column(&[2, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 1], &[1, 2, 0, 0]), "above 32 bits");
    refused(column(&all(2), &[4, 2, 0, 1, 1, 1, b'a']), "outside the dictionary");
    refused(column(&all(1), &[3, 1, 1, 0xc3]), "not UTF-8");
    refused(column(&all(2), &[3, 2, 1, 1, 0xc3, 0xa4]), "within a character");
    refused(column(&all(1), &[3, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]), "above 4 GiB");
    // Each of these is one change away from a column.
    for bytes in [
        column(&all(2), &[1, 2, 0, 0]),
        column(&[1, 1, 0, 1, 0, 0, 0, 0, 0, 0], &[1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        column(&[2, 2, 5, 1], &[1, 2, 0, 0]),
        column(&all(2), &[4, 2, 0, 0, 1, 1, b'a']),
        column(&all(2), &[3, 2, 2, 0, 0xc3, 0xa4]),
    ] {
        read(&bytes).unwrap();
    }
}
