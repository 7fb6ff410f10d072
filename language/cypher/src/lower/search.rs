//! Paths that are searched as a whole: groups of several relationships, more than one shortest path, conditions on a path before
//! the shortest is chosen, path modes over several relationships.
//!
//! A path becomes parts, and the operator `ExpandPattern` finds all its relationships as one list, with a list of how often each part was
//! gone through. Every name inside the path is computed from these two: where a part begins is the sum of the lengths of those before.
//! Conditions on one round of a part are spoken over variables that are bound within the round only.

mod conditions;

use plan::algebra::{ExpandPattern, PartEdge, PathChoice, PatternPart};
use plan::expr::{BinaryOperator, Expr, UnaryOperator, Var};
use plan::pattern::{PathMode, PatternVertex};
use plan::{Function, LabelExpr, Plan};

use super::pattern::{Building, Condition, Names, already_declared, direction};
use super::scope::Scope;
use super::steps::plain_types;
use super::types::Type;
use super::value::labels;
use super::{Lowered, Lowerer, fail};
use crate::ast::{
    self, Expression, GroupPattern, Name, NodePattern, PathPattern, PatternElement, RelationshipPattern,
    Selector,
};
use crate::error::ErrorKind;
use text::Span;

/// A piece of a path, groups without a quantifier dissolved.
#[derive(Clone, Copy)]
enum PatternPiece<'a> {
    Node(&'a NodePattern),
    Edge(&'a RelationshipPattern),
    Group(&'a GroupPattern),
}

/// The inputs of a part's conditions.
#[derive(Clone, Copy)]
pub(super) struct Round<'a> {
    piece: PatternPiece<'a>,
    search: usize,
    part: usize,
}

/// A path as pieces, with the conditions and the name of the brackets around it.
#[derive(Default)]
struct PatternPieces<'a> {
    list: Vec<PatternPiece<'a>>,
    conditions: Vec<&'a Expression>,
    name: Option<&'a Name>,
}

/// Whether a path is more than the planner's runs can say.
pub(super) fn needs_search(path: &PathPattern) -> bool {
    let mut pieces = PatternPieces::default();
    let legacy = matches!(path.selector, Selector::ShortestPath | Selector::AllShortestPaths);
    if legacy || dissolve(&path.elements, &mut pieces).is_err() {
        return false;
    }
    let edges = pieces.list.iter().filter(|piece| !matches!(piece, PatternPiece::Node(_))).count();
    let groups = || {
        pieces.list.iter().filter_map(|piece| match piece {
            PatternPiece::Group(group) => Some(*group),
            _ => None,
        })
    };
    let long = groups().any(|group| super::steps::group_edge(group).is_none());
    let chosen = match path.selector {
        Selector::Every => false,
        Selector::Shortest(1) | Selector::Any(1) | Selector::AllShortest | Selector::ShortestGroups(1) => {
            edges != 1 || !pieces.conditions.is_empty() || groups().any(super::steps::needs_order)
        }
        _ => true,
    };
    let strict = matches!(path.mode, Some(ast::PathMode::Acyclic | ast::PathMode::Simple));
    long || chosen || pieces.name.is_some() || (strict && edges > 1)
}

fn dissolve<'a>(elements: &'a [PatternElement], pieces: &mut PatternPieces<'a>) -> Lowered<()> {
    for element in elements {
        match element {
            PatternElement::Node(node) => {
                if matches!(pieces.list.last(), Some(PatternPiece::Node(_))) {
                    return unsupported("two nodes side by side", node.span);
                }
                pieces.list.push(PatternPiece::Node(node));
            }
            PatternElement::Relationship(relationship) => pieces.list.push(PatternPiece::Edge(relationship)),
            PatternElement::Group(group) if group.quantifier.is_some() => {
                pieces.list.push(PatternPiece::Group(group))
            }
            PatternElement::Group(group) => {
                let whole = elements.len() == 1;
                if group.path.selector != Selector::Every || (group.path.variable.is_some() && !whole) {
                    return unsupported("a named or selective path in brackets", group.span);
                }
                pieces.name = group.path.variable.as_ref();
                pieces.conditions.extend(&group.condition);
                dissolve(&group.path.elements, pieces)?;
            }
        }
    }
    Ok(())
}

/// A part being lowered: the facts that names need.
struct Placed {
    edges: u32,
    /// Rounds, where they are always the same.
    fixed: Option<u32>,
}

/// The columns that all names of a path are computed from.
struct Columns {
    left: Var,
    right: Var,
    edges: Var,
    rounds: Var,
}

impl Columns {
    fn nodes(&self) -> Expr {
        Expr::Call(Function::Nodes, vec![Expr::PathOf(vec![self.left, self.edges, self.right])])
    }
}

impl Lowerer<'_> {
    /// Lowers a path that needs a search; its conditions wait until all names are known.
    pub(super) fn search<'a>(
        &mut self,
        path: &'a PathPattern,
        scope: &mut Scope,
        names: Names,
        building: &mut Building<'a>,
    ) -> Lowered<()> {
        let mut pieces = PatternPieces::default();
        dissolve(&path.elements, &mut pieces)?;
        let (first, last) = (node_at(pieces.list.first()), node_at(pieces.list.last()));
        let reversed = better_from_right(first, last, scope);
        let start = if reversed { last } else { first };
        let from = self.search_start(start, scope, names, building)?;
        let (to, into) = match pieces.list.as_slice() {
            [PatternPiece::Node(_)] => (from, true),
            _ => self.search_end(if reversed { first } else { last }, scope, names, building)?,
        };
        let (edges, rounds) = (self.unnamed("edges"), self.unnamed("rounds"));
        let (left, right) = if reversed { (to, from) } else { (from, to) };
        let columns = Columns { left, right, edges, rounds };
        let number = building.searches.len();
        let mut parts = Vec::new();
        let mut placed: Vec<Placed> = Vec::new();
        for (at, piece) in pieces.list.iter().enumerate() {
            let outer = at == 0 || at + 1 == pieces.list.len();
            let part = match piece {
                PatternPiece::Node(node) if outer => outer_part(node, if at == 0 { left } else { right }),
                PatternPiece::Node(node) => self.node_part(node, &columns, &placed, scope, building)?,
                PatternPiece::Edge(edge) => self.edge_part(edge, &columns, &placed, scope, building)?,
                PatternPiece::Group(group) => self.group_part(group, &columns, &placed, scope, building)?,
            };
            if !(outer && matches!(piece, PatternPiece::Node(_))) {
                let round = Round { piece: *piece, search: number, part: parts.len() };
                building.conditions.push(Condition::Round(round));
            }
            let fixed = part.max.filter(|max| *max == part.min);
            placed.push(Placed { edges: part.edges.len() as u32, fixed });
            parts.push(part);
        }
        for condition in &pieces.conditions {
            building.conditions.push(Condition::Whole(number, condition));
        }
        for name in path.variable.iter().chain(pieces.name) {
            self.declare_path(name, vec![left, edges, right], scope, building)?;
        }
        let (mode, choice) = (mode(path), choice(path.selector));
        let input = Plan::Unit;
        building.searches.push(ExpandPattern {
            input,
            from,
            to,
            into,
            parts,
            mode,
            choice,
            edges,
            rounds,
            reversed,
            predicate: None,
        });
        Ok(())
    }

    pub(super) fn search_start<'a>(
        &mut self,
        node: Option<&'a NodePattern>,
        scope: &mut Scope,
        names: Names,
        building: &mut Building<'a>,
    ) -> Lowered<Var> {
        let found = node.and_then(|node| node.variable.as_ref()).and_then(|name| scope.get(&name.text));
        let made = found.map(|binding| binding.var).filter(|var| building.is_made_by_search(*var));
        match (made, node) {
            (Some(var), Some(node)) => {
                building.conditions.push(Condition::Node(var, node));
                Ok(var)
            }
            _ => self.pattern_node(node, scope, names, building),
        }
    }

    /// The far end, and whether it is bound by something else.
    pub(super) fn search_end<'a>(
        &mut self,
        node: Option<&'a NodePattern>,
        scope: &mut Scope,
        names: Names,
        building: &mut Building<'a>,
    ) -> Lowered<(Var, bool)> {
        let Some(variable) = node.and_then(|node| node.variable.as_ref()) else {
            return Ok((self.unnamed("node"), false)).inspect(|(var, _)| {
                building.conditions.extend(node.map(|node| Condition::Node(*var, node)));
            });
        };
        if names == Names::Known || scope.get(&variable.text).is_some() {
            return Ok((self.search_start(node, scope, names, building)?, true));
        }
        let var = self.node_variable(variable, scope, names)?;
        building.conditions.extend(node.map(|node| Condition::Node(var, node)));
        Ok((var, false))
    }

    // --- parts ---

    fn node_part(
        &mut self,
        node: &NodePattern,
        columns: &Columns,
        before: &[Placed],
        scope: &mut Scope,
        building: &mut Building<'_>,
    ) -> Lowered<PatternPart> {
        let local = self.unnamed("place");
        let wanted = node.labels.as_ref().map_or(LabelExpr::Any, labels);
        let mut part = PatternPart {
            vertices: vec![PatternVertex { variable: local, labels: wanted }],
            edges: Vec::new(),
            min: 1,
            max: Some(1),
            predicate: None,
        };
        let Some(variable) = &node.variable else { return Ok(part) };
        if let Some(known) = scope.get(&variable.text) {
            if known.instead.is_some() || building.is_made_by_search(known.var) {
                return unsupported("a node that stands twice inside one searched path", variable.span);
            }
            let known = Expr::Variable(self.find(scope, &variable.text, variable.span)?.var);
            part.predicate = Some(Expr::binary(BinaryOperator::Equal, Expr::Variable(local), known));
            return Ok(part);
        }
        let value = index(columns.nodes(), offset(columns, before));
        self.computed(variable, Type::Node, value, scope, building)?;
        Ok(part)
    }

    fn edge_part(
        &mut self,
        edge: &RelationshipPattern,
        columns: &Columns,
        before: &[Placed],
        scope: &mut Scope,
        building: &mut Building<'_>,
    ) -> Lowered<PatternPart> {
        let range = edge.length.map(|range| (range.min.unwrap_or(1), range.max));
        let range = edge.quantifier.map(|quantifier| (quantifier.min, quantifier.max)).or(range);
        let (min, max) = range.unwrap_or((1, Some(1)));
        let part = PatternPart {
            vertices: vec![self.any_vertex(), self.any_vertex()],
            edges: vec![self.part_edge(edge)],
            min: bound(min),
            max: max.map(bound),
            predicate: None,
        };
        let Some(variable) = &edge.variable else { return Ok(part) };
        let list = || Expr::Variable(columns.edges);
        let first = offset(columns, before);
        let (kind, value) = match range {
            None => (Type::Relationship, index(list(), first)),
            Some(_) => {
                let rounds = index(Expr::Variable(columns.rounds), number(before.len()));
                let end = Expr::binary(BinaryOperator::Add, first.clone(), rounds);
                (Type::list(Type::Relationship), slice(list(), first, end))
            }
        };
        self.computed(variable, kind, value, scope, building)?;
        Ok(part)
    }

    fn group_part(
        &mut self,
        group: &GroupPattern,
        columns: &Columns,
        before: &[Placed],
        scope: &mut Scope,
        building: &mut Building<'_>,
    ) -> Lowered<PatternPart> {
        let quantifier = group.quantifier.unwrap_or(ast::Quantifier { min: 1, max: Some(1) });
        if group.path.variable.is_some()
            || group.path.selector != Selector::Every
            || group.path.mode.is_some()
        {
            return unsupported("a named or selective path inside a repeated group", group.span);
        }
        let mut part = PatternPart {
            vertices: Vec::new(),
            edges: Vec::new(),
            min: bound(quantifier.min),
            max: quantifier.max.map(bound),
            predicate: None,
        };
        for element in &group.path.elements {
            match element {
                PatternElement::Node(node) if part.vertices.len() == part.edges.len() => {
                    let wanted = node.labels.as_ref().map_or(LabelExpr::Any, labels);
                    part.vertices.push(PatternVertex { variable: self.unnamed("place"), labels: wanted });
                }
                PatternElement::Relationship(edge) if edge.length.is_none() && edge.quantifier.is_none() => {
                    part.edges.push(self.part_edge(edge));
                }
                _ => return unsupported("a repetition or a group inside a repeated group", group.span),
            }
        }
        if part.edges.is_empty() {
            return unsupported("a repeated group without a relationship", group.span);
        }
        let (mut nodes, mut edges) = (0, 0);
        for element in &group.path.elements {
            let (variable, kind, list, at) = match element {
                PatternElement::Node(node) => {
                    nodes += 1;
                    (&node.variable, Type::Node, columns.nodes(), nodes - 1)
                }
                PatternElement::Relationship(edge) => {
                    edges += 1;
                    (&edge.variable, Type::Relationship, Expr::Variable(columns.edges), edges - 1)
                }
                PatternElement::Group(_) => continue,
            };
            let Some(variable) = variable else { continue };
            let value = self.every_round(list, at, part.edges.len(), columns, before);
            self.computed(variable, Type::list(kind), value, scope, building)?;
        }
        Ok(part)
    }

    /// The elements at one place of every round: `[p IN range(0, rounds - 1) | list[first + p * edges + at]]`, null without a path.
    fn every_round(
        &mut self,
        list: Expr,
        at: usize,
        edges: usize,
        columns: &Columns,
        before: &[Placed],
    ) -> Expr {
        use BinaryOperator::{Add, Multiply, Subtract};
        let round = self.unnamed("round");
        let rounds = index(Expr::Variable(columns.rounds), number(before.len()));
        let last = Expr::binary(Subtract, rounds, number(1));
        let walked = Expr::binary(Multiply, Expr::Variable(round), number(edges));
        let first = Expr::binary(Add, offset(columns, before), number(at));
        let place = Expr::binary(Add, first, walked);
        let every = Expr::Comprehension {
            variable: round,
            list: Box::new(Expr::Call(Function::Range, vec![number(0), last])),
            predicate: None,
            map: Some(Box::new(index(list, place))),
        };
        // A path that was not found where it was optional has no rounds to count.
        let found = Expr::Unary(UnaryOperator::IsNotNull, Box::new(Expr::Variable(columns.rounds)));
        Expr::Case { operand: None, arms: vec![(found, every)], otherwise: None }
    }

    fn any_vertex(&mut self) -> PatternVertex {
        PatternVertex { variable: self.unnamed("place"), labels: LabelExpr::Any }
    }

    fn part_edge(&mut self, edge: &RelationshipPattern) -> PartEdge {
        PartEdge {
            variable: self.unnamed("edge"),
            types: edge.types.as_ref().and_then(plain_types).unwrap_or_default(),
            direction: direction(edge.direction),
        }
    }

    /// Declares a name that is computed from the path.
    fn computed(
        &mut self,
        name: &Name,
        kind: Type,
        value: Expr,
        scope: &mut Scope,
        building: &mut Building<'_>,
    ) -> Lowered<()> {
        if scope.get(&name.text).is_some() {
            return fail(ErrorKind::VariableAlreadyBound, already_declared(name), name.span);
        }
        let var = self.variable(&name.text);
        scope.declare_instead(&name.text, var, kind, value.clone());
        building.computed.push((name.text.clone(), var, value));
        Ok(())
    }
}

/// Turns a search that is walked from its right end: until its conditions are lowered, its parts stand as in the text.
pub(super) fn in_walking_order(mut search: ExpandPattern) -> ExpandPattern {
    if search.reversed {
        search.parts.reverse();
        for part in &mut search.parts {
            part.vertices.reverse();
            part.edges.reverse();
            part.edges.iter_mut().for_each(|edge| edge.direction = edge.direction.reversed());
        }
    }
    search
}

/// The node that a path begins or ends with, unless that is a group.
fn node_at<'a>(piece: Option<&PatternPiece<'a>>) -> Option<&'a NodePattern> {
    match piece {
        Some(PatternPiece::Node(node)) => Some(node),
        _ => None,
    }
}

/// Whether it is better to begin at the right end: the more is known of an end, the fewer vertices it may be.
fn better_from_right(left: Option<&NodePattern>, right: Option<&NodePattern>, scope: &Scope) -> bool {
    let known = |node: Option<&NodePattern>| {
        let Some(node) = node else { return 0 };
        let bound = node.variable.as_ref().is_some_and(|name| scope.get(&name.text).is_some());
        let told = node.properties.is_some() || node.condition.is_some();
        4 * u8::from(bound) + 2 * u8::from(told) + u8::from(node.labels.is_some())
    };
    known(right) > known(left)
}

/// The first or last node: its variable is a column, its conditions are those of any node.
fn outer_part(node: &NodePattern, variable: Var) -> PatternPart {
    let wanted = node.labels.as_ref().map_or(LabelExpr::Any, labels);
    let vertices = vec![PatternVertex { variable, labels: wanted }];
    PatternPart { vertices, edges: Vec::new(), min: 1, max: Some(1), predicate: None }
}

/// Edges before a part, as far as `before` tells at once and else as a sum over the rounds.
fn offset(columns: &Columns, before: &[Placed]) -> Expr {
    let fixed: u32 = before.iter().filter_map(|part| Some(part.edges * part.fixed?)).sum();
    let mut sum = number(fixed as usize);
    for (at, part) in before.iter().enumerate().filter(|(_, part)| part.fixed.is_none()) {
        let rounds = index(Expr::Variable(columns.rounds), number(at));
        let walked = match part.edges {
            1 => rounds,
            edges => Expr::binary(BinaryOperator::Multiply, rounds, number(edges as usize)),
        };
        sum = Expr::binary(BinaryOperator::Add, sum, walked);
    }
    sum
}

fn number(value: usize) -> Expr {
    Expr::literal(value as i64)
}

fn index(list: Expr, at: Expr) -> Expr {
    Expr::Index(Box::new(list), Box::new(at))
}

fn slice(list: Expr, from: Expr, to: Expr) -> Expr {
    Expr::Slice(Box::new(list), Some(Box::new(from)), Some(Box::new(to)))
}

fn bound(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn mode(path: &PathPattern) -> PathMode {
    match path.mode {
        None | Some(ast::PathMode::Trail) => PathMode::Trail,
        Some(ast::PathMode::Walk) => PathMode::Walk,
        Some(ast::PathMode::Acyclic) => PathMode::Acyclic,
        Some(ast::PathMode::Simple) => PathMode::Simple,
    }
}

fn choice(selector: Selector) -> PathChoice {
    match selector {
        Selector::Every => PathChoice::Every,
        Selector::ShortestPath => PathChoice::Paths(1),
        Selector::Any(count) | Selector::Shortest(count) => PathChoice::Paths(count),
        Selector::AllShortestPaths | Selector::AllShortest => PathChoice::Groups(1),
        Selector::ShortestGroups(count) => PathChoice::Groups(count),
    }
}

fn unsupported<T>(what: &str, span: Span) -> Lowered<T> {
    fail(ErrorKind::NotSupported, format!("{what} is not supported"), span)
}
