//! Which rows belong together: hashing of key columns, and the table from keys to group numbers.
//!
//! Equality is that of grouping ([`model::compare::equivalent`]): null with null, NaN with NaN, 1 with 1.0. A table keyed by one
//! column of integers or of vertices holds bare numbers; it turns into the general form when another type arrives. Groups are
//! numbered from 0 in the order of their first row. However many there are, a table grows by a small piece at a time ([`Segments`],
//! [`Buckets`]), so that taking a batch is never a long call.

use super::repeats::Runs;
use super::segments::Segments;
use buckets::Buckets;
use close::{CLOSE_WIDTH_MAX, CloseGroups};
use codes::CodeGroups;
use few::FewKeys;
use foldhash::fast::FixedState;
use key_column::{KeyColumn, TextSpan};
use model::batch::Carried;
use model::compare::{equivalent, hash_value};
use model::{Column, ListValue, Nulls, Value, VertexId};
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

mod buckets;
mod close;
mod codes;
mod few;
mod key_column;
mod numbers;

pub use numbers::NO_GROUP;

/// One seed everywhere: hashes made by one executor are compared with those of another.
const HASH_SEED: u64 = 0x7461_6e67_6c65;

/// Lists remembered by address while one batch is grouped: sets of labels are few; more are only compared in full.
const LISTS_REMEMBERED_MAX: usize = 8;

fn state() -> FixedState {
    FixedState::with_seed(HASH_SEED)
}

/// The hash of one value; equivalent values hash alike.
pub fn hash_one(value: &Value) -> u64 {
    match value {
        Value::String(text) => hash_text(text),
        Value::Int(int) => hash_integer(*int),
        Value::Float(float) => hash_float(*float),
        Value::Vertex(vertex) => hash_vertex(*vertex),
        Value::Edge(edge) => state().hash_one(edge.id),
        value => {
            let mut hasher = state().build_hasher();
            hash_value(value, &mut hasher);
            hasher.finish()
        }
    }
}

#[inline]
fn hash_integer(int: i64) -> u64 {
    state().hash_one(int)
}

/// A float that is equivalent to an integer hashes as that.
fn hash_float(float: f64) -> u64 {
    let whole = float as i64;
    match float.is_nan() {
        true => state().hash_one(f64::NAN.to_bits()),
        false if equivalent(&Value::Int(whole), &Value::Float(float)) => hash_integer(whole),
        false => state().hash_one(float.to_bits()),
    }
}

#[inline]
fn hash_vertex(vertex: VertexId) -> u64 {
    state().hash_one(!vertex.0)
}

/// For each batch row the hash of its keys, combined; `hashes` is overwritten. Rows with equivalent keys hash alike, whatever
/// the form of their columns.
pub fn hash_columns(keys: &[Carried], rows: usize, hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.resize(rows, HASH_SEED);
    for key in keys {
        hash_column(key, hashes);
    }
}

fn combine(held: &mut u64, hash: u64) {
    *held = (held.rotate_left(23) ^ hash).wrapping_mul(0x9E37_79B9_7F4A_7C15);
}

fn hash_column(key: &Carried, hashes: &mut [u64]) {
    match key.column() {
        // The same value in every row: what a batch carries along of the one row it came from.
        Column::Any(values) if values.len() == 1 => {
            let hash = hash_one(&values[0]);
            hashes.iter_mut().for_each(|held| combine(held, hash));
        }
        Column::Constant(value, _) => {
            let hash = hash_one(value);
            hashes.iter_mut().for_each(|held| combine(held, hash));
        }
        Column::Text(texts, nulls)
            if let Some((codes, dictionary)) = texts.codes()
                && dictionary.len() <= hashes.len()
                && nulls.is_empty() =>
        {
            let known: Vec<u64> = (0..dictionary.len()).map(|code| hash_text(dictionary.get(code))).collect();
            for (row, held) in hashes.iter_mut().enumerate() {
                combine(held, known[codes[key.at(row)] as usize]);
            }
        }
        Column::Text(texts, _) => {
            for (row, held) in hashes.iter_mut().enumerate() {
                let at = key.at(row);
                let hash = if key.is_null(row) { hash_one(&Value::Null) } else { hash_text(texts.get(at)) };
                combine(held, hash);
            }
        }
        Column::Int(values, nulls) if nulls.is_empty() => {
            let hash = |row| hash_integer(values[key.at(row)]);
            hashes.iter_mut().enumerate().for_each(|(row, held)| combine(held, hash(row)));
        }
        Column::Vertex(values, nulls) if nulls.is_empty() => {
            let hash = |row| hash_vertex(values[key.at(row)]);
            hashes.iter_mut().enumerate().for_each(|(row, held)| combine(held, hash(row)));
        }
        // A value of these forms is built without an allocation.
        Column::Int(..) | Column::Float(..) | Column::Bool(..) | Column::Vertex(..) => {
            hashes.iter_mut().enumerate().for_each(|(row, held)| combine(held, hash_one(&key.get(row))));
        }
        Column::Edge(..) => {
            hashes.iter_mut().enumerate().for_each(|(row, held)| {
                let hash =
                    key.edge(row).map_or_else(|| hash_one(&Value::Null), |edge| state().hash_one(edge.id));
                combine(held, hash)
            });
        }
        Column::Any(values) => {
            for (row, held) in hashes.iter_mut().enumerate() {
                combine(held, hash_one(&values[key.at(row)]));
            }
        }
    }
}

fn hash_text(text: &str) -> u64 {
    state().hash_one(text.as_bytes())
}

/// From keys to group numbers.
#[derive(Clone, Debug)]
pub struct GroupTable {
    width: usize,
    keys: Keys,
    len: usize,
    table: Buckets,
    /// Of one column of codes: the groups of those met last.
    codes: CodeGroups,
    /// Of one column of integers: the groups of those that lie close together.
    close: CloseGroups,
}

#[derive(Clone, Debug)]
enum Keys {
    /// Nothing met yet: the first batch decides.
    Undecided,
    /// One column of integers; the group of null, if met.
    Integers(Segments<i64>, Option<u32>),
    /// One column of vertices; the group of null, if met.
    Vertices(Segments<VertexId>, Option<u32>),
    /// For each column the keys by group.
    General(Vec<KeyColumn>),
}

impl GroupTable {
    /// A table for keys of `width` columns; with none there is one group for everything.
    pub fn new(width: usize) -> GroupTable {
        GroupTable {
            width,
            keys: Keys::Undecided,
            len: 0,
            table: Buckets::new(),
            codes: CodeGroups::default(),
            close: CloseGroups::default(),
        }
    }
    /// Groups met so far.
    pub fn len(&self) -> usize {
        self.len
    }
    /// None met?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes held, as charged to a query's budget.
    pub fn bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::Undecided => 0,
            Keys::Integers(keys, _) => keys.bytes(),
            Keys::Vertices(keys, _) => keys.bytes(),
            Keys::General(columns) => {
                let heads = columns.capacity() * size_of::<KeyColumn>();
                heads + columns.iter().map(KeyColumn::bytes).sum::<usize>()
            }
        };
        keys + self.table.bytes() + self.codes.bytes() + self.close.bytes()
    }

    /// For each of the `rows` rows its group; new keys open new groups. `groups` is overwritten.
    pub fn assign(&mut self, keys: &[Carried], rows: usize, groups: &mut Vec<u32>) {
        debug_assert_eq!(keys.len(), self.width);
        groups.clear();
        if let Some(runs) = Runs::of(keys.iter(), rows) {
            let firsts: Vec<Carried> = keys.iter().map(|key| runs.first_values(key)).collect();
            self.assign_firsts(&firsts, runs.len(), runs.of_row(), groups);
        } else if let Some(few) = FewKeys::of(keys, rows) {
            let firsts: Vec<Carried> = keys.iter().map(|key| few.first_values(key)).collect();
            self.assign_firsts(&firsts, few.len(), few.of_row(), groups);
        } else {
            self.assign_each(keys, rows, groups);
        }
    }
    /// Groups one row of each kind of rows, and gives their groups to all; `of_row` says the kind of each row.
    fn assign_firsts(&mut self, firsts: &[Carried], kinds: usize, of_row: &[u32], groups: &mut Vec<u32>) {
        let mut of_kinds = Vec::with_capacity(kinds);
        self.assign_each(firsts, kinds, &mut of_kinds);
        groups.extend(of_row.iter().map(|kind| of_kinds[*kind as usize]));
    }

    /// For each of the `rows` rows its group, [`NO_GROUP`] where its keys were not met: no group is opened. `groups` is overwritten.
    pub fn find(&self, keys: &[Carried], rows: usize, groups: &mut Vec<u32>) {
        debug_assert_eq!(keys.len(), self.width);
        groups.clear();
        match (&self.keys, keys) {
            (Keys::Undecided, _) => groups.resize(rows, NO_GROUP),
            (Keys::Integers(held, null), [key]) => groups.extend((0..rows).map(|row| {
                let integer = match key.get(row) {
                    Value::Null => return null.unwrap_or(NO_GROUP),
                    Value::Int(integer) => integer,
                    value @ Value::Float(float) if equivalent(&Value::Int(float as i64), &value) => {
                        float as i64
                    }
                    _ => return NO_GROUP,
                };
                let same = |group: u32| held[group as usize] == integer && *null != Some(group);
                self.table.find(state().hash_one(integer as u64), same).unwrap_or(NO_GROUP)
            })),
            (Keys::Vertices(held, null), [key]) => {
                groups.extend((0..rows).map(|row| match key.vertex(row) {
                    Some(vertex) => {
                        let same = |group: u32| held[group as usize] == vertex && *null != Some(group);
                        self.table.find(state().hash_one(vertex.0), same).unwrap_or(NO_GROUP)
                    }
                    None if key.is_null(row) => null.unwrap_or(NO_GROUP),
                    None => NO_GROUP,
                }))
            }
            (Keys::General(_), _) => {
                let mut hashes = Vec::new();
                hash_columns(keys, rows, &mut hashes);
                groups.extend(hashes.into_iter().enumerate().map(|(row, hash)| {
                    self.table.find(hash, |group| self.is_key(group, keys, row)).unwrap_or(NO_GROUP)
                }));
            }
            // A table of one column has a single key.
            (Keys::Integers(..) | Keys::Vertices(..), _) => groups.resize(rows, NO_GROUP),
        }
    }

    /// As [`GroupTable::assign`], each row for itself; adds to `groups`.
    fn assign_each(&mut self, keys: &[Carried], rows: usize, groups: &mut Vec<u32>) {
        self.decide(keys);
        match (&self.keys, keys) {
            (Keys::Integers(..), [key]) if matches!(key.column(), Column::Int(..)) => {
                self.assign_integers(key, rows, groups)
            }
            (Keys::Vertices(..), [key]) if matches!(key.column(), Column::Vertex(..)) => {
                self.assign_vertices(key, rows, groups)
            }
            (Keys::Integers(..), [key]) if let Column::Constant(Value::Int(int), _) = key.column() => {
                let group = self.integer_group(*int);
                groups.resize(rows, group)
            }
            _ => self.assign_general(keys, rows, groups),
        }
    }

    fn decide(&mut self, keys: &[Carried]) {
        if matches!(self.keys, Keys::Undecided) {
            self.keys = match keys {
                [key] if matches!(key.column(), Column::Int(..) | Column::Constant(Value::Int(_), _)) => {
                    Keys::Integers(Segments::default(), None)
                }
                [key] if matches!(key.column(), Column::Vertex(..)) => {
                    Keys::Vertices(Segments::default(), None)
                }
                _ => Keys::General(vec![KeyColumn::new(); self.width]),
            };
        }
    }

    fn assign_integers(&mut self, key: &Carried, rows: usize, groups: &mut Vec<u32>) {
        let (Keys::Integers(held, null), Column::Int(values, nulls)) = (&mut self.keys, key.column()) else {
            return;
        };
        let mut numbers = GroupNumbers { held, null, len: &mut self.len, table: &mut self.table };
        if let (Some(values), true) = (side_by_side(values, key, rows), nulls.is_empty())
            && self.close.take_known(values, groups)
        {
            return;
        }
        if let Some((low, width)) = close_together(key, rows) {
            // Each integer is looked up once, as long as the next batches hold no others.
            let close = &mut self.close;
            close.cover(low, width);
            let mut group_of = |value: i64| close.group(value, || numbers.group(value, |int| int as u64));
            match side_by_side(values, key, rows) {
                Some(values) => groups.extend(values.iter().map(|value| group_of(*value))),
                None => groups.extend((0..rows).map(|row| group_of(values[key.at(row)]))),
            }
            return;
        }
        numbers.groups(key, rows, (values, 0), |int| int as u64, groups);
    }

    fn integer_group(&mut self, int: i64) -> u32 {
        let Keys::Integers(held, null) = &mut self.keys else { return 0 };
        let mut numbers = GroupNumbers { held, null, len: &mut self.len, table: &mut self.table };
        numbers.group(int, |int| int as u64)
    }

    fn assign_vertices(&mut self, key: &Carried, rows: usize, groups: &mut Vec<u32>) {
        let (Keys::Vertices(held, null), Column::Vertex(values, _)) = (&mut self.keys, key.column()) else {
            return;
        };
        let mut numbers = GroupNumbers { held, null, len: &mut self.len, table: &mut self.table };
        numbers.groups(key, rows, (values, model::NO_VERTEX), |vertex| vertex.0, groups);
    }

    fn assign_general(&mut self, keys: &[Carried], rows: usize, groups: &mut Vec<u32>) {
        self.generalise();
        let mut hashes = Vec::new();
        if rows > 0 && keys.iter().all(|key| matches!(key.column(), Column::Constant(..))) {
            hash_columns(keys, 1, &mut hashes);
            let group = self.general_group(hashes[0], keys, 0);
            return groups.resize(rows, group);
        }
        if let [key] = keys
            && let Column::Any(values) = key.column()
        {
            return self.assign_shared(keys, (0..rows).map(|row| &values[key.at(row)]), groups);
        }
        if let [key] = keys
            && let Column::Text(texts, nulls) = key.column()
            && let Some((codes, dictionary)) = texts.codes()
        {
            let mut known = std::mem::take(&mut self.codes);
            known.enter(dictionary);
            if let (Some(codes), true) = (side_by_side(codes, key, rows), nulls.is_empty()) {
                groups.extend(
                    codes
                        .iter()
                        .enumerate()
                        .map(|(row, code)| known.group(*code, || self.row_group(keys, row))),
                );
            } else {
                groups.extend((0..rows).map(|row| match key.is_null(row) {
                    true => self.row_group(keys, row),
                    false => known.group(codes[key.at(row)], || self.row_group(keys, row)),
                }));
            }
            self.codes = known;
            return;
        }
        hash_columns(keys, rows, &mut hashes);
        // Memory is waited for once for many rows: first all hashes are looked for, then all keys are compared.
        let first = groups.len();
        groups.extend(hashes.iter().map(|hash| self.table.candidate(*hash)));
        if let ([key], Keys::General(columns)) = (keys, &self.keys)
            && let Column::Text(texts, nulls) = key.column()
            && nulls.is_empty()
            && let Some(spans) = columns[0].spans(&groups[first..])
        {
            for ((row, hash), span) in hashes.into_iter().enumerate().zip(spans) {
                let group = groups[first + row];
                if group == NO_GROUP || !self.is_text(group, span, texts.get(key.at(row))) {
                    groups[first + row] = self.general_group(hash, keys, row);
                }
            }
            return;
        }
        for (row, hash) in hashes.into_iter().enumerate() {
            let group = &mut groups[first + row];
            if *group == NO_GROUP || !self.is_key(*group, keys, row) {
                *group = self.general_group(hash, keys, row);
            }
        }
    }

    /// Are the keys of this group those of a row? In the general form.
    #[inline]
    fn is_key(&self, group: u32, keys: &[Carried], row: usize) -> bool {
        let Keys::General(columns) = &self.keys else { return false };
        columns.iter().zip(keys).all(|(held, key)| held.is(group as usize, key, row))
    }

    /// Is the key of this group of one column this text, which lies there?
    #[inline]
    fn is_text(&self, group: u32, span: TextSpan, text: &str) -> bool {
        matches!(&self.keys, Keys::General(columns) if columns[0].is_text(group, span, text))
    }

    /// The group of one row of a single column in the general form.
    fn row_group(&mut self, keys: &[Carried], row: usize) -> u32 {
        let mut hash = HASH_SEED;
        combine(
            &mut hash,
            match keys[0].column() {
                Column::Text(texts, _) if !keys[0].is_null(row) => hash_text(texts.get(keys[0].at(row))),
                _ => hash_one(&keys[0].get(row)),
            },
        );
        self.general_group(hash, keys, row)
    }

    /// The group of one row of a table of one column.
    pub fn assign_row(&mut self, key: &Carried, row: usize) -> u32 {
        debug_assert_eq!(self.width, 1);
        self.generalise();
        self.row_group(std::slice::from_ref(key), row)
    }

    /// One column of values among which lists may be the same list again: those are not compared.
    fn assign_shared<'v>(
        &mut self,
        keys: &[Carried],
        values: impl Iterator<Item = &'v Value>,
        groups: &mut Vec<u32>,
    ) {
        let mut lists: Vec<(&'v ListValue, u32)> = Vec::new();
        for (row, value) in values.enumerate() {
            let list = if let Value::List(list) = value { Some(list) } else { None };
            let known = list.and_then(|list| lists.iter().find(|(held, _)| held.is_same(list)));
            let group = match known {
                Some((_, group)) => *group,
                None => {
                    let mut hash = HASH_SEED;
                    combine(&mut hash, hash_one(value));
                    self.general_group(hash, keys, row)
                }
            };
            if let (None, Some(list)) = (known, list)
                && lists.len() < LISTS_REMEMBERED_MAX
            {
                lists.push((list, group));
            }
            groups.push(group);
        }
    }

    /// The group of a row's keys in the general form; a new one if need be.
    fn general_group(&mut self, hash: u64, keys: &[Carried], row: usize) -> u32 {
        let Keys::General(columns) = &mut self.keys else { return 0 };
        let same = |group: u32| columns.iter().zip(keys).all(|(held, key)| held.is(group as usize, key, row));
        if let Some(group) = self.table.find(hash, same) {
            return group;
        }
        let group = self.len as u32;
        self.len += 1;
        columns.iter_mut().zip(keys).for_each(|(held, key)| held.push(key, row));
        self.table.insert(hash, group);
        group
    }

    /// Turns bare numbers into the general form; the numbers of the groups stay.
    fn generalise(&mut self) {
        if matches!(self.keys, Keys::General(_)) {
            return;
        }
        let mut columns = match std::mem::replace(&mut self.keys, Keys::Undecided) {
            Keys::Integers(held, null) => vec![KeyColumn::of_integers(held, null)],
            Keys::Vertices(held, null) => vec![KeyColumn::of_vertices(held, null)],
            Keys::Undecided | Keys::General(_) => Vec::new(),
        };
        columns.resize_with(self.width, KeyColumn::new);
        let keys: Vec<Carried> =
            columns.iter().map(|column| Carried::new(column.column(0..self.len))).collect();
        let mut hashes = Vec::new();
        hash_columns(&keys, self.len, &mut hashes);
        self.table = Buckets::new();
        hashes.into_iter().zip(0..).for_each(|(hash, group)| self.table.insert(hash, group));
        self.keys = Keys::General(columns);
    }

    /// Key `column` of the groups in `range`.
    pub fn key_column(&self, column: usize, range: Range<usize>) -> Column {
        let nulls = |null: &Option<u32>| {
            let mut nulls = Nulls::none();
            let within = null.and_then(|group| (group as usize).checked_sub(range.start));
            within.into_iter().filter(|row| *row < range.len()).for_each(|row| nulls.set(row));
            nulls
        };
        match &self.keys {
            Keys::Undecided => Column::Constant(Value::Null, range.len()),
            Keys::Integers(keys, null) => {
                Column::Int(range.clone().map(|group| keys[group]).collect(), nulls(null))
            }
            Keys::Vertices(keys, null) => {
                Column::Vertex(range.clone().map(|group| keys[group]).collect(), nulls(null))
            }
            Keys::General(columns) => columns[column].column(range),
        }
    }

    /// Takes over these groups of another table: `groups` is overwritten with their numbers here, in order.
    pub fn merge(&mut self, other: &GroupTable, range: Range<usize>, groups: &mut Vec<u32>) {
        let key = |column| Carried::new(other.key_column(column, range.clone()));
        let keys: Vec<Carried> = (0..self.width).map(key).collect();
        self.assign(&keys, range.len(), groups);
    }
}

/// The values of the batch rows of a key, where they lie side by side in its column.
fn side_by_side<'v, T>(values: &'v [T], key: &Carried, rows: usize) -> Option<&'v [T]> {
    values.get(..rows).filter(|_| key.rows().is_none())
}

/// The least integer of a batch, and how many there are from it to the greatest, where those are few beside the rows and none is null.
fn close_together(key: &Carried, rows: usize) -> Option<(i64, usize)> {
    let Column::Int(values, nulls) = key.column() else { return None };
    let of = |row: usize| values[key.at(row)];
    if rows == 0 || !nulls.is_empty() {
        return None;
    }
    let wider = |(low, high): (i64, i64), value: i64| (low.min(value), high.max(value));
    let (low, high) = match side_by_side(values, key, rows) {
        Some(values) => values.iter().copied().fold((i64::MAX, i64::MIN), wider),
        None => (0..rows).map(of).fold((i64::MAX, i64::MIN), wider),
    };
    let width = high.checked_sub(low)?.checked_add(1)?;
    let width = usize::try_from(width).ok()?;
    (width <= CLOSE_WIDTH_MAX.min(rows)).then_some((low, width))
}

/// A table keyed by bare numbers.
struct GroupNumbers<'a, T> {
    held: &'a mut Segments<T>,
    null: &'a mut Option<u32>,
    len: &'a mut usize,
    table: &'a mut Buckets,
}

impl<T: Copy + PartialEq> GroupNumbers<'_, T> {
    /// Adds the group of each row; that of null holds the filler.
    fn groups(
        &mut self,
        key: &Carried,
        rows: usize,
        (values, filler): (&[T], T),
        bits: impl Fn(T) -> u64,
        groups: &mut Vec<u32>,
    ) {
        // As for keys in general: all hashes first.
        let first = groups.len();
        let hash = |row: usize| state().hash_one(bits(values[key.at(row)]));
        groups.extend((0..rows).map(|row| self.table.candidate(hash(row))));
        for row in 0..rows {
            let group = &mut groups[first + row];
            if key.is_null(row) {
                *group = self.null_group(filler);
                continue;
            }
            let value = values[key.at(row)];
            let is_it =
                *group != NO_GROUP && self.held[*group as usize] == value && *self.null != Some(*group);
            if !is_it {
                *group = self.group(value, &bits);
            }
        }
    }
    #[inline]
    fn group(&mut self, key: T, bits: impl Fn(T) -> u64) -> u32 {
        let hash = state().hash_one(bits(key));
        let null = *self.null;
        let same = |group: u32| self.held[group as usize] == key && null != Some(group);
        if let Some(group) = self.table.find(hash, same) {
            return group;
        }
        let group = self.open(key);
        self.table.insert(hash, group);
        group
    }

    fn null_group(&mut self, filler: T) -> u32 {
        match *self.null {
            Some(group) => group,
            None => {
                let group = self.open(filler);
                *self.null = Some(group);
                group
            }
        }
    }

    fn open(&mut self, key: T) -> u32 {
        self.held.push(key);
        *self.len += 1;
        u32::try_from(self.held.len() - 1).expect("a query's byte budget ends before 4 G groups")
    }
}
