//! Work is counted where it grows with a value, and is none for each row where a loop of its own does it.
//!
//! The meter is read from outside: a watch that counts how often it is asked, once for each [`UNITS_PER_LOOK`] units.

use super::town::{PEOPLE, Town, edge};
use super::{WALL_US, reader};
use crate::{Layout, Parameters, Request, Scope, compile};
use dataflow::watch::{Stopped, UNITS_PER_LOOK, Watch, enter};
use model::{Batch, Column, Value, VertexId};
use plan::Var;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
struct Looks {
    looks: AtomicU64,
    held: AtomicU64,
    most: AtomicU64,
}

impl Watch for Looks {
    fn look(&self, _: u64) -> Result<(), Stopped> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    fn charge(&self, bytes: u64) -> Result<(), Stopped> {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(held, Ordering::Relaxed);
        Ok(())
    }
    fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Units counted, to the next multiple of [`UNITS_PER_LOOK`], and most bytes held.
fn measured<T>(work: impl FnOnce() -> T) -> (u64, u64) {
    let looks = Arc::new(Looks::default());
    let entered = enter(looks.clone());
    let result = work();
    drop(result);
    drop(entered);
    assert_eq!(looks.held.load(Ordering::Relaxed), 0, "all is given back");
    (looks.looks.load(Ordering::Relaxed) * UNITS_PER_LOOK, looks.most.load(Ordering::Relaxed))
}

const ROWS: u64 = 1_000;
const REPEATS: u64 = 16;

/// Columns: vertex, edge, integers, floats, texts, truths, integers with nulls, and anything; and a selection of all in another order.
fn batches() -> [Batch; 2] {
    let column = |value: &dyn Fn(u64) -> Value| -> Column { (0..ROWS).map(value).collect() };
    let columns = vec![
        column(&|row| VertexId(row % PEOPLE).into()),
        column(&|row| edge(row % (PEOPLE - 1)).into()),
        column(&|row| Value::Int(row as i64 + 1)),
        column(&|row| Value::Float(row as f64 + 0.5)),
        column(&|row| format!("text {row}").into()),
        column(&|row| (row % 2 == 0).into()),
        column(&|row| if row % 3 == 0 { Value::Null } else { Value::Int(row as i64) }),
        column(&|row| if row % 2 == 0 { "a".into() } else { Value::Int(row as i64) }),
    ];
    let plain = Batch::new(columns, ROWS as usize);
    let turned = plain.select((0..ROWS as u32).rev().collect());
    [plain, turned]
}

fn units_of(text: &str, batch: &Batch) -> u64 {
    let parameters: Parameters =
        [("list", Value::list((0..50).map(Value::Int).collect())), ("five", Value::Int(5))]
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
    let (town, request) = (Town::new(), Request::fixed(parameters, WALL_US, 1));
    let scope = Scope::new(&town, &request);
    let layout = Layout::new(&(0..8).map(Var).collect::<Vec<_>>());
    let compiled = compile(&reader::read(text).unwrap(), &layout, &town, &request.parameters).unwrap();
    let (units, _) = measured(|| {
        for _ in 0..REPEATS {
            compiled.evaluate(batch, &scope).unwrap();
        }
    });
    units
}

#[test]
fn loops_of_one_type_count_no_work_for_a_row() {
    let (mut faults, batches) = (Vec::new(), batches());
    for text in [
        "@2 = 5",
        "@2 <> @6",
        "@2 < 5.0",
        "@2 <= @6",
        "@3 > 5",
        "@3 >= @3",
        "@2 > @3",
        "@3 <> @6",
        "@4 = 'text 7'",
        "@4 <> @4",
        "@4 < 'text 5'",
        "@4 >= 'text 5'",
        "@4 STARTS WITH 'te'",
        "@4 ENDS WITH '7'",
        "@4 CONTAINS 'xt'",
        "@0 = @0",
        "@0 <> @0",
        "@1 = @1",
        "@1 <> @1",
        "@2 = null",
        "null < @4",
        "@2 + @6",
        "@2 - 3",
        "@2 * @2",
        "@2 / @2",
        "@2 % 7",
        "@3 + @2",
        "@3 / 2",
        "@2 - 0.5",
        "@3 * @3",
        "@6 % 2.5",
        "@2 IN [1, 2, 3]",
        "@4 IN ['text 1', 'text 2']",
        "@2 IN $list",
        "NOT @5",
        "@2 IS NULL",
        "@6 IS NOT NULL",
        "@7 IS NULL",
        "@5 AND @2 > 5",
        "@2 > 5 OR @5",
        "@0.age",
        "@0.weight",
        "@1.since",
        "@0:Person",
        "@0:Person AND @0:Student",
        "@0.age < 20",
        "@0.name = 'Bo'",
        "@0.name STARTS WITH 'B'",
        "@0.age = $five",
        "distinct_edges(@1, @1)",
        "typeOrder(@2)",
        "typeOrder(@4)",
        "-@2 < 4",
        "@2",
        "5",
    ] {
        for batch in &batches {
            let units = units_of(text, batch);
            // The meter stands somewhere between two looks at first.
            if units > 2 * UNITS_PER_LOOK {
                faults.push(format!("{text} counts {units} units for {} rows", ROWS * REPEATS));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The interpreter counts each row, so that the test above can tell.
#[test]
fn the_interpreter_counts_each_row() {
    for text in
        ["@7 = 5", "@7 + 'b'", "size(@4)", "[@2, @3]", "typeOrder(@6)", "@2 ^ 2", "@7 STARTS WITH 'a'"]
    {
        for batch in batches() {
            assert!(units_of(text, &batch) >= (REPEATS - 5) * ROWS, "{text}");
        }
    }
}

#[test]
fn properties_are_tested_where_they_lie() {
    for text in ["@0.age < 20", "@0.name = 'Bo'", "@0.name CONTAINS 'o'", "@0.age >= $five", "@0:Person"] {
        let (town, request) = (
            Town::new(),
            Request::fixed([("five".into(), Value::Int(5))].into_iter().collect::<Parameters>(), WALL_US, 1),
        );
        let scope = Scope::new(&town, &request);
        let compiled =
            compile(&reader::read(text).unwrap(), &Layout::new(&[Var(0)]), &town, &request.parameters)
                .unwrap();
        for batch in batches() {
            let mut selected = Vec::new();
            compiled.select(&batch, &scope, &mut selected).unwrap();
            let slow = compiled.evaluate_slowly(&batch, &scope).unwrap();
            let expected: Vec<u32> =
                (0..ROWS as u32).filter(|row| slow.get(*row as usize).as_bool() == Some(true)).collect();
            assert_eq!(selected, expected, "{text}");
        }
    }
}

/// Lists and maps of so many elements, and texts of so many bytes: more than one look of the meter each.
const ELEMENTS: usize = 70_000;
const TEXT_BYTES: usize = 512 << 10;

/// Nothing that goes through a value as a whole does so without being counted. What makes an element at a time counts each.
#[test]
fn what_goes_through_a_long_value_counts_it() {
    let list = || Value::list((0..ELEMENTS as i64).map(Value::Int).collect());
    let text = || Value::string("ab".repeat(TEXT_BYTES / 2));
    let map = || {
        let entry = |n: usize| (Arc::<str>::from(format!("k{n:06}").as_str()), Value::Int(n as i64));
        Value::map((0..ELEMENTS).map(entry))
    };
    let parameters: Parameters = [
        ("list", list()),
        ("other", list()),
        ("text", text()),
        ("copy", text()),
        ("blank", Value::string(" ".repeat(TEXT_BYTES))),
        ("map", map()),
        ("map2", map()),
        ("nested", Value::list(vec![list(), list()])),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value))
    .collect();
    let (town, request) = (Town::new(), Request::fixed(parameters, WALL_US, 1));
    let scope = Scope::new(&town, &request);
    let one_by_one = [
        "[x IN $list WHERE x > 1 | x]",
        "any(x IN $list WHERE x < 0)",
        "all(x IN $list WHERE x >= 0)",
        "none(x IN $list WHERE x < 0)",
        "single(x IN $list WHERE x = 1)",
        "reduce(s = 0, x IN $list | s + x)",
        "$list + $other",
        "$list + 1",
        "1 + $list",
        "tail($list)",
        "reverse($list)",
        "$list[1..]",
        "range(1, 70000)",
        "toIntegerList($list)",
        "$list = $other",
        "$list <> $other",
        "$nested = [$other, $other]",
        "nullIf($list, $other)",
        "$map = $map2",
        "CASE $list WHEN $other THEN 1 END",
    ];
    let at_once = [
        "$list = $other",
        "$list <> $other",
        "$list < $other",
        "$other IN [$list]",
        "keys($map)",
        "properties($map)",
        "valueType($list)",
        "$map{.*, x: 1}",
        "$other IN $nested + [[1]]",
        "$text = $copy",
        "$text < $copy",
        "$text CONTAINS 'z'",
        "size($text)",
        "toUpper($text)",
        "toLower($text)",
        "reverse($text)",
        "left($text, 3)",
        "right($text, 3)",
        "substring($text, 3)",
        "char_length($text)",
        "replace($text, 'z', 'y')",
        "split($text, 'z')",
        "$text + 'a'",
        "$text =~ 'x*'",
        "trim($blank)",
        "ltrim($blank)",
        "rtrim($blank)",
        "normalize($text)",
        "toInteger($text)",
        "toFloatOrNull($text)",
        "toBoolean($blank)",
        "toStringOrNull($text)",
    ];
    let mut faults = Vec::new();
    for (texts, least) in [(&one_by_one[..], ELEMENTS as u64 * 8 / 10), (&at_once, UNITS_PER_LOOK)] {
        for text in texts {
            let (units, _) = measured(|| {
                let expr = reader::read(text).unwrap();
                let compiled = compile(&expr, &Layout::default(), &town, &request.parameters).unwrap();
                let value = compiled.evaluate_row(&Batch::unit(), 0, &scope);
                value.unwrap_or_else(|error| panic!("{text}: {error}"))
            });
            if units < least {
                faults.push(format!("{text} counts {units} units, not {least}"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Bytes of a value in the making are held before they are taken.
#[test]
fn what_makes_a_large_value_holds_its_bytes() {
    let text = Value::string("ab".repeat(256 << 10));
    let parameters: Parameters = [("text".into(), text)].into_iter().collect();
    let (town, request) = (Town::new(), Request::fixed(parameters, WALL_US, 1));
    let scope = Scope::new(&town, &request);
    for (text, bytes) in [
        ("range(1, 100000)", 100_000 * size_of::<Value>() as u64),
        // Old and new room while the elements move from one to the other.
        ("[x IN range(1, 100000) | x + 1]", ((1 << 17) + (1 << 16)) * size_of::<Value>() as u64),
        ("range(1, 50000) + range(1, 50000)", 100_000 * size_of::<Value>() as u64),
        ("$text + $text", 2 << 20),
        ("replace($text, 'a', 'aa')", 3 << 19),
        ("split($text, 'b')", (256 << 10) * size_of::<Value>() as u64),
    ] {
        let compiled =
            compile(&reader::read(text).unwrap(), &Layout::default(), &town, &request.parameters).unwrap();
        let (_, most) = measured(|| compiled.evaluate_row(&Batch::unit(), 0, &scope).unwrap());
        assert!((bytes * 9 / 10..bytes * 5).contains(&most), "{text} held {most} bytes, not {bytes}");
    }
}

/// Lists and maps that are compared part by part are compared as others are.
#[test]
fn long_values_are_equal_as_short_ones_are() {
    let list =
        |count: i64, last: Value| Value::list((0..count).map(Value::Int).chain([last]).collect::<Vec<_>>());
    let map = |count: usize, last: Value| {
        let entry = |n: usize| (Arc::<str>::from(format!("k{n}").as_str()), Value::Int(n as i64));
        Value::map((0..count).map(entry).chain([("last".into(), last)]))
    };
    for count in [3usize, ELEMENTS] {
        let lists = |last: Value| list(count as i64, last);
        let maps = |last: Value| map(count, last);
        for make in [&lists as &dyn Fn(Value) -> Value, &maps] {
            let one = make(1.into());
            for (other, expected) in [
                (one.clone(), Some(true)),
                (make(1.0.into()), Some(true)),
                (make(2.into()), Some(false)),
                (make(Value::Null), None),
                (make(f64::NAN.into()), Some(false)),
            ] {
                assert_eq!(crate::operators::equal(&one, &other).unwrap(), expected, "{count}");
                assert_eq!(crate::operators::equal(&other, &one).unwrap(), expected, "{count}");
            }
        }
        // The one is the beginning of the other.
        let whole = |count: usize| Value::list((0..count as i64).map(Value::Int).collect());
        let (shorter, longer) = (whole(count), whole(count + 1));
        assert_eq!(crate::operators::equal(&shorter, &longer).unwrap(), Some(false));
        assert_eq!(crate::operators::equal(&longer, &shorter).unwrap(), Some(false));
        let (shorter, longer) = (map(count, 1.into()), map(count + 1, 1.into()));
        assert_eq!(crate::operators::equal(&shorter, &longer).unwrap(), Some(false));
        assert_eq!(crate::operators::equal(&shorter, &lists(1.into())).unwrap(), Some(false));
    }
}

/// What has constants alone is computed before there are rows; what is too large for that, once for a batch.
#[test]
fn constants_are_computed_once() {
    let mut faults = Vec::new();
    for text in [
        "2 ^ 3",
        "[1, 2]",
        "{a: 1}",
        "{a: 1}.a",
        "[1, 2][0]",
        "[1, 2, 3][1..2]",
        "[1, 2, 3][1..]",
        "-(3)",
        "1 IN [1, 2]",
        "'a' =~ 'a.*'",
        "size('abc')",
        "duration('P1D') + date('2020-01-01')",
        "toUpper('a') + 'b'",
        "[size('ab')][0] + 1",
        "{a: [1 + 1]}.a[0] ^ 2",
        "range(1, 3)",
        "size(range(1, 3000))",
        "[range(1, 3000), 1]",
        "range(1, 3000)[7]",
        "date('2020-01-01').year",
        "coalesce(null, 1)",
        "null + 1",
    ] {
        for batch in batches() {
            let units = units_of(text, &batch);
            if units > 4 * UNITS_PER_LOOK + REPEATS * 3_100 {
                faults.push(format!("{text} counts {units} units for {} rows", ROWS * REPEATS));
            }
        }
    }
    // One that is too large to be kept with the plan.
    for (text, expected) in [
        ("size(range(1, 3000)) + @2", 3_001),
        ("range(1, 3000)[7] + @2", 9),
        ("CASE WHEN 2999 IN range(1, 3000) THEN @2 ELSE 0 END", 1),
        ("size([range(1, 3000), @2])", 2),
    ] {
        let (town, request) = (Town::new(), Request::fixed(Parameters::new(), WALL_US, 1));
        let scope = Scope::new(&town, &request);
        let layout = Layout::new(&(0..8).map(Var).collect::<Vec<_>>());
        let compiled = compile(&reader::read(text).unwrap(), &layout, &town, &request.parameters).unwrap();
        let batch = &batches()[0];
        assert_eq!(compiled.evaluate(batch, &scope).unwrap().get(0).as_int(), Some(expected), "{text}");
        assert_eq!(compiled.evaluate_row(batch, 0, &scope).unwrap().as_int(), Some(expected), "{text}");
        assert_eq!(compiled.evaluate(&batch.select(Vec::new()), &scope).unwrap().len(), 0, "{text}");
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn short_texts_count_little() {
    let short = || Value::string("ab".repeat(2_048));
    let list = Value::list((0..60).map(Value::Int).collect());
    for value in [short(), Value::Bytes(vec![7u8; 4_096].into()), list] {
        let parameters: Parameters = [("value".into(), value)].into_iter().collect();
        let (town, request) = (Town::new(), Request::fixed(parameters, WALL_US, 1));
        let scope = Scope::new(&town, &request);
        let (units, _) = measured(|| {
            for _ in 0..50 {
                let expr = reader::read("[x IN [1] | $value < $value]").unwrap();
                let compiled = compile(&expr, &Layout::default(), &town, &request.parameters).unwrap();
                compiled.evaluate_row(&Batch::unit(), 0, &scope).unwrap();
            }
        });
        assert!(units <= 3 * UNITS_PER_LOOK, "{units} units");
    }
}

/// Columns between two operators are held while the second is computed, and so are texts that are read from the graph.
#[test]
fn columns_in_the_making_hold_their_bytes() {
    let long = "x".repeat(1_000);
    let parameters: Parameters = [("long".into(), Value::string(long.as_str()))].into_iter().collect();
    let (town, request) = (Town::new(), Request::fixed(parameters, WALL_US, 1));
    let scope = Scope::new(&town, &request);
    let layout = Layout::new(&(0..8).map(Var).collect::<Vec<_>>());
    for text in ["(@4 + $long) = 'y'", "size(@4 + $long) > 3 AND (@4 + $long) = 'y'"] {
        let compiled = compile(&reader::read(text).unwrap(), &layout, &town, &request.parameters).unwrap();
        for batch in batches() {
            let (_, most) = measured(|| compiled.evaluate(&batch, &scope).unwrap());
            assert!(most >= ROWS * 1_000, "{text} held {most} bytes");
        }
    }
}

#[test]
fn sorting_holds_what_it_sorts() {
    let (_, most) = measured(|| {
        dataflow::sorting::sorted((0..100_000_u64).rev().collect(), u64::cmp).unwrap();
    });
    assert!(most >= 800_000, "{most} bytes");
}

#[test]
fn asking_for_a_normal_form_is_counted() {
    let text = Value::string("ab".repeat(TEXT_BYTES / 2));
    let expr = plan::Expr::Call(plan::Function::IsNormalized, vec![plan::Expr::literal(text)]);
    let (town, request) = (Town::new(), Request::fixed(Parameters::new(), WALL_US, 1));
    let (units, _) = measured(|| {
        let compiled = compile(&expr, &Layout::default(), &town, &request.parameters).unwrap();
        (0..3).for_each(|_| {
            compiled.evaluate_row(&Batch::unit(), 0, &Scope::new(&town, &request)).unwrap();
        });
    });
    assert!(units >= UNITS_PER_LOOK, "{units} units");
}
