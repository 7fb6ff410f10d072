//! Expressions as text against the values they must have, and the fast paths against their twin.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod aggregates;
mod functions;
mod groups;
mod names;
mod reader;
mod rows;
mod snapshot;
mod tables;
mod town;
mod twin;
mod work;

use super::{EvalError, Layout, Parameters, Request, Scope, compile};
use model::{Batch, Value};
use plan::Expr;
use plan::expr::Constant;
use town::Town;

/// Wall time of the tests: 2026-11-21T00:00:00Z.
const WALL_US: i64 = 1_795_219_200_000_000;

/// The value of an expression without variables.
fn value_of(expr: &Expr) -> Result<Value, EvalError> {
    let request = Request::fixed(parameters(), WALL_US, 7);
    let town = Town::new();
    let scope = Scope::new(&town, &request);
    let compiled = compile(expr, &Layout::default(), &town, &request.parameters)?;
    compiled.evaluate_row(&Batch::unit(), 0, &scope)
}

fn parameters() -> Parameters {
    let list = Value::list(vec![1.into(), 2.into(), 3.into()]);
    [("one", Value::Int(1)), ("list", list), ("nothing", Value::Null), ("name", "Ann".into())]
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect()
}

/// Each line is `expression => expected`; what is expected is an expression too, or `error` and a part of the message or code.
#[track_caller]
fn check(table: &str) {
    let mut failures = Vec::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (text, expected) = line.split_once(" => ").expect("a line of the table has an arrow");
        if let Err(failure) = check_one(text, expected.trim()) {
            failures.push(failure);
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn check_one(text: &str, expected: &str) -> Result<(), String> {
    let found = reader::read(text).map_err(|error| format!("{text}: {error}")).map(|expr| value_of(&expr))?;
    if let Some(part) = expected.strip_prefix("error") {
        return match found {
            Err(error) if error.message.contains(part.trim()) || error.code().ends_with(part.trim()) => {
                Ok(())
            }
            found => Err(format!("{text} gave {found:?}, not an error with {part}")),
        };
    }
    let expected = reader::read(expected).map_err(|error| format!("{expected}: {error}"))?;
    let expected = value_of(&expected).map_err(|error| format!("{text}: expected side fails: {error}"))?;
    match found {
        Ok(found) if Constant(found.clone()) == Constant(expected.clone()) => Ok(()),
        found => Err(format!("{text} gave {found:?}, not {expected:?}")),
    }
}
