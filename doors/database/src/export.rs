//! The graph out into files, and back: what `ingest` does with nodes and relationships, with the indexes and constraints around it.
//!
//! A schema is made before the rows are read, so that what breaks a constraint is refused as any write is; where the import then fails, what
//! was made of the schema is dropped again.

use crate::{Database, Error, ExportFormat, ExportReport, ImportOptions, ImportReport, Params};
use ingest::ExportOptions;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Everything in the schema: the kind of each thing, its name, and the statement that makes it.
type Schema = BTreeSet<(&'static str, String, String)>;

impl Database {
    /// Reads files of other systems, or an exported graph with its indexes and constraints, into the database; see [`ImportOptions`].
    ///
    /// # Errors
    /// The files are not what they must be; the database has it already; the schema forbids it. The database is as it was then.
    pub fn import(&self, options: &ImportOptions) -> Result<ImportReport, Error> {
        let statements = if options.dry_run { Vec::new() } else { ingest::schema(options)? };
        if statements.is_empty() {
            return Ok(ingest::import(self.engine(), options)?);
        }
        let before = self.schema()?;
        let outcome =
            self.make_schema(&statements, &before).and_then(|()| Ok(ingest::import(self.engine(), options)?));
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
        let schema = self.schema()?.into_iter().map(|(_, _, statement)| statement).collect();
        let options = ExportOptions { to: to.as_ref().to_path_buf(), format, schema, stop };
        Ok(ingest::export(&self.snapshot(), &options)?)
    }

    fn schema(&self) -> Result<Schema, Error> {
        let mut session = self.session();
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
        for (kind, name, _) in self.schema()?.difference(before) {
            let statement = format!("DROP {kind} {}", plan::Quoted(name));
            session.query(&statement, Params::new())?.finish()?;
        }
        Ok(())
    }
}
