//! Merge: for each row in turn the embeddings of a pattern, or, where there is none, creates one.
//!
//! ```text
//!   MergeOpen ─ some rows ─► inner plan ─► MergeClose (creates, sets) ─► Hold
//!       ▲                                      │
//!       └───────── how many rows are done ─────┘
//! ```
//!
//! A row must see the writes of earlier rows. Matching one row at a time would be slow, so where the pattern is simple (one vertex, or one edge
//! between bound ends) and ON CREATE and ON MATCH do not change the properties it matches by, a batch is matched at once: a created vertex or edge
//! can then only match later rows that mean the same, and those are found by comparing their keys. An edge wanted in the other direction ends the
//! batch, and the rest is matched anew. All other patterns go row by row. A pattern that is matched by a pipeline needs no scope: see `inline`.

use crate::ExecuteError;
use crate::compile::{Compiler, Inside};
use crate::demand::number;
use crate::limits::MERGE_ROWS_MAX;
use crate::operator::apply;
use crate::operator::barrier;
use crate::operator::create::{Created, Creation, Shape};
use crate::operator::set::Changes;
use crate::operator::write::Dirty;
use crate::rows::Rows;
use crate::scope_rows::ScopeRows;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Intake, TakingIn, Try, charged};
use dataflow::{Context, Flow, Operator, Outcome, Route, Tag, VertexOptions};
use expression::{Compiled, EvalError, Layout};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::compare::GroupKey;
use model::{Batch, Column, Nulls, Value};
use plan::VarSet;
use plan::physical::Algorithm;
use plan::{Expr, Var};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

mod inline;

struct Merging {
    /// Columns of the outer row that the inner plan reads.
    imports: Vec<usize>,
    arguments: usize,
    rows_max: usize,
    creation: Creation,
    on_create: Changes,
    on_match: Changes,
    paths: Vec<Compiled>,
    /// Columns of the inner rows that hold the outer row's number and the pattern's variables.
    inner_row: usize,
    inner: Vec<usize>,
    /// Columns of the whole row (outer, pattern, paths) that are kept.
    carry: Vec<usize>,
    names: Vec<String>,
    scope_rows: Arc<ScopeRows>,
    /// Rows of the last instance that are done.
    done: AtomicUsize,
}

/// Gathers all rows, then opens one instance after another.
struct MergeOpen {
    plan: Arc<Merging>,
    /// With the bytes charged for each.
    waiting: VecDeque<(Batch, usize)>,
    place: usize,
    /// An instance is open.
    open: bool,
}

impl MergeOpen {
    fn open(&mut self, context: &mut Context<'_, Rows>) {
        let (batch, _) = self.waiting.front().expect("the caller looked");
        let rows = crate::columns::piece(batch, self.place, self.plan.rows_max);
        let tag = context.open_instance();
        self.plan.scope_rows.open(context.executor(), tag, rows.len(), 0);
        let mut argument =
            Batch::new(vec![Column::Int((0..rows.len() as i64).collect(), Nulls::none())], rows.len());
        self.plan.imports.iter().for_each(|at| argument.push_carried(rows.column(*at).clone()));
        for output in 0..self.plan.arguments {
            context.send_tagged(output, tag, Rows(argument.clone()));
        }
        context.send_tagged(self.plan.arguments, tag, Rows(rows));
        (0..=self.plan.arguments).for_each(|output| context.end_instance(output, tag));
        self.open = true;
    }
}

impl Intake for MergeOpen {
    fn take(&mut self, batch: Batch, context: &mut Context<'_, Rows>) -> Try<()> {
        self.waiting.push_back(charged(batch, context)?);
        Ok(())
    }
    fn run(&mut self, complete: bool, context: &mut Context<'_, Rows>) -> Outcome {
        if !complete {
            return Ok(Flow::Ready);
        }
        loop {
            if self.open {
                if self.plan.scope_rows.live(context.executor()) > 0 {
                    return Ok(Flow::Waiting);
                }
                self.open = false;
                self.place += self.plan.done.swap(0, Ordering::AcqRel).max(1);
                let place = self.place;
                if let Some((_, charged)) = self.waiting.pop_front_if(|(batch, _)| place >= batch.len()) {
                    context.release(charged);
                    self.place = 0;
                }
            }
            if self.waiting.is_empty() {
                return Ok(Flow::Ready);
            }
            self.open(context);
        }
    }
}

/// The key of a row: equal keys mean the same vertex or edge.
#[derive(PartialEq, Eq, Hash, Clone)]
struct Ask(GroupKey);

fn ask(shape: &Shape, ends: &[(Value, Value)]) -> Result<Ask, EvalError> {
    let maps = shape.vertices.iter().chain(&shape.edges).cloned();
    let ends = ends.iter().flat_map(|(source, target)| [source.clone(), target.clone()]);
    Ok(Ask(GroupKey(Value::try_list(maps.chain(ends).collect())?)))
}

fn swapped(ends: &[(Value, Value)]) -> Vec<(Value, Value)> {
    ends.iter().map(|(source, target)| (target.clone(), source.clone())).collect()
}

/// Takes the rows of one instance with their matches, and writes.
struct MergeClose {
    plan: Arc<Merging>,
    outer: Option<Batch>,
    /// By outer row, the pattern's values of each match.
    matches: Vec<Vec<Created>>,
    execution: ExecutionContext,
    dirty: Dirty,
    made: HashMap<Ask, Created, FixedState>,
    output: Vec<Vec<Value>>,
    /// The next row to work off, once all matches have come.
    next: usize,
    ending: bool,
}

impl MergeClose {
    fn new(plan: Arc<Merging>, execution: ExecutionContext) -> MergeClose {
        MergeClose {
            plan,
            outer: None,
            matches: Vec::new(),
            execution,
            dirty: Dirty::default(),
            made: HashMap::default(),
            output: Vec::new(),
            next: 0,
            ending: false,
        }
    }
    /// One row with the pattern's values behind it.
    fn whole(&self, outer: &Batch, row: usize, values: &Created) -> Batch {
        let mut whole = if outer.width() == 0 { Batch::unit() } else { outer.select(vec![row as u32]) };
        values.iter().for_each(|value| whole.push(Column::Constant(value.clone(), 1)));
        whole
    }
    fn emit(&mut self, whole: Batch) -> Try<()> {
        let mut whole = whole;
        for path in &self.plan.paths {
            let value = path.evaluate_row(&whole, 0, &self.execution.scope())?;
            whole.push(Column::Constant(value, 1));
        }
        self.output.push(self.plan.carry.iter().map(|at| whole.get(0, *at)).collect());
        Ok(())
    }
    fn set(&mut self, on_create: bool, whole: &Batch) -> Try<()> {
        let plan = self.plan.clone();
        let changes = if on_create { &plan.on_create } else { &plan.on_match };
        changes.apply(whole, 0, &mut self.execution, &mut self.dirty)
    }
    /// Works one row off; false if it must be matched anew first.
    fn row(&mut self, outer: &Batch, row: usize) -> Try<bool> {
        let plan = self.plan.clone();
        let shape = plan.creation.shape(outer, row, &mut self.execution, &mut self.dirty)?;
        let ends = plan.creation.ends(outer, row);
        check(&shape, &ends, &plan)?;
        let ask_this = ask(&shape, &ends)?;
        let mut found = std::mem::take(&mut self.matches[row]);
        if found.is_empty() {
            if let Some(made) = self.made.get(&ask_this) {
                found.push(made.clone());
            } else if !ends.is_empty() && self.made.contains_key(&ask(&shape, &swapped(&ends))?) {
                return Ok(false);
            }
        }
        if found.is_empty() {
            let created = plan.creation.create(shape, outer, row, &self.execution, &mut self.dirty)?;
            let whole = self.whole(outer, row, &created);
            self.made.insert(ask_this, created);
            self.set(true, &whole)?;
            self.emit(whole)?;
            return Ok(true);
        }
        for values in found {
            let whole = self.whole(outer, row, &values);
            self.set(false, &whole)?;
            self.emit(whole)?;
        }
        Ok(true)
    }
    /// Takes the matches in one batch of inner rows.
    fn matched(&mut self, batch: &Batch) {
        for row in 0..batch.len() {
            let number = number(batch, self.plan.inner_row, row);
            self.matches[number].push(self.plan.inner.iter().map(|at| batch.get(row, *at)).collect());
        }
    }
    /// A slice of the rows: all worked off, or as many as can be before the rest is matched anew?
    fn rows(&mut self, context: &Context<'_, Rows>) -> Try<bool> {
        let Some(outer) = self.outer.take() else { return Ok(true) };
        while self.next < outer.len() && self.row(&outer, self.next)? {
            self.next += 1;
            if self.next < outer.len() && context.should_yield() {
                self.outer = Some(outer);
                return Ok(false);
            }
        }
        Ok(true)
    }
    /// As above, and makes the writes visible.
    fn work(&mut self, context: &Context<'_, Rows>) -> Try<bool> {
        if !self.rows(context)? {
            return Ok(false);
        }
        self.plan.done.store(self.next, Ordering::Release);
        // What the next rows are matched against.
        self.execution.refresh()?;
        Ok(true)
    }
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        if !self.ending {
            return Ok(Flow::Ready);
        }
        if !self.work(context)? {
            return Ok(Flow::Again);
        }
        let rows = std::mem::take(&mut self.output);
        if !rows.is_empty() {
            context.send(Rows(Batch::from_rows(self.plan.carry.len(), &rows)));
        }
        self.plan.scope_rows.close(context.executor(), context.tag());
        Ok(Flow::Ready)
    }
}

/// A null where the pattern needs a value would never be matched again, so it is refused.
fn check(shape: &Shape, ends: &[(Value, Value)], plan: &Merging) -> Try<()> {
    if ends.iter().any(|(source, target)| source.is_null() || target.is_null()) && plan.creation.is_simple() {
        return Err(ExecuteError::MergeNull("an end of the Relationship is null".into()).into());
    }
    for (map, name) in shape.vertices.iter().chain(&shape.edges).zip(&plan.names) {
        if let Value::Map(map) = map
            && let Some((key, _)) = map.iter().find(|(_, value)| value.is_null())
        {
            return Err(ExecuteError::MergeNull(format!("property `{key}` of {name} is null")).into());
        }
    }
    Ok(())
}

impl Operator<Rows> for MergeClose {
    fn receive(&mut self, port: usize, Rows(batch): Rows, _: &mut Context<'_, Rows>) -> Outcome {
        if port == 0 {
            self.matches = vec![Vec::new(); batch.len()];
            self.outer = Some(batch);
            return Ok(Flow::Ready);
        }
        self.matched(&batch);
        Ok(Flow::Ready)
    }
    fn on_instance_end(&mut self, _: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        self.ending = true;
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
}

fn pattern(node: &plan::algebra::Merge) -> Vec<Var> {
    let vertices = node.vertices.iter().map(|vertex| vertex.variable);
    vertices.chain(node.edges.iter().map(|edge| edge.variable)).collect()
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Merge,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    compiler.transaction()?;
    let input = compiler.rows(feed)?;
    if matches!(compiler.algorithm(), Algorithm::Match { inline: true, .. }) {
        return inline::compile(compiler, node, required, &input);
    }
    let open = compiler.options(1);
    let scope_rows = Arc::new(ScopeRows::new(compiler.executors));
    let row = compiler.fresh();
    let mut argument = Layout::new(&[row]);
    node.imports.iter().for_each(|variable| {
        argument.push(*variable);
    });
    // The inner plan is compiled before the vertex that opens its scope can be made, so that one is told its plan later.
    let plan: Arc<std::sync::OnceLock<Arc<Merging>>> = Arc::default();
    let opener = plan.clone();
    let vertex = compiler.vertex("MergeOpen", VertexOptions { must_finish: true, ..open }, move || {
        let plan = opener.get().expect("set before the graph is submitted").clone();
        TakingIn::new(MergeOpen { plan, waiting: VecDeque::new(), place: 0, open: false })
    });
    compiler.gather(&input, vertex, 0);
    let stream =
        Stream { vertex, output: 0, layout: argument, parallel: false, ordered: true, fans_out: false };
    let (inner, options) = inside(compiler, node, &stream, row, &scope_rows)?;
    let inner_row = Compiler::position(&inner.layout, row)?;
    let found = (&inner.layout, inner_row);
    let (merging, layout) = merging(compiler, node, required, &input.layout, found, scope_rows)?;
    let merging = plan.get_or_init(|| Arc::new(merging)).clone();
    let (environment, arguments) = (compiler.environment.clone(), merging.arguments);
    let close = compiler.vertex("Merge", options, move || {
        MergeClose::new(merging.clone(), ExecutionContext::new(&environment))
    });
    compiler.builder.connect(vertex, arguments, close, 0, Route::Local);
    compiler.builder.connect(inner.vertex, inner.output, close, 1, Route::Local);
    let stream =
        Stream { vertex: close, output: 0, layout, parallel: false, ordered: input.ordered, fans_out: false };
    barrier::attach(compiler, stream)
}

/// Compiles the inner plan in a scope of its own.
fn inside(
    compiler: &mut Compiler,
    node: &plan::algebra::Merge,
    argument: &Stream,
    row: Var,
    rows: &Arc<ScopeRows>,
) -> Result<(Stream, VertexOptions), ExecuteError> {
    let scope = compiler.builder.scope(compiler.options(1).scope);
    let inside = Inside { scope, row, argument: argument.clone(), rows: rows.clone(), stated: None };
    let outside = compiler.inside.replace(inside);
    let inner = compiler.plan(&node.inner);
    let options = VertexOptions { port_order: 1, must_finish: true, ..compiler.options(2) };
    compiler.inside = outside;
    Ok((inner?, options))
}

fn merging(
    compiler: &Compiler,
    node: &plan::algebra::Merge,
    required: &VarSet,
    outer: &Layout,
    (inner, inner_row): (&Layout, usize),
    scope_rows: Arc<ScopeRows>,
) -> Result<(Merging, Layout), ExecuteError> {
    let positions = |variables: &[Var], layout: &Layout| -> Result<Vec<usize>, ExecuteError> {
        variables.iter().map(|variable| Compiler::position(layout, *variable)).collect()
    };
    let creation = Creation::new(compiler, &node.vertices, &node.edges, outer)?;
    let pattern = pattern(node);
    let mut whole = outer.clone();
    pattern.iter().for_each(|variable| {
        whole.push(*variable);
    });
    let on_create = Changes::new(compiler, &node.on_create, &whole)?;
    let on_match = Changes::new(compiler, &node.on_match, &whole)?;
    let mut paths = Vec::new();
    for (path, parts) in &node.paths {
        paths.push(compiler.expression(&Expr::PathOf(parts.clone()), &whole)?);
        whole.push(*path);
    }
    let (carry, layout) = compiler.carry(&whole, required);
    let batched = matches!(compiler.algorithm(), Algorithm::Match { batched: true, .. });
    debug_assert!(!batched || creation.is_simple(), "only simple patterns are matched many rows at once");
    let merging = Merging {
        imports: positions(&node.imports, outer)?,
        arguments: apply::arguments(&node.inner),
        rows_max: if batched { MERGE_ROWS_MAX } else { 1 },
        creation,
        on_create,
        on_match,
        paths,
        inner_row,
        inner: positions(&pattern, inner)?,
        carry: carry.to_vec(),
        names: names(node),
        scope_rows,
        done: AtomicUsize::new(0),
    };
    Ok((merging, layout))
}

fn names(node: &plan::algebra::Merge) -> Vec<String> {
    let vertices = node.vertices.iter().map(|vertex| format!("a Node (:{})", vertex.labels.join(":")));
    vertices.chain(node.edges.iter().map(|edge| format!("a Relationship [:{}]", edge.edge_type))).collect()
}
