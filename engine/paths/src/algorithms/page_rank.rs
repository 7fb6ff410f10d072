//! PageRank: how often a walker comes by who follows an edge at random, and now and then begins anew anywhere.
//!
//! Idea: each round, every vertex adds up what those with an edge to it have, each divided by its edges; what vertices without
//! edges have is spread over all (LDBC Graphalytics, section 2.3.3). Invariant: the ranks add up to one.
//! Cost: every edge once a round, read from its far end, so that nothing is written but a vertex's own sum; three numbers a vertex.

use super::Field;
use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::hops::Orientation;
use crate::work::{Progress, Work};

/// See the module's head.
pub struct PageRank<A> {
    field: Field<A>,
    damping: f64,
    rounds_left: u32,
    /// By vertex: what it has; and that divided by its edges.
    ranks: Vec<f64>,
    shares: Vec<f64>,
    /// By vertex: one divided by its edges, none if it has none.
    per_edge: Vec<f64>,
    stage: Stage,
    at: usize,
    edge_cursor: usize,
    sum: f64,
    /// What every vertex gets in this round.
    base: f64,
    scratch: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// How many edges has each?
    Degrees,
    /// What does each give along an edge?
    Shares,
    /// What does each get?
    Ranks,
    Over,
}

impl<A: Adjacency> PageRank<A> {
    /// So many rounds; the damping is how likely the walker follows an edge, usually 0.85.
    pub fn new(field: Field<A>, damping: f64, rounds: u32) -> PageRank<A> {
        let bound = field.bound();
        let start = 1.0 / field.members.len().max(1) as f64;
        PageRank {
            damping,
            rounds_left: rounds,
            ranks: vec![start; bound],
            shares: vec![0.0; bound],
            per_edge: vec![0.0; bound],
            stage: Stage::Degrees,
            at: 0,
            edge_cursor: 0,
            sum: 0.0,
            base: 0.0,
            scratch: Vec::new(),
            field,
        }
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
                self.next_stage();
                continue;
            };
            match self.stage {
                Stage::Degrees => {
                    let edges = self.degree(vertex);
                    self.per_edge[vertex as usize] = if edges == 0 { 0.0 } else { 1.0 / edges as f64 };
                    work.charge(if self.field.chosen.is_some() { edges } else { 0 });
                    self.at += 1;
                }
                Stage::Shares => {
                    let (rank, per_edge) = (self.ranks[vertex as usize], self.per_edge[vertex as usize]);
                    self.shares[vertex as usize] = rank * per_edge;
                    self.sum += if per_edge == 0.0 { rank } else { 0.0 };
                    work.charge(0);
                    self.at += 1;
                }
                Stage::Ranks => self.gather(vertex, work),
                Stage::Over => {}
            }
        }
        Ok(Progress::Done)
    }

    fn degree(&mut self, vertex: u32) -> usize {
        let Field { along, chosen, .. } = &self.field;
        match chosen {
            None => along.neighbours(vertex, &mut self.scratch).len(),
            Some(bits) => {
                let ends = along.neighbours(vertex, &mut self.scratch);
                ends.iter().filter(|far| bits.contains(**far)).count()
            }
        }
    }

    /// A piece of what comes along the edges to a vertex.
    fn gather(&mut self, vertex: u32, work: &mut Work<'_>) {
        let PageRank { field, shares, scratch, .. } = self;
        let into = if field.orientation == Orientation::Directed { &field.against } else { &field.along };
        let rest = &into.neighbours(vertex, scratch)[self.edge_cursor..];
        let piece = work.piece(rest.len());
        // Vertices that take no part have nothing to share.
        self.sum += rest[..piece].iter().map(|near| shares[*near as usize]).sum::<f64>();
        work.charge(piece);
        if piece < rest.len() {
            self.edge_cursor += piece;
            return;
        }
        self.ranks[vertex as usize] = self.base + self.damping * self.sum;
        (self.at, self.edge_cursor, self.sum) = (self.at + 1, 0, 0.0);
    }

    fn next_stage(&mut self) {
        let members = self.field.members.len().max(1) as f64;
        self.at = 0;
        self.stage = match self.stage {
            Stage::Degrees | Stage::Ranks if self.rounds_left == 0 => Stage::Over,
            Stage::Degrees | Stage::Ranks => {
                self.rounds_left -= 1;
                Stage::Shares
            }
            Stage::Shares => {
                self.base = (1.0 - self.damping + self.damping * self.sum) / members;
                Stage::Ranks
            }
            Stage::Over => Stage::Over,
        };
        self.sum = 0.0;
    }

    /// The rank of each member.
    pub fn values(&self) -> Vec<f64> {
        self.field.members.iter().map(|vertex| self.ranks[*vertex as usize]).collect()
    }

    /// What it works on.
    pub fn field(&self) -> &Field<A> {
        &self.field
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let numbers = self.ranks.capacity() + self.shares.capacity() + self.per_edge.capacity();
        self.field.bytes() + numbers * 8 + self.scratch.capacity() * 4
    }
}
