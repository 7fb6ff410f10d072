//! `repeat(…)`: along single edges a walk of so many, with a test on the way a loop, and otherwise written out.
//!
//! `repeat(x).times(n)` yields those after n rounds; with `emit()` behind it those after each round, with `emit()` before it those
//! before the first too.

use super::hop::direction;
use super::{At, Lowering, Met, Reader, What, counts_once, test};
use crate::object::Object;
use crate::predicate::{Compare, Predicate};
use crate::traversal::{Argument, Instruction};
use model::Direction;
use plan::algebra::{Apply, ApplyKind, ExpandPath, Extend, Repeat};
use plan::expr::Name;
use plan::pattern::{PathMode, Run, Selector};
use plan::{Expr, LabelExpr, Pattern, PatternEdge, PatternVertex, Plan, Var};

/// Rounds of a `repeat` that are written out.
const ROUNDS_MAX: i64 = 8;
/// Rounds of a walk or loop.
const WALK_MAX: i64 = 1_000;

/// A `repeat` with its modulators.
struct Rounds<'t> {
    body: &'t [Instruction],
    /// None without `times`: as long as there is anything.
    times: Option<i64>,
    min: i64,
}

impl<'t> Lowering<'t> {
    /// From its first word on, which may be a modulator.
    pub(super) fn repeat(&mut self, at: At, first: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let At::Vertex(from) = at else { return None };
        let rounds = rounds(first, reader)?;
        let once = self.set || counts_once(reader.rest());
        match rounds.body {
            [hop] if direction(&hop.name).is_some() && !hop.name.ends_with('E') => {
                self.run(from, hop, &rounds, once)
            }
            [hop, simple]
                if direction(&hop.name).is_some()
                    && !hop.name.ends_with('E')
                    && &*simple.name == "simplePath"
                    && simple.arguments.is_empty()
                    && self.way.as_ref().is_some_and(|way| way.len() == 1) =>
            {
                self.find_run(from, hop, (rounds.min, rounds.times), PathMode::Acyclic, Selector::Every)
            }
            [hop, dedup]
                if direction(&hop.name).is_some()
                    && !hop.name.ends_with('E')
                    && &*dedup.name == "dedup"
                    && dedup.arguments.is_empty() =>
            {
                self.levels(from, hop, &rounds, reader)
            }
            body if once && rounds.times.is_some() && gathers_nothing(body) => {
                self.looped(from, body, &rounds)
            }
            body => self.written_out(at, body, &rounds),
        }
    }

    /// A walk along one kind of edge.
    fn run(&mut self, from: Var, hop: &'t Instruction, rounds: &Rounds<'t>, once: bool) -> Option<At> {
        let both = direction(&hop.name)? == Direction::Both;
        // each loop is met twice; without an end there is no telling how often anything is met
        if !once && (both || rounds.times.is_none()) {
            let at = At::Vertex(from);
            return self.written_out(at, rounds.body, rounds);
        }
        self.find_run(from, hop, (rounds.min, rounds.times), PathMode::Walk, Selector::Every)
    }
    fn find_run(
        &mut self,
        from: Var,
        hop: &'t Instruction,
        (min, max): (i64, Option<i64>),
        mode: PathMode,
        selector: Selector,
    ) -> Option<At> {
        let types: Vec<Name> = test::names(&hop.arguments)?;
        let (edges, to) = (self.fresh("edges"), self.fresh("vertex"));
        let vertex = |variable| PatternVertex { variable, labels: LabelExpr::Any };
        let max = match max {
            Some(max) => Some(u32::try_from(max).ok()?),
            None => None,
        };
        if selector == Selector::Every {
            return self.follow(from, (hop, types, edges, to), (u32::try_from(min).ok()?, max), mode);
        }
        let run = Run { min: u32::try_from(min).ok()?, max, selector, mode, edge_predicate: None };
        let direction = direction(&hop.name)?;
        let edge = PatternEdge { variable: edges, from, to, types, direction, run: Some(run) };
        self.find(Pattern {
            vertices: vec![vertex(from), vertex(to)],
            edges: vec![edge],
            predicates: Vec::new(),
        });
        self.hops += 1;
        self.single = false;
        if let Some(way) = &mut self.way {
            way.push(Met { labels: Vec::new(), what: What::Run(edges) });
        }
        Some(At::Vertex(to))
    }
    /// A run from where the traverser stands: which way it goes is said, and never the other way round.
    fn follow(
        &mut self,
        from: Var,
        (hop, types, edges, to): (&'t Instruction, Vec<Name>, Var, Var),
        (min, max): (u32, Option<u32>),
        mode: PathMode,
    ) -> Option<At> {
        let input = self.take();
        self.plan = Plan::ExpandPath(Box::new(ExpandPath {
            input,
            from,
            edges: Some(edges),
            edges_reversed: false,
            length: None,
            to,
            types,
            direction: direction(&hop.name)?,
            into: false,
            labels: LabelExpr::Any,
            min,
            max,
            mode,
            selector: Selector::Every,
            distinct_ends: false,
            edge_predicate: None,
        }));
        self.hops += 1;
        (self.single, self.disturbed) = (false, true);
        if let Some(way) = &mut self.way {
            way.push(Met { labels: Vec::new(), what: What::Run(edges) });
        }
        Some(At::Vertex(to))
    }
    /// Each vertex once, at the round where it is first met; but where the walk begins is met again by the way back, and so the filters
    /// that follow must leave it out.
    fn levels(
        &mut self,
        from: Var,
        hop: &'t Instruction,
        rounds: &Rounds<'t>,
        reader: &mut Reader<'t>,
    ) -> Option<At> {
        let left_out = |step: &Instruction| match step.arguments.as_slice() {
            [Argument::Predicate(Predicate::Compare(Compare::Neq, Object::String(label)))] => {
                &*step.name == "where" && self.stands_for(label) == Some(&At::Vertex(from))
            }
            _ => false,
        };
        let filter =
            |step: &&Instruction| matches!(&*step.name, "has" | "hasLabel" | "hasNot" | "where" | "not");
        let clear = reader.rest().iter().take_while(filter).any(left_out);
        if !self.single || rounds.min != 1 || !clear {
            return None;
        }
        self.find_run(from, hop, (1, rounds.times), PathMode::Trail, Selector::AnyShortest)
    }

    /// A loop: each round a plan of its own.
    fn looped(&mut self, from: Var, body: &'t [Instruction], rounds: &Rounds<'t>) -> Option<At> {
        let at = self.fresh("at");
        let start = At::Vertex(at);
        let (inner, mut imports, next) = self.inner(&start, body, |inner, reader| {
            inner.set = true;
            let mut place = At::Vertex(at);
            while let Some(step) = reader.next() {
                place = inner.step(place, step, reader)?;
            }
            match place {
                At::Vertex(next) => Some(next),
                _ => None,
            }
        })?;
        if !imports.contains(&at) {
            imports.push(at);
        }
        let to = self.fresh("vertex");
        let (min, max) = (u32::try_from(rounds.min).ok()?, u32::try_from(rounds.times?).ok()?);
        let kind = ApplyKind::Repeat(Repeat { at, next, to, min, max, distinct: false });
        let items = vec![(at, Expr::Variable(from))];
        let input = Plan::Extend(Box::new(Extend { input: self.take(), items }));
        self.plan = Plan::Apply(Box::new(Apply { input, inner, imports, kind, scope: self.scope() }));
        self.way = None;
        (self.single, self.disturbed) = (false, true);
        Some(At::Vertex(to))
    }

    fn written_out(&mut self, mut at: At, body: &'t [Instruction], rounds: &Rounds<'t>) -> Option<At> {
        // a dedup in the body would count over all rounds
        if rounds.times != Some(rounds.min) || rounds.min > ROUNDS_MAX || !gathers_nothing(body) {
            return None;
        }
        for _ in 0..rounds.min {
            let mut inner = Reader { steps: body, at: 0 };
            while let Some(step) = inner.next() {
                at = self.step(at, step, &mut inner)?;
            }
        }
        Some(at)
    }
}

/// Only steps that each traverser takes by itself, and no labels.
fn gathers_nothing(body: &[Instruction]) -> bool {
    let plain = |step: &Instruction| {
        direction(&step.name).is_some()
            || matches!(
                &*step.name,
                "has"
                    | "hasLabel"
                    | "hasNot"
                    | "inV"
                    | "outV"
                    | "where"
                    | "filter"
                    | "not"
                    | "and"
                    | "or"
                    | "simplePath"
            )
    };
    !body.is_empty() && body.iter().all(plain)
}

/// Reads the modulators before and behind.
fn rounds<'t>(first: &'t Instruction, reader: &mut Reader<'t>) -> Option<Rounds<'t>> {
    let (mut times, mut emit_before, mut emit_behind, mut step) = (None, false, false, first);
    if &*step.name == "emit" && step.arguments.is_empty() {
        emit_before = true;
        step = reader.next()?;
    }
    let ("repeat", [Argument::Traversal(body)]) = (&*step.name, step.arguments.as_slice()) else {
        return None;
    };
    while let Some(next) = reader.peek() {
        match &*next.name {
            "times" if times.is_none() => times = Some(test::whole(next, 0)?),
            "emit" if next.arguments.is_empty() && !emit_before && !emit_behind => emit_behind = true,
            "times" | "emit" | "until" => return None,
            _ => break,
        }
        reader.at += 1;
    }
    if times.is_some_and(|times| !(1..=WALK_MAX).contains(&times)) {
        return None;
    }
    let min = match (emit_before, emit_behind) {
        (true, _) => 0,
        (_, true) => 1,
        _ => times?,
    };
    Some(Rounds { body: &body.steps, times, min })
}
