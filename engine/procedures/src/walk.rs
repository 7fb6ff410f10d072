//! The walk of an algorithm through the graph beside its adjacency: the caller defines how edges are read, and whether reads are recorded in a
//! transaction.

use dataflow::Failure;
use model::{EdgeId, EdgeRef, VertexId};
use paths::Adjacency;
use store::StoreError;

/// The adjacency of one snapshot for one set of edge types and one direction, which keeps its first failure until the search has stopped.
pub trait GraphWalk: Adjacency + 'static {
    /// An edge met between two vertices, in stored direction.
    fn edge(&self, id: EdgeId, from: VertexId, to: VertexId) -> EdgeRef;
    /// The outcome; or, where it is an error, the default and a failure of this walk.
    fn or_fail<T: Default>(&self, outcome: Result<T, StoreError>) -> T;
    /// Why the search stopped, if it was because of this walk.
    fn take_failure(&self) -> Option<Failure>;
}
