//! `tanglewood query`: statements in, rows out.

use super::folder::Opening;
use super::remote::LogOn;
use super::talking::{self, Opened};
use super::{Exit, units};
use clap::{Args, ValueEnum};
use cypher::StatementText;
use database::{Error, Limits, Params};
use server::EndSignal;
use shell::{Format, Interrupt, Local, Look, ScriptPlace, Style, Talk, notice, print_result};
use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Run statements and print what they answer
///
/// Runs statements, separated by semicolons, in order, and prints what each answers. The first failure ends it; what was committed
/// before stays.
#[derive(Args)]
#[command(after_help = r#"Examples:
  tanglewood query people.db "MATCH (p:Person) RETURN p.name LIMIT 3"
  tanglewood query people.db 'MATCH (p {id: $id}) RETURN p' --params '{"id": 7}' --format json
  tanglewood query people.db - < statements.cypher"#)]
pub struct Query {
    /// Folder of the database, also while a server has it open; a backup, to be read only; :memory:; or a server's bolt://HOST:PORT
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Statements in Cypher; - reads them from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// Parameters as a JSON object; $name in the text
    #[arg(long, value_name = "JSON", value_parser = shell::params::params_from_json)]
    params: Option<Params>,
    /// How rows are printed
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    /// Time after which a statement ends with an error, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    timeout: Option<Duration>,
    /// Memory beyond which a statement ends with an error, such as 512MB or 2GiB
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    query_memory: Option<u64>,
    #[command(flatten)]
    opening: Opening,
    /// Make an empty database if there is none
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    log_on: LogOn,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned columns for people; as vertical where the terminal is too narrow
    #[default]
    Table,
    /// One value a line
    Vertical,
    /// One array of objects
    Json,
    /// One object a line
    Jsonl,
    /// Comma separated values with a header
    Csv,
}

impl From<OutputFormat> for Format {
    fn from(format: OutputFormat) -> Format {
        match format {
            OutputFormat::Table => Format::Table,
            OutputFormat::Vertical => Format::Vertical,
            OutputFormat::Json => Format::Json,
            OutputFormat::Jsonl => Format::Jsonl,
            OutputFormat::Csv => Format::Csv,
        }
    }
}

impl Query {
    pub fn run(self) -> Result<(), Exit> {
        let text = if self.text == "-" { read_stdin()? } else { self.text.clone() };
        let statements = cypher::split_statements(&text);
        if statements.is_empty() {
            let error =
                Error::new("Neo.ClientError.Statement.SyntaxError", "there is no statement in the text");
            return Err(error.hint("try \"MATCH (n) RETURN n LIMIT 5\"").into());
        }
        let is_script = self.text == "-" || statements.len() > 1;
        // From one statement to the next: a script may have very many.
        let (mut place, mut at) = (ScriptPlace::BEGIN, 0);
        let placed = |one: &StatementText<'_>| {
            let start = one.span.start as usize;
            place = place.after(&text[at..], start - at);
            at = start;
            place
        };
        let places: Vec<ScriptPlace> = statements.iter().map(placed).collect();
        let placed = statements.iter().zip(places);
        let statements: Vec<(&str, Option<ScriptPlace>)> =
            placed.map(|(one, place)| (one.text, is_script.then_some(place))).collect();
        match talking::open(&self.database, self.create, &self.opening, &self.log_on, self.timeout)? {
            Opened::Here(database) => {
                let before = database.commit_counts().commits;
                let mut session = database.session();
                session.set_limits(Limits { timeout: self.timeout, bytes_max: self.query_memory });
                let outcome = self.answer(&mut Local::new(session), &statements);
                if database.commit_counts().commits != before {
                    // In order, so that the next open need not replay the log. After a failure what was committed is safe in the log.
                    database.close()?;
                }
                outcome
            }
            Opened::There(mut remote) => {
                if self.query_memory.is_some() {
                    let error = Error::new(talking::SERVERS, "--query-memory is the server's to say");
                    return Err(error.hint("leave the flag out; --timeout works").into());
                }
                self.answer(&mut *remote, &statements)
            }
        }
    }

    fn answer(&self, talk: &mut dyn Talk, statements: &[(&str, Option<ScriptPlace>)]) -> Result<(), Exit> {
        let interrupt = talk.interrupter();
        let params = self.params.clone().unwrap_or_default();
        let look = Look { format: self.format.into(), style: Style::of_stdout(), timing: true };
        let mut out = BufWriter::new(world::files::stdout());
        let mut answered = false;
        for (at, (text, place)) in statements.iter().enumerate() {
            if at > 0 && look.format.is_for_people() {
                writeln!(out)?;
            }
            let script = if self.text == "-" { "standard input" } else { "the text" };
            let located = |exit: Exit| match (exit, place) {
                (Exit::Failed(error), Some(place)) => place.of_error(*error, script).into(),
                (exit, _) => exit,
            };
            let mut result = talk.query(text, &params).map_err(|error| located(error.into()))?;
            answered |= !result.columns().is_empty();
            if result.is_endless() {
                watch_for_interrupts(interrupt.clone());
            }
            let summary =
                print_result(&mut *result, &look, &mut out).map_err(|error| located(error.into()))?;
            summary
                .notifications
                .iter()
                .for_each(|told| world::files::say(notice(told, &Style::of_stderr())));
            if summary.profiled && !look.format.is_for_people() {
                world::files::say(summary.plan_text.unwrap_or_default().trim_end());
            }
        }
        if !answered && look.format == Format::Json {
            writeln!(out, "[]")?;
        }
        Ok(out.flush()?)
    }
}

/// From now on Ctrl-C ends the subscription in order, instead of the process.
fn watch_for_interrupts(interrupt: Interrupt) {
    if let Ok(signal) = EndSignal::catch() {
        // It lives as long as the process.
        std::mem::forget(world::threads::spawn("interrupted", move || {
            signal.wait();
            interrupt();
        }));
    }
}

fn read_stdin() -> Result<String, Exit> {
    let mut text = String::new();
    world::files::stdin().read_to_string(&mut text).map_err(|error| {
        Error::new("Tanglewood.ClientError.Query.Input", format!("standard input cannot be read: {error}"))
    })?;
    Ok(text)
}
