//! A traversal ready to run: steps with their modulators in place, names resolved.

use crate::graph::Wanted;
use gremlin::{Object, Predicate, Token};
use model::Direction;
use std::sync::Arc;

/// A name of a label, key or side effect.
pub type Name = Arc<str>;

/// Steps that follow each other.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The steps.
    pub steps: Vec<Step>,
    /// Is there a step that needs all its input before it answers?
    pub gathers: bool,
}

impl Program {
    /// Must a round of it have all its traversers at once?
    pub fn waits(&self) -> bool {
        let remembers = |step: &Step| matches!(step, Step::Range { .. } | Step::Dedup { .. });
        self.gathers || self.steps.iter().any(remembers)
    }
    /// Can a later step observe how far the steps before have come? Then traversers go one by one.
    pub fn is_watched(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Aggregate { eager: false, .. } | Step::SideEffect(_) => true,
            Step::Local(body) | Step::Optional(body) | Step::FlatMap(body) => body.is_watched(),
            Step::Union(bodies) | Step::Coalesce(bodies) => bodies.iter().any(|body| body.is_watched()),
            Step::Repeat(repeat) => repeat.body.is_watched(),
            _ => false,
        })
    }
}

/// A program inside another.
pub type Body = Arc<Program>;

/// A `by` modulator.
#[derive(Clone, Debug)]
pub enum By {
    /// The object itself.
    Identity,
    /// A property, or an entry of a map.
    Key(Name),
    /// `T.id` and its kin.
    Token(Token),
    /// `Column.keys`, `Column.values`.
    Column(Token),
    /// The first result of a traversal.
    Body(Body),
    /// As the inner one, but null where that yields nothing.
    OrNull(Box<By>),
}

/// A key of an order.
#[derive(Clone, Debug)]
pub struct SortBy {
    /// The key.
    pub by: By,
    /// `asc`, `desc` or `shuffle`.
    pub order: Token,
}

/// Which end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum End {
    Out,
    In,
    Both,
    Other,
}

/// A text that is given, or the one a traversal yields.
#[derive(Clone, Debug)]
pub enum Given {
    /// A value.
    Value(Object),
    /// The first result of a traversal.
    Body(Body),
}

/// An end of a new edge.
#[derive(Clone, Debug)]
pub enum EndOf {
    /// The current object.
    Current,
    /// The object of a label.
    Label(Name),
    /// A vertex that a client names.
    Vertex(Object),
    /// The first result of a traversal.
    Body(Body),
}

/// `property(…)`: the key and values to set.
#[derive(Clone, Debug)]
pub struct SetProperty {
    /// `single`, `list`, `set`, or the graph's default.
    pub cardinality: Option<Token>,
    /// A key or a token.
    pub key: Given,
    /// Its value.
    pub value: Given,
    /// Properties of the property.
    pub meta: Vec<(Given, Given)>,
}

/// The part of a path a step looks at, and how it sees its objects.
#[derive(Clone, Debug, Default)]
pub struct PathPart {
    /// From the object with this label.
    pub from: Option<Name>,
    /// To the object with this label.
    pub to: Option<Name>,
    /// Round robin.
    pub by: Vec<By>,
}

/// `repeat` with its modulators.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// The body of the loop.
    pub body: Body,
    /// When a traverser leaves, tested before the body if the flag says so.
    pub until: Option<(Until, bool)>,
    /// When it is emitted, tested before the body if the flag says so.
    pub emit: Option<(Option<Body>, bool)>,
    /// Its name.
    pub name: Option<Name>,
}

/// When a traverser leaves a `repeat`.
#[derive(Clone, Debug)]
pub enum Until {
    /// After this number of rounds.
    Times(u64),
    /// When this yields something.
    Body(Body),
}

/// The meaning of an option of `choose` or `branch`.
#[derive(Clone, Debug)]
pub enum Pick {
    /// This value.
    Value(Object),
    /// A value of which this holds.
    Predicate(Predicate),
    /// Values for which this yields something.
    Body(Body),
    /// Always.
    Any,
    /// Where no other is.
    None,
    /// Where there is no value to choose by.
    Unproductive,
}

/// The definition of a grouping.
#[derive(Clone, Debug)]
pub struct Grouping {
    /// The key of a group.
    pub key: By,
    /// The reduction of its traversers; the list of the objects, where it is absent.
    pub value: Body,
}

/// A reduction to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the steps")]
pub enum Reduce {
    Count,
    Sum,
    Min,
    Max,
    Mean,
}

/// The comparison of a `where` with a predicate.
#[derive(Clone, Debug)]
pub struct WhereIs {
    /// The label on the left; the current object, where it is absent.
    pub left: Option<Name>,
    /// A predicate whose values are labels.
    pub predicate: Predicate,
    /// Round robin over left and the labels of the predicate.
    pub by: Vec<By>,
}

/// One pattern of `match`.
#[derive(Clone, Debug)]
pub enum MatchPattern {
    /// From the object of a label, by a program, to that of another.
    Walk {
        /// Where it begins.
        start: Name,
        /// How it goes on.
        body: Body,
        /// Where it ends.
        end: Option<Name>,
    },
    /// All of these.
    All(Vec<MatchPattern>),
    /// One of these.
    Any(Vec<MatchPattern>),
    /// Not this.
    Not(Box<MatchPattern>),
    /// A filter over labels, which must be bound.
    Where(Box<Step>, Vec<Name>),
}

/// `mergeV` or `mergeE`.
#[derive(Clone, Debug)]
pub struct Merge {
    /// Vertices, or edges.
    pub vertices: bool,
    /// The element to find; the current object, where it is absent.
    pub wanted: Option<Given>,
    /// The element to create where none is found.
    pub on_create: Option<Given>,
    /// The changes of a found element.
    pub on_match: Option<Given>,
    /// The vertex that `Merge.outV` stands for.
    pub out_vertex: Option<Given>,
    /// The vertex that `Merge.inV` stands for.
    pub in_vertex: Option<Given>,
    /// `property` steps behind it.
    pub properties: Vec<SetProperty>,
}

/// The part of an element that a `has` tests.
#[derive(Clone, Debug)]
pub enum HasWhat {
    /// A property of the element.
    Key(Name),
    /// Its id.
    Id,
    /// Its label.
    Label,
    /// The key of a property.
    PropertyKey,
    /// The value of a property.
    PropertyValue,
}

/// A step on text, dates, numbers or collections that needs nothing but its object and arguments.
#[derive(Clone, Debug)]
pub struct Convert {
    /// Its name.
    pub name: &'static str,
    /// Does it work on each element of a list?
    pub local: bool,
    /// Its arguments.
    pub arguments: Vec<Given>,
}

/// One step.
#[derive(Clone, Debug)]
#[allow(
    missing_docs,
    reason = "each is the step of its name, with its arguments and modulators; Forget forgets these labels"
)]
pub enum Step {
    // where traversers come from
    Vertices { ids: Option<Vec<Object>>, wanted: Wanted },
    Edges { ids: Option<Vec<Object>> },
    Inject { objects: Vec<Object>, first: bool },
    // from object to object
    Adjacent { direction: Direction, types: Vec<Name>, to_edge: bool },
    EdgeEnd(End),
    Properties { keys: Vec<Name>, values: bool },
    PropertyMap { keys: Vec<Name>, values: bool, tokens: i64, by: Vec<By> },
    ElementMap(Vec<Name>),
    Id,
    Label,
    Key,
    Value,
    Element,
    Constant(Object),
    Identity,
    Modulated(By),
    Loops(Option<Name>),
    Path(PathPart),
    Select { labels: Vec<Name>, pop: Token, by: Vec<By> },
    SelectBy { body: Body, pop: Token, by: Vec<By> },
    SelectColumn(Token),
    Project { keys: Vec<Name>, by: Vec<By> },
    Math { formula: crate::formula::Formula, by: Vec<By> },
    Format { text: Name, by: Vec<By> },
    Convert(Convert),
    Unfold,
    Index { map: bool },
    Map(Body),
    FlatMap(Body),
    Cap(Vec<Name>),
    SackValue,
    // filters
    Is(Predicate),
    Has { what: HasWhat, predicate: Predicate },
    HasKeyOnly(Name),
    HasNot(Name),
    Where(Body),
    Not(Body),
    And(Vec<Body>),
    Or(Vec<Body>),
    WhereIs(WhereIs),
    WhereStart(Name),
    WhereEnd(Name),
    SimplePath { part: PathPart, simple: bool },
    Coin(f64),
    Discard,
    Quantified { what: &'static str, predicate: Predicate },
    TimeLimit,
    // with memory
    Dedup { labels: Vec<Name>, by: Option<By> },
    Range { low: u64, high: Option<u64> },
    LocalRange { low: i64, high: i64 },
    LocalTail(i64),
    LocalSample(u64),
    LocalDedup(Option<By>),
    LocalOrder(Vec<SortBy>),
    LocalReduce(Reduce),
    // barriers
    Tail(u64),
    Sample { count: u64, by: Option<By> },
    Order(Vec<SortBy>),
    Reduce(Reduce),
    Fold(Option<(Object, Token)>),
    Group { side: Option<Name>, grouping: Grouping },
    GroupCount { side: Option<Name>, by: By },
    Tree { side: Option<Name>, by: Vec<By> },
    Subgraph(Name),
    Call(Box<crate::services::Call>),
    Barrier { normalise_sacks: bool },
    // side effects
    As(Vec<Name>),
    Forget(Vec<Name>),
    Aggregate { side: Name, by: By, eager: bool },
    SideEffect(Body),
    Sack { operator: Token, by: Option<By> },
    Fail(Option<Name>),
    // branches
    Local(Body),
    Union(Vec<Body>),
    Choose { by: ChooseBy, options: Vec<(Pick, Body)>, all: bool },
    Coalesce(Vec<Body>),
    Optional(Body),
    Repeat(Box<Repeat>),
    Match(Vec<MatchPattern>),
    // changes
    AddVertex { label: Option<Given>, properties: Vec<SetProperty> },
    AddEdge { label: Given, from: EndOf, to: EndOf, properties: Vec<SetProperty> },
    SetProperty(SetProperty),
    SetProperties { cardinality: Option<Token>, map: Given },
    Drop,
    Merge(Box<Merge>),
}

/// The criterion of `choose` and `branch`.
#[derive(Clone, Debug)]
pub enum ChooseBy {
    /// The results of a traversal; all of them for `branch`.
    Body(Body),
    /// Whether a predicate holds.
    Predicate(Predicate),
    /// Whether a traversal yields something.
    Test(Body),
    /// A token or key.
    By(By),
}
