//! Truth over PostgreSQL against its twin in memory, and under several gates at once.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod common;

use common::Server;
use order::{Gatekeeper, Stamp};
use protocol::limits::LOG_PAGE_BYTES;
use protocol::{
    CommitId, LogCut, LogPage, MemoryTruth, Proposed, Record, Rules, Sequence, Truth, Unknown, Verdict,
};
use std::sync::Mutex;
use tanglewood_truth::PostgresTruth;
use world::chance::Chance;

const CHUNKS: [(u32, u16); 3] = [(0, 0), (1, 1), (2, 0)];

fn proposed(chance: &mut Chance, stamp: Stamp, base: Option<Stamp>, keys: u64) -> Proposed {
    let some = |chance: &mut Chance| (0..chance.below(3)).map(|_| chance.below(keys)).collect::<Vec<u64>>();
    let reads = if base.is_some() { some(chance) } else { Vec::new() };
    let routes = vec![(chance.below(3) as u32, chance.below(2))];
    let moves = if chance.happens(0.1) { vec![(routes[0].0, chance.below(2) as u16)] } else { Vec::new() };
    let parts = vec![(0, chance.bytes(9).into()), (1, Vec::new().into())];
    Proposed { base, reads, writes: some(chance), routes, moves, record: Record { stamp, parts } }
}

/// The model has no clock.
fn untimed(page: Result<LogPage, Unknown>) -> Result<LogPage, Unknown> {
    page.map(|mut page| {
        page.commits.iter_mut().for_each(|commit| commit.at_us = 0);
        page
    })
}

/// A number of groups, calls made again, bumps, commit versions, leases: both must answer the same.
#[test]
fn it_answers_as_its_twin_in_memory() {
    let Some(server) = Server::start() else { return };
    let mut real = server.truth();
    real.create_chunks(&CHUNKS).unwrap();
    let mut model = MemoryTruth::new(Rules::default(), &CHUNKS);
    let (mut chance, mut epoch) = (Chance::seeded(7), 0);
    let mut last: Option<(u64, usize, Vec<Proposed>)> = None;
    let mut verdicts = std::collections::HashMap::new();
    for _ in 0..6 {
        assert_eq!(real.bump(epoch), model.bump(epoch));
        assert_eq!(real.bump(epoch), Ok(epoch + 1));
        epoch += 1;
        let mut gates: Vec<Gatekeeper> = (0..3).map(|at| Gatekeeper::new(at, 3)).collect();
        gates.iter_mut().for_each(|gate| gate.hear(epoch, &[]));
        let mut groups = [0; 3];
        for _ in 0..40 {
            let at = chance.index(3);
            let base = chance.happens(0.7).then(|| gates[at].stamp());
            let group: Vec<Proposed> = (0..1 + chance.below(4))
                .map(|_| proposed(&mut chance, gates[at].stamp(), base.clone(), 12))
                .collect();
            groups[at] += 1;
            let answer = real.commit(epoch, at, groups[at], &group);
            assert_eq!(answer, model.commit(epoch, at, groups[at], &group));
            for verdict in answer.unwrap() {
                if let Verdict::Late(clock) = &verdict {
                    gates[at].hear(epoch, clock);
                }
                *verdicts.entry(std::mem::discriminant(&verdict)).or_insert(0) += 1;
            }
            if chance.happens(0.3) {
                assert_eq!(
                    real.commit(epoch, at, groups[at], &group),
                    model.commit(epoch, at, groups[at], &group)
                );
            }
            if let Some((old, seat, group)) = last.as_ref().filter(|(old, _, _)| *old < epoch) {
                assert_eq!(real.commit(*old, *seat, 99, group), model.commit(*old, *seat, 99, group));
            }
            if chance.happens(0.1) {
                last = Some((epoch, at, group));
            }
            if chance.happens(0.3) {
                let (from, to) = (chance.index(3), chance.index(3));
                let clock: Box<[u64]> = gates[from].clock().into();
                gates[to].hear(epoch, &clock);
            }
            if chance.happens(0.1) {
                let frontier: Vec<u64> = (0..3)
                    .map(|seat| gates.iter().map(|gate| gate.clock()[seat]).min().unwrap_or(0))
                    .collect();
                assert_eq!(real.forget(epoch, &frontier), model.forget(epoch, &frontier));
            }
        }
        assert_eq!(real.lease(1, 5), model.lease(1, 5));
        let (last, open) = model.unversioned(4).unwrap();
        assert_eq!(real.unversioned(4), Ok((last, open.clone())));
        let ids: Vec<CommitId> = open.iter().map(CommitId::of).collect();
        for (as_of, first) in [(epoch - 1, last + 1), (epoch, last + 2), (epoch, last + 1), (epoch, last + 1)]
        {
            assert_eq!(real.assign_versions(as_of, first, &ids), model.assign_versions(as_of, first, &ids));
        }
        assert_eq!(real.state(), model.state());
        for shard in [None, Some(0), Some(1), Some(7)] {
            assert_eq!(untimed(real.log(shard, last / 2, 30)), model.log(shard, last / 2, 30));
        }
        assert_eq!(real.placement(), model.placement());
    }
    assert!(
        verdicts.len() >= 4,
        "committed, conflict, late and moved must occur: {} kinds did",
        verdicts.len()
    );
    assert!(model.state().unwrap().1 > 5, "some must have got versions");
}

/// Both truths in their first epoch, and its only gate.
fn first_epoch(server: &Server) -> (PostgresTruth, MemoryTruth, Gatekeeper) {
    let (mut real, mut model) = (server.truth(), MemoryTruth::new(Rules::default(), &CHUNKS));
    real.create_chunks(&CHUNKS).unwrap();
    assert_eq!((real.bump(0), model.bump(0)), (Ok(1), Ok(1)));
    let mut gate = Gatekeeper::new(0, 1);
    gate.hear(1, &[]);
    (real, model, gate)
}

/// Large records end a page of the log, at both; each comes once, and an empty page is the end.
#[test]
fn a_page_of_the_log_ends_behind_large_records() {
    let Some(server) = Server::start() else { return };
    let (mut real, mut model, mut gate) = first_epoch(&server);
    // Below the limit, up to it and beyond it, then small ones.
    let sizes = [LOG_PAGE_BYTES / 2, LOG_PAGE_BYTES / 2 - 100, LOG_PAGE_BYTES / 4, 9, 9];
    let (mut ids, mut group) = (Vec::new(), 0);
    for size in sizes {
        let record = Record { stamp: gate.stamp(), parts: vec![(0, vec![7; size].into())] };
        ids.push(CommitId::of(&record.stamp));
        let (reads, writes, routes, moves) = (Vec::new(), vec![1], Vec::new(), Vec::new());
        let proposed = [Proposed { base: None, reads, writes, routes, moves, record }];
        group += 1;
        assert_eq!(real.commit(1, 0, group, &proposed), Ok(vec![Verdict::Committed]));
        assert_eq!(model.commit(1, 0, group, &proposed), Ok(vec![Verdict::Committed]));
    }
    assert_eq!((real.bump(1), model.bump(1)), (Ok(2), Ok(2)));
    assert_eq!((real.assign_versions(2, 1, &ids), model.assign_versions(2, 1, &ids)), (Ok(true), Ok(true)));
    for shard in [None, Some(0)] {
        let commit_versions = |truth: &mut dyn Truth, after| -> Vec<u64> {
            let page = truth.log(shard, after, 30).expect("it answers");
            page.commits.iter().map(|commit| commit.commit_version).collect()
        };
        for (after, wanted) in [(0, &[1, 2, 3][..]), (1, &[2, 3, 4, 5]), (3, &[4, 5]), (5, &[])] {
            assert_eq!(
                (commit_versions(&mut real, after), commit_versions(&mut model, after)),
                (wanted.to_vec(), wanted.to_vec())
            );
        }
    }
}

/// Gates on threads of their own write few keys: on each key each writer knows the one before, whoever committed first.
#[test]
fn writers_of_one_key_are_a_chain_whoever_commits_when() {
    let Some(server) = Server::start() else { return };
    let mut truth = server.truth();
    truth.create_chunks(&[(0, 0)]).unwrap();
    assert_eq!(truth.bump(0), Ok(1));
    let written: Mutex<Vec<(u64, Stamp)>> = Mutex::new(Vec::new());
    let (address, all) = (server.address(), &written);
    world::threads::in_parallel("gate", 4, |seat| {
        let mut truth = tanglewood_truth::PostgresTruth::connect(&address).unwrap();
        let (mut clock, mut chance) = (Gatekeeper::new(seat, 4), Chance::seeded(seat as u64));
        clock.hear(1, &[]);
        for group in 1..=30 {
            let one = |clock: &mut Gatekeeper, chance: &mut Chance| Proposed {
                base: None,
                reads: Vec::new(),
                writes: vec![chance.below(5)],
                routes: vec![(0, 0)],
                moves: Vec::new(),
                record: Record { stamp: clock.stamp(), parts: vec![(0, vec![1].into())] },
            };
            let proposed: Vec<Proposed> = (0..4).map(|_| one(&mut clock, &mut chance)).collect();
            let verdicts = truth.commit(1, seat, group, &proposed).unwrap();
            for (verdict, one) in verdicts.into_iter().zip(&proposed) {
                match verdict {
                    Verdict::Committed => {
                        all.lock().unwrap().push((one.writes[0], one.record.stamp.clone()));
                    }
                    Verdict::Late(later) => clock.hear(1, &later),
                    other => panic!("{other:?}"),
                }
            }
        }
    });
    let written = written.into_inner().unwrap();
    assert!(written.len() > 60, "{} of 480 committed", written.len());
    for (at, (key, one)) in written.iter().enumerate() {
        for (other_key, other) in &written[..at] {
            assert!(key != other_key || !one.is_concurrent_with(other), "{one} and {other} wrote key {key}");
        }
    }
}

/// A gate that was silent for long has not replayed what others committed: it decides by it all the same, also where the rows of it are
/// forgotten and a chunk has moved.
#[test]
fn a_gate_that_was_silent_decides_by_what_others_committed() {
    let Some(server) = Server::start() else { return };
    let (mut early, mut other) = (server.truth(), server.truth());
    early.create_chunks(&[(0, 0), (1, 0)]).unwrap();
    assert_eq!(early.bump(0), Ok(1));
    let mut clocks = [Gatekeeper::new(0, 2), Gatekeeper::new(1, 2)];
    clocks.iter_mut().for_each(|clock| clock.hear(1, &[]));
    let write = |stamp: Stamp, key: u64, routes: &[(u32, u64)], moves: &[(u32, u16)]| Proposed {
        base: None,
        reads: Vec::new(),
        writes: vec![key],
        routes: routes.into(),
        moves: moves.into(),
        record: Record { stamp, parts: vec![(0, vec![1].into())] },
    };
    let first = write(clocks[0].stamp(), 1, &[(0, 0), (1, 0)], &[]);
    assert_eq!(early.commit(1, 0, 1, &[first]), Ok(vec![Verdict::Committed]));
    // The other gate has heard of it, moves a chunk and writes the key.
    let heard: Box<[u64]> = clocks[0].clock().into();
    clocks[1].hear(1, &heard);
    let moved = write(clocks[1].stamp(), 1, &[(0, 0)], &[(0, 1)]);
    assert_eq!(other.commit(1, 1, 1, &[moved]), Ok(vec![Verdict::Committed]));
    let plain = write(clocks[1].stamp(), 2, &[(1, 0)], &[]);
    assert_eq!(other.commit(1, 1, 2, &[plain]), Ok(vec![Verdict::Committed]));
    // Nothing is below this frontier but the first group.
    assert_eq!(other.forget(1, &[1, 0]), Ok(()));
    let old = write(clocks[0].stamp(), 3, &[(0, 0)], &[]);
    assert_eq!(early.commit(1, 0, 2, &[old]), Ok(vec![Verdict::Moved]));
    let late = write(clocks[0].stamp(), 2, &[(1, 0)], &[]);
    let counter = late.record.stamp.counter();
    assert_eq!(early.commit(1, 0, 3, &[late]), Ok(vec![Verdict::Late(vec![counter, 2].into())]));
    let heard: Box<[u64]> = clocks[1].clock().into();
    clocks[0].hear(1, &heard);
    // Now all that was committed is below it; the move still is known to whoever knew the chunk.
    assert_eq!(other.forget(1, &heard), Ok(()));
    let old = write(clocks[0].stamp(), 3, &[(0, 0)], &[]);
    let new = write(clocks[0].stamp(), 3, &[(0, 1)], &[]);
    let mut third = server.truth();
    for (group, one, verdict) in [(4, old, Verdict::Moved), (5, new, Verdict::Committed)] {
        assert_eq!(third.commit(1, 0, group, std::slice::from_ref(&one)), Ok(vec![verdict.clone()]));
        // Its number was carried out: the first connection hears so.
        let past = if verdict == Verdict::Committed { Verdict::Committed } else { Verdict::Again };
        assert_eq!(early.commit(1, 0, group, &[one]), Ok(vec![past]));
    }
}

/// The turn of a group ends before it is on disk, its answer comes after. So a database that is killed has all that was answered.
#[test]
fn what_was_answered_outlives_a_crash_of_the_database() {
    let Some(mut server) = Server::start() else { return };
    let mut truth = server.truth();
    truth.create_chunks(&[(0, 0)]).unwrap();
    assert_eq!(truth.bump(0), Ok(1));
    let mut clock = Gatekeeper::new(0, 1);
    clock.hear(1, &[]);
    let mut answered = Vec::new();
    for group in 1..=40 {
        let record = Record { stamp: clock.stamp(), parts: vec![(0, vec![1; 100].into())] };
        answered.push(record.stamp.clone());
        let (reads, writes, moves) = (Vec::new(), vec![group % 7], Vec::new());
        let one = Proposed { base: None, reads, writes, routes: vec![(0, 0)], moves, record };
        assert_eq!(truth.commit(1, 0, group, &[one]), Ok(vec![Verdict::Committed]));
    }
    server.crash();
    truth = server.truth();
    assert_eq!(truth.bump(1), Ok(2));
    assert_eq!(truth.unversioned(1_000), Ok((0, answered)));
}

/// Writes a file that is the server's alone.
fn keep(server: &Server, name: &str, text: &str) -> String {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let path = format!("{}/{name}", server.folder());
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let owner = std::fs::metadata(server.folder()).unwrap();
    chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    path
}

#[test]
fn with_tls_the_server_is_checked() {
    let Some(mut server) = Server::start() else { return };
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let certificate = keep(&server, "server.pem", &made.cert.pem());
    let key = keep(&server, "server.key", &made.signing_key.serialize_pem());
    let other = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let other = keep(&server, "other.pem", &other.cert.pem());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    server.set(&[
        "listen_addresses=127.0.0.1".into(),
        format!("port={port}"),
        "ssl=on".into(),
        format!("ssl_cert_file={certificate}"),
        format!("ssl_key_file={key}"),
    ]);
    let url = |host: &str, more: &str| format!("postgres://tanglewood@{host}:{port}/postgres{more}");
    let checked = format!("?sslmode=verify-full&sslrootcert={certificate}");
    let mut truth = PostgresTruth::connect(&url("localhost", &checked)).unwrap();
    assert_eq!(truth.bump(0), Ok(1));
    let words = format!(
        "host=localhost port={port} user=tanglewood dbname=postgres sslmode=verify-full sslrootcert={certificate}"
    );
    assert!(PostgresTruth::connect(&words).is_ok());
    assert!(PostgresTruth::connect(&url("localhost", "")).is_ok(), "without TLS, as nothing is said");
    // Another name, another certificate, none at all, a mode of before.
    for (host, more) in [
        ("127.0.0.1", checked.clone()),
        ("localhost", format!("?sslmode=verify-full&sslrootcert={other}")),
        ("localhost", "?sslmode=require&sslrootcert=/none".to_string()),
        ("localhost", format!("?sslrootcert={certificate}")),
    ] {
        let refused = PostgresTruth::connect(&url(host, &more)).err();
        println!("{host}{more}: {}", refused.expect("it is refused"));
    }
    server.set(&["listen_addresses=127.0.0.1".into(), format!("port={port}")]);
    assert!(PostgresTruth::connect(&url("localhost", &checked)).is_err(), "a server without TLS");
}

/// The log is cut: whoever begins anew reads the base, whoever is behind it sees that; what became of commits that are cut off is not made up.
#[test]
fn a_log_that_is_cut_begins_with_its_base() {
    let Some(server) = Server::start() else { return };
    let (mut real, mut model, mut gate) = first_epoch(&server);
    let mut groups = Vec::new();
    let mut commit = |real: &mut PostgresTruth, model: &mut MemoryTruth, count: u64| {
        for _ in 0..count {
            let at = groups.len() as u64;
            let record = Record { stamp: gate.stamp(), parts: vec![((at % 2) as u16, vec![7; 9].into())] };
            let (reads, writes, routes, moves) = (Vec::new(), vec![1], Vec::new(), Vec::new());
            let group = [Proposed { base: None, reads, writes, routes, moves, record }];
            for truth in [&mut *real as &mut dyn Truth, model] {
                assert_eq!(truth.commit(1, 0, at + 1, &group), Ok(vec![Verdict::Committed]));
                assert_eq!(
                    truth.assign_versions(1, at + 1, &[CommitId::of(&group[0].record.stamp)]),
                    Ok(true)
                );
            }
            groups.push(group);
        }
        groups.clone()
    };
    let groups = commit(&mut real, &mut model, 20);
    let parts = |number: u64| vec![(0, vec![number as u8; 4].into()), (1, vec![1].into())];
    let both = |real: &mut PostgresTruth, model: &mut MemoryTruth, commit_versions: &[u64]| {
        for shard in [None, Some(0), Some(1), Some(7)] {
            for after in commit_versions {
                let (one, other) =
                    (real.log(shard, *after, 7).unwrap(), model.log(shard, *after, 7).unwrap());
                // Stamps of a base are nobody's.
                let said = |page: LogPage| {
                    let all =
                        page.commits.into_iter().map(|one| (one.commit_version, one.record.parts.clone()));
                    (page.base, all.collect::<Vec<_>>())
                };
                assert_eq!(said(one), said(other), "{shard:?} {after}");
            }
        }
        assert_eq!(real.state(), model.state());
    };
    for truth in [&mut real as &mut dyn Sequence, &mut model] {
        assert_eq!(truth.follows("gate-0", 16), Ok(()));
        assert_eq!(truth.follows("gate-1", 9), Ok(()));
        let names: Vec<String> = truth.followers().unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["gate-0", "gate-1"]);
        assert_eq!(truth.cut("gate-0", 12, 3), Ok(LogCut::Outdated), "its records are not there");
        for number in 1..=3 {
            assert_eq!(truth.put_base("gate-0", 12, number, &parts(number)), Ok(()));
        }
        assert_eq!(truth.cut("gate-0", 12, 4), Ok(LogCut::Outdated), "one is missing");
        assert_eq!(truth.cut("gate-0", 12, 3), Ok(LogCut::NeededBy("gate-1".to_string())));
        assert_eq!(truth.after(0, 9).unwrap().base, 0);
        assert_eq!(truth.follows("gate-1", 12), Ok(()));
        assert_eq!(truth.cut("gate-0", 12, 3), Ok(LogCut::Done));
        assert_eq!(truth.cut("gate-0", 12, 3), Ok(LogCut::Outdated), "once");
    }
    let commit_versions = [0, 8, 9, 10, 11, 12, 13, 19, 20];
    both(&mut real, &mut model, &commit_versions);
    let last = CommitId::of(&groups[19][0].record.stamp);
    let early = CommitId::of(&groups[3][0].record.stamp);
    // Whether what is below is deleted yet is not seen.
    for _ in 0..2 {
        assert_eq!(real.version_of(&[last, early]), Ok(Some(20)));
        both(&mut real, &mut model, &commit_versions);
        while real.delete_below_base().unwrap() {}
    }
    assert_eq!(real.version_of(&[early]), Ok(Some(12)), "somewhere up to the base");
    assert_eq!(real.unversioned(9), Ok((20, Vec::new())), "what is deleted gets no other version");
    // Nobody knows any more whether a commit below was there; of one behind, everybody does.
    assert_eq!(real.commit(1, 0, 4, &groups[3]), Ok(vec![Verdict::Forgotten]));
    assert_eq!(real.commit(1, 0, 15, &groups[14]), Ok(vec![Verdict::Committed]));
    commit(&mut real, &mut model, 5);
    both(&mut real, &mut model, &[0, 11, 12, 20, 24]);
    // Another base, and a maker that ended half way.
    for truth in [&mut real as &mut dyn Sequence, &mut model] {
        assert_eq!(truth.put_base("gate-1", 18, 1, &parts(9)), Ok(()));
        assert_eq!(truth.put_base("gate-0", 25, 1, &parts(5)), Ok(()));
        assert_eq!(truth.follows("gate-0", 25), Ok(()));
        assert_eq!(truth.follows("gate-1", 25), Ok(()));
        assert_eq!(truth.cut("gate-0", 25, 1), Ok(LogCut::Done));
        while truth.delete_below_base().unwrap() {}
    }
    both(&mut real, &mut model, &[0, 12, 23, 24, 25]);
    let groups = commit(&mut real, &mut model, 1);
    both(&mut real, &mut model, &[0, 25, 26]);
    // Whoever asks again for commit versions that are cut off hears that it has them, in its own epoch.
    let ids: Vec<CommitId> = groups.iter().map(|group| CommitId::of(&group[0].record.stamp)).collect();
    for truth in [&mut real as &mut dyn Truth, &mut model] {
        assert_eq!(truth.assign_versions(1, 3, &ids[2..9]), Ok(true));
        assert_eq!(truth.assign_versions(1, 24, &ids[23..]), Ok(true), "the last is behind the base");
        assert_eq!(truth.assign_versions(1, 26, &ids[..1]), Ok(false), "it has another");
        assert_eq!(truth.assign_versions(2, 3, &ids[2..9]), Ok(false), "another epoch");
    }
}

/// What gates take of limits that they share is told to all others.
#[test]
fn gates_tell_each_other_what_is_taken() {
    let Some(server) = Server::start() else { return };
    let (mut one, mut other) = (server.truth(), server.truth());
    let told = |truth: &mut PostgresTruth, gate: &str, usage: &[u8]| {
        let told = truth.tell_usage(gate, usage).unwrap();
        (told.now_us, told.others)
    };
    let (first_us, others) = told(&mut one, "a", &[1, 2]);
    assert_eq!(others, []);
    assert_eq!(told(&mut other, "b", &[]).1, [("a".to_string(), vec![1, 2])]);
    assert_eq!(told(&mut one, "a", &[3]).1, [("b".to_string(), Vec::new())]);
    let (last_us, others) = told(&mut other, "b", &[4]);
    assert_eq!(others, [("a".to_string(), vec![3])]);
    // Both are told the time by one clock.
    assert!((1..60_000_000).contains(&(last_us - first_us)), "{first_us} {last_us}");
}
