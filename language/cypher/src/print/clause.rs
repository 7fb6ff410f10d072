//! Canonical text of queries and clauses.

use super::Printer;
use crate::ast::{
    CallProcedure, CallSubquery, Clause, ClauseKind, Foreach, Hint, Imports, LabelExpression, LoadCsv,
    LoadFile, Match, Merge, Name, OnError, Projection, ProjectionItem, Query, RemoveItem, ScopeHint,
    ScopeOrder, SetItem, SingleQuery, SortItem, Yield,
};

impl Printer {
    pub(super) fn query(&mut self, query: &Query) {
        self.single_query(&query.first);
        for union in &query.unions {
            self.put(if union.all { " UNION ALL " } else { " UNION " });
            self.single_query(&union.query);
        }
    }

    fn single_query(&mut self, query: &SingleQuery) {
        self.list(&query.clauses, " ", Self::clause);
    }

    fn clause(&mut self, clause: &Clause) {
        match &clause.kind {
            ClauseKind::Match(clause) => self.match_clause(clause),
            ClauseKind::With(projection, condition) => {
                self.put("WITH ");
                self.projection(projection);
                self.optional(" WHERE ", condition.as_ref());
            }
            ClauseKind::Return(projection) => {
                self.put("RETURN ");
                self.projection(projection);
            }
            ClauseKind::Unwind(list, variable) => {
                self.optional("UNWIND ", Some(list));
                self.put(" AS ");
                self.variable(&variable.text);
            }
            ClauseKind::Create(patterns) => {
                self.put("CREATE ");
                self.list(patterns, ", ", Self::path_pattern);
            }
            ClauseKind::Merge(merge) => self.merge(merge),
            ClauseKind::Set(items) => {
                self.put("SET ");
                self.list(items, ", ", Self::set_item);
            }
            ClauseKind::Remove(items) => {
                self.put("REMOVE ");
                self.list(items, ", ", Self::remove_item);
            }
            ClauseKind::Delete(delete) => {
                self.put(if delete.detach { "DETACH DELETE " } else { "DELETE " });
                self.list(&delete.targets, ", ", Self::expression);
            }
            ClauseKind::Foreach(foreach) => self.foreach(foreach),
            ClauseKind::CallSubquery(call) => self.call_subquery(call),
            ClauseKind::CallProcedure(call) => self.call_procedure(call),
            ClauseKind::LoadCsv(load) => self.load_csv(load),
            ClauseKind::LoadJson(load) => self.load_file("LOAD JSON", load),
            ClauseKind::LoadParquet(load) => self.load_file("LOAD PARQUET", load),
            ClauseKind::Finish => self.put("FINISH"),
        }
    }

    fn match_clause(&mut self, clause: &Match) {
        self.put(if clause.optional { "OPTIONAL MATCH " } else { "MATCH " });
        self.put(if clause.repeatable_elements { "REPEATABLE ELEMENTS " } else { "" });
        self.list(&clause.patterns, ", ", Self::path_pattern);
        for hint in &clause.hints {
            self.hint(hint);
        }
        self.optional(" WHERE ", clause.condition.as_ref());
    }

    fn hint(&mut self, hint: &Hint) {
        match hint {
            Hint::Index(variable, label, keys) => {
                self.put(" USING INDEX ");
                self.variable(&variable.text);
                self.put(":");
                self.name(label);
                self.put("(");
                self.list(keys, ", ", Self::name);
                self.put(")");
            }
            Hint::Scan(variable, label) => {
                self.put(" USING SCAN ");
                self.variable(&variable.text);
                self.put(":");
                self.name(label);
            }
            Hint::Join(variables) => {
                self.put(" USING JOIN ON ");
                self.list(variables, ", ", |printer, name| printer.variable(&name.text));
            }
            Hint::Scope(hint) => self.scope_hint(hint),
        }
    }

    fn scope_hint(&mut self, hint: &ScopeHint) {
        self.put(if hint.off { " USING SCOPE OFF" } else { " USING SCOPE" });
        match &hint.order {
            None => {}
            Some(ScopeOrder::Fifo) => self.put(" FIFO"),
            Some(ScopeOrder::Bfs) => self.put(" BFS"),
            Some(ScopeOrder::Dfs) => self.put(" DFS"),
            Some(ScopeOrder::By(value, descending)) => {
                self.optional(" BY ", Some(value));
                self.put(if *descending { " DESC" } else { "" });
            }
        }
        hint.within.iter().for_each(|within| self.put(&format!(" WITHIN {within}")));
        hint.instances_max.iter().for_each(|count| self.put(&format!(" MAX {count}")));
        hint.rows.iter().for_each(|count| self.put(&format!(" ROWS {count}")));
        self.put(if hint.wide { " WIDE" } else { "" });
    }

    pub(super) fn projection(&mut self, projection: &Projection) {
        if projection.distinct {
            self.put("DISTINCT ");
        }
        if projection.star {
            self.put(if projection.items.is_empty() { "*" } else { "*, " });
        }
        self.list(&projection.items, ", ", Self::projection_item);
        self.page(projection);
    }

    /// `ORDER BY`, `SKIP` and `LIMIT`.
    pub(super) fn page(&mut self, projection: &Projection) {
        if !projection.order.is_empty() {
            self.put(" ORDER BY ");
            self.list(&projection.order, ", ", Self::sort_item);
        }
        self.optional(" SKIP ", projection.skip.as_ref());
        self.optional(" LIMIT ", projection.limit.as_ref());
    }

    fn projection_item(&mut self, item: &ProjectionItem) {
        self.expression(&item.expression);
        self.alias(item.alias.as_ref());
    }

    fn alias(&mut self, alias: Option<&Name>) {
        if let Some(alias) = alias {
            self.put(" AS ");
            self.variable(&alias.text);
        }
    }

    fn sort_item(&mut self, item: &SortItem) {
        self.expression(&item.expression);
        if item.descending {
            self.put(" DESC");
        }
    }

    fn merge(&mut self, merge: &Merge) {
        self.put("MERGE ");
        self.path_pattern(&merge.pattern);
        for (keyword, items) in [(" ON CREATE SET ", &merge.on_create), (" ON MATCH SET ", &merge.on_match)] {
            if !items.is_empty() {
                self.put(keyword);
                self.list(items, ", ", Self::set_item);
            }
        }
    }

    fn set_item(&mut self, item: &SetItem) {
        match item {
            SetItem::Property(owner, key, value) => {
                self.expression(owner);
                self.put(".");
                self.name(key);
                self.optional(" = ", Some(value));
            }
            SetItem::DynamicProperty(owner, key, value) => {
                self.expression(owner);
                self.put("[");
                self.expression(key);
                self.optional("] = ", Some(value));
            }
            SetItem::Replace(variable, value) => {
                self.variable(&variable.text);
                self.optional(" = ", Some(value));
            }
            SetItem::Merge(variable, value) => {
                self.variable(&variable.text);
                self.optional(" += ", Some(value));
            }
            SetItem::Labels(variable, labels) => self.label_names(variable, labels),
        }
    }

    fn remove_item(&mut self, item: &RemoveItem) {
        match item {
            RemoveItem::Property(owner, key) => {
                self.expression(owner);
                self.put(".");
                self.name(key);
            }
            RemoveItem::DynamicProperty(owner, key) => {
                self.expression(owner);
                self.put("[");
                self.expression(key);
                self.put("]");
            }
            RemoveItem::Labels(variable, labels) => self.label_names(variable, labels),
        }
    }

    fn label_names(&mut self, variable: &Name, labels: &[LabelExpression]) {
        self.variable(&variable.text);
        labels.iter().for_each(|label| self.labels(label));
    }

    fn foreach(&mut self, foreach: &Foreach) {
        self.put("FOREACH (");
        self.variable(&foreach.variable.text);
        self.optional(" IN ", Some(&foreach.list));
        self.put(" | ");
        self.list(&foreach.body, " ", Self::clause);
        self.put(")");
    }

    fn call_subquery(&mut self, call: &CallSubquery) {
        self.put(if call.optional { "OPTIONAL CALL " } else { "CALL " });
        match &call.imports {
            Some(Imports::All) => self.put("(*) "),
            Some(Imports::Names(names)) => {
                self.put("(");
                self.list(names, ", ", |printer, name| printer.variable(&name.text));
                self.put(") ");
            }
            None => {}
        }
        self.put("{ ");
        self.query(&call.query);
        self.put(" }");
        if let Some(clause) = &call.in_transactions {
            self.put(" IN TRANSACTIONS");
            if clause.rows.is_some() {
                self.optional(" OF ", clause.rows.as_ref());
                self.put(" ROWS");
            }
            self.put(match clause.on_error {
                OnError::Fail => "",
                OnError::Continue => " ON ERROR CONTINUE",
                OnError::Break => " ON ERROR BREAK",
            });
            if let Some(variable) = &clause.report {
                self.put(" REPORT STATUS AS ");
                self.variable(&variable.text);
            }
        }
    }

    fn load_file(&mut self, clause: &str, load: &LoadFile) {
        self.put(clause);
        self.optional(" FROM ", Some(&load.file));
        self.put(" AS ");
        self.variable(&load.variable.text);
    }

    fn load_csv(&mut self, load: &LoadCsv) {
        self.put(if load.headers { "LOAD CSV WITH HEADERS" } else { "LOAD CSV" });
        self.optional(" FROM ", Some(&load.file));
        self.put(" AS ");
        self.variable(&load.variable.text);
        if let Some(separator) = &load.separator {
            self.put(" FIELDTERMINATOR ");
            self.string(separator);
        }
    }

    fn call_procedure(&mut self, call: &CallProcedure) {
        self.put(if call.optional { "OPTIONAL CALL " } else { "CALL " });
        self.list(&call.name, ".", Self::name);
        if let Some(arguments) = &call.arguments {
            self.put("(");
            self.list(arguments, ", ", Self::expression);
            self.put(")");
        }
        if call.is_cached {
            self.put(" CACHED");
        }
        self.yields(call.yields.as_ref());
    }

    pub(super) fn yields(&mut self, yields: Option<&Yield>) {
        let Some(yields) = yields else { return };
        self.put(" YIELD ");
        if yields.star {
            self.put("*");
        } else if yields.items.is_empty() {
            self.put("-");
        }
        self.list(&yields.items, ", ", |printer, (column, alias)| {
            printer.variable(&column.text);
            printer.alias(alias.as_ref());
        });
        self.optional(" WHERE ", yields.condition.as_ref());
    }
}
