//! Inline: a sub-query that is a pipeline, run within one operator ([`plan::physical::Algorithm::Inline`]).
//!
//! ```text
//!   outer batch ─ number its rows ─► operator ─► operator ─► … ─► count by number, join back ─► rows
//! ```
//!
//! The operators are the inner plan's own, driven by a pipeline ([`subquery`]). At the end of an outer batch it is known which of its rows had no
//! inner row: an OPTIONAL MATCH keeps those with nulls. A test takes as many outer rows together as its scope says, and is done with them once each
//! has its first inner row, as in a scope instance. It may itself be part of a pipeline. Invariant: a pipeline keeps the order of rows, so inner rows
//! come in the order of their outer rows' numbers. Rows with the same imports of a count, a test or a list are answered once ([`memo`]). Cost: a
//! column of numbers and a counter for each outer row; no scope, no instance.

use crate::ExecuteError;
use crate::columns::piece;
use crate::compile::Compiler;
use crate::demand::{DemandPort, NodeDemand, RowDemand, Stated, number};
use crate::operator::apply::{added, inner_demand};
use crate::rows::Rows;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Try};
use dataflow::{Context, Flow, Operator, Outcome, Pipeline};
use model::{Batch, Column, Nulls, Value};
use plan::VarSet;
use plan::algebra::{Apply, ApplyKind};
use plan::physical::Algorithm;
use std::ops::Range;
use std::sync::Arc;

mod ends;
mod memo;
mod subquery;

use ends::{EndColumns, Met, Walks};
use memo::{Answer, Memo};
pub(crate) use subquery::SubQuery;

struct Inlining {
    kind: ApplyKind,
    inner: SubQuery,
    /// Outer columns that its answers depend on.
    imports: Vec<usize>,
    /// Of a test whose inner plan goes to all ends: each row asks for its own.
    ends: Option<EndColumns>,
    /// Outer columns that are kept.
    carry: Arc<[usize]>,
    /// Inner columns that are added, or the one that is collected.
    columns: Vec<usize>,
    /// Outer rows must come out in their order.
    ordered: bool,
    /// The first inner row of each outer row is enough, and ends the work for it.
    is_test: bool,
    /// Outer rows that are taken together.
    together: usize,
    /// Rows that pass are handed on as soon as they have.
    hands_on: bool,
    /// Its answers depend on the imported columns alone.
    keeps_answers: bool,
}

struct Inline {
    plan: Arc<Inlining>,
    execution: ExecutionContext,
    pipeline: Pipeline<Rows>,
    /// The batch, and how many of its rows were begun: where few may be enough, they are taken in pieces.
    input: Option<(Batch, usize)>,
    outer: Option<Batch>,
    /// Where rows share walks: these.
    walks: Walks,
    /// The outer rows that go in then, one of each walk.
    walking: Option<Batch>,
    /// The range of rows that the pipeline works on; those before have their answers.
    at: Range<usize>,
    /// Of those of a test that are taken together, how many have none yet.
    unanswered: usize,
    /// Of which of them an answer is wanted, for the inner operators.
    answers: Option<Arc<RowDemand>>,
    /// The demand for its own rows.
    demand: DemandPort,
    /// Answers by imports, where they can be cached.
    memo: Option<Memo>,
    counts: Vec<i64>,
    lists: Vec<Vec<Value>>,
    /// The lists, once they are complete.
    collected: Vec<Value>,
    /// Outer rows before this one were handed on, with or without inner rows, where order counts.
    next: usize,
    charged: usize,
    /// Outer rows of a test before this one were handed on, as far as they pass.
    told: usize,
    /// The output at the end of the batch, and how much of it was emitted.
    output: Option<(Batch, usize)>,
}

impl Inline {
    fn new(plan: Arc<Inlining>, execution: ExecutionContext, demand: DemandPort) -> Inline {
        Inline {
            execution,
            pipeline: plan.inner.pipeline(),
            memo: plan.keeps_answers.then(Memo::default),
            plan,
            input: None,
            outer: None,
            walks: Walks::default(),
            walking: None,
            at: 0..0,
            unanswered: 0,
            answers: None,
            demand,
            counts: Vec::new(),
            lists: Vec::new(),
            collected: Vec::new(),
            next: 0,
            charged: 0,
            told: 0,
            output: None,
        }
    }

    /// The next piece of the input, if there is one.
    fn begin_piece(&mut self) {
        let Some((input, next)) = &mut self.input else { return };
        let rows_max = if self.demand.is_by_row() { usize::MAX } else { self.demand.input_piece() };
        let mut outer = piece(input, *next, rows_max);
        *next += outer.len();
        if *next >= input.len() {
            self.input = None;
        }
        // Where the view changes, an answer may change with it.
        if let Some(memo) = self.memo.as_mut().filter(|_| self.execution.environment.has_one_view())
            && let Some(asked) = memo.ask(&outer, &self.plan.imports)
            && asked.len() < outer.len()
        {
            outer = select(&outer, asked);
        }
        if let Some(wanted) = self.demand.wanted_rows(&outer) {
            outer = select(&outer, wanted);
        }
        self.counts.clear();
        self.counts.resize(outer.len(), 0);
        if matches!(self.plan.kind, ApplyKind::Collect { .. }) {
            self.lists = vec![Vec::new(); outer.len()];
        }
        self.walking = self.plan.ends.as_ref().map(|ends| {
            let columns = (self.plan.inner.imports(), ends.asked);
            let may_keep = self.execution.environment.has_one_view();
            select(&outer, self.walks.begin(&outer, columns, &mut self.counts, may_keep))
        });
        // A walk ends when it has met all that is asked for, a row's own work with the first row.
        let (rows, most) = self.walking.as_ref().map_or((outer.len(), 1), |rows| (rows.len(), u64::MAX));
        self.answers = self.plan.is_test.then(|| Arc::new(RowDemand::new(rows, most)));
        self.pipeline.share(self.answers.clone().map(|answers| answers as Arc<_>));
        (self.outer, self.at, self.told, self.next) = (Some(outer), 0..0, 0, 0);
        self.begin_more();
    }

    /// The next outer rows of the batch; false if there are none.
    fn begin_more(&mut self) -> bool {
        let Some(outer) = self.walking.as_ref().or(self.outer.as_ref()) else {
            return false;
        };
        let mut start = self.at.end;
        // What was handed on of the rows before may be enough for those that come.
        let is_over = |row: &usize| self.walking.is_none() && self.demand.wanted(outer, *row) == 0;
        start += (start..outer.len()).take_while(is_over).count();
        if self.plan.hands_on {
            self.told = start;
        }
        if start >= outer.len() {
            self.at = outer.len()..outer.len();
            return false;
        }
        let rows = piece(outer, start, self.plan.together);
        (self.at, self.unanswered) = (start..start + rows.len(), rows.len());
        self.pipeline.feed(self.plan.inner.argument(&rows, start));
        true
    }

    /// Takes rows from the pipeline; returns those that can be emitted at once.
    fn take(&mut self, inner: &Batch, context: &mut Context<'_, Rows>) -> Try<Option<Batch>> {
        if let Some(ends) = &self.plan.ends {
            for row in 0..inner.len() {
                let walk = number(inner, self.plan.inner.row, row);
                let met = self.walks.meet(walk, inner.column(ends.met).vertex(row));
                if let Met::Row(row) | Met::Last(row) = met {
                    self.counts[row] = 1;
                }
                if let (Met::Last(_), Some(answers)) = (met, &self.answers) {
                    answers.end(walk);
                    self.unanswered -= 1;
                }
            }
            return Ok(None);
        }
        let numbers: Vec<u32> =
            (0..inner.len()).map(|row| number(inner, self.plan.inner.row, row) as u32).collect();
        for number in &numbers {
            let count = &mut self.counts[*number as usize];
            *count += 1;
            if let Some(answers) = self.answers.as_ref().filter(|_| *count == 1) {
                answers.end(*number as usize);
                self.unanswered -= 1;
            }
        }
        match self.plan.kind {
            ApplyKind::Optional(_) if self.plan.ordered => return Ok(Some(self.in_order(inner, &numbers))),
            ApplyKind::Inner(_) | ApplyKind::Optional(_) => {
                let mut output = select(&self.kept(), numbers);
                self.plan.columns.iter().for_each(|at| output.push_carried(inner.column(*at).clone()));
                return Ok(Some(output));
            }
            ApplyKind::Collect { .. } => {
                let column = inner.column(self.plan.columns[0]);
                for (row, number) in numbers.iter().enumerate() {
                    self.lists[*number as usize].push(column.get(row));
                }
                self.charge(inner.len() * size_of::<Value>(), context)?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn charge(&mut self, bytes: usize, context: &mut Context<'_, Rows>) -> Try<()> {
        self.charged += bytes;
        context.charge(bytes)
    }

    /// The outer rows, as far as operators above read them.
    fn kept(&self) -> Batch {
        self.outer.as_ref().expect("a batch was begun").project(&self.plan.carry)
    }

    /// The rows of a test that are known to pass and were not handed on.
    fn passed(&mut self) -> Batch {
        let told = std::mem::replace(&mut self.told, self.at.end);
        let passes = |count: i64| (count > 0) == (self.plan.kind == ApplyKind::Semi);
        let mut rows: Vec<u32> =
            (told..self.at.end).filter(|row| passes(self.counts[*row])).map(|row| row as u32).collect();
        if let Some(outer) = self.outer.as_ref().filter(|_| self.plan.hands_on) {
            let demand = &mut self.demand;
            rows.retain(|row| {
                let is_wanted = demand.wanted(outer, *row as usize) > 0;
                demand.made(outer, *row as usize, usize::from(is_wanted));
                is_wanted
            });
        }
        select(&self.kept(), rows)
    }

    /// Gives the answers of the rows that ran to all rows of the batch, and caches them.
    fn share_answers(&mut self, context: &mut Context<'_, Rows>) -> Try<()> {
        // Where no batch waits, each row was asked, and has its answer.
        let Some(memo) = self.memo.as_mut().filter(|memo| memo.is_pending()) else { return Ok(()) };
        let before = memo.bytes();
        let mut lists = std::mem::take(&mut self.collected).into_iter();
        let answers = self.counts.iter().map(|count| Answer { count: *count, list: lists.next() });
        let Some((whole, answers)) = memo.answered(answers.collect()) else { return Ok(()) };
        let after = memo.bytes();
        (self.at, self.told, self.outer) = (0..whole.len(), 0, Some(whole));
        self.counts = answers.iter().map(|answer| answer.count).collect();
        self.collected = answers.into_iter().filter_map(|answer| answer.list).collect();
        context.release(before.saturating_sub(after));
        context.charge(after.saturating_sub(before))
    }

    /// The output that the end of the batch completes.
    fn finish(&mut self, context: &mut Context<'_, Rows>) -> Try<Batch> {
        self.collected = std::mem::take(&mut self.lists).into_iter().map(Value::list).collect();
        if self.walking.take().is_some() {
            let before = self.walks.bytes();
            self.walks.end(&mut self.counts);
            (self.at, self.told) = (0..self.counts.len(), 0);
            context.release(before.saturating_sub(self.walks.bytes()));
            context.charge(self.walks.bytes().saturating_sub(before))?;
        }
        self.share_answers(context)?;
        Ok(self.finished())
    }

    fn finished(&mut self) -> Batch {
        if matches!(self.plan.kind, ApplyKind::Semi | ApplyKind::Anti) {
            return self.passed();
        }
        let kept = self.kept();
        let column = match &self.plan.kind {
            ApplyKind::Optional(_) => {
                // Where order counts, those before the last with inner rows were handed on.
                let is_bare = |row: &u32| self.counts[*row as usize] == 0;
                let bare: Vec<u32> = (self.next as u32..kept.len() as u32).filter(is_bare).collect();
                let len = bare.len();
                let mut batch = select(&kept, bare);
                self.plan.columns.iter().for_each(|_| batch.push(Column::Constant(Value::Null, len)));
                return batch;
            }
            ApplyKind::Exists(_) => {
                Column::Bool(self.counts.iter().map(|count| *count > 0).collect(), Nulls::none())
            }
            ApplyKind::Count(_) => Column::Int(std::mem::take(&mut self.counts), Nulls::none()),
            ApplyKind::Collect { .. } => Column::Any(std::mem::take(&mut self.collected)),
            ApplyKind::Semi
            | ApplyKind::Anti
            | ApplyKind::Inner(_)
            | ApplyKind::Unit
            | ApplyKind::Repeat(_) => return Batch::default(),
        };
        let mut batch = kept;
        batch.push(column);
        batch
    }

    /// Inner rows, which stand in order, with the bare outer rows between them.
    fn in_order(&mut self, inner: &Batch, numbers: &[u32]) -> Batch {
        let mut order: Vec<(u32, Option<usize>)> = Vec::with_capacity(numbers.len());
        for (at, number) in numbers.iter().enumerate() {
            debug_assert!(*number as usize + 1 >= self.next, "a pipeline keeps the order of rows");
            order.extend((self.next as u32..*number).map(|bare| (bare, None)));
            order.push((*number, Some(at)));
            self.next = *number as usize + 1;
        }
        let mut output = select(&self.kept(), order.iter().map(|(row, _)| *row).collect());
        for at in &self.plan.columns {
            let column = inner.column(*at);
            if order.len() == numbers.len() {
                output.push_carried(column.clone());
                continue;
            }
            output.push(order.iter().map(|(_, at)| at.map_or(Value::Null, |at| column.get(at))).collect());
        }
        output
    }

    /// A piece of the output at the end of the batch; false after the last.
    fn hand_on(&mut self, context: &mut Context<'_, Rows>) -> (Option<Batch>, bool) {
        let Some((output, next)) = &mut self.output else { return (None, false) };
        let rows = piece(output, *next, self.execution.environment.batch_rows);
        *next += rows.len();
        let is_over = *next >= output.len();
        if is_over {
            self.output = None;
            context.release(std::mem::take(&mut self.charged));
        }
        ((!rows.is_empty()).then_some(rows), !is_over)
    }

    /// A slice of the pipeline's work.
    fn work(&mut self, context: &mut Context<'_, Rows>) -> Try<(Option<Batch>, Flow)> {
        let (rows, flow) =
            if self.at.is_empty() { (None, Flow::Ready) } else { self.pipeline.work(context)? };
        let output = rows.map_or(Ok(None), |Rows(rows)| self.take(&rows, context))?;
        let is_answered = self.plan.is_test && self.unanswered == 0;
        if flow != Flow::Ready && !is_answered {
            return Ok((output, flow));
        }
        if flow != Flow::Ready {
            context.release(self.pipeline.stop());
        }
        let passed = self.plan.hands_on.then(|| self.passed()).filter(|passed| !passed.is_empty());
        if self.demand.is_over() {
            (self.input, self.outer, self.walking) = (None, None, None);
            context.release(self.walks.bytes());
            self.walks.forget();
        } else if !self.begin_more() {
            self.output = Some((self.finish(context)?, 0));
            self.outer = None;
        }
        Ok((output.or(passed), Flow::Again))
    }

    /// A slice of all its work; `Ready` once the input is worked off.
    fn slice(&mut self, context: &mut Context<'_, Rows>) -> Try<(Option<Batch>, Flow)> {
        if self.outer.is_some() {
            return self.work(context);
        }
        let (rows, has_more) = self.hand_on(context);
        if !has_more && self.input.is_none() {
            return Ok((rows, Flow::Ready));
        }
        if !has_more {
            self.demand.handed_on(usize::MAX);
            self.begin_piece();
        }
        Ok((rows, Flow::Again))
    }

    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        loop {
            let (rows, flow) = self.slice(context)?;
            let asks = rows.is_some() && self.demand.is_eager(self.execution.environment.batch_rows);
            if let Some(rows) = rows {
                context.send(Rows(rows));
            }
            if flow != Flow::Again || asks || context.should_yield() {
                return Ok(flow);
            }
        }
    }
}

fn select(batch: &Batch, rows: Vec<u32>) -> Batch {
    if batch.width() == 0 { Batch::new(Vec::new(), rows.len()) } else { batch.select(rows) }
}

impl Operator<Rows> for Inline {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if batch.is_empty() {
            return Ok(Flow::Ready);
        }
        self.demand.enter(context, batch.len());
        self.input = Some((batch, 0));
        self.begin_piece();
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
    fn recycle(&mut self) -> bool {
        self.demand.recycle();
        // All that was charged has been given back: what is kept for later rows would be held without a charge.
        self.pipeline.reset();
        (self.input, self.outer, self.walking) = (None, None, None);
        self.walks.forget();
        (self.output, self.charged) = (None, 0);
        self.lists.clear();
        if let Some(memo) = &mut self.memo {
            memo.forget();
        }
        self.execution.environment.has_one_view()
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &Apply,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let new = added(&node.kind, required);
    let may_keep = compiler.algorithm() == (Algorithm::Inline { keeps_answers: true });
    let input = compiler.rows(feed)?;
    let asks_one = matches!(node.kind, ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_));
    let is_test = asks_one && node.scope.early;
    let demand = compiler.demand_port(&input.layout);
    let end = node.scope.end.filter(|_| is_test);
    let hands_on = demand.is_few() && matches!(node.kind, ApplyKind::Semi | ApplyKind::Anti) && end.is_none();
    let (carry, mut output) = compiler.carry(&input.layout, required);
    let of_inner = if end.is_some() {
        NodeDemand::of_each(Stated { number: 0, most: u64::MAX }).thinned()
    } else if is_test {
        NodeDemand::of_each(Stated { number: 0, most: 1 })
    } else {
        inner_demand(&node.kind, compiler.demand)
    };
    let walked: Vec<_> = node.imports.iter().copied().filter(|import| Some(*import) != end).collect();
    let inner = SubQuery::compile(compiler, (&node.inner, of_inner), &walked, &input)?;
    let outer = |variable| Compiler::position(&input.layout, variable);
    let ends = end.map(|end| {
        Ok::<_, ExecuteError>(EndColumns { asked: outer(end)?, met: Compiler::position(&inner.layout, end)? })
    });
    let (ends, imports) = (ends.transpose()?, node.imports.iter().map(|import| outer(*import)));
    let imports = imports.collect::<Result<_, _>>()?;
    let columns = match &node.kind {
        ApplyKind::Inner(_) | ApplyKind::Optional(_) => new.clone(),
        ApplyKind::Collect { column, .. } => vec![*column],
        _ => Vec::new(),
    };
    new.iter().for_each(|variable| {
        output.push(*variable);
    });
    let columns = columns.iter().map(|column| Compiler::position(&inner.layout, *column));
    let plan = Arc::new(Inlining {
        kind: node.kind.clone(),
        carry,
        columns: columns.collect::<Result<_, _>>()?,
        ordered: input.ordered,
        is_test,
        together: node.scope.rows.map_or(u32::MAX, |rows| rows.max(1)) as usize,
        hands_on,
        imports,
        ends,
        keeps_answers: !hands_on && !demand.is_by_row() && may_keep,
        inner,
    });
    let environment = compiler.environment.clone();
    let make = move || Inline::new(plan.clone(), ExecutionContext::new(&environment), demand.clone());
    let fans_out = matches!(node.kind, ApplyKind::Inner(_) | ApplyKind::Optional(_));
    compiler.shares_rows = node.scope.wide;
    let stream = compiler.attach("Inline", &Feed::Rows(input), output, make);
    Ok(Stream { fans_out, ..stream })
}
