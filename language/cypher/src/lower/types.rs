//! Known types of values before anything runs. Not a type system: just enough to refuse statements that can never work.

/// The type of an expression, as far as its text shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Not known: a property, a parameter, an element of a mixed list.
    Any,
    Null,
    Boolean,
    Integer,
    Float,
    String,
    Map,
    Node,
    Relationship,
    Path,
    /// Dates, times, durations, points: values with components.
    Composed,
    List(Box<Type>),
}

impl Type {
    pub fn list(element: Type) -> Type {
        Type::List(Box::new(element))
    }

    /// The name that messages use.
    pub fn name(&self) -> &'static str {
        match self {
            Type::Any => "Any",
            Type::Null => "Null",
            Type::Boolean => "Boolean",
            Type::Integer => "Integer",
            Type::Float => "Float",
            Type::String => "String",
            Type::Map => "Map",
            Type::Node => "Node",
            Type::Relationship => "Relationship",
            Type::Path => "Path",
            Type::Composed => "Temporal or Point",
            Type::List(_) => "List",
        }
    }

    /// Whether a value of this type might be one of those: unknown types and null might be anything.
    pub fn may_be(&self, kinds: &[Type]) -> bool {
        let same = |kind: &Type| match (self, kind) {
            (Type::List(_), Type::List(_)) => true,
            (own, kind) => own == kind,
        };
        matches!(self, Type::Any | Type::Null) || kinds.iter().any(same)
    }

    pub fn may_be_list(&self) -> bool {
        matches!(self, Type::Any | Type::Null | Type::List(_))
    }

    /// The type of the elements, if this is a list.
    pub fn element(&self) -> Type {
        match self {
            Type::List(element) => (**element).clone(),
            _ => Type::Any,
        }
    }

    /// A type that covers both.
    pub fn join(self, other: Type) -> Type {
        match (self, other) {
            (Type::Null, other) | (other, Type::Null) => other,
            (left, right) if left == right => left,
            (Type::List(left), Type::List(right)) => Type::list(left.join(*right)),
            _ => Type::Any,
        }
    }
}
