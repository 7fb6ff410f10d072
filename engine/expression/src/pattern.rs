//! What patterns ask of their bindings: the path value of their parts, and whether no edge is met twice.

use super::error::EvalError;
use model::{EdgeId, EdgeRef, Path, Value, VertexId};
use std::sync::Arc;

/// Up to so many edges are compared pair by pair; beyond, sorted.
const PAIRWISE_EDGES_MAX: usize = 8;

/// A path from its parts in walking order: vertex, edge or list of edges, vertex, … Null if any part is.
///
/// # Errors
/// Parts that are no walk: an error of the plan.
pub fn path_of(parts: &[Value]) -> Result<Value, EvalError> {
    let broken = || EvalError::internal("the parts of a path are not a walk");
    let mut path = Path { vertices: Vec::new(), edges: Vec::new() };
    for part in parts {
        match part {
            Value::Null => return Ok(Value::Null),
            Value::Vertex(vertex) => match path.vertices.last() {
                None => path.vertices.push(*vertex),
                Some(last) if last == vertex => {}
                Some(_) => return Err(broken()),
            },
            Value::Edge(edge) => step(&mut path, **edge).ok_or_else(broken)?,
            Value::List(edges) => {
                for edge in edges.iter() {
                    let Value::Edge(edge) = edge else { return Err(broken()) };
                    step(&mut path, **edge).ok_or_else(broken)?;
                }
            }
            Value::Path(part) => {
                if path.vertices.is_empty() {
                    path.vertices.extend(part.vertices.first());
                }
                part.edges.iter().try_for_each(|edge| step(&mut path, *edge)).ok_or_else(broken)?;
            }
            _ => return Err(broken()),
        }
    }
    Ok(Value::Path(Arc::new(path)))
}

/// Walks one edge from the path's end, with or against its direction.
fn step(path: &mut Path, edge: EdgeRef) -> Option<()> {
    let last: VertexId = *path.vertices.last()?;
    let next = match edge {
        EdgeRef { source, target, .. } if source == last => target,
        EdgeRef { source, target, .. } if target == last => source,
        _ => return None,
    };
    path.edges.push(edge);
    path.vertices.push(next);
    Some(())
}

/// Is every edge in these values (edges, lists of edges, paths; null is passed over) there only once?
///
/// # Errors
/// A value that holds no edges: an error of the plan.
pub fn edges_distinct(parts: &[Value]) -> Result<Value, EvalError> {
    let mut edges: smallvec::SmallVec<[EdgeId; PAIRWISE_EDGES_MAX]> = smallvec::SmallVec::new();
    for part in parts {
        collect_edges(part, &mut |edge| edges.push(edge))?;
    }
    if edges.len() > PAIRWISE_EDGES_MAX {
        edges.sort_unstable();
        return Ok(Value::Bool(edges.windows(2).all(|pair| pair[0] != pair[1])));
    }
    let repeated = edges.iter().enumerate().any(|(at, edge)| edges[..at].contains(edge));
    Ok(Value::Bool(!repeated))
}

fn collect_edges(part: &Value, note: &mut dyn FnMut(EdgeId)) -> Result<(), EvalError> {
    match part {
        Value::Null => {}
        Value::Edge(edge) => note(edge.id),
        Value::List(list) => list.iter().try_for_each(|element| collect_edges(element, note))?,
        Value::Path(path) => path.edges.iter().for_each(|edge| note(edge.id)),
        other => return Err(EvalError::wrong_type("edge uniqueness", "Relationships", other)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few edges and many, alone and in lists, all different or one of them twice.
    #[test]
    fn a_repeated_edge_is_found_wherever_it_stands() {
        let edge = |id: usize| {
            let source = VertexId(0);
            Value::from(EdgeRef { id: EdgeId(id as u64), source, target: source })
        };
        let is_distinct = |parts: &[Value]| matches!(edges_distinct(parts).unwrap(), Value::Bool(true));
        for count in 1..=2 * PAIRWISE_EDGES_MAX {
            let all: Vec<Value> = (0..count).rev().map(edge).collect();
            assert!(is_distinct(&all), "{count}");
            for twice in 0..count {
                let parts = [Value::list(all.clone()), Value::Null, edge(twice)];
                assert!(!is_distinct(&parts), "{twice} of {count}");
            }
            let parts = [Value::list(all), Value::Null, edge(count)];
            assert!(is_distinct(&parts), "{count}");
        }
        assert!(edges_distinct(&[Value::Int(1)]).is_err());
    }
}
