//! Weakly connected components: for each vertex the smallest one it hangs together with.
//!
//! Idea: trees of vertices that are hung below each other, smaller ones on top. First every vertex follows two of its edges; by then most
//! hang below one root, and those are done; only the others follow the rest of their edges, both ways (Sutton, Ben-Nun and Barak,
//! "Optimizing parallel graph connectivity computation via subgraph sampling"). Invariant: a vertex never hangs below a larger one,
//! so there are no cycles. Cost: a few edges a vertex in most graphs, all of them at worst; a word a vertex.

use super::Field;
use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::hops::Orientation;
use crate::work::{Progress, Work};

/// Edges that every vertex follows at first.
const SAMPLED_EDGES: usize = 2;
/// Vertices looked at to find the largest component.
const SAMPLED_VERTICES: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Sample,
    /// The rest, but for vertices below this root.
    Rest(Option<u32>),
    Over,
}

/// See the module's head.
pub struct Components<A> {
    field: Field<A>,
    above: Vec<u32>,
    stage: Stage,
    at: usize,
    scratch: Vec<u32>,
}

impl<A: Adjacency> Components<A> {
    /// Of all members of the field.
    pub fn new(field: Field<A>) -> Components<A> {
        let above = (0..field.along.vertex_bound()).collect();
        Components { field, above, stage: Stage::Sample, at: 0, scratch: Vec::new() }
    }

    /// Goes on until the work is over or all is known.
    ///
    /// # Errors
    /// Reading the graph failed.
    pub fn step(&mut self, work: &mut Work<'_>) -> Result<Progress, PathError> {
        while self.stage != Stage::Over {
            if self.field.has_failed() {
                return Err(PathError::GraphFailed);
            }
            if work.is_over() {
                return Ok(Progress::More);
            }
            let Some(&vertex) = self.field.members.get(self.at) else {
                self.stage =
                    if self.stage == Stage::Sample { Stage::Rest(self.largest()) } else { Stage::Over };
                self.at = 0;
                continue;
            };
            self.at += 1;
            let Components { field, above, scratch, .. } = self;
            let sampled = SAMPLED_EDGES;
            let is_done = matches!(self.stage, Stage::Rest(largest) if largest == Some(root(above, vertex)));
            let mut handled = 0;
            let mut follow = |ends: &[u32]| {
                ends.iter().filter(|far| field.admits(**far)).for_each(|far| join(above, vertex, *far));
                handled += ends.len();
            };
            match self.stage {
                Stage::Sample => {
                    let ends = field.along.neighbours(vertex, scratch);
                    follow(&ends[..ends.len().min(sampled)]);
                }
                Stage::Rest(_) if !is_done => {
                    let ends = field.along.neighbours(vertex, scratch);
                    follow(&ends[ends.len().min(sampled)..]);
                    if field.orientation == Orientation::Directed {
                        follow(field.against.neighbours(vertex, scratch));
                    }
                }
                Stage::Rest(_) | Stage::Over => {}
            }
            work.charge(handled);
        }
        Ok(Progress::Done)
    }

    /// The root below which most of a sample hang.
    fn largest(&mut self) -> Option<u32> {
        let members = &self.field.members;
        let stride = (members.len() / SAMPLED_VERTICES).max(1);
        let mut roots: Vec<u32> =
            members.iter().step_by(stride).map(|vertex| root(&mut self.above, *vertex)).collect();
        roots.sort_unstable();
        roots.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map(|run| run[0])
    }

    /// The smallest vertex of the component of each member.
    pub fn values(&mut self) -> Vec<u32> {
        self.field.members.iter().map(|vertex| root(&mut self.above, *vertex)).collect()
    }

    /// What it works on.
    pub fn field(&self) -> &Field<A> {
        &self.field
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.field.bytes() + (self.above.capacity() + self.scratch.capacity()) * 4
    }
}

fn root(above: &mut [u32], mut vertex: u32) -> u32 {
    while above[vertex as usize] != vertex {
        let up = above[above[vertex as usize] as usize];
        above[vertex as usize] = up;
        vertex = up;
    }
    vertex
}

fn join(above: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(above, one), root(above, other));
    above[one.max(other) as usize] = one.min(other);
}
