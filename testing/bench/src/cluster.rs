//! A cluster of processes on this machine: the answers of the interactive workload, the mix of TAO (Weaver, Table 5.2, Figures 5.14 and 5.15) through its gates, how often the oracle is asked, what a strict read
//! and a commit cost, and what PostgreSQL alone makes of the same groups.
//!
//! Each cluster is started by this very program (`cluster up`), begins with a generated social network, and is ended and removed afterwards. Answers are held against a
//! plain twin: edges of the network do not change; edges that clients make and remove are counted at the end, and must be those that were acknowledged.
//! All processes, the clients and PostgreSQL share this machine's cores, so figures fall with their number; how they fall is the point.

mod bare;
mod client;
mod model;
mod processes;
mod scale;
mod social;
mod tau;

use crate::power_law::{Graph, Shape};
use crate::report::Report;
use crate::store::tao::mix::Mix;
use crate::timing::{Samples, shown_ms};
use client::{Asked, Reading, Work};
use database::{Database, Options, params};
use processes::{Cluster, Figures, Server};
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
/// Reads one after the other.
const READS: usize = 1_000;
/// A read of what the gate has may take this many times as long as the same read at a server of one process.
const NO_OLDER_PART_TARGET: f64 = 1.05;

/// The mixes of TAO's operations.
const MIXES: [(&str, Mix); 2] = [("0.2 % writes", Mix::TAO), ("25 % writes", Mix::QUARTER)];
/// The paper's shares of operations that ask the oracle, with 0.2 % and 25 % of writes, in percent.
const ORACLE_SHARES: [f64; 2] = [0.0013, 1.7];
const STRICT_READ_MS_TARGET: f64 = 1.0;
const COMMITS_TARGET: f64 = 5_000.0;
const BARE_PART_TARGET: f64 = 0.7;
/// The measurements at each size.
const WORKS: [&str; 3] = ["mix", "reads", "commits"];
/// The clusters that are measured.
const SIZES: [Size; 6] = [
    Size { gates: 1, shards: 1, processes: None },
    Size { gates: 1, shards: 3, processes: None },
    Size { gates: 2, shards: 3, processes: None },
    Size { gates: 4, shards: 3, processes: None },
    Size { gates: 1, shards: 1, processes: Some(1) },
    Size { gates: 2, shards: 3, processes: Some(2) },
];
/// The cluster at which everything is measured.
const WHOLE: Size = SIZES[2];

/// A cluster by its size.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Size {
    gates: u16,
    shards: u16,
    /// How many processes share the roles; none where each role has its own.
    processes: Option<u16>,
}

impl Size {
    fn name(self) -> String {
        let name = format!("{}x{}", self.gates, self.shards);
        self.processes.map_or(name.clone(), |processes| format!("{name}-in-{processes}"))
    }
}

/// Why a part is left out.
const NO_POSTGRES: &str = "PostgreSQL is not installed (Debian: apt-get install postgresql)";

/// Runs the bench. `--only 2x3` measures clusters of that many gates and shards alone, `--only 2x3-in-2` one whose roles share two processes, `--only
/// 2x3,commits` one kind of work there ([`WORKS`]), `--only ldbc` checks the answers of the interactive workload, which needs data.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let place = crate::store::scratch("cluster")?;
    let sizes = SIZES.map(Size::name);
    let parts: Vec<&str> =
        sizes.iter().map(String::as_str).chain([social::NAME, scale::NAME, tau::NAME]).collect();
    let chosen = report.choice.among(&parts);
    if chosen.contains(&social::NAME) {
        social::run(data, place.path(), report)?;
    }
    if chosen == [social::NAME] {
        return Ok(());
    }
    let sizes_chosen: Vec<Size> = SIZES
        .into_iter()
        .zip(&sizes)
        .filter(|(_, name)| chosen.contains(&name.as_str()))
        .map(|(size, _)| size)
        .collect();
    let network = Graph::generate(&NETWORK);
    let database = place.path().join("network.db");
    fill(&network, &database)?;
    if !sizes_chosen.is_empty() {
        sized(&sizes_chosen, (&network, &database), place.path(), report)?;
    }
    if chosen.contains(&scale::NAME) {
        scale::run(&network, &database, place.path(), report)?;
    }
    if chosen.contains(&tau::NAME) {
        tau::run(&network, &database, place.path(), report)?;
    }
    Ok(())
}

/// The figures that depend on the numbers of gates and shards.
fn sized(
    sizes: &[Size],
    (network, database): (&Graph, &PathBuf),
    place: &Path,
    report: &mut Report,
) -> Result<(), String> {
    report.note(format!(
        "{} vertices, {} edges, seed {}; {CLIENTS} clients ({COMMITTING_CLIENTS} for commits alone), {} s each after {} s of warm-up",
        NETWORK.vertices,
        NETWORK.edges,
        NETWORK.seed,
        MEASURED_NS / 1_000_000_000,
        WARM_UP_NS / 1_000_000_000
    ));
    let read_alone = alone(network, database, report)?;
    for size in sizes.iter().copied() {
        let Size { gates, shards, processes } = size;
        let count = processes.map(|count| count.to_string());
        let within = count.as_ref().map_or(String::new(), |count| format!(" in {count} processes"));
        report.section(&format!("{gates} gates, {shards} shards, 1 oracle{within}, PostgreSQL"));
        let more: Vec<&str> = count.iter().flat_map(|count| ["--processes", count.as_str()]).collect();
        match Cluster::up(place.join(size.name()), (gates, shards), database, &more)? {
            Some(cluster) => measure(&cluster, network, size, read_alone.as_ref(), report)?,
            None => report.skipped("all", NO_POSTGRES),
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

/// The sum of all clients' results.
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
        let of = quantiles;
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

/// The same mix at a server of one process, for comparison; returns the latencies of reads of one vertex there.
fn alone(network: &Graph, database: &Path, report: &mut Report) -> Result<Option<Samples>, String> {
    report.section("one process: `serve`, durable, no cluster");
    let copy = database.with_extension("alone");
    let opened = Database::open(database, Options::default()).map_err(|error| told(&error))?;
    opened.backup(&copy).map_err(|error| told(&error))?;
    drop(opened);
    let served = database.with_extension("served");
    database::restore(&copy, &served).map_err(|error| told(&error))?;
    let server = Server::start(&served)?;
    let urls = [server.url.clone()];
    let works = report.choice.among(&WORKS);
    for (run, (name, mix)) in MIXES.into_iter().enumerate().filter(|_| works.contains(&"mix")) {
        let outcome = drive(&urls, network, Work::Mix(mix), run as u64)?;
        report.note(format!("TAO mix, {name}: {}", outcome.shown()));
    }
    if works.contains(&"commits") {
        let outcome = drive(&urls, network, Work::Commits, 2)?;
        report.note(format!("commits: {}", outcome.shown()));
    }
    if !works.contains(&"reads") {
        return Ok(None);
    }
    let reads = client::reads(&urls[0], network, Reading::NoOlder, READS)?;
    report.note(format!("read of one vertex, nobody else: {}", quantiles(&reads)));
    Ok(Some(reads))
}

fn quantiles(samples: &Samples) -> String {
    format!("p50 {}, p99 {}", shown_ms(samples.quantile_ms(0.5)), shown_ms(samples.quantile_ms(0.99)))
}

fn measure(
    cluster: &Cluster,
    network: &Graph,
    size: Size,
    read_alone: Option<&Samples>,
    report: &mut Report,
) -> Result<(), String> {
    let urls = cluster.gates();
    report.note(format!("it came up with the network in {:.1} s", cluster.up_seconds));
    let works = report.choice.among(&WORKS);
    if works.contains(&"mix") {
        mixes(cluster, network, size, report)?;
    }
    if let Some(read_alone) = read_alone {
        reads(&urls[0], network, read_alone, report)?;
    }
    if works.contains(&"commits") {
        let before = cluster.figures()?;
        let outcome = drive(&urls, network, Work::Commits, 2)?;
        let done = cluster.figures()?.since(&before);
        commits(cluster, &outcome, &done, size, report)?;
    }
    Ok(())
}

/// The mix of TAO, and how often the oracle was called.
fn mixes(cluster: &Cluster, network: &Graph, size: Size, report: &mut Report) -> Result<(), String> {
    for (run, ((name, mix), paper)) in MIXES.into_iter().zip(ORACLE_SHARES).enumerate() {
        let before = cluster.figures()?;
        let outcome = drive(&cluster.gates(), network, Work::Mix(mix), run as u64)?;
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
    Ok(())
}

/// Reads of one vertex, one after the other: strict ones, and those of what the gate has.
fn reads(url: &str, network: &Graph, alone: &Samples, report: &mut Report) -> Result<(), String> {
    let strict = client::reads(url, network, Reading::Strict, READS)?;
    let target = format!("p50 under {STRICT_READ_MS_TARGET} ms");
    let reached = strict.quantile_ms(0.5) < STRICT_READ_MS_TARGET;
    report.figure("strict read, nobody else", &quantiles(&strict), &target, reached);
    let reads = client::reads(url, network, Reading::NoOlder, READS)?;
    let part = reads.quantile_ms(0.5) / alone.quantile_ms(0.5);
    let target = format!("p50 at most {NO_OLDER_PART_TARGET} of a server of one process");
    let shown = format!("{}, {part:.2} of that", quantiles(&reads));
    report.figure("READ NO OLDER THAN 1 s", &shown, &target, part <= NO_OLDER_PART_TARGET);
    Ok(())
}

/// Commits beside PostgreSQL with the same groups.
fn commits(
    cluster: &Cluster,
    outcome: &Outcome,
    done: &Figures,
    size: Size,
    report: &mut Report,
) -> Result<(), String> {
    let group = (done.commits / done.groups.max(1.0)).max(1.0);
    let each = |count: f64| count / done.commits.max(1.0);
    report.note(format!(
        "commits: {}; {group:.1} a group; each {:.2} rounds of reads, {:.2} announcements, {:.2} NOPs, {:.2} wants, stamped anew {:.3} times",
        outcome.shown(),
        each(done.read_stamps),
        each(done.announcements),
        each(done.nops),
        each(done.wants),
        each(done.late)
    ));
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
    let bare = bare::groups(&cluster.truth()?, size.gates, group.round() as usize, bytes, MEASURED_NS)?;
    report.note(format!(
        "PostgreSQL alone, {} connections, groups of {:.0} rows of {bytes} bytes: {bare:.0} rows/s",
        size.gates,
        group.round()
    ));
    let part = rate / bare;
    let target = format!("at least {BARE_PART_TARGET:.1} of PostgreSQL alone");
    report.figure("commits beside PostgreSQL", &format!("{part:.2}"), &target, part >= BARE_PART_TARGET);
    Ok(())
}
