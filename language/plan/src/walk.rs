//! Walking plans: the inputs of a node, the expressions in it, the columns it yields, the variables it reads.
//!
//! Every rewrite is written with these, so that a new operator is taught here once. Cost: `columns` follows the line of inputs
//! down, so a rewrite that asks at each node is quadratic in the depth, which `error::PLAN_DEPTH_MAX` bounds.

use crate::algebra::*;
use crate::expr::{Expr, Var};
use crate::functions::Function;
use crate::scope::InstanceOrder;
use crate::vars::Vars;

/// The input of a node that has a main one: `node_input!(plan, &)`, or `&mut`.
macro_rules! main_input {
    ($plan:expr, $($borrow:tt)+) => {
        match $plan {
            Plan::Unit | Plan::Argument(_) | Plan::Union(_) | Plan::Join(_) => None,
            Plan::Match(node) => Some($($borrow)+ node.input),
            Plan::ScanVertices(node) => Some($($borrow)+ node.input),
            Plan::SeekVertices(node) => Some($($borrow)+ node.input),
            Plan::SeekEdges(node) => Some($($borrow)+ node.input),
            Plan::SeekIds(node) => Some($($borrow)+ node.input),
            Plan::Expand(node) => Some($($borrow)+ node.input),
            Plan::ExpandPath(node) => Some($($borrow)+ node.input),
            Plan::ExpandPattern(node) => Some($($borrow)+ node.input),
            Plan::CountMatches(node) => Some($($borrow)+ node.input),
            Plan::CountStored(node) => Some($($borrow)+ node.input),
            Plan::Intersect(node) => Some($($borrow)+ node.input),
            Plan::Filter(node) => Some($($borrow)+ node.input),
            Plan::Extend(node) => Some($($borrow)+ node.input),
            Plan::Project(node) => Some($($borrow)+ node.input),
            Plan::Aggregate(node) => Some($($borrow)+ node.input),
            Plan::Distinct(node) => Some($($borrow)+ node.input),
            Plan::Sort(node) => Some($($borrow)+ node.input),
            Plan::Skip(node) => Some($($borrow)+ node.input),
            Plan::Limit(node) => Some($($borrow)+ node.input),
            Plan::Unwind(node) => Some($($borrow)+ node.input),
            Plan::Apply(node) => Some($($borrow)+ node.input),
            Plan::CallProcedure(node) => Some($($borrow)+ node.input),
            Plan::Create(node) => Some($($borrow)+ node.input),
            Plan::Merge(node) => Some($($borrow)+ node.input),
            Plan::Set(node) => Some($($borrow)+ node.input),
            Plan::Delete(node) => Some($($borrow)+ node.input),
            Plan::ForEach(node) => Some($($borrow)+ node.input),
        }
    };
}

/// Procedures behind the commands that list running work.
const LISTS_OF_WORK: [&str; 2] = ["show queries", "show transactions"];

impl Plan {
    /// The rows that this node extends or thins out; none for leaves, unions and joins.
    pub fn input(&self) -> Option<&Plan> {
        main_input!(self, &)
    }
    /// Likewise, to change them.
    pub fn input_mut(&mut self) -> Option<&mut Plan> {
        main_input!(self, &mut)
    }
    /// All plans below this node, the main input first.
    pub fn children(&self) -> Vec<&Plan> {
        match self {
            Plan::Join(node) => vec![&node.build, &node.probe],
            Plan::Union(node) => vec![&node.left, &node.right],
            Plan::Apply(node) => vec![&node.input, &node.inner],
            Plan::Merge(node) => vec![&node.input, &node.inner],
            Plan::ForEach(node) => vec![&node.input, &node.body],
            other => other.input().into_iter().collect(),
        }
    }
    /// Likewise, to change them.
    pub fn children_mut(&mut self) -> Vec<&mut Plan> {
        match self {
            Plan::Join(node) => vec![&mut node.build, &mut node.probe],
            Plan::Union(node) => vec![&mut node.left, &mut node.right],
            Plan::Apply(node) => vec![&mut node.input, &mut node.inner],
            Plan::Merge(node) => vec![&mut node.input, &mut node.inner],
            Plan::ForEach(node) => vec![&mut node.input, &mut node.body],
            other => other.input_mut().into_iter().collect(),
        }
    }
    /// Takes the plan out, leaving `Unit`.
    pub fn take(&mut self) -> Plan {
        std::mem::replace(self, Plan::Unit)
    }
    /// Rebuilds the plan from its leaves up: `change` meets each node after its children.
    pub fn bottom_up<E>(&mut self, change: &mut dyn FnMut(&mut Plan) -> Result<(), E>) -> Result<(), E> {
        for child in self.children_mut() {
            child.bottom_up(change)?;
        }
        change(self)
    }
    /// Does this node or any below satisfy `test`?
    pub fn any(&self, test: &mut dyn FnMut(&Plan) -> bool) -> bool {
        test(self) || self.children().into_iter().any(|child| child.any(test))
    }
    /// Does this node itself change the graph?
    pub fn writes_here(&self) -> bool {
        matches!(self, Plan::Create(_) | Plan::Merge(_) | Plan::Set(_) | Plan::Delete(_) | Plan::ForEach(_))
    }
    /// Does this plan change the graph anywhere? No procedure does.
    pub fn writes(&self) -> bool {
        self.any(&mut |plan| plan.writes_here())
    }
    /// Does it read nothing but what `SHOW QUERIES` or `SHOW TRANSACTIONS` lists, once? It is short then, whatever the graph holds.
    pub fn only_lists_work(&self) -> bool {
        let mut lists = 0;
        let does_more = self.any(&mut |plan| {
            let mut asks_more = false;
            plan.expressions(&mut |expr| asks_more |= expr.any(&mut may_take_long));
            asks_more
                || match plan {
                    Plan::CallProcedure(call) => {
                        lists += 1;
                        !LISTS_OF_WORK.contains(&&*call.name)
                    }
                    Plan::Unit | Plan::Filter(_) | Plan::Extend(_) | Plan::Project(_) => false,
                    Plan::Aggregate(_) | Plan::Distinct(_) => false,
                    Plan::Sort(_) | Plan::Skip(_) | Plan::Limit(_) => false,
                    _ => true,
                }
        });
        lists == 1 && !does_more
    }
    /// Columns of the rows this plan yields, in order of their making.
    pub fn columns(&self) -> Vars {
        // Down to where columns begin, then up again; recursion only into the sides of joins.
        let (mut line, mut at) = (vec![self], self);
        while !matches!(at, Plan::Project(_) | Plan::Aggregate(_) | Plan::Distinct(_)) {
            let Some(input) = at.input() else { break };
            line.push(input);
            at = input
        }
        let mut columns = Vars::new();
        while let Some(plan) = line.pop() {
            if let Plan::Join(node) = plan {
                columns.extend(node.build.columns());
                columns.extend(node.probe.columns());
            }
            columns.extend(plan.makes());
        }
        columns
    }
    /// Columns that this node itself adds (for projections, aggregates and unions: all it yields).
    pub fn makes(&self) -> Vars {
        match self {
            Plan::Argument(columns) => of(columns),
            Plan::Match(node) => {
                let vertices = node.pattern.vertices.iter().map(|vertex| vertex.variable);
                vertices.chain(node.pattern.edges.iter().map(|edge| edge.variable)).collect()
            }
            Plan::ScanVertices(node) => of(&[node.vertex]),
            Plan::SeekVertices(node) => of(&[node.vertex]),
            Plan::SeekEdges(node) => of(&[node.edge, node.from, node.to]),
            Plan::SeekIds(node) => of(&[node.vertex]),
            Plan::Expand(node) => {
                let properties = node.properties.iter().map(|(_, column)| Some(*column));
                [node.edge, Some(node.to)].into_iter().chain(properties).flatten().collect()
            }
            Plan::ExpandPath(node) => {
                [node.edges, node.length, Some(node.to)].into_iter().flatten().collect()
            }
            Plan::CountMatches(node) => of(&[node.count]),
            Plan::CountStored(node) => of(&[node.count]),
            Plan::Intersect(node) => of(&[node.to]),
            Plan::ExpandPattern(node) => of(&node.makes()),
            Plan::Extend(node) => node.items.iter().map(|(var, _)| *var).collect(),
            Plan::Project(node) => node.items.iter().map(|(var, _)| *var).collect(),
            Plan::Aggregate(node) => {
                let keys = node.keys.iter().map(|(var, _)| *var);
                keys.chain(node.aggregates.iter().map(|(var, _)| *var)).collect()
            }
            Plan::Distinct(node) => node.columns.iter().chain(&node.carried).copied().collect(),
            Plan::Unwind(node) => of(&[node.variable]),
            Plan::Apply(node) => node.kind.makes(),
            Plan::Union(node) => node.columns.iter().map(|(var, ..)| *var).collect(),
            Plan::CallProcedure(node) => node.yields.iter().map(|(_, var)| *var).collect(),
            Plan::Create(node) => made_by_create(&node.vertices, &node.edges),
            Plan::Merge(node) => {
                let mut made = made_by_create(&node.vertices, &node.edges);
                made.extend(node.inner.columns());
                made.extend(node.paths.iter().map(|(var, _)| *var));
                made
            }
            Plan::Unit | Plan::Filter(_) | Plan::Sort(_) | Plan::Skip(_) | Plan::Limit(_) => Vars::new(),
            Plan::Join(_) | Plan::Set(_) | Plan::Delete(_) | Plan::ForEach(_) => Vars::new(),
        }
    }
    /// Variables of its input that this node itself reads, each once: those in its expressions and those it names.
    pub fn reads(&self) -> Vars {
        let mut read = Vars::new();
        self.expressions(&mut |expr| read.extend(expr.free_variables()));
        match self {
            Plan::Match(node) => {
                let local = node.pattern.edges.iter().filter_map(|edge| edge.run.as_ref());
                let local: Vars =
                    local.filter_map(|run| run.edge_predicate.as_ref()).map(|(var, _)| *var).collect();
                read.retain(|var| !local.contains(var));
                read.extend(self.makes())
            }
            Plan::Expand(node) => {
                read.extend([node.from]);
                read.extend(node.into.then_some(node.to))
            }
            Plan::ExpandPath(node) => {
                let local = node.edge_predicate.as_ref().map(|(var, _)| *var);
                read.retain(|var| Some(*var) != local);
                read.extend([node.from]);
                read.extend(node.into.then_some(node.to))
            }
            Plan::CountMatches(node) => read.extend([node.start]),
            Plan::Intersect(node) => read.extend(node.arms.iter().map(|arm| arm.from)),
            Plan::ExpandPattern(node) => {
                let local = node.local();
                read.retain(|var| !local.contains(var));
                read.extend([node.from]);
                read.extend(node.into.then_some(node.to))
            }
            Plan::Distinct(node) => read.extend(node.columns.iter().chain(&node.carried).copied()),
            Plan::Join(node) => read.extend(node.on.iter().copied()),
            Plan::Apply(node) => read.extend(node.imports.iter().copied()),
            Plan::Union(node) => read.extend(node.columns.iter().flat_map(|(_, a, b)| [*a, *b])),
            Plan::Create(node) => read.extend(ends(&node.edges)),
            Plan::Merge(node) => {
                read.extend(node.imports.iter().copied());
                read.extend(ends(&node.edges));
                read.extend(named(&node.on_create));
                read.extend(named(&node.on_match));
                read.extend(node.paths.iter().flat_map(|(_, parts)| parts.iter().copied()));
            }
            Plan::Set(node) => read.extend(named(&node.items)),
            Plan::ForEach(node) => read.extend(node.imports.iter().copied().filter(|v| *v != node.variable)),
            _ => {}
        }
        read
    }
}

impl ApplyKind {
    /// Columns that the rows of the outer plan get.
    pub fn makes(&self) -> Vars {
        match self {
            ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => of(columns),
            ApplyKind::Exists(var) | ApplyKind::Count(var) => of(&[*var]),
            ApplyKind::Collect { list, .. } => of(&[*list]),
            ApplyKind::Repeat(repeat) => of(&[repeat.to]),
            ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Unit => Vars::new(),
        }
    }
}

fn of(columns: &[Var]) -> Vars {
    columns.iter().copied().collect()
}

fn made_by_create(vertices: &[CreateVertex], edges: &[CreateEdge]) -> Vars {
    vertices.iter().map(|vertex| vertex.variable).chain(edges.iter().map(|edge| edge.variable)).collect()
}

fn ends(edges: &[CreateEdge]) -> impl Iterator<Item = Var> {
    edges.iter().flat_map(|edge| [edge.source, edge.target])
}

/// Variables that changes name outside expressions.
fn named(items: &[SetItem]) -> impl Iterator<Item = Var> {
    items.iter().filter_map(|item| match item {
        SetItem::Property(..) | SetItem::DynamicProperty(..) => None,
        SetItem::Properties { variable, .. } | SetItem::DynamicLabels { variable, .. } => Some(*variable),
        SetItem::AddLabels(variable, _) | SetItem::RemoveLabels(variable, _) => Some(*variable),
    })
}

/// The expressions in a look-up.
macro_rules! seek_expressions {
    ($seek:expr, $visit:expr, $iter:ident) => {
        match $seek {
            Seek::Equal(list) => list.$iter().for_each(&mut *$visit),
            Seek::In(expr) | Seek::Prefix(expr) => $visit(expr),
            Seek::Range(low, high) => low.$iter().chain(high.$iter()).for_each(|(expr, _)| $visit(expr)),
        }
    };
}

/// The expressions in one node, for both kinds of borrow.
macro_rules! each_expression {
    ($plan:expr, $visit:expr, $iter:ident, $($borrow:tt)+) => {
        match $plan {
            Plan::Match(node) => {
                node.pattern.predicates.$iter().for_each(&mut *$visit);
                let runs = node.pattern.edges.$iter().filter_map(|edge| { let run = $($borrow)+ edge.run; run.into_iter().next() });
                runs.filter_map(|run| { let predicate = $($borrow)+ run.edge_predicate; predicate.into_iter().next() }).for_each(|(_, expr)| $visit(expr));
            }
            Plan::SeekVertices(node) => seek_expressions!($($borrow)+ node.seek, $visit, $iter),
            Plan::SeekEdges(node) => seek_expressions!($($borrow)+ node.seek, $visit, $iter),
            Plan::SeekIds(node) => $visit($($borrow)+ node.ids),
            Plan::ExpandPath(node) => node.edge_predicate.$iter().for_each(|(_, expr)| $visit(expr)),
            Plan::ExpandPattern(node) => {
                node.parts.$iter().for_each(|part| part.predicate.$iter().for_each(&mut *$visit));
                node.predicate.$iter().for_each(&mut *$visit);
            }
            Plan::Filter(node) => $visit($($borrow)+ node.predicate),
            Plan::Extend(node) => node.items.$iter().for_each(|(_, expr)| $visit(expr)),
            Plan::Project(node) => node.items.$iter().for_each(|(_, expr)| $visit(expr)),
            Plan::Aggregate(node) => {
                node.keys.$iter().for_each(|(_, expr)| $visit(expr));
                node.aggregates.$iter().for_each(|(_, call)| call.arguments.$iter().for_each(&mut *$visit));
            }
            Plan::Sort(node) => {
                node.keys.$iter().for_each(|key| $visit($($borrow)+ key.expr));
                node.limit.$iter().for_each(&mut *$visit);
            }
            Plan::Skip(node) => $visit($($borrow)+ node.count),
            Plan::Limit(node) => $visit($($borrow)+ node.count),
            Plan::Unwind(node) => $visit($($borrow)+ node.list),
            Plan::CallProcedure(node) => node.arguments.$iter().for_each(&mut *$visit),
            Plan::Create(node) => {
                node.vertices.$iter().for_each(|made| made.properties.$iter().for_each(&mut *$visit));
                node.edges.$iter().for_each(|made| {
                    made.properties.$iter().for_each(&mut *$visit);
                    made.dynamic_type.$iter().for_each(&mut *$visit);
                });
            }
            Plan::Merge(node) => {
                node.vertices.$iter().for_each(|made| made.properties.$iter().for_each(&mut *$visit));
                node.edges.$iter().for_each(|made| made.properties.$iter().for_each(&mut *$visit));
                for item in node.on_create.$iter().chain(node.on_match.$iter()) {
                    each_in_change!(item, $visit)
                }
            }
            Plan::Set(node) => node.items.$iter().for_each(|item| each_in_change!(item, $visit)),
            Plan::Delete(node) => node.targets.$iter().for_each(&mut *$visit),
            Plan::ForEach(node) => $visit($($borrow)+ node.list),
            Plan::Unit | Plan::Argument(_) | Plan::ScanVertices(_) | Plan::Expand(_) => {}
            Plan::CountMatches(_) | Plan::CountStored(_) | Plan::Intersect(_) => {}
            Plan::Apply(node) => {
                if let (InstanceOrder::By(_), Some(rank)) = (node.scope.order, $($borrow)+ node.rank) {
                    $visit(rank)
                }
            }
            Plan::Distinct(_) | Plan::Join(_) | Plan::Union(_) => {}
        }
    };
}

macro_rules! each_in_change {
    ($item:expr, $visit:expr) => {
        match $item {
            SetItem::Property(subject, _, value) => {
                $visit(subject);
                $visit(value)
            }
            SetItem::DynamicProperty(subject, key, value) => {
                $visit(subject);
                $visit(key);
                $visit(value)
            }
            SetItem::Properties { value, .. } => $visit(value),
            SetItem::DynamicLabels { labels, .. } => $visit(labels),
            SetItem::AddLabels(..) | SetItem::RemoveLabels(..) => {}
        }
    };
}

impl Plan {
    /// Calls `visit` on each expression of this node (not of those below).
    pub fn expressions<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        each_expression!(self, visit, iter, &)
    }
    /// Likewise, to change them.
    pub fn expressions_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        each_expression!(self, visit, iter_mut, &mut)
    }
}

/// Does this part of an expression do more work than its text is long?
fn may_take_long(part: &Expr) -> bool {
    let loops = matches!(part, Expr::Comprehension { .. } | Expr::Quantified { .. } | Expr::Reduce { .. });
    loops || matches!(part, Expr::Subquery(_) | Expr::Call(Function::Range, _))
}
