//! Shared code of this crate's tests: small graphs in a real engine, hand-built plans, and an obvious interpreter to compare with.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod build;
pub mod maker;
pub mod twin;

pub use build::statement;
use dataflow::{Runtime, RuntimeOptions};
use model::compare::total_order;
use model::{EdgeRef, Value, VertexId};
use plan::{Plan, Var};
use std::sync::{Arc, OnceLock};
use tanglewood_execute::{
    Access, Counters, ExecuteError, ExecuteOptions, Execution, Parameters, ResultStream, Rows,
};
use transact::{Engine, OpenOptions};
use world::chance::Chance;

/// A vertex as the twin knows it.
#[derive(Clone, Debug)]
pub struct TwinVertex {
    pub id: VertexId,
    pub labels: Vec<&'static str>,
    pub x: Option<i64>,
}

/// An edge as the twin knows it.
#[derive(Clone, Debug)]
pub struct TwinEdge {
    pub edge: EdgeRef,
    pub edge_type: &'static str,
    pub w: i64,
}

/// The same graph twice: in an engine, and as lists.
pub struct Graph {
    pub engine: Engine,
    pub vertices: Vec<TwinVertex>,
    pub edges: Vec<TwinEdge>,
}

pub fn engine() -> Engine {
    transact::open(None, &OpenOptions::default()).unwrap().0
}

/// A random graph: labels A and B in every mixture, types R and S, self-loops and parallel edges among them.
pub fn random_graph(chance: &mut Chance, vertices: usize, edges: usize) -> Graph {
    let engine = engine();
    let transaction = engine.begin(transact::Mode::Write);
    let (x, w) = (transaction.key("x").unwrap(), transaction.key("w").unwrap());
    let mut graph = Graph { engine, vertices: Vec::new(), edges: Vec::new() };
    for _ in 0..vertices {
        let labels: Vec<&'static str> = ["A", "B"].into_iter().filter(|_| chance.happens(0.5)).collect();
        let ids: Vec<_> = labels.iter().map(|label| transaction.label(label).unwrap()).collect();
        let value = chance.happens(0.8).then(|| chance.below(5) as i64);
        let id = transaction.create_vertex(&ids, vec![(x, value.into())]).unwrap();
        graph.vertices.push(TwinVertex { id, labels, x: value });
    }
    for _ in 0..edges {
        let edge_type = if chance.happens(0.6) { "R" } else { "S" };
        let source = graph.vertices[chance.index(vertices)].id;
        let target = if chance.happens(0.1) { source } else { graph.vertices[chance.index(vertices)].id };
        let number = transaction.edge_type(edge_type).unwrap();
        let value = chance.below(4) as i64;
        let edge = transaction.create_edge(source, target, number, vec![(w, value.into())]).unwrap();
        graph.edges.push(TwinEdge { edge, edge_type, w: value });
    }
    transaction.commit().unwrap();
    graph
}

/// One runtime for each number of executors, shared by all tests of a file.
pub fn runtime(executors: usize) -> &'static Runtime<Rows> {
    static RUNTIMES: [OnceLock<Runtime<Rows>>; 5] = [const { OnceLock::new() }; 5];
    RUNTIMES[executors].get_or_init(|| {
        let options = RuntimeOptions { executors, pin: false, ..RuntimeOptions::default() };
        Runtime::start(options).unwrap()
    })
}

pub fn start(
    executors: usize,
    access: Access,
    plan: Plan,
    columns: &[Var],
    options: ExecuteOptions,
) -> Result<ResultStream, ExecuteError> {
    Execution::start(runtime(executors), &statement(plan, columns), access, Parameters::new(), options)
}

/// All rows of a stream.
pub fn drain(stream: &mut ResultStream) -> Result<Vec<Vec<Value>>, ExecuteError> {
    let mut rows = Vec::new();
    while let Some(batch) = stream.next() {
        let batch = batch?;
        (0..batch.len()).for_each(|row| rows.push(batch.row(row)));
    }
    Ok(rows)
}

/// Runs a reading plan to its end.
pub fn read(
    executors: usize,
    graph: &Graph,
    plan: Plan,
    columns: &[Var],
) -> Result<Vec<Vec<Value>>, ExecuteError> {
    let options = ExecuteOptions { batch_rows: 7, ..ExecuteOptions::default() };
    let mut stream = start(executors, Access::Read(graph.engine.snapshot()), plan, columns, options)?;
    drain(&mut stream)
}

/// Runs a plan in a transaction of its own and commits it.
pub fn write(
    engine: &Engine,
    plan: Plan,
    columns: &[Var],
) -> Result<(Vec<Vec<Value>>, Counters), ExecuteError> {
    let transaction = Arc::new(engine.begin(transact::Mode::Write));
    let options = ExecuteOptions { batch_rows: 3, ..ExecuteOptions::default() };
    let mut stream = start(2, Access::Write(transaction.clone()), plan, columns, options)?;
    let rows = drain(&mut stream)?;
    let counters = stream.counters();
    transaction.commit().unwrap();
    Ok((rows, counters))
}

/// Rows in one order, for comparing as multisets.
pub fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort_by(|a, b| {
        let orders = a.iter().zip(b).map(|(a, b)| total_order(a, b));
        orders.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    rows
}

pub fn same(a: &[Vec<Value>], b: &[Vec<Value>]) -> bool {
    let equal =
        |a: &Vec<Value>, b: &Vec<Value>| a.iter().zip(b).all(|(a, b)| model::compare::equivalent(a, b));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.len() == b.len() && equal(a, b))
}
