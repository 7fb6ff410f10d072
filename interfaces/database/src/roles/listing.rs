//! The rows of `SHOW ROLES` and `SHOW … PRIVILEGES`. The columns of privileges are Neo4j's.

use super::{BUILT_IN, PUBLIC, decode_role, privileges_of, roles_of, roles_with_public};
use model::Value;
use plan::roles::{Action, Effect, Privilege, Scope};
use std::sync::Arc;
use store::{Entries, EntryKind};

/// All roles, the built-in ones first.
fn all_roles(entries: &Entries) -> Vec<Arc<str>> {
    let own = entries.table(EntryKind::ROLE);
    let own = own.iter().flat_map(|table| table.keys().cloned());
    let own = own.filter(|role| &**role != PUBLIC);
    BUILT_IN.into_iter().chain([PUBLIC]).map(Arc::from).chain(own).collect()
}

fn all_users(entries: &Entries) -> Vec<Arc<str>> {
    entries.table(EntryKind::USER).map_or_else(Vec::new, |table| table.keys().cloned().collect())
}

/// A row for each role.
pub(crate) fn listed_roles(entries: &Entries) -> Vec<Vec<Value>> {
    let users = all_users(entries);
    let row = |role: Arc<str>| {
        let has = |user: &&Arc<str>| &*role == PUBLIC || roles_of(entries, user).contains(&role);
        let users = users.iter().filter(has).cloned().map(Value::String).collect();
        let failure = entries.get(EntryKind::ROLE, &role).and_then(|content| decode_role(content).err());
        let is_built_in = BUILT_IN.contains(&&*role);
        let failure = failure.map_or(Value::Null, Value::from);
        vec![Value::String(role), is_built_in.into(), Value::list(users), failure]
    };
    all_roles(entries).into_iter().map(row).collect()
}

/// A row for each privilege of a role.
fn rows(entries: &Entries, role: &Arc<str>, user: Option<&str>) -> Vec<Vec<Value>> {
    privileges_of(entries, role)
        .iter()
        .map(|(effect, privilege)| row(*effect, privilege, role, user))
        .collect()
}

fn row(effect: Effect, privilege: &Privilege, role: &Arc<str>, user: Option<&str>) -> Vec<Value> {
    let verb = if effect == Effect::Grant { "GRANT" } else { "DENY" };
    let (action, named) = match privilege.action {
        Action::Traverse => ("traverse", false),
        Action::Read => ("read", false),
        Action::Create => ("create_element", false),
        Action::Delete => ("delete_element", false),
        Action::SetLabel => ("set_label", true),
        Action::RemoveLabel => ("remove_label", true),
        Action::SetProperty => ("set_property", false),
        Action::NameManagement => ("token", false),
        Action::IndexManagement => ("index", false),
        Action::ConstraintManagement => ("constraint", false),
        Action::TransactionManagement => ("transaction_management", false),
        Action::Subscribe => ("subscribe", false),
        Action::StandingQueryManagement => ("standing_query_management", false),
        Action::ProgramManagement => ("program_management", false),
        Action::Execute => ("execute", false),
        Action::Load => ("load", false),
        Action::UserManagement => ("user_management", false),
        Action::RoleManagement => ("role_management", false),
        Action::TenantManagement => ("tenant_management", false),
        Action::ShowSetting => ("show_setting", false),
        Action::Impersonate => ("impersonate", false),
    };
    let name = privilege.name.as_deref().unwrap_or("*");
    let resource = match (privilege.action, &privilege.property) {
        (Action::Read | Action::SetProperty, None) => "all_properties".to_string(),
        (_, Some(property)) => format!("property({property})"),
        _ if named => format!("label({name})"),
        _ if matches!(privilege.scope, Scope::Nodes | Scope::Relationships) => "graph".to_string(),
        _ => "database".to_string(),
    };
    let segment = match privilege.scope {
        Scope::Nodes => format!("NODE({name})"),
        Scope::Relationships => format!("RELATIONSHIP({name})"),
        Scope::Server if privilege.action == Action::Execute => format!("PROCEDURE({name})"),
        Scope::Server if privilege.action == Action::Impersonate => format!("USER({name})"),
        _ => "database".to_string(),
    };
    vec![
        if effect == Effect::Grant { "GRANTED" } else { "DENIED" }.into(),
        action.into(),
        resource.into(),
        "*".into(),
        segment.into(),
        Value::String(role.clone()),
        BUILT_IN.contains(&&**role).into(),
        user.into(),
        format!("{verb} {privilege} TO `{role}`").into(),
    ]
}

/// All privileges of all roles.
pub(crate) fn listed_privileges(entries: &Entries) -> Vec<Vec<Value>> {
    all_roles(entries).iter().flat_map(|role| rows(entries, role, None)).collect()
}

/// As above, each row with its role as a further column, to filter by.
pub(crate) fn listed_role_privileges(entries: &Entries) -> Vec<Vec<Value>> {
    let found_by = |mut row: Vec<Value>| {
        row.push(row[5].clone());
        row
    };
    listed_privileges(entries).into_iter().map(found_by).collect()
}

/// The privileges of users, each row with its user as a further column, to filter by; those of the caller also without a name. Other users'
/// privileges only where the caller may list them.
pub(crate) fn listed_user_privileges(
    entries: &Entries,
    own: Option<&str>,
    lists_others: bool,
) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for user in all_users(entries) {
        let is_own = own == Some(&*user);
        if !is_own && !lists_others {
            continue;
        }
        for role in roles_with_public(entries, &user) {
            for row in rows(entries, &role, Some(&user)) {
                let found_by = |name: &str| row.iter().cloned().chain([name.into()]).collect();
                found.push(found_by(&user));
                if is_own {
                    found.push(found_by(""));
                }
            }
        }
    }
    found
}
