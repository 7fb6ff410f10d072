//! Reads of a [`Snapshot`]: vertices, edges, their properties, scans and indexes.
//!
//! The only errors of reading come from chunks that are loaded on first touch.

use super::adjacency::AdjacencyView;
use super::property::{EdgePropertyReader, PropertyReader, push_values};
use super::root::Snapshot;
use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::chunks::chunk::PartName;
use crate::chunks::column::PropertyRef;
use crate::chunks::edge_set::pack;
use crate::chunks::table::Lane;
use crate::indexes::edges::EdgeRange;
use crate::indexes::range::{IndexRange, VertexTest};
use crate::indexes::tree::Index;
use crate::paging::source::{BlobKey, Fetched};
use crate::schema::filter::LabelFilter;
use crate::snapshots::sight::ShownSlots;
use crate::versions::cell::ChunkRef;
use model::schema::{IndexId, SchemaTarget};
use model::{
    ChunkNo, ColumnBuilder, Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, LabelSetId, Slot, Value,
    VertexId,
};
use std::ops::Bound;
use std::sync::Arc;

impl Snapshot {
    /// Is there such a vertex?
    pub fn exists(&self, vertex: VertexId) -> Result<bool, StoreError> {
        Ok(self.seen(vertex, PartName::Head)?.is_some_and(|(chunk, slot)| chunk.exists(slot)))
    }
    /// Label set of a vertex; [`StoreError::NoVertex`] where there is none.
    pub fn labels(&self, vertex: VertexId) -> Result<LabelSetId, StoreError> {
        let labels = self.seen(vertex, PartName::Head)?.and_then(|(chunk, slot)| chunk.labels(slot));
        labels.ok_or(StoreError::NoVertex(vertex))
    }
    /// Appends the label sets of many vertices, none where there is no vertex; fastest where neighbours in the order share chunks.
    ///
    /// # Errors
    /// A chunk cannot be read.
    pub fn label_sets(
        &self,
        vertices: &[VertexId],
        found: &mut Vec<Option<LabelSetId>>,
    ) -> Result<(), StoreError> {
        found.reserve(vertices.len());
        if self.sight.is_some() {
            for vertex in vertices {
                let seen = self.seen(*vertex, PartName::Head)?;
                found.push(seen.and_then(|(chunk, slot)| chunk.labels(slot)));
            }
            return Ok(());
        }
        let mut left = vertices;
        while let Some(first) = left.first() {
            let place = first.0 >> model::id::SLOT_BITS;
            let len = left.iter().take_while(|vertex| vertex.0 >> model::id::SLOT_BITS == place).count();
            let (here, behind) = left.split_at(len);
            left = behind;
            match self.locate(*first, PartName::Head)? {
                Some((chunk, _)) => {
                    found.extend(here.iter().map(|vertex| chunk.labels(vertex.slot().into())))
                }
                None => found.extend(here.iter().map(|_| None)),
            }
        }
        Ok(())
    }
    /// Label sets that vertices of this chunk may have, hidden ones among them; known without reading the chunk.
    pub fn labels_in_chunk(&self, chunk: ChunkNo) -> &[LabelSetId] {
        self.root.directory.get(chunk).map_or(&[], |cell| &cell.meta.label_sets)
    }
    /// Does the vertex exist and carry this label?
    pub fn has_label(&self, vertex: VertexId, label: LabelId) -> Result<bool, StoreError> {
        let labels = self.seen(vertex, PartName::Head)?.and_then(|(chunk, slot)| chunk.labels(slot));
        Ok(labels.is_some_and(|set| self.labels_of(set).binary_search(&label).is_ok()))
    }
    /// Does the vertex exist and pass the filter?
    pub fn passes(&self, vertex: VertexId, filter: &LabelFilter) -> Result<bool, StoreError> {
        let labels = self.seen(vertex, PartName::Head)?.and_then(|(chunk, slot)| chunk.labels(slot));
        Ok(labels.is_some_and(|set| filter.accepts(self.labels_of(set))))
    }
    /// A property of a vertex; null if either is missing.
    pub fn property(&self, vertex: VertexId, key: KeyId) -> Result<Value, StoreError> {
        self.with_property(vertex, key, |value| value.to_value())
    }
    /// Calls `read` with a property of a vertex, borrowed: nothing is allocated.
    pub fn with_property<R>(
        &self,
        vertex: VertexId,
        key: KeyId,
        read: impl FnOnce(PropertyRef<'_>) -> R,
    ) -> Result<R, StoreError> {
        Ok(match self.seen(vertex, PartName::Column(key))? {
            Some((chunk, slot)) if self.shows_property_at(&chunk, slot, key) => {
                read(chunk.property(slot, key))
            }
            _ => read(PropertyRef::Null),
        })
    }
    /// All properties of a vertex, in key order.
    pub fn properties(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>, StoreError> {
        let Some((head, slot)) = self.seen(vertex, PartName::Head)? else { return Ok(Vec::new()) };
        let mut properties = head.cell().properties(slot)?;
        if self.is_restricted() {
            let set = head.labels(slot);
            properties.retain(|(key, _)| self.shows_property(set, *key));
        }
        Ok(properties)
    }
    /// Is this property shown of the vertex in this slot?
    #[inline]
    pub(crate) fn shows_property_at(&self, chunk: &ChunkRef<'_>, slot: usize, key: KeyId) -> bool {
        !self.is_restricted() || self.shows_property(chunk.labels(slot), key)
    }
    /// Appends a property of each vertex to `column`, in order; null for vertices that are not there.
    pub fn property_column(
        &self,
        vertices: &[VertexId],
        key: KeyId,
        column: &mut ColumnBuilder,
    ) -> Result<(), StoreError> {
        PropertyReader::new(self, key).read(vertices, |_, values| {
            push_values(column, values);
            Ok(())
        })
    }
    /// An edge with its ends, if it exists.
    pub fn edge(&self, edge: EdgeId) -> Result<Option<EdgeRef>, StoreError> {
        let part = PartName::Table(Lane::out(edge.edge_type()));
        let chunk = self.chunk_part(edge.chunk(), part)?;
        let ends = chunk.and_then(|chunk| chunk.edge_ends(edge.edge_type(), edge.slot()));
        let found = ends.map(|(slot, target)| EdgeRef {
            id: edge,
            source: VertexId::new(edge.chunk(), slot as Slot),
            target: VertexId::from_dense(target),
        });
        match found {
            Some(edge) if !self.shows_edge(edge)? => Ok(None),
            found => Ok(found),
        }
    }
    /// Is this very edge there? Cheaper than [`Snapshot::edge`], since the ends are known.
    pub fn edge_exists(&self, edge: EdgeRef) -> Result<bool, StoreError> {
        let lane = Lane::out(edge.id.edge_type());
        let part = PartName::lists(lane, edge.source.slot());
        let Some((chunk, slot)) = self.seen(edge.source, part)? else { return Ok(false) };
        if self.is_restricted() && !self.shows_edge(edge)? {
            return Ok(false);
        }
        if edge.source.chunk() != edge.id.chunk() || edge.target.0 > u32::MAX as u64 {
            return Ok(false);
        }
        let packed = pack(edge.target.dense(), edge.id.slot());
        Ok(chunk.has_edge(slot, lane, packed))
    }
    /// A property of an edge; null if it is absent. The value for an edge that is gone is unspecified.
    pub fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Value, StoreError> {
        self.with_edge_property(edge, key, |value| value.to_value())
    }
    /// Calls `read` with a property of an edge, borrowed.
    pub fn with_edge_property<R>(
        &self,
        edge: EdgeId,
        key: KeyId,
        read: impl FnOnce(PropertyRef<'_>) -> R,
    ) -> Result<R, StoreError> {
        let part = PartName::EdgeColumn(edge.edge_type(), key);
        Ok(match self.chunk_part(edge.chunk(), part)? {
            Some(chunk) if self.shows_edge_property(edge, key) => {
                read(chunk.edge_property(edge.edge_type(), edge.slot(), key))
            }
            _ => read(PropertyRef::Null),
        })
    }
    /// All properties of an edge, in key order.
    pub fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>, StoreError> {
        let Some(cell) = self.root.directory.get(edge.chunk()) else { return Ok(Vec::new()) };
        let mut all = cell.edge_properties(edge.edge_type(), edge.slot())?;
        all.retain(|(key, _)| self.shows_edge_property(edge, *key));
        Ok(all)
    }
    /// Appends a property of each edge to `column`, in order.
    pub fn edge_property_column(
        &self,
        edges: &[EdgeId],
        key: KeyId,
        column: &mut ColumnBuilder,
    ) -> Result<(), StoreError> {
        EdgePropertyReader::new(self, key).read(edges, |_, values| {
            push_values(column, values);
            Ok(())
        })
    }
    /// The edges of these types (none given: all types) met in this direction from any vertex.
    pub fn adjacency(&self, types: &[EdgeTypeId], direction: Direction) -> AdjacencyView {
        AdjacencyView::new(self.clone(), types, direction)
    }
    /// Edges of these types (none given: all types) at a vertex in this direction; a self-loop counts once.
    pub fn degree(
        &self,
        vertex: VertexId,
        types: &[EdgeTypeId],
        direction: Direction,
    ) -> Result<u32, StoreError> {
        if vertex.0 > u32::MAX as u64 {
            Ok(0)
        } else {
            self.adjacency(types, direction).degree(vertex.dense())
        }
    }
    /// Chunks that may hold vertices that pass the filter, in order.
    pub fn scan_chunks(&self, filter: &LabelFilter) -> Vec<ChunkNo> {
        (0..self.root.directory.bound()).filter(|chunk| self.may_hold(*chunk, filter)).collect()
    }
    /// Those of them in which anything may differ from an earlier snapshot of this graph.
    pub fn scan_changed_chunks(&self, filter: &LabelFilter, earlier: &Snapshot) -> Vec<ChunkNo> {
        let (now, then) = (&self.root.directory, &earlier.root.directory);
        let is_same = |chunk: ChunkNo| match (now.get(chunk), then.get(chunk)) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            _ => false,
        };
        self.scan_chunks(filter).into_iter().filter(|chunk| !is_same(*chunk)).collect()
    }
    /// May this chunk hold vertices that pass the filter? Known without reading it.
    pub(crate) fn may_hold(&self, chunk: ChunkNo, filter: &LabelFilter) -> bool {
        let passes = |set: &LabelSetId| self.shows_set(*set) && filter.accepts(self.labels_of(*set));
        let cell = self.root.directory.get(chunk);
        cell.is_some_and(|cell| cell.meta.live > 0 && cell.meta.label_sets.iter().any(passes))
    }
    /// May reads of chunks wait for another machine?
    pub fn is_remote(&self) -> bool {
        self.root.pager.source().is_some_and(|source| source.is_remote())
    }
    /// Would a read of this chunk wait for another machine?
    pub fn is_away(&self, chunk: ChunkNo) -> bool {
        self.root.directory.get(chunk).is_some_and(|cell| cell.base().is_away())
    }
    /// Requests those of these chunks that are not in memory from another machine, if that is their source, and returns how many: see
    /// [`ChunkSource::fetch`](crate::ChunkSource::fetch).
    pub fn fetch_chunks(&self, chunks: &[ChunkNo], fetched: &Fetched) -> usize {
        let key = |chunk: &ChunkNo| self.root.directory.get(*chunk)?.base().away_key();
        let keys: Vec<BlobKey> = chunks.iter().filter_map(key).collect();
        self.root.pager.source().map_or(0, |source| source.fetch(&keys, fetched))
    }
    /// Appends the vertices of a chunk that pass the filter, in order.
    pub fn scan_chunk(
        &self,
        chunk: ChunkNo,
        filter: &LabelFilter,
        found: &mut Vec<VertexId>,
    ) -> Result<(), StoreError> {
        let Some(content) = self.chunk_part(chunk, PartName::Head)? else { return Ok(()) };
        let accepts = |set: LabelSetId| self.shows_set(set) && filter.accepts(self.labels_of(set));
        let shown = self.shown_slots(chunk)?;
        let bits = match shown {
            ShownSlots::None => return Ok(()),
            ShownSlots::All | ShownSlots::Each => None,
            ShownSlots::Some(shown) => Some(shown),
        };
        // Hidden vertices are left out by their bits, where there are bits.
        let passes = |set: &LabelSetId| accepts(*set) || bits.is_some() && !self.shows_set(*set);
        let all_pass = content.meta().label_sets.iter().all(passes);
        for (word, existing) in bits.unwrap_or(&content.existing()).iter().enumerate() {
            let mut left = *existing;
            if all_pass && left == u64::MAX {
                let first = VertexId::new(chunk, (word * 64) as Slot).0;
                found.extend((first..first + 64).map(VertexId));
                continue;
            }
            while left != 0 {
                let slot = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                if all_pass || content.labels(slot).is_some_and(accepts) {
                    found.push(VertexId::new(chunk, slot as Slot));
                }
            }
        }
        Ok(())
    }
    /// The index over exactly these keys of this target.
    pub fn index_for(&self, target: SchemaTarget, keys: &[KeyId]) -> Option<IndexId> {
        self.catalog().index_for(target, keys)
    }
    pub(crate) fn index(&self, index: IndexId) -> Result<&Arc<Index>, StoreError> {
        let is_shown = self.sight.as_ref().is_none_or(|sight| sight.mask.shows_index(index));
        let found = self.root.indexes.iter().find(|(other, _)| *other == index && is_shown);
        found.map(|(_, index)| index).ok_or(StoreError::NoIndex(index))
    }
    /// Vertices whose indexed keys equal `values` (fewer values than keys: a prefix); exact. Null and NaN equal nothing.
    pub fn seek(&self, index: IndexId, values: &[Value]) -> Result<Vec<VertexId>, StoreError> {
        self.shown_of(self.index(index)?.seek(values)?)
    }
    /// As [`Snapshot::seek`], of an index over edges.
    pub fn seek_edges(&self, index: IndexId, values: &[Value]) -> Result<Vec<EdgeRef>, StoreError> {
        let mut found = self.index(index)?.seek_edges(values)?;
        if self.hides_vertices() {
            let mut shown = Vec::with_capacity(found.len());
            for edge in found {
                if self.shows_edge(edge)? {
                    shown.push(edge);
                }
            }
            found = shown;
        }
        Ok(found)
    }
    /// As [`Snapshot::seek_range`], of an index over edges, from the front alone.
    pub fn seek_edge_range(
        &self,
        index: IndexId,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<EdgeRange, StoreError> {
        Ok(self.index(index)?.edge_range(lower, upper)?.shown_by(self.vertex_test()))
    }
    /// Vertices whose first indexed key lies between the bounds, in index order, from either end; exact. Values that are not
    /// comparable with a bound are not found; without bounds all indexed vertices are.
    pub fn seek_range(
        &self,
        index: IndexId,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<IndexRange, StoreError> {
        Ok(self.index(index)?.range(lower, upper)?.shown_by(self.vertex_test()))
    }
    /// A test whether a vertex is visible, where some are hidden.
    fn vertex_test(&self) -> Option<VertexTest> {
        let snapshot = self.hides_vertices().then(|| self.clone())?;
        Some(Box::new(move |vertex| snapshot.shows(vertex)))
    }
    /// Estimated number of vertices in such a range; reads only memory. None where hidden entries would be counted.
    pub fn estimate_range(&self, index: IndexId, lower: Bound<&Value>, upper: Bound<&Value>) -> Option<f64> {
        if self.sight.as_ref().is_some_and(|sight| !sight.mask.sizes_index(index)) {
            return None;
        }
        Some(self.index(index).ok()?.estimate(lower, upper))
    }
}
