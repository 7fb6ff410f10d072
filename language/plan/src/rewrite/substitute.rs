//! Replacing variables in expressions, and testing whether an expression may be computed twice.

use crate::expr::{Expr, Var};

/// The expression with free variables replaced; `None` where a variable stands in a place that only takes variables and would become another
/// expression.
pub(crate) fn substitute(mut expr: Expr, value_of: &dyn Fn(Var) -> Option<Expr>) -> Option<Expr> {
    replace(&mut expr, &mut Vec::new(), value_of).then_some(expr)
}

/// The expression with one free variable under another name.
pub(crate) fn rename(expr: Expr, from: Var, to: Var) -> Expr {
    let value_of = |var: Var| (var == from).then_some(Expr::Variable(to));
    substitute(expr, &value_of).expect("a variable can stand wherever a variable stood")
}

fn replace(expr: &mut Expr, bound: &mut Vec<Var>, value_of: &dyn Fn(Var) -> Option<Expr>) -> bool {
    match expr {
        Expr::Variable(var) if !bound.contains(var) => {
            if let Some(value) = value_of(*var) {
                *expr = value
            }
            return true;
        }
        Expr::PathOf(vars) | Expr::EdgesDistinct(vars) => {
            return vars.iter_mut().filter(|var| !bound.contains(var)).all(|var| match value_of(*var) {
                None => true,
                Some(Expr::Variable(new)) => {
                    *var = new;
                    true
                }
                Some(_) => false,
            });
        }
        // Its plan names the variables too: left alone, unless nothing in it changes.
        Expr::Subquery(subquery) => {
            return !subquery.imports.iter().any(|var| !bound.contains(var) && value_of(*var).is_some());
        }
        _ => {}
    }
    let depth = bound.len();
    bound.extend(expr.binds());
    let mut done = true;
    expr.children_mut(&mut |child| done = done && replace(child, bound, value_of));
    bound.truncate(depth);
    done
}

/// May two computations of this expression on one row differ? Then it is computed where it stands.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    expr.any(&mut |part| matches!(part, Expr::Call(function, _) if function.is_volatile()))
}

/// Does any expression of this node differ between computations?
pub(crate) fn has_volatile(plan: &crate::Plan) -> bool {
    let mut found = false;
    plan.expressions(&mut |expr| found = found || is_volatile(expr));
    found
}

/// Is there a sub-query in this expression?
pub(crate) fn has_subquery(expr: &Expr) -> bool {
    expr.any(&mut |part| matches!(part, Expr::Subquery(_)))
}
