//! `MATCH`, `OPTIONAL MATCH` and `UNWIND`: the clauses that bring rows.

use plan::algebra::{Apply, ApplyKind, CallProcedure, ExpandPattern, Extend, Filter, Match, Unwind};
use plan::expr::{Expr, Var};
use plan::pattern::{OrderHint, PathMode};
use plan::procedures::LOAD_CSV;
use plan::scope::{InstanceOrder, ScopeHint};
use plan::{Plan, Vars};

use super::argument::set_argument;
use super::pattern::{Matched, Names};
use super::query::Rows;
use super::repeat::Rounds;
use super::types::Type;
use super::{Lowered, Lowerer, fail, fail_with_hint};
use crate::ast::{self, Expression, Hint, Name};
use crate::error::ErrorKind;

impl Lowerer<'_> {
    pub(super) fn match_clause(&mut self, clause: &ast::Match, rows: &mut Rows) -> Lowered<()> {
        let mut hints = clause.hints.iter().filter_map(|hint| match hint {
            Hint::Scope(hint) => Some(hint),
            _ => None,
        });
        let scope_hint = hints.next_back();
        self.scope_hint = scope_hint.map(plain_hint);
        // `REPEATABLE ELEMENTS`: a path is a walk, unless it says what else it is.
        let mut walks = Vec::new();
        if clause.repeatable_elements {
            self.is_repeatable = true;
            walks = clause.patterns.clone();
            walks.iter_mut().for_each(|path| _ = path.mode.get_or_insert(ast::PathMode::Walk));
        }
        let paths = if clause.repeatable_elements { &walks } else { &clause.patterns };
        let mut matched = self.pattern(paths, &mut rows.scope, Names::New)?;
        if let Some(ast::ScopeHint { order: Some(ast::ScopeOrder::By(value, descending)), .. }) = scope_hint {
            let value = self.expression(value, &mut rows.scope)?.expr;
            self.scope_rank = Some(value);
            let order = Some(InstanceOrder::By(*descending));
            self.scope_hint = self.scope_hint.take().map(|hint| ScopeHint { order, ..hint });
        }
        if let Some(condition) = &clause.condition {
            let predicate = self.predicate(condition, &mut rows.scope)?.expr;
            matched.pattern.predicates.extend(predicate.conjuncts());
        }
        (self.scope_hint, self.scope_rank) = (None, None);
        self.hints.extend(clause.hints.iter().filter_map(hint_text));
        let hints = self.order_hints(&clause.hints, rows);
        find(matched, clause.optional, hints, rows);
        Ok(())
    }

    /// Hints about the order of the pattern, if they name variables in scope.
    fn order_hints(&self, hints: &[Hint], rows: &Rows) -> Vec<OrderHint> {
        let var = |name: &Name| rows.scope.get(&name.text).map(|binding| binding.var);
        let text = |name: &Name| plan::expr::Name::from(name.text.as_str());
        let follow = |hint: &Hint| match hint {
            Hint::Index(variable, label, keys) => {
                Some(OrderHint::Index(var(variable)?, text(label), keys.iter().map(text).collect()))
            }
            Hint::Scan(variable, label) => Some(OrderHint::Scan(var(variable)?, text(label))),
            Hint::Join(variables) => match &variables[..] {
                [variable] => Some(OrderHint::Join(var(variable)?)),
                _ => None,
            },
            Hint::Scope(_) => None,
        };
        hints.iter().filter_map(follow).collect()
    }

    pub(super) fn load_csv(&mut self, load: &ast::LoadCsv, rows: &mut Rows) -> Lowered<()> {
        let file = self.expression(&load.file, &mut rows.scope)?.expr;
        let kind = if load.headers { Type::Map } else { Type::list(Type::String) };
        let separator = load.separator.as_deref().unwrap_or(",");
        let arguments = vec![file, Expr::literal(load.headers), Expr::literal(separator)];
        self.load(LOAD_CSV, arguments, (&load.variable, kind), rows)
    }

    /// A file whose rows say their types themselves, read by this procedure.
    pub(super) fn load_file(
        &mut self,
        procedure: &str,
        kind: Type,
        load: &ast::LoadFile,
        rows: &mut Rows,
    ) -> Lowered<()> {
        let file = self.expression(&load.file, &mut rows.scope)?.expr;
        self.load(procedure, vec![file], (&load.variable, kind), rows)
    }

    /// The rows of a file, read by a procedure.
    fn load(
        &mut self,
        procedure: &str,
        arguments: Vec<Expr>,
        (variable, kind): (&Name, Type),
        rows: &mut Rows,
    ) -> Lowered<()> {
        if rows.scope.get(&variable.text).is_some() {
            let message = format!("variable `{}` is already declared", variable.text);
            return fail(ErrorKind::VariableAlreadyBound, message, variable.span);
        }
        let var = self.variable(&variable.text);
        rows.scope.declare(&variable.text, var, kind);
        let (line, file) = (self.unnamed("line"), self.unnamed("file"));
        rows.scope.load_csv = Some([line, file]);
        let (name, yields) =
            (procedure.into(), vec![("row".into(), var), ("line".into(), line), ("file".into(), file)]);
        rows.plan = Plan::CallProcedure(Box::new(CallProcedure {
            input: rows.plan.take(),
            name,
            arguments,
            yields,
            is_cached: false,
        }));
        Ok(())
    }

    pub(super) fn unwind(&mut self, list: &Expression, variable: &Name, rows: &mut Rows) -> Lowered<()> {
        let value = self.expression(list, &mut rows.scope)?;
        if rows.scope.get(&variable.text).is_some() {
            let message = format!("variable `{}` is already declared", variable.text);
            return fail_with_hint(
                ErrorKind::VariableAlreadyBound,
                message,
                variable.span,
                "use another name",
            );
        }
        let var = self.variable(&variable.text);
        rows.scope.declare(&variable.text, var, value.kind.element());
        rows.plan =
            Plan::Unwind(Box::new(Unwind { input: rows.plan.take(), list: value.expr, variable: var }));
        Ok(())
    }
}

/// Puts a pattern on top of the rows, and the names computed from it.
pub(super) fn find(mut matched: Matched, optional: bool, hints: Vec<OrderHint>, rows: &mut Rows) {
    let computed = std::mem::take(&mut matched.computed);
    if matched.searches.is_empty() && matched.rounds.is_empty() {
        let pattern = matched.pattern;
        rows.plan = Plan::Match(Box::new(Match { input: rows.plan.take(), pattern, optional, hints }));
    } else if optional {
        let inner = searched(Plan::Argument(Vec::new()), matched, hints);
        rows.plan = optionally(rows.plan.take(), inner);
    } else {
        rows.plan = searched(rows.plan.take(), matched, hints);
    }
    compute(computed, rows);
}

/// A pattern with searches behind it. Conditions on results of a search are tested behind them all.
fn searched(input: Plan, matched: Matched, hints: Vec<OrderHint>) -> Plan {
    let Matched { mut pattern, searches, rounds, is_repeatable, .. } = matched;
    let made: Vars = searches
        .iter()
        .flat_map(|search| {
            let to = (!search.into).then_some(search.to);
            [search.edges, search.rounds].into_iter().chain(to)
        })
        .chain(rounds.iter().map(Rounds::makes))
        .collect();
    let reads = |predicate: &Expr| predicate.free_variables().iter().any(|var| made.contains(var));
    let (mut late, early): (Vec<Expr>, Vec<Expr>) = pattern.predicates.into_iter().partition(reads);
    pattern.predicates = early;
    let trails = searches.iter().filter(|search| search.mode == PathMode::Trail).map(|search| search.edges);
    let trails: Vec<Var> = trails.collect();
    let edges = pattern.edges.iter().filter(|edge| edge.is_distinct()).map(|edge| edge.variable);
    let distinct: Vec<Var> = edges.chain(trails.iter().copied()).collect();
    // Without a search, the pattern says it.
    if !trails.is_empty() && distinct.len() > 1 && !is_repeatable {
        late.push(Expr::EdgesDistinct(distinct));
    }
    let mut plan = match pattern.vertices.is_empty() && pattern.predicates.is_empty() {
        true => input,
        false => Plan::Match(Box::new(Match { input, pattern, optional: false, hints })),
    };
    for search in searches {
        plan = Plan::ExpandPattern(Box::new(ExpandPattern { input: plan, ..search }));
    }
    for rounds in rounds {
        plan = rounds.behind(plan);
    }
    if late.is_empty() {
        return plan;
    }
    Plan::Filter(Box::new(Filter { input: plan, predicate: Expr::all(late) }))
}

/// Runs `inner`, which starts from `Argument`, for each row; a row without any is kept with nulls.
fn optionally(input: Plan, mut inner: Plan) -> Plan {
    let (mut read, mut made) = (Vec::new(), Vec::new());
    inner.any(&mut |plan| {
        read.extend(plan.reads());
        made.extend(plan.makes());
        false
    });
    let known = input.columns();
    let mut imports: Vec<Var> =
        read.into_iter().chain(made.iter().copied()).filter(|var| known.contains(var)).collect();
    imports.sort();
    imports.dedup();
    made.retain(|var| !known.contains(var));
    made.sort();
    made.dedup();
    set_argument(&mut inner, &imports);
    Plan::Apply(Box::new(Apply {
        input,
        inner,
        imports,
        kind: ApplyKind::Optional(made),
        scope: Default::default(),
        rank: None,
    }))
}

/// The names become columns.
pub(super) fn compute(computed: Vec<(String, plan::Var, plan::Expr)>, rows: &mut Rows) {
    if computed.is_empty() {
        return;
    }
    for (name, ..) in &computed {
        if let Some(binding) = rows.scope.get_mut(name) {
            binding.instead = None;
        }
    }
    let items = computed.into_iter().map(|(_, var, value)| (var, value)).collect();
    rows.plan = Plan::Extend(Box::new(Extend { input: rows.plan.take(), items }));
}

/// The parts of a hint other than an order that is read from rows.
fn plain_hint(hint: &ast::ScopeHint) -> ScopeHint {
    let order = match hint.order {
        Some(ast::ScopeOrder::Fifo) => Some(InstanceOrder::Fifo),
        Some(ast::ScopeOrder::Bfs) => Some(InstanceOrder::Bfs),
        Some(ast::ScopeOrder::Dfs) => Some(InstanceOrder::Dfs),
        Some(ast::ScopeOrder::By(..)) | None => None,
    };
    ScopeHint {
        off: hint.off,
        order,
        within: hint.within,
        instances_max: hint.instances_max,
        rows: hint.rows,
        wide: hint.wide,
    }
}

/// A hint in its own words; those about scopes are followed where they stand.
fn hint_text(hint: &Hint) -> Option<String> {
    let join = |names: &[Name]| names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(", ");
    Some(match hint {
        Hint::Index(variable, label, keys) => {
            format!("INDEX {}:{}({})", variable.text, label.text, join(keys))
        }
        Hint::Scan(variable, label) => format!("SCAN {}:{}", variable.text, label.text),
        Hint::Join(variables) => format!("JOIN ON {}", join(variables)),
        Hint::Scope(_) => return None,
    })
}
