//! From the patterns of a statement to a [`Problem`]: patterns become one, and constraints on the order are written as predicates and needs.

use super::forks;
use super::problem::Problem;
use super::starts;
use crate::algebra::Plan;
use crate::cost;
use crate::estimate::Known;
use crate::expr::{BinaryOperator, Expr, LabelExpr, UnaryOperator, Var};
use crate::names::Names;
use crate::pattern::{Pattern, PatternEdge, Run, Selector};
use crate::statistics::Planning;
use crate::vars::Vars;

impl<'a> Problem<'a> {
    pub fn new(
        input: &Plan,
        patterns: Vec<Pattern>,
        known: Known,
        planning: &'a dyn Planning,
        names: &mut Names<'_>,
    ) -> Problem<'a> {
        let input_columns = input.columns();
        let (mut pattern, groups) = merge(patterns);
        absorb_labels(&mut pattern, &input_columns);
        condition_bound_vertices(&mut pattern, &input_columns);
        rename_bound_edges(&mut pattern, &input_columns, names);
        condition_runs(&mut pattern, names);
        let joins = !input.writes() && !reads_argument(input);
        let mut problem = Problem {
            planning,
            vertices: Vec::new(),
            edges: Vec::new(),
            predicates: Vec::new(),
            shares: cost::ConditionShares::default(),
            forks: Vec::new(),
            input_columns,
            known,
            joins,
            joined: 0,
        };
        problem.add_vertices(pattern.vertices);
        let all: Vec<PatternEdge> = pattern.edges;
        let needs = problem.edge_needs(&all);
        for ((edge, need), group) in all.into_iter().zip(needs).zip(groups) {
            problem.add_edge(edge, need, group)
        }
        for expr in pattern.predicates {
            problem.add_predicate(expr)
        }
        problem.imply();
        starts::find(&mut problem, names);
        problem.forks = forks::forks(&problem);
        problem
    }
}

/// Several patterns as one, and for each edge the number of its pattern.
fn merge(patterns: Vec<Pattern>) -> (Pattern, Vec<usize>) {
    let (mut all, mut groups) = (Pattern::default(), Vec::new());
    for (group, pattern) in patterns.into_iter().enumerate() {
        for vertex in pattern.vertices {
            match all.vertices.iter_mut().find(|known| known.variable == vertex.variable) {
                Some(known) => {
                    let labels = std::mem::replace(&mut known.labels, LabelExpr::Any);
                    known.labels = labels.and(vertex.labels)
                }
                None => all.vertices.push(vertex),
            }
        }
        groups.extend(pattern.edges.iter().map(|_| group));
        all.edges.extend(pattern.edges);
        all.predicates.extend(pattern.predicates)
    }
    (all, groups)
}

/// Does this input start from the rows of an enclosing `Apply`?
fn reads_argument(input: &Plan) -> bool {
    match input {
        Plan::Argument(_) => true,
        other => match other.input() {
            Some(input) => reads_argument(input),
            None => other.children().into_iter().any(reads_argument),
        },
    }
}

/// A predicate that tests labels of a vertex of the pattern joins the vertex's own labels.
fn absorb_labels(pattern: &mut Pattern, bound: &Vars) {
    let predicates = std::mem::take(&mut pattern.predicates);
    for predicate in predicates.into_iter().flat_map(Expr::conjuncts) {
        if let Expr::HasLabels(subject, labels) = &predicate
            && let Expr::Variable(var) = **subject
            && !bound.contains(&var)
            && let Some(vertex) = pattern.vertices.iter_mut().find(|vertex| vertex.variable == var)
        {
            let own = std::mem::replace(&mut vertex.labels, LabelExpr::Any);
            vertex.labels = own.and(labels.clone());
            continue;
        }
        pattern.predicates.push(predicate)
    }
}

/// Labels of bound vertices become predicates; a bound vertex without edges must at least not be null.
fn condition_bound_vertices(pattern: &mut Pattern, bound: &Vars) {
    let mut conditions = Vec::new();
    for vertex in pattern.vertices.iter().filter(|vertex| bound.contains(&vertex.variable)) {
        let var = vertex.variable;
        let touched = pattern.edges.iter().any(|edge| edge.from == var || edge.to == var);
        let subject = Box::new(Expr::Variable(var));
        if !vertex.labels.is_any() {
            conditions.push(Expr::HasLabels(subject, vertex.labels.clone()))
        } else if !touched {
            conditions.push(Expr::Unary(UnaryOperator::IsNotNull, subject))
        }
    }
    conditions.append(&mut pattern.predicates);
    pattern.predicates = conditions;
}

/// An edge variable that is already bound is found under a new name and compared.
fn rename_bound_edges(pattern: &mut Pattern, bound: &Vars, names: &mut Names<'_>) {
    let mut seen = bound.to_vec();
    for edge in &mut pattern.edges {
        let old = edge.variable;
        if seen.contains(&old) {
            edge.variable = names.fresh("edge");
            let equal = (Expr::Variable(edge.variable), Expr::Variable(old));
            pattern.predicates.push(Expr::binary(BinaryOperator::Equal, equal.0, equal.1))
        }
        seen.push(edge.variable)
    }
}

/// `all(x IN run WHERE p)` is the same as p on every edge of the run, and can then be tested while walking. Not so for shortest
/// paths (the shortest that satisfies is not the shortest).
fn condition_runs(pattern: &mut Pattern, names: &mut Names<'_>) {
    let predicates = std::mem::take(&mut pattern.predicates);
    for predicate in predicates {
        match run_of_all(&predicate, pattern) {
            Some(number) => condition_run(&mut pattern.edges[number], predicate, names),
            None => pattern.predicates.push(predicate),
        }
    }
}

fn run_of_all(predicate: &Expr, pattern: &Pattern) -> Option<usize> {
    use crate::expr::Quantifier;
    let Expr::Quantified { quantifier: Quantifier::All, list, predicate: inner, .. } = predicate else {
        return None;
    };
    let Expr::Variable(var) = **list else { return None };
    if inner.free_variables().contains(&var) || inner.any(&mut |part| matches!(part, Expr::Subquery(_))) {
        return None;
    }
    // What it reads must be bound before the run is walked; other edges and the far end may not be.
    let local = |v: &Var| {
        pattern.edges.iter().any(|e| e.variable == *v) || pattern.vertices.iter().any(|x| x.variable == *v)
    };
    let number = pattern.edges.iter().position(|edge| edge.variable == var)?;
    let every = pattern.edges[number].run.as_ref().is_some_and(|run| run.selector == Selector::Every);
    (every && !predicate.free_variables().iter().any(|v| *v != var && local(v))).then_some(number)
}

fn condition_run(edge: &mut PatternEdge, predicate: Expr, names: &mut Names<'_>) {
    let Expr::Quantified { variable, predicate, .. } = predicate else { return };
    let Some(Run { edge_predicate, .. }) = &mut edge.run else { return };
    *edge_predicate = Some(match edge_predicate.take() {
        None => (variable, *predicate),
        Some((own, old)) => {
            let _ = names;
            let renamed = crate::rewrite::substitute::rename(*predicate, variable, own);
            (own, Expr::binary(BinaryOperator::And, old, renamed))
        }
    })
}
