//! Distances of all vertices from a source by weight.
//!
//! Idea: tentative distances that only ever fall. Vertices whose distance fell lie in bins, each as wide as a typical step; the nearest bin is
//! processed by all workers together, and their updates fall into it again or into farther ones, until nothing is left (Meyer and Sanders,
//! "Δ-stepping: a parallelizable shortest path algorithm"). Invariant: nothing in a bin can make an earlier one fall. Each distance is the least sum
//! along a path, added up from the source, whichever worker found it. An edge from a vertex nearer than its end must have a weight of zero or more,
//! or the call fails, and with the same edge each time. Cost: a few looks at each edge, eight bytes a vertex, four for each update that is not
//! processed yet.

use super::field::Field;
use super::worker_pool::{Staged, Stretch};
use crate::adjacency::{Adjacency, EdgeScratch};
use crate::error::PathError;
use crate::work::Work;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The weights of edges.
pub trait Weights: Send + Sync {
    /// A reader for one thread.
    type Reader<'a>: ReadWeight
    where
        Self: 'a;
    /// A reader for a while.
    fn reader(&self) -> Self::Reader<'_>;
}

/// See [`Weights`].
pub trait ReadWeight {
    /// The weight of an edge; NaN where it has none.
    fn weight(&mut self, edge: u64) -> f64;
}

impl<F: Fn(u64) -> f64 + Send + Sync> Weights for F {
    type Reader<'a>
        = &'a F
    where
        F: 'a;
    fn reader(&self) -> &F {
        self
    }
}

impl<F: Fn(u64) -> f64> ReadWeight for &F {
    #[inline]
    fn weight(&mut self, edge: u64) -> f64 {
        self(edge)
    }
}

/// Edges whose weights are looked at for the width of bins.
const SAMPLED_EDGES: usize = 1024;
/// Width of a bin, in average weights divided by average edges a vertex.
const WIDTH: f64 = 0.5;
/// Vertices of a bin in a range.
const MORSEL: usize = 256;
/// Vertices in a range where all are looked at once more.
const CHECK_MORSEL: usize = 1024;
/// Bins from the nearest on that a worker sorts into by itself.
const NEAR_BINS: usize = 32;

/// The steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The one position: how wide are bins?
    Sample,
    /// Position in the nearest bin, which is this one: its vertex's edges are followed.
    Relax(u64),
    /// A vertex: has it an edge whose weight should count and cannot?
    Check,
}

/// A worker's position and results.
#[derive(Default)]
pub struct Own {
    cursor: usize,
    scratch: EdgeScratch,
    near: Vec<Vec<u32>>,
    far: Vec<(u64, u32)>,
}

/// See the module's head.
pub struct Cheapest<A, W> {
    field: Field<A>,
    weights: W,
    source: u32,
    /// By vertex: the bits of its distance, which are in the order of distances.
    distances: Vec<AtomicU64>,
    /// Bins in a unit of distance.
    bins_per_unit: AtomicU64,
    bins: Mutex<BTreeMap<u64, Vec<u32>>>,
    waiting: AtomicUsize,
    frontier: RwLock<Arc<Vec<u32>>>,
    /// Was there a weight that is none?
    is_suspect: AtomicBool,
    fault: Mutex<Option<(u64, f64)>>,
    is_faulty: AtomicBool,
}

impl<A: Adjacency, W: Weights> Cheapest<A, W> {
    /// From `source` to every vertex that is admitted.
    ///
    /// # Errors
    /// The source is no vertex.
    pub fn new(field: Field<A>, source: u32, weights: W) -> Result<Cheapest<A, W>, PathError> {
        let bound = field.along.vertex_bound();
        if source >= bound {
            return Err(PathError::VertexOutOfBounds { vertex: source, bound });
        }
        let distances: Vec<AtomicU64> = (0..bound).map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect();
        distances[source as usize].store(0.0_f64.to_bits(), Relaxed);
        Ok(Cheapest {
            field,
            weights,
            source,
            distances,
            bins_per_unit: AtomicU64::new(1.0_f64.to_bits()),
            bins: Mutex::default(),
            waiting: AtomicUsize::new(0),
            frontier: RwLock::default(),
            is_suspect: AtomicBool::new(false),
            fault: Mutex::new(None),
            is_faulty: AtomicBool::new(false),
        })
    }

    /// Vertices are numbered below this.
    pub fn bound(&self) -> usize {
        self.distances.len()
    }

    /// How far a vertex is; none where no path leads there.
    pub fn value(&self, vertex: usize) -> Option<f64> {
        let distance = self.distance(vertex as u32);
        distance.is_finite().then_some(distance)
    }

    #[inline(always)]
    fn distance(&self, vertex: u32) -> f64 {
        f64::from_bits(self.distances[vertex as usize].load(Relaxed))
    }

    #[inline(always)]
    fn bin(&self, distance: f64) -> u64 {
        // What is farther than numbers go lies in the last bin.
        (distance * f64::from_bits(self.bins_per_unit.load(Relaxed))) as u64
    }

    /// A little of many lists.
    fn sample(&self, own: &mut Own) {
        let bound = self.bound();
        let stride = (bound / SAMPLED_EDGES).max(1);
        let (mut reader, mut sum, mut count) = (self.weights.reader(), 0.0, 0_u32);
        for vertex in (0..bound).step_by(stride) {
            let (_, edges) = self.field.along.edges(vertex as u32, &mut own.scratch);
            let weight = edges.get(vertex % edges.len().max(1)).map_or(f64::NAN, |edge| reader.weight(*edge));
            if weight.is_finite() && weight > 0.0 {
                (sum, count) = (sum + weight, count + 1);
            }
        }
        let edges = self.field.along.edges_estimate().unwrap_or(0) as f64 / bound.max(1) as f64;
        let bins_per_unit = edges.max(1.0) * f64::from(count) / (WIDTH * sum);
        if bins_per_unit.is_normal() {
            self.bins_per_unit.store(bins_per_unit.to_bits(), Relaxed);
        }
    }

    /// A piece of the edges of a vertex; true at the end of its list.
    fn relax(
        &self,
        vertex: u32,
        bin: u64,
        own: &mut Own,
        reader: &mut impl ReadWeight,
        work: &mut Work<'_>,
    ) -> bool {
        let distance = self.distance(vertex);
        // It fell since, and was looked at in an earlier bin.
        if own.cursor == 0 && self.bin(distance) != bin {
            work.charge(0);
            return true;
        }
        let Own { cursor, scratch, near, far } = own;
        let (ends, edges) = self.field.along.edges(vertex, scratch);
        let stop = *cursor + work.piece(ends.len() - *cursor);
        for (end, edge) in ends[*cursor..stop].iter().zip(&edges[*cursor..stop]) {
            if self.distance(*end) <= distance || !self.field.admits(*end) {
                continue;
            }
            let weight = reader.weight(*edge);
            if weight.is_nan() || weight < 0.0 {
                self.is_suspect.store(true, Relaxed);
                continue;
            }
            if self.falls(*end, distance + weight) {
                let to = self.bin(distance + weight);
                match near.get_mut(to.saturating_sub(bin) as usize) {
                    Some(list) => list.push(*end),
                    None => far.push((to, *end)),
                }
            }
        }
        work.charge(stop - *cursor);
        let is_done = stop == ends.len();
        *cursor = if is_done { 0 } else { stop };
        is_done
    }

    /// Is this less than the distance so far? Then it is the distance.
    #[inline(always)]
    fn falls(&self, vertex: u32, distance: f64) -> bool {
        let place = &self.distances[vertex as usize];
        let mut before = place.load(Relaxed);
        while distance < f64::from_bits(before) {
            match place.compare_exchange_weak(before, distance.to_bits(), Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(other) => before = other,
            }
        }
        false
    }

    /// Looks for an edge that would count, and cannot.
    fn check(&self, vertex: u32, own: &mut Own, reader: &mut impl ReadWeight, work: &mut Work<'_>) {
        let distance = self.distance(vertex);
        if distance.is_infinite() {
            return work.charge(0);
        }
        let (ends, edges) = self.field.along.edges(vertex, &mut own.scratch);
        for (end, edge) in ends.iter().zip(edges) {
            if self.distance(*end) <= distance || !self.field.admits(*end) {
                continue;
            }
            let weight = reader.weight(*edge);
            if weight.is_nan() || weight < 0.0 {
                let mut fault = self.fault.lock();
                if fault.is_none_or(|(other, _)| *edge < other) {
                    *fault = Some((*edge, weight));
                }
            }
        }
        work.charge(ends.len());
    }

    /// The nearest bin that is not empty.
    fn nearest(&self) -> Option<Stretch<Kind>> {
        let first = self.bins.lock().pop_first();
        let Some((bin, vertices)) = first else {
            *self.frontier.write() = Arc::default();
            let count = self.bound();
            let checks = self.is_suspect.load(Relaxed);
            return checks.then_some(Stretch { kind: Kind::Check, count, morsel: CHECK_MORSEL });
        };
        let count = vertices.len();
        self.waiting.fetch_sub(count, Relaxed);
        *self.frontier.write() = Arc::new(vertices);
        Some(Stretch { kind: Kind::Relax(bin), count, morsel: MORSEL })
    }
}

impl<A: Adjacency, W: Weights> Staged for Cheapest<A, W> {
    type Kind = Kind;
    type Own = Own;

    fn first(&self) -> Option<Stretch<Kind>> {
        Some(Stretch { kind: Kind::Sample, count: 1, morsel: 1 })
    }
    fn work(&self, kind: Kind, range: &mut Range<usize>, own: &mut Own, work: &mut Work<'_>) {
        let frontier = self.frontier.read().clone();
        let mut reader = self.weights.reader();
        own.near.resize_with(NEAR_BINS, Vec::new);
        while range.start < range.end && !work.is_over() {
            let is_done = match kind {
                Kind::Sample => {
                    self.sample(own);
                    work.charge(SAMPLED_EDGES);
                    true
                }
                Kind::Relax(bin) => self.relax(frontier[range.start], bin, own, &mut reader, work),
                Kind::Check => {
                    self.check(range.start as u32, own, &mut reader, work);
                    true
                }
            };
            range.start += usize::from(is_done);
        }
    }
    fn hand_in(&self, kind: Kind, _: Range<usize>, own: &mut Own) {
        let Kind::Relax(bin) = kind else { return };
        let mut bins = self.bins.lock();
        let mut count = own.far.len();
        for (list, beyond) in own.near.iter_mut().zip(0..).filter(|(list, _)| !list.is_empty()) {
            count += list.len();
            bins.entry(bin.saturating_add(beyond)).or_default().append(list);
        }
        for (bin, vertex) in own.far.drain(..) {
            bins.entry(bin).or_default().push(vertex);
        }
        self.waiting.fetch_add(count, Relaxed);
    }
    fn next(&self, kind: Kind) -> Option<Stretch<Kind>> {
        match kind {
            Kind::Sample => {
                self.bins.lock().insert(0, vec![self.source]);
                self.waiting.fetch_add(1, Relaxed);
                self.nearest()
            }
            Kind::Relax(_) => self.nearest(),
            Kind::Check => {
                self.is_faulty.store(self.fault.lock().is_some(), Relaxed);
                None
            }
        }
    }
    fn fault(&self) -> Option<PathError> {
        let bad = |(edge, weight)| PathError::BadWeight { edge, weight };
        let is_faulty = self.is_faulty.load(Relaxed);
        self.field.fault().or_else(|| if is_faulty { self.fault.lock().map(bad) } else { None })
    }
    fn bytes(&self) -> usize {
        let vertices = self.distances.capacity() * 8 + self.frontier.read().capacity() * 4;
        self.field.bytes() + vertices + self.waiting.load(Relaxed) * 4
    }
}
