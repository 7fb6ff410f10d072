//! Conditions of searched paths: over one round of a part, or over a whole path.

use plan::algebra::{PathChoice, PatternPart};
use plan::expr::{Expr, Var};

use super::super::pattern::Building;
use super::super::scope::Scope;
use super::super::steps::plain_types;
use super::super::types::Type;
use super::super::{Lowered, Lowerer};
use super::{PatternPiece, Round, unsupported};
use crate::ast::{Expression, NodePattern, PatternElement, RelationshipPattern};

impl Lowerer<'_> {
    /// The conditions of a part, over one round of it.
    pub(in crate::lower) fn round_conditions(
        &mut self,
        round: Round<'_>,
        scope: &mut Scope,
        building: &mut Building<'_>,
    ) -> Lowered<()> {
        let part = building.searches[round.search].parts[round.part].clone();
        let mut predicates = Vec::new();
        let mark = scope.mark();
        self.declare_round(round.piece, &part, scope);
        let span = match round.piece {
            PatternPiece::Node(node) => {
                self.place_conditions(node, part.vertices[0].variable, scope, &mut predicates)?;
                node.span
            }
            PatternPiece::Edge(edge) => {
                self.step_conditions(edge, part.edges[0].variable, scope, &mut predicates)?;
                edge.span
            }
            PatternPiece::Group(group) => {
                let (mut vertices, mut edges) = (part.vertices.iter(), part.edges.iter());
                for element in &group.path.elements {
                    match element {
                        PatternElement::Node(node) => {
                            let var = vertices.next().expect("a part has its group's nodes").variable;
                            self.place_conditions(node, var, scope, &mut predicates)?;
                        }
                        PatternElement::Relationship(edge) => {
                            let var = edges.next().expect("a part has its group's relationships").variable;
                            self.step_conditions(edge, var, scope, &mut predicates)?;
                        }
                        PatternElement::Group(_) => {}
                    }
                }
                if let Some(condition) = &group.condition {
                    predicates.push(self.predicate(condition, scope)?.expr);
                }
                group.span
            }
        };
        scope.forget_since(mark);
        if predicates.is_empty() {
            return Ok(());
        }
        let predicate = Expr::all(predicates);
        let foreign = |var: &Var| building.is_made_by_search(*var);
        if predicate.free_variables().iter().any(foreign) {
            return unsupported("a condition inside a searched path that reads another part of it", span);
        }
        let part = &mut building.searches[round.search].parts[round.part];
        part.predicate = Some(Expr::all(part.predicate.take().into_iter().chain([predicate])));
        Ok(())
    }

    fn declare_round(&self, piece: PatternPiece<'_>, part: &PatternPart, scope: &mut Scope) {
        let mut node = |node: &NodePattern, at: usize| {
            if let Some(name) = &node.variable {
                scope.declare_local(&name.text, part.vertices[at].variable, Type::Node);
            }
        };
        match piece {
            PatternPiece::Node(pattern) => node(pattern, 0),
            PatternPiece::Edge(_) => {}
            PatternPiece::Group(group) => {
                let nodes = group.path.elements.iter().filter_map(|element| match element {
                    PatternElement::Node(node) => Some(node),
                    _ => None,
                });
                nodes.enumerate().for_each(|(at, pattern)| node(pattern, at));
            }
        }
        let edges: Vec<&RelationshipPattern> = match piece {
            PatternPiece::Node(_) => Vec::new(),
            PatternPiece::Edge(edge) => vec![edge],
            PatternPiece::Group(group) => group
                .path
                .elements
                .iter()
                .filter_map(|element| match element {
                    PatternElement::Relationship(edge) => Some(edge),
                    _ => None,
                })
                .collect(),
        };
        for (edge, own) in edges.into_iter().zip(&part.edges) {
            if let Some(name) = &edge.variable {
                scope.declare_local(&name.text, own.variable, Type::Relationship);
            }
        }
    }

    fn place_conditions(
        &mut self,
        node: &NodePattern,
        var: Var,
        scope: &mut Scope,
        predicates: &mut Vec<Expr>,
    ) -> Lowered<()> {
        self.properties_equal(&Expr::Variable(var), node.properties.as_ref(), scope, predicates)?;
        if let Some(condition) = &node.condition {
            predicates.push(self.predicate(condition, scope)?.expr);
        }
        Ok(())
    }

    fn step_conditions(
        &mut self,
        edge: &RelationshipPattern,
        var: Var,
        scope: &mut Scope,
        predicates: &mut Vec<Expr>,
    ) -> Lowered<()> {
        let value = Expr::Variable(var);
        if let Some(types) = edge.types.as_ref().filter(|types| plain_types(types).is_none()) {
            predicates.push(self.label_condition(&value, &Type::Relationship, types, scope)?);
        }
        self.properties_equal(&value, edge.properties.as_ref(), scope, predicates)?;
        if let Some(condition) = &edge.condition {
            predicates.push(self.predicate(condition, scope)?.expr);
        }
        Ok(())
    }

    /// A condition on a whole path, which decides whether it is among those chosen from.
    pub(in crate::lower) fn whole_condition(
        &mut self,
        search: usize,
        condition: &Expression,
        scope: &mut Scope,
        building: &mut Building<'_>,
    ) -> Lowered<()> {
        let predicate = self.predicate(condition, scope)?.expr;
        let own = building.searches[search].makes();
        let read = predicate.free_variables();
        let foreign = read.iter().any(|var| building.is_made_by_search(*var) && !own.contains(var));
        let node = &mut building.searches[search];
        if node.choice == PathChoice::Every {
            building.pattern.predicates.extend(predicate.conjuncts());
        } else if foreign {
            return unsupported("a condition on a path that reads another searched path", condition.span);
        } else {
            node.predicate = Some(Expr::all(node.predicate.take().into_iter().chain([predicate])));
        }
        Ok(())
    }
}
