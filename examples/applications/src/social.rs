//! A social network: the interface of TAO, objects and associations, over a graph.
//!
//! An object is a node with an id, a kind and data. An association leads from one object to another; it has a kind, a time and data, and there is one
//! of a kind between two objects. Lists of associations come from the newest on. Each call is one statement, and so one transaction:
//! [`Social::list_and_count`] reads a list and its count in one snapshot.

use crate::ask::{self, number, rows, run, text};
use database::{Database, Error, Options, Session, Value, params};
use std::path::Path;

/// Associations that one call returns at most, as in TAO.
pub const RANGE_MAX: i64 = 6_000;

/// A network.
pub struct Social {
    database: Database,
    session: Session,
}

/// An object's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// Its id.
    pub id: i64,
    /// The kind of the object: a person, a photo.
    pub kind: String,
    /// The data of the object.
    pub data: String,
}

/// An association, as seen from the object that it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Association {
    /// Where it leads.
    pub to: i64,
    /// When it came, in seconds.
    pub time: i64,
    /// The data of the association.
    pub data: String,
}

impl Social {
    /// The network in this folder, or in memory.
    ///
    /// # Errors
    /// The folder cannot be opened, or holds something else.
    pub fn open(folder: Option<&Path>) -> Result<Social, Error> {
        let database = ask::open(folder, Options::default())?;
        let mut session = database.session();
        let rule = "CREATE CONSTRAINT object IF NOT EXISTS FOR (o:Object) REQUIRE o.id IS UNIQUE";
        run(&mut session, rule, params! {})?;
        Ok(Social { database, session })
    }
    /// One more client of the same network.
    pub fn client(&self) -> Social {
        Social { database: self.database.clone(), session: self.database.session() }
    }
    /// Loads follows as pairs of ids: objects of the kind `person`, and associations `follows` whose time is their position. A pair that comes again,
    /// or exists already, changes nothing.
    ///
    /// # Errors
    /// The disk fails.
    pub fn load(&mut self, pairs: &[(i64, i64)], per_commit: usize) -> Result<(), Error> {
        let text = "UNWIND $pairs AS pair MERGE (a:Object {id: pair[0]}) ON CREATE SET a.kind = 'person', a.data = '' \
             MERGE (b:Object {id: pair[1]}) ON CREATE SET b.kind = 'person', b.data = '' \
             MERGE (a)-[t:ASSOCIATION {kind: 'follows'}]->(b) ON CREATE SET t.time = pair[2], t.data = ''";
        for (part, pairs) in pairs.chunks(per_commit.max(1)).enumerate() {
            let first = (part * per_commit) as i64;
            let pair = |(at, (from, to)): (usize, &(i64, i64))| {
                Value::list(vec![Value::Int(*from), Value::Int(*to), Value::Int(first + at as i64)])
            };
            let pairs = Value::list(pairs.iter().enumerate().map(pair).collect());
            run(&mut self.session, text, params! { "pairs" => pairs })?;
        }
        Ok(())
    }
    /// A new object, or new data of one that is there.
    ///
    /// # Errors
    /// The disk fails.
    pub fn put(&mut self, id: i64, kind: &str, data: &str) -> Result<(), Error> {
        let text = "MERGE (o:Object {id: $id}) SET o.kind = $kind, o.data = $data";
        run(&mut self.session, text, params! { "id" => id, "kind" => kind, "data" => data })
    }
    /// An object; none where it is not there.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn get(&mut self, id: i64) -> Result<Option<Thing>, Error> {
        let found = rows(
            &mut self.session,
            "MATCH (o:Object {id: $id}) RETURN o.kind, o.data",
            params! { "id" => id },
        )?;
        Ok(found.first().map(|row| Thing { id, kind: text(row, 0), data: text(row, 1) }))
    }
    /// Takes an object away with all its associations.
    ///
    /// # Errors
    /// The disk fails.
    pub fn remove(&mut self, id: i64) -> Result<(), Error> {
        run(&mut self.session, "MATCH (o:Object {id: $id}) DETACH DELETE o", params! { "id" => id })
    }
    /// Ties two objects, or gives their tie another time and other data; false where one of them is not there.
    ///
    /// # Errors
    /// The disk fails.
    pub fn tie(&mut self, from: i64, kind: &str, to: i64, time: i64, data: &str) -> Result<bool, Error> {
        let text = "MATCH (a:Object {id: $from}), (b:Object {id: $to}) MERGE (a)-[t:ASSOCIATION {kind: $kind}]->(b) \
             SET t.time = $time, t.data = $data RETURN count(t)";
        let given = params! { "from" => from, "to" => to, "kind" => kind, "time" => time, "data" => data };
        Ok(number(&mut self.session, text, given)? > 0)
    }
    /// Unties two objects; true if they were tied.
    ///
    /// # Errors
    /// The disk fails.
    pub fn untie(&mut self, from: i64, kind: &str, to: i64) -> Result<bool, Error> {
        let text = "MATCH (:Object {id: $from})-[t:ASSOCIATION]->(:Object {id: $to}) WHERE t.kind = $kind \
             DELETE t RETURN count(*)";
        Ok(number(&mut self.session, text, params! { "from" => from, "to" => to, "kind" => kind })? > 0)
    }
    /// Those associations of a kind that lead to one of these.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn ties_to(&mut self, from: i64, kind: &str, to: &[i64]) -> Result<Vec<Association>, Error> {
        let text = "MATCH (:Object {id: $from})-[t:ASSOCIATION]->(b) WHERE t.kind = $kind AND b.id IN $to \
             RETURN b.id, t.time, t.data ORDER BY t.time DESC, b.id";
        let to = Value::list(to.iter().map(|id| Value::Int(*id)).collect());
        self.associations(text, params! { "from" => from, "kind" => kind, "to" => to })
    }
    /// How many associations of a kind leave an object.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn count(&mut self, from: i64, kind: &str) -> Result<i64, Error> {
        let text = "MATCH (:Object {id: $from})-[t:ASSOCIATION]->() WHERE t.kind = $kind RETURN count(t)";
        number(&mut self.session, text, params! { "from" => from, "kind" => kind })
    }
    /// Associations of a kind, from the newest on: `count` of them after the first `skip`, at most [`RANGE_MAX`].
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn range(&mut self, from: i64, kind: &str, skip: i64, count: i64) -> Result<Vec<Association>, Error> {
        let text = "MATCH (:Object {id: $from})-[t:ASSOCIATION]->(b) WHERE t.kind = $kind \
             RETURN b.id, t.time, t.data ORDER BY t.time DESC, b.id SKIP $skip LIMIT $count";
        let count = count.clamp(0, RANGE_MAX);
        self.associations(
            text,
            params! { "from" => from, "kind" => kind, "skip" => skip.max(0), "count" => count },
        )
    }
    /// Those of a time, both ends of it included, from the newest on, at most [`RANGE_MAX`].
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn time_range(
        &mut self,
        from: i64,
        kind: &str,
        (early, late): (i64, i64),
        count: i64,
    ) -> Result<Vec<Association>, Error> {
        let text = "MATCH (:Object {id: $from})-[t:ASSOCIATION]->(b) \
             WHERE t.kind = $kind AND t.time >= $early AND t.time <= $late \
             RETURN b.id, t.time, t.data ORDER BY t.time DESC, b.id LIMIT $count";
        let count = count.clamp(0, RANGE_MAX);
        let given =
            params! { "from" => from, "kind" => kind, "early" => early, "late" => late, "count" => count };
        self.associations(text, given)
    }
    /// The newest associations of a kind, and how many there are in all, of one moment.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn list_and_count(
        &mut self,
        from: i64,
        kind: &str,
        count: i64,
    ) -> Result<(Vec<Association>, i64), Error> {
        self.session.begin(database::Mode::Read)?;
        let both = self.range(from, kind, 0, count).and_then(|list| Ok((list, self.count(from, kind)?)));
        self.session.rollback()?;
        both
    }
    fn associations(&mut self, question: &str, given: database::Params) -> Result<Vec<Association>, Error> {
        let found = rows(&mut self.session, question, given)?;
        let number = |row: &[Value], at: usize| row.get(at).and_then(Value::as_int).unwrap_or_default();
        let one =
            |row: &Vec<Value>| Association { to: number(row, 0), time: number(row, 1), data: text(row, 2) };
        Ok(found.iter().map(one).collect())
    }
}
