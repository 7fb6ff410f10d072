//! # truth: the store that all processes of a cluster share, over the wire of PostgreSQL
//!
//! Idea: one SERIALIZABLE transaction for each call. A group reads the rows that it names, [`protocol::Rows`] decides who commits, the changed rows and the
//! records are written by one statement. The same function decides in memory, so the two are twins.
//! Invariants: each commit reads the row of the epoch, so none of an epoch that is over succeeds; a group's number is carried out once.
//! Cost of a group: begin, three reads, one write, commit. A transaction that the database gives up because of others is tried again; any other
//! failure leaves the outcome unknown, and the connection is made anew.

use order::Stamp;
use postgres::error::SqlState;
use postgres::{Client, IsolationLevel, NoTls, Row, Transaction};
use protocol::{Bytes, CommitId, Proposed, Record, Route, Routed, Rows, Touched, Truth, Unknown, Verdict};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Times that a transaction is tried again because of others, before its outcome is called unknown.
pub const TRIES_MAX: u32 = 64;
/// A statement that takes longer is given up, and its outcome unknown.
const STATEMENT_TIMEOUT_MS: u32 = 10_000;

/// One connection; a gate, the scribe and the keeper have one each.
pub struct PostgresTruth {
    address: String,
    client: Option<Client>,
    again: u64,
}

impl PostgresTruth {
    /// Connects, and makes the tables that are missing.
    pub fn connect(address: &str) -> Result<PostgresTruth, postgres::Error> {
        let mut client = Client::connect(address, NoTls)?;
        client.batch_execute("SELECT pg_advisory_lock(7449)").ok();
        let made = client.batch_execute(include_str!("schema.sql"));
        client.batch_execute("SELECT pg_advisory_unlock(7449)").ok();
        made?;
        client.batch_execute(&settings())?;
        Ok(PostgresTruth { address: address.into(), client: Some(client), again: 0 })
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
            let client = self.client().ok_or(Unknown)?;
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
        self.client = None;
        Err(Unknown)
    }

    fn client(&mut self) -> Option<&mut Client> {
        if self.client.is_none() {
            let mut client = Client::connect(&self.address, NoTls).ok()?;
            client.batch_execute(&settings()).ok()?;
            self.client = Some(client);
        }
        self.client.as_mut()
    }
}

fn settings() -> String {
    format!("SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
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

/// A record's parts as bytes: shard, length, bytes of each.
fn encode(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (shard, part) in &record.parts {
        bytes.extend(shard.to_le_bytes());
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

/// Nothing where the bytes are not what [`encode`] writes.
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

/// The rows that a group names.
fn read_rows(transaction: &mut Transaction, epoch: u64, group: &[Proposed]) -> Result<Rows, postgres::Error> {
    let mut rows = Rows { reads_are_rows: true, ..Rows::default() };
    let keys: BTreeSet<u64> =
        group.iter().flat_map(|one| one.reads.iter().chain(&one.writes)).copied().collect();
    let keys: Vec<i64> = keys.into_iter().map(|key| key as i64).collect();
    let read = "SELECT key, written, read FROM tw_key WHERE key = ANY($1) AND epoch = $2";
    for row in transaction.query(read, &[&keys, &(epoch as i64)])? {
        let touched = Touched { written: unsigned(&row, 1), read: unsigned(&row, 2) };
        rows.keys.insert(row.get::<_, i64>(0) as u64, touched);
    }
    let chunks: BTreeSet<i64> =
        group.iter().flat_map(|one| &one.routes).map(|(chunk, _)| i64::from(*chunk)).collect();
    let chunks: Vec<i64> = chunks.into_iter().collect();
    let read = "SELECT chunk, owner, version, CASE WHEN epoch = $2 THEN moved END FROM tw_chunk WHERE chunk = ANY($1)";
    for row in transaction.query(read, &[&chunks, &(epoch as i64)])? {
        let moved: Option<Vec<i64>> = row.get(3);
        let moved = moved.map(|vector| vector.into_iter().map(|counter| counter as u64).collect());
        let route = route(&row);
        rows.routes.insert(route.chunk, Routed { route, moved });
    }
    if group.iter().any(|one| !one.moves.is_empty()) {
        for row in transaction.query("SELECT clock FROM tw_gate WHERE epoch = $1", &[&(epoch as i64)])? {
            let clock = unsigned(&row, 0);
            rows.clock.resize(clock.len().max(rows.clock.len()), 0);
            rows.clock.iter_mut().zip(&clock).for_each(|(own, other)| *own = (*own).max(*other));
        }
    }
    Ok(rows)
}

fn route(row: &Row) -> Route {
    Route {
        chunk: row.get::<_, i64>(0) as u32,
        owner: row.get::<_, i32>(1) as u16,
        version: row.get::<_, i64>(2) as u64,
    }
}

/// Arrays of arrays are not known to all; vectors go as texts.
const WRITE: &str = "
WITH gate AS (
    INSERT INTO tw_gate VALUES ($1, $2, $3, $4)
    ON CONFLICT (epoch, seat) DO UPDATE SET last_group = excluded.last_group, clock = excluded.clock
), keys AS (
    INSERT INTO tw_key
    SELECT k, $1, w::BIGINT[], r::BIGINT[] FROM unnest($5::BIGINT[], $6::TEXT[], $7::TEXT[]) AS u(k, w, r)
    ON CONFLICT (key) DO UPDATE SET epoch = excluded.epoch, written = excluded.written, read = excluded.read
)
INSERT INTO tw_log
SELECT $1, $2, c, v::BIGINT[], s::INT[], r
FROM unnest($8::BIGINT[], $9::TEXT[], $10::TEXT[], $11::BYTEA[]) AS u(c, v, s, r)";

/// An array as the database writes it.
fn array<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("{{{}}}", items.join(","))
}

/// Writes what a group has changed.
fn write_rows(
    transaction: &mut Transaction,
    (epoch, seat, group): (u64, usize, u64),
    rows: &Rows,
    clock: &[u64],
    committed: &[&Record],
) -> Result<(), postgres::Error> {
    let (mut keys, mut written, mut read) = (Vec::new(), Vec::new(), Vec::new());
    for key in &rows.changed_keys {
        let Some(row) = rows.keys.get(key) else { continue };
        keys.push(*key as i64);
        written.push(array(&row.written));
        read.push(array(&row.read));
    }
    let (mut vectors, mut counters, mut shards, mut records) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for record in committed {
        vectors.push(array(record.stamp.vector()));
        counters.push(record.stamp.counter() as i64);
        shards.push(array(record.parts.iter().map(|(shard, _)| shard)));
        records.push(encode(record));
    }
    let write = transaction.prepare(WRITE)?;
    transaction.execute(
        &write,
        &[
            &(epoch as i64),
            &(seat as i32),
            &(group as i64),
            &signed(clock),
            &keys,
            &written,
            &read,
            &counters,
            &vectors,
            &shards,
            &records,
        ],
    )?;
    for chunk in &rows.changed_routes {
        let Some(one) = rows.routes.get(chunk) else { continue };
        let update = "UPDATE tw_chunk SET owner = $2, version = $3, epoch = $4, moved = $5 WHERE chunk = $1";
        let moved = one.moved.as_ref().map(|moved| signed(moved));
        let (owner, version) = (i32::from(one.route.owner), one.route.version as i64);
        transaction.execute(update, &[&i64::from(*chunk), &owner, &version, &(epoch as i64), &moved])?;
    }
    Ok(())
}

fn epoch_of(transaction: &mut Transaction) -> Result<u64, postgres::Error> {
    Ok(transaction.query_one("SELECT epoch FROM tw_epoch WHERE one = 1", &[])?.get::<_, i64>(0) as u64)
}

/// What became of a group that was carried out before, or never will be.
fn past(
    transaction: &mut Transaction,
    epoch: u64,
    seat: usize,
    group: &[Proposed],
    otherwise: &Verdict,
) -> Result<Vec<Verdict>, postgres::Error> {
    let counters: Vec<i64> = group.iter().map(|one| one.record.stamp.counter() as i64).collect();
    let read = "SELECT counter FROM tw_log WHERE epoch = $1 AND seat = $2 AND counter = ANY($3)";
    let rows = transaction.query(read, &[&(epoch as i64), &(seat as i32), &counters])?;
    let known: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    let verdict =
        |counter: &i64| if known.contains(counter) { Verdict::Committed } else { otherwise.clone() };
    Ok(counters.iter().map(verdict).collect())
}

fn last_place(transaction: &mut Transaction) -> Result<u64, postgres::Error> {
    let row = transaction.query_one("SELECT coalesce(max(place), 0)::BIGINT FROM tw_place", &[])?;
    Ok(row.get::<_, i64>(0) as u64)
}

impl Truth for PostgresTruth {
    fn state(&mut self) -> Result<(u64, u64), Unknown> {
        self.serializable(|transaction| Ok((epoch_of(transaction)?, last_place(transaction)?)))
    }

    fn commit(
        &mut self,
        epoch: u64,
        seat: usize,
        group: u64,
        proposed: &[Proposed],
    ) -> Result<Vec<Verdict>, Unknown> {
        self.serializable(|transaction| {
            let read = "SELECT e.epoch, g.last_group, g.clock FROM tw_epoch e LEFT JOIN tw_gate g ON g.epoch = $1 AND g.seat = $2";
            let row = transaction.query_one(read, &[&(epoch as i64), &(seat as i32)])?;
            if row.get::<_, i64>(0) as u64 != epoch {
                return past(transaction, epoch, seat, proposed, &Verdict::Fenced);
            }
            if row.get::<_, Option<i64>>(1).unwrap_or(0) as u64 >= group {
                return past(transaction, epoch, seat, proposed, &Verdict::Again);
            }
            let mut clock: Vec<u64> =
                row.get::<_, Option<Vec<i64>>>(2).unwrap_or_default().into_iter().map(|own| own as u64).collect();
            let mut rows = read_rows(transaction, epoch, proposed)?;
            let verdicts: Vec<Verdict> = proposed.iter().map(|one| rows.verdict(one)).collect();
            let both = proposed.iter().zip(&verdicts);
            let committed: Vec<&Record> =
                both.filter(|(_, verdict)| **verdict == Verdict::Committed).map(|(one, _)| &one.record).collect();
            for record in &committed {
                clock.resize(record.stamp.vector().len(), 0);
                clock.iter_mut().zip(record.stamp.vector()).for_each(|(own, other)| *own = (*own).max(*other));
            }
            write_rows(transaction, (epoch, seat, group), &rows, &clock, &committed)?;
            Ok(verdicts)
        })
    }

    fn bump(&mut self, from: u64) -> Result<u64, Unknown> {
        self.serializable(|transaction| {
            let bump = "UPDATE tw_epoch SET epoch = epoch + 1 WHERE one = 1 AND epoch = $1";
            transaction.execute(bump, &[&(from as i64)])?;
            epoch_of(transaction)
        })
    }

    fn unplaced(&mut self, limit: usize) -> Result<(u64, Vec<Stamp>), Unknown> {
        self.serializable(|transaction| {
            let read = "SELECT epoch, seat, vector FROM (
                    SELECT l.*, row_number() OVER (PARTITION BY l.epoch, l.seat ORDER BY l.counter) AS n FROM tw_log l
                    WHERE l.epoch < (SELECT epoch FROM tw_epoch WHERE one = 1) AND NOT EXISTS (
                        SELECT 1 FROM tw_place p WHERE p.epoch = l.epoch AND p.seat = l.seat AND p.counter = l.counter)
                ) AS open WHERE n <= $1 ORDER BY epoch, seat, counter";
            let rows = transaction.query(read, &[&(limit as i64)])?;
            Ok((last_place(transaction)?, rows.iter().filter_map(|row| stamp(row, 0)).collect()))
        })
    }

    fn place(&mut self, epoch: u64, first: u64, commits: &[CommitId]) -> Result<bool, Unknown> {
        let epochs: Vec<i64> = commits.iter().map(|id| id.epoch as i64).collect();
        let seats: Vec<i32> = commits.iter().map(|id| id.seat as i32).collect();
        let counters: Vec<i64> = commits.iter().map(|id| id.counter as i64).collect();
        self.serializable(|transaction| {
            if epoch_of(transaction)? == epoch && last_place(transaction)? + 1 == first {
                let new = "SELECT count(*) FROM unnest($1::BIGINT[], $2::INT[], $3::BIGINT[]) AS u(e, s, c)
                    JOIN tw_log l ON l.epoch = e AND l.seat = s AND l.counter = c
                    WHERE NOT EXISTS (SELECT 1 FROM tw_place p WHERE p.epoch = e AND p.seat = s AND p.counter = c)";
                let count: i64 = transaction.query_one(new, &[&epochs, &seats, &counters])?.get(0);
                if count == commits.len() as i64 {
                    let insert = "INSERT INTO tw_place SELECT $4 + n - 1, e, s, c
                        FROM unnest($1::BIGINT[], $2::INT[], $3::BIGINT[]) WITH ORDINALITY AS u(e, s, c, n)";
                    transaction.execute(insert, &[&epochs, &seats, &counters, &(first as i64)])?;
                }
            }
            let read = "SELECT epoch, seat, counter FROM tw_place WHERE place >= $1 AND place < $2 ORDER BY place";
            let last = first + commits.len() as u64;
            let rows = transaction.query(read, &[&(first as i64), &(last as i64)])?;
            let there = rows.iter().map(|row| CommitId {
                epoch: row.get::<_, i64>(0) as u64,
                seat: row.get::<_, i32>(1) as usize,
                counter: row.get::<_, i64>(2) as u64,
            });
            Ok(there.eq(commits.iter().copied()))
        })
    }

    fn log(
        &mut self,
        shard: Option<u16>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Arc<Record>)>, Unknown> {
        let shard = shard.map(i32::from);
        self.serializable(|transaction| {
            let read = "SELECT l.epoch, l.seat, l.vector, p.place, l.record FROM tw_place p
                JOIN tw_log l ON l.epoch = p.epoch AND l.seat = p.seat AND l.counter = p.counter
                WHERE p.place > $1 AND ($2::INT IS NULL OR $2 = ANY(l.shards)) ORDER BY p.place LIMIT $3";
            let rows = transaction.query(read, &[&(after as i64), &shard, &(limit as i64)])?;
            let record = |row: &Row| {
                let parts = decode(row.get::<_, &[u8]>(4))?;
                Some((row.get::<_, i64>(3) as u64, Arc::new(Record { stamp: stamp(row, 0)?, parts })))
            };
            Ok(rows.iter().map(record).collect::<Option<Vec<_>>>())
        })?
        .ok_or(Unknown)
    }

    fn lease(&mut self, shard: u16, count: u32) -> Result<u32, Unknown> {
        self.serializable(|transaction| {
            let next = "UPDATE tw_next SET chunk = chunk + $1 WHERE one = 1 RETURNING chunk";
            let end: i64 = transaction.query_one(next, &[&i64::from(count)])?.get(0);
            let insert = "INSERT INTO tw_chunk SELECT c, $3, 0, 0, NULL FROM generate_series($1::BIGINT, $2::BIGINT) AS c";
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
        self.serializable(|transaction| {
            if epoch_of(transaction)? == epoch {
                let delete = "DELETE FROM tw_key WHERE epoch < $1
                    OR NOT EXISTS (SELECT 1 FROM unnest(written, read, $2::BIGINT[]) AS u(w, r, f) WHERE w > f OR r > f)";
                transaction.execute(delete, &[&(epoch as i64), &frontier])?;
            }
            Ok(())
        })
    }
}

/// A stamp of epoch, seat and vector, from this column on.
fn stamp(row: &Row, column: usize) -> Option<Stamp> {
    let (epoch, seat) = (row.get::<_, i64>(column) as u64, row.get::<_, i32>(column + 1) as usize);
    Stamp::from_parts(epoch, seat, unsigned(row, column + 2).into())
}
