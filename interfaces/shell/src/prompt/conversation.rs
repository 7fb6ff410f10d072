//! State between two inputs: session, parameters, format; and how one statement is run and shown.

use super::options::{Piece, ShellOptions};
use crate::pager::{self, Paged};
use crate::print::INTERRUPTED;
use crate::talk::Talk;
use crate::text::{changes_text, time_text};
use crate::{
    Format, Ink, Look, PrintError, ScriptPlace, Style, failure, notice, print_objects, print_result,
};
use database::entity::Hydrated;
use database::{Error, Params};
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

/// The name of a script from a pipe or `<`.
const STANDARD_INPUT: &str = "standard input";

/// How an input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Go,
    Failed,
    Quit,
}

pub(crate) struct Conversation {
    pub talk: Box<dyn Talk>,
    pub params: Params,
    pub options: ShellOptions,
    pub format: Format,
    pub style: Style,
    pub timing: bool,
    pub language: Language,
    /// The program that shows long answers.
    pub pager: Option<String>,
    /// Where in a script the text begins that is run now; none at a terminal.
    pub script: Option<ScriptPlace>,
    /// The name of that script.
    pub script_name: String,
    /// Scripts that are being read, one by another.
    pub source_depth: usize,
}

/// The language of statements; a statement that begins with `g.` is Gremlin anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Cypher,
    Gremlin,
}

/// Titles and rows.
pub(crate) type TitledRows = (Vec<Arc<str>>, Vec<Vec<Hydrated>>);

impl Conversation {
    pub fn new(talk: Box<dyn Talk>, options: ShellOptions, style: Style) -> Conversation {
        let format = options.format;
        Conversation {
            talk,
            params: Params::new(),
            options,
            format,
            style,
            timing: true,
            language: Language::Cypher,
            pager: style.height.and_then(|_| pager::from_environment()),
            script: None,
            script_name: STANDARD_INPUT.into(),
            source_depth: 0,
        }
    }

    /// Runs each statement that a semicolon ends and leaves the rest; false after a failure.
    pub fn run_terminated(&mut self, pending: &mut String) -> io::Result<bool> {
        let pieces = (self.options.split)(pending);
        if pieces.last().is_some_and(|last| !last.terminated) {
            let Some((last, done)) = pieces.split_last() else { return Ok(true) };
            let rest = last.text.clone();
            for piece in done {
                if self.piece(piece, pending)? == Outcome::Failed {
                    return Ok(false);
                }
            }
            self.script = self.script.map(|script| script.after(pending, last.start));
            *pending = rest;
            pending.push('\n');
            return Ok(true);
        }
        for piece in pieces {
            if self.piece(&piece, pending)? == Outcome::Failed {
                return Ok(false);
            }
        }
        pending.clear();
        Ok(true)
    }

    /// Runs every statement of a text, the last one with or without its semicolon; false after a failure.
    pub fn run_rest(&mut self, text: &str) -> io::Result<bool> {
        for piece in (self.options.split)(text) {
            if self.piece(&piece, text)? == Outcome::Failed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs a statement of a longer text.
    fn piece(&mut self, piece: &Piece, text: &str) -> io::Result<Outcome> {
        let begin = self.script;
        self.script = begin.map(|begin| begin.after(text, piece.start));
        let outcome = self.statement(&piece.text);
        self.script = begin;
        outcome
    }

    /// Runs one statement and shows its answer.
    pub fn statement(&mut self, text: &str) -> io::Result<Outcome> {
        self.talk.settle_interrupt();
        let shown = self.answer(text);
        match shown {
            Ok(()) => Ok(Outcome::Go),
            Err(PrintError::Output(error)) => Err(error),
            Err(PrintError::Query(error)) => {
                self.talk.break_transaction();
                self.complain(&error)
            }
        }
    }

    pub(super) fn answer(&mut self, text: &str) -> Result<(), PrintError> {
        let look = Look { format: self.format, style: self.style, timing: self.timing };
        let mut out = BufWriter::new(world::files::stdout());
        if self.language == Language::Gremlin || text.trim_start().starts_with("g.") {
            let rows = self.talk.gremlin(text, &self.params)?;
            return print_objects(rows, &look, &mut out);
        }
        let mut result = self.talk.query(text, &self.params)?;
        // What has no end is shown as it comes.
        let pager = self.pager.clone().filter(|_| !result.is_endless());
        let summary = match pager.zip(self.style.height) {
            Some((program, height)) => {
                let mut paged = Paged::new(program, height);
                let outcome = print_result(&mut *result, &look, &mut paged);
                // Whoever leaves the pager early has seen enough.
                let finished = paged.finish();
                match outcome {
                    Err(PrintError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                        return Ok(());
                    }
                    outcome => finished.map_err(PrintError::Output).and(outcome)?,
                }
            }
            None => print_result(&mut *result, &look, &mut out)?,
        };
        drop(result);
        summary.notifications.iter().for_each(|told| world::files::say(notice(told, &Style::of_stderr())));
        if !self.format.is_for_people() && self.style.width.is_some() {
            // At a terminal, formats for programs are followed by changes and time as well.
            let changes = changes_text(&summary.counters, summary.schema_changes);
            let time = self.timing.then(|| time_text(summary.elapsed));
            let parts: Vec<String> = changes.into_iter().chain(time).collect();
            self.note(&parts.join(" · "))?;
        }
        Ok(())
    }

    /// All rows of a statement of the shell's own, with their titles.
    pub fn rows(&mut self, statement: &str) -> Result<TitledRows, Error> {
        let mut answer = self.talk.query(statement, &Params::new())?;
        let mut rows = Vec::new();
        while let Some(more) = answer.next_rows()? {
            rows.extend(more);
        }
        Ok((answer.columns(), rows))
    }

    /// Shows an error.
    pub fn complain(&self, error: &Error) -> io::Result<Outcome> {
        if self.style.width.is_some() && error.code.ends_with(INTERRUPTED) {
            // The terminal wrote `^C` where the cursor stood.
            world::files::say("");
        }
        let told = match self.script {
            Some(place) => &place.of_error(error.clone(), &self.script_name),
            None => error,
        };
        world::files::say(failure(told, &Style::of_stderr()));
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

    /// Says what is lost if the shell ends now.
    pub fn farewell(&mut self) -> io::Result<()> {
        if self.talk.in_transaction() && self.talk.rollback().is_ok() {
            self.note("the open transaction was rolled back")?;
        }
        Ok(())
    }
}
