//! Which operation comes next: the shares of Table 5.2, or the same with more writes.

use world::chance::Chance;

/// One operation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// All edges that leave a vertex, by the other end's id.
    GetEdges,
    /// Their number.
    CountEdges,
    /// A vertex's own property.
    GetNode,
    /// A new edge between two vertices.
    CreateEdge,
    /// An edge less.
    DeleteEdge,
}

impl Operation {
    /// All of them, in the order of the table.
    pub const ALL: [Operation; 5] = [
        Operation::GetEdges,
        Operation::CountEdges,
        Operation::GetNode,
        Operation::CreateEdge,
        Operation::DeleteEdge,
    ];
    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Operation::GetEdges => "get_edges",
            Operation::CountEdges => "count_edges",
            Operation::GetNode => "get_node",
            Operation::CreateEdge => "create_edge",
            Operation::DeleteEdge => "delete_edge",
        }
    }
    /// Does it commit?
    pub fn writes(self) -> bool {
        matches!(self, Operation::CreateEdge | Operation::DeleteEdge)
    }
}

/// A share of writes; reads and writes among themselves as in Table 5.2.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Part of all operations that write.
    pub writes: f64,
}

/// Of the reads.
const GET_EDGES: f64 = 0.594;
const COUNT_EDGES: f64 = 0.117;
/// Of the writes.
const CREATE_EDGE: f64 = 0.8;

impl Mix {
    /// The table itself.
    pub const TAO: Mix = Mix { writes: 0.002 };
    /// One write in four operations.
    pub const QUARTER: Mix = Mix { writes: 0.25 };

    /// Draws the next operation.
    pub fn draw(self, chance: &mut Chance) -> Operation {
        if chance.happens(self.writes) {
            return if chance.happens(CREATE_EDGE) { Operation::CreateEdge } else { Operation::DeleteEdge };
        }
        match chance.float() {
            share if share < GET_EDGES => Operation::GetEdges,
            share if share < GET_EDGES + COUNT_EDGES => Operation::CountEdges,
            _ => Operation::GetNode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_those_of_the_table() {
        let mut chance = Chance::seeded(1);
        let drawn: Vec<Operation> = (0..1_000_000).map(|_| Mix::TAO.draw(&mut chance)).collect();
        let share = |operation| drawn.iter().filter(|one| **one == operation).count() as f64 / 1e6;
        let near =
            |measured: f64, right: f64| assert!((measured - right).abs() < 0.003, "{measured} {right}");
        near(share(Operation::GetEdges), 0.998 * 0.594);
        near(share(Operation::CountEdges), 0.998 * 0.117);
        near(share(Operation::GetNode), 0.998 * 0.289);
        near(share(Operation::CreateEdge), 0.002 * 0.8);
    }
}
