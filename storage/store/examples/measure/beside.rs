//! The cost of a commit for the readers after it: two hops, with one commit between every few questions and with none, in turns.
//!
//! Writer and reader take turns on one thread, so that only what a commit does to what readers kept is measured, and not who has the
//! processor. The writer repeats edges, so that distinct ends, which are what is asked for, stay what they were before it began.

use super::{TYPE, chance, millis};
use model::{Direction, EdgeRef, VertexId};
use std::time::Instant;
use store::{AdjacencyView, Change, Store};

/// Questions between commits; a reader of 20 us beside 4,000 commits a second meets about so many.
const QUESTIONS: usize = 10;
const COMMITS: usize = 4000;
/// Commits before anything is timed: deltas are as large then as they get.
const COMMITS_BEFORE: usize = 40_000;
/// Ends of two hops beyond which a vertex is not asked about.
const ENDS_MAX: usize = 2000;

/// Marks of vertices met by one question.
struct Met {
    marks: Vec<u32>,
    turn: u32,
}

/// Distinct ends of one or two hops.
fn ends(view: &AdjacencyView, start: u32, met: &mut Met) -> usize {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    met.turn += 1;
    let mut count = 0;
    let mut meet = |vertex: u32| {
        let mark = &mut met.marks[vertex as usize];
        count += usize::from(*mark != met.turn);
        *mark = met.turn;
    };
    for middle in view.neighbours(start, &mut near).unwrap() {
        meet(*middle);
        view.neighbours(*middle, &mut far).unwrap().iter().for_each(|end| meet(*end));
    }
    count
}

/// Measures it.
pub fn compare(store: &Store, pairs: &[(u32, u32)]) {
    let mut state = 99;
    let mut commit = || {
        let (source, target) = pairs[chance(&mut state) as usize % pairs.len()];
        let (source, target) = (VertexId::from_dense(source), VertexId::from_dense(target));
        let edge = EdgeRef { id: store.allocator().edge(source, TYPE).unwrap(), source, target };
        let current = store.current();
        let change = Change::CreateEdge { edge, properties: Vec::new() };
        store.publish(current.apply(current.commit_version() + 1, &[&[change]]).unwrap());
    };
    let bound = store.current().vertex_bound() as usize;
    for (way, direction) in [("out", Direction::Out), ("both", Direction::Both)] {
        let mut met = Met { marks: vec![0; bound], turn: 0 };
        let before = store.current().adjacency(&[TYPE], direction);
        let mut starts: Vec<(u32, usize)> = pairs
            .iter()
            .step_by(pairs.len() / 2000)
            .map(|pair| (pair.0, ends(&before, pair.0, &mut met)))
            .collect();
        starts.retain(|(_, ends)| *ends <= ENDS_MAX);
        drop(before);
        (0..COMMITS_BEFORE).for_each(|_| commit());
        let (mut alone, mut beside, mut commits) = (Vec::new(), Vec::new(), 0.0);
        let mut asked = starts.iter().cycle();
        let mut ask = |times: &mut Vec<f64>| {
            for (start, right) in asked.by_ref().take(QUESTIONS) {
                let began = Instant::now();
                let view = store.current().adjacency(&[TYPE], direction);
                let found = ends(&view, *start, &mut met);
                times.push(millis(began) * 1e3);
                assert_eq!(found, *right, "ends of two hops from {start}");
            }
        };
        for _ in 0..COMMITS {
            let began = Instant::now();
            commit();
            commits += millis(began);
            ask(&mut beside);
        }
        for _ in 0..COMMITS {
            ask(&mut alone);
        }
        alone.sort_by(f64::total_cmp);
        beside.sort_by(f64::total_cmp);
        let at = |times: &[f64], part: f64| times[(times.len() as f64 * part) as usize];
        let ratio = |part: f64| at(&beside, part) / at(&alone, part);
        println!(
            "two hops {way}, {} starts: {:.1} us p50, {:.1} us p99 alone; a commit every {QUESTIONS}: {:.2} p50, {:.2} p99; {:.1} us a commit",
            starts.len(),
            at(&alone, 0.5),
            at(&alone, 0.99),
            ratio(0.5),
            ratio(0.99),
            commits * 1e3 / COMMITS as f64
        );
    }
}
