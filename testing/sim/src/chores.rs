//! Background work of a database beside transactions on lists, sets and registers: whole pairs made, changed and deleted, indexes that come and go,
//! checkpoints, imports. The caller keeps the expected state, outside of the process that is killed.
//!
//! ```text
//!   (:Left {key: k, mark: m})-[:PAIR {mark: m}]->(:Right {key: k, mark: m})       Left.key is unique
//!   (:Imported)-[:LINK]->(:Imported)                                              so many more of both with every import
//! ```
//!
//! Two indexes come and go, one over nodes and one over relationships; so do users, who are suspended and let in again, and tenants with a share and
//! a member. Two standing queries follow the pairs, and must agree with them after each death.
//!
//! Invariant: one chore is under way at a time, so after a death two states are possible: with it, and without.

use crate::client::{Failure, failure};
use crate::kept::agrees;
use database::{Database, Error, Params, Value, params};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use world::chance::Chance;

/// Keys of pairs are drawn below this: few, so that they are deleted, made again, and taken twice.
const KEYS: u64 = 60;
/// Vertices of the file that is imported; it has as many edges.
const IMPORT_VERTICES: i64 = 200;

/// Followed through every death. Their answers always have a row.
const STANDING: [(&str, &str); 2] = [
    ("pairs", "MATCH (l:Left)-[p:PAIR]->(r:Right) RETURN count(*) AS n, sum(l.mark + p.mark + r.mark) AS s"),
    ("odd", "MATCH (l:Left) WHERE l.mark % 2 = 1 RETURN count(*) AS n, sum(l.key) AS s"),
];

/// Number of different users, and of tenants.
const NAMES: u64 = 3;
/// The password of every user.
const PASSWORD: &str = "a password of chores";

/// Key to mark, the number of imports of the file, and the content of the catalogue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    pairs: BTreeMap<i64, i64>,
    imports: i64,
    /// Whether they are suspended.
    users: BTreeMap<String, bool>,
    /// Their shares, and whether they have their member.
    tenants: BTreeMap<String, (u32, bool)>,
}

/// The books.
pub struct Chores {
    state: State,
    /// The state after the chore under way, if it was done.
    under_way: Option<State>,
    next_mark: i64,
    file: PathBuf,
    /// How many were acknowledged.
    pub done: u64,
}

impl Chores {
    /// Books over a database without pairs. The file for imports is written into this folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(folder: &Path) -> world::disk::DiskResult<Chores> {
        let file = folder.join("links.txt");
        write_links(&file, 0)?;
        Ok(Chores { state: State::default(), under_way: None, next_mark: 0, file, done: 0 })
    }

    /// Makes the uniqueness constraint of the pairs.
    ///
    /// # Errors
    /// A statement failed.
    pub fn prepare(database: &Database) -> Result<(), Error> {
        let text = "CREATE CONSTRAINT left_key IF NOT EXISTS FOR (l:Left) REQUIRE l.key IS UNIQUE";
        database.session().query(text, Params::new())?.finish()?;
        let there = database.standing();
        for (name, text) in STANDING.iter().filter(|(name, _)| !there.iter().any(|one| one.name == **name)) {
            database.create_standing(name, text)?;
        }
        Ok(())
    }

    /// Runs one chore. No chore is run after an answer is missing.
    ///
    /// # Errors
    /// `Unknown` when the process is gone; `Broken` for a wrong outcome.
    pub fn step(
        &mut self,
        chance: &mut Chance,
        ask: &mut dyn FnMut(&str) -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        let key = chance.below(KEYS) as i64;
        self.next_mark += 1;
        let mark = self.next_mark;
        let there = self.state.pairs.contains_key(&key);
        let (mut after, mut must_refuse) = (self.state.clone(), false);
        let asked = match (chance.below(23), there) {
            (0, _) => "checkpoint".into(),
            (1, _) => ["index", "no-index", "edge-index", "no-edge-index"][chance.below(4) as usize].into(),
            (2, _) => {
                write_links(&self.file, self.state.imports)
                    .map_err(|error| Failure::Broken(error.to_string()))?;
                after.imports += 1;
                format!("import {}", self.file.display())
            }
            (20 | 21, _) => account(&mut after, chance, mark),
            (3 | 4, true) => {
                must_refuse = true;
                format!("make {key} {mark}")
            }
            (5..9, true) => {
                after.pairs.remove(&key);
                format!("delete {key}")
            }
            (_, there) => {
                after.pairs.insert(key, mark);
                format!("{} {key} {mark}", if there { "alter" } else { "make" })
            }
        };
        self.under_way = Some(after.clone());
        match ask(&format!("chore {asked}")) {
            Ok(_) if must_refuse => return Err(Failure::Broken(format!("key {key} was taken twice"))),
            Ok(_) => {
                self.state = after;
                self.done += 1;
            }
            Err(Failure::Refused(_)) => {}
            Err(failure) => return Err(failure),
        }
        self.under_way = None;
        Ok(())
    }

    /// After a death: users, tenants and pairs must be in the state with the chore under way, or in the one without it.
    ///
    /// # Errors
    /// The state, if it is another.
    pub fn recovered(&mut self, database: &Database) -> Result<(), String> {
        let found = look(database)?;
        let possible = [Some(self.state.clone()), self.under_way.take()];
        if !possible.contains(&Some(found.clone())) {
            return Err(format!("found {found:?}\npossible were {possible:?}"));
        }
        self.state = found;
        let there = database.standing();
        let named = |name: &str| there.iter().any(|one| one.name == name);
        // Deaths that happen to come while one is installed are taken for its doing, in the end.
        for aside in database.set_aside().into_iter().filter(|aside| aside.what == "standing query") {
            if !aside.why.contains("the process ended") {
                return Err(aside.to_string());
            }
            database.retry_standing(&aside.name).map_err(|error| error.to_string())?;
        }
        // A death may come before they are made.
        STANDING
            .iter()
            .filter(|(name, _)| named(name))
            .try_for_each(|(name, text)| agrees(database, name, text))
    }
}

/// A chore about a user or a tenant.
fn account(after: &mut State, chance: &mut Chance, mark: i64) -> String {
    let name = format!("n{}", chance.below(NAMES));
    let share = 1 + (mark % 500) as u32;
    match (chance.below(5), after.users.get(&name).copied(), after.tenants.get(&name).copied()) {
        (0, None, _) => {
            after.users.insert(name.clone(), false);
            format!("user {name}")
        }
        (0, Some(false), _) => {
            after.users.insert(name.clone(), true);
            format!("suspend {name}")
        }
        (0, Some(true), _) if chance.below(2) == 0 => {
            after.users.insert(name.clone(), false);
            format!("admit {name}")
        }
        (0, Some(true), _) => {
            after.users.remove(&name);
            format!("no-user {name}")
        }
        (1, _, Some(_)) => {
            after.tenants.remove(&name);
            format!("no-tenant {name}")
        }
        (2, _, Some((share, has_member))) => {
            after.tenants.insert(name.clone(), (share, !has_member));
            format!("{} {name}", if has_member { "no-member" } else { "member" })
        }
        (_, _, there) => {
            after.tenants.insert(name.clone(), (share, there.is_some_and(|there| there.1)));
            format!("{} {name} {share}", if there.is_some() { "share" } else { "tenant" })
        }
    }
}

/// The statement of a chore about a user or a tenant.
fn statement(words: &[&str]) -> Option<String> {
    let name = words.get(1)?;
    let share = words.get(2).copied().unwrap_or_default();
    Some(match words[0] {
        "user" => format!("CREATE USER {name} SET PASSWORD '{PASSWORD}'"),
        "no-user" => format!("DROP USER {name}"),
        "suspend" => format!("ALTER USER {name} SET STATUS SUSPENDED"),
        "admit" => format!("ALTER USER {name} SET STATUS ACTIVE"),
        "tenant" => format!("CREATE TENANT {name} SET SHARE {share}"),
        "share" => format!("ALTER TENANT {name} SET SHARE {share}"),
        "no-tenant" => format!("DROP TENANT {name}"),
        "member" => format!("ALTER TENANT {name} ADD USER of_{name}"),
        "no-member" => format!("ALTER TENANT {name} REMOVE USER of_{name}"),
        _ => return None,
    })
}

/// Does one chore.
///
/// # Errors
/// `Refused` where a key is taken or a conflict was found.
pub fn perform(database: &Database, chore: &str) -> Result<String, Failure> {
    let words: Vec<&str> = chore.split(' ').collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<i64>().ok()).unwrap_or_default();
    let numbers = || params! { "key" => number(1), "mark" => number(2) };
    let mut session = database.session();
    let mut query = |text: &str, params: Params| -> Result<(), Error> {
        session.query(text, params)?.finish().map(|_| ())
    };
    let done = match words[0] {
        "checkpoint" => database.checkpoint().map(|_| ()),
        "index" => query("CREATE INDEX marks IF NOT EXISTS FOR (r:Right) ON (r.mark)", Params::new()),
        "no-index" => query("DROP INDEX marks IF EXISTS", Params::new()),
        "edge-index" => {
            query("CREATE INDEX pair_marks IF NOT EXISTS FOR ()-[p:PAIR]-() ON (p.mark)", Params::new())
        }
        "no-edge-index" => query("DROP INDEX pair_marks IF EXISTS", Params::new()),
        "import" => database.import(&import(chore.trim_start_matches("import "))).map(|_| ()),
        "make" => query(
            "CREATE (:Left {key: $key, mark: $mark})-[:PAIR {mark: $mark}]->(:Right {key: $key, mark: $mark})",
            numbers(),
        ),
        "alter" => query(
            "MATCH (l:Left {key: $key})-[p:PAIR]->(r) SET l.mark = $mark, p.mark = $mark, r.mark = $mark",
            numbers(),
        ),
        "delete" => query(
            "MATCH (l:Left {key: $key})-[:PAIR]->(r) DETACH DELETE l, r",
            params! { "key" => number(1) },
        ),
        other => match statement(&words) {
            Some(text) => query(&text, Params::new()),
            None => return Err(Failure::Broken(format!("no chore: {other}"))),
        },
    };
    done.map(|()| String::new()).map_err(|error| match error.code.as_str() {
        "Neo.ClientError.Schema.ConstraintValidationFailed" => Failure::Refused(error.to_string()),
        // Where the disk fails under the last step of its checkpoint, an import may be there after the next open, or not.
        _ if words[0] == "import" && !error.retryable => match failure(error) {
            Failure::Refused(what) => Failure::Unknown(what),
            other => other,
        },
        _ => failure(error),
    })
}

/// The file of the next import: vertices of its own, in a ring.
fn write_links(file: &Path, imports: i64) -> world::disk::DiskResult<()> {
    let name = |at: i64| imports * IMPORT_VERTICES + at;
    let next = |at: i64| (at * 7 + 1) % IMPORT_VERTICES;
    let line = |at: i64| format!("{}\t{}\n", name(at), name(next(at)));
    world::files::write_bytes(file, (0..IMPORT_VERTICES).map(line).collect::<String>().as_bytes())
}

fn import(file: &str) -> database::ImportOptions {
    database::ImportOptions {
        from: file.into(),
        strict: true,
        vertex_label: Some("Imported".into()),
        edge_type: Some("LINK".into()),
        ..Default::default()
    }
}

/// Users that are there. One of them logs on where it may: a hash takes its time.
fn users(database: &Database) -> Result<BTreeMap<String, bool>, String> {
    let users = database.users();
    let there: BTreeMap<String, bool> =
        users.list().into_iter().map(|user| (user.name, user.suspended)).collect();
    if let Some((name, suspended)) = there.first_key_value() {
        let is_in = users.log_on(name, PASSWORD).map_err(|error| error.to_string())?.is_some();
        if is_in == *suspended {
            return Err(format!("user {name} is suspended: {suspended}; may log on: {is_in}"));
        }
    }
    Ok(there)
}

/// Tenants that are there, with their shares, and whether they have their member.
fn tenants(database: &Database) -> Result<BTreeMap<String, (u32, bool)>, String> {
    let mut there = BTreeMap::new();
    for (name, tenant) in database.tenants() {
        let members: Vec<&String> = tenant.users.keys().collect();
        if members.iter().any(|member| ***member != format!("of_{name}")) {
            return Err(format!("tenant {name} has members {members:?}"));
        }
        there.insert(name, (tenant.allowance.share, !members.is_empty()));
    }
    Ok(there)
}

/// The pairs and imports that are there, each whole; and users and tenants.
fn look(database: &Database) -> Result<State, String> {
    let mut session = database.session();
    let mut rows = |text: &str| -> Result<Vec<Vec<Value>>, String> {
        let result = session.query(text, Params::new()).and_then(|result| result.rows());
        result.map_err(|error| format!("{text}: {error}"))
    };
    let mut state = State { users: users(database)?, tenants: tenants(database)?, ..State::default() };
    let found = rows(
        "MATCH (l:Left) OPTIONAL MATCH (l)-[p:PAIR]->(r:Right) \
         RETURN l.key, l.mark, p.mark, r.key, r.mark",
    )?;
    for row in found {
        let numbers: Vec<Option<i64>> = row.iter().map(Value::as_int).collect();
        let (Some(key), Some(mark)) = (numbers[0], numbers[1]) else {
            return Err(format!("a pair without key or mark: {row:?}"));
        };
        if numbers != [Some(key), Some(mark), Some(mark), Some(key), Some(mark)] {
            return Err(format!("half a pair: {row:?}"));
        }
        if state.pairs.insert(key, mark).is_some() {
            return Err(format!("pair {key} is there twice"));
        }
    }
    let mut count = |text: &str| -> Result<i64, String> {
        rows(text)?.first().and_then(|row| row[0].as_int()).ok_or_else(|| format!("{text}: no count"))
    };
    let rights = count("MATCH (r:Right) RETURN count(*)")?;
    let vertices = count("MATCH (n:Imported) RETURN count(*)")?;
    let edges = count("MATCH (:Imported)-[r:LINK]->(:Imported) RETURN count(r)")?;
    state.imports = edges / IMPORT_VERTICES;
    let wanted = (IMPORT_VERTICES * state.imports, IMPORT_VERTICES * state.imports);
    if rights != state.pairs.len() as i64 || (vertices, edges) != wanted {
        let pairs = state.pairs.len();
        return Err(format!("{pairs} lefts, {rights} rights; {vertices} vertices imported, {edges} edges"));
    }
    Ok(state)
}
