//! The mix of TAO on a social network: `cargo run --release -p tanglewood-applications-examples --example social -- [DATA] [--out FOLDER] [--page PAGE.md]`.
//!
//! DATA is the folder of packed data sets, or a file with two ids a line: who follows whom, as SNAP's ego-Twitter. Without it, a network is drawn. Eight
//! clients ask in a closed loop: of a thousand calls, two write (Weaver, Table 5.2). A client writes associations of its own people only, so it knows
//! what must be answered for these, and holds each such answer against that; at the end, the list and the count of everybody.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::command::{Arguments, since, timed, told};
use applications::findings::Findings;
use applications::social::Social;
use applications::times::{Times, times_chart};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::threads::in_parallel;

const CLIENTS: usize = 8;
/// Time that they ask.
const ASKED: Duration = Duration::from_secs(20);
/// Rows of a list that are asked for.
const PAGE: usize = 50;
/// The network that is drawn: people, and who follows whom.
const DRAWN: (u64, usize) = (5_000, 60_000);
const PER_COMMIT: usize = 50_000;
const SEED: u64 = 3;

/// Calls of the mix, as the interface names them.
const CALLS: [&str; 5] = ["range", "count", "get", "tie", "untie"];

/// By person, whom they follow, and since when.
type Follows = BTreeMap<i64, BTreeMap<i64, i64>>;

/// What one client did: times by call, what its people follow at the end, and how many answers it compared.
struct Asked {
    times: [Times; 5],
    own: Follows,
    compared: usize,
}

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let (pairs, about) = match arguments.text("ego-twitter.txt")? {
        Some(text) => (read(&text), "who follows whom in SNAP's ego-Twitter"),
        None => (drawn(), "a network that is drawn"),
    };
    let ids: BTreeSet<i64> = pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let people: Vec<i64> = ids.into_iter().collect();
    if people.is_empty() {
        return Err("there is nobody".into());
    }
    let mut follows = people.iter().map(|id| (*id, BTreeMap::new())).collect::<Follows>();
    for (at, (from, to)) in (0..).zip(&pairs) {
        follows.entry(*from).or_default().entry(*to).or_insert(at);
    }
    let mut findings = Findings::begin("social", about, SEED);
    findings.count("people", people.len());
    findings.count("associations", follows.values().map(BTreeMap::len).sum());
    let mut social = Social::open(None).map_err(|error| told(&error))?;
    let ((), took) = timed(|| social.load(&pairs, PER_COMMIT))?;
    findings.time("loaded", took);
    let late = pairs.len() as i64;
    let begin_ns = monotonic_ns();
    let done = in_parallel("client", CLIENTS, |number| {
        let own = people.iter().skip(number).step_by(CLIENTS);
        let own: Follows = own.map(|id| (*id, follows[id].clone())).collect();
        ask(social.client(), &people, own, (number as u64, late))
    });
    let asked = since(begin_ns);
    let done = done.into_iter().collect::<Result<Vec<Asked>, String>>()?;
    tell(done, asked, &mut social, findings, &arguments)
}

fn tell(
    done: Vec<Asked>,
    asked: Duration,
    social: &mut Social,
    mut findings: Findings,
    arguments: &Arguments,
) -> Result<(), String> {
    let (mut all, mut follows, mut compared): ([Times; 5], Follows, usize) = Default::default();
    for one in done {
        all.iter_mut().zip(one.times).for_each(|(all, times)| all.extend(times));
        follows.extend(one.own);
        compared += one.compared;
    }
    let calls = all.iter().map(Times::len).sum::<usize>();
    findings.rate(&format!("calls by {CLIENTS} clients"), calls as f64 / asked.as_secs_f64());
    CALLS.iter().zip(&all).for_each(|(name, times)| findings.times(name, times));
    findings.check(format!("{compared} answers of the mix, each beside what its client knew"));
    for (person, own) in &follows {
        let asked = social.list_and_count(*person, "follows", PAGE as i64).map_err(|error| told(&error))?;
        let list: Vec<(i64, i64)> = asked.0.iter().map(|one| (one.to, one.time)).collect();
        if list != newest(own) || asked.1 != own.len() as i64 {
            return Err(format!("{person} has {} associations, or others: {list:?} of {own:?}", asked.1));
        }
    }
    findings.check(format!(
        "at the end, the newest {PAGE} associations of each of {} people, and how many there are",
        follows.len()
    ));
    let curves: Vec<(&str, &Times)> = CALLS.into_iter().zip(&all).collect();
    findings.chart(times_chart(&format!("A social network: calls of {CLIENTS} clients at once"), &curves));
    findings.end(arguments)
}

/// The first page of a list, from the newest on.
fn newest(own: &BTreeMap<i64, i64>) -> Vec<(i64, i64)> {
    let mut all: Vec<(i64, i64)> = own.iter().map(|(to, time)| (*to, *time)).collect();
    all.sort_by_key(|(to, time)| (-time, *to));
    all.truncate(PAGE);
    all
}

/// One client, until the time is up. What it ties has a time behind `late`.
fn ask(
    mut social: Social,
    people: &[i64],
    mut own: Follows,
    (number, late): (u64, i64),
) -> Result<Asked, String> {
    let mut chance = Chance::seeded(SEED + number);
    let mut times: [Times; 5] = Default::default();
    let (own_people, mut compared): (Vec<i64>, usize) = (own.keys().copied().collect(), 0);
    let begin_ns = monotonic_ns();
    while since(begin_ns) < ASKED {
        let [a, b] = [(); 2].map(|()| people[chance.index(people.len())]);
        let writer = own_people.get(chance.index(own_people.len().max(1))).copied().unwrap_or(a);
        let known = own.get(&a);
        let (call, took, is_right) = match chance.below(10_000) {
            0..16 => {
                let time = late + since(begin_ns).as_micros() as i64;
                let (_, took) = timed(|| social.tie(writer, "follows", b, time, ""))?;
                own.entry(writer).or_default().insert(b, time);
                (3, took, None)
            }
            16..20 => {
                let (was_tied, took) = timed(|| social.untie(writer, "follows", b))?;
                (4, took, Some(own.entry(writer).or_default().remove(&b).is_some() == was_tied))
            }
            20..5_948 => {
                let (list, took) = timed(|| social.range(a, "follows", 0, PAGE as i64))?;
                let list: Vec<(i64, i64)> = list.iter().map(|one| (one.to, one.time)).collect();
                (0, took, known.map(|known| newest(known) == list))
            }
            5_948..7_116 => {
                let (count, took) = timed(|| social.count(a, "follows"))?;
                (1, took, known.map(|known| known.len() as i64 == count))
            }
            _ => {
                let (thing, took) = timed(|| social.get(a))?;
                (2, took, Some(thing.is_some_and(|thing| thing.id == a && thing.kind == "person")))
            }
        };
        if is_right == Some(false) {
            return Err(format!("a wrong answer of `{}` about {a} or {writer}", CALLS[call]));
        }
        compared += usize::from(is_right.is_some());
        times[call].push(took);
    }
    Ok(Asked { times, own, compared })
}

fn read(text: &str) -> Vec<(i64, i64)> {
    let number = |word: Option<&str>| word?.parse::<i64>().ok();
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        number(words.next()).zip(number(words.next()))
    };
    text.lines().filter_map(pair).collect()
}

fn drawn() -> Vec<(i64, i64)> {
    let (people, pairs) = DRAWN;
    let mut chance = Chance::seeded(SEED);
    let mut person = || (chance.below(people) * chance.below(people) / people) as i64;
    (0..pairs).map(|_| (person(), person())).collect()
}
