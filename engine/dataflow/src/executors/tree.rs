//! The scope instances of one query on one executor, and which of them have work.
//!
//! ```text
//!  node 0: the whole query
//!   ├─ seat: vertex      a station: its operator and mailbox
//!   └─ seat: scope       its live instances ─ node: an instance
//!                                             ├─ seat: vertex ...
//! ```
//!
//! A node is what the paper calls a scope operator's instance: it seats an operator for each vertex of its scope and a crowd of instances
//! for each inner scope. The rule that ties the levels together: a seat is ready if its operator is, or if any instance of its crowd has
//! a ready seat. So the next operator is found from the root down, one policy a level.
//!
//! Cost: an instance is found by the handle in its tag, an iteration of a loop by a link from the one before, one in a queue leaves it by
//! its own links; nothing is hashed. Nodes are used again with their seats, stations and operators. After "Banyan", sections 4.2 and 4.3.

use crate::Message;
use crate::executors::ready::{Link, Links, NO_NODE, Order, ReadyInstances, ReadySeats};
use crate::executors::station::Station;
use crate::graphs::graph::{Inner, Scope};
use crate::graphs::policy::{InterPolicy, IntraPolicy};
use crate::queries::level::Level;
use crate::terms::limits::SPARE_NODES_MAX;
use crate::terms::message::Tag;
use std::sync::Arc;

/// The node of the whole query.
pub(crate) const ROOT: usize = 0;

/// Where an operator sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) node: usize,
    pub(crate) place: usize,
}

/// The seat of one member of the scope in one instance.
pub(crate) struct Seat<M: Message> {
    /// Of a vertex; taken out during a call. One that is not `occupied` waits for the next instance.
    pub(crate) station: Option<Box<Station<M>>>,
    pub(crate) occupied: bool,
    /// It has had all its input and is gone, or was never there.
    pub(crate) done: bool,
    /// Closed by a limit: incoming messages are dropped.
    pub(crate) closed: bool,
    /// It is a limit that takes no more.
    pub(crate) refuses: bool,
    /// In-edges (of an inner scope: entries) that the instance's end has come on, as a set.
    pub(crate) arrived: u64,
    /// The live instances of an inner scope.
    pub(crate) crowd: Option<Box<Crowd>>,
}

/// The live instances of one scope within one instance of its parent.
pub(crate) struct Crowd {
    pub(crate) members: Vec<u32>,
    pub(crate) ready: ReadyInstances,
    /// No more comes in from outside.
    pub(crate) entered: bool,
    /// Of a loop: the first iteration.
    first: u32,
}

pub(crate) struct Node<M: Message> {
    pub(crate) scope: usize,
    pub(crate) tag: Tag,
    pub(crate) parent: usize,
    /// The last element of the tag.
    pub(crate) number: u32,
    pub(crate) rank: u64,
    pub(crate) live: bool,
    /// Of an instance that spans executors: its shared state.
    pub(crate) level: Option<Arc<Level>>,
    /// Of a narrow one: the seat of the outermost narrow instance around it, in the instance that spans executors.
    pub(crate) around: At,
    pub(crate) seats: Vec<Seat<M>>,
    pub(crate) ready: ReadySeats,
    /// Seats that are not done.
    left: usize,
    /// Its place in the crowd.
    member: usize,
    /// Of a loop: the next iteration.
    next: u32,
    link: Link,
}

pub(crate) struct Tree<M: Message> {
    nodes: Vec<Node<M>>,
    /// Nodes to use again, by scope: their seats fit.
    free: Vec<Vec<u32>>,
}

impl<M: Message> Links for Vec<Node<M>> {
    fn link(&mut self, node: u32) -> &mut Link {
        &mut self[node as usize].link
    }
    fn after(&self, node: u32) -> u32 {
        self[node as usize].link.after()
    }
}

impl<M: Message> Seat<M> {
    fn new(inner: Inner, scopes: &[Scope]) -> Seat<M> {
        let crowd = match inner {
            Inner::Vertex(_) => None,
            Inner::Scope(scope) => Some(Box::new(Crowd::new(&scopes[scope].options.inter))),
        };
        Seat { station: None, occupied: false, done: false, closed: false, refuses: false, arrived: 0, crowd }
    }
    fn reset(&mut self) {
        (self.arrived, self.done, self.closed, self.refuses) = (0, false, false, false);
        if let Some(crowd) = &mut self.crowd {
            crowd.entered = false;
            crowd.first = NO_NODE;
            crowd.members.clear();
            crowd.ready.clear();
        }
    }
}

impl Crowd {
    fn new(policy: &InterPolicy) -> Crowd {
        Crowd { members: Vec::new(), ready: ReadyInstances::new(policy), entered: false, first: NO_NODE }
    }
}

#[inline]
fn named(node: u32) -> Option<usize> {
    (node != NO_NODE).then_some(node as usize)
}

impl<M: Message> Tree<M> {
    pub(crate) fn new(scopes: &[Scope], root: &Arc<Level>) -> Tree<M> {
        let free = scopes.iter().map(|_| Vec::new()).collect();
        let mut tree = Tree { nodes: Vec::new(), free };
        tree.add(scopes, 0, Tag::ROOT, ROOT, 0, 0);
        tree.set_level(ROOT, root);
        tree
    }

    /// The instance spans executors.
    pub(crate) fn set_level(&mut self, node: usize, level: &Arc<Level>) {
        self.nodes[node].level = Some(level.clone());
    }
    #[inline]
    pub(crate) fn node(&self, node: usize) -> &Node<M> {
        &self.nodes[node]
    }
    #[inline]
    pub(crate) fn seat(&mut self, at: At) -> &mut Seat<M> {
        &mut self.nodes[at.node].seats[at.place]
    }
    /// True if an operator, or its mailbox, is there.
    #[inline]
    pub(crate) fn is_occupied(&self, at: At) -> bool {
        self.nodes[at.node].seats[at.place].occupied
    }
    /// The station there, which is not in a call.
    #[inline]
    pub(crate) fn station(&mut self, at: At) -> &mut Station<M> {
        let seat = &mut self.nodes[at.node].seats[at.place];
        debug_assert!(seat.occupied, "asked for an operator that is not there");
        seat.station.as_mut().expect("an occupied seat outside a call has its station")
    }
    #[inline]
    pub(crate) fn crowd(&self, node: usize, place: usize) -> &Crowd {
        self.nodes[node].seats[place].crowd.as_deref().expect("the seat is a scope's")
    }
    #[inline]
    fn crowd_mut(&mut self, node: usize, place: usize) -> &mut Crowd {
        self.nodes[node].seats[place].crowd.as_deref_mut().expect("the seat is a scope's")
    }
    pub(crate) fn mark_entered(&mut self, node: usize, place: usize) {
        self.crowd_mut(node, place).entered = true;
    }

    /// The node of an instance, if it is still the same: a number is given to only one instance of a branch scope.
    #[inline]
    pub(crate) fn find(&self, node: u32, number: u32) -> Option<usize> {
        let there = self.nodes.get(node as usize)?;
        (there.live && there.number == number).then_some(node as usize)
    }
    /// The first iteration of a loop within `parent`.
    #[inline]
    pub(crate) fn first(&self, parent: usize, place: usize) -> Option<usize> {
        named(self.crowd(parent, place).first)
    }
    /// The iteration after this one.
    #[inline]
    pub(crate) fn next(&self, node: usize) -> Option<usize> {
        named(self.nodes[node].next)
    }

    /// A new instance of a scope within the instance `parent` of the enclosing one. Of a loop: its first iteration.
    pub(crate) fn open(
        &mut self,
        scopes: &[Scope],
        parent: usize,
        scope: usize,
        number: u32,
        rank: u64,
    ) -> usize {
        let tag = self.nodes[parent].tag.child(number);
        let node = self.add(scopes, scope, tag, parent, number, rank);
        let crowd = self.crowd_mut(parent, scopes[scope].place);
        let member = crowd.members.len();
        crowd.members.push(node as u32);
        if scopes[scope].is_loop() && number == 1 {
            crowd.first = node as u32;
        }
        self.nodes[node].member = member;
        node
    }

    /// The iteration after `node` begins.
    pub(crate) fn open_next(&mut self, scopes: &[Scope], node: usize) -> usize {
        let Node { scope, parent, number, .. } = self.nodes[node];
        let next = self.open(scopes, parent, scope, number + 1, 0);
        self.nodes[node].next = next as u32;
        next
    }

    fn add(
        &mut self,
        scopes: &[Scope],
        scope: usize,
        tag: Tag,
        parent: usize,
        number: u32,
        rank: u64,
    ) -> usize {
        let members = &scopes[scope].members;
        let around = match self.nodes.get(parent) {
            Some(around) if around.level.is_none() => around.around,
            _ => At { node: parent, place: scopes[scope].place },
        };
        let ordered = !matches!(scopes[scope].options.intra, IntraPolicy::Fifo);
        let at = match self.free[scope].pop() {
            Some(at) => at as usize,
            None => {
                let seats = members.iter().map(|member| Seat::new(*member, scopes)).collect();
                let (ready, left, member) = (ReadySeats::default(), 0, 0);
                let (live, next, link, level) = (true, NO_NODE, Link::NONE, None);
                self.nodes.push(Node {
                    scope,
                    tag,
                    parent,
                    number,
                    rank,
                    live,
                    level,
                    around,
                    seats,
                    ready,
                    left,
                    member,
                    next,
                    link,
                });
                self.nodes.len() - 1
            }
        };
        let node = &mut self.nodes[at];
        node.seats.iter_mut().for_each(Seat::reset);
        node.ready.reset(members.len(), ordered);
        (node.tag, node.parent, node.number, node.rank) = (tag.at_node(at as u32), parent, number, rank);
        (node.left, node.live, node.next, node.around) = (members.len(), true, NO_NODE, around);
        at
    }

    /// Takes an instance without operators and inner instances out of the tree. The next iterations of a loop stay.
    pub(crate) fn remove(&mut self, scopes: &[Scope], node: usize) {
        let Node { scope, parent, member, .. } = self.nodes[node];
        let place = scopes[scope].place;
        if !self.nodes[node].ready.is_empty() {
            self.withdraw(scopes, node);
        }
        let crowd = self.crowd_mut(parent, place);
        crowd.members.swap_remove(member);
        if crowd.first == node as u32 {
            crowd.first = NO_NODE;
        }
        if let Some(moved) = crowd.members.get(member).copied() {
            self.nodes[moved as usize].member = member;
        }
        self.nodes[node].live = false;
        self.nodes[node].level = None;
        self.free[scope].push(node as u32);
        if self.free[scope].len() > SPARE_NODES_MAX {
            self.nodes[node].seats.iter_mut().for_each(|seat| seat.station = None);
        }
    }

    /// Drops some nodes of a query that has ended; true if more are left.
    pub(crate) fn drop_some(&mut self, nodes_max: usize) -> bool {
        let from = self.nodes.len().saturating_sub(nodes_max);
        let seats = self.nodes[from..].iter_mut().flat_map(|node| &mut node.seats);
        let mut operators = seats.filter_map(|seat| seat.station.as_mut()?.operator.as_mut());
        if operators.any(|operator| operator.drop_some()) {
            return true;
        }
        self.nodes.truncate(from);
        !self.nodes.is_empty()
    }

    /// A seat is done; true if it was the last of its instance.
    #[inline]
    pub(crate) fn finish_seat(&mut self, at: At) -> bool {
        let node = &mut self.nodes[at.node];
        node.seats[at.place].done = true;
        node.left -= 1;
        node.left == 0
    }

    /// A seat has something to do, and so have those around it.
    #[inline]
    pub(crate) fn set_ready(&mut self, scopes: &[Scope], at: At) {
        let At { mut node, mut place } = at;
        loop {
            let here = &mut self.nodes[node];
            let was_empty = here.ready.is_empty();
            let added = here.ready.insert(&scopes[here.scope], place);
            if !added || !was_empty || node == ROOT {
                return;
            }
            let Node { scope, parent, .. } = self.nodes[node];
            place = scopes[scope].place;
            self.announce(parent, place, node);
            node = parent;
        }
    }

    /// Changes the queue of a crowd; false if its order is another.
    #[inline]
    fn with_queue(
        &mut self,
        parent: usize,
        place: usize,
        change: impl FnOnce(&mut crate::executors::ready::Queue, &mut Vec<Node<M>>),
    ) -> bool {
        let Order::Queue(mut queue) = self.crowd(parent, place).ready.0 else { return false };
        change(&mut queue, &mut self.nodes);
        self.crowd_mut(parent, place).ready.0 = Order::Queue(queue);
        true
    }

    #[inline]
    fn announce(&mut self, parent: usize, place: usize, node: usize) {
        if !self.with_queue(parent, place, |queue, nodes| queue.push_back(nodes, node as u32)) {
            let Node { tag, rank, .. } = self.nodes[node];
            self.crowd_mut(parent, place).ready.insert(node as u32, tag, rank);
        }
    }

    /// A seat has nothing to do now, and maybe those around it neither.
    #[inline]
    pub(crate) fn set_idle(&mut self, scopes: &[Scope], at: At) {
        let here = &mut self.nodes[at.node];
        here.ready.remove(&scopes[here.scope], at.place);
        if here.ready.is_empty() && at.node != ROOT {
            self.withdraw(scopes, at.node);
        }
    }

    /// An instance has nothing to do: its crowd forgets it.
    fn withdraw(&mut self, scopes: &[Scope], node: usize) {
        let Node { scope, tag, parent, rank, .. } = self.nodes[node];
        let place = scopes[scope].place;
        if !self.with_queue(parent, place, |queue, nodes| queue.remove(nodes, node as u32)) {
            self.crowd_mut(parent, place).ready.remove(node as u32, tag, rank);
        }
        if self.crowd(parent, place).ready.is_empty() {
            self.set_idle(scopes, At { node: parent, place });
        }
    }

    /// A seat had its turn and has more work: under a policy of turns, it and the seats around it go to the back.
    #[inline]
    pub(crate) fn rotate(&mut self, scopes: &[Scope], at: At) {
        let At { mut node, mut place } = at;
        loop {
            self.nodes[node].ready.rotate(place);
            if node == ROOT {
                return;
            }
            let Node { scope, parent, .. } = self.nodes[node];
            place = scopes[scope].place;
            self.with_queue(parent, place, |queue, nodes| {
                queue.remove(nodes, node as u32);
                queue.push_back(nodes, node as u32);
            });
            node = parent;
        }
    }

    /// The first ready instance of a crowd, in its order, that satisfies `wanted`.
    #[inline]
    pub(crate) fn find_ready<T>(
        &self,
        parent: usize,
        place: usize,
        wanted: impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        self.crowd(parent, place).ready.find(&self.nodes, wanted)
    }
}
