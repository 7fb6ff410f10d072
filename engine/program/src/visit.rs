//! Inputs and outputs of a program.

use crate::Value;

/// Which relationships of a node are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeDirection {
    /// Those that begin there.
    #[default]
    Out,
    /// Those that end there.
    In,
    /// Both; a loop once.
    Both,
}

/// Which properties a program reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Properties {
    /// None.
    #[default]
    None,
    /// Those of these names.
    Named(Vec<String>),
    /// All.
    All,
}

/// The parts of nodes that a program reads, and where it begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// Relationships of these types; of all types where the list is empty.
    pub types: Vec<String>,
    /// In this direction.
    pub direction: EdgeDirection,
    /// Does it read relationships at all?
    pub edges: bool,
    /// Properties of nodes.
    pub properties: Properties,
    /// Properties of relationships.
    pub edge_properties: Properties,
    /// Labels of nodes.
    pub labels: bool,
    /// Of the messages to one node in one round only the least is delivered.
    pub least: bool,
    /// Where its start is null it begins at all nodes, or at those with one of these labels; `None`: such a call is refused.
    pub everywhere: Option<Vec<String>>,
    /// [`NodeProgram::end`](crate::NodeProgram::end) is called.
    pub ends: bool,
}

impl Needs {
    /// Outgoing relationships, and all nodes as the default start.
    pub fn out() -> Needs {
        Needs { edges: true, everywhere: Some(Vec::new()), ..Needs::default() }
    }
    /// Relationships in both directions, and all nodes as the default start.
    pub fn both() -> Needs {
        Needs { direction: EdgeDirection::Both, ..Needs::out() }
    }
}

/// A relationship, as seen from a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeEdge {
    /// The node at the other end.
    pub other: u64,
    /// Its type.
    pub kind: std::rc::Rc<str>,
    /// Does it begin at the node that is visited?
    pub is_outgoing: bool,
    /// The properties that are read, without those that are null.
    pub properties: Vec<(std::rc::Rc<str>, Value)>,
}

/// A node that is visited.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VisitedNode {
    /// Its number within this run.
    pub id: u64,
    /// The program's state there; null at the first visit.
    pub state: Value,
    /// Messages, in the order of their senders.
    pub messages: Vec<Value>,
    /// Labels, where they are read.
    pub labels: Vec<std::rc::Rc<str>>,
    /// The properties that are read, without those that are null.
    pub properties: Vec<(std::rc::Rc<str>, Value)>,
    /// Relationships, where they are read.
    pub edges: Vec<NodeEdge>,
}

impl VisitedNode {
    /// A property; null where it is not there.
    pub fn property(&self, name: &str) -> &Value {
        found(&self.properties, name)
    }
}

impl NodeEdge {
    /// A property; null where it is not there.
    pub fn property(&self, name: &str) -> &Value {
        found(&self.properties, name)
    }
}

fn found<'a>(properties: &'a [(std::rc::Rc<str>, Value)], name: &str) -> &'a Value {
    let found = properties.iter().find(|(key, _)| **key == *name);
    found.map_or(&Value::Null, |(_, value)| value)
}

/// The outputs of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeOutbox {
    /// Messages for the next round, with the nodes that get them.
    pub messages: Vec<(u64, Value)>,
    /// Rows: a node and a value.
    pub rows: Vec<(u64, Value)>,
    /// No round behind this one is needed.
    pub is_enough: bool,
}

impl NodeOutbox {
    /// Sends a message to a node that this program has met.
    pub fn send(&mut self, to: u64, message: Value) {
        self.messages.push((to, message));
    }
    /// Hands out a row.
    pub fn emit(&mut self, node: u64, value: Value) {
        self.rows.push((node, value));
    }
    /// Says that no round behind this one is needed.
    pub fn enough(&mut self) {
        self.is_enough = true;
    }
}

/// One call of a module: some nodes of one round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeCall {
    /// Parameters of the query.
    pub parameters: Value,
    /// Rounds before this one.
    pub round: u32,
    /// Is it the end, behind the last round?
    pub is_end: bool,
    /// The nodes.
    pub nodes: Vec<VisitedNode>,
}

/// The answer to a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The new state of each node, in order.
    pub states: Vec<Value>,
    /// Its outputs.
    pub out: NodeOutbox,
}
