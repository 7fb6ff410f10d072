//! Rewrite `seek_edges`: an edge of a pattern that a property index finds is found by it, and the rest of the pattern begins there.
//!
//! ```text
//!   Match (a)-[r:T]->(b)-[:S]->(c), r.key = $x   becomes   Match (b)-[:S]->(c), r.key = $x  over  SeekEdges (a)-[r:T]->(b)
//! ```
//! Sound because the look-up binds the edge and both ends as the pattern would, all conditions stay with the pattern, and the distinctness
//! of the edge from the others is said as a condition. It is done where no vertex of the pattern is bound already or found by an index, and
//! the look-up is expected to find no more edges than the smallest of the pattern's vertex sets has vertices: every other order begins
//! with a scan of one of those. Cost: a look-up in the catalogue for each condition on an edge.

use crate::algebra::*;
use crate::cost;
use crate::expr::{BinaryOperator, Expr, Name, Var};
use crate::pattern::{Pattern, PatternEdge};
use crate::rewrite::substitute::is_volatile;
use crate::statistics::Planning;
use crate::vars::Vars;

/// Rewrites the whole plan, sub-plans included.
pub(crate) fn seek_edges(plan: &mut Plan, planning: &dyn Planning) {
    let mut at = plan;
    loop {
        if let Plan::Match(node) = at {
            begin_at_edge(node, planning);
        }
        if matches!(at, Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_)) {
            return at.children_mut().into_iter().for_each(|child| seek_edges(child, planning));
        }
        match at.input_mut() {
            Some(input) => at = input,
            None => return,
        }
    }
}

fn begin_at_edge(node: &mut Match, planning: &dyn Planning) {
    let Match { input, pattern, optional, hints } = node;
    // Patterns that follow one another are ordered as one; only the first of them may begin.
    if *optional || !hints.is_empty() || matches!(input, Plan::Match(_)) {
        return;
    }
    let bound = input.columns();
    let vertices = pattern.vertices.iter().map(|vertex| vertex.variable);
    if vertices.into_iter().any(|vertex| bound.contains(&vertex) || is_indexed(vertex, pattern, planning)) {
        return;
    }
    let size = |labels: &crate::expr::LabelExpr| cost::labelled(planning, labels);
    let fewest = pattern.vertices.iter().map(|vertex| size(&vertex.labels)).fold(f64::INFINITY, f64::min);
    let found = (0..pattern.edges.len()).flat_map(|at| starts(at, pattern, &bound, planning));
    let best = found.min_by(|a, b| a.rows.total_cmp(&b.rows)).filter(|best| best.rows <= fewest);
    let Some(Start { edge, keys, seek, .. }) = best else { return };
    let edge = pattern.edges.remove(edge);
    for other in pattern.edges.iter().filter(|other| edge.must_differ(other) && may_be_same(&edge, other)) {
        pattern.predicates.push(Expr::EdgesDistinct(vec![edge.variable, other.variable]));
    }
    let PatternEdge { variable, from, to, types, direction, .. } = edge;
    let edge_type = types.into_iter().next().expect("a start has one type");
    let input = node.input.take();
    let found = SeekEdges { input, edge: variable, from, to, edge_type, direction, keys, seek };
    node.input = Plan::SeekEdges(Box::new(found));
}

fn may_be_same(edge: &PatternEdge, other: &PatternEdge) -> bool {
    other.types.is_empty() || other.types.iter().any(|name| edge.types.contains(name))
}

/// An edge of the pattern that an index finds.
struct Start {
    edge: usize,
    keys: Vec<Name>,
    seek: Seek,
    rows: f64,
}

fn starts(at: usize, pattern: &Pattern, bound: &Vars, planning: &dyn Planning) -> Vec<Start> {
    let edge = &pattern.edges[at];
    let [edge_type] = &edge.types[..] else { return Vec::new() };
    let meets = |other: &PatternEdge| edge.must_differ(other) && may_be_same(edge, other);
    let runs_apart = pattern.edges.iter().all(|other| other.run.is_none() || !meets(other));
    if edge.run.is_some() || edge.from == edge.to || bound.contains(&edge.variable) || !runs_apart {
        return Vec::new();
    }
    let tests: Vec<Test> = pattern
        .predicates
        .iter()
        .filter_map(|predicate| test_of(predicate, edge.variable))
        .filter(|test| test.value.free_variables().iter().all(|var| bound.contains(var)))
        .collect();
    let start = |keys: Vec<Name>, seek: Seek| {
        let rows = cost::seek_edges_rows(planning, edge_type, &keys, &seek);
        Start { edge: at, keys, seek, rows }
    };
    let mut starts = Vec::new();
    let equal: Vec<&Test> = tests.iter().filter(|test| test.operator == BinaryOperator::Equal).collect();
    for keys in planning.edge_indexes(edge_type) {
        let of = |key: &String| equal.iter().find(|test| *test.key == **key).map(|test| test.value.clone());
        if let Some(values) = keys.iter().map(of).collect::<Option<Vec<Expr>>>() {
            starts.push(start(keys.iter().map(|key| key.as_str().into()).collect(), Seek::Equal(values)));
        }
        let [key] = &keys[..] else { continue };
        let (name, of_key) = (Name::from(key.as_str()), || tests.iter().filter(|test| *test.key == **key));
        let single =
            |operator| of_key().find(|test| test.operator == operator).map(|test| test.value.clone());
        starts.extend(single(BinaryOperator::In).map(|list| start(vec![name.clone()], Seek::In(list))));
        let prefix = single(BinaryOperator::StartsWith);
        starts.extend(prefix.map(|text| start(vec![name.clone()], Seek::Prefix(text))));
        let bound = |strict, included| {
            let found = of_key().find(|test| test.operator == strict || test.operator == included);
            found.map(|test| (test.value.clone(), test.operator == included))
        };
        let low = bound(BinaryOperator::Greater, BinaryOperator::GreaterEqual);
        let high = bound(BinaryOperator::Less, BinaryOperator::LessEqual);
        if low.is_some() || high.is_some() {
            starts.push(start(vec![name], Seek::Range(low, high)));
        }
    }
    starts
}

/// Is there an index over a label of the vertex and a key that a condition compares?
fn is_indexed(vertex: Var, pattern: &Pattern, planning: &dyn Planning) -> bool {
    let labels = pattern.vertices.iter().filter(|other| other.variable == vertex);
    let labels: Vec<Name> = labels.flat_map(|other| other.labels.required()).collect();
    let tests = || pattern.predicates.iter().filter_map(|predicate| test_of(predicate, vertex));
    let exact = |test: &Test| matches!(test.operator, BinaryOperator::Equal | BinaryOperator::In);
    labels
        .iter()
        .any(|label| tests().any(|test| exact(&test) && planning.index(label, &[&test.key]).is_some()))
}

/// A condition that compares a property with a value.
struct Test {
    key: Name,
    operator: BinaryOperator,
    value: Expr,
}

fn test_of(predicate: &Expr, var: Var) -> Option<Test> {
    use BinaryOperator::*;
    let Expr::Binary(operator, left, right) = predicate else { return None };
    let key = |side: &Expr| match side {
        Expr::Property(subject, key) if **subject == Expr::Variable(var) => Some(key.clone()),
        _ => None,
    };
    let (key, operator, value) = match (key(left), key(right)) {
        (Some(key), None) => (key, *operator, right),
        (None, Some(key)) => {
            let mirrored = match operator {
                Equal => Equal,
                Less => Greater,
                LessEqual => GreaterEqual,
                Greater => Less,
                GreaterEqual => LessEqual,
                _ => return None,
            };
            (key, mirrored, left)
        }
        _ => return None,
    };
    let known = matches!(operator, Equal | In | StartsWith | Less | LessEqual | Greater | GreaterEqual);
    (known && !is_volatile(value)).then(|| Test { key, operator, value: (**value).clone() })
}
