//! How many small questions a second a few clients get answered, beside a loop of plain arithmetic in the same run, so that the machine's
//! own speed can be taken out: `cargo run --profile quick -p tanglewood-database --example small -- [CLIENTS [SECONDS]]`
#![allow(missing_docs)]

use std::hint::black_box;
use tanglewood_database::{Database, ImportOptions, MEMORY, Options, params};
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::files::{TemporaryFolder, write_bytes};
use world::threads::in_parallel;

const VERTICES: u64 = 80_000;
const EDGES: u64 = 1_760_000;
const SEED: u64 = 11;
/// Steps of arithmetic that count as one round of the loop.
const STEPS: u64 = 1_000;

const QUESTIONS: [(&str, &str); 6] = [
    ("neighbours", "MATCH (:N {id: $v})-[:E]->(b) RETURN b.id"),
    ("degree", "MATCH (:N {id: $v})-[e:E]->() RETURN count(e)"),
    ("vertex", "MATCH (n:N {id: $v}) RETURN n.id"),
    ("filtered", "MATCH (:N {id: $v})-[:E]->(b) WHERE b.id > $v RETURN b.id ORDER BY b.id LIMIT 5"),
    ("constant", "RETURN $v + 1"),
    ("edge there", "MATCH (a:N {id: $v})-[:E]->(b:N {id: $v + 1}) RETURN count(*)"),
];

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>().unwrap());
    let (clients, seconds) = (numbers.next().unwrap_or(2), numbers.next().unwrap_or(1));
    let scratch = TemporaryFolder::new("small").unwrap();
    let from = scratch.path().join("edges.txt");
    write_bytes(&from, edges().as_bytes()).unwrap();
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let (vertex_label, edge_type) = (Some("N".into()), Some("E".into()));
    database.import(&ImportOptions { from, vertex_label, edge_type, ..ImportOptions::default() }).unwrap();
    for (name, text) in QUESTIONS {
        let (mut asked, mut rounds) = (0.0, 0.0);
        // In turns, so that both meet the same neighbours on the machine.
        for _ in 0..4 {
            asked += rate(
                clients,
                seconds * 250_000_000,
                |chance, session| {
                    let v = chance.below(VERTICES) as i64;
                    session.query(text, params! { "v" => v }).unwrap().rows().unwrap().len() as u64
                },
                &database,
            );
            rounds += rate(
                clients,
                seconds * 50_000_000,
                |chance, _| {
                    (0..STEPS)
                        .fold(chance.next_u64(), |x, step| black_box(x.wrapping_mul(0x9E37_79B9) ^ step))
                },
                &database,
            );
        }
        println!(
            "{name:<12} {:>9.0} a second, {:.3} for each round of arithmetic",
            asked / 4.0,
            asked / rounds
        );
    }
}

/// How often a second `work` is done by so many clients.
fn rate(
    clients: u64,
    for_ns: u64,
    work: impl Fn(&mut Chance, &mut tanglewood_database::Session) -> u64 + Sync,
    database: &Database,
) -> f64 {
    let end_ns = monotonic_ns() + for_ns;
    let done = in_parallel("client", clients as usize, |number| {
        let (mut chance, mut session) = (Chance::seeded(SEED + number as u64), database.session());
        let mut done = 0_u64;
        while monotonic_ns() < end_ns {
            black_box(work(&mut chance, &mut session));
            done += 1;
        }
        done
    });
    done.iter().sum::<u64>() as f64 * 1e9 / for_ns as f64
}

/// Many vertices have few edges, few have many.
fn edges() -> String {
    let mut chance = Chance::seeded(SEED);
    let mut text = String::new();
    for _ in 0..EDGES {
        let from = (chance.float().powi(3) * VERTICES as f64) as u64;
        text.push_str(&format!("{} {}\n", from * 7_919 % VERTICES, chance.below(VERTICES)));
    }
    text
}
