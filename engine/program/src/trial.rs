//! A program tried without a database: a small graph in memory, and the rounds as the database makes them, one node after the other.
//!
//! Each call is written to bytes and read back, as between the database and a module.

use crate::visit::{EdgeDirection, Needs, NodeCall, NodeEdge, Properties, VisitedNode};
use crate::wire::{read_needs, read_reply, write_needs};
use crate::{NodeProgram, Value, run, wire};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Rounds after which a program that does not end is given up.
pub const ROUNDS_MAX: u32 = 100_000;

/// A graph to try a program on. Nodes are numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Labels and properties.
    nodes: Vec<(Vec<String>, TrialProperties)>,
    /// From, type, to, properties.
    edges: Vec<(u64, String, u64, TrialProperties)>,
}

/// Properties.
type TrialProperties = Vec<(String, Value)>;

fn owned<const N: usize>(properties: [(&str, Value); N]) -> TrialProperties {
    properties.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

impl Trial {
    /// An empty graph.
    pub fn new() -> Trial {
        Trial::default()
    }
    /// Adds a node; its number.
    pub fn node<const N: usize>(&mut self, labels: &[&str], properties: [(&str, Value); N]) -> u64 {
        self.nodes.push((labels.iter().map(|label| label.to_string()).collect(), owned(properties)));
        self.nodes.len() as u64 - 1
    }
    /// Adds a relationship.
    pub fn edge<const N: usize>(&mut self, from: u64, kind: &str, to: u64, properties: [(&str, Value); N]) {
        self.edges.push((from, kind.to_string(), to, owned(properties)));
    }
    /// Runs a program from these nodes, or from its default start: its rows, in order.
    ///
    /// # Errors
    /// The error that a caller would get.
    pub fn run<P: NodeProgram>(
        &self,
        start: Option<&[u64]>,
        parameters: &Value,
    ) -> Result<Vec<(u64, Value)>, String> {
        let needs = P::needs(parameters);
        let needs = read_needs(&write_needs(&needs)).map_err(|error| error.to_string())??;
        let mut states: BTreeMap<u64, Value> = BTreeMap::new();
        let mut rows = Vec::new();
        let mut inbox: BTreeMap<u64, Vec<Value>> =
            self.starts(start, &needs)?.into_iter().map(|node| (node, vec![Value::Null])).collect();
        let mut round = 0;
        while !inbox.is_empty() {
            if round >= ROUNDS_MAX {
                return Err(format!(
                    "the program does not end: after {ROUNDS_MAX} rounds there are still messages"
                ));
            }
            let mut next: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
            let mut is_enough = false;
            for (id, messages) in std::mem::take(&mut inbox) {
                let state = states.remove(&id).unwrap_or_default();
                let node = self.visited(id, state, messages, &needs);
                let call =
                    NodeCall { parameters: parameters.clone(), round, is_end: false, nodes: vec![node] };
                let reply = called::<P>(call)?;
                states.extend(
                    reply.states.into_iter().filter(|state| !state.is_null()).map(|state| (id, state)),
                );
                for (to, message) in reply.out.messages {
                    if to >= self.nodes.len() as u64 {
                        return Err(format!("a message to node {to}, which is not there"));
                    }
                    next.entry(to).or_default().push(message);
                }
                rows.extend(reply.out.rows);
                is_enough |= reply.out.is_enough;
            }
            inbox = if is_enough { BTreeMap::new() } else { next };
            round += 1;
        }
        if needs.ends {
            for (id, state) in states {
                let node = self.visited(id, state, Vec::new(), &needs);
                let call =
                    NodeCall { parameters: parameters.clone(), round, is_end: true, nodes: vec![node] };
                rows.extend(called::<P>(call)?.out.rows);
            }
        }
        rows.sort_by_key(|(node, _)| *node);
        Ok(rows)
    }
    fn starts(&self, start: Option<&[u64]>, needs: &Needs) -> Result<Vec<u64>, String> {
        if let Some(start) = start {
            return Ok(start.to_vec());
        }
        let refused = "this program begins where it is told: its start is a node or a list of nodes";
        let labels = needs.everywhere.as_ref().ok_or(refused)?;
        let passes = |own: &[String]| labels.is_empty() || own.iter().any(|label| labels.contains(label));
        let all = self.nodes.iter().enumerate().filter(|(_, (own, _))| passes(own));
        Ok(all.map(|(id, _)| id as u64).collect())
    }
    fn visited(&self, id: u64, state: Value, messages: Vec<Value>, needs: &Needs) -> VisitedNode {
        let (labels, properties) = &self.nodes[id as usize];
        let labels = labels.iter().filter(|_| needs.labels).map(|label| Rc::from(label.as_str()));
        let mut edges = Vec::new();
        for (from, kind, to, properties) in self.edges.iter().filter(|_| needs.edges) {
            let is_named = needs.types.is_empty() || needs.types.contains(kind);
            let leaves = *from == id && needs.direction != EdgeDirection::In;
            let comes = *to == id && needs.direction != EdgeDirection::Out && !(leaves && from == to);
            for (is_met, other, is_outgoing) in [(leaves, *to, true), (comes, *from, false)] {
                if is_met && is_named {
                    let properties = read(properties, &needs.edge_properties);
                    edges.push(NodeEdge { other, kind: kind.as_str().into(), is_outgoing, properties });
                }
            }
        }
        let messages = if needs.least { least(messages) } else { messages };
        let properties = read(properties, &needs.properties);
        VisitedNode { id, state, messages, labels: labels.collect(), properties, edges }
    }
}

/// The least of numbers; other values can be compared by the database only.
fn least(messages: Vec<Value>) -> Vec<Value> {
    let number = |value: &Value| value.as_number().unwrap_or(f64::INFINITY);
    messages.into_iter().min_by(|a, b| number(a).total_cmp(&number(b))).into_iter().collect()
}

fn read(properties: &[(String, Value)], wanted: &Properties) -> Vec<(Rc<str>, Value)> {
    let is_read = |name: &String| match wanted {
        Properties::None => false,
        Properties::All => true,
        Properties::Named(names) => names.contains(name),
    };
    let read = properties.iter().filter(|(name, value)| is_read(name) && !value.is_null());
    read.map(|(name, value)| (Rc::from(name.as_str()), value.clone())).collect()
}

/// A call by way of its bytes.
fn called<P: NodeProgram>(call: NodeCall) -> Result<crate::Reply, String> {
    let mut call = NodeCall::read(&written(&call)).map_err(|error| error.to_string())?;
    let reply = wire::write_reply(&run::<P>(&mut call));
    read_reply(&reply).map_err(|error| error.to_string())?
}

/// The bytes of a call.
fn written(call: &NodeCall) -> Vec<u8> {
    let mut writer = wire::CallWriter::default();
    for node in &call.nodes {
        let part = writer.node();
        part.long(node.id);
        part.value(&node.state);
        part.length(node.messages.len());
        node.messages.iter().for_each(|message| part.value(message));
        part.length(node.labels.len());
        node.labels.iter().for_each(|label| writer.named(label));
        write_properties(&mut writer, &node.properties);
        writer.part().length(node.edges.len());
        for edge in &node.edges {
            writer.part().long(edge.other);
            writer.named(&edge.kind);
            writer.part().byte(u8::from(edge.is_outgoing));
            write_properties(&mut writer, &edge.properties);
        }
    }
    writer.finish(&wire::write_value(&call.parameters), call.round, call.is_end)
}

fn write_properties(writer: &mut wire::CallWriter, properties: &[(Rc<str>, Value)]) {
    writer.part().length(properties.len());
    for (name, value) in properties {
        writer.named(name);
        writer.part().value(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeOutbox, VisitedNode};

    /// The least sum of `w` to each node: uses properties, states, messages, an end and an error.
    struct Cheapest;

    impl NodeProgram for Cheapest {
        fn needs(_: &Value) -> Result<Needs, String> {
            let edge_properties = Properties::Named(vec!["w".into()]);
            Ok(Needs { edge_properties, least: true, ends: true, everywhere: None, ..Needs::out() })
        }
        fn visit(_: &Value, round: u32, node: &mut VisitedNode, out: &mut NodeOutbox) -> Result<(), String> {
            let come = node.messages.iter().filter_map(Value::as_int).min();
            let sum = if round == 0 { 0 } else { come.ok_or("a message is no number")? };
            if node.state.as_int().is_some_and(|before| before <= sum) {
                return Ok(());
            }
            node.state = Value::Int(sum);
            for edge in &node.edges {
                let weight = edge.property("w").as_int().ok_or("a relationship has no weight")?;
                out.send(edge.other, Value::Int(sum + weight));
            }
            Ok(())
        }
        fn end(_: &Value, node: &mut VisitedNode, out: &mut NodeOutbox) -> Result<(), String> {
            out.emit(node.id, node.state.clone());
            Ok(())
        }
    }

    #[test]
    fn rounds_states_and_ends_are_as_in_the_database() {
        let mut graph = Trial::new();
        let [a, b, c] = [(); 3].map(|()| graph.node(&["V"], []));
        graph.edge(a, "R", b, [("w", Value::Int(9))]);
        graph.edge(a, "R", c, [("w", Value::Int(2))]);
        graph.edge(c, "R", b, [("w", Value::Int(3))]);
        graph.edge(b, "R", a, [("w", Value::Int(1))]);
        let rows = graph.run::<Cheapest>(Some(&[a]), &Value::Null).unwrap();
        assert_eq!(rows, [(a, Value::Int(0)), (b, Value::Int(5)), (c, Value::Int(2))]);
        assert!(graph.run::<Cheapest>(None, &Value::Null).unwrap_err().contains("begins where it is told"));
        graph.edge(b, "R", c, []);
        assert_eq!(
            graph.run::<Cheapest>(Some(&[a]), &Value::Null).unwrap_err(),
            "a relationship has no weight"
        );
    }
}
