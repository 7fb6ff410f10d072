//! Delays columns below a node that drops rows: they are computed above it, for the rows that are left.
//!
//! [`take_late`] takes from a Project or an Extend the columns that the node above does not read and that may wait; [`Late::above`] puts them on top
//! of it. The rewrite `late_projection` delays expensive columns, a standing query those that may fail.

use crate::algebra::{Extend, Plan, Project};
use crate::expr::{Expr, Var};
use crate::rewrite::produced_columns::ProducedColumns;
use crate::vars::Vars;

type Items = Vec<(Var, Expr)>;

/// The operators above afterwards.
pub struct Late {
    items: Items,
    /// These are all columns; else they come beside those from below.
    is_project: bool,
}

impl Late {
    /// The plan with these columns on top.
    pub fn above(self, input: Plan) -> Plan {
        let items = self.items;
        match self.is_project {
            true => Plan::Project(Box::new(Project { input, items })),
            false => Plan::Extend(Box::new(Extend { input, items })),
        }
    }
}

/// Takes the columns that can wait out of `below`; `read` is read in between.
pub fn take_late(below: &mut Plan, read: &Vars, can_wait: &dyn Fn(&Expr) -> bool) -> Option<Late> {
    match below {
        Plan::Project(node) => of_project(node, read, can_wait),
        Plan::Extend(node) => of_extend(node, read, can_wait),
        _ => None,
    }
}

/// Below stay the columns that cannot wait and the inputs of the others; above, all columns are made of these.
fn of_project(below: &mut Project, read: &Vars, can_wait: &dyn Fn(&Expr) -> bool) -> Option<Late> {
    let made = ProducedColumns::new(&below.items);
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
    Some(Late { items, is_project: true })
}

/// An item may read an earlier one, so items are delayed from the last to the first. Where all are delayed, `prune_columns` drops the empty node.
fn of_extend(below: &mut Extend, read: &Vars, can_wait: &dyn Fn(&Expr) -> bool) -> Option<Late> {
    let (mut read, mut items, mut now) = (read.clone(), Items::new(), Items::new());
    for (var, expr) in std::mem::take(&mut below.items).into_iter().rev() {
        if !read.contains(&var) && can_wait(&expr) {
            items.push((var, expr))
        } else {
            read.extend(expr.free_variables());
            now.push((var, expr))
        }
    }
    now.reverse();
    items.reverse();
    below.items = now;
    (!items.is_empty()).then_some(Late { items, is_project: false })
}
