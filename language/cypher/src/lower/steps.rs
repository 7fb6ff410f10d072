//! A path as steps: nodes and edges in turn, with groups resolved. Decides how groups and selectors are planned.

use plan::pattern::{PathMode, Run, Selector};

use super::{Lowered, fail, fail_with_hint, name};
use crate::ast::{
    self, Expression, GroupPattern, LabelExpression, NodePattern, PathPattern, PatternElement, Quantifier,
    RelationshipPattern,
};
use crate::error::ErrorKind;
use text::Span;

/// A path as nodes and edges in turn, groups resolved.
pub(super) enum Step<'a> {
    Node(Option<&'a NodePattern>),
    Edge(EdgeStep<'a>),
}

#[derive(Clone, Copy)]
pub(super) struct EdgeStep<'a> {
    pub relationship: &'a RelationshipPattern,
    pub quantifier: Option<Quantifier>,
    pub group: Option<&'a GroupPattern>,
}

/// Resolves groups: one without a quantifier is spliced in, its condition noted; a repeated one becomes an edge step.
pub(super) fn flatten<'a>(
    elements: &'a [PatternElement],
    steps: &mut Vec<Step<'a>>,
    conditions: &mut Vec<&'a Expression>,
) -> Lowered<()> {
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
                flatten(&group.path.elements, steps, conditions)?;
                conditions.extend(&group.condition);
            }
            PatternElement::Group(group) => {
                let Some(relationship) = group_edge(group) else {
                    return unsupported("a repeated group of more than one relationship", group.span);
                };
                if group.path.variable.is_some() {
                    return unsupported("a named path inside a repeated group", group.span);
                }
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
pub(super) fn group_edge(group: &GroupPattern) -> Option<&RelationshipPattern> {
    match group.path.elements.as_slice() {
        [PatternElement::Node(_), PatternElement::Relationship(edge), PatternElement::Node(_)] => {
            (edge.length.is_none() && edge.quantifier.is_none()).then_some(edge)
        }
        _ => None,
    }
}

pub(super) fn group_ends(group: &GroupPattern) -> (Option<&NodePattern>, Option<&NodePattern>) {
    fn node(element: Option<&PatternElement>) -> Option<&NodePattern> {
        match element {
            Some(PatternElement::Node(node)) => Some(node),
            _ => None,
        }
    }
    (node(group.path.elements.first()), node(group.path.elements.last()))
}

/// Whether a group says something of its nodes while its relationship does not tell which end is which.
pub(super) fn needs_order(group: &GroupPattern) -> bool {
    let (left, right) = group_ends(group);
    let speaks =
        |node: &NodePattern| node.labels.is_some() || node.properties.is_some() || node.condition.is_some();
    let named = |node: &NodePattern| node.variable.is_some();
    let nodes = || left.into_iter().chain(right);
    let about_nodes = nodes().any(speaks) || (group.condition.is_some() && nodes().any(named));
    about_nodes && group_edge(group).is_some_and(|edge| edge.direction == ast::Direction::Either)
}

/// Which of the runs of a path are wanted; anything but all of them needs a path of one relationship.
pub(super) fn selector(path: &PathPattern, steps: &[Step<'_>]) -> Lowered<Selector> {
    let single = matches!(steps, [Step::Node(_), Step::Edge(_), Step::Node(_)]);
    let conditional = path.elements.iter().any(|element| match element {
        PatternElement::Group(group) => group.quantifier.is_none() && group.condition.is_some(),
        _ => false,
    });
    let selector = match path.selector {
        ast::Selector::Every => return Ok(Selector::Every),
        ast::Selector::ShortestPath | ast::Selector::Shortest(1) | ast::Selector::Any(1) => {
            Selector::AnyShortest
        }
        ast::Selector::AllShortestPaths | ast::Selector::AllShortest | ast::Selector::ShortestGroups(1) => {
            Selector::AllShortest
        }
        _ => return unsupported("more than one path, or group of paths, for each pair of nodes", path.span),
    };
    let ordered =
        |element: &PatternElement| matches!(element, PatternElement::Group(group) if needs_order(group));
    if conditional || path.elements.iter().any(ordered) {
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
pub(super) fn run(step: EdgeStep<'_>, path: &PathPattern, selector: Selector) -> Option<Run> {
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
pub(super) fn plain_types(types: &LabelExpression) -> Option<Vec<plan::expr::Name>> {
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

fn unsupported<T>(what: &str, span: Span) -> Lowered<T> {
    fail(ErrorKind::NotSupported, format!("{what} in a pattern is not supported"), span)
}
