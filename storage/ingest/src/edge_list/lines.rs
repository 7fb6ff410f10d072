//! Lines of an edge list: fields, ids, numbers.

use super::file::EdgeFile;
use crate::cell;
use crate::reject::Rejects;
use formats::blocks::Block;
use formats::records::{Format, Records};
use model::{Column, Nulls};

pub(super) const PLAIN: Format = Format { delimiter: b'\t', quoting: false };

pub(super) fn is_comment(record: &[u8]) -> bool {
    let first = record.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, None | Some(b'#' | b'%'))
}

/// Fields of a line: separated by blanks and at most one comma or semicolon, or by the given delimiter.
pub(super) struct Fields<'a> {
    pub(super) rest: &'a [u8],
    pub(super) delimiter: Option<u8>,
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
pub(super) enum Ends {
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
    pub(super) fn len(&self) -> usize {
        match self {
            Ends::Narrow(pairs) => pairs.len(),
            Ends::Wide(pairs) => pairs.len(),
        }
    }
    pub(super) fn for_each(&self, mut found: impl FnMut(i64)) {
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
pub(super) enum Numbers {
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
    pub(super) fn make_floats(&mut self) {
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
    pub(super) fn into_column(self) -> Column {
        match self {
            Numbers::Ints(rows) => Column::Int(rows, Nulls::none()),
            Numbers::Floats(rows) => Column::Float(rows, Nulls::none()),
        }
    }
}

fn number(field: &[u8]) -> Result<f64, String> {
    cell::float(field).ok_or_else(|| format!("{} is no number", cell::shown(field)))
}

/// The content of one block.
pub(super) struct Parsed {
    pub(super) ends: Ends,
    /// Ids of a file that lists vertices.
    pub(super) vertices: Vec<i64>,
    pub(super) numbers: Vec<Numbers>,
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Parsed {
    /// Calls `found` with every id, as often as it is there.
    pub(super) fn for_each_id(&self, found: &mut dyn FnMut(i64)) {
        self.ends.for_each(&mut *found);
        self.vertices.iter().for_each(|id| found(*id));
    }
    /// The same ids, sorted, each once.
    pub(super) fn distinct(&self) -> Vec<i64> {
        let mut ids = Vec::with_capacity(self.ends.len() * 2 + self.vertices.len());
        self.for_each_id(&mut |id| ids.push(id));
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

pub(super) fn parse(file: &EdgeFile, block: &Block, rejects: &mut Rejects) -> Parsed {
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
