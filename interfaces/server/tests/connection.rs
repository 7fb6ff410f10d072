//! Bolt without a socket: which messages are allowed in which state, and their answers.
#![allow(clippy::disallowed_methods)]

use crate::common;

use common::*;
use database::{Database, MEMORY, Options};
use model::Value;
use std::sync::Arc;
use std::time::Duration;
use tanglewood_server::bolt::Version;
use tanglewood_server::bolt::chunks::Assembler;
use tanglewood_server::bolt::connection::{Connection, Next, Sink};

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    sends: usize,
    largest: usize,
    /// The client stops reading after so many sends.
    gone_after: Option<usize>,
}

impl Sink for Kept {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.gone_after.is_some_and(|sends| self.sends >= sends) {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        self.sends += 1;
        self.largest = self.largest.max(bytes.len());
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

struct Client {
    database: Database,
    connection: Connection,
    sink: Kept,
    assembler: Assembler,
    next: Next,
}

fn database() -> Database {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap()
}

impl Client {
    fn fresh(version: Version) -> Client {
        let database = database();
        let connection = Connection::new(&database, version, 7, "127.0.0.1:7687".into());
        Client {
            database,
            connection,
            sink: Kept::default(),
            assembler: Assembler::default(),
            next: Next::Go,
        }
    }
    fn ready(version: Version) -> Client {
        let mut client = Client::fresh(version);
        assert!(client.ask(&request(HELLO, &[none()]))[0].is_success());
        if version.has_logon() {
            assert!(client.ask(&request(LOGON, &[none()]))[0].is_success());
        }
        client
    }
    fn ask(&mut self, request: &[u8]) -> Vec<Answer> {
        self.ask_all(&[request.to_vec()])
    }
    fn ask_all(&mut self, requests: &[Vec<u8>]) -> Vec<Answer> {
        for request in requests {
            self.next = self.connection.handle(request, &mut self.sink).unwrap();
        }
        self.connection.flush(&mut self.sink).unwrap();
        self.assembler.feed(&std::mem::take(&mut self.sink.bytes));
        std::iter::from_fn(|| self.assembler.next_message().unwrap())
            .map(|message| Answer::parse(&message))
            .collect()
    }
    /// The only row's values.
    fn row(&mut self, text: &str, params: Value) -> Vec<Item> {
        let answers = self.ask_all(&[run_with(text, params, none()), pull(-1)]);
        assert_eq!(answers.len(), 3, "{answers:?}");
        answers[1].values().to_vec()
    }
    fn count(&mut self, text: &str) -> i64 {
        self.row(text, none())[0].int()
    }
}

#[test]
fn a_pipelined_greeting_is_answered_at_once() {
    // What is there is sent before a query is waited for: on a busy machine even this one may take longer than it is given at once.
    let sends: Vec<usize> = (0..20).map(|_| greet()).take_while(|sends| *sends > 1).collect();
    assert!(sends.len() < 20, "never in one piece: {sends:?}");
}

/// Sends a greeting and a query at once; returns in how many pieces they were answered.
fn greet() -> usize {
    let mut client = Client::fresh(V54);
    let answers = client.ask_all(&[
        request(HELLO, &[Value::map([("user_agent", "test".into())])]),
        request(LOGON, &[Value::map([("scheme", "none".into())])]),
        run("UNWIND [1, 2] AS x RETURN x, 'a' AS y"),
        pull(-1),
    ]);
    assert!(answers[0].metadata().get("server").unwrap().text().starts_with("Neo4j/"));
    assert_eq!(answers[0].metadata().get("connection_id").unwrap().text(), "bolt-7");
    assert!(answers[1].is_success());
    let fields = Item::List(vec![Item::Text("x".into()), Item::Text("y".into())]);
    assert_eq!(answers[2].metadata().get("fields"), Some(&fields));
    assert_eq!(answers[2].metadata().get("qid"), None, "only results of transactions have one");
    assert_eq!(answers[4].values(), [Item::Int(2), Item::Text("a".into())]);
    assert_eq!(answers[5].metadata().get("type").unwrap().text(), "r");
    assert!(answers[5].metadata().get("bookmark").is_some());
    assert_eq!((answers.len(), client.next), (6, Next::Go));
    assert!(client.sink.sends <= 3, "{} pieces", client.sink.sends);
    client.sink.sends
}

#[test]
fn rows_come_as_far_as_they_are_pulled() {
    let mut client = Client::ready(V54);
    let answers = client.ask_all(&[run("UNWIND range(1, 2500) AS i RETURN i"), pull(10)]);
    assert_eq!(answers.len(), 12);
    assert_eq!(answers[11].metadata().get("has_more"), Some(&Item::Bool(true)));
    let answers = client.ask(&pull(2_489));
    assert_eq!((answers.len(), answers[2_488].values()), (2_490, &[Item::Int(2_499)][..]));
    assert_eq!(answers[2_489].metadata().get("has_more"), Some(&Item::Bool(true)));
    let answers = client.ask(&pull(1));
    assert_eq!(answers[0].values(), [Item::Int(2_500)]);
    assert_eq!(answers[1].metadata().get("has_more"), None, "the last row ends the result");
}

#[test]
fn a_client_that_does_not_read_holds_the_query_back() {
    let mut client = Client::ready(V54);
    let text = "UNWIND range(1, 10000) AS i UNWIND range(1, 10000) AS j RETURN i, j, 'some text'";
    client.ask_all(&[run(text), pull(1)]);
    std::thread::sleep(Duration::from_millis(100));
    let bytes = client.database.running()[0].bytes;
    assert!(bytes < 16 << 20, "{bytes} bytes wait for a client that asked for one row");
    // A row in batches of tens of kilobytes, never the result.
    client.sink.gone_after = Some(client.sink.sends + 20);
    assert!(client.connection.handle(&pull(-1), &mut client.sink).is_err());
    assert!(client.sink.largest < 256 << 10, "sent {} bytes at once", client.sink.largest);
}

#[test]
fn discarding_ends_the_query_or_skips_rows() {
    let mut client = Client::ready(V54);
    let answers =
        client.ask_all(&[run("UNWIND range(1, 10) AS i RETURN i"), discard(4), pull(1), discard(-1)]);
    assert_eq!(answers[1].metadata().get("has_more"), Some(&Item::Bool(true)));
    assert_eq!(answers[2].values(), [Item::Int(5)]);
    assert!(answers[4].metadata().get("type").is_some());
    let endless = "UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN i";
    let answers = client.ask_all(&[run(endless), pull(1), discard(-1)]);
    assert!(answers[3].metadata().get("bookmark").is_some());
    assert_eq!(client.count("RETURN 1"), 1);
    // What writes has written, whether or not its rows are wanted.
    client.ask_all(&[run("UNWIND range(1, 5) AS i CREATE (n:D) RETURN n"), discard(-1)]);
    assert_eq!(client.count("MATCH (n:D) RETURN count(*)"), 5);
}

#[test]
fn a_transaction_reads_several_results_in_turn() {
    let mut client = Client::ready(V54);
    let answers = client.ask_all(&[
        request(BEGIN, &[none()]),
        run("UNWIND range(1, 4) AS i RETURN i"),
        pull(1),
        run("UNWIND range(11, 14) AS i RETURN i"),
        pull_of(1, 1),
        pull_of(-1, 0),
        pull_of(-1, -1),
        request(COMMIT, &[]),
    ]);
    assert_eq!(answers[1].metadata().get("qid"), Some(&Item::Int(0)));
    assert_eq!(answers[4].metadata().get("qid"), Some(&Item::Int(1)));
    let rows = |answers: &[Answer]| -> Vec<i64> {
        let records = answers.iter().filter(|answer| matches!(answer, Answer::Record(_)));
        records.map(|answer| answer.values()[0].int()).collect()
    };
    assert_eq!(rows(&answers), [1, 11, 2, 3, 4, 12, 13, 14]);
    assert!(answers.last().unwrap().metadata().get("bookmark").is_some());
    // Committed with a result half read.
    client.ask_all(&[
        request(BEGIN, &[none()]),
        run("UNWIND range(1, 9) AS i CREATE (:W) RETURN i"),
        pull(1),
    ]);
    assert!(client.ask(&request(COMMIT, &[]))[0].is_success());
    assert_eq!(client.count("MATCH (w:W) RETURN count(*)"), 9);
    client.ask_all(&[request(BEGIN, &[none()]), run("CREATE (:W)"), pull(-1), request(ROLLBACK, &[])]);
    assert_eq!(client.count("MATCH (w:W) RETURN count(*)"), 9);
}

#[test]
fn after_a_failure_everything_is_ignored_until_reset() {
    let mut client = Client::ready(V54);
    let answers = client.ask_all(&[
        run("RETURN 1 +"),
        pull(-1),
        run("RETURN 1"),
        pull(-1),
        request(RESET, &[]),
        run("RETURN 1"),
        pull(-1),
    ]);
    assert_eq!(answers[0].code(), "Neo.ClientError.Statement.SyntaxError");
    assert_eq!(answers[1..4], [Answer::Ignored, Answer::Ignored, Answer::Ignored]);
    assert!(answers[4].is_success() && answers[5].is_success());
    // A failure while rows are pulled, in a transaction: nothing of it stays.
    let answers = client.ask_all(&[
        request(BEGIN, &[none()]),
        run("CREATE (:F)"),
        pull(-1),
        run("UNWIND [1, 0] AS x RETURN 1 / x"),
        pull(-1),
        request(COMMIT, &[]),
        request(RESET, &[]),
    ]);
    assert_eq!(answers.iter().filter(|answer| **answer == Answer::Ignored).count(), 1, "{answers:?}");
    assert!(answers.last().unwrap().is_success());
    assert_eq!(client.count("MATCH (f:F) RETURN count(*)"), 0);
}

#[test]
fn reset_ends_what_runs() {
    let mut client = Client::ready(V54);
    client.ask_all(&[run("UNWIND range(1, 3000) AS i CREATE (:X {i: i})"), pull(-1)]);
    let (raised, interrupter) = client.connection.interrupter();
    // The reader of the socket meets RESET while the conversation is busy with the two requests before it.
    let reader = world::threads::spawn("reader", move || {
        world::threads::sleep(Duration::from_millis(50));
        raised.raise();
        interrupter.interrupt("the client sent RESET");
    });
    let endless = "MATCH (a:X), (b:X), (c:X) RETURN sum(a.i * b.i * c.i)";
    let began = world::clock::monotonic_ns();
    let answers = client.ask_all(&[run(endless), pull(-1)]);
    let took_ms = (world::clock::monotonic_ns() - began) / 1_000_000;
    reader.join();
    assert_eq!(answers[1].code(), "Neo.ClientError.Transaction.Terminated");
    assert!(took_ms < 2_000, "{took_ms} ms");
    let answers = client.ask_all(&[run("RETURN 1"), request(RESET, &[]), run("RETURN 1"), pull(-1)]);
    assert_eq!(answers[0], Answer::Ignored, "it was sent before the RESET");
    assert_eq!(answers[3].values(), [Item::Int(1)]);
}

#[test]
fn what_comes_at_the_wrong_time_ends_the_connection() {
    let begin = request(BEGIN, &[none()]);
    for (version, first, wrong) in [
        (V54, vec![], run("RETURN 1")),
        (V54, vec![], request(RESET, &[])),
        (V54, vec![], request(LOGON, &[none()])),
        (V54, vec![request(HELLO, &[none()])], run("RETURN 1")),
        (V54, vec![request(HELLO, &[none()])], request(RESET, &[])),
        (V50, vec![request(HELLO, &[none()])], request(LOGON, &[none()])),
        (V44, vec![request(HELLO, &[none()])], request(LOGOFF, &[])),
    ] {
        let mut client = Client::fresh(version);
        assert!(client.ask_all(&first).iter().all(Answer::is_success));
        let answers = client.ask(&wrong);
        assert_eq!(answers[0].code(), "Neo.ClientError.Request.Invalid");
        assert_eq!(client.next, Next::Close);
    }
    for (first, wrong, code) in [
        (vec![begin.clone()], begin.clone(), "Neo.ClientError.Transaction.TransactionStartFailed"),
        (vec![], request(COMMIT, &[]), "Neo.ClientError.Transaction.TransactionNotFound"),
        (vec![], request(ROLLBACK, &[]), "Neo.ClientError.Transaction.TransactionNotFound"),
        (vec![], pull(-1), "Neo.ClientError.Request.Invalid"),
        (vec![run("RETURN 1")], run("RETURN 2"), "Neo.ClientError.Request.Invalid"),
    ] {
        let mut client = Client::ready(V54);
        client.ask_all(&first);
        let answers = client.ask_all(&[wrong, request(RESET, &[]), run("RETURN 1"), pull(-1)]);
        assert_eq!(answers[0].code(), code);
        assert_eq!(answers[3].values(), [Item::Int(1)], "{code}: usable again after RESET");
    }
}

#[test]
fn garbage_is_answered_once_and_ends_the_connection() {
    let mut chance = world::chance::Chance::seeded(5);
    let valid = run_with("RETURN $x", Value::map([("x", Value::list(vec![1.into(), "y".into()]))]), none());
    for round in 0..2_000 {
        let mut bytes = valid.clone();
        for _ in 0..1 + chance.below(4) {
            let at = chance.below(bytes.len() as u64) as usize;
            match chance.below(3) {
                0 => bytes[at] = chance.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, chance.below(256) as u8),
            }
        }
        let mut client_bytes = Kept::default();
        thread_local! { static DATABASE: Database = database(); }
        let next = DATABASE.with(|database| {
            let mut connection = Connection::new(database, V44, 1, String::new());
            connection.handle(&request(HELLO, &[none()]), &mut client_bytes).unwrap();
            let next = connection.handle(&bytes, &mut client_bytes).unwrap();
            connection.flush(&mut client_bytes).unwrap();
            next
        });
        let mut assembler = Assembler::default();
        assembler.feed(&client_bytes.bytes);
        let answers: Vec<Answer> =
            std::iter::from_fn(|| assembler.next_message().unwrap()).map(|m| Answer::parse(&m)).collect();
        let goodbye = answers.len() == 1 && next == Next::Close;
        assert!(answers.len() == 2 || goodbye, "round {round} of seed 5: {answers:?}");
    }
}

#[test]
fn lengths_that_lie_cost_nothing() {
    for bytes in [
        &[0xB3, 0x10, 0xD2, 0xFF, 0xFF, 0xFF, 0xFF][..],
        &[0xB3, 0x10, 0x81, b'x', 0xDA, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0xB1, 0x3F, 0xD6, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0xB1, 0x3F, 0xCE, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0xBF, 0x10],
        &[0xB1],
        &[0x91],
    ] {
        let mut client = Client::ready(V54);
        assert_eq!(client.ask(bytes)[0].code(), "Neo.ClientError.Request.Invalid");
        assert_eq!(client.next, Next::Close);
    }
}

#[test]
fn requests_end_in_time() {
    let mut client = Client::ready(V54);
    client.ask_all(&[run("UNWIND range(1, 3000) AS i CREATE (:X {i: i})"), pull(-1)]);
    let endless = "MATCH (a:X), (b:X), (c:X) RETURN sum(a.i * b.i * c.i)";
    let soon = Value::map([("tx_timeout", Value::Int(40))]);
    // On a busy machine its time may be over before the statement is planned: then the request to run it is the one that fails.
    let first_code = |answers: &[Answer]| {
        let failed = answers.iter().find(|answer| !matches!(answer, Answer::Success(_) | Answer::Record(_)));
        failed.unwrap_or_else(|| panic!("it was answered: {answers:?}")).code().to_string()
    };
    let timed_out = "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration";
    let answers = client.ask_all(&[run_with(endless, none(), soon.clone()), pull(-1), request(RESET, &[])]);
    assert_eq!(first_code(&answers), timed_out);
    let answers = client.ask_all(&[request(BEGIN, &[soon]), run(endless), pull(-1), request(RESET, &[])]);
    assert_eq!(first_code(&answers), timed_out);
    assert_eq!(client.count("RETURN 1"), 1);
}

/// A value of every type and how it looks when it comes back, with instants in UTC (from 5.0) and as local time (4.4).
#[test]
fn values_of_every_type_come_back() {
    let text = "RETURN $null AS null, $list AS list, date('2020-02-29') AS date, localtime('12:00:01.5') AS lt, \
        time('12:00+01:00') AS t, localdatetime('2020-01-01T00:00:01') AS ldt, duration('P1M2DT3.5S') AS dur, \
        point({x: 1.0, y: 2.0}) AS p";
    let plain = Value::list(vec![
        true.into(),
        Value::Int(-5_000_000_000),
        Value::Float(0.5),
        "grüße".into(),
        Value::Bytes(Arc::from(&[1_u8, 2][..])),
        Value::map([("k", Value::Null)]),
    ]);
    for version in [V44, V50, V54] {
        let mut client = Client::ready(version);
        let row = client.row(text, Value::map([("null", Value::Null), ("list", plain.clone())]));
        let ints = |tag, fields: &[i64]| Item::Struct(tag, fields.iter().copied().map(Item::Int).collect());
        assert_eq!(row[0], Item::Null);
        let Item::List(list) = &row[1] else { panic!("no list") };
        assert_eq!(list[..2], [Item::Bool(true), Item::Int(-5_000_000_000)]);
        assert_eq!(list[3..5], [Item::Text("grüße".into()), Item::Bytes(vec![1, 2])]);
        assert_eq!(list[5], Item::Map(vec![("k".into(), Item::Null)]));
        assert_eq!(row[2], ints(0x44, &[18_321]));
        assert_eq!(row[3], ints(0x74, &[43_201_500_000_000]));
        assert_eq!(row[4], ints(0x54, &[43_200_000_000_000, 3_600]));
        assert_eq!(row[5], ints(0x64, &[1_577_836_801, 0]));
        assert_eq!(row[6], ints(0x45, &[1, 2, 3, 500_000_000]));
        let point = vec![Item::Int(7_203), Item::Float(1.0), Item::Float(2.0)];
        assert_eq!(row[7], Item::Struct(0x58, point));
        let zoned =
            "RETURN datetime('2020-01-01T01:00:00+01:00'), datetime('2020-07-01T12:00:00[Europe/Paris]')";
        let row = client.row(zoned, none());
        let (seconds, tags) = match version {
            V44 => ((1_577_840_400, 1_593_604_800), (0x46, 0x66)),
            _ => ((1_577_836_800, 1_593_597_600), (0x49, 0x69)),
        };
        assert_eq!(row[0], ints(tags.0, &[seconds.0, 0, 3_600]));
        let paris = vec![Item::Int(seconds.1), Item::Int(0), Item::Text("Europe/Paris".into())];
        assert_eq!(row[1], Item::Struct(tags.1, paris));
    }
}

/// Temporal parameters, sent back as text: what a driver sent is what was understood.
#[test]
fn structures_are_understood_as_parameters() {
    let mut client = Client::ready(V54);
    let mut shown = |tag: u8, fields: &[Value]| -> Vec<Answer> {
        // A structure as a parameter, written by hand: values have no form for one.
        let mut bytes = vec![0xB3, 0x10];
        let mut packer = tanglewood_server::bolt::packstream::Packer { bytes: std::mem::take(&mut bytes) };
        packer.text("RETURN toString($x)");
        packer.map(1);
        packer.text("x");
        packer.structure(tag, fields.len() as u8);
        let pack = tanglewood_server::bolt::structure::pack;
        fields.iter().for_each(|field| pack(&mut packer, field, true));
        packer.map(0);
        client.ask_all(&[packer.bytes, pull(-1), request(RESET, &[])])
    };
    let good: [(u8, Vec<Value>, &str); 7] = [
        (0x44, vec![Value::Int(18_321)], "2020-02-29"),
        (0x74, vec![Value::Int(43_201_500_000_000)], "12:00:01.500"),
        (0x64, vec![Value::Int(0), Value::Int(5)], "1970-01-01T00:00:00.000000005"),
        (0x49, vec![Value::Int(0), Value::Int(0), Value::Int(3_600)], "1970-01-01T01:00+01:00"),
        (0x46, vec![Value::Int(3_600), Value::Int(0), Value::Int(3_600)], "1970-01-01T01:00+01:00"),
        (
            0x69,
            vec![Value::Int(0), Value::Int(0), "Europe/Paris".into()],
            "1970-01-01T01:00+01:00[Europe/Paris]",
        ),
        (0x45, vec![Value::Int(1), Value::Int(0), Value::Int(1), Value::Int(-500_000_000)], "P1MT0.5S"),
    ];
    for (tag, fields, expected) in good {
        let answers = shown(tag, &fields);
        let text = answers[1].values()[0].text();
        assert_eq!(text, expected, "{tag:#x}");
    }
    let bad: [(u8, Vec<Value>); 7] = [
        (0x44, vec![Value::Int(i64::MAX)]),
        (0x74, vec![Value::Int(-1)]),
        (0x64, vec![Value::Int(i64::MIN), Value::Int(0)]),
        (0x49, vec![Value::Int(i64::MAX), Value::Int(0), Value::Int(0)]),
        (0x69, vec![Value::Int(0), Value::Int(0), "Nowhere/None".into()]),
        (0x4E, vec![Value::Int(0), Value::list(vec![]), none()]),
        (0x7A, vec![]),
    ];
    for (tag, fields) in bad {
        let answers = shown(tag, &fields);
        assert_eq!(answers[0].code(), "Neo.ClientError.Request.Invalid", "{tag:#x}");
        assert!(answers[2].is_success(), "{tag:#x}: a value that is refused does not end the connection");
    }
}

#[test]
fn entities_have_the_form_of_the_version() {
    for version in [V44, V50, V54] {
        let mut client = Client::ready(version);
        client.ask_all(&[run("CREATE (:A {x: 1})-[:R {y: 2}]->(:B)<-[:S]-(:C)"), pull(-1)]);
        let row = client.row("MATCH p = (a:A)-[r:R]->(b:B)<-[:S]-(:C) RETURN a, r, p, [b] AS l", none());
        let fields = |item: &Item, wanted: u8| {
            let Item::Struct(tag, fields) = item else { panic!("no structure: {item:?}") };
            assert_eq!(*tag, wanted);
            fields.clone()
        };
        let (node, edge, path) = (fields(&row[0], 0x4E), fields(&row[1], 0x52), fields(&row[2], 0x50));
        let is_old = version == V44;
        assert_eq!((node.len(), edge.len(), path.len()), if is_old { (3, 5, 3) } else { (4, 8, 3) });
        assert_eq!(node[1], Item::List(vec![Item::Text("A".into())]));
        assert_eq!(node[2], Item::Map(vec![("x".into(), Item::Int(1))]));
        assert_eq!(edge[3], Item::Text("R".into()));
        let Item::List(steps) = &path[2] else { panic!("no steps") };
        assert_eq!(*steps, [1, 1, -2, 2].map(Item::Int), "the second step walks against its edge");
        let Item::List(list) = &row[3] else { panic!("no list") };
        assert_eq!(fields(&list[0], 0x4E).len(), node.len());
    }
}

#[test]
fn summaries_tell_what_changed() {
    let mut client = Client::ready(V54);
    let mut stats = |text: &str| {
        let answers = client.ask_all(&[run(text), pull(-1)]);
        let metadata = answers.last().unwrap().metadata().clone();
        (metadata.get("type").unwrap().text().to_string(), metadata.get("stats").cloned())
    };
    let (kind, created) = stats("CREATE (:A {x: 1})-[:R]->(:B)");
    assert_eq!(kind, "w");
    let created = created.unwrap();
    let int = |name| created.get(name).unwrap().int();
    assert_eq!((int("nodes-created"), int("relationships-created"), int("properties-set")), (2, 1, 1));
    assert_eq!(created.get("contains-updates"), Some(&Item::Bool(true)));
    assert_eq!(stats("MATCH (n) RETURN n").1, None);
    for (text, name) in [
        ("CREATE INDEX i FOR (a:A) ON (a.x)", "indexes-added"),
        ("DROP INDEX i", "indexes-removed"),
        ("CREATE CONSTRAINT c FOR (a:A) REQUIRE a.x IS UNIQUE", "constraints-added"),
        ("DROP CONSTRAINT c", "constraints-removed"),
    ] {
        let (kind, changed) = stats(text);
        assert_eq!((kind.as_str(), changed.unwrap().get(name)), ("s", Some(&Item::Int(1))), "{text}");
    }
    let answers = client.ask_all(&[run("PROFILE MATCH (n:A) RETURN n.x"), pull(-1)]);
    // Numbers in Neo4j's form, at every operator.
    let mut operators = vec![answers.last().unwrap().metadata().get("profile").unwrap()];
    assert_eq!(operators[0].get("rows").unwrap().int(), 1);
    while let Some(operator) = operators.pop() {
        for name in ["rows", "dbHits", "time"] {
            assert!(operator.get(name).unwrap().int() >= 0, "{name} of {operator:?}");
        }
        let Some(Item::List(below)) = operator.get("children") else { panic!("{operator:?}") };
        operators.extend(below);
    }
    let answers = client.ask_all(&[run("EXPLAIN MATCH (n:A) RETURN n.x"), pull(-1)]);
    assert!(answers.last().unwrap().metadata().get("plan").unwrap().get("operatorType").is_some());
}

#[test]
fn a_reading_session_does_not_write() {
    let mut client = Client::ready(V54);
    let reading = Value::map([("mode", "r".into())]);
    let answers = client.ask_all(&[run_with("CREATE (:R)", none(), reading.clone()), request(RESET, &[])]);
    assert_eq!(answers[0].code(), "Neo.ClientError.Statement.AccessMode");
    let answers = client.ask_all(&[request(BEGIN, &[reading]), run("CREATE (:R)"), request(RESET, &[])]);
    assert_eq!(answers[1].code(), "Neo.ClientError.Statement.AccessMode");
    assert_eq!(client.count("MATCH (n:R) RETURN count(*)"), 0);
}

#[test]
fn routing_names_this_server_and_logging_off_starts_anew() {
    let mut client = Client::ready(V54);
    let table = client.ask(&request(ROUTE, &[none(), Value::list(vec![]), none()]));
    let Some(Item::List(servers)) = table[0].metadata().get("rt").unwrap().get("servers") else {
        panic!("no servers")
    };
    assert_eq!(servers.len(), 3);
    assert!(client.ask(&request(TELEMETRY, &[Value::Int(1)]))[0].is_success());
    assert!(client.ask(&request(LOGOFF, &[]))[0].is_success());
    assert!(client.ask(&request(LOGON, &[none()]))[0].is_success());
    assert_eq!(client.count("RETURN 1"), 1);
    assert!(client.ask(&request(GOODBYE, &[])).is_empty());
    assert_eq!(client.next, Next::Close);
}

/// A server that ends: an open transaction in which nothing runs may commit, and is told why when it asks for more.
#[test]
fn an_open_transaction_is_told_that_the_server_ends_when_it_asks_again() {
    let unavailable = "Neo.TransientError.General.DatabaseUnavailable";
    for (asks_again, commits) in [(true, false), (false, true)] {
        let mut client = Client::ready(V54);
        let begun = client.ask_all(&[request(BEGIN, &[none()]), run("CREATE (:T)"), pull(-1)]);
        assert!(begun.iter().all(Answer::is_success));
        client.database.drain();
        assert!(client.ask_all(&[run("CREATE (:T)"), pull(-1)]).iter().all(Answer::is_success));
        client.database.end_running();
        if asks_again {
            assert_eq!(client.ask(&run("RETURN 1"))[0].code(), unavailable);
            assert!(client.ask(&request(RESET, &[]))[0].is_success());
            assert_eq!(client.ask(&request(BEGIN, &[none()]))[0].code(), unavailable);
        }
        if commits {
            assert!(client.ask(&request(COMMIT, &[]))[0].is_success());
        }
        assert_eq!(client.database.open_transactions(), 0);
    }
}
