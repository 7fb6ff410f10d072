//! The definition of an ExpandPath, and what its kinds of search need of it.

use crate::access::Environment;
use crate::adjacency::Walk;
use crate::labels::LabelCheck;
use expression::Compiled;
use model::{Direction, EdgeTypeId, VertexId};
use paths::Hops;
use plan::LabelExpr;
use plan::expr::Name;
use plan::pattern::{PathMode, Selector};
use std::cell::OnceCell;
use std::sync::Arc;
use store::Snapshot;

/// The definition of one ExpandPath, the same for all its rows and executors.
pub(crate) struct Expansion {
    pub(super) from: usize,
    pub(super) to: Option<usize>,
    pub(super) types: Vec<Name>,
    pub(super) direction: Direction,
    pub(super) labels: LabelExpr,
    pub(super) hops: Hops,
    pub(super) mode: PathMode,
    pub(super) selector: Selector,
    pub(super) distinct_ends: bool,
    pub(super) predicate: Option<Arc<Compiled>>,
    pub(super) reversed: bool,
    pub(super) keep_edges: bool,
    pub(super) keep_length: bool,
    pub(super) keep_to: bool,
    /// Rows may share a search: the plan allows it, and rows may come out in another order than they came in.
    pub(super) shares: bool,
}

/// Hints at cheaper forms, for a path to each end, and for all paths.
const INSTEAD_OF_PATHS: &str = "it returns a path to each end: ask for length(p), count(*) or the DISTINCT ends \
                                instead, or give a LIMIT";
const INSTEAD_OF_ALL_PATHS: &str = "it lists every path: ask for DISTINCT ends, for ANY SHORTEST paths and their \
                                    length(p), or whether one EXISTS instead, bound the hops, or give a LIMIT";

impl Expansion {
    /// Sets the hint that is given if the budget is exceeded.
    pub(super) fn say_instead(&self, environment: &Environment) {
        let lists_all = !self.distinct_ends && self.selector != Selector::AnyShortest;
        let instead = match (lists_all, self.keep_edges) {
            (true, _) => INSTEAD_OF_ALL_PATHS,
            (false, true) => INSTEAD_OF_PATHS,
            (false, false) => return,
        };
        environment.instead.get_or_init(|| instead);
    }
}

/// State that depends on the view.
pub(super) struct Bound {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) types: Option<Arc<Vec<EdgeTypeId>>>,
    pub(super) labels: LabelCheck,
    /// Along the path, the same for all rows unless edges have conditions; and against it.
    pub(super) along: OnceCell<Arc<Walk>>,
    pub(super) against: OnceCell<Arc<Walk>>,
}

/// The walks of a search: along the path, and against it.
pub(crate) struct Walks {
    pub(crate) along: Arc<Walk>,
    pub(crate) against: Arc<Walk>,
}

/// Keeps an end and its distance, as far as they are read.
pub(super) fn keep_end(
    plan: &Expansion,
    ends: &mut Vec<VertexId>,
    lengths: &mut Vec<i64>,
    end: VertexId,
    length: u32,
) {
    if plan.keep_to {
        ends.push(end);
    }
    if plan.keep_length {
        lengths.push(i64::from(length));
    }
}
