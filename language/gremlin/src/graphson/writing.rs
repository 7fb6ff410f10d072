//! Writing GraphSON: objects as JSON of version 1 (plain), 2 and 3 (typed, or plain where a client wants that).
//!
//! Text is written straight on, without a tree of JSON between. Versions differ in how they write collections: 3 gives lists, sets and maps
//! a type of their own, 2 writes them as JSON's.

use super::base64;
use crate::Object;
use crate::object::{Path, Property, VertexProperty, duration_text, uuid_text};
use crate::shown::{BagTooLarge, Elements};
use std::fmt::{Display, Write};

/// Elements that a bag may have where a version must write each as often as it is there.
const BAG_ELEMENTS_MAX: u64 = 100_000;

/// A version of GraphSON, with or without types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    version: u8,
    typed: bool,
}

/// Every dialect with its name; the last one is also called by the general name of JSON.
const NAMES: [(&str, Dialect); 7] = [
    ("application/vnd.gremlin-v1.0+json", Dialect { version: 1, typed: false }),
    ("application/vnd.gremlin-v1.0+json;types=false", Dialect { version: 1, typed: false }),
    ("application/vnd.gremlin-v2.0+json", Dialect { version: 2, typed: true }),
    ("application/vnd.gremlin-v2.0+json;types=false", Dialect { version: 2, typed: false }),
    ("application/vnd.gremlin-v3.0+json;types=false", Dialect { version: 3, typed: false }),
    ("application/vnd.gremlin-v3.0+json", Dialect::DEFAULT),
    ("application/json", Dialect::DEFAULT),
];

impl Dialect {
    /// The version of JSON where none is named.
    pub const DEFAULT: Dialect = Dialect { version: 3, typed: true };

    /// The dialect of a name, as clients write it.
    pub fn of(mime: &str) -> Option<Dialect> {
        let mime = mime.to_ascii_lowercase().replace(' ', "");
        NAMES.iter().find(|(name, _)| *name == mime).map(|(_, dialect)| *dialect)
    }
    /// Its name.
    pub fn mime(self) -> &'static str {
        let named = NAMES.iter().find(|(_, dialect)| *dialect == self);
        named.map_or("application/json", |(name, _)| name)
    }
    /// All of them.
    pub fn all() -> impl Iterator<Item = Dialect> {
        NAMES.iter().map(|(_, dialect)| *dialect)
    }
}

/// Writes at the end of a text.
pub struct JsonWriter<'a, E> {
    /// The text.
    pub text: String,
    dialect: Dialect,
    /// Resolves the numbers of vertices and edges.
    answer: Option<&'a E>,
}

pub(super) type Written<E> = Result<(), <E as Elements>::Error>;

impl<'a, E: Elements> JsonWriter<'a, E> {
    /// For values of this answer; without one, for plain values alone.
    pub fn new(dialect: Dialect, answer: Option<&'a E>) -> JsonWriter<'a, E> {
        JsonWriter { text: String::new(), dialect, answer }
    }
    /// Something as it is.
    pub fn put(&mut self, what: impl Display) {
        // a text takes everything
        let _ = write!(self.text, "{what}");
    }
    /// A text in quotes.
    pub fn quote(&mut self, text: &str) {
        self.put(serde_json::Value::from(text));
    }
    fn key(&mut self, name: &str) {
        self.quote(name);
        self.text.push(':');
    }
    /// The output of `inside`, with its type where the dialect has types.
    ///
    /// # Errors
    /// As `inside`.
    pub fn typed(&mut self, kind: &str, inside: impl FnOnce(&mut Self) -> Written<E>) -> Written<E> {
        if !self.dialect.typed {
            return inside(self);
        }
        self.put(format_args!("{{\"@type\":\"{kind}\",\"@value\":"));
        inside(self)?;
        self.text.push('}');
        Ok(())
    }
    /// A value as it is, with its type where the dialect has types.
    ///
    /// # Errors
    /// None.
    pub fn plain(&mut self, kind: &str, value: impl Display) -> Written<E> {
        self.typed(kind, |writer| {
            writer.put(value);
            Ok(())
        })
    }
    fn quoted(&mut self, kind: &str, text: &str) -> Written<E> {
        self.typed(kind, |writer| {
            writer.quote(text);
            Ok(())
        })
    }
    /// Things between brackets, with commas.
    pub(super) fn row<T>(
        &mut self,
        all: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T) -> Written<E>,
    ) -> Written<E> {
        self.text.push('[');
        for (number, one) in all.into_iter().enumerate() {
            if number > 0 {
                self.text.push(',');
            }
            each(self, one)?;
        }
        self.text.push(']');
        Ok(())
    }
    /// A collection: with a type in version 3 alone.
    pub(super) fn collection<T>(
        &mut self,
        kind: &str,
        all: impl IntoIterator<Item = T>,
        each: impl FnMut(&mut Self, T) -> Written<E>,
    ) -> Written<E> {
        match self.dialect.version {
            3 => self.typed(kind, |writer| writer.row(all, each)),
            _ => self.row(all, each),
        }
    }

    /// A value.
    ///
    /// # Errors
    /// A vertex or an edge cannot be resolved; a bag is too large to be written out.
    pub fn object(&mut self, object: &Object) -> Written<E> {
        match object {
            Object::Null => self.put("null"),
            Object::Bool(truth) => self.put(truth),
            Object::Byte(number) => self.plain("gx:Byte", number)?,
            Object::Short(number) => self.plain("gx:Int16", number)?,
            Object::Int(number) => self.plain("g:Int32", number)?,
            Object::Long(number) => self.plain("g:Int64", number)?,
            Object::BigInt(number) => self.plain("gx:BigInteger", number)?,
            Object::Float(number) => self.real("g:Float", f64::from(*number), &number.to_string())?,
            Object::Double(number) => self.real("g:Double", *number, &format!("{number:?}"))?,
            Object::BigDecimal(decimal) => {
                self.plain("gx:BigDecimal", decimal_text(decimal.unscaled, decimal.scale))?;
            }
            Object::Char(letter) => self.quoted("gx:Char", letter.encode_utf8(&mut [0; 4]))?,
            Object::String(text) => self.quote(text),
            Object::Binary(bytes) => self.quoted("gx:ByteBuffer", &base64::encoded(bytes))?,
            Object::Uuid(uuid) => self.quoted("g:UUID", &uuid_text(**uuid))?,
            Object::DateTime(instant) => {
                let text = model::temporal::text(&instant.to_value()).unwrap_or_default();
                self.quoted("gx:OffsetDateTime", &text)?;
            }
            Object::Duration(seconds, nanos) => {
                self.quoted("gx:Duration", &duration_text(*seconds, *nanos))?;
            }
            Object::List(elements) => self.collection("g:List", elements.iter(), Self::object)?,
            Object::Set(elements) => self.collection("g:Set", elements.iter(), Self::object)?,
            Object::Bulk(elements) => self.bag(elements)?,
            Object::Map(pairs) => self.map(pairs)?,
            Object::Entry(entry) => self.map(std::slice::from_ref(&**entry))?,
            Object::Tree(children) => self.tree(children)?,
            Object::Graph(graph) => self.graph(graph)?,
            Object::Metrics(metrics) => self.traversal_metrics(metrics)?,
            Object::Vertex(_) => self.vertex(object)?,
            Object::Edge(_) => self.edge(object)?,
            Object::VertexProperty(property) => self.vertex_property(property)?,
            Object::Property(property) => self.property(property)?,
            Object::Path(path) => self.path(path)?,
            Object::Token(token) => self.quoted(&format!("g:{}", token.class()), token.name())?,
            Object::Kept(kept) => self.object(&kept.1)?,
            Object::Reference(reference) => self.object(&reference.id)?,
        }
        Ok(())
    }
    /// NaN and infinities, for which JSON has no number.
    fn real(&mut self, kind: &str, number: f64, digits: &str) -> Written<E> {
        match number {
            _ if number.is_nan() => self.quoted(kind, "NaN"),
            f64::INFINITY => self.quoted(kind, "Infinity"),
            f64::NEG_INFINITY => self.quoted(kind, "-Infinity"),
            _ => self.plain(kind, digits),
        }
    }
    fn bag(&mut self, elements: &[(Object, u64)]) -> Written<E> {
        if self.dialect.version == 3 && self.dialect.typed {
            return self.typed("g:BulkSet", |writer| {
                let flat = elements.iter().flat_map(|(element, bulk)| [Ok(element), Err(bulk)]);
                writer.row(flat, |writer, one| match one {
                    Ok(element) => writer.object(element),
                    Err(bulk) => writer.plain("g:Int64", bulk),
                })
            });
        }
        let count = elements.iter().fold(0_u64, |count, (_, bulk)| count.saturating_add(*bulk));
        if count > BAG_ELEMENTS_MAX {
            return Err(BagTooLarge { count }.into());
        }
        let each = elements.iter().flat_map(|(element, bulk)| std::iter::repeat_n(element, *bulk as usize));
        self.collection("g:List", each, Self::object)
    }
    /// A map.
    ///
    /// # Errors
    /// As [`JsonWriter::object`].
    pub fn map(&mut self, pairs: &[(Object, Object)]) -> Written<E> {
        if self.dialect.version == 3 && self.dialect.typed {
            let flat = pairs.iter().flat_map(|(key, value)| [key, value]);
            return self.typed("g:Map", |writer| writer.row(flat, Self::object));
        }
        self.text.push('{');
        for (number, (key, value)) in pairs.iter().enumerate() {
            if number > 0 {
                self.text.push(',');
            }
            let name = self.name(key)?;
            self.key(&name);
            self.object(value)?;
        }
        self.text.push('}');
        Ok(())
    }
    /// A key where keys are texts.
    fn name(&self, key: &Object) -> Result<String, E::Error> {
        Ok(match (key, self.answer) {
            (Object::String(text), _) => text.to_string(),
            (Object::Token(token), _) => token.name().to_string(),
            (Object::Vertex(vertex), Some(answer)) => format!("v[{}]", bare(&answer.vertex_name(*vertex)?.0)),
            (Object::Edge(edge), Some(answer)) => format!("e[{}]", bare(&answer.edge(edge)?.id)),
            (other, _) => bare(other),
        })
    }
    fn tree(&mut self, children: &[(Object, Object)]) -> Written<E> {
        self.typed("g:Tree", |writer| {
            writer.row(children, |writer, (key, child)| {
                writer.put("{\"key\":");
                writer.object(key)?;
                writer.put(",\"value\":");
                match child {
                    Object::Tree(children) => writer.tree(children)?,
                    _ => writer.tree(&[])?,
                }
                writer.text.push('}');
                Ok(())
            })
        })
    }
    fn vertex(&mut self, object: &Object) -> Written<E> {
        let (Object::Vertex(vertex), Some(answer)) = (object, self.answer) else {
            self.put("null");
            return Ok(());
        };
        let shown = answer.vertex(*vertex)?;
        self.typed("g:Vertex", |writer| {
            writer.put("{\"id\":");
            writer.object(&shown.id)?;
            writer.put(",\"label\":");
            writer.quote(&shown.label);
            if writer.dialect.version == 1 {
                writer.put(",\"type\":\"vertex\"");
            }
            if !shown.properties.is_empty() {
                writer.put(",\"properties\":{");
                // Properties come in the order of their keys.
                for (number, group) in shown.properties.chunk_by(|a, b| a.key == b.key).enumerate() {
                    if number > 0 {
                        writer.text.push(',');
                    }
                    writer.key(&group[0].key);
                    writer.row(group, Self::vertex_property)?;
                }
                writer.text.push('}');
            }
            writer.text.push('}');
            Ok(())
        })
    }
    fn edge(&mut self, object: &Object) -> Written<E> {
        let (Object::Edge(edge), Some(answer)) = (object, self.answer) else {
            self.put("null");
            return Ok(());
        };
        let shown = answer.edge(edge)?;
        self.typed("g:Edge", |writer| {
            writer.put("{\"id\":");
            writer.object(&shown.id)?;
            writer.put(",\"label\":");
            writer.quote(&shown.label);
            if writer.dialect.version == 1 {
                writer.put(",\"type\":\"edge\"");
            }
            for (name, (id, label)) in [("in", &shown.in_vertex), ("out", &shown.out_vertex)] {
                writer.put(format_args!(",\"{name}VLabel\":"));
                writer.quote(label);
                writer.put(format_args!(",\"{name}V\":"));
                writer.object(id)?;
            }
            if !shown.properties.is_empty() {
                writer.put(",\"properties\":{");
                for (number, (key, value)) in shown.properties.iter().enumerate() {
                    if number > 0 {
                        writer.text.push(',');
                    }
                    writer.key(key);
                    match writer.dialect.version {
                        1 => writer.object(value)?,
                        _ => writer.key_value(key, value)?,
                    }
                }
                writer.text.push('}');
            }
            writer.text.push('}');
            Ok(())
        })
    }
    fn vertex_property(&mut self, property: &VertexProperty) -> Written<E> {
        let id = self.answer.map_or(Object::Null, |answer| answer.property_id(property));
        self.typed("g:VertexProperty", |writer| {
            writer.put("{\"id\":");
            writer.object(&id)?;
            writer.put(",\"value\":");
            writer.object(&property.value)?;
            writer.put(",\"label\":");
            writer.quote(&property.key);
            if !property.meta.is_empty() {
                writer.put(",\"properties\":{");
                for (number, (key, value)) in property.meta.iter().enumerate() {
                    if number > 0 {
                        writer.text.push(',');
                    }
                    writer.key(key);
                    writer.object(value)?;
                }
                writer.text.push('}');
            }
            writer.text.push('}');
            Ok(())
        })
    }
    fn property(&mut self, property: &Property) -> Written<E> {
        self.key_value(&property.key, &property.value)
    }
    fn key_value(&mut self, key: &str, value: &Object) -> Written<E> {
        self.typed("g:Property", |writer| {
            writer.put("{\"key\":");
            writer.quote(key);
            writer.put(",\"value\":");
            writer.object(value)?;
            writer.text.push('}');
            Ok(())
        })
    }
    fn path(&mut self, path: &Path) -> Written<E> {
        self.typed("g:Path", |writer| {
            writer.put("{\"labels\":");
            writer.collection("g:List", &path.labels, |writer, labels| {
                writer.collection("g:Set", labels, |writer, label| {
                    writer.quote(label);
                    Ok(())
                })
            })?;
            writer.put(",\"objects\":");
            writer.collection("g:List", &path.objects, Self::object)?;
            writer.text.push('}');
            Ok(())
        })
    }

    /// Do collections have types?
    pub fn is_wrapped(&self) -> bool {
        self.dialect.version == 3 && self.dialect.typed
    }
    /// A map without entries.
    pub fn empty_map(&mut self) {
        self.put(if self.is_wrapped() { "{\"@type\":\"g:Map\",\"@value\":[]}" } else { "{}" });
    }
}

/// A value without the marks that its text would have in Gremlin.
fn bare(object: &Object) -> String {
    match object {
        Object::String(text) => text.to_string(),
        Object::Char(letter) => letter.to_string(),
        Object::BigInt(number) => number.to_string(),
        Object::Float(number) => number.to_string(),
        Object::Double(number) => format!("{number:?}"),
        Object::BigDecimal(decimal) => decimal_text(decimal.unscaled, decimal.scale),
        Object::Uuid(uuid) => uuid_text(**uuid),
        Object::DateTime(instant) => model::temporal::text(&instant.to_value()).unwrap_or_default(),
        other => other.as_long().map_or_else(|| other.to_string(), |number| number.to_string()),
    }
}

fn decimal_text(unscaled: i128, scale: i32) -> String {
    match usize::try_from(scale) {
        Ok(0) => unscaled.to_string(),
        Ok(scale) if scale <= MAX_PLAIN_SCALE => {
            let (sign, digits) = (if unscaled < 0 { "-" } else { "" }, unscaled.unsigned_abs().to_string());
            let digits = format!("{digits:0>width$}", width = scale + 1);
            let (whole, behind) = digits.split_at(digits.len() - scale);
            format!("{sign}{whole}.{behind}")
        }
        _ => format!("{unscaled}E{}", -i64::from(scale)),
    }
}

/// Digits behind the point that are written out; more are an exponent.
const MAX_PLAIN_SCALE: usize = 40;
