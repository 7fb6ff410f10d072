//! Columns for Arrow, by its C data interface: any program that knows it reads them where they are.
//!
//! Integers and floats are passed as they lie in a batch, and so is the text of a column of texts; only parts that a batch does not have in Arrow's
//! form are written anew: bits of nulls and truth values, offsets, and rows that a filter picked. A chunk is a batch.
//!
//! Invariant: memory that a buffer points into is held by the private data of its array, which `release` drops.

use crate::cells::{Cell, Cells};
use model::column::{LONG_TEXT_BYTES, Texts};
use model::{Column, Nulls};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::vec;

/// Rows of an answer: cells, and the first row that counts.
pub type Part = (Arc<Cells>, usize);

/// The types that are handed over as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Int,
    Float,
    Text,
}

impl Kind {
    fn format(self) -> &'static CStr {
        match self {
            Kind::Null => c"n",
            Kind::Bool => c"b",
            Kind::Int => c"l",
            Kind::Float => c"g",
            Kind::Text => c"u",
        }
    }
    /// The one that holds both, if there is one.
    fn joined(self, other: Kind) -> Option<Kind> {
        match (self, other) {
            (Kind::Null, kind) | (kind, Kind::Null) => Some(kind),
            (one, other) => (one == other).then_some(one),
        }
    }
}

fn kind_of(column: &Column) -> Option<Kind> {
    use model::Value::{Bool, Float, Int, Null, String};
    Some(match column {
        Column::Bool(..) | Column::Constant(Bool(_), _) => Kind::Bool,
        Column::Int(..) | Column::Constant(Int(_), _) => Kind::Int,
        Column::Float(..) | Column::Constant(Float(_), _) => Kind::Float,
        Column::Text(texts, _) if i32::try_from(texts.parts().0.len()).is_ok() => Kind::Text,
        // Written out, a long one makes no column of texts.
        Column::Constant(String(text), len)
            if text.len() < LONG_TEXT_BYTES && i32::try_from(text.len().saturating_mul(*len)).is_ok() =>
        {
            Kind::Text
        }
        Column::Constant(Null, _) => Kind::Null,
        _ => return None,
    })
}

/// The type of a column over all rows, if it is one of the plain ones.
pub fn kind(parts: &[Part], at: usize) -> Option<Kind> {
    parts.iter().try_fold(Kind::Null, |known, (cells, _)| match &cells.columns[at] {
        Cell::Plain(carried) => known.joined(kind_of(carried.column())?),
        Cell::Whole(_) => None,
    })
}

/// The columns of these rows as a stream, a chunk a batch. They must be plain.
pub fn stream(parts: &[Part], columns: &[usize], names: Vec<String>) -> Stream {
    let kinds: Vec<Kind> = columns.iter().map(|at| kind(parts, *at).unwrap_or(Kind::Null)).collect();
    let chunk = |(cells, begin): &Part| {
        let column = |(at, kind): (&usize, &Kind)| exported(cells, *at, *begin, *kind);
        record(columns.iter().zip(&kinds).map(column).collect(), cells.len - begin)
    };
    let chunks: Vec<ArrowArray> = parts.iter().map(chunk).collect();
    Stream { fields: names.into_iter().zip(kinds).collect(), chunks: chunks.into_iter() }
}

/// A stream in the capsule that `__arrow_c_stream__` promises.
pub fn capsule(py: Python<'_>, stream: Stream) -> PyResult<Bound<'_, PyCapsule>> {
    const NAME: &CStr = c_str!("arrow_array_stream");
    let stream = ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(stream)).cast(),
    };
    // A reader moves it out and leaves a released one behind; the rest is dropped with the capsule.
    PyCapsule::new_with_value(py, stream, NAME)
}

/// Chunks that wait for a reader.
pub struct Stream {
    fields: Vec<(String, Kind)>,
    chunks: vec::IntoIter<ArrowArray>,
}

/// The memory that an array points into.
enum BackingMemory {
    /// A column of a batch.
    Cells {
        _cells: Arc<Cells>,
    },
    Column {
        _column: Column,
    },
    None,
}

/// Private data of an array.
struct Owned {
    _held: BackingMemory,
    _bits: [Vec<u64>; 2],
    _offsets: Vec<i32>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

/// Bits that are set where a row is not null; none where no row is.
fn validity(nulls: &Nulls, begin: usize, end: usize) -> (Vec<u64>, i64) {
    if nulls.is_empty() {
        return (Vec::new(), 0);
    }
    let (mut words, mut count) = (vec![u64::MAX; (end - begin).div_ceil(64)], 0);
    let null_rows = nulls.words().iter().enumerate().flat_map(|(at, word)| {
        let set = (0..64).filter(move |bit| word >> bit & 1 == 1);
        set.map(move |bit| at * 64 + bit)
    });
    for row in null_rows.filter(|row| (begin..end).contains(row)) {
        words[(row - begin) / 64] &= !(1 << ((row - begin) % 64));
        count += 1;
    }
    (words, count)
}

/// A column as an array.
fn exported(cells: &Arc<Cells>, at: usize, begin: usize, kind: Kind) -> ArrowArray {
    let len = cells.len - begin;
    let Cell::Plain(carried) = &cells.columns[at] else { return of_nulls(kind, len) };
    if kind == Kind::Null || kind_of(carried.column()) == Some(Kind::Null) {
        return of_nulls(kind, len);
    }
    if carried.rows().is_none() && !matches!(carried.column(), Column::Constant(..)) {
        let held = BackingMemory::Cells { _cells: cells.clone() };
        return array(carried.column(), begin, cells.len, held);
    }
    let rows: Vec<u32> = (begin..cells.len).map(|row| carried.at(row) as u32).collect();
    let column: Column = match carried.column() {
        Column::Constant(value, _) => rows.iter().map(|_| value.clone()).collect(),
        column => column.gather(&rows),
    };
    // A moved column leaves its vectors where they are.
    let boxed = Box::new(column);
    let made = array(&boxed, 0, len, BackingMemory::None);
    // SAFETY: the array was made just now, by us, and nobody else has it.
    let owned = unsafe { &mut *made.private_data.cast::<Owned>() };
    owned._held = BackingMemory::Column { _column: *boxed };
    made
}

/// Rows of a typed column as an array; `held` keeps the column where it is.
fn array(column: &Column, begin: usize, end: usize, held: BackingMemory) -> ArrowArray {
    let mut bits = [Vec::new(), Vec::new()];
    let (mut offsets, null_count) = (Vec::new(), nulls(column).map(|nulls| validity(nulls, begin, end)));
    let null_count = null_count.map_or(0, |(words, count)| {
        bits[0] = words;
        count
    });
    let valid = if bits[0].is_empty() { ptr::null() } else { bits[0].as_ptr().cast() };
    let buffers: Vec<*const c_void> = match column {
        Column::Int(values, _) => vec![valid, values[begin..end].as_ptr().cast()],
        Column::Float(values, _) => vec![valid, values[begin..end].as_ptr().cast()],
        Column::Bool(values, _) => {
            bits[1] = packed(&values[begin..end]);
            vec![valid, bits[1].as_ptr().cast()]
        }
        Column::Text(texts, _) => {
            offsets = offsets_of(texts, begin, end);
            vec![valid, offsets.as_ptr().cast(), texts.parts().0.as_ptr().cast()]
        }
        _ => vec![ptr::null()],
    };
    let owned = Owned { _held: held, _bits: bits, _offsets: offsets, buffers, children: Vec::new() };
    ArrowArray::new(end - begin, null_count, owned)
}

fn nulls(column: &Column) -> Option<&Nulls> {
    match column {
        Column::Int(_, nulls) | Column::Float(_, nulls) => Some(nulls),
        Column::Bool(_, nulls) => Some(nulls),
        Column::Text(_, nulls) => Some(nulls),
        _ => None,
    }
}

fn packed(truths: &[bool]) -> Vec<u64> {
    let mut words = vec![0u64; truths.len().div_ceil(64).max(1)];
    for (at, _) in truths.iter().enumerate().filter(|(_, truth)| **truth) {
        words[at / 64] |= 1 << (at % 64);
    }
    words
}

fn offsets_of(texts: &Texts, begin: usize, end: usize) -> Vec<i32> {
    let ends = texts.parts().1;
    let start = if begin == 0 { 0 } else { ends[begin - 1] };
    // Below 2 GiB, or the column would not be plain.
    std::iter::once(start).chain(ends[begin..end].iter().copied()).map(|end| end as i32).collect()
}

/// Rows that are all null, of this type.
fn of_nulls(kind: Kind, len: usize) -> ArrowArray {
    let zeros = vec![0u64; len.div_ceil(64).max(1)];
    let values = vec![0u64; len.max(1)];
    let offsets = vec![0i32; if kind == Kind::Text { len + 1 } else { 0 }];
    let (valid, filler) = (zeros.as_ptr().cast(), values.as_ptr().cast());
    let buffers = match kind {
        Kind::Null => Vec::new(),
        Kind::Text => vec![valid, offsets.as_ptr().cast(), filler],
        _ => vec![valid, filler],
    };
    let owned = Owned {
        _held: BackingMemory::None,
        _bits: [zeros, values],
        _offsets: offsets,
        buffers,
        children: Vec::new(),
    };
    ArrowArray::new(len, len as i64, owned)
}

/// Columns as one array of records.
fn record(columns: Vec<ArrowArray>, len: usize) -> ArrowArray {
    let children = columns.into_iter().map(|column| Box::into_raw(Box::new(column))).collect();
    let buffers = vec![ptr::null()];
    let owned = Owned {
        _held: BackingMemory::None,
        _bits: [Vec::new(), Vec::new()],
        _offsets: Vec::new(),
        buffers,
        children,
    };
    ArrowArray::new(len, 0, owned)
}

/// As the C data interface lays it out.
#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

// SAFETY: what it points to is never changed, and belongs to its private data alone.
unsafe impl Send for ArrowArray {}

impl ArrowArray {
    fn new(len: usize, null_count: i64, owned: Owned) -> ArrowArray {
        let owned = Box::into_raw(Box::new(owned));
        // SAFETY: it was made just now; its vectors are not changed any more, so their places stay.
        let (buffers, children) = unsafe { (&mut (*owned).buffers, &mut (*owned).children) };
        ArrowArray {
            length: len as i64,
            null_count,
            offset: 0,
            n_buffers: buffers.len() as i64,
            n_children: children.len() as i64,
            buffers: buffers.as_mut_ptr(),
            children: children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: owned.cast(),
        }
    }
    /// As a reader leaves it that moved the content elsewhere.
    fn released() -> ArrowArray {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it was not released yet, and `release` belongs to it.
            unsafe { release(self) };
        }
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: readers call it once, with an array of ours; its private data and children were boxed above.
    unsafe {
        let owned = Box::from_raw((*array).private_data.cast::<Owned>());
        for child in &owned.children {
            drop(Box::from_raw(*child));
        }
        (*array).release = None;
    }
}

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// Private data of a schema.
struct Named {
    _name: CString,
    children: Vec<*mut ArrowSchema>,
}

/// The column may hold nulls.
const NULLABLE: i64 = 2;

fn schema(name: &str, format: &'static CStr, flags: i64, children: Vec<ArrowSchema>) -> ArrowSchema {
    // C has no text with a zero in it.
    let name = CString::new(name.replace('\0', " ")).unwrap_or_default();
    let shown = name.as_ptr();
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let named = Box::into_raw(Box::new(Named { _name: name, children }));
    // SAFETY: it was made just now; its vector is not changed any more.
    let children = unsafe { &mut (*named).children };
    ArrowSchema {
        format: format.as_ptr(),
        name: shown,
        metadata: ptr::null(),
        flags,
        n_children: children.len() as i64,
        children: children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: named.cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: readers call it once, with a schema of ours; children that were moved away have no `release` any more.
    unsafe {
        let named = Box::from_raw((*schema).private_data.cast::<Named>());
        for child in &named.children {
            let mut child = Box::from_raw(*child);
            if let Some(release) = child.release {
                release(&mut *child);
            }
        }
        (*schema).release = None;
    }
}

/// As the C stream interface lays it out.
#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: it is used by one thread at a time, as the interface says; its private data may go to another.
unsafe impl Send for ArrowArrayStream {}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it was not released yet, and `release` belongs to it.
            unsafe { release(self) };
        }
    }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the reader gives a stream of ours that was not released, and room for a schema.
    unsafe {
        let stream = &*(*stream).private_data.cast::<Stream>();
        let fields =
            stream.fields.iter().map(|(name, kind)| schema(name, kind.format(), NULLABLE, Vec::new()));
        out.write(schema("", c"+s", 0, fields.collect()));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above; a released array says that there are no more.
    unsafe {
        let stream = &mut *(*stream).private_data.cast::<Stream>();
        out.write(stream.chunks.next().unwrap_or_else(ArrowArray::released));
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: readers call it once, with a stream of ours.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Stream>()));
        (*stream).release = None;
    }
}
