//! A file for each set of labels and one for each relationship type, independent of its format.
//!
//! The graph is walked over twice: for the columns, then for the rows. The format decides the kind of column for each value, and the common kind of
//! two of them.

use super::graph::{ExportOptions, ExportReport, Graph, refusal, write_schema};
use super::tables::{edge_columns, node_columns};
use crate::ImportError;
use model::{EdgeTypeId, KeyId, LabelSetId, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files that are written at once.
pub(crate) const FILES_MAX: usize = 500;

/// The group of ids that all nodes of an export are in.
const GROUP: &str = "graph";

/// The columns that stand for no property, and the kind of the column of labels or the type, if there is one.
pub(crate) type SheetColumns = (Vec<String>, Option<String>);

/// A file for one kind of nodes or relationships.
pub(super) trait Sheet: Sized {
    /// The kind of a column's values.
    type Kind: Copy + PartialEq;

    /// How names of such files end.
    const ENDING: &'static str;

    /// The kind that a value needs.
    fn kind(value: &Value) -> Self::Kind;
    /// The kind that values of two different kinds need together.
    fn joined(one: Self::Kind, other: Self::Kind) -> Self::Kind;
    /// Begins a file.
    fn create(
        graph: &Graph<'_>,
        path: PathBuf,
        columns: SheetColumns,
        properties: BTreeMap<KeyId, Self::Kind>,
    ) -> Result<Self, ImportError>;
    /// A row: the id of a node, or those of both ends, and the properties.
    fn row(&mut self, graph: &Graph<'_>, ids: &[u32], held: &[(KeyId, Value)]) -> Result<(), ImportError>;
    /// Writes the rest.
    fn finish(self) -> Result<(), ImportError>;
}

type Kinds<K> = BTreeMap<KeyId, K>;

fn note<S: Sheet>(kinds: &mut Kinds<S::Kind>, held: &[(KeyId, Value)]) {
    for (key, value) in held {
        let kind = S::kind(value);
        let known = kinds.entry(*key).or_insert(kind);
        if *known != kind {
            *known = S::joined(*known, kind);
        }
    }
}

/// Writes all files.
pub(super) fn write<S: Sheet>(
    graph: &Graph<'_>,
    options: &ExportOptions,
) -> Result<ExportReport, ImportError> {
    let mut of_nodes: BTreeMap<LabelSetId, Kinds<S::Kind>> = BTreeMap::new();
    let mut of_edges: BTreeMap<EdgeTypeId, Kinds<S::Kind>> = BTreeMap::new();
    graph.nodes(|vertex, held| {
        note::<S>(of_nodes.entry(graph.snapshot.labels(vertex)?).or_default(), &held);
        Ok(())
    })?;
    graph.edges(|between, held| {
        note::<S>(of_edges.entry(between.edge_type).or_default(), &held);
        Ok(())
    })?;
    let count = of_nodes.len() + of_edges.len();
    if count > FILES_MAX {
        let what = format!(
            "{count} sets of labels and types would be {count} files, and {FILES_MAX} can be written"
        );
        return Err(refusal(format!("{what}; use jsonl")));
    }
    let report = ExportReport {
        files: count + write_schema(&options.to, &options.schema)?,
        ..ExportReport::default()
    };
    rows::<S>(graph, &options.to, of_nodes, of_edges, report)
}

/// A snapshot does not change between two walks.
fn unmet() -> ImportError {
    refusal("a node or relationship was not met before".into())
}

/// A value that the form cannot say.
pub(super) fn unsaid(graph: &Graph<'_>, key: KeyId, ids: &[u32], what: &str) -> ImportError {
    let name = graph.key_name(key);
    let of = match ids {
        [start, end] => format!("the relationship from node {start} to node {end}"),
        _ => format!("node {}", ids[0]),
    };
    refusal(format!("the property `{name}` of {of} cannot be written: {what}"))
}

/// The name of a file: its content, as far as a name can say it.
fn file_name(number: usize, what: &str, names: &str, ending: &str) -> String {
    let letters = names.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    let shown: String = letters.take(60).collect();
    // The number last: a name that ends in `header` belongs to a header in a file of its own.
    format!("{what}-{shown}-{number}.{ending}")
}

fn rows<S: Sheet>(
    graph: &Graph<'_>,
    folder: &Path,
    of_nodes: BTreeMap<LabelSetId, Kinds<S::Kind>>,
    of_edges: BTreeMap<EdgeTypeId, Kinds<S::Kind>>,
    mut report: ExportReport,
) -> Result<ExportReport, ImportError> {
    // In the order of names, which is that of the numbers of files.
    let named = of_nodes.into_iter().map(|(set, kinds)| (graph.labels(set), (set, kinds)));
    let named: BTreeMap<Vec<String>, (LabelSetId, Kinds<S::Kind>)> = named.collect();
    let mut nodes: BTreeMap<LabelSetId, S> = BTreeMap::new();
    for (number, (labels, (set, kinds))) in named.into_iter().enumerate() {
        let path = folder.join(file_name(number, "nodes", &labels.join("_"), S::ENDING));
        nodes.insert(set, S::create(graph, path, node_columns("", GROUP, false, &labels), kinds)?);
    }
    let mut edges: BTreeMap<EdgeTypeId, S> = BTreeMap::new();
    for (number, (edge_type, kinds)) in of_edges.into_iter().enumerate() {
        let name = graph.type_name(edge_type);
        let path = folder.join(file_name(number, "relationships", &name, S::ENDING));
        edges.insert(edge_type, S::create(graph, path, edge_columns(GROUP, &name), kinds)?);
    }
    graph.nodes(|vertex, held| {
        report.vertices += 1;
        let sheet = nodes.get_mut(&graph.snapshot.labels(vertex)?).ok_or_else(unmet)?;
        sheet.row(graph, &[vertex.dense()], &held)
    })?;
    graph.edges(|between, held| {
        report.edges += 1;
        let sheet = edges.get_mut(&between.edge_type).ok_or_else(unmet)?;
        sheet.row(graph, &[between.source.dense(), between.target.dense()], &held)
    })?;
    nodes.into_values().chain(edges.into_values()).try_for_each(S::finish)?;
    Ok(report)
}
