//! `tanglewood export`: a graph out into files.

use super::Exit;
use super::folder;
use clap::{Args, ValueEnum};
#[cfg(not(feature = "columnar"))]
use database::Error;
use database::{ExportFormat, Options};
use shell::text::counted;
use std::io::Write;
use std::path::PathBuf;

/// Write the graph into files that `import` reads back
///
/// Writes nodes, relationships, indexes and constraints into a folder; `tanglewood import` makes an equal graph of it. What the format
/// cannot say is refused, and nothing is left then. Users, tenants and standing queries are not written: `tanglewood backup` copies them too.
#[derive(Args)]
#[command(after_help = "Examples:
  tanglewood export people.db --to people/ --format csv
  tanglewood import again.db --from people/")]
pub struct Export {
    /// Folder of the database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Folder to write to, which must be missing or empty
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// How the graph is written
    #[arg(long, value_enum, default_value_t)]
    format: FormatName,
}

/// How the graph is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// CSV with typed headers, a file for each set of labels and each type
    #[default]
    Csv,
    /// One object of JSON a line, nodes first
    Jsonl,
    /// Parquet, a file for each set of labels and each type
    Parquet,
    /// A script of Cypher, to be run and not imported
    Cypher,
    /// TinkerPop's GraphSON 3, one vertex a line
    Graphson,
}

impl Export {
    pub fn run(self) -> Result<(), Exit> {
        let format = match self.format {
            FormatName::Csv => ExportFormat::Csv,
            FormatName::Jsonl => ExportFormat::Jsonl,
            #[cfg(feature = "columnar")]
            FormatName::Parquet => ExportFormat::Parquet,
            #[cfg(not(feature = "columnar"))]
            FormatName::Parquet => {
                let message = "this build writes no Parquet";
                let hint = "build with `cargo build --release` and its default features, or with `--features columnar`; `--format csv` is there";
                return Err(Error::new("Tanglewood.ClientError.Command.LeftOut", message).hint(hint).into());
            }
            FormatName::Cypher => ExportFormat::Cypher,
            FormatName::Graphson => ExportFormat::Graphson,
        };
        let database = folder::open(&self.database, false, Options::default())?;
        let report = database.export(&self.to, format, None)?;
        let nodes = counted(report.vertices, "node", "nodes");
        let edges = counted(report.edges, "relationship", "relationships");
        let files = counted(report.files as u64, "file", "files");
        writeln!(world::files::stdout(), "{nodes}, {edges}; {files} in {}", self.to.display())?;
        Ok(database.close()?)
    }
}
