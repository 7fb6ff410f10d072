//! From the bytes of a block to columns: vertices with their ids, edges with their ends looked up, elements of lists.
//!
//! A row that is wrong anywhere is rejected with the first reason, and is taken out of all columns at the end of its block.

use crate::cell::{self, Cells, shown};
use crate::ids::{Id, IdColumn};
use crate::reject::Rejects;
use crate::table::{EdgeTable, IdKind, Role, SpaceNo, Table, VertexTable};
use formats::blocks::Block;
use formats::records::{Field, Records, split};
use model::{Column, EdgeTypeId, KeyId, LabelId, Value};
use store::Names;

/// Looks up the vertex of an id.
pub(crate) type Resolve<'a> = &'a (dyn Fn(SpaceNo, Id<'_>) -> Result<Option<u32>, String> + Sync);

/// Edges that a column stands for: from these rows to these ids.
#[derive(Default)]
pub(crate) struct LinkRows {
    pub rows: Vec<u32>,
    pub ids: IdColumn,
}

/// Vertices of one block.
pub(crate) struct VertexBatch {
    pub count: usize,
    /// One a row; empty where the file has no id column.
    pub ids: IdColumn,
    /// Line of each row.
    pub lines: Vec<u64>,
    pub columns: Vec<(KeyId, Column)>,
    /// Which of `label_sets` each row has; empty where all have the first.
    pub row_labels: Vec<u32>,
    pub label_sets: Vec<Vec<LabelId>>,
    pub links: Vec<LinkRows>,
}

impl VertexBatch {
    /// Only these rows (sorted), renumbered; links of other rows go.
    pub fn keep(&mut self, rows: &[u32]) {
        let mut ids = IdColumn::default();
        if self.ids.len() > 0 {
            rows.iter().for_each(|row| ids.push(self.ids.get(*row as usize)));
        }
        self.ids = ids;
        self.lines = rows.iter().map(|row| self.lines[*row as usize]).collect();
        if !self.row_labels.is_empty() {
            self.row_labels = rows.iter().map(|row| self.row_labels[*row as usize]).collect();
        }
        self.columns.iter_mut().for_each(|(_, column)| *column = column.gather(rows));
        for link in &mut self.links {
            let mut kept = LinkRows::default();
            for (at, row) in link.rows.iter().enumerate() {
                if let Ok(row) = rows.binary_search(row) {
                    kept.rows.push(row as u32);
                    kept.ids.push(link.ids.get(at));
                }
            }
            *link = kept;
        }
        self.count = rows.len();
    }
}

/// Rows below `count` that are not among `gone` (sorted).
pub(crate) fn all_but(count: usize, gone: &[u32]) -> Vec<u32> {
    let mut gone = gone.iter().peekable();
    (0..count as u32).filter(|row| gone.next_if_eq(&row).is_none()).collect()
}

/// Splits a record and checks that it has as many fields as there are columns.
fn fields<'a>(table: &Table, record: &'a [u8], fields: &mut Vec<Field<'a>>) -> Result<(), String> {
    fields.clear();
    split(record, table.format, fields)?;
    match (fields.len(), table.roles.len()) {
        (found, wanted) if found == wanted => Ok(()),
        (found, wanted) => Err(format!("{found} fields where the header has {wanted}")),
    }
}

fn id_of<'a>(field: &'a Field<'_>, kind: IdKind, unescaped: &'a mut Vec<u8>) -> Result<Id<'a>, String> {
    let bytes = if field.doubled {
        unescaped.clear();
        unescaped.extend_from_slice(field.text()?.as_bytes());
        unescaped.as_slice()
    } else {
        field.bytes
    };
    if bytes.is_empty() {
        return Err("the id is missing".into());
    }
    match Id::of(bytes) {
        None => Err("the id is not UTF-8 text".into()),
        Some(Id::Text(_)) if kind == IdKind::Int => match cell::int(bytes) {
            Some(int) => Ok(Id::Int(int)),
            None => Err(format!("id {} is no integer", shown(bytes))),
        },
        Some(id) => Ok(id),
    }
}

/// Reads the vertices of a block.
pub(crate) fn vertices(
    table: &Table,
    vertex: &VertexTable,
    kind: IdKind,
    names: &Names,
    block: &Block,
    rejects: &mut Rejects,
) -> VertexBatch {
    // The same lines are met again as edges.
    let mut unheard = Rejects::default();
    let rejects = if vertex.implied { &mut unheard } else { rejects };
    let mut reading = VertexReading::new(table, vertex, kind, names);
    let mut parts = Vec::with_capacity(table.roles.len());
    let mut wrong = Vec::new();
    for (line, record) in Records::new(&block.bytes, table.format, block.first_line) {
        if table.passes_over(record) {
            continue;
        }
        if let Err(what) = fields(table, record, &mut parts) {
            rejects.add(line, what);
            continue;
        }
        let line = table.line(line, &parts);
        if let Err(what) = reading.row(line, &parts) {
            rejects.add(line, what);
            wrong.push(reading.batch.count as u32 - 1);
        }
    }
    reading.finish(&wrong)
}

struct VertexReading<'t> {
    table: &'t Table,
    kind: IdKind,
    fixed_labels: &'t [LabelId],
    has_labels: bool,
    names: &'t Names,
    cells: Vec<Cells<'t>>,
    batch: VertexBatch,
    /// Fields of the label column that were met, with their label set.
    label_fields: Vec<(Vec<u8>, u32)>,
    unescaped: Vec<u8>,
}

impl<'t> VertexReading<'t> {
    fn new(table: &'t Table, vertex: &'t VertexTable, kind: IdKind, names: &'t Names) -> VertexReading<'t> {
        let has_labels = table.roles.iter().any(|role| matches!(role, Role::Labels { .. }));
        let batch = VertexBatch {
            count: 0,
            ids: IdColumn::default(),
            lines: Vec::new(),
            columns: Vec::new(),
            row_labels: Vec::new(),
            label_sets: if has_labels { Vec::new() } else { vec![vertex.labels.clone()] },
            links: vertex.links.iter().map(|_| LinkRows::default()).collect(),
        };
        VertexReading {
            table,
            kind,
            fixed_labels: &vertex.labels,
            has_labels,
            names,
            cells: table.properties.iter().map(|(_, kind)| Cells::new(kind)).collect(),
            batch,
            label_fields: Vec::new(),
            unescaped: Vec::new(),
        }
    }

    /// Appends one row to everything; the first thing that is wrong with it.
    fn row(&mut self, line: u64, fields: &[Field<'_>]) -> Result<(), String> {
        let mut result = Ok(());
        let row = self.batch.count as u32;
        self.batch.count += 1;
        self.batch.lines.push(line);
        for (at, (role, field)) in self.table.roles.iter().zip(fields).enumerate() {
            let pushed = match role {
                Role::Id => self.push_id(field),
                Role::Property(property) => self.cells[*property].push(field),
                Role::Link(link) if !field.is_absent() => {
                    let links = &mut self.batch.links[*link];
                    id_of(field, IdKind::Found, &mut self.unescaped).map(|id| {
                        links.rows.push(row);
                        links.ids.push(id);
                    })
                }
                Role::Labels { separator, capitalise, property } => {
                    let pushed = property.map_or(Ok(()), |property| self.cells[property].push(field));
                    pushed.and(self.push_labels(field, *separator, *capitalise))
                }
                _ => Ok(()),
            };
            result = result.and(pushed.map_err(|what| self.table.wrong(at, what)));
        }
        result
    }

    fn push_id(&mut self, field: &Field<'_>) -> Result<(), String> {
        let id = id_of(field, self.kind, &mut self.unescaped);
        // A filler that does not make the column one of texts; the row goes.
        self.batch.ids.push(id.clone().unwrap_or(Id::Int(0)));
        id.map(|_| ())
    }

    fn push_labels(&mut self, field: &Field<'_>, separator: u8, capitalise: bool) -> Result<(), String> {
        let known = self.label_fields.iter().find(|(bytes, _)| bytes == field.bytes).map(|(_, set)| *set);
        let set = match known {
            Some(set) => Ok(set),
            None => self.new_labels(field, separator, capitalise),
        };
        self.batch.row_labels.push(*set.as_ref().unwrap_or(&0));
        set.map(|_| ())
    }

    fn new_labels(&mut self, field: &Field<'_>, separator: u8, capitalise: bool) -> Result<u32, String> {
        let text = field.text()?;
        let mut labels = self.fixed_labels.to_vec();
        for name in text.split(char::from(separator)).map(str::trim).filter(|name| !name.is_empty()) {
            let name = if capitalise { capitalised(name) } else { name.to_string() };
            labels.push(self.names.intern_label(&name).map_err(|error| error.to_string())?);
        }
        labels.sort_unstable();
        labels.dedup();
        let sets = &mut self.batch.label_sets;
        let set = sets.iter().position(|known| *known == labels).unwrap_or_else(|| {
            sets.push(labels);
            sets.len() - 1
        }) as u32;
        self.label_fields.push((field.bytes.to_vec(), set));
        Ok(set)
    }

    fn finish(self, wrong: &[u32]) -> VertexBatch {
        let mut batch = self.batch;
        let keys = self.table.properties.iter().map(|(key, _)| *key);
        batch.columns = keys.zip(self.cells.into_iter().map(Cells::finish)).collect();
        debug_assert!(!self.has_labels || batch.row_labels.len() == batch.count);
        if !wrong.is_empty() {
            batch.keep(&all_but(batch.count, wrong));
        }
        batch
    }
}

/// With a large first letter.
pub(crate) fn capitalised(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

/// Edges of one type in one block.
pub(crate) struct EdgeBatch {
    pub edge_type: EdgeTypeId,
    pub pairs: Vec<(u32, u32)>,
    pub columns: Vec<(KeyId, Column)>,
}

/// Reads the edges of a block, one batch for each type in it.
pub(crate) fn edges(
    table: &Table,
    edge: &EdgeTable,
    kinds: (IdKind, IdKind),
    names: &Names,
    resolve: Resolve<'_>,
    block: &Block,
    rejects: &mut Rejects,
) -> Vec<EdgeBatch> {
    let mut reading = EdgeReading {
        table,
        edge,
        kinds,
        names,
        resolve,
        cells: table.properties.iter().map(|(_, kind)| Cells::new(kind)).collect(),
        pairs: Vec::new(),
        row_types: Vec::new(),
        types: Vec::new(),
        unescaped: Vec::new(),
    };
    let mut parts = Vec::with_capacity(table.roles.len());
    let mut wrong = Vec::new();
    for (line, record) in Records::new(&block.bytes, table.format, block.first_line) {
        if table.passes_over(record) {
            continue;
        }
        if let Err(what) = fields(table, record, &mut parts) {
            rejects.add(line, what);
            continue;
        }
        if let Err(what) = reading.row(&parts) {
            rejects.add(table.line(line, &parts), what);
            wrong.push(reading.pairs.len() as u32 - 1);
        }
    }
    reading.finish(&wrong)
}

struct EdgeReading<'t> {
    table: &'t Table,
    edge: &'t EdgeTable,
    kinds: (IdKind, IdKind),
    names: &'t Names,
    resolve: Resolve<'t>,
    cells: Vec<Cells<'t>>,
    pairs: Vec<(u32, u32)>,
    /// Which of `types` each row has; empty where the file is of one type.
    row_types: Vec<u32>,
    types: Vec<(Vec<u8>, EdgeTypeId)>,
    unescaped: Vec<u8>,
}

impl EdgeReading<'_> {
    /// Appends one row to everything; the first thing that is wrong with it.
    fn row(&mut self, fields: &[Field<'_>]) -> Result<(), String> {
        let mut result = Ok(());
        let mut pair = (0, 0);
        for (at, (role, field)) in self.table.roles.iter().zip(fields).enumerate() {
            let pushed = match role {
                Role::Start => self.end(field, self.edge.source, self.kinds.0).map(|vertex| pair.0 = vertex),
                Role::End => self.end(field, self.edge.target, self.kinds.1).map(|vertex| pair.1 = vertex),
                Role::Property(property) => self.cells[*property].push(field),
                Role::Type => self.push_type(field),
                _ => Ok(()),
            };
            result = result.and(pushed.map_err(|what| self.table.wrong(at, what)));
        }
        self.pairs.push(pair);
        result
    }

    fn end(&mut self, field: &Field<'_>, space: SpaceNo, kind: IdKind) -> Result<u32, String> {
        let id = id_of(field, kind, &mut self.unescaped)?;
        (self.resolve)(space, id)?.ok_or_else(|| format!("no vertex has the id {}", shown(field.bytes)))
    }

    fn push_type(&mut self, field: &Field<'_>) -> Result<(), String> {
        let known = self.types.iter().position(|(bytes, _)| bytes == field.bytes);
        let found = match known {
            Some(at) => Ok(at as u32),
            None => self.new_type(field),
        };
        self.row_types.push(*found.as_ref().unwrap_or(&0));
        found.map(|_| ())
    }

    fn new_type(&mut self, field: &Field<'_>) -> Result<u32, String> {
        let text = field.text()?;
        let edge_type = match (text.trim(), self.edge.edge_type) {
            ("", Some(edge_type)) => edge_type,
            ("", None) => return Err("the edge has no type".into()),
            (name, _) => self.names.intern_edge_type(name).map_err(|error| error.to_string())?,
        };
        self.types.push((field.bytes.to_vec(), edge_type));
        Ok(self.types.len() as u32 - 1)
    }

    fn finish(self, wrong: &[u32]) -> Vec<EdgeBatch> {
        let keys = self.table.properties.iter().map(|(key, _)| *key);
        let columns: Vec<(KeyId, Column)> = keys.zip(self.cells.into_iter().map(Cells::finish)).collect();
        let typed = self.row_types.len() == self.pairs.len() && !self.pairs.is_empty();
        match (typed, self.edge.edge_type) {
            (false, Some(edge_type)) if wrong.is_empty() => {
                vec![EdgeBatch { edge_type, pairs: self.pairs, columns }]
            }
            (false, None) => Vec::new(),
            _ => {
                let rows = all_but(self.pairs.len(), wrong);
                let type_of = |row: u32| match typed {
                    true => self.types[self.row_types[row as usize] as usize].1,
                    false => self.edge.edge_type.expect("a table without types has one"),
                };
                let mut types: Vec<EdgeTypeId> = rows.iter().map(|row| type_of(*row)).collect();
                types.sort_unstable();
                types.dedup();
                let batch = |edge_type: EdgeTypeId| {
                    let of_type = rows.iter().copied().filter(|row| type_of(*row) == edge_type);
                    let rows: Vec<u32> = of_type.collect();
                    EdgeBatch {
                        edge_type,
                        pairs: rows.iter().map(|row| self.pairs[*row as usize]).collect(),
                        columns: columns.iter().map(|(key, column)| (*key, column.gather(&rows))).collect(),
                    }
                };
                types.into_iter().map(batch).collect()
            }
        }
    }
}

/// Elements of list properties in one block.
#[derive(Default)]
pub(crate) struct ElementBatch {
    pub ids: IdColumn,
    pub lines: Vec<u64>,
    pub values: Vec<Value>,
}

/// Reads the elements of a block.
pub(crate) fn elements(table: &Table, block: &Block, rejects: &mut Rejects) -> ElementBatch {
    let mut batch = ElementBatch::default();
    let (mut parts, mut unescaped) = (Vec::new(), Vec::new());
    let (_, kind) = &table.properties[0];
    for (line, record) in Records::new(&block.bytes, table.format, block.first_line) {
        if table.passes_over(record) {
            continue;
        }
        let mut read = || -> Result<(), String> {
            fields(table, record, &mut parts)?;
            let (mut id, mut value) = (None, None);
            for (role, field) in table.roles.iter().zip(&parts) {
                match role {
                    Role::Start => id = Some(*field),
                    Role::Property(_) if !field.is_absent() => {
                        value = Some(cell::value(kind, &field.text()?)?)
                    }
                    _ => {}
                }
            }
            let id = id.ok_or("the id is missing")?;
            let id = id_of(&id, IdKind::Found, &mut unescaped)?;
            batch.values.push(value.ok_or("the element is missing")?);
            batch.ids.push(id);
            batch.lines.push(line);
            Ok(())
        };
        if let Err(what) = read() {
            rejects.add(line, what);
        }
    }
    batch
}
