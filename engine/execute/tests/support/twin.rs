//! The obvious twin: a plan is walked top down, rows are maps, everything is a nested loop over lists. Slow and easy to believe.

use super::Graph;
use model::compare::{equals, equivalent, total_order};
use model::{Direction, EdgeRef, Value, VertexId};
use plan::algebra::ApplyKind;
use plan::expr::{BinaryOperator, LabelExpr, Name};
use plan::pattern::{PathMode, Selector};
use plan::{AggregateFunction, Expr, Function, Plan, Var};
use std::collections::BTreeMap;

pub type Row = BTreeMap<Var, Value>;

/// The value of an expression, as far as these tests use them.
pub fn value(graph: &Graph, expression: &Expr, row: &Row) -> Value {
    match expression {
        Expr::Literal(constant) => constant.0.clone(),
        Expr::Variable(variable) => row.get(variable).cloned().unwrap_or(Value::Null),
        Expr::Property(subject, key) => match value(graph, subject, row) {
            Value::Vertex(id) if **key == *"x" => {
                graph.vertices.iter().find(|vertex| vertex.id == id).unwrap().x.into()
            }
            Value::Edge(edge) if **key == *"w" => {
                graph.edges.iter().find(|other| other.edge.id == edge.id).unwrap().w.into()
            }
            _ => Value::Null,
        },
        Expr::Binary(operator, a, b) => binary(*operator, value(graph, a, row), value(graph, b, row)),
        Expr::Call(Function::Range, bounds) => {
            let bound = |at: usize| value(graph, &bounds[at], row).as_int().unwrap();
            Value::list((bound(0)..=bound(1)).map(Value::Int).collect())
        }
        Expr::Index(list, place) => match (value(graph, list, row), value(graph, place, row)) {
            (Value::List(list), Value::Int(place)) => list[place as usize].clone(),
            _ => Value::Null,
        },
        other => panic!("the twin does not know {other:?}"),
    }
}

fn binary(operator: BinaryOperator, a: Value, b: Value) -> Value {
    match operator {
        BinaryOperator::Equal => equals(&a, &b).into(),
        BinaryOperator::Less => model::compare::compare(&a, &b).map(|order| order.is_lt()).into(),
        BinaryOperator::Add => a.as_int().zip(b.as_int()).map(|(a, b)| a + b).into(),
        other => panic!("the twin does not know {other:?}"),
    }
}

fn has_labels(graph: &Graph, id: VertexId, labels: &LabelExpr) -> bool {
    let vertex = graph.vertices.iter().find(|vertex| vertex.id == id).unwrap();
    match labels {
        LabelExpr::Any => true,
        LabelExpr::Has(name) => vertex.labels.contains(&&**name),
        other => panic!("the twin does not know {other:?}"),
    }
}

fn vertex(row: &Row, variable: Var) -> Option<VertexId> {
    match row.get(&variable) {
        Some(Value::Vertex(vertex)) => Some(*vertex),
        _ => None,
    }
}

/// Edges of a vertex with their far ends.
fn edges(graph: &Graph, from: VertexId, types: &[Name], direction: Direction) -> Vec<(EdgeRef, VertexId)> {
    let admitted = |edge_type: &str| types.is_empty() || types.iter().any(|name| **name == *edge_type);
    let mut found = Vec::new();
    for edge in graph.edges.iter().filter(|edge| admitted(edge.edge_type)) {
        if direction != Direction::In && edge.edge.source == from {
            found.push((edge.edge, edge.edge.target));
        } else if direction != Direction::Out && edge.edge.target == from {
            found.push((edge.edge, edge.edge.source));
        }
    }
    found
}

/// The rows of a plan; `argument` is the enclosing row.
pub fn rows(graph: &Graph, plan: &Plan, argument: &Row) -> Vec<Row> {
    match plan {
        Plan::Unit => vec![Row::new()],
        Plan::Argument(variables) => {
            vec![variables.iter().map(|variable| (*variable, argument[variable].clone())).collect()]
        }
        Plan::ScanVertices(node) => each(graph, &node.input, argument, |row| {
            let found = graph.vertices.iter().filter(|vertex| has_labels(graph, vertex.id, &node.labels));
            found.map(|vertex| with(row, node.vertex, Value::Vertex(vertex.id))).collect()
        }),
        Plan::SeekIds(node) => each(graph, &node.input, argument, |row| {
            let Value::List(wanted) = value(graph, &node.ids, row) else { return Vec::new() };
            let is_wanted = |id: VertexId| wanted.iter().any(|value| value.as_int() == Some(id.0 as i64));
            let found = graph.vertices.iter().map(|vertex| vertex.id).filter(|id| is_wanted(*id));
            found.map(|id| with(row, node.vertex, Value::Vertex(id))).collect()
        }),
        Plan::Expand(node) => each(graph, &node.input, argument, |row| expand(graph, node, row)),
        Plan::Intersect(node) => each(graph, &node.input, argument, |row| intersect(graph, node, row)),
        Plan::ExpandPath(node) => {
            each(graph, &node.input, argument, |row| super::twin::paths(graph, node, row))
        }
        Plan::Filter(node) => each(graph, &node.input, argument, |row| {
            let holds = value(graph, &node.predicate, row).as_bool() == Some(true);
            if holds { vec![row.clone()] } else { Vec::new() }
        }),
        Plan::Extend(node) => each(graph, &node.input, argument, |row| {
            let mut row = row.clone();
            for (variable, expression) in &node.items {
                row.insert(*variable, value(graph, expression, &row));
            }
            vec![row]
        }),
        Plan::Project(node) => each(graph, &node.input, argument, |row| {
            vec![
                node.items
                    .iter()
                    .map(|(variable, expression)| (*variable, value(graph, expression, row)))
                    .collect(),
            ]
        }),
        Plan::Unwind(node) => each(graph, &node.input, argument, |row| match value(graph, &node.list, row) {
            Value::List(list) => {
                list.iter().map(|element| with(row, node.variable, element.clone())).collect()
            }
            _ => Vec::new(),
        }),
        Plan::Distinct(node) => {
            let narrow = |row: &Row, columns: &[plan::Var]| -> Row {
                columns.iter().map(|column| (*column, row[column].clone())).collect()
            };
            let all = rows(graph, &node.input, argument);
            if node.carried.is_empty() {
                return dedup(all.iter().map(|row| narrow(row, &node.columns)).collect());
            }
            let mut firsts: Vec<(Row, Row)> = Vec::new();
            for row in &all {
                let key = narrow(row, &node.columns);
                if !firsts.iter().any(|(known, _)| alike(known, &key)) {
                    let mut kept = key.clone();
                    kept.extend(narrow(row, &node.carried));
                    firsts.push((key, kept));
                }
            }
            firsts.into_iter().map(|(_, kept)| kept).collect()
        }
        Plan::Aggregate(node) => aggregate(graph, node, argument),
        Plan::Sort(node) => sort(graph, node, argument),
        Plan::Skip(node) => {
            let count = value(graph, &node.count, &Row::new()).as_int().unwrap() as usize;
            rows(graph, &node.input, argument).into_iter().skip(count).collect()
        }
        Plan::Limit(node) => {
            let count = value(graph, &node.count, &Row::new()).as_int().unwrap() as usize;
            rows(graph, &node.input, argument).into_iter().take(count).collect()
        }
        Plan::Join(node) => join(graph, node, argument),
        Plan::Apply(node) => each(graph, &node.input, argument, |row| apply(graph, node, row)),
        Plan::Union(node) => {
            let take = |row: &Row, pick: fn(&(Var, Var, Var)) -> Var| -> Row {
                node.columns.iter().map(|columns| (columns.0, row[&pick(columns)].clone())).collect()
            };
            let mut all: Vec<Row> =
                rows(graph, &node.left, argument).iter().map(|row| take(row, |c| c.1)).collect();
            all.extend(rows(graph, &node.right, argument).iter().map(|row| take(row, |c| c.2)));
            if node.distinct { dedup(all) } else { all }
        }
        other => panic!("the twin does not know {other:?}"),
    }
}

fn each(graph: &Graph, input: &Plan, argument: &Row, mut grow: impl FnMut(&Row) -> Vec<Row>) -> Vec<Row> {
    rows(graph, input, argument).iter().flat_map(&mut grow).collect()
}

fn with(row: &Row, variable: Var, value: Value) -> Row {
    let mut row = row.clone();
    row.insert(variable, value);
    row
}

fn alike(a: &Row, b: &Row) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((k, x), (l, y))| k == l && equivalent(x, y))
}

fn dedup(all: Vec<Row>) -> Vec<Row> {
    let mut kept: Vec<Row> = Vec::new();
    for row in all {
        if !kept.iter().any(|other| alike(other, &row)) {
            kept.push(row);
        }
    }
    kept
}

fn expand(graph: &Graph, node: &plan::algebra::Expand, row: &Row) -> Vec<Row> {
    let Some(from) = vertex(row, node.from) else { return Vec::new() };
    let mut found = Vec::new();
    for (edge, far) in edges(graph, from, &node.types, node.direction) {
        if (node.into && vertex(row, node.to) != Some(far)) || !has_labels(graph, far, &node.labels) {
            continue;
        }
        let mut row = with(row, node.to, Value::Vertex(far));
        if let Some(variable) = node.edge {
            row.insert(variable, Value::edge(edge));
        }
        let times = 1 + usize::from(node.loops_twice && far == from);
        found.extend(std::iter::repeat_n(row, times));
    }
    found
}

/// Every combination of edges, one of each arm, that lead to one vertex.
fn intersect(graph: &Graph, node: &plan::algebra::Intersect, row: &Row) -> Vec<Row> {
    let ends = |arm: &plan::algebra::IntersectArm| {
        let from = vertex(row, arm.from);
        let found = from.map_or(Vec::new(), |from| edges(graph, from, &arm.types, arm.direction));
        found.into_iter().map(|(_, far)| far).collect::<Vec<VertexId>>()
    };
    let mut met = ends(&node.arms[0]);
    if node.arms[0].once {
        met.sort_unstable();
        met.dedup();
    }
    met.retain(|far| has_labels(graph, *far, &node.labels));
    for arm in &node.arms[1..] {
        let here = ends(arm);
        let times = |far| here.iter().filter(|other| **other == far).count();
        let times = |far| if arm.once { usize::min(times(far), 1) } else { times(far) };
        met = met.into_iter().flat_map(|far| std::iter::repeat_n(far, times(far))).collect();
    }
    met.into_iter().map(|far| with(row, node.to, Value::Vertex(far))).collect()
}

/// All runs from a vertex, by depth first search; then the selector.
pub fn paths(graph: &Graph, node: &plan::algebra::ExpandPath, row: &Row) -> Vec<Row> {
    let Some(from) = vertex(row, node.from) else { return Vec::new() };
    let mut runs = Vec::new();
    run(graph, node, row, &mut vec![from], &mut Vec::new(), &mut runs);
    let wanted = |end: VertexId| {
        (!node.into || vertex(row, node.to) == Some(end)) && has_labels(graph, end, &node.labels)
    };
    runs.retain(|(end, _): &(VertexId, Vec<EdgeRef>)| wanted(*end));
    runs.sort_by_key(|(end, edges)| (*end, edges.len()));
    if node.selector != Selector::Every {
        let shortest: BTreeMap<VertexId, usize> =
            runs.iter().rev().map(|(end, edges)| (*end, edges.len())).collect();
        runs.retain(|(end, edges)| edges.len() == shortest[end]);
    }
    if node.distinct_ends || node.selector == Selector::AnyShortest {
        runs.dedup_by_key(|(end, _)| *end);
    }
    let output = |(end, edges): (VertexId, Vec<EdgeRef>)| {
        let mut row = with(row, node.to, Value::Vertex(end));
        if let Some(length) = node.length {
            row.insert(length, Value::Int(edges.len() as i64));
        }
        if let Some(variable) = node.edges {
            let mut list: Vec<Value> = edges.into_iter().map(Value::edge).collect();
            if node.edges_reversed {
                list.reverse();
            }
            row.insert(variable, Value::list(list));
        }
        row
    };
    runs.into_iter().map(output).collect()
}

fn run(
    graph: &Graph,
    node: &plan::algebra::ExpandPath,
    row: &Row,
    vertices: &mut Vec<VertexId>,
    walked: &mut Vec<EdgeRef>,
    runs: &mut Vec<(VertexId, Vec<EdgeRef>)>,
) {
    let here = *vertices.last().unwrap();
    if walked.len() >= node.min as usize {
        runs.push((here, walked.clone()));
    }
    let closed = vertices.len() > 1 && here == vertices[0];
    if node.max.is_some_and(|max| walked.len() >= max as usize) || (closed && node.mode == PathMode::Simple) {
        return;
    }
    for (edge, far) in edges(graph, here, &node.types, node.direction) {
        let fits = match node.mode {
            PathMode::Walk => true,
            PathMode::Trail => !walked.contains(&edge),
            PathMode::Acyclic => !vertices.contains(&far),
            // Out and back over one edge repeats no vertex but the first, and is none all the same.
            PathMode::Simple => !vertices[1..].contains(&far) && !walked.contains(&edge),
        };
        let admitted = node.edge_predicate.as_ref().is_none_or(|(variable, predicate)| {
            value(graph, predicate, &with(row, *variable, Value::edge(edge))).as_bool() == Some(true)
        });
        if fits && admitted {
            vertices.push(far);
            walked.push(edge);
            run(graph, node, row, vertices, walked, runs);
            vertices.pop();
            walked.pop();
        }
    }
}

fn aggregate(graph: &Graph, node: &plan::algebra::Aggregate, argument: &Row) -> Vec<Row> {
    let mut groups: Vec<(Row, Vec<Row>)> = Vec::new();
    if node.keys.is_empty() {
        groups.push((Row::new(), Vec::new()));
    }
    for row in rows(graph, &node.input, argument) {
        let key: Row = node.keys.iter().map(|(variable, key)| (*variable, value(graph, key, &row))).collect();
        match groups.iter_mut().find(|(other, _)| alike(other, &key)) {
            Some((_, members)) => members.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    let finish = |(mut key, members): (Row, Vec<Row>)| {
        for (variable, call) in &node.aggregates {
            let mut values: Vec<Value> = match call.arguments.first() {
                None => members.iter().map(|_| Value::Int(1)).collect(),
                Some(argument) => members.iter().map(|row| value(graph, argument, row)).collect(),
            };
            values.retain(|value| !value.is_null());
            if call.distinct {
                values.sort_by(total_order);
                values.dedup_by(|a, b| equivalent(a, b));
            }
            key.insert(*variable, fold(call.function, values));
        }
        key
    };
    groups.into_iter().map(finish).collect()
}

fn fold(function: AggregateFunction, values: Vec<Value>) -> Value {
    match function {
        AggregateFunction::CountRows | AggregateFunction::Count => Value::Int(values.len() as i64),
        AggregateFunction::Sum => Value::Int(values.iter().filter_map(Value::as_int).sum()),
        AggregateFunction::Min => values.into_iter().min_by(total_order).unwrap_or(Value::Null),
        AggregateFunction::Max => values.into_iter().max_by(total_order).unwrap_or(Value::Null),
        other => panic!("the twin does not know {other:?}"),
    }
}

fn sort(graph: &Graph, node: &plan::algebra::Sort, argument: &Row) -> Vec<Row> {
    let mut all = rows(graph, &node.input, argument);
    let is_typed = |key: &&plan::algebra::SortKey| key.order == plan::algebra::KeyOrder::Typed;
    all.retain(|row| node.keys.iter().filter(is_typed).all(|key| !value(graph, &key.expr, row).is_null()));
    let place = |key: &plan::algebra::SortKey, value: &Value| match value {
        _ if !is_typed(&key) => 0,
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
        Value::String(_) => 2,
        _ => 1,
    };
    all.sort_by(|a, b| {
        let mut orders = node.keys.iter().map(|key| {
            let (a, b) = (value(graph, &key.expr, a), value(graph, &key.expr, b));
            let order = place(key, &a).cmp(&place(key, &b)).then_with(|| total_order(&a, &b));
            if key.descending { order.reverse() } else { order }
        });
        orders.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    if let Some(limit) = &node.limit {
        all.truncate(value(graph, limit, &Row::new()).as_int().unwrap() as usize);
    }
    all
}

fn join(graph: &Graph, node: &plan::algebra::Join, argument: &Row) -> Vec<Row> {
    let (build, probe) = (rows(graph, &node.build, argument), rows(graph, &node.probe, argument));
    let mut found = Vec::new();
    for left in &probe {
        for right in &build {
            if node.on.iter().all(|variable| equals(&left[variable], &right[variable]) == Some(true)) {
                let mut row = right.clone();
                row.extend(left.iter().map(|(variable, value)| (*variable, value.clone())));
                found.push(row);
            }
        }
    }
    found
}

fn apply(graph: &Graph, node: &plan::algebra::Apply, row: &Row) -> Vec<Row> {
    let inner = rows(graph, &node.inner, row);
    let joined = |columns: &[Var]| -> Vec<Row> {
        let add = |inner: &Row| {
            let mut row = row.clone();
            columns.iter().for_each(|column| {
                row.insert(*column, inner[column].clone());
            });
            row
        };
        inner.iter().map(add).collect()
    };
    match &node.kind {
        ApplyKind::Inner(columns) => joined(columns),
        ApplyKind::Optional(columns) if inner.is_empty() => {
            let mut row = row.clone();
            row.extend(columns.iter().map(|column| (*column, Value::Null)));
            vec![row]
        }
        ApplyKind::Optional(columns) => joined(columns),
        ApplyKind::Semi if inner.is_empty() => Vec::new(),
        ApplyKind::Anti if !inner.is_empty() => Vec::new(),
        ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Unit => vec![row.clone()],
        ApplyKind::Repeat(_) => panic!("the twin does not know repeats"),
        ApplyKind::Exists(new) => vec![with(row, *new, Value::Bool(!inner.is_empty()))],
        ApplyKind::Count(new) => vec![with(row, *new, Value::Int(inner.len() as i64))],
        ApplyKind::Collect { list, column } => {
            let mut values: Vec<Value> = inner.iter().map(|inner| inner[column].clone()).collect();
            values.sort_by(total_order);
            vec![with(row, *list, Value::list(values))]
        }
    }
}
