//! The rules that make the order strict, each with a switch. Tests turn one off and check that the checker finds it out; no other code does.

/// All rules hold by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// A commit is acknowledged only when every gate has heard its stamp (rule B).
    pub heard_by_all: bool,
    /// A snapshot is pinned only when everything still to come is after its stamp.
    pub reads_wait_for_heads: bool,
    /// Items of a channel are taken in the order of their numbers.
    pub channels_in_order: bool,
    /// A gate sends no NOP to a shard while a group in truth may still send it an earlier record.
    pub nops_behind_groups: bool,
    /// The oracle keeps its decisions until no process can need them.
    pub oracle_remembers: bool,
    /// Keys that were read are rows of truth.
    pub reads_are_rows: bool,
    /// Each commit reads the row of the epoch.
    pub commits_read_epoch: bool,
    /// A read of a chunk that moved is answered by its owner as of the read's stamp.
    pub moves_are_forwarded: bool,
    /// The scribe publishes a commit version only after it is written.
    pub versions_before_publishing: bool,
    /// A chunk number is leased once.
    pub leases_are_exclusive: bool,
    /// The scribe has the oracle order concurrent commits, also where they share no shard.
    pub scribe_asks: bool,
    /// A shard that comes back from a checkpoint knows how far it had taken each chain.
    pub points_know_taken: bool,
    /// A shard that lacks commits cut off from the log begins with the log's base.
    pub cuts_are_noticed: bool,
    /// Truth remembers the commit versions it assigned, also when they are cut off from the log.
    pub versions_outlive_cuts: bool,
    /// A scribe whose commit versions truth denies, in the epoch that its keeper holds open, begins a new life, and with it comes a new epoch.
    pub denied_scribes_begin_anew: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            heard_by_all: true,
            reads_wait_for_heads: true,
            channels_in_order: true,
            nops_behind_groups: true,
            oracle_remembers: true,
            reads_are_rows: true,
            commits_read_epoch: true,
            moves_are_forwarded: true,
            versions_before_publishing: true,
            leases_are_exclusive: true,
            scribe_asks: true,
            points_know_taken: true,
            cuts_are_noticed: true,
            versions_outlive_cuts: true,
            denied_scribes_begin_anew: true,
        }
    }
}
