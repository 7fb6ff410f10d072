//! Deep plans: what the planner lets through must start and run on a thread's ordinary stack.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use plan::{Plan, Var};
use support::build::*;
use support::{random_graph, read};
use world::chance::Chance;

#[test]
fn a_long_line_of_operators_runs() {
    let deep = || {
        let graph = random_graph(&mut Chance::seeded(1), 3, 3);
        let mut plan = unwind(Plan::Unit, range(0, 0), 0);
        for _ in 0..900 {
            plan = filter(plan, compare(plan::expr::BinaryOperator::Less, var(0), int(5)));
        }
        let rows = read(2, &graph, plan, &[Var(0)]).unwrap();
        assert_eq!(rows.len(), 1);
    };
    // Half of what a thread gets by default.
    std::thread::Builder::new().stack_size(1 << 20).spawn(deep).unwrap().join().unwrap();
}
