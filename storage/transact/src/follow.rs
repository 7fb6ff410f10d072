//! Commits made elsewhere, with their commit versions: a replica of a cluster applies them, one after the other.

use crate::committer::{Basis, Input, Refusal};
use crate::reads::Inner as Reads;
use crate::reserve::EXEMPT;
use crate::{Engine, TransactError};
use store::Change;

/// A commit of another's sequence.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Its commit version there, which it keeps here.
    pub commit_version: u64,
    /// When it was made, in microseconds since 1970; one that says less than the one before it gets that one's.
    pub time_micros: u64,
    /// Its changes, with the names that it defines.
    pub changes: Vec<Change>,
}

impl Engine {
    /// Applies commits in order of their versions, the first of which follows the last commit here. On return they are on disk and visible; they
    /// share syncs of the log. Nothing else may commit here.
    ///
    /// # Errors
    /// A commit version is not the next one; the changes do not fit the graph, so it is no copy of the other; the disk fails. Earlier ones may have
    /// been applied.
    pub fn follow(&self, commits: Vec<Followed>) -> Result<(), TransactError> {
        let shared = &self.shared;
        let mut waiting = Vec::new();
        let mut refused = None;
        for Followed { commit_version, time_micros, changes } in commits {
            let mut committer = shared.committer.lock();
            let (reads, base) = (Reads::default(), Basis::of(&committer.tip));
            let (stamp, reservation, made) =
                (shared.stamp(0), Some(EXEMPT), Some((commit_version, time_micros)));
            let mut input = Input { changes, reads, base, stamp, reservation, made };
            let accepted = shared.accept(&mut committer, &mut input);
            drop(committer);
            match accepted {
                Ok((one, leads)) => {
                    if leads {
                        shared.lead_beside();
                    }
                    waiting.push(one);
                }
                Err(Refusal::Failed(error)) => {
                    refused = Some(error);
                    break;
                }
                // They are exempt from reservations.
                Err(Refusal::DelayedCommit) => {
                    refused = Some(TransactError::Conflict { what: "another has its turn" });
                    break;
                }
            }
        }
        // Where the disk failed under one, what came behind it has another commit version than it wants: the first failure is the cause.
        for one in waiting {
            shared.await_publishing(&one, false)?;
        }
        refused.map_or(Ok(()), Err)
    }
}
