//! Rewrite `late_projection`: of rows that a sort will drop, only what the sort reads is computed.
//!
//! Idea: below a sort that keeps the first k rows stands what computes the columns of all rows. Columns that the sort's keys do not
//! need move above it, where k rows are left; what those columns read is handed through. Sound because a sort neither changes nor
//! reads what it carries along, and none of the moved expressions is volatile; one that would have failed on a row that is
//! dropped is then not computed. Not in plans that write: a property would be read after a change that must not be seen.
//! Cost: one walk, times the width of rows.

use crate::algebra::*;
use crate::expr::{Expr, Var};
use crate::rewrite::made::Made;
use crate::rewrite::substitute::is_volatile;
use crate::vars::Vars;

type Items = Vec<(Var, Expr)>;

/// Moves what can wait above the sorts with a limit.
pub(crate) fn late_projection(plan: &mut Plan) {
    if !plan.writes() {
        delay(plan)
    }
}

fn delay(plan: &mut Plan) {
    if let Plan::Sort(node) = plan
        && node.limit.is_some()
    {
        let read: Vars = node.keys.iter().flat_map(|key| key.expr.free_variables()).collect();
        let late = match &mut node.input {
            Plan::Project(below) => delay_project(below, &read),
            Plan::Extend(below) => delay_extend(below, &read),
            _ => None,
        };
        *plan = match late {
            Some(Late::Project(items)) => Plan::Project(Box::new(Project { input: plan.take(), items })),
            Some(Late::Extend(items)) => Plan::Extend(Box::new(Extend { input: plan.take(), items })),
            None => plan.take(),
        }
    }
    plan.children_mut().into_iter().for_each(delay)
}

/// What stands above the sort afterwards.
enum Late {
    Project(Items),
    Extend(Items),
}

/// Is it worth waiting with, and allowed?
fn can_wait(expr: &Expr) -> bool {
    !matches!(expr, Expr::Variable(_) | Expr::Literal(_) | Expr::Parameter(_)) && !is_volatile(expr)
}

/// Below stay the columns that cannot wait and what the others read; above, all columns are made of these.
fn delay_project(below: &mut Project, read: &Vars) -> Option<Late> {
    let made = Made::new(&below.items);
    let is_own = |var: &Var| made.get(*var).is_some_and(|expr| *expr != Expr::Variable(*var));
    let waits = |(var, expr): &(Var, Expr)| {
        !read.contains(var) && can_wait(expr) && !expr.free_variables().iter().any(is_own)
    };
    let (late, mut now): (Items, Items) = below.items.iter().cloned().partition(waits);
    if late.is_empty() {
        return None;
    }
    let waiting: Vars = late.iter().map(|(var, _)| *var).collect();
    let above = |(var, expr): &(Var, Expr)| {
        (*var, if waiting.contains(var) { expr.clone() } else { Expr::Variable(*var) })
    };
    let items = below.items.iter().map(above).collect();
    let mut carried: Vars = late.iter().flat_map(|(_, expr)| expr.free_variables()).collect();
    let made: Vars = now.iter().map(|(made, _)| *made).collect();
    carried.retain(|var| !made.contains(var));
    now.extend(carried.into_iter().map(|var| (var, Expr::Variable(var))));
    below.items = now;
    Some(Late::Project(items))
}

/// An item may read an item before it, so what waits is decided from the last to the first. Where all wait, `prune_columns` drops
/// the empty node.
fn delay_extend(below: &mut Extend, read: &Vars) -> Option<Late> {
    let (mut read, mut late, mut now) = (read.clone(), Items::new(), Items::new());
    for (var, expr) in std::mem::take(&mut below.items).into_iter().rev() {
        if !read.contains(&var) && can_wait(&expr) {
            late.push((var, expr))
        } else {
            read.extend(expr.free_variables());
            now.push((var, expr))
        }
    }
    now.reverse();
    late.reverse();
    below.items = now;
    (!late.is_empty()).then_some(Late::Extend(late))
}
