//! Settings of a source before its first step: sacks, side effects, strategies, options.

use super::{Compiler, wants};
use crate::compiled::{Partition, Setting, Subgraph};
use crate::error::{Outcome, TraverseError};
use crate::step::Name;
use gremlin::{Argument, Instruction, Object, Strategy, Token, Traversal, strategies};

impl Compiler {
    pub(super) fn setting(&self, source: &[Instruction]) -> Outcome<Setting> {
        let mut setting = Setting::default();
        for instruction in source {
            let arguments = &instruction.arguments;
            match &*instruction.name {
                "withSack" => {
                    let first = arguments.first().and_then(Argument::value).cloned();
                    let first = first.ok_or_else(|| wants(instruction, "a value"))?;
                    setting.sack = Some((first, arguments.iter().skip(1).find_map(operator)));
                }
                "withSideEffect" => match arguments.as_slice() {
                    [Argument::Value(Object::String(name)), Argument::Value(value), rest @ ..] => {
                        setting.sides.push((name.clone(), value.clone(), rest.first().and_then(operator)));
                    }
                    _ => return Err(wants(instruction, "a name and a value")),
                },
                // options are looked up by their names, in whichever form they came
                "with" => {}
                // gathered below
                "withStrategies" | "withoutStrategies" => {}
                "withBulk" => {
                    setting.no_bulk = arguments.first() == Some(&Argument::Value(Object::Bool(false)))
                }
                // who compiles has looked for it
                "withPath" => {}
                name => {
                    let message = format!("the source instruction {name} is not supported");
                    return Err(TraverseError::unsupported(message, instruction.span));
                }
            }
        }
        for strategy in strategies::given(source) {
            self.strategy(&mut setting, strategy)?;
        }
        Ok(setting)
    }

    fn strategy(&self, setting: &mut Setting, strategy: &Strategy) -> Outcome<()> {
        let value = |key: &str| {
            let found = strategy.options.iter().find(|(known, _)| &**known == key);
            found.and_then(|(_, option)| option.value()).cloned()
        };
        match &*strategy.name {
            "SeedStrategy" => setting.seed = value("seed").and_then(|seed| seed.as_long()),
            "ProductiveByStrategy" => {
                setting.productive_by =
                    Some(value("productiveKeys").map(|keys| names(&keys)).unwrap_or_default());
            }
            "SubgraphStrategy" => {
                let body = |key: &str| match strategy.options.iter().find(|(known, _)| &**known == key) {
                    Some((_, Argument::Traversal(nested))) => self.body(nested).map(Some),
                    _ => Ok(None),
                };
                setting.subgraph = Some(Subgraph {
                    vertices: body("vertices")?,
                    edges: body("edges")?,
                    properties: body("vertexProperties")?,
                    checks_ends: value("checkAdjacentVertices") != Some(Object::Bool(false)),
                });
            }
            "PartitionStrategy" => {
                let Some(Object::String(key)) = value("partitionKey") else {
                    let message = "PartitionStrategy wants a partitionKey";
                    return Err(TraverseError::arguments(message, gremlin::Span::default()));
                };
                setting.partition = Some(Partition {
                    key,
                    write: value("writePartition"),
                    read: value("readPartitions").map(|list| elements(&list)).unwrap_or_default(),
                    properties: value("includeMetaProperties") == Some(Object::Bool(true)),
                });
            }
            // what is refused or unknown was told by the check, and the others change no answer
            _ => {}
        }
        Ok(())
    }

    /// Options of the source; hints for planners are ignored by the machine.
    pub(super) fn source_options(&self, setting: &mut Setting, traversal: &Traversal) -> Outcome<()> {
        let timeout = ["evaluationTimeout", "scriptEvaluationTimeout"].map(|key| traversal.option(key));
        let timeout_ms = timeout.into_iter().flatten().next().and_then(Object::as_long);
        setting.timeout_ms = timeout_ms.and_then(|milliseconds| u64::try_from(milliseconds).ok());
        setting.trees_are_maps = match traversal.option("trees").map(Object::as_str) {
            None | Some(Some("trees")) => false,
            Some(Some("maps")) => true,
            Some(_) => {
                let message = "the option `trees` is `trees` or `maps`";
                return Err(TraverseError::arguments(message, gremlin::Span::default()));
            }
        };
        Ok(())
    }
}

fn operator(argument: &Argument) -> Option<Token> {
    match argument {
        Argument::Value(Object::Token(token)) if token.class() == "Operator" => Some(*token),
        _ => None,
    }
}

fn elements(object: &Object) -> Vec<Object> {
    match object {
        Object::List(elements) | Object::Set(elements) => elements.to_vec(),
        other => vec![other.clone()],
    }
}

fn names(object: &Object) -> Vec<Name> {
    elements(object).iter().filter_map(|element| element.as_str().map(Name::from)).collect()
}
