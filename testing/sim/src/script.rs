//! Golden scripts: sessions in Cypher, interleaved line by line, with the outcome that each line must have.
//!
//! ```text
//!   # what the script shows
//!   setup  CREATE (:Person {id: 1, n: 0})
//!   T1     begin
//!   T1     MATCH (p:Person {id: 1}) SET p.n = 1
//!   T2     MATCH (p:Person {id: 1}) RETURN p.n            ==> [0]
//!   T1     commit
//!   T2     MATCH (p:Person {id: 1}) RETURN p.n            ==> [1]
//! ```
//!
//! The first word names the session. A step is `begin`, `begin read`, `commit`, `rollback` or a statement. Behind ` ==> ` stands the outcome:
//! rows in order as `[1, 'x'], [2]`, `nothing` for none, `ok` for whatever succeeds, `conflict` for a failure that may be
//! tried again, or the last part of any other error's code. Without it the step must succeed. Lines that begin with `#` speak to
//! people.

use database::{Database, Error, MEMORY, Mode, Options, Params, Session, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One line of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Line number, from 1.
    pub line: usize,
    /// Who does it.
    pub session: String,
    /// The text of the step.
    pub text: String,
    /// The expected outcome.
    pub expected: String,
}

/// Reads a script.
///
/// # Errors
/// A line with a session and nothing to do.
pub fn parse(script: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for (at, line) in script.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (session, rest) = line
            .split_once(char::is_whitespace)
            .ok_or_else(|| format!("line {}: a step needs a session and something to do", at + 1))?;
        let (text, expected) = rest.split_once(" ==> ").unwrap_or((rest, "ok"));
        let [session, text, expected] = [session, text, expected].map(|part| part.trim().to_string());
        steps.push(Step { line: at + 1, session, text, expected });
    }
    Ok(steps)
}

/// Runs a script on a database of its own, and reports the first step with another outcome.
///
/// # Errors
/// That step, the expected outcome, and the actual one.
pub fn run(script: &str) -> Result<usize, String> {
    let options = Options { executors: Some(2), ..Options::default() };
    let database = Database::open(MEMORY, options).map_err(|error| error.to_string())?;
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    let steps = parse(script)?;
    for step in &steps {
        let session = sessions.entry(step.session.clone()).or_insert_with(|| database.session());
        let outcome = outcome(session, &step.text);
        let told = match &outcome {
            Ok(rows) if step.expected == "ok" || rows == &step.expected => continue,
            Ok(rows) => rows.clone(),
            Err(error) if is_named(error, &step.expected) => continue,
            Err(error) => format!("{}: {error}", error.code),
        };
        let Step { line, session, text, expected } = step;
        return Err(format!("line {line}: {session}  {text}\n  expected {expected}\n  got      {told}"));
    }
    Ok(steps.len())
}

fn is_named(error: &Error, expected: &str) -> bool {
    match expected {
        "conflict" => error.retryable,
        name => error.code.rsplit('.').next() == Some(name),
    }
}

fn outcome(session: &mut Session, text: &str) -> Result<String, Error> {
    match text {
        "begin" => session.begin(Mode::Write).map(|()| String::new()),
        "begin read" => session.begin(Mode::Read).map(|()| String::new()),
        "commit" => session.commit().map(|_| String::new()),
        "rollback" => session.rollback().map(|()| String::new()),
        statement => Ok(rendered(&session.query(statement, Params::new())?.rows()?)),
    }
}

fn rendered(rows: &[Vec<Value>]) -> String {
    if rows.is_empty() {
        return "nothing".into();
    }
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { ", " });
        list(row, &mut text);
    }
    text
}

fn list(values: &[Value], text: &mut String) {
    text.push('[');
    for (at, value) in values.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { ", " });
        match value {
            Value::Null => text.push_str("null"),
            Value::String(string) => write!(text, "'{string}'").expect("strings take all text"),
            Value::List(items) => list(items, text),
            Value::Int(number) => write!(text, "{number}").expect("strings take all text"),
            Value::Bool(truth) => write!(text, "{truth}").expect("strings take all text"),
            other => write!(text, "{}", other.value_type().name()).expect("strings take all text"),
        }
    }
    text.push(']');
}
