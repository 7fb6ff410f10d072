//! The event graph against its obvious twin: a matrix of "happens before", closed by brute force, and references counted beside it.

use super::*;
use world::chance::Chance;

/// Every event ever created, in the order of creation.
#[derive(Clone, Default)]
struct Twin {
    names: Vec<EventId>,
    references: Vec<u32>,
    before: Vec<Vec<bool>>,
}

impl Twin {
    fn create(&mut self, id: EventId) {
        assert!(!self.names.contains(&id), "a name was given twice");
        self.names.push(id);
        self.references.push(1);
        self.before.iter_mut().for_each(|row| row.push(false));
        self.before.push(vec![false; self.names.len()]);
    }
    fn order(&self, a: usize, b: usize) -> EventOrder {
        match (self.before[a][b], self.before[b][a]) {
            (true, true) => panic!("a cycle"),
            (true, _) => EventOrder::Before,
            (_, true) => EventOrder::After,
            _ => EventOrder::Concurrent,
        }
    }
    fn connect(&mut self, from: usize, to: usize) {
        let all = 0..self.names.len();
        let is_before = |a: usize| a == from || self.before[a][from];
        let is_after = |b: usize| b == to || self.before[to][b];
        let (sources, targets): (Vec<_>, Vec<_>) =
            (all.clone().filter(|a| is_before(*a)).collect(), all.filter(|b| is_after(*b)).collect());
        sources.iter().for_each(|a| targets.iter().for_each(|b| self.before[*a][*b] = true));
    }
    /// The answer of a batch, or the position at which it is refused.
    fn assign(&mut self, batch: &[(usize, Direction, usize, Strength)]) -> Result<Vec<Assigned>, usize> {
        let mut next = self.clone();
        let mut answers = vec![Assigned { order: Direction::Before, decided: false }; batch.len()];
        for strength in [Strength::Must, Strength::Prefer] {
            for (at, (a, direction, b, _)) in batch.iter().enumerate().filter(|(_, one)| one.3 == strength) {
                let order = match next.order(*a, *b) {
                    EventOrder::Before => Direction::Before,
                    EventOrder::After => Direction::After,
                    EventOrder::Concurrent => {
                        let (from, to) = if *direction == Direction::Before { (*a, *b) } else { (*b, *a) };
                        next.connect(from, to);
                        answers[at].decided = true;
                        *direction
                    }
                };
                if strength == Strength::Must && order != *direction {
                    return Err(at);
                }
                answers[at].order = order;
            }
        }
        *self = next;
        Ok(answers)
    }
    fn nameable(&self) -> Vec<usize> {
        (0..self.names.len()).filter(|event| self.references[*event] > 0).collect()
    }
    /// Events that must still be held: those with references, and all behind them.
    fn held(&self) -> usize {
        let pinned =
            |event: usize| (0..self.names.len()).any(|a| self.references[a] > 0 && self.before[a][event]);
        (0..self.names.len()).filter(|event| self.references[*event] > 0 || pinned(*event)).count()
    }
}

fn agree(graph: &mut EventGraph, twin: &Twin, seed: u64) {
    graph.check();
    let named = twin.nameable();
    for (a, b) in named.iter().flat_map(|a| named.iter().map(move |b| (*a, *b))) {
        let answer = graph.query_order(&[(twin.names[a], twin.names[b])]);
        if a == b {
            assert_eq!(answer, Err(KronosError::Same(twin.names[a])), "seed {seed}");
        } else {
            assert_eq!(answer, Ok(vec![twin.order(a, b)]), "seed {seed}: {a} and {b}");
        }
    }
    assert_eq!(graph.counts().events, twin.held() as u64, "seed {seed}: events held");
}

fn random_batch(chance: &mut Chance, twin: &Twin) -> Vec<(usize, Direction, usize, Strength)> {
    let named = twin.nameable();
    let count = 1 + chance.below(5);
    let one = |chance: &mut Chance| named[chance.below(named.len() as u64) as usize];
    (0..count)
        .filter_map(|_| {
            let (a, b) = (one(chance), one(chance));
            let direction = if chance.below(2) == 0 { Direction::Before } else { Direction::After };
            let strength = if chance.below(2) == 0 { Strength::Must } else { Strength::Prefer };
            (a != b).then_some((a, direction, b, strength))
        })
        .collect()
}

fn assign(graph: &mut EventGraph, twin: &mut Twin, batch: &[(usize, Direction, usize, Strength)], seed: u64) {
    let constraints: Vec<Constraint> = batch
        .iter()
        .map(|(a, direction, b, strength)| Constraint {
            this: twin.names[*a],
            direction: *direction,
            that: twin.names[*b],
            strength: *strength,
        })
        .collect();
    let answer = graph.assign_order(&constraints).map_err(|refused| match refused {
        Refused::Contradiction { at, .. } => at,
        Refused::Invalid { error, .. } => panic!("seed {seed}: {error}"),
    });
    assert_eq!(answer, twin.assign(batch), "seed {seed}: {batch:?}");
}

/// Random schedules of all calls, with names of every age.
#[test]
fn random_schedules_agree_with_the_matrix() {
    for seed in 0..300 {
        let mut chance = Chance::seeded(seed);
        let (mut graph, mut twin) =
            (EventGraph::new(seed as u32 * 77, GraphLimits::default()), Twin::default());
        for _ in 0..40 {
            match chance.below(8) {
                0 | 1 => {
                    let names = graph.create_events(1 + chance.below(3) as u32).expect("room for events");
                    names.into_iter().for_each(|id| twin.create(id));
                }
                2 if !twin.names.is_empty() => {
                    let at = chance.below(twin.names.len() as u64) as usize;
                    let answer = graph.acquire_refs(&[twin.names[at]]);
                    assert_eq!(answer.is_ok(), twin.references[at] > 0, "seed {seed}");
                    twin.references[at] += u32::from(answer.is_ok());
                }
                3 | 4 if !twin.names.is_empty() => {
                    let at = chance.below(twin.names.len() as u64) as usize;
                    let answer = graph.release_refs(&[twin.names[at]]);
                    assert_eq!(answer.is_ok(), twin.references[at] > 0, "seed {seed}");
                    twin.references[at] -= u32::from(answer.is_ok());
                }
                _ if twin.nameable().len() > 1 => {
                    let batch = random_batch(&mut chance, &twin);
                    assign(&mut graph, &mut twin, &batch, seed);
                }
                _ => {}
            }
            agree(&mut graph, &twin, seed);
        }
    }
}

/// All ways in which four events can be ordered by three constraints, each with all directions and strengths in turn.
#[test]
fn all_short_schedules_agree_with_the_matrix() {
    let pairs: Vec<(usize, usize)> =
        (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).filter(|(a, b)| a < b).collect();
    let mut choices = Vec::new();
    for (a, b) in pairs {
        for direction in [Direction::Before, Direction::After] {
            for strength in [Strength::Must, Strength::Prefer] {
                choices.push((a, direction, b, strength));
            }
        }
    }
    let mut graph = EventGraph::new(0, GraphLimits::default());
    let mut twin = Twin::default();
    graph.create_events(4).expect("room for events").into_iter().for_each(|id| twin.create(id));
    for one in &choices {
        for two in &choices {
            for three in &choices {
                // Apart, and the last two as one batch.
                let (mut apart, mut apart_twin) = (graph.clone(), twin.clone());
                [one, two, three]
                    .into_iter()
                    .for_each(|batch| assign(&mut apart, &mut apart_twin, &[*batch], 0));
                agree(&mut apart, &apart_twin, 0);
                let (mut together, mut together_twin) = (graph.clone(), twin.clone());
                assign(&mut together, &mut together_twin, &[*one], 0);
                assign(&mut together, &mut together_twin, &[*two, *three], 0);
                agree(&mut together, &together_twin, 0);
            }
        }
    }
}

/// A refused batch leaves no trace, also where it met a limit in its middle.
#[test]
fn limits_refuse_whole_calls() {
    let mut graph = EventGraph::new(5, GraphLimits { events_max: 4, edges_max: 2 });
    assert_eq!(graph.create_events(5), Err(KronosError::TooManyEvents { max: 4 }));
    let e = graph.create_events(4).expect("below the limit");
    assert_eq!(graph.create_events(1), Err(KronosError::TooManyEvents { max: 4 }));
    let must = |a: usize, b: usize| Constraint {
        this: e[a],
        direction: Direction::Before,
        that: e[b],
        strength: Strength::Must,
    };
    let full = Refused::Invalid { at: 2, error: KronosError::TooManyEdges { max: 2 } };
    assert_eq!(graph.assign_order(&[must(0, 1), must(1, 2), must(2, 3)]), Err(full));
    assert_eq!(graph.query_order(&[(e[0], e[1])]), Ok(vec![EventOrder::Concurrent]));
    // What follows from others needs no edge.
    assert!(graph.assign_order(&[must(0, 1), must(1, 2), must(0, 2)]).is_ok());
    let same = Refused::Invalid { at: 1, error: KronosError::Same(e[3]) };
    assert_eq!(graph.assign_order(&[must(0, 3), must(3, 3)]), Err(same));
    // A batch that contradicts itself.
    let mut graph = EventGraph::new(5, GraphLimits::default());
    let e2 = graph.create_events(4).expect("below the limit");
    assert_eq!(e, e2, "the same calls give the same names");
    let refused = graph.assign_order(&[must(0, 1), must(1, 2), must(2, 0)]);
    assert_eq!(refused, Err(Refused::Contradiction { at: 2, constraint: must(2, 0) }));
    assert_eq!(graph.counts().edges, 0);
    graph.check();
}

#[test]
fn names_of_other_graphs_and_of_the_past_are_refused() {
    let mut graph = EventGraph::new(1_000, GraphLimits::default());
    let mut other = EventGraph::new(77_000, GraphLimits::default());
    let (here, foreign) = (graph.create_events(2).expect("room"), other.create_events(2).expect("room"));
    assert_eq!(graph.acquire_refs(&[here[0], foreign[0]]), Err(KronosError::Unknown(foreign[0])));
    assert_eq!(graph.references(here[0]), Ok(1), "nothing of a refused call has happened");
    assert_eq!(graph.release_refs(&[here[0]]), Ok(1));
    assert_eq!(graph.release_refs(&[here[0]]), Err(KronosError::Released(here[0])));
    let again = graph.create_events(1).expect("room")[0];
    assert_eq!((again.slot(), again == here[0]), (here[0].slot(), false));
    assert_eq!(graph.query_order(&[(here[0], here[1])]), Err(KronosError::Released(here[0])));
    assert_eq!(graph.release_refs(&[here[1], here[1]]), Err(KronosError::References(here[1])));
    assert_eq!(graph.references(here[1]), Ok(1));
}

/// An event that is pinned by one before it stays, and cannot be named (Weaver, figure 2.5).
#[test]
fn collection_is_in_topological_order() {
    let mut graph = EventGraph::new(9, GraphLimits::default());
    let e = graph.create_events(4).expect("room");
    let before = |a: usize, b: usize| Constraint {
        this: e[a],
        direction: Direction::Before,
        that: e[b],
        strength: Strength::Must,
    };
    graph.assign_order(&[before(0, 1), before(1, 2), before(1, 3)]).expect("no cycle");
    assert_eq!(graph.release_refs(&e[1..]), Ok(0));
    assert_eq!(graph.query_order(&[(e[0], e[2])]), Err(KronosError::Released(e[2])));
    assert_eq!(graph.counts().events, 4);
    assert_eq!(graph.release_refs(&e[..1]), Ok(4));
    assert_eq!((graph.counts().events, graph.counts().edges), (0, 0));
}

/// Chains built from either end, and in pieces, are answered without searching unrelated events.
#[test]
fn levels_keep_searches_short() {
    let count = 20_000;
    for reverse in [false, true] {
        let mut graph = EventGraph::new(0, GraphLimits::default());
        let e = graph.create_events(count).expect("room");
        let mut pairs: Vec<usize> = (1..count as usize).collect();
        if reverse {
            pairs.reverse();
        }
        for at in pairs {
            let link = Constraint {
                this: e[at - 1],
                direction: Direction::Before,
                that: e[at],
                strength: Strength::Must,
            };
            graph.assign_order(&[link]).expect("no cycle");
        }
        assert!(graph.counts().visited <= u64::from(count), "{:?}", graph.counts());
        assert_eq!(graph.query_order(&[(e[0], e[count as usize - 1])]), Ok(vec![EventOrder::Before]));
        graph.check();
        assert_eq!(graph.release_refs(&e), Ok(u64::from(count)), "a long chain goes without recursion");
    }
}
