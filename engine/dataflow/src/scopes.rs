//! The ends of scope instances: tokens that travel behind the data.
//!
//! Inside a scope all edges are local and in order. When the ingress ends instance `t` on an output, a token goes down that edge; a
//! vertex that has the token on all its in-edges will get no more input for `t`: its instance, if it ever came to be, gets
//! `on_instance_end` behind its last message and is dropped, and the token goes on down all its out-edges. A vertex without an instance
//! for `t` passes the token on at once (the paper: end-of-stream on behalf of operators that were never created).
//!
//! An ingress that leaves instances open has them ended for it once it has had all its input.
//!
//! The end of an enclosing instance `u` takes the same way through inner scopes, and leaves a vertex once the last instance within `u`
//! is gone from it. A token never leaves the scope its instance belongs to.

use crate::instance::Item;
use crate::local::LocalQuery;
use crate::progress::Account;
use crate::{Message, Tag};
use std::collections::HashMap;

#[derive(Default)]
pub(crate) struct Ends {
    /// In-edges that the token of a tag has come on, as a set.
    arrived: HashMap<(usize, Tag), u64>,
    /// Ends of enclosing instances that wait for inner instances of a vertex to go.
    waiting: Vec<(usize, Tag)>,
}

impl<M: Message> LocalQuery<M> {
    /// The token of `tag` comes to `vertex` on one of its in-edges.
    pub(crate) fn end_arrives(&mut self, vertex: usize, in_place: usize, tag: Tag) {
        if self.shared.progress.refuses(vertex) {
            return;
        }
        let edges = self.shared.graph.vertices[vertex].in_edges.len();
        let all = if edges == 64 { u64::MAX } else { (1 << edges) - 1 };
        let arrived = self.ends.arrived.entry((vertex, tag)).or_insert(0);
        *arrived |= 1 << in_place;
        if *arrived == all {
            self.ends.arrived.remove(&(vertex, tag));
            self.end_complete(vertex, tag);
        } else if let Some(slot) = self.scoped[vertex].get(&tag).copied()
            && self.lower_ports_ended(vertex, tag)
        {
            self.instance(slot).open_gate();
            self.make_ready(slot);
        }
    }

    /// True if all ports below the vertex's `port_order` have the token.
    pub(crate) fn lower_ports_ended(&self, vertex: usize, tag: Tag) -> bool {
        let arrived = self.ends.arrived.get(&(vertex, tag)).copied().unwrap_or(0);
        let graph = &self.shared.graph;
        let order = graph.vertices[vertex].options.port_order;
        let mut lower = graph.vertices[vertex].in_edges.iter().map(|edge| &graph.edges[*edge]);
        lower.all(|edge| edge.port >= order || arrived & (1 << edge.in_place) != 0)
    }

    fn end_complete(&mut self, vertex: usize, tag: Tag) {
        let (depth, create) = {
            let vertex = &self.shared.graph.vertices[vertex];
            (vertex.depth, vertex.options.create_if_empty)
        };
        if tag.depth() < depth {
            if self.scoped[vertex].keys().any(|inner| tag.encloses(*inner)) {
                self.ends.waiting.push((vertex, tag));
            } else {
                self.forward_end(vertex, tag);
            }
        } else if create || self.scoped[vertex].contains_key(&tag) {
            let slot = self.find_or_make(vertex, tag);
            self.push_end(slot);
        } else {
            self.forward_end(vertex, tag);
        }
    }

    pub(crate) fn push_end(&mut self, slot: usize) {
        let instance = self.instance(slot);
        if instance.ending {
            return;
        }
        instance.ending = true;
        instance.open_gate();
        instance.inbox.push_back(Item::End);
        let vertex = instance.head.vertex;
        self.shared.progress.begin(vertex, Account::Work);
        self.make_ready(slot);
    }

    fn forward_end(&mut self, vertex: usize, tag: Tag) {
        let shared = self.shared.clone();
        for edge in shared.graph.vertices[vertex].outputs.iter().flatten() {
            let edge = &shared.graph.edges[*edge];
            if tag.depth() <= shared.graph.vertices[edge.to].depth {
                self.end_arrives(edge.to, edge.in_place, tag);
            }
        }
    }

    /// An instance inside a scope is gone: its token, and those that waited for it, go on.
    pub(crate) fn instance_gone(&mut self, vertex: usize, tag: Tag) {
        self.forward_end(vertex, tag);
        let free = |ends: &Ends, scoped: &HashMap<Tag, usize>| {
            ends.waiting.iter().position(|(waits, outer)| {
                *waits == vertex && outer.encloses(tag) && !scoped.keys().any(|inner| outer.encloses(*inner))
            })
        };
        while let Some(place) = free(&self.ends, &self.scoped[vertex]) {
            let (_, outer) = self.ends.waiting.remove(place);
            self.forward_end(vertex, outer);
        }
    }

    /// An ingress has had all its input: what it left open ends now.
    pub(crate) fn end_left_open(&mut self, open: &mut Vec<(usize, Tag)>) {
        for (edge, tag) in std::mem::take(open) {
            let edge = &self.shared.graph.edges[edge];
            let (to, in_place) = (edge.to, edge.in_place);
            self.end_arrives(to, in_place, tag);
        }
    }
}
