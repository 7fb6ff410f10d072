//! The same blocks in PostgreSQL: tables with the indexes that its questions want. What the explorer is measured beside.

use crate::blockchain::{Block, Transaction};
use postgres::{Client, NoTls, Row, Statement};
use std::collections::BTreeMap;

/// Tables and their indexes, in a schema of their own.
const TABLES: &str = "
    DROP SCHEMA IF EXISTS tanglewood_blocks CASCADE;
    CREATE SCHEMA tanglewood_blocks;
    SET search_path TO tanglewood_blocks;
    CREATE TABLE block (hash text PRIMARY KEY, previous text NOT NULL, height bigint NOT NULL, time bigint NOT NULL);
    CREATE TABLE transaction (txid text PRIMARY KEY, hash text NOT NULL, n bigint NOT NULL);
    CREATE INDEX ON transaction (hash, n);
    CREATE TABLE output (txid text NOT NULL, n bigint NOT NULL, value bigint NOT NULL, address text, PRIMARY KEY (txid, n));
    CREATE INDEX ON output (address);
    CREATE TABLE input (txid text NOT NULL, n bigint NOT NULL, spent text NOT NULL, output bigint NOT NULL, PRIMARY KEY (txid, n));
    CREATE INDEX ON input (spent);
";
/// Rows that one statement writes.
const WRITTEN_AT_ONCE: usize = 5_000;

/// All that a block pays, in its order; and all that it spends.
const OUTPUTS: &str = "SELECT t.n, t.txid, o.value, o.address FROM transaction t LEFT JOIN output o USING (txid) \
    WHERE t.hash = $1 ORDER BY t.n, o.n";
const INPUTS: &str = "SELECT t.n, i.spent, i.output FROM transaction t JOIN input i USING (txid) \
    WHERE t.hash = $1 ORDER BY t.n, i.n";
/// The same in one statement, which reads one moment by itself: a row a transaction, with its lists.
const AT_ONCE: &str = "SELECT t.txid, o.addresses, o.amounts, i.spents, i.places FROM transaction t \
    LEFT JOIN LATERAL (SELECT array_agg(o.address ORDER BY o.n) AS addresses, array_agg(o.value ORDER BY o.n) AS amounts \
        FROM output o WHERE o.txid = t.txid) o ON true \
    LEFT JOIN LATERAL (SELECT array_agg(i.spent ORDER BY i.n) AS spents, array_agg(i.output ORDER BY i.n) AS places \
        FROM input i WHERE i.txid = t.txid) i ON true \
    WHERE t.hash = $1 ORDER BY t.n";
/// All that money of an address reached.
const TAINT: &str = "WITH RECURSIVE reached (txid) AS (SELECT txid FROM output WHERE address = $1 \
    UNION SELECT i.txid FROM input i JOIN reached r ON i.spent = r.txid) SELECT count(*) FROM reached";

/// Blocks in tables. Its questions are prepared.
pub struct BlockRows {
    client: Client,
    outputs: Statement,
    inputs: Statement,
    at_once: Statement,
    taint: Statement,
}

fn told(error: postgres::Error) -> String {
    format!("PostgreSQL: {error}")
}

impl BlockRows {
    /// Makes the tables anew on the server of this text of connection.
    ///
    /// # Errors
    /// The server is not there, or refuses.
    pub fn open(server: &str) -> Result<BlockRows, String> {
        let mut client = Client::connect(server, NoTls).map_err(told)?;
        client.batch_execute(TABLES).map_err(told)?;
        let mut prepare = |text| client.prepare(text).map_err(told);
        let [outputs, inputs, at_once, taint] =
            [prepare(OUTPUTS)?, prepare(INPUTS)?, prepare(AT_ONCE)?, prepare(TAINT)?];
        Ok(BlockRows { client, outputs, inputs, at_once, taint })
    }
    /// Adds a block in one transaction.
    ///
    /// # Errors
    /// The server refuses.
    pub fn add(&mut self, block: &Block) -> Result<(), String> {
        let mut transaction = self.client.transaction().map_err(told)?;
        let text = "INSERT INTO block VALUES ($1, $2, $3, $4)";
        let block_row: [&(dyn postgres::types::ToSql + Sync); 4] =
            [&block.hash, &block.previous, &block.height, &block.time];
        transaction.execute(text, &block_row).map_err(told)?;
        let all: Vec<(i64, &Transaction)> = (0..).zip(&block.transactions).collect();
        for part in all.chunks(WRITTEN_AT_ONCE) {
            let txids: Vec<&str> = part.iter().map(|(_, one)| one.txid.as_str()).collect();
            let places: Vec<i64> = part.iter().map(|(at, _)| *at).collect();
            let text =
                "INSERT INTO transaction SELECT t, $1, n FROM unnest($2::text[], $3::bigint[]) AS row (t, n)";
            transaction.execute(text, &[&block.hash, &txids, &places]).map_err(told)?;
        }
        let outputs: Vec<(&str, i64, i64, Option<&str>)> = block
            .transactions
            .iter()
            .flat_map(|one| {
                (0..).zip(&one.outputs).map(|(n, (value, to))| (one.txid.as_str(), n, *value, to.as_deref()))
            })
            .collect();
        for part in outputs.chunks(WRITTEN_AT_ONCE) {
            let txids: Vec<&str> = part.iter().map(|row| row.0).collect();
            let [places, values] =
                [part.iter().map(|row| row.1).collect::<Vec<_>>(), part.iter().map(|row| row.2).collect()];
            let addresses: Vec<Option<&str>> = part.iter().map(|row| row.3).collect();
            let text =
                "INSERT INTO output SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[])";
            transaction.execute(text, &[&txids, &places, &values, &addresses]).map_err(told)?;
        }
        let inputs: Vec<(&str, i64, &str, i64)> = block
            .transactions
            .iter()
            .flat_map(|one| {
                (0..).zip(&one.inputs).map(|(n, (spent, at))| (one.txid.as_str(), n, spent.as_str(), *at))
            })
            .collect();
        for part in inputs.chunks(WRITTEN_AT_ONCE) {
            let [txids, spent] =
                [part.iter().map(|row| row.0).collect::<Vec<_>>(), part.iter().map(|row| row.2).collect()];
            let [places, outputs] =
                [part.iter().map(|row| row.1).collect::<Vec<_>>(), part.iter().map(|row| row.3).collect()];
            let text =
                "INSERT INTO input SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[])";
            transaction.execute(text, &[&txids, &places, &spent, &outputs]).map_err(told)?;
        }
        transaction.commit().map_err(told)
    }
    /// Gathers what the planner wants to know of the tables, and marks all rows as seen by everybody.
    ///
    /// # Errors
    /// The server refuses.
    pub fn analyze(&mut self) -> Result<(), String> {
        self.client.batch_execute("VACUUM ANALYZE").map_err(told)
    }
    /// The version of the server.
    ///
    /// # Errors
    /// The server refuses.
    pub fn version(&mut self) -> Result<String, String> {
        Ok(self.client.query_one("SHOW server_version", &[]).map_err(told)?.get(0))
    }
    /// All transactions of a block, of one moment, in their order: by two joins in a transaction.
    ///
    /// # Errors
    /// The server refuses.
    pub fn render(&mut self, hash: &str) -> Result<Vec<Transaction>, String> {
        let reading =
            self.client.build_transaction().isolation_level(postgres::IsolationLevel::RepeatableRead);
        let mut reading = reading.read_only(true).start().map_err(told)?;
        let mut found = BTreeMap::<i64, Transaction>::new();
        for row in reading.query(&self.outputs, &[&hash]).map_err(told)? {
            let one = found.entry(row.get(0)).or_default();
            one.txid = row.get(1);
            one.outputs.extend(row.get::<_, Option<i64>>(2).map(|value| (value, row.get(3))));
        }
        for row in reading.query(&self.inputs, &[&hash]).map_err(told)? {
            found.entry(row.get(0)).or_default().inputs.push((row.get(1), row.get(2)));
        }
        reading.commit().map_err(told)?;
        Ok(found.into_values().collect())
    }
    /// The same by one statement, with a list of each transaction's inputs and outputs.
    ///
    /// # Errors
    /// The server refuses.
    pub fn render_at_once(&mut self, hash: &str) -> Result<Vec<Transaction>, String> {
        let found = self.client.query(&self.at_once, &[&hash]).map_err(told)?;
        Ok(found.iter().map(rendered).collect())
    }
    /// Every transaction that money of an address reached: by a recursive query.
    ///
    /// # Errors
    /// The server refuses.
    pub fn taint(&mut self, address: &str) -> Result<i64, String> {
        Ok(self.client.query_one(&self.taint, &[&address]).map_err(told)?.get(0))
    }
}

/// A transaction of a row with lists; a list of nothing is null.
fn rendered(row: &Row) -> Transaction {
    let addresses = row.get::<_, Option<Vec<Option<String>>>>(1).unwrap_or_default();
    let numbers = |at: usize| row.get::<_, Option<Vec<i64>>>(at).unwrap_or_default();
    let spent = row.get::<_, Option<Vec<String>>>(3).unwrap_or_default();
    Transaction {
        txid: row.get(0),
        inputs: spent.into_iter().zip(numbers(4)).collect(),
        outputs: numbers(2).into_iter().zip(addresses).collect(),
    }
}
