//! The interface: look-ups a second over Bolt, and rows a second to a client. Server and clients share the machine, over loopback.
//!
//! The client is small and written for this (`client`), so that the figures are the server's; it reads every value of every row. Look-ups: sixteen
//! connections, each with one request outstanding, served by two client threads. Rows: a million vertices with three properties, asked
//! for at once, and a thousand at a time as drivers do.

mod client;

use crate::report::Report;
use crate::timing::{Samples, shown_ms};
use client::Client;
use database::{Database, MEMORY, Options, Session, Value, params};
use server::{ServeOptions, Server};
use std::net::SocketAddr;
use std::path::Path;
use world::chance::Chance;
use world::clock::monotonic_ns;

/// Vertices; each answers a look-up and is a row.
const PEOPLE: i64 = 1_000_000;
/// Vertices made by one statement.
const PEOPLE_A_STATEMENT: i64 = 50_000;
const CONNECTIONS: usize = 16;
const CLIENT_THREADS: usize = 2;
const WARM_UP_NS: u64 = 1_000_000_000;
const MEASURED_NS: u64 = 5_000_000_000;
const SEED: u64 = 7687;
const LOOKUPS_TARGET: f64 = 40_000.0;
const ROWS_TARGET: f64 = 1e6;
/// Times that the rows are read; the best counts, since only other load makes one slower.
const ROUNDS: usize = 3;
/// Rows that drivers ask for at a time.
const FETCH_SIZE: i64 = 1_000;
const LOOKUP: &str = "MATCH (p:Person {id: $id}) RETURN p.id, p.name";
const ROWS: &str = "MATCH (p:Person) RETURN p.id, p.name, p.score";

/// Runs the bench; needs no data.
pub fn run(_data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let told = |error: database::Error| error.to_string();
    let database = Database::open(MEMORY, Options::default()).map_err(told)?;
    fill(&mut database.session()).map_err(told)?;
    let server = Server::start(database.clone(), &ServeOptions::at("127.0.0.1:0"))
        .map_err(|error| error.to_string())?;
    report.section(&format!("Bolt, {PEOPLE} vertices, seed {SEED}"));
    inside(&mut database.session(), report).map_err(told)?;
    lookups(server.address(), report)?;
    rows(server.address(), report)
}

fn name_of(id: i64) -> String {
    format!("name {id}")
}

fn fill(session: &mut Session) -> Result<(), database::Error> {
    for from in (0..PEOPLE).step_by(PEOPLE_A_STATEMENT as usize) {
        let text =
            "UNWIND range($from, $to) AS i CREATE (:Person {id: i, name: 'name ' + i, score: i / 2.0})";
        let params = params! { "from" => from, "to" => from + PEOPLE_A_STATEMENT - 1 };
        session.query(text, params)?.finish()?;
    }
    session.query("CREATE INDEX FOR (p:Person) ON (p.id)", params! {})?.finish()?;
    Ok(())
}

/// The floor below the protocol: the same look-ups by the library, on one thread.
fn inside(session: &mut Session, report: &Report) -> Result<(), database::Error> {
    let (mut chance, mut count, began_ns) = (Chance::seeded(SEED), 0_u64, monotonic_ns());
    while monotonic_ns() - began_ns < WARM_UP_NS {
        let id = chance.below(PEOPLE as u64) as i64;
        let rows = session.query(LOOKUP, params! { "id" => id })?.rows()?;
        assert_eq!(rows[0][1].as_str(), Some(name_of(id).as_str()), "a wrong answer");
        count += 1;
    }
    let rate = count as f64 * 1e9 / (monotonic_ns() - began_ns) as f64;
    report.note(format!("without Bolt, by the library on one thread: {rate:.0} look-ups/s"));
    Ok(())
}

fn lookups(address: SocketAddr, report: &mut Report) -> Result<(), String> {
    for (connections, threads) in [(1, 1), (CONNECTIONS, CLIENT_THREADS)] {
        let began_ns = monotonic_ns();
        let outcomes = world::threads::in_parallel("client", threads, |thread| {
            ask_in_turn(address, connections / threads, SEED + thread as u64, began_ns)
        });
        let mut samples = Samples::default();
        for outcome in outcomes {
            samples.extend(&outcome?);
        }
        let rate = samples.len() as f64 * 1e9 / MEASURED_NS as f64;
        let (p50, p99) = (shown_ms(samples.quantile_ms(0.5)), shown_ms(samples.quantile_ms(0.99)));
        let shown = format!("{rate:.0}/s, p50 {p50}, p99 {p99}");
        if connections == CONNECTIONS {
            let target = format!("at least {LOOKUPS_TARGET:.0}/s on two cores");
            report.figure("look-ups, 16 connections", &shown, &target, rate >= LOOKUPS_TARGET);
        } else {
            report.note(format!("look-ups, 1 connection: {shown}"));
        }
    }
    Ok(())
}

/// Keeps one request of each connection on its way; the times of those answered after the warm-up.
fn ask_in_turn(address: SocketAddr, connections: usize, seed: u64, began_ns: u64) -> Result<Samples, String> {
    let mut chance = Chance::seeded(seed);
    let mut clients = (0..connections).map(|_| Client::connect(address)).collect::<Result<Vec<_>, _>>()?;
    let mut asked = vec![(0, 0_u64); connections];
    let mut samples = Samples::default();
    let ask = |client: &mut Client, chance: &mut Chance| -> Result<(i64, u64), String> {
        let id = chance.below(PEOPLE as u64) as i64;
        client.run(LOOKUP, Value::map([("id", Value::Int(id))]), FETCH_SIZE)?;
        Ok((id, monotonic_ns()))
    };
    for (client, asked) in clients.iter_mut().zip(&mut asked) {
        *asked = ask(client, &mut chance)?;
    }
    loop {
        for (client, asked) in clients.iter_mut().zip(&mut asked) {
            let mut row = None;
            client.answer(|values| row = Some(values))?;
            let (now_ns, wanted) = (monotonic_ns(), [Value::Int(asked.0), name_of(asked.0).into()]);
            if !row.is_some_and(|row| {
                row.iter().zip(&wanted).all(|(got, want)| model::compare::equivalent(got, want))
            }) {
                return Err(format!("a wrong answer for {}", asked.0));
            }
            match now_ns - began_ns {
                time if time >= WARM_UP_NS + MEASURED_NS => return Ok(samples),
                time if time >= WARM_UP_NS => samples.push((now_ns - asked.1) as f64 / 1e6),
                _ => {}
            }
            *asked = ask(client, &mut chance)?;
        }
    }
}

fn rows(address: SocketAddr, report: &mut Report) -> Result<(), String> {
    let mut client = Client::connect(address)?;
    for (name, fetch, target) in
        [("rows, all at once", -1, Some(ROWS_TARGET)), ("rows, a thousand at a time", FETCH_SIZE, None)]
    {
        let mut best: f64 = 0.0;
        for _ in 0..ROUNDS {
            best = best.max(stream(&mut client, fetch)?);
        }
        let shown = format!("{:.2} M rows/s", best / 1e6);
        match target {
            Some(target) => {
                report.figure(name, &shown, &format!("at least {:.1} M rows/s", target / 1e6), best >= target)
            }
            None => report.note(format!("{name}: {shown}")),
        }
    }
    let held = database_bytes();
    report.note(format!("the process holds {} MB", held >> 20));
    Ok(())
}

/// Rows a second, each row's three values read and checked.
fn stream(client: &mut Client, fetch: i64) -> Result<f64, String> {
    let (mut count, mut ids, mut lengths, mut scores, mut odd) = (0_i64, 0_i64, 0_usize, 0.0, 0);
    let began_ns = monotonic_ns();
    client.run(ROWS, Value::map::<&str>([]), fetch)?;
    let mut take = |values: Vec<Value>| match &values[..] {
        [Value::Int(id), Value::String(name), Value::Float(score)] => {
            count += 1;
            ids += id;
            lengths += name.len();
            scores += score;
        }
        _ => odd += 1,
    };
    while client.answer(&mut take)? {
        client.pull(fetch)?;
    }
    let took_ns = monotonic_ns() - began_ns;
    let ids_wanted = PEOPLE * (PEOPLE - 1) / 2;
    let lengths_wanted: usize = (0..PEOPLE).map(|id| name_of(id).len()).sum();
    if (count, ids, lengths, odd) != (PEOPLE, ids_wanted, lengths_wanted, 0)
        || scores != ids_wanted as f64 / 2.0
    {
        return Err(format!("wrong rows: {count}, sums {ids}, {lengths}, {scores}; {odd} of another form"));
    }
    Ok(count as f64 * 1e9 / took_ns as f64)
}

fn database_bytes() -> u64 {
    world::memory::resident_bytes().unwrap_or(0)
}
