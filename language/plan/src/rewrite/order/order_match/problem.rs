//! A pattern as a problem of ordering: sets of vertices, the conditions that can be tested inside each, and the rows of each.
//!
//! A [`Set`] has bit 0 for "everything the input binds" and one bit for each other vertex. Invariant: the rows of a set do not
//! depend on the way it was reached: every edge and every predicate whose `need` lies in the set has been applied.

use super::ways::{Fork, INPUT, Set, Side, Start, VertexBinding};
use crate::cost;
use crate::estimate::Known;
use crate::expr::{BinaryOperator, Expr, LabelExpr, Name, Var};
use crate::pattern::{PatternEdge, PatternVertex, Selector};
use crate::statistics::Planning;
use crate::vars::Vars;
use model::Direction;

/// A pattern to be ordered.
pub(super) struct Problem<'a> {
    pub planning: &'a dyn Planning,
    /// Vertices that the input does not bind; number i has bit i + 1.
    pub vertices: Vec<Vertex>,
    pub edges: Vec<Edge>,
    pub predicates: Vec<Predicate>,
    /// Of these predicates.
    pub shares: cost::ConditionShares,
    pub forks: Vec<Fork>,
    pub input_columns: Vars,
    pub known: Known,
    /// May a part be found on its own and hash-joined? Not where the input writes (the part must see it), nor inside an
    /// `Apply` (the part would be found again for each row).
    pub joins: bool,
    /// Vertices on which a hint asks for a join.
    pub joined: Set,
}

/// A vertex to bind.
pub(super) struct Vertex {
    pub variable: Var,
    pub labels: LabelExpr,
    /// The rarest label it must have.
    pub label: Option<Name>,
    /// Vertices that satisfy `labels`.
    pub rows: f64,
    /// Vertices that a label scan reads for it.
    pub scanned: f64,
    pub seeks: Vec<Start>,
    /// The hinted binding of it.
    pub told: VertexBinding,
}

/// An edge to find.
pub(super) struct Edge {
    pub pattern: PatternEdge,
    /// The MATCH it stands in: only edges of one may have to differ.
    pub group: usize,
    /// Bits of its ends.
    pub from: Set,
    pub to: Set,
    /// Other variables that must be bound before it: those of its edge predicate.
    pub conditions: Set,
    /// All that must be bound for it to be solved.
    pub need: Set,
    /// Seen from `from`, and from `to`.
    pub there: OneWay,
    pub back: OneWay,
    /// Runs from the cheaper side where all must be listed, whatever the selector leaves of them.
    pub runs: f64,
    /// Share of pairs of ends that it keeps (may exceed 1).
    pub share: f64,
}

/// An edge as met at one of its ends.
pub(super) struct OneWay {
    /// Edges at one vertex; for a run, runs that the selector leaves.
    pub fan: f64,
    /// Share of them whose far end has the labels that it must have.
    pub kept: f64,
    /// Runs before the selector.
    runs: f64,
    /// Edges for each pair of ends: edges at one end, over the number of the others.
    share: f64,
}

/// A condition to apply.
pub(super) struct Predicate {
    pub expr: Expr,
    pub free: Vars,
    pub need: Set,
    pub share: f64,
    /// For an equality, the needs of each side, if both have some.
    pub sides: Option<(Set, Set)>,
}

impl Edge {
    /// Is it a shortest path, which is exempt from uniqueness?
    pub fn is_shortest(&self) -> bool {
        self.pattern.run.as_ref().is_some_and(|run| run.selector != Selector::Every)
    }
    /// Is it found by a search by distance? From two edges on, the shortest are found among all.
    pub fn is_by_distance(&self) -> bool {
        self.is_shortest() && self.pattern.run.as_ref().is_some_and(|run| run.min <= 1)
    }
    /// Can it be walked to bind its other end, once `bound` is?
    pub fn reaches(&self, bound: Set, new: Set) -> Option<Side> {
        let ready = self.conditions & !bound == 0;
        match (
            ready && self.to == new && self.from & bound != 0,
            ready && self.from == new && self.to & bound != 0,
        ) {
            (true, _) => Some(Side::From),
            (_, true) => Some(Side::To),
            _ => None,
        }
    }
    /// As met at the vertex of a side.
    pub fn seen(&self, side: Side) -> &OneWay {
        match side {
            Side::From => &self.there,
            Side::To => &self.back,
        }
    }
}

/// Could these two be, or contain, the same edge, and must not?
pub(super) fn may_coincide(a: &Edge, b: &Edge) -> bool {
    let (some, others) = (&a.pattern.types, &b.pattern.types);
    let overlap = some.is_empty() || others.is_empty() || some.iter().any(|name| others.contains(name));
    a.group == b.group && a.pattern.must_differ(&b.pattern) && overlap
}

impl<'a> Problem<'a> {
    /// The set of everything.
    pub fn full(&self) -> Set {
        (1..=self.vertices.len()).fold(INPUT, |set, bit| set | 1 << bit)
    }
    /// Bit of a vertex variable; anything else comes with the input.
    pub fn bit(&self, var: Var) -> Set {
        let found = self.vertices.iter().position(|vertex| vertex.variable == var);
        found.map_or(INPUT, |number| 1 << (number + 1))
    }
    /// The known label of a vertex.
    pub fn label(&self, var: Var) -> Option<Name> {
        let own = self.vertices.iter().find(|vertex| vertex.variable == var);
        own.map_or_else(|| self.known.label(var), |vertex| vertex.label.clone())
    }
    /// Likewise of a vertex that has such edges.
    pub fn label_at(&self, var: Var, types: &[Name], direction: Direction) -> Option<Name> {
        match self.vertices.iter().find(|vertex| vertex.variable == var) {
            Some(vertex) => vertex.label.clone(),
            None => self.known.label_at(self.planning, var, types, direction),
        }
    }
    /// Is this vertex asked for by its name, or was it?
    pub fn is_named(&self, var: Var) -> bool {
        // What reads nothing of the input is the same for all its rows.
        let times = |start: &Start| if start.need == 0 { 1.0 } else { self.known.rows.max(1.0) };
        let finds_few =
            |start: &Start| start.need & !INPUT == 0 && times(start) * start.rows <= cost::NAMED_ROWS_MAX;
        match self.vertices.iter().find(|vertex| vertex.variable == var) {
            Some(vertex) => vertex.seeks.iter().any(finds_few),
            None => self.known.named.contains(&var),
        }
    }
    /// The vertices that must be bound for all of these variables.
    pub fn need(&self, vars: &[Var]) -> Set {
        let each = |var: &Var| match self.edges.iter().find(|edge| edge.pattern.variable == *var) {
            Some(edge) => edge.need,
            None => self.bit(*var),
        };
        vars.iter().map(each).fold(0, |set, need| set | need)
    }
    /// Expected rows of a set.
    pub fn rows(&self, set: Set) -> f64 {
        let mut rows = if set & INPUT != 0 { self.known.rows } else { 1.0 };
        for (number, vertex) in self.vertices.iter().enumerate() {
            if set >> (number + 1) & 1 == 1 {
                rows *= vertex.rows
            }
        }
        let edges = self.edges.iter().filter(|edge| edge.need & !set == 0).map(|edge| edge.share);
        let predicates = self.predicates.iter().filter(|test| test.need & !set == 0).map(|test| test.share);
        let forks = self.forks.iter().filter(|fork| fork.need & !set == 0).map(|fork| fork.share);
        (rows * edges.product::<f64>() * predicates.product::<f64>() * forks.product::<f64>())
            .clamp(1e-6, 1e30)
    }

    /// How many times more edges are met than at a mean vertex, if those of the set are found and this one is walked next, from a vertex of the set.
    pub fn walked_share(&self, set: Set, walked: usize) -> f64 {
        let is_found = |edge: &usize| *edge == walked || self.edges[*edge].need & !set == 0;
        let forks = self.forks.iter().filter(|fork| fork.at & set != 0 && fork.edges.contains(&walked));
        forks.filter(|fork| fork.edges.iter().all(is_found)).map(|fork| fork.share).product()
    }

    pub(super) fn add_vertices(&mut self, vertices: Vec<PatternVertex>) {
        let unbound = vertices.into_iter().filter(|vertex| !self.input_columns.contains(&vertex.variable));
        let planning = self.planning;
        self.vertices = unbound
            .map(|PatternVertex { variable, labels }| {
                let label = cost::rarest(planning, &labels);
                let rows = cost::labelled(planning, &labels);
                let scanned = cost::vertices(planning, label.as_deref());
                Vertex {
                    variable,
                    labels,
                    label,
                    rows,
                    scanned,
                    seeks: Vec::new(),
                    told: VertexBinding::Nothing,
                }
            })
            .collect();
    }

    /// The needs of each edge; edge predicates may read other edges, so needs are followed until nothing changes.
    pub(super) fn edge_needs(&self, edges: &[PatternEdge]) -> Vec<(Set, Set)> {
        let ends = |edge: &PatternEdge| self.bit(edge.from) | self.bit(edge.to);
        let read: Vec<Vec<Var>> = edges.iter().map(edge_predicate_reads).collect();
        let mut conditions: Vec<Set> = vec![0; edges.len()];
        // Each round can only add bits; a chain of edges settles within as many rounds as there are edges.
        for _ in 0..=edges.len() {
            for (number, vars) in read.iter().enumerate() {
                for var in vars {
                    let other = edges.iter().position(|edge| edge.variable == *var);
                    conditions[number] |= match other {
                        Some(other) => ends(&edges[other]) | conditions[other],
                        None => self.bit(*var),
                    };
                }
            }
        }
        edges.iter().zip(conditions).map(|(edge, conditions)| (conditions, conditions | ends(edge))).collect()
    }

    pub(super) fn add_edge(&mut self, pattern: PatternEdge, (conditions, need): (Set, Set), group: usize) {
        let (from, to) = (self.bit(pattern.from), self.bit(pattern.to));
        let there = self.one_way(&pattern, pattern.from, pattern.to, pattern.direction);
        let back = self.one_way(&pattern, pattern.to, pattern.from, pattern.direction.reversed());
        let runs = there.runs.min(back.runs);
        let share = there.share.min(back.share).max(1e-12);
        self.edges.push(Edge { pattern, group, from, to, conditions, need, there, back, runs, share })
    }

    /// The edges at one end of a pattern edge.
    fn one_way(&self, pattern: &PatternEdge, near: Var, far: Var, direction: Direction) -> OneWay {
        let planning = self.planning;
        let label = self.label_at(near, &pattern.types, direction);
        let far_labels = match self.vertices.iter().find(|vertex| vertex.variable == far) {
            Some(vertex) => vertex.labels.clone(),
            None => {
                let label = self.label_at(far, &pattern.types, direction.reversed());
                label.map_or(LabelExpr::Any, LabelExpr::Has)
            }
        };
        let degree = cost::degree(planning, label.as_deref(), &pattern.types, direction);
        let (fan, runs) = match &pattern.run {
            None => (degree, degree),
            Some(run) => {
                let reach = cost::reach(planning, label.as_ref(), &pattern.types, direction, &far_labels);
                let fan = |selector| cost::run_fan(degree, run.min, run.max, selector, reach);
                (fan(run.selector), fan(Selector::Every))
            }
        };
        let kept = cost::far_share(planning, label.as_deref(), &pattern.types, direction, &far_labels);
        let share = fan * kept / cost::labelled(planning, &far_labels);
        OneWay { fan, kept, runs, share }
    }

    pub(super) fn add_predicate(&mut self, expr: Expr) {
        let free = expr.free_variables();
        let need = if free.is_empty() { INPUT } else { self.need(&free) };
        let mut shares = std::mem::take(&mut self.shares);
        let share = shares.next(self.planning, &expr, &|var| self.label(var)).max(1e-9);
        self.shares = shares;
        let sides = self.equal_sides(&expr);
        self.predicates.push(Predicate { expr, free, need, share, sides })
    }

    /// The needs of the sides of an equality: between two parts that have one each, it can be the key of a join.
    fn equal_sides(&self, expr: &Expr) -> Option<(Set, Set)> {
        let Expr::Binary(BinaryOperator::Equal, a, b) = expr else { return None };
        let (a, b) = (self.need(&a.free_variables()), self.need(&b.free_variables()));
        (a != 0 && b != 0).then_some((a, b))
    }
}

/// Variables that a run's edge predicate reads beside its own.
pub(super) fn edge_predicate_reads(edge: &PatternEdge) -> Vec<Var> {
    let predicate = edge.run.as_ref().and_then(|run| run.edge_predicate.as_ref());
    let Some((own, expr)) = predicate else { return Vec::new() };
    expr.free_variables().into_iter().filter(|var| var != own).collect()
}
