//! A database that a server has open is queried through that server, and a backup by several processes at once: real processes, as a user runs them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use support::{Place, Ran, command, people};

/// A server that ends with the test.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(place: &Place, more: &[&str]) -> Serving {
        let arguments = [&["serve", "people.db", "--bolt", "127.0.0.1:0"], more].concat();
        let mut child = command(place.path(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_string();
        // The file is there once all of the greeting is.
        while !line.contains("to end") {
            assert!(out.read_line(&mut line).unwrap() > 0, "{line}");
        }
        Serving { child, url }
    }
    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command with a password in its environment.
fn run_as(place: &Place, password: &str, arguments: &[&str]) -> Ran {
    let output = command(place.path(), arguments)
        .env("TANGLEWOOD_USER", "ada")
        .env("TANGLEWOOD_PASSWORD", password)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

const NAMES: &str = "MATCH (p:Person) RETURN p.name AS name ORDER BY name";

#[test]
fn a_folder_that_a_server_has_open_is_asked_there() {
    let place = Place::new();
    people(&place);
    let mut serving = Serving::start(&place, &[]);
    let csv = |text: &str| place.run(&["query", "people.db", text, "--format", "csv"]);
    let ran = csv(NAMES);
    assert!(ran.err.contains("a server has people.db open"), "{}", ran.err);
    assert_eq!(ran.ok(), "name\nAda\nCharles\n");
    assert_eq!(csv("CREATE (:Person {name: 'Bo'})").ok(), "");
    assert_eq!(csv("MATCH (p:Person) RETURN count(p) AS c").ok(), "c\n3\n");
    // Values, entities and paths look the same from both sides.
    let whole = "MATCH path = (a {name: 'Ada'})-[k:KNOWS]->(b) RETURN a, k, path, [a, 1] AS l, {x: k} AS m, date('2026-11-24') AS d";
    let json = ["query", "people.db", whole, "--format", "json"];
    let there = place.run(&json).ok();
    let failed = csv("MATCH (p:Person) RETURN oops").failed(1);
    assert!(failed.contains("SyntaxError") && failed.contains("^"), "{failed}");
    let misspelt = csv("MATCH (p:Persson) RETURN p");
    assert!(misspelt.err.contains("warning[UnknownLabelWarning]"), "{}", misspelt.err);
    let table = place.run(&["query", "people.db", "CREATE (:T {a: 1})"]).ok();
    assert!(table.contains("1 node created") || table.contains("created"), "{table}");
    let plan = place.run(&["query", "people.db", "EXPLAIN MATCH (p:Person) RETURN p.name"]).ok();
    assert!(plan.contains("rows"), "{plan}");

    assert!(place.run(&["history", "people.db"]).ok().contains("newest   version "));
    assert!(place.run(&["history", "people.db", "7d"]).ok().contains("history  7d\n"));
    assert!(place.run(&["history", &serving.url, "forever"]).ok().contains("history  forever\n"));
    assert!(place.run(&["history", "people.db"]).ok().contains("history  forever\n"));
    assert!(place.run(&["check", "people.db", "--live"]).ok().ends_with("sound, as of that commit\n"));
    let left: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("check")), "{left:?}");

    serving.signal("-TERM");
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    assert!(!place.path().join("people.db/SERVER").exists());
    assert_eq!(place.run(&json).ok(), there);
}

#[test]
fn a_server_that_was_killed_is_not_believed() {
    let place = Place::new();
    people(&place);
    let mut serving = Serving::start(&place, &[]);
    serving.signal("-KILL");
    serving.child.wait().unwrap();
    assert!(place.path().join("people.db/SERVER").exists(), "nobody removed it");
    let ran = place.run(&["query", "people.db", NAMES, "--format", "csv"]);
    assert_eq!(ran.err, "");
    assert_eq!(ran.ok(), "name\nAda\nCharles\n");
    // Who has it open now is no server, whatever the file says.
    let mut shell = command(place.path(), &["shell", "people.db", "--format", "csv"]);
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    shell.stdin.as_mut().unwrap().write_all(b"RETURN 1 AS one;\n").unwrap();
    let mut out = BufReader::new(shell.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let refused = place.run(&["query", "people.db", NAMES]).failed(1);
    assert!(refused.contains("already open"), "{refused}");
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn passwords_are_asked_for_where_there_are_users() {
    let place = Place::new();
    people(&place);
    place.run_with_input(&["user", "add", "people.db", "ada"], "secret-words\n").ok();
    let _serving = Serving::start(&place, &[]);
    let refused = place.run(&["query", "people.db", NAMES]).failed(1);
    assert!(
        refused.contains("asks for a name and a password") && refused.contains("--user NAME"),
        "{refused}"
    );
    let wrong = run_as(&place, "other-words", &["query", "people.db", NAMES]).failed(1);
    assert!(wrong.contains("Unauthorized") && !wrong.contains("other-words"), "{wrong}");
    let right = run_as(&place, "secret-words", &["query", "people.db", NAMES, "--format", "csv"]).ok();
    assert_eq!(right, "name\nAda\nCharles\n");
}

#[test]
fn a_server_with_tls_is_known_by_its_certificate() {
    let place = Place::new();
    people(&place);
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    place.file("server.pem", &made.cert.pem());
    place.file("server.key", &made.signing_key.serialize_pem());
    let serving = Serving::start(&place, &["--tls-cert", "server.pem", "--tls-key", "server.key"]);
    let csv = |arguments: &[&str]| place.run(&[&["query"], arguments, &[NAMES, "--format", "csv"]].concat());
    assert_eq!(csv(&["people.db"]).ok(), "name\nAda\nCharles\n");
    let port = serving.url.rsplit(':').next().unwrap();
    assert_eq!(csv(&[&format!("bolt+ssc://localhost:{port}")]).ok(), "name\nAda\nCharles\n");
    let trusted = format!("bolt+s://localhost:{port}");
    assert_eq!(csv(&["--tls-ca", "server.pem", &trusted]).ok(), "name\nAda\nCharles\n");
    place
        .file("other.pem", &rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap().cert.pem());
    let refused = csv(&["--tls-ca", "other.pem", &trusted]).failed(1);
    assert!(refused.contains("Client.Tls") && refused.contains("hint: "), "{refused}");
    csv(&[&format!("bolt://localhost:{port}")]).failed(1);
}

/// Writes a certificate of this name and its key where the server reads them, and the certificate beside.
fn certify(place: &Place, name: &str) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    place.file(name, &made.cert.pem());
    place.file("server.key", &made.signing_key.serialize_pem());
    place.file("server.pem", &made.cert.pem());
}

#[test]
fn a_new_certificate_is_served_after_a_signal_and_what_is_open_stays() {
    let place = Place::new();
    people(&place);
    certify(&place, "first.pem");
    let serving =
        Serving::start(&place, &["--tls-cert", "server.pem", "--tls-key", "server.key", "--log-file", "log"]);
    let url = format!("bolt+s://localhost:{}", serving.url.rsplit(':').next().unwrap());
    let trusts = |name: &str| {
        place.run(&["query", "--tls-ca", name, &url, "RETURN 1 AS one", "--format", "csv"]).code == 0
    };
    let logged = |part: &str| {
        let began = std::time::Instant::now();
        while !std::fs::read_to_string(place.path().join("log")).unwrap_or_default().contains(part) {
            assert!(began.elapsed().as_secs() < 20, "{part} is not logged");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    let shell = command(place.path(), &["shell", "--tls-ca", "first.pem", &url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut shell = shell.unwrap();
    let (mut says, mut hears) = (shell.stdin.take().unwrap(), BufReader::new(shell.stdout.take().unwrap()));
    let mut asks = |text: &str, answer: &str| {
        says.write_all(text.as_bytes()).unwrap();
        let mut line = String::new();
        while line.trim() != answer {
            line.clear();
            assert!(hears.read_line(&mut line).unwrap() > 0, "the shell ended before it said {answer}");
        }
    };
    asks(":mode csv\nRETURN 11 AS a;\n", "11");
    certify(&place, "second.pem");
    assert!(trusts("first.pem") && !trusts("second.pem"), "nothing changes before the signal");
    serving.signal("-HUP");
    logged("settings were read again");
    assert!(trusts("second.pem") && !trusts("first.pem"), "whoever comes from now on meets the new one");
    asks("RETURN 22 AS a;\n", "22");
    assert_eq!(place.run(&["query", "people.db", "RETURN 3 AS a", "--format", "csv"]).ok(), "a\n3\n");
    // A key that is not that of the certificate, and a file that is none: what was served stays.
    place.file("server.pem", "nonsense");
    serving.signal("-HUP");
    logged("the certificate stays as it was");
    assert!(trusts("second.pem"));
    let _ = shell.kill();
    let _ = shell.wait();
}

#[test]
fn the_shell_talks_to_a_server() {
    let place = Place::new();
    people(&place);
    place.file("more.cypher", ":param n => 'Dora'\nCREATE (:Person {name: $n});\n");
    let serving = Serving::start(&place, &[]);
    let script = ":mode csv\n:begin\nCREATE (:Person {name: 'Eve'});\n:rollback\n:source more.cypher\n\
                  MATCH (p:Person) RETURN count(p) AS c;\n:export out.jsonl MATCH (p:Person) RETURN p.name AS name ORDER BY name\n\
                  :watch 0.1 2x RETURN 7 AS seven\nCREATE STANDING QUERY odd AS MATCH (p:Person) WHERE p.name > 'B' RETURN p.name AS odd;\n:live 1x odd\n:schema\n:queries\nUNWIND range(1, 5000) AS i RETURN sum(i) AS s;\n";
    let out = place.run_with_input(&["shell", &serving.url], script).ok();
    for part in [
        "c\n3\n",
        "seven\n7\nseven\n7\n",
        " │ Dora",
        "2 rows · commit 3: 0 came, 0 went",
        ":Person",
        "[:KNOWS]",
        "s\n12502500\n",
    ] {
        assert!(out.contains(part), "{part} is missing in:\n{out}");
    }
    let exported = std::fs::read_to_string(place.path().join("out.jsonl")).unwrap();
    assert_eq!(exported.lines().next(), Some(r#"{"name":"Ada"}"#));
    let again = place.run_with_input(&["shell", &serving.url], ":export out.jsonl RETURN 1\n").failed(1);
    assert!(again.contains("there already"), "{again}");
    let failed = place.run_with_input(&["shell", "people.db"], "RETURN 1;\n:source none.cypher\n").failed(1);
    assert!(failed.contains("none.cypher"), "{failed}");
    place.file("bad.cypher", "RETURN 1;\nRETURN oops;\n");
    let failed = place.run_with_input(&["shell", "people.db"], ":source bad.cypher\n").failed(1);
    assert!(failed.contains("bad.cypher, line 2"), "{failed}");
}

#[test]
fn a_subscription_over_a_server_shows_changes_and_ends_with_ctrl_c() {
    let place = Place::new();
    people(&place);
    place
        .run(&["query", "people.db", "CREATE STANDING QUERY names AS MATCH (p:Person) RETURN p.name AS name"])
        .ok();
    let _serving = Serving::start(&place, &[]);
    let mut watching = command(place.path(), &["query", "people.db", "SUBSCRIBE names", "--format", "jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(watching.stdout.take().unwrap());
    // A subscription begins with the commits after it, so commits are made until one is told.
    let told = std::thread::spawn(move || {
        let mut line = String::new();
        while !line.contains("Zoe") {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0);
        }
        out
    });
    while !told.is_finished() {
        place.run(&["query", "people.db", "CREATE (:Person {name: 'Zoe'})"]).ok();
    }
    let mut out = told.join().unwrap();
    let pid = watching.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(watching.wait().unwrap().code(), Some(0));
}

#[test]
fn a_backup_is_read_by_several_and_written_by_none() {
    let place = Place::new();
    people(&place);
    place.run(&["backup", "people.db", "copy"]).ok();
    let mut first = command(place.path(), &["shell", "copy", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    first.stdin.as_mut().unwrap().write_all(b"RETURN 1 AS one;\n").unwrap();
    let mut out = BufReader::new(first.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    // The first has it open.
    assert_eq!(place.run(&["query", "copy", NAMES, "--format", "csv"]).ok(), "name\nAda\nCharles\n");
    for write in [
        "CREATE (:Person)",
        "CREATE INDEX x FOR (p:Person) ON (p.name)",
        "CREATE USER u SET PASSWORD 'secret-words'",
    ] {
        let refused = place.run(&["query", "copy", write]).failed(1);
        assert!(refused.contains("writes"), "{write}: {refused}");
    }
    let script = ":begin\nCREATE (:Person);\n";
    place.run_with_input(&["shell", "copy"], script).failed(1);
    place.run_with_input(&["shell", "copy"], "g.addV('Person')\n").failed(1);
    drop(first.stdin.take());
    first.wait().unwrap();
    assert!(place.run(&["check", "copy"]).ok().ends_with("a sound backup\n"));
}

/// Files with details that are easily lost: several labels, odd names, parallel relationships and loops, nodes without an id's property, values of
/// all kinds.
fn odd_files(place: &Place) {
    place.file(
        "odd/nodes.csv",
        ":ID,key:string,day:date,at:datetime,spot:point,many:int[],:LABEL\n\
         1,a,2024-02-29,2024-02-29T10:00:00Z,\"{x: 1.5, y: -2}\",1;2;3,Person;Od`d\n\
         2,b,,,,,Person\n3,,,,,,\"Per son\"\n4,\"c \"\"q\"\" é\n\",,,,,\n",
    );
    let mut edges = String::from(
        ":START_ID,:END_ID,:TYPE,w:double\n1,1,LOOP,0.5\n1,2,LIKES,\n1,2,LIKES,\n3,4,A `B`,1e300\n",
    );
    (0..2_100).for_each(|n| edges.push_str(&format!("{},{},MANY,{n}\n", 1 + n % 4, 1 + n % 3)));
    place.file("odd/edges.csv", &edges);
    place.file("more/Person.csv", "id:ID(Person),name,age:int\n1,Ada,37\n2,Charles,41\n3,Eve,20\n");
    let mut edges =
        String::from(":START_ID(Person),:END_ID(Person),since:int\n1,1,1833\n1,3,1840\n1,3,1840\n");
    // More alike than one statement takes.
    (0..2_100).for_each(|_| edges.push_str("1,2,\n"));
    place.file("more/KNOWS.csv", &edges);
    // Two kinds of ids under one label, so no constraint keeps them apart.
    place.file("two/a.csv", "id:ID(A),:LABEL\n1,Thing;A\n2,Thing;A\n");
    place.file("two/b.csv", "id:ID(B),:LABEL\n1,Thing;B\n3,Thing;B\n");
    place.file("two/e.csv", ":START_ID(A),:END_ID(B),:TYPE\n1,3,TO\n");
    // What the database keeps unique, of files without ids of their own.
    place.file("keyless/c.csv", ":ID,code:string,part:int,:LABEL\n1,x,1,Coded\n2,x,2,Coded\n3,y,1,Coded\n");
    place.file("list.txt", "1 2\n2 5\n");
    place.file("more.txt", "2 5\n5 9\n");
}

/// The content of a database, independent of the numbers of its nodes.
fn content(place: &Place, database: &str) -> Vec<String> {
    // In one order, whichever label was met first.
    let labels = |node: &str| {
        format!(
            "[l IN ['Person', 'Od`d', 'Per son', 'Thing', 'A', 'B', 'Coded', 'Node'] WHERE l IN labels({node})]"
        )
    };
    let nodes = format!("MATCH (n) RETURN {} AS l, properties(n) AS p", labels("n"));
    let edges = format!(
        "MATCH (a)-[r]->(b) RETURN type(r) AS t, properties(r) AS p, [a.key, a.id, b.key, b.id] AS e, {} + {} AS l",
        labels("a"),
        labels("b")
    );
    let constraints = "SHOW CONSTRAINTS YIELD createStatement";
    let all = [&nodes, &edges, constraints]
        .map(|text| place.run(&["query", database, text, "--format", "jsonl"]).ok())
        .concat();
    let mut lines: Vec<String> = all.lines().map(str::to_string).collect();
    lines.sort();
    lines
}

/// An import through a server has the same result as one without, also where data exists already.
#[test]
fn files_are_imported_where_a_server_has_the_database_open() {
    let place = Place::new();
    people(&place);
    odd_files(&place);
    place.run(&["backup", "people.db", "copy"]).ok();
    place.run(&["restore", "copy", "twin.db"]).ok();
    let mut serving = Serving::start(&place, &[]);
    let import = |arguments: &[&str]| {
        let there = place.run(&[&["import", "people.db"], arguments].concat());
        let here = place.run(&[&["import", "twin.db"], arguments].concat());
        assert_eq!(there.code, here.code, "{arguments:?}: {there:?}\n{here:?}");
        let counts = |out: &str| -> Vec<String> {
            out.lines().filter(|line| !line.starts_with("seconds")).map(str::to_string).collect()
        };
        assert_eq!(counts(&there.out), counts(&here.out), "{arguments:?}");
        assert_eq!(content(&place, "people.db"), content(&place, "twin.db"), "{arguments:?}");
        there
    };
    import(&["--from", "odd", "--dry-run"]).ok();
    let said = import(&["--from", "odd"]);
    assert!(said.err.contains("a server has people.db open"), "{}", said.err);
    let refused = import(&["--from", "more"]).failed(1);
    assert!(refused.contains("Import.Exists") && refused.contains("--existing skip"), "{refused}");
    import(&["--from", "more", "--existing", "skip"]).ok();
    import(&["--from", "more", "--existing", "merge"]).ok();
    import(&["--from", "two"]).ok();
    import(&["--from", "two"]).failed(1);
    import(&["--from", "two", "--existing", "skip"]).ok();
    import(&["--from", "list.txt"]).ok();
    import(&["--from", "more.txt"]).failed(1);
    import(&["--from", "more.txt", "--existing", "skip"]).ok();
    for database in ["people.db", "twin.db"] {
        let key = "CREATE CONSTRAINT coded FOR (n:Coded) REQUIRE (n.code, n.part) IS UNIQUE; CREATE (:Coded {code: 'x', part: 2})";
        place.run(&["query", database, key]).ok();
    }
    import(&["--from", "keyless"]).failed(1);
    import(&["--from", "keyless", "--existing", "skip"]).ok();
    let missing = place.run(&["import", &serving.url, "--from", "none"]).failed(1);
    assert!(missing.contains("Import.NotFound"), "{missing}");
    let graphson =
        place.run(&["import", &serving.url, "--from", "list.txt", "--layout", "graphson"]).failed(1);
    assert!(graphson.contains("Import.Graphson"), "{graphson}");
    // The name of the constraint is another's: it gets one of the server's.
    place.file("named/person.csv", "id:ID(person)\n1\n");
    place.run(&["import", "people.db", "--from", "named"]).ok();

    // A constraint of the server holds, and what came before stays and is told.
    place.run(&["query", "people.db", "CREATE CONSTRAINT old FOR (p:Person) REQUIRE p.age IS UNIQUE"]).ok();
    place.file("last/Person.csv", "id:ID(Person),name,age:int\n8,Kim,20\n");
    let broken = place.run(&["import", &serving.url, "--from", "last"]).failed(1);
    assert!(broken.contains("ConstraintValidationFailed"), "{broken}");
    place.run(&["import", "bolt://127.0.0.1:1", "--from", "last"]).failed(1);
    serving.signal("-TERM");
    serving.child.wait().unwrap();
    assert!(place.run(&["check", "people.db"]).ok().contains("sound"));
}
