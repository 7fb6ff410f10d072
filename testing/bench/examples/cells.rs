//! Asks one question of the bench `recursive` again and again, for a profiler:
//! `cargo run --profile quick -p tanglewood-bench --example cells -- GRAPH EXECUTORS SOURCES POLICIES [TEXT]`. GRAPH is a database
//! folder (label `N`, type `E`, numbers from 0), POLICIES a list as `auto,nTkS(2)`, TEXT a query with the list `$s`. Prints the best and
//! the middle of some calls for each policy, called in turn so that all meet the same machine.

use database::{Database, Options, Value, params};
use tanglewood_bench::timing::{Samples, shown_ms, timed};
use world::chance::Chance;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LENGTHS: &str = "MATCH (a:N) WHERE a.id IN $s MATCH p = ANY SHORTEST (a)-[:E]->+(b) \
                       RETURN count(*) AS ends, sum(length(p)) AS steps";
/// Minimum rounds of each policy, all together about as long as the time given.
const ROUNDS_MIN: usize = 5;
const TIME_MS: f64 = 1_000.0;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, executors, count, policies, rest @ ..] = arguments.as_slice() else {
        return Err("arguments: GRAPH EXECUTORS SOURCES POLICIES [TEXT]".into());
    };
    let number = |text: &String| text.parse::<usize>().map_err(|error| error.to_string());
    let options =
        Options { executors: Some(number(executors)?), query_bytes_max: 8 << 30, ..Options::default() };
    let database = Database::open(folder, options).map_err(|error| format!("{error:?}"))?;
    let mut session = database.session();
    let text = rest.first().map_or(LENGTHS, String::as_str);
    let degree = "MATCH (a:N) WHERE a.id IN $s AND COUNT { (a)-[:E]->() } > 1 RETURN a.id";
    let vertices = session.query("MATCH (a:N) RETURN count(*)", params! {}).and_then(|found| found.single());
    let vertices = vertices.map_err(|error| format!("{error:?}"))?.as_int().unwrap_or_default();
    let mut chance = Chance::seeded(9);
    let drawn = (0..number(count)? * 8 + 8).map(|_| Value::Int(chance.below(vertices as u64) as i64));
    let found = session.query(degree, params! { "s" => Value::list(drawn.collect::<Vec<_>>()) });
    let found = found.and_then(|found| found.rows()).map_err(|error| format!("{error:?}"))?;
    let sources: Vec<Value> = found.into_iter().take(number(count)?).map(|row| row[0].clone()).collect();
    let texts: Vec<String> = policies
        .split(',')
        .map(|policy| match policy {
            "auto" => text.to_string(),
            policy => format!("CYPHER recursive = `{policy}` {text}"),
        })
        .collect();
    let mut samples: Vec<Samples> = texts.iter().map(|_| Samples::default()).collect();
    let (mut answer, mut all_ms) = (None, 0.0);
    while samples[0].len() <= ROUNDS_MIN || all_ms < TIME_MS * texts.len() as f64 {
        for (text, samples) in texts.iter().zip(&mut samples) {
            let params = params! { "s" => Value::list(sources.clone()) };
            let (rows, time_ms) = timed(|| session.query(text, params).and_then(|found| found.rows()));
            let rows = rows.map_err(|error| format!("{error:?}"))?;
            let rows = format!("{} rows, first {:?}", rows.len(), rows.first());
            if *answer.get_or_insert_with(|| rows.clone()) != rows {
                return Err(format!("{text}: {rows}, others {answer:?}"));
            }
            samples.push(time_ms);
            all_ms += time_ms;
        }
    }
    println!("{}", answer.unwrap_or_default());
    for (policy, samples) in policies.split(',').zip(&samples) {
        let (best, middle) = (samples.quantile_ms(0.0), samples.median_ms());
        println!(
            "{policy:<10} best {:>9}  p50 {:>9}  {} calls",
            shown_ms(best),
            shown_ms(middle),
            samples.len()
        );
    }
    Ok(())
}
