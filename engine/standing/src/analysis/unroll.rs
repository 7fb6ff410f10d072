//! Short runs of relationships, written out: a join for each length, and the union of them.
//!
//! Distances tell which ends are reached, but not by how many ways, nor by which relationships. Where that matters and the run is short, each length
//! is a pattern of single relationships, maintained like any other. Cost: that of the patterns written out, so only up to [`UNROLLED_MAX`]
//! relationships.

use super::Analysis;
use crate::StandingError;
use crate::demand::Demand;
use crate::join::{Atom, JoinBuilder};
use crate::shape::{StepKind, StepNo};
use model::Direction;
use plan::expr::BinaryOperator;
use plan::pattern::{PathMode, Run, Selector};
use plan::{Expr, Function, PatternEdge, Var};

/// Relationships of the longest run that is written out.
const UNROLLED_MAX: u32 = 4;

/// A run as it is walked: from one end to the other.
pub(super) struct Way<'a> {
    pub edge: &'a PatternEdge,
    pub run: &'a Run,
    pub direction: Direction,
    pub start: Var,
    pub end: Var,
    pub length: Var,
}

/// Can it be written out?
pub(super) fn is_short(run: &Run) -> bool {
    let is_plain = run.selector == Selector::Every && matches!(run.mode, PathMode::Trail | PathMode::Walk);
    is_plain && run.max.is_some_and(|max| run.min <= max && max <= UNROLLED_MAX)
}

impl Analysis<'_> {
    /// The rows of `left`, which know the start, with every end and length of the run.
    pub(super) fn unrolled(&mut self, left: StepNo, way: &Way<'_>) -> Result<StepNo, StandingError> {
        let mut layout = self.layout(left).to_vec();
        if !layout.contains(&way.end) {
            layout.push(way.end);
        }
        let max = way.run.max.unwrap_or(0);
        let mut all: Option<StepNo> = None;
        for length in way.run.min..=max {
            let found =
                if length == 0 { self.nowhere(left, way)? } else { self.written_out(left, way, length)? };
            let from = self.layout(found).to_vec();
            // No step leads to the start itself under another name.
            let item = |var: &Var| Expr::Variable(if from.contains(var) { *var } else { way.start });
            let items = layout.iter().map(item).chain([Expr::literal(i64::from(length))]).collect();
            let layout = [&layout[..], &[way.length]].concat();
            let right = self.add(StepKind::Map { input: found, items }, layout.clone());
            all = Some(match all {
                Some(left) => self.add(StepKind::Union { left, right }, layout),
                None => right,
            });
        }
        all.ok_or_else(|| StandingError::unsupported("a variable-length pattern of no length"))
    }
    /// Rows whose end, where it is bound, is the start.
    fn nowhere(&mut self, left: StepNo, way: &Way<'_>) -> Result<StepNo, StandingError> {
        let layout = self.layout(left).to_vec();
        if !layout.contains(&way.end) {
            return Ok(left);
        }
        let (start, end) = (Expr::Variable(way.start), Expr::Variable(way.end));
        let same = self.expression(&Expr::binary(BinaryOperator::Equal, start, end), &layout)?;
        Ok(self.add(StepKind::Filter { input: left, predicates: vec![same] }, layout))
    }
    /// A pattern of `length` single relationships.
    fn written_out(&mut self, left: StepNo, way: &Way<'_>, length: u32) -> Result<StepNo, StandingError> {
        let mut fresh = || {
            self.next += 1;
            Var(self.next - 1)
        };
        let edges: Vec<Var> = (0..length).map(|_| fresh()).collect();
        let between: Vec<Var> = (1..length).map(|_| fresh()).collect();
        let vertices = [&[way.start], &between[..], &[way.end]].concat();
        let mut join = JoinBuilder::new(left, self.layout(left));
        for (edge, ends) in edges.iter().zip(vertices.windows(2)) {
            let (types, direction) = (way.edge.types.clone(), way.direction);
            join.atom(Atom::Edge { edge: *edge, from: ends[0], to: ends[1], types, direction })?;
        }
        let mut conditions = Vec::new();
        if let Some((var, predicate)) = &way.run.edge_predicate {
            for (edge, ends) in edges.iter().zip(vertices.windows(2)) {
                let ends = match way.direction {
                    Direction::Out => Some((ends[0], ends[1])),
                    Direction::In => Some((ends[1], ends[0])),
                    Direction::Both => None,
                };
                let condition = spoken_over(predicate.clone(), *var, *edge, ends);
                for (of, attribute) in Demand::in_expression(&condition) {
                    if of == *edge || vertices.contains(&of) {
                        let (is_vertex, column) = (of != *edge, self.attribute(of, &attribute));
                        join.atom(Atom::Attribute { of, is_vertex, attribute, column })?;
                    }
                }
                conditions.push(condition);
            }
        }
        if way.run.mode == PathMode::Trail && length > 1 {
            conditions.push(Expr::EdgesDistinct(edges));
        }
        let layout = join.layout().to_vec();
        for condition in conditions {
            join.require(self.expression(&condition, &layout)?)?;
        }
        let join = join.finish(self.snapshot)?;
        let layout = join.layout.clone();
        Ok(self.add(StepKind::Join(Box::new(join)), layout))
    }
}

/// The condition on every relationship, rewritten for one of them and, where the direction is known, its ends.
fn spoken_over(mut expr: Expr, each: Var, edge: Var, ends: Option<(Var, Var)>) -> Expr {
    fn rename(expr: &mut Expr, each: Var, edge: Var, ends: Option<(Var, Var)>) {
        if let (Expr::Call(function, arguments), Some((start, end))) = (&*expr, ends)
            && arguments[..] == [Expr::Variable(each)]
        {
            match function {
                Function::StartNode => *expr = Expr::Variable(start),
                Function::EndNode => *expr = Expr::Variable(end),
                _ => {}
            }
        }
        if *expr == Expr::Variable(each) {
            *expr = Expr::Variable(edge);
        }
        expr.children_mut(&mut |child| rename(child, each, edge, ends));
    }
    rename(&mut expr, each, edge, ends);
    expr
}
