//! Expressions over rows: vertices, edges, paths, labels, selections.

use super::town::{PEOPLE, Town, edge};
use super::{WALL_US, reader};
use crate::{EvalError, Layout, Parameters, Request, Scope, compile};
use model::{Batch, EdgeRef, Value, VertexId};
use plan::Var;

/// Rows: person, their edge, an integer, the edge before; one row of nulls.
pub(super) fn batch() -> Batch {
    let mut rows: Vec<Vec<Value>> = (1..PEOPLE - 1)
        .map(|i| vec![VertexId(i).into(), edge(i).into(), Value::Int(i as i64), edge(i - 1).into()])
        .collect();
    rows.push(vec![Value::Null; 4]);
    Batch::from_rows(4, &rows)
}

pub(super) fn row(text: &str, row: usize) -> Result<Value, EvalError> {
    let (town, request) = (Town::new(), Request::fixed(Parameters::new(), WALL_US, 1));
    let scope = Scope::new(&town, &request);
    let layout = Layout::new(&[Var(0), Var(1), Var(2), Var(3)]);
    let compiled = compile(&reader::read(text).unwrap(), &layout, &town, &request.parameters)?;
    compiled.evaluate_row(&batch(), row, &scope)
}

fn selected(text: &str) -> Vec<u32> {
    let (town, request) = (Town::new(), Request::fixed(Parameters::new(), WALL_US, 1));
    let scope = Scope::new(&town, &request);
    let layout = Layout::new(&[Var(0), Var(1), Var(2), Var(3)]);
    let compiled = compile(&reader::read(text).unwrap(), &layout, &town, &request.parameters).unwrap();
    let mut rows = vec![99];
    compiled.select(&batch(), &scope, &mut rows).unwrap();
    rows
}

/// Each line is `expression => expected`, for row 0: person 1 and the edges of persons 1 and 0.
#[test]
fn entities() {
    let table = "
        @0.age => 1
        @0.name => 'Bo'
        @0.unheard_of => null
        @0['age'] => 1
        @1.since => null
        @3.since => 2000
        @0:Person => true
        @0:Student => false
        @0:Unheard => false
        @1:KNOWS => true
        labels(@0) => ['Person']
        type(@1) => 'KNOWS'
        id(@0) => 1
        elementId(@0) => '4:tanglewood:1'
        keys(@0) => ['age', 'name', 'weight']
        properties(@0) => {age: 1, name: 'Bo', weight: 1}
        startNode(@1) = @0 => true
        id(endNode(@1)) => 2
        @0{.name, .*, x: 1} => {age: 1, name: 'Bo', weight: 1, x: 1}
        length(path(@0, @1)) => 1
        [n IN nodes(path(@0, @1)) | n.age] => [1, 2]
        size(relationships(path(@0))) => 0
        id(nodes(path(@0, @3))[1]) => 0
        distinct_edges(@1, @3) => true
        distinct_edges(@1, @3, @1) => false
        labels(1) => error
        type(@0) => error
    ";
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (text, expected) = line.split_once(" => ").unwrap();
        let found = row(text, 0);
        if expected == "error" {
            assert!(found.is_err(), "{text} gave {found:?}");
            continue;
        }
        let expected = row(expected, 0).unwrap();
        let found = found.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(model::compare::equivalent(&found, &expected), "{text} gave {found:?}, not {expected:?}");
    }
}

#[test]
fn nulls_pass_through_entities() {
    let last = batch().len() - 1;
    for text in ["@0.age", "@0:Person", "labels(@0)", "type(@1)", "id(@0)", "path(@0, @1)", "startNode(@1)"] {
        assert!(row(text, last).unwrap().is_null(), "{text}");
    }
}

#[test]
fn a_deleted_entity_is_an_error_to_read() {
    let deleted = Batch::from_rows(1, &[vec![VertexId(PEOPLE + 5).into()]]);
    let (town, request) = (Town::new(), Request::fixed(Parameters::new(), WALL_US, 1));
    let scope = Scope::new(&town, &request);
    for text in ["@0.age", "@0:Person", "properties(@0)"] {
        let expr = reader::read(text).unwrap();
        let compiled = compile(&expr, &Layout::new(&[Var(0)]), &town, &request.parameters).unwrap();
        let error = compiled.evaluate(&deleted, &scope).unwrap_err();
        assert_eq!(error.code(), "Neo.ClientError.Statement.EntityNotFound", "{text}");
    }
    let gone = EdgeRef { source: VertexId(PEOPLE), ..edge(1) };
    let deleted_edge = Batch::from_rows(1, &[vec![gone.into()]]);
    for text in ["@0.since", "properties(@0)"] {
        let expr = reader::read(text).unwrap();
        let compiled = compile(&expr, &Layout::new(&[Var(0)]), &town, &request.parameters).unwrap();
        let error = compiled.evaluate(&deleted_edge, &scope).unwrap_err();
        assert_eq!(error.code(), "Neo.ClientError.Statement.EntityNotFound", "{text}");
    }
    let expr = reader::read("id(@0)").unwrap();
    let compiled = compile(&expr, &Layout::new(&[Var(0)]), &town, &request.parameters).unwrap();
    assert!(compiled.evaluate(&deleted, &scope).is_ok());
}

#[test]
fn selections() {
    assert_eq!(selected("@2 < 4"), [0, 1, 2]);
    assert_eq!(selected("@0.age = 5 OR @2 = 2"), [1, 4]);
    assert_eq!(selected("@0.name = 'Ann' AND @2 < 10"), [3, 7]);
    assert_eq!(selected("@0.name STARTS WITH 'B' AND @0:Student = false AND @2 < 10"), [0, 4, 8]);
    assert_eq!(selected("@2 IN [3, 1, null]"), [0, 2]);
    assert_eq!(selected("NOT @2 > 2"), [0, 1]);
    assert_eq!(selected("@0 IS NULL"), [batch().len() as u32 - 1]);
    assert_eq!(selected("@0.unheard_of = 1"), [0u32; 0]);
    assert_eq!(selected("null"), [0u32; 0]);
    assert_eq!(selected("startNode(@1) = @0 AND @2 = 7"), [6]);
}

/// A path is put together from vertices, edges and lists of edges.
#[test]
fn paths_of_lists_of_edges() {
    let list = |edges: &[u64]| Value::list(edges.iter().map(|i| edge(*i).into()).collect::<Vec<_>>());
    let rows = vec![
        vec![VertexId(1).into(), list(&[1, 2, 3]), edge(4).into()],
        vec![VertexId(4).into(), list(&[]), edge(4).into()],
        vec![VertexId(4).into(), list(&[3, 2]), edge(1).into()],
        vec![VertexId(4).into(), Value::Null, edge(4).into()],
    ];
    let batch = Batch::from_rows(3, &rows);
    let (town, request) = (Town::new(), Request::fixed(Parameters::new(), WALL_US, 1));
    let scope = Scope::new(&town, &request);
    let layout = Layout::new(&[Var(0), Var(1), Var(2)]);
    let expr = reader::read("path(@0, @1, @2)").unwrap();
    let compiled = compile(&expr, &layout, &town, &request.parameters).unwrap();
    let expected: [Option<&[u64]>; 4] = [Some(&[1, 2, 3, 4, 5]), Some(&[4, 5]), Some(&[4, 3, 2, 1]), None];
    for (row, vertices) in expected.into_iter().enumerate() {
        let found = compiled.evaluate_row(&batch, row, &scope).unwrap();
        let found = match &found {
            Value::Path(path) => Some(path.vertices.iter().map(|vertex| vertex.0).collect::<Vec<_>>()),
            _ => None,
        };
        assert_eq!(found.as_deref(), vertices, "row {row}");
    }
}
