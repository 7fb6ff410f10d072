//! Words to write plans with in tests.

use model::Direction;
use tanglewood_plan::algebra::*;
use tanglewood_plan::expr::*;
use tanglewood_plan::pattern::*;
use tanglewood_plan::statement::*;
use tanglewood_plan::{AggregateFunction, Plan, Statement};

/// A statement's variables by name.
#[derive(Default)]
pub struct Table(pub Vec<Name>);

impl Table {
    /// The variable of this name, new or not.
    pub fn var(&mut self, name: &str) -> Var {
        let found = self.0.iter().position(|known| **known == *name);
        Var(found.unwrap_or_else(|| {
            self.0.push(name.into());
            self.0.len() - 1
        }) as u32)
    }
    pub fn query(self, plan: Plan, columns: &[Var]) -> Statement {
        let columns = columns.iter().map(|var| (self.0[var.0 as usize].clone(), *var)).collect();
        Statement {
            kind: StatementKind::Query { plan, columns },
            variables: self.0,
            parameters: Vec::new(),
            mode: Mode::Run,
            hints: Vec::new(),
            as_of: None,
            no_older_than: None,
            in_transactions: None,
            physical: Default::default(),
        }
    }
}

pub fn label(name: &str) -> LabelExpr {
    if name.is_empty() { LabelExpr::Any } else { LabelExpr::Has(name.into()) }
}

/// Grows a pattern.
#[derive(Clone, Default)]
pub struct PatternText(pub Pattern);

impl PatternText {
    pub fn vertex(mut self, variable: Var, name: &str) -> Self {
        self.0.vertices.push(PatternVertex { variable, labels: label(name) });
        self
    }
    pub fn edge(self, variable: Var, from: Var, to: Var, edge_type: &str, direction: Direction) -> Self {
        self.run(variable, from, to, edge_type, direction, None)
    }
    pub fn run(
        mut self,
        variable: Var,
        from: Var,
        to: Var,
        edge_type: &str,
        direction: Direction,
        run: Option<Run>,
    ) -> Self {
        let types = if edge_type.is_empty() { Vec::new() } else { vec![edge_type.into()] };
        let distinct_among = Some(0);
        self.0.edges.push(PatternEdge { variable, from, to, types, direction, run, distinct_among });
        self
    }
    pub fn so_that(mut self, predicate: Expr) -> Self {
        self.0.predicates.push(predicate);
        self
    }
    pub fn over(self, input: Plan) -> Plan {
        Plan::Match(Box::new(Match { input, pattern: self.0, optional: false, hints: Vec::new() }))
    }
    pub fn hinted(self, hints: Vec<OrderHint>) -> Plan {
        Plan::Match(Box::new(Match { input: Plan::Unit, pattern: self.0, optional: false, hints }))
    }
    pub fn optionally(self, input: Plan) -> Plan {
        Plan::Match(Box::new(Match { input, pattern: self.0, optional: true, hints: Vec::new() }))
    }
}

pub fn trail(min: u32, max: Option<u32>) -> Option<Run> {
    Some(Run { min, max, selector: Selector::Every, mode: PathMode::Trail, edge_predicate: None })
}

pub fn read(var: Var) -> Expr {
    Expr::Variable(var)
}

pub fn equal(a: Expr, b: impl Into<model::Value>) -> Expr {
    Expr::binary(BinaryOperator::Equal, a, Expr::literal(b))
}

pub fn filter(input: Plan, predicate: Expr) -> Plan {
    Plan::Filter(Box::new(Filter { input, predicate }))
}

pub fn project(input: Plan, items: Vec<(Var, Expr)>) -> Plan {
    Plan::Project(Box::new(Project { input, items }))
}

pub fn extend(input: Plan, items: Vec<(Var, Expr)>) -> Plan {
    Plan::Extend(Box::new(Extend { input, items }))
}

pub fn distinct(input: Plan, columns: Vec<Var>) -> Plan {
    Plan::Distinct(Box::new(Distinct { input, columns, carried: Vec::new() }))
}

pub fn unwind(input: Plan, list: Expr, variable: Var) -> Plan {
    Plan::Unwind(Box::new(Unwind { input, list, variable }))
}

pub fn aggregate(
    input: Plan,
    keys: Vec<(Var, Expr)>,
    calls: Vec<(Var, AggregateFunction, Option<Expr>, bool)>,
) -> Plan {
    let call = |(var, function, argument, distinct): (Var, AggregateFunction, Option<Expr>, bool)| {
        (var, AggregateCall { function, arguments: argument.into_iter().collect(), distinct })
    };
    let aggregates = calls.into_iter().map(call).collect();
    Plan::Aggregate(Box::new(Aggregate { input, keys, aggregates }))
}

pub fn subquery(kind: SubqueryKind, imports: &[Var], plan: Plan) -> Expr {
    Expr::Subquery(Box::new(Subquery { kind, imports: imports.to_vec(), plan, hint: None, rank: None }))
}

pub fn argument(imports: &[Var]) -> Plan {
    Plan::Argument(imports.to_vec())
}
