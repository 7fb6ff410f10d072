//! ScanVertices: every vertex that satisfies a label condition.
//!
//! At a leaf all executors draw chunks from one dispatcher until it is empty, so the scan balances itself. With an input it runs for each row: a
//! nested loop, which the planner uses only where one side is small.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::demand::DemandPort;
use crate::fetch::fetches_chunks;
use crate::labels;
use crate::limits::SCAN_CHUNKS_ALONE_MAX;
use crate::rows::Rows;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, FanOut, Progress, Try, Turn};
use dataflow::{Context, Flow, Operator, Outcome, VertexOptions};
use expression::Layout;
use model::{Batch, ChunkNo, Column, Nulls, VertexId};
use plan::LabelExpr;
use plan::VarSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use store::LabelFilter;

/// The chunks of one scan, drawn one by one by all executors.
#[derive(Default)]
struct Dispatcher {
    chunks: OnceLock<(LabelFilter, Vec<ChunkNo>)>,
    next: AtomicUsize,
}

struct ScanLeaf {
    labels: LabelExpr,
    keep: bool,
    dispatcher: Arc<Dispatcher>,
    execution: ExecutionContext,
    demand: DemandPort,
    started: bool,
    /// Invites peers once it is likely that there is work for them.
    invites: bool,
    found: Vec<VertexId>,
    sent: usize,
    /// Drawn, and on its way from another machine.
    awaited: Option<ChunkNo>,
}

impl ScanLeaf {
    fn start(&mut self, context: &mut Context<'_, Rows>) {
        self.started = true;
        let snapshot = self.execution.snapshot();
        // Before the cell, for which peers wait: it may read the graph, and so pause.
        let catalog = snapshot.catalog();
        let (filter, chunks) = self.dispatcher.chunks.get_or_init(|| {
            let filter = labels::filter(&self.labels, catalog);
            let chunks = snapshot.scan_chunks(&filter);
            (filter, chunks)
        });
        if context.is_home() {
            self.execution
                .environment
                .record(|reads| labels::scanned(filter).into_iter().for_each(|label| reads.scan(label)));
            self.invites = chunks.len() > SCAN_CHUNKS_ALONE_MAX;
        }
    }
    /// Draws the next chunk, and scans it unless it has to come from another machine first.
    fn draw(&mut self, context: &mut Context<'_, Rows>) -> Try<Progress> {
        let (filter, chunks) = self.dispatcher.chunks.get().expect("set before the first draw");
        let chunk = match self.awaited.take() {
            Some(chunk) => chunk,
            None => match chunks.get(self.dispatcher.next.fetch_add(1, Ordering::Relaxed)) {
                None => return Ok(Progress::Done),
                Some(chunk) if fetches_chunks(self.execution.snapshot(), [*chunk], context) => {
                    self.awaited = Some(*chunk);
                    return Ok(Progress::Waiting);
                }
                Some(chunk) => *chunk,
            },
        };
        self.found.clear();
        self.sent = 0;
        self.execution.snapshot().scan_chunk(chunk, filter, &mut self.found)?;
        Ok(Progress::More)
    }
    /// Emits some of the results; returns whether the consumer should be asked before there is more.
    fn send(&mut self, context: &mut Context<'_, Rows>) -> bool {
        let batch_rows = self.execution.environment.batch_rows;
        let end = self.found.len().min(self.sent + self.demand.piece(0, batch_rows));
        let vertices = &self.found[self.sent..end];
        let columns =
            if self.keep { vec![Column::Vertex(vertices.to_vec(), Nulls::none())] } else { Vec::new() };
        context.send(Rows(Batch::new(columns, vertices.len())));
        self.demand.made_all(end - self.sent);
        self.sent = end;
        self.demand.handed_on(batch_rows)
    }
}

impl Operator<Rows> for ScanLeaf {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        if !self.started {
            self.start(context);
        }
        loop {
            if self.invites && !self.demand.is_eager(self.execution.environment.batch_rows) {
                self.invites = false;
                context.invite_peers();
            }
            let mut asks = false;
            if self.demand.is_over() {
                return Ok(Flow::Ready);
            } else if self.sent < self.found.len() {
                asks = self.send(context);
            } else {
                match self.draw(context)? {
                    Progress::Done => return Ok(Flow::Ready),
                    Progress::Waiting => return Ok(Flow::Waiting),
                    Progress::More => {}
                }
            }
            if asks || context.should_yield() {
                return Ok(Flow::Again);
            }
        }
    }
}

/// The scan for each row: walks all chunks anew for every input row, keeping the last one it read.
struct ScanEach {
    labels: LabelExpr,
    keep: bool,
    filter: LabelFilter,
    chunks: Option<Vec<ChunkNo>>,
    /// Which chunk `found` holds.
    loaded: Option<usize>,
    found: Vec<VertexId>,
    row: usize,
    chunk: usize,
    place: usize,
    vertices: Vec<VertexId>,
}

impl FanOut for ScanEach {
    fn begin(&mut self, _: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        (self.row, self.chunk, self.place) = (0, 0, 0);
        if self.chunks.is_none() {
            let snapshot = execution.snapshot().clone();
            self.filter = labels::filter(&self.labels, snapshot.catalog());
            self.chunks = Some(snapshot.scan_chunks(&self.filter));
            execution.environment.record(|reads| {
                labels::scanned(&self.filter).into_iter().for_each(|label| reads.scan(label))
            });
        }
        Ok(())
    }
    fn fill(
        &mut self,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        let chunks = self.chunks.as_ref().expect("a batch was begun");
        while self.row < batch.len() {
            let wanted = turn.wanted(batch, self.row);
            if self.chunk == chunks.len() || wanted == 0 {
                (self.row, self.chunk, self.place) = (self.row + 1, 0, 0);
                continue;
            }
            if self.loaded != Some(self.chunk) {
                self.found.clear();
                turn.execution.snapshot().scan_chunk(chunks[self.chunk], &self.filter, &mut self.found)?;
                self.loaded = Some(self.chunk);
            }
            let room = wanted.min(rows_max.saturating_sub(rows.len()));
            let end = self.found.len().min(self.place.saturating_add(room));
            let is_enough = turn.made(batch, self.row, end - self.place);
            rows.extend(std::iter::repeat_n(self.row as u32, end - self.place));
            if self.keep {
                self.vertices.extend_from_slice(&self.found[self.place..end]);
            }
            self.place = end;
            if end == self.found.len() {
                (self.chunk, self.place) = (self.chunk + 1, 0);
            }
            if rows.len() >= rows_max || (turn.takes_turns() && !is_enough) {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }
    fn columns(&mut self) -> Vec<Column> {
        let vertices = std::mem::take(&mut self.vertices);
        if self.keep { vec![Column::Vertex(vertices, Nulls::none())] } else { Vec::new() }
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::ScanVertices,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let keep = required.contains(node.vertex);
    let new: Vec<_> = keep.then_some(node.vertex).into_iter().collect();
    let labels = node.labels.clone();
    if let Feed::Rows(_) = feed {
        let make = move || ScanEach {
            labels: labels.clone(),
            keep,
            filter: LabelFilter::Any,
            chunks: None,
            loaded: None,
            found: Vec::new(),
            row: 0,
            chunk: 0,
            place: 0,
            vertices: Vec::new(),
        };
        return Ok(compiler.attach_fan_out("ScanVertices", &feed, required, &new, make));
    }
    compiler.scans(&labels);
    let dispatcher = Arc::new(Dispatcher::default());
    compiler.for_this_run_only();
    let (environment, demand) = (compiler.environment.clone(), compiler.demand_port(&Layout::default()));
    let vertex = compiler.vertex("ScanVertices", VertexOptions::source(), move || ScanLeaf {
        labels: labels.clone(),
        keep,
        dispatcher: dispatcher.clone(),
        execution: ExecutionContext::new(&environment),
        demand: demand.clone(),
        started: false,
        invites: false,
        found: Vec::new(),
        sent: 0,
        awaited: None,
    });
    let layout = Layout::new(&new);
    Ok(Stream { vertex, output: 0, layout, parallel: true, ordered: false, fans_out: false })
}
