//! One search that workers may share: stages, results of their morsels, and answers that wait to be taken.

use super::ground::Ground;
use super::lanes::{Buckets, Lanes, Tallies};
use super::policy::DispatchPolicy;
use super::single::Single;
use super::stage::{Kind, Stage, Task};
use super::trace::Tracer;
use super::words::Word;
use crate::adjacency::{Adjacency, EdgeScratch};
use crate::answers::{Answers, Run};
use crate::error::PathError;
use crate::frontier::Found;
use crate::returns::Returns;
use crate::work::{Progress, Work};
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The result of a worker's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The work is over, or there are answers enough; there is more to do.
    More,
    /// Nothing to draw at the moment: others hold the rest.
    Idle,
    /// Everything has ended.
    Done,
}

/// The results of one worker in a morsel, and its scratch.
#[derive(Default)]
pub(super) struct Own {
    pub(super) found: Found,
    pub(super) edges: u64,
    pub(super) buckets: Buckets,
    pub(super) tallies: Tallies,
    pub(super) scratch: Vec<u32>,
    pub(super) edge_scratch: EdgeScratch,
    pub(super) tracer: Tracer,
}

/// The state of one worker between turns. A worker is used by one thread at a time.
pub struct Worker {
    pub(super) number: usize,
    pub(super) search: Option<Arc<Search>>,
    pub(super) task: Option<Task>,
    pub(super) own: Own,
    pub(super) is_present: bool,
    pub(super) is_idle: bool,
    /// Its bytes, as known to the dispatcher.
    pub(super) held: usize,
}

impl Worker {
    /// Workers have different numbers.
    pub fn new(number: usize) -> Worker {
        Worker {
            number,
            search: None,
            task: None,
            own: Own::default(),
            is_present: false,
            is_idle: false,
            held: 0,
        }
    }
}

/// The results of a morsel.
pub(super) struct Part {
    pub(super) found: Vec<u32>,
    /// Lengths of their lists, where they are needed.
    pub(super) edges: u64,
    pub(super) tallies: Vec<u64>,
}

/// Answers not taken yet.
#[derive(Default)]
pub(super) struct Waiting(VecDeque<Answer>);

enum Answer {
    Counted(Run),
    Listed {
        source: u32,
        distance: u32,
        ends: Arc<Vec<u32>>,
        given: usize,
    },
    /// A path, from its end backwards.
    Path {
        source: u32,
        end: u32,
        vertices: Vec<u32>,
        edges: Vec<u64>,
    },
}

impl Waiting {
    pub(super) fn tally(&mut self, source: u32, distance: u32, count: u64) {
        if count > 0 {
            self.0.push_back(Answer::Counted(Run { source, distance, count }));
        }
    }
    pub(super) fn list(&mut self, source: u32, distance: u32, ends: &Arc<Vec<u32>>) {
        if !ends.is_empty() {
            self.0.push_back(Answer::Listed { source, distance, ends: ends.clone(), given: 0 });
        }
    }
    fn path(&mut self, source: u32, end: u32, (vertices, edges): (Vec<u32>, Vec<u64>)) {
        self.0.push_back(Answer::Path { source, end, vertices, edges });
    }
    /// Gives some away; false if there were none.
    fn give(&mut self, answers: &mut Answers, count_max: u64) -> bool {
        let Some(first) = self.0.front_mut() else { return false };
        let is_given = match first {
            Answer::Counted(run) => {
                answers.tally(run.source, run.distance, run.count);
                true
            }
            Answer::Path { source, end, vertices, edges } => {
                answers.push_path(*source, *end, vertices, edges);
                true
            }
            Answer::Listed { source, distance, ends, given } => {
                let room = count_max.saturating_sub(answers.count()).min(ends.len() as u64) as usize;
                let stop = ends.len().min(*given + room);
                answers.push(*source, *distance, &ends[*given..stop]);
                *given = stop;
                stop == ends.len()
            }
        };
        if is_given {
            self.0.pop_front();
        }
        true
    }
    fn bytes(&self) -> usize {
        let one = |answer: &Answer| match answer {
            Answer::Counted(_) => 0,
            Answer::Listed { ends, .. } => ends.capacity() * 4,
            Answer::Path { vertices, edges, .. } => vertices.capacity() * 4 + edges.capacity() * 8,
        };
        self.0.iter().map(one).sum()
    }
}

enum Form {
    Single(Single),
    /// Up to eight.
    Few(Lanes<AtomicU8>),
    Lanes(Lanes<AtomicU64>),
}

pub(super) struct Search {
    form: Form,
    /// None at the end.
    stage: RwLock<Option<Arc<Stage>>>,
    handed_in: Mutex<Vec<Part>>,
    waiting: Mutex<Waiting>,
    /// While paths are looked for that come back: the source's position, and how far that is.
    returns: Mutex<(usize, Option<Returns>)>,
    first: u32,
}

impl Search {
    /// From these sources, the first of which is number `first`, begun by `worker`.
    pub(super) fn new<A: Adjacency>(
        ground: &Ground<A>,
        sources: &[u32],
        first: u32,
        worker: usize,
    ) -> Search {
        let form = match sources {
            [source] => Form::Single(Single::new(ground, *source, first)),
            _ if sources.len() <= AtomicU8::LANES => Form::Few(Lanes::new(ground, sources, first)),
            _ => Form::Lanes(Lanes::new(ground, sources, first)),
        };
        let mut waiting = Waiting::default();
        if ground.hops.min == 0
            && let [source] = sources
        {
            match ground.lists_ends() {
                true => waiting.list(first, 0, &Arc::new(vec![*source])),
                false => waiting.tally(first, 0, 1),
            }
        }
        let stage = match (ground.closes(), &form) {
            (true, _) => Some(Stage::new(Kind::Return, 0, Arc::default(), Arc::default(), 1)),
            (_, Form::Single(_)) if ground.hops.max == 0 => None,
            (_, Form::Single(single)) => Some(single.first()),
            (_, Form::Few(lanes)) => Some(lanes.first()),
            (_, Form::Lanes(lanes)) => Some(lanes.first()),
        };
        Search {
            form,
            stage: RwLock::new(stage.map(|stage| Arc::new(stage.of(worker)))),
            handed_in: Mutex::default(),
            waiting: Mutex::new(waiting),
            returns: Mutex::new((0, None)),
            first,
        }
    }

    fn sources(&self) -> &[u32] {
        match &self.form {
            Form::Single(single) => std::slice::from_ref(&single.source),
            Form::Few(lanes) => &lanes.sources,
            Form::Lanes(lanes) => &lanes.sources,
        }
    }

    /// One turn of one worker.
    pub(super) fn turn<A: Adjacency>(
        &self,
        ground: &Ground<A>,
        policy: &DispatchPolicy,
        worker: &mut Worker,
        work: &mut Work<'_>,
        answers: (&mut Answers, u64),
    ) -> Result<Turn, PathError> {
        let (answers, count_max) = answers;
        loop {
            if ground.has_failed() {
                return Err(PathError::GraphFailed);
            }
            if work.is_over() || answers.count() >= count_max {
                return Ok(Turn::More);
            }
            if self.waiting.lock().give(answers, count_max) {
                continue;
            }
            if worker.task.is_none() && !self.draw(ground, worker) {
                return Ok(if self.is_over() { Turn::Done } else { Turn::Idle });
            }
            let Some(mut task) = worker.task.take() else { continue };
            let own = &mut worker.own;
            match (&self.form, task.stage.kind) {
                (_, Kind::Return) => self.close(ground, &mut task, work)?,
                (Form::Single(single), _) => {
                    single.run(ground, &mut task, own, work, (&mut *answers, count_max))
                }
                (Form::Few(lanes), _) => {
                    lanes.run(ground, &mut task, own, work, (&mut *answers, count_max));
                }
                (Form::Lanes(lanes), _) => {
                    lanes.run(ground, &mut task, own, work, (&mut *answers, count_max))
                }
            }
            if !task.is_done() {
                worker.task = Some(task);
                continue;
            }
            let next = task.stage.draw(worker.number, || ground.has_idle());
            if next.as_ref().is_some_and(|morsel| task.extend(morsel)) {
                worker.task = Some(task);
                continue;
            }
            self.hand_in(ground, &task, own);
            if task.stage.finish(&task.morsel) {
                self.advance(ground, policy, &task.stage, worker.number);
            }
            worker.task = next.map(|morsel| Task::new(task.stage, morsel));
        }
    }

    /// Draws a morsel for the worker, if there is one.
    pub(super) fn draw<A: Adjacency>(&self, ground: &Ground<A>, worker: &mut Worker) -> bool {
        let Some(stage) = self.stage.read().clone() else { return false };
        let Some(morsel) = stage.draw(worker.number, || ground.has_idle()) else { return false };
        worker.task = Some(Task::new(stage, morsel));
        true
    }

    /// Nothing is left to do, nor to give?
    pub(super) fn is_over(&self) -> bool {
        self.stage.read().is_none() && !self.has_answers()
    }

    pub(super) fn has_answers(&self) -> bool {
        !self.waiting.lock().0.is_empty()
    }

    /// Looks for paths that come back, source by source.
    fn close<A: Adjacency>(
        &self,
        ground: &Ground<A>,
        task: &mut Task,
        work: &mut Work<'_>,
    ) -> Result<(), PathError> {
        let sources = self.sources();
        // Taken out while it is worked with: a read of the graph may pause, and others count the bytes of this search. It has one morsel, so one worker.
        let (mut at, mut returns) = std::mem::take(&mut *self.returns.lock());
        while at < sources.len() && !work.is_over() {
            let search = returns.get_or_insert_with(|| Returns::new(&[sources[at]], ground.hops.max, true));
            if search.step(&ground.graph, work)? == Progress::More {
                break;
            }
            let number = self.first + at as u32;
            for (end, distance) in search.answers(&ground.graph) {
                let mut waiting = self.waiting.lock();
                match (ground.traces(), ground.lists_ends()) {
                    (true, _) => waiting.path(number, end, search.path()),
                    (_, true) => waiting.list(number, distance, &Arc::new(vec![end])),
                    (_, false) => waiting.tally(number, distance, 1),
                }
            }
            (at, returns) = (at + 1, None);
        }
        if at == sources.len() {
            task.next_position();
        }
        *self.returns.lock() = (at, returns);
        Ok(())
    }

    fn hand_in<A: Adjacency>(&self, ground: &Ground<A>, task: &Task, own: &mut Own) {
        let found = own.found.take();
        if let Form::Single(single) = &self.form {
            single.note(ground, &task.stage, &found);
            if single.asks_edges(ground, &task.stage) {
                own.edges = found.iter().map(|vertex| u64::from(ground.graph.degree(*vertex))).sum();
            }
        }
        let part = Part { found, edges: std::mem::take(&mut own.edges), tallies: own.tallies.take() };
        if !part.found.is_empty() || part.edges > 0 || !part.tallies.is_empty() {
            self.handed_in.lock().push(part);
        }
    }

    /// The stage is over: the next one, for all or for the worker that is here.
    fn advance<A: Adjacency>(
        &self,
        ground: &Ground<A>,
        policy: &DispatchPolicy,
        stage: &Stage,
        worker: usize,
    ) {
        let parts = std::mem::take(&mut *self.handed_in.lock());
        match stage.kind {
            Kind::Expand => ground.above.fetch_add(1, Ordering::Relaxed),
            Kind::Gather => ground.below.fetch_add(1, Ordering::Relaxed),
            Kind::Return | Kind::Settle | Kind::Trace => 0,
        };
        let mut waiting = self.waiting.lock();
        let next = match &self.form {
            _ if stage.kind == Kind::Trace => stage.traced(),
            Form::Single(single) => single.next(ground, stage, parts, &mut waiting),
            Form::Few(lanes) => lanes.next(ground, stage, parts, &mut waiting),
            Form::Lanes(lanes) => lanes.next(ground, stage, parts, &mut waiting),
        };
        drop(waiting);
        let next = next.map(|stage| stage.cut(policy, worker, ground.has_idle()));
        let next = next.map(Arc::new);
        *self.stage.write() = next;
    }

    pub(super) fn bytes(&self) -> usize {
        let form = match &self.form {
            Form::Single(single) => single.bytes(),
            Form::Few(lanes) => lanes.bytes(),
            Form::Lanes(lanes) => lanes.bytes(),
        };
        let stage =
            self.stage.read().as_ref().map_or(0, |stage| (stage.list.capacity() + stage.old.capacity()) * 4);
        let parts: usize = self.handed_in.lock().iter().map(|part| part.found.capacity() * 4).sum();
        let returns = self.returns.lock().1.as_ref().map_or(0, Returns::bytes);
        form + stage + parts + returns + self.waiting.lock().bytes()
    }
}
