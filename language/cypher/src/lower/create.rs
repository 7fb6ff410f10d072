//! `CREATE` and `MERGE`: patterns that are created.
//!
//! One `Create` creates the entities of a clause, nodes before relationships. Where a property reads an entity of the same clause, the clause is cut
//! there into two.

use plan::algebra::{Create, CreateEdge, CreateVertex, Match, Merge, Set, SetItem};
use plan::expr::{BinaryOperator, Expr, Name, Quantifier, Var};
use plan::pattern::{Pattern, PatternEdge, PatternVertex};
use plan::{Function, LabelExpr, Plan, Vars};

use super::argument::set_argument;
use super::matching::compute;
use super::pattern::{already_declared, direction, type_conflict};
use super::query::Rows;
use super::scope::Scope;
use super::types::Type;
use super::{Lowered, Lowerer, fail, fail_with_hint, name};
use crate::ast::{
    self, Direction, Expression, ExpressionKind, LabelExpression, NodePattern, PathPattern, PatternElement,
    RelationshipPattern, Selector,
};
use crate::error::ErrorKind;
use crate::limits::CREATE_PARTS_MAX;

/// The entities that a clause has still to create.
#[derive(Default)]
struct Pending {
    /// Operators made so far because later parts read earlier ones.
    cuts: usize,
    vertices: Vec<CreateVertex>,
    edges: Vec<CreateEdge>,
    /// Labels of created entities that are known only with the row.
    labels: Vec<SetItem>,
}

impl Pending {
    /// Puts a `Create` on top of the rows, or adds to the present one if nothing pending reads its entities.
    fn flush(&mut self, rows: &mut Rows) {
        let (vertices, edges) = (std::mem::take(&mut self.vertices), std::mem::take(&mut self.edges));
        let labels = std::mem::take(&mut self.labels);
        if vertices.is_empty() && edges.is_empty() {
            return;
        }
        if !labels.is_empty() {
            let made = Create { input: rows.plan.take(), vertices, edges };
            rows.plan = Plan::Set(Box::new(Set { input: Plan::Create(Box::new(made)), items: labels }));
            return;
        }
        if let Plan::Create(before) = &mut rows.plan {
            let properties = vertices.iter().filter_map(|vertex| vertex.properties.as_ref());
            let of_edges = |edge: &CreateEdge| [edge.properties.clone(), edge.dynamic_type.clone()];
            let of_edges: Vec<Expr> = edges.iter().flat_map(of_edges).flatten().collect();
            let properties = properties.chain(&of_edges);
            if !properties.into_iter().any(|expr| reads(expr, &before.vertices, &before.edges)) {
                before.vertices.extend(vertices);
                before.edges.extend(edges);
                return;
            }
        }
        rows.plan = Plan::Create(Box::new(Create { input: rows.plan.take(), vertices, edges }));
    }
}

/// Whether an expression reads something that is made, directly or by looking at the graph.
fn reads(expr: &Expr, vertices: &[CreateVertex], edges: &[CreateEdge]) -> bool {
    // Variables are numbered as they are made, so most are seen to be older without a search.
    let first = vertices.first().map(|vertex| vertex.variable).into_iter();
    let first = first.chain(edges.first().map(|edge| edge.variable)).min();
    let made = |var: Var| {
        if first.is_none_or(|first| var < first) {
            return false;
        }
        vertices.iter().any(|vertex| vertex.variable == var) || edges.iter().any(|edge| edge.variable == var)
    };
    expr.any(&mut |part| matches!(part, Expr::Subquery(_))) || expr.free_variables().into_iter().any(made)
}

/// A node of a pattern that is made.
struct MadeNode {
    var: Var,
    /// Its labels, if it is new, and expressions that give more.
    labels: Option<(Vec<Name>, Vec<Expr>)>,
}

impl Lowerer<'_> {
    pub(super) fn create(&mut self, patterns: &[PathPattern], rows: &mut Rows) -> Lowered<()> {
        let mut pending = Pending::default();
        let mut computed = Vec::new();
        for path in patterns {
            let parts = self.create_path(path, rows, &mut pending)?;
            if let Some(variable) = &path.variable {
                let var = self.new_variable(variable, &rows.scope)?;
                rows.scope.declare_instead(&variable.text, var, Type::Path, Expr::PathOf(parts.clone()));
                computed.push((variable.text.clone(), var, Expr::PathOf(parts)));
            }
        }
        pending.flush(rows);
        compute(computed, rows);
        Ok(())
    }

    fn create_path(
        &mut self,
        path: &PathPattern,
        rows: &mut Rows,
        pending: &mut Pending,
    ) -> Lowered<Vec<Var>> {
        let mut parts: Vec<Var> = Vec::new();
        let mut waiting: Option<&RelationshipPattern> = None;
        for element in plain_elements(path, "CREATE")? {
            match element {
                NewElement::Relationship(relationship) => waiting = Some(relationship),
                NewElement::Node(node) => {
                    let to = self.create_node(node, path, rows, pending)?;
                    if let Some(relationship) = waiting.take() {
                        let from = *parts.last().expect("a relationship stands between two nodes");
                        parts.push(self.create_edge(relationship, [from, to], rows, pending)?);
                    }
                    parts.push(to);
                }
            }
        }
        Ok(parts)
    }

    fn create_node(
        &mut self,
        node: &NodePattern,
        path: &PathPattern,
        rows: &mut Rows,
        pending: &mut Pending,
    ) -> Lowered<Var> {
        let made = self.made_node(node, path, &mut rows.scope, "CREATE")?;
        let Some((labels, dynamic)) = made.labels else { return Ok(made.var) };
        let of_value = |labels| SetItem::DynamicLabels { variable: made.var, labels, add: true };
        pending.labels.extend(dynamic.into_iter().map(of_value));
        let properties = self.made_properties(node.properties.as_ref(), rows, pending)?;
        pending.vertices.push(CreateVertex { variable: made.var, labels, properties });
        if let Some(variable) = &node.variable {
            rows.scope.declare(&variable.text, made.var, Type::Node);
        }
        Ok(made.var)
    }

    /// A node of a pattern that is made: known already, then it may not be described again, or new.
    fn made_node(
        &mut self,
        node: &NodePattern,
        path: &PathPattern,
        scope: &mut Scope,
        clause: &str,
    ) -> Lowered<MadeNode> {
        crate::error::spend(1)?;
        no_condition(node.condition.as_ref(), clause)?;
        let described = node.labels.is_some() || node.properties.is_some();
        let known = node.variable.as_ref().filter(|variable| scope.get(&variable.text).is_some());
        if let Some(variable) = known {
            let binding = self.find(scope, &variable.text, variable.span)?;
            if binding.instead.is_some() || !binding.kind.may_be(&[Type::Node]) {
                return type_conflict(variable, &binding.kind, "Node");
            }
            if described || path.elements.len() == 1 {
                let message = already_declared(variable);
                let hint = "use SET to change a known node, or another name for a new one";
                return fail_with_hint(ErrorKind::VariableAlreadyBound, message, variable.span, hint);
            }
            return Ok(MadeNode { var: binding.var, labels: None });
        }
        let labels = match &node.labels {
            None => Default::default(),
            Some(LabelExpression::And(parts)) => self.given_labels(parts, node.span, scope)?,
            Some(single) => self.given_labels(std::slice::from_ref(single), node.span, scope)?,
        };
        let var = match &node.variable {
            Some(variable) => self.variable(&variable.text),
            None => self.unnamed("node"),
        };
        Ok(MadeNode { var, labels: Some(labels) })
    }

    fn create_edge(
        &mut self,
        relationship: &RelationshipPattern,
        [left, right]: [Var; 2],
        rows: &mut Rows,
        pending: &mut Pending,
    ) -> Lowered<Var> {
        if relationship.direction == Direction::Either {
            let message = "a relationship that is created needs a direction";
            let hint = "write -[:TYPE]-> or <-[:TYPE]-";
            return fail_with_hint(ErrorKind::RequiresDirectedRelationship, message, relationship.span, hint);
        }
        let (variable, edge_type, dynamic_type) = self.made_edge(relationship, &mut rows.scope, "CREATE")?;
        let properties = self.made_properties(relationship.properties.as_ref(), rows, pending)?;
        if let Some(name) = &relationship.variable {
            rows.scope.declare(&name.text, variable, Type::Relationship);
        }
        let [source, target] = ends(relationship, left, right);
        pending.edges.push(CreateEdge { variable, edge_type, dynamic_type, source, target, properties });
        Ok(variable)
    }

    /// The variable and the type of a relationship that is made.
    fn made_edge(
        &mut self,
        relationship: &RelationshipPattern,
        scope: &mut Scope,
        clause: &str,
    ) -> Lowered<(Var, Name, Option<Expr>)> {
        no_condition(relationship.condition.as_ref(), clause)?;
        if relationship.length.is_some() || relationship.quantifier.is_some() {
            let message = format!("{clause} makes single relationships, not runs of them");
            return fail(ErrorKind::CreatingVarLength, message, relationship.span);
        }
        let (edge_type, dynamic_type) = match &relationship.types {
            Some(LabelExpression::Name(edge_type)) => (name(edge_type), None),
            Some(LabelExpression::Dynamic { any: false, value }) => {
                (Name::from(""), Some(self.expression(value, scope)?.expr))
            }
            _ => {
                let message = format!("{clause} needs exactly one type for each relationship");
                let hint = "write -[:TYPE]->";
                return fail_with_hint(ErrorKind::NoSingleRelationshipType, message, relationship.span, hint);
            }
        };
        let var = match &relationship.variable {
            Some(variable) => self.new_variable(variable, scope)?,
            None => self.unnamed("relationship"),
        };
        Ok((var, edge_type, dynamic_type))
    }

    fn new_variable(&mut self, variable: &ast::Name, scope: &Scope) -> Lowered<Var> {
        if scope.get(&variable.text).is_some() {
            return fail_with_hint(
                ErrorKind::VariableAlreadyBound,
                already_declared(variable),
                variable.span,
                "use another name",
            );
        }
        Ok(self.variable(&variable.text))
    }

    /// The properties of a created entity. Entities that they read must have been created before.
    fn made_properties(
        &mut self,
        properties: Option<&Expression>,
        rows: &mut Rows,
        pending: &mut Pending,
    ) -> Lowered<Option<Expr>> {
        let Some(properties) = properties else { return Ok(None) };
        let expr = self.expression(properties, &mut rows.scope)?.expr;
        if reads(&expr, &pending.vertices, &pending.edges) {
            pending.cuts += 1;
            if pending.cuts > CREATE_PARTS_MAX {
                let message = format!("more than {CREATE_PARTS_MAX} parts of this CREATE read each other");
                return fail(ErrorKind::LimitExceeded, message, properties.span);
            }
            pending.flush(rows);
        }
        Ok(Some(expr))
    }

    // --- MERGE ---

    pub(super) fn merge(&mut self, merge: &ast::Merge, rows: &mut Rows) -> Lowered<()> {
        let (first_own, first_used) = (self.variables.len(), self.used.len());
        let mut merging = Merging::default();
        self.merge_path(&merge.pattern, &mut rows.scope, &mut merging)?;
        let imports = self.imports_since(first_own, first_used);
        let Merging { pattern, pending, parts, known: _ } = merging;
        let leaf = Plan::Argument(Vec::new());
        let mut inner =
            Plan::Match(Box::new(Match { input: leaf, pattern, optional: false, hints: Vec::new() }));
        set_argument(&mut inner, &imports);
        let mut paths = Vec::new();
        if let Some(variable) = &merge.pattern.variable {
            let var = self.new_variable(variable, &rows.scope)?;
            rows.scope.declare(&variable.text, var, Type::Path);
            paths.push((var, parts));
        }
        let Pending { vertices, edges, labels: mut on_create, .. } = pending;
        on_create.extend(self.set_items(&merge.on_create, &mut rows.scope)?);
        let on_match = self.set_items(&merge.on_match, &mut rows.scope)?;
        let input = rows.plan.take();
        let merge = Merge { input, inner, imports, vertices, edges, on_create, on_match, paths };
        rows.plan = Plan::Merge(Box::new(merge));
        Ok(())
    }

    fn merge_path(&mut self, path: &PathPattern, scope: &mut Scope, merging: &mut Merging) -> Lowered<()> {
        let mut waiting: Option<&RelationshipPattern> = None;
        for element in plain_elements(path, "MERGE")? {
            match element {
                NewElement::Relationship(relationship) => waiting = Some(relationship),
                NewElement::Node(node) => {
                    let to = self.merge_node(node, path, scope, merging)?;
                    if let Some(relationship) = waiting.take() {
                        let from = *merging.parts.last().expect("a relationship stands between two nodes");
                        let edge = self.merge_edge(relationship, [from, to], scope, merging)?;
                        merging.parts.push(edge);
                    }
                    merging.parts.push(to);
                }
            }
        }
        Ok(())
    }

    fn merge_node(
        &mut self,
        node: &NodePattern,
        path: &PathPattern,
        scope: &mut Scope,
        merging: &mut Merging,
    ) -> Lowered<Var> {
        let made = self.made_node(node, path, scope, "MERGE")?;
        let Some((labels, dynamic)) = made.labels else {
            if !merging.known.contains(&made.var) {
                merging.known.add(made.var);
                merging.pattern.vertices.push(PatternVertex { variable: made.var, labels: LabelExpr::Any });
            }
            return Ok(made.var);
        };
        let wanted = all_of(&labels);
        let of_value = |labels| SetItem::DynamicLabels { variable: made.var, labels, add: true };
        merging.pending.labels.extend(dynamic.into_iter().map(of_value));
        self.dynamic_labels(made.var, node.labels.as_ref(), scope, &mut merging.pattern)?;
        merging.known.add(made.var);
        merging.pattern.vertices.push(PatternVertex { variable: made.var, labels: wanted });
        let properties = self.merged_properties(made.var, node.properties.as_ref(), scope, merging)?;
        merging.pending.vertices.push(CreateVertex { variable: made.var, labels, properties });
        if let Some(variable) = &node.variable {
            scope.declare(&variable.text, made.var, Type::Node);
        }
        Ok(made.var)
    }

    fn merge_edge(
        &mut self,
        relationship: &RelationshipPattern,
        [left, right]: [Var; 2],
        scope: &mut Scope,
        merging: &mut Merging,
    ) -> Lowered<Var> {
        let (variable, edge_type, dynamic_type) = self.made_edge(relationship, scope, "MERGE")?;
        let types = match &relationship.types {
            Some(wanted) if dynamic_type.is_some() => {
                let subject = Expr::Variable(variable);
                let condition = self.label_condition(&subject, &Type::Relationship, wanted, scope)?;
                merging.pattern.predicates.push(condition);
                Vec::new()
            }
            _ => vec![edge_type.clone()],
        };
        let properties =
            self.merged_properties(variable, relationship.properties.as_ref(), scope, merging)?;
        if let Some(name) = &relationship.variable {
            scope.declare(&name.text, variable, Type::Relationship);
        }
        let direction = direction(relationship.direction);
        merging.pattern.edges.push(PatternEdge {
            variable,
            from: left,
            to: right,
            types,
            direction,
            run: None,
            distinct_among: Some(0),
        });
        let [source, target] = ends(relationship, left, right);
        let edge = CreateEdge { variable, edge_type, dynamic_type, source, target, properties };
        merging.pending.edges.push(edge);
        Ok(variable)
    }

    /// The same properties twice: as conditions on found entities, and as the map of created ones.
    fn merged_properties(
        &mut self,
        owner: Var,
        properties: Option<&Expression>,
        scope: &mut Scope,
        merging: &mut Merging,
    ) -> Lowered<Option<Expr>> {
        let Some(map) = properties else { return Ok(None) };
        if let ExpressionKind::Function(_) = &map.kind {
            let map = self.expression(map, scope)?.expr;
            merging.pattern.predicates.push(self.has_all_of(owner, &map));
            return Ok(Some(map));
        }
        self.properties_equal(&Expr::Variable(owner), properties, scope, &mut merging.pattern.predicates)?;
        Ok(Some(self.expression(map, scope)?.expr))
    }
}

impl Lowerer<'_> {
    /// The condition that an element has every property of a map whose keys are known only with the row.
    fn has_all_of(&mut self, owner: Var, map: &Expr) -> Expr {
        let variable = self.unnamed("key");
        let at = |of: &Expr| Expr::Index(Box::new(of.clone()), Box::new(Expr::Variable(variable)));
        Expr::Quantified {
            quantifier: Quantifier::All,
            variable,
            list: Box::new(Expr::Call(Function::Keys, vec![map.clone()])),
            predicate: Box::new(Expr::binary(BinaryOperator::Equal, at(&Expr::Variable(owner)), at(map))),
        }
    }
}

/// The pattern of a `MERGE`, in both forms.
#[derive(Default)]
struct Merging {
    pattern: Pattern,
    /// Its vertices.
    known: Vars,
    pending: Pending,
    parts: Vec<Var>,
}

/// All of these labels; a balanced tree, as it is walked by recursion.
fn all_of(labels: &[Name]) -> LabelExpr {
    match labels {
        [] => LabelExpr::Any,
        [one] => LabelExpr::Has(one.clone()),
        _ => {
            let (left, right) = labels.split_at(labels.len() / 2);
            all_of(left).and(all_of(right))
        }
    }
}

/// An element of a pattern that can be made.
enum NewElement<'a> {
    Node(&'a NodePattern),
    Relationship(&'a RelationshipPattern),
}

fn plain_elements<'a>(path: &'a PathPattern, clause: &str) -> Lowered<Vec<NewElement<'a>>> {
    if path.selector != Selector::Every || path.mode.is_some() {
        let message = format!("{clause} cannot make a shortest path");
        return fail(ErrorKind::UnexpectedSyntax, message, path.span);
    }
    let element = |element: &'a PatternElement| match element {
        PatternElement::Node(node) => Ok(NewElement::Node(node)),
        PatternElement::Relationship(relationship) => Ok(NewElement::Relationship(relationship)),
        PatternElement::Group(group) => {
            fail(ErrorKind::UnexpectedSyntax, format!("{clause} cannot make a path in brackets"), group.span)
        }
    };
    path.elements.iter().map(element).collect()
}

fn no_condition(condition: Option<&Expression>, clause: &str) -> Lowered<()> {
    match condition {
        None => Ok(()),
        Some(condition) => fail(
            ErrorKind::UnexpectedSyntax,
            format!("WHERE cannot stand in a pattern of {clause}"),
            condition.span,
        ),
    }
}

fn ends(relationship: &RelationshipPattern, left: Var, right: Var) -> [Var; 2] {
    if relationship.direction == Direction::Incoming { [right, left] } else { [left, right] }
}
