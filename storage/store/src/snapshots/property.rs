//! Reading one property of many entities: the chunk's column is looked up once for each run of ids in the same chunk, and columns are cached where
//! ids jump to and fro between chunks.

use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::chunks::chunk::PartName;
use crate::chunks::column::{PropertyRef, PropertyRun, StoredColumn};
use crate::chunks::delta::{Life, SlotBits, bit, find_property};
use crate::snapshots::collected::questions_for_array;
use crate::snapshots::column_layer::{ColumnLayer, Gathered};
use crate::snapshots::root::Snapshot;
use crate::snapshots::sight::ShownSlots;
use crate::versions::cell::ChunkRef;
use model::{ChunkNo, ColumnBuilder, EdgeId, EdgeTypeId, KeyId, Value, VertexId};
use std::sync::Arc;

/// Appends a borrowed value to a column; text is copied once, into the column.
pub fn push_property(column: &mut ColumnBuilder, value: PropertyRef<'_>) {
    match value {
        PropertyRef::Text(text) => column.push_text(text),
        PropertyRef::Float(float) => column.push_float(float),
        PropertyRef::Int(integer) => column.push_integer(integer),
        other => column.push(other.to_value()),
    }
}

/// Appends values that lie together to a column.
fn push_run(column: &mut ColumnBuilder, run: PropertyRun<'_>) {
    match run {
        PropertyRun::Integers(integers) => match integers.as_slice() {
            Some(slice) => column.extend_integers(slice.iter().copied()),
            None => column.extend_integers(integers.iter()),
        },
        PropertyRun::Floats(floats) => match floats.as_slice() {
            Some(slice) => column.extend_floats(slice.iter().copied()),
            None => column.extend_floats(floats.iter()),
        },
        PropertyRun::Dates(dates) => dates.iter().for_each(|date| column.push(Value::Date(date))),
        PropertyRun::Codes(codes, dictionary) => column.extend_codes(dictionary, codes.iter()),
    }
}

/// Values of a property that are read at once, as many as there are.
pub enum PropertyValues<'a> {
    /// One, or null.
    One(PropertyRef<'a>),
    /// Neighbours in the store, none of them null.
    Run(PropertyRun<'a>),
}

/// Appends values to a column.
pub fn push_values(column: &mut ColumnBuilder, values: PropertyValues<'_>) {
    match values {
        PropertyValues::One(value) => push_property(column, value),
        PropertyValues::Run(run) => push_run(column, run),
    }
}

/// The length of the first run of ids in one chunk, and their values if they can be read as a whole.
type ReadRun<R, I> = for<'r> fn(&'r mut R, &[I]) -> Result<(usize, Option<PropertyRun<'r>>), StoreError>;
/// The value of one.
type ReadOne<R, I> = for<'r> fn(&'r mut R, I) -> Result<PropertyRef<'r>, StoreError>;

/// Shows `visit` the values of all ids in order: in runs where they lie together, with the first id of the run.
fn each<R, I: Copy, E: From<StoreError>>(
    reader: &mut R,
    ids: &[I],
    (run, one): (ReadRun<R, I>, ReadOne<R, I>),
    mut visit: impl FnMut(I, PropertyValues<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut left = ids;
    while let Some(first) = left.first() {
        let (len, values) = run(reader, left)?;
        let (here, behind) = left.split_at(len);
        left = behind;
        match values {
            Some(values) => visit(*first, PropertyValues::Run(values))?,
            None => here.iter().try_for_each(|id| visit(*id, PropertyValues::One(one(reader, *id)?)))?,
        }
    }
    Ok(())
}

/// Do these ids count up one by one, all in one place?
#[inline]
fn in_a_row<I: Copy, P: PartialEq>(ids: &[I], number: impl Fn(I) -> u64, place: impl Fn(I) -> P) -> bool {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return false };
    place(*first) == place(*last)
        && number(*last).wrapping_sub(number(*first)) == ids.len() as u64 - 1
        // Without an early end, many are compared at once.
        && ids.iter().zip(0..).fold(true, |all, (id, at)| all & (number(*id) == number(*first).wrapping_add(at)))
}

/// Changes of chunk from which on columns are cached: readers of a few ids need no cache.
const SWITCHES_MIN: u32 = 16;
/// Columns cached by a reader, a slot for each chunk number modulo this. Each keeps its page in memory while the reader lives, which is for one
/// batch.
const COLUMNS_KEPT: usize = 128;

/// Neighbours in one chunk from which on their column is read as a whole.
const RUN_MIN: usize = 4;

/// Neighbours that are read at once at most in a chunk whose runs end at altered vertices.
const SPLIT_RUN_MAX: usize = 128;

/// Columns that were met before.
struct CachedColumns<C> {
    switches: u32,
    columns: Vec<Option<C>>,
}

impl<C> CachedColumns<C> {
    fn new() -> CachedColumns<C> {
        CachedColumns { switches: 0, columns: Vec::new() }
    }
    /// Caches the current column, and takes the cached column of another chunk, if its slot has that one.
    fn exchange(
        &mut self,
        left: Option<(usize, C)>,
        wanted: usize,
        is_wanted: impl FnOnce(&C) -> bool,
    ) -> Option<C> {
        self.switches += 1;
        if self.switches < SWITCHES_MIN {
            return None;
        }
        if self.columns.is_empty() {
            self.columns.resize_with(COLUMNS_KEPT, || None);
        }
        if let Some((place, column)) = left {
            self.columns[place % COLUMNS_KEPT] = Some(column);
        }
        self.columns[wanted % COLUMNS_KEPT].take().filter(is_wanted)
    }
}

/// Reads one property of vertices, in any order; fastest where neighbours in the order share chunks.
pub struct PropertyReader<'a> {
    snapshot: &'a Snapshot,
    key: KeyId,
    current: Option<VertexColumn<'a>>,
    kept: CachedColumns<VertexColumn<'a>>,
    slots: Vec<u32>,
    /// Where among the vertices of a run those lie that were altered.
    places: Vec<u32>,
    /// The columns of all chunks, once ids have jumped to and fro often.
    layer: Option<Arc<ColumnLayer>>,
    gathered: Gathered,
}

/// The chunk met last, and its column.
struct VertexColumn<'a> {
    number: ChunkNo,
    chunk: ChunkRef<'a>,
    column: Option<Arc<StoredColumn>>,
    shown: ShownSlots<'a>,
    /// Runs end at altered vertices: one had a value of another type, or none.
    is_split: bool,
}

impl<'a> PropertyReader<'a> {
    /// A reader of `key`.
    pub fn new(snapshot: &'a Snapshot, key: KeyId) -> PropertyReader<'a> {
        let (kept, gathered) = (CachedColumns::new(), Gathered::default());
        let (slots, places) = (Vec::new(), Vec::new());
        PropertyReader { snapshot, key, current: None, kept, slots, places, layer: None, gathered }
    }
    /// Shows `visit` the values of these, in order: with its vertex each that is read alone, with the first of them those of a run.
    ///
    /// # Errors
    /// As [`PropertyReader::get`], and those of `visit`.
    pub fn read<E: From<StoreError>>(
        &mut self,
        vertices: &[VertexId],
        visit: impl FnMut(VertexId, PropertyValues<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        each(self, vertices, (Self::run_or_gather, Self::get), visit)
    }
    /// As [`PropertyReader::run`]; where ids jump to and fro, the numbers of the first vertices wherever they lie.
    #[inline]
    fn run_or_gather(
        &mut self,
        vertices: &[VertexId],
    ) -> Result<(usize, Option<PropertyRun<'_>>), StoreError> {
        if self.layer.as_ref().is_some_and(|layer| layer.has_refused()) {
            self.layer = None;
        }
        if self.layer.is_some() && self.gather(vertices)? {
            return Ok((self.gathered.len(), Some(self.gathered.run())));
        }
        self.run(vertices)
    }
    /// Gathers the values that are in the layer; false if there are none, or if these lie in one chunk and are read faster as a run.
    fn gather(&mut self, vertices: &[VertexId]) -> Result<bool, StoreError> {
        let Some(layer) = &self.layer else { return Ok(false) };
        let [first, second, ..] = vertices else { return Ok(false) };
        if first.chunk() == second.chunk() {
            return Ok(false);
        }
        let found = layer.gather(vertices, self.snapshot.chunks(), &mut self.gathered)?;
        Ok(found > 0)
    }
    /// How many of the first vertices lie in one chunk, and their values, if all have one and those that changed since the chunk was written are of
    /// the same type: else each is to be read by itself ([`PropertyReader::get`]). Zero of none, and where a chunk turns out to have others: then it
    /// is to be asked again, and runs end at altered vertices.
    ///
    /// # Errors
    /// As [`PropertyReader::get`].
    #[inline]
    fn run(&mut self, vertices: &[VertexId]) -> Result<(usize, Option<PropertyRun<'_>>), StoreError> {
        let Some(first) = vertices.first() else { return Ok((0, None)) };
        let number = first.0 >> model::id::SLOT_BITS;
        // Where runs end at altered vertices, all that lies behind must not be looked at for each of them.
        let is_split = |current: &VertexColumn<'_>| current.number as u64 == number && current.is_split;
        let looked_at = if self.current.as_ref().is_some_and(is_split) { SPLIT_RUN_MAX } else { usize::MAX };
        let vertices = &vertices[..vertices.len().min(looked_at)];
        let in_a_row = in_a_row(vertices, |vertex| vertex.0, |vertex| vertex.0 >> model::id::SLOT_BITS);
        let in_chunk = |vertex: &&VertexId| vertex.0 >> model::id::SLOT_BITS == number;
        let len = if in_a_row { vertices.len() } else { vertices.iter().take_while(in_chunk).count() };
        if len < RUN_MIN || !self.is_at(*first)? {
            return Ok((len, None));
        }
        let PropertyReader { current: Some(current), slots, places, gathered, key, .. } = self else {
            return Ok((len, None));
        };
        let VertexColumn { chunk, column: Some(column), shown, is_split, .. } = current else {
            return Ok((len, None));
        };
        let all_shown = match shown {
            ShownSlots::All => true,
            ShownSlots::None | ShownSlots::Each => false,
            ShownSlots::Some(bits) => {
                vertices[..len].iter().all(|vertex| bit(bits, usize::from(vertex.slot())))
            }
        };
        if !all_shown {
            return Ok((len, None));
        }
        let slots_of = |len: usize| vertices[..len].iter().map(|vertex| u32::from(vertex.slot()));
        let Some(delta) = chunk.delta().filter(|delta| delta.has_altered()) else {
            return Ok((len, run_at(column, in_a_row, slots_of(len), slots)));
        };
        if !*is_split {
            mark_altered(&delta.altered, &vertices[..len], in_a_row, places);
            // An altered vertex may well have this value still.
            let mut changes = places.iter().filter_map(|at| {
                let vertex = delta.vertex(usize::from(vertices[*at as usize].slot()))?;
                let is_here = vertex.life == Life::AsBase;
                let value = if is_here { vertex.property(*key)?.into() } else { PropertyRef::Null };
                Some((*at as usize, value))
            });
            return Ok(match changes.next() {
                None => (len, run_at(column, in_a_row, slots_of(len), slots)),
                Some(change) => {
                    let is_patched = run_at(column, in_a_row, slots_of(len), slots).is_some_and(|run| {
                        gathered.overwrite(run);
                        std::iter::once(change).chain(changes).all(|(at, value)| gathered.patch(at, value))
                    });
                    *is_split = !is_patched;
                    if is_patched { (len, Some(gathered.run())) } else { (0, None) }
                }
            });
        }
        match run_between(&delta.altered, &vertices[..len]) {
            Ok(len) => Ok((len, run_at(column, in_a_row, slots_of(len), slots))),
            Err(single) => Ok((single, None)),
        }
    }
    /// The property of `vertex`; null if either is missing.
    ///
    /// # Errors
    /// The chunk cannot be read.
    #[inline]
    pub fn get(&mut self, vertex: VertexId) -> Result<PropertyRef<'_>, StoreError> {
        let chunks = self.snapshot.chunks();
        if self.layer.as_ref().map_or(Ok(false), |layer| layer.has(vertex, chunks))? {
            let known = self.layer.as_ref().map_or(Ok(None), |layer| layer.get(vertex, chunks))?;
            return Ok(known.unwrap_or(PropertyRef::Null));
        }
        if !self.is_at(vertex)? {
            return Ok(PropertyRef::Null);
        }
        let Some(current) = &self.current else { return Ok(PropertyRef::Null) };
        let slot = usize::from(vertex.slot());
        // A vertex that is hidden shows no property, so it need not be looked for.
        let is_shown = match current.shown {
            ShownSlots::All => true,
            ShownSlots::None => false,
            ShownSlots::Some(bits) => bit(bits, slot),
            ShownSlots::Each => self.snapshot.shows_property_at(&current.chunk, slot, self.key),
        };
        if !is_shown {
            return Ok(PropertyRef::Null);
        }
        Ok(current.chunk.property_in(slot, self.key, current.column.as_deref()))
    }
    /// Changes of chunk after which the columns of all chunks are collected: many, in total and relative to the chunks.
    fn switches_for_layer(&self) -> u32 {
        SWITCHES_MIN.max(questions_for_array(self.snapshot.root.directory.bound()))
    }
    /// Makes the chunk of `vertex` the current one; false if there is none.
    #[inline]
    fn is_at(&mut self, vertex: VertexId) -> Result<bool, StoreError> {
        let number = vertex.0 >> model::id::SLOT_BITS;
        if self.current.as_ref().is_none_or(|current| current.number as u64 != number) {
            let left = self.current.take().map(|current| (current.number as usize, current));
            let is_wanted = |column: &VertexColumn<'_>| column.number as u64 == number;
            self.current = self.kept.exchange(left, number as usize, is_wanted);
            if self.layer.is_none() && self.kept.switches == self.switches_for_layer() {
                self.layer = self.snapshot.column_layer(self.key);
            }
            if self.current.is_none() {
                let Some((chunk, _)) = self.snapshot.locate(vertex, PartName::Column(self.key))? else {
                    return Ok(false);
                };
                let column = chunk.base().column(self.key).cloned();
                let shown = self.snapshot.shown_properties(&chunk, vertex.chunk(), self.key)?;
                let (number, is_split) = (vertex.chunk(), false);
                self.current = Some(VertexColumn { number, chunk, column, shown, is_split });
            }
        }
        Ok(true)
    }
}

/// The values of a column at these slots, if all have one; `kept` is overwritten.
#[inline]
fn run_at<'r>(
    column: &'r StoredColumn,
    in_a_row: bool,
    slots: impl ExactSizeIterator<Item = u32>,
    kept: &'r mut Vec<u32>,
) -> Option<PropertyRun<'r>> {
    let (len, mut slots) = (slots.len(), slots);
    if in_a_row {
        return column.range(slots.next()?, len);
    }
    kept.clear();
    kept.extend(slots);
    column.run(kept)
}

/// Lists where among vertices of one chunk the altered ones lie.
#[inline]
fn mark_altered(altered: &SlotBits, vertices: &[VertexId], in_a_row: bool, places: &mut Vec<u32>) {
    places.clear();
    if !in_a_row {
        let is_altered = |at: &u32| bit(altered, vertices[*at as usize].slot().into());
        return places.extend((0..vertices.len() as u32).filter(is_altered));
    }
    let Some(first) = vertices.first().map(|first| usize::from(first.slot())) else { return };
    let end = first + vertices.len();
    for (word, bits) in altered.iter().enumerate().take(end.div_ceil(64)).skip(first / 64) {
        let mut left = *bits;
        while left != 0 {
            let slot = word * 64 + left.trailing_zeros() as usize;
            left &= left - 1;
            if (first..end).contains(&slot) {
                places.push((slot - first) as u32);
            }
        }
    }
}

/// How many of the first vertices are not altered; or, where the first run of those is too short, behind how many the next one begins.
fn run_between(altered: &SlotBits, vertices: &[VertexId]) -> Result<usize, usize> {
    let mut unaltered = 0;
    for (at, vertex) in vertices.iter().enumerate() {
        let is_altered = bit(altered, vertex.slot().into());
        if is_altered && unaltered == at && at >= RUN_MIN {
            return Ok(at);
        }
        unaltered = if is_altered { 0 } else { unaltered + 1 };
        if unaltered == RUN_MIN && at >= RUN_MIN {
            return Err(at + 1 - RUN_MIN);
        }
    }
    if unaltered == vertices.len() { Ok(unaltered) } else { Err(vertices.len()) }
}

/// Reads one property of edges, in any order.
pub struct EdgePropertyReader<'a> {
    snapshot: &'a Snapshot,
    key: KeyId,
    current: Option<EdgeColumn<'a>>,
    kept: CachedColumns<EdgeColumn<'a>>,
    slots: Vec<u32>,
    gathered: Gathered,
}

/// The chunk and type met last, and their column.
struct EdgeColumn<'a> {
    number: ChunkNo,
    edge_type: EdgeTypeId,
    chunk: ChunkRef<'a>,
    column: Option<Arc<StoredColumn>>,
    is_shown: bool,
}

impl<'a> EdgePropertyReader<'a> {
    /// A reader of `key`.
    pub fn new(snapshot: &'a Snapshot, key: KeyId) -> EdgePropertyReader<'a> {
        let (kept, gathered) = (CachedColumns::new(), Gathered::default());
        EdgePropertyReader { snapshot, key, current: None, kept, slots: Vec::new(), gathered }
    }
    /// Shows `visit` the values of these, in order: with its edge each that is read alone, with the first of them those of a run.
    ///
    /// # Errors
    /// As [`EdgePropertyReader::get`], and those of `visit`.
    pub fn read<E: From<StoreError>>(
        &mut self,
        edges: &[EdgeId],
        visit: impl FnMut(EdgeId, PropertyValues<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        each(self, edges, (Self::run, Self::get), visit)
    }
    /// How many of the first edges are of one type and lie in one chunk, and their values, as [`PropertyReader::run`].
    ///
    /// # Errors
    /// As [`EdgePropertyReader::get`].
    #[inline]
    fn run(&mut self, edges: &[EdgeId]) -> Result<(usize, Option<PropertyRun<'_>>), StoreError> {
        let Some(first) = edges.first() else { return Ok((0, None)) };
        let place = (first.chunk(), first.edge_type());
        let in_a_row = in_a_row(edges, |edge| edge.0, |edge| (edge.chunk(), edge.edge_type()));
        let in_place = |edge: &&EdgeId| (edge.chunk(), edge.edge_type()) == place;
        let len = if in_a_row { edges.len() } else { edges.iter().take_while(in_place).count() };
        if len < RUN_MIN || !self.is_at(*first)? {
            return Ok((len, None));
        }
        let Some(EdgeColumn { chunk, column: Some(column), is_shown: true, .. }) = &self.current else {
            return Ok((len, None));
        };
        let run = run_at(column, in_a_row, edges[..len].iter().map(|edge| edge.slot()), &mut self.slots);
        let is_clean = chunk.delta().is_none_or(|delta| delta.edge_properties.is_empty());
        let (Some(whole), false) = (run, is_clean) else { return Ok((len, run)) };
        let mut changes = edges[..len].iter().enumerate().filter_map(|(at, edge)| {
            let overrides = chunk.edge_overrides(edge.edge_type(), edge.slot())?;
            Some((at, PropertyRef::from(find_property(overrides, self.key)?)))
        });
        let Some(change) = changes.next() else { return Ok((len, run)) };
        self.gathered.overwrite(whole);
        let is_patched =
            std::iter::once(change).chain(changes).all(|(at, value)| self.gathered.patch(at, value));
        Ok((len, is_patched.then(|| self.gathered.run())))
    }
    /// The property of `edge`; null if it is absent.
    ///
    /// # Errors
    /// The chunk cannot be read.
    #[inline]
    pub fn get(&mut self, edge: EdgeId) -> Result<PropertyRef<'_>, StoreError> {
        if !self.is_at(edge)? {
            return Ok(PropertyRef::Null);
        }
        let Some(current) = &self.current else { return Ok(PropertyRef::Null) };
        if !current.is_shown {
            return Ok(PropertyRef::Null);
        }
        Ok(current.chunk.edge_property_in(edge.edge_type(), edge.slot(), self.key, current.column.as_deref()))
    }
    /// Makes the chunk and type of `edge` the current ones; false if there is no such chunk.
    #[inline]
    fn is_at(&mut self, edge: EdgeId) -> Result<bool, StoreError> {
        let (number, edge_type) = (edge.chunk(), edge.edge_type());
        let is_current =
            |current: &EdgeColumn<'_>| current.number == number && current.edge_type == edge_type;
        if !self.current.as_ref().is_some_and(is_current) {
            let left = self.current.take().map(|current| (current.number as usize, current));
            self.current = self.kept.exchange(left, number as usize, is_current);
            if self.current.is_none() {
                let Some(chunk) =
                    self.snapshot.chunk_part(number, PartName::EdgeColumn(edge_type, self.key))?
                else {
                    return Ok(false);
                };
                let column = chunk.base().edge_column(edge_type, self.key).cloned();
                let is_shown = self.snapshot.shows_edge_property(edge, self.key);
                self.current = Some(EdgeColumn { number, edge_type, chunk, column, is_shown });
            }
        }
        Ok(true)
    }
}
