//! The followers of the sequence of commits, and the base of the log for them.

use crate::{PostgresTruth, columns, encode_parts, last_version, log};
use postgres::{IsolationLevel, Row};
use protocol::limits::{FOLLOWER_KEPT_US, USAGE_KEPT_US};
use protocol::{Bytes, CommitId, Following, LogCut, LogPage, Route, Sequence, ToldUsage, Truth, Unknown};

/// Records of a base that are deleted at once: each may be as large as a commit.
const BASE_RECORDS_DELETED: i64 = 200;
/// Microseconds since 1970 by the clock of the database.
const NOW_US: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT";

impl Sequence for PostgresTruth {
    fn after(&mut self, after: u64, limit: usize) -> Result<LogPage, Unknown> {
        self.log(None, after, limit)
    }
    fn newest(&mut self) -> Result<(u64, Vec<CommitId>), Unknown> {
        // Arrays begin at 1. A gate whose groups all failed has no clock.
        let read = "SELECT epoch, seat, clock[seat + 1] FROM tw_gate WHERE clock[seat + 1] > 0";
        self.serializable(|transaction| {
            let id = |row: Row| CommitId {
                epoch: row.get::<_, i64>(0) as u64,
                seat: row.get::<_, i32>(1) as usize,
                counter: row.get::<_, i64>(2) as u64,
            };
            let newest = transaction.query(read, &[])?.into_iter().map(id).collect();
            Ok((last_version(transaction)?, newest))
        })
    }
    fn version_of(&mut self, commits: &[CommitId]) -> Result<Option<u64>, Unknown> {
        let (epochs, seats, counters) = columns(commits);
        self.serializable(|transaction| {
            // What is cut off had a commit version, up to the base.
            let read = "SELECT count(*), coalesce(max(coalesce(p.place, (SELECT base FROM tw_cut WHERE one = 1))), 0)::BIGINT
                FROM unnest($1::BIGINT[], $2::INT4[], $3::BIGINT[]) AS u(e, s, c)
                LEFT JOIN tw_place p ON p.epoch = e AND p.seat = s AND p.counter = c
                LEFT JOIN tw_cut_seat t ON t.epoch = e AND t.seat = s AND t.counter >= c
                WHERE p.place IS NOT NULL OR t.counter IS NOT NULL";
            let row = transaction.query_one(read, &[&epochs, &seats, &counters])?;
            let are_all = row.get::<_, i64>(0) == commits.len() as i64;
            Ok(are_all.then(|| row.get::<_, i64>(1) as u64))
        })
    }
    fn routes(&mut self) -> Result<Vec<Route>, Unknown> {
        self.placement()
    }

    fn follows(&mut self, name: &str, commit_version: u64) -> Result<(), Unknown> {
        let tell = format!(
            "INSERT INTO tw_follower VALUES ($1, $2, {NOW_US})
            ON CONFLICT (name) DO UPDATE SET place = excluded.place, told_us = excluded.told_us"
        );
        self.serializable(|transaction| {
            transaction.execute(&tell, &[&name, &(commit_version as i64)]).map(drop)
        })
    }
    fn followers(&mut self) -> Result<Vec<Following>, Unknown> {
        let read = format!(
            "SELECT name, place, greatest({NOW_US} - told_us, 0) FROM tw_follower
            WHERE told_us > {NOW_US} - $1 ORDER BY name"
        );
        self.serializable(|transaction| {
            let following = |row: Row| Following {
                name: row.get(0),
                commit_version: row.get::<_, i64>(1) as u64,
                silent_us: row.get::<_, i64>(2) as u64,
            };
            let rows = transaction.query(&read, &[&(FOLLOWER_KEPT_US as i64)])?;
            Ok(rows.into_iter().map(following).collect())
        })
    }
    fn put_base(
        &mut self,
        maker: &str,
        base: u64,
        number: u64,
        parts: &[(u16, Bytes)],
    ) -> Result<(), Unknown> {
        let shards: Vec<i32> = parts.iter().map(|(shard, _)| i32::from(*shard)).collect();
        let record = encode_parts(parts);
        if number == 1 {
            // What a maker put down before it ended half way; a piece at a time, since records are large.
            let delete = "DELETE FROM tw_base WHERE (maker, base, number) IN
                (SELECT b.maker, b.base, b.number FROM tw_base b WHERE b.maker = $1
                AND NOT EXISTS (SELECT 1 FROM tw_cut c WHERE c.maker = b.maker AND c.base = b.base) LIMIT $2)";
            while self
                .serializable(|transaction| transaction.execute(delete, &[&maker, &BASE_RECORDS_DELETED]))?
                > 0
            {}
        }
        self.serializable(|transaction| {
            let put = "INSERT INTO tw_base VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
            transaction.execute(put, &[&maker, &(base as i64), &(number as i64), &shards, &record]).map(drop)
        })
    }
    fn cut(&mut self, maker: &str, base: u64, records: u64) -> Result<LogCut, Unknown> {
        let (commit_version, count) = (base as i64, records as i64);
        self.serializable(|transaction| {
            let present = log::base(transaction)?;
            let made = "SELECT count(*) FROM tw_base WHERE maker = $1 AND base = $2";
            let made: i64 = transaction.query_one(made, &[&maker, &commit_version])?.get(0);
            let is_next = base > present.commit_version && base <= last_version(transaction)? && records <= base;
            if !is_next || made != count {
                return Ok(LogCut::Outdated);
            }
            let behind = format!(
                "SELECT name FROM tw_follower WHERE told_us > {NOW_US} - $1 AND place < $2 ORDER BY place LIMIT 1"
            );
            if let Some(row) = transaction.query_opt(&behind, &[&(FOLLOWER_KEPT_US as i64), &commit_version])? {
                return Ok(LogCut::NeededBy(row.get(0)));
            }
            let cut = "UPDATE tw_cut SET base = $1, records = $2, maker = $3,
                at_us = coalesce((SELECT at_us FROM tw_place WHERE place = $1), 0) WHERE one = 1";
            transaction.execute(cut, &[&commit_version, &count, &maker])?;
            // Who is behind for longer than that begins anew.
            let forget = format!("DELETE FROM tw_follower WHERE told_us <= {NOW_US} - $1");
            transaction.execute(&forget, &[&(FOLLOWER_KEPT_US as i64)])?;
            Ok(LogCut::Done)
        })
    }
    fn tell_usage(&mut self, gate: &str, usage: &[u8]) -> Result<ToldUsage, Unknown> {
        // It is worth nothing after a crash, so nobody waits for the disk; and each writes its own row, so nobody needs an order.
        let client = &mut self.connection().ok_or(Unknown)?.client;
        let tell = format!(
            "INSERT INTO tw_usage VALUES ($1, $2, {NOW_US})
            ON CONFLICT (gate) DO UPDATE SET usage = excluded.usage, told_us = excluded.told_us RETURNING told_us"
        );
        let read = "SELECT gate, usage FROM tw_usage WHERE gate <> $1 AND told_us > $2::BIGINT - $3::BIGINT ORDER BY gate";
        let mut told = || {
            client.batch_execute("SET synchronous_commit = off")?;
            let now_us: i64 = client.query_one(&tell, &[&gate, &usage])?.get(0);
            let rows = client.query(read, &[&gate, &now_us, &(USAGE_KEPT_US as i64)])?;
            let others = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
            Ok::<_, postgres::Error>(ToldUsage { now_us: now_us as u64, others })
        };
        let outcome = told();
        outcome.map_err(|_| {
            self.connection = None;
            Unknown
        })
    }
    fn delete_below_base(&mut self) -> Result<bool, Unknown> {
        // Nobody reads what is below the base, so nobody needs to see it go at one moment. As a serializable transaction it would end those of gates.
        let client = &mut self.connection().ok_or(Unknown)?.client;
        let mut deleted = || {
            let level = IsolationLevel::ReadCommitted;
            let mut transaction = client.build_transaction().isolation_level(level).start()?;
            let count = log::delete_below(&mut transaction)?;
            let others = "DELETE FROM tw_base WHERE (maker, base, number) IN
                (SELECT b.maker, b.base, b.number FROM tw_base b WHERE EXISTS
                (SELECT 1 FROM tw_cut c WHERE c.one = 1 AND b.base < c.base) LIMIT $1)";
            let others = if count == 0 { transaction.execute(others, &[&BASE_RECORDS_DELETED])? } else { 0 };
            transaction.commit()?;
            Ok::<u64, postgres::Error>(count + others)
        };
        match deleted() {
            Ok(count) => Ok(count > 0),
            Err(_) => Err(Unknown),
        }
    }
}
