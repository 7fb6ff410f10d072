//! Steps that change the graph.

use super::{Compiler, Reader, wants};
use crate::error::Outcome;
use crate::step::{EndOf, Merge, SetProperty, Step};
use gremlin::{Argument, Instruction, Object, Token};

impl Compiler {
    pub(super) fn change(
        &self,
        instruction: &Instruction,
        reader: &mut Reader<'_>,
        _: &mut Vec<Step>,
    ) -> Outcome<Option<Step>> {
        let step = match &*instruction.name {
            "addV" => {
                let label = instruction.arguments.first().map(|label| self.given(label)).transpose()?;
                Step::AddVertex { label, properties: self.properties(reader)? }
            }
            "addE" => self.add_edge(instruction, reader)?,
            "property" => match self.set_property(instruction)? {
                Some(set) => Step::SetProperty(set),
                None => self.set_properties(instruction)?,
            },
            "drop" => Step::Drop,
            "mergeV" | "mergeE" => self.merge(instruction, reader)?,
            _ => return Ok(None),
        };
        self.writing();
        Ok(Some(step))
    }

    /// `property` steps right behind a step that creates an element: its initial properties.
    fn properties(&self, reader: &mut Reader<'_>) -> Outcome<Vec<SetProperty>> {
        let mut properties = Vec::new();
        while let Some(next) = reader.peek().filter(|next| &*next.name == "property") {
            let Some(set) = self.set_property(next)? else { break };
            reader.at += 1;
            properties.push(set);
        }
        Ok(properties)
    }

    fn add_edge(&self, instruction: &Instruction, reader: &mut Reader<'_>) -> Outcome<Step> {
        let label = self.given(&instruction.arguments[0])?;
        let (mut from, mut to, mut properties) = (EndOf::Current, EndOf::Current, Vec::new());
        loop {
            if let Some(one) = reader.take("from") {
                from = self.end_of(one)?;
            } else if let Some(one) = reader.take("to") {
                to = self.end_of(one)?;
            } else {
                let more = self.properties(reader)?;
                if more.is_empty() {
                    return Ok(Step::AddEdge { label, from, to, properties });
                }
                properties.extend(more);
            }
        }
    }

    fn end_of(&self, instruction: &Instruction) -> Outcome<EndOf> {
        Ok(match instruction.arguments.first() {
            Some(Argument::Value(Object::String(label))) => EndOf::Label(label.clone()),
            Some(Argument::Value(value)) => EndOf::Vertex(value.clone()),
            Some(Argument::Traversal(nested)) => EndOf::Body(self.body(nested)?),
            _ => return Err(wants(instruction, "a label, a vertex or a traversal")),
        })
    }

    /// `property(key, value, …)`; none for the forms with a map.
    fn set_property(&self, instruction: &Instruction) -> Outcome<Option<SetProperty>> {
        let mut arguments = instruction.arguments.as_slice();
        let mut cardinality = None;
        if let [Argument::Value(Object::Token(token)), rest @ ..] = arguments
            && token.class() == "Cardinality"
        {
            (cardinality, arguments) = (Some(*token), rest);
        }
        let [key, value, meta @ ..] = arguments else { return Ok(None) };
        if !meta.len().is_multiple_of(2) {
            return Err(wants(instruction, "a value for each key"));
        }
        let pairs = meta.chunks(2).map(|pair| Ok((self.given(&pair[0])?, self.given(&pair[1])?)));
        Ok(Some(SetProperty {
            cardinality,
            key: self.given(key)?,
            value: self.given(value)?,
            meta: pairs.collect::<Outcome<_>>()?,
        }))
    }

    /// `property(map)`, `property(cardinality, map)`.
    fn set_properties(&self, instruction: &Instruction) -> Outcome<Step> {
        match instruction.arguments.as_slice() {
            [Argument::Value(Object::Token(token)), map] if token.class() == "Cardinality" => {
                Ok(Step::SetProperties { cardinality: Some(*token), map: self.given(map)? })
            }
            [map] => Ok(Step::SetProperties { cardinality: None, map: self.given(map)? }),
            _ => Err(wants(instruction, "a key and a value, or a map")),
        }
    }

    fn merge(&self, instruction: &Instruction, reader: &mut Reader<'_>) -> Outcome<Step> {
        let wanted = instruction.arguments.first().map(|wanted| self.given(wanted)).transpose()?;
        let vertices = &*instruction.name == "mergeV";
        let mut merge = Merge {
            vertices,
            wanted,
            on_create: None,
            on_match: None,
            out_vertex: None,
            in_vertex: None,
            properties: Vec::new(),
        };
        while let Some(option) = reader.take("option") {
            let given = option.arguments.get(1).map(|given| self.given(given)).transpose()?;
            let given = given.ok_or_else(|| wants(option, "a word of Merge and what it stands for"))?;
            match option.arguments[0].value() {
                Some(Object::Token(Token::OnCreate)) => merge.on_create = Some(given),
                Some(Object::Token(Token::OnMatch)) => merge.on_match = Some(given),
                Some(Object::Token(Token::OutV | Token::Out)) => merge.out_vertex = Some(given),
                Some(Object::Token(Token::InV | Token::In)) => merge.in_vertex = Some(given),
                _ => return Err(wants(option, "a word of Merge")),
            }
        }
        Ok(Step::Merge(Box::new(merge)))
    }
}
