//! One connection to the database: its settings, prepared statements, and the copy of the rows that goes with it.

use crate::group::WRITE;
use crate::replica::Replica;
use postgres::{Client, Error, SimpleQueryMessage, SimpleQueryRow, Statement};

/// A statement that takes longer is given up, and its outcome unknown.
const STATEMENT_TIMEOUT_MS: u32 = 10_000;
/// A gate that is silent for so long within a transaction loses it, and its turn.
const SILENT_MS: u32 = 2_000;

/// Groups take turns. This is for speed alone: without it serializable transactions end each other. It must be the first statement of a
/// transaction, so that what the others have committed is in its snapshot.
pub(crate) const TURN: &str = "LOCK TABLE tw_epoch IN EXCLUSIVE MODE";

pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) write: Statement,
    pub(crate) replica: Replica,
    /// Does the database know [`TURN`]?
    pub(crate) takes_turns: bool,
}

impl Connection {
    pub(crate) fn new(mut client: Client) -> Result<Connection, Error> {
        client.batch_execute(&format!(
            "SET statement_timeout = {STATEMENT_TIMEOUT_MS}; SET idle_in_transaction_session_timeout = {SILENT_MS}"
        ))?;
        let write = client.prepare(WRITE)?;
        let takes_turns = client.batch_execute(&format!("BEGIN; {TURN}; COMMIT")).is_ok();
        if !takes_turns {
            client.batch_execute("ROLLBACK")?;
        }
        Ok(Connection { client, write, replica: Replica::default(), takes_turns })
    }

    /// Rolls back, and forgets what the transaction has decided. False where that is not possible.
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
