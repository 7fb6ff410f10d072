//! The client against real servers: every call, every kind of error, a leader that goes, leases, retries.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use kronos::{Options as ServerOptions, Running, serve};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tanglewood_kronos::{Assigned, Constraint, Event, Kronos, KronosError, Options, Order, blocking};
use world::files::TemporaryFolder;

struct Group {
    folder: TemporaryFolder,
    addresses: Vec<String>,
    servers: Vec<Option<Running>>,
}

impl Group {
    fn start(replicas: usize) -> Group {
        let folder = TemporaryFolder::new("kronos-client").unwrap();
        let ports: Vec<TcpListener> =
            (0..replicas).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let addresses = ports.iter().map(|port| port.local_addr().unwrap().to_string()).collect();
        drop(ports);
        let mut group = Group { folder, addresses, servers: (0..replicas).map(|_| None).collect() };
        (0..replicas).for_each(|at| group.begin(at));
        group
    }
    fn begin(&mut self, at: usize) {
        let data = self.folder.path().join(at.to_string());
        let mut options = ServerOptions::new(self.addresses[at].parse().unwrap(), data);
        if self.addresses.len() > 1 {
            options.peers = self.addresses.clone();
        }
        self.servers[at] = Some(serve(&options).unwrap());
    }
    fn end(&mut self, at: usize) {
        self.servers[at].take().unwrap().stop().unwrap();
    }
    fn leader(&self, kronos: &blocking::Kronos) -> usize {
        let started = Instant::now();
        loop {
            let leader = kronos.stats().unwrap().leader;
            if let Some(at) = self.addresses.iter().position(|one| *one == leader) {
                return at;
            }
            assert!(started.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    fn client(&self) -> blocking::Kronos {
        blocking::Kronos::connect_with(Options::new(self.addresses.clone())).unwrap()
    }
}

fn before(a: Event, b: Event) -> Constraint {
    Constraint::must(a, Order::Before, b)
}

#[test]
fn every_call_and_every_kind_of_error() {
    let group = Group::start(1);
    let kronos = group.client();
    let e = kronos.create_events(4).unwrap();
    let prefer = Constraint::prefer(e[1], Order::Before, e[0]);
    let assigned = kronos.assign_order(&[prefer, before(e[0], e[1])]).unwrap();
    let expected = [(Order::After, false), (Order::Before, true)];
    assert_eq!(assigned, expected.map(|(order, decided)| Assigned { order, decided }));
    assert_eq!(kronos.cached_pairs(), 1);
    assert_eq!(kronos.query_order(&[(e[1], e[0]), (e[0], e[2])]).unwrap(), [Order::After, Order::Concurrent]);
    let searches = kronos.stats().unwrap().searches;
    kronos.query_order(&[(e[0], e[1])]).unwrap();
    assert_eq!(kronos.stats().unwrap().searches, searches, "an ordered pair is not asked for again");

    let foreign = Event(17);
    let refused = kronos.assign_order(&[before(e[1], e[2]), before(e[2], e[0])]).unwrap_err();
    assert!(matches!(refused, KronosError::Contradiction { at: Some(1), .. }), "{refused:?}");
    assert_eq!(kronos.query_order(&[(e[1], e[2])]).unwrap(), [Order::Concurrent], "nothing half done");
    let refused = kronos.assign_order(&[before(e[1], e[1])]).unwrap_err();
    assert!(matches!(refused, KronosError::InvalidArgument(_)), "{refused:?}");
    let refused = kronos.assign_order(&[Constraint::must(e[1], Order::Concurrent, e[2])]).unwrap_err();
    assert!(matches!(refused, KronosError::InvalidArgument(_)), "{refused:?}");
    for refused in [
        kronos.query_order(&[(e[0], foreign)]).unwrap_err(),
        kronos.acquire_refs(&[e[0], foreign]).unwrap_err(),
        kronos.release_refs(&[e[0], foreign]).unwrap_err(),
    ] {
        assert!(matches!(refused, KronosError::NoEvent(_)), "{refused:?}");
    }
    let refused = kronos.create_events(1 << 17).unwrap_err();
    assert!(matches!(refused, KronosError::InvalidArgument(_)), "{refused:?}");
    assert!(kronos.create_events(0).unwrap().is_empty());
    assert!(kronos.query_order(&[]).unwrap().is_empty());
    assert!(kronos.assign_order(&[]).unwrap().is_empty());

    // References belong to sessions.
    let other = group.client();
    let refused = other.release_refs(&[e[0]]).unwrap_err();
    assert!(matches!(refused, KronosError::Precondition(_)), "{refused:?}");
    other.acquire_refs(&[e[0]]).unwrap();
    kronos.release_refs(&[e[0]]).unwrap();
    assert_eq!(other.query_order(&[(e[0], e[1])]).unwrap(), [Order::Before]);
    other.close().unwrap();
    let refused = kronos.acquire_refs(&[e[0]]).unwrap_err();
    assert!(matches!(refused, KronosError::NoEvent(_)), "{refused:?}");
    assert_eq!(kronos.stats().unwrap().references, 3);
    let again = kronos.clone();
    kronos.close().unwrap();
    assert!(matches!(again.create_event().unwrap_err(), KronosError::SessionOver(_)));
    again.close().unwrap();
}

/// Callers whose orders go together: each gets its own answer, also where somebody's is refused.
#[test]
fn callers_that_gather_are_answered_each_for_itself() {
    let group = Group::start(1);
    let options = Options { gather: true, cached_pairs: 0, ..Options::new(group.addresses.clone()) };
    let kronos = blocking::Kronos::connect_with(options).unwrap();
    let e = kronos.create_events(2 * 16 * 50).unwrap();
    let committed = kronos.stats().unwrap().committed;
    world::threads::in_parallel("caller", 16, |caller| {
        for round in 0..50 {
            let at = 2 * (caller * 50 + round);
            let assigned = kronos.assign_order(&[before(e[at], e[at + 1])]).unwrap();
            assert_eq!(assigned, [Assigned { order: Order::Before, decided: true }]);
        }
    });
    let calls = kronos.stats().unwrap().committed - committed;
    assert!(calls < 16 * 50 / 2, "{calls} calls");
    world::threads::in_parallel("caller", 16, |caller| {
        for round in 0..50 {
            let at = 2 * (caller * 50 + round);
            let again = [before(e[at], e[at + 1]), before(e[at + 1], e[at])];
            match kronos.assign_order(&again[..1 + usize::from(caller % 4 == 0)]) {
                Ok(assigned) => assert_eq!(assigned, [Assigned { order: Order::Before, decided: false }]),
                Err(KronosError::Contradiction { at: Some(1), .. }) => assert_eq!(caller % 4, 0),
                other => panic!("{other:?}"),
            }
        }
    });
    let pairs: Vec<(Event, Event)> = e.as_chunks::<2>().0.iter().map(|pair| (pair[0], pair[1])).collect();
    assert!(kronos.query_order(&pairs).unwrap().iter().all(|order| *order == Order::Before));
    let none = kronos.assign_order(&[]).unwrap();
    assert_eq!(none, []);
    let many = vec![before(e[0], e[1]); tanglewood_kronos::BATCH_MAX + 1];
    assert!(matches!(kronos.assign_order(&many), Err(KronosError::InvalidArgument(_))));
    kronos.close().unwrap();
}

/// A patience that no clock can measure was a panic, and a lease of more than three days was renewed too late.
#[test]
fn leases_and_patience_may_be_of_any_length() {
    let group = Group::start(1);
    for length in [Duration::MAX, Duration::ZERO] {
        let options = Options { lease: length, patience: length, ..Options::new(group.addresses.clone()) };
        let kronos = blocking::Kronos::connect_with(options).unwrap();
        kronos.create_event().unwrap();
        kronos.close().unwrap();
    }
    let refused = group.client().change_members("nonsense", false).unwrap_err();
    assert!(matches!(refused, KronosError::InvalidArgument(_)), "{refused:?}");
    assert_eq!(group.client().stats().unwrap().members.len(), 1);
}

#[test]
fn options_that_are_wrong_are_said_at_once() {
    for address in ["", "no address", "http://127.0.0.1:1"] {
        let refused = blocking::Kronos::connect(address).map(drop).unwrap_err();
        assert!(matches!(refused, KronosError::Options(_)), "{address}: {refused:?}");
    }
    let none = Options::new(Vec::<String>::new());
    assert!(matches!(blocking::Kronos::connect_with(none).map(drop).unwrap_err(), KronosError::Options(_)));
    let mut away = Options::new(["127.0.0.1:1"]);
    away.patience = Duration::from_millis(300);
    let started = Instant::now();
    let refused = blocking::Kronos::connect_with(away).map(drop).unwrap_err();
    assert!(matches!(refused, KronosError::Unavailable(_)), "{refused:?}");
    assert!(started.elapsed() < Duration::from_secs(5));
}

/// The leader goes while clients work: they see no error, and nothing happens twice.
#[test]
fn clients_outlive_the_leader_and_retries_happen_once() {
    let mut group = Group::start(3);
    let watch = group.client();
    let before_all = watch.stats().unwrap().created;
    let done = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (kronos, done) = (group.client(), done.clone());
            std::thread::spawn(move || {
                let mut events: Vec<Event> = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    let new = kronos.create_events(3).unwrap();
                    kronos.assign_order(&[before(new[0], new[1])]).unwrap();
                    events.extend(new);
                }
                (kronos, events)
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    let first = group.leader(&watch);
    group.end(first);
    std::thread::sleep(Duration::from_secs(3));
    group.begin(first);
    std::thread::sleep(Duration::from_millis(500));
    done.store(true, Ordering::Relaxed);
    let ended: Vec<_> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    let made: usize = ended.iter().map(|(_, events)| events.len()).sum();
    let leader = group.leader(&watch);
    let at_leader = blocking::Kronos::connect(&group.addresses[leader]).unwrap();
    assert_eq!(at_leader.stats().unwrap().created - before_all, made as u64);
    for (kronos, events) in ended {
        assert_eq!(kronos.query_order(&[(events[1], events[0])]).unwrap(), [Order::After]);
        let last = events.len() - 3;
        assert_eq!(at_leader.query_order(&[(events[last], events[last + 1])]).unwrap(), [Order::Before]);
    }
}

/// A lease is renewed while the client lives, and what it held goes when it is gone without a word.
#[test]
fn leases_end_with_their_clients() {
    let group = Group::start(1);
    let watch = group.client();
    let mut options = Options::new(group.addresses.clone());
    options.lease = Duration::from_secs(1);
    let kronos = blocking::Kronos::connect_with(options).unwrap();
    let e = kronos.create_events(5).unwrap();
    std::thread::sleep(Duration::from_millis(2_500));
    kronos.assign_order(&[before(e[0], e[1])]).unwrap();
    assert_eq!(watch.stats().unwrap().references, 5);
    drop(kronos);
    let started = Instant::now();
    while watch.stats().unwrap().references > 0 {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(watch.stats().unwrap().events, 0);
}

/// More calls at once than the server keeps answers for a session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_session_makes_many_calls_at_once() {
    let group = tokio::task::block_in_place(|| Group::start(1));
    let kronos = Kronos::connect(&group.addresses[0]).await.unwrap();
    let calls: Vec<_> = (0..300)
        .map(|at| {
            let kronos = kronos.clone();
            tokio::spawn(async move { kronos.create_events(if at % 50 == 0 { 40_000 } else { 3 }).await })
        })
        .collect();
    let mut made = 0;
    for call in calls {
        made += call.await.unwrap().unwrap().len();
    }
    assert_eq!(made, 6 * 40_000 + 294 * 3);
    assert_eq!(kronos.stats().await.unwrap().created as usize, made);
    kronos.close().await.unwrap();
    tokio::task::block_in_place(|| drop(group));
}

#[test]
fn tokens_and_certificates_are_shown_and_checked() {
    let folder = TemporaryFolder::new("kronos-client-tls").unwrap();
    let certificate = || rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let made = certificate();
    let (pem, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let token = "0123456789abcdef".to_string();
    let mut server = ServerOptions::new("127.0.0.1:0".parse().unwrap(), folder.path().join("data"));
    server.tls = Some(kronos::Tls::from_pem(pem.as_bytes(), key.as_bytes(), pem.as_bytes()));
    server.tokens = Some(kronos::Tokens::from_text(&token).unwrap());
    let running = serve(&server).unwrap();
    let options = Options {
        token: Some(token.clone()),
        tls_ca: Some(pem.into_bytes()),
        tls_name: Some("localhost".into()),
        patience: Duration::from_secs(2),
        ..Options::new([running.address().to_string()])
    };
    assert!(!format!("{options:?}").contains(&token), "a token is not printed");
    let refused = |options: Options| blocking::Kronos::connect_with(options).map(drop).unwrap_err();
    let kronos = blocking::Kronos::connect_with(options.clone()).unwrap();
    assert_eq!(kronos.create_events(2).unwrap().len(), 2);
    assert!(matches!(kronos.change_members("127.0.0.1:1", true).unwrap_err(), KronosError::Forbidden(_)));
    kronos.close().unwrap();
    for token in [None, Some("another-0123456789".to_string())] {
        let error = refused(Options { token, ..options.clone() });
        assert!(matches!(error, KronosError::Unauthenticated(_)), "{error:?}");
    }
    let stranger = Some(certificate().cert.pem().into_bytes());
    for (tls_ca, tls_name) in [
        (stranger, options.tls_name.clone()),
        (None, None),
        (options.tls_ca.clone(), Some("elsewhere".to_string())),
    ] {
        let error = refused(Options { tls_ca, tls_name, ..options.clone() });
        assert!(matches!(error, KronosError::Unavailable(_)), "{error:?}");
    }
    let unsendable = refused(Options { token: Some("line\nbreak".into()), ..options });
    assert!(matches!(unsendable, KronosError::Options(_)), "{unsendable:?}");
    running.stop().unwrap();
}
