//! Join: pairs of rows that agree on some columns (a hash join); all pairs where there are none.
//!
//! The build side comes first, on any executors, into one table that the twins share; the first probes concatenate it into one batch with a table
//! from hash to row, once, in slices, one twin at a time. A pair then costs two row numbers: output columns are the two sides' own, each behind a row
//! map. Keys are compared as `=` does: null and NaN join with nothing.
//!
//! A build side for which memory is short is spilled, and its probes as well: see [`parts`].
//!
//! In a sub-query a build side that is made once stands outside of the scope: its rows come to a [`Collecting`] vertex, and the probes of
//! all instances wait for its end.

use crate::ExecuteError;
use crate::columns::carried;
use crate::compile::Compiler;
use crate::demand::DemandPort;
use crate::rows::Rows;
use crate::spill::{SpillFolder, SpilledPart, SpilledParts, is_tight, joined};
use crate::stream::Stream;
use crate::turn::Try;
use dataflow::{Context, Flow, Operator, Outcome, VertexOptions};
use expression::{Layout, hash_columns};
use model::batch::Carried;
use model::compare::equals;
use model::{Batch, Column};
use parking_lot::Mutex;
use plan::VarSet;
use plan::physical::Algorithm;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

mod parts;
mod table;

use parts::{PartJoin, PartProgress, put_aside};
use table::{Building, END, TABLE_BYTES_PER_ROW, Table};

struct Joining {
    /// The build side stands outside of the scope.
    once: bool,
    build_on: Vec<usize>,
    probe_on: Vec<usize>,
    build_width: usize,
    probe_width: usize,
    /// Both sides may be put aside: rows need not come in the order of their probes.
    may_spill: bool,
    build_carry: Vec<usize>,
    probe_carry: Vec<usize>,
    batch_rows: usize,
}

/// Candidates that are compared between two looks at the clock.
const CANDIDATES_PER_LOOK: usize = 8_192;

/// The build side as the twins share it.
#[derive(Default)]
struct Built {
    batches: Mutex<Vec<Batch>>,
    building: Mutex<Option<Building>>,
    table: OnceLock<Table>,
    /// All its rows have come.
    complete: AtomicBool,
    /// From some row on they are spilled; earlier rows are spilled before anything is joined.
    is_aside: AtomicBool,
    /// Spilled rows of each twin, by executor, so that none waits for another.
    aside: OnceLock<Vec<Mutex<Option<SpilledParts>>>>,
    /// All of that.
    whole: Mutex<Option<Vec<SpilledPart>>>,
}

impl Built {
    fn take(&self, batch: Batch, context: &mut Context<'_, Rows>) -> Outcome {
        let batch = batch.flatten();
        context.charge(batch.bytes() + batch.len() * TABLE_BYTES_PER_ROW)?;
        self.batches.lock().push(batch);
        Ok(Flow::Ready)
    }
    /// As [`Built::take`] for a twin with this charge; spills rows where memory is short.
    fn take_or_put_aside(
        &self,
        batch: Batch,
        (plan, charged, folder): (&Joining, &mut usize, Option<&Arc<SpillFolder>>),
        context: &mut Context<'_, Rows>,
    ) -> Try<()> {
        let slots = self.aside.get_or_init(|| (0..context.executors()).map(|_| Mutex::default()).collect());
        let mut slot = slots[context.executor() % slots.len()].lock();
        if self.is_aside.load(Ordering::Acquire) && slot.is_none() {
            *slot = SpilledParts::create(plan.build_width, None, folder, context)?;
        }
        if let Some(parts) = &mut *slot {
            return put_aside(parts, &batch, &plan.build_on, context);
        }
        let batch = batch.flatten();
        let bytes = batch.bytes() + batch.len() * TABLE_BYTES_PER_ROW;
        let fits = context.charge(bytes);
        *charged += bytes;
        self.batches.lock().push(batch);
        if fits.is_ok() && !is_tight(context, *charged, 0) {
            return Ok(());
        }
        *slot = SpilledParts::create(plan.build_width, None, folder, context)?;
        if slot.is_none() {
            return fits;
        }
        self.is_aside.store(true, Ordering::Release);
        Ok(())
    }
    /// Spills the rest of the build side; returns its parts once all of it is there.
    fn put_rest_aside(
        &self,
        plan: &Joining,
        context: &mut Context<'_, Rows>,
    ) -> Try<Option<Vec<SpilledPart>>> {
        let Some(mut whole) = self.whole.try_lock() else { return Ok(None) };
        if whole.is_none() {
            let slots = self.aside.get().into_iter().flatten();
            let mut slots: Vec<_> = slots.map(|slot| slot.lock()).filter(|slot| slot.is_some()).collect();
            while let Some(Some(parts)) = slots.first_mut().map(|slot| slot.as_mut()) {
                let Some(batch) = self.batches.lock().pop() else { break };
                put_aside(parts, &batch, &plan.build_on, context)?;
                if context.should_yield() {
                    return Ok(None);
                }
            }
            let mut parts = Vec::new();
            for slot in &mut slots {
                if let Some(own) = slot.take() {
                    parts.extend(own.finish(context)?);
                }
            }
            *whole = Some(joined(parts));
        }
        Ok(whole.clone())
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
    /// Charged for rows of the build side.
    charged: usize,
    folder: Option<Arc<SpillFolder>>,
    /// Charged for probes on their way to the disk.
    filling: usize,
    /// Probes that were put aside, and the join of all that was.
    probes: Option<SpilledParts>,
    parts: Option<PartJoin>,
}

impl Join {
    /// Goes on with building the table; `Ready` once it is complete.
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
        let keys = carried(&batch, &self.plan.probe_on);
        hash_columns(&keys, batch.len(), &mut self.hashes);
        (self.row, self.at) = (0, None);
        self.probe = Some(batch);
    }
    /// Appends pairs until there are enough, the batch is done, or the clock must be read.
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
    /// Goes on with the probes that are there.
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        let Some(probe) = self.probe.take() else { return Ok(Flow::Ready) };
        let flow = self.table(context);
        if flow != Flow::Ready {
            self.probe = Some(probe);
            return Ok(flow);
        }
        let built = self.built.clone();
        let table = built.table.get().expect("put together above");
        self.join(probe, table, context)
    }
    /// Puts probes aside, as the build side is.
    fn put_probe_aside(&mut self, batch: &Batch, context: &mut Context<'_, Rows>) -> Outcome {
        if self.demand.is_over() {
            return Ok(Flow::Ready);
        }
        if self.probes.is_none() {
            self.probes = SpilledParts::create(self.plan.probe_width, None, self.folder.as_ref(), context)?;
        }
        let Some(probes) = &mut self.probes else {
            // The build side was put aside, so there is a limit that is reached.
            context.charge_spilled(1)?;
            return Err(ExecuteError::Spill("rows may no longer be put aside on disk".to_string()).into());
        };
        put_aside(probes, batch, &self.plan.probe_on, context)?;
        let bytes = probes.bytes();
        context.charge(bytes.saturating_sub(self.filling))?;
        self.filling = self.filling.max(bytes);
        Ok(Flow::Ready)
    }
    /// Joins the spilled rows, part by part.
    fn join_parts(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while !self.demand.is_over() {
            let Some(mut parts) = self.parts.take() else {
                let Some(build) = self.built.put_rest_aside(&self.plan, context)? else {
                    return Ok(Flow::Again);
                };
                // All rows that this twin was charged for are on disk now.
                context.release(std::mem::take(&mut self.charged) + std::mem::take(&mut self.filling));
                let Some(probes) = self.probes.take() else { return Ok(Flow::Ready) };
                self.parts = Some(PartJoin::new(build, probes.finish(context)?, self.folder.clone()));
                continue;
            };
            if let (Some(probe), Some(table)) = (self.probe.take(), parts.table()) {
                let flow = self.join(probe, table, context)?;
                self.parts = Some(parts);
                if flow != Flow::Ready {
                    return Ok(flow);
                }
                continue;
            }
            match parts.step(&self.plan, context)? {
                PartProgress::More => {}
                PartProgress::Probe(batch) => {
                    self.demand.enter(context, batch.len());
                    self.begin(batch);
                }
                PartProgress::Done => return Ok(Flow::Ready),
            }
            self.parts = Some(parts);
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
    /// Hands on the pairs of these probes.
    fn join(&mut self, probe: Batch, table: &Table, context: &mut Context<'_, Rows>) -> Outcome {
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
            if !self.plan.may_spill {
                return self.built.take(batch, context);
            }
            let join = (&*self.plan, &mut self.charged, self.folder.as_ref());
            self.built.take_or_put_aside(batch, join, context)?;
            return Ok(Flow::Ready);
        }
        if self.built.is_aside.load(Ordering::Acquire) {
            return self.put_probe_aside(&batch, context);
        }
        self.demand.enter(context, batch.len());
        self.begin(batch);
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        if self.built.is_aside.load(Ordering::Acquire) { self.join_parts(context) } else { self.run(context) }
    }
    fn on_completion(&mut self, port: usize, context: &mut Context<'_, Rows>) -> Outcome {
        let is_all = port != BUILD && self.built.is_aside.load(Ordering::Acquire);
        if is_all { self.join_parts(context) } else { Ok(Flow::Ready) }
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
        probe_width: probe.layout.len(),
        may_spill: !once && !on.is_empty() && !probe.ordered && compiler.inside.is_none(),
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
    let environment_slot = compiler.environment.clone();
    let vertex = compiler.vertex("Join", options, move || Join {
        plan: plan.clone(),
        built: shared.clone().unwrap_or_default(),
        probe: None,
        hashes: Vec::new(),
        row: 0,
        at: None,
        demand: demand.clone(),
        charged: 0,
        filling: 0,
        folder: environment_slot.environment().spill.clone(),
        probes: None,
        parts: None,
    });
    if !once {
        compiler.connect(&Stream { fans_out: false, ..build }, vertex, BUILD);
    }
    let ordered = probe.ordered;
    let parallel = compiler.connect(&probe, vertex, probe_port);
    Ok(Stream { vertex, output: 0, layout, parallel, ordered, fans_out: true })
}
