//! Facts from outside: of the text, of parameters, of the graph.

use crate::Evaluation;
use crate::error::RulesError;
use crate::run::Fetched;
use crate::words::Word;
use datalog::{RelationNo, Source, Term};
use model::Value;

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
    /// From now on facts of the graph are fetched when they are asked for, where there is a source.
    pub(crate) fn begin_fetching(&mut self) {
        if self.source.is_none() {
            return;
        }
        self.fetched = Some(Fetched::default());
        for (relation, demanded) in self.program.relations.iter().zip(&mut self.is_demanded) {
            *demanded = matches!(relation.source, Source::Graph(_));
        }
    }
    /// Fetches all facts of a relation.
    pub(crate) fn fetch_whole(&mut self, relation: RelationNo) -> Result<(), RulesError> {
        let (Source::Graph(graph), Some(source)) =
            (self.program.relations[relation].source.clone(), self.source)
        else {
            return Ok(());
        };
        if std::mem::take(&mut self.is_demanded[relation]) {
            source.fetch(&graph, None, &mut |fact| self.give(relation, fact))?;
        }
        Ok(())
    }
    /// Fetches the facts with this value in the one column of an index.
    pub(crate) fn fetch_by(
        &mut self,
        relation: RelationNo,
        index: usize,
        word: Word,
    ) -> Result<(), RulesError> {
        let (Source::Graph(graph), Some(source)) =
            (self.program.relations[relation].source.clone(), self.source)
        else {
            return Ok(());
        };
        let column = self.relations[relation].indexes[index].columns()[0];
        let value = self.words.value(word);
        source.fetch(&graph, Some((column, &value)), &mut |fact| self.fetched_fact(relation, fact))?;
        if let Some(fetched) = &mut self.fetched {
            fetched.insert((relation, index, word));
        }
        Ok(())
    }
    /// It may have been fetched already, by another of its columns.
    fn fetched_fact(&mut self, relation: RelationNo, fact: &[Value]) -> Result<(), RulesError> {
        let words: Vec<Word> = fact.iter().map(|value| self.words.word(value)).collect::<Result<_, _>>()?;
        if self.relations[relation].find(&words).is_none() {
            self.give_words(relation, &words)
        } else {
            Ok(())
        }
    }
}
