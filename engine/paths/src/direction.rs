//! From which side a level is taken: the one place where that is decided, for every search by levels.
//!
//! Idea: when the frontier holds a good part of all edges, most of them lead to vertices already seen, while an unseen vertex meets a
//! parent after a few tries and looks no further (Beamer, Asanović and Patterson, "Direction-optimizing breadth-first search"). A search
//! in lanes stops at a vertex only when it has all lanes, so it wants a fuller frontier. Invariant: a choice changes no answer.

/// From which side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The frontier's vertices look at their lists.
    Above,
    /// Vertices not yet seen look for the frontier in theirs.
    Below,
}

/// Below one vertex in so many the frontier's edges need not even be counted.
pub(crate) const COUNTED_SHARE: u64 = 256;

/// When to change sides: the thresholds of one kind of search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    /// From above to below: the frontier's edges are more than one in so many of those that no frontier has had.
    edges_share: u64,
    /// From below to above: the frontier holds less than one in so many of all vertices.
    vertices_share: u64,
}

/// One source. The paper says 14 and 18; on skewed graphs of degree 10 and 16 a share of 14 looks from below a level too early.
pub(crate) const SINGLE: Thresholds = Thresholds { edges_share: 4, vertices_share: 18 };
/// Lanes, whose frontiers repeat vertices.
pub(crate) const LANES: Thresholds = Thresholds { edges_share: 6, vertices_share: 18 };

/// Keeps count of the edges left and of the side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direction {
    thresholds: Thresholds,
    edges_left: u64,
    edges_all: u64,
    vertices: u64,
    side: Side,
}

impl Direction {
    /// Of a graph of so many vertices and edges.
    pub(crate) fn new(thresholds: Thresholds, vertices: u32, edges: u64) -> Direction {
        let vertices = u64::from(vertices);
        Direction { thresholds, edges_left: edges, edges_all: edges, vertices, side: Side::Above }
    }

    /// For another search.
    pub(crate) fn restart(&mut self) {
        (self.edges_left, self.side) = (self.edges_all, Side::Above);
    }

    /// Must the edges of a frontier of `count` vertices be counted for [`Direction::choose`]?
    pub(crate) fn asks_edges(&self, count: u64) -> bool {
        self.side == Side::Above && count * COUNTED_SHARE >= self.vertices
    }

    /// The side for a frontier of `count` vertices with so many edges, counted if [`Direction::asks_edges`].
    pub(crate) fn choose(&mut self, count: u64, edges: u64) -> Side {
        let many = edges > self.edges_left / self.thresholds.edges_share;
        self.side = match self.side {
            _ if count * COUNTED_SHARE < self.vertices => Side::Above,
            Side::Above if many => Side::Below,
            Side::Below if count * self.thresholds.vertices_share < self.vertices => Side::Above,
            side => side,
        };
        self.edges_left = self.edges_left.saturating_sub(edges);
        self.side
    }

    /// Lanes meet the same edges again and again: none is ever handled for good.
    pub(crate) fn choose_among_all(&mut self, count: u64, edges: u64) -> Side {
        self.edges_left = self.edges_all;
        self.choose(count, edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 10,000 vertices and 100,000 edges.
    fn sides(thresholds: Thresholds, levels: &[(u64, u64)]) -> Vec<bool> {
        let mut direction = Direction::new(thresholds, 10_000, 100_000);
        levels.iter().map(|(count, edges)| direction.choose(*count, *edges) == Side::Below).collect()
    }

    #[test]
    fn a_search_goes_below_where_much_is_open_and_back_where_little_is() {
        // The second level has more than a quarter of the edges; a level of few vertices is always taken from above.
        let levels = [(10, 100), (1_000, 30_000), (3_000, 40_000), (600, 5_000), (500, 10), (40, 10)];
        assert_eq!(sides(SINGLE, &levels), [false, true, true, true, false, false]);
        // As many edges as the threshold, and one more.
        assert_eq!(sides(SINGLE, &[(1_000, 25_000)]), [false]);
        assert_eq!(sides(SINGLE, &[(1_000, 25_001)]), [true]);
        // What was handled is left no more: a quarter of the rest is less.
        assert_eq!(sides(SINGLE, &[(1_000, 20_000), (1_000, 20_001)]), [false, true]);
        // Fewer than one vertex in so many.
        assert_eq!(sides(SINGLE, &[(39, 90_000)]), [false]);
        assert_eq!(sides(SINGLE, &[(40, 90_000)]), [true]);
        assert_eq!(sides(SINGLE, &[(1_000, 50_000), (556, 1), (555, 1)]), [true, true, false]);
        assert_eq!(sides(LANES, &[(1_000, 16_667)]), [true]);
        let mut direction = Direction::new(SINGLE, 10_000, 100_000);
        assert_eq!((direction.asks_edges(39), direction.asks_edges(40)), (false, true));
        assert_eq!(direction.choose(1_000, 90_000), Side::Below);
        assert!(!direction.asks_edges(5_000), "from below, only vertices are counted");
        let mut lanes = Direction::new(SINGLE, 10_000, 100_000);
        let chosen: Vec<Side> = (0..2).map(|_| lanes.choose_among_all(1_000, 20_000)).collect();
        assert_eq!(chosen, [Side::Above, Side::Above]);
    }
}
