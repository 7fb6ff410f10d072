//! Patterns of paths to the planner's unordered pattern: vertices once each, edges and runs between them, conditions.
//!
//! All names of a pattern are declared before any of its conditions is lowered, so a condition may speak of a later node.
//! A repeated group of one directed relationship becomes a run whose conditions are spoken over each edge, its ends being
//! the edge's start and end; the group's own names become lists cut from the run's path.

use plan::algebra::ExpandPattern;
use plan::expr::{BinaryOperator, Expr, Quantifier, Var};
use plan::pattern::{PathMode, Pattern, PatternEdge, PatternVertex, Run, Selector};
use plan::{Function, LabelExpr};

use super::dynamic::is_dynamic;
use super::repeat;
use super::scope::Scope;
use super::search;
use super::steps::{
    EdgeStep, Step, flatten, group_edge, group_ends, needs_order, plain_types, run, selector,
};
use super::types::Type;
use super::value::labels;
use super::{Lowered, Lowerer, fail, fail_with_hint, name};
use crate::ast::{self, Expression, ExpressionKind, GroupPattern, Name, NodePattern, PathPattern};
use crate::error::ErrorKind;
use crate::limits::PATTERN_NODES_MAX;
use text::Span;

/// A lowered pattern.
pub(crate) struct Matched {
    pub pattern: Pattern,
    /// Names that are computed from found entities: paths, and the lists of groups.
    pub computed: Vec<(String, Var, Expr)>,
    /// Paths that are searched behind the pattern, in order; their inputs are yet to be filled in.
    pub searches: Vec<ExpandPattern>,
    /// Repeated groups that are run behind them.
    pub rounds: Vec<repeat::Rounds>,
    /// Are edges distinct within a path only?
    pub is_repeatable: bool,
}

/// Whether a pattern may bring new names: patterns that are predicates may not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    New,
    Known,
}

/// Conditions to lower once all names are known.
pub(super) enum Condition<'a> {
    Node(Var, &'a NodePattern),
    Edge(usize, EdgeStep<'a>),
    Plain(&'a Expression),
    /// Of a part of a search.
    Round(search::Round<'a>),
    /// Of a whole searched path.
    Whole(usize, &'a Expression),
}

#[derive(Default)]
pub(super) struct Building<'a> {
    pub pattern: Pattern,
    pub computed: Vec<(String, Var, Expr)>,
    pub conditions: Vec<Condition<'a>>,
    pub searches: Vec<ExpandPattern>,
    pub rounds: Vec<repeat::Rounds>,
    /// Are edges distinct within a path only?
    is_repeatable: bool,
    /// Paths so far.
    paths: u32,
}

impl Building<'_> {
    /// Whether a variable is a column only behind a search.
    pub fn is_made_by_search(&self, var: Var) -> bool {
        let makes = |search: &ExpandPattern| {
            [search.edges, search.rounds].contains(&var) || (search.to == var && !search.into)
        };
        self.searches.iter().any(makes) || self.rounds.iter().any(|rounds| rounds.makes() == var)
    }
}

impl Lowerer<'_> {
    /// Lowers the paths of one pattern; their names are declared in the scope.
    pub(super) fn pattern(
        &mut self,
        paths: &[PathPattern],
        scope: &mut Scope,
        names: Names,
    ) -> Lowered<Matched> {
        let is_repeatable = std::mem::take(&mut self.is_repeatable);
        let mut building = Building { is_repeatable, ..Building::default() };
        // Searches come last, so that they know which of their ends the other paths have found.
        let (searched, plain): (Vec<&PathPattern>, Vec<&PathPattern>) =
            paths.iter().partition(|path| search::needs_search(path) || repeat::parts(path).is_some());
        for path in plain {
            building.paths += 1;
            self.path(path, scope, names, &mut building)?;
        }
        for path in searched {
            if let Some(parts) = repeat::parts(path) {
                self.rounds(path, parts, scope, names, &mut building)?;
                continue;
            }
            self.search(path, scope, names, &mut building)?;
        }
        for condition in std::mem::take(&mut building.conditions) {
            match condition {
                Condition::Node(var, node) => {
                    self.node_conditions(var, node, scope, &mut building.pattern)?
                }
                Condition::Edge(index, step) => {
                    self.edge_conditions(index, step, scope, &mut building.pattern)?
                }
                Condition::Plain(expression) => {
                    let predicate = self.predicate(expression, scope)?.expr;
                    building.pattern.predicates.extend(predicate.conjuncts());
                }
                Condition::Round(round) => self.round_conditions(round, scope, &mut building)?,
                Condition::Whole(number, condition) => {
                    self.whole_condition(number, condition, scope, &mut building)?
                }
            }
        }
        let searches = building.searches.into_iter().map(search::in_walking_order).collect();
        let (pattern, computed, rounds) = (building.pattern, building.computed, building.rounds);
        Ok(Matched { pattern, computed, searches, rounds, is_repeatable })
    }

    fn path<'a>(
        &mut self,
        path: &'a PathPattern,
        scope: &mut Scope,
        names: Names,
        building: &mut Building<'a>,
    ) -> Lowered<()> {
        let mut steps = Vec::new();
        let mut conditions = Vec::new();
        flatten(&path.elements, &mut steps, &mut conditions)?;
        building.conditions.extend(conditions.into_iter().map(Condition::Plain));
        let selector = selector(path, &steps)?;
        let mut parts = Vec::new();
        let mut waiting: Option<EdgeStep<'a>> = None;
        for step in steps {
            match step {
                Step::Edge(edge) => waiting = Some(edge),
                Step::Node(node) => {
                    let to = self.pattern_node(node, scope, names, building)?;
                    if let Some(edge) = waiting.take() {
                        let from = *parts.last().expect("an edge stands between two nodes");
                        parts.push(self.pattern_edge(
                            edge,
                            [from, to],
                            (path, selector),
                            scope,
                            names,
                            building,
                        )?);
                    }
                    parts.push(to);
                }
            }
        }
        if let Some(variable) = &path.variable {
            self.declare_path(variable, parts, scope, building)?;
        }
        Ok(())
    }

    pub(super) fn declare_path(
        &mut self,
        variable: &Name,
        parts: Vec<Var>,
        scope: &mut Scope,
        building: &mut Building<'_>,
    ) -> Lowered<()> {
        if scope.get(&variable.text).is_some() {
            return fail(ErrorKind::VariableAlreadyBound, already_declared(variable), variable.span);
        }
        let var = self.variable(&variable.text);
        let value = Expr::PathOf(parts);
        scope.declare_instead(&variable.text, var, Type::Path, value.clone());
        building.computed.push((variable.text.clone(), var, value));
        Ok(())
    }

    pub(super) fn pattern_node<'a>(
        &mut self,
        node: Option<&'a NodePattern>,
        scope: &mut Scope,
        names: Names,
        building: &mut Building<'a>,
    ) -> Lowered<Var> {
        let var = match node.and_then(|node| node.variable.as_ref()) {
            None => self.unnamed("node"),
            Some(variable) => self.node_variable(variable, scope, names)?,
        };
        let wanted = node.and_then(|node| node.labels.as_ref()).map_or(LabelExpr::Any, labels);
        let full = building.pattern.vertices.len() >= PATTERN_NODES_MAX;
        match building.pattern.vertices.iter_mut().find(|vertex| vertex.variable == var) {
            Some(vertex) => vertex.labels = std::mem::replace(&mut vertex.labels, LabelExpr::Any).and(wanted),
            None if full => {
                let span = node.map_or(Span::default(), |node| node.span);
                let message = format!("the pattern has more than {PATTERN_NODES_MAX} nodes");
                return fail(ErrorKind::LimitExceeded, message, span);
            }
            None => building.pattern.vertices.push(PatternVertex { variable: var, labels: wanted }),
        }
        if let Some(node) = node {
            building.conditions.push(Condition::Node(var, node));
        }
        Ok(var)
    }

    pub(super) fn node_variable(&mut self, variable: &Name, scope: &mut Scope, names: Names) -> Lowered<Var> {
        if names == Names::Known || scope.get(&variable.text).is_some() {
            let binding = self.find(scope, &variable.text, variable.span)?;
            if binding.instead.is_some() || !binding.kind.may_be(&[Type::Node]) {
                return type_conflict(variable, &binding.kind, "Node");
            }
            return Ok(binding.var);
        }
        let var = self.variable(&variable.text);
        scope.declare(&variable.text, var, Type::Node);
        Ok(var)
    }

    fn pattern_edge<'a>(
        &mut self,
        step: EdgeStep<'a>,
        [from, to]: [Var; 2],
        (path, selector): (&'a PathPattern, Selector),
        scope: &mut Scope,
        names: Names,
        building: &mut Building<'a>,
    ) -> Lowered<Var> {
        let relationship = step.relationship;
        let run = run(step, path, selector);
        let var =
            self.edge_variable(relationship.variable.as_ref(), run.is_some(), scope, names, building)?;
        let types = relationship.types.as_ref().and_then(plain_types).unwrap_or_default();
        let direction = direction(relationship.direction);
        if run.as_ref().is_some_and(excludes_cycles) {
            let differ = Expr::binary(BinaryOperator::NotEqual, Expr::Variable(from), Expr::Variable(to));
            building.pattern.predicates.push(differ);
        }
        let distinct_among = match path.mode {
            Some(ast::PathMode::Walk) => None,
            _ if building.is_repeatable => Some(building.paths),
            _ => Some(0),
        };
        building.pattern.edges.push(PatternEdge {
            variable: var,
            from,
            to,
            types,
            direction,
            run,
            distinct_among,
        });
        building.conditions.push(Condition::Edge(building.pattern.edges.len() - 1, step));
        if let Some(group) = step.group {
            self.declare_group_nodes(group, [from, var, to], scope, building)?;
        }
        Ok(var)
    }

    fn edge_variable(
        &mut self,
        variable: Option<&Name>,
        run: bool,
        scope: &mut Scope,
        names: Names,
        building: &Building<'_>,
    ) -> Lowered<Var> {
        let Some(variable) = variable else { return Ok(self.unnamed("relationship")) };
        let kind = if run { Type::list(Type::Relationship) } else { Type::Relationship };
        if names == Names::Known || scope.get(&variable.text).is_some() {
            let binding = self.find(scope, &variable.text, variable.span)?;
            if building.pattern.edges.iter().any(|edge| edge.variable == binding.var) {
                let message = format!("relationship `{}` stands twice in one pattern", variable.text);
                let hint = "no relationship is matched twice, so give each its own name";
                return fail_with_hint(
                    ErrorKind::RelationshipUniquenessViolation,
                    message,
                    variable.span,
                    hint,
                );
            }
            if binding.instead.is_some() || !binding.kind.may_be(std::slice::from_ref(&kind)) {
                return type_conflict(variable, &binding.kind, kind.name());
            }
            return Ok(binding.var);
        }
        let var = self.variable(&variable.text);
        scope.declare(&variable.text, var, kind);
        Ok(var)
    }

    /// The nodes of a repeated group are lists: all nodes of its run but the last, and all but the first.
    fn declare_group_nodes(
        &mut self,
        group: &GroupPattern,
        parts: [Var; 3],
        scope: &mut Scope,
        building: &mut Building<'_>,
    ) -> Lowered<()> {
        let (left, right) = group_ends(group);
        let nodes = Expr::Call(Function::Nodes, vec![Expr::PathOf(parts.to_vec())]);
        let bound = |at: i64| Some(Box::new(Expr::literal(at)));
        for (node, from, to) in [(left, None, bound(-1)), (right, bound(1), None)] {
            let Some(variable) = node.and_then(|node| node.variable.as_ref()) else { continue };
            if scope.get(&variable.text).is_some() {
                return fail(ErrorKind::VariableAlreadyBound, already_declared(variable), variable.span);
            }
            let var = self.variable(&variable.text);
            let value = Expr::Slice(Box::new(nodes.clone()), from, to);
            scope.declare_instead(&variable.text, var, Type::list(Type::Node), value.clone());
            building.computed.push((variable.text.clone(), var, value));
        }
        Ok(())
    }

    // --- conditions ---

    fn node_conditions(
        &mut self,
        var: Var,
        node: &NodePattern,
        scope: &mut Scope,
        pattern: &mut Pattern,
    ) -> Lowered<()> {
        self.dynamic_labels(var, node.labels.as_ref(), scope, pattern)?;
        self.properties_equal(
            &Expr::Variable(var),
            node.properties.as_ref(),
            scope,
            &mut pattern.predicates,
        )?;
        if let Some(condition) = &node.condition {
            pattern.predicates.extend(self.predicate(condition, scope)?.expr.conjuncts());
        }
        Ok(())
    }

    /// The conditions that a node has the labels that are known only with the row.
    pub(super) fn dynamic_labels(
        &mut self,
        var: Var,
        labels: Option<&ast::LabelExpression>,
        scope: &mut Scope,
        pattern: &mut Pattern,
    ) -> Lowered<()> {
        let parts = match labels {
            Some(ast::LabelExpression::And(parts)) => parts.as_slice(),
            other => other.map(std::slice::from_ref).unwrap_or_default(),
        };
        for wanted in parts.iter().filter(|wanted| is_dynamic(wanted)) {
            let condition = self.label_condition(&Expr::Variable(var), &Type::Node, wanted, scope)?;
            pattern.predicates.push(condition);
        }
        Ok(())
    }

    fn edge_conditions(
        &mut self,
        index: usize,
        step: EdgeStep<'_>,
        scope: &mut Scope,
        pattern: &mut Pattern,
    ) -> Lowered<()> {
        let relationship = step.relationship;
        if pattern.edges[index].run.is_none() {
            let edge = Expr::Variable(pattern.edges[index].variable);
            return self.each_edge(edge, step, scope, &mut pattern.predicates);
        }
        if let Some(group) = step.group.filter(|group| needs_order(group)) {
            return self.ordered_conditions(index, (step, group), scope, pattern);
        }
        let each = self.unnamed("edge");
        let mut predicates = Vec::new();
        let mark = scope.mark();
        if let Some(variable) = &relationship.variable {
            scope.declare_local(&variable.text, each, Type::Relationship);
        }
        if let Some(group) = step.group {
            self.group_conditions(group, edge_ends(group, each), scope, &mut predicates)?;
        }
        self.each_edge(Expr::Variable(each), step, scope, &mut predicates)?;
        scope.forget_since(mark);
        if !predicates.is_empty() {
            let predicate = super::expression::balanced(BinaryOperator::And, predicates);
            if let Some(run) = &mut pattern.edges[index].run {
                run.edge_predicate = Some((each, predicate));
            }
        }
        Ok(())
    }

    /// Conditions on a run whose edges do not tell which of their ends comes first: each place of the run is tested once the
    /// whole run is known.
    fn ordered_conditions(
        &mut self,
        index: usize,
        (step, group): (EdgeStep<'_>, &GroupPattern),
        scope: &mut Scope,
        pattern: &mut Pattern,
    ) -> Lowered<()> {
        let PatternEdge { variable: edges, from, to, .. } = pattern.edges[index];
        let place = self.unnamed("place");
        let at = |list: Expr, place: Expr| Expr::Index(Box::new(list), Box::new(place));
        let nodes = || Expr::Call(Function::Nodes, vec![Expr::PathOf(vec![from, edges, to])]);
        let next = Expr::binary(BinaryOperator::Add, Expr::Variable(place), Expr::literal(1_i64));
        let ends = [at(nodes(), Expr::Variable(place)), at(nodes(), next)];
        let edge = at(Expr::Variable(edges), Expr::Variable(place));
        let mut predicates = Vec::new();
        let mark = scope.mark();
        if let Some(variable) = &step.relationship.variable {
            scope.declare_instead(&variable.text, place, Type::Relationship, edge.clone());
        }
        self.group_conditions(group, ends, scope, &mut predicates)?;
        self.each_edge(edge, step, scope, &mut predicates)?;
        scope.forget_since(mark);
        let size = Expr::Call(Function::Size, vec![Expr::Variable(edges)]);
        let last = Expr::binary(BinaryOperator::Subtract, size, Expr::literal(1_i64));
        pattern.predicates.push(Expr::Quantified {
            quantifier: Quantifier::All,
            variable: place,
            list: Box::new(Expr::Call(Function::Range, vec![Expr::literal(0_i64), last])),
            predicate: Box::new(super::expression::balanced(BinaryOperator::And, predicates)),
        });
        Ok(())
    }

    /// The conditions of a relationship pattern on one edge.
    fn each_edge(
        &mut self,
        edge: Expr,
        step: EdgeStep<'_>,
        scope: &mut Scope,
        predicates: &mut Vec<Expr>,
    ) -> Lowered<()> {
        let relationship = step.relationship;
        if let Some(types) = relationship.types.as_ref().filter(|types| plain_types(types).is_none()) {
            predicates.push(self.label_condition(&edge, &Type::Relationship, types, scope)?);
        }
        self.properties_equal(&edge, relationship.properties.as_ref(), scope, predicates)?;
        if let Some(condition) = &relationship.condition {
            predicates.push(self.predicate(condition, scope)?.expr);
        }
        Ok(())
    }

    /// The conditions of a group's nodes and of the group itself, over one edge of its run; the ends are given.
    fn group_conditions(
        &mut self,
        group: &GroupPattern,
        [first, second]: [Expr; 2],
        scope: &mut Scope,
        predicates: &mut Vec<Expr>,
    ) -> Lowered<()> {
        let (left, right) = group_ends(group);
        let nodes = [(left, first), (right, second)];
        for (node, value) in &nodes {
            if let Some(variable) = node.and_then(|node| node.variable.as_ref()) {
                let unused = self.unnamed("end");
                scope.declare_instead(&variable.text, unused, Type::Node, value.clone());
            }
        }
        for (node, value) in nodes {
            let Some(node) = node else { continue };
            if let Some(wanted) = &node.labels {
                predicates.push(self.label_condition(&value, &Type::Node, wanted, scope)?);
            }
            self.properties_equal(&value, node.properties.as_ref(), scope, predicates)?;
            if let Some(condition) = &node.condition {
                predicates.push(self.predicate(condition, scope)?.expr);
            }
        }
        if let Some(condition) = &group.condition {
            predicates.push(self.predicate(condition, scope)?.expr);
        }
        Ok(())
    }

    /// `{key: value}` in a pattern that is looked for: each property equals its value.
    pub(super) fn properties_equal(
        &mut self,
        owner: &Expr,
        properties: Option<&Expression>,
        scope: &mut Scope,
        predicates: &mut Vec<Expr>,
    ) -> Lowered<()> {
        let Some(properties) = properties else { return Ok(()) };
        let ExpressionKind::Map(entries) = &properties.kind else {
            let message = "a pattern that is looked for cannot take its properties from a parameter";
            let hint = "name the properties: {id: $props.id}";
            return fail_with_hint(ErrorKind::InvalidParameterUse, message, properties.span, hint);
        };
        for (key, value) in entries {
            let property = Expr::Property(Box::new(owner.clone()), name(key));
            let value = self.expression(value, scope)?.expr;
            predicates.push(Expr::binary(BinaryOperator::Equal, property, value));
        }
        Ok(())
    }
}

/// A shortest path between two nodes repeats none, so `ACYCLIC` only says that they differ.
fn excludes_cycles(run: &Run) -> bool {
    run.mode == PathMode::Acyclic && run.selector != Selector::Every && run.min > 0
}

/// The ends of one edge of a directed group, in the order of the text.
fn edge_ends(group: &GroupPattern, each: Var) -> [Expr; 2] {
    let end = |function: Function| Expr::Call(function, vec![Expr::Variable(each)]);
    match group_edge(group).map(|edge| edge.direction) {
        Some(ast::Direction::Incoming) => [end(Function::EndNode), end(Function::StartNode)],
        _ => [end(Function::StartNode), end(Function::EndNode)],
    }
}

pub(super) fn direction(direction: ast::Direction) -> model::Direction {
    match direction {
        ast::Direction::Outgoing => model::Direction::Out,
        ast::Direction::Incoming => model::Direction::In,
        ast::Direction::Either => model::Direction::Both,
    }
}

pub(super) fn already_declared(variable: &Name) -> String {
    format!("variable `{}` is already declared", variable.text)
}

pub(super) fn type_conflict<T>(variable: &Name, found: &Type, wanted: &str) -> Lowered<T> {
    let message = format!("`{}` has type {}, but a {wanted} is needed here", variable.text, found.name());
    fail_with_hint(ErrorKind::VariableTypeConflict, message, variable.span, "use another name")
}
