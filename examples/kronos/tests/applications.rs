//! The applications against a real server, with many clients at once, and against their twins.

use kronos::{Options as ServerOptions, Running, serve};
use kronos_examples::kronograph::Social;
use kronos_examples::timeline::{Author, Post, Replica};
use kronos_examples::{Load, LockClient, LockService, bank, kronograph};
use std::collections::HashMap;
use std::time::Duration;
use tanglewood_kronos::blocking::Kronos;
use tanglewood_kronos::{Event, Options, Order};
use world::chance::Chance;
use world::files::TemporaryFolder;

struct Server {
    running: Running,
    folder: TemporaryFolder,
}

/// A lock service and its client, as long as one of them is used.
struct Locks {
    client: LockClient,
    _service: LockService,
}

impl std::ops::Deref for Locks {
    type Target = LockClient;
    fn deref(&self) -> &LockClient {
        &self.client
    }
}

impl Server {
    fn start() -> Server {
        let folder = TemporaryFolder::new("kronos-examples").unwrap();
        let options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), folder.path().join("data"));
        Server { running: serve(&options).unwrap(), folder }
    }
    /// A lock service with a log of this number.
    fn locks(&self, number: u64) -> Locks {
        let folder = self.folder.path().join(format!("locks-{number}"));
        world::files::create_folder(&folder).unwrap();
        let service = LockService::start(&folder).unwrap();
        Locks { client: LockClient::connect(service.address()).unwrap(), _service: service }
    }
    fn options(&self) -> Options {
        Options::new([self.running.address().to_string()])
    }
    fn client(&self) -> Kronos {
        Kronos::connect_with(self.options()).unwrap()
    }
    /// Whatever an application took it has given back.
    fn is_empty(&self) {
        let stats = self.client().stats().unwrap();
        assert_eq!((stats.events, stats.references), (0, 0), "{stats:?}");
    }
}

#[test]
fn the_bank_is_serial_and_loses_nothing() {
    let server = Server::start();
    let mut repeated = 0;
    for (accounts, threads, seed) in [(2, 8, 1), (5, 16, 2), (64, 16, 3), (1_000, 8, 4)] {
        let load = Load { seed, ..Load::new(threads, 1_200) };
        let ordered = bank::with_kronos(server.options(), &load, accounts).unwrap();
        assert_eq!(ordered.verdict, Ok(()), "{accounts} accounts");
        assert_eq!(ordered.operations, 1_200);
        repeated += ordered.repeated;
        let services = bank::with_lock_service(&server.locks(seed), &load, accounts).unwrap();
        for locked in [bank::with_locks(&load, accounts), services] {
            assert_eq!(locked.verdict, Ok(()), "{accounts} accounts");
            assert_eq!(locked.operations, 1_200);
        }
    }
    assert!(repeated > 0, "shards never disagreed");
    server.is_empty();
}

/// The verification detects a store without any order: it loses money.
#[test]
fn a_bank_without_order_is_found_out() {
    let load = Load { hop: Duration::from_micros(50), ..Load::new(8, 800) };
    assert!(bank::without_order(&load, 3).verdict.is_err());
}

/// `TANGLEWOOD_SEEDS=N` makes N rounds instead of one.
fn rounds() -> u64 {
    std::env::var("TANGLEWOOD_SEEDS").map_or(1, |rounds| rounds.parse().unwrap())
}

#[test]
fn the_graph_store_is_serial() {
    let server = Server::start();
    // Few people make many conflicts, and messages that take their time make all interleavings.
    let cases = [(6, 2, 200, 1), (12, 4, 0, 2), (12, 4, 300, 3), (300, 20, 0, 4)];
    let repeated = (0..rounds()).flat_map(|round| cases.map(|(p, d, h, seed)| (p, d, h, seed + 10 * round)));
    for (people, degree, hop_us, seed) in repeated {
        let social = Social::random(people, degree, seed);
        let load = Load { seed, hop: Duration::from_micros(hop_us), ..Load::new(12, 1_500) };
        let ordered = kronograph::with_kronos(server.options(), &load, &social).unwrap();
        assert_eq!(ordered.verdict, Ok(()), "{people} people, seed {seed}");
        assert_eq!(ordered.operations, 1_500);
        let services = kronograph::with_lock_service(&server.locks(seed), &load, &social).unwrap();
        for locked in [kronograph::with_locks(&load, &social), services] {
            assert_eq!(locked.verdict, Ok(()), "{people} people");
        }
    }
    server.is_empty();
}

/// Authors talk to each other while the network delivers to three replicas in three orders.
#[test]
fn replies_stand_below_what_they_answer() {
    let server = Server::start();
    let names = ["ada", "bob", "cyd", "dan"];
    let friendships: Vec<(&str, &str)> =
        names.iter().flat_map(|a| names.iter().filter(move |b| a < *b).map(move |b| (*a, *b))).collect();
    let posted: Vec<(Post, Option<Post>)> = {
        let all = parking_lot::Mutex::new(Vec::<(Post, Option<Post>)>::new());
        let write = |at: usize| {
            let author = Author::new(server.client(), names[at]);
            let mut chance = Chance::seeded(at as u64);
            for count in 0..30 {
                let seen: Vec<Post> = all.lock().iter().map(|(post, _)| post.clone()).collect();
                let to =
                    (chance.below(3) > 0 && !seen.is_empty()).then(|| seen[chance.index(seen.len())].clone());
                let text = format!("{count}");
                let post = match &to {
                    Some(to) => author.reply(&text, to).unwrap(),
                    None => author.post(&text).unwrap(),
                };
                all.lock().push((post, to));
            }
            author
        };
        // The authors' events live as long as they do.
        let authors = world::threads::in_parallel("author", names.len(), write);
        let posted = all.into_inner();
        check_replicas(&server, &friendships, &posted);
        drop(authors);
        posted
    };
    assert_eq!(posted.len(), 120);
}

fn check_replicas(server: &Server, friendships: &[(&str, &str)], posted: &[(Post, Option<Post>)]) {
    let events: Vec<Event> = posted.iter().map(|(post, _)| post.event).collect();
    let pairs: Vec<(Event, Event)> =
        events.iter().flat_map(|a| events.iter().filter(move |b| a != *b).map(move |b| (*a, *b))).collect();
    let orders = server.client().query_order(&pairs).unwrap();
    let known: HashMap<(Event, Event), Order> = pairs.into_iter().zip(orders).collect();
    for seed in 0..3 {
        let replica = Replica::new(server.client(), friendships);
        let mut arrived: Vec<Post> = posted.iter().map(|(post, _)| post.clone()).collect();
        Chance::seeded(100 + seed).shuffle(&mut arrived);
        arrived.iter().for_each(|post| replica.deliver(post));
        for user in ["ada", "dan"] {
            let shown = replica.render(user).unwrap();
            let place = |post: &Post| shown.iter().position(|one| one.event == post.event).unwrap();
            for (post, to) in posted {
                assert!(to.as_ref().is_none_or(|to| place(to) < place(post)));
            }
            // The twin: always the earliest arrival that nothing unshown comes before.
            let before = |a: &Post, b: &Post| known.get(&(a.event, b.event)) == Some(&Order::Before);
            let mut left = arrived.clone();
            for post in &shown {
                let free = left.iter().position(|one| !left.iter().any(|other| before(other, one))).unwrap();
                assert_eq!(left.remove(free), *post);
            }
        }
    }
}
