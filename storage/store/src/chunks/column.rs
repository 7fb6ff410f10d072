//! Property columns of a chunk: the values of one key, stored by slot, typed where all values agree.
//!
//! A column is dense (one place a slot, a bitmap says which are there) or, where fewer than one slot in eight has a value,
//! sparse (the slots that have one, sorted). Texts with few distinct values are stored as codes into a dictionary. Reading
//! borrows: comparing a text property allocates nothing.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::column::Texts;
use model::temporal::Date;
use model::{Value, walk};
use std::sync::Arc;

/// A property value as it lies in the store.
#[derive(Clone, Copy, Debug)]
pub enum PropertyRef<'a> {
    /// Absent.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A text.
    Text(&'a str),
    /// A date.
    Date(Date),
    /// Any other value.
    Other(&'a Value),
}

/// Values of one property as they lie in the store, of some neighbouring vertices or edges, in their order; none of them is absent.
#[derive(Clone, Copy, Debug)]
pub enum PropertyRun<'a> {
    /// Integers.
    Integers(Picked<'a, i64>),
    /// Floats.
    Floats(Picked<'a, f64>),
    /// Dates.
    Dates(Picked<'a, Date>),
    /// Texts, as codes into a dictionary.
    Codes(Picked<'a, u16>, &'a Arc<Texts>),
}

/// Some values of a column, in the order of their slots.
#[derive(Clone, Copy, Debug)]
pub struct Picked<'a, T> {
    values: &'a [T],
    /// Positions of the values, unless they are all of them.
    slots: Option<&'a [u32]>,
}

impl<'a, T: Copy> Picked<'a, T> {
    /// How many.
    pub fn len(&self) -> usize {
        self.slots.map_or(self.values.len(), <[u32]>::len)
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The values, where they lie side by side.
    pub fn as_slice(self) -> Option<&'a [T]> {
        if self.slots.is_none() { Some(self.values) } else { None }
    }
    /// The values.
    pub fn iter(self) -> impl ExactSizeIterator<Item = T> + 'a {
        let (values, slots) = (self.values, self.slots);
        (0..self.len()).map(move |at| match slots {
            None => values[at],
            Some(slots) => values[slots[at] as usize],
        })
    }
    /// Appends the values to a list.
    pub(crate) fn append_to(self, list: &mut Vec<T>) {
        match self.as_slice() {
            Some(slice) => list.extend_from_slice(slice),
            None => list.extend(self.iter()),
        }
    }
    /// These, side by side.
    pub(crate) fn all(values: &'a [T]) -> Picked<'a, T> {
        Picked { values, slots: None }
    }
    fn at(values: &'a [T], slots: &'a [u32]) -> Picked<'a, T> {
        Picked { values, slots: Some(slots) }
    }
}

impl<'a> PropertyRef<'a> {
    /// The same value, owned; allocates for text.
    pub fn to_value(self) -> Value {
        match self {
            PropertyRef::Null => Value::Null,
            PropertyRef::Bool(truth) => Value::Bool(truth),
            PropertyRef::Int(int) => Value::Int(int),
            PropertyRef::Float(float) => Value::Float(float),
            PropertyRef::Text(text) => Value::string(text),
            PropertyRef::Date(date) => Value::Date(date),
            PropertyRef::Other(value) => value.clone(),
        }
    }
    /// Is it absent?
    pub fn is_null(self) -> bool {
        matches!(self, PropertyRef::Null)
    }
}

impl<'a> From<&'a Value> for PropertyRef<'a> {
    fn from(value: &'a Value) -> PropertyRef<'a> {
        match value {
            Value::Null => PropertyRef::Null,
            Value::Bool(truth) => PropertyRef::Bool(*truth),
            Value::Int(int) => PropertyRef::Int(*int),
            Value::Float(float) => PropertyRef::Float(*float),
            Value::String(text) => PropertyRef::Text(text),
            Value::Date(date) => PropertyRef::Date(*date),
            other => PropertyRef::Other(other),
        }
    }
}

/// Texts in one buffer, by end offset.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TextRun {
    pub(crate) ends: Box<[u32]>,
    pub(crate) bytes: Box<str>,
}

impl TextRun {
    pub(crate) fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[start..self.ends[row] as usize]
    }
    pub(crate) fn build<'a>(texts: impl Iterator<Item = &'a str>) -> TextRun {
        let (mut bytes, mut ends) = (String::new(), Vec::new());
        for text in texts {
            // Once the work is over nobody reads what comes of it.
            let is_over = walk::spend(1 + text.len() / TEXT_BYTES_PER_UNIT).is_err();
            bytes.push_str(if is_over { "" } else { text });
            ends.push(u32::try_from(bytes.len()).expect("callers keep a run below TEXT_BYTES_MAX"));
        }
        TextRun { ends: ends.into(), bytes: bytes.into() }
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        self.ends.len() * 4 + self.bytes.len()
    }
    /// All text without separators, and where in it each row ends.
    pub(crate) fn parts(&self) -> (&str, &[u32]) {
        (&self.bytes, &self.ends)
    }
    /// As a dictionary that columns of answers share.
    pub(crate) fn into_shared(self) -> Arc<Texts> {
        Arc::new(Texts::from_parts(self.bytes.into(), self.ends.into()))
    }
}

/// In the rows of slots without a value.
const ABSENT_DATE: Date = Date { days: 0 };

impl Data {
    /// Values of any types, as dates where they are nothing else; `presence` says which rows have a value.
    pub(crate) fn of_any(rows: Vec<Value>, presence: &Presence) -> Data {
        let date = |(row, value): (usize, &Value)| match value {
            Value::Date(date) => Some(*date),
            Value::Null if matches!(presence, Presence::Bits(_)) && presence.row(row as u32).is_none() => {
                Some(ABSENT_DATE)
            }
            _ => None,
        };
        let dates: Option<Arc<[Date]>> = rows.iter().enumerate().map(date).collect();
        dates.map_or_else(|| Data::Any(rows.into()), Data::Date)
    }
}

/// Bytes of text that count as one unit of work ([`walk::spend`]).
const TEXT_BYTES_PER_UNIT: usize = 128;
/// Text one column may hold in one buffer; end offsets have 32 bits.
const TEXT_BYTES_MAX: usize = u32::MAX as usize;
/// Distinct texts a dictionary may hold; codes have 16 bits.
const DICTIONARY_SIZE_MAX: usize = 1 << 16;
/// A dictionary pays if each of its texts is used at least this often on average.
const DICTIONARY_USES_MIN: usize = 4;
/// Where each text is used this often on average, other chunks likely have the same dictionary.
const DICTIONARY_USES_ALIKE: usize = 8;
/// A dictionary of more bytes is not handed on with the codes: each of its readers is charged for it.
pub(crate) const DICTIONARY_BYTES_READ_MAX: usize = 16 << 10;
/// A column is sparse if it has fewer values than one in this many slots.
const SPARSE_SLOTS_PER_VALUE: usize = 8;

/// Which slots have a value, and in which row it lies.
#[derive(Debug)]
pub(crate) enum Presence {
    /// Slots below the number, all; row = slot.
    All(u32),
    /// Slots whose bit is set; row = slot.
    Bits(Box<[u64]>),
    /// These slots, sorted; row = position.
    Slots(Box<[u32]>),
}

impl Presence {
    /// Has each of these slots a value that lies in the row of the slot's number?
    fn has_all(&self, slots: &[u32]) -> bool {
        match self {
            Presence::All(count) => slots.iter().all(|slot| slot < count),
            Presence::Bits(words) => slots
                .iter()
                .all(|slot| words.get(*slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)),
            Presence::Slots(_) => false,
        }
    }
    /// The same of all slots from `first` on.
    fn has_range(&self, first: u32, len: u32) -> bool {
        let end = first + len;
        match self {
            Presence::All(count) => end <= *count,
            Presence::Bits(words) => {
                let is_full = |slot: u32| words.get(slot as usize / 64).is_some_and(|word| *word == u64::MAX);
                let has = |slot: u32| self.row(slot).is_some();
                let mut slot = first;
                while slot < end {
                    let whole = slot.is_multiple_of(64) && slot + 64 <= end && is_full(slot);
                    if !whole && !has(slot) {
                        return false;
                    }
                    slot += if whole { 64 } else { 1 };
                }
                true
            }
            Presence::Slots(_) => false,
        }
    }
    #[inline]
    pub(crate) fn row(&self, slot: u32) -> Option<usize> {
        match self {
            Presence::All(count) => (slot < *count).then_some(slot as usize),
            Presence::Bits(words) => {
                let word = words.get(slot as usize / 64)?;
                (word >> (slot % 64) & 1 == 1).then_some(slot as usize)
            }
            Presence::Slots(slots) => slots.binary_search(&slot).ok(),
        }
    }
}

/// Values of a column, by row.
#[derive(Debug)]
pub(crate) enum Data {
    Bool(Box<[u64]>),
    /// Numbers are shared with those who read them at random.
    Int(Arc<[i64]>),
    Float(Arc<[f64]>),
    Date(Arc<[Date]>),
    Text(TextRun),
    Codes(Box<[u16]>, Arc<Texts>),
    Any(Box<[Value]>),
}

/// The values of one property key in one chunk.
#[derive(Debug)]
pub(crate) struct StoredColumn {
    pub(crate) presence: Presence,
    pub(crate) data: Data,
}

impl StoredColumn {
    /// Value at `slot`.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> PropertyRef<'_> {
        let Some(row) = self.presence.row(slot) else { return PropertyRef::Null };
        match &self.data {
            Data::Bool(words) => PropertyRef::Bool(words[row / 64] >> (row % 64) & 1 == 1),
            Data::Int(rows) => PropertyRef::Int(rows[row]),
            Data::Float(rows) => PropertyRef::Float(rows[row]),
            Data::Date(rows) => PropertyRef::Date(rows[row]),
            Data::Text(texts) => PropertyRef::Text(texts.get(row)),
            Data::Codes(codes, texts) => PropertyRef::Text(texts.get(codes[row] as usize)),
            Data::Any(rows) => PropertyRef::from(&rows[row]),
        }
    }
    /// The values at `slots` in place, where all have one and their type can be read so.
    pub(crate) fn run<'a>(&'a self, slots: &'a [u32]) -> Option<PropertyRun<'a>> {
        if !self.presence.has_all(slots) {
            return None;
        }
        match &self.data {
            Data::Int(values) => Some(PropertyRun::Integers(Picked::at(values, slots))),
            Data::Float(values) => Some(PropertyRun::Floats(Picked::at(values, slots))),
            Data::Date(values) => Some(PropertyRun::Dates(Picked::at(values, slots))),
            Data::Codes(codes, texts) if texts.bytes() <= DICTIONARY_BYTES_READ_MAX => {
                Some(PropertyRun::Codes(Picked::at(codes, slots), texts))
            }
            _ => None,
        }
    }
    /// As [`StoredColumn::run`], of `len` slots from `first` on.
    pub(crate) fn range(&self, first: u32, len: usize) -> Option<PropertyRun<'_>> {
        if !self.presence.has_range(first, len as u32) {
            return None;
        }
        let range = first as usize..first as usize + len;
        match &self.data {
            Data::Int(values) => Some(PropertyRun::Integers(Picked::all(&values[range]))),
            Data::Float(values) => Some(PropertyRun::Floats(Picked::all(&values[range]))),
            Data::Date(values) => Some(PropertyRun::Dates(Picked::all(&values[range]))),
            Data::Codes(codes, texts) if texts.bytes() <= DICTIONARY_BYTES_READ_MAX => {
                Some(PropertyRun::Codes(Picked::all(&codes[range]), texts))
            }
            _ => None,
        }
    }
    /// Calls `found` with every slot that has a value, in order.
    pub(crate) fn for_each<'a>(&'a self, mut found: impl FnMut(u32, PropertyRef<'a>)) {
        match &self.presence {
            Presence::All(count) => (0..*count).for_each(|slot| found(slot, self.get(slot))),
            Presence::Slots(slots) => slots.iter().for_each(|slot| found(*slot, self.get(*slot))),
            Presence::Bits(words) => {
                for (at, word) in words.iter().enumerate() {
                    let mut left = *word;
                    while left != 0 {
                        let slot = at as u32 * 64 + left.trailing_zeros();
                        left &= left - 1;
                        found(slot, self.get(slot));
                    }
                }
            }
        }
    }
    /// Builds a column over slots below `slot_count` from its values: sorted by slot, none null. `None` if there are none.
    pub(crate) fn build(slot_count: u32, values: &[(u32, PropertyRef<'_>)]) -> Option<StoredColumn> {
        let (last, _) = values.last()?;
        debug_assert!(*last < slot_count && values.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let count = slot_count as usize;
        let presence = if values.len() == count {
            Presence::All(slot_count)
        } else if values.len() * SPARSE_SLOTS_PER_VALUE < count {
            Presence::Slots(values.iter().map(|(slot, _)| *slot).collect())
        } else {
            let mut words = vec![0u64; count.div_ceil(64)].into_boxed_slice();
            values.iter().for_each(|(slot, _)| words[*slot as usize / 64] |= 1 << (slot % 64));
            Presence::Bits(words)
        };
        let dense = !matches!(presence, Presence::Slots(_));
        let rows = if dense { count } else { values.len() };
        let data = build_data(rows, dense, values);
        Some(StoredColumn { presence, data })
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        let presence = match &self.presence {
            Presence::All(_) => 0,
            Presence::Bits(words) => words.len() * 8,
            Presence::Slots(slots) => slots.len() * 4,
        };
        presence
            + match &self.data {
                Data::Bool(words) => words.len() * 8,
                Data::Int(rows) => rows.len() * 8,
                Data::Float(rows) => rows.len() * 8,
                Data::Date(rows) => rows.len() * 8,
                Data::Text(texts) => texts.heap_bytes(),
                Data::Codes(codes, texts) => codes.len() * 2 + texts.bytes(),
                Data::Any(rows) => {
                    rows.len() * size_of::<Value>() + rows.iter().map(Value::heap_bytes).sum::<usize>()
                }
            }
    }
}

fn build_data(rows: usize, dense: bool, values: &[(u32, PropertyRef<'_>)]) -> Data {
    let place = |at: usize, slot: u32| if dense { slot as usize } else { at };
    let typed = |wanted: fn(&PropertyRef<'_>) -> bool| values.iter().all(|(_, value)| wanted(value));
    match values[0].1 {
        PropertyRef::Bool(_) if typed(|value| matches!(value, PropertyRef::Bool(_))) => {
            let mut words = vec![0u64; rows.div_ceil(64)].into_boxed_slice();
            for (at, (slot, value)) in values.iter().enumerate() {
                let row = place(at, *slot);
                words[row / 64] |= (matches!(value, PropertyRef::Bool(true)) as u64) << (row % 64);
            }
            Data::Bool(words)
        }
        PropertyRef::Int(_) if typed(|value| matches!(value, PropertyRef::Int(_))) => {
            let mut ints = vec![0i64; rows];
            for (at, (slot, value)) in values.iter().enumerate() {
                if let PropertyRef::Int(int) = value {
                    ints[place(at, *slot)] = *int;
                }
            }
            Data::Int(ints.into())
        }
        PropertyRef::Float(_) if typed(|value| matches!(value, PropertyRef::Float(_))) => {
            let mut floats = vec![0f64; rows];
            for (at, (slot, value)) in values.iter().enumerate() {
                if let PropertyRef::Float(float) = value {
                    floats[place(at, *slot)] = *float;
                }
            }
            Data::Float(floats.into())
        }
        PropertyRef::Date(_) if typed(|value| matches!(value, PropertyRef::Date(_))) => {
            let mut dates = vec![ABSENT_DATE; rows];
            for (at, (slot, value)) in values.iter().enumerate() {
                if let PropertyRef::Date(date) = value {
                    dates[place(at, *slot)] = *date;
                }
            }
            Data::Date(dates.into())
        }
        PropertyRef::Text(_) if typed(|value| matches!(value, PropertyRef::Text(_))) && fits_run(values) => {
            build_texts(rows, dense, values)
        }
        _ => {
            let mut any = vec![Value::Null; rows].into_boxed_slice();
            for (at, (slot, value)) in values.iter().enumerate() {
                any[place(at, *slot)] = value.to_value();
            }
            Data::Any(any)
        }
    }
}

fn text_of<'a>(value: &PropertyRef<'a>) -> &'a str {
    match value {
        PropertyRef::Text(text) => text,
        _ => "",
    }
}

fn fits_run(values: &[(u32, PropertyRef<'_>)]) -> bool {
    values.iter().map(|(_, value)| text_of(value).len()).sum::<usize>() <= TEXT_BYTES_MAX
}

fn build_texts(rows: usize, dense: bool, values: &[(u32, PropertyRef<'_>)]) -> Data {
    let distinct_max = (values.len() / DICTIONARY_USES_MIN).min(DICTIONARY_SIZE_MAX);
    let mut numbers: HashMap<&str, u16, FixedState> = HashMap::default();
    let mut distinct: Vec<&str> = Vec::new();
    let mut codes = vec![0u16; rows];
    for (at, (slot, value)) in values.iter().enumerate() {
        let text = text_of(value);
        if walk::spend(1 + text.len() / TEXT_BYTES_PER_UNIT).is_err() {
            break;
        }
        let code = match numbers.get(text) {
            Some(code) => *code,
            None if distinct.len() < distinct_max => {
                let code = distinct.len() as u16;
                numbers.insert(text, code);
                distinct.push(text);
                code
            }
            None => return Data::Text(plain_texts(rows, dense, values)),
        };
        codes[if dense { *slot as usize } else { at }] = code;
    }
    let bytes: usize = distinct.iter().map(|text| text.len()).sum();
    if distinct.len() * DICTIONARY_USES_ALIKE <= values.len() && bytes <= DICTIONARY_BYTES_READ_MAX {
        sort_dictionary(&mut distinct, &mut codes);
    }
    Data::Codes(codes.into(), TextRun::build(distinct.into_iter()).into_shared())
}

/// Puts a dictionary in the order of its texts: where all chunks have the same few texts, all have the same dictionary.
fn sort_dictionary(distinct: &mut [&str], codes: &mut [u16]) {
    let mut order: Vec<u16> = (0..distinct.len()).map(|code| code as u16).collect();
    order.sort_unstable_by_key(|code| distinct[*code as usize]);
    let mut places = vec![0_u16; distinct.len()];
    order.iter().enumerate().for_each(|(place, code)| places[*code as usize] = place as u16);
    codes.iter_mut().for_each(|code| *code = places.get(*code as usize).copied().unwrap_or(0));
    distinct.sort_unstable();
}

fn plain_texts(rows: usize, dense: bool, values: &[(u32, PropertyRef<'_>)]) -> TextRun {
    let mut next = values.iter().peekable();
    TextRun::build((0..rows).map(|row| match next.peek() {
        Some((slot, _)) if dense && *slot as usize != row => "",
        _ => next.next().map_or("", |(_, value)| text_of(value)),
    }))
}
