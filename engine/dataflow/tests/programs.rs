//! Random programs of nested branch and loop scopes, under random policies and limits, against an evaluator that just calls itself.
//!
//! ```text
//! Map          row by row
//! Where(body)  a branch scope: an instance a row, cancelled at the first row that the body yields; the row stays if there is one
//! Repeat(body) a loop scope: rows go round up to so many times; every round's rows, or the last's, come out
//! ```
//!
//! About half the scopes that may are wide: their instances span executors, and their edges take any route.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::{
    Context, Fault, Flow, GraphBuilder, InterPolicy, IntraPolicy, Member, Operator, Outcome, QueryOptions,
    Route, Runtime, ScopeKind, ScopeNo, ScopeOptions, Tag, VertexNo, VertexOptions,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Step {
    Map(u64),
    Where { body: Vec<Step>, eager: bool },
    Repeat { body: Vec<Step>, rounds: u32, emit: bool },
}

fn program(random: &mut Random, depth: u64) -> Vec<Step> {
    (0..1 + random.below(3)).map(|_| step(random, depth)).collect()
}

fn step(random: &mut Random, depth: u64) -> Step {
    match random.below(if depth == 0 { 1 } else { 3 }) {
        0 => Step::Map(random.next()),
        1 => Step::Where { body: program(random, depth - 1), eager: random.one_in(2) },
        _ => {
            let (rounds, emit) = (1 + random.below(4) as u32, random.one_in(2));
            Step::Repeat { body: program(random, depth - 1), rounds, emit }
        }
    }
}

/// No, one, or two rows for each.
fn map(seed: u64, row: u64) -> Vec<u64> {
    (0..mix(row ^ seed) % 3).map(|place| mix(row.wrapping_add(seed).wrapping_add(place)) % 1_000).collect()
}

/// What the program yields; none if it takes more than `rows_max` rows on the way.
fn twin(program: &[Step], rows: Vec<u64>, rows_max: &mut usize) -> Option<Vec<u64>> {
    let mut rows = rows;
    for step in program {
        rows = twin_step(step, rows, rows_max)?;
        *rows_max = rows_max.checked_sub(rows.len())?;
    }
    Some(rows)
}

fn twin_step(step: &Step, rows: Vec<u64>, rows_max: &mut usize) -> Option<Vec<u64>> {
    match step {
        Step::Map(seed) => Some(rows.into_iter().flat_map(|row| map(*seed, row)).collect()),
        Step::Where { body, .. } => {
            let mut kept = Vec::new();
            for row in rows {
                if !twin(body, vec![row], rows_max)?.is_empty() {
                    kept.push(row);
                }
            }
            Some(kept)
        }
        Step::Repeat { body, rounds, emit } => {
            let (mut rows, mut all) = (rows, Vec::new());
            for round in 1..=*rounds {
                rows = twin(body, rows, rows_max)?;
                if *emit || round == *rounds {
                    all.extend(&rows);
                }
            }
            Some(all)
        }
    }
}

/// What all operators of a run share.
#[derive(Clone, Default)]
struct Counts {
    operators: Census,
    messages: Census,
}

struct Each(u64, Counts, #[allow(dead_code)] Ticket);

impl Operator<Rows> for Each {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        for row in &message.rows {
            linger(*row)?;
            let rows = map(self.0, *row);
            if !rows.is_empty() {
                context.send(Rows::new(rows, &self.1.messages));
            }
        }
        Ok(Flow::Ready)
    }
    fn recycle(&mut self) -> bool {
        self.0.is_multiple_of(2)
    }
}

/// Ingress of `Where`: output 0 to the egress, output 1 to the body.
struct Open {
    rows: Vec<u64>,
    counts: Counts,
    _ticket: Ticket,
}

impl Operator<Rows> for Open {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.rows.extend(&message.rows);
        self.resume(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while let Some(row) = self.rows.pop() {
            linger(row)?;
            let tag = context.open_ranked_instance(row);
            context.send_tagged(0, tag, Rows::new(vec![row], &self.counts.messages));
            context.send_tagged(1, tag, Rows::new(vec![row], &self.counts.messages));
            context.end_instance(0, tag);
            context.end_instance(1, tag);
            if context.should_yield() && !self.rows.is_empty() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

/// Egress of `Where`: the row on port 0, what the body yields on port 1.
struct Close {
    row: Option<u64>,
    found: bool,
    eager: bool,
    counts: Counts,
    _ticket: Ticket,
}

impl Close {
    fn pass(&mut self, context: &mut Context<'_, Rows>) {
        let row = self.row.take().expect("the row came first");
        context.send(Rows::new(vec![row], &self.counts.messages));
    }
}

impl Operator<Rows> for Close {
    fn receive(&mut self, port: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if port == 0 {
            self.row = message.rows.first().copied();
            assert_eq!(message.rows.len(), 1);
        } else if self.eager {
            self.pass(context);
            context.finish_instance();
        } else {
            self.found = true;
        }
        Ok(Flow::Ready)
    }
    fn on_instance_end(&mut self, _: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        if self.found {
            self.pass(context);
        }
        Ok(Flow::Ready)
    }
}

/// End of a round: out on output 0, round again on output 1.
struct Router {
    rounds: u32,
    emit: bool,
    counts: Counts,
    _ticket: Ticket,
}

impl Operator<Rows> for Router {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        linger(message.rows.len() as u64)?;
        let round = context.tag().number();
        assert!(round >= 1 && round <= self.rounds);
        if self.emit || round == self.rounds {
            context.send(Rows::new(message.rows.clone(), &self.counts.messages));
        }
        if round < self.rounds {
            context.send_to(1, Rows::new(message.rows.clone(), &self.counts.messages));
        }
        Ok(Flow::Ready)
    }
}

struct Source(Vec<u64>, Counts);

impl Operator<Rows> for Source {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!()
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while let Some(row) = self.0.pop() {
            context.send(Rows::new(vec![row], &self.1.messages));
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

struct Build {
    graph: GraphBuilder<Rows>,
    counts: Counts,
    random: Random,
    wide: HashSet<ScopeNo>,
}

impl Build {
    fn vertex<O: Operator<Rows> + 'static>(
        &mut self,
        name: &str,
        options: VertexOptions,
        make: impl Fn(Counts) -> O + Send + Sync + 'static,
    ) -> VertexNo {
        let counts = self.counts.clone();
        self.graph.vertex(name, options, move |_| Box::new(make(counts.clone())))
    }

    fn scope(&mut self, parent: ScopeNo, kind: ScopeKind) -> ScopeNo {
        let inter = match self.random.below(5) {
            0 => InterPolicy::Fifo,
            1 => InterPolicy::Bfs,
            2 => InterPolicy::Dfs,
            3 => InterPolicy::BestFirst,
            _ => InterPolicy::By(Arc::new(|a: Tag, b: Tag| (a.number() % 3).cmp(&(b.number() % 3)))),
        };
        let intra = intra(&mut self.random);
        let instances_max = self.random.one_in(2).then(|| 1 + self.random.below(4) as u32);
        let wide = self.wide.contains(&parent) && self.random.one_in(2);
        let waits = self.random.one_in(2);
        let options = ScopeOptions { kind, inter, intra, instances_max, wide, waits, name: String::new() };
        let scope = self.graph.scope_with(parent, options);
        if wide {
            self.wide.insert(scope);
        }
        scope
    }

    fn program(&mut self, program: &[Step], scope: ScopeNo) -> (VertexNo, VertexNo) {
        let parts: Vec<_> = program.iter().map(|step| self.step(step, scope)).collect();
        for pair in parts.windows(2) {
            let route = self.route(scope);
            self.graph.connect(pair[0].1, 0, pair[1].0, 0, route);
        }
        (parts[0].0, parts[parts.len() - 1].1)
    }

    /// Any route that messages into this scope may take.
    fn route(&mut self, scope: ScopeNo) -> Route<Rows> {
        if !self.wide.contains(&scope) {
            return Route::Local;
        }
        let messages = self.counts.messages.clone();
        match self.random.below(5) {
            0 => Route::Local,
            1 => Route::Gather,
            2 => Route::Spread,
            3 => Route::Share,
            _ => Route::Partition(Arc::new(move |message: Rows, parts| {
                let part = |row: &u64| (*row as usize) % parts;
                let rows = |at| message.rows.iter().copied().filter(|row| part(row) == at).collect();
                let all = (0..parts).map(|at| (at, Rows::new(rows(at), &messages)));
                all.filter(|(_, message)| !message.rows.is_empty()).collect()
            })),
        }
    }

    /// To one operator.
    fn gather(&self, scope: ScopeNo) -> Route<Rows> {
        if self.wide.contains(&scope) { Route::Gather } else { Route::Local }
    }

    fn step(&mut self, step: &Step, scope: ScopeNo) -> (VertexNo, VertexNo) {
        let plain = VertexOptions::default().in_scope(scope);
        match step {
            Step::Map(seed) => {
                let seed = *seed;
                let each = self.vertex("Map", plain, move |counts| {
                    let ticket = counts.operators.enter();
                    Each(seed, counts, ticket)
                });
                (each, each)
            }
            Step::Where { body, eager } => {
                let open = self.vertex("Open", plain, |counts| {
                    let _ticket = counts.operators.enter();
                    Open { rows: Vec::new(), counts, _ticket }
                });
                let (inner, eager) = (self.scope(scope, ScopeKind::Branch), *eager);
                let options = VertexOptions { port_order: 1, ..VertexOptions::ports(2) }.in_scope(inner);
                let close = self.vertex("Close", options, move |counts| {
                    let _ticket = counts.operators.enter();
                    Close { row: None, found: false, eager, counts, _ticket }
                });
                let (first, last) = self.program(body, inner);
                let (gather, route) = (self.gather(inner), self.route(inner));
                self.graph.connect(open, 0, close, 0, gather.clone());
                self.graph.connect(open, 1, first, 0, route);
                self.graph.connect(last, 0, close, 1, gather);
                (open, close)
            }
            Step::Repeat { body, rounds, emit } => {
                let enter = self.vertex("Enter", plain, |counts| {
                    let ticket = counts.operators.enter();
                    Pass(counts, ticket)
                });
                let (inner, rounds, emit) = (self.scope(scope, ScopeKind::Loop), *rounds, *emit);
                let router = self.vertex("Router", VertexOptions::default().in_scope(inner), move |counts| {
                    let _ticket = counts.operators.enter();
                    Router { rounds, emit, counts, _ticket }
                });
                let (first, last) = self.program(body, inner);
                let routes = [self.route(inner), self.route(inner), self.route(inner)];
                let [enters, inside, back] = routes;
                self.graph.connect(enter, 0, first, 0, enters);
                self.graph.connect(last, 0, router, 0, inside);
                self.graph.connect_back_by(router, 1, first, 0, back);
                (enter, router)
            }
        }
    }
}

struct Pass(Counts, #[allow(dead_code)] Ticket);

impl Operator<Rows> for Pass {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(Rows::new(message.rows.clone(), &self.0.messages));
        Ok(Flow::Ready)
    }
}

fn intra(random: &mut Random) -> IntraPolicy {
    match random.below(4) {
        0 => IntraPolicy::Fifo,
        1 => IntraPolicy::Bfs,
        2 => IntraPolicy::Dfs,
        _ => IntraPolicy::By(Arc::new(|a: Member, b: Member| format!("{a:?}").cmp(&format!("{b:?}")))),
    }
}

fn submit(
    runtime: &dataflow::Runtime<Rows>,
    program: &[Step],
    rows: Vec<u64>,
    counts: &Counts,
    seed: u64,
) -> dataflow::QueryHandle<Rows> {
    runtime.submit(graph(program, rows, counts, seed), QueryOptions::default())
}

fn graph(program: &[Step], rows: Vec<u64>, counts: &Counts, seed: u64) -> dataflow::Graph<Rows> {
    let mut build = Build {
        graph: GraphBuilder::new(),
        counts: counts.clone(),
        random: Random(seed),
        wide: [ScopeNo::ROOT].into(),
    };
    let policy = intra(&mut build.random);
    build.graph.policy(policy);
    let source = build.vertex("Source", VertexOptions::source(), move |counts| Source(rows.clone(), counts));
    let (first, last) = build.program(program, ScopeNo::ROOT);
    let sink = build.vertex("Sink", VertexOptions::default(), |counts| {
        let ticket = counts.operators.enter();
        Pass(counts, ticket)
    });
    build.graph.connect(source, 0, first, 0, Route::Spread);
    build.graph.connect(last, 0, sink, 0, Route::Gather);
    build.graph.output(sink);
    build.graph.finish().unwrap()
}

/// The same on executors that are stepped in an order that comes again. Returns the rows, and how many steps it took.
fn run_stepped(
    program: &[Step],
    rows: Vec<u64>,
    seed: u64,
    executors: usize,
    cancel_at: usize,
) -> (Vec<u64>, usize) {
    let counts = Counts::default();
    let mut stepped = dataflow::Stepped::new(executors, seed);
    let mut handle = stepped.submit(graph(program, rows, &counts, seed), QueryOptions::default());
    let (mut rows, mut steps, mut ended) = (Vec::new(), 0, false);
    loop {
        if steps == cancel_at {
            handle.cancel("test");
        }
        while let Some(found) = handle.try_next() {
            match found {
                Some(Ok(batch)) => rows.extend_from_slice(&batch.rows),
                Some(Err(fault)) => assert!(matches!(fault, Fault::Cancelled { .. }), "{fault}"),
                None => {
                    ended = true;
                    break;
                }
            }
        }
        if !stepped.step() {
            break;
        }
        steps += 1;
    }
    assert!(
        ended,
        "seed {seed}, {executors} executors: nobody has anything to do, and the query has not ended: {program:?}"
    );
    drop(handle);
    while stepped.step() {}
    assert_eq!((counts.operators.count(), counts.messages.count()), (0, 0), "seed {seed}: something is left");
    rows.sort_unstable();
    (rows, steps)
}

#[test]
fn seeded_schedules_equal_the_twin_come_again_and_end_wherever_they_are_cancelled() {
    let seed = seed();
    println!("TANGLEWOOD_SEED={seed}");
    let mut run = 0;
    for round in 0..400 {
        let mut random = Random(seed ^ (round << 32));
        let program = program(&mut random, 1 + round % 3);
        let rows: Vec<u64> = (0..random.below(60)).map(mix).collect();
        let Some(mut wanted) = twin(&program, rows.clone(), &mut 3_000) else { continue };
        wanted.sort_unstable();
        run += 1;
        let (schedule, executors) = (random.next(), 1 + random.below(3) as usize);
        let (got, steps) = run_stepped(&program, rows.clone(), schedule, executors, usize::MAX);
        assert_eq!(got, wanted, "seed {seed} round {round} {program:?}");
        let cancel_at = random.below(steps as u64 + 1) as usize;
        run_stepped(&program, rows.clone(), schedule, executors, cancel_at);
        if round % 10 == 0 {
            assert_eq!(
                run_stepped(&program, rows, schedule, executors, usize::MAX).1,
                steps,
                "it comes again"
            );
        }
    }
    assert!(run > 200, "most programs are small");
}

#[test]
fn random_programs_equal_their_twin() {
    let seed = seed();
    println!("TANGLEWOOD_SEED={seed}");
    for (executors, is_hasty) in [(1, false), (1, true), (2, true), (4, false), (4, true)] {
        let runtime = if is_hasty { hasty_runtime(executors) } else { runtime(executors) };
        let mut run = 0;
        for round in 0..150 {
            let mut random = Random(seed ^ (round * 4 + executors as u64));
            let program = program(&mut random, 1 + round % 3);
            let rows: Vec<u64> = (0..random.below(30)).map(mix).collect();
            let Some(mut wanted) = twin(&program, rows.clone(), &mut 5_000) else { continue };
            wanted.sort_unstable();
            run += 1;
            let counts = Counts::default();
            let mut handle = submit(&runtime, &program, rows, &counts, random.next());
            assert_eq!(
                drain(&mut handle),
                wanted,
                "seed {seed} executors {executors} round {round} {program:?}"
            );
            drop(handle);
            counts.operators.wait_empty("operators");
            counts.messages.wait_empty("messages");
        }
        assert!(run > 75, "most programs are small");
    }
}

#[test]
fn cancelled_programs_end_once_and_leave_nothing() {
    let seed = seed();
    println!("TANGLEWOOD_SEED={seed}");
    for runtime in [runtime(2), hasty_runtime(2)] {
        cancel_many(&runtime, seed);
    }
}

fn cancel_many(runtime: &Runtime<Rows>, seed: u64) {
    for round in 0..200 {
        let mut random = Random(seed ^ round);
        let program = program(&mut random, 3);
        let rows: Vec<u64> = (0..200).map(mix).collect();
        let counts = Counts::default();
        let mut handle = submit(runtime, &program, rows, &counts, random.next());
        for _ in 0..random.below(4) {
            let _ = handle.next_timeout(Duration::from_micros(random.below(500)));
        }
        handle.cancel("test");
        let mut ends = 0;
        while let Some(result) = handle.next_timeout(Duration::from_secs(20)).expect("it ends") {
            ends += usize::from(matches!(result, Err(Fault::Cancelled { .. })));
        }
        assert!(ends <= 1, "one end");
        drop(handle);
        counts.operators.wait_empty("operators");
        counts.messages.wait_empty("messages");
    }
}
