//! Columns that may fail are computed only for the rows that `ORDER BY … LIMIT` keeps.
//!
//! A query that is evaluated once computes columns that its order does not read only for the rows that are left; so an error on a dropped row must
//! not end the standing query either. Columns that cannot fail stay where they are: fewer columns are to be stored then. These are existing values,
//! attributes of the entities of patterns, the lengths of paths, and comparisons of such.

use plan::expr::{BinaryOperator, UnaryOperator};
use plan::late::take_late;
use plan::{Expr, Function, Plan, Var};
use std::collections::HashSet;

/// Moves columns that may fail above the limits of sorts.
pub(super) fn delay(plan: &mut Plan) {
    let known = KnownKinds::of(plan);
    delay_below(plan, &known);
}

fn delay_below(plan: &mut Plan, known: &KnownKinds) {
    if matches!(plan, Plan::Limit(_) | Plan::Skip(_)) {
        let mut at = &mut *plan;
        let late = loop {
            match at {
                Plan::Limit(node) => at = &mut node.input,
                Plan::Skip(node) => at = &mut node.input,
                Plan::Sort(node) => {
                    let read = node.keys.iter().flat_map(|key| key.expr.free_variables()).collect();
                    break take_late(&mut node.input, &read, &|expr| known.may_fail(expr));
                }
                _ => break None,
            }
        };
        if let Some(late) = late {
            *plan = late.above(plan.take());
        }
    }
    plan.children_mut().into_iter().for_each(|child| delay_below(child, known));
}

/// Variables that are known to hold an entity or a path, or null, in all rows.
#[derive(Default)]
struct KnownKinds {
    vertices: HashSet<Var>,
    edges: HashSet<Var>,
    paths: HashSet<Var>,
}

impl KnownKinds {
    fn of(plan: &Plan) -> KnownKinds {
        let (mut known, mut others) = (KnownKinds::default(), HashSet::new());
        known.collect(plan, &mut others);
        // What a pattern was given holds anything until the pattern has looked.
        for kind in [&mut known.vertices, &mut known.edges, &mut known.paths] {
            kind.retain(|var| !others.contains(var));
        }
        known
    }

    fn collect(&mut self, plan: &Plan, others: &mut HashSet<Var>) {
        let is_computed = |(var, expr): &&(Var, Expr)| *expr != Expr::Variable(*var);
        match plan {
            Plan::Match(node) => {
                self.vertices.extend(node.pattern.vertices.iter().map(|vertex| vertex.variable));
                let single = node.pattern.edges.iter().filter(|edge| edge.run.is_none());
                self.edges.extend(single.map(|edge| edge.variable));
            }
            Plan::Extend(node) => {
                for (var, expr) in &node.items {
                    let kind = if matches!(expr, Expr::PathOf(_)) { &mut self.paths } else { &mut *others };
                    kind.insert(*var);
                }
            }
            Plan::Project(node) => others.extend(node.items.iter().filter(is_computed).map(|(var, _)| *var)),
            Plan::Aggregate(node) => {
                others.extend(node.keys.iter().filter(is_computed).map(|(var, _)| *var));
                others.extend(node.aggregates.iter().map(|(var, _)| *var));
            }
            Plan::Unwind(node) => others.extend([node.variable]),
            Plan::Union(node) => others.extend(node.columns.iter().map(|(var, ..)| *var)),
            Plan::CallProcedure(node) => others.extend(node.yields.iter().map(|(_, var)| *var)),
            _ => {}
        }
        plan.children().into_iter().for_each(|child| self.collect(child, others));
    }

    /// Can it fail on some row? Yes, unless it is known to be safe.
    fn may_fail(&self, expr: &Expr) -> bool {
        use BinaryOperator::*;
        let is_vertex = |of: &Expr| matches!(of, Expr::Variable(var) if self.vertices.contains(var));
        let is_edge = |of: &Expr| matches!(of, Expr::Variable(var) if self.edges.contains(var));
        let is_entity = |of: &Expr| is_vertex(of) || is_edge(of);
        let is_safe = match expr {
            Expr::Literal(_) | Expr::Variable(_) | Expr::Parameter(_) | Expr::PathOf(_) => true,
            Expr::Property(of, _) | Expr::HasLabels(of, _) => is_entity(of),
            Expr::Call(function, of) => match (function, &of[..]) {
                (Function::Labels, [of]) => is_vertex(of),
                (Function::Type, [of]) => is_edge(of),
                (Function::Keys | Function::Properties | Function::Id | Function::ElementId, [of]) => {
                    is_entity(of)
                }
                (Function::Length, [Expr::Variable(var)]) => self.paths.contains(var),
                _ => false,
            },
            Expr::Unary(UnaryOperator::IsNull | UnaryOperator::IsNotNull, of) => !self.may_fail(of),
            Expr::Binary(Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual, a, b) => {
                !self.may_fail(a) && !self.may_fail(b)
            }
            Expr::List(items) => !items.iter().any(|item| self.may_fail(item)),
            Expr::Map(entries) => !entries.iter().any(|(_, value)| self.may_fail(value)),
            _ => false,
        };
        !is_safe
    }
}
