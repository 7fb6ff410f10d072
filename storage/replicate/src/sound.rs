//! Which messages may reach the library.
//!
//! It accepts messages of replicas that follow the protocol, and panics at others. Messages that cannot come from such a replica are dropped: the
//! sender is of another group, of another version, or a stranger.
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

#[cfg(test)]
mod tests {
    use super::*;
    use protobuf::ProtobufEnum;
    use raft::eraftpb::{Entry, Snapshot};
    use raft::storage::MemStorage;

    /// Entries by index and term, behind index 5 of term 3, in a message of term 7.
    fn appends(entries: &[(u64, u64)]) -> bool {
        let mut message = Message { index: 5, log_term: 3, term: 7, ..Message::default() };
        let entry = |(index, term): &(u64, u64)| Entry { index: *index, term: *term, ..Entry::default() };
        message.entries = entries.iter().map(entry).collect::<Vec<_>>().into();
        follow_each_other(&message)
    }

    #[test]
    fn entries_follow_each_other_in_index_and_term() {
        for sound in [&[][..], &[(6, 3)], &[(6, 7)], &[(6, 4), (7, 5)], &[(6, 4), (7, 4), (8, 7)]] {
            assert!(appends(sound), "{sound:?}");
        }
        let unsound = [
            &[(5, 3)][..],
            &[(7, 3)],
            &[(6, 2)],
            &[(6, 8)],
            &[(6, 5), (7, 4)],
            &[(6, 4), (8, 5)],
            &[(6, 4), (6, 5)],
            &[(6, 3), (7, 8)],
        ];
        for entries in unsound {
            assert!(!appends(entries), "{entries:?}");
        }
    }

    /// A sound snapshot with this change, in a message of term 7.
    fn holds(change: impl FnOnce(&mut Snapshot)) -> bool {
        let mut message = Message { term: 7, ..Message::default() };
        let mut snapshot = Snapshot::default();
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (9, 4);
        metadata.mut_conf_state().voters = vec![1, 2];
        metadata.mut_conf_state().learners = vec![3];
        change(&mut snapshot);
        message.set_snapshot(snapshot);
        is_whole(&message)
    }

    #[test]
    fn a_snapshot_has_a_place_a_term_and_members() {
        assert!(holds(|_| {}));
        for (index, is_sound) in [(0, false), (1, true), (NUMBER_LARGEST, true), (NUMBER_LARGEST + 1, false)]
        {
            assert_eq!(holds(|snapshot| snapshot.mut_metadata().index = index), is_sound, "index {index}");
        }
        for (term, is_sound) in [(0, false), (1, true), (7, true), (8, false)] {
            assert_eq!(holds(|snapshot| snapshot.mut_metadata().term = term), is_sound, "term {term}");
        }
        let voters =
            |voters: Vec<u64>| holds(|snapshot| snapshot.mut_metadata().mut_conf_state().voters = voters);
        assert!(voters(vec![1]) && !voters(vec![]) && !voters(vec![1, INVALID_ID]) && !voters(vec![1, 3]));
        let learners = |learners: Vec<u64>| {
            holds(|snapshot| snapshot.mut_metadata().mut_conf_state().learners = learners)
        };
        assert!(learners(vec![]) && !learners(vec![INVALID_ID]) && !learners(vec![3, 2]));
        assert!(!holds(|snapshot| snapshot.mut_metadata().mut_conf_state().voters_outgoing = vec![1]));
        assert!(!holds(|snapshot| snapshot.mut_metadata().mut_conf_state().learners_next = vec![4]));
    }

    /// A heartbeat of term 7 from another replica, with this change, to one with an empty log.
    fn passes(change: impl FnOnce(&mut Message)) -> bool {
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let log = RaftLog::new(MemStorage::new(), logger);
        let mut message = Message { from: 2, term: 7, ..Message::default() };
        message.set_msg_type(MessageType::MsgHeartbeat);
        change(&mut message);
        is_sound(&message, &log)
    }

    #[test]
    fn a_message_has_a_sender_a_term_and_numbers_within_their_limit() {
        assert!(passes(|_| {}));
        assert!(!passes(|message| message.from = INVALID_ID));
        let numbers: [fn(&mut Message) -> &mut u64; 5] = [
            |message| &mut message.term,
            |message| &mut message.log_term,
            |message| &mut message.index,
            |message| &mut message.commit,
            |message| &mut message.commit_term,
        ];
        for (at, number) in numbers.iter().enumerate() {
            for (value, is_sound) in [
                (1, true),
                (NUMBER_LARGEST - 1, true),
                (NUMBER_LARGEST, true),
                (NUMBER_LARGEST + 1, false),
                (NUMBER_LARGEST + 2, false),
                (u64::MAX, false),
            ] {
                assert_eq!(passes(|message| *number(message) = value), is_sound, "number {at} is {value}");
            }
            assert_eq!(passes(|message| *number(message) = 0), at > 0, "only the term must be there");
        }
        // A question of a follower is of no term, and only that.
        let asks = |term: u64| {
            passes(|message| {
                message.set_msg_type(MessageType::MsgReadIndex);
                message.entries = vec![Entry::default()].into();
                message.term = term;
            })
        };
        assert!(asks(0) && !asks(1));
    }

    /// Whether a message of a kind may carry none, one or two entries; nothing else is right or wrong with these.
    #[test]
    fn each_kind_of_message_carries_its_number_of_entries() {
        use MessageType as M;
        for kind in M::values() {
            let may_carry: Vec<usize> = (0..3)
                .filter(|count| {
                    passes(|message| {
                        message.set_msg_type(*kind);
                        message.term = u64::from(*kind != M::MsgReadIndex);
                        let entry = |at: usize| Entry { index: at as u64 + 1, term: 1, ..Entry::default() };
                        message.entries = (0..*count).map(entry).collect::<Vec<_>>().into();
                    })
                })
                .collect();
            let expected: &[usize] = match kind {
                M::MsgAppend | M::MsgAppendResponse => &[0, 1, 2],
                M::MsgReadIndex | M::MsgReadIndexResp => &[1],
                M::MsgHeartbeat | M::MsgHeartbeatResponse | M::MsgTimeoutNow => &[0],
                M::MsgRequestVote | M::MsgRequestVoteResponse => &[0],
                M::MsgRequestPreVote | M::MsgRequestPreVoteResponse => &[0],
                _ => &[],
            };
            assert_eq!(may_carry, expected, "{kind:?}");
        }
    }

    /// The log is empty: no replica can have accepted an entry of it, but one may have refused.
    #[test]
    fn an_answer_is_about_entries_that_are_there() {
        for (index, reject, is_sound) in
            [(0, false, true), (1, false, false), (0, true, true), (1, true, true)]
        {
            let answered = passes(|message| {
                message.set_msg_type(MessageType::MsgAppendResponse);
                (message.index, message.reject) = (index, reject);
            });
            assert_eq!(answered, is_sound, "index {index}, refused: {reject}");
        }
    }
}
