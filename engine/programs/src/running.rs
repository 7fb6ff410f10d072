//! A run of a program, shared by all its workers: first its start, then round after round, then the end.
//!
//! Idea: a round is cut into batches that workers draw; within a batch they call the program with as many vertices as have [`CALL_EDGES_MAX`] edges.
//! The worker that finishes the last batch delivers the messages, or has all workers deliver them by parts. No worker waits: one that finds nothing
//! to draw gets [`WorkerTurn::Idle`]. Invariant: batches and calls are cut by the graph alone, so each call gets the same input whichever workers
//! run. No lock is held while the program runs.
//! Cost: a short lock for each call to take states out and to put them back, and one for each batch.

use crate::inbox::{Cut, Delivered, MessageRange, Messages};
use crate::limits::{
    BATCH_VERTICES_MAX, CALL_EDGES_MAX, DELIVERED_ALONE_MAX, END_PAGES_MAX, ROUNDS_MAX, SPARE_MESSAGES_MAX,
    STARTS_MAX,
};
use crate::program::{Batch, Everywhere, NodeProgram, Outbox, ProgramGraph, Reads};
use crate::row_log::RowLog;
use crate::states::States;
use crate::vertex_values::{TypedValues, VertexValues};
use dataflow::Failure;
use model::{ChunkNo, Column, ColumnBuilder, Nulls, Value, VertexId};
use parking_lot::{Mutex, RwLock};
use procedures::settings::wrong;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use store::{LabelFilter, Snapshot};

/// The result of a worker's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerTurn {
    /// There is more to do.
    More,
    /// Nothing to draw at the moment: others hold the rest.
    Idle,
    /// No more rows come of it for this worker.
    Done,
}

/// Rows on their way out: those of the two columns that are read.
pub struct ProgramRows {
    keeps_nodes: bool,
    keeps_values: bool,
    nodes: Vec<VertexId>,
    values: ColumnBuilder,
    count: usize,
}

impl ProgramRows {
    /// For an answer of which these columns are read.
    pub fn new(keeps_nodes: bool, keeps_values: bool) -> ProgramRows {
        ProgramRows { keeps_nodes, keeps_values, nodes: Vec::new(), values: ColumnBuilder::new(), count: 0 }
    }
    /// Rows so far.
    pub fn count(&self) -> usize {
        self.count
    }
    /// Takes all rows out: the columns, of which those that are not read are empty.
    pub fn take(&mut self) -> [Column; 2] {
        self.count = 0;
        let nodes = Column::Vertex(std::mem::take(&mut self.nodes), Nulls::none());
        [nodes, std::mem::take(&mut self.values).finish()]
    }
    /// More rows: those of a range, whose values go.
    fn take_from(&mut self, rows: &mut VertexValues, range: Range<usize>) {
        self.extend_nodes(rows, range.clone());
        match &mut rows.values {
            _ if !self.keeps_values => {}
            TypedValues::Any(values) => {
                values[range].iter_mut().for_each(|value| self.values.push(std::mem::take(value)));
            }
            _ => rows.build(range, &mut self.values),
        }
    }
    fn extend_nodes(&mut self, rows: &VertexValues, range: Range<usize>) {
        self.count += range.len();
        if self.keeps_nodes {
            let vertices = rows.vertices[range].iter();
            self.nodes.extend(vertices.map(|vertex| VertexId::from_dense(*vertex)));
        }
    }
    /// More rows: those of a range.
    pub fn extend(&mut self, rows: &VertexValues, range: Range<usize>) {
        self.extend_nodes(rows, range.clone());
        if self.keeps_values {
            rows.build(range, &mut self.values);
        }
    }
}

/// The vertices where it begins, while they are listed.
struct StartList {
    chunks: Vec<ChunkNo>,
    filter: LabelFilter,
    next: usize,
    scanned: Vec<VertexId>,
    found: Vec<u32>,
}

/// A piece of a round: vertices of one part.
struct RoundSlice {
    part: usize,
    from: usize,
    to: usize,
}

/// Work that is drawn piece by piece, and how much of it is not finished.
struct Draws {
    next: AtomicUsize,
    left: AtomicUsize,
    count: usize,
}

impl Draws {
    fn new(count: usize) -> Draws {
        Draws { next: AtomicUsize::new(0), left: AtomicUsize::new(count), count }
    }
    fn draw(&self) -> Option<usize> {
        if self.next.load(Relaxed) >= self.count {
            return None;
        }
        Some(self.next.fetch_add(1, SeqCst)).filter(|at| *at < self.count)
    }
    /// One more is finished: was it the last?
    fn finish(&self) -> bool {
        let left = self.left.fetch_sub(1, SeqCst);
        debug_assert!(left > 0, "no piece is finished twice");
        left == 1
    }
}

struct VisitRound {
    number: u32,
    parts: Vec<Delivered>,
    pieces: Vec<RoundSlice>,
    draws: Draws,
    /// Messages of each piece, by part of their targets.
    sent: Mutex<Vec<Vec<Messages>>>,
    /// Bytes of the messages that it delivers, and of those that are sent.
    delivered_bytes: usize,
    sent_bytes: AtomicUsize,
}

impl VisitRound {
    fn new(number: u32, parts: Vec<Delivered>, heap_bytes: usize, slice: usize) -> VisitRound {
        let mut pieces = Vec::new();
        for (part, vertices) in parts.iter().map(|part| part.vertices.len()).enumerate() {
            debug_assert!(slice > 0, "a slice has vertices");
            let starts = (0..vertices).step_by(slice);
            let piece = |from| RoundSlice { part, from, to: vertices.min(from + slice) };
            pieces.extend(starts.map(piece));
        }
        let sent = Mutex::new(pieces.iter().map(|_| Vec::new()).collect());
        let draws = Draws::new(pieces.len());
        let delivered_bytes = heap_bytes + parts.iter().map(Delivered::bytes).sum::<usize>();
        VisitRound { number, parts, pieces, draws, sent, delivered_bytes, sent_bytes: AtomicUsize::new(0) }
    }
}

/// Messages on their way into the next round.
struct Delivery {
    round: u32,
    /// Of each part, those of each piece.
    parts: Vec<Mutex<Vec<Messages>>>,
    delivered: Mutex<Vec<Delivered>>,
    draws: Draws,
    bytes: usize,
    heap_bytes: usize,
}

struct EndRound {
    round: u32,
    pages: Vec<u32>,
    draws: Draws,
}

#[derive(Clone)]
enum RunPhase {
    Starts(Arc<Mutex<StartList>>),
    Visits(Arc<VisitRound>),
    Deliver(Arc<Delivery>),
    End(Arc<EndRound>),
    Over,
}

/// A piece that a worker has begun.
struct Task {
    round: Arc<VisitRound>,
    piece: usize,
    at: usize,
    out: Outbox,
}

/// The state of one worker between turns.
#[derive(Default)]
pub struct ProgramWorker {
    task: Option<Task>,
    states: Vec<Value>,
    rows: RowQueue,
    /// Empty, with the capacity of the last task's: the outputs of a slice.
    spare_messages: Messages,
    spare_rows: VertexValues,
}

/// Rows on their way from a program to the output.
#[derive(Default)]
struct RowQueue {
    rows: VertexValues,
    /// Those before it are gone.
    next: usize,
}

impl RowQueue {
    fn is_empty(&self) -> bool {
        self.next == self.rows.len()
    }
    /// Adds these; they are moved only where others wait.
    fn add(&mut self, rows: &mut VertexValues) {
        if self.is_empty() {
            self.clear();
            std::mem::swap(&mut self.rows, rows);
        } else {
            self.rows.extend(rows);
            rows.clear();
        }
    }
    fn clear(&mut self) {
        self.rows.clear();
        self.next = 0;
    }
    /// Bytes of all entries: more than the added bytes, where values were converted.
    fn bytes(&self) -> usize {
        self.rows.bytes(self.next..self.rows.len())
    }
    /// Takes out up to `count`: their range, and their bytes.
    fn take(&mut self, count: usize) -> (Range<usize>, usize) {
        let from = self.next;
        self.next = self.rows.len().min(from.saturating_add(count));
        (from..self.next, self.rows.bytes(from..self.next))
    }
}

/// A program at work: see the module's head.
pub struct ProgramRun {
    program: Arc<dyn NodeProgram>,
    graph: ProgramGraph,
    cut: Cut,
    phase: RwLock<RunPhase>,
    states: Mutex<States>,
    /// Bytes of rows that workers hold.
    row_bytes: AtomicUsize,
    /// Bytes of the scratches of workers.
    scratch_bytes: AtomicUsize,
    edges: AtomicU64,
    is_enough: AtomicBool,
    log: Option<Arc<RowLog>>,
}

impl ProgramRun {
    /// A run of the program over this snapshot from `start`: a node, a list of nodes, or null for wherever the program begins by itself.
    ///
    /// # Errors
    /// The start is none, or not there.
    pub fn new(
        program: Arc<dyn NodeProgram>,
        start: &Value,
        snapshot: &Snapshot,
        reads: Option<Arc<dyn Reads>>,
    ) -> Result<ProgramRun, Failure> {
        let graph = ProgramGraph::new(snapshot, program.edges(), reads);
        let phase = match starts(&*program, start, &graph)? {
            Ok(vertices) => RunPhase::Visits(Arc::new(VisitRound::new(
                0,
                vec![Delivered::starting(vertices)],
                0,
                program.slice_vertices(),
            ))),
            Err(filter) => {
                graph.read_scan(&filter);
                let chunks = snapshot.scan_chunks(&filter);
                let list = StartList { chunks, filter, next: 0, scanned: Vec::new(), found: Vec::new() };
                RunPhase::Starts(Arc::new(Mutex::new(list)))
            }
        };
        let cut = Cut::new(snapshot.vertex_bound());
        let running = ProgramRun {
            program,
            graph,
            cut,
            phase: RwLock::new(phase),
            states: Mutex::default(),
            row_bytes: AtomicUsize::new(0),
            scratch_bytes: AtomicUsize::new(0),
            edges: AtomicU64::new(0),
            is_enough: AtomicBool::new(false),
            log: None,
        };
        running.skip_empty_round();
        Ok(running)
    }

    /// The same, with all its rows entered into a log before the end of the run is reported to a worker.
    #[must_use]
    pub fn logging(self, log: Option<Arc<RowLog>>) -> ProgramRun {
        ProgramRun { log, ..self }
    }

    /// One piece of work, and all rows of it: for one worker alone.
    ///
    /// # Errors
    /// The program fails, or the graph cannot be read.
    pub fn step_alone(
        &self,
        helper: &mut ProgramWorker,
        found: &mut Vec<(VertexId, Value)>,
    ) -> Result<WorkerTurn, Failure> {
        let turn = self.advance(helper)?;
        let (range, bytes) = helper.rows.take(usize::MAX);
        found.extend(range.map(|at| helper.rows.rows.get(at)));
        helper.rows.clear();
        self.row_bytes.fetch_sub(bytes, Relaxed);
        Ok(turn)
    }

    /// One piece of work, or up to `room` rows of one that was done.
    ///
    /// # Errors
    /// The program fails, or the graph cannot be read.
    pub fn step(
        &self,
        helper: &mut ProgramWorker,
        room: usize,
        output: &mut ProgramRows,
    ) -> Result<WorkerTurn, Failure> {
        let turn = if helper.rows.is_empty() { self.advance(helper)? } else { WorkerTurn::More };
        self.hand_out(helper, room, output);
        Ok(turn)
    }

    fn advance(&self, helper: &mut ProgramWorker) -> Result<WorkerTurn, Failure> {
        if helper.task.is_some() {
            self.call(helper)?;
            return Ok(WorkerTurn::More);
        }
        let phase = self.phase.read().clone();
        let is_drawn = match &phase {
            RunPhase::Starts(list) => self.list(list)?,
            RunPhase::Visits(round) => self.draw(round, helper)?,
            RunPhase::Deliver(delivery) => self.deliver(delivery),
            RunPhase::End(ending) => self.end(ending, helper)?,
            RunPhase::Over => return Ok(WorkerTurn::Done),
        };
        Ok(if is_drawn { WorkerTurn::More } else { WorkerTurn::Idle })
    }

    /// Edges at the vertices that were visited so far, by all.
    pub fn edges_visited(&self) -> u64 {
        self.edges.load(Relaxed)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let messages = match &*self.phase.read() {
            RunPhase::Starts(list) => list.try_lock().map_or(0, |list| list.found.capacity() * 4),
            RunPhase::Visits(round) => round.delivered_bytes + round.sent_bytes.load(Relaxed),
            // Once as they were sent, and once as they are delivered.
            RunPhase::Deliver(delivery) => 2 * delivery.bytes,
            RunPhase::End(_) | RunPhase::Over => 0,
        };
        messages
            + self.states.lock().bytes()
            + self.row_bytes.load(Relaxed)
            + self.scratch_bytes.load(Relaxed)
            + self.log.as_ref().map_or(0, |log| log.bytes())
    }

    fn hand_out(&self, helper: &mut ProgramWorker, room: usize, output: &mut ProgramRows) {
        let (range, bytes) = helper.rows.take(room.max(1));
        output.take_from(&mut helper.rows.rows, range);
        self.row_bytes.fetch_sub(bytes, Relaxed);
    }

    fn keep_rows(&self, helper: &mut ProgramWorker, rows: &mut VertexValues) {
        if let Some(log) = &self.log {
            log.enter(rows);
        }
        let before = helper.rows.bytes();
        helper.rows.add(rows);
        self.row_bytes.fetch_add(helper.rows.bytes() - before, Relaxed);
    }

    /// Lists one chunk of the vertices where it begins; false where another does.
    fn list(&self, list: &Arc<Mutex<StartList>>) -> Result<bool, Failure> {
        let Some(mut held) = list.try_lock() else { return Ok(false) };
        let StartList { chunks, filter, next, scanned, found } = &mut *held;
        if let Some(chunk) = chunks.get(*next) {
            *next += 1;
            scanned.clear();
            self.graph.snapshot().scan_chunk(*chunk, filter, scanned)?;
            found.extend(scanned.iter().map(|vertex| vertex.dense()));
            return Ok(true);
        }
        let is_over = !matches!(&*self.phase.read(), RunPhase::Starts(_));
        if !is_over {
            let first = Delivered::starting(std::mem::take(found));
            *self.phase.write() =
                RunPhase::Visits(Arc::new(VisitRound::new(0, vec![first], 0, self.program.slice_vertices())));
            self.skip_empty_round();
        }
        Ok(true)
    }

    /// A round without visits is over at once.
    fn skip_empty_round(&self) {
        let phase = self.phase.read().clone();
        if let RunPhase::Visits(round) = phase
            && round.pieces.is_empty()
        {
            self.begin_end(round.number);
        }
    }

    fn draw(&self, round: &Arc<VisitRound>, helper: &mut ProgramWorker) -> Result<bool, Failure> {
        let Some(piece) = round.draws.draw() else { return Ok(false) };
        let at = round.pieces[piece].from;
        let messages = std::mem::take(&mut helper.spare_messages);
        let rows = std::mem::take(&mut helper.spare_rows);
        let out = Outbox { messages, rows, ..Outbox::default() };
        helper.task = Some(Task { round: round.clone(), piece, at, out });
        self.call(helper)?;
        Ok(true)
    }

    /// Calls the program with the next vertices of the piece that was begun.
    fn call(&self, helper: &mut ProgramWorker) -> Result<(), Failure> {
        let Some(mut task) = helper.task.take() else { return Ok(()) };
        let round = task.round.clone();
        let RoundSlice { part, to, .. } = round.pieces[task.piece];
        let delivered = &round.parts[part];
        let end = self.call_end(&delivered.vertices[task.at..to])? + task.at;
        let called = &delivered.vertices[task.at..end];
        self.states.lock().take(called, &mut helper.states);
        let (before, scratch) = (task.out.message_bytes(), task.out.scratch_bytes);
        let mut batch = Batch {
            round: round.number,
            graph: &self.graph,
            out: &mut task.out,
            vertices: called,
            messages: delivered.range(task.at, end),
            states: &mut helper.states,
        };
        self.program.visit(&mut batch)?;
        self.states.lock().put(called, &mut helper.states);
        round.sent_bytes.fetch_add(task.out.message_bytes() - before, Relaxed);
        self.scratch_bytes.fetch_add(task.out.scratch_bytes, Relaxed);
        self.scratch_bytes.fetch_sub(scratch, Relaxed);
        self.keep_rows(helper, &mut task.out.rows);
        task.at = end;
        if end < to {
            helper.task = Some(task);
            return Ok(());
        }
        self.scratch_bytes.fetch_sub(task.out.scratch_bytes, Relaxed);
        self.is_enough.fetch_or(task.out.is_enough, Relaxed);
        let cut = self.cut.cut(&mut task.out.messages);
        if task.out.messages.capacity().max(task.out.rows.capacity()) <= SPARE_MESSAGES_MAX {
            (helper.spare_messages, helper.spare_rows) = (task.out.messages, task.out.rows);
        }
        round.sent.lock()[task.piece] = cut;
        if round.draws.finish() { self.finish(&round) } else { Ok(()) }
    }

    /// How many of these vertices one call gets.
    fn call_end(&self, vertices: &[u32]) -> Result<usize, Failure> {
        let called = &vertices[..vertices.len().min(BATCH_VERTICES_MAX)];
        let (mut edges, is_told) = (0, self.program.remembers_calls());
        for (at, vertex) in called.iter().enumerate() {
            let degree = if is_told { self.graph.degree(*vertex) } else { self.graph.weight(*vertex) };
            let more = u64::from(degree?);
            if at > 0 && edges + more > CALL_EDGES_MAX {
                self.edges.fetch_add(edges, Relaxed);
                return Ok(at);
            }
            edges += more;
        }
        self.edges.fetch_add(edges, Relaxed);
        Ok(called.len())
    }

    /// The last piece of a round is done.
    fn finish(&self, round: &VisitRound) -> Result<(), Failure> {
        let sent = std::mem::take(&mut *round.sent.lock());
        let count: usize = sent.iter().flatten().map(Messages::len).sum();
        if count == 0 || self.is_enough.load(Relaxed) {
            self.begin_end(round.number + 1);
            return Ok(());
        }
        if round.number + 1 >= ROUNDS_MAX {
            let message = format!(
                "the program does not end: after {ROUNDS_MAX} rounds there are still messages; it has to stop sending them"
            );
            return Err(wrong(message).into());
        }
        let bytes = round.sent_bytes.load(Relaxed);
        let inline_bytes = sent.iter().flatten().map(Messages::inline_bytes).sum();
        let heap_bytes = bytes.saturating_sub(inline_bytes);
        let mut parts: Vec<Vec<Messages>> = (0..self.cut.parts()).map(|_| Vec::new()).collect();
        for piece in sent {
            parts.iter_mut().zip(piece).for_each(|(part, messages)| part.push(messages));
        }
        if count <= DELIVERED_ALONE_MAX {
            let combine = self.program.combine();
            let deliver = |(at, part)| Delivered::deliver(part, combine, self.cut.range(at));
            let parts = parts.into_iter().enumerate().map(deliver);
            let parts = parts.filter(|part| !part.vertices.is_empty()).collect();
            let next = VisitRound::new(round.number + 1, parts, heap_bytes, self.program.slice_vertices());
            *self.phase.write() = RunPhase::Visits(Arc::new(next));
            return Ok(());
        }
        let draws = Draws::new(parts.len());
        let delivered = Mutex::new(parts.iter().map(|_| Delivered::default()).collect());
        let parts = parts.into_iter().map(Mutex::new).collect();
        let round = round.number + 1;
        let delivery = Delivery { round, parts, delivered, draws, bytes, heap_bytes };
        *self.phase.write() = RunPhase::Deliver(Arc::new(delivery));
        Ok(())
    }

    /// Delivers one part.
    fn deliver(&self, delivery: &Delivery) -> bool {
        let Some(at) = delivery.draws.draw() else { return false };
        let sent = std::mem::take(&mut *delivery.parts[at].lock());
        let part = Delivered::deliver(sent, self.program.combine(), self.cut.range(at));
        delivery.delivered.lock()[at] = part;
        if delivery.draws.finish() {
            let parts = std::mem::take(&mut *delivery.delivered.lock());
            let parts = parts.into_iter().filter(|part| !part.vertices.is_empty()).collect();
            let next =
                VisitRound::new(delivery.round, parts, delivery.heap_bytes, self.program.slice_vertices());
            *self.phase.write() = RunPhase::Visits(Arc::new(next));
        }
        true
    }

    fn begin_end(&self, round: u32) {
        let pages = if self.program.ends() { self.states.lock().pages() } else { Vec::new() };
        let slices = pages.len().div_ceil(END_PAGES_MAX);
        let next = match slices {
            0 => RunPhase::Over,
            _ => RunPhase::End(Arc::new(EndRound { round, pages, draws: Draws::new(slices) })),
        };
        if matches!(next, RunPhase::Over) {
            *self.states.lock() = States::default();
        }
        *self.phase.write() = next;
    }

    /// The end at the vertices of some pages.
    fn end(&self, ending: &EndRound, helper: &mut ProgramWorker) -> Result<bool, Failure> {
        let Some(slice) = ending.draws.draw() else { return Ok(false) };
        let mut out = Outbox::default();
        for page in ending.pages.iter().skip(slice * END_PAGES_MAX).take(END_PAGES_MAX) {
            let vertices = self.states.lock().vertices(*page);
            self.states.lock().take(&vertices, &mut helper.states);
            let mut batch = Batch {
                round: ending.round,
                graph: &self.graph,
                out: &mut out,
                vertices: &vertices,
                messages: MessageRange::NONE,
                states: &mut helper.states,
            };
            self.program.end(&mut batch)?;
            helper.states.clear();
            self.keep_rows(helper, &mut out.rows);
        }
        if ending.draws.finish() {
            *self.phase.write() = RunPhase::Over;
        }
        Ok(true)
    }
}

/// The vertices where a run begins, or those that it begins at by itself.
fn starts(
    program: &dyn NodeProgram,
    start: &Value,
    graph: &ProgramGraph,
) -> Result<Result<Vec<u32>, LabelFilter>, Failure> {
    let vertices = match start {
        Value::Null => {
            return match program.everywhere() {
                Everywhere::Passing(filter) => Ok(Err(filter)),
                Everywhere::Nowhere => {
                    Err(wrong("this program begins where it is told: its start is a node or a list of nodes")
                        .into())
                }
            };
        }
        _ if !program.begins_at_some() => {
            return Err(wrong("this program begins at all nodes: its start is null").into());
        }
        Value::List(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    if vertices.len() > STARTS_MAX {
        return Err(
            wrong(format!("a program begins at {STARTS_MAX} nodes at most; null stands for all")).into()
        );
    }
    let mut found = Vec::with_capacity(vertices.len());
    for vertex in vertices {
        let Value::Vertex(vertex) = vertex else {
            let message = "the start of a program is a node, a list of nodes, or null";
            return Err(wrong(message).into());
        };
        let is_there = vertex.schema_label().is_none() && vertex.0 < u64::from(graph.vertex_bound());
        if !is_there || !graph.exists(vertex.dense())? {
            return Err(wrong("the start of a program is a node that is there").into());
        }
        found.push(vertex.dense());
    }
    Ok(Ok(found))
}
