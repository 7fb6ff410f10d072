//! Local clustering coefficient: of all edges there could be among a vertex's neighbours, how many are there?
//!
//! Idea: each triangle gives each of its corners the edges on the opposite side: one, or two where there is one each way. Vertices
//! are handled by their rank, most neighbours first, and each lists its neighbours of lower rank, so that no hub's list is crossed by its
//! whole neighbourhood (Latapy, "Main-memory triangle computations"). In graphs with hubs most triangles lie among the first few thousand
//! ranks and one more vertex: the edges among those are kept as bits besides (`core`), and 64 pairs are looked at together.
//! Parallel edges count once, loops not at all. Invariant: every pair of neighbours is listed at the one of the two with the higher rank; sums are of
//! whole numbers, so the order of additions does not matter.
//! Cost: O(edges^1.5) time at worst; four bytes a pair, 24 a vertex, one a vertex and worker.

mod core;
mod lists;

use super::field::Field;
use super::worker_pool::{Staged, Stretch};
use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::work::Work;
use core::{CORE_MAX, Core, Gathered};
use lists::{Block, entry, is_double, rank_of};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Ranks in a range, and in a block of lists.
const MORSEL: usize = 64;
/// Vertices with more edges are not ordered by their number.
const DEGREES: usize = 1 << 16;

/// The steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Position of a member, one worker alone: counts members by their number of edges.
    Tally,
    /// The same: which rank has it?
    Rank,
    /// A rank: its list is made.
    List,
    /// A rank: triangles are found of which it is the highest.
    Cross,
}

/// A worker's position and counts.
#[derive(Default)]
pub struct Own {
    scratch: Vec<u32>,
    /// Neighbours, twice their number and more where they lead back.
    near: Vec<u64>,
    rest: Vec<u32>,
    block: Block,
    /// Position among the rest of a list, which is marked.
    cursor: Option<usize>,
    /// By rank: one or two where the vertex that is crossed has an edge or two.
    marks: Vec<u8>,
    core: Gathered,
}

/// See the module's head.
pub struct Clustering<A> {
    field: Field<A>,
    /// By degree: members with this many edges, then where those begin.
    places: Mutex<Vec<u32>>,
    /// Vertices by rank, and ranks by vertex.
    vertices: Vec<AtomicU32>,
    ranks: Vec<AtomicU32>,
    /// By rank: neighbours, and edges among them.
    around: Vec<AtomicU32>,
    among: Vec<AtomicU64>,
    blocks: Vec<OnceLock<Block>>,
    core: Core,
    /// Bytes of lists and of workers' marks.
    held: AtomicUsize,
}

impl<A: Adjacency> Clustering<A> {
    /// Of all members of the field.
    pub fn new(field: Field<A>) -> Clustering<A> {
        let members = field.members.len();
        let words = |count: usize| (0..count).map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
        Clustering {
            places: Mutex::new(vec![0; DEGREES]),
            vertices: words(members),
            ranks: words(field.bound()),
            around: words(members),
            among: (0..members).map(|_| AtomicU64::new(0)).collect(),
            blocks: (0..members.div_ceil(MORSEL)).map(|_| OnceLock::new()).collect(),
            core: Core::new(members.min(CORE_MAX), field.is_directed()),
            held: AtomicUsize::new(0),
            field,
        }
    }

    /// The coefficient of the member at this position: 0 with fewer than two neighbours.
    pub fn value(&self, position: usize) -> f64 {
        let rank = self.rank(self.field.members[position]) as usize;
        let around = u64::from(self.around[rank].load(Relaxed));
        match around {
            0 | 1 => 0.0,
            _ => self.among[rank].load(Relaxed) as f64 / (around * (around - 1)) as f64,
        }
    }

    /// The graph and its members.
    pub fn field(&self) -> &Field<A> {
        &self.field
    }

    #[inline(always)]
    fn rank(&self, vertex: u32) -> u32 {
        self.ranks[vertex as usize].load(Relaxed)
    }

    /// Where vertices of so many edges are counted: many edges first.
    fn place(&self, vertex: u32) -> usize {
        let Field { along, against, .. } = &self.field;
        let behind = if self.field.is_directed() { against.degree(vertex) as usize } else { 0 };
        DEGREES - 1 - (along.degree(vertex) as usize + behind).min(DEGREES - 1)
    }

    fn tally(&self, kind: Kind, vertex: u32, places: &mut [u32]) {
        let place = self.place(vertex);
        if kind == Kind::Rank {
            let rank = places[place];
            self.ranks[vertex as usize].store(rank, Relaxed);
            self.vertices[rank as usize].store(vertex, Relaxed);
        }
        places[place] += 1;
    }

    /// The neighbours of a vertex, each once.
    fn list(&self, rank: usize, own: &mut Own, work: &mut Work<'_>) {
        let vertex = self.vertices[rank].load(Relaxed);
        let Own { scratch, near, rest, block, .. } = own;
        near.clear();
        let (along, behind) = if self.field.is_directed() { (1, 2) } else { (3, 0) };
        near.extend(self.field.along.neighbours(vertex, scratch).iter().map(|far| entry(*far, along)));
        if behind > 0 {
            near.extend(self.field.against.neighbours(vertex, scratch).iter().map(|far| entry(*far, behind)));
        }
        work.charge(near.len());
        // Two runs in order, mostly, which this sort only merges.
        near.sort();
        near.dedup_by(|one, kept| {
            let same = rank_of(*one) == rank_of(*kept);
            *kept |= if same { *one } else { 0 };
            same
        });
        rest.clear();
        let mut around = 0;
        for one in near.iter() {
            let far = rank_of(*one);
            if far == vertex || !self.field.admits(far) {
                continue;
            }
            around += 1;
            let lower = self.rank(far);
            if lower >= rank as u32 {
                continue;
            }
            if rank < self.core.size() {
                self.core.join(rank, lower as usize, *one & 3);
            }
            match (lower as usize) < self.core.size() {
                true => block.push(lower, *one),
                false => rest.push(block.packed(lower, *one)),
            }
        }
        block.end_list(rest);
        self.around[rank].store(around, Relaxed);
    }

    fn list_of(&self, rank: usize) -> (&[u32], &[u32]) {
        self.blocks[rank / MORSEL].get().map_or((&[], &[]), |block| block.list(rank % MORSEL))
    }

    /// A piece of the triangles of which this is the highest rank; true once there are no more.
    fn cross(&self, rank: usize, own: &mut Own, work: &mut Work<'_>) -> bool {
        let (first, rest) = self.list_of(rank);
        let Some(start) = own.cursor else {
            let among = own.core.cross(&self.core, first, work);
            self.among[rank].fetch_add(among, Relaxed);
            if rest.is_empty() || first.len() + rest.len() < 2 {
                return true;
            }
            self.mark(first, rest, own);
            own.cursor = Some(0);
            return false;
        };
        let (mut at, mut among) = (start, 0);
        while at < rest.len() && !work.is_over() {
            among += self.cross_second(rest[at], own, work);
            at += 1;
        }
        self.among[rank].fetch_add(among, Relaxed);
        let is_done = at == rest.len();
        own.cursor = (!is_done).then_some(at);
        if is_done {
            first.iter().chain(rest).for_each(|one| own.marks[(one >> 1) as usize] = 0);
        }
        is_done
    }

    fn mark(&self, first: &[u32], rest: &[u32], own: &mut Own) {
        if own.marks.is_empty() {
            own.marks = vec![0; self.vertices.len()];
            self.held.fetch_add(own.marks.len(), Relaxed);
        }
        for one in first.iter().chain(rest) {
            own.marks[(one >> 1) as usize] = 1 + is_double(*one) as u8;
        }
    }

    /// Triangles of the marked vertex with this one; returns what they add to the marked one.
    fn cross_second(&self, second: u32, own: &mut Own, work: &mut Work<'_>) -> u64 {
        let Own { marks, core, .. } = own;
        let (first, rest) = self.list_of((second >> 1) as usize);
        let to_second = 1 + is_double(second);
        let (mut among, mut of_second) = (0, 0);
        for third in first {
            let mark = u64::from(marks[(third >> 1) as usize]);
            let is_met = u64::from(mark > 0);
            among += is_met * (1 + is_double(*third));
            of_second += mark;
            core.among[(third >> 1) as usize] += is_met * to_second;
        }
        for third in rest {
            let mark = u64::from(marks[(third >> 1) as usize]);
            if mark > 0 {
                among += 1 + is_double(*third);
                of_second += mark;
                self.among[(third >> 1) as usize].fetch_add(to_second, Relaxed);
            }
        }
        work.charge(first.len() + rest.len());
        if of_second > 0 {
            self.among[(second >> 1) as usize].fetch_add(of_second, Relaxed);
        }
        among
    }

    fn stretch(&self, kind: Kind) -> Option<Stretch<Kind>> {
        let count = self.field.members.len();
        let morsel = if matches!(kind, Kind::Tally | Kind::Rank) { count } else { MORSEL };
        Some(Stretch { kind, count, morsel })
    }
}

impl<A: Adjacency> Staged for Clustering<A> {
    type Kind = Kind;
    type Own = Own;

    fn first(&self) -> Option<Stretch<Kind>> {
        self.stretch(Kind::Tally)
    }
    fn work(&self, kind: Kind, range: &mut Range<usize>, own: &mut Own, work: &mut Work<'_>) {
        own.core.make(&self.core);
        let mut places = matches!(kind, Kind::Tally | Kind::Rank).then(|| self.places.lock());
        while range.start < range.end && !work.is_over() {
            let is_done = match (kind, &mut places) {
                (Kind::List, _) => {
                    self.list(range.start, own, work);
                    true
                }
                (Kind::Cross, _) => self.cross(range.start, own, work),
                (_, Some(places)) => {
                    self.tally(kind, self.field.members[range.start], places);
                    work.charge(0);
                    true
                }
                _ => true,
            };
            range.start += usize::from(is_done);
        }
    }
    fn hand_in(&self, kind: Kind, range: Range<usize>, own: &mut Own) {
        match kind {
            Kind::Tally | Kind::Rank => {}
            Kind::List => {
                let block = std::mem::take(&mut own.block).whole();
                self.held.fetch_add(block.bytes(), Relaxed);
                let is_first = self.blocks[range.start / MORSEL].set(block).is_ok();
                debug_assert!(is_first, "a block is made once");
            }
            Kind::Cross => own.core.hand_in(&self.among),
        }
    }
    fn next(&self, kind: Kind) -> Option<Stretch<Kind>> {
        match kind {
            Kind::Tally => {
                let mut before = 0;
                for place in self.places.lock().iter_mut() {
                    before += std::mem::replace(place, before);
                }
                self.stretch(Kind::Rank)
            }
            Kind::Rank => self.stretch(Kind::List),
            Kind::List => {
                self.core.settle();
                self.stretch(Kind::Cross)
            }
            Kind::Cross => None,
        }
    }
    fn fault(&self) -> Option<PathError> {
        self.field.fault()
    }
    fn bytes(&self) -> usize {
        let words = self.vertices.capacity() + self.ranks.capacity() + self.around.capacity() + DEGREES;
        let blocks = self.blocks.capacity() * size_of::<OnceLock<Block>>();
        let numbers = words * 4 + self.among.capacity() * 8 + blocks;
        self.field.bytes() + numbers + self.core.bytes() + self.held.load(Relaxed)
    }
}
