//! GraphSON files, one vertex a line, into a graph by traversals as a client would write them.

use super::ask;
use database::{Mode, Session};
use gremlin::graphson::{FileEdge, FileVertex, file_edges, file_vertex};
use gremlin::{Argument, Object, Traversal};
use serde_json::Value as Json;
use std::collections::HashMap;

/// Loads a graph through a session, in one transaction.
///
/// # Errors
/// The text is no such graph.
pub fn load(text: &str, session: &mut Session) -> Result<(), String> {
    session.begin(Mode::Write).map_err(|error| error.to_string())?;
    let mut vertices = HashMap::new();
    let lines: Vec<Json> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    for line in &lines {
        let given = file_vertex(line).map_err(|error| error.to_string())?;
        let made = ask(session, &vertex(&given))?.into_iter().next().ok_or("no vertex was made")?;
        vertices.insert(given.id.to_string(), made);
    }
    for line in &lines {
        for edge in file_edges(line).map_err(|error| error.to_string())? {
            let ends = (vertices.get(&edge.source.to_string()), vertices.get(&edge.target.to_string()));
            let (Some(source), Some(target)) = ends else { return Err("an edge has no end".into()) };
            ask(session, &made_edge(&edge, source, target))?;
        }
    }
    session.commit().map(|_| ()).map_err(|error| error.to_string())
}

fn vertex(given: &FileVertex) -> Traversal {
    let label = Object::from(given.label.as_str());
    let mut traversal = Traversal::new().with_step("addV", vec![Argument::Value(label)]);
    traversal = with_id(traversal, &given.id);
    for (key, values) in &given.properties {
        for (value, meta) in values {
            let mut arguments = Vec::new();
            if values.len() > 1 {
                arguments.push(Argument::Value(Object::Token(gremlin::Token::List)));
            }
            arguments.push(Argument::Value(Object::String(key.clone())));
            arguments.push(Argument::Value(value.clone()));
            for (key, meta) in meta {
                arguments.push(Argument::Value(Object::String(key.clone())));
                arguments.push(Argument::Value(meta.clone()));
            }
            traversal = traversal.with_step("property", arguments);
        }
    }
    traversal
}

fn made_edge(edge: &FileEdge, source: &Object, target: &Object) -> Traversal {
    let mut traversal = Traversal::new()
        .with_step("addE", vec![Argument::Value(Object::String(edge.label.clone()))])
        .with_step("from", vec![Argument::Value(source.clone())])
        .with_step("to", vec![Argument::Value(target.clone())]);
    if let Some(id) = &edge.id {
        traversal = with_id(traversal, id);
    }
    for (key, value) in &edge.properties {
        let arguments = vec![Argument::Value(Object::String(key.clone())), Argument::Value(value.clone())];
        traversal = traversal.with_step("property", arguments);
    }
    traversal
}

/// Elements keep the ids that the file gives them, as in the reference graphs.
fn with_id(traversal: Traversal, id: &Object) -> Traversal {
    let arguments = vec![Argument::Value(Object::Token(gremlin::Token::TId)), Argument::Value(id.clone())];
    traversal.with_step("property", arguments)
}
