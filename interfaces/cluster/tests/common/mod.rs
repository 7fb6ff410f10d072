//! A small cluster in one process: numbers by key on each shard, truth in memory that all share.
#![allow(dead_code)]

use parking_lot::Mutex;
use protocol::{
    Bytes, CommitId, Following, LogCut, LogPage, MemoryTruth, Proposed, Route, Rules, Sequence, Timing,
    ToldUsage, Truth, Unknown, Verdict,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tanglewood_cluster::{Addresses, Content, Driver, GateHandle};
use world::disk::SimDisk;
use world::net::Net;

pub const TIMING: Timing =
    Timing { heartbeat_us: 50_000, lease_us: 1_000_000, resend_us: 10_000, tau_us: None };

/// Numbers by key, all versions.
#[derive(Default)]
pub struct Numbers(BTreeMap<u64, Vec<(u64, u64)>>);

pub fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}
pub fn bytes(words: &[u64]) -> Bytes {
    words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>().into()
}

impl Content for Numbers {
    fn reset(&mut self) {
        self.0.clear();
    }
    fn apply(&mut self, commit_version: u64, part: &[u8]) {
        for pair in words(part).chunks(2) {
            self.0.entry(pair[0]).or_default().push((commit_version, pair[1]));
        }
    }
    fn query(&mut self, commit_version: u64, query: &[u8]) -> Bytes {
        let value = |key: u64| {
            let versions = self.0.get(&key).into_iter().flatten().rev();
            versions.into_iter().find(|(at, _)| *at <= commit_version).map_or(0, |(_, value)| *value)
        };
        bytes(&words(query).into_iter().map(value).collect::<Vec<u64>>())
    }
}

/// One truth for all.
#[derive(Clone)]
pub struct Shared(pub Arc<Mutex<MemoryTruth>>);

impl Sequence for Shared {
    fn after(&mut self, after: u64, limit: usize) -> Result<LogPage, Unknown> {
        self.0.lock().after(after, limit)
    }
    fn newest(&mut self) -> Result<(u64, Vec<CommitId>), Unknown> {
        self.0.lock().newest()
    }
    fn version_of(&mut self, commits: &[CommitId]) -> Result<Option<u64>, Unknown> {
        self.0.lock().version_of(commits)
    }
    fn routes(&mut self) -> Result<Vec<Route>, Unknown> {
        self.0.lock().routes()
    }
    fn follows(&mut self, name: &str, commit_version: u64) -> Result<(), Unknown> {
        self.0.lock().follows(name, commit_version)
    }
    fn followers(&mut self) -> Result<Vec<Following>, Unknown> {
        self.0.lock().followers()
    }
    fn put_base(
        &mut self,
        maker: &str,
        base: u64,
        number: u64,
        parts: &[(u16, Bytes)],
    ) -> Result<(), Unknown> {
        self.0.lock().put_base(maker, base, number, parts)
    }
    fn cut(&mut self, maker: &str, base: u64, records: u64) -> Result<LogCut, Unknown> {
        self.0.lock().cut(maker, base, records)
    }
    fn tell_usage(&mut self, gate: &str, usage: &[u8]) -> Result<ToldUsage, Unknown> {
        self.0.lock().tell_usage(gate, usage)
    }
    fn delete_below_base(&mut self) -> Result<bool, Unknown> {
        self.0.lock().delete_below_base()
    }
}

impl Truth for Shared {
    fn state(&mut self) -> Result<(u64, u64), Unknown> {
        self.0.lock().state()
    }
    fn commit(&mut self, e: u64, s: usize, g: u64, all: &[Proposed]) -> Result<Vec<Verdict>, Unknown> {
        self.0.lock().commit(e, s, g, all)
    }
    fn bump(&mut self, from: u64) -> Result<u64, Unknown> {
        self.0.lock().bump(from)
    }
    fn unversioned(&mut self, limit: usize) -> Result<(u64, Vec<order::Stamp>), Unknown> {
        self.0.lock().unversioned(limit)
    }
    fn assign_versions(&mut self, epoch: u64, first: u64, commits: &[CommitId]) -> Result<bool, Unknown> {
        self.0.lock().assign_versions(epoch, first, commits)
    }
    fn log(&mut self, shard: Option<u16>, after: u64, limit: usize) -> Result<LogPage, Unknown> {
        self.0.lock().log(shard, after, limit)
    }
    fn lease(&mut self, shard: u16, count: u32) -> Result<u32, Unknown> {
        self.0.lock().lease(shard, count)
    }
    fn placement(&mut self) -> Result<Vec<Route>, Unknown> {
        self.0.lock().placement()
    }
    fn forget(&mut self, epoch: u64, frontier: &[u64]) -> Result<(), Unknown> {
        self.0.lock().forget(epoch, frontier)
    }
}

/// A way to truth for one process.
pub type Ways<'a> = &'a dyn Fn() -> Box<dyn Truth + Send>;

pub struct Small {
    pub addresses: Addresses,
    pub gates: Vec<Option<(Driver, GateHandle)>>,
    pub shards: Vec<Option<Driver>>,
    pub published: Arc<Mutex<Vec<u64>>>,
    others: Vec<Driver>,
}

impl Small {
    /// Chunk n belongs to shard n. The network is asked for an end of each process, gates first, then shards, oracle, scribe, keeper.
    /// With truth in memory, where chunk n belongs to shard n.
    pub fn start(gates: u16, shards: u16, ends: Vec<Box<dyn Net>>) -> (Small, Shared) {
        let chunks: Vec<(u32, u16)> = (0..shards).map(|shard| (u32::from(shard), shard)).collect();
        let truth = Shared(Arc::new(Mutex::new(MemoryTruth::new(Rules::default(), &chunks))));
        let small = Small::start_with(gates, shards, ends, &|| Box::new(truth.clone()));
        (small, truth)
    }
    /// There is an end of the network for each process: gates first, then shards, oracle, scribe, keeper.
    pub fn start_with(gates: u16, shards: u16, ends: Vec<Box<dyn Net>>, truth: Ways) -> Small {
        Small::start_holding(gates, shards, ends, truth, &|_| Box::new(Numbers::default()))
    }
    /// As that, with shards that hold something else.
    pub fn start_holding(
        gates: u16,
        shards: u16,
        ends: Vec<Box<dyn Net>>,
        truth: Ways,
        content: &dyn Fn(u16) -> Box<dyn Content>,
    ) -> Small {
        let names: Vec<String> = ends.iter().map(|end| end.address().to_string()).collect();
        let (g, s) = (usize::from(gates), usize::from(shards));
        let addresses = Addresses {
            gates: names[..g].to_vec(),
            shards: names[g..g + s].to_vec(),
            oracles: vec![names[g + s].clone()],
            scribe: names[g + s + 1].clone(),
            keeper: names[g + s + 2].clone(),
        };
        let published = Arc::new(Mutex::new(Vec::new()));
        let mut small = Small {
            addresses: addresses.clone(),
            gates: Vec::new(),
            shards: Vec::new(),
            published: published.clone(),
            others: Vec::new(),
        };
        let mut ends = ends.into_iter();
        let mut end = || ends.next().unwrap();
        (0..gates).for_each(|number| {
            small.gates.push(None);
            small.start_gate(number, end(), truth());
        });
        (0..shards).for_each(|number| {
            small.shards.push(None);
            small.start_shard_of(number, end(), truth(), content(number));
        });
        let (disk, folder) = (Arc::new(SimDisk::new()), Path::new("/oracle"));
        let oracle = Driver::oracle(&addresses.oracles[0], end(), addresses.clone(), disk, folder);
        small.others.push(oracle.unwrap());
        let publish = move |commit_version, _| published.lock().push(commit_version);
        small.others.push(Driver::scribe(end(), addresses.clone(), TIMING, truth(), publish).unwrap());
        small.others.push(Driver::keeper(end(), addresses, TIMING, truth()).unwrap());
        small
    }
    pub fn start_gate(&mut self, number: u16, end: Box<dyn Net>, truth: Box<dyn Truth + Send>) {
        let gate = Driver::gate(number, end, self.addresses.clone(), TIMING, truth).unwrap();
        self.gates[usize::from(number)] = Some(gate);
    }
    pub fn start_shard(&mut self, number: u16, end: Box<dyn Net>, truth: Box<dyn Truth + Send>) {
        self.start_shard_of(number, end, truth, Box::new(Numbers::default()));
    }
    pub fn start_shard_of(
        &mut self,
        number: u16,
        end: Box<dyn Net>,
        truth: Box<dyn Truth + Send>,
        content: Box<dyn Content>,
    ) {
        let shard = Driver::shard(number, end, self.addresses.clone(), TIMING, truth, content).unwrap();
        self.shards[usize::from(number)] = Some(shard);
    }
    pub fn handle(&self, gate: usize) -> GateHandle {
        self.gates[gate].as_ref().unwrap().1.clone()
    }
}
