//! Delete: vertices, edges and paths; with `detach`, a vertex's edges too.
//!
//! All rows are looked at first. Then edges go, then vertices, so that the order of the targets does not matter; a vertex that still
//! has edges then is an error. What was deleted before, by this clause or an earlier one, is passed over.

use crate::ExecuteError;
use crate::access::Counting;
use crate::compile::Compiler;
use crate::expression::Compiled;
use crate::liveness::VarSet;
use crate::operator::write::{self, RowWriter};
use crate::reads::EntityReads;
use crate::stream::Stream;
use crate::turn::{Here, Try};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use model::{Batch, Direction, EdgeId, EdgeRef, Value, VertexId};
use std::sync::Arc;

struct Deleting {
    targets: Vec<Compiled>,
    reads: EntityReads,
    detach: bool,
}

struct Delete {
    plan: Arc<Deleting>,
    vertices: Vec<VertexId>,
    edges: Vec<EdgeRef>,
    seen_vertices: HashSet<VertexId, FixedState>,
    seen_edges: HashSet<EdgeId, FixedState>,
}

impl Delete {
    fn note(&mut self, value: &Value) -> Try<()> {
        match value {
            Value::Null => {}
            Value::Vertex(vertex) => self.note_vertex(*vertex),
            Value::Edge(edge) => self.note_edge(**edge),
            Value::Path(path) => {
                path.edges.iter().for_each(|edge| self.note_edge(*edge));
                path.vertices.iter().for_each(|vertex| self.note_vertex(*vertex));
            }
            Value::List(list) => list.iter().try_for_each(|value| self.note(value))?,
            other => {
                let name = other.value_type().name();
                let message = format!("DELETE takes a Node, a Relationship or a Path, not a {name}");
                return Err(ExecuteError::WrongType(message).into());
            }
        }
        Ok(())
    }
    fn note_vertex(&mut self, vertex: VertexId) {
        if self.seen_vertices.insert(vertex) {
            self.vertices.push(vertex);
        }
    }
    fn note_edge(&mut self, edge: EdgeRef) {
        if self.seen_edges.insert(edge.id) {
            self.edges.push(edge);
        }
    }
}

impl RowWriter for Delete {
    fn write(&mut self, batch: &Batch, row: usize, here: &mut Here) -> Try<()> {
        let plan = self.plan.clone();
        if row == 0 {
            plan.reads.record(batch, here);
        }
        for target in &plan.targets {
            let value = target.evaluate_row(batch, row, &here.scope())?;
            self.note(&value)?;
        }
        Ok(())
    }
    fn finish(&mut self, here: &mut Here) -> Try<()> {
        if self.plan.detach {
            let view = here.snapshot().adjacency(&[], Direction::Both);
            let vertices = std::mem::take(&mut self.vertices);
            here.environment
                .record(|reads| reads.adjacencies(vertices.iter().copied(), &[], Direction::Both));
            let mut found = Vec::new();
            for vertex in &vertices {
                view.for_each_edge(vertex.dense(), |edge| found.push(edge))?;
            }
            found.into_iter().for_each(|edge| self.note_edge(edge));
            self.vertices = vertices;
        }
        let environment = here.environment.clone();
        let transaction = environment.transaction()?;
        for edge in &self.edges {
            let deleted = transaction.delete_edge(*edge)?;
            Counting::add(&environment.counting.relationships_deleted, u64::from(deleted));
        }
        // Once for all, so that deleting the vertices need not refresh for each of them.
        transaction.refresh()?;
        for vertex in &self.vertices {
            let (deleted, edges) = transaction.delete_vertex(*vertex, self.plan.detach)?;
            Counting::add(&environment.counting.nodes_deleted, u64::from(deleted));
            Counting::add(&environment.counting.relationships_deleted, edges as u64);
        }
        Ok(())
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Delete,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let feed = compiler.feed(&node.input, &required.clone().reading(&node.targets))?;
    let layout = feed.layout();
    let targets = node.targets.iter().map(|target| compiler.expression(target, &layout));
    let plan = Arc::new(Deleting {
        targets: targets.collect::<Result<_, _>>()?,
        reads: EntityReads::of(&node.targets, &layout),
        detach: node.detach,
    });
    write::attach(compiler, "Delete", feed, layout, move || Delete {
        plan: plan.clone(),
        vertices: Vec::new(),
        edges: Vec::new(),
        seen_vertices: HashSet::default(),
        seen_edges: HashSet::default(),
    })
}
