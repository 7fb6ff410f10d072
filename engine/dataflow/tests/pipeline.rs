//! The two drivers against each other: graphs as pipelines on the thread that asks, and the same graphs on executors. The same rows or the same
//! end, or nothing at all; and nothing is left behind. And pipelines within an operator, against the same operators around it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::{
    Context, Fault, Flow, Graph, GraphBuilder, Operator, Outcome, Pipeline, QueryOptions, Route, Runtime,
    ScopeOptions, Tried, VertexNo, VertexOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an operator does.
#[derive(Clone, Debug)]
enum Kind {
    /// Emits so many rows, one a message, and pauses between them.
    Source(u64),
    /// Each row becomes another.
    Map,
    /// Each row becomes so many.
    Explode(u64),
    /// Keeps the first ones and closes its input.
    Limit(u64),
    /// One row behind all: their sum; also for none. Charges for each message.
    Sum,
    /// Fails at this row.
    Fail(u64),
    /// Panics at once.
    Panic,
    /// Never gets on.
    Wait,
    /// Adds the sum of the rows of so many ports to those of the ports behind, which wait for their ends.
    After(usize),
    /// Two outputs: each row on both.
    Tee,
}

struct Part {
    kind: Kind,
    census: Census,
    _alive: Ticket,
    seen: u64,
    sum: u64,
    left: Vec<u64>,
}

impl Part {
    fn new(kind: Kind, census: &Census) -> Part {
        Part { kind, census: census.clone(), _alive: census.enter(), seen: 0, sum: 0, left: Vec::new() }
    }
    fn source(builder: &mut GraphBuilder<Rows>, kind: Kind, census: &Census) -> VertexNo {
        let census = census.clone();
        builder.vertex("source", VertexOptions::source(), move |_| {
            Box::new(Part::new(kind.clone(), &census)) as Box<_>
        })
    }
    fn send(&self, rows: Vec<u64>, context: &mut Context<'_, Rows>) {
        context.send(Rows::new(rows, &self.census));
    }
}

impl Operator<Rows> for Part {
    fn receive(&mut self, port: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        assert!(self.left.is_empty(), "nothing is delivered before it said Ready");
        match self.kind {
            Kind::Map => {
                self.send(message.rows.iter().map(|row| row.wrapping_mul(31) + 7).collect(), context)
            }
            Kind::Explode(times) => {
                self.left = message.rows.iter().flat_map(|row| (0..times).map(move |by| row + by)).collect();
                return Ok(Flow::Again);
            }
            Kind::Limit(most) => {
                let kept: Vec<u64> = message.rows.into_iter().take((most - self.seen) as usize).collect();
                self.seen += kept.len() as u64;
                self.send(kept, context);
                if self.seen == most {
                    context.close_inputs();
                }
            }
            Kind::Sum => {
                context.charge(16)?;
                self.sum = message.rows.iter().fold(self.sum, |sum, row| sum.wrapping_add(*row));
            }
            Kind::Fail(at) => {
                self.seen += message.rows.len() as u64;
                if self.seen > at {
                    return Err("it was asked to fail".into());
                }
                self.send(message.rows, context);
            }
            Kind::After(before) if port < before => {
                assert!(self.seen & 1 << port == 0, "the port has come to its end");
                self.sum = message.rows.iter().fold(self.sum, |sum, row| sum.wrapping_add(*row));
            }
            Kind::After(before) => {
                let ends = (1 << before) - 1;
                assert!(
                    self.seen & (ends | 1 << port) == ends,
                    "ports before it have not come to their ends"
                );
                self.send(message.rows.iter().map(|row| row.wrapping_add(self.sum)).collect(), context);
            }
            Kind::Tee => {
                context.send_to(1, Rows::new(message.rows.clone(), &self.census));
                self.send(message.rows, context);
            }
            Kind::Panic => panic!("it was asked to panic"),
            Kind::Wait => return Ok(Flow::Waiting),
            Kind::Source(_) => unreachable!("sources receive nothing"),
        }
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        match self.kind {
            Kind::Source(rows) => {
                if self.seen < rows {
                    self.seen += 1;
                    self.send(vec![self.seen], context);
                }
                Ok(if self.seen < rows { Flow::Again } else { Flow::Ready })
            }
            Kind::Explode(_) => {
                let part = self.left.split_off(self.left.len().saturating_sub(3));
                self.send(part, context);
                Ok(if self.left.is_empty() { Flow::Ready } else { Flow::Again })
            }
            _ => Ok(Flow::Waiting),
        }
    }
    fn on_completion(&mut self, port: usize, context: &mut Context<'_, Rows>) -> Outcome {
        match self.kind {
            Kind::Sum => self.send(vec![self.sum], context),
            Kind::After(before) => {
                let ends = if port < before { 0 } else { (1 << before) - 1 };
                assert!(self.seen & (ends | 1 << port) == ends, "ends of ports before come before, and once");
                self.seen |= 1 << port;
            }
            _ => {}
        }
        Ok(Flow::Ready)
    }
}

fn pipeline(graph: Graph<Rows>) -> Pipeline<Rows> {
    Pipeline::new(&Arc::new(graph.into_pipeline(false).expect("no scopes")))
}

/// Puts operators behind a vertex.
fn chain(builder: &mut GraphBuilder<Rows>, from: VertexNo, kinds: &[Kind], census: &Census) -> VertexNo {
    let mut last = from;
    for kind in kinds {
        let create_if_empty = matches!(kind, Kind::Sum);
        let (own, census) = (kind.clone(), census.clone());
        let options = VertexOptions { create_if_empty, ..VertexOptions::default() };
        let vertex = builder.vertex(format!("{kind:?}"), options, move |_| {
            Box::new(Part::new(own.clone(), &census)) as Box<_>
        });
        builder.connect(last, 0, vertex, 0, Route::Local);
        last = vertex;
    }
    last
}

fn graph(kinds: &[Kind], census: &Census) -> Graph<Rows> {
    let mut builder = GraphBuilder::new();
    let source = Part::source(&mut builder, kinds[0].clone(), census);
    let last = chain(&mut builder, source, &kinds[1..], census);
    builder.output(last);
    builder.finish().unwrap()
}

/// A random graph with several sources, ports and outputs; its output is the vertex that is returned.
fn branch(random: &mut Random, builder: &mut GraphBuilder<Rows>, census: &Census, depth: u64) -> VertexNo {
    let census_of = census.clone();
    let vertex = |builder: &mut GraphBuilder<Rows>, kind: Kind, options: VertexOptions| {
        let census = census_of.clone();
        builder.vertex(format!("{kind:?}"), options, move |_| {
            Box::new(Part::new(kind.clone(), &census)) as Box<_>
        })
    };
    let one = VertexOptions::default;
    if depth == 0 {
        let source = vertex(builder, Kind::Source(random.below(12)), VertexOptions::source());
        let explode = vertex(builder, Kind::Explode(random.below(5)), one());
        builder.connect(source, 0, explode, 0, Route::Local);
        return explode;
    }
    let below = branch(random, builder, census, depth - 1);
    let (kind, options) = match random.below(8) {
        0 => (Kind::Sum, VertexOptions { create_if_empty: true, ..one() }),
        1 => (Kind::Explode(random.below(4)), one()),
        2 if random.below(8) == 0 => (Kind::Fail(random.below(40)), one()),
        2 | 3 => (Kind::Map, VertexOptions::ports(2)),
        kind @ 4..=6 => {
            let ports = 2 + random.below(2) as usize;
            let port_order = 1 + random.below(ports as u64 - 1) as usize;
            let options =
                VertexOptions { port_order, create_if_empty: kind == 4, ..VertexOptions::ports(ports) };
            (Kind::After(port_order), options)
        }
        _ => (Kind::Map, one()),
    };
    let ports = options.ports;
    let node = vertex(builder, kind, options);
    if ports == 1 {
        builder.connect(below, 0, node, 0, Route::Local);
        return node;
    }
    let first = random.below(ports as u64) as usize;
    let others: Vec<usize> = (0..ports).filter(|port| *port != first).collect();
    if ports == 2 && random.below(3) == 0 {
        // A diamond: both ports wait for the same rows.
        let tee = vertex(builder, Kind::Tee, one());
        builder.connect(below, 0, tee, 0, Route::Local);
        builder.connect(tee, 0, node, first, Route::Local);
        builder.connect(tee, 1, node, 1 - first, Route::Local);
        return node;
    }
    builder.connect(below, 0, node, first, Route::Local);
    for port in others {
        let depth = random.below(depth);
        let other = branch(random, builder, census, depth);
        builder.connect(other, 0, node, port, Route::Local);
    }
    node
}

fn random_graph(seed: u64, census: &Census) -> Graph<Rows> {
    let (mut random, mut builder) = (Random(seed), GraphBuilder::new());
    let depth = random.below(5);
    let output = branch(&mut random, &mut builder, census, depth);
    builder.output(output);
    builder.finish().unwrap()
}

/// The rows of a run on executors, in order of value, and its end.
fn on_executors(runtime: &Runtime<Rows>, graph: Graph<Rows>) -> (Vec<u64>, Option<Fault>) {
    let mut handle = runtime.submit(graph, QueryOptions::default());
    let (mut rows, mut fault) = (Vec::new(), None);
    while let Some(next) = handle.next() {
        match next {
            Ok(message) => rows.extend(message.rows),
            Err(why) => fault = Some(why),
        }
    }
    rows.sort_unstable();
    (rows, fault)
}

#[test]
fn a_graph_here_answers_what_executors_answer() {
    let runtime = runtime(2);
    let seed = seed();
    let (mut done, mut failed, mut left) = (0, 0, 0);
    for round in 0..2_000 {
        let census = Census::default();
        let graph = || random_graph(seed + round, &census);
        let mut here = pipeline(graph());
        // A pipeline serves again and again.
        for _ in 0..2 {
            match here.run(1 << 20) {
                Tried::Done(messages) => {
                    done += 1;
                    let mut rows: Vec<u64> =
                        messages.iter().flat_map(|message| message.rows.clone()).collect();
                    rows.sort_unstable();
                    let (right, fault) = on_executors(&runtime, graph());
                    assert!(fault.is_none(), "seed {seed}, round {round}: {fault:?}");
                    assert_eq!(rows, right, "seed {seed}, round {round}");
                }
                Tried::Failed(fault) => {
                    failed += 1;
                    let (_, right) = on_executors(&runtime, graph());
                    let both = (&fault, &right);
                    let is_same = matches!(both, (Fault::Operator(_), Some(Fault::Operator(_))));
                    assert!(is_same, "seed {seed}, round {round}: {both:?}");
                }
                Tried::Unfinished => left += 1,
            }
        }
        census.wait_empty(&format!("seed {seed}, round {round}"));
    }
    assert!(done > 500 && failed > 20, "{done} done, {failed} failed, {left} left to executors");
}

/// Hands its rows to a pipeline within it, and what comes out of that on.
struct Around {
    inner: Pipeline<Rows>,
    /// Breaks off after so many messages that came out.
    most: u64,
    out: u64,
}

impl Around {
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        loop {
            let (message, flow) = self.inner.work(context)?;
            if let Some(message) = message {
                self.out += 1;
                context.send(message);
            }
            if flow == Flow::Again && self.out >= self.most {
                context.release(self.inner.stop());
                return Ok(Flow::Ready);
            }
            if flow != Flow::Again || context.should_yield() {
                return Ok(flow);
            }
        }
    }
}

impl Operator<Rows> for Around {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.out = 0;
        self.inner.feed(message);
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
}

/// The same operators around one another and one after another; broken off, the first of the same rows.
#[test]
fn a_pipeline_within_an_operator_answers_what_its_operators_answer() {
    let runtime = runtime(2);
    let seed = seed();
    let mut random = Random(seed);
    for round in 0..1_000 {
        let mut kinds = vec![Kind::Source(1 + random.below(8))];
        for _ in 0..1 + random.below(4) {
            kinds.push(if random.below(3) == 0 { Kind::Map } else { Kind::Explode(1 + random.below(4)) });
        }
        let (census, most) =
            (Census::default(), if random.below(2) == 0 { u64::MAX } else { 1 + random.below(4) });
        let about = format!("seed {seed}, round {round}: {kinds:?}, at most {most} messages a row");
        let nested = |builder: &mut GraphBuilder<Rows>, from: VertexNo, kinds: &[Kind]| {
            let mut inner = GraphBuilder::new();
            let entry = inner.entry();
            let last = chain(&mut inner, entry, kinds, &census);
            inner.output(last);
            let plan = Arc::new(inner.finish().unwrap().into_pipeline(true).unwrap());
            let around = builder.vertex("around", VertexOptions::default(), move |_| {
                Box::new(Around { inner: Pipeline::new(&plan), most, out: 0 }) as Box<_>
            });
            builder.connect(from, 0, around, 0, Route::Local);
            around
        };
        let whole = |is_nested: bool, is_twice: bool| {
            let mut builder = GraphBuilder::new();
            let source = Part::source(&mut builder, kinds[0].clone(), &census);
            let last = match (is_nested, is_twice) {
                (false, _) => chain(&mut builder, source, &kinds[1..], &census),
                (true, false) => nested(&mut builder, source, &kinds[1..]),
                (true, true) => {
                    // One within one within the operator.
                    let mut middle = GraphBuilder::new();
                    let entry = middle.entry();
                    let last = nested(&mut middle, entry, &kinds[1..]);
                    middle.output(last);
                    let plan = Arc::new(middle.finish().unwrap().into_pipeline(false).unwrap());
                    let around = builder.vertex("around", VertexOptions::default(), move |_| {
                        Box::new(Around { inner: Pipeline::new(&plan), most: u64::MAX, out: 0 }) as Box<_>
                    });
                    builder.connect(source, 0, around, 0, Route::Local);
                    around
                }
            };
            builder.output(last);
            builder.finish().unwrap()
        };
        let (right, _) = on_executors(&runtime, whole(false, false));
        for is_twice in [false, true] {
            let (rows, fault) = on_executors(&runtime, whole(true, is_twice));
            assert!(fault.is_none(), "{about}: {fault:?}");
            if most == u64::MAX {
                assert_eq!(rows, right, "{about}");
            } else {
                assert!(rows.len() <= right.len() && !rows.is_empty(), "{about}: {rows:?} of {right:?}");
            }
            if let Some(here) = rows_of(pipeline(whole(true, is_twice)).run(1 << 20)) {
                let mut here = here;
                here.sort_unstable();
                assert_eq!(here, rows, "{about}: as a pipeline in a pipeline");
            }
        }
        census.wait_empty(&about);
    }
}

fn random_line(random: &mut Random) -> Vec<Kind> {
    let mut kinds = vec![Kind::Source(random.below(12))];
    for _ in 0..random.below(5) {
        kinds.push(match random.below(16) {
            0..=4 => Kind::Map,
            5..=7 => Kind::Explode(random.below(5)),
            8..=10 => Kind::Limit(1 + random.below(6)),
            11..=13 => Kind::Sum,
            14 => Kind::Fail(random.below(9)),
            _ if random.below(2) == 0 => Kind::Panic,
            _ => Kind::Wait,
        });
    }
    kinds
}

/// The rows of a run that was done.
fn rows_of(tried: Tried<Rows>) -> Option<Vec<u64>> {
    let Tried::Done(messages) = tried else { return None };
    Some(messages.iter().flat_map(|message| message.rows.clone()).collect())
}

#[test]
fn a_line_here_answers_what_executors_answer() {
    let runtime = runtime(2);
    let seed = seed();
    let mut random = Random(seed);
    let (mut done, mut failed, mut left) = (0, 0, 0);
    for round in 0..2_000 {
        let kinds = random_line(&mut random);
        let census = Census::default();
        let bytes_max = if random.below(8) == 0 { 32 } else { 1 << 20 };
        let mut line = pipeline(graph(&kinds, &census));
        let before = rows_of(line.run(bytes_max));
        let tried = line.run(bytes_max);
        let options = || QueryOptions { bytes_max, ..QueryOptions::default() };
        let on_executors = || {
            let mut handle = runtime.submit(graph(&kinds, &census), options());
            let (mut rows, mut fault) = (Vec::new(), None);
            while let Some(next) = handle.next() {
                match next {
                    Ok(message) => rows.extend(message.rows),
                    Err(why) => fault = Some(why),
                }
            }
            (rows, fault)
        };
        let about = format!("seed {seed}, round {round}: {kinds:?}");
        match tried {
            Tried::Done(messages) => {
                done += 1;
                let rows: Vec<u64> = messages.iter().flat_map(|message| message.rows.clone()).collect();
                let (right, fault) = on_executors();
                assert!(fault.is_none(), "{about}: {fault:?}");
                assert_eq!(rows, right, "{about}");
                // A machine under load may have taken too long over one of the two.
                before.into_iter().for_each(|rows| assert_eq!(rows, right, "{about}: the first run"));
            }
            Tried::Failed(fault) => {
                failed += 1;
                let (_, right) = on_executors();
                assert!(
                    matches!((&fault, &right), (Fault::Operator(_), Some(Fault::Operator(_)))),
                    "{about}"
                );
            }
            Tried::Unfinished => left += 1,
        }
        census.wait_empty(&about);
    }
    assert!(done > 500 && failed > 20 && left > 20, "{done} done, {failed} failed, {left} left to executors");
}

#[test]
fn what_has_scopes_is_left_to_executors() {
    let census = Census::default();
    let mut builder: GraphBuilder<Rows> = GraphBuilder::new();
    let part = |kind: Kind| {
        let census = census.clone();
        move |_| Box::new(Part::new(kind.clone(), &census)) as Box<dyn Operator<Rows>>
    };
    let source = builder.vertex("source", VertexOptions::source(), part(Kind::Source(1)));
    let scope = builder.scope_with(dataflow::ScopeNo::ROOT, ScopeOptions::iteration());
    let inside = builder.vertex("inside", VertexOptions::ports(1).in_scope(scope), part(Kind::Map));
    let output = builder.vertex("output", VertexOptions::ports(1), part(Kind::Map));
    builder.connect(source, 0, inside, 0, Route::Local);
    builder.connect(inside, 0, output, 0, Route::Local);
    builder.output(output);
    assert!(builder.finish().unwrap().into_pipeline(false).is_none());
    assert_eq!(census.count(), 0, "no operator was made");
}

#[test]
fn what_must_finish_is_not_cut_short_by_a_limit() {
    for must_finish in [true, false] {
        let census = Census::default();
        let (mut builder, effects) = (GraphBuilder::new(), Arc::new(AtomicU64::new(0)));
        let part = |kind: Kind| {
            let census = census.clone();
            move |_| Box::new(Part::new(kind.clone(), &census)) as Box<dyn Operator<Rows>>
        };
        let source = builder.vertex("source", VertexOptions::source(), part(Kind::Source(10)));
        let options = VertexOptions { must_finish, ..VertexOptions::ports(1) };
        let made = effects.clone();
        let effect = builder.vertex("effect", options, move |_| Box::new(Effect(made.clone())));
        let limit = builder.vertex("limit", VertexOptions::ports(1), part(Kind::Limit(1)));
        builder.connect(source, 0, effect, 0, Route::Local);
        builder.connect(effect, 0, limit, 0, Route::Local);
        builder.output(limit);
        let mut line = pipeline(builder.finish().unwrap());
        let Tried::Done(messages) = line.run(1 << 20) else { panic!("not done") };
        assert_eq!(messages.iter().map(|message| message.rows.len()).sum::<usize>(), 1);
        let effects = effects.load(Ordering::Relaxed);
        assert!(if must_finish { effects == 10 } else { effects < 10 }, "{must_finish}: {effects}");
    }
}

/// Counts the rows that come to it.
struct Effect(Arc<AtomicU64>);

impl Operator<Rows> for Effect {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.0.fetch_add(message.rows.len() as u64, Ordering::Relaxed);
        context.send(message);
        Ok(Flow::Ready)
    }
}
