//! From tables to a graph: vertices first, then the edges between them.
//!
//! ```text
//!   vertex files ─ parse, all threads ─> batches in file order ─> id maps ─> vertices ─┐
//!                                                            columns that are edges ───┼─> bulk build ─> snapshot
//!   edge files ─── parse, all threads, ends looked up in the id maps ─> edges ─────────┘
//! ```
//!
//! Invariant: vertices and edges are handed to the store in the order of the files, so the same files make the same graph, ids
//! included, with any number of threads. Cost: memory for the columns, which the build needs anyway, and for the id maps.

use crate::existing::{Existing, LabelSets};
use crate::ids::{Id, IdColumn, IdMap, NO_ROW};
use crate::reject::Rejects;
use crate::rows::{self, ElementBatch, VertexBatch, all_but};
use crate::rules::{self, Rules};
use crate::table::{IdKind, Rows, SpaceNo, Table, Tables, VertexTable, WantedIndex};
use crate::work::{Job, Work};
use crate::{ImportError, ImportReport, cell};
use model::schema::SchemaTarget;
use model::{Column, EdgeTypeId, KeyId, LabelId, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use store::{Bulk, Names, Snapshot, Store};

/// What was added, by kind.
#[derive(Default)]
pub(crate) struct Counts {
    pub vertices: BTreeMap<Vec<LabelId>, u64>,
    pub edges: BTreeMap<EdgeTypeId, u64>,
}

impl Counts {
    /// Writes the counts into the report.
    pub fn report(self, names: &Names, report: &mut ImportReport) {
        let names = names.table();
        let label = |label: &LabelId| names.label_name(*label).map_or(String::new(), |name| name.to_string());
        for (labels, count) in self.vertices {
            let mut labels: Vec<String> = labels.iter().map(label).collect();
            labels.sort();
            report.vertices += count;
            report.by_label.push((labels.join(":"), count));
        }
        for (edge_type, count) in self.edges {
            let name = names.edge_type_name(edge_type).map_or(String::new(), |name| name.to_string());
            report.edges += count;
            report.by_type.push((name, count));
        }
        report.by_label.sort();
        report.by_type.sort();
    }
}

/// Loads the tables on top of a snapshot.
pub(crate) fn load(
    work: &Work<'_>,
    plan: &Tables,
    store: &Store,
    snapshot: &Snapshot,
    place: u64,
) -> Result<(Snapshot, Counts), ImportError> {
    let mut loading = Loading {
        work,
        plan,
        names: store.names(),
        bulk: Bulk::new(store.allocator()),
        existing: None,
        label_sets: vec![LabelSets::new(); plan.spaces.len()],
        snapshot,
        rules: Rules::new(snapshot),
        maps: plan.spaces.iter().map(|_| IdMap::default()).collect(),
        counts: Counts::default(),
    };
    work.phase("reading vertices");
    loading.vertices()?;
    work.phase("reading edges");
    loading.edges()?;
    work.phase("building");
    let wanted = loading.wanted_indexes();
    let Loading { bulk, counts, maps, .. } = loading;
    drop(maps);
    let base = rules::with_indexes(snapshot, place, &wanted)?;
    let built = bulk.finish(&base, place, &|count, task| work.parallel(count, task))?;
    Ok((built, counts))
}

struct Loading<'a> {
    work: &'a Work<'a>,
    plan: &'a Tables,
    names: &'a Names,
    bulk: Bulk<'a>,
    snapshot: &'a Snapshot,
    /// By space.
    label_sets: Vec<LabelSets>,
    /// Made once the label sets are known.
    existing: Option<Existing>,
    rules: Rules,
    /// By space; row numbers until the vertices have theirs.
    maps: Vec<IdMap>,
    counts: Counts,
}

/// Batches of one vertex file.
type Batches<'a> = (&'a Table, &'a VertexTable, Vec<VertexBatch>);

/// Lists that the element files of one space make: by id, values of one key.
struct Lists {
    key: KeyId,
    map: IdMap,
    values: Vec<Vec<Value>>,
}

fn jobs<'t>(tables: impl Iterator<Item = &'t Table>) -> Vec<Job> {
    tables.map(|table| Job { file: table.file, format: table.format, skip: table.skip }).collect()
}

impl<'a> Loading<'a> {
    fn existing(&self) -> &Existing {
        self.existing.as_ref().expect("it is made before ids are looked up")
    }

    /// The indexes of the plan, and those on the ids of the labels that were met.
    fn wanted_indexes(&self) -> Vec<WantedIndex> {
        let mut wanted = self.plan.indexes.clone();
        if !self.plan.index_ids {
            return wanted;
        }
        let mut of_spaces: Vec<(LabelId, KeyId)> = Vec::new();
        for (space, sets) in self.plan.spaces.iter().zip(&self.label_sets) {
            let labels: BTreeSet<LabelId> = sets.iter().flatten().copied().collect();
            of_spaces.extend(space.key.iter().flat_map(|key| labels.iter().map(|label| (*label, *key))));
        }
        of_spaces.sort_unstable();
        for same in of_spaces.chunk_by(|a, b| a == b) {
            let (label, key) = same[0];
            wanted.push(WantedIndex { label, key, unique: same.len() == 1 });
        }
        wanted
    }

    fn vertices(&mut self) -> Result<(), ImportError> {
        let plan = self.plan;
        let vertex_tables = plan.tables.iter().filter_map(|table| match &table.rows {
            Rows::Vertices(vertex) => Some((table, vertex)),
            _ => None,
        });
        let vertex_tables: Vec<(&Table, &VertexTable)> = vertex_tables.collect();
        let jobs = jobs(vertex_tables.iter().map(|(table, _)| *table));
        let parsed = self.work.sweep(&jobs, |job, block, rejects| {
            let (table, vertex) = vertex_tables[job];
            let kind = plan.spaces[vertex.space].kind;
            let batch = rows::vertices(table, vertex, kind, self.names, block, rejects);
            self.work.vertices.fetch_add(batch.count as u64, Ordering::Relaxed);
            batch
        })?;
        let files = vertex_tables.iter().zip(parsed);
        let mut files: Vec<Batches<'a>> =
            files.map(|((table, vertex), batches)| (*table, *vertex, batches)).collect();
        for (_, vertex, batches) in &files {
            let sets = batches.iter().flat_map(|batch| batch.label_sets.iter().cloned());
            self.label_sets[vertex.space].extend(sets);
        }
        self.existing = Some(Existing::new(self.snapshot, &plan.spaces, &self.label_sets)?);
        let mut dense = Vec::with_capacity(files.len());
        files.iter().for_each(|(_, _, batches)| dense.push(vec![Vec::new(); batches.len()]));
        for space in 0..plan.spaces.len() {
            self.space(space, &mut files, &mut dense)?;
        }
        self.work.check_strict()?;
        self.links(&files, &dense)?;
        self.work.check_strict()
    }

    /// Makes the vertices of one space, and its map from id to vertex.
    fn space(
        &mut self,
        space: SpaceNo,
        files: &mut [Batches<'a>],
        dense: &mut [Vec<Vec<u32>>],
    ) -> Result<(), ImportError> {
        let ids: Vec<&IdColumn> = batches_of(space, files).map(|(_, batch)| &batch.ids).collect();
        let as_text = self.plan.spaces[space].kind == IdKind::Text
            || ids.iter().any(|ids| matches!(ids, IdColumn::Texts(_)));
        let (mut map, repeated) = IdMap::build(&ids, &|count, task| self.work.parallel(count, task));
        let lists = self.lists(space, &map)?;
        let mut by_row: Vec<u32> = vec![NO_ROW; ids.iter().map(|ids| ids.len()).sum()];
        let mut repeated = repeated.into_iter().peekable();
        let mut first_row = 0u32;
        for (file, (table, vertex, batches)) in files.iter_mut().enumerate() {
            if vertex.space != space {
                continue;
            }
            for (number, batch) in batches.iter_mut().enumerate() {
                let end = first_row + batch.ids.len() as u32;
                let mut wrong: Vec<(u32, String)> = Vec::new();
                while let Some(row) = repeated.next_if(|row| *row < end) {
                    let row = row - first_row;
                    wrong.push((row, format!("id {} is there before", id_text(&batch.ids, row))));
                }
                self.add_existing(space, batch, first_row, &mut by_row, &mut wrong)?;
                let (kept, made) = self.make(space, table, batch, wrong, &lists, as_text)?;
                if end > first_row {
                    let made = kept.iter().zip(&made);
                    made.for_each(|(row, vertex)| by_row[(first_row + row) as usize] = *vertex);
                }
                dense[file][number] = made;
                first_row = end;
            }
        }
        map.renumber(|row| by_row[row as usize]);
        self.maps[space] = map;
        Ok(())
    }

    /// Ids that the database has already: the row goes, and edges lead to the vertex that is there.
    fn add_existing(
        &self,
        space: SpaceNo,
        batch: &VertexBatch,
        first_row: u32,
        by_row: &mut [u32],
        wrong: &mut Vec<(u32, String)>,
    ) -> Result<(), ImportError> {
        let existing = self.existing();
        if !existing.has_any(space) {
            return Ok(());
        }
        for row in 0..batch.ids.len() {
            if let Some(vertex) = existing.find(space, batch.ids.get(row))? {
                by_row[first_row as usize + row] = vertex;
                let id = id_text(&batch.ids, row as u32);
                wrong.push((row as u32, format!("id {id} is in the database already")));
            }
        }
        Ok(())
    }

    /// Makes the vertices of a batch, without the wrong rows: which rows are kept, and the dense vertex of each.
    fn make(
        &mut self,
        space: SpaceNo,
        table: &Table,
        batch: &mut VertexBatch,
        mut wrong: Vec<(u32, String)>,
        lists: &[Lists],
        as_text: bool,
    ) -> Result<(Vec<u32>, Vec<u32>), ImportError> {
        for list in lists {
            let ids = &batch.ids;
            let value = |row: usize| {
                list.map
                    .get(ids.get(row))
                    .map_or(Value::Null, |at| Value::list(list.values[at as usize].clone()))
            };
            let column = Column::Any((0..ids.len()).map(value).collect());
            batch.columns.push((list.key, column));
        }
        if let Some(key) = self.plan.spaces[space].key.filter(|_| batch.ids.len() > 0) {
            let mut ids = std::mem::take(&mut batch.ids);
            if as_text {
                ids.make_texts();
            }
            batch.columns.insert(0, (key, ids.into_column()));
        }
        wrong.extend(self.broken(batch));
        wrong.sort();
        wrong.dedup_by_key(|(row, _)| *row);
        let mut rejects = Rejects::default();
        wrong.iter().for_each(|(row, what)| rejects.add(batch.lines[*row as usize], what.as_str()));
        self.work.rejection.take(table.file, rejects);
        let gone: Vec<u32> = wrong.into_iter().map(|(row, _)| row).collect();
        let kept = all_but(batch.count, &gone);
        if !gone.is_empty() {
            batch.keep(&kept);
        }
        Ok((kept, self.submit(batch)?))
    }

    fn broken(&self, batch: &VertexBatch) -> Vec<(u32, String)> {
        let mut broken = Vec::new();
        for (set, labels) in batch.label_sets.iter().enumerate() {
            let targets: Vec<SchemaTarget> =
                labels.iter().map(|label| SchemaTarget::Vertices(*label)).collect();
            let has_set = |row: u32| batch.row_labels.get(row as usize).is_none_or(|of| *of == set as u32);
            let found = self.rules.broken(&targets, batch.count, &batch.columns);
            broken.extend(found.into_iter().filter(|(row, _)| has_set(*row)));
        }
        broken
    }

    /// Hands a batch to the store, one label set after the other.
    fn submit(&mut self, batch: &mut VertexBatch) -> Result<Vec<u32>, ImportError> {
        let columns = std::mem::take(&mut batch.columns);
        if let [labels] = batch.label_sets.as_slice() {
            let label_set = self.names.intern_label_set(labels)?;
            *self.counts.vertices.entry(labels.clone()).or_default() += batch.count as u64;
            let ids = self.bulk.vertices(label_set, batch.count, columns)?;
            return Ok(ids.into_iter().flatten().collect());
        }
        let mut dense = vec![NO_ROW; batch.count];
        for (set, labels) in batch.label_sets.iter().enumerate() {
            let label_set = self.names.intern_label_set(labels)?;
            let of_set = batch.row_labels.iter().enumerate().filter(|(_, of)| **of == set as u32);
            let rows: Vec<u32> = of_set.map(|(row, _)| row as u32).collect();
            if rows.is_empty() {
                continue;
            }
            let columns = columns.iter().map(|(key, column)| (*key, column.gather(&rows))).collect();
            let ids = self.bulk.vertices(label_set, rows.len(), columns)?.into_iter().flatten();
            rows.iter().zip(ids).for_each(|(row, id)| dense[*row as usize] = id);
            *self.counts.vertices.entry(labels.clone()).or_default() += rows.len() as u64;
        }
        Ok(dense)
    }

    /// Reads the files whose rows are elements of lists of this space's vertices.
    fn lists(&self, space: SpaceNo, vertices: &IdMap) -> Result<Vec<Lists>, ImportError> {
        let of_space = |table: &&Table| matches!(table.rows, Rows::Elements { space: of } if of == space);
        let tables: Vec<&Table> = self.plan.tables.iter().filter(of_space).collect();
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let jobs = jobs(tables.iter().copied());
        let parsed = self.work.sweep(&jobs, |job, block, rejects| {
            let mut batch = rows::elements(tables[job], block, rejects);
            check_elements(&mut batch, vertices, rejects);
            batch
        })?;
        let mut by_key: BTreeMap<KeyId, Vec<ElementBatch>> = BTreeMap::new();
        for (table, batches) in tables.iter().zip(parsed) {
            by_key.entry(table.properties[0].0).or_default().extend(batches);
        }
        let lists = by_key.into_iter().map(|(key, batches)| {
            let ids: Vec<&IdColumn> = batches.iter().map(|batch| &batch.ids).collect();
            let (mut map, _) = IdMap::build(&ids, &|count, task| (0..count).for_each(task));
            let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
            map.renumber(|row| {
                let next = numbers.len() as u32;
                *numbers.entry(row).or_insert(next)
            });
            let mut values = vec![Vec::new(); numbers.len()];
            for batch in batches {
                for (row, value) in batch.values.into_iter().enumerate() {
                    let at = map.get(batch.ids.get(row)).expect("the map was made of these ids");
                    values[at as usize].push(value);
                }
            }
            Lists { key, map, values }
        });
        Ok(lists.collect())
    }

    /// The edges that columns of vertex files stand for.
    fn links(&mut self, files: &[Batches<'a>], dense: &[Vec<Vec<u32>>]) -> Result<(), ImportError> {
        let mut tasks = Vec::new();
        for (file, (_, vertex, batches)) in files.iter().enumerate() {
            for link in 0..vertex.links.len() {
                tasks.extend((0..batches.len()).map(|batch| (file, batch, link)));
            }
        }
        let resolved = self.work.map(tasks.len(), |at| {
            let (file, number, link) = tasks[at];
            let (table, vertex, batches) = &files[file];
            let (batch, plan) = (&batches[number], &vertex.links[link]);
            let (mut pairs, mut rejects) = (Vec::new(), Rejects::default());
            let rows = &batch.links[link];
            for (at, row) in rows.rows.iter().enumerate() {
                let id = rows.ids.get(at);
                match self.resolve(plan.space, id) {
                    Ok(Some(end)) => {
                        let own = dense[file][number][*row as usize];
                        pairs.push(if plan.reversed { (end, own) } else { (own, end) });
                    }
                    Ok(None) => {
                        let what = format!(
                            "no vertex has the id {}; the vertex stays",
                            id_text(&rows.ids, at as u32)
                        );
                        rejects.add(batch.lines[*row as usize], what);
                    }
                    Err(what) => rejects.add(batch.lines[*row as usize], what),
                }
            }
            self.work.rejection.take(table.file, rejects);
            (plan.edge_type, pairs)
        });
        for (edge_type, pairs) in resolved {
            self.submit_edges(edge_type, pairs, Vec::new())?;
        }
        Ok(())
    }

    fn resolve(&self, space: SpaceNo, id: Id<'_>) -> Result<Option<u32>, String> {
        let found = self.maps[space].get(id);
        let found = found.filter(|vertex| *vertex != NO_ROW);
        if found.is_some() || !self.existing().has_any(space) {
            return Ok(found);
        }
        self.existing().find(space, id).map_err(|error| error.to_string())
    }

    fn submit_edges(
        &mut self,
        edge_type: EdgeTypeId,
        pairs: Vec<(u32, u32)>,
        columns: Vec<(KeyId, Column)>,
    ) -> Result<(), ImportError> {
        let target = [SchemaTarget::Edges(edge_type)];
        if let Some((_, what)) = self.rules.broken(&target, pairs.len(), &columns).into_iter().next() {
            return Err(ImportError::Constraint { what });
        }
        if !pairs.is_empty() {
            *self.counts.edges.entry(edge_type).or_default() += pairs.len() as u64;
            self.bulk.edges(edge_type, pairs, columns)?;
        }
        Ok(())
    }

    fn edges(&mut self) -> Result<(), ImportError> {
        let plan = self.plan;
        let edge_tables = plan.tables.iter().filter_map(|table| match &table.rows {
            Rows::Edges(edge) => Some((table, edge)),
            _ => None,
        });
        let edge_tables: Vec<_> = edge_tables.collect();
        let jobs = jobs(edge_tables.iter().map(|(table, _)| *table));
        let resolve = |space: SpaceNo, id: Id<'_>| self.resolve(space, id);
        let parsed = self.work.sweep(&jobs, |job, block, rejects| {
            let (table, edge) = edge_tables[job];
            let kinds = (plan.spaces[edge.source].kind, plan.spaces[edge.target].kind);
            let batches = rows::edges(table, edge, kinds, self.names, &resolve, block, rejects);
            let count: usize = batches.iter().map(|batch| batch.pairs.len()).sum();
            self.work.edges.fetch_add(count as u64, Ordering::Relaxed);
            batches
        })?;
        for batch in parsed.into_iter().flatten().flatten() {
            self.submit_edges(batch.edge_type, batch.pairs, batch.columns)?;
        }
        Ok(())
    }
}

fn batches_of<'f>(
    space: SpaceNo,
    files: &'f [Batches<'_>],
) -> impl Iterator<Item = (&'f Table, &'f VertexBatch)> {
    let of_space = files.iter().filter(move |(_, vertex, _)| vertex.space == space);
    of_space.flat_map(|(table, _, batches)| batches.iter().map(|batch| (*table, batch)))
}

fn id_text(ids: &IdColumn, row: u32) -> String {
    match ids.get(row as usize) {
        Id::Int(int) => format!("`{int}`"),
        Id::Text(text) => cell::shown(text.as_bytes()),
    }
}

/// Takes out elements of vertices that are not there.
fn check_elements(batch: &mut ElementBatch, vertices: &IdMap, rejects: &mut Rejects) {
    let mut kept = ElementBatch::default();
    for (row, value) in std::mem::take(&mut batch.values).into_iter().enumerate() {
        let id = batch.ids.get(row);
        if vertices.get(id).is_some() {
            kept.ids.push(id);
            kept.values.push(value);
        } else {
            let what = format!("no vertex has the id {}", id_text(&batch.ids, row as u32));
            rejects.add(batch.lines[row], what);
        }
    }
    *batch = kept;
}
