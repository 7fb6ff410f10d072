//! A program with a parameter kept over a graph in the database: its memory, the cost of an argument, and the delay until a change is delivered.

use super::questions::loaded;
use super::{fault, twin};
use crate::graphs::tree;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, Event, Params, Subscription, params};
use std::time::Duration;
use world::clock::monotonic_ns;

/// Readers, each with an argument of its own.
const READERS: usize = 100;
/// Edges that are taken out and put back.
const TRIALS: usize = 100;
/// How long a reader waits for news before the bench fails.
const PATIENCE: Duration = Duration::from_secs(60);

const BELOW: &str = "DATALOG { tc(x, y) :- E(x, y). tc(x, z) :- tc(x, y), E(y, z).
    below(i) :- V.id(x, $x), tc(x, y), V.id(y, i). ?- below(i). }";

/// A reader, and how many rows it knows of.
struct Reader {
    subscription: Subscription,
    rows: isize,
    place: u64,
}

impl Reader {
    fn read_to(&mut self, place: u64) -> Result<(), String> {
        while self.place < place {
            let event = self.subscription.next(PATIENCE).map_err(|end| format!("{end:?}"))?;
            let event = event.ok_or("a reader was told nothing for a minute")?;
            self.place = event.commit_version();
            if let Event::Snapshot { rows, .. } | Event::Changes { rows, .. } = &event {
                self.rows += rows.iter().map(|(_, difference)| difference).sum::<isize>();
            }
        }
        Ok(())
    }
}

fn reader(database: &Database, argument: u32) -> Result<Reader, String> {
    let arguments = params! { "x" => i64::from(argument) };
    let subscription = database.subscribe("below", &arguments, None, true).map_err(fault)?;
    Ok(Reader { subscription, rows: 0, place: 0 })
}

pub fn run(report: &mut Report) -> Result<(), String> {
    report.section("a program with a parameter, kept over a graph (tree-11)");
    let mut edges = tree(11);
    let (database, mut session) = loaded(&edges)?;
    let (made, made_ms) = timed(|| database.create_standing("below", BELOW));
    made.map_err(fault)?;
    let bytes = |database: &Database| database.standing().first().map_or(0, |query| query.bytes);
    let an_edge = bytes(&database) as f64 / (2 * edges.len()) as f64;
    let kept = format!("{an_edge:.2} bytes, made in {}", shown_ms(made_ms));
    report.figure("kept of an edge and direction", &kept, "at most 5 bytes", an_edge <= 5.0);
    // Vertices of the lower half of the tree, and the root: all is below it.
    let bound = edges.len() as u32 + 1;
    let arguments: Vec<u32> = (0..READERS as u32).map(|at| (at * 7_919) % bound).collect();
    let (mut readers, mut samples) = (Vec::new(), Samples::default());
    for argument in &arguments {
        let (made, time_ms) = timed(|| {
            let mut reader = reader(&database, *argument)?;
            reader.read_to(1)?;
            Ok::<_, String>(reader)
        });
        readers.push(made?);
        samples.push(time_ms);
    }
    let right = |readers: &[Reader], edges: &crate::graphs::Edges| {
        let lists = twin::lists(edges);
        let counts = arguments.iter().map(|argument| twin::reached(&lists, [*argument]).len() as isize);
        readers.iter().map(|reader| reader.rows).eq(counts)
    };
    let shown = |samples: &Samples| {
        format!("{}, max {}", shown_ms(samples.median_ms()), shown_ms(samples.quantile_ms(1.0)))
    };
    let is_right = right(&readers, &edges);
    report.figure(
        "a new argument, p50",
        &shown(&samples),
        "right; below 0.5 ms",
        is_right && samples.median_ms() < 0.5,
    );
    let mut told = Samples::default();
    for at in 0..TRIALS {
        let (a, b) = edges[(at * 7_919 + 13) % edges.len()];
        let ends = params! { "a" => i64::from(a), "b" => i64::from(b) };
        for text in [
            "MATCH (:V {id: $a})-[r:E]->(:V {id: $b}) DELETE r",
            "MATCH (a:V {id: $a}), (b:V {id: $b}) CREATE (a)-[:E]->(b)",
        ] {
            session.query(text, ends.clone()).and_then(|result| result.finish()).map_err(fault)?;
            let (published_ns, place) = (monotonic_ns(), database.snapshot().commit_version());
            readers.iter_mut().try_for_each(|reader| reader.read_to(place))?;
            told.push((monotonic_ns() - published_ns) as f64 / 1e6);
        }
    }
    let same = right(&readers, &edges);
    let (a, b) = edges.swap_remove(edges.len() / 3);
    let ends = params! { "a" => i64::from(a), "b" => i64::from(b) };
    let text = "MATCH (:V {id: $a})-[r:E]->(:V {id: $b}) DELETE r";
    session.query(text, ends).and_then(|result| result.finish()).map_err(fault)?;
    let place = database.snapshot().commit_version();
    readers.iter_mut().try_for_each(|reader| reader.read_to(place))?;
    let is_right = same && right(&readers, &edges);
    report.figure(
        "an edge goes or comes, told to all, p50",
        &shown(&told),
        "right; below 1 ms",
        is_right && told.median_ms() < 1.0,
    );
    let used = database.standing().first().map_or(0, |query| query.used_ns) as f64 / 1e6;
    report.note(format!(
        "{} readers: {} kept bytes, {} of processor time",
        readers.len(),
        bytes(&database),
        shown_ms(used)
    ));
    session
        .query("DROP STANDING QUERY below", Params::new())
        .and_then(|result| result.finish())
        .map_err(fault)?;
    Ok(())
}
