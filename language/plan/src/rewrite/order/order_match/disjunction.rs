//! Conditions that a disjunction implies for one property: `v.k = x AND … OR v.k = y AND …` demands that `v.k` is one of `x` and `y`.
//!
//! Where the disjunction is about several vertices, that is a condition on one of them alone, which can be tested, or looked up, before the others
//! are bound ([`Problem::imply`]). Where it is about one vertex, it is a look-up whose results are tested again. Sound because where the disjunction
//! is true, one arm is, and so is the equality in this arm. A value that is null, or of another type, finds nothing and belongs to an arm that is not
//! true. Cost: linear in the disjunction for each vertex.

use super::problem::{Predicate, Problem};
use super::starts::{Kind, test_of};
use super::ways::INPUT;
use crate::expr::{BinaryOperator, Expr, Name, Var};
use crate::rewrite::substitute::is_volatile;

/// Arms of a disjunction whose values are looked up. Each look-up costs about a microsecond.
const ARMS_MAX: usize = 64;

impl Problem<'_> {
    /// Adds the conditions that disjunctions over several vertices imply for one of them. The selectivity of the disjunction itself is then raised
    /// accordingly.
    pub(super) fn imply(&mut self) {
        for number in 0..self.predicates.len() {
            if (self.predicates[number].need & !INPUT).count_ones() < 2 {
                continue;
            }
            for vertex in 0..self.vertices.len() {
                let var = self.vertices[vertex].variable;
                for (key, values) in demanded(&self.predicates[number].expr, var) {
                    if self.need(&values.free_variables()) & !INPUT != 0 || is_volatile(&values) {
                        continue;
                    }
                    let property = Expr::Property(Box::new(Expr::Variable(var)), key);
                    self.add_predicate(Expr::binary(BinaryOperator::In, property, values));
                    let kept = self.predicates.last().map_or(1.0, |implied: &Predicate| implied.share);
                    let whole = &mut self.predicates[number].share;
                    *whole = (*whole / kept).min(1.0)
                }
            }
        }
    }
}

/// For each property of the vertex that every arm demands a value of, the list of these values.
pub(super) fn demanded(predicate: &Expr, var: Var) -> Vec<(Name, Expr)> {
    if !matches!(predicate, Expr::Binary(BinaryOperator::Or, ..)) {
        return Vec::new();
    }
    let arms = parts(predicate, BinaryOperator::Or, ARMS_MAX);
    let Some((first, others)) = arms.as_deref().and_then(<[_]>::split_first) else { return Vec::new() };
    let mut found: Vec<(Name, Vec<Expr>)> = Vec::new();
    for (key, value) in demands(first, var) {
        if !found.iter().any(|(known, _)| *known == key) {
            found.push((key, vec![value]))
        }
    }
    for arm in others {
        let demands = demands(arm, var);
        found.retain_mut(|(key, values)| {
            let demand = demands.iter().find(|(known, _)| known == key);
            values.extend(demand.map(|(_, value)| value.clone()));
            demand.is_some()
        })
    }
    found.into_iter().map(|(key, values)| (key, Expr::List(values))).collect()
}

/// The values that the conjuncts of an arm demand of properties of the vertex.
fn demands(arm: &Expr, var: Var) -> Vec<(Name, Expr)> {
    let conjuncts = parts(arm, BinaryOperator::And, usize::MAX).unwrap_or_default();
    let tests = conjuncts.into_iter().filter_map(|conjunct| test_of(conjunct, var, 0));
    tests.filter(|test| test.kind == Kind::Equal).map(|test| (test.key, test.value)).collect()
}

/// The operands of the operator at the top, flattened without recursion; none where there are more than `most`.
fn parts(expr: &Expr, operator: BinaryOperator, most: usize) -> Option<Vec<&Expr>> {
    let (mut waiting, mut found) = (vec![expr], Vec::new());
    while let Some(expr) = waiting.pop() {
        match expr {
            Expr::Binary(joined, left, right) if *joined == operator => waiting.extend([&**right, &**left]),
            _ if found.len() == most => return None,
            part => found.push(part),
        }
    }
    Some(found)
}
