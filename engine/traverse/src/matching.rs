//! `match`: all ways to give every label an object so that every pattern holds.
//!
//! Depth-first: the first pattern whose start is bound, or the first of all, goes next; each of its results binds the end, or must
//! equal what the end is bound to. Cost: that of the walks, in the order in which labels become bound.

use crate::compare::same;
use crate::error::{Outcome, TraverseError};
use crate::machine::Machine;
use crate::step::{MatchPattern, Name, Step};
use crate::traverser::{Out, Traverser, Traversers};
use gremlin::{Object, Token};

/// Labels with their objects.
type MatchBindings = Vec<(Name, Object)>;

impl Machine {
    pub(crate) fn matches(
        &self,
        patterns: &[MatchPattern],
        traverser: Traverser,
        out: Out<'_>,
    ) -> Outcome<()> {
        let all: Vec<&MatchPattern> = patterns.iter().collect();
        let mut bound = MatchBindings::new();
        let mut labels = Vec::new();
        patterns.iter().for_each(|pattern| labels_of(pattern, &mut labels));
        labels.sort();
        labels.dedup();
        for label in &labels {
            if let Some(object) = traverser.newest(label) {
                bound.push((label.clone(), object));
            }
        }
        if bound.is_empty()
            && let Some(start) = first_start(patterns)
        {
            bound.push((start, traverser.object.clone()));
        }
        let known = bound.len();
        self.solve(&all, bound, &traverser, &mut |machine, bound| {
            let mut next = traverser.clone();
            for (at, (label, object)) in bound.iter().enumerate() {
                // what was bound before is on the way already
                if at >= known || traverser.newest(label).is_none() {
                    next = next.to(object.clone(), machine.keeps_path);
                    next.label(std::slice::from_ref(label), machine.keeps_path);
                }
            }
            let pairs = bound.iter().map(|(label, object)| (Object::String(label.clone()), object.clone()));
            next.object = Object::map(pairs.collect());
            out.push(next);
            Ok(true)
        })?;
        Ok(())
    }

    /// Calls `found` with each solution until it says false; says whether to go on.
    fn solve(
        &self,
        patterns: &[&MatchPattern],
        bound: MatchBindings,
        traverser: &Traverser,
        found: &mut dyn FnMut(&Self, &MatchBindings) -> Outcome<bool>,
    ) -> Outcome<bool> {
        self.pause()?;
        if patterns.is_empty() {
            return found(self, &bound);
        }
        let Some(at) = patterns.iter().position(|pattern| is_ready(pattern, &bound)) else {
            let message = "the patterns do not hang together: no pattern begins with a label that is bound";
            return Err(TraverseError::step("match", message));
        };
        let mut rest = patterns.to_vec();
        match rest.remove(at) {
            MatchPattern::All(inner) => {
                rest.extend(inner.iter());
                self.solve(&rest, bound, traverser, found)
            }
            MatchPattern::Any(inner) => {
                for one in inner {
                    let mut with = vec![one];
                    with.extend(rest.iter().copied());
                    if !self.solve(&with, bound.clone(), traverser, found)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            MatchPattern::Not(inner) => {
                let mut any = false;
                self.solve(&[inner], bound.clone(), traverser, &mut |_, _| {
                    any = true;
                    Ok(false)
                })?;
                if any { Ok(true) } else { self.solve(&rest, bound, traverser, found) }
            }
            MatchPattern::Where(step, _) => match self.passes(step, &bound, traverser)? {
                true => self.solve(&rest, bound, traverser, found),
                false => Ok(true),
            },
            MatchPattern::Walk { start, body, end } => {
                let object = bound.iter().find(|(label, _)| label == start).map(|(_, object)| object.clone());
                let there = self.scope_of(&bound, traverser).to(object.unwrap_or_default(), self.keeps_path);
                for result in self.run(body, Traverser { bulk: 1, ..there })? {
                    let mut bound = bound.clone();
                    if let Some(end) = end {
                        match bound.iter().find(|(label, _)| label == end) {
                            Some((_, known)) if !same(known, &result.object) => continue,
                            Some(_) => {}
                            None => bound.push((end.clone(), result.object.clone())),
                        }
                    }
                    for _ in 0..result.bulk.min(1_000_000) {
                        if !self.solve(&rest, bound.clone(), traverser, found)? {
                            return Ok(false);
                        }
                    }
                    if end.is_none() {
                        break;
                    }
                }
                Ok(true)
            }
        }
    }

    fn passes(&self, step: &Step, bound: &MatchBindings, traverser: &Traverser) -> Outcome<bool> {
        let mut out = Traversers::default();
        let mut state = crate::pipeline::State::Nothing;
        self.step(step, &mut state, self.scope_of(bound, traverser), &mut out)?;
        Ok(!out.is_empty())
    }

    /// A traverser whose path has the bindings.
    fn scope_of(&self, bound: &MatchBindings, traverser: &Traverser) -> Traverser {
        let mut scope = traverser.clone();
        for (label, object) in bound {
            let known = self.scoped(label, traverser, Token::Last).ok().flatten();
            if !known.is_some_and(|known| same(&known, object)) {
                scope = scope.to(object.clone(), self.keeps_path);
                scope.label(std::slice::from_ref(label), self.keeps_path);
            }
        }
        scope
    }
}

fn is_ready(pattern: &MatchPattern, bound: &MatchBindings) -> bool {
    let has = |label: &Name| bound.iter().any(|(known, _)| known == label);
    match pattern {
        MatchPattern::Walk { start, .. } => has(start),
        MatchPattern::All(inner) | MatchPattern::Any(inner) => {
            inner.iter().any(|inner| is_ready(inner, bound))
        }
        MatchPattern::Not(inner) => {
            let mut labels = Vec::new();
            starts_of(inner, &mut labels);
            labels.iter().all(has)
        }
        MatchPattern::Where(_, needs) => needs.iter().all(has),
    }
}

fn first_start(patterns: &[MatchPattern]) -> Option<Name> {
    let mut starts = Vec::new();
    patterns.iter().for_each(|pattern| starts_of(pattern, &mut starts));
    let mut ends = Vec::new();
    patterns.iter().for_each(|pattern| ends_of(pattern, &mut ends));
    // where the traverser stands is what no pattern leads to, if there is such a label
    let root = starts.iter().find(|start| !ends.contains(start));
    root.or(starts.first()).cloned()
}

fn starts_of(pattern: &MatchPattern, found: &mut Vec<Name>) {
    match pattern {
        MatchPattern::Walk { start, .. } => found.push(start.clone()),
        MatchPattern::All(inner) | MatchPattern::Any(inner) => {
            inner.iter().for_each(|one| starts_of(one, found))
        }
        MatchPattern::Not(inner) => starts_of(inner, found),
        MatchPattern::Where(..) => {}
    }
}

fn ends_of(pattern: &MatchPattern, found: &mut Vec<Name>) {
    match pattern {
        MatchPattern::Walk { end, .. } => found.extend(end.clone()),
        MatchPattern::All(inner) | MatchPattern::Any(inner) => {
            inner.iter().for_each(|one| ends_of(one, found))
        }
        MatchPattern::Not(inner) => ends_of(inner, found),
        MatchPattern::Where(..) => {}
    }
}

fn labels_of(pattern: &MatchPattern, found: &mut Vec<Name>) {
    starts_of(pattern, found);
    ends_of(pattern, found);
}
