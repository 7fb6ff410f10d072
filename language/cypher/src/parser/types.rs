//! The types behind `IS ::`, with all their synonyms.
//!
//! ```text
//! type        one { | one }
//! one         name [NOT NULL | !] { (LIST | ARRAY) [NOT NULL | !] }
//! name        INTEGER, ZONED DATETIME, … , LIST<type>, ANY<type>, PROPERTY VALUE
//! ```

use super::{Parsed, Parser};
use crate::error::CypherError;
use model::ValueType;
use plan::types::{Alternative, TYPE_DEPTH_MAX, TypeKind, TypeTest};

/// Types by their words, longer ones before those that they begin with.
const NAMES: [(&[&str], TypeKind); 45] = {
    use TypeKind::{Any, Nothing, Null, Plain, PropertyValue};
    [
        (&["NOTHING"], Nothing),
        (&["NULL"], Null),
        (&["BOOLEAN"], Plain(ValueType::Bool)),
        (&["BOOL"], Plain(ValueType::Bool)),
        (&["STRING"], Plain(ValueType::String)),
        (&["VARCHAR"], Plain(ValueType::String)),
        (&["SIGNED", "INTEGER"], Plain(ValueType::Int)),
        (&["INTEGER"], Plain(ValueType::Int)),
        (&["INT"], Plain(ValueType::Int)),
        (&["FLOAT"], Plain(ValueType::Float)),
        (&["DATE"], Plain(ValueType::Date)),
        (&["LOCAL", "TIME"], Plain(ValueType::LocalTime)),
        (&["LOCAL", "DATETIME"], Plain(ValueType::LocalDateTime)),
        (&["ZONED", "TIME"], Plain(ValueType::Time)),
        (&["ZONED", "DATETIME"], Plain(ValueType::DateTime)),
        (&["TIME", "WITHOUT", "TIME", "ZONE"], Plain(ValueType::LocalTime)),
        (&["TIME", "WITHOUT", "TIMEZONE"], Plain(ValueType::LocalTime)),
        (&["TIME", "WITH", "TIME", "ZONE"], Plain(ValueType::Time)),
        (&["TIME", "WITH", "TIMEZONE"], Plain(ValueType::Time)),
        (&["TIMESTAMP", "WITHOUT", "TIME", "ZONE"], Plain(ValueType::LocalDateTime)),
        (&["TIMESTAMP", "WITHOUT", "TIMEZONE"], Plain(ValueType::LocalDateTime)),
        (&["TIMESTAMP", "WITH", "TIME", "ZONE"], Plain(ValueType::DateTime)),
        (&["TIMESTAMP", "WITH", "TIMEZONE"], Plain(ValueType::DateTime)),
        (&["DURATION"], Plain(ValueType::Duration)),
        (&["POINT"], Plain(ValueType::Point)),
        (&["NODE"], Plain(ValueType::Vertex)),
        (&["VERTEX"], Plain(ValueType::Vertex)),
        (&["RELATIONSHIP"], Plain(ValueType::Edge)),
        (&["EDGE"], Plain(ValueType::Edge)),
        (&["MAP"], Plain(ValueType::Map)),
        (&["PATHS"], Plain(ValueType::Path)),
        (&["PATH"], Plain(ValueType::Path)),
        (&["PROPERTY", "VALUE"], PropertyValue),
        (&["ANY", "PROPERTY", "VALUE"], PropertyValue),
        (&["ANY", "NODE"], Plain(ValueType::Vertex)),
        (&["ANY", "VERTEX"], Plain(ValueType::Vertex)),
        (&["ANY", "RELATIONSHIP"], Plain(ValueType::Edge)),
        (&["ANY", "EDGE"], Plain(ValueType::Edge)),
        (&["ANY", "MAP"], Plain(ValueType::Map)),
        (&["ANY", "PATH"], Plain(ValueType::Path)),
        (&["ANY", "BOOLEAN"], Plain(ValueType::Bool)),
        (&["ANY", "POINT"], Plain(ValueType::Point)),
        (&["ANY", "VALUE"], Any),
        (&["BYTEARRAY"], Plain(ValueType::Bytes)),
        (&["ANY"], Any),
    ]
};

/// Common misnomers of types, with Cypher's names.
const SLIPS: [(&str, &str); 8] = [
    ("DATETIME", "write ZONED DATETIME or LOCAL DATETIME"),
    ("TIME", "write ZONED TIME or LOCAL TIME"),
    ("TIMESTAMP", "write TIMESTAMP WITH TIME ZONE or TIMESTAMP WITHOUT TIME ZONE"),
    ("TEXT", "write STRING"),
    ("NUMBER", "write INTEGER | FLOAT"),
    ("DOUBLE", "write FLOAT"),
    ("LONG", "write INTEGER"),
    ("REL", "write RELATIONSHIP"),
];

impl Parser<'_> {
    /// A type with its alternatives.
    pub(super) fn type_test(&mut self) -> Parsed<TypeTest> {
        let start = self.span();
        let mut alternatives = self.nested(Self::one_type)?;
        while self.bar_joins_labels() {
            self.bump();
            alternatives.extend(self.nested(Self::one_type)?);
        }
        if alternatives.iter().any(|one| one.not_null != alternatives[0].not_null) {
            let message = "all types of a union must admit null, or all must be NOT NULL";
            return Err(CypherError::syntax(message, self.since(start)).into());
        }
        let test = TypeTest(alternatives);
        if test.depth() > TYPE_DEPTH_MAX {
            return Err(self.too_deep());
        }
        Ok(test)
    }

    /// One type, or those of `ANY<…>`; a list of it, where LIST or ARRAY follows.
    fn one_type(&mut self) -> Parsed<Vec<Alternative>> {
        let start = self.span();
        let mut found = if self.is_word_of(0, &["LIST", "ARRAY"]) {
            self.bump();
            vec![self.elements()?]
        } else if self.is_word(0, "ANY")
            && (self.is_symbol(1, "<") || self.is_word(1, "VALUE") && self.is_symbol(2, "<"))
        {
            self.bump();
            self.eat_word("VALUE");
            self.bracketed_type()?.0
        } else {
            vec![Alternative { kind: self.type_name()?, not_null: false }]
        };
        loop {
            let not_null = self.eat_words(&["NOT", "NULL"]) || self.eat_symbol("!");
            found.iter_mut().for_each(|one| one.not_null |= not_null);
            if !self.is_word_of(0, &["LIST", "ARRAY"]) {
                return Ok(found);
            }
            self.bump();
            self.grow()?;
            if found.len() > 1 {
                let hint = "write LIST<A | B>";
                return Err(CypherError::syntax("a list of a union is written with <…>", self.since(start))
                    .with_hint(hint)
                    .into());
            }
            found = vec![Alternative { kind: TypeKind::List(TypeTest(found)), not_null: false }];
        }
    }

    /// `<type>` behind LIST. A bare LIST has elements of any type.
    fn elements(&mut self) -> Parsed<Alternative> {
        if !self.at_symbol("<") {
            return Err(self.unexpected_with_hint("'<'", "write LIST<ANY> for a list of whatever elements"));
        }
        let elements = self.bracketed_type()?;
        Ok(Alternative { kind: TypeKind::List(elements), not_null: false })
    }

    fn bracketed_type(&mut self) -> Parsed<TypeTest> {
        self.expect_symbol("<")?;
        let inner = self.in_brackets(false, Self::type_test)?;
        self.expect_symbol(">")?;
        Ok(inner)
    }

    fn type_name(&mut self) -> Parsed<TypeKind> {
        let longest =
            NAMES.iter().filter(|(words, _)| self.at_words(words)).max_by_key(|(words, _)| words.len());
        if let Some((words, kind)) = longest {
            words.iter().for_each(|_| self.bump());
            return Ok(kind.clone());
        }
        let slip = SLIPS.iter().find(|(word, _)| self.is_word(0, word));
        Err(match slip {
            Some((_, hint)) => self.unexpected_with_hint("the name of a type", hint),
            None => self.unexpected("the name of a type"),
        })
    }
}
