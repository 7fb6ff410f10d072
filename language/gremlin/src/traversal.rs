//! The one form of a request: instructions with arguments. Text is parsed into it, bytecode is decoded into it.

use crate::object::Object;
use crate::predicate::Predicate;
use std::sync::Arc;
use text::Span;

/// Source instructions (`withSack`, `withStrategies`, …) and steps, in the order written. A nested traversal has no source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traversal {
    /// Instructions of the source, before the first step.
    pub source: Vec<Instruction>,
    /// The steps.
    pub steps: Vec<Instruction>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Its name: `out`, `withSack`. `from`, `in`, `is`, … as Gremlin writes them, without the underscores of some drivers.
    pub name: Arc<str>,
    /// The arguments in its parentheses.
    pub arguments: Vec<Argument>,
    /// Where the text has it.
    pub span: Span,
}

/// An argument in an instruction's parentheses.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A value or token.
    Value(Object),
    /// An anonymous traversal.
    Traversal(Traversal),
    /// A predicate.
    Predicate(Predicate),
    /// A strategy with its configuration.
    Strategy(Strategy),
}

/// A strategy, as `withStrategies` names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// Its class name without package, e.g. `SubgraphStrategy`.
    pub name: Arc<str>,
    /// Its configuration.
    pub options: Vec<(Arc<str>, Argument)>,
}

/// A terminal step, in text: `.toList()`, `.next()`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Terminal {
    /// All results; the default.
    ToList,
    /// All results, each once.
    ToSet,
    /// All results, as a bag.
    ToBulkSet,
    /// The first results; one, if no number is written.
    Next(u64),
    /// The first result, if there is any.
    TryNext,
    /// Whether there is a result.
    HasNext,
    /// Nothing: it is run for its effects.
    Iterate,
}

impl Traversal {
    /// A traversal without instructions.
    pub fn new() -> Traversal {
        Traversal::default()
    }
    /// Adds an instruction of the source.
    pub fn with_source(mut self, name: impl Into<Arc<str>>, arguments: Vec<Argument>) -> Traversal {
        self.source.push(Instruction { name: name.into(), arguments, span: Span::default() });
        self
    }
    /// Adds a step.
    pub fn with_step(mut self, name: impl Into<Arc<str>>, arguments: Vec<Argument>) -> Traversal {
        self.steps.push(Instruction { name: name.into(), arguments, span: Span::default() });
        self
    }
    /// The value of a key in `with(key, value)`, in the source; drivers send it by a strategy.
    pub fn option(&self, key: &str) -> Option<&Object> {
        self.source.iter().rev().find_map(|instruction| match instruction.arguments.as_slice() {
            [Argument::Value(Object::String(known)), Argument::Value(value)]
                if &*instruction.name == "with" && &**known == key =>
            {
                Some(value)
            }
            arguments => arguments.iter().find_map(|argument| match argument {
                Argument::Strategy(strategy) if &*strategy.name == "OptionsStrategy" => {
                    let found = strategy.options.iter().find(|(known, _)| &**known == key)?;
                    found.1.value()
                }
                _ => None,
            }),
        })
    }
    /// Instructions of this traversal and of all nested in it.
    pub fn instruction_count(&self) -> usize {
        let all = self.source.iter().chain(&self.steps);
        all.map(|instruction| {
            1 + instruction.arguments.iter().map(Argument::instruction_count).sum::<usize>()
        })
        .sum()
    }
}

impl Argument {
    fn instruction_count(&self) -> usize {
        match self {
            Argument::Traversal(nested) => nested.instruction_count(),
            Argument::Strategy(strategy) => {
                strategy.options.iter().map(|(_, option)| option.instruction_count()).sum()
            }
            Argument::Value(_) | Argument::Predicate(_) => 0,
        }
    }
    /// The value, if it is one.
    pub fn value(&self) -> Option<&Object> {
        match self {
            Argument::Value(value) => Some(value),
            _ => None,
        }
    }
    /// The nested traversal, if it is one.
    pub fn traversal(&self) -> Option<&Traversal> {
        match self {
            Argument::Traversal(nested) => Some(nested),
            _ => None,
        }
    }
}

impl From<Object> for Argument {
    fn from(value: Object) -> Argument {
        Argument::Value(value)
    }
}
