//! Rings of payments, told as they close.
//!
//! Money that comes back to where it began, over a few accounts within a short time, is a sign of fraud. A [`Ledger`] books payments in a graph; a standing
//! query keeps the rings of three true, so whoever watches is told of a ring by the commit of the payment that closes it. Nobody asks again and again.
//!
//! A ring is three payments `a -> b -> c -> a` between three accounts, each not before the one in front of it, all within [`WINDOW`]. Each is told once, from
//! the payment that began it. A payment that is taken back takes its rings with it.

use crate::ask::{self, Told, keep, number, run};
use database::{Database, Error, Options, Session, Value, params};
use std::path::Path;

/// Seconds from the first payment of a ring to the last.
pub const WINDOW: i64 = 86_400;

/// What is kept true.
const RINGS: &str = "CREATE STANDING QUERY rings AS \
    MATCH (a:Account)-[x:PAID]->(b:Account)-[y:PAID]->(c:Account)-[z:PAID]->(a) \
    WHERE a <> b AND b <> c AND a <> c AND x.time <= y.time AND y.time <= z.time AND z.time - x.time <= 86400 \
    RETURN a.id AS first, b.id AS second, c.id AS third, x.time AS began, z.time AS closed";

const NAMES: &str = "CREATE (a:Account {id: 0}) CREATE (a)-[:PAID {amount: 0, time: 0}]->(a) DETACH DELETE a";

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

/// Accounts and what they paid each other.
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
        let database = ask::open(folder, Options::default())?;
        let mut session = database.session();
        let rule = "CREATE CONSTRAINT account IF NOT EXISTS FOR (a:Account) REQUIRE a.id IS UNIQUE";
        run(&mut session, rule, params! {})?;
        keep(&mut session, "rings", NAMES, RINGS)?;
        Ok(Ledger { database, session })
    }
    /// Books a payment. On return it is on disk, and its rings are on their way to whoever watches.
    ///
    /// # Errors
    /// The disk fails.
    pub fn pay(&mut self, payment: Payment) -> Result<(), Error> {
        let text = "MERGE (a:Account {id: $from}) MERGE (b:Account {id: $to}) \
             CREATE (a)-[:PAID {amount: $amount, time: $time}]->(b)";
        run(&mut self.session, text, given(payment))
    }
    /// Takes a payment back; true if there was one.
    ///
    /// # Errors
    /// The disk fails.
    pub fn take_back(&mut self, payment: Payment) -> Result<bool, Error> {
        let text = "MATCH (:Account {id: $from})-[p:PAID {amount: $amount, time: $time}]->(:Account {id: $to}) \
             WITH p LIMIT 1 DELETE p RETURN count(*)";
        Ok(number(&mut self.session, text, given(payment))? == 1)
    }
    /// Is told of every ring from now on, and first of those that there are, if that is asked for.
    ///
    /// # Errors
    /// The standing query was dropped.
    pub fn watch(&self, with_all: bool) -> Result<Told<Alert>, Error> {
        Told::begin(&self.database, "rings", with_all, |difference, row| {
            let number = |at: usize| row.get(at).and_then(Value::as_int).unwrap_or_default();
            Alert { accounts: [number(0), number(1), number(2)], times: [number(3), number(4)], difference }
        })
    }
}

fn given(Payment { from, to, amount, time }: Payment) -> database::Params {
    params! { "from" => from, "to" => to, "amount" => amount, "time" => time }
}
