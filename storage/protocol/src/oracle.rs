//! The oracle of a cluster: Kronos' machine behind messages. Replicas of the real one apply the same commands from one log.

use crate::message::{Body, Input, Message, Node, Output};
use crate::rules::Rules;
use order::Stamp;
use order::kronos::{
    Answer, Command, Direction, Entry, Failure, GraphLimits, Machine, SHARED_SESSION, StampConstraint,
    StampError, Strength,
};

/// Questions after which an oracle that forgets on purpose has forgotten everything.
const FORGETS_AFTER: u64 = 5;

/// The machine, and counters of its requests.
#[derive(Debug)]
pub struct Oracle {
    rules: Rules,
    machine: Machine,
    epoch: u64,
    gates: usize,
    questions: u64,
    pairs: u64,
}

impl Oracle {
    /// One that has ordered nothing.
    pub fn new(rules: Rules) -> Oracle {
        let machine = Machine::new(GraphLimits::default());
        Oracle { rules, machine, epoch: 0, gates: 0, questions: 0, pairs: 0 }
    }
    /// Questions, and pairs in them.
    pub fn counts(&self) -> (u64, u64) {
        (self.questions, self.pairs)
    }
    /// The machine, to be looked at.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Its state as bytes, for [`Oracle::restore`].
    pub fn snapshot(&self) -> Vec<u8> {
        let numbers = [self.epoch, self.gates as u64, self.questions, self.pairs];
        let head = numbers.iter().flat_map(|number| number.to_le_bytes());
        head.chain(self.machine.snapshot()).collect()
    }
    /// One that goes on where another was; nothing where the bytes are not a snapshot.
    pub fn restore(bytes: &[u8], rules: Rules) -> Option<Oracle> {
        let (head, machine) = bytes.split_first_chunk::<32>()?;
        let (numbers, _) = head.as_chunks::<8>();
        let [epoch, gates, questions, pairs] = [0, 1, 2, 3].map(|at| u64::from_le_bytes(numbers[at]));
        let (machine, gates) = (Machine::restore(machine).ok()?, usize::try_from(gates).ok()?);
        Some(Oracle { rules, machine, epoch, gates, questions, pairs })
    }

    /// Takes one message and answers it; ignores ticks and answers of truth.
    pub fn step(&mut self, input: Input) -> Option<Output> {
        let Input::Message { from, message: Message { epoch, body } } = input else { return None };
        let body = match body {
            Body::Ask { question, pairs } => {
                let answer = self.assign(&pairs)?;
                Body::Told { question, answer }
            }
            Body::Order(gates) => {
                self.begin(epoch, gates)?;
                Body::Ordering
            }
            Body::Forget(frontier) => {
                let _ = self.apply(Command::ForgetStamps { epoch, frontier: frontier.into() });
                return None;
            }
            _ => return None,
        };
        let is_keepers = from == Node::Keeper;
        debug_assert!(is_keepers || self.epoch == epoch || matches!(body, Body::Told { .. }));
        Some(Output::Send { to: from, message: Message { epoch, body } })
    }

    fn begin(&mut self, epoch: u64, gates: usize) -> Option<()> {
        self.apply(Command::BeginEpoch { epoch, gatekeepers: gates as u32 }).ok()?;
        (self.epoch, self.gates) = (epoch, gates);
        Some(())
    }

    /// None where these stamps are not ordered in the present epoch: the asker will hear of a new one.
    fn assign(&mut self, pairs: &[(Stamp, Stamp)]) -> Option<Result<Vec<bool>, usize>> {
        self.questions += 1;
        self.pairs += pairs.len() as u64;
        if !self.rules.oracle_remembers && self.questions.is_multiple_of(FORGETS_AFTER) {
            self.machine = Machine::new(GraphLimits::default());
            self.begin(self.epoch, self.gates)?;
        }
        let constraint = |(this, that): &(Stamp, Stamp)| StampConstraint {
            this: this.clone(),
            direction: Direction::Before,
            that: that.clone(),
            strength: Strength::Prefer,
        };
        match self.apply(Command::AssignStamps(pairs.iter().map(constraint).collect())) {
            Ok(Answer::Assigned(all)) => {
                Some(Ok(all.iter().map(|one| one.order == Direction::Before).collect()))
            }
            Err(Failure::Stamps(StampError::Forgotten(at))) => Some(Err(at)),
            _ => None,
        }
    }

    fn apply(&mut self, command: Command) -> Result<Answer, Failure> {
        self.machine.apply(Entry { now_ms: 0, session: SHARED_SESSION, request: 0, command })
    }
}
