//! Community detection by label propagation: every vertex takes the label that is most frequent among its neighbours.
//!
//! Idea: all at once, round by round; of several most frequent labels the smallest; in a directed graph neighbours count once for each
//! direction in which there is an edge (LDBC Graphalytics, section 2.3.5, after Raghavan, Albert and Kumara). Labels are handled by
//! their rank among all, so that counting is an array. Invariant: a round reads only labels of the round before, so the answer does not
//! depend on any order. Cost: every edge once a round and direction; four words a vertex.

use super::Field;
use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::hops::Orientation;
use crate::work::{Progress, Work};

/// See the module's head.
pub struct Propagation<A> {
    field: Field<A>,
    /// Labels by rank.
    names: Vec<i64>,
    /// By vertex, the rank of its label; now, and in the next round.
    labels: Vec<u32>,
    next: Vec<u32>,
    /// By rank, how often it was met around the vertex.
    counts: Vec<u32>,
    met: Vec<u32>,
    rounds_left: u32,
    at: usize,
    edge_cursor: usize,
    is_behind: bool,
    scratch: Vec<u32>,
}

impl<A: Adjacency> Propagation<A> {
    /// So many rounds; `first` are the labels that the members begin with, in their order.
    ///
    /// # Panics
    /// If there are not as many labels as members.
    pub fn new(field: Field<A>, first: &[i64], rounds: u32) -> Propagation<A> {
        assert_eq!(first.len(), field.members.len(), "every member begins with a label");
        let mut names = first.to_vec();
        names.sort_unstable();
        names.dedup();
        let mut labels = vec![0; field.bound()];
        for (vertex, name) in field.members.iter().zip(first) {
            let rank = names.binary_search(name).expect("all labels are among the names");
            labels[*vertex as usize] = rank as u32;
        }
        Propagation {
            next: labels.clone(),
            counts: vec![0; names.len()],
            met: Vec::new(),
            names,
            labels,
            rounds_left: rounds,
            at: 0,
            edge_cursor: 0,
            is_behind: false,
            scratch: Vec::new(),
            field,
        }
    }

    /// Goes on until the work is over or all is known.
    ///
    /// # Errors
    /// Reading the graph failed.
    pub fn step(&mut self, work: &mut Work<'_>) -> Result<Progress, PathError> {
        while self.rounds_left > 0 {
            if self.field.has_failed() {
                return Err(PathError::GraphFailed);
            }
            if work.is_over() {
                return Ok(Progress::More);
            }
            match self.field.members.get(self.at) {
                Some(&vertex) => self.count(vertex, work),
                None => {
                    std::mem::swap(&mut self.labels, &mut self.next);
                    (self.at, self.rounds_left) = (0, self.rounds_left - 1);
                }
            }
        }
        Ok(Progress::Done)
    }

    /// A piece of what is around a vertex.
    fn count(&mut self, vertex: u32, work: &mut Work<'_>) {
        let Propagation { field, labels, counts, met, scratch, .. } = self;
        let side = if self.is_behind { &field.against } else { &field.along };
        let rest = &side.neighbours(vertex, scratch)[self.edge_cursor..];
        let piece = work.piece(rest.len());
        for near in rest[..piece].iter().filter(|near| field.admits(**near)) {
            let label = labels[*near as usize];
            let count = &mut counts[label as usize];
            if *count == 0 {
                met.push(label);
            }
            *count += 1;
        }
        work.charge(piece);
        if piece < rest.len() {
            self.edge_cursor += piece;
            return;
        }
        self.edge_cursor = 0;
        if field.orientation == Orientation::Directed && !self.is_behind {
            self.is_behind = true;
            return;
        }
        let mut best = (0, labels[vertex as usize]);
        for label in met.drain(..) {
            let count = std::mem::take(&mut counts[label as usize]);
            if count > best.0 || (count == best.0 && label < best.1) {
                best = (count, label);
            }
        }
        self.next[vertex as usize] = best.1;
        (self.at, self.is_behind) = (self.at + 1, false);
    }

    /// The label of each member.
    pub fn values(&self) -> Vec<i64> {
        self.field.members.iter().map(|vertex| self.names[self.labels[*vertex as usize] as usize]).collect()
    }

    /// What it works on.
    pub fn field(&self) -> &Field<A> {
        &self.field
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let words =
            self.labels.capacity() + self.next.capacity() + self.counts.capacity() + self.met.capacity();
        self.field.bytes() + self.names.capacity() * 8 + (words + self.scratch.capacity()) * 4
    }
}
