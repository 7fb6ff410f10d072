//! A server as an operator has it: settings from a file, a log without secrets, signals, metrics, and an end that drivers understand.

use super::{Place, command, says};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Texts that must never be in a log.
const SECRETS: [&str; 5] =
    ["correct horse", "Y29ycmVjdCBob3JzZQ", "battery staple", "sekret value", "tanglewood_"];

struct Operated {
    child: Child,
    bolt: String,
    http: String,
}

impl Operated {
    fn start(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Operated {
        let mut serve = command(place.path(), &[&["serve"], arguments].concat());
        let mut child = serve.envs(variables.iter().copied()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (mut bolt, mut http, mut line) = (String::new(), String::new(), String::new());
        while !line.contains("to end") {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "the server did not start");
            let address =
                line.trim().rsplit("://").next().unwrap_or_default().trim_end_matches('/').to_string();
            match line.trim().split(' ').next() {
                Some("listening") => bolt = address,
                Some("http") => http = address,
                _ => {}
            }
        }
        Operated { child, bolt, http }
    }
    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
    fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
    /// A request that closes its connection: the whole answer.
    fn ask(&self, method: &str, path: &str, password: &str, body: &str) -> String {
        answer(&mut self.begin(method, path, password, body))
    }
    fn begin(&self, method: &str, path: &str, password: &str, body: &str) -> TcpStream {
        let pair = data(&format!("ada:{password}"));
        let mut socket = TcpStream::connect(&self.http).unwrap();
        let log_on =
            if password.is_empty() { String::new() } else { format!("Authorization: Basic {pair}\r\n") };
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{log_on}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        socket
    }
    fn query(&self, password: &str, text: &str) -> String {
        let body = serde_json::json!({ "statement": text, "parameters": { "value": "sekret value" } });
        self.ask("POST", "/db/neo4j/query/v2", password, &body.to_string())
    }
}

impl Drop for Operated {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(socket: &mut TcpStream) -> String {
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

/// Base 64, as `Authorization` has it.
fn data(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let is_there = digit <= three.len();
            out.push(if is_there { DIGITS[(bits >> (18 - 6 * digit) & 63) as usize] as char } else { '=' });
        }
    }
    out
}

/// Waits until a file has such a text.
#[track_caller]
fn told(path: &Path, part: &str) -> String {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.contains(part) {
            return text;
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "`{part}` is missing in {}:\n{text}",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn user(place: &Place, name: &str) {
    let mut add = command(place.path(), &["user", "add", "o.db", name]);
    let mut child = add.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"correct horse\n").unwrap();
    assert!(child.wait().unwrap().success());
}

/// `… | head`, where head has gone: no command panics, whatever its output.
#[test]
fn a_pipe_that_nobody_reads_ends_a_command_in_order() {
    let place = Place::new();
    place.file("good.toml", "[query]\ntimeout = '30s'\n");
    place.file("bad.toml", "[query]\ntimeout = 'x'\n");
    let commands: &[&[&str]] = &[
        &[],
        &["--help"],
        &["serve", "--help"],
        &["nonsense"],
        &["version"],
        &["manual"],
        &["completions", "bash"],
        &["config", "check", "good.toml"],
        &["config", "check", "bad.toml"],
        &["config", "check", "none.toml"],
        &["serve", "--config", "bad.toml"],
        &["serve"],
        &["query", ":memory:", "UNWIND range(1, 100000) AS i RETURN i"],
        &["query", ":memory:", "PROFILE MATCH (n:None) RETURN n"],
        &["query", ":memory:", "RETRUN 1"],
        &["query", "none.db", "RETURN 1"],
        &["check", "none.db"],
        &["backup", "none.db", "b"],
        &["restore", "none", "r.db"],
        &["export", "none.db", "--to", "x"],
        &["import", ":memory:", "--from", "none.csv"],
        &["history", "none.db"],
        &["user", "list", "none.db"],
    ];
    for arguments in commands {
        for (closes_out, closes_err) in [(true, false), (false, true), (true, true)] {
            let closed = || {
                let (reader, writer) = std::io::pipe().unwrap();
                drop(reader);
                Stdio::from(writer)
            };
            let mut run = command(place.path(), arguments);
            run.stdin(Stdio::null());
            run.stdout(if closes_out { closed() } else { Stdio::null() });
            run.stderr(if closes_err { closed() } else { Stdio::null() });
            let code = run.status().unwrap().code();
            assert!(code.is_some_and(|code| code <= 2), "{arguments:?} {closes_out} {closes_err}: {code:?}");
        }
    }
}

#[test]
fn settings_are_looked_at_before_a_server_starts() {
    let place = Place::new();
    place.file(
        "good.toml",
        "database = 'o.db'\nmemory = '1GiB'\n[query]\ntimeout = '30s'\n[log]\nlevel = 'warn,audit=info'\n",
    );
    let shown = place.run(&["config", "check", "good.toml"]).ok();
    for part in [
        "good.toml is right",
        "query.timeout = \"30s\"  # file",
        "bolt.address = \"127.0.0.1:7687\"  # default",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    place.file("bad.toml", "[query]\ntimeuot = '30s'\nmemory = 'much'\n[tls]\nkey = 'k'\n");
    let told = place.run(&["config", "check", "bad.toml"]).failed(1);
    says(&told, &["Serve.Settings", "`query.timeuot` is no setting", "`much`", "--tls-cert", "hint: "]);
    place.file(
        "taken.toml",
        "[bolt]\naddress = '127.0.0.1:47777'\n[http]\naddress = '127.0.0.1:47777'\n[log]\nfile = 'new.log'\n",
    );
    says(
        &place.run(&["config", "check", "taken.toml"]).failed(1),
        &["`bolt.address` and `http.address` are the same port"],
    );
    assert!(!place.path().join("new.log").exists(), "nothing is left behind");
    says(&place.run(&["config", "check", "none.toml"]).failed(1), &["none.toml cannot be read"]);
    says(&place.run(&["serve", "--config", "bad.toml"]).failed(1), &["Serve.Settings"]);
    says(&place.run(&["serve"]).failed(1), &["no database is named", "hint: "]);
}

#[test]
fn no_secret_is_ever_logged_and_a_signal_reads_settings_again() {
    let place = Place::new();
    place.run(&["query", "o.db", "--create", "UNWIND range(1, 2000) AS i CREATE (:P {i: i})"]).ok();
    user(&place, "ada");
    let settings = |level: &str| {
        let text = format!(
            "database = 'o.db'\n[bolt]\naddress = '127.0.0.1:0'\n[http]\naddress = '127.0.0.1:0'\n[log]\nlevel = '{level}'\nformat = 'json'\nfile = 'log'\naudit_file = 'audit'\nslow_query = '1ms'\n"
        );
        place.file("s.toml", &text);
    };
    settings("trace");
    let manager = UnixDatagram::bind(place.path().join("manager")).unwrap();
    let socket = place.path().join("manager").display().to_string();
    let server = Operated::start(&place, &["--config", "s.toml"], &[("NOTIFY_SOCKET", &socket)]);
    let stage = || {
        let mut bytes = [0; 200];
        let count = manager.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).lines().next().unwrap().to_string()
    };
    assert_eq!(stage(), "READY=1");
    assert!(server.query("battery staple", "RETURN 1").contains("401"));
    let slow = "MATCH (a:P), (b:P) WHERE a.i + b.i = $value RETURN count(*) AS c";
    assert!(server.query("correct horse", slow).contains("202"));
    assert!(server.query("correct horse", "CREATE USER bob SET PASSWORD 'battery staple'").contains("202"));
    assert!(server.query("correct horse", "ALTER USER bob SET PASWORD 'battery staple'").contains("400"));
    assert!(server.query("correct horse", "CREATE ROLE clerk").contains("202"));
    let token = server.ask("POST", "/tokens", "correct horse", "");
    assert!(token.contains("tanglewood_"), "{token}");
    let bolt = command(place.path(), &["query", "o.db", "SHOW USERS"])
        .envs([("TANGLEWOOD_USER", "ada"), ("TANGLEWOOD_PASSWORD", "correct horse")])
        .output()
        .unwrap();
    assert!(bolt.status.success() && !server.bolt.is_empty());
    let (log, audit) = (place.path().join("log"), place.path().join("audit"));
    told(&log, "CREATE ROLE clerk");
    // What moved the file away finds that lines go to a new one.
    std::fs::rename(&log, place.path().join("log.1")).unwrap();
    settings("warn");
    server.signal("-HUP");
    assert_eq!((stage(), stage()), ("RELOADING=1".to_string(), "READY=1".to_string()));
    assert!(
        server
            .query("correct horse", "SHOW SETTINGS YIELD name, value")
            .contains("[\"tanglewood.log.level\",\"warn\"]")
    );
    settings("loud");
    server.signal("-HUP");
    told(&log, "settings are wrong; nothing changes");
    server.signal("-TERM");
    assert_eq!([stage(), stage(), stage()], ["RELOADING=1", "READY=1", "STOPPING=1"]);
    assert_eq!(server.ends(), Some(0));
    let first = std::fs::read_to_string(place.path().join("log.1")).unwrap();
    let (second, audited) =
        (std::fs::read_to_string(&log).unwrap(), std::fs::read_to_string(&audit).unwrap());
    for secret in SECRETS {
        assert!(
            ![&first, &second, &audited].iter().any(|text| text.contains(secret)),
            "`{secret}` was logged"
        );
    }
    for part in [
        "\"database opened\"",
        "\"serving\"",
        "\"log-on failed\"",
        "\"log-on\"",
        "\"slow query\"",
        "\"parameters\":\"$value\"",
        "\"plan\":\"",
    ] {
        assert!(first.contains(part), "{part} is missing in:\n{first}");
    }
    let lines: Vec<Json> = first
        .lines()
        .chain(second.lines())
        .chain(audited.lines())
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    assert!(
        lines.iter().all(|line| line["timestamp"].is_string()
            && line["target"].as_str().unwrap().starts_with("tanglewood::"))
    );
    assert!(!second.contains("\"stopped\""), "the level is warn by now");
    for part in ["CREATE USER bob", "CREATE ROLE clerk", "\"user\":\"ada\"", "log-on failed"] {
        assert!(audited.contains(part), "{part} is missing in:\n{audited}");
    }
    assert!(!audited.contains("slow query"));
}

#[test]
fn metrics_tell_what_happened_and_name_tenants_only_to_users() {
    let place = Place::new();
    place.run(&["query", "o.db", "--create", "CREATE TENANT acme"]).ok();
    user(&place, "ada");
    let arguments = [
        "o.db",
        "--bolt",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
        "--http-metrics",
        "everyone",
        "--query-rows-max",
        "10",
        "--log-level",
        "off",
    ];
    let server = Operated::start(&place, &arguments, &[]);
    assert!(server.query("correct horse", "ALTER TENANT acme ADD USER ada").contains("202"));
    assert!(server.query("correct horse", "CREATE (:P)").contains("202"));
    assert!(server.query("correct horse", "UNWIND range(1, 10) AS i RETURN i").contains("[10]"));
    let many = server.query("correct horse", "UNWIND range(1, 11) AS i RETURN i");
    assert!(many.contains("LimitExceeded") && many.contains("query.rows_max"), "{many}");
    assert!(
        server
            .query("correct horse", "CREATE (:Q) WITH 1 AS x UNWIND range(1, 11) AS i RETURN i")
            .contains("LimitExceeded")
    );
    assert!(server.query("correct horse", "MATCH (q:Q) RETURN count(q) AS c").contains("[[0]]"));
    assert!(
        server
            .query("correct horse", "UNWIND range(1, 3000000) AS i WITH i WHERE i < 0 RETURN count(i) AS c")
            .contains("202")
    );
    let page = server.ask("GET", "/metrics", "correct horse", "");
    for part in [
        "tanglewood_queries_total{language=\"cypher\",kind=\"write\",outcome=\"completed\"}",
        "outcome=\"client_error\"} ",
        "tanglewood_query_seconds_bucket{language=\"cypher\",kind=\"read\",le=\"+Inf\"}",
        "tanglewood_connections{door=\"http\"} 1",
        "tanglewood_log_ons_total{outcome=\"refused\"} 0",
        "tanglewood_executor_seconds_total{tenant=\"acme\"}",
        "tanglewood_memory_bytes{owner=\"process\"}",
        "tanglewood_log_syncs_total",
        "tanglewood_draining 0",
    ] {
        assert!(page.contains(part), "{part} is missing in:\n{page}");
    }
    let strangers = server.ask("GET", "/metrics", "", "");
    assert!(
        strangers.contains("tanglewood_executor_seconds_total ") && !strangers.contains("acme"),
        "{strangers}"
    );
    assert!(server.ask("GET", "/metrics", "wrong", "").contains("401"));
    assert!(server.ask("GET", "/health", "", "").contains("\"status\":\"up\""));
    // What the dashboard asks for is there.
    let dashboard = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide/grafana-dashboard.json");
    let dashboard = std::fs::read_to_string(dashboard).unwrap();
    serde_json::from_str::<Json>(&dashboard).unwrap();
    let names = dashboard.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let names: std::collections::BTreeSet<&str> =
        names.filter(|word| word.starts_with("tanglewood_")).collect();
    assert!(names.len() > 10);
    for name in names {
        assert!(
            page.contains(&format!("# TYPE {} ", name.trim_end_matches("_bucket"))),
            "{name} is no metric"
        );
    }
    let (_, metrics) = strangers.split_once("\r\n\r\n").unwrap();
    promtool(&place, &["check", "metrics"], metrics);
    promtool(&place, &["check", "rules"], &rules_of(&dashboard));
}

/// A file of rules with each expression of a dashboard.
fn rules_of(dashboard: &str) -> String {
    let expressions = dashboard.lines().filter_map(|line| line.trim().strip_prefix("\"expr\": "));
    let rule = |(number, text): (usize, &str)| {
        let expression: String = serde_json::from_str(text.trim_end_matches(',')).unwrap();
        let expression = expression.replace("$__rate_interval", "1m");
        format!("  - record: expression:{number}\n    expr: {}\n", Json::from(expression))
    };
    let rules: Vec<String> = expressions.enumerate().map(rule).collect();
    assert!(rules.len() > 10);
    format!("groups:\n- name: dashboard\n  rules:\n{}", rules.concat())
}

/// Checks a text by Prometheus' own tool; skipped where it is missing.
fn promtool(place: &Place, arguments: &[&str], text: &str) {
    let path = place.path().join("promtool.yml");
    std::fs::write(&path, text).unwrap();
    let mut tool = Command::new("promtool");
    tool.args(arguments);
    match arguments {
        ["check", "metrics"] => tool.stdin(std::fs::File::open(&path).unwrap()),
        _ => tool.arg(&path),
    };
    let Ok(output) = tool.output() else { return eprintln!("passed over: needs promtool") };
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&said));
}

#[test]
fn a_server_that_ends_waits_for_what_is_open_and_tells_drivers_to_come_again() {
    let place = Place::new();
    let server = Operated::start(
        &place,
        &[":memory:", "--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-level", "warn"],
        &[("TANGLEWOOD_DRAIN", "60s")],
    );
    let begun = server.ask("POST", "/db/neo4j/query/v2/tx", "", "{\"statement\": \"CREATE (:P)\"}");
    let id = begun
        .split("\"id\":\"")
        .nth(1)
        .unwrap_or_else(|| panic!("{begun}"))
        .split('"')
        .next()
        .unwrap()
        .to_string();
    let endless = "UNWIND range(1, 1000000000) AS i WITH i WHERE i < 0 RETURN count(i) AS c";
    let body = serde_json::json!({ "statement": endless }).to_string();
    let mut long = server.begin("POST", "/db/neo4j/query/v2", "", &body);
    let began = Instant::now();
    while !server.query("", "SHOW QUERIES YIELD query RETURN query").contains("1000000000") {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    server.signal("-TERM");
    while !server.ask("GET", "/ready", "", "").contains("503") {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    let refused = server.query("", "RETURN 1");
    assert!(
        refused.contains("503") && refused.contains("Neo.TransientError.General.DatabaseUnavailable"),
        "{refused}"
    );
    // What was open before goes on, and what does not end is told the same.
    let path = format!("/db/neo4j/query/v2/tx/{id}/commit");
    assert!(server.ask("POST", &path, "", "{}").contains("bookmarks"));
    // A second signal ends the waiting.
    server.signal("-TERM");
    let ended = answer(&mut long);
    assert!(ended.contains("Neo.TransientError.General.DatabaseUnavailable"), "{ended}");
    assert_eq!(server.ends(), Some(0));
}

/// A collector that answers with these statuses in turn, the last of them for ever; the bodies of the requests.
fn collector(statuses: &'static [u16]) -> (String, std::sync::mpsc::Receiver<Vec<u8>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (bodies, taken) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for (at, socket) in listener.incoming().enumerate() {
            let mut socket = BufReader::new(socket.unwrap());
            let (mut line, mut head, mut length) = (String::new(), String::new(), 0);
            while socket.read_line(&mut line).unwrap() > 2 {
                if let Some(count) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                    length = count.trim().parse().unwrap();
                }
                head.push_str(&std::mem::take(&mut line));
            }
            assert!(
                head.starts_with("POST /v1/traces HTTP/1.1") && head.contains("application/x-protobuf"),
                "{head}"
            );
            let mut body = vec![0; length];
            socket.read_exact(&mut body).unwrap();
            let status = statuses[at.min(statuses.len() - 1)];
            write!(socket.get_mut(), "HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n").unwrap();
            if status == 200 && bodies.send(body).is_err() {
                return;
            }
        }
    });
    (address, taken)
}

/// Collects the spans of messages until there are `wanted` of them.
fn spans(taken: &std::sync::mpsc::Receiver<Vec<u8>>, wanted: usize) -> Vec<Span> {
    let mut found = Vec::new();
    while found.len() < wanted {
        let body = taken.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{found:?}"));
        let message = ExportTraceServiceRequest::decode(&body[..]).unwrap();
        let resource = &message.resource_spans[0];
        let service =
            resource.resource.as_ref().unwrap().attributes.iter().find(|one| one.key == "service.name");
        assert!(format!("{service:?}").contains("graph-1"));
        found.extend(resource.scope_spans[0].spans.clone());
    }
    found
}

fn told_of(span: &Span, key: &str) -> String {
    let value = span.attributes.iter().find(|one| one.key == key).and_then(|one| one.value.clone()?.value);
    value.map_or_else(String::new, |value| format!("{value:?}"))
}

#[test]
fn queries_and_their_operators_are_spans_at_a_collector() {
    let place = Place::new();
    // The first message is sent again.
    let (endpoint, taken) = collector(&[503, 200]);
    let arguments = [
        ":memory:",
        "--bolt",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
        "--traces-endpoint",
        &endpoint,
        "--traces-service",
        "graph-1",
    ];
    let server = Operated::start(&place, &arguments, &[]);
    server.query("", "UNWIND range(1, 100) AS i CREATE (:P {i: i})");
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let text = "MATCH (p:P) WHERE p.i > $least RETURN p.i ORDER BY p.i LIMIT 5";
    let body = serde_json::json!({ "statement": text, "parameters": { "least": 4_711_000 } }).to_string();
    let mut socket = TcpStream::connect(&server.http).unwrap();
    write!(
        socket,
        "POST /db/neo4j/query/v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\ntraceparent: {parent}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    assert!(answer(&mut socket).contains(" 202 "));
    server.query("", "MATCH (p:P) RETURN p.i / 0");
    let found = spans(&taken, 8);
    let named = |name: &str| found.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let (writes, reads) = (named("cypher write"), named("cypher read"));
    assert_eq!((writes.len(), reads.len()), (1, 2), "{found:?}");
    let (read, failed) = (reads[0], reads[1]);
    assert!(told_of(read, "db.query.text").contains(text) && !format!("{found:?}").contains("4711000"));
    assert_eq!(read.trace_id[..2], [0x0a, 0xf7]);
    assert_eq!(read.parent_span_id[..2], [0xb7, 0xad]);
    assert!(
        told_of(failed, "error.type").contains("ArithmeticError")
            && failed.status.as_ref().unwrap().code == 2
    );
    // Operators lie below their query, each below the one above it, and within its time.
    let below = |id: &[u8]| found.iter().filter(|span| span.parent_span_id == id).collect::<Vec<_>>();
    for query in [writes[0], read] {
        let mut operators = below(&query.span_id);
        assert_eq!(operators.len(), 1, "{found:?}");
        while let Some(operator) = operators.pop() {
            assert_eq!(operator.trace_id, query.trace_id);
            assert!(operator.start_time_unix_nano >= query.start_time_unix_nano);
            assert!(operator.end_time_unix_nano <= query.end_time_unix_nano);
            operators.extend(below(&operator.span_id));
        }
    }
    let scans: Vec<String> =
        named("ScanVertices").iter().map(|span| told_of(span, "tanglewood.rows")).collect();
    assert!(scans.iter().any(|rows| rows.contains("(100)") || rows.contains("(0)")), "{scans:?}");
    // They are counted when the collector's answer has come.
    let until_ns = world::clock::after_ns(Duration::from_secs(10));
    let is_counted = || {
        let metrics = server.ask("GET", "/metrics", "", "");
        metrics.contains("tanglewood_traced_queries_total{outcome=\"sent\"} 3")
    };
    while !is_counted() {
        assert!(world::clock::monotonic_ns() < until_ns, "{}", server.ask("GET", "/metrics", "", ""));
        world::threads::sleep(Duration::from_millis(10));
    }
    // What was asked last is sent before the end.
    server.query("", "RETURN 1 AS last");
    server.signal("-TERM");
    assert!(spans(&taken, 1).iter().any(|span| told_of(span, "db.query.text").contains("AS last")));
    assert_eq!(server.ends(), Some(0));
}

#[test]
fn a_collector_that_is_gone_holds_up_no_query() {
    let place = Place::new();
    // Nobody accepts there: a listener that is full, as one behind a wall is.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let arguments = [
        ":memory:",
        "--bolt",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
        "--traces-endpoint",
        &endpoint,
        "--traces-queue",
        "4",
    ];
    let server = Operated::start(&place, &arguments, &[]);
    let began = Instant::now();
    let dropped = || {
        let metrics = server.ask("GET", "/metrics", "", "");
        metrics.lines().any(|line| {
            line.starts_with("tanglewood_traced_queries_total{outcome=\"dropped\"}") && !line.ends_with(" 0")
        })
    };
    let mut longest = Duration::ZERO;
    while !dropped() {
        let asked = Instant::now();
        assert!(server.query("", "RETURN 1").contains(" 202 "));
        longest = longest.max(asked.elapsed());
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    let wrong = place.run(&["serve", ":memory:", "--traces-endpoint", "https://collector"]).failed(1);
    says(&wrong, &["Serve.Traces", "http://127.0.0.1:4318"]);
}
