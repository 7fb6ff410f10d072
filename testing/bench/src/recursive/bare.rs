//! The twin and the base line: breadth-first search from both sides over plain arrays, as bare as it can be written.
//!
//! After Beamer, Asanović and Patterson, with the thresholds of their paper. It keeps a byte a vertex and knows no quota, no
//! snapshot, no thread and no answer but counts by distance.

/// A directed graph as plain arrays, both ways.
pub struct Bare {
    out: Lists,
    into: Lists,
}

struct Lists {
    offsets: Vec<usize>,
    ends: Vec<u32>,
}

impl Lists {
    fn new(vertices: u32, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
        let mut offsets = vec![0; vertices as usize + 1];
        edges.clone().for_each(|(from, _)| offsets[from as usize + 1] += 1);
        for vertex in 0..vertices as usize {
            offsets[vertex + 1] += offsets[vertex];
        }
        let (mut places, mut ends) = (offsets.clone(), vec![0; offsets[vertices as usize]]);
        for (from, to) in edges {
            ends[places[from as usize]] = to;
            places[from as usize] += 1;
        }
        Lists { offsets, ends }
    }
    fn of(&self, vertex: u32) -> &[u32] {
        &self.ends[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }
}

/// The result of a search from one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Other vertices by distance.
    pub by_distance: Vec<u64>,
    /// The length of the shortest cycle through the source.
    pub returns: Option<u8>,
}

impl Lengths {
    /// Ends of paths of at least one edge, and the sum of their distances; the source among them or not.
    pub fn summed(&self, with_source: bool) -> (i64, i64) {
        let returns = self.returns.filter(|_| with_source);
        let steps = self.by_distance.iter().zip(0..).map(|(count, steps)| *count as i64 * steps).sum::<i64>();
        let ends = self.by_distance.iter().sum::<u64>() as i64;
        (ends + i64::from(returns.is_some()), steps + i64::from(returns.unwrap_or(0)))
    }
}

impl Bare {
    /// Of these edges.
    pub fn new(vertices: u32, edges: &[(u32, u32)]) -> Bare {
        let reversed = edges.iter().map(|(from, to)| (*to, *from));
        Bare { out: Lists::new(vertices, edges.iter().copied()), into: Lists::new(vertices, reversed) }
    }
    /// Edges that leave `vertex`.
    pub fn degree(&self, vertex: u32) -> usize {
        self.out.of(vertex).len()
    }
    /// Vertices.
    pub fn vertices(&self) -> u32 {
        self.out.offsets.len() as u32 - 1
    }
    /// The length of the shortest cycle through `source`, given the distances from it.
    fn returns(&self, source: u32, level: &[u8]) -> Option<u8> {
        let near = self.into.of(source).iter().map(|vertex| level[*vertex as usize]);
        near.filter(|level| *level != u8::MAX).min().map(|level| level + 1)
    }
    /// How many vertices are at each distance.
    ///
    /// # Panics
    /// If a vertex is farther than 254 edges.
    pub fn search(&self, source: u32) -> Lengths {
        let mut level = vec![u8::MAX; self.vertices() as usize];
        level[source as usize] = 0;
        let mut counts = vec![0];
        let (mut frontier, mut edges_left, mut below) = (vec![source], self.out.ends.len(), false);
        while !frontier.is_empty() {
            let depth = u8::try_from(counts.len()).expect("a byte holds a distance");
            let handled: usize = frontier.iter().map(|vertex| self.out.of(*vertex).len()).sum();
            below = if below { frontier.len() * 18 >= level.len() } else { handled > edges_left / 14 };
            edges_left -= handled.min(edges_left);
            frontier = match below {
                true => self.level_below(&mut level, depth),
                false => self.level_above(&frontier, &mut level, depth),
            };
            counts.push(frontier.len() as u64);
        }
        Lengths { by_distance: counts, returns: self.returns(source, &level) }
    }
    /// Hops from one vertex to another, level by level and from above alone.
    pub fn distance(&self, source: u32, target: u32) -> Option<i64> {
        let mut level = vec![u8::MAX; self.vertices() as usize];
        level[source as usize] = 0;
        let (mut frontier, mut depth) = (vec![source], 0_u8);
        while !frontier.is_empty() && level[target as usize] == u8::MAX {
            depth += 1;
            frontier = self.level_above(&frontier, &mut level, depth);
        }
        let found = level[target as usize];
        (found != u8::MAX).then_some(i64::from(found))
    }
    fn level_below(&self, level: &mut [u8], depth: u8) -> Vec<u32> {
        let mut reached = Vec::new();
        for vertex in 0..self.vertices() {
            let unseen = level[vertex as usize] == u8::MAX;
            if unseen && self.into.of(vertex).iter().any(|near| level[*near as usize] == depth - 1) {
                level[vertex as usize] = depth;
                reached.push(vertex);
            }
        }
        reached
    }
    fn level_above(&self, frontier: &[u32], level: &mut [u8], depth: u8) -> Vec<u32> {
        let mut reached = Vec::new();
        for far in frontier.iter().flat_map(|vertex| self.out.of(*vertex)) {
            if level[*far as usize] == u8::MAX {
                level[*far as usize] = depth;
                reached.push(*far);
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_returns_of_a_small_graph() {
        let bare = Bare::new(5, &[(0, 1), (1, 2), (2, 0), (2, 3), (0, 1)]);
        let from_0 = bare.search(0);
        assert_eq!((from_0.summed(true), from_0.summed(false)), ((4, 9), (3, 6)));
        assert_eq!((bare.distance(0, 3), bare.distance(3, 0), bare.distance(1, 1)), (Some(3), None, Some(0)));
        assert_eq!(bare.search(3), Lengths { by_distance: vec![0, 0], returns: None });
    }
}
