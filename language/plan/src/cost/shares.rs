//! ConditionShares of conditions that all hold: each among the rows for which those before it are true.
//!
//! Conditions on one vertex depend on each other: two bounds of a range keep far less, or far more, than the product of their shares. So the
//! conditions of a vertex are estimated together where the graph has a sample of its label, and each gets what it adds.

use super::{selectivity, values};
use crate::expr::{BinaryOperator, Constant, Expr, Name, Var};
use crate::rewrite::substitute::{has_subquery, is_volatile};
use crate::statistics::Planning;
use model::Value;

/// Hits that are assumed where the sample has none.
const HITS_MIN: f64 = 0.5;
/// Parts of a condition, and elements of its lists: a larger one is not computed while a plan is made.
const PARTS_MAX: usize = 256;

/// The conditions met so far.
#[derive(Debug, Default)]
pub(crate) struct ConditionShares {
    /// By vertex: all of its conditions, and their share.
    held: Vec<(Var, Expr, f64)>,
}

impl ConditionShares {
    /// Share of the rows for which the next condition is true, of those for which all before are; `label_of` gives the known label of a vertex.
    pub(crate) fn next(
        &mut self,
        planning: &dyn Planning,
        condition: &Expr,
        label_of: &dyn Fn(Var) -> Option<Name>,
    ) -> f64 {
        let alone = selectivity(planning, condition, label_of);
        let Some((vertex, label)) = subject(condition, label_of) else { return alone };
        let at = self.held.iter().position(|(held, ..)| *held == vertex);
        let (all, before) = match at.map(|at| &self.held[at]) {
            Some((_, held, share)) => {
                (Expr::binary(BinaryOperator::And, held.clone(), condition.clone()), *share)
            }
            None => (condition.clone(), 1.0),
        };
        let Some(sampled) = planning.sampled(&label, vertex, &all) else { return alone };
        let (hits, of) = (sampled.hits as f64, sampled.of.max(1) as f64);
        let share = if !values::is_indexed(planning, condition, label_of) && before >= HITS_MIN / of {
            hits.max(HITS_MIN) / of / before
        } else if at.is_some() {
            // What the index knows of this condition, but no more than so many hits can stand for.
            alone.min((hits + 2.0 * hits.sqrt() + 3.0) / of / before)
        } else {
            alone
        };
        let share = share.min(1.0);
        let held = (vertex, all, before * share);
        match at {
            Some(at) => self.held[at] = held,
            None => self.held.push(held),
        }
        share
    }
}

/// The vertex that a condition reads, and its label, if it reads a property of it and nothing else, and has one value.
fn subject(condition: &Expr, label_of: &dyn Fn(Var) -> Option<Name>) -> Option<(Var, Name)> {
    let free = condition.free_variables();
    let mut vars = free.iter();
    let (Some(vertex), None) = (vars.next().copied(), vars.next()) else { return None };
    let (mut reads, mut parts) = (false, 0);
    condition.any(&mut |part| {
        reads |= matches!(part, Expr::Property(..));
        parts += match part {
            Expr::Literal(Constant(Value::List(list))) => 1 + list.len(),
            _ => 1,
        };
        false
    });
    let is_fit = reads && parts <= PARTS_MAX && !is_volatile(condition) && !has_subquery(condition);
    is_fit.then(|| label_of(vertex)).flatten().map(|label| (vertex, label))
}
