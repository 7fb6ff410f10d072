//! SeekVertices: the vertices that a property index has for given values.
//!
//! One look-up a row (an index nested loop), or once at a leaf. What an index finds is exact, so nothing is tested again.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::expression::{Compiled, Layout};
use crate::liveness::VarSet;
use crate::reads::EntityReads;
use crate::stream::Stream;
use crate::turn::{Here, Progress, Try, Turn};
use model::compare::GroupKey;
use model::schema::{IndexId, SchemaTarget};
use model::{Batch, Column, Nulls, Value, VertexId};
use plan::Expr;
use plan::algebra::Seek;
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use store::{IndexRange, Snapshot};

/// Vertices taken from a range in one slice of work.
const VERTICES_PER_SLICE_MAX: usize = 1_024;

/// What is looked up, compiled.
pub(crate) enum Lookup {
    Equal(Vec<Compiled>),
    In(Compiled),
    Range(Option<(Compiled, bool)>, Option<(Compiled, bool)>),
    Prefix(Compiled),
}

/// What is still to come of a row.
enum Found {
    Nothing,
    /// Vertices, last first.
    List(Vec<VertexId>),
    Range(Box<IndexRange>),
}

struct Seeking {
    index: IndexId,
    lookup: Lookup,
    reads: EntityReads,
    keep: bool,
}

struct SeekVertices {
    plan: Arc<Seeking>,
    vertices: Vec<VertexId>,
}

impl Seeking {
    fn look_up(&self, batch: &Batch, row: usize, here: &mut Here) -> Try<Found> {
        let snapshot = here.snapshot().clone();
        let mut value = |expression: &Compiled| expression.evaluate_row(batch, row, &here.scope());
        match &self.lookup {
            Lookup::Equal(keys) => {
                let values = keys.iter().map(&mut value).collect::<Result<Vec<Value>, _>>()?;
                here.environment.record(|reads| reads.index_equal(self.index, &values[0]));
                let mut list = snapshot.seek(self.index, &values)?;
                list.reverse();
                Ok(Found::List(list))
            }
            Lookup::In(list) => {
                let Value::List(values) = value(list)? else { return Ok(Found::Nothing) };
                self.look_up_each(&values, &snapshot, here)
            }
            Lookup::Range(lower, upper) => {
                let mut bound = |end: &Option<(Compiled, bool)>| match end {
                    None => Ok(Bound::Unbounded),
                    Some((expression, true)) => value(expression).map(Bound::Included),
                    Some((expression, false)) => value(expression).map(Bound::Excluded),
                };
                let (lower, upper) = (bound(lower)?, bound(upper)?);
                self.range(lower, upper, &snapshot, here)
            }
            Lookup::Prefix(prefix) => {
                let prefix = value(prefix)?;
                let Some(text) = prefix.as_str() else { return Ok(Found::Nothing) };
                let upper =
                    text_after(text).map_or(Bound::Unbounded, |text| Bound::Excluded(Value::string(text)));
                self.range(Bound::Included(prefix.clone()), upper, &snapshot, here)
            }
        }
    }

    fn look_up_each(&self, values: &[Value], snapshot: &Snapshot, here: &mut Here) -> Try<Found> {
        let mut seen: HashSet<GroupKey, foldhash::fast::FixedState> = HashSet::default();
        let mut all = Vec::new();
        for value in values {
            if seen.insert(GroupKey(value.clone())) {
                here.environment.record(|reads| reads.index_equal(self.index, value));
                all.extend(snapshot.seek(self.index, std::slice::from_ref(value))?);
            }
        }
        all.reverse();
        Ok(Found::List(all))
    }

    fn range(
        &self,
        lower: Bound<Value>,
        upper: Bound<Value>,
        snapshot: &Snapshot,
        here: &mut Here,
    ) -> Try<Found> {
        let is_null = |bound: &Bound<Value>| {
            matches!(bound, Bound::Included(Value::Null) | Bound::Excluded(Value::Null))
        };
        if is_null(&lower) || is_null(&upper) {
            return Ok(Found::Nothing);
        }
        here.environment.record(|reads| reads.index_range(self.index, lower.clone(), upper.clone()));
        Ok(Found::Range(Box::new(snapshot.seek_range(self.index, lower.as_ref(), upper.as_ref())?)))
    }
}

/// The smallest text behind all that start with `prefix`, in the order of their bytes; none if there is none.
pub(crate) fn text_after(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        let next = ((last as u32 + 1)..=char::MAX as u32).find_map(char::from_u32);
        if let Some(next) = next {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}

impl Draw for SeekVertices {
    type Cursor = Found;

    fn begin(&mut self, batch: &Batch, here: &mut Here) -> Try<()> {
        self.plan.reads.record(batch, here);
        Ok(())
    }
    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Found> {
        self.plan.look_up(batch, row, turn.here)
    }
    fn draw(&mut self, found: &mut Found, room: usize, _: &mut Turn<'_, '_>) -> Try<(usize, Progress)> {
        let room = room.min(VERTICES_PER_SLICE_MAX);
        let before = self.vertices.len();
        let more = match found {
            Found::Nothing => false,
            Found::List(list) => {
                let from = list.len() - list.len().min(room);
                self.vertices.extend(list.drain(from..).rev());
                !list.is_empty()
            }
            Found::Range(range) => {
                for vertex in range.by_ref().take(room) {
                    self.vertices.push(vertex?);
                }
                self.vertices.len() - before == room
            }
        };
        Ok((self.vertices.len() - before, if more { Progress::More } else { Progress::Done }))
    }
    fn columns(&mut self) -> Vec<Column> {
        let vertices = std::mem::take(&mut self.vertices);
        if self.plan.keep { vec![Column::Vertex(vertices, Nulls::none())] } else { Vec::new() }
    }
}

pub(crate) fn expressions(seek: &Seek) -> Vec<&Expr> {
    match seek {
        Seek::Equal(values) => values.iter().collect(),
        Seek::In(value) | Seek::Prefix(value) => vec![value],
        Seek::Range(lower, upper) => lower.iter().chain(upper).map(|(value, _)| value).collect(),
    }
}

pub(crate) fn lookup(compiler: &Compiler, seek: &Seek, layout: &Layout) -> Result<Lookup, ExecuteError> {
    let bound = |end: &Option<(Expr, bool)>| {
        end.as_ref()
            .map(|(value, included)| Ok::<_, ExecuteError>((compiler.expression(value, layout)?, *included)))
            .transpose()
    };
    Ok(match seek {
        Seek::Equal(values) => {
            let values = values.iter().map(|value| compiler.expression(value, layout));
            Lookup::Equal(values.collect::<Result<_, _>>()?)
        }
        Seek::In(list) => Lookup::In(compiler.expression(list, layout)?),
        Seek::Prefix(prefix) => Lookup::Prefix(compiler.expression(prefix, layout)?),
        Seek::Range(lower, upper) => Lookup::Range(bound(lower)?, bound(upper)?),
    })
}

fn index(compiler: &Compiler, node: &plan::algebra::SeekVertices) -> Result<IndexId, ExecuteError> {
    let catalog = compiler.snapshot.catalog();
    let keys: Option<Vec<_>> = node.keys.iter().map(|key| catalog.key(key)).collect();
    let label = catalog.label(&node.label);
    let found =
        label.zip(keys).and_then(|(label, keys)| catalog.index_for(SchemaTarget::Vertices(label), &keys));
    let missing = || format!("there is no index on :{}({})", node.label, node.keys.join(", "));
    found.ok_or_else(|| ExecuteError::Plan(missing()))
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::SeekVertices,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let below = required.clone().without([node.vertex]).reading(expressions(&node.seek));
    let feed = compiler.feed(&node.input, &below)?;
    let layout = feed.layout();
    let keep = required.contains(node.vertex);
    let plan = Arc::new(Seeking {
        index: index(compiler, node)?,
        lookup: lookup(compiler, &node.seek, &layout)?,
        reads: EntityReads::of(expressions(&node.seek), &layout),
        keep,
    });
    let make = move || Drawing::new(SeekVertices { plan: plan.clone(), vertices: Vec::new() });
    let new: Vec<_> = keep.then_some(node.vertex).into_iter().collect();
    Ok(compiler.attach_fan_out("SeekVertices", &feed, required, &new, make))
}
