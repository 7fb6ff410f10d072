//! Below, at and above each limit; counters; and messages of errors.

use super::*;
use crate::oracle::ORACLE_EVENTS_MAX;
use crate::stamp::Stamp;

fn ask(machine: &mut Machine, session: SessionId, request: u64, command: Command) -> Result<Answer, Failure> {
    machine.apply(Entry { now_ms: 1, session, request, command })
}

fn open(machine: &mut Machine) -> Result<Answer, Failure> {
    ask(machine, SHARED_SESSION, 0, Command::OpenSession { lease_ms: LEASE_MAX_MS })
}

fn opened(machine: &mut Machine) -> SessionId {
    match open(machine) {
        Ok(Answer::Opened(id)) => id,
        other => panic!("{other:?}"),
    }
}

fn create(count: usize) -> Command {
    Command::CreateEvents { count: count as u32 }
}

#[test]
fn there_are_at_most_so_many_sessions() {
    let mut machine = Machine::new(GraphLimits::default());
    let first = opened(&mut machine);
    for _ in 1..SESSIONS_MAX {
        opened(&mut machine);
    }
    assert_eq!((machine.sessions(), open(&mut machine)), (SESSIONS_MAX, Err(Failure::TooManySessions)));
    assert_eq!(ask(&mut machine, first, 0, Command::CloseSession), Ok(Answer::Done));
    opened(&mut machine);
    assert_eq!(open(&mut machine), Err(Failure::TooManySessions));
}

#[test]
fn a_batch_has_at_most_so_many_items() {
    let mut machine = Machine::new(GraphLimits::default());
    let Ok(Answer::Created(events)) = ask(&mut machine, SHARED_SESSION, 0, create(BATCH_MAX)) else {
        panic!("a batch of the largest size");
    };
    let large = Err(Failure::BatchTooLarge(BATCH_MAX + 1));
    assert_eq!(ask(&mut machine, SHARED_SESSION, 0, create(BATCH_MAX + 1)), large);
    assert_eq!(ask(&mut machine, SHARED_SESSION, 0, Command::AcquireRefs(events.clone())), Ok(Answer::Done));
    let more = [events.clone(), events[..1].to_vec()].concat();
    assert_eq!(ask(&mut machine, SHARED_SESSION, 0, Command::AcquireRefs(more.clone())), large);
    assert_eq!(ask(&mut machine, SHARED_SESSION, 0, Command::ReleaseRefs(more)), large);
    let released = ask(&mut machine, SHARED_SESSION, 0, Command::ReleaseRefs(events.clone()));
    assert_eq!(released, Ok(Answer::Collected(0)), "one reference to each is left");
    // Each release says what it collected, not what was before.
    let (some, others) = events.split_at(100);
    for part in [some, others] {
        let released = ask(&mut machine, SHARED_SESSION, 0, Command::ReleaseRefs(part.to_vec()));
        assert_eq!(released, Ok(Answer::Collected(part.len() as u64)));
    }
    machine.check();
}

/// So many answers of a session are kept, and so many items in them; the oldest goes first.
#[test]
fn so_many_answers_are_remembered() {
    let forgotten = |request| Err(Failure::RequestForgotten(request));
    let mut machine = Machine::new(GraphLimits::default());
    let session = opened(&mut machine);
    let last = ANSWERS_MAX as u64;
    (1..=last).for_each(|request| drop(ask(&mut machine, session, request, Command::KeepAlive)));
    assert_eq!(ask(&mut machine, session, 1, Command::KeepAlive), Ok(Answer::Done));
    assert_eq!(ask(&mut machine, session, last + 1, Command::KeepAlive), Ok(Answer::Done));
    assert_eq!(ask(&mut machine, session, 1, Command::KeepAlive), forgotten(1));
    assert_eq!(ask(&mut machine, session, 2, Command::KeepAlive), Ok(Answer::Done));

    let session = opened(&mut machine);
    let half = ANSWER_ITEMS_MAX / 2;
    for request in [1, 2] {
        assert!(ask(&mut machine, session, request, create(half)).is_ok());
    }
    assert!(ask(&mut machine, session, 1, create(half)).is_ok(), "just as many as there may be");
    assert!(ask(&mut machine, session, 3, create(1)).is_ok());
    assert_eq!(ask(&mut machine, session, 1, create(half)), forgotten(1));
    assert!(ask(&mut machine, session, 2, create(half)).is_ok());
    // One answer is kept however large it is.
    assert!(ask(&mut machine, session, 4, create(ANSWER_ITEMS_MAX)).is_ok());
    assert_eq!(ask(&mut machine, session, 3, create(1)), forgotten(3));
    assert!(ask(&mut machine, session, 4, create(ANSWER_ITEMS_MAX)).is_ok());
}

/// The first leader names a machine: events and sessions of two machines have different names.
#[test]
fn a_machine_is_named_once() {
    let named = |nonce| {
        let mut machine = Machine::new(GraphLimits::default());
        ask(&mut machine, SHARED_SESSION, 0, Command::Lead { nonce }).expect("it leads");
        let session = opened(&mut machine);
        let Ok(Answer::Created(events)) = ask(&mut machine, session, 0, create(1)) else { panic!("room") };
        ask(&mut machine, SHARED_SESSION, 0, Command::Lead { nonce: nonce + 1 }).expect("it leads");
        assert_eq!(machine.held(session, events[0]), 1, "nothing is lost by a new leader");
        (session, events[0])
    };
    let (session, event) = named(77);
    assert_eq!((session.0 >> 32, event.generation(), event.slot()), (77, 77, 0));
    assert_eq!(session.0 as u32, 1);
    assert_eq!((EventId::new(5, 9), EventId::new(1, 3).0), (EventId(9 << 32 | 5), 0x3_0000_0001));
    assert_eq!(EventId::new(u32::MAX, u32::MAX).0, u64::MAX);
}

#[test]
fn searches_and_bytes_are_counted() {
    let mut graph = EventGraph::new(0, GraphLimits::default());
    let empty = graph.bytes();
    let e = graph.create_events(1_000).expect("room");
    let before = |a: usize, b: usize| Constraint {
        this: e[a],
        direction: Direction::Before,
        that: e[b],
        strength: Strength::Must,
    };
    let chain: Vec<Constraint> = (1..1_000).map(|at| before(at - 1, at)).collect();
    graph.assign_order(&chain).expect("no cycle");
    // An event takes 32 bytes, and in a chain an edge in place.
    assert!(graph.bytes() >= empty + 32 * 1_000 && graph.bytes() < empty + (1 << 20), "{}", graph.bytes());
    let mut search = Search::default();
    let mut asked = |a: usize, b: usize| graph.query_with(&mut search, e[a], e[b]);
    assert_eq!(asked(0, 999), Ok(EventOrder::Before));
    assert_eq!(asked(999, 0), Ok(EventOrder::After));
    assert_eq!(search.searches(), 2, "the levels say which way to search");
    assert!((2 * 990..2 * 1_010).contains(&search.visited()), "{}", search.visited());
    assert!(search.bytes() >= 2 * 1_000 * 4, "{}", search.bytes());
    assert_eq!((Search::default().bytes(), Search::default().visited()), (0, 0));
}

fn stamp(gatekeeper: usize, counter: u64) -> Stamp {
    let mut vector = vec![0; 2];
    vector[gatekeeper] = counter;
    Stamp::from_parts(1, gatekeeper, vector).expect("it fits")
}

fn first(a: u64, b: u64) -> StampConstraint {
    let (this, that) = (stamp(0, a), stamp(1, b));
    StampConstraint { this, that, direction: Direction::Before, strength: Strength::Must }
}

/// An epoch begins once, and goes on where it is begun again in the same shape.
#[test]
fn an_epoch_that_is_begun_again_keeps_its_orders() {
    let mut machine = Machine::new(GraphLimits::default());
    let begin = |machine: &mut Machine, epoch, gatekeepers| {
        ask(machine, SHARED_SESSION, 0, Command::BeginEpoch { epoch, gatekeepers })
    };
    let order = |machine: &Machine| machine.query_stamps(&[(stamp(0, 1), stamp(1, 1))]);
    begin(&mut machine, 1, 2).expect("the first");
    assert_eq!(order(&machine), Ok(vec![EventOrder::Concurrent]));
    ask(&mut machine, SHARED_SESSION, 0, Command::AssignStamps(vec![first(1, 1)])).expect("free");
    assert_eq!(begin(&mut machine, 1, 2), Ok(Answer::Done));
    assert_eq!(order(&machine), Ok(vec![EventOrder::Before]), "it goes on");
    for (epoch, gatekeepers) in [(1, 3), (0, 2)] {
        let refused = begin(&mut machine, epoch, gatekeepers);
        assert_eq!(refused, Err(Failure::Stamps(StampError::Epoch(epoch))));
    }
    assert!(begin(&mut machine, 2, 0).is_err());
    assert_eq!(order(&machine), Ok(vec![EventOrder::Before]));
}

/// A batch of stamps that contradicts takes back what it registered; one that would be too large is refused whole.
#[test]
fn stamps_have_a_limit_and_a_refused_batch_leaves_none() {
    let mut machine = Machine::new(GraphLimits::default());
    ask(&mut machine, SHARED_SESSION, 0, Command::BeginEpoch { epoch: 1, gatekeepers: 2 })
        .expect("the first");
    let assign = |machine: &mut Machine, batch: Vec<StampConstraint>| {
        ask(machine, SHARED_SESSION, 0, Command::AssignStamps(batch))
    };
    // Those of one gatekeeper are in order, so this is a cycle of two.
    let reversed = StampConstraint { direction: Direction::After, ..first(1, 2) };
    let contradiction = vec![first(2, 1), reversed.clone(), StampConstraint { ..first(1, 2) }];
    for _ in 0..3 {
        assert!(assign(&mut machine, contradiction.clone()).is_err());
    }
    let full = ORACLE_EVENTS_MAX as u64 / 2;
    for begin in (1..=full).step_by(BATCH_MAX) {
        let end = (begin + BATCH_MAX as u64).min(full + 1);
        let batch = (begin..end).map(|at| first(at, at)).collect();
        assert!(assign(&mut machine, batch).is_ok(), "from {begin} of {full}");
    }
    assert_eq!(assign(&mut machine, vec![first(full + 1, full + 1)]), Err(Failure::Stamps(StampError::Full)));
    assert!(assign(&mut machine, Vec::new()).is_ok());
}

/// Every error message names its subject.
#[test]
fn errors_say_what_is_wrong() {
    let event = EventId::new(3, 7);
    let events = [
        KronosError::Unknown(event),
        KronosError::Released(event),
        KronosError::Same(event),
        KronosError::References(event),
    ];
    assert!(events.iter().all(|error| error.to_string().contains(&event.to_string())));
    for error in [KronosError::TooManyEvents { max: 12_345 }, KronosError::TooManyEdges { max: 12_345 }] {
        assert!(error.to_string().contains("12345"), "{error}");
    }
    let stamps = [
        StampError::Shape(1_234),
        StampError::Epoch(1_234),
        StampError::Forgotten(1_234),
        StampError::Contradiction(1_234),
    ];
    let texts: std::collections::BTreeSet<String> = stamps.iter().map(ToString::to_string).collect();
    assert!(texts.len() == 4 && texts.iter().all(|text| text.len() > 10), "{texts:?}");
    assert!(!StampError::Full.to_string().is_empty());
    assert!(SnapshotError("its slots".into()).to_string().contains("its slots"));
    let failures =
        [Failure::TooManySessions, Failure::BatchTooLarge(77), Failure::RequestReused(77), Failure::Shared];
    assert!(failures.iter().all(|failure| failure.to_string().len() > 10));
}
