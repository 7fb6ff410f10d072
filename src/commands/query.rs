//! `tanglewood query`: statements in, rows out.

use super::folder::{self, Opening};
use super::{Exit, units};
use clap::{Args, ValueEnum};
use database::{Database, Error, Limits, Params};
use shell::{Format, Look, Style, print_result};
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
    /// Folder of the database, or :memory:
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
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned columns for people
    #[default]
    Table,
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
        let database = folder::open(&self.database, self.create, self.opening.options())?;
        let before = database.commit_counts().commits;
        let statements: Vec<&str> = statements.iter().map(|statement| statement.text).collect();
        let outcome = self.answer(&database, &statements);
        if database.commit_counts().commits != before {
            // In order, so that the next open need not replay the log. After a failure what was committed is safe in the log.
            database.close()?;
        }
        outcome
    }

    fn answer(&self, database: &Database, statements: &[&str]) -> Result<(), Exit> {
        let mut session = database.session();
        session.set_limits(Limits { timeout: self.timeout, bytes_max: self.query_memory });
        let params = self.params.clone().unwrap_or_default();
        let look = Look { format: self.format.into(), style: Style::of_stdout(), timing: true };
        let mut out = BufWriter::new(world::files::stdout());
        let mut answered = false;
        for (at, text) in statements.iter().enumerate() {
            if at > 0 && look.format == Format::Table {
                writeln!(out)?;
            }
            let result = session.query(text, params.clone())?;
            answered |= !result.columns().is_empty();
            let summary = print_result(result, &look, &mut out)?;
            if summary.profiled && look.format != Format::Table {
                eprintln!("{}", summary.plan_text.unwrap_or_default().trim_end());
            }
        }
        if !answered && look.format == Format::Json {
            writeln!(out, "[]")?;
        }
        Ok(out.flush()?)
    }
}

fn read_stdin() -> Result<String, Exit> {
    let mut text = String::new();
    world::files::stdin().read_to_string(&mut text).map_err(|error| {
        Error::new("Tanglewood.ClientError.Query.Input", format!("standard input cannot be read: {error}"))
    })?;
    Ok(text)
}
