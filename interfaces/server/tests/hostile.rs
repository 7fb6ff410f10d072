//! Clients that mean harm, or are broken: each meets a named limit, gets an error where the protocol allows it, and leaves nothing behind.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common;

use common::socket::{Client, within};
use common::*;
use database::{Database, MEMORY, Options};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tanglewood_server::bolt::handshake::MAGIC;
use tanglewood_server::{Limits, ServeOptions, Server};
use world::threads::sleep;

const PRODUCT: &str = "UNWIND range(1, 1000) AS i UNWIND range(1, 1000) AS j RETURN i * 1000 + j";
const ENDLESS: &str = "UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN sum(i * j)";

fn serve(limits: Limits) -> (Database, Server) {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let options = ServeOptions { limits, ..ServeOptions::at("127.0.0.1:0") };
    let server = Server::start(database.clone(), &options).unwrap();
    (database, server)
}

/// The code of the failure that a connection ends with.
fn farewell(client: &mut Client) -> Option<String> {
    let mut code = None;
    while let Some(answer) = client.try_next() {
        if let Answer::Failure(said, _) = answer {
            code = Some(said);
        }
    }
    code
}

/// What needs no more than a look of the server comes so soon.
const SOON_MS: u64 = 1_000;

fn soon(what: &str, is_so: impl Fn() -> bool) {
    within(SOON_MS, what, is_so);
}

const INVALID: Option<&str> = Some("Neo.ClientError.Request.Invalid");

#[test]
fn who_does_not_say_who_it_is_is_let_go() {
    let limits = Limits { greeting_timeout: Duration::from_millis(300), ..Limits::default() };
    let (_database, server) = serve(limits);
    let silent = TcpStream::connect(server.address()).unwrap();
    let mut halfway = Client::shaken(server.address());
    let mut greeted = Client::shaken(server.address());
    greeted.send(&[request(HELLO, &[none()])]);
    assert!(greeted.next().is_success());
    within(2_000, "three strangers gone", || server.connections() == 0);
    assert_eq!(farewell(&mut halfway).as_deref(), INVALID, "told why");
    assert_eq!(farewell(&mut greeted).as_deref(), INVALID);
    // One that sends a byte now and then does not win time.
    let mut dripping = TcpStream::connect(server.address()).unwrap();
    let bytes = [&MAGIC[..], &[0, 0, 4, 5], &[0; 12]].concat();
    for byte in bytes {
        sleep(Duration::from_millis(40));
        if dripping.write_all(&[byte]).is_err() {
            break;
        }
    }
    within(200, "the dripping client gone", || server.connections() == 0);
    drop(silent);
}

#[test]
fn half_a_message_is_waited_for_only_so_long() {
    let limits = Limits { message_timeout: Duration::from_millis(200), ..Limits::default() };
    let (_database, server) = serve(limits);
    let mut client = Client::connect(server.address());
    sleep(Duration::from_millis(400));
    assert_eq!(client.int("RETURN 1"), 1, "silence between messages is allowed");
    client.socket.write_all(&[0, 9, 0xB1]).unwrap();
    assert_eq!(farewell(&mut client).as_deref(), INVALID);
    soon("the slot", || server.connections() == 0);
}

#[test]
fn results_and_transactions_are_not_left_open_for_ever() {
    let limits = Limits { neglect_timeout: Duration::from_millis(200), ..Limits::default() };
    let (database, server) = serve(limits);
    let mut idle = Client::connect(server.address());
    let mut never_pulls = Client::connect(server.address());
    never_pulls.send(&[run(PRODUCT)]);
    let mut never_commits = Client::connect(server.address());
    never_commits.send(&[request(BEGIN, &[none()]), run("CREATE (:Lost)"), pull(-1)]);
    within(3_000, "both let go", || server.connections() == 1);
    assert_eq!(farewell(&mut never_pulls).as_deref(), INVALID);
    assert_eq!(farewell(&mut never_commits).as_deref(), INVALID);
    assert!(database.running().is_empty());
    assert_eq!(idle.int("MATCH (n:Lost) RETURN count(*)"), 0, "who has nothing open may be silent");
}

#[test]
fn who_never_reads_is_let_go() {
    let limits = Limits { write_timeout: Duration::from_millis(300), ..Limits::default() };
    let (database, server) = serve(limits);
    let mut client = Client::connect(server.address());
    client.send(&[run(PRODUCT), pull(-1)]);
    within(5_000, "the query", || !database.running().is_empty());
    within(5_000, "its end", || database.running().is_empty() && server.connections() == 0);
}

#[test]
fn a_reset_is_met_by_who_waits_for_room_to_write() {
    let (database, server) = serve(Limits::default());
    let mut client = Client::connect(server.address());
    client.send(&[run(PRODUCT), pull(-1)]);
    assert!(client.next().is_success());
    sleep(Duration::from_millis(100));
    client.send(&[request(RESET, &[]), run("RETURN 7"), pull(-1)]);
    soon("the end of the query", || database.running().is_empty());
    let mut last = Vec::new();
    while let Some(answer) = client.try_next() {
        let is_seven = matches!(&answer, Answer::Record(values) if values[0] == Item::Int(7));
        last.push(answer);
        if is_seven {
            break;
        }
    }
    let failed = |answer: &Answer| matches!(answer, Answer::Failure(code, _) if code.ends_with("Terminated"));
    assert!(last.iter().any(failed));
}

#[test]
fn strangers_may_not_send_much() {
    let (_database, server) = serve(Limits::default());
    let mut client = Client::shaken(server.address());
    let chunk = [&[0xFF, 0xFF][..], &[0xD0; 65_535]].concat();
    let refused = (0..8).any(|_| client.socket.write_all(&chunk).is_err());
    assert!(refused || farewell(&mut client).as_deref() == INVALID);
    soon("the slot", || server.connections() == 0);
    // Known clients may.
    let mut client = Client::connect(server.address());
    let long = format!("RETURN size('{}')", "x".repeat(1 << 20));
    assert_eq!(client.int(&long), 1 << 20);
}

#[test]
fn unfinished_messages_of_all_clients_take_bounded_memory() {
    let limits = Limits { incoming_bytes_max: 4 << 20, ..Limits::default() };
    let (_database, server) = serve(limits);
    let mut clients: Vec<Client> = (0..8).map(|_| Client::connect(server.address())).collect();
    let chunk = [&[0xFF, 0xFF][..], &[0xD0; 65_535]].concat();
    for _ in 0..32 {
        // Some are refused on the way: they hold more than there is room for.
        clients.iter_mut().for_each(|client| drop(client.socket.write_all(&chunk)));
    }
    within(5_000, "some refused", || server.connections() < 8);
    drop(clients);
    soon("all gone", || server.connections() == 0);
    assert_eq!(Client::connect(server.address()).int("RETURN 1"), 1);
}

#[test]
fn nonsense_and_wrong_order_end_the_connection_with_a_protocol_error() {
    let (_database, server) = serve(Limits::default());
    for bytes in [
        chunked(&[vec![0xFF, 0xFF, 0xFF]]),
        chunked(&[vec![0xB1, 0x10]]),
        chunked(&[run("RETURN 1")]),
        chunked(&[request(LOGON, &[none()])]),
        chunked(&[request(RESET, &[])]),
        chunked(&[request(HELLO, &[none()]), request(LOGON, &[none()]), request(HELLO, &[none()])]),
    ] {
        let mut client = Client::shaken(server.address());
        client.socket.write_all(&bytes).unwrap();
        assert_eq!(
            farewell(&mut client).map(|code| code.starts_with("Neo.ClientError")),
            Some(true),
            "{bytes:?}"
        );
    }
    soon("the slots", || server.connections() == 0);
}

#[test]
fn a_client_that_waits_for_long_hears_that_someone_is_there() {
    let limits = Limits { keep_alive: Duration::from_millis(50), ..Limits::default() };
    let (database, server) = serve(limits);
    let mut client = Client::connect(server.address());
    client.send(&[run(ENDLESS), pull(-1)]);
    assert!(client.next().is_success());
    for _ in 0..3 {
        let mut empty_chunk = [9; 2];
        client.socket.read_exact(&mut empty_chunk).unwrap();
        assert_eq!(empty_chunk, [0, 0]);
    }
    client.send(&[request(RESET, &[])]);
    soon("the end of the query", || database.running().is_empty());
    assert!(matches!(client.next(), Answer::Failure(..)));
    assert!(client.next().is_success());
}
