//! The physical plan: how each node of an optimised plan runs.
//!
//! The logical plan defines the result, as a tree. The physical plan is a table beside it: one [`PhysicalNode`] for each node, by its number in
//! pre-order ([`NodeId`]). [`lower`] fills the table once, after the rewrites; EXPLAIN shows it and `execute` follows it. Choices that depend on the
//! run are not here: the values of parameters, the number of executors, the numbers of rows.
//!
//! Invariant: the table has one entry for each node of the plan it was made for, in the numbering of [`crate::explain`]. Cost: one walk over the plan,
//! with the columns that are read of each node's rows.

mod algorithm;
pub(crate) mod columns;
pub(crate) mod driver;
mod ends;
mod lower;
pub(crate) mod scopes;

pub use algorithm::Algorithm;
pub use columns::{Columns, VarSet, carried};
pub use driver::OperatorDriver;
pub(crate) use lower::lower;

/// Number of a plan node in pre-order, inputs in the order of [`crate::Plan::children`]; 0 is the topmost.
pub type NodeId = usize;

/// How a statement's plan runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Physical {
    nodes: Vec<PhysicalNode>,
    driver: OperatorDriver,
}

/// How one node runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalNode {
    /// Which way its operator works, where there are several.
    pub algorithm: Algorithm,
    /// Columns of its rows that are read above it.
    pub columns: Columns,
    /// Do its rows stand in an order that a sort gave them?
    pub ordered: bool,
    /// All rows of one scanned vertex come to it one after the other, at one executor, unless the graph is small ([`lower`]).
    pub together: bool,
}

impl Physical {
    /// The choices for a node; none for a plan that was not lowered.
    pub fn node(&self, id: NodeId) -> Option<&PhysicalNode> {
        self.nodes.get(id)
    }
    /// Nodes of the plan.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Is it that of no plan?
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    /// The driver that runs the plan first: a pipeline is tried on the calling thread, and executors take over if it does not finish in time.
    pub fn driver(&self) -> OperatorDriver {
        self.driver
    }
    /// Are there nodes to which rows of one vertex come one after the other?
    pub fn nodes_together(&self) -> bool {
        self.nodes.iter().any(|node| node.together)
    }
    /// Does any node open a scope? Only executors run scopes.
    pub fn has_scopes(&self) -> bool {
        self.nodes.iter().any(|node| node.algorithm.opens_scope())
    }
    /// EXPLAIN's remarks on the nodes for which one of several algorithms was chosen, in order of their numbers.
    pub fn choices(&self) -> Vec<(NodeId, &'static str)> {
        let said = |(id, node): (NodeId, &PhysicalNode)| Some((id, node.algorithm.words()?));
        self.nodes.iter().enumerate().filter_map(said).collect()
    }
}
