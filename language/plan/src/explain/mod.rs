//! Showing a plan: numbered nodes, a tree of descriptions for the interfaces, and a table as text.
//!
//! Nodes are numbered in pre-order, inputs in the order of [`Plan::children`]; `execute` attaches its figures by these numbers,
//! `estimates` lists its by them. Cost: linear in the plan; one detail is at most `DETAIL_LENGTH_MAX` characters.

mod detail;
mod path_pattern;
mod render;
mod scope;
pub mod text;

use crate::algebra::{ApplyKind, Plan};
use crate::expr::Name;
use crate::physical::{Algorithm, Physical};
use crate::statement::{Statement, StatementKind};

pub use render::render;

/// Characters of one operator's details; longer ones end in dots.
pub const DETAIL_LENGTH_MAX: usize = 400;

/// One operator of a plan, as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Place in pre-order, from 0.
    pub number: usize,
    /// Name of the operator.
    pub name: &'static str,
    /// Its details, in readable form.
    pub detail: String,
    /// Operators above it.
    pub depth: usize,
}

/// Counters of one operator from a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeProfile {
    /// Rows it yielded.
    pub rows: u64,
    /// Time spent in it, without its inputs, over all threads.
    pub time_nanos: u64,
}

/// A plan as interfaces send it to clients.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanDescription {
    /// Place in pre-order.
    pub number: usize,
    /// Name of the operator.
    pub name: &'static str,
    /// Details and figures, by name.
    pub arguments: Vec<(&'static str, String)>,
    /// Variables in its rows that users can name.
    pub identifiers: Vec<String>,
    /// Expected rows.
    pub estimated_rows: Option<f64>,
    /// Its counters, where it ran under PROFILE.
    pub profile: Option<OperatorProfile>,
    /// Its inputs.
    pub children: Vec<PlanDescription>,
}

/// Counters of an operator, as drivers read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperatorProfile {
    /// Rows it handed on.
    pub rows: u64,
    /// Vertices, edges and index entries that it read from the store, computed from its rows.
    pub db_hits: u64,
    /// Time in its calls, in nanoseconds.
    pub time_ns: u64,
}

/// The operators of a plan in pre-order; `variables` is the statement's table.
pub fn nodes(plan: &Plan, variables: &[Name]) -> Vec<Node> {
    listed(plan, variables, &Physical::default())
}

/// Likewise, with the physical choices.
fn listed(plan: &Plan, variables: &[Name], physical: &Physical) -> Vec<Node> {
    let mut listed = Vec::new();
    list(plan, (variables, physical), 0, &mut listed);
    listed
}

fn list(plan: &Plan, of: (&[Name], &Physical), depth: usize, listed: &mut Vec<Node>) {
    let detail = detail_of(plan, of, listed.len());
    listed.push(Node { number: listed.len(), name: name(plan), detail, depth });
    for child in plan.children() {
        list(child, of, depth + 1, listed)
    }
}

fn detail_of(plan: &Plan, (variables, physical): (&[Name], &Physical), number: usize) -> String {
    let algorithm = physical.node(number).map_or(Algorithm::Usual, |node| node.algorithm);
    shorten(detail::detail(plan, algorithm, &text::Printer { variables }))
}

/// The plan of a query as a tree; none for other statements. `estimates` are expected rows in pre-order, and may be empty.
pub fn describe(statement: &Statement, estimates: &[f64]) -> Option<PlanDescription> {
    let StatementKind::Query { plan, .. } = &statement.kind else { return None };
    Some(describe_plan(plan, (&statement.variables, &statement.physical), estimates, &mut 0))
}

fn describe_plan(
    plan: &Plan,
    of: (&[Name], &Physical),
    estimates: &[f64],
    next: &mut usize,
) -> PlanDescription {
    let number = *next;
    *next += 1;
    let detail = detail_of(plan, of, number);
    let mut arguments = Vec::new();
    if !detail.is_empty() {
        arguments.push(("Details", detail))
    }
    let named = |name: &Name| !name.is_empty() && !name.starts_with(' ');
    let columns = plan.columns().into_iter().filter_map(|var| of.0.get(var.0 as usize));
    let identifiers = columns.filter(|name| named(name)).map(|name| name.to_string()).collect();
    let estimated_rows = estimates.get(number).copied();
    let below = plan.children().into_iter();
    let children = below.map(|child| describe_plan(child, of, estimates, next)).collect();
    PlanDescription {
        number,
        name: name(plan),
        arguments,
        identifiers,
        estimated_rows,
        profile: None,
        children,
    }
}

fn shorten(text: String) -> String {
    if text.chars().count() <= DETAIL_LENGTH_MAX {
        return text;
    }
    text.chars().take(DETAIL_LENGTH_MAX).chain("…".chars()).collect()
}

/// Name of an operator; the same word as its struct, file and documentation use.
pub fn name(plan: &Plan) -> &'static str {
    match plan {
        Plan::Unit => "Unit",
        Plan::Argument(_) => "Argument",
        Plan::Match(_) => "Match",
        Plan::ScanVertices(_) => "ScanVertices",
        Plan::SeekVertices(_) => "SeekVertices",
        Plan::SeekEdges(_) => "SeekEdges",
        Plan::SeekIds(_) => "SeekIds",
        Plan::Expand(_) => "Expand",
        Plan::ExpandPath(_) => "ExpandPath",
        Plan::ExpandPattern(_) => "ExpandPattern",
        Plan::CountMatches(_) => "CountMatches",
        Plan::CountStored(_) => "CountStored",
        Plan::Intersect(_) => "Intersect",
        Plan::Filter(_) => "Filter",
        Plan::Extend(_) => "Extend",
        Plan::Project(_) => "Project",
        Plan::Aggregate(_) => "Aggregate",
        Plan::Distinct(_) => "Distinct",
        Plan::Sort(_) => "Sort",
        Plan::Skip(_) => "Skip",
        Plan::Limit(_) => "Limit",
        Plan::Unwind(_) => "Unwind",
        Plan::Join(_) => "Join",
        Plan::Apply(node) => match node.kind {
            ApplyKind::Inner(_) => "Apply",
            ApplyKind::Optional(_) => "ApplyOptional",
            ApplyKind::Semi => "ApplySemi",
            ApplyKind::Anti => "ApplyAnti",
            ApplyKind::Exists(_) => "ApplyExists",
            ApplyKind::Count(_) => "ApplyCount",
            ApplyKind::Collect { .. } => "ApplyCollect",
            ApplyKind::Unit => "ApplyUnit",
            ApplyKind::Repeat(_) => "Repeat",
        },
        Plan::Union(node) if node.distinct => "UnionDistinct",
        Plan::Union(_) => "Union",
        Plan::CallProcedure(_) => "CallProcedure",
        Plan::Create(_) => "Create",
        Plan::Merge(_) => "Merge",
        Plan::Set(_) => "Set",
        Plan::Delete(_) => "Delete",
        Plan::ForEach(_) => "ForEach",
    }
}
