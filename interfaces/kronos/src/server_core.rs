//! One server without sockets, threads and a clock: the replica, and the calls that wait for it.
//!
//! Idea: a step takes requests and the time, steps the replica, answers the calls that are done, and returns the messages to send. The thread in
//! `node` drives it for real; the simulator drives the same code.
//! Invariant: every call that was taken is answered once, also where the replica ends.

use crate::machine::{Outcome, Shared, decode_outcome};
use order::kronos::{Command, Entry, SHARED_SESSION, SessionId};
use replicate::{
    Input, MemberChange, Output, Replica, ReplicaId, ReplicateError, StateMachine, Status, Undone,
};
use std::collections::HashMap;
use tokio::sync::oneshot;
use world::chance::Chance;

/// Why a call has no outcome.
#[derive(Clone, Debug)]
pub(crate) enum Undelivered {
    /// As the replica says.
    Undone(Undone),
    /// Too much is waiting.
    Busy,
    /// The server ends.
    Stopping,
}

/// Something for the replica.
pub(crate) enum Request {
    Propose {
        session: SessionId,
        request: u64,
        command: Command,
        reply: oneshot::Sender<Result<Outcome, Undelivered>>,
    },
    Read {
        reply: oneshot::Sender<Result<(), Undelivered>>,
    },
    Change {
        change: MemberChange,
        reply: oneshot::Sender<Result<(), Undelivered>>,
    },
    Status {
        reply: oneshot::Sender<Status>,
    },
    Input(Input),
    Stop,
}

/// The outputs of a step.
pub(crate) enum Outward {
    /// Bytes for another replica.
    Send { to: ReplicaId, address: Option<String>, bytes: Vec<u8>, snapshot: bool },
    /// Read the machine, and hand its state back as [`Input::Snapshot`].
    TakeSnapshot,
}

enum Waiting {
    Proposal(oneshot::Sender<Result<Outcome, Undelivered>>),
    Read(oneshot::Sender<Result<(), Undelivered>>),
    Change(oneshot::Sender<Result<(), Undelivered>>),
    /// The server's own.
    Nobody,
}

/// The replica and its waiting calls.
pub(crate) struct Core<M> {
    replica: Replica<M>,
    machine: Shared,
    waiting: HashMap<u64, Waiting>,
    next_token: u64,
    /// The term in which it leads, once its [`Command::Lead`] is proposed.
    leads_in: Option<u64>,
    expiring: bool,
    chance: Chance,
}

impl<M: StateMachine> Core<M> {
    /// `machine` is the replica's machine, as readers see it.
    pub(crate) fn new(replica: Replica<M>, machine: Shared, chance: Chance) -> Core<M> {
        let waiting = HashMap::new();
        Core { replica, machine, waiting, next_token: 1, leads_in: None, expiring: false, chance }
    }

    /// Takes requests, and a tick where one is due. After an error the server must end.
    pub(crate) fn step(
        &mut self,
        now_ms: u64,
        tick: bool,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Vec<Outward>, ReplicateError> {
        let (heard, asked): (Vec<Request>, Vec<Request>) =
            requests.into_iter().partition(|request| matches!(request, Request::Input(_)));
        let mut outward = Vec::new();
        let mut inputs = Vec::new();
        heard.into_iter().for_each(|request| self.take(request, now_ms, &mut inputs));
        inputs.extend(tick.then_some(Input::Tick));
        if !inputs.is_empty() {
            self.step_replica(inputs, &mut outward)?;
        }
        // A new leader's first entry renews the leases that nobody could renew, so it comes before anything that they might refuse.
        let mut inputs = Vec::new();
        self.lead(now_ms, tick, &mut inputs);
        asked.into_iter().for_each(|request| self.take(request, now_ms, &mut inputs));
        if !inputs.is_empty() {
            self.step_replica(inputs, &mut outward)?;
        }
        Ok(outward)
    }

    fn step_replica(&mut self, inputs: Vec<Input>, outward: &mut Vec<Outward>) -> Result<(), ReplicateError> {
        let outputs = match self.replica.step(inputs) {
            Ok(outputs) => outputs,
            Err(error) => {
                self.answer_all_stopping();
                return Err(error);
            }
        };
        outward.extend(outputs.into_iter().filter_map(|output| self.carry_out(output)));
        Ok(())
    }

    fn lead(&mut self, now_ms: u64, tick: bool, inputs: &mut Vec<Input>) {
        let leads = self.replica.leads();
        let term = leads.then(|| self.replica.term());
        if leads && term != self.leads_in {
            let nonce = self.chance.next_u64() as u32;
            self.propose_own(Command::Lead { nonce }, now_ms, inputs);
        }
        self.leads_in = term;
        if tick && leads && !self.expiring && self.machine.0.read().is_expiry_due(now_ms) {
            self.expiring = true;
            self.propose_own(Command::Expire, now_ms, inputs);
        }
    }

    fn propose_own(&mut self, command: Command, now_ms: u64, inputs: &mut Vec<Input>) {
        let token = self.token(Waiting::Nobody);
        inputs.push(propose(token, Entry { now_ms, session: SHARED_SESSION, request: 0, command }));
    }

    fn token(&mut self, waiting: Waiting) -> u64 {
        let token = self.next_token;
        self.next_token += 1;
        self.waiting.insert(token, waiting);
        token
    }

    fn take(&mut self, request: Request, now_ms: u64, inputs: &mut Vec<Input>) {
        match request {
            Request::Propose { session, request, command, reply } => {
                let token = self.token(Waiting::Proposal(reply));
                inputs.push(propose(token, Entry { now_ms, session, request, command }));
            }
            Request::Read { reply } => {
                let token = self.token(Waiting::Read(reply));
                inputs.push(Input::Read { token });
            }
            Request::Change { change, reply } => {
                let token = self.token(Waiting::Change(reply));
                inputs.push(Input::Change { token, change });
            }
            // Whoever asked may be gone.
            Request::Status { reply } => drop(reply.send(self.replica.status())),
            Request::Input(input) => inputs.push(input),
            Request::Stop => {}
        }
    }

    fn carry_out(&mut self, output: Output) -> Option<Outward> {
        match output {
            Output::Send { to, bytes, snapshot } => {
                let address = self.replica.address(to).map(String::from);
                return Some(Outward::Send { to, address, bytes, snapshot });
            }
            Output::TakeSnapshot => return Some(Outward::TakeSnapshot),
            Output::Proposed { token, outcome } => self.proposed(token, outcome),
            Output::Read { token, outcome } => {
                if let Some(Waiting::Read(reply)) = self.waiting.remove(&token) {
                    drop(reply.send(outcome.map_err(Undelivered::Undone)));
                }
            }
        }
        None
    }

    fn proposed(&mut self, token: u64, outcome: Result<Vec<u8>, Undone>) {
        match self.waiting.remove(&token) {
            Some(Waiting::Proposal(reply)) => {
                let decoded = outcome
                    .map_err(Undelivered::Undone)
                    .map(|bytes| decode_outcome(&bytes).expect("the machine of this process wrote it"));
                drop(reply.send(decoded));
            }
            Some(Waiting::Change(reply)) => {
                drop(reply.send(outcome.map(|_| ()).map_err(Undelivered::Undone)));
            }
            Some(Waiting::Nobody) => self.expiring = false,
            Some(Waiting::Read(_)) | None => {}
        }
    }

    /// Answers every call that waits: the server ends.
    fn answer_all_stopping(&mut self) {
        for (_, waiting) in self.waiting.drain() {
            match waiting {
                Waiting::Proposal(reply) => drop(reply.send(Err(Undelivered::Stopping))),
                Waiting::Read(reply) | Waiting::Change(reply) => drop(reply.send(Err(Undelivered::Stopping))),
                Waiting::Nobody => {}
            }
        }
    }
    #[cfg(test)]
    pub(crate) fn replica(&self) -> &Replica<M> {
        &self.replica
    }
    /// A clean end.
    pub(crate) fn close(mut self) -> Result<(), ReplicateError> {
        self.answer_all_stopping();
        self.replica.close()
    }
}

fn propose(token: u64, entry: Entry) -> Input {
    Input::Propose { token, entry: postcard::to_allocvec(&entry).expect("entries are plain data") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use order::kronos::{Answer, GraphLimits, Machine};
    use parking_lot::RwLock;
    use replicate::{Members, ReplicaOptions};
    use std::path::Path;
    use std::sync::Arc;
    use world::disk::SimDisk;

    /// A proposal in the step in which the replica begins to lead came before the entry that renews leases and names the graph: sessions were
    /// refused after an outage that was none of their doing.
    #[test]
    fn a_new_leader_renews_leases_before_it_serves() {
        let machine = Shared(Arc::new(RwLock::new(Machine::new(GraphLimits::default()))));
        let options = ReplicaOptions::new("a", Members::of(["a"]));
        let disk = Arc::new(SimDisk::new());
        let chance = Chance::seeded(1);
        let replica =
            Replica::open(disk, Path::new("/a"), options, machine.clone(), chance).expect("a new one");
        let mut core = Core::new(replica, machine, Chance::seeded(2));
        let (reply, mut answer) = oneshot::channel();
        let command = Command::CreateEvents { count: 1 };
        let create = Request::Propose { session: SHARED_SESSION, request: 0, command, reply };
        drop(core.step(1, false, [create]).expect("the disk works"));
        let Ok(Ok(Ok(Answer::Created(events)))) = answer.try_recv() else { panic!("it was not carried out") };
        assert_ne!(events[0].0 >> 32, 0, "the graph was named before its first event");
        core.close().expect("the disk works");
    }
}
