//! Procedures that ask something about every vertex: `graph.bfs`, `graph.cdlp`, `graph.lcc`, `graph.pagerank`, `graph.sssp`, `graph.wcc`.
//!
//! Each takes one map, lists the vertices that take part, runs a state machine of `paths` in slices, so that a quota is kept and a kill is
//! heard, and hands on a row a vertex. What the map may say is read in `settings`.

mod running;
mod settings;

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::expression::Compiled;
use crate::liveness::VarSet;
use crate::stream::Stream;
use crate::turn::{Here, Progress, Try, Turn};
use model::{Batch, Column, Nulls, VertexId};
use running::{Running, Values};
use settings::Settings;
use std::sync::Arc;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// How far is each from a source?
    Bfs,
    /// Which community is it in?
    Cdlp,
    /// How densely are its neighbours joined?
    Lcc,
    /// How important is it?
    PageRank,
    /// How far is it from a source by weight?
    Sssp,
    /// What does it hang together with?
    Wcc,
}

impl Question {
    /// The question that this procedure asks, if it is one of them.
    pub(crate) fn of(procedure: &str) -> Option<Question> {
        Some(match procedure {
            "graph.bfs" => Question::Bfs,
            "graph.cdlp" => Question::Cdlp,
            "graph.lcc" => Question::Lcc,
            "graph.pagerank" => Question::PageRank,
            "graph.sssp" => Question::Sssp,
            "graph.wcc" => Question::Wcc,
            _ => return None,
        })
    }
}

struct GraphProcedure {
    question: Question,
    arguments: Arc<Vec<Compiled>>,
    /// Which of node and value are read.
    keeps: [bool; 2],
    order: Arc<[usize]>,
    nodes: Vec<VertexId>,
    values: Values,
    charged: usize,
}

impl Draw for GraphProcedure {
    type Cursor = Running;

    fn begin(&mut self, _: &Batch, here: &mut Here) -> Try<()> {
        here.environment.record(|reads| {
            reads.catalogue();
            reads.scan(None);
        });
        Ok(())
    }
    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Running> {
        let arguments = turn.here.values(&self.arguments, batch, row)?;
        let snapshot = turn.here.snapshot().clone();
        let settings = Settings::read(self.question, arguments.first(), &snapshot)?;
        Ok(Running::new(self.question, settings, snapshot, &turn.here.environment))
    }
    fn draw(
        &mut self,
        running: &mut Running,
        room: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)> {
        let before = self.nodes.len();
        let progress = running.step(room, &mut self.nodes, &mut self.values)?;
        let bytes = if progress == Progress::Done { 0 } else { running.bytes() };
        if bytes > self.charged {
            turn.context.charge(bytes - self.charged)?;
        } else {
            turn.context.release(self.charged - bytes);
        }
        self.charged = bytes;
        Ok((self.nodes.len() - before, progress))
    }
    fn columns(&mut self) -> Vec<Column> {
        let nodes = Column::Vertex(std::mem::take(&mut self.nodes), Nulls::none());
        let values = self.values.take();
        let mut columns = [Some(nodes), Some(values)];
        self.order.iter().filter(|at| self.keeps[**at]).filter_map(|at| columns[*at].take()).collect()
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::CallProcedure,
    question: Question,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let new = node.yields.iter().map(|(_, variable)| *variable);
    let feed = compiler.feed(&node.input, &required.clone().without(new).reading(&node.arguments))?;
    let layout = feed.layout();
    let arguments = node.arguments.iter().map(|argument| compiler.expression(argument, &layout));
    let arguments = Arc::new(arguments.collect::<Result<Vec<_>, _>>()?);
    let (mut order, mut columns, mut keeps) = (Vec::new(), Vec::new(), [false; 2]);
    for (field, variable) in &node.yields {
        let at = usize::from(&**field != "node");
        if required.contains(*variable) && !keeps[at] {
            keeps[at] = true;
            order.push(at);
            columns.push(*variable);
        }
    }
    let order: Arc<[usize]> = order.into();
    let make = move || {
        Drawing::new(GraphProcedure {
            question,
            arguments: arguments.clone(),
            keeps,
            order: order.clone(),
            nodes: Vec::new(),
            values: Values::of(question),
            charged: 0,
        })
    };
    Ok(compiler.attach_fan_out("GraphProcedure", &feed, required, &columns, make))
}
