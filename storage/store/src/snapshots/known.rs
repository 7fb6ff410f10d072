//! The names that a restricted reader knows: those of visible data, now or at an earlier look.
//!
//! Idea: names are made once and stay, so a table of names tells of hidden data. A restricted reader knows a name once it has met it: on a visible
//! vertex or edge, with a visible property, or in a visible index or constraint. Met names are kept by the restriction, for all its snapshots, as the
//! table of names keeps those known to all. Invariant: whether a name is known depends on visible data alone. Cost: the counts tell of labels; edge
//! types and property keys are searched for (see `name_search`).

use crate::StoreError;
use crate::schema::catalog::Catalog;
use crate::schema::met::NameNo;
use crate::snapshots::root::Snapshot;
use crate::snapshots::sight::Sight;
use model::KeyId;
use model::schema::SchemaTarget;

impl Sight {
    /// Visible names, indexes and constraints. Where it cannot be found out now of which types edges are visible, rules about these are left out.
    #[inline]
    pub(crate) fn catalog_of<'a>(&'a self, snapshot: &Snapshot) -> &'a Catalog {
        if self.undecided.is_empty() { &self.catalog } else { self.decide(snapshot) }
    }
    /// Decided without holding the cell's lock: a search may pause.
    #[inline(never)]
    fn decide<'a>(&'a self, snapshot: &Snapshot) -> &'a Catalog {
        if let Some(known) = self.decided.get() {
            return known;
        }
        let mut without = Vec::new();
        for edge_type in &self.undecided {
            match snapshot.carries(self, NameNo::EdgeType(*edge_type)) {
                Ok(true) => {}
                Ok(false) => without.push(*edge_type),
                Err(_) => return &self.catalog,
            }
        }
        let (root, mask) = (&snapshot.root, &self.mask);
        let told = mask.catalog(&root.catalog, |edge_type| {
            mask.may_show_edges(edge_type, &root.statistics) && !without.contains(&edge_type)
        });
        self.decided.get_or_init(|| told)
    }
}

impl Snapshot {
    /// Is it known which rules are visible? Otherwise [`Snapshot::catalog`] leaves some out.
    pub fn has_catalog(&self) -> bool {
        self.sight.as_ref().is_none_or(|sight| sight.undecided.is_empty() || sight.decided.get().is_some())
    }
    /// Does the reader know a label of this name? An unrestricted reader knows every name that there is.
    ///
    /// # Errors
    /// A chunk cannot be read.
    pub fn knows_label(&self, name: &str) -> Result<bool, StoreError> {
        let Some(label) = self.catalog().label(name) else { return Ok(false) };
        self.knows(NameNo::Label(label))
    }
    /// As [`Snapshot::knows_label`], of an edge type.
    ///
    /// # Errors
    /// A chunk cannot be read.
    pub fn knows_edge_type(&self, name: &str) -> Result<bool, StoreError> {
        let Some(edge_type) = self.catalog().edge_type(name) else { return Ok(false) };
        self.knows(NameNo::EdgeType(edge_type))
    }
    /// As [`Snapshot::knows_label`], of a property key.
    ///
    /// # Errors
    /// A chunk cannot be read.
    pub fn knows_key(&self, name: &str) -> Result<bool, StoreError> {
        let Some(key) = self.catalog().key(name) else { return Ok(false) };
        self.knows(NameNo::Key(key))
    }
    fn knows(&self, name: NameNo) -> Result<bool, StoreError> {
        let Some(sight) = &self.sight else { return Ok(true) };
        if sight.has_met(&self.root, name) {
            return Ok(true);
        }
        let is_ruled = match name {
            NameNo::Label(label) => self.rules(|target, _| target == SchemaTarget::Vertices(label)),
            NameNo::EdgeType(edge_type) => self.rules(|target, _| target == SchemaTarget::Edges(edge_type)),
            NameNo::Key(key) => self.rules(|_, keys| keys.contains(&key)),
        };
        let is_met = is_ruled
            || match name {
                NameNo::Label(label) => self.statistics().vertices_with_label(label) > 0,
                NameNo::EdgeType(_) | NameNo::Key(_) => self.carries(sight, name)?,
            };
        if is_met {
            sight.add_met(name);
        }
        Ok(is_met)
    }
    /// Is there an index or a constraint that is shown and about this?
    fn rules(&self, is_about: impl Fn(SchemaTarget, &[KeyId]) -> bool) -> bool {
        let catalog = self.catalog();
        catalog.indexes().iter().any(|index| is_about(index.target, &index.keys))
            || catalog.constraints().iter().any(|one| is_about(one.target, &one.keys))
    }
}
