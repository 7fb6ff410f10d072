//! Delete: vertices, edges and paths; with `detach`, a vertex's edges too.
//!
//! All rows are read first. Then edges are deleted, then vertices, so that the order of the targets does not matter; a vertex that still has edges
//! then is an error. Entities that were deleted before, by this clause or an earlier one, are passed over.

use crate::ExecuteError;
use crate::access::Counting;
use crate::compile::Compiler;
use crate::operator::write::{self, RowWriter};
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Progress, Try};
use expression::Compiled;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use model::{Batch, Direction, EdgeId, EdgeRef, Value, VertexId};
use std::ops::Range;
use std::sync::Arc;

struct Deleting {
    targets: Vec<Compiled>,
    detach: bool,
}

struct Delete {
    plan: Arc<Deleting>,
    vertices: Vec<VertexId>,
    edges: Vec<EdgeRef>,
    seen_vertices: HashSet<VertexId, FixedState>,
    seen_edges: HashSet<EdgeId, FixedState>,
    stage: DeleteStage,
    /// Position in the list of the stage.
    at: usize,
}

/// Entities deleted between two looks at the clock.
const DELETED_PER_LOOK: usize = 64;

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

/// The steps after the last row, in order, each in slices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeleteStage {
    /// With `detach`, the edges of the vertices are found.
    Edges,
    DeletingEdges,
    DeletingVertices,
}

impl Delete {
    /// The next entities of a list, by number; at its end the next stage begins.
    fn piece(&mut self, len: usize, next: DeleteStage) -> Range<usize> {
        let range = self.at..len.min(self.at + DELETED_PER_LOOK);
        self.at = range.end;
        if range.end == len {
            (self.at, self.stage) = (0, next);
        }
        range
    }
    fn gather_edges(&mut self, execution: &mut ExecutionContext) -> Try<()> {
        let len = if self.plan.detach { self.vertices.len() } else { 0 };
        let range = self.piece(len, DeleteStage::DeletingEdges);
        if range.is_empty() {
            return Ok(());
        }
        let view = execution.snapshot().adjacency(&[], Direction::Both);
        let vertices = &self.vertices[range];
        execution
            .environment
            .record(|reads| reads.adjacencies(vertices.iter().copied(), &[], Direction::Both));
        let mut found = Vec::new();
        for vertex in vertices {
            view.for_each_edge(vertex.dense(), |edge| found.push(edge))?;
        }
        found.into_iter().for_each(|edge| self.note_edge(edge));
        Ok(())
    }
    fn delete_edges(&mut self, execution: &mut ExecutionContext) -> Try<()> {
        let range = self.piece(self.edges.len(), DeleteStage::DeletingVertices);
        let transaction = execution.environment.transaction()?;
        for edge in &self.edges[range] {
            let deleted = transaction.delete_edge(*edge)?;
            Counting::add(&execution.environment.counting.relationships_deleted, u64::from(deleted));
        }
        if self.stage == DeleteStage::DeletingVertices && !self.vertices.is_empty() {
            // Once for all, so that deleting the vertices need not refresh for each of them.
            transaction.refresh()?;
        }
        Ok(())
    }
    fn delete_vertices(&mut self, execution: &mut ExecutionContext) -> Try<Progress> {
        let range = self.at..self.vertices.len().min(self.at + DELETED_PER_LOOK);
        self.at = range.end;
        let counting = &execution.environment.counting;
        let transaction = execution.environment.transaction()?;
        for vertex in &self.vertices[range] {
            let (deleted, edges) = transaction.delete_vertex(*vertex, self.plan.detach)?;
            Counting::add(&counting.nodes_deleted, u64::from(deleted));
            Counting::add(&counting.relationships_deleted, edges as u64);
        }
        Ok(if self.at == self.vertices.len() { Progress::Done } else { Progress::More })
    }
}

impl RowWriter for Delete {
    fn write(&mut self, batch: &Batch, row: usize, execution: &mut ExecutionContext) -> Try<()> {
        let plan = self.plan.clone();
        for target in &plan.targets {
            let value = target.evaluate_row(batch, row, &execution.scope())?;
            self.note(&value)?;
        }
        Ok(())
    }
    fn finish(&mut self, execution: &mut ExecutionContext) -> Try<Progress> {
        match self.stage {
            DeleteStage::Edges => self.gather_edges(execution)?,
            DeleteStage::DeletingEdges => self.delete_edges(execution)?,
            DeleteStage::DeletingVertices => return self.delete_vertices(execution),
        }
        Ok(Progress::More)
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Delete,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let targets = node.targets.iter().map(|target| compiler.expression(target, &layout));
    let plan = Arc::new(Deleting { targets: targets.collect::<Result<_, _>>()?, detach: node.detach });
    write::attach(compiler, "Delete", feed, layout, move || Delete {
        plan: plan.clone(),
        vertices: Vec::new(),
        edges: Vec::new(),
        seen_vertices: HashSet::default(),
        seen_edges: HashSet::default(),
        stage: DeleteStage::Edges,
        at: 0,
    })
}
