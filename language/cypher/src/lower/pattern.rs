//! Patterns of paths to the planner's unordered pattern: vertices once each, edges and runs between them, conditions.
//!
//! All names of a pattern are declared before any of its conditions is lowered, so a condition may speak of a later node.
//! A repeated group of one directed relationship becomes a run whose conditions are spoken over each edge, its ends being
//! the edge's start and end; the group's own names become lists cut from the run's path.

use plan::expr::{BinaryOperator, Expr, Var};
use plan::pattern::{PathMode, Pattern, PatternEdge, PatternVertex, Run, Selector};
use plan::{Function, LabelExpr};

use super::scope::Scope;
use super::types::Type;
use super::value::labels;
use super::{Lowered, Lowerer, fail, fail_with_hint, name};
use crate::ast::{
    self, Expression, ExpressionKind, GroupPattern, LabelExpression, Name, NodePattern, PathPattern, PatternElement,
    Quantifier, RelationshipPattern,
};
use crate::error::ErrorKind;
use crate::span::Span;

/// A lowered pattern.
pub(crate) struct Matched {
    pub pattern: Pattern,
    /// Names that are computed from what was found: paths, and the lists of groups.
    pub computed: Vec<(String, Var, Expr)>,
}

/// Whether a pattern may bring new names: patterns that are predicates may not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    New,
    Known,
}

/// A path as nodes and edges in turn, groups resolved.
enum Step<'a> {
    Node(Option<&'a NodePattern>),
    Edge(EdgeStep<'a>),
}

#[derive(Clone, Copy)]
struct EdgeStep<'a> {
    relationship: &'a RelationshipPattern,
    quantifier: Option<Quantifier>,
    group: Option<&'a GroupPattern>,
}

/// Conditions to lower once all names are known.
enum Condition<'a> {
    Node(Var, &'a NodePattern),
    Edge(usize, EdgeStep<'a>),
    Plain(&'a Expression),
}

#[derive(Default)]
struct Building<'a> {
    pattern: Pattern,
    computed: Vec<(String, Var, Expr)>,
    conditions: Vec<Condition<'a>>,
}

impl Lowerer<'_> {
    /// Lowers the paths of one pattern; their names are declared in the scope.
    pub(super) fn pattern(&mut self, paths: &[PathPattern], scope: &mut Scope, names: Names) -> Lowered<Matched> {
        let mut building = Building::default();
        for path in paths {
            self.path(path, scope, names, &mut building)?;
        }
        for condition in std::mem::take(&mut building.conditions) {
            match condition {
                Condition::Node(var, node) => self.node_conditions(var, node, scope, &mut building.pattern)?,
                Condition::Edge(index, step) => self.edge_conditions(index, step, scope, &mut building.pattern)?,
                Condition::Plain(expression) => {
                    let predicate = self.predicate(expression, scope)?.expr;
                    building.pattern.predicates.extend(predicate.conjuncts());
                }
            }
        }
        Ok(Matched { pattern: building.pattern, computed: building.computed })
    }

    fn path<'a>(
        &mut self,
        path: &'a PathPattern,
        scope: &mut Scope,
        names: Names,
        building: &mut Building<'a>,
    ) -> Lowered<()> {
        let mut steps = Vec::new();
        flatten(&path.elements, &mut steps, building)?;
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
                        parts.push(self.pattern_edge(edge, [from, to], (path, selector), scope, names, building)?);
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

    fn declare_path(
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

    fn pattern_node<'a>(
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
        match building.pattern.vertices.iter_mut().find(|vertex| vertex.variable == var) {
            Some(vertex) => vertex.labels = std::mem::replace(&mut vertex.labels, LabelExpr::Any).and(wanted),
            None => building.pattern.vertices.push(PatternVertex { variable: var, labels: wanted }),
        }
        if let Some(node) = node {
            building.conditions.push(Condition::Node(var, node));
        }
        Ok(var)
    }

    fn node_variable(&mut self, variable: &Name, scope: &mut Scope, names: Names) -> Lowered<Var> {
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
        let var = self.edge_variable(relationship.variable.as_ref(), run.is_some(), scope, names, building)?;
        let types = relationship.types.as_ref().and_then(plain_types).unwrap_or_default();
        let direction = direction(relationship.direction);
        building.pattern.edges.push(PatternEdge { variable: var, from, to, types, direction, run });
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
                return fail_with_hint(ErrorKind::RelationshipUniquenessViolation, message, variable.span, hint);
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
        self.properties_equal(&Expr::Variable(var), node.properties.as_ref(), scope, &mut pattern.predicates)?;
        if let Some(condition) = &node.condition {
            pattern.predicates.extend(self.predicate(condition, scope)?.expr.conjuncts());
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
        let each = self.unnamed("edge");
        let mut predicates = Vec::new();
        let mark = scope.mark();
        if let Some(variable) = &relationship.variable {
            scope.declare_local(&variable.text, each, Type::Relationship);
        }
        if let Some(group) = step.group {
            self.group_conditions(group, each, scope, &mut predicates)?;
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

    /// What a relationship pattern says of one edge.
    fn each_edge(
        &mut self,
        edge: Expr,
        step: EdgeStep<'_>,
        scope: &mut Scope,
        predicates: &mut Vec<Expr>,
    ) -> Lowered<()> {
        let relationship = step.relationship;
        if let Some(types) = relationship.types.as_ref().filter(|types| plain_types(types).is_none()) {
            predicates.push(Expr::HasLabels(Box::new(edge.clone()), labels(types)));
        }
        self.properties_equal(&edge, relationship.properties.as_ref(), scope, predicates)?;
        if let Some(condition) = &relationship.condition {
            predicates.push(self.predicate(condition, scope)?.expr);
        }
        Ok(())
    }

    /// The conditions of a group's nodes and of the group itself, over one edge of its run.
    fn group_conditions(
        &mut self,
        group: &GroupPattern,
        each: Var,
        scope: &mut Scope,
        predicates: &mut Vec<Expr>,
    ) -> Lowered<()> {
        let (left, right) = group_ends(group);
        let incoming = group_edge(group).is_some_and(|edge| edge.direction == ast::Direction::Incoming);
        let ends = if incoming { [Function::EndNode, Function::StartNode] } else { [Function::StartNode, Function::EndNode] };
        let end = |function: Function| Expr::Call(function, vec![Expr::Variable(each)]);
        let nodes = [(left, end(ends[0])), (right, end(ends[1]))];
        for (node, value) in &nodes {
            if let Some(variable) = node.and_then(|node| node.variable.as_ref()) {
                scope.declare_instead(&variable.text, each, Type::Node, value.clone());
            }
        }
        for (node, value) in nodes {
            let Some(node) = node else { continue };
            if let Some(wanted) = &node.labels {
                predicates.push(Expr::HasLabels(Box::new(value.clone()), labels(wanted)));
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

/// Resolves groups: one without a quantifier is spliced in, a repeated one becomes an edge step.
fn flatten<'a>(elements: &'a [PatternElement], steps: &mut Vec<Step<'a>>, building: &mut Building<'a>) -> Lowered<()> {
    for element in elements {
        match element {
            PatternElement::Relationship(relationship) => steps.push(Step::Edge(EdgeStep {
                relationship,
                quantifier: relationship.quantifier,
                group: None,
            })),
            PatternElement::Node(node) => match steps.last_mut() {
                Some(Step::Node(Some(_))) => return unsupported("two nodes side by side", node.span),
                Some(Step::Node(slot)) => *slot = Some(node),
                _ => steps.push(Step::Node(Some(node))),
            },
            PatternElement::Group(group) if group.quantifier.is_none() => {
                if group.path.variable.is_some() || group.path.selector != ast::Selector::Every {
                    return unsupported("a named or selective path in brackets", group.span);
                }
                flatten(&group.path.elements, steps, building)?;
                building.conditions.extend(group.condition.as_ref().map(Condition::Plain));
            }
            PatternElement::Group(group) => {
                let Some(relationship) = group_edge(group) else {
                    return unsupported("a repeated group of more than one relationship", group.span);
                };
                check_group(group, relationship)?;
                if !matches!(steps.last(), Some(Step::Node(_))) {
                    steps.push(Step::Node(None));
                }
                let quantifier = group.quantifier;
                steps.push(Step::Edge(EdgeStep { relationship, quantifier, group: Some(group) }));
                steps.push(Step::Node(None));
            }
        }
    }
    Ok(())
}

/// The one single relationship of a group.
fn group_edge(group: &GroupPattern) -> Option<&RelationshipPattern> {
    match group.path.elements.as_slice() {
        [PatternElement::Node(_), PatternElement::Relationship(edge), PatternElement::Node(_)] => {
            (edge.length.is_none() && edge.quantifier.is_none()).then_some(edge)
        }
        _ => None,
    }
}

fn group_ends(group: &GroupPattern) -> (Option<&NodePattern>, Option<&NodePattern>) {
    fn node(element: Option<&PatternElement>) -> Option<&NodePattern> {
        match element {
            Some(PatternElement::Node(node)) => Some(node),
            _ => None,
        }
    }
    (node(group.path.elements.first()), node(group.path.elements.last()))
}

fn check_group(group: &GroupPattern, relationship: &RelationshipPattern) -> Lowered<()> {
    if group.path.variable.is_some() {
        return unsupported("a named path inside a repeated group", group.span);
    }
    let (left, right) = group_ends(group);
    let speaks = |node: Option<&NodePattern>| {
        node.is_some_and(|node| node.labels.is_some() || node.properties.is_some() || node.condition.is_some())
    };
    let named = |node: Option<&NodePattern>| node.is_some_and(|node| node.variable.is_some());
    let about_nodes = speaks(left) || speaks(right) || (group.condition.is_some() && (named(left) || named(right)));
    if about_nodes && relationship.direction == ast::Direction::Either {
        return unsupported("a condition on the nodes of a repeated undirected relationship", group.span);
    }
    Ok(())
}

/// Which of the runs of a path are wanted; anything but all of them needs a path of one relationship.
fn selector(path: &PathPattern, steps: &[Step<'_>]) -> Lowered<Selector> {
    let single = matches!(steps, [Step::Node(_), Step::Edge(_), Step::Node(_)]);
    let conditional = path.elements.iter().any(|element| match element {
        PatternElement::Group(group) => group.quantifier.is_none() && group.condition.is_some(),
        _ => false,
    });
    let selector = match path.selector {
        ast::Selector::Every => return Ok(Selector::Every),
        ast::Selector::ShortestPath | ast::Selector::Shortest(1) | ast::Selector::Any(1) => Selector::AnyShortest,
        ast::Selector::AllShortestPaths | ast::Selector::AllShortest | ast::Selector::ShortestGroups(1) => {
            Selector::AllShortest
        }
        _ => return unsupported("more than one path, or group of paths, for each pair of nodes", path.span),
    };
    if conditional {
        return unsupported("a condition on a whole path before the shortest is chosen", path.span);
    }
    if !single {
        let message = "a shortest path needs a pattern of one relationship";
        let hint = "write shortestPath((a)-[:TYPE*]-(b))";
        return fail_with_hint(ErrorKind::InvalidRelationshipPattern, message, path.span, hint);
    }
    Ok(selector)
}

/// The run of an edge step, if it is more than a single edge.
fn run(step: EdgeStep<'_>, path: &PathPattern, selector: Selector) -> Option<Run> {
    let bound = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let (min, max) = match (step.relationship.length, step.quantifier) {
        (_, Some(Quantifier { min, max })) => (min, max),
        (Some(range), None) => (range.min.unwrap_or(1), range.max),
        (None, None) if selector != Selector::Every => (1, Some(1)),
        (None, None) => return None,
    };
    let mode = match path.mode {
        None | Some(ast::PathMode::Trail) => PathMode::Trail,
        Some(ast::PathMode::Walk) => PathMode::Walk,
        Some(ast::PathMode::Acyclic) => PathMode::Acyclic,
        Some(ast::PathMode::Simple) => PathMode::Simple,
    };
    Some(Run { min: bound(min), max: max.map(bound), selector, mode, edge_predicate: None })
}

/// The types of `:A|B`; `None` for conditions that a list of types cannot say.
fn plain_types(types: &LabelExpression) -> Option<Vec<plan::expr::Name>> {
    match types {
        LabelExpression::Name(single) => Some(vec![name(single)]),
        LabelExpression::Or(parts) => {
            let single = |part: &LabelExpression| match part {
                LabelExpression::Name(single) => Some(name(single)),
                _ => None,
            };
            parts.iter().map(single).collect()
        }
        _ => None,
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
    let message = format!("`{}` is a {}, but a {wanted} stands here", variable.text, found.name());
    fail_with_hint(ErrorKind::VariableTypeConflict, message, variable.span, "use another name")
}

fn unsupported<T>(what: &str, span: Span) -> Lowered<T> {
    fail(ErrorKind::NotSupported, format!("{what} in a pattern is not supported"), span)
}
