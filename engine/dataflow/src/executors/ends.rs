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
//! So no operator is made only to pass an end on. Instances that span executors, and the outermost level, are tracked by `progress`: there
//! one of these instances counts as one piece of work.

use crate::Message;
use crate::executors::local::QueryAccess;
use crate::executors::station::{Item, Opened};
use crate::executors::tree::At;
use crate::graphs::graph::{Crossing, Inner};

impl<M: Message> QueryAccess<'_, M> {
    /// A new instance of a narrow scope within an instance of its parent.
    pub(crate) fn open_node(&mut self, parent: usize, scope: usize, number: u32, rank: u64) -> usize {
        self.count_opened(parent, scope);
        self.local.tree.open(&self.shared.graph.scopes, parent, scope, number, rank)
    }

    fn count_opened(&mut self, parent: usize, scope: usize) {
        self.local.tally.scope(scope).opened += 1;
        if let Some(level) = self.level(parent) {
            level.instance_opened(self.shared.graph.scopes[scope].place);
        }
    }

    /// The first iteration of a loop, made if need be; none if the loop was finished early.
    pub(crate) fn first_iteration(&mut self, parent: usize, scope: usize) -> Option<usize> {
        let place = self.shared.graph.scopes[scope].place;
        if self.takes_no_iteration(parent, scope) {
            return None;
        }
        let first = self.local.tree.first(parent, place);
        Some(first.unwrap_or_else(|| self.open_node(parent, scope, 1, 0)))
    }

    /// The iteration after this one, made if need be; none if the loop was finished early.
    pub(crate) fn next_iteration(&mut self, node: usize) -> Option<usize> {
        let here = self.local.tree.node(node);
        let (parent, scope) = (here.parent, here.scope);
        if self.takes_no_iteration(parent, scope) {
            return None;
        }
        Some(self.local.tree.next(node).unwrap_or_else(|| {
            self.count_opened(parent, scope);
            self.local.tree.open_next(&self.shared.graph.scopes, node)
        }))
    }

    fn takes_no_iteration(&self, parent: usize, scope: usize) -> bool {
        let place = self.shared.graph.scopes[scope].place;
        self.local.tree.node(parent).seats[place].refuses
            || self.level(parent).is_some_and(|level| level.is_finished(place))
    }

    /// A token comes to a member of `node` on its in-edge (of a scope: its entry) number `arrival`.
    fn end_arrives(&mut self, node: usize, inner: Inner, arrival: usize) {
        let graph = &self.shared.graph;
        let (place, edges) = match inner {
            Inner::Vertex(vertex) => (graph.vertices[vertex].place, graph.vertices[vertex].in_edges.len()),
            Inner::Scope(scope) => (graph.scopes[scope].place, graph.scopes[scope].entries.len()),
        };
        let at = At { node, place };
        let seat = self.local.tree.seat(at);
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
            && self.local.tree.is_occupied(at)
            && self.lower_ports_ended(vertex, node)
        {
            self.local.tree.station(at).open_gate();
            self.make_ready(at);
        }
    }

    /// True if all ports below the vertex's `port_order` have the token.
    pub(crate) fn lower_ports_ended(&self, vertex: usize, node: usize) -> bool {
        let there = &self.shared.graph.vertices[vertex];
        let arrived = self.local.tree.node(node).seats[there.place].arrived;
        let mut edges = there.in_edges.iter().map(|edge| &self.shared.graph.edges[*edge]);
        edges.all(|edge| edge.port >= there.options.port_order || arrived & (1 << edge.in_place) != 0)
    }

    /// A vertex has had all its input in this instance.
    fn vertex_fed(&mut self, node: usize, vertex: usize) {
        let there = &self.shared.graph.vertices[vertex];
        let at = At { node, place: there.place };
        if !there.options.create_if_empty && !self.local.tree.is_occupied(at) {
            return self.seat_done(at);
        }
        let station = self.station(vertex, node);
        if !std::mem::replace(&mut station.ending, true) {
            station.open_gate();
            station.inbox.push_back(Item::End);
            self.make_ready(at);
        }
    }

    /// An inner scope gets nothing more from outside in this instance.
    pub(crate) fn scope_fed(&mut self, node: usize, scope: usize) {
        let place = self.shared.graph.scopes[scope].place;
        self.local.tree.mark_entered(node, place);
        if let Some(first) = self.local.tree.first(node, place) {
            self.instance_fed(first);
        } else {
            self.look_emptied(node, scope);
        }
    }

    /// Tells iterations that they have had all their input. Done at the end of a step rather than where it is found out, because an
    /// iteration with nothing to do ends at once, and so may the thousands after it.
    pub(crate) fn feed_iterations(&mut self) {
        while let Some(node) = self.local.fed.pop() {
            self.instance_fed(node);
        }
    }

    /// A loop's iteration gets nothing more, neither from outside nor from the iteration before.
    fn instance_fed(&mut self, node: usize) {
        let graph = &self.shared.graph;
        let scope = &graph.scopes[self.local.tree.node(node).scope];
        for edge in scope.entries.iter().chain(&scope.backs) {
            let edge = &graph.edges[*edge];
            self.end_arrives(node, Inner::Vertex(edge.to), edge.in_place);
        }
    }

    /// If no instance of an inner scope is left and none can come, its seat is done.
    fn look_emptied(&mut self, node: usize, scope: usize) {
        let place = self.shared.graph.scopes[scope].place;
        let crowd = self.local.tree.crowd(node, place);
        if self.level(node).is_none() && crowd.entered && crowd.members.is_empty() {
            self.seat_done(At { node, place });
        }
    }

    /// A seat is done: sends its tokens, or ends its instance.
    ///
    /// The instance cannot go away before the last token is on its way, because the receiver of that token is not done.
    pub(crate) fn seat_done(&mut self, at: At) {
        let node = at.node;
        if self.local.tree.seat(at).done {
            return;
        }
        if self.local.tree.finish_seat(at) {
            self.local.tally.scope(self.local.tree.node(node).scope).ended += 1;
            return self.instance_done(node);
        }
        let graph = &self.shared.graph;
        match self.member(at) {
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
        let there = self.local.tree.node(node);
        let (scope, parent) = (there.scope, there.parent);
        let next = self.local.tree.next(node);
        self.remove_node(node);
        match next {
            Some(next) => self.local.fed.push(next),
            None => self.look_emptied(parent, scope),
        }
    }

    /// Takes an instance with nothing in it off the books.
    pub(crate) fn remove_node(&mut self, node: usize) {
        let there = self.local.tree.node(node);
        let (scope, parent) = (there.scope, there.parent);
        self.local.fed.retain(|fed| *fed != node);
        self.local.tree.remove(&self.shared.graph.scopes, node);
        if let Some(level) = self.level(parent) {
            self.shared.instance_gone(level, scope);
        }
    }

    /// The ingress says that an instance it opened gets nothing more on this edge.
    pub(crate) fn end_entry(&mut self, opened: Opened) {
        let edge = &self.shared.graph.edges[opened.edge as usize];
        let Some(node) = self.local.tree.find(opened.node, opened.number) else { return };
        match self.level(node) {
            Some(level) => self.shared.feeder_complete(level, opened.edge as usize),
            None => self.end_arrives(node, Inner::Vertex(edge.to), edge.in_place),
        }
    }

    /// An ingress has had all its input: ends the instances that it left open.
    pub(crate) fn end_left_open(&mut self, at: At) {
        let mut open = std::mem::take(&mut self.local.tree.station(at).head.open);
        open.drain(..).for_each(|opened| self.end_entry(opened));
        self.local.tree.station(at).head.open = open;
    }
}
