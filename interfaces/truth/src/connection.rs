//! One connection to the database: its settings, and the copy of the rows that goes with it.

use crate::replica::Replica;
use postgres::{Client, Error, SimpleQueryMessage, SimpleQueryRow};

/// A statement that takes longer is given up, and its outcome unknown.
const STATEMENT_TIMEOUT_MS: u32 = 10_000;
/// A gate that is silent for so long within a transaction loses it, and its turn.
const SILENT_MS: u32 = 2_000;

/// Groups are serialised. This is for speed alone: without it serializable transactions end each other. It must be the first statement of a
/// transaction, so that earlier commits of others are in its snapshot.
pub(crate) const TURN: &str = "LOCK TABLE tw_epoch IN EXCLUSIVE MODE";

/// A group's transaction is on disk only when a later one is, so that the next gate does not wait for the disk to have its turn.
const FLUSH_LATER: &str = "SET LOCAL synchronous_commit = off";
/// The later one: it writes a message without readers, and the database answers when that and all before it are on disk.
const FLUSH: &str = "SELECT pg_logical_emit_message(true, 'tanglewood', '')";

pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) replica: Replica,
    /// Does the database know [`TURN`]?
    pub(crate) takes_turns: bool,
    /// Does it know [`FLUSH`]?
    flushes_later: bool,
}

impl Connection {
    pub(crate) fn new(mut client: Client) -> Result<Connection, Error> {
        client.batch_execute(&format!(
            "SET statement_timeout = {STATEMENT_TIMEOUT_MS}; SET idle_in_transaction_session_timeout = {SILENT_MS}"
        ))?;
        let takes_turns = knows(&mut client, TURN)?;
        let flushes_later = knows(&mut client, &format!("{FLUSH_LATER}; {FLUSH}"))?;
        Ok(Connection { client, replica: Replica::default(), takes_turns, flushes_later })
    }

    /// The statements that begin a group's transaction, and how many they are.
    pub(crate) fn begin(&self) -> (String, usize) {
        let mut statements = vec!["BEGIN ISOLATION LEVEL SERIALIZABLE"];
        statements.extend(self.takes_turns.then_some(TURN));
        statements.extend(self.flushes_later.then_some(FLUSH_LATER));
        (statements.join("; "), statements.len())
    }

    /// Executes statements and commits, in one round trip. A commit may be visible to other transactions before it is on disk, but no client gets an
    /// answer before that: every answer comes after a flush of its own, which is later in the log.
    pub(crate) fn commit(&mut self, statements: &str) -> Result<(), Error> {
        let later = if self.flushes_later { FLUSH } else { "" };
        self.client.batch_execute(&format!("{statements} COMMIT; {later}"))
    }

    /// Rolls back, and forgets the transaction's decisions. False where that is not possible.
    pub(crate) fn give_up(&mut self) -> bool {
        self.replica = Replica::default();
        self.client.batch_execute("ROLLBACK").is_ok()
    }

    /// Runs statements in one round trip; the rows of each, as texts.
    pub(crate) fn run(&mut self, statements: &str) -> Result<Vec<Vec<SimpleQueryRow>>, Error> {
        let (mut all, mut rows) = (Vec::new(), Vec::new());
        for message in self.client.simple_query(statements)? {
            match message {
                SimpleQueryMessage::Row(row) => rows.push(row),
                SimpleQueryMessage::CommandComplete(_) => all.push(std::mem::take(&mut rows)),
                _ => {}
            }
        }
        Ok(all)
    }
}

/// Can the database do this?
fn knows(client: &mut Client, statements: &str) -> Result<bool, Error> {
    let knows = client.batch_execute(&format!("BEGIN; {statements}; COMMIT")).is_ok();
    if !knows {
        client.batch_execute("ROLLBACK")?;
    }
    Ok(knows)
}
