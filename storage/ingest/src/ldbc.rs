//! The LDBC Social Network Benchmark's CSV folders, whatever serializer wrote them.
//!
//! Files are known by name: `person_0_0.csv` are vertices, `person_knows_person_0_0.csv` are edges, parts are numbered; in the newer
//! generator's folders the name is the folder's (`Person/part-00000.csv`). Composite or not, foreign keys merged into
//! vertex files or not: columns are known by name too. Update streams and parameters are left alone. Names become those that LDBC's Cypher
//! queries use (`hasCreator` becomes `HAS_CREATOR`, `language` of a person becomes the list `speaks`).

use crate::cell::Kind;
use crate::headers::{self, HeaderColumn};
use crate::source::InputFile;
use crate::table::{EdgeTable, IdKind, Link, Role, Rows, SpaceNo, Table, Tables, VertexTable};
use crate::{ImportError, ImportOptions};
use formats::records::Format;
use model::{KeyId, LabelId};
use store::{Names, StoreError};

/// Separator of elements of a list property.
const LIST_SEPARATOR: u8 = b';';

/// Entity by its name in file names: id space, labels.
const ENTITIES: [(&str, &str, &[&str]); 14] = [
    ("person", "Person", &["Person"]),
    ("forum", "Forum", &["Forum"]),
    ("post", "Message", &["Post", "Message"]),
    ("comment", "Message", &["Comment", "Message"]),
    ("tag", "Tag", &["Tag"]),
    ("tagclass", "TagClass", &["TagClass"]),
    ("place", "Place", &["Place"]),
    ("city", "Place", &["City", "Place"]),
    ("country", "Place", &["Country", "Place"]),
    ("continent", "Place", &["Continent", "Place"]),
    ("organisation", "Organisation", &["Organisation"]),
    ("university", "Organisation", &["University", "Organisation"]),
    ("company", "Organisation", &["Company", "Organisation"]),
    ("message", "Message", &["Message"]),
];

/// Edges between entities, as file names call them.
const RELATIONS: [&str; 15] = [
    "knows",
    "hascreator",
    "replyof",
    "likes",
    "islocatedin",
    "containerof",
    "hasmember",
    "hasmoderator",
    "hastag",
    "hasinterest",
    "studyat",
    "workat",
    "hastype",
    "issubclassof",
    "ispartof",
];

/// Columns of vertex files that stand for an edge: entity (any where empty), columns, type, id space of the other end, does it lead to the row's vertex?
const FOREIGN: [(&str, &[&str], &str, &str, bool); 8] = [
    ("", &["creator", "creatorpersonid"], "HAS_CREATOR", "Person", false),
    (
        "",
        &["place", "city", "locationcountry", "locationcountryid", "locationcityid", "locationplaceid"],
        "IS_LOCATED_IN",
        "Place",
        false,
    ),
    ("post", &["forum.id", "forumid", "containerforumid"], "CONTAINER_OF", "Forum", true),
    (
        "comment",
        &["replyofpost", "replyofcomment", "parentpostid", "parentcommentid", "parentmessageid"],
        "REPLY_OF",
        "Message",
        false,
    ),
    ("forum", &["moderator", "moderatorpersonid"], "HAS_MODERATOR", "Person", false),
    ("tag", &["hastype", "typetagclassid"], "HAS_TYPE", "TagClass", false),
    ("tagclass", &["issubclassof", "subclassoftagclassid"], "IS_SUBCLASS_OF", "TagClass", false),
    ("", &["ispartof", "partofplaceid"], "IS_PART_OF", "Place", false),
];

/// Indexes beside those on `id`: label and property.
const INDEXES: [(&str, &str); 5] =
    [("Person", "firstName"), ("Tag", "name"), ("TagClass", "name"), ("Place", "name"), ("Country", "name")];

/// The meaning of a file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileName {
    /// Vertices of the entity (its place among the entities).
    Vertices(usize),
    /// Edges: source entity, type, target entity.
    Edges(usize, String, usize),
    /// Elements of a list property of persons.
    Elements(&'static str),
}

fn entity(name: &str) -> Option<usize> {
    ENTITIES.iter().position(|(entity, _, _)| name.eq_ignore_ascii_case(entity))
}

/// The meaning of the name of a file, if the benchmark's generator could have given it.
pub(crate) fn file_name(file: &InputFile) -> Option<FileName> {
    let stem = match file.stem() {
        part if part.starts_with("part-") => file.shown.parent()?.file_name()?.to_str()?,
        stem => headers::without_part_numbers(stem),
    };
    if !matches!(file.name().rsplit_once('.'), Some((_, "csv" | "CSV" | "tbl" | "txt"))) {
        return None;
    }
    let parts: Vec<&str> = stem.split('_').collect();
    match parts.as_slice() {
        [name] => entity(name).map(FileName::Vertices),
        [person, "email", _] if entity(person) == Some(0) => Some(FileName::Elements("email")),
        [person, "speaks", _] if entity(person) == Some(0) => Some(FileName::Elements("speaks")),
        [from, relation, to] => {
            let known = RELATIONS.iter().any(|known| relation.eq_ignore_ascii_case(known));
            known.then_some(())?;
            Some(FileName::Edges(entity(from)?, headers::upper_snake(relation), entity(to)?))
        }
        _ => None,
    }
}

/// Are these the benchmark's files? Edges between its entities are sure signs; one vertex file alone could be anyone's.
pub(crate) fn is_ldbc(files: &[InputFile]) -> bool {
    files.iter().any(|file| matches!(file_name(file), Some(FileName::Edges(..))))
}

/// The tables of the benchmark's files.
pub(crate) fn tables(
    files: &[InputFile],
    options: &ImportOptions,
    names: &Names,
) -> Result<Tables, ImportError> {
    let mut plan = Tables::default();
    for (at, file) in files.iter().enumerate() {
        let Some(name) = file_name(file) else {
            plan.skipped.push(file.shown.clone());
            continue;
        };
        let Some(header) = headers::first_record(file)? else {
            plan.skipped.push(file.shown.clone());
            continue;
        };
        let delimiter = options.delimiter.unwrap_or_else(|| headers::delimiter_of(&header));
        let format = Format { delimiter, quoting: false };
        let columns = headers::columns(file, &header, format)?;
        let mut making = Making { plan: &mut plan, names, file, at, format };
        let table = match &name {
            FileName::Vertices(entity) => making.vertices(*entity, &columns),
            FileName::Edges(from, edge_type, to) => making.edges(*from, edge_type, *to, &columns),
            FileName::Elements(key) => making.elements(key, &columns),
        };
        plan.tables.push(table.map_err(|error| error.of_file(&file.shown))?);
    }
    want_indexes(&mut plan, names)?;
    Ok(plan)
}

fn want_indexes(plan: &mut Tables, names: &Names) -> Result<(), StoreError> {
    let id = names.intern_key("id")?;
    let plain: [&str; 9] =
        ["Person", "Forum", "Post", "Comment", "Message", "Tag", "TagClass", "Place", "Organisation"];
    let mut found: Vec<(LabelId, Vec<KeyId>)> = Vec::new();
    for table in &plan.tables {
        if let Rows::Vertices(vertex) = &table.rows {
            let keys: Vec<KeyId> = table.properties.iter().map(|(key, _)| *key).collect();
            found.extend(vertex.labels.iter().map(|label| (*label, keys.clone())));
        }
    }
    for name in plain {
        let label = names.intern_label(name)?;
        if found.iter().any(|(of, _)| *of == label) {
            plan.want_index(label, id, true);
        }
    }
    for (name, key) in INDEXES {
        let (label, key) = (names.intern_label(name)?, names.intern_key(key)?);
        // Countries may be rows of the file of places.
        let place = names.intern_label("Place")?;
        let fits = |of: LabelId| of == label || (name == "Country" && of == place);
        if found.iter().any(|(of, keys)| fits(*of) && keys.contains(&key)) {
            plan.want_index(label, key, false);
        }
    }
    Ok(())
}

/// One table in the making.
struct Making<'m> {
    plan: &'m mut Tables,
    names: &'m Names,
    file: &'m InputFile,
    at: usize,
    format: Format,
}

impl Making<'_> {
    fn space(&mut self, entity: usize) -> Result<SpaceNo, StoreError> {
        self.space_named(ENTITIES[entity].1)
    }
    fn space_named(&mut self, name: &str) -> Result<SpaceNo, StoreError> {
        let space = self.plan.space(name);
        if self.plan.spaces[space].key.is_none() {
            let made = &mut self.plan.spaces[space];
            (made.key, made.kind) = (Some(self.names.intern_key("id")?), IdKind::Int);
            // A message that is there already may be of either kind, so the common label comes first.
            made.labels.push(self.names.intern_label(name)?);
        }
        Ok(space)
    }
    fn table(&self, rows: Rows, roles: Vec<Role>, properties: Vec<(KeyId, Kind)>) -> Table {
        let (columns, comments) = (Vec::new(), false);
        Table { file: self.at, format: self.format, skip: 1, roles, properties, rows, columns, comments }
    }
    fn header_error(&self, what: &str) -> ImportError {
        ImportError::Header { path: self.file.shown.clone(), what: what.to_string() }
    }

    fn vertices(&mut self, entity: usize, columns: &[HeaderColumn]) -> Result<Table, ImportError> {
        let (name, _, labels) = ENTITIES[entity];
        let space = self.space(entity)?;
        let labels = labels.iter().map(|label| self.names.intern_label(label));
        let mut vertex = VertexTable {
            space,
            labels: labels.collect::<Result<_, _>>()?,
            links: Vec::new(),
            implied: false,
        };
        vertex.labels.sort_unstable();
        let (mut roles, mut properties) = (Vec::new(), Vec::new());
        for column in columns {
            let role = self.vertex_role(name, column, &mut vertex, &mut properties)?;
            roles.push(role);
        }
        if !roles.contains(&Role::Id) {
            return Err(self.header_error("a vertex file needs a column `id`"));
        }
        Ok(self.table(Rows::Vertices(vertex), roles, properties))
    }

    fn vertex_role(
        &mut self,
        entity: &str,
        column: &HeaderColumn,
        vertex: &mut VertexTable,
        properties: &mut Vec<(KeyId, Kind)>,
    ) -> Result<Role, ImportError> {
        let lower = column.name.to_ascii_lowercase();
        if lower == "id" || column.type_name == "ID" {
            return Ok(Role::Id);
        }
        let labels = |property| Role::Labels { separator: LIST_SEPARATOR, capitalise: true, property };
        if column.type_name == "LABEL" {
            return Ok(labels(None));
        }
        if lower.is_empty() {
            return Ok(Role::Ignore);
        }
        let fits =
            |of: &str, names: &[&str]| (of.is_empty() || of == entity) && names.contains(&lower.as_str());
        if let Some((_, _, edge_type, to, reversed)) = FOREIGN.iter().find(|(of, names, ..)| fits(of, names))
        {
            let edge_type = self.names.intern_edge_type(edge_type)?;
            let space = self.space_named(to)?;
            vertex.links.push(Link { edge_type, space, reversed: *reversed });
            return Ok(Role::Link(vertex.links.len() - 1));
        }
        let (name, kind) = property(entity, &column.name);
        let number = properties.len();
        properties.push((self.names.intern_key(&name)?, kind));
        Ok(match lower == "type" && matches!(entity, "place" | "organisation") {
            true => labels(Some(number)),
            false => Role::Property(number),
        })
    }

    fn edges(
        &mut self,
        from: usize,
        edge_type: &str,
        to: usize,
        columns: &[HeaderColumn],
    ) -> Result<Table, ImportError> {
        let edge_type = Some(self.names.intern_edge_type(edge_type)?);
        let edge = EdgeTable { edge_type, source: self.space(from)?, target: self.space(to)? };
        let (mut roles, mut properties) = (Vec::new(), Vec::new());
        for column in columns {
            let is_end = is_end(column);
            roles.push(match (is_end, roles.contains(&Role::Start), roles.contains(&Role::End)) {
                (true, false, _) => Role::Start,
                (true, true, false) => Role::End,
                _ if column.name.is_empty() => Role::Ignore,
                _ => {
                    let (name, kind) = property("", &column.name);
                    properties.push((self.names.intern_key(&name)?, kind));
                    Role::Property(properties.len() - 1)
                }
            });
        }
        if !roles.contains(&Role::End) {
            return Err(self.header_error("an edge file needs two columns of ids, such as `Person.id`"));
        }
        Ok(self.table(Rows::Edges(edge), roles, properties))
    }

    fn elements(&mut self, key: &str, columns: &[HeaderColumn]) -> Result<Table, ImportError> {
        let space = self.space(0)?;
        let key = self.names.intern_key(key)?;
        let mut roles = vec![Role::Ignore; columns.len()];
        let start = columns.iter().position(is_end);
        let value = columns.iter().rposition(|column| !is_end(column) && !column.name.is_empty());
        let (Some(start), Some(value)) = (start, value) else {
            return Err(self.header_error("a file of elements needs a column of ids and one of values"));
        };
        roles[start] = Role::Start;
        roles[value] = Role::Property(0);
        Ok(self.table(Rows::Elements { space }, roles, vec![(key, Kind::Text)]))
    }
}

/// Is this column an end of an edge: `Person.id`, `Person1Id`, `:START_ID(Person)`?
fn is_end(column: &HeaderColumn) -> bool {
    let lower = column.name.to_ascii_lowercase();
    matches!(column.type_name.as_str(), "START_ID" | "END_ID") || lower.ends_with("id")
}

/// Name and kind of a property of an entity.
fn property(entity: &str, name: &str) -> (String, Kind) {
    let lower = name.to_ascii_lowercase();
    let list = || Kind::List(Box::new(Kind::Text), LIST_SEPARATOR);
    match (entity, lower.as_str()) {
        ("person", "language" | "languages" | "speaks") => ("speaks".into(), list()),
        ("person", "email" | "emails") => ("email".into(), list()),
        (_, "creationdate" | "joindate" | "birthday" | "deletiondate") => (name.into(), Kind::Moment),
        (_, "length" | "classyear" | "workfrom") => (name.into(), Kind::Int),
        (_, "explicitlydeleted") => (name.into(), Kind::Bool),
        _ => (name.into(), Kind::Text),
    }
}

#[cfg(test)]
mod tests;
