//! From a plan to the shape of a standing query, or to the reason why it cannot be one.
//!
//! Idea: an inner plan of an `Apply` is run for the distinct values of its imports, and these values are carried through the inner plan as columns
//! (through projections, groupings and orderings alike), so that its rows can be joined back. The parameters of the statement are carried in the same
//! way, from the outermost input: so one network answers for any number of arguments.

use crate::StandingError;
use crate::demand::{Demand, over_columns, reads_ends, unsteady};
use crate::shape::{Attribute, Call, Combining, OutputColumn, Shape, Step, StepKind, StepNo};
use model::Value;
use plan::algebra::*;
use plan::expr::Name;
use plan::{AggregateFunction, Expr, Statement, StatementKind, Var};
use std::collections::{HashMap, HashSet};
use store::Snapshot;

mod late;
mod lengths;
mod pattern;
mod rounds;
mod total;
mod unroll;

/// The steps that compute a statement's answer; statistics of `snapshot` decide the orders of joins.
///
/// # Errors
/// [`StandingError::Unsupported`], which names the part that cannot be maintained.
pub(crate) fn analyse(statement: &Statement, snapshot: &Snapshot) -> Result<Shape, StandingError> {
    let StatementKind::Query { plan, columns } = &statement.kind else {
        return Err(StandingError::unsupported("a command"));
    };
    if statement.writes() {
        return Err(StandingError::unsupported_but(
            "a statement that writes",
            "it may only MATCH and RETURN",
        ));
    }
    if statement.as_of.is_some() {
        return Err(StandingError::unsupported("the past (AS OF)"));
    }
    if columns.is_empty() {
        return Err(StandingError::unsupported_but("a statement without RETURN", "end it with RETURN"));
    }
    let answer: Vec<Var> = columns.iter().map(|(_, var)| *var).collect();
    let mut plan = plan.clone();
    let mut next = statement.variables.len() as u32;
    let (lengths, lengths_read) = lengths::lengths(&mut plan, &answer, &mut next)?;
    // Behind the lengths, which are plain columns then: a path of variable length cannot be kept.
    late::delay(&mut plan);
    let mut fresh = || {
        next += 1;
        Var(next - 1)
    };
    let parameters: HashMap<Name, Var> =
        statement.parameters.iter().map(|name| (name.clone(), fresh())).collect();
    let layout = statement.parameters.iter().map(|name| parameters[name]).collect::<Vec<_>>();
    let mut analysis = Analysis {
        snapshot,
        demand: Demand::of(&plan, &answer),
        lengths,
        lengths_read,
        parameters,
        attributes: HashMap::new(),
        next,
        steps: vec![Step { kind: StepKind::Arguments, layout: layout.clone() }],
        orders: HashMap::new(),
    };
    let context = Context { argument: 0, carried: layout, sets: false };
    let output = analysis.step(&plan, &context)?;
    let output = analysis.shown(output, &answer);
    let position = |analysis: &Analysis<'_>, var: Var| {
        analysis.steps[output].layout.iter().position(|other| *other == var)
    };
    let columns = columns.iter().map(|(title, var)| {
        let column = position(&analysis, *var)
            .ok_or_else(|| StandingError::unsupported(format!("the column {title}")))?;
        let content = analysis.attributes.get(&(*var, Attribute::Content)).copied();
        let content = content.and_then(|content| position(&analysis, content));
        Ok(OutputColumn { title: title.clone(), column, content })
    });
    let columns = columns.collect::<Result<_, StandingError>>()?;
    let arguments = statement.parameters.iter().map(|name| {
        let place = position(&analysis, analysis.parameters[name]);
        place
            .map(|place| (name.clone(), place))
            .ok_or_else(|| StandingError::unsupported(format!("the parameter ${name}")))
    });
    let arguments = arguments.collect::<Result<_, StandingError>>()?;
    Ok(Shape { steps: analysis.steps, output, columns, arguments })
}

/// Where an inner plan starts.
struct Context {
    /// The step whose rows it is run for.
    argument: StepNo,
    /// Columns that every row must keep.
    carried: Vec<Var>,
    /// Does it make no difference above how often a row comes?
    sets: bool,
}

impl Context {
    /// The same, where repeats may matter or not.
    fn with_sets(&self, sets: bool) -> Context {
        Context { argument: self.argument, carried: self.carried.clone(), sets }
    }
}

struct Analysis<'a> {
    snapshot: &'a Snapshot,
    demand: Demand,
    parameters: HashMap<Name, Var>,
    attributes: HashMap<(Var, Attribute), Var>,
    /// Where the length of a run is put, by the run's variable.
    lengths: HashMap<Var, Var>,
    /// Those of them that an expression reads.
    lengths_read: HashSet<Var>,
    next: u32,
    steps: Vec<Step>,
    /// By which columns (variable, largest first) the rows of a step are ordered, where a list may be made of them.
    orders: HashMap<StepNo, Vec<(Var, bool)>>,
}

impl Analysis<'_> {
    fn add(&mut self, kind: StepKind, layout: Vec<Var>) -> StepNo {
        self.steps.push(Step { kind, layout });
        self.steps.len() - 1
    }
    /// A variable of its own.
    fn fresh(&mut self) -> Var {
        self.next += 1;
        Var(self.next - 1)
    }
    fn layout(&self, step: StepNo) -> &[Var] {
        &self.steps[step].layout
    }
    fn attribute(&mut self, var: Var, attribute: &Attribute) -> Var {
        let Analysis { attributes, next, .. } = self;
        *attributes.entry((var, attribute.clone())).or_insert_with(|| {
            *next += 1;
            Var(*next - 1)
        })
    }
    /// Does this column hold the names of labels or of a type?
    fn is_names(&self, column: Var) -> bool {
        self.attributes.iter().any(|((_, attribute), var)| *var == column && *attribute == Attribute::Labels)
    }
    /// The expression over the columns of `layout`.
    fn expression(&self, expr: &Expr, layout: &[Var]) -> Result<Expr, StandingError> {
        if let Some(function) = unsteady(expr) {
            return Err(StandingError::unsupported_but(
                format!("{function}(), which differs from moment to moment,"),
                "pass the time as a parameter or store it as a property",
            ));
        }
        if reads_ends(expr) {
            return Err(StandingError::unsupported_but(
                "a property or label of startNode() or endNode()",
                "give the node a name in the pattern and read it there",
            ));
        }
        let column = |var: Var, attribute: &Attribute| {
            let column = self.attributes.get(&(var, attribute.clone())).copied();
            column.filter(|column| layout.contains(column))
        };
        Ok(over_columns(expr, &column, &|name| self.parameters.get(name).copied()))
    }

    /// The rows without columns that only other steps needed: the columns of the answer.
    fn shown(&mut self, step: StepNo, answer: &[Var]) -> StepNo {
        let contents = answer.iter().filter_map(|var| self.attributes.get(&(*var, Attribute::Content)));
        let shown = answer.iter().chain(contents).chain(self.parameters.values()).copied();
        let mut layout: Vec<Var> = Vec::new();
        for var in shown {
            if self.layout(step).contains(&var) && !layout.contains(&var) {
                layout.push(var);
            }
        }
        if layout == self.layout(step) {
            return step;
        }
        let items = layout.iter().copied().map(Expr::Variable).collect();
        self.add(StepKind::Map { input: step, items }, layout)
    }
    fn step(&mut self, plan: &Plan, context: &Context) -> Result<StepNo, StandingError> {
        match plan {
            Plan::Unit | Plan::Argument(_) => Ok(context.argument),
            Plan::Match(_) | Plan::Filter(_) => self.pattern(plan, context),
            Plan::Extend(node) => {
                let input = self.step(&node.input, context)?;
                let kept = self.layout(input).to_vec();
                let items =
                    kept.iter().map(|var| (*var, Expr::Variable(*var))).chain(node.items.iter().cloned());
                let extended = self.map(input, items.collect(), &[])?;
                Ok(self.ordered_as(extended, input))
            }
            Plan::Project(node) => {
                let input = self.step(&node.input, context)?;
                let by = self.orders.get(&input).into_iter().flatten().map(|(key, _)| *key);
                let carried: Vec<Var> = context.carried.iter().copied().chain(by).collect();
                let projected = self.map(input, node.items.clone(), &carried)?;
                Ok(self.ordered_as(projected, input))
            }
            Plan::Distinct(node) => {
                let input = self.step(&node.input, &context.with_sets(true))?;
                let items = node.columns.iter().map(|var| (*var, Expr::Variable(*var))).collect();
                let input = self.map(input, items, &context.carried)?;
                Ok(self.distinct(input, context))
            }
            Plan::Aggregate(node) => self.aggregate(node, context),
            Plan::Sort(node) => {
                let input = self.step(&node.input, context)?;
                self.sorted(input, node)
            }
            Plan::Limit(_) | Plan::Skip(_) => self.top(plan, context),
            Plan::Unwind(node) => {
                let input = self.step(&node.input, context)?;
                let list = self.expression(&node.list, self.layout(input))?;
                let layout = [self.layout(input), &[node.variable]].concat();
                Ok(self.add(StepKind::Unwind { input, list }, layout))
            }
            Plan::Join(node) => {
                let (left, right) = (self.step(&node.build, context)?, self.step(&node.probe, context)?);
                Ok(self.combine(
                    left,
                    right,
                    &[node.on.clone(), context.carried.clone()].concat(),
                    CombineAs::Inner,
                ))
            }
            Plan::Union(node) => self.union(node, context),
            Plan::Apply(node) => self.apply(node, context),
            Plan::CallProcedure(node) => Err(StandingError::unsupported(format!("CALL {}", node.name))),
            Plan::ExpandPattern(_) => Err(StandingError::unsupported_but(
                "a quantified path pattern of several parts",
                "write its lengths out, or use a variable-length relationship",
            )),
            other => Err(StandingError::unsupported(format!("the operator {}", plan::explain::name(other)))),
        }
    }

    /// Rows as DISTINCT sees them, for each set of carried columns.
    fn distinct(&mut self, input: StepNo, context: &Context) -> StepNo {
        let layout = self.layout(input).to_vec();
        let exact = places(&layout, &context.carried);
        self.add(StepKind::Distinct { input, grouped: layout.len(), exact }, layout)
    }
    /// Distinct rows, compared exactly.
    fn once(&mut self, input: StepNo) -> StepNo {
        let layout = self.layout(input).to_vec();
        self.add(StepKind::Distinct { input, grouped: 0, exact: Vec::new() }, layout)
    }
    /// Computes these columns, and with each that is an entity under a new name its attributes.
    fn map(
        &mut self,
        input: StepNo,
        items: Vec<(Var, Expr)>,
        carried: &[Var],
    ) -> Result<StepNo, StandingError> {
        let from = self.layout(input).to_vec();
        let (mut layout, mut computed) = (Vec::new(), Vec::new());
        let mut keep = |var: Var, expr: Expr| {
            if !layout.contains(&var) {
                layout.push(var);
                computed.push(expr);
            }
        };
        for (var, expr) in &items {
            keep(*var, self.expression(expr, &from)?);
            let Expr::Variable(old) = expr else { continue };
            let wanted: Vec<Attribute> = self.demand.on(*var).cloned().collect();
            for attribute in wanted {
                let held = self.attributes.get(&(*old, attribute.clone())).copied();
                if let Some(held) = held.filter(|held| from.contains(held)) {
                    keep(self.attribute(*var, &attribute), Expr::Variable(held));
                }
            }
        }
        for var in carried.iter().filter(|var| from.contains(var)) {
            keep(*var, Expr::Variable(*var));
        }
        Ok(self.add(StepKind::Map { input, items: computed }, layout))
    }

    fn aggregate(&mut self, node: &Aggregate, context: &Context) -> Result<StepNo, StandingError> {
        let ignores_repeats = |(_, call): &(Var, AggregateCall)| {
            call.distinct || matches!(call.function, AggregateFunction::Min | AggregateFunction::Max)
        };
        let sets = node.aggregates.iter().all(ignores_repeats);
        let input = self.step(&node.input, &context.with_sets(sets))?;
        let from = self.layout(input).to_vec();
        let keyed = self.map(input, node.keys.clone(), &context.carried)?;
        let Some(Step { kind: StepKind::Map { mut items, .. }, layout: keys }) = self.steps.pop() else {
            unreachable!("{keyed} is the map that was just added")
        };
        let mut calls = Vec::new();
        for (_, call) in &node.aggregates {
            let first = items.len();
            for argument in &call.arguments {
                items.push(self.expression(argument, &from)?);
            }
            let arguments = (first..items.len()).collect();
            let order = match call.function {
                AggregateFunction::Collect => self.order_columns(input, &mut items),
                _ => Vec::new(),
            };
            calls.push(Call { call: call.clone(), arguments, order, with_nulls: false });
        }
        let mut layout = keys.clone();
        while layout.len() < items.len() {
            layout.push(Var(self.next));
            self.next += 1;
        }
        let input = self.add(StepKind::Map { input, items }, layout);
        // Without keys of its own there is one row for each run, also where there is nothing to count.
        let whole = if node.keys.is_empty() { Some(self.whole(&keys, context)?) } else { None };
        let layout = keys.iter().copied().chain(node.aggregates.iter().map(|(var, _)| *var)).collect();
        let exact = places(&keys, &context.carried);
        Ok(self.add(StepKind::Aggregate { input, keys: keys.len(), exact, calls, whole }, layout))
    }
    /// Appends the sort keys of a step's rows as columns.
    fn order_columns(&self, step: StepNo, items: &mut Vec<Expr>) -> Vec<(usize, bool)> {
        let order = self.orders.get(&step).into_iter().flatten();
        let columns = order.map(|(key, descending)| {
            items.push(Expr::Variable(*key));
            (items.len() - 1, *descending)
        });
        columns.collect()
    }
    /// The rows an inner plan is run for, as these columns.
    fn whole(&mut self, columns: &[Var], context: &Context) -> Result<StepNo, StandingError> {
        let items = columns.iter().map(|var| (*var, Expr::Variable(*var))).collect();
        let all = self.map(context.argument, items, &[])?;
        Ok(self.once(all))
    }

    fn top(&mut self, plan: &Plan, context: &Context) -> Result<StepNo, StandingError> {
        let (mut skip, mut limit, mut at) = (0, None, plan);
        loop {
            match at {
                Plan::Limit(node) => {
                    let count = constant(&node.count, "LIMIT")?;
                    limit = Some(limit.map_or(count, |limit: usize| limit.min(count)));
                    at = &node.input;
                }
                Plan::Skip(node) => {
                    skip += constant(&node.count, "SKIP")?;
                    at = &node.input;
                }
                _ => break,
            }
        }
        // LIMIT counts what SKIP left, and it stands above it.
        let sort = match at {
            Plan::Sort(sort) => sort,
            _ => {
                return Err(StandingError::unsupported_but(
                    "LIMIT or SKIP without ORDER BY, which keeps rows at random,",
                    "add an ORDER BY before it",
                ));
            }
        };
        let input = self.step(&sort.input, &context.with_sets(false))?;
        let sorted = self.sorted(input, sort)?;
        let layout = self.layout(sorted).to_vec();
        let keys = self.orders.get(&sorted).into_iter().flatten();
        let keys = keys.flat_map(|(var, descending)| {
            places(&layout, &[*var]).into_iter().map(|place| (place, *descending))
        });
        let (keys, group) = (keys.collect(), places(&layout, &context.carried));
        let top = self.add(StepKind::Top { input: sorted, group, keys, skip, limit }, layout);
        Ok(self.ordered_as(top, sorted))
    }
    /// The rows with their sort keys.
    fn sorted(&mut self, input: StepNo, sort: &Sort) -> Result<StepNo, StandingError> {
        let mut items: Vec<(Var, Expr)> =
            self.layout(input).iter().map(|var| (*var, Expr::Variable(*var))).collect();
        let mut keys: Vec<(Var, bool)> = Vec::new();
        for key in &sort.keys {
            let by = self.fresh();
            keys.push((by, key.descending));
            items.push((by, key.expr.clone()));
        }
        let sorted = self.map(input, items, &[])?;
        self.orders.insert(sorted, keys);
        Ok(sorted)
    }
    /// A step of which the rows come in the order of another's.
    fn ordered_as(&mut self, step: StepNo, as_of: StepNo) -> StepNo {
        if step != as_of
            && let Some(order) = self.orders.get(&as_of).cloned()
        {
            self.orders.insert(step, order);
        }
        step
    }

    fn union(&mut self, node: &Union, context: &Context) -> Result<StepNo, StandingError> {
        let below = context.with_sets(context.sets || node.distinct);
        let (left, right) = (self.step(&node.left, &below)?, self.step(&node.right, &below)?);
        let side = |of: fn(&(Var, Var, Var)) -> Var| -> Vec<(Var, Expr)> {
            node.columns.iter().map(|all| (all.0, Expr::Variable(of(all)))).collect()
        };
        let left = self.map(left, side(|all| all.1), &context.carried)?;
        let right = self.map(right, side(|all| all.2), &context.carried)?;
        let layout = self.layout(left).to_vec();
        if layout != self.layout(right) {
            return Err(StandingError::unsupported_but(
                "a UNION of nodes or relationships with other values",
                "return properties instead",
            ));
        }
        let union = self.add(StepKind::Union { left, right }, layout);
        Ok(if node.distinct { self.distinct(union, context) } else { union })
    }

    fn apply(&mut self, node: &Apply, context: &Context) -> Result<StepNo, StandingError> {
        if let ApplyKind::Repeat(repeat) = &node.kind {
            return self.rounds(node, repeat, context);
        }
        let input = self.step(&node.input, context)?;
        let imports = node.imports.iter().chain(&context.carried).copied();
        let imports: Vec<Var> = imports.filter(|var| self.layout(input).contains(var)).collect();
        let sets = match &node.kind {
            ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_) => true,
            ApplyKind::Inner(_) | ApplyKind::Optional(_) => context.sets,
            _ => false,
        };
        let items = imports.iter().map(|var| (*var, Expr::Variable(*var))).collect();
        let rows = self.map(input, items, &[])?;
        let carried = self.layout(rows).to_vec();
        let argument = self.once(rows);
        let inner = self.step(&node.inner, &Context { argument, carried: carried.clone(), sets })?;
        // The carried columns under the names that they have outside.
        match &node.kind {
            ApplyKind::Inner(_) => Ok(self.combine(input, inner, &carried, CombineAs::Inner)),
            ApplyKind::Optional(_) => Ok(self.combine(input, inner, &carried, CombineAs::Optional)),
            ApplyKind::Semi => Ok(self.combine(input, inner, &carried, CombineAs::Plain(Combining::Semi))),
            ApplyKind::Anti => Ok(self.combine(input, inner, &carried, CombineAs::Plain(Combining::Anti))),
            ApplyKind::Exists(var) => {
                let found = self.combine(input, inner, &carried, CombineAs::Plain(Combining::Exists));
                self.steps[found].layout.push(*var);
                Ok(found)
            }
            ApplyKind::Count(var) => {
                let call = AggregateCall {
                    function: AggregateFunction::CountRows,
                    arguments: Vec::new(),
                    distinct: false,
                };
                self.gathered(input, inner, &carried, *var, call, Value::Int(0))
            }
            ApplyKind::Collect { list, column } => {
                let arguments = vec![Expr::Variable(*column)];
                let call = AggregateCall { function: AggregateFunction::Collect, arguments, distinct: false };
                self.gathered(input, inner, &carried, *list, call, Value::list(Vec::new()))
            }
            ApplyKind::Repeat(_) => unreachable!("it was taken up before"),
            ApplyKind::Unit => Err(StandingError::unsupported("a sub-query without RETURN")),
        }
    }
    /// The left rows with an aggregate of the right rows that belong to each.
    fn gathered(
        &mut self,
        left: StepNo,
        right: StepNo,
        on: &[Var],
        var: Var,
        call: AggregateCall,
        otherwise: Value,
    ) -> Result<StepNo, StandingError> {
        let from = self.layout(right).to_vec();
        debug_assert!(on.iter().all(|key| from.contains(key)));
        let mut items: Vec<Expr> = on.iter().map(|key| Expr::Variable(*key)).collect();
        for argument in &call.arguments {
            items.push(self.expression(argument, &from)?);
        }
        let arguments: Vec<usize> = (on.len()..items.len()).collect();
        let order = self.order_columns(right, &mut items);
        let layout = items.iter().map(|_| self.fresh()).collect();
        let input = self.add(StepKind::Map { input: right, items }, layout);
        // A sub-query collects what it answers, nulls included.
        let call = Call { call, arguments, order, with_nulls: true };
        let grouped = [on, &[var]].concat();
        let (keys, exact) = (on.len(), (0..on.len()).collect());
        let kind = StepKind::Aggregate { input, keys, exact, calls: vec![call], whole: None };
        let grouped = self.add(kind, grouped);
        let number = on.len();
        let found = self.combine(left, grouped, on, CombineAs::Plain(Combining::OrElse(number, otherwise)));
        self.steps[found].layout.push(var);
        Ok(found)
    }
    fn combine(&mut self, left: StepNo, right: StepNo, on: &[Var], how: CombineAs) -> StepNo {
        let (ours, theirs) = (self.layout(left).to_vec(), self.layout(right).to_vec());
        let place = |layout: &[Var], var: &Var| layout.iter().position(|other| other == var);
        let pairs: Vec<(usize, usize)> =
            on.iter().filter_map(|var| Some((place(&ours, var)?, place(&theirs, var)?))).collect();
        let new: Vec<usize> = (0..theirs.len()).filter(|column| !ours.contains(&theirs[*column])).collect();
        let wider = || ours.iter().copied().chain(new.iter().map(|column| theirs[*column])).collect();
        let (kind, layout) = match how {
            CombineAs::Inner => (Combining::Inner(new.clone()), wider()),
            CombineAs::Optional => (Combining::Optional(new.clone()), wider()),
            CombineAs::Plain(kind) => (kind, ours.clone()),
        };
        self.add(StepKind::Combine { left, right, on: pairs, kind }, layout)
    }
}

/// Where these variables stand.
fn places(layout: &[Var], of: &[Var]) -> Vec<usize> {
    of.iter().filter_map(|var| layout.iter().position(|other| other == var)).collect()
}

enum CombineAs {
    Inner,
    Optional,
    Plain(Combining),
}

fn constant(expr: &Expr, what: &str) -> Result<usize, StandingError> {
    match expr {
        Expr::Literal(constant) => match constant.0 {
            Value::Int(count) if count >= 0 => Ok(count as usize),
            _ => Err(StandingError::unsupported(format!("{what} that is no number"))),
        },
        _ => {
            Err(StandingError::unsupported_but(format!("{what} by an expression"), "write the number itself"))
        }
    }
}

#[cfg(test)]
mod tests;
