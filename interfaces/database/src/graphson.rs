//! Import and export of graphs in TinkerPop's file formats.

use crate::{Database, Error, ExistingPolicy, ExportReport, ImportReport};
use serde_json::Value as Json;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use traverse::LoadPolicy;
use world::clock::monotonic_ns;
use world::files;

/// The file that an export writes.
const FILE: &str = "graph.json";
/// Bytes of a first line that is read to find out what a file is; a longer one is known by its beginning.
const FIRST_LINE_BYTES: u64 = 1 << 20;
/// Fields of a vertex.
const FIELDS: [&str; 7] = ["id", "label", "labels", "type", "inE", "outE", "properties"];

/// The file to import, and how.
#[derive(Clone, Debug, Default)]
pub struct GraphsonImport {
    /// The file, or a folder that an export wrote.
    pub from: PathBuf,
    /// How vertices and edges that exist already are treated.
    pub existing: ExistingPolicy,
    /// Read everything, and change nothing.
    pub dry_run: bool,
}

/// The GraphSON file at a path: the file itself, or the one in a folder that also has the schema's statements.
pub(crate) fn found(path: &Path) -> Option<PathBuf> {
    if !files::is_folder(path) {
        return is_graphson(path).then(|| path.to_path_buf());
    }
    let file = path.join(FILE);
    (files::exists(&file) && is_graphson(&file)).then_some(file)
}

/// Is the first line a vertex? Errors of reading are left to the import.
fn is_graphson(path: &Path) -> bool {
    // Standard input can be read but once.
    if path == Path::new("-") {
        return false;
    }
    let mut line = Vec::new();
    let read =
        files::open_reader(path).map(|reader| reader.take(FIRST_LINE_BYTES).read_until(b'\n', &mut line));
    if !matches!(read, Ok(Ok(_))) {
        return false;
    }
    match serde_json::from_slice(&line) {
        Ok(json) => is_vertex(&json),
        Err(_) => {
            let begins = |with: &str| line.starts_with(with.as_bytes());
            line.len() as u64 == FIRST_LINE_BYTES
                && (begins("{\"id\":{\"@type\":\"g:") || begins("{\"@type\":\"g:Vertex\""))
        }
    }
}

fn is_vertex(json: &Json) -> bool {
    if json.get("@type").and_then(Json::as_str) == Some("g:Vertex") {
        return true;
    }
    let Some(fields) = json.as_object() else { return false };
    let named = fields.keys().all(|name| FIELDS.contains(&name.as_str()));
    let has_type = |value: Option<&Json>| value.is_some_and(|value| value.get("@type").is_some());
    let is_value = |value: &Json| {
        let mut all = value.as_array().into_iter().flatten();
        all.all(|one| one.get("value").is_some() || has_type(Some(one)))
    };
    let held = |name: &str, is_one: &dyn Fn(&Json) -> bool| {
        fields.get(name).and_then(Json::as_object).is_some_and(|map| map.values().all(is_one))
    };
    let has_label = fields.get("label").is_some_and(Json::is_string);
    let is_told = has_type(fields.get("id"))
        || held("inE", &Json::is_array)
        || held("outE", &Json::is_array)
        || held("properties", &|value| value.is_array() && is_value(value));
    named && has_label && fields.contains_key("id") && is_told
}

impl Database {
    /// Imports a file of GraphSON into the database, as a whole or not at all.
    ///
    /// # Errors
    /// The file cannot be read, a line is no vertex, an edge lacks an end, a value cannot be stored; or another commit conflicted.
    pub fn import_graphson(&self, import: &GraphsonImport) -> Result<ImportReport, Error> {
        let began_ns = monotonic_ns();
        let policy = match import.existing {
            ExistingPolicy::Fail => LoadPolicy::Fail,
            ExistingPolicy::Skip => LoadPolicy::Skip,
            ExistingPolicy::Merge => LoadPolicy::Merge,
        };
        let file = found(&import.from).unwrap_or_else(|| import.from.clone());
        let loaded = if import.dry_run {
            traverse::try_out(self.engine(), &file, policy)?
        } else {
            self.with_schema_of(&import.from, || Ok(traverse::load(self.engine(), &file, policy)?))?
        };
        self.after_commit();
        Ok(ImportReport {
            vertices: loaded.vertices,
            edges: loaded.edges,
            existing: loaded.existing,
            bytes: loaded.bytes,
            files: 1,
            seconds: (monotonic_ns() - began_ns) as f64 / 1e9,
            ..ImportReport::default()
        })
    }

    /// Writes the graph into a folder as GraphSON, with the statements of its schema.
    pub(crate) fn export_graphson(
        &self,
        to: &Path,
        schema: &[String],
        stopped: Option<&(dyn Fn() -> bool + Send + Sync)>,
    ) -> Result<ExportReport, Error> {
        ingest::in_new_folder(to, || {
            let mut file = files::create_writer(&to.join(FILE)).map_err(ingest::ImportError::from)?;
            let stopped = || stopped.is_some_and(|stopped| stopped());
            let saved = traverse::save(&self.snapshot(), &mut file, &stopped)?;
            file.flush().map_err(|error| {
                let message = format!("{} cannot be written: {error}", to.join(FILE).display());
                Error::new("Neo.ClientError.Import.Unreadable", message)
            })?;
            let files = 1 + ingest::write_schema(to, schema)?;
            Ok(ExportReport { vertices: saved.vertices, edges: saved.edges, files })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_vertex;
    use serde_json::json;

    #[test]
    fn only_a_vertex_is_taken_for_graphson() {
        for line in [
            json!({"id": {"@type": "g:Int64", "@value": 1}, "label": "a"}),
            json!({"@type": "g:Vertex", "@value": {"id": 1, "label": "a"}}),
            json!({"id": 1, "label": "a", "outE": {"knows": [{"id": 7, "inV": 2}]}}),
            json!({"id": 1, "label": "a", "properties": {"name": [{"id": 0, "value": "marko"}]}}),
        ] {
            assert!(is_vertex(&line), "{line}");
        }
        for line in [
            json!({"id": 1, "label": "a"}),
            json!({"id": 1, "label": "a", "name": "b", "outE": {}}),
            json!({"id": 1, "label": "a", "properties": {"name": "b"}}),
            json!({"type": "node", "id": "1", "labels": ["A"], "properties": {}}),
            json!([1]),
            json!({"label": "a", "outE": {}}),
        ] {
            assert!(!is_vertex(&line), "{line}");
        }
    }
}
