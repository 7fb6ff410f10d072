//! A whole statement: prefixes, then a query, a schema command, `SHOW` or `TERMINATE`.

use super::{Parsed, Parser};
use crate::ast::{Mode, Query, SingleQuery, Statement, StatementBody, Union};
use crate::error::{CypherError, ErrorKind};
use crate::lexer::TokenKind;
use text::Span;

/// Prefixes of a statement with an effect.
#[derive(Default)]
struct Prefix {
    scopes_off: bool,
    recursive: Option<String>,
}

/// The database that `USE` names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Used {
    Graph,
    System,
}

fn no_database(name: &str, span: Span) -> Box<CypherError> {
    let error = CypherError::new(
        ErrorKind::DatabaseNotFound,
        format!("there is no database `{name}` to query"),
        span,
    );
    Box::new(error.with_hint("one database is open, under the name neo4j: leave USE out, or write USE neo4j"))
}

impl Parser<'_> {
    /// The one statement of a text, up to its end.
    pub(super) fn statement_to_end(&mut self) -> Parsed<Statement> {
        let statement = self.statement()?;
        self.eat_symbol(";");
        match self.kind(0) {
            TokenKind::End => Ok(statement),
            _ => Err(self.unexpected("the end of the query")),
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let mut prefix = Prefix::default();
        self.version_prefix(&mut prefix)?;
        let mode = if self.eat_word("EXPLAIN") {
            Mode::Explain
        } else if self.eat_word("PROFILE") {
            Mode::Profile
        } else {
            Mode::Run
        };
        self.version_prefix(&mut prefix)?;
        let Prefix { scopes_off, recursive } = prefix;
        let used = self.use_clause()?;
        let as_of = if self.eat_words(&["AS", "OF"]) { Some(self.expression()?) } else { None };
        let bounded = self.eat_words(&["READ", "NO", "OLDER", "THAN"]);
        let no_older_than_ms = if bounded { Some(self.time()?) } else { None };
        let start = self.span();
        if used == Some(Used::System) && !self.at_command() {
            return Err(no_database("system", start));
        }
        let body = if self.at_tenant_command() {
            StatementBody::Tenant(self.tenant_command()?)
        } else if self.at_program_command() {
            StatementBody::Program(self.program_command()?)
        } else if self.at_user_command() {
            StatementBody::User(self.user_command()?)
        } else if self.at_role_command() {
            StatementBody::Role(self.role_command()?)
        } else if self.at_standing_command() {
            StatementBody::Standing(self.standing_command()?)
        } else if self.at_schema_command() {
            StatementBody::Schema(self.schema_command()?)
        } else if self.eat_word("SHOW") {
            StatementBody::Show(Box::new(self.show()?))
        } else if self.is_word_of(0, &["KILL", "TERMINATE"]) {
            StatementBody::Terminate(self.terminate()?)
        } else {
            StatementBody::Query(self.query_to_end()?)
        };
        Ok(Statement { mode, scopes_off, recursive, as_of, no_older_than_ms, body, span: self.since(start) })
    }

    /// `CYPHER 5`, `CYPHER 25 runtime = parallel`: accepted for the sake of other engines' queries, without effect; `scopes = off` and `recursive =
    /// nT1S` have one, which is returned.
    fn version_prefix(&mut self, prefix: &mut Prefix) -> Parsed<()> {
        if !self.eat_word("CYPHER") {
            return Ok(());
        }
        if matches!(self.kind(0), TokenKind::Integer(_) | TokenKind::Float(_)) {
            self.bump();
        }
        while self.is_name(0) && self.is_symbol(1, "=") {
            let (scopes, recursive) = (self.is_word(0, "scopes"), self.is_word(0, "recursive"));
            self.bump();
            self.bump();
            let value = self.name("the value of an option")?;
            if scopes {
                prefix.scopes_off = value.text.eq_ignore_ascii_case("off");
            } else if recursive {
                prefix.recursive = Some(value.text.to_string());
            }
        }
        Ok(())
    }

    /// Whether a command begins here, of those that are run on Neo4j's system database.
    fn at_command(&self) -> bool {
        self.at_tenant_command()
            || self.at_user_command()
            || self.at_role_command()
            || self.is_word_of(0, &["SHOW", "TERMINATE", "KILL"])
    }

    /// `USE database`: there is one, `neo4j`. Commands may also name `system`.
    fn use_clause(&mut self) -> Parsed<Option<Used>> {
        if !self.is_word(0, "USE") || !self.is_name(1) || self.is_symbol(2, "=") {
            return Ok(None);
        }
        self.bump();
        if self.is_symbol(1, ".") || self.is_symbol(1, "(") {
            let hint = "one database is open, and it is named: USE neo4j";
            return Err(self.unexpected_with_hint("the name of a database", hint));
        }
        let name = self.name("the name of a database")?;
        match name.text.to_lowercase().as_str() {
            "neo4j" => Ok(Some(Used::Graph)),
            "system" => Ok(Some(Used::System)),
            _ => Err(no_database(&name.text, name.span)),
        }
    }

    pub(super) fn query_to_end(&mut self) -> Parsed<Query> {
        let query = self.query()?;
        if matches!(self.kind(0), TokenKind::End | TokenKind::Symbol(";")) {
            return Ok(query);
        }
        Err(self.unexpected("a clause or the end of the query"))
    }

    /// Single queries joined by `UNION`.
    pub(super) fn query(&mut self) -> Parsed<Query> {
        let first = self.single_query()?;
        let mut unions = Vec::new();
        while self.is_word(0, "UNION") {
            let start = self.span();
            self.bump();
            let all = self.eat_word("ALL");
            if !all {
                self.eat_word("DISTINCT");
            }
            let span = self.since(start);
            unions.push(Union { all, query: self.single_query()?, span });
        }
        Ok(Query { first, unions })
    }

    fn single_query(&mut self) -> Parsed<SingleQuery> {
        let start = self.span();
        if self.use_clause()? == Some(Used::System) {
            return Err(no_database("system", start));
        }
        let mut clauses = Vec::new();
        while let Some(clause) = self.clause()? {
            clauses.push(clause);
        }
        if clauses.is_empty() {
            return Err(self.unexpected("a clause such as MATCH, CREATE or RETURN"));
        }
        Ok(SingleQuery { clauses, span: self.since(start) })
    }

    fn terminate(&mut self) -> Parsed<Vec<crate::ast::Expression>> {
        self.bump();
        let words = ["QUERY", "QUERIES", "TRANSACTION", "TRANSACTIONS"];
        if !self.is_word_of(0, &words) {
            return Err(self.unexpected("QUERY"));
        }
        self.bump();
        self.comma_separated(Self::expression)
    }
}
