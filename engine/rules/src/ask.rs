//! A question that is answered once: a program, its inputs, and its answer, returned in parts.

use crate::error::RulesError;
use crate::evaluation::{Bounds, Evaluation};
use crate::facts::GraphFacts;
use crate::limits::FOCUSED_KEPT_LITERALS_MAX;
use datalog::{Program, RelationNo};
use model::Value;
use std::sync::OnceLock;
use store::GraphRead;

/// Facts of files: of each relation that comes from one.
pub type FileFacts = Vec<(RelationNo, Vec<Vec<Value>>)>;

/// A program whose question is asked again and again: it is reduced to the question once, unless it is long.
pub struct PreparedProgram {
    program: Program,
    focused: OnceLock<Program>,
}

impl PreparedProgram {
    /// Nothing is computed yet.
    pub fn new(program: Program) -> PreparedProgram {
        PreparedProgram { program, focused: OnceLock::new() }
    }
    /// The program as it was written.
    pub fn program(&self) -> &Program {
        &self.program
    }
    /// The program that computes only what its question needs.
    fn focused(&self, bounds: &Bounds) -> Result<Program, RulesError> {
        if let Some(focused) = self.focused.get() {
            return Ok(focused.clone());
        }
        let focused = datalog::focus_while(&self.program, &|| (bounds.look)(0))?;
        let literals: usize = focused.rules.iter().map(|rule| 1 + rule.body.len()).sum();
        match literals <= FOCUSED_KEPT_LITERALS_MAX {
            true => Ok(self.focused.get_or_init(|| focused).clone()),
            false => Ok(focused),
        }
    }
}

/// The answer to the question of a program, handed out in parts.
pub struct RulesAnswer {
    evaluation: Evaluation<'static>,
    question: RelationNo,
    /// The row of the next fact; none at the end.
    next: Option<u32>,
}

impl RulesAnswer {
    /// At most `count` rows more; none at the end.
    pub fn rows(&mut self, count: usize) -> Option<Vec<Vec<Value>>> {
        let (rows, next) = self.evaluation.some_facts(self.question, self.next?, count);
        self.next = next;
        (!rows.is_empty()).then_some(rows)
    }
    /// Rows of the whole answer.
    pub fn len(&self) -> usize {
        self.next.map_or(0, |_| self.evaluation.len(self.question))
    }
    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.evaluation.bytes()
    }
}

/// Answers a program's question over a graph: computes, and reads of the graph, only what the question needs.
///
/// # Errors
/// A limit is passed, a parameter is missing, the graph could not be read, or `bounds` end it.
pub fn ask(
    prepared: &PreparedProgram,
    files: &FileFacts,
    parameters: impl Fn(&str) -> Option<Value> + Send + 'static,
    graph: &dyn GraphRead,
    bounds: Bounds,
) -> Result<RulesAnswer, RulesError> {
    let focused = prepared.focused(&bounds)?;
    let question = focused.question.as_ref().map(|question| question.relation);
    let facts = GraphFacts::new(graph, &focused);
    let mut evaluation = Evaluation::new(focused, parameters, bounds)?;
    for (relation, rows) in files {
        rows.iter().try_for_each(|row| evaluation.give(*relation, row))?;
    }
    evaluation.evaluate_over(&facts)?;
    Ok(RulesAnswer { evaluation, question: question.unwrap_or(0), next: question.map(|_| 0) })
}
