//! Where traversals begin and where they walk: patterns of a vertex or of one edge, with the filters behind them.

use super::{At, Lowering, Reader, counts_once, test};
use crate::object::Object;
use crate::predicate::{Compare, Predicate};
use crate::traversal::{Argument, Instruction};
use model::Direction;
use plan::algebra::{Match, Unwind};
use plan::expr::{BinaryOperator, Name};
use plan::{Expr, LabelExpr, Pattern, PatternEdge, PatternVertex, Plan, Var};

/// Patterns of one plan.
pub(super) const HOPS_MAX: usize = 40;

/// One edge to find.
pub(super) struct Hop {
    pub from: Var,
    pub to: Var,
    pub types: Vec<Name>,
    pub direction: Direction,
}

/// The direction of a step along edges.
pub(super) fn direction(name: &str) -> Option<Direction> {
    match name {
        "out" | "outE" => Some(Direction::Out),
        "in" | "inE" => Some(Direction::In),
        "both" => Some(Direction::Both),
        _ => None,
    }
}

impl<'t> Lowering<'t> {
    /// `V` or `E` with the filters behind it.
    pub(super) fn start(&mut self, reader: &mut Reader<'t>) -> Option<At> {
        let first = reader.next()?;
        match &*first.name {
            "V" => self.vertices(first, reader),
            "E" if first.arguments.is_empty() => {
                let (source, target) = (self.fresh("vertex"), self.fresh("vertex"));
                let hop = Hop { from: source, to: target, types: Vec::new(), direction: Direction::Out };
                let edge = self.edge(hop, reader);
                self.moved(At::Edge(edge, source, target))
            }
            _ => None,
        }
    }
    /// `V`, at the start or in the midst.
    pub(super) fn vertices(&mut self, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let vertex = self.fresh("vertex");
        let mut predicates = Vec::new();
        if !step.arguments.is_empty() {
            predicates.push(self.ids(vertex, &step.arguments)?);
        }
        let labels = self.vertex_filters(vertex, reader, &mut predicates);
        self.find(Pattern {
            vertices: vec![PatternVertex { variable: vertex, labels }],
            edges: Vec::new(),
            predicates,
        });
        self.single &= step.arguments.len() == 1;
        self.moved(At::Vertex(vertex))
    }
    pub(super) fn find(&mut self, pattern: Pattern) {
        self.disturbed = true;
        let input = self.take();
        self.plan = Plan::Match(Box::new(Match { input, pattern, optional: false, hints: Vec::new() }));
    }

    /// The filters that follow, as far as they look at nothing but the vertex.
    pub(super) fn vertex_filters(
        &mut self,
        vertex: Var,
        reader: &mut Reader<'t>,
        predicates: &mut Vec<Expr>,
    ) -> LabelExpr {
        let mut labels = LabelExpr::Any;
        while let Some(step) = reader.peek() {
            if let Some(more) = test::labels(step) {
                if let ("has", 3) = (&*step.name, step.arguments.len()) {
                    let Some(predicate) = self.property_test(vertex, &step.arguments[1..]) else { break };
                    predicates.push(predicate);
                }
                labels = labels.and(more);
            } else if let Some(predicate) = self.of_element(vertex, step) {
                predicates.push(predicate);
            } else if &*step.name == "hasId" && step.arguments.len() == 1 {
                let Some(predicate) = self.ids(vertex, &step.arguments) else { break };
                predicates.push(predicate);
            } else {
                break;
            }
            reader.at += 1;
        }
        labels
    }

    /// One edge with the filters behind it; `from` is bound but for a scan of all edges.
    fn edge(&mut self, hop: Hop, reader: &mut Reader<'t>) -> Var {
        let edge = self.fresh("edge");
        let mut predicates = Vec::new();
        while let Some(predicate) = reader.peek().and_then(|step| self.of_element(edge, step)) {
            predicates.push(predicate);
            reader.at += 1;
        }
        self.find_edge(edge, hop, LabelExpr::Any, predicates);
        edge
    }
    pub(super) fn find_edge(&mut self, edge: Var, hop: Hop, labels: LabelExpr, predicates: Vec<Expr>) {
        let Hop { from, to, types, direction } = hop;
        let vertices = vec![
            PatternVertex { variable: from, labels: LabelExpr::Any },
            PatternVertex { variable: to, labels },
        ];
        let edges =
            vec![PatternEdge { variable: edge, from, to, types, direction, run: None, distinct_among: None }];
        self.find(Pattern { vertices, edges, predicates });
        self.hops += 1;
        self.single = false;
    }

    /// A step along edges.
    pub(super) fn walk(&mut self, at: At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let At::Vertex(from) = at else { return None };
        if self.hops >= HOPS_MAX {
            return None;
        }
        let (types, direction) = (test::names(&step.arguments)?, direction(&step.name)?);
        if step.name.ends_with('E') {
            let other = self.fresh("vertex");
            let edge = self.edge(Hop { from, to: other, types, direction }, reader);
            let ends = if direction == Direction::Out { (from, other) } else { (other, from) };
            return self.moved(At::Edge(edge, ends.0, ends.1));
        }
        let once = self.set || counts_once(reader.rest());
        let bound = self.end_of(from, reader);
        let to = bound.unwrap_or_else(|| self.fresh("vertex"));
        let (edge, mut predicates) = (self.fresh("edge"), Vec::new());
        let labels = self.vertex_filters(to, reader, &mut predicates);
        self.find_edge(edge, Hop { from, to, types, direction }, labels, predicates);
        if direction == Direction::Both && !once && bound.is_none() {
            self.twice_where_it_loops(from, to);
        }
        self.moved(At::Vertex(to))
    }
    /// Gremlin meets a loop from both its ends, the algebra once.
    fn twice_where_it_loops(&mut self, from: Var, to: Var) {
        let same = super::binary(BinaryOperator::Equal, Expr::Variable(from), Expr::Variable(to));
        let list = |count| Expr::List(vec![super::integer(0); count]);
        let list =
            Expr::Case { operand: None, arms: vec![(same, list(2))], otherwise: Some(Box::new(list(1))) };
        let (input, variable) = (self.take(), self.fresh("time"));
        self.plan = Plan::Unwind(Box::new(Unwind { input, list, variable }));
    }
    /// The vertex that `where(eq(label))` says a step ends at, where it goes unnoticed how often.
    fn end_of(&self, from: Var, reader: &mut Reader<'t>) -> Option<Var> {
        let step = reader.peek().filter(|step| self.set && &*step.name == "where")?;
        let [Argument::Predicate(Predicate::Compare(Compare::Eq, Object::String(label)))] = &*step.arguments
        else {
            return None;
        };
        let by = reader.rest().get(1).is_some_and(|next| &*next.name == "by");
        match self.stands_for(label)? {
            At::Vertex(vertex) if *vertex != from && !by => {
                reader.at += 1;
                Some(*vertex)
            }
            _ => None,
        }
    }
}
