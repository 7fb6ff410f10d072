//! Which transactions truth commits, refuses, or wants stamped anew.

use super::*;
use crate::EVERYTHING;
use order::Gatekeeper;

fn proposed(base: Option<&Stamp>, stamp: Stamp, reads: &[u64], writes: &[u64]) -> Proposed {
    let record = Record { stamp, parts: vec![(0, vec![1].into())] };
    let (reads, writes) = (reads.to_vec(), writes.to_vec());
    Proposed { base: base.cloned(), reads, writes, routes: vec![(0, 0)], moves: Vec::new(), record }
}

/// Truth in epoch 1, and two gates of it that know nothing of each other.
fn begin() -> (MemoryTruth, Gatekeeper, Gatekeeper) {
    let mut truth = MemoryTruth::new(Rules::default(), &[(0, 0)]);
    assert_eq!(truth.bump(0), Ok(1));
    let mut gates = [Gatekeeper::new(0, 2), Gatekeeper::new(1, 2)];
    gates.iter_mut().for_each(|gate| gate.hear(1, &[]));
    let [one, other] = gates;
    (truth, one, other)
}

fn commit(truth: &mut MemoryTruth, group: u64, one: Proposed) -> Verdict {
    let seat = one.record.stamp.gatekeeper();
    truth.commit(1, seat, group, &[one]).map_or(Verdict::Again, |mut all| all.remove(0))
}

#[test]
fn writers_come_after_writers_and_readers_by_their_vectors() {
    let (mut truth, mut one, mut other) = begin();
    let first = one.stamp();
    assert_eq!(commit(&mut truth, 1, proposed(None, first.clone(), &[], &[7])), Verdict::Committed);
    let late = commit(&mut truth, 1, proposed(None, other.stamp(), &[], &[7]));
    let Verdict::Late(clock) = late else { panic!("{late:?}") };
    other.hear(1, &clock);
    let second = other.stamp();
    assert!(first.precedes(&second));
    assert_eq!(commit(&mut truth, 2, proposed(None, second, &[], &[7])), Verdict::Committed);
    // A reader of another key, and a writer of it that does not know the reader.
    let base = other.stamp();
    let reader = other.stamp();
    assert_eq!(commit(&mut truth, 3, proposed(Some(&base), reader, &[8], &[9])), Verdict::Committed);
    let unaware = commit(&mut truth, 2, proposed(None, one.stamp(), &[], &[8]));
    assert!(matches!(unaware, Verdict::Late(_)), "{unaware:?}");
}

#[test]
fn what_was_written_after_the_base_is_a_conflict() {
    let (mut truth, mut one, mut other) = begin();
    let base = other.stamp();
    assert_eq!(commit(&mut truth, 1, proposed(None, one.stamp(), &[], &[7])), Verdict::Committed);
    assert_eq!(commit(&mut truth, 1, proposed(Some(&base), other.stamp(), &[7], &[8])), Verdict::Conflict);
    other.hear(1, one.clock());
    let base = other.stamp();
    assert_eq!(commit(&mut truth, 2, proposed(Some(&base), other.stamp(), &[7], &[8])), Verdict::Committed);
}

#[test]
fn a_group_is_carried_out_once_and_an_epoch_that_is_over_commits_nothing() {
    let (mut truth, mut one, mut other) = begin();
    let group = [proposed(None, one.stamp(), &[], &[7])];
    assert_eq!(truth.commit(1, 0, 1, &group), Ok(vec![Verdict::Committed]));
    assert_eq!(truth.commit(1, 0, 1, &group), Ok(vec![Verdict::Committed]), "asked again");
    let another = [proposed(None, one.stamp(), &[], &[7])];
    assert_eq!(truth.commit(1, 0, 1, &another), Ok(vec![Verdict::Again]), "not of this group");
    assert_eq!(truth.bump(1), Ok(2));
    assert_eq!(truth.bump(1), Ok(2), "a bump is not made twice");
    assert_eq!(truth.commit(1, 0, 1, &group), Ok(vec![Verdict::Committed]), "still known");
    let zombie = [proposed(None, other.stamp(), &[], &[7])];
    assert_eq!(truth.commit(1, 1, 1, &zombie), Ok(vec![Verdict::Fenced]));
    assert_eq!(truth.commits().count(), 1);
}

#[test]
fn versions_are_given_once_by_the_present_epoch() {
    let (mut truth, mut one, _) = begin();
    let stamp = one.stamp();
    let id = CommitId::of(&stamp);
    assert_eq!(commit(&mut truth, 1, proposed(None, stamp.clone(), &[], &[7])), Verdict::Committed);
    assert_eq!(truth.assign_versions(0, 1, &[id]), Ok(false), "an earlier epoch");
    assert_eq!(truth.unversioned(9), Ok((0, Vec::new())), "the epoch is open");
    assert_eq!(truth.bump(1), Ok(2));
    assert_eq!(truth.unversioned(9), Ok((0, vec![stamp])));
    assert_eq!(truth.assign_versions(2, 2, &[id]), Ok(false), "a version between is missing");
    assert_eq!(truth.assign_versions(2, 1, &[id]), Ok(true));
    assert_eq!(truth.assign_versions(2, 1, &[id]), Ok(true), "asked again");
    assert_eq!(truth.assign_versions(2, 2, &[id]), Ok(false), "it has a version");
    assert_eq!(truth.log(None, 0, 9).map(|page| page.commits.len()), Ok(1));
    assert_eq!(truth.log(Some(1), 0, 9).map(|page| page.commits.len()), Ok(0));
}

#[test]
fn a_chunk_that_moved_refuses_old_routes_and_comes_after_those_that_touched_it() {
    let (mut truth, mut one, mut other) = begin();
    assert_eq!(commit(&mut truth, 1, proposed(None, one.stamp(), &[], &[7])), Verdict::Committed);
    let moving = |stamp| Proposed { moves: vec![(0, 1)], ..proposed(None, stamp, &[], &[]) };
    let Verdict::Late(clock) = commit(&mut truth, 1, moving(other.stamp())) else {
        panic!("it must know the writer")
    };
    other.hear(1, &clock);
    assert_eq!(commit(&mut truth, 2, moving(other.stamp())), Verdict::Committed);
    assert_eq!(commit(&mut truth, 2, proposed(None, one.stamp(), &[], &[7])), Verdict::Moved);
    assert_eq!(truth.placement(), Ok(vec![Route { chunk: 0, owner: 1, version: 1 }]));
    assert_eq!((truth.lease(0, 64), truth.lease(1, 64)), (Ok(1), Ok(65)));
}

#[test]
fn rows_below_the_frontier_are_forgotten() {
    let (mut truth, mut one, mut other) = begin();
    assert_eq!(commit(&mut truth, 1, proposed(None, one.stamp(), &[], &[7])), Verdict::Committed);
    assert_eq!(commit(&mut truth, 1, proposed(None, other.stamp(), &[], &[8])), Verdict::Committed);
    let rows = truth.key_rows();
    assert_eq!(truth.forget(0, &[9, 9]), Ok(()));
    assert_eq!(truth.key_rows(), rows, "another epoch");
    assert_eq!(truth.forget(1, &[1, 0]), Ok(()));
    assert_eq!(truth.key_rows(), rows - 1);
    assert_eq!(truth.forget(1, &[1, 1]), Ok(()));
    assert_eq!(truth.key_rows(), 0);
}

#[test]
fn who_read_everything_knows_all_commits_and_comes_before_later_ones() {
    let (mut truth, mut one, mut other) = begin();
    let base = other.stamp();
    assert_eq!(commit(&mut truth, 1, proposed(None, one.stamp(), &[], &[7])), Verdict::Committed);
    let unaware = proposed(Some(&base), other.stamp(), &[EVERYTHING], &[8]);
    assert_eq!(commit(&mut truth, 1, unaware), Verdict::Conflict);
    let baseless = proposed(None, other.stamp(), &[EVERYTHING], &[8]);
    assert_eq!(commit(&mut truth, 2, baseless), Verdict::Conflict);
    other.hear(1, one.clock());
    let (base, reader) = (other.stamp(), other.stamp());
    let aware = proposed(Some(&base), reader.clone(), &[EVERYTHING], &[8]);
    assert_eq!(commit(&mut truth, 3, aware), Verdict::Committed);
    // A writer of another key that does not know the reader.
    let Verdict::Late(clock) = commit(&mut truth, 2, proposed(None, one.stamp(), &[], &[9])) else {
        panic!("it may come before who read everything")
    };
    one.hear(1, &clock);
    let later = one.stamp();
    assert!(reader.precedes(&later));
    assert_eq!(commit(&mut truth, 3, proposed(None, later, &[], &[9])), Verdict::Committed);
}

/// Commits that an epoch left without versions are read in pages: some of each gatekeeper, the earliest first.
#[test]
fn unversioned_commits_are_listed_in_pages() {
    let (mut truth, mut one, mut other) = begin();
    let mut stamps: [Vec<Stamp>; 2] = Default::default();
    for number in 0..5 {
        for (gate, gatekeeper) in [&mut one, &mut other].into_iter().enumerate() {
            let stamp = gatekeeper.stamp();
            let key = 10 * gate as u64 + number;
            assert_eq!(
                commit(&mut truth, number + 1, proposed(None, stamp.clone(), &[], &[key])),
                Verdict::Committed
            );
            stamps[gate].push(stamp);
        }
    }
    assert_eq!(truth.bump(1), Ok(2));
    for limit in 0..7 {
        let (versioned, found) = truth.unversioned(limit).expect("it answers");
        assert_eq!(versioned, 0);
        for (gate, stamps) in stamps.iter().enumerate() {
            let of_gate: Vec<&Stamp> = found.iter().filter(|stamp| stamp.gatekeeper() == gate).collect();
            assert_eq!(of_gate, stamps.iter().take(limit).collect::<Vec<_>>(), "{limit} of gate {gate}");
        }
    }
    let ids = [CommitId::of(&stamps[0][0]), CommitId::of(&stamps[1][0])];
    assert_eq!(truth.assign_versions(2, 1, &ids), Ok(true));
    let (versioned, found) = truth.unversioned(9).expect("it answers");
    assert_eq!((versioned, found.len()), (2, 8), "those that have versions wait no more");
}
