//! Sources of traversers: all vertices or edges, or those with given ids.

use crate::error::Outcome;
use crate::graph::Wanted;
use crate::limits::SCAN_PARTS;
use crate::machine::Machine;
use crate::pipeline::{Stage, State};
use crate::traverser::{Out, Traverser};
use gremlin::{Object, ReferenceKind};
use model::VertexId;
use std::sync::Arc;

impl Machine {
    pub(crate) fn scan_vertices(&self, wanted: &Wanted, stage: &mut Stage, out: Out<'_>) -> Outcome<()> {
        let Some((traverser, cursor)) = scanned(stage) else { return Ok(()) };
        let (found, next) = self.scan(cursor, |cursor, found| self.graph.vertices(wanted, cursor, found))?;
        for vertex in found {
            if self.sees_all() || self.sees_vertex(vertex)? {
                out.push(traverser.to(Object::Vertex(vertex), self.keeps_path));
            }
        }
        stage.state = next.map_or(State::Nothing, |cursor| State::Scan(traverser, cursor));
        Ok(())
    }

    pub(crate) fn scan_edges(&self, stage: &mut Stage, out: Out<'_>) -> Outcome<()> {
        let Some((traverser, cursor)) = scanned(stage) else { return Ok(()) };
        let (found, next) = self.scan(cursor, |cursor, found| self.graph.edges(cursor, found))?;
        for edge in found {
            if self.sees_all() || self.sees_edge(&edge)? {
                out.push(traverser.to(Object::Edge(Arc::new(edge)), self.keeps_path));
            }
        }
        stage.state = next.map_or(State::Nothing, |cursor| State::Scan(traverser, cursor));
        Ok(())
    }

    /// The results of one turn, part by part, and where the next continues.
    fn scan<T>(
        &self,
        cursor: u64,
        part: impl Fn(u64, &mut Vec<T>) -> Outcome<Option<u64>>,
    ) -> Outcome<(Vec<T>, Option<u64>)> {
        let (mut found, mut next, mut parts) = (Vec::new(), Some(cursor), 0);
        while let Some(cursor) = next {
            next = part(cursor, &mut found)?;
            parts += 1;
            self.pause_holding(found.len())?;
            // who writes must not meet what it wrote
            if !self.writes() && (found.len() >= self.batch || parts >= SCAN_PARTS) {
                break;
            }
        }
        Ok((found, next))
    }

    pub(crate) fn named_vertices(&self, ids: &[Object], traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        for id in ids {
            if let Some(vertex) = self.vertex_of(id)?
                && self.sees_vertex(vertex)?
            {
                out.push(traverser.to(Object::Vertex(vertex), self.keeps_path));
            }
        }
        Ok(())
    }

    pub(crate) fn named_edges(&self, ids: &[Object], traverser: &Traverser, out: Out<'_>) -> Outcome<()> {
        for id in ids {
            let edge = match id {
                Object::Edge(edge) => Some(**edge),
                Object::Reference(reference) => self.graph.edge_by_id(&reference.id)?,
                id => self.graph.edge_by_id(id)?,
            };
            if let Some(edge) = edge
                && self.graph.edge_exists(&edge)?
                && self.sees_edge(&edge)?
            {
                out.push(traverser.to(Object::Edge(Arc::new(edge)), self.keeps_path));
            }
        }
        Ok(())
    }

    /// The vertex that a client means: by its id, or itself.
    pub(crate) fn vertex_of(&self, id: &Object) -> Outcome<Option<VertexId>> {
        let vertex = match id {
            Object::Vertex(vertex) => Some(*vertex),
            Object::Reference(reference) if reference.kind == ReferenceKind::Vertex => {
                self.graph.vertex_by_id(&reference.id)?
            }
            id => self.graph.vertex_by_id(id)?,
        };
        match vertex {
            Some(vertex) if self.graph.vertex_exists(vertex)? => Ok(Some(vertex)),
            _ => Ok(None),
        }
    }
}

/// The traverser a scan is for, and how far it has come.
fn scanned(stage: &mut Stage) -> Option<(Traverser, u64)> {
    match std::mem::take(&mut stage.state) {
        State::Scan(traverser, cursor) => Some((traverser, cursor)),
        _ => stage.queue.pop().map(|traverser| (traverser, 0)),
    }
}
