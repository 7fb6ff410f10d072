//! `CREATE ROLE`, `DROP ROLE`, `RENAME ROLE`, `GRANT`, `DENY`, `REVOKE`.
//!
//! ```text
//! CREATE ROLE name [IF NOT EXISTS] [AS COPY OF name]
//! DROP ROLE name [IF EXISTS]
//! RENAME ROLE name [IF EXISTS] TO name
//! GRANT ROLE[S] name, … TO user, …            REVOKE ROLE[S] name, … FROM user, …
//! GRANT | DENY privilege TO role, …           REVOKE [GRANT | DENY] privilege FROM role, …
//!
//! privilege  TRAVERSE | READ {property, …} | MATCH {property, …} | CREATE | DELETE | SET PROPERTY {property, …}
//!              ON GRAPH * [NODES | RELATIONSHIPS | ELEMENTS name, …]
//!            SET LABEL name, … | REMOVE LABEL name, … | WRITE      ON GRAPH *
//!            NAME | INDEX | CONSTRAINT | TRANSACTION | STANDING QUERY | PROGRAM MANAGEMENT | SUBSCRIBE      ON DATABASE *
//!            USER | ROLE | TENANT MANAGEMENT | SHOW SETTING * | EXECUTE PROCEDURE name, … | IMPERSONATE [(user, …)]      ON DBMS
//!            LOAD ON ALL DATA
//! ```
//! Several privileges stand with `AND` between them. A name is `*` for all. The one graph is named `*` or `neo4j`.

use super::{Parsed, Parser};
use plan::expr::Name;
use plan::procedures::Procedure;
use plan::roles::{Action, Effect, Privilege, RoleCommand, Scope, WHOLE_ACTIONS};
use std::sync::Arc;

/// Names of one list, and privileges of one statement.
const NAMES_MAX: usize = 1_000;
const PRIVILEGES: &str = "a privilege such as TRAVERSE, READ, MATCH, CREATE, DELETE, SET, REMOVE, WRITE, EXECUTE PROCEDURE or USER MANAGEMENT";

impl Parser<'_> {
    /// Whether a command about roles begins here.
    pub(super) fn at_role_command(&self) -> bool {
        self.is_word_of(0, &["CREATE", "DROP", "RENAME"])
            && self.is_word(1, "ROLE")
            && !self.is_symbol(2, "=")
            || self.is_word_of(0, &["GRANT", "DENY", "REVOKE"])
    }

    pub(super) fn role_command(&mut self) -> Parsed<RoleCommand> {
        if self.eat_words(&["CREATE", "ROLE"]) {
            let name = self.role_name()?;
            let if_not_exists = self.eat_words(&["IF", "NOT", "EXISTS"]);
            let copies = self.eat_words(&["AS", "COPY", "OF"]);
            let copy_of = if copies { Some(self.role_name()?) } else { None };
            return Ok(RoleCommand::Create { name, if_not_exists, copy_of });
        }
        if self.eat_words(&["DROP", "ROLE"]) {
            let name = self.role_name()?;
            return Ok(RoleCommand::Drop { name, if_exists: self.eat_words(&["IF", "EXISTS"]) });
        }
        if self.eat_words(&["RENAME", "ROLE"]) {
            let from = self.role_name()?;
            let if_exists = self.eat_words(&["IF", "EXISTS"]);
            self.expect_word("TO")?;
            return Ok(RoleCommand::Rename { from, to: self.role_name()?, if_exists });
        }
        let grants = self.is_word(0, "GRANT");
        let revokes = self.is_word(0, "REVOKE");
        self.bump();
        if (grants || revokes)
            && (self.eat_word("ROLE") && !self.is_word(0, "MANAGEMENT") || self.eat_word("ROLES"))
        {
            let roles = self.account_names()?;
            self.expect_word(if grants { "TO" } else { "FROM" })?;
            return Ok(RoleCommand::Assign { granted: grants, roles, users: self.account_names()? });
        }
        let effect = match () {
            () if revokes && self.eat_word("GRANT") => Some(Effect::Grant),
            () if revokes && self.eat_word("DENY") => Some(Effect::Deny),
            () if revokes => None,
            () if grants => Some(Effect::Grant),
            () => Some(Effect::Deny),
        };
        let mut privileges = self.privileges()?;
        while privileges.len() < NAMES_MAX && self.eat_word("AND") {
            privileges.extend(self.privileges()?);
        }
        self.expect_word(if revokes { "FROM" } else { "TO" })?;
        let roles = self.account_names()?;
        Ok(match effect {
            Some(effect) if !revokes => RoleCommand::Add { effect, privileges, roles },
            effect => RoleCommand::Revoke { effect, privileges, roles },
        })
    }

    fn role_name(&mut self) -> Parsed<Name> {
        Ok(Arc::from(self.name("the name of a role")?.text))
    }

    fn account_names(&mut self) -> Parsed<Vec<Name>> {
        let mut names = vec![Arc::from(self.name("a name")?.text)];
        while names.len() < NAMES_MAX && self.eat_symbol(",") {
            names.push(Arc::from(self.name("a name")?.text));
        }
        Ok(names)
    }

    /// `*`, or names; none stands for all.
    fn all_or_names(&mut self) -> Parsed<Vec<Option<Name>>> {
        if self.eat_symbol("*") {
            return Ok(vec![None]);
        }
        Ok(self.account_names()?.into_iter().map(Some).collect())
    }

    fn privileges(&mut self) -> Parsed<Vec<Privilege>> {
        // Behind ROLE, which may have been taken for a role.
        if self.eat_word("MANAGEMENT") {
            self.on_whole(Scope::Server)?;
            return Ok(vec![Privilege::all(Action::RoleManagement, Scope::Server)]);
        }
        if let Some(named) = self.named_on_server()? {
            return Ok(named);
        }
        for (words, action, scope) in WHOLE_ACTIONS {
            if self.eat_words(words) {
                if action == Action::ShowSetting {
                    self.expect_symbol("*")?;
                }
                self.on_whole(scope)?;
                return Ok(vec![Privilege::all(action, scope)]);
            }
        }
        if self.eat_word("WRITE") {
            self.on_graph()?;
            return Ok(write_privileges());
        }
        for (words, action) in
            [(["SET", "LABEL"], Action::SetLabel), (["REMOVE", "LABEL"], Action::RemoveLabel)]
        {
            if self.eat_words(&words) || self.eat_words(&[words[0], "LABELS"]) {
                let names = self.all_or_names()?;
                self.on_graph()?;
                return Ok(about(action, Scope::Graph, &names));
            }
        }
        let actions: &[Action] = match () {
            () if self.eat_word("TRAVERSE") => &[Action::Traverse],
            () if self.eat_word("READ") => &[Action::Read],
            () if self.eat_word("MATCH") => &[Action::Traverse, Action::Read],
            () if self.eat_word("CREATE") => &[Action::Create],
            () if self.eat_word("DELETE") => &[Action::Delete],
            () if self.eat_words(&["SET", "PROPERTY"]) => &[Action::SetProperty],
            () => return Err(self.unexpected(PRIVILEGES)),
        };
        let has_keys = |action: &Action| matches!(action, Action::Read | Action::SetProperty);
        let keys = if actions.iter().any(has_keys) { self.braced_keys()? } else { vec![None] };
        self.on_graph()?;
        let scopes = self.scopes()?;
        let names = match scopes.is_empty() {
            true => vec![None],
            false => self.all_or_names()?,
        };
        let scopes = if scopes.is_empty() { vec![Scope::Nodes, Scope::Relationships] } else { scopes };
        let mut privileges = Vec::new();
        for action in actions {
            let keys = if has_keys(action) { &keys[..] } else { &[None] };
            for scope in &scopes {
                for name in &names {
                    if privileges.len() + keys.len() > NAMES_MAX {
                        return Err(self.unexpected("fewer labels, types and properties"));
                    }
                    privileges.extend(keys.iter().map(|property| Privilege {
                        action: *action,
                        scope: *scope,
                        name: name.clone(),
                        property: property.clone(),
                    }));
                }
            }
        }
        Ok(privileges)
    }

    /// Privileges on procedures or users by name: `EXECUTE PROCEDURE name, … ON DBMS`, `IMPERSONATE [(user, …)] ON DBMS`.
    fn named_on_server(&mut self) -> Parsed<Option<Vec<Privilege>>> {
        let (action, names) = match () {
            () if self.eat_words(&["EXECUTE", "PROCEDURE"]) || self.eat_words(&["EXECUTE", "PROCEDURES"]) => {
                (Action::Execute, self.procedure_names()?)
            }
            () if self.eat_word("IMPERSONATE") => {
                let mut users = vec![None];
                if self.eat_symbol("(") {
                    users = self.all_or_names()?;
                    self.expect_symbol(")")?;
                }
                (Action::Impersonate, users)
            }
            () => return Ok(None),
        };
        self.on_whole(Scope::Server)?;
        Ok(Some(about(action, Scope::Server, &names)))
    }

    fn braced_keys(&mut self) -> Parsed<Vec<Option<Name>>> {
        self.expect_symbol("{")?;
        let keys = self.all_or_names()?;
        self.expect_symbol("}")?;
        Ok(keys)
    }

    fn scopes(&mut self) -> Parsed<Vec<Scope>> {
        Ok(match () {
            () if self.eat_word("NODES") || self.eat_word("NODE") => vec![Scope::Nodes],
            () if self.eat_word("RELATIONSHIPS") || self.eat_word("RELATIONSHIP") => {
                vec![Scope::Relationships]
            }
            () if self.eat_word("ELEMENTS") || self.eat_word("ELEMENT") => {
                vec![Scope::Nodes, Scope::Relationships]
            }
            () => Vec::new(),
        })
    }

    /// `*`, or names with dots in them.
    fn procedure_names(&mut self) -> Parsed<Vec<Option<Name>>> {
        if self.eat_symbol("*") {
            return Ok(vec![None]);
        }
        let mut names = Vec::new();
        loop {
            let mut name = self.name("the name of a procedure")?.text;
            while self.eat_symbol(".") {
                name = format!("{name}.{}", self.name("the name of a procedure")?.text);
            }
            // As the table has it, since that is what a call is held against.
            let known = Procedure::called(&name).map(|known| known.planned_name(&name));
            names.push(Some(Arc::from(known.unwrap_or(name))));
            if names.len() >= NAMES_MAX || !self.eat_symbol(",") {
                return Ok(names);
            }
        }
    }

    /// `ON GRAPH *`, or by the name of the one graph.
    fn on_graph(&mut self) -> Parsed<()> {
        self.expect_word("ON")?;
        if self.eat_words(&["HOME", "GRAPH"]) {
            return Ok(());
        }
        if !self.eat_word("GRAPHS") {
            self.expect_word("GRAPH")?;
        }
        self.the_one("GRAPH *")
    }

    fn the_one(&mut self, wanted: &str) -> Parsed<()> {
        let is_named = self.eat_symbol("*") || self.eat_word("neo4j");
        if is_named {
            Ok(())
        } else {
            Err(self.unexpected_with_hint(wanted, "there is one graph: `*` or `neo4j`"))
        }
    }

    fn on_whole(&mut self, scope: Scope) -> Parsed<()> {
        self.expect_word("ON")?;
        match scope {
            Scope::Server => self.expect_word("DBMS").map(|_| ()),
            Scope::Data => {
                self.expect_word("ALL")?;
                self.expect_word("DATA").map(|_| ())
            }
            _ => {
                if self.eat_words(&["HOME", "DATABASE"]) {
                    return Ok(());
                }
                if !self.eat_word("DATABASES") {
                    self.expect_word("DATABASE")?;
                }
                self.the_one("DATABASE *")
            }
        }
    }
}

fn about(action: Action, scope: Scope, names: &[Option<Name>]) -> Vec<Privilege> {
    names.iter().map(|name| Privilege { action, scope, name: name.clone(), property: None }).collect()
}

/// The privileges of WRITE.
fn write_privileges() -> Vec<Privilege> {
    let mut all = Vec::new();
    for action in [Action::Create, Action::Delete, Action::SetProperty] {
        all.extend([Scope::Nodes, Scope::Relationships].map(|scope| Privilege::all(action, scope)));
    }
    all.extend([Action::SetLabel, Action::RemoveLabel].map(|action| Privilege::all(action, Scope::Graph)));
    all
}
