//! `clusteringCoefficient`: which part of the pairs of a vertex' neighbours are neighbours themselves.
//!
//! Idea: a vertex sends the list of its neighbours to each of them; each answers how many of the list are its own neighbours; the sum of the
//! answers counts each pair twice. Neighbours are those over an edge in either direction, each once, without the vertex itself.
//! Cost: an answer takes the shorter of two lists, times the logarithm of the longer one where that is far longer: a hub's list, which goes to many that
//! have few neighbours, is not read to its end by each of them.

use crate::parameters::{Edges, ProgramParameters};
use crate::program::{Batch, Everywhere, FollowedEdges, NodeProgram, ProgramGraph};
use dataflow::Failure;
use model::{Direction, Value};
use procedures::ProcedureError;
use store::{LabelFilter, Snapshot};

pub(super) struct ClusteringCoefficient {
    edges: Edges,
    label: LabelFilter,
}

impl ClusteringCoefficient {
    pub(super) fn read(
        parameters: &Value,
        snapshot: &Snapshot,
    ) -> Result<ClusteringCoefficient, ProcedureError> {
        let given = ProgramParameters::read(parameters, &["types", "label"], snapshot)?;
        Ok(ClusteringCoefficient { edges: given.edges(Direction::Both)?, label: given.label()? })
    }
    fn neighbours(
        &self,
        graph: &ProgramGraph,
        vertex: u32,
        scratch: &mut Vec<u32>,
    ) -> Result<Vec<u32>, Failure> {
        let mut found = graph.neighbours(vertex, scratch)?.to_vec();
        found.sort_unstable();
        found.dedup();
        let mut kept = Vec::with_capacity(found.len());
        for other in found {
            if other != vertex && graph.passes(other, &self.label)? {
                kept.push(other);
            }
        }
        Ok(kept)
    }
    /// A vertex sends its list to its neighbours.
    fn ask(&self, batch: &mut Batch<'_>, at: usize, scratch: &mut Vec<u32>) -> Result<(), Failure> {
        let vertex = batch.vertex(at);
        if !batch.graph.passes(vertex, &self.label)? {
            return Ok(());
        }
        let own = self.neighbours(batch.graph, vertex, scratch)?;
        if own.len() < 2 {
            batch.out.emit(vertex, Value::Float(0.0));
            return Ok(());
        }
        *batch.state(at) = Value::Int(own.len() as i64);
        // The vertex that asks stands in front.
        let list = std::iter::once(&vertex).chain(&own).flat_map(|other| other.to_le_bytes());
        let list = Value::Bytes(list.collect());
        batch.out.send_each(&own, &list);
        Ok(())
    }
}

/// Numbers in a message.
#[derive(Clone, Copy)]
struct PackedList<'a>(&'a [[u8; 4]]);

impl<'a> PackedList<'a> {
    fn of(message: &'a Value) -> Option<(u32, PackedList<'a>)> {
        let Value::Bytes(bytes) = message else { return None };
        let (first, rest) = bytes.as_chunks::<4>().0.split_first()?;
        Some((u32::from_le_bytes(*first), PackedList(rest)))
    }
    fn get(self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at])
    }
}

/// A list longer by this factor is searched, not read.
const FAR_LONGER: usize = 16;

/// How many numbers are in both; both are in order, each number once.
fn common(list: PackedList<'_>, own: &[u32]) -> i64 {
    let (mut count, mut from) = (0, 0);
    if own.len() < list.0.len() / FAR_LONGER {
        for number in own {
            from += list.0[from..].partition_point(|other| u32::from_le_bytes(*other) < *number);
            count += i64::from(from < list.0.len() && list.get(from) == *number);
        }
    } else if list.0.len() < own.len() / FAR_LONGER {
        for at in 0..list.0.len() {
            let number = list.get(at);
            from += own[from..].partition_point(|other| *other < number);
            count += i64::from(own.get(from) == Some(&number));
        }
    } else {
        let mut at = 0;
        while at < list.0.len() && from < own.len() {
            let (one, other) = (list.get(at), own[from]);
            count += i64::from(one == other);
            at += usize::from(one <= other);
            from += usize::from(other <= one);
        }
    }
    count
}

/// The cost of an answer, in looks at numbers.
fn looks(list: PackedList<'_>, own: &[u32]) -> u64 {
    let (short, long) = (list.0.len().min(own.len()), list.0.len().max(own.len()));
    if short < long / FAR_LONGER { short as u64 * u64::from(long.ilog2()) } else { (short + long) as u64 }
}

impl NodeProgram for ClusteringCoefficient {
    fn edges(&self) -> FollowedEdges<'_> {
        self.edges.of()
    }
    fn everywhere(&self) -> Everywhere {
        Everywhere::Passing(self.label.clone())
    }
    fn visit(&self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        let mut scratch = Vec::new();
        for at in 0..batch.len() {
            let vertex = batch.vertex(at);
            match batch.round {
                0 => self.ask(batch, at, &mut scratch)?,
                1 => {
                    let own = self.neighbours(batch.graph, vertex, &mut scratch)?;
                    let (messages, out) = (batch.messages(at), &mut *batch.out);
                    messages.each(|message| {
                        let Some((asker, list)) = PackedList::of(message) else { return Ok(()) };
                        dataflow::watch::spend(1 + looks(list, &own) / 8)?;
                        out.send(asker, Value::Int(common(list, &own)));
                        Ok::<(), Failure>(())
                    })?;
                }
                _ => {
                    let mut links = 0;
                    batch.messages(at).each_int(|more| links += more);
                    let count = batch.state(at).as_int().unwrap_or_default() as f64;
                    batch.out.emit(vertex, Value::Float(links as f64 / (count * (count - 1.0))));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Compared with sets, for lists of every length.
    #[test]
    fn what_is_in_both_lists_is_counted() {
        let mut chance = world::chance::Chance::seeded(5);
        for (one, other) in [(0, 0), (1, 0), (3, 3), (40, 40), (2, 200), (200, 2), (1, 33), (600, 30)] {
            for below in [10, 100, 2_000] {
                let mut drawn =
                    |count| (0..count).map(|_| chance.below(below) as u32).collect::<BTreeSet<u32>>();
                let (list, own) = (drawn(one), drawn(other));
                let bytes = std::iter::once(&7).chain(&list).flat_map(|number| number.to_le_bytes());
                let message = Value::Bytes(bytes.collect());
                let (asker, packed) = PackedList::of(&message).unwrap();
                let numbers: Vec<u32> = own.iter().copied().collect();
                assert_eq!((asker, common(packed, &numbers)), (7, list.intersection(&own).count() as i64));
            }
        }
    }
}
