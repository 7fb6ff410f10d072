//! Operators by precedence climbing, from the weakest to the strongest:
//! `OR`, `XOR`, `AND`, `NOT`, comparisons, predicates (`IN`, `CONTAINS`, `IS NULL`, `:Label`, …), sums, products, `^`, signs,
//! and then property, index and slice.
//!
//! `AND`, `OR`, `XOR` and comparisons become one node however long their chain is; the other operators lean to the left.

use super::{Parsed, Parser};
use crate::ast::{BinaryOperator, ComparisonOperator, Expression, ExpressionKind, Literal, UnaryOperator};
use crate::lexer::{TokenKind, literal::integer_overflow};
use text::Span;

/// How strongly an operator binds; operands of a level are read at the next one.
type Precedence = u8;
const OR: Precedence = 1;
const XOR: Precedence = 2;
const AND: Precedence = 3;
const NOT: Precedence = 4;
const COMPARISON: Precedence = 5;
const PREDICATE: Precedence = 6;
const SUM: Precedence = 7;
const PRODUCT: Precedence = 8;
const POWER: Precedence = 9;

/// Words that stand between or after operands, so that before them a keyword such as `NOT` can only be a name.
const INFIX_WORDS: [&str; 9] = ["AND", "OR", "XOR", "IN", "STARTS", "ENDS", "CONTAINS", "IS", "AS"];

/// An infix operator after an operand.
#[derive(Clone, Copy)]
enum Infix {
    Logical(Precedence),
    Comparison,
    Binary(BinaryOperator, Precedence, usize),
    Is,
    Labels,
}

impl Infix {
    fn level(self) -> Precedence {
        match self {
            Infix::Logical(level) | Infix::Binary(_, level, _) => level,
            Infix::Comparison => COMPARISON,
            Infix::Is | Infix::Labels => PREDICATE,
        }
    }
}

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.nested(|parser| parser.operators(OR))
    }

    /// Any expression, on the heap.
    pub(super) fn boxed_expression(&mut self) -> Parsed<Box<Expression>> {
        self.expression().map(Box::new)
    }

    /// Operators that bind at least as strongly as `least`, with their operands.
    fn operators(&mut self, least: Precedence) -> Parsed<Expression> {
        let start = self.span();
        let mut left = self.prefixed()?;
        while let Some(infix) = self.infix().filter(|infix| infix.level() >= least) {
            let kind = self.operation(left, infix)?;
            self.grow()?;
            left = Expression { kind, span: self.since(start) };
        }
        Ok(left)
    }

    /// A `WHEN` condition on the subject of its CASE without naming it: `< 3`, `IS NULL`, `STARTS WITH 'a'`. None: a value.
    pub(super) fn about_subject(&mut self) -> Parsed<Option<Expression>> {
        let start = self.span();
        let tests = match self.infix() {
            Some(Infix::Comparison | Infix::Is) => !self.is_symbol(1, "."),
            Some(Infix::Binary(operator, ..)) => {
                use BinaryOperator::{Contains, EndsWith, In, Matches, StartsWith};
                matches!(operator, In | StartsWith | EndsWith | Contains | Matches)
            }
            _ => false,
        };
        let is_name = self.word(0).is_some() && !self.starts_test();
        let Some(infix) = self.infix().filter(|_| tests && !is_name) else { return Ok(None) };
        let subject = Expression { kind: ExpressionKind::CaseSubject, span: start };
        let kind = match infix {
            // One comparison only: a chain would say more than one thing of the subject.
            Infix::Comparison => {
                let TokenKind::Symbol(symbol) = *self.kind(0) else { return Ok(None) };
                let Some(operator) = comparison_operator(symbol) else { return Ok(None) };
                self.bump();
                let right = self.operators(COMPARISON + 1)?;
                ExpressionKind::Comparison(Box::new(subject), vec![(operator, right)])
            }
            other => self.operation(subject, other)?,
        };
        Ok(Some(Expression { kind, span: self.since(start) }))
    }

    /// Whether the word here is an operator with its operand, rather than a variable of that name.
    fn starts_test(&self) -> bool {
        if self.is_word(0, "IS") {
            return self.is_word_of(1, &["NOT", "NULL", "TYPED", "NORMALIZED", "NFC", "NFD", "NFKC", "NFKD"])
                || self.is_symbol(1, "::");
        }
        let words = if self.is_word_of(0, &["STARTS", "ENDS"]) { 2 } else { 1 };
        self.starts_operand(words) && !self.is_word_of(words, &["THEN"])
    }

    /// An operator and its right side. Apart from `operators`, so that the frames of nested brackets stay small.
    fn operation(&mut self, left: Expression, infix: Infix) -> Parsed<ExpressionKind> {
        match infix {
            Infix::Logical(level) => self.logical(left, level),
            Infix::Comparison => self.comparison(left),
            Infix::Binary(operator, level, words) => {
                (0..words).for_each(|_| self.bump());
                let right = self.operators(level + 1)?;
                Ok(ExpressionKind::Binary(operator, Box::new(left), Box::new(right)))
            }
            Infix::Is => self.is_predicate(left),
            Infix::Labels => {
                self.bump();
                Ok(ExpressionKind::HasLabels(Box::new(left), self.label_expression()?))
            }
        }
    }

    fn infix(&self) -> Option<Infix> {
        match self.kind(0) {
            TokenKind::Symbol(symbol) => symbol_infix(symbol),
            TokenKind::Word => self.word_infix(),
            _ => None,
        }
    }

    fn word_infix(&self) -> Option<Infix> {
        let binary = |operator, words| Some(Infix::Binary(operator, PREDICATE, words));
        let word = self.word(0)?.to_ascii_uppercase();
        match word.as_str() {
            "OR" => Some(Infix::Logical(OR)),
            "XOR" => Some(Infix::Logical(XOR)),
            "AND" => Some(Infix::Logical(AND)),
            "IN" => binary(BinaryOperator::In, 1),
            "CONTAINS" => binary(BinaryOperator::Contains, 1),
            "STARTS" if self.is_word(1, "WITH") => binary(BinaryOperator::StartsWith, 2),
            "ENDS" if self.is_word(1, "WITH") => binary(BinaryOperator::EndsWith, 2),
            "IS" => Some(Infix::Is),
            _ => None,
        }
    }

    fn logical(&mut self, first: Expression, level: Precedence) -> Parsed<ExpressionKind> {
        let mut operands = vec![first];
        while matches!(self.infix(), Some(Infix::Logical(found)) if found == level) {
            self.bump();
            operands.push(self.operators(level + 1)?);
        }
        Ok(match level {
            OR => ExpressionKind::Or(operands),
            XOR => ExpressionKind::Xor(operands),
            _ => ExpressionKind::And(operands),
        })
    }

    fn comparison(&mut self, first: Expression) -> Parsed<ExpressionKind> {
        let mut rest = Vec::new();
        while let TokenKind::Symbol(symbol) = self.kind(0) {
            let Some(operator) = comparison_operator(symbol) else { break };
            self.bump();
            rest.push((operator, self.operators(COMPARISON + 1)?));
        }
        Ok(ExpressionKind::Comparison(Box::new(first), rest))
    }

    /// `IS [NOT] NULL`, `IS [NOT] :: TYPE`, `:: TYPE`, `IS [NOT] NORMALIZED`.
    fn is_predicate(&mut self, operand: Expression) -> Parsed<ExpressionKind> {
        if self.eat_symbol("::") {
            let (operand, wanted) = (Box::new(operand), self.type_test()?);
            return Ok(ExpressionKind::IsTyped { operand, wanted, negated: false });
        }
        self.bump();
        let negated = self.eat_word("NOT");
        let operand = Box::new(operand);
        if self.eat_word("NULL") {
            return Ok(ExpressionKind::IsNull { operand, negated });
        }
        if self.eat_symbol("::") || self.eat_word("TYPED") {
            let wanted = self.type_test()?;
            return Ok(ExpressionKind::IsTyped { operand, wanted, negated });
        }
        let form = self.normal_form().filter(|_| self.is_word(1, "NORMALIZED"));
        if form.is_some() || self.is_word(0, "NORMALIZED") {
            (0..1 + usize::from(form.is_some())).for_each(|_| self.bump());
            let form = form.unwrap_or("NFC").to_string();
            return Ok(ExpressionKind::IsNormalized { operand, form, negated });
        }
        Err(self.unexpected("NULL, NOT NULL, :: and a type, or NORMALIZED"))
    }

    /// `NOT`, signs, and their operands.
    fn prefixed(&mut self) -> Parsed<Expression> {
        let start = self.span();
        if self.is_word(0, "NOT") && self.starts_operand(1) {
            self.bump();
            let operand = self.nested(|parser| parser.operators(NOT))?;
            return Ok(self.unary(UnaryOperator::Not, operand, start));
        }
        if self.at_symbol("-") || self.at_symbol("+") {
            let operator = if self.at_symbol("-") { UnaryOperator::Minus } else { UnaryOperator::Plus };
            self.bump();
            if let Some(literal) = self.negative_number(operator, start)? {
                return Ok(literal);
            }
            let operand = self.nested(Self::prefixed)?;
            return Ok(self.unary(operator, operand, start));
        }
        self.postfixed()
    }

    /// The normal form of Unicode that is named here.
    pub(super) fn normal_form(&self) -> Option<&'static str> {
        ["NFC", "NFD", "NFKC", "NFKD"].into_iter().find(|form| self.is_word(0, form))
    }

    fn unary(&self, operator: UnaryOperator, operand: Expression, start: Span) -> Expression {
        Expression { kind: ExpressionKind::Unary(operator, Box::new(operand)), span: self.since(start) }
    }

    /// `-5` is a literal, because the least integer has no positive twin.
    fn negative_number(&mut self, operator: UnaryOperator, start: Span) -> Parsed<Option<Expression>> {
        if operator != UnaryOperator::Minus || self.is_symbol(1, ".") || self.is_symbol(1, "[") {
            return Ok(None);
        }
        let literal = match *self.kind(0) {
            TokenKind::Integer(magnitude) => Literal::Integer(0i64.wrapping_sub_unsigned(magnitude)),
            TokenKind::Float(value) => Literal::Float(-value),
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(Expression { kind: ExpressionKind::Literal(literal), span: self.since(start) }))
    }

    /// A primary expression with its properties, indexes and slices.
    pub(super) fn postfixed(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let mut target = self.primary()?;
        loop {
            let kind = if self.eat_symbol(".") {
                ExpressionKind::Property(Box::new(target), self.name("a property name")?)
            } else if self.eat_symbol("[") {
                self.in_brackets(false, |parser| parser.index_or_slice(target))?
            } else {
                return Ok(target);
            };
            self.grow()?;
            target = Expression { kind, span: self.since(start) };
        }
    }

    fn index_or_slice(&mut self, target: Expression) -> Parsed<ExpressionKind> {
        let target = Box::new(target);
        let from = if self.at_symbol("..") { None } else { Some(self.boxed_expression()?) };
        if !self.eat_symbol("..") {
            self.expect_symbol("]")?;
            let index = from.expect("without a range there is an index");
            return Ok(ExpressionKind::Index(target, index));
        }
        let to = if self.at_symbol("]") { None } else { Some(self.boxed_expression()?) };
        self.expect_symbol("]")?;
        Ok(ExpressionKind::Slice(target, from, to))
    }

    /// A positive integer literal.
    pub(super) fn integer_literal(&self, magnitude: u64, span: Span) -> Parsed<Literal> {
        i64::try_from(magnitude).map(Literal::Integer).map_err(|_| integer_overflow(span).into())
    }

    /// Whether a word that can be an operator is a variable, as no operand follows it: `NOT in`, `DISTINCT and RETURN`.
    fn is_operand_word(&self, ahead: usize) -> bool {
        match self.kind(ahead + 1) {
            TokenKind::End => true,
            TokenKind::Symbol(symbol) => !matches!(*symbol, "(" | "[" | "{" | "-" | "+" | "::"),
            TokenKind::Word => self.is_word(ahead + 1, "WHEN") || self.ends_expression(ahead + 1),
            _ => false,
        }
    }

    /// Whether an operand may begin `ahead` tokens from here.
    pub(super) fn starts_operand(&self, ahead: usize) -> bool {
        match self.kind(ahead) {
            TokenKind::Word => !self.is_word_of(ahead, &INFIX_WORDS) || self.is_operand_word(ahead),
            // Braces with a dot are those of a map projection, and what stands before them is its variable.
            TokenKind::Symbol("{") => !self.is_symbol(ahead + 1, "."),
            TokenKind::Symbol(symbol) => matches!(*symbol, "(" | "[" | "-" | "+"),
            TokenKind::End => false,
            _ => true,
        }
    }
}

fn symbol_infix(symbol: &str) -> Option<Infix> {
    let binary = |operator, level| Some(Infix::Binary(operator, level, 1));
    match symbol {
        "+" => binary(BinaryOperator::Add, SUM),
        "-" => binary(BinaryOperator::Subtract, SUM),
        "||" => binary(BinaryOperator::Concatenate, SUM),
        "*" => binary(BinaryOperator::Multiply, PRODUCT),
        "/" => binary(BinaryOperator::Divide, PRODUCT),
        "%" => binary(BinaryOperator::Modulo, PRODUCT),
        "^" => binary(BinaryOperator::Power, POWER),
        "=~" => binary(BinaryOperator::Matches, PREDICATE),
        ":" => Some(Infix::Labels),
        "::" => Some(Infix::Is),
        _ => comparison_operator(symbol).map(|_| Infix::Comparison),
    }
}

fn comparison_operator(symbol: &str) -> Option<ComparisonOperator> {
    Some(match symbol {
        "=" => ComparisonOperator::Equal,
        "<>" => ComparisonOperator::NotEqual,
        "<" => ComparisonOperator::Less,
        "<=" => ComparisonOperator::LessOrEqual,
        ">" => ComparisonOperator::Greater,
        ">=" => ComparisonOperator::GreaterOrEqual,
        _ => return None,
    })
}
