//! Commits a second through truth over PostgreSQL, with 1, 2 and 4 gates, beside what the same groups reach if PostgreSQL only appends their records.
//!
//! `cargo run --profile quick -p tanglewood-truth --example commits [SECONDS]`. Each transaction reads two and writes two of a million keys, and has a record of 200 bytes.

#[path = "../tests/common/mod.rs"]
mod common;

use common::Server;
use order::Gatekeeper;
use postgres::{Client, IsolationLevel, NoTls};
use protocol::{Proposed, Record, Truth, Verdict};
use std::sync::Mutex;
use std::time::Duration;
use tanglewood_truth::PostgresTruth;
use world::chance::Chance;
use world::clock::monotonic_ns;

const KEYS: u64 = 1_000_000;

/// Commits, groups, transactions that were not committed at once, and transactions of the database that were tried again.
type Counts = (u64, u64, u64, u64);

fn through_truth(server: &Server, epoch: u64, gates: usize, size: u64, time: Duration) -> Counts {
    let clocks: Mutex<Vec<Box<[u64]>>> = Mutex::new(vec![vec![0; gates].into(); gates]);
    let all = world::threads::in_parallel("gate", gates, |seat| {
        let mut truth = PostgresTruth::connect(&server.address()).unwrap();
        let (mut clock, mut chance) = (Gatekeeper::new(seat, gates), Chance::seeded(seat as u64));
        clock.hear(epoch, &[]);
        let (mut commits, mut groups, mut others) = (0, 0, 0);
        let end = monotonic_ns() + time.as_nanos() as u64;
        while monotonic_ns() < end {
            // What announcements do: each knows what the others had stamped before.
            clocks.lock().unwrap().iter().for_each(|other| clock.hear(epoch, other));
            let base = clock.stamp();
            let proposed: Vec<Proposed> = (0..size)
                .map(|_| Proposed {
                    base: Some(base.clone()),
                    reads: vec![chance.below(KEYS), chance.below(KEYS)],
                    writes: vec![chance.below(KEYS), chance.below(KEYS)],
                    routes: vec![(chance.below(64) as u32, 0)],
                    moves: Vec::new(),
                    record: Record { stamp: clock.stamp(), parts: vec![(0, vec![7; 200].into())] },
                })
                .collect();
            clocks.lock().unwrap()[seat] = clock.clock().into();
            groups += 1;
            let verdicts = truth.commit(epoch, seat, groups, &proposed).unwrap();
            let done = verdicts.iter().filter(|verdict| **verdict == Verdict::Committed).count() as u64;
            (commits, others) = (commits + done, others + size - done);
        }
        (commits, groups, others, truth.tried_again())
    });
    all.into_iter().fold((0, 0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2, a.3 + b.3))
}

/// The same groups, records only.
fn alone(server: &Server, round: i64, gates: usize, size: i64, time: Duration) -> u64 {
    let all = world::threads::in_parallel("gate", gates, |seat| {
        let mut client = Client::connect(&server.address(), NoTls).unwrap();
        let write = client
            .prepare("INSERT INTO plain SELECT $1, $2, c, $3::TEXT::BIGINT[], $4::TEXT::INT[], r FROM unnest($5::BIGINT[], $6::BYTEA[]) AS u(c, r)")
            .unwrap();
        let (mut counter, mut commits) = (0, 0);
        let end = monotonic_ns() + time.as_nanos() as u64;
        while monotonic_ns() < end {
            let counters: Vec<i64> = (counter..counter + size).collect();
            let records: Vec<Vec<u8>> = counters.iter().map(|_| vec![7; 206]).collect();
            counter += size;
            let mut transaction =
                client.build_transaction().isolation_level(IsolationLevel::Serializable).start().unwrap();
            let seat = i32::try_from(seat).unwrap();
            transaction.execute(&write, &[&round, &seat, &"{1,2,3,4}", &"{0}", &counters, &records]).unwrap();
            transaction.commit().unwrap();
            commits += size as u64;
        }
        commits
    });
    all.into_iter().sum()
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let time = Duration::from_secs(seconds);
    let Some(server) = Server::start() else { return };
    let mut truth = PostgresTruth::connect(&server.address()).unwrap();
    truth.create_chunks(&(0..64).map(|chunk| (chunk, 0)).collect::<Vec<_>>()).unwrap();
    let mut client = Client::connect(&server.address(), NoTls).unwrap();
    client.batch_execute("CREATE TABLE plain (LIKE tw_log INCLUDING ALL)").unwrap();
    println!("gates group   truth/s   groups/s  not at once  tried again   alone/s   share");
    let mut epoch = 0;
    for size in [32, 256] {
        for gates in [1, 2, 4] {
            epoch = truth.bump(epoch).unwrap();
            let (commits, groups, others, again) = through_truth(&server, epoch, gates, size, time);
            let plain = alone(&server, epoch as i64, gates, size as i64, time);
            let per = |count: u64| count / seconds;
            println!(
                "{gates:5} {size:5} {:9} {:10} {others:12} {again:12} {:9} {:6.0} %",
                per(commits),
                per(groups),
                per(plain),
                100.0 * commits as f64 / plain as f64
            );
        }
    }
}
