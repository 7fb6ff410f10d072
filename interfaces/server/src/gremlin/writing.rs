//! Writing GraphBinary 1.0: results of traversals, with vertices and edges resolved.

mod parts;

use super::status::Wrapping;
use database::Error;
use database::gremlin::GremlinAnswer;
use gremlin::object::{Path, Property, VertexProperty};
use gremlin::{Elements, Object};
use model::temporal::calendar::date_of;
use std::sync::Arc;

const NULL: [u8; 2] = [0xfe, 0x01];

/// Writes at the end of a message.
pub struct Writer<'a> {
    /// The message.
    pub bytes: Vec<u8>,
    /// Resolves the numbers of vertices and edges.
    answer: Option<&'a GremlinAnswer>,
}

impl<'a> Writer<'a> {
    /// For values of this answer; without one, for plain values alone.
    pub fn new(answer: Option<&'a GremlinAnswer>) -> Writer<'a> {
        Writer { bytes: Vec::new(), answer }
    }
    /// A 32-bit whole number without a type in front.
    pub fn int(&mut self, number: i32) {
        self.bytes.extend(number.to_be_bytes());
    }
    fn count(&mut self, count: usize) {
        self.int(i32::try_from(count).unwrap_or(i32::MAX));
    }
    /// Text without a type in front.
    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }
    fn begin(&mut self, code: u8) {
        self.bytes.extend([code, 0]);
    }
    /// A text with its type.
    pub fn typed_text(&mut self, text: &str) {
        self.begin(0x03);
        self.text(text);
    }
    /// Begins a list of `count` elements.
    pub fn begin_list(&mut self, count: usize) {
        self.begin(0x09);
        self.count(count);
    }
    /// Elements of a list: traversers with their bulks, or each object repeated. Returns their number.
    pub fn elements_of(&mut self, objects: &[(Object, u64)], wrapping: Wrapping) -> Result<usize, Error> {
        let mut count = 0;
        for (object, bulk) in objects {
            if wrapping == Wrapping::Traversers {
                self.begin(0x21);
                self.bytes.extend(bulk.to_be_bytes());
                self.object(object)?;
                count += 1;
            } else {
                (0..*bulk).try_for_each(|_| self.object(object))?;
                count += *bulk as usize;
            }
        }
        Ok(count)
    }
    /// A value with its type in front.
    pub fn object(&mut self, object: &Object) -> Result<(), Error> {
        match object {
            Object::Null => self.bytes.extend(NULL),
            Object::Bool(value) => {
                self.begin(0x27);
                self.bytes.push(u8::from(*value));
            }
            Object::Byte(number) => {
                self.begin(0x24);
                self.bytes.extend(number.to_be_bytes());
            }
            Object::Short(number) => {
                self.begin(0x26);
                self.bytes.extend(number.to_be_bytes());
            }
            Object::Int(number) => {
                self.begin(0x01);
                self.int(*number);
            }
            Object::Long(number) => {
                self.begin(0x02);
                self.bytes.extend(number.to_be_bytes());
            }
            Object::BigInt(number) => {
                self.begin(0x23);
                self.big(**number);
            }
            Object::Float(number) => {
                self.begin(0x08);
                self.bytes.extend(number.to_be_bytes());
            }
            Object::Double(number) => {
                self.begin(0x07);
                self.bytes.extend(number.to_be_bytes());
            }
            Object::BigDecimal(decimal) => {
                self.begin(0x22);
                self.int(decimal.scale);
                self.big(decimal.unscaled);
            }
            Object::Char(letter) => {
                self.begin(0x80);
                self.bytes.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Object::String(text) => self.typed_text(text),
            Object::Binary(bytes) => {
                self.begin(0x25);
                self.count(bytes.len());
                self.bytes.extend(&**bytes);
            }
            Object::Uuid(uuid) => {
                self.begin(0x0c);
                self.bytes.extend(uuid.to_be_bytes());
            }
            Object::DateTime(instant) => {
                self.begin(0x88);
                let local = instant.seconds + i64::from(instant.offset_seconds);
                let (year, month, day) = date_of(local.div_euclid(86_400));
                self.int(i32::try_from(year).unwrap_or(i32::MAX));
                self.bytes.extend([month as u8, day as u8]);
                let nanos = local.rem_euclid(86_400) * 1_000_000_000 + i64::from(instant.nanos);
                self.bytes.extend(nanos.to_be_bytes());
                self.int(instant.offset_seconds);
            }
            Object::Duration(seconds, nanos) => {
                self.begin(0x81);
                self.bytes.extend(seconds.to_be_bytes());
                self.bytes.extend(nanos.to_be_bytes());
            }
            Object::List(elements) => self.elements(0x09, elements)?,
            Object::Set(elements) => self.elements(0x0b, elements)?,
            Object::Bulk(elements) => {
                self.begin(0x2a);
                self.count(elements.len());
                for (element, bulk) in elements.iter() {
                    self.object(element)?;
                    self.bytes.extend(bulk.to_be_bytes());
                }
            }
            Object::Map(pairs) => self.pairs(pairs)?,
            Object::Entry(entry) => self.pairs(std::slice::from_ref(&**entry))?,
            Object::Tree(children) => {
                self.begin(0x2b);
                self.tree(children)?;
            }
            Object::Graph(graph) => self.graph(graph)?,
            Object::Metrics(metrics) => self.traversal_metrics(metrics)?,
            Object::Vertex(_) | Object::Edge(_) => self.element(object)?,
            Object::VertexProperty(property) => self.vertex_property(property)?,
            Object::Property(property) => self.property(property)?,
            Object::Path(path) => self.path(path)?,
            Object::Token(token) => {
                self.begin(token_code(token.class()));
                self.typed_text(token.name());
            }
            Object::Kept(kept) => self.object(&kept.1)?,
            Object::Reference(reference) => self.object(&reference.id)?,
        }
        Ok(())
    }
    fn elements(&mut self, code: u8, elements: &[Object]) -> Result<(), Error> {
        self.begin(code);
        self.count(elements.len());
        elements.iter().try_for_each(|element| self.object(element))
    }
    fn pairs(&mut self, pairs: &[(Object, Object)]) -> Result<(), Error> {
        self.begin(0x0a);
        self.count(pairs.len());
        pairs.iter().try_for_each(|(key, value)| {
            self.object(key)?;
            self.object(value)
        })
    }
    fn tree(&mut self, children: &[(Object, Object)]) -> Result<(), Error> {
        self.count(children.len());
        children.iter().try_for_each(|(key, child)| {
            self.object(key)?;
            match child {
                Object::Tree(children) => self.tree(children),
                _ => self.tree(&[]),
            }
        })
    }
    fn element(&mut self, object: &Object) -> Result<(), Error> {
        let Some(answer) = self.answer else {
            self.bytes.extend(NULL);
            return Ok(());
        };
        match object {
            Object::Vertex(vertex) => {
                let shown = answer.vertex(*vertex)?;
                self.begin(0x11);
                self.object(&shown.id)?;
                self.text(&shown.label);
                self.begin(0x09);
                self.count(shown.properties.len());
                shown.properties.iter().try_for_each(|property| self.vertex_property(property))
            }
            Object::Edge(edge) => {
                let shown = answer.edge(edge)?;
                self.begin(0x0d);
                self.object(&shown.id)?;
                self.text(&shown.label);
                for (id, label) in [&shown.in_vertex, &shown.out_vertex] {
                    self.object(id)?;
                    self.text(label);
                }
                self.bytes.extend(NULL);
                self.begin(0x09);
                self.count(shown.properties.len());
                shown.properties.iter().try_for_each(|(key, value)| self.key_value(key, value))
            }
            _ => Ok(()),
        }
    }
    fn vertex_property(&mut self, property: &VertexProperty) -> Result<(), Error> {
        let id = self.answer.map_or(Object::Null, |answer| answer.property_id(property));
        self.begin(0x12);
        self.object(&id)?;
        self.text(&property.key);
        self.object(&property.value)?;
        self.bytes.extend(NULL);
        self.begin(0x09);
        self.count(property.meta.len());
        property.meta.iter().try_for_each(|(key, value)| self.key_value(key, value))
    }
    fn property(&mut self, property: &Property) -> Result<(), Error> {
        self.key_value(&property.key, &property.value)
    }
    fn key_value(&mut self, key: &str, value: &Object) -> Result<(), Error> {
        self.begin(0x0f);
        self.text(key);
        self.object(value)?;
        self.bytes.extend(NULL);
        Ok(())
    }
    fn path(&mut self, path: &Path) -> Result<(), Error> {
        let labels = path.labels.iter().map(|labels| {
            Object::Set(Arc::new(labels.iter().map(|label| Object::String(label.clone())).collect()))
        });
        let labels: Vec<Object> = labels.collect();
        self.begin(0x0e);
        self.elements(0x09, &labels)?;
        self.elements(0x09, &path.objects)
    }
    /// Two's complement in as few bytes as keep the sign.
    fn big(&mut self, number: i128) {
        let bytes = number.to_be_bytes();
        let sign = if number < 0 { 0xff } else { 0 };
        let mut from = 0;
        while from < 15 && bytes[from] == sign && (bytes[from + 1] ^ sign) & 0x80 == 0 {
            from += 1;
        }
        self.count(16 - from);
        self.bytes.extend(&bytes[from..]);
    }
}

fn token_code(class: &str) -> u8 {
    match class {
        "Barrier" => 0x13,
        "Cardinality" => 0x16,
        "Column" => 0x17,
        "Direction" => 0x18,
        "Operator" => 0x19,
        "Order" => 0x1a,
        "Pick" => 0x1b,
        "Pop" => 0x1c,
        "Scope" => 0x1f,
        "Merge" => 0x2e,
        "DT" => 0x2f,
        "GType" => 0x30,
        _ => 0x20,
    }
}
