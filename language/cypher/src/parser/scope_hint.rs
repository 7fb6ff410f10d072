//! `USING SCOPE …`: how the sub-queries of a MATCH, or the repeated group of its pattern, run.
//!
//! ```text
//! USING SCOPE OFF [MAX n] [ROWS n]
//! USING SCOPE [FIFO | BFS | DFS | BY expression [DESC]] [WITHIN FIFO | BFS | DFS] [MAX n] [ROWS n] [WIDE]
//! ```

use super::{Parsed, Parser};
use crate::ast::{ScopeHint, ScopeOrder};
use crate::lexer::TokenKind;
use plan::scope::OperatorOrder;

impl Parser<'_> {
    /// The words behind `USING SCOPE`.
    pub(super) fn scope_hint(&mut self) -> Parsed<ScopeHint> {
        let off = self.eat_word("OFF");
        let order = if off { None } else { self.scope_order()? };
        let mut hint = ScopeHint { off, order, ..ScopeHint::default() };
        if !off && self.eat_word("WITHIN") {
            hint.within = Some(self.operator_order()?);
        }
        if self.eat_word("MAX") {
            hint.instances_max = Some(self.small_count()?);
        }
        if self.eat_word("ROWS") {
            hint.rows = Some(self.small_count()?);
        }
        hint.wide = !off && self.eat_word("WIDE");
        if hint == ScopeHint::default() {
            return Err(self.unexpected("OFF, FIFO, BFS, DFS, BY, WITHIN, MAX, ROWS or WIDE"));
        }
        Ok(hint)
    }

    fn scope_order(&mut self) -> Parsed<Option<ScopeOrder>> {
        let orders = [("FIFO", ScopeOrder::Fifo), ("BFS", ScopeOrder::Bfs), ("DFS", ScopeOrder::Dfs)];
        for (word, order) in orders {
            if self.eat_word(word) {
                return Ok(Some(order));
            }
        }
        if !self.eat_word("BY") {
            return Ok(None);
        }
        let value = self.expression()?;
        let descending = self.eat_word("DESC") || self.eat_word("DESCENDING");
        if !descending {
            self.eat_word("ASC");
        }
        Ok(Some(ScopeOrder::By(value, descending)))
    }

    fn operator_order(&mut self) -> Parsed<OperatorOrder> {
        let orders =
            [("FIFO", OperatorOrder::Fifo), ("BFS", OperatorOrder::Bfs), ("DFS", OperatorOrder::Dfs)];
        match orders.into_iter().find(|(word, _)| self.eat_word(word)) {
            Some((_, order)) => Ok(order),
            None => Err(self.unexpected("FIFO, BFS or DFS")),
        }
    }

    /// A whole number of at least 1.
    fn small_count(&mut self) -> Parsed<u32> {
        match *self.kind(0) {
            TokenKind::Integer(count @ 1..=0xffff_ffff) => {
                self.bump();
                Ok(count as u32)
            }
            _ => Err(self.unexpected("a whole number from 1 on")),
        }
    }
}
