//! The Gremlin interface over real sockets: answers in parts, sessions, strangers, TLS, HTTP, clients that go.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod common;

use common::gremlin::*;
use common::socket::within;
use database::{Database, MEMORY, Options};
use rustls::pki_types::ServerName;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tanglewood_server::users::Gate;
use tanglewood_server::{GremlinServeOptions, GremlinServer, Limits, Tls, Users};

#[test]
fn an_answer_comes_in_parts_of_the_size_asked_for() {
    let (_database, server) = serve(Limits::default());
    let mut client = Client::connect(server.address());
    client.send("eval", "", json!({ "gremlin": "g.inject(1, 2, 3, 4, 5)", "batchSize": 2 }));
    let parts: Vec<Told> = (0..3).map(|_| client.told()).collect();
    assert_eq!(parts.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [206, 206, 200]);
    assert_eq!(parts.iter().map(|(_, part)| part.as_array().unwrap().len()).collect::<Vec<_>>(), [2, 2, 1]);
    // One object that is there very often is not one part.
    let bulk = "g.inject(1).repeat(__.union(__.identity(), __.identity())).times(40)";
    client.send("eval", "", json!({ "gremlin": bulk, "batchSize": 1000 }));
    for _ in 0..5 {
        let (code, part) = client.told();
        assert_eq!((code, part.as_array().unwrap().len()), (206, 1_000));
    }
    // Bindings, other ways to say it, and nothing at all.
    let mut client = Client::connect(server.address());
    client.send("eval", "", json!({ "gremlin": "g.inject(x).is(gt(y))", "bindings": { "x": 3, "y": 2 }, "language": "gremlin-groovy" }));
    assert_eq!(client.rest(), [json!({ "@type": "g:Int32", "@value": 3 })]);
    client.eval("g.V()");
    assert_eq!(client.told().0, 204);
    client.eval("g.inject(1, 2).next()");
    assert_eq!(client.rest().len(), 1);
    client.eval("g.V().hasNext()");
    assert_eq!(client.rest(), [json!(false)]);
}

#[test]
fn mistakes_are_told_and_the_connection_goes_on() {
    let (_database, server) = serve(Limits::default());
    let mut client = Client::connect(server.address());
    let mut said = |operation: &str, processor: &str, arguments| {
        client.send(operation, processor, arguments);
        client.told()
    };
    assert_eq!(said("eval", "", json!({ "gremlin": "g.V().nothing()" })).0, 597);
    assert_eq!(said("eval", "", json!({ "gremlin": "g.V(" })).0, 597);
    assert_eq!(said("eval", "", json!({ "gremlin": "g.inject(x)" })).0, 597);
    assert_eq!(said("eval", "", json!({ "gremlin": "g.inject(1).fail('so')" })).0, 595);
    assert_eq!(said("eval", "", json!({})).0, 499);
    assert_eq!(said("eval", "", json!({ "gremlin": "g.V()", "aliases": { "g": "other" } })).0, 499);
    assert_eq!(said("dance", "", json!({})).0, 498);
    assert_eq!(said("eval", "", json!({ "gremlin": ENDLESS, "evaluationTimeout": 50 })).0, 598);
    for frame in [&b""[..], b"\x05short", b"\x03xml<a/>", b"\x10application/json{", b"\x10application/json{}"]
    {
        client.socket.send(tungstenite::Message::binary(frame.to_vec())).unwrap();
        let answer = client.socket.read().unwrap();
        // Whose format is not known is answered in GraphBinary.
        let code = match &answer {
            tungstenite::Message::Binary(bytes) => i32::from_be_bytes(bytes[2..6].try_into().unwrap()),
            tungstenite::Message::Text(text) => {
                let json: serde_json::Value = serde_json::from_str(text).unwrap();
                json["status"]["code"].as_i64().unwrap() as i32
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(code, 498, "{frame:?}");
    }
    // Drivers wait for an answer by its id: one that cannot be read further is answered with that.
    let mut lambda = b"\x20application/vnd.graphbinary-v1.0\x81".to_vec();
    lambda.extend([7; 16]);
    lambda.extend(b"\0\0\0\x04eval\0\0\0\0\0\0\0\x01\x03\0\0\0\0\x07gremlin\x1d\0");
    client.socket.send(tungstenite::Message::binary(lambda)).unwrap();
    let tungstenite::Message::Binary(answer) = client.socket.read().unwrap() else {
        panic!("in its own format")
    };
    assert_eq!((answer[1], &answer[2..18]), (0, &[7; 16][..]));
    assert_eq!(i32::from_be_bytes(answer[18..22].try_into().unwrap()), 498);
    assert_eq!(client.int("g.inject(7)"), 7);
}

#[test]
fn sessions_hold_transactions() {
    let (database, server) = serve(Limits::default());
    let (mut one, mut other) = (Client::connect(server.address()), Client::connect(server.address()));
    let id = "11111111-2222-3333-4444-555555555555";
    let mut said = |text: &str| {
        one.send("eval", "session", json!({ "gremlin": text, "session": id }));
        one.rest()
    };
    said("g.addV('a')");
    assert_eq!(said("g.V().count()")[0]["@value"], 1);
    assert_eq!(other.int("g.V().count()"), 0, "nobody else sees it");
    said("g.tx().commit()");
    assert_eq!(other.int("g.V().count()"), 1);
    said("g.addV('b')");
    said("g.tx().rollback()");
    assert_eq!(said("g.V().count()")[0]["@value"], 1);
    said("g.addV('c')");
    one.send("close", "session", json!({ "session": id }));
    assert_eq!(one.told().0, 204);
    assert_eq!(other.int("g.V().count()"), 1, "what was not committed is gone with its session");
    // So it is with the connection.
    one.send("eval", "session", json!({ "gremlin": "g.addV('d')", "session": id }));
    one.rest();
    drop(one);
    within(2_000, "the end of the session", || server.connections() == 1);
    assert_eq!(database.snapshot().statistics().vertices(), 1);
    // Only so many.
    let full = (0..100).find_map(|number| {
        other.send("eval", "session", json!({ "gremlin": "g.V().count()", "session": number.to_string() }));
        Some(other.told()).filter(|(code, _)| *code == 499)
    });
    assert!(full.is_some());
}

#[test]
fn what_runs_for_a_client_that_goes_ends() {
    let (database, server) = serve(Limits::default());
    let mut client = Client::connect(server.address());
    client.eval(ENDLESS);
    // What waits behind it does not hide that the client is gone.
    client.eval(ENDLESS);
    within(5_000, "the traversal", || !database.running().is_empty());
    drop(client);
    within(5_000, "its end", || database.running().is_empty() && server.connections() == 0);
    // A server that ends ends what runs.
    let mut client = Client::connect(server.address());
    client.eval(ENDLESS);
    within(5_000, "the traversal", || !database.running().is_empty());
    drop(server);
    within(5_000, "its end", || database.running().is_empty());
}

#[test]
fn a_client_that_does_not_read_holds_its_traversal_back() {
    let limits = Limits { write_timeout: Duration::from_secs(2), ..Limits::default() };
    let (database, server) = serve(limits);
    let mut client = Client::connect(server.address());
    client.ask("g.inject(1).repeat(__.addV('n').property('name', 'a name that takes some room')).times(3)");
    let mut session = database.session();
    let filled =
        session.query("UNWIND range(1, 3000) AS i CREATE (:N {name: 'some name ' + i})", Default::default());
    filled.and_then(|result| result.finish()).unwrap();
    let resident = || world::memory::resident_bytes().unwrap_or(0);
    let before = resident();
    // Nine million maps.
    client.eval("g.V().hasLabel('N').as('a').V().hasLabel('N').as('b').select('a', 'b')");
    let most = (0..15).fold(0, |most: u64, _| {
        world::threads::sleep(Duration::from_millis(100));
        most.max(resident().saturating_sub(before))
    });
    assert!(most < 128 << 20, "the server grew by {} MB for a client that does not read", most >> 20);
    within(20_000, "the slot of a client that never reads", || server.connections() == 0);
    within(2_000, "the end of its traversal", || database.running().is_empty());
}

fn users() -> Users {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let users = database.users();
    users.add("ada", "correct horse").unwrap();
    users
}

fn plain_token(name: &str, password: &str) -> String {
    data_encoding::BASE64.encode(format!("\0{name}\0{password}").as_bytes())
}

#[test]
fn strangers_are_asked_who_they_are() {
    let (database, options) = options(Gate::of(users()), Limits::default());
    let server = GremlinServer::start(options).unwrap();
    let mut client = Client::connect(server.address());
    client.eval("g.inject(1)");
    assert_eq!(client.told().0, 407);
    client.send("authentication", "traversal", json!({ "sasl": plain_token("ada", "correct horse") }));
    assert_eq!(client.rest().len(), 1, "what was asked before is answered now");
    assert_eq!(client.int("g.inject(2)"), 2, "nobody is asked twice");
    client.eval(ENDLESS);
    within(5_000, "the traversal", || !database.running().is_empty());
    assert_eq!(database.running()[0].tenant, "ada", "a user pays for what it asks");
    for (name, password) in [("ada", "wrong"), ("eve", "correct horse"), ("", "")] {
        let mut client = Client::connect(server.address());
        client.send("authentication", "", json!({ "sasl": plain_token(name, password) }));
        assert_eq!(client.told().0, 401);
        assert!(client.try_told().is_none(), "the connection ends");
    }
    // Nothing long is read of whom nobody knows.
    let mut client = Client::connect(server.address());
    client.eval(&"x".repeat(1 << 20));
    assert!(client.farewell().is_none_or(|why| why.contains("too long") || why.contains("Message")));
    // HTTP asks each time.
    let query = "?gremlin=g.inject(1)";
    let refused = get(server.address(), query, "");
    assert!(refused.starts_with("HTTP/1.1 401 ") && refused.contains("WWW-Authenticate: Basic"), "{refused}");
    let header =
        |pair: &str| format!("Authorization: Basic {}\r\n", data_encoding::BASE64.encode(pair.as_bytes()));
    assert!(get(server.address(), query, &header("ada:wrong")).starts_with("HTTP/1.1 401 "));
    assert!(get(server.address(), query, &header("ada:correct horse")).starts_with("HTTP/1.1 200 "));
}

#[test]
fn through_tls() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let (_database, mut options) = options(Gate::open(), Limits::default());
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    options.tls = Some(Tls::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap());
    let server = GremlinServer::start(options).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut client = Client::over(rustls::StreamOwned::new(connection, socket(server.address())));
    assert_eq!(client.int("g.inject(7)"), 7);
    let long = "x".repeat(1 << 20);
    assert_eq!(client.ask(&format!("g.inject('{long}')")), [json!(long)]);
    // Clear text is no TLS.
    assert!(!get(server.address(), "?gremlin=g.inject(1)", "").contains("HTTP/1.1 200"));
}

#[test]
fn over_http() {
    let (_database, server) = serve(Limits::default());
    let at = server.address();
    let answer = get(at, "?gremlin=g.inject(x,%22a+b%22)&bindings.x=3&aliases.g=g", "");
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/vnd.gremlin-v3.0+json"),
        "{answer}"
    );
    let wanted = json!({ "@type": "g:List", "@value": [{ "@type": "g:Int32", "@value": 3 }, "a b"] });
    assert_eq!(body(&answer)["result"]["data"], wanted);
    assert_eq!(body(&answer)["status"]["code"], 200);

    let asked =
        json!({ "gremlin": "g.inject(x).constant(y)", "bindings": { "x": 1, "y": [1, { "z": 2.5 }] } })
            .to_string();
    let plain = "Accept: application/vnd.gremlin-v3.0+json;types=false, */*;q=0.1\r\n";
    assert_eq!(body(&post(at, &asked, plain))["result"]["data"], json!([[1, { "z": 2.5 }]]));
    let untyped =
        "Content-Type: application/json; charset=utf-8\r\nAccept: application/vnd.gremlin-v1.0+json\r\n";
    assert_eq!(
        body(&post(at, "{\"gremlin\":\"g.addV('a').property('n', 1)\"}", untyped))["result"]["data"][0]["type"],
        "vertex"
    );
    let binary = post(at, &asked, "Accept: application/vnd.graphbinary-v1.0\r\n");
    assert!(binary.contains("Content-Type: application/vnd.graphbinary-v1.0"), "{binary}");

    // Two on one connection, the second closes.
    let one = "GET /gremlin?gremlin=g.inject(1) HTTP/1.1\r\nHost: localhost\r\n";
    let both = http(at, &format!("{one}\r\n{one}Connection: close\r\n\r\n"));
    assert_eq!(both.matches("HTTP/1.1 200 OK").count(), 2, "{both}");
    // A long answer goes out as it comes.
    let long = get(at, "?gremlin=g.inject(1).repeat(__.union(__.identity(),__.identity())).times(16)", "");
    assert!(long.contains("Transfer-Encoding: chunked") && long.ends_with("0\r\n\r\n"));
    assert_eq!(long.matches("g:Int32").count(), 1 << 16);

    let code = |answer: &str| answer.split(' ').nth(1).unwrap_or_default().to_string();
    assert_eq!(code(&get(at, "", "")), "400");
    assert_eq!(code(&get(at, "?gremlin=%zz", "")), "400");
    assert_eq!(code(&get(at, "?gremlin=g.V(", "")), "500");
    assert_eq!(body(&get(at, "?gremlin=g.nothing()", ""))["code"], 597);
    assert_eq!(code(&get(at, "?gremlin=g.V()", "Accept: text/html\r\n")), "400");
    assert_eq!(code(&post(at, "{", "")), "400");
    for (kind, status) in
        [("APPLICATION/JSON", "200"), ("Application/Json; Charset=utf-8", "200"), ("text/plain", "400")]
    {
        let header = format!("Content-Type: {kind}\r\n");
        assert_eq!(code(&post(at, "{\"gremlin\":\"g.inject(1)\"}", &header)), status, "{kind}");
    }
    assert_eq!(code(&post(at, "[]", "")), "400");
    assert_eq!(code(&post(at, "{}", "Transfer-Encoding: chunked\r\n")), "411");
    assert_eq!(
        code(&http(at, "PUT /gremlin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")),
        "405"
    );
    assert_eq!(code(&http(at, "GET /other HTTP/1.1\r\n\r\n")), "404");
    assert_eq!(code(&http(at, "nonsense\r\n\r\n")), "400");
    // A page of another site, in the browser of somebody who has a server on this machine.
    for (header, status) in [
        ("Origin: https://example.org\r\n", "403"),
        ("Sec-Fetch-Site: cross-site\r\n", "403"),
        // An image on the page of another port says no Origin.
        ("Sec-Fetch-Site: same-site\r\n", "403"),
        ("Sec-Fetch-Site: same-origin\r\n", "200"),
        ("Sec-Fetch-Site: none\r\n", "200"),
    ] {
        assert_eq!(code(&get(at, "?gremlin=g.V().drop()", header)), status, "{header}");
    }
    // Another port is another site: a page that somebody else's program serves here.
    for (origin, status) in [("http://127.0.0.1:3000", "403"), ("http://localhost", "200"), ("null", "403")] {
        let header = format!("Origin: {origin}\r\n");
        assert_eq!(code(&get(at, "?gremlin=g.V()", &header)), status, "{origin}");
    }
    // A site that is named may ask, as at the HTTP interface.
    let (_database, named) = options(Gate::open(), Limits::default());
    let named =
        GremlinServer::start(GremlinServeOptions { cors: vec!["https://app.example".into()], ..named })
            .unwrap();
    for (origin, status) in [("https://app.example", "200"), ("https://app.example:444", "403")] {
        let header = format!("Origin: {origin}\r\n");
        assert_eq!(code(&get(named.address(), "?gremlin=g.V()", &header)), status, "{origin}");
    }
}

fn first_line(address: SocketAddr, text: &str) -> String {
    let (mut socket, mut line) = (socket(address), String::new());
    socket.write_all(text.as_bytes()).unwrap();
    BufReader::new(socket).read_line(&mut line).unwrap();
    line
}

/// A page whose own name was made to mean this machine is of the same site as the server; its browser still says that name.
#[test]
fn without_passwords_only_a_loopback_host_is_answered() {
    let (_database, server) = serve(Limits::default());
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let asked = |at, host: &str, origin: &str, rest: &str| {
        let head = format!("GET /gremlin?gremlin=g.inject(1) HTTP/1.1\r\n{host}{origin}{rest}\r\n");
        first_line(at, &head).split(' ').nth(1).unwrap_or_default().to_string()
    };
    let port = server.address().port();
    for name in
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "[::1", ""]
    {
        for name in [name.to_string(), format!("{name}:{port}")] {
            let (host, origin) = (format!("Host: {name}\r\n"), format!("Origin: http://{name}\r\n"));
            assert_eq!(asked(server.address(), &host, &origin, "Connection: close\r\n"), "403", "{name}");
            assert_eq!(asked(server.address(), &host, &origin, upgrade), "403", "{name}");
        }
    }
    let two = "Host: localhost\r\nHost: evil.example\r\n";
    assert_eq!(asked(server.address(), two, "", "Connection: close\r\n"), "400");
    let told = http(server.address(), "GET /gremlin HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert!(told.contains("asks for no password") && told.contains("localhost"), "{told}");
    for name in ["localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "[::1]", "[::ffff:127.0.0.1]"] {
        for name in [name.to_string(), format!("{name}:{port}")] {
            let host = format!("Host: {name}\r\n");
            assert_eq!(asked(server.address(), &host, "", "Connection: close\r\n"), "200", "{name}");
            assert_eq!(asked(server.address(), &host, "", upgrade), "101", "{name}");
        }
    }
    assert_eq!(asked(server.address(), "", "", "Connection: close\r\n"), "400", "HTTP/1.1 has a host");
    let old = first_line(server.address(), "GET /gremlin?gremlin=g.inject(1) HTTP/1.0\r\n\r\n");
    assert!(old.contains(" 200 "), "no browser: {old}");
    // Who asks for passwords may be called by any name.
    let (_database, options) = options(Gate::of(users()), Limits::default());
    let server = GremlinServer::start(options).unwrap();
    assert_eq!(asked(server.address(), "Host: db.example\r\n", "", "Connection: close\r\n"), "401");
    assert_eq!(asked(server.address(), "Host: db.example\r\n", "", upgrade), "101");
}
