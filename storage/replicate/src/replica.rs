//! One replica: a step function over the log and the machine.
//!
//! ```text
//!   inputs ──> [ library ] ──> entries and vote to disk, sync ──> messages out
//!                  │ committed
//!                  v
//!              machine.apply ──> answers to proposals, reads that may go on
//! ```
//!
//! Idea: a step takes many inputs, so that one sync serves all proposals that came together. A snapshot is taken by the driver, where it likes;
//! until it is handed back nothing is applied, so the machine stands still while it is read.
//! Invariants: a message or an answer leaves only after what it promises is on disk; proposals of an earlier life of this replica are
//! never taken for new ones (each life has a number).

use crate::members::{MemberChange, Members, ReplicaId, replica_id};
use crate::options::{ENTRY_BYTES_MAX, PENDING_MAX, ReplicaOptions};
use crate::sound::is_sound;
use crate::storage::{Storage, metadata};
use crate::{ReplicateError, StateMachine};
use protobuf::Message as _;
use raft::eraftpb::{
    ConfChange, ConfChangeType, ConfState, Entry, EntryType, HardState, Message, MessageType, Snapshot,
};
use raft::{Config, INVALID_ID, RawNode, ReadOnlyOption, SnapshotStatus, StateRole};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use world::chance::Chance;
use world::disk::Disk;

/// An input of a replica.
#[derive(Clone, Debug)]
pub enum Input {
    /// A fixed time has passed.
    Tick,
    /// Bytes of a message that another replica sent to this one.
    Message(Vec<u8>),
    /// An entry for the log. Answered by [`Output::Proposed`] with the same token.
    Propose {
        /// The caller's; not in use for another proposal or read.
        token: u64,
        /// The entry for the machine.
        entry: Vec<u8>,
    },
    /// May a reader of the machine see everything that was acknowledged before now? Answered by [`Output::Read`].
    Read {
        /// The caller's.
        token: u64,
    },
    /// A change of the members. Answered by [`Output::Proposed`].
    Change {
        /// The caller's.
        token: u64,
        /// Who comes or goes.
        change: MemberChange,
    },
    /// A message could not be delivered to this replica.
    Unreachable(ReplicaId),
    /// A message with a snapshot was delivered to this replica, or was not.
    SnapshotSent {
        /// The receiver.
        to: ReplicaId,
        /// Whether it arrived.
        arrived: bool,
    },
    /// The state for [`Output::TakeSnapshot`].
    Snapshot(Vec<u8>),
}

/// An output of a replica.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Bytes for another replica. May be lost, doubled and reordered.
    Send {
        /// The receiver.
        to: ReplicaId,
        /// The message.
        bytes: Vec<u8>,
        /// Does it carry a snapshot? Then [`Input::SnapshotSent`] must follow.
        snapshot: bool,
    },
    /// A proposal is done, with the machine's answer, or is not.
    Proposed {
        /// The proposal's.
        token: u64,
        /// The answer.
        outcome: Result<Vec<u8>, Undone>,
    },
    /// The machine now has all that was acknowledged before the read was requested; or that cannot be known.
    Read {
        /// The read's.
        token: u64,
        /// Whether the reader may go on.
        outcome: Result<(), Undone>,
    },
    /// Read the machine's state with [`StateMachine::snapshot`] and hand it back by [`Input::Snapshot`]. Nothing is applied until then.
    TakeSnapshot,
}

/// Why a proposal or a read has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undone {
    /// Another replica leads, if one does. The proposal was not made here and will not be.
    NotLeader {
        /// Where the leader is reached.
        leader: Option<String>,
    },
    /// The leader lost its leadership before the entry was known to be committed: it may still be carried out, or never.
    Unknown,
    /// Too many are waiting, or the entry is too large: it was not done.
    Refused(String),
}

/// The role of a replica in its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It follows a leader, or waits for one.
    Follower,
    /// It is a candidate in an election.
    Candidate,
    /// It leads.
    Leader,
}

/// How a replica stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// Its id.
    pub id: ReplicaId,
    /// Its role.
    pub role: Role,
    /// Where the leader is reached, if one is known.
    pub leader: Option<String>,
    /// The election that the group is in.
    pub term: u64,
    /// The last entry known to be committed.
    pub committed: u64,
    /// The last entry that the machine applied.
    pub applied: u64,
    /// The last entry in the log.
    pub last: u64,
    /// Where the log was cut off.
    pub snapshot: u64,
    /// Bytes of the log on disk.
    pub log_bytes: u64,
    /// Of a leader: entries of the log that the member furthest behind lacks; else 0.
    pub slowest_lag: u64,
    /// The members.
    pub members: Members,
    /// Members without a vote yet.
    pub learners: Vec<ReplicaId>,
}

/// Reads that ask the leader with one message.
struct Asking {
    /// The question's number.
    batch: u64,
    readers: Vec<Reader>,
    /// Ticks that they may still wait.
    left: usize,
}

/// Who wants to know whether it may read.
enum Reader {
    /// A reader of this replica's machine.
    Here { token: u64 },
    /// Another replica, which sent this one, as its leader, a read with this context.
    Replica { id: ReplicaId, context: Vec<u8> },
}

/// One replica.
pub struct Replica<M> {
    node: RawNode<Storage>,
    machine: M,
    id: ReplicaId,
    options: ReplicaOptions,
    members: Members,
    voters: ConfState,
    /// Tells this life of the replica from others in the contexts of entries and reads.
    life: u64,
    chance: Chance,
    term: u64,
    /// Ticks without a leader before an election, drawn once a term.
    election_timeout: usize,
    drawn_for: u64,
    leads: bool,
    applied: (u64, u64),
    /// Committed and not yet applied.
    committed: VecDeque<Entry>,
    proposals: BTreeSet<u64>,
    /// Reads that wait for the question under way.
    new_reads: Vec<Reader>,
    /// Reads that ask the leader: one question at a time.
    asking: Option<Asking>,
    next_batch: u64,
    /// Reads that wait until an entry is applied, by entry.
    waiting: BTreeMap<u64, Vec<u64>>,
    /// Reads in these three.
    reads: usize,
    taking_snapshot: bool,
    outputs: Vec<Output>,
}

impl<M: StateMachine> Replica<M> {
    /// Opens the replica in a folder, or makes one there. The machine is a new one; it is brought to the state of the snapshot.
    pub fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        mut options: ReplicaOptions,
        mut machine: M,
        mut chance: Chance,
    ) -> Result<Replica<M>, ReplicateError> {
        if !Storage::exists(&*disk, dir)? {
            let first = first_snapshot(&options, &machine)?;
            Storage::create(disk.clone(), dir, &first, options.segment_bytes)?;
        }
        let storage = Storage::open(disk, dir, options.segment_bytes)?;
        let snapshot = storage.read_snapshot()?;
        let voters = snapshot.get_metadata().get_conf_state().clone();
        let members = restore(&mut machine, &snapshot)?;
        let id = own_id(&mut options, &members)?;
        let config = Config {
            id,
            election_tick: options.election_ticks,
            heartbeat_tick: options.heartbeat_ticks,
            applied: snapshot.get_metadata().index,
            max_size_per_msg: 1 << 20,
            max_inflight_msgs: 256,
            check_quorum: true,
            pre_vote: true,
            read_only_option: ReadOnlyOption::Safe,
            max_uncommitted_size: 256 << 20,
            max_committed_size_per_ready: 16 << 20,
            ..Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let applied = (snapshot.get_metadata().index, snapshot.get_metadata().term);
        let mut replica = Replica {
            node: RawNode::new(&config, storage, &logger)?,
            machine,
            id,
            options,
            members,
            voters,
            life: chance.next_u64(),
            chance,
            term: 0,
            election_timeout: 0,
            drawn_for: u64::MAX,
            leads: false,
            applied,
            committed: VecDeque::new(),
            proposals: BTreeSet::new(),
            new_reads: Vec::new(),
            asking: None,
            next_batch: 0,
            waiting: BTreeMap::new(),
            reads: 0,
            taking_snapshot: false,
            outputs: Vec::new(),
        };
        replica.keep_election_timeout();
        if replica.voters.voters == [id] {
            // Alone, there is nobody to wait for.
            replica.node.campaign()?;
        }
        Ok(replica)
    }

    /// Takes inputs, and returns outputs. After an error the replica must not be used again: its disk cannot be trusted.
    pub fn step(&mut self, inputs: impl IntoIterator<Item = Input>) -> Result<Vec<Output>, ReplicateError> {
        for input in inputs {
            self.take(input)?;
            self.keep_election_timeout();
        }
        self.ask_new_reads();
        while self.node.has_ready() {
            self.work_off()?;
            // Those that waited for an answer that came just now; the library takes no question within a round.
            self.ask_new_reads();
        }
        self.apply_committed()?;
        self.notice_role();
        if !self.taking_snapshot
            && self.committed.is_empty()
            && self.applied.0 > self.node.store().snapshot_index()
            && self.node.store().is_snapshot_due(self.options.snapshot_bytes)
        {
            self.taking_snapshot = true;
            self.outputs.push(Output::TakeSnapshot);
        }
        Ok(std::mem::take(&mut self.outputs))
    }

    fn take(&mut self, input: Input) -> Result<(), ReplicateError> {
        match input {
            Input::Tick => self.tick(),
            Input::Message(bytes) => self.hear(&bytes)?,
            Input::Propose { token, entry } => self.propose(token, entry),
            Input::Read { token } => self.read(token),
            Input::Change { token, change } => self.change(token, &change),
            Input::Unreachable(id) => self.node.report_unreachable(id),
            Input::SnapshotSent { to, arrived } => {
                let status = if arrived { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
                self.node.report_snapshot(to, status);
            }
            Input::Snapshot(state) => self.keep_snapshot(state)?,
        }
        Ok(())
    }

    fn tick(&mut self) {
        self.node.tick();
        if let Some(mut asking) = self.asking.take() {
            asking.left -= 1;
            if asking.left == 0 {
                asking.readers.into_iter().for_each(|reader| self.refuse_reader(reader));
            } else {
                // The question or its answer may be lost, or the leader be too new to know.
                if asking.left.is_multiple_of(self.options.heartbeat_ticks) {
                    self.node.read_index(self.context(asking.batch));
                }
                self.asking = Some(asking);
            }
        }
        self.ask_new_reads();
        self.promote_learners();
    }

    /// Whatever is no message of the library, or one that it refuses, is passed over: the sender will send again.
    fn hear(&mut self, bytes: &[u8]) -> Result<(), ReplicateError> {
        let Ok(message) = Message::parse_from_bytes(bytes) else { return Ok(()) };
        if message.to != self.id || !is_sound(&message, &self.node.raft.raft_log) {
            return Ok(());
        }
        let last = self.node.raft.raft_log.last_index();
        if message.get_msg_type() == MessageType::MsgHeartbeat && message.commit > last {
            let what = format!(
                "this replica promised to keep entry {} and has only {last}: its folder was lost or is an old copy. Remove it from \
                 the group and add it with an empty folder under another address",
                message.commit
            );
            return Err(ReplicateError::Foreign(what));
        }
        if message.get_msg_type() == MessageType::MsgReadIndex && self.leads() {
            self.hear_question(message);
            return Ok(());
        }
        // What the library refuses is late or of another group: the sender will send again, or not.
        let _ = self.node.step(message);
        Ok(())
    }

    /// Reads of other replicas wait for the confirmation that is under way, as local reads do: else the leader would ask all replicas once for each
    /// of them whether it still leads. One that cannot wait is dropped, and sent again.
    fn hear_question(&mut self, mut message: Message) {
        if let Some(question) = message.entries.first_mut()
            && self.reads < PENDING_MAX
        {
            self.reads += 1;
            let context = std::mem::take(&mut question.data).to_vec();
            self.new_reads.push(Reader::Replica { id: message.from, context });
        }
    }

    fn propose(&mut self, token: u64, entry: Vec<u8>) {
        let refused = if entry.len() > ENTRY_BYTES_MAX {
            Undone::Refused(format!(
                "an entry of {} bytes is over the limit of {ENTRY_BYTES_MAX}",
                entry.len()
            ))
        } else if self.proposals.len() >= PENDING_MAX {
            Undone::Refused(format!("{PENDING_MAX} proposals are waiting; try again"))
        } else if self.node.raft.state != StateRole::Leader {
            self.not_leader()
        } else {
            match self.node.propose(self.context(token), entry) {
                Ok(()) => {
                    self.proposals.insert(token);
                    return;
                }
                Err(_) => Undone::Refused("too much is waiting to be committed; try again".into()),
            }
        };
        self.outputs.push(Output::Proposed { token, outcome: Err(refused) });
    }

    fn read(&mut self, token: u64) {
        let led = self.node.raft.leader_id != INVALID_ID;
        self.reads += 1;
        let reader = Reader::Here { token };
        if led && self.reads <= PENDING_MAX {
            self.new_reads.push(reader)
        } else {
            self.refuse_reader(reader)
        }
    }

    /// Another replica repeats its request by itself.
    fn refuse_reader(&mut self, reader: Reader) {
        self.reads -= 1;
        if let Reader::Here { token } = reader {
            let outcome = Err(self.not_leader());
            self.outputs.push(Output::Read { token, outcome });
        }
    }

    /// One question to the leader for all reads that came while the last one was under way.
    fn ask_new_reads(&mut self) {
        if self.new_reads.is_empty() || self.asking.is_some() {
            return;
        }
        self.next_batch += 1;
        let (batch, readers) = (self.next_batch, std::mem::take(&mut self.new_reads));
        self.asking = Some(Asking { batch, readers, left: 2 * self.options.election_ticks });
        self.node.read_index(self.context(batch));
    }

    fn change(&mut self, token: u64, change: &MemberChange) {
        let (kind, address) = match change {
            MemberChange::Add { address } => (ConfChangeType::AddLearnerNode, address),
            MemberChange::Remove { address } => (ConfChangeType::RemoveNode, address),
        };
        let id = replica_id(address);
        let known = self.members.0.contains_key(&id);
        let outcome = match change {
            MemberChange::Add { .. } if known => Some(Ok(Vec::new())),
            MemberChange::Remove { .. } if !known => Some(Ok(Vec::new())),
            MemberChange::Remove { .. } if self.voters.voters == [id] => {
                Some(Err(Undone::Refused("the last replica cannot be removed".into())))
            }
            _ if self.node.raft.state != StateRole::Leader => Some(Err(self.not_leader())),
            MemberChange::Remove { .. } if id == self.id => {
                self.hand_over();
                Some(Err(Undone::Refused("the leader hands over before it can be removed; try again".into())))
            }
            _ if self.node.raft.has_pending_conf() => {
                Some(Err(Undone::Refused("another change of the members is under way; try again".into())))
            }
            _ => None,
        };
        if let Some(outcome) = outcome {
            return self.outputs.push(Output::Proposed { token, outcome });
        }
        match self.propose_change(self.context(token), kind, id, address) {
            true => drop(self.proposals.insert(token)),
            false => {
                let outcome = Err(Undone::Refused("the change was not taken; try again".into()));
                self.outputs.push(Output::Proposed { token, outcome });
            }
        }
    }

    /// Another voter shall lead: the one that has most of the log.
    fn hand_over(&mut self) {
        let matched = |id: &&u64| self.node.raft.prs().get(**id).map_or(0, |progress| progress.matched);
        let others = self.voters.voters.iter().filter(|id| **id != self.id);
        if let Some(next) = others.max_by_key(matched).copied() {
            self.node.transfer_leader(next);
        }
    }

    fn propose_change(&mut self, context: Vec<u8>, kind: ConfChangeType, id: u64, address: &str) -> bool {
        let mut change = ConfChange::default();
        change.set_change_type(kind);
        change.node_id = id;
        change.context = address.as_bytes().to_vec().into();
        self.node.propose_conf_change(context, change).is_ok()
    }

    /// A learner that has caught up gets a vote.
    fn promote_learners(&mut self) {
        if self.node.raft.state != StateRole::Leader || self.node.raft.has_pending_conf() {
            return;
        }
        let committed = self.node.raft.raft_log.committed;
        let caught_up = |id: &&u64| {
            self.node.raft.prs().get(**id).is_some_and(|progress| progress.matched + 16 >= committed)
        };
        if let Some(id) = self.voters.learners.iter().find(caught_up).copied() {
            let address = self.members.address(id).unwrap_or_default().to_string();
            self.propose_change(Vec::new(), ConfChangeType::AddNode, id, &address);
        }
    }

    /// One round with the library: to disk, then out.
    fn work_off(&mut self) -> Result<(), ReplicateError> {
        let mut ready = self.node.ready();
        self.send(ready.take_messages());
        if !ready.snapshot().is_empty() {
            self.install(&ready.snapshot().clone())?;
        }
        self.committed.extend(ready.take_committed_entries());
        let reads = ready.take_read_states();
        let (entries, vote) = (ready.take_entries(), ready.hs().cloned());
        if !entries.is_empty() || vote.is_some() {
            self.node.mut_store().append(entries, vote.as_ref(), ready.must_sync())?;
        }
        self.send(ready.take_persisted_messages());
        for state in reads {
            self.may_read(&state.request_ctx, state.index);
        }
        let mut light = self.node.advance_append(ready);
        self.send(light.take_messages());
        self.committed.extend(light.take_committed_entries());
        if let Some(commit) = light.commit_index() {
            // Only a hint for the next open: what it says is told again by any leader.
            let vote = HardState { commit, ..self.node.raft.hard_state() };
            self.node.mut_store().append(Vec::new(), Some(&vote), false)?;
        }
        self.apply_committed()
    }

    fn send(&mut self, messages: Vec<Message>) {
        for message in messages {
            let snapshot = message.get_msg_type() == MessageType::MsgSnapshot;
            let bytes = message.write_to_bytes().expect("the library's messages are whole");
            self.outputs.push(Output::Send { to: message.to, bytes, snapshot });
        }
    }

    fn install(&mut self, snapshot: &Snapshot) -> Result<(), ReplicateError> {
        self.members = restore(&mut self.machine, snapshot)?;
        self.voters = snapshot.get_metadata().get_conf_state().clone();
        self.applied = (snapshot.get_metadata().index, snapshot.get_metadata().term);
        self.committed.clear();
        // A state that is being read for a snapshot of our own is of the past now.
        self.taking_snapshot = false;
        self.node.mut_store().install(snapshot)
    }

    fn apply_committed(&mut self) -> Result<(), ReplicateError> {
        while !self.taking_snapshot
            && let Some(entry) = self.committed.pop_front()
        {
            let answer = match entry.get_entry_type() {
                EntryType::EntryNormal if entry.data.is_empty() => Vec::new(),
                EntryType::EntryNormal => self.machine.apply(&entry.data).map_err(|what| {
                    ReplicateError::Damaged(format!("entry {} of the log: {what}", entry.index))
                })?,
                EntryType::EntryConfChange => {
                    self.apply_change(&ConfChange::parse_from_bytes(&entry.data)?)?
                }
                EntryType::EntryConfChangeV2 => {
                    return Err(ReplicateError::Damaged("an entry of a kind that is never written".into()));
                }
            };
            self.applied = (entry.index, entry.term);
            if let Some(token) = self.token_of(&entry.context)
                && self.proposals.remove(&token)
            {
                self.outputs.push(Output::Proposed { token, outcome: Ok(answer) });
            }
        }
        self.node.advance_apply_to(self.applied.0);
        let later = self.waiting.split_off(&(self.applied.0 + 1));
        for token in std::mem::replace(&mut self.waiting, later).into_values().flatten() {
            self.reads -= 1;
            self.outputs.push(Output::Read { token, outcome: Ok(()) });
        }
        Ok(())
    }

    fn apply_change(&mut self, change: &ConfChange) -> Result<Vec<u8>, ReplicateError> {
        let address = String::from_utf8_lossy(&change.context).into_owned();
        match change.get_change_type() {
            ConfChangeType::RemoveNode => drop(self.members.0.remove(&change.node_id)),
            _ => drop(self.members.0.insert(change.node_id, address)),
        }
        self.voters = self.node.apply_conf_change(change)?;
        Ok(Vec::new())
    }

    fn keep_snapshot(&mut self, state: Vec<u8>) -> Result<(), ReplicateError> {
        if !self.taking_snapshot {
            return Ok(());
        }
        self.taking_snapshot = false;
        let snapshot = packed(self.applied.0, self.applied.1, &self.voters, &self.members, state)?;
        let kept = self.options.entries_kept;
        self.node.mut_store().keep_snapshot(&snapshot, kept)
    }

    fn may_read(&mut self, context: &[u8], index: u64) {
        if let Some(batch) = self.token_of(context)
            && let Some(asking) = self.asking.take_if(|asking| asking.batch == batch)
        {
            for reader in asking.readers {
                match reader {
                    Reader::Here { token } => self.waiting.entry(index).or_default().push(token),
                    Reader::Replica { id, context } => self.answer_question(id, context, index),
                }
            }
        }
    }

    /// A replica that has applied all up to this entry has everything acknowledged when the question came here. That stays true if this replica leads
    /// no more.
    fn answer_question(&mut self, to: ReplicaId, context: Vec<u8>, index: u64) {
        self.reads -= 1;
        let mut answer = Message::default();
        answer.set_msg_type(MessageType::MsgReadIndexResp);
        (answer.to, answer.from, answer.term, answer.index) = (to, self.id, self.node.raft.term, index);
        answer.set_entries(vec![Entry { data: context.into(), ..Entry::default() }].into());
        self.send(vec![answer]);
    }

    /// A replica that no longer leads does not know the outcome of its proposals.
    fn notice_role(&mut self) {
        let leads = self.node.raft.state == StateRole::Leader;
        let term = self.node.raft.term;
        if self.leads && (!leads || term != self.term) {
            for token in std::mem::take(&mut self.proposals) {
                self.outputs.push(Output::Proposed { token, outcome: Err(Undone::Unknown) });
            }
        }
        (self.leads, self.term) = (leads, term);
    }

    /// Where the library drew an election timeout by chance of its own, it gets one of ours, so that a seed replays.
    fn keep_election_timeout(&mut self) {
        let term = self.node.raft.term;
        if term != self.drawn_for {
            let ticks = self.options.election_ticks;
            self.drawn_for = term;
            self.election_timeout = ticks + self.chance.below(ticks as u64) as usize;
        }
        self.node.raft.set_randomized_election_timeout(self.election_timeout);
    }

    fn not_leader(&self) -> Undone {
        let leader = self.node.raft.leader_id;
        Undone::NotLeader { leader: self.members.address(leader).map(String::from) }
    }

    fn context(&self, token: u64) -> Vec<u8> {
        [self.id, self.life, token].iter().flat_map(|number| number.to_le_bytes()).collect()
    }
    fn token_of(&self, context: &[u8]) -> Option<u64> {
        let (own, token) = (self.context(0), context.get(16..24)?);
        (context[..16] == own[..16]).then(|| u64::from_le_bytes(token.try_into().expect("eight bytes")))
    }

    /// Where a member is reached.
    pub fn address(&self, id: ReplicaId) -> Option<&str> {
        self.members.address(id)
    }
    /// Does it lead, as far as it knows?
    pub fn leads(&self) -> bool {
        self.node.raft.state == StateRole::Leader
    }
    /// The election that it knows of.
    pub fn term(&self) -> u64 {
        self.node.raft.term
    }
    /// The machine, as far as it has applied entries.
    pub fn machine(&self) -> &M {
        &self.machine
    }
    /// How it stands.
    pub fn status(&self) -> Status {
        let raft = &self.node.raft;
        Status {
            id: self.id,
            role: match raft.state {
                StateRole::Leader => Role::Leader,
                StateRole::Follower => Role::Follower,
                StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
            },
            leader: self.members.address(raft.leader_id).map(String::from),
            term: raft.term,
            committed: raft.raft_log.committed,
            applied: self.applied.0,
            last: raft.raft_log.last_index(),
            snapshot: self.node.store().snapshot_index(),
            log_bytes: self.node.store().log_bytes(),
            slowest_lag: if self.leads() { self.slowest_lag() } else { 0 },
            members: self.members.clone(),
            learners: self.voters.learners.clone(),
        }
    }
    fn slowest_lag(&self) -> u64 {
        let last = self.node.raft.raft_log.last_index();
        self.node.raft.prs().iter().map(|(_, one)| last.saturating_sub(one.matched)).max().unwrap_or(0)
    }
    /// A clean end.
    pub fn close(mut self) -> Result<(), ReplicateError> {
        self.node.mut_store().close()
    }
}

/// Who this replica is among the members that its folder knows. One that was alone, and still is, may have moved to another address.
fn own_id(options: &mut ReplicaOptions, members: &Members) -> Result<ReplicaId, ReplicateError> {
    let id = replica_id(&options.address);
    let known: Vec<&String> = members.0.values().collect();
    match known.as_slice() {
        _ if members.0.contains_key(&id) || known.is_empty() => Ok(id),
        [alone] if options.members.0.len() <= 1 => {
            options.address = (*alone).clone();
            Ok(replica_id(alone))
        }
        _ => Err(ReplicateError::Foreign(format!(
            "the folder belongs to a replica of the group {known:?}, and {} is none of them; start it under its own address, or remove the \
             folder if it shall join anew",
            options.address
        ))),
    }
}

/// The snapshot that a replica begins with: the new machine and the members of its group.
fn first_snapshot(options: &ReplicaOptions, machine: &impl StateMachine) -> Result<Snapshot, ReplicateError> {
    let voters: Vec<u64> = options.members.0.keys().copied().collect();
    if voters.is_empty() {
        // It is told everything by the group that adds it.
        return packed(0, 0, &ConfState::default(), &options.members, machine.snapshot());
    }
    if !voters.contains(&replica_id(&options.address)) {
        let what = format!("the members do not include this replica's own address {}", options.address);
        return Err(ReplicateError::Foreign(what));
    }
    let members = ConfState { voters, ..ConfState::default() };
    // Entry 1 counts as agreed, so that a replica added later is sent a snapshot and not a log that does not name these members.
    packed(1, 1, &members, &options.members, machine.snapshot())
}

fn packed(
    index: u64,
    term: u64,
    voters: &ConfState,
    members: &Members,
    state: Vec<u8>,
) -> Result<Snapshot, ReplicateError> {
    let mut snapshot = Snapshot::default();
    snapshot.set_metadata(metadata(index, term, voters));
    let mut data =
        postcard::to_allocvec(members).map_err(|error| ReplicateError::Damaged(error.to_string()))?;
    data.extend_from_slice(&state);
    snapshot.data = data.into();
    Ok(snapshot)
}

fn restore(machine: &mut impl StateMachine, snapshot: &Snapshot) -> Result<Members, ReplicateError> {
    let damaged = |what: String| ReplicateError::Damaged(format!("a snapshot: {what}"));
    let (members, state) =
        postcard::take_from_bytes::<Members>(&snapshot.data).map_err(|error| damaged(error.to_string()))?;
    machine.restore(state).map_err(damaged)?;
    Ok(members)
}

#[cfg(test)]
mod tests;
