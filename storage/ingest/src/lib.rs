//! # ingest: other people's files into a bulk build
//!
//! One call, [`import`], reads LDBC SNB folders, CSV with Neo4j-style headers, or bare edge lists; plain, gzip or zstd, single, in
//! folders, or in a tar archive. It parses in parallel, builds chunks without going through transactions, and becomes
//! durable and visible at once: until then the database is as it was, whatever happens.
//!
//! Reading order: [`ImportOptions`] and [`ImportReport`]; `find` and `source` (which bytes), `blocks` and `split` (which records and
//! fields), `cell` and `ids` (which values), `work` (threads, progress, rejected lines); `layout` with `ldbc`, `headers` (what files
//! mean, as `table`s) and `edge_list`; `rows` and `load` (tables to a graph), `existing` and `rules` (what the database holds already).

mod blocks;
mod cell;
mod edge_list;
mod error;
mod existing;
mod find;
mod headers;
mod ids;
mod layout;
mod ldbc;
mod load;
mod options;
mod reject;
mod rows;
mod rules;
mod source;
mod split;
mod table;
mod work;

pub use error::ImportError;
pub use options::{
    DEFAULT_EDGE_TYPE, DEFAULT_VERTEX_LABEL, ImportOptions, ImportReport, Layout, Progress, ProgressListener,
    REJECTED_SHOWN_MAX, Rejected,
};

use layout::Plan;
use load::Counts;
use store::StoreError;
use transact::{Engine, TransactError};
use work::Work;

/// Reads the files that `options` names into the database. Nothing is visible before all of it is durable; writers wait meanwhile,
/// readers do not.
///
/// Into a database that holds something already, vertices are added whose ids are new (by label and id property), and edges may lead
/// to vertices that are there; rows with ids that are there are rejected.
///
/// # Errors
/// See [`ImportError`]; the database is unchanged then.
pub fn import(engine: &Engine, options: &ImportOptions) -> Result<ImportReport, ImportError> {
    let started_ns = world::clock::monotonic_ns();
    let inputs = find::inputs(&options.from)?;
    let names = engine.store().names();
    let plan = layout::recognise(&inputs.files, options, names)?;
    let files = plan.files();
    let work = Work::new(&inputs.files, &files, options);
    let (mut failure, mut counts) = (None, Counts::default());
    let installed = engine.install(|snapshot, place| {
        let loaded = match &plan {
            Plan::Tables(tables) => load::load(&work, tables, engine.store(), snapshot, place),
            Plan::EdgeLists(lists) => edge_list::load(&work, lists, options, engine.store(), snapshot, place),
        };
        let loaded = loaded.and_then(|loaded| work.check_strict().map(|()| loaded));
        match loaded {
            Ok((next, counted)) => {
                counts = counted;
                work.phase("writing");
                Ok(next)
            }
            Err(error) => Err(TransactError::Schema { what: failure.insert(error).to_string() }),
        }
    });
    installed.map_err(|error| explain(failure.unwrap_or(ImportError::Database(error))))?;
    work.phase("done");
    let mut report = ImportReport {
        bytes: work.bytes_done(),
        files: files.len(),
        skipped: plan.skipped(),
        rejected: work.rejection.count(),
        rejected_first: work.rejection.first(&inputs.files),
        ..ImportReport::default()
    };
    counts.report(names, &mut report);
    report.seconds = (world::clock::monotonic_ns() - started_ns) as f64 / 1e9;
    Ok(report)
}

/// Values that repeat against a unique index are the user's business, not a fault of the store.
fn explain(error: ImportError) -> ImportError {
    match error {
        ImportError::Database(TransactError::Store(error @ StoreError::NotUnique { .. })) => {
            ImportError::Constraint { what: error.to_string() }
        }
        other => other,
    }
}
