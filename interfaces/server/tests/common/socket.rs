//! A client over a real socket.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a client needs a socket")]

use super::{Answer, HELLO, LOGON, chunked, none, pull, request, run};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tanglewood_server::bolt::chunks::Assembler;
use tanglewood_server::bolt::handshake::MAGIC;
use world::clock::monotonic_ns;
use world::threads::sleep;

pub struct Client {
    pub socket: TcpStream,
    pub assembler: Assembler,
}

impl Client {
    /// A socket that has agreed on 5.4 and said nothing yet.
    pub fn shaken(address: SocketAddr) -> Client {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        socket.write_all(&MAGIC).unwrap();
        socket.write_all(&[0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        let mut version = [0; 4];
        socket.read_exact(&mut version).unwrap();
        assert_eq!(version, [0, 0, 4, 5]);
        Client { socket, assembler: Assembler::default() }
    }
    pub fn connect(address: SocketAddr) -> Client {
        let mut client = Client::shaken(address);
        client.send(&[request(HELLO, &[none()]), request(LOGON, &[none()])]);
        assert!(client.next().is_success() && client.next().is_success());
        client
    }
    pub fn send(&mut self, requests: &[Vec<u8>]) {
        self.socket.write_all(&chunked(requests)).unwrap();
    }
    pub fn next(&mut self) -> Answer {
        self.try_next().expect("the server closed the connection")
    }
    /// The next answer, or none where the server closed.
    pub fn try_next(&mut self) -> Option<Answer> {
        let mut bytes = [0; 16 << 10];
        loop {
            if let Some(message) = self.assembler.next_message().unwrap() {
                return Some(Answer::parse(&message));
            }
            match self.socket.read(&mut bytes) {
                Ok(count) if count > 0 => self.assembler.feed(&bytes[..count]),
                _ => return None,
            }
        }
    }
    pub fn int(&mut self, text: &str) -> i64 {
        self.send(&[run(text), pull(-1)]);
        assert!(self.next().is_success());
        let value = self.next().values()[0].int();
        assert!(self.next().is_success());
        value
    }
}

/// Waits until it holds; how long that took.
pub fn within(limit_ms: u64, what: &str, holds: impl Fn() -> bool) -> u64 {
    let began = monotonic_ns();
    while !holds() {
        assert!(monotonic_ns() - began < limit_ms * 1_000_000, "{what} did not happen within {limit_ms} ms");
        sleep(Duration::from_micros(200));
    }
    (monotonic_ns() - began) / 1_000_000
}
