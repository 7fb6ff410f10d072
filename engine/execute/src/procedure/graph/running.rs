//! A graph procedure at work: first the vertices that take part, a chunk at a time; then the algorithm; then its rows.

use super::Question;
use super::settings::Settings;
use crate::ExecuteError;
use crate::access::Environment;
use crate::adjacency::Walk;
use crate::turn::{Progress, Try};
use model::{ChunkNo, Column, Direction, EdgeId, Nulls, Value, VertexId};
use paths::algorithms::{Clustering, Components, Field, PageRank, Propagation};
use paths::{Hops, Keep, Orientation, PathError, Reach, WeightedShortest, Work};
use std::sync::Arc;
use store::{LabelFilter, Snapshot};

/// Edges one slice visits: some tens of microseconds.
const EDGES_PER_SLICE: u64 = 16_384;

type Along = Arc<Walk>;
type Weight = Box<dyn Fn(u64, u32, u32) -> f64 + Send>;

/// The second column.
#[derive(Debug)]
pub(super) enum Values {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Values {
    pub(super) fn of(question: Question) -> Values {
        match question {
            Question::Bfs | Question::Cdlp | Question::Wcc => Values::Ints(Vec::new()),
            Question::Lcc | Question::PageRank | Question::Sssp => Values::Floats(Vec::new()),
        }
    }
    pub(super) fn take(&mut self) -> Column {
        match self {
            Values::Ints(ints) => Column::Int(std::mem::take(ints), Nulls::none()),
            Values::Floats(floats) => Column::Float(std::mem::take(floats), Nulls::none()),
        }
    }
    fn append(&mut self, more: &Values, range: std::ops::Range<usize>) {
        match (self, more) {
            (Values::Ints(ints), Values::Ints(more)) => ints.extend_from_slice(&more[range]),
            (Values::Floats(floats), Values::Floats(more)) => floats.extend_from_slice(&more[range]),
            _ => {}
        }
    }
    fn bytes(&self) -> usize {
        match self {
            Values::Ints(ints) => ints.capacity() * 8,
            Values::Floats(floats) => floats.capacity() * 8,
        }
    }
}

/// The vertices that take part, while they are listed.
struct List {
    filter: LabelFilter,
    chunks: Vec<ChunkNo>,
    next: usize,
    /// With the labels they begin with, where those matter.
    found: Vec<(u32, i64)>,
    scanned: Vec<VertexId>,
}

enum Form {
    List(List),
    Bfs(Box<Reach<Along>>),
    Cdlp(Box<Propagation<Along>>),
    Lcc(Box<Clustering<Along>>),
    PageRank(Box<PageRank<Along>>),
    Sssp(Box<WeightedShortest<Along, Weight>>),
    Wcc(Box<Components<Along>>),
    /// Rows that wait.
    Rows {
        members: Vec<u32>,
        values: Values,
        given: usize,
    },
}

pub(super) struct Running {
    question: Question,
    settings: Settings,
    snapshot: Snapshot,
    along: Along,
    against: Along,
    form: Form,
}

impl Running {
    pub(super) fn new(
        question: Question,
        settings: Settings,
        snapshot: Snapshot,
        environment: &Arc<Environment>,
    ) -> Running {
        let types = Arc::new(settings.types.clone());
        let walk = |direction| Arc::new(Walk::new(&snapshot, &types, direction, None, environment));
        let (along, against) = (walk(settings.direction), walk(settings.direction.reversed()));
        let filter = settings.label.map_or(LabelFilter::Any, LabelFilter::Has);
        let chunks = if settings.source.is_some() { Vec::new() } else { snapshot.scan_chunks(&filter) };
        let form = Form::List(List { filter, chunks, next: 0, found: Vec::new(), scanned: Vec::new() });
        Running { question, settings, snapshot, along, against, form }
    }

    /// A slice of work: up to `room` rows.
    pub(super) fn step(
        &mut self,
        room: usize,
        nodes: &mut Vec<VertexId>,
        values: &mut Values,
    ) -> Try<Progress> {
        let outcome = self.advance(room, nodes, values);
        match [&self.along, &self.against].iter().find_map(|walk| walk.take_failure()) {
            Some(failure) => Err(failure),
            None => outcome,
        }
    }

    fn advance(&mut self, room: usize, nodes: &mut Vec<VertexId>, values: &mut Values) -> Try<Progress> {
        let mut work = Work::new(EDGES_PER_SLICE);
        let done_if = |done: bool| Ok(if done { Progress::Done } else { Progress::More });
        let progress = match &mut self.form {
            Form::List(_) => {
                if self.list()? == Progress::Done {
                    self.begin()?;
                }
                return Ok(Progress::More);
            }
            Form::Bfs(search) => {
                let progress = search.step(&mut work)?;
                let (mut ends, mut distances) = (Vec::new(), Vec::new());
                let drained = search.drain_ends(&mut ends, &mut distances, room);
                nodes.extend(ends.into_iter().map(VertexId::from_dense));
                if let Values::Ints(ints) = values {
                    ints.extend(distances.into_iter().map(i64::from));
                }
                return done_if(progress == paths::Progress::Done && drained < room);
            }
            Form::Sssp(search) => {
                let progress = search.step(&mut work)?;
                let (mut ends, mut costs) = (Vec::new(), Vec::new());
                let drained = search.drain_ends(&mut ends, &mut costs, room);
                nodes.extend(ends.into_iter().map(VertexId::from_dense));
                values.append(&Values::Floats(costs), 0..drained);
                return done_if(progress == paths::Progress::Done && drained < room);
            }
            Form::Rows { members, values: all, given } => {
                let end = members.len().min(*given + room);
                nodes.extend(members[*given..end].iter().map(|vertex| VertexId::from_dense(*vertex)));
                values.append(all, *given..end);
                *given = end;
                return done_if(end == members.len());
            }
            Form::Cdlp(search) => search.step(&mut work)?,
            Form::Lcc(search) => search.step(&mut work)?,
            Form::PageRank(search) => search.step(&mut work)?,
            Form::Wcc(search) => search.step(&mut work)?,
        };
        if progress == paths::Progress::Done {
            self.collect();
        }
        Ok(Progress::More)
    }

    /// Lists the vertices of one chunk.
    fn list(&mut self) -> Try<Progress> {
        let Form::List(List { filter, chunks, next, found, scanned }) = &mut self.form else {
            return Ok(Progress::Done);
        };
        let Some(chunk) = chunks.get(*next) else { return Ok(Progress::Done) };
        *next += 1;
        scanned.clear();
        self.snapshot.scan_chunk(*chunk, filter, scanned)?;
        for vertex in scanned {
            let label = match self.settings.seed {
                None => vertex.0 as i64,
                Some(key) => self.snapshot.property(*vertex, key)?.as_int().ok_or_else(|| {
                    let message = "`seed` is a property that every node has and that is a whole number";
                    ExecuteError::ProcedureCall(message.into())
                })?,
            };
            found.push((vertex.dense(), label));
        }
        Ok(Progress::More)
    }

    /// The vertices are known: now the algorithm.
    fn begin(&mut self) -> Result<(), PathError> {
        let Form::List(List { found, .. }) = &mut self.form else { return Ok(()) };
        let settings = &self.settings;
        let orientation = match settings.direction {
            Direction::Both => Orientation::Undirected,
            _ => Orientation::Directed,
        };
        let (along, against) = (self.along.clone(), self.against.clone());
        found.sort_unstable();
        let members = found.iter().map(|(vertex, _)| *vertex).collect();
        let field =
            || Field::new(along.clone(), against.clone(), orientation, members, settings.label.is_none());
        let source = settings.source.map_or(0, VertexId::dense);
        self.form = match self.question {
            Question::Bfs => {
                let hops = Hops::new(0, Hops::UNBOUNDED);
                let reach = Reach::new(along.clone(), &[source], hops, orientation, Keep::Levels)?;
                Form::Bfs(Box::new(reach.both_ways(against.clone())))
            }
            Question::Cdlp => {
                let first: Vec<i64> = found.iter().map(|(_, label)| *label).collect();
                Form::Cdlp(Box::new(Propagation::new(field(), &first, settings.rounds)))
            }
            Question::Lcc => Form::Lcc(Box::new(Clustering::new(field()))),
            Question::PageRank => {
                Form::PageRank(Box::new(PageRank::new(field(), settings.damping, settings.rounds)))
            }
            Question::Sssp => {
                Form::Sssp(Box::new(WeightedShortest::new(along.clone(), source, None, self.weight())?))
            }
            Question::Wcc => Form::Wcc(Box::new(Components::new(field()))),
        };
        Ok(())
    }

    /// What an edge weighs; one that does not say so weighs no number, which ends the search with an error that names it.
    fn weight(&self) -> Weight {
        let Some(key) = self.settings.weight else { return Box::new(|_, _, _| 1.0) };
        let snapshot = self.snapshot.clone();
        Box::new(move |edge, _, _| match snapshot.edge_property(EdgeId(edge), key) {
            Ok(Value::Float(weight)) => weight,
            Ok(Value::Int(weight)) => weight as f64,
            _ => f64::NAN,
        })
    }

    /// The algorithm is over: its rows.
    fn collect(&mut self) {
        let (members, values) = match &mut self.form {
            Form::Cdlp(search) => (search.field().members().to_vec(), Values::Ints(search.values())),
            Form::Lcc(search) => (search.field().members().to_vec(), Values::Floats(search.values())),
            Form::PageRank(search) => (search.field().members().to_vec(), Values::Floats(search.values())),
            Form::Wcc(search) => {
                let least = search.values();
                let ids = least.into_iter().map(|vertex| VertexId::from_dense(vertex).0 as i64).collect();
                (search.field().members().to_vec(), Values::Ints(ids))
            }
            _ => return,
        };
        self.form = Form::Rows { members, values, given: 0 };
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        match &self.form {
            Form::List(list) => list.found.capacity() * 16,
            Form::Bfs(search) => search.bytes(),
            Form::Cdlp(search) => search.bytes(),
            Form::Lcc(search) => search.bytes(),
            Form::PageRank(search) => search.bytes(),
            Form::Sssp(search) => search.bytes(),
            Form::Wcc(search) => search.bytes(),
            Form::Rows { members, values, .. } => members.capacity() * 4 + values.bytes(),
        }
    }
}
