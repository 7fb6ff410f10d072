//! Asks one query of the bench `cypher` again and again with all its parameters, for a profiler:
//! `cargo run --profile quick -p tanglewood-bench --example ask -- DATA SET QUERY SECONDS`. The graph is imported once and kept in the cache.

use database::{Database, ImportOptions, Options};
use std::path::{Path, PathBuf};
use tanglewood_bench::ldbc::{COMPLEX, Query, SUBGRAPHS, expected};
use tanglewood_bench::timing::{Samples, shown_ms, timed};
use tanglewood_bench::{data, ldbc};
use world::clock::monotonic_ns;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, set, name, seconds] = arguments.as_slice() else {
        return Err("arguments: DATA SET QUERY[=FILE] SECONDS".into());
    };
    let (unpacked, _) = data::unpacked(Path::new(folder), set)?;
    let inside =
        if set.starts_with("lsqb") { "social-network-sf0.003-projected-fk" } else { "social_network" };
    let network = data::find_folder(&unpacked, inside).ok_or("no network in the archive")?;
    let database = opened(&network, &unpacked.with_file_name(format!("{set}-asked")))?;
    let text = data::text(&network.with_file_name(""), "expected.jsonl")
        .or_else(|_| data::text(Path::new(folder), &format!("{set}-expected.jsonl")));
    let given = expected::read(&text.unwrap_or_default())?;
    let seconds: f64 = seconds.parse().map_err(|_| "SECONDS is no number")?;
    for name in name.split(',') {
        ask(&database, &given, name, seconds)?;
    }
    Ok(())
}

fn opened(network: &Path, path: &PathBuf) -> Result<Database, String> {
    let is_new = !world::files::exists(path);
    let database = Database::open(path, Options::default()).map_err(|error| format!("{error:?}"))?;
    if is_new {
        let options = ImportOptions { from: network.to_path_buf(), ..ImportOptions::default() };
        database.import(&options).map_err(|error| format!("{error:?}"))?;
    }
    Ok(database)
}

fn ask(
    database: &Database,
    given: &[ldbc::expected::Expected],
    name: &str,
    seconds: f64,
) -> Result<(), String> {
    let (name, file) = name.split_once('=').map_or((name, None), |(name, file)| (name, Some(file)));
    let known: Option<Query> = COMPLEX.into_iter().chain(SUBGRAPHS).find(|query| query.name == name);
    let text = match file {
        Some(file) => world::files::read_text(Path::new(file)).map_err(|error| error.to_string())?,
        None => known.ok_or("no such query")?.text.to_string(),
    };
    let mut sets: Vec<database::Params> =
        given.iter().filter(|given| given.query == name).map(|given| given.params.clone()).collect();
    if sets.is_empty() {
        sets.push(database::Params::new());
    }
    let mut session = database.session();
    let (mut samples, begin, mut rows) = (Samples::default(), monotonic_ns(), 0);
    while ((monotonic_ns() - begin) as f64) < seconds * 1e9 {
        rows = 0;
        for params in &sets {
            let (found, time_ms) =
                timed(|| session.query(&text, params.clone()).and_then(|result| result.rows()));
            rows += found.map_err(|error| format!("{error:?}"))?.len();
            samples.push(time_ms);
        }
    }
    println!("{name:<6} {:>10}  {rows} rows, {} calls", shown_ms(samples.median_ms()), samples.len());
    Ok(())
}
