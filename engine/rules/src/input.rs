//! Facts from outside: of the text, of parameters, of the graph.

use crate::Evaluation;
use crate::error::RulesError;
use crate::limits::{BLOCK_FACTS, LOOK_EVERY};
use crate::source::Over;
use crate::words::Word;
use datalog::{RelationNo, Source, Term};
use model::Value;
use std::collections::BTreeSet;

impl Evaluation<'_> {
    /// Gives the facts of the text and of parameters.
    pub(crate) fn give_texts(&mut self) -> Result<(), RulesError> {
        for (relation, terms) in self.program.facts.clone() {
            let fact = terms.iter().map(|term| match term {
                Term::Constant(value) => Ok(value.clone()),
                Term::Parameter(name) => self.parameter(name),
                Term::Any | Term::Slot(_) => Ok(Value::Null),
            });
            let fact: Vec<Value> = fact.collect::<Result<_, _>>()?;
            self.give(relation, &fact)?;
        }
        for relation in 0..self.program.relations.len() {
            let Source::Parameter(name) = self.program.relations[relation].source.clone() else { continue };
            let arity = self.program.relations[relation].arity;
            let bad = |what: &str| {
                let message =
                    format!("the parameter ${name} {what}: a list of lists of {arity} values is expected");
                RulesError::BadInput(message)
            };
            let Value::List(rows) = self.parameter(&name)? else { return Err(bad("is no list")) };
            for row in rows.iter() {
                match row {
                    Value::List(fact) if fact.len() == arity => self.give(relation, fact)?,
                    Value::List(fact) => return Err(bad(&format!("holds a list of {} values", fact.len()))),
                    value if arity == 1 => self.give(relation, std::slice::from_ref(value))?,
                    _ => return Err(bad("holds something that is no list")),
                }
            }
        }
        Ok(())
    }
    /// From now on the graph's relations are read on demand.
    pub(crate) fn begin_reading(&mut self) {
        for (relation, reads) in self.program.relations.iter().zip(&mut self.is_read) {
            *reads = matches!(relation.source, Source::Graph(_));
        }
    }
    /// Copies these relations' facts from the graph, which does not serve the look-ups that the rules need.
    pub(crate) fn copy(&mut self, wanted: BTreeSet<RelationNo>, over: Over<'_>) -> Result<(), RulesError> {
        for relation in wanted {
            if over.is_none() || !std::mem::take(&mut self.is_read[relation]) {
                continue;
            }
            self.is_copied[relation] = true;
            let arity = self.relations[relation].arity;
            self.each_block_read(relation, over, |evaluation, facts| {
                facts.chunks_exact(arity).try_for_each(|fact| evaluation.give_words(relation, fact))
            })?;
        }
        Ok(())
    }
    /// All facts of a relation that is read, a block at a time.
    pub(crate) fn each_block_read(
        &mut self,
        relation: RelationNo,
        over: Over<'_>,
        mut take: impl FnMut(&mut Self, &[Word]) -> Result<(), RulesError>,
    ) -> Result<(), RulesError> {
        let Some(source) = over else { return Ok(()) };
        let (mut keys, mut facts) = (Vec::new(), Vec::new());
        let block = BLOCK_FACTS * self.relations[relation].arity;
        let mut cursor = Some(0);
        while let Some(at) = cursor {
            keys.clear();
            cursor = source.keys(relation, at, &mut self.words, &mut keys)?;
            for (at, key) in keys.iter().enumerate() {
                if at % LOOK_EVERY == 0 {
                    self.look_around(keys.capacity() + facts.capacity())?;
                }
                source.read(relation, (0, *key), &mut self.words, &mut facts)?;
                if facts.len() >= block {
                    take(self, &facts)?;
                    facts.clear();
                }
            }
        }
        take(self, &facts)
    }
}
