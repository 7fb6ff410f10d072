//! Short words for plans, statements and indexes.

use model::Direction;
use plan::algebra::*;
use plan::expr::{BinaryOperator, LabelExpr, Name};
use plan::pattern::{PathMode, Selector};
use plan::statement::Mode;
use plan::{AggregateFunction, Expr, Plan, Statement, StatementKind, Var};

pub fn var(number: u32) -> Expr {
    Expr::Variable(Var(number))
}
pub fn int(value: i64) -> Expr {
    Expr::literal(value)
}
pub fn property(variable: u32, key: &str) -> Expr {
    Expr::property(Var(variable), key)
}
pub fn compare(operator: BinaryOperator, a: Expr, b: Expr) -> Expr {
    Expr::binary(operator, a, b)
}
pub fn label(name: &str) -> LabelExpr {
    if name.is_empty() { LabelExpr::Any } else { LabelExpr::Has(name.into()) }
}
pub fn scan(input: Plan, vertex: u32, labels: &str) -> Plan {
    Plan::ScanVertices(Box::new(ScanVertices { input, vertex: Var(vertex), labels: label(labels) }))
}
pub fn ids(input: Plan, vertex: u32, ids: Expr) -> Plan {
    Plan::SeekIds(Box::new(SeekIds { input, vertex: Var(vertex), ids }))
}
pub fn expand(
    input: Plan,
    from: u32,
    edge: Option<u32>,
    to: u32,
    types: &[&str],
    direction: Direction,
) -> Expand {
    Expand {
        input,
        from: Var(from),
        edge: edge.map(Var),
        to: Var(to),
        types: types.iter().map(|name| Name::from(*name)).collect(),
        direction,
        into: false,
        labels: LabelExpr::Any,
        loops_twice: false,
        properties: Vec::new(),
    }
}
pub fn path(input: Plan, from: u32, to: u32, direction: Direction, min: u32, max: Option<u32>) -> ExpandPath {
    ExpandPath {
        input,
        from: Var(from),
        edges: None,
        edges_reversed: false,
        length: None,
        to: Var(to),
        types: Vec::new(),
        direction,
        into: false,
        labels: LabelExpr::Any,
        min,
        max,
        mode: PathMode::Trail,
        selector: Selector::Every,
        distinct_ends: false,
        edge_predicate: None,
    }
}
pub fn filter(input: Plan, predicate: Expr) -> Plan {
    Plan::Filter(Box::new(Filter { input, predicate }))
}
pub fn extend(input: Plan, items: Vec<(u32, Expr)>) -> Plan {
    let items = items.into_iter().map(|(variable, expression)| (Var(variable), expression)).collect();
    Plan::Extend(Box::new(Extend { input, items }))
}
pub fn project(input: Plan, items: Vec<(u32, Expr)>) -> Plan {
    let items = items.into_iter().map(|(variable, expression)| (Var(variable), expression)).collect();
    Plan::Project(Box::new(Project { input, items }))
}
pub fn distinct(input: Plan, columns: &[u32]) -> Plan {
    let columns = columns.iter().map(|column| Var(*column)).collect();
    Plan::Distinct(Box::new(Distinct { input, columns, carried: Vec::new() }))
}
pub fn call(function: AggregateFunction, argument: Option<Expr>, distinct: bool) -> AggregateCall {
    AggregateCall { function, arguments: argument.into_iter().collect(), distinct }
}
pub fn aggregate(input: Plan, keys: Vec<(u32, Expr)>, calls: Vec<(u32, AggregateCall)>) -> Plan {
    Plan::Aggregate(Box::new(Aggregate {
        input,
        keys: keys.into_iter().map(|(variable, expression)| (Var(variable), expression)).collect(),
        aggregates: calls.into_iter().map(|(variable, call)| (Var(variable), call)).collect(),
    }))
}
pub fn count(input: Plan, variable: u32) -> Plan {
    aggregate(input, Vec::new(), vec![(variable, call(AggregateFunction::CountRows, None, false))])
}
pub fn sort(input: Plan, keys: Vec<(Expr, bool)>, limit: Option<i64>) -> Plan {
    let keys = keys
        .into_iter()
        .map(|(expr, descending)| SortKey { expr, descending, order: Default::default() })
        .collect();
    Plan::Sort(Box::new(Sort { input, keys, limit: limit.map(int) }))
}
pub fn skip(input: Plan, count: i64) -> Plan {
    Plan::Skip(Box::new(Skip { input, count: int(count) }))
}
pub fn limit(input: Plan, count: i64) -> Plan {
    Plan::Limit(Box::new(Limit { input, count: int(count), scope: Default::default() }))
}
pub fn unwind(input: Plan, list: Expr, variable: u32) -> Plan {
    Plan::Unwind(Box::new(Unwind { input, list, variable: Var(variable) }))
}
pub fn join(build: Plan, probe: Plan, on: &[u32]) -> Plan {
    Plan::Join(Box::new(Join {
        build,
        probe,
        on: on.iter().map(|variable| Var(*variable)).collect(),
        once: false,
    }))
}
pub fn argument(variables: &[u32]) -> Plan {
    Plan::Argument(variables.iter().map(|variable| Var(*variable)).collect())
}
pub fn apply(input: Plan, inner: Plan, imports: &[u32], kind: ApplyKind) -> Plan {
    let imports = imports.iter().map(|variable| Var(*variable)).collect();
    Plan::Apply(Box::new(Apply { input, inner, imports, kind, scope: Default::default(), rank: None }))
}
pub fn union(left: Plan, right: Plan, columns: &[(u32, u32, u32)], distinct: bool) -> Plan {
    let columns = columns.iter().map(|(to, a, b)| (Var(*to), Var(*a), Var(*b))).collect();
    Plan::Union(Box::new(Union { left, right, columns, distinct }))
}
pub fn range(from: i64, to: i64) -> Expr {
    Expr::Call(plan::Function::Range, vec![int(from), int(to)])
}
pub fn map(entries: Vec<(&str, Expr)>) -> Expr {
    Expr::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}
pub fn create_vertex(variable: u32, labels: &[&str], properties: Option<Expr>) -> CreateVertex {
    CreateVertex {
        variable: Var(variable),
        labels: labels.iter().map(|name| Name::from(*name)).collect(),
        properties,
    }
}
pub fn create_edge(variable: u32, edge_type: &str, source: u32, target: u32) -> CreateEdge {
    CreateEdge {
        variable: Var(variable),
        edge_type: edge_type.into(),
        dynamic_type: None,
        source: Var(source),
        target: Var(target),
        properties: None,
    }
}
pub fn create(input: Plan, vertices: Vec<CreateVertex>, edges: Vec<CreateEdge>) -> Plan {
    Plan::Create(Box::new(Create { input, vertices, edges }))
}
pub fn set(input: Plan, items: Vec<SetItem>) -> Plan {
    Plan::Set(Box::new(Set { input, items }))
}
pub fn delete(input: Plan, targets: Vec<Expr>, detach: bool) -> Plan {
    Plan::Delete(Box::new(Delete { input, targets, detach }))
}
pub fn seek(input: Plan, vertex: u32, label: &str, key: &str, seek: Seek) -> Plan {
    let (label, keys) = (label.into(), vec![key.into()]);
    Plan::SeekVertices(Box::new(SeekVertices { input, vertex: Var(vertex), label, keys, seek }))
}

/// A statement that runs this plan and returns these columns.
pub fn statement(plan: Plan, columns: &[Var]) -> Statement {
    let mut statement = Statement {
        kind: StatementKind::Query {
            plan,
            columns: columns.iter().map(|column| (format!("c{}", column.0).into(), *column)).collect(),
        },
        variables: (0..64).map(|at| format!("v{at}").into()).collect(),
        parameters: Vec::new(),
        mode: Mode::Run,
        hints: Vec::new(),
        as_of: None,
        no_older_than: None,
        in_transactions: None,
        physical: Default::default(),
    };
    statement.lower();
    statement
}

/// Makes an index without a name.
pub fn index(engine: &transact::Engine, target: model::schema::SchemaTarget, key: model::KeyId) {
    let request = transact::IndexRequest { name: None, target, keys: vec![key], if_not_exists: false };
    engine.create_index(&request).unwrap();
}
