//! Decides whether a plan, or a Datalog program, is tried on the calling thread, before it is submitted to executors.
//!
//! Idea: a plan whose driver is a pipeline only walks a few steps from looked-up vertices. It usually takes microseconds, unless it meets a hub or a
//! long list. So a plan has credit: each run that finished in time earns a little, one that did not costs much, and without credit only one run in
//! [`PROBE_EVERY`] is tried. One of these that finishes in time ends the debt: runs that read the graph from disk say nothing of those
//! that find it in memory. A statement that writes is tried outside of explicit transactions only, since only then can the writes of an unfinished run be
//! rolled back. Cost: one relaxed counter a run.

use plan::physical::OperatorDriver;
use plan::statement::Mode;
use plan::{Statement, StatementKind};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Initial and maximal credit of a plan.
const CREDIT_MAX: i32 = 64;
/// Cost of a run that did not finish in time: one in seventeen may be such, then the time tried is lost in a twentieth of the runs at most.
const COST: i32 = 16;
/// Without credit, one run in this many is tried all the same: the graph may have changed, or the first runs had to read it from disk. The failed try
/// then costs 200 us, of sixty-four runs of more than that each.
const PROBE_EVERY: u32 = 64;

/// The standing of a plan or a program.
#[derive(Debug)]
pub struct Credit {
    is_fit: bool,
    left: AtomicI32,
    runs: AtomicU32,
}

impl Credit {
    /// Of a statement.
    pub fn new(statement: &Statement) -> Credit {
        let is_fit = match &statement.kind {
            StatementKind::Query { .. } => {
                statement.mode != Mode::Profile && statement.driver() == OperatorDriver::Pipeline
            }
            _ => false,
        };
        Credit { is_fit, left: AtomicI32::new(CREDIT_MAX), runs: AtomicU32::new(0) }
    }
    /// Of work that is no plan.
    pub fn of_job() -> Credit {
        Credit { is_fit: true, left: AtomicI32::new(CREDIT_MAX), runs: AtomicU32::new(0) }
    }
    /// Of work that is never tried.
    pub fn of_long_job() -> Credit {
        Credit { is_fit: false, ..Credit::of_job() }
    }
    /// Is this run tried on the calling thread?
    pub fn is_due(&self) -> bool {
        let probes = || self.runs.fetch_add(1, Ordering::Relaxed).is_multiple_of(PROBE_EVERY);
        self.is_fit && (self.left.load(Ordering::Relaxed) > 0 || probes())
    }
    /// A run was tried; was it over in time?
    pub fn tried(&self, in_time: bool) {
        let left = self.left.load(Ordering::Relaxed);
        // Threads may overwrite each other's entries: it is an estimate.
        if !in_time {
            self.left.store((left - COST).max(-COST), Ordering::Relaxed);
        } else if left < CREDIT_MAX {
            self.left.store(left.max(0) + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credit(text: &str) -> Credit {
        let statement = cypher::compile(text).expect("right Cypher");
        let snapshot = transact::open(None, &transact::OpenOptions::default()).expect("memory").0.snapshot();
        let statement = plan::optimize(statement, &crate::planning::SnapshotPlanning::new(snapshot));
        let statement = statement.expect("a plan");
        Credit::new(&statement)
    }

    #[test]
    fn only_short_walks_from_looked_up_vertices_are_tried() {
        for text in [
            "RETURN 1",
            "UNWIND [1, 2] AS x RETURN sum(x)",
            "UNWIND [2, 1] AS x RETURN x LIMIT 1",
            "CREATE (n {x: 1})",
            "UNWIND [1, 2] AS x CREATE (n {x: x}) SET n.y = 2 RETURN n",
            "RETURN 1 AS x UNION RETURN 2 AS x",
            "CREATE (n) RETURN n.x AS x UNION ALL UNWIND [1, 2] AS x RETURN x",
        ] {
            assert!(credit(text).is_due(), "{text}");
        }
        for text in [
            "MATCH (n) RETURN n",
            "MERGE (n {x: 1})",
            "PROFILE RETURN 1",
            "RETURN 1 AS x UNION MATCH (n) RETURN n AS x",
            "SHOW INDEXES",
        ] {
            assert!(!credit(text).is_due(), "{text}");
        }
    }

    #[test]
    fn a_plan_that_takes_too_long_too_often_is_left_to_executors() {
        let credit = credit("RETURN 1");
        (0..1_000).for_each(|_| credit.tried(true));
        let overruns =
            (0..100).take_while(|_| credit.left.load(Ordering::Relaxed) > 0).map(|_| credit.tried(false));
        assert_eq!(overruns.count(), 4);
        let tried = (0..10 * PROBE_EVERY).filter(|_| credit.is_due()).count();
        assert_eq!(tried, 10, "now and then it may show that it has become short");
        credit.tried(true);
        assert!((0..100).all(|_| credit.is_due()), "it has");
        credit.tried(false);
        assert_eq!((0..PROBE_EVERY).filter(|_| credit.is_due()).count(), 1, "one failure is debt again");
        (0..2 * COST).for_each(|_| credit.tried(true));
        assert!((0..100).all(|_| credit.is_due()));
    }
}
