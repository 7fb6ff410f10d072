//! Which relations need which: components in order, and no negation or aggregate in a circle (stratification).

use crate::error::{DatalogError, ErrorKind};
use crate::program::{Component, Literal, Program, RelationNo, Rule};
use text::Span;

/// Edges of the graph of needs: from a relation to those that its rules read.
struct Needs {
    /// (needed, by what it stands in the way of a circle).
    edges: Vec<Vec<(RelationNo, Kind)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Holds,
    Absent,
    Aggregate,
}

/// The components, in an order in which each needs only those before it. `spans` are the heads' places in the text, of the last rules.
pub(crate) fn components(program: &Program, spans: &[Span]) -> Result<Vec<Component>, DatalogError> {
    let needs = Needs::of(program);
    let mut of = vec![usize::MAX; program.relations.len()];
    let found = needs.circles();
    for (number, members) in found.iter().enumerate() {
        members.iter().for_each(|relation| of[*relation] = number);
    }
    for (relation, edges) in needs.edges.iter().enumerate() {
        for (needed, kind) in edges {
            if *kind != Kind::Holds && of[*needed] == of[relation] {
                return Err(circular(program, spans, &needs, (relation, *needed, *kind), &of));
            }
        }
    }
    let mut rules_of = vec![Vec::new(); found.len()];
    for (at, rule) in program.rules.iter().enumerate() {
        rules_of[of[rule.head.relation]].push(at);
    }
    let mut aggregate_of = vec![None; found.len()];
    for (at, aggregate) in program.aggregates.iter().enumerate() {
        aggregate_of[of[aggregate.output]].get_or_insert(at);
    }
    let mut components = Vec::new();
    for ((members, rules), aggregate) in found.iter().zip(rules_of).zip(aggregate_of) {
        if let Some(at) = aggregate {
            components.push(Component::Aggregate(at));
            continue;
        }
        if !rules.is_empty() {
            components.push(Component::Rules { relations: members.clone(), rules });
        }
    }
    Ok(components)
}

impl Needs {
    fn of(program: &Program) -> Needs {
        let mut edges = vec![Vec::new(); program.relations.len()];
        for rule in &program.rules {
            for literal in &rule.body {
                match literal {
                    Literal::Holds(atom) => edges[rule.head.relation].push((atom.relation, Kind::Holds)),
                    Literal::Absent(atom) => edges[rule.head.relation].push((atom.relation, Kind::Absent)),
                    _ => {}
                }
            }
        }
        for aggregate in &program.aggregates {
            edges[aggregate.output].push((aggregate.input, Kind::Aggregate));
        }
        Needs { edges }
    }
    /// Strongly connected components, those needed first (Tarjan, with a stack of its own).
    fn circles(&self) -> Vec<Vec<RelationNo>> {
        let count = self.edges.len();
        let (mut index, mut low) = (vec![usize::MAX; count], vec![0; count]);
        let (mut on_stack, mut stack) = (vec![false; count], Vec::new());
        let (mut found, mut next) = (Vec::new(), 0);
        for root in 0..count {
            if index[root] != usize::MAX {
                continue;
            }
            let mut walk = vec![(root, 0)];
            while let Some((at, edge)) = walk.last_mut() {
                let at = *at;
                if *edge == 0 {
                    (index[at], low[at]) = (next, next);
                    next += 1;
                    stack.push(at);
                    on_stack[at] = true;
                }
                if let Some((to, _)) = self.edges[at].get(*edge) {
                    *edge += 1;
                    // So that a relation without edges is entered once, too.
                    if index[*to] == usize::MAX {
                        walk.push((*to, 0));
                    } else if on_stack[*to] {
                        low[at] = low[at].min(index[*to]);
                    }
                    continue;
                }
                walk.pop();
                if let Some((parent, _)) = walk.last() {
                    low[*parent] = low[*parent].min(low[at]);
                }
                if low[at] == index[at] {
                    let from = stack.iter().rposition(|member| *member == at).unwrap_or(0);
                    let members: Vec<RelationNo> = stack.drain(from..).collect();
                    members.iter().for_each(|member| on_stack[*member] = false);
                    found.push(members);
                }
            }
        }
        found
    }
}

/// The error that says the circle.
fn circular(
    program: &Program,
    spans: &[Span],
    needs: &Needs,
    (from, to, kind): (RelationNo, RelationNo, Kind),
    of: &[usize],
) -> DatalogError {
    // The way back, breadth first, inside the circle.
    let mut before: Vec<Option<RelationNo>> = vec![None; needs.edges.len()];
    let mut queue = std::collections::VecDeque::from([to]);
    while let Some(at) = queue.pop_front() {
        if at == from {
            break;
        }
        for (next, _) in &needs.edges[at] {
            if of[*next] == of[from] && before[*next].is_none() && *next != to {
                before[*next] = Some(at);
                queue.push_back(*next);
            }
        }
    }
    let mut way = vec![from];
    while let Some(last) = way.last().copied()
        && last != to
        && let Some(previous) = before[last]
    {
        way.push(previous);
    }
    let shown = |relation: RelationNo| {
        let name = &program.relations[relation].name;
        name.split('@').next().unwrap_or(name).to_string()
    };
    let mut names: Vec<String> = vec![shown(from)];
    names.extend(way.iter().rev().map(|relation| shown(*relation)));
    names.dedup();
    if names.len() == 1 {
        names.push(names[0].clone());
    }
    let verb = if kind == Kind::Absent { "its own absence" } else { "an aggregate of itself" };
    let message = format!("`{}` depends on {verb}: {}", shown(from), names.join(" → "));
    // Rules that were made for facts have no place in the text; they come first.
    let offset = program.rules.len().saturating_sub(spans.len());
    let place = |rule: usize| {
        rule.checked_sub(offset).and_then(|at| spans.get(at)).copied().filter(|span| span.end > 0)
    };
    let negates = |literal: &Literal| matches!(literal, Literal::Absent(atom) if atom.relation == to);
    let heads = |rule: &Rule| of[rule.head.relation] == of[from];
    let all = || program.rules.iter().enumerate().filter(|(_, rule)| heads(rule));
    // The rule that negates, or the one whose bindings are aggregated.
    let says = |rule: &Rule| match kind {
        Kind::Aggregate => rule.head.relation == to,
        _ => rule.head.relation == from && rule.body.iter().any(negates),
    };
    let best = all().filter(|(_, rule)| says(rule)).chain(all());
    let span = best.filter_map(|(at, _)| place(at)).next().unwrap_or_default();
    DatalogError::new(ErrorKind::Strata, message, span)
        .with_hint("negation and aggregates may only read what is defined before")
}
