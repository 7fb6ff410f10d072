//! Graphs that know names alone, tests of labels and types, and the words of errors.

use super::town::{PEOPLE, Town, edge};
use super::{WALL_US, parameters};
use crate::error::{ErrorClass, EvalError, describe, float_text};
use crate::graph::{Graph, Names};
use crate::{Layout, NamesOnly, Request, Scope, compile};
use model::{Batch, EdgeId, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use plan::expr::LabelExpr;
use plan::{Expr, Var};
use std::sync::Arc;
use world::chance::Chance;

fn refusal() -> EvalError {
    EvalError::new(ErrorClass::Storage, "nothing is read here")
}

#[test]
fn a_graph_of_names_knows_names_and_refuses_the_rest() {
    let names = Arc::new(store::Names::new());
    let (label, edge_type) = (names.intern_label("A").unwrap(), names.intern_edge_type("R").unwrap());
    let key = names.intern_key("k").unwrap();
    let known = NamesOnly::of(names, refusal);
    assert_eq!(
        (known.label("A"), known.edge_type("R"), known.key("k")),
        (Some(label), Some(edge_type), Some(key))
    );
    assert_eq!((known.label("R"), known.edge_type("k"), known.key("A")), (None, None, None));
    let shown = (known.label_name(label), known.edge_type_name(edge_type), known.key_name(key));
    assert_eq!(shown, ("A".into(), "R".into(), "k".into()));
    let none = NamesOnly::none(refusal);
    assert_eq!((none.label("A"), none.edge_type("A"), none.key("A")), (None, None, None));
    let shown = (none.label_name(LabelId(0)), none.edge_type_name(EdgeTypeId(0)), none.key_name(KeyId(0)));
    assert_eq!(shown, ("".into(), "".into(), "".into()));
    let (vertex, id) = (VertexId(0), EdgeId(0));
    fn refused<T>(outcome: Result<T, EvalError>) -> EvalError {
        outcome.err().expect("it is refused")
    }
    let errors = [
        refused(none.labels(vertex)),
        refused(none.has_label(vertex, LabelId(0))),
        refused(none.property(vertex, KeyId(0))),
        refused(none.properties(vertex)),
        refused(none.edge_property(id, KeyId(0))),
        refused(none.edge_exists(edge(0))),
        refused(none.edge_properties(id)),
        refused(none.read_property(&mut [vertex].into_iter(), KeyId(0), &mut |_| {})),
        refused(none.read_edge_property(&mut [Some(id)].into_iter(), KeyId(0), &mut |_| {})),
    ];
    errors.iter().for_each(|error| assert_eq!(*error, refusal()));
}

fn random_labels(depth: u32, chance: &mut Chance) -> LabelExpr {
    let name = ["Person", "Student", "Dog", "KNOWS", "OWNS", "Unheard"][chance.index(6)];
    let inner = |chance: &mut Chance| Box::new(random_labels(depth - 1, chance));
    match chance.below(if depth == 0 { 3 } else { 6 }) {
        0 => LabelExpr::Some,
        1 | 2 => LabelExpr::Has(name.into()),
        3 => LabelExpr::And(inner(chance), inner(chance)),
        4 => LabelExpr::Or(inner(chance), inner(chance)),
        _ => LabelExpr::Not(inner(chance)),
    }
}

/// The obvious twin: a set of names.
fn satisfies(names: &[Arc<str>], labels: &LabelExpr) -> bool {
    match labels {
        LabelExpr::Any => true,
        LabelExpr::Some => !names.is_empty(),
        LabelExpr::Has(name) => names.iter().any(|known| **known == **name),
        LabelExpr::And(a, b) => satisfies(names, a) && satisfies(names, b),
        LabelExpr::Or(a, b) => satisfies(names, a) || satisfies(names, b),
        LabelExpr::Not(a) => !satisfies(names, a),
    }
}

#[test]
fn tests_of_labels_and_types_are_those_of_sets() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let (town, request) = (Town::new(), Request::fixed(parameters(), WALL_US, 1));
    let scope = Scope::new(&town, &request);
    let rows: Vec<Vec<Value>> =
        (0..PEOPLE).map(|i| vec![VertexId(i).into(), edge(i).into(), Value::Null]).collect();
    let batch = Batch::from_rows(3, &rows);
    for case in 0..500 {
        let labels = random_labels(3, &mut chance);
        for column in 0..3 {
            let expr = Expr::HasLabels(Box::new(Expr::Variable(Var(column))), labels.clone());
            let compiled =
                compile(&expr, &Layout::new(&[Var(0), Var(1), Var(2)]), &town, &request.parameters).unwrap();
            let mut selected = Vec::new();
            compiled.select(&batch, &scope, &mut selected).unwrap();
            for (row, values) in rows.iter().enumerate() {
                let names: Vec<Arc<str>> = match &values[column as usize] {
                    Value::Vertex(vertex) => town
                        .labels(*vertex)
                        .unwrap()
                        .into_iter()
                        .map(|label| town.label_name(label))
                        .collect(),
                    Value::Edge(edge) => vec![town.edge_type_name(edge.id.edge_type())],
                    _ => {
                        assert!(compiled.evaluate_row(&batch, row, &scope).unwrap().is_null());
                        continue;
                    }
                };
                let expected = satisfies(&names, &labels);
                let context = format!("seed {seed} case {case}, row {row}: {labels:?}");
                let found = compiled.evaluate_row(&batch, row, &scope).unwrap();
                assert_eq!(found.as_bool(), Some(expected), "{context}");
                assert_eq!(selected.contains(&(row as u32)), expected, "{context}");
            }
        }
    }
}

#[test]
fn messages_name_values() {
    let long = "x".repeat(41);
    for (value, expected) in [
        (Value::Null, "null"),
        (true.into(), "the Boolean true"),
        (Value::Int(-3), "the Integer -3"),
        (Value::Float(1e300), "the Float 1.0E300"),
        ("it's".into(), "the String \"it's\""),
        (long[1..].into(), &format!("the String {:?}", &long[1..])),
        (long.as_str().into(), "a String"),
        (Value::list(vec![1.into()]), "a List"),
        (VertexId(3).into(), "a Node"),
        (edge(3).into(), "a Relationship"),
    ] {
        assert_eq!(describe(&value), expected);
    }
    for (float, expected) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
        (0.001, "0.001"),
        (0.000_999, "9.99E-4"),
        (9_999_999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.25e-7, "-1.25E-7"),
    ] {
        assert_eq!(float_text(float), expected);
    }
}

#[test]
fn errors_have_their_codes_and_words() {
    let classes = [
        (ErrorClass::Type, "Neo.ClientError.Statement.TypeError"),
        (ErrorClass::Arithmetic, "Neo.ClientError.Statement.ArithmeticError"),
        (ErrorClass::Argument, "Neo.ClientError.Statement.ArgumentError"),
        (ErrorClass::EntityNotFound, "Neo.ClientError.Statement.EntityNotFound"),
        (ErrorClass::ParameterMissing, "Neo.ClientError.Statement.ParameterMissing"),
        (ErrorClass::Syntax, "Neo.ClientError.Statement.SyntaxError"),
        (ErrorClass::Limit, "Neo.ClientError.General.LimitExceeded"),
        (ErrorClass::Stopped, "Neo.ClientError.Transaction.Terminated"),
        (ErrorClass::Storage, "Neo.DatabaseError.General.StorageError"),
        (ErrorClass::Unavailable, "Neo.TransientError.General.DatabaseUnavailable"),
        (ErrorClass::Internal, "Neo.DatabaseError.Statement.ExecutionFailed"),
    ];
    for (class, code) in classes {
        let error = EvalError::new(class, "so it is").with_hint("do this");
        assert_eq!((error.code(), error.to_string()), (code, "so it is".to_string()));
        assert_eq!(error.hint.as_deref(), Some("do this"));
    }
    for (error, class, message) in [
        (
            EvalError::wrong_type("size()", "a List", &1.into()),
            ErrorClass::Type,
            "size() expects a List, but was given the Integer 1",
        ),
        (
            EvalError::wrong_types("+", &1.into(), &true.into()),
            ErrorClass::Type,
            "+ does not take the Integer 1 and the Boolean true",
        ),
        (EvalError::arithmetic("too large"), ErrorClass::Arithmetic, "too large"),
        (EvalError::argument("no"), ErrorClass::Argument, "no"),
        (EvalError::parameter_missing("x"), ErrorClass::ParameterMissing, "Expected parameter(s): x"),
        (
            EvalError::entity_not_found("Node with id 3"),
            ErrorClass::EntityNotFound,
            "Node with id 3 has been deleted in this transaction",
        ),
        (EvalError::internal("oh"), ErrorClass::Internal, "oh"),
    ] {
        assert_eq!((error.class, error.message.as_str()), (class, message));
    }
}
