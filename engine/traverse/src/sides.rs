//! Side effects of a running traversal, by name. The steps that fill and read them are in `effects`.

use crate::ordered::Ordered;
use crate::step::{Body, Name, Program, Step};
use crate::subgraph::Part;
use crate::traverser::Traversers;
use foldhash::HashMap;
use gremlin::{Object, Token};

/// One side effect.
pub(crate) enum Side {
    /// A value, and the operator that combines others with it.
    Value(Object, Option<Token>),
    /// A bag under construction.
    Bag(Ordered<u64>),
    /// Groups.
    Groups(Ordered<Traversers>, Body),
    /// Counts.
    Counts(Ordered<i64>),
    /// A tree.
    Tree(Vec<(Object, Object)>),
    /// Edges with their ends.
    Graph(Box<Part>),
}

/// All of them, by name.
#[derive(Default)]
pub(crate) struct Sides {
    pub named: HashMap<Name, Side>,
}

impl Sides {
    /// Those that the source gives, and those that steps will fill, empty.
    pub fn new(given: &[(Name, Object, Option<Token>)], program: &Program) -> Sides {
        let named =
            given.iter().map(|(name, value, operator)| (name.clone(), Side::Value(value.clone(), *operator)));
        let mut sides = Sides { named: named.collect() };
        sides.announce(program);
        sides
    }
    fn announce(&mut self, program: &Program) {
        for step in &program.steps {
            let (name, side) = match step {
                Step::Aggregate { side, .. } => (side, Side::Bag(Ordered::default())),
                Step::GroupCount { side: Some(side), .. } => (side, Side::Counts(Ordered::default())),
                Step::Group { side: Some(side), grouping } => {
                    (side, Side::Groups(Ordered::default(), grouping.value.clone()))
                }
                Step::Tree { side: Some(side), .. } => (side, Side::Tree(Vec::new())),
                Step::Subgraph(side) => (side, Side::Graph(Box::default())),
                Step::Repeat(repeat) => {
                    self.announce(&repeat.body);
                    continue;
                }
                Step::Local(body) | Step::SideEffect(body) => {
                    self.announce(body);
                    continue;
                }
                _ => continue,
            };
            self.named.entry(name.clone()).or_insert(side);
        }
    }
    /// Drops a part of them; true if more is left.
    pub fn drop_some(&mut self) -> bool {
        let Some(name) = self.named.keys().next().cloned() else { return false };
        let more = match self.named.get_mut(&name) {
            Some(Side::Bag(bag)) => bag.drop_some(),
            Some(Side::Counts(counts)) => counts.drop_some(),
            Some(Side::Groups(groups, _)) => groups.drop_some(),
            _ => false,
        };
        if !more {
            self.named.remove(&name);
        }
        true
    }
}
