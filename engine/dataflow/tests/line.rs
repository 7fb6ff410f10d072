//! Lines on the thread that asks against the same lines on executors: the same rows or the same end, or nothing at all; and nothing is
//! left behind.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::{
    Context, Fault, Flow, Graph, GraphBuilder, Operator, Outcome, QueryOptions, Route, Tried, VertexNo,
    VertexOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an operator of a line does.
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
    fn send(&self, rows: Vec<u64>, context: &mut Context<'_, Rows>) {
        context.send(Rows::new(rows, &self.census));
    }
}

impl Operator<Rows> for Part {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
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
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Rows>) -> Outcome {
        if matches!(self.kind, Kind::Sum) {
            self.send(vec![self.sum], context);
        }
        Ok(Flow::Ready)
    }
}

fn graph(kinds: &[Kind], census: &Census) -> Graph<Rows> {
    let mut builder = GraphBuilder::new();
    let mut before: Option<VertexNo> = None;
    for kind in kinds {
        let options = match kind {
            Kind::Source(_) => VertexOptions::source(),
            Kind::Sum => VertexOptions { create_if_empty: true, ..VertexOptions::default() },
            _ => VertexOptions::default(),
        };
        let (own, census) = (kind.clone(), census.clone());
        let vertex = builder.vertex(format!("{kind:?}"), options, move |_| {
            Box::new(Part::new(own.clone(), &census)) as Box<_>
        });
        if let Some(before) = before.replace(vertex) {
            builder.connect(before, 0, vertex, 0, Route::Local);
        }
    }
    builder.output(before.unwrap());
    builder.finish().unwrap()
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
        let mut line = graph(&kinds, &census).into_line().expect("a line");
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
fn what_is_no_line_is_left_alone() {
    let census = Census::default();
    let mut builder: GraphBuilder<Rows> = GraphBuilder::new();
    let part = |kind: Kind| {
        let census = census.clone();
        move |_| Box::new(Part::new(kind.clone(), &census)) as Box<dyn Operator<Rows>>
    };
    let one = builder.vertex("one", VertexOptions::source(), part(Kind::Source(1)));
    let two = builder.vertex("two", VertexOptions::source(), part(Kind::Source(1)));
    let both = builder.vertex("both", VertexOptions::ports(2), part(Kind::Map));
    builder.connect(one, 0, both, 0, Route::Local);
    builder.connect(two, 0, both, 1, Route::Local);
    builder.output(both);
    assert!(builder.finish().unwrap().into_line().is_none());
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
        let mut line = builder.finish().unwrap().into_line().expect("a line");
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
