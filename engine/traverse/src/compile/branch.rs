//! Branches: union, choose, coalesce, optional, local, repeat, match.

use super::{Compiler, Reader, by_step, program_of, wants};
use crate::error::{Outcome, TraverseError};
use crate::step::{Body, By, ChooseBy, Pick, Repeat, Step, Until};
use gremlin::{Argument, Instruction, Object, Token};
use std::sync::Arc;

impl Compiler {
    pub(super) fn branch(&self, instruction: &Instruction, reader: &mut Reader<'_>) -> Outcome<Option<Step>> {
        let bodies = || {
            (0..instruction.arguments.len())
                .map(|at| self.nested(instruction, at))
                .collect::<Outcome<Vec<_>>>()
        };
        Ok(Some(match &*instruction.name {
            "local" => Step::Local(self.nested(instruction, 0)?),
            "union" => Step::Union(bodies()?),
            "coalesce" => Step::Coalesce(bodies()?),
            "optional" => Step::Optional(self.nested(instruction, 0)?),
            "choose" => self.choose(instruction, reader)?,
            "branch" => {
                let by = ChooseBy::Body(self.chooser(instruction)?);
                Step::Choose { by, options: self.options(reader, true)?, all: true }
            }
            "match" => self.matching(instruction)?,
            "repeat" | "until" | "emit" | "times" => self.repeat(instruction, reader)?,
            _ => return Ok(None),
        }))
    }

    fn chooser(&self, instruction: &Instruction) -> Outcome<Body> {
        match instruction.arguments.first() {
            Some(Argument::Value(Object::Token(token))) => {
                Ok(Arc::new(program_of(vec![by_step(By::Token(*token))])))
            }
            Some(Argument::Value(Object::String(key))) => {
                Ok(Arc::new(program_of(vec![by_step(By::Key(key.clone()))])))
            }
            _ => self.nested(instruction, 0),
        }
    }

    fn choose(&self, instruction: &Instruction, reader: &mut Reader<'_>) -> Outcome<Step> {
        if instruction.arguments.len() == 1 {
            let by = match &instruction.arguments[0] {
                Argument::Predicate(predicate) => ChooseBy::Predicate(predicate.clone()),
                Argument::Value(_) => ChooseBy::By(self.by_argument(instruction, &instruction.arguments[0])?),
                _ => ChooseBy::Body(self.chooser(instruction)?),
            };
            return Ok(Step::Choose { by, options: self.options(reader, false)?, all: false });
        }
        let by = match &instruction.arguments[0] {
            Argument::Predicate(predicate) => ChooseBy::Predicate(predicate.clone()),
            _ => ChooseBy::Test(self.test(instruction, 0)?),
        };
        let mut options = vec![(Pick::Value(Object::Bool(true)), self.nested(instruction, 1)?)];
        if instruction.arguments.len() == 3 {
            options.push((Pick::Value(Object::Bool(false)), self.nested(instruction, 2)?));
        }
        options.extend(self.options(reader, false)?);
        Ok(Step::Choose { by, options, all: false })
    }

    fn options(&self, reader: &mut Reader<'_>, all: bool) -> Outcome<Vec<(Pick, Body)>> {
        let mut options = Vec::new();
        while let Some(option) = reader.take("option") {
            let last = option.arguments.len() - 1;
            let pick = match &option.arguments[0] {
                _ if last == 0 => Pick::Any,
                Argument::Value(Object::Token(Token::PickAny)) => Pick::Any,
                Argument::Value(Object::Token(Token::PickNone)) => Pick::None,
                Argument::Value(Object::Token(Token::Unproductive)) => Pick::Unproductive,
                Argument::Value(value) => Pick::Value(value.clone()),
                Argument::Predicate(predicate) => Pick::Predicate(predicate.clone()),
                Argument::Traversal(nested) if all => Pick::Body(self.body(nested)?),
                Argument::Traversal(_) => {
                    let message = "Traversal is not allowed as a Pick token for choose(), use a predicate";
                    return Err(TraverseError::arguments(message, option.span));
                }
                Argument::Strategy(_) => return Err(wants(option, "a value")),
            };
            options.push((pick, self.nested(option, last)?));
        }
        Ok(options)
    }

    /// `repeat` with the modulators before and after it. Those before are tested before the body.
    fn repeat(&self, instruction: &Instruction, reader: &mut Reader<'_>) -> Outcome<Step> {
        let (mut until, mut emit, mut body, mut name) = (None, None, None, None);
        let mut next = Some(instruction);
        while let Some(one) = next {
            let before = body.is_none();
            match &*one.name {
                "repeat" if body.is_some() => break,
                "repeat" => {
                    let at = one.arguments.len() - 1;
                    if let (1, Some(Argument::Value(Object::String(given)))) = (at, one.arguments.first()) {
                        name = Some(given.clone());
                    }
                    body = Some(self.repeated(one, at)?);
                }
                "until" => until = Some((Until::Body(self.test(one, 0)?), before)),
                "times" => until = Some((self.times(one)?, before)),
                "emit" => {
                    let asked = if one.arguments.is_empty() { None } else { Some(self.test(one, 0)?) };
                    emit = Some((asked, before));
                }
                _ => break,
            }
            next = reader.peek().filter(|next| matches!(&*next.name, "until" | "times" | "emit" | "repeat"));
            if next.is_some_and(|next| &*next.name == "repeat" && body.is_some()) {
                next = None;
            }
            // a modulator behind this repeat that belongs to the next one
            if next.is_some() && body.is_some() && belongs_to_next(reader, until.is_some(), emit.is_some()) {
                next = None;
            }
            reader.at += usize::from(next.is_some());
        }
        let Some(body) = body else {
            let message = format!("The repeat()-traversal was not defined: {}()", instruction.name);
            return Err(TraverseError::arguments(message, instruction.span));
        };
        Ok(Step::Repeat(Box::new(Repeat { body, until, emit, name })))
    }

    fn times(&self, instruction: &Instruction) -> Outcome<Until> {
        let count = super::whole(instruction, 0)?;
        Ok(Until::Times(u64::try_from(count).unwrap_or(0)))
    }

    fn repeated(&self, instruction: &Instruction, at: usize) -> Outcome<Body> {
        let Some(Argument::Traversal(nested)) = instruction.arguments.get(at) else {
            return Err(wants(instruction, "a traversal"));
        };
        let body = self.round(nested)?;
        if body.steps.iter().any(|step| matches!(step, Step::Inject { .. })) {
            let message = "The parent of inject()-step can not be repeat()-step";
            return Err(TraverseError::arguments(message, instruction.span));
        }
        Ok(body)
    }
}

/// Of the modulators ahead, does a `repeat` come before anything else, and has this one had its own already?
fn belongs_to_next(reader: &Reader<'_>, has_until: bool, has_emit: bool) -> bool {
    let ahead = &reader.instructions[reader.at..];
    let modulators = ahead.iter().take_while(|one| matches!(&*one.name, "until" | "times" | "emit"));
    let count = modulators.count();
    let repeats = ahead.get(count).is_some_and(|one| &*one.name == "repeat");
    let again = match ahead.first().map(|one| &*one.name) {
        Some("until" | "times") => has_until,
        Some("emit") => has_emit,
        _ => false,
    };
    repeats && again
}
