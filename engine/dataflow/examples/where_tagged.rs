//! The where subquery of the paper's Example 1, with the filter of its Example 2: users who tweeted with a tag, 20 of them.
//!
//! ```text
//! g.V().hasLabel('user').where(__.in('tweets').out('hasTag').is(eq('#ABC'))).limit(20)
//!
//!            ┌ scope: an instance a user ──────────────┐
//!  Users ────┤ v5 Tweets ──► v6 Tags ──► v7 Filter ────┼──► Limit
//!            └─────────────────────────────────────────┘
//! ```
//!
//! In the paper:
//!
//! ```text
//! class V7Filter:Vertex {
//!   void ReceiveMessage(msg:Message, e:Edge, t:ScopeTag) {
//!     if (msg.GetTag() == "#ABC") {
//!       SendMessage(msg.getPersonId(), out_e, t);
//!       NotifyCompletion(t);}
//!   }
//!   void OnCompletion(t:Tag) { }
//! }
//! ```
//!
//! Here that is [`Filter`]: `NotifyCompletion` in an egress is `finish_instance`. Run it and see how many tweets were read with it and
//! without, and how little users who tweet much stand in the way of others. Every answer is checked.
//!
//! `cargo run --release -p tanglewood-dataflow --example where_tagged`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tanglewood_dataflow::{
    Context, Flow, GraphBuilder, InterPolicy, IntraPolicy, Message, Operator, Outcome, QueryOptions, Route,
    Runtime, RuntimeOptions, ScopeNo, ScopeOptions, VertexOptions,
};
use world::clock::monotonic_ns;

const USERS: u64 = 500;
const LIMIT: usize = 20;
const ABC: u64 = 0;

/// The data: plain functions. Every tenth user never tweets with the tag, others once in 400 tweets; every hundredth tweets very much.
fn tweets(user: u64) -> u64 {
    if user.is_multiple_of(100) { 200_000 } else { 20_000 }
}
fn tag(user: u64, tweet: u64) -> u64 {
    let seldom = (user * 7919 + tweet * 104_729) % 400;
    if user.is_multiple_of(10) { seldom + 1 } else { seldom }
}
fn tweets_with_tag(user: u64) -> bool {
    (0..tweets(user)).any(|tweet| tag(user, tweet) == ABC)
}

/// Rows of a user and a number: nothing, a tweet, or a tag.
struct Rows(Vec<(u64, u64)>);

impl Message for Rows {
    fn rows(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self) -> usize {
        self.0.len() * 16
    }
}

/// Ingress: a scope instance for each user.
struct Users(u64);

impl Operator<Rows> for Users {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while self.0 < USERS {
            let tag = context.open_instance();
            context.send_tagged(0, tag, Rows(vec![(self.0, 0)]));
            context.end_instance(0, tag);
            self.0 += 1;
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

/// `in('tweets')`: a hundred tweets at a time, and nothing that is not asked for.
#[derive(Default)]
struct Tweets(u64, u64);

impl Operator<Rows> for Tweets {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        *self = Tweets(message.0[0].0, 0);
        self.resume(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        let Tweets(user, next) = *self;
        self.1 = (next + 100).min(tweets(user));
        context.send(Rows((next..self.1).map(|tweet| (user, tweet)).collect()));
        // One piece a call: the policies decide who comes next.
        Ok(if self.1 < tweets(user) { Flow::Again } else { Flow::Ready })
    }
    fn recycle(&mut self) -> bool {
        true
    }
}

/// `out('hasTag')`.
struct Tags(Arc<AtomicU64>);

impl Operator<Rows> for Tags {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.0.fetch_add(message.0.len() as u64, Relaxed);
        context.send(Rows(message.0.into_iter().map(|(user, tweet)| (user, tag(user, tweet))).collect()));
        Ok(Flow::Ready)
    }
    fn recycle(&mut self) -> bool {
        true
    }
}

/// The paper's `V7Filter`. `cancels` is false only to show what it is worth.
struct Filter {
    cancels: bool,
    found: bool,
}

impl Operator<Rows> for Filter {
    fn receive(&mut self, _port: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if let Some((user, tag)) = message.0.into_iter().find(|(_, tag)| *tag == ABC)
            && !self.found
        {
            self.found = true;
            context.send(Rows(vec![(user, tag)]));
            if self.cancels {
                context.finish_instance();
            }
        }
        Ok(Flow::Ready)
    }
    fn recycle(&mut self) -> bool {
        self.found = false;
        true
    }
}

struct Limit(usize);

impl Operator<Rows> for Limit {
    fn receive(&mut self, _: usize, message: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if self.0 > 0 {
            self.0 -= 1;
            context.send(message);
        }
        if self.0 == 0 {
            context.close_inputs();
        }
        Ok(Flow::Ready)
    }
}

/// Runs the query; returns the milliseconds it took and the tweets that were read.
fn run(runtime: &Runtime<Rows>, limit: usize, inter: InterPolicy, cancels: bool) -> (f64, u64) {
    let read = Arc::new(AtomicU64::new(0));
    let mut graph = GraphBuilder::new();
    // Upstream first: users enter as long as there is room for an instance, so one with many tweets keeps nobody out.
    graph.policy(IntraPolicy::Bfs);
    let options = ScopeOptions { inter, instances_max: Some(64), ..ScopeOptions::branch().named("where") };
    let scope = graph.scope_with(ScopeNo::ROOT, options);
    let inside = || VertexOptions::default().in_scope(scope);
    let users = graph.vertex("Users", VertexOptions::source(), |_| Box::new(Users(0)));
    let tweets = graph.vertex("Tweets", inside(), |_| Box::<Tweets>::default());
    let counter = read.clone();
    let tags = graph.vertex("Tags", inside(), move |_| Box::new(Tags(counter.clone())));
    let filter = graph.vertex("Filter", inside(), move |_| Box::new(Filter { cancels, found: false }));
    let last = graph.vertex("Limit", VertexOptions::default(), move |_| Box::new(Limit(limit)));
    graph.connect(users, 0, tweets, 0, Route::Local);
    graph.connect(tweets, 0, tags, 0, Route::Local);
    graph.connect(tags, 0, filter, 0, Route::Local);
    graph.connect(filter, 0, last, 0, Route::Gather);
    graph.output(last);

    let start_ns = monotonic_ns();
    let mut handle = runtime.submit(graph.finish().unwrap(), QueryOptions::default());
    let mut answer = Vec::new();
    while let Some(rows) = handle.next() {
        answer.extend(rows.unwrap().0.into_iter().map(|(user, _)| user));
    }
    let took_ms = (monotonic_ns() - start_ns) as f64 / 1e6;
    answer.sort_unstable();
    answer.dedup();
    let all = (0..USERS).filter(|user| tweets_with_tag(*user)).count();
    assert_eq!(answer.len(), limit.min(all), "as many users as there are, each once");
    assert!(answer.into_iter().all(tweets_with_tag), "each of them tweeted with the tag");
    (took_ms, read.load(Relaxed))
}

fn main() {
    let runtime = Runtime::start(RuntimeOptions { executors: 1, ..RuntimeOptions::default() }).unwrap();
    for (limit, what) in [(LIMIT, "20 users"), (usize::MAX, "all users")] {
        for (cancels, how) in [(false, "without early cancellation"), (true, "with it")] {
            for inter in [InterPolicy::Fifo, InterPolicy::Dfs] {
                let (took_ms, read) = run(&runtime, limit, inter.clone(), cancels);
                println!("{what}, {how}, {inter:?}: {took_ms:8.1} ms, {read:>8} tweets read");
            }
        }
    }
}
