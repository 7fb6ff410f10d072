//! CSV with Neo4j-admin style headers: the first line has the role and type of each column, `name:TYPE(Group){options}`.
//!
//! `id:ID(Person)`, `:LABEL`, `:START_ID(Person)`, `:END_ID(Person)`, `:TYPE`, `:IGNORE`, `age:int`, `tags:string[]`; Neptune's `~id`,
//! `~label`, `~from`, `~to` are read as well. A header may lie in a file of its own, named like the others with `header` at the end
//! (`persons_header.csv`, `persons_1.csv`). Label and type come from the file's name where no column gives them: the name as it is
//! (`persons.csv`, `KNOWS.csv`), in the spelling of the id group where only case or a plural differs, and for `A_relationName_B` between groups
//! A and B the upper-case form of the middle (`RELATION_NAME`).
//!
//! Names that a header would read otherwise stand in options, with `%` and two digits for odd bytes: `:string{key:a%3Ab}`,
//! `:ID{labels:A+B%20C}`, `:START_ID{type:%20}`. A column `:ORIGIN` holds the line that messages name in place of the file's.
//!
//! Ids without `{id-type: …}` are integers where all ids of their group are written as integers, else text.

use crate::cell::{self, Kind};
use crate::sniff;
use crate::source::{self, HEAD_BYTES, InputFile};
use crate::table::{EdgeTable, IdKind, Role, Rows, SpaceNo, Table, Tables, VertexTable};
use crate::{DEFAULT_EDGE_TYPE, DEFAULT_VERTEX_LABEL, ImportError, ImportOptions};
use formats::records::{Field, Format, record_length, split, trimmed};
use model::KeyId;
use store::Names;

/// Possible separators of fields, in the order of preference.
pub(crate) const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// One column as a header describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderColumn {
    pub name: String,
    /// In upper case where it is one of the structural ones (`ID`, `START_ID`, …).
    pub type_name: String,
    pub group: String,
    /// The text between braces.
    pub options: String,
}

/// Types that are not those of a property.
const STRUCTURAL: [&str; 7] = ["ID", "LABEL", "START_ID", "END_ID", "TYPE", "IGNORE", "ORIGIN"];

impl HeaderColumn {
    /// Reads `name:TYPE(Group){options}`.
    pub fn parse(text: &str) -> HeaderColumn {
        let mut rest = text.trim();
        let mut take = |open: char, close: char| -> String {
            match (rest.strip_suffix(close), rest.rfind(open)) {
                (Some(body), Some(at)) if at < body.len() => {
                    let inner = body[at + 1..].to_string();
                    rest = &rest[..at];
                    inner
                }
                _ => String::new(),
            }
        };
        let options = take('{', '}');
        let group = take('(', ')');
        if let Some(neptune) = neptune_column(rest) {
            return neptune;
        }
        let (name, type_name) = rest.rsplit_once(':').unwrap_or((rest, ""));
        let upper = type_name.trim().to_ascii_uppercase();
        let structural = STRUCTURAL.contains(&upper.as_str());
        let type_name = if structural { upper } else { type_name.trim().to_string() };
        let group = if group.eq_ignore_ascii_case("single") { String::new() } else { group };
        let name = option(&options, "key").map_or(name.trim().to_string(), unescaped);
        HeaderColumn { name, type_name, group, options }
    }
    fn is(&self, type_name: &str) -> bool {
        self.type_name == type_name
    }
}

fn neptune_column(text: &str) -> Option<HeaderColumn> {
    let (name, type_name) = match text {
        "~id" => ("id", "ID"),
        "~from" => ("", "START_ID"),
        "~to" => ("", "END_ID"),
        "~label" => ("", "LABEL"),
        _ => return None,
    };
    Some(HeaderColumn { name: name.into(), type_name: type_name.into(), ..HeaderColumn::default() })
}

/// The first line of a file without its end; none if the file is empty, or its first line too long for a header.
pub(crate) fn first_record(file: &InputFile) -> Result<Option<Vec<u8>>, ImportError> {
    let head = source::head(file)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(&head);
    let plain = Format { delimiter: b',', quoting: false };
    let length = record_length(head, plain).unwrap_or(head.len());
    let found = Some(trimmed(&head[..length]).to_vec());
    Ok(found.filter(|record| !record.is_empty() && length < HEAD_BYTES))
}

/// The separator of a header's columns: the candidate that occurs most often outside of parentheses and braces.
pub(crate) fn delimiter_of(header: &[u8]) -> u8 {
    let mut counts = [0usize; DELIMITERS.len()];
    let mut depth = 0usize;
    for byte in header {
        match byte {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            byte if depth == 0 => {
                if let Some(at) = DELIMITERS.iter().position(|delimiter| delimiter == byte) {
                    counts[at] += 1;
                }
            }
            _ => {}
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    DELIMITERS[counts.iter().position(|count| *count == most).unwrap_or(0)]
}

/// The columns of a header.
pub(crate) fn columns(
    file: &InputFile,
    header: &[u8],
    format: Format,
) -> Result<Vec<HeaderColumn>, ImportError> {
    let wrong = |what: String| ImportError::Header { path: file.shown.clone(), what };
    let mut fields: Vec<Field<'_>> = Vec::new();
    split(header, format, &mut fields).map_err(|what| wrong(what.into()))?;
    let parsed = fields.iter().map(|field| Ok(HeaderColumn::parse(&field.text().map_err(wrong)?)));
    parsed.collect()
}

/// Does this line look like a header of this layout?
pub(crate) fn is_header(line: &[u8], delimiter: Option<u8>) -> bool {
    let format = Format { delimiter: delimiter.unwrap_or_else(|| delimiter_of(line)), quoting: true };
    let mut fields = Vec::new();
    if line.starts_with(b"#") || split(line, format, &mut fields).is_err() {
        return false;
    }
    fields.iter().filter_map(|field| field.text().ok()).any(|text| {
        let column = HeaderColumn::parse(&text);
        STRUCTURAL.contains(&column.type_name.as_str()) && !column.is("IGNORE")
    })
}

/// The name without numbers of parts at its end: `person_0_0`, `persons-part-3`.
pub(crate) fn without_part_numbers(stem: &str) -> &str {
    let mut rest = stem;
    while let Some((front, last)) = rest.rsplit_once(['_', '-', '.']) {
        let number = last.strip_prefix("part").unwrap_or(last);
        if front.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        rest = front;
    }
    rest
}

/// `hasCreator` as `HAS_CREATOR`.
pub(crate) fn upper_snake(name: &str) -> String {
    let mut snake = String::new();
    let mut before_is_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && before_is_lower {
            snake.push('_');
        }
        before_is_lower = character.is_lowercase() || character.is_ascii_digit();
        snake.extend(character.to_uppercase());
    }
    snake
}

/// A header in a file of its own: the name of the files it belongs to.
fn header_of(stem: &str) -> Option<&str> {
    let lower = stem.to_ascii_lowercase();
    let front = lower.strip_suffix("header")?;
    let front = front.strip_suffix(['_', '-', '.'])?;
    Some(&stem[..front.len()]).filter(|front| !front.is_empty())
}

/// Does the file belong to the header of this name?
fn belongs_to(stem: &str, name: &str) -> bool {
    let rest = stem.strip_prefix(name);
    rest.is_some_and(|rest| rest.chars().next().is_none_or(|next| !next.is_alphanumeric()))
}

/// The tables of files with headers.
pub(crate) fn tables(
    files: &[InputFile],
    options: &ImportOptions,
    names: &Names,
) -> Result<Tables, ImportError> {
    let mut plan = Tables::default();
    let mut separate: Vec<(&str, usize, Vec<u8>)> = Vec::new();
    let mut own: Vec<Option<Vec<u8>>> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let is_text = file.staged.is_none();
        let header = first_record(file)?.filter(|line| is_text && is_header(line, options.delimiter));
        match (header, header_of(file.stem())) {
            (Some(header), Some(name)) => {
                separate.push((name, at, header));
                own.push(None);
            }
            (header, _) => own.push(header),
        }
    }
    for (at, file) in files.iter().enumerate() {
        if separate.iter().any(|(_, header, _)| *header == at) {
            continue;
        }
        let shared = separate.iter().filter(|(name, ..)| belongs_to(file.stem(), name));
        let shared = shared.max_by_key(|(name, ..)| name.len());
        let (header, name, skip, described) = match (&own[at], shared) {
            (Some(header), _) => (header, without_part_numbers(file.stem()), 1, file),
            (None, Some((name, header_at, header))) => (header, *name, 0, &files[*header_at]),
            (None, None) => {
                plan.skipped.push(file.shown.clone());
                continue;
            }
        };
        let delimiter = options.delimiter.unwrap_or_else(|| delimiter_of(header));
        let format = Format { delimiter, quoting: true };
        let columns = columns(described, header, format)?;
        let mut making = Making { plan: &mut plan, names, file: described, at, format, name, skip };
        let table = making.table(&columns).map_err(|error| error.of_file(&described.shown))?;
        plan.tables.push(table);
    }
    plan.index_ids = true;
    Ok(plan)
}

/// One table in the making.
struct Making<'m> {
    plan: &'m mut Tables,
    names: &'m Names,
    /// The file with the header.
    file: &'m InputFile,
    at: usize,
    format: Format,
    /// The names of the files.
    name: &'m str,
    skip: usize,
}

impl Making<'_> {
    fn wrong(&self, what: impl Into<String>) -> ImportError {
        ImportError::Header { path: self.file.shown.clone(), what: what.into() }
    }

    fn table(&mut self, columns: &[HeaderColumn]) -> Result<Table, ImportError> {
        let count = |type_name: &str| columns.iter().filter(|column| column.is(type_name)).count();
        for type_name in ["ID", "START_ID", "END_ID", "TYPE"] {
            if count(type_name) > 1 {
                return Err(self.wrong(format!("two columns are :{type_name}")));
            }
        }
        let is_edges = count("START_ID") > 0;
        let named = |column: &HeaderColumn| match column.type_name.as_str() {
            "ID" => !is_edges && !column.name.is_empty(),
            type_name => !column.name.is_empty() && !STRUCTURAL.contains(&type_name),
        };
        for (at, column) in columns.iter().enumerate().filter(|(_, column)| named(column)) {
            if columns[..at].iter().any(|other| named(other) && other.name == column.name) {
                return Err(self.wrong(sniff::called_twice(&column.name)));
            }
        }
        let mut properties = Vec::new();
        let (rows, roles) = match (count("START_ID"), count("END_ID")) {
            (0, 0) => self.vertices(columns, &mut properties)?,
            (1, 1) => self.edges(columns, &mut properties)?,
            _ => return Err(self.wrong("edges need both :START_ID and :END_ID")),
        };
        let (file, format, skip) = (self.at, self.format, self.skip);
        let (columns, comments) = (columns.iter().map(|column| column.name.clone()).collect(), false);
        Ok(Table { file, format, skip, roles, properties, rows, columns, comments })
    }

    fn property(
        &self,
        column: &HeaderColumn,
        properties: &mut Vec<(KeyId, Kind)>,
    ) -> Result<Role, ImportError> {
        let is_unnamed = column.name.is_empty() && option(&column.options, "key").is_none();
        if is_unnamed || column.is("IGNORE") {
            return Ok(Role::Ignore);
        }
        let kind = cell::kind_named(&column.type_name, self.format.list_separator())
            .ok_or_else(|| self.wrong(format!("`{}` is no type of a column", column.type_name)))?;
        properties.push((self.names.intern_key(&column.name)?, kind));
        Ok(Role::Property(properties.len() - 1))
    }

    fn vertices(
        &mut self,
        columns: &[HeaderColumn],
        properties: &mut Vec<(KeyId, Kind)>,
    ) -> Result<(Rows, Vec<Role>), ImportError> {
        let id = columns.iter().find(|column| column.is("ID"));
        let space = match id {
            Some(id) => self.id_space(id)?,
            // Vertices that nothing refers to: a space of their own without ids.
            None => self.plan.space(&format!("without ids: {}", self.name)),
        };
        let mut labels = Vec::new();
        if let Some(all) = id.and_then(|id| option(&id.options, "labels")) {
            for label in all.split('+') {
                labels.push(self.names.intern_label(&unescaped(label))?);
            }
        } else if !columns.iter().any(|column| column.is("LABEL")) {
            let label = self.label(id.map_or("", |id| &id.group));
            labels.push(self.names.intern_label(&label)?);
        } else if let Some(label) = id.and_then(|id| option(&id.options, "label")) {
            labels.push(self.names.intern_label(label)?);
        }
        let mut roles = Vec::new();
        for column in columns {
            roles.push(match column.type_name.as_str() {
                "ID" => Role::Id,
                "ORIGIN" => Role::Origin,
                "LABEL" => Role::Labels {
                    separator: self.format.list_separator(),
                    capitalise: false,
                    property: None,
                },
                "TYPE" => return Err(self.wrong(":TYPE belongs to edges, which have :START_ID and :END_ID")),
                _ => self.property(column, properties)?,
            });
        }
        Ok((Rows::Vertices(VertexTable { space, labels, links: Vec::new(), implied: false }), roles))
    }

    fn id_space(&mut self, id: &HeaderColumn) -> Result<SpaceNo, ImportError> {
        let key = match id.name.as_str() {
            "" => None,
            name => Some(self.names.intern_key(name)?),
        };
        let kind = match option(&id.options, "id-type").map(str::to_ascii_lowercase).as_deref() {
            None | Some("actual") => IdKind::Found,
            Some("string") => IdKind::Text,
            Some("int" | "long" | "integer") => IdKind::Int,
            Some(other) => return Err(self.wrong(format!("`{other}` is no id-type"))),
        };
        let space = self.plan.space(&id.group);
        let made = &mut self.plan.spaces[space];
        match (made.key, key) {
            (Some(known), Some(key)) if known != key => {
                return Err(self.wrong(format!(
                    "ids of group `{}` are called otherwise in another file; give each its own group",
                    id.group
                )));
            }
            (known, key) => made.key = known.or(key),
        }
        if kind != IdKind::Found {
            made.kind = kind;
        }
        Ok(space)
    }

    /// The label that the file's name gives.
    fn label(&self, group: &str) -> String {
        let name = self.name;
        if !name.contains(char::is_alphanumeric) {
            // Standard input has no name.
            return if group.is_empty() { DEFAULT_VERTEX_LABEL } else { group }.to_string();
        }
        let lower = name.to_ascii_lowercase();
        let same = !group.is_empty()
            && (lower == group.to_ascii_lowercase() || lower == format!("{}s", group.to_ascii_lowercase()));
        if same { group.to_string() } else { name.to_string() }
    }

    fn edges(
        &mut self,
        columns: &[HeaderColumn],
        properties: &mut Vec<(KeyId, Kind)>,
    ) -> Result<(Rows, Vec<Role>), ImportError> {
        let group = |type_name: &str| {
            columns.iter().find(|column| column.is(type_name)).map_or("", |column| &column.group)
        };
        let (from, to) = (group("START_ID"), group("END_ID"));
        let start = columns.iter().find(|column| column.is("START_ID"));
        let edge_type = match start.and_then(|start| option(&start.options, "type")) {
            Some(name) => unescaped(name),
            None => edge_type_of(self.name, from, to),
        };
        let edge_type = self.names.intern_edge_type(&edge_type)?;
        let (source, target) = (self.plan.space(from), self.plan.space(to));
        let mut roles = Vec::new();
        for column in columns {
            roles.push(match column.type_name.as_str() {
                "START_ID" => Role::Start,
                "END_ID" => Role::End,
                // Neptune's label of an edge is its type, and its id is no one's business.
                "TYPE" | "LABEL" => Role::Type,
                "ID" => Role::Ignore,
                "ORIGIN" => Role::Origin,
                _ => self.property(column, properties)?,
            });
        }
        let edge = EdgeTable { edge_type: Some(edge_type), source, target };
        Ok((Rows::Edges(edge), roles))
    }
}

/// A name of which bytes are written as `%` and two digits.
fn unescaped(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The value of an option: `id-type: long, label: Person`.
fn option<'t>(options: &'t str, name: &str) -> Option<&'t str> {
    let pairs = options.split(',').filter_map(|pair| pair.split_once(':'));
    let mut found = pairs.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().trim_matches(['"', '\'']))
}

/// The type that a file's name gives: `KNOWS` as it is, `Person_knows_Person` between those groups `KNOWS`.
fn edge_type_of(name: &str, from: &str, to: &str) -> String {
    if !name.contains(char::is_alphanumeric) {
        return DEFAULT_EDGE_TYPE.to_string();
    }
    let parts: Vec<&str> = name.split('_').collect();
    match parts.as_slice() {
        [first, middle, last]
            if (from.is_empty() || first.eq_ignore_ascii_case(from))
                && (to.is_empty() || last.eq_ignore_ascii_case(to))
                && middle.chars().any(char::is_lowercase) =>
        {
            upper_snake(middle)
        }
        _ => name.to_string(),
    }
}

#[cfg(test)]
mod tests;
