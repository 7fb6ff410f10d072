//! SUBSCRIBE over Bolt: marks come with every commit however few rows are pulled, and a client that goes anywhere goes on from its last mark.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common;

use common::socket::{Client, within};
use common::*;
use database::{Database, Options, Params, Value};
use std::collections::BTreeMap;
use tanglewood_server::{ServeOptions, Server};
use world::files::TemporaryFolder;

fn serve(folder: &TemporaryFolder) -> (Database, Server) {
    let options = Options { executors: Some(2), ..Options::default() };
    // The last connection of a server that has ended may hold its database a moment longer.
    let until_ns = world::clock::after_ns(std::time::Duration::from_secs(10));
    let database = loop {
        match Database::open(folder.path(), options.clone()) {
            Err(error) if error.code.ends_with("AlreadyOpen") && world::clock::monotonic_ns() < until_ns => {
                world::threads::sleep(std::time::Duration::from_millis(5));
            }
            opened => break opened.unwrap(),
        }
    };
    let server = Server::start(database.clone(), &ServeOptions::at("127.0.0.1:0")).unwrap();
    (database, server)
}

fn write(database: &Database, text: &str) {
    database.session().query(text, Params::new()).unwrap().finish().unwrap();
}

/// A copy of the answer: rows are taken up with their mark.
#[derive(Default)]
struct Copy {
    rows: BTreeMap<i64, i64>,
    pending: Vec<(i64, i64)>,
    mark: Option<String>,
    commit_version: i64,
}

impl Copy {
    /// Pulls so many records a time until `enough` of them came, or a mark of this commit.
    fn read(&mut self, client: &mut Client, pulled: i64, mut enough: usize, commit_version: u64) {
        self.pending.clear();
        while enough > 0 && self.commit_version < commit_version as i64 {
            client.send(&[pull(pulled)]);
            loop {
                match client.next() {
                    Answer::Record(values) => {
                        enough = enough.saturating_sub(1);
                        self.take(&values);
                    }
                    answer => {
                        assert_eq!(answer.metadata().get("has_more"), Some(&Item::Bool(true)), "{answer:?}");
                        break;
                    }
                }
            }
        }
    }
    fn take(&mut self, values: &[Item]) {
        let [commit_version, time, difference, mark, x] = values else { panic!("{values:?}") };
        assert!(*time != Item::Null);
        match mark {
            Item::Null => self.pending.push((x.int(), difference.int())),
            mark => {
                assert_eq!((difference.int(), x), (0, &Item::Null));
                for (x, difference) in self.pending.drain(..) {
                    *self.rows.entry(x).or_default() += difference;
                }
                self.rows.retain(|_, count| *count != 0);
                (self.mark, self.commit_version) = (Some(mark.text().to_string()), commit_version.int());
            }
        }
    }
    fn subscribed(&self, server: &Server) -> Client {
        let mut client = Client::connect(server.address());
        let params = Value::map([("mark", self.mark.as_deref().map_or(Value::Null, Value::from))]);
        let text = if self.mark.is_some() { "SUBSCRIBE q FROM $mark" } else { "SUBSCRIBE q SNAPSHOT" };
        client.send(&[run_with(text, params, none())]);
        let answer = client.next();
        let fields = answer.metadata().get("fields").cloned();
        let names = ["commit", "time", "difference", "mark", "x"].map(|name| Item::Text(name.into()));
        assert_eq!(fields, Some(Item::List(names.to_vec())));
        client
    }
}

#[test]
fn a_client_that_goes_anywhere_goes_on_from_its_last_mark() {
    let folder = TemporaryFolder::new("bolt-subscriptions").unwrap();
    let (mut database, mut server) = serve(&folder);
    write(&database, "CREATE (:P {x: 0})");
    write(&database, "CREATE STANDING QUERY q AS MATCH (p:P) RETURN p.x AS x RETAIN 1h");
    let mut copy = Copy::default();
    for round in 0..16_i64 {
        let mut client = copy.subscribed(&server);
        let from = round * 10;
        write(&database, "MATCH (p:P) WHERE p.x % 3 = 0 SET p.x = p.x + 1");
        write(&database, &format!("UNWIND range({from}, {}) AS x CREATE (:P {{x: x}})", from + 9));
        write(&database, &format!("MATCH (p:P) WHERE p.x = {from} DELETE p"));
        // It goes after so many records, in the middle of a commit or not.
        let newest = database.snapshot().commit_version();
        copy.read(&mut client, [1, 3, 7, 1_000][round as usize % 4], (round * 7 % 31) as usize, newest);
        match round % 3 {
            0 => drop(client),
            1 => {
                client.send(&[request(RESET, &[])]);
                while !client.next().is_success() {}
            }
            _ => {
                drop(client);
                within(10_000, "the end of the connection", || server.connections() == 0);
            }
        }
        if round % 8 == 7 {
            drop((server, database));
            (database, server) = serve(&folder);
        }
    }
    let mut client = copy.subscribed(&server);
    copy.read(&mut client, 100, usize::MAX, database.snapshot().commit_version());
    let mut expected = BTreeMap::new();
    let rows = database.session().query("MATCH (p:P) RETURN p.x", Params::new()).unwrap().rows().unwrap();
    rows.iter().for_each(|row| *expected.entry(row[0].as_int().unwrap()).or_insert(0) += 1);
    assert_eq!(copy.rows, expected);
}

#[test]
fn what_cannot_be_resumed_is_an_error_with_a_code() {
    let folder = TemporaryFolder::new("bolt-marks").unwrap();
    let (database, server) = serve(&folder);
    write(&database, "CREATE STANDING QUERY q AS MATCH (p:P) RETURN p.x AS x");
    let mut client = Client::connect(server.address());
    for (mark, code) in [
        (Value::from("1-00000000-0"), "Tanglewood.ClientError.Standing.ForeignMark"),
        (Value::from("nonsense"), "Neo.ClientError.Statement.ArgumentError"),
        (Value::Int(1_000), "Tanglewood.ClientError.Standing.NotKept"),
    ] {
        client.send(&[run_with("SUBSCRIBE q FROM $mark", Value::map([("mark", mark)]), none())]);
        assert_eq!(client.next().code(), code);
        // Sent at once, it would end the statement before its answer.
        client.send(&[request(RESET, &[])]);
        assert!(client.next().is_success());
    }
}
