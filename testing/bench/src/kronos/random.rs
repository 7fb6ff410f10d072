//! Figure 5.7: `query_order` over graphs of Erdős and Rényi with 10,000 events, in process on one thread.
//!
//! Every answer is held against the transitive closure, computed with bitmaps.

use super::fault;
use crate::report::Report;
use crate::timing::timed;
use order::kronos::{Constraint, Direction, EventGraph, EventId, EventOrder, GraphLimits, Search, Strength};
use world::chance::Chance;

const EVENTS: usize = 10_000;
/// Chances of an edge between two events; each event has `p * EVENTS` edges on average.
const PROBABILITIES: [f64; 7] = [1e-5, 5e-5, 1e-4, 2e-4, 3e-4, 1e-3, 1e-2];
/// Up to this chance an event has less than 3 edges on average, and the paper speaks of hundreds of thousands of questions a second.
const SPARSE: f64 = 3e-4;
const SPARSE_TARGET: f64 = 100_000.0;
const QUESTION_MS_MAX: f64 = 2_000.0;
const QUESTIONS_MAX: usize = 1_000_000;

/// Which events each event is before: a bitmap a row.
pub(super) struct Closure {
    words: usize,
    rows: Vec<u64>,
}

impl Closure {
    /// Of edges that lead from lower numbers to higher ones.
    pub(super) fn of(events: usize, edges: &[(u32, u32)]) -> Closure {
        let words = events.div_ceil(64);
        let mut rows = vec![0_u64; events * words];
        let mut sorted = edges.to_vec();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        for (from, to) in sorted {
            let (from, to) = (from as usize, to as usize);
            let (head, tail) = rows.split_at_mut(to * words);
            let row = &mut head[from * words..(from + 1) * words];
            row.iter_mut().zip(&tail[..words]).for_each(|(own, other)| *own |= other);
            row[to / 64] |= 1 << (to % 64);
        }
        Closure { words, rows }
    }
    pub(super) fn order(&self, a: usize, b: usize) -> EventOrder {
        let has = |from: usize, to: usize| self.rows[from * self.words + to / 64] >> (to % 64) & 1 == 1;
        if has(a, b) {
            EventOrder::Before
        } else if has(b, a) {
            EventOrder::After
        } else {
            EventOrder::Concurrent
        }
    }
}

/// Each pair with this chance, from the lower number to the higher.
pub(super) fn edges(events: usize, probability: f64, chance: &mut Chance) -> Vec<(u32, u32)> {
    let pairs = (events * (events - 1) / 2) as f64;
    let mut edges = Vec::new();
    // The gaps between chosen pairs are geometric.
    let mut at = -1.0;
    let (mut from, mut row_end) = (0_usize, (events - 1) as f64);
    loop {
        let gap = (1.0 - chance.float()).ln() / (1.0 - probability).ln();
        at += 1.0 + gap.floor();
        if at >= pairs {
            return edges;
        }
        while at >= row_end {
            from += 1;
            row_end += (events - 1 - from) as f64;
        }
        edges.push((from as u32, (events as f64 - (row_end - at)) as u32));
    }
}

/// The graph with these orders; they come in an order drawn by chance, as programs would assign them.
fn build(edges: &[(u32, u32)], chance: &mut Chance) -> Result<(EventGraph, Vec<EventId>), String> {
    let mut graph = EventGraph::new(1, GraphLimits::default());
    let events = graph.create_events(EVENTS as u32).map_err(fault)?;
    let mut shuffled = edges.to_vec();
    chance.shuffle(&mut shuffled);
    for batch in shuffled.chunks(1_000) {
        let one = |(from, to): &(u32, u32)| Constraint {
            this: events[*from as usize],
            direction: Direction::Before,
            that: events[*to as usize],
            strength: Strength::Must,
        };
        graph.assign_order(&batch.iter().map(one).collect::<Vec<_>>()).map_err(fault)?;
    }
    Ok((graph, events))
}

pub(super) fn run(report: &mut Report) -> Result<(), String> {
    report.section("figure 5.7: query_order on G(10,000, p), one thread");
    let mut chance = Chance::seeded(super::SEED);
    for probability in PROBABILITIES {
        let edges = edges(EVENTS, probability, &mut chance);
        let (built, built_ms) = timed(|| build(&edges, &mut chance));
        let (graph, events) = built?;
        let closure = Closure::of(EVENTS, &edges);
        let (rate, visited, ordered) = ask(&graph, &events, &closure, &mut chance)?;
        let name = format!("p = {probability}: {} orders", edges.len());
        let shown = format!("{:.0} k/s, {visited:.0} visited", rate / 1e3);
        if probability < SPARSE {
            report.figure(&name, &shown, "100 k/s (paper: hundreds of thousands)", rate > SPARSE_TARGET);
        } else {
            report.note(format!("{name:<30} {shown}"));
        }
        report.note(format!(
            "  {:.0} % of pairs are ordered; {} edges are kept; assigned at {:.0} k/s",
            ordered * 100.0,
            graph.counts().edges,
            edges.len() as f64 / built_ms
        ));
    }
    Ok(())
}

/// Questions a second, events visited by each, and the share of pairs that are ordered.
fn ask(
    graph: &EventGraph,
    events: &[EventId],
    closure: &Closure,
    chance: &mut Chance,
) -> Result<(f64, f64, f64), String> {
    let (mut search, mut asked, mut ordered, mut total_ms) = (Search::default(), 0, 0, 0.0);
    while total_ms < QUESTION_MS_MAX && asked < QUESTIONS_MAX {
        let pairs: Vec<(usize, usize)> = (0..1_000)
            .map(|_| (chance.index(EVENTS), chance.index(EVENTS)))
            .filter(|(a, b)| a != b)
            .collect();
        let (answers, time_ms) = timed(|| {
            let one = |(a, b): &(usize, usize)| graph.query_with(&mut search, events[*a], events[*b]);
            pairs.iter().map(one).collect::<Result<Vec<_>, _>>()
        });
        for ((a, b), answer) in pairs.iter().zip(answers.map_err(fault)?) {
            if answer != closure.order(*a, *b) {
                return Err(format!("events {a} and {b} are answered {answer:?}"));
            }
            ordered += usize::from(answer != EventOrder::Concurrent);
        }
        total_ms += time_ms;
        asked += pairs.len();
    }
    let each = |total: f64| total / asked as f64;
    Ok((asked as f64 / total_ms * 1e3, each(search.visited() as f64), each(ordered as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gaps give each pair its chance, and no pair outside of the triangle.
    #[test]
    fn edges_are_drawn_evenly_from_all_pairs() {
        let mut chance = Chance::seeded(1);
        let mut counts = vec![0; 36];
        for _ in 0..2_000 {
            for (from, to) in edges(6, 0.3, &mut chance) {
                assert!(from < to && to < 6, "{from} {to}");
                counts[(from * 6 + to) as usize] += 1;
            }
        }
        let drawn: Vec<i32> = counts.into_iter().filter(|count| *count > 0).collect();
        assert_eq!(drawn.len(), 15);
        assert!(drawn.iter().all(|count| (500..700).contains(count)), "{drawn:?}");
        assert_eq!(Closure::of(3, &[(0, 1), (1, 2)]).order(2, 0), EventOrder::After);
        assert_eq!(Closure::of(3, &[(0, 1)]).order(2, 0), EventOrder::Concurrent);
    }
}
