//! Rewrite `join_keys`: an equality between two independent parts of a plan becomes the key of a hash join.
//!
//! Two forms are met. A filter on a join whose sides each compute one side of the equality: both sides get the value as a column, and the
//! join compares it. A filter on a line of operators whose upper part reads nothing of the lower one (a scan for each row): the upper part
//! becomes the build side of a join. In a sub-query, where the lower part starts from the outer row, the build side is made
//! once for all outer rows ([`Join::once`]). Any expressions can be keys, and a join compares as `=` does. All other conditions are tested
//! above the join, but those that read the build side alone, which are tested before it is built.
//!
//! Sound where neither part differs between computations, and where nothing is written before the build side is read. Cost: a walk, and
//! two estimates for each new join.

use crate::algebra::*;
use crate::estimate::estimate;
use crate::expr::{BinaryOperator, Expr, Var};
use crate::names::Names;
use crate::rewrite::shape::once::start_alone;
use crate::rewrite::substitute::{has_subquery, has_volatile, is_volatile};
use crate::statistics::Planning;
use crate::vars::Vars;

/// Rows from which on a table is better than a new scan for each.
const ROWS_MIN: f64 = 2.0;
/// Rows of a build side that are buffered for few probes, which read as much without a table.
const HELD_ROWS_MAX: f64 = (1 << 20) as f64;
/// Probes from which on any table pays.
const PROBES_MANY: f64 = 64.0;

/// Where the walk is.
#[derive(Clone, Copy)]
struct WalkPosition {
    /// Within a sub-query that is run for this many outer rows.
    outer: Option<f64>,
    /// Something was written before.
    written: bool,
}

struct Keying<'a, 'n> {
    planning: &'a dyn Planning,
    names: &'a mut Names<'n>,
}

/// Gives joins their computed keys, everywhere in the plan.
pub(crate) fn join_keys(plan: &mut Plan, planning: &dyn Planning, names: &mut Names<'_>) {
    if plan.any(&mut |node| matches!(node, Plan::Filter(filter) if has_equality(&filter.predicate))) {
        Keying { planning, names }.walk(plan, WalkPosition { outer: None, written: false })
    }
}

fn has_equality(predicate: &Expr) -> bool {
    predicate.any(&mut |part| matches!(part, Expr::Binary(BinaryOperator::Equal, ..)))
}

impl Keying<'_, '_> {
    fn walk(&mut self, plan: &mut Plan, place: WalkPosition) {
        let mut at = plan;
        loop {
            self.here(at, place);
            match at {
                Plan::Apply(node) => {
                    if !matches!(node.kind, ApplyKind::Repeat(_)) {
                        let written = place.written || node.input.writes() || node.inner.writes();
                        let rows = estimate(&node.input, self.planning) * place.outer.unwrap_or(1.0);
                        self.walk(&mut node.inner, WalkPosition { outer: Some(rows), written });
                    }
                    at = &mut node.input
                }
                Plan::Join(node) => {
                    self.walk(&mut node.build, place);
                    at = &mut node.probe
                }
                Plan::Union(node) => {
                    self.walk(&mut node.left, place);
                    let written = place.written || node.left.writes();
                    return self.walk(&mut node.right, WalkPosition { written, ..place });
                }
                line => match line.input_mut() {
                    Some(input) => at = input,
                    None => return,
                },
            }
        }
    }

    /// The filter on top.
    fn here(&mut self, plan: &mut Plan, place: WalkPosition) {
        let Plan::Filter(node) = plan else { return };
        if !has_equality(&node.predicate) {
            return;
        }
        if let Plan::Join(_) = node.input {
            return self.key_join(plan);
        }
        let Some(count) = independent(node) else { return };
        let rest = below(&mut node.input, count);
        if rest.writes() || (place.outer.is_some() && place.written) {
            return;
        }
        let probes = estimate(rest, self.planning) * place.outer.unwrap_or(1.0);
        let probe = rest.take();
        let held = estimate(&node.input, self.planning);
        let pays = probes >= ROWS_MIN && (held <= HELD_ROWS_MAX || probes >= PROBES_MANY);
        // In a sub-query the lower part must start from the outer row; the upper one then starts alone.
        let starts = place.outer.is_none() || starts_from_argument(&probe);
        if !pays || !starts {
            *below(&mut node.input, count) = probe;
            return;
        }
        let mut build = node.input.take();
        start_alone(&mut build);
        let made = build.columns();
        let conjuncts = std::mem::replace(&mut node.predicate, Expr::literal(true)).conjuncts();
        let reads_build = |expr: &Expr| expr.free_variables().iter().all(|var| made.contains(var));
        let own = |expr: &Expr| reads_build(expr) && !expr.free_variables().is_empty() && !is_volatile(expr);
        let (own, conjuncts): (Vec<Expr>, Vec<Expr>) = conjuncts.into_iter().partition(own);
        let join = Join { build: filtered(build, own), probe, on: Vec::new(), once: place.outer.is_some() };
        node.input = Plan::Join(Box::new(join));
        node.predicate = Expr::all(conjuncts);
        self.key_join(plan);
    }

    /// Equalities of the filter that the two sides of the join below it compute become its keys.
    fn key_join(&mut self, plan: &mut Plan) {
        let Plan::Filter(node) = plan else { return };
        let Plan::Join(join) = &mut node.input else { return };
        let (build, probe) = (join.build.columns(), join.probe.columns());
        let build: Vars = build.into_iter().filter(|var| !join.on.contains(var)).collect();
        let probe: Vars = probe.into_iter().filter(|var| !join.on.contains(var)).collect();
        let conjuncts = std::mem::replace(&mut node.predicate, Expr::literal(true)).conjuncts();
        let (mut left, mut right, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in conjuncts {
            match sides(conjunct, &build, &probe) {
                Ok((of_build, of_probe)) => {
                    let key = self.names.fresh("key");
                    join.on.push(key);
                    left.push((key, of_build));
                    right.push((key, of_probe))
                }
                Err(conjunct) => others.push(conjunct),
            }
        }
        extend(&mut join.build, left);
        extend(&mut join.probe, right);
        let input = node.input.take();
        *plan = filtered(input, others);
    }
}

fn extend(plan: &mut Plan, items: Vec<(Var, Expr)>) {
    if !items.is_empty() {
        *plan = Plan::Extend(Box::new(Extend { input: plan.take(), items }))
    }
}

fn filtered(input: Plan, conjuncts: Vec<Expr>) -> Plan {
    if conjuncts.is_empty() {
        return input;
    }
    Plan::Filter(Box::new(Filter { input, predicate: Expr::all(conjuncts) }))
}

/// The two sides of an equality, the one that the first columns compute first; or the conjunct again.
fn sides(conjunct: Expr, build: &Vars, probe: &Vars) -> Result<(Expr, Expr), Expr> {
    let Expr::Binary(BinaryOperator::Equal, a, b) = conjunct else { return Err(conjunct) };
    let of = |expr: &Expr, columns: &Vars| {
        let free = expr.free_variables();
        !free.is_empty() && free.iter().all(|var| columns.contains(var))
    };
    let again = |expr: &Expr| !is_volatile(expr) && !has_subquery(expr);
    if again(&a) && again(&b) {
        if of(&a, build) && of(&b, probe) {
            return Ok((*a, *b));
        }
        if of(&b, build) && of(&a, probe) {
            return Ok((*b, *a));
        }
    }
    Err(Expr::Binary(BinaryOperator::Equal, a, b))
}

/// How many operators right below the filter read nothing of those below them, where an equality of the filter joins the two parts.
fn independent(node: &Filter) -> Option<usize> {
    let (mut made, mut read) = (Vars::new(), Vars::new());
    let (mut at, mut count) = (&node.input, 0);
    while extends_each_row(at) && !has_volatile(at) {
        let (makes, reads) = (at.makes(), at.reads());
        at = at.input()?;
        count += 1;
        // An edge between bound ends names a column that is there already.
        let known = at.columns();
        made.extend(makes.into_iter().filter(|var| !known.contains(var)));
        read.extend(reads);
        if read.iter().all(|var| made.contains(var)) {
            let joins = |expr: &Expr| sides(expr.clone(), &made, &known).is_ok();
            return node.predicate.clone().conjuncts().iter().any(joins).then_some(count);
        }
    }
    None
}

/// Does it give the same new columns to every row, if it reads none?
fn extends_each_row(plan: &Plan) -> bool {
    matches!(
        plan,
        Plan::ScanVertices(_)
            | Plan::SeekVertices(_)
            | Plan::SeekEdges(_)
            | Plan::SeekIds(_)
            | Plan::Expand(_)
            | Plan::ExpandPath(_)
            | Plan::Intersect(_)
            | Plan::Extend(_)
            | Plan::Filter(_)
    )
}

/// The plan `count` operators below.
fn below(plan: &mut Plan, count: usize) -> &mut Plan {
    let mut at = plan;
    for _ in 0..count {
        at = at.input_mut().expect("so many operators with an input were counted")
    }
    at
}

/// Does this chain begin with the rows of the enclosing sub-query?
fn starts_from_argument(plan: &Plan) -> bool {
    let mut at = plan;
    while let Some(input) = at.input() {
        at = input
    }
    matches!(at, Plan::Argument(_))
}
