//! Outer rows of a sub-query that need no more inner rows: an existence test that has its answer, a LIMIT that is full.
//!
//! Work for a batch of outer rows runs in one scope instance, so it cannot be cancelled row by row. Instead whoever has enough for an
//! outer row marks it, in a bitmap that the instance shares, and operators that make rows out of rows ask before they begin on one.
//! A *domain* is such a bitmap's place in the plan: one below each test, one below each LIMIT.
//!
//! Invariant: a mark is set only where everything in the domain feeds nothing but the operator that set it. Cost: one bit test a row.

use crate::operator::apply::{ScopeRows, inputs, writes};
use dataflow::Tag;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use model::{Batch, Column};
use plan::Plan;
use plan::algebra::ApplyKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The outer rows of one instance that are done. It lives on one executor; atomic only because operators may move between threads.
#[derive(Debug)]
pub(crate) struct DoneRows(Vec<AtomicU64>);

impl DoneRows {
    pub(crate) fn new(rows: usize) -> DoneRows {
        DoneRows((0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }
    pub(crate) fn mark(&self, row: usize) {
        if let Some(word) = self.0.get(row / 64) {
            word.fetch_or(1 << (row % 64), Ordering::Relaxed);
        }
    }
    pub(crate) fn contains(&self, row: usize) -> bool {
        self.0.get(row / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (row % 64) & 1 == 1)
    }
}

/// A domain of one scope.
#[derive(Clone)]
pub(crate) struct Domain {
    rows: Arc<ScopeRows>,
    number: usize,
}

impl Domain {
    /// Its bitmap in this instance.
    pub(crate) fn bitmap(&self, executor: usize, tag: Tag) -> Arc<DoneRows> {
        self.rows.done(executor, tag, self.number)
    }
}

/// What a plan node may know of its domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The domain it works in.
    pub(crate) inside: Option<usize>,
    /// The domain below it, which it marks.
    pub(crate) below: Option<usize>,
    /// One row of it for each outer row is enough.
    pub(crate) once: bool,
}

/// The domains of a scope's plan, by node.
#[derive(Default)]
pub(crate) struct Domains {
    spots: HashMap<usize, Spot, FixedState>,
    count: usize,
}

pub(crate) fn address(plan: &Plan) -> usize {
    std::ptr::from_ref(plan) as usize
}

impl Domains {
    /// The domains of an inner plan. `first_only`: its first row for each outer row is all that is asked for; the domain of that is 0.
    pub(crate) fn of(inner: &Plan, first_only: bool) -> Domains {
        let mut domains = Domains::default();
        if !writes(inner) {
            domains.count = usize::from(first_only);
            domains.assign(inner, first_only.then_some(0), first_only);
        }
        domains
    }
    fn assign(&mut self, plan: &Plan, inside: Option<usize>, once: bool) {
        let is_limit = matches!(plan, Plan::Limit(_));
        let below = is_limit.then_some(self.count);
        self.count += usize::from(is_limit);
        self.spots.insert(address(plan), Spot { inside, below, once });
        let once = once && matches!(plan, Plan::Project(_) | Plan::Extend(_) | Plan::Distinct(_));
        for input in inputs(plan) {
            self.assign(input, below.or(inside), once);
        }
    }
    pub(crate) fn spot(&self, plan: &Plan) -> Spot {
        self.spots.get(&address(plan)).copied().unwrap_or_default()
    }
    /// The domain of this number.
    pub(crate) fn domain(rows: &Arc<ScopeRows>, number: usize) -> Domain {
        Domain { rows: rows.clone(), number }
    }
}

/// The nodes below a LIMIT whose rows come to it one by one: they hand on few rows at first.
pub(crate) fn hurried(plan: &Plan) -> HashSet<usize, FixedState> {
    let mut hurried = HashSet::default();
    let mut waiting = vec![(plan, false)];
    while let Some((plan, hurries)) = waiting.pop() {
        if hurries {
            hurried.insert(address(plan));
        }
        let below = match plan {
            Plan::Limit(node) => node.scope.early,
            // These have seen all rows before they hand on the first.
            Plan::Sort(_) | Plan::Aggregate(_) => false,
            _ => hurries && !plan.writes_here(),
        };
        match plan {
            // The rounds of a repeated group are on their way to the LIMIT, too.
            Plan::Apply(node) => {
                let inner = below && matches!(node.kind, ApplyKind::Repeat(_));
                waiting.extend([(&node.input, below), (&node.inner, inner)])
            }
            _ => waiting.extend(plan.children().into_iter().map(|child| (child, below))),
        }
    }
    hurried
}

/// The number of the outer row that a batch row belongs to.
pub(crate) fn number(batch: &Batch, column: usize, row: usize) -> usize {
    let carried = batch.column(column);
    match carried.column() {
        Column::Int(values, _) => values[carried.at(row)] as usize,
        _ => carried.get(row).as_int().unwrap_or(0) as usize,
    }
}

/// What an operator that makes rows out of rows holds of its domain.
#[derive(Clone)]
pub(crate) struct Early {
    /// Where the instance's bitmap is looked up; within an operator it is given.
    pub(crate) domain: Option<Domain>,
    /// Column of the outer row's number.
    pub(crate) row: usize,
    pub(crate) once: bool,
    /// The instance's bitmap, once looked up.
    pub(crate) done: Option<Arc<DoneRows>>,
}

impl Early {
    /// Finds the bitmap of the scope instance it works in, unless it has.
    pub(crate) fn look_up(&mut self, executor: usize, tag: Tag) {
        if self.done.is_none() {
            self.done = self.domain.as_ref().map(|domain| domain.bitmap(executor, tag));
        }
    }
    pub(crate) fn is_done(&self, batch: &Batch, row: usize) -> bool {
        self.done.as_ref().is_some_and(|done| done.contains(number(batch, self.row, row)))
    }
    pub(crate) fn mark(&self, batch: &Batch, row: usize) {
        if let Some(done) = &self.done {
            done.mark(number(batch, self.row, row));
        }
    }
}
