//! Assertions of the simulator, beside the checker of the history.
//!
//! The prefix law: at each pinned snapshot what is below its commit version is not after the read, and what is above is not before it; each shard's order agrees
//! with the commit versions of truth. Every snapshot sees whole transactions. What was acknowledged is in the log. What is published is written.
//! What is created is new.

use super::toy::{Change, decode, queried};
use histories::history::{Observed, Operation};
use order::Stamp;
use order::kronos::EventOrder;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use tanglewood_protocol::{Bytes, CommitId, MemoryTruth, Node, Oracle, Record};

/// Times that the end waits for the scribe.
const WAITS_MAX: u64 = 100;

#[derive(Default)]
pub(super) struct Verifier {
    executed: BTreeMap<Node, Vec<Stamp>>,
    asked: HashMap<u64, Vec<Vec<u32>>>,
    acknowledged: Vec<CommitId>,
    created: Vec<u32>,
    published: BTreeMap<u64, CommitId>,
    broken: BTreeSet<String>,
    waits: u64,
    pub(super) counts: BTreeMap<&'static str, u64>,
}

impl Verifier {
    pub(super) fn new(shards: u16) -> Verifier {
        let executed = (0..shards).map(|shard| (Node::Shard(shard), Vec::new())).collect();
        Verifier { executed, ..Verifier::default() }
    }
    pub(super) fn count(&mut self, what: &'static str) {
        self.add(what, 1);
    }
    pub(super) fn add(&mut self, what: &'static str, count: u64) {
        *self.counts.entry(what).or_default() += count;
    }
    pub(super) fn breaks(&mut self, what: impl Into<String>) {
        self.broken.insert(what.into());
    }
    pub(super) fn waits(&mut self) -> bool {
        self.waits += 1;
        self.waits < WAITS_MAX
    }
    pub(super) fn asked(&mut self, request: u64, queries: &[(u16, Bytes)]) {
        self.asked.insert(request, queries.iter().map(|(_, query)| queried(query)).collect());
    }
    pub(super) fn take_asked(&mut self, request: u64) -> Vec<Vec<u32>> {
        self.asked.remove(&request).unwrap_or_default()
    }
    pub(super) fn acknowledged(&mut self, commit: CommitId) {
        self.acknowledged.push(commit);
    }
    pub(super) fn creates(&mut self, object: u32) {
        if self.created.contains(&object) {
            self.breaks(format!("object {object} is created twice"));
        }
        self.created.push(object);
    }
    pub(super) fn created(&self) -> &[u32] {
        &self.created
    }

    pub(super) fn reset(&mut self, node: Node) {
        self.executed.insert(node, Vec::new());
    }
    /// What a shard has executed so far.
    pub(super) fn executed_by(&self, node: Node) -> Vec<Stamp> {
        self.executed.get(&node).cloned().unwrap_or_default()
    }
    /// A shard begins again with what it had executed then.
    pub(super) fn restore(&mut self, node: Node, executed: Vec<Stamp>) {
        self.executed.insert(node, executed);
    }
    pub(super) fn executed(&mut self, node: Node, commit_version: u64, record: &Record) {
        let all = self.executed.entry(node).or_default();
        all.push(record.stamp.clone());
        let count = all.len();
        if count as u64 != commit_version {
            self.breaks(format!("{node:?} executes version {commit_version} after {} others", count - 1));
        }
    }

    /// A snapshot at a commit version is a prefix of what a stamp sees.
    pub(super) fn pinned(&mut self, node: Node, read: &Stamp, commit_version: u64, oracle: &Oracle) {
        let all = &self.executed[&node];
        if commit_version as usize > all.len() {
            self.breaks(format!("{node:?} pins version {commit_version} of {}", all.len()));
            return;
        }
        let same = |(_, stamp): &(usize, &Stamp)| stamp.epoch() == read.epoch();
        let near = all.iter().enumerate().rev().filter(same).take(12);
        let (positions, pairs): (Vec<usize>, Vec<(Stamp, Stamp)>) =
            near.map(|(at, stamp)| (at, (stamp.clone(), read.clone()))).unzip();
        // What is forgotten, or of an epoch that is over, was looked at by others.
        let Ok(known) = oracle.machine().query_stamps(&pairs) else { return };
        for (at, order) in positions.into_iter().zip(known) {
            let below = (at as u64) < commit_version;
            if below && order != EventOrder::Before || !below && order != EventOrder::After {
                let stamp = &self.executed[&node][at];
                self.breaks(format!(
                    "prefix law: {node:?} pins {commit_version} for {read}, and version {} ({stamp}) is {order:?}",
                    at + 1
                ));
            }
        }
    }

    pub(super) fn published(&mut self, commit_version: u64, commit: CommitId, truth: &MemoryTruth) {
        self.count("published");
        if self.published.get(&commit_version).is_some_and(|other| *other != commit) {
            self.breaks(format!("version {commit_version} is published twice, as two commits"));
        }
        self.published.insert(commit_version, commit);
        if truth.versioned(commit_version).map(|record| CommitId::of(&record.stamp)) != Some(commit) {
            self.breaks(format!("version {commit_version} is published and not written"));
        }
    }

    /// All values as of a cluster version.
    pub(super) fn cut(&self, commit_version: u64, truth: &MemoryTruth) -> Option<BTreeMap<u32, Vec<i64>>> {
        let mut state: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        for commit_version in 1..=commit_version {
            for (_, part) in &truth.versioned(commit_version)?.parts {
                for change in decode(part) {
                    if let Change::Put(object, value) = change {
                        state.entry(object).or_default().push(value);
                    }
                }
            }
        }
        Some(state)
    }

    /// What is wrong, when all is over.
    pub(super) fn broken(&mut self, truth: &MemoryTruth, observed: &[Observed]) -> Vec<String> {
        let commit_versions: HashMap<CommitId, u64> = truth
            .commits()
            .filter_map(|(record, commit_version)| Some((CommitId::of(&record.stamp), commit_version?)))
            .collect();
        let orders = self.executed.clone();
        for (node, stamps) in orders {
            let order: Vec<u64> = stamps
                .iter()
                .filter_map(|stamp| commit_versions.get(&CommitId::of(stamp)).copied())
                .collect();
            if order.windows(2).any(|pair| pair[0] >= pair[1]) {
                self.breaks(format!("{node:?} executed in the order of places {order:?}"));
            }
        }
        let logged: HashSet<CommitId> =
            truth.commits().map(|(record, _)| CommitId::of(&record.stamp)).collect();
        if let Some(lost) = self.acknowledged.iter().find(|one| !logged.contains(one)) {
            self.breaks(format!("{lost:?} was acknowledged and is not in the log"));
        }
        self.whole(truth, observed);
        std::mem::take(&mut self.broken).into_iter().collect()
    }

    /// Of what a transaction put into lists that a snapshot reads, it sees all or nothing.
    fn whole(&mut self, truth: &MemoryTruth, observed: &[Observed]) {
        let mut written: Vec<Vec<(u32, i64)>> = Vec::new();
        for (record, _) in truth.commits() {
            let changes = record.parts.iter().flat_map(|(_, part)| decode(part));
            let puts = changes.filter_map(|change| match change {
                Change::Put(object, value) if !super::toy::is_register(object) => Some((object, value)),
                _ => None,
            });
            written.push(puts.collect());
        }
        written.retain(|puts| puts.len() > 1);
        for (number, one) in observed.iter().enumerate() {
            let lists: HashMap<u32, &Vec<i64>> = one
                .operations
                .iter()
                .filter_map(|operation| match operation {
                    Operation::ReadList(object, seen) => Some((*object, seen)),
                    _ => None,
                })
                .collect();
            for puts in &written {
                let seen = puts.iter().filter_map(|(object, value)| Some(lists.get(object)?.contains(value)));
                let (yes, no): (Vec<bool>, Vec<bool>) = seen.partition(|seen| *seen);
                if !yes.is_empty() && !no.is_empty() {
                    self.breaks(format!("transaction {number} sees a part of {puts:?}"));
                }
            }
        }
    }
}
