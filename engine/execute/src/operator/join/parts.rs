//! A join whose build side does not fit memory: both sides are spilled by the hashes of their keys, and are joined part by part.
//!
//! The build side is spilled in one place by all twins, the probe side by each twin for itself, since each joins its own rows. A part of the build
//! side that does not fit memory is spread over parts again, and its probes with it (the Grace hash join: Graefe 1993, "Query Evaluation Techniques
//! for Large Databases", 5.3).

use super::Joining;
use super::table::{Building, TABLE_BYTES_PER_ROW, Table, joins_nothing};
use crate::columns::carried;
use crate::rows::Rows;
use crate::spill::{SpillFolder, SpilledPart, SpilledParts, is_tight};
use crate::turn::Try;
use dataflow::Context;
use model::Batch;
use std::sync::Arc;

/// Puts the rows of a batch aside that may join with something; `on` are the columns of their keys.
pub(super) fn put_aside(
    parts: &mut SpilledParts,
    batch: &Batch,
    on: &[usize],
    context: &mut Context<'_, Rows>,
) -> Try<()> {
    let keys = carried(batch, on);
    let joins = |row: &u32| !keys.iter().any(|key| joins_nothing(key, *row as usize));
    parts.take(batch, &keys, (0..batch.len() as u32).filter(joins), context)
}

/// A part of the build side, and the rows that may join with it.
struct PartPair {
    build: SpilledPart,
    probe: SpilledPart,
}

/// The steps for a pair of parts, in order.
enum PairStep {
    /// The build side is read.
    Load { batches: Vec<Batch>, charged: usize },
    /// It does not fit memory: it is spread over parts, first the rows read already.
    SpreadBuild { batches: Vec<Batch>, charged: usize, parts: SpilledParts, probe: SpilledParts },
    /// And its probes.
    SpreadProbe { build: Vec<SpilledPart>, parts: SpilledParts },
    /// A table is made of it.
    Build { building: Building, charged: usize },
    /// Its probes are read; `held` bytes of the last are charged.
    Probe { table: Table, charged: usize, held: usize },
}

/// The result of a slice of work.
pub(super) enum PartProgress {
    More,
    /// Rows to be joined with the [table](PartJoin::table) of this moment.
    Probe(Batch),
    Done,
}

/// Parts being joined one by one.
pub(super) struct PartJoin {
    todo: Vec<PartPair>,
    pair: Option<(PartPair, PairStep)>,
    folder: Option<Arc<SpillFolder>>,
}

impl PartJoin {
    pub(super) fn new(
        build: Vec<SpilledPart>,
        probe: Vec<SpilledPart>,
        folder: Option<Arc<SpillFolder>>,
    ) -> PartJoin {
        let mut join = PartJoin { todo: Vec::new(), pair: None, folder };
        join.pair_up(build, probe);
        join
    }
    /// Parts that only one side has join with nothing.
    fn pair_up(&mut self, build: Vec<SpilledPart>, mut probe: Vec<SpilledPart>) {
        for build in build {
            if let Some(at) = probe.iter().position(|probe| probe.number() == build.number()) {
                self.todo.push(PartPair { build, probe: probe.swap_remove(at) });
            }
        }
    }
    /// The table that rows are to be joined with.
    pub(super) fn table(&self) -> Option<&Table> {
        match &self.pair {
            Some((_, PairStep::Probe { table, .. })) => Some(table),
            _ => None,
        }
    }
    /// A slice of work.
    pub(super) fn step(&mut self, plan: &Joining, context: &mut Context<'_, Rows>) -> Try<PartProgress> {
        let Some((mut pair, step)) = self.pair.take() else {
            let Some(pair) = self.todo.pop() else { return Ok(PartProgress::Done) };
            self.pair = Some((pair, PairStep::Load { batches: Vec::new(), charged: 0 }));
            return Ok(PartProgress::More);
        };
        let step = match step {
            PairStep::Load { batches, charged } => self.load(plan, &mut pair, batches, charged, context)?,
            PairStep::SpreadBuild { mut batches, charged, mut parts, probe } => {
                if let Some(batch) = batches.pop() {
                    put_aside(&mut parts, &batch, &plan.build_on, context)?;
                    PairStep::SpreadBuild { batches, charged, parts, probe }
                } else if let Some((batch, held)) = pair.build.next(context)? {
                    put_aside(&mut parts, &batch, &plan.build_on, context)?;
                    context.release(held);
                    PairStep::SpreadBuild { batches, charged, parts, probe }
                } else {
                    context.release(charged);
                    PairStep::SpreadProbe { build: parts.finish(context)?, parts: probe }
                }
            }
            PairStep::SpreadProbe { build, mut parts } => match pair.probe.next(context)? {
                Some((batch, held)) => {
                    put_aside(&mut parts, &batch, &plan.probe_on, context)?;
                    context.release(held);
                    PairStep::SpreadProbe { build, parts }
                }
                None => {
                    let probe = parts.finish(context)?;
                    self.pair_up(build, probe);
                    return Ok(PartProgress::More);
                }
            },
            PairStep::Build { mut building, charged } => match building.step(plan) {
                false => PairStep::Build { building, charged },
                true => match building.table {
                    Some(table) => PairStep::Probe { table, charged, held: 0 },
                    None => return Ok(PartProgress::More),
                },
            },
            PairStep::Probe { table, charged, held } => {
                context.release(held);
                match pair.probe.next(context)? {
                    Some((batch, held)) => {
                        self.pair = Some((pair, PairStep::Probe { table, charged, held }));
                        return Ok(PartProgress::Probe(batch));
                    }
                    None => {
                        drop(table);
                        context.release(charged);
                        return Ok(PartProgress::More);
                    }
                }
            }
        };
        self.pair = Some((pair, step));
        Ok(PartProgress::More)
    }
    fn load(
        &mut self,
        plan: &Joining,
        pair: &mut PartPair,
        mut batches: Vec<Batch>,
        mut charged: usize,
        context: &mut Context<'_, Rows>,
    ) -> Try<PairStep> {
        let Some((batch, held)) = pair.build.next(context)? else {
            return Ok(PairStep::Build { building: Building::new(plan, batches), charged });
        };
        let of_table = batch.len() * TABLE_BYTES_PER_ROW;
        let fits = context.charge(of_table);
        charged += held + of_table;
        batches.push(batch);
        if fits.is_err() || is_tight(context, charged, 0) {
            let folder = self.folder.as_ref();
            let of = Some(&pair.build);
            // Both sides by the same bits of the hash.
            if let Some(parts) = SpilledParts::create(plan.build_width, of, folder, context)?
                && let Some(probe) = SpilledParts::create(plan.probe_width, of, folder, context)?
            {
                return Ok(PairStep::SpreadBuild { batches, charged, parts, probe });
            }
        }
        fits?;
        Ok(PairStep::Load { batches, charged })
    }
}
