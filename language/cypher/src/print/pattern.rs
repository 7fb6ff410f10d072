//! Canonical text of patterns.

use super::Printer;
use crate::ast::{
    Direction, GroupPattern, LabelExpression, LengthRange, Name, NodePattern, PathMode, PathPattern,
    PatternElement, Quantifier, RelationshipPattern, Selector,
};

impl Printer {
    pub(super) fn path_pattern(&mut self, pattern: &PathPattern) {
        if let Some(variable) = &pattern.variable {
            self.variable(&variable.text);
            self.put(" = ");
        }
        let function = match pattern.selector {
            Selector::ShortestPath => Some("shortestPath("),
            Selector::AllShortestPaths => Some("allShortestPaths("),
            selector => {
                self.selector(selector);
                None
            }
        };
        self.put(function.unwrap_or(""));
        self.put(match pattern.mode {
            Some(PathMode::Walk) => "WALK ",
            Some(PathMode::Trail) => "TRAIL ",
            Some(PathMode::Acyclic) => "ACYCLIC ",
            Some(PathMode::Simple) => "SIMPLE ",
            None => "",
        });
        let groups = matches!(pattern.selector, Selector::ShortestGroups(_));
        self.put(if groups { "GROUPS " } else { "" });
        self.list(&pattern.elements, "", Self::pattern_element);
        self.put(function.map_or("", |_| ")"));
    }

    fn selector(&mut self, selector: Selector) {
        match selector {
            Selector::Any(count) => self.put(&format!("ANY {count} ")),
            Selector::Shortest(count) => self.put(&format!("SHORTEST {count} ")),
            Selector::ShortestGroups(count) => self.put(&format!("SHORTEST {count} ")),
            Selector::AllShortest => self.put("ALL SHORTEST "),
            Selector::Every | Selector::ShortestPath | Selector::AllShortestPaths => {}
        }
    }

    fn pattern_element(&mut self, element: &PatternElement) {
        match element {
            PatternElement::Node(node) => self.node_pattern(node),
            PatternElement::Relationship(relationship) => self.relationship_pattern(relationship),
            PatternElement::Group(group) => self.group_pattern(group),
        }
    }

    fn node_pattern(&mut self, node: &NodePattern) {
        self.put("(");
        self.filling(node.variable.as_ref(), node.labels.as_ref());
        self.optional(" ", node.properties.as_ref());
        self.optional(" WHERE ", node.condition.as_ref());
        self.put(")");
    }

    fn relationship_pattern(&mut self, relationship: &RelationshipPattern) {
        self.put(if relationship.direction == Direction::Incoming { "<-[" } else { "-[" });
        self.filling(relationship.variable.as_ref(), relationship.types.as_ref());
        self.length(relationship.length);
        self.optional(" ", relationship.properties.as_ref());
        self.optional(" WHERE ", relationship.condition.as_ref());
        self.put(if relationship.direction == Direction::Outgoing { "]->" } else { "]-" });
        self.quantifier(relationship.quantifier);
    }

    fn filling(&mut self, variable: Option<&Name>, labels: Option<&LabelExpression>) {
        if let Some(variable) = variable {
            self.variable(&variable.text);
        }
        if let Some(labels) = labels {
            self.labels(labels);
        }
    }

    fn length(&mut self, length: Option<LengthRange>) {
        let Some(LengthRange { min, max }) = length else { return };
        self.put("*");
        if min.is_some() && min == max {
            self.count(min);
        } else if min.is_some() || max.is_some() {
            self.count(min);
            self.put("..");
            self.count(max);
        }
    }

    fn quantifier(&mut self, quantifier: Option<Quantifier>) {
        let Some(Quantifier { min, max }) = quantifier else { return };
        self.put("{");
        self.count(Some(min));
        self.put(",");
        self.count(max);
        self.put("}");
    }

    fn count(&mut self, count: Option<u64>) {
        if let Some(count) = count {
            self.put(&count.to_string());
        }
    }

    fn group_pattern(&mut self, group: &GroupPattern) {
        self.put("(");
        self.path_pattern(&group.path);
        self.optional(" WHERE ", group.condition.as_ref());
        self.put(")");
        self.quantifier(group.quantifier);
    }

    pub(super) fn labels(&mut self, labels: &LabelExpression) {
        self.put(":");
        self.label_expression(labels);
    }

    pub(super) fn label_expression(&mut self, labels: &LabelExpression) {
        match labels {
            LabelExpression::Name(name) => self.name(name),
            LabelExpression::Any => self.put("%"),
            LabelExpression::Dynamic { any, value } => {
                self.put(if *any { "$any(" } else { "$(" });
                self.expression(value);
                self.put(")");
            }
            LabelExpression::Not(inner) => {
                self.put("!");
                self.label_expression(inner);
            }
            LabelExpression::And(parts) => self.label_chain(parts, "&"),
            LabelExpression::Or(parts) => self.label_chain(parts, "|"),
        }
    }

    fn label_chain(&mut self, parts: &[LabelExpression], separator: &str) {
        self.put("(");
        self.list(parts, separator, Self::label_expression);
        self.put(")");
    }
}
