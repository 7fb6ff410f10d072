//! A cluster of processes of their own: started, asked through both gates, with a shard and a gate killed, and ended. Passed over where
//! PostgreSQL is not installed.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "cluster/faults.rs"]
mod faults;
#[path = "cluster/links.rs"]
mod links;
mod support;

use serde_json::Value;
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use support::TANGLEWOOD;
use world::files::TemporaryFolder;

fn tanglewood(arguments: &[&str]) -> Output {
    Command::new(TANGLEWOOD).args(arguments).output().unwrap()
}

fn status(folder: &str) -> Value {
    let output = tanglewood(&["cluster", "status", folder, "--json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Addresses of the gates, for drivers.
fn gates(status: &Value) -> Vec<String> {
    let processes = status["processes"].as_array().unwrap().iter();
    processes.filter_map(|process| Some(format!("bolt://{}", process["bolt"].as_str()?))).collect()
}

/// The answer of a gate; a process that was killed may be restarting.
fn ask(gate: &str, text: &str) -> String {
    let until_ns = world::clock::after_ns(Duration::from_secs(60));
    loop {
        let output = tanglewood(&["query", gate, text, "--format", "csv"]);
        if output.status.success() {
            return String::from_utf8(output.stdout).unwrap();
        }
        assert!(world::clock::monotonic_ns() < until_ns, "{text}: {output:?}");
        world::threads::sleep(Duration::from_millis(100));
    }
}

/// Address of a gate's interface.
fn interface(status: &Value, gate: u64, interface: &str) -> String {
    let processes = status["processes"].as_array().unwrap();
    let is_it = |process: &&Value| process["role"] == "gate" && process["number"] == gate;
    processes.iter().find(is_it).unwrap()[interface].as_str().unwrap().to_string()
}

/// The answer of an interface to a JSON text.
fn post(address: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn kill(status: &Value, role: &str, number: u64) {
    let processes = status["processes"].as_array().unwrap();
    let one = processes.iter().find(|process| process["role"] == role && process["number"] == number);
    let pid = one.unwrap()["pid"].to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
}

/// A subscription by the command, while it runs.
struct Subscribed {
    command: std::process::Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Subscribed {
    fn to(gate: &str, text: &str) -> Subscribed {
        let mut command = Command::new(TANGLEWOOD);
        command.args(["query", gate, text, "--format", "csv"]).stdout(std::process::Stdio::piped());
        let mut command = command.spawn().unwrap();
        let (sender, lines) = std::sync::mpsc::channel();
        let out = std::io::BufReader::new(command.stdout.take().unwrap());
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
        });
        Subscribed { command, lines }
    }
    /// Waits for these rows, in some order: how often each came, and its value; the place of the last. Marks are passed over.
    fn await_rows(&mut self, rows: &[(i64, i64)]) -> u64 {
        let (mut missing, mut place) = (rows.to_vec(), 0);
        while !missing.is_empty() {
            let line = self.lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|_| panic!("{missing:?} do not come"));
            let cells: Vec<&str> = line.split(',').collect();
            let row = cells
                .get(2)
                .and_then(|count| count.parse().ok())
                .zip(cells.last().and_then(|n| n.parse().ok()));
            let Some(row) = row.filter(|(count, _)| *count != 0) else { continue };
            let at = missing.iter().position(|wanted| *wanted == row);
            missing.remove(at.unwrap_or_else(|| panic!("{line} was not expected, {missing:?} were")));
            place = cells[0].parse().unwrap();
        }
        place
    }
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        let _ = self.command.kill();
        let _ = self.command.wait();
    }
}

/// Ends the cluster when it is dropped, also after a failed test.
struct Ends<'a>(&'a str);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        tanglewood(&["cluster", "down", self.0]);
    }
}

#[test]
fn a_cluster_serves_through_both_gates_and_through_losses() {
    let scratch = TemporaryFolder::new("cluster").unwrap();
    let folder = scratch.path().join("c").display().to_string();
    let up = tanglewood(&["cluster", "up", &folder, "--gates", "2", "--shards", "3"]);
    if String::from_utf8_lossy(&up.stderr).contains("Cluster.NoPostgres") {
        println!("passed over: PostgreSQL is not installed (Debian: apt-get install postgresql)");
        return;
    }
    assert!(up.status.success(), "{up:?}");
    let _ends = Ends(&folder);
    let before = status(&folder);
    assert_eq!(before["state"], "serving");
    let [one, other] = &gates(&before)[..] else { panic!("two gates: {before}") };
    ask(one, "UNWIND range(1, 60) AS n MERGE (p:P {n: n})");
    ask(other, "MATCH (a:P), (b:P {n: a.n + 1}) MERGE (a)-[:NEXT]->(b)");
    let count = "MATCH (:P)-[e:NEXT]->(p:P) RETURN count(e) AS c, sum(p.n) AS s";
    assert_eq!(ask(one, count).trim(), "c,s\n59,1829");
    let asked = r#"{"statement": "MATCH (:P)-[e:NEXT]->() RETURN count(e)"}"#;
    let answer = post(&interface(&before, 1, "http"), "/db/neo4j/query/v2", asked);
    assert!(answer.contains(r#""values":[[59]]"#), "{answer}");
    let asked = r#"{"gremlin": "g.V().has('P', 'n', 7).out('NEXT').values('n').sum()"}"#;
    let answer = post(&interface(&before, 0, "gremlin"), "/gremlin", asked);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""@value":8"#), "{answer}");
    kill(&before, "shard", 1);
    kill(&before, "gate", 0);
    assert_eq!(ask(other, count).trim(), "c,s\n59,1829");
    let made = "CREATE STANDING QUERY last IF NOT EXISTS AS MATCH (p:P) WHERE p.n >= 59 RETURN p.n AS n";
    ask(other, made);
    let mut subscribed = Subscribed::to(other, "SUBSCRIBE last SNAPSHOT");
    ask(other, "CALL dbms.setHistory('7d')");
    let before = subscribed.await_rows(&[(1, 59), (1, 60)]);
    ask(other, "CREATE CONSTRAINT IF NOT EXISTS FOR (p:P) REQUIRE p.n IS UNIQUE");
    let output = tanglewood(&["query", other, "CREATE (:P {n: 7})"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("ConstraintValidationFailed"), "{output:?}");
    ask(one, "MATCH (p:P {n: 60}) DETACH DELETE p");
    assert_eq!(ask(other, count).trim(), "c,s\n58,1769");
    subscribed.await_rows(&[(-1, 60)]);
    drop(subscribed);
    // The other gate has a replica of its own from the first question on.
    Subscribed::to(one, "SUBSCRIBE last SNAPSHOT").await_rows(&[(1, 59)]);
    assert_eq!(ask(other, &format!("AS OF {before} {count}")).trim(), "c,s\n59,1829");
    let output = tanglewood(&["backup", one, "monday"]);
    assert!(output.status.success(), "{output:?}");
    let (backup, restored) = (Path::new(&folder).join("backups/monday"), scratch.path().join("restored"));
    let [backup, restored] = [backup, restored].map(|path| path.display().to_string());
    assert!(tanglewood(&["restore", &backup, &restored]).status.success());
    assert_eq!(ask(&restored, count).trim(), "c,s\n58,1769");
    let down = tanglewood(&["cluster", "down", &folder]);
    assert!(down.status.success(), "{down:?}");
    assert_eq!(status(&folder)["state"], "down");
    // What was committed is there after the next start.
    let up = tanglewood(&["cluster", "up", &folder, "--gates", "2", "--shards", "3"]);
    assert!(up.status.success(), "{up:?}");
    assert_eq!(ask(&gates(&status(&folder))[1], count).trim(), "c,s\n58,1769");
    assert!(Path::new(&folder).join("cluster.json").is_file());
    // The machine loses its power: everything is killed at once, whoever watches first.
    let before = status(&folder);
    let pids = before["processes"].as_array().unwrap().iter().map(|process| process["pid"].to_string());
    let pids: Vec<String> = [before["watcher"].to_string()].into_iter().chain(pids).collect();
    assert!(Command::new("kill").arg("-KILL").args(&pids).status().unwrap().success());
    let up = tanglewood(&["cluster", "up", &folder, "--gates", "2", "--shards", "3"]);
    assert!(up.status.success(), "{up:?}");
    assert_eq!(ask(&gates(&status(&folder))[0], count).trim(), "c,s\n58,1769");
    // A cluster of another size begins with what the first had.
    let second = scratch.path().join("d").display().to_string();
    let [authority, certificate, key] = certified(scratch.path());
    let tls = ["--peer-cert", &certificate, "--peer-key", &key, "--peer-ca", &authority];
    let size = ["--gates", "1", "--shards", "2", "--processes", "2", "--from", &restored];
    let interfaces = ["--tls-cert", &certificate, "--tls-key", &key];
    let second_up = [&["cluster", "up", &second], &size[..], &interfaces, &tls].concat();
    let misfit = |part: &&str| if *part == key { authority.clone() } else { part.to_string() };
    let misfit: Vec<String> = second_up.iter().map(misfit).collect();
    let wrong = tanglewood(&misfit.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("Cluster.Certificates"), "{wrong:?}");
    let up = tanglewood(&second_up);
    assert!(up.status.success(), "{up:?}");
    let _ends = Ends(&second);
    let gate = &gates(&status(&second))[0];
    assert!(!tanglewood(&["query", gate, "RETURN 1"]).status.success(), "without TLS");
    let gate = &gate.replace("bolt://", "bolt+ssc://");
    // Gate, a shard and scribe in one process, and the other shard, oracle and keeper in the other; each is lost once.
    let process = |role: &str| {
        let status = status(&second);
        let all = status["processes"].as_array().unwrap().clone();
        all.into_iter().find(|process| process["role"] == role).unwrap()["pid"].to_string()
    };
    assert_eq!((process("gate"), process("oracle")), (process("scribe"), process("keeper")));
    kill(&status(&second), "gate", 0);
    assert_eq!(ask(gate, count).trim(), "c,s\n58,1769");
    kill(&status(&second), "oracle", 0);
    assert_eq!(ask(gate, count).trim(), "c,s\n58,1769");
    let third = scratch.path().join("e").display().to_string();
    let few = tanglewood(&["cluster", "up", &third, "--gates", "2", "--processes", "1"]);
    assert!(String::from_utf8_lossy(&few.stderr).contains("cannot hold 2 gates"), "{few:?}");
    // Nobody has committed since: a backup is as whole as any.
    assert!(tanglewood(&["backup", gate, "first"]).status.success());
    let [first, again] = [Path::new(&second).join("backups/first"), scratch.path().join("again")];
    let [first, again] = [first, again].map(|path| path.display().to_string());
    assert!(tanglewood(&["restore", &first, &again]).status.success());
    assert_eq!(ask(&again, count).trim(), "c,s\n58,1769");
    assert_eq!(ask(gate, count).trim(), "c,s\n58,1769");
    let output = tanglewood(&["query", gate, "CREATE (:P {n: 7})"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("ConstraintValidationFailed"), "{output:?}");
    ask(gate, "MATCH (p:P {n: 59}) CREATE (p)-[:NEXT]->(:P {n: 60})");
    assert_eq!(ask(gate, count).trim(), "c,s\n59,1829");
    let files = scratch.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let ids: String = (0..300).map(|n| format!("{n}\n")).collect();
    std::fs::write(files.join("Item.csv"), format!("id:ID(Item)\n{ids}")).unwrap();
    let edges: String = (1..300).map(|n| format!("{n},{}\n", n - 1)).collect();
    std::fs::write(files.join("AFTER.csv"), format!(":START_ID(Item),:END_ID(Item)\n{edges}")).unwrap();
    let files = files.display().to_string();
    let imported = tanglewood(&["import", gate, "--from", &files]);
    assert!(
        String::from_utf8_lossy(&imported.stdout).starts_with("vertices  300\nedges     299\n"),
        "{imported:?}"
    );
    let refused = tanglewood(&["import", gate, "--from", &files]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Import.Exists"), "{refused:?}");
    assert!(tanglewood(&["import", gate, "--from", &files, "--existing", "skip"]).status.success());
    let items = "MATCH (i:Item) OPTIONAL MATCH (i)-[:AFTER]->(j) RETURN count(i) AS c, sum(j.id) AS s";
    assert_eq!(ask(gate, items).trim(), "c,s\n300,44551");
    let up = tanglewood(&["cluster", "up", &folder, "--from", &restored]);
    assert!(String::from_utf8_lossy(&up.stderr).contains("is up already"), "{up:?}");
}

/// Files of an authority's certificate, of one for this machine that it signed, and of that one's key.
fn certified(folder: &Path) -> [String; 3] {
    let mut signer = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
    signer.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let (signer_key, key) = (rcgen::KeyPair::generate().unwrap(), rcgen::KeyPair::generate().unwrap());
    let authority = signer.self_signed(&signer_key).unwrap().pem();
    let issuer = rcgen::Issuer::new(signer, signer_key);
    let own = rcgen::CertificateParams::new(vec!["127.0.0.1".to_string()]).unwrap();
    let certificate = own.signed_by(&key, &issuer).unwrap().pem();
    [("ca.pem", authority), ("node.pem", certificate), ("node.key", key.serialize_pem())].map(
        |(name, text)| {
            std::fs::write(folder.join(name), text).unwrap();
            folder.join(name).display().to_string()
        },
    )
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn one_order_explains_everything_while_processes_are_lost() {
    faults::survive(3, number("CLUSTER_SEED").unwrap_or(7), None);
}

#[test]
fn one_order_explains_everything_while_processes_of_several_roles_are_lost() {
    faults::survive(3, number("CLUSTER_SEED").unwrap_or(8), Some(3));
}

#[test]
#[ignore = "soak: CLUSTER_FAULTS faults, 150 unless told, some 4 s each; CLUSTER_PROCESSES share the roles"]
fn one_order_explains_everything_for_long() {
    faults::survive(
        number("CLUSTER_FAULTS").unwrap_or(150),
        number("CLUSTER_SEED").unwrap_or_else(world::chance::Chance::system_seed),
        number("CLUSTER_PROCESSES").map(|count| count as usize),
    );
}
