//! Who may reach what, while people come and go: `cargo run --release -p tanglewood-applications-examples --example access -- [DATA] [--out FOLDER] [--page PAGE.md]`.
//!
//! DATA is the folder of packed data sets, or one with the files of the Social Network Benchmark. There the groups are forums: members of one may reach it, its posts, and all
//! that replies to these; moderators are a group within the members; somebody is barred from a post now and then, which is drawn. Without it, a company is
//! drawn: people in groups, groups in groups, resources in resources.
//!
//! It measures what a change costs, when its consequences are told, and what the same question costs when it is asked anew. PlainRights that were told,
//! before the changes and behind them, must be those of a search, and so must each answer.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::Told;
use applications::access::{Access, AccessChange, Tie};
use applications::command::{Arguments, lines, since, timed, told};
use applications::findings::Findings;
use applications::search::PlainRights;
use applications::times::{Times, times_chart};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;

const PEOPLE: u64 = 2_000;
const GROUPS: u64 = 200;
const RESOURCES: u64 = 5_000;
const SEED: u64 = 9;
/// Of so many people, one is barred from something.
const BARRED: usize = 20;
/// Changes that are measured.
const CHANGES: usize = 300;
/// Pairs that one commit of the load ties.
const PER_COMMIT: usize = 10_000;
/// Nothing more is to come of a change once nothing came for so long.
const PATIENCE: Duration = Duration::from_millis(20);
/// The answer is complete once nothing came for so long.
const SILENCE: Duration = Duration::from_secs(1);

/// People, and what ties them to groups and resources.
struct Company {
    people: Vec<String>,
    /// Groups that people join and leave.
    groups: Vec<String>,
    rights: PlainRights,
}

/// What was told: by person and resource, how many times.
type Known = HashMap<(String, String), i64>;

/// What the changes took.
#[derive(Default)]
struct Changed {
    commits: Times,
    alerts: Times,
    questions: Times,
    rights: usize,
    late: usize,
}

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let mut chance = Chance::seeded(SEED);
    let (mut company, about) = match arguments.folder("snb-like-sf0.1", "dynamic")? {
        Some(folder) => (
            forums(&folder, &mut chance)?,
            "groups of an SNB-like network of scale 0.1, their members and messages",
        ),
        None => (drawn(&mut chance), "a company that is drawn"),
    };
    let mut findings = Findings::begin("access", about, SEED);
    findings.count("people", company.people.len());
    let groups: BTreeSet<&String> = company.rights.members.iter().map(|(_, group)| group).collect();
    findings.count("groups", groups.len());
    let resources = company
        .rights
        .contains
        .iter()
        .flat_map(|(outer, inner)| [outer, inner])
        .collect::<BTreeSet<&String>>();
    findings.count("resources", resources.len());
    let mut access = Access::open(None).map_err(|error| told(&error))?;
    let ((), took) = timed(|| fill(&mut access, &company))?;
    findings.time("made, the rules kept true", took);
    let begin_ns = monotonic_ns();
    let mut changes = access.watch(true).map_err(|error| told(&error))?;
    let mut known = Known::new();
    rest(&mut changes, SILENCE)?.into_iter().for_each(|change| add(&mut known, change));
    findings.time("all rights, told for the first time", since(begin_ns).saturating_sub(SILENCE));
    findings.count("rights", known.len());
    compare(&known, &company)?;
    findings.check(format!("all {} rights, beside a search", known.len()));
    let changed = change(&mut access, &mut changes, &mut company, &mut known, &mut chance)?;
    compare(&known, &company)?;
    findings.times("somebody leaves or joins a group", &changed.commits);
    findings.times(&format!("from that commit until it is told, within {PATIENCE:?}"), &changed.alerts);
    findings.times("what a person may reach, asked anew", &changed.questions);
    findings.count("rights that came or went", changed.rights);
    findings.count(&format!("changes that were told later than {PATIENCE:?}"), changed.late);
    findings.check(format!("what {CHANGES} people may reach, asked behind each change"));
    findings.check(format!(
        "behind {CHANGES} changes, all that was told adds up to the {} rights of a search",
        known.values().sum::<i64>()
    ));
    findings.chart(times_chart(
        "Who may reach what: a change, its consequences, a question",
        &[
            ("the change's commit", &changed.commits),
            ("from there until told", &changed.alerts),
            ("asked anew", &changed.questions),
        ],
    ));
    findings.end(&arguments)
}

fn add(known: &mut Known, change: AccessChange) {
    *known.entry((change.person, change.resource)).or_default() += change.difference;
}

/// All that comes until nothing came for so long.
fn rest(changes: &mut Told<AccessChange>, silence: Duration) -> Result<Vec<AccessChange>, String> {
    let mut all = Vec::new();
    loop {
        let found = changes.next(silence).map_err(|error| told(&error))?;
        if found.is_empty() {
            return Ok(all);
        }
        all.extend(found);
    }
}

/// Holds what was told against a search.
fn compare(known: &Known, company: &Company) -> Result<(), String> {
    let wanted = company.rights.of(company.people.iter().map(String::as_str));
    let mut told = 0;
    for ((person, resource), count) in known.iter().filter(|(_, count)| **count != 0) {
        told += 1;
        let is_right = wanted.get(person.as_str()).is_some_and(|all| all.contains(resource.as_str()));
        if *count != 1 || !is_right {
            return Err(format!(
                "{person} was told to reach {resource} {count} times; a search says {is_right}"
            ));
        }
    }
    match wanted.values().map(BTreeSet::len).sum::<usize>() {
        all if all == told => Ok(()),
        all => Err(format!("{told} rights were told, a search finds {all}")),
    }
}

/// People leave groups and join them.
fn change(
    access: &mut Access,
    changes: &mut Told<AccessChange>,
    company: &mut Company,
    known: &mut Known,
    chance: &mut Chance,
) -> Result<Changed, String> {
    let mut changed = Changed::default();
    for _ in 0..CHANGES {
        let [person, group] =
            [&company.people, &company.groups].map(|all| all[chance.index(all.len())].clone());
        let pair = (person.clone(), group.clone());
        let took = match company.rights.members.remove(&pair) {
            true => timed(|| access.untie(&person, Tie::Member, &group))?.1,
            false => {
                company.rights.members.insert(pair);
                timed(|| access.tie(&person, Tie::Member, &group))?.1
            }
        };
        changed.commits.push(took);
        let begin_ns = monotonic_ns();
        let found = changes.next(PATIENCE).map_err(|error| told(&error))?;
        if !found.is_empty() {
            changed.alerts.push(since(begin_ns));
        }
        let (may, took) = timed(|| access.reach_of(&person))?;
        changed.questions.push(took);
        let wanted = company.rights.of([person.as_str()]);
        if may.iter().map(String::as_str).collect::<BTreeSet<&str>>() != wanted[person.as_str()] {
            return Err(format!("{person} may reach something else than a search finds"));
        }
        // The rest of a large change.
        let more = rest(changes, PATIENCE)?;
        changed.late += usize::from(found.is_empty() && !more.is_empty());
        changed.rights += found.len() + more.len();
        found.into_iter().chain(more).for_each(|change| add(known, change));
    }
    let last = rest(changes, SILENCE)?;
    last.into_iter().for_each(|change| add(known, change));
    Ok(changed)
}

fn fill(access: &mut Access, company: &Company) -> Result<(), database::Error> {
    company.people.iter().try_for_each(|person| access.hire(person))?;
    let rights = &company.rights;
    let all = [
        (Tie::Contains, &rights.contains),
        (Tie::Allowed, &rights.allowed),
        (Tie::Barred, &rights.barred),
        (Tie::Member, &rights.members),
    ];
    for (tie, pairs) in all {
        let pairs: Vec<(String, String)> = pairs.iter().cloned().collect();
        pairs.chunks(PER_COMMIT).try_for_each(|part| access.tie_all(tie, part))?;
    }
    Ok(())
}

/// Forums that are groups, as the Social Network Benchmark has them: their members, their posts, and what replies to these.
fn forums(folder: &Path, chance: &mut Chance) -> Result<Company, String> {
    let pairs = |file: &str| -> Result<Vec<(String, String)>, String> {
        let pair = |line: &String| {
            let mut words = line.split('|');
            Some((words.next()?.to_string(), words.next()?.to_string()))
        };
        Ok(lines(&folder.join(format!("{file}_0_0.csv")), 1)?.iter().filter_map(pair).collect())
    };
    let named = pairs("forum")?.into_iter().filter(|(_, title)| title.starts_with("Group"));
    let groups: BTreeSet<String> = named.map(|(id, _)| id).collect();
    let (mut rights, mut messages) = (PlainRights::default(), BTreeSet::new());
    for (group, person) in
        pairs("forum_hasMember_person")?.into_iter().filter(|(group, _)| groups.contains(group))
    {
        rights.members.insert((format!("person{person}"), format!("members{group}")));
    }
    for (group, person) in
        pairs("forum_hasModerator_person")?.into_iter().filter(|(group, _)| groups.contains(group))
    {
        rights.members.insert((format!("person{person}"), format!("moderators{group}")));
        rights.members.insert((format!("moderators{group}"), format!("members{group}")));
        rights.allowed.insert((format!("members{group}"), format!("forum{group}")));
    }
    for (group, post) in
        pairs("forum_containerOf_post")?.into_iter().filter(|(group, _)| groups.contains(group))
    {
        rights.contains.insert((format!("forum{group}"), format!("message{post}")));
        messages.insert(post);
    }
    // A reply comes behind what it replies to, and ids rise with time; those of posts and of comments are of one sequence.
    let mut replies = [pairs("comment_replyOf_post")?, pairs("comment_replyOf_comment")?].concat();
    replies.sort_by_key(|(reply, _)| reply.parse::<u64>().unwrap_or(u64::MAX));
    for (reply, to) in replies {
        if messages.contains(&to) {
            rights.contains.insert((format!("message{to}"), format!("message{reply}")));
            messages.insert(reply);
        }
    }
    let people: Vec<String> = pairs("person")?.into_iter().map(|(id, _)| format!("person{id}")).collect();
    let messages: Vec<String> = messages.into_iter().map(|id| format!("message{id}")).collect();
    for person in people.iter().step_by(BARRED) {
        rights.barred.insert((person.clone(), messages[chance.index(messages.len())].clone()));
    }
    let groups = groups.iter().map(|group| format!("members{group}")).collect();
    Ok(Company { people, groups, rights })
}

fn drawn(chance: &mut Chance) -> Company {
    let person = |number: u64| format!("person{number}");
    let group = |number: u64| format!("group{number}");
    let resource = |number: u64| format!("resource{number}");
    // Each lies in an earlier one: trees with short ways to their roots.
    let inside = |chance: &mut Chance, number: u64| chance.below(number) * chance.below(number) / number;
    let mut rights = PlainRights::default();
    rights.members.extend((20..GROUPS).map(|number| (group(number), group(inside(chance, number)))));
    rights.members.extend((0..PEOPLE * 2).map(|at| (person(at % PEOPLE), group(chance.below(GROUPS)))));
    rights
        .contains
        .extend((50..RESOURCES).map(|number| (resource(inside(chance, number)), resource(number))));
    rights
        .allowed
        .extend((0..GROUPS).map(|number| (group(number), resource(200 + chance.below(RESOURCES - 200)))));
    rights.barred.extend(
        (0..PEOPLE / BARRED as u64)
            .map(|_| (person(chance.below(PEOPLE)), resource(chance.below(RESOURCES)))),
    );
    Company { people: (0..PEOPLE).map(person).collect(), groups: (0..GROUPS).map(group).collect(), rights }
}
