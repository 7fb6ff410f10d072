//! The smallest expressions: literals, variables, calls, `CASE`, maps, map projections, groups.

use super::{Parsed, Parser};
use crate::ast::{
    Case, Expression, ExpressionKind, FunctionCall, Literal, MapProjectionItem, Name, Quantity,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// An operand without operators.
    pub(super) fn primary(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let kind = match self.kind(0) {
            TokenKind::Symbol("(") => return self.group_or_pattern(),
            TokenKind::Symbol("[") => self.list_like()?,
            TokenKind::Symbol("{") => ExpressionKind::Map(self.map_entries()?),
            TokenKind::Word => self.word_expression()?,
            TokenKind::Quoted(_) => self.named()?,
            TokenKind::Symbol(_) | TokenKind::Invalid | TokenKind::End => {
                return Err(self.unexpected("an expression"));
            }
            _ => self.literal()?,
        };
        Ok(Expression { kind, span: self.since(start) })
    }

    fn literal(&mut self) -> Parsed<ExpressionKind> {
        let literal = match self.kind(0).clone() {
            TokenKind::Integer(magnitude) => self.integer_literal(magnitude, self.span())?,
            TokenKind::Float(value) => Literal::Float(value),
            TokenKind::Text(value) => Literal::String(value),
            TokenKind::Parameter(name) => {
                self.bump();
                return Ok(ExpressionKind::Parameter(name));
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.bump();
        Ok(ExpressionKind::Literal(literal))
    }

    /// `(expression)`, or a pattern that begins with a node.
    fn group_or_pattern(&mut self) -> Parsed<Expression> {
        if self.at_path() {
            let start = self.span();
            let pattern = self.nested(Self::path_pattern)?;
            return Ok(Expression {
                kind: ExpressionKind::Pattern(Box::new(pattern)),
                span: self.since(start),
            });
        }
        self.bump();
        let inner = self.in_brackets(false, Self::expression)?;
        self.expect_symbol(")")?;
        Ok(inner)
    }

    /// An expression that begins with a word: a keyword where the next tokens fit it, else a name.
    fn word_expression(&mut self) -> Parsed<ExpressionKind> {
        let word = self.word(0).unwrap_or("").to_ascii_uppercase();
        let called = self.is_symbol(1, "(");
        let braced = self.is_symbol(1, "{") && !self.is_symbol(2, ".");
        let bound = called && self.is_name(2) && self.is_word(3, "IN");
        match word.as_str() {
            "TRUE" | "FALSE" | "NULL" if !called && !self.is_symbol(1, ".") => {
                Ok(self.keyword_literal(&word))
            }
            "CASE" if self.starts_operand(1) && !self.ends_expression(1) => self.case(),
            "COUNT" if called && self.is_symbol(2, "*") && self.is_symbol(3, ")") => {
                (0..4).for_each(|_| self.bump());
                Ok(ExpressionKind::CountAll)
            }
            "EXISTS" if braced => Ok(ExpressionKind::Exists(self.subquery()?)),
            "COUNT" if braced => Ok(ExpressionKind::Count(self.subquery()?)),
            "COLLECT" if braced => self.collect_subquery(),
            "ALL" if bound => self.quantified(Quantity::All),
            "ANY" if bound => self.quantified(Quantity::Any),
            "NONE" if bound => self.quantified(Quantity::None),
            "SINGLE" if bound => self.quantified(Quantity::Single),
            "REDUCE" if called && self.is_name(2) && self.is_symbol(3, "=") => self.reduce(),
            "SHORTESTPATH" | "ALLSHORTESTPATHS" if called => {
                let pattern = self.nested(Self::path_pattern)?;
                Ok(ExpressionKind::Pattern(Box::new(pattern)))
            }
            _ => self.named(),
        }
    }

    /// Whether the word `ahead` ends an expression rather than beginning one: `RETURN case ORDER BY case`.
    fn ends_expression(&self, ahead: usize) -> bool {
        let followers = [
            "ORDER", "SKIP", "LIMIT", "RETURN", "WITH", "WHERE", "UNION", "SET", "CREATE", "MERGE", "UNWIND",
        ];
        self.is_word_of(ahead, &followers)
            && !self.is_word(ahead + 1, "WHEN")
            && !self.is_symbol(ahead + 1, ".")
    }

    fn keyword_literal(&mut self, word: &str) -> ExpressionKind {
        self.bump();
        ExpressionKind::Literal(match word {
            "TRUE" => Literal::Boolean(true),
            "FALSE" => Literal::Boolean(false),
            _ => Literal::Null,
        })
    }

    /// A variable, a call, or a map projection.
    fn named(&mut self) -> Parsed<ExpressionKind> {
        let mut dots = 0;
        while self.is_symbol(2 * dots + 1, ".") && self.is_name(2 * dots + 2) {
            dots += 1;
        }
        if self.is_symbol(2 * dots + 1, "(") {
            return self.call(dots).map(ExpressionKind::Function);
        }
        let name = self.name("a variable")?;
        if self.at_symbol("{") {
            let items = self.braced_items(Self::map_projection_item)?;
            return Ok(ExpressionKind::MapProjection(name, items));
        }
        Ok(ExpressionKind::Variable(name.text))
    }

    fn call(&mut self, dots: usize) -> Parsed<FunctionCall> {
        let mut name = vec![self.name("a function")?];
        for _ in 0..dots {
            self.expect_symbol(".")?;
            name.push(self.name("a function")?);
        }
        self.expect_symbol("(")?;
        let distinct = self.is_word(0, "DISTINCT") && self.starts_operand(1) && self.eat_word("DISTINCT");
        let arguments = if self.at_symbol(")") {
            Vec::new()
        } else {
            self.in_brackets(false, |parser| parser.comma_separated(Self::expression))?
        };
        self.expect_symbol(")")?;
        Ok(FunctionCall { name, distinct, arguments })
    }

    fn case(&mut self) -> Parsed<ExpressionKind> {
        self.bump();
        let at_when = self.is_word(0, "WHEN") && self.starts_operand(1);
        let subject = if at_when { None } else { Some(self.boxed_expression()?) };
        let mut branches = Vec::new();
        while self.eat_word("WHEN") {
            let when = self.expression()?;
            self.expect_word("THEN")?;
            branches.push((when, self.expression()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = if self.eat_word("ELSE") { Some(self.boxed_expression()?) } else { None };
        self.expect_word("END")?;
        Ok(ExpressionKind::Case(Case { subject, branches, otherwise }))
    }

    /// `{key: value, …}`.
    pub(super) fn map_entries(&mut self) -> Parsed<Vec<(Name, Expression)>> {
        self.braced_items(|parser| {
            let key = parser.name("a property name")?;
            parser.expect_symbol(":")?;
            Ok((key, parser.expression()?))
        })
    }

    /// Items between braces and commas, possibly none.
    fn braced_items<T>(&mut self, item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect_symbol("{")?;
        let items = if self.at_symbol("}") {
            Vec::new()
        } else {
            self.in_brackets(false, |parser| parser.comma_separated(item))?
        };
        self.expect_symbol("}")?;
        Ok(items)
    }

    fn map_projection_item(&mut self) -> Parsed<MapProjectionItem> {
        if self.eat_symbol(".") {
            if self.eat_symbol("*") {
                return Ok(MapProjectionItem::AllProperties);
            }
            return Ok(MapProjectionItem::Property(self.name("a property name or *")?));
        }
        let name = self.name("a property name")?;
        if self.eat_symbol(":") {
            return Ok(MapProjectionItem::Entry(name, self.expression()?));
        }
        Ok(MapProjectionItem::Variable(name))
    }
}
