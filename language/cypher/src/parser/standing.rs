//! Commands about standing queries: `CREATE`, `DROP`, `ALTER STANDING QUERY`, `SUBSCRIBE`.

use super::{Parsed, Parser};
use crate::error::CypherError;
use crate::lexer::{NO_PARTNER, Token, TokenKind};
use crate::span::Span;
use plan::expr::Name;
use plan::standing::{Resume, StandingCommand};

impl Parser<'_> {
    /// Whether a command about standing queries begins here.
    pub(super) fn at_standing_command(&self) -> bool {
        let names_one = self.is_word(1, "STANDING") && self.is_word(2, "QUERY");
        (self.is_word_of(0, &["CREATE", "DROP", "ALTER"]) && names_one) || self.is_word(0, "SUBSCRIBE")
    }

    pub(super) fn standing_command(&mut self) -> Parsed<StandingCommand> {
        if self.eat_word("SUBSCRIBE") {
            return self.subscribe();
        }
        let (creates, alters) = (self.is_word(0, "CREATE"), self.is_word(0, "ALTER"));
        (0..3).for_each(|_| self.bump());
        let name = self.standing_name()?;
        if alters {
            self.expect_word("RETRY")?;
            return Ok(StandingCommand::Retry { name });
        }
        if !creates {
            let if_exists = self.eat_words(&["IF", "EXISTS"]);
            return Ok(StandingCommand::Drop { name, if_exists });
        }
        let if_not_exists = self.eat_words(&["IF", "NOT", "EXISTS"]);
        let tenant = match self.eat_words(&["FOR", "TENANT"]) {
            true => Some(Name::from(self.name("the name of a tenant")?.text)),
            false => None,
        };
        self.expect_word("AS")?;
        let text = self.kept_query()?;
        Ok(StandingCommand::Create { name, if_not_exists, tenant, text })
    }

    /// The text of what is kept: a query, which is read for its errors, or a program of rules, which is another language's.
    fn kept_query(&mut self) -> Parsed<Name> {
        let start = self.span();
        if self.at_words(&["AS", "OF"]) {
            let message = "a standing query is kept as of now: AS OF has no meaning here";
            let error = CypherError::syntax(message, self.token(0).span.to(self.token(1).span));
            return Err(Box::new(
                error.with_hint("leave AS OF out, or ask once, without CREATE STANDING QUERY"),
            ));
        }
        if self.is_word(0, "DATALOG") && self.is_symbol(1, "{") {
            return Ok(self.rest_of_text());
        }
        self.query_to_end()?;
        let span = self.since(start);
        Ok(self.text[span.start as usize..span.end as usize].into())
    }

    /// What is left of the text, whatever its words are; a semicolon at its end is not part of it.
    fn rest_of_text(&mut self) -> Name {
        let start = self.span().start as usize;
        let rest = self.text[start..].trim_end().trim_end_matches(';').trim_end();
        let end = Span::new(start + rest.len(), start + rest.len());
        self.tokens.truncate(self.at);
        self.tokens.push(Token { kind: TokenKind::End, span: end, partner: NO_PARTNER });
        self.lexer_error = None;
        rest.into()
    }

    fn subscribe(&mut self) -> Parsed<StandingCommand> {
        self.eat_word("TO");
        let name = self.standing_name()?;
        let from = if self.eat_word("FROM") { Some(self.resume()?) } else { None };
        let snapshot = self.eat_word("SNAPSHOT");
        let key = if self.eat_words(&["ENVELOPE", "UPSERT"]) { self.upsert_key()? } else { Vec::new() };
        Ok(StandingCommand::Subscribe { name, from, snapshot, key })
    }

    /// `[KEY] (column, …)`
    fn upsert_key(&mut self) -> Parsed<Vec<Name>> {
        self.eat_word("KEY");
        self.expect_symbol("(")?;
        let mut key = vec![Name::from(self.name("a column of the query")?.text)];
        while self.eat_symbol(",") {
            key.push(self.name("a column of the query")?.text.into());
        }
        self.expect_symbol(")")?;
        Ok(key)
    }

    fn resume(&mut self) -> Parsed<Resume> {
        let place = match self.kind(0) {
            TokenKind::Integer(place) => Some(Resume::Place(*place)),
            TokenKind::Parameter(name) => Some(Resume::Parameter(name.as_str().into())),
            _ => None,
        };
        let place = place.ok_or_else(|| self.unexpected("the place of a commit, or a parameter"))?;
        self.bump();
        Ok(place)
    }

    fn standing_name(&mut self) -> Parsed<Name> {
        Ok(self.name("the name of the standing query")?.text.into())
    }
}
