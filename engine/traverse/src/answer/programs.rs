//! Node programs that `call` runs: parameters as values, rows as objects.

use super::stored_value;
use crate::error::{Outcome, TraverseError};
use execute::watch::LoopBytes;
use execute::{CacheAccess, ProgramWalk};
use gremlin::Object;
use model::{Value, VertexId};
use std::sync::Arc;
use store::Snapshot;
use transact::Transaction;

/// The parameter by which a call says that its result may be cached. Programs do not see it.
const CACHED: &str = "~cached";

fn failed(error: &execute::ExecuteError) -> TraverseError {
    TraverseError::Graph {
        code: error.code().into(),
        message: error.to_string(),
        hint: error.hint(),
        retryable: error.is_retryable(),
    }
}

/// A parameter: maps and vertices are themselves, where a property has neither.
fn value(object: &Object) -> Option<Value> {
    match object {
        Object::Vertex(vertex) => Some(Value::Vertex(*vertex)),
        Object::List(elements) => Value::try_list(elements.iter().map(value).collect::<Option<_>>()?).ok(),
        Object::Map(pairs) => map(pairs),
        other => stored_value::to_value(other),
    }
}

fn map(pairs: &[(Object, Object)]) -> Option<Value> {
    // The first of a name counts.
    let entry = |(key, given): &(Object, Object)| Some((key.as_str()?.to_string(), value(given)?));
    Value::try_map(pairs.iter().rev().map(entry).collect::<Option<Vec<_>>>()?).ok()
}

/// Runs a program to its end; `pause` says between two pieces of work whether it may go on.
pub(super) fn run(
    view: &Snapshot,
    (transaction, cache): (Option<&Arc<Transaction>>, Option<&CacheAccess>),
    (name, start, parameters): (&str, Option<VertexId>, &[(Object, Object)]),
    each: &mut dyn FnMut(VertexId, Object) -> Outcome<()>,
    pause: &dyn Fn() -> Outcome<()>,
) -> Outcome<()> {
    let is_option = |(key, _): &&(Object, Object)| key.as_str() == Some(CACHED);
    // The first of a name counts.
    let is_cached = match parameters.iter().find(is_option) {
        None => false,
        Some((_, Object::Bool(is_cached))) => *is_cached,
        Some(_) => return Err(TraverseError::step("call", "`~cached` is true or false")),
    };
    let parameters: Vec<_> = parameters.iter().filter(|named| !is_option(named)).cloned().collect();
    let Some(parameters) = map(&parameters) else {
        return Err(TraverseError::step("call", "parameters of a program are names and values"));
    };
    let start = start.map_or(Value::Null, Value::Vertex);
    let (called, cache) = ((name, &start, &parameters), cache.filter(|_| is_cached));
    let walk = ProgramWalk::open(called, view, transaction, cache);
    let mut walk = walk.map_err(|error| failed(&error))?;
    let (mut held, mut found) = (LoopBytes::default(), Vec::new());
    loop {
        let goes_on = walk.step(&mut found).map_err(|error| failed(&error))?;
        pause()?;
        let is_enough = held.set(walk.bytes() as u64);
        is_enough.map_err(|stopped| TraverseError::Limit(stopped.to_string()))?;
        for (vertex, value) in found.drain(..) {
            each(vertex, stored_value::to_object(&value))?;
        }
        if !goes_on {
            return Ok(());
        }
    }
}
