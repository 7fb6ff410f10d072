//! A shortest path from each of many sources to every vertex, on two threads, as a program of its own would ask for them.
//!
//! `cargo run --release -p tanglewood-paths --example paths`
//!
//! What it shows: any graph that implements `Adjacency` will do (here plain arrays); sources share searches in lanes; each worker takes turns
//! with a quota, so a scheduler may pause or drop it; paths come out level by level, and a program that has enough of them just stops asking.

#![allow(clippy::disallowed_methods, reason = "threads of its own")]

use tanglewood_paths::csr::Csr;
use tanglewood_paths::{
    Answers, DispatchPolicy, Dispatcher, Hops, Keep, Orientation, PathError, Turn, Work, Worker,
};

/// A ring of so many vertices with a shortcut from each to the one seven further on.
const VERTICES: u32 = 1_000;
const SHORTCUT: u32 = 7;
/// Edges that a worker visits in one turn, and answers that it takes at once.
const QUOTA: u64 = 10_000;
const ANSWERS_MAX: u64 = 1_000;

/// The longest path that a worker was handed, and how many.
struct Seen {
    count: usize,
    longest: Vec<u32>,
}

fn work(dispatcher: &Dispatcher<&Csr>, number: usize) -> Result<Seen, PathError> {
    let (mut worker, mut answers) = (Worker::new(number), Answers::default());
    let mut seen = Seen { count: 0, longest: Vec::new() };
    loop {
        let turn = dispatcher.work_on(&mut worker, &mut Work::new(QUOTA), &mut answers, ANSWERS_MAX)?;
        let (mut ends, mut inner) = (answers.ends.iter(), answers.vertices.as_slice());
        for run in &answers.runs {
            for end in ends.by_ref().take(run.count as usize) {
                // As many vertices as edges, from the source on; the end stands for itself.
                let (path, rest) = inner.split_at(run.distance as usize);
                inner = rest;
                seen.count += 1;
                if path.len() >= seen.longest.len() {
                    seen.longest = path.iter().chain([end]).copied().collect();
                }
            }
        }
        answers.clear();
        match turn {
            Turn::Done => return Ok(seen),
            Turn::Idle => std::hint::spin_loop(),
            Turn::More => {}
        }
    }
}

fn main() -> Result<(), PathError> {
    let edges: Vec<(u32, u32)> = (0..VERTICES)
        .flat_map(|from| [(from, (from + 1) % VERTICES), (from, (from + SHORTCUT) % VERTICES)])
        .collect();
    let (along, against) = (Csr::outgoing(VERTICES, &edges), Csr::incoming(VERTICES, &edges));
    let sources: Vec<u32> = (0..100).collect();
    let policy = DispatchPolicy::all_threads_lanes(2);
    let dispatcher =
        Dispatcher::new(&along, &sources, Hops::any(), Orientation::Directed, Keep::Levels, policy)?
            .both_ways(&against)
            .with_paths(&against);
    let seen = std::thread::scope(|scope| {
        let other = scope.spawn(|| work(&dispatcher, 1));
        let own = work(&dispatcher, 0)?;
        Ok::<_, PathError>([own, other.join().expect("a worker does not panic")?])
    })?;
    let count: usize = seen.iter().map(|seen| seen.count).sum();
    let longest = seen.iter().map(|seen| &seen.longest).max_by_key(|path| path.len());
    assert_eq!(count, sources.len() * VERTICES as usize, "from everywhere to everywhere, and back");
    println!("{}", dispatcher.told());
    println!("{count} paths; the longest has {} edges", longest.map_or(0, |path| path.len() - 1));
    Ok(())
}
