//! More clients than there are places for, in a process of their own, since its memory is watched.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod common;

use common::socket::{Client, within};
use database::{Database, MEMORY, Options};
use std::net::TcpStream;
use tanglewood_server::{Limits, ServeOptions, Server};

#[test]
fn a_crowd_of_strangers_takes_no_more_than_its_places() {
    let limits = Limits { strangers_max: 100, ..Limits::default() };
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let options = ServeOptions { limits, ..ServeOptions::at("127.0.0.1:0") };
    let server = Server::start(database, &options).unwrap();
    let mut known = Client::connect(server.address());
    let before = world::memory::resident_bytes().unwrap_or(0);
    let crowd: Vec<TcpStream> =
        (0..2_000).filter_map(|_| TcpStream::connect(server.address()).ok()).collect();
    within(5_000, "the rest closed", || server.connections() <= 101);
    assert_eq!(known.int("RETURN 1"), 1, "who is known is served on");
    let grown = world::memory::resident_bytes().unwrap_or(0).saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes for strangers");
    drop(crowd);
    within(5_000, "all gone", || server.connections() == 1);
    assert_eq!(Client::connect(server.address()).int("RETURN 2"), 2);
}
