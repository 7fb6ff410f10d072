//! Export of the graph into files and import from them: `ingest` for nodes and relationships, with the indexes and constraints around it.
//!
//! The schema is created before the rows are read, so that rows that break a constraint are refused like any write; if the import then fails, the
//! schema is dropped again.

use crate::graphson;
use crate::{
    Database, Error, ExportReport, GraphsonImport, ImportLayout, ImportOptions, ImportReport, Params, Session,
};
use execute::QueryId;
use ingest::{ExportOptions, ExportStopped};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Everything in the schema: the kind of each thing, its name, and the statement that makes it.
type Schema = BTreeSet<(&'static str, String, String)>;

/// How an exported graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// CSV with typed headers, a file for each set of labels and each relationship type.
    Csv,
    /// One object of JSON a line.
    Jsonl,
    /// Parquet, a file for each set of labels and each relationship type.
    #[cfg(feature = "columnar")]
    Parquet,
    /// A script of Cypher: it is run, not imported.
    Cypher,
    /// TinkerPop's GraphSON 3, one vertex a line.
    Graphson,
}

impl ExportFormat {
    /// The names of all formats.
    #[cfg(feature = "columnar")]
    pub const NAMES: &[&str] = &["csv", "jsonl", "parquet", "cypher", "graphson"];
    /// The names of all formats.
    #[cfg(not(feature = "columnar"))]
    pub const NAMES: &[&str] = &["csv", "jsonl", "cypher", "graphson"];

    /// The format of this name.
    pub fn named(name: &str) -> Option<ExportFormat> {
        Some(match name {
            "csv" => ExportFormat::Csv,
            "jsonl" => ExportFormat::Jsonl,
            #[cfg(feature = "columnar")]
            "parquet" => ExportFormat::Parquet,
            "cypher" => ExportFormat::Cypher,
            "graphson" => ExportFormat::Graphson,
            _ => return None,
        })
    }
}

impl Database {
    /// Reads files of other systems, or an exported graph with its indexes and constraints, into the database; see [`ImportOptions`].
    ///
    /// # Errors
    /// The files are malformed; the entities exist already; the schema forbids the rows. The database is then unchanged.
    pub fn import(&self, options: &ImportOptions) -> Result<ImportReport, Error> {
        let mut options = options.clone();
        // Kept until they were read.
        let _brought = ingest::remote::bring_all(&mut options)?;
        let options = &options;
        if options.layout == ImportLayout::Auto
            && options.mapping.is_empty()
            && graphson::found(&options.from).is_some()
        {
            let (existing, dry_run) = (options.existing, options.dry_run);
            return self.import_graphson(&GraphsonImport { from: options.from.clone(), existing, dry_run });
        }
        let import = || Ok(ingest::import(self.engine(), options)?);
        match options.dry_run || !options.mapping.is_empty() {
            true => import(),
            false => self.with_schema_of(&options.from, import),
        }
    }

    /// Creates the schema that lies beside or in files, then runs the import; if it fails, the schema is dropped again.
    pub(crate) fn with_schema_of<T>(
        &self,
        from: &Path,
        read: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let options = ImportOptions { from: from.to_path_buf(), ..ImportOptions::default() };
        let statements = ingest::schema(&options)?;
        if statements.is_empty() {
            return read();
        }
        let before = self.schema(None)?;
        let outcome = self.make_schema(&statements, &before).and_then(|()| read());
        if outcome.is_err() {
            self.drop_schema_since(&before)?;
        }
        outcome
    }

    /// Writes the graph as of now into a folder that is missing or empty, so that [`Database::import`] reads it back: nodes,
    /// relationships, indexes and constraints. Users, tenants and standing queries are not among them; a backup has them. `stop` ends it.
    ///
    /// # Errors
    /// The folder holds something; a value has no form there; the disk refuses. Nothing is left then.
    pub fn export(
        &self,
        to: impl AsRef<Path>,
        format: ExportFormat,
        stop: Option<Arc<AtomicBool>>,
    ) -> Result<ExportReport, Error> {
        let stopped = stop.map(|stop| -> ExportStopped { Arc::new(move || stop.load(Ordering::Acquire)) });
        self.export_watched(to.as_ref(), format, stopped, None)
    }

    /// As above; `stopped` is polled for an early end, and `whole` is the query under which the export is listed.
    pub(crate) fn export_watched(
        &self,
        to: &Path,
        format: ExportFormat,
        stopped: Option<ExportStopped>,
        whole: Option<QueryId>,
    ) -> Result<ExportReport, Error> {
        let schema: Vec<String> =
            self.schema(whole)?.into_iter().map(|(_, _, statement)| statement).collect();
        let format = match format {
            ExportFormat::Csv => ingest::ExportFormat::Csv,
            ExportFormat::Jsonl => ingest::ExportFormat::Jsonl,
            #[cfg(feature = "columnar")]
            ExportFormat::Parquet => ingest::ExportFormat::Parquet,
            ExportFormat::Cypher => ingest::ExportFormat::Cypher,
            ExportFormat::Graphson => return self.export_graphson(to, &schema, stopped.as_deref()),
        };
        let options = ExportOptions { to: to.to_path_buf(), format, schema, stopped };
        Ok(ingest::export(&self.latest()?, &options)?)
    }

    /// The schema, read by queries that are parts of `whole`, if there is one.
    fn schema(&self, whole: Option<QueryId>) -> Result<Schema, Error> {
        let mut session = Session::within(self.clone(), whole);
        let mut schema = Schema::new();
        let listings = [
            ("CONSTRAINT", "SHOW CONSTRAINTS YIELD name, createStatement"),
            (
                "INDEX",
                "SHOW INDEXES YIELD name, createStatement, owningConstraint WHERE owningConstraint IS NULL",
            ),
        ];
        for (kind, text) in listings {
            for row in session.query(text, Params::new())?.rows()? {
                let text = |at: usize| row[at].as_str().unwrap_or_default().to_string();
                schema.insert((kind, text(0), text(1)));
            }
        }
        Ok(schema)
    }
    fn make_schema(&self, statements: &[String], there: &Schema) -> Result<(), Error> {
        let mut session = self.session();
        for statement in statements {
            if there.iter().any(|(_, _, known)| known == statement) {
                continue;
            }
            let mut words = statement.split_whitespace().take(3).map(str::to_ascii_uppercase);
            let is_schema = words.next().as_deref() == Some("CREATE")
                && words.any(|word| word == "CONSTRAINT" || word == "INDEX");
            if !is_schema {
                let message =
                    format!("a schema holds a statement that makes no index and no constraint: {statement}");
                return Err(Error::new("Neo.ClientError.Import.WrongSchema", message));
            }
            session.query(statement, Params::new())?.finish()?;
        }
        Ok(())
    }
    fn drop_schema_since(&self, before: &Schema) -> Result<(), Error> {
        let mut session = self.session();
        for (kind, name, _) in self.schema(None)?.difference(before) {
            let statement = format!("DROP {kind} {}", plan::Quoted(name));
            session.query(&statement, Params::new())?.finish()?;
        }
        Ok(())
    }
}
