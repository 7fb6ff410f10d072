//! The search: does a path of edges lead from one event to another?
//!
//! Idea: breadth first, over a set of visited events that is never cleared (Briggs and Torczon's sparse set; Weaver, figure 2.4): an event is in
//! it if `sparse[event] < dense.len()` and `dense[sparse[event]] == event`. `dense` is the queue as well.
//! Each edge leads to a higher level, so the search only follows events below the level of the one it looks for.
//! Invariant: stale entries of `sparse` from an earlier search are never trusted.
//! Cost: proportional to the events visited. `sparse` comes zeroed from the system, and a page of it is only touched where a search goes.

use super::graph::EventGraph;

/// The memory of searches over one graph or its copies. A reader of its own on each thread can search one graph together.
#[derive(Clone, Debug, Default)]
pub struct Search {
    sparse: Vec<u32>,
    dense: Vec<u32>,
    searches: u64,
    visited: u64,
}

impl Search {
    /// Searches made so far.
    pub fn searches(&self) -> u64 {
        self.searches
    }
    /// Events that all searches visited together.
    pub fn visited(&self) -> u64 {
        self.visited
    }
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.sparse.capacity() + self.dense.capacity()) * 4
    }

    /// Does a path lead from one slot to the other?
    pub(super) fn reaches(&mut self, graph: &EventGraph, from: u32, to: u32) -> bool {
        let bound = graph.level(to);
        if graph.level(from) >= bound || graph.predecessors(to) == 0 {
            return false;
        }
        self.begin(graph.slots());
        self.searches += 1;
        self.insert(from);
        let mut next = 0;
        while let Some(&event) = self.dense.get(next) {
            next += 1;
            for &after in graph.successors(event) {
                if after == to {
                    self.visited += self.dense.len() as u64;
                    return true;
                }
                if graph.level(after) < bound {
                    self.insert(after);
                }
            }
        }
        self.visited += self.dense.len() as u64;
        false
    }

    /// Counts events that were visited for another reason.
    pub(super) fn add_visited(&mut self, events: usize) {
        self.visited += events as u64;
    }

    /// An empty set of up to `slots` slots.
    fn begin(&mut self, slots: usize) {
        self.dense.clear();
        if self.sparse.len() < slots {
            self.sparse = vec![0; slots.next_power_of_two().max(64)];
        }
    }
    fn insert(&mut self, event: u32) {
        let at = self.sparse[event as usize] as usize;
        if self.dense.get(at) != Some(&event) {
            self.sparse[event as usize] = self.dense.len() as u32;
            self.dense.push(event);
        }
    }
}
