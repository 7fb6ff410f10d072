//! Paths, nodes, relationships, groups and labels.

use super::{Parsed, Parser};
use crate::ast::{
    Direction, Expression, ExpressionKind, GroupPattern, LabelExpression, LengthRange, NodePattern, PathMode,
    PathPattern, PatternElement, Quantifier, RelationshipPattern, Selector,
};
use crate::error::CypherError;
use crate::lexer::{NO_PARTNER, TokenKind};

impl Parser<'_> {
    /// Patterns between commas.
    pub(super) fn patterns(&mut self) -> Parsed<Vec<PathPattern>> {
        self.comma_separated(|parser| parser.nested(Self::path_pattern))
    }

    /// `[variable =] [selector] elements`.
    pub(super) fn path_pattern(&mut self) -> Parsed<PathPattern> {
        let start = self.span();
        let variable = if self.is_name(0) && self.is_symbol(1, "=") {
            let name = self.name("a variable")?;
            self.bump();
            Some(name)
        } else {
            None
        };
        if let Some(selector) = self.shortest_function() {
            self.expect_symbol("(")?;
            let elements = self.in_brackets(false, Self::path_elements)?;
            self.expect_symbol(")")?;
            return Ok(PathPattern { variable, selector, mode: None, elements, span: self.since(start) });
        }
        let (selector, mode) = self.selector()?;
        let elements = self.path_elements()?;
        Ok(PathPattern { variable, selector, mode, elements, span: self.since(start) })
    }

    /// `shortestPath` or `allShortestPaths` before a bracket.
    fn shortest_function(&mut self) -> Option<Selector> {
        let selector = if self.is_word(0, "shortestPath") {
            Selector::ShortestPath
        } else if self.is_word(0, "allShortestPaths") {
            Selector::AllShortestPaths
        } else {
            return None;
        };
        self.bump();
        Some(selector)
    }

    /// `ANY [k]`, `ANY SHORTEST`, `ALL [SHORTEST]`, `SHORTEST [k] [GROUPS]`, then a path mode and `PATH[S]`, each optional.
    fn selector(&mut self) -> Parsed<(Selector, Option<PathMode>)> {
        let mut counted = false;
        let selector = if self.eat_words(&["ALL", "SHORTEST"]) {
            Selector::AllShortest
        } else if self.eat_words(&["ANY", "SHORTEST"]) {
            Selector::Shortest(1)
        } else if self.eat_word("ALL") {
            Selector::Every
        } else if self.eat_word("ANY") {
            Selector::Any(self.path_count()?)
        } else if self.eat_word("SHORTEST") {
            counted = true;
            Selector::Shortest(self.path_count()?)
        } else {
            Selector::Every
        };
        let mode = self.path_mode();
        let _ = self.eat_word("PATH") || self.eat_word("PATHS");
        let groups = counted && (self.eat_word("GROUP") || self.eat_word("GROUPS"));
        match selector {
            Selector::Shortest(count) if groups => Ok((Selector::ShortestGroups(count), mode)),
            selector => Ok((selector, mode)),
        }
    }

    fn path_mode(&mut self) -> Option<PathMode> {
        let modes = [
            ("WALK", PathMode::Walk),
            ("TRAIL", PathMode::Trail),
            ("ACYCLIC", PathMode::Acyclic),
            ("SIMPLE", PathMode::Simple),
        ];
        let (_, mode) = modes.into_iter().find(|(word, _)| self.is_word(0, word))?;
        self.bump();
        Some(mode)
    }

    fn path_count(&mut self) -> Parsed<u64> {
        let TokenKind::Integer(count) = *self.kind(0) else { return Ok(1) };
        if count == 0 {
            return Err(CypherError::syntax("the number of paths must be positive", self.span()).into());
        }
        self.bump();
        Ok(count)
    }

    /// Nodes and groups with relationships between them.
    fn path_elements(&mut self) -> Parsed<Vec<PatternElement>> {
        let mut elements = Vec::new();
        loop {
            self.path_end(&mut elements)?;
            if self.at_symbol("-") || self.at_symbol("<") {
                elements.push(PatternElement::Relationship(self.relationship_pattern()?));
            } else if !self.at_symbol("(") {
                return Ok(elements);
            }
        }
    }

    /// A node or a group.
    fn path_end(&mut self, elements: &mut Vec<PatternElement>) -> Parsed<()> {
        if !self.at_symbol("(") {
            return Err(self.unexpected("a node pattern '('"));
        }
        let group =
            self.is_symbol(1, "(") || (self.is_name(1) && self.is_symbol(2, "=") && self.is_symbol(3, "("));
        elements.push(if group {
            PatternElement::Group(self.nested(Self::group_pattern)?)
        } else {
            PatternElement::Node(self.node_pattern()?)
        });
        Ok(())
    }

    fn group_pattern(&mut self) -> Parsed<GroupPattern> {
        let start = self.span();
        self.expect_symbol("(")?;
        let path = Box::new(self.in_brackets(false, Self::path_pattern)?);
        let condition = self.in_brackets(false, Self::optional_where)?;
        self.expect_symbol(")")?;
        let quantifier = self.quantifier()?;
        Ok(GroupPattern { path, condition, quantifier, span: self.since(start) })
    }

    /// `(variable:labels {properties} WHERE condition)`.
    pub(super) fn node_pattern(&mut self) -> Parsed<NodePattern> {
        crate::error::spend(1)?;
        let start = self.span();
        self.expect_symbol("(")?;
        let node = self.in_brackets(false, |parser| {
            let variable = parser.pattern_variable();
            let labels = parser.optional_labels()?;
            let properties = parser.pattern_properties()?;
            let condition = parser.optional_where()?;
            Ok(NodePattern { variable, labels, properties, condition, span: start })
        })?;
        self.expect_symbol(")")?;
        Ok(NodePattern { span: self.since(start), ..node })
    }

    /// A variable, unless the word begins the condition: `(WHERE n.x = 1)` has none.
    fn pattern_variable(&mut self) -> Option<crate::ast::Name> {
        let bare_where = self.is_word(0, "WHERE") && self.starts_operand(1) && !self.is_symbol(1, "{");
        let bare_is = self.is_word(0, "IS") && self.is_name(1) && !self.is_word(1, "IS");
        if bare_where || bare_is { None } else { self.optional_name() }
    }

    fn optional_labels(&mut self) -> Parsed<Option<LabelExpression>> {
        let found = self.eat_symbol(":") || (self.is_word(0, "IS") && self.eat_word("IS"));
        if found { self.label_expression().map(Some) } else { Ok(None) }
    }

    fn pattern_properties(&mut self) -> Parsed<Option<Expression>> {
        let start = self.span();
        let kind = match self.kind(0).clone() {
            TokenKind::Symbol("{") => ExpressionKind::Map(self.nested(Self::map_entries)?),
            TokenKind::Parameter(name) => {
                self.bump();
                ExpressionKind::Parameter(name)
            }
            _ => return Ok(None),
        };
        Ok(Some(Expression { kind, span: self.since(start) }))
    }

    /// `-[variable:types*1..3 {properties} WHERE condition]->{1,3}`.
    fn relationship_pattern(&mut self) -> Parsed<RelationshipPattern> {
        let start = self.span();
        let leftwards = self.eat_symbol("<");
        self.expect_symbol("-")?;
        let mut pattern = RelationshipPattern {
            variable: None,
            direction: Direction::Either,
            types: None,
            length: None,
            properties: None,
            condition: None,
            quantifier: None,
            span: start,
        };
        if self.eat_symbol("[") {
            self.in_brackets(false, |parser| parser.relationship_details(&mut pattern))?;
            self.expect_symbol("]")?;
        }
        if !self.eat_symbol("-") {
            return Err(self.unexpected_with_hint("'-'", "a relationship is written --> or -[:TYPE]->"));
        }
        let rightwards = self.eat_symbol(">");
        pattern.direction = match (leftwards, rightwards) {
            (false, true) => Direction::Outgoing,
            (true, false) => Direction::Incoming,
            _ => Direction::Either,
        };
        pattern.quantifier = self.quantifier()?;
        pattern.span = self.since(start);
        Ok(pattern)
    }

    fn relationship_details(&mut self, pattern: &mut RelationshipPattern) -> Parsed<()> {
        pattern.variable = self.pattern_variable();
        pattern.types = self.optional_labels()?;
        pattern.length = self.length_range()?;
        pattern.properties = self.pattern_properties()?;
        pattern.condition = self.optional_where()?;
        Ok(())
    }

    /// `*`, `*2`, `*1..`, `*..3`, `*1..3`.
    fn length_range(&mut self) -> Parsed<Option<LengthRange>> {
        if !self.eat_symbol("*") {
            return Ok(None);
        }
        let min = self.optional_count();
        if !self.eat_symbol("..") {
            return Ok(Some(LengthRange { min, max: min }));
        }
        let max = self.optional_count();
        Ok(Some(LengthRange { min, max }))
    }

    /// `{n}`, `{n,m}`, `{n,}`, `{,m}`, `+`, `*` after an arrow or a group.
    fn quantifier(&mut self) -> Parsed<Option<Quantifier>> {
        if self.eat_symbol("+") {
            return Ok(Some(Quantifier { min: 1, max: None }));
        }
        if self.eat_symbol("*") {
            return Ok(Some(Quantifier { min: 0, max: None }));
        }
        if !self.eat_symbol("{") {
            return Ok(None);
        }
        let start = self.span();
        let min = self.optional_count();
        let quantifier = if self.eat_symbol(",") {
            Quantifier { min: min.unwrap_or(0), max: self.optional_count() }
        } else {
            let Some(count) = min else { return Err(self.unexpected("a number of repetitions")) };
            Quantifier { min: count, max: Some(count) }
        };
        self.expect_symbol("}")?;
        match quantifier.max {
            Some(max) if max < quantifier.min || max == 0 => {
                let message = "a quantifier needs a positive upper bound, not below its lower bound";
                Err(CypherError::syntax(message, self.since(start)).into())
            }
            _ => Ok(Some(quantifier)),
        }
    }

    fn optional_count(&mut self) -> Option<u64> {
        let TokenKind::Integer(count) = *self.kind(0) else { return None };
        self.bump();
        Some(count)
    }

    // --- labels ---

    /// `A|B&!C`, `A:B`, `A|:B`, `%`, `(…)`; the colon before it is already taken.
    pub(super) fn label_expression(&mut self) -> Parsed<LabelExpression> {
        let start = self.span();
        let outside = std::mem::take(&mut self.label_signs);
        let labels = self.label_choices()?;
        let signs = std::mem::replace(&mut self.label_signs, outside);
        if signs.colon && signs.other {
            let message = "labels are joined by ':' alone, or by '&', '|', '!' and '%'";
            let error = CypherError::syntax(message, self.since(start));
            return Err(error.with_hint("write A&B for A:B").into());
        }
        Ok(labels)
    }

    fn label_choices(&mut self) -> Parsed<LabelExpression> {
        let mut choices = vec![self.label_conjunction()?];
        while self.bar_joins_labels() {
            self.bump();
            // `A|:B` is the old form of `A|B`.
            self.label_signs.other |= !self.eat_symbol(":");
            choices.push(self.label_conjunction()?);
        }
        Ok(single_or(choices, LabelExpression::Or))
    }

    fn label_conjunction(&mut self) -> Parsed<LabelExpression> {
        let mut parts = vec![self.nested(Self::label_term)?];
        while self.at_symbol("&") || self.at_symbol(":") {
            match self.eat_symbol(":") {
                true => self.label_signs.colon = true,
                false => {
                    self.bump();
                    self.label_signs.other = true
                }
            }
            parts.push(self.nested(Self::label_term)?);
        }
        Ok(single_or(parts, LabelExpression::And))
    }

    fn label_term(&mut self) -> Parsed<LabelExpression> {
        self.label_signs.other |= self.at_symbol("!") || self.at_symbol("%");
        if self.eat_symbol("!") {
            return Ok(LabelExpression::Not(Box::new(self.nested(Self::label_term)?)));
        }
        if self.eat_symbol("%") {
            return Ok(LabelExpression::Any);
        }
        if self.eat_symbol("(") {
            let inner = self.in_brackets(false, Self::label_choices)?;
            self.expect_symbol(")")?;
            return Ok(inner);
        }
        match self.dynamic_label()? {
            Some(dynamic) => Ok(dynamic),
            None => Ok(LabelExpression::Name(self.name("a label or relationship type")?)),
        }
    }

    /// `$(value)`, `$all(value)`, `$any(value)`.
    pub(super) fn dynamic_label(&mut self) -> Parsed<Option<LabelExpression>> {
        let any = match self.kind(0) {
            TokenKind::Symbol("$") => false,
            TokenKind::Parameter(word) if self.is_symbol(1, "(") && word.eq_ignore_ascii_case("all") => false,
            TokenKind::Parameter(word) if self.is_symbol(1, "(") && word.eq_ignore_ascii_case("any") => true,
            _ => return Ok(None),
        };
        self.bump();
        self.expect_symbol("(")?;
        let value = Box::new(self.in_brackets(false, Self::expression)?);
        self.expect_symbol(")")?;
        Ok(Some(LabelExpression::Dynamic { any, value }))
    }

    // --- looking ahead ---

    /// Whether a pattern with at least one relationship begins here.
    pub(super) fn at_path(&self) -> bool {
        self.at_path_after(0)
    }

    /// The same, `ahead` tokens from here. The inside of the brackets must look like a node, and an arrow must follow them.
    pub(super) fn at_path_after(&self, ahead: usize) -> bool {
        let partner = self.token(ahead).partner;
        if !self.is_symbol(ahead, "(") || partner == NO_PARTNER {
            return false;
        }
        let inner = ahead + 1 + usize::from(self.is_name(ahead + 1));
        let node_like = match self.kind(inner) {
            TokenKind::Symbol(symbol) => matches!(*symbol, ")" | ":" | "{"),
            TokenKind::Parameter(_) => true,
            TokenKind::Word => self.is_word_of(inner, &["WHERE", "IS"]),
            _ => false,
        };
        node_like && self.at_relationship(partner as usize + 1 - self.at)
    }

    /// Whether `-[`, `<-[`, `--(`, `-->`, `<--` stand `ahead`.
    fn at_relationship(&self, ahead: usize) -> bool {
        let dash = ahead + usize::from(self.is_symbol(ahead, "<"));
        if !self.is_symbol(dash, "-") {
            return false;
        }
        if self.is_symbol(dash + 1, "[") {
            return true;
        }
        let after = ["(", ">", "+", "*", "{"];
        self.is_symbol(dash + 1, "-") && after.iter().any(|symbol| self.is_symbol(dash + 2, symbol))
    }
}

fn single_or(
    mut parts: Vec<LabelExpression>,
    join: fn(Vec<LabelExpression>) -> LabelExpression,
) -> LabelExpression {
    match parts.len() {
        1 => parts.remove(0),
        _ => join(parts),
    }
}
