//! Which names of the graph a restricted reader knows: those that something it sees carries, or has carried when it looked before.
//!
//! Idea: names are made once and stay, whatever carries them, so a table of names tells of what is hidden. A restricted reader knows a name once
//! it has met it: on a vertex or an edge that is shown, with the property shown, or in an index or a constraint that is. What was met is kept by
//! the restriction, for all its snapshots, as the table of names keeps what is known to all. Invariant: whether a name is known depends on what
//! is shown alone. Cost: the first look for a name ends at the first element that carries it; a name that only hidden elements carry is looked for
//! in all chunks that show anything and have it, once for each snapshot.

use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::schema::filter::LabelFilter;
use crate::schema::met::NameNo;
use crate::snapshots::root::Snapshot;
use crate::versions::cell::ChunkRef;
use model::schema::SchemaTarget;
use model::{ChunkNo, Direction, EdgeTypeId, KeyId, VertexId};

impl Snapshot {
    /// Does the reader know a label of this name? One from whom nothing is hidden knows every name that there is.
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
        if sight.met.has(name) {
            return Ok(true);
        }
        if sight.unmet.has(name) {
            return Ok(false);
        }
        let is_met = match name {
            NameNo::Label(label) => {
                self.rules(|target, _| target == SchemaTarget::Vertices(label))
                    || self.statistics().vertices_with_label(label) > 0
            }
            NameNo::EdgeType(edge_type) => {
                self.rules(|target, _| target == SchemaTarget::Edges(edge_type))
                    || self.count_edges(&[edge_type], 1)? > 0
            }
            NameNo::Key(key) => self.rules(|_, keys| keys.contains(&key)) || self.shows_some(key)?,
        };
        match is_met {
            true => sight.met.add(name),
            false => sight.unmet.add(name),
        }
        Ok(is_met)
    }
    /// Is there an index or a constraint that is shown and about this?
    fn rules(&self, is_about: impl Fn(SchemaTarget, &[KeyId]) -> bool) -> bool {
        let catalog = self.catalog();
        catalog.indexes().iter().any(|index| is_about(index.target, &index.keys))
            || catalog.constraints().iter().any(|one| is_about(one.target, &one.keys))
    }
    /// Is this property shown of any vertex or edge?
    fn shows_some(&self, key: KeyId) -> Result<bool, StoreError> {
        let of_edges = self.edge_types_show(key);
        for number in self.scan_chunks(&LabelFilter::Any) {
            // Known without reading the chunk.
            let cell = self.root.directory.get(number);
            let sets = cell.map_or(&[][..], |cell| &cell.meta.label_sets);
            if !of_edges && !sets.iter().any(|set| self.shows_property(Some(*set), key)) {
                continue;
            }
            let Some(chunk) = self.chunk(number)? else { continue };
            if self.vertices_show(&chunk, number, key)? || self.edges_show(&chunk, number, key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
    /// Is there a type of which this property is shown, and of which edges may be?
    fn edge_types_show(&self, key: KeyId) -> bool {
        let Some(sight) = &self.sight else { return true };
        let (mask, counts) = (&sight.mask, &self.root.statistics);
        let mut types = counts.edge_types().into_iter();
        types.any(|one| mask.shows_edge_property(one, key) && mask.may_show_edges(one, counts))
    }
    fn vertices_show(&self, chunk: &ChunkRef<'_>, number: ChunkNo, key: KeyId) -> Result<bool, StoreError> {
        let sets = &chunk.meta().label_sets;
        let is_stored = chunk.base().column(key).is_some() || chunk.delta().is_some();
        if !is_stored || !sets.iter().any(|set| self.shows_property(Some(*set), key)) {
            return Ok(false);
        }
        self.any_vertex(number, |vertex| Ok(!self.property(vertex, key)?.is_null()))
    }
    fn edges_show(&self, chunk: &ChunkRef<'_>, number: ChunkNo, key: KeyId) -> Result<bool, StoreError> {
        let of_base = chunk.base().edge_columns.iter().map(|((edge_type, key), _)| (*edge_type, *key));
        let mut types: Vec<EdgeTypeId> =
            of_base.filter(|(_, other)| *other == key).map(|(edge_type, _)| edge_type).collect();
        let changed = chunk.delta().into_iter().flat_map(|delta| delta.edge_properties.keys());
        types.extend(changed.map(|(edge_type, _)| *edge_type));
        types.retain(|edge_type| {
            self.sight.as_ref().is_none_or(|sight| sight.mask.shows_edge_property(*edge_type, key))
        });
        // No types would mean all.
        if types.is_empty() {
            return Ok(false);
        }
        let view = self.adjacency(&types, Direction::Out);
        let mut edges = Vec::new();
        self.any_vertex(number, |vertex| {
            edges.clear();
            view.for_each_edge(vertex.dense(), |edge| edges.push(edge.id))?;
            for edge in &edges {
                if !self.edge_property(*edge, key)?.is_null() {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }
    fn any_vertex(
        &self,
        chunk: ChunkNo,
        mut is_it: impl FnMut(VertexId) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let mut vertices = Vec::new();
        self.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
        for vertex in vertices {
            if is_it(vertex)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
