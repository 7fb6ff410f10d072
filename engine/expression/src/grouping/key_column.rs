//! One key of all groups, by group: bare values of one type, as long as no other comes.
//!
//! Texts lie one behind the other in pages of a fixed size, so that a new group allocates nothing of its own and nothing is ever copied as a whole.

use super::super::segments::Segments;
use super::numbers::NO_GROUP;
use model::batch::Carried;
use model::column::{LONG_TEXT_BYTES, Texts};
use model::compare::equivalent;
use model::{Column, ColumnBuilder, Nulls, Value, VertexId};
use std::ops::Range;

/// Bytes of a page of texts.
const PAGE_BYTES: usize = 64 << 10;

/// Texts by number.
#[derive(Clone, Debug, Default)]
pub(super) struct TextPages {
    pages: Vec<String>,
    places: Segments<TextSpan>,
}

/// Where a text lies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextSpan {
    page: u32,
    start: u16,
    len: u16,
}

impl TextPages {
    /// A text no longer than [`LONG_TEXT_BYTES`].
    fn push(&mut self, text: &str) {
        debug_assert!(
            text.len() <= LONG_TEXT_BYTES,
            "a page has room for it, and a place says how long it is"
        );
        // A page ends below the last number that a place has.
        if self.pages.last().is_none_or(|page| page.len() + text.len() >= PAGE_BYTES) {
            // The first page grows with what comes: most tables are small.
            let room = if self.pages.is_empty() { 0 } else { PAGE_BYTES };
            self.pages.push(String::with_capacity(room));
        }
        let last = self.pages.len() - 1;
        let page = &mut self.pages[last];
        self.places.push(TextSpan { page: last as u32, start: page.len() as u16, len: text.len() as u16 });
        page.push_str(text);
    }
    #[inline]
    fn get(&self, at: usize) -> &str {
        let TextSpan { page, start, len } = self.places[at];
        &self.pages[page as usize][start as usize..start as usize + len as usize]
    }
    /// The same as bytes: where a text begins and ends is not asked again.
    #[inline]
    fn get_bytes(&self, TextSpan { page, start, len }: TextSpan) -> &[u8] {
        &self.pages[page as usize].as_bytes()[start as usize..start as usize + len as usize]
    }
    fn bytes(&self) -> usize {
        let text = self.pages.iter().map(String::capacity).sum::<usize>();
        text + self.pages.capacity() * size_of::<String>() + self.places.bytes()
    }
}

/// The values, by group.
#[derive(Clone, Debug)]
enum KeyValues {
    /// None yet.
    Nothing,
    Integers(Segments<i64>),
    Vertices(Segments<VertexId>),
    Texts(TextPages),
    Values(Segments<Value>),
}

/// One key of all groups.
#[derive(Clone, Debug)]
pub(super) struct KeyColumn {
    held: KeyValues,
    /// Groups whose key is null; they have a filler.
    nulls: Nulls,
    /// Heap bytes of the values.
    heap_bytes: usize,
}

impl KeyColumn {
    pub(super) fn new() -> KeyColumn {
        KeyColumn { held: KeyValues::Nothing, nulls: Nulls::none(), heap_bytes: 0 }
    }
    pub(super) fn len(&self) -> usize {
        match &self.held {
            KeyValues::Nothing => 0,
            KeyValues::Integers(held) => held.len(),
            KeyValues::Vertices(held) => held.len(),
            KeyValues::Texts(held) => held.places.len(),
            KeyValues::Values(held) => held.len(),
        }
    }
    pub(super) fn bytes(&self) -> usize {
        let held = match &self.held {
            KeyValues::Nothing => 0,
            KeyValues::Integers(held) => held.bytes(),
            KeyValues::Vertices(held) => held.bytes(),
            KeyValues::Texts(held) => held.bytes(),
            KeyValues::Values(held) => held.bytes(),
        };
        held + self.nulls.words().len() * 8 + self.heap_bytes
    }
    pub(super) fn get(&self, group: usize) -> Value {
        if self.nulls.contains(group) {
            return Value::Null;
        }
        match &self.held {
            KeyValues::Nothing => Value::Null,
            KeyValues::Integers(held) => Value::Int(held[group]),
            KeyValues::Vertices(held) => Value::Vertex(held[group]),
            KeyValues::Texts(held) => Value::string(held.get(group)),
            KeyValues::Values(held) => held[group].clone(),
        }
    }
    /// The keys of these groups.
    pub(super) fn column(&self, groups: Range<usize>) -> Column {
        let mut nulls = Nulls::none();
        for (row, group) in groups.clone().enumerate() {
            if self.nulls.contains(group) {
                nulls.set(row);
            }
        }
        match &self.held {
            KeyValues::Integers(held) => Column::Int(groups.map(|group| held[group]).collect(), nulls),
            KeyValues::Vertices(held) => Column::Vertex(groups.map(|group| held[group]).collect(), nulls),
            KeyValues::Texts(held) => {
                let mut texts = Texts::default();
                groups.for_each(|group| texts.push(held.get(group)));
                Column::Text(texts, nulls)
            }
            KeyValues::Nothing | KeyValues::Values(_) => {
                let mut builder = ColumnBuilder::new();
                groups.for_each(|group| builder.push(self.get(group)));
                builder.finish()
            }
        }
    }
    /// Where the texts of these groups lie, if the column holds texts; of [`NO_GROUP`] that means nothing.
    pub(super) fn spans(&self, groups: &[u32]) -> Option<Vec<TextSpan>> {
        let KeyValues::Texts(held) = &self.held else { return None };
        let span =
            |group: &u32| if *group == NO_GROUP { TextSpan::default() } else { held.places[*group as usize] };
        Some(groups.iter().map(span).collect())
    }
    /// Is a group's key this text, which lies there if it is a text?
    #[inline]
    pub(super) fn is_text(&self, group: u32, span: TextSpan, text: &str) -> bool {
        match &self.held {
            KeyValues::Texts(held) => {
                held.get_bytes(span) == text.as_bytes() && !self.nulls.contains(group as usize)
            }
            _ => false,
        }
    }
    /// Is a group's key that of a batch row?
    #[inline]
    pub(super) fn is(&self, group: usize, key: &Carried, row: usize) -> bool {
        match (&self.held, key.column()) {
            (KeyValues::Texts(held), Column::Text(texts, nulls))
                if !nulls.contains(key.at(row)) && !self.nulls.contains(group) =>
            {
                held.get(group) == texts.get(key.at(row))
            }
            (KeyValues::Values(held), Column::Any(values)) => match (&held[group], &values[key.at(row)]) {
                (Value::List(held), Value::List(list)) if held.is_same(list) => true,
                (held, value) => equivalent(held, value),
            },
            (KeyValues::Values(held), Column::Constant(value, _)) => equivalent(&held[group], value),
            _ if self.nulls.contains(group) || key.is_null(row) => {
                key.is_null(row) && self.get(group).is_null()
            }
            (KeyValues::Texts(held), Column::Text(texts, _)) => held.get(group) == texts.get(key.at(row)),
            (KeyValues::Integers(held), Column::Int(values, _)) => held[group] == values[key.at(row)],
            (KeyValues::Vertices(held), Column::Vertex(values, _)) => held[group] == values[key.at(row)],
            (KeyValues::Values(held), Column::Edge(values, _)) if let Value::Edge(edge) = &held[group] => {
                edge.id == values[key.at(row)].id
            }
            _ => equivalent(&self.get(group), &key.get(row)),
        }
    }
    /// The key of a new group: that of a batch row.
    pub(super) fn push(&mut self, key: &Carried, row: usize) {
        match (&mut self.held, key.column()) {
            (KeyValues::Integers(held), Column::Int(values, nulls)) if !nulls.contains(key.at(row)) => {
                held.push(values[key.at(row)])
            }
            (KeyValues::Vertices(held), Column::Vertex(values, nulls)) if !nulls.contains(key.at(row)) => {
                held.push(values[key.at(row)])
            }
            (KeyValues::Texts(held), Column::Text(texts, nulls)) if !nulls.contains(key.at(row)) => {
                held.push(texts.get(key.at(row)))
            }
            _ => self.push_value(key.get(row)),
        }
    }
    fn push_value(&mut self, value: Value) {
        let group = self.len();
        if matches!(self.held, KeyValues::Nothing) {
            self.held = match value {
                Value::Int(_) => KeyValues::Integers(Segments::default()),
                Value::Vertex(_) => KeyValues::Vertices(Segments::default()),
                Value::String(_) => KeyValues::Texts(TextPages::default()),
                _ => KeyValues::Values(Segments::default()),
            };
        }
        let is_null = value.is_null();
        match (&mut self.held, value) {
            (KeyValues::Integers(held), Value::Int(int)) => held.push(int),
            (KeyValues::Vertices(held), Value::Vertex(vertex)) => held.push(vertex),
            (KeyValues::Texts(held), Value::String(text)) if text.len() <= LONG_TEXT_BYTES => {
                held.push(&text)
            }
            (KeyValues::Integers(held), Value::Null) => held.push(0),
            (KeyValues::Vertices(held), Value::Null) => held.push(model::NO_VERTEX),
            (KeyValues::Texts(held), Value::Null) => held.push(""),
            (KeyValues::Values(held), value) => {
                self.heap_bytes += value.heap_bytes();
                return held.push(value);
            }
            (_, value) => {
                self.generalise();
                return self.push_value(value);
            }
        }
        if is_null {
            self.nulls.set(group);
        }
    }
    /// Another type came: on as values.
    fn generalise(&mut self) {
        let values: Segments<Value> = (0..self.len()).map(|group| self.get(group)).collect();
        self.heap_bytes = values.iter().map(Value::heap_bytes).sum();
        *self =
            KeyColumn { held: KeyValues::Values(values), nulls: Nulls::none(), heap_bytes: self.heap_bytes };
    }
    /// Keys that were bare numbers until now, the group of null among them.
    pub(super) fn of_integers(held: Segments<i64>, null: Option<u32>) -> KeyColumn {
        KeyColumn::of(KeyValues::Integers(held), null)
    }
    /// As [`KeyColumn::of_integers`].
    pub(super) fn of_vertices(held: Segments<VertexId>, null: Option<u32>) -> KeyColumn {
        KeyColumn::of(KeyValues::Vertices(held), null)
    }
    fn of(held: KeyValues, null: Option<u32>) -> KeyColumn {
        let mut nulls = Nulls::none();
        null.into_iter().for_each(|group| nulls.set(group as usize));
        KeyColumn { held, nulls, heap_bytes: 0 }
    }
}
