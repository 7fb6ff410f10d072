//! SeekEdges: the edges that a property index has for given values, with their ends.
//!
//! One look-up a row (an index nested loop), or once at a leaf, as `SeekVertices` does it.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::expression::Compiled;
use crate::liveness::VarSet;
use crate::operator::seek_vertices::{Lookup, expressions, lookup, text_after};
use crate::reads::EntityReads;
use crate::stream::Stream;
use crate::turn::{Here, Progress, Try, Turn};
use model::compare::GroupKey;
use model::schema::{IndexId, SchemaTarget};
use model::{Batch, Column, Direction, EdgeRef, Nulls, Value, VertexId};
use plan::algebra;
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use store::{EdgeRange, Snapshot};

/// Edges taken from a range in one slice of work.
const EDGES_PER_SLICE_MAX: usize = 1_024;

/// What is still to come of a row.
enum Found {
    Nothing,
    /// Edges, last first.
    List(Vec<EdgeRef>),
    Range(Box<EdgeRange>),
}

struct Seeking {
    index: IndexId,
    lookup: Lookup,
    reads: EntityReads,
    direction: Direction,
    /// Are the edge, its left end and its right end read?
    keep: [bool; 3],
}

struct SeekEdges {
    plan: Arc<Seeking>,
    edges: Vec<EdgeRef>,
    from: Vec<VertexId>,
    to: Vec<VertexId>,
}

impl Seeking {
    fn look_up(&self, batch: &Batch, row: usize, here: &mut Here) -> Try<Found> {
        let snapshot = here.snapshot().clone();
        let mut value = |expression: &Compiled| expression.evaluate_row(batch, row, &here.scope());
        match &self.lookup {
            Lookup::Equal(keys) => {
                let values = keys.iter().map(&mut value).collect::<Result<Vec<Value>, _>>()?;
                here.environment.record(|reads| reads.index_equal(self.index, &values[0]));
                let mut list = snapshot.seek_edges(self.index, &values)?;
                list.reverse();
                Ok(Found::List(list))
            }
            Lookup::In(list) => {
                let Value::List(values) = value(list)? else { return Ok(Found::Nothing) };
                let mut seen: HashSet<GroupKey, foldhash::fast::FixedState> = HashSet::default();
                let mut all = Vec::new();
                for value in values.iter().filter(|value| seen.insert(GroupKey((*value).clone()))) {
                    here.environment.record(|reads| reads.index_equal(self.index, value));
                    all.extend(snapshot.seek_edges(self.index, std::slice::from_ref(value))?);
                }
                all.reverse();
                Ok(Found::List(all))
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
        Ok(Found::Range(Box::new(snapshot.seek_edge_range(self.index, lower.as_ref(), upper.as_ref())?)))
    }
}

impl SeekEdges {
    /// Adds the rows of an edge; how many.
    fn push(&mut self, edge: EdgeRef) -> usize {
        let mut row = |from, to| {
            self.edges.push(edge);
            self.from.push(from);
            self.to.push(to);
        };
        let direction = self.plan.direction;
        if direction != Direction::In {
            row(edge.source, edge.target);
        }
        if direction == Direction::In || direction == Direction::Both && edge.source != edge.target {
            row(edge.target, edge.source);
            return 1 + usize::from(direction == Direction::Both);
        }
        1
    }
}

impl Draw for SeekEdges {
    type Cursor = Found;

    fn begin(&mut self, batch: &Batch, here: &mut Here) -> Try<()> {
        self.plan.reads.record(batch, here);
        Ok(())
    }
    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Found> {
        self.plan.look_up(batch, row, turn.here)
    }
    fn draw(&mut self, found: &mut Found, room: usize, _: &mut Turn<'_, '_>) -> Try<(usize, Progress)> {
        // An edge makes up to two rows.
        let wanted = (room / 2).clamp(1, EDGES_PER_SLICE_MAX);
        let (mut rows, mut taken) = (0, 0);
        while taken < wanted {
            let next = match found {
                Found::Nothing => None,
                Found::List(list) => list.pop(),
                Found::Range(range) => range.next().transpose()?,
            };
            let Some(edge) = next else { return Ok((rows, Progress::Done)) };
            rows += self.push(edge);
            taken += 1;
        }
        Ok((rows, Progress::More))
    }
    fn columns(&mut self) -> Vec<Column> {
        let (edges, from, to) =
            (std::mem::take(&mut self.edges), std::mem::take(&mut self.from), std::mem::take(&mut self.to));
        let columns = [
            Column::Edge(edges, Nulls::none()),
            Column::Vertex(from, Nulls::none()),
            Column::Vertex(to, Nulls::none()),
        ];
        columns.into_iter().zip(self.plan.keep).filter_map(|(column, keep)| keep.then_some(column)).collect()
    }
}

fn index(compiler: &Compiler, node: &algebra::SeekEdges) -> Result<IndexId, ExecuteError> {
    let catalog = compiler.snapshot.catalog();
    let keys: Option<Vec<_>> = node.keys.iter().map(|key| catalog.key(key)).collect();
    let target = catalog.edge_type(&node.edge_type).map(SchemaTarget::Edges);
    let found = target.zip(keys).and_then(|(target, keys)| catalog.index_for(target, &keys));
    let missing = || format!("there is no index on -[:{}({})]-", node.edge_type, node.keys.join(", "));
    found.ok_or_else(|| ExecuteError::Plan(missing()))
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &algebra::SeekEdges,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let made = [node.edge, node.from, node.to];
    let below = required.clone().without(made).reading(expressions(&node.seek));
    let feed = compiler.feed(&node.input, &below)?;
    let layout = feed.layout();
    let keep = made.map(|variable| required.contains(variable));
    let plan = Arc::new(Seeking {
        index: index(compiler, node)?,
        lookup: lookup(compiler, &node.seek, &layout)?,
        reads: EntityReads::of(expressions(&node.seek), &layout),
        direction: node.direction,
        keep,
    });
    let make = move || {
        let (edges, from, to) = (Vec::new(), Vec::new(), Vec::new());
        Drawing::new(SeekEdges { plan: plan.clone(), edges, from, to })
    };
    let new: Vec<_> = made.into_iter().zip(keep).filter_map(|(var, keep)| keep.then_some(var)).collect();
    Ok(compiler.attach_fan_out("SeekEdges", &feed, required, &new, make))
}
