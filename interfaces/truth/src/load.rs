//! The first content of a cluster: commits that are in the log before any epoch has begun.

use crate::{PostgresTruth, encode, epoch_of};
use protocol::{Bytes, Record, Truth, Unknown};

/// The epoch before the first commits.
const FIRST_EPOCH: u64 = 0;

/// How a load begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadBegins {
    /// Commits may be written.
    Ready,
    /// This loader has written them all before.
    IsDone,
    /// The database holds another cluster, or another loads one.
    HasOther,
}

impl PostgresTruth {
    /// Prepares commits that come before all others, by a loader of this name. Remains of an earlier, unfinished load are removed.
    pub fn begin_load(&mut self, loader: &str) -> Result<LoadBegins, Unknown> {
        self.serializable(|transaction| {
            let known = transaction.query_opt("SELECT loader FROM tw_load WHERE one = 1", &[])?;
            let is_own = known.is_none_or(|row| row.get::<_, &str>(0) == loader);
            if epoch_of(transaction)? != FIRST_EPOCH {
                let has_loaded = transaction.query_opt("SELECT 1 FROM tw_load WHERE one = 1", &[])?.is_some();
                return Ok(if is_own && has_loaded { LoadBegins::IsDone } else { LoadBegins::HasOther });
            }
            if !is_own {
                return Ok(LoadBegins::HasOther);
            }
            transaction.batch_execute(
                "DELETE FROM tw_place; DELETE FROM tw_log; DELETE FROM tw_chunk; UPDATE tw_next SET chunk = 0",
            )?;
            transaction.execute("INSERT INTO tw_load VALUES (1, $1) ON CONFLICT DO NOTHING", &[&loader])?;
            Ok(LoadBegins::Ready)
        })
    }
    /// Writes the commit of this version, from 1 on, in one go.
    pub fn load(&mut self, commit_version: u64, parts: Vec<(u16, Bytes)>) -> Result<(), Unknown> {
        let shards: Vec<i32> = parts.iter().map(|(shard, _)| i32::from(*shard)).collect();
        let stamp = order::Stamp::from_parts(FIRST_EPOCH, 0, [commit_version].into()).ok_or(Unknown)?;
        let record = encode(&Record { stamp, parts });
        let commit_version = commit_version as i64;
        self.serializable(|transaction| {
            let log = "INSERT INTO tw_log VALUES ($1, 0, $2, $3, $4, $5)";
            transaction.execute(
                log,
                &[&(FIRST_EPOCH as i64), &commit_version, &vec![commit_version], &shards, &record],
            )?;
            let versioned = "INSERT INTO tw_place (place, epoch, seat, counter, at_us)
                VALUES ($2, $1, 0, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)";
            transaction.execute(versioned, &[&(FIRST_EPOCH as i64), &commit_version]).map(drop)
        })
    }
    /// The content is whole: the first epoch may begin.
    pub fn end_load(&mut self) -> Result<(), Unknown> {
        self.bump(FIRST_EPOCH).map(drop)
    }
}
