//! Ordinary CSV, whose first line names the columns and nothing more: a mapping defines the rows, and the fields their types.
//!
//! Cost: every file is read once more than with typed headers, in parallel, since only all fields together determine the type of a column.

use crate::cell::{self, Kind};
use crate::mapping::{MappedColumn, MappedEdges, MappedEnd, MappedFile, MappedNodes, Mapping};
use crate::reject::Rejects;
use crate::sniff::{ColumnSurvey, Shape, is_comment};
use crate::source::InputFile;
use crate::staged::{ORIGIN, StagedColumn};
use crate::table::{EdgeTable, IdKind, Role, Rows, SpaceNo, Table, Tables, VertexTable};
use crate::understood::{Understood, UnderstoodColumn};
use crate::work::{Job, Work};
use crate::{ImportError, ImportOptions};
use formats::records::{Records, split};
use model::KeyId;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use store::Names;

/// Columns that a message names.
const COLUMNS_SHOWN_MAX: usize = 30;

/// A file and its mapping.
pub(crate) struct Mapped<'m> {
    pub file: usize,
    pub rows: MappedRows<'m>,
}

/// The kind of a file's rows.
#[derive(Clone, Copy)]
pub(crate) enum MappedRows<'m> {
    Nodes(&'m MappedNodes),
    Edges(&'m MappedEdges),
}

impl<'m> MappedRows<'m> {
    fn read(self) -> &'m MappedFile {
        match self {
            MappedRows::Nodes(nodes) => &nodes.read,
            MappedRows::Edges(edges) => &edges.read,
        }
    }
    fn columns(self) -> &'m BTreeMap<String, MappedColumn> {
        match self {
            MappedRows::Nodes(nodes) => &nodes.columns,
            MappedRows::Edges(edges) => &edges.columns,
        }
    }
    /// Columns that must be there.
    fn named(self) -> Vec<&'m str> {
        let own = match self {
            MappedRows::Nodes(nodes) => nodes.id.iter().map(String::as_str).collect(),
            MappedRows::Edges(edges) => vec![edges.from.column.as_str(), edges.to.column.as_str()],
        };
        own.into_iter().chain(self.columns().keys().map(String::as_str)).collect()
    }
}

/// How files that a mapping names are taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// Are nodes that no file holds made of the ends of relationships?
    pub implied: bool,
    /// Are lines that begin with `#` or `%` comments?
    pub comments: bool,
}

/// The tables of files that a mapping names.
pub(crate) fn tables(
    files: &[InputFile],
    mapped: &[Mapped<'_>],
    habits: Habits,
    options: &ImportOptions,
    names: &Names,
) -> Result<Tables, ImportError> {
    let mut shapes = Vec::new();
    for one in mapped {
        let (file, read) = (&files[one.file], one.rows.read());
        let shape = match habits.comments {
            true => Shape::with_comments(file, read)?.named_once(file)?,
            false => Shape::of(file, read, options.delimiter)?.named_once(file)?,
        };
        check_columns(&files[one.file], &shape, one.rows)?;
        shapes.push(shape);
    }
    let nulls: Arc<[Vec<u8>]> = options.nulls.iter().map(|word| word.clone().into_bytes()).collect();
    let seen = survey(files, mapped, &shapes, habits, &nulls, options)?;
    let mut making = Making { plan: Tables::default(), names, habits, nulls, of_labels: BTreeMap::new() };
    making.plan.index_ids = true;
    let nodes = mapped.iter().zip(shapes.iter().zip(&seen));
    for (one, (shape, seen)) in nodes.clone() {
        if let MappedRows::Nodes(nodes) = one.rows {
            let made = making.nodes(files, one.file, nodes, shape, seen);
            made.map_err(|error| error.of_file(&files[one.file].shown))?;
        }
    }
    for (one, (shape, seen)) in nodes {
        if let MappedRows::Edges(edges) = one.rows {
            let made = making.edges(files, one.file, edges, shape, seen);
            made.map_err(|error| error.of_file(&files[one.file].shown))?;
        }
    }
    Ok(making.plan)
}

fn check_columns(file: &InputFile, shape: &Shape, rows: MappedRows<'_>) -> Result<(), ImportError> {
    for name in rows.named() {
        if !shape.names.iter().any(|column| column == name) {
            let path = file.shown.clone();
            let near = shape.names.iter().find(|column| column.eq_ignore_ascii_case(name));
            let near = near.map_or(String::new(), |near| format!("; do you mean `{near}`?"));
            let what = format!("there is no column `{name}` among {}{near}", names_shown(&shape.names));
            return Err(ImportError::Columns { path, what });
        }
    }
    Ok(())
}

/// The names of columns, the first of many.
fn names_shown(names: &[String]) -> String {
    let own: Vec<&String> = names.iter().filter(|name| *name != ORIGIN).collect();
    let first = own.iter().take(COLUMNS_SHOWN_MAX);
    let shown: Vec<String> = first.map(|name| format!("`{name}`")).collect();
    let more = if own.len() > COLUMNS_SHOWN_MAX { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Surveys the columns of each file.
fn survey(
    files: &[InputFile],
    mapped: &[Mapped<'_>],
    shapes: &[Shape],
    habits: Habits,
    nulls: &[Vec<u8>],
    options: &ImportOptions,
) -> Result<Vec<Vec<ColumnSurvey>>, ImportError> {
    let job = |(one, shape): (&Mapped<'_>, &Shape)| Job {
        file: one.file,
        format: shape.format,
        skip: shape.skip(),
    };
    let is_told = |one: &Mapped<'_>| files[one.file].staged.is_some();
    let looked: Vec<(&Mapped<'_>, &Shape)> =
        mapped.iter().zip(shapes).filter(|(one, _)| !is_told(one)).collect();
    let jobs: Vec<Job> = looked.iter().copied().map(job).collect();
    let work = Work::new(files, &[], options);
    let blocks = work.for_survey().sweep(&jobs, |job, block, _: &mut Rejects| {
        let shape = looked[job].1;
        let mut seen = vec![ColumnSurvey::default(); shape.names.len()];
        let mut fields = Vec::with_capacity(seen.len());
        for (_, record) in Records::new(&block.bytes, shape.format, block.first_line) {
            if record.is_empty() || (habits.comments && is_comment(record)) {
                continue;
            }
            fields.clear();
            // Wrong records are met again, and told, when they are read.
            if split(record, shape.format, &mut fields).is_ok() && fields.len() == seen.len() {
                seen.iter_mut().zip(&fields).for_each(|(seen, field)| seen.look(field, nulls));
            }
        }
        seen
    })?;
    let mut blocks = blocks.into_iter();
    let of_file = |(one, shape): (&Mapped<'_>, &Shape)| {
        if let Some(staged) = &files[one.file].staged {
            let origin = ColumnSurvey::known(Kind::Int, staged.rows, 0);
            let told =
                |column: &StagedColumn| ColumnSurvey::known(column.kind.clone(), staged.rows, column.missing);
            return std::iter::once(origin).chain(staged.columns.iter().map(told)).collect();
        }
        let mut all = vec![ColumnSurvey::default(); shape.names.len()];
        for seen in blocks.next().into_iter().flatten() {
            all.iter_mut().zip(seen).for_each(|(all, seen)| all.add(seen));
        }
        all
    };
    Ok(mapped.iter().zip(shapes).map(of_file).collect())
}

struct Making<'m> {
    plan: Tables,
    names: &'m Names,
    habits: Habits,
    nulls: Arc<[Vec<u8>]>,
    /// The space of the ids of nodes with a label.
    of_labels: BTreeMap<String, SpaceNo>,
}

impl Making<'_> {
    fn nodes(
        &mut self,
        files: &[InputFile],
        file: usize,
        nodes: &MappedNodes,
        shape: &Shape,
        seen: &[ColumnSurvey],
    ) -> Result<(), ImportError> {
        let labels = nodes.labels();
        let interned = labels.iter().map(|label| self.names.intern_label(label));
        let mut interned = interned.collect::<Result<Vec<_>, _>>()?;
        interned.sort_unstable();
        interned.dedup();
        let space = match &nodes.id {
            None => self.plan.space(&format!("without ids: {}", files[file].shown.display())),
            Some(id) => {
                let space = self.space(&files[file], &labels, id)?;
                if is_text_id(&files[file], id) {
                    self.plan.spaces[space].kind = IdKind::Text;
                }
                space
            }
        };
        let role = |name: &str| (nodes.id.as_deref() == Some(name)).then_some(Role::Id);
        let what = format!("nodes :{}", labels.join(":"));
        let described = self.table(&files[file], shape, seen, MappedRows::Nodes(nodes), &role, what)?;
        let rows = Rows::Vertices(VertexTable { space, labels: interned, links: Vec::new(), implied: false });
        self.push(file, shape, rows, described);
        Ok(())
    }

    /// The space of nodes with these labels, whose ids are in this column.
    fn space(&mut self, file: &InputFile, labels: &[&str], id: &str) -> Result<SpaceNo, ImportError> {
        let known = labels.iter().find_map(|label| self.of_labels.get(*label)).copied();
        let space = known.unwrap_or_else(|| self.plan.space(labels[0]));
        labels.iter().for_each(|label| {
            self.of_labels.entry((*label).to_string()).or_insert(space);
        });
        let key = self.names.intern_key(id)?;
        match self.plan.spaces[space].key.replace(key) {
            Some(other) if other != key => Err(ImportError::Columns {
                path: file.shown.clone(),
                what: format!("the ids of nodes :{} are called otherwise in another file", labels.join(":")),
            }),
            _ => Ok(space),
        }
    }

    fn edges(
        &mut self,
        files: &[InputFile],
        file: usize,
        edges: &MappedEdges,
        shape: &Shape,
        seen: &[ColumnSurvey],
    ) -> Result<(), ImportError> {
        let source = self.end(file, shape, &edges.from)?;
        let target = self.end(file, shape, &edges.to)?;
        let role = |name: &str| match name {
            name if name == edges.from.column => Some(Role::Start),
            name if name == edges.to.column => Some(Role::End),
            _ => None,
        };
        let what =
            format!("relationships :{} from :{} to :{}", edges.edge_type, edges.from.label, edges.to.label);
        let described = self.table(&files[file], shape, seen, MappedRows::Edges(edges), &role, what)?;
        let edge_type = Some(self.names.intern_edge_type(&edges.edge_type)?);
        self.push(file, shape, Rows::Edges(EdgeTable { edge_type, source, target }), described);
        Ok(())
    }

    /// The space of an end; where no file holds its nodes, they are made of the ends or must be in the database.
    fn end(&mut self, file: usize, shape: &Shape, end: &MappedEnd) -> Result<SpaceNo, ImportError> {
        if let Some(space) = self.of_labels.get(&end.label).copied() {
            if self.habits.implied && self.plan.spaces[space].elsewhere.is_none() {
                self.implied(file, shape, end, space)?;
            }
            return Ok(space);
        }
        let space = self.plan.space(&end.label);
        self.of_labels.insert(end.label.clone(), space);
        if self.habits.implied {
            self.plan.spaces[space].key = Some(self.names.intern_key("id")?);
            self.implied(file, shape, end, space)?;
        } else {
            self.plan.spaces[space].elsewhere = Some(end.label.clone());
        }
        Ok(space)
    }

    fn implied(
        &mut self,
        file: usize,
        shape: &Shape,
        end: &MappedEnd,
        space: SpaceNo,
    ) -> Result<(), ImportError> {
        let is_id = |name: &String| if *name == end.column { Role::Id } else { Role::Ignore };
        let roles = shape.names.iter().map(is_id).collect();
        let labels = vec![self.names.intern_label(&end.label)?];
        let rows = Rows::Vertices(VertexTable { space, labels, links: Vec::new(), implied: true });
        let table = Described { roles, properties: Vec::new() };
        self.push(file, shape, rows, table);
        Ok(())
    }

    fn push(&mut self, file: usize, shape: &Shape, rows: Rows, described: Described) {
        self.plan.tables.push(Table {
            file,
            format: shape.format,
            skip: shape.skip(),
            roles: described.roles,
            properties: described.properties,
            rows,
            columns: shape.names.clone(),
            comments: self.habits.comments,
        });
    }

    /// The role of each column; columns that are neither id nor end are properties.
    fn table(
        &mut self,
        file: &InputFile,
        shape: &Shape,
        seen: &[ColumnSurvey],
        rows: MappedRows<'_>,
        structural: &dyn Fn(&str) -> Option<Role>,
        what: String,
    ) -> Result<Described, ImportError> {
        let wrong = |what: String| ImportError::Columns { path: file.shown.clone(), what };
        let mut described = Described { roles: Vec::new(), properties: Vec::new() };
        let mut columns = Vec::new();
        let mut keys = HashSet::new();
        let mut names = shape.names.iter().zip(seen);
        if file.staged.is_some() {
            names.next();
            described.roles.push(Role::Origin);
        }
        for (name, seen) in names {
            let (missing, word) = seen.nulls();
            let mut told = UnderstoodColumn::new(name, seen.rows, missing, word);
            if let Some(role) = structural(name) {
                told.role = Some(if role == Role::Id { "the id" } else { "an end" });
                told.type_name = cell::name_of(&seen.kind());
                described.roles.push(role);
                columns.push(told);
                continue;
            }
            let (property, type_name) = match rows.columns().get(name) {
                Some(MappedColumn::Kept(false)) => (None, None),
                None | Some(MappedColumn::Kept(true)) => (Some(name.as_str()), None),
                Some(MappedColumn::Named(property)) => (Some(property.as_str()), None),
                Some(MappedColumn::Typed { property, type_name }) => {
                    (Some(property.as_deref().unwrap_or(name)), type_name.as_deref())
                }
            };
            let Some(property) = property.filter(|property| !property.is_empty()) else {
                told.role = Some("left out");
                described.roles.push(Role::Ignore);
                columns.push(told);
                continue;
            };
            let kind = kind_of(file, name, type_name, seen, shape)?;
            told.type_name = cell::name_of(&kind);
            told.property = (property != name).then(|| property.to_string());
            let key = self.names.intern_key(property)?;
            if !keys.insert(key) {
                return Err(wrong(format!("two columns become the property `{property}`")));
            }
            let kind = match &file.staged {
                Some(_) => kind,
                None => Kind::Sniffed(Box::new(kind), self.nulls.clone()),
            };
            described.properties.push((key, kind));
            described.roles.push(Role::Property(described.properties.len() - 1));
            columns.push(told);
        }
        self.plan.understood.push(Understood {
            file: file.shown.clone(),
            what,
            delimiter: shape.format.delimiter,
            encoding: file.staged.as_ref().map_or(file.encoding().name(), |staged| staged.form),
            is_text: file.staged.is_none(),
            has_header: shape.has_header,
            rows: seen.first().map_or(0, |seen| seen.rows),
            columns,
        });
        Ok(described)
    }
}

/// The kind of a column's fields: as a mapping says, or as they are.
fn kind_of(
    file: &InputFile,
    name: &str,
    type_name: Option<&str>,
    seen: &ColumnSurvey,
    shape: &Shape,
) -> Result<Kind, ImportError> {
    let wrong = |what: String| {
        let what = format!("column `{name}`: {what}");
        ImportError::Columns { path: file.shown.clone(), what }
    };
    match type_name {
        None => match refusal(file, name) {
            Some(what) => Err(wrong(what.into())),
            None => Ok(seen.kind()),
        },
        // Lists of such files are values already.
        Some(type_name) if type_name.ends_with("[]") && seen.kind() == Kind::Any => Ok(Kind::Any),
        Some(type_name) => cell::kind_named(type_name, shape.format.list_separator())
            .ok_or_else(|| wrong(format!("`{type_name}` is no type"))),
    }
}

/// Does the file say itself that these ids are texts?
fn is_text_id(file: &InputFile, id: &str) -> bool {
    let column =
        file.staged.as_ref().and_then(|staged| staged.columns.iter().find(|column| column.name == id));
    column.is_some_and(|column| column.kind == Kind::Text)
}

/// Why a column of a file that says its types itself becomes no property, if so.
fn refusal<'f>(file: &'f InputFile, name: &str) -> Option<&'f str> {
    let staged = file.staged.as_ref()?;
    staged.columns.iter().find(|column| column.name == name)?.refused.as_deref()
}

struct Described {
    roles: Vec<Role>,
    properties: Vec<(KeyId, Kind)>,
}

/// Which files of `files` a mapping's entries mean: `by_entry` has the files of each path that the mapping names.
pub(crate) fn mapped<'m>(
    mapping: &'m Mapping,
    by_path: &BTreeMap<std::path::PathBuf, Vec<usize>>,
) -> Vec<Mapped<'m>> {
    let mut all = Vec::new();
    for nodes in &mapping.nodes {
        let files = by_path.get(&nodes.file).into_iter().flatten();
        all.extend(files.map(|file| Mapped { file: *file, rows: MappedRows::Nodes(nodes) }));
    }
    for edges in &mapping.edges {
        let files = by_path.get(&edges.file).into_iter().flatten();
        all.extend(files.map(|file| Mapped { file: *file, rows: MappedRows::Edges(edges) }));
    }
    all
}
