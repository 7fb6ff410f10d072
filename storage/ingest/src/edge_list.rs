//! Bare edge lists: two integers a line, as SNAP and many others publish graphs.
//!
//! Fields are separated by tabs, blanks, commas or semicolons; lines that begin with `#` or `%` are comments; a first line of names is a
//! header. A third column is the property `weight`, a fourth `timestamp`, or what the header calls them; more columns are left out. A
//! file with one integer a line lists vertices. Vertices get the property `id`, uniquely indexed, and are made in the order of their ids,
//! so that neighbours in number are neighbours in the store.
//!
//! Cost: 8 bytes an edge while ids fit 32 bits (16 otherwise), turned into dense vertex numbers in place; distinct ids are found by a
//! bitmap where they lie close enough together, else by sorting.

use crate::blocks::Block;
use crate::cell;
use crate::existing::{Existing, LabelSets};
use crate::ids::{Id, IdColumn, IdMap};
use crate::load::{Counts, Loaded};
use crate::reject::Rejects;
use crate::rules::Rules;
use crate::source::{self, InputFile};
use crate::split::{Format, Records};
use crate::table::{Space, WantedIndex};
use crate::work::{Job, Work};
use crate::{DEFAULT_EDGE_TYPE, DEFAULT_VERTEX_LABEL, ImportError, ImportOptions};
use model::schema::SchemaTarget;
use model::{Column, KeyId, LabelId, Nulls};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{Bulk, Names, Room, Snapshot, Store};

/// Columns that are kept: two ends and two properties.
const COLUMNS_MAX: usize = 4;
/// Bits of a bitmap that an edge may cost; sorting its two ends needs more memory than this.
const BITS_PER_EDGE_MAX: u64 = 128;

/// How one file is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EdgeFile {
    pub file: usize,
    /// Fields a line has.
    pub columns: usize,
    /// The line with names, if there is one.
    pub header_line: Option<u64>,
    /// Names of the third and fourth column.
    pub property_names: Vec<String>,
    pub delimiter: Option<u8>,
}

/// Edge lists to be read.
#[derive(Debug, Default)]
pub(crate) struct EdgeLists {
    pub files: Vec<EdgeFile>,
    pub skipped: Vec<PathBuf>,
}

/// The edge lists among these files.
pub(crate) fn edge_lists(files: &[InputFile], options: &ImportOptions) -> Result<EdgeLists, ImportError> {
    let mut lists = EdgeLists::default();
    for (at, file) in files.iter().enumerate() {
        let head = source::head(file)?;
        match edge_file(at, &head, options.delimiter) {
            Some(found) => lists.files.push(found),
            None => lists.skipped.push(file.shown.clone()),
        }
    }
    // Files of single integers are vertices of a graph only beside edges.
    if lists.files.iter().all(|file| file.columns == 1) {
        lists.files.clear();
    }
    Ok(lists)
}

fn edge_file(file: usize, head: &[u8], delimiter: Option<u8>) -> Option<EdgeFile> {
    let mut header: Option<(u64, Vec<String>)> = None;
    for (line, record) in Records::new(head, PLAIN, 1) {
        if is_comment(record) {
            continue;
        }
        let fields: Vec<&[u8]> = Fields { rest: record, delimiter }.collect();
        let ids = fields.iter().take(2).filter(|field| cell::int(field).is_some()).count();
        if ids == fields.len().min(2) {
            let default = ["weight", "timestamp"];
            let named = |at: usize| {
                let names = header.as_ref().map(|(_, names)| names);
                names.and_then(|names| names.get(at + 2)).map_or(default[at].to_string(), String::clone)
            };
            let property_names = (0..fields.len().clamp(2, COLUMNS_MAX) - 2).map(named).collect();
            let header_line = header.map(|(line, _)| line);
            return Some(EdgeFile { file, columns: fields.len(), header_line, property_names, delimiter });
        }
        if header.is_some() || ids > 0 {
            return None;
        }
        let name = |field: &&[u8]| String::from_utf8_lossy(field).trim_matches('"').to_string();
        header = Some((line, fields.iter().map(name).collect()));
    }
    None
}

const PLAIN: Format = Format { delimiter: b'\t', quoting: false };

fn is_comment(record: &[u8]) -> bool {
    let first = record.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, None | Some(b'#' | b'%'))
}

/// Fields of a line: separated by blanks and at most one comma or semicolon, or by the delimiter that was asked for.
struct Fields<'a> {
    rest: &'a [u8],
    delimiter: Option<u8>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.trim_ascii_start();
        if rest.is_empty() {
            self.rest = rest;
            return None;
        }
        let separates = |byte: &u8| match self.delimiter {
            Some(delimiter) => *byte == delimiter,
            None => matches!(byte, b'\t' | b' ' | b',' | b';'),
        };
        let end = rest.iter().position(separates).unwrap_or(rest.len());
        let (field, after) = rest.split_at(end);
        let after = if self.delimiter.is_some() { after } else { after.trim_ascii_start() };
        self.rest = match after.split_first() {
            Some((first, left)) if separates(first) => left,
            _ => after,
        };
        Some(field.trim_ascii_end())
    }
}

/// Ends of the edges of a block.
enum Ends {
    Narrow(Vec<(u32, u32)>),
    Wide(Vec<(i64, i64)>),
}

impl Ends {
    #[inline]
    fn push(&mut self, source: i64, target: i64) {
        match self {
            Ends::Wide(pairs) => pairs.push((source, target)),
            Ends::Narrow(pairs) => match (u32::try_from(source), u32::try_from(target)) {
                (Ok(source), Ok(target)) => pairs.push((source, target)),
                _ => {
                    let wide = pairs.iter().map(|(source, target)| (i64::from(*source), i64::from(*target)));
                    *self = Ends::Wide(wide.collect());
                    self.push(source, target);
                }
            },
        }
    }
    fn len(&self) -> usize {
        match self {
            Ends::Narrow(pairs) => pairs.len(),
            Ends::Wide(pairs) => pairs.len(),
        }
    }
    fn for_each(&self, mut found: impl FnMut(i64)) {
        match self {
            Ends::Narrow(pairs) => pairs.iter().for_each(|(source, target)| {
                found(i64::from(*source));
                found(i64::from(*target));
            }),
            Ends::Wide(pairs) => pairs.iter().for_each(|(source, target)| {
                found(*source);
                found(*target);
            }),
        }
    }
}

/// Numbers of a property column: integers until a fraction comes.
enum Numbers {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Numbers {
    fn push(&mut self, field: &[u8]) -> Result<(), String> {
        match (cell::int(field), &mut *self) {
            (Some(int), Numbers::Ints(rows)) => rows.push(int),
            (_, Numbers::Floats(rows)) => rows.push(number(field)?),
            (None, Numbers::Ints(_)) => {
                let float = number(field)?;
                self.make_floats();
                if let Numbers::Floats(rows) = self {
                    rows.push(float);
                }
            }
        }
        Ok(())
    }
    fn make_floats(&mut self) {
        if let Numbers::Ints(rows) = self {
            *self = Numbers::Floats(rows.iter().map(|int| *int as f64).collect());
        }
    }
    fn truncate(&mut self, len: usize) {
        match self {
            Numbers::Ints(rows) => rows.truncate(len),
            Numbers::Floats(rows) => rows.truncate(len),
        }
    }
    fn into_column(self) -> Column {
        match self {
            Numbers::Ints(rows) => Column::Int(rows, Nulls::none()),
            Numbers::Floats(rows) => Column::Float(rows, Nulls::none()),
        }
    }
}

fn number(field: &[u8]) -> Result<f64, String> {
    cell::float(field).ok_or_else(|| format!("{} is no number", cell::shown(field)))
}

/// What one block holds.
struct Parsed {
    ends: Ends,
    /// Ids of a file that lists vertices.
    vertices: Vec<i64>,
    numbers: Vec<Numbers>,
    low: i64,
    high: i64,
}

fn parse(file: &EdgeFile, block: &Block, rejects: &mut Rejects) -> Parsed {
    let mut parsed = Parsed {
        ends: Ends::Narrow(Vec::new()),
        vertices: Vec::new(),
        numbers: file.property_names.iter().map(|_| Numbers::Ints(Vec::new())).collect(),
        low: i64::MAX,
        high: i64::MIN,
    };
    for (line, record) in Records::new(&block.bytes, PLAIN, block.first_line) {
        if is_comment(record) || file.header_line == Some(line) {
            continue;
        }
        if let Err(what) = parse_line(file, record, &mut parsed) {
            rejects.add(line, what);
        }
    }
    parsed
}

#[inline]
fn parse_line(file: &EdgeFile, record: &[u8], parsed: &mut Parsed) -> Result<(), String> {
    let mut fields = Fields { rest: record, delimiter: file.delimiter };
    let mut id = || {
        let field = fields.next().ok_or("a second id is missing")?;
        cell::int(field).ok_or_else(|| format!("{} is no integer", cell::shown(field)))
    };
    let source = id()?;
    let target = if file.columns == 1 { source } else { id()? };
    let edges = parsed.ends.len();
    let pushed = push_numbers(file, fields, &mut parsed.numbers);
    if let Err(what) = pushed {
        parsed.numbers.iter_mut().for_each(|numbers| numbers.truncate(edges));
        return Err(what);
    }
    match file.columns {
        1 => parsed.vertices.push(source),
        _ => parsed.ends.push(source, target),
    }
    parsed.low = parsed.low.min(source).min(target);
    parsed.high = parsed.high.max(source).max(target);
    Ok(())
}

fn push_numbers(file: &EdgeFile, mut fields: Fields<'_>, numbers: &mut [Numbers]) -> Result<(), String> {
    let mut count = file.columns.min(2);
    for numbers in numbers {
        let field = fields.next().ok_or_else(|| arity(count, file.columns))?;
        numbers.push(field)?;
        count += 1;
    }
    count += fields.count();
    if count == file.columns { Ok(()) } else { Err(arity(count, file.columns)) }
}

fn arity(found: usize, wanted: usize) -> String {
    format!("{found} fields where the first line has {wanted}")
}

/// Reads edge lists, to be built on top of a snapshot.
pub(crate) fn load<'a>(
    work: &Work<'_>,
    lists: &EdgeLists,
    options: &ImportOptions,
    store: &'a Store,
    snapshot: &Snapshot,
    room: Option<Room<'a>>,
) -> Result<Loaded<'a>, ImportError> {
    let names = store.names();
    let label = names.intern_label(options.vertex_label.as_deref().unwrap_or(DEFAULT_VERTEX_LABEL))?;
    let edge_type = names.intern_edge_type(options.edge_type.as_deref().unwrap_or(DEFAULT_EDGE_TYPE))?;
    let key = names.intern_key("id")?;
    work.phase("reading edges");
    let format = PLAIN;
    let jobs: Vec<Job> = lists.files.iter().map(|file| Job { file: file.file, format, skip: 0 }).collect();
    let parsed = work.sweep(&jobs, |job, block, rejects| {
        let parsed = parse(&lists.files[job], block, rejects);
        work.edges.fetch_add(parsed.ends.len() as u64, Ordering::Relaxed);
        parsed
    })?;
    work.phase("finding vertices");
    let space = Space { key: Some(key), labels: vec![label], ..Space::default() };
    let existing = Existing::new(snapshot, &[space], &[LabelSets::new()])?;
    let bulk = Bulk::within(store.allocator(), room);
    let mut counts = Counts::default();
    let blocks: Vec<&Parsed> = parsed.iter().flatten().collect();
    let ids = distinct(work, &blocks);
    let map = make_vertices(work, &bulk, &existing, names, (label, key), ids, &mut counts)?;
    work.phase("connecting");
    for (edges, columns) in connect(work, names, lists, parsed, &map)? {
        check_edges(snapshot, edge_type, &edges, &columns)?;
        *counts.edges.entry(edge_type).or_default() += edges.len() as u64;
        bulk.edges(edge_type, edges, columns)?;
    }
    let indexes = vec![WantedIndex { label, key, unique: true }];
    Ok(Loaded { bulk, counts, indexes, existing })
}

/// All ids, sorted, each once.
fn distinct(work: &Work<'_>, blocks: &[&Parsed]) -> Vec<i64> {
    let low = blocks.iter().map(|block| block.low).min().unwrap_or(i64::MAX);
    let high = blocks.iter().map(|block| block.high).max().unwrap_or(i64::MIN);
    if low > high {
        return Vec::new();
    }
    let count: usize = blocks.iter().map(|block| block.ends.len() * 2 + block.vertices.len()).sum();
    let each = |block: &Parsed, found: &mut dyn FnMut(i64)| {
        block.ends.for_each(&mut *found);
        block.vertices.iter().for_each(|id| found(*id));
    };
    if high.abs_diff(low) > count as u64 * BITS_PER_EDGE_MAX {
        let sorted = work.map(blocks.len(), |at| {
            let mut ids = Vec::new();
            each(blocks[at], &mut |id| ids.push(id));
            ids.sort_unstable();
            ids.dedup();
            ids
        });
        let mut ids = sorted.concat();
        ids.sort_unstable();
        ids.dedup();
        return ids;
    }
    let words: Vec<AtomicU64> = (0..high.abs_diff(low) / 64 + 1).map(|_| AtomicU64::new(0)).collect();
    work.parallel(blocks.len(), &|at| {
        each(blocks[at], &mut |id| {
            let place = id.abs_diff(low);
            let (word, bit) = (&words[(place / 64) as usize], 1 << (place % 64));
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        });
    });
    let mut ids = Vec::new();
    for (at, word) in words.into_iter().enumerate() {
        let mut left = word.into_inner();
        while left != 0 {
            ids.push(low + (at as u64 * 64 + u64::from(left.trailing_zeros())) as i64);
            left &= left - 1;
        }
    }
    ids
}

/// Makes the vertices that the database has not got yet; the map from id to dense vertex.
fn make_vertices(
    work: &Work<'_>,
    bulk: &Bulk<'_>,
    existing: &Existing,
    names: &Names,
    (label, key): (LabelId, KeyId),
    ids: Vec<i64>,
    counts: &mut Counts,
) -> Result<IdMap, ImportError> {
    let mut dense = vec![0u32; ids.len()];
    let (mut new, mut rows) = (Vec::new(), Vec::new());
    for (row, id) in ids.iter().enumerate() {
        match existing.has_any(0).then(|| existing.find(0, Id::Int(*id))).transpose()?.flatten() {
            Some(vertex) => dense[row] = vertex,
            None => {
                new.push(*id);
                rows.push(row);
            }
        }
    }
    let count = new.len();
    let columns = vec![(key, Column::Int(new, Nulls::none()))];
    let targets = [SchemaTarget::Vertices(label)];
    if let Some((_, what)) =
        Rules::new(existing.snapshot()).broken(&targets, count, &columns).into_iter().next()
    {
        return Err(ImportError::Constraint { what });
    }
    let made = bulk.vertices(names.intern_label_set(&[label])?, count, columns)?;
    rows.into_iter().zip(made.into_iter().flatten()).for_each(|(row, vertex)| dense[row] = vertex);
    work.vertices.store(count as u64, Ordering::Relaxed);
    counts.vertices.insert(vec![label], count as u64);
    let (mut map, _) = IdMap::build(&[&IdColumn::Ints(ids)], &|count, task| work.parallel(count, task));
    map.renumber(|row| dense[row as usize]);
    Ok(map)
}

type Columns = Vec<(KeyId, Column)>;
/// Edges of one block between dense vertices, with their properties.
type Connected = (Vec<(u32, u32)>, Columns);

/// The edges between dense vertices, batch by batch in file order.
fn connect(
    work: &Work<'_>,
    names: &Names,
    lists: &EdgeLists,
    parsed: Vec<Vec<Parsed>>,
    map: &IdMap,
) -> Result<Vec<Connected>, ImportError> {
    let mut batches = Vec::new();
    for (file, mut blocks) in lists.files.iter().zip(parsed) {
        let mut keys = Vec::new();
        for (column, name) in file.property_names.iter().enumerate() {
            keys.push(names.intern_key(name)?);
            let is_float = |block: &Parsed| matches!(block.numbers[column], Numbers::Floats(_));
            if blocks.iter().any(is_float) {
                blocks.iter_mut().for_each(|block| block.numbers[column].make_floats());
            }
        }
        for block in blocks {
            let numbers = block.numbers.into_iter().map(Numbers::into_column);
            let columns: Columns = keys.iter().copied().zip(numbers).collect();
            batches.push((parking_lot::Mutex::new(block.ends), columns));
        }
    }
    let vertex = |id: i64| map.get(Id::Int(id)).expect("every id was given a vertex");
    work.parallel(batches.len(), &|at| {
        let ends = &mut *batches[at].0.lock();
        match ends {
            Ends::Narrow(pairs) => pairs.iter_mut().for_each(|(source, target)| {
                (*source, *target) = (vertex(i64::from(*source)), vertex(i64::from(*target)));
            }),
            Ends::Wide(pairs) => {
                let narrow = pairs.iter().map(|(source, target)| (vertex(*source), vertex(*target)));
                *ends = Ends::Narrow(narrow.collect());
            }
        }
    });
    let narrow = |ends: Ends| match ends {
        Ends::Narrow(pairs) => pairs,
        Ends::Wide(_) => unreachable!("all were made narrow"),
    };
    let batches = batches.into_iter().map(|(ends, columns)| (narrow(ends.into_inner()), columns));
    Ok(batches.filter(|(pairs, _)| !pairs.is_empty()).collect())
}

fn check_edges(
    snapshot: &Snapshot,
    edge_type: model::EdgeTypeId,
    edges: &[(u32, u32)],
    columns: &Columns,
) -> Result<(), ImportError> {
    let broken = Rules::new(snapshot).broken(&[SchemaTarget::Edges(edge_type)], edges.len(), columns);
    match broken.into_iter().next() {
        Some((_, what)) => Err(ImportError::Constraint { what }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
