//! Repeated groups with a sub-query in them.

use super::{Analysis, CombineAs, Context};
use crate::StandingError;
use crate::join::{Atom, JoinBuilder};
use crate::operator::walk::{Back, SourceStart, Walk};
use crate::shape::{Attribute, Body, Step, StepKind, StepNo};
use model::Direction;
use plan::algebra::{Apply, Repeat};
use plan::{Expr, Var};

impl Analysis<'_> {
    /// Rows of the input with each end of its walks, once.
    pub(super) fn rounds(
        &mut self,
        node: &Apply,
        repeat: &Repeat,
        context: &Context,
    ) -> Result<StepNo, StandingError> {
        if !context.sets {
            return Err(StandingError::unsupported_but(
                "each way through a repeated group with a sub-query",
                "ask for its ends once: WITH DISTINCT or RETURN DISTINCT",
            ));
        }
        if repeat.min > 1 {
            return Err(StandingError::unsupported_but(
                "a repeated group with a sub-query of more than one round at least",
                "write {0,…} or {1,…}",
            ));
        }
        let input = self.step(&node.input, context)?;
        let outer = node.imports.iter().chain(&context.carried).copied();
        let mut imports: Vec<Var> = Vec::new();
        for var in outer.filter(|var| *var != repeat.at) {
            if self.layout(input).contains(&var) && !imports.contains(&var) {
                imports.push(var);
            }
        }
        imports.push(repeat.at);
        let same = |vars: &[Var]| vars.iter().map(|var| (*var, Expr::Variable(*var))).collect();
        let rows = self.map(input, same(&imports), &[])?;
        // What else is known of them, in front of the vertex.
        let mut carried: Vec<Var> = self.layout(rows).to_vec();
        carried.retain(|var| *var != repeat.at);
        carried.push(repeat.at);
        let rows = self.add(
            StepKind::Map { input: rows, items: carried.iter().copied().map(Expr::Variable).collect() },
            carried.clone(),
        );
        let rows = self.once(rows);
        let body = Box::new(self.body(node, repeat, &carried)?);
        let home = if repeat.min == 0 { SourceStart::Near } else { SourceStart::Cycle };
        let walk = Walk {
            types: Vec::new(),
            direction: Direction::Out,
            home,
            back: Back::Walk,
            max: Some(repeat.max),
        };
        let layout = [&carried[..], &[repeat.to]].concat();
        let ends = self.add(StepKind::Rounds { input: rows, body, walk }, layout);
        let found = self.combine(input, ends, &carried, CombineAs::Inner);
        let wanted: Vec<Attribute> = self.demand.on(repeat.to).cloned().collect();
        if wanted.is_empty() {
            return Ok(found);
        }
        let mut join = JoinBuilder::new(found, self.layout(found));
        for attribute in wanted {
            let column = self.attribute(repeat.to, &attribute);
            join.atom(Atom::Attribute { of: repeat.to, is_vertex: true, attribute, column })?;
        }
        let join = join.finish(self.snapshot)?;
        let layout = join.layout.clone();
        Ok(self.add(StepKind::Join(Box::new(join)), layout))
    }
    /// The group as steps of its own; the first takes the rows that they are run for.
    fn body(&mut self, node: &Apply, repeat: &Repeat, carried: &[Var]) -> Result<Body, StandingError> {
        let first = Step { kind: StepKind::Arguments, layout: carried.to_vec() };
        let outer = std::mem::replace(&mut self.steps, vec![first]);
        let context = Context { argument: 0, carried: carried.to_vec(), sets: true };
        let output = self.step(&node.inner, &context).map(|inner| {
            let columns = carried.iter().chain([&repeat.next]).copied().collect::<Vec<_>>();
            let items = columns.iter().copied().map(Expr::Variable).collect();
            let kept = self.add(StepKind::Map { input: inner, items }, columns);
            self.once(kept)
        });
        let steps = std::mem::replace(&mut self.steps, outer);
        Ok(Body { steps, output: output? })
    }
}
