//! Tokens to syntax tree, by recursive descent, without rewinding.
//!
//! Keywords are contextual: each rule tests for the words it wants, and a word that no rule wants is a name. Where a bracket may open several things
//! (a group or a node pattern, a list or a comprehension) the parser looks ahead a few tokens and at the bracket's partner. So a parse is linear in
//! the text.
//!
//! Invariant: the tree is never higher than [`NESTING_DEPTH_MAX`] (recursion) plus [`TREE_HEIGHT_MAX`] (operator chains), so that walks over it may
//! recurse.

mod clause;
mod comprehension;
mod expression;
mod hint;
mod pattern;
mod primary;
mod program;
mod projection;
mod role;
mod schema;
mod scope_hint;
mod standing;
mod statement;
mod subquery;
mod tenant;
mod types;
mod update;
mod user;

use crate::ast::{Name, Statement};
use crate::error::{CypherError, ErrorKind};
use crate::lexer::{self, NO_PARTNER, Token, TokenKind};
use crate::limits::{NESTING_DEPTH_MAX, QUERY_TEXT_BYTES_MAX, TREE_HEIGHT_MAX};
use text::Span;

/// The result of a rule of the grammar. The error is boxed because its size is paid in every frame of the recursion.
pub(crate) type Parsed<T> = Result<T, Box<CypherError>>;

/// Parses one statement, which may end with a semicolon.
pub fn parse(text: &str) -> Result<Statement, CypherError> {
    if text.len() > QUERY_TEXT_BYTES_MAX {
        let message = format!("the query is longer than {QUERY_TEXT_BYTES_MAX} bytes");
        let error = CypherError::new(ErrorKind::LimitExceeded, message, Span::default());
        return Err(error.with_hint("pass data as parameters, or import it"));
    }
    let (tokens, lexer_error) = lexer::tokens(text);
    let mut parser = Parser {
        text,
        tokens,
        lexer_error,
        at: 0,
        depth: 0,
        height: 0,
        clauses: 0,
        bar_closes: false,
        label_signs: LabelSigns::default(),
    };
    parser.statement_to_end().map_err(|error| *error)
}

/// A position in the tokens.
pub(crate) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    lexer_error: Option<CypherError>,
    at: usize,
    /// Rules that are open now, see `nested`.
    depth: usize,
    /// Height of the tree finished since the innermost open `nested`.
    height: usize,
    /// Clauses read so far.
    clauses: usize,
    /// The innermost bracket has a part after a bar, so `a:B | c` must not read `B | c` as labels.
    bar_closes: bool,
    /// Of the label expression that is read.
    label_signs: LabelSigns,
}

/// By which signs a label expression joins its labels.
#[derive(Clone, Copy, Default)]
pub(crate) struct LabelSigns {
    /// `A:B`.
    colon: bool,
    /// `&`, `|`, `!` or `%`.
    other: bool,
}

impl<'t> Parser<'t> {
    fn token(&self, ahead: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + ahead).min(last)]
    }

    fn kind(&self, ahead: usize) -> &TokenKind {
        &self.token(ahead).kind
    }

    fn span(&self) -> Span {
        self.token(0).span
    }

    /// The span of the token before this one: the last one taken.
    fn last_span(&self) -> Span {
        match self.at {
            0 => Span::default(),
            at => self.tokens[at - 1].span,
        }
    }

    fn since(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    fn bump(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    // --- words ---

    /// The text of a word `ahead` tokens from here; names in backticks are no words.
    fn word(&self, ahead: usize) -> Option<&'t str> {
        let token = self.token(ahead);
        (token.kind == TokenKind::Word).then(|| token.span.text(self.text))
    }

    fn is_word(&self, ahead: usize, keyword: &str) -> bool {
        self.word(ahead).is_some_and(|word| word.eq_ignore_ascii_case(keyword))
    }

    fn is_word_of(&self, ahead: usize, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is_word(ahead, keyword))
    }

    fn at_words(&self, keywords: &[&str]) -> bool {
        keywords.iter().enumerate().all(|(ahead, keyword)| self.is_word(ahead, keyword))
    }

    /// Takes the words if they come next, all or none.
    fn eat_words(&mut self, keywords: &[&str]) -> bool {
        let found = self.at_words(keywords);
        if found {
            keywords.iter().for_each(|_| self.bump());
        }
        found
    }

    fn eat_word(&mut self, keyword: &str) -> bool {
        self.eat_words(&[keyword])
    }

    fn expect_word(&mut self, keyword: &str) -> Parsed<()> {
        if self.eat_word(keyword) { Ok(()) } else { Err(self.unexpected(keyword)) }
    }

    // --- symbols ---

    fn is_symbol(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.kind(ahead), TokenKind::Symbol(found) if *found == symbol)
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        self.is_symbol(0, symbol)
    }

    fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.bump();
        }
        found
    }

    fn expect_symbol(&mut self, symbol: &str) -> Parsed<()> {
        if self.eat_symbol(symbol) { Ok(()) } else { Err(self.unexpected(&format!("'{symbol}'"))) }
    }

    // --- names ---

    fn is_name(&self, ahead: usize) -> bool {
        matches!(self.kind(ahead), TokenKind::Word | TokenKind::Quoted(_))
    }

    /// Takes a name; `what` names the wanted kind in the error.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        let token = self.token(0);
        let text = match &token.kind {
            TokenKind::Word => token.span.text(self.text).to_string(),
            TokenKind::Quoted(name) => name.clone(),
            _ => return Err(self.unexpected(what)),
        };
        let span = token.span;
        self.bump();
        Ok(Name { text, span })
    }

    fn optional_name(&mut self) -> Option<Name> {
        if self.is_name(0) { self.name("a name").ok() } else { None }
    }

    /// One or more, between commas.
    fn comma_separated<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_symbol(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    // --- limits ---

    /// Runs a rule one level deeper; every recursion of the grammar passes here.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= NESTING_DEPTH_MAX {
            return Err(self.too_deep());
        }
        crate::error::spend(1)?;
        let height_before = std::mem::take(&mut self.height);
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        self.height = height_before.max(self.height + 1);
        result
    }

    /// Notes that an operator was put on top of the tree finished last.
    fn grow(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.height > TREE_HEIGHT_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Runs a rule inside brackets whose part before the bar is (or is not) being read.
    fn in_brackets<T>(&mut self, bar_closes: bool, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outside = std::mem::replace(&mut self.bar_closes, bar_closes);
        let result = rule(self);
        self.bar_closes = outside;
        result
    }

    /// Whether the bar here joins labels, rather than beginning the last part of a comprehension.
    fn bar_joins_labels(&self) -> bool {
        self.at_symbol("|") && (!self.bar_closes || self.token(0).partner != NO_PARTNER)
    }

    fn too_deep(&self) -> Box<CypherError> {
        let error = CypherError::new(ErrorKind::LimitExceeded, "the query is nested too deeply", self.span());
        Box::new(error.with_hint("pass data as parameters, or split the expression with WITH"))
    }

    // --- errors ---

    /// The error that the token here is not what the grammar wants.
    fn unexpected(&self, expected: &str) -> Box<CypherError> {
        let token = self.token(0);
        Box::new(match &token.kind {
            TokenKind::Invalid => self.lexer_error.clone().expect("an invalid token comes with its error"),
            TokenKind::End => {
                let message = format!("the query ends too early, expected {expected}");
                let error = CypherError::syntax(message, token.span);
                self.hint_at_end(error)
            }
            _ => {
                let found = shortened(token.span.text(self.text));
                let error =
                    CypherError::syntax(format!("unexpected {found}, expected {expected}"), token.span);
                self.hint_at_token(error)
            }
        })
    }

    /// The same, with a hint of its own.
    fn unexpected_with_hint(&self, expected: &str, hint: &str) -> Box<CypherError> {
        Box::new(self.unexpected(expected).with_hint(hint))
    }
}

/// A token for a message: quoted, and not longer than a line.
fn shortened(text: &str) -> String {
    if text.chars().count() <= 40 {
        return format!("'{text}'");
    }
    format!("'{}…'", text.chars().take(40).collect::<String>())
}
