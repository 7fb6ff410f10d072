//! # truth: the store that all processes of a cluster share, over the wire of PostgreSQL
//!
//! Idea: one SERIALIZABLE transaction for each call. A group reads the keys that other groups have touched since, [`protocol::Rows`] decides which
//! transactions commit, and one statement writes the records and the keys that this group touches. The same function decides in memory, so the two
//! are twins.
//! Invariants: each commit reads the row of the epoch, so none of an epoch that is over succeeds; a group's number is carried out once.
//! Cost of a group: two round trips. A transaction that the database gives up because of others is tried again; any other failure leaves the
//! outcome unknown, and the connection is made anew.
//!
//! Reading order: `group` (one transaction), `replica` (validation), `touched` (bytes), `log` (the commits), `sequence` (followers), `connection`.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod connection;
mod group;
mod load;
mod log;
mod replica;
mod sequence;
mod tls;
mod touched;

pub use load::LoadBegins;
pub use tls::ConnectError;

use connection::{Connection, TURN};
use group::Failed;
use order::Stamp;
use postgres::error::SqlState;
use postgres::{Client, IsolationLevel, Row, Transaction};
use protocol::{Bytes, CommitId, LogPage, Proposed, Record, Route, Truth, Unknown, Verdict};

/// Times that a transaction is tried again because of others, before its outcome is called unknown.
pub const TRIES_MAX: u32 = 64;

/// One connection; a gate, the scribe and the keeper have one each.
pub struct PostgresTruth {
    address: String,
    connection: Option<Connection>,
    again: u64,
}

impl PostgresTruth {
    /// Connects, and makes the tables that are missing. With `sslmode=verify-full` in the address it is by TLS, checked against the file that `sslrootcert`
    /// names or what the system trusts.
    ///
    /// # Errors
    /// The database does not answer or refuses; the address is wrong.
    pub fn connect(address: &str) -> Result<PostgresTruth, ConnectError> {
        let mut client = tls::connect(address)?;
        client.batch_execute("SELECT pg_advisory_lock(7449)").ok();
        let made = client.batch_execute(include_str!("schema.sql")).and_then(|()| add_times(&mut client));
        client.batch_execute("SELECT pg_advisory_unlock(7449)").ok();
        made?;
        let connection = Some(Connection::new(client)?);
        Ok(PostgresTruth { address: address.into(), connection, again: 0 })
    }
    /// Transactions that were tried again because of others.
    pub fn tried_again(&self) -> u64 {
        self.again
    }
    /// Makes chunks known that are there from the beginning.
    pub fn create_chunks(&mut self, chunks: &[(u32, u16)]) -> Result<(), Unknown> {
        self.serializable(|transaction| {
            for (chunk, owner) in chunks {
                let insert = "INSERT INTO tw_chunk VALUES ($1, $2, 0, 0, NULL) ON CONFLICT DO NOTHING";
                transaction.execute(insert, &[&i64::from(*chunk), &i32::from(*owner)])?;
            }
            let next = chunks.iter().map(|(chunk, _)| i64::from(*chunk) + 1).max().unwrap_or(0);
            transaction.execute("UPDATE tw_next SET chunk = greatest(chunk, $1)", &[&next])?;
            Ok(())
        })
    }

    /// Runs one transaction until the database does not give it up because of others.
    fn serializable<T>(
        &mut self,
        mut work: impl FnMut(&mut Transaction) -> Result<T, postgres::Error>,
    ) -> Result<T, Unknown> {
        for _ in 0..TRIES_MAX {
            let client = &mut self.connection().ok_or(Unknown)?.client;
            let mut transaction =
                match client.build_transaction().isolation_level(IsolationLevel::Serializable).start() {
                    Ok(transaction) => transaction,
                    Err(_) => break,
                };
            let outcome = match work(&mut transaction) {
                Ok(value) => transaction.commit().map(|()| value),
                Err(error) => {
                    // Dropped, it is rolled back.
                    drop(transaction);
                    Err(error)
                }
            };
            match outcome {
                Ok(value) => return Ok(value),
                Err(error) if is_because_of_others(&error) => self.again += 1,
                Err(_) => break,
            }
        }
        self.connection = None;
        Err(Unknown)
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        if self.connection.is_none() {
            let client = tls::connect(&self.address).ok()?;
            self.connection = Some(Connection::new(client).ok()?);
        }
        self.connection.as_mut()
    }
}

/// Tables of earlier clusters have no times. Only then is the table changed: that waits for all its readers.
fn add_times(client: &mut Client) -> Result<(), postgres::Error> {
    let has =
        "SELECT 1 FROM information_schema.columns WHERE table_name = 'tw_place' AND column_name = 'at_us'";
    match client.query_opt(has, &[])? {
        Some(_) => Ok(()),
        None => client.batch_execute("ALTER TABLE tw_place ADD COLUMN IF NOT EXISTS at_us BIGINT"),
    }
}

fn is_because_of_others(error: &postgres::Error) -> bool {
    // Two that insert the same new key meet at its unique index.
    let codes =
        [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::UNIQUE_VIOLATION];
    error.code().is_some_and(|code| codes.contains(code))
}

fn signed(vector: &[u64]) -> Vec<i64> {
    vector.iter().map(|counter| *counter as i64).collect()
}
fn unsigned(row: &Row, column: usize) -> Box<[u64]> {
    row.get::<_, Vec<i64>>(column).into_iter().map(|counter| counter as u64).collect()
}

/// A record's parts as bytes.
fn encode(record: &Record) -> Vec<u8> {
    encode_parts(&record.parts)
}

/// Parts as bytes: shard, length, bytes of each.
fn encode_parts(parts: &[(u16, Bytes)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (shard, part) in parts {
        bytes.extend(shard.to_le_bytes());
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

/// None where the bytes are not those of [`encode_parts`].
fn decode(mut bytes: &[u8]) -> Option<Vec<(u16, Bytes)>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let (shard, rest) = bytes.split_first_chunk::<2>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        parts.push((u16::from_le_bytes(*shard), part.into()));
        bytes = rest;
    }
    Some(parts)
}

fn route(row: &Row) -> Route {
    Route {
        chunk: row.get::<_, i64>(0) as u32,
        owner: row.get::<_, i32>(1) as u16,
        version: row.get::<_, i64>(2) as u64,
    }
}

fn epoch_of(transaction: &mut Transaction) -> Result<u64, postgres::Error> {
    Ok(transaction.query_one("SELECT epoch FROM tw_epoch WHERE one = 1", &[])?.get::<_, i64>(0) as u64)
}

fn last_version(transaction: &mut Transaction) -> Result<u64, postgres::Error> {
    let last = "SELECT greatest((SELECT coalesce(max(place), 0)::BIGINT FROM tw_place), (SELECT base FROM tw_cut WHERE one = 1))";
    let row = transaction.query_one(last, &[])?;
    Ok(row.get::<_, i64>(0) as u64)
}

impl Truth for PostgresTruth {
    fn state(&mut self) -> Result<(u64, u64), Unknown> {
        self.serializable(|transaction| Ok((epoch_of(transaction)?, last_version(transaction)?)))
    }

    fn commit(
        &mut self,
        epoch: u64,
        seat: usize,
        group: u64,
        proposed: &[Proposed],
    ) -> Result<Vec<Verdict>, Unknown> {
        for _ in 0..TRIES_MAX {
            let Some(connection) = self.connection() else { break };
            match group::commit(connection, (epoch, seat, group), proposed) {
                Ok(verdicts) => return Ok(verdicts),
                Err(Failed::Database(error)) if connection.give_up() && is_because_of_others(&error) => {
                    self.again += 1;
                }
                Err(_) => break,
            }
        }
        self.connection = None;
        Err(Unknown)
    }

    fn bump(&mut self, from: u64) -> Result<u64, Unknown> {
        self.serializable(|transaction| {
            let bump = "UPDATE tw_epoch SET epoch = epoch + 1, frontier = '{}' WHERE one = 1 AND epoch = $1";
            transaction.execute(bump, &[&(from as i64)])?;
            epoch_of(transaction)
        })
    }

    fn unversioned(&mut self, limit: usize) -> Result<(u64, Vec<Stamp>), Unknown> {
        self.serializable(|transaction| {
            let read = "SELECT epoch, seat, vector FROM (
                    SELECT l.*, row_number() OVER (PARTITION BY l.epoch, l.seat ORDER BY l.counter) AS n FROM tw_log l
                    WHERE l.epoch < (SELECT epoch FROM tw_epoch WHERE one = 1) AND NOT EXISTS (
                        SELECT 1 FROM tw_place p WHERE p.epoch = l.epoch AND p.seat = l.seat AND p.counter = l.counter)
                ) AS open WHERE n <= $1 ORDER BY epoch, seat, counter";
            let rows = transaction.query(read, &[&(limit as i64)])?;
            Ok((last_version(transaction)?, rows.iter().filter_map(|row| stamp(row, 0)).collect()))
        })
    }

    fn assign_versions(&mut self, epoch: u64, first: u64, commits: &[CommitId]) -> Result<bool, Unknown> {
        let (epochs, seats, counters) = columns(commits);
        self.serializable(|transaction| {
            if epoch_of(transaction)? == epoch && last_version(transaction)? + 1 == first {
                let new = "SELECT count(*) FROM unnest($1::BIGINT[], $2::INT4[], $3::BIGINT[]) AS u(e, s, c)
                    JOIN tw_log l ON l.epoch = e AND l.seat = s AND l.counter = c
                    WHERE NOT EXISTS (SELECT 1 FROM tw_place p WHERE p.epoch = e AND p.seat = s AND p.counter = c)";
                let count: i64 = transaction.query_one(new, &[&epochs, &seats, &counters])?.get(0);
                if count == commits.len() as i64 {
                    let insert = "INSERT INTO tw_place (place, epoch, seat, counter, at_us)
                        SELECT $4::BIGINT + n - 1, e, s, c, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT
                        FROM unnest($1::BIGINT[], $2::INT4[], $3::BIGINT[]) WITH ORDINALITY AS u(e, s, c, n)";
                    transaction.execute(insert, &[&epochs, &seats, &counters, &(first as i64)])?;
                }
            }
            // What is cut off had a commit version, up to the base. In an epoch one scribe gives commit versions, so it was this one.
            let base = if epoch_of(transaction)? == epoch { log::base(transaction)?.commit_version } else { 0 };
            let have = "SELECT count(*) FROM unnest($1::BIGINT[], $2::INT4[], $3::BIGINT[]) WITH ORDINALITY AS u(e, s, c, n)
                LEFT JOIN tw_place p ON p.epoch = e AND p.seat = s AND p.counter = c
                LEFT JOIN tw_cut_seat t ON t.epoch = e AND t.seat = s AND t.counter >= c
                WHERE p.place = $4::BIGINT + n - 1 OR $4::BIGINT + n - 1 <= $5::BIGINT AND coalesce(p.place <= $5, t.counter IS NOT NULL)";
            let row = transaction.query_one(
                have,
                &[&epochs, &seats, &counters, &(first as i64), &(base as i64)],
            )?;
            Ok(row.get::<_, i64>(0) == commits.len() as i64)
        })
    }

    fn log(&mut self, shard: Option<u16>, after: u64, limit: usize) -> Result<LogPage, Unknown> {
        self.serializable(|transaction| log::page(transaction, shard, after, limit))?.ok_or(Unknown)
    }

    fn lease(&mut self, shard: u16, count: u32) -> Result<u32, Unknown> {
        self.serializable(|transaction| {
            let next = "UPDATE tw_next SET chunk = chunk + $1 WHERE one = 1 RETURNING chunk";
            let end: i64 = transaction.query_one(next, &[&i64::from(count)])?.get(0);
            let insert = "INSERT INTO tw_chunk SELECT c, $3::INT4, 0, 0, NULL FROM generate_series($1::BIGINT, $2::BIGINT) AS c";
            let first = end - i64::from(count);
            transaction.execute(insert, &[&first, &(end - 1), &i32::from(shard)])?;
            Ok(first as u32)
        })
    }

    fn placement(&mut self) -> Result<Vec<Route>, Unknown> {
        self.serializable(|transaction| {
            let rows = transaction.query("SELECT chunk, owner, version FROM tw_chunk ORDER BY chunk", &[])?;
            Ok(rows.iter().map(route).collect())
        })
    }

    fn forget(&mut self, epoch: u64, frontier: &[u64]) -> Result<(), Unknown> {
        let frontier = signed(frontier);
        let takes_turns = self.connection().ok_or(Unknown)?.takes_turns;
        self.serializable(|transaction| {
            if takes_turns {
                transaction.batch_execute(TURN)?;
            }
            let epoch = epoch as i64;
            let told = "UPDATE tw_epoch SET frontier = $2 WHERE one = 1 AND epoch = $1";
            if transaction.execute(told, &[&epoch, &frontier])? == 1 {
                // A group that moved chunks is replayed by whoever knows these chunks, however late.
                let delete = "DELETE FROM tw_group WHERE epoch < $1 OR epoch = $1 AND NOT moves
                    AND NOT EXISTS (SELECT 1 FROM unnest(clock, $2::BIGINT[]) AS u(c, f) WHERE c > f)";
                transaction.execute(delete, &[&epoch, &frontier])?;
                transaction.execute("DELETE FROM tw_gate WHERE epoch < $1", &[&epoch])?;
            }
            Ok(())
        })
    }
}

/// Epochs, seats and counters of commits, as columns.
fn columns(commits: &[CommitId]) -> (Vec<i64>, Vec<i32>, Vec<i64>) {
    (
        commits.iter().map(|id| id.epoch as i64).collect(),
        commits.iter().map(|id| id.seat as i32).collect(),
        commits.iter().map(|id| id.counter as i64).collect(),
    )
}

/// A stamp of epoch, seat and vector, from this column on.
fn stamp(row: &Row, column: usize) -> Option<Stamp> {
    let (epoch, seat) = (row.get::<_, i64>(column) as u64, row.get::<_, i32>(column + 1) as usize);
    Stamp::from_parts(epoch, seat, unsigned(row, column + 2).into())
}
