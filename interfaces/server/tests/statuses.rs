//! What Bolt 5.6 to 5.8 added, and what goes with a transaction: statuses, notifications and their filters, bookmarks, databases.
#![allow(clippy::disallowed_methods)]

use crate::common;

use common::*;
use database::{Database, MEMORY, Options};
use model::Value;
use std::time::Duration;
use tanglewood_server::Limits;
use tanglewood_server::bolt::Version;
use tanglewood_server::bolt::chunks::Assembler;
use tanglewood_server::bolt::connection::{Connection, Sink};

#[derive(Default)]
struct Kept(Vec<u8>);

impl Sink for Kept {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

struct Client(Connection);

impl Client {
    fn of(version: Version, database: &Database, hello: Value) -> Client {
        let mut client = Client(Connection::new(database, version, 7, "127.0.0.1:7687".into()));
        assert!(
            client.ask(&[request(HELLO, &[hello]), request(LOGON, &[none()])]).iter().all(Answer::is_success)
        );
        client
    }
    fn ask(&mut self, requests: &[Vec<u8>]) -> Vec<Answer> {
        let mut sink = Kept::default();
        for request in requests {
            self.0.handle(request, &mut sink).unwrap();
        }
        self.0.flush(&mut sink).unwrap();
        let mut assembler = Assembler::default();
        assembler.feed(&sink.0);
        std::iter::from_fn(|| assembler.next_message().unwrap())
            .map(|message| Answer::parse(&message))
            .collect()
    }
    /// Metadata of the end of a result.
    fn end(&mut self, text: &str, extra: Value) -> Item {
        self.ask(&[run_with(text, none(), extra), pull(-1)]).last().unwrap().metadata().clone()
    }
}

fn database() -> Database {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap()
}

fn statuses(end: &Item) -> Vec<String> {
    let Some(Item::List(list)) = end.get("statuses") else { panic!("no statuses: {end:?}") };
    list.iter().map(|status| status.get("gql_status").unwrap().text().to_string()).collect()
}

#[test]
fn a_result_ends_with_statuses_or_notifications_as_the_version_has_it() {
    let database = database();
    let mut new = Client::of(V58, &database, none());
    assert_eq!(statuses(&new.end("RETURN 1 AS x", none())), ["00000"]);
    assert_eq!(statuses(&new.end("UNWIND [] AS x RETURN x", none())), ["02000"]);
    assert_eq!(statuses(&new.end("CREATE (:Known)", none())), ["00001"]);
    assert_eq!(statuses(&new.end("MATCH (n:Known), (m:Known) RETURN n", none())), ["00000", "03N90"]);
    let text = "MATCH (n:Unknown)-[:STRANGE]->(m) RETURN m.odd";
    let end = new.end(text, none());
    assert_eq!(statuses(&end), ["02000", "01N50", "01N51", "01N52"]);
    assert!(end.get("notifications").is_none());

    let mut old = Client::of(V54, &database, none());
    let end = old.end(text, none());
    assert!(end.get("statuses").is_none());
    let Some(Item::List(notifications)) = end.get("notifications") else { panic!("{end:?}") };
    let first = &notifications[0];
    assert_eq!(first.get("code").unwrap().text(), "Neo.ClientNotification.Statement.UnknownLabelWarning");
    assert_eq!(first.get("position").unwrap().get("offset").unwrap().int(), 9);
    assert_eq!(old.end("MATCH (n:Known) RETURN n", none()).get("notifications"), None);
    // What becomes known is no longer told of, though the plan is an old one.
    old.end("CREATE (:Unknown)-[:STRANGE]->({odd: 1})", none());
    assert_eq!(old.end(text, none()).get("notifications"), None);
}

#[test]
fn clients_are_told_only_what_they_want_to_know() {
    let database = database();
    let text = "MATCH (n:Unknown), (m) RETURN n";
    let list = |kind: &str| Value::list(vec![kind.into()]);
    for (extra, told) in [
        (none(), vec!["02000", "01N50", "03N90"]),
        (Value::map([("notifications_minimum_severity", "WARNING".into())]), vec!["02000", "01N50"]),
        (Value::map([("notifications_minimum_severity", "OFF".into())]), vec!["02000"]),
        (
            Value::map([("notifications_disabled_classifications", list("UNRECOGNIZED"))]),
            vec!["02000", "03N90"],
        ),
    ] {
        // For the connection, for a statement, and for a transaction.
        assert_eq!(statuses(&Client::of(V58, &database, extra.clone()).end(text, none())), told);
        let mut client = Client::of(V58, &database, none());
        assert_eq!(statuses(&client.end(text, extra.clone())), told);
        assert!(client.ask(&[request(BEGIN, &[extra])])[0].is_success());
        assert_eq!(statuses(&client.end(text, none())), told);
    }
}

#[test]
fn failures_carry_a_status_from_5_7_on() {
    let database = database();
    let mut client = Client::of(V58, &database, none());
    let mut sink = Kept::default();
    client.0.handle(&run("RETURN 1 +"), &mut sink).unwrap();
    client.0.flush(&mut sink).unwrap();
    let text = String::from_utf8_lossy(&sink.0).into_owned();
    for wanted in
        ["neo4j_code", "gql_status", "42001", "diagnostic_record", "_classification", "CLIENT_ERROR"]
    {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
}

#[test]
fn a_session_sees_the_commit_of_its_bookmark_or_is_told_in_time() {
    let database = database();
    let mut client = Client::of(V58, &database, none());
    client.0.set_limits(&Limits { bookmark_timeout: Duration::from_millis(100), ..Limits::default() });
    let bookmark = client.end("CREATE (:Marked)", none()).get("bookmark").unwrap().text().to_string();
    let with = |bookmark: &str| Value::map([("bookmarks", Value::list(vec![bookmark.into()]))]);
    assert!(client.ask(&[request(BEGIN, &[with(&bookmark)]), request(COMMIT, &[])])[1].is_success());
    let began = world::clock::monotonic_ns();
    let answers = client.ask(&[request(BEGIN, &[with("tanglewood:1000000")]), request(RESET, &[])]);
    assert_eq!(answers[0].code(), "Neo.TransientError.Transaction.BookmarkTimeout");
    assert!(world::clock::monotonic_ns() - began > 90_000_000, "it was waited for");
    let answers = client.ask(&[run_with("RETURN 1", none(), with("neo4j:7")), request(RESET, &[])]);
    assert_eq!(answers[0].code(), "Neo.ClientError.Transaction.InvalidBookmark");
    // One that comes while it is waited for.
    client.0.set_limits(&Limits::default());
    let next = bookmark.strip_prefix("tanglewood:").unwrap().parse::<u64>().unwrap() + 1;
    let other = database.clone();
    let writer = world::threads::spawn("writer", move || {
        world::threads::sleep(Duration::from_millis(50));
        other.session().query("CREATE (:Marked)", database::Params::new()).unwrap().finish().unwrap();
    });
    let text = "MATCH (m:Marked) RETURN count(*)";
    let answers = client.ask(&[run_with(text, none(), with(&format!("tanglewood:{next}"))), pull(-1)]);
    writer.join();
    assert_eq!(answers[1].values(), [Item::Int(2)]);
}

#[test]
fn there_is_one_database() {
    let database = database();
    let mut client = Client::of(V58, &database, none());
    let named = |name: &str| Value::map([("db", name.into())]);
    for name in ["neo4j", "system"] {
        assert!(client.ask(&[run_with("RETURN 1", none(), named(name)), pull(-1)])[0].is_success());
    }
    let answers = client.ask(&[request(BEGIN, &[named("other")]), request(RESET, &[])]);
    assert_eq!(answers[0].code(), "Neo.ClientError.Database.DatabaseNotFound");
    let acting = Value::map([("imp_user", "eve".into())]);
    let answers = client.ask(&[run_with("RETURN 1", none(), acting), request(RESET, &[])]);
    assert_eq!(answers[0].code(), "Neo.ClientError.Security.Forbidden");
    // The table names the server as the client reached it.
    let context = Value::map([("address", "db.example.org:7687".into())]);
    let answers = client.ask(&[request(ROUTE, &[context, Value::list(vec![]), none()])]);
    let table = format!("{:?}", answers[0].metadata().get("rt").unwrap());
    assert_eq!(table.matches("db.example.org:7687").count(), 3, "{table}");
}
