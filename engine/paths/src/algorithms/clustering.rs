//! Local clustering coefficient: of all edges there could be among a vertex's neighbours, how many are there?
//!
//! Idea: each triangle gives each of its corners the edges on the opposite side: one, or two where there is one each way. Triangles are
//! found once each, from lists that lead from vertices of few neighbours to those of more, so that no hub's list is crossed by
//! its whole neighbourhood (Latapy, "Main-memory triangle computations"). Edges that repeat count once, those from a vertex to itself not
//! at all. Invariant: every pair of neighbours is listed at one of the two. Cost: O(edges^1.5) time at worst; five bytes
//! a pair and four words a vertex.

use super::Field;
use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::hops::Orientation;
use crate::work::{Progress, Work};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Lists are made.
    List,
    /// Triangles are found.
    Cross,
    Over,
}

/// See the module's head.
pub struct Clustering<A> {
    field: Field<A>,
    /// Where the list of each vertex begins; one more for the end.
    offsets: Vec<usize>,
    ends: Vec<u32>,
    /// Parallel to `ends`: edges between the two, one or two.
    sides: Vec<u8>,
    /// Neighbours of each vertex.
    around: Vec<u32>,
    /// Edges among them.
    among: Vec<u64>,
    /// Position of a vertex in the list that is being crossed, plus one.
    marks: Vec<u32>,
    stage: Stage,
    at: usize,
    /// Position in the list of the member at `at`.
    cursor: usize,
    scratch: Vec<u32>,
    near: Vec<(u32, u8)>,
}

impl<A: Adjacency> Clustering<A> {
    /// Of all members of the field.
    pub fn new(field: Field<A>) -> Clustering<A> {
        let bound = field.bound();
        Clustering {
            field,
            offsets: vec![0; bound + 1],
            ends: Vec::new(),
            sides: Vec::new(),
            around: vec![0; bound],
            among: vec![0; bound],
            marks: vec![0; bound],
            stage: Stage::List,
            at: 0,
            cursor: 0,
            scratch: Vec::new(),
            near: Vec::new(),
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
            match (self.stage, self.field.members.get(self.at).copied()) {
                (Stage::List, Some(vertex)) => self.list(vertex, work),
                (Stage::List, None) => {
                    let from = self.field.members.last().map_or(0, |last| *last as usize + 1);
                    self.offsets[from..].fill(self.ends.len());
                    (self.stage, self.at) = (Stage::Cross, 0);
                }
                (Stage::Cross, Some(vertex)) => self.cross(vertex, work),
                _ => self.stage = Stage::Over,
            }
        }
        Ok(Progress::Done)
    }

    /// Few neighbours first; any order without ties will do.
    fn rank(&self, vertex: u32) -> (u64, u32) {
        let Field { along, against, orientation, .. } = &self.field;
        let behind = if *orientation == Orientation::Directed { against.degree(vertex) } else { 0 };
        (u64::from(along.degree(vertex)) + u64::from(behind), vertex)
    }

    fn list(&mut self, vertex: u32, work: &mut Work<'_>) {
        let Clustering { field, near, scratch, .. } = self;
        near.clear();
        let directed = field.orientation == Orientation::Directed;
        let side = if directed { 1 } else { 3 };
        near.extend(field.along.neighbours(vertex, scratch).iter().map(|far| (*far, side)));
        if directed {
            near.extend(field.against.neighbours(vertex, scratch).iter().map(|far| (*far, 2)));
        }
        work.charge(near.len());
        near.retain(|(far, _)| *far != vertex && field.admits(*far));
        near.sort_unstable();
        near.dedup_by(|one, kept| {
            let same = one.0 == kept.0;
            kept.1 |= if same { one.1 } else { 0 };
            same
        });
        self.around[vertex as usize] = self.near.len() as u32;
        self.begin_list(vertex);
        let own = self.rank(vertex);
        for at in 0..self.near.len() {
            let (far, sides) = self.near[at];
            if own < self.rank(far) {
                self.ends.push(far);
                self.sides.push(sides.count_ones() as u8);
            }
        }
        self.at += 1;
    }

    /// Vertices between the last one listed and this one have empty lists.
    fn begin_list(&mut self, vertex: u32) {
        let from = if self.at == 0 { 0 } else { self.field.members[self.at - 1] as usize + 1 };
        self.offsets[from..=vertex as usize].fill(self.ends.len());
    }

    fn range(&self, vertex: u32) -> std::ops::Range<usize> {
        self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]
    }

    /// A piece of the triangles of which `vertex` is the corner with the fewest neighbours.
    fn cross(&mut self, vertex: u32, work: &mut Work<'_>) {
        let own = self.range(vertex);
        if self.cursor == 0 {
            for at in own.clone() {
                self.marks[self.ends[at] as usize] = (at - own.start) as u32 + 1;
            }
        }
        while self.cursor < own.len() && !work.is_over() {
            let at = own.start + self.cursor;
            let (second, to_second) = (self.ends[at], u64::from(self.sides[at]));
            let range = self.range(second);
            work.charge(range.len());
            let mut opposite = 0;
            let mut of_second = 0;
            for far in range {
                let third = self.ends[far] as usize;
                let mark = self.marks[third] as usize;
                if mark > 0 {
                    opposite += u64::from(self.sides[far]);
                    of_second += u64::from(self.sides[own.start + mark - 1]);
                    self.among[third] += to_second;
                }
            }
            self.among[vertex as usize] += opposite;
            self.among[second as usize] += of_second;
            self.cursor += 1;
        }
        if self.cursor == own.len() {
            own.for_each(|at| self.marks[self.ends[at] as usize] = 0);
            (self.at, self.cursor) = (self.at + 1, 0);
        }
    }

    /// The coefficient of each member: 0 with fewer than two neighbours.
    pub fn values(&self) -> Vec<f64> {
        let value = |vertex: &u32| {
            let around = u64::from(self.around[*vertex as usize]);
            if around < 2 {
                0.0
            } else {
                self.among[*vertex as usize] as f64 / (around * (around - 1)) as f64
            }
        };
        self.field.members.iter().map(value).collect()
    }

    /// What it works on.
    pub fn field(&self) -> &Field<A> {
        &self.field
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let vertices = self.offsets.capacity() * 8 + self.among.capacity() * 8;
        let words =
            self.ends.capacity() + self.around.capacity() + self.marks.capacity() + self.scratch.capacity();
        self.field.bytes() + vertices + words * 4 + self.sides.capacity() + self.near.capacity() * 8
    }
}
