//! Errors that only the planner detects, and the limits that keep planning within stack and time.
//!
//! Rewrites recurse along plans and expressions; both are measured first, without recursion, so that no text can overflow a
//! stack. Invariant: after `check`, every recursion in this crate is at most [`PLAN_DEPTH_MAX`] + [`EXPR_DEPTH_MAX`] deep.

use crate::algebra::Plan;
use crate::expr::Expr;
use model::pace::{self, Stopped};
use std::fmt;

/// Operators on one line from root to leaf, a pattern counting as many as it can become. A clause is one to three operators; the
/// longest scripts seen have some hundred clauses.
pub const PLAN_DEPTH_MAX: usize = 1_000;
/// Nested parts of one expression; the languages bound their own trees below this, and write long chains as balanced trees.
pub const EXPR_DEPTH_MAX: usize = 600;
/// Vertices of one MATCH: sets of them are words of 128 bits, and one bit stands for all that is already bound.
pub const PATTERN_VERTICES_MAX: usize = 127;
/// Edges of one MATCH.
pub const PATTERN_EDGES_MAX: usize = 256;

/// A request that cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Stable, for programs.
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// Advice for the user; may be empty.
    pub hint: String,
}

impl PlanError {
    /// An error of this code.
    pub fn new(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> PlanError {
        PlanError { code, message: message.into(), hint: hint.into() }
    }
    /// Some part is larger than a named limit.
    pub fn too_large(what: &str, limit: usize, hint: &str) -> PlanError {
        PlanError::new("PlanTooLarge", format!("{what}: the limit is {limit}"), hint)
    }
    /// The request is meaningful, but this planner has no way to run it.
    pub fn unsupported(message: impl Into<String>, hint: impl Into<String>) -> PlanError {
        PlanError::new("UnsupportedQuery", message, hint)
    }
}

impl From<Stopped> for PlanError {
    fn from(stopped: Stopped) -> PlanError {
        PlanError::new("PlanningStopped", stopped.to_string(), "")
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.message)
    }
}

impl std::error::Error for PlanError {}

/// A part of a request still to be measured, with its depth.
enum Part<'a> {
    Plan(&'a Plan, usize),
    Expr(&'a Expr, usize),
}

/// Measures a plan with an explicit stack; an error if anything in it is deeper or wider than the limits.
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    let mut open = vec![Part::Plan(plan, 0)];
    while let Some(part) = open.pop() {
        pace::spend(1)?;
        match part {
            Part::Plan(plan, above) => {
                let depth = above + operators(plan);
                if depth > PLAN_DEPTH_MAX {
                    let hint = "split the query into several statements";
                    return Err(PlanError::too_large(
                        "the query has too many clauses in a row",
                        PLAN_DEPTH_MAX,
                        hint,
                    ));
                }
                check_pattern(plan)?;
                plan.expressions(&mut |expr| open.push(Part::Expr(expr, 1)));
                open.extend(plan.children().into_iter().map(|child| Part::Plan(child, depth)));
            }
            Part::Expr(expr, depth) => {
                if depth > EXPR_DEPTH_MAX {
                    let hint = "write long OR chains as IN [list], and long lists as parameters";
                    return Err(PlanError::too_large(
                        "an expression is nested too deeply",
                        EXPR_DEPTH_MAX,
                        hint,
                    ));
                }
                if let Expr::Subquery(subquery) = expr {
                    open.push(Part::Plan(&subquery.plan, depth));
                }
                expr.children(&mut |child| open.push(Part::Expr(child, depth + 1)));
            }
        }
    }
    Ok(())
}

/// A node's weight in the depth: a pattern's vertices are found, its edges walked, and both tested; operators with two plans below are walked by
/// recursion, which takes about three times the stack of a single input.
fn operators(plan: &Plan) -> usize {
    const BRANCH: usize = 3;
    match plan {
        Plan::Match(node) => {
            let optional = if node.optional { BRANCH } else { 1 };
            optional + 2 * (node.pattern.vertices.len() + node.pattern.edges.len())
        }
        Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_) => BRANCH,
        _ => 1,
    }
}

fn check_pattern(plan: &Plan) -> Result<(), PlanError> {
    let Plan::Match(found) = plan else { return Ok(()) };
    let hint = "split the pattern into several MATCH clauses";
    if found.pattern.vertices.len() > PATTERN_VERTICES_MAX {
        return Err(PlanError::too_large("a pattern has too many nodes", PATTERN_VERTICES_MAX, hint));
    }
    if found.pattern.edges.len() > PATTERN_EDGES_MAX {
        return Err(PlanError::too_large("a pattern has too many relationships", PATTERN_EDGES_MAX, hint));
    }
    Ok(())
}
