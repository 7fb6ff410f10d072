//! The bytes that aggregates and tables of groups say they hold are those that the allocator gave them.

extern crate tanglewood_expression as expression;

use expression::segments::{SEGMENT, Segments};
use expression::{Aggregator, GroupTable, RetractableSum};
use model::batch::Carried;
use model::{Column, Value, VertexId};
use plan::AggregateFunction as F;

/// What lies beside the tables: boxes and small lists.
const SLACK_BYTES: usize = 64;

/// Of a hundred bytes given so many are said at least, and at most: a table that doubles is charged for the old one beside it.
const SAID_PERCENT: std::ops::RangeInclusive<usize> = 95..=160;

/// Sizes on both sides of where the structures change their form: the first room, a full segment, the split of a bucket.
const SIZES: [usize; 7] = [0, 1, 5, 200, 1_537, SEGMENT + 1, 2 * SEGMENT + 9];

/// A value by its number.
type Make = fn(usize) -> Value;

/// Those of numbers below `1 << 20` are different.
const KINDS: [(&str, Make); 7] = [
    ("small integers", |n| Value::from(n as i64)),
    ("integers far apart", |n| Value::from((n as i64).wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64))),
    ("floats", |n| Value::from(n as f64 + 0.5)),
    ("texts", |n| Value::from(format!("the text of number {n}"))),
    ("lists", |n| Value::list(vec![Value::from(n as i64); 3])),
    ("vertices", |n| VertexId(n as u64).into()),
    ("truths", |n| Value::Bool(n.is_multiple_of(2))),
];

/// One for each state that an aggregate has.
const FUNCTIONS: [F; 6] = [F::Count, F::Sum, F::Min, F::StDev, F::Collect, F::PercentileCont];

fn fault(what: &str, says: usize, given: isize) -> Option<String> {
    let given = usize::try_from(given).unwrap();
    let least = (given * SAID_PERCENT.start() / 100).saturating_sub(SLACK_BYTES);
    let is_told = (least..=given * SAID_PERCENT.end() / 100 + SLACK_BYTES).contains(&says);
    (!is_told).then(|| format!("{what}: given {given}, said {says}"))
}

/// Columns of 1,000 rows, and one shorter.
fn columns(value: Make, rows: usize) -> Vec<Carried> {
    let starts = (0..rows).step_by(1_000);
    starts.map(|from| Carried::new((from..rows.min(from + 1_000)).map(value).collect())).collect()
}

fn aggregated(function: F, distinct: bool, columns: &[Carried]) -> Aggregator {
    let mut aggregator = Aggregator::new(function, distinct);
    for column in columns {
        aggregator.update_all(std::slice::from_ref(column), 0..column.column().len()).unwrap();
    }
    aggregator
}

/// Does it take values of this kind? Of values that it does not, nothing is kept.
fn takes(function: F, kind: &str) -> bool {
    let any = matches!(function, F::Count | F::Min | F::Max | F::Collect);
    any || kind.contains("integers") || kind == "floats"
}

/// What a thing holds that is made while nothing else is: it, its bytes as it says them, and the name of the case.
fn check<T>(faults: &mut Vec<String>, what: String, make: impl FnOnce() -> T, says: impl Fn(&T) -> usize) {
    let before = heap::held_by_thread();
    let made = Box::new(make());
    let (says, given) = (says(&made), heap::held_by_thread() - before);
    drop(made);
    assert_eq!(heap::held_by_thread(), before, "{what}");
    faults.extend(fault(&what, says, given));
}

#[test]
fn aggregates() {
    let mut faults = Vec::new();
    for (kind, value) in KINDS {
        for function in FUNCTIONS.into_iter().filter(|function| takes(*function, kind)) {
            for distinct in [false, true] {
                for rows in SIZES {
                    let what = format!("{function:?} of {rows} {kind}, distinct {distinct}");
                    let make = || aggregated(function, distinct, &columns(value, rows));
                    check(&mut faults, what, make, Aggregator::bytes);
                }
                // Parts of different sizes that several executors made.
                let what = format!("merged {function:?} of {kind}, distinct {distinct}");
                let make = || {
                    let mut merged = Aggregator::new(function, distinct);
                    for rows in [10, 2_000, SEGMENT + 5, 100] {
                        merged.merge(aggregated(function, distinct, &columns(value, rows))).unwrap();
                    }
                    merged
                };
                check(&mut faults, what, make, Aggregator::bytes);
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// While the answer is made, the most that is held is what was held and what is said to be held besides.
#[test]
fn an_answer_in_the_making() {
    let mut faults = Vec::new();
    for (kind, value) in KINDS {
        for rows in SIZES {
            let columns = columns(value, rows);
            for function in FUNCTIONS.into_iter().filter(|function| takes(*function, kind)) {
                let aggregator = aggregated(function, false, &columns);
                let besides = aggregator.finishing_bytes();
                let is_kept = matches!(function, F::Collect | F::PercentileCont | F::PercentileDisc);
                let least = if is_kept { rows * size_of::<Value>() } else { 0 };
                if besides < least || besides > 2 * least + SEGMENT * size_of::<Value>() {
                    faults.push(format!("{function:?} of {rows} {kind}: {besides} bytes besides"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn sums_that_values_are_taken_from() {
    let mut faults = Vec::new();
    let floats = [1e300, 1e-300, 0.3].map(Value::Float);
    for values in [&[] as &[Value], &[Value::Int(7)], &floats[2..], &floats] {
        let make = || {
            let mut sum = RetractableSum::default();
            values.iter().for_each(|value| assert!(sum.update(value, 2)));
            sum
        };
        check(&mut faults, format!("{values:?}"), make, RetractableSum::bytes);
    }
    assert_eq!(faults, [""; 0]);
    // To the byte.
    let (mut sum, before) = (RetractableSum::default(), heap::held_by_thread());
    floats.iter().for_each(|float| assert!(sum.update(float, 1)));
    let given = size_of::<RetractableSum>() as isize + heap::held_by_thread() - before;
    assert_eq!(sum.bytes() as isize, given);
    let (mut sum, before) = (Aggregator::new(F::Sum, false), heap::held_by_thread());
    let sum_bytes = sum.bytes() as isize;
    floats.iter().for_each(|float| sum.add(float.clone()).unwrap());
    assert_eq!(sum.bytes() as isize - sum_bytes, heap::held_by_thread() - before);
}

/// A list that is put together has room for its values and no more.
#[test]
fn settled_lists_have_no_room_to_spare() {
    let rows = 3 * SEGMENT + 100;
    let columns = columns(KINDS[0].1, rows);
    let before = heap::held_by_thread();
    let mut list = aggregated(F::Collect, false, &columns);
    while !list.settle() {}
    let given = usize::try_from(heap::held_by_thread() - before).unwrap();
    let least = rows * size_of::<Value>();
    // The last piece has its room still.
    assert!(
        (least..least + SEGMENT * size_of::<Value>() + 4_096).contains(&given),
        "{given} bytes for {least}"
    );
}

/// Keys of one type are bare numbers: half of what they would take as values.
#[test]
fn bare_numbers_take_less_than_values() {
    for kind in [0, 5] {
        let numbers = || columns(KINDS[kind].1, 20_000).into_iter().map(|column| [column.clone(), column]);
        let bare = grouped(1, &numbers().collect::<Vec<_>>()).bytes();
        let mut values = numbers().collect::<Vec<_>>();
        let text = Carried::new(Column::Any(vec!["a text".into()]));
        values.push([text.clone(), text]);
        let general = grouped(1, &values).bytes();
        assert!(bare + 20_000 * 4 <= general, "{bare} and {general} bytes");
    }
    let constant = Carried::new(Column::Constant(Value::Int(7), 5));
    let bare = grouped(1, &[[constant.clone(), constant]]);
    assert!(bare.bytes() < size_of::<GroupTable>() + 100);
}

/// Groups by the first `width` of two keys.
fn grouped(width: usize, columns: &[[Carried; 2]]) -> GroupTable {
    let (mut table, mut groups) = (GroupTable::new(width), Vec::new());
    columns.iter().for_each(|keys| table.assign(&keys[..width], keys[0].column().len(), &mut groups));
    table
}

#[test]
fn tables_of_groups() {
    let mut faults = Vec::new();
    let says = |table: &GroupTable| size_of::<GroupTable>() + table.bytes();
    for (one, (kind, value)) in KINDS.into_iter().enumerate() {
        let other = KINDS[(one + 3) % KINDS.len()].1;
        let pairs = |rows| {
            let pairs = columns(value, rows).into_iter().zip(columns(other, rows));
            pairs.map(|(one, other)| [one, other]).collect::<Vec<_>>()
        };
        for (width, rows) in SIZES.into_iter().flat_map(|rows| [(0, rows), (1, rows), (2, rows)]) {
            let what = format!("groups by {width} keys of {rows} {kind}");
            check(&mut faults, what.clone(), || grouped(width, &pairs(rows)), says);
            let merged = || {
                let (table, mut merged) = (grouped(width, &pairs(rows)), GroupTable::new(width));
                merged.merge(&table, 0..table.len(), &mut Vec::new());
                merged
            };
            check(&mut faults, format!("{what}, merged"), merged, says);
        }
    }
    // Numbers first, so that they have a form of their own, and a text last.
    let mixed = || {
        let mut columns = columns(KINDS[0].1, 2 * SEGMENT);
        columns.push(Carried::new(Column::Any(vec!["a text".into()])));
        grouped(1, &columns.into_iter().map(|column| [column.clone(), column]).collect::<Vec<_>>())
    };
    check(&mut faults, "groups of numbers and a text".into(), mixed, says);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn lists_in_segments() {
    let mut faults = Vec::new();
    for rows in SIZES {
        let says = |segments: &Segments<u64>| size_of::<Segments<u64>>() + segments.bytes();
        check(&mut faults, format!("{rows} entries"), || (0..rows as u64).collect(), says);
    }
    assert_eq!(faults, [""; 0]);
}
