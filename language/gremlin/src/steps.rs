//! Which steps there are, and how many arguments each takes: the check before anything runs.

use crate::error::{ErrorKind, GremlinError};
use crate::limits::{INSTRUCTIONS_MAX, NESTING_DEPTH_MAX};
use crate::traversal::{Argument, Instruction, Traversal};
use text::Span;
use text::nearest;

const MANY: usize = usize::MAX;

/// Steps with the fewest and most arguments they take.
pub const STEPS: &[(&str, usize, usize)] = &[
    ("V", 0, MANY),
    ("E", 0, MANY),
    ("addE", 1, 1),
    ("addV", 0, 1),
    ("aggregate", 1, 2),
    ("all", 1, 1),
    ("and", 0, MANY),
    ("any", 1, 1),
    ("as", 1, MANY),
    ("asBool", 0, 0),
    ("asDate", 0, 0),
    ("asNumber", 0, 1),
    ("asString", 0, 1),
    ("barrier", 0, 1),
    ("both", 0, MANY),
    ("bothE", 0, MANY),
    ("bothV", 0, 0),
    ("branch", 1, 1),
    ("by", 0, 2),
    ("call", 0, 3),
    ("cap", 1, MANY),
    ("choose", 1, 3),
    ("coalesce", 0, MANY),
    ("coin", 1, 1),
    ("combine", 1, 1),
    ("concat", 0, MANY),
    ("conjoin", 1, 1),
    ("connectedComponent", 0, 0),
    ("constant", 1, 1),
    ("count", 0, 1),
    ("cyclicPath", 0, 0),
    ("dateAdd", 2, 2),
    ("dateDiff", 1, 1),
    ("dedup", 0, MANY),
    ("difference", 1, 1),
    ("discard", 0, 0),
    ("disjunct", 1, 1),
    ("drop", 0, 0),
    ("element", 0, 0),
    ("elementMap", 0, MANY),
    ("emit", 0, 1),
    ("explain", 0, 0),
    ("fail", 0, 1),
    ("filter", 1, 1),
    ("flatMap", 1, 1),
    ("fold", 0, 2),
    ("format", 1, 1),
    ("from", 1, 1),
    ("group", 0, 1),
    ("groupCount", 0, 1),
    ("has", 1, 3),
    ("hasId", 0, MANY),
    ("hasKey", 0, MANY),
    ("hasLabel", 0, MANY),
    ("hasNot", 1, 1),
    ("hasValue", 0, MANY),
    ("id", 0, 0),
    ("identity", 0, 0),
    ("in", 0, MANY),
    ("inE", 0, MANY),
    ("inV", 0, 0),
    ("index", 0, 0),
    ("inject", 0, MANY),
    ("intersect", 1, 1),
    ("io", 1, 1),
    ("is", 1, 1),
    ("key", 0, 0),
    ("label", 0, 0),
    ("lTrim", 0, 1),
    ("length", 0, 1),
    ("limit", 1, 2),
    ("local", 1, 1),
    ("loops", 0, 1),
    ("map", 1, 1),
    ("match", 1, MANY),
    ("math", 1, 1),
    ("max", 0, 1),
    ("mean", 0, 1),
    ("merge", 1, 1),
    ("mergeE", 0, 1),
    ("mergeV", 0, 1),
    ("min", 0, 1),
    ("none", 1, 1),
    ("not", 1, 1),
    ("option", 1, 3),
    ("optional", 1, 1),
    ("or", 0, MANY),
    ("order", 0, 1),
    ("otherV", 0, 0),
    ("out", 0, MANY),
    ("outE", 0, MANY),
    ("outV", 0, 0),
    ("pageRank", 0, 1),
    ("path", 0, 0),
    ("peerPressure", 0, 0),
    ("product", 1, 1),
    ("profile", 0, 1),
    ("project", 1, MANY),
    ("properties", 0, MANY),
    ("property", 1, MANY),
    ("propertyMap", 0, MANY),
    ("rTrim", 0, 1),
    ("range", 2, 3),
    ("read", 0, 0),
    ("repeat", 1, 2),
    ("replace", 2, 3),
    ("reverse", 0, 0),
    ("sack", 0, 1),
    ("sample", 1, 2),
    ("select", 1, MANY),
    ("shortestPath", 0, 0),
    ("sideEffect", 1, 1),
    ("simplePath", 0, 0),
    ("skip", 1, 2),
    ("split", 1, 2),
    ("store", 1, 1),
    ("subgraph", 1, 1),
    ("substring", 1, 3),
    ("sum", 0, 1),
    ("tail", 0, 2),
    ("times", 1, 1),
    ("timeLimit", 1, 1),
    ("to", 1, 2),
    ("toE", 1, MANY),
    ("toLower", 0, 1),
    ("toUpper", 0, 1),
    ("toV", 1, 1),
    ("tree", 0, 1),
    ("trim", 0, 1),
    ("unfold", 0, 0),
    ("union", 0, MANY),
    ("until", 1, 1),
    ("value", 0, 0),
    ("valueMap", 0, MANY),
    ("values", 0, MANY),
    ("where", 1, 2),
    ("with", 1, 2),
    ("write", 0, 0),
];

/// Steps that need more than one pass of a whole graph by a computer of its own, or files: they are refused by name.
pub const UNSUPPORTED: &[(&str, &str)] = &[
    ("pageRank", "it needs a graph computer"),
    ("peerPressure", "it needs a graph computer"),
    ("connectedComponent", "it needs a graph computer"),
    ("shortestPath", "it needs a graph computer"),
    ("program", "it needs a graph computer"),
    ("io", "a server reads and writes no files for its clients"),
    ("read", "a server reads and writes no files for its clients"),
    ("write", "a server reads and writes no files for its clients"),
];

/// Says whether each step of a traversal, nested ones included, is known and has as many arguments as it takes, and whether its hints
/// are.
pub fn check(traversal: &Traversal) -> Result<(), GremlinError> {
    if traversal.instruction_count() > INSTRUCTIONS_MAX {
        let message = format!("the traversal has more than {INSTRUCTIONS_MAX} steps");
        return Err(GremlinError::new(ErrorKind::Limit, message, Span::default()));
    }
    crate::lower::check_hints(&traversal.source)?;
    check_at(traversal, 0)?;
    crate::strategies::check(traversal)
}

fn check_at(traversal: &Traversal, depth: usize) -> Result<(), GremlinError> {
    if depth > NESTING_DEPTH_MAX {
        let message = format!("nesting is deeper than {NESTING_DEPTH_MAX}");
        return Err(GremlinError::new(ErrorKind::Limit, message, Span::default()));
    }
    for instruction in &traversal.steps {
        check_step(instruction)?;
    }
    for argument in
        traversal.source.iter().chain(&traversal.steps).flat_map(|instruction| &instruction.arguments)
    {
        match argument {
            Argument::Traversal(nested) => check_at(nested, depth + 1)?,
            Argument::Strategy(strategy) => {
                for nested in strategy.options.iter().filter_map(|(_, option)| option.traversal()) {
                    check_at(nested, depth + 1)?;
                }
            }
            Argument::Value(_) | Argument::Predicate(_) => {}
        }
    }
    Ok(())
}

fn check_step(instruction: &Instruction) -> Result<(), GremlinError> {
    let (name, span) = (&*instruction.name, instruction.span);
    if let Some((_, why)) = UNSUPPORTED.iter().find(|(unsupported, _)| *unsupported == name) {
        return Err(GremlinError::new(
            ErrorKind::Unsupported,
            format!("the step {name} is not supported: {why}"),
            span,
        ));
    }
    let Some((_, least, most)) = STEPS.iter().find(|(known, ..)| *known == name) else {
        let message = format!("there is no step {name}");
        let suggestion = nearest(name, STEPS.iter().map(|(known, ..)| *known));
        return Err(GremlinError::new(ErrorKind::Unknown, message, span).with_suggestion(suggestion));
    };
    let given = instruction.arguments.len();
    if given < *least || given > *most {
        let takes = match (*least, *most) {
            (least, most) if least == most => format!("{least}"),
            (least, MANY) => format!("at least {least}"),
            (least, most) => format!("{least} to {most}"),
        };
        return Err(GremlinError::new(
            ErrorKind::Arguments,
            format!("the step {name} takes {takes} arguments, not {given}"),
            span,
        ));
    }
    Ok(())
}
