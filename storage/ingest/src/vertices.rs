//! Vertices of the files, batch by batch in file order: ids are noted, wrong rows left out, the rest handed to the store.
//!
//! Invariant: a batch is forgotten once it was handed over, but for its ids and for the edges that its columns stand for. Whether the ids
//! of a space are integers or text is decided by the first that is met; where a later one proves that wrong, everything begins again
//! with text ([`Stop::AsText`]).

use crate::existing::{Existing, LabelSets};
use crate::ids::{Id, IdColumn, IdMap, NO_ROW};
use crate::lists::{self, Lists};
use crate::load::Counts;
use crate::options::ExistingPolicy;
use crate::reject::Rejects;
use crate::rows::{LinkRows, VertexBatch, all_but};
use crate::rules::Rules;
use crate::table::{IdKind, SpaceNo, Table, Tables, VertexTable};
use crate::work::Work;
use crate::{ImportError, cell};
use model::schema::{IndexId, SchemaTarget};
use model::{Column, KeyId, LabelId, Value, VertexId};
use std::collections::BTreeMap;
use store::{Bulk, Names};
use transact::{Engine, Mode, TransactError};

/// Why loading ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Ids of this space that were taken for integers are text.
    AsText(SpaceNo),
    /// It failed.
    Failed(ImportError),
}

impl<E: Into<ImportError>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Failed(error.into())
    }
}

/// The state of one id space.
struct SpaceState {
    map: IdMap,
    /// The vertex of each row; [`NO_ROW`] for rows that were left out.
    by_row: Vec<u32>,
    /// Are ids text? Unknown before the first.
    as_text: Option<bool>,
    lists: Vec<Lists>,
    label_sets: LabelSets,
}

/// Edges that a column of one batch stands for: from or to these vertices.
pub(crate) struct LinkBatch {
    /// Which vertex table, and which link of it.
    pub table: usize,
    pub link: usize,
    pub own: Vec<u32>,
    pub ids: IdColumn,
    pub lines: Vec<u64>,
}

/// Everything that vertices go through.
pub(crate) struct VertexIntake<'a> {
    pub work: &'a Work<'a>,
    pub plan: &'a Tables,
    pub names: &'a Names,
    pub bulk: &'a Bulk<'a>,
    pub existing: &'a Existing,
    pub rules: &'a Rules,
    pub tables: &'a [(&'a Table, &'a VertexTable)],
    pub policy: ExistingPolicy,
}

/// The imported vertices.
pub(crate) struct ImportedVertices {
    /// By space.
    pub maps: Vec<IdMap>,
    pub label_sets: Vec<LabelSets>,
    pub links: Vec<LinkBatch>,
    pub updates: Updates,
}

/// Properties to be set at vertices that are there.
#[derive(Default)]
pub(crate) struct Updates(Vec<(u32, Vec<(KeyId, Value)>)>);

impl Updates {
    /// Sets them, all or none.
    pub fn commit(self, engine: &Engine) -> Result<(), TransactError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let transaction = engine.begin(Mode::Write);
        for (vertex, properties) in self.0 {
            for (key, value) in properties {
                transaction.set_property(VertexId::from_dense(vertex), key, value)?;
            }
        }
        transaction.commit().map(drop)
    }
}

/// Vertices being taken.
pub(crate) struct Taking<'a> {
    intake: VertexIntake<'a>,
    spaces: Vec<SpaceState>,
    links: Vec<LinkBatch>,
    counts: &'a mut Counts,
    updates: Updates,
}

impl<'a> Taking<'a> {
    pub fn new(
        intake: VertexIntake<'a>,
        counts: &'a mut Counts,
        mut lists: BTreeMap<SpaceNo, Vec<Lists>>,
    ) -> Taking<'a> {
        let state = |(number, space): (usize, &crate::table::Space)| SpaceState {
            map: IdMap::growing(),
            by_row: Vec::new(),
            as_text: (space.kind == IdKind::Text).then_some(true),
            lists: lists.remove(&number).unwrap_or_default(),
            label_sets: LabelSets::new(),
        };
        let spaces = intake.plan.spaces.iter().enumerate().map(state).collect();
        Taking { intake, spaces, links: Vec::new(), counts, updates: Updates::default() }
    }

    /// Takes the next batch of a table.
    pub fn take(&mut self, number: usize, mut batch: VertexBatch) -> Result<(), Stop> {
        let (table, vertex) = self.intake.tables[number];
        let state = &mut self.spaces[vertex.space];
        state.label_sets.extend(batch.label_sets.iter().cloned());
        let first_row = state.by_row.len();
        let mut wrong: Vec<(u32, String)> = Vec::new();
        let mut there: Vec<(u32, u32)> = Vec::new();
        let mut repeated: Vec<u32> = Vec::new();
        if batch.ids.len() > 0 {
            let is_text = matches!(batch.ids, IdColumn::Texts(_));
            if is_text && state.as_text == Some(false) {
                return Err(Stop::AsText(vertex.space));
            }
            state.as_text.get_or_insert(is_text);
            state.by_row.resize(first_row + batch.ids.len(), NO_ROW);
            for row in 0..batch.ids.len() {
                if state.map.insert(batch.ids.get(row), (first_row + row) as u32) {
                    continue;
                }
                if vertex.implied {
                    repeated.push(row as u32);
                } else {
                    wrong.push((
                        row as u32,
                        format!("id {} is there before", id_text(&batch.ids, row as u32)),
                    ));
                }
            }
            let by_row = &mut state.by_row[first_row..];
            there = find_existing(&self.intake, vertex, table, &batch, by_row)?;
        }
        let with_ids = batch.ids.len() > 0;
        let links = std::mem::take(&mut batch.links);
        let lines = batch.lines.clone();
        there.retain(|(row, _)| wrong.iter().all(|(wrong, _)| wrong != row));
        there.retain(|(row, _)| repeated.binary_search(row).is_err());
        let (kept, made) = self.make((table, vertex), &mut batch, wrong, &repeated, &there)?;
        if with_ids {
            let by_row = &mut self.spaces[vertex.space].by_row[first_row..];
            kept.iter().zip(&made).for_each(|(row, vertex)| by_row[*row as usize] = *vertex);
        }
        // Relationships that columns stand for are taken of vertices that are there, too.
        let mut of_rows: Vec<(u32, u32)> = kept.into_iter().zip(made).chain(there).collect();
        of_rows.sort_unstable();
        let (rows, vertices): (Vec<u32>, Vec<u32>) = of_rows.into_iter().unzip();
        self.keep_links(number, links, &rows, &vertices, &lines);
        Ok(())
    }

    fn keep_links(&mut self, table: usize, links: Vec<LinkRows>, kept: &[u32], made: &[u32], lines: &[u64]) {
        for (link, rows) in links.into_iter().enumerate().filter(|(_, rows)| !rows.rows.is_empty()) {
            let mut batch =
                LinkBatch { table, link, own: Vec::new(), ids: IdColumn::default(), lines: Vec::new() };
            for (at, row) in rows.rows.iter().enumerate() {
                if let Ok(place) = kept.binary_search(row) {
                    batch.own.push(made[place]);
                    batch.ids.push(rows.ids.get(at));
                    batch.lines.push(lines[*row as usize]);
                }
            }
            self.links.push(batch);
        }
    }

    /// Makes the vertices of a batch, without the wrong rows: which rows are kept, and the dense vertex of each.
    fn make(
        &mut self,
        (table, vertex): (&Table, &VertexTable),
        batch: &mut VertexBatch,
        mut wrong: Vec<(u32, String)>,
        repeated: &[u32],
        there: &[(u32, u32)],
    ) -> Result<(Vec<u32>, Vec<u32>), ImportError> {
        let space = vertex.space;
        let state = &mut self.spaces[space];
        state.lists.iter_mut().for_each(|list| batch.columns.push((list.key, list.column(&batch.ids))));
        if !vertex.implied {
            self.note_existing(batch, there);
        }
        let state = &self.spaces[space];
        if let Some(key) = self.intake.plan.spaces[space].key.filter(|_| batch.ids.len() > 0) {
            let mut ids = std::mem::take(&mut batch.ids);
            if state.as_text == Some(true) {
                ids.make_texts();
            }
            batch.columns.insert(0, (key, ids.into_column()));
        }
        wrong.extend(self.broken(batch));
        wrong.sort();
        wrong.dedup_by_key(|(row, _)| *row);
        wrong.retain(|(row, _)| there.binary_search_by_key(row, |(row, _)| *row).is_err());
        wrong.retain(|(row, _)| repeated.binary_search(row).is_err());
        let mut rejects = Rejects::default();
        wrong.iter().for_each(|(row, what)| rejects.add(batch.lines[*row as usize], what.as_str()));
        self.intake.work.rejection.take(table.file, rejects);
        let mut gone: Vec<u32> = wrong.into_iter().map(|(row, _)| row).collect();
        gone.extend(there.iter().map(|(row, _)| *row).chain(repeated.iter().copied()));
        gone.sort_unstable();
        let kept = all_but(batch.count, &gone);
        if !gone.is_empty() {
            batch.keep(&kept);
        }
        Ok((kept, self.submit(batch)?))
    }

    /// Counts rows of vertices that are there, and notes their properties where they are to be set.
    fn note_existing(&mut self, batch: &VertexBatch, there: &[(u32, u32)]) {
        self.counts.existing += there.len() as u64;
        if self.intake.policy != ExistingPolicy::Merge {
            return;
        }
        for (row, vertex) in there {
            let properties = batch.columns.iter().map(|(key, column)| (*key, column.get(*row as usize)));
            let given: Vec<(KeyId, Value)> = properties.filter(|(_, value)| !value.is_null()).collect();
            if !given.is_empty() {
                self.updates.0.push((*vertex, given));
            }
        }
    }

    fn broken(&self, batch: &VertexBatch) -> Vec<(u32, String)> {
        let mut broken = Vec::new();
        for (set, labels) in batch.label_sets.iter().enumerate() {
            let targets: Vec<SchemaTarget> =
                labels.iter().map(|label| SchemaTarget::Vertices(*label)).collect();
            let has_set = |row: u32| batch.row_labels.get(row as usize).is_none_or(|of| *of == set as u32);
            let found = self.intake.rules.broken(&targets, batch.count, &batch.columns);
            broken.extend(found.into_iter().filter(|(row, _)| has_set(*row)));
        }
        broken
    }

    /// Hands a batch to the store, one label set after the other.
    fn submit(&mut self, batch: &mut VertexBatch) -> Result<Vec<u32>, ImportError> {
        let (names, bulk) = (self.intake.names, self.intake.bulk);
        let columns: Vec<(KeyId, Column)> = std::mem::take(&mut batch.columns);
        if let [labels] = batch.label_sets.as_slice() {
            let label_set = names.intern_label_set(labels)?;
            *self.counts.vertices.entry(labels.clone()).or_default() += batch.count as u64;
            let ids = bulk.vertices(label_set, batch.count, columns)?;
            return Ok(ids.into_iter().flatten().collect());
        }
        let mut dense = vec![NO_ROW; batch.count];
        for (set, labels) in batch.label_sets.iter().enumerate() {
            let label_set = names.intern_label_set(labels)?;
            let of_set = batch.row_labels.iter().enumerate().filter(|(_, of)| **of == set as u32);
            let rows: Vec<u32> = of_set.map(|(row, _)| row as u32).collect();
            if rows.is_empty() {
                continue;
            }
            let columns = columns.iter().map(|(key, column)| (*key, column.gather(&rows))).collect();
            let ids = bulk.vertices(label_set, rows.len(), columns)?.into_iter().flatten();
            rows.iter().zip(ids).for_each(|(row, id)| dense[*row as usize] = id);
            *self.counts.vertices.entry(labels.clone()).or_default() += rows.len() as u64;
        }
        Ok(dense)
    }

    /// All vertices were taken.
    pub fn finish(self) -> ImportedVertices {
        let Taking { intake, spaces, links, updates, .. } = self;
        let mut made = ImportedVertices { maps: Vec::new(), label_sets: Vec::new(), links, updates };
        for mut state in spaces {
            lists::reject_left(intake.work, &state.lists, &state.map);
            state.map.renumber(|row| state.by_row[row as usize]);
            state.map.pack();
            made.maps.push(state.map);
            made.label_sets.push(state.label_sets);
        }
        made
    }
}

/// Rows (sorted) whose ids the database has already, with their vertices: the row goes, and edges lead to the vertex that is there.
///
/// # Errors
/// There is one, and the import is to fail then.
fn find_existing(
    intake: &VertexIntake<'_>,
    rows: &VertexTable,
    table: &Table,
    batch: &VertexBatch,
    by_row: &mut [u32],
) -> Result<Vec<(u32, u32)>, ImportError> {
    let (mut there, space) = (Vec::new(), rows.space);
    let keyless = intake.plan.spaces[space].key.is_none() && !rows.implied;
    let uniques = if keyless { uniques(intake, batch) } else { Vec::new() };
    if !intake.existing.has_any(space) && uniques.iter().all(Vec::is_empty) {
        return Ok(there);
    }
    for (row, place) in by_row.iter_mut().enumerate() {
        let found = match intake.existing.has_any(space) {
            true => intake.existing.find(space, batch.ids.get(row))?,
            false => None,
        };
        let set = batch.row_labels.get(row).map_or(0, |set| *set as usize);
        let found = match (found, uniques.get(set)) {
            (None, Some(indexes)) => find_unique(intake, indexes, row)?,
            (found, _) => found,
        };
        let Some(vertex) = found else { continue };
        if intake.policy == ExistingPolicy::Fail && !rows.implied {
            let file = intake.work.files[table.file].shown.display();
            let (line, id) = (batch.lines[row], id_text(&batch.ids, row as u32));
            return Err(ImportError::Existing { what: format!("{file}:{line}: the node with id {id}") });
        }
        *place = vertex;
        there.push((row as u32, vertex));
    }
    Ok(there)
}

/// A unique index, and the columns of a batch with the values of its keys.
type UniqueColumns<'b> = (IndexId, Vec<&'b Column>);

/// The unique indexes of each label set of a batch, so far as the batch has values of all their keys.
fn uniques<'b>(intake: &VertexIntake<'_>, batch: &'b VertexBatch) -> Vec<Vec<UniqueColumns<'b>>> {
    let column = |key: &KeyId| batch.columns.iter().find(|(held, _)| held == key).map(|(_, column)| column);
    let of_set = |labels: &Vec<LabelId>| {
        let indexes = intake.existing.unique(labels).into_iter();
        indexes
            .filter_map(|(index, keys)| Some((index, keys.iter().map(column).collect::<Option<_>>()?)))
            .collect()
    };
    batch.label_sets.iter().map(of_set).collect()
}

/// The vertex that has the values of a row which are unique.
fn find_unique(
    intake: &VertexIntake<'_>,
    indexes: &[UniqueColumns<'_>],
    row: usize,
) -> Result<Option<u32>, ImportError> {
    for (index, columns) in indexes {
        let values: Vec<Value> = columns.iter().map(|column| column.get(row)).collect();
        if values.iter().any(Value::is_null) {
            continue;
        }
        if let Some(found) = intake.existing.find_unique(*index, &values)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// An id as messages show it.
pub(crate) fn id_text(ids: &IdColumn, row: u32) -> String {
    match ids.get(row as usize) {
        Id::Int(int) => format!("`{int}`"),
        Id::Text(text) => cell::shown(text.as_bytes()),
    }
}
