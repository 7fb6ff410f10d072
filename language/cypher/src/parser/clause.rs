//! The clauses: which one begins here, and those that read.

use super::{Parsed, Parser};
use crate::ast::{
    CallProcedure, Clause, ClauseKind, Hint, LoadCsv, LoadFile, Match, Name, Projection, ProjectionItem,
};
use crate::error::{CypherError, ErrorKind};
use crate::lexer::TokenKind;
use crate::limits::CLAUSES_MAX;
use text::Span;

impl Parser<'_> {
    /// The clause that begins here, if one does.
    pub(super) fn clause(&mut self) -> Parsed<Option<Clause>> {
        let start = self.span();
        let Some(word) = self.word(0) else { return Ok(None) };
        let kind = match word.to_ascii_uppercase().as_str() {
            "OPTIONAL" if self.is_word(1, "MATCH") || self.is_word(1, "CALL") => self.optional_clause()?,
            "MATCH" => self.match_clause(false)?,
            "WITH" => self.with_clause()?,
            "RETURN" => {
                self.bump();
                ClauseKind::Return(self.projection(start)?)
            }
            "UNWIND" => self.unwind()?,
            "CREATE" | "INSERT" => {
                self.bump();
                ClauseKind::Create(self.patterns()?)
            }
            "MERGE" => self.merge()?,
            "SET" => {
                self.bump();
                ClauseKind::Set(self.comma_separated(Self::set_item)?)
            }
            "REMOVE" => {
                self.bump();
                ClauseKind::Remove(self.comma_separated(Self::remove_item)?)
            }
            "DELETE" | "DETACH" | "NODETACH" => self.delete()?,
            "FOREACH" => self.nested(Self::foreach)?,
            "CALL" => self.call_clause(false)?,
            "LET" | "FILTER" | "LOAD" | "EXPORT" => match self.rarer_clause() {
                Some(kind) => kind?,
                None => return Ok(None),
            },
            "FINISH" => {
                self.bump();
                ClauseKind::Finish
            }
            // Alone they order and cut the rows so far, as behind `WITH *`.
            "ORDER" if self.is_word(1, "BY") => ClauseKind::With(self.page(start)?, None),
            "SKIP" | "OFFSET" | "LIMIT" => ClauseKind::With(self.page(start)?, None),
            _ => return Ok(None),
        };
        self.clauses += 1;
        if self.clauses > CLAUSES_MAX {
            let message = format!("the query has more than {CLAUSES_MAX} clauses");
            let error = CypherError::new(ErrorKind::LimitExceeded, message, start);
            return Err(error.with_hint("unwind a list of rows, or write several statements").into());
        }
        Ok(Some(Clause { kind, span: self.since(start) }))
    }

    fn optional_clause(&mut self) -> Parsed<ClauseKind> {
        self.bump();
        if self.is_word(0, "CALL") { self.call_clause(true) } else { self.match_clause(true) }
    }

    fn match_clause(&mut self, optional: bool) -> Parsed<ClauseKind> {
        self.bump();
        let repeatable_elements = self.match_mode();
        let patterns = self.patterns()?;
        let mut hints = Vec::new();
        while self.is_word(0, "USING") {
            hints.push(self.planner_hint()?);
        }
        let condition = self.optional_where()?;
        Ok(ClauseKind::Match(Match { optional, repeatable_elements, patterns, hints, condition }))
    }

    /// `REPEATABLE ELEMENTS`, or `DIFFERENT RELATIONSHIPS`, which is the default.
    fn match_mode(&mut self) -> bool {
        let repeatable =
            self.eat_words(&["REPEATABLE", "ELEMENTS"]) || self.eat_words(&["REPEATABLE", "ELEMENT"]);
        if !repeatable {
            let _ = self.eat_words(&["DIFFERENT", "RELATIONSHIPS"])
                || self.eat_words(&["DIFFERENT", "RELATIONSHIP"]);
        }
        repeatable
    }

    /// `USING INDEX n:L(p)`, `USING SCAN n:L`, `USING JOIN ON n`.
    fn planner_hint(&mut self) -> Parsed<Hint> {
        self.bump();
        if self.eat_word("SCOPE") {
            return Ok(Hint::Scope(self.scope_hint()?));
        }
        if self.eat_words(&["JOIN", "ON"]) {
            return Ok(Hint::Join(self.comma_separated(|parser| parser.name("a variable"))?));
        }
        let scan = self.eat_word("SCAN");
        if !scan {
            for kind in ["RANGE", "TEXT", "POINT"] {
                self.eat_word(kind);
            }
            self.expect_word("INDEX")?;
            self.eat_word("SEEK");
        }
        let variable = self.name("a variable")?;
        self.expect_symbol(":")?;
        let label = self.name("a label or relationship type")?;
        if scan {
            return Ok(Hint::Scan(variable, label));
        }
        self.expect_symbol("(")?;
        let keys = self.comma_separated(|parser| parser.name("a property name"))?;
        self.expect_symbol(")")?;
        Ok(Hint::Index(variable, label, keys))
    }

    fn with_clause(&mut self) -> Parsed<ClauseKind> {
        let start = self.span();
        self.bump();
        let projection = self.projection(start)?;
        let condition = self.optional_where()?;
        Ok(ClauseKind::With(projection, condition))
    }

    /// Clauses that openCypher does not have; apart, so that the frames of nested queries stay small.
    fn rarer_clause(&mut self) -> Option<Parsed<ClauseKind>> {
        if self.is_word(0, "LET") {
            Some(self.let_clause())
        } else if self.is_word(0, "FILTER") {
            Some(self.filter_clause())
        } else if self.at_words(&["EXPORT", "DATABASE"]) {
            Some(self.export_database())
        } else {
            self.load_clause()
        }
    }

    /// `EXPORT DATABASE [TO] folder [(FORMAT = 'csv')] [YIELD …]`, also `{format: 'csv'}`: a call of the procedure.
    fn export_database(&mut self) -> Parsed<ClauseKind> {
        let start = self.span();
        self.bump();
        self.bump();
        self.eat_word("TO");
        let span = self.since(start);
        let mut arguments = vec![self.expression()?];
        let end = if self.eat_symbol("(") { Some(")") } else { self.eat_symbol("{").then_some("}") };
        if let Some(end) = end {
            self.expect_word("FORMAT")?;
            if !self.eat_symbol("=") {
                self.expect_symbol(":")?;
            }
            arguments.push(self.expression()?);
            self.expect_symbol(end)?;
        }
        let name = plan::procedures::EXPORT.split('.').map(|text| Name { text: text.into(), span }).collect();
        let yields = self.optional_yield()?;
        Ok(ClauseKind::CallProcedure(CallProcedure {
            optional: false,
            name,
            arguments: Some(arguments),
            is_cached: false,
            yields,
        }))
    }

    fn load_clause(&mut self) -> Option<Parsed<ClauseKind>> {
        match () {
            () if self.at_words(&["LOAD", "CSV"]) => Some(self.load_csv()),
            () if self.at_words(&["LOAD", "JSON"]) => Some(self.load_file().map(ClauseKind::LoadJson)),
            () if self.at_words(&["LOAD", "PARQUET"]) => Some(self.load_file().map(ClauseKind::LoadParquet)),
            () => None,
        }
    }

    /// `LOAD JSON FROM file AS variable`, or `LOAD PARQUET …`.
    fn load_file(&mut self) -> Parsed<LoadFile> {
        self.bump();
        self.bump();
        self.expect_word("FROM")?;
        let file = self.expression()?;
        self.expect_word("AS")?;
        let variable = self.name("a variable")?;
        Ok(LoadFile { file, variable })
    }

    /// `LOAD CSV [WITH HEADERS] FROM file AS variable [FIELDTERMINATOR 'c']`.
    fn load_csv(&mut self) -> Parsed<ClauseKind> {
        self.bump();
        self.bump();
        let headers = self.eat_words(&["WITH", "HEADERS"]);
        self.expect_word("FROM")?;
        let file = self.expression()?;
        self.expect_word("AS")?;
        let variable = self.name("a variable")?;
        let mut separator = None;
        if self.eat_word("FIELDTERMINATOR") {
            let TokenKind::Text(text) = self.kind(0).clone() else {
                return Err(self.unexpected("a text of one character"));
            };
            if text.len() != 1 {
                return Err(
                    CypherError::syntax("a FIELDTERMINATOR is one ASCII character", self.span()).into()
                );
            }
            self.bump();
            separator = Some(text);
        }
        Ok(ClauseKind::LoadCsv(LoadCsv { headers, file, variable, separator }))
    }

    /// `LET name = expression, …`: `WITH *` and more columns.
    fn let_clause(&mut self) -> Parsed<ClauseKind> {
        let start = self.span();
        self.bump();
        let items = self.comma_separated(|parser| {
            let alias = parser.name("a variable")?;
            parser.expect_symbol("=")?;
            let from = parser.span();
            let expression = parser.expression()?;
            Ok(ProjectionItem { expression, alias: Some(alias), span: parser.since(from) })
        })?;
        Ok(ClauseKind::With(Projection { items, ..everything(self.since(start)) }, None))
    }

    /// `FILTER [WHERE] condition`: `WITH * WHERE condition`.
    fn filter_clause(&mut self) -> Parsed<ClauseKind> {
        let start = self.span();
        self.bump();
        self.eat_word("WHERE");
        let condition = self.expression()?;
        Ok(ClauseKind::With(everything(self.since(start)), Some(condition)))
    }

    fn unwind(&mut self) -> Parsed<ClauseKind> {
        self.bump();
        let list = self.expression()?;
        self.expect_word("AS")?;
        Ok(ClauseKind::Unwind(list, self.name("a variable")?))
    }
}

/// `*`, and nothing else.
fn everything(span: Span) -> Projection {
    Projection {
        distinct: false,
        star: true,
        items: Vec::new(),
        order: Vec::new(),
        skip: None,
        limit: None,
        span,
    }
}
