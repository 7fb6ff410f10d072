//! The scope instances of one query on one executor, and which of them has something to do.
//!
//! ```text
//!  node 0: the whole query
//!   ├─ seat: vertex      its operator's slot
//!   └─ seat: scope       its live instances ─ node: an instance
//!                                             ├─ seat: vertex ...
//! ```
//!
//! A node is what the paper calls a scope operator's instance: it seats an operator for each vertex of its scope and a crowd of instances
//! for each inner scope. The rule that ties the levels together: a seat is ready if its operator is, or if any instance of its crowd has
//! a ready seat. So the next operator is found from the root down, one policy a level.
//!
//! Nodes are recycled with their vectors; a number and a generation name one for good. After "Banyan", sections 4.2 and 4.3.

use crate::graph::{Inner, Scope};
use crate::message::Tag;
use crate::policy::{InterPolicy, IntraPolicy};
use crate::ready::{ReadyInstances, ReadySeats};
use hashbrown::HashMap;

/// The node of the whole query.
pub(crate) const ROOT: usize = 0;

/// No operator.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// The place of one member of the scope in one instance.
pub(crate) struct Seat {
    /// The operator of a vertex.
    pub(crate) slot: u32,
    /// In-edges (of an inner scope: entries) that the instance's end has come on, as a set.
    pub(crate) arrived: u64,
    /// It has had all its input and is gone, or was never there.
    pub(crate) done: bool,
    /// A limit took it away: what comes is thrown away.
    pub(crate) closed: bool,
    /// It is a limit that takes no more.
    pub(crate) refuses: bool,
    /// The live instances of an inner scope.
    pub(crate) crowd: Option<Box<Crowd>>,
}

/// The live instances of one scope within one instance of its parent.
pub(crate) struct Crowd {
    pub(crate) members: Vec<u32>,
    pub(crate) ready: ReadyInstances,
    /// No more comes in from outside.
    pub(crate) entered: bool,
}

pub(crate) struct Node {
    pub(crate) scope: usize,
    pub(crate) tag: Tag,
    pub(crate) parent: usize,
    /// The last element of the tag.
    pub(crate) number: u32,
    pub(crate) rank: u64,
    /// Changes whenever the node is used anew.
    pub(crate) generation: u32,
    pub(crate) seats: Vec<Seat>,
    pub(crate) ready: ReadySeats,
    /// Seats that are not done.
    left: usize,
    /// Its place in the crowd.
    member: usize,
}

pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// Nodes to use again, by scope: their seats fit.
    free: Vec<Vec<u32>>,
    /// By enclosing node, scope and number.
    index: HashMap<(u32, u32, u32), u32, foldhash::fast::FixedState>,
}

impl Seat {
    fn new(inner: Inner, scopes: &[Scope]) -> Seat {
        let crowd = match inner {
            Inner::Vertex(_) => None,
            Inner::Scope(scope) => Some(Box::new(Crowd::new(&scopes[scope].options.inter))),
        };
        Seat { slot: NO_SLOT, arrived: 0, done: false, closed: false, refuses: false, crowd }
    }
    fn reset(&mut self) {
        (self.slot, self.arrived, self.done, self.closed, self.refuses) = (NO_SLOT, 0, false, false, false);
        if let Some(crowd) = &mut self.crowd {
            crowd.entered = false;
            crowd.members.clear();
            crowd.ready.clear();
        }
    }
}

impl Crowd {
    fn new(policy: &InterPolicy) -> Crowd {
        Crowd { members: Vec::new(), ready: ReadyInstances::new(policy), entered: false }
    }
}

impl Tree {
    pub(crate) fn new(scopes: &[Scope]) -> Tree {
        let free = scopes.iter().map(|_| Vec::new()).collect();
        let mut tree = Tree { nodes: Vec::new(), free, index: HashMap::default() };
        tree.add(scopes, 0, Tag::ROOT, ROOT, 0, 0);
        tree
    }

    pub(crate) fn node(&self, node: usize) -> &Node {
        &self.nodes[node]
    }
    pub(crate) fn seat(&mut self, node: usize, place: usize) -> &mut Seat {
        &mut self.nodes[node].seats[place]
    }
    pub(crate) fn slot(&self, node: usize, place: usize) -> Option<usize> {
        let slot = self.nodes[node].seats[place].slot;
        (slot != NO_SLOT).then_some(slot as usize)
    }
    pub(crate) fn crowd(&self, node: usize, place: usize) -> &Crowd {
        self.nodes[node].seats[place].crowd.as_deref().expect("the seat is a scope's")
    }
    fn crowd_mut(&mut self, node: usize, place: usize) -> &mut Crowd {
        self.nodes[node].seats[place].crowd.as_deref_mut().expect("the seat is a scope's")
    }
    pub(crate) fn mark_entered(&mut self, node: usize, place: usize) {
        self.crowd_mut(node, place).entered = true;
    }

    /// The live instance of this number in an inner scope of `parent`.
    pub(crate) fn find(&self, parent: usize, scope: usize, number: u32) -> Option<usize> {
        self.index.get(&(parent as u32, scope as u32, number)).map(|node| *node as usize)
    }

    /// A new instance of a scope within the instance `parent` of the enclosing one.
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
        let before = self.index.insert((parent as u32, scope as u32, number), node as u32);
        assert!(before.is_none(), "a number names one live instance");
        let crowd = self.crowd_mut(parent, scopes[scope].place);
        crowd.members.push(node as u32);
        self.nodes[node].member = self.crowd(parent, scopes[scope].place).members.len() - 1;
        node
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
        let ordered = !matches!(scopes[scope].options.intra, IntraPolicy::Fifo);
        let at = match self.free[scope].pop() {
            Some(at) => at as usize,
            None => {
                let seats = members.iter().map(|member| Seat::new(*member, scopes)).collect();
                let (ready, left, member) = (ReadySeats::default(), 0, 0);
                let generation = 0;
                self.nodes.push(Node {
                    scope,
                    tag,
                    parent,
                    number,
                    rank,
                    generation,
                    seats,
                    ready,
                    left,
                    member,
                });
                self.nodes.len() - 1
            }
        };
        let node = &mut self.nodes[at];
        node.seats.iter_mut().for_each(Seat::reset);
        node.ready.reset(members.len(), ordered);
        (node.tag, node.parent, node.number, node.rank) = (tag, parent, number, rank);
        node.left = members.len();
        at
    }

    /// Takes an instance without operators and inner instances out of the tree.
    pub(crate) fn remove(&mut self, scopes: &[Scope], node: usize) {
        let Node { scope, parent, number, member, .. } = self.nodes[node];
        let place = scopes[scope].place;
        if !self.nodes[node].ready.is_empty() {
            self.withdraw(scopes, node);
        }
        self.index.remove(&(parent as u32, scope as u32, number));
        let crowd = self.crowd_mut(parent, place);
        crowd.members.swap_remove(member);
        if let Some(moved) = crowd.members.get(member).copied() {
            self.nodes[moved as usize].member = member;
        }
        let node_mut = &mut self.nodes[node];
        // Whoever still names it finds that it is another.
        node_mut.generation = node_mut.generation.wrapping_add(1);
        self.free[scope].push(node as u32);
    }

    /// A seat is done; true if it was the last of its instance.
    pub(crate) fn finish_seat(&mut self, node: usize, place: usize) -> bool {
        let node = &mut self.nodes[node];
        node.seats[place].done = true;
        node.left -= 1;
        node.left == 0
    }

    /// A seat has something to do, and so have those around it.
    pub(crate) fn set_ready(&mut self, scopes: &[Scope], node: usize, place: usize) {
        let (mut node, mut place) = (node, place);
        loop {
            let was_empty = self.nodes[node].ready.is_empty();
            let here = &mut self.nodes[node];
            let added = here.ready.insert(&scopes[here.scope], place);
            if !added || !was_empty || node == ROOT {
                return;
            }
            let Node { scope, parent, .. } = self.nodes[node];
            self.announce(scopes, node);
            (node, place) = (parent, scopes[scope].place);
        }
    }

    fn announce(&mut self, scopes: &[Scope], node: usize) {
        let Node { scope, tag, parent, rank, generation, .. } = self.nodes[node];
        self.crowd_mut(parent, scopes[scope].place).ready.insert(node as u32, generation, tag, rank);
    }

    /// A seat has nothing to do now, and maybe those around it neither.
    pub(crate) fn set_idle(&mut self, scopes: &[Scope], node: usize, place: usize) {
        let here = &mut self.nodes[node];
        here.ready.remove(&scopes[here.scope], place);
        if here.ready.is_empty() && node != ROOT {
            self.withdraw(scopes, node);
        }
    }

    /// An instance has nothing to do: its crowd forgets it.
    fn withdraw(&mut self, scopes: &[Scope], node: usize) {
        let Node { scope, tag, parent, rank, generation, .. } = self.nodes[node];
        let place = scopes[scope].place;
        let crowd = self.crowd_mut(parent, place);
        crowd.ready.remove(node as u32, generation, tag, rank);
        if crowd.ready.is_empty() {
            self.set_idle(scopes, parent, place);
        }
    }

    /// A seat had its turn and has more to do: where turns are taken, it and those around it go to the back.
    pub(crate) fn rotate(&mut self, scopes: &[Scope], node: usize, place: usize) {
        let (mut node, mut place) = (node, place);
        loop {
            self.nodes[node].ready.rotate(place);
            if node == ROOT {
                return;
            }
            let Node { scope, parent, generation, .. } = self.nodes[node];
            place = scopes[scope].place;
            self.crowd_mut(parent, place).ready.rotate(node as u32, generation);
            node = parent;
        }
    }
}
