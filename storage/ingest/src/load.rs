//! From tables to a graph: vertices first, then the edges between them.
//!
//! ```text
//!   vertex files ─ parse, all threads ─> batches in file order ─> id maps, vertices ─┐
//!                                                          columns that are edges ───┼─> bulk build ─> snapshot
//!   edge files ─── parse, all threads, ends looked up in the id maps ─> edges ───────┘
//! ```
//!
//! Invariant: vertices and edges are handed to the store in the order of the files, so the same files make the same graph, ids
//! included, with any number of threads. Cost: what the store builds, the id maps, and a few blocks on their way.

use crate::existing::{Existing, LabelSets};
use crate::ids::{Id, IdMap, NO_ROW};
use crate::options::{ImportOptions, KnownBy};
use crate::reject::Rejects;
use crate::repeated::Repeated;
use crate::rows;
use crate::rules::Rules;
use crate::table::{Rows, SpaceNo, Table, Tables, VertexTable, WantedIndex};
use crate::vertices::{ImportedVertices, LinkBatch, Stop, Taking, Updates, VertexIntake, id_text};
use crate::work::{Work, jobs};
use crate::{ImportError, ImportReport, lists};
use model::schema::SchemaTarget;
use model::{Column, EdgeTypeId, KeyId, LabelId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use store::{Bulk, Names, Room, Snapshot, Store};

/// Counts of added entities, by kind.
#[derive(Default)]
pub(crate) struct Counts {
    pub vertices: BTreeMap<Vec<LabelId>, u64>,
    pub edges: BTreeMap<EdgeTypeId, u64>,
    /// Vertices and edges that were there.
    pub existing: u64,
    /// The keys by which vertices are identified, and whether files name them as ends of edges alone.
    pub known_by: BTreeMap<(LabelId, KeyId), bool>,
}

impl Counts {
    /// Writes the counts into the report.
    pub fn report(self, names: &Names, report: &mut ImportReport) {
        report.existing = self.existing;
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
        for ((id, key), is_implied) in self.known_by {
            let property = names.key_name(key).map_or(String::new(), |name| name.to_string());
            report.known_by.push(KnownBy { label: label(&id), property, is_implied });
        }
    }
}

/// The content of the files, as a build needs it.
pub(crate) struct Loaded<'a> {
    pub bulk: Bulk<'a>,
    pub counts: Counts,
    pub indexes: Vec<WantedIndex>,
    pub existing: Existing,
    pub updates: Updates,
}

/// Reads the tables, to be built on top of a snapshot.
pub(crate) fn load<'a>(
    work: &Work<'_>,
    plan: &Tables,
    store: &'a Store,
    snapshot: &Snapshot,
    room: Option<Room<'a>>,
    options: &ImportOptions,
) -> Result<Loaded<'a>, Stop> {
    let bulk = Bulk::within(store.allocator(), room);
    let mut counts = Counts::default();
    work.phase("reading vertices");
    let vertex_tables = plan.tables.iter().filter_map(|table| match &table.rows {
        Rows::Vertices(vertex) => Some((table, vertex)),
        _ => None,
    });
    let tables: Vec<(&Table, &VertexTable)> = vertex_tables.collect();
    let survey = survey(work, plan, &tables, store.names(), snapshot)?;
    let mut existing = Existing::new(snapshot, &plan.spaces, &survey)?;
    check_elsewhere(plan, &existing)?;
    let rules = Rules::new(snapshot);
    let names = store.names();
    let policy = options.existing;
    let intake = VertexIntake {
        work,
        plan,
        names,
        bulk: &bulk,
        existing: &existing,
        rules: &rules,
        tables: &tables,
        policy,
    };
    let mut made = vertices(intake, &mut counts)?;
    let updates = std::mem::take(&mut made.updates);
    let repeated = Repeated::new(&existing, options);
    let linking = Linking {
        work,
        plan,
        bulk: &bulk,
        existing: &existing,
        rules: &rules,
        maps: &made.maps,
        repeated: &repeated,
    };
    linking.links(&tables, &made.links, &mut counts)?;
    work.phase("reading edges");
    linking.edges(names, &mut counts)?;
    counts.existing += repeated.count();
    let indexes = wanted_indexes(plan, &made.label_sets);
    counts.known_by = known_by(plan, &made.label_sets);
    existing.watch(&plan.spaces, &made.label_sets);
    drop(made);
    Ok(Loaded { bulk, counts, indexes, existing, updates })
}

/// Nodes that no file holds must be in the database, and found there.
fn check_elsewhere(plan: &Tables, existing: &Existing) -> Result<(), ImportError> {
    for (number, space) in plan.spaces.iter().enumerate() {
        if let Some(label) = space
            .elsewhere
            .as_ref()
            .filter(|label| !existing.has_any(number) || existing.snapshot().catalog().label(label).is_none())
        {
            let what = format!(
                "relationships lead to nodes :{label}, but no file holds such nodes, and the database has no unique index over them"
            );
            return Err(ImportError::Mapping { what });
        }
    }
    Ok(())
}

/// Label sets that the files hold, by space, where it must be known beforehand which vertices that are there they may speak of.
fn survey(
    work: &Work<'_>,
    plan: &Tables,
    tables: &[(&Table, &VertexTable)],
    names: &Names,
    snapshot: &Snapshot,
) -> Result<Vec<LabelSets>, ImportError> {
    let mut sets = vec![LabelSets::new(); plan.spaces.len()];
    if snapshot.statistics().vertices() == 0 {
        return Ok(sets);
    }
    let has_column =
        |table: &Table| table.roles.iter().any(|role| matches!(role, crate::table::Role::Labels { .. }));
    let mut of_rows = Vec::new();
    for (table, vertex) in tables {
        if has_column(table) {
            of_rows.push((*table, *vertex));
        } else {
            sets[vertex.space].insert(vertex.labels.clone());
        }
    }
    let jobs = jobs(of_rows.iter().map(|(table, _)| *table));
    let surveyed = work.for_survey().sweep(&jobs, |job, block, _| {
        let (table, vertex) = of_rows[job];
        let kind = plan.spaces[vertex.space].kind;
        rows::vertices(table, vertex, kind, names, block, &mut Rejects::default()).label_sets
    })?;
    for ((_, vertex), blocks) in of_rows.iter().zip(surveyed) {
        sets[vertex.space].extend(blocks.into_iter().flatten());
    }
    Ok(sets)
}

fn vertices(intake: VertexIntake<'_>, counts: &mut Counts) -> Result<ImportedVertices, Stop> {
    let (work, plan, names, bulk, tables) =
        (intake.work, intake.plan, intake.names, intake.bulk, intake.tables);
    let jobs = jobs(tables.iter().map(|(table, _)| *table));
    let mut taking = Taking::new(intake, counts, lists::read(work, plan)?);
    let parse = |job: usize, block: &formats::blocks::Block, rejects: &mut Rejects| {
        let (table, vertex) = tables[job];
        let kind = plan.spaces[vertex.space].kind;
        let batch = rows::vertices(table, vertex, kind, names, block, rejects);
        work.vertices.fetch_add(batch.count as u64, Ordering::Relaxed);
        batch
    };
    work.stream(&jobs, parse, |job, batch| taking.take(job, batch), &|| Ok(bulk.seal()?))?;
    let made = taking.finish();
    work.check_strict()?;
    Ok(made)
}

/// The indexes of the plan, and those on the ids of the labels that were met.
fn wanted_indexes(plan: &Tables, label_sets: &[LabelSets]) -> Vec<WantedIndex> {
    let mut wanted = plan.indexes.clone();
    if !plan.index_ids {
        return wanted;
    }
    let mut of_spaces: Vec<(LabelId, KeyId)> = Vec::new();
    for (space, sets) in plan.spaces.iter().zip(label_sets) {
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

/// The keys of ids, by the labels of their vertices.
fn known_by(plan: &Tables, label_sets: &[LabelSets]) -> BTreeMap<(LabelId, KeyId), bool> {
    let mut known_by = BTreeMap::new();
    for (number, (space, sets)) in plan.spaces.iter().zip(label_sets).enumerate() {
        let mut own = plan.tables.iter().filter_map(|table| match &table.rows {
            Rows::Vertices(vertex) if vertex.space == number => Some(vertex.implied),
            _ => None,
        });
        let is_implied = own.all(|implied| implied);
        for (label, key) in sets.iter().flatten().chain(&space.labels).zip(std::iter::repeat(space.key)) {
            if let Some(key) = key {
                *known_by.entry((*label, key)).or_insert(true) &= is_implied;
            }
        }
    }
    known_by
}

/// Edges between vertices that are known by now.
struct Linking<'a, 'b> {
    work: &'b Work<'b>,
    plan: &'b Tables,
    bulk: &'b Bulk<'a>,
    existing: &'b Existing,
    rules: &'b Rules,
    /// By space.
    maps: &'b [IdMap],
    repeated: &'b Repeated,
}

impl Linking<'_, '_> {
    /// The edges that columns of vertex files stand for.
    fn links(
        &self,
        tables: &[(&Table, &VertexTable)],
        batches: &[LinkBatch],
        counts: &mut Counts,
    ) -> Result<(), ImportError> {
        let resolved = self.work.map(batches.len(), |at| {
            let batch = &batches[at];
            let (table, vertex) = tables[batch.table];
            let plan = &vertex.links[batch.link];
            let (mut pairs, mut rejects) = (Vec::new(), Rejects::default());
            for (at, own) in batch.own.iter().enumerate() {
                match self.resolve(plan.space, batch.ids.get(at)) {
                    Ok(Some(end)) => pairs.push(if plan.reversed { (end, *own) } else { (*own, end) }),
                    Ok(None) => {
                        let id = id_text(&batch.ids, at as u32);
                        rejects.add(batch.lines[at], format!("no vertex has the id {id}; the vertex stays"));
                    }
                    Err(what) => rejects.add(batch.lines[at], what),
                }
            }
            self.work.rejection.take(table.file, rejects);
            (plan.edge_type, pairs)
        });
        for (edge_type, pairs) in resolved {
            self.submit(edge_type, pairs, Vec::new(), counts)?;
        }
        self.work.check_strict()
    }

    fn resolve(&self, space: SpaceNo, id: Id<'_>) -> Result<Option<u32>, String> {
        let found = self.maps[space].get(id).filter(|vertex| *vertex != NO_ROW);
        if found.is_some() {
            return Ok(found);
        }
        let found = self.existing.find(space, id).map_err(|error| error.to_string())?;
        if found.is_none() {
            self.existing.miss(space);
        }
        Ok(found)
    }

    fn submit(
        &self,
        edge_type: EdgeTypeId,
        pairs: Vec<(u32, u32)>,
        columns: Vec<(KeyId, Column)>,
        counts: &mut Counts,
    ) -> Result<(), ImportError> {
        let (pairs, columns) = self.repeated.fresh(edge_type, (pairs, columns))?;
        let target = [SchemaTarget::Edges(edge_type)];
        if let Some((_, what)) = self.rules.broken(&target, pairs.len(), &columns).into_iter().next() {
            return Err(ImportError::Constraint { what });
        }
        if !pairs.is_empty() {
            *counts.edges.entry(edge_type).or_default() += pairs.len() as u64;
            self.bulk.edges(edge_type, pairs, columns)?;
        }
        Ok(())
    }

    fn edges(&self, names: &Names, counts: &mut Counts) -> Result<(), ImportError> {
        let edge_tables = self.plan.tables.iter().filter_map(|table| match &table.rows {
            Rows::Edges(edge) => Some((table, edge)),
            _ => None,
        });
        let edge_tables: Vec<_> = edge_tables.collect();
        let jobs = jobs(edge_tables.iter().map(|(table, _)| *table));
        let resolve = |space: SpaceNo, id: Id<'_>| self.resolve(space, id);
        let parse = |job: usize, block: &formats::blocks::Block, rejects: &mut Rejects| {
            let (table, edge) = edge_tables[job];
            let kinds = (self.plan.spaces[edge.source].kind, self.plan.spaces[edge.target].kind);
            let batches = rows::edges(table, edge, kinds, names, &resolve, block, rejects);
            let count: usize = batches.iter().map(|batch| batch.pairs.len()).sum();
            self.work.edges.fetch_add(count as u64, Ordering::Relaxed);
            batches
        };
        let take = |_: usize, batches: Vec<rows::EdgeBatch>| -> Result<(), ImportError> {
            batches
                .into_iter()
                .try_for_each(|batch| self.submit(batch.edge_type, batch.pairs, batch.columns, counts))
        };
        self.work.stream(&jobs, parse, take, &|| Ok(()))
    }
}
