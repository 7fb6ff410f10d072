//! The state of a cluster, as one gate sees it: the rows of `SHOW CLUSTER` and `SHOW ORDER`.

use super::ask::content;
use super::figures::decode;
use super::gate::Shards;
use super::queries::COUNTS;
use crate::addresses::Addresses;
use protocol::{Bytes, GateCounts, GateSeat, ShardCounts};
use std::time::Duration;
use transact::{ClusterProcess, ClusterReport};
use world::clock;

/// Shards are waited for so long.
const ANSWER: Duration = Duration::from_secs(1);

impl Shards {
    /// The counters of each shard, and how long the answers took; none where one does not answer.
    fn counts_of_shards(&self) -> Option<(Vec<(u16, ShardCounts)>, Duration)> {
        let began_ns = clock::monotonic_ns();
        let queries = (0..self.shards).map(|shard| (shard, Bytes::from([COUNTS]))).collect();
        let (read, answers) = self.handle.read(queries, ANSWER).ok()?;
        self.handle.close(read);
        let took = Duration::from_nanos(clock::monotonic_ns() - began_ns);
        let counts = |(shard, answer): &(u16, Bytes)| Some((*shard, decode(content(answer).ok()?)?));
        Some((answers.iter().map(counts).collect::<Option<_>>()?, took))
    }

    /// See [`transact::Remote::report`].
    pub(super) fn tell(&self, addresses: &Addresses) -> ClusterReport {
        let (seat, own) = (self.handle.seat(), self.handle.counts());
        let counts = self.counts_of_shards();
        let epoch = seat.as_ref().map(|seat| seat.epoch);
        let role = |role, number: usize, address: &String| ClusterProcess {
            role,
            number: number as u16,
            address: Some(address.clone()),
            ..ClusterProcess::default()
        };
        let mut processes = Vec::new();
        for (number, address) in addresses.gates.iter().enumerate() {
            let takes_part = seat.as_ref().is_some_and(|seat| seat.gates.contains(&(number as u16)));
            let is_own = number == usize::from(self.number);
            let state = match (&seat, takes_part) {
                (Some(seat), true) if seat.is_open => "takes part",
                (Some(_), true) => "waits for the epoch to open",
                _ => "takes no part",
            };
            processes.push(ClusterProcess {
                state: Some(if is_own { format!("{state}, and answers this") } else { state.to_string() }),
                epoch: epoch.filter(|_| takes_part),
                commits: is_own.then_some(own.commits),
                ..role("gate", number, address)
            });
        }
        for (number, address) in addresses.shards.iter().enumerate() {
            let told = counts.as_ref().and_then(|(all, took)| {
                let counts = all.iter().find(|(shard, _)| usize::from(*shard) == number)?.1;
                Some((counts, *took))
            });
            let state = told.map_or_else(
                || "does not answer".to_string(),
                |(_, took)| format!("answered within {} us", took.as_micros()),
            );
            processes.push(ClusterProcess {
                state: Some(state),
                epoch: epoch.filter(|_| told.is_some()),
                commits: told.map(|(counts, _)| counts.executed),
                questions: told.map(|(counts, _)| counts.questions),
                ..role("shard", number, address)
            });
        }
        processes.extend(
            addresses.oracles.iter().enumerate().map(|(number, address)| role("oracle", number, address)),
        );
        processes.extend([role("scribe", 0, &addresses.scribe), role("keeper", 0, &addresses.keeper)]);
        ClusterReport {
            processes,
            order: order(&own, seat.as_ref(), counts.as_ref().map(|(all, _)| &all[..])),
        }
    }
}

/// Figures of the order, from one gate and from all shards, if they answered.
fn order(
    own: &GateCounts,
    seat: Option<&GateSeat>,
    shards: Option<&[(u16, ShardCounts)]>,
) -> Vec<(&'static str, u64, &'static str)> {
    let sum = |figure: fn(&ShardCounts) -> u64| {
        shards.iter().copied().flatten().map(|(_, counts)| figure(counts)).sum::<u64>()
    };
    vec![
        ("commits", own.commits, "commits of this gate"),
        ("groups", own.groups, "groups of them, each one transaction of the trusted database"),
        ("late", own.late, "transactions of this gate that were stamped anew"),
        ("reads", own.reads, "snapshots that this gate read"),
        ("readStamps", own.read_stamps, "stamps for them: reads that come together share one"),
        ("announcements", own.announcements, "messages in which this gate told others its clock"),
        ("nops", own.nops, "messages of this gate to shards that nothing came before them"),
        ("tauMicros", seat.map_or(0, |seat| seat.tau_us), "time between announcements, in microseconds"),
        (
            "executed",
            sum(|counts| counts.executed),
            "records that shards carried out, each counted at every shard that it touches",
        ),
        ("questions", sum(|counts| counts.questions), "questions of shards to the oracle"),
        ("pairs", sum(|counts| counts.pairs), "pairs in them, which vectors left open"),
        ("readPairs", sum(|counts| counts.read_pairs), "of these, pairs of a commit and a read"),
        ("wants", sum(|counts| counts.wants), "questions of shards to gates, for what came before"),
    ]
}
