//! Rewrite `long_shortest`: the shortest of the runs with at least two edges are found by listing.
//!
//! Searches by distance cannot answer "the shortest with at least so many edges": a detour may be a run where the shortest is too
//! short. So all runs within the bounds are listed for each row, and of those to one end the shortest are kept:
//!
//! ```text
//! Apply ─ keep the lists as long as the least ─ group by end: least length, lists ─ ExpandPath (every run) ─ Argument
//! ```
//!
//! Where the bounds leave one length, every run is a shortest one. Sound because shortest runs are defined for each row and pair of
//! ends, which is what the grouping inside the `Apply` compares. It comes last, so that no other rewrite meets the form.
//! Cost: all runs within the bounds, which are held for one batch of rows at a time; walks without a bound are refused.

use crate::algebra::*;
use crate::error::PlanError;
use crate::expr::{BinaryOperator, Expr, Var};
use crate::functions::{AggregateFunction, Function};
use crate::names::Names;
use crate::pattern::{PathMode, Selector};
use crate::vars::Vars;

/// Replaces such searches in the plan.
pub(crate) fn long_shortest(plan: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    let mut at = plan;
    loop {
        if let Plan::ExpandPath(node) = at
            && node.selector != Selector::Every
            && node.min > 1
        {
            let Plan::ExpandPath(node) = at.take() else { unreachable!("just tested") };
            *at = listed(*node, names)?;
        }
        match at {
            Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_) => {
                return at.children_mut().into_iter().try_for_each(|child| long_shortest(child, names));
            }
            line => match line.input_mut() {
                Some(input) => at = input,
                None => return Ok(()),
            },
        }
    }
}

fn listed(mut node: ExpandPath, names: &mut Names<'_>) -> Result<Plan, PlanError> {
    if node.mode == PathMode::Walk && node.max.is_none() {
        return Err(PlanError::unsupported(
            format!("shortest walks of at least {} relationships have no upper bound", node.min),
            "give the most relationships too, e.g. {2,10}, or leave out WALK",
        ));
    }
    let single_length = node.max == Some(node.min);
    let every = std::mem::replace(&mut node.selector, Selector::Every);
    if single_length && every == Selector::AllShortest {
        return Ok(Plan::ExpandPath(Box::new(node)));
    }
    let input = node.input.take();
    let imports = reads_of_row(&node);
    let mut columns: Vec<Var> = node.edges.into_iter().chain(node.length).collect();
    columns.extend((!node.into).then_some(node.to));
    node.input = Plan::Argument(imports.clone());
    let inner = match (every, node.edges) {
        (Selector::AnyShortest, None) => least_length(node, names),
        (selector, _) => shortest_lists(node, selector, names),
    };
    Ok(Plan::Apply(Box::new(Apply {
        input,
        inner,
        imports,
        kind: ApplyKind::Inner(columns),
        scope: Default::default(),
        rank: None,
    })))
}

/// The columns of its input row that the search reads.
fn reads_of_row(node: &ExpandPath) -> Vec<Var> {
    let mut read = Vars::from_iter([node.from]);
    read.extend(node.into.then_some(node.to));
    if let Some((own, predicate)) = &node.edge_predicate {
        read.extend(predicate.free_variables().into_iter().filter(|var| var != own));
    }
    read.into_vec()
}

/// One row for each end, with the least length.
fn least_length(mut node: ExpandPath, names: &mut Names<'_>) -> Plan {
    let keys = vec![(node.to, Expr::Variable(node.to))];
    let wanted = node.length;
    let each = names.fresh("length");
    node.length = wanted.map(|_| each);
    let least = |var: Var| (var, call(AggregateFunction::Min, Expr::Variable(each)));
    let aggregates = wanted.into_iter().map(least).collect();
    Plan::Aggregate(Box::new(Aggregate { input: Plan::ExpandPath(Box::new(node)), keys, aggregates }))
}

/// For each end the shortest of the lists (or of the lengths, where only they are read), one or all.
fn shortest_lists(mut node: ExpandPath, selector: Selector, names: &mut Names<'_>) -> Plan {
    let (run, least, all, one) =
        (names.fresh("run"), names.fresh("least"), names.fresh("runs"), names.fresh("one"));
    let of_edges = node.edges.is_some();
    let wanted = node.edges.or(node.length).unwrap_or_else(|| names.fresh("length"));
    (node.edges, node.length) = if of_edges { (Some(run), None) } else { (None, Some(run)) };
    let length = |var: Var| match of_edges {
        true => Expr::Call(Function::Size, vec![Expr::Variable(var)]),
        false => Expr::Variable(var),
    };
    let aggregates = vec![
        (least, call(AggregateFunction::Min, length(run))),
        (all, call(AggregateFunction::Collect, Expr::Variable(run))),
    ];
    let keys = vec![(node.to, Expr::Variable(node.to))];
    let input =
        Plan::Aggregate(Box::new(Aggregate { input: Plan::ExpandPath(Box::new(node)), keys, aggregates }));
    let is_least = Expr::binary(BinaryOperator::Equal, length(one), Expr::Variable(least));
    let list = Expr::Comprehension {
        variable: one,
        list: Box::new(Expr::Variable(all)),
        predicate: Some(Box::new(is_least)),
        map: None,
    };
    if selector == Selector::AllShortest {
        return Plan::Unwind(Box::new(Unwind { input, list, variable: wanted }));
    }
    let first = Expr::Index(Box::new(list), Box::new(Expr::literal(0_i64)));
    Plan::Extend(Box::new(Extend { input, items: vec![(wanted, first)] }))
}

fn call(function: AggregateFunction, argument: Expr) -> AggregateCall {
    AggregateCall { function, arguments: vec![argument], distinct: false }
}
