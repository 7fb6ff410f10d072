//! Maintains the answers of a standing query: a plan by a network of steps, or rules.

use crate::StandingError;
use crate::analysis::analyse;
use crate::error::caught;
use crate::event_context::{Changes, EventContext};
use crate::limits::RULES_BYTES_MAX;
use crate::network::Network;
use crate::row::Row;
use crate::rules::{RulesKeeper, check};
use crate::subscription::Column;
use crate::view::{Timestamp, View};
use datalog::Program;
use plan::Statement;
use plan::expr::Name;
use std::sync::Arc;

/// The definition of a standing query.
pub enum Definition {
    /// A statement, normalised and not optimised.
    Plan(Box<Statement>),
    /// The question of a Datalog program.
    Rules(Arc<Program>),
}

impl From<Statement> for Definition {
    fn from(statement: Statement) -> Definition {
        Definition::Plan(Box::new(statement))
    }
}

impl From<Program> for Definition {
    fn from(program: Program) -> Definition {
        Definition::Rules(Arc::new(program))
    }
}

/// Titles, and names of the parameters.
pub(crate) type Heading = (Arc<[Column]>, Arc<[Name]>);

impl Definition {
    /// Begins to maintain it over the graph of a turn, with its answers for these arguments; where none are given, for those of a query without
    /// parameters. Also returns its columns and parameters.
    ///
    /// # Errors
    /// It cannot be maintained, or a row fails.
    pub(crate) fn begin(
        &self,
        turn: &EventContext<'_>,
        arguments: Option<&Changes>,
    ) -> Result<(Heading, AnswerKeeper), StandingError> {
        let _building = turn.view.building();
        match self {
            Definition::Plan(statement) => {
                let names = turn.view.newest();
                let shape = analyse(statement, names)?;
                let column = |column: &crate::shape::OutputColumn| Column {
                    title: column.title.clone(),
                    at: column.column,
                    content: column.content,
                };
                let parameters: Arc<[Name]> = shape.arguments.iter().map(|(name, _)| name.clone()).collect();
                let heading = (shape.columns.iter().map(column).collect(), parameters);
                let none = if heading.1.is_empty() { vec![(Row::unit(), 1)] } else { Changes::new() };
                let arguments = arguments.unwrap_or(&none);
                let mut network = Network::new(shape, names)?;
                if !arguments.is_empty() {
                    network.advance(turn, arguments)?;
                    network.weigh();
                }
                Ok((heading, AnswerKeeper::Plan(Box::new(network))))
            }
            Definition::Rules(program) => {
                check(program)?;
                let titles = RulesKeeper::titles(program).into_iter().enumerate();
                let column = |(at, title): (usize, Arc<str>)| Column {
                    title: Name::from(&*title),
                    at: at + program.parameters.len(),
                    content: None,
                };
                let parameters: Arc<[Name]> =
                    program.parameters.iter().map(|name| Name::from(&**name)).collect();
                let heading = (titles.map(column).collect(), parameters);
                let arguments = arguments.unwrap_or(const { &Changes::new() });
                let rules = RulesKeeper::begin(program, turn, arguments, RULES_BYTES_MAX)?;
                Ok((heading, AnswerKeeper::Rules(Box::new(rules))))
            }
        }
    }
    /// The same over the graph of a view as it is, with its answers for these arguments. A panic is an error.
    pub(crate) fn anew(
        &self,
        view: &View,
        timestamp: Timestamp,
        arguments: &Changes,
    ) -> Result<AnswerKeeper, StandingError> {
        let begun = caught(|| self.begin(&EventContext { view, timestamp, touched: None }, Some(arguments)));
        begun.map(|(_, kept)| kept)
    }
}

/// Maintains a query's answers.
pub(crate) enum AnswerKeeper {
    Plan(Box<Network>),
    Rules(Box<RulesKeeper>),
}

impl AnswerKeeper {
    pub fn advance(
        &mut self,
        turn: &EventContext<'_>,
        arguments: &Changes,
    ) -> Result<Changes, StandingError> {
        let _building = turn.view.building();
        match self {
            AnswerKeeper::Plan(network) => network.advance(turn, arguments),
            AnswerKeeper::Rules(rules) => rules.advance(turn, arguments),
        }
    }
    /// The arguments that a row belongs to.
    pub fn arguments_of(&self, row: &Row) -> Row {
        match self {
            AnswerKeeper::Plan(network) => network.arguments_of(row),
            AnswerKeeper::Rules(rules) => rules.arguments_of(row),
        }
    }
    /// The present answer for these arguments: rows with multiplicities.
    pub fn answer(&self, arguments: &Row) -> Changes {
        match self {
            AnswerKeeper::Plan(network) => network.answer(arguments),
            AnswerKeeper::Rules(rules) => rules.answer(arguments),
        }
    }
    /// Bytes of its state.
    pub fn bytes(&self) -> usize {
        match self {
            AnswerKeeper::Plan(network) => network.bytes(),
            AnswerKeeper::Rules(rules) => rules.bytes(),
        }
    }
    /// Does it keep more of the past than of the present, and is to be made anew?
    pub fn is_worn(&self) -> bool {
        matches!(self, AnswerKeeper::Rules(rules) if rules.is_worn())
    }
    /// Rows of all answers, equal ones counted once.
    pub fn rows(&self) -> usize {
        match self {
            AnswerKeeper::Plan(network) => network.rows(),
            AnswerKeeper::Rules(rules) => rules.rows(),
        }
    }
}
