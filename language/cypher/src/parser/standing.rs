//! Commands about standing queries: `CREATE`, `DROP`, `ALTER STANDING QUERY`, `SUBSCRIBE`.

use super::{Parsed, Parser};
use crate::error::CypherError;
use crate::lexer::{self, NO_PARTNER, Token, TokenKind};
use plan::expr::Name;
use plan::standing::{Resume, Retain, StandingCommand};
use text::Span;

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
        let (text, retain) = self.kept_query()?;
        Ok(StandingCommand::Create { name, if_not_exists, tenant, text, retain })
    }

    /// The text of the query: Cypher, which is parsed for errors, or a program of rules, which is another language's. Also its retention.
    fn kept_query(&mut self) -> Parsed<(Name, Option<Retain>)> {
        let start = self.span();
        if self.at_words(&["AS", "OF"]) {
            let message = "a standing query is kept as of now: AS OF has no meaning here";
            let error = CypherError::syntax(message, self.token(0).span.to(self.token(1).span));
            return Err(Box::new(
                error.with_hint("leave AS OF out, or ask once, without CREATE STANDING QUERY"),
            ));
        }
        if self.is_word(0, "DATALOG") && self.is_symbol(1, "{") {
            return self.program();
        }
        self.query()?;
        let span = self.since(start);
        let text = Name::from(&self.text[span.start as usize..span.end as usize]);
        if self.is_word(0, "RETAIN") {
            self.bump();
            let retain = self.retain()?;
            return Ok((text, Some(retain)));
        }
        if !matches!(self.kind(0), TokenKind::End | TokenKind::Symbol(";")) {
            return Err(self.unexpected("a clause, RETAIN or the end of the query"));
        }
        Ok((text, None))
    }

    /// A program of rules, up to its last brace, and the RETAIN behind it.
    fn program(&mut self) -> Parsed<(Name, Option<Retain>)> {
        let rest = self.rest_of_text();
        let Some(end) = rest.rfind('}').map(|at| at + 1) else { return Ok((rest, None)) };
        let behind = rest[end..].trim_start();
        let is_retain = behind.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("RETAIN"));
        match behind.get(6..).filter(|time| is_retain && time.starts_with(lexer::is_blank)) {
            Some(time) => {
                let read = time.trim().parse();
                let retain = read.map_err(|why| wrong_retention(why, self.span()))?;
                Ok((rest[..end].into(), Some(retain)))
            }
            None => Ok((rest, None)),
        }
    }

    /// The time behind RETAIN, which ends the statement. To the lexer `1h` is no number, so it is read from the text.
    fn retain(&mut self) -> Parsed<Retain> {
        let start = self.span().start as usize;
        let rest = &self.text[start..];
        let end = rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len());
        let span = Span::new(start, start + end);
        let retain = rest[..end].parse().map_err(|why| wrong_retention(why, span))?;
        let (behind, error) = lexer::tokens(&rest[end..]);
        let is_end = |token: &Token| matches!(token.kind, TokenKind::End | TokenKind::Symbol(";"));
        if error.is_some() || !behind.iter().all(is_end) {
            let error = CypherError::syntax("RETAIN ends a standing query", span);
            return Err(Box::new(
                error.with_hint("write it behind the whole query: … RETURN n.x AS x RETAIN 1h"),
            ));
        }
        self.end_at(self.text.len());
        Ok(retain)
    }

    /// Ends the text here, whatever its words are.
    fn end_at(&mut self, end: usize) {
        self.tokens.truncate(self.at);
        self.tokens.push(Token { kind: TokenKind::End, span: Span::new(end, end), partner: NO_PARTNER });
        self.lexer_error = None;
    }

    /// The rest of the text, whatever its words are; a semicolon at its end is not part of it.
    fn rest_of_text(&mut self) -> Name {
        let start = self.span().start as usize;
        let rest = self.text[start..].trim_end().trim_end_matches(';').trim_end();
        let text = rest.into();
        self.end_at(start + rest.len());
        text
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
            TokenKind::Integer(version) => Some(Resume::CommitVersion(*version)),
            TokenKind::Text(mark) => Some(Resume::Mark(mark.as_str().into())),
            TokenKind::Parameter(name) => Some(Resume::Parameter(name.as_str().into())),
            _ => None,
        };
        let place = place.ok_or_else(|| self.unexpected("a mark, the place of a commit, or a parameter"))?;
        self.bump();
        Ok(place)
    }

    fn standing_name(&mut self) -> Parsed<Name> {
        Ok(self.name("the name of the standing query")?.text.into())
    }
}

fn wrong_retention(why: String, span: Span) -> Box<CypherError> {
    let error = CypherError::syntax(why, span);
    Box::new(
        error.with_hint("RETAIN says how long changes can be asked for again: RETAIN 1h, or RETAIN NONE"),
    )
}
