//! Transitive closure and same generation, by rules and by programs written by hand on the crates `timely` and `differential-dataflow`:
//! one worker each, in turns, on the same graphs; the answers must be equal. Then single edges go and come back.
//!
//! `cargo run --release -p tanglewood-bench --example datalog_twins [GRAPH…]`

use differential_dataflow::VecCollection;
use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::lattice::Lattice;
use differential_dataflow::operators::Iterate;
use model::Value;
use rules::{Bounds, Change, Evaluation};
use std::cell::RefCell;
use std::rc::Rc;
use tanglewood_bench::graphs::{self, Edges};
use timely::dataflow::operators::probe::Handle;
use timely::progress::Timestamp;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Single edges taken out and put back.
const TRIALS: usize = 100;

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Closure,
    Generation,
}

impl Shape {
    fn text(self) -> &'static str {
        match self {
            Shape::Closure => tanglewood_bench::graphs::CLOSURE,
            Shape::Generation => tanglewood_bench::graphs::GENERATION,
        }
    }
}

fn now_ms() -> f64 {
    world::clock::monotonic_ns() as f64 / 1e6
}

/// The result of one engine: time and answer.
struct Run {
    full_ms: f64,
    facts: usize,
    /// Of all facts, added up.
    sum: u64,
    steps_ms: Vec<f64>,
}

fn digest(a: u32, b: u32) -> u64 {
    (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11
}

fn by_rules(shape: Shape, edges: &Edges, trials: &[(u32, u32)]) -> Run {
    let program = datalog::compile(shape.text()).expect("the text is a program");
    let edge = program.relation("e").expect("it has edges");
    let answer =
        program.relation(if shape == Shape::Closure { "tc" } else { "sg" }).expect("it has an answer");
    let started = now_ms();
    let mut evaluation = Evaluation::new(program, |_| None, Bounds::default()).expect("it starts");
    let fact = |(a, b): (u32, u32)| [Value::Int(i64::from(a)), Value::Int(i64::from(b))];
    edges.iter().for_each(|pair| evaluation.give(edge, &fact(*pair)).expect("it is given"));
    evaluation.evaluate().expect("it is evaluated");
    let full_ms = now_ms() - started;
    evaluation.prepare().expect("it can be kept");
    println!(
        "    rules: {:.0} ms, made ready for changes after {:.0} ms, {} bytes a fact",
        full_ms,
        now_ms() - started,
        evaluation.bytes() / evaluation.len(answer).max(1)
    );
    let mut steps_ms = Vec::new();
    for pair in trials {
        for comes in [false, true] {
            let started = now_ms();
            let change = Change { relation: edge, fact: fact(*pair).to_vec(), comes };
            evaluation.change(&[change]).expect("it changes");
            evaluation.settle().expect("it settles");
            if !comes {
                steps_ms.push(now_ms() - started);
            }
        }
    }
    let sum =
        evaluation.fact_words(answer).map(|words| digest(words[0], words[1])).fold(0, u64::wrapping_add);
    Run { full_ms, facts: evaluation.len(answer), sum, steps_ms }
}

type Pairs<'scope, T> = VecCollection<'scope, T, (u32, u32)>;

fn closure<'scope, T: Timestamp + Lattice + Ord>(edges: Pairs<'scope, T>) -> Pairs<'scope, T> {
    let by_source = edges.clone().arrange_by_key();
    edges.clone().iterate(|scope, inner| {
        let (edges, by_source) = (edges.enter(scope), by_source.enter(scope));
        inner.map(|(x, y)| (y, x)).join_core(by_source, |_, x, z| Some((*x, *z))).concat(edges).distinct()
    })
}

fn generation<'scope, T: Timestamp + Lattice + Ord>(edges: Pairs<'scope, T>) -> Pairs<'scope, T> {
    let by_source = edges.arrange_by_key();
    let siblings = by_source.clone().join_core(by_source.clone(), |_, x, y| (x != y).then_some((*x, *y)));
    siblings.clone().iterate(|scope, inner| {
        let (siblings, by_source) = (siblings.enter(scope), by_source.enter(scope));
        let below = inner.join_core(by_source.clone(), |_, b, x| Some((*b, *x)));
        below.join_core(by_source, |_, x, y| Some((*x, *y))).concat(siblings).distinct()
    })
}

fn by_differential(shape: Shape, edges: &Edges, trials: &[(u32, u32)]) -> Run {
    let (edges, trials) = (edges.clone(), trials.to_vec());
    timely::execute_directly(move |worker| {
        let started = now_ms();
        let seen = Rc::new(RefCell::new((0_isize, 0_u64)));
        let probe = Handle::new();
        let told = seen.clone();
        let mut input: InputSession<u64, (u32, u32), isize> = worker.dataflow(|scope| {
            let (input, edges) = scope.new_collection();
            let answer = if shape == Shape::Closure { closure(edges) } else { generation(edges) };
            answer
                .inspect(move |((a, b), _, difference)| {
                    let mut seen = told.borrow_mut();
                    seen.0 += difference;
                    seen.1 = seen.1.wrapping_add(digest(*a, *b).wrapping_mul(*difference as u64));
                })
                .probe_with(&probe);
            input
        });
        edges.iter().for_each(|pair| input.insert(*pair));
        let mut round = 1;
        let mut settle = |input: &mut InputSession<u64, (u32, u32), isize>| {
            input.advance_to(round);
            input.flush();
            worker.step_while(|| probe.less_than(&round));
            round += 1;
        };
        settle(&mut input);
        let full_ms = now_ms() - started;
        println!("    differential: {full_ms:.0} ms");
        let mut steps_ms = Vec::new();
        for pair in &trials {
            let started = now_ms();
            input.remove(*pair);
            settle(&mut input);
            steps_ms.push(now_ms() - started);
            input.insert(*pair);
            settle(&mut input);
        }
        let (facts, sum) = *seen.borrow();
        Run { full_ms, facts: facts as usize, sum, steps_ms }
    })
}

fn median(mut figures: Vec<f64>) -> (f64, f64) {
    figures.sort_by(f64::total_cmp);
    (figures[figures.len() / 2], figures[figures.len() - 1])
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let cells = [
        ("tc-tree", Shape::Closure, graphs::tree(11)),
        ("tc-grid", Shape::Closure, graphs::grid(50)),
        ("tc-random", Shape::Closure, graphs::random(1_000, 10_000)),
        ("sg-tree", Shape::Generation, graphs::tree(7)),
        ("sg-grid", Shape::Generation, graphs::grid(150)),
        ("sg-random", Shape::Generation, graphs::random(1_000, 3_000)),
    ];
    let mut all_reached = true;
    for (name, shape, edges) in cells {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        println!("{name}: {} edges", edges.len());
        let trials: Vec<(u32, u32)> = (0..TRIALS).map(|at| edges[(at * 7_919 + 13) % edges.len()]).collect();
        let ours = by_rules(shape, &edges, &trials);
        let theirs = by_differential(shape, &edges, &trials);
        assert_eq!((ours.facts, ours.sum), (theirs.facts, theirs.sum), "{name}: the two answers are equal");
        let ratio = ours.full_ms / theirs.full_ms;
        let ((p50, max), (their_p50, their_max)) = (median(ours.steps_ms), median(theirs.steps_ms));
        all_reached &= ratio <= 1.5;
        println!(
            "  {} facts; full {:.0} ms against {:.0} ms: {ratio:.2}x (at most 1.5x)",
            ours.facts, ours.full_ms, theirs.full_ms
        );
        println!(
            "  an edge goes: p50 {p50:.3} ms, max {max:.3} ms; differential {their_p50:.3} ms, {their_max:.3} ms"
        );
    }
    assert!(all_reached, "a figure is missed");
}
