//! `tanglewood kronos` as processes: the effects of hostile clients, and the Python package's own tests.
//!
//! The Python tests are passed over, with a notice, where python3 has no grpcio or pytest; `.ci/drivers` fetches them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{Place, TANGLEWOOD, command};
use tanglewood_kronos::blocking::Kronos;
use tanglewood_kronos::{Constraint, Event, KronosError, Options, Order};

/// A server in a process of its own; killed when it is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(place: &Place, flags: &[&str]) -> Server {
        let mut all = vec!["kronos"];
        all.extend(flags);
        let mut child =
            command(place.path(), &all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("://").nth(1).and_then(|rest| rest.split(' ').next());
        let Some(address) = address.map(String::from) else {
            let mut said = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut said);
            panic!("{line}{said}");
        };
        Server { child, address }
    }
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ports(count: usize) -> Vec<String> {
    let ports: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    ports.iter().map(|port| port.local_addr().unwrap().to_string()).collect()
}

fn before(a: Event, b: Event) -> Constraint {
    Constraint::must(a, Order::Before, b)
}

/// Figures of the service, which a refused call must not change.
fn held(kronos: &Kronos) -> (u64, u64, u64) {
    let stats = kronos.stats().unwrap();
    (stats.events, stats.edges, stats.references)
}

#[test]
fn refused_calls_leave_no_trace() {
    let place = Place::new();
    let server = Server::start(&place, &["--listen", "127.0.0.1:0", "--data", "k"]);
    let kronos = Kronos::connect(&server.address).unwrap();
    let e = kronos.create_events(5).unwrap();
    kronos.assign_order(&[before(e[0], e[1])]).unwrap();
    kronos.release_refs(&[e[4]]).unwrap();
    let stranger = Event(e[0].0 ^ 1 << 40);
    let at_first = held(&kronos);
    let refused = |outcome: Result<(), KronosError>, what: &str| {
        let error = outcome.unwrap_err();
        let named = format!("{error:?}");
        assert!(named.starts_with(what), "{named} instead of {what}");
        assert_eq!(held(&kronos), at_first, "{what} left a trace");
    };
    let assign = |batch: &[Constraint]| kronos.assign_order(batch).map(drop);
    refused(assign(&[before(e[2], e[3]), before(e[1], stranger)]), "NoEvent");
    refused(assign(&[before(e[2], e[3]), before(e[1], e[4])]), "NoEvent");
    refused(assign(&[before(e[2], e[3]), before(e[3], e[3])]), "InvalidArgument");
    refused(assign(&[before(e[2], e[3]), before(e[3], e[2])]), "Contradiction { at: Some(1)");
    refused(assign(&[before(e[2], e[0]), before(e[1], e[2])]), "Contradiction { at: Some(1)");
    // What is preferred does not save a `must` that comes after it in the batch.
    let prefer = Constraint::prefer(e[2], Order::Before, e[3]);
    refused(assign(&[prefer, before(e[1], e[0])]), "Contradiction { at: Some(1)");
    refused(assign(&vec![before(e[2], e[3]); (1 << 16) + 1]), "InvalidArgument");
    refused(kronos.create_events(1 << 16 | 1).map(drop), "InvalidArgument");
    refused(kronos.create_events(u32::MAX).map(drop), "InvalidArgument");
    refused(kronos.acquire_refs(&[e[0], stranger]), "NoEvent");
    refused(kronos.acquire_refs(&[e[0], e[4]]), "NoEvent");
    refused(kronos.release_refs(&[e[0], e[0]]).map(drop), "Precondition");
    refused(kronos.release_refs(&[e[0], e[4]]).map(drop), "NoEvent");
    refused(kronos.release_refs(&vec![e[0]; 1 << 16 | 1]).map(drop), "InvalidArgument");
    refused(kronos.query_order(&[(e[0], e[1]), (e[0], e[0])]).map(drop), "InvalidArgument");
    refused(kronos.query_order(&[(e[0], e[1]), (e[0], stranger)]).map(drop), "NoEvent");
    let other = Kronos::connect(&server.address).unwrap();
    refused(other.release_refs(&[e[0]]).map(drop), "Precondition");

    // Empty batches, repetitions and the largest batches are no errors.
    kronos.acquire_refs(&[]).unwrap();
    assert_eq!(kronos.release_refs(&[]).unwrap(), 0);
    assert!(kronos.assign_order(&[]).unwrap().is_empty() && kronos.create_events(0).unwrap().is_empty());
    let twice = kronos.assign_order(&[before(e[2], e[3]), before(e[2], e[3])]).unwrap();
    assert_eq!(twice.iter().map(|one| one.decided).collect::<Vec<_>>(), [true, false]);
    let largest = kronos.create_events(1 << 16).unwrap();
    let chain: Vec<Constraint> = largest.windows(2).map(|pair| before(pair[0], pair[1])).collect();
    kronos.assign_order(&chain).unwrap();
    assert_eq!(kronos.release_refs(&largest).unwrap(), 1 << 16);
    kronos.acquire_refs(&vec![e[0]; 1 << 16]).unwrap();
    assert_eq!(kronos.stats().unwrap().references, 4 + (1 << 16));
}

#[test]
fn a_client_that_is_killed_leaks_nothing_and_a_server_that_is_killed_forgets_nothing() {
    let place = Place::new();
    let flags = ["--listen", "127.0.0.1:0", "--data", "k"];
    let server = Server::start(&place, &flags);
    let mut options = Options::new([server.address.clone()]);
    options.lease = Duration::from_secs(2);
    let gone = Kronos::connect_with(options).unwrap();
    let lost = gone.create_events(1_000).unwrap();
    let kronos = Kronos::connect(&server.address).unwrap();
    let e = kronos.create_events(3).unwrap();
    kronos.assign_order(&[before(e[0], e[1]), before(e[2], lost[0])]).unwrap();
    // As if the process was killed: nothing is said, the lease is not renewed any more.
    std::mem::drop(gone);
    server.kill();
    let server = Server::start(&place, &flags);
    let kronos = Kronos::connect(&server.address).unwrap();
    assert_eq!(kronos.query_order(&[(e[1], e[0]), (e[0], e[2])]).unwrap(), [Order::After, Order::Concurrent]);
    let until = world::clock::monotonic_ns() + 20_000_000_000;
    while kronos.stats().unwrap().references > 3 {
        assert!(world::clock::monotonic_ns() < until, "{:?}", kronos.stats());
        world::threads::sleep(Duration::from_millis(50));
    }
    // The event behind e[2] stays as long as that does, and nobody can name it.
    assert_eq!(kronos.stats().unwrap().events, 4);
    assert!(matches!(kronos.acquire_refs(&[lost[0]]).unwrap_err(), KronosError::NoEvent(_)));
}

#[test]
fn folders_and_addresses_that_do_not_fit_are_said() {
    let place = Place::new();
    let group = ports(3);
    let peers = group.join(",");
    let first = ["--listen", &group[0], "--data", "a", "--peers", &peers];
    let server = Server::start(&place, &first);
    let error = |flags: &[&str]| {
        let all: Vec<&str> = ["kronos"].into_iter().chain(flags.iter().copied()).collect();
        place.run(&all).failed(1)
    };
    let same_folder = error(&["--listen", &group[1], "--data", "a", "--peers", &peers]);
    assert!(same_folder.contains("Kronos.Folder"), "{same_folder}");
    let same_port = error(&["--listen", &group[0], "--data", "b", "--peers", &peers]);
    assert!(same_port.contains("Kronos.Listen"), "{same_port}");
    server.kill();
    let other_folder = error(&["--listen", &group[1], "--data", "a", "--peers", &peers]);
    assert!(
        other_folder.contains("belongs to the replica") && other_folder.contains("hint:"),
        "{other_folder}"
    );
    let outside = error(&["--listen", "0.0.0.0:0", "--data", "c"]);
    assert!(outside.contains("NotLoopback") && outside.contains("--insecure"), "{outside}");
    let not_named = error(&["--listen", "127.0.0.1:1", "--data", "c", "--peers", &peers]);
    assert!(not_named.contains("--advertise"), "{not_named}");
    place.file("short", "secret\n");
    let short = error(&["--data", "c", "--token-file", "short"]);
    assert!(short.contains("Kronos.Tokens") && short.contains("line 1"), "{short}");
    assert!(!short.contains("secret"));
    // A status reads the same file in the same way.
    let short = error(&["--status", "127.0.0.1:1", "--token-file", "short"]);
    assert!(short.contains("Kronos.Tokens") && !short.contains("secret"), "{short}");
    let no_file = error(&["--data", "c", "--tls-cert", "none.pem", "--tls-key", "none.key"]);
    assert!(no_file.contains("Kronos.Tls") && no_file.contains("none.pem"), "{no_file}");
    place.file("a-file", "x");
    assert!(error(&["--data", "a-file"]).contains("Kronos.Folder"));
    Server::start(&place, &first);
}

/// Bytes that are no gRPC, and silent connections, have no effect on others.
#[test]
fn strangers_on_the_port_are_ignored() {
    let place = Place::new();
    let server = Server::start(&place, &["--listen", "127.0.0.1:0", "--data", "k"]);
    let silent: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    for bytes in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4_096], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff"]
    {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let _ = stream.write_all(bytes);
    }
    let kronos = Kronos::connect(&server.address).unwrap();
    assert_eq!(kronos.create_events(2).unwrap().len(), 2);
    drop(silent);
}

#[test]
fn the_python_package_passes_its_tests() {
    let has_packages = Command::new("python3").args(["-c", "import grpc, pytest"]).output();
    if !has_packages.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "passed over: needs python3 with the packages grpcio and pytest; `.ci/drivers` fetches them"
        );
        return;
    }
    let place = Place::new();
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("interfaces/kronos-python");
    let output = Command::new("timeout")
        .args(["300", "python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp"])
        .arg(place.path().join("pytest"))
        .current_dir(&package)
        .env("TANGLEWOOD", TANGLEWOOD)
        .env("PYTHONPATH", &package)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
