//! A cluster of processes on this machine: the mix of TAO (Weaver, Table 5.2, Figures 5.14 and 5.15) through its gates, how often the oracle is asked, what a strict read
//! and a commit cost, and what PostgreSQL alone makes of the same groups.
//!
//! Each cluster is started by this very program (`cluster up`), begins with a generated social network, and is ended and removed afterwards. Answers are held against a
//! plain twin: edges of the network do not change; edges that clients make and remove are counted at the end, and must be those that were acknowledged.
//! All processes, the clients and PostgreSQL share this machine's cores, so figures fall with their number; how they fall is the point.

mod bare;
mod client;
mod processes;

use crate::power_law::{Graph, Shape};
use crate::report::Report;
use crate::store::tao::mix::Mix;
use crate::timing::{Samples, shown_ms};
use client::{Asked, Work};
use database::{Database, Options, params};
use processes::{Cluster, Figures};
use std::path::{Path, PathBuf};
use world::clock::monotonic_ns;
use world::threads::in_parallel;

/// The network.
const NETWORK: Shape = Shape { vertices: 20_000, edges: 100_000, exponent: 2.3, rank_shift: 10.0, seed: 515 };
/// Clients at once; each speaks to one gate, in turn.
const CLIENTS: usize = 16;
/// Clients that commit at once: a commit waits for the disk more than for anything else, and those that wait go there together.
const COMMITTING_CLIENTS: usize = 64;
const WARM_UP_NS: u64 = 2_000_000_000;
const MEASURED_NS: u64 = 5_000_000_000;
/// Strict reads one after the other.
const READS: usize = 400;

/// The paper's shares of operations that ask the oracle, with 0.2 % and 25 % of writes, in percent.
const ORACLE_SHARES: [f64; 2] = [0.0013, 1.7];
const STRICT_READ_MS_TARGET: f64 = 1.0;
const COMMITS_TARGET: f64 = 5_000.0;
const BARE_PART_TARGET: f64 = 0.7;
/// Gates and shards of the clusters that are measured.
const SIZES: [(u16, u16); 4] = [(1, 1), (1, 3), (2, 3), (4, 3)];
/// The size at which everything is measured.
const WHOLE: (u16, u16) = (2, 3);

/// Runs the bench; needs no data. `--only 2x3` measures clusters of that many gates and shards alone.
pub fn run(_data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let place = crate::store::scratch("cluster")?;
    let network = Graph::generate(&NETWORK);
    let database = place.path().join("network.db");
    fill(&network, &database)?;
    report.note(format!(
        "{} vertices, {} edges, seed {}; {CLIENTS} clients ({COMMITTING_CLIENTS} for commits alone), {} s each after {} s of warm-up",
        NETWORK.vertices,
        NETWORK.edges,
        NETWORK.seed,
        MEASURED_NS / 1_000_000_000,
        WARM_UP_NS / 1_000_000_000
    ));
    alone(&network, &database, report)?;
    let sizes = SIZES.map(|(gates, shards)| format!("{gates}x{shards}"));
    let chosen = report.choice.among(&sizes.each_ref().map(String::as_str)).join(" ");
    for (gates, shards) in SIZES {
        if !chosen.split(' ').any(|size| *size == format!("{gates}x{shards}")) {
            continue;
        }
        report.section(&format!("{gates} gates, {shards} shards, 1 oracle, PostgreSQL"));
        let folder = place.path().join(format!("{gates}x{shards}"));
        match Cluster::up(folder, gates, shards, &database)? {
            Some(cluster) => measure(&cluster, &network, (gates, shards), report)?,
            None => report.skipped("all", "PostgreSQL is not installed (Debian: apt-get install postgresql)"),
        }
    }
    Ok(())
}

fn told(error: &database::Error) -> String {
    format!("{}: {}", error.code, error.message)
}

/// A database with the network.
fn fill(network: &Graph, path: &PathBuf) -> Result<(), String> {
    let database = Database::open(path, Options::default()).map_err(|error| told(&error))?;
    let ask = |text: &str, params| {
        let asked = database.session().query(text, params).and_then(|answer| answer.finish());
        asked.map(drop).map_err(|error| told(&error))
    };
    ask("CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE", params! {})?;
    ask(
        "UNWIND range(0, $last) AS id CREATE (:N {id: id})",
        params! {"last" => i64::from(NETWORK.vertices) - 1},
    )?;
    let pairs: Vec<database::Value> = (0..NETWORK.vertices)
        .flat_map(|source| network.neighbours(source).iter().map(move |target| (source, *target)))
        .map(|(source, target)| {
            database::Value::list(vec![i64::from(source).into(), i64::from(target).into()])
        })
        .collect();
    for some in pairs.chunks(20_000) {
        let text =
            "UNWIND $pairs AS pair MATCH (a:N {id: pair[0]}), (b:N {id: pair[1]}) CREATE (a)-[:E]->(b)";
        ask(text, params! {"pairs" => database::Value::list(some.to_vec())})?;
    }
    database.close().map_err(|error| told(&error))
}

/// What all clients did.
#[derive(Default)]
struct Outcome {
    reads: Samples,
    writes: Samples,
    /// Those of the warm-up too.
    operations: u64,
}

impl Outcome {
    fn rate(&self) -> f64 {
        (self.reads.len() + self.writes.len()) as f64 * 1e9 / MEASURED_NS as f64
    }
    fn shown(&self) -> String {
        let of = |samples: &Samples| {
            format!("p50 {}, p99 {}", shown_ms(samples.quantile_ms(0.5)), shown_ms(samples.quantile_ms(0.99)))
        };
        match self.writes.is_empty() {
            true => format!("{:.0}/s; reads {}", self.rate(), of(&self.reads)),
            false => format!("{:.0}/s; reads {}; writes {}", self.rate(), of(&self.reads), of(&self.writes)),
        }
    }
}

/// Runs a mix, or commits alone, by all clients, and checks every answer.
fn drive(urls: &[String], network: &Graph, work: Work, run: u64) -> Result<Outcome, String> {
    let begin_ns = monotonic_ns() + WARM_UP_NS;
    let counted = begin_ns..begin_ns + MEASURED_NS;
    let clients = if matches!(work, Work::Commits) { COMMITTING_CLIENTS } else { CLIENTS };
    let outcomes = in_parallel("client", clients, |number| {
        let asked = Asked { url: &urls[number % urls.len()], network, work, run, number: number as u64 };
        client::run(&asked, counted.clone())
    });
    let (mut outcome, mut made) = (Outcome::default(), 0);
    for one in outcomes {
        let one = one?;
        outcome.reads.extend(&one.reads);
        outcome.writes.extend(&one.writes);
        outcome.operations += one.operations;
        made += one.made;
    }
    client::check(&urls[0], run, made)?;
    Ok(outcome)
}

/// The same mix at a server of one process, for comparison.
fn alone(network: &Graph, database: &Path, report: &mut Report) -> Result<(), String> {
    report.section("one process: `serve`, durable, no cluster");
    let copy = database.with_extension("alone");
    let opened = Database::open(database, Options::default()).map_err(|error| told(&error))?;
    opened.backup(&copy).map_err(|error| told(&error))?;
    drop(opened);
    let served = database.with_extension("served");
    database::restore(&copy, &served).map_err(|error| told(&error))?;
    let opened = Database::open(&served, Options::default()).map_err(|error| told(&error))?;
    let server = server::Server::start(opened, &server::ServeOptions::at("127.0.0.1:0"));
    let server = server.map_err(|error| error.to_string())?;
    let urls = [format!("bolt://{}", server.address())];
    for (run, (name, mix)) in
        [("0.2 % writes", Mix::TAO), ("25 % writes", Mix::QUARTER)].into_iter().enumerate()
    {
        let outcome = drive(&urls, network, Work::Mix(mix), run as u64)?;
        report.note(format!("TAO mix, {name}: {}", outcome.shown()));
    }
    let outcome = drive(&urls, network, Work::Commits, 2)?;
    report.note(format!("commits: {}", outcome.shown()));
    Ok(())
}

fn measure(cluster: &Cluster, network: &Graph, size: (u16, u16), report: &mut Report) -> Result<(), String> {
    let urls = cluster.gates();
    report.note(format!("it came up with the network in {:.1} s", cluster.up_seconds));
    let mixes = [("0.2 % writes", Mix::TAO), ("25 % writes", Mix::QUARTER)];
    for (run, ((name, mix), paper)) in mixes.into_iter().zip(ORACLE_SHARES).enumerate() {
        let before = cluster.figures()?;
        let outcome = drive(&urls, network, Work::Mix(mix), run as u64)?;
        let done = cluster.figures()?.since(&before);
        report.note(format!("TAO mix, {name}: {}", outcome.shown()));
        let operations = outcome.operations.max(1) as f64;
        let share = 100.0 * done.questions / operations;
        report.note(format!(
            "  asked the oracle: {share:.4} % of operations (paper {paper} %); {:.2} announcements, {:.2} NOPs an operation; tau {:.0} us",
            done.announcements / operations,
            done.nops / operations,
            done.tau_us
        ));
        if size == WHOLE {
            let target = format!("at most the paper's {paper} %");
            report.figure(
                &format!("asks the oracle, {name}"),
                &format!("{share:.4} %"),
                &target,
                share <= paper,
            );
        }
    }
    let reads = client::strict_reads(&urls[0], network, READS)?;
    let (p50, p99) = (reads.quantile_ms(0.5), reads.quantile_ms(0.99));
    let shown = format!("p50 {}, p99 {}", shown_ms(p50), shown_ms(p99));
    let target = format!("p50 under {STRICT_READ_MS_TARGET} ms");
    report.figure("strict read, nobody else", &shown, &target, p50 < STRICT_READ_MS_TARGET);
    let before = cluster.figures()?;
    let outcome = drive(&urls, network, Work::Commits, 2)?;
    let done = cluster.figures()?.since(&before);
    commits(cluster, &outcome, &done, size, report)
}

/// Commits beside PostgreSQL with the same groups.
fn commits(
    cluster: &Cluster,
    outcome: &Outcome,
    done: &Figures,
    size: (u16, u16),
    report: &mut Report,
) -> Result<(), String> {
    let group = (done.commits / done.groups.max(1.0)).max(1.0);
    report.note(format!("commits: {}; {group:.1} a group", outcome.shown()));
    if size != WHOLE {
        return Ok(());
    }
    let rate = outcome.rate();
    report.figure(
        "commits",
        &format!("{rate:.0}/s"),
        &format!("at least {COMMITS_TARGET:.0}/s"),
        rate >= COMMITS_TARGET,
    );
    let bytes = cluster.record_bytes()?;
    let bare = bare::groups(&cluster.truth()?, size.0, group.round() as usize, bytes, MEASURED_NS)?;
    report.note(format!(
        "PostgreSQL alone, {} connections, groups of {:.0} rows of {bytes} bytes: {bare:.0} rows/s",
        size.0,
        group.round()
    ));
    let part = rate / bare;
    let target = format!("at least {BARE_PART_TARGET:.1} of PostgreSQL alone");
    report.figure("commits beside PostgreSQL", &format!("{part:.2}"), &target, part >= BARE_PART_TARGET);
    Ok(())
}
