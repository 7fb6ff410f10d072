//! The walk that fills the table of the physical plan.
//!
//! It goes down from main input to main input with the columns that are read, and comes back up with whether rows stand in order: a chain may have
//! many nodes and the stack is small, so only the sides of nodes with two plans are walked by recursion.

use super::algorithm::{Algorithm, Facts, choose, counts_rows_only};
use super::columns::{Columns, VarSet, carried, of_inner, of_input, of_pattern};
use super::driver::{self, OperatorDriver};
use super::{Physical, PhysicalNode};
use crate::expr::{Name, Var};
use crate::{Expr, Plan};

/// The physical plan of a statement whose scopes are chosen.
pub(crate) fn lower(plan: &Plan, columns: &[(Name, Var)]) -> Physical {
    let mut lowering = Lowering { nodes: Vec::new() };
    let required = columns.iter().map(|(_, variable)| *variable).collect();
    lowering.line(plan, required, Around::default());
    let physical = Physical { nodes: lowering.nodes, driver: driver::of_plan(plan) };
    debug_assert!(
        physical.driver == OperatorDriver::Exchange || !physical.has_scopes(),
        "a pipeline has no scopes"
    );
    physical
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Around {
    /// In a sub-query, whose rows belong to outer rows.
    pub(super) in_subquery: bool,
    /// The outer rows come in order.
    ordered: bool,
}

/// A node on the way down.
struct Descent<'p> {
    plan: &'p Plan,
    required: VarSet,
    only_count: bool,
}

struct Lowering {
    nodes: Vec<PhysicalNode>,
}

impl Lowering {
    /// Fills the entries of a node and all below it; returns whether its rows stand in order.
    fn line(&mut self, plan: &Plan, required: VarSet, around: Around) -> bool {
        let first = self.nodes.len();
        let mut steps = vec![Descent { plan, required, only_count: false }];
        while let Some(step) = steps.last() {
            let columns = Columns::from(&step.required);
            let algorithm = Algorithm::Usual;
            self.nodes.push(PhysicalNode { algorithm, columns, ordered: false, together: false });
            let Some(input) = step.plan.input() else { break };
            let only_count = match step.plan {
                Plan::Aggregate(node) => counts_rows_only(node) && !around.in_subquery,
                _ => false,
            };
            let required = of_input(step.plan, &step.required);
            steps.push(Descent { plan: input, required, only_count });
        }
        let mut ordered = false;
        for (at, step) in steps.iter().enumerate().rev() {
            let (required, only_count) = (&step.required, step.only_count);
            let facts = Facts { required, only_count, input_ordered: ordered, around };
            let algorithm = choose(step.plan, &facts);
            ordered = self.sides(step, algorithm, ordered, around);
            let node = &mut self.nodes[first + at];
            (node.algorithm, node.ordered) = (algorithm, ordered);
        }
        if !around.in_subquery {
            self.keep_together(&steps, first);
        }
        ordered
    }

    /// Finds the lowest aggregation of rows that a scan begins, grouped by the scanned vertex: its groups come one after the other if rows are not
    /// redistributed on their way. Only over one edge each: in longer walks the rows of one vertex may be too many for one executor.
    fn keep_together(&mut self, steps: &[Descent<'_>], first: usize) {
        let [.., scan, leaf] = steps else { return };
        let (Plan::ScanVertices(scan), Plan::Unit) = (scan.plan, leaf.plan) else { return };
        let passes_on = |(name, value): &(Var, Expr)| *name == scan.vertex && is_variable(value, scan.vertex);
        let mut expands = 0;
        for (at, step) in steps.iter().enumerate().rev().skip(2) {
            let goes_on = match step.plan {
                Plan::Filter(_) | Plan::Extend(_) => true,
                Plan::Project(node) => node.items.iter().any(passes_on),
                Plan::Expand(node) => {
                    expands += usize::from(!node.into);
                    expands <= 1
                }
                _ => false,
            };
            if let Plan::Aggregate(node) = step.plan
                && let Some(key) = node.keys.iter().position(|(_, key)| is_variable(key, scan.vertex))
            {
                let lowest = first + steps.len() - 2;
                self.nodes[first + at].algorithm = Algorithm::VertexByVertex { key };
                self.nodes[first + at..lowest].iter_mut().for_each(|node| node.together = true);
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Lowers the plans of a node beside its main input, whose rows may stand in order; returns whether those of the node do.
    fn sides(&mut self, step: &Descent<'_>, algorithm: Algorithm, ordered: bool, around: Around) -> bool {
        let required = &step.required;
        let sub_query = |ordered| Around { in_subquery: true, ordered };
        match step.plan {
            Plan::Argument(_) => around.ordered,
            Plan::Sort(_) => true,
            Plan::Join(node) => {
                let below = required.clone().with(node.on.iter().copied());
                let of_build = match algorithm {
                    Algorithm::BuildOnce => Around::default(),
                    _ => around,
                };
                self.line(&node.build, below.clone(), of_build);
                self.line(&node.probe, below, around)
            }
            Plan::Union(node) => {
                self.line(&node.left, carried(node, required).map(|(_, left, _)| *left).collect(), around);
                self.line(&node.right, carried(node, required).map(|(_, _, right)| *right).collect(), around);
                false
            }
            Plan::Apply(node) => {
                let is_loop = matches!(algorithm, Algorithm::Loop { .. });
                self.line(&node.inner, of_inner(node, required), sub_query(ordered && !is_loop));
                ordered && !is_loop
            }
            Plan::Merge(node) => {
                let is_inline = matches!(algorithm, Algorithm::Match { inline: true, .. });
                self.line(&node.inner, of_pattern(node), sub_query(ordered || !is_inline));
                ordered
            }
            Plan::ForEach(node) => {
                self.line(&node.body, VarSet::new(), sub_query(ordered));
                ordered
            }
            Plan::Aggregate(_) | Plan::Unit => false,
            // Executors hand on the nodes of a graph algorithm as they draw them.
            Plan::CallProcedure(_) => ordered && algorithm == Algorithm::Alone,
            _ => ordered,
        }
    }
}

fn is_variable(expr: &Expr, variable: Var) -> bool {
    matches!(expr, Expr::Variable(var) if *var == variable)
}
