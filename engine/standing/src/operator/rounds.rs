//! Ends of walks of which each step is a row of an inner query, maintained.
//!
//! A repeated group with a sub-query in it cannot be read from the graph's edges: whether a step exists depends on the sub-query, and on columns of
//! the row outside (the *context*). So each context keeps the steps that its walks have met, and the inner query is run only for the vertices that
//! they reach: a walk that gets to a new vertex requests its steps within the same timestamp, and goes on when they have come. Vertices that no walk
//! reaches any more are withdrawn. On these steps the distances from every source are maintained as in [`super::Reach`]. Work is proportional to the
//! vertices affected and their steps.

use super::reach::{Moved, Source, Ways};
use super::walk::{SourceStart, Walk};
use crate::StandingError;
use crate::evaluate::Surroundings;
use crate::event_context::{Changes, EventContext};
use crate::row::Row;
use crate::shape::Body;
use crate::steps::Steps;
use crate::table::HashMap;
use crate::weight::Weight;
use model::{Value, VertexId};

/// Present steps, with multiplicities.
#[derive(Default)]
struct Met {
    next: HashMap<VertexId, HashMap<VertexId, isize>>,
    previous: HashMap<VertexId, HashMap<VertexId, isize>>,
}

impl Met {
    /// True where the step came or went with it.
    fn count(&mut self, near: VertexId, far: VertexId, diff: isize) -> bool {
        let add = |side: &mut HashMap<VertexId, HashMap<VertexId, isize>>, a: VertexId, b: VertexId| {
            let ends = side.entry(a).or_default();
            let count = ends.entry(b).or_insert(0);
            let was = *count != 0;
            *count += diff;
            let is = *count != 0;
            if !is {
                ends.remove(&b);
                if ends.is_empty() {
                    side.remove(&a);
                }
            }
            was != is
        };
        add(&mut self.previous, far, near);
        add(&mut self.next, near, far)
    }
}

/// Walks over them, up to a number of steps.
struct Bounded<'a>(&'a Met, u32);

impl Ways for Bounded<'_> {
    fn max(&self) -> u32 {
        self.1
    }
    fn next(&self, vertex: VertexId, found: &mut dyn FnMut(VertexId)) -> Result<(), StandingError> {
        self.0.next.get(&vertex).into_iter().flatten().for_each(|(far, _)| found(*far));
        Ok(())
    }
    fn previous(&self, vertex: VertexId, found: &mut dyn FnMut(VertexId)) -> Result<(), StandingError> {
        self.0.previous.get(&vertex).into_iter().flatten().for_each(|(near, _)| found(*near));
        Ok(())
    }
}

/// Distances that changed at this timestamp, as they were before it.
type Before = HashMap<VertexId, Option<u32>>;

/// One context.
#[derive(Default)]
struct Ring {
    met: Met,
    sources: HashMap<VertexId, Source>,
    /// How many sources want the steps of a vertex.
    wanted: HashMap<VertexId, usize>,
}

/// The events of a context's sources at this timestamp.
#[derive(Default)]
struct News {
    moved: Moved,
    before: HashMap<VertexId, Before>,
    /// Whether each source was its own end before.
    own: HashMap<VertexId, bool>,
}

/// All contexts.
pub(crate) struct Rounds {
    body: Steps,
    walk: Walk,
    rings: HashMap<Row, Ring>,
}

impl Rounds {
    /// No source yet.
    pub fn new(body: Body, walk: Walk, surroundings: &Surroundings) -> Result<Rounds, StandingError> {
        let body = Steps::new(body.steps, body.output, surroundings)?;
        Ok(Rounds { body, walk, rings: HashMap::default() })
    }
    fn max(&self) -> u32 {
        self.walk.max.unwrap_or(u32::MAX - 1)
    }
    /// Rows of the input with an end of their walks that come and go. The last column of the input is where a walk begins; each row comes
    /// once.
    pub fn advance(&mut self, turn: &EventContext<'_>, input: &Changes) -> Result<Changes, StandingError> {
        let mut news: HashMap<Row, News> = HashMap::default();
        let steps = self.body.advance(turn, &Changes::new())?;
        self.take_up(steps, &mut news);
        let (mut asked, mut found, max) = (Changes::new(), Changes::new(), self.max());
        for (row, diff) in input {
            let Some((context, source)) = split(row, 0) else { continue };
            let ring = self.rings.entry(context.clone()).or_default();
            let story = news.entry(context.clone()).or_default();
            if *diff > 0 {
                let state = Source::begin(source, &Bounded(&ring.met, max))?;
                story.own.insert(source, false);
                story.before.insert(source, state.distances.keys().map(|vertex| (*vertex, None)).collect());
                for (vertex, _) in state.distances.iter().filter(|(_, distance)| **distance < max) {
                    ring.want(&context, *vertex, 1, &mut asked);
                }
                ring.sources.insert(source, state);
            } else {
                self.leave(&context, source, story, &mut asked, &mut found);
            }
        }
        // Steps that go shorten nothing, so all that is wanted after the first round is more.
        loop {
            self.walk_on(&mut news, &mut asked)?;
            let (more, less): (Changes, Changes) = asked.drain(..).partition(|(_, diff)| *diff > 0);
            asked = less;
            if more.is_empty() {
                break;
            }
            let steps = self.body.advance(&EventContext { touched: None, ..*turn }, &more)?;
            self.take_up(steps, &mut news);
        }
        self.tell(&news, &mut found)?;
        if !asked.is_empty() {
            let steps = self.body.advance(&EventContext { touched: None, ..*turn }, &asked)?;
            self.take_up(steps, &mut news);
        }
        for context in news.keys() {
            if self.rings.get(context).is_some_and(|ring| ring.sources.is_empty() && ring.met.next.is_empty())
            {
                self.rings.remove(context);
            }
        }
        Ok(found)
    }
    /// Steps that the body found, or lost.
    fn take_up(&mut self, steps: Changes, news: &mut HashMap<Row, News>) {
        for (row, diff) in steps {
            let (Some((context, near)), Some(Value::Vertex(far))) = (split(&row, 1), row.values().last())
            else {
                continue;
            };
            let ring = self.rings.entry(context.clone()).or_default();
            if ring.met.count(near, *far, diff) {
                let moved = &mut news.entry(context).or_default().moved;
                let (list, undone) = match diff > 0 {
                    true => (&mut moved.come, &mut moved.gone),
                    false => (&mut moved.gone, &mut moved.come),
                };
                match undone.iter().position(|step| *step == (near, *far)) {
                    Some(at) => drop(undone.swap_remove(at)),
                    None => list.push((near, *far)),
                }
            }
        }
    }
    /// A source is withdrawn: all its ends go.
    fn leave(
        &mut self,
        context: &Row,
        source: VertexId,
        story: &mut News,
        asked: &mut Changes,
        found: &mut Changes,
    ) {
        let max = self.max();
        let Some(ring) = self.rings.get_mut(context) else { return };
        let Some(state) = ring.sources.remove(&source) else { return };
        story.before.remove(&source);
        let ends = ends(&state, source, self.walk.home);
        found.extend(ends.map(|end| (ending(context, source, end), -1)));
        for (vertex, distance) in &state.distances {
            if *distance < max {
                ring.want(context, *vertex, -1, asked);
            }
        }
    }
    /// Passes changed steps through the distances of every source.
    fn walk_on(&mut self, news: &mut HashMap<Row, News>, asked: &mut Changes) -> Result<(), StandingError> {
        let (max, home) = (self.max(), self.walk.home);
        for (context, story) in news {
            let moved = std::mem::take(&mut story.moved);
            let Some(ring) = self.rings.get_mut(context).filter(|_| !moved.is_empty()) else { continue };
            let mut wants: Vec<(VertexId, isize)> = Vec::new();
            for (source, state) in &mut ring.sources {
                story.own.entry(*source).or_insert_with(|| state.own(home).is_some());
                let mut before = Before::default();
                state.change(*source, &moved, &Bounded(&ring.met, max), &mut before)?;
                let is_near = |distance: Option<u32>| distance.is_some_and(|distance| distance < max);
                for (vertex, old) in &before {
                    let new = is_near(state.distances.get(vertex).copied());
                    match (is_near(*old), new) {
                        (false, true) => wants.push((*vertex, 1)),
                        (true, false) => wants.push((*vertex, -1)),
                        _ => {}
                    }
                }
                let all = story.before.entry(*source).or_default();
                before.into_iter().for_each(|(vertex, old)| {
                    all.entry(vertex).or_insert(old);
                });
            }
            wants.into_iter().for_each(|(vertex, diff)| ring.want(context, vertex, diff, asked));
        }
        Ok(())
    }
    /// The changes for each source with an event.
    fn tell(&mut self, news: &HashMap<Row, News>, found: &mut Changes) -> Result<(), StandingError> {
        let (max, home) = (self.max(), self.walk.home);
        for (context, story) in news {
            let Some(ring) = self.rings.get_mut(context) else { continue };
            for (source, before) in &story.before {
                let Some(state) = ring.sources.get_mut(source) else { continue };
                state.cycle = state.cycle(*source, &Bounded(&ring.met, max))?;
                let (was, is) = (story.own.get(source) == Some(&true), state.own(home).is_some());
                if was != is {
                    found.push((ending(context, *source, *source), if is { 1 } else { -1 }));
                }
                for (vertex, old) in before.iter().filter(|(vertex, _)| *vertex != source) {
                    match (old.is_some(), state.distances.contains_key(vertex)) {
                        (false, true) => found.push((ending(context, *source, *vertex), 1)),
                        (true, false) => found.push((ending(context, *source, *vertex), -1)),
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }
}

impl Ring {
    /// One more, or one fewer, wants the steps of a vertex.
    fn want(&mut self, context: &Row, vertex: VertexId, diff: isize, asked: &mut Changes) {
        let count = self.wanted.entry(vertex).or_insert(0);
        let was = *count;
        *count = count.saturating_add_signed(diff);
        let now = *count;
        if now == 0 {
            self.wanted.remove(&vertex);
        }
        if (was == 0) != (now == 0) {
            asked.push((context.join(&[Value::Vertex(vertex)]), if now > 0 { 1 } else { -1 }));
        }
    }
}

/// The context and the vertex behind it; `rest` more columns come after.
fn split(row: &Row, rest: usize) -> Option<(Row, VertexId)> {
    let at = row.values().len().checked_sub(1 + rest)?;
    match row.values()[at] {
        Value::Vertex(vertex) => Some((Row::new(row.values()[..at].iter().cloned()), vertex)),
        _ => None,
    }
}

fn ending(context: &Row, source: VertexId, end: VertexId) -> Row {
    context.join(&[Value::Vertex(source), Value::Vertex(end)])
}

fn ends(state: &Source, source: VertexId, home: SourceStart) -> impl Iterator<Item = VertexId> {
    let own = state.own(home).map(|_| source);
    state.distances.keys().copied().filter(move |vertex| *vertex != source).chain(own)
}

impl Weight for Ring {
    fn bytes_behind(&self) -> usize {
        let met = self.met.next.bytes_behind() + self.met.previous.bytes_behind();
        met + self.sources.bytes_behind() + self.wanted.bytes_behind()
    }
}

impl Weight for Rounds {
    fn bytes_behind(&self) -> usize {
        self.body.bytes_behind() + self.rings.bytes_behind()
    }
}
