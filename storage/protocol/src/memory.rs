//! Truth in memory: the model that others are compared with. Each call is one step, so it is serializable; its driver may lose answers.

use crate::limits::LOG_PAGE_BYTES;
use crate::record::{Bytes, CommitId, Proposed, Record, Verdict};
use crate::rows::{Routed, Rows};
use crate::rules::Rules;
use crate::truth::{Following, LogCut, LogPage, Route, Sequence, ToldUsage, Truth, Unknown, VersionedCommit};
use order::Stamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tables.
#[derive(Clone, Debug, Default)]
pub struct MemoryTruth {
    rules: Rules,
    epoch: u64,
    rows: Rows,
    /// The epoch that the rows are of: those of an earlier one come before everything.
    rows_epoch: u64,
    log: BTreeMap<CommitId, (Arc<Record>, Option<u64>)>,
    commit_versions: Vec<CommitId>,
    /// The last group of a gate, by epoch and seat.
    groups: BTreeMap<(u64, usize), u64>,
    next_chunk: u32,
    /// The base of the log: a commit version, and the records that stand for all up to it. Commits below are kept for tests of the model; no call
    /// returns them.
    base: u64,
    base_records: Vec<Arc<Record>>,
    /// Records of a base in the making, by its maker.
    making: BTreeMap<String, (u64, Vec<Arc<Record>>)>,
    followers: BTreeMap<String, u64>,
    usage: BTreeMap<String, Vec<u8>>,
    now_us: u64,
}

impl MemoryTruth {
    /// Epoch 0, with chunks that are there from the beginning.
    pub fn new(rules: Rules, chunks: &[(u32, u16)]) -> MemoryTruth {
        let mut rows = Rows { reads_are_rows: rules.reads_are_rows, ..Rows::default() };
        for (chunk, owner) in chunks {
            let route = Route { chunk: *chunk, owner: *owner, version: 0 };
            rows.routes.insert(*chunk, Routed { route, moved: None });
        }
        let next_chunk = chunks.iter().map(|(chunk, _)| chunk + 1).max().unwrap_or(0);
        MemoryTruth { rules, rows, next_chunk, ..MemoryTruth::default() }
    }
    /// The commit at a version, from 1 on.
    pub fn versioned(&self, commit_version: u64) -> Option<&Arc<Record>> {
        let id = self.commit_versions.get(usize::try_from(commit_version.checked_sub(1)?).ok()?)?;
        Some(&self.log[id].0)
    }
    /// All commits, by epoch, seat and counter, with their commit versions.
    pub fn commits(&self) -> impl Iterator<Item = (&Arc<Record>, Option<u64>)> {
        self.log.values().map(|(record, commit_version)| (record, *commit_version))
    }
    /// Cuts the log at a commit version by itself: neighbours of the base that are of one shard alone are made one.
    pub fn fold(&mut self, base: u64) {
        if base <= self.base {
            return;
        }
        let mut records: Vec<Arc<Record>> = Vec::new();
        for commit_version in 1..=base {
            let Some(record) = self.versioned(commit_version) else { return };
            match (records.last_mut(), &record.parts[..]) {
                (Some(last), [(shard, part)]) if last.parts.len() == 1 && last.parts[0].0 == *shard => {
                    let both: Bytes = [&*last.parts[0].1, &**part].concat().into();
                    *last = Arc::new(Record { stamp: record.stamp.clone(), parts: vec![(*shard, both)] });
                }
                _ => records.push(record.clone()),
            }
        }
        (self.base, self.base_records) = (base, records);
    }
    /// Commit versions of the base's records, the last one is the base.
    fn base_versions(&self) -> impl Iterator<Item = (u64, &Arc<Record>)> {
        (self.base + 1 - self.base_records.len() as u64..).zip(&self.base_records)
    }
    /// Its clock stands still but for this.
    pub fn set_clock(&mut self, now_us: u64) {
        self.now_us = now_us;
    }
    /// Rows of keys.
    pub fn key_rows(&self) -> usize {
        self.rows.keys.len()
    }

    /// The verdict for a transaction whose group was carried out before, or never will be.
    fn past(&self, proposed: &Proposed, otherwise: Verdict) -> Verdict {
        let known = self.log.contains_key(&CommitId::of(&proposed.record.stamp));
        if known { Verdict::Committed } else { otherwise }
    }
}

impl Truth for MemoryTruth {
    fn state(&mut self) -> Result<(u64, u64), Unknown> {
        Ok((self.epoch, self.commit_versions.len() as u64))
    }

    fn commit(
        &mut self,
        epoch: u64,
        seat: usize,
        group: u64,
        proposed: &[Proposed],
    ) -> Result<Vec<Verdict>, Unknown> {
        if epoch != self.epoch && (self.rules.commits_read_epoch || epoch > self.epoch) {
            return Ok(proposed.iter().map(|one| self.past(one, Verdict::Fenced)).collect());
        }
        let last = self.groups.entry((epoch, seat)).or_default();
        if *last >= group {
            return Ok(proposed.iter().map(|one| self.past(one, Verdict::Again)).collect());
        }
        *last = group;
        if self.rows_epoch < epoch {
            self.rows.begin();
            self.rows_epoch = epoch;
        }
        let verdicts: Vec<Verdict> = proposed.iter().map(|one| self.rows.verdict(one)).collect();
        for (one, _) in proposed.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == Verdict::Committed)
        {
            let record = Arc::new(one.record.clone());
            self.log.insert(CommitId::of(&record.stamp), (record, None));
        }
        self.rows.changed_routes.clear();
        Ok(verdicts)
    }

    fn bump(&mut self, from: u64) -> Result<u64, Unknown> {
        self.epoch += u64::from(self.epoch == from);
        Ok(self.epoch)
    }

    fn unversioned(&mut self, limit: usize) -> Result<(u64, Vec<Stamp>), Unknown> {
        let mut counts: BTreeMap<(u64, usize), usize> = BTreeMap::new();
        let open = self
            .log
            .iter()
            .filter(|(id, (_, commit_version))| id.epoch < self.epoch && commit_version.is_none());
        let within = open.filter(|(id, _)| {
            let count = counts.entry((id.epoch, id.seat)).or_default();
            *count += 1;
            *count <= limit
        });
        let stamps = within.map(|(_, (record, _))| record.stamp.clone()).collect();
        Ok((self.commit_versions.len() as u64, stamps))
    }

    fn assign_versions(&mut self, epoch: u64, first: u64, commits: &[CommitId]) -> Result<bool, Unknown> {
        let new =
            |id: &CommitId| self.log.get(id).is_some_and(|(_, commit_version)| commit_version.is_none());
        if epoch == self.epoch && first == self.commit_versions.len() as u64 + 1 && commits.iter().all(new) {
            for id in commits {
                self.commit_versions.push(*id);
                if let Some((_, commit_version)) = self.log.get_mut(id) {
                    *commit_version = Some(self.commit_versions.len() as u64);
                }
            }
        }
        // Of a commit that is cut off only that is known: it had a commit version, up to the base.
        let is_cut = |id: &CommitId| {
            let commit_version = self.log.get(id).and_then(|(_, commit_version)| *commit_version);
            self.rules.versions_outlive_cuts
                && epoch == self.epoch
                && commit_version.is_some_and(|commit_version| commit_version <= self.base)
        };
        let has_version = |(commit_version, id): (u64, &CommitId)| match commit_version <= self.base {
            true => is_cut(id),
            false => self.log.get(id).is_some_and(|(_, own)| *own == Some(commit_version)),
        };
        Ok((first..).zip(commits).all(has_version))
    }

    fn log(&mut self, shard: Option<u16>, after: u64, limit: usize) -> Result<LogPage, Unknown> {
        let commits = (1..).zip(&self.commit_versions).skip(self.base as usize);
        let commits = commits.map(|(commit_version, id)| (commit_version, &self.log[id].0));
        let is_wanted = |(commit_version, record): &(u64, &Arc<Record>)| {
            *commit_version > after && shard.is_none_or(|shard| record.touches(shard))
        };
        // A page of the base ends with it.
        let mut of_base = self.base_versions().filter(is_wanted).peekable();
        let ends = if of_base.peek().is_some() { self.base } else { u64::MAX };
        let wanted = of_base
            .chain(commits.filter(is_wanted))
            .take_while(|(commit_version, _)| *commit_version <= ends);
        let mut bytes = 0;
        let fits = |(_, record): &(u64, &Arc<Record>)| {
            let had = bytes;
            bytes += record.bytes();
            had < LOG_PAGE_BYTES
        };
        // It has no clock.
        let versioned = |(commit_version, record): (u64, &Arc<Record>)| VersionedCommit {
            commit_version,
            at_us: 0,
            record: record.clone(),
        };
        Ok(LogPage { base: self.base, commits: wanted.take(limit).take_while(fits).map(versioned).collect() })
    }

    fn lease(&mut self, shard: u16, count: u32) -> Result<u32, Unknown> {
        let first = self.next_chunk;
        self.next_chunk += if self.rules.leases_are_exclusive { count } else { 0 };
        for chunk in first..first + count {
            let route = Route { chunk, owner: shard, version: 0 };
            self.rows.routes.insert(chunk, Routed { route, moved: None });
        }
        Ok(first)
    }

    fn placement(&mut self) -> Result<Vec<Route>, Unknown> {
        Ok(self.rows.routes.values().map(|one| one.route).collect())
    }

    fn forget(&mut self, epoch: u64, frontier: &[u64]) -> Result<(), Unknown> {
        if epoch == self.epoch && epoch == self.rows_epoch {
            self.rows.keys.retain(|_, row| !row.is_below(frontier));
        }
        Ok(())
    }
}

impl Sequence for MemoryTruth {
    fn after(&mut self, after: u64, limit: usize) -> Result<LogPage, Unknown> {
        self.log(None, after, limit)
    }
    fn follows(&mut self, name: &str, commit_version: u64) -> Result<(), Unknown> {
        self.followers.insert(name.into(), commit_version);
        Ok(())
    }
    fn followers(&mut self) -> Result<Vec<Following>, Unknown> {
        let following = |(name, commit_version): (&String, &u64)| Following {
            name: name.clone(),
            commit_version: *commit_version,
            silent_us: 0,
        };
        // Time stands still here: all are kept.
        Ok(self.followers.iter().map(following).collect())
    }
    fn put_base(
        &mut self,
        maker: &str,
        base: u64,
        number: u64,
        parts: &[(u16, Bytes)],
    ) -> Result<(), Unknown> {
        let making = self.making.entry(maker.into()).or_default();
        if number == 1 {
            *making = (base, Vec::new());
        }
        let stamp = Stamp::from_parts(0, 0, [number].into()).ok_or(Unknown)?;
        if making.0 == base && making.1.len() as u64 + 1 == number {
            making.1.push(Arc::new(Record { stamp, parts: parts.to_vec() }));
        }
        Ok(())
    }
    fn cut(&mut self, maker: &str, base: u64, records: u64) -> Result<LogCut, Unknown> {
        let behind = self.followers.iter().find(|(_, commit_version)| **commit_version < base);
        let made = self.making.get(maker).filter(|(at, all)| *at == base && all.len() as u64 == records);
        let is_next = base > self.base && base <= self.commit_versions.len() as u64 && records <= base;
        let Some((_, made)) = made.filter(|_| is_next) else { return Ok(LogCut::Outdated) };
        if let Some((name, _)) = behind {
            return Ok(LogCut::NeededBy(name.clone()));
        }
        (self.base, self.base_records) = (base, made.clone());
        self.making.clear();
        Ok(LogCut::Done)
    }
    fn tell_usage(&mut self, gate: &str, usage: &[u8]) -> Result<ToldUsage, Unknown> {
        self.usage.insert(gate.into(), usage.to_vec());
        let others = self.usage.iter().filter(|(name, _)| *name != gate);
        let others = others.map(|(name, usage)| (name.clone(), usage.clone())).collect();
        Ok(ToldUsage { now_us: self.now_us, others })
    }
    fn delete_below_base(&mut self) -> Result<bool, Unknown> {
        Ok(false)
    }
    fn newest(&mut self) -> Result<(u64, Vec<CommitId>), Unknown> {
        let mut newest: BTreeMap<(u64, usize), CommitId> = BTreeMap::new();
        // As others do, it has forgotten who commits in epochs that are over.
        let present = self
            .log
            .iter()
            .filter(|(id, (_, commit_version))| id.epoch == self.epoch || commit_version.is_none());
        newest.extend(present.map(|(id, _)| ((id.epoch, id.seat), *id)));
        Ok((self.commit_versions.len() as u64, newest.into_values().collect()))
    }
    fn version_of(&mut self, commits: &[CommitId]) -> Result<Option<u64>, Unknown> {
        let commit_versions =
            commits.iter().map(|id| self.log.get(id).and_then(|(_, commit_version)| *commit_version));
        Ok(commit_versions
            .collect::<Option<Vec<u64>>>()
            .map(|commit_versions| commit_versions.into_iter().max().unwrap_or(0)))
    }
    fn routes(&mut self) -> Result<Vec<Route>, Unknown> {
        self.placement()
    }
}

#[cfg(test)]
mod tests;
