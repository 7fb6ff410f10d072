//! Runs a program: a queue before each step, the deepest first.
//!
//! Invariant: a step gets traversers only while no step behind it has any to work on, so a step that has enough (`limit`) stops all work before it,
//! and a step that gathers emits when no step before it can give more. A batch bounds one turn.

use crate::branches::Rounds;
use crate::compare::Keyed;
use crate::error::{Outcome, TraverseError};
use crate::extent;
use crate::limits::{MERGE_FROM, TRAVERSERS_MAX};
use crate::machine::Machine;
use crate::ordered::KeyNumbers;
use crate::pieces::PieceQueue;
use crate::reduce::Reducing;
use crate::step::{Body, Name, Step};
use crate::traverser::{Out, Traverser, Traversers};
use execute::watch;
use gremlin::Object;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;

/// The state of a step.
#[derive(Default)]
pub(crate) enum State {
    /// Nothing.
    #[default]
    Nothing,
    /// How far a scan has come for a traverser.
    Scan(Traverser, u64),
    /// Objects seen.
    Seen(KeyNumbers<Keyed>),
    /// How many were seen.
    Counted(u64),
    /// A reduction so far.
    Reducing(Box<Reducing>),
    /// Gathered traversers.
    Gathered(Traversers),
    /// The last traversers, and how many they are with their bulks.
    Tail(Traversers, u64),
    /// Whether it has answered.
    Done,
    /// Pipelines of its branches.
    Branches(Vec<Pipeline>),
    /// Rounds of a repeat.
    Rounds(Box<Rounds>),
}

impl State {
    /// How many objects it holds, roughly.
    fn size(&self) -> usize {
        match self {
            State::Nothing | State::Counted(_) | State::Done => 0,
            State::Scan(..) | State::Reducing(_) => 1,
            State::Seen(seen) => seen.len(),
            State::Gathered(gathered) | State::Tail(gathered, _) => gathered.len(),
            State::Branches(branches) => branches.iter().map(Pipeline::waiting).sum(),
            State::Rounds(rounds) => rounds.waiting(),
        }
    }
    /// Drops a part; true if more is left.
    fn drop_some(&mut self) -> bool {
        match self {
            State::Nothing | State::Counted(_) | State::Done | State::Scan(..) | State::Reducing(_) => false,
            State::Seen(seen) => seen.drop_some(),
            State::Gathered(gathered) | State::Tail(gathered, _) => gathered.drop_some(),
            State::Branches(branches) => match branches.last_mut() {
                Some(branch) => {
                    if !branch.drop_some() {
                        branches.pop();
                    }
                    true
                }
                None => false,
            },
            State::Rounds(rounds) => rounds.drop_some(),
        }
    }
}

#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) queue: Traversers,
    pub(crate) state: State,
    /// Has it emitted its gathered traversers?
    flushed: bool,
}

/// The result of a turn.
pub enum Worked {
    /// Results, one piece of them.
    Found(VecDeque<Traverser>),
    /// Nothing yet.
    Working,
    /// There will be no more.
    Done,
}

/// A program with its queues.
///
/// A turn touches one step and its successor, so it costs the same in a program of ten steps and of ten thousand: waiting traversers are counted anew
/// at those two only, and steps outside of `busy` are not visited.
pub struct Pipeline {
    program: Body,
    stages: Vec<Stage>,
    /// Waiting traversers at each step, and in all.
    held: Vec<usize>,
    held_sum: usize,
    /// Only steps in this range may have work.
    busy: Range<usize>,
    /// Steps before this one have emitted their gathered traversers.
    answered: usize,
    /// Steps before this one have nothing to give any more.
    cut: usize,
    out: Traversers,
    given: bool,
}

impl Pipeline {
    /// A pipeline without traversers.
    pub fn new(program: &Body) -> Pipeline {
        let stages: Vec<Stage> = program.steps.iter().map(|_| Stage::default()).collect();
        Pipeline {
            program: program.clone(),
            held: vec![0; stages.len()],
            held_sum: 0,
            busy: 0..0,
            answered: 0,
            stages,
            cut: 0,
            out: Traversers::default(),
            given: false,
        }
    }
    /// Gives a traverser to the first step.
    pub fn push(&mut self, traverser: Traverser) {
        self.given = true;
        match self.stages.first_mut() {
            Some(first) if self.cut == 0 => {
                first.queue.push(traverser);
                self.touched(0);
            }
            Some(_) => {}
            None => self.out.push(traverser),
        }
    }
    /// The next results, none at the end.
    pub fn next(&mut self, machine: &Machine) -> Outcome<Option<Traversers>> {
        loop {
            if !self.out.is_empty() {
                return Ok(Some(std::mem::take(&mut self.out)));
            }
            if !self.turn(machine)? && !self.flush(machine)? {
                return Ok(None);
            }
        }
    }
    /// One turn of one step.
    pub fn work_on(&mut self, machine: &Machine) -> Outcome<Worked> {
        if self.out.is_empty() && !self.turn(machine)? && !self.flush(machine)? {
            return Ok(Worked::Done);
        }
        Ok(self.out.pop_piece().map_or(Worked::Working, Worked::Found))
    }
    /// Traversers in its queues, and in the states of its steps.
    pub fn waiting(&self) -> usize {
        self.held_sum
    }
    /// A step was given traversers or has worked.
    fn touched(&mut self, at: usize) {
        let Some(stage) = self.stages.get(at) else { return };
        let held = stage.queue.len() + stage.state.size();
        self.held_sum = self.held_sum - self.held[at] + held;
        self.held[at] = held;
        if self.busy.is_empty() {
            self.busy = at..at + 1;
        }
        self.busy = self.busy.start.min(at)..self.busy.end.max(at + 1);
    }
    /// The next step to run: the deepest that has work, those that wait for all before them last.
    fn busy_step(&mut self) -> Option<usize> {
        self.busy.start = self.busy.start.max(self.cut);
        let has_work = |at: &usize| self.stages[*at].has_work();
        let Some(deepest) = self.busy.clone().rev().find(has_work) else {
            self.busy = 0..0;
            return None;
        };
        let first = self.busy.clone().find(has_work).unwrap_or(deepest);
        self.busy = first..deepest + 1;
        // a repeat whose rounds need all their traversers goes on when nothing before it can give more
        let waits =
            |at: &usize| matches!(&self.program.steps[*at], Step::Repeat(repeat) if repeat.body.waits());
        self.busy.clone().rev().filter(|at| !waits(at)).find(has_work).or(Some(first))
    }
    /// The results so far, without flushing steps that gather.
    pub(crate) fn drain(&mut self, machine: &Machine) -> Outcome<Traversers> {
        while self.turn(machine)? {}
        Ok(std::mem::take(&mut self.out))
    }
    /// Was it ever given a traverser?
    pub(crate) fn was_given(&self) -> bool {
        self.given
    }
    /// Has it no work until it gets more input?
    pub(crate) fn is_idle(&self) -> bool {
        self.out.is_empty() && !self.stages[self.busy.clone()].iter().any(Stage::has_work)
    }
    /// Forgets how many were counted: each round of a `repeat` counts anew.
    pub(crate) fn count_anew(&mut self) {
        self.cut = 0;
        for stage in &mut self.stages {
            match &mut stage.state {
                State::Counted(_) => stage.state = State::Nothing,
                State::Branches(branches) => branches.iter_mut().for_each(Pipeline::count_anew),
                _ => {}
            }
        }
    }

    /// One turn of the deepest step that has work; false where none has.
    fn turn(&mut self, machine: &Machine) -> Outcome<bool> {
        let Some(at) = self.busy_step() else { return Ok(false) };
        machine.keeps(self.waiting());
        machine.pause()?;
        let mut out = Traversers::default();
        let ended = match machine.profile_of(&self.program) {
            None => self.work(machine, at, &mut out)?,
            Some(profile) => {
                let from_ns = machine.graph.elapsed_ns();
                let ended = self.work(machine, at, &mut out)?;
                profile.add(at, machine.graph.elapsed_ns() - from_ns, &out);
                ended
            }
        };
        self.hand_on(machine, at, out)?;
        if ended {
            for done in self.cut..=at {
                self.stages[done] = Stage { flushed: true, ..Stage::default() };
                self.held_sum -= std::mem::take(&mut self.held[done]);
            }
            self.cut = at + 1;
        }
        Ok(true)
    }

    /// Lets the first step that gathers answer; false where all have.
    fn flush(&mut self, machine: &Machine) -> Outcome<bool> {
        for at in self.cut.max(self.answered)..self.stages.len() {
            self.answered = at + 1;
            if std::mem::replace(&mut self.stages[at].flushed, true) {
                continue;
            }
            let mut out = Traversers::default();
            let program = self.program.clone();
            let step = &program.steps[at];
            let from_ns = machine.profile_of(&program).map(|_| machine.graph.elapsed_ns());
            machine.flush(step, &mut self.stages[at], &mut out)?;
            if let (Some(profile), Some(from_ns)) = (machine.profile_of(&program), from_ns) {
                profile.add(at, machine.graph.elapsed_ns() - from_ns, &out);
            }
            let answered = !out.is_empty();
            self.hand_on(machine, at, out)?;
            if answered {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn hand_on(&mut self, machine: &Machine, at: usize, out: Traversers) -> Outcome<()> {
        if makes_values(&self.program.steps[at]) {
            for traverser in out.iter().filter(|traverser| !extent::is_flat(&traverser.object)) {
                extent::check(&traverser.object)?;
            }
        }
        self.touched(at);
        match self.stages.get_mut(at + 1) {
            Some(next) => {
                next.queue.append(out)?;
                if next.queue.len() > MERGE_FROM && machine.batch > 1 {
                    merge(&mut next.queue, machine)?;
                }
                if next.queue.len() > TRAVERSERS_MAX {
                    let message = format!("more than {TRAVERSERS_MAX} traversers wait for one step");
                    return Err(TraverseError::Limit(message));
                }
                self.touched(at + 1);
            }
            None => self.out.append(out)?,
        }
        Ok(())
    }

    /// Drops a part of what it holds, which a traversal that has ended needs no more; true if more is left.
    pub(crate) fn drop_some(&mut self) -> bool {
        let Some(stage) = self.stages.last_mut() else { return self.out.drop_some() };
        if !stage.queue.drop_some() && !stage.state.drop_some() {
            self.stages.pop();
        }
        true
    }

    /// One turn of one step; true where it needs nothing more.
    fn work(&mut self, machine: &Machine, at: usize, out: Out<'_>) -> Outcome<bool> {
        let program = self.program.clone();
        let step = &program.steps[at];
        let stage = &mut self.stages[at];
        match step {
            Step::Vertices { ids: None, wanted } => machine.scan_vertices(wanted, stage, out)?,
            Step::Edges { ids: None } => machine.scan_edges(stage, out)?,
            Step::Repeat(repeat) => machine.round(repeat, stage, out)?,
            Step::Union(bodies) => machine.union(bodies, stage, out)?,
            Step::Choose { by, options, all } => machine.choose(by, (options, *all), stage, out)?,
            _ => {
                for _ in 0..machine.batch {
                    let Some(traverser) = stage.queue.pop() else { break };
                    watch::spend(STEP_UNITS)?;
                    if machine.step(step, &mut stage.state, traverser, out)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}

/// Units of work that a step takes for one traverser, at least.
const STEP_UNITS: u64 = 4;

/// Units of work that one traverser takes to be merged.
const MERGE_UNITS: u64 = 4;

/// May a step make new values? Others pass on their input, or parts of it.
fn makes_values(step: &Step) -> bool {
    !matches!(
        step,
        Step::Identity
            | Step::As(_)
            | Step::Forget(_)
            | Step::Is(_)
            | Step::Where(_)
            | Step::Not(_)
            | Step::And(_)
            | Step::Or(_)
            | Step::WhereIs(_)
            | Step::SimplePath { .. }
            | Step::Coin(_)
            | Step::Dedup { .. }
            | Step::Range { .. }
            | Step::Tail(_)
            | Step::Order(_)
            | Step::Barrier { .. }
            | Step::Adjacent { .. }
            | Step::EdgeEnd(_)
            | Step::Union(_)
            | Step::Choose { .. }
            | Step::Repeat(_)
            | Step::Local(_)
            | Step::Optional(_)
    )
}

impl Stage {
    fn has_work(&self) -> bool {
        !self.queue.is_empty()
            || match &self.state {
                State::Scan(..) => true,
                State::Rounds(rounds) => rounds.has_work(),
                State::Branches(branches) => branches.iter().any(|branch| !branch.is_idle()),
                _ => false,
            }
    }
}

/// Merges traversers that differ in nothing but their bulk: the same object, the same round, and the same labelled objects.
///
/// # Errors
/// The query is over.
pub(crate) fn merge(queue: &mut Traversers, machine: &Machine) -> Outcome<()> {
    if machine.keeps_path || machine.setting().sack.is_some() || machine.setting().no_bulk {
        return Ok(());
    }
    type Labelled = Vec<(Keyed, SmallVec<[Name; 1]>)>;
    type RowKey = (Keyed, SmallVec<[u32; 1]>, Labelled);
    let (mut numbers, mut merged) = (KeyNumbers::<RowKey>::default(), Traversers::default());
    // Those without a number stand among the others.
    let mut places = PieceQueue::<usize>::default();
    while let Some(traverser) = queue.pop() {
        watch::spend(MERGE_UNITS)?;
        let simple = matches!(
            traverser.object,
            Object::Vertex(_) | Object::Edge(_) | Object::String(_) | Object::Int(_) | Object::Long(_)
        );
        if !simple {
            merged.push(traverser);
            continue;
        }
        let rounds = traverser.loops.iter().map(|(_, rounds)| *rounds).collect();
        let mut labelled = Labelled::new();
        let mut next = traverser.path.as_deref();
        while let Some(node) = next {
            labelled.push((Keyed(node.object.clone()), node.labels.clone()));
            next = node.previous.as_deref();
        }
        let number = numbers.of((Keyed(traverser.object.clone()), rounds, labelled));
        if number == places.len() {
            places.push(merged.len());
            merged.push(traverser);
        } else {
            let known = merged.at_mut(*places.at_mut(number));
            known.bulk = known.bulk.saturating_add(traverser.bulk);
        }
    }
    *queue = merged;
    Ok(())
}
