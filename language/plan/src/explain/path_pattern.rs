//! A path pattern of several parts, in one line.

use super::text::{Printer, labels};
use crate::algebra::{ExpandPattern, PathChoice, PatternPart};
use crate::expr::LabelExpr;
use crate::pattern::PathMode;
use model::Direction;

pub(super) fn detail(node: &ExpandPattern, print: &Printer<'_>) -> String {
    let choice = match node.choice {
        PathChoice::Every => String::new(),
        PathChoice::Paths(count) => format!("shortest {count} "),
        PathChoice::Groups(count) => format!("shortest {count} groups "),
    };
    let mode = match node.mode {
        PathMode::Trail => "",
        PathMode::Walk => "walk ",
        PathMode::Acyclic => "acyclic ",
        PathMode::Simple => "simple ",
    };
    let parts: String = node.parts.iter().map(|each| part(each, print)).collect();
    let into = if node.into { " into" } else { "" };
    let test = node.predicate.as_ref().map_or(String::new(), |test| format!(" where {}", print.expr(test)));
    format!("{choice}{mode}({}) {parts} ({}){into}{test}", print.var(node.from), print.var(node.to))
}

fn part(part: &PatternPart, print: &Printer<'_>) -> String {
    let vertex = |at: usize| {
        let wanted = &part.vertices[at].labels;
        if *wanted == LabelExpr::Any { "()".into() } else { format!("(:{})", labels(wanted)) }
    };
    let mut text = vertex(0);
    for (at, edge) in part.edges.iter().enumerate() {
        let types =
            if edge.types.is_empty() { String::new() } else { format!("[:{}]", edge.types.join("|")) };
        text += &match edge.direction {
            Direction::Out => format!("-{types}->"),
            Direction::In => format!("<-{types}-"),
            Direction::Both => format!("-{types}-"),
        };
        text += &vertex(at + 1);
    }
    let test = part.predicate.as_ref().map_or(String::new(), |test| format!(" where {}", print.expr(test)));
    match (part.min, part.max) {
        (1, Some(1)) if test.is_empty() => text,
        (1, Some(1)) => format!("({text}{test})"),
        (min, max) => format!("({text}{test}){{{min},{}}}", max.map_or(String::new(), |max| max.to_string())),
    }
}
