//! Distances between given pairs, up to a bound: half the way from each end.
//!
//! A path of at most `max` edges has a middle that is at most half as far from either end. So for each first end the distances of a search up to half
//! the bound are kept, for each second end those of a search backwards over the other half, and a pair's distance is the least sum over the vertices
//! that both have met. Each half is maintained as [`super::Reach`] maintains its searches; pairs of which an end's distances changed are computed
//! again. The searches near a changed edge are looked up by its near end, so an edge far from all of them costs one look-up however many there are.

use super::reach::{Ground, Moved, Source};
use super::returns::shortest_return;
use super::walk::{SourceStart, Walk};
use crate::StandingError;
use crate::event_context::{Changes, EventContext};
use crate::row::Row;
use crate::table::{HashMap, HashSet};
use crate::weight::Weight;
use model::{Value, VertexId};

/// Pairs that are bounded more widely than this are searched from one end: half the way would be the whole graph.
pub(crate) const PAIR_MAX: u32 = 8;

/// The searches from all first, or all second, ends.
struct Half {
    sources: HashMap<VertexId, Source>,
    /// Pairs by this end.
    pairs: HashMap<VertexId, HashSet<(VertexId, VertexId)>>,
    /// Most steps of a search.
    max: u32,
    /// By vertex: the sources that are less than `max` away, so that a step from it counts for them.
    inner: HashMap<VertexId, HashSet<VertexId>>,
}

impl Half {
    fn new(max: u32) -> Half {
        Half { sources: HashMap::default(), pairs: HashMap::default(), max, inner: HashMap::default() }
    }
    /// Updates the distances by changed edges; returns the pairs of which this end's distances changed.
    fn update(
        &mut self,
        moved: &Moved,
        ground: &Ground<'_>,
        touched: &mut HashSet<(VertexId, VertexId)>,
    ) -> Result<(), StandingError> {
        for (source, moved) in self.concerned(moved) {
            let Some(state) = self.sources.get_mut(&source) else { continue };
            let mut before = HashMap::default();
            state.change(source, &moved, ground, &mut before)?;
            if before.is_empty() {
                continue;
            }
            touched.extend(self.pairs.get(&source).into_iter().flatten());
            let is_inner = |distance: Option<u32>| distance.is_some_and(|distance| distance < self.max);
            for (vertex, old) in before {
                match (is_inner(old), is_inner(state.distances.get(&vertex).copied())) {
                    (false, true) => enter(&mut self.inner, vertex, source),
                    (true, false) => leave(&mut self.inner, vertex, source),
                    _ => {}
                }
            }
        }
        Ok(())
    }
    /// The changed edges, by the sources that they concern.
    fn concerned(&self, moved: &Moved) -> HashMap<VertexId, Moved> {
        let mut by_source: HashMap<VertexId, Moved> = HashMap::default();
        let sources = |near: &VertexId| self.inner.get(near).into_iter().flatten();
        for edge in &moved.gone {
            sources(&edge.0).for_each(|source| by_source.entry(*source).or_default().gone.push(*edge));
        }
        for edge in &moved.come {
            sources(&edge.0).for_each(|source| by_source.entry(*source).or_default().come.push(*edge));
        }
        by_source
    }
    fn add(
        &mut self,
        end: VertexId,
        pair: (VertexId, VertexId),
        ground: &Ground<'_>,
    ) -> Result<(), StandingError> {
        if !self.sources.contains_key(&end) {
            let source = Source::begin(end, ground)?;
            let inner = source.distances.iter().filter(|(_, distance)| **distance < self.max);
            inner.for_each(|(vertex, _)| enter(&mut self.inner, *vertex, end));
            self.sources.insert(end, source);
        }
        self.pairs.entry(end).or_default().insert(pair);
        Ok(())
    }
    fn remove(&mut self, end: VertexId, pair: (VertexId, VertexId)) {
        let Some(pairs) = self.pairs.get_mut(&end) else { return };
        pairs.remove(&pair);
        if pairs.is_empty() {
            self.pairs.remove(&end);
            let source = self.sources.remove(&end);
            let met = source.iter().flat_map(|source| &source.distances);
            let inner = met.filter(|(_, distance)| **distance < self.max);
            inner.for_each(|(vertex, _)| leave(&mut self.inner, *vertex, end));
        }
    }
}

fn enter(inner: &mut HashMap<VertexId, HashSet<VertexId>>, vertex: VertexId, source: VertexId) {
    inner.entry(vertex).or_default().insert(source);
}

fn leave(inner: &mut HashMap<VertexId, HashSet<VertexId>>, vertex: VertexId, source: VertexId) {
    let Some(sources) = inner.get_mut(&vertex) else { return };
    sources.remove(&source);
    if sources.is_empty() {
        inner.remove(&vertex);
    }
}

/// Distances of pairs.
pub(crate) struct Pair {
    walk: Walk,
    from: Half,
    to: Half,
    shown: HashMap<(VertexId, VertexId), u32>,
    /// Pairs of a vertex with itself, where a way back counts: their answer is searched anew when anything moves.
    alone: HashSet<VertexId>,
    max: u32,
}

impl Pair {
    /// No pair yet; distances of at most `max`.
    pub fn new(walk: Walk, max: u32) -> Pair {
        let (from, to) = (Half::new(max.div_ceil(2)), Half::new(max / 2));
        Pair { walk, from, to, shown: HashMap::default(), alone: HashSet::default(), max }
    }
    /// Rows of both ends and their distance that come and go. The input's columns are the ends of a pair, each pair once.
    pub fn advance(&mut self, turn: &EventContext<'_>, input: &Changes) -> Result<Changes, StandingError> {
        let forth = Ground::of(&self.walk, turn, self.walk.direction, self.from.max);
        let back = Ground::of(&self.walk, turn, self.walk.direction.reversed(), self.to.max);
        let mut touched = HashSet::default();
        let moved = forth.moved(turn);
        if !moved.is_empty() {
            self.from.update(&moved, &forth, &mut touched)?;
            self.to.update(&back.moved(turn), &back, &mut touched)?;
            touched.extend(self.alone.iter().map(|vertex| (*vertex, *vertex)));
        }
        for (row, diff) in input {
            let [Value::Vertex(from), Value::Vertex(to)] = row.values()[..] else { continue };
            let pair = (from, to);
            if from == to && self.walk.home == SourceStart::Cycle {
                if *diff > 0 {
                    self.alone.insert(from)
                } else {
                    self.alone.remove(&from)
                };
            } else if *diff > 0 {
                self.from.add(from, pair, &forth)?;
                self.to.add(to, pair, &back)?;
            } else {
                self.from.remove(from, pair);
                self.to.remove(to, pair);
            }
            touched.insert(pair);
        }
        let mut found = Changes::new();
        for pair in touched {
            let (old, new) = (self.shown.get(&pair).copied(), self.distance(pair, turn)?);
            if old == new {
                continue;
            }
            let row = |distance: u32| {
                Row::new([Value::Vertex(pair.0), Value::Vertex(pair.1), Value::Int(i64::from(distance))])
            };
            found.extend(old.map(|distance| (row(distance), -1)));
            found.extend(new.map(|distance| (row(distance), 1)));
            match new {
                Some(distance) => self.shown.insert(pair, distance),
                None => self.shown.remove(&pair),
            };
        }
        Ok(found)
    }
    /// The least sum over the vertices that both halves have met.
    fn distance(
        &self,
        pair: (VertexId, VertexId),
        turn: &EventContext<'_>,
    ) -> Result<Option<u32>, StandingError> {
        if pair.0 == pair.1 {
            let is_given = self.alone.contains(&pair.0);
            let ground = Ground::of(&self.walk, turn, self.walk.direction, self.max);
            return if is_given { shortest_return(pair.0, self.walk.back, &ground) } else { Ok(None) };
        }
        let is_given = self.from.pairs.get(&pair.0).is_some_and(|pairs| pairs.contains(&pair));
        let halves = (self.from.sources.get(&pair.0), self.to.sources.get(&pair.1));
        let (Some(from), Some(to)) = halves else { return Ok(None) };
        if !is_given {
            return Ok(None);
        }
        let (fewer, more) = if from.distances.len() < to.distances.len() { (from, to) } else { (to, from) };
        let sums =
            fewer.distances.iter().filter_map(|(vertex, here)| Some(here + more.distances.get(vertex)?));
        Ok(sums.min())
    }
}

impl Weight for Half {
    fn bytes_behind(&self) -> usize {
        self.sources.bytes_behind() + self.pairs.bytes_behind() + self.inner.bytes_behind()
    }
}

impl Weight for Pair {
    fn bytes_behind(&self) -> usize {
        let halves = self.from.bytes_behind() + self.to.bytes_behind();
        halves + self.shown.bytes_behind() + self.alone.bytes_behind()
    }
}
