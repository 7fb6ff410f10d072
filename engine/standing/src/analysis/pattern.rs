//! Patterns: joins of atoms, and walks between them.
//!
//! A chain of MATCH and WHERE clauses becomes one join, unless it holds runs of relationships. Then the part at one end of a run is joined first, the
//! run is walked from there, and the rest is joined to the ends reached.

use super::total::is_total;
use super::unroll::{Way, is_short};
use super::{Analysis, CombineAs, Context};
use crate::StandingError;
use crate::join::{Atom, JoinBuilder};
use crate::operator::PAIR_MAX;
use crate::operator::walk::{Back, SourceStart, Walk};
use crate::shape::{Attribute, StepKind, StepNo};
use plan::algebra::Plan;
use plan::expr::{BinaryOperator, Name};
use plan::pattern::{PathMode, Run, Selector};
use plan::{Expr, Pattern, PatternEdge, PatternVertex, Var};
use std::collections::BTreeMap;

/// The parts that are still to be joined.
struct Pending<'p> {
    vertices: Vec<&'p PatternVertex>,
    edges: Vec<&'p PatternEdge>,
    runs: Vec<(&'p PatternEdge, &'p Run)>,
    conditions: Vec<Expr>,
    /// Are there runs, or were there?
    has_runs: bool,
    /// Conditions that can fail, and were evaluated on the part at one end of a run alone: where there is no such run, there is no row of the answer
    /// either.
    doubtful: Vec<Expr>,
}

impl Pending<'_> {
    /// Variables of vertices that hang together with this one by single edges.
    fn around(&self, vertex: Var) -> Vec<Var> {
        let mut found = vec![vertex];
        loop {
            let before = found.len();
            for edge in &self.edges {
                match (found.contains(&edge.from), found.contains(&edge.to)) {
                    (true, false) => found.push(edge.to),
                    (false, true) => found.push(edge.from),
                    _ => {}
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }
    /// Does a condition say that these are two?
    fn differ(&self, one: Var, other: Var) -> bool {
        let is = |expr: &Expr, var: Var| *expr == Expr::Variable(var);
        self.conditions.iter().any(|condition| {
            let Expr::Binary(BinaryOperator::NotEqual, a, b) = condition else { return false };
            (is(a, one) && is(b, other)) || (is(a, other) && is(b, one))
        })
    }
    /// Does a condition say which vertices these are?
    fn is_anchored(&self, vertices: &[Var]) -> bool {
        self.conditions.iter().any(|condition| {
            let Expr::Binary(BinaryOperator::Equal, a, b) = condition else { return false };
            let about = |side: &Expr| side.free_variables().iter().any(|var| vertices.contains(var));
            let constant = |side: &Expr| side.free_variables().is_empty();
            (about(a) && constant(b)) || (about(b) && constant(a))
        })
    }
}

impl Analysis<'_> {
    /// A chain of patterns and conditions.
    pub(super) fn pattern(&mut self, plan: &Plan, context: &Context) -> Result<StepNo, StandingError> {
        let (mut at, mut patterns, mut predicates) = (plan, Vec::new(), Vec::new());
        loop {
            match at {
                Plan::Match(node) if !node.optional => {
                    patterns.push(&node.pattern);
                    at = &node.input;
                }
                Plan::Filter(node) => {
                    predicates.push(&node.predicate);
                    at = &node.input;
                }
                _ => break,
            }
        }
        let input = self.step(at, context)?;
        if patterns.is_empty() {
            let layout = self.layout(input).to_vec();
            let all = predicates.into_iter().rev().flat_map(|predicate| predicate.clone().conjuncts());
            let filtered = self.filter(input, all, layout)?;
            return Ok(self.ordered_as(filtered, input));
        }
        patterns.reverse();
        let own = patterns.iter().flat_map(|pattern| &pattern.predicates);
        let conditions = own.chain(predicates).flat_map(|predicate| predicate.clone().conjuncts());
        let mut pending = Pending {
            vertices: Vec::new(),
            edges: Vec::new(),
            runs: Vec::new(),
            conditions: conditions.collect(),
            has_runs: false,
            doubtful: Vec::new(),
        };
        for pattern in patterns {
            pending.conditions.extend(distinct_edges(pattern)?);
            pending.vertices.extend(&pattern.vertices);
            for edge in &pattern.edges {
                match &edge.run {
                    Some(run) => pending.runs.push((edge, run)),
                    None => pending.edges.push(edge),
                }
            }
        }
        pending.has_runs = !pending.runs.is_empty();
        let mut step = input;
        while let Some((edge, run)) = pending.runs.pop() {
            step = self.walk(step, edge, run, &mut pending, context)?;
        }
        let all: Vec<Var> = pending.vertices.iter().map(|vertex| vertex.variable).collect();
        let found = self.join(step, &all, &mut pending)?;
        if pending.doubtful.is_empty() {
            return Ok(found);
        }
        let layout = self.layout(found).to_vec();
        self.filter(found, pending.doubtful.into_iter(), layout)
    }
    /// The rows for which all of these are true.
    fn filter(
        &mut self,
        input: StepNo,
        all: impl Iterator<Item = Expr>,
        layout: Vec<Var>,
    ) -> Result<StepNo, StandingError> {
        let predicates = all.map(|one| self.expression(&one, &layout)).collect::<Result<_, _>>()?;
        Ok(self.add(StepKind::Filter { input, predicates }, layout))
    }

    /// Joins the atoms around these vertices, and every condition that can be tested then.
    fn join(
        &mut self,
        input: StepNo,
        around: &[Var],
        pending: &mut Pending<'_>,
    ) -> Result<StepNo, StandingError> {
        let mut join = JoinBuilder::new(input, self.layout(input));
        let mut entities: Vec<(Var, bool)> = Vec::new();
        let is_here = |var: Var| around.contains(&var);
        for vertex in pending.vertices.iter().filter(|vertex| is_here(vertex.variable)) {
            join.atom(Atom::Vertex { vertex: vertex.variable, labels: vertex.labels.clone() })?;
            entities.push((vertex.variable, true));
        }
        for edge in pending.edges.iter().filter(|edge| is_here(edge.from)) {
            let (types, direction) = (edge.types.clone(), edge.direction);
            join.atom(Atom::Edge { edge: edge.variable, from: edge.from, to: edge.to, types, direction })?;
            entities.push((edge.variable, false));
        }
        pending.vertices.retain(|vertex| !is_here(vertex.variable));
        pending.edges.retain(|edge| !is_here(edge.from));
        for (var, is_vertex) in entities {
            let wanted: Vec<Attribute> = self.demand.on(var).cloned().collect();
            for attribute in wanted {
                let column = self.attribute(var, &attribute);
                join.atom(Atom::Attribute { of: var, is_vertex, attribute, column })?;
            }
        }
        let layout = join.layout().to_vec();
        // The end of a walk is bound before its labels and properties are.
        let later: Vec<Var> = pending.vertices.iter().map(|vertex| vertex.variable).collect();
        let known = |expr: &Expr| {
            let free = expr.free_variables();
            free.iter().all(|var| layout.contains(var) && !later.contains(var))
        };
        let (ready, later): (Vec<Expr>, Vec<Expr>) =
            pending.conditions.drain(..).partition(|expr| known(expr));
        pending.conditions = later;
        for condition in ready {
            let asked = self.expression(&condition, &layout)?;
            if pending.has_runs && !is_total(&asked, &|var| self.is_names(var)) {
                pending.doubtful.push(condition);
                join.ask_later();
            }
            join.require(asked)?;
        }
        let join = join.finish(self.snapshot)?;
        let layout = join.layout.clone();
        Ok(self.add(StepKind::Join(Box::new(join)), layout))
    }

    /// Joins the part at one end of a run, and walks the run from there.
    fn walk(
        &mut self,
        input: StepNo,
        edge: &PatternEdge,
        run: &Run,
        pending: &mut Pending<'_>,
        context: &Context,
    ) -> Result<StepNo, StandingError> {
        let bound = |analysis: &Self, var: Var| analysis.layout(input).contains(&var);
        let (from, to) = (pending.around(edge.from), pending.around(edge.to));
        let near = |analysis: &Self, vertices: &[Var]| {
            vertices.iter().any(|var| bound(analysis, *var)) || pending.is_anchored(vertices)
        };
        let backwards = !near(self, &from) && near(self, &to);
        let (start, end, around) =
            if backwards { (edge.to, edge.from, to) } else { (edge.from, edge.to, from) };
        let direction = if backwards { edge.direction.reversed() } else { edge.direction };
        let length = self.lengths[&edge.variable];
        let is_read = self.lengths_read.contains(&length) && run.selector == Selector::Every;
        let home = match home(run, context.sets) {
            Ok(home) if !is_read => home,
            _ if is_short(run) => {
                let left = self.join(input, &around, pending)?;
                return self.unrolled(left, &Way { edge, run, direction, start, end, length });
            }
            Ok(_) => {
                return Err(StandingError::unsupported_but(
                    "the length of every path",
                    "ask for shortestPath, or bound the pattern by 4",
                ));
            }
            Err(error) => return Err(error),
        };
        let home =
            if home == SourceStart::Cycle && pending.differ(start, end) { SourceStart::Never } else { home };
        let back = if run.mode == PathMode::Walk { Back::Walk } else { Back::Trail };
        let walk = Walk { types: edge.types.clone(), direction, home, back, max: run.max };
        // Where both ends are given, and not far apart, half the way is searched from each.
        let other = pending.around(end);
        let given =
            |vertices: &[Var]| vertices.iter().any(|var| bound(self, *var)) || pending.is_anchored(vertices);
        if let Some(max) = run.max.filter(|max| {
            let is_pair = start != end && run.selector != Selector::Every && home != SourceStart::Near;
            (2..=PAIR_MAX).contains(max) && is_pair && given(&around) && given(&other)
        }) {
            let both = [around, other].concat();
            let left = self.join(input, &both, pending)?;
            let items = vec![Expr::Variable(start), Expr::Variable(end)];
            let pairs = self.add(StepKind::Map { input: left, items }, vec![start, end]);
            let pairs = self.once(pairs);
            let reached = self.add(StepKind::Pair { input: pairs, walk, max }, vec![start, end, length]);
            return Ok(self.combine(left, reached, &[start, end], CombineAs::Inner));
        }
        // A run that leads back to where it began ends at the source itself: what Reach says of it is compared with the start.
        let returns = start == end;
        let end = if returns { self.fresh() } else { end };
        let left = self.join(input, &around, pending)?;
        let items = vec![Expr::Variable(start)];
        let sources = self.add(StepKind::Map { input: left, items }, vec![start]);
        let sources = self.once(sources);
        let reached = self.add(StepKind::Reach { input: sources, walk }, vec![start, end, length]);
        let both = self.layout(left).contains(&end);
        let on = if both { vec![start, end] } else { vec![start] };
        let found = self.combine(left, reached, &on, CombineAs::Inner);
        if !returns {
            return Ok(found);
        }
        let layout = self.layout(found).to_vec();
        let same = Expr::binary(BinaryOperator::Equal, Expr::Variable(start), Expr::Variable(end));
        Ok(self.add(StepKind::Filter { input: found, predicates: vec![same] }, layout))
    }
}

/// Whether a run may end at its own source.
///
/// # Errors
/// Its rows do not follow from the distances of its ends.
fn home(run: &Run, sets: bool) -> Result<SourceStart, StandingError> {
    let refuse = |what: &str, hint: &'static str| Err(StandingError::unsupported_but(what, hint));
    if run.edge_predicate.is_some() {
        return refuse(
            "a condition on the relationships of a variable-length pattern",
            "use a type of its own for them",
        );
    }
    if run.min > 1 {
        return refuse("a variable-length pattern of at least two relationships", "write the first ones out");
    }
    match run.selector {
        Selector::AnyShortest | Selector::AllShortest if run.selector == Selector::AnyShortest || sets => {
            Ok(if run.min == 0 { SourceStart::Near } else { SourceStart::Cycle })
        }
        Selector::AllShortest => refuse(
            "every one of the shortest paths",
            "ask for one of them (shortestPath), or for DISTINCT ends",
        ),
        _ if !sets => refuse(
            "every path of variable length, which may be more than can be counted,",
            "ask for DISTINCT ends or for shortestPath, or bound it by 4 relationships",
        ),
        _ if !matches!(run.mode, PathMode::Trail | PathMode::Walk) => {
            refuse("a variable-length pattern that may not meet a node twice", "leave the path mode out")
        }
        _ if run.min == 0 => Ok(SourceStart::Near),
        _ => Ok(SourceStart::Cycle),
    }
}

/// Single edges that must differ; a run that could meet one that it must differ from would have to remember its edges.
fn distinct_edges(pattern: &Pattern) -> Result<Vec<Expr>, StandingError> {
    let every = |edge: &&PatternEdge| edge.run.is_some() && edge.is_distinct();
    let meets =
        |a: &[Name], b: &[Name]| a.is_empty() || b.is_empty() || a.iter().any(|name| b.contains(name));
    for (number, run) in pattern.edges.iter().enumerate().filter(|(_, edge)| every(edge)) {
        let others = pattern.edges.iter().enumerate().filter(|(other, _)| *other != number);
        let mut others = others.filter(|(_, edge)| run.must_differ(edge));
        if others.any(|(_, edge)| meets(&run.types, &edge.types)) {
            return Err(StandingError::unsupported_but(
                "a variable-length relationship beside others of its type in one MATCH",
                "put it into a MATCH of its own",
            ));
        }
    }
    let mut singles: BTreeMap<u32, Vec<Var>> = BTreeMap::new();
    for edge in pattern.edges.iter().filter(|edge| edge.run.is_none()) {
        edge.distinct_among.iter().for_each(|among| singles.entry(*among).or_default().push(edge.variable));
    }
    singles.retain(|_, edges| edges.len() > 1);
    Ok(singles.into_values().map(Expr::EdgesDistinct).collect())
}
