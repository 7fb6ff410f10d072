//! Back-pressure cannot lock up: every schedule of small graphs with mailboxes of one message, on two executors, gone through.
//!
//! The model keeps what matters for that: how many messages wait at each port on each executor, which ports wait for another port's end,
//! which have no bound (`Vertex::elastic`), and the rule of `turn`: an operator runs only if none of its outputs is full. What a call
//! sends, where to, and who runs next is anybody's choice. In every reachable state either all is done or somebody may run.
//!
//! That ports with no bound are needed, and where, is shown by taking the bound-lessness away: then the search finds a state where all
//! wait for all.

use std::collections::HashSet;

const EXECUTORS: usize = 2;
/// Messages that fit into a mailbox. A call may send one more than fits.
const CAPACITY: u8 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    Local,
    Gather,
    /// To one that has room, or here.
    Spread,
    /// To anyone: the rows decide.
    Partition,
}

#[derive(Clone, Copy)]
struct Edge {
    from: usize,
    to: usize,
    port: usize,
    route: Route,
    back: bool,
}

struct Graph {
    name: &'static str,
    /// Ports by vertex; a source has none. The last one's output is the client's.
    ports: &'static [usize],
    /// Of this vertex, port 1 waits for the end of port 0.
    gated: Option<usize>,
    edges: &'static [Edge],
    /// Ports without a bound, as `wiring` marks them.
    elastic: &'static [(usize, usize)],
    /// Messages a source sends on each of its outputs, and messages that may go back.
    messages: u8,
    rounds: u8,
}

const fn edge(from: usize, to: usize, port: usize, route: Route) -> Edge {
    Edge { from, to, port, route, back: false }
}

const GRAPHS: [Graph; 4] = [
    Graph {
        name: "line",
        ports: &[0, 1, 1],
        gated: None,
        edges: &[edge(0, 1, 0, Route::Spread), edge(1, 2, 0, Route::Partition)],
        elastic: &[],
        messages: 4,
        rounds: 0,
    },
    Graph {
        name: "join of two sources",
        ports: &[0, 0, 2, 1],
        gated: Some(2),
        edges: &[
            edge(0, 2, 0, Route::Partition),
            edge(1, 2, 1, Route::Partition),
            edge(2, 3, 0, Route::Local),
        ],
        elastic: &[],
        messages: 3,
        rounds: 0,
    },
    Graph {
        name: "join of a source with itself",
        ports: &[0, 2, 1],
        gated: Some(1),
        edges: &[
            edge(0, 1, 0, Route::Partition),
            edge(0, 1, 1, Route::Partition),
            edge(1, 2, 0, Route::Gather),
        ],
        elastic: &[(1, 1)],
        messages: 3,
        rounds: 0,
    },
    Graph {
        name: "wide loop",
        ports: &[0, 1, 1, 1],
        gated: None,
        edges: &[
            edge(0, 1, 0, Route::Partition),
            edge(1, 2, 0, Route::Spread),
            Edge { from: 2, to: 1, port: 0, route: Route::Partition, back: true },
            edge(2, 3, 0, Route::Gather),
        ],
        elastic: &[(1, 0)],
        messages: 3,
        rounds: 4,
    },
];

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    /// By vertex, port and executor.
    waiting: Vec<Vec<[u8; EXECUTORS]>>,
    /// What each source has still to send.
    sources: Vec<u8>,
    rounds: u8,
    /// Messages that wait for the client.
    output: u8,
}

impl Graph {
    fn start(&self) -> State {
        let waiting = self.ports.iter().map(|ports| vec![[0; EXECUTORS]; *ports]).collect();
        let sources = self.ports.iter().map(|ports| if *ports == 0 { self.messages } else { 0 }).collect();
        State { waiting, sources, rounds: self.rounds, output: 0 }
    }

    fn is_full(&self, state: &State, edge: &Edge, from: usize) -> bool {
        if self.elastic.contains(&(edge.to, edge.port)) {
            return false;
        }
        let full = |executor: usize| state.waiting[edge.to][edge.port][executor] >= CAPACITY;
        match edge.route {
            Route::Local => full(from),
            Route::Gather => full(0),
            Route::Spread => (0..EXECUTORS).all(full),
            Route::Partition => (0..EXECUTORS).any(full),
        }
    }

    /// True if nothing more comes on this port.
    fn has_ended(&self, state: &State, vertex: usize, port: usize) -> bool {
        let mut feeders =
            self.edges.iter().filter(|edge| (edge.to, edge.port) == (vertex, port) && !edge.back);
        state.waiting[vertex][port] == [0; EXECUTORS] && feeders.all(|edge| self.is_done(state, edge.from))
    }

    fn is_done(&self, state: &State, vertex: usize) -> bool {
        state.sources[vertex] == 0 && (0..self.ports[vertex]).all(|port| self.has_ended(state, vertex, port))
    }

    fn may_run(&self, state: &State, vertex: usize, executor: usize) -> bool {
        let is_last = vertex + 1 == self.ports.len();
        let mut outputs = self.edges.iter().filter(|edge| edge.from == vertex);
        let has_room = !is_last || state.output < CAPACITY;
        has_room && !outputs.any(|edge| self.is_full(state, edge, executor))
    }

    /// All that a call of `vertex` may send.
    fn send(&self, state: State, vertex: usize, executor: usize) -> Vec<State> {
        let mut all = vec![state];
        for edge in self.edges.iter().filter(|edge| edge.from == vertex) {
            let mut next = Vec::new();
            for state in all {
                // A source sends one each; others none, one or two.
                let counts = if self.ports[vertex] == 0 { 1..=1 } else { 0..=2 };
                for count in counts {
                    next.extend(self.send_on(&state, edge, executor, count));
                }
            }
            all = next;
        }
        if vertex + 1 == self.ports.len() {
            all.iter_mut().for_each(|state| state.output += 1);
        }
        all
    }

    fn send_on(&self, state: &State, edge: &Edge, executor: usize, count: u8) -> Vec<State> {
        let mut all = vec![state.clone()];
        for _ in 0..count {
            let mut next = Vec::new();
            for state in all {
                if edge.back && state.rounds == 0 {
                    continue;
                }
                let to: &[usize] = match edge.route {
                    Route::Local => &[executor],
                    Route::Gather => &[0],
                    Route::Spread | Route::Partition => &[0, 1],
                };
                for to in to {
                    let mut state = state.clone();
                    state.waiting[edge.to][edge.port][*to] += 1;
                    state.rounds -= u8::from(edge.back);
                    next.push(state);
                }
            }
            all = next;
        }
        all
    }

    fn successors(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        if state.output > 0 {
            next.push(State { output: state.output - 1, ..state.clone() });
        }
        for vertex in 0..self.ports.len() {
            for executor in (0..EXECUTORS).filter(|executor| self.may_run(state, vertex, *executor)) {
                if state.sources[vertex] > 0 && executor == 0 {
                    let mut state = state.clone();
                    state.sources[vertex] -= 1;
                    next.extend(self.send(state, vertex, executor));
                }
                for port in 0..self.ports[vertex] {
                    let held = port == 1 && self.gated == Some(vertex) && !self.has_ended(state, vertex, 0);
                    if state.waiting[vertex][port][executor] > 0 && !held {
                        let mut state = state.clone();
                        state.waiting[vertex][port][executor] -= 1;
                        next.extend(self.send(state, vertex, executor));
                    }
                }
            }
        }
        next
    }

    /// Visits every state; returns how many there are, or one where all wait for all.
    fn search(&self) -> Result<usize, State> {
        let first = self.start();
        let mut seen = HashSet::from([first.clone()]);
        let mut stack = vec![first];
        while let Some(state) = stack.pop() {
            let next = self.successors(&state);
            let is_done = (0..self.ports.len()).all(|vertex| self.is_done(&state, vertex));
            if next.is_empty() && !is_done {
                return Err(state);
            }
            stack.extend(next.into_iter().filter(|state| seen.insert(state.clone())));
        }
        Ok(seen.len())
    }
}

#[test]
fn somebody_may_always_run() {
    for graph in &GRAPHS {
        let states = graph.search().unwrap_or_else(|state| panic!("{}: stuck in {state:?}", graph.name));
        println!("{}: {states} states", graph.name);
        assert!(states > 100, "the search went somewhere");
    }
}

#[test]
fn ports_without_a_bound_are_needed_where_they_are() {
    for graph in GRAPHS.into_iter().filter(|graph| !graph.elastic.is_empty()) {
        let bounded = Graph { elastic: &[], ..graph };
        let stuck = bounded.search();
        assert!(stuck.is_err(), "{}: never stuck", bounded.name);
    }
}
