//! Roles and privileges.
//!
//! Idea: a privilege is one action on one name or on all: a statement over many names, or with a word for many actions such as MATCH, is a list of
//! them. An action is allowed if a privilege grants it and none denies it.

use crate::expr::Name;
use std::fmt;

/// The action of a privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// See nodes or relationships at all.
    Traverse,
    /// Read a property.
    Read,
    /// Create nodes or relationships.
    Create,
    /// Delete nodes or relationships.
    Delete,
    /// Set a label.
    SetLabel,
    /// Remove a label.
    RemoveLabel,
    /// Set or remove a property.
    SetProperty,
    /// Use labels, types and keys that the graph does not know yet.
    NameManagement,
    /// Create and drop indexes.
    IndexManagement,
    /// Create and drop constraints.
    ConstraintManagement,
    /// List and end queries of other users.
    TransactionManagement,
    /// Follow standing queries.
    Subscribe,
    /// Create and drop standing queries.
    StandingQueryManagement,
    /// Deploy and drop node programs.
    ProgramManagement,
    /// Call a procedure.
    Execute,
    /// Read files by LOAD CSV and Datalog.
    Load,
    /// Create, change and drop users.
    UserManagement,
    /// Create, change, drop and hand out roles.
    RoleManagement,
    /// Create, change and drop tenants.
    TenantManagement,
    /// List the settings.
    ShowSetting,
    /// Act as another user.
    Impersonate,
}

/// All that are about the database or the server as a whole, with their words.
pub const WHOLE_ACTIONS: [(&[&str], Action, Scope); 12] = [
    (&["NAME", "MANAGEMENT"], Action::NameManagement, Scope::Database),
    (&["INDEX", "MANAGEMENT"], Action::IndexManagement, Scope::Database),
    (&["CONSTRAINT", "MANAGEMENT"], Action::ConstraintManagement, Scope::Database),
    (&["TRANSACTION", "MANAGEMENT"], Action::TransactionManagement, Scope::Database),
    (&["SUBSCRIBE"], Action::Subscribe, Scope::Database),
    (&["STANDING", "QUERY", "MANAGEMENT"], Action::StandingQueryManagement, Scope::Database),
    (&["PROGRAM", "MANAGEMENT"], Action::ProgramManagement, Scope::Database),
    (&["LOAD"], Action::Load, Scope::Data),
    (&["USER", "MANAGEMENT"], Action::UserManagement, Scope::Server),
    (&["ROLE", "MANAGEMENT"], Action::RoleManagement, Scope::Server),
    (&["TENANT", "MANAGEMENT"], Action::TenantManagement, Scope::Server),
    (&["SHOW", "SETTING"], Action::ShowSetting, Scope::Server),
];

/// The target of a privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Nodes, by label.
    Nodes,
    /// Relationships, by type.
    Relationships,
    /// The graph as a whole.
    Graph,
    /// `ON DATABASE`.
    Database,
    /// `ON ALL DATA`.
    Data,
    /// `ON DBMS`.
    Server,
}

/// One privilege. Without a name it is about all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Privilege {
    /// Its action.
    pub action: Action,
    /// Its target.
    pub scope: Scope,
    /// The label, type, procedure or user.
    pub name: Option<Name>,
    /// The property.
    pub property: Option<Name>,
}

impl Privilege {
    /// Of all labels, types, procedures and properties.
    pub const fn all(action: Action, scope: Scope) -> Privilege {
        Privilege { action, scope, name: None, property: None }
    }
    /// Is it of this action and scope, and about this name and this property, or about all?
    pub fn covers(&self, action: Action, scope: Scope, name: &str, property: &str) -> bool {
        let is_about = |wanted: &Option<Name>, given: &str| wanted.as_ref().is_none_or(|own| &**own == given);
        self.action == action
            && self.scope == scope
            && is_about(&self.name, name)
            && is_about(&self.property, property)
    }
}

/// A name as a statement has it.
struct Quoted<'a>(&'a Option<Name>);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("*"),
            Some(name) => write!(f, "`{}`", name.replace('`', "``")),
        }
    }
}

impl fmt::Display for Privilege {
    /// The text between `GRANT` and `TO`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, property) = (Quoted(&self.name), Quoted(&self.property));
        match self.action {
            Action::Traverse => f.write_str("TRAVERSE")?,
            Action::Read => write!(f, "READ {{{property}}}")?,
            Action::Create => f.write_str("CREATE")?,
            Action::Delete => f.write_str("DELETE")?,
            Action::SetLabel => return write!(f, "SET LABEL {name} ON GRAPH *"),
            Action::RemoveLabel => return write!(f, "REMOVE LABEL {name} ON GRAPH *"),
            Action::SetProperty => write!(f, "SET PROPERTY {{{property}}}")?,
            Action::Execute => return write!(f, "EXECUTE PROCEDURE {name} ON DBMS"),
            Action::Impersonate => return write!(f, "IMPERSONATE ({name}) ON DBMS"),
            action => {
                let known = WHOLE_ACTIONS.iter().find(|(_, known, _)| *known == action);
                let words = known.map_or(String::new(), |(words, ..)| words.join(" "));
                f.write_str(&words)?;
                if action == Action::ShowSetting {
                    f.write_str(" *")?;
                }
            }
        }
        match self.scope {
            Scope::Nodes => write!(f, " ON GRAPH * NODES {name}"),
            Scope::Relationships => write!(f, " ON GRAPH * RELATIONSHIPS {name}"),
            Scope::Graph => f.write_str(" ON GRAPH *"),
            Scope::Database => f.write_str(" ON DATABASE *"),
            Scope::Data => f.write_str(" ON ALL DATA"),
            Scope::Server => f.write_str(" ON DBMS"),
        }
    }
}

/// Does a role allow or forbid?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// `GRANT`.
    Grant,
    /// `DENY`.
    Deny,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleCommand {
    /// CREATE ROLE.
    Create {
        /// The role.
        name: Name,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// AS COPY OF.
        copy_of: Option<Name>,
    },
    /// DROP ROLE.
    Drop {
        /// The role.
        name: Name,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// RENAME ROLE.
    Rename {
        /// The role.
        from: Name,
        /// Its new name.
        to: Name,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// GRANT ROLE … TO, REVOKE ROLE … FROM.
    Assign {
        /// Are they granted, or revoked?
        granted: bool,
        /// The roles.
        roles: Vec<Name>,
        /// The users.
        users: Vec<Name>,
    },
    /// GRANT, DENY.
    Add {
        /// Which.
        effect: Effect,
        /// The privileges.
        privileges: Vec<Privilege>,
        /// The roles.
        roles: Vec<Name>,
    },
    /// REVOKE.
    Revoke {
        /// GRANT or DENY; both, if absent.
        effect: Option<Effect>,
        /// The privileges.
        privileges: Vec<Privilege>,
        /// The roles.
        roles: Vec<Name>,
    },
}

fn list<T: fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(", ")
}

fn names(all: &[Name]) -> String {
    list(all.iter().map(|name| format!("`{}`", name.replace('`', "``"))))
}

impl fmt::Display for RoleCommand {
    /// As a statement.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |name: &Name| names(std::slice::from_ref(name));
        let all = |f: &mut fmt::Formatter<'_>, verb: &str, privileges: &[Privilege], rest: &str| {
            let all: Vec<String> = privileges.iter().map(Privilege::to_string).collect();
            write!(f, "{verb} {} {rest}", all.join(" AND "))
        };
        match self {
            RoleCommand::Create { name, if_not_exists, copy_of } => {
                write!(f, "CREATE ROLE {}", quoted(name))?;
                f.write_str(if *if_not_exists { " IF NOT EXISTS" } else { "" })?;
                copy_of.as_ref().map_or(Ok(()), |of| write!(f, " AS COPY OF {}", quoted(of)))
            }
            RoleCommand::Drop { name, if_exists } => {
                write!(f, "DROP ROLE {}{}", quoted(name), if *if_exists { " IF EXISTS" } else { "" })
            }
            RoleCommand::Rename { from, to, if_exists } => {
                let condition = if *if_exists { " IF EXISTS" } else { "" };
                write!(f, "RENAME ROLE {}{condition} TO {}", quoted(from), quoted(to))
            }
            RoleCommand::Assign { granted, roles, users } => {
                let (verb, to) = if *granted { ("GRANT", "TO") } else { ("REVOKE", "FROM") };
                write!(f, "{verb} ROLE {} {to} {}", names(roles), names(users))
            }
            RoleCommand::Add { effect, privileges, roles } => {
                let verb = if *effect == Effect::Grant { "GRANT" } else { "DENY" };
                all(f, verb, privileges, &format!("TO {}", names(roles)))
            }
            RoleCommand::Revoke { effect, privileges, roles } => {
                let verb = match effect {
                    None => "REVOKE",
                    Some(Effect::Grant) => "REVOKE GRANT",
                    Some(Effect::Deny) => "REVOKE DENY",
                };
                all(f, verb, privileges, &format!("FROM {}", names(roles)))
            }
        }
    }
}
