//! The expressions that a node computes, by their columns: searched where they are few, found by a hash where they are many.

use crate::expr::{Expr, Var};
use crate::vars::FEW_MAX;
use hashbrown::HashMap;

/// The expression of each column that a node computes.
pub(crate) struct ProducedColumns<'a> {
    items: &'a [(Var, Expr)],
    /// Where each stands, if they are many.
    places: HashMap<Var, usize, foldhash::fast::FixedState>,
}

impl<'a> ProducedColumns<'a> {
    pub fn new(items: &'a [(Var, Expr)]) -> ProducedColumns<'a> {
        let mut places = HashMap::default();
        if items.len() > FEW_MAX {
            // The first counts, as where they are searched.
            places.extend(items.iter().enumerate().rev().map(|(at, (var, _))| (*var, at)))
        }
        ProducedColumns { items, places }
    }
    pub fn get(&self, var: Var) -> Option<&'a Expr> {
        let item = if self.items.len() <= FEW_MAX {
            self.items.iter().find(|(made, _)| *made == var)
        } else {
            self.places.get(&var).map(|at| &self.items[*at])
        };
        item.map(|(_, expr)| expr)
    }
}
