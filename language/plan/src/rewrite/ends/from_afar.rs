//! Rewrite `from_afar`: a test that few vertices pass is evaluated from these.
//!
//! Where each of many rows has its neighbours fetched and each neighbour is tested by a walk of its own, the vertices that pass may be found
//! at once from the other end of that walk (by an index, say), each once, and the edges back from them lead to the rows. Sound because
//! the test reads nothing but the neighbour: the rows it leaves are the pairs of a row and an edge whose far end is one of those, and a
//! join on the near end gives just these pairs. A join keeps the order of the rows that look up, not of those that are held: rows that were
//! sorted look up. Only on the main line of a plan, since a join costs a dataflow of its own. Cost: the patterns of such tests are ordered
//! once more.

use crate::algebra::*;
use crate::error::PlanError;
use crate::estimate::{Known, estimate, estimates, known};
use crate::expr::{BinaryOperator, Expr, LabelExpr, Name, Var};
use crate::names::Names;
use crate::pattern::{Pattern, PatternEdge, PatternVertex};
use crate::rewrite::columns::prune_columns::prune_columns;
use crate::rewrite::order::order_match::order_match;
use crate::statistics::Planning;
use crate::vars::Vars;

/// The plan from afar must be cheaper by this factor.
const GAIN_MIN: f64 = 8.0;
/// Steps of a test.
const STEPS_MAX: usize = 4;

/// Evaluates such tests from afar, in a plan without writes.
pub(crate) fn from_afar(
    plan: &mut Plan,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<(), PlanError> {
    if plan.any(&mut |node| matches!(node, Plan::Apply(node) if node.kind == ApplyKind::Semi))
        && !plan.writes()
    {
        let mut at = plan;
        loop {
            turn(at, planning, names)?;
            match at {
                Plan::Join(_) | Plan::Union(_) => break,
                line => match line.input_mut() {
                    Some(input) => at = input,
                    None => break,
                },
            }
        }
    }
    Ok(())
}

fn turn(plan: &mut Plan, planning: &dyn Planning, names: &mut Names<'_>) -> Result<(), PlanError> {
    let Plan::Apply(test) = &*plan else { return Ok(()) };
    if test.kind != ApplyKind::Semi || test.scope.is_told() {
        return Ok(());
    }
    let mut tests = Vec::new();
    let mut below = &test.input;
    while let Plan::Filter(filter) = below {
        tests.push(filter.predicate.clone());
        below = &filter.input;
    }
    let Plan::Expand(step) = below else { return Ok(()) };
    let near = known(&step.input, planning, &Known::one_row()).rows;
    let many = estimate(below, planning);
    if step.into || step.loops_twice || near < 2.0 || many < near {
        return Ok(());
    }
    let Some(mut afar) = passing(&test.inner, (step.to, &step.labels), names) else { return Ok(()) };
    order_match(&mut afar, &Known::one_row(), planning, names)?;
    prune_columns(&mut afar, &Vars::from_iter([step.to]));
    let vertices =
        Plan::Distinct(Box::new(Distinct { input: afar, columns: vec![step.to], carried: Vec::new() }));
    let back = Plan::Expand(Box::new(Expand {
        input: vertices,
        from: step.to,
        edge: step.edge,
        to: step.from,
        types: step.types.clone(),
        direction: step.direction.reversed(),
        into: false,
        labels: LabelExpr::Any,
        loops_twice: false,
        properties: Vec::new(),
    }));
    let work: f64 = estimates(&back, planning).iter().sum();
    if work * GAIN_MIN > many {
        return Ok(());
    }
    let Plan::Apply(mut test) = plan.take() else { return Ok(()) };
    let mut below = &mut test.input;
    while let Plan::Filter(filter) = below {
        below = &mut filter.input;
    }
    let rows = below.input_mut().expect("a step has an input").take();
    let is_sorted = rows.any(&mut |node| matches!(node, Plan::Sort(_)));
    let (build, probe) = if near <= work && !is_sorted { (rows, back) } else { (back, rows) };
    let on = match &*below {
        Plan::Expand(step) => vec![step.from],
        _ => Vec::new(),
    };
    let joined = Plan::Join(Box::new(Join { build, probe, on, once: false }));
    tests.reverse();
    *plan = match tests.is_empty() {
        true => joined,
        false => Plan::Filter(Box::new(Filter { input: joined, predicate: Expr::all(tests) })),
    };
    Ok(())
}

/// The vertices that pass a test, as patterns without an order: one for each step, as steps of a test may go over one edge twice.
fn passing(inner: &Plan, (subject, labels): (Var, &LabelExpr), names: &mut Names<'_>) -> Option<Plan> {
    let vertex = |variable: Var, labels: LabelExpr| PatternVertex { variable, labels };
    let (mut vertices, mut steps, mut predicates) =
        (vec![vertex(subject, labels.clone())], Vec::new(), Vec::new());
    let mut at = inner;
    loop {
        match at {
            Plan::Argument(imports) if imports[..] == [subject] => break,
            Plan::Filter(node) => predicates.extend(node.predicate.clone().conjuncts()),
            Plan::Expand(node) if node.edge.is_none() && !node.loops_twice => steps.push(&**node),
            Plan::ScanVertices(node) => vertices.push(vertex(node.vertex, node.labels.clone())),
            Plan::SeekVertices(node) => {
                let Seek::Equal(values) = &node.seek else { return None };
                vertices.push(vertex(node.vertex, LabelExpr::Has(node.label.clone())));
                let key = |key: &Name| Expr::Property(Box::new(Expr::Variable(node.vertex)), key.clone());
                let equal = |(name, value): (&Name, &Expr)| {
                    Expr::binary(BinaryOperator::Equal, key(name), value.clone())
                };
                predicates.extend(node.keys.iter().zip(values).map(equal));
            }
            _ => return None,
        }
        at = at.input()?;
    }
    let reads_on =
        |expr: &Expr| expr.any(&mut |part| matches!(part, Expr::Subquery(_) | Expr::EdgesDistinct(_)));
    if steps.is_empty() || steps.len() > STEPS_MAX || predicates.iter().any(reads_on) {
        return None;
    }
    let mut plan = matched(Plan::Unit, Pattern { vertices, ..Pattern::default() });
    for (left, step) in steps.into_iter().enumerate().rev() {
        let edge = PatternEdge {
            variable: names.fresh("edge"),
            from: step.from,
            to: step.to,
            types: step.types.clone(),
            direction: step.direction,
            run: None,
            distinct_among: Some(0),
        };
        let vertices = vec![vertex(step.from, LabelExpr::Any), vertex(step.to, step.labels.clone())];
        // with the last step all that they read is there
        let predicates = if left == 0 { std::mem::take(&mut predicates) } else { Vec::new() };
        plan = matched(plan, Pattern { vertices, edges: vec![edge], predicates });
    }
    Some(plan)
}

fn matched(input: Plan, pattern: Pattern) -> Plan {
    Plan::Match(Box::new(Match { input, pattern, optional: false, hints: Vec::new() }))
}
