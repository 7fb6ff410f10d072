//! Hostile connections in every state of every protocol, against the server as its own process: afterwards, and meanwhile, a client from
//! another address is served within a second, and the server's memory, measured from outside, keeps to its limits.
//!
//! `TANGLEWOOD_HOSTILE_CONNECTIONS` says how many connections the generator makes (300 where unset), `TANGLEWOOD_HOSTILE_SEED` replays them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use database::{Database, Options, params};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use support::{Place, command};
use world::chance::Chance;

const HELLO: &[u8] = &[0xB1, 0x01, 0xA0];
const LOGON: &[u8] = &[0xB1, 0x6A, 0xA0];
const BEGIN: &[u8] = &[0xB1, 0x11, 0xA0];
const PULL: &[u8] = &[0xB1, 0x3F, 0xA1, 0x81, b'n', 0xFF];
const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Everything else that a server needs for statements and answers.
const OVERHEAD_BYTES: u64 = 48 << 20;
/// Memory that the allocator keeps for the thread of a connection, in a kernel of huge pages.
const THREAD_BYTES: u64 = 3 << 20;

/// A server in a process of its own.
struct Server {
    child: Child,
    bolt: SocketAddr,
    gremlin: SocketAddr,
    before: u64,
}

impl Server {
    fn start(place: &Place, database: &str, flags: &[&str]) -> Server {
        let interfaces = ["serve", database, "--bolt", "127.0.0.1:0", "--gremlin", "127.0.0.1:0"];
        let arguments = [&interfaces, flags].concat();
        let mut child = command(place.path(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut after = |words: [&str; 2]| {
            let line = lines.find(|line| line.contains(words[0])).expect("the server did not start");
            let rest = line.split(words[1]).nth(1).unwrap().to_string();
            rest.split(['/', ' ', ',']).next().unwrap().parse::<SocketAddr>().unwrap()
        };
        let bolt = after(["listening", "://"]);
        let gremlin = after(["gremlin ", "://"]);
        let mut server = Server { child, bolt, gremlin, before: 0 };
        assert_eq!(Bolt::known(server.bolt, OTHER, None).one(), 1);
        server.before = server.resident();
        server
    }
    /// Bytes of memory, as the system tells.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }
    #[track_caller]
    fn stays_within(&self, bytes: u64, connections: u64, what: &str) {
        let grown = self.resident().saturating_sub(self.before);
        let most = bytes + OVERHEAD_BYTES + connections * THREAD_BYTES;
        assert!(grown < most, "{what}: the server grew by {} MiB of {} MiB", grown >> 20, most >> 20);
    }
    /// A client of another address logs on and runs a statement.
    #[track_caller]
    fn serves_others(&self, user: Option<(&str, &str)>, what: &str) {
        // The best of a few: others share the machine with the test.
        let took = (0..3).map(|_| {
            let began = Instant::now();
            assert_eq!(Bolt::known(self.bolt, OTHER, user).one(), 1);
            began.elapsed()
        });
        let took = took.min().unwrap();
        assert!(took < Duration::from_secs(1), "{what}: {took:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn socket(to: SocketAddr, from: IpAddr) -> std::io::Result<TcpStream> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    socket.connect(&to.into())?;
    socket.set_tcp_nodelay(true)?;
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    socket.set_write_timeout(Some(Duration::from_secs(10)))?;
    Ok(socket.into())
}

fn chunked(message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    server::bolt::chunks::write(message, &mut bytes);
    bytes
}

fn run(text: &str) -> Vec<u8> {
    assert!(text.len() < 256);
    [&[0xB3, 0x10, 0xD0, text.len() as u8][..], text.as_bytes(), &[0xA0, 0xA0]].concat()
}

/// A Bolt client that only knows the kinds of answers.
struct Bolt {
    socket: TcpStream,
    assembler: server::bolt::chunks::Assembler,
}

impl Bolt {
    fn shaken(to: SocketAddr, from: IpAddr) -> std::io::Result<Bolt> {
        let mut socket = socket(to, from)?;
        socket.write_all(&[0x60, 0x60, 0xB0, 0x17, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
        socket.read_exact(&mut [0; 4])?;
        Ok(Bolt { socket, assembler: Default::default() })
    }
    fn say(&mut self, message: &[u8]) -> std::io::Result<()> {
        self.socket.write_all(&chunked(message))
    }
    /// The next answer; none where the server closed.
    fn answer(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; 4_096];
        loop {
            if let Some(message) = self.assembler.next_message().unwrap() {
                return Some(message.to_vec());
            }
            match self.socket.read(&mut bytes) {
                Ok(count) if count > 0 => self.assembler.feed(&bytes[..count]),
                _ => return None,
            }
        }
    }
    /// Why the server let it go.
    fn reason(&mut self) -> Option<String> {
        std::iter::from_fn(|| self.answer())
            .find(|answer| answer[1] == 0x7F)
            .map(|answer| String::from_utf8_lossy(&answer).into_owned())
    }
    fn log_on(&mut self, user: Option<(&str, &str)>) -> std::io::Result<bool> {
        let token = user.map_or(LOGON.to_vec(), |(name, password)| {
            let text = |text: &str| [&[0xD0, text.len() as u8][..], text.as_bytes()].concat();
            let pairs = [("scheme", "basic"), ("principal", name), ("credentials", password)];
            let pairs = pairs.iter().flat_map(|(key, value)| [text(key), text(value)]);
            [vec![0xB1, 0x6A, 0xA3], pairs.collect::<Vec<_>>().concat()].concat()
        });
        self.say(HELLO)?;
        self.say(&token)?;
        let is_success = |answer: Option<Vec<u8>>| answer.is_some_and(|answer| answer[1] == 0x70);
        Ok(is_success(self.answer()) && is_success(self.answer()))
    }
    fn known(to: SocketAddr, from: IpAddr, user: Option<(&str, &str)>) -> Bolt {
        let mut client = Bolt::shaken(to, from).unwrap();
        assert!(client.log_on(user).unwrap());
        client
    }
    fn one(&mut self) -> i64 {
        self.say(&run("RETURN 1")).unwrap();
        self.say(PULL).unwrap();
        let answers: Vec<Vec<u8>> = (0..3).map(|_| self.answer().unwrap()).collect();
        assert_eq!((answers[1][1], answers[2][1]), (0x71, 0x70), "{answers:?}");
        answers[1][3] as i64
    }
}

/// Bytes of a message that is not whole.
fn endless(socket: &mut TcpStream, bytes: usize) -> std::io::Result<()> {
    let chunk = [&[0xFF, 0xFF][..], &[0xD0; 65_535]].concat();
    (0..bytes / 65_535).try_for_each(|_| socket.write_all(&chunk))
}

/// A client's half of WebSocket, as far as its greeting.
fn web_socket(to: SocketAddr) -> std::io::Result<TcpStream> {
    let mut socket = socket(to, ATTACKER)?;
    let greeting = "GET /gremlin HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    socket.write_all(greeting.as_bytes())?;
    let mut byte = [0];
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte)?;
        answer.push(byte[0]);
    }
    Ok(socket)
}

fn promise(bytes: u64) -> Vec<u8> {
    [&[0x82, 0xFF][..], &bytes.to_be_bytes(), &[0; 4]].concat()
}

/// How far a connection comes before it turns hostile.
const STATES: [&str; 9] = [
    "silent",
    "shaken",
    "greeted",
    "known",
    "in a transaction",
    "amid a result",
    "http",
    "body",
    "websocket",
];
/// The misbehaviours of a hostile client.
const ACTS: [&str; 6] = ["garbage", "half a message", "oversize", "slow", "abandoned", "gone"];

/// One hostile connection, as far as the server lets it come.
fn hostile(
    server: &Server,
    state: &str,
    act: &str,
    chance: &mut Chance,
) -> std::io::Result<Option<TcpStream>> {
    let mut socket = match state {
        "http" | "body" => socket(server.gremlin, ATTACKER)?,
        "websocket" => web_socket(server.gremlin)?,
        "silent" => socket(server.bolt, ATTACKER)?,
        _ => {
            let mut client = Bolt::shaken(server.bolt, ATTACKER)?;
            match state {
                "greeted" => client.say(HELLO)?,
                "shaken" => {}
                _ => drop(client.log_on(None)?),
            }
            if state == "in a transaction" {
                client.say(BEGIN)?;
                client.say(&run("CREATE (:Lost) RETURN 1"))?;
            }
            if state == "amid a result" {
                client.say(&run("UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN i"))?;
            }
            client.socket
        }
    };
    if state == "body" {
        let length = 1 + chance.below(32 << 20);
        write!(socket, "POST /gremlin HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")?;
    }
    match act {
        "garbage" => {
            let length = chance.index(5_000);
            socket.write_all(&chance.bytes(length))?;
        }
        "half a message" if state == "websocket" => {
            socket.write_all(&promise(1 + chance.below(8 << 20)))?;
            let length = chance.index(100_000);
            socket.write_all(&chance.bytes(length))?;
        }
        "half a message" => socket.write_all(&[0xFF, 0xFF, 0xB1, 0x10, 0xD0])?,
        "oversize" if state == "websocket" => socket.write_all(&promise(chance.next_u64()))?,
        "oversize" => endless(&mut socket, chance.index(20 << 20))?,
        "slow" => {
            for _ in 0..3 {
                socket.write_all(&[0])?;
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        "gone" => return Ok(None),
        _ => {}
    }
    Ok(Some(socket))
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

const LIMITED: [&str; 6] =
    ["--unfinished-max", "64MiB", "--message-max", "16MiB", "--connections-max", "128"];

#[test]
fn hostile_clients_of_one_address_keep_nobody_else_out() {
    let seed = number("TANGLEWOOD_HOSTILE_SEED").unwrap_or_else(Chance::system_seed);
    eprintln!("TANGLEWOOD_HOSTILE_SEED={seed}");
    let connections = number("TANGLEWOOD_HOSTILE_CONNECTIONS").unwrap_or(300);
    let place = Place::new();
    let server = Server::start(&place, ":memory:", &LIMITED);
    std::thread::scope(|scope| {
        let attackers: Vec<_> = (0..6)
            .map(|part| {
                let (server, mut chance) = (&server, Chance::seeded(seed.wrapping_add(part)));
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    for _ in 0..connections / 6 {
                        let (state, act) = (*chance.choose(&STATES).unwrap(), *chance.choose(&ACTS).unwrap());
                        // Being refused is what is wanted.
                        kept.extend(hostile(server, state, act, &mut chance).ok().flatten());
                    }
                    kept
                })
            })
            .collect();
        while !attackers.iter().all(|attacker| attacker.is_finished()) {
            server.serves_others(None, &format!("seed {seed}, amid the attack"));
            server.stays_within(64 << 20, 128, &format!("seed {seed}"));
            std::thread::sleep(Duration::from_millis(50));
        }
        let kept: Vec<TcpStream> =
            attackers.into_iter().flat_map(|attacker| attacker.join().unwrap()).collect();
        server.serves_others(None, &format!("seed {seed}, {} connections still open", kept.len()));
        server.stays_within(64 << 20, 128, &format!("seed {seed}"));
    });
    // When they are gone, the address that they came from is served as before.
    let ended = Instant::now();
    let again = loop {
        let client = Bolt::shaken(server.bolt, ATTACKER);
        if let Ok(mut client) = client
            && client.log_on(None).unwrap_or(false)
        {
            break client;
        }
        assert!(ended.elapsed() < Duration::from_secs(10), "seed {seed}: the places are not free again");
        std::thread::sleep(Duration::from_millis(50));
    };
    let mut again = again;
    assert_eq!(again.one(), 1);
    again.say(&run("MATCH (n:Lost) RETURN 1")).unwrap();
    again.say(PULL).unwrap();
    assert_eq!(
        (again.answer().unwrap()[1], again.answer().unwrap()[1]),
        (0x70, 0x70),
        "nothing was committed"
    );
}

/// Twenty messages of nearly the longest, for a budget that four of them fill.
#[test]
fn unfinished_messages_take_no_more_than_their_budget_and_who_is_refused_is_told() {
    let place = Place::new();
    let server = Server::start(&place, ":memory:", &LIMITED);
    let mut reasons: Vec<Option<String>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = Bolt::known(server.bolt, ATTACKER, None);
                    client.socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
                    let sent = endless(&mut client.socket, 15 << 20);
                    (client, sent)
                })
            })
            .collect();
        let mut clients: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        server.stays_within(64 << 20, 20, "20 messages of 15 MiB");
        server.serves_others(None, "20 messages of 15 MiB");
        // All are waiting: who holds a message hears nothing, who was refused hears why.
        let _ = &clients.iter_mut().for_each(|(_, sent)| assert!(sent.is_ok(), "{sent:?}"));
        clients
            .into_iter()
            .map(|(mut client, _)| scope.spawn(move || client.reason()).join().unwrap())
            .collect()
    });
    let held = reasons.iter().filter(|reason| reason.is_none()).count();
    reasons.retain(|reason| reason.as_deref().is_some_and(|reason| reason.contains("unfinished messages")));
    // All grow at once, so at most four fit, and it may be that none does.
    assert!(held <= 4 && reasons.len() == 20 - held, "{held} held, {} refused", reasons.len());
}

/// The longest message and one byte more, at every interface.
#[test]
fn a_message_over_its_limit_is_answered_with_the_reason() {
    let place = Place::new();
    let server = Server::start(&place, ":memory:", &["--message-max", "1MiB"]);
    let text = |bytes: usize| {
        let head = [&[0xB3, 0x10, 0x88][..], b"RETURN 1", &[0xA1, 0x81, b'x', 0xD2]].concat();
        let room = bytes - head.len() - 4 - 1;
        [&head[..], &(room as u32).to_be_bytes(), &vec![b'x'; room], &[0xA0]].concat()
    };
    let mut client = Bolt::known(server.bolt, ATTACKER, None);
    client.say(&text(1 << 20)).unwrap();
    assert_eq!(client.answer().unwrap()[1], 0x70, "the longest is taken");
    client.say(PULL).unwrap();
    let _ = (client.answer(), client.answer());
    client.say(&text((1 << 20) + 1)).unwrap();
    let reason = client.reason().unwrap();
    assert!(reason.contains("longer than 1048576 bytes"), "{reason}");
    // A stranger's.
    let mut stranger = Bolt::shaken(server.bolt, ATTACKER).unwrap();
    stranger.say(&vec![0xB1; 65 << 10]).unwrap();
    let reason = stranger.reason().unwrap();
    assert!(reason.contains("longer than 65536 bytes"), "{reason}");
    // Values that are much larger than the bytes that they come as.
    let server = Server::start(&place, ":memory:", &["--unfinished-max", "8MiB"]);
    let many = 2_000_000_usize;
    let mut list = [&[0xB3, 0x10, 0x88][..], b"RETURN 1", &[0xA1, 0x81, b'x', 0xD6]].concat();
    list.extend((many as u32).to_be_bytes());
    list.extend(vec![1; many]);
    list.push(0xA0);
    let mut client = Bolt::known(server.bolt, ATTACKER, None);
    client.say(&list).unwrap();
    let refusal = String::from_utf8_lossy(&client.answer().unwrap()).into_owned();
    assert!(refusal.contains("the values of the message take more bytes"), "{refusal}");
    client.say(&[0xB0, 0x0F]).unwrap();
    assert_eq!(client.answer().unwrap()[1], 0x70, "the connection may be used on");
    assert_eq!(client.one(), 1);
}

#[test]
fn gremlin_tells_why_a_message_is_refused() {
    let place = Place::new();
    let server = Server::start(&place, ":memory:", &["--message-max", "1MiB", "--unfinished-max", "3MiB"]);
    let mut client = socket(server.gremlin, ATTACKER).unwrap();
    let head = |length: usize| {
        format!("POST /gremlin HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
    };
    client.write_all(head((1 << 20) + 1).as_bytes()).unwrap();
    client.write_all(&vec![b'x'; (1 << 20) + 1]).unwrap();
    let answer = rest(&mut client);
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("longer than 1048576 bytes"), "{answer}");
    let mut client = web_socket(server.gremlin).unwrap();
    client.write_all(&promise((1 << 20) + 1)).unwrap();
    client.write_all(&vec![0; (1 << 20) + 1]).unwrap();
    let answer = rest(&mut client);
    assert!(answer.contains("Message too long"), "{answer:?}");
    // The budget of all: an unfinished body is charged twice what came.
    let mut held = socket(server.gremlin, ATTACKER).unwrap();
    held.write_all(head(1 << 20).as_bytes()).unwrap();
    held.write_all(&vec![b'x'; 900 << 10]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut client = socket(server.gremlin, ATTACKER).unwrap();
    client.write_all(head(1 << 20).as_bytes()).unwrap();
    client.write_all(&vec![b'x'; 900 << 10]).unwrap();
    let answer = rest(&mut client);
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("unfinished messages"), "{answer}");
    server.serves_others(None, "a budget that is used up");
}

fn rest(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    if let Err(error) = socket.read_to_end(&mut bytes) {
        assert!(error.kind() == ErrorKind::ConnectionReset && !bytes.is_empty(), "{error}");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// All the places of one address taken, by half-open handshakes and by idle log-ons.
#[test]
fn one_address_takes_not_all_places() {
    let place = Place::new();
    let server = Server::start(&place, ":memory:", &["--connections-max", "64", "--strangers-max", "16"]);
    let half_open: Vec<_> = (0..300).filter_map(|_| socket(server.bolt, ATTACKER).ok()).collect();
    server.serves_others(None, "half-open handshakes at one interface");
    let half_open_too: Vec<_> = (0..300).filter_map(|_| socket(server.gremlin, ATTACKER).ok()).collect();
    server.serves_others(None, "half-open handshakes at both interfaces");
    drop((half_open, half_open_too));
    std::thread::sleep(Duration::from_millis(300));
    let mut idle = Vec::new();
    for _ in 0..100 {
        let Ok(mut client) = Bolt::shaken(server.bolt, ATTACKER) else { continue };
        if client.log_on(None).unwrap_or(false) {
            idle.push(client);
        }
    }
    assert_eq!(idle.len(), 48, "three quarters of 64");
    server.serves_others(None, "idle log-ons");
}

/// Wrong passwords, and a user with too many connections.
#[test]
fn a_user_has_so_many_connections_and_guessing_holds_up_nobody_else() {
    let place = Place::new();
    let database = Database::open(place.path().join("people.db"), Options::default()).unwrap();
    for name in ["ada", "bob"] {
        let text = format!("CREATE USER {name} SET PASSWORD 'correct horse' CHANGE NOT REQUIRED");
        database.session().query(&text, params! {}).unwrap();
    }
    database.close().unwrap();
    let flags = ["--connections-per-user-max", "3"];
    let password = Some(("ada", "correct horse"));
    let server = ServerWithUsers::start(&place, &flags, password);
    let mut clients: Vec<Bolt> = (0..3).map(|_| Bolt::known(server.0.bolt, ATTACKER, password)).collect();
    let mut one_more = Bolt::shaken(server.0.bolt, ATTACKER).unwrap();
    one_more.say(HELLO).unwrap();
    assert!(!one_more.log_on(password).unwrap_or(false));
    clients.pop();
    std::thread::sleep(Duration::from_millis(200));
    let mut again = Bolt::known(server.0.bolt, ATTACKER, password);
    assert_eq!(again.one(), 1);
    std::thread::scope(|scope| {
        let guess = |number: usize| {
            let Ok(mut client) = Bolt::shaken(server.0.bolt, ATTACKER) else { return };
            let _ = client.log_on(Some((&format!("nobody{number}"), "wrong password")));
        };
        for part in 0..40 {
            scope.spawn(move || (0..3).for_each(|round| guess(part * 3 + round)));
        }
        std::thread::sleep(Duration::from_millis(100));
        server.0.serves_others(Some(("bob", "correct horse")), "40 clients of one address guess");
    });
}

struct ServerWithUsers(Server);

impl ServerWithUsers {
    fn start(place: &Place, flags: &[&str], user: Option<(&str, &str)>) -> ServerWithUsers {
        let interfaces = ["serve", "people.db", "--bolt", "127.0.0.1:0"];
        let mut child =
            command(place.path(), &[&interfaces, flags].concat()).stdout(Stdio::piped()).spawn().unwrap();
        let line = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        let bolt: SocketAddr = line.split("://").nth(1).unwrap().parse().unwrap();
        assert_eq!(Bolt::known(bolt, OTHER, user).one(), 1);
        std::thread::sleep(Duration::from_millis(100));
        ServerWithUsers(Server { child, bolt, gremlin: bolt, before: 0 })
    }
}
