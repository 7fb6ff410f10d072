//! The parts of a program in their order, each with its plans.

use crate::aggregate::Groups;
use crate::plan::Plan;
use datalog::RelationNo;

/// Relations that need one another, with the plans of their rules.
pub(crate) struct RulesPart {
    pub relations: Vec<RelationNo>,
    pub rules: Vec<usize>,
    /// Of rules that read no relation of the part.
    pub exits: Vec<Plan>,
    /// By relation of the program: plans that start from a fact of it, where it belongs to the part.
    pub own: Vec<Vec<Plan>>,
    /// What keeps it up to date, made when it is first needed.
    pub upkeep: Option<Upkeep>,
}

/// Plans for changes.
pub(crate) struct Upkeep {
    /// Plans that start from facts of relations before; from facts that come for negated ones, where facts go.
    pub lower: Vec<Lower>,
    /// By relation of the program: plans that find the derivations of a given fact.
    pub search: Vec<Vec<Plan>>,
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
