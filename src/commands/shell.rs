//! `tanglewood shell`: a conversation with a database.

use super::Exit;
use super::folder::Opening;
use super::query::OutputFormat;
use super::remote::LogOn;
use super::talking::{self, Opened};
use clap::Args;
use shell::{Local, Piece, ShellOptions};
use std::path::PathBuf;

/// Talk to a database: history, completion, plans, transactions
///
/// Opens a prompt. Statements end with a semicolon, in Cypher or, if they begin with `g.` or after `:gremlin`, in Gremlin; `:help` lists commands; Ctrl-C stops a query, Ctrl-D ends. Statements may also
/// come from a pipe: then the first failure ends it with exit code 1.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tanglewood shell people.db\n  tanglewood shell people.db < statements.cypher\n  tanglewood shell bolt://db.example.org --user ada"
)]
pub struct Shell {
    /// Folder of the database, also while a server has it open; a backup, to be read only; :memory:; or a server's bolt://HOST:PORT
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
    #[command(flatten)]
    log_on: LogOn,
}

impl Shell {
    pub fn run(self) -> Result<(), Exit> {
        let options = ShellOptions { split, format: self.format.into() };
        let went_well = match talking::open(&self.database, self.create, &self.opening, &self.log_on, None)? {
            Opened::Here(database) => {
                let went_well = shell::run(Box::new(Local::new(database.session())), options)?;
                database.close()?;
                went_well
            }
            Opened::There(remote) => shell::run(remote, options)?,
        };
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
