//! Bare edge lists: two integers a line, as SNAP and many others publish graphs.
//!
//! Fields are separated by tabs, blanks, commas or semicolons; lines that begin with `#` or `%` are comments; a first line of names is a
//! header. A third column is the property `weight`, a fourth `timestamp`, or what the header calls them; more columns are left out. A
//! file with one integer a line lists vertices. Vertices get the property `id`, uniquely indexed, and are made in the order of their ids,
//! so that neighbours in number are neighbours in the store.
//!
//! Cost: 8 bytes an edge while ids fit 32 bits (16 otherwise), turned into dense vertex numbers in place; distinct ids are found by a
//! bitmap where they lie close enough together, else by sorting. Where memory is short the files are read twice, for the ids and for the
//! edges, and nothing but the distinct ids is held.

mod connect;
mod file;
mod lines;
mod vertices;

pub(crate) use file::{EdgeLists, edge_lists, is_edge_list};

use crate::existing::{Existing, LabelSets};
use crate::load::{Counts, Loaded};
use crate::repeated::Repeated;
use crate::rules::Rules;
use crate::table::{Space, WantedIndex};
use crate::vertices::Updates;
use crate::work::{Job, Work};
use crate::{DEFAULT_EDGE_TYPE, DEFAULT_VERTEX_LABEL, ImportError, ImportOptions};
use connect::Columns;
use lines::{PLAIN, Parsed, parse};
use model::schema::SchemaTarget;
use model::{EdgeTypeId, KeyId, LabelId};
use std::sync::atomic::Ordering;
use store::{Bulk, Room, Snapshot, Store};

/// The label, type and keys of the edges of the lists.
struct Kind {
    label: LabelId,
    edge_type: EdgeTypeId,
    /// Of the ids.
    key: KeyId,
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
    let kind = Kind {
        label: names.intern_label(options.vertex_label.as_deref().unwrap_or(DEFAULT_VERTEX_LABEL))?,
        edge_type: names.intern_edge_type(options.edge_type.as_deref().unwrap_or(DEFAULT_EDGE_TYPE))?,
        key: names.intern_key("id")?,
    };
    let space = Space { key: Some(kind.key), labels: vec![kind.label], ..Space::default() };
    let existing = Existing::new(snapshot, &[space], &[LabelSets::new()])?;
    let bulk = Bulk::within(store.allocator(), room);
    let mut counts = Counts::default();
    let jobs: Vec<Job> =
        lists.files.iter().map(|file| Job { file: file.file, format: PLAIN, skip: 0 }).collect();
    let repeated = Repeated::new(&existing, options);
    let loading =
        Loading { work, lists, store, existing: &existing, bulk: &bulk, kind: &kind, repeated: &repeated };
    match room {
        None => loading.at_once(&jobs, &mut counts)?,
        Some(_) => loading.in_passes(&jobs, &mut counts)?,
    }
    let indexes = vec![WantedIndex { label: kind.label, key: kind.key, unique: true }];
    counts.existing += repeated.count();
    counts.known_by.insert((kind.label, kind.key), true);
    Ok(Loaded { bulk, counts, indexes, existing, updates: Updates::default() })
}

/// Edge lists on their way into a build.
struct Loading<'a, 'b> {
    work: &'b Work<'b>,
    lists: &'b EdgeLists,
    store: &'b Store,
    existing: &'b Existing,
    bulk: &'b Bulk<'a>,
    kind: &'b Kind,
    repeated: &'b Repeated,
}

impl Loading<'_, '_> {
    /// Reads everything once, and holds it until all ids are known.
    fn at_once(&self, jobs: &[Job], counts: &mut Counts) -> Result<(), ImportError> {
        let work = self.work;
        work.phase("reading edges");
        let parsed = work.sweep(jobs, |job, block, rejects| {
            let parsed = parse(&self.lists.files[job], block, rejects);
            work.edges.fetch_add(parsed.ends.len() as u64, Ordering::Relaxed);
            parsed
        })?;
        work.phase("finding vertices");
        let blocks: Vec<&Parsed> = parsed.iter().flatten().collect();
        let map = self.make_vertices(vertices::distinct(work, &blocks), counts)?;
        work.phase("connecting");
        for (edges, columns) in connect::connect(work, self.store.names(), self.lists, parsed, &map)? {
            self.submit(edges, columns, counts)?;
        }
        Ok(())
    }
    /// Reads everything twice: for the ids, then for the edges, block by block.
    fn in_passes(&self, jobs: &[Job], counts: &mut Counts) -> Result<(), ImportError> {
        let (work, files) = (self.work, &self.lists.files);
        work.phase("finding vertices");
        let mut gathered = vertices::Gathered::new(files.len());
        work.for_survey().stream(
            jobs,
            |job, block, rejects| {
                let parsed = parse(&files[job], block, rejects);
                (parsed.distinct(), vertices::floats(&parsed))
            },
            |job, (ids, floats)| -> Result<(), ImportError> {
                gathered.take(job, ids, floats);
                Ok(())
            },
            &|| Ok(()),
        )?;
        let map = self.make_vertices(gathered.take_ids(), counts)?;
        let keys = files.iter().map(|file| {
            let keys = file.property_names.iter().map(|name| self.store.names().intern_key(name));
            let keys = keys.collect::<Result<Vec<KeyId>, _>>();
            keys.map_err(|error| ImportError::from(error).of_file(&work.files[file.file].shown))
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        work.phase("reading edges");
        work.stream(
            jobs,
            |job, block, rejects| {
                let parsed = parse(&files[job], block, rejects);
                work.edges.fetch_add(parsed.ends.len() as u64, Ordering::Relaxed);
                connect::connect_block(parsed, &keys[job], &gathered.floats[job], &map)
            },
            |_, (edges, columns)| match edges.is_empty() {
                true => Ok(()),
                false => self.submit(edges, columns, counts),
            },
            &|| Ok(()),
        )
    }
    fn make_vertices(&self, ids: Vec<i64>, counts: &mut Counts) -> Result<crate::ids::IdMap, ImportError> {
        let Kind { label, key, .. } = *self.kind;
        let names = self.store.names();
        vertices::make_vertices(self.work, self.bulk, self.existing, names, (label, key), ids, counts)
    }
    fn submit(
        &self,
        edges: Vec<(u32, u32)>,
        columns: Columns,
        counts: &mut Counts,
    ) -> Result<(), ImportError> {
        let edge_type = self.kind.edge_type;
        let (edges, columns) = self.repeated.fresh(edge_type, (edges, columns))?;
        if edges.is_empty() {
            return Ok(());
        }
        let rules = Rules::new(self.existing.snapshot());
        let broken = rules.broken(&[SchemaTarget::Edges(edge_type)], edges.len(), &columns);
        if let Some((_, what)) = broken.into_iter().next() {
            return Err(ImportError::Constraint { what });
        }
        *counts.edges.entry(edge_type).or_default() += edges.len() as u64;
        Ok(self.bulk.edges(edge_type, edges, columns)?)
    }
}

#[cfg(test)]
mod tests;
