//! Values, counts and times as a person reads them, in the spelling of Cypher.
//!
//! `(:Person {name: "Ada"})`, `[:KNOWS {since: 2010}]`, `(…)-[:KNOWS]->(…)`; temporal values as ISO 8601.

use database::entity::{Hydrated, Node, Relationship};
use database::{Counters, Value};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

/// A value as it stands in a cell of its own: text without quotes.
pub fn cell_text(value: &Hydrated) -> String {
    match value {
        Hydrated::Plain(Value::String(text)) => text.to_string(),
        other => value_text(other),
    }
}

/// A value as it stands among others: text in quotes.
pub fn value_text(value: &Hydrated) -> String {
    let mut out = String::new();
    write_hydrated(&mut out, value);
    out
}

/// Puts text between double quotes, with the escapes that JSON and Cypher share.
pub fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => put(out, format_args!("\\u{:04x}", control as u32)),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

/// Bytes as hexadecimal digits.
pub fn bytes_text(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        put(&mut out, format_args!("{byte:02x}"));
        out
    })
}

/// `1.5 ms`: three digits and the unit that fits.
pub fn time_text(time: Duration) -> String {
    let micros = time.as_nanos() as f64 / 1e3;
    let (value, unit) = match micros {
        _ if micros < 999.5 => (micros, "µs"),
        _ if micros < 999_500.0 => (micros / 1e3, "ms"),
        _ => (micros / 1e6, "s"),
    };
    match value {
        _ if value < 9.995 => format!("{value:.2} {unit}"),
        _ if value < 99.95 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// `1,234,567`.
pub fn count_text(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 row`, `2 rows`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", count_text(count), if count == 1 { one } else { many })
}

/// The changes of a statement, in words; none where it changed nothing.
pub fn changes_text(counters: &Counters, schema_changes: u64) -> Option<String> {
    let parts = [
        ("created", counters.nodes_created, "node", "nodes"),
        ("created", counters.relationships_created, "relationship", "relationships"),
        ("set", counters.properties_set, "property", "properties"),
        ("added", counters.labels_added, "label", "labels"),
        ("removed", counters.labels_removed, "label", "labels"),
        ("deleted", counters.nodes_deleted, "node", "nodes"),
        ("deleted", counters.relationships_deleted, "relationship", "relationships"),
        ("changed", schema_changes, "index or constraint", "indexes and constraints"),
    ];
    let said: Vec<String> = parts
        .iter()
        .filter(|(_, count, ..)| *count > 0)
        .map(|(verb, count, one, many)| format!("{verb} {}", counted(*count, one, many)))
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// Writing to a string cannot fail.
pub(crate) fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a string cannot fail");
}

fn write_hydrated(out: &mut String, value: &Hydrated) {
    match value {
        Hydrated::Plain(plain) => write_plain(out, plain),
        Hydrated::List(items) => separated(out, '[', ']', items, write_hydrated),
        Hydrated::Map(pairs) => separated(out, '{', '}', pairs, |out, (key, item)| {
            write_name(out, key);
            out.push_str(": ");
            write_hydrated(out, item);
        }),
        Hydrated::Node(node) => write_node(out, node),
        Hydrated::Relationship(relationship) => write_relationship(out, relationship),
        Hydrated::Path(nodes, relationships) => write_path(out, nodes, relationships),
    }
}

fn write_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => put(out, format_args!("{truth}")),
        Value::Int(int) => put(out, format_args!("{int}")),
        Value::Float(float) => out.push_str(&float_text(*float)),
        Value::String(text) => write_quoted(out, text),
        Value::Bytes(bytes) => put(out, format_args!("0x{}", bytes_text(bytes))),
        Value::Point(point) => put(out, format_args!("{point}")),
        Value::List(items) => separated(out, '[', ']', items.iter(), write_plain),
        Value::Map(map) => separated(out, '{', '}', map.iter(), |out, (key, item)| {
            write_name(out, key);
            out.push_str(": ");
            write_plain(out, item);
        }),
        // Bare entities do not come here: they have been looked up.
        Value::Vertex(vertex) => put(out, format_args!("({})", vertex.0)),
        Value::Edge(edge) => put(out, format_args!("[{}]", edge.id.0)),
        Value::Path(path) => put(out, format_args!("<path of {}>", path.edges.len())),
        temporal => out.push_str(&model::temporal::text(temporal).unwrap_or_default()),
    }
}

/// A float keeps its point, so that it is not taken for an integer.
pub(crate) fn float_text(float: f64) -> String {
    match float {
        _ if float.is_nan() => "NaN".into(),
        _ if float.is_infinite() => if float > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        _ => format!("{float:?}"),
    }
}

fn write_node(out: &mut String, node: &Node) {
    out.push('(');
    for label in &node.labels {
        out.push(':');
        write_name(out, label);
    }
    write_properties(out, &node.properties, !node.labels.is_empty());
    out.push(')');
}

fn write_relationship(out: &mut String, relationship: &Relationship) {
    out.push_str("[:");
    write_name(out, &relationship.edge_type);
    write_properties(out, &relationship.properties, true);
    out.push(']');
}

fn write_path(out: &mut String, nodes: &[Node], relationships: &[Relationship]) {
    for (at, node) in nodes.iter().enumerate() {
        write_node(out, node);
        let Some(relationship) = relationships.get(at) else { continue };
        let forward = relationship.edge.source == node.id;
        out.push_str(if forward { "-" } else { "<-" });
        write_relationship(out, relationship);
        out.push_str(if forward { "->" } else { "-" });
    }
}

fn write_properties(out: &mut String, properties: &[(Arc<str>, Value)], after_name: bool) {
    if properties.is_empty() {
        return;
    }
    if after_name {
        out.push(' ');
    }
    separated(out, '{', '}', properties, |out, (key, value)| {
        write_name(out, key);
        out.push_str(": ");
        write_plain(out, value);
    });
}

/// A name that is no word stands between backticks.
fn write_name(out: &mut String, name: &str) {
    let word = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        && name.chars().next().is_some_and(|first| !first.is_numeric());
    if word {
        out.push_str(name);
    } else {
        put(out, format_args!("{}", database::Quoted(name)));
    }
}

fn separated<T>(
    out: &mut String,
    open: char,
    close: char,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
    out.push(close);
}

/// The text in lines that are no wider than this where its words allow it, broken at blanks.
pub(crate) fn words_wrapped(text: &str, width: Option<usize>) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let is_full = |line: &String| {
            !line.is_empty() && width.is_some_and(|width| line.width() + 1 + word.width() > width)
        };
        match lines.last_mut().filter(|line| !is_full(line)) {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks() {
        assert_eq!(words_wrapped("one two three", None), ["one two three"]);
        assert_eq!(words_wrapped("one two three", Some(7)), ["one two", "three"]);
        assert_eq!(words_wrapped("one two three", Some(6)), ["one", "two", "three"]);
        assert_eq!(words_wrapped("one two", Some(0)), ["one", "two"]);
        assert_eq!(words_wrapped("", Some(3)), [""]);
    }

    #[test]
    fn times_and_counts_have_three_digits_and_commas() {
        let times = [(0, "0.00 µs"), (1_234, "1.23 µs"), (999_400, "999 µs"), (999_600, "1.00 ms")];
        for (nanos, text) in times {
            assert_eq!(time_text(Duration::from_nanos(nanos)), text);
        }
        assert_eq!(time_text(Duration::from_millis(12_345)), "12.3 s");
        assert_eq!((count_text(999), count_text(1_000)), ("999".into(), "1,000".into()));
        assert_eq!(count_text(1_234_567), "1,234,567");
    }

    #[test]
    fn values_are_spelled_as_in_cypher() {
        let check = |value: Value, expected: &str| {
            assert_eq!(value_text(&Hydrated::Plain(value)), expected);
        };
        check(Value::Float(1.0), "1.0");
        check(Value::Float(f64::NAN), "NaN");
        check(Value::Float(1e300), "1e300");
        check("a\"b\n\u{1}".into(), r#""a\"b\n\u0001""#);
        check(Value::list(vec![1i64.into(), Value::Null, "x".into()]), r#"[1, null, "x"]"#);
        check(Value::map([("b c", 1i64.into()), ("a", true.into())]), "{a: true, `b c`: 1}");
        check(Value::Bytes([0u8, 255].as_slice().into()), "0x00ff");
    }
}
