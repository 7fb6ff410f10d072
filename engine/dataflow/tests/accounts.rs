//! Limits of users, tenants and the machine, the admission queue, rules for runaway queries, and the order of admission.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::watch::{LoopBytes, Stopped};
use dataflow::{
    AccountOptions, Action, Context, Ending, Fault, Flow, Graph, GraphBuilder, Level, Operator, Outcome,
    QueryHandle, QueryOptions, Rule, Runtime, RuntimeOptions, Threshold, VertexOptions,
};
use std::time::{Duration, Instant};

/// Works so long (for ever if none), holds so many bytes, then says one row.
struct Work {
    left: Option<Duration>,
    bytes: usize,
    charged: bool,
    messages: Census,
}

impl Operator<Rows> for Work {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!()
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        if !std::mem::replace(&mut self.charged, true) {
            context.charge(self.bytes)?;
        }
        let start = Instant::now();
        while !context.should_yield() {
            if self.left.is_some_and(|left| start.elapsed() >= left) {
                context.send(Rows::new(vec![1], &self.messages));
                return Ok(Flow::Ready);
            }
        }
        self.left = self.left.map(|left| left.saturating_sub(start.elapsed()));
        Ok(Flow::Again)
    }
}

fn work(left: Option<Duration>, bytes: usize) -> Graph<Rows> {
    let mut graph = GraphBuilder::new();
    let source = graph.vertex("Work", VertexOptions::source(), move |_| {
        Box::new(Work { left, bytes, charged: false, messages: Census::default() })
    });
    graph.output(source);
    graph.finish().unwrap()
}

fn endless() -> Graph<Rows> {
    work(None, 0)
}

fn of(tenant: u32, user: u32) -> QueryOptions {
    QueryOptions { tenant, user, ..QueryOptions::default() }
}

fn runtime_of(machine: AccountOptions) -> Runtime<Rows> {
    Runtime::start(RuntimeOptions { executors: 1, pin: false, machine, ..RuntimeOptions::default() }).unwrap()
}

fn end(handle: &mut QueryHandle<Rows>) -> Option<Fault> {
    let mut fault = None;
    while let Some(result) = handle.next_timeout(Duration::from_secs(10)).expect("it ends") {
        fault = result.err().or(fault);
    }
    fault
}

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn queries_beyond_a_limit_wait_and_come_in_turns_over_users() {
    let runtime = runtime_of(AccountOptions::default());
    runtime.set_tenant(1, &AccountOptions { queries_max: Some(2), ..AccountOptions::default() });
    let first: Vec<_> = (0..2).map(|_| runtime.submit(endless(), of(1, 1))).collect();
    let mut waiting: Vec<_> = (0..4).map(|_| runtime.submit(endless(), of(1, 1))).collect();
    let mut other_user = runtime.submit(work(Some(Duration::ZERO), 0), of(1, 2));
    let mut other_tenant = runtime.submit(work(Some(Duration::ZERO), 0), of(2, 1));
    assert!(end(&mut other_tenant).is_none(), "another tenant does not wait");
    let running = |runtime: &Runtime<Rows>| runtime.queries().iter().filter(|query| query.running).count();
    assert_eq!((running(&runtime), runtime.queries().len()), (2, 7));
    assert!(other_user.try_next().is_none(), "it waits");
    waiting.remove(0).cancel("while it waits");
    assert_eq!((running(&runtime), runtime.queries().len()), (2, 6));
    drop(first);
    assert!(end(&mut other_user).is_none(), "its turn comes before the first user's third");
    wait("two of the first user run", || running(&runtime) == 2);
    drop(waiting);
    wait("all are gone", || runtime.queries().is_empty());
    assert!(end(&mut runtime.submit(work(Some(Duration::ZERO), 0), of(1, 1))).is_none(), "and there is room");
}

#[test]
fn one_that_does_not_wait_is_let_in_whatever_room_there_is() {
    let runtime = runtime_of(AccountOptions { queries_max: Some(1), ..AccountOptions::default() });
    let long = runtime.submit(endless(), of(1, 1));
    let mut waiting = runtime.submit(work(Some(Duration::ZERO), 0), of(1, 1));
    let at_once = QueryOptions { waits: false, ..of(1, 1) };
    for _ in 0..3 {
        let mut listing = runtime.submit(work(Some(Duration::ZERO), 0), at_once.clone());
        assert!(end(&mut listing).is_none(), "it stands behind nobody");
        assert!(waiting.try_next().is_none(), "who waits goes on waiting");
    }
    let endless_too = runtime.submit(endless(), at_once);
    let running = || runtime.queries().iter().filter(|query| query.running).count();
    assert_eq!(running(), 2, "it is counted");
    drop(long);
    wait("the first has left", || runtime.queries().len() == 2);
    assert!(waiting.try_next().is_none(), "what was let in takes the place");
    drop(endless_too);
    assert!(end(&mut waiting).is_none(), "and gives it back");
}

#[test]
fn one_that_waits_has_a_deadline_too() {
    let runtime = runtime_of(AccountOptions { queries_max: Some(1), ..AccountOptions::default() });
    let _long = runtime.submit(endless(), of(0, 0));
    let options = QueryOptions { deadline: Some(Duration::from_millis(20)), ..of(0, 0) };
    assert!(matches!(end(&mut runtime.submit(endless(), options)), Some(Fault::TimedOut { .. })));
}

#[test]
fn a_full_line_refuses() {
    let runtime = runtime_of(AccountOptions { queries_max: Some(1), ..AccountOptions::default() });
    let _long = runtime.submit(endless(), of(0, 0));
    let waiting: Vec<_> = (0..dataflow::limits::QUERIES_WAITING_MAX)
        .map(|number| runtime.submit(endless(), of(0, number as u32 % 7)))
        .collect();
    let fault = end(&mut runtime.submit(endless(), of(0, 9)));
    assert!(matches!(fault, Some(Fault::Refused { waiting: 16_384 })), "{fault:?}");
    drop(waiting);
}

#[test]
fn bytes_of_all_queries_of_an_account_count_together() {
    let runtime = runtime_of(AccountOptions::default());
    let mebibyte = |count: u64| Some(count << 20);
    runtime.set_tenant(1, &AccountOptions { bytes_max: mebibyte(10), ..AccountOptions::default() });
    runtime.set_user(1, 1, &AccountOptions { bytes_max: mebibyte(5), ..AccountOptions::default() });
    let hold = |user| runtime.submit(work(None, 4 << 20), of(1, user));
    let (first, second) = (hold(1), hold(2));
    wait("both hold theirs", || runtime.queries().iter().all(|query| query.bytes == 4 << 20));
    let fault = end(&mut hold(1));
    assert!(
        matches!(fault, Some(Fault::OverBudget { level: Level::User, limit: 0x50_0000, .. })),
        "{fault:?}"
    );
    let fault = end(&mut hold(2));
    assert!(matches!(fault, Some(Fault::OverBudget { level: Level::Tenant, .. })), "{fault:?}");
    drop((first, second));
    wait("all is given back", || runtime.queries().is_empty());
    for _ in 0..50 {
        let mut again = runtime.submit(work(Some(Duration::ZERO), 4 << 20), of(1, 1));
        assert!(end(&mut again).is_none(), "what ended holds nothing");
        drop(again);
    }
}

#[test]
fn accounts_limit_time() {
    let runtime = runtime_of(AccountOptions::default());
    let time_max = Some(Duration::from_millis(30));
    runtime.set_user(3, 4, &AccountOptions { time_max, ..AccountOptions::default() });
    assert!(matches!(end(&mut runtime.submit(endless(), of(3, 4))), Some(Fault::TimedOut { .. })));
}

#[test]
fn rules_kill_slow_down_and_move() {
    let runtime = runtime_of(AccountOptions::default());
    let rules =
        |beyond, then| AccountOptions { rules: vec![Rule { beyond, then }], ..AccountOptions::default() };
    let soon = Threshold::Cpu(Duration::from_millis(20));
    runtime.set_user(1, 1, &rules(soon.clone(), Action::Kill));
    let fault = end(&mut runtime.submit(endless(), of(1, 1)));
    let Some(Fault::Cancelled { reason }) = fault else { panic!("{fault:?}") };
    assert!(reason.contains("20 ms of processor time"), "{reason}");

    runtime.set_user(1, 2, &rules(Threshold::Age(Duration::from_millis(10)), Action::MoveTo(7)));
    let _moved = runtime.submit(endless(), of(1, 2));
    wait("it runs on another's share", || runtime.queries().iter().any(|query| query.tenant == 7));

    runtime.set_user(1, 3, &rules(Threshold::Bytes(1 << 20), Action::Slow { weight: 1 }));
    let (_fat, mut slim) =
        (runtime.submit(work(None, 2 << 20), of(1, 3)), runtime.submit(endless(), of(1, 3)));
    wait("the slim one gets nearly all", || {
        let of_user: Vec<_> = runtime.queries().into_iter().filter(|query| query.user == 3).collect();
        of_user[1].cpu_ns > 5 * of_user[0].cpu_ns && of_user[1].cpu_ns > 20_000_000
    });
    assert!(slim.try_next().is_none());
}

#[test]
fn short_queries_overtake_long_ones_of_the_same_user() {
    let runtime = runtime_of(AccountOptions::default());
    let _long: Vec<_> = (0..8).map(|_| runtime.submit(endless(), of(0, 0))).collect();
    let used = || runtime.queries().iter().map(|query| query.cpu_ns).collect::<Vec<_>>();
    wait("they have run long", || used().iter().all(|cpu_ns| *cpu_ns > 60_000_000));
    let before: u64 = used().iter().sum();
    let _short = runtime.submit(endless(), of(0, 0));
    wait("it has had its 8 ms", || used()[8] > 8_000_000);
    let after = used();
    let others = after[..8].iter().sum::<u64>() - before;
    assert!(others < 4 * after[8], "without precedence it would be eight times: {others} and {}", after[8]);
}

#[test]
fn ten_thousand_queries_are_accepted_at_once() {
    let runtime = runtime_of(AccountOptions { bytes_max: Some(1 << 30), ..AccountOptions::default() });
    let mut handles: Vec<_> = (0..10_000)
        .map(|number| {
            runtime.submit(work(Some(Duration::from_micros(10)), 1_000), of(number % 10, number % 100))
        })
        .collect();
    handles.iter_mut().for_each(|handle| assert!(end(handle).is_none()));
}

/// What a service keeps is lost when it ends, so only its own bytes end it.
#[test]
fn bytes_of_others_end_no_service() {
    const LIMIT: u64 = 20 << 20;
    let runtime = runtime_of(AccountOptions::default());
    runtime.set_tenant(7, &AccountOptions { bytes_max: Some(LIMIT), ..AccountOptions::default() });
    let service = runtime.services()(7, "one".into());
    let mut other = runtime.ledger()(7);
    assert_eq!(other.set(2 * LIMIT), Err((Level::Tenant, LIMIT)));
    let hold = |bytes: u64| {
        let _turn = service.begin();
        let mut hold = LoopBytes::default();
        hold.grow(bytes)
    };
    // Charges come in grains.
    let grain = 4 << 20;
    assert_eq!((hold(1), hold(LIMIT - grain), service.ending()), (Ok(()), Ok(()), None));
    service.keeps(LIMIT / 2);
    assert_eq!((hold(LIMIT / 2 - grain), service.ending()), (Ok(()), None));
    assert_eq!(hold(LIMIT / 2 + 1), Err(Stopped::Bytes));
    assert_eq!(service.ending(), Some(Ending::Bytes(Level::Tenant, LIMIT)));
    // What a turn held is given back, whatever became of it.
    drop(other);
    let mut other = runtime.ledger()(7);
    assert_eq!(other.set(LIMIT), Ok(()));
    assert_eq!(other.set(LIMIT + 1), Err((Level::Tenant, LIMIT)));

    // The least of the limits is meant, whichever is met first.
    let machine = AccountOptions { bytes_max: Some(LIMIT / 2), ..AccountOptions::default() };
    let runtime = runtime_of(machine);
    runtime.set_tenant(7, &AccountOptions { bytes_max: Some(LIMIT), ..AccountOptions::default() });
    let (service, mut other) = (runtime.services()(7, "one".into()), runtime.ledger()(7));
    assert!(other.set(2 * LIMIT).is_err());
    let _turn = service.begin();
    assert_eq!(LoopBytes::default().grow(LIMIT / 2 + 1), Err(Stopped::Bytes));
    assert_eq!(service.ending(), Some(Ending::Bytes(Level::Machine, LIMIT / 2)));
}

/// A statement of several queries is one in lists and for its accounts; its parts end with it, and for the same reason.
#[test]
fn parts_are_counted_as_their_whole_and_end_with_it() {
    let runtime = runtime_of(AccountOptions { queries_max: Some(1), ..AccountOptions::default() });
    let part = |whole: &QueryHandle<Rows>, graph| {
        runtime.submit(graph, QueryOptions { part_of: Some(whole.id()), ..of(1, 1) })
    };
    let ended = |fault: Option<Fault>| match fault {
        Some(Fault::Cancelled { reason }) => reason,
        other => panic!("{other:?}"),
    };
    let mut whole = runtime.submit(endless(), of(1, 1));
    // The one place there is, is the whole's; a part needs none.
    assert!(end(&mut part(&whole, work(Some(Duration::ZERO), 0))).is_none());
    let mut long = part(&whole, work(None, 3 << 20));
    wait("what parts take and took is their whole's", || {
        let listed = runtime.queries();
        listed.len() == 1 && listed[0].id == whole.id() && (listed[0].bytes, listed[0].rows) == (3 << 20, 1)
    });
    whole.cancel("by the test");
    assert_eq!([ended(end(&mut whole)), ended(end(&mut long))], ["by the test"; 2]);
    let late = ended(end(&mut part(&whole, endless())));
    assert!(late.contains("a part of has ended"), "{late}");

    let deadline = Some(Duration::from_secs(1));
    let mut whole = runtime.submit(endless(), QueryOptions { deadline, ..of(1, 1) });
    let mut long = part(&whole, endless());
    for handle in [&mut whole, &mut long] {
        let fault = end(handle);
        assert!(matches!(fault, Some(Fault::TimedOut { .. })), "{fault:?}");
    }
    // Where the whole ends well, its part was left over.
    let mut whole = runtime.submit(work(Some(Duration::from_millis(50)), 0), of(1, 1));
    let mut long = part(&whole, endless());
    assert!(end(&mut whole).is_none());
    assert!(ended(end(&mut long)).contains("a part of has ended"));
    assert!(end(&mut runtime.submit(work(Some(Duration::ZERO), 0), of(1, 1))).is_none(), "there is room");
}
