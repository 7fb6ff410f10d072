//! Steps that gather: reductions, orders, groups, ranges, side effects.

use super::{Compiler, Reader, program_of, scope, text, texts, wants, whole};
use crate::error::{Outcome, TraverseError};
use crate::step::{By, Grouping, Name, Reduce, Step};
use gremlin::{Argument, Instruction, Object, Token};
use std::sync::Arc;

impl Compiler {
    pub(super) fn collect(
        &self,
        instruction: &Instruction,
        reader: &mut Reader<'_>,
    ) -> Outcome<Option<Step>> {
        let (local, from) = scope(instruction);
        Ok(Some(match &*instruction.name {
            "count" => reduction(local, Reduce::Count),
            "sum" => reduction(local, Reduce::Sum),
            "min" => reduction(local, Reduce::Min),
            "max" => reduction(local, Reduce::Max),
            "mean" => reduction(local, Reduce::Mean),
            "fold" => match instruction.arguments.as_slice() {
                [] => Step::Fold(None),
                [Argument::Value(seed), Argument::Value(Object::Token(operator))] => {
                    Step::Fold(Some((seed.clone(), *operator)))
                }
                _ => return Err(wants(instruction, "a first value and an operator")),
            },
            "order" => {
                let by = self.sort_by(reader)?;
                if local { Step::LocalOrder(by) } else { Step::Order(by) }
            }
            "dedup" => {
                let labels = texts(instruction, from)?;
                let by = self.one_by(instruction, "Dedup", reader)?;
                if local { Step::LocalDedup(by) } else { Step::Dedup { labels, by } }
            }
            "limit" => range(instruction, local, 0, whole(instruction, from)?)?,
            "skip" => range(instruction, local, whole(instruction, from)?, -1)?,
            "range" => range(instruction, local, whole(instruction, from)?, whole(instruction, from + 1)?)?,
            "tail" => {
                let count = if instruction.arguments.len() > from { whole(instruction, from)? } else { 1 };
                if local { Step::LocalTail(count) } else { Step::Tail(count.max(0) as u64) }
            }
            "sample" => {
                let count =
                    u64::try_from(whole(instruction, from)?).map_err(|_| wants(instruction, "a count"))?;
                let by = self.one_by(instruction, "Sample", reader)?;
                if local { Step::LocalSample(count) } else { Step::Sample { count, by } }
            }
            "group" => {
                let side = side(instruction)?;
                let grouping = self.grouping(reader)?;
                Step::Group { side, grouping }
            }
            "groupCount" => {
                let by = self.one_by(instruction, "GroupCount", reader)?;
                Step::GroupCount { side: side(instruction)?, by: by.unwrap_or(By::Identity) }
            }
            "tree" => Step::Tree { side: side(instruction)?, by: self.bys(reader)? },
            "call" => Step::Call(Box::new(self.calling(instruction, reader)?)),
            "subgraph" => Step::Subgraph(text(instruction, 0)?),
            "barrier" => {
                let first = instruction.arguments.first().and_then(Argument::value);
                Step::Barrier { normalise_sacks: first == Some(&Object::Token(Token::NormSack)) }
            }
            "aggregate" | "store" => {
                let eager = &*instruction.name == "aggregate" && !local;
                let by = self.one_by(instruction, "Aggregate", reader)?;
                Step::Aggregate { side: text(instruction, from)?, by: by.unwrap_or(By::Identity), eager }
            }
            "cap" => Step::Cap(texts(instruction, 0)?),
            "sideEffect" => Step::SideEffect(self.nested(instruction, 0)?),
            "fail" => Step::Fail(texts(instruction, 0)?.into_iter().next()),
            "sack" => match instruction.arguments.first() {
                None => Step::SackValue,
                Some(Argument::Value(Object::Token(operator))) if operator.class() == "Operator" => {
                    let by = self.one_by(instruction, "Sack", reader)?;
                    Step::Sack { operator: *operator, by }
                }
                Some(_) => return Err(wants(instruction, "an operator")),
            },
            _ => return Ok(None),
        }))
    }

    /// `group().by(key).by(value)`
    fn grouping(&self, reader: &mut Reader<'_>) -> Outcome<Grouping> {
        let mut by = self.bys(reader)?;
        if by.len() > 2 {
            let message = "The key and value traversals for group()-step have already been set";
            return Err(TraverseError::step("group", message));
        }
        let value = if by.len() == 2 { by.pop() } else { None };
        let folded = |by: By| Arc::new(program_of(vec![super::by_step(by), Step::Fold(None)]));
        let value = match value {
            None => Arc::new(program_of(vec![Step::Fold(None)])),
            Some(By::Body(body)) => body,
            Some(by) => folded(by),
        };
        Ok(Grouping { key: by.pop().unwrap_or(By::Identity), value })
    }
}

fn reduction(local: bool, reduce: Reduce) -> Step {
    if local { Step::LocalReduce(reduce) } else { Step::Reduce(reduce) }
}

fn side(instruction: &Instruction) -> Outcome<Option<Name>> {
    Ok(texts(instruction, 0)?.into_iter().next())
}

fn range(instruction: &Instruction, local: bool, low: i64, high: i64) -> Outcome<Step> {
    if low > high && high != -1 {
        let message = format!("Not a legal range: [{low}, {high}]");
        return Err(TraverseError::arguments(message, instruction.span));
    }
    Ok(match local {
        true => Step::LocalRange { low, high },
        false => Step::Range { low: low.max(0) as u64, high: u64::try_from(high).ok() },
    })
}
