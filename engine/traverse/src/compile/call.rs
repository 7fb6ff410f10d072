//! `call`, with the parameters that `with` gives it.

use super::{Compiler, Reader, text, wants};
use crate::error::{Outcome, TraverseError};
use crate::services::{Call, Service};
use crate::step::Name;
use gremlin::{Argument, Instruction, Object};

impl Compiler {
    pub(super) fn calling(&self, instruction: &Instruction, reader: &mut Reader<'_>) -> Outcome<Call> {
        let name = match instruction.arguments.is_empty() {
            true => "--list".into(),
            false => text(instruction, 0)?,
        };
        let Some(service) = Service::of(&name) else {
            let names: Vec<&str> = Service::names().collect();
            let message = format!("there is no service {name}; there are: {}", names.join(", "));
            return Err(TraverseError::unsupported(message, instruction.span));
        };
        let program = plan::procedures::program_name(&name).map(Name::from);
        let mut call = Call { service, program, map: None, body: None, named: Vec::new() };
        for argument in instruction.arguments.iter().skip(1) {
            match argument {
                Argument::Value(map @ Object::Map(_)) => call.map = Some(map.clone()),
                Argument::Traversal(nested) => call.body = Some(self.body(nested)?),
                Argument::Value(Object::Null) => {}
                _ => return Err(wants(instruction, "a map and a traversal that yields one")),
            }
        }
        while let Some(with) = reader.take("with") {
            let value = with.arguments.get(1).ok_or_else(|| wants(with, "a name and a value"))?;
            call.named.push((text(with, 0)?, self.given(value)?));
        }
        Ok(call)
    }
}
