//! SeekEdges: the edges that a property index has for given values, with their ends.
//!
//! One look-up a row (an index nested loop), or once at a leaf, as `SeekVertices` does it.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::operator::index_lookup::{Found, Lookup, lookup};
use crate::stream::{Feed, Stream};
use crate::turn::{Progress, Try, Turn};
use model::schema::{IndexId, SchemaTarget};
use model::{Batch, Column, Direction, EdgeRef, Nulls, VertexId};
use plan::VarSet;
use plan::algebra;
use std::sync::Arc;

/// Edges taken from a range in one slice of work.
const EDGES_PER_SLICE_MAX: usize = 1_024;

struct Seeking {
    index: IndexId,
    lookup: Lookup,
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
    type Cursor = Found<EdgeRef>;

    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Found<EdgeRef>> {
        self.plan.lookup.find(self.plan.index, batch, row, turn.execution)
    }
    fn draw(
        &mut self,
        found: &mut Found<EdgeRef>,
        room: usize,
        _: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)> {
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
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let made = [node.edge, node.from, node.to];
    let layout = feed.layout();
    let keep = made.map(|variable| required.contains(variable));
    let plan = Arc::new(Seeking {
        index: index(compiler, node)?,
        lookup: lookup(compiler, &node.seek, &layout)?,
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
