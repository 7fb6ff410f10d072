//! GraphSON files, one vertex a line, into a graph.

use super::ask;
use database::{Mode, Session};
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
        let made = ask(session, &vertex(line))?.into_iter().next().ok_or("no vertex was made")?;
        vertices.insert(line["id"].to_string(), made);
    }
    for line in &lines {
        for (label, edges) in line["outE"].as_object().into_iter().flatten() {
            for edge in edges.as_array().into_iter().flatten() {
                let ends = (vertices.get(&line["id"].to_string()), vertices.get(&edge["inV"].to_string()));
                let (Some(source), Some(target)) = ends else { return Err("an edge has no end".into()) };
                ask(session, &made_edge(label, edge, source, target))?;
            }
        }
    }
    session.commit().map(|_| ()).map_err(|error| error.to_string())
}

fn vertex(line: &Json) -> Traversal {
    let label = line["label"].as_str().unwrap_or("vertex");
    let mut traversal = Traversal::new().with_step("addV", vec![Argument::Value(Object::from(label))]);
    traversal = with_id(traversal, &line["id"]);
    for (key, values) in line["properties"].as_object().into_iter().flatten() {
        let values = values.as_array().map(Vec::as_slice).unwrap_or(&[]);
        for value in values {
            let mut arguments = Vec::new();
            if values.len() > 1 {
                arguments.push(Argument::Value(Object::Token(gremlin::Token::List)));
            }
            arguments.push(Argument::Value(Object::from(key.as_str())));
            arguments.push(Argument::Value(object(&value["value"])));
            for (key, meta) in value["properties"].as_object().into_iter().flatten() {
                arguments.push(Argument::Value(Object::from(key.as_str())));
                arguments.push(Argument::Value(object(meta)));
            }
            traversal = traversal.with_step("property", arguments);
        }
    }
    traversal
}

fn made_edge(label: &str, edge: &Json, source: &Object, target: &Object) -> Traversal {
    let mut traversal = Traversal::new()
        .with_step("addE", vec![Argument::Value(Object::from(label))])
        .with_step("from", vec![Argument::Value(source.clone())])
        .with_step("to", vec![Argument::Value(target.clone())]);
    traversal = with_id(traversal, &edge["id"]);
    for (key, value) in edge["properties"].as_object().into_iter().flatten() {
        let arguments = vec![Argument::Value(Object::from(key.as_str())), Argument::Value(object(value))];
        traversal = traversal.with_step("property", arguments);
    }
    traversal
}

/// Elements keep the ids that the file gives them, as in the reference graphs.
fn with_id(traversal: Traversal, id: &Json) -> Traversal {
    let arguments = vec![Argument::Value(Object::Token(gremlin::Token::TId)), Argument::Value(object(id))];
    traversal.with_step("property", arguments)
}

/// A GraphSON value of the types these files have.
fn object(json: &Json) -> Object {
    match json {
        Json::String(text) => Object::from(text.as_str()),
        Json::Bool(truth) => Object::Bool(*truth),
        Json::Object(typed) => {
            let value = &typed["@value"];
            match typed["@type"].as_str() {
                Some("g:Int32") => Object::Int(value.as_i64().unwrap_or(0) as i32),
                Some("g:Int64") => Object::Long(value.as_i64().unwrap_or(0)),
                Some("g:Float") => Object::Float(value.as_f64().unwrap_or(0.0) as f32),
                _ => Object::Double(value.as_f64().unwrap_or(0.0)),
            }
        }
        _ => Object::Null,
    }
}
