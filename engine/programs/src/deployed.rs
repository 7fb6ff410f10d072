//! Programs that users deploy as WebAssembly.
//!
//! Idea: a module is an entry of the catalogue, so a snapshot has one version of it. It imports nothing, so it has no clock, no randomness, no files
//! and no network. Each slice of a round gets a fresh instance, and slices and calls are cut by the graph alone: memory of a module beyond the states
//! that the database keeps for it does not depend on scheduling, so its answer is the same every time. Invariant: a faulty module ends its query with
//! an error and affects nothing else: its memory, its instructions and the bytes that it returns are bounded, and all its output is validated.
//! Cost: an instance a slice, then some ten nanoseconds a node and a message to write and read them.

pub mod compiling;
mod convert;
pub mod module;

use crate::limits::{BYTES_PER_TOLD, CALL_BYTES_AIM, CALL_BYTES_MAX, DEPLOYED_SLICE_VERTICES};
use crate::limits::{EDGE_BYTES_MIN, MESSAGE_BYTES_MAX};
use crate::program::{Batch, Combine, Everywhere, FollowedEdges, NodeProgram, ProgramGraph};
use compiling::CompileEnd;
use convert::{KnownNodes, TakeEnd, read_value, write_value};
use dataflow::Failure;
use dataflow::watch::LoopBytes;
use model::{Direction, EdgeRef, EdgeTypeId, KeyId, Value, VertexId};
use module::{Instance, Module, ModuleStop};
use procedures::settings::wrong;
use program::wire::{CallWriter, Malformed, ReplyPart, each_of_reply, read_needs};
use program::{Needs, Properties};
use std::ops::Range;
use std::sync::Arc;
use store::{LabelFilter, Snapshot};

/// Keys that a program reads.
enum Keys {
    All,
    Some(Vec<KeyId>),
}

impl Keys {
    /// Those that the graph knows; others are null everywhere.
    fn of(properties: &Properties, snapshot: &Snapshot) -> Keys {
        match properties {
            Properties::All => Keys::All,
            Properties::None => Keys::Some(Vec::new()),
            Properties::Named(names) => {
                Keys::Some(names.iter().filter_map(|name| snapshot.catalog().key(name)).collect())
            }
        }
    }
}

/// A deployed program with its parameters.
pub struct DeployedProgram {
    name: Arc<str>,
    module: Arc<Module>,
    /// As they are given to each call.
    parameters: Vec<u8>,
    needs: Needs,
    types: Vec<EdgeTypeId>,
    /// None of the types that it names is known.
    has_no_edges: bool,
    direction: Direction,
    keys: Keys,
    edge_keys: Keys,
    everywhere: Everywhere,
}

impl DeployedProgram {
    /// The program of this module.
    ///
    /// # Errors
    /// It is no module, or it does not take the parameters.
    pub fn open(
        name: &str,
        module: &Arc<[u8]>,
        parameters: &Value,
        snapshot: &Snapshot,
    ) -> Result<DeployedProgram, Failure> {
        let module = compiling::compiled(module).map_err(|end| match end {
            CompileEnd::Wrong(why) => wrong(format!("the program `{name}` cannot be run: {why}")).into(),
            CompileEnd::Stopped(stopped) => Failure::from(stopped),
        })?;
        let parameters = convert::parameters(parameters)?;
        let told = module.instance().and_then(|mut instance| instance.call("tanglewood_needs", &parameters));
        let told = told.map_err(|stop| stop.told(name, 0))?;
        let needs = read_needs(&told).map_err(|error| malformed(name, error))?;
        let needs = needs.map_err(|message| refused(name, &message))?;
        let catalog = snapshot.catalog();
        let types: Vec<EdgeTypeId> = match needs.types.as_slice() {
            [] => snapshot.statistics().edge_types(),
            names => names.iter().filter_map(|name| catalog.edge_type(name)).collect(),
        };
        let everywhere = match &needs.everywhere {
            None => Everywhere::Nowhere,
            Some(labels) if labels.is_empty() => Everywhere::Passing(LabelFilter::Any),
            Some(labels) => {
                let known = labels.iter().filter_map(|label| catalog.label(label));
                Everywhere::Passing(LabelFilter::Or(known.map(LabelFilter::Has).collect()))
            }
        };
        Ok(DeployedProgram {
            name: name.into(),
            module,
            parameters,
            has_no_edges: types.is_empty() || !needs.edges,
            types,
            direction: match needs.direction {
                program::EdgeDirection::Out => Direction::Out,
                program::EdgeDirection::In => Direction::In,
                program::EdgeDirection::Both => Direction::Both,
            },
            keys: Keys::of(&needs.properties, snapshot),
            edge_keys: Keys::of(&needs.edge_properties, snapshot),
            everywhere,
            needs,
        })
    }

    /// Does it read no labels, properties and edges?
    fn wants_nothing(&self) -> bool {
        let has_no_keys = matches!(&self.keys, Keys::Some(keys) if keys.is_empty());
        !self.needs.labels && has_no_keys && self.has_no_edges
    }

    /// One call for the nodes of a batch.
    fn call(&self, batch: &mut Batch<'_>, is_end: bool) -> Result<(), Failure> {
        let (mut edges, mut next) = (Vec::new(), 0);
        while next < batch.len() {
            let (first, mut writer) = (next, CallWriter::default());
            // Where nodes are large, fewer are given at once: how many depends on them alone.
            while next < batch.len() && writer.part().bytes.len() < CALL_BYTES_AIM {
                self.write_node(batch, next, &mut writer, &mut edges)?;
                next += 1;
            }
            self.call_with(batch, first..next, writer, is_end)?;
        }
        Ok(())
    }

    /// May a node get this many bytes?
    fn check_bytes(&self, bytes: usize) -> Result<(), Failure> {
        if bytes <= CALL_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "the program `{}` would be given more than {CALL_BYTES_MAX} bytes of one node; send fewer or smaller messages, or read less of a node",
            self.name
        );
        Err(wrong(message).into())
    }

    /// One call for some nodes of a batch, which are written.
    fn call_with(
        &self,
        batch: &mut Batch<'_>,
        nodes: Range<usize>,
        mut writer: CallWriter,
        is_end: bool,
    ) -> Result<(), Failure> {
        self.check_bytes(writer.part().bytes.len())?;
        let given = writer.finish(&self.parameters, batch.round, is_end);
        let kept = batch.out.scratch().and_then(|kept| kept.downcast::<Instance>().ok());
        let told = |stop: ModuleStop| stop.told(&self.name, nodes.len());
        let mut instance = match kept {
            Some(instance) => instance,
            None => Box::new(self.module.instance().map_err(told)?),
        };
        // Between calls it is charged as a scratch, within a call here.
        let mut held = LoopBytes::default();
        held.set((instance.memory_bytes() + given.len()) as u64)?;
        let told = instance.call("tanglewood_visit", &given).map_err(told)?;
        // As values, what was told takes more.
        held.set((instance.memory_bytes() + given.len() + told.len() * BYTES_PER_TOLD) as u64)?;
        let bytes = instance.memory_bytes();
        batch.out.keep(Some(instance), bytes);
        self.take(&told, nodes, batch).map_err(|end| match end {
            TakeEnd::Malformed(error) => malformed(&self.name, error),
            TakeEnd::Failed(failure) => failure,
        })
    }

    fn write_node(
        &self,
        batch: &mut Batch<'_>,
        at: usize,
        writer: &mut CallWriter,
        edges: &mut Vec<EdgeRef>,
    ) -> Result<(), Failure> {
        let (graph, vertex) = (batch.graph, batch.vertex(at));
        writer.node().long(VertexId::from_dense(vertex).0);
        write_value(writer.part(), batch.state(at))?;
        let messages = batch.messages(at);
        writer.part().length(messages.len());
        messages.each(|message| {
            write_value(writer.part(), message)?;
            self.check_bytes(writer.part().bytes.len())
        })?;
        if self.wants_nothing() {
            writer.nothing_of_it();
            return Ok(());
        }
        let labels = if self.needs.labels { graph.labels(vertex)? } else { Vec::new() };
        writer.part().length(labels.len());
        labels.iter().for_each(|label| writer.named(label));
        match &self.keys {
            Keys::All => write_properties(writer, graph, graph.properties(vertex)?)?,
            Keys::Some(keys) if keys.is_empty() => writer.part().length(0),
            Keys::Some(keys) => {
                let read = |key: &KeyId| Ok((*key, graph.property(vertex, *key)?));
                let found = keys.iter().map(read).collect::<Result<_, Failure>>()?;
                write_properties(writer, graph, found)?;
            }
        }
        edges.clear();
        if !self.has_no_edges {
            self.check_bytes(graph.degree(vertex)? as usize * EDGE_BYTES_MIN)?;
            graph.for_each_edge(vertex, |edge| edges.push(edge))?;
        }
        writer.part().length(edges.len());
        edges.iter().try_for_each(|edge| {
            self.write_edge(graph, vertex, edge, writer)?;
            self.check_bytes(writer.part().bytes.len())
        })
    }

    fn write_edge(
        &self,
        graph: &ProgramGraph,
        vertex: u32,
        edge: &EdgeRef,
        writer: &mut CallWriter,
    ) -> Result<(), Failure> {
        let is_outgoing = edge.source.dense() == vertex && self.direction != Direction::In;
        let other = if is_outgoing { edge.target } else { edge.source };
        writer.part().long(other.0);
        let kind = graph.snapshot().catalog().edge_type_name(edge.id.edge_type());
        writer.named(kind.map_or("", |kind| kind));
        writer.part().byte(u8::from(is_outgoing));
        match &self.edge_keys {
            Keys::All => write_properties(writer, graph, graph.edge_properties(edge.id)?),
            Keys::Some(keys) if keys.is_empty() => {
                writer.part().length(0);
                Ok(())
            }
            Keys::Some(keys) => {
                let read =
                    |key: &KeyId| Ok((*key, graph.edge_property(edge.id, *key, |found| found.to_value())?));
                let found = keys.iter().map(read).collect::<Result<_, Failure>>()?;
                write_properties(writer, graph, found)
            }
        }
    }

    /// Takes the program's reply part by part. One that turns out to be none ends the query, with all that was taken of it.
    fn take(&self, told: &[u8], nodes: Range<usize>, batch: &mut Batch<'_>) -> Result<(), TakeEnd> {
        let known = KnownNodes { graph: batch.graph, program: &self.name };
        let (mut of_state, mut of_row) = (nodes.start, nodes.start);
        let reply = each_of_reply(told, |part, reader| -> Result<(), TakeEnd> {
            match part {
                ReplyPart::States(count) if count != nodes.len() => {
                    return Err(Malformed("there is not one state for each node").into());
                }
                ReplyPart::States(_) => {}
                ReplyPart::State => {
                    *batch.state(of_state) = read_value(reader, 0, &known)?;
                    of_state += 1;
                }
                ReplyPart::Message(to) => {
                    let to = known.node(to)?.dense();
                    batch.out.send(to, read_value(reader, 0, &known)?);
                }
                ReplyPart::Row(node) => {
                    // Most rows are those of the given nodes, in their order.
                    let is_next = of_row < nodes.end && VertexId::from_dense(batch.vertex(of_row)).0 == node;
                    let node = if is_next { batch.vertex(of_row) } else { known.node(node)?.dense() };
                    of_row += usize::from(is_next);
                    batch.out.emit(node, read_value(reader, 0, &known)?);
                }
                ReplyPart::End(true) => batch.out.enough(),
                ReplyPart::End(false) => {}
            }
            Ok(())
        })?;
        reply.map_err(|message| refused(&self.name, &message).into())
    }
}

fn write_properties(
    writer: &mut CallWriter,
    graph: &ProgramGraph,
    found: Vec<(KeyId, Value)>,
) -> Result<(), Failure> {
    let catalog = graph.snapshot().catalog();
    let named = found.into_iter().filter(|(_, value)| !value.is_null());
    let named: Vec<_> = named.filter_map(|(key, value)| Some((catalog.key_name(key)?, value))).collect();
    writer.part().length(named.len());
    for (name, value) in named {
        writer.named(name);
        write_value(writer.part(), &value)?;
    }
    Ok(())
}

/// The error of a program with an invalid reply.
fn malformed(name: &str, error: Malformed) -> Failure {
    wrong(format!("the program `{name}` answered what is no answer: {error}")).into()
}

/// A program that ended its query with an error of its own.
fn refused(name: &str, message: &str) -> Failure {
    let message = &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)];
    wrong(format!("the program `{name}` says: {message}")).into()
}

impl NodeProgram for DeployedProgram {
    fn edges(&self) -> FollowedEdges<'_> {
        let is_all = self.needs.types.is_empty();
        FollowedEdges { types: &self.types, is_all, direction: self.direction }
    }
    fn combine(&self) -> Combine {
        if self.needs.least { Combine::Least } else { Combine::Each }
    }
    fn everywhere(&self) -> Everywhere {
        self.everywhere.clone()
    }
    fn visit(&self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        self.call(batch, false)
    }
    fn slice_vertices(&self) -> usize {
        DEPLOYED_SLICE_VERTICES
    }
    fn remembers_calls(&self) -> bool {
        true
    }
    fn ends(&self) -> bool {
        self.needs.ends
    }
    fn end(&self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        self.call(batch, true)
    }
}
