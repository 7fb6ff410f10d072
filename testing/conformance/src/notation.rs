//! How the suites' tables write values: `1`, `1.0`, `'text'`, `[1, 2]`, `{a: 1}`, `(:A {b: 1})`, `[:T {c: 2}]`, `<(:A)-[:T]->(:B)>`.

use std::collections::BTreeMap;

use crate::shape::Shape;
use database::Value;

/// The value that a cell writes.
///
/// # Errors
/// The cell is not in the notation; the text says where.
pub fn value(cell: &str) -> Result<Shape, String> {
    let mut reader = Reader { text: cell, at: 0 };
    let value = reader.value()?;
    reader.blanks();
    if reader.at == cell.len() { Ok(value) } else { Err(reader.unexpected("the end")) }
}

/// A shape as a parameter; entities cannot be one.
pub fn parameter(shape: &Shape) -> Result<Value, String> {
    Ok(match shape {
        Shape::Null => Value::Null,
        Shape::Boolean(value) => Value::Bool(*value),
        Shape::Integer(value) => Value::Int(*value),
        Shape::Float(text) => Value::Float(text.parse().map_err(|error| format!("{text}: {error}"))?),
        Shape::Text(text) => text.as_str().into(),
        Shape::List(items) => {
            let items = items.iter().map(parameter).collect::<Result<_, _>>()?;
            Value::try_list(items).map_err(|error| error.to_string())?
        }
        Shape::Map(map) => {
            let entries = map.iter().map(|(key, value)| Ok((key.as_str(), parameter(value)?)));
            Value::try_map(entries.collect::<Result<Vec<_>, String>>()?).map_err(|error| error.to_string())?
        }
        other => return Err(format!("{other:?} cannot be a parameter")),
    })
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn sees(&mut self, piece: &str) -> bool {
        self.blanks();
        self.rest().starts_with(piece)
    }

    fn takes(&mut self, piece: &str) -> bool {
        let found = self.sees(piece);
        self.at += if found { piece.len() } else { 0 };
        found
    }

    fn needs(&mut self, piece: &str) -> Result<(), String> {
        if self.takes(piece) { Ok(()) } else { Err(self.unexpected(piece)) }
    }

    fn unexpected(&self, wanted: &str) -> String {
        format!("expected {wanted} at {} of {:?}", self.at, self.text)
    }

    fn value(&mut self) -> Result<Shape, String> {
        self.blanks();
        match self.rest().chars().next() {
            Some('\'') => self.string().map(Shape::Text),
            Some('[') if self.rest()[1..].trim_start().starts_with(':') => self.relationship(),
            Some('[') => self.list(),
            Some('{') => self.map().map(Shape::Map),
            Some('(') => self.node(),
            Some('<') => self.path(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Shape, String> {
        let names = [
            ("true", Shape::Boolean(true)),
            ("false", Shape::Boolean(false)),
            ("null", Shape::Null),
            ("NaN", Shape::float(f64::NAN)),
            ("-Inf", Shape::float(f64::NEG_INFINITY)),
            ("Inf", Shape::float(f64::INFINITY)),
        ];
        for (name, shape) in names {
            if self.takes(name) {
                return Ok(shape);
            }
        }
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter));
        let number = &rest[..end.unwrap_or(rest.len())];
        let shape = match (number.parse::<i64>(), number.parse::<f64>()) {
            (Ok(integer), _) => Shape::Integer(integer),
            (_, Ok(float)) => Shape::float(float),
            _ => return Err(self.unexpected("a value")),
        };
        self.at += number.len();
        Ok(shape)
    }

    fn string(&mut self) -> Result<String, String> {
        let mut out = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\'' => {
                    self.at += at + 1;
                    return Ok(out);
                }
                '\\' => match letters.next() {
                    Some((_, escaped @ ('\'' | '\\'))) => out.push(escaped),
                    Some((_, other)) => out.extend(['\\', other]),
                    None => break,
                },
                letter => out.push(letter),
            }
        }
        Err(self.unexpected("a closing quote"))
    }

    fn name(&mut self) -> Result<String, String> {
        if self.takes("`") {
            let end = self.rest().find('`').ok_or_else(|| self.unexpected("a closing backtick"))?;
            let name = self.rest()[..end].to_string();
            self.at += end + 1;
            return Ok(name);
        }
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        if end == 0 {
            return Err(self.unexpected("a name"));
        }
        self.at += end;
        Ok(rest[..end].to_string())
    }

    fn list(&mut self) -> Result<Shape, String> {
        self.needs("[")?;
        let mut items = Vec::new();
        while !self.takes("]") {
            items.push(self.value()?);
            if !self.takes(",") && !self.sees("]") {
                return Err(self.unexpected("',' or ']'"));
            }
        }
        Ok(Shape::List(items))
    }

    fn map(&mut self) -> Result<BTreeMap<String, Shape>, String> {
        self.needs("{")?;
        let mut map = BTreeMap::new();
        while !self.takes("}") {
            let key = self.name()?;
            self.needs(":")?;
            map.insert(key, self.value()?);
            if !self.takes(",") && !self.sees("}") {
                return Err(self.unexpected("',' or '}'"));
            }
        }
        Ok(map)
    }

    fn properties(&mut self) -> Result<BTreeMap<String, Shape>, String> {
        if self.sees("{") { self.map() } else { Ok(BTreeMap::new()) }
    }

    fn node(&mut self) -> Result<Shape, String> {
        self.needs("(")?;
        let mut labels = Vec::new();
        while self.takes(":") {
            labels.push(self.name()?);
        }
        labels.sort();
        let properties = self.properties()?;
        self.needs(")")?;
        Ok(Shape::Node(labels, properties))
    }

    fn relationship(&mut self) -> Result<Shape, String> {
        self.needs("[")?;
        self.needs(":")?;
        let name = self.name()?;
        let properties = self.properties()?;
        self.needs("]")?;
        Ok(Shape::Relationship(name, properties))
    }

    fn path(&mut self) -> Result<Shape, String> {
        self.needs("<")?;
        let first = self.node()?;
        let mut steps = Vec::new();
        while !self.takes(">") {
            let backward = self.takes("<");
            self.needs("-")?;
            let relationship = self.relationship()?;
            self.needs(if backward { "-" } else { "->" })?;
            steps.push((!backward, relationship, self.node()?));
        }
        Ok(Shape::Path(steps, Box::new(first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read() {
        let node = |label: &str| Shape::Node(vec![label.into()], BTreeMap::new());
        let edge = Shape::Relationship("T".into(), BTreeMap::from([("c".into(), Shape::Integer(-2))]));
        let cases = [
            ("1", Shape::Integer(1)),
            ("1.0", Shape::float(1.0)),
            ("-0.0", Shape::float(0.0)),
            ("1e9", Shape::float(1e9)),
            ("'it\\'s'", Shape::Text("it's".into())),
            ("[null, [true]]", Shape::List(vec![Shape::Null, Shape::List(vec![Shape::Boolean(true)])])),
            ("(:B:A)", Shape::Node(vec!["A".into(), "B".into()], BTreeMap::new())),
            ("[ :T {c: -2}]", edge.clone()),
            ("<(:A)<-[:T {c: -2}]-(:B)>", Shape::Path(vec![(false, edge, node("B"))], Box::new(node("A")))),
        ];
        for (cell, wanted) in cases {
            assert_eq!(value(cell), Ok(wanted), "{cell}");
        }
        assert!(value("[1").is_err() && value("1 2").is_err() && value("what").is_err());
    }
}
