//! Steps from object to object, and filters.

use super::{Compiler, Reader, by_step, predicate_of, program_of, scope, text, texts, wants};
use crate::error::{Outcome, TraverseError};
use crate::formula::Formula;
use crate::graph::Wanted;
use crate::step::{By, Convert, End, Given, HasWhat, Name, PathPart, Step, WhereIs};
use gremlin::{Argument, Compare, Instruction, Object, Predicate, Token};
use model::Direction;
use std::sync::Arc;

impl Compiler {
    pub(super) fn walk(
        &self,
        instruction: &Instruction,
        reader: &mut Reader<'_>,
        steps: &mut Vec<Step>,
    ) -> Outcome<Option<Step>> {
        Ok(Some(match &*instruction.name {
            "V" => Step::Vertices { ids: ids(instruction)?, wanted: wanted(reader) },
            "E" => Step::Edges { ids: ids(instruction)? },
            "inject" => {
                let objects = instruction.arguments.iter().map(|argument| argument.value().cloned());
                let objects =
                    objects.collect::<Option<Vec<_>>>().ok_or_else(|| wants(instruction, "values"))?;
                Step::Inject { objects, first: false }
            }
            "out" | "in" | "both" | "outE" | "inE" | "bothE" => adjacent(instruction)?,
            "to" | "toE" if !instruction.arguments.is_empty() => directed(instruction)?,
            "outV" => Step::EdgeEnd(End::Out),
            "inV" => Step::EdgeEnd(End::In),
            "bothV" => Step::EdgeEnd(End::Both),
            "otherV" => Step::EdgeEnd(End::Other),
            "toV" => match instruction.arguments.first().and_then(Argument::value) {
                Some(Object::Token(Token::Out)) => Step::EdgeEnd(End::Out),
                Some(Object::Token(Token::In)) => Step::EdgeEnd(End::In),
                Some(Object::Token(Token::Both)) => Step::EdgeEnd(End::Both),
                _ => return Err(wants(instruction, "a direction")),
            },
            "values" => Step::Properties { keys: texts(instruction, 0)?, values: true },
            "properties" => Step::Properties { keys: texts(instruction, 0)?, values: false },
            "valueMap" => self.value_map(instruction, reader, true)?,
            "propertyMap" => self.value_map(instruction, reader, false)?,
            "elementMap" => Step::ElementMap(texts(instruction, 0)?),
            "id" => Step::Id,
            "label" => Step::Label,
            "key" => Step::Key,
            "value" => Step::Value,
            "element" => Step::Element,
            "identity" => Step::Identity,
            "constant" => match instruction.arguments.first() {
                Some(Argument::Value(value)) => Step::Constant(value.clone()),
                _ => return Err(wants(instruction, "a value")),
            },
            "loops" => Step::Loops(texts(instruction, 0)?.into_iter().next()),
            "path" => Step::Path(self.path_part(reader)?),
            "simplePath" | "cyclicPath" => {
                Step::SimplePath { part: self.path_part(reader)?, simple: &*instruction.name == "simplePath" }
            }
            "as" => self.labels(instruction, steps)?,
            "select" => self.select(instruction, reader)?,
            "project" => Step::Project { keys: distinct_texts(instruction)?, by: self.bys(reader)? },
            "math" => {
                let formula = Formula::parse(&text(instruction, 0)?)
                    .map_err(|message| TraverseError::arguments(message, instruction.span))?;
                Step::Math { formula, by: self.bys(reader)? }
            }
            "format" => Step::Format { text: text(instruction, 0)?, by: self.bys(reader)? },
            "unfold" => Step::Unfold,
            "index" => {
                let option = reader.take("with").and_then(|with| with.arguments.get(1));
                Step::Index { map: option.and_then(Argument::value) == Some(&Object::Int(1)) }
            }
            "map" => Step::Map(self.nested(instruction, 0)?),
            "flatMap" => Step::FlatMap(self.nested(instruction, 0)?),
            "discard" => Step::Discard,
            // options that steps give no meaning to
            "with" => Step::Identity,
            "timeLimit" => Step::TimeLimit,
            "coin" => match crate::number::Number::of(
                instruction.arguments.first().and_then(Argument::value).unwrap_or(&Object::Null),
            ) {
                Some(number) => Step::Coin(number.as_f64()),
                None => return Err(wants(instruction, "a probability")),
            },
            "is" => Step::Is(one_predicate(instruction, 0)?),
            "any" | "all" | "none" => Step::Quantified {
                what: match &*instruction.name {
                    "any" => "any",
                    "all" => "all",
                    _ => "none",
                },
                predicate: one_predicate(instruction, 0)?,
            },
            "filter" => Step::Where(self.test(instruction, 0)?),
            "where" => self.condition(instruction, reader)?,
            "not" => Step::Not(self.where_body(instruction, 0)?),
            "and" => Step::And(self.where_bodies(instruction)?),
            "or" => Step::Or(self.where_bodies(instruction)?),
            "has" => self.has(instruction, steps)?,
            "hasNot" => Step::HasNot(text(instruction, 0)?),
            "hasId" => Step::Has { what: HasWhat::Id, predicate: within(instruction, 0)? },
            "hasLabel" => Step::Has { what: HasWhat::Label, predicate: within(instruction, 0)? },
            "hasKey" => Step::Has { what: HasWhat::PropertyKey, predicate: within(instruction, 0)? },
            "hasValue" => Step::Has { what: HasWhat::PropertyValue, predicate: within(instruction, 0)? },
            name => return self.conversion(name, instruction),
        }))
    }

    fn value_map(&self, instruction: &Instruction, reader: &mut Reader<'_>, values: bool) -> Outcome<Step> {
        let (mut tokens, mut from) = (0, 0);
        if let Some(Argument::Value(Object::Bool(all))) = instruction.arguments.first() {
            (tokens, from) = (if *all { 15 } else { 0 }, 1);
        }
        let keys = texts(instruction, from)?;
        let mut by = Vec::new();
        loop {
            if let Some(with) = reader.take("with") {
                let chosen = with.arguments.get(1).and_then(Argument::value).and_then(Object::as_long);
                tokens = chosen.unwrap_or(15);
            } else if let Some(one) = reader.take("by") {
                by.push(self.by(one)?);
            } else {
                break;
            }
        }
        if by.len() > 1 {
            let message = "valueMap() step can only have one by modulator";
            return Err(TraverseError::arguments(message, instruction.span));
        }
        Ok(Step::PropertyMap { keys, values, tokens, by })
    }

    pub(super) fn path_part(&self, reader: &mut Reader<'_>) -> Outcome<PathPart> {
        let mut part = PathPart::default();
        loop {
            if let Some(one) = reader.take("by") {
                part.by.push(self.by(one)?);
            } else if let Some(one) = reader.take("from") {
                part.from = Some(text(one, 0)?);
            } else if let Some(one) = reader.take("to") {
                part.to = Some(text(one, 0)?);
            } else {
                return Ok(part);
            }
        }
    }

    fn select(&self, instruction: &Instruction, reader: &mut Reader<'_>) -> Outcome<Step> {
        let mut arguments = instruction.arguments.as_slice();
        let mut pop = Token::Last;
        if let [Argument::Value(Object::Token(token)), rest @ ..] = arguments {
            match token {
                Token::Keys | Token::Values => return Ok(Step::SelectColumn(*token)),
                Token::First | Token::Last | Token::All | Token::Mixed => (pop, arguments) = (*token, rest),
                _ => return Err(wants(instruction, "labels, a column or a traversal")),
            }
        }
        match arguments {
            [Argument::Traversal(nested)] => {
                Ok(Step::SelectBy { body: self.body(nested)?, pop, by: self.bys(reader)? })
            }
            labels => {
                let names = labels.iter().map(|label| label.value().and_then(Object::as_str).map(Name::from));
                let labels = names.collect::<Option<Vec<_>>>().ok_or_else(|| wants(instruction, "labels"))?;
                Ok(Step::Select { labels, pop, by: self.bys(reader)? })
            }
        }
    }

    fn condition(&self, instruction: &Instruction, reader: &mut Reader<'_>) -> Outcome<Step> {
        match instruction.arguments.as_slice() {
            [Argument::Traversal(_)] => Ok(Step::Where(self.where_body(instruction, 0)?)),
            [Argument::Predicate(predicate)] => {
                let predicate = predicate.clone();
                Ok(Step::WhereIs(WhereIs { left: None, predicate, by: self.bys(reader)? }))
            }
            [Argument::Value(Object::String(left)), Argument::Predicate(predicate)] => {
                let (left, predicate) = (Some(left.clone()), predicate.clone());
                Ok(Step::WhereIs(WhereIs { left, predicate, by: self.bys(reader)? }))
            }
            _ => Err(wants(instruction, "a traversal, a predicate, or a label and a predicate")),
        }
    }

    pub(super) fn where_bodies(&self, instruction: &Instruction) -> Outcome<Vec<crate::step::Body>> {
        (0..instruction.arguments.len()).map(|at| self.where_body(instruction, at)).collect()
    }

    /// A filter's traversal: labels at its start and end are looked up, not given.
    fn where_body(&self, instruction: &Instruction, at: usize) -> Outcome<crate::step::Body> {
        let Some(Argument::Traversal(nested)) = instruction.arguments.get(at) else {
            return self.test(instruction, at);
        };
        let body = self.body(nested)?;
        let (start, end) = (first_label(&nested.steps), last_label(&nested.steps));
        // of the filters `where` alone looks up a label at the end without one at the start
        if start.is_none() && (end.is_none() || &*instruction.name != "where") {
            return Ok(body);
        }
        let mut steps = body.steps.clone();
        if let (Some(start), Some(Step::As(_))) = (start, steps.first()) {
            steps[0] = Step::WhereStart(start);
        }
        if let (Some(end), Some(Step::As(_)), true) = (end, steps.last(), steps.len() > 1) {
            steps.pop();
            steps.push(Step::WhereEnd(end));
        }
        Ok(Arc::new(program_of(steps)))
    }

    fn has(&self, instruction: &Instruction, steps: &mut Vec<Step>) -> Outcome<Step> {
        let mut arguments = instruction.arguments.as_slice();
        if let [Argument::Value(Object::Null), ..] = arguments {
            return Ok(Step::Discard);
        }
        if let [label @ (Argument::Value(_) | Argument::Predicate(_)), key, value] = arguments {
            let predicate = predicate_of(label).ok_or_else(|| wants(instruction, "a label"))?;
            steps.push(Step::Has { what: HasWhat::Label, predicate });
            arguments = &instruction.arguments[1..];
            debug_assert_eq!(arguments.len(), [key, value].len());
        }
        let what = match arguments.first() {
            Some(Argument::Value(Object::String(key))) => HasWhat::Key(key.clone()),
            Some(Argument::Value(Object::Token(Token::TId))) => HasWhat::Id,
            Some(Argument::Value(Object::Token(Token::TLabel))) => HasWhat::Label,
            Some(Argument::Value(Object::Token(Token::TKey))) => HasWhat::PropertyKey,
            Some(Argument::Value(Object::Token(Token::TValue))) => HasWhat::PropertyValue,
            _ => return Err(wants(instruction, "a key or token")),
        };
        match (arguments.get(1), what) {
            (None, HasWhat::Key(key)) => Ok(Step::HasKeyOnly(key)),
            (None, _) => Err(wants(instruction, "a key")),
            (Some(Argument::Traversal(nested)), what) => {
                let by = match what {
                    HasWhat::Key(key) => Step::Properties { keys: vec![key], values: true },
                    HasWhat::Id => by_step(By::Token(Token::TId)),
                    HasWhat::Label => by_step(By::Token(Token::TLabel)),
                    HasWhat::PropertyKey => Step::Key,
                    HasWhat::PropertyValue => Step::Value,
                };
                let mut all = vec![by];
                all.extend(self.body(nested)?.steps.iter().cloned());
                Ok(Step::Where(Arc::new(program_of(all))))
            }
            (Some(argument), what) => {
                let predicate =
                    predicate_of(argument).ok_or_else(|| wants(instruction, "a value or predicate"))?;
                let predicate = match (what.clone_is_id(), predicate) {
                    (true, Predicate::Compare(Compare::Eq, Object::List(list))) => {
                        Predicate::Within(list.to_vec())
                    }
                    (_, predicate) => predicate,
                };
                Ok(Step::Has { what, predicate })
            }
        }
    }

    /// Steps on text, dates, numbers and collections.
    fn conversion(&self, name: &str, instruction: &Instruction) -> Outcome<Option<Step>> {
        const NAMES: &[&str] = &[
            "asBool",
            "asDate",
            "asNumber",
            "asString",
            "combine",
            "concat",
            "conjoin",
            "dateAdd",
            "dateDiff",
            "difference",
            "disjunct",
            "intersect",
            "lTrim",
            "length",
            "merge",
            "product",
            "rTrim",
            "replace",
            "reverse",
            "split",
            "substring",
            "toLower",
            "toUpper",
            "trim",
        ];
        let Some(name) = NAMES.iter().find(|known| **known == name) else { return Ok(None) };
        let (local, from) = scope(instruction);
        let arguments = instruction.arguments[from..].iter().map(|argument| self.given(argument));
        let arguments: Vec<Given> = arguments.collect::<Outcome<_>>()?;
        if *name == "asNumber"
            && let Some(Given::Value(Object::Token(token))) = arguments.first()
            && !crate::convert::is_number_type(*token)
        {
            let message = format!("asNumber() requires a numeric type token, got {}", token.name());
            return Err(TraverseError::arguments(message, instruction.span));
        }
        Ok(Some(Step::Convert(Convert { name, local, arguments })))
    }
}

impl HasWhat {
    fn clone_is_id(&self) -> bool {
        matches!(self, HasWhat::Id)
    }
}

fn first_label(instructions: &[Instruction]) -> Option<Name> {
    instructions.first().filter(|first| &*first.name == "as").and_then(|first| text(first, 0).ok())
}

fn last_label(instructions: &[Instruction]) -> Option<Name> {
    instructions.last().filter(|last| &*last.name == "as").and_then(|last| text(last, 0).ok())
}

/// The ids given to `V` or `E`: none where nothing is given.
fn ids(instruction: &Instruction) -> Outcome<Option<Vec<Object>>> {
    if instruction.arguments.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for argument in &instruction.arguments {
        match argument {
            Argument::Value(Object::List(list) | Object::Set(list)) => found.extend(list.iter().cloned()),
            Argument::Value(Object::Null) => {}
            Argument::Value(value) => found.push(value.clone()),
            _ => return Err(wants(instruction, "ids")),
        }
    }
    Ok(Some(found))
}

/// The conditions of the following `has` steps on the vertices.
fn wanted(reader: &Reader<'_>) -> Wanted {
    let mut wanted = Wanted::default();
    for instruction in &reader.instructions[reader.at..] {
        let value = |at: usize| instruction.arguments.get(at).and_then(Argument::value);
        let equal = |at: usize| match instruction.arguments.get(at) {
            Some(Argument::Predicate(Predicate::Compare(Compare::Eq, value)))
            | Some(Argument::Value(value)) => Some(value.clone()).filter(|value| *value != Object::Null),
            _ => None,
        };
        let name = |at: usize| value(at).and_then(Object::as_str).map(Name::from);
        match (&*instruction.name, instruction.arguments.len()) {
            ("hasLabel", _) if wanted.labels.is_empty() => {
                let labels = (0..instruction.arguments.len()).map(name).collect::<Option<Vec<_>>>();
                wanted.labels = labels.unwrap_or_default();
            }
            ("has", 3) => {
                if let (Some(label), true) = (name(0), wanted.labels.is_empty()) {
                    wanted.labels = vec![label];
                }
                if let (Some(key), Some(value)) = (name(1), equal(2)) {
                    wanted.equal.push((key, value));
                }
            }
            ("has", 2) => {
                if let (Some(key), Some(value)) = (name(0), equal(1)) {
                    wanted.equal.push((key, value));
                }
            }
            ("hasLabel" | "has" | "hasNot" | "as" | "hasId", _) => {}
            _ => break,
        }
    }
    wanted
}

fn direction(name: &str) -> Direction {
    match name {
        "in" | "inE" => Direction::In,
        "both" | "bothE" => Direction::Both,
        _ => Direction::Out,
    }
}

fn adjacent(instruction: &Instruction) -> Outcome<Step> {
    let types = match instruction.arguments.first() {
        Some(Argument::Value(Object::List(list))) if instruction.arguments.len() == 1 => {
            list.iter().filter_map(|name| name.as_str().map(Name::from)).collect()
        }
        _ => texts(instruction, 0)?,
    };
    let only_null = types.is_empty() && !instruction.arguments.is_empty();
    if only_null {
        return Ok(Step::Discard);
    }
    let (direction, to_edge) = (direction(&instruction.name), instruction.name.ends_with('E'));
    Ok(Step::Adjacent { direction, types, to_edge })
}

fn directed(instruction: &Instruction) -> Outcome<Step> {
    let direction = match instruction.arguments.first().and_then(Argument::value) {
        Some(Object::Token(Token::Out)) => Direction::Out,
        Some(Object::Token(Token::In)) => Direction::In,
        Some(Object::Token(Token::Both)) => Direction::Both,
        _ => return Err(wants(instruction, "a direction")),
    };
    Ok(Step::Adjacent { direction, types: texts(instruction, 1)?, to_edge: &*instruction.name == "toE" })
}

fn distinct_texts(instruction: &Instruction) -> Outcome<Vec<Name>> {
    let keys = texts(instruction, 0)?;
    let mut seen = keys.clone();
    seen.sort();
    seen.dedup();
    match seen.len() == keys.len() {
        true => Ok(keys),
        false => Err(wants(instruction, "keys that differ")),
    }
}

fn one_predicate(instruction: &Instruction, at: usize) -> Outcome<Predicate> {
    let found = instruction.arguments.get(at).and_then(predicate_of);
    found.ok_or_else(|| wants(instruction, "a value or a predicate"))
}

/// All arguments as one predicate: a value in a list of values.
fn within(instruction: &Instruction, from: usize) -> Outcome<Predicate> {
    if let [Argument::Predicate(predicate)] = &instruction.arguments[from..] {
        return Ok(predicate.clone());
    }
    let mut values = Vec::new();
    for argument in &instruction.arguments[from..] {
        match argument {
            Argument::Value(Object::List(list) | Object::Set(list)) => values.extend(list.iter().cloned()),
            Argument::Value(value) => values.push(value.clone()),
            _ => return Err(wants(instruction, "values or one predicate")),
        }
    }
    Ok(Predicate::Within(values))
}
