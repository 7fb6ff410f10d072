//! Access rights while people come and go: `cargo run --release -p tanglewood-applications-examples --example access -- [--picture FILE.svg]`.
//!
//! A company is generated: people in groups, groups in groups, resources in resources. The example measures the cost of a change, the delay until its
//! consequences are delivered, and the cost of the same question run anew.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::access::{Access, Tie};
use applications::command::{Arguments, Times, timed, times_chart, told};
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;

const PEOPLE: u64 = 2_000;
const GROUPS: u64 = 200;
const RESOURCES: u64 = 5_000;
/// Changes that are measured.
const CHANGES: usize = 300;
/// Nothing more is to come of a change once nothing came for so long.
const PATIENCE: Duration = Duration::from_millis(20);

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let mut access = Access::open(None).map_err(|error| told(&error))?;
    let mut chance = Chance::seeded(9);
    let ((), took) = timed(|| fill(&mut access, &mut chance))?;
    println!("{PEOPLE} people, {GROUPS} groups, {RESOURCES} resources, made in {took:.1?}");
    let mut changes = access.watch(true).map_err(|error| told(&error))?;
    let (mut known, begin_ns) = (0, monotonic_ns());
    loop {
        let found = changes.next(Duration::from_secs(1)).map_err(|error| told(&error))?;
        if found.is_empty() {
            break;
        }
        known += found.iter().map(|change| change.difference).sum::<i64>();
    }
    let first = Duration::from_nanos(monotonic_ns() - begin_ns).saturating_sub(Duration::from_secs(1));
    println!("{known} rights, told in {first:.1?}");
    let [mut commits, mut alerts, mut questions] = [(); 3].map(|()| Times::default());
    let (mut all, mut late) = (0, 0);
    for _ in 0..CHANGES {
        let (person, group) = (person(chance.below(PEOPLE)), group(chance.below(GROUPS)));
        let (was_there, took) = timed(|| access.untie(&person, Tie::Member, &group))?;
        if !was_there {
            let ((), took) = timed(|| access.tie(&person, Tie::Member, &group))?;
            commits.push(took);
        } else {
            commits.push(took);
        }
        let begin_ns = monotonic_ns();
        let found = changes.next(PATIENCE).map_err(|error| told(&error))?;
        if !found.is_empty() {
            alerts.push(Duration::from_nanos(monotonic_ns() - begin_ns));
        }
        all += found.len();
        let (_, took) = timed(|| access.reach_of(&person))?;
        questions.push(took);
        // The rest of a large change.
        let mut more = 0;
        while !changes.next(PATIENCE).map_err(|error| told(&error))?.is_empty() {
            more += 1;
        }
        late += usize::from(found.is_empty() && more > 0);
    }
    println!("a change: {}", commits.told());
    println!(
        "from its commit until it is told: {}; {all} rights at first sight; {late} later than {PATIENCE:?}",
        alerts.told()
    );
    println!("what a person may reach, asked anew: {}", questions.told());
    arguments.draw(&times_chart(
        "Who may reach what: a change, its consequences, a question",
        &[("the change's commit", &commits), ("from there until told", &alerts), ("asked anew", &questions)],
    ))
}

fn person(number: u64) -> String {
    format!("person{number}")
}

fn group(number: u64) -> String {
    format!("group{number}")
}

fn fill(access: &mut Access, chance: &mut Chance) -> Result<(), database::Error> {
    (0..PEOPLE).try_for_each(|number| access.hire(&person(number)))?;
    let resource = |number: u64| format!("resource{number}");
    // Each lies in an earlier one: trees with short ways to their roots.
    let inside = |chance: &mut Chance, number: u64| chance.below(number) * chance.below(number) / number;
    let nested = (20..GROUPS).map(|number| (group(number), group(inside(chance, number))));
    let nested: Vec<_> = nested.collect();
    let members: Vec<_> =
        (0..PEOPLE * 2).map(|at| (person(at % PEOPLE), group(chance.below(GROUPS)))).collect();
    let contained: Vec<_> =
        (50..RESOURCES).map(|number| (resource(inside(chance, number)), resource(number))).collect();
    let allowed: Vec<_> =
        (0..GROUPS).map(|number| (group(number), resource(200 + chance.below(RESOURCES - 200)))).collect();
    let barred: Vec<_> =
        (0..PEOPLE / 20).map(|_| (person(chance.below(PEOPLE)), resource(chance.below(RESOURCES)))).collect();
    access.tie_all(Tie::Member, &nested)?;
    access.tie_all(Tie::Member, &members)?;
    access.tie_all(Tie::Contains, &contained)?;
    access.tie_all(Tie::Allowed, &allowed)?;
    access.tie_all(Tie::Barred, &barred)
}
