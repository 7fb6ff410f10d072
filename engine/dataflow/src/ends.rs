//! The beginning and the end of scope instances: tokens that travel behind the data.
//!
//! Inside a scope all edges are local and in order. Progress is tracked for each level by itself (Banyan, sections 3.2 and 4.4): inside an
//! instance an inner scope is one seat like a vertex's.
//!
//! ```text
//! a seat has had all its input   a token came on each of its in-edges (an inner scope: on each of its entries)
//! a vertex's seat is done        then: its operator, if there ever was one, has had `on_instance_end` and is gone
//! a scope's seat is done         then: no instance of it is left in this instance
//! a seat done                    sends a token down each of its out-edges; an edge out of the scope or backward carries none
//! an instance ends               once all its seats are done; of a loop, the next iteration has then had all its input
//! ```
//!
//! So no operator is made only to pass an end on. The outermost level, which spans executors, is `progress`: there an outermost instance
//! counts as one piece of work.

use crate::graph::{Crossing, Inner};
use crate::instance::{Instance, Item};
use crate::local::LocalQuery;
use crate::tree::ROOT;
use crate::{Message, Tag};

impl<M: Message> LocalQuery<M> {
    /// A new instance of a scope within an instance of its parent.
    pub(crate) fn open_node(&mut self, parent: usize, scope: usize, number: u32, rank: u64) -> usize {
        if parent == ROOT {
            self.shared.progress.instance_opened(scope);
        }
        self.tree.open(&self.shared.graph.scopes, parent, scope, number, rank)
    }

    /// An iteration of a loop, made if need be; none if the loop was finished early.
    pub(crate) fn iteration(&mut self, parent: usize, scope: usize, number: u32) -> Option<usize> {
        let there = &self.shared.graph.scopes[scope];
        let place = there.place;
        let over = self.tree.node(parent).seats[place].refuses
            || parent == ROOT && self.shared.progress.is_scope_closed(scope);
        if over {
            return None;
        }
        let found = self.tree.find(parent, scope, number);
        Some(found.unwrap_or_else(|| self.open_node(parent, scope, number, 0)))
    }

    /// A token comes to a member of `node` on its in-edge (of a scope: its entry) number `arrival`.
    fn end_arrives(&mut self, node: usize, inner: Inner, arrival: usize) {
        let graph = &self.shared.graph;
        let (place, edges) = match inner {
            Inner::Vertex(vertex) => (graph.vertices[vertex].place, graph.vertices[vertex].in_edges.len()),
            Inner::Scope(scope) => (graph.scopes[scope].place, graph.scopes[scope].entries.len()),
        };
        let seat = self.tree.seat(node, place);
        if seat.done {
            return;
        }
        seat.arrived |= 1 << arrival;
        let all = if edges == 64 { u64::MAX } else { (1 << edges) - 1 };
        if seat.arrived == all {
            match inner {
                Inner::Vertex(vertex) => self.vertex_fed(node, vertex),
                Inner::Scope(scope) => self.scope_fed(node, scope),
            }
        } else if let Inner::Vertex(vertex) = inner
            && let Some(slot) = self.tree.slot(node, place)
            && self.lower_ports_ended(vertex, node)
        {
            self.instance(slot).open_gate();
            self.make_ready(slot);
        }
    }

    /// True if all ports below the vertex's `port_order` have the token.
    pub(crate) fn lower_ports_ended(&self, vertex: usize, node: usize) -> bool {
        let there = &self.shared.graph.vertices[vertex];
        let arrived = self.tree.node(node).seats[there.place].arrived;
        let mut edges = there.in_edges.iter().map(|edge| &self.shared.graph.edges[*edge]);
        edges.all(|edge| edge.port >= there.options.port_order || arrived & (1 << edge.in_place) != 0)
    }

    /// A vertex has had all its input in this instance.
    fn vertex_fed(&mut self, node: usize, vertex: usize) {
        let there = &self.shared.graph.vertices[vertex];
        let place = there.place;
        if there.options.create_if_empty || self.tree.slot(node, place).is_some() {
            let slot = self.find_or_make(vertex, node);
            self.push_end(slot);
        } else {
            self.seat_done(node, place);
        }
    }

    fn push_end(&mut self, slot: usize) {
        let instance = self.instance(slot);
        if !std::mem::replace(&mut instance.ending, true) {
            Instance::open_gate(instance);
            instance.inbox.push_back(Item::End);
            self.make_ready(slot);
        }
    }

    /// An inner scope gets nothing more from outside in this instance.
    pub(crate) fn scope_fed(&mut self, node: usize, scope: usize) {
        let place = self.shared.graph.scopes[scope].place;
        self.tree.mark_entered(node, place);
        let first = || self.tree.find(node, scope, 1);
        if let Some(first) = self.shared.graph.scopes[scope].is_loop().then(first).flatten() {
            self.instance_fed(first);
        } else {
            self.look_emptied(node, scope);
        }
    }

    /// A loop's iteration gets nothing more, neither from outside nor from the iteration before.
    fn instance_fed(&mut self, node: usize) {
        let shared = self.shared.clone();
        let scope = &shared.graph.scopes[self.tree.node(node).scope];
        for edge in scope.entries.iter().chain(&scope.backs) {
            let edge = &shared.graph.edges[*edge];
            self.end_arrives(node, Inner::Vertex(edge.to), edge.in_place);
        }
    }

    /// If no instance of an inner scope is left and none can come, its seat is done.
    fn look_emptied(&mut self, node: usize, scope: usize) {
        let place = self.shared.graph.scopes[scope].place;
        let crowd = self.tree.crowd(node, place);
        if node != ROOT && crowd.entered && crowd.members.is_empty() {
            self.seat_done(node, place);
        }
    }

    /// A seat is done: its tokens go on, or its instance ends.
    ///
    /// The instance cannot go away before the last token is on its way, because whoever waits for that token is not done.
    pub(crate) fn seat_done(&mut self, node: usize, place: usize) {
        if self.tree.seat(node, place).done {
            return;
        }
        if self.tree.finish_seat(node, place) {
            return self.instance_done(node);
        }
        let shared = self.shared.clone();
        let graph = &shared.graph;
        match graph.scopes[self.tree.node(node).scope].members[place] {
            Inner::Vertex(vertex) => {
                for edge in graph.vertices[vertex].outputs.iter().flatten().map(|edge| &graph.edges[*edge]) {
                    match edge.crossing {
                        Crossing::Inside => self.end_arrives(node, Inner::Vertex(edge.to), edge.in_place),
                        Crossing::Enter(scope) => {
                            self.end_arrives(node, Inner::Scope(scope), edge.entry_place)
                        }
                        Crossing::Leave | Crossing::Back => {}
                    }
                }
            }
            Inner::Scope(scope) => {
                for edge in graph.scopes[scope].exits.iter().map(|edge| &graph.edges[*edge]) {
                    self.end_arrives(node, Inner::Vertex(edge.to), edge.in_place);
                }
            }
        }
    }

    /// An instance is over; nothing sits in it any more.
    pub(crate) fn instance_done(&mut self, node: usize) {
        let there = self.tree.node(node);
        let (scope, parent, number) = (there.scope, there.parent, there.number);
        self.tree.remove(&self.shared.graph.scopes, node);
        let is_loop = self.shared.graph.scopes[scope].is_loop();
        let next = is_loop.then(|| self.tree.find(parent, scope, number + 1)).flatten();
        if parent == ROOT {
            self.shared.instance_gone(scope);
        }
        match next {
            Some(next) => self.instance_fed(next),
            None => self.look_emptied(parent, scope),
        }
    }

    /// The ingress says that an instance it opened gets nothing more on this edge.
    pub(crate) fn end_entry(&mut self, parent: usize, edge: usize, tag: Tag) {
        let shared = self.shared.clone();
        let edge = &shared.graph.edges[edge];
        let scope = shared.graph.vertices[edge.to].scope;
        if let Some(node) = self.tree.find(parent, scope, tag.number()) {
            self.end_arrives(node, Inner::Vertex(edge.to), edge.in_place);
        }
    }

    /// An ingress has had all its input: what it left open ends now.
    pub(crate) fn end_left_open(&mut self, parent: usize, open: &mut Vec<(usize, Tag)>) {
        for (edge, tag) in open.drain(..) {
            self.end_entry(parent, edge, tag);
        }
    }
}
