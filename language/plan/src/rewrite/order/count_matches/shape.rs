//! The pattern whose matches an aggregate counts, as one graph; none where its rows are more than that.

use crate::algebra::*;
use crate::expr::{BinaryOperator, Expr, LabelExpr, Name, UnaryOperator, Var};
use crate::functions::{AggregateFunction, Function};
use crate::pattern::{Pattern, PatternEdge};
use crate::rewrite::substitute::is_volatile;
use model::Direction;

/// Vertices of a pattern up to which its count is arranged.
pub(super) const VERTICES_MAX: usize = 20;
/// A vertex.
#[derive(Clone, Debug)]
pub(super) struct Vertex {
    pub var: Var,
    pub labels: LabelExpr,
    /// Trees that may be missing.
    pub optional: Vec<CountTree>,
    /// Edges from it to itself, by their types.
    pub loops: Vec<Vec<Name>>,
}

/// An edge between two of them.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub from: usize,
    pub to: usize,
    pub types: Vec<Name>,
    /// Seen from `from`.
    pub direction: Direction,
    /// The MATCH it stands in, and the edges there that it differs from: see [`PatternEdge::distinct_among`].
    pub distinct_among: Option<(usize, u32)>,
}

/// The graph that is counted.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub vertices: Vec<Vertex>,
    pub edges: Vec<Edge>,
    pub absent: Vec<Edge>,
    /// Pairs of vertices that are not the same one.
    pub differs: Vec<(usize, usize)>,
    /// Pairs of edges that must be tested to be different.
    pub unlike: Vec<(usize, usize)>,
    /// The vertex that keys and conditions read.
    pub start: Option<usize>,
    /// The conditions on it.
    pub tests: Vec<Expr>,
}

impl Edge {
    /// Its ends in stored direction; as written, where it has none.
    pub fn stored(&self) -> (usize, usize) {
        if self.direction == Direction::In { (self.to, self.from) } else { (self.from, self.to) }
    }
    pub fn has_direction(&self) -> bool {
        self.direction != Direction::Both
    }
    /// Do both match the same edges between the same ends?
    pub fn is_same(&self, other: &Edge) -> bool {
        let (a, b) = (self.stored(), other.stored());
        let ends = a == b || !self.has_direction() && a == (b.1, b.0);
        ends && self.has_direction() == other.has_direction() && same_types(&self.types, &other.types)
    }
}

fn same_types(some: &[Name], others: &[Name]) -> bool {
    some.len() == others.len() && some.iter().all(|name| others.contains(name))
}

/// The shape of the matches that this aggregate counts.
pub(super) fn shape(node: &Aggregate) -> Option<Shape> {
    let mut shape = Shape {
        vertices: Vec::new(),
        edges: Vec::new(),
        absent: Vec::new(),
        differs: Vec::new(),
        unlike: Vec::new(),
        start: None,
        tests: Vec::new(),
    };
    let mut predicates = Vec::new();
    let mut group = 0;
    shape.read(&node.input, &mut predicates, &mut group)?;
    for predicate in predicates.into_iter().flat_map(Expr::conjuncts) {
        shape.condition(predicate)?;
    }
    for (_, key) in &node.keys {
        shape.only_reads_start(key)?;
    }
    let counts = |call: &AggregateCall| match (call.function, &call.arguments[..]) {
        _ if call.distinct => false,
        (AggregateFunction::CountRows, _) => true,
        (AggregateFunction::Count, [Expr::Variable(var)]) => shape.find(*var).is_some(),
        _ => false,
    };
    let counted = !node.aggregates.is_empty() && node.aggregates.iter().all(|(_, call)| counts(call));
    // The rows of one edge need not be enumerated to be counted, but where they are grouped.
    let edges_min = if node.keys.is_empty() { 2 } else { 1 };
    let size = shape.vertices.len() <= VERTICES_MAX && shape.edges.len() >= edges_min;
    if !counted || !size || !shape.is_connected() {
        return None;
    }
    shape.tell_edges_apart()?;
    Some(shape)
}

impl Shape {
    fn find(&self, var: Var) -> Option<usize> {
        self.vertices.iter().position(|vertex| vertex.var == var)
    }

    /// Matches over nothing, below anti-joins and optional matches.
    fn read(&mut self, plan: &Plan, predicates: &mut Vec<Expr>, group: &mut usize) -> Option<()> {
        match plan {
            Plan::Unit => Some(()),
            // Who says how it is to be found wants it found.
            Plan::Match(node) if !node.hints.is_empty() => None,
            Plan::Match(node) if !node.optional && matches!(node.input, Plan::Unit | Plan::Match(_)) => {
                self.read(&node.input, predicates, group)?;
                *group += 1;
                predicates.extend(node.pattern.predicates.iter().cloned());
                self.required(&node.pattern, *group)
            }
            Plan::Apply(node) => {
                self.read(&node.input, predicates, group)?;
                let Plan::Match(inner) = &node.inner else { return None };
                let simple = matches!(inner.input, Plan::Argument(_))
                    && inner.pattern.predicates.is_empty()
                    && inner.hints.is_empty();
                match node.kind {
                    ApplyKind::Anti if simple => self.anti(&inner.pattern),
                    ApplyKind::Optional(_) if simple => self.optional(&inner.pattern),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn required(&mut self, pattern: &Pattern, group: usize) -> Option<()> {
        for vertex in &pattern.vertices {
            match self.find(vertex.variable) {
                Some(known) => {
                    let old = std::mem::replace(&mut self.vertices[known].labels, LabelExpr::Any);
                    self.vertices[known].labels = old.and(vertex.labels.clone())
                }
                None => {
                    let (var, labels) = (vertex.variable, vertex.labels.clone());
                    self.vertices.push(Vertex { var, labels, optional: Vec::new(), loops: Vec::new() })
                }
            }
        }
        for edge in &pattern.edges {
            let edge = self.edge(edge, group)?;
            self.edges.push(edge)
        }
        Some(())
    }

    /// A single edge between two different vertices; its variable is read nowhere, as only vertices may be.
    fn edge(&self, edge: &PatternEdge, group: usize) -> Option<Edge> {
        let (from, to) = (self.find(edge.from)?, self.find(edge.to)?);
        let plain = edge.run.is_none() && from != to;
        let distinct_among = edge.distinct_among.map(|among| (group, among));
        let (types, direction) = (edge.types.clone(), edge.direction);
        plain.then_some(Edge { from, to, types, direction, distinct_among })
    }

    fn anti(&mut self, pattern: &Pattern) -> Option<()> {
        let [edge] = &pattern.edges[..] else { return None };
        let any = pattern.vertices.len() == 2 && pattern.vertices.iter().all(|vertex| vertex.labels.is_any());
        let edge = self.edge(edge, 0).filter(|_| any)?;
        self.absent.push(edge);
        Some(())
    }

    /// A tree that hangs on one known vertex by one edge, with no two edges that could be the same one and must not.
    fn optional(&mut self, pattern: &Pattern) -> Option<()> {
        let mut known = pattern.vertices.iter().filter(|vertex| self.find(vertex.variable).is_some());
        let root = known.next().filter(|root| root.labels.is_any() && known.next().is_none())?;
        let apart = |at: usize, edge: &PatternEdge| {
            let may_be_one =
                |other: &PatternEdge| edge.must_differ(other) && overlap(&edge.types, &other.types);
            !pattern.edges[at + 1..].iter().any(may_be_one)
        };
        let tells_apart = pattern.edges.iter().enumerate().all(|(at, edge)| apart(at, edge));
        let is_tree =
            pattern.vertices.len() == pattern.edges.len() + 1 && pattern.vertices.len() <= VERTICES_MAX;
        if !tells_apart || !is_tree || pattern.edges.iter().any(|edge| edge.run.is_some()) {
            return None;
        }
        let mut unused: Vec<&PatternEdge> = pattern.edges.iter().collect();
        let mut trees = optional_trees(root.variable, pattern, &mut unused);
        let mut tree = trees.pop().filter(|_| trees.is_empty() && unused.is_empty())?;
        tree.optional = true;
        let root = self.find(root.variable)?;
        self.vertices[root].optional.push(tree);
        Some(())
    }

    /// A condition: two vertices differ, or something about one vertex alone.
    fn condition(&mut self, predicate: Expr) -> Option<()> {
        if let Some((a, b)) = different(&predicate) {
            let pair = (self.find(a)?, self.find(b)?);
            self.differs.push(pair);
            return (pair.0 != pair.1).then_some(());
        }
        if let Expr::HasLabels(subject, labels) = &predicate
            && let Expr::Variable(var) = **subject
        {
            let at = self.find(var)?;
            let old = std::mem::replace(&mut self.vertices[at].labels, LabelExpr::Any);
            self.vertices[at].labels = old.and(labels.clone());
            return Some(());
        }
        self.only_reads_start(&predicate)?;
        self.tests.push(predicate);
        Some(())
    }

    /// The expression must read one vertex only, the same as all others do.
    fn only_reads_start(&mut self, expr: &Expr) -> Option<()> {
        let [var] = expr.free_variables()[..] else { return None };
        let at = self.find(var)?;
        let plain = !is_volatile(expr) && !expr.any(&mut |part| matches!(part, Expr::Subquery(_)));
        let start = *self.start.get_or_insert(at);
        (plain && start == at).then_some(())
    }

    fn is_connected(&self) -> bool {
        let mut reached = vec![false; self.vertices.len()];
        reached[0] = true;
        for _ in 0..self.vertices.len() {
            for edge in &self.edges {
                let both = reached[edge.from] || reached[edge.to];
                (reached[edge.from], reached[edge.to]) = (both, both)
            }
        }
        reached.into_iter().all(|reached| reached)
    }

    /// Finds the pairs of edges that must be tested; none where that cannot be done.
    fn tell_edges_apart(&mut self) -> Option<()> {
        for (i, a) in self.edges.iter().enumerate() {
            for (j, b) in self.edges.iter().enumerate().skip(i + 1) {
                let must_differ = a.distinct_among.is_some() && a.distinct_among == b.distinct_among;
                if !must_differ || !overlap(&a.types, &b.types) || self.ends_differ(a, b) {
                    continue;
                }
                if a.has_direction() != b.has_direction() || !same_types(&a.types, &b.types) {
                    return None;
                }
                self.unlike.push((i, j))
            }
        }
        Some(())
    }

    /// Can the two not be the same edge, because vertices differ?
    fn ends_differ(&self, a: &Edge, b: &Edge) -> bool {
        let differ = |x: usize, y: usize| self.differs.contains(&(x, y)) || self.differs.contains(&(y, x));
        if a.has_direction() && b.has_direction() {
            let (a, b) = (a.stored(), b.stored());
            return differ(a.0, b.0) || differ(a.1, b.1);
        }
        // One end shared: the same edge would have the same other end.
        let others = [(a.from, a.to), (a.to, a.from)].into_iter().flat_map(|(near, far)| {
            let met = [(b.from, b.to), (b.to, b.from)].into_iter().filter(move |(other, _)| *other == near);
            met.map(move |(_, other)| (far, other))
        });
        others.into_iter().any(|(x, y)| differ(x, y))
    }
}

fn overlap(some: &[Name], others: &[Name]) -> bool {
    some.is_empty() || others.is_empty() || some.iter().any(|name| others.contains(name))
}

fn optional_trees(at: Var, pattern: &Pattern, unused: &mut Vec<&PatternEdge>) -> Vec<CountTree> {
    let (mine, others): (Vec<_>, Vec<_>) =
        unused.drain(..).partition(|edge| edge.from == at || edge.to == at);
    *unused = others;
    let tree = |edge: &PatternEdge| {
        let (far, direction) = match edge.from == at {
            true => (edge.to, edge.direction),
            false => (edge.from, edge.direction.reversed()),
        };
        let labels = pattern.vertices.iter().find(|vertex| vertex.variable == far);
        let labels = labels.map_or(LabelExpr::Any, |vertex| vertex.labels.clone());
        let trees = optional_trees(far, pattern, unused);
        CountTree { types: edge.types.clone(), direction, labels, optional: false, is_loop: false, trees }
    };
    mine.into_iter().map(tree).collect()
}

/// `a <> b`, `NOT a = b`, and the same of their ids.
fn different(predicate: &Expr) -> Option<(Var, Var)> {
    let sides = match predicate {
        Expr::Binary(BinaryOperator::NotEqual, a, b) => (a, b),
        Expr::Unary(UnaryOperator::Not, inner) => match &**inner {
            Expr::Binary(BinaryOperator::Equal, a, b) => (a, b),
            _ => return None,
        },
        _ => return None,
    };
    let vertex = |side: &Expr| match side {
        Expr::Variable(var) => Some((*var, false)),
        Expr::Call(Function::Id | Function::ElementId, arguments) => match arguments[..] {
            [Expr::Variable(var)] => Some((var, true)),
            _ => None,
        },
        _ => None,
    };
    let (a, b) = (vertex(sides.0)?, vertex(sides.1)?);
    (a.1 == b.1).then_some((a.0, b.0))
}
