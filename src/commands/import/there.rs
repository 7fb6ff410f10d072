//! An import into a database that a server has open, be it one process or a cluster.
//!
//! ```text
//!   files ── import ──> graph in memory, here ──> schema · nodes of which the server knows the ids · new nodes · relationships ──> server
//! ```
//!
//! Idea: files are read, understood and checked as always, into a graph of their own. What came of that is sent by statements that any client could
//! send, so the server's rights, constraints and limits hold.
//! Invariants: before anything is changed there, every node is looked for that a constraint keeps unique. What is sent comes in pieces, each a commit;
//! a statement that failed as retryable is sent again, one whose outcome is unknown is not.
//! Cost: the graph of the files in memory, here; some 40 bytes a node beside it.

use crate::commands::Exit;
use crate::commands::remote::{Remote, plain};
use database::entity::Hydrated;
use database::{Database, Error, Params, Quoted, Value, is_hidden_key};
use ingest::ExistingPolicy;
use shell::text::value_text;
use shell::{Local, Talk};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Rows of one statement.
const PIECE_ROWS: usize = 2_000;
/// Bytes of rows that are enough for one statement; one row may be larger.
const PIECE_BYTES_ENOUGH: usize = 1 << 20;
/// Bytes of all rows that wait for others of their kind.
const WAITING_BYTES_MAX: usize = 32 << 20;
/// Times that a statement is sent which fails as retryable.
const ATTEMPTS_MAX: u32 = 10;
/// Pause before it is sent again; twice as long each time.
const PAUSE: Duration = Duration::from_millis(20);
/// Codes of a schema that is there already.
const THERE_ALREADY: [&str; 3] = [
    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
    "Neo.ClientError.Schema.IndexAlreadyExists",
    "Neo.ClientError.Schema.ConstraintAlreadyExists",
];
/// Code of what is there already, and was not told what to do then.
const EXISTS: &str = "Neo.ClientError.Import.Exists";

/// What was sent so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// Nodes added.
    pub nodes: u64,
    /// Relationships added.
    pub relationships: u64,
    /// Nodes and relationships that were there.
    pub existing: u64,
    /// Rows that the server has dealt with.
    pub rows: u64,
}

/// Sends all of a graph to a server; `told` hears after each piece how far it is.
///
/// # Errors
/// A node is there already and may not be; the server refuses something, or is gone. What was sent before stays; the error says how much.
pub fn send(
    graph: &Database,
    remote: &mut Remote,
    policy: ExistingPolicy,
    told: &dyn Fn(Sent),
) -> Result<Sent, Exit> {
    let mut sending = Sending {
        unique: unique(graph)?,
        graph: Local::new(graph.session()),
        server: Server {
            remote,
            policy,
            told,
            ids: HashMap::new(),
            found: HashMap::new(),
            sent: Sent::default(),
        },
    };
    let snapshot = graph.latest()?;
    if snapshot.catalog().names().keys().iter().any(|key| is_hidden_key(key)) {
        let what = "several values of one property, and properties of properties, cannot be sent to a server";
        let error = Error::new("Tanglewood.ClientError.Import.MultiProperties", what);
        return Err(error.hint("import into a folder that no server has open").into());
    }
    sending.all().map_err(|error| sending.server.explained(error))?;
    Ok(sending.server.sent)
}

/// By label, the property whose values a constraint keeps unique.
fn unique(graph: &Database) -> Result<BTreeMap<String, String>, Error> {
    let mut local = Local::new(graph.session());
    let text = "SHOW CONSTRAINTS YIELD entityType, type, labelsOrTypes, properties \
                WHERE entityType = 'NODE' AND type IN ['UNIQUENESS', 'NODE_KEY'] AND size(properties) = 1 \
                RETURN labelsOrTypes[0], properties[0]";
    let mut unique = BTreeMap::new();
    each(&mut local, text, &mut |row| {
        let text = |at: usize| row.get(at).and_then(Value::as_str).unwrap_or_default().to_string();
        unique.insert(text(0), text(1));
        Ok(())
    })?;
    Ok(unique)
}

/// Reads every row of a statement.
fn each(
    local: &mut Local,
    text: &str,
    take: &mut dyn FnMut(Vec<Value>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut answer = local.query(text, &Params::new())?;
    while let Some(rows) = answer.next_rows()? {
        for row in rows {
            take(row.into_iter().map(plain).collect())?;
        }
    }
    Ok(())
}

/// What rows of one kind have in common: labels, or a type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Nodes with these labels, to be looked for by the property of the first.
    Known(String, String),
    /// New nodes.
    Nodes(Vec<String>),
    /// Nodes that are there, whose properties are set.
    Updates,
    /// Relationships of this type.
    Relationships(String),
    /// Relationships between nodes that were there.
    Repeated(String),
}

/// Rows that wait to be sent together.
#[derive(Default)]
struct Waiting {
    rows: BTreeMap<Kind, Rows>,
    bytes: usize,
}

#[derive(Default)]
struct Rows {
    /// Ids in the graph of the files, of nodes.
    own: Vec<i64>,
    rows: Vec<Value>,
    bytes: usize,
}

impl Waiting {
    /// Takes a row; the rows that are enough for a statement now.
    fn take(&mut self, kind: Kind, own: i64, row: Value) -> Vec<(Kind, Rows)> {
        let bytes = row.heap_bytes();
        self.bytes += bytes;
        let rows = self.rows.entry(kind.clone()).or_default();
        rows.own.push(own);
        rows.rows.push(row);
        rows.bytes += bytes;
        if self.bytes > WAITING_BYTES_MAX {
            return self.all();
        }
        if rows.rows.len() < PIECE_ROWS && rows.bytes < PIECE_BYTES_ENOUGH {
            return Vec::new();
        }
        self.bytes -= rows.bytes;
        self.rows.remove(&kind).map(|rows| (kind, rows)).into_iter().collect()
    }
    fn all(&mut self) -> Vec<(Kind, Rows)> {
        self.bytes = 0;
        std::mem::take(&mut self.rows).into_iter().collect()
    }
}

/// A graph on its way.
struct Sending<'s> {
    graph: Local,
    unique: BTreeMap<String, String>,
    server: Server<'s>,
}

impl Sending<'_> {
    fn all(&mut self) -> Result<(), Error> {
        self.schema()?;
        self.look_for_nodes()?;
        self.nodes()?;
        self.relationships()
    }
    /// Makes the indexes and constraints that are not there.
    fn schema(&mut self) -> Result<(), Error> {
        let mut statements: Vec<String> = Vec::new();
        let mut add = |row: Vec<Value>| {
            statements.extend(row.first().and_then(Value::as_str).map(str::to_string));
            Ok(())
        };
        each(&mut self.graph, "SHOW CONSTRAINTS YIELD createStatement", &mut add)?;
        let indexes = "SHOW INDEXES YIELD createStatement, owningConstraint WHERE owningConstraint IS NULL \
                       RETURN createStatement";
        each(&mut self.graph, indexes, &mut add)?;
        let mut there = self.server.run("SHOW CONSTRAINTS YIELD createStatement", Params::new())?;
        there.extend(self.server.run("SHOW INDEXES YIELD createStatement", Params::new())?);
        let is_there = |statement: &String| {
            there.iter().any(|row| row.first().and_then(Value::as_str) == Some(statement.as_str()))
        };
        for statement in statements.iter().filter(|statement| !is_there(statement)) {
            match self.server.run(statement, Params::new()) {
                Err(error) if !THERE_ALREADY.contains(&&*error.code) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
    /// Finds the nodes that the server has already, by what is unique.
    fn look_for_nodes(&mut self) -> Result<(), Error> {
        let unique = std::mem::take(&mut self.unique);
        let (mut waiting, server) = (Waiting::default(), &mut self.server);
        for (label, key) in &unique {
            let (label, key) = (label.as_str(), key.as_str());
            let text = format!(
                "MATCH (n:{0}) WHERE n.{1} IS NOT NULL RETURN id(n), n.{1}",
                Quoted(label),
                Quoted(key)
            );
            each(&mut self.graph, &text, &mut |mut row| {
                let (value, own) = (row.pop().unwrap_or(Value::Null), row.first().and_then(Value::as_int));
                let kind = Kind::Known(label.to_string(), key.to_string());
                server.send_all(waiting.take(kind, own.unwrap_or_default(), value))
            })?;
        }
        server.send_all(waiting.all())
    }
    fn nodes(&mut self) -> Result<(), Error> {
        let (mut waiting, server) = (Waiting::default(), &mut self.server);
        each(&mut self.graph, "MATCH (n) RETURN id(n), labels(n), properties(n)", &mut |row| {
            let [own, labels, properties] = three(row)?;
            let own = own.as_int().unwrap_or_default();
            let ready = match server.found.get(&own) {
                Some(there) => {
                    server.sent.existing += 1;
                    if server.policy != ExistingPolicy::Merge {
                        return Ok(());
                    }
                    waiting.take(Kind::Updates, own, Value::list(vec![Value::Int(*there), properties]))
                }
                None => waiting.take(Kind::Nodes(texts(&labels)), own, properties),
            };
            server.send_all(ready)
        })?;
        server.send_all(waiting.all())
    }
    fn relationships(&mut self) -> Result<(), Error> {
        let (mut waiting, server) = (Waiting::default(), &mut self.server);
        let text = "MATCH (a)-[r]->(b) RETURN id(a), id(b), type(r), properties(r)";
        each(&mut self.graph, text, &mut |mut row| {
            let properties = row.pop().unwrap_or(Value::Null);
            let [source, target, name] = three(row)?;
            let found = |end: &Value| {
                let own = end.as_int().unwrap_or_default();
                let there = server.found.get(&own);
                (there.or_else(|| server.ids.get(&own)).copied(), there.is_some())
            };
            let ((Some(source), was_there), (Some(target), was_too)) = (found(&source), found(&target))
            else {
                return Err(Error::new(
                    "Tanglewood.DatabaseError.Import.Lost",
                    "a node of the files was not sent",
                ));
            };
            let name = name.as_str().unwrap_or_default().to_string();
            let kind = if was_there && was_too { Kind::Repeated(name) } else { Kind::Relationships(name) };
            let row = Value::list(vec![Value::Int(source), Value::Int(target), properties]);
            server.send_all(waiting.take(kind, 0, row))
        })?;
        server.send_all(waiting.all())
    }
}

fn three(row: Vec<Value>) -> Result<[Value; 3], Error> {
    row.try_into().map_err(|_| Error::new("Tanglewood.DatabaseError.Import.Row", "a row of another width"))
}

fn texts(list: &Value) -> Vec<String> {
    let Value::List(list) = list else { return Vec::new() };
    list.iter().filter_map(Value::as_str).map(str::to_string).collect()
}

/// The server, and what is known of it.
struct Server<'s> {
    remote: &'s mut Remote,
    policy: ExistingPolicy,
    told: &'s dyn Fn(Sent),
    /// Its ids of nodes that were sent, by those in the graph of the files.
    ids: HashMap<i64, i64>,
    /// The same of nodes that were there.
    found: HashMap<i64, i64>,
    sent: Sent,
}

impl Server<'_> {
    /// Runs a statement, again where it may be retried.
    fn run(&mut self, text: &str, params: Params) -> Result<Vec<Vec<Value>>, Error> {
        let mut attempts = 0;
        loop {
            match self.remote.table_with(text, &params) {
                Ok((_, rows)) => return Ok(rows),
                Err(error) if error.code.starts_with("Neo.TransientError.") && attempts < ATTEMPTS_MAX => {
                    world::threads::sleep(PAUSE * (1 << attempts.min(6)));
                    attempts += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
    fn send_all(&mut self, all: Vec<(Kind, Rows)>) -> Result<(), Error> {
        all.into_iter().try_for_each(|(kind, rows)| self.send(kind, rows))
    }
    fn send(&mut self, kind: Kind, rows: Rows) -> Result<(), Error> {
        let count = rows.rows.len() as u64;
        match kind {
            Kind::Known(label, key) => self.look_for(&label, &key, rows)?,
            Kind::Nodes(labels) => self.create(&labels, rows)?,
            Kind::Updates => {
                let text = "UNWIND $rows AS row MATCH (n) WHERE id(n) = row[0] SET n += row[1]";
                self.run(text, of(rows.rows))?;
            }
            Kind::Relationships(name) => self.relate(&name, rows.rows)?,
            Kind::Repeated(name) => {
                let fresh = self.fresh(&name, rows.rows)?;
                self.sent.existing += count - fresh.len() as u64;
                if !fresh.is_empty() {
                    self.relate(&name, fresh)?;
                }
            }
        }
        self.sent.rows += count;
        (self.told)(self.sent);
        Ok(())
    }
    fn look_for(&mut self, label: &str, key: &str, rows: Rows) -> Result<(), Error> {
        let text = format!(
            "UNWIND range(0, size($rows) - 1) AS at MATCH (n:{} {{{}: $rows[at]}}) RETURN at, id(n)",
            Quoted(label),
            Quoted(key)
        );
        let values = rows.rows.clone();
        for row in self.run(&text, of(rows.rows))? {
            let (Some(at), Some(id)) = (number(&row, 0), number(&row, 1)) else { continue };
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            let Some(own) = rows.own.get(at) else { continue };
            if self.policy == ExistingPolicy::Fail {
                let value = value_text(&Hydrated::Plain(values[at].clone()));
                let what = format!(
                    "a node :{label} with {key} {value} is in the database already; nothing was imported"
                );
                let hint = "--existing skip adds the rest, and merge sets the properties of what is there";
                return Err(Error::new(EXISTS, what).hint(hint));
            }
            self.found.insert(*own, id);
        }
        Ok(())
    }
    fn create(&mut self, labels: &[String], rows: Rows) -> Result<(), Error> {
        let labels: String = labels.iter().map(|label| format!(":{}", Quoted(label))).collect();
        let text = format!(
            "UNWIND range(0, size($rows) - 1) AS at CREATE (n{labels}) SET n = $rows[at] RETURN at, id(n)"
        );
        let answer = self.run(&text, of(rows.rows))?;
        self.sent.nodes += answer.len() as u64;
        for row in answer {
            let (Some(at), Some(id)) = (number(&row, 0), number(&row, 1)) else { continue };
            if let Some(own) = usize::try_from(at).ok().and_then(|at| rows.own.get(at)) {
                self.ids.insert(*own, id);
            }
        }
        Ok(())
    }
    fn relate(&mut self, name: &str, rows: Vec<Value>) -> Result<(), Error> {
        let wanted = rows.len() as i64;
        let text = format!(
            "UNWIND $rows AS row MATCH (a) WHERE id(a) = row[0] MATCH (b) WHERE id(b) = row[1] \
             CREATE (a)-[r:{}]->(b) SET r = row[2] RETURN count(*)",
            Quoted(name)
        );
        let made = self.run(&text, of(rows))?.first().and_then(|row| number(row, 0)).unwrap_or(0);
        self.sent.relationships += u64::try_from(made).unwrap_or(0);
        if made < wanted {
            let what = format!("others deleted nodes of {} relationships meanwhile", wanted - made);
            return Err(Error::new("Neo.ClientError.Statement.EntityNotFound", what));
        }
        Ok(())
    }
    /// The relationships that are not there: each of the server's counts for one of the files, of the same type, ends and properties.
    fn fresh(&mut self, name: &str, rows: Vec<Value>) -> Result<Vec<Value>, Error> {
        let text = format!(
            "UNWIND $rows AS row WITH DISTINCT row[0] AS source, row[1] AS target \
             MATCH (a) WHERE id(a) = source MATCH (b) WHERE id(b) = target MATCH (a)-[r:{}]->(b) \
             RETURN source, target, properties(r)",
            Quoted(name)
        );
        let ends = |row: &Value| match row {
            Value::List(row) => Value::list(row.iter().take(2).cloned().collect::<Vec<_>>()),
            _ => Value::Null,
        };
        let mut held: HashMap<String, usize> = HashMap::new();
        for row in self.run(&text, of(rows.iter().map(ends).collect()))? {
            *held.entry(format!("{:?}", Value::list(row))).or_default() += 1;
        }
        let is_fresh = |row: &Value| match held.get_mut(&format!("{row:?}")) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        };
        let mut is_fresh = is_fresh;
        Ok(rows.into_iter().filter(|row| is_fresh(row)).collect())
    }
    /// Says what an import that broke off has left.
    fn explained(&self, error: Error) -> Error {
        let Sent { nodes, relationships, .. } = self.sent;
        if nodes + relationships == 0 {
            return error;
        }
        let left = format!(
            "{nodes} nodes and {relationships} relationships were sent before, and stay; --existing skip goes on from there"
        );
        let hint = error.hint.as_deref().map_or(left.clone(), |hint| format!("{hint}; {left}"));
        error.hint(hint)
    }
}

fn of(rows: Vec<Value>) -> Params {
    Params::from([(Arc::from("rows"), Value::list(rows))])
}

fn number(row: &[Value], at: usize) -> Option<i64> {
    row.get(at)?.as_int()
}
