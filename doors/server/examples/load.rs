//! Point lookups per second over Bolt: many connections, each asking for one vertex by an indexed property and checking the answer.
//!
//! `cargo run --release -p tanglewood-server --example load -- [CONNECTIONS] [SECONDS]`: server and clients share the machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Answer, HELLO, LOGON, chunked, none, pull, request, run_with};
use database::{Database, MEMORY, Options, Params};
use model::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use tanglewood_server::bolt::chunks::Assembler;
use tanglewood_server::bolt::handshake::MAGIC;
use tanglewood_server::{ServeOptions, Server};
use world::chance::Chance;
use world::clock::monotonic_ns;

const PEOPLE: u64 = 100_000;
const LOOKUP: &str = "MATCH (p:Person {id: $id}) RETURN p.id, p.name";

struct Client {
    socket: TcpStream,
    assembler: Assembler,
    bytes: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> Client {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.write_all(&MAGIC).unwrap();
        socket.write_all(&[0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        socket.read_exact(&mut [0; 4]).unwrap();
        let mut client = Client { socket, assembler: Assembler::default(), bytes: vec![0; 16 << 10] };
        client.ask(&[request(HELLO, &[none()]), request(LOGON, &[none()])], 2);
        client
    }
    fn ask(&mut self, requests: &[Vec<u8>], count: usize) -> Vec<Answer> {
        self.socket.write_all(&chunked(requests)).unwrap();
        let mut answers = Vec::with_capacity(count);
        while answers.len() < count {
            if let Some(message) = self.assembler.next_message().unwrap() {
                answers.push(Answer::parse(&message));
                continue;
            }
            let count = self.socket.read(&mut self.bytes).unwrap();
            self.assembler.feed(&self.bytes[..count]);
        }
        answers
    }
}

fn main() {
    let number = |at, default| std::env::args().nth(at).map_or(default, |text| text.parse().unwrap());
    let (connections, seconds) = (number(1, 16_u64) as usize, number(2, 5));
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let mut session = database.session();
    for text in [
        format!("UNWIND range(1, {PEOPLE}) AS i CREATE (:Person {{id: i, name: 'name ' + i}})"),
        "CREATE INDEX FOR (p:Person) ON (p.id)".into(),
    ] {
        session.query(&text, Params::new()).unwrap().finish().unwrap();
    }
    // The floor below the protocol: the same lookups by the library, on one thread.
    let mut chance = Chance::seeded(0);
    let (began, mut inside) = (monotonic_ns(), 0);
    while monotonic_ns() - began < 1_000_000_000 {
        let id = 1 + chance.below(PEOPLE) as i64;
        let rows = session.query(LOOKUP, database::params! { "id" => id }).unwrap().rows().unwrap();
        assert_eq!(rows[0][0].as_int(), Some(id));
        inside += 1;
    }
    println!("library, 1 thread: {inside} lookups a second");

    let server = Server::start(database.clone(), &ServeOptions::at("127.0.0.1:0")).unwrap();
    let address = server.address();
    for connections in [1, connections] {
        let began = monotonic_ns();
        let mut times: Vec<u64> = world::threads::in_parallel("client", connections, |thread| {
            let (mut client, mut chance) = (Client::connect(address), Chance::seeded(thread as u64));
            let mut times = Vec::new();
            while monotonic_ns() - began < seconds * 1_000_000_000 {
                let id = 1 + chance.below(PEOPLE) as i64;
                let asked = monotonic_ns();
                let params = Value::map([("id", Value::Int(id))]);
                let answers = client.ask(&[run_with(LOOKUP, params, none()), pull(1_000)], 3);
                times.push(monotonic_ns() - asked);
                assert_eq!(answers[1].values()[0].int(), id);
            }
            times
        })
        .concat();
        let took = (monotonic_ns() - began) as f64 / 1e9;
        times.sort_unstable();
        let at = |share: f64| times[(times.len() as f64 * share) as usize] as f64 / 1e3;
        let rate = times.len() as f64 / took;
        println!(
            "{connections} connections: {rate:.0} lookups a second, p50 {:.0} us, p99 {:.0} us",
            at(0.5),
            at(0.99)
        );
    }
}
