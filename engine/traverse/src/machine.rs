//! State shared by all steps of a running traversal: the graph, the settings, the side effects, randomness.

use crate::compiled::{Compiled, Setting};
use crate::error::{Outcome, TraverseError};
use crate::graph::Graph;
use crate::limits::RUN_DEPTH_MAX;
use crate::pipeline::Pipeline;
use crate::profile::Profile;
use crate::sides::Sides;
use crate::step::{Body, By, Given};
use crate::traverser::{Traverser, Traversers};
use gremlin::{Metrics, Object, Traversal};
use model::{EdgeRef, VertexId};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A running traversal.
pub struct Machine {
    pub(crate) graph: Box<dyn Graph>,
    compiled: Arc<Compiled>,
    pub(crate) keeps_path: bool,
    /// Traversers a step is given at a time.
    pub(crate) batch: usize,
    pub(crate) sides: RefCell<Sides>,
    depth: Cell<usize>,
    /// Traversers that wait at each depth of nesting.
    held: RefCell<Vec<usize>>,
    random: Cell<u64>,
    /// Counters, if the traversal is profiled.
    pub(crate) profile: Option<Profile>,
    /// Is a criterion of a subgraph being tested, which sees the whole graph?
    whole: Cell<bool>,
}

impl Machine {
    /// A machine for a traversal over a graph.
    pub fn new(graph: Box<dyn Graph>, compiled: Arc<Compiled>) -> Machine {
        let random = compiled.setting.seed.map_or_else(|| graph.chance(), |seed| seed as u64);
        Machine {
            graph,
            keeps_path: compiled.keeps_path,
            batch: if compiled.program.is_watched() { 1 } else { crate::limits::BATCH },
            sides: RefCell::new(Sides::new(&compiled.setting.sides, &compiled.program)),
            depth: Cell::new(0),
            held: RefCell::new(vec![0]),
            random: Cell::new(random),
            profile: None,
            whole: Cell::new(false),
            compiled,
        }
    }
    /// The same, and it measures each step.
    pub fn measuring(self) -> Machine {
        let profile = Some(Profile::new(self.compiled.program.steps.len()));
        Machine { profile, ..self }
    }
    /// The counters of this program's steps: only for the outermost traversal.
    pub(crate) fn profile_of(&self, program: &Body) -> Option<&Profile> {
        self.profile.as_ref().filter(|_| Arc::ptr_eq(program, &self.compiled.program))
    }
    /// The counters of each step so far, if the machine measures; each is named by its instructions.
    pub fn metrics(&self, traversal: &Traversal) -> Vec<Metrics> {
        let profile = self.profile.as_ref();
        profile.map(|profile| profile.metrics(traversal, &self.compiled.origins)).unwrap_or_default()
    }
    /// Does the traversal change the graph?
    pub(crate) fn writes(&self) -> bool {
        self.compiled.writes
    }
    pub(crate) fn setting(&self) -> &Setting {
        &self.compiled.setting
    }
    /// The graph that is walked.
    pub fn graph(&self) -> &dyn Graph {
        &*self.graph
    }
    /// The pipeline of the whole traversal, ready to give its results.
    pub fn start(&self) -> Pipeline {
        let mut pipeline = Pipeline::new(&self.compiled.program);
        let sack = self.setting().sack.as_ref().map_or(Object::Null, |(first, _)| first.clone());
        pipeline.push(Traverser::seed(sack));
        pipeline
    }

    /// All traversers that a program makes of one.
    pub(crate) fn run(&self, program: &Body, traverser: Traverser) -> Outcome<Traversers> {
        self.run_all(program, Traversers::from_iter([traverser]))
    }
    /// All traversers that a program makes of these.
    pub(crate) fn run_all(&self, program: &Body, traversers: Traversers) -> Outcome<Traversers> {
        self.deeper(|| {
            let mut pipeline = Pipeline::new(program);
            traversers.into_iter().for_each(|traverser| pipeline.push(traverser));
            let mut all = Traversers::default();
            while let Some(some) = pipeline.next(self)? {
                all.append(some)?;
            }
            Ok(all)
        })
    }
    /// The first traverser that a program makes of one.
    pub(crate) fn first(&self, program: &Body, traverser: Traverser) -> Outcome<Option<Traverser>> {
        self.deeper(|| {
            let mut pipeline = Pipeline::new(program);
            pipeline.push(traverser);
            Ok(pipeline.next(self)?.and_then(|some| some.into_iter().next()))
        })
    }
    /// Does a program make anything of it?
    pub(crate) fn holds(&self, program: &Body, traverser: &Traverser) -> Outcome<bool> {
        Ok(self.first(program, Traverser { bulk: 1, ..traverser.clone() })?.is_some())
    }
    fn deeper<T>(&self, inner: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        if self.depth.get() >= RUN_DEPTH_MAX {
            return Err(TraverseError::Limit(format!("traversals are nested deeper than {RUN_DEPTH_MAX}")));
        }
        self.depth.set(self.depth.get() + 1);
        self.held.borrow_mut().push(0);
        let outcome = inner();
        self.held.borrow_mut().pop();
        self.depth.set(self.depth.get() - 1);
        outcome
    }

    /// Sets the number of waiting traversers at this depth.
    pub(crate) fn keeps(&self, waiting: usize) {
        if let Some(held) = self.held.borrow_mut().last_mut() {
            *held = waiting;
        }
    }
    /// Traversers that wait, nested ones included.
    pub fn waiting(&self) -> usize {
        self.held.borrow().iter().sum()
    }
    /// Called between two turns, nested ones included.
    pub(crate) fn pause(&self) -> Outcome<()> {
        self.pause_holding(0)
    }
    /// The same within a turn that has found this many already.
    pub(crate) fn pause_holding(&self, found: usize) -> Outcome<()> {
        self.graph.pause(self.waiting().saturating_add(found))
    }

    /// The value of a step's argument for this traverser: none where a traversal yields nothing.
    pub(crate) fn given(&self, given: &Given, traverser: &Traverser) -> Outcome<Option<Object>> {
        match given {
            Given::Value(value) => Ok(Some(value.clone())),
            Given::Body(body) => {
                let start = Traverser { bulk: 1, ..traverser.clone() };
                Ok(self.first(body, start)?.map(|found| found.object))
            }
        }
    }
    /// The next modulator.
    pub(crate) fn turn<'a>(&self, by: &'a [By], at: usize) -> &'a By {
        if by.is_empty() { &By::Identity } else { &by[at % by.len()] }
    }

    /// A number from 0 up to 1.
    pub(crate) fn chance(&self) -> f64 {
        (self.random() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// The next number of splitmix64.
    pub(crate) fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Tests a criterion on an element; it sees the whole graph.
    fn criterion(&self, program: &Body, object: Object) -> Outcome<bool> {
        self.whole.set(true);
        let outcome = self.holds(program, &Traverser::seed(Object::Null).to(object, self.keeps_path));
        self.whole.set(false);
        outcome
    }
    /// Is a vertex in the part of the graph that is seen?
    pub(crate) fn sees_vertex(&self, vertex: VertexId) -> Outcome<bool> {
        if self.whole.get() {
            return Ok(true);
        }
        if let Some(partition) = &self.setting().partition {
            let kept = self.graph.property(vertex, &partition.key)?;
            if !kept.iter().any(|kept| partition.read.contains(&kept.value)) {
                return Ok(false);
            }
        }
        match self.setting().subgraph.as_ref().and_then(|subgraph| subgraph.vertices.as_ref()) {
            Some(body) => self.criterion(body, Object::Vertex(vertex)),
            None => Ok(true),
        }
    }
    /// Is an edge in the part of the graph that is seen?
    pub(crate) fn sees_edge(&self, edge: &EdgeRef) -> Outcome<bool> {
        if self.whole.get() {
            return Ok(true);
        }
        if let Some(partition) = &self.setting().partition {
            let value = self.graph.edge_property(edge, &partition.key)?;
            if !value.is_some_and(|value| partition.read.contains(&value)) {
                return Ok(false);
            }
        }
        let Some(subgraph) = &self.setting().subgraph else { return Ok(true) };
        if let Some(body) = &subgraph.edges
            && !self.criterion(body, Object::Edge((*edge).into()))?
        {
            return Ok(false);
        }
        Ok(!subgraph.checks_ends || (self.sees_vertex(edge.source)? && self.sees_vertex(edge.target)?))
    }
    /// Is a property of a vertex in the part of the graph that is seen?
    pub(crate) fn sees_property(&self, property: &Object) -> Outcome<bool> {
        match self.setting().subgraph.as_ref().and_then(|subgraph| subgraph.properties.as_ref()) {
            Some(body) if !self.whole.get() => self.criterion(body, property.clone()),
            _ => Ok(true),
        }
    }
    /// Is all of the graph seen?
    pub(crate) fn sees_all(&self) -> bool {
        self.whole.get() || (self.setting().subgraph.is_none() && self.setting().partition.is_none())
    }
}
