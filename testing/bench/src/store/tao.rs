//! The mix of Facebook's TAO (Weaver, Table 5.2) on a snapshot of a social network: many clients, small reads, few writes.
//!
//! Eight clients in the process, each with a session of its own, ask in a closed loop; every answer is held against a plain twin.
//! Other engines run the same mix through the fastest interface they have inside a process.

mod client;
pub mod mix;
mod rivals;
pub mod twin;

use super::bare::{self, Bare};
use super::told;
use crate::data;
use crate::edge_list;
use crate::report::Report;
use crate::timing::{Samples, shown_ms};
use client::{Client, Done};
use database::{Database, Options};
use mix::{Mix, Operation};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use twin::{Digest, History, Twin};
use world::clock::monotonic_ns;
use world::files;
use world::threads::in_parallel;

/// Clients at once.
const CLIENTS: u32 = 8;
/// Where their draws start from.
const SEED: u64 = 52;
/// The network's file, packed or not.
const NETWORK: &str = "ego-twitter.txt";
const WARM_UP_NS: u64 = 2_000_000_000;
const MEASURED_NS: u64 = 8_000_000_000;
/// Operations a second that the mix must reach on two cores.
const OPERATIONS_TARGET: f64 = 300_000.0;

/// The factor over the fastest other engine.
const RATIO_TARGET: f64 = 10.0;
/// Part of the bare log's commits that a quarter of writes must reach.
const BARE_LOG_PART_TARGET: f64 = 0.7;
/// Turns of log and engine; the middle one counts. Many short ones, since the disk's own speed changes from second to second.
const TURNS: usize = 9;
const TURN_NS: u64 = 1_000_000_000;
/// Before each; the first has the whole warm-up.
const TURN_WARM_UP_NS: u64 = 300_000_000;

/// The network as a file of edges, in a folder with room for databases, and its twin.
struct Network {
    place: files::TemporaryFolder,
    edges: PathBuf,
    twin: Twin,
}

impl Network {
    /// None where there is no data.
    fn open(data: Option<&Path>, report: &mut Report) -> Result<Option<Network>, String> {
        let Some(folder) = data else {
            report.skipped("TAO mix", "it needs --data with a folder that holds ego-twitter.txt.zst");
            return Ok(None);
        };
        let text = data::text(folder, NETWORK)?;
        let place = super::scratch("tao")?;
        let edges = place.path().join("edges.txt");
        files::write_bytes(&edges, text.as_bytes()).map_err(|error| error.to_string())?;
        let twin = Twin::read(&text)?;
        Ok(Some(Network { place, edges, twin }))
    }
}

/// Runs the mix itself.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    report.section("TAO mix (99.8 % reads), 8 clients, SNAP ego-Twitter");
    let Some(Network { place, edges, mut twin }) = Network::open(data, report)? else { return Ok(()) };
    report.note(format!("{} vertices, {} edges, seed {SEED}", twin.ids.end(), twin.edge_count()));
    let database = loaded(&edges, &place.path().join("reads"))?;
    let ours = measure(&database, &mut twin, Mix::TAO, WARM_UP_NS..WARM_UP_NS + MEASURED_NS)?;
    drop(database);
    ours.show(report);
    let shown = format!("{:.0} operations/s", ours.rate());
    let target = format!("at least {OPERATIONS_TARGET:.0} operations/s");
    report.figure("TAO mix", &shown, &target, ours.rate() >= OPERATIONS_TARGET);
    beside_rivals(&ours, &edges, place.path(), report);
    Ok(())
}

/// Its operations with a quarter of writes.
pub fn commits(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    report.section("TAO operations with 25 % writes, 8 clients, durable, in turns with the bare log");
    let Some(Network { place, edges, mut twin }) = Network::open(data, report)? else { return Ok(()) };
    quarter(&edges, place.path(), &mut twin, report)
}

/// The same mix in other engines: each through its fastest interface.
fn beside_rivals(ours: &Outcome, edges: &Path, place: &Path, report: &mut Report) {
    for rival in rivals::RIVALS {
        let name = format!("TAO mix beside {}", rival.name);
        let reached = match rival.run(edges, place, Mix::TAO) {
            Ok(reached) => reached,
            Err(why) => {
                report.skipped(&name, &why);
                continue;
            }
        };
        let (reached, failed): (Vec<_>, Vec<_>) = reached.into_iter().partition(Result::is_ok);
        failed.into_iter().filter_map(Result::err).for_each(|why| report.note(why));
        let reached: Vec<_> = reached.into_iter().flatten().collect();
        for interface in &reached {
            report.note(format!(
                "{} {} ({}): {:.0} operations/s, {:.2} cores busy; for each busy core {:.0}, ours {:.0}",
                rival.name,
                interface.version,
                interface.interface,
                interface.rate,
                interface.cores,
                interface.rate / interface.cores,
                ours.rate() / ours.cores
            ));
        }
        let Some(best) = reached.iter().max_by(|a, b| a.rate.total_cmp(&b.rate)) else {
            report.skipped(&name, "none of its interfaces answered");
            continue;
        };
        let ratio = ours.rate() / best.rate;
        let target = format!("at least {RATIO_TARGET:.0}x ({})", best.interface);
        report.figure(&name, &format!("{ratio:.1}x"), &target, ratio >= RATIO_TARGET);
    }
}

/// A quarter of writes, durable, in turns with the bare log: as many writers, the same bytes.
fn quarter(edges: &Path, place: &Path, twin: &mut Twin, report: &mut Report) -> Result<(), String> {
    let path = place.join("writes");
    let database = loaded(edges, &path)?;
    let mut turns = Vec::new();
    for turn in 0..TURNS {
        let (log_before, counts_before) = (log_bytes(&path)?, database.commit_counts());
        let warm_up_ns = if turn == 0 { WARM_UP_NS } else { TURN_WARM_UP_NS };
        let ours = measure(&database, twin, Mix::QUARTER, warm_up_ns..warm_up_ns + TURN_NS)?;
        let counts = database.commit_counts();
        let commits = counts.commits - counts_before.commits;
        let bytes = ((log_bytes(&path)? - log_before) / commits.max(1)).saturating_sub(bare::FRAME_BYTES);
        let seconds = (warm_up_ns + TURN_NS) as f64 / 1e9;
        let syncs = (counts.groups - counts_before.groups) as f64 / seconds;
        let bare = Bare::create(&place.join(format!("bare-{turn}")))?;
        let bare = bare.measure(CLIENTS as usize, bytes as usize, TURN_NS)?;
        let commits = ours.commit_rate();
        report.note(format!(
            "commits {commits:.0}/s with {syncs:.0} syncs/s; bare log {:.0}/s with {:.0} syncs/s; {bytes} bytes a record",
            bare.commits, bare.syncs
        ));
        turns.push(commits / bare.commits);
        if turn + 1 == TURNS {
            ours.show(report);
        }
        twin.adopt(ours.latest);
    }
    drop(database);
    turns.sort_unstable_by(f64::total_cmp);
    let part = turns[TURNS / 2];
    let target = format!("at least {:.0} % of the bare log", BARE_LOG_PART_TARGET * 100.0);
    let shown = format!("{:.0} % of the bare log", part * 100.0);
    report.figure("commits at 25 % writes", &shown, &target, part >= BARE_LOG_PART_TARGET);
    Ok(())
}

/// Bytes of the log's files.
fn log_bytes(database: &Path) -> Result<u64, String> {
    let fault = |error: world::disk::DiskError| error.to_string();
    let segments = files::list_folder(&database.join("log")).map_err(fault)?;
    segments.iter().map(|segment| files::size_bytes(segment)).sum::<Result<u64, _>>().map_err(fault)
}

/// The sum of all clients' results.
struct Outcome {
    clients: Vec<Done>,
    measured_ns: u64,
    cores: f64,
    judged: usize,
    compared: usize,
    /// Targets of the vertices that were written.
    latest: BTreeMap<u32, Vec<u32>>,
}

impl Outcome {
    fn operations(&self) -> u64 {
        self.clients.iter().map(|client| client.operations).sum()
    }
    fn rate(&self) -> f64 {
        self.operations() as f64 * 1e9 / self.measured_ns as f64
    }
    fn commit_rate(&self) -> f64 {
        let of = |client: &Done| {
            let writes = client.samples.iter().filter(|(operation, _)| operation.writes());
            writes.map(|(_, samples)| samples.len()).sum::<usize>()
        };
        self.clients.iter().map(of).sum::<usize>() as f64 * 1e9 / self.measured_ns as f64
    }
    fn show(&self, report: &mut Report) {
        for operation in Operation::ALL {
            let mut samples = Samples::default();
            let of_all = self.clients.iter().filter_map(|client| client.samples.get(&operation));
            of_all.for_each(|of_one| samples.extend(of_one));
            report.note(format!(
                "{:<12} {:>8} times, p50 {}, p99 {}, p99.9 {}",
                operation.name(),
                samples.len(),
                shown_ms(samples.quantile_ms(0.5)),
                shown_ms(samples.quantile_ms(0.99)),
                shown_ms(samples.quantile_ms(0.999))
            ));
        }
        report.note(format!(
            "every read checked, {} of them against the times of writes; {} vertices read back; {:.2} cores busy",
            self.judged, self.compared, self.cores
        ));
    }
}

/// A fresh database with the network.
fn loaded(edges: &Path, path: &Path) -> Result<Database, String> {
    let database = Database::open(path, Options::default()).map_err(|error| told(&error))?;
    let options = edge_list::options(edges);
    database.import(&options).map_err(|error| told(&error))?;
    Ok(database)
}

/// Runs the mix, which counts in this time from now, and checks everything.
fn measure(
    database: &Database,
    twin: &mut Twin,
    mix: Mix,
    counted_ns: Range<u64>,
) -> Result<Outcome, String> {
    let measured_ns = counted_ns.end - counted_ns.start;
    let begin_ns = monotonic_ns() + counted_ns.start;
    let begin_seconds = processor_seconds();
    let mut clients = in_parallel("client", CLIENTS as usize, |number| {
        Client::new(database.session(), twin, mix, SEED, number as u32, CLIENTS)
            .run(begin_ns..begin_ns + measured_ns)
    });
    let cores = (processor_seconds() - begin_seconds) * 1e9 / counted_ns.end as f64;
    if let Some(fault) = clients.iter_mut().find_map(|client| client.fault.take()) {
        return Err(format!("TAO mix: {fault}"));
    }
    let (mut history, mut latest) = (History::new(), BTreeMap::new());
    clients.iter_mut().for_each(|client| {
        history.append(&mut client.history);
        latest.append(&mut client.latest);
    });
    let judged = clients.iter().map(|client| client.doubts.len()).sum();
    clients.iter().flat_map(|client| &client.doubts).try_for_each(|doubt| twin.judge(doubt, &history))?;
    let compared = read_back(database, twin, &history)?;
    Ok(Outcome { clients, measured_ns, cores, judged, compared, latest })
}

/// Processor time of this process so far, where the system tells it.
fn processor_seconds() -> f64 {
    let stat = files::read_text(Path::new("/proc/self/stat")).unwrap_or_default();
    // Behind the name in brackets, user and system time are the 12th and 13th field, in hundredths of a second.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Compares every vertex with the state after all writes; how many vertices were compared.
fn read_back(database: &Database, twin: &Twin, history: &History) -> Result<usize, String> {
    let mut session = database.session();
    let text = "MATCH (a:N)-[:E]->(b) RETURN a.id, b.id";
    let mut result = session.query(text, database::Params::new()).map_err(|error| told(&error))?;
    let mut found = vec![Digest::of([]); *twin.ids.end() as usize + 1];
    while let Some(batch) = result.next_batch().map_err(|error| told(&error))? {
        for row in 0..batch.len() {
            let id = |column: usize| batch.get(row, column).as_int().and_then(|id| u32::try_from(id).ok());
            let (Some(source), Some(target)) = (id(0), id(1)) else {
                return Err("ids are no integers".into());
            };
            found[source as usize] = found[source as usize].with(target);
        }
    }
    for vertex in twin.ids.clone() {
        let right = twin.last(vertex, history);
        if found[vertex as usize] != right {
            return Err(format!("{vertex} ends as {:?}, right is {right:?}", found[vertex as usize]));
        }
    }
    Ok(twin.ids.clone().count())
}
