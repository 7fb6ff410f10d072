//! Arguments: literals, collections, tokens, predicates, strategies, anonymous traversals, bindings.

use super::Parser;
use crate::error::{ErrorKind, GremlinError};
use crate::lexer::Lexeme;
use crate::limits::{ELEMENTS_MAX, PREDICATE_DEPTH_MAX};
use crate::object::Object;
use crate::predicate::Predicate;
use crate::token::{Cardinality, Token};
use crate::traversal::{Argument, Instruction, Strategy, Traversal};
use std::sync::Arc;
use text::Span;

impl Parser<'_> {
    /// `(a, b, …)`
    pub(super) fn arguments(&mut self) -> Result<Vec<Argument>, GremlinError> {
        self.expect('(')?;
        let mut arguments = Vec::new();
        while !self.takes(')') {
            if !arguments.is_empty() {
                self.expect(',')?;
            }
            self.check_count(arguments.len())?;
            arguments.push(self.argument()?);
        }
        Ok(arguments)
    }

    fn check_count(&self, count: usize) -> Result<(), GremlinError> {
        if count < ELEMENTS_MAX {
            return Ok(());
        }
        let message = format!("more than {ELEMENTS_MAX} elements in one place");
        Err(GremlinError::new(ErrorKind::Limit, message, self.span()).with_hint("send them as a binding"))
    }

    pub(super) fn argument(&mut self) -> Result<Argument, GremlinError> {
        self.nested(Self::argument_here)
    }

    fn argument_here(&mut self) -> Result<Argument, GremlinError> {
        let span = self.span();
        Ok(match self.peek().clone() {
            Lexeme::Number(number, _) => {
                self.advance();
                Argument::Value(number.ok_or_else(|| outgrown(span))?)
            }
            Lexeme::Text(text) => {
                self.advance();
                Argument::Value(Object::String(text))
            }
            Lexeme::Mark('-') => {
                self.advance();
                Argument::Value(self.signed(true)?)
            }
            Lexeme::Mark('+') => {
                self.advance();
                Argument::Value(self.signed(false)?)
            }
            Lexeme::Mark('[') => Argument::Value(self.list_or_map()?),
            Lexeme::Mark('{') => Argument::Value(self.set()?),
            Lexeme::Mark('(') => {
                self.advance();
                let inner = self.argument()?;
                self.expect(')')?;
                inner
            }
            Lexeme::Name(name) => {
                self.advance();
                self.named(name, span)?
            }
            Lexeme::Mark(_) | Lexeme::End => return Err(self.unexpected("an argument")),
        })
    }

    /// A number or `Infinity` behind a sign.
    fn signed(&mut self, negative: bool) -> Result<Object, GremlinError> {
        let span = self.span();
        let sign = if negative { -1.0 } else { 1.0 };
        match self.advance() {
            Lexeme::Name(name) if &*name == "Infinity" => Ok(Object::Double(sign * f64::INFINITY)),
            Lexeme::Name(name) if &*name == "NaN" => Ok(Object::Double(f64::NAN)),
            Lexeme::Number(_, number) if negative => Ok(number),
            Lexeme::Number(number, _) => number.ok_or_else(|| outgrown(span)),
            _ => Err(GremlinError::syntax("a number is expected behind the sign", span)),
        }
    }

    /// `[a, b]`, `[k: v]`, `[:]`, `[]`
    fn list_or_map(&mut self) -> Result<Object, GremlinError> {
        self.expect('[')?;
        if self.takes(':') {
            self.expect(']')?;
            return Ok(Object::map(Vec::new()));
        }
        if self.takes(']') {
            return Ok(Object::list(Vec::new()));
        }
        let first = self.element()?;
        if *self.peek() == Lexeme::Mark(':') {
            return self.rest_of_map(first);
        }
        let mut elements = vec![first];
        while !self.takes(']') {
            self.expect(',')?;
            self.check_count(elements.len())?;
            elements.push(self.element()?);
        }
        Ok(Object::list(elements))
    }

    fn rest_of_map(&mut self, first: Object) -> Result<Object, GremlinError> {
        let mut key = first;
        let mut pairs: Vec<(Object, Object)> = Vec::new();
        loop {
            self.expect(':')?;
            let value = self.element()?;
            match pairs.iter_mut().find(|(known, _)| *known == key) {
                Some(pair) => pair.1 = value,
                None => pairs.push((key, value)),
            }
            if self.takes(']') {
                return Ok(Object::map(pairs));
            }
            self.expect(',')?;
            self.check_count(pairs.len())?;
            key = self.element()?;
        }
    }

    /// `{a, b}`
    fn set(&mut self) -> Result<Object, GremlinError> {
        self.expect('{')?;
        let mut elements: Vec<Object> = Vec::new();
        let mut first = true;
        while !self.takes('}') {
            if !std::mem::take(&mut first) {
                self.expect(',')?;
            }
            self.check_count(elements.len())?;
            let element = self.element()?;
            if !elements.contains(&element) {
                elements.push(element);
            }
        }
        Ok(Object::Set(Arc::new(elements)))
    }

    /// An element of a collection: a value. A name before a colon is text (`[name: "x"]`).
    fn element(&mut self) -> Result<Object, GremlinError> {
        if let (Lexeme::Name(name), Lexeme::Mark(':')) = (self.peek().clone(), self.peek_at(1)) {
            self.advance();
            return Ok(Object::String(name));
        }
        let span = self.span();
        match self.argument()? {
            Argument::Value(value) => Ok(value),
            _ => Err(GremlinError::syntax("a collection holds values only", span)),
        }
    }

    /// The expression that a name just read begins.
    fn named(&mut self, name: Arc<str>, span: Span) -> Result<Argument, GremlinError> {
        match (&*name, self.peek()) {
            ("null", _) => Ok(Argument::Value(Object::Null)),
            ("true", _) => Ok(Argument::Value(Object::Bool(true))),
            ("false", _) => Ok(Argument::Value(Object::Bool(false))),
            ("NaN", _) => Ok(Argument::Value(Object::Double(f64::NAN))),
            ("Infinity", _) => Ok(Argument::Value(Object::Double(f64::INFINITY))),
            ("new", Lexeme::Name(_)) => {
                let class = self.name()?;
                self.strategy(class)
            }
            ("__", Lexeme::Mark('.')) => {
                let mut steps = Vec::new();
                self.more_steps(&mut steps)?;
                Ok(Argument::Traversal(Traversal { source: Vec::new(), steps }))
            }
            ("P" | "TextP", Lexeme::Mark('.')) => {
                self.advance();
                let name = self.name()?;
                self.predicate(&name, span)
            }
            (_, Lexeme::Mark('(')) => self.called(name, span),
            (_, Lexeme::Mark('.')) if begins_upper(&name) => self.dotted(&name, span),
            _ if name.ends_with("Strategy") => Ok(Argument::Strategy(Strategy { name, options: Vec::new() })),
            _ => self.bare(&name, span),
        }
    }

    /// A name without parentheses: a binding or a token.
    fn bare(&mut self, name: &str, span: Span) -> Result<Argument, GremlinError> {
        if let Some(bound) = self.bindings.get(name) {
            return Ok(bound.clone());
        }
        if let Some(token) = Token::bare(name) {
            return Ok(Argument::Value(Object::Token(token)));
        }
        let message = format!("{name} is neither a token nor bound to a value");
        let given = self.bindings.keys().map(String::as_str);
        let suggestion = text::nearest(name, given.chain(Token::ALL.iter().map(|token| token.name())));
        Err(GremlinError::new(ErrorKind::Binding, message, span).with_suggestion(suggestion))
    }

    /// `name(…)`: a function of values, a strategy, a predicate, or an anonymous traversal.
    fn called(&mut self, name: Arc<str>, span: Span) -> Result<Argument, GremlinError> {
        match &*name {
            "datetime" | "DateTime" => self.datetime(span),
            "UUID" => self.uuid(span),
            _ if name.ends_with("Strategy") && begins_upper(&name) => self.strategy(name),
            _ if Predicate::is_name(&name) => self.predicate(&name, span),
            "not" if self.holds_predicate() => self.predicate(&name, span),
            _ => {
                let mut steps: Vec<Instruction> = vec![self.instruction(name)?];
                self.more_steps(&mut steps)?;
                Ok(Argument::Traversal(Traversal { source: Vec::new(), steps }))
            }
        }
    }

    /// Is the first thing in the parentheses ahead a predicate? Another `not` is one if it holds one.
    fn holds_predicate(&self) -> bool {
        let mut ahead = 1;
        loop {
            match (self.peek_at(ahead), self.peek_at(ahead + 1)) {
                (Lexeme::Name(name), Lexeme::Mark('.')) => return matches!(&**name, "P" | "TextP"),
                (Lexeme::Name(name), Lexeme::Mark('(')) if &**name == "not" => ahead += 2,
                (Lexeme::Name(name), Lexeme::Mark('(')) => return Predicate::is_name(name),
                _ => return false,
            }
        }
    }

    /// `Class.word`, `Cardinality.set(value)`, `WithOptions.tokens`
    fn dotted(&mut self, class: &str, span: Span) -> Result<Argument, GremlinError> {
        let mut class = class.to_string();
        self.expect('.')?;
        let mut word = self.name()?;
        if matches!((&*class, &*word), ("VertexProperty", "Cardinality") | ("SackFunctions", "Barrier")) {
            class = format!("{class}.{word}");
            self.expect('.')?;
            word = self.name()?;
        }
        let span = span.to(self.behind());
        if class == "WithOptions" {
            return self.with_option(&word, span);
        }
        let Some(token) = Token::parse(&class, &word) else {
            return Err(GremlinError::new(ErrorKind::Unknown, format!("there is no {class}.{word}"), span));
        };
        match (Cardinality::of(token), self.peek()) {
            (Some(cardinality), Lexeme::Mark('(')) => {
                self.advance();
                let value = self.element()?;
                self.expect(')')?;
                Ok(Argument::Value(Object::Kept(Arc::new((cardinality, value)))))
            }
            _ => Ok(Argument::Value(Object::Token(token))),
        }
    }

    fn with_option(&self, word: &str, span: Span) -> Result<Argument, GremlinError> {
        Ok(Argument::Value(match word {
            "tokens" => Object::from("~tinkerpop.valueMap.tokens"),
            "none" | "list" => Object::Int(0),
            "ids" | "map" => Object::Int(1),
            "labels" => Object::Int(2),
            "keys" => Object::Int(4),
            "values" => Object::Int(8),
            "all" => Object::Int(15),
            "indexer" => Object::from("~tinkerpop.index.indexer"),
            _ => {
                return Err(GremlinError::new(
                    ErrorKind::Unknown,
                    format!("there is no WithOptions.{word}"),
                    span,
                ));
            }
        }))
    }

    /// A predicate, its name just read, and the predicates chained to it.
    fn predicate(&mut self, name: &str, span: Span) -> Result<Argument, GremlinError> {
        let first = match self.nested(|parser| parser.one_predicate(name, span))? {
            Some(first) => first,
            None => {
                let span = span.to(self.behind());
                return Err(GremlinError::new(
                    ErrorKind::Arguments,
                    format!("P.{name} does not take these arguments"),
                    span,
                ));
            }
        };
        let mut whole = first;
        while *self.peek() == Lexeme::Mark('.') {
            let Lexeme::Name(name) = self.peek_at(1).clone() else { break };
            match &*name {
                "and" | "or" => {
                    self.advance();
                    self.advance();
                    let span = self.span();
                    let mut others = self.nested(Self::arguments)?;
                    let (Some(Argument::Predicate(other)), true) = (others.pop(), others.is_empty()) else {
                        return Err(GremlinError::new(
                            ErrorKind::Arguments,
                            format!("{name} wants one predicate"),
                            span,
                        ));
                    };
                    whole = if &*name == "and" { whole.and(other) } else { whole.or(other) };
                    if whole.depth() > PREDICATE_DEPTH_MAX {
                        let message = format!("predicates are joined more than {PREDICATE_DEPTH_MAX} deep");
                        return Err(GremlinError::new(ErrorKind::Limit, message, span)
                            .with_hint("values belong into within(…)"));
                    }
                }
                "negate" => {
                    self.advance();
                    self.advance();
                    self.expect('(')?;
                    self.expect(')')?;
                    whole = whole.negate();
                }
                _ => break,
            }
        }
        Ok(Argument::Predicate(whole))
    }

    fn one_predicate(&mut self, name: &str, span: Span) -> Result<Option<Predicate>, GremlinError> {
        let mut arguments = self.arguments()?;
        if name == "not" {
            return Ok(match (arguments.pop(), arguments.is_empty()) {
                (Some(Argument::Predicate(inner)), true) => Some(inner.negate()),
                _ => None,
            });
        }
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                Argument::Value(value) => values.push(value),
                _ => {
                    let span = span.to(self.behind());
                    return Err(GremlinError::new(
                        ErrorKind::Arguments,
                        format!("P.{name} compares with values only"),
                        span,
                    ));
                }
            }
        }
        Ok(Predicate::of(name, values))
    }

    /// `SubgraphStrategy(vertices: …, edges: …)`, its name just read.
    fn strategy(&mut self, name: Arc<str>) -> Result<Argument, GremlinError> {
        let mut options = Vec::new();
        if self.takes('(') {
            while !self.takes(')') {
                if !options.is_empty() {
                    self.expect(',')?;
                }
                self.check_count(options.len())?;
                let key = self.name()?;
                self.expect(':')?;
                options.push((key, self.argument()?));
            }
        }
        Ok(Argument::Strategy(Strategy { name, options }))
    }

    fn datetime(&mut self, span: Span) -> Result<Argument, GremlinError> {
        let arguments = self.nested(Self::arguments)?;
        let span = span.to(self.behind());
        let text = match arguments.as_slice() {
            [Argument::Value(Object::String(text))] => text.clone(),
            [] => {
                let message = "datetime() without text would be the time of parsing";
                return Err(GremlinError::new(ErrorKind::Unsupported, message, span)
                    .with_hint("write the point in time as text"));
            }
            _ => return Err(GremlinError::new(ErrorKind::Arguments, "datetime wants one text", span)),
        };
        match crate::object::Instant::parse(&text) {
            Some(instant) => Ok(Argument::Value(Object::DateTime(Arc::new(instant)))),
            None => Err(GremlinError::new(
                ErrorKind::Arguments,
                format!("{text:?} is no point in time of ISO 8601"),
                span,
            )),
        }
    }

    fn uuid(&mut self, span: Span) -> Result<Argument, GremlinError> {
        let arguments = self.nested(Self::arguments)?;
        let span = span.to(self.behind());
        match arguments.as_slice() {
            [Argument::Value(Object::String(text))] => match crate::object::parse_uuid(text) {
                Some(uuid) => Ok(Argument::Value(Object::Uuid(Arc::new(uuid)))),
                None => Err(GremlinError::new(ErrorKind::Arguments, format!("{text:?} is no UUID"), span)),
            },
            [] => {
                let message = "UUID() without text would be made by chance at parsing";
                Err(GremlinError::new(ErrorKind::Unsupported, message, span)
                    .with_hint("write the UUID as text, or send it as a binding"))
            }
            _ => Err(GremlinError::new(ErrorKind::Arguments, "UUID wants one text", span)),
        }
    }
}

fn outgrown(span: Span) -> GremlinError {
    GremlinError::syntax("the number does not fit the width its suffix names", span)
}

fn begins_upper(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_uppercase())
}
