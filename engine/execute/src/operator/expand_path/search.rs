//! The search of one row: its choice, and the conversion of its answers into ends, lengths and lists of edges.

use super::expansion::{Expansion, Walks};
use super::trailing::Trailing;
use crate::adjacency::Walk;
use crate::turn::{Progress, Try};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use model::{Direction, EdgeId, Value, VertexId};
use paths::{
    AllShortestPair, Keep, Listing, Orientation, Path, PathError, PathList, Reach, ShortestFrom, Targets,
    Work,
};
use plan::pattern::{PathMode, Selector};
use std::sync::Arc;

/// Edges a search visits in one slice: some tens of microseconds.
const EDGES_PER_SLICE: u64 = 16_384;
/// Initial number of edges that a slice visits for each wanted answer, so that a consumer of few gets them early.
const EDGES_PER_ANSWER: u64 = 8;
/// How many times more after each slice without any.
const EDGES_GROWTH: u64 = 2;

pub(super) type Along = Arc<Walk>;

/// Answers of one slice, row by row.
#[derive(Default)]
pub(super) struct Found {
    pub(super) ends: Vec<u32>,
    pub(super) lengths: Vec<u32>,
    /// Vertices and edges of each path, if they are wanted.
    pub(super) runs: Vec<Path>,
}

impl Found {
    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.lengths.clear();
        self.runs.clear();
    }
    fn push(&mut self, path: Path) {
        self.ends.push(*path.vertices.last().expect("a path has a vertex"));
        self.lengths.push(path.length());
        self.runs.push(path);
    }
    /// The list of the edges of answer `at`.
    pub(super) fn edges(&self, at: usize, walk: Option<&Walk>, reversed: bool) -> Value {
        let (Some(run), Some(walk)) = (self.runs.get(at), walk) else { return Value::list(Vec::new()) };
        let vertex = |at: usize| VertexId::from_dense(run.vertices[at]);
        let edge = |(at, id): (usize, &u64)| Value::edge(walk.edge(EdgeId(*id), vertex(at), vertex(at + 1)));
        let mut list: Vec<Value> = run.edges.iter().enumerate().map(edge).collect();
        if reversed {
            list.reverse();
        }
        Value::list(list)
    }
}

/// A search in progress.
pub(super) struct Search {
    walk: Option<Along>,
    /// The same edges the other way, for searches that look from both sides.
    against: Option<Along>,
    form: Form,
    /// Ends given already, where each counts once and the search does not see to it.
    given: Option<HashSet<u32, FixedState>>,
    /// An end that does not count: the source, where no vertex may repeat.
    excluded: Option<u32>,
    keeps_paths: bool,
    /// Edges a slice visits for each wanted answer, if answers may come early.
    edges_per_answer: u64,
}

enum Form {
    /// The path without edges.
    Point(u32),
    Reach(Box<Reach<Along>>),
    /// One wave; then the paths to each of its ends.
    From {
        search: Box<ShortestFrom<Along, Along>>,
        listing: Option<PathList<Along>>,
        single: bool,
        runs: bool,
        searched: bool,
    },
    Pair {
        search: Box<AllShortestPair<Along, Along>>,
        single: bool,
    },
    /// Distance to the bound far end, where one path counts and its edges are not read.
    Distance {
        search: Box<AllShortestPair<Along, Along>>,
        target: u32,
    },
    Trails(Trailing),
}

pub(super) fn orientation(plan: &Expansion) -> Orientation {
    // A walk may go out and back over one edge, as if there were two.
    match plan.direction {
        Direction::Both if plan.mode != PathMode::Walk => Orientation::Undirected,
        _ => Orientation::Directed,
    }
}

/// All ends by distance, looked for from both sides.
fn reach(plan: &Expansion, walks: &Walks, from: u32, keep: Keep) -> Try<Form> {
    let reach = Reach::new(walks.along.clone(), &[from], plan.hops, orientation(plan), keep)?;
    Ok(Form::Reach(Box::new(reach.both_ways(walks.against.clone()))))
}

impl Search {
    /// The path without edges alone.
    pub(super) fn point(vertex: u32) -> Search {
        Search {
            walk: None,
            against: None,
            form: Form::Point(vertex),
            given: None,
            excluded: None,
            keeps_paths: true,
            edges_per_answer: EDGES_PER_ANSWER,
        }
    }
    /// The search for the plan.
    pub(super) fn new(plan: &Expansion, walks: Walks, from: u32, to: Option<u32>) -> Try<Search> {
        let by_distance = plan.hops.min <= 1;
        let distinct = plan.distinct_ends && plan.selector == Selector::Every;
        let form = match (plan.selector, to) {
            (Selector::Every, Some(to)) if distinct && by_distance => pair(plan, &walks, from, to, true)?,
            (Selector::Every, None) if distinct && by_distance => {
                reach(plan, &walks, from, if plan.keep_length { Keep::Levels } else { Keep::Ends })?
            }
            (Selector::Every, None) => Form::Trails(Trailing::open(plan, &walks, from, distinct)?),
            (Selector::Every, Some(to)) => Form::Trails(Trailing::toward(plan, &walks, from, to)?),
            (selector, Some(to)) => pair(plan, &walks, from, to, selector == Selector::AnyShortest)?,
            // Lengths alone: a shortest path to each end is its distance.
            (selector, None)
                if by_distance
                    && !plan.keep_edges
                    && (selector == Selector::AnyShortest || plan.distinct_ends) =>
            {
                reach(plan, &walks, from, Keep::Levels)?
            }
            (selector, None) => {
                let (along, against) = (walks.along.clone(), walks.against.clone());
                let search =
                    ShortestFrom::new(along, against, from, Targets::All, plan.hops, orientation(plan))?;
                let single = selector == Selector::AnyShortest || plan.distinct_ends;
                let runs = plan.keep_edges || !single;
                Form::From { search: Box::new(search), listing: None, single, runs, searched: false }
            }
        };
        let given = (distinct && !by_distance).then(HashSet::default);
        let excluded =
            (distinct && by_distance && plan.mode == PathMode::Acyclic && plan.hops.min > 0).then_some(from);
        let (walk, against) = (Some(walks.along), Some(walks.against));
        let (keeps_paths, edges_per_answer) = (plan.keep_edges, EDGES_PER_ANSWER);
        Ok(Search { walk, against, form, given, excluded, keeps_paths, edges_per_answer })
    }

    /// Could [`Search::restart`] begin it anew?
    pub(super) fn is_restartable(&self) -> bool {
        match &self.form {
            Form::Reach(_) => true,
            Form::Trails(trails) => trails.is_restartable(),
            _ => false,
        }
    }

    /// The same search from another vertex, in its memory, if its kind allows; else it is left as it is.
    pub(super) fn restart(&mut self, from: u32) -> Try<bool> {
        let is_begun = match &mut self.form {
            Form::Reach(reach) => reach.restart(&[from]).map(|()| true)?,
            Form::Trails(trails) => trails.restart(from)?,
            _ => false,
        };
        if !is_begun {
            return Ok(false);
        }
        if self.excluded.is_some() {
            self.excluded = Some(from);
        }
        if let Some(given) = &mut self.given {
            given.clear();
        }
        self.edges_per_answer = EDGES_PER_ANSWER;
        Ok(true)
    }

    /// The way it walks.
    pub(super) fn walk(&self) -> Option<&Walk> {
        self.walk.as_deref()
    }

    /// A slice of work: appends at most about `rows_max` answers.
    pub(super) fn step(&mut self, found: &mut Found, rows_max: usize) -> Try<Progress> {
        let before = found.ends.len();
        let outcome = self.advance(found, rows_max);
        if found.ends.len() == before {
            self.edges_per_answer = (self.edges_per_answer * EDGES_GROWTH).min(EDGES_PER_SLICE);
        }
        let failure = self.walk.iter().chain(&self.against).find_map(|walk| walk.take_failure());
        let progress = match (outcome, failure) {
            (_, Some(failure)) => return Err(failure),
            (outcome, None) => outcome?,
        };
        if self.given.is_some() || self.excluded.is_some() {
            self.thin_out(found);
        }
        Ok(progress)
    }

    fn thin_out(&mut self, found: &mut Found) {
        let fresh = |end: &u32, given: &mut Option<HashSet<u32, FixedState>>| {
            self.excluded != Some(*end) && given.as_mut().is_none_or(|given| given.insert(*end))
        };
        let keep: Vec<bool> = found.ends.iter().map(|end| fresh(end, &mut self.given)).collect();
        let mut at = keep.iter();
        found.ends.retain(|_| *at.next().unwrap_or(&true));
        at = keep.iter();
        found.lengths.retain(|_| *at.next().unwrap_or(&true));
        at = keep.iter();
        found.runs.retain(|_| *at.next().unwrap_or(&true));
    }

    fn advance(&mut self, found: &mut Found, rows_max: usize) -> Result<Progress, PathError> {
        let is_early = match &self.form {
            Form::Reach(_) => true,
            Form::Trails(trails) => trails.is_early(),
            // They have no answer before most of the work is done.
            _ => false,
        };
        let few = self.edges_per_answer.saturating_mul(rows_max as u64);
        let edges = if is_early { EDGES_PER_SLICE.min(few) } else { EDGES_PER_SLICE };
        let mut work = Work::new(edges);
        match &mut self.form {
            Form::Point(vertex) => {
                found.push(Path { vertices: vec![*vertex], edges: Vec::new() });
                Ok(Progress::Done)
            }
            Form::Reach(search) => {
                // Ends that wait come first: they may be enough.
                let waiting = search.drain_ends(&mut found.ends, &mut found.lengths, rows_max);
                if waiting == rows_max {
                    return Ok(Progress::More);
                }
                let progress = search.step(&mut work)?;
                let drained = search.drain_ends(&mut found.ends, &mut found.lengths, rows_max - waiting);
                Ok(done_if(progress == paths::Progress::Done && waiting + drained < rows_max))
            }
            Form::From { search, listing, single, runs, searched } => {
                *searched = *searched || search.step(&mut work)? == paths::Progress::Done;
                match (*searched, *runs) {
                    (false, _) => Ok(Progress::More),
                    (true, false) => Ok(done_if(
                        search.drain_ends(&mut found.ends, &mut found.lengths, rows_max) < rows_max,
                    )),
                    (true, true) => list_paths(search, listing, *single, found, rows_max, &mut work),
                }
            }
            Form::Pair { search, single } => loop {
                match search.next_path(&mut work)? {
                    Listing::More => return Ok(Progress::More),
                    Listing::End => return Ok(Progress::Done),
                    Listing::Path(path) => found.push(path),
                }
                if *single || found.ends.len() >= rows_max {
                    return Ok(done_if(*single));
                }
            },
            Form::Distance { search, target } => {
                if search.step_to_length(&mut work)? == paths::Progress::More {
                    return Ok(Progress::More);
                }
                if let Some(length) = search.length() {
                    found.ends.push(*target);
                    found.lengths.push(length);
                }
                Ok(Progress::Done)
            }
            Form::Trails(trails) => {
                let how = (rows_max, self.given.is_some(), self.keeps_paths);
                trails.advance(self.walk.as_ref(), &mut work, found, how)
            }
        }
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        let form = match &self.form {
            Form::Point(_) => 0,
            Form::Reach(search) => search.bytes(),
            Form::From { search, listing, .. } => {
                search.bytes() + listing.as_ref().map_or(0, PathList::bytes)
            }
            Form::Pair { search, .. } | Form::Distance { search, .. } => search.bytes(),
            Form::Trails(trails) => trails.bytes(),
        };
        form + self.given.as_ref().map_or(0, |given| given.capacity() * 5)
    }
}

pub(super) fn done_if(done: bool) -> Progress {
    if done { Progress::Done } else { Progress::More }
}

fn pair(plan: &Expansion, walks: &Walks, from: u32, to: u32, single: bool) -> Result<Form, PathError> {
    let (along, against) = (walks.along.clone(), walks.against.clone());
    let search = AllShortestPair::new(along, against, from, to, plan.hops, orientation(plan))?;
    let search = Box::new(search);
    if single && !plan.keep_edges {
        return Ok(Form::Distance { search, target: to });
    }
    Ok(Form::Pair { search, single })
}

/// The paths to one end after another.
fn list_paths(
    search: &mut ShortestFrom<Along, Along>,
    listing: &mut Option<PathList<Along>>,
    single: bool,
    found: &mut Found,
    rows_max: usize,
    work: &mut Work<'_>,
) -> Result<Progress, PathError> {
    while found.ends.len() < rows_max {
        let Some(list) = listing else {
            let (mut ends, mut distances) = (Vec::new(), Vec::new());
            if search.drain_ends(&mut ends, &mut distances, 1) == 0 {
                return Ok(Progress::Done);
            }
            *listing = search.paths_to(ends[0])?;
            continue;
        };
        match search.next_path(list, work)? {
            Listing::More => return Ok(Progress::More),
            Listing::End => *listing = None,
            Listing::Path(path) => {
                found.push(path);
                if single {
                    *listing = None;
                }
            }
        }
    }
    Ok(Progress::More)
}
