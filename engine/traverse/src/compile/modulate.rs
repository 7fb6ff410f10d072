//! `by`, and other modulators behind their step.

use super::{Compiler, Reader, wants};
use crate::error::{Outcome, TraverseError};
use crate::step::{By, SortBy, Step};
use gremlin::{Argument, Instruction, Object, Token};

impl Compiler {
    /// All `by` that follow.
    pub(super) fn bys(&self, reader: &mut Reader<'_>) -> Outcome<Vec<By>> {
        let mut found = Vec::new();
        while let Some(instruction) = reader.take("by") {
            found.push(self.by(instruction)?);
        }
        Ok(found)
    }
    /// The one `by` that may follow.
    pub(super) fn one_by(
        &self,
        instruction: &Instruction,
        step: &str,
        reader: &mut Reader<'_>,
    ) -> Outcome<Option<By>> {
        let mut by = self.bys(reader)?;
        if by.len() > 1 {
            let message = format!("{step} step can only have one by modulator");
            return Err(TraverseError::arguments(message, instruction.span));
        }
        Ok(by.pop())
    }

    pub(super) fn by(&self, instruction: &Instruction) -> Outcome<By> {
        match instruction.arguments.first() {
            None => Ok(By::Identity),
            Some(argument) => self.by_argument(instruction, argument),
        }
    }

    pub(super) fn by_argument(&self, instruction: &Instruction, argument: &Argument) -> Outcome<By> {
        let by = match argument {
            Argument::Value(Object::String(key)) => By::Key(key.clone()),
            Argument::Value(Object::Token(token)) if token.class() == "T" => By::Token(*token),
            Argument::Value(Object::Token(token @ (Token::Keys | Token::Values))) => By::Column(*token),
            Argument::Traversal(nested) => simple(self.body(nested)?),
            _ => return Err(wants(instruction, "a key, a token or a traversal")),
        };
        let excepted = |keys: &Vec<_>| matches!(&by, By::Key(key) if keys.contains(key));
        Ok(match &self.productive {
            Some(keys) if !excepted(keys) => By::OrNull(Box::new(by)),
            _ => by,
        })
    }

    /// All `by` of an order: each with its key and direction.
    pub(super) fn sort_by(&self, reader: &mut Reader<'_>) -> Outcome<Vec<SortBy>> {
        let mut found = Vec::new();
        while let Some(instruction) = reader.take("by") {
            let order = |argument: &Argument| match argument {
                Argument::Value(Object::Token(token)) if token.class() == "Order" => Some(*token),
                _ => None,
            };
            found.push(match instruction.arguments.as_slice() {
                [only] if order(only).is_some() => {
                    SortBy { by: By::Identity, order: order(only).unwrap_or(Token::Asc) }
                }
                [] => SortBy { by: By::Identity, order: Token::Asc },
                [what] => SortBy { by: self.by_argument(instruction, what)?, order: Token::Asc },
                [what, how, ..] => SortBy {
                    by: self.by_argument(instruction, what)?,
                    order: order(how).ok_or_else(|| wants(instruction, "an order"))?,
                },
            });
        }
        if found.is_empty() {
            found.push(SortBy { by: By::Identity, order: Token::Asc });
        }
        Ok(found)
    }
}

/// A traversal of one step that a modulator can say without one.
fn simple(body: crate::step::Body) -> By {
    match body.steps.as_slice() {
        [Step::Identity] | [] => By::Identity,
        [Step::Id] => By::Token(Token::TId),
        [Step::Label] => By::Token(Token::TLabel),
        _ => By::Body(body),
    }
}
