//! Constraints: checked on what a transaction touched, against the graph as it would be after the commit.
//!
//! Uniqueness is one look-up in the constraint's own index; the store refuses to build a unique index over data that breaks it.
//! Here too is the validation of existing data when another constraint is created.

use crate::TransactError;
use crate::footprint::labels;
use model::compare::OrderKey;
use model::schema::{ConstraintDefinition, ConstraintRule, IndexDefinition, SchemaTarget};
use model::{Direction, EdgeRef, Value, VertexId};
use std::collections::BTreeSet;
use store::{Change, LabelFilter, Snapshot, StoreError};

/// Offending rows shown when existing data breaks a new constraint.
pub const OFFENDERS_SHOWN_MAX: usize = 10;

/// Checks what `changes` touched in `after`.
pub(crate) fn check(changes: &[Change], after: &Snapshot) -> Result<(), TransactError> {
    let indexes = after.catalog().indexes();
    if after.catalog().constraints().is_empty() && !indexes.iter().any(|index| index.unique) {
        return Ok(());
    }
    let (mut vertices, mut edges) = (BTreeSet::new(), BTreeSet::new());
    for change in changes {
        match change {
            Change::CreateVertex { id, .. }
            | Change::SetLabels { id, .. }
            | Change::SetProperty { id, .. } => {
                vertices.insert(*id);
            }
            Change::CreateEdge { edge, .. } | Change::SetEdgeProperty { edge, .. } => {
                edges.insert(*edge);
            }
            _ => {}
        }
    }
    vertices.into_iter().try_for_each(|vertex| {
        check_unique(vertex, after)?;
        check_vertex(vertex, after)
    })?;
    edges.into_iter().try_for_each(|edge| check_edge(edge, after))
}

fn names_of(keys: &[model::KeyId], after: &Snapshot) -> String {
    let names = keys.iter().filter_map(|key| after.catalog().key_name(*key));
    names.map(|name| name.as_ref()).collect::<Vec<&str>>().join("`, `")
}

/// No other edge holds the same values in a unique index.
fn check_unique_edge(edge: EdgeRef, after: &Snapshot) -> Result<(), TransactError> {
    let edge_type = edge.id.edge_type();
    let unique = |index: &&IndexDefinition| index.unique && index.target == SchemaTarget::Edges(edge_type);
    for index in after.catalog().indexes().iter().filter(unique) {
        let values = index.keys.iter().map(|key| after.edge_property(edge.id, *key));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        if values.iter().any(Value::is_null) {
            continue;
        }
        if let Some(other) =
            after.seek_edges(index.id, &values)?.into_iter().find(|found| found.id != edge.id)
        {
            let name = after.catalog().edge_type_name(edge_type).map_or("", |name| name);
            let (keys, one, two) = (names_of(&index.keys, after), edge.id.0, other.id.0);
            let what =
                format!("relationship {one} has type `{name}` and the same `{keys}` as relationship {two}");
            return Err(TransactError::Constraint { name: index.name.clone(), what });
        }
    }
    Ok(())
}

/// No other vertex holds the same values in a unique index.
fn check_unique(vertex: VertexId, after: &Snapshot) -> Result<(), TransactError> {
    let indexes = || after.catalog().indexes().iter().filter(|index| index.unique);
    if indexes().next().is_none() {
        return Ok(());
    }
    let labels = labels(after, vertex)?;
    for index in indexes() {
        let SchemaTarget::Vertices(label) = index.target else { continue };
        if !labels.contains(&label) {
            continue;
        }
        let values: Vec<Value> =
            index.keys.iter().map(|key| after.property(vertex, *key)).collect::<Result<_, _>>()?;
        if values.iter().any(Value::is_null) {
            continue;
        }
        if let Some(other) = after.seek(index.id, &values)?.into_iter().find(|found| *found != vertex) {
            let label = after.catalog().label_name(label).map_or("", |name| name);
            let keys = names_of(&index.keys, after);
            let what =
                format!("node {} has label `{label}` and the same `{}` as node {}", vertex.0, keys, other.0);
            return Err(TransactError::Constraint { name: index.name.clone(), what });
        }
    }
    Ok(())
}

fn check_vertex(vertex: VertexId, after: &Snapshot) -> Result<(), TransactError> {
    let labels = labels(after, vertex)?;
    for constraint in after.catalog().constraints() {
        let SchemaTarget::Vertices(label) = constraint.target else { continue };
        if labels.contains(&label)
            && let Some(what) = broken(constraint, after, |key| after.property(vertex, key))?
        {
            let label = after.catalog().label_name(label).map_or("", |name| name);
            let what = format!("a node with label `{label}` {what}");
            return Err(TransactError::Constraint { name: constraint.name.clone(), what });
        }
    }
    Ok(())
}

fn check_edge(edge: EdgeRef, after: &Snapshot) -> Result<(), TransactError> {
    if !after.edge_exists(edge)? {
        return Ok(());
    }
    check_unique_edge(edge, after)?;
    for constraint in after.catalog().constraints() {
        if constraint.target == SchemaTarget::Edges(edge.id.edge_type())
            && let Some(what) = broken(constraint, after, |key| after.edge_property(edge.id, key))?
        {
            let edge_type = after.catalog().edge_type_name(edge.id.edge_type()).map_or("", |name| name);
            let what = format!("a relationship of type `{edge_type}` {what}");
            return Err(TransactError::Constraint { name: constraint.name.clone(), what });
        }
    }
    Ok(())
}

/// The name of a type with its article.
fn article(name: &str) -> String {
    let vowel = name.starts_with(['A', 'E', 'I', 'O', 'U']);
    format!("{} {name}", if vowel { "an" } else { "a" })
}

/// How the entity breaks the constraint, if it does.
fn broken(
    constraint: &ConstraintDefinition,
    after: &Snapshot,
    property: impl Fn(model::KeyId) -> Result<Value, StoreError>,
) -> Result<Option<String>, StoreError> {
    let name = |key| after.catalog().key_name(key).map_or(String::new(), |name| name.to_string());
    for key in &constraint.keys {
        let value = property(*key)?;
        match &constraint.rule {
            ConstraintRule::Exists | ConstraintRule::NodeKey(_) if value.is_null() => {
                return Ok(Some(format!("must have the property `{}`", name(*key))));
            }
            ConstraintRule::Typed(wanted) if !value.is_null() && value.value_type() != *wanted => {
                let found = value.value_type().name();
                return Ok(Some(format!(
                    "must have {} as `{}`, not {}",
                    article(wanted.name()),
                    name(*key),
                    article(found)
                )));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Does the data that exists keep a constraint that is to be created? The error names the first offenders.
pub(crate) fn check_existing(
    constraint: &ConstraintDefinition,
    snapshot: &Snapshot,
) -> Result<(), TransactError> {
    let (offenders, count) = match constraint.target {
        SchemaTarget::Vertices(label) => offending_vertices(constraint, label, snapshot)?,
        SchemaTarget::Edges(edge_type) => offending_edges(constraint, edge_type, snapshot)?,
    };
    if count == 0 {
        return Ok(());
    }
    let what = format!("{count} existing entities break it, the first of them: {}", offenders.join("; "));
    Err(TransactError::Constraint { name: constraint.name.clone(), what })
}

/// The first groups of vertices that share the values of `keys`, in words, and how many groups there are.
pub(crate) fn duplicates(
    label: model::LabelId,
    keys: &[model::KeyId],
    snapshot: &Snapshot,
) -> Result<(Vec<String>, usize), StoreError> {
    let filter = LabelFilter::Has(label);
    let (mut found, mut vertices) = (Vec::<(Vec<OrderKey>, VertexId)>::new(), Vec::new());
    for chunk in snapshot.scan_chunks(&filter) {
        vertices.clear();
        snapshot.scan_chunk(chunk, &filter, &mut vertices)?;
        for vertex in &vertices {
            let values = keys.iter().map(|key| snapshot.property(*vertex, *key).map(OrderKey));
            let values: Vec<OrderKey> = values.collect::<Result<_, _>>()?;
            if values.iter().all(|value| !value.0.is_null()) {
                found.push((values, *vertex));
            }
        }
    }
    Ok(groups("nodes", found.into_iter().map(|(values, vertex)| (values, vertex.0)).collect()))
}

/// The same for the edges of a type.
pub(crate) fn duplicate_edges(
    edge_type: model::EdgeTypeId,
    keys: &[model::KeyId],
    snapshot: &Snapshot,
) -> Result<(Vec<String>, usize), StoreError> {
    let mut found: Vec<(Vec<OrderKey>, u64)> = Vec::new();
    for_each_edge(edge_type, snapshot, |edge| {
        let values = keys.iter().map(|key| snapshot.edge_property(edge, *key).map(OrderKey));
        let values: Vec<OrderKey> = values.collect::<Result<_, _>>()?;
        if values.iter().all(|value| !value.0.is_null()) {
            found.push((values, edge.0));
        }
        Ok(())
    })?;
    Ok(groups("relationships", found))
}

/// The first groups with the same values, in words, and how many there are.
fn groups(of: &str, mut found: Vec<(Vec<OrderKey>, u64)>) -> (Vec<String>, usize) {
    found.sort_unstable();
    let groups = || found.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1);
    let words = |group: &[(Vec<OrderKey>, u64)]| {
        let shown = group.iter().take(OFFENDERS_SHOWN_MAX);
        let numbers: Vec<String> = shown.map(|(_, number)| number.to_string()).collect();
        let more = if group.len() > OFFENDERS_SHOWN_MAX { ", …" } else { "" };
        format!("{of} {}{more} have the same values", numbers.join(", "))
    };
    (groups().take(OFFENDERS_SHOWN_MAX).map(words).collect(), groups().count())
}

/// Calls `found` with every edge of a type.
fn for_each_edge(
    edge_type: model::EdgeTypeId,
    snapshot: &Snapshot,
    mut found: impl FnMut(model::EdgeId) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let view = snapshot.adjacency(&[edge_type], Direction::Out);
    let (mut vertices, mut scratch) = (Vec::new(), store::EdgeScratch::default());
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        vertices.clear();
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
        for vertex in &vertices {
            let (_, edges) = view.edges(vertex.dense(), &mut scratch)?;
            edges.iter().try_for_each(|edge| found(model::EdgeId(*edge)))?;
        }
    }
    Ok(())
}

fn offending_vertices(
    constraint: &ConstraintDefinition,
    label: model::LabelId,
    snapshot: &Snapshot,
) -> Result<(Vec<String>, usize), StoreError> {
    let filter = LabelFilter::Has(label);
    let (mut offenders, mut count, mut vertices) = (Vec::new(), 0, Vec::new());
    for chunk in snapshot.scan_chunks(&filter) {
        vertices.clear();
        snapshot.scan_chunk(chunk, &filter, &mut vertices)?;
        for vertex in &vertices {
            if let Some(what) = broken(constraint, snapshot, |key| snapshot.property(*vertex, key))? {
                count += 1;
                if offenders.len() < OFFENDERS_SHOWN_MAX {
                    offenders.push(format!("node {} {what}", vertex.0));
                }
            }
        }
    }
    Ok((offenders, count))
}

fn offending_edges(
    constraint: &ConstraintDefinition,
    edge_type: model::EdgeTypeId,
    snapshot: &Snapshot,
) -> Result<(Vec<String>, usize), StoreError> {
    let (mut offenders, mut count) = (Vec::new(), 0);
    for_each_edge(edge_type, snapshot, |edge| {
        if let Some(what) = broken(constraint, snapshot, |key| snapshot.edge_property(edge, key))? {
            count += 1;
            if offenders.len() < OFFENDERS_SHOWN_MAX {
                offenders.push(format!("relationship {} {what}", edge.0));
            }
        }
        Ok(())
    })?;
    Ok((offenders, count))
}
