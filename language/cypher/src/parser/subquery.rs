//! Queries inside queries: `CALL { }`, procedures, `EXISTS { }`, `COUNT { }`, `COLLECT { }`.

use super::{Parsed, Parser};
use crate::ast::{CallProcedure, CallSubquery, ClauseKind, ExpressionKind, Imports, Query, Subquery, Yield};

/// Words that begin a query rather than a pattern inside braces.
const QUERY_WORDS: [&str; 14] = [
    "MATCH", "OPTIONAL", "WITH", "RETURN", "UNWIND", "CALL", "CREATE", "MERGE", "SET", "DELETE", "DETACH",
    "FOREACH", "LET", "FILTER",
];

impl Parser<'_> {
    /// `CALL { … }`, `CALL (x) { … }`, `CALL name(…)`.
    pub(super) fn call_clause(&mut self, optional: bool) -> Parsed<ClauseKind> {
        self.bump();
        if self.at_symbol("{") || self.at_symbol("(") {
            return self.call_subquery(optional);
        }
        let mut name = vec![self.name("a procedure")?];
        while self.eat_symbol(".") {
            name.push(self.name("a procedure")?);
        }
        let arguments = if self.eat_symbol("(") { Some(self.call_arguments()?) } else { None };
        let yields = self.optional_yield()?;
        Ok(ClauseKind::CallProcedure(CallProcedure { optional, name, arguments, yields }))
    }

    fn call_arguments(&mut self) -> Parsed<Vec<crate::ast::Expression>> {
        if self.eat_symbol(")") {
            return Ok(Vec::new());
        }
        let arguments = self.in_brackets(false, |parser| parser.comma_separated(Self::expression))?;
        self.expect_symbol(")")?;
        Ok(arguments)
    }

    fn call_subquery(&mut self, optional: bool) -> Parsed<ClauseKind> {
        let imports = if self.at_symbol("(") { Some(self.imports()?) } else { None };
        let query = self.braced_query()?;
        let in_transactions = if self.is_word(0, "IN") { Some(self.in_transactions()?) } else { None };
        Ok(ClauseKind::CallSubquery(CallSubquery { optional, imports, query, in_transactions }))
    }

    fn imports(&mut self) -> Parsed<Imports> {
        self.expect_symbol("(")?;
        let imports = if self.eat_symbol("*") {
            Imports::All
        } else if self.at_symbol(")") {
            Imports::Names(Vec::new())
        } else {
            Imports::Names(self.comma_separated(|parser| parser.name("a variable"))?)
        };
        self.expect_symbol(")")?;
        Ok(imports)
    }

    /// `IN TRANSACTIONS [OF n ROWS]`.
    fn in_transactions(&mut self) -> Parsed<Option<crate::ast::Expression>> {
        self.expect_word("IN")?;
        self.expect_word("TRANSACTIONS")?;
        if !self.eat_word("OF") {
            return Ok(None);
        }
        let rows = self.expression()?;
        if !self.eat_word("ROW") {
            self.expect_word("ROWS")?;
        }
        Ok(Some(rows))
    }

    fn braced_query(&mut self) -> Parsed<Query> {
        self.expect_symbol("{")?;
        let query = self.nested(|parser| parser.in_brackets(false, Self::query))?;
        if !self.eat_symbol("}") {
            return Err(self.unexpected("a clause or '}'"));
        }
        Ok(query)
    }

    /// The braces of `EXISTS` and `COUNT`.
    pub(super) fn subquery(&mut self) -> Parsed<Subquery> {
        self.bump();
        let is_query = self.is_word_of(1, &QUERY_WORDS) && !self.is_symbol(2, "=");
        if is_query {
            return Ok(Subquery::Query(Box::new(self.braced_query()?)));
        }
        self.expect_symbol("{")?;
        let subquery = self.in_brackets(false, |parser| {
            let patterns = parser.patterns()?;
            Ok(Subquery::Pattern(patterns, parser.optional_where()?.map(Box::new)))
        })?;
        self.expect_symbol("}")?;
        Ok(subquery)
    }

    pub(super) fn collect_subquery(&mut self) -> Parsed<ExpressionKind> {
        self.bump();
        Ok(ExpressionKind::Collect(Box::new(self.braced_query()?)))
    }

    /// `YIELD …`, if it comes next.
    pub(super) fn optional_yield(&mut self) -> Parsed<Option<Yield>> {
        if !self.eat_word("YIELD") {
            return Ok(None);
        }
        let star = self.eat_symbol("*");
        let items = if star || self.eat_symbol("-") {
            Vec::new()
        } else {
            self.comma_separated(|parser| {
                let column = parser.name("a result column")?;
                let alias = if parser.eat_word("AS") { Some(parser.name("a variable")?) } else { None };
                Ok((column, alias))
            })?
        };
        Ok(Some(Yield { star, items, condition: self.optional_where()? }))
    }
}
