//! The shortest way from a vertex back to itself, searched anew.
//!
//! Along directed edges it is the first way that a breadth-first search finds back. Where edges may be walked in both directions, but none
//! twice, a way back is a cycle: each vertex belongs to the *branch* of the edge by which its path left the source, and an edge between two
//! branches, or from a branch to the source by another edge than its own, closes one. Cost: the edges nearer than half the answer.

use super::reach::Ground;
use super::walk::Back;
use crate::StandingError;
use crate::table::HashMap;
use model::{Direction, EdgeId, EdgeRef, VertexId};

/// Length of the shortest way back, if there is one within the bound of the ground.
pub(super) fn shortest_return(
    source: VertexId,
    back: Back,
    ground: &Ground<'_>,
) -> Result<Option<u32>, StandingError> {
    let found = match (ground.direction, back) {
        (Direction::Both, Back::Trail) => cycle(source, ground)?,
        (Direction::Both, Back::Walk) => {
            let mut best = None;
            ground.edges(source, &mut |edge| {
                let length = if edge.source == edge.target { 1 } else { 2 };
                best = Some(best.map_or(length, |best: u32| best.min(length)));
            })?;
            best
        }
        _ => round(source, ground)?,
    };
    Ok(found.filter(|length| *length <= ground.max))
}

/// Along directed edges.
fn round(source: VertexId, ground: &Ground<'_>) -> Result<Option<u32>, StandingError> {
    let mut met: HashMap<VertexId, ()> = HashMap::default();
    let (mut level, mut length) = (vec![source], 0);
    while !level.is_empty() && length < ground.max {
        length += 1;
        let (mut next, mut is_back) = (Vec::new(), false);
        for vertex in level {
            ground.edges(vertex, &mut |edge| {
                let far = other_end(edge, vertex);
                is_back |= far == source;
                if met.insert(far, ()).is_none() {
                    next.push(far);
                }
            })?;
        }
        if is_back {
            return Ok(Some(length));
        }
        level = next;
    }
    Ok(None)
}

/// In both directions, no edge twice.
fn cycle(source: VertexId, ground: &Ground<'_>) -> Result<Option<u32>, StandingError> {
    // The branch of a vertex, by its first edge, and its distance.
    let mut met: HashMap<VertexId, (EdgeId, u32)> = HashMap::default();
    let (mut level, mut best) = (Vec::new(), None::<u32>);
    let shorter = |best: &mut Option<u32>, length: u32| {
        *best = Some(best.map_or(length, |best| best.min(length)));
    };
    ground.edges(source, &mut |edge| {
        let far = other_end(edge, source);
        if far == source {
            shorter(&mut best, 1);
        } else if met.contains_key(&far) {
            shorter(&mut best, 2);
        } else {
            met.insert(far, (edge.id, 1));
            level.push(far);
        }
    })?;
    let mut distance = 1;
    // A cycle found from here on is longer than twice the distance.
    while !level.is_empty() && 2 * distance < ground.max && best.is_none_or(|best| 2 * distance < best) {
        let mut next = Vec::new();
        for vertex in level {
            let (branch, _) = met[&vertex];
            ground.edges(vertex, &mut |edge| {
                let far = other_end(edge, vertex);
                if far == vertex || far == source {
                    return;
                }
                match met.get(&far) {
                    Some((other, _)) if *other == branch => {}
                    Some((_, there)) => shorter(&mut best, distance + there + 1),
                    None => {
                        met.insert(far, (branch, distance + 1));
                        next.push(far);
                    }
                }
            })?;
        }
        (level, distance) = (next, distance + 1);
    }
    Ok(best)
}

fn other_end(edge: EdgeRef, near: VertexId) -> VertexId {
    if edge.source == near { edge.target } else { edge.source }
}
