//! The same blocks in PostgreSQL: tables with the indexes that the questions need, for comparison with the explorer.

use crate::blockchain::{Block, Transaction};
use postgres::{Client, NoTls};
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

/// Blocks in tables.
pub struct BlockRows {
    client: Client,
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
        Ok(BlockRows { client })
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
    /// Updates the planner's statistics of the tables.
    ///
    /// # Errors
    /// The server refuses.
    pub fn analyze(&mut self) -> Result<(), String> {
        self.client.batch_execute("ANALYZE").map_err(told)
    }
    /// All transactions of a block, of one moment, in their order: by joins.
    ///
    /// # Errors
    /// The server refuses.
    pub fn render(&mut self, hash: &str) -> Result<Vec<Transaction>, String> {
        let reading =
            self.client.build_transaction().isolation_level(postgres::IsolationLevel::RepeatableRead);
        let mut reading = reading.read_only(true).start().map_err(told)?;
        let outputs = "SELECT t.n, t.txid, o.value, o.address FROM transaction t LEFT JOIN output o USING (txid) \
             WHERE t.hash = $1 ORDER BY t.n, o.n";
        let inputs = "SELECT t.n, i.spent, i.output FROM transaction t JOIN input i USING (txid) \
             WHERE t.hash = $1 ORDER BY t.n, i.n";
        let mut found = BTreeMap::<i64, Transaction>::new();
        for row in reading.query(outputs, &[&hash]).map_err(told)? {
            let one = found.entry(row.get(0)).or_default();
            one.txid = row.get(1);
            one.outputs.extend(row.get::<_, Option<i64>>(2).map(|value| (value, row.get(3))));
        }
        for row in reading.query(inputs, &[&hash]).map_err(told)? {
            found.entry(row.get(0)).or_default().inputs.push((row.get(1), row.get(2)));
        }
        reading.commit().map_err(told)?;
        Ok(found.into_values().collect())
    }
    /// Every transaction that money of an address reached: by a recursive query.
    ///
    /// # Errors
    /// The server refuses.
    pub fn taint(&mut self, address: &str) -> Result<i64, String> {
        let question = "WITH RECURSIVE reached (txid) AS (SELECT txid FROM output WHERE address = $1 \
             UNION SELECT i.txid FROM input i JOIN reached r ON i.spent = r.txid) SELECT count(*) FROM reached";
        Ok(self.client.query_one(question, &[&address]).map_err(told)?.get(0))
    }
}
