//! Work within one expression ends, in the server's own process: by KILL QUERY and TERMINATE TRANSACTION, when its client is gone, and when the
//! server is told to end. The cores are idle afterwards. The times are printed.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use model::Value;
use server::bolt::chunks::Assembler;
use server::bolt::packstream::Unpacker;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Place, command};

/// Loops of many kinds within one expression, each minutes long.
const LOOPS: [&str; 7] = [
    "RETURN size([x IN range(1,1000) | size([y IN range(1,10000000) WHERE y < 0 | x*y])])",
    "UNWIND range(1,1000) AS u RETURN sum(reduce(s = 0, x IN range(1,5000000) | s + x % 7))",
    "WITH reduce(s = 'ab', i IN range(1,22) | s+s) AS s UNWIND range(1,100000) AS x RETURN sum(size(toUpper(s)))",
    "WITH reduce(s = 'ab', i IN range(1,22) | s+s) AS s UNWIND range(1,100000) AS x RETURN sum(size(replace(s, 'a', 'c')))",
    "WITH range(1,1000000) AS l UNWIND range(1,100000) AS x RETURN count(DISTINCT l[x % 7..])",
    "WITH range(1,1000000) AS l UNWIND range(1,100000) AS x RETURN max(l[x % 7..])",
    "UNWIND range(1,100000) AS u UNWIND range(1,400000) AS x RETURN percentileCont(x, 0.5)",
];

/// The target is 50 ms; a build without optimisation, on a busy machine, gets this limit.
const TIME_MAX: Duration = Duration::from_secs(2);

struct Server {
    child: Child,
    bolt: SocketAddr,
}

impl Server {
    fn start(place: &Place) -> Server {
        let arguments = ["serve", ":memory:", "--bolt", "127.0.0.1:0"];
        let mut child = command(place.path(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("listening")).expect("the server did not start");
        let rest = line.split("://").nth(1).unwrap();
        let bolt = rest.split(['/', ' ', ',']).next().unwrap().parse().unwrap();
        Server { child, bolt }
    }
    /// Time that all its threads have worked.
    fn worked(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 10)
    }
    /// Waits until no core works for it any more.
    #[track_caller]
    fn comes_to_rest(&self, what: &str) {
        let began = Instant::now();
        loop {
            let before = self.worked();
            std::thread::sleep(Duration::from_millis(100));
            if self.worked() - before <= Duration::from_millis(30) {
                return;
            }
            assert!(began.elapsed() < 2 * TIME_MAX, "{what}: the cores stay busy");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Bolt {
    socket: TcpStream,
    assembler: Assembler,
}

impl Bolt {
    fn known(to: SocketAddr) -> Bolt {
        let mut socket = TcpStream::connect(to).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        socket.write_all(&[0x60, 0x60, 0xB0, 0x17, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        socket.read_exact(&mut [0; 4]).unwrap();
        let mut client = Bolt { socket, assembler: Assembler::default() };
        client.say(&[0xB1, 0x01, 0xA0]);
        client.say(&[0xB1, 0x6A, 0xA0]);
        assert_eq!([client.answer().unwrap().0, client.answer().unwrap().0], [0x70; 2]);
        client
    }
    fn say(&mut self, message: &[u8]) {
        let mut bytes = Vec::new();
        server::bolt::chunks::write(message, &mut bytes);
        self.socket.write_all(&bytes).unwrap();
    }
    fn run(&mut self, text: &str) {
        let length = (text.len() as u16).to_be_bytes();
        self.say(&[&[0xB3, 0x10, 0xD1, length[0], length[1]][..], text.as_bytes(), &[0xA0, 0xA0]].concat());
        self.say(&[0xB1, 0x3F, 0xA1, 0x81, b'n', 0xFF]);
    }
    /// The next answer: its kind and its value; `None` where the server closed.
    fn answer(&mut self) -> Option<(u8, Value)> {
        let mut bytes = [0; 4_096];
        loop {
            if let Some(message) = self.assembler.next_message().unwrap() {
                let mut unpacker = Unpacker::new(&message);
                let (tag, fields) = unpacker.structure().unwrap();
                let said = if fields == 0 { Value::Null } else { unpacker.value().unwrap() };
                return Some((tag, said));
            }
            match self.socket.read(&mut bytes) {
                Ok(count) if count > 0 => self.assembler.feed(&bytes[..count]),
                _ => return None,
            }
        }
    }
    /// The rows of a statement, or its failure.
    fn ask(&mut self, text: &str) -> Result<Vec<Vec<Value>>, String> {
        self.run(text);
        assert_eq!(self.answer().unwrap().0, 0x70, "{text}");
        let mut rows = Vec::new();
        loop {
            match self.answer().expect("the server closed") {
                (0x71, Value::List(row)) => rows.push(row.to_vec()),
                (0x70, _) => return Ok(rows),
                (_, said) => return Err(format!("{said:?}")),
            }
        }
    }
    /// The value of this column where `text` runs, once it does.
    fn running(&mut self, text: &str, ask: &str, column: usize) -> String {
        let began = Instant::now();
        loop {
            for row in self.ask(ask).unwrap() {
                if row.iter().any(|value| value.as_str() == Some(text)) {
                    return row[column].as_str().unwrap().to_string();
                }
            }
            assert!(began.elapsed() < Duration::from_secs(20), "`{text}` does not run");
        }
    }
}

fn percentile(times: &mut [Duration]) -> String {
    times.sort();
    format!("median {:?}, worst {:?} of {}", times[times.len() / 2], times[times.len() - 1], times.len())
}

/// A running loop, and its client.
fn begun(server: &Server, text: &str) -> Bolt {
    let mut client = Bolt::known(server.bolt);
    client.run(text);
    client
}

/// Lets it work for a moment, so that it is within its loop.
fn for_a_moment() {
    std::thread::sleep(Duration::from_millis(200));
}

#[test]
fn a_kill_frees_the_cores() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut admin = Bolt::known(server.bolt);
    let mut times = Vec::new();
    for (number, text) in LOOPS.iter().enumerate() {
        let mut client = begun(&server, text);
        let (listing, column, kill) = match number % 2 {
            0 => ("SHOW QUERIES", 0, "KILL QUERY"),
            _ => ("SHOW TRANSACTIONS", 1, "TERMINATE TRANSACTION"),
        };
        let id = admin.running(text, listing, column);
        for_a_moment();
        let began = Instant::now();
        admin.ask(&format!("{kill} '{id}'")).unwrap();
        let end = std::iter::from_fn(|| client.answer()).find(|(kind, _)| *kind == 0x7F);
        let took = began.elapsed();
        let (_, said) = end.unwrap_or_else(|| panic!("{text}: the client was told nothing"));
        assert!(format!("{said:?}").contains("Terminated"), "{text}: {said:?}");
        println!("{kill}: {took:?} {text}");
        assert!(took < TIME_MAX, "{text}: {took:?}");
        times.push(took);
        server.comes_to_rest(text);
    }
    println!("killed: {}", percentile(&mut times));
}

#[test]
fn work_ends_when_its_client_is_gone() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut admin = Bolt::known(server.bolt);
    let mut times = Vec::new();
    for text in LOOPS {
        let client = begun(&server, text);
        admin.running(text, "SHOW QUERIES", 0);
        for_a_moment();
        let began = Instant::now();
        drop(client);
        let runs = |admin: &mut Bolt| {
            let rows = admin.ask("SHOW QUERIES").unwrap();
            rows.iter().any(|row| row.iter().any(|value| value.as_str() == Some(text)))
        };
        while runs(&mut admin) {
            assert!(began.elapsed() < TIME_MAX, "{text}: still runs");
        }
        times.push(began.elapsed());
        server.comes_to_rest(text);
    }
    println!("abandoned: {}", percentile(&mut times));
}

#[test]
fn a_server_that_is_told_to_end_ends() {
    let place = Place::new();
    let mut times = Vec::new();
    for text in LOOPS {
        let mut server = Server::start(&place);
        let mut admin = Bolt::known(server.bolt);
        let _clients: Vec<Bolt> = (0..3).map(|_| begun(&server, text)).collect();
        admin.running(text, "SHOW QUERIES", 0);
        for_a_moment();
        let began = Instant::now();
        assert!(Command::new("kill").arg(server.child.id().to_string()).status().unwrap().success());
        let status = loop {
            if let Some(status) = server.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < 2 * TIME_MAX, "{text}: the server does not end");
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(status.success(), "{text}: {status}");
        times.push(began.elapsed());
    }
    println!("told to end: {}", percentile(&mut times));
}
