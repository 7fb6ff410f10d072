//! Chooses how each sub-query runs, by the expected work for a row.
//!
//! A test (`EXISTS`) is over with its first answer. Where hardly any work is done for a row it runs to its end, within one operator if it is a chain.
//! Where little work is done for a row, many rows share an instance, whose operators skip rows that have their answer: that costs one bit a row.
//! Where much is done, few rows share one, so that its first answer ends it with all its unfinished work. The rounds of a repeated group go deep
//! first below a LIMIT, where a few ends are enough, else level by level. Hints override the choice. Cost: one estimate of the whole plan.

use crate::algebra::*;
use crate::estimate::estimates;
use crate::scope::{InstanceOrder, Scope, ScopeReason};
use crate::statistics::Planning;
use crate::wanted::Wanted;

/// Rows that an instance should be expected to work on: enough that making it, about a microsecond, does not count.
const INSTANCE_WORK: f64 = 4_096.0;
/// Likewise, where it runs within one operator: to begin anew is nearly free there.
const INLINE_WORK: f64 = 512.0;
/// Likewise, where the work begins with a list for each row: such lists are taken in turns, so that each row's first answer ends its own
/// part, and many rows make longer batches.
const INSTANCE_WORK_IN_TURNS: f64 = 65_536.0;
/// Work for one row up to which an instance costs more than all that it could end.
pub(crate) const TINY_WORK: f64 = 16.0;
/// Work for one row from which on it pays to end it early.
const MUCH_WORK: f64 = 512.0;
/// Rows of work in all rounds of a loop from which on its rounds span executors, and in a sub-query from which on executors share its outer rows: that
/// costs some microseconds more.
const WIDE_WORK: f64 = 65_536.0;
/// Outer rows from which on they can be shared.
const WIDE_ROWS_MIN: f64 = 2.0;
/// Work for one of them from which on a few are worth the wake of an executor.
const WIDE_ROW_WORK: f64 = 128.0;
/// Rounds that are estimated to decide that: by then it is much, or never will be.
const WIDE_ROUNDS_MAX: u32 = 16;
/// Outer rows of one instance at most; more come in several batches anyway.
const INSTANCE_ROWS_MAX: f64 = 1_024.0;

/// Chooses for every sub-query of the plan; `off` disables all scopes.
pub(crate) fn scopes(plan: &mut Plan, planning: &dyn Planning, off: bool) {
    if !plan.any(&mut |node| matches!(node, Plan::Apply(_) | Plan::Limit(_))) {
        return;
    }
    let rows = if off { Vec::new() } else { estimates(plan, planning) };
    let writes = plan.writes();
    Choosing { planning, rows, off, next: 0, depth: 0, writes }.walk(plan, Wanted::All);
}

struct Choosing<'p> {
    planning: &'p dyn Planning,
    /// Expected rows by node, in pre-order.
    rows: Vec<f64>,
    off: bool,
    next: usize,
    /// Sub-queries around the node.
    depth: usize,
    /// The statement writes: what it reads is noted, and is to be no more than it needs.
    writes: bool,
}

impl Choosing<'_> {
    /// Returns the rows that all operators of this plan yield together; `wanted` is the demand for its rows.
    fn walk(&mut self, plan: &mut Plan, wanted: Wanted) -> f64 {
        let own = self.rows.get(self.next).copied().unwrap_or(0.0);
        self.next += 1;
        let below = plan.wanted_of_input(wanted);
        if let (Plan::Limit(node), true) = (&mut *plan, self.off) {
            node.scope = Scope::off(ScopeReason::Off);
        }
        if let Plan::Apply(node) = plan {
            let outer = self.rows.get(self.next).copied().unwrap_or(0.0);
            let input = self.walk(&mut node.input, below);
            let body = self.next;
            // What a repeated body gives is on its way to the LIMIT, too.
            let of_body =
                if matches!(node.kind, ApplyKind::Repeat(_)) { wanted.thinned() } else { Wanted::All };
            self.depth += 1;
            let inside = self.walk(&mut node.inner, of_body);
            self.depth -= 1;
            if !node.scope.is_told() {
                node.scope = self.choose(node, inside / outer.max(1.0), wanted.is_few());
                let grows = self.rows.get(body).copied().unwrap_or(0.0) / outer.max(1.0);
                node.scope.wide = is_wide(node, (outer, wanted), grows, inside / outer.max(1.0));
                // Where few rows are wanted, each is better answered by itself.
                if self.depth == 0 && !wanted.is_few() && !self.writes {
                    super::ends::free(node, self.planning);
                }
            }
            return own + input + inside;
        }
        own + plan.children_mut().into_iter().map(|child| self.walk(child, below)).sum::<f64>()
    }

    fn choose(&self, node: &Apply, work: f64, few: bool) -> Scope {
        if self.off {
            return Scope::off(ScopeReason::Off);
        }
        match (&node.kind, few) {
            (ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_), _) if work < TINY_WORK => {
                Scope { reason: ScopeReason::TinyWork, ..Scope::default() }
            }
            (ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_), _) if work < MUCH_WORK => {
                Scope { reason: ScopeReason::SmallWork, ..Scope::default() }
            }
            (ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_), _) => {
                let in_turns = !few && begins_with_list(&node.inner);
                let together = match super::driver::can_be_pipeline(node) {
                    _ if in_turns => INSTANCE_WORK_IN_TURNS,
                    true => INLINE_WORK,
                    false => INSTANCE_WORK,
                };
                let rows = (together / work).clamp(1.0, INSTANCE_ROWS_MAX) as u32;
                Scope { rows: Some(rows), reason: ScopeReason::EarlyExit, ..Scope::default() }
            }
            (ApplyKind::Repeat(_), true) => {
                Scope { order: InstanceOrder::Dfs, reason: ScopeReason::FewWanted, ..Scope::default() }
            }
            (ApplyKind::Repeat(_), false) => {
                Scope { order: InstanceOrder::Bfs, reason: ScopeReason::AllWanted, ..Scope::default() }
            }
            _ => Scope::default(),
        }
    }
}

/// Is it so much work that executors should share it? A round of a loop, of which all rounds are wanted, makes `grows` times as many rows, and works
/// on `work` for each; any other sub-query has one round.
fn is_wide(node: &Apply, (rows, wanted): (f64, Wanted), grows: f64, work: f64) -> bool {
    let ApplyKind::Repeat(repeat) = &node.kind else {
        return rows >= WIDE_ROWS_MIN
            && work >= WIDE_ROW_WORK
            && rows * work >= WIDE_WORK
            && !wanted.is_few();
    };
    let (mut rows, mut all) = (rows, 0.0);
    for _ in 0..repeat.max.min(WIDE_ROUNDS_MAX) {
        all += rows * work;
        rows *= grows;
    }
    node.scope.reason == ScopeReason::AllWanted && all >= WIDE_WORK
}

/// Does a sub-query begin with the neighbours of each row?
fn begins_with_list(inner: &Plan) -> bool {
    let mut plan = inner;
    while let Some(input) = plan.input() {
        if matches!(input, Plan::Argument(_)) {
            return matches!(plan, Plan::Expand(node) if !node.into && node.edge.is_none());
        }
        plan = input;
    }
    false
}
