//! The names and rules of a graph that a restricted reader sees.
//!
//! Idea: whether a vertex is shown depends on its label set alone, whether an edge is shown on its type and its two ends, whether a property is shown
//! on its key and the label set or type that carries it. So a mask is one answer for each label set and each type, made once for a table of names. A
//! label that is hidden has no number, and no label set contains it; an index that would tell of hidden values is left out.
//! Invariant: names that the mask does not know are hidden. Cost: one decision for each label set and type when names change, or when the first
//! vertex of a label set with an index comes or the last one goes; for keys on first use.

use crate::schema::catalog::Catalog;
use crate::schema::names::NameTable;
use crate::schema::statistics::Statistics;
use model::schema::{ConstraintDefinition, ConstraintRule, IndexDefinition, IndexId, SchemaTarget};
use model::{Direction, EdgeTypeId, KeyId, LabelSetId};
use std::sync::{Arc, OnceLock};

/// Decides by names what a restricted reader sees. The answers never change.
pub trait Visibility: Send + Sync {
    /// Is a vertex with exactly these labels shown?
    fn shows_vertex(&self, labels: &[&str]) -> bool;
    /// Is this label shown on vertices that are?
    fn shows_label(&self, label: &str) -> bool;
    /// Are edges of this type shown, between vertices that are?
    fn shows_edge_type(&self, edge_type: &str) -> bool;
    /// Is this property shown of vertices with exactly these labels?
    fn shows_property(&self, labels: &[&str], key: &str) -> bool;
    /// Is this property shown of edges of this type?
    fn shows_edge_property(&self, edge_type: &str, key: &str) -> bool;
    /// Is every vertex with this label shown, or every vertex, whatever other labels it may come to have?
    fn shows_all_vertices(&self, label: Option<&str>) -> bool;
}

/// Which keys are hidden, by number.
struct Hidden(Box<[bool]>);

impl Hidden {
    fn has(&self, key: KeyId) -> bool {
        self.0.get(key.0 as usize).copied().unwrap_or(true)
    }
}

/// A label set or an edge type, which carry properties.
struct Carrier {
    shown: bool,
    keys: OnceLock<Hidden>,
}

impl Carrier {
    fn new(shown: bool) -> Carrier {
        Carrier { shown, keys: OnceLock::new() }
    }
}

/// The answers for one catalogue.
pub(crate) struct Mask {
    visibility: Arc<dyn Visibility>,
    /// Of which it was made.
    source: Catalog,
    sets: Vec<Carrier>,
    types: Vec<Carrier>,
    names: Arc<NameTable>,
    indexes: Arc<Vec<IndexDefinition>>,
    constraints: Arc<Vec<ConstraintDefinition>>,
    /// Label sets with a label that a rule is about, of which there are vertices. A reader must not learn whether there ever were any.
    inhabited: Vec<LabelSetId>,
    /// Is there a label set whose vertices are hidden?
    pub(crate) hides_vertices: bool,
    /// May vertices be hidden, whether some are or not? Answers to the reader depend on this alone, so that they do not tell which is so.
    pub(crate) may_hide_vertices: bool,
}

fn labels_of(names: &NameTable, set: LabelSetId) -> Vec<&str> {
    let labels = names.labels_of(set).map_or(&[][..], |labels| labels);
    labels.iter().filter_map(|label| names.label_name(*label)).map(|name| &**name).collect()
}

/// Label sets with a label that an index or a constraint is about, of which there are vertices, in order.
fn inhabited(source: &Catalog, counts: &Statistics) -> Vec<LabelSetId> {
    let indexed = source.indexes.iter().map(|index| index.target);
    let targets = indexed.chain(source.constraints.iter().map(|constraint| constraint.target));
    let mut ruled: Vec<_> = targets
        .filter_map(|target| match target {
            SchemaTarget::Vertices(label) => Some(label),
            SchemaTarget::Edges(_) => None,
        })
        .collect();
    ruled.sort_unstable();
    ruled.dedup();
    let is_ruled = |set: &LabelSetId| {
        let labels = source.names.labels_of(*set);
        labels.is_some_and(|labels| labels.iter().any(|label| ruled.binary_search(label).is_ok()))
    };
    let sets = (0..source.names.label_sets().len()).map(|at| LabelSetId(at as u32));
    sets.filter(|set| is_ruled(set) && counts.vertices_with_set(*set) > 0).collect()
}

impl Mask {
    pub(crate) fn new(source: &Catalog, counts: &Statistics, visibility: &Arc<dyn Visibility>) -> Mask {
        let names = &source.names;
        let set = |at: usize| visibility.shows_vertex(&labels_of(names, LabelSetId(at as u32)));
        let sets: Vec<Carrier> = (0..names.label_sets().len()).map(|at| Carrier::new(set(at))).collect();
        let shows_type = |name: &Arc<str>| visibility.shows_edge_type(name);
        let types = names.edge_types().iter().map(|name| Carrier::new(shows_type(name))).collect();
        let hides_vertices = sets.iter().any(|set| !set.shown);
        let mut mask = Mask {
            visibility: visibility.clone(),
            source: source.clone(),
            sets,
            types,
            names: names.clone(),
            indexes: Arc::default(),
            constraints: Arc::default(),
            inhabited: inhabited(source, counts),
            hides_vertices,
            may_hide_vertices: !visibility.shows_all_vertices(None),
        };
        debug_assert!(mask.may_hide_vertices || !hides_vertices, "what is hidden may be");
        mask.indexes = Arc::new(source.indexes.iter().filter(|index| mask.tells(index)).cloned().collect());
        mask.constraints = Arc::new(
            source.constraints.iter().filter(|constraint| mask.demands(constraint)).cloned().collect(),
        );
        let is_key = |at: usize| mask.shows_key(KeyId(at as u32));
        let shown_keys: Vec<bool> = (0..names.keys().len()).map(is_key).collect();
        mask.names = Arc::new(names.masked(
            |label| visibility.shows_label(label),
            |edge_type| visibility.shows_edge_type(edge_type),
            |key| shown_keys.get(key.0 as usize).copied().unwrap_or(false),
        ));
        mask
    }
    /// Would it be made of this catalogue and these counts?
    pub(crate) fn is_of(&self, catalog: &Catalog, counts: &Statistics) -> bool {
        Arc::ptr_eq(&self.source.names, &catalog.names)
            && Arc::ptr_eq(&self.source.indexes, &catalog.indexes)
            && Arc::ptr_eq(&self.source.constraints, &catalog.constraints)
            && self.inhabited == inhabited(catalog, counts)
    }
    /// Edge types of rules that may be shown, each once, where it has to be found out which of them have visible edges.
    pub(crate) fn ruled_edge_types(&self) -> Vec<EdgeTypeId> {
        if !self.may_hide_vertices {
            return Vec::new();
        }
        let indexes = self.indexes.iter().map(|index| index.target);
        let targets = indexes.chain(self.constraints.iter().map(|constraint| constraint.target));
        let mut types: Vec<_> = targets
            .filter_map(|target| match target {
                SchemaTarget::Edges(edge_type) => Some(edge_type),
                SchemaTarget::Vertices(_) => None,
            })
            .collect();
        types.sort_unstable();
        types.dedup();
        types
    }
    /// The catalogue as it is shown, with the entries of this one. Rules about edges are left out for types without a visible edge.
    pub(crate) fn catalog(&self, of: &Catalog, has_shown_edges: impl Fn(EdgeTypeId) -> bool) -> Catalog {
        let is_told = |target: SchemaTarget| match target {
            SchemaTarget::Edges(edge_type) => !self.may_hide_vertices || has_shown_edges(edge_type),
            SchemaTarget::Vertices(_) => true,
        };
        let (mut indexes, mut constraints) = (self.indexes.clone(), self.constraints.clone());
        if !indexes.iter().all(|index| is_told(index.target)) {
            Arc::make_mut(&mut indexes).retain(|index| is_told(index.target));
        }
        if !constraints.iter().all(|constraint| is_told(constraint.target)) {
            Arc::make_mut(&mut constraints).retain(|constraint| is_told(constraint.target));
        }
        Catalog { names: self.names.clone(), indexes, constraints, entries: of.entries.clone() }
    }
    pub(crate) fn shows_set(&self, set: LabelSetId) -> bool {
        self.sets.get(set.0 as usize).is_some_and(|set| set.shown)
    }
    pub(crate) fn shows_type(&self, edge_type: EdgeTypeId) -> bool {
        self.types.get(edge_type.0 as usize).is_some_and(|edge_type| edge_type.shown)
    }
    pub(crate) fn shows_property(&self, set: LabelSetId, key: KeyId) -> bool {
        let Some(carrier) = self.sets.get(set.0 as usize).filter(|carrier| carrier.shown) else {
            return false;
        };
        let keys = carrier.keys.get_or_init(|| {
            let labels = labels_of(&self.source.names, set);
            self.hidden(|key| self.visibility.shows_property(&labels, key))
        });
        !keys.has(key)
    }
    pub(crate) fn shows_edge_property(&self, edge_type: EdgeTypeId, key: KeyId) -> bool {
        let carrier = self.types.get(edge_type.0 as usize).filter(|carrier| carrier.shown);
        let (Some(carrier), Some(name)) = (carrier, self.source.names.edge_type_name(edge_type)) else {
            return false;
        };
        let keys =
            carrier.keys.get_or_init(|| self.hidden(|key| self.visibility.shows_edge_property(name, key)));
        !keys.has(key)
    }
    pub(crate) fn shows_index(&self, index: IndexId) -> bool {
        self.indexes.iter().any(|shown| shown.id == index)
    }
    /// May the size of an index be shown, and its content be estimated? Not where it may have hidden entries.
    pub(crate) fn sizes_index(&self, index: IndexId) -> bool {
        let Some(index) = self.indexes.iter().find(|shown| shown.id == index) else { return false };
        match index.target {
            SchemaTarget::Edges(_) => !self.may_hide_vertices,
            SchemaTarget::Vertices(label) => {
                let name = self.source.names.label_name(label);
                name.is_some_and(|name| self.visibility.shows_all_vertices(Some(name)))
            }
        }
    }
    /// Does any edge of this type leave a vertex that is shown, and any enter one?
    pub(crate) fn may_show_edges(&self, edge_type: EdgeTypeId, counts: &Statistics) -> bool {
        [Direction::Out, Direction::In]
            .into_iter()
            .all(|direction| counts.has_edges_at(edge_type, direction, |set| self.shows_set(set)))
    }
    /// Is no vertex hidden that an edge of this type leaves or enters?
    pub(crate) fn shows_all_ends(&self, edge_type: EdgeTypeId, counts: &Statistics) -> bool {
        !self.hides_vertices || !counts.has_edges_at(edge_type, Direction::Both, |set| !self.shows_set(set))
    }
    fn hidden(&self, shows: impl Fn(&str) -> bool) -> Hidden {
        Hidden(self.source.names.keys().iter().map(|key| !shows(key)).collect())
    }
    /// Is there a label set or a type of which this key is shown?
    fn shows_key(&self, key: KeyId) -> bool {
        (0..self.sets.len()).any(|set| self.shows_property(LabelSetId(set as u32), key))
            || (0..self.types.len()).any(|at| self.shows_edge_property(EdgeTypeId(at as u16), key))
    }
    /// Are these keys shown of every vertex with the label, or every edge of the type, that is shown itself?
    fn shows_all(&self, target: SchemaTarget, keys: &[KeyId]) -> bool {
        match target {
            SchemaTarget::Edges(edge_type) => {
                keys.iter().all(|key| self.shows_edge_property(edge_type, *key))
            }
            SchemaTarget::Vertices(label) => {
                let is_shown = |set: &LabelSetId| self.shows_set(*set);
                let sets = self.inhabited.iter().copied().filter(is_shown);
                let carries = |set: &LabelSetId| {
                    self.source.names.labels_of(*set).is_some_and(|labels| labels.contains(&label))
                };
                let Some(name) = self.source.names.label_name(label) else { return false };
                let mut carrying = sets.filter(carries).peekable();
                if carrying.peek().is_none() {
                    // Only hidden vertices may carry it, unless none can be hidden.
                    let reads = |key: &KeyId| {
                        let key = self.source.names.key_name(*key);
                        key.is_some_and(|key| self.visibility.shows_property(&[name], key))
                    };
                    return self.visibility.shows_all_vertices(Some(name)) && keys.iter().all(reads);
                }
                self.visibility.shows_label(name)
                    && carrying.all(|set| keys.iter().all(|key| self.shows_property(set, *key)))
            }
        }
    }
    fn tells(&self, index: &IndexDefinition) -> bool {
        self.shows_all(index.target, &index.keys)
    }
    fn demands(&self, constraint: &ConstraintDefinition) -> bool {
        let index = match constraint.rule {
            ConstraintRule::Unique(index) | ConstraintRule::NodeKey(index) => Some(index),
            _ => None,
        };
        self.shows_all(constraint.target, &constraint.keys)
            && index.is_none_or(|index| self.shows_index(index))
    }
}
