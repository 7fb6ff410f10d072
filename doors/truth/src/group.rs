//! One group in one transaction: take the turn and read what is new, decide, write.
//!
//! ```text
//!   BEGIN · turn · epoch · gates · what other groups touched · chunks           one round trip
//!   decide, by the copy of the rows                                             in memory
//!   gate's row · group's row · one row of the log a commit · COMMIT · flush     one round trip
//! ```
//! Statements are texts of numbers and of bytes in hexadecimal digits, nothing else, so that several go in one round trip.

use crate::connection::Connection;
use crate::replica::Replica;
use crate::{encode, touched};
use postgres::{Error, SimpleQueryRow};
use protocol::{Proposed, Route, Routed, Verdict};
use std::collections::BTreeSet;

/// A group by its epoch, seat and number among its seat's.
type Name = (u64, usize, u64);

/// Why a group was not carried out, as far as is known.
pub(crate) enum Failed {
    /// The database says so, or does not answer.
    Database(Error),
    /// A row of a group is not what this program writes.
    Damaged,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Database(error)
    }
}

/// What the database said at the beginning.
struct Begun {
    /// The epoch has not been ended.
    is_open: bool,
    /// The last group of this seat.
    last_group: u64,
    /// Merged vectors of this seat's commits.
    clock: Vec<u64>,
    /// The last number of any group of the epoch.
    last_number: u64,
}

/// Carries out a group, or says what became of it before. After an error the connection must be given up, or rolled back.
pub(crate) fn commit(
    connection: &mut Connection,
    (epoch, seat, group): Name,
    proposed: &[Proposed],
) -> Result<Vec<Verdict>, Failed> {
    let begun = begin(connection, epoch, seat, proposed)?;
    if !begun.is_open {
        return past(connection, (epoch, seat), proposed, &Verdict::Fenced);
    }
    if begun.last_group >= group {
        return past(connection, (epoch, seat), proposed, &Verdict::Again);
    }
    let number = begun.last_number + 1;
    let verdicts = connection.replica.decide(number, proposed);
    let mut statements = written((epoch, seat, group), begun.clock, number, proposed, &verdicts);
    moved(connection, epoch, &mut statements);
    connection.commit(&statements)?;
    Ok(verdicts)
}

/// Takes the turn, and brings the copy of the rows up to date.
fn begin(
    connection: &mut Connection,
    epoch: u64,
    seat: usize,
    proposed: &[Proposed],
) -> Result<Begun, Failed> {
    if connection.replica.epoch() != epoch {
        connection.replica = Replica::new(epoch);
    }
    let number = connection.replica.number();
    let missing: Vec<String> =
        connection.replica.missing_chunks(proposed).iter().map(u32::to_string).collect();
    let (mut statements, first) = connection.begin();
    statements.push_str(&format!(
        ";SELECT epoch, frontier FROM tw_epoch WHERE one = 1
        ;SELECT seat, last_group, number, clock FROM tw_gate WHERE epoch = {epoch}
        ;SELECT seat, number, encode(touched, 'hex') FROM tw_group WHERE epoch = {epoch} AND number > {number} ORDER BY number"
    ));
    if !missing.is_empty() {
        statements.push_str(&format!(
            ";SELECT chunk, owner, version, CASE WHEN epoch = {epoch} THEN moved END FROM tw_chunk WHERE chunk IN ({})",
            missing.join(",")
        ));
    }
    let results = connection.run(&statements)?;
    let mut results = results.into_iter().skip(first);
    let [head, gates, groups, chunks] = std::array::from_fn(|_| results.next().unwrap_or_default());
    let replica = &mut connection.replica;
    let is_open = head.first().is_some_and(|row| number_of(row, 0) == epoch);
    let mut begun = Begun { is_open, last_group: 0, clock: Vec::new(), last_number: replica.number() };
    for row in &gates {
        let clock = vector_of(row, 3);
        let merged = &mut replica.rows().clock;
        merged.resize(merged.len().max(clock.len()), 0);
        merged.iter_mut().zip(&clock).for_each(|(own, other)| *own = (*own).max(*other));
        begun.last_number = begun.last_number.max(number_of(row, 2));
        if number_of(row, 0) == seat as u64 {
            (begun.last_group, begun.clock) = (number_of(row, 1), clock);
        }
    }
    for row in &groups {
        let (other, number) = (number_of(row, 0) as usize, number_of(row, 1));
        let commits = row.get(2).and_then(unhex).and_then(|bytes| touched::decode(epoch, other, &bytes));
        replica.replay(number, &commits.ok_or(Failed::Damaged)?);
    }
    for row in &chunks {
        let (chunk, owner) = (number_of(row, 0) as u32, number_of(row, 1) as u16);
        let route = Route { chunk, owner, version: number_of(row, 2) };
        let moved = row.get(3).map(|_| vector_of(row, 3).into());
        replica.rows().routes.insert(chunk, Routed { route, moved });
    }
    if let Some(row) = head.first().filter(|_| is_open) {
        replica.forget(&vector_of(row, 1));
    }
    Ok(begun)
}

/// What became of a group that was carried out before, or never will be.
fn past(
    connection: &mut Connection,
    (epoch, seat): (u64, usize),
    group: &[Proposed],
    otherwise: &Verdict,
) -> Result<Vec<Verdict>, Failed> {
    let counters: Vec<i64> = group.iter().map(|one| one.record.stamp.counter() as i64).collect();
    let read = "SELECT counter FROM tw_log WHERE epoch = $1 AND seat = $2 AND counter = ANY($3)";
    let rows = connection.client.query(read, &[&(epoch as i64), &(seat as i32), &counters])?;
    connection.commit("")?;
    let known: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    let verdict =
        |counter: &i64| if known.contains(counter) { Verdict::Committed } else { otherwise.clone() };
    Ok(counters.iter().map(verdict).collect())
}

/// Statements that write what a group has changed.
fn written(
    (epoch, seat, group): Name,
    mut clock: Vec<u64>,
    number: u64,
    proposed: &[Proposed],
    verdicts: &[Verdict],
) -> String {
    let both = proposed.iter().zip(verdicts);
    let committed: Vec<&Proposed> =
        both.filter(|(_, verdict)| **verdict == Verdict::Committed).map(|(one, _)| one).collect();
    let mut merged: Vec<u64> = Vec::new();
    let mut log = String::new();
    for record in committed.iter().map(|one| &one.record) {
        let vector = record.stamp.vector();
        for all in [&mut clock, &mut merged] {
            all.resize(vector.len(), 0);
            all.iter_mut().zip(vector).for_each(|(own, other)| *own = (*own).max(*other));
        }
        let between = if log.is_empty() { "INSERT INTO tw_log VALUES" } else { "," };
        let (counter, vector) = (record.stamp.counter(), array(vector));
        let shards = array(record.parts.iter().map(|(shard, _)| shard));
        log.push_str(&format!("{between} ({epoch}, {seat}, {counter}, {vector}, {shards}, "));
        push_hex(&mut log, &encode(record));
        log.push(')');
    }
    let (clock, merged) = (array(&clock), array(&merged));
    let moves = committed.iter().any(|one| !one.moves.is_empty());
    let mut statements = format!(
        "INSERT INTO tw_gate VALUES ({epoch}, {seat}, {group}, {number}, {clock})
        ON CONFLICT (epoch, seat) DO UPDATE SET last_group = excluded.last_group, number = excluded.number, clock = excluded.clock
        ;INSERT INTO tw_group VALUES ({epoch}, {number}, {seat}, {merged}, {moves}, "
    );
    push_hex(&mut statements, &touched::encode(committed.iter().copied()));
    statements.push_str(");");
    statements.push_str(&log);
    statements.push(';');
    statements
}

/// Statements that write where chunks are that have moved.
fn moved(connection: &mut Connection, epoch: u64, statements: &mut String) {
    let rows = connection.replica.rows();
    for chunk in std::mem::take(&mut rows.changed_routes) {
        let Some(Routed { route, moved: Some(moved) }) = rows.routes.get(&chunk) else { continue };
        let (owner, version, moved) = (route.owner, route.version, array(moved));
        statements.push_str(&format!(
            "UPDATE tw_chunk SET owner = {owner}, version = {version}, epoch = {epoch}, moved = {moved} WHERE chunk = {chunk};"
        ));
    }
}

/// An array as the database writes it.
fn array<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("'{{{}}}'", items.join(","))
}

/// A number of a row of texts. The columns are declared to have one.
fn number_of(row: &SimpleQueryRow, column: usize) -> u64 {
    row.get(column).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// An array of numbers.
fn vector_of(row: &SimpleQueryRow, column: usize) -> Vec<u64> {
    let text = row.get(column).unwrap_or("{}").trim_matches(['{', '}']);
    text.split(',').filter_map(|counter| counter.parse().ok()).collect()
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    text.push_str("'\\x");
    text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    text.push_str("'::BYTEA");
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    bytes.collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty())
}
