//! `match`: its patterns, each from one label to another.

use super::{Compiler, program_of, wants};
use crate::error::Outcome;
use crate::step::{MatchPattern, Name, Step};
use gremlin::{Argument, Instruction, Object, Predicate, Traversal};
use std::sync::Arc;

impl Compiler {
    pub(super) fn matching(&self, instruction: &Instruction) -> Outcome<Step> {
        Ok(Step::Match(self.patterns(instruction)?))
    }

    fn patterns(&self, instruction: &Instruction) -> Outcome<Vec<MatchPattern>> {
        let patterns = instruction.arguments.iter().map(|argument| match argument {
            Argument::Traversal(nested) => self.pattern(nested, instruction),
            _ => Err(wants(instruction, "traversals")),
        });
        patterns.collect()
    }

    fn pattern(&self, traversal: &Traversal, at: &Instruction) -> Outcome<MatchPattern> {
        if traversal.steps.len() > 1 && traversal.steps.iter().any(|one| is_infix(one, "or")) {
            return self.joined(traversal, "or", at).map(MatchPattern::Any);
        }
        if traversal.steps.len() > 1 && traversal.steps.iter().any(|one| is_infix(one, "and")) {
            return self.joined(traversal, "and", at).map(MatchPattern::All);
        }
        if let [only] = traversal.steps.as_slice() {
            match &*only.name {
                "and" => return self.patterns(only).map(MatchPattern::All),
                "or" => return self.patterns(only).map(MatchPattern::Any),
                "not" => {
                    let inner = self.patterns(only)?.pop().ok_or_else(|| wants(only, "a traversal"))?;
                    return Ok(MatchPattern::Not(Box::new(inner)));
                }
                _ => {}
            }
        }
        if traversal.steps.first().is_some_and(|first| &*first.name == "where") {
            let program = self.program(&traversal.steps)?;
            let needs = labels_in(&traversal.steps);
            return match <[Step; 1]>::try_from(program.steps) {
                Ok([step]) => Ok(MatchPattern::Where(Box::new(step), needs)),
                Err(steps) => {
                    Ok(MatchPattern::Where(Box::new(Step::Where(Arc::new(program_of(steps)))), needs))
                }
            };
        }
        self.walked(traversal, at)
    }

    fn joined(&self, traversal: &Traversal, word: &str, at: &Instruction) -> Outcome<Vec<MatchPattern>> {
        let parts = traversal.steps.split(|one| is_infix(one, word));
        parts.map(|part| self.pattern(&Traversal { source: Vec::new(), steps: part.to_vec() }, at)).collect()
    }

    fn walked(&self, traversal: &Traversal, at: &Instruction) -> Outcome<MatchPattern> {
        let mut steps = traversal.steps.as_slice();
        let start = match steps.first() {
            Some(first) if &*first.name == "as" => super::text(first, 0)?,
            _ => return Err(wants(at, "patterns that begin with as()")),
        };
        steps = &steps[1..];
        let mut end = None;
        if let Some((last, rest)) = steps.split_last().filter(|(last, _)| &*last.name == "as") {
            end = Some(super::text(last, 0)?);
            steps = rest;
        }
        Ok(MatchPattern::Walk { start, body: Arc::new(self.program(steps)?), end })
    }
}

fn is_infix(instruction: &Instruction, word: &str) -> bool {
    &*instruction.name == word && instruction.arguments.is_empty()
}

/// Labels that a filter looks up.
fn labels_in(instructions: &[Instruction]) -> Vec<Name> {
    let mut found = Vec::new();
    for instruction in instructions {
        for argument in &instruction.arguments {
            match argument {
                Argument::Value(Object::String(label)) if matches!(&*instruction.name, "as" | "where") => {
                    found.push(label.clone());
                }
                Argument::Predicate(predicate) if &*instruction.name == "where" => {
                    named(predicate, &mut found)
                }
                Argument::Traversal(nested) => found.extend(labels_in(&nested.steps)),
                _ => {}
            }
        }
    }
    found
}

/// The labels a predicate speaks of.
pub(crate) fn named(predicate: &Predicate, found: &mut Vec<Name>) {
    let mut add = |value: &Object| found.extend(value.as_str().map(Name::from));
    match predicate {
        Predicate::Compare(_, value) | Predicate::Text(_, value, _) => add(value),
        Predicate::Within(values) | Predicate::Without(values) => values.iter().for_each(add),
        Predicate::Between(low, high) | Predicate::Inside(low, high) | Predicate::Outside(low, high) => {
            add(low);
            add(high);
        }
        Predicate::TypeOf(_) => {}
        Predicate::And(left, right) | Predicate::Or(left, right) => {
            named(left, found);
            named(right, found);
        }
        Predicate::Not(inner) => named(inner, found),
    }
}
