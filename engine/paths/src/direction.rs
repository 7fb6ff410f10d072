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
