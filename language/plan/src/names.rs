//! The statement's table of variables while it is being planned: rewrites take fresh ones here.

use crate::expr::{Name, Var};

/// Hands out variables whose names users cannot write (they begin with a blank).
pub(crate) struct Names<'a> {
    table: &'a mut Vec<Name>,
}

impl<'a> Names<'a> {
    /// Extends this table.
    pub fn new(table: &'a mut Vec<Name>) -> Names<'a> {
        Names { table }
    }
    /// A new variable, named after its purpose.
    pub fn fresh(&mut self, what: &str) -> Var {
        let number = self.table.len() as u32;
        self.table.push(format!(" {what}{number}").into());
        Var(number)
    }
}
