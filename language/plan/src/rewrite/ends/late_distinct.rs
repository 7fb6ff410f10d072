//! Rewrite `late_distinct`: rows that hardly repeat are tested before they are compared with one another.
//!
//! `DISTINCT` below a test costs an exchange where several executors found the rows; above it, it sees only the rows that are left. A test reads only
//! the compared columns, so the order of both changes no answer (of columns that are only carried, any row's will do, as there is no sort below). It
//! pays where rows hardly repeat and a test is little work: the ends of a search that emits each end once, from a few rows. And a sub-query that is
//! only tested for having a row needs no `DISTINCT` at its top. Cost: some estimates for each such search.

use crate::algebra::*;
use crate::estimate::{Known, known, work};
use crate::physical::scopes::TINY_WORK;
use crate::statistics::Planning;

/// Searches from more rows than these are likely to meet the same ends.
const SOURCES_MAX: f64 = 16.0;

/// Moves distincts above tests; true if anything was moved, so that columns may be carried in vain.
pub(crate) fn late_distinct(plan: &mut Plan, planning: &dyn Planning) -> bool {
    // Each pass moves one test further down; there are as many as tests stand above one another.
    let mut moved = false;
    while pass(plan, planning) {
        moved = true
    }
    moved
}

/// A chain is followed without recursion, except into sub-plans.
fn pass(plan: &mut Plan, planning: &dyn Planning) -> bool {
    let (mut at, mut moved) = (plan, false);
    loop {
        moved |= swap(at, planning);
        if let Plan::Apply(node) = at {
            moved |= pass(&mut node.inner, planning);
            if matches!(node.kind, ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_)) {
                strip(&mut node.inner);
            }
        }
        at = match at {
            Plan::Join(_) | Plan::Union(_) => {
                let children = at.children_mut().into_iter();
                return children.fold(moved, |moved, child| pass(child, planning) | moved);
            }
            line => match line.input_mut() {
                Some(input) => input,
                None => return moved,
            },
        }
    }
}

/// Swaps a test above a `DISTINCT` with it, if that pays.
fn swap(plan: &mut Plan, planning: &dyn Planning) -> bool {
    let Plan::Apply(test) = plan else { return false };
    let (ApplyKind::Semi | ApplyKind::Anti, Plan::Distinct(distinct)) = (&test.kind, &test.input) else {
        return false;
    };
    if !hardly_repeats(&distinct.input, planning) || work_a_row(test, planning) >= TINY_WORK {
        return false;
    }
    let Plan::Distinct(mut distinct) = test.input.take() else { return false };
    test.input = distinct.input.take();
    distinct.input = plan.take();
    *plan = Plan::Distinct(distinct);
    true
}

/// Rows that all operators of a test yield together for one row.
fn work_a_row(test: &Apply, planning: &dyn Planning) -> f64 {
    let outer = known(&test.input, planning, &Known::one_row());
    work(&test.inner, planning, &outer) / outer.rows.max(1.0)
}

fn hardly_repeats(plan: &Plan, planning: &dyn Planning) -> bool {
    let mut at = plan;
    while let Plan::Filter(test) = at {
        at = &test.input
    }
    matches!(at, Plan::ExpandPath(search)
        if search.distinct_ends && known(&search.input, planning, &Known::one_row()).rows <= SOURCES_MAX)
}

/// Drops distincts over rows of which one suffices.
fn strip(plan: &mut Plan) {
    while let Plan::Distinct(distinct) = plan {
        *plan = distinct.input.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LabelExpr;
    use crate::expr::{Expr, Var};
    use crate::pattern::{PathMode, Selector};
    use crate::scope::Scope;
    use model::Direction;

    /// Ten vertices, and hardly an edge.
    struct Sparse;

    impl Planning for Sparse {
        fn vertices(&self, _: Option<&str>) -> f64 {
            10.0
        }
        fn edges(&self, _: Option<&str>, _: &[&str], _: Direction) -> f64 {
            3.0
        }
        fn far_share(&self, _: Option<&str>, _: &[&str], _: Direction, _: &str) -> f64 {
            1.0
        }
        fn index(&self, _: &str, _: &[&str]) -> Option<Vec<String>> {
            None
        }
        fn distinct(&self, _: &str, _: &[&str]) -> Option<f64> {
            None
        }
    }

    /// SplitMix64.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (bits ^ (bits >> 31)) % bound
        }
    }

    fn search(input: Plan, at: u32, distinct_ends: bool) -> Plan {
        Plan::ExpandPath(Box::new(ExpandPath {
            input,
            from: Var(at),
            edges: None,
            edges_reversed: false,
            length: None,
            to: Var(at + 1),
            types: vec!["R".into()],
            direction: Direction::Out,
            into: false,
            labels: LabelExpr::Any,
            min: 1,
            max: Some(2),
            mode: PathMode::Trail,
            selector: Selector::Every,
            distinct_ends,
            edge_predicate: None,
        }))
    }

    fn distinct(input: Plan, at: u32) -> Plan {
        Plan::Distinct(Box::new(Distinct { input, columns: vec![Var(at)], carried: Vec::new() }))
    }

    fn test(input: Plan, inner: Plan, kind: ApplyKind, at: u32) -> Plan {
        let (imports, scope) = (vec![Var(at)], Scope::default());
        Plan::Apply(Box::new(Apply { input, inner, imports, kind, scope, rank: None }))
    }

    /// A chain of searches with distincts of their ends, tests and filters above them; tests have such chains, too.
    fn line(random: &mut Random, at: &mut u32, start: Plan, depth: u64) -> Plan {
        let mut plan = start;
        for _ in 0..1 + random.below(3) {
            plan = search(plan, *at, random.below(5) > 0);
            *at += 1;
            for _ in 0..random.below(5) {
                plan = match random.below(6) {
                    0 => Plan::Filter(Box::new(Filter { input: plan, predicate: Expr::Variable(Var(*at)) })),
                    1 | 2 => distinct(plan, *at),
                    other => {
                        let start = Plan::Argument(vec![Var(*at)]);
                        let (own, mut below) = (*at, *at + 1);
                        let inner = match depth {
                            0 => start,
                            _ => line(random, &mut below, start, depth - 1),
                        };
                        let kind = if other == 3 { ApplyKind::Anti } else { ApplyKind::Semi };
                        test(plan, inner, kind, own)
                    }
                };
            }
        }
        plan
    }

    /// The obvious twin: is there any place where a test would still change places?
    fn has_more(plan: &Plan) -> bool {
        swap(&mut plan.clone(), &Sparse) || plan.children().into_iter().any(has_more)
    }

    /// A past fault: two moves in one pass along one chain were counted as none; any move leads to another pass, until there is none.
    #[test]
    fn tests_move_until_none_would_move_any_more() {
        let (mut some, mut none) = (0, 0);
        for seed in 0..3_000 {
            let mut random = Random(seed);
            let depth = random.below(2);
            let whole = line(&mut random, &mut 0, Plan::Unit, depth);
            let (moves, mut plan) = (has_more(&whole), whole.clone());
            assert_eq!(late_distinct(&mut plan, &Sparse), moves, "seed {seed}: {whole:?}");
            assert!(!has_more(&plan), "seed {seed}: {whole:?} becomes {plan:?}");
            let mut again = plan.clone();
            assert!(!late_distinct(&mut again, &Sparse) && again == plan, "seed {seed}");
            some += u32::from(moves);
            none += u32::from(!moves);
        }
        assert!(some > 300 && none > 300, "{some} moved, {none} did not");
    }
}
