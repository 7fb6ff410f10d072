//! Places rows on executors: with the tablet of the vertex whose edges are read.
//!
//! A vertex's tablet is computed from its number: blocks of [`BLOCK_VERTICES`] are dealt to the tablets in turn. A chunk of the store is too coarse
//! for this: vertices of one label are numbered in a row, and all persons of a small network lie in one chunk. So a move of a tablet changes no id
//! and no stored byte, and each executor keeps reading the same part of the adjacency, which its own cache holds.
//!
//! Rows go to their tablet's host on edges into operators that read adjacency, where more rows come than went in (see `Compiler::connect`); a small
//! batch stays where it is, since moving it costs more. Rows of a scan stay where their chunk was drawn: a scan balances itself.

use crate::rows::Rows;
use dataflow::{Context, Placing};
use model::VertexId;
use std::sync::Arc;

/// Consecutive vertices that lie in one tablet: their entries in offsets and lists share cache lines.
pub(crate) const BLOCK_VERTICES: u32 = 64;

/// The tablet of a vertex.
#[inline]
pub(crate) fn tablet(vertex: VertexId, tablets: usize) -> usize {
    (vertex.dense() / BLOCK_VERTICES) as usize % tablets
}

/// Deals the rows of a batch to the hosts of the tablets that this column's vertices lie in. Rows without a vertex go with the first tablet.
pub(crate) fn placing(column: usize) -> Placing<Rows> {
    Arc::new(move |rows, hosts| deal(rows, column, hosts))
}

fn deal(Rows(batch): Rows, column: usize, hosts: &[u32]) -> Vec<(usize, Rows)> {
    let most = hosts.iter().max().map_or(0, |most| *most as usize);
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); most + 1];
    let vertices = batch.column(column);
    for row in 0..batch.len() {
        let tablet = vertices.vertex(row).map_or(0, |vertex| tablet(vertex, hosts.len()));
        parts[hosts[tablet] as usize].push(row as u32);
    }
    if let Some(host) = parts.iter().position(|rows| rows.len() == batch.len()) {
        return vec![(host, Rows(batch))];
    }
    let parts = parts.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
    // Each with columns of its own: shared ones would be charged as a whole wherever a part of them waits.
    parts.map(|(host, rows)| (host, Rows(batch.select(rows).flatten()))).collect()
}

/// A list this long is reported; of shorter ones one of several rows stands for all, since a report costs as much as reading a short list.
const EDGES_TOLD_MIN: usize = 64;
const ROWS_PER_TOLD: usize = 16;

/// Reports to the balancer of tablets that a vertex's edges were read for this row of a batch.
#[inline]
pub(crate) fn worked_on(vertex: VertexId, row: usize, edges: usize, context: &mut Context<'_, Rows>) {
    let weight = match edges >= EDGES_TOLD_MIN {
        true => 1,
        false if row.is_multiple_of(ROWS_PER_TOLD) => ROWS_PER_TOLD,
        false => return,
    };
    let tablets = context.tablets();
    if tablets > 0 {
        context.worked_on(tablet(vertex, tablets), (weight * (edges + 1)) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Batch, Column, Nulls};

    #[test]
    fn every_row_goes_once_to_the_host_of_its_tablet() {
        let seed = 5;
        let mut chance = world::chance::Chance::seeded(seed);
        for round in 0..300 {
            let (executors, tablets) = (1 + chance.below(5), 1 + chance.below(40) as usize);
            let hosts: Vec<u32> = (0..tablets).map(|_| chance.below(executors) as u32).collect();
            let rows = chance.below(700) as usize;
            let vertices: Vec<VertexId> =
                (0..rows).map(|_| VertexId::from_dense(chance.below(9_000) as u32)).collect();
            let numbers = Column::Int((0..rows as i64).collect(), Nulls::none());
            let batch = Batch::new(vec![numbers, Column::Vertex(vertices.clone(), Nulls::none())], rows);
            let mut met = vec![false; rows];
            for (host, Rows(part)) in deal(Rows(batch), 1, &hosts) {
                for row in 0..part.len() {
                    let number = part.column(0).get(row).as_int().expect("a number") as usize;
                    assert!(!std::mem::replace(&mut met[number], true), "seed {seed} round {round}: twice");
                    assert_eq!(part.column(1).vertex(row), Some(vertices[number]));
                    let block = vertices[number].dense() as usize / 64;
                    assert_eq!(hosts[block % tablets] as usize, host, "seed {seed} round {round}");
                }
            }
            assert!(met.into_iter().all(|met| met), "seed {seed} round {round}: a row is lost");
        }
    }
}
