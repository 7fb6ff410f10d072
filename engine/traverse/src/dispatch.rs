//! From a step to its implementation: one match for arriving traversers, one for gathered ones.

use crate::compare::{Keyed, holds};
use crate::error::{Outcome, TraverseError};
use crate::limits::COLLECTION_MAX;
use crate::machine::Machine;
use crate::ordered::KeyNumbers;
use crate::pipeline::{Stage, State};
use crate::reduce::Reducing;
use crate::step::{By, Name, Step};
use crate::traverser::{Out, Traverser, Traversers};
use execute::watch;
use gremlin::Object;

impl Machine {
    /// Works on one traverser; true where the step needs no more.
    pub(crate) fn step(
        &self,
        step: &Step,
        state: &mut State,
        traverser: Traverser,
        out: Out<'_>,
    ) -> Outcome<bool> {
        match step {
            Step::Dedup { labels, by } => self.dedup(labels, by.as_ref(), state, traverser, out)?,
            Step::Range { low, high } => return Ok(range(*low, *high, state, traverser, out)),
            Step::Reduce(reduce) => {
                if !matches!(state, State::Reducing(_)) {
                    *state = State::Reducing(Box::new(Reducing::new(*reduce)));
                }
                if let State::Reducing(reducing) = state {
                    self.reduce(reducing, &traverser)?;
                }
            }
            Step::Inject { objects, first } => self.inject(objects, *first, state, traverser, out),
            Step::Tail(count) => tail(*count, state, traverser)?,
            Step::Sample { .. }
            | Step::Order(_)
            | Step::Fold(_)
            | Step::Tree { side: None, .. }
            | Step::Group { side: None, .. }
            | Step::GroupCount { side: None, .. }
            | Step::Barrier { .. }
            | Step::Cap(_)
            | Step::Aggregate { eager: true, .. } => gather(state, traverser)?,
            _ => self.one(step, traverser, out)?,
        }
        Ok(false)
    }

    /// Steps without memory.
    fn one(&self, step: &Step, traverser: Traverser, out: Out<'_>) -> Outcome<()> {
        match step {
            Step::Is(predicate) => keep(holds(predicate, &traverser.object) == Some(true), traverser, out),
            Step::Has { what, predicate } => {
                keep(self.has(what, predicate, &traverser.object)?, traverser, out)
            }
            Step::HasKeyOnly(key) => keep(self.has_key(key, &traverser.object)?, traverser, out),
            Step::HasNot(key) => keep(!self.has_key(key, &traverser.object)?, traverser, out),
            Step::Where(body) => keep(self.holds(body, &traverser)?, traverser, out),
            Step::Not(body) => keep(self.denies(body, &traverser)?, traverser, out),
            Step::And(bodies) => keep(self.all_hold(bodies, &traverser)?, traverser, out),
            Step::Or(bodies) => keep(self.any_holds(bodies, &traverser)?, traverser, out),
            Step::WhereIs(condition) => keep(self.where_is(condition, &traverser)?, traverser, out),
            Step::WhereEnd(label) => keep(self.is_at(label, &traverser)?, traverser, out),
            Step::WhereStart(label) => {
                if let Some(object) = self.scoped(label, &traverser, gremlin::Token::Last)? {
                    out.push(traverser.to(object, self.keeps_path));
                }
            }
            Step::SimplePath { part, simple } => {
                keep(self.is_simple(part, &traverser)? == Some(*simple), traverser, out);
            }
            Step::Coin(odds) => self.coin(*odds, traverser, out),
            Step::Quantified { what, predicate } => {
                keep(crate::shapes::quantified(what, predicate, &traverser.object), traverser, out);
            }
            Step::Discard => {}
            Step::Call(call) => self.call(call, &traverser, out)?,
            Step::Identity | Step::TimeLimit => out.push(traverser),
            Step::As(labels) => {
                let mut traverser = traverser;
                traverser.label(labels, self.keeps_path);
                out.push(traverser);
            }
            Step::Forget(labels) => {
                let mut traverser = traverser;
                traverser.keep_labels(|label| !labels.contains(label));
                out.push(traverser);
            }
            Step::Local(body) => {
                // each of a bulk for itself
                let bulk = traverser.bulk;
                let found = self.run(body, Traverser { bulk: 1, ..traverser })?;
                out.extend(
                    found.into_iter().map(|one| Traverser { bulk: one.bulk.saturating_mul(bulk), ..one }),
                );
            }
            Step::Coalesce(bodies) => self.coalesce(bodies, traverser, out)?,
            Step::Optional(body) => self.optional(body, traverser, out)?,
            Step::Match(patterns) => self.matches(patterns, traverser, out)?,
            Step::FlatMap(body) => {
                let found = self.run(body, Traverser { bulk: 1, ..traverser.clone() })?;
                self.flat(&traverser, found, out)?;
            }
            Step::Map(body) => {
                let found = self.first(body, Traverser { bulk: 1, ..traverser.clone() })?;
                self.flat(&traverser, found.into_iter().collect(), out)?;
            }
            Step::SideEffect(_)
            | Step::Aggregate { .. }
            | Step::Group { .. }
            | Step::GroupCount { .. }
            | Step::Tree { .. }
            | Step::Subgraph(_)
            | Step::Sack { .. }
            | Step::Fail(_) => self.effect(step, traverser, out)?,
            Step::AddVertex { .. }
            | Step::AddEdge { .. }
            | Step::SetProperty(_)
            | Step::SetProperties { .. }
            | Step::Drop
            | Step::Merge(_) => self.change(step, traverser, out)?,
            _ => self.walk(step, traverser, out)?,
        }
        Ok(())
    }

    /// The output of a step when no more input can arrive.
    pub(crate) fn flush(&self, step: &Step, stage: &mut Stage, out: Out<'_>) -> Outcome<()> {
        if let Step::Union(_) | Step::Choose { .. } = step {
            return self.flush_branches(matches!(step, Step::Union(_)), stage, out);
        }
        if let Step::Reduce(reduce) = step {
            let reducing = match std::mem::take(&mut stage.state) {
                State::Reducing(reducing) => *reducing,
                _ => Reducing::new(*reduce),
            };
            out.extend(reducing.finish()?.map(|object| self.fresh(object)));
            return Ok(());
        }
        let gathered = match std::mem::take(&mut stage.state) {
            State::Gathered(gathered) | State::Tail(gathered, _) => gathered,
            other => {
                stage.state = other;
                Traversers::default()
            }
        };
        match step {
            Step::Inject { objects, first } => self.inject_rest(objects, *first, &mut stage.state, out),
            Step::Tail(_) => out.append(gathered)?,
            Step::Sample { count, by } => self.sample(*count, by.as_ref(), gathered, out)?,
            Step::Order(keys) => out.append(self.sorted(keys, gathered)?)?,
            Step::Fold(seed) => self.fold(seed.as_ref(), gathered, out)?,
            Step::Group { side: None, grouping } => {
                let mut groups = crate::ordered::Ordered::default();
                for traverser in gathered {
                    watch::spend(1)?;
                    self.add_to_group(&mut groups, &grouping.key, traverser)?;
                }
                let map = self.group_map(groups.items, &grouping.value)?;
                out.push(self.fresh(map));
            }
            Step::GroupCount { side: None, by } => {
                let mut counts = crate::ordered::Ordered::default();
                for traverser in gathered {
                    watch::spend(1)?;
                    self.add_to_counts(&mut counts, by, &traverser)?;
                }
                out.push(self.fresh(crate::ordered::counts_map(&counts)));
            }
            Step::Tree { side: None, by } => {
                let mut tree = Vec::new();
                for traverser in gathered {
                    watch::spend(1)?;
                    self.add_to_tree(&mut tree, by, &traverser)?;
                }
                out.push(self.fresh(self.tree_object(tree)));
            }
            Step::Barrier { normalise_sacks } => out.append(self.barrier(*normalise_sacks, gathered)?)?,
            Step::Cap(names) => out.push(self.cap(names)?),
            Step::Aggregate { side, by, eager: true } => {
                self.aggregate_all(side, by, &gathered)?;
                out.append(gathered)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// A traverser that comes from all that were gathered.
    pub(crate) fn fresh(&self, object: Object) -> Traverser {
        let sack = self.setting().sack.as_ref().map_or(Object::Null, |(first, _)| first.clone());
        Traverser::seed(sack).to(object, self.keeps_path)
    }

    fn dedup(
        &self,
        labels: &[Name],
        by: Option<&By>,
        state: &mut State,
        mut traverser: Traverser,
        out: Out<'_>,
    ) -> Outcome<()> {
        if !matches!(state, State::Seen(_)) {
            *state = State::Seen(KeyNumbers::default());
        }
        let by = by.unwrap_or(&By::Identity);
        let key = if labels.is_empty() {
            self.by(by, &traverser)?
        } else {
            let mut parts = Vec::new();
            for label in labels {
                let Some(object) = self.scoped(label, &traverser, gremlin::Token::Last)? else {
                    return Ok(());
                };
                let Some(part) = self.by(by, &traverser.to(object, self.keeps_path))? else { return Ok(()) };
                parts.push(part);
            }
            Some(Object::list(parts))
        };
        let (State::Seen(seen), Some(key)) = (state, key) else { return Ok(()) };
        if seen.insert(Keyed(key)) {
            if seen.len() > COLLECTION_MAX {
                return Err(TraverseError::Limit(format!(
                    "dedup remembers more than {COLLECTION_MAX} objects"
                )));
            }
            traverser.bulk = 1;
            out.push(traverser);
        }
        Ok(())
    }

    fn inject(&self, objects: &[Object], first: bool, state: &mut State, traverser: Traverser, out: Out<'_>) {
        if !first {
            out.push(traverser);
        }
        self.inject_rest(objects, first, state, out);
    }
    /// The injected objects, once.
    fn inject_rest(&self, objects: &[Object], _: bool, state: &mut State, out: Out<'_>) {
        if !matches!(state, State::Done) {
            *state = State::Done;
            out.extend(objects.iter().map(|object| self.fresh(object.clone())));
        }
    }

    fn coin(&self, odds: f64, mut traverser: Traverser, out: Out<'_>) {
        // each of a bulk is thrown for; above a bound their share is taken
        traverser.bulk = match traverser.bulk {
            bulk @ 0..1_000 => (0..bulk).filter(|_| self.chance() < odds).count() as u64,
            bulk => (bulk as f64 * odds.clamp(0.0, 1.0)).round() as u64,
        };
        if traverser.bulk > 0 {
            out.push(traverser);
        }
    }
}

fn keep(holds: bool, traverser: Traverser, out: Out<'_>) {
    if holds {
        out.push(traverser);
    }
}

fn gather(state: &mut State, traverser: Traverser) -> Outcome<()> {
    if !matches!(state, State::Gathered(_)) {
        *state = State::Gathered(Traversers::default());
    }
    if let State::Gathered(gathered) = state {
        if gathered.len() >= COLLECTION_MAX {
            return Err(too_many());
        }
        gathered.push(traverser);
    }
    Ok(())
}

/// Lets through those from `low` up to `high`; true when there can be no more.
fn range(low: u64, high: Option<u64>, state: &mut State, mut traverser: Traverser, out: Out<'_>) -> bool {
    let before = match state {
        State::Counted(count) => *count,
        _ => 0,
    };
    let after = before.saturating_add(traverser.bulk);
    *state = State::Counted(after);
    let (from, to) = (before.max(low), high.map_or(after, |high| after.min(high)));
    if from < to {
        traverser.bulk = to - from;
        out.push(traverser);
    }
    high.is_some_and(|high| after >= high)
}

fn too_many() -> TraverseError {
    TraverseError::Limit(format!("a step gathers more than {COLLECTION_MAX} traversers"))
}

/// Keeps the last so many.
fn tail(count: u64, state: &mut State, mut traverser: Traverser) -> Outcome<()> {
    if !matches!(state, State::Tail(..)) {
        *state = State::Tail(Traversers::default(), 0);
    }
    if let State::Tail(kept, total) = state {
        traverser.bulk = traverser.bulk.min(count);
        if traverser.bulk == 0 {
            return Ok(());
        }
        *total = total.saturating_add(traverser.bulk);
        kept.push(traverser);
        // The first goes, or a part of its bulk.
        while *total > count {
            let Some(first) = kept.first_mut() else { break };
            let gone = first.bulk.min(*total - count);
            first.bulk -= gone;
            *total -= gone;
            if first.bulk == 0 {
                kept.pop();
            }
        }
        if kept.len() > COLLECTION_MAX {
            return Err(too_many());
        }
    }
    Ok(())
}
