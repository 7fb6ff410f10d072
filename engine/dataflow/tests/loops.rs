//! Loops with very many iterations alive at once, and loops that use all executors.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::{
    Context, Flow, GraphBuilder, Operator, Outcome, QueryOptions, Route, ScopeNo, ScopeOptions, VertexOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Sends one row; has more to send, for all anybody knows, until the row has gone round often enough.
struct Source {
    sent: bool,
    rounds: u64,
    gone: Arc<AtomicU64>,
    messages: Census,
}

impl Operator<Rows> for Source {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!()
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        if !std::mem::replace(&mut self.sent, true) {
            context.send(Rows::new(vec![1], &self.messages));
        }
        Ok(if self.gone.load(SeqCst) < self.rounds { Flow::Waiting } else { Flow::Ready })
    }
}

/// Sends the row round again, and out at last.
struct Round {
    rounds: u64,
    gone: Arc<AtomicU64>,
    messages: Census,
}

impl Operator<Rows> for Round {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.gone.fetch_add(1, SeqCst);
        let again = u64::from(context.tag().number()) < self.rounds;
        context.send_to(usize::from(again), Rows::new(message.rows.clone(), &self.messages));
        Ok(Flow::Ready)
    }
}

/// So many iterations end one after the other, each at the end of the one before it, once the first is told that nothing more enters.
#[test]
fn a_long_chain_of_iterations_ends_without_a_deep_stack() {
    for (wide, rounds) in [(false, 200_000), (true, 5_000)] {
        let runtime = runtime(2);
        let (gone, messages) = (Arc::new(AtomicU64::new(0)), Census::default());
        let mut graph = GraphBuilder::new();
        let scope = graph.scope_with(ScopeNo::ROOT, ScopeOptions { wide, ..ScopeOptions::iteration() });
        let (counter, census) = (gone.clone(), messages.clone());
        let source = graph.vertex("Source", VertexOptions::source(), move |_| {
            Box::new(Source { sent: false, rounds, gone: counter.clone(), messages: census.clone() })
        });
        let (counter, census) = (gone.clone(), messages.clone());
        let round = graph.vertex("Round", VertexOptions::default().in_scope(scope), move |_| {
            Box::new(Round { rounds, gone: counter.clone(), messages: census.clone() })
        });
        let census = messages.clone();
        let sink = graph.vertex("Sink", VertexOptions::default(), move |_| Box::new(Sink(census.clone())));
        graph.connect(source, 0, round, 0, Route::Local);
        graph.connect(round, 0, sink, 0, Route::Gather);
        graph.connect_back(round, 1, round, 0);
        graph.output(sink);
        let mut handle = runtime.submit(graph.finish().unwrap(), QueryOptions::default());
        assert_eq!(drain(&mut handle), [1]);
        let scope = &handle.progress().scopes[1];
        assert_eq!((scope.opened, scope.ended, scope.live), (rounds, rounds, 0));
        drop(handle);
        messages.wait_empty("messages");
    }
}

struct Sink(Census);

impl Operator<Rows> for Sink {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(Rows::new(message.rows.clone(), &self.0));
        Ok(Flow::Ready)
    }
}

/// A tree of rows, three children each, nine rounds deep; each row says where it was met.
struct Grow(Arc<[AtomicU64; 2]>, Census);

impl Operator<Rows> for Grow {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.0[context.executor()].fetch_add(message.rows.len() as u64, SeqCst);
        context.send(Rows::new(message.rows.clone(), &self.1));
        if context.tag().number() < 9 {
            let children = message.rows.iter().flat_map(|row| (1..=3).map(move |child| row * 4 + child));
            context.send_to(1, Rows::new(children.collect(), &self.1));
        }
        Ok(Flow::Ready)
    }
}

struct Once(Census);

impl Operator<Rows> for Once {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!()
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(Rows::new(vec![1], &self.0));
        Ok(Flow::Ready)
    }
}

#[test]
fn one_large_wide_loop_uses_all_executors() {
    let runtime = runtime(2);
    let (met, messages) = (Arc::new([AtomicU64::new(0), AtomicU64::new(0)]), Census::default());
    let mut graph = GraphBuilder::new();
    let scope = graph.scope_with(ScopeNo::ROOT, ScopeOptions::iteration().wide());
    let census = messages.clone();
    let once = graph.vertex("Once", VertexOptions::source(), move |_| Box::new(Once(census.clone())));
    let (where_met, census) = (met.clone(), messages.clone());
    let grow = graph.vertex("Grow", VertexOptions::default().in_scope(scope), move |_| {
        Box::new(Grow(where_met.clone(), census.clone()))
    });
    let census = messages.clone();
    let sink = graph.vertex("Sink", VertexOptions::default(), move |_| Box::new(Sink(census.clone())));
    let census = messages.clone();
    let split = move |message: Rows, parts: usize| {
        let part = |at| message.rows.iter().copied().filter(|row| *row as usize % parts == at).collect();
        (0..parts).map(|at| (at, Rows::new(part(at), &census))).collect()
    };
    graph.connect(once, 0, grow, 0, Route::Local);
    graph.connect(grow, 0, sink, 0, Route::Gather);
    graph.connect_back_by(grow, 1, grow, 0, Route::Partition(Arc::new(split)));
    graph.output(sink);
    let mut handle = runtime.submit(graph.finish().unwrap(), QueryOptions::default());
    let rows = drain(&mut handle);
    assert_eq!(rows.len(), (0..9).map(|round| 3_usize.pow(round)).sum::<usize>());
    let met = met.each_ref().map(|met| met.load(SeqCst));
    assert!(met.iter().all(|met| *met > 2_000), "{met:?}: both took part");
    drop(handle);
    messages.wait_empty("messages");
}
