//! Settings before the first step: options and strategies that change no answer, and hints about how the plan runs.
//!
//! `with('policy', 'DFS WITHIN BFS')` says which instance and operator of every scope runs first, `with('scopes', 'off')` that there are
//! none, `with('recursive', 'nT1S')` how the sources of searched paths are shared out: the words are those of Cypher's hints.

use crate::error::{ErrorKind, GremlinError};
use crate::object::Object;
use crate::strategies::{self, Effect};
use crate::traversal::{Argument, Instruction};
use plan::scope::{InstanceOrder, OperatorOrder, SCOPES_OFF, ScopeHint};
use text::Span;

/// Hints of a traversal.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints {
    /// In the words of the statement.
    pub statement: Vec<String>,
    /// For each scope.
    pub scope: Option<ScopeHint>,
}

/// The hints of the source; none if it has settings for the machine only.
pub(super) fn hints(source: &[Instruction]) -> Option<Hints> {
    let mut hints = Hints::default();
    if strategies::is_taken_away(source, "ConnectiveStrategy") {
        return None;
    }
    for strategy in strategies::given(source) {
        let neutral = matches!(strategies::effect(&strategy.name), Some(Effect::Neutral | Effect::Checked));
        // nothing that is lowered is left to chance
        if !neutral && &*strategy.name != "SeedStrategy" {
            return None;
        }
        for (key, value) in &strategy.options {
            if &*strategy.name == "OptionsStrategy" {
                told(key, value.value(), &mut hints)?;
            }
        }
    }
    for instruction in source {
        match &*instruction.name {
            "with" => option(&instruction.arguments, &mut hints)?,
            "withStrategies" | "withoutStrategies" => {}
            _ => return None,
        }
    }
    Some(hints)
}

fn option(arguments: &[Argument], hints: &mut Hints) -> Option<()> {
    match arguments {
        [Argument::Value(Object::String(key)), rest @ ..] => {
            told(key, rest.first().and_then(Argument::value), hints)
        }
        _ => Some(()),
    }
}

fn told(key: &str, value: Option<&Object>, hints: &mut Hints) -> Option<()> {
    let text = value.and_then(Object::as_str).unwrap_or_default();
    match key {
        "recursive" => hints.statement.push(format!("{}{text}", plan::statement::RECURSIVE)),
        "scopes" if text.eq_ignore_ascii_case("off") => hints.statement.push(SCOPES_OFF.into()),
        "policy" => hints.scope = Some(policy(text)?),
        // others are a server's matter, or nobody's
        _ => {}
    }
    Some(())
}

/// Checks that hints are valid, also where nothing is planned that would follow them.
pub(crate) fn check_hints(source: &[Instruction]) -> Result<(), GremlinError> {
    for instruction in source {
        match (&*instruction.name, instruction.arguments.as_slice()) {
            ("with", [Argument::Value(Object::String(key)), rest @ ..]) => {
                check_hint(key, rest.first(), instruction.span)?;
            }
            ("withStrategies", arguments) => {
                for argument in arguments {
                    let Argument::Strategy(strategy) = argument else { continue };
                    if &*strategy.name == "OptionsStrategy" {
                        let mut options = strategy.options.iter();
                        options
                            .try_for_each(|(key, option)| check_hint(key, Some(option), instruction.span))?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_hint(key: &str, option: Option<&Argument>, span: Span) -> Result<(), GremlinError> {
    let text = option.and_then(Argument::value).and_then(Object::as_str);
    let is_switch = |text: &str| ["on", "off"].iter().any(|word| text.eq_ignore_ascii_case(word));
    match key {
        "policy" if text.and_then(policy).is_none() => {
            let message = "the option `policy` is FIFO, BFS or DFS, or one of them WITHIN another";
            Err(GremlinError::new(ErrorKind::Arguments, message, span))
        }
        "scopes" if !text.is_some_and(is_switch) => {
            Err(GremlinError::new(ErrorKind::Arguments, "the option `scopes` is on or off", span))
        }
        _ => Ok(()),
    }
}

/// `DFS`, `BFS WITHIN DFS`, `FIFO WITHIN FIFO`.
fn policy(text: &str) -> Option<ScopeHint> {
    let words: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (order, within) = match words.as_slice() {
        [order] => (*order, None),
        [order, "WITHIN", within] => (*order, Some(*within)),
        _ => return None,
    };
    let order = match order {
        "FIFO" => InstanceOrder::Fifo,
        "BFS" => InstanceOrder::Bfs,
        "DFS" => InstanceOrder::Dfs,
        _ => return None,
    };
    let within = match within {
        None => None,
        Some("FIFO") => Some(OperatorOrder::Fifo),
        Some("BFS") => Some(OperatorOrder::Bfs),
        Some("DFS") => Some(OperatorOrder::Dfs),
        _ => return None,
    };
    Some(ScopeHint { order: Some(order), within, ..ScopeHint::default() })
}
