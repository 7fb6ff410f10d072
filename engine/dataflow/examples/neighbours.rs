//! The repeat subquery of the paper's Example 1, with the policies of its Example 3: 20 people within five hops who work at a company.
//!
//! ```text
//! g.V(123).repeat(out('knows')).until(out('worksAt').is(eq('XYZ')).or().loops().is(gt(5))).limit(20)
//!
//!            ┌ loop scope: an instance an iteration ─┐
//!  Start ────┤ v2 Knows ──► v3 WorksAt ──────────────┼──► Limit
//!            │     ▲             │                   │
//!            │     └─────────────┘ to the next one   │
//!            └───────────────────────────────────────┘
//! ```
//!
//! In the paper:
//!
//! ```text
//! bool InterSI_BFS:InterSI_Comparator(t_1:ScopeTag, t_2:ScopeTag) {
//!   return LexicalOrderCompare(t_1, t_2);
//! }
//! bool IntraSI_DFS:IntraSI_Comparator(v_1:VertexID, v_2:VertexID) {
//!   return v_1 < v_2;
//! }
//! ```
//!
//! Both are built in (`InterPolicy::Bfs`, `IntraPolicy::Dfs`); they are written out here as the user-defined comparators they could also
//! be. Earlier iterations first finds near colleagues without exploring the far neighbourhood; downstream first tests a neighbour before
//! it fetches the next. Every answer is checked against a search that just calls itself.
//!
//! `cargo run --release -p tanglewood-dataflow --example neighbours`

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tanglewood_dataflow::{
    Context, Flow, GraphBuilder, InterPolicy, IntraPolicy, Member, Message, Operator, Outcome, QueryOptions,
    Route, Runtime, RuntimeOptions, ScopeNo, ScopeOptions, Tag, VertexOptions,
};
use world::clock::monotonic_ns;

const PEOPLE: u64 = 200_000;
const HOPS: u32 = 5;
const LIMIT: usize = 20;

/// The data: plain functions.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 20
}
fn knows(person: u64) -> impl Iterator<Item = u64> {
    (0..30).map(move |place| mix(person * 31 + place) % PEOPLE)
}
fn works_at_xyz(person: u64) -> bool {
    mix(person + 77).is_multiple_of(40)
}

/// Who is within so many hops, and how far.
fn distances() -> BTreeMap<u64, u32> {
    let (mut distances, mut queue) = (BTreeMap::from([(123, 0)]), VecDeque::from([123]));
    while let Some(person) = queue.pop_front() {
        let hops = distances[&person];
        for other in knows(person).filter(|_| hops < 3) {
            distances.entry(other).or_insert_with(|| {
                queue.push_back(other);
                hops + 1
            });
        }
    }
    distances
}

struct People(Vec<u64>);

impl Message for People {
    fn rows(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self) -> usize {
        self.0.len() * 8
    }
}

struct Start;

impl Operator<People> for Start {
    fn receive(&mut self, _: usize, _: People, _: &mut Context<'_, People>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, People>) -> Outcome {
        context.send(People(vec![123]));
        Ok(Flow::Ready)
    }
}

/// `out('knows')`, one person a message.
struct Knows(Arc<AtomicU64>);

impl Operator<People> for Knows {
    fn receive(&mut self, _: usize, message: People, context: &mut Context<'_, People>) -> Outcome {
        for person in message.0 {
            self.0.fetch_add(1, Relaxed);
            context.send(People(knows(person).collect()));
        }
        Ok(Flow::Ready)
    }
}

/// `until`: whoever works there leaves the loop, others go round again.
struct WorksAt;

impl Operator<People> for WorksAt {
    fn receive(&mut self, _: usize, message: People, context: &mut Context<'_, People>) -> Outcome {
        let (found, others): (Vec<u64>, Vec<u64>) = message.0.into_iter().partition(|one| works_at_xyz(*one));
        if !found.is_empty() {
            context.send(People(found));
        }
        // The tag's number is the iteration.
        if context.tag().number() < HOPS {
            others.into_iter().for_each(|person| context.send_to(1, People(vec![person])));
        }
        Ok(Flow::Ready)
    }
}

struct Limit(usize);

impl Operator<People> for Limit {
    fn receive(&mut self, _: usize, mut message: People, context: &mut Context<'_, People>) -> Outcome {
        message.0.truncate(self.0);
        self.0 -= message.0.len();
        context.send(message);
        if self.0 == 0 {
            context.close_inputs();
        }
        Ok(Flow::Ready)
    }
}

/// The paper's `InterSI_BFS`.
fn inter_bfs(a: Tag, b: Tag) -> std::cmp::Ordering {
    a.cmp(&b)
}

/// The paper's `IntraSI_DFS`: further downstream first. Vertices here are made in the order of the stream.
fn intra_dfs(a: Member, b: Member) -> std::cmp::Ordering {
    let number = |member| match member {
        Member::Vertex(vertex) => vertex.index(),
        Member::Scope(_) => usize::MAX,
    };
    number(b).cmp(&number(a))
}

fn main() {
    let runtime = Runtime::start(RuntimeOptions { executors: 1, ..RuntimeOptions::default() }).unwrap();
    let distances = distances();
    let policies = [
        ("FIFO between iterations", InterPolicy::Fifo, IntraPolicy::Fifo),
        ("later iterations first", InterPolicy::Dfs, IntraPolicy::Dfs),
        ("earlier first, built in", InterPolicy::Bfs, IntraPolicy::Dfs),
        (
            "earlier first, as in Example 3",
            InterPolicy::By(Arc::new(inter_bfs)),
            IntraPolicy::By(Arc::new(intra_dfs)),
        ),
    ];
    for (name, inter, intra) in policies {
        let expanded = Arc::new(AtomicU64::new(0));
        let mut graph = GraphBuilder::new();
        let options = ScopeOptions { inter, intra, ..ScopeOptions::iteration().named("repeat") };
        let scope = graph.scope_with(ScopeNo::ROOT, options);
        let inside = || VertexOptions::default().in_scope(scope);
        let start = graph.vertex("Start", VertexOptions::source(), |_| Box::new(Start));
        let counter = expanded.clone();
        let knows = graph.vertex("Knows", inside(), move |_| Box::new(Knows(counter.clone())));
        let works_at = graph.vertex("WorksAt", inside(), |_| Box::new(WorksAt));
        let limit = graph.vertex("Limit", VertexOptions::default(), |_| Box::new(Limit(LIMIT)));
        graph.connect(start, 0, knows, 0, Route::Local);
        graph.connect(knows, 0, works_at, 0, Route::Local);
        graph.connect_back(works_at, 1, knows, 0);
        graph.connect(works_at, 0, limit, 0, Route::Gather);
        graph.output(limit);

        let start_ns = monotonic_ns();
        let mut handle = runtime.submit(graph.finish().unwrap(), QueryOptions::default());
        let mut answer = Vec::new();
        while let Some(people) = handle.next() {
            answer.extend(people.unwrap().0);
        }
        let took_ms = (monotonic_ns() - start_ns) as f64 / 1e6;
        assert!(answer.len() == LIMIT && answer.iter().all(|person| works_at_xyz(*person)));
        let hops: Vec<u32> =
            answer.iter().map(|person| distances.get(person).copied().unwrap_or(4)).collect();
        let expanded = expanded.load(Relaxed);
        println!("{name:<31} {took_ms:6.2} ms, {expanded:>5} people expanded, hops of the answers {hops:?}");
    }
}
