//! Which attributes of which variables a statement reads, and expressions rewritten to read them from columns.

use crate::shape::Attribute;
use plan::algebra::{ApplyKind, Plan};
use plan::expr::{BinaryOperator, Constant, LabelExpr, Name, UnaryOperator};
use plan::{Expr, Function, Var};
use std::collections::{BTreeSet, HashMap};

/// Attributes wanted of each variable.
#[derive(Default)]
pub(crate) struct Demand {
    wanted: HashMap<Var, BTreeSet<Attribute>>,
}

impl Demand {
    /// The reads of `plan`, and all attributes of the entities in the columns of its answer.
    pub fn of(plan: &Plan, answer: &[Var]) -> Demand {
        let mut demand = Demand::default();
        answer.iter().for_each(|var| demand.want(*var, Attribute::Content));
        demand.read(plan);
        // A variable that is another's new name wants of it what is wanted of itself.
        while demand.inherit(plan) {}
        demand
    }
    /// The attributes that an expression reads, by variable.
    pub fn in_expression(expr: &Expr) -> Vec<(Var, Attribute)> {
        let mut demand = Demand::default();
        demand.read_in(expr);
        let of = |(var, all): (Var, BTreeSet<Attribute>)| all.into_iter().map(move |one| (var, one));
        demand.wanted.into_iter().flat_map(of).collect()
    }
    /// The attributes that are read of this variable.
    pub fn on(&self, var: Var) -> impl Iterator<Item = &Attribute> {
        self.wanted.get(&var).into_iter().flatten()
    }
    fn want(&mut self, var: Var, attribute: Attribute) {
        self.wanted.entry(var).or_default().insert(attribute);
    }
    fn read(&mut self, plan: &Plan) {
        plan.expressions(&mut |expr| self.read_in(expr));
        plan.children().into_iter().for_each(|child| self.read(child));
    }
    fn read_in(&mut self, expr: &Expr) {
        if let Some((var, attribute)) = read_of(expr) {
            self.want(var, attribute);
        }
        expr.children(&mut |child| self.read_in(child));
    }
    fn inherit(&mut self, plan: &Plan) -> bool {
        let mut more = false;
        for (new, old) in renamed(plan) {
            for attribute in self.wanted.get(&new).cloned().unwrap_or_default() {
                more |= self.wanted.entry(old).or_default().insert(attribute);
            }
        }
        plan.children().into_iter().fold(more, |more, child| self.inherit(child) || more)
    }
}

/// Pairs of a variable that a node makes and the variable that it renames.
fn renamed(plan: &Plan) -> Vec<(Var, Var)> {
    let plain = |(new, expr): &(Var, Expr)| match expr {
        Expr::Variable(old) => Some((*new, *old)),
        _ => None,
    };
    match plan {
        Plan::Project(node) => node.items.iter().filter_map(plain).collect(),
        Plan::Extend(node) => node.items.iter().filter_map(plain).collect(),
        Plan::Aggregate(node) => node.keys.iter().filter_map(plain).collect(),
        Plan::Union(node) => {
            node.columns.iter().flat_map(|(new, left, right)| [(*new, *left), (*new, *right)]).collect()
        }
        Plan::Apply(node) if matches!(node.kind, ApplyKind::Unit) => Vec::new(),
        _ => Vec::new(),
    }
}

/// The attribute that this node of an expression reads, if it reads one of a variable.
fn read_of(expr: &Expr) -> Option<(Var, Attribute)> {
    let of = |subject: &Expr, attribute| match subject {
        Expr::Variable(var) => Some((*var, attribute)),
        _ => None,
    };
    match expr {
        Expr::Property(subject, key) => of(subject, Attribute::Property(key.clone())),
        Expr::HasLabels(subject, _) => of(subject, Attribute::Labels),
        Expr::Call(Function::Labels | Function::Type, arguments) => of(arguments.first()?, Attribute::Labels),
        Expr::Call(Function::Keys | Function::Properties, arguments) => {
            of(arguments.first()?, Attribute::Content)
        }
        Expr::MapProjection(subject, _) | Expr::Index(subject, _) => of(subject, Attribute::Content),
        _ => None,
    }
}

/// The same expression over columns: attributes by `column` (none where the variable has no such column: then it is no entity), and
/// parameters by `parameter`.
pub(crate) fn over_columns(
    expr: &Expr,
    column: &dyn Fn(Var, &Attribute) -> Option<Var>,
    parameter: &dyn Fn(&Name) -> Option<Var>,
) -> Expr {
    let mut expr = expr.clone();
    rewrite(&mut expr, column, parameter);
    expr
}

fn rewrite(
    expr: &mut Expr,
    column: &dyn Fn(Var, &Attribute) -> Option<Var>,
    parameter: &dyn Fn(&Name) -> Option<Var>,
) {
    if let Expr::Parameter(name) = expr
        && let Some(var) = parameter(name)
    {
        *expr = Expr::Variable(var);
        return;
    }
    let found = read_of(expr).and_then(|(var, attribute)| column(var, &attribute));
    expr.children_mut(&mut |child| rewrite(child, column, parameter));
    let Some(found) = found else { return };
    let whole = || Expr::Variable(found);
    let properties = || Expr::Index(Box::new(whole()), Box::new(Expr::literal(1i64)));
    match expr {
        Expr::Property(..) | Expr::Call(Function::Labels, _) => *expr = whole(),
        Expr::HasLabels(_, labels) => *expr = carries(labels, found),
        Expr::Call(Function::Type, _) => {
            *expr = Expr::Index(Box::new(whole()), Box::new(Expr::literal(0i64)));
        }
        Expr::Call(Function::Properties, _) => *expr = properties(),
        Expr::Call(Function::Keys, arguments) => *arguments = vec![properties()],
        // `.key` and `[key]` read the map as they read the entity.
        Expr::MapProjection(subject, _) | Expr::Index(subject, _) => **subject = properties(),
        _ => {}
    }
}

/// The label expression as a truth over a list of names.
fn carries(labels: &LabelExpr, names: Var) -> Expr {
    let names_of = || Expr::Variable(names);
    match labels {
        LabelExpr::Any => Expr::literal(true),
        LabelExpr::Has(name) => {
            let name = Expr::Literal(Constant(model::Value::String(name.clone())));
            Expr::binary(BinaryOperator::In, name, names_of())
        }
        LabelExpr::Some => {
            let size = Expr::Call(Function::Size, vec![names_of()]);
            Expr::binary(BinaryOperator::Greater, size, Expr::literal(0i64))
        }
        LabelExpr::And(a, b) => Expr::binary(BinaryOperator::And, carries(a, names), carries(b, names)),
        LabelExpr::Or(a, b) => Expr::binary(BinaryOperator::Or, carries(a, names), carries(b, names)),
        LabelExpr::Not(a) => Expr::Unary(UnaryOperator::Not, Box::new(carries(a, names))),
    }
}

/// Does the expression read the properties of an end of a relationship, which is no column?
pub(crate) fn reads_ends(expr: &Expr) -> bool {
    expr.any(&mut |part| {
        let subject = match part {
            Expr::Property(subject, _) | Expr::HasLabels(subject, _) | Expr::MapProjection(subject, _) => {
                subject
            }
            Expr::Call(Function::Labels | Function::Keys | Function::Properties, arguments) => {
                match &arguments[..] {
                    [subject] => subject,
                    _ => return false,
                }
            }
            _ => return false,
        };
        matches!(subject, Expr::Call(Function::StartNode | Function::EndNode, _))
    })
}

/// The part of an expression that keeps it from being a function of its row, if there is one.
pub(crate) fn unsteady(expr: &Expr) -> Option<&'static str> {
    let mut found = None;
    expr.any(&mut |part| {
        if let Expr::Call(function, arguments) = part {
            let clock = matches!(function, Function::Rand | Function::RandomUuid | Function::Timestamp)
                || (arguments.is_empty() && is_clock(function.name()))
                || function.name().contains(".realtime")
                || function.name().contains(".transaction")
                || function.name().contains(".statement");
            if clock {
                found = Some(function.name());
            }
        }
        found.is_some()
    });
    found
}

fn is_clock(name: &str) -> bool {
    ["date", "time", "localtime", "datetime", "localdatetime"].contains(&name)
}
