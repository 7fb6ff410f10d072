//! What is kept between two inputs: session, parameters, format; and how one statement is run and shown.

use super::ShellOptions;
use crate::text::{changes_text, time_text};
use crate::{Format, Ink, Look, PrintError, Style, failure, print_objects, print_result};
use database::gremlin::GremlinOptions;
use database::{Database, Error, Params, Session};
use std::io::{self, BufWriter, Write};

/// Code of the error by which Ctrl-C ends a query.
const INTERRUPTED: &str = "Neo.ClientError.Transaction.Terminated";

/// How an input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Go,
    Failed,
    Quit,
}

pub(crate) struct Conversation {
    pub database: Database,
    pub session: Session,
    pub params: Params,
    pub options: ShellOptions,
    pub format: Format,
    pub style: Style,
    pub timing: bool,
    pub language: Language,
}

/// What statements are written in; a statement that begins with `g.` is Gremlin anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Cypher,
    Gremlin,
}

impl Conversation {
    pub fn new(database: &Database, options: ShellOptions, style: Style) -> Conversation {
        let database = database.clone();
        let (session, format) = (database.session(), options.format);
        Conversation {
            database,
            session,
            params: Params::new(),
            options,
            format,
            style,
            timing: true,
            language: Language::Cypher,
        }
    }

    /// Runs each statement that a semicolon ends and leaves the rest; false after a failure.
    pub fn run_terminated(&mut self, pending: &mut String) -> io::Result<bool> {
        let pieces = (self.options.split)(pending);
        if pieces.last().is_some_and(|last| !last.terminated) {
            let Some((last, done)) = pieces.split_last() else { return Ok(true) };
            let rest = last.text.clone();
            for piece in done {
                if self.statement(&piece.text)? == Outcome::Failed {
                    return Ok(false);
                }
            }
            *pending = rest;
            pending.push('\n');
            return Ok(true);
        }
        for piece in pieces {
            if self.statement(&piece.text)? == Outcome::Failed {
                return Ok(false);
            }
        }
        pending.clear();
        Ok(true)
    }

    /// Runs every statement of a text, the last one with or without its semicolon; false after a failure.
    pub fn run_rest(&mut self, text: &str) -> io::Result<bool> {
        for piece in (self.options.split)(text) {
            if self.statement(&piece.text)? == Outcome::Failed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs one statement and shows its answer.
    pub fn statement(&mut self, text: &str) -> io::Result<Outcome> {
        self.session.settle_interrupt();
        let shown = self.answer(text);
        match shown {
            Ok(()) => Ok(Outcome::Go),
            Err(PrintError::Output(error)) => Err(error),
            Err(PrintError::Query(error)) => {
                self.session.break_transaction();
                self.complain(&error)
            }
        }
    }

    fn answer(&mut self, text: &str) -> Result<(), PrintError> {
        let look = Look { format: self.format, style: self.style, timing: self.timing };
        let mut out = BufWriter::new(world::files::stdout());
        if self.language == Language::Gremlin || text.trim_start().starts_with("g.") {
            let options = GremlinOptions::default();
            let rows = self.session.gremlin_text(text, &self.params, &options)?;
            return print_objects(rows, &look, &mut out);
        }
        let result = self.session.query(text, self.params.clone())?;
        let summary = print_result(result, &look, &mut out)?;
        if self.format != Format::Table && self.style.width.is_some() {
            // At a terminal, formats for programs are followed by changes and time as well.
            let changes = changes_text(&summary.counters, summary.schema_changes);
            let time = self.timing.then(|| time_text(summary.elapsed));
            let parts: Vec<String> = changes.into_iter().chain(time).collect();
            self.note(&parts.join(" · "))?;
        }
        Ok(())
    }

    /// Shows an error.
    pub fn complain(&self, error: &Error) -> io::Result<Outcome> {
        if self.style.width.is_some() && error.code == INTERRUPTED {
            // The terminal wrote `^C` where the cursor stood.
            eprintln!();
        }
        eprintln!("{}", failure(error, &Style::of_stderr()));
        Ok(Outcome::Failed)
    }

    /// Says something beside the answers.
    pub fn note(&self, text: &str) -> io::Result<()> {
        self.say(&self.style.paint(Ink::Quiet, text))
    }

    /// Says something.
    pub fn say(&self, text: &str) -> io::Result<()> {
        let mut out = world::files::stdout();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// What is lost if the shell ends now.
    pub fn farewell(&mut self) -> io::Result<()> {
        if self.session.in_transaction() && self.session.rollback().is_ok() {
            self.note("the open transaction was rolled back")?;
        }
        Ok(())
    }
}
