//! The properties of a graph that a traversal may read, from its form alone.
//!
//! The algebra knows one plain value a key. A graph may hold more for Gremlin: several values of a key, values of types that the algebra lacks, ids
//! that clients gave. The planner asks here whether a traversal may meet them; then the machine runs it. The answer is generous: every text that may
//! be a key counts as one, constants of look-ups do not.

use crate::object::Object;
use crate::token::Token;
use crate::traversal::{Argument, Instruction, Traversal};

/// The properties that may be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Footprint<'t> {
    /// Keys of properties, and perhaps other names.
    pub names: Vec<&'t str>,
    /// Are properties read without naming a key?
    pub every_key: bool,
    /// Are ids of elements read or compared?
    pub ids: bool,
}

/// The footprint of a traversal.
pub fn footprint(traversal: &Traversal) -> Footprint<'_> {
    let mut found = Footprint::default();
    add(traversal, &mut found);
    found
}

fn add<'t>(traversal: &'t Traversal, found: &mut Footprint<'t>) {
    for instruction in &traversal.steps {
        add_step(instruction, found);
        let constants = crate::shape::holds_constants(instruction).unwrap_or(usize::MAX);
        for (at, argument) in instruction.arguments.iter().enumerate() {
            match argument {
                Argument::Traversal(nested) => add(nested, found),
                Argument::Value(Object::String(name)) if at < constants => found.names.push(name),
                Argument::Value(Object::Token(Token::TId)) => found.ids = true,
                _ => {}
            }
        }
    }
}

fn add_step<'t>(instruction: &'t Instruction, found: &mut Footprint<'t>) {
    let names_key = instruction.arguments.iter().any(|one| one.value().and_then(Object::as_str).is_some());
    match &*instruction.name {
        "values" | "properties" => found.every_key |= !names_key,
        "valueMap" | "propertyMap" | "elementMap" => {
            found.every_key |= !names_key;
            found.ids = true;
        }
        "V" | "E" => found.ids |= !instruction.arguments.is_empty(),
        // elements are in order by their ids, and a formula or format may name any key
        "id" | "hasId" | "order" | "max" | "min" => found.ids = true,
        "math" | "format" => found.every_key = true,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::{Bindings, Request, parse};

    fn told(text: &str) -> String {
        let requests = parse(text, &Bindings::new()).expect("the test's text is Gremlin");
        let [Request::Traversal(traversal, _)] = requests.as_slice() else { panic!("{text}") };
        let found = super::footprint(traversal);
        format!("{} {} {}", found.names.join(","), found.every_key, found.ids)
    }

    #[test]
    fn keys_are_told_and_constants_are_not() {
        assert_eq!(told("g.V().has('age', 'old').values('name')"), "age,name false false");
        assert_eq!(
            told("g.V().where(out('knows').has('person', 'age', 3)).count()"),
            "knows,person,age false false"
        );
        assert_eq!(told("g.V(1).values()"), " true true");
        assert_eq!(told("g.V().group().by(T.id)"), " false true");
    }
}
