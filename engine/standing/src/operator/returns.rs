//! The shortest way from a vertex back to itself, searched anew.
//!
//! Along directed edges it is the first way that a breadth-first search finds back. Where edges may be walked in both directions, but none twice, a
//! way back is a cycle: each vertex belongs to the *branch* of the edge by which its path left the source, and an edge between two branches, or from
//! a branch to the source by another edge than its own, closes one. Cost: the edges nearer than half the answer.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_context::EventContext;
    use crate::operator::walk::{SourceStart, Walk};
    use crate::view::View;
    use transact::{Mode, OpenOptions};
    use world::chance::Chance;

    /// Every walk on from here, edge by edge; the length of the shortest that comes back.
    fn twin(
        edges: &[(usize, usize)],
        walk: &Walk,
        at: usize,
        used: &mut Vec<usize>,
        home: usize,
    ) -> Option<u32> {
        if used.len() as u32 == walk.max.unwrap() {
            return None;
        }
        let mut best = None::<u32>;
        for (number, (a, b)) in edges.iter().enumerate() {
            if walk.back == Back::Trail && used.contains(&number) {
                continue;
            }
            for (near, far, is_out) in [(*a, *b, true), (*b, *a, false)] {
                let is_way = match walk.direction {
                    Direction::Out => is_out,
                    Direction::In => !is_out,
                    Direction::Both => true,
                };
                if near != at || !is_way {
                    continue;
                }
                used.push(number);
                let found =
                    if far == home { Some(used.len() as u32) } else { twin(edges, walk, far, used, home) };
                used.pop();
                best = [best, found].into_iter().flatten().min();
            }
        }
        best
    }

    #[test]
    fn the_shortest_way_back_is_the_shortest_of_all_ways() {
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..60 {
            let mut chance = Chance::seeded(seed);
            let count = 2 + chance.index(6);
            let mut edges: Vec<(usize, usize)> = match seed % 3 {
                // A ring, which has one way back, of any length.
                0 => (0..count).map(|at| (at, (at + 1) % count)).collect(),
                _ => (0..1 + chance.index(8)).map(|_| (chance.index(count), chance.index(count))).collect(),
            };
            if chance.happens(0.3) {
                edges.push((chance.index(count), chance.index(count)));
            }
            let engine = transact::open(None, &OpenOptions::default()).unwrap().0;
            let t = engine.begin(Mode::Write);
            let (kind, label) = (t.edge_type("R").unwrap(), t.label("P").unwrap());
            let all: Vec<VertexId> =
                (0..count).map(|_| t.create_vertex(&[label], Vec::new()).unwrap()).collect();
            for (a, b) in &edges {
                t.create_edge(all[*a], all[*b], kind, Vec::new()).unwrap();
            }
            t.commit().unwrap();
            let view = View::new(engine.snapshot());
            let turn = EventContext { view: &view, timestamp: 1, touched: None };
            for direction in [Direction::Out, Direction::In, Direction::Both] {
                for (back, max) in
                    [(Back::Trail, 7), (Back::Trail, 3), (Back::Walk, 4), (Back::Trail, 1), (Back::Trail, 4)]
                {
                    let walk = Walk {
                        types: vec!["R".into()],
                        direction,
                        home: SourceStart::Cycle,
                        back,
                        max: Some(max),
                    };
                    let ground = Ground::of(&walk, &turn, direction, max);
                    for (at, source) in all.iter().enumerate() {
                        let found = shortest_return(*source, back, &ground).unwrap();
                        let expected = twin(&edges, &walk, at, &mut Vec::new(), at);
                        assert_eq!(found, expected, "seed {seed}: {edges:?} from {at}, {walk:?}");
                        lengths.extend(found);
                    }
                }
            }
        }
        assert!((1..=7).all(|length| lengths.contains(&length)), "{lengths:?}");
    }
}
