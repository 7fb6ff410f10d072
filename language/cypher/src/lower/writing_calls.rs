//! Procedures that write, which tools of others call: clauses stand in the place of each call, before anything else looks at the query.
//!
//! `CALL apoc.merge.node(labels, identifying, onCreate, onMatch) YIELD node AS n` means `MERGE (n:$(labels) identifying) ON CREATE SET n += onCreate ON
//! MATCH SET n += onMatch`, and the others likewise. So plans, rights and limits are those of the clauses, and nothing below knows of such procedures.
//! Where an argument names something that is written (a node, an end), it must be a variable, as in the clauses. What is written has a name that no text
//! can mean until the clauses are through, so that no argument can mean it; a projection behind them gives it the names that are yielded.

use plan::procedures::{Procedure, WRITING};

use super::scope::UNWRITABLE;
use super::{Lowered, fail, fail_with_hint};
use crate::ast::{
    self, CallProcedure, Clause, ClauseKind, Direction, Expression, ExpressionKind, FunctionCall,
    LabelExpression, Merge, Name, NodePattern, PathPattern, PatternElement, Projection, ProjectionItem,
    Query, RelationshipPattern, Selector, SetItem, SingleQuery,
};
use crate::error::ErrorKind;
use text::Span;

/// Puts clauses in the place of all such calls.
pub(super) fn write_out(query: &mut Query) -> Lowered<()> {
    let is_whole = query.unions.is_empty();
    write_out_single(&mut query.first, is_whole)?;
    query.unions.iter_mut().try_for_each(|union| write_out_single(&mut union.query, false))
}

fn write_out_single(query: &mut SingleQuery, is_whole: bool) -> Lowered<()> {
    let stands_alone = is_whole && query.clauses.len() == 1;
    let mut clauses = Vec::with_capacity(query.clauses.len());
    for clause in std::mem::take(&mut query.clauses) {
        write_out_clause(clause, stands_alone, &mut clauses)?;
    }
    query.clauses = clauses;
    Ok(())
}

fn write_out_clause(mut clause: Clause, stands_alone: bool, out: &mut Vec<Clause>) -> Lowered<()> {
    match &mut clause.kind {
        ClauseKind::CallSubquery(call) => write_out(&mut call.query)?,
        ClauseKind::Foreach(each) => {
            let mut body = Vec::new();
            for clause in std::mem::take(&mut each.body) {
                write_out_clause(clause, false, &mut body)?;
            }
            each.body = body;
        }
        ClauseKind::CallProcedure(call) => {
            if let Some(procedure) = writing(call) {
                let writer = WrittenCall { call, procedure, span: clause.span };
                out.extend(writer.clauses(stands_alone)?);
                return Ok(());
            }
        }
        _ => {}
    }
    out.push(clause);
    Ok(())
}

fn writing(call: &CallProcedure) -> Option<&'static Procedure> {
    let name = call.name.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(".");
    Procedure::by_name(&name).filter(|procedure| WRITING.contains(&procedure.name))
}

/// The variable of the written entity, until it has its yielded name. The projection behind a call drops it.
pub(super) const MADE: &str = UNWRITABLE;

struct WrittenCall<'c> {
    call: &'c CallProcedure,
    procedure: &'static Procedure,
    span: Span,
}

impl WrittenCall<'_> {
    fn clauses(&self, stands_alone: bool) -> Lowered<Vec<Clause>> {
        self.check(stands_alone)?;
        let yielded = self.yielded()?;
        let made = Name { text: MADE.into(), span: self.span };
        let mut kinds = match self.procedure.name {
            "apoc.merge.node" => vec![self.merge_node(&made)?],
            "apoc.merge.relationship" => vec![self.merge_relationship(&made)?],
            "apoc.create.node" => vec![self.create_node(&made)],
            "apoc.create.relationship" => vec![self.create_relationship(&made)?],
            "apoc.create.addLabels" => {
                let (node, labels) = (self.variable(0)?, vec![self.dynamic(1)]);
                vec![ClauseKind::Set(vec![SetItem::Labels(node, labels)])]
            }
            _ => {
                let [owner, key, value] = [0, 1, 2].map(|at| self.argument(at));
                vec![ClauseKind::Set(vec![SetItem::DynamicProperty(owner, key, value)])]
            }
        };
        let source = match self.procedure.name {
            "apoc.create.addLabels" => self.variable(0)?,
            _ => made,
        };
        let condition = self.call.yields.as_ref().and_then(|yields| yields.condition.clone());
        let renamed = yielded.iter().filter(|name| name.text != source.text);
        let items: Vec<ProjectionItem> = renamed.map(|name| self.item(&source, name)).collect();
        if !items.is_empty() || condition.is_some() {
            kinds.push(ClauseKind::With(self.projection(true, items), condition));
        }
        if stands_alone && !yielded.is_empty() {
            let items = yielded.iter().map(|name| self.item(name, name)).collect();
            kinds.push(ClauseKind::Return(self.projection(false, items)));
        }
        Ok(kinds.into_iter().map(|kind| Clause { kind, span: self.span }).collect())
    }

    /// A column that copies another.
    fn item(&self, from: &Name, to: &Name) -> ProjectionItem {
        let value = Expression { kind: ExpressionKind::Variable(from.text.clone()), span: to.span };
        ProjectionItem { expression: value, alias: Some(to.clone()), span: to.span }
    }

    fn check(&self, stands_alone: bool) -> Lowered<()> {
        let (name, count) = (self.procedure.name, self.call.arguments.as_ref().map_or(0, Vec::len));
        if !(self.procedure.arguments_min()..=self.procedure.arguments.len()).contains(&count) {
            let message = format!("{name} takes {} arguments, not {count}", self.procedure.arguments.len());
            let signature = self.procedure.signature();
            return fail_with_hint(ErrorKind::InvalidNumberOfArguments, message, self.span, &signature);
        }
        if self.call.optional {
            let message = format!("{name} writes, so it cannot be called by OPTIONAL CALL");
            return fail(ErrorKind::UnexpectedSyntax, message, self.span);
        }
        match &self.call.yields {
            None if !stands_alone && !self.procedure.fields.is_empty() => {
                let message = "a call among other clauses needs YIELD";
                let hint = format!("it yields {}", self.procedure.field_names().join(", "));
                fail_with_hint(ErrorKind::UnexpectedSyntax, message, self.span, &hint)
            }
            Some(yields) if yields.star && !stands_alone => {
                let message = "YIELD * can only be used when the call stands alone";
                fail_with_hint(ErrorKind::UnexpectedSyntax, message, self.span, "name the columns")
            }
            _ => Ok(()),
        }
    }

    /// The yielded names of the written entity.
    fn yielded(&self) -> Lowered<Vec<Name>> {
        let own = self.procedure.fields.first().map(|(field, _)| *field);
        let usual = || own.map(|own| Name { text: own.into(), span: self.span }).into_iter().collect();
        let Some(yields) = self.call.yields.as_ref().filter(|yields| !yields.star) else {
            return Ok(usual());
        };
        let unknown = yields.items.iter().find(|(field, _)| Some(field.text.as_str()) != own);
        if let Some((field, _)) = unknown {
            let message = format!("{} does not yield `{}`", self.procedure.name, field.text);
            let hint = format!("it yields {}", self.procedure.field_names().join(", "));
            return fail_with_hint(ErrorKind::UndefinedVariable, message, field.span, &hint);
        }
        Ok(yields.items.iter().map(|(field, alias)| alias.as_ref().unwrap_or(field).clone()).collect())
    }

    fn argument(&self, at: usize) -> Expression {
        let given = self.call.arguments.as_ref().and_then(|arguments| arguments.get(at)).cloned();
        given.unwrap_or(Expression { kind: ExpressionKind::Map(Vec::new()), span: self.span })
    }

    /// An argument that must be a variable.
    fn variable(&self, at: usize) -> Lowered<Name> {
        let argument = self.argument(at);
        match argument.kind {
            ExpressionKind::Variable(text) => Ok(Name { text, span: argument.span }),
            _ => {
                let message = format!("{} takes a variable here", self.procedure.name);
                let hint = "name the value before the call: WITH …, value AS x";
                fail_with_hint(ErrorKind::UnexpectedSyntax, message, argument.span, hint)
            }
        }
    }

    /// Labels, or a type, from an argument.
    fn dynamic(&self, at: usize) -> LabelExpression {
        LabelExpression::Dynamic { any: false, value: Box::new(self.argument(at)) }
    }

    /// An argument that is a map; null stands for an empty one.
    fn map(&self, at: usize) -> Option<Expression> {
        let argument = self.argument(at);
        let span = argument.span;
        if let ExpressionKind::Map(entries) = &argument.kind {
            return (!entries.is_empty()).then_some(argument);
        }
        let empty = Expression { kind: ExpressionKind::Map(Vec::new()), span };
        let name = vec![Name { text: "coalesce".into(), span }];
        let call = FunctionCall { name, distinct: false, arguments: vec![argument, empty] };
        Some(Expression { kind: ExpressionKind::Function(call), span })
    }

    fn assigned(&self, to: &Name, at: usize) -> Vec<SetItem> {
        self.map(at).map(|map| SetItem::Merge(to.clone(), map)).into_iter().collect()
    }

    fn projection(&self, star: bool, items: Vec<ProjectionItem>) -> Projection {
        Projection {
            distinct: false,
            star,
            items,
            order: Vec::new(),
            skip: None,
            limit: None,
            span: self.span,
        }
    }

    fn node(
        &self,
        variable: &Name,
        labels: Option<LabelExpression>,
        properties: Option<Expression>,
    ) -> NodePattern {
        NodePattern { variable: Some(variable.clone()), labels, properties, condition: None, span: self.span }
    }

    fn path(&self, elements: Vec<PatternElement>) -> PathPattern {
        PathPattern { variable: None, selector: Selector::Every, mode: None, elements, span: self.span }
    }

    fn relationship_path(
        &self,
        result: &Name,
        [from, to]: [usize; 2],
        properties: usize,
    ) -> Lowered<PathPattern> {
        let relationship = RelationshipPattern {
            variable: Some(result.clone()),
            direction: Direction::Outgoing,
            types: Some(self.dynamic(1)),
            length: None,
            properties: self.map(properties),
            condition: None,
            quantifier: None,
            span: self.span,
        };
        let (from, to) = (self.variable(from)?, self.variable(to)?);
        Ok(self.path(vec![
            PatternElement::Node(self.node(&from, None, None)),
            PatternElement::Relationship(relationship),
            PatternElement::Node(self.node(&to, None, None)),
        ]))
    }

    fn merge_node(&self, result: &Name) -> Lowered<ClauseKind> {
        let node = self.node(result, Some(self.dynamic(0)), self.map(1));
        let pattern = self.path(vec![PatternElement::Node(node)]);
        let (on_create, on_match) = (self.assigned(result, 2), self.assigned(result, 3));
        Ok(ClauseKind::Merge(Merge { pattern, on_create, on_match }))
    }

    fn merge_relationship(&self, result: &Name) -> Lowered<ClauseKind> {
        let pattern = self.relationship_path(result, [0, 4], 2)?;
        let (on_create, on_match) = (self.assigned(result, 3), self.assigned(result, 5));
        Ok(ClauseKind::Merge(Merge { pattern, on_create, on_match }))
    }

    fn create_node(&self, result: &Name) -> ClauseKind {
        let node = self.node(result, Some(self.dynamic(0)), self.map(1));
        ClauseKind::Create(vec![self.path(vec![PatternElement::Node(node)])])
    }

    fn create_relationship(&self, result: &Name) -> Lowered<ClauseKind> {
        Ok(ClauseKind::Create(vec![self.relationship_path(result, [0, 3], 2)?]))
    }
}

/// A statement with clauses in the place of such calls; none where it has no such call.
pub(super) fn written_out(body: &ast::StatementBody) -> Lowered<Option<ast::StatementBody>> {
    let ast::StatementBody::Query(query) = body else { return Ok(None) };
    if !holds(query) {
        return Ok(None);
    }
    let mut query = query.clone();
    write_out(&mut query)?;
    Ok(Some(ast::StatementBody::Query(query)))
}

fn holds(query: &Query) -> bool {
    let parts = std::iter::once(&query.first).chain(query.unions.iter().map(|union| &union.query));
    parts.flat_map(|part| &part.clauses).any(is_or_holds)
}

fn is_or_holds(clause: &Clause) -> bool {
    match &clause.kind {
        ClauseKind::CallProcedure(call) => writing(call).is_some(),
        ClauseKind::CallSubquery(call) => holds(&call.query),
        ClauseKind::Foreach(each) => each.body.iter().any(is_or_holds),
        _ => false,
    }
}
