//! Queries inside queries: `CALL { }`, procedures, `EXISTS { }`, `COUNT { }`, `COLLECT { }`.

use super::{Parsed, Parser};
use crate::ast::{
    CallProcedure, CallSubquery, ClauseKind, ExpressionKind, Imports, InTransactions, OnError, Query,
    Subquery, Yield,
};

/// Words that begin a query rather than a pattern inside braces.
const QUERY_WORDS: [&str; 15] = [
    "MATCH", "OPTIONAL", "WITH", "RETURN", "UNWIND", "CALL", "CREATE", "MERGE", "SET", "DELETE", "DETACH",
    "FOREACH", "LET", "FILTER", "LOAD",
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
        let is_cached = self.eat_word("CACHED");
        let yields = self.optional_yield()?;
        Ok(ClauseKind::CallProcedure(CallProcedure { optional, name, arguments, is_cached, yields }))
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

    /// `IN TRANSACTIONS [OF n ROWS] [ON ERROR CONTINUE | BREAK | FAIL] [REPORT STATUS AS variable]`.
    fn in_transactions(&mut self) -> Parsed<InTransactions> {
        self.expect_word("IN")?;
        // How many may run beside each other is for the engine to say: `IN 4 CONCURRENT TRANSACTIONS` runs them in turn.
        if self.is_word(0, "CONCURRENT") || self.is_word(1, "CONCURRENT") {
            self.bump();
            self.eat_word("CONCURRENT");
        }
        self.expect_word("TRANSACTIONS")?;
        let mut clause = InTransactions { rows: None, on_error: OnError::Fail, report: None };
        loop {
            if clause.rows.is_none() && self.eat_word("OF") {
                clause.rows = Some(self.expression()?);
                if !self.eat_word("ROW") {
                    self.expect_word("ROWS")?;
                }
            } else if self.eat_words(&["ON", "ERROR"]) {
                clause.on_error = self.on_error()?;
            } else if clause.report.is_none() && self.eat_words(&["REPORT", "STATUS"]) {
                self.expect_word("AS")?;
                clause.report = Some(self.name("a variable")?);
            } else {
                return Ok(clause);
            }
        }
    }

    fn on_error(&mut self) -> Parsed<OnError> {
        let ways = [("CONTINUE", OnError::Continue), ("BREAK", OnError::Break), ("FAIL", OnError::Fail)];
        match ways.into_iter().find(|(word, _)| self.is_word(0, word)) {
            Some((_, way)) => {
                self.bump();
                Ok(way)
            }
            None => Err(self.unexpected("CONTINUE, BREAK or FAIL")),
        }
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
