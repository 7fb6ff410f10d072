//! Every structure of the store across every limit it has, with a model beside it.
//!
//! ```text
//!   step:  grow · shrink · alter · relabel · connect · cut · schema · names · accounts · abort      by an amount drawn around the limits
//!   then:  nothing | checkpoint | close | kill | power gone | backup and restore, and opened again
//!   after: checked, audited, compared with the model: nodes, edges, indexes, users, tenants, the past, standing queries
//! ```
//!
//! Question: is there a size at which what was written cannot be read? Idea: sizes are not drawn evenly, but below, at and above each number
//! that the store compares a size with ([`AROUND`]), and a step may bring the whole to such a number. Invariant: one session, no
//! faults but deaths at rest, so the model knows the one state that is right. Cost: the whole graph is read after each step.

use crate::audit::audit;
use crate::kept;
use database::{Database, Error, History, Mode, Moment, Options, Params, Value, params};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use world::chance::Chance;
use world::disk::{Disk, SimDisk};

const FOLDER: &str = "/db";
const BACKUP: &str = "/backup";
const RESTORED: &str = "/restored";

/// Limits that the store compares sizes with: short lists (16, 64), deltas of leaves and chunks (32, 64, 256, 512), slots of a chunk and entries of a
/// new leaf (4,096), entries of the longest leaf (8,192), and with a delta (8,704).
const AROUND: [u64; 9] = [16, 32, 64, 256, 512, 1_024, 4_096, 8_192, 8_704];
/// Steps small enough to come often.
const SMALL: usize = 6;
/// Past versions that are read again.
const MOMENTS: usize = 12;
/// Labels besides T, and edge types.
const LABELS: u64 = 9;
const TYPES: u64 = 3;

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Steps of one seed.
    pub steps: usize,
    /// Nodes at most; and edges.
    pub nodes_max: usize,
}

/// Counters of a run, so that a test can demand that each case occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossed {
    /// Steps done.
    pub steps: u64,
    /// Times it was opened again.
    pub opens: u64,
    /// Backups made and restored.
    pub restored: u64,
    /// The most nodes, and edges, there were.
    pub nodes_max: usize,
    /// The most edges.
    pub edges_max: usize,
    /// Moments of the past that were compared.
    pub moments: u64,
}

impl Crossed {
    /// Adds up.
    pub fn add(&mut self, other: &Crossed) {
        self.steps += other.steps;
        self.opens += other.opens;
        self.restored += other.restored;
        self.moments += other.moments;
        self.nodes_max = self.nodes_max.max(other.nodes_max);
        self.edges_max = self.edges_max.max(other.edges_max);
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Node {
    c: i64,
    s: String,
    labels: BTreeSet<String>,
}

/// The graph as it must be: nodes by `u`, edges by `w`.
#[derive(Default)]
struct Model {
    nodes: BTreeMap<i64, Node>,
    edges: BTreeMap<i64, (i64, i64, String, String)>,
    next_u: i64,
    next_w: i64,
    next_name: i64,
    indexes: BTreeSet<&'static str>,
    users: BTreeSet<String>,
    /// With their shares.
    tenants: BTreeMap<String, u32>,
}

const INDEXES: [(&str, &str); 4] = [
    ("by_c", "FOR (t:T) ON (t.c)"),
    ("by_s", "FOR (t:T) ON (t.s)"),
    ("by_both", "FOR (t:T) ON (t.c, t.s)"),
    ("by_x", "FOR ()-[r:R0]-() ON (r.x)"),
];

const STANDING: [(&str, &str); 3] = [
    ("sums", "MATCH (t:T) RETURN count(*) AS n, sum(t.c) AS s"),
    ("thirds", "MATCH (t:T) WHERE t.c % 3 = 0 RETURN count(*) AS n"),
    ("hops", "MATCH (a:T)-[r:R0]->(b:T) RETURN count(*) AS n, sum(a.c + b.c) AS s"),
];

struct Run {
    chance: Chance,
    amount: Amount,
    disk: Arc<SimDisk>,
    database: Option<Database>,
    model: Model,
    history: bool,
    /// Commit version, nodes, edges.
    past: Vec<(u64, u64, u64)>,
    crossed: Crossed,
    trace: Vec<String>,
}

/// Crosses limits as the seed says.
///
/// # Errors
/// The first thing that is wrong, and the steps up to it.
pub fn cross(seed: u64, amount: Amount) -> Result<Crossed, String> {
    let mut run = Run {
        chance: Chance::seeded(seed),
        amount,
        disk: Arc::new(SimDisk::new()),
        database: None,
        model: Model::default(),
        history: seed.is_multiple_of(2),
        past: Vec::new(),
        crossed: Crossed::default(),
        trace: Vec::new(),
    };
    run.all().map_err(|what| format!("seed {seed}: {what}\nafter {:#?}", run.trace))?;
    Ok(run.crossed)
}

fn told(error: Error) -> String {
    error.to_string()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

impl Run {
    fn all(&mut self) -> Result<(), String> {
        self.open()?;
        self.prepare()?;
        for _ in 0..self.amount.steps {
            self.step()?;
            self.event()?;
            self.compare()?;
            self.crossed.steps += 1;
            self.crossed.nodes_max = self.crossed.nodes_max.max(self.model.nodes.len());
            self.crossed.edges_max = self.crossed.edges_max.max(self.model.edges.len());
        }
        self.close()?;
        self.open()?;
        self.compare()
    }

    fn database(&self) -> &Database {
        self.database.as_ref().expect("it is open between steps")
    }

    fn query(&self, text: &str, params: Params) -> Result<Vec<Vec<Value>>, String> {
        let result = self.database().session().query(text, params).and_then(|result| result.rows());
        result.map_err(|error| format!("{text}: {}", told(error)))
    }

    fn prepare(&mut self) -> Result<(), String> {
        if self.history {
            self.database().set_history(History::Forever).map_err(told)?;
        }
        self.query("CREATE CONSTRAINT u_unique FOR (t:T) REQUIRE t.u IS UNIQUE", Params::new())?;
        self.query("CREATE INDEX w_index FOR ()-[r:R0]-() ON (r.w)", Params::new())?;
        for (name, text) in STANDING {
            self.database().create_standing(name, text).map_err(told)?;
        }
        Ok(())
    }

    /// A number below, at or above a limit, or any small one; at most `max`.
    fn near(&mut self, max: usize) -> usize {
        let small = self.chance.happens(0.6);
        let among = if small { SMALL } else { AROUND.len() };
        let limit = AROUND[self.chance.below(among as u64) as usize];
        let near = if self.chance.happens(0.2) {
            self.chance.below(limit)
        } else {
            limit - 1 + self.chance.below(3)
        };
        (near as usize).clamp(1, max.max(1))
    }

    fn step(&mut self) -> Result<(), String> {
        match self.chance.below(21) {
            0..5 => self.grow(),
            5 | 6 => self.grow_to(),
            7 => self.shrink(),
            8..11 => self.alter(),
            11 | 12 => self.relabel(),
            13..16 => self.connect(),
            16 => self.cut(),
            17 => self.change_schema(),
            18 => self.names(),
            19 => self.accounts(),
            _ => self.abort(),
        }
    }

    /// Texts of one batch: few that repeat, all different, long ones, or none.
    fn texts(&mut self, count: usize) -> Vec<String> {
        let kind = self.chance.below(5);
        let distinct = [count as u64, 3, (count as u64 / 4).max(1), count as u64 / 4 + 1, 2][kind as usize];
        let long = if kind == 4 { 1_500 } else { 4 };
        let begin = self.chance.below(1_000);
        (0..count as u64).map(|at| format!("{:0>long$}", begin + at % distinct.max(1))).collect()
    }

    fn grow(&mut self) -> Result<(), String> {
        let count = self.near(self.amount.nodes_max.saturating_sub(self.model.nodes.len()));
        self.grow_by(count)
    }

    /// To just below, at or above a limit, wherever it is now.
    fn grow_to(&mut self) -> Result<(), String> {
        let there = self.model.nodes.len() as u64;
        let next =
            AROUND.iter().flat_map(|limit| [*limit, limit + 4_096]).filter(|limit| *limit > there + 2).min();
        let Some(next) = next.filter(|next| *next < self.amount.nodes_max as u64) else {
            return self.shrink();
        };
        let to = next - 1 + self.chance.below(3);
        self.grow_by((to - there) as usize)
    }

    fn grow_by(&mut self, count: usize) -> Result<(), String> {
        self.trace.push(format!("grow {} by {count}", self.model.nodes.len()));
        let (texts, spread) = (self.texts(count), 1 + self.chance.below(20_000));
        let mut rows = Vec::with_capacity(count);
        for s in texts {
            let (u, c) = (self.model.next_u, self.chance.below(spread) as i64);
            self.model.next_u += 1;
            rows.push(Value::list(vec![u.into(), c.into(), s.as_str().into()]));
            self.model.nodes.insert(u, Node { c, s, labels: BTreeSet::new() });
        }
        let text = "UNWIND $rows AS r CREATE (:T {u: r[0], c: r[1], s: r[2]})";
        self.query(text, params! { "rows" => Value::list(rows) }).map(|_| ())
    }

    /// Neighbouring numbers, so that whole leaves and chunks empty.
    fn some(&mut self) -> Vec<i64> {
        let count = self.near(self.model.nodes.len());
        let last = self.model.nodes.len().saturating_sub(count) as u64;
        let first = if self.chance.happens(0.3) { 0 } else { self.chance.below(last + 1) };
        self.model.nodes.keys().skip(first as usize).take(count).copied().collect()
    }

    fn shrink(&mut self) -> Result<(), String> {
        let gone = self.some();
        self.trace.push(format!("shrink {} by {}", self.model.nodes.len(), gone.len()));
        gone.iter().for_each(|u| drop(self.model.nodes.remove(u)));
        let nodes = &self.model.nodes;
        self.model.edges.retain(|_, (from, to, ..)| nodes.contains_key(from) && nodes.contains_key(to));
        let us = Value::list(gone.into_iter().map(Value::from).collect());
        self.query("UNWIND $us AS u MATCH (t:T {u: u}) DETACH DELETE t", params! { "us" => us }).map(|_| ())
    }

    fn alter(&mut self) -> Result<(), String> {
        let some = self.some();
        self.trace.push(format!("alter {} of {}", some.len(), self.model.nodes.len()));
        let mut rows = Vec::with_capacity(some.len());
        for (u, s) in some.iter().zip(self.texts(some.len())) {
            let c = self.chance.below(9_000) as i64 - 10;
            rows.push(Value::list(vec![(*u).into(), c.into(), s.as_str().into()]));
            if let Some(node) = self.model.nodes.get_mut(u) {
                (node.c, node.s) = (c, s);
            }
        }
        let text = "UNWIND $rows AS r MATCH (t:T {u: r[0]}) SET t.c = r[1], t.s = r[2]";
        self.query(text, params! { "rows" => Value::list(rows) }).map(|_| ())
    }

    fn relabel(&mut self) -> Result<(), String> {
        let (some, label) = (self.some(), format!("L{}", self.chance.below(LABELS)));
        let adds = self.chance.happens(0.7);
        self.trace.push(format!("label {} of {}: {label} {adds}", some.len(), self.model.nodes.len()));
        for u in &some {
            if let Some(node) = self.model.nodes.get_mut(u) {
                if adds {
                    node.labels.insert(label.clone())
                } else {
                    node.labels.remove(&label)
                };
            }
        }
        let change = if adds { "SET" } else { "REMOVE" };
        let us = Value::list(some.into_iter().map(Value::from).collect());
        let text = format!("UNWIND $us AS u MATCH (t:T {{u: u}}) {change} t:{label}");
        self.query(&text, params! { "us" => us }).map(|_| ())
    }

    /// From one hub, into one hub, or between any; also to itself.
    fn connect(&mut self) -> Result<(), String> {
        if self.model.nodes.is_empty() {
            return Ok(());
        }
        let us: Vec<i64> = self.model.nodes.keys().copied().collect();
        let count = self.near(self.amount.nodes_max.saturating_sub(self.model.edges.len()));
        let (kind, shape) = (format!("R{}", self.chance.below(TYPES)), self.chance.below(3));
        self.trace.push(format!("connect {count} {kind}, shape {shape}, beside {}", self.model.edges.len()));
        let (hub, texts) = (us[self.chance.below(us.len() as u64) as usize], self.texts(count));
        let mut rows = Vec::with_capacity(count);
        for x in texts {
            let any = |chance: &mut Chance| us[chance.below(us.len() as u64) as usize];
            let from = if shape == 0 { hub } else { any(&mut self.chance) };
            let to = if shape == 1 { hub } else { any(&mut self.chance) };
            let w = self.model.next_w;
            self.model.next_w += 1;
            rows.push(Value::list(vec![from.into(), to.into(), w.into(), x.as_str().into()]));
            self.model.edges.insert(w, (from, to, kind.clone(), x));
        }
        let text = format!(
            "UNWIND $rows AS r MATCH (a:T {{u: r[0]}}) MATCH (b:T {{u: r[1]}}) CREATE (a)-[:{kind} {{w: r[2], x: r[3]}}]->(b)"
        );
        self.query(&text, params! { "rows" => Value::list(rows) }).map(|_| ())
    }

    /// Edges of one type, found by their index.
    fn cut(&mut self) -> Result<(), String> {
        let all: Vec<i64> =
            self.model.edges.iter().filter(|(_, edge)| edge.2 == "R0").map(|(w, _)| *w).collect();
        let count = self.near(all.len());
        self.trace.push(format!("cut {count} of {}", all.len()));
        let first = self.chance.below(all.len().saturating_sub(count) as u64 + 1) as usize;
        let gone: Vec<i64> = all.into_iter().skip(first).take(count).collect();
        gone.iter().for_each(|w| drop(self.model.edges.remove(w)));
        let ws = Value::list(gone.into_iter().map(Value::from).collect());
        self.query("UNWIND $ws AS w MATCH ()-[r:R0 {w: w}]->() DELETE r", params! { "ws" => ws }).map(|_| ())
    }

    fn change_schema(&mut self) -> Result<(), String> {
        let (name, about) = INDEXES[self.chance.below(INDEXES.len() as u64) as usize];
        self.trace.push(format!("index {name}"));
        let text = match self.model.indexes.remove(name) {
            true => format!("DROP INDEX {name}"),
            false => {
                self.model.indexes.insert(name);
                format!("CREATE INDEX {name} {about}")
            }
        };
        self.query(&text, Params::new()).map(|_| ())
    }

    /// Tenants by the dozen, made and dropped; and one user, whose password takes its time.
    fn accounts(&mut self) -> Result<(), String> {
        let count = self.near(40);
        self.trace.push(format!("{count} tenants"));
        for at in 0..count {
            let name = format!("t{}", self.chance.below(60));
            let share = 1 + at as u32;
            let text = match self.model.tenants.remove(&name) {
                Some(_) if self.chance.happens(0.5) => format!("DROP TENANT {name}"),
                was => {
                    self.model.tenants.insert(name.clone(), share);
                    let verb = if was.is_some() { "ALTER" } else { "CREATE" };
                    format!("{verb} TENANT {name} SET SHARE {share}")
                }
            };
            self.query(&text, Params::new())?;
        }
        let name = format!("u{}", self.chance.below(4));
        let text = match self.model.users.remove(&name) {
            true => format!("DROP USER {name}"),
            false => {
                self.model.users.insert(name.clone());
                format!("CREATE USER {name} SET PASSWORD 'long enough'")
            }
        };
        self.query(&text, Params::new()).map(|_| ())
    }

    /// New labels, types and keys; the node is removed again, the names stay.
    fn names(&mut self) -> Result<(), String> {
        let count = self.near(300);
        self.trace.push(format!("{count} names"));
        let begin = self.model.next_name;
        self.model.next_name += count as i64;
        let keys = (begin..begin + count as i64).map(|at| (format!("k{at}"), Value::Int(at)));
        let text = format!("CREATE (n:New{begin})-[:NEW{begin}]->(n) SET n += $keys WITH n DETACH DELETE n");
        self.query(&text, params! { "keys" => Value::map(keys) }).map(|_| ())
    }

    /// A rollback leaves names and numbers behind, and nothing else.
    fn abort(&mut self) -> Result<(), String> {
        let begin = self.model.next_name;
        self.model.next_name += 1;
        self.trace.push("abort".into());
        let mut session = self.database().session();
        session.begin(Mode::Write).map_err(told)?;
        let text = format!(
            "UNWIND range(1, 300) AS i CREATE (:T {{u: -i, c: i}})-[:GONE{begin}]->(:Gone{begin} {{g{begin}: i}})"
        );
        session.query(&text, Params::new()).and_then(|result| result.finish()).map_err(told)?;
        session.rollback().map_err(told)
    }

    fn event(&mut self) -> Result<(), String> {
        let event = self.chance.below(12);
        let name = ["checkpoint", "close", "close", "kill", "kill", "power", "power", "backup"];
        self.trace.extend(name.get(event as usize).map(|name| name.to_string()));
        match event {
            0 => return self.database().checkpoint().map(|_| ()).map_err(told),
            1 | 2 => self.close()?,
            3 | 4 => {
                let killed = self.disk.kill();
                self.forget(killed);
            }
            5 | 6 => {
                let seed = self.chance.next_u64();
                let left = self.disk.crash(seed);
                self.forget(left);
            }
            7 => return self.back_up_and_restore(),
            _ => return Ok(()),
        }
        self.open()
    }

    fn close(&mut self) -> Result<(), String> {
        let database = self.database.take().expect("it is open between steps");
        database.close().map_err(|error| format!("it does not close: {error}"))?;
        self.disk = Arc::new(self.disk.kill());
        Ok(())
    }

    fn forget(&mut self, disk: SimDisk) {
        self.database = None;
        self.disk = Arc::new(disk);
    }

    /// Verifies the files, and opens the database.
    fn open(&mut self) -> Result<(), String> {
        let shared: Arc<dyn Disk> = self.disk.clone();
        if self.crossed.opens > 0 {
            self.sound(&shared, FOLDER)?;
        }
        self.database = Some(opened(shared, FOLDER)?);
        self.crossed.opens += 1;
        Ok(())
    }

    fn sound(&self, disk: &Arc<dyn Disk>, folder: &str) -> Result<(), String> {
        let report = database::check(disk, folder).map_err(|error| format!("{folder}: {error}"))?.report;
        match report.problems.is_empty() {
            true => Ok(()),
            false => Err(format!("{folder} is not sound: {:?}", report.problems)),
        }
    }

    /// The backup is made while the database is open; the restored copy replaces it.
    fn back_up_and_restore(&mut self) -> Result<(), String> {
        let shared: Arc<dyn Disk> = self.disk.clone();
        for folder in [BACKUP, RESTORED] {
            remove(&*shared, Path::new(folder)).map_err(|error| error.to_string())?;
        }
        database::backup(&shared, FOLDER, BACKUP).map_err(|error| format!("backup: {error}"))?;
        self.sound(&shared, BACKUP)?;
        transact::restore(&shared, Path::new(BACKUP), Path::new(RESTORED))
            .map_err(|error| format!("restore: {error}"))?;
        self.sound(&shared, RESTORED)?;
        let own = self.database.replace(opened(shared, RESTORED)?);
        let outcome = self.compare();
        self.database = own;
        self.crossed.restored += 1;
        outcome.map_err(|what| format!("restored: {what}"))
    }

    fn compare(&mut self) -> Result<(), String> {
        let snapshot = self.database().snapshot();
        let faults = audit(&snapshot).map_err(|error| error.to_string())?;
        if !faults.is_empty() {
            return Err(format!("the snapshot disagrees with itself: {faults:#?}"));
        }
        self.compare_nodes()?;
        self.compare_edges()?;
        self.compare_accounts()?;
        self.compare_past()?;
        STANDING.iter().try_for_each(|(name, text)| kept::agrees(self.database(), name, text))
    }

    fn compare_nodes(&self) -> Result<(), String> {
        let mut found = BTreeMap::new();
        for row in self.query("MATCH (t:T) RETURN t.u, t.c, t.s, labels(t)", Params::new())? {
            let number = |at: usize| row[at].as_int().ok_or_else(|| format!("no number in {row:?}"));
            let labels = match &row[3] {
                Value::List(labels) => labels.iter().map(text_of).filter(|label| label != "T").collect(),
                other => return Err(format!("labels are {other:?}")),
            };
            found.insert(number(0)?, Node { c: number(1)?, s: text_of(&row[2]), labels });
        }
        if found == self.model.nodes {
            return Ok(());
        }
        let wrong = self.model.nodes.iter().find(|(u, node)| found.get(u) != Some(node));
        let (here, there) = (found.len(), self.model.nodes.len());
        Err(format!("{here} nodes, {there} wanted, {wrong:?} is {:?}", wrong.map(|(u, _)| found.get(u))))
    }

    fn compare_edges(&self) -> Result<(), String> {
        let mut found = BTreeMap::new();
        for row in self.query("MATCH (a:T)-[r]->(b:T) RETURN a.u, b.u, r.w, type(r), r.x", Params::new())? {
            let number = |at: usize| row[at].as_int().ok_or_else(|| format!("no number in {row:?}"));
            found.insert(number(2)?, (number(0)?, number(1)?, text_of(&row[3]), text_of(&row[4])));
        }
        match found == self.model.edges {
            true => Ok(()),
            false => Err(format!("{} edges, {} wanted", found.len(), self.model.edges.len())),
        }
    }

    fn compare_accounts(&self) -> Result<(), String> {
        let shares = |(name, tenant): (String, database::Tenant)| (name, tenant.allowance.share);
        let tenants: BTreeMap<String, u32> = self.database().tenants().into_iter().map(shares).collect();
        let users: BTreeSet<String> = self.database().users().names().into_iter().collect();
        match (&tenants, &users) == (&self.model.tenants, &self.model.users) {
            true => Ok(()),
            false => Err(format!("tenants {tenants:?}, users {users:?}")),
        }
    }

    /// Notes this version, and reads one before it.
    fn compare_past(&mut self) -> Result<(), String> {
        if !self.history {
            return Ok(());
        }
        let now = self.database().snapshot();
        self.past.push((now.commit_version(), self.model.nodes.len() as u64, self.model.edges.len() as u64));
        if self.past.len() > MOMENTS {
            let at = self.chance.below(MOMENTS as u64) as usize;
            self.past.remove(at);
        }
        let (commit_version, nodes, edges) = self.past[self.chance.below(self.past.len() as u64) as usize];
        let past = self.database().snapshot_at(Moment::CommitVersion(commit_version)).map_err(told)?;
        let label = past.catalog().label("T");
        let found = label.map_or(0, |label| past.statistics().vertices_with_label(label));
        self.crossed.moments += 1;
        match (found, past.statistics().edges()) == (nodes, edges) {
            true => Ok(()),
            false => Err(format!(
                "at version {commit_version} there were {nodes} nodes, {edges} edges, found {found}"
            )),
        }
    }
}

fn opened(disk: Arc<dyn Disk>, folder: &str) -> Result<Database, String> {
    let options = Options { executors: Some(1), ..Options::default() };
    Database::open_on(disk, folder, options).map_err(|error| format!("{folder} does not open: {error}"))
}

/// Removes a folder and its content, if it exists.
fn remove(disk: &dyn Disk, folder: &Path) -> world::disk::DiskResult<()> {
    if !disk.exists(folder)? {
        return Ok(());
    }
    for inner in [folder.join("data"), folder.join("log"), folder.to_path_buf()] {
        if !disk.exists(&inner)? {
            continue;
        }
        for name in disk.list(&inner)? {
            disk.remove(&inner.join(name))?;
        }
        disk.remove(&inner)?;
    }
    Ok(())
}
