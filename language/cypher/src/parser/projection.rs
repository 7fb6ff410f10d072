//! The common part of `WITH` and `RETURN`.

use super::{Parsed, Parser};
use crate::ast::{Expression, Projection, ProjectionItem, SortItem};
use crate::lexer::TokenKind;
use text::Span;

impl Parser<'_> {
    /// `[DISTINCT] *, items ORDER BY … SKIP … LIMIT …`; the keyword that began at `start` is already taken.
    pub(super) fn projection(&mut self, start: Span) -> Parsed<Projection> {
        let distinct = self.is_word(0, "DISTINCT") && self.starts_column(1) && self.eat_word("DISTINCT");
        let star = self.eat_symbol("*");
        let items = if !star || self.eat_symbol(",") {
            self.comma_separated(Self::projection_item)?
        } else {
            Vec::new()
        };
        let order = self.order()?;
        let skip = if self.is_word_of(0, &["SKIP", "OFFSET"]) { Some(self.row_count()?) } else { None };
        let limit = if self.is_word(0, "LIMIT") { Some(self.row_count()?) } else { None };
        Ok(Projection { distinct, star, items, order, skip, limit, span: self.since(start) })
    }

    /// `ORDER BY … SKIP … LIMIT …` of all columns: for `YIELD` in SHOW, and as a clause of its own.
    pub(super) fn page(&mut self, start: Span) -> Parsed<Projection> {
        let order = self.order()?;
        let skip = if self.is_word_of(0, &["SKIP", "OFFSET"]) { Some(self.row_count()?) } else { None };
        let limit = if self.is_word(0, "LIMIT") { Some(self.row_count()?) } else { None };
        let span = self.since(start);
        Ok(Projection { distinct: false, star: true, items: Vec::new(), order, skip, limit, span })
    }

    fn starts_column(&self, ahead: usize) -> bool {
        self.starts_operand(ahead) || self.is_symbol(ahead, "*")
    }

    fn projection_item(&mut self) -> Parsed<ProjectionItem> {
        let start = self.span();
        let expression = self.expression()?;
        let span = self.since(start);
        let alias = if self.eat_word("AS") { Some(self.name("a column name")?) } else { None };
        Ok(ProjectionItem { expression, alias, span })
    }

    fn order(&mut self) -> Parsed<Vec<SortItem>> {
        if !self.eat_words(&["ORDER", "BY"]) {
            return Ok(Vec::new());
        }
        self.comma_separated(|parser| {
            let expression = parser.expression()?;
            let descending = parser.eat_word("DESC") || parser.eat_word("DESCENDING");
            if !descending {
                let _ = parser.eat_word("ASC") || parser.eat_word("ASCENDING");
            }
            Ok(SortItem { expression, descending })
        })
    }

    fn row_count(&mut self) -> Parsed<Expression> {
        self.bump();
        if matches!(self.kind(0), TokenKind::End) {
            return Err(self.unexpected("a number of rows"));
        }
        self.expression()
    }
}
