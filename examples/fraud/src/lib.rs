//! # fraud: rings of payments, reported as they close
//!
//! Money that comes back to where it began, over a few accounts within a short time, is a sign of fraud. A [`Ledger`] books payments in a graph; a
//! standing query keeps the rings of three, so subscribers get a ring with the commit of the payment that closes it, without polling.
//!
//! A ring is three payments `a -> b -> c -> a` between three accounts, each not before the one in front of it, all within [`WINDOW`]. Each is
//! reported once, from the payment that began it. A payment that is taken back takes its rings with it.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

use database::{Database, Error, Options, QueryResult, Session, Value, params};
use std::path::Path;
use std::time::Duration;
use world::clock::monotonic_ns;

/// Seconds from the first payment of a ring to the last.
pub const WINDOW: i64 = 86_400;

/// The standing query.
const RINGS: &str = "CREATE STANDING QUERY rings AS \
    MATCH (a:Account)-[x:PAID]->(b:Account)-[y:PAID]->(c:Account)-[z:PAID]->(a) \
    WHERE a <> b AND b <> c AND a <> c AND x.time <= y.time AND y.time <= z.time AND z.time - x.time <= 86400 \
    RETURN a.id AS first, b.id AS second, c.id AS third, x.time AS began, z.time AS closed";

/// A payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Who pays.
    pub from: i64,
    /// Who is paid.
    pub to: i64,
    /// How much.
    pub amount: i64,
    /// When, in seconds.
    pub time: i64,
}

/// A ring that closed, or that is none any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alert {
    /// The accounts, from the payment that began it.
    pub accounts: [i64; 3],
    /// When the first and the last payment were, in seconds.
    pub times: [i64; 2],
    /// How many such rings came, or went where negative.
    pub difference: i64,
}

/// A graph of accounts and payments between them.
pub struct Ledger {
    database: Database,
    session: Session,
}

impl Ledger {
    /// The ledger in this folder, or in memory; made where it is not there.
    ///
    /// # Errors
    /// The folder cannot be opened, or holds something else.
    pub fn open(folder: Option<&Path>) -> Result<Ledger, Error> {
        let database = match folder {
            Some(folder) => Database::open(folder, Options::default())?,
            None => Database::open(database::MEMORY, Options::default())?,
        };
        let mut session = database.session();
        let rule = "CREATE CONSTRAINT account IF NOT EXISTS FOR (a:Account) REQUIRE a.id IS UNIQUE";
        session.query(rule, params! {})?.finish()?;
        let known =
            session.query("SHOW STANDING QUERIES YIELD name WHERE name = 'rings'", params! {})?.rows()?;
        if known.is_empty() {
            session.query(RINGS, params! {})?.finish()?;
        }
        Ok(Ledger { database, session })
    }
    /// Books a payment. On return it is on disk, and its rings are on their way to subscribers.
    ///
    /// # Errors
    /// The disk fails.
    pub fn pay(&mut self, payment: Payment) -> Result<(), Error> {
        let text = "MERGE (a:Account {id: $from}) MERGE (b:Account {id: $to}) \
             CREATE (a)-[:PAID {amount: $amount, time: $time}]->(b)";
        self.session.query(text, given(payment))?.finish()?;
        Ok(())
    }
    /// Takes a payment back; true if there was one.
    ///
    /// # Errors
    /// The disk fails.
    pub fn take_back(&mut self, payment: Payment) -> Result<bool, Error> {
        let text = "MATCH (:Account {id: $from})-[p:PAID {amount: $amount, time: $time}]->(:Account {id: $to}) \
             WITH p LIMIT 1 DELETE p RETURN count(*)";
        let taken = self.session.query(text, given(payment))?.single()?;
        Ok(taken.as_int() == Some(1))
    }
    /// Subscribes to rings; with `with_all`, the current ones come first.
    ///
    /// # Errors
    /// The standing query was dropped.
    pub fn watch(&self, with_all: bool) -> Result<Alerts, Error> {
        let snapshot = if with_all { " SNAPSHOT" } else { "" };
        let mut session = self.database.session();
        let rows = session.query(&format!("SUBSCRIBE rings{snapshot}"), params! {})?;
        Ok(Alerts { rows, _session: session })
    }
}

fn given(Payment { from, to, amount, time }: Payment) -> database::Params {
    params! { "from" => from, "to" => to, "amount" => amount, "time" => time }
}

/// Rings as they close.
pub struct Alerts {
    rows: QueryResult,
    _session: Session,
}

impl Alerts {
    /// Those that come within this time; none where there was nothing to tell.
    ///
    /// # Errors
    /// The subscription has ended.
    pub fn next(&mut self, within: Duration) -> Result<Vec<Alert>, Error> {
        let until_ns = world::clock::after_ns(within);
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            let Some(Some(batch)) = self.rows.next_batch_timeout(left)? else { return Ok(Vec::new()) };
            let found: Vec<Alert> = (0..batch.len()).filter_map(|row| alert(&batch.row(row))).collect();
            if !found.is_empty() || left.is_zero() {
                return Ok(found);
            }
        }
    }
}

/// A row of the subscription: commit, time, difference, mark, and the query's columns. `None` for a mark.
fn alert(row: &[Value]) -> Option<Alert> {
    let number = |at: usize| row.get(at)?.as_int();
    Some(Alert {
        difference: number(2).filter(|difference| *difference != 0)?,
        accounts: [number(4)?, number(5)?, number(6)?],
        times: [number(7)?, number(8)?],
    })
}
