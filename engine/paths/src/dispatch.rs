//! Distinct ends of many sources, each by itself, found by several workers together.
//!
//! Idea: each source, or each pack of 64, is a search; a search is a line of stages; a stage is cut into morsels. A worker stays with
//! the search it has, as long as that has morsels for it; then it begins another, if fewer are open than the policy says; then it looks at the other
//! open ones. No worker waits: one that finds nothing gets [`Turn::Idle`] and may do other work. (After "Query processing on recursive path queries",
//! sections 3 and 4; the policies are values, see [`DispatchPolicy`].)
//! Invariant: a vertex is put into one level by the one worker that set its bit, so ends and distances do not depend on who works.
//! Which comes first within a distance does. A worker that has drawn a morsel must go on calling (or all be dropped).
//! Where paths are asked for, levels are kept in a few bits a vertex and source, and each level's paths are rebuilt backwards as soon as it
//! is known (`levels`, `trace`): what nobody takes any more is never rebuilt.
//! Cost: a test an edge, a write a vertex found, two short locks a morsel; of the parts see `single` and `lanes`.

mod ground;
mod lanes;
mod levels;
mod policy;
mod search;
mod single;
mod stage;
mod trace;
mod words;

pub use policy::{
    DispatchPolicy, LANE_HOPS_MIN, LANE_SOURCES_MIN, LANES_MAX, Occasion, SEARCHES_OPEN_MAX, Sharing,
};
pub use search::{Turn, Worker};

use crate::adjacency::Adjacency;
use crate::answers::Answers;
use crate::error::PathError;
use crate::frontier::checked_sources;
use crate::hops::{Hops, Orientation};
use crate::reach::Keep;
use crate::work::Work;
use ground::Ground;
use parking_lot::{Mutex, RwLock};
use search::Search;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// See the module's head.
pub struct Dispatcher<A> {
    ground: Ground<A>,
    policy: DispatchPolicy,
    sources: Vec<u32>,
    /// Sources in searches already begun.
    begun: Mutex<usize>,
    open: RwLock<Vec<Arc<Search>>>,
    visited: AtomicUsize,
}

impl<A: Adjacency> Dispatcher<A> {
    /// Searches from each of `sources` by itself; a source may come twice. `hops.min` is 0 or 1.
    ///
    /// # Errors
    /// Bounds that distance does not decide, a source that is no vertex.
    pub fn new(
        graph: A,
        sources: &[u32],
        hops: Hops,
        orientation: Orientation,
        keep: Keep,
        policy: DispatchPolicy,
    ) -> Result<Dispatcher<A>, PathError> {
        let hops = hops.checked_by_distance()?;
        checked_sources(sources, graph.vertex_bound())?;
        // Lanes share edges, so they have no condition of their own.
        let lanes = if graph.has_edge_predicate() { 1 } else { policy.lanes.clamp(1, LANES_MAX) };
        let policy = DispatchPolicy { lanes, ..policy };
        Ok(Dispatcher {
            ground: Ground {
                against: None,
                back: None,
                edges: graph.edges_estimate().unwrap_or(0),
                graph,
                hops,
                orientation,
                keep,
                present: AtomicUsize::new(0),
                idle: AtomicUsize::new(0),
                above: AtomicUsize::new(0),
                below: AtomicUsize::new(0),
                pending: AtomicUsize::new(sources.len()),
                open: AtomicUsize::new(0),
                tracing: AtomicUsize::new(0),
                peak: AtomicUsize::new(0),
            },
            policy,
            sources: sources.to_vec(),
            begun: Mutex::new(0),
            open: RwLock::default(),
            visited: AtomicUsize::new(0),
        })
    }

    /// Lets searches look from below, along the same edges the other way (the same graph again if undirected), where that is faster.
    /// With a condition on edges, or in a graph that does not know how many edges it has, they do not.
    pub fn both_ways(mut self, against: A) -> Dispatcher<A> {
        let knows = self.ground.graph.edges_estimate().is_some() && !self.ground.graph.has_edge_predicate();
        self.ground.against = knows.then_some(against);
        self
    }

    /// Hands out a shortest path to each end, not the end alone; `back` lists the same edges the other way (the same graph again if
    /// undirected). For [`Keep::Levels`].
    pub fn with_paths(mut self, back: A) -> Dispatcher<A> {
        debug_assert!(self.ground.lists_ends(), "paths have ends");
        self.ground.back = Some(back);
        self
    }

    /// One turn of one worker: until the work is over or there are about `count_max` answers.
    ///
    /// # Errors
    /// Reading the graph failed.
    pub fn work_on(
        &self,
        worker: &mut Worker,
        work: &mut Work<'_>,
        answers: &mut Answers,
        count_max: u64,
    ) -> Result<Turn, PathError> {
        if !std::mem::replace(&mut worker.is_present, true) {
            self.ground.present.fetch_add(1, Ordering::Relaxed);
        }
        let before = work.edges_visited();
        let turn = self.turn(worker, work, answers, count_max);
        self.visited.fetch_add((work.edges_visited() - before) as usize, Ordering::Relaxed);
        if self.ground.traces() {
            let held = worker.own.tracer.bytes();
            let before = std::mem::replace(&mut worker.held, held);
            self.ground.tracing.fetch_add(held.wrapping_sub(before), Ordering::Relaxed);
        }
        let is_idle = turn == Ok(Turn::Idle);
        if std::mem::replace(&mut worker.is_idle, is_idle) != is_idle {
            match is_idle {
                true => self.ground.idle.fetch_add(1, Ordering::Relaxed),
                false => self.ground.idle.fetch_sub(1, Ordering::Relaxed),
            };
        }
        turn
    }

    fn turn(
        &self,
        worker: &mut Worker,
        work: &mut Work<'_>,
        answers: &mut Answers,
        count_max: u64,
    ) -> Result<Turn, PathError> {
        loop {
            let Some(search) = worker.search.clone() else {
                if self.find(worker) {
                    continue;
                }
                return Ok(if self.is_over() { Turn::Done } else { Turn::Idle });
            };
            match search.turn(&self.ground, &self.policy, worker, work, (&mut *answers, count_max))? {
                Turn::More => return Ok(Turn::More),
                Turn::Done => {
                    self.close(&search);
                    worker.search = None;
                }
                Turn::Idle if !self.find(worker) => return Ok(Turn::Idle),
                Turn::Idle => {}
            }
        }
    }

    /// Another search for the worker: a new one, or one that has something for it.
    fn find(&self, worker: &mut Worker) -> bool {
        if let Some(search) = self.begin(worker.number) {
            worker.search = Some(search);
            return true;
        }
        let open = self.open.read();
        let other = open.iter().find(|search| search.draw(&self.ground, worker) || search.has_answers());
        if let Some(other) = other {
            worker.search = Some(other.clone());
        }
        other.is_some()
    }

    /// The next source, or pack of sources, if there is one and it may be begun.
    fn begin(&self, worker: usize) -> Option<Arc<Search>> {
        let mut begun = self.begun.lock();
        let rest = &self.sources[*begun..];
        if rest.is_empty() || self.ground.open.load(Ordering::Relaxed) >= self.policy.searches_max {
            return None;
        }
        let pack = &rest[..rest.len().min(self.policy.lanes)];
        let search = Arc::new(Search::new(&self.ground, pack, *begun as u32, worker));
        *begun += pack.len();
        self.ground.pending.fetch_sub(pack.len(), Ordering::Relaxed);
        self.ground.open.fetch_add(1, Ordering::Relaxed);
        self.open.write().push(search.clone());
        Some(search)
    }

    fn close(&self, search: &Arc<Search>) {
        let mut open = self.open.write();
        let before = open.len();
        open.retain(|other| !Arc::ptr_eq(other, search));
        self.ground.open.fetch_sub(before - open.len(), Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        *self.begun.lock() == self.sources.len() && self.open.read().is_empty()
    }

    /// The chosen policy.
    pub fn policy(&self) -> DispatchPolicy {
        self.policy
    }

    /// A report for people: the policy, the sources, the workers, the sides that levels were taken from, and the memory.
    pub fn told(&self) -> String {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let Ground { present, above, below, .. } = &self.ground;
        let (sources, workers) = (self.sources.len(), of(present));
        let (policy, above, below) = (self.policy, of(above), of(below));
        let told = format!(
            "{policy}, sources {sources}, workers {workers}, levels from above {above}, from below {below}"
        );
        let each = self.bytes_peak() as f64 / f64::from(self.ground.graph.vertex_bound().max(1));
        if each > 0.0 { format!("{told}, at most {each:.1} bytes a vertex") } else { told }
    }

    /// Edges visited so far, by all.
    pub fn edges_visited(&self) -> u64 {
        self.visited.load(Ordering::Relaxed) as u64
    }

    /// Bytes held, without the lists that workers are filling.
    pub fn bytes(&self) -> usize {
        let searches: usize = self.open.read().iter().map(|search| search.bytes()).sum();
        let held = searches + self.ground.tracing.load(Ordering::Relaxed) + self.sources.capacity() * 4;
        self.ground.peak.fetch_max(held, Ordering::Relaxed);
        held
    }

    /// The most that [`Dispatcher::bytes`] has said.
    pub fn bytes_peak(&self) -> usize {
        self.ground.peak.load(Ordering::Relaxed)
    }
}
