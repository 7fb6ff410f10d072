//! Which labels a traverser still needs, and which steps before a count need not be run.
//!
//! Equal traversers are merged. A label that is not read later must not keep them apart, so `as` keeps only labels that are read later, and
//! [`Step::Forget`](crate::step::Step::Forget) drops one behind its last reader. Reading is defined generously: any text that equals the label in a
//! later step, in a modulator, in an enclosing traversal, or anywhere in a loop around it. Where a step reads whole paths ([`reads_paths`]), all
//! labels stay. A count needs only how many traversers arrive: steps before it that give one for each ([`counted`]) are left out.

use crate::step::Name;
use gremlin::{Argument, Instruction, Object, Token};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Where in a list of instructions each name is read last.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    last: HashMap<Name, usize>,
    /// The last instruction that may read any label.
    any: Option<usize>,
}

/// A list of instructions around the present one, and the position in it.
pub(super) type Around = (Rc<Mentions>, usize);

impl Mentions {
    pub(super) fn of(instructions: &[Instruction]) -> Mentions {
        let mut found = Mentions::default();
        for (at, instruction) in instructions.iter().enumerate() {
            found.add(instruction, at, false);
        }
        found
    }
    /// Is a name read from this instruction on?
    pub(super) fn reads_from(&self, name: &Name, at: usize) -> bool {
        self.any.is_some_and(|any| any >= at) || self.last.get(name).is_some_and(|last| *last >= at)
    }
    /// The last instruction that reads a name.
    pub(super) fn last(&self, name: &Name) -> Option<usize> {
        self.any.max(self.last.get(name).copied())
    }
    fn add(&mut self, instruction: &Instruction, at: usize, in_filter: bool) {
        let name = &*instruction.name;
        // at the ends of a filter's traversal `as` looks a label up
        let looks_up = in_filter || matches!(name, "where" | "and" | "or" | "not" | "filter" | "match");
        for argument in &instruction.arguments {
            match argument {
                Argument::Value(Object::String(_)) if name == "as" && !in_filter => {}
                Argument::Value(Object::String(text)) if matches!(name, "math" | "format") => {
                    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
                    for word in text.split(|letter| !is_part(letter)).filter(|word| !word.is_empty()) {
                        self.read(word.into(), at);
                    }
                    // names of a form may hold any letters
                    if name == "format" {
                        self.any = Some(at);
                    }
                }
                Argument::Value(Object::String(text)) => self.read(text.clone(), at),
                Argument::Value(_) | Argument::Strategy(_) => {}
                Argument::Predicate(predicate) => {
                    for value in predicate.values() {
                        if let Object::String(text) = value {
                            self.read(text.clone(), at);
                        }
                    }
                }
                Argument::Traversal(nested) => {
                    if name == "select" {
                        self.any = Some(at);
                    }
                    nested.steps.iter().for_each(|step| self.add(step, at, looks_up));
                }
            }
        }
    }
    fn read(&mut self, name: Name, at: usize) {
        self.last.insert(name, at);
    }
}

/// Is an earlier object of a label read anywhere: by `select` with a `Pop` that is not `last`?
pub(super) fn reads_older(instructions: &[Instruction]) -> bool {
    instructions.iter().any(|instruction| {
        let is_select = &*instruction.name == "select";
        instruction.arguments.iter().any(|argument| match argument {
            Argument::Value(Object::Token(token)) => {
                is_select && matches!(token, Token::First | Token::All | Token::Mixed)
            }
            Argument::Traversal(nested) => reads_older(&nested.steps),
            _ => false,
        })
    })
}

/// The labels that a `match` binds.
pub(super) fn bound_by(instruction: &Instruction, found: &mut Vec<Name>) {
    for argument in &instruction.arguments {
        match argument {
            Argument::Value(Object::String(label)) if &*instruction.name == "as" => found.push(label.clone()),
            Argument::Traversal(nested) => nested.steps.iter().for_each(|step| bound_by(step, found)),
            _ => {}
        }
    }
}

/// Does a step that is run read the way a traverser came, whole?
pub(super) fn reads_paths(instructions: &[Instruction]) -> bool {
    let left_out = counted(instructions);
    instructions.iter().enumerate().any(|(at, instruction)| {
        let nested = |argument: &Argument| argument.traversal().is_some_and(|one| reads_paths(&one.steps));
        !left_out.contains(&at)
            && (matches!(&*instruction.name, "path" | "simplePath" | "cyclicPath" | "tree" | "otherV")
                || instruction.arguments.iter().any(nested))
    })
}

/// The instructions before a count that give one result for each traverser: the count is the same without them.
pub(super) fn counted(instructions: &[Instruction]) -> HashSet<usize> {
    let (mut sure, mut left_out) = (Sure::default(), HashSet::new());
    // How many instructions before this one give one result each.
    let mut run = 0;
    for (at, one) in instructions.iter().enumerate() {
        if is_count(one) {
            left_out.extend(at - run..at);
        }
        let gives_one = match &*one.name {
            "path" | "identity" => one.arguments.is_empty(),
            "order" | "constant" => true,
            "select" => sure.selects(one),
            _ => false,
        };
        run = if gives_one { run + 1 } else { 0 };
        sure.pass(at, one);
    }
    left_out
}

fn is_count(instruction: &Instruction) -> bool {
    &*instruction.name == "count" && instruction.arguments.is_empty()
}

/// The labels that every traverser has that comes this way.
#[derive(Default)]
struct Sure<'i> {
    /// Where each label was given last.
    given: HashMap<&'i str, usize>,
    /// The last instruction behind which a traverser may lack labels.
    lost: Option<usize>,
}

impl<'i> Sure<'i> {
    /// Does it select only labels that every traverser has at this step?
    fn selects(&self, select: &Instruction) -> bool {
        select.arguments.iter().all(|label| match label {
            Argument::Value(Object::Token(token)) if token.class() == "Pop" => true,
            Argument::Value(Object::String(label)) => {
                self.given.get(&**label).is_some_and(|given| self.lost.is_none_or(|lost| lost < *given))
            }
            _ => false,
        })
    }
    fn pass(&mut self, at: usize, instruction: &'i Instruction) {
        if &*instruction.name == "as" {
            let names = instruction.arguments.iter().filter_map(Argument::value).filter_map(Object::as_str);
            self.given.extend(names.map(|name| (name, at)));
        }
        if !keeps_labels(instruction) {
            self.lost = Some(at);
        }
    }
}

/// Does every traverser that goes on behind it have all labels that it had before?
fn keeps_labels(instruction: &Instruction) -> bool {
    const KEEPING: [&str; 30] = [
        "V", "and", "as", "both", "bothE", "bothV", "by", "dedup", "emit", "filter", "has", "hasId",
        "hasLabel", "hasNot", "id", "identity", "in", "inE", "inV", "is", "limit", "not", "or", "out",
        "outE", "outV", "range", "skip", "values", "where",
    ];
    match &*instruction.name {
        "repeat" => instruction
            .arguments
            .iter()
            .filter_map(Argument::traversal)
            .all(|body| body.steps.iter().all(keeps_labels)),
        "times" | "until" => true,
        name => KEEPING.contains(&name),
    }
}
