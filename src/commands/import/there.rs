//! An import into a database that a server has open, be it one process or a cluster.
//!
//! ```text
//!   files ── import ──> graph in memory, here ──> schema · nodes that the server may have · new nodes · relationships ──> server
//! ```
//!
//! Idea: files are read and checked as always, into a graph of their own. That graph is sent by statements that any client could send, so the
//! server's rights, constraints and limits hold.
//! Invariants: before a node or a relationship is sent, every node that may exist is looked up: by the ids of the files, by the keys of uniqueness
//! constraints of the files or the server. Data is sent in pieces, each a commit; a statement that failed as retryable is sent again, one whose
//! outcome is unknown is not. Each relationship of the server counts for one of the files, in whichever piece that comes.
//! Cost: the graph of the files in this process's memory; some 40 bytes a node beside it, and the relationships between existing nodes.

use crate::commands::Exit;
use crate::commands::remote::{Remote, plain};
use database::entity::Hydrated;
use database::{Database, Error, Params, Quoted, Value, is_hidden_key};
use ingest::{ExistingPolicy, KnownBy};
use shell::text::value_text;
use shell::{Local, Talk};
use std::collections::{BTreeMap, HashMap, HashSet};
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
/// Codes of a name that another index or constraint has.
const NAME_TAKEN: [&str; 2] = [
    "Neo.ClientError.Schema.IndexWithNameAlreadyExists",
    "Neo.ClientError.Schema.ConstraintWithNameAlreadyExists",
];
/// Code of what is there already, and was not told what to do then.
const EXISTS: &str = "Neo.ClientError.Import.Exists";
/// Constraints that keep nodes apart: label, properties.
const APART: &str = "SHOW CONSTRAINTS YIELD entityType, type, labelsOrTypes, properties \
                     WHERE entityType = 'NODE' AND type IN ['UNIQUENESS', 'NODE_KEY', 'NODE_PROPERTY_UNIQUENESS'] \
                     RETURN labelsOrTypes[0], properties";

/// What was sent so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// Nodes added.
    pub nodes: u64,
    /// Relationships added.
    pub relationships: u64,
    /// Nodes and relationships that were there.
    pub existing: u64,
    /// Nodes that were there whose properties were set.
    updated: u64,
    /// Rows that the server has dealt with.
    pub rows: u64,
}

/// GraphSON is not sent.
pub fn refused() -> Error {
    let what = "statements cannot send what GraphSON keeps beside properties: the file's own ids, several values of one";
    Error::new("Tanglewood.ClientError.Import.Graphson", what)
        .hint("import it into a folder that no server has open, and serve that")
}

/// Sends all of a graph to a server, whose nodes are known by these ids beside constraints; `told` hears after each piece how far it is.
///
/// # Errors
/// A node is there already and may not be; the server refuses something, or is gone. What was sent before stays; the error says how much.
pub fn send(
    graph: &Database,
    known_by: &[KnownBy],
    remote: &mut Remote,
    policy: ExistingPolicy,
    told: &dyn Fn(Sent),
) -> Result<Sent, Exit> {
    if graph.latest()?.catalog().names().keys().iter().any(|key| is_hidden_key(key)) {
        return Err(refused().into());
    }
    let mut sending = Sending {
        graph: Local::new(graph.session()),
        known_by,
        made: Vec::new(),
        server: Server {
            remote,
            policy,
            told,
            ids: HashMap::new(),
            found: HashMap::new(),
            implied: HashSet::new(),
            looked_for: HashMap::new(),
            asked: HashSet::new(),
            held: HashMap::new(),
            is_repeatable: true,
            sent: Sent::default(),
        },
    };
    let outcome = sending.all();
    if outcome.is_err() && !sending.server.has_sent() {
        sending.drop_schema();
    }
    outcome.map_err(|error| sending.server.explained(error))?;
    Ok(sending.server.sent)
}

/// How nodes are known: a label, and the properties that no two of them have alike.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    label: String,
    properties: Vec<String>,
    /// Is it that of the files' ids? Who has one is known by it alone.
    is_of_ids: bool,
    /// May what is there be there, whatever is said of others?
    is_implied: bool,
}

/// The key of a row of [`APART`].
fn apart(row: &[Value]) -> Option<Key> {
    let label = row.first()?.as_str()?.to_string();
    Some(Key { label, properties: texts(row.get(1)?), is_of_ids: false, is_implied: false })
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
    /// Nodes to be looked for by this.
    Known(Key),
    /// New nodes.
    Nodes(Vec<String>),
    /// Nodes that are there, whose properties are set.
    Updates,
    /// Relationships of this type.
    Relationships(String),
    /// Relationships between nodes that were there.
    Repeated(String),
    /// The same, none of which may be there.
    Checked(String),
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
    known_by: &'s [KnownBy],
    /// Statements that undo the schema that was made.
    made: Vec<String>,
    server: Server<'s>,
}

impl Sending<'_> {
    fn all(&mut self) -> Result<(), Error> {
        self.schema()?;
        self.look_for_nodes()?;
        if self.server.policy == ExistingPolicy::Fail && !self.server.found.is_empty() {
            self.relationships(true)?;
        }
        self.nodes()?;
        self.relationships(false)
    }
    /// Makes the indexes and constraints that are not there.
    fn schema(&mut self) -> Result<(), Error> {
        let mut there = HashSet::new();
        for kind in ["CONSTRAINTS", "INDEXES"] {
            let text = format!("SHOW {kind} YIELD createStatement");
            let rows = self.server.run(&text, Params::new())?;
            there.extend(rows.iter().filter_map(|row| row.first()?.as_str().map(str::to_string)));
        }
        let mut wanted = Vec::new();
        let mut add = |row: Vec<Value>| {
            let text = |at: usize| row.get(at).and_then(Value::as_str).unwrap_or_default().to_string();
            wanted.push((text(0), text(1)));
            Ok(())
        };
        each(&mut self.graph, "SHOW CONSTRAINTS YIELD createStatement, name", &mut add)?;
        let indexes = "SHOW INDEXES YIELD createStatement, name, owningConstraint WHERE owningConstraint IS NULL \
                       RETURN createStatement, name";
        each(&mut self.graph, indexes, &mut add)?;
        wanted.retain(|(statement, _)| !there.contains(statement));
        wanted.iter().try_for_each(|(statement, name)| self.make(statement, name))
    }
    /// Makes an index or constraint; under another name where its own is taken.
    fn make(&mut self, statement: &str, name: &str) -> Result<(), Error> {
        let kind = if statement.starts_with("CREATE CONSTRAINT") { "CONSTRAINT" } else { "INDEX" };
        let quoted = Quoted(name).to_string();
        match self.server.run(statement, Params::new()) {
            Ok(_) => self.made.push(format!("DROP {kind} {quoted} IF EXISTS")),
            Err(error) if THERE_ALREADY.contains(&&*error.code) => {}
            // It gets a name of the server's, and stays, whatever comes.
            Err(error) if NAME_TAKEN.contains(&&*error.code) => {
                match self.server.run(&statement.replacen(&quoted, "", 1), Params::new()) {
                    Err(error) if !THERE_ALREADY.contains(&&*error.code) => return Err(error),
                    _ => {}
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
    /// Nothing was sent: the schema goes again, as far as that is possible.
    fn drop_schema(&mut self) {
        for statement in std::mem::take(&mut self.made) {
            let _ = self.server.run(&statement, Params::new());
        }
    }
    /// The ways in which nodes are known: by their ids, by what the files keep unique, by what the server does.
    fn keys(&mut self) -> Result<Vec<Key>, Error> {
        let of_ids = |known: &KnownBy| Key {
            label: known.label.clone(),
            properties: vec![known.property.clone()],
            is_of_ids: true,
            is_implied: known.is_implied,
        };
        let mut keys: Vec<Key> = self.known_by.iter().map(of_ids).collect();
        let mut add = |row: &[Value]| {
            let is_like =
                |key: &Key, other: &Key| (&key.label, &key.properties) == (&other.label, &other.properties);
            keys.extend(apart(row).filter(|key| !keys.iter().any(|other| is_like(key, other))));
        };
        each(&mut self.graph, APART, &mut |row| {
            add(&row);
            Ok(())
        })?;
        self.server.run(APART, Params::new())?.iter().for_each(|row| add(row));
        Ok(keys)
    }
    /// Finds the nodes that the server has already.
    fn look_for_nodes(&mut self) -> Result<(), Error> {
        for key in self.keys()? {
            let properties: Vec<String> =
                key.properties.iter().map(|property| format!("n.{}", Quoted(property))).collect();
            let all = properties.iter().map(|property| format!("{property} IS NOT NULL")).collect::<Vec<_>>();
            let text = format!(
                "MATCH (n:{}) WHERE {} RETURN id(n), [{}]",
                Quoted(&key.label),
                all.join(" AND "),
                properties.join(", ")
            );
            let (mut waiting, server) = (Waiting::default(), &mut self.server);
            each(&mut self.graph, &text, &mut |mut row| {
                let (values, own) = (row.pop().unwrap_or(Value::Null), row.first().and_then(Value::as_int));
                let own = own.unwrap_or_default();
                let is_by_id = *server.looked_for.entry(own).or_insert(key.is_of_ids);
                match server.found.contains_key(&own) || is_by_id && !key.is_of_ids {
                    true => Ok(()),
                    false => server.send_all(waiting.take(Kind::Known(key.clone()), own, values)),
                }
            })?;
            server.send_all(waiting.all())?;
        }
        Ok(())
    }
    fn nodes(&mut self) -> Result<(), Error> {
        let (mut waiting, server) = (Waiting::default(), &mut self.server);
        each(&mut self.graph, "MATCH (n) RETURN id(n), labels(n), properties(n)", &mut |row| {
            let [own, labels, properties] = three(row)?;
            let own = own.as_int().unwrap_or_default();
            let ready = match server.found.get(&own) {
                Some(_) if server.implied.contains(&own) => return Ok(()),
                Some(there) => {
                    server.sent.existing += 1;
                    if server.policy != ExistingPolicy::Merge {
                        return Ok(());
                    }
                    waiting.take(Kind::Updates, own, Value::list(vec![Value::Int(*there), properties]))
                }
                None => {
                    server.is_repeatable &= server.looked_for.contains_key(&own);
                    waiting.take(Kind::Nodes(texts(&labels)), own, properties)
                }
            };
            server.send_all(ready)
        })?;
        server.send_all(waiting.all())
    }
    /// Sends relationships; or only looks whether those are there that may not be, before anything is sent.
    fn relationships(&mut self, only_looks: bool) -> Result<(), Error> {
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
            let kind = match was_there && was_too {
                true if only_looks => Kind::Checked(name),
                true => Kind::Repeated(name),
                false => Kind::Relationships(name),
            };
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
    /// Those of them of which the files speak as ends of relationships alone.
    implied: HashSet<i64>,
    /// Nodes of the files that can be known, and whether by their ids.
    looked_for: HashMap<i64, bool>,
    /// Nodes that were there between which relationships of a type were asked for.
    asked: HashSet<(String, i64, i64)>,
    /// Relationships that were there and stand for none of the files yet, by type, ends and properties.
    held: HashMap<String, usize>,
    /// Would a second import know every node that was sent?
    is_repeatable: bool,
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
            Kind::Known(key) => self.look_for(&key, rows)?,
            Kind::Nodes(labels) => self.create(&labels, rows)?,
            Kind::Updates => {
                let text = "UNWIND $rows AS row MATCH (n) WHERE id(n) = row[0] SET n += row[1]";
                self.run(text, of(rows.rows))?;
                self.sent.updated += count;
            }
            Kind::Relationships(name) => self.relate(&name, rows.rows)?,
            Kind::Checked(name) => {
                if (self.fresh(&name, rows.rows)?.len() as u64) < count {
                    let what = format!(
                        "a relationship `{name}` between nodes that are there, with the same properties, is in the database already; nothing was imported"
                    );
                    return Err(Error::new(EXISTS, what).hint("--existing skip adds the rest"));
                }
                // They count when they are sent.
                return Ok(());
            }
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
    /// Looks for nodes by the values of a key; for those with a whole number that are not found, by its text as well, as which it was kept where not all
    /// ids of a file are numbers.
    fn look_for(&mut self, key: &Key, rows: Rows) -> Result<(), Error> {
        let unfound = self.look_once(key, &rows.own, rows.rows)?;
        let as_text = |row: Value| match &row {
            Value::List(values) if values.len() == 1 => {
                let number = values.iter().next()?.as_int()?;
                Some(Value::list(vec![Value::from(number.to_string())]))
            }
            _ => None,
        };
        let (own, rows): (Vec<i64>, Vec<Value>) =
            unfound.into_iter().filter_map(|(own, row)| Some((own, as_text(row)?))).unzip();
        if !rows.is_empty() {
            self.look_once(key, &own, rows)?;
        }
        Ok(())
    }
    /// Looks for nodes; those that are not there.
    fn look_once(&mut self, key: &Key, own: &[i64], rows: Vec<Value>) -> Result<Vec<(i64, Value)>, Error> {
        let Key { label, properties, is_implied, .. } = key;
        let of_property = |(at, property): (usize, &String)| format!("{}: row[{at}]", Quoted(property));
        let pattern: Vec<String> = properties.iter().enumerate().map(of_property).collect();
        let text = format!(
            "UNWIND range(0, size($rows) - 1) AS at WITH at, $rows[at] AS row MATCH (n:{} {{{}}}) RETURN at, id(n)",
            Quoted(label),
            pattern.join(", ")
        );
        let mut left: Vec<Option<Value>> = rows.iter().cloned().map(Some).collect();
        for row in self.run(&text, of(rows))? {
            let (Some(at), Some(id)) = (number(&row, 0), number(&row, 1)) else { continue };
            let Some(at) = usize::try_from(at).ok().filter(|at| *at < own.len()) else { continue };
            let Some(values) = left[at].take() else { continue };
            if self.policy == ExistingPolicy::Fail && !is_implied {
                let (properties, values) = (properties.join(", "), value_text(&Hydrated::Plain(values)));
                let what = format!(
                    "a node :{label} with {properties} {values} is in the database already; nothing was imported"
                );
                let hint = "--existing skip adds the rest, and merge sets the properties of what is there";
                return Err(Error::new(EXISTS, what).hint(hint));
            }
            self.found.insert(own[at], id);
            if *is_implied {
                self.implied.insert(own[at]);
            }
        }
        let unfound = own.iter().copied().zip(left);
        Ok(unfound.filter_map(|(own, row)| Some((own, row?))).collect())
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
            let what = format!(
                "the ends of {} relationships are not there any more, or not for this user",
                wanted - made
            );
            return Err(Error::new("Neo.ClientError.Statement.EntityNotFound", what)
                .hint("others deleted nodes meanwhile, or the user may not read what it may create"));
        }
        Ok(())
    }
    /// The relationships that are not there. What the server has between two nodes is asked once, before the first of the files is sent.
    fn fresh(&mut self, name: &str, rows: Vec<Value>) -> Result<Vec<Value>, Error> {
        let text = format!(
            "UNWIND $rows AS row MATCH (a) WHERE id(a) = row[0] MATCH (b) WHERE id(b) = row[1] \
             MATCH (a)-[r:{}]->(b) RETURN row[0], row[1], properties(r)",
            Quoted(name)
        );
        let mut unasked = Vec::new();
        for row in &rows {
            let Value::List(row) = row else { continue };
            let mut ends = row.iter().filter_map(Value::as_int);
            let (Some(source), Some(target)) = (ends.next(), ends.next()) else { continue };
            if self.asked.insert((name.to_string(), source, target)) {
                unasked.push(Value::list(vec![Value::Int(source), Value::Int(target)]));
            }
        }
        let alike = |row: &Value| format!("{name} {row:?}");
        if !unasked.is_empty() {
            for row in self.run(&text, of(unasked))? {
                *self.held.entry(alike(&Value::list(row))).or_default() += 1;
            }
        }
        let mut fresh = rows;
        fresh.retain(|row| match self.held.get_mut(&alike(row)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        });
        Ok(fresh)
    }
    fn has_sent(&self) -> bool {
        self.sent.nodes + self.sent.relationships + self.sent.updated > 0
    }
    /// Says what an import that broke off has left.
    fn explained(&self, error: Error) -> Error {
        let Sent { nodes, relationships, updated, .. } = self.sent;
        if !self.has_sent() {
            return error;
        }
        let again = match self.is_repeatable {
            true => "--existing skip goes on from there",
            false => "a second import would add again those nodes that nothing unique tells apart",
        };
        let left = format!(
            "{nodes} nodes and {relationships} relationships were added and {updated} nodes set before, and stay, as may what was sent last; {again}"
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
