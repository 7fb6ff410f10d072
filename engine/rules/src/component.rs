//! The parts of a program in their order, each with its plans.

use crate::aggregate::Groups;
use crate::plan::Plan;
use datalog::RelationNo;
use hashbrown::{HashMap, HashSet};
use std::ops::Deref;

/// The relations of a part in their order, each found by one hash.
pub(crate) struct Members {
    list: Vec<RelationNo>,
    set: HashSet<RelationNo, foldhash::fast::FixedState>,
}

impl Members {
    pub fn new(list: Vec<RelationNo>) -> Members {
        Members { set: list.iter().copied().collect(), list }
    }
    pub fn contains(&self, relation: RelationNo) -> bool {
        self.set.contains(&relation)
    }
}

impl Deref for Members {
    type Target = [RelationNo];
    fn deref(&self) -> &[RelationNo] {
        &self.list
    }
}

/// Plans by relation of the program. Only relations of a part have any: a list for each of all would make thousands of parts hold millions.
#[derive(Default)]
pub(crate) struct PlansOf {
    plans: HashMap<RelationNo, Vec<Plan>, foldhash::fast::FixedState>,
}

impl PlansOf {
    pub fn push(&mut self, relation: RelationNo, plan: Plan) {
        self.plans.entry(relation).or_default().push(plan);
    }
    pub fn of(&self, relation: RelationNo) -> &[Plan] {
        self.plans.get(&relation).map_or(&[], Vec::as_slice)
    }
}

/// Relations that need one another, with the plans of their rules.
pub(crate) struct RulesPart {
    pub relations: Members,
    pub rules: Vec<usize>,
    /// Of rules that read no relation of the part.
    pub exits: Vec<Plan>,
    /// By relation of the program: plans that start from a fact of it, where it belongs to the part.
    pub own: PlansOf,
    /// Plans for maintenance, made on first need.
    pub upkeep: Option<Upkeep>,
}

/// Plans for changes.
pub(crate) struct Upkeep {
    /// Plans that start from facts of relations before; from facts that come for negated ones, where facts go.
    pub lower: Vec<Lower>,
    /// By relation of the program: plans that find the derivations of a given fact.
    pub search: PlansOf,
}

pub(crate) struct Lower {
    pub relation: RelationNo,
    pub is_negated: bool,
    pub plan: Plan,
}

pub(crate) enum Part {
    Rules(Box<RulesPart>),
    Aggregate(Groups),
}
