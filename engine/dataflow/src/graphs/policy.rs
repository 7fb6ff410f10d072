//! Scheduling policies as values: which scope instance runs first, and which vertex inside it.
//!
//! A policy has two halves (Banyan, section 3.1). *Between* the instances of one scope an [`InterPolicy`] decides, *within* an instance
//! an [`IntraPolicy`] does; an inner scope counts as one vertex there. They are applied from the outermost scope inward, so a choice
//! further out always comes first. A policy only orders runnable members: an operator whose output is full is passed over, whatever its rank.

use crate::terms::ids::{ScopeNo, VertexNo};
use crate::terms::message::Tag;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Orders two instances of a scope by their tags: `Less` runs first.
pub type TagOrder = Arc<dyn Fn(Tag, Tag) -> Ordering + Send + Sync>;

/// Orders two members of a scope: `Less` runs first.
pub type MemberOrder = Arc<dyn Fn(Member, Member) -> Ordering + Send + Sync>;

/// A direct member of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Member {
    /// A vertex.
    Vertex(VertexNo),
    /// An inner scope as a whole.
    Scope(ScopeNo),
}

/// Which instance of a scope runs first.
#[derive(Clone, Default)]
pub enum InterPolicy {
    /// In the order in which they got work; after a turn an instance goes to the back. No instance waits for another.
    #[default]
    Fifo,
    /// The smallest tag: earlier iterations of a loop before later ones, older instances of a branch before younger ones.
    Bfs,
    /// The largest tag: later iterations of a loop before earlier ones.
    Dfs,
    /// The smallest rank, given to each instance when it is opened
    /// ([`Context::open_ranked_instance`](crate::Context::open_ranked_instance)), so by any column; the older first among equals.
    BestFirst,
    /// As this function says.
    By(TagOrder),
}

/// Which member of an instance runs first.
#[derive(Clone, Default)]
pub enum IntraPolicy {
    /// In the order in which they got something to do.
    Fifo,
    /// Upstream first: a level is finished before the next is begun.
    Bfs,
    /// Downstream first: intermediate batches move on before more is read, so results come early and memory stays small.
    #[default]
    Dfs,
    /// As this function says.
    By(MemberOrder),
}

impl fmt::Debug for InterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InterPolicy::Fifo => "Fifo",
            InterPolicy::Bfs => "Bfs",
            InterPolicy::Dfs => "Dfs",
            InterPolicy::BestFirst => "BestFirst",
            InterPolicy::By(_) => "By",
        })
    }
}

impl fmt::Debug for IntraPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IntraPolicy::Fifo => "Fifo",
            IntraPolicy::Bfs => "Bfs",
            IntraPolicy::Dfs => "Dfs",
            IntraPolicy::By(_) => "By",
        })
    }
}
