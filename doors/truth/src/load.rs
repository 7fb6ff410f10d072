//! The first content of a cluster: commits that are in the log before any epoch has begun.

use crate::{PostgresTruth, encode, epoch_of};
use protocol::{Bytes, Record, Truth, Unknown};

/// The epoch in which nobody commits yet.
const FIRST_EPOCH: u64 = 0;

impl PostgresTruth {
    /// Makes ready for commits that come before all others. What an earlier load left behind that did not come to its end goes. False where an epoch has begun, so
    /// that the cluster has its content.
    pub fn begin_load(&mut self) -> Result<bool, Unknown> {
        self.serializable(|transaction| {
            let is_new = epoch_of(transaction)? == FIRST_EPOCH;
            if is_new {
                transaction.batch_execute(
                    "DELETE FROM tw_place; DELETE FROM tw_log; DELETE FROM tw_chunk; UPDATE tw_next SET chunk = 0",
                )?;
            }
            Ok(is_new)
        })
    }
    /// Writes the commit of this place, from 1 on, in one go.
    pub fn load(&mut self, place: u64, parts: Vec<(u16, Bytes)>) -> Result<(), Unknown> {
        let shards: Vec<i32> = parts.iter().map(|(shard, _)| i32::from(*shard)).collect();
        let stamp = order::Stamp::from_parts(FIRST_EPOCH, 0, [place].into()).ok_or(Unknown)?;
        let record = encode(&Record { stamp, parts });
        let place = place as i64;
        self.serializable(|transaction| {
            let log = "INSERT INTO tw_log VALUES ($1, 0, $2, $3, $4, $5)";
            transaction.execute(log, &[&(FIRST_EPOCH as i64), &place, &vec![place], &shards, &record])?;
            let placed = "INSERT INTO tw_place (place, epoch, seat, counter, at_us)
                VALUES ($2, $1, 0, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)";
            transaction.execute(placed, &[&(FIRST_EPOCH as i64), &place]).map(drop)
        })
    }
    /// The content is whole: the first epoch may begin.
    pub fn end_load(&mut self) -> Result<(), Unknown> {
        self.bump(FIRST_EPOCH).map(drop)
    }
}
