//! The clauses that write: `MERGE`, `SET`, `REMOVE`, `DELETE`, `FOREACH`.

use super::{Parsed, Parser};
use crate::ast::{
    ClauseKind, Delete, Expression, ExpressionKind, Foreach, LabelExpression, Merge, Name, RemoveItem,
    SetItem,
};
use crate::error::CypherError;

impl Parser<'_> {
    pub(super) fn merge(&mut self) -> Parsed<ClauseKind> {
        self.bump();
        let pattern = self.nested(Self::path_pattern)?;
        let (mut on_create, mut on_match) = (Vec::new(), Vec::new());
        while self.is_word(0, "ON") {
            let items = if self.eat_words(&["ON", "CREATE"]) {
                &mut on_create
            } else if self.eat_words(&["ON", "MATCH"]) {
                &mut on_match
            } else {
                self.bump();
                return Err(self.unexpected("CREATE or MATCH"));
            };
            self.expect_word("SET")?;
            items.extend(self.comma_separated(Self::set_item)?);
        }
        Ok(ClauseKind::Merge(Merge { pattern, on_create, on_match }))
    }

    pub(super) fn set_item(&mut self) -> Parsed<SetItem> {
        let target = self.postfixed()?;
        match target.kind {
            ExpressionKind::Property(owner, key) => {
                self.expect_assignment()?;
                Ok(SetItem::Property(*owner, key, self.expression()?))
            }
            ExpressionKind::Index(owner, key) => {
                self.expect_assignment()?;
                Ok(SetItem::DynamicProperty(*owner, *key, self.expression()?))
            }
            ExpressionKind::Variable(text) => self.set_variable(Name { text, span: target.span }),
            _ => Err(not_assignable(&target, "SET").into()),
        }
    }

    fn set_variable(&mut self, variable: Name) -> Parsed<SetItem> {
        if self.eat_symbol("+=") {
            return Ok(SetItem::Merge(variable, self.expression()?));
        }
        if self.eat_symbol("=") {
            return Ok(SetItem::Replace(variable, self.expression()?));
        }
        if self.at_symbol(":") || self.is_word(0, "IS") {
            return Ok(SetItem::Labels(variable, self.label_names()?));
        }
        Err(self.unexpected("'.', '=', '+=' or ':'"))
    }

    fn expect_assignment(&mut self) -> Parsed<()> {
        if self.eat_symbol("=") { Ok(()) } else { Err(self.unexpected("'='")) }
    }

    /// `:Label:Label`, or `IS Label`.
    fn label_names(&mut self) -> Parsed<Vec<LabelExpression>> {
        if self.eat_word("IS") {
            return Ok(vec![self.label_name()?]);
        }
        let mut labels = Vec::new();
        while self.eat_symbol(":") {
            labels.push(self.label_name()?);
        }
        Ok(labels)
    }

    fn label_name(&mut self) -> Parsed<LabelExpression> {
        match self.dynamic_label()? {
            Some(dynamic) => Ok(dynamic),
            None => Ok(LabelExpression::Name(self.name("a label")?)),
        }
    }

    pub(super) fn remove_item(&mut self) -> Parsed<RemoveItem> {
        let target = self.postfixed()?;
        match target.kind {
            ExpressionKind::Property(owner, key) => Ok(RemoveItem::Property(*owner, key)),
            ExpressionKind::Index(owner, key) => Ok(RemoveItem::DynamicProperty(*owner, *key)),
            ExpressionKind::Variable(text) if self.at_symbol(":") || self.is_word(0, "IS") => {
                Ok(RemoveItem::Labels(Name { text, span: target.span }, self.label_names()?))
            }
            _ => Err(not_assignable(&target, "REMOVE").into()),
        }
    }

    pub(super) fn delete(&mut self) -> Parsed<ClauseKind> {
        let detach = self.eat_word("DETACH");
        if !detach {
            self.eat_word("NODETACH");
        }
        self.expect_word("DELETE")?;
        let targets = self.comma_separated(Self::expression)?;
        Ok(ClauseKind::Delete(Delete { detach, targets }))
    }

    pub(super) fn foreach(&mut self) -> Parsed<ClauseKind> {
        self.bump();
        self.expect_symbol("(")?;
        let variable = self.name("a variable")?;
        self.expect_word("IN")?;
        let list = self.in_brackets(true, Self::expression)?;
        self.expect_symbol("|")?;
        let mut body = Vec::new();
        self.in_brackets(false, |parser| {
            while let Some(clause) = parser.clause()? {
                body.push(clause);
            }
            Ok(())
        })?;
        if body.is_empty() {
            return Err(self.unexpected("a writing clause such as SET or CREATE"));
        }
        self.expect_symbol(")")?;
        Ok(ClauseKind::Foreach(Foreach { variable, list, body }))
    }
}

fn not_assignable(target: &Expression, clause: &str) -> CypherError {
    CypherError::syntax(format!("{clause} needs a property or labels"), target.span)
        .with_hint(format!("write {clause} n.name or {clause} n:Label"))
}
