//! Tokens to clauses, by recursive descent.

use crate::clause::{Clause, Said, SaidAtom, SaidExpr, SaidLiteral, SaidName};
use crate::error::{DatalogError, ErrorKind};
use crate::limits::{ARITY_MAX, DEPTH_MAX, LITERALS_MAX, OPERATORS_MAX, TEXT_BYTES_MAX};
use crate::program::{AggregateKind, Operator, Order};
use crate::token::{Spanned, Token, tokens};
use model::Value;
use std::sync::Arc;
use text::Span;

type ParseResult<T> = Result<T, DatalogError>;

struct Parser {
    tokens: Vec<Spanned>,
    at: usize,
    depth: usize,
    /// Operators of the present clause.
    operators: usize,
    /// `?` seen: each is a variable of its own.
    questions: usize,
}

pub(crate) fn parse(text: &str) -> ParseResult<Vec<Clause>> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the program is longer than {TEXT_BYTES_MAX} bytes");
        return Err(DatalogError::new(ErrorKind::Limit, message, Span::default())
            .with_hint("give facts as a parameter or a file, by .input"));
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, operators: 0, questions: 0 };
    let mut clauses = Vec::new();
    while parser.peek() != &Token::End {
        clauses.push(parser.clause()?);
    }
    Ok(clauses)
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }
    fn peek_at(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].token
    }
    fn span(&self) -> Span {
        self.tokens[self.at].span
    }
    /// From `start` to the token just taken.
    fn since(&self, start: Span) -> Span {
        start.to(self.tokens[self.at.saturating_sub(1)].span)
    }
    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }
    fn eat(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Token::Sign(found) if *found == sign);
        if is_it {
            self.advance();
        }
        is_it
    }
    fn is_sign(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.peek_at(ahead), Token::Sign(found) if *found == sign)
    }
    fn expect(&mut self, sign: &str, after: &str) -> ParseResult<()> {
        if self.eat(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}` {after}"))) }
    }
    fn unexpected(&self, wanted: &str) -> DatalogError {
        let found = match self.peek() {
            Token::Name(name) => format!("`{name}`"),
            Token::Int(number) => number.to_string(),
            Token::Float(number) => number.to_string(),
            Token::Text(text) => format!("'{text}'"),
            Token::Parameter(name) => format!("${name}"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the program".to_string(),
        };
        DatalogError::new(ErrorKind::Syntax, format!("expected {wanted}, found {found}"), self.span())
    }

    /// Takes an operator, of which a clause has not too many: expressions are walked by recursion.
    fn operator(&mut self) -> ParseResult<()> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            let message = format!("more than {OPERATORS_MAX} operators in one rule");
            return Err(DatalogError::new(ErrorKind::Limit, message, self.span()));
        }
        self.advance();
        Ok(())
    }
    fn clause(&mut self) -> ParseResult<Clause> {
        self.operators = 0;
        if self.eat("?-") {
            let atom = self.atom()?;
            self.expect(".", "at the end of the question")?;
            return Ok(Clause::Question(atom));
        }
        if self.is_sign(0, ".") && matches!(self.peek_at(1), Token::Name(name) if name == "input") {
            return self.input();
        }
        let head = self.atom()?;
        let mut body = Vec::new();
        if self.eat(":-") || self.eat("<-") {
            body.push(self.literal()?);
            while self.eat(",") {
                if body.len() == LITERALS_MAX {
                    let message = format!("more than {LITERALS_MAX} parts in the body of one rule");
                    return Err(DatalogError::new(ErrorKind::Limit, message, self.span())
                        .with_hint("split the rule: let one rule define what another reads"));
                }
                body.push(self.literal()?);
            }
        }
        if self.is_sign(0, ";") {
            return Err(self.unexpected("`,` or `.`").with_hint("write two rules instead of `;`"));
        }
        self.expect(".", "at the end of the rule").map_err(|error| match error.hint {
            None => error.with_hint("parts of a rule are separated by `,`, rules end with `.`"),
            Some(_) => error,
        })?;
        Ok(Clause::Rule { head, body })
    }
    /// `.input name(columns, from)`
    fn input(&mut self) -> ParseResult<Clause> {
        let start = self.span();
        self.advance();
        self.advance();
        let name = self.relation_name()?;
        self.expect("(", "after the relation's name")?;
        let columns = match self.advance() {
            Token::Int(columns) if (1..=ARITY_MAX as i64).contains(&columns) => columns as usize,
            _ => {
                self.at -= 1;
                let wanted = format!("the number of columns, 1 to {ARITY_MAX}");
                return Err(self
                    .unexpected(&wanted)
                    .with_hint(".input edge(2, 'edges.csv')  or  .input edge(2, $rows)"));
            }
        };
        self.expect(",", "after the number of columns")?;
        let from = self.expr()?;
        if !matches!(from.said, Said::Parameter(_) | Said::Constant(Value::String(_))) {
            let message = "facts come from a file's name or from a parameter";
            return Err(DatalogError::new(ErrorKind::Syntax, message, from.span)
                .with_hint(".input edge(2, 'edges.csv')  or  .input edge(2, $rows)"));
        }
        self.expect(")", "at the end of the input")?;
        let another = matches!(self.peek_at(1), Token::Name(name) if name == "input");
        if !another {
            self.eat(".");
        }
        Ok(Clause::Input { name, from, columns, span: self.since(start) })
    }
    /// Is a relation's name, perhaps of two parts, followed by `(`?
    fn at_atom(&self) -> bool {
        let opens = |ahead: usize| self.is_sign(ahead, "(");
        let is_name = |ahead: usize| matches!(self.peek_at(ahead), Token::Name(_));
        let joined = || {
            let end = |ahead: usize| self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].span;
            end(0).end == end(1).start && end(1).end == end(2).start
        };
        let dotted = self.is_sign(1, ".") && is_name(2) && opens(3) && joined();
        (is_name(0) && (opens(1) || dotted)) || (self.is_sign(0, "_") && dotted)
    }
    fn relation_name(&mut self) -> ParseResult<SaidName> {
        let is_any = self.is_sign(0, "_") && self.is_sign(1, ".");
        let first: Arc<str> = match self.peek() {
            Token::Name(name) => name.as_str().into(),
            _ if is_any => "_".into(),
            _ => {
                return Err(self
                    .unexpected("the name of a relation")
                    .with_hint("a rule begins like reach(x, y) :- …"));
            }
        };
        self.advance();
        let mut second = None;
        if self.is_sign(0, ".") && self.is_sign(2, "(") && matches!(self.peek_at(1), Token::Name(_)) {
            self.advance();
            if let Token::Name(name) = self.advance() {
                second = Some(name.as_str().into());
            }
        }
        Ok(SaidName { first, second })
    }
    fn atom(&mut self) -> ParseResult<SaidAtom> {
        let start = self.span();
        let name = self.relation_name()?;
        self.expect("(", "after the relation's name")?;
        let mut terms = Vec::new();
        if !self.eat(")") {
            loop {
                terms.push(self.expr()?);
                if self.eat(")") {
                    break;
                }
                self.expect(",", "or `)` after a column")?;
            }
        }
        let span = self.since(start);
        if terms.len() > ARITY_MAX {
            let message = format!("`{name}` has {} columns, at most {ARITY_MAX} are allowed", terms.len());
            return Err(DatalogError::new(ErrorKind::Limit, message, span));
        }
        Ok(SaidAtom { name, terms, span })
    }
    fn literal(&mut self) -> ParseResult<SaidLiteral> {
        let says_not = matches!(self.peek(), Token::Name(name) if name.eq_ignore_ascii_case("not"))
            && !self.is_sign(1, "(");
        if self.is_sign(0, "!") || says_not {
            self.advance();
            return Ok(SaidLiteral::Absent(self.atom()?));
        }
        if self.at_atom() {
            let atom = self.atom()?;
            let is_part = [",", ".", ";"].iter().any(|sign| self.is_sign(0, sign));
            if !is_part
                && matches!(self.peek(), Token::Sign(sign) if !matches!(*sign, "!" | "?-" | ":-" | "<-" | "("))
            {
                let message = format!("`{}` has no value: there are no functions in a body", atom.name);
                return Err(DatalogError::new(ErrorKind::Syntax, message, atom.span).with_hint(
                    "an aggregate stands in the head of a rule: total(x, sum(y)) :- part(x, y).",
                ));
            }
            return Ok(SaidLiteral::Holds(atom));
        }
        let left = self.expr()?;
        let order = match self.peek() {
            Token::Sign("=") => Order::Equal,
            Token::Sign("!=" | "<>") => Order::Unequal,
            Token::Sign("<") => Order::Less,
            Token::Sign("<=") => Order::LessOrEqual,
            Token::Sign(">") => Order::Greater,
            Token::Sign(">=") => Order::GreaterOrEqual,
            _ => return Err(self.unexpected("a comparison")),
        };
        self.advance();
        Ok(SaidLiteral::Compare(order, left, self.expr()?))
    }

    fn expr(&mut self) -> ParseResult<SaidExpr> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} parentheses in one another");
            return Err(DatalogError::new(ErrorKind::Limit, message, self.span()));
        }
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Token::Sign("+") => Operator::Add,
                Token::Sign("-") => Operator::Subtract,
                _ => break,
            };
            self.operator()?;
            let right = self.product()?;
            left = binary(operator, left, right);
        }
        self.depth -= 1;
        Ok(left)
    }
    fn product(&mut self) -> ParseResult<SaidExpr> {
        let mut left = self.factor()?;
        loop {
            let operator = match self.peek() {
                Token::Sign("*") => Operator::Multiply,
                Token::Sign("/") => Operator::Divide,
                Token::Sign("%") => Operator::Remainder,
                _ => return Ok(left),
            };
            self.operator()?;
            let right = self.factor()?;
            left = binary(operator, left, right);
        }
    }
    fn factor(&mut self) -> ParseResult<SaidExpr> {
        let start = self.span();
        if self.is_sign(0, "-") {
            let mut signs = 0;
            while self.eat("-") {
                signs += 1;
            }
            let inner = self.primary()?;
            let span = self.since(start);
            return Ok(match inner.said {
                _ if signs % 2 == 0 => inner,
                Said::Constant(Value::Int(number)) => {
                    SaidExpr { said: Said::Constant(Value::Int(-number)), span }
                }
                Said::Constant(Value::Float(number)) => {
                    SaidExpr { said: Said::Constant(Value::Float(-number)), span }
                }
                _ => SaidExpr { said: Said::Negate(Box::new(inner)), span },
            });
        }
        self.primary()
    }
    fn primary(&mut self) -> ParseResult<SaidExpr> {
        let start = self.span();
        if let (Token::Name(name), true) = (self.peek().clone(), self.is_sign(1, "(")) {
            return self.aggregate(&name);
        }
        let said = match self.advance() {
            Token::Name(name) => match name.as_str() {
                "true" => Said::Constant(Value::Bool(true)),
                "false" => Said::Constant(Value::Bool(false)),
                _ => Said::Variable(name.as_str().into()),
            },
            Token::Int(number) => Said::Constant(Value::Int(number)),
            Token::Float(number) => Said::Constant(Value::Float(number)),
            Token::Text(text) => Said::Constant(Value::String(text.as_str().into())),
            Token::Parameter(name) => Said::Parameter(name.as_str().into()),
            Token::Sign("_") => Said::Any,
            Token::Sign("?") => {
                self.questions += 1;
                Said::Variable(format!("?{}", self.questions).into())
            }
            Token::Sign("(") => {
                let inner = self.expr()?;
                self.expect(")", "at the end of the parentheses")?;
                return Ok(SaidExpr { said: inner.said, span: self.since(start) });
            }
            other => {
                if other != Token::End {
                    self.at -= 1;
                }
                return Err(self.unexpected("a variable or a value"));
            }
        };
        Ok(SaidExpr { said, span: start })
    }
    fn aggregate(&mut self, name: &str) -> ParseResult<SaidExpr> {
        let start = self.span();
        let kind = match name.to_ascii_lowercase().as_str() {
            "count" => AggregateKind::Count,
            "sum" => AggregateKind::Sum,
            "min" => AggregateKind::Min,
            "max" => AggregateKind::Max,
            "avg" => AggregateKind::Avg,
            _ => {
                let message = format!("there is no function `{name}`");
                return Err(DatalogError::new(ErrorKind::Unknown, message, start).with_hint(
                    "aggregates are count(), sum(x), min(x), max(x) and avg(x), in the head of a rule",
                ));
            }
        };
        self.advance();
        self.advance();
        let inner = match self.is_sign(0, ")") {
            true => None,
            false => Some(Box::new(self.expr()?)),
        };
        self.expect(")", "at the end of the aggregate")?;
        let span = self.since(start);
        match (kind, &inner) {
            (AggregateKind::Count, Some(_)) => Err(DatalogError::new(
                ErrorKind::Syntax,
                "count() takes no argument",
                span,
            )
            .with_hint("it counts the bindings of the variables that the rule names; write _ for those that do not matter")),
            (AggregateKind::Count, None) | (_, Some(_)) => Ok(SaidExpr { said: Said::Aggregate(kind, inner), span }),
            (_, None) => {
                Err(DatalogError::new(ErrorKind::Syntax, format!("{name}() takes what to aggregate"), span))
            }
        }
    }
}

fn binary(operator: Operator, left: SaidExpr, right: SaidExpr) -> SaidExpr {
    let span = left.span.to(right.span);
    SaidExpr { said: Said::Binary(operator, Box::new(left), Box::new(right)), span }
}
