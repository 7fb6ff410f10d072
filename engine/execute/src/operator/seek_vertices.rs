//! SeekVertices: the vertices that a property index has for given values.
//!
//! One look-up a row (an index nested loop), or once at a leaf. The results of an index are exact, so nothing is tested again.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::operator::index_lookup::{Found, Lookup, lookup};
use crate::stream::{Feed, Stream};
use crate::turn::{Progress, Try, Turn};
use model::schema::{IndexId, SchemaTarget};
use model::{Batch, Column, Nulls, VertexId};
use plan::VarSet;
use std::sync::Arc;

/// Vertices taken from a range in one slice of work.
const VERTICES_PER_SLICE_MAX: usize = 1_024;

struct Seeking {
    index: IndexId,
    lookup: Lookup,
    keep: bool,
}

struct SeekVertices {
    plan: Arc<Seeking>,
    vertices: Vec<VertexId>,
}

impl Draw for SeekVertices {
    type Cursor = Found<VertexId>;

    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Found<VertexId>> {
        self.plan.lookup.find(self.plan.index, batch, row, turn.execution)
    }
    fn draw(
        &mut self,
        found: &mut Found<VertexId>,
        room: usize,
        _: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)> {
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
    fn end_run(&mut self) -> bool {
        self.vertices = Vec::new();
        true
    }
    fn columns(&mut self) -> Vec<Column> {
        let vertices = std::mem::take(&mut self.vertices);
        if self.plan.keep { vec![Column::Vertex(vertices, Nulls::none())] } else { Vec::new() }
    }
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
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let keep = required.contains(node.vertex);
    let plan = Arc::new(Seeking {
        index: index(compiler, node)?,
        lookup: lookup(compiler, &node.seek, &layout)?,
        keep,
    });
    let make = move || Drawing::new(SeekVertices { plan: plan.clone(), vertices: Vec::new() });
    let new: Vec<_> = keep.then_some(node.vertex).into_iter().collect();
    Ok(compiler.attach_fan_out("SeekVertices", &feed, required, &new, make))
}
