//! The cheapest way to bind every vertex: dynamic programming over sets, greedy where there are too many.
//!
//! A set is reached by adding one vertex (scan, seek, or walking one edge) or by joining two sets. Sets are visited in numeric
//! order, and every part of a set is a smaller number, so each is final when visited. Cost: 2^n sets times n extensions, and
//! 3^n pairs for joins.

use super::hints;
use super::problem::{Edge, OneWay, Problem, Vertex};
use super::ways::{How, INPUT, Set, Side, Step};
use crate::cost;
use crate::expr::Var;
use crate::pattern::Selector;

/// Unbound vertices up to which every order is considered: 2^11 sets, 3^10 pairs, some ten milliseconds at worst.
pub(super) const DYNAMIC_VERTICES_MAX: usize = 10;

/// Opening a union of look-ups, which no pipeline is, instead of walking an edge: some twenty microseconds.
const UNION_COST: f64 = 256.0;

/// How a set is reached, with the total cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub before: Set,
    pub step: Step,
    pub cost: f64,
}

/// The ways by which the full set is reached, for every set on the way.
pub(super) struct Ways(pub hashbrown::HashMap<Set, Way, foldhash::fast::FixedState>);

/// Chooses how to bind all vertices of the problem.
pub(super) fn search(problem: &Problem<'_>) -> Ways {
    let begin = Way { before: 0, step: Step::Begin, cost: 0.0 };
    if problem.vertices.len() <= DYNAMIC_VERTICES_MAX {
        dynamic(problem, begin)
    } else {
        greedy(problem, begin)
    }
}

fn dynamic(problem: &Problem<'_>, begin: Way) -> Ways {
    let full = problem.full() as usize;
    let rows: Vec<f64> = (0..=full).map(|set| problem.rows(set as Set)).collect();
    let mut ways: Vec<Option<Way>> = vec![None; full + 1];
    ways[INPUT as usize] = Some(begin);
    ways[0] = problem.joins.then_some(begin);
    for set in 0..=full {
        if problem.joins && set as Set & INPUT != 0 {
            join(problem, set, &rows, &mut ways)
        }
        let Some(way) = ways[set] else { continue };
        for number in 0..problem.vertices.len() {
            let bit = 1_usize << (number + 1);
            if set & bit != 0 {
                continue;
            }
            let (step, cost) = extend(problem, set as Set, number, rows[set], rows[set | bit]);
            offer(&mut ways[set | bit], Way { before: set as Set, step, cost: way.cost + cost })
        }
    }
    let reached = ways.into_iter().enumerate().filter_map(|(set, way)| Some((set as Set, way?)));
    Ways(reached.collect())
}

fn offer(best: &mut Option<Way>, way: Way) {
    if best.is_none_or(|old| way.cost < old.cost) {
        *best = Some(way)
    }
}

/// The cheapest way to add one vertex to a set.
fn extend(problem: &Problem<'_>, set: Set, number: usize, before: f64, after: f64) -> (Step, f64) {
    let vertex = &problem.vertices[number];
    let more = Added::new(problem, set, 1 << (number + 1));
    let all = before * vertex.rows;
    let is_sought = vertex.seeks.iter().any(|start| start.need & !set == 0);
    let scanned = if is_sought { vertex.scanned.max(cost::SCANNED_MIN) } else { vertex.scanned };
    let scan = more.cost(before * scanned, all, all, None);
    let mut best = (Step::Scan(number), scan + after + vertex.told.price(Step::Scan(number)));
    let mut consider = |step: Step, cost: f64| {
        let cost = cost + after + vertex.told.price(step);
        if cost < best.1 {
            best = (step, cost)
        }
    };
    let is_met = problem.edges.iter().any(|edge| could_be_met(problem, edge, set, more.bit));
    for (which, start) in vertex.seeks.iter().enumerate() {
        if start.need & !set == 0 {
            let found = before * start.rows;
            // Against a scan, which grows with the graph, it always pays.
            let opened = if is_met && matches!(start.how, How::AnyLabel(_)) { UNION_COST } else { 0.0 };
            consider(Step::Seek(number, which), more.cost(opened + before * start.cost, found, all, None))
        }
    }
    for (which, edge) in problem.edges.iter().enumerate() {
        let Some(side) = edge.reaches(set, more.bit) else { continue };
        let OneWay { fan, kept, .. } = *edge.seen(side);
        let fan = fan * problem.walked_share(set, which);
        let searched =
            if edge.is_by_distance() { open_search(problem, edge, side) } else { fan.max(edge.runs) };
        let found = before * fan * kept;
        let walked = before * (cost::EXPAND_COST + searched);
        consider(Step::Walk(number, which, side), more.cost(walked, found, found, Some(which)))
    }
    best
}

/// Does this edge lead to the vertex from one that is bound, or that has a look-up of its own?
fn could_be_met(problem: &Problem<'_>, edge: &Edge, set: Set, bit: Set) -> bool {
    let other = match (edge.from == bit, edge.to == bit) {
        (true, false) => edge.to,
        (false, true) => edge.from,
        _ => return false,
    };
    let is_sought = |(number, vertex): (usize, &Vertex)| {
        let mut starts = vertex.seeks.iter();
        1 << (number + 1) == other && starts.any(|start| !matches!(start.how, How::AnyLabel(_)))
    };
    other & set != 0 || problem.vertices.iter().enumerate().any(is_sought)
}

/// The effects of one more vertex: the edges that can be closed now, and the predicates that can be tested.
struct Added<'a> {
    problem: &'a Problem<'a>,
    set: Set,
    bit: Set,
    /// Cost of all tests for a row.
    tests: f64,
    /// Share of rows left by those that are tested before edges are closed.
    share: f64,
}

impl<'a> Added<'a> {
    fn new(problem: &'a Problem<'a>, set: Set, bit: Set) -> Added<'a> {
        let (mut tests, mut share) = (0.0, 1.0);
        for test in problem.predicates.iter().filter(|test| newly(test.need, set, bit)) {
            tests += cost::FILTER_COST;
            let reads_edge = |var: &Var| problem.edges.iter().any(|edge| edge.pattern.variable == *var);
            if !test.free.iter().any(reads_edge) {
                share *= test.share
            }
        }
        Added { problem, set, bit, tests, share }
    }

    /// Cost of `found` rows that took `work` to find: each is tested, and edges are closed for those left. As a seek may have
    /// answered some tests already, those left are counted of `all` rows before any test.
    fn cost(&self, work: f64, found: f64, all: f64, walked: Option<usize>) -> f64 {
        let edges = self.problem.edges.iter().enumerate();
        let closed =
            edges.filter(|(which, edge)| newly(edge.need, self.set, self.bit) && Some(*which) != walked);
        let closing: f64 = closed.map(|(_, edge)| into_cost(edge)).sum();
        work + found * (1.0 + self.tests) + found.min(all * self.share) * closing
    }
}

/// Does this bit complete its needs?
fn newly(need: Set, set: Set, bit: Set) -> bool {
    need & bit != 0 && need & !(set | bit) == 0
}

/// Cost for each row of finding an edge between bound ends.
fn into_cost(edge: &Edge) -> f64 {
    if edge.pattern.run.is_none() {
        return cost::INTO_COST;
    }
    let fan = edge.there.fan.min(edge.back.fan);
    if edge.is_by_distance() { cost::pair_search(fan) } else { cost::EXPAND_COST + edge.runs }
}

/// Cost of a search for the shortest paths from one vertex to all: the edges it meets within its levels, and the ends.
fn open_search(problem: &Problem<'_>, edge: &Edge, side: Side) -> f64 {
    let pattern = &edge.pattern;
    let max = pattern.run.as_ref().and_then(|run| run.max);
    let (near, direction) = match side {
        Side::From => (pattern.from, pattern.direction),
        Side::To => (pattern.to, pattern.direction.reversed()),
    };
    let degree = |label: Option<&str>| cost::degree(problem.planning, label, &pattern.types, direction);
    let edges = degree(None) * cost::vertices(problem.planning, None);
    let met = cost::run_fan(
        degree(problem.label_at(near, &pattern.types, direction).as_deref()),
        1,
        max,
        Selector::Every,
        edges,
    );
    met.min(edges) + edge.seen(side).fan
}

/// The cheapest join that yields a set: two parts that share at most one vertex, with no edge across.
fn join(problem: &Problem<'_>, set: usize, rows: &[f64], ways: &mut [Option<Way>]) {
    let inner = set & !(INPUT as usize);
    let mut part = inner;
    while part != 0 {
        let rest = set & !part;
        let shared = std::iter::once(0).chain(bits(part));
        for overlap in shared {
            let other = rest | overlap;
            let (Some(a), Some(b)) = (ways[other], ways[part]) else { continue };
            if other == set || part == overlap || crosses(problem, other as Set, part as Set) {
                continue;
            }
            let both = rest & !(INPUT as usize) != 0;
            let discount = if both { hints::discount(problem, overlap as Set) } else { 0.0 };
            let (small, large) = (rows[other].min(rows[part]), rows[other].max(rows[part]));
            let (share, tests) = tested_after(problem, other as Set, part as Set);
            let joined = rows[set] / share * (cost::JOINED_COST + tests);
            let each = small * cost::BUILD_COST + large * cost::PROBE_COST + joined;
            let cost = a.cost + b.cost + each - discount;
            offer(&mut ways[set], Way { before: other as Set, step: Step::Join(part as Set), cost })
        }
        part = (part - 1) & inner;
    }
}

/// Share of joined rows left by the predicates that only both parts together complete, and that are tested on each joined row, and the cost of these
/// tests: equalities between the parts are keys of the join, see [`join_keys`](crate::rewrite::shape::join_keys).
fn tested_after(problem: &Problem<'_>, a: Set, b: Set) -> (f64, f64) {
    let inside = |need: Set, set: Set| need & !set == 0;
    let across = problem
        .predicates
        .iter()
        .filter(|test| inside(test.need, a | b) && !inside(test.need, a) && !inside(test.need, b))
        .filter(|test| {
            let between = |(x, y): (Set, Set)| inside(x, a) && inside(y, b) || inside(x, b) && inside(y, a);
            !test.sides.is_some_and(between)
        });
    let (share, tests) =
        across.fold((1.0, 0.0), |(share, tests), test| (share * test.share, tests + cost::FILTER_COST));
    (f64::max(share, 1e-9), tests)
}

fn bits(set: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS).map(|bit| 1_usize << bit).filter(move |bit| set & bit != 0)
}

/// Is there an edge between the parts (it would have to be closed after the join), or one inside both (it would be found twice)?
fn crosses(problem: &Problem<'_>, a: Set, b: Set) -> bool {
    problem.edges.iter().any(|edge| {
        let inside = |set: Set| edge.need & !set == 0;
        inside(a | b) && inside(a) == inside(b)
    })
}

/// Adds the vertex that looks best, until all are bound.
fn greedy(problem: &Problem<'_>, begin: Way) -> Ways {
    let full = problem.full();
    let mut ways = Ways(hashbrown::HashMap::default());
    let (mut set, mut way) = (INPUT, begin);
    ways.0.insert(set, way);
    while set != full {
        let before = problem.rows(set);
        let open = (0..problem.vertices.len()).filter(|number| set >> (number + 1) & 1 == 0);
        let each = open.map(|number| {
            let next = set | 1 << (number + 1);
            let (step, cost) = extend(problem, set, number, before, problem.rows(next));
            (next, step, cost)
        });
        let best = each.min_by(|a, b| a.2.total_cmp(&b.2)).expect("an open vertex remains");
        way = Way { before: set, step: best.1, cost: way.cost + best.2 };
        set = best.0;
        ways.0.insert(set, way);
    }
    ways
}
