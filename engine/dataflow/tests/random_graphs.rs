//! Random graphs against their sequential twin: whatever the executors, routes, yields, full queues and slow clients, the rows that come
//! out are those a plain loop over multisets computes; and whatever ends a query, it ends once and leaves nothing behind.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::{
    Context, Fault, Flow, GraphBuilder, Operator, Outcome, QueryOptions, Route, Runtime, VertexNo,
    VertexOptions,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// What a vertex does to the multiset of its input rows.
#[derive(Clone, Debug)]
enum Kind {
    /// Emits this many rows.
    Source(u64),
    /// Each row becomes another.
    Map,
    /// Drops about half.
    Filter,
    /// Each row becomes two.
    Explode,
    /// Both outputs get all rows.
    Copy,
    /// One row: the sum of all; also for none.
    Sum,
    /// Adds the sum of port 0 to each row of port 1, which waits.
    Join,
}

#[derive(Clone, Debug)]
struct Plan {
    kinds: Vec<Kind>,
    /// (from, output, to, port, route)
    edges: Vec<(usize, usize, usize, usize, u8)>,
}

fn random_plan(random: &mut Random, rows_max: u64) -> Plan {
    let mut plan = Plan { kinds: Vec::new(), edges: Vec::new() };
    let mut open: Vec<(usize, usize)> = Vec::new();
    let vertices = 3 + random.below(9) as usize;
    for number in 0..vertices {
        let kind = match random.below(if number == 0 { 1 } else { 9 }) {
            0 => Kind::Source(random.below(rows_max)),
            1 | 2 => Kind::Map,
            3 => Kind::Filter,
            4 => Kind::Explode,
            5 | 6 => Kind::Copy,
            7 => Kind::Sum,
            _ if open.len() >= 2 => Kind::Join,
            _ => Kind::Map,
        };
        let ports = match kind {
            Kind::Source(_) => 0,
            Kind::Join => 2,
            _ => 1,
        };
        let gather = matches!(kind, Kind::Sum | Kind::Join);
        for port in 0..ports {
            let edges_max = if port + 1 < ports { open.len() - (ports - port - 1) } else { open.len() };
            let edges = 1 + random.below(2.min(edges_max as u64)) as usize;
            for _ in 0..edges.min(edges_max) {
                let (from, output) = open.swap_remove(random.below(open.len() as u64) as usize);
                let route = if gather { 2 } else { random.below(5) as u8 };
                plan.edges.push((from, output, number, port, route));
            }
        }
        open.push((number, 0));
        if matches!(kind, Kind::Copy) {
            open.push((number, 1));
        }
        plan.kinds.push(kind);
    }
    plan.kinds.push(Kind::Map);
    plan.edges.extend(open.into_iter().map(|(from, output)| (from, output, vertices, 0, 2)));
    plan
}

fn map(row: u64) -> u64 {
    mix(row)
}

/// The twin: one vertex after another over whole multisets.
fn sequential(plan: &Plan) -> Vec<u64> {
    let mut outputs: Vec<[Vec<u64>; 2]> = Vec::new();
    for (number, kind) in plan.kinds.iter().enumerate() {
        let input = |port: usize| -> Vec<u64> {
            let edges = plan.edges.iter().filter(|edge| edge.2 == number && edge.3 == port);
            edges.flat_map(|edge| outputs[edge.0][edge.1].iter().copied()).collect()
        };
        let sum = |rows: &[u64]| rows.iter().fold(0_u64, |sum, row| sum.wrapping_add(*row));
        let rows: Vec<u64> = match kind {
            Kind::Source(count) => (0..*count).map(|row| mix(row + number as u64)).collect(),
            Kind::Map => input(0).into_iter().map(map).collect(),
            Kind::Filter => input(0).into_iter().filter(|row| row.is_multiple_of(2)).collect(),
            Kind::Explode => input(0).into_iter().flat_map(|row| [row, map(row)]).collect(),
            Kind::Copy => input(0),
            Kind::Sum => vec![sum(&input(0))],
            Kind::Join => {
                let total = sum(&input(0));
                input(1).into_iter().map(|row| row.wrapping_add(total)).collect()
            }
        };
        let copy = if matches!(kind, Kind::Copy) { rows.clone() } else { Vec::new() };
        outputs.push([rows, copy]);
    }
    let mut rows = outputs.pop().unwrap()[0].clone();
    rows.sort_unstable();
    rows
}

/// How operators misbehave.
#[derive(Clone, Default)]
struct Trouble {
    /// One call in this many says `Again` or `Waiting` in the middle.
    yields: u64,
    /// Panic on the call with this number on any vertex.
    panic_at: Option<u64>,
    fail_at: Option<u64>,
    charge: usize,
    spin: Duration,
}

struct Vertex {
    kind: Kind,
    number: usize,
    random: Random,
    trouble: Trouble,
    calls: u64,
    todo: VecDeque<(usize, u64)>,
    next: u64,
    sum: u64,
    ended: u32,
    messages: Census,
    _ticket: Ticket,
}

impl Vertex {
    fn row(&mut self, port: usize, row: u64, out: &mut [Vec<u64>; 2]) {
        match self.kind {
            Kind::Source(_) => unreachable!("sources have no ports"),
            Kind::Map => out[0].push(map(row)),
            Kind::Filter => out[0].extend(row.is_multiple_of(2).then_some(row)),
            Kind::Explode => out[0].extend([row, map(row)]),
            Kind::Copy => out.iter_mut().for_each(|out| out.push(row)),
            Kind::Sum => self.sum = self.sum.wrapping_add(row),
            Kind::Join if port == 0 => {
                assert_eq!(self.ended, 0, "build rows after the end of the build side");
                self.sum = self.sum.wrapping_add(row);
            }
            Kind::Join => {
                assert_eq!(self.ended & 1, 1, "probe rows before the end of the build side");
                out[0].push(row.wrapping_add(self.sum));
            }
        }
    }

    fn send(&self, out: [Vec<u64>; 2], context: &mut Context<'_, Rows>) {
        for (output, rows) in out.into_iter().enumerate() {
            if !rows.is_empty() {
                context.send_to(output, Rows::new(rows, &self.messages));
            }
        }
    }

    fn work(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.calls += 1;
        assert!(self.trouble.panic_at != Some(self.calls), "on purpose");
        if self.trouble.fail_at == Some(self.calls) {
            return Err("on purpose".into());
        }
        context.charge(self.trouble.charge)?;
        let start = std::time::Instant::now();
        while start.elapsed() < self.trouble.spin {
            std::hint::spin_loop();
        }
        loop {
            let mut out = [Vec::new(), Vec::new()];
            if let Kind::Source(count) = self.kind {
                let batch = (1 + self.random.below(50)).min(count - self.next);
                out[0].extend((self.next..self.next + batch).map(|row| mix(row + self.number as u64)));
                self.next += batch;
            }
            for _ in 0..(1 + self.random.below(40)) {
                let Some((port, row)) = self.todo.pop_front() else { break };
                linger(row)?;
                self.row(port, row, &mut out);
            }
            self.send(out, context);
            let more = !self.todo.is_empty() || matches!(self.kind, Kind::Source(count) if self.next < count);
            if !more {
                return Ok(Flow::Ready);
            }
            if context.should_yield() || (self.trouble.yields > 0 && self.random.one_in(self.trouble.yields))
            {
                let waits = self.trouble.yields > 0 && self.random.one_in(4);
                return Ok(if waits { Flow::Waiting } else { Flow::Again });
            }
        }
    }
}

impl Operator<Rows> for Vertex {
    fn receive(&mut self, port: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        assert!(self.todo.is_empty(), "nothing is delivered before Ready");
        assert_eq!(self.ended & (1 << port), 0, "a message after the port's end");
        self.todo.extend(message.rows.iter().map(|row| (port, *row)));
        drop(message);
        self.work(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.work(context)
    }
    fn on_completion(&mut self, port: usize, context: &mut Context<'_, Rows>) -> Outcome {
        assert_eq!(self.ended & (1 << port), 0, "a port ends once");
        assert!(self.todo.is_empty());
        assert!(port == 0 || self.ended & 1 == 1, "port 1 ends after port 0, also when it ended first");
        self.ended |= 1 << port;
        if matches!(self.kind, Kind::Sum) {
            context.send(Rows::new(vec![self.sum], &self.messages));
        }
        Ok(Flow::Ready)
    }
}

struct Counts {
    operators: Census,
    messages: Census,
}

fn build(plan: &Plan, trouble: &Trouble, seed: u64, counts: &Counts) -> GraphBuilder<Rows> {
    let mut graph = GraphBuilder::new();
    for (number, kind) in plan.kinds.iter().enumerate() {
        let options = match kind {
            Kind::Source(_) => VertexOptions::source(),
            Kind::Sum => VertexOptions { create_if_empty: true, ..VertexOptions::default() },
            Kind::Join => VertexOptions { ports: 2, port_order: 1, ..VertexOptions::default() },
            _ => VertexOptions::default(),
        };
        let (kind, trouble) = (kind.clone(), trouble.clone());
        let (operators, messages) = (counts.operators.clone(), counts.messages.clone());
        graph.vertex(format!("{kind:?}{number}"), options, move |executor| {
            Box::new(Vertex {
                kind: kind.clone(),
                number,
                random: Random(seed ^ mix((number * 64 + executor) as u64)),
                trouble: trouble.clone(),
                calls: 0,
                todo: VecDeque::new(),
                next: 0,
                sum: 0,
                ended: 0,
                messages: messages.clone(),
                _ticket: operators.enter(),
            })
        });
    }
    for (from, output, to, port, route) in &plan.edges {
        let messages = counts.messages.clone();
        let route = match route {
            0 => Route::Local,
            1 => Route::Spread,
            2 => Route::Gather,
            3 => Route::Share,
            _ => Route::Partition(Arc::new(move |rows: Rows, parts| {
                let mut split = vec![Vec::new(); parts];
                rows.rows.iter().for_each(|row| split[(row % parts as u64) as usize].push(*row));
                let full = split.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
                full.map(|(part, rows)| (part, Rows::new(rows, &messages))).collect()
            })),
        };
        let no = |number: usize| vertex_no(&plan.kinds, number);
        graph.connect(no(*from), *output, no(*to), *port, route);
    }
    graph.output(vertex_no(&plan.kinds, plan.kinds.len() - 1));
    graph
}

/// The number a vertex got: they are given in order, so build a throw-away list.
fn vertex_no(kinds: &[Kind], number: usize) -> VertexNo {
    let mut numbers = GraphBuilder::<Rows>::new();
    let all: Vec<VertexNo> =
        kinds.iter().map(|_| numbers.vertex("", VertexOptions::default(), |_| unreachable!())).collect();
    all[number]
}

fn submit(
    runtime: &Runtime<Rows>,
    plan: &Plan,
    trouble: &Trouble,
    seed: u64,
    counts: &Counts,
    options: QueryOptions,
) -> dataflow::QueryHandle<Rows> {
    runtime.submit(build(plan, trouble, seed, counts).finish().unwrap(), options)
}

fn counts() -> Counts {
    Counts { operators: Census::default(), messages: Census::default() }
}

fn quiet(runtime: &Runtime<Rows>, counts: &Counts) {
    counts.operators.wait_empty("operators");
    counts.messages.wait_empty("messages");
    assert!(runtime.queries().is_empty());
}

#[test]
fn random_graphs_equal_their_sequential_twin() {
    let seed = seed();
    println!("TANGLEWOOD_SEED={seed}");
    for (executors, is_hasty) in [(1, false), (2, true), (4, false)] {
        let runtime = if is_hasty { hasty_runtime(executors) } else { runtime(executors) };
        let counts = counts();
        for round in 0..150_u64 {
            let mut random = Random(seed ^ mix(round));
            let plan = random_plan(&mut random, if round % 10 == 0 { 20_000 } else { 300 });
            let trouble = Trouble { yields: random.below(4), ..Trouble::default() };
            let options =
                QueryOptions { output_batches_max: 1 + random.below(4) as usize, ..QueryOptions::default() };
            let mut handle = submit(&runtime, &plan, &trouble, seed, &counts, options);
            if round % 7 == 0 {
                std::thread::sleep(Duration::from_millis(random.below(4)));
            }
            let rows = drain(&mut handle);
            assert_eq!(rows, sequential(&plan), "seed {seed} round {round} executors {executors} {plan:?}");
            let sent = handle.profile().pop().unwrap();
            assert_eq!(sent.rows_out, rows.len() as u64);
        }
        quiet(&runtime, &counts);
    }
}

#[test]
fn many_queries_at_once_keep_apart() {
    let seed = seed();
    println!("TANGLEWOOD_SEED={seed}");
    let runtime = runtime(3);
    let counts = counts();
    let mut random = Random(seed);
    let plans: Vec<Plan> = (0..40).map(|_| random_plan(&mut random, 3_000)).collect();
    let trouble = Trouble { yields: 3, ..Trouble::default() };
    let tenant = |number: usize| QueryOptions { tenant: number as u32 % 3, ..QueryOptions::default() };
    let mut handles: Vec<_> = plans
        .iter()
        .enumerate()
        .map(|(number, plan)| submit(&runtime, plan, &trouble, seed, &counts, tenant(number)))
        .collect();
    for (handle, plan) in handles.iter_mut().zip(&plans) {
        assert_eq!(drain(handle), sequential(plan), "seed {seed} {plan:?}");
    }
    quiet(&runtime, &counts);
}

/// Reads to the end; returns the fault, asserting that there is at most one and that it is the last thing.
fn read_to_end(handle: &mut dataflow::QueryHandle<Rows>) -> Option<Fault> {
    loop {
        match handle.next_timeout(Duration::from_secs(20)).expect("the query makes progress") {
            None => return None,
            Some(Ok(_)) => {}
            Some(Err(fault)) => {
                assert!(handle.next().is_none(), "a fault is the end");
                return Some(fault);
            }
        }
    }
}

#[test]
fn cancels_at_random_points_leave_nothing() {
    let seed = seed();
    println!("TANGLEWOOD_SEED={seed}");
    let mut cancelled = 0;
    for executors in [1, 2, 4] {
        let runtime = runtime(executors);
        let counts = counts();
        for round in 0..120_u64 {
            let mut random = Random(seed ^ mix(round));
            let plan = random_plan(&mut random, 30_000);
            let trouble = Trouble { yields: random.below(3), ..Trouble::default() };
            let mut handle = submit(&runtime, &plan, &trouble, seed, &counts, QueryOptions::default());
            for _ in 0..random.below(6) {
                let _ = handle.next_timeout(Duration::from_micros(100));
            }
            match random.below(3) {
                0 => drop(handle),
                1 => {
                    runtime.cancel(handle.id(), "test");
                    cancelled +=
                        usize::from(matches!(read_to_end(&mut handle), Some(Fault::Cancelled { .. })));
                }
                _ => {
                    handle.cancel("test");
                    let fault = read_to_end(&mut handle);
                    assert!(matches!(fault, None | Some(Fault::Cancelled { .. })), "{fault:?}");
                }
            }
        }
        quiet(&runtime, &counts);
    }
    assert!(cancelled > 0, "some cancel should come before the end");
}

#[test]
fn panics_and_errors_end_their_query_alone() {
    let seed = seed();
    println!("TANGLEWOOD_SEED={seed}");
    let (mut panics, mut errors) = (0, 0);
    let runtime = runtime(2);
    let counts = counts();
    for round in 0..60_u64 {
        let mut random = Random(seed ^ mix(round));
        let plan = random_plan(&mut random, 5_000);
        let at = Some(1 + random.below(8));
        let trouble = if round % 2 == 0 {
            Trouble { panic_at: at, ..Trouble::default() }
        } else {
            Trouble { fail_at: at, ..Trouble::default() }
        };
        let healthy = random_plan(&mut random, 1_000);
        let mut neighbour =
            submit(&runtime, &healthy, &Trouble::default(), seed, &counts, QueryOptions::default());
        let mut handle = submit(&runtime, &plan, &trouble, seed, &counts, QueryOptions::default());
        match read_to_end(&mut handle) {
            Some(Fault::Panicked { message, .. }) => {
                assert_eq!(message, "on purpose");
                panics += 1;
            }
            Some(Fault::Operator(failure)) => {
                assert_eq!(failure.to_string(), "on purpose");
                errors += 1;
            }
            None => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(drain(&mut neighbour), sequential(&healthy));
    }
    assert!(panics > 0 && errors > 0, "{panics} panics, {errors} errors");
    quiet(&runtime, &counts);
}

#[test]
fn a_deadline_and_a_budget_end_a_query() {
    let runtime = runtime(2);
    let counts = counts();
    let plan = Plan { kinds: vec![Kind::Source(100_000), Kind::Map], edges: vec![(0, 0, 1, 0, 1)] };
    let slow = Trouble { spin: Duration::from_micros(300), yields: 1, ..Trouble::default() };
    let options = QueryOptions { deadline: Some(Duration::from_millis(30)), ..QueryOptions::default() };
    let mut handle = submit(&runtime, &plan, &slow, 1, &counts, options);
    assert!(matches!(read_to_end(&mut handle), Some(Fault::TimedOut { after_ms: 30.. })));

    // A client that never reads: the query is blocked on its output, and the deadline still comes.
    let options = QueryOptions { deadline: Some(Duration::from_millis(30)), ..QueryOptions::default() };
    let mut handle = submit(&runtime, &plan, &Trouble::default(), 1, &counts, options);
    std::thread::sleep(Duration::from_millis(60));
    assert!(matches!(handle.next(), Some(Err(Fault::TimedOut { .. }))));

    let greedy = Trouble { charge: 1_000, yields: 1, ..Trouble::default() };
    let options = QueryOptions { bytes_max: 100_000, ..QueryOptions::default() };
    let mut handle = submit(&runtime, &plan, &greedy, 1, &counts, options);
    match read_to_end(&mut handle) {
        Some(Fault::OverBudget { limit, held, .. }) => {
            assert_eq!(limit, 100_000);
            assert!(held.iter().map(|(_, bytes)| bytes).sum::<u64>() > 100_000, "{held:?}");
        }
        other => panic!("{other:?}"),
    }
    drop(handle);
    quiet(&runtime, &counts);
}

#[test]
fn a_dropped_runtime_ends_its_queries() {
    let counts = counts();
    let plan = Plan { kinds: vec![Kind::Source(1_000_000), Kind::Map], edges: vec![(0, 0, 1, 0, 1)] };
    let mut handle = {
        let runtime = runtime(2);
        submit(&runtime, &plan, &Trouble::default(), 1, &counts, QueryOptions::default())
    };
    assert!(matches!(handle.next(), Some(Err(Fault::Cancelled { .. }))));
    assert!(handle.next().is_none());
    counts.operators.wait_empty("operators");
    counts.messages.wait_empty("messages");
}
