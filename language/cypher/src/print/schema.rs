//! Canonical text of schema commands and `SHOW`.

use super::Printer;
use crate::ast::{
    CreateConstraint, CreateIndex, DropByName, IndexKind, Name, Requirement, SchemaCommand, SchemaEntity,
    Show, ShowTarget,
};
use plan::users::{Password, UserCommand};

impl Printer {
    pub(super) fn schema_command(&mut self, command: &SchemaCommand) {
        match command {
            SchemaCommand::CreateIndex(index) => self.create_index(index),
            SchemaCommand::CreateConstraint(constraint) => self.create_constraint(constraint),
            SchemaCommand::DropIndex(drop) => self.drop_by_name("DROP INDEX ", drop),
            SchemaCommand::DropConstraint(drop) => self.drop_by_name("DROP CONSTRAINT ", drop),
        }
    }

    fn drop_by_name(&mut self, keywords: &str, drop: &DropByName) {
        self.put(keywords);
        self.variable(&drop.name.text);
        self.put(if drop.if_exists { " IF EXISTS" } else { "" });
    }

    fn schema_name(&mut self, name: Option<&Name>, if_not_exists: bool) {
        if let Some(name) = name {
            self.put(" ");
            self.variable(&name.text);
        }
        self.put(if if_not_exists { " IF NOT EXISTS" } else { "" });
    }

    fn create_index(&mut self, index: &CreateIndex) {
        self.put(match index.kind {
            IndexKind::Range => "CREATE RANGE INDEX",
            IndexKind::Text => "CREATE TEXT INDEX",
            IndexKind::Point => "CREATE POINT INDEX",
            IndexKind::Lookup => "CREATE LOOKUP INDEX",
            IndexKind::Fulltext => "CREATE FULLTEXT INDEX",
            IndexKind::Vector => "CREATE VECTOR INDEX",
        });
        self.schema_name(index.name.as_ref(), index.if_not_exists);
        self.schema_entity(&index.entity);
        let lookup = index.properties.is_empty();
        match (lookup, index.kind, &index.entity) {
            (true, _, SchemaEntity::Node(variable, _)) => self.lookup("labels", variable),
            (true, _, SchemaEntity::Relationship(variable, _)) => self.lookup("type", variable),
            (_, IndexKind::Fulltext, entity) => {
                self.schema_properties(" ON EACH [", entity, &index.properties, "]")
            }
            (_, _, entity) => self.schema_properties(" ON (", entity, &index.properties, ")"),
        }
        self.optional(" OPTIONS ", index.options.as_ref());
    }

    fn lookup(&mut self, function: &str, variable: &Name) {
        self.put(&format!(" ON EACH {function}("));
        self.variable(&variable.text);
        self.put(")");
    }

    fn schema_entity(&mut self, entity: &SchemaEntity) {
        let (before, variable, labels, after) = match entity {
            SchemaEntity::Node(variable, labels) => (" FOR (", variable, labels, ")"),
            SchemaEntity::Relationship(variable, types) => (" FOR ()-[", variable, types, "]-()"),
        };
        self.put(before);
        self.variable(&variable.text);
        self.put(if labels.is_empty() { "" } else { ":" });
        self.list(labels, "|", Self::name);
        self.put(after);
    }

    fn schema_properties(&mut self, before: &str, entity: &SchemaEntity, properties: &[Name], after: &str) {
        let (SchemaEntity::Node(variable, _) | SchemaEntity::Relationship(variable, _)) = entity;
        self.put(before);
        self.list(properties, ", ", |printer, property| {
            printer.variable(&variable.text);
            printer.put(".");
            printer.name(property);
        });
        self.put(after);
    }

    fn create_constraint(&mut self, constraint: &CreateConstraint) {
        self.put("CREATE CONSTRAINT");
        self.schema_name(constraint.name.as_ref(), constraint.if_not_exists);
        self.schema_entity(&constraint.entity);
        self.schema_properties(" REQUIRE (", &constraint.entity, &constraint.properties, ") IS ");
        match (&constraint.requirement, &constraint.entity) {
            (Requirement::Unique, _) => self.put("UNIQUE"),
            (Requirement::NotNull, _) => self.put("NOT NULL"),
            (Requirement::Key, SchemaEntity::Node(..)) => self.put("NODE KEY"),
            (Requirement::Key, SchemaEntity::Relationship(..)) => self.put("RELATIONSHIP KEY"),
            (Requirement::Type(wanted), _) => self.put(&format!(":: {wanted}")),
        }
    }

    pub(super) fn user_command(&mut self, command: &UserCommand) {
        let (verb, name, condition, password, suspended) = match command {
            UserCommand::Create { name, if_not_exists, password, suspended } => {
                ("CREATE", name, if_not_exists.then_some(" IF NOT EXISTS"), Some(password), suspended)
            }
            UserCommand::Alter { name, if_exists, password, suspended } => {
                ("ALTER", name, if_exists.then_some(" IF EXISTS"), password.as_ref(), suspended)
            }
            UserCommand::Drop { name, if_exists } => {
                ("DROP", name, if_exists.then_some(" IF EXISTS"), None, &None)
            }
            UserCommand::AlterCurrent { from, to } => {
                self.put("ALTER CURRENT USER SET PASSWORD FROM ");
                self.secret(from);
                self.put(" TO ");
                return self.secret(to);
            }
        };
        self.put(verb);
        self.put(" USER ");
        self.variable(name);
        self.put(condition.unwrap_or_default());
        if let Some(password) = password {
            self.put(" SET PASSWORD ");
            self.secret(password);
        }
        if let Some(suspended) = suspended {
            self.put(if *suspended { " SET STATUS SUSPENDED" } else { " SET STATUS ACTIVE" });
        }
    }

    fn secret(&mut self, password: &Password) {
        match password {
            Password::Text(text) => self.string(text),
            Password::Parameter(name) => {
                self.put("$");
                self.variable(name);
            }
        }
    }

    pub(super) fn show(&mut self, show: &Show) {
        self.put("SHOW ");
        if let Some(of) = match show.target {
            ShowTarget::RolePrivileges => Some("ROLE "),
            ShowTarget::UserPrivileges => Some("USER "),
            _ => None,
        } {
            self.put(of);
            if let Some(only) = &show.only {
                self.variable(only);
                self.put(" ");
            }
        }
        let is_privileges = matches!(show.target, ShowTarget::RolePrivileges | ShowTarget::UserPrivileges);
        let is_database =
            is_privileges || matches!(show.target, ShowTarget::Databases | ShowTarget::Settings);
        if let Some(only) = show.only.as_ref().filter(|_| !is_database) {
            self.put(only);
            self.put(" ");
        }
        self.put(match show.target {
            ShowTarget::Indexes => "INDEXES",
            ShowTarget::Constraints => "CONSTRAINTS",
            ShowTarget::Functions => "FUNCTIONS",
            ShowTarget::Procedures => "PROCEDURES",
            ShowTarget::Caches => "CACHES",
            ShowTarget::Programs => "PROGRAMS",
            ShowTarget::Queries => "QUERIES",
            ShowTarget::Transactions => "TRANSACTIONS",
            ShowTarget::StandingQueries => "STANDING QUERIES",
            ShowTarget::Cluster => "CLUSTER",
            ShowTarget::Order => "ORDER",
            ShowTarget::Tablets => "TABLETS",
            ShowTarget::Tenants => "TENANTS",
            ShowTarget::Users => "USERS",
            ShowTarget::CurrentUser => "CURRENT USER",
            ShowTarget::Databases => "DATABASES",
            ShowTarget::Settings => "SETTINGS",
            ShowTarget::Roles => "ROLES",
            ShowTarget::Privileges | ShowTarget::RolePrivileges | ShowTarget::UserPrivileges => "PRIVILEGES",
        });
        if let Some(only) = show.only.as_ref().filter(|_| is_database && !is_privileges) {
            self.put(" ");
            for (place, name) in only.split(',').enumerate() {
                self.put(if place > 0 { ", " } else { "" });
                self.variable(name);
            }
        }
        self.yields(show.yields.as_ref());
        if let Some(page) = &show.page {
            self.page(page);
        }
        self.optional(" WHERE ", show.condition.as_ref());
        if let Some(projection) = &show.projection {
            self.put(" RETURN ");
            self.projection(projection);
        }
    }
}
