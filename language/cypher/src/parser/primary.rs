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

    /// Whether the word `ahead` ends an expression rather than beginning one: `RETURN case ORDER BY case`. It does not where an operator
    /// follows it: `CASE order = 1 WHEN …`.
    pub(super) fn ends_expression(&self, ahead: usize) -> bool {
        let followers = [
            "ORDER",
            "SKIP",
            "OFFSET",
            "LIMIT",
            "RETURN",
            "WITH",
            "WHERE",
            "UNION",
            "SET",
            "CREATE",
            "INSERT",
            "MERGE",
            "UNWIND",
            "MATCH",
            "OPTIONAL",
            "REMOVE",
            "DELETE",
            "DETACH",
            "NODETACH",
            "FOREACH",
            "CALL",
            "LOAD",
            "FINISH",
            "ASC",
            "ASCENDING",
            "DESC",
            "DESCENDING",
            "THEN",
            "ELSE",
            "END",
        ];
        if !self.is_word_of(ahead, &followers) {
            return false;
        }
        let operators =
            [".", "[", "=", "<>", "<", "<=", ">", ">=", "=~", "+", "/", "%", "^", "||", ":", "::", "*", "-"];
        let binds = operators.iter().any(|operator| self.is_symbol(ahead + 1, operator))
            || self.is_word_of(
                ahead + 1,
                &["WHEN", "AND", "OR", "XOR", "IN", "IS", "STARTS", "ENDS", "CONTAINS"],
            );
        !binds || (self.is_word(ahead, "WITH") && self.is_symbol(ahead + 1, "*"))
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
        let trims = dots == 0 && name[0].text.eq_ignore_ascii_case("trim");
        self.expect_symbol("(")?;
        if trims && let Some(call) = self.trim_from(&name[0])? {
            return Ok(call);
        }
        let distinct = self.is_word(0, "DISTINCT") && self.starts_operand(1) && self.eat_word("DISTINCT");
        let arguments = if self.at_symbol(")") {
            Vec::new()
        } else {
            self.in_brackets(false, |parser| parser.comma_separated(Self::expression))?
        };
        if trims && arguments.len() == 1 && self.eat_word("FROM") {
            return self.trimmed(name, Some(arguments));
        }
        self.expect_symbol(")")?;
        Ok(FunctionCall { name, distinct, arguments })
    }

    /// `trim(LEADING 'x' FROM text)`, behind the bracket: where a side is named. It is `ltrim(text, 'x')`.
    fn trim_from(&mut self, name: &Name) -> Parsed<Option<FunctionCall>> {
        let sides = [("BOTH", "trim"), ("LEADING", "lTrim"), ("TRAILING", "rTrim")];
        let Some((_, function)) = sides.into_iter().find(|(side, _)| self.is_word(0, side)) else {
            return Ok(None);
        };
        let operand = match self.kind(1) {
            TokenKind::Symbol(symbol) => *symbol == "(" && self.is_word(self.behind(1), "FROM"),
            TokenKind::Word => self.starts_operand(1),
            TokenKind::End => false,
            _ => true,
        };
        if !operand {
            return Ok(None);
        }
        self.bump();
        let name = Name { text: function.to_string(), span: name.span };
        let characters = if self.is_word(0, "FROM") && self.starts_operand(1) {
            None
        } else {
            Some(vec![self.in_brackets(false, Self::expression)?])
        };
        self.expect_word("FROM")?;
        self.trimmed(vec![name], characters).map(Some)
    }

    /// How far the token behind the bracket is that opens `ahead`.
    fn behind(&self, ahead: usize) -> usize {
        match self.token(ahead).partner {
            crate::lexer::NO_PARTNER => ahead + 1,
            partner => partner as usize + 1 - self.at,
        }
    }

    fn trimmed(&mut self, name: Vec<Name>, characters: Option<Vec<Expression>>) -> Parsed<FunctionCall> {
        let mut arguments = vec![self.in_brackets(false, Self::expression)?];
        arguments.extend(characters.into_iter().flatten());
        self.expect_symbol(")")?;
        Ok(FunctionCall { name, distinct: false, arguments })
    }

    fn case(&mut self) -> Parsed<ExpressionKind> {
        self.bump();
        let at_when = self.is_word(0, "WHEN") && self.starts_operand(1);
        let subject = if at_when { None } else { Some(self.boxed_expression()?) };
        let mut branches = Vec::new();
        while self.eat_word("WHEN") {
            let when = match &subject {
                Some(_) => self.comma_separated(Self::when_of_subject)?,
                None => vec![self.expression()?],
            };
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

    /// One alternative behind WHEN, where CASE has a subject.
    fn when_of_subject(&mut self) -> Parsed<Expression> {
        self.nested(|parser| match parser.about_subject()? {
            Some(test) => Ok(test),
            None => parser.expression(),
        })
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
