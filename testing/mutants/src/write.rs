//! All changes of a file at once, each behind a switch; or one, written.
//!
//! ```text
//!   a + b * c   becomes   (if on(7) { (a) - (b * c) } else { a + (if on(8) { (b) / (c) } else { b * c }) })
//! ```
//!
//! Idea: a crate is built once with the switches of its whole sample in it, and each run of its tests turns one on. Only the branch without a switch
//! contains other changes; a change is written from the original text.

use crate::find::{Kind, Mutant};
use std::ops::Range;

/// The module that every crate gets for a while. What it is asked most is whether nothing is on.
pub const SWITCHES: &str = include_str!("switches.txt");

/// A changed file: its text, and where in it each change stands, by number.
pub struct Written {
    /// The text.
    pub text: String,
    /// Bytes of the changes, and of all that stands behind the same switches.
    pub places: Vec<(usize, Range<usize>, Range<usize>)>,
}

/// The changes of one range.
struct Node<'a> {
    range: Range<usize>,
    /// Outer before inner where ranges are the same.
    rank: u8,
    changes: Vec<(usize, &'a Kind)>,
}

/// The file with the switches of these changes, which have numbers.
pub fn switched(text: &str, mutants: &[(usize, &Mutant)]) -> Written {
    let mut nodes: Vec<Node<'_>> = Vec::new();
    for (number, mutant) in mutants {
        let rank = match mutant.kind {
            Kind::Return(_) => 0,
            Kind::NoArm => 1,
            Kind::Expression(_) => 2,
        };
        match nodes.iter_mut().find(|node| node.range == mutant.range && node.rank == rank) {
            Some(node) => node.changes.push((*number, &mutant.kind)),
            None => {
                nodes.push(Node { range: mutant.range.clone(), rank, changes: vec![(*number, &mutant.kind)] })
            }
        }
    }
    nodes.sort_by_key(|node| (node.range.start, std::cmp::Reverse(node.range.end), node.rank));
    let mut written = Written { text: String::new(), places: Vec::new() };
    let rest = write(text, 0..text.len(), &nodes, &mut written);
    debug_assert!(rest.is_empty(), "nodes lie in one another or apart");
    written
}

/// Writes a range with the nodes in it; those behind it are left over.
fn write<'a, 'b>(
    text: &str,
    range: Range<usize>,
    mut nodes: &'b [Node<'a>],
    out: &mut Written,
) -> &'b [Node<'a>] {
    let mut at = range.start;
    while let Some((node, rest)) = nodes.split_first() {
        if node.range.start > range.end || node.range.end > range.end {
            break;
        }
        out.text.push_str(&text[at..node.range.start]);
        at = node.range.end;
        nodes = node.write(text, rest, out);
    }
    out.text.push_str(&text[at..range.end]);
    nodes
}

impl<'a> Node<'a> {
    fn write<'b>(&self, text: &str, inner: &'b [Node<'a>], out: &mut Written) -> &'b [Node<'a>] {
        let begin = out.text.len();
        let mut own = Vec::new();
        let mut close = "";
        match self.changes[0].1 {
            Kind::Return(_) => {}
            Kind::NoArm if self.range.is_empty() => out.text.push_str(" if "),
            Kind::NoArm | Kind::Expression(_) => {
                out.text.push('(');
                close = ")";
            }
        }
        for (number, kind) in &self.changes {
            let first = out.text.len();
            match kind {
                Kind::Return(value) => {
                    out.text.push_str(&format!("if {} {{ return {value}; }} ", on(*number)))
                }
                Kind::NoArm if self.range.is_empty() => out.text.push_str(&format!("!{}", on(*number))),
                Kind::NoArm => out.text.push_str(&format!("!{} && ", on(*number))),
                Kind::Expression(value) => {
                    out.text.push_str(&format!("if {} {{ {value} }} else ", on(*number)));
                }
            }
            own.push((*number, first..out.text.len()));
        }
        // A guard may be an `||`, which binds less than the `&&` before it.
        let (before, behind) = match self.changes[0].1 {
            Kind::Expression(_) => ("{ ", " }"),
            Kind::NoArm if !self.range.is_empty() => ("(", ")"),
            Kind::NoArm | Kind::Return(_) => ("", ""),
        };
        out.text.push_str(before);
        let left = write(text, self.range.clone(), inner, out);
        out.text.push_str(behind);
        out.text.push_str(close);
        let whole = begin..out.text.len();
        out.places.extend(own.into_iter().map(|(number, range)| (number, range, whole.clone())));
        left
    }
}

fn on(number: usize) -> String {
    format!("crate::mutant_switches::on({number})")
}

/// The file with this change, written.
pub fn changed(text: &str, mutant: &Mutant) -> String {
    let (range, new) = match &mutant.kind {
        Kind::Expression(value) => (mutant.range.clone(), format!("({value})")),
        Kind::Return(value) => (mutant.range.clone(), value.clone()),
        Kind::NoArm => {
            let comma = text[mutant.arm.end..].find(|letter: char| !letter.is_whitespace());
            let comma = comma.filter(|at| text[mutant.arm.end + at..].starts_with(','));
            (mutant.arm.start..mutant.arm.end + comma.map_or(0, |at| at + 1), String::new())
        }
    };
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::mutants;

    const TEXT: &str = r#"
const LIMIT: usize = 1 << 4;
impl Thing {
    fn sum(&self, a: u32, b: u32) -> u32 {
        if let Some(c) = self.c && c == a { return a + b * c; }
        match a {
            0 if b > 1 => !b,
            1 | 2 => { let mut x = 1; x += 2; x }
            _ => [0; 2 + 2][0],
        }
    }
    fn nothing(&self) {}
}
#[cfg(test)]
mod tests { fn left_alone() -> bool { 1 == 2 } }
"#;

    fn all() -> Vec<Mutant> {
        mutants("lib.rs", TEXT).unwrap()
    }

    #[test]
    fn every_change_is_found_once() {
        let what = |mutant: &Mutant| mutant.name.split(": ").nth(1).unwrap().to_string();
        let found: Vec<String> = all().iter().map(what).collect();
        let expected = [
            "<< becomes >> in LIMIT",
            "return 0 at once in Thing::sum",
            "return 1 at once in Thing::sum",
            "== becomes !=",
            "+ becomes -",
            "+ becomes *",
            "* becomes +",
            "* becomes /",
            "the arm goes",
            "the guard is true",
            "the guard is false",
            "the arm goes",
            "> becomes ==",
            "> becomes <",
            "> becomes >=",
            "! goes",
            "+= becomes -=",
            "+= becomes *=",
            "+ becomes -",
            "+ becomes *",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        assert!(
            found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected)),
            "{found:#?}"
        );
        assert_eq!(all().iter().filter(|mutant| mutant.is_constant).count(), 3, "the limit, and the length");
    }

    /// Without a switch the text is the original one.
    #[test]
    fn switches_leave_the_text_as_it_was_and_know_where_they_are() {
        let all = all();
        let numbered: Vec<(usize, &Mutant)> =
            all.iter().enumerate().filter(|(_, mutant)| !mutant.is_constant).collect();
        let written = switched(TEXT, &numbered);
        syn::parse_file(&written.text).unwrap();
        assert_eq!(written.places.len(), numbered.len());
        for (number, own, whole) in &written.places {
            assert!(whole.start <= own.start && own.end <= whole.end);
            assert!(written.text[own.clone()].contains(&on(*number)), "{number}");
        }
        for part in [
            "if crate::mutant_switches::on(1) { return 0; } if crate::mutant_switches::on(2) { return 1; } if let",
            "&& (if crate::mutant_switches::on(3) { (c) != (a) } else { c == a })",
            "(a) - (b * c) } else if",
            "if (!crate::mutant_switches::on(8) && ((if",
            "1 | 2 if !crate::mutant_switches::on(11) =>",
            "(if crate::mutant_switches::on(16) { (x) -= (2) } else if",
        ] {
            assert!(written.text.contains(part), "{part} is missing in {}", written.text);
        }
        assert_eq!(switched(TEXT, &[]).text, TEXT);
        // And each by itself.
        for mutant in &all {
            let text = changed(TEXT, mutant);
            assert_ne!(text, TEXT);
            syn::parse_file(&text).unwrap();
        }
    }
}
