//! KronoGraph: a graph store in shards whose updates and questions are ordered by Kronos, and a twin that locks (Weaver, §2.5.2 and figure 5.1).
//!
//! ```text
//!   person 7   friends {3, 9}   unsettled: [ add 12 (committed) ] [ remove 3 (placed) ]     in the order of Kronos
//!   question q reads person 7: "add 12" before q?  q before "remove 3"?  ──> Kronos says what q sees, here and in all shards
//! ```
//!
//! Idea: an update is placed at both of its persons, and committed when it stands at both and all before it are committed, behind the last one that was. A question asks Kronos
//! to have it after the committed updates that it meets and before the others; whatever Kronos answers, holds on all shards. Placing an
//! update puts all questions that are under way before it, since they may have read its persons already.
//! Invariant: a question sees each update at all the persons that it reads, or at none.
//! Cost: an update that was committed before everything that is under way began is *settled*: it joins the set of friends, and is ordered without
//! asking. So most questions meet nothing unsettled and never ask Kronos.

mod history;
mod locks;
mod ordered;
mod social;

pub use history::{History, Step};
pub use social::Social;

use crate::{Events, Load, LockClient, Outcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tanglewood_kronos::blocking::Kronos;
use tanglewood_kronos::{KronosError, Options};
use world::chance::Chance;

/// Shards of the store.
pub const SHARDS: usize = 8;
/// Percentage of updates among operations.
const UPDATES_PERCENT: u64 = 5;

/// The friends of a person, ascending.
pub(crate) type Friends = Arc<Vec<u32>>;

/// An operation of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Two become friends, or cease to be.
    Update {
        /// One of them.
        one: u32,
        /// The other.
        other: u32,
        /// Whether they become friends.
        add: bool,
    },
    /// Who has most friends in common with a person, and is not yet a friend?
    Recommend {
        /// The person.
        person: u32,
    },
}

fn shard_of(person: u32) -> usize {
    person as usize % SHARDS
}

/// The operations of one client: 95 % questions; of the updates a half adds friendships, a quarter new persons, a quarter removes.
fn operations(
    load: &Load,
    client: usize,
    count: usize,
    social: &Social,
    newest: &AtomicU32,
) -> impl Iterator<Item = Operation> {
    let mut chance = Chance::seeded(load.seed.wrapping_mul(1_000_003) + client as u64);
    let people = social.people().max(2);
    (0..count).map(move |_| {
        let one = chance.below(u64::from(people)) as u32;
        if chance.below(100) >= UPDATES_PERCENT {
            return Operation::Recommend { person: one };
        }
        let known = (one + 1 + chance.below(u64::from(people) - 1) as u32) % people;
        match chance.below(4) {
            0 => Operation::Update { one, other: newest.fetch_add(1, Ordering::Relaxed), add: true },
            1 => match social.friends(one) {
                [] => Operation::Update { one, other: known, add: true },
                friends => Operation::Update { one, other: friends[chance.index(friends.len())], add: false },
            },
            _ => Operation::Update { one, other: known, add: true },
        }
    })
}

/// The most friends in common wins, the smaller number on equal terms. `friends` are those of the person, `theirs` the friends of each.
fn recommend<'a>(person: u32, friends: &[u32], theirs: impl Iterator<Item = &'a [u32]>) -> Option<u32> {
    let mut common: Vec<u32> = theirs.flatten().copied().collect();
    common.sort_unstable();
    let groups = common.chunk_by(|a, b| a == b);
    let strangers = groups.filter(|one| one[0] != person && friends.binary_search(&one[0]).is_err());
    strangers.map(|one| (one.len(), std::cmp::Reverse(one[0]))).max().map(|(_, person)| person.0)
}

fn with_change(friends: &mut Vec<u32>, other: u32, add: bool) {
    match (friends.binary_search(&other), add) {
        (Err(at), true) => friends.insert(at, other),
        (Ok(at), false) => drop(friends.remove(at)),
        _ => {}
    }
}

/// Results of one client.
#[derive(Default)]
struct Done {
    steps: Vec<Step>,
    repeated: u64,
}

fn outcome(
    social: &Social,
    done: Vec<Result<Done, KronosError>>,
    elapsed: Duration,
    calls: u64,
) -> Result<Outcome, KronosError> {
    let done: Vec<Done> = done.into_iter().collect::<Result<_, _>>()?;
    let repeated = done.iter().map(|one| one.repeated).sum();
    let history = History(done.into_iter().flat_map(|one| one.steps).collect());
    let verdict = history.check(social);
    Ok(Outcome { operations: history.0.len(), elapsed, repeated, calls, verdict })
}

/// The store ordered by Kronos.
///
/// # Errors
/// Kronos is away or full.
pub fn with_kronos(kronos: Options, load: &Load, social: &Social) -> Result<Outcome, KronosError> {
    // All clients and shards of the store are one process and share one client of Kronos.
    let kronos = Kronos::connect_with(Options { gather: true, ..kronos })?;
    let store = ordered::Store::new(Events::new(kronos.clone()), social);
    let newest = AtomicU32::new(social.people());
    let (done, elapsed) = load.run(|client, count| {
        let all = operations(load, client, count, social, &newest);
        let steps = all.map(|operation| store.carry_out(load, operation)).collect::<Result<_, _>>()?;
        Ok(Done { steps, repeated: 0 })
    });
    let calls = store.calls();
    drop(store);
    kronos.close()?;
    outcome(social, done, elapsed, calls)
}

/// The twin that locks by a service every person that an operation touches, over the same wire and as durably as Kronos orders.
///
/// # Errors
/// The service is away.
pub fn with_lock_service(locks: &LockClient, load: &Load, social: &Social) -> Result<Outcome, KronosError> {
    let calls_before = locks.tickets();
    let (done, elapsed) = locked(Some(locks), load, social);
    outcome(social, done, elapsed, locks.tickets() - calls_before)
}

/// The twin whose shards lock every person that an operation touches; their locks are in memory and cost nothing but the messages.
pub fn with_locks(load: &Load, social: &Social) -> Outcome {
    let (done, elapsed) = locked(None, load, social);
    outcome(social, done, elapsed, 0).expect("locks never fail")
}

fn locked(
    locks: Option<&LockClient>,
    load: &Load,
    social: &Social,
) -> (Vec<Result<Done, KronosError>>, Duration) {
    let store = locks::Store::new(social);
    let newest = AtomicU32::new(social.people());
    load.run(|client, count| {
        let mut done = Done::default();
        let mut chance = Chance::seeded(load.seed ^ client as u64);
        for operation in operations(load, client, count, social, &newest) {
            let (step, repeated) = store.carry_out(locks, load, operation, &mut chance)?;
            done.steps.push(step);
            done.repeated += repeated;
        }
        Ok(done)
    })
}
