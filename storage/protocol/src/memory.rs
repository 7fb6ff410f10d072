//! Truth in memory: the model that others are measured against. Each call is one step, so it is serializable; who drives it may lose answers.

use crate::limits::LOG_PAGE_BYTES;
use crate::record::{Bytes, CommitId, Proposed, Record, Verdict};
use crate::rows::{Routed, Rows};
use crate::rules::Rules;
use crate::truth::{Following, LogCut, LogPage, PlacedCommit, Route, Sequence, ToldUsage, Truth, Unknown};
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
    places: Vec<CommitId>,
    /// The last group of a gate, by epoch and seat.
    groups: BTreeMap<(u64, usize), u64>,
    next_chunk: u32,
    /// What the log begins with: a place, and the records that stand for all up to it. Commits below are kept for those who look at the model; no call tells them.
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
    /// The commit at a place, from 1 on.
    pub fn placed(&self, place: u64) -> Option<&Arc<Record>> {
        let id = self.places.get(usize::try_from(place.checked_sub(1)?).ok()?)?;
        Some(&self.log[id].0)
    }
    /// All commits, by epoch, seat and counter, with their places.
    pub fn commits(&self) -> impl Iterator<Item = (&Arc<Record>, Option<u64>)> {
        self.log.values().map(|(record, place)| (record, *place))
    }
    /// Cuts the log at a place by itself: neighbours of the base that are of one shard alone are made one.
    pub fn fold(&mut self, base: u64) {
        if base <= self.base {
            return;
        }
        let mut records: Vec<Arc<Record>> = Vec::new();
        for place in 1..=base {
            let Some(record) = self.placed(place) else { return };
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
    /// Places of the base's records, the last one is the base.
    fn base_places(&self) -> impl Iterator<Item = (u64, &Arc<Record>)> {
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

    /// What became of a transaction whose group was carried out before, or never will be.
    fn past(&self, proposed: &Proposed, otherwise: Verdict) -> Verdict {
        let known = self.log.contains_key(&CommitId::of(&proposed.record.stamp));
        if known { Verdict::Committed } else { otherwise }
    }
}

impl Truth for MemoryTruth {
    fn state(&mut self) -> Result<(u64, u64), Unknown> {
        Ok((self.epoch, self.places.len() as u64))
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

    fn unplaced(&mut self, limit: usize) -> Result<(u64, Vec<Stamp>), Unknown> {
        let mut counts: BTreeMap<(u64, usize), usize> = BTreeMap::new();
        let open = self.log.iter().filter(|(id, (_, place))| id.epoch < self.epoch && place.is_none());
        let within = open.filter(|(id, _)| {
            let count = counts.entry((id.epoch, id.seat)).or_default();
            *count += 1;
            *count <= limit
        });
        let stamps = within.map(|(_, (record, _))| record.stamp.clone()).collect();
        Ok((self.places.len() as u64, stamps))
    }

    fn place(&mut self, epoch: u64, first: u64, commits: &[CommitId]) -> Result<bool, Unknown> {
        let new = |id: &CommitId| self.log.get(id).is_some_and(|(_, place)| place.is_none());
        if epoch == self.epoch && first == self.places.len() as u64 + 1 && commits.iter().all(new) {
            for id in commits {
                self.places.push(*id);
                if let Some((_, place)) = self.log.get_mut(id) {
                    *place = Some(self.places.len() as u64);
                }
            }
        }
        // Of a commit that is cut off only that is known: it had a place, up to the base.
        let is_cut = |id: &CommitId| {
            let place = self.log.get(id).and_then(|(_, place)| *place);
            self.rules.places_outlive_cuts
                && epoch == self.epoch
                && place.is_some_and(|place| place <= self.base)
        };
        let has_place = |(place, id): (u64, &CommitId)| match place <= self.base {
            true => is_cut(id),
            false => self.log.get(id).is_some_and(|(_, own)| *own == Some(place)),
        };
        Ok((first..).zip(commits).all(has_place))
    }

    fn log(&mut self, shard: Option<u16>, after: u64, limit: usize) -> Result<LogPage, Unknown> {
        let commits = (1..).zip(&self.places).skip(self.base as usize);
        let commits = commits.map(|(place, id)| (place, &self.log[id].0));
        let is_wanted = |(place, record): &(u64, &Arc<Record>)| {
            *place > after && shard.is_none_or(|shard| record.touches(shard))
        };
        // A page of the base ends with it.
        let mut of_base = self.base_places().filter(is_wanted).peekable();
        let ends = if of_base.peek().is_some() { self.base } else { u64::MAX };
        let wanted = of_base.chain(commits.filter(is_wanted)).take_while(|(place, _)| *place <= ends);
        let mut bytes = 0;
        let fits = |(_, record): &(u64, &Arc<Record>)| {
            let had = bytes;
            bytes += record.bytes();
            had < LOG_PAGE_BYTES
        };
        // It has no clock.
        let placed =
            |(place, record): (u64, &Arc<Record>)| PlacedCommit { place, at_us: 0, record: record.clone() };
        Ok(LogPage { base: self.base, commits: wanted.take(limit).take_while(fits).map(placed).collect() })
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
    fn follows(&mut self, name: &str, place: u64) -> Result<(), Unknown> {
        self.followers.insert(name.into(), place);
        Ok(())
    }
    fn followers(&mut self) -> Result<Vec<Following>, Unknown> {
        let following =
            |(name, place): (&String, &u64)| Following { name: name.clone(), place: *place, silent_us: 0 };
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
        let behind = self.followers.iter().find(|(_, place)| **place < base);
        let made = self.making.get(maker).filter(|(at, all)| *at == base && all.len() as u64 == records);
        let is_next = base > self.base && base <= self.places.len() as u64 && records <= base;
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
        let present = self.log.iter().filter(|(id, (_, place))| id.epoch == self.epoch || place.is_none());
        newest.extend(present.map(|(id, _)| ((id.epoch, id.seat), *id)));
        Ok((self.places.len() as u64, newest.into_values().collect()))
    }
    fn place_of(&mut self, commits: &[CommitId]) -> Result<Option<u64>, Unknown> {
        let places = commits.iter().map(|id| self.log.get(id).and_then(|(_, place)| *place));
        Ok(places.collect::<Option<Vec<u64>>>().map(|places| places.into_iter().max().unwrap_or(0)))
    }
    fn routes(&mut self) -> Result<Vec<Route>, Unknown> {
        self.placement()
    }
}

#[cfg(test)]
mod tests;
