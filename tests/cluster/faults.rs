//! Transactions through both gates while processes are killed and stopped, and their connections cut or slow: one order explains all answers, and no
//! acknowledged commit is lost.

use super::links::Links;
use super::{Ends, gates, status, tanglewood};
use database::entity::Hydrated;
use database::{Error, Value};
use parking_lot::Mutex;
use serde_json::Value as Json;
use server::client::{Address, Client as Bolt, ClientOptions};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tanglewood_sim::check::check;
use tanglewood_sim::client::{Client, Failure, Request, preparation, statement, told};
use tanglewood_sim::history::{Operation, Recorder};
use tanglewood_sim::workload::{Shape, Values, on_threads_while, read_everything};
use world::chance::Chance;
use world::clock::{after_ns, monotonic_ns};
use world::files::TemporaryFolder;

/// Three commits must come within this after each fault's end.
const BACK_MAX: Duration = Duration::from_secs(5);
/// A machine that is this busy with other work may take longer; the times are printed.
const LONGEST: Duration = Duration::from_secs(60);

/// A client at one gate, which turns to another where its own is lost.
struct GateClient {
    gates: Vec<String>,
    at: usize,
    bolt: Option<Bolt>,
}

impl GateClient {
    fn new(gates: &[String], at: usize) -> GateClient {
        GateClient { gates: gates.to_vec(), at, bolt: None }
    }
    /// Where this fails, no statement was sent yet.
    fn connected(&mut self) -> Result<&mut Bolt, Failure> {
        if self.bolt.is_none() {
            let address = Address::parse(&self.gates[self.at % self.gates.len()]).unwrap();
            match Bolt::connect(&address, ClientOptions::default()) {
                Ok(bolt) => self.bolt = Some(bolt),
                Err(error) => {
                    self.at += 1;
                    world::threads::sleep(Duration::from_millis(20));
                    return Err(Failure::Refused(error.to_string()));
                }
            }
        }
        Ok(self.bolt.as_mut().unwrap())
    }
    /// Classifies an error of a commit that may be on its way.
    fn failed(&mut self, error: &Error) -> Failure {
        let text = format!("{}: {error}", error.code);
        match error.code.as_str() {
            "Tanglewood.ClientError.Client.ConnectionLost" | "Tanglewood.ClientError.Client.Protocol" => {
                self.bolt = None;
                self.at += 1;
                Failure::Unknown(text)
            }
            "Tanglewood.DatabaseError.Transaction.OutcomeUnknown" => Failure::Unknown(text),
            _ if error.retryable || error.code.starts_with("Neo.TransientError") => Failure::Refused(text),
            _ => Failure::Broken(text),
        }
    }
    fn asked(&mut self, text: &str, params: &database::Params) -> Result<Vec<Value>, Failure> {
        let bolt = self.connected()?;
        let ask = |bolt: &mut Bolt| {
            let (mut rows, mut all) = (bolt.run(text, params)?, Vec::new());
            while let Some(some) = rows.next_rows()? {
                all.extend(some);
            }
            Ok(all)
        };
        let rows: Vec<Vec<Hydrated>> = ask(bolt).map_err(|error| self.failed(&error))?;
        let first = |row: Vec<Hydrated>| match row.into_iter().next() {
            Some(Hydrated::Plain(value)) => value,
            other => panic!("no plain value: {other:?}"),
        };
        Ok(rows.into_iter().map(first).collect())
    }
}

impl Client for GateClient {
    fn begin(&mut self, _reading: bool) -> Result<(), Failure> {
        self.connected()?.begin().map_err(|error| self.failed(&error))
    }
    fn run(&mut self, request: Request) -> Result<Operation, Failure> {
        if !self.bolt.as_ref().is_some_and(Bolt::in_transaction) {
            return Err(Failure::Refused("the transaction went with its connection".into()));
        }
        let (text, params) = statement(request);
        told(request, self.asked(text, &params)?.iter())
    }
    fn commit(&mut self) -> Result<(), Failure> {
        let Some(bolt) = self.bolt.as_mut().filter(|bolt| bolt.in_transaction()) else {
            return Err(Failure::Refused("the transaction went with its connection".into()));
        };
        bolt.commit().map_err(|error| self.failed(&error))
    }
    fn rollback(&mut self) {
        if let Some(bolt) = self.bolt.as_mut().filter(|bolt| bolt.in_transaction())
            && let Err(error) = bolt.rollback()
        {
            // What the other side forgot is rolled back.
            self.failed(&error);
        }
    }
    fn alone(&mut self, request: Request) -> Result<Operation, Failure> {
        let (text, params) = statement(request);
        told(request, self.asked(text, &params)?.iter())
    }
}

/// The process of some role, drawn anew: pids change.
fn drawn(folder: &str, chance: &mut Chance) -> Option<(String, String)> {
    let status = status(folder);
    let all: Vec<&Json> =
        status["processes"].as_array()?.iter().filter(|one| one["role"] != "truth").collect();
    let one = all[chance.index(all.len())];
    Some((format!("{} {}", one["role"].as_str()?, one["number"]), one["pid"].to_string()))
}

fn signal(name: &str, pid: &str) {
    // It may have ended meanwhile.
    let _ = Command::new("kill").args([name, pid]).stderr(std::process::Stdio::null()).status();
}

/// So many faults on a cluster of 2 gates, 3 shards and 3 oracles, one after another; each of these has its own process, or so many share them.
pub fn survive(faults: u64, seed: u64, processes: Option<usize>) {
    println!("CLUSTER_SEED={seed}");
    let scratch = TemporaryFolder::new("faults").unwrap();
    let folder = scratch.path().join("c").display().to_string();
    let links = Links::before(scratch.path().join("c").as_path(), (2, 3, 3), processes);
    let count = processes.map(|count| count.to_string());
    let shared = count.iter().flat_map(|count| ["--processes", count.as_str()]);
    let size = ["cluster", "up", &folder, "--gates", "2", "--shards", "3", "--oracles", "3"];
    let up = tanglewood(&size.into_iter().chain(shared).collect::<Vec<_>>());
    if String::from_utf8_lossy(&up.stderr).contains("Cluster.NoPostgres") {
        println!("passed over: PostgreSQL is not installed (Debian: apt-get install postgresql)");
        return;
    }
    assert!(up.status.success(), "{up:?}");
    let _ends = Ends(&folder);
    let gates = gates(&status(&folder));
    let shape = Shape { transactions: usize::MAX, processes: 5, reading: 0.3, ..Shape::default() };
    let mut client = GateClient::new(&gates, 0);
    for (text, params) in preparation(shape.objects()) {
        client.asked(&text, &params).unwrap();
    }
    let (recorder, values, stop) = (Recorder::new(), Values::default(), AtomicBool::new(false));
    let clients = (0..shape.processes).map(|at| GateClient::new(&gates, at)).collect();
    let clients = Mutex::new(Some(clients));
    // Commits come again after a fault; how soon.
    let back = || {
        let (enough, began_ns) = (recorder.committed() + 3, monotonic_ns());
        let until_ns = after_ns(LONGEST);
        while recorder.committed() < enough && monotonic_ns() < until_ns {
            world::threads::sleep(Duration::from_millis(5));
        }
        (recorder.committed() >= enough).then(|| Duration::from_nanos(monotonic_ns() - began_ns))
    };
    let (mut slowest, mut stands_still) = (Duration::ZERO, None);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let clients = clients.lock().take().unwrap();
            on_threads_while(seed, &shape, &recorder, &values, clients, || !stop.load(Ordering::Relaxed));
        });
        let mut chance = Chance::seeded(seed ^ 1);
        let mut fault = String::from("before any fault");
        for _ in 0..=faults {
            let Some(after) = back() else {
                stands_still = Some(fault);
                break;
            };
            println!("{fault}: three commits after {:.2} s", after.as_secs_f64());
            slowest = slowest.max(after);
            let Some((name, pid)) = drawn(&folder, &mut chance) else { continue };
            if chance.happens(0.35) {
                // What others send it does not come, or late; what it sends does.
                let link = &links.all[chance.index(links.all.len())];
                let time = Duration::from_millis([200, 1_000, 4_000, 6_500][chance.index(4)]);
                let is_cut = chance.happens(0.6);
                if is_cut {
                    link.cut()
                } else {
                    link.slow(Duration::from_millis(1 + chance.below(150)))
                }
                world::threads::sleep(time);
                link.slow(Duration::ZERO);
                let how = if is_cut { "cut" } else { "slow" };
                fault = format!("the way to {} {how} for {:.1} s", link.name, time.as_secs_f64());
            } else if chance.happens(0.6) {
                signal("-KILL", &pid);
                fault = format!("{name} killed");
            } else {
                // Beyond the lease of three seconds it is taken for lost, beyond five it is killed.
                let pause = Duration::from_millis([200, 1_000, 4_000, 6_500][chance.index(4)]);
                signal("-STOP", &pid);
                world::threads::sleep(pause);
                signal("-CONT", &pid);
                fault = format!("{name} stopped for {:.1} s", pause.as_secs_f64());
            }
        }
        stop.store(true, Ordering::Relaxed);
        worker.join().unwrap();
    });
    assert_eq!(stands_still, None, "seed {seed}: no commits in {LONGEST:?}");
    let mut reader = GateClient::new(&gates, 1);
    let until_ns = after_ns(LONGEST);
    while let Err(failure) = read_everything(shape.processes, &shape, &recorder, &mut reader) {
        assert!(monotonic_ns() < until_ns, "seed {seed}: {failure:?}");
    }
    let history = recorder.history();
    let findings = check(&history);
    let (commits, operations) = (history.committed(), history.operations());
    println!(
        "{commits} commits, {} operations, {faults} faults; the slowest return took {slowest:?}",
        operations
    );
    if slowest > BACK_MAX {
        println!("slower than {BACK_MAX:?}: the machine may be busy");
    }
    assert!(findings.is_clean(), "seed {seed}: {findings}");
}
