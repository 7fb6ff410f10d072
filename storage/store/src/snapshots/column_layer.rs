//! The columns of one property key over all chunks, as a flat array over chunk numbers: for readers of vertices that come in no order.
//!
//! A reader that goes from chunk to chunk with each vertex spends more on finding the column than on reading it. So after many such reads the columns
//! are collected on demand, and cached by the snapshot, as lists are (see `layer`). Each keeps its page in memory; where the pager refuses a pin, all
//! readers of the snapshot go through the directory from then on. A layer ignores restrictions: restricted readers have none.
//!
//! Cost: two loads from a vertex to a number. The array has some seventy bytes a chunk.

use crate::StoreError;
use crate::chunks::chunk::Base;
use crate::chunks::chunk::PartName;
use crate::chunks::column::{
    DICTIONARY_BYTES_READ_MAX, Data, Picked, Presence, PropertyRef, PropertyRun, StoredColumn,
};
use crate::chunks::delta::{Delta, bit};
use crate::paging::page::Pin;
use crate::paging::pager::Charge;
use crate::snapshots::collected::split;
use crate::versions::cell::PIN_ROOM_MIN;
use crate::versions::directory::Chunks;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::column::Texts;
use model::temporal::Date;
use model::{ChunkNo, KeyId, VertexId};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Requests for texts before the dictionaries are merged: that costs a look-up for each text of each chunk.
const QUESTIONS_FOR_CODES: u32 = 4_096;

/// All columns of one key.
pub(crate) struct ColumnLayer {
    key: KeyId,
    cells: Box<[OnceLock<ColumnView>]>,
    texts: Mutex<CommonTexts>,
    /// Requests for texts.
    questions: AtomicU32,
    has_refused: AtomicBool,
    charge: Charge,
}

/// The texts of all chunks' dictionaries met so far, each once: codes of one dictionary serve readers of any chunk.
#[derive(Default)]
struct CommonTexts {
    numbers: HashMap<Box<str>, u16, FixedState>,
    /// Immutable: with new texts it is made anew.
    dictionary: Arc<Texts>,
}

impl CommonTexts {
    /// The common codes of a chunk's dictionary; none where all would be too many.
    fn codes_of(&mut self, own: &Texts) -> Option<Box<[u16]>> {
        let new = |at: &usize| !self.numbers.contains_key(own.get(*at));
        let new: Vec<usize> = (0..own.len()).filter(new).collect();
        let new_bytes: usize = new.iter().map(|at| own.get(*at).len()).sum();
        if self.dictionary.bytes() + new_bytes + new.len() * size_of::<u32>() > DICTIONARY_BYTES_READ_MAX {
            return None;
        }
        if !new.is_empty() {
            let mut texts = Texts::clone(&self.dictionary);
            for at in new {
                self.numbers.insert(own.get(at).into(), texts.len() as u16);
                texts.push(own.get(at));
            }
            self.dictionary = Arc::new(texts);
        }
        Some((0..own.len()).map(|at| self.numbers[own.get(at)]).collect())
    }
}

/// The column of one version of a chunk.
struct ColumnView {
    numbers: DirectValues,
    column: Option<Arc<StoredColumn>>,
    /// The delta, where it changes anything but lists of vertices: the changed vertices are not read here.
    changed: Option<Arc<Delta>>,
    /// None where the chunk has no such column.
    _pin: Option<Pin<Base>>,
}

/// A column of numbers that all vertices have, none of them changed: read directly.
enum DirectValues {
    Integers(Arc<[i64]>),
    Floats(Arc<[f64]>),
    Dates(Arc<[Date]>),
    /// Codes of the chunk's dictionary, mapped to those of the common one after enough requests. The values lie in the column.
    Codes(OnceLock<Option<Box<[u16]>>>),
    /// None of these.
    None,
}

impl ColumnView {
    fn new(
        column: Option<Arc<StoredColumn>>,
        changed: Option<Arc<Delta>>,
        pin: Option<Pin<Base>>,
    ) -> ColumnView {
        let plain = column.as_ref().filter(|_| changed.is_none());
        let numbers = match plain.map(|column| (&column.presence, &column.data)) {
            Some((Presence::All(_), Data::Int(values))) => DirectValues::Integers(values.clone()),
            Some((Presence::All(_), Data::Float(values))) => DirectValues::Floats(values.clone()),
            Some((Presence::All(_), Data::Date(values))) => DirectValues::Dates(values.clone()),
            Some((Presence::All(_), Data::Codes(..))) => DirectValues::Codes(OnceLock::new()),
            _ => DirectValues::None,
        };
        ColumnView { numbers, column, changed, _pin: pin }
    }
    /// The column, if its value for this slot is current.
    #[inline]
    fn column_at(&self, slot: usize) -> Option<&StoredColumn> {
        match &self.changed {
            Some(delta) if bit(&delta.altered, slot) => None,
            _ => self.column.as_deref(),
        }
    }
    /// A value of a column that is not read directly, if it is of the type that is wanted.
    #[inline]
    fn other<T>(&self, slot: usize, wanted: impl FnOnce(PropertyRef<'_>) -> Option<T>) -> Option<T> {
        match &self.numbers {
            DirectValues::None => wanted(self.column_at(slot)?.get(slot as u32)),
            _ => None,
        }
    }
    #[inline]
    fn integer(&self, slot: usize) -> Option<i64> {
        let wanted =
            |value: PropertyRef<'_>| if let PropertyRef::Int(int) = value { Some(int) } else { None };
        match &self.numbers {
            DirectValues::Integers(values) => values.get(slot).copied(),
            _ => self.other(slot, wanted),
        }
    }
    #[inline]
    fn float(&self, slot: usize) -> Option<f64> {
        let wanted =
            |value: PropertyRef<'_>| if let PropertyRef::Float(float) = value { Some(float) } else { None };
        match &self.numbers {
            DirectValues::Floats(values) => values.get(slot).copied(),
            _ => self.other(slot, wanted),
        }
    }
    #[inline]
    fn date(&self, slot: usize) -> Option<Date> {
        let wanted =
            |value: PropertyRef<'_>| if let PropertyRef::Date(date) = value { Some(date) } else { None };
        match &self.numbers {
            DirectValues::Dates(values) => values.get(slot).copied(),
            _ => self.other(slot, wanted),
        }
    }
}

impl ColumnView {
    #[inline]
    fn is_coded(&self) -> bool {
        matches!(self.numbers, DirectValues::Codes(_))
    }
    /// A code of the common dictionary.
    #[inline]
    fn code(&self, slot: usize, layer: &ColumnLayer) -> Option<u16> {
        match (&self.numbers, self.column.as_deref().map(|column| &column.data)) {
            (DirectValues::Codes(common), Some(Data::Codes(codes, own))) => {
                let common = common.get_or_init(|| layer.common_codes(own)).as_deref()?;
                Some(common[*codes.get(slot)? as usize])
            }
            _ => None,
        }
    }
}

/// Values of a property of vertices in any order, as many as are of one type and present.
#[derive(Debug)]
pub(crate) enum Gathered {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Dates(Vec<Date>),
    Codes(Vec<u16>, Arc<Texts>),
}

impl Default for Gathered {
    fn default() -> Gathered {
        Gathered::Integers(Vec::new())
    }
}

/// Texts of a dictionary among which one is looked for.
const TEXTS_LOOKED_AT_MAX: usize = 64;

impl Gathered {
    /// Takes the values of a run.
    pub(crate) fn overwrite(&mut self, run: PropertyRun<'_>) {
        *self = match run {
            PropertyRun::Integers(run) => {
                let mut values = self.take_integers();
                run.append_to(&mut values);
                Gathered::Integers(values)
            }
            PropertyRun::Floats(run) => {
                let mut values = self.take_floats();
                run.append_to(&mut values);
                Gathered::Floats(values)
            }
            PropertyRun::Dates(run) => Gathered::Dates(run.iter().collect()),
            PropertyRun::Codes(run, texts) => Gathered::Codes(run.iter().collect(), texts.clone()),
        };
    }
    /// Replaces the value at a position; false, and nothing is changed, where it is of another type.
    pub(crate) fn patch(&mut self, at: usize, value: PropertyRef<'_>) -> bool {
        match (self, value) {
            (Gathered::Integers(values), PropertyRef::Int(value)) => values[at] = value,
            (Gathered::Floats(values), PropertyRef::Float(value)) => values[at] = value,
            (Gathered::Dates(values), PropertyRef::Date(value)) => values[at] = value,
            (Gathered::Codes(codes, texts), PropertyRef::Text(value)) => {
                let mut known = 0..texts.len().min(TEXTS_LOOKED_AT_MAX);
                let Some(code) = known.find(|code| texts.get(*code) == value) else { return false };
                codes[at] = code as u16;
            }
            _ => return false,
        }
        true
    }
    /// The values.
    pub(crate) fn run(&self) -> PropertyRun<'_> {
        match self {
            Gathered::Integers(values) => PropertyRun::Integers(Picked::all(values)),
            Gathered::Floats(values) => PropertyRun::Floats(Picked::all(values)),
            Gathered::Dates(values) => PropertyRun::Dates(Picked::all(values)),
            Gathered::Codes(codes, texts) => PropertyRun::Codes(Picked::all(codes), texts),
        }
    }
    pub(crate) fn len(&self) -> usize {
        match self {
            Gathered::Integers(values) => values.len(),
            Gathered::Floats(values) => values.len(),
            Gathered::Dates(values) => values.len(),
            Gathered::Codes(values, _) => values.len(),
        }
    }
    /// An empty list, with the capacity of the last if it is of this type.
    fn take_integers(&mut self) -> Vec<i64> {
        let mut values =
            if let Gathered::Integers(values) = self { std::mem::take(values) } else { Vec::new() };
        values.clear();
        values
    }
    fn take_floats(&mut self) -> Vec<f64> {
        let mut values =
            if let Gathered::Floats(values) = self { std::mem::take(values) } else { Vec::new() };
        values.clear();
        values
    }
}

impl ColumnLayer {
    pub(crate) fn new(key: KeyId, bound: ChunkNo, chunks: Chunks<'_>) -> ColumnLayer {
        let cells: Box<[OnceLock<ColumnView>]> = (0..bound).map(|_| OnceLock::new()).collect();
        let charge = Charge::new(chunks.pager, size_of_val(&*cells));
        let (questions, has_refused) = (AtomicU32::new(0), AtomicBool::new(false));
        ColumnLayer { key, cells, texts: Mutex::default(), questions, has_refused, charge }
    }
    /// One that pins nothing, in the place of one whose pin was refused.
    pub(crate) fn refused(key: KeyId, chunks: Chunks<'_>) -> ColumnLayer {
        ColumnLayer { has_refused: AtomicBool::new(true), ..ColumnLayer::new(key, 0, chunks) }
    }
    pub(crate) fn key(&self) -> KeyId {
        self.key
    }
    /// Was a pin refused? Then readers go through the directory, and keep the columns they met last.
    #[inline]
    pub(crate) fn has_refused(&self) -> bool {
        self.has_refused.load(Ordering::Relaxed)
    }
    #[inline]
    fn view(&self, chunk: usize, chunks: Chunks<'_>) -> Result<Option<&ColumnView>, StoreError> {
        match self.cells.get(chunk).and_then(OnceLock::get) {
            Some(view) => Ok(Some(view)),
            None => self.collect(chunk, chunks),
        }
    }
    #[inline(never)]
    fn collect(&self, chunk: usize, chunks: Chunks<'_>) -> Result<Option<&ColumnView>, StoreError> {
        let Some(cell) = chunks.directory.get(chunk as ChunkNo) else {
            return Ok(None);
        };
        let name = PartName::Column(self.key);
        let pinned = if chunks.pager.may_pin(PIN_ROOM_MIN) { cell.pin_part(name)? } else { None };
        let Some((pin, base)) = pinned else {
            self.has_refused.store(true, Ordering::Relaxed);
            return Ok(None);
        };
        let column = base.shared().column(self.key).cloned();
        let changed = cell.delta().filter(|delta| delta.has_altered()).cloned();
        let Some(place) = self.cells.get(chunk) else { return Ok(None) };
        Ok(Some(place.get_or_init(|| ColumnView::new(column, changed, pin))))
    }
    /// Does [`ColumnLayer::get`] know the property of this vertex?
    #[inline]
    pub(crate) fn has(&self, vertex: VertexId, chunks: Chunks<'_>) -> Result<bool, StoreError> {
        Ok(self.column_of(vertex, chunks)?.is_some())
    }
    /// Were there enough requests for codes of texts? Counts this one.
    fn is_worth_codes(&self) -> bool {
        let known = self.questions.load(Ordering::Relaxed);
        known >= QUESTIONS_FOR_CODES || self.questions.fetch_add(1, Ordering::Relaxed) >= QUESTIONS_FOR_CODES
    }
    /// The codes of the common dictionary for those of a chunk's own.
    fn common_codes(&self, own: &Texts) -> Option<Box<[u16]>> {
        let codes = self.texts.lock().codes_of(own);
        self.charge.add(codes.as_deref().map_or(0, size_of_val));
        codes
    }
    /// The property of a vertex; none where it must be read another way.
    #[inline]
    pub(crate) fn get(
        &self,
        vertex: VertexId,
        chunks: Chunks<'_>,
    ) -> Result<Option<PropertyRef<'_>>, StoreError> {
        Ok(self.column_of(vertex, chunks)?.map(|(column, slot)| column.get(slot)))
    }
    /// The numbers of the first of these vertices: up to the first that has none or one of another type, or that must be read another way. Returns
    /// how many; `gathered` is overwritten.
    pub(crate) fn gather(
        &self,
        vertices: &[VertexId],
        chunks: Chunks<'_>,
        gathered: &mut Gathered,
    ) -> Result<usize, StoreError> {
        let Some((chunk, slot)) = vertices.first().and_then(|first| place_of(*first)) else { return Ok(0) };
        let Some(first) = self.view(chunk, chunks)? else { return Ok(0) };
        if first.integer(slot).is_some() {
            let mut values = gathered.take_integers();
            self.gather_of(vertices, chunks, &mut values, ColumnView::integer)?;
            *gathered = Gathered::Integers(values);
        } else if first.float(slot).is_some() {
            let mut values = gathered.take_floats();
            self.gather_of(vertices, chunks, &mut values, ColumnView::float)?;
            *gathered = Gathered::Floats(values);
        } else if first.date(slot).is_some() {
            let mut values = Vec::new();
            self.gather_of(vertices, chunks, &mut values, ColumnView::date)?;
            *gathered = Gathered::Dates(values);
        } else if first.is_coded() && self.is_worth_codes() && first.code(slot, self).is_some() {
            let mut codes = Vec::new();
            self.gather_of(vertices, chunks, &mut codes, |view, slot| view.code(slot, self))?;
            // It has all texts that had a code until now.
            *gathered = Gathered::Codes(codes, self.texts.lock().dictionary.clone());
        } else {
            return Ok(0);
        }
        Ok(gathered.len())
    }
    #[inline]
    fn gather_of<T: Copy>(
        &self,
        vertices: &[VertexId],
        chunks: Chunks<'_>,
        found: &mut Vec<T>,
        value: impl Fn(&ColumnView, usize) -> Option<T>,
    ) -> Result<(), StoreError> {
        found.reserve(vertices.len());
        for vertex in vertices {
            let Some((chunk, slot)) = place_of(*vertex) else { break };
            let Some(view) = self.view(chunk, chunks)? else { break };
            let Some(value) = value(view, slot) else { break };
            found.push(value);
        }
        Ok(())
    }
    #[inline]
    fn column_of(
        &self,
        vertex: VertexId,
        chunks: Chunks<'_>,
    ) -> Result<Option<(&StoredColumn, u32)>, StoreError> {
        let Some((chunk, slot)) = place_of(vertex) else { return Ok(None) };
        let view = self.view(chunk, chunks)?;
        Ok(view.and_then(|view| view.column_at(slot)).map(|column| (column, slot as u32)))
    }
}

/// Chunk and slot of a vertex; none where no vertex could be.
#[inline]
fn place_of(vertex: VertexId) -> Option<(usize, usize)> {
    u32::try_from(vertex.0).ok().map(split)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::disallowed_types)]
    use crate::snapshots::property::PropertyReader;
    use crate::{Change, Names, Snapshot, StoreError, StoreOptions, push_values};
    use model::temporal::Date;
    use model::{ColumnBuilder, KeyId, LabelSetId, NO_VERTEX, Value, VertexId};
    use std::sync::Arc;

    const CHUNKS: u64 = 12;
    const SLOTS: u64 = 40;
    const KEYS: u16 = 6;

    /// DirectValues in a linear congruential sequence (Knuth's MMIX).
    struct Draws(u64);

    impl Draws {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }
    }

    fn vertex(number: u64) -> VertexId {
        VertexId::new((number / SLOTS) as u32, (number % SLOTS) as u16)
    }

    /// By key: integers that all have; floats that some lack; texts, many and few; values that differ from chunk to chunk; dates, which in some chunks
    /// all have.
    fn value(key: u16, number: u64) -> Value {
        match key {
            4 => Value::string(format!("one of few {}", number % 7 + number / SLOTS)),
            5 if number / SLOTS < 3 && number.is_multiple_of(3) => Value::Null,
            5 => Value::Date(Date { days: number as i64 - 100 }),
            0 => Value::Int(number as i64),
            1 if number.is_multiple_of(5) => Value::Null,
            1 => Value::Float(number as f64 / 2.0),
            2 => Value::string(format!("text {number}")),
            _ if (number / SLOTS).is_multiple_of(2) => Value::Int(number as i64),
            _ => Value::Float(number as f64),
        }
    }

    fn graph() -> Snapshot {
        let names = Arc::new(Names::new());
        for key in 0..KEYS {
            names.intern_key(&format!("k{key}")).unwrap();
        }
        let label = names.intern_label("Label").unwrap();
        assert_eq!(names.intern_label_set(&[label]).unwrap(), LabelSetId(1));
        let born = |number| Change::CreateVertex {
            id: vertex(number),
            labels: LabelSetId(0),
            properties: (0..KEYS)
                .map(|key| (KeyId(key.into()), value(key, number)))
                .filter(|(_, value)| !value.is_null())
                .collect(),
        };
        let changes: Vec<Change> = (0..CHUNKS * SLOTS).map(born).collect();
        let first = Snapshot::empty(names, StoreOptions::default()).apply(1, &[&changes]).unwrap();
        (0..CHUNKS as u32).fold(first, |snapshot, chunk| snapshot.compact(chunk).unwrap())
    }

    fn check(snapshot: &Snapshot, seed: u64) {
        let mut draws = Draws(seed);
        // Half a chunk in order, and all but every ninth of it.
        let first = draws.below(CHUNKS) * SLOTS + draws.below(SLOTS / 2);
        let in_order: Vec<VertexId> = (first..first + SLOTS / 2).map(vertex).collect();
        let gaps: Vec<VertexId> =
            in_order.iter().enumerate().filter(|(at, _)| at % 9 > 0).map(|(_, vertex)| *vertex).collect();
        for asked in [in_order, gaps] {
            (0..KEYS).for_each(|key| check_read(snapshot, KeyId(key.into()), &asked));
            let mut sets = Vec::new();
            snapshot.label_sets(&asked, &mut sets).unwrap();
            let alone: Vec<_> = asked.iter().map(|vertex| snapshot.labels(*vertex).ok()).collect();
            assert!(sets == alone);
        }
        for key in (0..KEYS).map(|key| KeyId(key.into())) {
            let mut asked: Vec<VertexId> = (0..700).map(|_| vertex(draws.below(CHUNKS * SLOTS))).collect();
            asked[300] = NO_VERTEX;
            asked[400] = VertexId::new(CHUNKS as u32 + 3, 1);
            // Some lie one behind the other.
            (0..50).for_each(|at| asked[500 + at as usize] = vertex(3 * SLOTS - 10 + at));
            check_read(snapshot, key, &asked);
        }
    }

    /// Read together, properties equal those read alone.
    fn check_read(snapshot: &Snapshot, key: KeyId, asked: &[VertexId]) {
        let (mut column, mut reader) = (ColumnBuilder::new(), PropertyReader::new(snapshot, key));
        reader
            .read(asked, |_, values| {
                push_values(&mut column, values);
                Ok::<(), StoreError>(())
            })
            .unwrap();
        let column = column.finish();
        assert_eq!(column.len(), asked.len());
        for (at, asked) in asked.iter().enumerate() {
            let right = snapshot.property(*asked, key).unwrap();
            assert_eq!(format!("{:?}", column.get(at)), format!("{right:?}"), "{asked:?} {key:?}");
        }
    }

    /// Read in any order, a property equals the one read alone: also of vertices that changed, that are gone, that never were.
    #[test]
    fn vertices_in_any_order_are_read_as_each_alone() {
        let clean = graph();
        // Texts become codes of one dictionary once many were asked for.
        (0..8).for_each(|round| check(&clean, 100 + round));
        let changed = |number: u64| match number % 3 {
            0 => Change::DeleteVertex { id: vertex(number) },
            1 => Change::SetProperty { id: vertex(number), key: KeyId(0), value: Value::Null },
            _ => Change::SetProperty { id: vertex(number), key: KeyId(1), value: "a text".into() },
        };
        let changes: Vec<Change> = (0..CHUNKS * SLOTS / 2).step_by(7).map(changed).collect();
        let changed = clean.apply(2, &[&changes]).unwrap();
        check(&changed, 2);
        check(&clean, 3);
    }

    /// Where vertices have other values of the same type, as columns that a scan reads mostly have, and where a few have others.
    #[test]
    fn changed_values_are_read_among_the_others() {
        let clean = graph();
        let changed = |number: u64| {
            let (id, key) = (vertex(number), KeyId((number % 7) as u32));
            let value = match number % 7 {
                0 => Value::Int(-5),
                1 => Value::Float(-1.5),
                2 => "another text".into(),
                3 => Value::Int(7),
                4 => Value::string(format!("one of few {}", number % 5 + number / SLOTS)),
                5 => Value::Date(Date { days: -1 }),
                _ => return Change::SetLabels { id, labels: LabelSetId(1) },
            };
            Change::SetProperty { id, key, value }
        };
        let changes: Vec<Change> = (0..CHUNKS * SLOTS).step_by(5).map(changed).collect();
        let same = clean.apply(2, &[&changes]).unwrap();
        (0..6).for_each(|round| check(&same, round));
        let other = |number| Change::SetProperty { id: vertex(number), key: KeyId(0), value: "odd".into() };
        let changes: Vec<Change> = (100..CHUNKS * SLOTS).step_by(900).map(other).collect();
        let few = same.apply(3, &[&changes]).unwrap();
        (0..6).for_each(|round| check(&few, round));
    }
}
