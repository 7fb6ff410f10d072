//! `repeat(…)`: along single edges a walk of so many, with a test on the way a loop, and otherwise written out.
//!
//! `repeat(x).times(n)` yields those after n rounds; with `emit()` behind it those after each round, with `emit()` before it those
//! before the first too. `until(c)` ends the way of those that satisfy it: a loop whose rounds begin where it does not hold, and of whose
//! ends those are kept where it does, or where `emit(…)` does.

use super::branch::no;
use super::hop::direction;
use super::{At, Lowering, Met, Reader, What, binary, counts_once, test};
use crate::object::Object;
use crate::predicate::{Compare, Predicate};
use crate::traversal::{Argument, Instruction, Traversal};
use model::Direction;
use plan::algebra::{Apply, ApplyKind, ExpandPath, Extend, Repeat};
use plan::expr::{BinaryOperator, Name};
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
    until: Option<Until<'t>>,
}

/// Where a way ends.
struct Until<'t> {
    condition: &'t Traversal,
    /// Is it tested before the first round, too?
    before: bool,
    emit: Emit<'t>,
}

/// The objects that are emitted beside those that leave the loop.
#[derive(Clone, Copy)]
enum Emit<'t> {
    Nothing,
    All,
    Those(&'t Traversal),
}

impl<'t> Lowering<'t> {
    /// From its first word on, which may be a modulator.
    pub(super) fn repeat(&mut self, at: At, first: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let At::Vertex(from) = at else { return None };
        let rounds = rounds(first, reader)?;
        let once = self.set || counts_once(reader.rest());
        if let Some(until) = &rounds.until {
            // how often each is met is counted by the machine, and not gone through
            return once.then(|| self.until(from, rounds.body, until))?;
        }
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
        // where it counts how often each is met, walks are not gone through one by one
        if !once {
            let at = At::Vertex(from);
            return self.written_out(at, rounds.body, rounds);
        }
        self.find_run(from, hop, (rounds.min, rounds.times), PathMode::Walk, Selector::Every)
    }
    /// No step or one.
    pub(super) fn stay_or_walk(&mut self, from: Var, hop: &'t Instruction, once: bool) -> Option<At> {
        let direction = direction(&hop.name).filter(|_| !hop.name.ends_with('E'))?;
        // a loop is met twice
        if direction == Direction::Both && !once {
            return None;
        }
        self.find_run(from, hop, (0, Some(1)), PathMode::Walk, Selector::Every)
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
        let edge =
            PatternEdge { variable: edges, from, to, types, direction, run: Some(run), distinct_among: None };
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

    /// Rounds until something holds.
    fn until(&mut self, from: Var, body: &'t [Instruction], until: &Until<'t>) -> Option<At> {
        if !gathers_nothing(body) {
            return None;
        }
        let mut start = At::Vertex(from);
        if !until.before {
            let (set, mut reader) = (std::mem::replace(&mut self.set, true), Reader { steps: body, at: 0 });
            while let Some(step) = reader.next() {
                start = self.step(start, step, &mut reader)?;
            }
            self.set = set;
        }
        let At::Vertex(start) = start else { return None };
        let end = self.loop_from(start, (body, Some(until.condition)), (0, u32::MAX))?;
        let ends = self.asks(&end, until.condition)?;
        match until.emit {
            Emit::Nothing => self.filter(ends),
            Emit::All => {}
            Emit::Those(emitted) => {
                let emitted = self.asks(&end, emitted)?;
                self.filter(binary(BinaryOperator::Or, ends, emitted));
            }
        }
        Some(end)
    }

    /// A loop: each round a plan of its own.
    fn looped(&mut self, from: Var, body: &'t [Instruction], rounds: &Rounds<'t>) -> Option<At> {
        let range = (u32::try_from(rounds.min).ok()?, u32::try_from(rounds.times?).ok()?);
        self.loop_from(from, (body, None), range)
    }
    fn loop_from(
        &mut self,
        from: Var,
        (body, until): (&'t [Instruction], Option<&'t Traversal>),
        (min, max): (u32, u32),
    ) -> Option<At> {
        let at = self.fresh("at");
        let start = At::Vertex(at);
        let (inner, mut imports, next) = self.inner(&start, body, |inner, reader| {
            inner.set = true;
            if let Some(until) = until {
                let goes_on = no(inner.asks(&At::Vertex(at), until)?);
                inner.filter(goes_on);
            }
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
        let kind = ApplyKind::Repeat(Repeat { at, next, to, min, max, distinct: false });
        let items = vec![(at, Expr::Variable(from))];
        let input = Plan::Extend(Box::new(Extend { input: self.take(), items }));
        self.plan =
            Plan::Apply(Box::new(Apply { input, inner, imports, kind, scope: self.scope(), rank: None }));
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
    let (mut emits, mut untils, mut step) = (Vec::new(), Vec::new(), first);
    while matches!(&*step.name, "emit" | "until") {
        if &*step.name == "emit" {
            emits.push((true, step))
        } else {
            untils.push((true, step))
        }
        step = reader.next()?;
    }
    let ("repeat", [Argument::Traversal(body)]) = (&*step.name, step.arguments.as_slice()) else {
        return None;
    };
    let mut times = None;
    while let Some(next) = reader.peek() {
        match &*next.name {
            "times" if times.is_none() => times = Some(test::whole(next, 0)?),
            "times" => return None,
            "emit" => emits.push((false, next)),
            "until" => untils.push((false, next)),
            _ => break,
        }
        reader.at += 1;
    }
    let body = body.steps.as_slice();
    match (untils.as_slice(), emits.as_slice(), times) {
        ([], [], Some(times)) => counted(body, Some(times), times),
        ([], [(before, emit)], times) if emit.arguments.is_empty() => {
            counted(body, times, i64::from(!before))
        }
        ([(before, until)], emits, None) => {
            let [Argument::Traversal(condition)] = until.arguments.as_slice() else { return None };
            let emit = match emits {
                [] => Emit::Nothing,
                // said on the other side, it speaks of the first place differently than the condition does
                [(emit_before, emit)] if emit_before == before => match emit.arguments.as_slice() {
                    [] => Emit::All,
                    [Argument::Traversal(those)] => Emit::Those(those),
                    _ => return None,
                },
                _ => return None,
            };
            let until = Some(Until { condition, before: *before, emit });
            Some(Rounds { body, times: None, min: 0, until })
        }
        _ => None,
    }
}

fn counted(body: &[Instruction], times: Option<i64>, min: i64) -> Option<Rounds<'_>> {
    let is_some = times.is_none_or(|times| (1..=WALK_MAX).contains(&times));
    is_some.then_some(Rounds { body, times, min, until: None })
}
