//! Intersections of two arms by group: few vertices of one arm meet many of the other.
//!
//! For each vertex of the arm with few, its neighbours are walked once, and from each the edges back along the other arm: each vertex they lead to is
//! looked up among the rows of the group. Used where the lists so walked are much shorter than those of the other arm's vertices, judged by a sample,
//! and short enough for one slice of work.

use super::Bound;
use crate::turn::Try;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::VertexId;
use model::batch::Carried;

/// Rows for each vertex of the arm with few, on average.
const ROWS_PER_GROUP_MIN: usize = 8;
/// Edges walked out for one batch: with those back, some hundred microseconds at most.
const EDGES_MAX: u64 = 4_096;
/// An edge walked costs as much as this many that are read in place: its far end's list is opened, and each vertex in it is looked up.
const EDGE_COST: u64 = 8;
/// Likewise an edge back: its end is looked up among the rows.
const EDGE_BACK_COST: u64 = 4;
/// Rows whose lists are measured.
const SAMPLE_ROWS: usize = 16;

type Rows = HashMap<(u32, u32), Vec<u32>, FixedState>;

/// Pairs of row and vertex in order of rows, if this way pays.
pub(super) fn pairs(
    bound: &mut Bound,
    (a, b): (&Carried, &Carried),
    once: [bool; 2],
    rows: usize,
) -> Try<Option<Vec<(u32, u32)>>> {
    if rows < ROWS_PER_GROUP_MIN {
        return Ok(None);
    }
    for (few, columns) in [(0, (a, b)), (1, (b, a))] {
        if let Some(vertices) = few_vertices(columns.0, rows)
            && pays(bound, few, &vertices, columns.1, rows)?
        {
            let once = (once[few], once[1 - few]);
            return walk(bound, (few, &vertices), columns, once, rows).map(Some);
        }
    }
    Ok(None)
}

/// The different vertices of a column, if they are few.
fn few_vertices(column: &Carried, rows: usize) -> Option<Vec<u32>> {
    let mut found: Vec<u32> = Vec::new();
    for vertex in (0..rows).filter_map(|row| column.vertex(row)).map(VertexId::dense) {
        if found.last() == Some(&vertex) || found.contains(&vertex) {
            continue;
        }
        if (found.len() + 1) * ROWS_PER_GROUP_MIN > rows || found.len() >= SAMPLE_ROWS {
            return None;
        }
        found.push(vertex);
    }
    Some(found)
}

fn pays(bound: &Bound, few: usize, vertices: &[u32], others: &Carried, rows: usize) -> Try<bool> {
    let mut out = 0;
    for vertex in vertices {
        out += bound.lists[few].degree(*vertex)?;
    }
    let step = rows.div_ceil(SAMPLE_ROWS);
    let (mut looked, mut sampled) = (0, 0);
    for vertex in (0..rows).step_by(step).filter_map(|row| others.vertex(row)) {
        looked += bound.lists[1 - few].degree(vertex.dense())?;
        sampled += 1;
    }
    let by_row = looked * rows as u64 / sampled.max(1);
    if out > EDGES_MAX || out * EDGE_COST >= by_row {
        return Ok(false);
    }
    // Where they meet many edges may lead back: a tag has more messages than a message has tags.
    let (mut cost, mut scratch) = (out * EDGE_COST, Vec::new());
    for vertex in vertices {
        for met in bound.lists[few].of(*vertex, &mut scratch)? {
            cost += EDGE_BACK_COST * bound.back[1 - few].degree(*met)?;
            if cost >= by_row.min(EDGES_MAX * EDGE_COST) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn walk(
    bound: &mut Bound,
    (few, vertices): (usize, &[u32]),
    (near, far): (&Carried, &Carried),
    (near_once, far_once): (bool, bool),
    rows: usize,
) -> Try<Vec<(u32, u32)>> {
    let mut groups = Rows::default();
    for row in 0..rows {
        if let (Some(near), Some(far)) = (near.vertex(row), far.vertex(row)) {
            groups.entry((near.dense(), far.dense())).or_default().push(row as u32);
        }
    }
    let (mut out, mut back, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut once_out, mut once_back) = (Vec::new(), Vec::new());
    for vertex in vertices {
        let list = bound.lists[few].of(*vertex, &mut out)?;
        for met in if near_once { each_once(list, &mut once_out) } else { list } {
            if !bound.labels.admits_end(VertexId::from_dense(*met), &bound.snapshot)? {
                continue;
            }
            let list = bound.back[1 - few].of(*met, &mut back)?;
            for other in if far_once { each_once(list, &mut once_back) } else { list } {
                let these = groups.get(&(*vertex, *other)).map_or(&[][..], Vec::as_slice);
                pairs.extend(these.iter().map(|row| (*row, *met)));
            }
        }
    }
    // Stable: what a row meets stays in the order in which it was met.
    pairs.sort_by_key(|(row, _)| *row);
    Ok(pairs)
}

/// The vertices of a list, each once.
fn each_once<'l>(list: &[u32], room: &'l mut Vec<u32>) -> &'l [u32] {
    room.clear();
    room.extend_from_slice(list);
    room.sort_unstable();
    room.dedup();
    room
}
