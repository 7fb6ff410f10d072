//! Shared by all writing operators: they run on one executor, see all their input before the first change, work row by row, and make their writes
//! visible before they emit.
//!
//! A row reads the writes of earlier rows of the same clause. The view is not refreshed for every row, though, but only when a row is about to read
//! an entity that was changed since ([`Dirty`]).

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::limits::WRITES_PER_LOOK;
use crate::stream::{Feed, Stream};
use crate::turn::{Breaker, Breaking, ExecutionContext, Progress, Try, Turn};
use dataflow::VertexOptions;
use expression::{Compiled, EvalError, Layout, Scope};
use model::{Batch, Column, KeyId, Value, ValueType};
use std::collections::VecDeque;
use transact::Transaction;

mod dirty;

pub(crate) use dirty::Dirty;

/// A clause that changes the graph row by row.
pub(crate) trait RowWriter: Send {
    /// Works one row off.
    fn write(&mut self, batch: &Batch, row: usize, execution: &mut ExecutionContext) -> Try<()>;
    /// The new columns of the rows since the last call: called at the end of each batch.
    fn columns(&mut self) -> Vec<Column> {
        Vec::new()
    }
    /// After the last row: a slice of deferred work.
    fn finish(&mut self, execution: &mut ExecutionContext) -> Try<Progress> {
        let _ = execution;
        Ok(Progress::Done)
    }
}

/// Runs a [`RowWriter`].
pub(crate) struct Writing<W> {
    writer: W,
    input: VecDeque<Batch>,
    row: usize,
    output: VecDeque<Batch>,
    shown: bool,
    /// Nothing stands above that could look.
    is_topmost: bool,
}

impl<W: RowWriter> Writing<W> {
    fn work(&mut self, execution: &mut ExecutionContext) -> Try<bool> {
        let Some(batch) = self.input.front() else { return Ok(false) };
        let end = batch.len().min(self.row + WRITES_PER_LOOK);
        for row in self.row..end {
            self.writer.write(batch, row, execution)?;
        }
        self.row = end;
        if end == batch.len() {
            let mut batch = self.input.pop_front().expect("looked at above");
            self.writer.columns().into_iter().for_each(|column| batch.push(column));
            self.output.push_back(batch);
            self.row = 0;
        }
        Ok(true)
    }
}

impl<W: RowWriter> Breaker for Writing<W> {
    fn take(&mut self, _: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        let batch = batch.flatten();
        turn.context.charge(batch.bytes())?;
        self.input.push_back(batch);
        Ok(())
    }
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        if self.work(turn.execution)? {
            return Ok(Progress::More);
        }
        if !self.shown {
            if self.writer.finish(turn.execution)? == Progress::Done {
                // A commit that comes next applies and checks the changes once more.
                if !(self.is_topmost && turn.execution.environment.transaction()?.commits_next()) {
                    turn.execution.refresh()?;
                }
                self.shown = true;
            }
            return Ok(Progress::More);
        }
        match self.output.pop_front() {
            Some(batch) => {
                turn.emit(batch);
                Ok(Progress::More)
            }
            None => Ok(Progress::Done),
        }
    }
}

/// Puts a writer behind a stream; `new` are the columns it adds.
pub(crate) fn attach<W, F>(
    compiler: &mut Compiler,
    name: &str,
    feed: Feed,
    layout: Layout,
    make: F,
) -> Result<Stream, ExecuteError>
where
    W: RowWriter + 'static,
    F: Fn() -> W + Send + Sync + 'static,
{
    compiler.transaction()?;
    let input = match feed {
        Feed::Rows(stream) => stream,
        Feed::Unit => super::unit::compile(compiler)?,
    };
    let environment = compiler.environment.clone();
    let is_topmost = compiler.current == 0;
    let options = VertexOptions { must_finish: true, create_if_empty: true, ..compiler.options(1) };
    let vertex = compiler.vertex(name, options, move || {
        let (input, output) = (VecDeque::new(), VecDeque::new());
        let writing = Writing { writer: make(), input, row: 0, output, shown: false, is_topmost };
        Breaking::new(writing, ExecutionContext::new(&environment), 1)
    });
    compiler.gather(&input, vertex, 0);
    Ok(Stream { vertex, output: 0, layout, parallel: false, fans_out: false, ..input })
}

/// A value as a property may store it.
pub(crate) fn storable(value: Value, key: &str) -> Result<Value, ExecuteError> {
    let refuse = |what: &str| Err(ExecuteError::PropertyType(format!("Property `{key}` cannot hold {what}")));
    match &value {
        Value::Map(_) => refuse("a Map"),
        Value::Vertex(_) => refuse("a Node"),
        Value::Edge(_) => refuse("a Relationship"),
        Value::Path(_) => refuse("a Path"),
        Value::List(list) => {
            let kind = |value: &Value| match value.value_type() {
                ValueType::Float => ValueType::Int,
                other => other,
            };
            let scalar = |value: &Value| {
                !matches!(
                    value,
                    Value::Null
                        | Value::List(_)
                        | Value::Map(_)
                        | Value::Vertex(_)
                        | Value::Edge(_)
                        | Value::Path(_)
                )
            };
            match list.first() {
                Some(first) if list.iter().all(|value| scalar(value) && kind(value) == kind(first)) => {
                    Ok(value)
                }
                None => Ok(value),
                _ => refuse("a list that is not of values of one simple type"),
            }
        }
        _ => Ok(value),
    }
}

/// The pairs of an evaluated property map, storable, with key numbers.
pub(crate) fn properties(map: Value, transaction: &Transaction) -> Try<Vec<(KeyId, Value)>> {
    match map {
        Value::Null => Ok(Vec::new()),
        Value::Map(map) => {
            let mut pairs = Vec::with_capacity(map.len());
            for (key, value) in map.iter() {
                pairs.push((transaction.key(key)?, storable(value.clone(), key)?));
            }
            Ok(pairs)
        }
        other => {
            let message = format!("properties must be a Map, but are a {}", other.value_type().name());
            Err(ExecuteError::WrongType(message).into())
        }
    }
}

/// Evaluates a property map for one row.
pub(crate) fn evaluate(
    map: &Option<Compiled>,
    batch: &Batch,
    row: usize,
    scope: &Scope<'_>,
) -> Result<Value, EvalError> {
    map.as_ref().map_or(Ok(Value::Null), |map| map.evaluate_row(batch, row, scope))
}
