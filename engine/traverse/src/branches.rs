//! Branches: union, choose, coalesce, optional, and the rounds of a `repeat`.

use crate::compare::{equal, holds};
use crate::error::{Outcome, TraverseError};
use crate::limits::{ROUNDS_MAX, TRAVERSERS_MAX};
use crate::machine::Machine;
use crate::pipeline::{Pipeline, Stage, State, merge};
use crate::step::{Body, ChooseBy, Pick, Repeat, Until};
use crate::traverser::{Out, Traverser, Traversers};
use execute::watch;
use gremlin::Object;

/// The rounds of a `repeat`.
pub(crate) struct Rounds {
    body: Pipeline,
    /// Still to go this round.
    now: Traversers,
    /// To go the next round.
    next: Traversers,
}

impl Rounds {
    pub(crate) fn waiting(&self) -> usize {
        self.now.len() + self.next.len() + self.body.waiting()
    }
    /// Drops a part; true if more is left.
    pub(crate) fn drop_some(&mut self) -> bool {
        self.now.drop_some() || self.next.drop_some() || self.body.drop_some()
    }
    pub(crate) fn has_work(&self) -> bool {
        !self.now.is_empty() || !self.next.is_empty() || !self.body.is_idle()
    }
}

impl Machine {
    /// Gives a batch to each branch and takes its results.
    pub(crate) fn union(&self, bodies: &[Body], stage: &mut Stage, out: Out<'_>) -> Outcome<()> {
        let batch = take(&mut stage.queue, self.batch);
        let branches = branches_of(&mut stage.state, bodies.iter());
        for branch in branches {
            batch.iter().for_each(|traverser| branch.push(traverser.clone()));
            out.append(branch.drain(self)?)?;
        }
        Ok(())
    }

    /// Gives each traverser to the branches it chooses.
    pub(crate) fn choose(
        &self,
        by: &ChooseBy,
        (options, all): (&[(Pick, Body)], bool),
        stage: &mut Stage,
        out: Out<'_>,
    ) -> Outcome<()> {
        let batch = take(&mut stage.queue, self.batch);
        for traverser in batch {
            let chosen = self.chosen(by, (options, all), &traverser)?;
            let branches = branches_of(&mut stage.state, options.iter().map(|(_, body)| body));
            if let Some(chosen) = chosen {
                chosen.iter().for_each(|at| branches[*at].push(traverser.clone()));
            } else {
                out.push(traverser);
            }
            for branch in branches.iter_mut() {
                out.append(branch.drain(self)?)?;
            }
        }
        Ok(())
    }

    /// The branches a traverser takes; none where it passes by unchanged.
    fn chosen(
        &self,
        by: &ChooseBy,
        (options, all): (&[(Pick, Body)], bool),
        traverser: &Traverser,
    ) -> Outcome<Option<Vec<usize>>> {
        let value = match by {
            ChooseBy::Predicate(predicate) => {
                Some(Object::Bool(holds(predicate, &traverser.object) == Some(true)))
            }
            ChooseBy::Test(body) => Some(Object::Bool(self.holds(body, traverser)?)),
            ChooseBy::By(by) => self.by(by, traverser)?,
            ChooseBy::Body(body) => {
                self.first(body, Traverser { bulk: 1, ..traverser.clone() })?.map(|found| found.object)
            }
        };
        let Some(value) = value else {
            return Ok(first_of(options, |pick| matches!(pick, Pick::Unproductive)));
        };
        let mut taken = Vec::new();
        for (at, (pick, _)) in options.iter().enumerate() {
            let fits = match pick {
                Pick::Value(wanted) => equal(wanted, &value),
                Pick::Predicate(predicate) => holds(predicate, &value) == Some(true),
                Pick::Body(body) => self.holds(body, &traverser.to(value.clone(), self.keeps_path))?,
                Pick::Any | Pick::None | Pick::Unproductive => false,
            };
            if fits {
                taken.push(at);
                if !all {
                    break;
                }
            }
        }
        let any = options.iter().enumerate().filter(|(_, (pick, _))| matches!(pick, Pick::Any));
        taken.extend(any.map(|(at, _)| at));
        match taken.is_empty() {
            true => Ok(first_of(options, |pick| matches!(pick, Pick::None))),
            false => Ok(Some(taken)),
        }
    }

    /// The results that the branches gathered.
    pub(crate) fn flush_branches(&self, always: bool, stage: &mut Stage, out: Out<'_>) -> Outcome<()> {
        if let State::Branches(branches) = &mut stage.state {
            for branch in branches.iter_mut().filter(|branch| always || branch.was_given()) {
                while let Some(some) = branch.next(self)? {
                    out.append(some)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn coalesce(&self, bodies: &[Body], traverser: Traverser, out: Out<'_>) -> Outcome<()> {
        for body in bodies {
            let found = self.run(body, Traverser { bulk: 1, ..traverser.clone() })?;
            if !found.is_empty() {
                return self.flat(&traverser, found, out);
            }
        }
        Ok(())
    }

    pub(crate) fn optional(&self, body: &Body, traverser: Traverser, out: Out<'_>) -> Outcome<()> {
        let found = self.run(body, traverser.clone())?;
        if found.is_empty() {
            out.push(traverser);
        } else {
            out.append(found)?;
        }
        Ok(())
    }

    /// Objects found for a traverser: each the next of its way.
    pub(crate) fn flat(&self, traverser: &Traverser, found: Traversers, out: Out<'_>) -> Outcome<()> {
        for end in found {
            watch::spend(1)?;
            let mut next = traverser.to(end.object, self.keeps_path);
            next.bulk = next.bulk.saturating_mul(end.bulk);
            next.sack = end.sack;
            out.push(next);
        }
        Ok(())
    }

    /// A turn of a `repeat`: new arrivals, or a batch of the current round.
    pub(crate) fn round(&self, repeat: &Repeat, stage: &mut Stage, out: Out<'_>) -> Outcome<()> {
        if !matches!(stage.state, State::Rounds(_)) {
            let rounds = Rounds {
                body: Pipeline::new(&repeat.body),
                now: Traversers::default(),
                next: Traversers::default(),
            };
            stage.state = State::Rounds(Box::new(rounds));
        }
        let State::Rounds(rounds) = &mut stage.state else { return Ok(()) };
        let gathers = repeat.body.waits();
        // a body that gathers waits for all that can arrive
        if gathers {
            for traverser in std::mem::take(&mut stage.queue) {
                watch::spend(1)?;
                self.enter(repeat, traverser, &mut rounds.now, out)?;
            }
        } else if !stage.queue.is_empty() {
            for traverser in take(&mut stage.queue, self.batch) {
                self.enter(repeat, traverser, &mut rounds.now, out)?;
            }
            if self.batch == 1 || rounds.now.len() >= self.batch || stage.queue.is_empty() {
                return self.go_round(repeat, rounds, gathers, out);
            }
            return Ok(());
        }
        if rounds.now.is_empty() {
            rounds.now = std::mem::take(&mut rounds.next);
            merge(&mut rounds.now, self)?;
            rounds.body.count_anew();
        }
        self.go_round(repeat, rounds, gathers, out)
    }

    fn go_round(&self, repeat: &Repeat, rounds: &mut Rounds, gathers: bool, out: Out<'_>) -> Outcome<()> {
        let mut batch =
            if gathers { std::mem::take(&mut rounds.now) } else { take(&mut rounds.now, self.batch) };
        // What a reduction in the body gives has gone as many rounds as what it was made of; or nothing would ever end `times`.
        let gone = batch.first_mut().map(|traverser| traverser.loops.clone()).unwrap_or_default();
        let done = if repeat.body.gathers {
            self.run_all(&repeat.body, batch)?
        } else {
            batch.into_iter().for_each(|traverser| rounds.body.push(traverser));
            rounds.body.drain(self)?
        };
        for mut traverser in done {
            watch::spend(1)?;
            if traverser.loops.len() < gone.len() {
                traverser.loops.clone_from(&gone);
            }
            self.leave(repeat, traverser, &mut rounds.next, out)?;
        }
        if rounds.next.len() > TRAVERSERS_MAX {
            return Err(TraverseError::Limit(format!(
                "more than {TRAVERSERS_MAX} traversers are in one repeat"
            )));
        }
        Ok(())
    }

    /// A traverser that has not gone a round yet.
    fn enter(&self, repeat: &Repeat, mut traverser: Traverser, now: Out<'_>, out: Out<'_>) -> Outcome<()> {
        traverser.loops.push((repeat.name.clone(), 0));
        self.before(repeat, traverser, now, out)
    }

    /// The conditions that are tested before the body.
    fn before(&self, repeat: &Repeat, traverser: Traverser, queue: Out<'_>, out: Out<'_>) -> Outcome<()> {
        if let Some((until, true)) = &repeat.until
            && self.is_over(until, &traverser)?
        {
            out.push(outside(traverser));
            return Ok(());
        }
        if let Some((emit, true)) = &repeat.emit
            && self.is_emitted(emit.as_ref(), &traverser)?
        {
            out.push(outside(traverser.clone()));
        }
        queue.push(traverser);
        Ok(())
    }

    /// A traverser that has gone a round.
    fn leave(&self, repeat: &Repeat, mut traverser: Traverser, next: Out<'_>, out: Out<'_>) -> Outcome<()> {
        match traverser.loops.last_mut() {
            Some((_, rounds)) if u64::from(*rounds) < ROUNDS_MAX => *rounds += 1,
            Some(_) => {
                return Err(TraverseError::Limit(format!("repeat goes more than {ROUNDS_MAX} rounds")));
            }
            // nothing was on its way when a reduction of nothing gave something
            None => traverser.loops.push((repeat.name.clone(), 1)),
        }
        if let Some((until, false)) = &repeat.until
            && self.is_over(until, &traverser)?
        {
            out.push(outside(traverser));
            return Ok(());
        }
        if let Some((emit, false)) = &repeat.emit
            && self.is_emitted(emit.as_ref(), &traverser)?
        {
            out.push(outside(traverser.clone()));
        }
        self.before(repeat, traverser, next, out)
    }

    fn is_over(&self, until: &Until, traverser: &Traverser) -> Outcome<bool> {
        match until {
            Until::Times(times) => Ok(u64::from(traverser.rounds(None).unwrap_or(0)) >= *times),
            Until::Body(body) => self.holds(body, traverser),
        }
    }
    fn is_emitted(&self, emit: Option<&Body>, traverser: &Traverser) -> Outcome<bool> {
        emit.map_or(Ok(true), |body| self.holds(body, traverser))
    }
}

fn outside(mut traverser: Traverser) -> Traverser {
    traverser.loops.pop();
    traverser
}

fn take(queue: Out<'_>, count: usize) -> Traversers {
    std::iter::from_fn(|| queue.pop()).take(count).collect()
}

fn first_of(options: &[(Pick, Body)], wanted: impl Fn(&Pick) -> bool) -> Option<Vec<usize>> {
    options.iter().position(|(pick, _)| wanted(pick)).map(|at| vec![at])
}

fn branches_of<'b, 's>(state: &mut State, bodies: impl Iterator<Item = &'b Body>) -> &mut Vec<Pipeline> {
    if !matches!(state, State::Branches(_)) {
        *state = State::Branches(bodies.map(Pipeline::new).collect());
    }
    match state {
        State::Branches(branches) => branches,
        _ => unreachable!("it was just made"),
    }
}
