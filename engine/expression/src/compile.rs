//! From [`plan::Expr`] to [`Node`]: names are bound once, parameters become constants, and constant parts are computed once.
//!
//! An expression compiled for many runs leaves parameters open instead ([`Binding::Later`]), except those that decide over a prepared form, which is
//! valid only for their present values.
//!
//! Folding runs the interpreter over an empty graph. A part that fails there (a division by zero, a read of the graph) is left unchanged: it fails at
//! evaluation, if a row ever reaches it.

use super::error::{ErrorClass, EvalError};
use super::graph::Names;
use super::interpret::{self, Frame};
use super::layout::Layout;
use super::names_only::NamesOnly;
use super::node::{ConstantSet, Key, Node, ProjectionItem};
use super::repeats::Runs;
use super::scope::{Parameters, Request, Scope};
use super::{metered, select, vector};
use dataflow::watch::{self, Limited, LoopBytes};
use model::batch::Carried;
use model::{Batch, Column, ColumnBuilder, Value};
use plan::expr::{BinaryOperator, MapProjectionItem, Name};
use plan::{Expr, Function, Var};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// An expression ready to run over batches of one layout.
#[derive(Clone, Debug)]
pub struct Compiled {
    root: Node,
    /// The columns it reads, where it is enough to compute it once for rows that are equal in them.
    reads: Option<Arc<[usize]>>,
}

/// Compiles `expr` for rows of this layout.
///
/// # Errors
/// A parameter that was not given, a variable without a column, a sub-query that was not lifted, a constant regular expression
/// that does not parse.
pub fn compile(
    expr: &Expr,
    layout: &Layout,
    names: &dyn Names,
    parameters: &Parameters,
) -> Result<Compiled, EvalError> {
    compile_with(expr, layout, names, &Binding::Now(parameters))
}

/// When parameters are known.
pub enum Binding<'a> {
    /// Now, once and for all.
    Now(&'a Parameters),
    /// With every run anew; the names of those that must stay as they are now are put among the fixed.
    Later(&'a Parameters, &'a RefCell<BTreeSet<Name>>),
}

/// As [`compile`].
///
/// # Errors
/// As [`compile`].
pub fn compile_with(
    expr: &Expr,
    layout: &Layout,
    names: &dyn Names,
    binding: &Binding<'_>,
) -> Result<Compiled, EvalError> {
    let mut compiler = Compiler { layout, names, binding, fixing: false, locals: Vec::new(), late_count: 0 };
    Ok(Compiled::new(compiler.node(expr)?))
}

impl Compiled {
    /// The expression that reads column `position` as it is.
    pub fn column(position: usize) -> Compiled {
        Compiled::new(Node::Column(position))
    }
    fn new(root: Node) -> Compiled {
        let mut columns = Vec::new();
        let is_known = !matches!(root, Node::Column(_)) && root.reads(&mut columns) && !columns.is_empty();
        Compiled { root, reads: is_known.then(|| columns.into()) }
    }
    /// Its value for every row of the batch.
    ///
    /// # Errors
    /// The first row that fails.
    pub fn evaluate(&self, batch: &Batch, scope: &Scope<'_>) -> Result<Column, EvalError> {
        vector::evaluate(&self.root, batch, scope)
    }
    /// As [`Compiled::evaluate`], but a plain column is shared with the batch, row map and all.
    ///
    /// # Errors
    /// The first row that fails.
    pub fn evaluate_carried(&self, batch: &Batch, scope: &Scope<'_>) -> Result<Carried, EvalError> {
        match self.root {
            Node::Column(position) => Ok(batch.column(position).clone()),
            _ => match self.runs(batch) {
                Some(runs) => {
                    let of_runs = self.evaluate(&runs.firsts(batch), scope)?;
                    Ok(runs.spread(Carried::new(of_runs)))
                }
                None => Ok(Carried::new(self.evaluate(batch, scope)?)),
            },
        }
    }
    /// The runs of equal rows in its inputs, where there are few.
    fn runs(&self, batch: &Batch) -> Option<Runs> {
        let columns = self.reads.as_deref()?.iter().map(|position| batch.column(*position));
        Runs::of(columns, batch.len())
    }
    /// As [`Compiled::evaluate_carried`], beside other columns that are kept meanwhile.
    ///
    /// # Errors
    /// The first row that fails; the query has no bytes left.
    pub fn evaluate_kept(
        &self,
        batch: &Batch,
        scope: &Scope<'_>,
        hold: &mut LoopBytes,
    ) -> Result<Carried, EvalError> {
        let carried = self.evaluate_carried(batch, scope)?;
        if !matches!(self.root, Node::Column(_)) {
            metered::keep_column(hold, carried.column())?;
        }
        Ok(carried)
    }
    /// As a predicate: `selected` becomes the rows, in order, for which it is true (not false, not null).
    ///
    /// # Errors
    /// A row that fails, or whose value is neither a truth value nor null.
    pub fn select(&self, batch: &Batch, scope: &Scope<'_>, selected: &mut Vec<u32>) -> Result<(), EvalError> {
        selected.clear();
        selected.extend(0..batch.len() as u32);
        select::narrow(&self.root, batch, scope, selected)
    }
    /// Its value for one row.
    ///
    /// # Errors
    /// If that row fails.
    pub fn evaluate_row(&self, batch: &Batch, row: usize, scope: &Scope<'_>) -> Result<Value, EvalError> {
        interpret::value(&self.root, &mut Frame::new(batch, row), scope)
    }
    /// Every row through the interpreter: the obvious twin of [`Compiled::evaluate`].
    ///
    /// # Errors
    /// The first row that fails.
    pub fn evaluate_slowly(&self, batch: &Batch, scope: &Scope<'_>) -> Result<Column, EvalError> {
        let mut column = ColumnBuilder::new();
        for row in 0..batch.len() {
            column.push(self.evaluate_row(batch, row, scope)?);
        }
        Ok(column.finish())
    }
    /// The value, if it is the same for every row and known.
    pub fn constant(&self) -> Option<&Value> {
        match &self.root {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }
    /// The columns whose vertices and edges it looks at for every row.
    pub fn looks_at(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.root.looks_at(&mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }
    /// The column it reads, if it does nothing else.
    pub fn column_position(&self) -> Option<usize> {
        match self.root {
            Node::Column(position) => Some(position),
            _ => None,
        }
    }
    /// Its compiled form.
    pub fn node(&self) -> &Node {
        &self.root
    }
}

struct Compiler<'a> {
    layout: &'a Layout,
    names: &'a dyn Names,
    binding: &'a Binding<'a>,
    /// Within a part that decides over a prepared form.
    fixing: bool,
    /// Variables bound by enclosing comprehensions, outermost first.
    locals: Vec<Var>,
    /// Constants so far that are computed while the statement runs.
    late_count: usize,
}

impl Compiler<'_> {
    /// Replaces a node whose direct parts are constants by its value, unless it fails or must be asked anew for every row.
    fn fold(&mut self, node: Node) -> Node {
        if !is_foldable(&node) {
            return node;
        }
        if has_late(&node) {
            return self.late(node);
        }
        static NOTHING: LazyLock<Request> = LazyLock::new(|| Request::fixed(Parameters::new(), 0, 0));
        let unit = Batch::unit();
        static EMPTY: NamesOnly =
            NamesOnly::none(|| EvalError::internal("a constant expression does not read the graph"));
        let scope = Scope::new(&EMPTY, &NOTHING);
        let _watched = watch::enter(Limited::new(FOLD_TIME_MAX, FOLD_BYTES_MAX));
        match interpret::value(&node, &mut Frame::new(&unit, 0), &scope) {
            Ok(value) if is_small(&value, &node) => Node::Constant(value),
            Ok(_) => self.late(node),
            Err(error) if error.class == ErrorClass::Stopped => self.late(node),
            // It fails when a row reaches it, if one does.
            Err(_) => node,
        }
    }

    /// A constant that is computed while the statement runs.
    fn late(&mut self, node: Node) -> Node {
        self.late_count += 1;
        Node::Late(self.late_count - 1, Box::new(node))
    }

    /// A chain of operators is as high as it is long: it is gone down without recursion.
    fn node(&mut self, expr: &Expr) -> Result<Node, EvalError> {
        let (mut chain, mut first) = (Vec::new(), expr);
        while let Expr::Binary(operator, a, b) = first
            && !matches!(operator, BinaryOperator::In | BinaryOperator::Matches)
        {
            chain.push((*operator, b));
            first = a;
        }
        let plain = prepare(self.plain(first)?)?;
        let mut node = self.fold(plain);
        while let Some((operator, b)) = chain.pop() {
            let joined = prepare(Node::Binary(operator, Box::new(node), self.boxed(b)?))?;
            node = self.fold(joined);
        }
        Ok(node)
    }

    fn boxed(&mut self, expr: &Expr) -> Result<Box<Node>, EvalError> {
        Ok(Box::new(self.node(expr)?))
    }

    fn maybe(&mut self, expr: &Option<Box<Expr>>) -> Result<Option<Box<Node>>, EvalError> {
        expr.as_ref().map(|expr| self.boxed(expr)).transpose()
    }

    fn all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Result<Vec<Node>, EvalError> {
        exprs.into_iter().map(|expr| self.node(expr)).collect()
    }

    fn plain(&mut self, expr: &Expr) -> Result<Node, EvalError> {
        Ok(match expr {
            Expr::Literal(constant) => Node::Constant(constant.0.clone()),
            Expr::Parameter(name) => self.parameter(name)?,
            Expr::Variable(variable) => self.variable(*variable)?,
            Expr::Property(subject, key) => Node::Property(self.boxed(subject)?, self.key(key)),
            Expr::HasLabels(subject, labels) => Node::HasLabels(self.boxed(subject)?, labels.clone()),
            Expr::Unary(operator, a) => Node::Unary(*operator, self.boxed(a)?),
            Expr::Binary(operator @ (BinaryOperator::In | BinaryOperator::Matches), a, b) => {
                let a = self.boxed(a)?;
                let outer = std::mem::replace(&mut self.fixing, true);
                let b = self.boxed(b);
                self.fixing = outer;
                Node::Binary(*operator, a, b?)
            }
            Expr::Binary(operator, a, b) => Node::Binary(*operator, self.boxed(a)?, self.boxed(b)?),
            Expr::Call(function, arguments) => Node::Call(*function, self.all(arguments)?),
            Expr::List(elements) => Node::List(self.all(elements)?),
            Expr::Map(entries) => Node::Map(
                entries.iter().map(|(name, value)| Ok((name.clone(), self.node(value)?))).collect::<Result<
                    _,
                    EvalError,
                >>(
                )?,
            ),
            Expr::Index(subject, index) => Node::Index(self.boxed(subject)?, self.boxed(index)?),
            Expr::Slice(subject, from, to) => {
                Node::Slice(self.boxed(subject)?, self.maybe(from)?, self.maybe(to)?)
            }
            Expr::Case { operand, arms, otherwise } => Node::Case {
                operand: self.maybe(operand)?,
                arms: arms
                    .iter()
                    .map(|(when, then)| Ok((self.node(when)?, self.node(then)?)))
                    .collect::<Result<_, EvalError>>()?,
                otherwise: self.maybe(otherwise)?,
            },
            Expr::Comprehension { .. } | Expr::Quantified { .. } | Expr::Reduce { .. } => {
                self.walking(expr)?
            }
            Expr::MapProjection(subject, items) => {
                let items = items.iter().map(|item| self.projection_item(item)).collect::<Result<_, _>>()?;
                Node::MapProjection(self.boxed(subject)?, items)
            }
            Expr::PathOf(parts) => Node::PathOf(self.variables(parts)?),
            Expr::EdgesDistinct(parts) => Node::EdgesDistinct(self.variables(parts)?),
            Expr::Subquery(_) => {
                return Err(EvalError::internal("a sub-query reached execution without having been lifted"));
            }
        })
    }

    /// Expressions that walk a list with a variable of their own; the list itself is outside that variable's reach.
    fn walking(&mut self, expr: &Expr) -> Result<Node, EvalError> {
        Ok(match expr {
            Expr::Comprehension { variable, list, predicate, map } => {
                let list = self.boxed(list)?;
                let local = self.bind(*variable);
                let (predicate, map) = (self.maybe(predicate), self.maybe(map));
                self.locals.truncate(local);
                Node::Comprehension { local, list, predicate: predicate?, map: map? }
            }
            Expr::Quantified { quantifier, variable, list, predicate } => {
                let list = self.boxed(list)?;
                let local = self.bind(*variable);
                let predicate = self.boxed(predicate);
                self.locals.truncate(local);
                Node::Quantified { quantifier: *quantifier, local, list, predicate: predicate? }
            }
            Expr::Reduce { accumulator, initial, variable, list, body } => {
                let (initial, list) = (self.boxed(initial)?, self.boxed(list)?);
                let accumulator = self.bind(*accumulator);
                let local = self.bind(*variable);
                let body = self.boxed(body);
                self.locals.truncate(accumulator);
                Node::Reduce { accumulator, initial, local, list, body: body? }
            }
            other => return Err(EvalError::internal(format!("{other:?} does not walk a list"))),
        })
    }

    fn bind(&mut self, variable: Var) -> usize {
        self.locals.push(variable);
        self.locals.len() - 1
    }

    fn variable(&self, variable: Var) -> Result<Node, EvalError> {
        if let Some(local) = self.locals.iter().rposition(|local| *local == variable) {
            return Ok(Node::Local(local));
        }
        let position = self.layout.position(variable);
        let missing = || EvalError::internal(format!("variable {} has no column here", variable.0));
        position.map(Node::Column).ok_or_else(missing)
    }

    fn variables(&self, variables: &[Var]) -> Result<Vec<Node>, EvalError> {
        variables.iter().map(|variable| self.variable(*variable)).collect()
    }

    fn parameter(&self, name: &Name) -> Result<Node, EvalError> {
        let (Binding::Now(parameters) | Binding::Later(parameters, _)) = self.binding;
        let value = parameters.get(name).ok_or_else(|| EvalError::parameter_missing(name))?;
        match self.binding {
            Binding::Later(..) if !self.fixing => return Ok(Node::Parameter(name.clone())),
            Binding::Later(_, fixed) => _ = fixed.borrow_mut().insert(name.clone()),
            Binding::Now(_) => {}
        }
        Ok(Node::Constant(value.clone()))
    }

    fn key(&self, name: &Name) -> Key {
        Key::new(name.clone(), self.names.key(name))
    }

    fn projection_item(&mut self, item: &MapProjectionItem) -> Result<ProjectionItem, EvalError> {
        Ok(match item {
            MapProjectionItem::AllProperties => ProjectionItem::AllProperties,
            MapProjectionItem::Property(name) => ProjectionItem::Property(self.key(name)),
            MapProjectionItem::Entry(name, value) => ProjectionItem::Entry(name.clone(), self.node(value)?),
        })
    }
}

/// Forms that are quicker because an operand is known.
fn prepare(node: Node) -> Result<Node, EvalError> {
    Ok(match node {
        Node::Binary(BinaryOperator::In, value, list) => match *list {
            Node::Constant(Value::List(elements)) => Node::InSet(value, Arc::new(ConstantSet::new(elements))),
            list => Node::Binary(BinaryOperator::In, value, Box::new(list)),
        },
        Node::Binary(BinaryOperator::Matches, text, pattern) => match *pattern {
            Node::Constant(Value::String(pattern)) => {
                Node::MatchesConstant(text, Arc::new(super::operators::full_match(&pattern)?))
            }
            pattern => Node::Binary(BinaryOperator::Matches, text, Box::new(pattern)),
        },
        other => other,
    })
}

/// Time that computing one constant may take before the statement runs.
const FOLD_TIME_MAX: Duration = Duration::from_millis(5);

/// Bytes that computing one constant may hold; this bounds its time too, for bytes are held before they are filled.
const FOLD_BYTES_MAX: u64 = 64 << 10;

/// Bytes that a constant may take beyond twice its source. A statement has as many constants as it has text, and they live as long as its plan: a
/// larger one is computed when the statement runs, and charged to it.
const FOLDED_BYTES_MAX: usize = 512;

fn is_small(value: &Value, node: &Node) -> bool {
    let mut bytes = 0usize;
    parts(node, &mut |part| {
        if let Node::Constant(value) = part {
            bytes = bytes.saturating_add(size_of::<Value>() + value.heap_bytes());
        }
    });
    value.heap_bytes() <= FOLDED_BYTES_MAX + 2 * bytes
}

fn has_late(node: &Node) -> bool {
    let mut found = false;
    parts(node, &mut |part| found |= matches!(part, Node::Late(..)));
    found
}

/// Calls `part` with each direct part of a node that may be folded.
fn parts(node: &Node, part: &mut dyn FnMut(&Node)) {
    match node {
        Node::List(elements) | Node::Call(_, elements) => elements.iter().for_each(part),
        Node::Map(entries) => entries.iter().for_each(|(_, value)| part(value)),
        Node::Binary(_, a, b) | Node::Index(a, b) => [a, b].into_iter().for_each(|node| part(node)),
        Node::Unary(_, a) | Node::Property(a, _) => part(a),
        Node::InSet(a, _) | Node::MatchesConstant(a, _) => part(a),
        Node::Slice(a, from, to) => {
            part(a);
            from.iter().chain(to).for_each(|bound| part(bound));
        }
        _ => {}
    }
}

fn is_foldable(node: &Node) -> bool {
    let constant = |node: &Node| matches!(node, Node::Constant(_) | Node::Late(..));
    match node {
        Node::Unary(_, a) | Node::InSet(a, _) | Node::MatchesConstant(a, _) => constant(a),
        Node::Property(a, _) => {
            constant(a) && !matches!(**a, Node::Constant(Value::Vertex(_) | Value::Edge(_)) | Node::Late(..))
        }
        Node::Binary(_, a, b) | Node::Index(a, b) => constant(a) && constant(b),
        Node::Call(function, arguments) => {
            !is_volatile(*function, arguments) && arguments.iter().all(constant)
        }
        Node::List(elements) => elements.iter().all(constant),
        Node::Map(entries) => entries.iter().all(|(_, value)| constant(value)),
        Node::Slice(a, from, to) => constant(a) && from.iter().chain(to).all(|part| constant(part)),
        _ => false,
    }
}

/// Does a call of this function depend on more than its arguments?
fn is_volatile(function: Function, arguments: &[Node]) -> bool {
    let name = function.name();
    let reads_clock = ["transaction", "statement", "realtime"].iter().any(|end| name.ends_with(end));
    match function {
        Function::Rand | Function::RandomUuid | Function::Timestamp => true,
        Function::Date
        | Function::LocalTime
        | Function::Time
        | Function::LocalDateTime
        | Function::DateTime => !matches!(arguments, [Node::Constant(Value::String(_))]),
        _ => reads_clock || (name.ends_with("truncate") && arguments.len() < 2),
    }
}
