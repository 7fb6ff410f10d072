//! `tanglewood shell`: a conversation with a database.

use super::query::OutputFormat;
use super::{Exit, folder, units};
use clap::Args;
use database::{History, Options};
use shell::{Piece, ShellOptions};
use std::path::PathBuf;

/// Talk to a database: history, completion, plans, transactions
///
/// Opens a prompt. Statements end with a semicolon; `:help` lists commands; Ctrl-C stops a query, Ctrl-D ends. Statements may also
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
    /// Keep the past from now on: none, forever, or a time such as 7d
    #[arg(long, value_name = "HOW")]
    history: Option<History>,
    /// Folder below which LOAD CSV may read files; without it, it reads none
    #[arg(long, value_name = "FOLDER")]
    import_folder: Option<PathBuf>,
    /// Memory for the graph, such as 512MB or 2GiB; beyond it parts of it are read from disk when they are needed
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    memory: Option<u64>,
    /// How rows are shown
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

impl Shell {
    pub fn run(self) -> Result<(), Exit> {
        let database = folder::open(
            &self.database,
            self.create,
            Options {
                history: self.history,
                memory_bytes: self.memory,
                import_folder: self.import_folder.clone(),
                ..Options::default()
            },
        )?;
        let options = ShellOptions { split, format: self.format.into() };
        let went_well = shell::run(&database, options)?;
        database.close()?;
        if went_well { Ok(()) } else { Err(Exit::Said) }
    }
}

fn split(text: &str) -> Vec<Piece> {
    cypher::split_statements(text)
        .into_iter()
        .map(|piece| Piece { text: piece.text.to_string(), terminated: piece.terminated })
        .collect()
}
