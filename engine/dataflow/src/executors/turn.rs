//! Which operator of a query runs next on an executor, and for how long.
//!
//! The rule: from the root of the tree of scope instances downward, the first by each scope's policy among members that have work and room in their
//! outputs. By default that is the vertex furthest downstream, so intermediate batches move towards the client before more is read at the sources,
//! and memory stays near the output; instances of one scope take turns.
//!
//! Back-pressure cannot lock up, whatever the policies: along a graph without cycles, the furthest vertex that has messages feeds only
//! vertices without, or the client; ports whose messages wait for another port's end, and those that a backward edge enters, take
//! messages without bound (`Vertex::elastic`), charged to the query's bytes.

use crate::accounting::{latch, watch};
use crate::executors::local::{Ended, LocalQuery, QueryAccess, Work};
use crate::executors::tree::{At, ROOT};
use crate::graphs::graph::Inner;
use crate::terms::limits::TURN_NS_MIN;
use crate::{IntraPolicy, Message};
use std::sync::atomic::Ordering::Relaxed;
use world::fiber::{Resumed, Stacks};

/// The end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing left to run here.
    Idle,
    /// More to run.
    More,
    /// The rest waits for room in a queue, or for other operators.
    Stuck,
    /// It has paused within a call, which goes on when a latch opens.
    Parked,
    /// The query ended.
    Over,
}

/// The time that a query is given.
#[derive(Clone, Copy)]
pub(crate) struct Slice {
    pub(crate) start_ns: u64,
    /// A reading of processor time not long before.
    pub(crate) cpu_ns: u64,
    pub(crate) quota_ns: u64,
}

impl<M: Message> LocalQuery<M> {
    /// Gives it a turn, or the rest of one that has paused. None where a call of an operator is paused: nothing of the query on this executor may be
    /// touched before the call has ended.
    pub(crate) fn give(&mut self, slice: Slice, stacks: &mut Stacks) -> Option<(Turn, u64)> {
        let fiber = match std::mem::replace(&mut self.work, Work::InHand) {
            Work::Paused(fiber) => fiber,
            Work::Here(mut local) => {
                let shared = self.shared.clone();
                let body = move || {
                    let ended = QueryAccess { shared: &shared, local: &mut local }.turn(slice);
                    (local, ended)
                };
                match stacks.fiber(body) {
                    Ok(fiber) => fiber,
                    Err(body) => return Some(self.put_back(body())),
                }
            }
            Work::InHand => unreachable!("a query has one turn at a time"),
        };
        match fiber.resume(slice.start_ns + slice.quota_ns, stacks) {
            Resumed::Done(ended) => Some(self.put_back(ended)),
            Resumed::Paused(fiber) => {
                self.awaited = latch::take_awaited();
                self.work = Work::Paused(fiber);
                None
            }
        }
    }
    fn put_back(&mut self, (local, ended): Ended<M>) -> (Turn, u64) {
        self.work = Work::Here(local);
        ended
    }
}

impl<M: Message> QueryAccess<'_, M> {
    /// Runs operators until the quota is used up, another task wants the executor, or nothing can run. Returns how it ended and the clock.
    pub(crate) fn turn(&mut self, Slice { start_ns, cpu_ns, quota_ns }: Slice) -> (Turn, u64) {
        watch::take_paused();
        self.local.pace.set(start_ns);
        self.local.wanted_from_ns = start_ns + TURN_NS_MIN.min(quota_ns);
        self.local.tally.begin(start_ns, cpu_ns);
        // The query does not end before what was counted in this turn is handed over: its profile is whole when its end is seen.
        self.shared.root.hold();
        let watched = watch::enter(self.shared.clone());
        let ended = self.run(start_ns, quota_ns);
        drop(watched);
        self.local.tally.hand_over(self.shared, self.local.me);
        self.shared.let_go();
        ended
    }

    fn run(&mut self, start_ns: u64, quota_ns: u64) -> (Turn, u64) {
        let until_ns = start_ns + quota_ns;
        let mut now_ns = start_ns;
        loop {
            if self.shared.is_stopped() {
                return (Turn::Over, now_ns);
            }
            let at = match self.choose() {
                Ok(at) => at,
                Err(turn) => return (turn, now_ns),
            };
            now_ns = self.step(at, until_ns, quota_ns);
            if let Some(fault) = self.local.fault.take() {
                self.shared.stop(Some(fault));
                return (Turn::Over, now_ns);
            }
            if now_ns >= until_ns || self.is_wanted(now_ns) {
                return (if self.choose() == Err(Turn::Idle) { Turn::Idle } else { Turn::More }, now_ns);
            }
        }
    }

    /// True if this executor has a command waiting, or a woken client waits for a core, and the turn has gone on for a while.
    #[inline]
    pub(crate) fn is_wanted(&self, now_ns: u64) -> bool {
        let links = &self.shared.links;
        now_ns >= self.local.wanted_from_ns
            && (!links.inboxes[self.local.me].queue.is_empty() || links.clients_due.any())
    }

    /// True if a turn would run something.
    pub(crate) fn is_runnable(&self) -> bool {
        self.choose().is_ok()
    }

    fn choose(&self) -> Result<At, Turn> {
        if let Some(at) = self.pick_ahead() {
            return Ok(at);
        }
        let mut blocked = false;
        let turn = |blocked| if blocked || self.has_waiting() { Turn::Stuck } else { Turn::Idle };
        self.pick(ROOT, &mut blocked).ok_or_else(|| turn(blocked))
    }

    /// Once the query works on several executors: an operator that works on this one only, and that the others wait for, while its outputs have room.
    /// Furthest upstream, it would otherwise run last, and the others would wait for it at the end.
    fn pick_ahead(&self) -> Option<At> {
        let graph = &self.shared.graph;
        if !graph.has_ahead || !self.shared.is_shared_out.load(Relaxed) {
            return None;
        }
        self.local.tree.node(ROOT).ready.find(&graph.scopes[0], |place| {
            match graph.scopes[0].members[place] {
                Inner::Vertex(vertex) if graph.vertices[vertex].ahead && self.shared.root.is_alone(place) => {
                    let at = At { node: ROOT, place };
                    self.may_run(at, vertex).then_some(at)
                }
                _ => None,
            }
        })
    }

    /// The operator to run next; none if all that have work are blocked, which is noted.
    fn pick(&self, node: usize, blocked: &mut bool) -> Option<At> {
        let tree = &self.local.tree;
        let there = tree.node(node);
        let scope = &self.shared.graph.scopes[there.scope];
        let waits = scope.options.waits && matches!(scope.options.intra, IntraPolicy::Dfs);
        let mut held_back = false;
        there.ready.find(scope, |place| match scope.members[place] {
            _ if held_back => None,
            Inner::Vertex(vertex) => {
                let at = At { node, place };
                let free = self.may_run(at, vertex);
                *blocked |= !free;
                held_back = waits && !free;
                free.then_some(at)
            }
            Inner::Scope(inner) => {
                let latest = self.latest_iteration(node, inner);
                tree.find_ready(node, place, |instance| {
                    if tree.node(instance).number > latest {
                        *blocked = true;
                        return None;
                    }
                    self.pick(instance, blocked)
                })
            }
        })
    }

    #[inline]
    fn may_run(&self, at: At, vertex: usize) -> bool {
        let holds_open = || {
            let station = &self.local.tree.node(at.node).seats[at.place].station;
            station.as_ref().is_some_and(|station| !station.head.open.is_empty())
        };
        !self.outputs_full(vertex) && (!self.crowded(vertex, at.node) || holds_open())
    }

    /// True if an operator of this vertex should not run: some output is full.
    #[inline]
    pub(crate) fn outputs_full(&self, vertex: usize) -> bool {
        let shared = self.shared;
        if vertex == shared.graph.output && shared.output.is_full() {
            return true;
        }
        shared.graph.vertices[vertex].outputs.iter().flatten().any(|at| {
            let edge = &shared.graph.edges[*at];
            let to = &shared.graph.vertices[edge.to];
            if to.wide {
                shared.edge_full(edge, self.local.me)
            } else {
                self.local.queued[to.ports_before + edge.port] >= shared.graph.mailbox_messages_max
            }
        })
    }

    /// True if this vertex leads into a branch scope of which as many instances live in `node` as may.
    #[inline]
    pub(crate) fn crowded(&self, vertex: usize, node: usize) -> bool {
        let graph = &self.shared.graph;
        graph.vertices[vertex].opens.iter().any(|scope| {
            let scope = &graph.scopes[*scope];
            let live = || match self.level(node).filter(|_| scope.wide) {
                Some(level) => level.live(scope.place),
                None => self.local.tree.crowd(node, scope.place).members.len(),
            };
            scope.options.instances_max.is_some_and(|max| live() >= max as usize)
        })
    }

    /// The last iteration of a loop that may run now.
    #[inline]
    fn latest_iteration(&self, node: usize, scope: usize) -> u32 {
        let scope = &self.shared.graph.scopes[scope];
        match scope.options.instances_max {
            Some(max) if scope.wide && scope.is_loop() => {
                let earliest = self.level(node).map_or(1, |level| level.earliest(scope.place));
                earliest.saturating_add(max.max(1) - 1)
            }
            Some(max) if scope.is_loop() => {
                let members = self.local.tree.crowd(node, scope.place).members.iter();
                let earliest = members.map(|member| self.local.tree.node(*member as usize).number).min();
                earliest.unwrap_or(0).saturating_add(max.max(1) - 1)
            }
            _ => u32::MAX,
        }
    }

    /// True if this vertex's instance, or its part of the level around it, is cancelled.
    #[inline]
    pub(crate) fn is_called_off(&self, vertex: usize, node: usize) -> bool {
        match self.level(node) {
            Some(level) => level.is_closed(self.shared.graph.vertices[vertex].place),
            None => {
                let around = self.local.tree.node(node).around;
                self.level(around.node).is_some_and(|level| level.is_closed(around.place))
            }
        }
    }

    /// True if vertex `vertex` in `node` is not to run any more.
    #[inline]
    pub(crate) fn is_closed(&self, vertex: usize, node: usize) -> bool {
        let place = self.shared.graph.vertices[vertex].place;
        match self.level(node) {
            Some(level) => level.is_closed(place),
            None => self.local.tree.node(node).seats[place].closed,
        }
    }
}
