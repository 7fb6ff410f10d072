//! A Datalog program that is maintained as a standing query.
//!
//! The graph is not copied: rules read it from the view, as it was before a commit, and know what the commit moved; only what a program
//! derives is kept. A program with parameters is one for all arguments (`datalog::share`): they are facts, which come and go with
//! those who read. Everything else is the crate [`rules`].

use crate::StandingError;
use crate::event_context::{Changes, EventContext};
use crate::facts::changes;
use crate::installing::Installing;
use crate::limits::{RULES_COMMIT_SECONDS_MAX, RULES_FIRST_SECONDS_MAX};
use crate::row::Row;
use crate::view::{At, View};
use ::rules::{Bounds, Change, Evaluation, GraphFacts, RulesError};
use dataflow::watch::{self, LoopBytes};
use datalog::{Program, RelationNo, Source as Origin};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a kept program may use for what it does just now: time, and bytes on the account of who pays.
#[derive(Clone, Default)]
struct Allowance(Arc<Mutex<Allowed>>);

#[derive(Default)]
struct Allowed {
    until_ns: u64,
    seconds: u64,
    /// Bytes of the tables when the present turn began: the query counts them.
    kept_bytes: usize,
    /// Counts the bytes of a first answer.
    installing: Option<Arc<Installing>>,
    /// Counts those that a turn adds, on the account of whoever works on the thread.
    added: LoopBytes,
}

/// What a turn adds is counted for as long as this lives; from then on the query counts it.
#[must_use]
struct Using<'a>(&'a Allowance);

impl Drop for Using<'_> {
    fn drop(&mut self) {
        let mut allowed = self.0.0.lock();
        (allowed.installing, allowed.added) = (None, LoopBytes::default());
    }
}

impl Allowance {
    /// A turn begins, with so many bytes that the query counts already.
    fn begin(&self, view: &View, kept_bytes: usize) -> Using<'_> {
        let mut allowed = self.0.lock();
        (allowed.kept_bytes, allowed.installing) = (kept_bytes, view.bounds.clone());
        Using(self)
    }
    /// From now on so many seconds.
    fn set(&self, seconds: u64) {
        let until_ns = watch::work_clock_ns().saturating_add(seconds * 1_000_000_000);
        let mut allowed = self.0.lock();
        (allowed.seconds, allowed.until_ns) = (seconds, until_ns);
    }
    /// The tables have so many bytes: may it go on?
    fn look(&self, bytes: usize) -> Result<(), RulesError> {
        // Others that share the thread go on meanwhile.
        watch::spend(watch::UNITS_PER_LOOK).map_err(|stopped| RulesError::Cancelled(stopped.to_string()))?;
        let mut allowed = self.0.lock();
        let counted = match &allowed.installing {
            Some(installing) => installing.hold(bytes),
            None => {
                let added = bytes.saturating_sub(allowed.kept_bytes) as u64;
                allowed.added.set(added).map_err(StandingError::from)
            }
        };
        counted.map_err(|error| match error {
            StandingError::TooLarge { what, limit } => RulesError::TooLarge { what, limit },
            other => RulesError::Cancelled(other.to_string()),
        })?;
        if watch::work_clock_ns() <= allowed.until_ns {
            return Ok(());
        }
        let limit = allowed.seconds as usize;
        Err(RulesError::TooLarge {
            what: "the time to bring the rules' answer up to date, in seconds,",
            limit,
        })
    }
    fn bounds(&self, bytes_max: usize) -> Bounds {
        let allowance = self.clone();
        Bounds { bytes_max, look: Box::new(move |bytes| allowance.look(bytes)) }
    }
}

/// A program that is kept.
pub(crate) struct RulesKeeper {
    allowance: Allowance,
    evaluation: Evaluation<'static>,
    question: RelationNo,
    /// Relations of the graph that it reads.
    graph: Vec<RelationNo>,
    /// Where it has parameters.
    arguments: Option<Arguments>,
    /// Bytes of values from which on it is to begin anew: most of them are of the past.
    worn_bytes: usize,
}

/// Arguments as facts.
struct Arguments {
    relation: RelationNo,
    /// Number of parameters: the first columns of the answer.
    width: usize,
    /// The index of the answer by them.
    index: usize,
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
    let rows = program.relations.iter().find_map(|relation| match &relation.source {
        Origin::Parameter(name) => Some(name),
        _ => None,
    });
    if let Some(name) = rows {
        return Err(StandingError::unsupported_but(
            format!("a program with the facts of ${name}"),
            "give single values as parameters; what is many is read from the graph",
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
    /// A program and its first answer, for these arguments where it has parameters.
    pub fn begin(
        program: &Program,
        turn: &EventContext<'_>,
        arguments: &Changes,
        bytes_max: usize,
    ) -> Result<RulesKeeper, StandingError> {
        let allowance = Allowance::default();
        let using = allowance.begin(turn.view, 0);
        allowance.set(RULES_FIRST_SECONDS_MAX);
        let width = program.parameters.len();
        let (shared, given);
        let (program, relation) = match width {
            0 => (program, None),
            _ => {
                shared = datalog::share(program).map_err(|error| StandingError::Failed(error.message))?;
                given = shared.arguments;
                (&shared.program, Some(given))
            }
        };
        let program = datalog::focus_while(program, &|| allowance.look(0))?;
        let question = program.question.as_ref().map_or(0, |question| question.relation);
        let (graph, at) = (read_of(&program), At::new(turn.view, turn.timestamp));
        let facts = GraphFacts::new(&at, &program);
        let mut evaluation = Evaluation::new(program, |_| None, allowance.bounds(bytes_max))?;
        if let Some(relation) = relation {
            arguments.iter().try_for_each(|(row, _)| evaluation.give(relation, row.values()))?;
        }
        evaluation.evaluate_over(&facts)?;
        evaluation.prepare_over(&facts)?;
        let arguments = relation.map(|relation| Arguments {
            relation,
            width,
            index: evaluation.index_first(question, width),
        });
        let worn_bytes = (bytes_max / 2).max(evaluation.value_bytes().saturating_mul(2));
        drop(using);
        Ok(RulesKeeper { allowance, evaluation, question, graph, arguments, worn_bytes })
    }
    /// What a commit changes of the answer, and arguments that come or go.
    pub fn advance(
        &mut self,
        turn: &EventContext<'_>,
        arguments: &Changes,
    ) -> Result<Changes, StandingError> {
        let mut moved = Vec::new();
        if let Some(touched) = turn.touched {
            let at = (turn.view, turn.timestamp);
            for relation in &self.graph {
                changes(self.evaluation.program(), *relation, at, touched, &mut moved)?;
            }
        }
        if let Some(Arguments { relation, .. }) = &self.arguments {
            let change = |(row, count): &(Row, isize)| Change {
                relation: *relation,
                fact: row.values().to_vec(),
                comes: *count > 0,
            };
            moved.extend(arguments.iter().map(change));
        }
        if moved.is_empty() {
            return Ok(Changes::new());
        }
        let began = turn.timestamp - u64::from(turn.touched.is_some());
        let at = At::new(turn.view, began);
        let before = GraphFacts::new(&at, self.evaluation.program());
        // Who gives arguments waits for a first answer.
        let is_asked = turn.touched.is_none() && arguments.iter().any(|(_, count)| *count > 0);
        let _using = self.allowance.begin(turn.view, self.evaluation.bytes());
        self.allowance.set(if is_asked { RULES_FIRST_SECONDS_MAX } else { RULES_COMMIT_SECONDS_MAX });
        self.evaluation.change_over(&moved, &before)?;
        let told = self.evaluation.difference(self.question);
        // Once in a very long while this evaluates everything anew.
        self.allowance.set(RULES_FIRST_SECONDS_MAX);
        let at = At::new(turn.view, turn.timestamp);
        let after = GraphFacts::new(&at, self.evaluation.program());
        self.evaluation.settle_over(&after)?;
        let gone = told.gone.into_iter().map(|fact| (Row::new(fact), -1));
        Ok(gone.chain(told.come.into_iter().map(|fact| (Row::new(fact), 1))).collect())
    }
    /// The arguments that a row of the answer belongs to.
    pub fn arguments_of(&self, row: &Row) -> Row {
        let width = self.arguments.as_ref().map_or(0, |arguments| arguments.width);
        Row::new(row.values()[..width].iter().cloned())
    }
    /// The whole answer for these arguments.
    pub fn answer(&self, arguments: &Row) -> Changes {
        match &self.arguments {
            None => self.evaluation.facts(self.question).map(|fact| (Row::new(fact), 1)).collect(),
            Some(Arguments { index, .. }) => {
                let facts = self.evaluation.facts_of(self.question, *index, arguments.values());
                facts.map(|fact| (Row::new(fact), 1)).collect()
            }
        }
    }
    /// Values are never forgotten: is it time to begin anew?
    pub fn is_worn(&self) -> bool {
        self.evaluation.value_bytes() > self.worn_bytes
    }
    /// Bytes of what it keeps.
    pub fn bytes(&self) -> usize {
        self.evaluation.bytes()
    }
    pub fn rows(&self) -> usize {
        self.evaluation.len(self.question)
    }
    /// Titles of the columns.
    pub fn titles(program: &Program) -> Vec<Arc<str>> {
        program.question.as_ref().map(|question| question.names.clone()).unwrap_or_default()
    }
}

/// The relations of the graph that a program reads.
fn read_of(program: &Program) -> Vec<RelationNo> {
    let bodies = program.rules.iter().flat_map(|rule| &rule.body);
    let read: BTreeSet<RelationNo> = bodies.filter_map(|literal| literal.relation()).collect();
    let is_graph = |relation: &RelationNo| matches!(program.relations[*relation].source, Origin::Graph(_));
    read.into_iter().filter(is_graph).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::clock::monotonic_ns;

    #[test]
    fn a_program_without_end_ends_at_its_deadline() {
        let program = datalog::compile("c(0). c(y) :- c(x), y = x + 1. ?- c(x).").expect("a program");
        let allowance = Allowance::default();
        allowance.set(1);
        let began_ns = monotonic_ns();
        let bounds = allowance.bounds(usize::MAX);
        let mut evaluation = Evaluation::new(program, |_| None, bounds).expect("it starts");
        let error = StandingError::from(evaluation.evaluate().expect_err("it has no end"));
        assert!(error.to_string().ends_with("in seconds, would pass the limit of 1"), "{error}");
        let took_ns = monotonic_ns() - began_ns;
        assert!(took_ns < 10_000_000_000, "it took {took_ns} ns");
    }
}
