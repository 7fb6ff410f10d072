//! # ingest: files of other systems into a bulk build, and a graph out into files
//!
//! One call, [`import`], reads LDBC SNB folders, CSV with Neo4j-style headers or without, JSON, Parquet, Arrow, or bare edge lists; plain, gzip
//! or zstd, single, in folders, or in a tar archive. It parses in parallel, builds chunks without going through transactions, and becomes
//! durable and visible at once: until then the database is as it was, whatever happens.
//!
//! Reading order: [`ImportOptions`] and [`ImportReport`]; `find` and `source` (bytes of files; [`formats`] for records and fields), `cell` and `ids`
//! (values), `work` and `work_queue` (threads, progress, rejected lines); `layout` with `ldbc`, `headers` (the meaning of files, as `table`s) and
//! `edge_list`; `mapping`, `sniff`, `plain` and `guess` (ordinary CSV); `stage` and `staging` (files that become tables first: `staged`, `json_rows`
//! with `json_frames`, `columnar`); `rows` and `load` (tables to a graph), `existing` and `rules` (existing data of the database); `export` (a graph
//! to files); `urls` (which URLs `LOAD` may read), [`remote`] (files of an import behind URLs).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod cell;
#[cfg(any(feature = "object-stores", feature = "urls"))]
mod certificates;
mod columnar;
mod edge_list;
mod error;
mod existing;
mod export;
mod find;
mod guess;
mod headers;
mod ids;
mod json_frames;
mod json_rows;
mod layout;
mod ldbc;
mod lists;
mod load;
mod mapping;
mod options;
mod plain;
mod reject;
pub mod remote;
mod repeated;
mod rows;
mod rules;
mod sniff;
mod source;
mod spill;
mod stage;
mod staged;
mod staging;
mod table;
mod understood;
#[cfg_attr(not(feature = "urls"), allow(dead_code, reason = "a list is read, and nobody follows it"))]
mod urls;
mod vertices;
mod work;
mod work_queue;

pub use columnar::parquet;
pub use error::ImportError;
pub use export::{
    ExportFormat, ExportOptions, ExportReport, ExportStopped, export, in_new_folder, write_schema,
};
pub use mapping::{
    MappedColumn, MappedEdges, MappedEnd, MappedFile, MappedNodes, Mapping, edges_flag, nodes_flag,
};
pub use options::{
    DEFAULT_EDGE_TYPE, DEFAULT_VERTEX_LABEL, ExistingPolicy, ImportOptions, ImportReport, KnownBy, Layout,
    Progress, ProgressListener, REJECTED_SHOWN_MAX, Rejected, UnderstoodListener,
};

pub use understood::{Understood, UnderstoodColumn};
pub use urls::UrlRules;

use formats::json_reader as json;
use layout::Plan;
use load::{Counts, Loaded};
use spill::SpillFile;
use std::collections::BTreeSet;
use store::{Emit, Room, StoreError};
use transact::{Engine, TransactError};
use vertices::Stop;
use work::Work;

/// Times that files are read again because commits changed the entities that they name.
const ATTEMPTS_MAX: usize = 3;

/// Part of the given bytes that the build may take: half, since the database holds pages of the built chunks meanwhile.
const ROOM_SHARE: usize = 2;

/// Reads the files that `options` names into the database. Nothing is visible before all of it is durable. Readers and writers go on
/// meanwhile; writers wait for the last step only, which is short.
///
/// Into a database that is not empty, vertices are added whose ids are new (by label and id property), and edges may lead to existing vertices.
/// [`ExistingPolicy`] decides about vertices and edges that exist already.
///
/// # Errors
/// See [`ImportError`]; the database is unchanged then.
pub fn import(engine: &Engine, options: &ImportOptions) -> Result<ImportReport, ImportError> {
    let started_ns = world::clock::monotonic_ns();
    let inputs = find::inputs(options)?;
    let names = engine.store().names();
    let mut plan = layout::recognise(&inputs, options, names)?;
    let files = plan.files();
    if let Some(understood) = &options.understood {
        plan.understood().iter().for_each(|file| understood(file));
    }
    let mut attempts = 0;
    let (work, counts) = loop {
        let work = Work::new(&inputs.files, &files, options);
        match load_once(engine, &work, &plan, options) {
            Ok(counts) => break (work, counts),
            Err(Stop::AsText(space)) => plan.take_ids_as_text(space),
            Err(Stop::Failed(error)) => {
                attempts += 1;
                if !error.is_retryable() || attempts == ATTEMPTS_MAX {
                    return Err(explain(error));
                }
            }
        }
    };
    work.phase("done");
    let mut report = ImportReport {
        bytes: work.bytes_done(),
        // A file of relationships is read for its nodes as well.
        files: files.iter().collect::<BTreeSet<_>>().len(),
        skipped: plan.skipped(),
        rejected: work.rejection.count(),
        rejected_first: work.rejection.first(&inputs.files),
        ..ImportReport::default()
    };
    counts.report(names, &mut report);
    report.seconds = (world::clock::monotonic_ns() - started_ns) as f64 / 1e9;
    Ok(report)
}

/// The statements that make the indexes and constraints of an exported graph: to be run before [`import`] reads the rest.
///
/// # Errors
/// The files cannot be read.
pub fn schema(options: &ImportOptions) -> Result<Vec<String>, ImportError> {
    find::schema(options)
}

/// Reads all files and puts their content into the graph.
fn load_once(engine: &Engine, work: &Work<'_>, plan: &Plan, options: &ImportOptions) -> Result<Counts, Stop> {
    let given = engine.snapshot();
    let spill = match options.memory_bytes {
        Some(bytes) => Some((SpillFile::create(options.spill_folder.as_deref())?, bytes)),
        None => None,
    };
    let room = spill.as_ref().map(|(file, bytes)| Room { bytes: *bytes as usize / ROOM_SHARE, spill: file });
    let store = engine.store();
    let loaded = match plan {
        Plan::Tables(tables) => load::load(work, tables, store, &given, room, options)?,
        Plan::EdgeLists(lists) => edge_list::load(work, lists, options, store, &given, room)?,
    };
    work.check_strict()?;
    if options.dry_run {
        return Ok(loaded.counts);
    }
    work.phase("building");
    let Loaded { bulk, counts, indexes, existing, updates } = loaded;
    let base = rules::with_indexes(&given, given.commit_version() + 1, &indexes)?;
    let parallel = |count: usize, task: &(dyn Fn(usize) + Sync)| work.parallel(count, task);
    // Checkpoints wait for a load, so where nothing need leave memory it begins late.
    let (mut built, load) = match room {
        Some(_) => {
            let load = engine.begin_load()?;
            let emit: Option<&dyn Emit> = if load.is_durable() { Some(&load) } else { None };
            (bulk.build(&given, &base, emit, &parallel)?, load)
        }
        None => (bulk.build(&given, &base, None, &parallel)?, engine.begin_load()?),
    };
    drop(base);
    work.check_stop()?;
    work.phase("writing");
    // Before what is new: where a constraint forbids a value, nothing is changed at all.
    updates.commit(engine)?;
    load.install(|current, place| {
        existing.check(&built, current)?;
        Ok(built.onto(current, place)?)
    })?;
    built.installed(engine.store().allocator());
    Ok(counts)
}

/// Values that repeat against a unique index are the user's business, not a fault of the store.
fn explain(error: ImportError) -> ImportError {
    match error {
        ImportError::Database(TransactError::Store(
            error @ (StoreError::NotUnique { .. } | StoreError::EdgesNotUnique { .. }),
        )) => ImportError::Constraint { what: error.to_string() },
        other => other,
    }
}
