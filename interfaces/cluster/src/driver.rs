//! One process of the cluster: its machine, stepped by the thread that brings an input, a thread for timers, and one for its calls to truth.

use crate::addresses::Addresses;
use crate::content::Content;
use crate::handle::{GateHandle, RequestOutcome, Waiting};
use crate::inputs::{Helping, Inputs, STEP_INPUTS_MAX, Stepping};
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
use world::net::{Arrived, Net};
use world::threads::{self, Thread};

/// A machine without inputs is stepped so often.
const TICK: Duration = Duration::from_millis(2);
/// Calls of truth that wait; the outcome of one more is unknown.
const CALLS_MAX: usize = 256;

/// The thread of an input makes further steps for so long, of this machine and of others of its process; later inputs are left to the threads of the
/// machines.
const STEPS_TIME: Duration = Duration::from_micros(300);
/// Pause of a driver that waits for the last step of another thread.
const BREATH: Duration = Duration::from_micros(200);

/// Why a machine stands still for good, if it does.
type Failed = Arc<Mutex<Option<String>>>;

/// Why a machine is not stepped again after a panic: the step is done in part.
const PANICKED: &str = "a step panicked";

/// A process that runs until this is dropped.
pub struct Driver {
    inputs: Arc<Inputs>,
    waiting: Arc<Mutex<Waiting>>,
    failed: Failed,
    stepper: Option<Arc<Stepper>>,
    thread: Option<Thread<()>>,
    truth: Option<Thread<()>>,
}

/// Notes that a step panicked: then the machine must not be stepped again.
struct PanicGuard<'d>(&'d Failed);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().get_or_insert_with(|| PANICKED.to_string());
        }
    }
}

/// A machine, and the state of its process beside it.
struct Stepper {
    /// The holder of the lock steps it. Only its own thread waits for the lock; others leave their inputs to the holder.
    machine: Mutex<Machine>,
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
        self.failed.lock().clone()
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
        self.thread.take();
        // Steps of other threads end soon. A thread of the network must not drop the last reference: the network's drop joins that thread.
        let mut stepper = self.stepper.take();
        while let Some(shared) = stepper.take() {
            stepper = Arc::try_unwrap(shared).err();
            if stepper.is_some() {
                threads::sleep(BREATH);
            }
        }
        // The machine held the way to the thread of truth, which ends when nobody can call any more.
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
    let stepper = Arc::new(Stepper {
        machine: Mutex::new(machine),
        node,
        addresses,
        inputs: inputs.clone(),
        calls,
        waiting: waiting.clone(),
        failed: failed.clone(),
    });
    let step = || -> Arrived {
        let stepper = Arc::downgrade(&stepper);
        Box::new(move || stepper.upgrade().iter().for_each(|stepper| stepper.step_here()))
    };
    // An oracle's step waits for its disk: it has its own thread, and takes all requests of that time together.
    if node != Node::Oracle {
        inputs.step_by(step(), step());
    }
    let timed = stepper.clone();
    let thread = threads::try_spawn("cluster-step", move || timed.serve())?;
    Ok(Driver {
        inputs,
        waiting,
        failed,
        stepper: Some(stepper),
        thread: Some(thread),
        truth: thread_of_truth,
    })
}

/// Makes calls of truth, one after another, until all senders are gone.
fn serve_calls(mut truth: Box<dyn Truth + Send>, calls: &Receiver<(u64, Call)>, answers: &Inputs) {
    for (token, call) in calls {
        let answer = perform(&mut *truth, &call);
        let is_put = answers.put_and_step(Input::Answer { token, answer });
        debug_assert!(is_put || answers.is_closed(), "there are fewer answers than places for them");
    }
}

impl Stepper {
    fn serve(&self) {
        let mut tick_ns = 0;
        while !self.is_over() {
            let mut left = Duration::from_nanos(tick_ns - clock::monotonic_ns().min(tick_ns));
            if self.inputs.is_stepped_here() {
                self.inputs.await_ring(tick_ns);
                left = Duration::ZERO;
            }
            // Where other threads step, frames of the network are not waited for here.
            let mut machine = self.machine.lock();
            let (stepping, panics) = (Stepping::begin(), PanicGuard(&self.failed));
            let mut inputs = self.take(left);
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
            self.step(&mut machine, inputs);
            drop((panics, stepping, machine));
            self.announce();
            if self.inputs.is_marked() {
                self.step_here();
            }
        }
    }
    /// Steps the machine with the inputs that have come. If another thread steps it, that thread takes them.
    fn step_here(&self) {
        self.inputs.mark();
        let helping = Helping::begin(STEPS_TIME);
        while helping.has_time() {
            if !self.step_once() {
                return;
            }
            self.announce();
            if !self.inputs.is_marked() {
                return;
            }
        }
        self.inputs.ring();
    }
    /// Announces frames to other machines of this process, which this thread may step, too: after this one, if it is one of them that led here.
    fn announce(&self) {
        if self.inputs.is_marked() {
            // Its next step need not wait for theirs.
            self.inputs.ring();
        }
        self.inputs.net().announce();
    }
    /// Makes a step, unless another thread steps the machine at this moment, or it is over.
    fn step_once(&self) -> bool {
        let _stepping = Stepping::begin();
        let Some(mut machine) = self.machine.try_lock() else { return false };
        // Dropped before the lock: nobody steps the machine between a panic and its note.
        let _panics = PanicGuard(&self.failed);
        if self.is_over() {
            return false;
        }
        let inputs = self.take(Duration::ZERO);
        self.step(&mut machine, inputs);
        true
    }
    fn is_over(&self) -> bool {
        self.inputs.is_closed() || self.failed.lock().is_some()
    }
    /// The inputs that have come; to be called with the lock of the machine.
    fn take(&self, longest: Duration) -> Vec<Input> {
        self.inputs.unmark();
        let inputs = self.inputs.take(longest, &self.addresses);
        if inputs.len() >= STEP_INPUTS_MAX {
            self.inputs.mark();
        }
        inputs
    }
    fn step(&self, machine: &mut Machine, inputs: Vec<Input>) {
        if inputs.is_empty() {
            return;
        }
        if let Err(error) = self.step_whole(machine, inputs) {
            *self.failed.lock() = Some(error.to_string());
        }
    }
    /// Steps the machine, and carries out its outputs.
    ///
    /// # Errors
    /// It must not be stepped again.
    fn step_whole(&self, machine: &mut Machine, inputs: Vec<Input>) -> Result<(), ReplicateError> {
        match machine.step(clock::monotonic_ns() / 1_000, inputs)? {
            Outputs::Each(outputs) => {
                outputs.into_iter().for_each(|output| self.carry_out(machine, output));
            }
            Outputs::Posted(posted) => posted.into_iter().for_each(|posted| self.post(posted)),
        }
        self.inputs.net().flush();
        if let Machine::Shard(shard, content) = machine {
            content.tell(shard.counts());
            content.forget(shard.oldest_version());
            if content.wants_checkpoint(shard.settled())
                && let Some(point) = shard.point()
            {
                content.checkpoint(point);
            }
        }
        Ok(())
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
