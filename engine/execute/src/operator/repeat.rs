//! Repeat: an inner plan run again on its own results, as a loop scope of which each iteration is a round.
//!
//! ```text
//!  input ─► RepeatEnter ─┬──────► RepeatOpen ─► argument ─► inner plan ─► RepeatTurn ─┬─► RepeatEnd ─►
//!                        │            ▲                                               │       ▲
//!                        │            └───────────── backward edge ───────────────────┘       │
//!                        └───────────────── no round at all, if that counts ──────────────────┘
//! ```
//!
//! A row of the loop has the kept columns of the outer row, and the vertex where the round begins. RepeatOpen numbers the rows of its iteration and
//! gives them to RepeatTurn beside the inner plan, so that they stay with the iteration however it ends; the inner rows carry the number, by which
//! RepeatTurn finds the row again, puts the new vertex into it, and sends it on to the next round, or out, or both. Where ends count once, each
//! iteration remembers those it met. The scope's policy decides which iteration runs first: depth first, a few ends are found before the first round
//! is over; then rounds are opened in small pieces that grow.
//! Cost beside the inner plan: a copy of a row a round, and a hash or a bit for each end remembered.
//!
//! Where the plan says so and the body works row by row, the loop is *wide*: a round spans all executors, its rows go to the less busy ones, and the
//! ends met are remembered in one shared set. There RepeatOpen keeps the rows in a table, and the number of a row includes the executor on which its
//! round began.

use super::apply::{arguments, options};
use super::distinct::Distinct;
use crate::ExecuteError;
use crate::compile::{Compiler, Inside};
use crate::demand::number;
use crate::operator::apply::inner_demand;
use crate::rows::Rows;
use crate::scope_rows::ScopeRows;
use crate::stream::{Feed, Stream};
use crate::turn::Try;
use dataflow::{Context, Flow, Operator, Outcome, Route, ScopeKind, ScopeOptions, Tag};
use expression::Layout;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Batch, Column, Nulls};
use parking_lot::Mutex;
use plan::VarSet;
use plan::algebra::{Apply, Repeat};
use plan::physical::Algorithm;
use plan::scope::InstanceOrder;
use std::collections::VecDeque;
use std::sync::Arc;
use world::fiber::Still;

/// Rows of the first piece of a round that goes deep first, and how many times larger each next one is.
const PIECE_ROWS_FIRST: usize = 1;
const PIECE_ROWS_GROWTH: usize = 4;

/// Rows of an iteration in pieces, each with the number of its first row.
type Pieces = Vec<(usize, Batch)>;

/// The rows of each live iteration of a wide loop, by executor and tag.
#[derive(Default)]
struct States(Mutex<HashMap<(usize, Tag), Pieces, FixedState>>);

/// The ends that each live iteration of a wide loop met, on all executors.
#[derive(Default)]
struct Met(Mutex<HashMap<Tag, Arc<Mutex<Distinct>>, FixedState>>);

/// Bits above the number of a row in its iteration: the executor of the row.
const EXECUTOR_SHIFT: u32 = 40;

/// The shared definition of the loop's operators.
struct Loop {
    min: u32,
    max: u32,
    /// Columns of a loop row that the argument holds.
    imports: Vec<usize>,
    arguments: usize,
    /// Column of a loop row that holds the vertex; the last.
    at: usize,
    /// Of the inner rows: their number, and where the round ended.
    row: usize,
    next: usize,
    distinct: bool,
    /// Rows hold nothing but the vertex, and ends count once: then all rows of a round are merged.
    merges: bool,
    /// Pieces grow from a few rows.
    in_pieces: bool,
    /// Rows of a piece, if that was said.
    piece_rows: Option<usize>,
    /// Rounds span executors.
    wide: bool,
    states: States,
    met: Met,
}

impl Loop {
    /// A memory for the ends of an iteration.
    fn distinct(&self) -> Distinct {
        Distinct::new((0..=self.at).collect())
    }
}

/// Sends rows into the loop, and past it where no round at all counts.
struct RepeatEnter {
    carry: Arc<[usize]>,
    passes: bool,
    enters: bool,
}

impl Operator<Rows> for RepeatEnter {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        let rows = batch.project(&self.carry);
        if self.passes {
            context.send_to(1, Rows(rows.clone()));
        }
        if self.enters {
            context.send_to(0, Rows(rows));
        }
        Ok(Flow::Ready)
    }
}

/// Begins rounds.
struct RepeatOpen {
    plan: Arc<Loop>,
    waiting: VecDeque<Batch>,
    place: usize,
    /// Rows of the iteration that were numbered.
    count: usize,
    piece_rows: usize,
}

impl RepeatOpen {
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while let Some(batch) = self.waiting.front() {
            let piece = crate::columns::piece(batch, self.place, self.piece_rows);
            self.place += piece.len();
            if self.place >= batch.len() {
                if !self.plan.wide {
                    // RepeatTurn pays for what it keeps.
                    context.release(batch.bytes());
                }
                self.waiting.pop_front();
                self.place = 0;
            }
            self.open(piece, context)?;
            if self.plan.in_pieces && self.plan.piece_rows.is_none() {
                self.piece_rows = self.piece_rows.saturating_mul(PIECE_ROWS_GROWTH);
            }
            // What was opened may go deeper before more is.
            if !self.waiting.is_empty() && (self.plan.in_pieces || context.should_yield()) {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
    fn open(&mut self, rows: Batch, context: &mut Context<'_, Rows>) -> Try<()> {
        let first = (context.executor() << EXECUTOR_SHIFT) + self.count;
        self.count += rows.len();
        let numbers = match self.plan.merges {
            true => vec![0; rows.len()],
            false => (first as i64..(first + rows.len()) as i64).collect(),
        };
        let numbers = Column::Int(numbers, Nulls::none());
        let mut argument = Batch::new(vec![numbers], rows.len());
        self.plan.imports.iter().for_each(|at| argument.push_carried(rows.column(*at).clone()));
        if self.plan.wide && !self.plan.merges {
            let mut states = self.plan.states.0.lock();
            states.entry((context.executor(), context.tag())).or_default().push((first, rows));
        } else if !self.plan.merges {
            context.send_to(self.plan.arguments, Rows(rows));
        }
        (0..self.plan.arguments).for_each(|output| context.send_to(output, Rows(argument.clone())));
        Ok(())
    }
}

impl Operator<Rows> for RepeatOpen {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if batch.is_empty() {
            return Ok(Flow::Ready);
        }
        context.charge(batch.bytes())?;
        self.waiting.push_back(batch);
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
}

/// Where RepeatTurn gets the rows of its iteration.
const ROWS_PORT: usize = 1;

/// Ends rounds.
struct RepeatTurn {
    plan: Arc<Loop>,
    met: Option<Arc<Mutex<Distinct>>>,
    /// The iteration's rows, unless the loop is wide, and how many they are.
    parts: Pieces,
    count: usize,
    /// The iteration's rows that were looked at last, and the number of the first.
    part: Option<(usize, Batch)>,
}

impl RepeatTurn {
    /// The part of the iteration that holds the row of this number, and the number of its first row.
    fn part(&mut self, number: usize, context: &Context<'_, Rows>) -> (usize, Batch) {
        if let Some((first, rows)) = &self.part
            && (*first..first + rows.len()).contains(&number)
        {
            return (*first, rows.clone());
        }
        let find = |parts: &Pieces| parts[parts.partition_point(|(first, _)| *first <= number) - 1].clone();
        let part = if self.plan.wide {
            let states = self.plan.states.0.lock();
            find(&states[&(number >> EXECUTOR_SHIFT, context.tag())])
        } else {
            find(&self.parts)
        };
        self.part = Some(part.clone());
        part
    }
    /// Sends on rows whose numbers lie in one part, from where their round ended.
    fn turn(
        &mut self,
        outer: &Batch,
        numbers: Vec<u32>,
        ends: Batch,
        context: &mut Context<'_, Rows>,
    ) -> Try<()> {
        let mut rows =
            if outer.width() == 0 { Batch::new(Vec::new(), numbers.len()) } else { outer.select(numbers) };
        rows.push_carried(ends.column(self.plan.next).clone());
        if self.plan.distinct {
            let plan = &self.plan;
            let of_all = || {
                plan.met
                    .0
                    .lock()
                    .entry(context.tag())
                    .or_insert_with(|| Arc::new(Mutex::new(plan.distinct())))
                    .clone()
            };
            let own = || Arc::new(Mutex::new(plan.distinct()));
            let met = self.met.get_or_insert_with(|| if plan.wide { of_all() } else { own() });
            let _still = Still::begin();
            let mut met = met.lock();
            let fresh = met.fresh(&rows);
            if fresh.len() < rows.len() {
                rows = rows.select(fresh);
            }
            met.charge(context)?;
        }
        if rows.is_empty() {
            return Ok(());
        }
        let round = context.tag().number();
        if round >= self.plan.min {
            context.send_to(0, Rows(rows.clone()));
        }
        if round < self.plan.max {
            context.send_to(1, Rows(rows));
        }
        Ok(())
    }
}

impl Operator<Rows> for RepeatTurn {
    fn receive(&mut self, port: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if port == ROWS_PORT {
            context.charge(batch.bytes())?;
            let first = (context.executor() << EXECUTOR_SHIFT) + self.count;
            self.count += batch.len();
            self.parts.push((first, batch));
            return Ok(Flow::Ready);
        }
        if self.plan.merges {
            let numbers = vec![0; batch.len()];
            self.turn(&Batch::default(), numbers, batch, context)?;
            return Ok(Flow::Ready);
        }
        let kept: Vec<usize> = (0..self.plan.at).collect();
        let numbers: Vec<usize> = (0..batch.len()).map(|row| number(&batch, self.plan.row, row)).collect();
        let mut begin = 0;
        while begin < numbers.len() {
            let (first, rows) = self.part(numbers[begin], context);
            let own = |number: &&usize| (first..first + rows.len()).contains(*number);
            let count = numbers[begin..].iter().take_while(own).count();
            let ends = if count == batch.len() {
                batch.clone()
            } else {
                batch.select((begin..begin + count).map(|row| row as u32).collect())
            };
            let local = numbers[begin..begin + count].iter().map(|number| (number - first) as u32).collect();
            self.turn(&rows.project(&kept), local, ends, context)?;
            begin += count;
        }
        Ok(Flow::Ready)
    }
    fn on_instance_end(&mut self, _: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        let tag = context.tag();
        if self.plan.wide {
            self.plan.states.0.lock().retain(|(_, other), _| *other != tag);
            self.plan.met.0.lock().remove(&tag);
        }
        Ok(Flow::Ready)
    }
}

/// Joins the rows that leave the loop with those that skip it.
struct RepeatEnd;

impl Operator<Rows> for RepeatEnd {
    fn receive(&mut self, _: usize, rows: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(rows);
        Ok(Flow::Ready)
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &Apply,
    repeat: &Repeat,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let outer = required.clone().without([repeat.to]).with(node.imports.iter().copied());
    let input = compiler.rows(feed)?;
    // A loop row: what is read above and inside, then the vertex.
    let (picks, mut layout) = compiler.carry(&input.layout, &outer.clone().without([repeat.at]));
    let carry: Arc<[usize]> =
        picks.iter().copied().chain([Compiler::position(&input.layout, repeat.at)?]).collect();
    layout.push(repeat.at);
    let imports: Vec<usize> =
        node.imports.iter().map(|column| Compiler::position(&layout, *column)).collect::<Result<_, _>>()?;
    let (passes, enters) = (repeat.min == 0, repeat.max > 0);
    let enter = compiler.vertex("RepeatEnter", compiler.options(1), move || RepeatEnter {
        carry: carry.clone(),
        passes,
        enters,
    });
    let parallel = compiler.connect(&input, enter, 0);
    let scope = ScopeOptions { kind: ScopeKind::Loop, ..options(&node.scope) };
    let wide = compiler.executors > 1 && compiler.algorithm() == (Algorithm::Loop { wide: true });
    let scope = ScopeOptions { instances_max: node.scope.instances_max, wide, ..scope };
    let scope = compiler.builder.scope_with(compiler.options(1).scope, scope);
    let end = compiler.vertex("RepeatEnd", compiler.options(1), || RepeatEnd);

    let row = compiler.fresh();
    let mut argument = Layout::new(&[row]);
    node.imports.iter().for_each(|column| {
        argument.push(*column);
    });
    let rows = Arc::new(ScopeRows::new(compiler.executors));
    let count = arguments(&node.inner);
    // The operators are made when the query runs, but the loop's columns are known only once the inner plan is compiled.
    let known: Arc<std::sync::OnceLock<Arc<Loop>>> = Arc::default();
    let (at_open, at_turn) = (known.clone(), known.clone());
    let get = |known: &std::sync::OnceLock<Arc<Loop>>| {
        known.get().cloned().expect("set before the graph is finished")
    };
    let options_inside = compiler.options(1).in_scope(scope);
    let open = compiler.vertex("RepeatOpen", options_inside, move || {
        let plan = get(&at_open);
        let piece_rows = match (plan.piece_rows, plan.in_pieces) {
            (Some(rows), _) => rows,
            (None, true) => PIECE_ROWS_FIRST,
            (None, false) => usize::MAX,
        };
        RepeatOpen { plan, waiting: VecDeque::new(), place: 0, count: 0, piece_rows }
    });
    let shared = || if wide { Route::Spread } else { Route::Local };
    compiler.builder.connect(enter, 0, open, 0, shared());
    let stream =
        Stream { vertex: open, output: 0, layout: argument, parallel, ordered: false, fans_out: false };
    let inside = Inside { scope, row, argument: stream, rows, stated: None };
    let outside = compiler.inside.replace(inside);
    let around = std::mem::replace(&mut compiler.wide, wide.then_some(scope));
    compiler.of_side = inner_demand(&node.kind, compiler.demand);
    let inner = compiler.plan(&node.inner);
    let merges = repeat.distinct && layout.len() == 1;
    let gives_rows = !merges && !wide;
    let options_of_turn = compiler.options(1 + usize::from(gives_rows)).in_scope(scope);
    let turn = compiler.vertex("RepeatTurn", options_of_turn, move || {
        let plan = get(&at_turn);
        RepeatTurn { plan, met: None, parts: Vec::new(), count: 0, part: None }
    });
    if gives_rows {
        // It is there before the first inner row is.
        compiler.builder.connect(open, count, turn, ROWS_PORT, Route::Local);
    }
    (compiler.inside, compiler.wide) = (outside, around);
    let inner = inner?;
    compiler.builder.connect(inner.vertex, inner.output, turn, 0, Route::Local);
    compiler.builder.connect(turn, 0, end, 0, Route::Local);
    if repeat.max > 1 {
        compiler.builder.connect_back_by(turn, 1, open, 0, shared());
    }
    if passes {
        compiler.builder.connect(enter, 1, end, 0, Route::Local);
    }
    let plan = Loop {
        min: repeat.min,
        max: repeat.max,
        imports,
        arguments: count,
        at: layout.len() - 1,
        row: Compiler::position(&inner.layout, row)?,
        next: Compiler::position(&inner.layout, repeat.next)?,
        distinct: repeat.distinct,
        merges,
        in_pieces: node.scope.order == InstanceOrder::Dfs,
        piece_rows: node.scope.rows.map(|rows| rows as usize),
        wide,
        states: States::default(),
        met: Met::default(),
    };
    let set = known.set(Arc::new(plan));
    debug_assert!(set.is_ok(), "a loop is compiled once");
    let mut made = Layout::default();
    layout.variables()[..layout.len() - 1].iter().for_each(|column| {
        made.push(*column);
    });
    made.push(repeat.to);
    Ok(Stream {
        vertex: end,
        output: 0,
        layout: made,
        parallel: parallel || wide,
        ordered: false,
        fans_out: true,
    })
}
