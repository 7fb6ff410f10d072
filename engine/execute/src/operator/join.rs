//! Join: pairs of rows that agree on some columns (a hash join); all pairs where there are none.
//!
//! The build side comes first, on whatever executors it comes to, into one place that the twins share; the first probes put it
//! together into one batch with a table from hash to row, once, in slices, one twin at a time. A pair then costs two row numbers: output
//! columns are the two sides' own, each behind a row map. Keys are compared as `=` does: null and NaN join with nothing.
//!
//! In a sub-query a build side that is made once stands outside of the scope: its rows come to a [`Collecting`] vertex, and the probes of
//! all instances wait for its end.

use crate::ExecuteError;
use crate::columns::Gathering;
use crate::compile::Compiler;
use crate::demand::DemandPort;
use crate::rows::Rows;
use crate::stream::Stream;
use dataflow::{Context, Flow, Operator, Outcome, VertexOptions};
use expression::{Layout, hash_columns};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::batch::Carried;
use model::compare::equals;
use model::{Batch, Column, Value};
use parking_lot::Mutex;
use plan::VarSet;
use plan::physical::Algorithm;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

struct Joining {
    /// The build side stands outside of the scope.
    once: bool,
    build_on: Vec<usize>,
    probe_on: Vec<usize>,
    build_width: usize,
    build_carry: Vec<usize>,
    probe_carry: Vec<usize>,
    batch_rows: usize,
}

/// No further row of this hash.
const END: u32 = u32::MAX;

/// The build side, put together.
struct Table {
    rows: Batch,
    keys: Vec<Carried>,
    /// First row of a hash; hashes are spread well enough to be keys themselves.
    heads: HashMap<u64, u32, FixedState>,
    /// Next row of the same hash.
    next: Vec<u32>,
}

/// Rows linked into the table between two looks at the clock.
const ROWS_LINKED_PER_LOOK: usize = 2_048;

/// Candidates that are compared between two looks at the clock.
const CANDIDATES_PER_LOOK: usize = 8_192;

/// The table in the making: batches are moved into one, then their rows are linked. Any twin may go on with it.
struct Building {
    waiting: VecDeque<Batch>,
    gathering: Gathering,
    hashes: Vec<u64>,
    batch_hashes: Vec<u64>,
    /// Rows of the build side, once they are one batch; and how many of them are still to be linked.
    table: Option<Table>,
    unlinked: usize,
}

impl Building {
    fn new(plan: &Joining, batches: Vec<Batch>) -> Building {
        let rows = batches.iter().map(Batch::len).sum();
        Building {
            waiting: batches.into(),
            gathering: Gathering::new(plan.build_width, rows),
            hashes: Vec::with_capacity(if plan.build_on.is_empty() { 0 } else { rows }),
            batch_hashes: Vec::new(),
            table: None,
            unlinked: rows,
        }
    }
    /// A slice of the work: done?
    fn step(&mut self, plan: &Joining) -> bool {
        if let Some(batch) = self.waiting.pop_front() {
            self.gathering.append(&batch);
            if !plan.build_on.is_empty() {
                let keys: Vec<Carried> = plan.build_on.iter().map(|at| batch.column(*at).clone()).collect();
                hash_columns(&keys, batch.len(), &mut self.batch_hashes);
                self.hashes.append(&mut self.batch_hashes);
            }
            return false;
        }
        let Some(table) = &mut self.table else {
            let gathering = std::mem::replace(&mut self.gathering, Gathering::new(0, 0));
            self.table = Some(Table::unlinked(plan, gathering.finish()));
            return false;
        };
        if table.keys.is_empty() {
            return true;
        }
        // From the back, so that rows of one hash are met in their order.
        let start = self.unlinked.saturating_sub(ROWS_LINKED_PER_LOOK);
        (start..self.unlinked).rev().for_each(|row| table.link(row, self.hashes[row]));
        self.unlinked = start;
        start == 0
    }
}

impl Table {
    fn unlinked(plan: &Joining, rows: Batch) -> Table {
        let keys: Vec<Carried> = plan.build_on.iter().map(|at| rows.column(*at).clone()).collect();
        let len = if keys.is_empty() { 0 } else { rows.len() };
        let heads = HashMap::with_capacity_and_hasher(len, FixedState::default());
        Table { keys, heads, next: vec![END; len], rows }
    }
    fn link(&mut self, row: usize, hash: u64) {
        if self.keys.iter().any(|key| joins_nothing(key, row)) {
            return;
        }
        let head = self.heads.entry(hash).or_insert(END);
        self.next[row] = std::mem::replace(head, row as u32);
    }
}

/// Is this key null, or NaN, of which a column may be full?
fn joins_nothing(key: &Carried, row: usize) -> bool {
    match key.column() {
        Column::Float(floats, _) => key.is_null(row) || floats[key.at(row)].is_nan(),
        Column::Any(values) => match &values[key.at(row)] {
            Value::Null => true,
            Value::Float(float) => float.is_nan(),
            _ => false,
        },
        _ => key.is_null(row),
    }
}

/// Bytes of the table a build row costs beyond its columns: hash, head and link.
const TABLE_BYTES_PER_ROW: usize = 32;

/// The build side as the twins share it.
#[derive(Default)]
struct Built {
    batches: Mutex<Vec<Batch>>,
    building: Mutex<Option<Building>>,
    table: OnceLock<Table>,
    /// All its rows have come.
    complete: AtomicBool,
}

impl Built {
    fn take(&self, batch: Batch, context: &mut Context<'_, Rows>) -> Outcome {
        let batch = batch.flatten();
        context.charge(batch.bytes() + batch.len() * TABLE_BYTES_PER_ROW)?;
        self.batches.lock().push(batch);
        Ok(Flow::Ready)
    }
}

/// Takes in a build side that stands outside of the scope of its probes.
struct Collecting(Arc<Built>);

impl Operator<Rows> for Collecting {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.0.take(batch, context)
    }
    fn on_completion(&mut self, _: usize, _: &mut Context<'_, Rows>) -> Outcome {
        self.0.complete.store(true, Ordering::Release);
        Ok(Flow::Ready)
    }
}

/// The port on which a build side comes that is made for each instance, or outside of scopes.
const BUILD: usize = 0;

struct Join {
    plan: Arc<Joining>,
    built: Arc<Built>,
    probe: Option<Batch>,
    hashes: Vec<u64>,
    row: usize,
    /// Next build row of the current probe row; none: not looked up yet.
    at: Option<u32>,
    /// The demand for its rows.
    demand: DemandPort,
}

impl Join {
    /// Goes on with the table; `Ready` once it is there.
    fn table(&self, context: &Context<'_, Rows>) -> Flow {
        if self.built.table.get().is_some() {
            return Flow::Ready;
        }
        if self.plan.once && !self.built.complete.load(Ordering::Acquire) {
            return Flow::Waiting;
        }
        let Some(mut building) = self.built.building.try_lock() else { return Flow::Waiting };
        if self.built.table.get().is_some() {
            return Flow::Ready;
        }
        let work = building.get_or_insert_with(|| {
            Building::new(&self.plan, std::mem::take(&mut *self.built.batches.lock()))
        });
        while !work.step(&self.plan) {
            if context.should_yield() {
                return Flow::Again;
            }
        }
        if let Some(Building { table: Some(table), .. }) = building.take() {
            self.built.table.get_or_init(|| table);
        }
        Flow::Ready
    }
    fn begin(&mut self, batch: Batch) {
        let keys: Vec<Carried> = self.plan.probe_on.iter().map(|at| batch.column(*at).clone()).collect();
        hash_columns(&keys, batch.len(), &mut self.hashes);
        (self.row, self.at) = (0, None);
        self.probe = Some(batch);
    }
    /// Appends pairs until there are enough, or the batch is done, or it is time for a look at the clock.
    fn pairs(&mut self, probe: &Batch, table: &Table, probe_rows: &mut Vec<u32>, build_rows: &mut Vec<u32>) {
        let rows_max = self.demand.piece(0, self.plan.batch_rows);
        for _ in 0..CANDIDATES_PER_LOOK {
            if self.row == probe.len() || probe_rows.len() >= rows_max {
                return;
            }
            let at = match self.at {
                Some(at) => at,
                None if self.demand.wanted(probe, self.row) == 0 => END,
                None if table.keys.is_empty() => {
                    if table.rows.is_empty() {
                        END
                    } else {
                        0
                    }
                }
                None => table.heads.get(&self.hashes[self.row]).copied().unwrap_or(END),
            };
            if at == END {
                (self.row, self.at) = (self.row + 1, None);
                continue;
            }
            let on = self.plan.probe_on.iter().zip(&table.keys);
            if on
                .into_iter()
                .all(|(probe_at, build)| same(probe.column(*probe_at), self.row, build, at as usize))
            {
                probe_rows.push(self.row as u32);
                build_rows.push(at);
                if self.demand.made(probe, self.row, 1) {
                    (self.row, self.at) = (self.row + 1, None);
                    continue;
                }
            }
            self.at = Some(match table.keys.is_empty() {
                true if at as usize + 1 == table.rows.len() => END,
                true => at + 1,
                false => table.next[at as usize],
            });
        }
    }
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        let Some(probe) = self.probe.take() else { return Ok(Flow::Ready) };
        let flow = self.table(context);
        if flow != Flow::Ready {
            self.probe = Some(probe);
            return Ok(flow);
        }
        let built = self.built.clone();
        let table = built.table.get().expect("put together above");
        while self.row < probe.len() && !self.demand.is_over() {
            let (mut probe_rows, mut build_rows) = (Vec::new(), Vec::new());
            self.pairs(&probe, table, &mut probe_rows, &mut build_rows);
            let mut asks = false;
            if !probe_rows.is_empty() {
                context.send(Rows(self.output(&probe, table, probe_rows, build_rows)));
                asks = self.demand.handed_on(self.plan.batch_rows);
            }
            if (asks || context.should_yield()) && self.row < probe.len() {
                self.probe = Some(probe);
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
    fn output(&self, probe: &Batch, table: &Table, probe_rows: Vec<u32>, build_rows: Vec<u32>) -> Batch {
        let len = probe_rows.len();
        let left = probe.project(&self.plan.probe_carry);
        let mut output =
            if left.width() == 0 { Batch::new(Vec::new(), len) } else { left.select(probe_rows) };
        if !self.plan.build_carry.is_empty() {
            let right = table.rows.project(&self.plan.build_carry).select(build_rows);
            (0..right.width()).for_each(|at| output.push_carried(right.column(at).clone()));
        }
        output
    }
}

fn same(probe: &Carried, row: usize, build: &Carried, at: usize) -> bool {
    match (probe.column(), build.column()) {
        (Column::Vertex(a, _), Column::Vertex(b, _)) => a[probe.at(row)] == b[build.at(at)],
        (Column::Int(a, nulls), Column::Int(b, _)) => {
            !nulls.contains(probe.at(row)) && a[probe.at(row)] == b[build.at(at)]
        }
        (Column::Text(a, _), Column::Text(b, _)) => {
            !probe.is_null(row) && a.get(probe.at(row)) == b.get(build.at(at))
        }
        _ => equals(&probe.get(row), &build.get(at)) == Some(true),
    }
}

impl Operator<Rows> for Join {
    fn receive(&mut self, port: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if port == BUILD && !self.plan.once {
            return self.built.take(batch, context);
        }
        self.demand.enter(context, batch.len());
        self.begin(batch);
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
}

fn columns(
    compiler: &Compiler,
    node: &plan::algebra::Join,
    (build, probe): (&Stream, &Stream),
    once: bool,
    required: &VarSet,
) -> Result<(Joining, Layout), ExecuteError> {
    // What is made once belongs to no outer row.
    let row = compiler.row().filter(|_| !once);
    let on: Vec<plan::Var> = row.into_iter().chain(node.on.iter().copied()).collect();
    let positions = |stream: &Stream| -> Result<Vec<usize>, ExecuteError> {
        on.iter().map(|variable| Compiler::position(&stream.layout, *variable)).collect()
    };
    let (probe_carry, mut layout) = compiler.carry(&probe.layout, required);
    let mut build_carry = Vec::new();
    for (at, variable) in build.layout.variables().iter().enumerate() {
        if required.contains(*variable) && layout.position(*variable).is_none() {
            build_carry.push(at);
            layout.push(*variable);
        }
    }
    let joining = Joining {
        once,
        build_on: positions(build)?,
        probe_on: positions(probe)?,
        build_width: build.layout.len(),
        build_carry,
        probe_carry: probe_carry.to_vec(),
        batch_rows: compiler.environment.batch_rows,
    };
    Ok((joining, layout))
}

/// The build side of a join in a scope, outside of it.
fn collect(
    compiler: &mut Compiler,
    node: &plan::algebra::Join,
) -> Result<(Stream, Arc<Built>), ExecuteError> {
    let inside = compiler.inside.take();
    let build = compiler.plan(&node.build);
    let built = Arc::<Built>::default();
    let build = build.inspect(|build| {
        let options = VertexOptions { create_if_empty: true, ..compiler.options(1) };
        let takes = built.clone();
        let vertex = compiler.vertex("JoinBuild", options, move || Collecting(takes.clone()));
        compiler.gather(build, vertex, 0);
    });
    compiler.inside = inside;
    Ok((build?, built))
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Join,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let algorithm = compiler.algorithm();
    let once = algorithm == Algorithm::BuildOnce;
    // Inside a scope each instance builds its own table, unless one is made for all; outside, the twins share one.
    let (build, shared) = if once {
        let (build, built) = collect(compiler, node)?;
        (build, Some(built))
    } else {
        compiler.of_side = compiler.demand.of_whole();
        let is_shared = algorithm == Algorithm::BuildShared;
        (compiler.plan(&node.build)?, is_shared.then(Arc::<Built>::default))
    };
    compiler.of_side = compiler.demand.thinned();
    let probe = compiler.plan(&node.probe)?;
    let (joining, layout) = columns(compiler, node, (&build, &probe), once, required)?;
    let demand = compiler.demand_port(&probe.layout);
    let plan = Arc::new(joining);
    let probe_port = usize::from(!once);
    let options = VertexOptions { port_order: probe_port, ..compiler.options(1 + probe_port) };
    let vertex = compiler.vertex("Join", options, move || Join {
        plan: plan.clone(),
        built: shared.clone().unwrap_or_default(),
        probe: None,
        hashes: Vec::new(),
        row: 0,
        at: None,
        demand: demand.clone(),
    });
    if !once {
        compiler.connect(&Stream { fans_out: false, ..build }, vertex, BUILD);
    }
    let ordered = probe.ordered;
    let parallel = compiler.connect(&probe, vertex, probe_port);
    Ok(Stream { vertex, output: 0, layout, parallel, ordered, fans_out: true })
}
