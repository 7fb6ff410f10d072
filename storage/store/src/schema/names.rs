//! Names and their numbers: labels, edge types, property keys, and sets of labels.
//!
//! The interner is shared by all transactions and only grows: a number is handed out before the transaction that uses it commits, and stays valid
//! whether or not it does. Names that no record carries yet ([`Names::undurable`]) are attached to the next committed record, so a replayed log
//! defines every name before its first use. A checkpoint may hold names that no record carries, of transactions that were rolled back; it says how
//! many are carried, so that the next record behind it still carries the others, and the past can be rebuilt without that checkpoint. Readers see an
//! immutable [`NameTable`].
//! A look-up of an unknown label or edge type leaves a note ([`Missed`]): the name may be created before the answer is used. Most new names were
//! never looked up, and their first use conflicts with no other transaction.

use crate::StoreError;
use crate::bytes::{Reader, Writer};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use model::id::EDGE_TYPE_COUNT_MAX;
use model::{EdgeTypeId, KeyId, LabelId, LabelSetId};
use parking_lot::RwLock;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Labels a store may know: a label id has 16 bits.
pub const LABEL_COUNT_MAX: usize = 1 << 16;
/// Property keys that a store may know; far above use, it bounds the memory that a runaway client can take.
pub const KEY_COUNT_MAX: usize = 1 << 24;
/// Label sets a store may know; each used one has at least one chunk, so there cannot be more than chunks.
pub const LABEL_SET_COUNT_MAX: usize = 1 << 20;

/// Bytes a name may have. Longer ones that earlier versions wrote are read.
pub const NAME_BYTES_MAX: usize = 65_535;

/// The limits above, in messages.
const LABELS: &str = "a graph has at most 65,536 labels";
const EDGE_TYPES: &str = "a graph has at most 16,384 relationship types";
const KEYS: &str = "a graph has at most 16,777,216 property keys";
const LABEL_SETS: &str = "a graph has at most 1,048,576 different sets of labels";
const _: () = assert!(
    LABEL_COUNT_MAX == 65_536
        && EDGE_TYPE_COUNT_MAX == 16_384
        && KEY_COUNT_MAX == 16_777_216
        && LABEL_SET_COUNT_MAX == 1_048_576,
    "the texts above say these"
);

/// Names looked for in vain that are noted one by one; beyond these, every name counts as looked for.
const MISSED_MAX: usize = 1 << 16;

/// Labels and edge types that were looked up before they existed; one for a store, and it only grows. Hashes suffice: two names that share one cost a
/// retry.
#[derive(Debug, Default)]
struct Missed {
    inner: RwLock<MissedInner>,
    every_label: AtomicBool,
}

#[derive(Debug, Default)]
struct MissedInner {
    hashes: HashSet<u64, FixedState>,
    overflowed: bool,
}

#[derive(Clone, Copy, Hash)]
enum NameKind {
    Label,
    EdgeType,
}

impl Missed {
    fn hash(kind: NameKind, name: &str) -> u64 {
        FixedState::default().hash_one((kind, name))
    }
    #[cold]
    fn note(&self, kind: NameKind, name: &str) {
        let hash = Missed::hash(kind, name);
        let known = |inner: &MissedInner| inner.overflowed || inner.hashes.contains(&hash);
        if known(&self.inner.read()) {
            return;
        }
        let mut inner = self.inner.write();
        if inner.hashes.len() >= MISSED_MAX {
            *inner = MissedInner { overflowed: true, ..MissedInner::default() };
        } else {
            inner.hashes.insert(hash);
        }
    }
    fn has(&self, kind: NameKind, name: &str) -> bool {
        if matches!(kind, NameKind::Label) && self.every_label.load(Ordering::Relaxed) {
            return true;
        }
        let inner = self.inner.read();
        inner.overflowed || inner.hashes.contains(&Missed::hash(kind, name))
    }
}

/// One definition, as the log carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameDefinition {
    /// A vertex label.
    Label(LabelId, Arc<str>),
    /// An edge type.
    EdgeType(EdgeTypeId, Arc<str>),
    /// A property key.
    Key(KeyId, Arc<str>),
    /// A set of labels, sorted.
    LabelSet(LabelSetId, Arc<[LabelId]>),
}

impl NameDefinition {
    /// Bytes it takes in a record at most.
    fn bytes_max(&self) -> usize {
        /// Kinds, numbers and lengths.
        const FRAME_BYTES: usize = 24;
        FRAME_BYTES
            + match self {
                NameDefinition::Label(_, name)
                | NameDefinition::EdgeType(_, name)
                | NameDefinition::Key(_, name) => name.len(),
                // Numbers of 16 bits, with seven of them to a byte.
                NameDefinition::LabelSet(_, labels) => 3 * labels.len(),
            }
    }
}

#[derive(Debug)]
struct Table<T: ?Sized + std::hash::Hash + Eq> {
    items: Vec<Arc<T>>,
    numbers: HashMap<Arc<T>, u32, FixedState>,
}

impl<T: ?Sized + std::hash::Hash + Eq> Default for Table<T> {
    fn default() -> Table<T> {
        Table { items: Vec::new(), numbers: HashMap::default() }
    }
}

impl<T: ?Sized + std::hash::Hash + Eq> Clone for Table<T> {
    fn clone(&self) -> Table<T> {
        Table { items: self.items.clone(), numbers: self.numbers.clone() }
    }
}

impl Table<str> {
    /// The same numbers; hidden names are empty, and no look-up finds them.
    fn masked(&self, shows: impl Fn(u32, &str) -> bool) -> Table<str> {
        let mut masked = self.clone();
        for (number, name) in self.items.iter().enumerate() {
            if !shows(number as u32, name) {
                masked.numbers.remove(name);
                masked.items[number] = Arc::from("");
            }
        }
        masked
    }
}

impl<T: ?Sized + std::hash::Hash + Eq> Table<T> {
    fn number(&self, item: &T) -> Option<u32> {
        self.numbers.get(item).copied()
    }
    fn push(&mut self, item: Arc<T>) -> u32 {
        let number = self.items.len() as u32;
        self.numbers.insert(item.clone(), number);
        self.items.push(item);
        number
    }
    /// Is `item` known as `number`, or the next one to define? An error where it contradicts the table.
    fn define(&mut self, number: u32, item: &Arc<T>) -> Result<(), StoreError> {
        match self.items.get(number as usize) {
            Some(known) if known == item => Ok(()),
            None if number as usize == self.items.len() && self.number(item).is_none() => {
                self.push(item.clone());
                Ok(())
            }
            _ => Err(StoreError::BadName(format!("number {number} contradicts what is known").into())),
        }
    }
}

/// The names known at one moment; immutable once shared.
#[derive(Clone, Debug)]
pub struct NameTable {
    labels: Table<str>,
    edge_types: Table<str>,
    keys: Table<str>,
    label_sets: Table<[LabelId]>,
    missed: Arc<Missed>,
}

impl Default for NameTable {
    fn default() -> NameTable {
        let mut label_sets = Table::default();
        label_sets.push(Arc::from([].as_slice()));
        NameTable {
            labels: Table::default(),
            edge_types: Table::default(),
            keys: Table::default(),
            label_sets,
            missed: Arc::default(),
        }
    }
}

impl NameTable {
    /// Number of a label. That it was looked for is remembered if it has none.
    pub fn label(&self, name: &str) -> Option<LabelId> {
        let found = self.labels.number(name);
        if found.is_none() {
            self.missed.note(NameKind::Label, name);
        }
        found.map(|number| LabelId(number as u16))
    }
    /// Name of a label.
    pub fn label_name(&self, id: LabelId) -> Option<&Arc<str>> {
        self.labels.items.get(id.0 as usize)
    }
    /// Number of an edge type. That it was looked for is remembered if it has none.
    pub fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        let found = self.edge_types.number(name);
        if found.is_none() {
            self.missed.note(NameKind::EdgeType, name);
        }
        found.map(|number| EdgeTypeId(number as u16))
    }
    /// A transaction read all labels: counts as a look-up of all future ones.
    pub fn miss_every_label(&self) {
        self.missed.every_label.store(true, Ordering::Relaxed);
    }
    /// Was a label or edge type looked up in vain that was created since there were this many?
    pub fn missed_since(&self, labels: usize, edge_types: usize) -> bool {
        let new_labels = self.labels.items.iter().skip(labels);
        let new_types = self.edge_types.items.iter().skip(edge_types);
        new_labels.into_iter().any(|name| self.missed.has(NameKind::Label, name))
            || new_types.into_iter().any(|name| self.missed.has(NameKind::EdgeType, name))
    }
    /// Name of an edge type.
    pub fn edge_type_name(&self, id: EdgeTypeId) -> Option<&Arc<str>> {
        self.edge_types.items.get(id.0 as usize)
    }
    /// Number of a property key.
    pub fn key(&self, name: &str) -> Option<KeyId> {
        self.keys.number(name).map(KeyId)
    }
    /// Name of a property key.
    pub fn key_name(&self, id: KeyId) -> Option<&Arc<str>> {
        self.keys.items.get(id.0 as usize)
    }
    /// Number of a set of labels; `labels` sorted and without repetition.
    pub fn label_set(&self, labels: &[LabelId]) -> Option<LabelSetId> {
        self.label_sets.number(labels).map(LabelSetId)
    }
    /// Labels of a set, sorted.
    pub fn labels_of(&self, id: LabelSetId) -> Option<&Arc<[LabelId]>> {
        self.label_sets.items.get(id.0 as usize)
    }
    /// All labels, by number.
    pub fn labels(&self) -> &[Arc<str>] {
        &self.labels.items
    }
    /// All edge types, by number.
    pub fn edge_types(&self) -> &[Arc<str>] {
        &self.edge_types.items
    }
    /// All property keys, by number.
    pub fn keys(&self) -> &[Arc<str>] {
        &self.keys.items
    }
    /// All label sets, by number; set 0 is the empty set.
    pub fn label_sets(&self) -> &[Arc<[LabelId]>] {
        &self.label_sets.items
    }
    /// The same numbers, for a restricted reader: hidden names have no number, and no label set contains them.
    pub(crate) fn masked(
        &self,
        shows_label: impl Fn(&str) -> bool,
        shows_edge_type: impl Fn(&str) -> bool,
        shows_key: impl Fn(KeyId) -> bool,
    ) -> NameTable {
        let labels = self.labels.masked(|_, name| shows_label(name));
        let is_shown = |label: &LabelId| {
            labels.items.get(label.0 as usize).is_some_and(|name| labels.number(name) == Some(label.0.into()))
        };
        let mut label_sets = self.label_sets.clone();
        for set in &mut label_sets.items {
            if !set.iter().all(is_shown) {
                *set = set.iter().copied().filter(is_shown).collect();
            }
        }
        NameTable {
            label_sets,
            edge_types: self.edge_types.masked(|_, name| shows_edge_type(name)),
            keys: self.keys.masked(|number, _| shows_key(KeyId(number))),
            labels,
            missed: self.missed.clone(),
        }
    }
    fn define(&mut self, definition: &NameDefinition) -> Result<(), StoreError> {
        match definition {
            NameDefinition::Label(id, name) => self.labels.define(id.0 as u32, name),
            NameDefinition::EdgeType(id, name) => self.edge_types.define(id.0 as u32, name),
            NameDefinition::Key(id, name) => self.keys.define(id.0, name),
            NameDefinition::LabelSet(id, labels) => {
                let sorted = labels.windows(2).all(|pair| pair[0] < pair[1]);
                if !sorted || labels.iter().any(|label| self.label_name(*label).is_none()) {
                    return Err(StoreError::BadName("label set of unknown or unsorted labels".into()));
                }
                self.label_sets.define(id.0, labels)
            }
        }
    }
    /// How many there are of each kind.
    pub fn counts(&self) -> NameCounts {
        NameCounts {
            labels: self.labels.items.len(),
            edge_types: self.edge_types.items.len(),
            keys: self.keys.items.len(),
            label_sets: self.label_sets.items.len(),
        }
    }
    /// Definitions of all names from `from` on, in an order in which they can be replayed.
    pub(crate) fn definitions_since(&self, from: NameCounts) -> Vec<NameDefinition> {
        let mut found = Vec::new();
        let tail = |at: usize, number: usize| (number + at) as u32;
        for (at, name) in self.labels.items.iter().skip(from.labels).enumerate() {
            found.push(NameDefinition::Label(LabelId(tail(at, from.labels) as u16), name.clone()));
        }
        for (at, name) in self.edge_types.items.iter().skip(from.edge_types).enumerate() {
            found.push(NameDefinition::EdgeType(EdgeTypeId(tail(at, from.edge_types) as u16), name.clone()));
        }
        for (at, name) in self.keys.items.iter().skip(from.keys).enumerate() {
            found.push(NameDefinition::Key(KeyId(tail(at, from.keys)), name.clone()));
        }
        for (at, labels) in self.label_sets.items.iter().skip(from.label_sets).enumerate() {
            found.push(NameDefinition::LabelSet(LabelSetId(tail(at, from.label_sets)), labels.clone()));
        }
        found
    }
}

/// How many names of each kind there are; marks a moment of the interner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameCounts {
    labels: usize,
    edge_types: usize,
    keys: usize,
    label_sets: usize,
}

impl NameCounts {
    /// This name, and all of its kind before it, are there.
    fn count(&mut self, name: &NameDefinition) {
        let (count, number) = match name {
            NameDefinition::Label(id, _) => (&mut self.labels, id.0 as usize),
            NameDefinition::EdgeType(id, _) => (&mut self.edge_types, id.0 as usize),
            NameDefinition::Key(id, _) => (&mut self.keys, id.0 as usize),
            NameDefinition::LabelSet(id, _) => (&mut self.label_sets, id.0 as usize),
        };
        *count = (*count).max(number + 1);
    }
    /// The smaller count of each kind.
    pub(crate) fn min(self, other: NameCounts) -> NameCounts {
        NameCounts {
            labels: self.labels.min(other.labels),
            edge_types: self.edge_types.min(other.edge_types),
            keys: self.keys.min(other.keys),
            label_sets: self.label_sets.min(other.label_sets),
        }
    }
    pub(crate) fn encode(self, writer: &mut Writer) {
        [self.labels, self.edge_types, self.keys, self.label_sets]
            .into_iter()
            .for_each(|count| writer.size(count));
    }
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<NameCounts, StoreError> {
        let mut count = || reader.uint().map(|count| count as usize);
        let (labels, edge_types, keys) = (count()?, count()?, count()?);
        Ok(NameCounts { labels, edge_types, keys, label_sets: count()? })
    }
}

impl Default for NameCounts {
    /// The counts of a new store, which knows the empty label set and nothing else.
    fn default() -> NameCounts {
        NameCounts { labels: 0, edge_types: 0, keys: 0, label_sets: 1 }
    }
}

/// The shared, append-only interner.
#[derive(Debug, Default)]
pub struct Names {
    inner: RwLock<Inner>,
    is_forked: bool,
}

#[derive(Debug, Default)]
struct Inner {
    table: Arc<NameTable>,
    durable: NameCounts,
}

impl Names {
    /// An interner that knows the empty label set only.
    pub fn new() -> Names {
        Names::default()
    }
    /// An interner of its own that knows these names, all of them carried by records: names that it hands out are unknown to other interners.
    pub fn forked(table: Arc<NameTable>) -> Names {
        let durable = table.counts();
        Names { inner: RwLock::new(Inner { table, durable }), is_forked: true }
    }
    /// May a reader of this catalogue meet a number that means nothing, or something else, to other readers? So it is where an interner of its own
    /// has handed out names beyond it; numbers of the one shared interner hold for all.
    pub fn has_own_beyond(&self, known: &NameTable) -> bool {
        self.is_forked && self.inner.read().table.counts() != known.counts()
    }
    /// The names known now.
    pub fn table(&self) -> Arc<NameTable> {
        self.inner.read().table.clone()
    }
    /// Number of a label, handed out on first use.
    pub fn intern_label(&self, name: &str) -> Result<LabelId, StoreError> {
        let max = LABEL_COUNT_MAX;
        let number = self.intern_name(|table| &mut table.labels, |table| &table.labels, name, max, LABELS)?;
        Ok(LabelId(number as u16))
    }
    /// Number of an edge type, handed out on first use.
    pub fn intern_edge_type(&self, name: &str) -> Result<EdgeTypeId, StoreError> {
        let max = EDGE_TYPE_COUNT_MAX;
        let number = self.intern_name(
            |table| &mut table.edge_types,
            |table| &table.edge_types,
            name,
            max,
            EDGE_TYPES,
        )?;
        Ok(EdgeTypeId(number as u16))
    }
    /// Number of a property key, handed out on first use.
    pub fn intern_key(&self, name: &str) -> Result<KeyId, StoreError> {
        let max = KEY_COUNT_MAX;
        let number = self.intern_name(|table| &mut table.keys, |table| &table.keys, name, max, KEYS)?;
        Ok(KeyId(number))
    }
    /// Number of a set of labels, handed out on first use; `labels` in any order, repetition allowed.
    pub fn intern_label_set(&self, labels: &[LabelId]) -> Result<LabelSetId, StoreError> {
        let mut sorted = labels.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let max = LABEL_SET_COUNT_MAX;
        let number = self.intern(
            |table| &mut table.label_sets,
            |table| &table.label_sets,
            sorted.as_slice(),
            max,
            LABEL_SETS,
        )?;
        Ok(LabelSetId(number))
    }
    /// A new name must be one that is allowed; one from an older version stays as it is.
    fn intern_name(
        &self,
        pick_mut: impl Fn(&mut NameTable) -> &mut Table<str>,
        pick: impl Fn(&NameTable) -> &Table<str>,
        name: &str,
        count_max: usize,
        limit: &'static str,
    ) -> Result<u32, StoreError> {
        if let Some(number) = pick(&self.inner.read().table).number(name) {
            return Ok(number);
        }
        check_name(name)?;
        self.intern(pick_mut, pick, name, count_max, limit)
    }
    fn intern<T: ?Sized + std::hash::Hash + Eq>(
        &self,
        pick_mut: impl Fn(&mut NameTable) -> &mut Table<T>,
        pick: impl Fn(&NameTable) -> &Table<T>,
        item: &T,
        count_max: usize,
        limit: &'static str,
    ) -> Result<u32, StoreError>
    where
        for<'a> Arc<T>: From<&'a T>,
    {
        if let Some(number) = pick(&self.inner.read().table).number(item) {
            return Ok(number);
        }
        let mut inner = self.inner.write();
        if let Some(number) = pick(&inner.table).number(item) {
            return Ok(number);
        }
        if pick(&inner.table).items.len() >= count_max {
            return Err(StoreError::Full(limit));
        }
        Ok(pick_mut(Arc::make_mut(&mut inner.table)).push(Arc::from(item)))
    }
    /// Takes a definition from the log or a manifest: it is durable. Idempotent; an error if it contradicts an earlier one.
    pub fn define(&self, definition: &NameDefinition) -> Result<(), StoreError> {
        let mut inner = self.inner.write();
        Arc::make_mut(&mut inner.table).define(definition)?;
        inner.durable.count(definition);
        Ok(())
    }
    /// Is this very definition known?
    pub(crate) fn knows(&self, definition: &NameDefinition) -> bool {
        let table = &self.inner.read().table;
        match definition {
            NameDefinition::Label(id, name) => table.label_name(*id) == Some(name),
            NameDefinition::EdgeType(id, name) => table.edge_type_name(*id) == Some(name),
            NameDefinition::Key(id, name) => table.key_name(*id) == Some(name),
            NameDefinition::LabelSet(id, labels) => table.labels_of(*id) == Some(labels),
        }
    }
    /// How many names records carry.
    pub(crate) fn carried(&self) -> NameCounts {
        self.inner.read().durable
    }
    /// Sets how many of the names that a manifest defined are carried by records.
    pub(crate) fn set_carried(&self, carried: NameCounts) {
        self.inner.write().durable = carried;
    }
    /// Definitions no committed record carries yet, and the mark to give to [`Names::mark_durable`] once one does.
    pub fn undurable(&self) -> (Vec<NameDefinition>, NameCounts) {
        let inner = self.inner.read();
        (inner.table.definitions_since(inner.durable), inner.table.counts())
    }
    /// As [`Names::undurable`], but the first of them only where all together have more bytes than this: at least one, and in an order in
    /// which records may carry them one after the other. True where these are all.
    pub fn undurable_within(&self, bytes_max: usize) -> (Vec<NameDefinition>, NameCounts, bool) {
        let inner = self.inner.read();
        let (mut mark, mut bytes, mut first) = (inner.durable, 0, Vec::new());
        for name in inner.table.definitions_since(inner.durable) {
            bytes += name.bytes_max();
            if bytes > bytes_max && !first.is_empty() {
                return (first, mark, false);
            }
            mark.count(&name);
            first.push(name);
        }
        (first, mark, true)
    }
    /// Are all names among these, which records carry?
    pub fn is_carried(&self, mark: Option<NameCounts>) -> bool {
        mark == Some(self.inner.read().table.counts())
    }
    /// All names counted by `mark` are carried by a record that is on disk.
    pub fn mark_durable(&self, mark: NameCounts) {
        let durable = &mut self.inner.write().durable;
        durable.labels = durable.labels.max(mark.labels);
        durable.edge_types = durable.edge_types.max(mark.edge_types);
        durable.keys = durable.keys.max(mark.keys);
        durable.label_sets = durable.label_sets.max(mark.label_sets);
    }
}

fn check_name(name: &str) -> Result<(), StoreError> {
    match name.len() {
        0 => Err(StoreError::NameRefused("is empty")),
        _ if name.contains('\0') => Err(StoreError::NameRefused("has a NUL in it")),
        1..=NAME_BYTES_MAX => Ok(()),
        bytes => Err(StoreError::NameTooLong(bytes)),
    }
}
