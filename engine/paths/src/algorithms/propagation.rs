//! Community detection by label propagation: every vertex takes the label that is most frequent among its neighbours.
//!
//! Idea: all at once, round by round; of several most frequent labels the smallest; in a directed graph neighbours count once for each
//! direction in which there is an edge (LDBC Graphalytics, section 2.3.5, after Raghavan, Albert and Kumara). Labels are handled by
//! their rank among all, so that counting is an array; ranks of labels that lie far apart are looked up by all workers first. Where few labels changed, only the neighbours of those vertices are counted again;
//! where none did, the rest of the rounds change nothing. Invariant: a round reads only labels of the round before: changes are gathered,
//! and made when all have counted. Cost: every edge once a round and direction, less once it settles; a word a vertex, and one a
//! vertex and worker.

use super::field::Field;
use super::worker_pool::{Staged, Stretch};
use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::hops::Orientation;
use crate::work::Work;
use parking_lot::{Mutex, RwLock};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Words of 64 vertices in a range.
const MORSEL: usize = 16;
/// Members in a range while ranks are looked up.
const RANK_MORSEL: usize = 1024;
/// Only neighbours of changed vertices are visited where their edges are at most one in this many of all.
const FEW_CHANGES: u64 = 4;
/// Words of bits for each label, at most, while labels are ranked without sorting them.
const SPAN_MAX: u64 = 1;

/// The steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Position among members: the rank of the label that it begins with is looked up.
    Rank,
    /// Position among words of vertices: labels around each are counted.
    Count,
    /// Position among lists of changes: they are made.
    Change,
    /// The same, and their neighbours are to be counted next.
    ChangeAndTell,
}

type CommunityChanges = Vec<(u32, u32)>;

/// A worker's place.
#[derive(Debug, Default)]
pub struct Own {
    /// By rank of a label, how often it was met around the vertex.
    counts: Vec<u32>,
    met: Vec<u32>,
    /// Vertices of the word that are left.
    left: Option<u64>,
    /// Position in a list of changes.
    at: usize,
    cursor: usize,
    is_behind: bool,
    scratch: Vec<u32>,
    /// Vertices and their new labels; edges around them.
    changes: CommunityChanges,
    edges: u64,
    /// Edges around the vertex that is counted.
    around: u64,
}

/// See the module's head.
pub struct Propagation<A> {
    field: Field<A>,
    /// Labels by rank.
    names: Vec<i64>,
    /// By vertex, the rank of its label.
    labels: Vec<AtomicU32>,
    /// Labels that the members begin with, while their ranks are not all known.
    unranked: RwLock<Arc<Vec<i64>>>,
    /// Bits of members, and of those that are counted in this round.
    members: Vec<u64>,
    active: Vec<AtomicU64>,
    handed_in: Mutex<(Vec<CommunityChanges>, u64)>,
    changes: RwLock<Arc<Vec<CommunityChanges>>>,
    rounds_left: AtomicU32,
    /// Bytes of all workers' counts.
    held: AtomicUsize,
}

impl<A: Adjacency> Propagation<A> {
    /// So many rounds; `first` are the labels that the members begin with, in their order.
    ///
    /// # Panics
    /// If there are not as many labels as members.
    pub fn new(field: Field<A>, first: Vec<i64>, rounds: u32) -> Propagation<A> {
        assert_eq!(first.len(), field.members.len(), "every member begins with a label");
        let (names, ranks) = ranked(&first);
        let labels: Vec<AtomicU32> = (0..field.bound()).map(|_| AtomicU32::new(0)).collect();
        let mut members = vec![0_u64; field.bound().div_ceil(64)];
        for vertex in &field.members {
            members[*vertex as usize / 64] |= 1 << (vertex % 64);
        }
        for (vertex, rank) in field.members.iter().zip(ranks.iter().flatten()) {
            labels[*vertex as usize].store(*rank, Relaxed);
        }
        let unranked = if ranks.is_some() { Vec::new() } else { first };
        Propagation {
            active: members.iter().copied().map(AtomicU64::new).collect(),
            members,
            names,
            labels,
            unranked: RwLock::new(Arc::new(unranked)),
            handed_in: Mutex::default(),
            changes: RwLock::default(),
            rounds_left: AtomicU32::new(rounds),
            held: AtomicUsize::new(0),
            field,
        }
    }

    /// The label of the member at this position.
    pub fn value(&self, position: usize) -> i64 {
        self.names[self.label(self.field.members[position]) as usize]
    }

    /// The graph and its members.
    pub fn field(&self) -> &Field<A> {
        &self.field
    }

    #[inline(always)]
    fn label(&self, vertex: u32) -> u32 {
        self.labels[vertex as usize].load(Relaxed)
    }

    /// Looks up the rank of the label that a member begins with.
    fn rank(&self, position: usize, unranked: &[i64], work: &mut Work<'_>) {
        let rank = self.names.partition_point(|name| *name < unranked[position]);
        self.labels[self.field.members[position] as usize].store(rank as u32, Relaxed);
        // As many looks as edges would be.
        work.charge(self.names.len().ilog2() as usize);
    }

    /// A piece of the list on the side that is looked at; it, and whether there are more.
    fn piece<'a>(
        &'a self,
        vertex: u32,
        own: &mut Own,
        scratch: &'a mut Vec<u32>,
        work: &mut Work<'_>,
    ) -> (&'a [u32], bool) {
        let side = if own.is_behind { &self.field.against } else { &self.field.along };
        let list = side.neighbours(vertex, scratch);
        let end = own.cursor + work.piece(list.len() - own.cursor);
        let piece = &list[own.cursor..end];
        work.charge(piece.len());
        own.cursor = end;
        if end < list.len() {
            return (piece, true);
        }
        own.cursor = 0;
        own.is_behind = !own.is_behind && self.field.orientation == Orientation::Directed;
        (piece, own.is_behind)
    }

    /// Counts a part of a vertex's neighbours; true when its label is decided.
    fn count(&self, vertex: u32, own: &mut Own, work: &mut Work<'_>) -> bool {
        if own.counts.is_empty() {
            own.counts = vec![0; self.names.len()];
            self.held.fetch_add(own.counts.len() * 4, Relaxed);
        }
        let mut scratch = std::mem::take(&mut own.scratch);
        let (piece, has_more) = self.piece(vertex, own, &mut scratch, work);
        own.around += piece.len() as u64;
        for near in piece.iter().filter(|near| self.field.admits(**near)) {
            let label = self.label(*near);
            let count = &mut own.counts[label as usize];
            if *count == 0 {
                own.met.push(label);
            }
            *count += 1;
        }
        own.scratch = scratch;
        if has_more {
            return false;
        }
        let before = self.label(vertex);
        let mut best = (0, before);
        for label in own.met.drain(..) {
            let count = std::mem::take(&mut own.counts[label as usize]);
            if count > best.0 || (count == best.0 && label < best.1) {
                best = (count, label);
            }
        }
        let around = std::mem::take(&mut own.around);
        if best.1 != before {
            own.changes.push((vertex, best.1));
            own.edges += around;
        }
        true
    }

    fn count_word(&self, word: usize, own: &mut Own, work: &mut Work<'_>) -> bool {
        while !work.is_over() {
            let left = own.left.unwrap_or_else(|| self.active[word].load(Relaxed) & self.members[word]);
            if left == 0 {
                work.charge(0);
                own.left = None;
                return true;
            }
            let is_done = self.count(word as u32 * 64 + left.trailing_zeros(), own, work);
            own.left = Some(if is_done { left & (left - 1) } else { left });
        }
        false
    }

    fn change(&self, changes: &[(u32, u32)], tells: bool, own: &mut Own, work: &mut Work<'_>) -> bool {
        while let Some((vertex, label)) = changes.get(own.at) {
            if work.is_over() {
                return false;
            }
            self.labels[*vertex as usize].store(*label, Relaxed);
            if tells && self.tell(*vertex, own, work) {
                continue;
            }
            if !tells {
                work.charge(0);
            }
            own.at += 1;
        }
        own.at = 0;
        true
    }

    /// Those that count this vertex are to count again; true if there are more of them.
    fn tell(&self, vertex: u32, own: &mut Own, work: &mut Work<'_>) -> bool {
        let mut scratch = std::mem::take(&mut own.scratch);
        let (piece, has_more) = self.piece(vertex, own, &mut scratch, work);
        for near in piece {
            let (word, bit) = (&self.active[*near as usize / 64], 1 << (near % 64));
            if word.load(Relaxed) & bit == 0 {
                word.fetch_or(bit, Relaxed);
            }
        }
        own.scratch = scratch;
        has_more
    }

    fn counting(&self) -> Option<Stretch<Kind>> {
        let is_over = self.rounds_left.load(Relaxed) == 0;
        (!is_over).then_some(Stretch { kind: Kind::Count, count: self.members.len(), morsel: MORSEL })
    }

    /// All have counted.
    fn changing(&self) -> Option<Stretch<Kind>> {
        self.rounds_left.fetch_sub(1, Relaxed);
        let (changes, edges) = std::mem::take(&mut *self.handed_in.lock());
        if changes.is_empty() {
            return None;
        }
        let is_few = edges < self.field.edges() / FEW_CHANGES;
        for (active, members) in self.active.iter().zip(&self.members) {
            active.store(if is_few { 0 } else { *members }, Relaxed);
        }
        let kind = if is_few { Kind::ChangeAndTell } else { Kind::Change };
        let count = changes.len();
        *self.changes.write() = Arc::new(changes);
        Some(Stretch { kind, count, morsel: 1 })
    }
}

/// Different labels, rising, and the rank of each of these among them; no ranks where each must be looked up.
fn ranked(first: &[i64]) -> (Vec<i64>, Option<Vec<u32>>) {
    if first.is_sorted_by(|one, next| one < next) {
        return (first.to_vec(), Some((0..first.len() as u32).collect()));
    }
    let least = first.iter().min().copied().unwrap_or(0);
    let span = first.iter().map(|label| label.wrapping_sub(least) as u64).max().unwrap_or(0);
    if span / 64 > first.len() as u64 * SPAN_MAX {
        let mut names = first.to_vec();
        names.sort_unstable();
        names.dedup();
        return (names, None);
    }
    // A bit for each number that a label could be, and how many there are before each word.
    let mut words = vec![(0_u64, 0_u32); span as usize / 64 + 1];
    let place = |label: i64| label.wrapping_sub(least) as u64;
    first.iter().for_each(|label| words[place(*label) as usize / 64].0 |= 1 << (place(*label) % 64));
    let (mut names, mut before) = (Vec::new(), 0);
    for ((bits, rank), at) in words.iter_mut().zip(0..) {
        *rank = before;
        before += bits.count_ones();
        let mut left = *bits;
        while left != 0 {
            names.push(least.wrapping_add(at * 64 + i64::from(left.trailing_zeros())));
            left &= left - 1;
        }
    }
    let rank = |label: &i64| {
        let (bits, rank) = words[place(*label) as usize / 64];
        rank + (bits & ((1 << (place(*label) % 64)) - 1)).count_ones()
    };
    let ranks = first.iter().map(rank).collect();
    (names, Some(ranks))
}

impl<A: Adjacency> Staged for Propagation<A> {
    type Kind = Kind;
    type Own = Own;

    fn first(&self) -> Option<Stretch<Kind>> {
        match self.unranked.read().len() {
            0 => self.counting(),
            count => Some(Stretch { kind: Kind::Rank, count, morsel: RANK_MORSEL }),
        }
    }
    fn work(&self, kind: Kind, range: &mut Range<usize>, own: &mut Own, work: &mut Work<'_>) {
        let (changes, unranked) = (self.changes.read().clone(), self.unranked.read().clone());
        while range.start < range.end && !work.is_over() {
            let is_done = match kind {
                Kind::Rank => {
                    self.rank(range.start, &unranked, work);
                    true
                }
                Kind::Count => self.count_word(range.start, own, work),
                Kind::Change | Kind::ChangeAndTell => {
                    self.change(&changes[range.start], kind == Kind::ChangeAndTell, own, work)
                }
            };
            range.start += usize::from(is_done);
        }
    }
    fn hand_in(&self, kind: Kind, _: Range<usize>, own: &mut Own) {
        if kind == Kind::Count && !own.changes.is_empty() {
            let mut handed_in = self.handed_in.lock();
            handed_in.0.push(std::mem::take(&mut own.changes));
            handed_in.1 += own.edges;
        }
        own.edges = 0;
    }
    fn next(&self, kind: Kind) -> Option<Stretch<Kind>> {
        match kind {
            Kind::Rank => {
                *self.unranked.write() = Arc::default();
                self.counting()
            }
            Kind::Count => self.changing(),
            Kind::Change | Kind::ChangeAndTell => {
                *self.changes.write() = Arc::default();
                self.counting()
            }
        }
    }
    fn fault(&self) -> Option<PathError> {
        self.field.fault()
    }
    fn bytes(&self) -> usize {
        let words = (self.members.capacity() + self.active.capacity()) * 8;
        let changes: usize = self.changes.read().iter().map(|some| some.capacity() * 8).sum();
        let unranked = self.unranked.read().capacity() * 8;
        let vertices = self.names.capacity() * 8 + self.labels.capacity() * 4 + unranked;
        self.field.bytes() + vertices + words + changes + self.held.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::ranked;

    #[test]
    fn ranks_are_those_of_sorting() {
        let cases: [&[i64]; 6] = [
            &[],
            &[1, 2, 9],
            &[5, 3, 5, -64, 70],
            &[i64::MIN, i64::MAX, 0, i64::MIN],
            &[7, 7],
            &[i64::MAX, i64::MAX - 1],
        ];
        for first in cases {
            let mut names = first.to_vec();
            names.sort_unstable();
            names.dedup();
            let ranks: Vec<u32> =
                first.iter().map(|label| names.partition_point(|name| name < label) as u32).collect();
            let (found, of_each) = ranked(first);
            assert_eq!((found, of_each.as_ref().unwrap_or(&ranks)), (names, &ranks), "{first:?}");
        }
    }
}
