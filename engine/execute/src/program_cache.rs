//! Results of node programs, cached until their inputs change (Weaver, §4.5).
//!
//! Idea: a result is cached with the watch set of all that the program read. A call with the same program, start and parameters gets it at each
//! snapshot at which the watch set holds; a commit that changes one of its vertices or edges ends it.
//! Invariants: a reader who sees a part of the graph only, or reads uncommitted changes, neither gets nor stores a result. A result is bound to the
//! version of its program. All results together have at most [`CACHED_BYTES_MAX`] bytes, and each is charged to the tenant that stored it; the least
//! recently used is evicted first.
//! Cost: a hit is a look-up under a short lock, and its rows. A call that stores its result records its reads, and judges them once: so results of
//! calls that mostly end before their first hit are seldom stored (see `program_worth`).

use crate::limits::{CACHED_BYTES_MAX, CACHED_CALL_BYTES_MAX, CACHED_ENTRY_BYTES, CACHED_RESULT_BYTES_MAX};
use crate::limits::{CACHED_CALL_DEPTH_MAX, CACHED_KINDS_MAX};
use crate::program_worth::Worth;
use dataflow::{AccountedBytes, TenantNo};
use model::Value;
use parking_lot::Mutex;
use programs::{KeptRows, RowLog};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use store::{EntryKind, Snapshot};
use transact::{Holding, ReadSet, WATCH_BYTES, WATCHED_KEY_BYTES, WatchSet, Watcher};

/// Makes accounts for bytes that no query holds.
pub type CacheLedger = Arc<dyn Fn(TenantNo) -> AccountedBytes + Send + Sync>;

/// Counters of the cached calls of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Cached results.
    pub entries: u64,
    /// Bytes of them, with their watch sets.
    pub bytes: u64,
    /// Calls that were answered from the cache.
    pub hits: u64,
    /// Calls that ran.
    pub misses: u64,
    /// Results that were given up since the graph or the program changed.
    pub invalidations: u64,
    /// Results that were evicted to make room.
    pub evictions: u64,
    /// Calls that could not use the cache: restricted users, own changes of a transaction, too large a call.
    pub bypasses: u64,
}

/// A call, as it is looked up: all inputs of its result beside the graph.
pub(crate) struct CachedCall {
    program: Arc<str>,
    /// The version of the program, where it was deployed.
    module: Option<Arc<[u8]>>,
    key: Arc<[u8]>,
    /// Where the program and the parameters are the same, this is: calls that begin elsewhere are like calls.
    kind: u64,
}

impl CachedCall {
    /// None if the call is too large or too deep, or if there is no such program.
    fn new(name: &str, start: &Value, parameters: &Value, snapshot: &Snapshot) -> Option<CachedCall> {
        let mut key = CallBytes::default();
        key.text(name.as_bytes());
        key.value(parameters, 0)?;
        let kind = foldhash::quality::FixedState::default().hash_one(&key.0);
        key.value(start, 0)?;
        let module = snapshot.catalog().entries().get(EntryKind::PROGRAM, name).cloned();
        let is_there = module.is_some() || programs::is_built_in(name);
        is_there.then(|| CachedCall { program: name.into(), module, key: key.0.into(), kind })
    }
    fn is_of(&self, module: Option<&Arc<[u8]>>) -> bool {
        match (&self.module, module) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own == other,
            (None, None) => true,
            _ => false,
        }
    }
}

/// Values as bytes: equal bytes are the same values of the same types.
#[derive(Default)]
struct CallBytes(Vec<u8>);

impl CallBytes {
    fn text(&mut self, text: &[u8]) {
        self.0.extend((text.len() as u64).to_le_bytes());
        self.0.extend(text);
    }
    fn value(&mut self, value: &Value, depth: usize) -> Option<()> {
        let mut word = |tag: u8, word: u64| {
            self.0.push(tag);
            self.0.extend(word.to_le_bytes());
        };
        match value {
            Value::Null => self.0.push(0),
            Value::Bool(is_so) => word(1, u64::from(*is_so)),
            Value::Int(number) => word(2, *number as u64),
            Value::Float(number) => word(3, number.to_bits()),
            Value::Vertex(vertex) => word(4, vertex.0),
            Value::String(text) => {
                self.0.push(5);
                self.text(text.as_bytes());
            }
            Value::Bytes(bytes) => {
                self.0.push(6);
                self.text(bytes);
            }
            Value::List(list) => {
                word(7, list.len() as u64);
                for value in list.iter() {
                    self.within(depth)?;
                    self.value(value, depth + 1)?;
                }
            }
            Value::Map(map) => {
                word(8, map.len() as u64);
                for (name, value) in map.iter() {
                    self.within(depth)?;
                    self.text(name.as_bytes());
                    self.value(value, depth + 1)?;
                }
            }
            other => {
                self.0.push(9);
                self.text(format!("{other:?}").as_bytes());
            }
        }
        self.within(depth)
    }
    fn within(&self, depth: usize) -> Option<()> {
        (self.0.len() <= CACHED_CALL_BYTES_MAX && depth < CACHED_CALL_DEPTH_MAX).then_some(())
    }
}

/// Results hold at most this part of their tenant's memory: its queries need the rest.
const TENANT_PART: u64 = 4;

/// A cached result.
struct CachedResult {
    call: CachedCall,
    rows: Arc<KeptRows>,
    watched: Arc<WatchSet>,
    tenant: TenantNo,
    bytes: usize,
    /// When it was used last, by the cache's own count.
    used: u64,
    _held: AccountedBytes,
}

#[derive(Default)]
struct Results {
    by_call: HashMap<Arc<[u8]>, CachedResult>,
    by_use: BTreeMap<u64, Arc<[u8]>>,
    uses: u64,
    bytes: usize,
    by_tenant: BTreeMap<TenantNo, usize>,
    counts: BTreeMap<Arc<str>, CacheCounts>,
    worth: HashMap<u64, Worth>,
}

impl Results {
    /// The history of the results of similar calls.
    fn worth(&mut self, call: &CachedCall) -> &mut Worth {
        if self.worth.len() >= CACHED_KINDS_MAX && !self.worth.contains_key(&call.kind) {
            self.worth.clear();
        }
        self.worth.entry(call.kind).or_default()
    }
    fn count(&mut self, program: &Arc<str>) -> &mut CacheCounts {
        self.counts.entry(program.clone()).or_default()
    }
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }
    fn remove(&mut self, key: &[u8]) -> Option<CachedResult> {
        let result = self.by_call.remove(key)?;
        self.by_use.remove(&result.used);
        self.bytes -= result.bytes;
        if let Some(bytes) = self.by_tenant.get_mut(&result.tenant) {
            *bytes -= result.bytes;
        }
        let counts = self.count(&result.call.program);
        counts.entries -= 1;
        counts.bytes -= result.bytes as u64;
        debug_assert_eq!(self.by_call.len(), self.by_use.len());
        Some(result)
    }
    fn insert(&mut self, mut result: CachedResult) {
        result.used = self.next_use();
        self.by_use.insert(result.used, result.call.key.clone());
        self.bytes += result.bytes;
        *self.by_tenant.entry(result.tenant).or_default() += result.bytes;
        let counts = self.count(&result.call.program);
        counts.entries += 1;
        counts.bytes += result.bytes as u64;
        self.by_call.insert(result.call.key.clone(), result);
    }
    /// Evicts the least recently used results, until there is room for `bytes`, and then this tenant's until its own fit into its maximum with them.
    fn make_room(&mut self, bytes: usize, (tenant, tenant_max): (TenantNo, usize)) -> Vec<CachedResult> {
        let mut gone = Vec::new();
        loop {
            let is_over = self.bytes + bytes > CACHED_BYTES_MAX;
            let own = self.by_tenant.get(&tenant).copied().unwrap_or(0);
            let mut keys = self.by_use.values();
            let oldest = match is_over {
                true => keys.next(),
                false if own > 0 && own + bytes > tenant_max => {
                    keys.find(|key| self.by_call.get(*key).is_some_and(|result| result.tenant == tenant))
                }
                false => None,
            };
            let Some(oldest) = oldest.cloned() else { break };
            let Some(result) = self.evict(&oldest) else { break };
            gone.push(result);
        }
        gone
    }
    fn evict_oldest(&mut self) -> Option<CachedResult> {
        let oldest = self.by_use.values().next()?.clone();
        self.evict(&oldest)
    }
    /// Gives up a result, and counts that.
    fn evict(&mut self, key: &Arc<[u8]>) -> Option<CachedResult> {
        let result = self.remove(key)?;
        self.worth(&result.call).ended();
        let counts = self.count(&result.call.program);
        match result.watched.has_changed() {
            true => counts.invalidations += 1,
            false => counts.evictions += 1,
        }
        Some(result)
    }
}

/// The cache of a database. Results that it gives up are taken apart when its lock is free again.
pub struct ProgramCache {
    watcher: Watcher,
    ledger: CacheLedger,
    results: Mutex<Results>,
}

impl fmt::Debug for ProgramCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramCache {{ entries: {} }}", self.results.lock().by_call.len())
    }
}

impl ProgramCache {
    /// An empty cache over the commits of an engine.
    pub fn new(watcher: Watcher, ledger: CacheLedger) -> ProgramCache {
        ProgramCache { watcher, ledger, results: Mutex::default() }
    }
    /// Counters of cached calls, by program. Programs that are not in the snapshot any more are forgotten.
    pub fn counts(&self, snapshot: &Snapshot) -> Vec<(Arc<str>, CacheCounts)> {
        let entries = snapshot.catalog().entries();
        let is_there =
            |name: &str| programs::is_built_in(name) || entries.get(EntryKind::PROGRAM, name).is_some();
        let names: Vec<Arc<str>> = self.results.lock().counts.keys().cloned().collect();
        names.iter().filter(|name| !is_there(name)).for_each(|name| self.forget(name));
        let results = self.results.lock();
        results.counts.iter().map(|(name, counts)| (name.clone(), *counts)).collect()
    }
    /// The program of this name is another now, or none: its results go.
    pub fn forget(&self, program: &str) {
        let mut results = self.results.lock();
        let of_it = results.by_call.values().filter(|result| &*result.call.program == program);
        let keys: Vec<Arc<[u8]>> = of_it.map(|result| result.call.key.clone()).collect();
        let gone: Vec<_> = keys.iter().filter_map(|key| results.remove(key)).collect();
        results.counts.remove(program);
        drop(results);
        drop(gone);
    }
    /// The result of a call at this snapshot, with its watch set; or how the call is stored once it has run.
    pub(crate) fn look_up(
        self: &Arc<ProgramCache>,
        (name, start, parameters): (&str, &Value, &Value),
        snapshot: &Snapshot,
        tenant: TenantNo,
    ) -> Lookup {
        let call = match snapshot.is_committed() && !snapshot.is_restricted() {
            true => CachedCall::new(name, start, parameters, snapshot),
            false => None,
        };
        let mut results = self.results.lock();
        let Some(call) = call else {
            if let Some(counts) = results.counts.get_mut(name) {
                counts.bypasses += 1;
            }
            return Lookup::Bypass;
        };
        let mut gone = None;
        if let Some(found) = results.by_call.get(&call.key) {
            match found.watched.holding(snapshot) {
                Holding::Holds if call.is_of(found.call.module.as_ref()) => {
                    let (rows, watched) = (found.rows.clone(), found.watched.clone());
                    results.count(&call.program).hits += 1;
                    results.worth(&call).hit();
                    results.touch(&call.key);
                    return Lookup::Hit(rows, watched);
                }
                Holding::Earlier => {}
                Holding::Holds | Holding::Over => {
                    gone = results.remove(&call.key);
                    results.worth(&call).ended();
                    results.count(&call.program).invalidations += 1;
                }
            }
        }
        results.count(&call.program).misses += 1;
        let is_kept = results.worth(&call).is_kept();
        drop(results);
        drop(gone);
        if !is_kept {
            return Lookup::Bypass;
        }
        let (cache, snapshot) = (self.clone(), snapshot.clone());
        Lookup::Miss(Box::new(Storing {
            cache,
            tenant,
            snapshot,
            log: Arc::new(RowLog::within(CACHED_RESULT_BYTES_MAX)),
            reads: Arc::new(ReadSet::within(transact::WATCH_KEYS_MAX)),
            call: Mutex::new(Some(call)),
        }))
    }
    /// A result that cannot be stored is as good as one that ended at once.
    fn not_stored(&self, call: &CachedCall) {
        self.results.lock().worth(call).ended();
    }
    fn store(&self, call: CachedCall, rows: KeptRows, storing: &Storing) {
        let keys = storing.reads.len();
        let own_bytes = CACHED_ENTRY_BYTES + rows.bytes() + call.key.len();
        // With all that its keys may take, until it is known which of them others have.
        let bytes_max = own_bytes + storing.bytes();
        if bytes_max > CACHED_RESULT_BYTES_MAX || storing.reads.is_everything() {
            return self.not_stored(&call);
        }
        let mut held = (self.ledger)(storing.tenant);
        // Queries of the tenant need memory as well.
        let tenant_max = usize::try_from(held.bytes_max() / TENANT_PART).unwrap_or(usize::MAX);
        if bytes_max > tenant_max {
            return self.not_stored(&call);
        }
        let of_tenant = (storing.tenant, tenant_max);
        let gone = self.results.lock().make_room(bytes_max, of_tenant);
        drop(gone);
        // Where all results together watch too many keys, those that were used longest ago go.
        while self.watcher.is_full(keys) {
            let Some(gone) = self.results.lock().evict_oldest() else { break };
            drop(gone);
        }
        let has_room = held.set(bytes_max as u64).is_ok();
        let watched = if has_room { self.watcher.watch(&storing.reads, &storing.snapshot) } else { None };
        let Some(watched) = watched else { return self.not_stored(&call) };
        let bytes = own_bytes + watched.bytes();
        if held.set(bytes as u64).is_err() {
            return self.not_stored(&call);
        }
        let (rows, watched) = (Arc::new(rows), Arc::new(watched));
        let tenant = storing.tenant;
        let result = CachedResult { call, rows, watched, tenant, bytes, used: 0, _held: held };
        let mut results = self.results.lock();
        let mut gone = results.make_room(bytes, of_tenant);
        gone.extend(results.remove(&result.call.key));
        results.insert(result);
        debug_assert!(results.bytes <= CACHED_BYTES_MAX);
        drop(results);
        drop(gone);
    }
}

impl Results {
    fn touch(&mut self, key: &Arc<[u8]>) {
        let used = self.next_use();
        if let Some(result) = self.by_call.get_mut(key) {
            self.by_use.remove(&result.used);
            result.used = used;
            self.by_use.insert(used, key.clone());
        }
    }
}

/// The cache that a call may use, and the tenant that is charged for its result.
#[derive(Clone, Debug)]
pub struct CacheAccess {
    /// The cache of the database.
    pub cache: Arc<ProgramCache>,
    /// The tenant that is charged.
    pub tenant: TenantNo,
}

/// The answer of the cache for a call.
pub(crate) enum Lookup {
    /// Its result, and the watch set of that.
    Hit(Arc<KeptRows>, Arc<WatchSet>),
    /// It has to run, and is stored.
    Miss(Box<Storing>),
    /// It has to run, and is not stored.
    Bypass,
}

/// A call that runs and whose result is to be stored.
pub(crate) struct Storing {
    cache: Arc<ProgramCache>,
    tenant: TenantNo,
    snapshot: Snapshot,
    pub(crate) log: Arc<RowLog>,
    pub(crate) reads: Arc<ReadSet>,
    /// Taken by the first executor that finds the run at its end.
    call: Mutex<Option<CachedCall>>,
}

impl Storing {
    /// Stores the result at the end of the run, once. Nothing is stored if it or its watch set is too large, or has changed meanwhile.
    pub(crate) fn finish(&self) {
        let Some(call) = self.call.lock().take() else { return };
        match self.log.take() {
            Some(rows) => self.cache.store(call, rows, self),
            None => self.cache.not_stored(&call),
        }
    }
    /// Bytes of the reads that are recorded; rows are counted by the run.
    pub(crate) fn bytes(&self) -> usize {
        self.reads.len() * (WATCH_BYTES + WATCHED_KEY_BYTES)
    }
}
