//! Which messages the library may see.
//!
//! It takes messages for those of replicas that follow the protocol, and panics at others. What cannot come from such a replica is passed over:
//! the sender is of another group, of another version, or none of ours.
//! This is no defence against a member that lies; only members may reach the port.

use raft::eraftpb::{Message, MessageType};
use raft::{INVALID_ID, RaftLog, Storage};

/// Terms, indexes and commits are below this, so that they can be counted up.
const NUMBER_LARGEST: u64 = 1 << 62;

/// Could a replica of this group have sent it?
pub(crate) fn is_sound<T: Storage>(message: &Message, log: &RaftLog<T>) -> bool {
    let numbers = [message.term, message.log_term, message.index, message.commit, message.commit_term];
    // A question of a follower is of no term.
    let without_term = message.get_msg_type() == MessageType::MsgReadIndex;
    if message.from == INVALID_ID
        || (message.term == 0) != without_term
        || numbers.iter().any(|number| *number > NUMBER_LARGEST)
    {
        return false;
    }
    match message.get_msg_type() {
        MessageType::MsgAppend => follow_each_other(message),
        MessageType::MsgSnapshot => is_whole(message),
        MessageType::MsgReadIndex | MessageType::MsgReadIndexResp => message.entries.len() == 1,
        MessageType::MsgAppendResponse => message.reject || message.index <= log.last_index(),
        MessageType::MsgHeartbeat
        | MessageType::MsgHeartbeatResponse
        | MessageType::MsgRequestVote
        | MessageType::MsgRequestVoteResponse
        | MessageType::MsgRequestPreVote
        | MessageType::MsgRequestPreVoteResponse
        | MessageType::MsgTimeoutNow => message.entries.is_empty(),
        // Proposals are refused by replicas that do not lead, never passed on; the others are a replica's own.
        _ => false,
    }
}

fn follow_each_other(message: &Message) -> bool {
    let indexes = message.entries.iter().zip(message.index + 1..).all(|(entry, index)| entry.index == index);
    let terms: Vec<u64> = message.entries.iter().map(|entry| entry.term).collect();
    let bounded = terms.first().is_none_or(|first| *first >= message.log_term)
        && terms.last().is_none_or(|last| *last <= message.term);
    indexes && bounded && terms.is_sorted()
}

fn is_whole(message: &Message) -> bool {
    let snapshot = message.get_snapshot();
    let (metadata, voters) = (snapshot.get_metadata(), &snapshot.get_metadata().get_conf_state().voters);
    metadata.index > 0
        && metadata.index <= NUMBER_LARGEST
        && (1..=message.term).contains(&metadata.term)
        && !voters.is_empty()
        && !voters.contains(&INVALID_ID)
        && metadata.get_conf_state().voters_outgoing.is_empty()
        && metadata.get_conf_state().learners_next.is_empty()
        && metadata
            .get_conf_state()
            .learners
            .iter()
            .all(|learner| *learner != INVALID_ID && !voters.contains(learner))
}
