//! Plans over a tiny graph, row by row: the meaning of each operator, `Match` by trying everything.

use super::evaluate::{Row, distinct, evaluate, sorted, truth};
use super::graph::Graph;
use model::{Direction, EdgeRef, Value, VertexId, compare};
use tanglewood_plan::algebra::*;
use tanglewood_plan::expr::*;
use tanglewood_plan::pattern::*;
use tanglewood_plan::{AggregateFunction, Plan};

/// Levels that a walk without bound is followed; trails end by themselves.
const WALK_LEVELS_MAX: u32 = 12;

pub fn run(graph: &Graph, plan: &Plan, outer: &Row) -> Vec<Row> {
    if let Some(input) = plan.input()
        && !matches!(plan, Plan::Apply(_))
    {
        return one_input(graph, plan, run(graph, input, outer), outer);
    }
    match plan {
        Plan::Unit => vec![Row::new()],
        Plan::Argument(columns) => vec![columns.iter().map(|var| (*var, outer[var].clone())).collect()],
        Plan::Join(node) => {
            let (build, probe) = (run(graph, &node.build, outer), run(graph, &node.probe, outer));
            let equal = |a: &Row, b: &Row, var| compare::equals(&a[var], &b[var]) == Some(true);
            let agree = |a: &Row, b: &Row| node.on.iter().all(|var| equal(a, b, var));
            let shared = |a: &Row, b: &Row| {
                a.keys().all(|var| {
                    !b.contains_key(var) || node.on.contains(var) || compare::equivalent(&a[var], &b[var])
                })
            };
            let mut joined = Vec::new();
            for a in &build {
                for b in probe.iter().filter(|b| agree(a, b)) {
                    assert!(shared(a, b), "a join's sides share columns that it does not compare");
                    joined.push(a.clone().into_iter().chain(b.clone()).collect())
                }
            }
            joined
        }
        Plan::Union(node) => {
            let (left, right) = (run(graph, &node.left, outer), run(graph, &node.right, outer));
            let from_left = left
                .iter()
                .map(|row| node.columns.iter().map(|(out, l, _)| (*out, row[l].clone())).collect());
            let from_right = right
                .iter()
                .map(|row| node.columns.iter().map(|(out, _, r)| (*out, row[r].clone())).collect());
            let rows: Vec<Row> = from_left.chain(from_right).collect();
            if node.distinct { each_once(rows) } else { rows }
        }
        Plan::Apply(node) => {
            run(graph, &node.input, outer).into_iter().flat_map(|row| apply(graph, node, row)).collect()
        }
        other => panic!("the runner does not know {other:?}"),
    }
}

fn each_once(rows: Vec<Row>) -> Vec<Row> {
    let mut kept: Vec<Row> = Vec::new();
    for row in rows {
        if !kept.iter().any(|other| same(other, &row)) {
            kept.push(row)
        }
    }
    kept
}

pub fn same(a: &Row, b: &Row) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((k, x), (l, y))| k == l && compare::equivalent(x, y))
}

fn with(row: &Row, var: Var, value: Value) -> Row {
    let mut row = row.clone();
    row.insert(var, value);
    row
}

fn one_input(graph: &Graph, plan: &Plan, rows: Vec<Row>, outer: &Row) -> Vec<Row> {
    let items = |row: &Row, items: &[(Var, Expr)]| -> Row {
        items.iter().map(|(var, expr)| (*var, evaluate(graph, row, expr))).collect()
    };
    let all = || (0..graph.vertices.len() as u64).map(VertexId);
    let _ = outer;
    match plan {
        Plan::Match(node) => rows.iter().flat_map(|row| matches(graph, node, row)).collect(),
        Plan::ScanVertices(node) => {
            let bind = |row: Row| {
                fresh(&row, node.vertex);
                let found = all().filter(|vertex| graph.has(*vertex, &node.labels));
                found.map(|vertex| with(&row, node.vertex, Value::Vertex(vertex))).collect::<Vec<_>>()
            };
            rows.into_iter().flat_map(bind).collect()
        }
        Plan::SeekVertices(node) => rows.iter().flat_map(|row| seek(graph, node, row)).collect(),
        Plan::SeekEdges(node) => rows.iter().flat_map(|row| seek_edges(graph, node, row)).collect(),
        Plan::SeekIds(node) => {
            let bind = |row: &Row| {
                fresh(row, node.vertex);
                let ids = evaluate(graph, row, &node.ids);
                let wanted = |id: i64| match &ids {
                    Value::Int(wanted) => *wanted == id,
                    Value::List(items) => items.iter().any(|item| item.as_int() == Some(id)),
                    _ => false,
                };
                all()
                    .filter(|v| wanted(v.0 as i64))
                    .map(|v| with(row, node.vertex, Value::Vertex(v)))
                    .collect::<Vec<_>>()
            };
            rows.iter().flat_map(bind).collect()
        }
        Plan::Expand(node) => rows.iter().flat_map(|row| expand(graph, node, row)).collect(),
        Plan::ExpandPath(node) => rows.iter().flat_map(|row| expand_path(graph, node, row)).collect(),
        Plan::Intersect(node) => rows.iter().flat_map(|row| intersect(graph, node, row)).collect(),
        Plan::CountStored(node) => {
            let count = match &node.counted {
                Counted::Vertices(labels) => all().filter(|vertex| graph.has(*vertex, labels)).count(),
                Counted::Edges { types, labels, direction } => {
                    let near = all().filter(|vertex| graph.has(*vertex, labels));
                    near.map(|vertex| graph.at(vertex, types, *direction).len()).sum()
                }
            };
            rows.iter().map(|row| with(row, node.count, Value::Int(count as i64))).collect()
        }
        Plan::CountMatches(node) => {
            rows.iter().filter_map(|row| super::counting::count_matches(graph, node, row)).collect()
        }
        Plan::Filter(node) => rows.into_iter().filter(|row| truth(graph, row, &node.predicate)).collect(),
        Plan::Extend(node) => {
            let extended = |mut row: Row| {
                for (var, expr) in &node.items {
                    let value = evaluate(graph, &row, expr);
                    row.insert(*var, value);
                }
                row
            };
            rows.into_iter().map(extended).collect()
        }
        Plan::Project(node) => rows.iter().map(|row| items(row, &node.items)).collect(),
        Plan::Aggregate(node) => aggregate(graph, node, rows),
        Plan::Distinct(node) => {
            let kept = |row: Row| {
                assert!(node.carried.is_empty(), "no first row is asked for here");
                node.columns.iter().map(|var| (*var, row[var].clone())).collect()
            };
            each_once(rows.into_iter().map(kept).collect())
        }
        Plan::Unwind(node) => {
            let each = |row: &Row| match evaluate(graph, row, &node.list) {
                Value::List(list) => list.iter().map(|item| with(row, node.variable, item.clone())).collect(),
                Value::Null => Vec::new(),
                single => vec![with(row, node.variable, single)],
            };
            rows.iter().flat_map(each).collect()
        }
        Plan::Sort(_) => rows,
        // Set by the rewrite `once` alone, above what only tests.
        Plan::Limit(node) => {
            let count = evaluate(graph, &Row::default(), &node.count).as_int().unwrap_or(0);
            rows.into_iter().take(count as usize).collect()
        }
        other => panic!("the runner does not know {other:?}"),
    }
}

fn fresh(row: &Row, var: Var) {
    assert!(!row.contains_key(&var), "{var:?} is bound twice")
}

fn seek(graph: &Graph, node: &SeekVertices, row: &Row) -> Vec<Row> {
    fresh(row, node.vertex);
    let value = |expr: &Expr| evaluate(graph, row, expr);
    let hit = |vertex: &VertexId| {
        let property = |key: &Name| graph.property(&Value::Vertex(*vertex), key);
        let equals = |key: &Name, wanted: &Value| compare::equals(&property(key), wanted) == Some(true);
        let first = property(&node.keys[0]);
        graph.has(*vertex, &LabelExpr::Has(node.label.clone()))
            && match &node.seek {
                Seek::Equal(values) => {
                    node.keys.iter().zip(values).all(|(key, wanted)| equals(key, &value(wanted)))
                }
                Seek::In(list) => match value(list) {
                    Value::List(items) => items.iter().any(|item| equals(&node.keys[0], item)),
                    _ => false,
                },
                Seek::Range(low, high) => {
                    let within = |bound: &Option<(Expr, bool)>, above: bool| match bound {
                        None => !first.is_null(),
                        Some((bound, included)) => match compare::compare(&first, &value(bound)) {
                            None => false,
                            Some(order) if above => order.is_gt() || *included && order.is_eq(),
                            Some(order) => order.is_lt() || *included && order.is_eq(),
                        },
                    };
                    within(low, true) && within(high, false)
                }
                Seek::Prefix(_) => panic!("no texts here"),
            }
    };
    let found = (0..graph.vertices.len() as u64).map(VertexId).filter(hit);
    found.map(|vertex| with(row, node.vertex, Value::Vertex(vertex))).collect()
}

fn seek_edges(graph: &Graph, node: &SeekEdges, row: &Row) -> Vec<Row> {
    [node.edge, node.from, node.to].into_iter().for_each(|var| fresh(row, var));
    let value = |expr: &Expr| evaluate(graph, row, expr);
    let hit = |property: &Value| match &node.seek {
        Seek::Equal(values) => compare::equals(property, &value(&values[0])) == Some(true),
        Seek::In(list) => match value(list) {
            Value::List(items) => items.iter().any(|item| compare::equals(property, item) == Some(true)),
            _ => false,
        },
        Seek::Range(low, high) => {
            let within = |bound: &Option<(Expr, bool)>, above: bool| {
                bound.as_ref().is_none_or(|(bound, included)| {
                    match compare::compare(property, &value(bound)) {
                        None => false,
                        Some(order) if above => order.is_gt() || *included && order.is_eq(),
                        Some(order) => order.is_lt() || *included && order.is_eq(),
                    }
                })
            };
            within(low, true) && within(high, false)
        }
        Seek::Prefix(_) => panic!("no texts here"),
    };
    assert_eq!(node.keys.len(), 1, "edges have one key here");
    let mut found = Vec::new();
    for from in (0..graph.vertices.len() as u64).map(VertexId) {
        for (edge, to) in graph.at(from, std::slice::from_ref(&node.edge_type), node.direction) {
            if hit(&graph.property(&Value::edge(edge), &node.keys[0])) {
                let row = with(row, node.edge, Value::edge(edge));
                found.push(with(&with(&row, node.from, Value::Vertex(from)), node.to, Value::Vertex(to)));
            }
        }
    }
    found
}

fn expand(graph: &Graph, node: &Expand, row: &Row) -> Vec<Row> {
    let Value::Vertex(from) = row[&node.from] else { return Vec::new() };
    if !node.into {
        fresh(row, node.to)
    }
    node.edge.iter().for_each(|edge| fresh(row, *edge));
    let mut found = Vec::new();
    for (edge, to) in graph.at(from, &node.types, node.direction) {
        let bound = node.into && !compare::equivalent(&row[&node.to], &Value::Vertex(to));
        if bound || !graph.has(to, &node.labels) {
            continue;
        }
        let mut row = with(row, node.to, Value::Vertex(to));
        row.extend(node.edge.map(|var| (var, Value::edge(edge))));
        let property = |key| graph.property(&Value::edge(edge), key);
        row.extend(node.properties.iter().map(|(key, column)| (*column, property(key))));
        found.push(row)
    }
    found
}

/// One arm after the other, each way of a former one kept as often as it is found by the next.
fn intersect(graph: &Graph, node: &Intersect, row: &Row) -> Vec<Row> {
    fresh(row, node.to);
    let ends = |arm: &IntersectArm| match row[&arm.from] {
        Value::Vertex(from) => {
            graph.at(from, &arm.types, arm.direction).into_iter().map(|(_, to)| to).collect()
        }
        _ => Vec::new(),
    };
    let (first, others) = node.arms.split_first().expect("there are two arms at least");
    let mut met: Vec<_> = ends(first).into_iter().filter(|to| graph.has(*to, &node.labels)).collect();
    for arm in others {
        let here = ends(arm);
        let times = |to| here.iter().filter(|other| **other == to).count();
        let times = |to| if arm.once { usize::min(times(to), 1) } else { times(to) };
        met = met.into_iter().flat_map(|to| std::iter::repeat_n(to, times(to))).collect();
    }
    met.into_iter().map(|to| with(row, node.to, Value::Vertex(to))).collect()
}

fn expand_path(graph: &Graph, node: &ExpandPath, row: &Row) -> Vec<Row> {
    let Value::Vertex(from) = row[&node.from] else { return Vec::new() };
    if !node.into {
        fresh(row, node.to)
    }
    node.edges.iter().chain(&node.length).for_each(|var| fresh(row, *var));
    let steps = Steps {
        graph,
        types: &node.types,
        direction: node.direction,
        row,
        test: node.edge_predicate.as_ref(),
    };
    // Distinct ends of one edge and more are what a breadth-first search finds, which knows no trails.
    let mode = if node.distinct_ends && node.min <= 1 { PathMode::Walk } else { node.mode };
    let mut runs = steps.runs(from, node.min, node.max, mode);
    runs.retain(|(_, to)| {
        let bound = node.into && !compare::equivalent(&row[&node.to], &Value::Vertex(*to));
        !bound && graph.has(*to, &node.labels)
    });
    let mut runs = select(runs, node.selector);
    if node.distinct_ends {
        runs.sort_by_key(|(_, to)| *to);
        runs.dedup_by_key(|(_, to)| *to)
    }
    let written = |(mut edges, to): (Vec<EdgeRef>, VertexId)| {
        if node.edges_reversed {
            edges.reverse()
        }
        let mut row = with(row, node.to, Value::Vertex(to));
        row.extend(node.length.map(|var| (var, Value::Int(edges.len() as i64))));
        row.extend(node.edges.map(|var| (var, Value::list(edges.into_iter().map(Value::edge).collect()))));
        row
    };
    runs.into_iter().map(written).collect()
}

type EdgeRun = (Vec<EdgeRef>, VertexId);

/// Shortest ones for each end. Of one of the shortest, which one is not said: the tests do not look.
fn select(runs: Vec<EdgeRun>, selector: Selector) -> Vec<EdgeRun> {
    if selector == Selector::Every {
        return runs;
    }
    let shortest = |run: &EdgeRun| !runs.iter().any(|other| other.1 == run.1 && other.0.len() < run.0.len());
    let mut kept: Vec<EdgeRun> = runs.iter().filter(|run| shortest(run)).cloned().collect();
    if selector == Selector::AnyShortest {
        kept.sort_by_key(|(_, to)| *to);
        kept.dedup_by_key(|(_, to)| *to)
    }
    kept
}

struct Steps<'a> {
    graph: &'a Graph,
    types: &'a [Name],
    direction: Direction,
    row: &'a Row,
    test: Option<&'a (Var, Expr)>,
}

impl Steps<'_> {
    fn runs(&self, from: VertexId, min: u32, max: Option<u32>, mode: PathMode) -> Vec<EdgeRun> {
        let max = max.unwrap_or(WALK_LEVELS_MAX).min(WALK_LEVELS_MAX);
        let mut found = Vec::new();
        if mode == PathMode::Walk && max > 4 {
            return self.ends_of_walks(from, min, max);
        }
        self.follow(vec![from], Vec::new(), min, max, mode, &mut found);
        found
    }
    /// One run for each end: what a search that only marks vertices finds.
    fn ends_of_walks(&self, from: VertexId, min: u32, max: u32) -> Vec<EdgeRun> {
        let mut level = vec![from];
        let mut ends = Vec::new();
        for length in 0..=max {
            if length >= min {
                ends.extend(level.iter().copied())
            }
            let mut next: Vec<VertexId> =
                level.iter().flat_map(|at| self.at(*at)).map(|(_, to)| to).collect();
            next.sort();
            next.dedup();
            level = next
        }
        ends.sort();
        ends.dedup();
        ends.into_iter().map(|to| (Vec::new(), to)).collect()
    }
    fn at(&self, vertex: VertexId) -> Vec<(EdgeRef, VertexId)> {
        let mut steps = self.graph.at(vertex, self.types, self.direction);
        if let Some((var, predicate)) = self.test {
            steps.retain(|(edge, _)| truth(self.graph, &with(self.row, *var, Value::edge(*edge)), predicate))
        }
        steps
    }
    fn follow(
        &self,
        at: Vec<VertexId>,
        edges: Vec<EdgeRef>,
        min: u32,
        max: u32,
        mode: PathMode,
        found: &mut Vec<EdgeRun>,
    ) {
        let here = *at.last().unwrap();
        let length = edges.len() as u32;
        if length >= min {
            found.push((edges.clone(), here))
        }
        let closed = mode == PathMode::Simple && length > 0 && here == at[0];
        if length == max || closed {
            return;
        }
        for (edge, to) in self.at(here) {
            let admitted = match mode {
                PathMode::Walk => true,
                PathMode::Trail => !edges.contains(&edge),
                PathMode::Acyclic => !at.contains(&to),
                PathMode::Simple => !at[1..].contains(&to) && !edges.contains(&edge),
            };
            if admitted {
                let (mut at, mut edges) = (at.clone(), edges.clone());
                at.push(to);
                edges.push(edge);
                self.follow(at, edges, min, max, mode, found)
            }
        }
    }
}

fn aggregate(graph: &Graph, node: &Aggregate, rows: Vec<Row>) -> Vec<Row> {
    let key = |row: &Row| -> Row {
        node.keys.iter().map(|(var, expr)| (*var, evaluate(graph, row, expr))).collect()
    };
    let mut groups: Vec<(Row, Vec<Row>)> = Vec::new();
    if node.keys.is_empty() {
        groups.push((Row::new(), Vec::new()))
    }
    for row in rows {
        let key = key(&row);
        match groups.iter_mut().find(|(other, _)| same(other, &key)) {
            Some((_, members)) => members.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    let finish = |(mut out, members): (Row, Vec<Row>)| {
        for (var, call) in &node.aggregates {
            let values = call.arguments.first().map(|expr| {
                let values =
                    members.iter().map(|row| evaluate(graph, row, expr)).filter(|value| !value.is_null());
                let mut values: Vec<Value> = values.collect();
                values.sort_by(compare::total_order);
                if call.distinct {
                    values.dedup_by(|a, b| compare::equivalent(a, b))
                }
                values
            });
            let value = match (call.function, values) {
                (AggregateFunction::CountRows, _) => Value::Int(members.len() as i64),
                (AggregateFunction::Count, Some(values)) => Value::Int(values.len() as i64),
                (AggregateFunction::Sum, Some(values)) => {
                    Value::Int(values.iter().filter_map(|value| value.as_int()).sum())
                }
                (AggregateFunction::Min, Some(values)) => values.first().cloned().unwrap_or(Value::Null),
                (AggregateFunction::Max, Some(values)) => values.last().cloned().unwrap_or(Value::Null),
                (AggregateFunction::Collect, Some(values)) => Value::list(values),
                other => panic!("the runner does not know {other:?}"),
            };
            out.insert(*var, value);
        }
        out
    };
    groups.into_iter().map(finish).collect()
}

fn apply(graph: &Graph, node: &Apply, row: Row) -> Vec<Row> {
    let outer: Row = node.imports.iter().map(|var| (*var, row[var].clone())).collect();
    let inner = run(graph, &node.inner, &outer);
    let some = !inner.is_empty();
    match &node.kind {
        ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => {
            let take = |inner: &Row| {
                row.iter()
                    .map(|(k, v)| (*k, v.clone()))
                    .chain(columns.iter().map(|c| (*c, inner[c].clone())))
                    .collect()
            };
            let mut rows: Vec<Row> = inner.iter().map(take).collect();
            if rows.is_empty() && matches!(node.kind, ApplyKind::Optional(_)) {
                rows.push(
                    row.iter()
                        .map(|(k, v)| (*k, v.clone()))
                        .chain(columns.iter().map(|c| (*c, Value::Null)))
                        .collect(),
                )
            }
            rows
        }
        ApplyKind::Semi => some.then_some(row).into_iter().collect(),
        ApplyKind::Anti => (!some).then_some(row).into_iter().collect(),
        ApplyKind::Exists(var) => vec![with(&row, *var, Value::Bool(some))],
        ApplyKind::Count(var) => vec![with(&row, *var, Value::Int(inner.len() as i64))],
        ApplyKind::Collect { list, column } => {
            vec![with(&row, *list, sorted(inner.iter().map(|row| row[column].clone()).collect()))]
        }
        ApplyKind::Unit => vec![row],
        ApplyKind::Repeat(_) => panic!("the runner does not know repeats"),
    }
}

/// Every embedding of the pattern: each vertex tried at every place, then each edge.
fn matches(graph: &Graph, node: &Match, row: &Row) -> Vec<Row> {
    let mut rows = vec![row.clone()];
    for vertex in &node.pattern.vertices {
        let mut next = Vec::new();
        for row in &rows {
            let places =
                (0..graph.vertices.len() as u64).map(VertexId).filter(|at| graph.has(*at, &vertex.labels));
            for at in places {
                match row.get(&vertex.variable) {
                    Some(bound) if !compare::equivalent(bound, &Value::Vertex(at)) => {}
                    _ => next.push(with(row, vertex.variable, Value::Vertex(at))),
                }
            }
        }
        rows = next
    }
    // Edge predicates may read other edges, so they are tested when all are found.
    for edge in &node.pattern.edges {
        rows = rows.iter().flat_map(|row| embed_edge(graph, edge, row)).collect()
    }
    rows.retain(|row| {
        unique(&node.pattern, row) && node.pattern.predicates.iter().all(|test| truth(graph, row, test))
    });
    if rows.is_empty() && node.optional {
        let mut missing = row.clone();
        let vertices = node.pattern.vertices.iter().map(|vertex| vertex.variable);
        for var in vertices.chain(node.pattern.edges.iter().map(|edge| edge.variable)) {
            missing.entry(var).or_insert(Value::Null);
        }
        rows.push(missing)
    }
    rows
}

fn embed_edge(graph: &Graph, edge: &PatternEdge, row: &Row) -> Vec<Row> {
    let (Value::Vertex(from), to) = (row[&edge.from].clone(), &row[&edge.to]) else { return Vec::new() };
    let ends_there = |end: &VertexId| compare::equivalent(&Value::Vertex(*end), to);
    let bound = row.get(&edge.variable);
    let values: Vec<Value> = match &edge.run {
        None => {
            let found =
                graph.at(from, &edge.types, edge.direction).into_iter().filter(|(_, end)| ends_there(end));
            found.map(|(edge, _)| Value::edge(edge)).collect()
        }
        Some(run) => {
            let test = run.edge_predicate.as_ref();
            let steps = Steps { graph, types: &edge.types, direction: edge.direction, row, test };
            let mut runs = steps.runs(from, run.min, run.max, run.mode);
            runs.retain(|(_, end)| ends_there(end));
            let list = |(edges, _): EdgeRun| Value::list(edges.into_iter().map(Value::edge).collect());
            select(runs, run.selector).into_iter().map(list).collect()
        }
    };
    let kept = values.into_iter().filter(|value| bound.is_none_or(|bound| compare::equivalent(bound, value)));
    kept.map(|value| with(row, edge.variable, value)).collect()
}

fn unique(pattern: &Pattern, row: &Row) -> bool {
    let all = || pattern.edges.iter().filter(|edge| edge.is_distinct());
    all().all(|one| {
        let among = all().filter(|edge| edge.distinct_among == one.distinct_among);
        distinct(among.map(|edge| &row[&edge.variable]))
    })
}
