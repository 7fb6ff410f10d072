//! The mix of TAO on a social network: `cargo run --release -p tanglewood-applications-examples --example social -- [FILE] [--picture FILE.svg]`.
//!
//! The file has two ids a line: who follows whom, as SNAP's ego-Twitter. Without one, a network is drawn. Eight clients ask in a closed loop: of a
//! thousand calls, two write (Weaver, Table 5.2).
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::command::{Arguments, Times, timed, times_chart};
use applications::social::Social;
use std::collections::BTreeSet;
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::files;
use world::threads::in_parallel;

const CLIENTS: usize = 8;
/// Time that they ask.
const ASKED_NS: u64 = 5_000_000_000;
/// Rows of a list per call.
const PAGE: i64 = 50;
/// The generated network: people, and follows between them.
const DRAWN: (u64, usize) = (5_000, 60_000);
const PER_COMMIT: usize = 50_000;

/// Calls of the mix, as the interface names them.
const CALLS: [&str; 5] = ["range", "count", "get", "tie", "untie"];

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let pairs: Vec<(i64, i64)> = match &arguments.data {
        Some(file) => {
            let text = files::read_text(file).map_err(|error| error.to_string())?;
            let number = |word: Option<&str>| word?.parse::<i64>().ok();
            let pair = |line: &str| {
                let mut words = line.split_whitespace();
                number(words.next()).zip(number(words.next()))
            };
            text.lines().filter_map(pair).collect()
        }
        None => drawn(),
    };
    let ids: BTreeSet<i64> = pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let people: Vec<i64> = ids.into_iter().collect();
    if people.is_empty() {
        return Err("there is nobody".into());
    }
    let mut social = Social::open(None).map_err(|error| applications::command::told(&error))?;
    let ((), took) = timed(|| social.load(&pairs, PER_COMMIT))?;
    println!("{} pairs of {} people, loaded in {took:.1?}", pairs.len(), people.len());
    let until_ns = monotonic_ns() + ASKED_NS;
    let done =
        in_parallel("client", CLIENTS, |number| ask(social.client(), &people, number as u64, until_ns));
    let done = done.into_iter().collect::<Result<Vec<_>, String>>()?;
    let mut all: [Times; 5] = Default::default();
    let mut calls = 0;
    for times in done {
        for (all, times) in all.iter_mut().zip(times) {
            calls += times.len();
            all.extend(times);
        }
    }
    println!("{:.0} calls a second by {CLIENTS} clients", calls as f64 / (ASKED_NS as f64 / 1e9));
    for (name, times) in CALLS.iter().zip(&all) {
        println!("{name:<8} {}", times.told());
    }
    let curves: Vec<(&str, &Times)> = CALLS.into_iter().zip(&all).collect();
    arguments.draw(&times_chart("A social network: calls of eight clients at once", &curves))
}

/// One client, until the time is up.
fn ask(mut social: Social, people: &[i64], number: u64, until_ns: u64) -> Result<[Times; 5], String> {
    let mut chance = Chance::seeded(number);
    let mut times: [Times; 5] = Default::default();
    while monotonic_ns() < until_ns {
        let [a, b] = [(); 2].map(|()| people[chance.index(people.len())]);
        let call = match chance.below(10_000) {
            0..16 => 3,
            16..20 => 4,
            20..5_948 => 0,
            5_948..7_116 => 1,
            _ => 2,
        };
        let took = match call {
            0 => timed(|| social.range(a, "follows", 0, PAGE))?.1,
            1 => timed(|| social.count(a, "follows"))?.1,
            2 => timed(|| social.get(a))?.1,
            3 => timed(|| social.tie(a, "follows", b, (monotonic_ns() / 1_000_000_000) as i64, ""))?.1,
            _ => timed(|| social.untie(a, "follows", b))?.1,
        };
        times[call].push(took);
    }
    Ok(times)
}

fn drawn() -> Vec<(i64, i64)> {
    let (people, pairs) = DRAWN;
    let mut chance = Chance::seeded(3);
    let mut person = || (chance.below(people) * chance.below(people) / people) as i64;
    (0..pairs).map(|_| (person(), person())).collect()
}
