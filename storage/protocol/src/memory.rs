//! Truth in memory: the model that others are measured against. Each call is one step, so it is serializable; who drives it may lose answers.
//!
//! Idea: for each key two vectors, *written* (the stamp of the last writer) and *read* (the clocks of all readers since, merged). A stamp is
//! after a writer, and after all readers, exactly if its vector is at least theirs, because clocks are only ever told whole. So one comparison
//! decides, and a stamp that is late hears the vector and is after it from then on.

use crate::record::{CommitId, Proposed, Record, Verdict};
use crate::rules::Rules;
use crate::truth::{Route, Truth, Unknown};
use order::Stamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a row is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum About {
    /// A key of the data.
    Data(u64),
    /// Where a chunk is: read by whoever touches it, written by whoever moves it.
    Route(u32),
}

/// Who touched it last, in this epoch.
#[derive(Clone, Debug)]
struct Key {
    written: Box<[u64]>,
    read: Box<[u64]>,
}

/// The tables.
#[derive(Clone, Debug, Default)]
pub struct MemoryTruth {
    rules: Rules,
    epoch: u64,
    keys: BTreeMap<About, Key>,
    /// The epoch that the keys are of: those of an earlier one come before everything.
    keys_epoch: u64,
    log: BTreeMap<CommitId, (Arc<Record>, Option<u64>)>,
    places: Vec<CommitId>,
    /// The last group of a gate, by epoch and seat.
    groups: BTreeMap<(u64, usize), u64>,
    chunks: BTreeMap<u32, Route>,
    next_chunk: u32,
}

impl MemoryTruth {
    /// Epoch 0, with chunks that are there from the beginning.
    pub fn new(rules: Rules, chunks: &[(u32, u16)]) -> MemoryTruth {
        let routes = chunks.iter().map(|(chunk, owner)| {
            let route = Route { chunk: *chunk, owner: *owner, version: 0 };
            (*chunk, route)
        });
        let next_chunk = chunks.iter().map(|(chunk, _)| chunk + 1).max().unwrap_or(0);
        MemoryTruth { rules, chunks: routes.collect(), next_chunk, ..MemoryTruth::default() }
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
    /// Rows of keys.
    pub fn key_rows(&self) -> usize {
        self.keys.len()
    }

    fn verdict(&mut self, proposed: &Proposed) -> Verdict {
        let stamp = &proposed.record.stamp;
        let moved =
            |(chunk, version): &(u32, u64)| self.chunks.get(chunk).map(|one| one.version) != Some(*version);
        if proposed.base.as_ref().is_some_and(|base| base.epoch() != stamp.epoch()) {
            return Verdict::Conflict;
        }
        if proposed.routes.iter().any(moved) {
            return Verdict::Moved;
        }
        let base = proposed.base.as_ref().map_or(&[][..], Stamp::vector);
        let newer =
            |key: &u64| self.keys.get(&About::Data(*key)).is_some_and(|row| !knows(base, &row.written));
        if proposed.reads.iter().any(newer) {
            return Verdict::Conflict;
        }
        let mut clock = stamp.vector().to_vec();
        for row in written(proposed).filter_map(|about| self.keys.get(&about)) {
            merge(&mut clock, &row.written);
            merge(&mut clock, &row.read);
        }
        for (chunk, _) in &proposed.routes {
            if let Some(row) = self.keys.get(&About::Route(*chunk)) {
                merge(&mut clock, &row.written);
            }
        }
        if clock != stamp.vector() {
            return Verdict::Late(clock.into());
        }
        self.accept(proposed);
        Verdict::Committed
    }

    fn accept(&mut self, proposed: &Proposed) {
        let stamp = &proposed.record.stamp;
        let none: Box<[u64]> = vec![0; stamp.vector().len()].into();
        let reads = proposed.reads.iter().filter(|_| self.rules.reads_are_rows).map(|key| About::Data(*key));
        for about in reads.chain(proposed.routes.iter().map(|(chunk, _)| About::Route(*chunk))) {
            let fresh = || Key { written: none.clone(), read: none.clone() };
            merge(&mut self.keys.entry(about).or_insert_with(fresh).read, stamp.vector());
        }
        for about in written(proposed) {
            self.keys.insert(about, Key { written: stamp.vector().into(), read: none.clone() });
        }
        for (chunk, to) in &proposed.moves {
            if let Some(route) = self.chunks.get_mut(chunk) {
                (route.owner, route.version) = (*to, route.version + 1);
            }
        }
        self.log.insert(CommitId::of(stamp), (Arc::new(proposed.record.clone()), None));
    }

    /// What became of a transaction whose group was carried out before, or never will be.
    fn past(&self, proposed: &Proposed, otherwise: Verdict) -> Verdict {
        let known = self.log.contains_key(&CommitId::of(&proposed.record.stamp));
        if known { Verdict::Committed } else { otherwise }
    }
}

fn written(proposed: &Proposed) -> impl Iterator<Item = About> {
    let moved = proposed.moves.iter().map(|(chunk, _)| About::Route(*chunk));
    proposed.writes.iter().map(|key| About::Data(*key)).chain(moved)
}

/// Does a vector know all that another one counts? An empty one knows nothing.
fn knows(vector: &[u64], other: &[u64]) -> bool {
    other.iter().enumerate().all(|(at, counter)| vector.get(at).copied().unwrap_or(0) >= *counter)
}

fn merge(into: &mut [u64], other: &[u64]) {
    into.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
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
        if self.keys_epoch < epoch {
            self.keys.clear();
            self.keys_epoch = epoch;
        }
        Ok(proposed.iter().map(|one| self.verdict(one)).collect())
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
        let from = usize::try_from(first).unwrap_or(usize::MAX).saturating_sub(1);
        Ok(self.places.get(from..from + commits.len()) == Some(commits))
    }

    fn log(
        &mut self,
        shard: Option<u16>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Arc<Record>)>, Unknown> {
        let placed = (1..).zip(&self.places).skip(after as usize).map(|(place, id)| (place, &self.log[id].0));
        let wanted = placed.filter(|(_, record)| shard.is_none_or(|shard| record.touches(shard)));
        Ok(wanted.take(limit).map(|(place, record)| (place, record.clone())).collect())
    }

    fn lease(&mut self, shard: u16, count: u32) -> Result<u32, Unknown> {
        let first = self.next_chunk;
        self.next_chunk += if self.rules.leases_are_exclusive { count } else { 0 };
        for chunk in first..first + count {
            self.chunks.insert(chunk, Route { chunk, owner: shard, version: 0 });
        }
        Ok(first)
    }

    fn placement(&mut self) -> Result<Vec<Route>, Unknown> {
        Ok(self.chunks.values().copied().collect())
    }

    fn forget(&mut self, epoch: u64, frontier: &[u64]) -> Result<(), Unknown> {
        if epoch == self.epoch && epoch == self.keys_epoch {
            self.keys.retain(|_, row| !(knows(frontier, &row.written) && knows(frontier, &row.read)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
