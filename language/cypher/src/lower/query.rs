//! Queries: clauses in their order, `UNION`, and which clause may stand where.

use std::collections::HashMap;

use plan::Plan;
use plan::algebra;
use plan::expr::{Name, Var};
use plan::procedures::{LOAD_JSON, LOAD_PARQUET};
use plan::statement::StatementKind;

use super::scope::Scope;
use super::types::Type;
use super::{Lowered, Lowerer, fail, fail_with_hint};
use crate::ast::{Clause, ClauseKind, Query, SingleQuery};
use crate::error::ErrorKind;

/// Rows as they stand between two clauses.
pub(crate) struct Rows {
    pub plan: Plan,
    pub scope: Scope,
}

/// A column that a query returns.
#[derive(Clone)]
pub(crate) struct Column {
    pub name: Name,
    pub var: Var,
    pub kind: Type,
}

/// A lowered query.
pub(crate) struct Outcome {
    pub plan: Plan,
    /// `None` for a query without `RETURN`.
    pub columns: Option<Vec<Column>>,
}

/// The context of a query, which decides which clauses it may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClauseContext {
    /// A statement of its own.
    Top,
    /// Inside `CALL (…) { }`: the scope clause names the imports.
    Call,
    /// Inside `CALL { }`: a leading `WITH` names the imports.
    ImportingCall,
    /// Inside `EXISTS { }` or `COUNT { }`.
    Test,
    /// Inside `COLLECT { }`.
    Collect,
}

impl Lowerer<'_> {
    /// A whole statement that is a query.
    pub(super) fn top_query(&mut self, query: &Query) -> Lowered<StatementKind> {
        if let Some(standalone) = self.standalone_call(query)? {
            return Ok(standalone);
        }
        if let Some(batched) = self.batched(query)? {
            return Ok(batched);
        }
        let outcome = self.query(query, &Plan::Unit, &Scope::default(), ClauseContext::Top)?;
        let columns = outcome.columns.unwrap_or_default();
        let columns = columns.into_iter().map(|column| (column.name, column.var)).collect();
        Ok(StatementKind::Query { plan: outcome.plan, columns })
    }

    /// A query whose rows begin with `leaf` in a scope.
    pub(super) fn query(
        &mut self,
        query: &Query,
        leaf: &Plan,
        scope: &Scope,
        place: ClauseContext,
    ) -> Lowered<Outcome> {
        let mut outcome = self.single_query(&query.first, leaf, scope, place)?;
        let mixed = query.unions.iter().find(|union| union.all != query.unions[0].all);
        if let Some(union) = mixed {
            let message = "UNION and UNION ALL cannot be mixed";
            return fail(ErrorKind::InvalidClauseComposition, message, union.span);
        }
        for union in &query.unions {
            let right = self.single_query(&union.query, leaf, scope, place)?;
            let pairs = union_columns(&outcome, &right);
            let Some(pairs) = pairs else {
                let hint = "give the columns of all parts the same names with AS";
                let message = "all parts of a UNION must return the same columns";
                return fail_with_hint(ErrorKind::DifferentColumnsInUnion, message, union.span, hint);
            };
            outcome = self.union(outcome, right, pairs, !union.all);
        }
        Ok(outcome)
    }

    fn union(
        &mut self,
        left: Outcome,
        right: Outcome,
        pairs: Vec<(Column, Column)>,
        distinct: bool,
    ) -> Outcome {
        let mut columns = Vec::new();
        let mut triples = Vec::new();
        for (from_left, from_right) in pairs {
            let var = self.variable(&from_left.name);
            triples.push((var, from_left.var, from_right.var));
            columns.push(Column { var, kind: from_left.kind.join(from_right.kind), name: from_left.name });
        }
        let union = algebra::Union { left: left.plan, right: right.plan, columns: triples, distinct };
        let columns = left.columns.is_some().then_some(columns);
        Outcome { plan: Plan::Union(Box::new(union)), columns }
    }

    fn single_query(
        &mut self,
        query: &SingleQuery,
        leaf: &Plan,
        scope: &Scope,
        place: ClauseContext,
    ) -> Lowered<Outcome> {
        check_composition(query, place)?;
        let (scope, clauses) = match place {
            ClauseContext::ImportingCall => self.importing_with(query, scope)?,
            _ => (scope.clone(), query.clauses.as_slice()),
        };
        let mut rows = Rows { plan: leaf.clone(), scope };
        let mut columns = None;
        for clause in clauses {
            columns = self.clause(clause, &mut rows)?;
        }
        Ok(Outcome { plan: rows.plan, columns })
    }

    /// One clause; `RETURN` gives columns.
    pub(super) fn clause(&mut self, clause: &Clause, rows: &mut Rows) -> Lowered<Option<Vec<Column>>> {
        match &clause.kind {
            ClauseKind::Match(clause) => self.match_clause(clause, rows)?,
            ClauseKind::With(projection, condition) => self.with(projection, condition.as_ref(), rows)?,
            ClauseKind::Return(projection) => return self.returning(projection, rows).map(Some),
            ClauseKind::Unwind(list, variable) => self.unwind(list, variable, rows)?,
            ClauseKind::CallSubquery(call) => self.call_subquery(call, rows, clause.span)?,
            ClauseKind::CallProcedure(call) => {
                self.call_procedure(call, rows, clause.span)?;
            }
            ClauseKind::LoadCsv(load) => self.load_csv(load, rows)?,
            ClauseKind::LoadJson(load) => self.load_file(LOAD_JSON, Type::Any, load, rows)?,
            ClauseKind::LoadParquet(load) => self.load_file(LOAD_PARQUET, Type::Map, load, rows)?,
            ClauseKind::Finish => {}
            _ => self.update(clause, rows)?,
        }
        Ok(None)
    }

    /// A clause that writes.
    pub(super) fn update(&mut self, clause: &Clause, rows: &mut Rows) -> Lowered<()> {
        match &clause.kind {
            ClauseKind::Create(patterns) => self.create(patterns, rows),
            ClauseKind::Merge(merge) => self.merge(merge, rows),
            ClauseKind::Set(items) => self.set(items, rows),
            ClauseKind::Remove(items) => self.remove(items, rows),
            ClauseKind::Delete(delete) => self.delete(delete, rows),
            ClauseKind::Foreach(foreach) => self.foreach(foreach, rows),
            ClauseKind::CallSubquery(call) => self.call_subquery(call, rows, clause.span),
            _ => fail_with_hint(
                ErrorKind::InvalidClauseComposition,
                format!("{} cannot stand inside FOREACH", clause_name(&clause.kind)),
                clause.span,
                "FOREACH takes clauses that write: CREATE, MERGE, SET, REMOVE, DELETE, FOREACH",
            ),
        }
    }
}

/// Pairs the columns of two queries by name; `None` if they differ.
fn union_columns(left: &Outcome, right: &Outcome) -> Option<Vec<(Column, Column)>> {
    let (Some(left), Some(right)) = (&left.columns, &right.columns) else {
        return (left.columns.is_none() && right.columns.is_none()).then(Vec::new);
    };
    if left.len() != right.len() {
        return None;
    }
    let by_name: HashMap<&Name, &Column> = right.iter().map(|column| (&column.name, column)).collect();
    let partner = |column: &Column| by_name.get(&column.name).map(|column| (*column).clone());
    left.iter().map(|column| Some((column.clone(), partner(column)?))).collect()
}

/// `RETURN` comes last, a query ends with a result or an effect, and tests do not write.
pub(super) fn check_composition(query: &SingleQuery, place: ClauseContext) -> Lowered<()> {
    let composition = ErrorKind::InvalidClauseComposition;
    let last = query.clauses.len() - 1;
    for (index, clause) in query.clauses.iter().enumerate() {
        if index < last && matches!(clause.kind, ClauseKind::Return(_) | ClauseKind::Finish) {
            let hint = "use WITH to go on with these rows";
            let name = clause_name(&clause.kind);
            return fail_with_hint(composition, format!("{name} must be the last clause"), clause.span, hint);
        }
        if matches!(place, ClauseContext::Test | ClauseContext::Collect) && writes(clause) {
            let message = format!("{} cannot stand inside a subquery expression", clause_name(&clause.kind));
            return fail_with_hint(composition, message, clause.span, "write with CALL { … } instead");
        }
    }
    let ending = &query.clauses[last];
    let returns = matches!(ending.kind, ClauseKind::Return(_));
    if place == ClauseContext::Collect && !returns {
        return fail(composition, "COLLECT needs a query that ends with RETURN", ending.span);
    }
    let only_reads = matches!(
        ending.kind,
        ClauseKind::Match(_)
            | ClauseKind::With(..)
            | ClauseKind::Unwind(..)
            | ClauseKind::LoadCsv(_)
            | ClauseKind::LoadJson(_)
            | ClauseKind::LoadParquet(_)
    );
    let may_stop = place == ClauseContext::Test && matches!(ending.kind, ClauseKind::Match(_));
    if only_reads && !may_stop {
        let message = format!("a query cannot end with {}", clause_name(&ending.kind));
        return fail_with_hint(composition, message, ending.span, "add RETURN, or a clause that writes");
    }
    Ok(())
}

/// Whether a clause writes, itself or in a subquery.
pub(super) fn writes(clause: &Clause) -> bool {
    let nested = |query: &Query| {
        let parts = query.unions.iter().map(|union| &union.query);
        std::iter::once(&query.first).chain(parts).any(|part| part.clauses.iter().any(writes))
    };
    match &clause.kind {
        ClauseKind::Create(_) | ClauseKind::Merge(_) | ClauseKind::Set(_) | ClauseKind::Remove(_) => true,
        ClauseKind::Delete(_) | ClauseKind::Foreach(_) => true,
        ClauseKind::CallSubquery(call) => nested(&call.query),
        _ => false,
    }
}

fn clause_name(kind: &ClauseKind) -> &'static str {
    match kind {
        ClauseKind::Match(_) => "MATCH",
        ClauseKind::With(..) => "WITH",
        ClauseKind::Return(_) => "RETURN",
        ClauseKind::Unwind(..) => "UNWIND",
        ClauseKind::Create(_) => "CREATE",
        ClauseKind::Merge(_) => "MERGE",
        ClauseKind::Set(_) => "SET",
        ClauseKind::Remove(_) => "REMOVE",
        ClauseKind::Delete(_) => "DELETE",
        ClauseKind::Foreach(_) => "FOREACH",
        ClauseKind::CallSubquery(_) | ClauseKind::CallProcedure(_) => "CALL",
        ClauseKind::LoadCsv(_) => "LOAD CSV",
        ClauseKind::LoadJson(_) => "LOAD JSON",
        ClauseKind::LoadParquet(_) => "LOAD PARQUET",
        ClauseKind::Finish => "FINISH",
    }
}
