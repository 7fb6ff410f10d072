//! gremlin-lang text to [`Traversal`].
//!
//! The grammar's hundred rules of the form `out(a, b)` are one rule here: a name with arguments. What a name means is decided by
//! where it stands: behind a dot it is a step, alone before parentheses it is a predicate or the first step of an anonymous
//! traversal, without parentheses it is a token or a binding. Recursive descent with one token to look ahead; depth and size are
//! bounded by [`limits`](crate::limits).

mod expression;

use crate::error::{ErrorKind, GremlinError};
use crate::lexer::{self, Lexeme};
use crate::limits::{INSTRUCTIONS_MAX, NESTING_DEPTH_MAX, TEXT_BYTES_MAX};
use crate::object::Object;
use crate::traversal::{Argument, Instruction, Terminal, Traversal};
use std::collections::HashMap;
use std::sync::Arc;
use text::Span;

pub use crate::lexer::decimal;

/// Values for the names in a text.
pub type Bindings = HashMap<String, Argument>;

/// A statement of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A traversal with its terminal step.
    Traversal(Traversal, Terminal),
    /// `g.tx().commit()` and its kin: the word behind `tx()`.
    Transaction(Arc<str>),
    /// A value alone, such as `null` or `1`.
    Value(Object),
}

/// Parses the statements of a text, divided by semicolons or line ends between complete statements; the name before the first dot is the traversal
/// source, whatever it is called.
pub fn parse(text: &str, bindings: &Bindings) -> Result<Vec<Request>, GremlinError> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the text has {} bytes; at most {TEXT_BYTES_MAX} are read", text.len());
        return Err(GremlinError::new(ErrorKind::Limit, message, Span::new(0, 1)));
    }
    let tokens = lexer::tokens(text)?;
    let mut parser = Parser { tokens, at: 0, depth: 0, instructions: 0, bindings };
    let mut requests = Vec::new();
    loop {
        while parser.takes(';') {}
        if *parser.peek() == Lexeme::End {
            break;
        }
        requests.push(parser.request()?);
    }
    match requests.is_empty() {
        true => Err(GremlinError::syntax("the text is empty", Span::default())),
        false => Ok(requests),
    }
}

struct Parser<'a> {
    tokens: Vec<(Lexeme, Span)>,
    at: usize,
    depth: usize,
    instructions: usize,
    bindings: &'a Bindings,
}

impl Parser<'_> {
    fn peek(&self) -> &Lexeme {
        &self.tokens[self.at].0
    }
    fn peek_at(&self, ahead: usize) -> &Lexeme {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + ahead).min(last)].0
    }
    fn span(&self) -> Span {
        self.tokens[self.at].1
    }
    fn behind(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }
    fn advance(&mut self) -> Lexeme {
        let lexeme = self.tokens[self.at].0.clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        lexeme
    }
    fn takes(&mut self, mark: char) -> bool {
        let found = *self.peek() == Lexeme::Mark(mark);
        if found {
            self.advance();
        }
        found
    }
    fn expect(&mut self, mark: char) -> Result<(), GremlinError> {
        match self.takes(mark) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("'{mark}'"))),
        }
    }
    fn unexpected(&self, wanted: &str) -> GremlinError {
        let found = match self.peek() {
            Lexeme::Name(name) => format!("{name:?}"),
            Lexeme::Number(..) => "a number".into(),
            Lexeme::Text(_) => "a string".into(),
            Lexeme::Mark(mark) => format!("'{mark}'"),
            Lexeme::End => "the end of the text".into(),
        };
        GremlinError::syntax(format!("{wanted} is expected, not {found}"), self.span())
    }
    fn name(&mut self) -> Result<Arc<str>, GremlinError> {
        let Lexeme::Name(name) = self.peek() else { return Err(self.unexpected("a name")) };
        let name = name.clone();
        self.advance();
        Ok(name)
    }
    /// Runs one level deeper.
    fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, GremlinError>,
    ) -> Result<T, GremlinError> {
        if self.depth == NESTING_DEPTH_MAX {
            let message = format!("nesting is deeper than {NESTING_DEPTH_MAX}");
            return Err(GremlinError::new(ErrorKind::Limit, message, self.span()));
        }
        self.depth += 1;
        let outcome = inner(self);
        self.depth -= 1;
        outcome
    }

    fn request(&mut self) -> Result<Request, GremlinError> {
        let is_chain = matches!(self.peek(), Lexeme::Name(_)) && *self.peek_at(1) == Lexeme::Mark('.');
        let reads_value = !is_chain
            || matches!(self.peek(), Lexeme::Name(name) if crate::token::Token::ALL.iter().any(|token| token.class() == &**name));
        if reads_value {
            let span = self.span();
            return match self.argument()? {
                Argument::Value(value) => Ok(Request::Value(value)),
                _ => Err(GremlinError::syntax("a request begins with a traversal source, such as g", span)),
            };
        }
        let start = self.span();
        self.advance();
        let mut traversal = Traversal::new();
        while self.takes('.') {
            let name = self.name()?;
            if !traversal.steps.is_empty()
                && let Some(terminal) = self.terminal(&name)?
            {
                return self.end_of(traversal, terminal);
            }
            let instruction = self.instruction(name)?;
            if &*instruction.name == "tx" && traversal.steps.is_empty() {
                return self.transaction();
            }
            if &*instruction.name == "with" && traversal.steps.is_empty() {
                traversal.source.push(instruction);
            } else if is_source(&instruction.name) {
                if let Some(step) = traversal.steps.first() {
                    let message =
                        format!("{} stands before the first step, here {}", instruction.name, step.name);
                    return Err(GremlinError::syntax(message, instruction.span));
                }
                traversal.source.push(instruction);
            } else {
                traversal.steps.push(instruction);
            }
        }
        if traversal.steps.is_empty() {
            return Err(GremlinError::syntax("the traversal has no step", start.to(self.behind())));
        }
        self.end_of(traversal, Terminal::ToList)
    }

    fn end_of(&mut self, traversal: Traversal, terminal: Terminal) -> Result<Request, GremlinError> {
        let follows = matches!(self.peek(), Lexeme::End | Lexeme::Mark(';') | Lexeme::Name(_));
        match follows {
            true => Ok(Request::Traversal(traversal, terminal)),
            false => Err(self.unexpected("the end of the traversal")),
        }
    }

    /// `commit()` or `rollback()` behind `tx().`
    fn transaction(&mut self) -> Result<Request, GremlinError> {
        self.expect('.')?;
        let span = self.span();
        let word = self.name()?;
        self.expect('(')?;
        self.expect(')')?;
        match &*word {
            "commit" | "rollback" | "begin" | "open" | "close" => Ok(Request::Transaction(word)),
            _ => Err(GremlinError::syntax(format!("tx() has no {word}"), span)
                .with_hint("there are commit and rollback")),
        }
    }

    /// The terminal step of a name behind the last step; its parentheses are read too.
    fn terminal(&mut self, name: &str) -> Result<Option<Terminal>, GremlinError> {
        let terminal = match name {
            "toList" => Terminal::ToList,
            "toSet" => Terminal::ToSet,
            "toBulkSet" => Terminal::ToBulkSet,
            "tryNext" => Terminal::TryNext,
            "hasNext" => Terminal::HasNext,
            "iterate" => Terminal::Iterate,
            "next" => {
                self.expect('(')?;
                let count = match self.peek() {
                    Lexeme::Number(Some(number), _) => {
                        number.as_long().and_then(|count| u64::try_from(count).ok())
                    }
                    _ => None,
                };
                if count.is_some() {
                    self.advance();
                }
                self.expect(')')?;
                return Ok(Some(Terminal::Next(count.unwrap_or(1))));
            }
            _ => return Ok(None),
        };
        self.expect('(')?;
        self.expect(')')?;
        Ok(Some(terminal))
    }

    /// The arguments of a name just read.
    fn instruction(&mut self, name: Arc<str>) -> Result<Instruction, GremlinError> {
        let start = self.behind();
        self.instructions += 1;
        if self.instructions > INSTRUCTIONS_MAX {
            let message = format!("the text has more than {INSTRUCTIONS_MAX} steps");
            return Err(GremlinError::new(ErrorKind::Limit, message, start));
        }
        let arguments = self.nested(Self::arguments)?;
        let name = match name.strip_suffix('_') {
            Some(short) if !short.is_empty() => short.into(),
            _ => name,
        };
        Ok(Instruction { name, arguments, span: start.to(self.behind()) })
    }

    /// `.a().b()` behind a first instruction.
    fn more_steps(&mut self, steps: &mut Vec<Instruction>) -> Result<(), GremlinError> {
        while self.takes('.') {
            let name = self.name()?;
            steps.push(self.instruction(name)?);
        }
        Ok(())
    }
}

/// Does this instruction belong to the source?
pub fn is_source(name: &str) -> bool {
    let names = [
        "withSack",
        "withSideEffect",
        "withStrategies",
        "withoutStrategies",
        "withBulk",
        "withPath",
        "withComputer",
    ];
    names.contains(&name)
}
