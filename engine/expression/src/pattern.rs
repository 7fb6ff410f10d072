//! Functions of a pattern's bindings: the path value of their parts, and whether no edge occurs twice.

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
    use world::chance::Chance;

    /// A walk over few vertices, so that loops, edges there and back, and parallel ones are among it.
    fn walk(chance: &mut Chance) -> Path {
        let mut path = Path { vertices: vec![VertexId(chance.below(4))], edges: Vec::new() };
        for number in 0..chance.below(6) {
            let (last, next) = (path.vertices[path.vertices.len() - 1], VertexId(chance.below(4)));
            let (source, target) = if chance.happens(0.5) { (last, next) } else { (next, last) };
            path.edges.push(EdgeRef { id: EdgeId(number), source, target });
            path.vertices.push(next);
        }
        path
    }

    /// Cuts a walk into parts as a pattern has them: edges, lists of them that may be empty, walks; vertices between them, or none.
    fn parts(chance: &mut Chance, path: &Path) -> Vec<Value> {
        let (mut parts, mut at) = (vec![Value::Vertex(path.vertices[0])], 0);
        if chance.happens(0.2) {
            parts.clear();
            let (vertices, edges) = (vec![path.vertices[0]], Vec::new());
            parts.push(Value::Path(Arc::new(Path { vertices, edges })));
        }
        while at < path.edges.len() || chance.happens(0.3) {
            let end = (at + chance.index(4)).min(path.edges.len());
            let (edges, vertices) = (&path.edges[at..end], path.vertices[at..=end].to_vec());
            parts.push(match edges {
                [edge] if chance.happens(0.6) => Value::from(*edge),
                _ if chance.happens(0.3) => Value::Path(Arc::new(Path { vertices, edges: edges.to_vec() })),
                _ => Value::list(edges.iter().map(|edge| Value::from(*edge)).collect()),
            });
            if chance.happens(0.6) {
                parts.push(Value::Vertex(path.vertices[end]));
            }
            at = end;
        }
        parts
    }

    #[test]
    fn parts_of_a_walk_become_it_and_parts_of_none_are_refused() {
        let (mut refused, mut taken) = (0, 0);
        for seed in 0..3_000 {
            let mut chance = Chance::seeded(seed);
            let path = walk(&mut chance);
            let parts = parts(&mut chance, &path);
            let whole = path_of(&parts).unwrap();
            let Value::Path(found) = &whole else { panic!("seed {seed}: {whole:?}") };
            assert_eq!(
                (&found.vertices, &found.edges),
                (&path.vertices, &path.edges),
                "seed {seed}: {parts:?}"
            );
            // Something else at one place.
            let at = chance.index(parts.len());
            let mut changed = parts.clone();
            changed[at] = Value::Null;
            assert!(path_of(&changed).unwrap().is_null(), "seed {seed}: {changed:?}");
            changed[at] = Value::Int(1);
            assert!(path_of(&changed).is_err(), "seed {seed}: {changed:?}");
            if at > 0 {
                changed[at] = Value::Vertex(VertexId(9));
                assert!(path_of(&changed).is_err(), "seed {seed}: no walk comes there, {changed:?}");
                let (source, target) = (VertexId(8), VertexId(9));
                let edge = Value::from(EdgeRef { id: EdgeId(77), source, target });
                for wrong in [edge.clone(), Value::list(vec![edge])] {
                    changed[at] = wrong;
                    assert!(path_of(&changed).is_err(), "seed {seed}: {changed:?}");
                }
                refused += 1;
            }
            taken += path.edges.len();
        }
        assert!(refused > 1_000 && taken > 3_000, "{refused} refused, {taken} edges");
        let before = [Value::from(EdgeRef { id: EdgeId(1), source: VertexId(1), target: VertexId(2) })];
        assert!(path_of(&before).is_err(), "a walk begins with a vertex");
    }

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
