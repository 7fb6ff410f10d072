//! What may fail is computed of the rows that `ORDER BY … LIMIT` keeps, of no others.
//!
//! The query that is asked anew computes columns that its order does not read only of the rows that are left; so what fails on a row that is
//! dropped must not end the standing query either. Columns that cannot fail stay where they are: a row of few columns is less to keep.

use plan::algebra::{Extend, Plan, Project};
use plan::expr::{BinaryOperator, UnaryOperator};
use plan::{Expr, Function, Var};

/// Moves columns that may fail above the limits of what is sorted.
pub(super) fn delay(plan: &mut Plan) {
    if matches!(plan, Plan::Limit(_) | Plan::Skip(_)) {
        let mut at = &mut *plan;
        let late = loop {
            match at {
                Plan::Limit(node) => at = &mut node.input,
                Plan::Skip(node) => at = &mut node.input,
                Plan::Sort(node) => {
                    let read = node.keys.iter().flat_map(|key| key.expr.free_variables()).collect();
                    break late_of(&mut node.input, read);
                }
                _ => break None,
            }
        };
        if let Some(late) = late {
            let input = std::mem::replace(plan, Plan::Unit);
            *plan = match late {
                Late::Project(items) => Plan::Project(Box::new(Project { input, items })),
                Late::Extend(items) => Plan::Extend(Box::new(Extend { input, items })),
            };
        }
    }
    plan.children_mut().into_iter().for_each(delay);
}

/// What stands above the limits afterwards.
enum Late {
    Project(Vec<(Var, Expr)>),
    Extend(Vec<(Var, Expr)>),
}

/// Takes out what can wait; `read` is read by the order.
fn late_of(below: &mut Plan, mut read: Vec<Var>) -> Option<Late> {
    match below {
        Plan::Project(node) => {
            let is_made = |var: &Var| {
                node.items.iter().any(|(made, expr)| made == var && *expr != Expr::Variable(*var))
            };
            let waits = |(var, expr): &(Var, Expr)| {
                !read.contains(var) && may_fail(expr) && !expr.free_variables().iter().any(is_made)
            };
            let (late, mut now): (Vec<_>, Vec<_>) = node.items.iter().cloned().partition(waits);
            if late.is_empty() {
                return None;
            }
            let above = |(var, expr): &(Var, Expr)| {
                let waits = late.iter().any(|(late, _)| late == var);
                (*var, if waits { expr.clone() } else { Expr::Variable(*var) })
            };
            let items = node.items.iter().map(above).collect();
            for var in late.iter().flat_map(|(_, expr)| expr.free_variables()) {
                if !now.iter().any(|(made, _)| *made == var) {
                    now.push((var, Expr::Variable(var)));
                }
            }
            node.items = now;
            Some(Late::Project(items))
        }
        // An item may read an item before it, so what waits is decided from the last to the first.
        Plan::Extend(node) => {
            let (mut late, mut now) = (Vec::new(), Vec::new());
            for (var, expr) in std::mem::take(&mut node.items).into_iter().rev() {
                if !read.contains(&var) && may_fail(&expr) {
                    late.push((var, expr));
                } else {
                    read.extend(expr.free_variables());
                    now.push((var, expr));
                }
            }
            now.reverse();
            late.reverse();
            node.items = now;
            (!late.is_empty()).then_some(Late::Extend(late))
        }
        _ => None,
    }
}

/// Is there a row on which it may fail? Paths stay where they are: of them only lengths are kept.
fn may_fail(expr: &Expr) -> bool {
    use BinaryOperator::*;
    let is_path = |part: &Expr| matches!(part, Expr::PathOf(_) | Expr::Call(Function::Length, _));
    if expr.any(&mut |part| is_path(part)) {
        return false;
    }
    expr.any(&mut |part| match part {
        Expr::Binary(by, ..) => !matches!(by, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual),
        Expr::Unary(by, _) => !matches!(by, UnaryOperator::IsNull | UnaryOperator::IsNotNull),
        Expr::Call(function, _) => !matches!(
            function,
            Function::Labels
                | Function::Type
                | Function::Keys
                | Function::Properties
                | Function::Id
                | Function::ElementId
        ),
        Expr::Index(..)
        | Expr::Slice(..)
        | Expr::Comprehension { .. }
        | Expr::Quantified { .. }
        | Expr::Reduce { .. } => true,
        _ => false,
    })
}
