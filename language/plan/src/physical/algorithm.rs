//! The algorithm of an operator, where it has several.
//!
//! The choice depends on the plan alone: the operator, the columns that are read, whether the node stands in a sub-query. Each algorithm gives the
//! same rows.

use super::driver::OperatorDriver;
use super::lower::Around;
use crate::Plan;
use crate::algebra::*;
use crate::functions::AggregateFunction;
use crate::pattern::{PathMode, Selector};
use crate::scope::InstanceOrder;

/// The way of one node's operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// It has one only.
    #[default]
    Usual,
    /// `Expand`: its rows are only counted, so degrees are read and no list.
    CountEdges,
    /// `ExpandPath`: searches by distance, of many sources at once.
    SearchByDistance {
        /// Outside of pipelines, executors share the searches of a batch.
        by_executors: bool,
        /// Within one operator, the searches of many rows may be lanes of one.
        in_lanes: bool,
    },
    /// `CallProcedure` of a graph algorithm: it runs alone where rows must come in order or belong to outer rows; elsewhere, executors share it.
    Alone,
    /// `Aggregate`: of rows that come vertex by vertex, the key of this number: a group is whole once the next vertex comes.
    VertexByVertex {
        /// Which of its keys is the vertex.
        key: usize,
    },
    /// `Join`: the build side is made once for all instances of the scope around it.
    BuildOnce,
    /// `Join`: the build side is made once, and executors share its table.
    BuildShared,
    /// `Join`: each instance of the scope around it has a table of its own.
    BuildForInstance,
    /// `Union`: the second input begins when the first has ended.
    SecondAfter {
        /// One of them writes.
        writes: bool,
    },
    /// `Union`: both begin together, and rows of the second wait for the end of the first.
    SecondWaits,
    /// `Union`: rows come as they are made.
    Mixed,
    /// `Apply`: a pipeline within the operator.
    Inline {
        /// Equal imports give equal answers, which may be cached.
        keeps_answers: bool,
    },
    /// `Apply`: a scope with instances.
    Scope {
        /// The inner plan writes.
        writes: bool,
    },
    /// `Apply` of a repeated group: a scope with an instance for each round.
    Loop {
        /// Where there are several executors, the rounds span them.
        wide: bool,
    },
    /// `Merge`: how its pattern is matched.
    Match {
        /// In a pipeline within the operator; else in a scope.
        inline: bool,
        /// Many rows at once; else one after the other.
        batched: bool,
    },
    /// `ForEach`: the body takes all elements at once.
    AllElements,
    /// `ForEach`: the body takes one element after the other.
    EachElement,
}

impl Algorithm {
    /// Does the node open a scope?
    pub(super) fn opens_scope(self) -> bool {
        matches!(
            self,
            Algorithm::Scope { .. }
                | Algorithm::Loop { .. }
                | Algorithm::Match { inline: false, .. }
                | Algorithm::AllElements
                | Algorithm::EachElement
        )
    }
    /// EXPLAIN's remark; none where it is the usual choice or where the details show it.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Algorithm::CountEdges => Some("edges are counted, not read"),
            Algorithm::BuildOnce => Some("the table is made once for all sub-queries"),
            Algorithm::SecondAfter { .. } => Some("the second input begins after the first"),
            Algorithm::Match { batched: false, .. } => Some("row by row"),
            Algorithm::EachElement => Some("one element after the other"),
            Algorithm::VertexByVertex { .. } => Some("vertex by vertex"),
            Algorithm::Usual
            | Algorithm::SearchByDistance { .. }
            | Algorithm::Alone
            | Algorithm::BuildShared
            | Algorithm::BuildForInstance
            | Algorithm::SecondWaits
            | Algorithm::Mixed
            | Algorithm::Inline { .. }
            | Algorithm::Scope { .. }
            | Algorithm::Loop { .. }
            | Algorithm::Match { .. }
            | Algorithm::AllElements => None,
        }
    }
}

/// The inputs of the choice for a node, besides the node itself.
pub(super) struct Facts<'a> {
    pub(super) required: &'a super::VarSet,
    /// Its rows are only counted.
    pub(super) only_count: bool,
    /// The rows of its main input stand in order.
    pub(super) input_ordered: bool,
    pub(super) around: Around,
}

/// Chooses for one node. The scopes of sub-queries are chosen before.
pub(super) fn choose(plan: &Plan, facts: &Facts<'_>) -> Algorithm {
    let in_scope = facts.around.in_subquery;
    match plan {
        Plan::Expand(node) if facts.only_count && counts_edges(node, facts) => Algorithm::CountEdges,
        Plan::ExpandPath(node) if searches_by_distance(node, facts) => {
            let keeps_edges = node.edges.is_some_and(|edges| facts.required.contains(edges));
            Algorithm::SearchByDistance {
                by_executors: !in_scope && !facts.input_ordered,
                in_lanes: !keeps_edges && !facts.input_ordered,
            }
        }
        Plan::CallProcedure(_) if in_scope || facts.input_ordered => Algorithm::Alone,
        Plan::Join(node) if node.once && in_scope => Algorithm::BuildOnce,
        Plan::Join(_) if in_scope => Algorithm::BuildForInstance,
        Plan::Join(_) => Algorithm::BuildShared,
        Plan::Union(node) => of_union(node, in_scope),
        Plan::Apply(node) => of_apply(node, in_scope),
        Plan::Merge(node) => {
            let inline = super::driver::of_merge(node) == OperatorDriver::Pipeline;
            Algorithm::Match { inline, batched: is_batched(node) }
        }
        Plan::ForEach(node) if is_single(&node.body) => Algorithm::AllElements,
        Plan::ForEach(_) => Algorithm::EachElement,
        _ => Algorithm::Usual,
    }
}

/// Are only the rows of its input counted?
pub(super) fn counts_rows_only(node: &Aggregate) -> bool {
    let is_row_count = |call: &AggregateCall| call.function == AggregateFunction::CountRows;
    node.keys.is_empty() && node.aggregates.iter().all(|(_, call)| is_row_count(call))
}

fn counts_edges(node: &Expand, facts: &Facts<'_>) -> bool {
    let reads = |var: crate::Var| facts.required.contains(var);
    let is_plain = !node.into && !node.loops_twice && node.labels.is_any() && !facts.around.in_subquery;
    is_plain && !node.edge.is_some_and(reads) && !reads(node.to)
}

/// Can searches by distance compute the result, whatever the rows?
fn searches_by_distance(node: &ExpandPath, facts: &Facts<'_>) -> bool {
    let keeps_edges = node.edges.is_some_and(|edges| facts.required.contains(edges));
    let is_one_path = node.selector == Selector::AnyShortest;
    let each_end_once = is_one_path || (node.distinct_ends && !keeps_edges);
    let source_counts = node.mode != PathMode::Acyclic || node.min == 0;
    !node.into && node.edge_predicate.is_none() && node.min <= 1 && each_end_once && source_counts
}

fn of_union(node: &Union, in_scope: bool) -> Algorithm {
    // A union that a rewrite made passes its columns on under their own names, and its rows come in no order.
    let in_order = node.columns.is_empty() || node.columns.iter().any(|(to, left, _)| to != left);
    let writes = node.left.writes() || node.right.writes();
    match in_scope {
        false if writes || in_order => Algorithm::SecondAfter { writes },
        true if in_order => Algorithm::SecondWaits,
        _ => Algorithm::Mixed,
    }
}

fn of_apply(node: &Apply, in_scope: bool) -> Algorithm {
    if super::driver::of_apply(node) == OperatorDriver::Pipeline {
        return Algorithm::Inline { keeps_answers: super::driver::answers_by_imports(node) };
    }
    if let ApplyKind::Repeat(_) = node.kind {
        let wide = node.scope.wide && !in_scope && node.scope.order != InstanceOrder::Dfs;
        return Algorithm::Loop { wide: wide && takes_row_by_row(&node.inner) };
    }
    Algorithm::Scope { writes: node.inner.writes() }
}

/// Does a body work row by row, so that its rows may be processed anywhere? Operators inside its own sub-queries stay with their rows.
fn takes_row_by_row(body: &Plan) -> bool {
    match body {
        Plan::Argument(_) => true,
        Plan::Expand(_) | Plan::Filter(_) | Plan::Extend(_) | Plan::Project(_) => {
            body.input().is_some_and(takes_row_by_row)
        }
        Plan::Apply(node) => {
            let is_plain = !matches!(node.kind, ApplyKind::Repeat(_)) && !node.inner.writes();
            is_plain && takes_row_by_row(&node.input)
        }
        _ => false,
    }
}

/// Is the body of a `ForEach` a single clause?
fn is_single(body: &Plan) -> bool {
    let is_start = |plan: &Plan| matches!(plan, Plan::Argument(_) | Plan::Unit);
    match body {
        Plan::Join(node) if node.once => is_start(&node.probe),
        other => other.input().is_some_and(is_start),
    }
}

/// May rows of a `Merge` be matched many at once? A created vertex or edge can then only match later rows that mean the same.
fn is_batched(node: &Merge) -> bool {
    // Asks are compared by the properties and the ends, not by a type that is known only with the row.
    let is_typed = node.edges.iter().all(|edge| edge.dynamic_type.is_none());
    let is_simple = matches!((node.vertices.len(), node.edges.len()), (1, 0) | (0, 1)) && is_typed;
    let Some(keys) = keys(node).filter(|_| is_simple) else { return false };
    let harmless = |item: &SetItem| match item {
        SetItem::Property(_, key, _) => !keys.contains(&&**key),
        SetItem::AddLabels(..) => true,
        SetItem::DynamicProperty(..)
        | SetItem::Properties { .. }
        | SetItem::RemoveLabels(..)
        | SetItem::DynamicLabels { .. } => false,
    };
    node.on_create.iter().chain(&node.on_match).all(harmless)
}

/// Property keys that the pattern matches by.
fn keys(node: &Merge) -> Option<Vec<&str>> {
    let vertices = node.vertices.iter().map(|vertex| &vertex.properties);
    let mut keys = Vec::new();
    for map in vertices.chain(node.edges.iter().map(|edge| &edge.properties)).flatten() {
        let crate::Expr::Map(entries) = map else { return None };
        keys.extend(entries.iter().map(|(key, _)| &**key));
    }
    Some(keys)
}
