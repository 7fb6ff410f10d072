//! Columns and batches beside lists of values: what was pushed is what is there, in the form of its type.

mod random;

use random::Random;
use std::mem::discriminant;
use tanglewood_model::column::{LONG_TEXT_BYTES, Texts};
use tanglewood_model::compare::equivalent;
use tanglewood_model::{Batch, Column, ColumnBuilder, EdgeId, EdgeRef, Nulls, Value, VertexId};

const FORMS: u64 = 7;

/// A value that has this form.
fn value(form: u64, random: &mut Random) -> Value {
    let number = random.below(50);
    match form {
        0 => Value::Bool(number.is_multiple_of(2)),
        1 => Value::Int(number as i64 - 25),
        2 => Value::Float(number as f64 / 4.0),
        3 => Value::string(format!("text {number}")),
        4 => Value::Vertex(VertexId(number)),
        5 => {
            let edge = EdgeRef { id: EdgeId(number), source: VertexId(1), target: VertexId(number + 1) };
            Value::Edge(edge.into())
        }
        _ => Value::list(vec![Value::Int(number as i64)]),
    }
}

/// The form that a column of such values has.
fn form_of(form: u64) -> Column {
    match form {
        0 => Column::Bool(Vec::new(), Nulls::none()),
        1 => Column::Int(Vec::new(), Nulls::none()),
        2 => Column::Float(Vec::new(), Nulls::none()),
        3 => Column::Text(Default::default(), Nulls::none()),
        4 => Column::Vertex(Vec::new(), Nulls::none()),
        5 => Column::Edge(Vec::new(), Nulls::none()),
        _ => Column::Any(Vec::new()),
    }
}

fn same(a: &Value, b: &Value) -> bool {
    equivalent(a, b) && a.value_type() == b.value_type()
}

fn holds(column: &Column, rows: &[Value]) {
    assert_eq!((column.len(), column.is_empty()), (rows.len(), rows.is_empty()));
    for (at, wanted) in rows.iter().enumerate() {
        assert!(same(&column.get(at), wanted), "row {at}: {:?} for {wanted:?}", column.get(at));
        assert_eq!(column.is_null(at), wanted.is_null(), "row {at}");
        let vertex = if let Value::Vertex(vertex) = wanted { Some(*vertex) } else { None };
        assert_eq!(column.vertex(at), vertex, "row {at}");
        let edge = if let Value::Edge(edge) = wanted { Some(edge.id) } else { None };
        assert_eq!(column.edge(at).map(|edge| edge.id), edge, "row {at}");
    }
}

/// Rows of one form, or of several, with nulls among them.
fn rows(random: &mut Random, forms: &[u64]) -> Vec<Value> {
    let nulls = random.below(4);
    (0..random.below(200))
        .map(|_| match random.below(4) < nulls {
            true => Value::Null,
            false => value(forms[random.below(forms.len() as u64) as usize], random),
        })
        .collect()
}

#[test]
fn a_column_holds_what_was_pushed_in_the_form_of_its_type() {
    let mut random = Random(3);
    for round in 0..700 {
        let form = round % FORMS;
        let other = (form + 1 + random.below(FORMS - 1)) % FORMS;
        let forms: &[u64] = if round % 3 == 0 { &[form, other] } else { &[form] };
        let rows = rows(&mut random, forms);
        let mut builder = ColumnBuilder::new();
        for (at, row) in rows.iter().enumerate() {
            assert_eq!((builder.len(), builder.is_empty()), (at, at == 0));
            match row {
                Value::String(text) if at % 2 == 0 => builder.push_text(text),
                row => builder.push(row.clone()),
            }
        }
        let column = builder.finish();
        holds(&column, &rows);
        let there: Vec<_> = rows.iter().filter(|row| !row.is_null()).map(Value::value_type).collect();
        if forms.len() == 1 && !there.is_empty() {
            assert_eq!(discriminant(&column), discriminant(&form_of(form)), "form {form}: {column:?}");
        }
        if there.windows(2).any(|pair| pair[0] != pair[1]) {
            assert!(matches!(column, Column::Any(_)), "{column:?}");
        }
        let picks: Vec<u32> = match rows.len() {
            0 => Vec::new(),
            len => (0..random.below(50)).map(|_| random.below(len as u64) as u32).collect(),
        };
        let picked: Vec<Value> = picks.iter().map(|at| rows[*at as usize].clone()).collect();
        holds(&column.gather(&picks), &picked);
        let bytes = column.bytes();
        assert!(bytes >= rows.len().saturating_sub(1) / 8, "{bytes} bytes of {} rows", rows.len());
    }
}

#[test]
fn a_batch_is_its_rows_however_it_is_cut() {
    let mut random = Random(5);
    for _ in 0..300 {
        let width = 1 + random.below(4) as usize;
        let len = random.below(60) as usize;
        let one = |at: u64, random: &mut Random| match random.below(5) {
            0 => Value::Null,
            _ => value((at + 3) % FORMS, random),
        };
        let row = |random: &mut Random| (0..width as u64).map(|at| one(at, random)).collect();
        let mut rows: Vec<Vec<Value>> = (0..len).map(|_| row(&mut random)).collect();
        let mut batch = Batch::from_rows(width, &rows);
        for _ in 0..4 {
            assert_eq!((batch.len(), batch.is_empty(), batch.width()), (rows.len(), rows.is_empty(), width));
            for (at, wanted) in rows.iter().enumerate() {
                let found = batch.row(at);
                assert_eq!(found.len(), width);
                assert!(found.iter().zip(wanted).all(|(a, b)| same(a, b)), "{found:?} {wanted:?}");
                for (column, wanted) in wanted.iter().enumerate() {
                    let carried = batch.column(column);
                    assert!(same(&carried.get(at), wanted) && same(&batch.get(at, column), wanted));
                    assert_eq!(carried.vertex(at), carried.column().vertex(carried.at(at)));
                    assert_eq!(carried.edge(at), carried.column().edge(carried.at(at)));
                    assert_eq!(carried.vertex(at).is_some(), matches!(wanted, Value::Vertex(_)));
                    assert_eq!(carried.edge(at).is_some(), matches!(wanted, Value::Edge(_)));
                    assert_eq!(carried.is_null(at), wanted.is_null());
                }
            }
            match random.below(4) {
                0 if !rows.is_empty() => {
                    let picks: Vec<u32> =
                        (0..random.below(40)).map(|_| random.below(rows.len() as u64) as u32).collect();
                    rows = picks.iter().map(|at| rows[*at as usize].clone()).collect();
                    let rows_of = |batch: &Batch, row: u32| batch.column(0).at(row as usize) as u32;
                    let below: Vec<u32> = picks.iter().map(|row| rows_of(&batch, *row)).collect();
                    batch = batch.select(picks);
                    assert_eq!(batch.column(0).rows(), Some(&below[..]));
                }
                1 => {
                    let end = random.below(rows.len() as u64 + 1) as usize;
                    let start = random.below(end as u64 + 1) as usize;
                    rows = rows[start..end].to_vec();
                    batch = batch.slice(start, end);
                }
                2 => {
                    let picks: Vec<usize> = (0..width).map(|_| random.below(width as u64) as usize).collect();
                    rows = rows.iter().map(|row| picks.iter().map(|at| row[*at].clone()).collect()).collect();
                    batch = batch.project(&picks);
                }
                _ => {
                    batch = batch.flatten();
                    assert!((0..width).all(|at| batch.column(at).rows().is_none()));
                }
            }
        }
    }
}

#[test]
fn a_batch_grows_by_columns() {
    let mut batch = Batch::unit();
    assert_eq!((batch.len(), batch.width(), batch.is_empty()), (1, 0, false));
    batch.push([Value::from(7i64)].into_iter().collect());
    let other = Batch::from_rows(1, &[vec!["a".into()], vec!["b".into()]]).select(vec![1]);
    batch.push_carried(other.column(0).clone());
    assert_eq!(batch.width(), 2);
    assert_eq!((batch.get(0, 0).as_int(), batch.get(0, 1).as_str()), (Some(7), Some("b")));
    assert_eq!(Batch::default().len(), 0);
}

#[test]
fn a_constant_is_in_every_row() {
    let mut random = Random(9);
    for form in 0..FORMS {
        let one = value(form, &mut random);
        let column = Column::Constant(one.clone(), 3);
        holds(&column, &[one.clone(), one.clone(), one.clone()]);
        holds(&column.gather(&[2, 0]), &[one.clone(), one.clone()]);
    }
    holds(&Column::Constant(Value::Null, 2), &[Value::Null, Value::Null]);
}

/// Longer texts are kept as values of their own, whatever was pushed before them and by which way.
#[test]
fn texts_about_the_longest_that_a_buffer_takes() {
    for length in [LONG_TEXT_BYTES - 1, LONG_TEXT_BYTES, LONG_TEXT_BYTES + 1] {
        let text = "x".repeat(length);
        for before in [None, Some("short")] {
            for by_text in [true, false] {
                let mut builder = ColumnBuilder::new();
                before.iter().for_each(|before| builder.push_text(before));
                match by_text {
                    true => builder.push_text(&text),
                    false => builder.push(Value::string(text.as_str())),
                }
                let column = builder.finish();
                assert_eq!(
                    matches!(column, Column::Text(..)),
                    length <= LONG_TEXT_BYTES,
                    "{length} {before:?}"
                );
                assert_eq!(column.get(column.len() - 1).as_str(), Some(&*text));
            }
        }
    }
    let Column::Text(texts, _) = ["a"].into_iter().map(Value::from).collect::<Column>() else {
        unreachable!("short texts are kept together")
    };
    assert!(!texts.is_empty() && Texts::default().is_empty());
}

#[test]
fn texts_and_nulls_show_what_they_are_made_of() {
    let mut texts = Texts::default();
    assert_eq!(texts.parts(), ("", &[][..]));
    ["a", "", "bcd"].iter().for_each(|text| texts.push(text));
    assert_eq!(texts.parts(), ("abcd", &[1, 1, 4][..]));
    let mut nulls = Nulls::none();
    assert!(nulls.words().is_empty());
    [0, 65].iter().for_each(|row| nulls.set(*row));
    assert_eq!(nulls.words(), [1, 2]);
}
