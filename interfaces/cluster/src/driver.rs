//! One process of the cluster: a thread that steps its machine, and one that makes its calls to truth.

use crate::addresses::Addresses;
use crate::content::Content;
use crate::handle::{GateHandle, RequestOutcome, Waiting};
use crate::inputs::Inputs;
use crate::machine::{Machine, Outputs, Publish};
use crate::oracle::{OracleReplica, Posted};
use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use protocol::message::{Body, Message};
use protocol::{
    Call, CommitId, Gate, Input, Keeper, Node, Output, Rules, Scribe, Shard, Timing, Truth, Unknown, perform,
    wire,
};
use replicate::ReplicateError;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use world::clock;
use world::disk::Disk;
use world::net::Net;
use world::threads::{self, Thread};

/// A machine without inputs is stepped so often.
const TICK: Duration = Duration::from_millis(2);
/// Calls of truth that wait; the outcome of one more is unknown.
const CALLS_MAX: usize = 256;

/// Why a machine stands still for good, if it does.
type Failed = Arc<Mutex<Option<ReplicateError>>>;

/// A process that runs until this is dropped.
pub struct Driver {
    inputs: Arc<Inputs>,
    waiting: Arc<Mutex<Waiting>>,
    failed: Failed,
    thread: Option<Thread<()>>,
    truth: Option<Thread<()>>,
}

/// The state of a process beside its machine.
struct Running {
    node: Node,
    addresses: Addresses,
    inputs: Arc<Inputs>,
    calls: Option<Sender<(u64, Call)>>,
    waiting: Arc<Mutex<Waiting>>,
    failed: Failed,
}

impl Driver {
    /// A gate, and the way into it.
    pub fn gate(
        number: u16,
        net: Box<dyn Net>,
        addresses: Addresses,
        timing: Timing,
        truth: Box<dyn Truth + Send>,
    ) -> std::io::Result<(Driver, GateHandle)> {
        let gate = Gate::new(number, incarnation(), timing, Rules::default());
        let (gate, inputs) = (Arc::new(Mutex::new(gate)), Arc::new(Inputs::new(net)));
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let handle = GateHandle { gate: gate.clone(), inputs: inputs.clone(), waiting: waiting.clone() };
        let machine = Machine::Gate(gate);
        let driver = run(Node::Gate(number), machine, inputs, addresses, Some(truth), waiting)?;
        Ok((driver, handle))
    }
    /// A shard, which fills its content from truth: all of it where it is empty, the rest where it comes from a checkpoint.
    pub fn shard(
        number: u16,
        net: Box<dyn Net>,
        addresses: Addresses,
        timing: Timing,
        truth: Box<dyn Truth + Send>,
        content: Box<dyn Content>,
    ) -> std::io::Result<Driver> {
        let (life, rules) = (incarnation(), Rules::default());
        let shard = match content.point() {
            Some(point) => Shard::restored(number, life, timing, rules, point),
            None => Shard::new(number, life, timing, rules),
        };
        let machine = Machine::Shard(Box::new(shard), content);
        let inputs = Arc::new(Inputs::new(net));
        run(Node::Shard(number), machine, inputs, addresses, Some(truth), Arc::default())
    }
    /// The replica of the oracle at these addresses. It stores its decisions in a folder.
    pub fn oracle(
        address: &str,
        net: Box<dyn Net>,
        addresses: Addresses,
        disk: Arc<dyn Disk>,
        folder: &Path,
    ) -> std::io::Result<Driver> {
        let replica = OracleReplica::open(address, &addresses.oracles, disk, folder);
        let machine = Machine::Oracle(Box::new(replica.map_err(std::io::Error::other)?));
        run(Node::Oracle, machine, Arc::new(Inputs::new(net)), addresses, None, Arc::default())
    }
    /// Why it does nothing any more, if so: its disk failed. It must be started anew.
    pub fn failure(&self) -> Option<String> {
        self.failed.lock().as_ref().map(ToString::to_string)
    }
    /// The wire version of another process of the cluster, where it differs from this one's: its messages are ignored.
    pub fn other_version(&self) -> Option<u8> {
        self.inputs.other_version()
    }
    /// The scribe; `publish` gets each commit that has its version in the cluster's sequence.
    pub fn scribe(
        net: Box<dyn Net>,
        addresses: Addresses,
        timing: Timing,
        truth: Box<dyn Truth + Send>,
        publish: impl FnMut(u64, CommitId) + Send + 'static,
    ) -> std::io::Result<Driver> {
        let scribe = Scribe::new(incarnation(), timing, Rules::default());
        let publish: Publish = Box::new(publish);
        let machine = Machine::Scribe(Box::new(scribe), publish);
        let inputs = Arc::new(Inputs::new(net));
        run(Node::Scribe, machine, inputs, addresses, Some(truth), Arc::default())
    }
    /// The keeper of the epoch.
    pub fn keeper(
        net: Box<dyn Net>,
        addresses: Addresses,
        timing: Timing,
        truth: Box<dyn Truth + Send>,
    ) -> std::io::Result<Driver> {
        let (gates, shards) = (addresses.gates.len() as u16, addresses.shards.len() as u16);
        let keeper = Keeper::new(gates, shards, timing).asking_above(incarnation());
        let machine = Machine::Keeper(Box::new(keeper));
        let inputs = Arc::new(Inputs::new(net));
        run(Node::Keeper, machine, inputs, addresses, Some(truth), Arc::default())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.inputs.close();
        // The thread of the machine holds the way to that of truth, which ends when nobody can call any more.
        self.thread.take();
        self.truth.take();
        let left = self.waiting.lock().end();
        left.into_iter().for_each(|waiter| waiter.tell(None));
    }
}

/// A number that no other life of this process has, unless the clock was set back in between.
fn incarnation() -> u64 {
    clock::wall_us()
}

fn run(
    node: Node,
    machine: Machine,
    inputs: Arc<Inputs>,
    addresses: Addresses,
    truth: Option<Box<dyn Truth + Send>>,
    waiting: Arc<Mutex<Waiting>>,
) -> std::io::Result<Driver> {
    let (mut calls, mut thread_of_truth) = (None, None);
    if let Some(truth) = truth {
        let (sender, receiver) = bounded(CALLS_MAX);
        let answers = inputs.clone();
        let thread = threads::try_spawn("cluster-truth", move || serve_calls(truth, &receiver, &answers))?;
        (calls, thread_of_truth) = (Some(sender), Some(thread));
    }
    let failed = Failed::default();
    let running = Running {
        node,
        addresses,
        inputs: inputs.clone(),
        calls,
        waiting: waiting.clone(),
        failed: failed.clone(),
    };
    let thread = threads::try_spawn("cluster-step", move || running.serve(machine))?;
    Ok(Driver { inputs, waiting, failed, thread: Some(thread), truth: thread_of_truth })
}

/// Makes calls of truth, one after another, until all senders are gone.
fn serve_calls(mut truth: Box<dyn Truth + Send>, calls: &Receiver<(u64, Call)>, answers: &Inputs) {
    for (token, call) in calls {
        let answer = perform(&mut *truth, &call);
        let is_put = answers.put(Input::Answer { token, answer });
        debug_assert!(is_put || answers.is_closed(), "there are fewer answers than places for them");
    }
}

impl Running {
    fn serve(self, mut machine: Machine) {
        let mut tick_ns = 0;
        while !self.inputs.is_closed() {
            let left = Duration::from_nanos(tick_ns - clock::monotonic_ns().min(tick_ns));
            let mut inputs = self.inputs.take(left, &self.addresses);
            let now_ns = clock::monotonic_ns();
            if now_ns >= tick_ns {
                let mut waiting = self.waiting.lock();
                let (late, over) = (waiting.take_late(now_ns), waiting.take_over(now_ns));
                drop(waiting);
                drop(over);
                late.into_iter().for_each(|waiter| waiter.tell(None));
                tick_ns = clock::after_ns(TICK);
                inputs.push(Input::Tick);
            }
            if inputs.is_empty() {
                continue;
            }
            match machine.step(now_ns / 1_000, inputs) {
                Ok(Outputs::Each(outputs)) => {
                    outputs.into_iter().for_each(|output| self.carry_out(&mut machine, output));
                }
                Ok(Outputs::Posted(posted)) => posted.into_iter().for_each(|posted| self.post(posted)),
                Err(error) => {
                    *self.failed.lock() = Some(error);
                    return;
                }
            }
            self.inputs.net().flush();
            if let Machine::Shard(shard, content) = &mut machine {
                content.tell(shard.counts());
                content.forget(shard.oldest_version());
                if content.wants_checkpoint(shard.settled())
                    && let Some(point) = shard.point()
                {
                    content.checkpoint(point);
                }
            }
        }
    }

    fn tell(&self, request: u64, told: RequestOutcome) {
        let waiter = self.waiting.lock().take(request);
        if let Some(waiter) = waiter {
            waiter.tell(Some(told));
        }
    }
    fn send(&self, to: Node, message: &Message) {
        for address in self.addresses.of(to) {
            self.inputs.net().post(address, wire::encode(self.node, message));
        }
    }
    fn post(&self, posted: Posted) {
        match posted {
            Posted::To(node, message) => self.send(node, &message),
            Posted::Beside(address, message) => {
                self.inputs.net().post(&address, wire::encode(self.node, &message));
            }
        }
    }

    fn carry_out(&self, machine: &mut Machine, output: Output) {
        match (output, machine) {
            (Output::Send { to, message }, _) => self.send(to, &message),
            (Output::Call { token, call }, _) => {
                let taken = self.calls.as_ref().is_some_and(|calls| calls.try_send((token, call)).is_ok());
                if !taken {
                    self.inputs.put(Input::Answer { token, answer: Err(Unknown) });
                }
            }
            (Output::Answered { request, answers }, _) => {
                self.tell(request, RequestOutcome::Answered(answers));
            }
            (Output::Ended { request, end }, _) => self.tell(request, RequestOutcome::Ended(end)),
            (Output::Reset, Machine::Shard(_, content)) => content.reset(),
            (Output::Apply { commit_version, record }, Machine::Shard(_, content)) => {
                let own = record.parts.iter().find(|(shard, _)| Node::Shard(*shard) == self.node);
                // A record of other shards, from the log of all, changes nothing here; its commit version is taken.
                content.apply(commit_version, own.map_or(&[][..], |(_, part)| part));
            }
            (Output::Query { gate, read, request, commit_version, query }, Machine::Shard(_, content)) => {
                let body = Body::Pinned { request, answer: content.query(commit_version, &query) };
                self.send(Node::Gate(gate), &Message { epoch: read.epoch(), body });
            }
            (Output::Publish { commit_version, commit }, Machine::Scribe(_, publish)) => {
                publish(commit_version, commit)
            }
            (Output::Reset | Output::Apply { .. } | Output::Query { .. } | Output::Publish { .. }, _) => {
                debug_assert!(false, "another machine's output");
            }
        }
    }
}
