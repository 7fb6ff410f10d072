//! Counts the matches of a tree from a vertex: the sum over the far ends of the product of their own trees, each computed once for each vertex and
//! cached, for all executors.
//!
//! Work is paid from a budget. When it runs out, complete numbers are kept and the answer is "later": called again with a new budget, the walk comes
//! at least one vertex further, as cached numbers cost nothing.

use super::lists::Lists;
use super::table::SharedTable;
use crate::access::Environment;
use crate::labels::LabelCheck;
use crate::turn::Try;
use model::VertexId;
use parking_lot::Mutex;
use plan::LabelExpr;
use plan::algebra::CountTree;
use std::sync::Arc;
use store::Snapshot;

/// The fixed definition of a tree.
struct Node {
    lists: Lists,
    /// Every far end has the labels.
    all: bool,
    optional: bool,
    is_loop: bool,
    below: Vec<usize>,
}

/// Its state while it is counted.
struct State {
    labels: LabelCheck,
    /// By vertex: one more than the number of ways. None where that is read from the store.
    known: Option<Arc<SharedTable>>,
    /// Bytes of the table that this executor allocated.
    bytes: usize,
    scratch: Vec<u32>,
}

/// Cached counts of all trees of one pattern, valid in the snapshot of the first count.
#[derive(Default)]
pub(super) struct KnownWays {
    tables: Mutex<Option<(Snapshot, Vec<Arc<SharedTable>>)>>,
}

impl KnownWays {
    /// The table of the tree with this number: a private one for counts in another snapshot.
    fn table(&self, tree: usize, snapshot: &Snapshot) -> Arc<SharedTable> {
        let new = || Arc::new(SharedTable::new(snapshot.vertex_bound()));
        let mut tables = self.tables.lock();
        let (first, tables) = tables.get_or_insert_with(|| (snapshot.clone(), Vec::new()));
        if !first.is_same(snapshot) {
            return new();
        }
        while tables.len() <= tree {
            tables.push(new());
        }
        tables[tree].clone()
    }
}

/// Trees, including nested ones.
pub(super) struct Trees {
    nodes: Vec<Node>,
    states: Vec<State>,
    snapshot: Snapshot,
    known: Arc<KnownWays>,
}

impl Trees {
    pub fn new(snapshot: Snapshot, known: Arc<KnownWays>) -> Trees {
        Trees { nodes: Vec::new(), states: Vec::new(), snapshot, known }
    }
    /// Takes trees in; their numbers.
    pub fn add(&mut self, trees: &[CountTree], environment: &Arc<Environment>) -> Vec<usize> {
        let mut numbers = Vec::new();
        for tree in trees {
            let below = self.add(&tree.trees, environment);
            let lists = Lists::new(&tree.types, tree.direction, &self.snapshot, environment);
            let labels = LabelCheck::new(&tree.labels, &self.snapshot);
            environment.record(|reads| labels.record(reads));
            let all = labels.is_any()
                || matches!(&tree.labels, LabelExpr::Has(name) if self.snapshot.catalog().label(name)
                    .is_some_and(|label| lists.all_lead_to(label, &self.snapshot)));
            numbers.push(self.nodes.len());
            let is_read = tree.is_loop || all && below.is_empty();
            let known = (!is_read).then(|| self.known.table(self.states.len(), &self.snapshot));
            self.nodes.push(Node { lists, all, optional: tree.optional, is_loop: tree.is_loop, below });
            self.states.push(State { labels, known, bytes: 0, scratch: Vec::new() });
        }
        numbers
    }
    /// The product of these trees at a vertex; none if the budget ran out.
    pub fn product(&mut self, trees: &[usize], vertex: u32, budget: &mut i64) -> Try<Option<u64>> {
        let mut ways = 1_u64;
        for tree in trees {
            let Some(more) = ways_of(&self.nodes, &mut self.states, &self.snapshot, *tree, vertex, budget)?
            else {
                return Ok(None);
            };
            ways = ways.saturating_mul(more);
            if ways == 0 {
                break;
            }
        }
        Ok(Some(ways))
    }
    pub fn bytes(&self) -> usize {
        self.states.iter().map(|state| state.bytes).sum()
    }
}

/// Ways of one tree at a vertex. Its depth is that of the pattern.
fn ways_of(
    nodes: &[Node],
    states: &mut [State],
    snapshot: &Snapshot,
    tree: usize,
    vertex: u32,
    budget: &mut i64,
) -> Try<Option<u64>> {
    let node = &nodes[tree];
    let least = u64::from(node.optional);
    if node.is_loop {
        *budget -= 1;
        return Ok(Some(node.lists.between(vertex, vertex, &mut Vec::new())?));
    }
    if node.all && node.below.is_empty() {
        *budget -= 1;
        return Ok(Some(node.lists.degree(vertex)?.max(least)));
    }
    let known = states[tree].known.as_ref().map_or(0, |known| known.get(vertex));
    if known > 0 {
        return Ok(Some(known - 1));
    }
    if *budget <= 0 {
        return Ok(None);
    }
    let mut scratch = std::mem::take(&mut states[tree].scratch);
    let sum = sum_of(nodes, states, snapshot, tree, node.lists.of(vertex, &mut scratch)?, budget);
    states[tree].scratch = scratch;
    let Some(sum) = sum? else { return Ok(None) };
    let ways = sum.max(least).min(u64::MAX - 1);
    let state = &mut states[tree];
    state.bytes += state.known.as_ref().map_or(0, |known| known.set(vertex, ways + 1));
    Ok(Some(ways))
}

fn sum_of(
    nodes: &[Node],
    states: &mut [State],
    snapshot: &Snapshot,
    tree: usize,
    list: &[u32],
    budget: &mut i64,
) -> Try<Option<u64>> {
    let node = &nodes[tree];
    let mut sum = 0_u64;
    *budget -= 1;
    if node.below.is_empty() {
        *budget -= list.len() as i64;
    }
    for far in list {
        if !node.all && !states[tree].labels.admits_end(VertexId::from_dense(*far), snapshot)? {
            continue;
        }
        let mut ways = 1_u64;
        for below in &node.below {
            let Some(more) = ways_of(nodes, states, snapshot, *below, *far, budget)? else { return Ok(None) };
            ways = ways.saturating_mul(more);
            if ways == 0 {
                break;
            }
        }
        sum = sum.saturating_add(ways);
    }
    Ok(Some(sum))
}
