//! `CREATE INDEX`, `CREATE CONSTRAINT`, `DROP …`, `SHOW …`, in the syntax of Neo4j 5.

use super::{Parsed, Parser};
use crate::ast::{
    CreateConstraint, CreateIndex, DropByName, Expression, ExpressionKind, IndexKind, Name, Requirement,
    SchemaCommand, SchemaEntity, Show, ShowTarget,
};
use crate::lexer::TokenKind;

const INDEX_KINDS: [(&str, IndexKind); 6] = [
    ("RANGE", IndexKind::Range),
    ("TEXT", IndexKind::Text),
    ("POINT", IndexKind::Point),
    ("LOOKUP", IndexKind::Lookup),
    ("FULLTEXT", IndexKind::Fulltext),
    ("VECTOR", IndexKind::Vector),
];

/// Words that may stand before the target of a listing.
const SHOW_KINDS: [&str; 24] = [
    "ALL",
    "BUILT",
    "IN",
    "USER",
    "DEFINED",
    "RANGE",
    "TEXT",
    "POINT",
    "LOOKUP",
    "FULLTEXT",
    "VECTOR",
    "NODE",
    "REL",
    "RELATIONSHIP",
    "PROPERTY",
    "UNIQUE",
    "UNIQUENESS",
    "EXIST",
    "EXISTENCE",
    "TYPE",
    "KEY",
    "DEFAULT",
    "HOME",
    "CURRENT",
];

const SHOW_TARGETS: [(&str, ShowTarget); 26] = [
    ("ROLES", ShowTarget::Roles),
    ("PRIVILEGES", ShowTarget::Privileges),
    ("INDEX", ShowTarget::Indexes),
    ("INDEXES", ShowTarget::Indexes),
    ("CONSTRAINT", ShowTarget::Constraints),
    ("CONSTRAINTS", ShowTarget::Constraints),
    ("FUNCTION", ShowTarget::Functions),
    ("FUNCTIONS", ShowTarget::Functions),
    ("PROCEDURE", ShowTarget::Procedures),
    ("PROCEDURES", ShowTarget::Procedures),
    ("CACHES", ShowTarget::Caches),
    ("PROGRAMS", ShowTarget::Programs),
    ("QUERIES", ShowTarget::Queries),
    ("TRANSACTION", ShowTarget::Transactions),
    ("TRANSACTIONS", ShowTarget::Transactions),
    ("STANDING", ShowTarget::StandingQueries),
    ("USERS", ShowTarget::Users),
    ("CLUSTER", ShowTarget::Cluster),
    ("ORDER", ShowTarget::Order),
    ("TABLETS", ShowTarget::Tablets),
    ("TENANT", ShowTarget::Tenants),
    ("TENANTS", ShowTarget::Tenants),
    ("SETTING", ShowTarget::Settings),
    ("SETTINGS", ShowTarget::Settings),
    ("DATABASE", ShowTarget::Databases),
    ("DATABASES", ShowTarget::Databases),
];

const SHOWN: &str = "INDEXES, CONSTRAINTS, FUNCTIONS, PROCEDURES, PROGRAMS, CACHES, QUERIES, TRANSACTIONS, STANDING QUERIES, TABLETS, TENANTS, \
                     SETTINGS, CLUSTER, ORDER, DATABASES, USERS or CURRENT USER";

impl Parser<'_> {
    /// Whether a schema command begins here, and not a `CREATE` of nodes.
    pub(super) fn at_schema_command(&self) -> bool {
        if self.is_word(0, "DROP") {
            return true;
        }
        let kind = usize::from(self.index_kind(1).is_some());
        self.is_word(0, "CREATE") && self.is_word_of(1 + kind, &["INDEX", "CONSTRAINT"])
    }

    fn index_kind(&self, ahead: usize) -> Option<IndexKind> {
        INDEX_KINDS.iter().find(|(word, _)| self.is_word(ahead, word)).map(|(_, kind)| *kind)
    }

    pub(super) fn schema_command(&mut self) -> Parsed<SchemaCommand> {
        if self.eat_word("DROP") {
            return self.drop_command();
        }
        self.expect_word("CREATE")?;
        let kind = self.index_kind(0);
        if kind.is_some() {
            self.bump();
        }
        if kind.is_none() && self.eat_word("CONSTRAINT") {
            return self.create_constraint().map(SchemaCommand::CreateConstraint);
        }
        self.expect_word("INDEX")?;
        self.create_index(kind.unwrap_or(IndexKind::Range)).map(SchemaCommand::CreateIndex)
    }

    fn drop_command(&mut self) -> Parsed<SchemaCommand> {
        let index = self.eat_word("INDEX");
        if !index {
            self.expect_word("CONSTRAINT")?;
        }
        if self.is_word(0, "ON") && !self.is_word(1, "IF") && self.is_symbol(1, ":") {
            return Err(self.unexpected_with_hint(
                "the name of the index",
                "indexes are dropped by name, see SHOW INDEXES",
            ));
        }
        let name = self.name(if index { "the name of the index" } else { "the name of the constraint" })?;
        let if_exists = self.eat_words(&["IF", "EXISTS"]);
        let drop = DropByName { name, if_exists };
        Ok(if index { SchemaCommand::DropIndex(drop) } else { SchemaCommand::DropConstraint(drop) })
    }

    /// `[name] [IF NOT EXISTS]`.
    fn schema_name(&mut self) -> Parsed<(Option<Name>, bool)> {
        let unnamed = self.at_words(&["IF", "NOT"]) || (self.is_word(0, "FOR") && self.is_symbol(1, "("));
        let name = if unnamed { None } else { Some(self.name("a name or FOR")?) };
        Ok((name, self.eat_words(&["IF", "NOT", "EXISTS"])))
    }

    fn create_index(&mut self, kind: IndexKind) -> Parsed<CreateIndex> {
        if self.is_word(0, "ON") && self.is_symbol(1, ":") {
            return Err(self.unexpected_with_hint(
                "a name or FOR",
                "write CREATE INDEX name FOR (n:Label) ON (n.property)",
            ));
        }
        let (name, if_not_exists) = self.schema_name()?;
        self.expect_word("FOR")?;
        let entity = self.schema_entity()?;
        self.expect_word("ON")?;
        let each = self.eat_word("EACH");
        let properties = if self.is_word_of(0, &["labels", "type"]) && self.is_symbol(1, "(") {
            self.lookup_function()?
        } else {
            self.schema_properties(&entity, each)?
        };
        let options = if self.eat_word("OPTIONS") { Some(self.options()?) } else { None };
        Ok(CreateIndex { kind, name, if_not_exists, entity, properties, options })
    }

    /// `labels(n)` or `type(r)`: a look-up index has no properties.
    fn lookup_function(&mut self) -> Parsed<Vec<Name>> {
        self.bump();
        self.expect_symbol("(")?;
        self.name("a variable")?;
        self.expect_symbol(")")?;
        Ok(Vec::new())
    }

    /// `(n:Label)` or `()-[r:TYPE]-()`.
    fn schema_entity(&mut self) -> Parsed<SchemaEntity> {
        self.expect_symbol("(")?;
        if !self.eat_symbol(")") {
            let variable = self.name("a variable")?;
            let labels = self.schema_labels()?;
            self.expect_symbol(")")?;
            return Ok(SchemaEntity::Node(variable, labels));
        }
        self.eat_symbol("<");
        self.expect_symbol("-")?;
        self.expect_symbol("[")?;
        let variable = self.name("a variable")?;
        let types = self.schema_labels()?;
        self.expect_symbol("]")?;
        self.expect_symbol("-")?;
        self.eat_symbol(">");
        self.expect_symbol("(")?;
        self.expect_symbol(")")?;
        Ok(SchemaEntity::Relationship(variable, types))
    }

    fn schema_labels(&mut self) -> Parsed<Vec<Name>> {
        let mut labels = Vec::new();
        if self.eat_symbol(":") {
            labels.push(self.name("a label or relationship type")?);
            while self.eat_symbol("|") {
                self.eat_symbol(":");
                labels.push(self.name("a label or relationship type")?);
            }
        }
        Ok(labels)
    }

    /// `(n.a, n.b)`, `n.a`, and after `EACH` `[n.a, n.b]`.
    fn schema_properties(&mut self, entity: &SchemaEntity, each: bool) -> Parsed<Vec<Name>> {
        let closing = if each { "]" } else { ")" };
        if !self.eat_symbol(if each { "[" } else { "(" }) {
            return Ok(vec![self.schema_property(entity)?]);
        }
        let properties = self.comma_separated(|parser| parser.schema_property(entity))?;
        self.expect_symbol(closing)?;
        Ok(properties)
    }

    fn schema_property(&mut self, entity: &SchemaEntity) -> Parsed<Name> {
        let (SchemaEntity::Node(variable, _) | SchemaEntity::Relationship(variable, _)) = entity;
        let owner = self.name("a property such as n.name")?;
        if owner.text != variable.text {
            let message = format!("variable `{}` is not defined", owner.text);
            let error = crate::error::CypherError::new(
                crate::error::ErrorKind::UndefinedVariable,
                message,
                owner.span,
            );
            return Err(error.with_suggestion(Some(&variable.text)).into());
        }
        self.expect_symbol(".")?;
        self.name("a property name")
    }

    fn options(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let kind = ExpressionKind::Map(self.nested(Self::map_entries)?);
        Ok(Expression { kind, span: self.since(start) })
    }

    fn create_constraint(&mut self) -> Parsed<CreateConstraint> {
        if self.is_word(0, "ON") && self.is_symbol(1, "(") {
            return Err(self.unexpected_with_hint(
                "a name or FOR",
                "write CREATE CONSTRAINT name FOR (n:Label) REQUIRE n.property IS UNIQUE",
            ));
        }
        let (name, if_not_exists) = self.schema_name()?;
        self.expect_word("FOR")?;
        let entity = self.schema_entity()?;
        if !self.eat_word("REQUIRE") {
            return Err(
                self.unexpected_with_hint("REQUIRE", "write … FOR (n:Label) REQUIRE n.property IS UNIQUE")
            );
        }
        let properties = self.schema_properties(&entity, false)?;
        self.expect_word("IS")?;
        let requirement = self.requirement()?;
        if self.eat_word("OPTIONS") {
            self.options()?;
        }
        Ok(CreateConstraint { name, if_not_exists, entity, properties, requirement })
    }

    fn requirement(&mut self) -> Parsed<Requirement> {
        if self.eat_words(&["NOT", "NULL"]) {
            return Ok(Requirement::NotNull);
        }
        if self.eat_symbol("::") || self.eat_word("TYPED") {
            return Ok(Requirement::Type(self.type_test()?));
        }
        if self.is_word_of(0, &["NODE", "RELATIONSHIP", "REL"]) {
            self.bump();
        }
        if self.eat_word("KEY") {
            return Ok(Requirement::Key);
        }
        if self.eat_word("UNIQUE") {
            return Ok(Requirement::Unique);
        }
        Err(self.unexpected("UNIQUE, NOT NULL or NODE KEY"))
    }

    /// A name of a setting, as a text or as words between dots.
    fn setting_name(&mut self) -> Parsed<String> {
        if let TokenKind::Text(text) = self.kind(0).clone() {
            self.bump();
            return Ok(text);
        }
        let mut name = self.name("a setting")?.text;
        while self.eat_symbol(".") {
            name.push('.');
            name.push_str(&self.name("a setting")?.text);
        }
        Ok(name)
    }

    /// `SHOW what …`; the keyword is already taken.
    pub(super) fn show(&mut self) -> Parsed<Show> {
        let mut kinds: Vec<String> = Vec::new();
        while self.is_word_of(0, &SHOW_KINDS) {
            kinds.extend(self.word(0).map(str::to_uppercase));
            self.bump();
        }
        let mut privileges_of = None;
        let target = match SHOW_TARGETS.iter().find(|(word, _)| self.is_word(0, word)) {
            Some((_, ShowTarget::Privileges)) if kinds.last().is_some_and(|word| word == "USER") => {
                self.bump();
                &ShowTarget::UserPrivileges
            }
            Some((_, target)) => {
                self.bump();
                target
            }
            // Both are words of other listings too, such as USER DEFINED FUNCTIONS.
            None if kinds == ["CURRENT", "USER"] => &ShowTarget::CurrentUser,
            None if kinds == ["USER"] && self.is_word(1, "PRIVILEGES") => {
                privileges_of = Some(self.name("a user")?.text);
                self.bump();
                &ShowTarget::UserPrivileges
            }
            None if kinds.is_empty() && self.is_word(0, "ROLE") && self.is_word(2, "PRIVILEGES") => {
                self.bump();
                privileges_of = Some(self.name("a role")?.text);
                self.bump();
                &ShowTarget::RolePrivileges
            }
            None => return Err(self.unexpected(SHOWN)),
        };
        if *target == ShowTarget::StandingQueries && !self.eat_word("QUERY") {
            self.expect_word("QUERIES")?;
        }
        // Everything that is listed can be executed, by everybody.
        if self.eat_word("EXECUTABLE") && self.eat_word("BY") && !self.eat_words(&["CURRENT", "USER"]) {
            self.name("a user")?;
        }
        let mut only = match target {
            ShowTarget::Indexes | ShowTarget::Constraints if !kinds.is_empty() => Some(kinds.join(" ")),
            _ => privileges_of,
        };
        let goes_on = self.is_word_of(0, &["YIELD", "WHERE", "RETURN"]);
        if *target == ShowTarget::Databases && !goes_on && self.word(0).is_some() {
            only = Some(self.name("a database")?.text);
        }
        if *target == ShowTarget::Settings
            && !goes_on
            && !matches!(self.kind(0), TokenKind::End | TokenKind::Symbol(";"))
        {
            only = Some(self.comma_separated(Self::setting_name)?.join(","));
        }
        let start = self.span();
        let mut yields = self.optional_yield()?;
        let mut page = None;
        let mut condition = None;
        if let Some(yields) = &mut yields {
            if yields.condition.is_none() && self.is_word_of(0, &["ORDER", "SKIP", "OFFSET", "LIMIT"]) {
                page = Some(self.page(start)?);
            }
            condition = yields.condition.take();
        }
        if condition.is_none() {
            condition = self.optional_where()?;
        }
        let start = self.span();
        let projection = if self.eat_word("RETURN") { Some(self.projection(start)?) } else { None };
        Ok(Show { target: *target, only, yields, page, condition, projection })
    }
}
