//! The gate's side: a snapshot of all shares for each transaction, chunks on first touch, commits by keys.
//!
//! Invariants: a snapshot is one answer of every shard to one read, so it is strict and complete; the read stays open as long as the snapshot, or one
//! made of it, can be read, so the shards keep its versions. The gate caches heads of chunks and pages of versions between transactions; these never
//! change.
//! Cost: transactions that begin at once send one request to every shard, together; changes come with the answer, and a chunk that is not in memory
//! is fetched on first touch.

use super::ask::{OpenRead, PATIENCE, ask, content};
use super::leases::Leases;
use super::pages::Pages;
use super::parts::by_shards;
use super::queries::{CHANGED, ENTRIES};
use super::rounds::SharedRounds;
use crate::{Addresses, Failure, GateHandle};
use model::pace::Stopped;
use model::{ChunkNo, walk};
use parking_lot::Mutex;
use protocol::limits::READ_KEYS_MAX;
use protocol::message::{Commit, Refusal};
use protocol::{Bytes, EVERYTHING};
use std::sync::{Arc, Weak};
use std::time::Duration;
use store::{
    Allocator, Change, JoinedShares, Names, Share, ShareRequest, Snapshot, Store, StoreError, StoreOptions,
};
use transact::{ClusterReport, Proposal, Remote, RemoteError};
use world::clock;
use world::fiber::Still;

/// A commit's outcome is waited for so long.
const COMMIT: Duration = Duration::from_secs(20);
/// How long a snapshot may be reused, whatever age is allowed: as long its read stays open, and shards keep its versions.
const OLDEST: Duration = Duration::from_secs(2);
/// Bytes of changes of one transaction: a record is one frame to a shard, beside others.
const COMMIT_BYTES_MAX: usize = 16 << 20;

/// The shards, as one gate uses them.
pub struct Shards {
    pub(super) handle: GateHandle,
    /// Its own number.
    pub(super) number: u16,
    pub(super) shards: u16,
    addresses: Addresses,
    leases: Arc<Leases>,
    known: Mutex<LastSnapshot>,
    begins: SharedRounds<Result<Begun, RemoteError>>,
}

/// The graph as of a read, which stays open as long as a snapshot of it lives.
#[derive(Clone)]
struct Begun {
    snapshot: Snapshot,
    read: Arc<OpenRead>,
}

/// The last snapshot, and each shard's life and version in it.
#[derive(Clone)]
struct LastSnapshot {
    snapshot: Snapshot,
    at: Vec<(u64, u64)>,
    /// When the read began: everything that was acknowledged before is in it. None before the first.
    asked_ns: Option<u64>,
    /// The read, while it is open.
    read: Weak<OpenRead>,
}

/// The parts with which the database of gate `number` of a cluster is opened; its chunks may take `memory_bytes` of memory.
pub fn gate(
    handle: &GateHandle,
    number: u16,
    addresses: &Addresses,
    memory_bytes: Option<u64>,
) -> transact::GateParts {
    let (gates, shards) = (addresses.gates.len() as u16, addresses.shards.len() as u16);
    let leases = Arc::new(Leases::new(handle.clone(), shards));
    let options = StoreOptions { memory_bytes, ..StoreOptions::default() };
    let empty = Snapshot::empty(Arc::new(Names::new()), options);
    let store = Store::from_snapshot(empty);
    store.attach(Arc::new(Pages::new(handle.clone())));
    let at = vec![(0, 0); usize::from(shards)];
    let known = LastSnapshot { snapshot: store.current(), at, asked_ns: None, read: Weak::new() };
    let (handle, addresses, known) = (handle.clone(), addresses.clone(), Mutex::new(known));
    let remote = Shards {
        handle,
        number,
        shards,
        addresses,
        leases: leases.clone(),
        known,
        begins: SharedRounds::new(),
    };
    let place = (u32::from(number), u32::from(gates));
    transact::GateParts {
        remote: Arc::new(remote),
        allocator: Allocator::leased(leases, place, u32::from(shards)),
        empty: store.current(),
    }
}

impl Shards {
    fn parts(&self, base: &Snapshot, changes: &[Change]) -> Result<Vec<(u16, Bytes)>, RemoteError> {
        let owner = |chunk| self.owner(base, chunk);
        let parts = by_shards(changes, self.shards, owner, COMMIT_BYTES_MAX)?;
        let bytes: usize = parts.iter().map(|(_, part)| part.len()).sum();
        if bytes > COMMIT_BYTES_MAX { Err(RemoteError::TooLarge) } else { Ok(parts) }
    }
    /// Fetches the entries of all indexes as of a read, page by page.
    fn with_loaded_indexes(&self, snapshot: &Snapshot, read: &OpenRead) -> Result<Snapshot, StoreError> {
        let failed = |why: String| StoreError::Unavailable(why.into());
        snapshot.with_loaded_indexes(self.shards, |shard, request| {
            let query = Bytes::from([&[ENTRIES], &request[..]].concat());
            let answers = self.handle.read_more(read.number, vec![(shard, query)], PATIENCE);
            let answers = answers.map_err(|failure| failed(failure.to_string()))?;
            let [(_, answer)] = &answers[..] else { return Err(failed("no answer of the shard".into())) };
            content(answer).map(<[u8]>::to_vec).map_err(failed)
        })
    }
    fn owner(&self, base: &Snapshot, chunk: ChunkNo) -> Result<u16, RemoteError> {
        let owner = base.shard_of(chunk).or_else(|| self.leases.owner(chunk));
        owner.ok_or(RemoteError::Store(StoreError::ChunkMismatch(chunk)))
    }
}

impl Shards {
    /// The graph of all shards as of a read that began after this call, or at `oldest_ns` or later (of [`clock::monotonic_ns`]); may be shared with
    /// other transactions.
    fn begun(&self, oldest_ns: u64) -> Result<Begun, RemoteError> {
        let until_ns = clock::after_ns(PATIENCE);
        let asked = || match self.ask_shards(until_ns) {
            Err(RemoteError::Store(StoreError::Stopped)) => None,
            given => Some(given),
        };
        match self.begins.join((until_ns, oldest_ns), asked) {
            Ok(given) => given,
            Err(Stopped) if walk::check().is_err() => Err(StoreError::Stopped.into()),
            Err(Stopped) => Err(RemoteError::Unavailable(Failure::Unknown.to_string())),
        }
    }
    /// The graph of all shards as of a read that begins now.
    fn ask_shards(&self, until_ns: u64) -> Result<Begun, RemoteError> {
        // Others wait for it, so it does not pause.
        let _still = Still::begin();
        let unavailable = RemoteError::Unavailable;
        let (known, asked_ns) = (self.known.lock().clone(), Some(clock::monotonic_ns()));
        let names = known.snapshot.catalog().names().counts();
        let query = |(shard, (life, since)): (usize, &(u64, u64))| {
            let request = ShareRequest { life: *life, since: *since, names };
            (shard as u16, Bytes::from([&[CHANGED], &request.encode()[..]].concat()))
        };
        let queries: Vec<(u16, Bytes)> = known.at.iter().enumerate().map(query).collect();
        let (read, mut answers) = ask(&self.handle, &queries, until_ns).map_err(|error| match error {
            StoreError::Unavailable(why) => unavailable(why.to_string()),
            error => RemoteError::Store(error),
        })?;
        // What is made of the answers is for others, too, so it is finished when the statement whose turn it is is over.
        let _unended = walk::unended();
        answers.sort_unstable_by_key(|(shard, _)| *shard);
        let mut shares = Vec::new();
        for (shard, answer) in &answers {
            shares.push(Share { shard: *shard, bytes: content(answer).map_err(unavailable)? });
        }
        // Versions differ by shard; strict reads need none.
        let JoinedShares { mut snapshot, commit_versions: at, loads_indexes } =
            known.snapshot.with_shares(&shares, 0)?;
        if loads_indexes {
            snapshot = self.with_loaded_indexes(&snapshot, &read)?;
        }
        let read = Arc::new(read);
        *self.known.lock() =
            LastSnapshot { snapshot: snapshot.clone(), at, asked_ns, read: Arc::downgrade(&read) };
        Ok(Begun { snapshot, read })
    }
}

impl Remote for Shards {
    fn begin(&self) -> Result<Snapshot, RemoteError> {
        let Begun { snapshot, read } = self.begun(u64::MAX)?;
        Ok(snapshot.with_own_names().leased(read))
    }

    fn begin_within(&self, age: Duration) -> Result<Snapshot, RemoteError> {
        let known = self.known.lock().clone();
        let (now_ns, age_ns) = (clock::monotonic_ns(), clock::span_ns(age.min(OLDEST)));
        let until_ns = known.asked_ns.map_or(0, |ns| ns.saturating_add(age_ns));
        if now_ns < until_ns
            && let Some(read) = known.read.upgrade()
        {
            return Ok(known.snapshot.with_own_names().leased(read));
        }
        let Begun { snapshot, read } = self.begun(now_ns.saturating_sub(age_ns).max(1))?;
        // The next one may take it, too; it holds back what shards may forget, so it is open no longer than somebody takes it.
        self.handle.linger(age.min(OLDEST), read.clone());
        Ok(snapshot.with_own_names().leased(read))
    }

    fn last(&self) -> Snapshot {
        self.known.lock().snapshot.clone()
    }

    fn report(&self) -> ClusterReport {
        self.tell(&self.addresses)
    }

    fn commit(&self, base: &Snapshot, proposal: Proposal) -> Result<(), RemoteError> {
        let read = base.lease().and_then(|lease| lease.downcast_ref::<OpenRead>());
        let read = read.ok_or_else(|| RemoteError::Unavailable("the read is over".into()))?;
        let parts = self.parts(base, &proposal.changes)?;
        let reads = match proposal.everything || proposal.reads.len() > READ_KEYS_MAX {
            true => vec![EVERYTHING],
            false => proposal.reads,
        };
        let commit =
            Commit { base: Some(read.number), reads, writes: proposal.writes, parts, ..Commit::default() };
        match self.handle.commit(commit, COMMIT) {
            Ok(_) => Ok(()),
            Err(Failure::Refused(Refusal::TooLarge)) => Err(RemoteError::TooLarge),
            Err(Failure::Refused(refusal)) => {
                let what = match refusal {
                    Refusal::Epoch => "the members of the cluster have changed",
                    Refusal::Busy => "too much is waiting",
                    _ => "what it read has been written meanwhile",
                };
                Err(RemoteError::Conflict(what))
            }
            Err(Failure::Unknown) => Err(RemoteError::Unanswered),
        }
    }
}
