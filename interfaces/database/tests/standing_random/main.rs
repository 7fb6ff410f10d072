//! Random standing queries against the same query run anew after each commit.
//!
//! `TANGLEWOOD_STANDING_SEEDS=500 cargo test --test standing_random` runs more of them, `TANGLEWOOD_STANDING_SEED=7` only that one. A
//! failure names its seed, and shows the query with the fewest commits that were found to make it differ.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod check;
mod commits;
mod grammar;

use check::{Kept, Outcome, shrunk};
use commits::{Commit, Numbers};
use std::collections::BTreeMap;
use tanglewood_database::{Database, MEMORY, Options, Params};
use world::chance::Chance;
use world::files::TemporaryFolder;

/// Queries that are kept beside each other.
const QUERIES: usize = 24;
/// Commits before and after they are made.
const COMMITS_BEFORE: usize = 12;
const COMMITS_AFTER: usize = 24;

/// What became of the queries.
#[derive(Default)]
struct Tally {
    compared: usize,
    outcomes: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn count(&mut self, outcome: impl Into<String>) {
        *self.outcomes.entry(outcome.into()).or_insert(0) += 1;
    }
    fn take(
        &mut self,
        outcome: Outcome,
        seed: u64,
        kept: (&grammar::Query, &Params),
        commits: &[Commit],
        before: usize,
    ) {
        match outcome {
            Outcome::Same => self.compared += 1,
            Outcome::Failed => self.count("failed"),
            Outcome::Refused(why) => self.count(format!("refused: {why}")),
            Outcome::Differs(why) => {
                self.count("DIFFERS");
                let shrunk = shrunk(kept.0, kept.1, commits, before);
                self.wrong.push(format!("seed {seed}: {}\n{why}\nshrunk:\n{shrunk}\n", kept.0.text));
            }
        }
    }
}

fn options() -> Options {
    Options { executors: Some(2), ..Options::default() }
}

/// One history of commits with its queries; every third lives on disk and is opened again in the middle.
fn history(seed: u64, tally: &mut Tally) {
    let mut chance = Chance::seeded(seed);
    let folder = seed.is_multiple_of(3).then(|| TemporaryFolder::new("standing-random").unwrap());
    let open = || match &folder {
        Some(folder) => Database::open(folder.path(), options()).unwrap(),
        None => Database::open(MEMORY, options()).unwrap(),
    };
    let mut database = open();
    let mut numbers = Numbers::default();
    let mut done: Vec<Commit> = Vec::new();
    let mut session = database.session();
    if seed % 2 == 1 {
        session.query("CREATE INDEX FOR (p:P) ON (p.x)", Params::new()).unwrap().rows().unwrap();
    }
    let mut commit =
        |session: &mut tanglewood_database::Session, chance: &mut Chance, done: &mut Vec<Commit>| {
            let commit = commits::commit(&mut numbers, chance);
            commit.run(session).unwrap_or_else(|error| panic!("seed {seed}: {commit:?}: {error}"));
            done.push(commit);
        };
    (0..COMMITS_BEFORE).for_each(|_| commit(&mut session, &mut chance, &mut done));
    let mut all: Vec<Kept> = Vec::new();
    let none = Params::new();
    for number in 0..QUERIES {
        let query = grammar::query(&mut chance);
        match Kept::make(&database, &format!("q{number}"), &query, &none) {
            Ok(kept) => all.push(kept),
            Err(outcome) => tally.take(outcome, seed, (&query, &none), &done, done.len()),
        }
    }
    let before = done.len();
    for round in 0..COMMITS_AFTER {
        if folder.is_some() && round == COMMITS_AFTER / 2 {
            drop(session);
            database.close().unwrap();
            database = open();
            session = database.session();
            for kept in all.iter_mut().filter(|kept| kept.reader.is_some()) {
                kept.reader = Some(check::Reader::of(&database, &kept.name, &kept.params).unwrap());
            }
        }
        commit(&mut session, &mut chance, &mut done);
        for kept in &mut all {
            if kept.reader.is_some() {
                let outcome = kept.compare(&database, &mut session);
                tally.take(outcome, seed, (&kept.query, &none), &done, before);
            }
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn random_queries_are_kept_true() {
    let seeds = match number("TANGLEWOOD_STANDING_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            number("TANGLEWOOD_STANDING_FROM").unwrap_or(0)..number("TANGLEWOOD_STANDING_SEEDS").unwrap_or(4)
        }
    };
    let mut tally = Tally::default();
    for seed in seeds {
        history(seed, &mut tally);
        if tally.wrong.len() >= number("TANGLEWOOD_STANDING_WRONG").unwrap_or(5) as usize {
            break;
        }
    }
    println!("{} answers compared; {:#?}", tally.compared, tally.outcomes);
    assert!(tally.wrong.is_empty(), "{} queries differ:\n{}", tally.wrong.len(), tally.wrong.join("\n"));
}

/// One query over many histories: `TANGLEWOOD_STANDING_QUERY='MATCH …' cargo test --test standing_random -- --ignored one_query`.
#[test]
#[ignore = "tool: needs TANGLEWOOD_STANDING_QUERY"]
fn one_query_over_many_histories() {
    let text = std::env::var("TANGLEWOOD_STANDING_QUERY").expect("the query is named");
    let bags = std::env::var("TANGLEWOOD_STANDING_BAGS").is_ok();
    let query = grammar::Query { text, bags: vec![bags; 32] };
    let mut tally = Tally::default();
    for seed in 0..number("TANGLEWOOD_STANDING_SEEDS").unwrap_or(20) {
        let mut chance = Chance::seeded(seed);
        let mut numbers = Numbers::default();
        let commits: Vec<Commit> = (0..40).map(|_| commits::commit(&mut numbers, &mut chance)).collect();
        let before = chance.index(20);
        match check::replay(&query, &Params::new(), &commits, before) {
            Ok(()) => tally.compared += 1,
            Err(outcome) => tally.take(outcome, seed, (&query, &Params::new()), &commits, before),
        }
        if tally.wrong.len() == 1 {
            break;
        }
    }
    println!("{} histories; {:#?}", tally.compared, tally.outcomes);
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
}
