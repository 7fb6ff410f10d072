//! The protocol of `progress`, gone through exhaustively: every interleaving of its atomic steps on two executors, for small graphs.
//!
//! The model is the protocol written down once more, one access to shared memory a step, with operators that may do anything: send
//! nothing, one message or several, to either executor, into this iteration's egress or the next iteration, invite their peer, or cancel
//! their instance. The search visits every reachable state and asserts in each that
//!
//! ```text
//! no counter falls below zero             nothing is delivered to an operator that was told of its end
//! the query ends at most once             a scope instance that is over holds nothing, anywhere
//! ```
//!
//! and, where nothing can go on, that the query has ended, all instances are over, and every operator was told. That the checker sees
//! anything at all is shown by mutants: the same protocol with one rule broken, each of which it must refute. Vertices have one port here;
//! an operator that appears while another of its ports is declared exhausted is left to the random graphs, as are other shapes.
#![allow(clippy::collapsible_match, reason = "an access that changes what is shared is no guard")]

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};

const EXECUTORS: usize = 2;

/// The vertices: a source, one inside the scope (or in place of it), one behind it.
const SOURCE: usize = 0;
const INNER: usize = 1;
const SINK: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Source, vertex, sink; no scope.
    Line,
    /// The vertex lies in a wide branch scope, an instance a message.
    Branch,
    /// The vertex lies in a wide loop scope, with a backward edge to itself.
    Loop,
}

/// A rule of the protocol that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    None,
    /// The work that sends is taken off before what it sends is counted.
    SettlesFirst,
    /// An iteration is counted after the message to it, by who receives it.
    CountsInstancesLate,
    /// The last iteration is looked for by who ends one, without feeding the next.
    ForgetsToFeed,
    /// Messages that a cancelled instance throws away are not settled.
    DropsUnsettled,
}

#[derive(Clone, Copy)]
struct Game {
    shape: Shape,
    mutant: Mutant,
    messages: u8,
    cancels: u8,
    create_if_empty: bool,
    peers: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct VertexState {
    pending: u8,
    upstream: u8,
    work: u8,
    acks: u8,
    made: u8,
    exhausted: bool,
    complete: bool,
    closed: bool,
    present: [bool; EXECUTORS],
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct LevelState {
    iteration: u8,
    /// The root's three, or the one inside the scope at `INNER`.
    vertices: Vec<VertexState>,
    open: u8,
    cancelled: bool,
    over: bool,
    present: [bool; EXECUTORS],
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct ScopeState {
    upstream: u8,
    live: u8,
    complete: bool,
    instances: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Account {
    Port,
    Work,
    Ack,
    Free,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    Message,
    Resume,
    End(Account),
    Acknowledge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OperatorState {
    level: usize,
    vertex: usize,
    mailbox: VecDeque<Item>,
    told: bool,
    dropped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Command {
    Start,
    Invite,
    Deliver(usize, usize),
    Exhausted(usize, usize),
    CreateEmpty(usize, usize),
    Feed(usize),
    Over(usize),
    Closed(usize),
}

/// One access to what executors share, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Op {
    Act { level: usize, vertex: usize },
    Route { level: usize, vertex: usize },
    Iteration { number: u8 },
    Open,
    CountLate,
    Count { level: usize, vertex: usize, to: usize },
    Post { level: usize, vertex: usize, to: usize },
    Admit { level: usize, vertex: usize },
    Show { level: usize, vertex: usize },
    LookLate { level: usize, vertex: usize },
    Settle { level: usize, vertex: usize, account: Account },
    LookUpstream { level: usize, vertex: usize },
    LookPending { level: usize, vertex: usize },
    LookWork { level: usize, vertex: usize },
    SwapExhausted { level: usize, vertex: usize },
    Announce { level: usize, vertex: usize, executor: usize },
    LookEmpty { level: usize, vertex: usize },
    LookAcks { level: usize, vertex: usize },
    SwapComplete { level: usize, vertex: usize },
    Feeder { level: usize, vertex: usize },
    Entry,
    Member { level: usize },
    LevelOver { level: usize },
    InstanceGone,
    LookScopeUpstream,
    LookScopeLive,
    SwapScope,
    Cancel { level: usize },
    CancelVertex { level: usize },
    Purge { level: usize },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Executor {
    inbox: VecDeque<Command>,
    stack: Vec<Op>,
    operators: Vec<OperatorState>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    levels: Vec<LevelState>,
    scope: ScopeState,
    executors: [Executor; EXECUTORS],
    ends: u8,
    messages: u8,
    cancels: u8,
    invited: bool,
}

type Refuted = String;

fn less(counter: &mut u8, what: &str) -> Result<bool, Refuted> {
    *counter = counter.checked_sub(1).ok_or_else(|| format!("{what} fell below zero"))?;
    Ok(*counter == 0)
}

impl State {
    fn new(game: &Game) -> State {
        let vertex = |upstream, ports: u8| VertexState { upstream, acks: ports, ..VertexState::default() };
        let source = VertexState { work: 1, ..vertex(0, 0) };
        let vertices = vec![source, vertex(1, 1), vertex(1, 1)];
        let root = LevelState { vertices, open: 3, ..LevelState::default() };
        let mut state =
            State { levels: vec![root], messages: game.messages, cancels: game.cancels, ..State::default() };
        state.scope.upstream = 1;
        state.executors[0].inbox.push_back(Command::Start);
        state
    }

    fn vertex(&mut self, level: usize, vertex: usize) -> &mut VertexState {
        let at = if level == 0 { vertex } else { 0 };
        &mut self.levels[level].vertices[at]
    }

    fn operator(&mut self, me: usize, level: usize, vertex: usize) -> Option<&mut OperatorState> {
        let mut operators = self.executors[me].operators.iter_mut();
        operators.find(|operator| (operator.level, operator.vertex) == (level, vertex))
    }

    fn post(&mut self, to: usize, command: Command) {
        self.executors[to].inbox.push_back(command);
    }

    fn push(&mut self, me: usize, ops: &[Op]) {
        self.executors[me].stack.extend(ops.iter().rev());
    }

    /// All states that follow.
    fn successors(&self, game: &Game) -> Result<Vec<State>, Refuted> {
        let mut next = Vec::new();
        for me in 0..EXECUTORS {
            let mut state = self.clone();
            match state.executors[me].stack.pop() {
                Some(op) => next.extend(state.perform(game, me, op)?),
                None if self.ends > 0 => {}
                None => {
                    if let Some(command) = state.executors[me].inbox.pop_front() {
                        state.take(game, me, command)?;
                        next.push(state);
                    }
                    for at in 0..self.executors[me].operators.len() {
                        if !self.executors[me].operators[at].mailbox.is_empty() {
                            let mut state = self.clone();
                            state.call(me, at)?;
                            next.push(state);
                        }
                    }
                }
            }
        }
        Ok(next)
    }

    fn take(&mut self, game: &Game, me: usize, command: Command) -> Result<(), Refuted> {
        match command {
            Command::Start | Command::Invite => {
                self.push(me, &[Op::Admit { level: 0, vertex: SOURCE }]);
            }
            Command::Deliver(level, vertex) => self.push(me, &[Op::Admit { level, vertex }]),
            Command::Exhausted(level, vertex) => {
                let closed = self.vertex(level, vertex).closed;
                match self.operator(me, level, vertex) {
                    Some(operator) if !closed => operator.mailbox.push_back(Item::End(Account::Ack)),
                    _ => self.push(me, &[Op::Settle { level, vertex, account: Account::Ack }]),
                }
            }
            Command::CreateEmpty(level, vertex) => {
                if self.vertex(level, vertex).closed {
                    self.push(me, &[Op::Settle { level, vertex, account: Account::Ack }]);
                } else {
                    self.seat(me, level, vertex, Item::Acknowledge)?;
                }
            }
            Command::Feed(level) => self.feed(me, game, level),
            Command::Over(level) => {
                let mut held = self.executors[me].operators.iter().filter(|operator| operator.level == level);
                if held.any(|operator| !operator.mailbox.is_empty()) {
                    return Err("an instance is over while a mailbox of it is not empty".to_string());
                }
            }
            Command::Closed(level) => self.push(me, &[Op::Purge { level }]),
        }
        Ok(())
    }

    /// Puts something into an operator's mailbox; a new operator says that it is there, then looks whether it came too late.
    fn seat(&mut self, me: usize, level: usize, vertex: usize, item: Item) -> Result<(), Refuted> {
        self.levels[level].present[me] = true;
        if let Some(operator) = self.operator(me, level, vertex) {
            if operator.told && item == Item::Message {
                return Err("a message came to an operator that was told of its end".to_string());
            }
            operator.mailbox.push_back(item);
            return Ok(());
        }
        let mailbox = VecDeque::from([item]);
        self.executors[me].operators.push(OperatorState {
            level,
            vertex,
            mailbox,
            told: false,
            dropped: false,
        });
        self.push(me, &[Op::Show { level, vertex }, Op::LookLate { level, vertex }]);
        Ok(())
    }

    fn feed(&mut self, me: usize, game: &Game, level: usize) {
        let edges = if game.shape == Shape::Loop { 2 } else { 1 };
        (0..edges).for_each(|_| self.push(me, &[Op::Feeder { level, vertex: INNER }]));
    }

    /// An operator is called for the next thing in its mailbox. The query does not end before the turn is over.
    fn call(&mut self, me: usize, at: usize) -> Result<(), Refuted> {
        let operator = &mut self.executors[me].operators[at];
        let (level, vertex) = (operator.level, operator.vertex);
        let item = operator.mailbox.pop_front().unwrap();
        self.levels[0].open += 1;
        let account = match item {
            Item::Message => Account::Port,
            Item::Resume => Account::Work,
            Item::End(account) => {
                if std::mem::replace(&mut operator.told, true) {
                    return Err("an operator was told of its end twice".to_string());
                }
                account
            }
            Item::Acknowledge => Account::Ack,
        };
        let settle = Op::Settle { level, vertex, account };
        let acts = matches!(item, Item::Message | Item::Resume);
        self.push(me, &[settle, Op::Member { level: 0 }]);
        if acts {
            self.push(me, &[Op::Act { level, vertex }]);
        }
        Ok(())
    }

    fn perform(mut self, game: &Game, me: usize, op: Op) -> Result<Vec<State>, Refuted> {
        match op {
            Op::Act { level, vertex } => return Ok(self.act(game, me, level, vertex)),
            Op::Route { level, vertex } => return Ok(self.route(game, me, level, vertex)),
            Op::Iteration { .. } | Op::Open | Op::CountLate => self.open_instance(game, me, op),
            Op::Count { .. } | Op::Post { .. } | Op::Admit { .. } => self.carry(me, op)?,
            Op::Show { level, vertex } => {
                let there = self.vertex(level, vertex);
                there.made += 1;
                there.present[me] = true;
            }
            Op::LookLate { level, vertex } => {
                if self.vertex(level, vertex).exhausted {
                    let operator = self.operator(me, level, vertex).unwrap();
                    let known = |item: &Item| matches!(item, Item::End(_));
                    if !operator.told && !operator.mailbox.iter().any(known) {
                        operator.mailbox.push_front(Item::End(Account::Free));
                    }
                }
            }
            Op::Cancel { .. } | Op::CancelVertex { .. } | Op::Purge { .. } => self.cancel(game, me, op),
            Op::Settle { level, vertex, account } => self.settle(me, level, vertex, account)?,
            op => self.look(game, me, op)?,
        }
        Ok(vec![self])
    }

    /// What an operator may do in a call, one thing after another.
    fn act(self, game: &Game, me: usize, level: usize, vertex: usize) -> Vec<State> {
        let mut next = vec![self.clone()];
        let mut choose = |change: &dyn Fn(&mut State)| {
            let mut state = self.clone();
            change(&mut state);
            next.push(state);
        };
        let again = Op::Act { level, vertex };
        if self.messages > 0 && vertex != SINK {
            let first = match (game.shape, vertex) {
                (Shape::Line, SOURCE) => Op::Route { level: 0, vertex: INNER },
                (Shape::Branch, SOURCE) => Op::Open,
                (Shape::Loop, SOURCE) => Op::Iteration { number: 1 },
                _ => Op::Route { level: 0, vertex: SINK },
            };
            choose(&|state| {
                state.messages -= 1;
                state.push(me, &[first, again]);
            });
            if game.shape == Shape::Loop && vertex == INNER {
                let number = self.levels[level].iteration + 1;
                choose(&|state| {
                    state.messages -= 1;
                    state.push(me, &[Op::Iteration { number }, again]);
                });
            }
        }
        if game.peers && vertex == SOURCE && !self.invited {
            choose(&|state| {
                state.invited = true;
                state.vertex(0, SOURCE).work += 1;
                state.post(1 - me, Command::Invite);
                state.push(me, &[again]);
            });
        }
        if self.cancels > 0 && level > 0 {
            choose(&|state| {
                state.cancels -= 1;
                state.push(me, &[Op::Cancel { level }]);
            });
        }
        next
    }

    /// To either executor, if the receiver takes messages.
    fn route(self, game: &Game, me: usize, level: usize, vertex: usize) -> Vec<State> {
        let mut state = self;
        if state.vertex(level, vertex).closed {
            return vec![state];
        }
        let to_each = |to: usize| {
            let mut state = state.clone();
            let ops = [Op::Count { level, vertex, to }, Op::Post { level, vertex, to }];
            if game.mutant == Mutant::SettlesFirst {
                // Below the settling of the call that sends: two places up from the bottom of the stack.
                let stack = &mut state.executors[me].stack;
                let at = stack.len().saturating_sub(
                    stack.iter().rev().position(|op| matches!(op, Op::Settle { .. })).unwrap() + 1,
                );
                stack.splice(at..at, ops.into_iter().rev());
            } else {
                state.push(me, &ops);
            }
            state
        };
        (0..EXECUTORS).map(to_each).collect()
    }

    /// An instance is found or made, under the lock of its scope, and counted before anything is sent to it.
    fn open_instance(&mut self, game: &Game, me: usize, op: Op) {
        let number = match op {
            Op::CountLate => {
                self.scope.live += 1;
                return;
            }
            Op::Iteration { number } => number,
            _ => 0,
        };
        let found = self.scope.instances.iter().copied().find(|at| self.levels[*at].iteration == number);
        let found = found.filter(|_| game.shape == Shape::Loop);
        let level = found.unwrap_or_else(|| {
            let upstream = if game.shape == Shape::Loop { 2 } else { 1 };
            let inner = VertexState { upstream, acks: 1, ..VertexState::default() };
            self.levels.push(LevelState {
                iteration: number,
                vertices: vec![inner],
                open: 1,
                ..LevelState::default()
            });
            self.scope.instances.push(self.levels.len() - 1);
            if game.mutant != Mutant::CountsInstancesLate {
                self.scope.live += 1;
            }
            self.levels.len() - 1
        });
        if game.shape == Shape::Branch {
            self.levels[level].present[me] = true;
            self.push(me, &[Op::Feeder { level, vertex: INNER }]);
        }
        self.push(me, &[Op::Route { level, vertex: INNER }]);
        if game.mutant == Mutant::CountsInstancesLate && found.is_none() {
            // Once the call that opened it is settled.
            let stack = &mut self.executors[me].stack;
            let at = stack.iter().rposition(|op| matches!(op, Op::Settle { .. })).unwrap();
            stack.insert(at, Op::CountLate);
        }
    }

    fn carry(&mut self, me: usize, op: Op) -> Result<(), Refuted> {
        match op {
            Op::Count { level, vertex, .. } => self.vertex(level, vertex).pending += 1,
            Op::Post { level, vertex, to } if to == me => self.push(me, &[Op::Admit { level, vertex }]),
            Op::Post { level, vertex, to } => self.post(to, Command::Deliver(level, vertex)),
            Op::Admit { level: 0, vertex: SOURCE } => self.seat(me, 0, SOURCE, Item::Resume)?,
            Op::Admit { level, vertex } => {
                if self.levels[level].over {
                    return Err("a message came to an instance that is over".to_string());
                }
                if self.vertex(level, vertex).closed {
                    self.levels[level].present[me] = true;
                    self.push(me, &[Op::Settle { level, vertex, account: Account::Port }]);
                } else {
                    self.seat(me, level, vertex, Item::Message)?;
                }
            }
            _ => unreachable!(),
        }
        Ok(())
    }

    fn settle(&mut self, me: usize, level: usize, vertex: usize, account: Account) -> Result<(), Refuted> {
        let there = self.vertex(level, vertex);
        match account {
            Account::Port => {
                if less(&mut there.pending, "pending")? {
                    self.push(me, &[Op::LookUpstream { level, vertex }]);
                }
            }
            Account::Work => {
                if less(&mut there.work, "work")? {
                    self.push(me, &[Op::LookAcks { level, vertex }]);
                }
            }
            Account::Ack => {
                if less(&mut there.acks, "acks")? {
                    self.push(me, &[Op::LookAcks { level, vertex }]);
                }
            }
            Account::Free => {}
        }
        Ok(())
    }

    fn look(&mut self, game: &Game, me: usize, op: Op) -> Result<(), Refuted> {
        match op {
            Op::LookUpstream { level, vertex } if self.vertex(level, vertex).upstream == 0 => {
                self.push(me, &[Op::LookPending { level, vertex }]);
            }
            Op::LookPending { level, vertex } if self.vertex(level, vertex).pending == 0 => {
                self.push(me, &[Op::LookWork { level, vertex }]);
            }
            Op::LookWork { level, vertex } if self.vertex(level, vertex).work == 0 => {
                self.push(me, &[Op::SwapExhausted { level, vertex }]);
            }
            Op::SwapExhausted { level, vertex } => {
                if !std::mem::replace(&mut self.vertex(level, vertex).exhausted, true) {
                    let tell = |executor| Op::Announce { level, vertex, executor };
                    let ack = Op::Settle { level, vertex, account: Account::Ack };
                    self.push(me, &[tell(0), tell(1), Op::LookEmpty { level, vertex }, ack]);
                }
            }
            Op::Announce { level, vertex, executor } => {
                let there = self.vertex(level, vertex);
                if !there.closed && there.present[executor] {
                    there.acks += 1;
                    self.post(executor, Command::Exhausted(level, vertex));
                }
            }
            Op::LookEmpty { level, vertex } => {
                let there = self.vertex(level, vertex);
                if game.create_if_empty && vertex != SOURCE && there.made == 0 && !there.closed {
                    there.acks += 1;
                    self.post(0, Command::CreateEmpty(level, vertex));
                }
            }
            Op::LookAcks { level, vertex } => {
                let there = self.vertex(level, vertex);
                if there.acks == 0 && there.work == 0 {
                    self.push(me, &[Op::SwapComplete { level, vertex }]);
                }
            }
            Op::SwapComplete { level, vertex } => {
                if !std::mem::replace(&mut self.vertex(level, vertex).complete, true) {
                    self.push(me, &[Op::Member { level }]);
                    match (game.shape, vertex) {
                        (Shape::Line, SOURCE) => self.push(me, &[Op::Feeder { level, vertex: INNER }]),
                        (Shape::Line, INNER) => self.push(me, &[Op::Feeder { level, vertex: SINK }]),
                        (_, SOURCE) => self.push(me, &[Op::Entry]),
                        _ => {}
                    }
                }
            }
            Op::Feeder { level, vertex } => {
                if less(&mut self.vertex(level, vertex).upstream, "upstream")? {
                    self.push(me, &[Op::LookUpstream { level, vertex }]);
                }
            }
            op => self.look_scope(game, me, op)?,
        }
        Ok(())
    }

    fn look_scope(&mut self, game: &Game, me: usize, op: Op) -> Result<(), Refuted> {
        match op {
            Op::Entry => {
                if less(&mut self.scope.upstream, "the scope's upstream")? {
                    self.push(me, &[Op::LookScopeUpstream]);
                    let first =
                        self.scope.instances.iter().copied().find(|at| self.levels[*at].iteration == 1);
                    if let Some(first) = first.filter(|_| game.shape == Shape::Loop) {
                        self.feed(me, game, first);
                    }
                }
            }
            Op::Member { level } => {
                if less(&mut self.levels[level].open, "open members")? {
                    if level == 0 {
                        self.ends += 1;
                    } else {
                        self.push(me, &[Op::LevelOver { level }]);
                    }
                }
            }
            Op::LevelOver { level } => {
                if std::mem::replace(&mut self.levels[level].over, true) {
                    return Err("an instance is over twice".to_string());
                }
                self.scope.instances.retain(|other| *other != level);
                let number = self.levels[level].iteration + 1;
                let next =
                    self.scope.instances.iter().copied().find(|at| self.levels[*at].iteration == number);
                for executor in 0..EXECUTORS {
                    if self.levels[level].present[executor] {
                        self.post(executor, Command::Over(level));
                    }
                }
                if let Some(next) =
                    next.filter(|_| game.shape == Shape::Loop && game.mutant != Mutant::ForgetsToFeed)
                {
                    self.post(0, Command::Feed(next));
                }
                self.push(me, &[Op::InstanceGone]);
            }
            Op::InstanceGone => {
                if less(&mut self.scope.live, "live instances")? {
                    self.push(me, &[Op::LookScopeUpstream]);
                }
            }
            Op::LookScopeUpstream if self.scope.upstream == 0 => self.push(me, &[Op::LookScopeLive]),
            Op::LookScopeLive if self.scope.live == 0 => self.push(me, &[Op::SwapScope]),
            Op::SwapScope => {
                if !std::mem::replace(&mut self.scope.complete, true) {
                    self.push(me, &[Op::Feeder { level: 0, vertex: SINK }, Op::Member { level: 0 }]);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Cancelling marks, then tells; who is told throws away and settles.
    fn cancel(&mut self, game: &Game, me: usize, op: Op) {
        match op {
            Op::Cancel { level } => {
                if !std::mem::replace(&mut self.levels[level].cancelled, true) {
                    self.push(me, &[Op::CancelVertex { level }]);
                }
            }
            Op::CancelVertex { level } => {
                self.vertex(level, INNER).closed = true;
                for executor in 0..EXECUTORS {
                    if self.levels[level].present[executor] {
                        self.post(executor, Command::Closed(level));
                    }
                }
            }
            Op::Purge { level } => {
                let Some(operator) = self.operator(me, level, INNER) else { return };
                operator.dropped = true;
                for item in std::mem::take(&mut operator.mailbox) {
                    let account = match item {
                        Item::Message if game.mutant == Mutant::DropsUnsettled => continue,
                        Item::Message => Account::Port,
                        Item::Resume => Account::Work,
                        Item::End(account) => account,
                        Item::Acknowledge => Account::Ack,
                    };
                    self.push(me, &[Op::Settle { level, vertex: INNER, account }]);
                }
            }
            _ => unreachable!(),
        }
    }

    /// What must hold in every state.
    fn check(&self) -> Result<(), Refuted> {
        if self.ends > 1 {
            return Err("the query ended twice".to_string());
        }
        Ok(())
    }

    /// What must hold where nothing can go on.
    fn check_last(&self) -> Result<(), Refuted> {
        if self.ends != 1 {
            return Err("the query never ends".to_string());
        }
        if !self.scope.instances.is_empty() || self.levels[1..].iter().any(|level| !level.over) {
            return Err("an instance lives on after the end".to_string());
        }
        for operator in self.executors.iter().flat_map(|executor| &executor.operators) {
            if !operator.mailbox.is_empty() {
                return Err("the query ended while a mailbox was not empty".to_string());
            }
            let cancelled = operator.dropped || self.levels[operator.level].cancelled;
            if operator.vertex != SOURCE && !operator.told && !cancelled {
                return Err("an operator was never told of its end".to_string());
            }
        }
        Ok(())
    }
}

/// Visits every state; returns how many there are, or what was refuted and by which last steps.
fn search(game: &Game) -> Result<usize, Refuted> {
    let hashes = [foldhash::fast::FixedState::with_seed(1), foldhash::fast::FixedState::with_seed(2)];
    let name = |state: &State| hashes.each_ref().map(|hash| hash.hash_one(state));
    let first = State::new(game);
    let mut seen = HashSet::from([name(&first)]);
    let mut stack = vec![first];
    while let Some(state) = stack.pop() {
        let told = |refuted: Refuted| format!("{refuted}\n{state:#?}");
        state.check().map_err(told)?;
        let next = state.successors(game).map_err(told)?;
        if next.is_empty() {
            state.check_last().map_err(told)?;
        }
        stack.extend(next.into_iter().filter(|state| seen.insert(name(state))));
    }
    Ok(seen.len())
}

const GAMES: [Game; 7] = [
    Game {
        shape: Shape::Line,
        mutant: Mutant::None,
        messages: 2,
        cancels: 0,
        create_if_empty: true,
        peers: true,
    },
    Game {
        shape: Shape::Line,
        mutant: Mutant::None,
        messages: 3,
        cancels: 0,
        create_if_empty: false,
        peers: false,
    },
    Game {
        shape: Shape::Branch,
        mutant: Mutant::None,
        messages: 2,
        cancels: 1,
        create_if_empty: true,
        peers: false,
    },
    Game {
        shape: Shape::Branch,
        mutant: Mutant::None,
        messages: 1,
        cancels: 1,
        create_if_empty: false,
        peers: true,
    },
    Game {
        shape: Shape::Branch,
        mutant: Mutant::None,
        messages: 2,
        cancels: 0,
        create_if_empty: true,
        peers: true,
    },
    Game {
        shape: Shape::Loop,
        mutant: Mutant::None,
        messages: 3,
        cancels: 0,
        create_if_empty: false,
        peers: false,
    },
    Game {
        shape: Shape::Loop,
        mutant: Mutant::None,
        messages: 2,
        cancels: 1,
        create_if_empty: true,
        peers: true,
    },
];

#[test]
fn every_interleaving_ends_once() {
    for game in &GAMES {
        let start = world::clock::monotonic_ns();
        let states = search(game).unwrap_or_else(|refuted| panic!("{:?}: {refuted}", game.shape));
        let seconds = (world::clock::monotonic_ns() - start) as f64 / 1e9;
        println!("{:?}, {} messages: {states} states in {seconds:.1} s", game.shape, game.messages);
        assert!(states > 1_000, "the search went somewhere");
    }
}

#[test]
fn a_protocol_with_a_broken_rule_is_refuted() {
    use Mutant::{CountsInstancesLate, DropsUnsettled, ForgetsToFeed, SettlesFirst};
    for mutant in [SettlesFirst, CountsInstancesLate, ForgetsToFeed, DropsUnsettled] {
        let refuted = GAMES.iter().find_map(|game| search(&Game { mutant, ..*game }).err());
        let refuted = refuted.unwrap_or_else(|| panic!("{mutant:?} passes"));
        println!("{mutant:?}: {}", refuted.lines().next().unwrap_or_default());
    }
}
