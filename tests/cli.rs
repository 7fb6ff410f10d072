//! The command line is a contract: every command, its output, its exit code, and its errors for bad input.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "cli/operating.rs"]
mod operating;
mod support;

use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use support::{Place, command, people};

fn rows(text: &str) -> Vec<Json> {
    serde_json::from_str::<Vec<Json>>(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The error's first line, without colours.
#[track_caller]
fn says(err: &str, parts: &[&str]) {
    for part in parts {
        assert!(err.contains(part), "`{part}` is missing in:\n{err}");
    }
    assert!(!err.contains('\x1b'), "colours are for terminals:\n{err}");
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn version_and_help() {
    let place = Place::new();
    assert!(place.run(&["version"]).ok().starts_with("tanglewood 0."));
    let help = place.run(&["help"]).ok();
    let commands = [
        "demo",
        "import",
        "export",
        "query",
        "shell",
        "serve",
        "user",
        "check",
        "backup",
        "restore",
        "history",
        "bench",
        "completions",
        "manual",
        "version",
    ];
    for command in commands {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is missing in:\n{help}");
        assert!(place.run(&[command, "--help"]).ok().contains("Usage: tanglewood"));
    }
    place.run(&[]).failed(2);
    says(&place.run(&["quary", "x"]).failed(2), &["unrecognized subcommand", "query"]);
}

#[test]
fn import_then_query_in_four_formats() {
    let place = Place::new();
    people(&place);
    let text = "MATCH (p:Person) RETURN p.name AS name, p.age AS age, p.none AS none ORDER BY age";
    let table = place.run(&["query", "people.db", text]).ok();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], " name    │ age │ none");
    assert_eq!(lines[2], " Ada     │  36 │ null");
    assert!(lines[4].starts_with("2 rows · "), "{table}");

    let json = place.run(&["query", "people.db", text, "--format", "json"]).ok();
    assert_eq!(rows(&json)[1], json!({"name": "Charles", "age": 41, "none": null}));
    let jsonl = place.run(&["query", "people.db", text, "--format", "jsonl"]).ok();
    assert_eq!(jsonl.lines().next(), Some(r#"{"name":"Ada","age":36,"none":null}"#));
    let csv = place.run(&["query", "people.db", text, "--format", "csv"]).ok();
    assert_eq!(csv, "name,age,none\nAda,36,\nCharles,41,\n");
}

#[test]
fn entities_come_out_whole() {
    let place = Place::new();
    people(&place);
    let text = "MATCH path = (a {name: 'Ada'})-[k:KNOWS]->(b) RETURN a, k, path";
    let json = place.run(&["query", "people.db", text, "--format", "json"]).ok();
    let row = &rows(&json)[0];
    let ada = json!({"name": "Ada", "age": 36, "id": 1});
    assert_eq!((&row["a"]["labels"], &row["a"]["properties"]), (&json!(["Person"]), &ada));
    assert_eq!((&row["k"]["type"], &row["k"]["properties"]), (&json!("KNOWS"), &json!({"since": 1833})));
    assert_eq!(row["k"]["start"], row["a"]["id"]);
    assert_eq!(row["path"]["nodes"].as_array().unwrap().len(), 2);
    let table = place.run(&["query", "people.db", text]).ok();
    assert!(
        table.contains("(:Person {age: 36, id: 1, name: \"Ada\"})-[:KNOWS {since: 1833}]->(:Person"),
        "{table}"
    );
}

#[test]
fn statements_run_in_order_and_stay() {
    let place = Place::new();
    let text = "CREATE (:City {name: 'Lyon'}); // a city;\nMATCH (c:City) SET c.size = 1; MATCH (c:City) RETURN c.size AS size";
    let json = place.run(&["query", "cities.db", text, "--format", "json", "--create"]).ok();
    assert_eq!(rows(&json), [json!({"size": 1})]);
    let again = "MATCH (c:City) RETURN c.name AS name, c.size + $more AS size";
    let params = r#"{"more": 9007199254740993}"#;
    let json = place.run(&["query", "cities.db", again, "--format", "json", "--params", params]).ok();
    assert_eq!(rows(&json), [json!({"name": "Lyon", "size": 9007199254740994i64})]);
    let from_input =
        place.run_with_input(&["query", "cities.db", "-", "--format", "csv"], "RETURN 1 AS a;\n").ok();
    assert_eq!(from_input, "a\n1\n");
    assert_eq!(place.run(&["query", ":memory:", "CREATE (:A)", "--format", "json"]).ok(), "[]\n");
    let temporal =
        "RETURN date('2024-02-29') AS d, duration('P1M2DT3S') AS p, [1.0, null, 'x'] AS l, {a: true} AS m";
    let json = place.run(&["query", ":memory:", temporal, "--format", "json"]).ok();
    assert_eq!(
        rows(&json),
        [json!({"d": "2024-02-29", "p": "P1M2DT3S", "l": [1.0, null, "x"], "m": {"a": true}})]
    );
}

#[test]
fn explain_and_profile_show_the_plan() {
    let place = Place::new();
    people(&place);
    let plan = place.run(&["query", "people.db", "EXPLAIN MATCH (p:Person) RETURN count(*)"]).ok();
    assert!(plan.contains("estimated rows") && !plan.contains("time"), "{plan}");
    let profile = place.run(&["query", "people.db", "PROFILE MATCH (p:Person) RETURN count(*) AS c"]).ok();
    assert!(
        profile.contains("estimated rows") && profile.contains("time") && profile.contains("1 row"),
        "{profile}"
    );
    let json = place.run(&["query", "people.db", "EXPLAIN MATCH (p) RETURN p", "--format", "json"]).ok();
    assert!(rows(&json)[0]["plan"].as_str().unwrap().contains("ScanVertices"));
}

#[test]
fn large_results_stream_and_closed_pipes_are_no_error() {
    let place = Place::new();
    let text = "UNWIND range(1, 200000) AS x RETURN x";
    let all = place.run(&["query", ":memory:", text, "--format", "csv"]).ok();
    assert_eq!(all.lines().count(), 200_001);
    let mut child = command(place.path(), &["query", ":memory:", text, "--format", "jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut first).unwrap();
    assert_eq!(first, "{\"x\":1}\n");
    drop(out);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(child.wait().unwrap().success() && err.is_empty(), "{err}");
}

#[test]
fn errors_in_queries_say_where_and_what_helps() {
    let place = Place::new();
    let query = |text: &str| place.run(&["query", ":memory:", text]).failed(1);
    let syntax = query("MATCH (n) RETRN n");
    says(
        &syntax,
        &["error[Neo.ClientError.Statement.SyntaxError]: ", "MATCH (n) RETRN n", "^^^^^", "hint: "],
    );
    says(&query("RETURN nam"), &["nam", "^^^"]);
    says(&query("RETURN 1 + true"), &["error[Neo.ClientError.Statement.TypeError]: "]);
    says(&query("RETURN $who"), &["ParameterMissing", "$who"]);
    says(&query("  ;; "), &["no statement"]);
    says(&query("RETURN 1; RETURN x; RETURN 2"), &["SyntaxError", "x"]);
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    let place = Place::new();
    let usage = |arguments: &[&str]| place.run(arguments).failed(2);
    says(&usage(&["query", ":memory:", "RETURN 1", "--params", "{x: 1}"]), &["--params", "JSON"]);
    says(&usage(&["query", ":memory:", "RETURN 1", "--format", "xml"]), &["xml", "jsonl"]);
    says(&usage(&["query", ":memory:", "RETURN 1", "--timeout", "soon"]), &["500ms"]);
    says(&usage(&["query", ":memory:", "RETURN 1", "--query-memory", "0"]), &["--query-memory"]);
    says(&usage(&["import", "x.db"]), &["--from"]);
    says(&usage(&["demo", "--people", "3"]), &["between"]);
}

#[test]
fn the_past_is_asked_and_kept_in_backups() {
    let place = Place::new();
    let set = |age: u32| format!("MERGE (p:P {{name: 'Ann'}}) SET p.age = {age}");
    place.run(&["query", "a.db", &set(30), "--create", "--history", "forever"]).ok();
    place.run(&["query", "a.db", &set(31)]).ok();
    let shown = place.run(&["history", "a.db"]).ok();
    says(&shown, &["history  forever\n", "oldest   the beginning (version 0)\n", "newest   version 2 ("]);
    let ages = |database: &str, version: &str| {
        let text = format!("{version} MATCH (p:P) RETURN p.age AS age");
        place.run(&["query", database, &text, "--format", "csv"]).ok()
    };
    assert_eq!((ages("a.db", "AS OF 1"), ages("a.db", "")), ("age\n30\n".into(), "age\n31\n".into()));

    says(&place.run(&["backup", "a.db", "b/monday"]).ok(), &["last commit at version 2\n"]);
    says(&place.run(&["check", "b/monday"]).ok(), &["a sound backup"]);
    // A backup is read as it lies there, and opened as a database by none.
    assert_eq!(ages("b/monday", ""), "age\n31\n");
    says(&place.run(&["history", "b/monday"]).failed(1), &["is a backup", "tanglewood restore"]);
    says(&place.run(&["backup", "a.db", "b/monday"]).failed(1), &["is there already"]);
    says(&place.run(&["restore", "b/monday", "c.db"]).ok(), &["last commit at version 2\n"]);
    assert_eq!(ages("c.db", "AS OF 1"), "age\n30\n");
    says(&place.run(&["restore", "a.db", "d.db"]).failed(1), &["is not a backup"]);

    says(&place.run(&["history", "a.db", "none"]).ok(), &["history  none\n", "oldest   version 2 ("]);
    let refused = place.run(&["query", "a.db", "AS OF 1 RETURN 1"]).failed(1);
    says(&refused, &["keeps no history", "tanglewood history"]);
    says(&place.run(&["history", "a.db", "soon"]).failed(2), &["is not none, forever, or a time"]);
    says(&place.run(&["history", "nowhere.db"]).failed(1), &["there is no database"]);
}

#[test]
fn limits_end_a_query_and_nothing_else() {
    let place = Place::new();
    people(&place);
    let endless = "UNWIND range(1, 1000000) AS x UNWIND range(1, 1000000) AS y WITH x * y AS z WHERE z < 0 RETURN count(*)";
    let err = place.run(&["query", "people.db", endless, "--timeout", "200ms"]).failed(1);
    says(&err, &["TransactionTimedOut", "timed out", "hint: "]);
    let hungry = "UNWIND range(1, 3000000) AS x RETURN collect(x)";
    let err = place.run(&["query", "people.db", hungry, "--query-memory", "8MB"]).failed(1);
    says(&err, &["MemoryPoolOutOfMemoryError", "8000000 bytes", "held by", "hint: "]);
    // A write that runs out of its budget leaves nothing.
    let write = "UNWIND range(1, 1000000) AS x CREATE (:Half {x: x})";
    place.run(&["query", "people.db", write, "--query-memory", "2MB"]).failed(1);
    let count =
        place.run(&["query", "people.db", "MATCH (n:Half) RETURN count(*) AS c", "--format", "json"]).ok();
    assert_eq!(rows(&count), [json!({"c": 0})]);
}

#[test]
fn folders_that_are_no_database_are_refused() {
    let place = Place::new();
    let err = place.run(&["query", "none.db", "RETURN 1"]).failed(1);
    says(&err, &["there is no database at none.db", "hint: "]);
    assert!(!place.path().join("none.db").exists());
    place.file("papers/letter.txt", "Dear");
    for arguments in [["query", "papers", "RETURN 1"], ["query", "papers", "CREATE (:A)"]] {
        says(&place.run(&arguments).failed(1), &["papers is not a Tanglewood database", "hint: "]);
    }
    says(&place.run(&["import", "papers", "--from", "papers"]).failed(1), &["is not a Tanglewood database"]);
    says(&place.run(&["check", "papers"]).failed(1), &["NotADatabase"]);
    says(&place.run(&["check", "none.db"]).failed(1), &["there is no database"]);
    says(&place.run(&["check", ":memory:"]).failed(1), &["no files"]);
    assert_eq!(std::fs::read_to_string(place.path().join("papers/letter.txt")).unwrap(), "Dear");
}

#[test]
fn newer_and_damaged_files_are_named() {
    let place = Place::new();
    people(&place);
    assert!(place.run(&["check", "people.db"]).ok().ends_with("sound\n"));
    let data = place.path().join("people.db/data");
    let blobs = std::fs::read_dir(data).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&blobs).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xFF;
    std::fs::write(&blobs, &bytes).unwrap();
    let err = place.run(&["check", "people.db"]).failed(1);
    says(&err, &[".blobs: byte ", "error[durable.corrupt]: the database is damaged", "hint: "]);

    let identity = place.path().join("people.db/IDENTITY");
    let mut bytes = std::fs::read(&identity).unwrap();
    bytes[8] = 0xEE;
    let sealed = crc32fast::hash(&[&bytes[..12], &bytes[16..32]].concat());
    bytes[12..16].copy_from_slice(&sealed.to_le_bytes());
    std::fs::write(&identity, &bytes).unwrap();
    let err = place.run(&["query", "people.db", "RETURN 1"]).failed(1);
    says(&err, &["IDENTITY", "version 238", "newer Tanglewood"]);
}

#[test]
fn malformed_lines_are_counted_and_strict_stops() {
    let place = Place::new();
    place.file("in/Person.csv", "id:ID(Person),age:int\n1,36\n2,old\n3,41\n1,5\n4\n");
    place.file("in/KNOWS.csv", ":START_ID(Person),:END_ID(Person)\n1,3\n1,99\n");
    let strict = place.run(&["import", "strict.db", "--from", "in", "--strict"]).failed(1);
    says(&strict, &["error[Neo.ClientError.Import.MalformedLine]: ", "nothing was imported", "hint: "]);
    assert!(!place.path().join("strict.db").exists(), "what a failed import made is taken back");

    let report = place.run(&["import", "people.db", "--from", "in"]).ok();
    for line in ["vertices  2\n", "edges     1\n", "rejected  4\n", "Person.csv:3: ", "KNOWS.csv:3: "] {
        assert!(report.contains(line), "`{line}` is missing in:\n{report}");
    }
    assert!(report.contains("seconds   "));
    let many: String = (0..30).map(|at| format!("{at},x\n")).collect();
    place.file("bad/Person.csv", &format!("id:ID(Person),age:int\n{many}77,7\n"));
    let report = place.run(&["import", "bad.db", "--from", "bad"]).ok();
    assert!(report.contains("rejected  30\n") && report.contains("  and 20 more\n"), "{report}");
}

#[test]
fn edge_lists_import_with_an_indexed_id() {
    let place = Place::new();
    place.file("edges.txt", "# a comment\n1 2\n2\t3\n1000000007 1\n");
    let arguments = ["import", "web.db", "--from", "edges.txt", "--label", "Page", "--type", "LINKS"];
    assert!(place.run(&arguments).ok().starts_with("vertices  4\nedges     3\n"));
    let text = "MATCH (p:Page {id: 1000000007})-[:LINKS]->(q) RETURN q.id AS id";
    assert_eq!(rows(&place.run(&["query", "web.db", text, "--format", "json"]).ok()), [json!({"id": 1})]);
    let plan = place.run(&["query", "web.db", &format!("EXPLAIN {text}")]).ok();
    assert!(plan.contains("SeekVertices"), "{plan}");
}

#[test]
fn imports_that_find_nothing_say_so() {
    let place = Place::new();
    says(
        &place.run(&["import", "a.db", "--from", "nowhere"]).failed(1),
        &["nowhere does not exist", "hint: "],
    );
    place.file("odd/notes.md", "words and words\n");
    says(&place.run(&["import", "a.db", "--from", "odd"]).failed(1), &["NothingRecognised", "hint: "]);
    assert!(!place.path().join("a.db").exists());
}

#[test]
fn the_shell_reads_a_pipe_until_the_first_failure() {
    let place = Place::new();
    let input = "CREATE (:A {n: 1});\n:param n => 1 + 1\nMATCH (a:A)\nSET a.n = $n;\n:format csv\nMATCH (a:A) RETURN a.n AS n; RETURN 'a;b' AS t\n;";
    let out = place.run_with_input(&["shell", "a.db", "--create"], input).ok();
    assert!(out.ends_with("n\n2\nt\na;b\n"), "{out}");
    let input = ":begin\nCREATE (:A);\n:rollback\n:begin\nCREATE (:B);\n:commit\n:schema\n:params\n:queries\n:help\n:timing off\n:quit\nnonsense;";
    let out = place.run_with_input(&["shell", "a.db"], input).ok();
    assert!(out.contains("2 nodes") && out.contains(":B") && out.contains(":explain QUERY"), "{out}");
    let failed = place.run_with_input(&["shell", "a.db"], "RETURN 1 AS one;\nRETURN oops;\nCREATE (:C);");
    assert!(failed.out.contains("one"));
    says(&failed.failed(1), &["SyntaxError", "oops"]);
    says(
        &place.run_with_input(&["shell", "a.db"], ":nonsense").failed(1),
        &["no command :nonsense", ":help"],
    );
    let count = place.run(&["query", "a.db", "MATCH (n:C) RETURN count(*) AS c", "--format", "csv"]).ok();
    assert_eq!(count, "c\n0\n");
}

/// A server that ends with the test.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(place: &Place, arguments: &[&str]) -> Serving {
        let mut child = command(place.path(), arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on bolt://").unwrap_or_else(|| panic!("{line}"));
        Serving { address: address.to_string(), child }
    }
    /// Asks it to end, and returns its exit code.
    fn terminate(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn serve_answers_on_its_port_and_ends_in_order() {
    let place = Place::new();
    people(&place);
    let serving = Serving::start(&place, &["serve", "people.db", "--bolt", "127.0.0.1:0"]);
    let mut socket = TcpStream::connect(&serving.address).unwrap();
    // Bolt's handshake: magic, then four proposals; the answer is the version chosen.
    socket.write_all(&[0x60, 0x60, 0xB0, 0x17, 0, 4, 4, 5, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    let mut version = [0; 4];
    socket.read_exact(&mut version).unwrap();
    assert_eq!(version[3], 5, "{version:?}");

    // Who asks the folder is answered by the server.
    let asked = place.run(&["query", "people.db", "RETURN 1 AS one", "--format", "csv"]);
    says(&asked.err, &["a server has people.db open"]);
    assert_eq!(asked.ok(), "one\n1\n");
    let open = place.run(&["check", "people.db"]).failed(1);
    says(
        &open,
        &[
            "already open",
            &serving.child.id().to_string(),
            "`tanglewood backup people.db COPY`",
            "`tanglewood check --live people.db`",
        ],
    );
    // As the hint says.
    place.run(&["backup", "people.db", "COPY"]).ok();
    assert!(place.run(&["check", "COPY"]).ok().ends_with("a sound backup\n"));
    assert_eq!(serving.terminate(), Some(0));
    assert!(place.run(&["check", "people.db"]).ok().ends_with("sound\n"));
}

#[test]
fn serve_refuses_what_it_cannot_do() {
    let place = Place::new();
    let serve = |arguments: &[&str]| place.run(&[&["serve", "s.db"], arguments].concat()).failed(1);
    says(&serve(&["--bolt", "0.0.0.0:0"]), &["NotLoopback", "no password", "tanglewood user add"]);
    says(&place.run(&["serve", "s.db", "--bolt", "nonsense"]).failed(2), &["is no address"]);
    says(&serve(&["--bolt", "127.0.0.1:0", "--gremlin", "0.0.0.0:0"]), &["NotLoopback", "hint: "]);
    says(&serve(&["--bolt", "127.0.0.1:0", "--http", "0.0.0.0:0"]), &["NotLoopback", "hint: "]);
    assert!(!place.path().join("s.db").exists());
    let serving = Serving::start(&place, &["serve", "s.db", "--bolt", "localhost:0"]);
    says(&serve(&["--bolt", &serving.address]), &["already open"]);
    let taken = place.run(&["serve", ":memory:", "--bolt", &serving.address]).failed(1);
    says(&taken, &["AddressTaken", "another server", "hint: "]);
    says(&place.run(&["serve", ":memory:", "--auth", "password"]).failed(1), &["NoUsers", "hint: "]);
    says(&place.run(&["serve", ":memory:", "--tls-cert", "x.pem"]).failed(1), &["--tls-key", "hint: "]);
    let certificate = ["serve", ":memory:", "--tls-cert", "x.pem", "--tls-key", "x.key"];
    says(&place.run(&certificate).failed(1), &["Serve.Tls", "x.pem"]);
}

#[test]
fn users_are_added_listed_and_removed() {
    let place = Place::new();
    people(&place);
    let user = |arguments: &[&str]| {
        let mut child = command(place.path(), &[&["user"], arguments].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // One that needs no password does not read it.
        let _ = child.stdin.take().unwrap().write_all(b"correct horse\n");
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(user(&["add", "people.db", "ada"]).0, Some(0));
    let (code, _, err) = user(&["add", "people.db", "ada"]);
    says(&err, &["User.Exists", "`ada`"]);
    assert_eq!(code, Some(1));
    assert_eq!(user(&["list", "people.db"]).1, "ada\n");
    assert_eq!(user(&["passwd", "people.db", "ada"]).0, Some(0));
    says(&user(&["passwd", "people.db", "bob"]).2, &["User.Unknown"]);
    says(&user(&["add", "nowhere.db", "ada"]).2, &["Database.NotFound"]);
    says(&user(&["add", ":memory:", "ada"]).2, &["User.Memory"]);
    // With users, others may reach it, and the database is as sound as before.
    let serving = Serving::start(&place, &["serve", "people.db", "--bolt", "0.0.0.0:0"]);
    assert_eq!(serving.terminate(), Some(0));
    assert!(place.run(&["check", "people.db"]).ok().ends_with("sound\n"));
    assert_eq!(user(&["remove", "people.db", "ada"]).0, Some(0));
    assert_eq!(user(&["list", "people.db"]).1, "");
}

#[test]
fn unknown_benches_are_named() {
    let place = Place::new();
    says(&place.run(&["bench", "nonsense"]).failed(1), &["nonsense", "first"]);
}

#[test]
fn the_demo_fits_a_screen_and_stays() {
    let place = Place::new();
    let screen = place.run(&["demo", "--people", "300", "--seed", "7"]).ok();
    for part in [
        "lookup",
        "two steps away",
        "shortest path",
        "aggregate",
        "update",
        "next",
        "steps apart before, now 1",
    ] {
        assert!(screen.contains(part), "`{part}` is missing in:\n{screen}");
    }
    assert!(screen.lines().count() <= 40 && !screen.contains('\x1b'), "{screen}");
    let folder = place.path().join("tanglewood-demo");
    let folder = folder.to_str().unwrap();
    let count =
        place.run(&["query", folder, "MATCH (p:Person) RETURN count(*) AS c", "--format", "csv"]).ok();
    assert_eq!(count, "c\n300\n");
    // Again: it replaces itself. A folder that holds something is left alone.
    place.run(&["demo", "--people", "100"]).ok();
    says(&place.run(&["demo", folder]).failed(1), &["FolderTaken", "hint: "]);
    place.run(&["demo", ":memory:", "--people", "100"]).ok();
    assert!(place.run(&["check", folder]).ok().ends_with("sound\n"));
}

#[test]
fn errors_of_a_script_name_its_lines() {
    let place = Place::new();
    let script = "RETURN 1 AS one;\n// two\nMATCH (n) RETURN n.x; RETURN\n  1 +;\nRETURN 2;\n";
    for arguments in [["query", ":memory:", "-"], ["shell", ":memory:", "--format=table"]] {
        let err = place.run_with_input(&arguments, script).failed(1);
        says(&err, &["--> standard input, line 4, column", "4 |   1 +"]);
        let err = place.run_with_input(&arguments, "RETURN 1;\n\n  RETURN 1 / 0;\n").failed(1);
        says(&err, &["--> standard input, line 3, column 3"]);
    }
    let err = place.run(&["query", ":memory:", "RETURN 1; RETRUN 2"]).failed(1);
    says(&err, &["--> the text, line 1, column 11"]);
    let err = place.run(&["query", ":memory:", "RETRUN 2"]).failed(1);
    says(&err, &["--> line 1, column 1"]);
}

#[test]
fn rows_come_one_value_a_line_where_that_is_asked_for() {
    let place = Place::new();
    let text = "UNWIND [1, 22] AS n RETURN n, 'a' AS text";
    let shown = place.run(&["query", ":memory:", text, "--format", "vertical"]).ok();
    assert!(
        shown.contains(" n    │ 22\n text │ \"a\"\n") || shown.contains(" n    │ 22\n text │ a\n"),
        "{shown}"
    );
    says(&shown, &["── 1 ──", "── 2 ──", "2 rows"]);
    let script = ":mode vertical\nRETURN 7 AS n;\n:format wrong\n";
    let ran = place.run_with_input(&["shell", ":memory:"], script);
    says(&ran.out, &[" n │ 7"]);
    says(&ran.err, &["formats are table, vertical"]);
}

#[test]
fn names_that_nothing_has_are_told() {
    let place = Place::new();
    people(&place);
    for text in
        ["MATCH (p:Persn) RETURN p", "MATCH ()-[r:KNOW]->() RETURN r", "MATCH (p:Person) RETURN p.nme"]
    {
        let ran = place.run(&["query", "people.db", text]);
        assert_eq!(ran.code, 0);
        says(&ran.err, &["warning["]);
        let ran = place.run_with_input(&["shell", "people.db"], &format!("{text};\n"));
        says(&ran.err, &["warning["]);
    }
    let ran = place.run(&["query", "people.db", "MATCH (p:Person) RETURN p.name"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn commands_say_what_they_did_and_subscriptions_end_in_order() {
    let place = Place::new();
    people(&place);
    let make = "CREATE STANDING QUERY adults AS MATCH (p:Person) WHERE p.age > 40 RETURN p.name AS name";
    let made = place.run(&["query", "people.db", make]).ok();
    says(&made, &["standing query adults made"]);
    assert!(!made.contains("no changes") && !made.contains(" 0.00 "), "{made}");
    let mut child = command(place.path(), &["query", "people.db", "SUBSCRIBE adults SNAPSHOT"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("Charles") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the row did not come");
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{err}");
    says(&err, &["stopped; the last mark was"]);
    // What it says goes on: with what was committed since, and nothing else.
    let from = err[err.find("FROM '").unwrap()..].split('\'').nth(1).unwrap();
    place.run(&["query", "people.db", "CREATE (:Person {name: 'Late', age: 50})"]).ok();
    let text = format!("SUBSCRIBE adults FROM '{from}'");
    let mut child = command(place.path(), &["query", "people.db", &text, "--format", "csv"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let lines: Vec<String> = lines.take(4).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(lines[0], "commit,time,difference,mark,name");
    assert!(lines[1].contains(&format!(",0,{from},")), "{lines:?}");
    assert!(lines[2].ends_with(",1,,Late") && lines[3].contains(",0,"), "{lines:?}");
    says(
        &place.run(&["query", "people.db", "DROP STANDING QUERY adults"]).ok(),
        &["standing query adults dropped"],
    );
}

#[test]
fn a_repeated_import_is_refused_unless_it_is_told_what_to_do() {
    let place = Place::new();
    people(&place);
    let count = "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN count(DISTINCT n) AS n, count(r) AS r";
    let counts = || place.run(&["query", "people.db", count, "--format", "csv"]).ok();
    assert_eq!(counts(), "n,r\n2,1\n");
    let again = ["import", "people.db", "--from", "people"];
    let err = place.run(&again).failed(1);
    says(&err, &["Person.csv:2: the node with id `1` is in the database already", "hint: --existing skip"]);
    for policy in ["skip", "merge"] {
        let said = place.run(&[&again[..], &["--existing", policy]].concat()).ok();
        says(&said, &["vertices  0", "edges     0", "existing  3"]);
    }
    assert_eq!(counts(), "n,r\n2,1\n");
}

/// A failed, or interrupted, import makes no database; `.NAME.importing` of a killed one goes with the next.
#[test]
fn an_import_that_does_not_end_leaves_no_database() {
    let place = Place::new();
    let listed = || {
        let names = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.contains(".db"));
        names
    };
    place.file("bad/Person.csv", "id:ID(Person),age:int\n1,36\n2,old\n");
    place.run(&["import", "new.db", "--from", "bad", "--strict"]).failed(1);
    place.file("none/Person.csv", "id:ID(Person),age:int\n1,x\n2,old\n");
    place.run(&["import", "new.db", "--from", "none"]).failed(1);
    assert_eq!(listed(), [""; 0], "neither a bad row nor nothing but bad rows make a database");
    let lines: String = (0..400_000).map(|at| format!("{at} {}\n", at * 7 % 400_000)).collect();
    place.file("edges.txt", &lines);
    let arguments = ["import", "new.db", "--from", "edges.txt"];
    for signal in ["-INT", "-TERM", "-KILL"] {
        for wait_ms in [60, 200, 500] {
            let mut child = command(place.path(), &arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(std::time::Duration::from_millis(wait_ms));
            let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
            let code = child.wait().unwrap().code();
            let is_whole = world::files::exists(&place.path().join("new.db"));
            if is_whole {
                place.run(&["query", "new.db", "MATCH (n) RETURN count(*)"]).ok();
                std::fs::remove_dir_all(place.path().join("new.db")).unwrap();
            } else if signal != "-KILL" {
                assert!(code != Some(0), "{signal} after {wait_ms} ms");
                assert_eq!(listed(), [""; 0], "{signal} after {wait_ms} ms");
            }
        }
    }
    place.run(&arguments).ok();
    assert_eq!(listed(), ["new.db"]);
}
