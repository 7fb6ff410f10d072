//! TinkerPop's strategies, and how each is treated.
//!
//! A strategy is *honoured* by the machine, *checked* here before anything runs, *neutral* because it affects how an answer is found and not which,
//! or *refused* by name. `withoutStrategies` takes back earlier `withStrategies`; of TinkerPop's defaults only `ConnectiveStrategy` changes answers
//! when it is removed.

use crate::error::{ErrorKind, GremlinError};
use crate::object::Object;
use crate::traversal::{Argument, Instruction, Strategy, Traversal};

/// The treatment of a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes the answer of a traversal: the traverser machine follows it.
    Honoured,
    /// It forbids traversals: see [`check`].
    Checked,
    /// It changes no answer.
    Neutral,
    /// It needs a feature that does not exist.
    Refused(&'static str),
}

use Effect::{Checked, Honoured, Neutral, Refused};

const COMPUTER: &str = "there is no graph computer";
const ENGINE: &str = "both engines order their work themselves";
const CLIENT: &str = "it holds code of the client";

/// Each strategy with its treatment and the reason.
pub const STRATEGIES: &[(&str, Effect, &str)] = &[
    ("AdjacentToIncidentStrategy", Neutral, ENGINE),
    ("ByModulatorOptimizationStrategy", Neutral, ENGINE),
    ("ComputerFinalizationStrategy", Neutral, COMPUTER),
    ("ComputerVerificationStrategy", Neutral, COMPUTER),
    (
        "ConnectiveStrategy",
        Neutral,
        "infix `and()` and `or()` are joined unless it is taken away, which is honoured",
    ),
    ("CountStrategy", Neutral, ENGINE),
    ("EarlyLimitStrategy", Neutral, ENGINE),
    ("EdgeLabelVerificationStrategy", Checked, "steps along edges without a label, where it throws"),
    ("ElementIdStrategy", Refused("ids are the graph's or given with `T.id`"), ""),
    ("EventStrategy", Refused(CLIENT), ""),
    ("FilterRankingStrategy", Neutral, ENGINE),
    ("GraphFilterStrategy", Neutral, COMPUTER),
    ("GValueReductionStrategy", Neutral, ENGINE),
    ("HaltedTraverserStrategy", Neutral, "the serializer of the client decides how elements are detached"),
    ("IdentityRemovalStrategy", Neutral, ENGINE),
    ("IncidentToAdjacentStrategy", Neutral, ENGINE),
    ("InlineFilterStrategy", Neutral, ENGINE),
    ("LambdaRestrictionStrategy", Neutral, "lambdas are refused always"),
    ("LazyBarrierStrategy", Neutral, ENGINE),
    ("MatchAlgorithmStrategy", Neutral, ENGINE),
    ("MatchPredicateStrategy", Neutral, ENGINE),
    ("MessagePassingReductionStrategy", Neutral, COMPUTER),
    ("OptionsStrategy", Neutral, "its options are what `with(key, value)` says"),
    ("OrderLimitStrategy", Neutral, ENGINE),
    ("PartitionStrategy", Honoured, ""),
    ("PathProcessorStrategy", Neutral, ENGINE),
    ("PathRetractionStrategy", Neutral, ENGINE),
    ("ProductiveByStrategy", Honoured, ""),
    ("ProfileStrategy", Neutral, "`profile()` measures"),
    ("ReadOnlyStrategy", Checked, "steps that write"),
    ("ReferenceElementStrategy", Neutral, "the serializer of the client decides how elements are detached"),
    ("RemoteStrategy", Refused(CLIENT), ""),
    ("RepeatUnrollStrategy", Neutral, ENGINE),
    ("RequirementsStrategy", Neutral, "paths and sacks are kept where a step reads them"),
    ("ReservedKeysVerificationStrategy", Checked, "property keys that it names, where it throws"),
    ("SackStrategy", Refused("`withSack()` gives a sack"), ""),
    ("SeedStrategy", Honoured, ""),
    ("SideEffectStrategy", Refused("`withSideEffect()` gives a side effect"), ""),
    ("StandardVerificationStrategy", Neutral, "what it forbids is refused always"),
    ("SubgraphStrategy", Honoured, ""),
    ("TinkerGraphCountStrategy", Neutral, ENGINE),
    ("TinkerGraphStepStrategy", Neutral, ENGINE),
    ("TinkerMergeEVStepStrategy", Neutral, ENGINE),
    ("VertexProgramDenyStrategy", Neutral, COMPUTER),
    ("VertexProgramRestrictionStrategy", Neutral, COMPUTER),
    (
        "VertexProgramStrategy",
        Refused("The TraversalSource does not allow the use of a GraphComputer: there is none"),
        "",
    ),
];

/// Steps that write.
const WRITING: [&str; 6] = ["addV", "addE", "property", "drop", "mergeV", "mergeE"];
/// Steps along edges.
const WALKING: [&str; 6] = ["out", "in", "both", "outE", "inE", "bothE"];

/// The treatment of a strategy of this name, if there is one.
pub fn effect(name: &str) -> Option<Effect> {
    STRATEGIES.iter().find(|(known, ..)| *known == name).map(|(_, effect, _)| *effect)
}

/// The strategies that are given and not taken back, each once, the last one of a name.
pub fn given(source: &[Instruction]) -> Vec<&Strategy> {
    let mut given: Vec<&Strategy> = Vec::new();
    for instruction in source {
        match &*instruction.name {
            "withStrategies" => {
                for argument in &instruction.arguments {
                    let Argument::Strategy(strategy) = argument else { continue };
                    given.retain(|known| known.name != strategy.name);
                    given.push(strategy);
                }
            }
            "withoutStrategies" => {
                let taken: Vec<&str> = instruction.arguments.iter().filter_map(name).collect();
                given.retain(|known| !taken.contains(&&*known.name));
            }
            _ => {}
        }
    }
    given
}

/// Is a strategy that TinkerPop applies by default taken away?
pub fn is_taken_away(source: &[Instruction], wanted: &str) -> bool {
    let takes = |one: &&Instruction| &*one.name == "withoutStrategies";
    source.iter().filter(takes).flat_map(|one| &one.arguments).any(|one| name(one) == Some(wanted))
}

/// The name of a strategy in the arguments of `withoutStrategies`: drivers send the name of its class.
fn name(argument: &Argument) -> Option<&str> {
    let name = match argument {
        Argument::Strategy(strategy) => &*strategy.name,
        Argument::Value(Object::String(class)) => class,
        _ => return None,
    };
    name.rsplit(['.', '$']).next()
}

/// Checks whether each strategy is known, and whether the traversal does anything that a given one forbids.
///
/// # Errors
/// A strategy is unknown or refused, or forbids a step of the traversal.
pub fn check(traversal: &Traversal) -> Result<(), GremlinError> {
    for instruction in &traversal.source {
        if !matches!(&*instruction.name, "withStrategies" | "withoutStrategies") {
            continue;
        }
        let takes_away = &*instruction.name == "withoutStrategies";
        for argument in &instruction.arguments {
            match name(argument).map(|name| (name, effect(name))) {
                Some((_, Some(Refused(why)))) if !takes_away => {
                    return Err(GremlinError::new(ErrorKind::Unsupported, why, instruction.span));
                }
                Some((_, Some(_))) => {}
                Some((name, None)) => {
                    let message = format!("the strategy {name} is not supported");
                    return Err(GremlinError::new(ErrorKind::Unsupported, message, instruction.span));
                }
                None => {
                    return Err(GremlinError::new(
                        ErrorKind::Arguments,
                        "strategies are wanted",
                        instruction.span,
                    ));
                }
            }
        }
    }
    given(&traversal.source).into_iter().try_for_each(|strategy| check_one(strategy, traversal))
}

fn check_one(strategy: &Strategy, traversal: &Traversal) -> Result<(), GremlinError> {
    let option = |key: &str| {
        let found = strategy.options.iter().find(|(known, _)| &**known == key);
        found.and_then(|(_, option)| option.value())
    };
    let throws = option("throwException") == Some(&Object::Bool(true));
    let mut reserved: Vec<&str> = vec!["id", "label"];
    if let Some(Object::List(keys) | Object::Set(keys)) = option("keys") {
        reserved = keys.iter().filter_map(Object::as_str).collect();
    }
    let is_forbidden = |step: &Instruction| match &*strategy.name {
        "ReadOnlyStrategy" => WRITING.contains(&&*step.name),
        "EdgeLabelVerificationStrategy" => throws && is_unlabelled(step),
        "ReservedKeysVerificationStrategy" => throws && reserved_key(step, &reserved).is_some(),
        _ => false,
    };
    let Some(step) = find(traversal, &is_forbidden) else { return Ok(()) };
    let message = match &*strategy.name {
        "ReadOnlyStrategy" => {
            "The provided traversal has a mutating step and thus is not read only".to_string()
        }
        "EdgeLabelVerificationStrategy" => {
            format!("The provided traversal contains a vertex step without any specified edge label: {step}")
        }
        _ => {
            let key = reserved_key(step, &reserved).unwrap_or_default();
            format!(
                "The provided traversal contains a step that is setting a property key to a reserved word: {key}"
            )
        }
    };
    Err(GremlinError::new(ErrorKind::Arguments, message, step.span))
}

/// The first step, nested ones included, of which this holds.
fn find<'t>(traversal: &'t Traversal, wanted: &dyn Fn(&Instruction) -> bool) -> Option<&'t Instruction> {
    traversal.steps.iter().find_map(|step| {
        let nested =
            || step.arguments.iter().filter_map(Argument::traversal).find_map(|nested| find(nested, wanted));
        if wanted(step) { Some(step) } else { nested() }
    })
}

/// A step along edges that names no label; `to(Direction.OUT)` is one too.
fn is_unlabelled(step: &Instruction) -> bool {
    let directed = matches!(&*step.name, "to" | "toE")
        && matches!(step.arguments.as_slice(), [Argument::Value(Object::Token(_))]);
    directed || WALKING.contains(&&*step.name) && step.arguments.is_empty()
}

/// The reserved key of a property that a step sets.
fn reserved_key<'t>(step: &'t Instruction, reserved: &[&str]) -> Option<&'t str> {
    let is_reserved = |key: &&str| reserved.contains(key);
    let mut values = step.arguments.iter().filter_map(Argument::value);
    match values.find(|value| !matches!(value, Object::Token(_)))? {
        _ if &*step.name != "property" => None,
        Object::Map(pairs) => pairs.iter().filter_map(|(key, _)| key.as_str()).find(is_reserved),
        key => key.as_str().filter(is_reserved),
    }
}
