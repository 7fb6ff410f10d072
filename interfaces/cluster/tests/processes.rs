//! Processes of their own, killed with SIGKILL or stopped for a while with SIGSTOP while clients work, over PostgreSQL: shards, the scribe and the keeper
//! come back, reads stay strict, and nothing that was acknowledged is lost.
//!
//! The test starts itself again for each process (`one_process`). The gates are in the test's own process: their clients are.

mod common;
#[allow(dead_code)]
#[path = "../../truth/tests/common/mod.rs"]
mod server;

use common::{Numbers, TIMING, bytes, words};
use parking_lot::Mutex;
use postgres::{Client, NoTls};
use protocol::message::Commit;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tanglewood_cluster::{Addresses, Driver, GateHandle};
use tanglewood_truth::PostgresTruth;
use world::chance::Chance;
use world::disk::RealDisk;
use world::files::TemporaryFolder;
use world::net::{Net, TcpNet};

const GATES: usize = 2;
const SHARDS: u16 = 3;
const ORACLES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(3);
const LONGEST: Duration = Duration::from_secs(60);

/// Addresses as one text, and back.
fn text(addresses: &Addresses) -> String {
    let others = [&addresses.scribe, &addresses.keeper];
    let (gates, shards) = (&addresses.gates, &addresses.shards);
    gates.iter().chain(shards).chain(&addresses.oracles).chain(others).cloned().collect::<Vec<_>>().join(",")
}
fn addresses(text: &str) -> Addresses {
    let all: Vec<String> = text.split(',').map(str::to_string).collect();
    let (gates, rest) = all.split_at(GATES);
    let (shards, others) = rest.split_at(usize::from(SHARDS));
    let (oracles, others) = others.split_at(ORACLES);
    let [scribe, keeper] = others else { panic!("two others in {text}") };
    Addresses {
        gates: gates.to_vec(),
        shards: shards.to_vec(),
        oracles: oracles.to_vec(),
        scribe: scribe.clone(),
        keeper: keeper.clone(),
    }
}

fn open(address: &str) -> Box<dyn Net> {
    let until_ns = world::clock::after_ns(LONGEST);
    loop {
        match TcpNet::open(address, b"a secret of this test") {
            Ok(net) => return Box::new(net),
            Err(error) => assert!(world::clock::monotonic_ns() < until_ns, "{error}"),
        }
        world::threads::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "a process of the other test, which starts it"]
fn one_process() {
    let Ok(role) = std::env::var("CLUSTER_ROLE") else { return };
    let all = addresses(&std::env::var("CLUSTER_ADDRESSES").unwrap());
    let way = std::env::var("CLUSTER_TRUTH").unwrap();
    let truth = || Box::new(PostgresTruth::connect(&way).unwrap());
    let _driver = match role.as_str() {
        oracle if oracle.starts_with("oracle") => {
            let folder = Path::new(&std::env::var("CLUSTER_FOLDER").unwrap()).join(oracle);
            let number: usize = oracle["oracle".len()..].parse().unwrap();
            Driver::oracle(
                &all.oracles[number],
                open(&all.oracles[number]),
                all.clone(),
                Arc::new(RealDisk),
                &folder,
            )
        }
        "scribe" => Driver::scribe(open(&all.scribe), all.clone(), TIMING, truth(), |_, _| {}),
        "keeper" => Driver::keeper(open(&all.keeper), all.clone(), TIMING, truth()),
        number => {
            let number: u16 = number.parse().unwrap();
            let content = Box::new(Numbers::default());
            let net = open(&all.shards[usize::from(number)]);
            Driver::shard(number, net, all.clone(), TIMING, truth(), content)
        }
    }
    .unwrap();
    // The test that started it has ended when nothing more can come.
    let _ = std::io::stdin().read(&mut [0]);
}

/// Processes by their roles; those that are left are killed at the end.
struct Processes {
    addresses: Addresses,
    truth: String,
    folder: TemporaryFolder,
    running: Vec<(String, Child)>,
}

impl Processes {
    fn start(&self, role: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "one_process", "--ignored"])
            .env("CLUSTER_ROLE", role)
            .env("CLUSTER_ADDRESSES", text(&self.addresses))
            .env("CLUSTER_TRUTH", &self.truth)
            .env("CLUSTER_FOLDER", self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }
    /// Kills one with SIGKILL, and starts it again.
    fn replace(&mut self, at: usize) {
        let role = self.running[at].0.clone();
        self.running[at].1.kill().unwrap();
        self.running[at].1.wait().unwrap();
        self.running[at].1 = self.start(&role);
    }
    /// Stops one with SIGSTOP for a while, with all that it has under way.
    fn pause(&mut self, at: usize, time: Duration) {
        let pid = self.running[at].1.id().to_string();
        let signal =
            |name: &str| assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
        signal("-STOP");
        world::threads::sleep(time);
        signal("-CONT");
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (_, process) in &mut self.running {
            process.kill().ok();
            process.wait().ok();
        }
    }
}

/// What all clients know together.
#[derive(Default)]
struct Known {
    /// The highest number that was read or acknowledged.
    least: AtomicU64,
    commits: AtomicU64,
}

/// Reads the number of each shard, which are equal in each snapshot and not below what was known before; adds one to all.
fn transact(gate: &GateHandle, known: &Known) {
    let before = known.least.load(Ordering::SeqCst);
    let shards = 0..u64::from(SHARDS);
    let queries = shards.clone().map(|shard| (shard as u16, bytes(&[shard]))).collect();
    let Ok((read, answers)) = gate.read(queries, PATIENCE) else {
        world::threads::sleep(Duration::from_millis(5));
        return;
    };
    let numbers: Vec<u64> = answers.iter().map(|(_, answer)| words(answer)[0]).collect();
    assert!(numbers.iter().all(|number| *number == numbers[0]), "half a transaction: {numbers:?}");
    assert!(numbers[0] >= before, "{} was read, and {before} was there before", numbers[0]);
    known.least.fetch_max(numbers[0], Ordering::SeqCst);
    let commit = Commit {
        base: Some(read),
        reads: shards.clone().collect(),
        writes: shards.clone().collect(),
        routes: shards.clone().map(|chunk| (chunk as u32, 0)).collect(),
        moves: Vec::new(),
        parts: shards.map(|shard| (shard as u16, bytes(&[shard, numbers[0] + 1]))).collect(),
    };
    let end = gate.commit(commit, PATIENCE);
    gate.close(read);
    if end.is_ok() {
        known.least.fetch_max(numbers[0] + 1, Ordering::SeqCst);
        known.commits.fetch_add(1, Ordering::SeqCst);
    }
}

/// Kills or stops so many processes, one after another, while clients work.
fn survive(kills: u64, seed: u64) {
    let Some(server) = server::Server::start() else { return };
    let chunks: Vec<(u32, u16)> = (0..SHARDS).map(|shard| (u32::from(shard), shard)).collect();
    server.truth().create_chunks(&chunks).unwrap();
    let gates: Vec<Box<dyn Net>> = (0..GATES).map(|_| open("127.0.0.1:0")).collect();
    // Ports of others are found by taking and leaving them.
    let free: Vec<Box<dyn Net>> =
        (0..usize::from(SHARDS) + ORACLES + 2).map(|_| open("127.0.0.1:0")).collect();
    let all: Vec<&str> = gates.iter().chain(&free).map(|net| net.address()).collect();
    let addresses = addresses(&all.join(","));
    drop(free);
    let folder = TemporaryFolder::new("oracles").unwrap();
    let (all, truth) = (addresses.clone(), server.address());
    let mut processes = Processes { addresses: all, truth, folder, running: Vec::new() };
    for role in ["0", "oracle0", "1", "scribe", "oracle1", "2", "keeper", "oracle2"] {
        let process = processes.start(role);
        processes.running.push((role.to_string(), process));
    }
    let gate = |(number, net): (usize, Box<dyn Net>)| {
        Driver::gate(number as u16, net, addresses.clone(), TIMING, Box::new(server.truth())).unwrap()
    };
    let gates: Vec<(Driver, GateHandle)> = gates.into_iter().enumerate().map(gate).collect();
    let (known, stop) = (Known::default(), AtomicBool::new(false));
    let more = |what: &str| {
        let (enough, until_ns) = (known.commits.load(Ordering::SeqCst) + 5, world::clock::after_ns(LONGEST));
        while known.commits.load(Ordering::SeqCst) < enough {
            if world::clock::monotonic_ns() > until_ns {
                stop.store(true, Ordering::SeqCst);
                panic!("seed {seed}: no commits in a minute {what}");
            }
            world::threads::sleep(Duration::from_millis(10));
        }
    };
    let processes = Mutex::new(processes);
    world::threads::in_parallel("client", 4, |client| {
        while client > 0 && !stop.load(Ordering::SeqCst) {
            transact(&gates[client % GATES].1, &known);
        }
        if client == 0 {
            let mut chance = Chance::seeded(seed);
            more("at the beginning");
            for kill in 0..kills {
                let at = (kill as usize + chance.index(2)) % processes.lock().running.len();
                let began_ns = world::clock::monotonic_ns();
                // Every other one is stopped only, some of them for longer than their lease.
                let pause = Duration::from_millis(100 + chance.below(1_500));
                let fault = if kill % 2 == 0 { "killed" } else { "stopped" };
                if kill % 2 == 0 {
                    processes.lock().replace(at);
                } else {
                    processes.lock().pause(at, pause);
                }
                more(&format!("after {} was {fault}", processes.lock().running[at].0));
                let back_ms = (world::clock::monotonic_ns() - began_ns) / 1_000_000;
                println!("{fault} {}: 5 commits after {back_ms} ms", processes.lock().running[at].0);
            }
            stop.store(true, Ordering::SeqCst);
        }
    });
    // Each commit adds one to what it read: a lost or a doubled one would make these differ. One that nobody waits for any more may still come.
    let mut client = Client::connect(&server.address(), NoTls).unwrap();
    let until_ns = world::clock::after_ns(LONGEST);
    let (commits, mut counts) = (known.commits.load(Ordering::SeqCst), (0, 1));
    while counts.0 != counts.1 {
        assert!(world::clock::monotonic_ns() < until_ns, "seed {seed}: {counts:?} in the log and read");
        let logged: i64 = client.query_one("SELECT count(*) FROM tw_log", &[]).unwrap().get(0);
        let Ok((read, answers)) = gates[0].1.read(vec![(0, bytes(&[0]))], PATIENCE) else { continue };
        gates[0].1.close(read);
        counts = (logged as u64, words(&answers[0].1)[0]);
    }
    println!("{commits} commits were acknowledged, {} are in the log", counts.0);
    assert!(counts.0 >= commits, "seed {seed}: {commits} were acknowledged, {} are in the log", counts.0);
}

#[test]
fn killed_processes_come_back_and_nothing_acknowledged_is_lost() {
    survive(2, 1);
}

#[test]
#[ignore = "soak: CLUSTER_KILLS kills, 40 unless told, some seconds each"]
fn many_killed_processes_come_back() {
    let kills = std::env::var("CLUSTER_KILLS").ok().and_then(|text| text.parse().ok());
    let seed = Chance::system_seed();
    println!("seed {seed}");
    survive(kills.unwrap_or(40), seed);
}
