//! Scope instances: correlated subqueries, nested, with operators that are never created, ports that wait, and ingresses that forget.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_dataflow as dataflow;

mod common;
use common::*;
use dataflow::{
    Context, Flow, GraphBuilder, GraphError, Operator, Outcome, QueryOptions, Route, ScopeNo, Tag, VertexNo,
    VertexOptions,
};

/// The subquery: for each row, the rows it explodes to, the even ones, each through the next level; their sum is added to the row.
fn twin(row: u64, levels: usize) -> u64 {
    if levels == 0 {
        return row;
    }
    let inner = explode(row).into_iter().filter(even).map(|row| twin(row, levels - 1));
    mix(row.wrapping_add(inner.fold(0, u64::wrapping_add)))
}

fn explode(row: u64) -> Vec<u64> {
    (0..row % 4).map(|step| mix(row + step)).collect()
}

fn even(row: &u64) -> bool {
    row.is_multiple_of(2)
}

type Simple = Box<dyn FnMut(u64) -> Vec<u64> + Send>;

/// Row by row.
struct Each(Simple, Census);

impl Operator<Rows> for Each {
    fn receive(&mut self, _port: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        let rows: Vec<u64> = message.rows.iter().flat_map(|row| (self.0)(*row)).collect();
        if !rows.is_empty() {
            context.send(Rows::new(rows, &self.1));
        }
        Ok(Flow::Ready)
    }
}

struct Source {
    next: u64,
    count: u64,
    messages: Census,
}

impl Operator<Rows> for Source {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!()
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while self.next < self.count {
            let end = (self.next + 7).min(self.count);
            context.send(Rows::new((self.next..end).map(mix).collect(), &self.messages));
            self.next = end;
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

/// Ingress: one instance a row; several are open at once and end in any order.
struct Open {
    random: Random,
    forgets: bool,
    open: Vec<(Tag, u64)>,
    messages: Census,
    _ticket: Ticket,
}

impl Operator<Rows> for Open {
    fn receive(&mut self, _port: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        for row in &message.rows {
            let tag = context.open_instance();
            context.send_tagged(0, tag, Rows::new(vec![*row], &self.messages));
            self.open.push((tag, *row));
        }
        self.resume(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while !self.open.is_empty() {
            let (tag, row) = self.open.swap_remove(self.random.below(self.open.len() as u64) as usize);
            context.send_tagged(1, tag, Rows::new(vec![row], &self.messages));
            if !(self.forgets && self.random.one_in(3)) {
                context.end_instance(1, tag);
                context.end_instance(0, tag);
            }
            if self.random.one_in(3) || context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
    fn on_instance_end(&mut self, tag: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        assert_eq!((tag, self.open.len()), (context.tag(), 0));
        Ok(Flow::Ready)
    }
}

/// Inside a scope: one row with the sum of all, also for none.
struct Sum(u64, Census, #[allow(dead_code)] Ticket);

impl Operator<Rows> for Sum {
    fn receive(&mut self, _port: usize, message: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        self.0 = message.rows.iter().fold(self.0, |sum, row| sum.wrapping_add(*row));
        Ok(Flow::Ready)
    }
    fn on_instance_end(&mut self, _tag: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(Rows::new(vec![self.0], &self.1));
        Ok(Flow::Ready)
    }
}

/// Egress: the row on port 0, its one sum on port 1.
struct Close {
    row: Option<u64>,
    sum: Option<u64>,
    tag: Option<Tag>,
    messages: Census,
    _ticket: Ticket,
}

impl Operator<Rows> for Close {
    fn receive(&mut self, port: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        assert_eq!(
            *self.tag.get_or_insert(context.tag()),
            context.tag(),
            "an operator serves one scope instance"
        );
        assert_eq!(message.rows.len(), 1);
        let place = if port == 0 { &mut self.row } else { &mut self.sum };
        assert!(place.replace(message.rows[0]).is_none(), "one row and one sum an instance");
        assert!(port == 0 || self.row.is_some(), "port 1 waits for the end of port 0");
        Ok(Flow::Ready)
    }
    fn on_instance_end(&mut self, _tag: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        let (row, sum) = (self.row.expect("the row came"), self.sum.expect("the sum came, also for nothing"));
        context.send(Rows::new(vec![mix(row.wrapping_add(sum))], &self.messages));
        Ok(Flow::Ready)
    }
}

struct Build {
    graph: GraphBuilder<Rows>,
    operators: Census,
    messages: Census,
    forgets: bool,
    seed: u64,
}

impl Build {
    fn each(
        &mut self,
        name: &str,
        scope: ScopeNo,
        make: impl Fn() -> Simple + Send + Sync + 'static,
    ) -> VertexNo {
        let messages = self.messages.clone();
        let options = VertexOptions::default().in_scope(scope);
        self.graph.vertex(name, options, move |_| Box::new(Each(make(), messages.clone())))
    }

    /// A subquery inside `scope`: its ingress and its egress.
    fn subquery(&mut self, scope: ScopeNo, levels: usize) -> (VertexNo, VertexNo) {
        let inner = self.graph.scope(scope);
        let (operators, messages, forgets) = (self.operators.clone(), self.messages.clone(), self.forgets);
        let seed = self.seed ^ levels as u64;
        let open = self.graph.vertex("Open", VertexOptions::default().in_scope(scope), move |executor| {
            Box::new(Open {
                random: Random(seed ^ executor as u64),
                forgets,
                open: Vec::new(),
                messages: messages.clone(),
                _ticket: operators.enter(),
            })
        });
        let exploded = self.each("Explode", inner, || Box::new(explode));
        let mut last =
            self.each("Filter", inner, || Box::new(|row| Some(row).filter(even).into_iter().collect()));
        self.graph.connect(exploded, 0, last, 0, Route::Local);
        if levels > 1 {
            let (entry, exit) = self.subquery(inner, levels - 1);
            self.graph.connect(last, 0, entry, 0, Route::Local);
            last = exit;
        }
        let (operators, messages) = (self.operators.clone(), self.messages.clone());
        let options = VertexOptions { create_if_empty: true, ..VertexOptions::default() }.in_scope(inner);
        let sum =
            self.graph.vertex("Sum", options, move |_| Box::new(Sum(0, messages.clone(), operators.enter())));
        self.graph.connect(last, 0, sum, 0, Route::Local);
        let (operators, messages) = (self.operators.clone(), self.messages.clone());
        let options = VertexOptions { ports: 2, port_order: 1, ..VertexOptions::default() }.in_scope(inner);
        let close = self.graph.vertex("Close", options, move |_| {
            Box::new(Close {
                row: None,
                sum: None,
                tag: None,
                messages: messages.clone(),
                _ticket: operators.enter(),
            })
        });
        self.graph.connect(open, 0, close, 0, Route::Local);
        self.graph.connect(open, 1, exploded, 0, Route::Local);
        self.graph.connect(sum, 0, close, 1, Route::Local);
        (open, close)
    }
}

fn run(executors: usize, rows: u64, levels: usize, forgets: bool, seed: u64) {
    let runtime = runtime(executors);
    let (operators, messages) = (Census::default(), Census::default());
    let mut build = Build {
        graph: GraphBuilder::new(),
        operators: operators.clone(),
        messages: messages.clone(),
        forgets,
        seed,
    };
    let census = messages.clone();
    let source = build.graph.vertex("Source", VertexOptions::source(), move |_| {
        Box::new(Source { next: 0, count: rows, messages: census.clone() })
    });
    let (open, close) = build.subquery(ScopeNo::ROOT, levels);
    let sink = build.each("Sink", ScopeNo::ROOT, || Box::new(|row| vec![row]));
    build.graph.connect(source, 0, open, 0, Route::Spread);
    build.graph.connect(close, 0, sink, 0, Route::Gather);
    build.graph.output(sink);
    let mut handle = runtime.submit(build.graph.finish().unwrap(), QueryOptions::default());
    let mut wanted: Vec<u64> = (0..rows).map(|row| twin(mix(row), levels)).collect();
    wanted.sort_unstable();
    assert_eq!(
        drain(&mut handle),
        wanted,
        "seed {seed} executors {executors} levels {levels} forgets {forgets}"
    );
    let instances = |name: &str| {
        handle.profile().iter().filter(|vertex| vertex.name == name).map(|v| v.instances).sum::<u64>()
    };
    assert!(instances("Close") >= rows, "one egress an instance");
    operators.wait_empty("operators");
    messages.wait_empty("messages");
}

#[test]
fn correlated_subqueries_equal_their_twin() {
    let seed = seed();
    println!("TANGLEWOOD_SEED={seed}");
    for round in 0..10 {
        for executors in [1, 2, 4] {
            for levels in 1..=3 {
                run(executors, 40 * round, levels, false, seed ^ round);
            }
        }
    }
}

#[test]
fn instances_that_are_never_ended_end_with_the_input() {
    let seed = seed();
    println!("TANGLEWOOD_SEED={seed}");
    for executors in [1, 2] {
        for levels in 1..=3 {
            run(executors, 100, levels, true, seed);
        }
    }
}

#[test]
fn wrong_borders_are_refused() {
    let pass = |_| -> Box<dyn Operator<Rows>> { unreachable!() };
    let mut graph = GraphBuilder::<Rows>::new();
    let outer = graph.scope(ScopeNo::ROOT);
    let inner = graph.scope(outer);
    let source = graph.vertex("source", VertexOptions::source(), pass);
    let deep = graph.vertex("deep", VertexOptions::default().in_scope(inner), pass);
    graph.connect(source, 0, deep, 0, Route::Local);
    graph.output(source);
    assert_eq!(graph.finish().err(), Some(GraphError::Border("source".into(), "deep".into())));

    let mut graph = GraphBuilder::<Rows>::new();
    let scope = graph.scope(ScopeNo::ROOT);
    let source = graph.vertex("source", VertexOptions::source(), pass);
    let inside = graph.vertex("inside", VertexOptions::default().in_scope(scope), pass);
    graph.connect(source, 1, inside, 0, Route::Spread);
    graph.output(source);
    assert_eq!(graph.finish().err(), Some(GraphError::Border("source".into(), "inside".into())));

    let mut graph = GraphBuilder::<Rows>::new();
    let (a, b) = (
        graph.vertex("a", VertexOptions::default(), pass),
        graph.vertex("b", VertexOptions::default(), pass),
    );
    graph.connect(a, 0, b, 0, Route::Local);
    graph.connect(b, 1, a, 0, Route::Local);
    graph.output(b);
    assert!(matches!(graph.finish().err(), Some(GraphError::Cycle(_))));
}
