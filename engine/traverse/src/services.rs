//! Services of `call`, by name: those of TinkerPop's reference graph, and node programs.
//!
//! - `--list`: the names of all services; with `service`, that one alone; with `verbose`, maps that describe them.
//! - `tinker.search`: properties whose text contains `search`; with `type`, those of a `Vertex`, an `Edge` or a `VertexProperty` alone.
//! - `program.NAME`: a node program that is built in or was deployed, begun at the vertex of the traverser, or by itself behind `g`; the
//!   parameters are its own. It gives maps of `node` and `value`.
//! - `tinker.degree.centrality`: how many edges lead to a vertex, or by `direction` away from it, or both.

use crate::step::{Body, Given, Name};
use gremlin::Object;

/// A `call` with its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which service.
    pub service: Service,
    /// The node program, where one is called.
    pub program: Option<Name>,
    /// A map of parameters.
    pub map: Option<Object>,
    /// A traversal that yields a map of parameters; its entries go before those of the map.
    pub body: Option<Body>,
    /// Parameters one by one, by `with`; they override all others.
    pub named: Vec<(Name, Given)>,
}

/// The services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The names of all.
    List,
    /// Properties by their text.
    Search,
    /// Degrees of vertices.
    Degree,
    /// A node program.
    Program,
}

/// A service: its name, and its parameters with their descriptions.
pub(crate) type Offered = (&'static str, Service, &'static [(&'static str, &'static str)]);

/// All services.
pub(crate) const SERVICES: [Offered; 2] = [
    (
        "tinker.search",
        Service::Search,
        &[("search", "a text"), ("type", "Vertex, Edge or VertexProperty; all, where it is not said")],
    ),
    (
        "tinker.degree.centrality",
        Service::Degree,
        &[("direction", "IN, OUT or BOTH; IN, where it is not said")],
    ),
];

impl Service {
    /// The service of a name.
    pub fn of(name: &str) -> Option<Service> {
        if name == "--list" {
            return Some(Service::List);
        }
        if plan::procedures::program_name(name).is_some() {
            return Some(Service::Program);
        }
        SERVICES.iter().find(|(known, ..)| *known == name).map(|(_, service, _)| *service)
    }
    /// All names, for suggestions.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ["--list"].into_iter().chain(SERVICES.iter().map(|(name, ..)| *name))
    }
}
