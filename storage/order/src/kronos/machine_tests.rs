//! The machine: leases, retries, and replicas that begin from snapshots.

use super::*;
use crate::stamp::Stamp;
use world::chance::Chance;

fn entry(now_ms: u64, session: SessionId, request: u64, command: Command) -> Entry {
    Entry { now_ms, session, request, command }
}

fn opened(machine: &mut Machine, now_ms: u64, lease_ms: u32) -> SessionId {
    match machine.apply(entry(now_ms, SHARED_SESSION, 0, Command::OpenSession { lease_ms })) {
        Ok(Answer::Opened(id)) => id,
        other => panic!("{other:?}"),
    }
}

fn created(outcome: Result<Answer, Failure>) -> Vec<EventId> {
    match outcome {
        Ok(Answer::Created(events)) => events,
        other => panic!("{other:?}"),
    }
}

/// A retry is answered as the first time, whatever came between; a number is not used for two requests.
#[test]
fn retries_are_carried_out_once() {
    let mut machine = Machine::new(GraphLimits::default());
    let session = opened(&mut machine, 0, 10_000);
    let create = |count| entry(1, session, 1, Command::CreateEvents { count });
    let first = created(machine.apply(create(3)));
    assert_eq!(machine.apply(create(3)), Ok(Answer::Created(first.clone())));
    assert_eq!(machine.graph().counts().events, 3);
    assert_eq!(machine.apply(create(4)), Err(Failure::RequestReused(1)));
    // An error is an answer too.
    let release = entry(2, session, 2, Command::ReleaseRefs(vec![EventId(u64::MAX)]));
    let refused = machine.apply(release.clone());
    assert!(refused.is_err());
    assert_eq!(machine.apply(release), refused);
    for request in 3..3 + ANSWERS_MAX as u64 {
        machine.apply(entry(3, session, request, Command::KeepAlive)).expect("it lives");
    }
    assert_eq!(machine.apply(create(3)), Err(Failure::RequestForgotten(1)));
    let shared = entry(3, SHARED_SESSION, 9, Command::CreateEvents { count: 1 });
    assert_eq!(machine.apply(shared), Err(Failure::RequestWithoutSession));
    machine.check();
}

/// The references of a client go when its lease is over, and none of another's.
#[test]
fn a_dead_client_leaks_nothing() {
    let mut machine = Machine::new(GraphLimits::default());
    let (dies, lives) = (opened(&mut machine, 0, 1_000), opened(&mut machine, 0, 5_000));
    let events = created(machine.apply(entry(0, dies, 0, Command::CreateEvents { count: 3 })));
    machine.apply(entry(10, lives, 0, Command::AcquireRefs(vec![events[0]]))).expect("it is held");
    let stolen = machine.apply(entry(10, lives, 0, Command::ReleaseRefs(vec![events[1]])));
    assert_eq!(stolen, Err(Failure::NotHeld(events[1])));
    assert!(!machine.is_expiry_due(999));
    assert!(machine.is_expiry_due(1_000));
    assert_eq!(machine.apply(entry(1_000, SHARED_SESSION, 0, Command::Expire)), Ok(Answer::More(false)));
    assert_eq!(machine.graph().counts().events, 1);
    let late = machine.apply(entry(1_001, dies, 0, Command::KeepAlive));
    assert_eq!(late, Err(Failure::NoSession(dies)));
    // A new leader gives everyone a whole lease.
    machine.apply(entry(4_999, SHARED_SESSION, 0, Command::Lead { nonce: 7 })).expect("always");
    assert!(!machine.is_expiry_due(9_998) && machine.is_expiry_due(10_010));
    // Neither a session that was refused, nor a closed one, is renewed by that.
    let late = opened(&mut machine, 5_000, 1_000);
    assert_eq!(machine.apply(entry(6_000, late, 0, Command::KeepAlive)), Err(Failure::NoSession(late)));
    machine.apply(entry(6_000, SHARED_SESSION, 0, Command::Lead { nonce: 7 })).expect("always");
    assert_eq!(machine.apply(entry(6_000, late, 0, Command::KeepAlive)), Err(Failure::NoSession(late)));
    machine.apply(entry(5_000, lives, 0, Command::CloseSession)).expect("it lives");
    assert_eq!((machine.sessions(), machine.graph().counts().events), (0, 0));
    machine.check();
}

/// A session with more references than one entry releases goes in pieces, and is gone from the first on.
#[test]
fn large_sessions_end_in_pieces() {
    let mut machine = Machine::new(GraphLimits::default());
    let session = opened(&mut machine, 0, 1_000);
    for _ in 0..3 {
        created(machine.apply(entry(0, session, 0, Command::CreateEvents { count: BATCH_MAX as u32 })));
    }
    let too_many = entry(0, session, 0, Command::CreateEvents { count: BATCH_MAX as u32 + 1 });
    assert_eq!(machine.apply(too_many), Err(Failure::BatchTooLarge(BATCH_MAX + 1)));
    machine.apply(entry(1, session, 0, Command::CloseSession)).expect("it lives");
    let mut rounds = 0;
    while machine.apply(entry(1, SHARED_SESSION, 0, Command::Expire)) == Ok(Answer::More(true)) {
        rounds += 1;
        machine.apply(entry(1, SHARED_SESSION, 0, Command::Lead { nonce: 7 })).expect("always");
        assert_eq!(machine.apply(entry(1, session, 0, Command::KeepAlive)), Err(Failure::NoSession(session)));
        machine.check();
    }
    assert_eq!((rounds, machine.graph().counts().events, machine.sessions()), (1, 0, 0));
}

fn random_command(chance: &mut Chance, known: &[EventId]) -> Command {
    let one = |chance: &mut Chance| match known.len() {
        0 => EventId(chance.below(99)),
        count => known[chance.below(count as u64) as usize],
    };
    let some = |chance: &mut Chance| (0..=chance.below(3)).map(|_| one(chance)).collect::<Vec<_>>();
    match chance.below(12) {
        0..=2 => Command::CreateEvents { count: chance.below(4) as u32 },
        3 => Command::AcquireRefs(some(chance)),
        4 | 5 => Command::ReleaseRefs(some(chance)),
        6 => Command::KeepAlive,
        7 => [Command::Expire, Command::Lead { nonce: 7 }, Command::CloseSession][chance.below(3) as usize]
            .clone(),
        8 => Command::OpenSession { lease_ms: 1_000 + chance.below(2_000) as u32 },
        _ => Command::AssignOrder(
            (0..chance.below(4))
                .map(|_| Constraint {
                    this: one(chance),
                    direction: [Direction::Before, Direction::After][chance.below(2) as usize],
                    that: one(chance),
                    strength: [Strength::Must, Strength::Prefer][chance.below(2) as usize],
                })
                .collect(),
        ),
    }
}

/// A replica that begins from a snapshot at any point answers all that follows as the one that never stopped.
#[test]
fn snapshots_change_nothing() {
    for seed in 0..200 {
        let mut chance = Chance::seeded(seed);
        let mut machine = Machine::new(GraphLimits { events_max: 40, edges_max: 60 });
        let mut replica = machine.clone();
        let (mut known, mut sessions, mut now_ms) = (Vec::new(), vec![SHARED_SESSION], 0);
        for _ in 0..150 {
            now_ms += chance.below(200);
            let session = sessions[chance.below(sessions.len() as u64) as usize];
            let request = if session == SHARED_SESSION { 0 } else { chance.below(30) };
            let next = entry(now_ms, session, request, random_command(&mut chance, &known));
            let bytes = postcard::to_allocvec(&next).expect("plain data");
            assert_eq!(postcard::from_bytes::<Entry>(&bytes).as_ref(), Ok(&next), "seed {seed}");
            let outcome = machine.apply(next.clone());
            assert_eq!(replica.apply(next), outcome, "seed {seed}");
            match outcome {
                Ok(Answer::Created(events)) => known.extend(events),
                Ok(Answer::Opened(id)) => sessions.push(id),
                _ => {}
            }
            machine.check();
            if chance.below(4) == 0 {
                replica = Machine::restore(&machine.snapshot()).expect("what was written can be read");
                replica.check();
                assert_eq!(replica.snapshot(), machine.snapshot(), "seed {seed}");
            }
        }
        for (a, b) in known.iter().flat_map(|a| known.iter().map(move |b| (*a, *b))) {
            let mut search = Search::default();
            let answer = machine.query_order(&mut search, &[(a, b)]);
            assert_eq!(replica.query_order(&mut search, &[(a, b)]), answer, "seed {seed}");
        }
    }
}

/// Bytes that are no snapshot are an error.
#[test]
fn damaged_snapshots_are_refused() {
    let mut machine = Machine::new(GraphLimits::default());
    let session = opened(&mut machine, 0, 1_000);
    let events = created(machine.apply(entry(0, session, 1, Command::CreateEvents { count: 5 })));
    let link = |a: usize, b: usize| Constraint {
        this: events[a],
        direction: Direction::Before,
        that: events[b],
        strength: Strength::Must,
    };
    machine
        .apply(entry(0, session, 2, Command::AssignOrder(vec![link(0, 1), link(1, 2)])))
        .expect("no cycle");
    let bytes = machine.snapshot();
    for length in 0..bytes.len() {
        assert!(Machine::restore(&bytes[..length]).is_err(), "{length} bytes");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            // Some damage is another valid state; none may panic.
            if let Ok(machine) = Machine::restore(&damaged) {
                drop(machine.snapshot());
            }
        }
    }
}

/// Stamps: pairs that vectors order need no decision; a refused batch leaves no decision.
#[test]
fn stamps_beside_events() {
    let mut machine = Machine::new(GraphLimits::default());
    let stamp =
        |epoch, gate, vector: &[u64]| Stamp::from_parts(epoch, gate, vector.to_vec()).expect("it fits");
    let (a, b, c) = (stamp(1, 0, &[1, 0]), stamp(1, 1, &[0, 1]), stamp(1, 1, &[1, 2]));
    let pair = |this: &Stamp, that: &Stamp, strength| StampConstraint {
        this: this.clone(),
        direction: Direction::Before,
        that: that.clone(),
        strength,
    };
    let run = |machine: &mut Machine, command| machine.apply(entry(0, SHARED_SESSION, 0, command));
    let assign = Command::AssignStamps(vec![pair(&a, &b, Strength::Must)]);
    assert_eq!(run(&mut machine, assign), Err(Failure::Stamps(StampError::Epoch(1))));
    run(&mut machine, Command::BeginEpoch { epoch: 1, gatekeepers: 2 }).expect("the first");
    // c knows a: that a comes after c contradicts the vectors, and takes the first pair back.
    let batch = vec![pair(&b, &a, Strength::Must), pair(&c, &a, Strength::Must)];
    let refused = run(&mut machine, Command::AssignStamps(batch));
    assert_eq!(refused, Err(Failure::Stamps(StampError::Contradiction(1))));
    assert_eq!(machine.query_stamps(&[(a.clone(), b.clone())]), Ok(vec![EventOrder::Concurrent]));
    let batch =
        vec![pair(&b, &a, Strength::Prefer), pair(&a, &b, Strength::Must), pair(&c, &a, Strength::Prefer)];
    let Ok(Answer::Assigned(answers)) = run(&mut machine, Command::AssignStamps(batch)) else {
        panic!("nothing contradicts")
    };
    let orders: Vec<(Direction, bool)> = answers.iter().map(|one| (one.order, one.decided)).collect();
    assert_eq!(orders, [(Direction::After, false), (Direction::Before, true), (Direction::After, false)]);
    let replica = Machine::restore(&machine.snapshot()).expect("written just now");
    assert_eq!(replica.query_stamps(&[(a.clone(), b.clone())]), Ok(vec![EventOrder::Before]));
    run(&mut machine, Command::ForgetStamps { epoch: 1, frontier: vec![1, 1] }).expect("it fits");
    let late = stamp(1, 0, &[2, 0]);
    let forgotten = machine.query_stamps(&[(late, b.clone())]);
    assert_eq!(forgotten, Err(Failure::Stamps(StampError::Forgotten(0))));
    let later = stamp(2, 0, &[1]);
    assert_eq!(machine.query_stamps(&[(a, later)]), Err(Failure::Stamps(StampError::Epoch(2))));
    machine.check();
}
