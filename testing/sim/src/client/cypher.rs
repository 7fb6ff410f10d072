//! A client that speaks Cypher to a database.

use super::{Client, Failure, Request, SPREAD, SetKind};
use crate::history::{ObjectId, Operation};
use database::{Database, Error, Mode, Params, Session, Value, params};

/// One session.
pub struct CypherClient {
    session: Session,
}

impl CypherClient {
    /// A client of this database.
    pub fn new(database: &Database) -> CypherClient {
        CypherClient { session: database.session() }
    }

    /// Creates indexes, and empty objects with these numbers. Indexes are made once per database.
    ///
    /// # Errors
    /// A statement failed.
    pub fn prepare(database: &Database, objects: std::ops::Range<ObjectId>) -> Result<(), Error> {
        let mut session = database.session();
        for (text, params) in preparation(objects) {
            session.query(&text, params)?.finish()?;
        }
        Ok(())
    }

    fn ask(&mut self, request: Request) -> Result<Operation, Failure> {
        let (text, params) = statement(request);
        let rows = self.session.query(text, params).and_then(|result| result.rows()).map_err(failure)?;
        told(request, rows.iter().map(|row| &row[0]))
    }
}

impl Client for CypherClient {
    fn begin(&mut self, reading: bool) -> Result<(), Failure> {
        self.session.begin(if reading { Mode::Read } else { Mode::Write }).map_err(failure)
    }
    fn run(&mut self, request: Request) -> Result<Operation, Failure> {
        self.ask(request)
    }
    fn commit(&mut self) -> Result<(), Failure> {
        self.session.commit().map(|_| ()).map_err(failure)
    }
    fn rollback(&mut self) {
        if self.session.in_transaction() {
            self.session.rollback().expect("a transaction is open");
        }
    }
    fn alone(&mut self, request: Request) -> Result<Operation, Failure> {
        self.ask(request)
    }
}

/// The operation from the first column of a statement's rows.
///
/// # Errors
/// A write found no object, or more than one.
pub fn told<'v>(request: Request, rows: impl Iterator<Item = &'v Value>) -> Result<Operation, Failure> {
    if request.writes() {
        return match rows.count() {
            1 => Ok(request.answered(Vec::new())),
            found => Err(Failure::Broken(format!("{request:?} found {found} objects"))),
        };
    }
    let mut seen = Vec::new();
    rows.for_each(|value| integers(value, &mut seen));
    Ok(request.answered(seen))
}

/// The request in Cypher.
pub fn statement(request: Request) -> (&'static str, Params) {
    let only = |id: ObjectId| params! { "id" => i64::from(id) };
    let both = |id: ObjectId, value: i64| params! { "id" => i64::from(id), "value" => value };
    match request {
        Request::Append(id, value) => {
            ("MATCH (l:List {id: $id}) SET l.items = l.items + $value RETURN 1", both(id, value))
        }
        Request::ReadList(id) => ("MATCH (l:List {id: $id}) RETURN l.items", only(id)),
        Request::Write(id, value) => {
            ("MATCH (r:Register {id: $id}) SET r.value = $value RETURN 1", both(id, value))
        }
        Request::Read(id) => ("MATCH (r:Register {id: $id}) RETURN r.value", only(id)),
        Request::Add(id, value) => match SetKind::of(id) {
            SetKind::Hub => (
                "MATCH (s:Set {id: $id}) CREATE (s)-[:HOLDS]->(:Element {value: $value}) RETURN 1",
                both(id, value),
            ),
            SetKind::Equal => ("CREATE (:Member {of: $id, value: $value}) RETURN 1", both(id, value)),
            SetKind::Range => (
                "CREATE (:Ranged {at: $at, value: $value}) RETURN 1",
                params! { "at" => i64::from(id) * SPREAD + value, "value" => value },
            ),
            SetKind::Scan => ("CREATE (:Loose {of: $id, value: $value}) RETURN 1", both(id, value)),
        },
        Request::ReadSet(id) => match SetKind::of(id) {
            SetKind::Hub => ("MATCH (:Set {id: $id})-[:HOLDS]->(e) RETURN e.value", only(id)),
            SetKind::Equal => ("MATCH (m:Member {of: $id}) RETURN m.value", only(id)),
            SetKind::Range => {
                let from = i64::from(id) * SPREAD;
                let text = "MATCH (m:Ranged) WHERE m.at >= $from AND m.at < $to RETURN m.value";
                (text, params! { "from" => from, "to" => from + SPREAD })
            }
            SetKind::Scan => ("MATCH (m:Loose {of: $id}) RETURN m.value", only(id)),
        },
    }
}

/// Statements that make indexes, and empty objects with these numbers.
pub fn preparation(objects: std::ops::Range<ObjectId>) -> Vec<(String, Params)> {
    let index =
        |(label, key)| (format!("CREATE INDEX IF NOT EXISTS FOR (n:{label}) ON (n.{key})"), Params::new());
    let indexes = [("List", "id"), ("Register", "id"), ("Set", "id"), ("Member", "of"), ("Ranged", "at")];
    let numbers = params! { "from" => i64::from(objects.start), "to" => i64::from(objects.end) - 1 };
    let text = "UNWIND range($from, $to) AS id \
                CREATE (:List {id: id, items: []}), (:Register {id: id}), (:Set {id: id})";
    indexes.into_iter().map(index).chain([(text.to_string(), numbers)]).collect()
}

fn integers(value: &Value, found: &mut Vec<i64>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| integers(item, found)),
        other => found.extend(other.as_int()),
    }
}

pub(crate) fn failure(error: Error) -> Failure {
    let text = format!("{}: {error}", error.code);
    match error.code.as_str() {
        _ if error.retryable => Failure::Refused(text),
        "Tanglewood.DatabaseError.Transaction.OutcomeUnknown" => Failure::Unknown(text),
        // The log says that nothing of it is there, and is held to it.
        "Neo.DatabaseError.Transaction.TransactionLogError" => Failure::Refused(text),
        // The disk is gone, and what was never read from it cannot be read now: nothing was handed to the log.
        "Neo.DatabaseError.General.StorageError" if !text.contains("corrupt") => Failure::Refused(text),
        _ => Failure::Broken(text),
    }
}
