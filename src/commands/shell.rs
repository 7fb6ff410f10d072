//! `tanglewood shell`: a conversation with a database.

use super::Exit;
use super::folder::{self, Opening};
use super::query::OutputFormat;
use clap::Args;
use shell::{Piece, ShellOptions};
use std::path::PathBuf;

/// Talk to a database: history, completion, plans, transactions
///
/// Opens a prompt. Statements end with a semicolon, in Cypher or, if they begin with `g.` or after `:gremlin`, in Gremlin; `:help` lists commands; Ctrl-C stops a query, Ctrl-D ends. Statements may also
/// come from a pipe: then the first failure ends it with exit code 1.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tanglewood shell people.db\n  tanglewood shell people.db < statements.cypher"
)]
pub struct Shell {
    /// Folder of the database, or :memory:
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Make an empty database if there is none
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    opening: Opening,
    /// How rows are shown
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    /// Has no effect any more: Gremlin always keeps several values of a property
    #[arg(long = "gremlin-multi-properties", hide = true)]
    _multi_properties: bool,
}

impl Shell {
    pub fn run(self) -> Result<(), Exit> {
        let database = folder::open(&self.database, self.create, self.opening.options())?;
        let options = ShellOptions { split, format: self.format.into() };
        let went_well = shell::run(&database, options)?;
        database.close()?;
        if went_well { Ok(()) } else { Err(Exit::Said) }
    }
}

fn split(text: &str) -> Vec<Piece> {
    cypher::split_statements(text)
        .into_iter()
        .map(|piece| Piece {
            text: piece.text.to_string(),
            start: piece.span.start as usize,
            terminated: piece.terminated,
        })
        .collect()
}
