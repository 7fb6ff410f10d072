//! Distances between given pairs, up to a bound: half the way from each end.
//!
//! A path of at most `max` edges has a middle that is at most half as far from either end. So for each first end the distances of a search
//! up to half the bound are kept, for each second end those of a search backwards over the other half, and a pair's distance is the least
//! sum over the vertices that both have met. Each half is kept up to date as [`super::Reach`] keeps its searches; pairs of which an end's
//! distances changed are looked at again.

use super::reach::{Ground, Moved, Source, Walk};
use crate::StandingError;
use crate::network::{Changes, Turn};
use crate::row::Row;
use crate::table::{HashMap, HashSet};
use model::{Value, VertexId};

/// Pairs that are bounded more widely than this are searched from one end: half the way would be the whole graph.
pub(crate) const PAIR_MAX: u32 = 8;

/// The searches from all first, or all second, ends.
#[derive(Default)]
struct Half {
    sources: HashMap<VertexId, Source>,
    /// Pairs by this end.
    pairs: HashMap<VertexId, HashSet<(VertexId, VertexId)>>,
}

impl Half {
    /// Takes up what moved; pairs of which this end's distances changed.
    fn update(
        &mut self,
        moved: &Moved,
        ground: &Ground<'_>,
        touched: &mut HashSet<(VertexId, VertexId)>,
    ) -> Result<(), StandingError> {
        for (source, state) in &mut self.sources {
            let mut before = HashMap::default();
            state.change(*source, moved, ground, &mut before)?;
            if !before.is_empty() {
                touched.extend(self.pairs.get(source).into_iter().flatten());
            }
        }
        Ok(())
    }
    fn add(
        &mut self,
        end: VertexId,
        pair: (VertexId, VertexId),
        ground: &Ground<'_>,
    ) -> Result<(), StandingError> {
        if !self.sources.contains_key(&end) {
            self.sources.insert(end, Source::begin(end, ground)?);
        }
        self.pairs.entry(end).or_default().insert(pair);
        Ok(())
    }
    fn remove(&mut self, end: VertexId, pair: (VertexId, VertexId)) {
        let Some(pairs) = self.pairs.get_mut(&end) else { return };
        pairs.remove(&pair);
        if pairs.is_empty() {
            self.pairs.remove(&end);
            self.sources.remove(&end);
        }
    }
}

/// Distances of pairs.
pub(crate) struct Pair {
    walk: Walk,
    max: u32,
    from: Half,
    to: Half,
    shown: HashMap<(VertexId, VertexId), u32>,
}

impl Pair {
    /// No pair yet; distances of at most `max`.
    pub fn new(walk: Walk, max: u32) -> Pair {
        Pair { walk, max, from: Half::default(), to: Half::default(), shown: HashMap::default() }
    }
    /// Rows of both ends and their distance that come and go. The input's columns are the ends of a pair, each pair once.
    pub fn advance(&mut self, turn: &Turn<'_>, input: &Changes) -> Result<Changes, StandingError> {
        let forth = Ground::of(&self.walk, turn, self.walk.direction, self.max.div_ceil(2));
        let back = Ground::of(&self.walk, turn, self.walk.direction.reversed(), self.max / 2);
        let mut touched = HashSet::default();
        let moved = forth.moved(turn)?;
        if !moved.is_empty() {
            self.from.update(&moved, &forth, &mut touched)?;
            self.to.update(&back.moved(turn)?, &back, &mut touched)?;
        }
        for (row, diff) in input {
            let [Value::Vertex(from), Value::Vertex(to)] = row.values()[..] else { continue };
            let pair = (from, to);
            if *diff > 0 {
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
            let (old, new) = (self.shown.get(&pair).copied(), self.distance(pair));
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
    fn distance(&self, pair: (VertexId, VertexId)) -> Option<u32> {
        // No path is asked from a vertex to itself.
        let is_given =
            pair.0 != pair.1 && self.from.pairs.get(&pair.0).is_some_and(|pairs| pairs.contains(&pair));
        let (from, to) =
            (self.from.sources.get(&pair.0).filter(|_| is_given)?, self.to.sources.get(&pair.1)?);
        let (fewer, more) = if from.distances.len() < to.distances.len() { (from, to) } else { (to, from) };
        let sums =
            fewer.distances.iter().filter_map(|(vertex, here)| Some(here + more.distances.get(vertex)?));
        sums.min()
    }
}
