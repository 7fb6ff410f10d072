//! Guesses the meaning of ordinary CSV without a mapping: by the names of the columns, and by where ids occur.
//!
//! - A file with two columns such as `from` and `to`, or `person_id` and `city_id` and no id of its own, holds relationships; its name is their type.
//! - Any other holds nodes; its name is their label, and `id`, `person_id` in `people.csv` and the like is the column of the ids.
//! - An end leads to the nodes that its column is named after, to the only nodes there are, or to those whose ids it holds.
//!
//! An ambiguous file is refused, naming the flags that would decide. Where there are only relationships, the nodes are made of their ends.

use crate::headers::{upper_snake, without_part_numbers};
use crate::mapping::{MappedEdges, MappedEnd, MappedFile, MappedNodes, Mapping};
use crate::plain::{self, Habits};
use crate::rows::capitalised;
use crate::sniff::{self, Shape};
use crate::source::{self, InputFile};
use crate::table::Tables;
use crate::{DEFAULT_EDGE_TYPE, DEFAULT_VERTEX_LABEL, ImportError, ImportOptions, Layout, cell};
use formats::records::{Format, Records, split};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use store::Names;

/// Names of two columns that are the ends of a relationship.
const ENDS: [(&str, &str); 16] = [
    ("from", "to"),
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("start", "end"),
    ("head", "tail"),
    ("from_id", "to_id"),
    ("fromid", "toid"),
    ("source_id", "target_id"),
    ("sourceid", "targetid"),
    ("src_id", "dst_id"),
    ("start_id", "end_id"),
    ("startid", "endid"),
    ("from_node", "to_node"),
    ("fromnodeid", "tonodeid"),
    ("follower", "followee"),
];
/// Names of a column of ids.
const IDS: [&str; 6] = ["id", "_id", "uid", "uuid", "key", "nodeid"];
/// Records at the beginning of a file by which the nodes of its ends are guessed.
const SAMPLE_MAX: usize = 20_000;
/// Possible separators of the ends of a list of relationships.
const LIST_DELIMITERS: [u8; 5] = [b'\t', b',', b';', b'|', b' '];

/// A file that has the form of CSV.
struct Looked {
    file: usize,
    shape: Shape,
    /// The name of the file, in lower case.
    stem: String,
}

impl Looked {
    fn at(&self, name: &str) -> Option<usize> {
        self.shape.names.iter().position(|column| column.to_lowercase() == name)
    }
    /// The two columns with the names of ends.
    fn ends(&self) -> Option<(usize, usize)> {
        ENDS.iter().find_map(|(from, to)| Some((self.at(from)?, self.at(to)?)))
    }
    /// The column with the ids of its rows.
    fn id(&self) -> Option<usize> {
        let own = names_of(&self.stem).into_iter().flat_map(|name| {
            [format!("{name}_id"), format!("{name}id"), format!("{name}_key"), format!("{name}_uuid")]
        });
        let known = IDS.iter().map(|name| (*name).to_string()).chain(own);
        known.into_iter().find_map(|name| self.at(&name))
    }
    /// Is the first line a header although it names one thing twice? A list of relationships without a header begins with two ends, which
    /// may be the same.
    fn is_surely_a_header(&self) -> bool {
        self.shape.names.len() > 2 || self.id().is_some()
    }
    /// Two columns that are named after other things than this file.
    fn foreign(&self) -> Option<(usize, usize)> {
        let named = |name: &String| stem_of_column(&name.to_lowercase()).is_some();
        let columns: Vec<usize> =
            (0..self.shape.names.len()).filter(|at| named(&self.shape.names[*at])).collect();
        match (self.id(), columns.as_slice()) {
            (None, [first, second]) => Some((*first, *second)),
            _ => None,
        }
    }
}

/// The thing that a column such as `person_id` is named after.
fn stem_of_column(name: &str) -> Option<&str> {
    let stem = name.strip_suffix("_id").or(name.strip_suffix("id")).or(name.strip_suffix("_key"))?;
    let stem = stem.trim_end_matches(|last: char| last.is_ascii_digit() || last == '_');
    (!stem.is_empty()).then_some(stem)
}

/// A file's name in the singular and as it is: `people`, `person`.
fn names_of(stem: &str) -> Vec<String> {
    let mut names = vec![stem.to_string()];
    if let Some(front) = stem.strip_suffix("ies") {
        names.push(format!("{front}y"));
    }
    if let Some(front) = stem.strip_suffix("es") {
        names.push(front.to_string());
    }
    if let Some(front) = stem.strip_suffix('s') {
        names.push(front.to_string());
    }
    if stem == "people" {
        names.push("person".into());
    }
    names
}

fn look(files: &[InputFile], options: &ImportOptions) -> Result<Vec<Looked>, ImportError> {
    let mut looked = Vec::new();
    for (file, input) in files.iter().enumerate() {
        if files.len() > 1 && input.staged.as_ref().is_some_and(|staged| staged.is_lone) {
            let what = format!(
                "{} is one object of JSON and may be no table, such as settings; move it away, or say what all files are",
                input.shown.display()
            );
            return Err(ImportError::Mapping { what });
        }
        let Ok(shape) = Shape::of(input, &MappedFile::default(), options.delimiter) else { continue };
        let head = source::head(input)?;
        let name = input.name().to_ascii_lowercase();
        let is_staged = input.staged.is_some();
        let is_named = is_staged || [".csv", ".tsv"].iter().any(|ending| name.ends_with(ending));
        let is_column = |name: &String| !name.is_empty() && cell::float(name.as_bytes()).is_none();
        let is_header = is_staged || shape.names.iter().all(is_column) && !head.contains(&0);
        if is_header && (is_named || shape.names.len() > 1 && is_regular(&head, &shape)) {
            let stem = without_part_numbers(input.stem()).to_lowercase();
            let found = Looked { file, shape, stem };
            if found.shape.twice.is_none() {
                looked.push(found);
            } else if found.is_surely_a_header() {
                found.shape.named_once(input)?;
            }
        }
    }
    Ok(looked)
}

/// Has every record as many fields as the first?
fn is_regular(head: &[u8], shape: &Shape) -> bool {
    let mut records = Records::new(head, shape.format, 1).filter(|(_, record)| !record.is_empty()).peekable();
    let mut count = 0;
    while let Some((_, record)) = records.next() {
        let mut fields = Vec::new();
        let is_whole = split(record, shape.format, &mut fields).is_ok() && fields.len() == shape.names.len();
        // The beginning of a file may end inside a record.
        if !is_whole && records.peek().is_some() {
            return false;
        }
        count += 1;
    }
    count > 1
}

/// Are these files ordinary CSV, and not only lists of relationships between whole numbers?
pub(crate) fn is_csv(files: &[InputFile], options: &ImportOptions) -> Result<bool, ImportError> {
    let looked = look(files, options)?;
    for looked in &looked {
        let head = source::head(&files[looked.file])?;
        if files[looked.file].staged.is_some() {
            return Ok(true);
        }
        let is_list = crate::edge_list::is_edge_list(&head, options.delimiter);
        let has_id = looked.id().is_some() && looked.ends().is_none();
        if has_id || (!is_list && (looked.ends().is_some() || looked.foreign().is_some())) {
            return Ok(true);
        }
        let name = files[looked.file].name().to_ascii_lowercase();
        if !is_list && (name.ends_with(".csv") || name.ends_with(".tsv")) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The tables of ordinary CSV.
pub(crate) fn tables(
    files: &[InputFile],
    options: &ImportOptions,
    names: &Names,
) -> Result<Tables, ImportError> {
    let looked = look(files, options)?;
    if looked.is_empty() {
        return Ok(Tables::default());
    }
    let guessing = Guessing { files, looked: &looked, options };
    let (mapping, implied) = guessing.mapping()?;
    let by_path = guessing.by_path();
    let habits = Habits { implied, comments: false };
    let mut plan = plain::tables(files, &plain::mapped(&mapping, &by_path), habits, options, names)?;
    let left = files.iter().enumerate().filter(|(at, _)| looked.iter().all(|looked| looked.file != *at));
    plan.skipped = left.map(|(_, file)| file.shown.clone()).collect();
    Ok(plan)
}

struct Guessing<'g> {
    files: &'g [InputFile],
    looked: &'g [Looked],
    options: &'g ImportOptions,
}

impl Guessing<'_> {
    fn by_path(&self) -> BTreeMap<PathBuf, Vec<usize>> {
        self.looked.iter().map(|looked| (self.files[looked.file].shown.clone(), vec![looked.file])).collect()
    }
    fn ends(&self, looked: &Looked) -> Option<(usize, usize)> {
        looked.ends().or_else(|| looked.foreign().filter(|_| self.looked.len() > 1))
    }

    /// The meaning of the files, and whether the nodes are made of ends.
    fn mapping(&self) -> Result<(Mapping, bool), ImportError> {
        let mut mapping = Mapping::default();
        let nodes: Vec<&Looked> = self.looked.iter().filter(|looked| self.ends(looked).is_none()).collect();
        for looked in &nodes {
            let file = self.files[looked.file].shown.clone();
            let id = looked.id().map(|at| looked.shape.names[at].clone());
            mapping.nodes.push(MappedNodes::new(vec![self.label(looked)], file, id));
        }
        for looked in self.looked {
            let Some((from, to)) = self.ends(looked) else { continue };
            let end = |at: usize| -> Result<MappedEnd, ImportError> {
                let column = looked.shape.names[at].clone();
                Ok(MappedEnd { label: self.label_of_end(looked, at, &nodes)?, column })
            };
            let (from, to) = (end(from)?, end(to)?);
            let edge_type = self.options.edge_type.clone().unwrap_or_else(|| self.edge_type(looked));
            let (file, columns) = (self.files[looked.file].shown.clone(), BTreeMap::new());
            mapping.edges.push(MappedEdges {
                file,
                edge_type,
                from,
                to,
                columns,
                read: MappedFile::default(),
            });
        }
        Ok((mapping, nodes.is_empty()))
    }
    fn stem(&self, looked: &Looked) -> &str {
        without_part_numbers(self.files[looked.file].stem())
    }
    /// The label that a file's name gives: `cities.csv` has `Cities`.
    fn label(&self, looked: &Looked) -> String {
        if let Some(label) = self.options.vertex_label.as_ref().filter(|_| self.looked.len() == 1) {
            return label.clone();
        }
        let label: String = self.stem(looked).split(['_', '-', ' ', '.']).map(capitalised).collect();
        // Standard input has no name.
        if label.is_empty() { DEFAULT_VERTEX_LABEL.into() } else { label }
    }
    /// The type that a file's name gives: `works_at.csv` has `WORKS_AT`.
    fn edge_type(&self, looked: &Looked) -> String {
        match self.stem(looked) {
            stem if stem.contains(char::is_alphanumeric) => upper_snake(stem),
            _ => DEFAULT_EDGE_TYPE.into(),
        }
    }
    fn label_of_end(&self, looked: &Looked, at: usize, nodes: &[&Looked]) -> Result<String, ImportError> {
        let name = looked.shape.names[at].to_lowercase();
        let with_ids: Vec<&&Looked> = nodes.iter().filter(|nodes| nodes.id().is_some()).collect();
        let stem = stem_of_column(&name).unwrap_or(&name);
        if let Some(named) =
            with_ids.iter().find(|nodes| names_of(&nodes.stem).iter().any(|name| name == stem))
        {
            return Ok(self.label(named));
        }
        match with_ids.as_slice() {
            [] if nodes.is_empty() => {
                Ok(self.options.vertex_label.clone().unwrap_or_else(|| DEFAULT_VERTEX_LABEL.into()))
            }
            [only] => Ok(self.label(only)),
            several => self.label_by_ids(looked, at, several),
        }
    }
    /// The nodes whose ids a column holds.
    fn label_by_ids(&self, looked: &Looked, at: usize, nodes: &[&&Looked]) -> Result<String, ImportError> {
        let wanted = self.sample(looked, at)?;
        let mut best: Vec<(usize, String)> = Vec::new();
        for nodes in nodes {
            let ids = nodes.id().map_or(Ok(BTreeSet::new()), |id| self.sample(nodes, id))?;
            best.push((wanted.intersection(&ids).count(), self.label(nodes)));
        }
        best.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        match best.as_slice() {
            [(count, label), rest @ ..]
                if *count > 0 && rest.first().is_none_or(|(other, _)| other < count) =>
            {
                Ok(label.clone())
            }
            _ => {
                let file = self.files[looked.file].shown.display();
                let column = &looked.shape.names[at];
                let labels: Vec<String> =
                    nodes.iter().map(|nodes| format!(":{}", self.label(nodes))).collect();
                let labels = if labels.is_empty() { "nothing with ids".into() } else { labels.join(" or ") };
                let what =
                    format!("{file}: it is not clear which nodes the column `{column}` means: {labels}");
                Err(ImportError::Mapping { what })
            }
        }
    }
    fn sample(&self, looked: &Looked, at: usize) -> Result<BTreeSet<Vec<u8>>, ImportError> {
        let head = source::head(&self.files[looked.file])?;
        let mut values = BTreeSet::new();
        let records = Records::new(&head, looked.shape.format, 1).skip(looked.shape.skip());
        for (_, record) in records.take(SAMPLE_MAX) {
            let mut fields = Vec::new();
            if split(record, looked.shape.format, &mut fields).is_ok()
                && let Some(field) = fields.get(at).filter(|field| !field.bytes.is_empty())
            {
                values.insert(field.bytes.to_vec());
            }
        }
        Ok(values)
    }
}

/// The tables of lists of relationships whose ends are texts: two a line, then properties; nodes are made of the ends.
pub(crate) fn text_edges(
    files: &[InputFile],
    options: &ImportOptions,
    names: &Names,
) -> Result<Tables, ImportError> {
    let (mut mapping, mut by_path) = (Mapping::default(), BTreeMap::new());
    let mut skipped = Vec::new();
    for (at, input) in files.iter().enumerate() {
        match list_of_ends(input, options)? {
            Some(edges) => {
                by_path.insert(edges.file.clone(), vec![at]);
                mapping.edges.push(edges);
            }
            None => skipped.push(input.shown.clone()),
        }
    }
    if mapping.is_empty() {
        return Ok(Tables { skipped, ..Tables::default() });
    }
    let habits = Habits { implied: true, comments: true };
    let plan = plain::tables(files, &plain::mapped(&mapping, &by_path), habits, options, names)?;
    Ok(Tables { skipped, ..plan })
}

/// A file as a list of relationships, if every record has the same two fields or more.
fn list_of_ends(input: &InputFile, options: &ImportOptions) -> Result<Option<MappedEdges>, ImportError> {
    let head = source::head(input)?;
    if head.contains(&0) || std::str::from_utf8(&head).is_err_and(|error| error.error_len().is_some()) {
        return Ok(None);
    }
    let count = |delimiter: u8| sniff::field_count(&head, Format { delimiter, quoting: true }, true);
    let candidates = options.delimiter.map_or(LIST_DELIMITERS.to_vec(), |given| vec![given]);
    // Prose is separated by blanks, too: where nobody said that it is a list, it is none.
    let may_be =
        |delimiter: &u8| *delimiter != b' ' || options.layout == Layout::Edges || options.delimiter.is_some();
    let found = candidates
        .into_iter()
        .filter(may_be)
        .find(|delimiter| count(*delimiter).is_some_and(|count| count > 1));
    let Some(delimiter) = found else { return Ok(None) };
    let mut read = MappedFile { delimiter: Some(char::from(delimiter)), header: Some(true), encoding: None };
    // A first line that names one thing twice is no header.
    let has_header = Shape::with_comments(input, &read).is_ok_and(|shape| {
        let lower: Vec<String> = shape.names.iter().map(|name| name.to_lowercase()).collect();
        shape.twice.is_none() && ENDS.iter().any(|(from, to)| lower[0] == *from && lower[1] == *to)
    });
    read.header = Some(has_header);
    let shape = Shape::with_comments(input, &read)?;
    let mut columns = BTreeMap::new();
    if !has_header {
        for (at, property) in [(2, "weight"), (3, "timestamp")] {
            let named = shape.names.get(at).map(|name| (name.clone(), property.to_string()));
            columns.extend(named.map(|(name, property)| (name, crate::MappedColumn::Named(property))));
        }
    }
    let label = options.vertex_label.as_deref().unwrap_or(DEFAULT_VERTEX_LABEL).to_string();
    let end = |at: usize| MappedEnd { column: shape.names[at].clone(), label: label.clone() };
    let edge_type = options.edge_type.as_deref().unwrap_or(DEFAULT_EDGE_TYPE).to_string();
    let (from, to) = (end(0), end(1));
    Ok(Some(MappedEdges { file: input.shown.clone(), edge_type, from, to, columns, read }))
}
