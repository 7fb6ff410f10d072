//! In process, on one thread: orders of fresh pairs, questions along chains of stamps, bytes an event (figure 5.5), release of a chain (figure 5.6).

use super::fault;
use crate::report::Report;
use crate::timing::timed;
use order::Stamp;
use order::kronos::{
    Answer, Command, Constraint, Direction, Entry, EventGraph, EventId, EventOrder, GraphLimits, Machine,
    SHARED_SESSION, SessionId, StampConstraint, Strength,
};
use std::cmp::Ordering;
use world::chance::Chance;
use world::memory::resident_bytes;

const FRESH_PAIRS: usize = 2_000_000;
const ASSIGN_TARGET: f64 = 2e6;
const GATEKEEPERS: usize = 4;
const STAMPS: usize = 20_000;
const STAMP_QUESTIONS: usize = 1_000_000;
/// One in this many stamps was decided by an order, not by its vector.
const DECIDED_EVERY: usize = 64;
const STAMP_TARGET_NS: f64 = 1_000.0;
const LIVE_EVENTS: u64 = 20_000_000;
const BYTES_TARGET: f64 = 64.0;
const CHAINS: [usize; 6] = [10, 100, 1_000, 10_000, 100_000, 1_000_000];
/// Events that are released for each length of chain.
const RELEASED: usize = 1_000_000;
/// Cost of an event in a chain from the shortest to the longest, where the machine's caches change.
const LINEAR_MAX: f64 = 3.0;

fn must(this: EventId, that: EventId) -> Constraint {
    Constraint { this, direction: Direction::Before, that, strength: Strength::Must }
}

fn create(graph: &mut EventGraph, count: usize) -> Result<Vec<EventId>, String> {
    let mut events = Vec::with_capacity(count);
    while events.len() < count {
        events.extend(graph.create_events((count - events.len()).min(1_000) as u32).map_err(fault)?);
    }
    Ok(events)
}

pub(super) fn run(report: &mut Report) -> Result<(), String> {
    report.section("in process, one thread");
    let mut graph = EventGraph::new(1, GraphLimits::default());
    let events = create(&mut graph, 2 * FRESH_PAIRS)?;
    let (decided, time_ms) = timed(|| {
        let mut one =
            |pair: &[EventId]| graph.assign_order(&[must(pair[0], pair[1])]).is_ok_and(|all| all[0].decided);
        events.chunks_exact(2).filter(|pair| one(pair)).count()
    });
    if decided != FRESH_PAIRS {
        return Err(format!("only {decided} of {FRESH_PAIRS} fresh pairs could be ordered"));
    }
    let pairs: Vec<(EventId, EventId)> = events.chunks_exact(2).map(|pair| (pair[1], pair[0])).collect();
    let after = graph.query_order(&pairs).map_err(fault)?;
    if after.iter().any(|order| *order != EventOrder::After) {
        return Err("an order that was assigned does not hold".into());
    }
    let rate = FRESH_PAIRS as f64 / time_ms * 1e3;
    let (name, shown) = ("assign_order, fresh pairs, one a call", format!("{:.2} M/s", rate / 1e6));
    report.figure(name, &shown, "2 M/s", rate > ASSIGN_TARGET);
    stamps(report)
}

/// Stamps of gatekeepers that exchange clocks now and then; comparisons of pairs of them.
fn stamps(report: &mut Report) -> Result<(), String> {
    let mut chance = Chance::seeded(super::SEED);
    let mut machine = Machine::new(GraphLimits::default());
    let mut run = |command| {
        let entry = Entry { now_ms: 1, session: SHARED_SESSION, request: 0, command };
        machine.apply(entry).map_err(fault)
    };
    run(Command::BeginEpoch { epoch: 1, gatekeepers: GATEKEEPERS as u32 })?;
    let (mut clocks, mut stamps) = (vec![vec![0; GATEKEEPERS]; GATEKEEPERS], Vec::new());
    for _ in 0..STAMPS {
        let (own, other) = (chance.index(GATEKEEPERS), chance.index(GATEKEEPERS));
        let heard = clocks[other].clone();
        clocks[own]
            .iter_mut()
            .zip(heard)
            .for_each(|(known, heard): (&mut u64, u64)| *known = heard.max(*known));
        clocks[own][own] += 1;
        stamps.push(Stamp::from_parts(1, own, clocks[own].clone()).ok_or("a stamp without its own counter")?);
    }
    let mut decided = 0;
    for pair in stamps.windows(2).step_by(DECIDED_EVERY) {
        let (this, that) = (pair[0].clone(), pair[1].clone());
        let one = StampConstraint { this, direction: Direction::Before, that, strength: Strength::Prefer };
        if let Answer::Assigned(all) = run(Command::AssignStamps(vec![one]))? {
            decided += usize::from(all[0].decided);
        }
    }
    let mut pair = || {
        let (a, b) = (chance.index(stamps.len()), chance.index(stamps.len() - 1));
        // Another one than the first.
        [(stamps[a].clone(), stamps[if b < a { b } else { b + 1 }].clone())]
    };
    let pairs: Vec<[(Stamp, Stamp); 1]> = (0..STAMP_QUESTIONS).map(|_| pair()).collect();
    let (answers, time_ms) =
        timed(|| pairs.iter().map(|pair| machine.query_stamps(pair)).collect::<Result<Vec<_>, _>>());
    let answers = answers.map_err(fault)?;
    for (pair, answer) in pairs.iter().zip(answers) {
        let known = match pair[0].0.compare(&pair[0].1) {
            Some(Ordering::Less) => Some(EventOrder::Before),
            Some(Ordering::Greater) => Some(EventOrder::After),
            _ => None,
        };
        if known.is_some_and(|known| known != answer[0]) {
            return Err(format!("{} and {} are answered {:?}", pair[0].0, pair[0].1, answer[0]));
        }
    }
    let each_ns = time_ms * 1e6 / STAMP_QUESTIONS as f64;
    report
        .note(format!("{GATEKEEPERS} chains of {STAMPS} stamps, {decided} pairs decided beside the vectors"));
    report.figure(
        "query_order, chains of stamps",
        &format!("{each_ns:.0} ns"),
        "1 us",
        each_ns < STAMP_TARGET_NS,
    );
    Ok(())
}

/// Figure 5.5: the growth of the process, with a reference to each event, held by a session.
pub(super) fn memory(report: &mut Report) -> Result<(), String> {
    report.section("figure 5.5: memory of live events, each with a reference");
    let before = resident_bytes().ok_or("the system does not say what is resident")?;
    let mut machine = Machine::new(GraphLimits::default());
    let mut run =
        |session, command| machine.apply(Entry { now_ms: 1, session, request: 0, command }).map_err(fault);
    let Answer::Opened(session) = run(SHARED_SESSION, Command::OpenSession { lease_ms: 1_000 })? else {
        return Err("no session was opened".into());
    };
    let mut created = 0;
    while created < LIVE_EVENTS {
        let count = (LIVE_EVENTS - created).min(10_000) as u32;
        run(session, Command::CreateEvents { count })?;
        created += u64::from(count);
    }
    let held = resident_bytes().ok_or("the system does not say what is resident")?.saturating_sub(before);
    let counts = machine.graph().counts();
    if (counts.events, counts.references) != (LIVE_EVENTS, LIVE_EVENTS) || session == SessionId(0) {
        return Err(format!("{} events are alive, not {LIVE_EVENTS}", counts.events));
    }
    let each = held as f64 / LIVE_EVENTS as f64;
    let name = format!("{} M events", LIVE_EVENTS / 1_000_000);
    report.figure(&name, &format!("{each:.1} bytes an event"), "under 64 (paper: 120)", each < BYTES_TARGET);
    Ok(())
}

/// Figure 5.6: one release that collects a whole chain.
pub(super) fn release(report: &mut Report) -> Result<(), String> {
    report.section("figure 5.6: the release that collects a chain (paper: linear)");
    let mut each_ns = Vec::new();
    for length in CHAINS {
        let mut graph = EventGraph::new(1, GraphLimits::default());
        let mut time_ms = 0.0;
        for _ in 0..RELEASED / length {
            let events = create(&mut graph, length)?;
            let links: Vec<Constraint> = events.windows(2).map(|pair| must(pair[0], pair[1])).collect();
            for batch in links.chunks(10_000) {
                graph.assign_order(batch).map_err(fault)?;
            }
            graph.release_refs(&events[1..]).map_err(fault)?;
            let (collected, this_ms) = timed(|| graph.release_refs(&events[..1]));
            time_ms += this_ms;
            if collected != Ok(length as u64) {
                return Err(format!("{collected:?} of {length} events were collected"));
            }
        }
        let each = time_ms * 1e6 / (RELEASED / length * length) as f64;
        report.note(format!(
            "{length:>9} events   {each:6.1} ns each, {:10.3} ms in all",
            each * length as f64 / 1e6
        ));
        each_ns.push(each);
    }
    // Below a thousand events the call itself and the clock are what is measured.
    let long = &each_ns[2..];
    let (least, most) =
        long.iter().fold((f64::MAX, 0.0_f64), |(least, most), each| (least.min(*each), most.max(*each)));
    let shown = format!("{least:.1} to {most:.1} ns an event");
    let target = format!("at most {LINEAR_MAX} times from 1,000 to 1,000,000");
    report.figure("release of a chain is linear", &shown, &target, most < least * LINEAR_MAX);
    Ok(())
}
