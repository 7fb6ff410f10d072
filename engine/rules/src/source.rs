//! Where the facts of the graph's relations come from; the asker owns the trait.

use crate::error::RulesError;
use datalog::GraphRelation;
use model::Value;

/// Whoever knows the facts of the graph.
pub trait Source {
    /// Can facts be had by the value of this column alone, in time proportional to their number?
    fn serves(&self, relation: &GraphRelation, column: usize) -> bool;
    /// Calls `found` with all facts of a relation, or with those that have this value in this column. A fact may come more than once, as
    /// often as the graph has it.
    ///
    /// # Errors
    /// The graph could not be read, or `found` fails.
    fn fetch(
        &self,
        relation: &GraphRelation,
        by: Option<(usize, &Value)>,
        found: &mut dyn FnMut(&[Value]) -> Result<(), RulesError>,
    ) -> Result<(), RulesError>;
}

/// A source without a graph: all its relations are empty.
pub struct NoGraph;

impl Source for NoGraph {
    fn serves(&self, _: &GraphRelation, _: usize) -> bool {
        false
    }
    fn fetch(
        &self,
        _: &GraphRelation,
        _: Option<(usize, &Value)>,
        _: &mut dyn FnMut(&[Value]) -> Result<(), RulesError>,
    ) -> Result<(), RulesError> {
        Ok(())
    }
}
