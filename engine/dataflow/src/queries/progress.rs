//! When is a stream at its end? Exact completion across executors, with counters and no lock.
//!
//! A *level* is the inside of one scope instance that spans executors: the whole query, or an instance of a [wide](crate::ScopeOptions)
//! scope within another level. Every vertex of a level has, for each port, the number of messages queued or being processed (`pending`)
//! and the number of in-edges whose upstream still runs (`upstream`); and one more counter, `work`, for what belongs to no port: sources,
//! invitations.
//!
//! ```text
//! port exhausted    = upstream == 0 and pending == 0 and work == 0      then: tell the operator on every executor, each acknowledges
//! vertex complete   = all ports exhausted and acknowledged, work == 0   then: upstream -= 1 at the far end of every out-edge
//! scope complete    = upstream == 0 and no instance of it lives         then: upstream -= 1 at the far end of every edge out of it
//! level over        = all its vertices and scopes complete              then: one instance less lives; of a loop, the next one is fed
//! ```
//!
//! The root's level over is the query's end. A narrow scope's instance lives on one executor; inside it nothing is counted here (`ends`):
//! it is one piece of work of the scope, from its opening to its end. So tracking inside and outside a scope are kept apart (Banyan,
//! section 3.2), and ingress and egress may run in parallel (section 4.4).
//!
//! Invariant: a message is counted at its receiver before the work that sent it is taken off at the sender, and an instance is counted
//! before the work that opened it is over. So once `upstream` is zero, `pending` only falls, and the first observer of all zeros (all
//! accesses are sequentially consistent, and each decrement is followed by a look) wins the one compare-and-swap. An operator that
//! appears on an executor while another declares a port exhausted is caught by two flags written before either is read: `exhausted`
//! here, `present` there. `tests/protocol.rs` goes through all interleavings of small graphs.

use crate::Message;
use crate::graphs::graph::Crossing;
use crate::queries::level::{Account, Level, MemberProgress, ScopeProgress};
use crate::queries::links::{Command, Shared};
use crate::queries::query::QueryShared;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

impl<M: Message> QueryShared<M> {
    /// A piece of work is over.
    pub(crate) fn settle(self: &Shared<M>, level: &Arc<Level>, number: usize, account: Account) {
        let vertex = level.vertex(self.graph.vertices[number].place);
        match account {
            Account::Port(port) => {
                if vertex.ports[port].pending.fetch_sub(1, SeqCst) == 1 {
                    self.look_exhausted(level, number, port);
                }
            }
            Account::Work => {
                if vertex.work.fetch_sub(1, SeqCst) == 1 {
                    (0..vertex.ports.len()).for_each(|port| self.look_exhausted(level, number, port));
                    self.look_complete(level, number);
                }
            }
            Account::Ack => {
                if vertex.acks.fetch_sub(1, SeqCst) == 1 {
                    self.look_complete(level, number);
                }
            }
            Account::Free => {}
        }
    }

    fn look_exhausted(self: &Shared<M>, level: &Arc<Level>, number: usize, place: usize) {
        let vertex = level.vertex(self.graph.vertices[number].place);
        let port = &vertex.ports[place];
        let over = port.upstream.load(SeqCst) == 0
            && port.pending.load(SeqCst) == 0
            && vertex.work.load(SeqCst) == 0;
        if over && port.exhausted.compare_exchange(false, true, SeqCst, SeqCst).is_ok() {
            self.announce_exhausted(level, number, place);
        }
    }

    fn announce_exhausted(self: &Shared<M>, level: &Arc<Level>, number: usize, port: usize) {
        let vertex = level.vertex(self.graph.vertices[number].place);
        if !vertex.closed.load(SeqCst) {
            for executor in (0..self.executors()).filter(|executor| vertex.present[*executor].load(SeqCst)) {
                vertex.acks.fetch_add(1, SeqCst);
                let (query, level) = (self.clone(), level.clone());
                self.links.post(executor, Command::Exhausted { query, level, vertex: number, port });
            }
        }
        let last = vertex.ports_left.fetch_sub(1, SeqCst) == 1;
        let wanted = self.graph.vertices[number].options.create_if_empty && vertex.made.load(SeqCst) == 0;
        if last && wanted && !vertex.closed.load(SeqCst) {
            vertex.acks.fetch_add(1, SeqCst);
            let (query, level) = (self.clone(), level.clone());
            self.links.post(self.home, Command::CreateEmpty { query, level, vertex: number });
        }
        self.settle(level, number, Account::Ack);
    }

    fn look_complete(self: &Shared<M>, level: &Arc<Level>, number: usize) {
        let vertex = level.vertex(self.graph.vertices[number].place);
        let over = vertex.acks.load(SeqCst) == 0 && vertex.work.load(SeqCst) == 0;
        if !over || vertex.complete.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
            return;
        }
        for edge in self.graph.vertices[number].outputs.iter().flatten() {
            match self.graph.edges[*edge].crossing {
                Crossing::Inside => self.feeder_complete(level, *edge),
                Crossing::Enter(scope) => self.entry_complete(level, scope),
                // The scope as a whole is complete, or the iteration over, before that ends a stream.
                Crossing::Leave | Crossing::Back => {}
            }
        }
        self.member_complete(level);
    }

    /// One of the vertices that send into a scope is complete.
    fn entry_complete(self: &Shared<M>, level: &Arc<Level>, scope: usize) {
        let there = &self.graph.scopes[scope];
        if level.member_scope(there.place).upstream.fetch_sub(1, SeqCst) != 1 {
            return;
        }
        // Whoever opens the last instance was counted until then, so none is missed.
        if there.wide {
            let first = level.member_scope(there.place).instances.lock().get(&1).cloned();
            if let Some(first) = first.filter(|_| there.is_loop()) {
                self.feed(&first);
            }
        } else {
            for executor in level.present() {
                let (query, level) = (self.clone(), level.clone());
                self.links.post(executor, Command::Entered { query, level, scope });
            }
        }
        self.look_scope(level, scope);
    }

    /// The sender on this edge is complete.
    pub(crate) fn feeder_complete(self: &Shared<M>, level: &Arc<Level>, edge: usize) {
        let edge = &self.graph.edges[edge];
        let vertex = level.vertex(self.graph.vertices[edge.to].place);
        if vertex.ports[edge.port].upstream.fetch_sub(1, SeqCst) == 1 {
            self.look_exhausted(level, edge.to, edge.port);
        }
    }

    /// A turn is over.
    pub(crate) fn let_go(self: &Shared<M>) {
        self.member_complete(&self.root);
    }

    fn member_complete(self: &Shared<M>, level: &Arc<Level>) {
        if level.open.fetch_sub(1, SeqCst) == 1 {
            match &level.parent {
                None => drop(self.stop(None)),
                Some(parent) => self.level_over(level, parent),
            }
        }
    }

    /// A wide instance is over, on all executors.
    fn level_over(self: &Shared<M>, level: &Arc<Level>, parent: &Arc<Level>) {
        let there = &self.graph.scopes[level.scope];
        let scope = parent.member_scope(there.place);
        let number = level.tag.number();
        let next = {
            let mut instances = scope.instances.lock();
            instances.remove(&number);
            if let Some(earliest) = instances.keys().next() {
                scope.earliest.store(*earliest, SeqCst);
            }
            instances.get(&(number + 1)).filter(|_| there.is_loop()).cloned()
        };
        self.scope_stats[level.scope].ended.fetch_add(u64::from(!level.cancelled.load(SeqCst)), SeqCst);
        for executor in level.present() {
            self.links.post(executor, Command::Over { query: self.clone(), level: level.clone() });
        }
        if let Some(next) = next {
            // Not from here: an iteration without work is over at once, and so may the thousands after it.
            self.links.post(self.home, Command::Feed { query: self.clone(), level: next });
        }
        self.instance_gone(parent, level.scope);
        self.unblock();
    }

    /// A wide iteration gets nothing more, neither from outside nor from the iteration before.
    pub(crate) fn feed(self: &Shared<M>, level: &Arc<Level>) {
        let scope = &self.graph.scopes[level.scope];
        scope.entries.iter().chain(&scope.backs).for_each(|edge| self.feeder_complete(level, *edge));
    }

    /// An instance of a scope within a level is over.
    pub(crate) fn instance_gone(self: &Shared<M>, level: &Arc<Level>, scope: usize) {
        if level.member_scope(self.graph.scopes[scope].place).live.fetch_sub(1, SeqCst) == 1 {
            self.look_scope(level, scope);
        }
    }

    fn look_scope(self: &Shared<M>, level: &Arc<Level>, number: usize) {
        let scope = level.member_scope(self.graph.scopes[number].place);
        let over = scope.upstream.load(SeqCst) == 0 && scope.live.load(SeqCst) == 0;
        if over && scope.complete.compare_exchange(false, true, SeqCst, SeqCst).is_ok() {
            self.graph.scopes[number].exits.iter().for_each(|edge| self.feeder_complete(level, *edge));
            self.member_complete(level);
        }
    }

    /// A new instance of a wide branch scope within a level, opened by `vertex`.
    pub(crate) fn open_level(
        self: &Shared<M>,
        parent: &Arc<Level>,
        scope: usize,
        number: u32,
        rank: u64,
    ) -> Arc<Level> {
        let there = parent.member_scope(self.graph.scopes[scope].place);
        let mut instances = there.instances.lock();
        self.add_level(parent, there, &mut instances, scope, number, rank)
    }

    /// An iteration of a wide loop, made if need be; none if the loop was finished early.
    pub(crate) fn iteration(
        self: &Shared<M>,
        parent: &Arc<Level>,
        scope: usize,
        number: u32,
    ) -> Option<Arc<Level>> {
        let place = self.graph.scopes[scope].place;
        let there = parent.member_scope(place);
        let mut instances = there.instances.lock();
        if parent.is_finished(place) {
            return None;
        }
        let found = instances.get(&number).cloned();
        Some(found.unwrap_or_else(|| self.add_level(parent, there, &mut instances, scope, number, 0)))
    }

    fn add_level(
        self: &Shared<M>,
        parent: &Arc<Level>,
        there: &ScopeProgress,
        instances: &mut BTreeMap<u32, Arc<Level>>,
        scope: usize,
        tag_number: u32,
        rank: u64,
    ) -> Arc<Level> {
        there.live.fetch_add(1, SeqCst);
        self.scope_stats[scope].opened.fetch_add(1, SeqCst);
        let number = self.level_next.fetch_add(1, SeqCst);
        let tag = parent.tag.child(tag_number);
        let level = Level::new(&self.graph, number, scope, tag, rank, Some(parent.clone()), self.executors());
        if there.closed.load(SeqCst) {
            self.mark_cancelled(&level);
        }
        instances.insert(tag_number, level.clone());
        level
    }

    /// A limit was reached at this vertex.
    pub(crate) fn close_inputs(self: &Shared<M>, level: &Arc<Level>, number: usize) {
        let there = &self.graph.vertices[number];
        if level.vertex(there.place).inputs_closed.swap(true, SeqCst) {
            return;
        }
        there.closes.iter().for_each(|place| self.close_member(level, *place));
        self.post_closed(level);
    }

    /// A wide instance is finished: its work on all executors is dropped, and settled like work that was done.
    pub(crate) fn cancel_level(self: &Shared<M>, level: &Arc<Level>) {
        if self.mark_cancelled(level) {
            self.post_closed(level);
        }
    }

    fn mark_cancelled(self: &Shared<M>, level: &Arc<Level>) -> bool {
        if level.cancelled.swap(true, SeqCst) {
            return false;
        }
        self.scope_stats[level.scope].cancelled.fetch_add(1, SeqCst);
        (0..level.members.len()).for_each(|place| self.close_member(level, place));
        true
    }

    /// All instances of a wide loop are finished, and none follows.
    pub(crate) fn finish_scope(self: &Shared<M>, parent: &Arc<Level>, scope: usize) {
        let there = &self.graph.scopes[scope];
        let progress = parent.member_scope(there.place);
        let live: Vec<Arc<Level>> = {
            let instances = progress.instances.lock();
            progress.finished.store(there.is_loop(), SeqCst);
            instances.values().cloned().collect()
        };
        live.iter().for_each(|level| self.cancel_level(level));
    }

    fn close_member(self: &Shared<M>, level: &Arc<Level>, place: usize) {
        match &level.members[place] {
            MemberProgress::Vertex(vertex) => vertex.closed.store(true, SeqCst),
            MemberProgress::Scope(scope) => {
                let live: Vec<Arc<Level>> = {
                    let instances = scope.instances.lock();
                    scope.closed.store(true, SeqCst);
                    instances.values().cloned().collect()
                };
                live.iter().for_each(|level| self.cancel_level(level));
            }
        }
    }

    /// Tells every executor that holds the instance that some of its members were closed.
    fn post_closed(self: &Shared<M>, level: &Arc<Level>) {
        for executor in level.present() {
            self.links.post(executor, Command::Closed { query: self.clone(), level: level.clone() });
        }
    }
}
