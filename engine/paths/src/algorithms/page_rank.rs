//! PageRank: the stationary probability of a random walk that now and then restarts anywhere.
//!
//! Idea: in each round every vertex adds up the shares along its incoming edges, which their sources computed in the round before; the rank of
//! vertices without edges is spread over all (LDBC Graphalytics, section 2.3.3).
//! Invariant: the ranks add up to one. A list is added up in four sums by position, and what is lost in sums by range, so the last bit of an
//! answer does not depend on who works or when one stops. Cost: every edge once a round, read from its far end, so that nothing is
//! written but a vertex's own; three numbers a vertex.

use super::field::Field;
use super::worker_pool::{Staged, Stretch};
use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::hops::Orientation;
use crate::work::Work;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Members in a range; the rank of vertices without edges is added up by these.
const MORSEL: usize = 1024;
/// Sums that a list is added up in, so that an addition need not wait for the one before.
const SUMS: usize = 4;

/// A number that workers write, each at places of its own.
#[derive(Debug, Default)]
struct Number(AtomicU64);

impl Number {
    #[inline(always)]
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }
    #[inline(always)]
    fn set(&self, number: f64) {
        self.0.store(number.to_bits(), Relaxed);
    }
    fn zeros(count: usize) -> Vec<Number> {
        (0..count).map(|_| Number::default()).collect()
    }
}

/// The steps for each member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Counts its edges, and computes its first share.
    Begin,
    /// Computes its rank of this round.
    Round,
}

/// A worker's place in a list.
#[derive(Debug, Default)]
pub struct Own {
    scratch: Vec<u32>,
    cursor: usize,
    sums: [f64; SUMS],
    /// Rank of members without edges, in this range.
    lost: f64,
}

/// See the module's head.
pub struct PageRank<A> {
    field: Field<A>,
    damping: f64,
    rounds: u32,
    rounds_done: AtomicU32,
    /// By vertex: its share along an edge; in this round and in the next. At the end, in the latter, its rank.
    shares: [Vec<Number>; 2],
    /// By vertex: one divided by its edges, none if it has none.
    per_edge: Vec<Number>,
    /// By range.
    lost: Vec<Number>,
    /// The part that every vertex gets in this round.
    base: Number,
}

impl<A: Adjacency> PageRank<A> {
    /// So many rounds; the damping is how likely the walker follows an edge, usually 0.85.
    pub fn new(field: Field<A>, damping: f64, rounds: u32) -> PageRank<A> {
        let bound = field.bound();
        PageRank {
            damping,
            rounds,
            rounds_done: AtomicU32::new(0),
            shares: [Number::zeros(bound), Number::zeros(bound)],
            per_edge: Number::zeros(bound),
            lost: Number::zeros(field.members.len().div_ceil(MORSEL)),
            base: Number::default(),
            field,
        }
    }

    /// The rank of the member at this position.
    pub fn value(&self, position: usize) -> f64 {
        match self.rounds {
            0 => self.start(),
            _ => self.new_shares()[self.field.members[position] as usize].get(),
        }
    }

    /// The graph and its members.
    pub fn field(&self) -> &Field<A> {
        &self.field
    }

    fn start(&self) -> f64 {
        1.0 / self.field.members.len().max(1) as f64
    }
    fn old_shares(&self) -> &[Number] {
        &self.shares[self.rounds_done.load(Relaxed) as usize % 2]
    }
    /// Of the round that is at work; of the last one when all is over.
    fn new_shares(&self) -> &[Number] {
        let done = self.rounds_done.load(Relaxed).min(self.rounds.saturating_sub(1));
        &self.shares[(done as usize + 1) % 2]
    }

    fn begin(&self, vertex: u32, own: &mut Own, work: &mut Work<'_>) {
        let Field { along, chosen, .. } = &self.field;
        let ends = along.neighbours(vertex, &mut own.scratch);
        let edges = match chosen {
            None => ends.len(),
            Some(bits) => ends.iter().filter(|far| bits.contains(**far)).count(),
        };
        work.charge(if chosen.is_some() { edges } else { 0 });
        let per_edge = if edges == 0 { 0.0 } else { 1.0 / edges as f64 };
        self.per_edge[vertex as usize].set(per_edge);
        self.give(vertex, self.start(), per_edge, &self.shares[0], &mut own.lost);
    }

    fn give(&self, vertex: u32, rank: f64, per_edge: f64, shares: &[Number], lost: &mut f64) {
        shares[vertex as usize].set(rank * per_edge);
        *lost += if per_edge == 0.0 { rank } else { 0.0 };
    }

    /// A piece of what comes along the edges to a vertex; true at the end of its list.
    fn gather(&self, vertex: u32, own: &mut Own, work: &mut Work<'_>) -> bool {
        let Field { along, against, orientation, .. } = &self.field;
        let Own { scratch, cursor, sums, lost } = own;
        let into = if *orientation == Orientation::Directed { against } else { along };
        let rest = &into.neighbours(vertex, scratch)[*cursor..];
        // Pieces end where the sums begin anew.
        let piece = work.piece(rest.len()).next_multiple_of(SUMS).min(rest.len());
        let shares = self.old_shares();
        // Vertices that take no part have nothing to share.
        let mut fours = rest[..piece].chunks_exact(SUMS);
        for four in &mut fours {
            for (sum, near) in sums.iter_mut().zip(four) {
                *sum += shares[*near as usize].get();
            }
        }
        for (sum, near) in sums.iter_mut().zip(fours.remainder()) {
            *sum += shares[*near as usize].get();
        }
        work.charge(piece);
        *cursor += piece;
        if piece < rest.len() {
            return false;
        }
        let sum: f64 = std::mem::take(sums).iter().sum();
        *cursor = 0;
        let rank = self.base.get() + self.damping * sum;
        if self.rounds_done.load(Relaxed) + 1 == self.rounds {
            self.new_shares()[vertex as usize].set(rank);
        } else {
            let per_edge = self.per_edge[vertex as usize].get();
            self.give(vertex, rank, per_edge, self.new_shares(), lost);
        }
        true
    }

    fn stretch(&self, kind: Kind) -> Option<Stretch<Kind>> {
        Some(Stretch { kind, count: self.field.members.len(), morsel: MORSEL })
    }
}

impl<A: Adjacency> Staged for PageRank<A> {
    type Kind = Kind;
    type Own = Own;

    fn first(&self) -> Option<Stretch<Kind>> {
        if self.rounds == 0 { None } else { self.stretch(Kind::Begin) }
    }
    fn work(&self, kind: Kind, range: &mut Range<usize>, own: &mut Own, work: &mut Work<'_>) {
        while range.start < range.end && !work.is_over() {
            let vertex = self.field.members[range.start];
            let is_done = match kind {
                Kind::Begin => {
                    self.begin(vertex, own, work);
                    true
                }
                Kind::Round => self.gather(vertex, own, work),
            };
            range.start += usize::from(is_done);
        }
    }
    fn hand_in(&self, _: Kind, range: Range<usize>, own: &mut Own) {
        self.lost[range.start / MORSEL].set(std::mem::take(&mut own.lost));
    }
    fn next(&self, kind: Kind) -> Option<Stretch<Kind>> {
        if kind == Kind::Round && self.rounds_done.fetch_add(1, Relaxed) + 1 == self.rounds {
            return None;
        }
        let lost: f64 = self.lost.iter().map(Number::get).sum();
        self.base.set((1.0 - self.damping + self.damping * lost) * self.start());
        self.stretch(Kind::Round)
    }
    fn fault(&self) -> Option<PathError> {
        self.field.fault()
    }
    fn bytes(&self) -> usize {
        let numbers = self.per_edge.capacity() * 3 + self.lost.capacity();
        self.field.bytes() + numbers * 8
    }
}
