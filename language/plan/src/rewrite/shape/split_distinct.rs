//! Rewrite `split_distinct`: an aggregate of distinct values becomes one aggregate that finds them, and another over these.
//!
//! `count(DISTINCT e)` by some keys keeps, for each group, a set of values of its own, on one executor at the end. Grouping by the keys and `e` finds
//! the same values in one table, which all executors merge and which is spilled when memory is short; the outer aggregate counts its groups. Only
//! where every call is of the same distinct values and counts, adds or averages; a plain variable is left alone, as vertices have sets of their own.
//!
//! Sound as both find values equal by the same equivalence, and as null is left out of these calls in either form. It pays from
//! [`ROWS_MIN`] rows on.

use crate::algebra::*;
use crate::estimate::estimate;
use crate::expr::{Expr, Var};
use crate::functions::AggregateFunction;
use crate::names::Names;
use crate::rewrite::substitute::is_volatile;
use crate::statistics::Planning;

/// Rows expected, from which on two aggregates cost less than one with sets.
const ROWS_MIN: f64 = 16_384.0;

/// Splits aggregates of distinct values along the main line of a plan and in the parts that run once.
pub(crate) fn split_distinct(plan: &mut Plan, planning: &dyn Planning, names: &mut Names<'_>) {
    let mut at = plan;
    loop {
        split_here(at, planning, names);
        match at {
            Plan::Join(_) | Plan::Union(_) => {
                return at
                    .children_mut()
                    .into_iter()
                    .for_each(|child| split_distinct(child, planning, names));
            }
            line => match line.input_mut() {
                Some(input) => at = input,
                None => return,
            },
        }
    }
}

fn split_here(plan: &mut Plan, planning: &dyn Planning, names: &mut Names<'_>) {
    let Plan::Aggregate(node) = plan else { return };
    let Some(argument) = distinct_argument(node) else { return };
    if estimate(&node.input, planning) < ROWS_MIN {
        return;
    }
    let value = names.fresh("value");
    let mut found: Vec<(Var, Expr)> = Vec::new();
    for (_, key) in &mut node.keys {
        let column = names.fresh("key");
        found.push((column, std::mem::replace(key, Expr::Variable(column))));
    }
    found.push((value, argument));
    for (_, call) in &mut node.aggregates {
        (call.distinct, call.arguments) = (false, vec![Expr::Variable(value)]);
    }
    let input = node.input.take();
    node.input = Plan::Aggregate(Box::new(Aggregate { input, keys: found, aggregates: Vec::new() }));
}

/// The one argument of which all calls want the distinct values.
fn distinct_argument(node: &Aggregate) -> Option<Expr> {
    let (_, first) = node.aggregates.first()?;
    let [argument] = first.arguments.as_slice() else { return None };
    let adds_up = |call: &AggregateCall| {
        use AggregateFunction::{Average, Count, Sum};
        call.distinct && matches!(call.function, Count | Sum | Average) && call.arguments == first.arguments
    };
    let splits = node.aggregates.iter().all(|(_, call)| adds_up(call))
        && !matches!(argument, Expr::Variable(_) | Expr::Literal(_))
        && !is_volatile(argument)
        && !node.keys.iter().any(|(_, key)| is_volatile(key));
    splits.then(|| argument.clone())
}
