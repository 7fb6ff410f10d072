//! Executors without threads: the caller steps them, one command or one call of one operator at a time, in an order drawn from a seed.
//!
//! So a schedule that broke something can be repeated. And as no timer fires, a query that would go on only because of a periodic re-check stands
//! still here, where a test sees it: every wake must be exact.

use crate::accounting::tablets::Tablets;
use crate::executors::executor::Executor;
use crate::queries::links::Links;
use crate::{AccountOptions, Graph, Message, QueryHandle, QueryOptions};
use std::sync::Arc;
use world::chance::Chance;

/// Executors that are stepped. The same seed, graph and options give the same schedule, as long as one query runs at a time and its
/// operators do not look at the clock.
pub struct Stepped<M: Message> {
    links: Arc<Links<M>>,
    executors: Vec<Executor<M>>,
    chance: Chance,
}

impl<M: Message> Stepped<M> {
    /// Executors, with one tablet each.
    pub fn new(executors: usize, seed: u64) -> Stepped<M> {
        let count = executors.max(1);
        let links =
            Arc::new(Links::new(count, &AccountOptions::default(), Tablets::new(count, count, false)));
        // A quota of nothing: a turn is one call.
        let executors = (0..count).map(|me| Executor::new(me, 0, links.clone())).collect();
        Stepped { links, executors, chance: Chance::seeded(seed) }
    }

    /// As [`Runtime::submit`](crate::Runtime::submit). Do not wait for the handle: [`step`](Self::step), and ask it with `try_next`.
    pub fn submit(&self, graph: Graph<M>, options: QueryOptions) -> QueryHandle<M> {
        self.links.submit(graph, options)
    }

    /// One step of an executor that has something to do; false if none has.
    pub fn step(&mut self) -> bool {
        let first = self.chance.index(self.executors.len());
        let commands_first = self.chance.happens(0.5);
        let (before, after) = self.executors.split_at_mut(first);
        after.iter_mut().chain(before).any(|executor| executor.step(commands_first))
    }
}

impl<M: Message> Drop for Stepped<M> {
    fn drop(&mut self) {
        self.links.shut_down();
        self.executors.iter_mut().for_each(Executor::close);
        self.executors.clear();
        self.links.clear();
    }
}
