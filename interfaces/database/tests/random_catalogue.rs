//! Random commands about users, tenants, standing queries, indexes and constraints, from several sessions at once, against a model; with crashes, closes,
//! backups, restores and damaged entries between. `TANGLEWOOD_ROUNDS` makes it longer.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use model::schema::{ConstraintRule, SchemaTarget};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Change, EntryKind};
use tanglewood_database::{Database, Options, Params, Session};
use world::chance::Chance;
use world::disk::{Disk, SimDisk};
use world::threads::in_parallel;

const SESSIONS: usize = 3;
/// Names of each kind that a session uses.
const NAMES: u64 = 3;

/// What constraints demand of the nodes, or relationships, that they are about.
const RULES: [&str; 5] = [
    "(p:C{name}) REQUIRE p.y IS UNIQUE",
    "(p:C{name}) REQUIRE p.y IS NOT NULL",
    "(p:C{name}) REQUIRE (p.y, p.z) IS NODE KEY",
    "(p:C{name}) REQUIRE p.y IS :: INTEGER",
    "()-[p:C{name}]-() REQUIRE p.y IS UNIQUE",
];

/// What is kept of the nodes `:Z…` of one name, in every shape. All but the last fail where a node has zero as its `x`.
const SHAPES: [&str; 14] = [
    "MATCH (p:Z{name}) RETURN 10 / p.x AS y",
    "MATCH (p:Z{name}) WHERE 10 / p.x > 5 RETURN p.x AS y",
    "MATCH (p:Z{name}) RETURN sum(10 / p.x) AS y",
    "MATCH (p:Z{name}) RETURN DISTINCT 10 % p.x AS y",
    "MATCH (p:Z{name}) RETURN p.x AS y ORDER BY 10 / p.x LIMIT 2",
    "MATCH (p:Z{name}) UNWIND range(1, 10 / p.x) AS y RETURN y",
    "MATCH (p:Z{name}) CALL (p) { RETURN 10 / p.x AS y } RETURN y",
    "RETURN 1 AS y UNION ALL MATCH (p:Z{name}) RETURN 10 / p.x AS y",
    "MATCH (p:Z{name}) RETURN [(p)-[:R]->(q) | 10 / q.x] AS y",
    "MATCH (p:Z{name}) RETURN COLLECT { MATCH (p)-[:R]->(q) RETURN 10 / q.x AS z } AS y",
    "MATCH (p:Z{name}) WHERE NOT EXISTS { MATCH (p)-[:R]->(q) WHERE 10 / q.x > 50 } RETURN p.x AS y",
    "MATCH (p:Z{name})-[:R*1..2]->(q) RETURN 10 / q.x AS y",
    "OPTIONAL MATCH (p:Z{name}) RETURN reduce(s = 0, i IN [1, 2] | s + i / p.x) AS y",
    "DATALOG { z(x) :- Z{name}.x(p, x), y = 10 / x, y > 5. ?- z(x). }",
];

/// Does a query of this shape fail on zero?
fn fails(shape: usize) -> bool {
    shape + 1 < SHAPES.len()
}

/// What was acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    /// Name, and whether it is suspended.
    users: BTreeMap<String, bool>,
    tenants: BTreeMap<String, u32>,
    members: BTreeMap<String, String>,
    /// With the shape of each.
    standing: BTreeMap<String, usize>,
    /// Names whose nodes have zero as their `x`.
    zero: BTreeSet<String>,
    /// Standing queries that came upon it, and were not tried again.
    failed: BTreeSet<String>,
    indexes: BTreeSet<String>,
    /// What each demands, as in [`RULES`].
    constraints: BTreeMap<String, usize>,
    /// Standing queries whose entries cannot be read.
    broken: BTreeSet<String>,
}

impl Model {
    fn join(mut self, other: Model) -> Model {
        self.users.extend(other.users);
        self.tenants.extend(other.tenants);
        self.members.extend(other.members);
        self.standing.extend(other.standing);
        self.zero.extend(other.zero);
        self.failed.extend(other.failed);
        self.indexes.extend(other.indexes);
        self.constraints.extend(other.constraints);
        self.broken.extend(other.broken);
        self
    }
    /// The part of one session.
    fn of(&self, session: usize) -> Model {
        let own = |name: &str| name.ends_with(&format!("_{session}"));
        let mut part = self.clone();
        part.users.retain(|name, _| own(name));
        part.tenants.retain(|name, _| own(name));
        part.members.retain(|name, _| own(name));
        part.standing.retain(|name, _| own(name));
        part.zero.retain(|name| own(name));
        part.failed.retain(|name| own(name));
        part.indexes.retain(|name| own(name));
        part.constraints.retain(|name, _| own(name));
        part.broken.retain(|name| own(name));
        part
    }
    /// The queries that come upon zero when they are installed.
    fn fails_at_open(&self) -> BTreeSet<String> {
        let fails = self.standing.iter().filter(|(name, shape)| fails(**shape) && self.zero.contains(*name));
        fails.map(|(name, _)| name.clone()).collect()
    }
}

fn open(disk: &SimDisk, folder: &Path) -> Database {
    let options = Options { executors: Some(1), ..Options::default() };
    Database::open_on(Arc::new(disk.clone()), folder, options).unwrap()
}

/// Is a command that should succeed, or fail, seen to do so?
fn command(session: &mut Session, text: &str, succeeds: bool) {
    let outcome = session.query(text, Params::new()).and_then(|result| result.rows());
    assert_eq!(outcome.is_ok(), succeeds, "{text}: {outcome:?}");
}

/// The state of a standing query, once it is neither installed nor, where a change makes it fail, still at work on that.
fn settled(database: &Database, name: &str, fails: bool) {
    let begin = Instant::now();
    let all =
        || database.standing().into_iter().find(|query| query.name == name).map(|query| query.state.name());
    while all().is_some_and(|state| state == "installing" || (fails && state == "running")) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{name} is still {:?}", all());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Standing queries of every shape: made, dropped, tried again, and made to fail by what is written to the graph.
fn standing(
    database: &Database,
    session: &mut Session,
    name: String,
    model: &mut Model,
    chance: &mut Chance,
) {
    let shape = model.standing.get(&name).copied();
    match chance.below(8) {
        0..3 => {
            let drawn = chance.index(SHAPES.len());
            let is_free = shape.is_none() && !model.broken.contains(&name);
            let is_made = is_free && !(fails(drawn) && model.zero.contains(&name));
            let text = SHAPES[drawn].replace("{name}", &name);
            command(session, &format!("CREATE STANDING QUERY {name} AS {text}"), is_made);
            if is_made {
                model.standing.insert(name, drawn);
            }
        }
        3 => {
            let was = model.standing.remove(&name).is_some() | model.broken.remove(&name);
            model.failed.remove(&name);
            command(session, &format!("DROP STANDING QUERY {name}"), was);
        }
        4 => {
            for name in model.broken.iter().chain(&model.failed) {
                command(session, &format!("ALTER STANDING QUERY {name} RETRY"), true);
                settled(database, name, false);
            }
            let zero = &model.zero;
            model.failed.retain(|name| zero.contains(name));
        }
        5 | 6 => {
            let text = format!("MERGE (p:Z{name}) SET p.x = 0 MERGE (p)-[:R]->(p)");
            command(session, &text, true);
            let fails = shape.is_some_and(fails);
            settled(database, &name, fails);
            model.failed.extend(fails.then(|| name.clone()));
            model.zero.insert(name);
        }
        _ => {
            command(session, &format!("MERGE (p:Z{name}) SET p.x = 1 MERGE (p)-[:R]->(p)"), true);
            model.zero.remove(&name);
        }
    }
}

fn step(database: &Database, session: &mut Session, own: usize, model: &mut Model, chance: &mut Chance) {
    let name = format!("n{}_{own}", chance.below(NAMES));
    match chance.below(18) {
        0 => {
            let is_new = !model.users.contains_key(&name);
            command(session, &format!("CREATE USER {name} SET PASSWORD 'long enough'"), is_new);
            model.users.entry(name).or_insert(false);
        }
        1 => {
            let suspends = chance.below(2) == 0;
            let status = if suspends { "SUSPENDED" } else { "ACTIVE" };
            let known = model.users.get_mut(&name);
            command(session, &format!("ALTER USER {name} SET STATUS {status}"), known.is_some());
            known.into_iter().for_each(|state| *state = suspends);
        }
        2 => {
            let was = model.users.remove(&name).is_some();
            command(session, &format!("DROP USER {name}"), was);
        }
        3 | 4 => {
            let share = 1 + chance.below(500) as u32;
            let is_new = !model.tenants.contains_key(&name);
            let verb = if is_new { "CREATE" } else { "ALTER" };
            command(session, &format!("{verb} TENANT {name} SET SHARE {share}"), true);
            model.tenants.insert(name, share);
        }
        5 => {
            let was = model.tenants.remove(&name).is_some();
            model.members.retain(|_, tenant| *tenant != name);
            command(session, &format!("DROP TENANT {name}"), was);
        }
        6 => {
            let user = format!("m{}_{own}", chance.below(NAMES));
            let is_there = model.tenants.contains_key(&name);
            command(session, &format!("ALTER TENANT {name} ADD USER {user}"), is_there);
            if is_there {
                model.members.insert(user, name);
            }
        }
        7..10 | 12 => standing(database, session, name, model, chance),
        10 => {
            let is_new = model.indexes.insert(name.clone());
            command(session, &format!("CREATE INDEX {name} FOR (p:L{name}) ON (p.x)"), is_new);
        }
        11 => {
            let was = model.indexes.remove(&name);
            command(session, &format!("DROP INDEX {name}"), was);
        }
        13..16 => constraint(session, &name, model, chance),
        16 => abide(session, &name, model),
        _ => command(session, "CREATE (:P {x: 1})", true),
    }
}

/// Makes or drops a constraint. Those that have an index own one of the same name.
fn constraint(session: &mut Session, name: &str, model: &mut Model, chance: &mut Chance) {
    let name = format!("c{name}");
    if chance.below(3) == 0 {
        let was = model.constraints.remove(&name).is_some();
        return command(session, &format!("DROP CONSTRAINT {name}"), was);
    }
    let rule = chance.below(RULES.len() as u64) as usize;
    let is_new = !model.constraints.contains_key(&name);
    let about = RULES[rule].replace("{name}", &name);
    command(session, &format!("CREATE CONSTRAINT {name} FOR {about}"), is_new);
    model.constraints.entry(name).or_insert(rule);
}

/// What breaks the constraint of this name is refused, if there is one, and leaves nothing behind.
fn abide(session: &mut Session, name: &str, model: &Model) {
    let name = format!("c{name}");
    let breaks = match model.constraints.get(&name) {
        None => return,
        Some(0) => "UNWIND [1, 1] AS y CREATE (:C{name} {y: y})",
        Some(1) => "CREATE (:C{name} {z: 1})",
        Some(2) => "UNWIND [1, 1] AS y CREATE (:C{name} {y: y, z: 2})",
        Some(3) => "CREATE (:C{name} {y: 'text'})",
        Some(_) => "UNWIND [1, 1] AS y CREATE (:P)-[:C{name} {y: y}]->(:P)",
    };
    command(session, &breaks.replace("{name}", &name), false);
    // And what keeps it is not.
    let keeps = match model.constraints.get(&name) {
        Some(4) => "CREATE (a:P)-[r:C{name} {y: 3}]->(b:P) DETACH DELETE a, b",
        _ => "CREATE (p:C{name} {y: 3, z: 4}) DELETE p",
    };
    command(session, &keeps.replace("{name}", &name), true);
}

fn found(database: &Database) -> Model {
    let begin = Instant::now();
    while database.standing().iter().any(|query| query.state.name() == "installing") {
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut model = Model { zero: zeros(database), ..Model::default() };
    model.users.extend(database.users().list().into_iter().map(|user| (user.name, user.suspended)));
    for (name, tenant) in database.tenants() {
        model.members.extend(tenant.users.into_keys().map(|user| (user, name.clone())));
        model.tenants.insert(name, tenant.allowance.share);
    }
    for query in database.standing() {
        let shape = SHAPES.iter().position(|shape| shape.replace("{name}", &query.name) == query.text);
        let on_zero = query.failure.as_ref().is_some_and(|failure| failure.to_string().contains("by zero"));
        match (query.state.name(), shape) {
            ("running", Some(shape)) => _ = model.standing.insert(query.name, shape),
            ("failed" | "set aside", Some(shape)) if on_zero => {
                model.failed.insert(query.name.clone());
                model.standing.insert(query.name, shape);
            }
            ("set aside", _) => _ = model.broken.insert(query.name),
            (other, _) => panic!("{} is {other}: {:?}", query.name, query.failure),
        }
    }
    let snapshot = database.snapshot();
    let catalog = snapshot.catalog();
    for constraint in catalog.constraints() {
        let rule = match (&constraint.rule, constraint.target) {
            (ConstraintRule::Unique(_), SchemaTarget::Edges(_)) => 4,
            (ConstraintRule::Unique(_), _) => 0,
            (ConstraintRule::Exists, _) => 1,
            (ConstraintRule::NodeKey(_), _) => 2,
            (ConstraintRule::Typed(_), _) => 3,
        };
        model.constraints.insert(constraint.name.clone(), rule);
    }
    let owned = |name: &str| catalog.constraints().iter().any(|constraint| constraint.name == *name);
    let own = catalog.indexes().iter().filter(|index| !owned(&index.name));
    model.indexes.extend(own.map(|index| index.name.clone()));
    let with_index = model.constraints.values().filter(|rule| [0, 2, 4].contains(*rule)).count();
    assert_eq!(catalog.indexes().len(), model.indexes.len() + with_index);
    model
}

/// The names whose nodes have zero.
fn zeros(database: &Database) -> BTreeSet<String> {
    let mut session = database.session();
    let text = "MATCH (p) WHERE p.x = 0 RETURN substring(labels(p)[0], 1) AS name";
    let rows = session.query(text, Params::new()).and_then(|result| result.rows()).unwrap();
    rows.iter().map(|row| row[0].as_str().unwrap().to_string()).collect()
}

/// Breaks the entry of a standing query, as a fault of the medium or of another program would.
fn damage(disk: &SimDisk, folder: &Path, model: &mut Model, chance: &mut Chance) {
    let Some((name, _)) = model.standing.pop_first() else { return };
    model.failed.remove(&name);
    let content: &[u8] =
        [&b"\xff\xfe"[..], b"CREATE STANDING QUERY", b"RETURN 1", b""][chance.below(4) as usize];
    let change = Change::SetEntry {
        kind: EntryKind::STANDING,
        name: name.as_str().into(),
        content: Some(content.into()),
    };
    let as_disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let (engine, _) = transact::open(Some((as_disk, folder)), &transact::OpenOptions::default()).unwrap();
    engine.alter(|_| Ok(vec![change.clone()])).unwrap();
    model.broken.insert(name);
}

fn run(seed: u64, rounds: u64) {
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let (mut disk, mut folder, mut model) = (SimDisk::new(), PathBuf::from("/db0"), Model::default());
    for round in 1..=rounds {
        let database = open(&disk, &folder);
        model.failed = model.fails_at_open();
        assert_eq!(found(&database), model, "seed {seed}, round {round}");
        let seeds: Vec<u64> = (0..SESSIONS).map(|_| chance.next_u64()).collect();
        let parts = in_parallel("session", SESSIONS, |own| {
            let (mut session, mut part) = (database.session(), model.of(own));
            let mut chance = Chance::seeded(seeds[own]);
            (0..12).for_each(|_| step(&database, &mut session, own, &mut part, &mut chance));
            part
        });
        model = parts.into_iter().fold(Model::default(), Model::join);
        assert_eq!(found(&database), model, "seed {seed}, round {round}: before the end");
        match chance.below(4) {
            0 => database.close().unwrap(),
            1 => {
                let (backup, next) =
                    (PathBuf::from(format!("/b{round}")), PathBuf::from(format!("/db{round}")));
                database.backup(&backup).unwrap();
                let as_disk: Arc<dyn Disk> = Arc::new(disk.clone());
                transact::restore(&as_disk, &backup, &next).unwrap();
                folder = next;
                drop(database);
            }
            2 => {
                database.checkpoint().unwrap();
                let next = disk.kill();
                drop(database);
                disk = next;
            }
            _ => {
                let next = disk.crash(chance.next_u64());
                drop(database);
                disk = next;
            }
        }
        if chance.below(3) == 0 {
            damage(&disk, &folder, &mut model, &mut chance);
        }
        let as_disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let checked = tanglewood_database::check(&as_disk, &folder).unwrap();
        assert!(checked.report.problems.is_empty(), "seed {seed}, round {round}: {:?}", checked.report);
        let aside: BTreeSet<String> = checked.set_aside.into_iter().map(|aside| aside.name).collect();
        let expected: BTreeSet<String> = model.broken.union(&model.fails_at_open()).cloned().collect();
        assert_eq!(aside, expected, "seed {seed}, round {round}");
    }
}

#[test]
fn the_catalogue_is_what_was_acknowledged() {
    let rounds = std::env::var("TANGLEWOOD_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    (1..=2).for_each(|seed| run(seed, rounds));
}
