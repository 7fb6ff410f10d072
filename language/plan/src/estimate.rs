//! Estimates the rows of each operator. Used by `order_match` (for the plan below a pattern) and shown by EXPLAIN.
//!
//! One walk from the leaves up carries the row count and, for each vertex variable, the rarest label known of it. Inside an
//! `Apply` counts are totals over all rows of its input, as a profile's are. Cost: linear in the plan.

use crate::algebra::*;
use crate::cost;
use crate::expr::{BinaryOperator, Expr, LabelExpr, Name, Var};
use crate::functions::Function;
use crate::labels::{Named, label_at};
use crate::statistics::Planning;
use model::Direction;

/// Properties of a plan's rows.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Expected rows.
    pub rows: f64,
    /// A label that the vertex in a column certainly has.
    pub labels: Vec<(Var, Name)>,
    /// Columns that hold vertices.
    pub vertices: Vec<Var>,
    /// Vertices that were asked for by what they are called: look-ups that found no more than [`cost::NAMED_ROWS_MAX`] in all.
    pub named: Vec<Var>,
    /// Vertices found at the end of an edge: the edge types, and the direction as seen from there.
    pub met: Vec<(Var, Vec<Name>, Direction)>,
    /// Likewise, those at the end of a run of edges too.
    pub ends: Vec<(Var, Vec<Name>, Direction)>,
}

impl Known {
    /// One row, nothing known.
    pub fn one_row() -> Known {
        Known {
            rows: 1.0,
            labels: Vec::new(),
            vertices: Vec::new(),
            named: Vec::new(),
            met: Vec::new(),
            ends: Vec::new(),
        }
    }
    /// A label of the vertex in this column.
    pub fn label(&self, var: Var) -> Option<Name> {
        self.labels.iter().rev().find(|(known, _)| *known == var).map(|(_, label)| label.clone())
    }
    /// A label of a bound vertex that has such edges. For a vertex without a known label that was met at the end of an edge, the one that most
    /// vertices at the end of such edges carry. For a column that no scan or walk has filled (an element of a list, a property of a map) only that
    /// its vertices likely have such edges.
    pub fn label_at(
        &self,
        planning: &dyn Planning,
        var: Var,
        types: &[Name],
        direction: Direction,
    ) -> Option<Name> {
        let guess = || match self.ends.iter().find(|(known, ..)| *known == var) {
            Some((_, types, direction)) => label_at(planning, types, *direction),
            None if self.vertices.contains(&var) => None,
            None => label_at(planning, types, direction),
        };
        self.label(var).or_else(guess)
    }
    /// A look-up finds so many, for each row or, where it reads none, the same for all.
    fn name(&mut self, vertex: Var, found: f64, reads_rows: bool) {
        let times = if reads_rows { self.rows.max(1.0) } else { 1.0 };
        if times * found <= cost::NAMED_ROWS_MAX {
            self.named.push(vertex)
        }
    }
    fn learn(&mut self, planning: &dyn Planning, var: Var, labels: &LabelExpr) {
        if !self.vertices.contains(&var) {
            self.vertices.push(var)
        }
        let Some(label) = cost::rarest(planning, labels) else { return };
        let better = |old: Name| planning.vertices(Some(&label)) < planning.vertices(Some(&old));
        if self.label(var).is_none_or(better) {
            self.labels.push((var, label))
        }
    }
    /// Different values a column can hold.
    pub fn domain(&self, planning: &dyn Planning, var: Var) -> Option<f64> {
        self.vertices.contains(&var).then(|| cost::vertices(planning, self.label(var).as_deref()))
    }
}

/// Expected rows of a plan.
pub fn estimate(plan: &Plan, planning: &dyn Planning) -> f64 {
    known(plan, planning, &Known::one_row()).rows
}

/// Expected rows of every node, in pre-order (the numbering of [`crate::explain`]).
pub fn estimates(plan: &Plan, planning: &dyn Planning) -> Vec<f64> {
    let mut rows = Vec::new();
    let planning = &Named::new(planning, plan);
    Estimator { planning, rows: Some(&mut rows) }.measure(plan, &Known::one_row());
    rows
}

/// Rows that all operators of a plan yield together, run inside an `Apply` over rows of which `outer` is known.
pub(crate) fn work(plan: &Plan, planning: &dyn Planning, outer: &Known) -> f64 {
    let mut rows = Vec::new();
    Estimator { planning, rows: Some(&mut rows) }.measure(plan, outer);
    rows.iter().sum()
}

/// The properties of a plan's rows, run inside an `Apply` over rows with the properties `outer`.
pub(crate) fn known(plan: &Plan, planning: &dyn Planning, outer: &Known) -> Known {
    Estimator { planning, rows: None }.measure(plan, outer)
}

struct Estimator<'a> {
    planning: &'a dyn Planning,
    rows: Option<&'a mut Vec<f64>>,
}

impl Estimator<'_> {
    /// Follows a chain of operators down without recursion, then up again with the rows.
    fn measure(&mut self, plan: &Plan, outer: &Known) -> Known {
        let (mut line, mut at) = (Vec::new(), plan);
        let (mut known, number) = loop {
            let number = self.enter();
            match at {
                Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_) => {
                    break (self.branches(at, outer), number);
                }
                _ => match at.input() {
                    None => break (outer.clone(), number),
                    Some(input) => {
                        line.push((at, number));
                        at = input
                    }
                },
            }
        };
        self.leave(number, known.rows);
        while let Some((plan, number)) = line.pop() {
            known = self.extend(plan, known);
            self.leave(number, known.rows)
        }
        known
    }

    /// The next number in pre-order.
    fn enter(&mut self) -> usize {
        let Some(rows) = &mut self.rows else { return 0 };
        rows.push(0.0);
        rows.len() - 1
    }
    fn leave(&mut self, number: usize, figure: f64) {
        if let Some(rows) = &mut self.rows {
            rows[number] = figure
        }
    }

    /// An operator with two inputs, or with an input and a body.
    fn branches(&mut self, plan: &Plan, outer: &Known) -> Known {
        match plan {
            Plan::Apply(node) => self.apply(node, outer),
            Plan::Merge(node) => self.with_body(&node.input, &node.inner, plan, outer),
            Plan::ForEach(node) => self.with_body(&node.input, &node.body, plan, outer),
            Plan::Join(node) => self.join(node, outer),
            Plan::Union(node) => {
                let (left, right) = (self.measure(&node.left, outer), self.measure(&node.right, outer));
                let in_both = node
                    .columns
                    .iter()
                    .filter(|(_, a, b)| left.vertices.contains(a) && right.vertices.contains(b));
                let vertices = in_both.map(|(out, ..)| *out).collect();
                Known { rows: left.rows + right.rows, vertices, ..Known::one_row() }
            }
            _ => outer.clone(),
        }
    }

    fn apply(&mut self, node: &Apply, outer: &Known) -> Known {
        let mut input = self.measure(&node.input, outer);
        let inner = self.measure(&node.inner, &input);
        match &node.kind {
            ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => {
                let least = if matches!(node.kind, ApplyKind::Optional(_)) { input.rows } else { 0.0 };
                input.rows = inner.rows.max(least);
                let kept = |var: &Var| columns.contains(var);
                input.labels.extend(inner.labels.into_iter().filter(|(var, _)| kept(var)));
                input.vertices.extend(inner.vertices.into_iter().filter(kept));
                input.named.extend(inner.named.into_iter().filter(kept));
            }
            ApplyKind::Semi => {
                // One of all ends is the row's own.
                let ends = node
                    .scope
                    .end
                    .map_or(1.0, |end| cost::vertices(self.planning, input.label(end).as_deref()).max(1.0));
                input.rows *= (inner.rows / ends / input.rows.max(1e-9)).min(1.0);
            }
            ApplyKind::Anti => input.rows *= 0.5,
            ApplyKind::Repeat(repeat) => {
                let fan = inner.rows / input.rows.max(1e-9);
                let rounds = repeat.max.min(repeat.min.saturating_add(cost::RUN_LEVELS_MAX));
                let ways: f64 = (repeat.min..=rounds).map(|round| fan.powi(round.min(64) as i32)).sum();
                let ends = cost::vertices(self.planning, inner.label(repeat.next).as_deref());
                let most = if repeat.distinct { ends * f64::from(rounds.max(1)) } else { 1e18 };
                input.rows *= ways.min(most);
                input.labels.extend(inner.label(repeat.next).map(|label| (repeat.to, label)));
                input.vertices.push(repeat.to);
            }
            ApplyKind::Exists(_) | ApplyKind::Count(_) | ApplyKind::Collect { .. } | ApplyKind::Unit => {}
        }
        input
    }

    fn with_body(&mut self, input: &Plan, body: &Plan, plan: &Plan, outer: &Known) -> Known {
        let mut input = self.measure(input, outer);
        let body = self.measure(body, &input);
        if let Plan::Merge(node) = plan {
            input.rows = input.rows.max(body.rows);
            input.vertices.extend(node.vertices.iter().map(|made| made.variable));
        }
        input
    }

    fn join(&mut self, node: &Join, outer: &Known) -> Known {
        let alone = Known::one_row();
        let mut build = self.measure(&node.build, if node.once { &alone } else { outer });
        let probe = self.measure(&node.probe, outer);
        let same = |var: &Var| match self.key_share(node, *var, (&build, &probe)) {
            Some(share) => 1.0 / share.max(1e-9),
            None => build.domain(self.planning, *var).unwrap_or(cost::LIST_LENGTH),
        };
        let domain: f64 = node.on.iter().map(same).product();
        let shared = if node.once { 1.0 } else { outer.rows.max(1.0) };
        build.rows = build.rows * probe.rows / domain.max(1.0) / shared;
        build.labels.extend(probe.labels);
        build.vertices.extend(probe.vertices);
        build.named.extend(probe.named);
        build
    }

    /// Share of pairs that a computed key keeps: that of the equality it was.
    fn key_share(&self, node: &Join, key: Var, (build, probe): (&Known, &Known)) -> Option<f64> {
        let computed = |side: &Plan| match side {
            Plan::Extend(node) => {
                node.items.iter().find(|(var, _)| *var == key).map(|(_, expr)| expr.clone())
            }
            _ => None,
        };
        let (left, right) = (computed(&node.build)?, computed(&node.probe)?);
        let equality = Expr::binary(BinaryOperator::Equal, left, right);
        Some(cost::selectivity(self.planning, &equality, &|var| {
            build.label(var).or_else(|| probe.label(var))
        }))
    }

    /// A node with one input.
    fn extend(&self, plan: &Plan, mut input: Known) -> Known {
        let planning = self.planning;
        match plan {
            Plan::ScanVertices(node) => {
                input.learn(planning, node.vertex, &node.labels);
                input.rows *= cost::labelled(planning, &node.labels);
            }
            Plan::SeekVertices(node) => {
                input.learn(planning, node.vertex, &LabelExpr::Has(node.label.clone()));
                let found = cost::seek_rows(planning, &node.label, &node.keys, &node.seek);
                input.name(node.vertex, found, node.seek.reads_rows());
                input.rows *= found;
            }
            Plan::SeekEdges(node) => {
                input.learn(planning, node.from, &LabelExpr::Any);
                input.learn(planning, node.to, &LabelExpr::Any);
                input.rows *= cost::seek_edges_rows(planning, &node.edge_type, &node.keys, &node.seek);
            }
            Plan::SeekIds(node) => {
                input.learn(planning, node.vertex, &LabelExpr::Any);
                let list = matches!(&node.ids, Expr::List(_) | Expr::Literal(_));
                let found = if list { cost::list_length(&node.ids) } else { 1.0 };
                input.name(node.vertex, found, !node.ids.free_variables().is_empty());
                input.rows *= found;
            }
            Plan::Expand(node) => self.expand(node, &mut input),
            Plan::ExpandPath(node) => self.expand_path(node, &mut input),
            Plan::Intersect(node) => self.intersect(node, &mut input),
            Plan::Filter(node) => {
                input.rows *= self.filter_share(node, &input);
                self.learn_filter(&node.predicate, &mut input)
            }
            Plan::Project(node) => rename(&mut input, &node.items),
            Plan::Aggregate(node) => {
                input.rows = if node.keys.is_empty() { 1.0 } else { self.groups(&input, &node.keys) };
                rename(&mut input, &node.keys)
            }
            Plan::Distinct(node) => {
                let columns = node.columns.iter().map(|var| (*var, Expr::Variable(*var)));
                input.rows = self.groups(&input, &columns.collect::<Vec<_>>())
            }
            Plan::Sort(node) => {
                let limit = node.limit.as_ref().map(|limit| cost::count(limit, cost::LIST_LENGTH));
                input.rows = input.rows.min(limit.unwrap_or(f64::INFINITY))
            }
            Plan::Skip(node) => input.rows = (input.rows - cost::count(&node.count, 0.0)).max(0.0),
            Plan::Limit(node) => input.rows = input.rows.min(cost::count(&node.count, cost::LIST_LENGTH)),
            Plan::Unwind(node) => input.rows *= cost::list_length(&node.list),
            Plan::CallProcedure(_) => input.rows *= cost::LIST_LENGTH,
            Plan::Create(node) => input.vertices.extend(node.vertices.iter().map(|made| made.variable)),
            _ => {}
        }
        input
    }

    /// A vertex that was found by such an edge, or asked for by its name, has more of them than others.
    fn spread(&self, node: &Expand, near: Option<&str>, input: &Known) -> f64 {
        let is_it = |(var, types, direction): &&(Var, Vec<Name>, Direction)| {
            *var == node.from && *types == node.types && *direction == node.direction
        };
        let types = || node.types.iter().map(|name| &**name).collect::<Vec<_>>();
        if !input.named.contains(&node.from) && !input.met.iter().any(|met| is_it(&met)) {
            return 1.0;
        }
        self.planning
            .spread(near, &types(), node.direction)
            .map_or(1.0, |spread| spread.min(cost::SPREAD_MAX))
    }

    fn expand(&self, node: &Expand, input: &mut Known) {
        let near = input.label_at(self.planning, node.from, &node.types, node.direction);
        let degree = cost::degree(self.planning, near.as_deref(), &node.types, node.direction)
            * self.spread(node, near.as_deref(), input);
        if node.into {
            let far = input.label_at(self.planning, node.to, &node.types, node.direction.reversed());
            input.rows *= degree / cost::vertices(self.planning, far.as_deref());
            return;
        }
        let far = cost::far_share(self.planning, near.as_deref(), &node.types, node.direction, &node.labels);
        input.rows *= degree * far;
        input.learn(self.planning, node.to, &node.labels);
        input.met.push((node.to, node.types.clone(), node.direction.reversed()));
        input.ends.push((node.to, node.types.clone(), node.direction.reversed()));
    }

    /// The first arm fans out, each other keeps the share of vertices that it leads to.
    fn intersect(&self, node: &Intersect, input: &mut Known) {
        let (planning, met) = (self.planning, input.clone());
        for (number, arm) in node.arms.iter().enumerate() {
            let near = met.label_at(planning, arm.from, &arm.types, arm.direction);
            input.rows *= cost::degree(planning, near.as_deref(), &arm.types, arm.direction);
            if number == 0 {
                let (types, direction) = (&arm.types, arm.direction);
                input.rows *= cost::far_share(planning, near.as_deref(), types, direction, &node.labels);
                input.learn(planning, node.to, &node.labels);
            } else {
                let far = input.label_at(planning, node.to, &arm.types, arm.direction.reversed());
                input.rows /= cost::vertices(planning, far.as_deref());
            }
        }
    }

    fn expand_path(&self, node: &ExpandPath, input: &mut Known) {
        let planning = self.planning;
        let near = input.label_at(planning, node.from, &node.types, node.direction);
        let degree = cost::degree(planning, near.as_deref(), &node.types, node.direction);
        let reach = cost::reach(planning, near.as_ref(), &node.types, node.direction, &node.labels);
        let mut fan = cost::run_fan(degree, node.min, node.max, node.selector, reach);
        if node.distinct_ends {
            fan = fan.min(reach)
        }
        if node.into {
            let far = input.label_at(planning, node.to, &node.types, node.direction.reversed());
            let ends = cost::vertices(planning, far.as_deref()).min(reach);
            input.rows *= (fan / ends.max(1.0)).min(fan);
            return;
        }
        input.rows *=
            fan * cost::far_share(planning, near.as_deref(), &node.types, node.direction, &node.labels);
        input.learn(planning, node.to, &node.labels);
        if node.min > 0 {
            input.ends.push((node.to, node.types.clone(), node.direction.reversed()))
        }
    }

    /// Share of rows that a filter keeps; a condition that a seek just below has answered keeps all.
    fn filter_share(&self, node: &Filter, input: &Known) -> f64 {
        let conjuncts = node.predicate.clone().conjuncts().into_iter();
        let open = conjuncts.filter(|conjunct| !is_answered(&node.input, conjunct));
        let mut shares = cost::ConditionShares::default();
        open.map(|conjunct| shares.next(self.planning, &conjunct, &|var| input.label(var))).product()
    }

    /// A filter on labels teaches a label.
    fn learn_filter(&self, predicate: &Expr, input: &mut Known) {
        for conjunct in predicate.clone().conjuncts() {
            if let Expr::HasLabels(subject, labels) = &conjunct
                && let Expr::Variable(var) = **subject
                && input.vertices.contains(&var)
            {
                input.learn(self.planning, var, labels)
            }
        }
    }

    /// Different combinations of keys: each vertex counts its label, each property value a share of the rows.
    fn groups(&self, input: &Known, keys: &[(Var, Expr)]) -> f64 {
        let each = |expr: &Expr| match expr {
            Expr::Variable(var) => input.domain(self.planning, *var).unwrap_or(input.rows),
            Expr::Property(..) => (input.rows * 0.5).max(1.0),
            Expr::Literal(_) | Expr::Parameter(_) => 1.0,
            _ => input.rows,
        };
        keys.iter().map(|(_, expr)| each(expr)).product::<f64>().min(input.rows)
    }
}

/// Does the conjunct only repeat the condition of this seek?
fn is_answered(plan: &Plan, conjunct: &Expr) -> bool {
    let Expr::Binary(_, left, right) = conjunct else { return false };
    [left, right].into_iter().any(|side| match (plan, &**side) {
        (Plan::SeekVertices(seek), Expr::Property(subject, key)) => {
            matches!(seek.seek, Seek::Range(..))
                && seek.keys.contains(key)
                && **subject == Expr::Variable(seek.vertex)
        }
        (Plan::SeekIds(seek), Expr::Call(Function::Id | Function::ElementId, arguments)) => {
            arguments[..] == [Expr::Variable(seek.vertex)]
        }
        _ => false,
    })
}

/// Renamed variables keep their properties.
fn rename(input: &mut Known, items: &[(Var, Expr)]) {
    let old = input.clone();
    input.labels.clear();
    input.vertices.clear();
    for (new, expr) in items {
        let Expr::Variable(var) = expr else { continue };
        let ends = old.ends.iter().filter(|(known, ..)| known == var);
        input.ends.extend(ends.map(|(_, types, direction)| (*new, types.clone(), *direction)));
        input.labels.extend(old.label(*var).map(|label| (*new, label)));
        input.vertices.extend(old.vertices.contains(var).then_some(*new));
        input.named.extend(old.named.contains(var).then_some(*new));
    }
}
