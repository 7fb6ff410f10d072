//! A [`Traversal`] as gremlin-lang text: for logs, `explain`, and the round trip that tests the parser.

use crate::object::{Object, duration_text, uuid_text};
use crate::predicate::Predicate;
use crate::traversal::{Argument, Instruction, Traversal};
use std::fmt::{Display, Formatter, Result};

impl Display for Traversal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("g")?;
        self.source.iter().chain(&self.steps).try_for_each(|instruction| write!(f, ".{instruction}"))
    }
}

impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}(", self.name)?;
        separated(f, &self.arguments)?;
        f.write_str(")")
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Argument::Value(value) => write!(f, "{value}"),
            Argument::Traversal(nested) => {
                f.write_str("__")?;
                nested.steps.iter().try_for_each(|instruction| write!(f, ".{instruction}"))
            }
            Argument::Predicate(predicate) => write!(f, "{predicate}"),
            Argument::Strategy(strategy) => {
                write!(f, "new {}(", strategy.name)?;
                for (place, (key, option)) in strategy.options.iter().enumerate() {
                    let comma = if place > 0 { ", " } else { "" };
                    write!(f, "{comma}{key}: {option}")?;
                }
                f.write_str(")")
            }
        }
    }
}

impl Display for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Predicate::Compare(compare, value) => write!(f, "P.{}({value})", compare.name()),
            Predicate::Within(values) => listed(f, "P.within([", values, "])"),
            Predicate::Without(values) => listed(f, "P.without([", values, "])"),
            Predicate::Between(low, high) => write!(f, "P.between({low}, {high})"),
            Predicate::Inside(low, high) => write!(f, "P.inside({low}, {high})"),
            Predicate::Outside(low, high) => write!(f, "P.outside({low}, {high})"),
            Predicate::Text(test, value, negated) => {
                write!(f, "TextP.{}({value})", text_test(*test, *negated))
            }
            Predicate::TypeOf(kind) => write!(f, "P.typeOf({kind})"),
            Predicate::And(left, right) => write!(f, "{left}.and({right})"),
            Predicate::Or(left, right) => write!(f, "{left}.or({right})"),
            Predicate::Not(inner) => write!(f, "P.not({inner})"),
        }
    }
}

fn text_test(test: crate::predicate::TextTest, negated: bool) -> &'static str {
    use crate::predicate::TextTest::{Containing, EndingWith, Regex, StartingWith};
    match (test, negated) {
        (StartingWith, false) => "startingWith",
        (StartingWith, true) => "notStartingWith",
        (EndingWith, false) => "endingWith",
        (EndingWith, true) => "notEndingWith",
        (Containing, false) => "containing",
        (Containing, true) => "notContaining",
        (Regex, false) => "regex",
        (Regex, true) => "notRegex",
    }
}

impl Display for Object {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Object::Null => f.write_str("null"),
            Object::Bool(truth) => write!(f, "{truth}"),
            Object::Byte(number) => write!(f, "{number}b"),
            Object::Short(number) => write!(f, "{number}s"),
            Object::Int(number) => write!(f, "{number}"),
            Object::Long(number) => write!(f, "{number}l"),
            Object::BigInt(number) => write!(f, "{number}n"),
            Object::Float(number) => float(f, f64::from(*number), &format!("{number:?}f")),
            Object::Double(number) => float(f, *number, &format!("{number:?}d")),
            Object::BigDecimal(number) => write!(f, "{number}m"),
            Object::Char(letter) => quoted(f, &letter.to_string()),
            Object::String(text) => quoted(f, text),
            Object::Uuid(uuid) => write!(f, "UUID(\"{}\")", uuid_text(**uuid)),
            Object::DateTime(instant) => {
                write!(f, "datetime(\"{}\")", model::temporal::text(&instant.to_value()).unwrap_or_default())
            }
            Object::List(elements) => listed(f, "[", elements, "]"),
            Object::Set(elements) => listed(f, "{", elements, "}"),
            Object::Map(pairs) => map(f, pairs),
            Object::Token(token) => write!(f, "{}.{}", token.class(), token.name()),
            Object::Kept(kept) => write!(f, "Cardinality.{}({})", kept.0.token().name(), kept.1),
            other => write!(f, "{}", Shown(other)),
        }
    }
}

/// An object that no text can name, as it is shown.
struct Shown<'a>(&'a Object);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Object::Vertex(vertex) => write!(f, "v[{}]", vertex.0),
            Object::Edge(edge) => write!(f, "e[{}][{}->{}]", edge.id.0, edge.source.0, edge.target.0),
            Object::VertexProperty(property) => write!(f, "vp[{}->{}]", property.key, property.value),
            Object::Property(property) => write!(f, "p[{}->{}]", property.key, property.value),
            Object::Path(path) => listed(f, "path[", &path.objects, "]"),
            Object::Tree(branches) => map(f, branches),
            Object::Graph(graph) => {
                write!(f, "graph[vertices:{} edges:{}]", graph.vertices.len(), graph.edges.len())
            }
            Object::Metrics(metrics) => f.write_str(&metrics.text),
            Object::Entry(entry) => write!(f, "{}={}", entry.0, entry.1),
            Object::Bulk(bag) => {
                let elements: Vec<Object> = bag.iter().map(|(element, _)| element.clone()).collect();
                listed(f, "[", &elements, "]")
            }
            Object::Binary(bytes) => write!(f, "bytes[{}]", bytes.len()),
            Object::Duration(seconds, nanos) => f.write_str(&duration_text(*seconds, *nanos)),
            Object::Reference(reference) => write!(f, "{}[{}]", reference.label, reference.id),
            _ => Ok(()),
        }
    }
}

impl Display for crate::object::Decimal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let digits = self.unscaled.unsigned_abs().to_string();
        let sign = if self.unscaled < 0 { "-" } else { "" };
        match usize::try_from(self.scale) {
            Ok(0) => write!(f, "{sign}{digits}"),
            Ok(scale) if scale <= 64 => {
                let padded = format!("{digits:0>width$}", width = scale + 1);
                let (front, behind) = padded.split_at(padded.len() - scale);
                write!(f, "{sign}{front}.{behind}")
            }
            _ => write!(f, "{sign}{digits}e{}", -i64::from(self.scale)),
        }
    }
}

fn float(f: &mut Formatter<'_>, number: f64, text: &str) -> Result {
    match number {
        number if number.is_nan() => f.write_str("NaN"),
        number if number.is_infinite() => f.write_str(if number > 0.0 { "Infinity" } else { "-Infinity" }),
        _ => f.write_str(text),
    }
}

fn quoted(f: &mut Formatter<'_>, text: &str) -> Result {
    f.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            letter => write!(f, "{letter}")?,
        }
    }
    f.write_str("\"")
}

fn separated<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> Result {
    for (place, item) in items.iter().enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        write!(f, "{comma}{item}")?;
    }
    Ok(())
}

fn listed(f: &mut Formatter<'_>, open: &str, items: &[Object], close: &str) -> Result {
    f.write_str(open)?;
    separated(f, items)?;
    f.write_str(close)
}

fn map(f: &mut Formatter<'_>, pairs: &[(Object, Object)]) -> Result {
    if pairs.is_empty() {
        return f.write_str("[:]");
    }
    f.write_str("[")?;
    for (place, (key, value)) in pairs.iter().enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        match key {
            // a bare word before a colon would be read as text
            Object::Null | Object::Bool(_) | Object::Float(_) | Object::Double(_) => {
                write!(f, "{comma}({key}): {value}")?;
            }
            key => write!(f, "{comma}{key}: {value}")?,
        }
    }
    f.write_str("]")
}
