//! One group in one transaction: lock and read the news, decide, write.
//!
//! ```text
//!   BEGIN · lock · epoch · gates · other groups' keys · chunks                  one round trip
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
    /// A row of a group is not in this program's form.
    Damaged,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Database(error)
    }
}

/// The database's answers at the beginning.
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

/// Carries out a group, or returns its earlier outcome. After an error the connection must be dropped, or rolled back.
pub(crate) fn commit(
    connection: &mut Connection,
    (epoch, seat, group): Name,
    proposed: &[Proposed],
) -> Result<Vec<Verdict>, Failed> {
    let prepared: Vec<PreparedCommit> =
        proposed.iter().map(|one| PreparedCommit::of(epoch, seat, one)).collect();
    let begun = begin(connection, epoch, seat, proposed)?;
    if !begun.is_open {
        return past(connection, (epoch, seat), proposed, &Verdict::Fenced);
    }
    if begun.last_group >= group {
        return past(connection, (epoch, seat), proposed, &Verdict::Again);
    }
    let number = begun.last_number + 1;
    let verdicts = connection.replica.decide(number, proposed);
    let committed = proposed.iter().zip(&prepared).zip(&verdicts);
    let committed = committed.filter(|(_, verdict)| **verdict == Verdict::Committed).map(|(both, _)| both);
    let mut statements = written((epoch, seat, group), begun.clock, number, committed);
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

/// The outcome of a group that was carried out before, or never will be.
fn past(
    connection: &mut Connection,
    (epoch, seat): (u64, usize),
    group: &[Proposed],
    otherwise: &Verdict,
) -> Result<Vec<Verdict>, Failed> {
    let counters: Vec<i64> = group.iter().map(|one| one.record.stamp.counter() as i64).collect();
    let read = "SELECT counter FROM tw_log WHERE epoch = $1 AND seat = $2 AND counter = ANY($3)";
    let rows = connection.client.query(read, &[&(epoch as i64), &(seat as i32), &counters])?;
    let cut = "SELECT counter FROM tw_cut_seat WHERE epoch = $1 AND seat = $2";
    let cut = connection.client.query_opt(cut, &[&(epoch as i64), &(seat as i32)])?;
    let cut = cut.map_or(-1, |row| row.get::<_, i64>(0));
    connection.commit("")?;
    let known: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    let verdict = |counter: &i64| match known.contains(counter) {
        true => Verdict::Committed,
        false if *counter <= cut => Verdict::Forgotten,
        false => otherwise.clone(),
    };
    Ok(counters.iter().map(verdict).collect())
}

/// The texts of a commit that do not depend on others. They are made before the turn, in which all other gates wait.
struct PreparedCommit {
    /// Its row of the log.
    row: String,
    /// The keys it touches, in hexadecimal digits.
    touched: String,
}

impl PreparedCommit {
    fn of(epoch: u64, seat: usize, one: &Proposed) -> PreparedCommit {
        let stamp = &one.record.stamp;
        let shards = array(one.record.parts.iter().map(|(shard, _)| shard));
        let mut row = format!("({epoch}, {seat}, {}, {}, {shards}, ", stamp.counter(), array(stamp.vector()));
        row.push_str(BYTES_BEGIN);
        push_hex(&mut row, &encode(&one.record));
        row.push_str(BYTES_END);
        row.push(')');
        let mut touched = String::new();
        push_hex(&mut touched, &touched::encode([one]));
        PreparedCommit { row, touched }
    }
}

/// Statements that write a group's changes.
fn written<'a>(
    (epoch, seat, group): Name,
    mut clock: Vec<u64>,
    number: u64,
    committed: impl Iterator<Item = (&'a Proposed, &'a PreparedCommit)>,
) -> String {
    let mut merged: Vec<u64> = Vec::new();
    let (mut log, mut touched, mut moves) = (String::new(), String::new(), false);
    for (one, prepared) in committed {
        let vector = one.record.stamp.vector();
        for all in [&mut clock, &mut merged] {
            all.resize(vector.len(), 0);
            all.iter_mut().zip(vector).for_each(|(own, other)| *own = (*own).max(*other));
        }
        log.push_str(if log.is_empty() { "INSERT INTO tw_log VALUES " } else { ", " });
        log.push_str(&prepared.row);
        touched.push_str(&prepared.touched);
        moves |= !one.moves.is_empty();
    }
    let (clock, merged) = (array(&clock), array(&merged));
    let mut statements = format!(
        "INSERT INTO tw_gate VALUES ({epoch}, {seat}, {group}, {number}, {clock})
        ON CONFLICT (epoch, seat) DO UPDATE SET last_group = excluded.last_group, number = excluded.number, clock = excluded.clock
        ;INSERT INTO tw_group VALUES ({epoch}, {number}, {seat}, {merged}, {moves}, "
    );
    [BYTES_BEGIN, &touched, BYTES_END, ");"].into_iter().for_each(|text| statements.push_str(text));
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

/// Around bytes in hexadecimal digits.
const BYTES_BEGIN: &str = "'\\x";
const BYTES_END: &str = "'::BYTEA";

fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    text.reserve(2 * bytes.len());
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    bytes.collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty())
}
