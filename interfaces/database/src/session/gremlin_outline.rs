//! A traversal as the log shows it: its steps, labels and keys, without values.

use gremlin::{Argument, Object, Traversal};
use std::fmt::Write;

/// Bytes of an outline.
const OUTLINE_BYTES_MAX: usize = 2_000;
/// Traversals within each other that are written out.
const DEPTH_MAX: usize = 16;
/// Steps whose text arguments are all labels and keys.
const NAMING: [&str; 20] = [
    "as",
    "both",
    "bothE",
    "by",
    "coalesce",
    "group",
    "hasKey",
    "hasLabel",
    "hasNot",
    "in",
    "inE",
    "out",
    "outE",
    "project",
    "properties",
    "propertyMap",
    "select",
    "valueMap",
    "values",
    "addE",
];
/// Steps whose first text argument is one.
const NAMING_FIRST: [&str; 3] = ["addV", "has", "property"];

/// The traversal in one line.
pub(super) fn outline(traversal: &Traversal) -> String {
    let mut out = String::from("g");
    write_steps(traversal, 0, &mut out);
    if out.len() > OUTLINE_BYTES_MAX {
        out.truncate(out.floor_char_boundary(OUTLINE_BYTES_MAX));
        out.push('…');
    }
    out
}

fn write_steps(traversal: &Traversal, depth: usize, out: &mut String) {
    for instruction in traversal.source.iter().chain(&traversal.steps) {
        if out.len() > OUTLINE_BYTES_MAX {
            return;
        }
        let _ = write!(out, ".{}(", instruction.name);
        let names_all = NAMING.contains(&&*instruction.name);
        let names_first = NAMING_FIRST.contains(&&*instruction.name);
        for (at, argument) in instruction.arguments.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            match argument {
                Argument::Value(Object::String(name)) if names_all || (names_first && at == 0) => {
                    let _ = write!(out, "'{}'", &name[..name.floor_char_boundary(OUTLINE_BYTES_MAX)]);
                }
                Argument::Value(Object::Token(token)) => out.push_str(token.name()),
                Argument::Traversal(inner) if depth < DEPTH_MAX => {
                    out.push_str("__");
                    write_steps(inner, depth + 1, out);
                }
                _ => out.push('…'),
            }
        }
        out.push(')');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gremlin::{Bindings, Request, parse};

    #[test]
    fn an_outline_has_names_and_no_values() {
        let shown = |text: &str| match &parse(text, &Bindings::default()).unwrap()[0] {
            Request::Traversal(traversal, _) => outline(traversal),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            shown(
                "g.V().has('name', 'hunter2').where(out('KNOWS').has('age', gt(7))).order().by('age', desc).limit(3)"
            ),
            "g.V().has('name', …).where(__.out('KNOWS').has('age', …)).order().by('age', desc).limit(…)"
        );
        assert!(!shown("g.inject('hunter2').addV('P').property('password', 'hunter2')").contains("hunter2"));
        assert!(shown(&format!("g.V(){}", ".out('KNOWS')".repeat(1_000))).len() < OUTLINE_BYTES_MAX + 50);
    }
}
