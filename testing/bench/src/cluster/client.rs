//! Clients of a gate, over Bolt; each answer is compared with the known graph.

use super::told;
use crate::power_law::Graph;
use crate::store::tao::mix::{Mix, Operation};
use crate::timing::Samples;
use database::entity::Hydrated;
use database::{Error, Params, Value, params};
use server::client::{Address, Client, ClientOptions};
use std::ops::Range;
use world::chance::Chance;
use world::clock::monotonic_ns;

/// An operation that conflicts is tried again so often.
const TRIES_MAX: usize = 100;
/// Where the draws of clients start from.
const SEED: u64 = 514;

/// The mix of a client.
#[derive(Clone, Copy)]
pub enum Work {
    /// The operations of TAO.
    Mix(Mix),
    /// New edges, one a commit.
    Commits,
}

/// One client's part.
pub struct Asked<'n> {
    pub url: &'n str,
    pub network: &'n Graph,
    pub work: Work,
    /// Edges that clients make carry its number, and their client's.
    pub run: u64,
    pub number: u64,
}

/// Results of a client.
#[derive(Default)]
pub struct Did {
    pub reads: Samples,
    pub writes: Samples,
    /// Operations, those of the warm-up too.
    pub operations: u64,
    /// Edges that it made and did not remove.
    pub made: i64,
}

pub fn connect(url: &str) -> Result<Client, String> {
    let address = Address::parse(url).map_err(|error| told(&error))?;
    Client::connect(&address, ClientOptions::default()).map_err(|error| told(&error))
}

/// All values of the first column, or the error.
fn column(client: &mut Client, text: &str, params: &Params) -> Result<Vec<i64>, Error> {
    let mut rows = client.run(text, params)?;
    let mut values = Vec::new();
    while let Some(some) = rows.next_rows()? {
        values.extend(some.iter().filter_map(|row| match row.first() {
            Some(Hydrated::Plain(Value::Int(value))) => Some(*value),
            _ => None,
        }));
    }
    Ok(values)
}

/// Asks until it does not conflict.
pub fn asked(client: &mut Client, text: &str, params: &Params) -> Result<Vec<i64>, String> {
    let mut tries = 0;
    loop {
        match column(client, text, params) {
            Ok(values) => return Ok(values),
            Err(error) if error.retryable && tries < TRIES_MAX => tries += 1,
            Err(error) => return Err(format!("{text}: {}", told(&error))),
        }
    }
}

/// Works until the end of the time that counts.
pub fn run(asked: &Asked<'_>, counted: Range<u64>) -> Result<Did, String> {
    let mut client = connect(asked.url)?;
    let mut chance = Chance::seeded(SEED + 1_000 * asked.run + asked.number);
    let (mut did, mut own) = (Did::default(), Vec::new());
    let mut next = ((asked.run * 1_000 + asked.number) << 32) as i64;
    loop {
        let began_ns = monotonic_ns();
        if began_ns >= counted.end {
            return Ok(did);
        }
        let operation = match asked.work {
            Work::Mix(mix) => mix.draw(&mut chance),
            Work::Commits => Operation::CreateEdge,
        };
        // One that has nothing to remove makes something.
        let removes = operation == Operation::DeleteEdge && !own.is_empty();
        if operation.writes() {
            if removes {
                let (source, key) = own.swap_remove(chance.index(own.len()));
                remove(&mut client, source, key)?;
                did.made -= 1;
            } else {
                next += 1;
                own.push((make(&mut client, &mut chance, asked, next)?, next));
                did.made += 1;
            }
        } else {
            read(&mut client, &mut chance, asked.network, operation)?;
        }
        did.operations += 1;
        let ended_ns = monotonic_ns();
        if began_ns >= counted.start && ended_ns <= counted.end {
            let samples = if operation.writes() { &mut did.writes } else { &mut did.reads };
            samples.push((ended_ns - began_ns) as f64 / 1e6);
        }
    }
}

fn vertex(chance: &mut Chance, network: &Graph) -> i64 {
    chance.below(network.vertex_count() as u64) as i64
}

fn make(client: &mut Client, chance: &mut Chance, of: &Asked<'_>, key: i64) -> Result<i64, String> {
    let (source, target) = (vertex(chance, of.network), vertex(chance, of.network));
    let text = "MATCH (a:N {id: $a}), (b:N {id: $b}) CREATE (a)-[:W {run: $run, k: $k}]->(b) RETURN 1";
    let params = params! {"a" => source, "b" => target, "run" => of.run as i64, "k" => key};
    match asked(client, text, &params)?[..] {
        [1] => Ok(source),
        ref other => Err(format!("an edge from {source} to {target} was made {} times", other.len())),
    }
}

fn remove(client: &mut Client, source: i64, key: i64) -> Result<(), String> {
    let text = "MATCH (a:N {id: $a})-[w:W {k: $k}]->() DELETE w RETURN 1";
    match asked(client, text, &params! {"a" => source, "k" => key})?[..] {
        [1] => Ok(()),
        ref other => Err(format!("edge {key} of {source} was there {} times", other.len())),
    }
}

fn read(
    client: &mut Client,
    chance: &mut Chance,
    network: &Graph,
    operation: Operation,
) -> Result<(), String> {
    let id = vertex(chance, network);
    let mut want: Vec<i64> = network.neighbours(id as u32).iter().map(|target| i64::from(*target)).collect();
    let text = match operation {
        Operation::GetEdges => "MATCH (:N {id: $id})-[:E]->(b) RETURN b.id",
        Operation::CountEdges => {
            want = vec![want.len() as i64];
            "MATCH (:N {id: $id})-[e:E]->() RETURN count(e)"
        }
        _ => {
            want = vec![id];
            "MATCH (n:N {id: $id}) RETURN n.id"
        }
    };
    let mut found = asked(client, text, &params! {"id" => id})?;
    found.sort_unstable();
    want.sort_unstable();
    if found == want {
        Ok(())
    } else {
        Err(format!("{} of {id}: {found:?} instead of {want:?}", operation.name()))
    }
}

/// Are the edges of a run those that were acknowledged?
pub fn check(url: &str, run: u64, made: i64) -> Result<(), String> {
    let mut client = connect(url)?;
    let found = asked(
        &mut client,
        "MATCH (:N)-[w:W {run: $run}]->() RETURN count(w)",
        &params! {"run" => run as i64},
    )?;
    if found == [made] {
        Ok(())
    } else {
        Err(format!("{found:?} edges of run {run} are there, {made} were acknowledged"))
    }
}

/// How one vertex is read.
#[derive(Clone, Copy)]
pub enum Reading {
    /// With everything that was acknowledged.
    Strict,
    /// From what the gate has, if it is not too old.
    NoOlder,
}

/// Reads of one vertex, one after the other, with no other client.
pub fn reads(url: &str, network: &Graph, reading: Reading, count: usize) -> Result<Samples, String> {
    let mut client = connect(url)?;
    let (mut chance, mut samples) = (Chance::seeded(SEED), Samples::default());
    let text = match reading {
        Reading::Strict => "MATCH (n:N {id: $id}) RETURN n.id",
        Reading::NoOlder => "READ NO OLDER THAN 1 s MATCH (n:N {id: $id}) RETURN n.id",
    };
    for at in 0..2 * count {
        let id = vertex(&mut chance, network);
        let began_ns = monotonic_ns();
        let found = asked(&mut client, text, &params! {"id" => id})?;
        // The first half warms up.
        if at >= count {
            samples.push((monotonic_ns() - began_ns) as f64 / 1e6);
        }
        if found != [id] {
            return Err(format!("{text} of {id}: {found:?}"));
        }
    }
    Ok(samples)
}
