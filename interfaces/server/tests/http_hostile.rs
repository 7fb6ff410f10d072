//! Attacks on the HTTP interface: requests within requests, too much of everything, drips, pages of other sites, secrets in answers.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common;

use common::http::{Client, QUERY};
use common::socket::within;
use database::{Database, MEMORY, Options, Params};
use serde_json::json;
use std::net::TcpStream;
use std::time::Duration;
use tanglewood_server::users::Gate;
use tanglewood_server::{HttpServeOptions, HttpServer, Limits};
use world::threads::sleep;

fn database() -> Database {
    Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap()
}

fn serve(limits: Limits, cors: &[&str]) -> (Database, HttpServer) {
    let database = database();
    let cors = cors.iter().map(|site| site.to_string()).collect();
    let options = HttpServeOptions { limits, cors, ..HttpServeOptions::at("127.0.0.1:0") };
    let server = HttpServer::start(database.clone(), options).unwrap();
    (database, server)
}

fn count(database: &Database, label: &str) -> i64 {
    let text = format!("MATCH (n:{label}) RETURN count(*)");
    database.session().query(&text, Params::new()).unwrap().single().unwrap().as_int().unwrap()
}

/// A second request that hides in the body of a first is never answered as one of its own.
#[test]
fn no_request_is_smuggled_within_another() {
    let (database, server) = serve(Limits::default(), &[]);
    let host = server.address();
    let hidden = format!(
        "POST {QUERY} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 37\r\n\r\n{{\"statement\":\"CREATE (:Smuggled {{}})\"}}"
    );
    let head = format!("POST {QUERY} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n");
    for (what, lines, body) in [
        ("a length beside chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ("chunks beside a length", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "0\r\n\r\n"),
        ("two lengths", "Content-Length: 2\r\nContent-Length: 60\r\n", "{}"),
        ("a list of lengths", "Content-Length: 2, 60\r\n", "{}"),
        ("a length with a sign", "Content-Length: +2\r\n", "{}"),
        ("an unknown coding", "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
        ("chunked not last", "Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"),
        ("two codings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"),
        ("a blank before the colon", "Content-Length : 2\r\n", "{}"),
        ("a folded line", "X: a\r\n Content-Length: 2\r\n", "{}"),
        ("two hosts", "Host: other\r\nContent-Length: 2\r\n", "{}"),
    ] {
        let mut client = Client::connect(host);
        // Whoever is refused at once may close before all is written.
        let text = format!("{head}{lines}\r\n{body}{hidden}");
        let _ = std::io::Write::write_all(client.socket.get_mut(), text.as_bytes());
        let first = client.read(false);
        assert!(first.as_ref().is_none_or(|answer| answer.status >= 400), "{what}: {first:?}");
        if what == "two hosts" {
            // A whole request that is refused; the next one is one of its own, and is refused no more than any other.
            continue;
        }
        let second = client.read(false);
        assert!(second.is_none(), "{what}: {second:?}");
        assert_eq!(count(&database, "Smuggled"), 0, "{what}");
    }
    // Two requests in one packet are two.
    let mut client = Client::connect(host);
    let one = format!("GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n");
    client.raw(format!("{one}{one}").as_bytes());
    assert!((0..2).all(|_| client.read(false).unwrap().status == 200));
}

#[test]
fn nothing_is_larger_than_its_limit() {
    let limits =
        Limits { message_bytes_max: 10_000, head_bytes_max: 2_000, headers_max: 10, ..Limits::default() };
    let (_database, server) = serve(limits, &[]);
    let mut client = Client::connect(server.address());
    let of_length = |length: usize| {
        let frame = json!({"statement": "RETURN 1 AS x", "parameters": {"p": ""}}).to_string().len();
        json!({"statement": "RETURN 1 AS x", "parameters": {"p": "x".repeat(length - frame)}}).to_string()
    };
    for (length, status) in [(9_999, 202), (10_000, 202)] {
        assert_eq!(client.ask("POST", QUERY, &[], Some(&of_length(length))).status, status, "{length}");
    }
    assert_eq!(client.ask("POST", QUERY, &[], Some(&of_length(10_001))).status, 413);
    // In chunks, whose sum nobody says before.
    let mut client = Client::connect(server.address());
    client.raw(format!("POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n").as_bytes());
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(4_096));
    for _ in 0..3 {
        let _ = std::io::Write::write_all(client.socket.get_mut(), chunk.as_bytes());
    }
    assert_eq!(client.read(false).unwrap().status, 413);
    // Heads.
    let long = format!("X: {}", "x".repeat(3_000));
    let many: Vec<String> = (0..20).map(|at| format!("X-{at}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for headers in [&[long.as_str()][..], &many] {
        let mut client = Client::connect(server.address());
        client.send("GET", "/health", headers, None);
        let status = client.read(false).map(|answer| answer.status);
        assert!(status.is_none_or(|status| [400, 431].contains(&status)), "{status:?}");
    }
    let mut client = Client::connect(server.address());
    client.send("GET", &format!("/{}", "x".repeat(3_000)), &[], None);
    let status = client.read(false).map(|answer| answer.status);
    assert!(status.is_none_or(|status| [400, 414, 431].contains(&status)), "{status:?}");
    assert_eq!(Client::connect(server.address()).ask("GET", "/health", &[], None).status, 200);
}

#[test]
fn who_drips_or_is_silent_or_never_reads_is_let_go() {
    let limits = Limits {
        greeting_timeout: Duration::from_millis(300),
        message_timeout: Duration::from_millis(300),
        write_timeout: Duration::from_millis(300),
        ..Limits::default()
    };
    let (database, server) = serve(limits, &[]);
    let _silent = TcpStream::connect(server.address()).unwrap();
    let mut head = Client::connect(server.address());
    head.raw(b"GET /health HTTP/1.1\r\nHo");
    let mut body = Client::connect(server.address());
    body.raw(format!("POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{").as_bytes());
    assert_eq!(body.read(false).map(|answer| answer.status), Some(408));
    let mut deaf = Client::connect(server.address());
    deaf.send(
        "POST",
        QUERY,
        &[],
        Some(&json!({"statement": "UNWIND range(1, 100000000) AS i RETURN i"}).to_string()),
    );
    within(10_000, "the query", || !database.running().is_empty());
    within(20_000, "the end of all of them", || server.connections() == 0 && database.running().is_empty());
    assert!(head.is_closed());
}

#[test]
fn a_stranger_has_its_body_not_even_read() {
    let database = database();
    database.users().add("ada", "correct horse").unwrap();
    let gate = Gate::of(database.users());
    let options = HttpServeOptions { gate, ..HttpServeOptions::at("127.0.0.1:0") };
    let server = HttpServer::start(database, options).unwrap();
    let mut client = Client::connect(server.address());
    client.raw(format!("POST {QUERY} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000000\r\n\r\n").as_bytes());
    assert_eq!(client.read(false).unwrap().status, 401);
}

#[test]
fn pages_of_other_sites_ask_nothing_unless_they_are_named() {
    let (database, server) = serve(Limits::default(), &["https://app.example"]);
    let mut client = Client::connect(server.address());
    let body = json!({"statement": "CREATE (:Forged)"}).to_string();
    for headers in [
        &["Origin: https://evil.example"][..],
        &["Origin: null"],
        &["Sec-Fetch-Site: cross-site"],
        &["Sec-Fetch-Site: same-site"],
        // What a form of a page can send without asking.
        &["Content-Type: text/plain"],
        &["Content-Type: application/x-www-form-urlencoded"],
        // A name of the page's own that leads here.
        &["Host: evil.example", "Origin: http://evil.example"],
        &["Host: 127.0.0.1.evil.example"],
    ] {
        let answer = client.ask("POST", QUERY, headers, Some(&body));
        assert!([403, 415, 421].contains(&answer.status), "{headers:?}: {answer:?}");
        assert!(answer.header("access-control-allow-origin").is_none());
    }
    assert_eq!(
        client.ask("POST", "/db/neo4j/query/v2/tx", &["Origin: https://evil.example"], None).status,
        403
    );
    assert_eq!(client.ask("OPTIONS", QUERY, &["Origin: https://evil.example"], None).status, 403);
    assert_eq!(count(&database, "Forged"), 0);

    let asked = client.ask("OPTIONS", QUERY, &["Origin: https://app.example"], None);
    assert_eq!(
        (asked.status, asked.header("access-control-allow-origin")),
        (204, Some("https://app.example"))
    );
    assert!(asked.header("access-control-allow-headers").unwrap().contains("authorization"));
    assert!(asked.header("access-control-allow-credentials").is_none());
    let answer = client.ask("POST", QUERY, &["Origin: https://app.example"], Some(&body));
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (202, Some("https://app.example"))
    );
    assert_eq!(count(&database, "Forged"), 1);
}

#[test]
fn strangers_take_their_places_and_give_them_back() {
    let limits = Limits { strangers_max: 3, strangers_per_address_max: 3, ..Limits::default() };
    let (_database, server) = serve(limits, &[]);
    let silent: Vec<Client> = (0..3).map(|_| Client::connect(server.address())).collect();
    within(10_000, "all places", || server.connections() == 3);
    assert!(Client::connect(server.address()).is_closed());
    drop(silent);
    within(10_000, "no places", || server.connections() == 0);
    assert_eq!(Client::connect(server.address()).ask("GET", "/health", &[], None).status, 200);
}

/// A value as plain JSON and as typed JSON, so deep; and what is asked for with it.
fn nested(form: &str, depth: usize) -> String {
    let (open, core, close) = match form {
        "lists" => ("[", "", "]"),
        "maps" => ("{\"a\":", "7", "}"),
        "typed lists" => ("{\"$type\":\"List\",\"_value\":[", "{\"$type\":\"Null\",\"_value\":null}", "]}"),
        _ => ("{\"$type\":\"Map\",\"_value\":{\"a\":", "{\"$type\":\"Null\",\"_value\":null}", "}}"),
    };
    format!("{}{core}{}", open.repeat(depth), close.repeat(depth))
}

/// Below, at and above what JSON and values may be nested, and far beyond it, at every place of this interface that reads JSON.
#[test]
fn parameters_of_any_nesting_are_answered_or_refused() {
    const TYPED: &str = "Content-Type: application/vnd.neo4j.query.v1.1";
    let (database, server) = serve(Limits::default(), &[]);
    database
        .session()
        .query("CREATE STANDING QUERY q AS MATCH (n:N) RETURN n.x AS x", Params::new())
        .unwrap();
    let mut client = Client::connect(server.address());
    for depth in [1, 2, 60, 61, 62, 63, 124, 125, 126, 127, 128, 129, 5_000, 100_000] {
        for form in ["lists", "maps", "typed lists", "typed maps"] {
            let (value, is_typed) = (nested(form, depth), form.starts_with("typed"));
            let brackets = if is_typed { 2 * depth + 1 } else { depth } + 2;
            let fits = brackets <= model::json::JSON_DEPTH_MAX;
            let body = format!("{{\"statement\":\"RETURN $p AS p\",\"parameters\":{{\"p\":{value}}}}}");
            let kind = if is_typed { TYPED } else { "Content-Type: application/json" };
            for accept in
                ["application/json", "application/x-ndjson", "application/vnd.neo4j.query.v1.1+jsonl"]
            {
                let accept = format!("Accept: {accept}");
                for path in [QUERY, "/db/neo4j/query/v2/tx"] {
                    let answer = client.ask("POST", path, &[kind, &accept], Some(&body));
                    let what = format!("{form}, {depth} deep, {path}, {accept}: {:.300}", answer.text());
                    assert_eq!(answer.status == 202, fits, "{} {what}", answer.status);
                    let says = answer.text().contains("nested deeper than 127; flatten them");
                    assert!(fits || answer.status == 400 && says, "{} {what}", answer.status);
                    let comes_back =
                        !fits || is_typed || accept.contains("neo4j") || answer.text().contains(&value);
                    assert!(comes_back, "{what}");
                    if fits && path != QUERY {
                        let id =
                            answer.text().split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
                        let path = format!("{path}/{}", id.unwrap_or_else(|| panic!("{what}")));
                        assert_eq!(client.ask("DELETE", &path, &[], None).status, 200, "{what}");
                    }
                }
            }
            // In the query of a subscription: what is too deep is not taken for a text.
            if !is_typed && depth > 127 && value.len() < 10_000 {
                let value = value.replace('{', "%7B").replace('}', "%7D").replace('"', "%22");
                for blank in ["", "%20"] {
                    let path = format!("/db/neo4j/subscriptions/q?param.p={blank}{value}");
                    let answer = Client::connect(server.address()).ask("GET", &path, &[], None);
                    let says = answer.text().contains("parameter `p`: lists and objects are nested deeper");
                    assert!(answer.status == 400 && says, "{} {}", answer.status, answer.text());
                }
            }
        }
    }
    assert_eq!(client.query("RETURN 7").status, 202);
}

/// What a client says in secret is in no answer, and in no listing.
#[test]
fn passwords_and_tokens_are_repeated_nowhere() {
    let database = database();
    database.users().add("ada", "correct horse").unwrap();
    let gate = Gate::of(database.users());
    let options = HttpServeOptions { gate, ..HttpServeOptions::at("127.0.0.1:0") };
    let server = HttpServer::start(database.clone(), options).unwrap();
    let mut ada = Client::connect(server.address()).basic("ada", "correct horse");
    let token = ada.ask("POST", "/tokens", &[], None).json()["token"].as_str().unwrap().to_string();
    let mut by_token = Client::connect(server.address()).with(&format!("Authorization: Bearer {token}"));
    let mut said = String::new();
    for text in
        ["SHOW TRANSACTIONS", "SHOW QUERIES", "SHOW SETTINGS", "CALL dbms.listConnections()", "RETRUN 1"]
    {
        said += by_token.query(text).text();
    }
    said += by_token.ask("GET", "/metrics", &[], None).text();
    let mut wrong = Client::connect(server.address()).with(&format!("Authorization: Bearer {token}x"));
    said += wrong.query("RETURN 1").text();
    sleep(Duration::from_millis(1));
    let secret = data_encoding::BASE64.encode(b"ada:correct horse");
    for secret in [token.as_str(), "correct horse", &secret] {
        assert!(!said.contains(secret), "{secret} is in {said}");
    }
}

/// How a client that is going goes.
#[derive(Clone, Copy, Debug)]
enum Going {
    /// Both sides are closed, in order.
    Closes,
    /// The connection is reset.
    Resets,
    /// Only its sending side is shut: it waits for its answer.
    ShutsSending,
}

/// Whatever a client sent behind its request, and however it goes, what runs for it ends at once.
#[test]
fn a_client_that_goes_ends_its_query_whatever_it_sent_behind_it() {
    let (database, server) = serve(Limits::default(), &[]);
    let next = format!("GET /health HTTP/1.1\r\nHost: {}\r\n\r\n", server.address());
    let behind = [
        ("nothing", Vec::new()),
        ("a byte", b"G".to_vec()),
        ("a whole request", next.clone().into_bytes()),
        ("a whole request and a half", [next.as_bytes(), b"POST / HT"].concat()),
        ("many requests", next.repeat(100).into_bytes()),
        ("nonsense", vec![b'x'; 30_000]),
        ("more than there is room for", vec![b'x'; 300_000]),
    ];
    let long = json!({"statement": "UNWIND range(1, 1000000000) AS i UNWIND range(1, 1000) AS j RETURN max(i * j % 7)"});
    for (what, bytes) in &behind {
        for going in [Going::Closes, Going::Resets, Going::ShutsSending] {
            let mut client = Client::connect(server.address());
            client.send("POST", QUERY, &[], Some(&long.to_string()));
            within(10_000, "the query", || !database.running().is_empty());
            // The server may let go of a client that sends too much before all of it is sent.
            let _ = std::io::Write::write_all(client.socket.get_mut(), bytes);
            match going {
                Going::Resets => {
                    let socket = socket2::SockRef::from(client.socket.get_ref());
                    socket.set_linger(Some(Duration::ZERO)).unwrap();
                    drop(client);
                }
                Going::Closes => drop(client),
                Going::ShutsSending => {
                    let _ = client.socket.get_ref().shutdown(std::net::Shutdown::Write);
                    let end = within(10_000, &format!("{what}, {going:?}"), || database.running().is_empty());
                    assert!(client.is_closed(), "{what}: no answer after {end} ms");
                }
            }
            within(10_000, &format!("{what}, {going:?}"), || database.running().is_empty());
        }
    }
    within(10_000, "the end of all connections", || server.connections() == 0);
}

/// A client that sends requests one behind the other, and stays, is answered in order; what has room waits.
#[test]
fn requests_that_come_early_are_answered_in_order() {
    let (_database, server) = serve(Limits::default(), &[]);
    let mut client = Client::connect(server.address());
    let slow = "UNWIND range(1, 300000) AS i WITH max(i) AS m RETURN ";
    for number in 0..50 {
        let body = json!({"statement": format!("{slow}{number} AS n"), "parameters": {"p": "x".repeat(500)}});
        client.send("POST", QUERY, &[], Some(&body.to_string()));
    }
    for number in 0..50 {
        let answer = client.read(false).unwrap();
        assert_eq!(answer.json()["data"]["values"][0][0], number, "{}", answer.text());
    }
}

/// A known client may be silent between two requests for `idle_timeout`, one that nobody knows for `greeting_timeout`, and nobody within a head.
#[test]
fn silence_between_requests_has_a_time_of_its_own() {
    let serve = |idle_timeout| {
        serve(Limits { greeting_timeout: Duration::from_millis(150), idle_timeout, ..Limits::default() }, &[])
    };
    // Times only end a connection here if they are the right ones: the other is longer than the test may take.
    let (database, server) = serve(Duration::from_secs(600));
    let (_idle, soon) = serve(Duration::from_millis(300));
    let closes = |mut client: Client, what: &str| {
        let began = world::clock::monotonic_ns();
        assert!(client.is_closed());
        assert!(world::clock::monotonic_ns() - began < 20_000_000_000, "{what}: it is held for ever");
    };
    // A busy machine may not even send the first head in time.
    let answered = |server: &HttpServer, path: &str| loop {
        let mut client = Client::connect(server.address());
        match path {
            QUERY => client.send("POST", path, &[], Some(r#"{"statement": "RETURN 1"}"#)),
            path => client.send("GET", path, &[], None),
        }
        if client.read(false).is_some() {
            return client;
        }
    };
    closes(answered(&server, "/health"), "a stranger");
    let mut later = answered(&server, QUERY);
    sleep(Duration::from_millis(400));
    assert_eq!(later.query("RETURN 2").status, 202, "longer than a stranger may be silent");
    let began = world::clock::monotonic_ns();
    closes(answered(&soon, QUERY), "one that is idle");
    assert!(world::clock::monotonic_ns() - began >= 300_000_000);
    let mut head = answered(&server, QUERY);
    head.raw(b"GET /health HT");
    closes(head, "a head that does not go on");
    // One that begins while its request before is answered is a head too.
    let long = "UNWIND range(1, 1000000000) AS i UNWIND range(1, 1000) AS j RETURN max(i * j % 7)";
    let slow = json!({"statement": long, "maxExecutionTime": 1}).to_string();
    later.send("POST", QUERY, &[], Some(&slow));
    within(10_000, "the query", || !database.running().is_empty());
    later.raw(b"GET /health HT");
    assert!(later.read(false).unwrap().status >= 400, "its time is over");
    closes(later, "a head that began early");
    // One that drips its head has no more time for that.
    let mut dripping = answered(&server, QUERY);
    let began = world::clock::monotonic_ns();
    while std::io::Write::write_all(dripping.socket.get_mut(), b"G").is_ok() {
        assert!(world::clock::monotonic_ns() - began < 20_000_000_000, "it drips for ever");
        sleep(Duration::from_millis(20));
    }
}

/// A client that reads too slowly holds its query no longer than the query may take, whoever gave it the time.
#[test]
fn a_slow_reader_holds_no_query_beyond_its_time() {
    let options =
        Options { executors: Some(1), query_timeout: Some(Duration::from_millis(300)), ..Options::default() };
    let database = Database::open(MEMORY, options).unwrap();
    let server = HttpServer::start(database.clone(), HttpServeOptions::at("127.0.0.1:0")).unwrap();
    let many = "UNWIND range(1, 100000000) AS i RETURN i, 'some text that makes rows long' AS text";
    for (what, body, accept) in [
        ("lines", json!({"statement": many}), "application/x-ndjson"),
        ("one object", json!({"statement": many}), "application/json"),
        (
            "typed lines",
            json!({"statement": many, "maxExecutionTime": 1}),
            "application/vnd.neo4j.query+jsonl",
        ),
        (
            "Gremlin",
            json!({"statement": "g.inject(1).repeat(union(identity(), identity())).times(26)", "language": "gremlin"}),
            "application/x-ndjson",
        ),
    ] {
        let ended = || -> u64 {
            database
                .query_figures()
                .iter()
                .flat_map(|figures| figures.outcomes.iter().filter(|(name, _)| *name != "client_error"))
                .map(|(_, count)| count)
                .sum()
        };
        let ended_before = ended();
        let mut deaf = Client::connect(server.address());
        deaf.send("POST", QUERY, &[&format!("Accept: {accept}")], Some(&body.to_string()));
        // On a busy machine it is over before we look.
        within(10_000, what, || !database.running().is_empty() || ended() > ended_before);
        within(3_000, &format!("the end of {what}"), || {
            database.running().is_empty() && database.open_work() == 0
        });
    }
    // Who reads on is told at the end.
    let mut slow = Client::connect(server.address());
    slow.send(
        "POST",
        QUERY,
        &["Accept: application/x-ndjson"],
        Some(&json!({"statement": many}).to_string()),
    );
    sleep(Duration::from_millis(600));
    let answer = slow.read(false).unwrap();
    let last = answer.text().lines().last().unwrap();
    assert!(answer.is_whole && last.contains("TransactionTimedOut"), "{last}");
}

/// The name by which the server is asked, in the first line and in `Host`.
#[test]
fn a_request_names_one_host_and_it_is_ours() {
    let (_database, server) = serve(Limits::default(), &[]);
    let body = json!({"statement": "RETURN 1"}).to_string();
    for (what, target, host, version, status) in [
        ("as usual", "", "Host: localhost\r\n", "1.1", 202),
        ("a whole address", "http://localhost", "Host: localhost\r\n", "1.1", 202),
        ("another address", "http://evil.example", "Host: localhost\r\n", "1.1", 400),
        ("another host", "http://localhost", "Host: evil.example\r\n", "1.1", 400),
        ("both others", "http://evil.example", "Host: evil.example\r\n", "1.1", 421),
        ("no host", "", "", "1.1", 400),
        ("no host, but an address", "http://localhost", "", "1.1", 400),
        ("an old client", "", "", "1.0", 202),
        ("an old client, another address", "http://evil.example", "", "1.0", 421),
    ] {
        let mut client = Client::connect(server.address());
        client.raw(
            format!(
                "POST {target}{QUERY} HTTP/{version}\r\n{host}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .as_bytes(),
        );
        let line = client.line().unwrap();
        assert!(line.contains(&format!(" {status} ")), "{what}: {line}");
    }
}
