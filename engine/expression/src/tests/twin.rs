//! Random expressions over random batches: the fast paths must answer as the interpreter does, row by row.

use super::town::{PEOPLE, Town, edge};
use super::{WALL_US, parameters};
use crate::{Layout, Request, Scope, compile};
use model::{Batch, Column, Value, VertexId};
use plan::expr::{BinaryOperator as B, Constant, LabelExpr, UnaryOperator as U};
use plan::{Expr, Function, Var};
use world::chance::Chance;

/// Random cases a run; a run takes about a second.
const CASES: usize = 6_000;

/// Columns: integers, floats, texts, truth values, vertices, edges, anything.
const WIDTH: u32 = 7;
/// Behind them a column of lists, of which rows share some, each in a place of its own.
const LISTS: u32 = WIDTH;

fn random_value(column: u32, chance: &mut Chance) -> Value {
    if chance.happens(0.12) {
        return Value::Null;
    }
    match column {
        // Around 2^53 integers and floats part.
        0 => *chance.choose(&[0, 1, 2, 3, -1, 7, i64::MAX, i64::MIN, (1 << 53) + 1, -(1 << 53)]).unwrap(),
        1 => {
            let floats = [0.0, 1.0, 2.5, -1.0, f64::NAN, f64::INFINITY, 9_007_199_254_740_992.0, 2.0];
            return floats[chance.index(floats.len())].into();
        }
        2 => return ["", "a", "Ann", "Bo", "Cy", "Anna"][chance.index(6)].into(),
        3 => return chance.happens(0.5).into(),
        4 => return VertexId(chance.below(PEOPLE)).into(),
        5 => return edge(chance.below(6)).into(),
        _ => {
            let column = chance.below(6) as u32;
            return random_value(column, chance);
        }
    }
    .into()
}

/// A batch with row maps: some columns are carried through one or two selections.
fn random_batch(chance: &mut Chance) -> Batch {
    let rows = 1 + chance.index(12);
    let column = |which: u32, chance: &mut Chance| -> Column {
        if chance.happens(0.1) {
            return Column::Constant(random_value(which, chance), rows);
        }
        // Columns without a null have loops of their own.
        let has_nulls = chance.happens(0.6);
        let value = |chance: &mut Chance| loop {
            let value = random_value(which, chance);
            if has_nulls || !value.is_null() {
                return value;
            }
        };
        (0..rows).map(|_| value(chance)).collect()
    };
    let mut columns: Vec<Column> = (0..WIDTH).map(|which| column(which, chance)).collect();
    let lists: Vec<Value> = (0..1 + chance.index(2))
        .map(|_| {
            let which = chance.below(u64::from(WIDTH)) as u32;
            Value::list((0..chance.index(20)).map(|_| random_value(which, chance)).collect())
        })
        .collect();
    columns.push((0..rows).map(|_| chance.choose(&lists).unwrap().clone()).collect());
    let mut batch = Batch::new(columns, rows);
    for _ in 0..chance.below(3) {
        let picks = (0..1 + chance.index(12)).map(|_| chance.index(batch.len()) as u32).collect();
        batch = batch.select(picks);
    }
    if chance.happens(0.1) {
        // As behind an expand, each row comes several times.
        let repeated = (0..batch.len() as u32).flat_map(|row| std::iter::repeat_n(row, 40 / rows + 1));
        batch = batch.select(repeated.collect());
    }
    batch
}

fn random_leaf(chance: &mut Chance) -> Expr {
    let which = chance.below(u64::from(WIDTH)) as u32;
    match chance.below(3) {
        0 => Expr::literal(random_value([0, 1, 2, 3][chance.index(4)], chance)),
        _ => Expr::Variable(Var(which)),
    }
}

/// An operator between two operands of one type, or of two types of numbers: what has a loop of its own.
fn random_pair(chance: &mut Chance) -> Expr {
    const COMPARE: [B; 6] = [B::Equal, B::NotEqual, B::Less, B::LessEqual, B::Greater, B::GreaterEqual];
    const TEXTS: [B; 3] = [B::StartsWith, B::EndsWith, B::Contains];
    const NUMBERS: [B; 5] = [B::Add, B::Subtract, B::Multiply, B::Divide, B::Modulo];
    let kind = chance.below(6) as u32;
    let leaf = |chance: &mut Chance| {
        let kind = if kind < 2 { chance.below(2) as u32 } else { kind };
        match chance.below(3) {
            0 if kind < 4 => Expr::literal(random_value(kind, chance)),
            _ => Expr::Variable(Var(kind)),
        }
    };
    let all = [&COMPARE[..], [&NUMBERS[..], &NUMBERS, &TEXTS, &COMPARE, &COMPARE, &COMPARE][kind as usize]]
        .concat();
    let operator = all[chance.index(all.len())];
    Expr::Binary(operator, Box::new(leaf(chance)), Box::new(leaf(chance)))
}

/// What an argument of a call is that has a column of its own, or is computed into one.
fn random_argument(chance: &mut Chance) -> Expr {
    match chance.below(4) {
        0 => Expr::property(
            Var(4 + chance.below(2) as u32),
            ["name", "age", "weight", "since"][chance.index(4)],
        ),
        1 => Expr::binary(B::Multiply, Expr::Variable(Var(chance.below(2) as u32)), Expr::literal(2)),
        _ => random_leaf(chance),
    }
}

fn random_call(chance: &mut Chance) -> Expr {
    use Function as F;
    const ONE: [F; 9] = [
        F::Abs,
        F::Sign,
        F::ToUpper,
        F::ToIntegerOrNull,
        F::Id,
        F::Type,
        F::Keys,
        F::Trim,
        F::ToBooleanOrNull,
    ];
    const TWO: [F; 3] = [F::Split, F::Right, F::Coalesce];
    match chance.happens(0.7) {
        true => Expr::Call(ONE[chance.index(ONE.len())], vec![random_argument(chance)]),
        false => {
            Expr::Call(TWO[chance.index(TWO.len())], vec![random_argument(chance), random_argument(chance)])
        }
    }
}

/// An instant of its fields, right and wrong ones; some given twice.
fn random_instant(chance: &mut Chance) -> Expr {
    use Function as F;
    const KINDS: [F; 4] = [F::Date, F::LocalDateTime, F::DateTime, F::LocalTime];
    const FIELDS: [&str; 8] =
        ["year", "month", "day", "epochMillis", "epochSeconds", "hour", "timezone", "unheard"];
    if chance.happens(0.2) {
        return Expr::Call(F::DateTimeFromEpochMillis, vec![random_argument(chance)]);
    }
    let (kind, first) = match chance.below(3) {
        0 => (F::DateTime, "epochMillis"),
        1 => (KINDS[chance.index(KINDS.len())], "year"),
        _ => (KINDS[chance.index(KINDS.len())], FIELDS[chance.index(FIELDS.len())]),
    };
    let value = |chance: &mut Chance| match chance.happens(0.7) {
        true => Expr::literal(1 + chance.below(12) as i64),
        false => random_argument(chance),
    };
    let mut fields = vec![(first.into(), value(chance))];
    for _ in 0..chance.below(3) {
        fields.push((FIELDS[chance.index(FIELDS.len())].into(), value(chance)));
    }
    Expr::Call(kind, vec![Expr::Map(fields)])
}

fn random_expr(depth: u32, chance: &mut Chance) -> Expr {
    const OPERATORS: [B; 18] = [
        B::Or,
        B::Xor,
        B::And,
        B::Equal,
        B::NotEqual,
        B::Less,
        B::LessEqual,
        B::Greater,
        B::GreaterEqual,
        B::StartsWith,
        B::EndsWith,
        B::Contains,
        B::Add,
        B::Subtract,
        B::Multiply,
        B::Divide,
        B::Modulo,
        B::In,
    ];
    const COMPARISONS: [B; 6] = [B::Equal, B::NotEqual, B::Less, B::LessEqual, B::Greater, B::StartsWith];
    if depth == 0 {
        return random_leaf(chance);
    }
    let boxed = |chance: &mut Chance| Box::new(random_expr(depth - 1, chance));
    match chance.below(20) {
        18 => random_call(chance),
        19 => Expr::Property(Box::new(random_instant(chance)), {
            ["year", "month", "day", "hour", "epochMillis", "unheard"][chance.index(6)].into()
        }),
        17 => Expr::Binary(B::In, Box::new(random_leaf(chance)), Box::new(Expr::Variable(Var(LISTS)))),
        14 => Expr::Case {
            operand: None,
            arms: (0..1 + chance.below(2))
                .map(|_| (random_pair(chance), random_expr(depth - 1, chance)))
                .collect(),
            otherwise: chance.happens(0.5).then(|| boxed(chance)),
        },
        15 => {
            let text = if chance.happens(0.8) { Expr::Variable(Var(2)) } else { random_leaf(chance) };
            let number = |chance: &mut Chance| match chance.happens(0.8) {
                true => Expr::literal(chance.below(4) as i64),
                false => Expr::Variable(Var(0)),
            };
            match chance.below(4) {
                0 => Expr::Call(Function::Substring, vec![text, number(chance), number(chance)]),
                1 => Expr::Call(Function::Substring, vec![text, number(chance)]),
                2 => Expr::Call(Function::Left, vec![text, number(chance)]),
                _ => Expr::Call(Function::Size, vec![text]),
            }
        }
        12 => Expr::Call(Function::ToStringOrNull, vec![random_expr(depth - 1, chance)]),
        10 | 11 => random_pair(chance),
        0 => {
            let key = ["name", "age", "weight", "since", "unheard"][chance.index(5)];
            Expr::property(Var(4 + chance.below(2) as u32), key)
        }
        1 => {
            let label = ["Person", "Student", "KNOWS", "Unheard"][chance.index(4)];
            let labels = LabelExpr::Has(label.into());
            let labels = if chance.happens(0.5) { LabelExpr::Not(Box::new(labels)) } else { labels };
            Expr::HasLabels(Box::new(Expr::Variable(Var(4 + chance.below(2) as u32))), labels)
        }
        2 => {
            let operator = [U::Not, U::IsNull, U::IsNotNull, U::Negate][chance.index(4)];
            Expr::Unary(operator, boxed(chance))
        }
        3 => {
            let (alike, kind) = (chance.happens(0.6), chance.below(3) as u32);
            let elements = (0..chance.below(5)).map(|_| {
                let which = if alike { kind } else { chance.below(3) as u32 };
                Expr::literal(random_value(which, chance))
            });
            let list = Expr::List(elements.collect());
            Expr::binary(B::In, random_expr(depth - 1, chance), list)
        }
        4 => Expr::EdgesDistinct(vec![Var(5), Var(5)]),
        5 => Expr::Call(Function::Coalesce, vec![random_leaf(chance), random_leaf(chance)]),
        6 => {
            let key = ["name", "age", "weight", "since"][chance.index(4)];
            let which = chance.below(3) as u32;
            let constant = Expr::literal(random_value(which, chance));
            let operator = COMPARISONS[chance.index(COMPARISONS.len())];
            Expr::binary(operator, Expr::property(Var(4 + chance.below(2) as u32), key), constant)
        }
        _ => {
            let operator = OPERATORS[chance.index(OPERATORS.len())];
            Expr::Binary(operator, boxed(chance), boxed(chance))
        }
    }
}

#[test]
fn fast_paths_agree_with_the_interpreter() {
    let seed =
        std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(Chance::system_seed);
    println!("SEED={seed}");
    let mut chance = Chance::seeded(seed);
    let town = Town::new();
    let request = Request::fixed(parameters(), WALL_US, seed);
    let scope = Scope::new(&town, &request);
    let layout = Layout::new(&(0..=LISTS).map(Var).collect::<Vec<_>>());
    let (mut evaluated, mut failed) = (0, 0);
    for case in 0..CASES {
        let batch = random_batch(&mut chance);
        let depth = 1 + chance.below(3) as u32;
        let expr = random_expr(depth, &mut chance);
        let compiled = compile(&expr, &layout, &town, &request.parameters).unwrap();
        let context = format!("SEED={seed} case {case}: {expr:?}");
        let (fast, slow) = (compiled.evaluate(&batch, &scope), compiled.evaluate_slowly(&batch, &scope));
        let Ok(slow) = slow else {
            assert!(fast.is_err(), "{context}: only the interpreter fails");
            failed += 1;
            continue;
        };
        let fast = fast.unwrap_or_else(|error| panic!("{context}: only the fast path fails: {error}"));
        assert_eq!(fast.len(), batch.len(), "{context}");
        for row in 0..batch.len() {
            let (fast, slow) = (fast.get(row), slow.get(row));
            assert_eq!(Constant(fast), Constant(slow), "{context} row {row}");
        }
        let carried = compiled.evaluate_carried(&batch, &scope).unwrap();
        for row in 0..batch.len() {
            assert_eq!(Constant(carried.get(row)), Constant(slow.get(row)), "{context} row {row}, carried");
        }
        let is_predicate = (0..batch.len()).all(|row| matches!(slow.get(row), Value::Bool(_) | Value::Null));
        if is_predicate {
            let mut selected = Vec::new();
            compiled.select(&batch, &scope, &mut selected).unwrap();
            let expected: Vec<u32> = (0..batch.len() as u32)
                .filter(|row| slow.get(*row as usize).as_bool() == Some(true))
                .collect();
            assert_eq!(selected, expected, "{context}");
        }
        evaluated += 1;
    }
    println!("{evaluated} evaluated, {failed} failed alike");
    assert!(evaluated > CASES / 4 && failed > CASES / 50, "the generator lost its balance");
}
