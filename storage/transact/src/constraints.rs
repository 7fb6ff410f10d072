//! Constraints: checked on the entities that a transaction changed, in the graph as it would be after the commit.
//!
//! Uniqueness is one look-up in the constraint's own index; the store refuses to build a unique index over data that breaks it. The validation of
//! existing data for a new constraint is here too.

use crate::TransactError;
use crate::footprint::{CHANGE_UNITS, labels};
use model::compare::OrderKey;
use model::schema::{ConstraintDefinition, ConstraintRule, IndexDefinition, SchemaTarget};
use model::{Direction, EdgeRef, Value, VertexId, pace, walk};
use std::collections::BTreeSet;
use store::{Change, LabelFilter, Snapshot, StoreError};

/// Offending rows shown when existing data breaks a new constraint.
pub const OFFENDERS_SHOWN_MAX: usize = 10;

/// Entities with values that are compared to name those that share them: some 100 MB.
const COMPARED_MAX: usize = 1 << 20;

/// Checks the entities that `changes` changed, in `after`.
pub(crate) fn check(changes: &[Change], after: &Snapshot) -> Result<(), TransactError> {
    let indexes = after.catalog().indexes();
    if after.catalog().constraints().is_empty() && !indexes.iter().any(|index| index.unique) {
        return Ok(());
    }
    let (mut vertices, mut edges) = (BTreeSet::new(), BTreeSet::new());
    for change in changes {
        spend(1)?;
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
        spend(CHANGE_UNITS)?;
        check_unique(vertex, after)?;
        check_vertex(vertex, after)
    })?;
    edges.into_iter().try_for_each(|edge| {
        spend(CHANGE_UNITS)?;
        check_edge(edge, after)
    })
}

/// Counts work that must not pause: the committer is locked.
fn spend(units: usize) -> Result<(), StoreError> {
    Ok(walk::spend(units)?)
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

/// The range of a validation: all of a snapshot, or the difference from an earlier one.
#[derive(Clone, Copy)]
pub(crate) struct Looked<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) earlier: Option<&'a Snapshot>,
}

impl Looked<'_> {
    /// Calls `found` with every vertex that passes the filter.
    fn for_each_vertex(
        self,
        filter: &LabelFilter,
        mut found: impl FnMut(VertexId) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut vertices = Vec::new();
        let chunks = match self.earlier {
            None => self.snapshot.scan_chunks(filter),
            Some(earlier) => self.snapshot.scan_changed_chunks(filter, earlier),
        };
        for chunk in chunks {
            vertices.clear();
            self.snapshot.scan_chunk(chunk, filter, &mut vertices)?;
            for vertex in &vertices {
                pace::spend(1)?;
                found(*vertex)?;
            }
        }
        Ok(())
    }
    /// Calls `found` with every edge of a type.
    fn for_each_edge(
        self,
        edge_type: model::EdgeTypeId,
        mut found: impl FnMut(model::EdgeId) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let view = self.snapshot.adjacency(&[edge_type], Direction::Out);
        let mut scratch = store::EdgeScratch::default();
        self.for_each_vertex(&LabelFilter::Any, |vertex| {
            let (_, edges) = view.edges(vertex.dense(), &mut scratch)?;
            edges.iter().try_for_each(|edge| {
                pace::spend(1)?;
                found(model::EdgeId(*edge))
            })
        })
    }
}

/// Does the data that exists keep a constraint that is to be created? The error names the first offenders.
pub(crate) fn check_existing(
    constraint: &ConstraintDefinition,
    looked: Looked<'_>,
) -> Result<(), TransactError> {
    let (mut offenders, mut count) = (Vec::new(), 0);
    let mut look = |of: &str, number: u64, broken: Option<String>| {
        if let Some(what) = broken {
            count += 1;
            if offenders.len() < OFFENDERS_SHOWN_MAX {
                offenders.push(format!("{of} {number} {what}"));
            }
        }
    };
    let snapshot = looked.snapshot;
    match constraint.target {
        SchemaTarget::Vertices(label) => looked.for_each_vertex(&LabelFilter::Has(label), |vertex| {
            look("node", vertex.0, broken(constraint, snapshot, |key| snapshot.property(vertex, key))?);
            Ok(())
        })?,
        SchemaTarget::Edges(edge_type) => looked.for_each_edge(edge_type, |edge| {
            look(
                "relationship",
                edge.0,
                broken(constraint, snapshot, |key| snapshot.edge_property(edge, key))?,
            );
            Ok(())
        })?,
    }
    if count == 0 {
        return Ok(());
    }
    let what = format!("{count} existing entities break it, the first of them: {}", offenders.join("; "));
    Err(TransactError::Constraint { name: constraint.name.clone(), what })
}

/// The first groups of vertices, or of edges, that share the values of `keys`, in words, and how many groups there are. Of many entities with values,
/// only [`COMPARED_MAX`] are compared.
pub(crate) fn duplicates(
    target: SchemaTarget,
    keys: &[model::KeyId],
    snapshot: &Snapshot,
) -> Result<(Vec<String>, usize), StoreError> {
    let mut found: Vec<(Vec<OrderKey>, u64)> = Vec::new();
    let mut look = |number: u64, property: &dyn Fn(model::KeyId) -> Result<Value, StoreError>| {
        if found.len() < COMPARED_MAX {
            let values = keys.iter().map(|key| property(*key).map(OrderKey));
            let values: Vec<OrderKey> = values.collect::<Result<_, _>>()?;
            if values.iter().all(|value| !value.0.is_null()) {
                found.push((values, number));
            }
        }
        Ok(())
    };
    let looked = Looked { snapshot, earlier: None };
    let of = match target {
        SchemaTarget::Vertices(label) => {
            looked.for_each_vertex(&LabelFilter::Has(label), |vertex| {
                look(vertex.0, &|key| snapshot.property(vertex, key))
            })?;
            "nodes"
        }
        SchemaTarget::Edges(edge_type) => {
            looked.for_each_edge(edge_type, |edge| look(edge.0, &|key| snapshot.edge_property(edge, key)))?;
            "relationships"
        }
    };
    Ok(groups(of, found))
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
