//! A Datalog program over the graph: asked once, or kept as a standing query.
//!
//! The relations of the graph that a kept program reads are facts of its own, two words for an edge: the rules look facts up by any of
//! their columns, as of before and after a commit. Everything else is the room [`rules`].

use crate::StandingError;
use crate::facts::{GraphFacts, changes};
use crate::limits::{RULES_COMMIT_SECONDS_MAX, RULES_FIRST_SECONDS_MAX};
use crate::network::{Changes, Turn};
use crate::row::Row;
use crate::view::View;
use ::rules::{Bounds, Change, Evaluation, RulesError, Source};
use datalog::{GraphRelation, Program, RelationNo, Source as Origin};
use model::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use store::Snapshot;
use world::clock::monotonic_ns;

/// Facts of files: of each relation that comes from one.
pub type FileFacts = Vec<(RelationNo, Vec<Vec<Value>>)>;

/// Answers a program's question over a snapshot: only what the question needs is computed, and read of the graph.
///
/// # Errors
/// A limit is passed, a parameter is missing, the graph could not be read, or `bounds` end it.
pub fn ask_rules(
    program: &Program,
    files: FileFacts,
    parameters: &(dyn Fn(&str) -> Option<Value> + Sync),
    snapshot: &Snapshot,
    bounds: Bounds,
) -> Result<Vec<Vec<Value>>, RulesError> {
    let view = View::new(snapshot.clone());
    let facts = GraphFacts { view: &view, tick: 0 };
    let focused = datalog::focus(program);
    let Some(question) = focused.question.as_ref().map(|question| question.relation) else {
        return Ok(Vec::new());
    };
    let mut evaluation = Evaluation::new(focused, parameters, Some(&facts), bounds)?;
    for (relation, rows) in files {
        rows.iter().try_for_each(|row| evaluation.give(relation, row))?;
    }
    evaluation.evaluate()?;
    Ok(evaluation.facts(question).collect())
}

/// The time that a kept program may take for what it does just now.
#[derive(Clone, Default)]
struct Deadline {
    at_ns: Arc<AtomicU64>,
    seconds: Arc<AtomicU64>,
}

impl Deadline {
    /// From now on so many seconds.
    fn set(&self, seconds: u64) {
        self.seconds.store(seconds, Relaxed);
        self.at_ns.store(monotonic_ns().saturating_add(seconds * 1_000_000_000), Relaxed);
    }
    fn look(&self) -> Result<(), RulesError> {
        if monotonic_ns() <= self.at_ns.load(Relaxed) {
            return Ok(());
        }
        let limit = self.seconds.load(Relaxed) as usize;
        Err(RulesError::TooLarge {
            what: "the time to bring the rules' answer up to date, in seconds,",
            limit,
        })
    }
    fn bounds(&self, bytes_max: usize) -> Bounds {
        let deadline = self.clone();
        Bounds { bytes_max, look: Box::new(move || deadline.look()) }
    }
}

/// A program that is kept.
pub(crate) struct RulesKeeper {
    deadline: Deadline,
    evaluation: Evaluation<'static>,
    question: RelationNo,
    graph: Vec<(RelationNo, GraphRelation)>,
}

impl From<RulesError> for StandingError {
    fn from(error: RulesError) -> StandingError {
        match error {
            RulesError::TooLarge { what, limit } => StandingError::TooLarge { what, limit },
            other => StandingError::Failed(other.to_string()),
        }
    }
}

/// Is this a program that can be kept?
pub(crate) fn check(program: &Program) -> Result<(), StandingError> {
    if program.question.is_none() {
        return Err(StandingError::unsupported_but(
            "a program without a question",
            "end it with ?- relation(x, y). so that it is known what to tell",
        ));
    }
    if let Some(name) = program.parameters.first() {
        return Err(StandingError::unsupported_but(
            format!("a program with the parameter ${name}"),
            "write the value itself, or read it from the graph",
        ));
    }
    if program.relations.iter().any(|relation| matches!(relation.source, Origin::File(_))) {
        return Err(StandingError::unsupported_but(
            "a program with facts from a file",
            "a file tells nobody when it changes: import it into the graph",
        ));
    }
    Ok(())
}

impl RulesKeeper {
    /// A program and its first answer.
    pub fn begin(program: &Program, turn: &Turn<'_>, bytes_max: usize) -> Result<RulesKeeper, StandingError> {
        let program = datalog::focus(program);
        let question = program.question.as_ref().map_or(0, |question| question.relation);
        let relations = program.relations.iter().enumerate();
        let mut needed = vec![false; program.relations.len()];
        needed[question] = true;
        let bodies = program.rules.iter().flat_map(|rule| &rule.body);
        bodies.filter_map(|literal| literal.relation()).for_each(|relation| needed[relation] = true);
        let graph: Vec<(RelationNo, GraphRelation)> = relations
            .filter_map(|(number, relation)| match &relation.source {
                Origin::Graph(graph) if needed[number] => Some((number, graph.clone())),
                _ => None,
            })
            .collect();
        let deadline = Deadline::default();
        deadline.set(RULES_FIRST_SECONDS_MAX);
        let mut evaluation = Evaluation::new(program, |_| None, None, deadline.bounds(bytes_max))?;
        let facts = GraphFacts { view: turn.view, tick: turn.tick };
        for (number, relation) in &graph {
            facts.fetch(relation, None, &mut |fact| evaluation.give(*number, fact))?;
        }
        evaluation.evaluate()?;
        evaluation.prepare()?;
        Ok(RulesKeeper { deadline, evaluation, question, graph })
    }
    /// What a commit changes of the answer.
    pub fn advance(&mut self, turn: &Turn<'_>) -> Result<Changes, StandingError> {
        let Some(touched) = turn.touched else { return Ok(Changes::new()) };
        let mut moved = Vec::new();
        for (relation, graph) in &self.graph {
            let changes = changes(graph, turn.view, turn.tick, touched)?;
            moved.extend(changes.into_iter().map(|(fact, comes)| Change {
                relation: *relation,
                fact,
                comes,
            }));
        }
        if moved.is_empty() {
            return Ok(Changes::new());
        }
        self.deadline.set(RULES_COMMIT_SECONDS_MAX);
        self.evaluation.change(&moved)?;
        let told = self.evaluation.difference(self.question);
        // Once in a very long while this evaluates everything anew.
        self.deadline.set(RULES_FIRST_SECONDS_MAX);
        self.evaluation.settle()?;
        let gone = told.gone.into_iter().map(|fact| (Row::new(fact), -1));
        Ok(gone.chain(told.come.into_iter().map(|fact| (Row::new(fact), 1))).collect())
    }
    /// The whole answer.
    pub fn answer(&self) -> Changes {
        self.evaluation.facts(self.question).map(|fact| (Row::new(fact), 1)).collect()
    }
    pub fn rows(&self) -> usize {
        self.evaluation.len(self.question)
    }
    /// Titles of the columns.
    pub fn titles(program: &Program) -> Vec<Arc<str>> {
        program.question.as_ref().map(|question| question.names.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_end_ends_at_its_deadline() {
        let program = datalog::compile("c(0). c(y) :- c(x), y = x + 1. ?- c(x).").expect("a program");
        let deadline = Deadline::default();
        deadline.set(1);
        let began_ns = monotonic_ns();
        let bounds = deadline.bounds(usize::MAX);
        let mut evaluation = Evaluation::new(program, |_| None, None, bounds).expect("it starts");
        let error = StandingError::from(evaluation.evaluate().expect_err("it has no end"));
        assert!(error.to_string().ends_with("in seconds, would pass the limit of 1"), "{error}");
        let took_ns = monotonic_ns() - began_ns;
        assert!(took_ns < 10_000_000_000, "it took {took_ns} ns");
    }
}
