//! The server over real sockets: many rows in bounded memory, clients that vanish, addresses it refuses, more clients than it serves.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod common;

use common::socket::{Client, within};
use common::*;
use database::{Database, MEMORY, Options};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use tanglewood_server::{Limits, ServeError, ServeOptions, Server};
use world::clock::monotonic_ns;
use world::threads::sleep;

fn serve() -> (Database, Server) {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let server = Server::start(database.clone(), &ServeOptions::at("127.0.0.1:0")).unwrap();
    (database, server)
}

/// Begins a query and lets its client go that way; milliseconds until the query is gone.
fn vanish(database: &Database, server: &Server, text: &str, way: &str) -> u64 {
    let mut client = Client::connect(server.address());
    client.send(&[run(text), pull(-1)]);
    if text == PRODUCT {
        assert!(client.next().is_success());
        // Fills the buffers of both sides, so that the server waits for room to write.
        sleep(Duration::from_millis(50));
    } else {
        within(5_000, "the query", || !database.running().is_empty());
    }
    match way {
        "reset" => client.send(&[request(RESET, &[])]),
        "half closed" => client.socket.shutdown(Shutdown::Write).unwrap(),
        _ => client.socket.shutdown(Shutdown::Both).unwrap(),
    }
    let took_ms = within(5_000, way, || database.running().is_empty());
    if way == "reset" {
        // PULL failed, or RESET was met before it began.
        let answers: Vec<Answer> = (0..3).map(|_| client.next()).collect();
        let ended = answers.iter().any(|answer| match answer {
            Answer::Failure(code, _) => code == "Neo.ClientError.Transaction.Terminated",
            other => *other == Answer::Ignored,
        });
        assert!(ended && answers[2].is_success(), "{answers:?}");
    }
    if way == "half closed" {
        within(5_000, "the slot of a client that only stopped writing", || server.connections() == 0);
    }
    drop(client);
    within(5_000, "the slot", || server.connections() == 0);
    took_ms
}

const PRODUCT: &str = "UNWIND range(1, 1000) AS i UNWIND range(1, 1000) AS j RETURN i * 1000 + j";
const ENDLESS: &str =
    "UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN sum(i * j), collect(DISTINCT i % 7)";

#[test]
fn a_million_rows_to_a_slow_reader_take_bounded_memory() {
    let (database, server) = serve();
    let mut client = Client::connect(server.address());
    client.send(&[run(PRODUCT), pull(-1)]);
    assert!(client.next().is_success());
    let (mut rows, mut sum, mut bytes_max) = (0_u64, 0_i64, 0);
    loop {
        match client.next() {
            Answer::Record(values) => {
                rows += 1;
                sum += values[0].int();
            }
            answer => break assert!(answer.is_success(), "{answer:?}"),
        }
        if rows % 50_000 == 0 {
            // The reader pauses, and so does the query.
            sleep(Duration::from_millis(5));
            bytes_max = database.running().iter().map(|query| query.bytes).max().unwrap_or(0).max(bytes_max);
        }
    }
    assert_eq!((rows, sum), (1_000_000, 1_000 * (1_000 * 500_500) + 1_000 * 500_500));
    assert!(bytes_max < 16 << 20, "the query held {bytes_max} bytes");
}

#[test]
fn a_client_that_vanishes_takes_its_query_and_its_slot_along() {
    let (database, server) = serve();
    for (text, way) in
        [(ENDLESS, "closed"), (ENDLESS, "reset"), (PRODUCT, "unread"), (PRODUCT, "half closed")]
    {
        // The best of a few rounds: other tests share the machine.
        let took_ms = (0..5).map(|_| vanish(&database, &server, text, way)).min().unwrap();
        assert!(took_ms < 250, "{way}: the query went on for {took_ms} ms");
    }
    let mut client = Client::connect(server.address());
    assert_eq!(client.int("RETURN 7"), 7);
}

#[test]
fn an_open_transaction_of_a_vanished_client_is_rolled_back() {
    let (_database, server) = serve();
    let mut client = Client::connect(server.address());
    client.send(&[request(BEGIN, &[none()]), run("CREATE (:Lost)"), pull(-1)]);
    assert!((0..3).all(|_| client.next().is_success()));
    drop(client);
    within(5_000, "the slot", || server.connections() == 0);
    assert_eq!(Client::connect(server.address()).int("MATCH (n:Lost) RETURN count(*)"), 0);
}

#[test]
fn only_loopback_is_served_while_there_are_no_users() {
    let start = |bolt: &str| {
        let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
        Server::start(database, &ServeOptions::at(bolt)).map(|server| server.address().port())
    };
    for refused in ["0.0.0.0:0", "[::]:0", "192.168.1.1:7687"] {
        assert!(matches!(start(refused), Err(ServeError::NotLoopback(_))), "{refused}");
    }
    for wrong in ["", "7687", "localhost", "example.org:7687", "127.0.0.1:99999"] {
        assert!(matches!(start(wrong), Err(ServeError::Address(_))), "{wrong}");
    }
    assert!(start("localhost:0").unwrap() > 0);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(matches!(start(&taken.local_addr().unwrap().to_string()), Err(ServeError::Taken(_))));
}

#[test]
fn one_client_too_many_is_closed_and_strangers_are_told_nothing() {
    let (database, server) = serve();
    let mut stranger = TcpStream::connect(server.address()).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stranger.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer == [0; 4], "{answer:?}");
    drop(stranger);
    within(5_000, "the slot", || server.connections() == 0);

    let places = 8;
    let options = ServeOptions {
        limits: Limits { connections_max: places, strangers_max: places, ..Limits::default() },
        ..ServeOptions::at("127.0.0.1:0")
    };
    let server = Server::start(database, &options).unwrap();
    let silent: Vec<TcpStream> = (0..places).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    within(5_000, "all slots", || server.connections() == places);
    let mut one_more = TcpStream::connect(server.address()).unwrap();
    one_more.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert_eq!(one_more.read(&mut [0; 4]).unwrap_or(0), 0, "closed");
    assert_eq!(server.connections(), places);
    drop(silent);
    within(5_000, "all slots", || server.connections() == 0);
    assert_eq!(Client::connect(server.address()).int("RETURN 1"), 1);
}

#[test]
fn endless_messages_are_cut_off() {
    let (_database, server) = serve();
    let mut client = Client::connect(server.address());
    let chunk = [&[0xFF, 0xFF][..], &[0xD0; 65_535]].concat();
    // What comes behind the refusal is read and dropped for a while, so that its reason can be heard.
    let began = monotonic_ns();
    while client.socket.write_all(&chunk).is_ok() {
        assert!(monotonic_ns() - began < 60_000_000_000, "one message is taken for ever");
    }
    within(5_000, "the slot", || server.connections() == 0);
}

#[test]
fn a_server_that_ends_does_not_wait_for_its_clients() {
    let (database, server) = serve();
    let mut client = Client::connect(server.address());
    client.send(&[run(ENDLESS), pull(-1)]);
    let mut unread = Client::connect(server.address());
    unread.send(&[run(PRODUCT), pull(-1)]);
    within(5_000, "the queries", || database.running().len() == 2);
    sleep(Duration::from_millis(50));
    let began = monotonic_ns();
    drop(server);
    let took_ms = (monotonic_ns() - began) / 1_000_000;
    assert!(took_ms < 10_000, "{took_ms} ms");
    assert!(database.running().is_empty());
}
