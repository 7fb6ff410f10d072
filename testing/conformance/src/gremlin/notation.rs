//! How the features write values (`d[1].i`, `v[marko]`, `m[{…}]`), and results in one form that compares.

use super::ask;
use database::Session;
use gremlin::{Argument, Object, Token, Traversal};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;

/// Elements of a graph by the names the features give them.
#[derive(Default)]
pub struct Names {
    vertices: HashMap<String, (Object, Object)>,
    edges: HashMap<String, (Object, Object)>,
    properties: HashMap<String, (Object, Object)>,
}

impl Names {
    /// The names of a graph.
    ///
    /// # Errors
    /// A traversal fails.
    pub fn of(session: &mut Session) -> Result<Names, String> {
        let mut names = Names::default();
        let step = |name: &str| Traversal::new().with_step(name, Vec::new());
        let pairs = |session: &mut Session, of: &str| -> Result<Vec<(Object, Object)>, String> {
            let (all, ids) = (ask(session, &step(of))?, ask(session, &step(of).with_step("id", Vec::new()))?);
            Ok(all.into_iter().zip(ids).collect())
        };
        let mut name_of = HashMap::new();
        for (vertex, id) in pairs(session, "V")? {
            let named = step("V");
            let named = Traversal {
                steps: vec![gremlin::Instruction {
                    arguments: vec![Argument::Value(vertex.clone())],
                    ..named.steps[0].clone()
                }],
                ..named
            };
            let named = named.with_step("values", vec![Argument::Value(Object::from("name"))]);
            if let Some(Object::String(name)) = ask(session, &named)?.into_iter().next() {
                name_of.insert(shown(&vertex), name.to_string());
                names.vertices.insert(name.to_string(), (vertex, id));
            }
        }
        let named = |object: Object| name_of.get(&shown(&object)).cloned().unwrap_or_default();
        let labels = ask(session, &step("E").with_step("label", Vec::new()))?;
        for ((edge, id), label) in pairs(session, "E")?.into_iter().zip(labels) {
            if let Object::Edge(ends) = &edge {
                let (from, to) = (named(Object::Vertex(ends.source)), named(Object::Vertex(ends.target)));
                names.edges.insert(format!("{from}-{}->{to}", label.as_str().unwrap_or("")), (edge, id));
            }
        }
        let all = step("V").with_step("properties", Vec::new());
        let ids = ask(session, &all.clone().with_step("id", Vec::new()))?;
        for (property, id) in ask(session, &all)?.into_iter().zip(ids) {
            if let Object::VertexProperty(own) = &property {
                let value = match &own.value {
                    Object::String(text) => text.to_string(),
                    Object::Int(number) => format!("d[{number}].i"),
                    Object::Double(number) => format!("d[{number:?}].d"),
                    other => other.to_string(),
                };
                let name = format!("{}-{}->{value}", named(Object::Vertex(own.vertex)), own.key);
                names.properties.insert(name, (property, id));
            }
        }
        Ok(names)
    }
}

/// Reads a value.
///
/// # Errors
/// The notation is unknown, or names no element.
pub fn object(text: &str, names: &Names) -> Result<Object, String> {
    let text = text.trim();
    if let Some((kind, inner, suffix)) = bracketed(text) {
        return of_kind(kind, inner, suffix, names);
    }
    Ok(match text {
        "null" => Object::Null,
        "true" => Object::Bool(true),
        "false" => Object::Bool(false),
        _ => Object::from(text),
    })
}

/// `kind[inner]suffix`
fn bracketed(text: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = text.split_once('[')?;
    let known = ["l", "s", "str", "dt", "uuid", "v", "e", "vp", "m", "p", "t", "D", "M", "d"];
    let (inner, suffix) = rest.rsplit_once(']')?;
    let plain = suffix.is_empty() || suffix.starts_with('.');
    (known.contains(&kind) && plain).then_some((kind, inner, suffix.trim_start_matches('.')))
}

fn of_kind(kind: &str, inner: &str, suffix: &str, names: &Names) -> Result<Object, String> {
    let all = || split(inner).into_iter().map(|part| object(part, names)).collect::<Result<Vec<_>, _>>();
    let element = |known: &HashMap<String, (Object, Object)>| {
        let (element, id) = known.get(inner).cloned().unwrap_or((Object::from(inner), Object::from(inner)));
        match suffix {
            "" => element,
            "sid" => Object::string(
                id.as_long().map_or_else(|| id.as_str().unwrap_or("").to_string(), |id| id.to_string()),
            ),
            _ => id,
        }
    };
    Ok(match kind {
        "l" => Object::list(all()?),
        "s" => Object::Set(Arc::new(all()?)),
        "p" => {
            let objects = all()?;
            let labels = objects.iter().map(|_| Default::default()).collect();
            Object::Path(Arc::new(gremlin::object::Path { labels, objects }))
        }
        "str" => Object::from(inner),
        "dt" => Object::DateTime(Arc::new(gremlin::Instant::parse(inner).ok_or("no point in time")?)),
        "uuid" => Object::Uuid(Arc::new(gremlin::object::parse_uuid(inner).ok_or("no UUID")?)),
        "v" => element(&names.vertices),
        "e" => element(&names.edges),
        "vp" => element(&names.properties),
        "t" => Object::Token(Token::parse("T", inner).ok_or("no T")?),
        "D" => Object::Token(Token::parse("Direction", inner).ok_or("no Direction")?),
        "M" => Object::Token(Token::parse("Merge", inner).ok_or("no Merge")?),
        "d" => number(inner, suffix).ok_or_else(|| format!("{inner} is no number"))?,
        _ => of_json(&serde_json::from_str(inner).map_err(|error| error.to_string())?, names)?,
    })
}

fn number(text: &str, suffix: &str) -> Option<Object> {
    Some(match (text, suffix) {
        ("NaN", _) => Object::Double(f64::NAN),
        ("Infinity", _) => Object::Double(f64::INFINITY),
        ("-Infinity", _) => Object::Double(f64::NEG_INFINITY),
        (_, "m") => Object::BigDecimal(Arc::new(gremlin::parser::decimal(text)?)),
        (_, "f") => Object::Float(text.parse().ok()?),
        (_, "d") => Object::Double(text.parse().ok()?),
        (_, "l") => Object::Long(text.parse().ok()?),
        (_, "n") => Object::BigInt(Arc::new(text.parse().ok()?)),
        (_, "b") => Object::Byte(text.parse().ok()?),
        (_, "s") => Object::Short(text.parse().ok()?),
        _ => Object::Int(text.parse().ok()?),
    })
}

fn of_json(json: &Json, names: &Names) -> Result<Object, String> {
    Ok(match json {
        Json::Null => Object::Null,
        Json::Bool(truth) => Object::Bool(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => i32::try_from(whole).map_or(Object::Long(whole), Object::Int),
            None => Object::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => object(text, names)?,
        Json::Array(all) => {
            Object::list(all.iter().map(|one| of_json(one, names)).collect::<Result<_, _>>()?)
        }
        Json::Object(pairs) => {
            let pair = |(key, value): (&String, &Json)| {
                Ok::<_, String>((object(key, names)?, of_json(value, names)?))
            };
            Object::map(pairs.iter().map(pair).collect::<Result<_, _>>()?)
        }
    })
}

/// Parts between commas outside brackets and quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start, mut parts) = (0, false, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if depth == 0 && !quoted => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < text.len() {
        parts.push(text[start..].trim());
    }
    parts
}

/// The parts of the one result of `iterated next`.
pub fn parts(object: &Object) -> Vec<Object> {
    match object {
        Object::Map(pairs) => pairs.iter().map(|pair| Object::Entry(Arc::new(pair.clone()))).collect(),
        Object::List(all) | Object::Set(all) => all.to_vec(),
        Object::Path(path) => path.objects.clone(),
        Object::Bulk(bag) => {
            bag.iter().flat_map(|(one, count)| std::iter::repeat_n(one.clone(), *count as usize)).collect()
        }
        other => vec![other.clone()],
    }
}

/// An object in the form for comparisons: numbers by value whatever their width, sets and maps without order.
pub fn shown(object: &Object) -> String {
    let joined = |all: &[Object]| all.iter().map(shown).collect::<Vec<_>>().join(",");
    let sorted = |all: Vec<String>| {
        let mut all = all;
        all.sort();
        all.join(",")
    };
    match object {
        Object::Byte(_) | Object::Short(_) | Object::Int(_) | Object::Long(_) => {
            format!("#{}", object.as_long().unwrap_or(0))
        }
        Object::BigInt(number) => format!("#{number}"),
        Object::Float(number) => float(f64::from(*number)),
        Object::Double(number) => float(*number),
        Object::BigDecimal(number) => decimal(&number.to_string()),
        Object::String(text) => format!("'{text}'"),
        Object::List(all) => format!("[{}]", joined(all)),
        Object::Bulk(_) => format!("[{}]", joined(&parts(object))),
        Object::Set(all) => format!("{{{}}}", sorted(all.iter().map(shown).collect())),
        Object::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| format!("{}:{}", shown(key), shown(value)));
            format!("<{}>", sorted(pairs.collect()))
        }
        Object::Entry(entry) => format!("<{}:{}>", shown(&entry.0), shown(&entry.1)),
        Object::Path(path) => format!("path[{}]", joined(&path.objects)),
        Object::DateTime(instant) => format!("dt{}.{}", instant.seconds, instant.nanos),
        Object::VertexProperty(property) => {
            format!("vp[{}/{}/{}]", property.vertex.0, property.key, shown(&property.value))
        }
        Object::Property(property) => format!("p[{}={}]", property.key, shown(&property.value)),
        other => other.to_string(),
    }
}

fn float(number: f64) -> String {
    match number {
        number if number.is_nan() => "#NaN".into(),
        number if number.fract() == 0.0 && number.abs() < 1e18 => format!("#{}", number as i64),
        number => format!("#{number}"),
    }
}

/// Without zeros at its end, as floats are shown.
fn decimal(text: &str) -> String {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    format!("#{text}")
}
