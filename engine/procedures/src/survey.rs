//! Surveys of a graph by its labels and types, in the forms of other tools (`apoc.meta.*`, `apoc.schema.*`).
//!
//! Counts of nodes and labels are exact, from the statistics. Properties, and which types join which labels, are those of a sample: of each label the
//! first nodes of the store and their outgoing relationships. Sampling by label finds a label that is rare, and a pair of labels is named only where
//! a relationship of the sample joins it. All is read through the caller's snapshot, so hidden data is in none of it.

use super::Rows;
use crate::ProcedureError;
use model::schema::SchemaTarget;
use model::{Direction, LabelId, Value, VertexId};
use plan::hidden::is_hidden;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{LabelFilter, Snapshot};

/// Nodes of each label that are looked at where nothing is said.
const SAMPLE_DEFAULT: usize = 1_000;
/// Most nodes of each label that are looked at.
const SAMPLE_MAX: usize = 10_000;
/// Most nodes that are looked at in all.
const VERTICES_MAX: usize = 100_000;
/// Most relationships that are looked at for each label.
const EDGES_MAX: usize = 10_000;
/// Nodes whose values `apoc.schema.properties.distinct` compares.
const DISTINCT_VERTICES_MAX: usize = 100_000;
/// Values that it yields.
const DISTINCT_VALUES_MAX: usize = 10_000;

/// How many values had each type.
type Types = BTreeMap<&'static str, usize>;

/// Of the elements of one label or type: how many were seen, and the types of each property with how many had it.
#[derive(Default)]
struct PropertyTypes {
    count: usize,
    properties: BTreeMap<Arc<str>, (Types, usize)>,
    /// By type, the labels at the other end with how often each was met.
    others: BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>>,
}

/// The sample.
#[derive(Default)]
struct Survey {
    labels: BTreeMap<Arc<str>, PropertyTypes>,
    types: BTreeMap<Arc<str>, PropertyTypes>,
}

impl PropertyTypes {
    fn add(&mut self, properties: Vec<(model::KeyId, Value)>, snapshot: &Snapshot) {
        self.count += 1;
        for (key, value) in properties {
            let Some(name) = snapshot.catalog().key_name(key).filter(|name| !is_hidden(name)) else {
                continue;
            };
            let (types, count) = self.properties.entry(name.clone()).or_default();
            *types.entry(value.value_type().name()).or_default() += 1;
            *count += 1;
        }
    }
}

/// The name that the tools know a type by.
fn type_name(name: &'static str) -> &'static str {
    match name {
        "Boolean" => "BOOLEAN",
        "Integer" => "INTEGER",
        "Float" => "FLOAT",
        "String" => "STRING",
        "Date" => "DATE",
        "DateTime" => "DATE_TIME",
        "LocalDateTime" => "LOCAL_DATE_TIME",
        "Time" => "TIME",
        "LocalTime" => "LOCAL_TIME",
        "Duration" => "DURATION",
        "Point" => "POINT",
        "List" => "LIST",
        other => other,
    }
}

fn label_names(snapshot: &Snapshot, vertex: VertexId) -> Result<Vec<Arc<str>>, ProcedureError> {
    let catalog = snapshot.catalog();
    let labels = catalog.labels_of(snapshot.labels(vertex)?);
    Ok(labels.iter().filter_map(|label| catalog.label_name(*label).cloned()).collect())
}

/// Labels of which there are nodes, by name.
fn used_labels(snapshot: &Snapshot) -> Vec<(Arc<str>, LabelId)> {
    let named = snapshot.catalog().names().labels().iter().cloned().zip((0..).map(LabelId));
    let used = named.filter(|(_, label)| snapshot.statistics().vertices_with_label(*label) > 0);
    let mut used: Vec<_> = used.collect();
    used.sort();
    used
}

/// The first nodes with this label.
fn first(snapshot: &Snapshot, label: LabelId, wanted: usize) -> Result<Vec<VertexId>, ProcedureError> {
    let (filter, mut found) = (LabelFilter::Has(label), Vec::new());
    for chunk in snapshot.scan_chunks(&filter) {
        if found.len() >= wanted {
            break;
        }
        snapshot.scan_chunk(chunk, &filter, &mut found)?;
    }
    found.truncate(wanted);
    Ok(found)
}

impl Survey {
    fn take(snapshot: &Snapshot, arguments: &[Value]) -> Result<Survey, ProcedureError> {
        let wanted = sample_size(arguments);
        let (mut survey, mut left) = (Survey::default(), VERTICES_MAX);
        let mut met: BTreeSet<model::EdgeId> = BTreeSet::new();
        let view = snapshot.adjacency(&[], Direction::Out);
        for (name, label) in used_labels(snapshot) {
            let vertices = first(snapshot, label, wanted.min(left))?;
            left -= vertices.len();
            let mut edges = Vec::new();
            let seen = survey.labels.entry(name).or_default();
            for vertex in vertices {
                seen.add(snapshot.properties(vertex)?, snapshot);
                view.for_each_edge(vertex.dense(), |edge| {
                    if edges.len() < EDGES_MAX {
                        edges.push((edge.id, edge.target));
                    }
                })?;
            }
            for (edge, other) in edges {
                let Some(kind) = snapshot.catalog().edge_type_name(edge.edge_type()).cloned() else {
                    continue;
                };
                for other in label_names(snapshot, other)? {
                    *seen.others.entry(kind.clone()).or_default().entry(other).or_default() += 1;
                }
                // A node with several labels is looked at once for each.
                if met.insert(edge) {
                    survey.types.entry(kind).or_default().add(snapshot.edge_properties(edge)?, snapshot);
                }
            }
        }
        Ok(survey)
    }
}

/// `{sample: n}`: how many nodes of each label; a negative number means as many as are allowed.
fn sample_size(arguments: &[Value]) -> usize {
    let Some(Value::Map(settings)) = arguments.first() else { return SAMPLE_DEFAULT };
    match settings.get("sample").and_then(Value::as_int) {
        None => SAMPLE_DEFAULT,
        Some(wanted) => usize::try_from(wanted).map_or(SAMPLE_MAX, |wanted| wanted.clamp(1, SAMPLE_MAX)),
    }
}

fn int(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn texts<'a>(names: impl Iterator<Item = &'a Arc<str>>) -> Value {
    Value::list(names.map(|name| name.clone().into()).collect())
}

/// The type that most values had: tools know one for each property.
fn main_type(types: &Types) -> &'static str {
    let most = types.iter().rev().max_by_key(|(_, count)| **count);
    most.map_or("", |(name, _)| type_name(name))
}

/// Is the property indexed, unique, required?
struct PropertyRules {
    indexed: bool,
    unique: bool,
    required: bool,
}

impl PropertyRules {
    fn of(snapshot: &Snapshot, target: SchemaTarget, key: &str) -> PropertyRules {
        let Some(key) = snapshot.catalog().key(key) else {
            return PropertyRules { indexed: false, unique: false, required: false };
        };
        let catalog = snapshot.catalog();
        let indexed =
            catalog.indexes().iter().any(|index| index.target == target && index.keys.contains(&key));
        let about =
            || catalog.constraints().iter().filter(|one| one.target == target && one.keys.contains(&key));
        let unique = about().any(|one| crate::listing::owned(one).is_some());
        let required = about().any(crate::listing::requires);
        PropertyRules { indexed, unique, required }
    }
}

fn target_of(snapshot: &Snapshot, name: &str, is_label: bool) -> Option<SchemaTarget> {
    let catalog = snapshot.catalog();
    match is_label {
        true => catalog.label(name).map(SchemaTarget::Vertices),
        false => catalog.edge_type(name).map(SchemaTarget::Edges),
    }
}

fn property_row(
    snapshot: &Snapshot,
    (name, is_label): (&Arc<str>, bool),
    key: &Arc<str>,
    (types, count): &(Types, usize),
) -> Vec<Value> {
    let none = PropertyRules { indexed: false, unique: false, required: false };
    let rules =
        target_of(snapshot, name, is_label).map_or(none, |target| PropertyRules::of(snapshot, target, key));
    let kind = main_type(types);
    vec![
        name.clone().into(),
        key.clone().into(),
        int(*count as u64),
        rules.unique.into(),
        rules.indexed.into(),
        rules.required.into(),
        kind.into(),
        (kind == "LIST").into(),
        Value::Null,
        Value::Int(0),
        Value::Int(0),
        Value::list(Vec::new()),
        Value::list(Vec::new()),
        if is_label { "node" } else { "relationship" }.into(),
    ]
}

/// A row of a label for each property and each type that leaves it, and of a type for each property.
pub(super) fn data(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    let survey = Survey::take(snapshot, arguments)?;
    let mut rows = Vec::new();
    for (name, seen) in &survey.labels {
        rows.extend(seen.properties.iter().map(|(key, of)| property_row(snapshot, (name, true), key, of)));
        for (kind, others) in &seen.others {
            let count = others.values().map(|count| *count as u64).sum();
            rows.push(vec![
                name.clone().into(),
                kind.clone().into(),
                int(count),
                false.into(),
                false.into(),
                false.into(),
                "RELATIONSHIP".into(),
                true.into(),
                Value::Null,
                Value::Int(0),
                Value::Int(0),
                texts(others.keys()),
                Value::list(Vec::new()),
                "node".into(),
            ]);
        }
    }
    for (name, seen) in &survey.types {
        rows.extend(seen.properties.iter().map(|(key, of)| property_row(snapshot, (name, false), key, of)));
    }
    Ok(rows)
}

fn described(snapshot: &Snapshot, name: &Arc<str>, is_label: bool, seen: &PropertyTypes) -> Value {
    let target = target_of(snapshot, name, is_label);
    let one = |(key, (types, _)): (&Arc<str>, &(Types, usize))| {
        let none = PropertyRules { indexed: false, unique: false, required: false };
        let rules = target.map_or(none, |target| PropertyRules::of(snapshot, target, key));
        let kind = main_type(types);
        let told = [
            ("type", Value::from(kind)),
            ("array", (kind == "LIST").into()),
            ("indexed", rules.indexed.into()),
            ("unique", rules.unique.into()),
            ("existence", rules.required.into()),
        ];
        (key.to_string(), Value::map(told))
    };
    Value::map(seen.properties.iter().map(one))
}

/// One map: of each label and type its count, its properties and, of a label, the types that leave it.
pub(super) fn schema(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    let survey = Survey::take(snapshot, arguments)?;
    let counts = ExactCounts::of(snapshot)?;
    let mut all: Vec<(String, Value)> = Vec::new();
    for (name, seen) in &survey.labels {
        let to = |(kind, others): (&Arc<str>, &BTreeMap<Arc<str>, usize>)| {
            let met = others.values().map(|count| *count as u64).sum();
            let told = [
                ("direction", Value::from("out")),
                ("count", int(met)),
                ("labels", texts(others.keys())),
                (
                    "properties",
                    survey.types.get(kind).map_or(Value::Null, |seen| described(snapshot, kind, false, seen)),
                ),
            ];
            (kind.to_string(), Value::map(told))
        };
        let told = [
            ("type", Value::from("node")),
            ("count", counts.labels.get(name).copied().map_or(Value::Null, int)),
            ("properties", described(snapshot, name, true, seen)),
            ("relationships", Value::map(seen.others.iter().map(to))),
            ("labels", Value::list(Vec::new())),
        ];
        all.push((name.to_string(), Value::map(told)));
    }
    for (name, seen) in &survey.types {
        let told = [
            ("type", Value::from("relationship")),
            ("count", counts.types.get(name).copied().map_or(Value::Null, int)),
            ("properties", described(snapshot, name, false, seen)),
        ];
        all.push((name.to_string(), Value::map(told)));
    }
    Ok(vec![vec![Value::map(all)]])
}

/// Labels as maps of name and count, and of each type from label to label of the sample a map of type, ends and the count of the type.
pub(super) fn graph(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    let survey = Survey::take(snapshot, arguments)?;
    let counts = ExactCounts::of(snapshot)?;
    let node = |name: &Arc<str>| {
        let count = counts.labels.get(name).copied().unwrap_or(0);
        Value::map([("name", Value::from(name.clone())), ("count", int(count))])
    };
    let mut relationships = Vec::new();
    for (start, seen) in &survey.labels {
        for (kind, others) in &seen.others {
            let count = counts.types.get(kind).copied().unwrap_or(0);
            relationships.extend(others.keys().map(|end| {
                Value::map([
                    ("type", Value::from(kind.clone())),
                    ("start", start.clone().into()),
                    ("end", end.clone().into()),
                    ("count", int(count)),
                ])
            }));
        }
    }
    let nodes = survey.labels.keys().map(node).collect();
    Ok(vec![vec![Value::list(nodes), Value::list(relationships)]])
}

/// Exact counts, by name.
struct ExactCounts {
    labels: BTreeMap<Arc<str>, u64>,
    types: BTreeMap<Arc<str>, u64>,
}

impl ExactCounts {
    fn of(snapshot: &Snapshot) -> Result<ExactCounts, ProcedureError> {
        let statistics = snapshot.statistics();
        let counted = |(name, label)| (name, statistics.vertices_with_label(label));
        let labels = used_labels(snapshot).into_iter().map(counted).collect();
        let mut types = BTreeMap::new();
        for edge_type in crate::edge_types(snapshot)? {
            let count = match statistics.counts_edges() {
                true => statistics.edges_of_type(edge_type),
                false => snapshot.count_edges(&[edge_type], u64::MAX)?,
            };
            if let Some(name) = snapshot.catalog().edge_type_name(edge_type) {
                types.insert(name.clone(), count);
            }
        }
        Ok(ExactCounts { labels, types })
    }
}

/// Sizes of the graph, by label and by type.
pub(super) fn stats(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let counts = ExactCounts::of(snapshot)?;
    let map = |of: &BTreeMap<Arc<str>, u64>| {
        Value::map(of.iter().map(|(name, count)| (name.to_string(), int(*count))))
    };
    let keys = super::property_keys(snapshot, &[])?.len() as u64;
    let (labels, types) = (map(&counts.labels), map(&counts.types));
    let (nodes, relationships) = (snapshot.statistics().vertices(), counts.types.values().sum());
    let told = [
        ("labelCount", int(counts.labels.len() as u64)),
        ("relTypeCount", int(counts.types.len() as u64)),
        ("propertyKeyCount", int(keys)),
        ("nodeCount", int(nodes)),
        ("relCount", int(relationships)),
        ("labels", labels),
        ("relTypesCount", types),
    ];
    let mut row: Vec<Value> = told.iter().map(|(_, value)| value.clone()).collect();
    row.push(Value::map(told));
    Ok(vec![row])
}

/// Rows of [`node_types`] and [`relationship_types`]: of each property its types, how many had it, and of how many.
fn type_rows(head: &[Value], seen: &PropertyTypes) -> Vec<Vec<Value>> {
    let row = |(key, (types, count)): (&Arc<str>, &(Types, usize))| {
        let names = Value::list(types.keys().map(|name| Value::from(*name)).collect());
        let own = [
            key.clone().into(),
            names,
            (*count == seen.count).into(),
            int(*count as u64),
            int(seen.count as u64),
        ];
        [head, &own].concat()
    };
    seen.properties.iter().map(row).collect()
}

pub(super) fn node_types(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    let survey = Survey::take(snapshot, arguments)?;
    let rows = survey.labels.iter().flat_map(|(name, seen)| {
        let labels = Value::list(vec![name.clone().into()]);
        type_rows(&[format!(":`{name}`").into(), labels], seen)
    });
    Ok(rows.collect())
}

pub(super) fn relationship_types(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    let survey = Survey::take(snapshot, arguments)?;
    let rows = survey.types.iter().flat_map(|(name, seen)| type_rows(&[format!(":`{name}`").into()], seen));
    Ok(rows.collect())
}

/// Indexes over nodes, with their size and the share of their entries that are different; null where hidden entries would be counted.
pub(super) fn node_indexes(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for index in crate::listing::shown_indexes(snapshot) {
        let SchemaTarget::Vertices(label) = index.target else { continue };
        let size = snapshot.statistics().index(index.id);
        let selectivity = size.map_or(Value::Null, |size| {
            Value::Float(if size.entries == 0 { 0.0 } else { size.distinct as f64 / size.entries as f64 })
        });
        rows.push(vec![
            index.name.as_str().into(),
            snapshot.catalog().label_name(label).cloned().map_or(Value::Null, Value::from),
            crate::listing::keys(snapshot, &index.keys),
            "ONLINE".into(),
            "RANGE".into(),
            "NO FAILURE".into(),
            Value::Float(100.0),
            size.map_or(Value::Null, |size| int(size.entries)),
            selectivity,
        ]);
    }
    Ok(rows)
}

/// The different values of a property of a label's nodes: of the first hundred thousand.
pub(super) fn distinct(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    let name = |at: usize| arguments.get(at).and_then(Value::as_str);
    let catalog = snapshot.catalog();
    let (label, key) =
        (name(0).and_then(|name| catalog.label(name)), name(1).and_then(|name| catalog.key(name)));
    let (Some(label), Some(key)) = (label, key) else { return Ok(vec![vec![Value::list(Vec::new())]]) };
    let mut found = BTreeSet::new();
    for vertex in first(snapshot, label, DISTINCT_VERTICES_MAX)? {
        let value = snapshot.property(vertex, key)?;
        if !value.is_null() && found.len() < DISTINCT_VALUES_MAX {
            found.insert(model::compare::OrderKey(value));
        }
    }
    let values = found.into_iter().map(|key| key.0).collect();
    let list = Value::try_list(values).map_err(|error| ProcedureError::Call(error.to_string()))?;
    Ok(vec![vec![list]])
}
