//! A panic while a client is answered is a failure of that request alone: the client is told, its connection serves on, and everyone
//! else is served as before. Failpoints stand in debug builds only; of the database's own see its tests.
#![cfg(debug_assertions)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod common;

use common::gremlin::{body, get};
use common::socket::Client;
use common::*;
use database::{Database, MEMORY, Options, Value};
use parking_lot::Mutex;
use tanglewood_server::{Limits, ServeOptions, Server};
use world::failpoint;

/// Failpoints belong to the process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

const UNKNOWN: &str = "Neo.DatabaseError.General.UnknownError";
const FAILED: &str = "Neo.DatabaseError.Statement.ExecutionFailed";
const RESET: u8 = 0x0F;
const BEGIN: u8 = 0x11;
const COMMIT: u8 = 0x12;

fn serve() -> (Database, Server) {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let server = Server::start(database.clone(), &ServeOptions::at("127.0.0.1:0")).unwrap();
    (database, server)
}

#[test]
fn a_client_of_bolt_is_told_and_goes_on() {
    let _alone = ALONE.lock();
    let (_database, server) = serve();
    let mut bystander = Client::connect(server.address());
    let mut client = Client::connect(server.address());
    for (place, nth) in [
        ("message of Bolt", 1),
        ("message of Bolt", 2),
        ("record of Bolt", 1),
        ("record of Bolt", 500),
        ("rows of an answer", 1),
        ("statement", 1),
        ("operator", 1),
        ("turn of a query", 1),
    ] {
        failpoint::panic_at(place, nth, 1);
        // What is profiled runs on executors.
        let profile = if ["operator", "turn of a query"].contains(&place) { "PROFILE " } else { "" };
        client.send(&[run(&format!("{profile}UNWIND range(1, 1000) AS x RETURN x, 'text'")), pull(-1)]);
        let mut said = Vec::new();
        let failure = loop {
            match client.next() {
                Answer::Record(values) => said.push(values[0].int()),
                Answer::Failure(code, message) => break (code, message),
                Answer::Success(_) => {}
                Answer::Ignored => panic!("{place}: nothing was said before"),
            }
        };
        assert_eq!(failpoint::panicked(), 1, "{place}");
        failpoint::clear();
        assert!([UNKNOWN, FAILED].contains(&failure.0.as_str()), "{place}: {failure:?}");
        assert!(failure.1.contains("internal error"), "{place}: {failure:?}");
        // What came before is whole, and in order.
        assert!(said.iter().copied().eq(1..=said.len() as i64), "{place}: {said:?}");
        client.send(&[request(RESET, &[])]);
        while !client.next().is_success() {}
        assert_eq!((client.int("RETURN 7"), bystander.int("RETURN 8")), (7, 8), "{place}");
    }
}

#[test]
fn a_transaction_that_met_a_panic_is_rolled_back() {
    let _alone = ALONE.lock();
    let (_database, server) = serve();
    let mut client = Client::connect(server.address());
    let empty = || Value::map::<&str>([]);
    for (place, nth) in [("message of Bolt", 4), ("commit of a session", 1), ("commit is applied", 1)] {
        failpoint::panic_at(place, nth, 1);
        client.send(&[
            request(BEGIN, &[empty()]),
            run_with("CREATE (:New)", empty(), empty()),
            pull(-1),
            request(COMMIT, &[]),
        ]);
        let answers: Vec<Answer> = (0..4).map(|_| client.next()).collect();
        assert_eq!(failpoint::panicked(), 1, "{place}: {answers:?}");
        failpoint::clear();
        assert!(answers[..3].iter().all(Answer::is_success), "{place}: {answers:?}");
        assert_eq!(answers[3].code(), UNKNOWN, "{place}");
        client.send(&[request(RESET, &[])]);
        assert!(client.next().is_success());
        assert_eq!(client.int("MATCH (n:New) RETURN count(n)"), 0, "{place}");
    }
    assert_eq!(client.int("CREATE (n:New) RETURN 1"), 1);
    assert_eq!(client.int("MATCH (n:New) RETURN count(n)"), 1);
}

#[test]
fn a_client_of_gremlin_is_told_and_goes_on() {
    let _alone = ALONE.lock();
    let (_database, server) = common::gremlin::serve(Limits::default());
    let mut client = common::gremlin::Client::connect(server.address());
    let text = "g.inject(1, 2, 3).map(__.identity())";
    for (place, nth) in [
        ("request of Gremlin", 1),
        ("frame of Gremlin", 1),
        ("script of Gremlin", 1),
        ("traversal", 1),
        ("objects of an answer", 1),
        ("operator", 1),
    ] {
        failpoint::panic_at(place, nth, 1);
        client.eval(text);
        let (code, told) = client.told();
        let panicked = failpoint::panicked();
        failpoint::clear();
        assert_eq!((panicked, code), (1, 500), "{place}: {told}");
        assert!(told.to_string().contains("internal error"), "{place}: {told}");
        assert_eq!(client.ask(text).len(), 3, "{place}");
    }
    for place in ["request of HTTP", "traversal", "operator"] {
        failpoint::panic_at(place, 1, 1);
        let answer = get(server.address(), "?gremlin=g.inject(7).map(__.identity())", "");
        failpoint::clear();
        assert!(answer.starts_with("HTTP/1.1 500"), "{place}: {answer}");
        assert!(body(&answer)["message"].as_str().unwrap().contains("internal error"), "{place}: {answer}");
        let answer = get(server.address(), "?gremlin=g.inject(7)", "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{place}: {answer}");
    }
}
