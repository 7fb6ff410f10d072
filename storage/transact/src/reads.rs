//! Read sets: the keys that no other commit may have written since the transaction's snapshot.
//!
//! Idea: a read is recorded as one or two 64-bit keys (a vertex, the adjacency of a vertex under a type, the members of a label, a range of an
//! index), and a commit writes the keys it changes. Two transactions conflict when one read a key that the other wrote. Predicates are keys too (a
//! label's membership, an index range), so phantoms are caught. Keys are hashed, so two different keys may collide: that costs a retry in 2^-60 cases
//! and never an anomaly.
//! Invariant: a key is recorded before or together with the read it stands for. Cost: one hash insert a read, in batches.

use model::compare::{OrderKey, hash_value};
use model::schema::IndexId;
use model::{Direction, EdgeTypeId, LabelId, Value, VertexId};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Bound;

/// Keys a read set holds before it stands for "everything": bounds the memory of a transaction's bookkeeping to about 16 MiB.
pub const READ_KEYS_MAX: usize = 1 << 20;
/// Index ranges a read set holds before it stands for "everything".
pub const READ_RANGES_MAX: usize = 1 << 14;

/// One key, as 64 bits: a hash, with the kind in its middle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Key(u64);

/// Where the kind stands in a key.
const KIND_SHIFT: u32 = 32;

#[derive(Clone, Copy)]
enum Kind {
    Existence = 1,
    Vertex,
    Adjacency,
    Pair,
    Edge,
    Label,
    Relabelled,
    Catalogue,
    Index,
    IndexValue,
    Entries,
}

impl Key {
    fn of(kind: Kind, a: u64, b: u64) -> Key {
        let mut hash = foldhash::quality::FixedState::default().build();
        hash.write_u64(kind as u64);
        hash.write_u64(a);
        hash.write_u64(b);
        // Tables look at the ends of a hash, so the kind does not make them uneven.
        Key(hash.finish() & !(0xf << KIND_SHIFT) | (kind as u64) << KIND_SHIFT)
    }
    /// Which kinds of things these are, one bit for each.
    pub(crate) fn kinds<'k>(keys: impl IntoIterator<Item = &'k Key>) -> u16 {
        keys.into_iter().fold(0, |kinds, key| kinds | 1 << (key.0 >> KIND_SHIFT & 0xf))
    }
    pub(crate) fn existence(vertex: VertexId) -> Key {
        Key::of(Kind::Existence, vertex.0, 0)
    }
    pub(crate) fn vertex(vertex: VertexId) -> Key {
        Key::of(Kind::Vertex, vertex.0, 0)
    }
    /// `None` stands for all types.
    pub(crate) fn adjacency(vertex: VertexId, edge_type: Option<EdgeTypeId>, outgoing: bool) -> Key {
        let edge_type = edge_type.map_or(u64::MAX, |edge_type| edge_type.0 as u64);
        Key::of(Kind::Adjacency, vertex.0 << 1 | outgoing as u64, edge_type)
    }
    pub(crate) fn pair(source: VertexId, target: VertexId) -> Key {
        Key::of(Kind::Pair, source.0, target.0)
    }
    pub(crate) fn edge(edge: u64) -> Key {
        Key::of(Kind::Edge, edge, 0)
    }
    /// `None` stands for all vertices.
    pub(crate) fn label(label: Option<LabelId>) -> Key {
        Key::of(Kind::Label, label.map_or(u64::MAX, |label| label.0 as u64), 0)
    }
    /// A vertex that lived on gained or lost the label.
    pub(crate) fn relabelled(label: LabelId) -> Key {
        Key::of(Kind::Relabelled, label.0 as u64, 0)
    }
    pub(crate) fn catalogue() -> Key {
        Key::of(Kind::Catalogue, 0, 0)
    }
    /// All values of an index.
    pub(crate) fn index(index: IndexId) -> Key {
        Key::of(Kind::Index, index.0 as u64, 0)
    }
    /// Entries of an index with this leading value. Equal values have equal keys.
    pub(crate) fn index_value(index: IndexId, leading: &Value) -> Key {
        let mut hash = foldhash::quality::FixedState::default().build();
        hash_value(leading, &mut hash);
        Key::of(Kind::IndexValue, index.0 as u64, hash.finish())
    }
    /// The entries of the interfaces in the catalogue.
    pub(crate) fn entries() -> Key {
        Key::of(Kind::Entries, 0, 0)
    }
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

trait FixedBuild {
    fn build(&self) -> foldhash::quality::FoldHasher<'static>;
}
impl FixedBuild for foldhash::quality::FixedState {
    fn build(&self) -> foldhash::quality::FoldHasher<'static> {
        std::hash::BuildHasher::build_hasher(self)
    }
}

/// Keys are hashes already.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);
impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ *byte as u64);
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}
pub(crate) type KeyState = BuildHasherDefault<KeyHasher>;

/// A range of an index by its leading value.
#[derive(Clone, Debug)]
pub(crate) struct IndexRange {
    pub index: IndexId,
    pub lower: Bound<OrderKey>,
    pub upper: Bound<OrderKey>,
}

impl IndexRange {
    /// As one key: a single value, or all of the index.
    pub(crate) fn key(&self) -> Key {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) if lower == upper => {
                Key::index_value(self.index, &lower.0)
            }
            _ => Key::index(self.index),
        }
    }
}

/// The read set of a transaction. All methods take `&self`: operators on several threads record into one set.
#[derive(Debug, Default)]
pub struct ReadSet {
    inner: Mutex<Inner>,
    /// Keys it holds before it stands for everything, where that is not [`READ_KEYS_MAX`].
    keys_max: Option<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub keys: HashSet<Key, KeyState>,
    pub ranges: Vec<IndexRange>,
    pub everything: bool,
}

impl ReadSet {
    /// A set that beyond `keys_max` keys stands for everything.
    pub fn within(keys_max: usize) -> ReadSet {
        ReadSet { keys_max: Some(keys_max), ..ReadSet::default() }
    }
    /// The vertex's labels and properties were read.
    pub fn vertex(&self, vertex: VertexId) {
        self.extend([Key::vertex(vertex)]);
    }
    /// Labels and properties of all these vertices were read.
    pub fn vertices(&self, vertices: impl IntoIterator<Item = VertexId>) {
        self.extend(vertices.into_iter().map(Key::vertex));
    }
    /// It was learnt whether the vertex exists, and nothing else.
    pub fn existence(&self, vertex: VertexId) {
        self.extend([Key::existence(vertex)]);
    }
    /// The edge's properties were read.
    pub fn edge(&self, edge: model::EdgeId) {
        self.extend([Key::edge(edge.0)]);
    }
    /// Properties of all these edges were read.
    pub fn edges(&self, edges: impl IntoIterator<Item = model::EdgeId>) {
        self.extend(edges.into_iter().map(|edge| Key::edge(edge.0)));
    }
    /// The neighbours of a vertex were read; empty `types` means all types.
    pub fn adjacency(&self, vertex: VertexId, types: &[EdgeTypeId], direction: Direction) {
        self.adjacencies([vertex], types, direction);
    }
    /// The neighbours of all these vertices were read; empty `types` means all types.
    pub fn adjacencies(
        &self,
        vertices: impl IntoIterator<Item = VertexId>,
        types: &[EdgeTypeId],
        direction: Direction,
    ) {
        let sides: &[bool] = match direction {
            Direction::Out => &[true],
            Direction::In => &[false],
            Direction::Both => &[true, false],
        };
        self.extend(vertices.into_iter().flat_map(|vertex| {
            sides.iter().flat_map(move |side| {
                let any = types.is_empty().then_some(None);
                let types = any.into_iter().chain(types.iter().copied().map(Some));
                types.map(move |edge_type| Key::adjacency(vertex, edge_type, *side))
            })
        }));
    }
    /// The edges from `source` to `target` were read (of any type), and no others of either vertex.
    pub fn edges_between(&self, source: VertexId, target: VertexId) {
        self.extend([Key::pair(source, target)]);
    }
    /// All vertices with this label were enumerated; `None` for all vertices.
    pub fn scan(&self, label: Option<LabelId>) {
        self.extend([Key::label(label)]);
    }
    /// Vertices reached by their edges were tested for these labels: whether one is born or dies shows in its edges, so only
    /// a change of labels remains.
    pub fn labels_tested(&self, labels: impl IntoIterator<Item = LabelId>) {
        self.extend(labels.into_iter().map(Key::relabelled));
    }
    /// The index was searched for this leading value.
    pub fn index_equal(&self, index: IndexId, value: &Value) {
        let key = OrderKey(value.clone());
        self.range(IndexRange { index, lower: Bound::Included(key.clone()), upper: Bound::Included(key) });
    }
    /// The index was searched for leading values between bounds.
    pub fn index_range(&self, index: IndexId, lower: Bound<Value>, upper: Bound<Value>) {
        self.range(IndexRange { index, lower: lower.map(OrderKey), upper: upper.map(OrderKey) });
    }
    /// Labels, types, keys of properties, indexes or constraints were listed, or one of them was looked for in vain.
    pub fn catalogue(&self) {
        self.extend([Key::catalogue()]);
    }
    /// The entries of the interfaces in the catalogue were read: users and their rights, say.
    pub fn entries(&self) {
        self.extend([Key::entries()]);
    }
    /// Data was read that any commit may change, such as the number of all edges.
    pub fn everything(&self) {
        *self.inner.lock() = Inner { everything: true, ..Inner::default() };
    }
    /// Number of keys and ranges recorded.
    pub fn len(&self) -> usize {
        let inner = self.inner.lock();
        inner.keys.len() + inner.ranges.len()
    }
    /// Does it stand for everything?
    pub fn is_everything(&self) -> bool {
        self.inner.lock().everything
    }
    /// Was nothing recorded?
    pub fn is_empty(&self) -> bool {
        let inner = self.inner.lock();
        !inner.everything && inner.keys.is_empty() && inner.ranges.is_empty()
    }
    pub(crate) fn take(&self) -> Inner {
        std::mem::take(&mut *self.inner.lock())
    }
    pub(crate) fn extend(&self, keys: impl IntoIterator<Item = Key>) {
        let mut inner = self.inner.lock();
        if !inner.everything {
            inner.keys.extend(keys);
            inner.overflow(self.keys_max);
        }
    }
    fn range(&self, range: IndexRange) {
        let mut inner = self.inner.lock();
        if !inner.everything {
            inner.ranges.push(range);
            inner.overflow(self.keys_max);
        }
    }
}

impl Inner {
    fn overflow(&mut self, keys_max: Option<usize>) {
        if self.keys.len() > keys_max.unwrap_or(READ_KEYS_MAX) || self.ranges.len() > READ_RANGES_MAX {
            *self = Inner { everything: true, ..Inner::default() };
        }
    }
}
