//! The log of commits: page by page, with the base that it begins with.
//!
//! ```text
//!   tw_base: records that stand for all up to the base, in the last commit versions up to it  |  tw_place and tw_log: each commit behind it
//! ```
//!
//! Invariant: reads do not depend on how much of the log below the base is deleted by now.

use crate::{decode, stamp};
use order::Stamp;
use postgres::{Error, Row, Transaction};
use protocol::limits::{CUT_PAGE, LOG_PAGE_BYTES};
use protocol::{LogPage, Record, VersionedCommit};
use std::sync::Arc;

/// The epoch and seat of records of a base, whose counters are their commit versions: no gate commits in it.
const BASE_EPOCH: u64 = 0;

/// The base of the log.
pub(crate) struct Base {
    pub(crate) commit_version: u64,
    pub(crate) records: u64,
    pub(crate) maker: String,
    at_us: i64,
}

/// The base of the log.
pub(crate) fn base(transaction: &mut Transaction) -> Result<Base, Error> {
    let row = transaction.query_one("SELECT base, records, maker, at_us FROM tw_cut WHERE one = 1", &[])?;
    let number = |column| row.get::<_, i64>(column);
    Ok(Base {
        commit_version: number(0) as u64,
        records: number(1) as u64,
        maker: row.get(2),
        at_us: number(3),
    })
}

/// Commits with versions above `after`, of one shard or of all, in order. None where a row is not in this program's form.
pub(crate) fn page(
    transaction: &mut Transaction,
    shard: Option<u16>,
    after: u64,
    limit: usize,
) -> Result<Option<LogPage>, Error> {
    let base = base(transaction)?;
    let (shard, limit) = (shard.map(i32::from), limit as i64);
    if after < base.commit_version {
        let first = base.commit_version - base.records;
        let behind = after.saturating_sub(first);
        // Lengths are read without the records.
        let read = "SELECT number, record FROM
            (SELECT b.*, CAST(sum(octet_length(b.record)) OVER (ORDER BY b.number) AS BIGINT) - octet_length(b.record) AS before FROM
                (SELECT number, record FROM tw_base WHERE maker = $1 AND base = $2 AND number > $3
                AND ($4::INT4 IS NULL OR $4 = ANY(shards)) ORDER BY number LIMIT $5) AS b) AS b
            WHERE before < $6::BIGINT ORDER BY number";
        let bytes_max = LOG_PAGE_BYTES as i64;
        let rows = transaction.query(
            read,
            &[&base.maker, &(base.commit_version as i64), &(behind as i64), &shard, &limit, &bytes_max],
        )?;
        if !rows.is_empty() {
            let versioned = |row: &Row| {
                let commit_version = first + row.get::<_, i64>(0) as u64;
                let parts = decode(row.get::<_, &[u8]>(1))?;
                let stamp = Stamp::from_parts(BASE_EPOCH, 0, [commit_version].into())?;
                let record = Arc::new(Record { stamp, parts });
                Some(VersionedCommit { commit_version, at_us: base.at_us as u64, record })
            };
            let commits = rows.iter().map(versioned).collect::<Option<Vec<_>>>();
            return Ok(commits.map(|commits| LogPage { base: base.commit_version, commits }));
        }
    }
    let read = "SELECT epoch, seat, vector, place, at_us, record FROM
        (SELECT l.*, CAST(sum(octet_length(l.record)) OVER (ORDER BY l.place) AS BIGINT) - octet_length(l.record) AS before FROM
            (SELECT l.epoch, l.seat, l.vector, p.place, coalesce(p.at_us, 0) AS at_us, l.record FROM tw_place p
            JOIN tw_log l ON l.epoch = p.epoch AND l.seat = p.seat AND l.counter = p.counter
            WHERE p.place > $1 AND ($2::INT4 IS NULL OR $2 = ANY(l.shards)) ORDER BY p.place LIMIT $3) AS l) AS l
        WHERE before < $4::BIGINT ORDER BY place";
    let (after, bytes_max) = (after.max(base.commit_version) as i64, LOG_PAGE_BYTES as i64);
    let rows = transaction.query(read, &[&after, &shard, &limit, &bytes_max])?;
    let versioned = |row: &Row| {
        let parts = decode(row.get::<_, &[u8]>(5))?;
        let record = Arc::new(Record { stamp: stamp(row, 0)?, parts });
        let (commit_version, at_us) = (row.get::<_, i64>(3) as u64, row.get::<_, i64>(4) as u64);
        Some(VersionedCommit { commit_version, at_us, record })
    };
    let commits = rows.iter().map(versioned).collect::<Option<Vec<_>>>();
    Ok(commits.map(|commits| LogPage { base: base.commit_version, commits }))
}

/// Deletes some commits below the base, and says up to which counters; how many. A commit and its version go together: one without a commit version would get another.
pub(crate) fn delete_below(transaction: &mut Transaction) -> Result<u64, Error> {
    let base = base(transaction)?;
    let delete = "WITH old AS (SELECT place FROM tw_place WHERE place <= $1 ORDER BY place LIMIT $2),
        gone AS (DELETE FROM tw_place WHERE place IN (SELECT place FROM old) RETURNING epoch, seat, counter),
        cut AS (INSERT INTO tw_cut_seat SELECT epoch, seat, max(counter) FROM gone GROUP BY epoch, seat
            ON CONFLICT (epoch, seat) DO UPDATE SET counter = greatest(tw_cut_seat.counter, excluded.counter))
        DELETE FROM tw_log WHERE (epoch, seat, counter) IN (SELECT epoch, seat, counter FROM gone)";
    transaction.execute(delete, &[&(base.commit_version as i64), &(CUT_PAGE as i64)])
}
