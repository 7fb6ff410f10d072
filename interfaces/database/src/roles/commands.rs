//! `CREATE ROLE`, `DROP ROLE`, `RENAME ROLE`, `GRANT`, `DENY`, `REVOKE`.
//!
//! Invariant: all entries that a command changes are changed by one commit.

use super::{
    ADMIN, BUILT_IN, PUBLIC, ROLE_NAME_BYTES_MAX, ROLE_PRIVILEGES_MAX, ROLES_MAX, decode_role, encode_role,
    encode_user_roles, privileges_of, roles_of,
};
use crate::Error;
use plan::expr::Name;
use plan::roles::{Effect, Privilege, RoleCommand};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{Change, Entries, EntryKind};

fn set(kind: EntryKind, name: &str, content: Option<&[u8]>) -> Change {
    Change::SetEntry { kind, name: name.into(), content: content.map(Into::into) }
}

fn refused(message: String) -> Error {
    Error::new("Neo.ClientError.Statement.ArgumentError", message)
}

/// The changes of a command; `own` is the user that issues it.
///
/// # Errors
/// There is no such role or user, or there is one already; a built-in role would be changed; a limit is passed.
pub(crate) fn changes(
    command: &RoleCommand,
    entries: &Entries,
    own: Option<&str>,
) -> Result<Vec<Change>, Error> {
    match command {
        RoleCommand::Create { name, if_not_exists: true, .. } if is_known(entries, name) => Ok(Vec::new()),
        RoleCommand::Create { name, copy_of, .. } => {
            check_new(entries, name)?;
            let copied = match copy_of {
                Some(role) => readable(entries, role)?,
                None => BTreeSet::new(),
            };
            Ok(vec![set(EntryKind::ROLE, name, Some(&encode_role(name, &copied)))])
        }
        RoleCommand::Drop { name, if_exists: true }
        | RoleCommand::Rename { from: name, if_exists: true, .. }
            if !is_known(entries, name) =>
        {
            Ok(Vec::new())
        }
        RoleCommand::Drop { name, .. } => {
            check_own(entries, name)?;
            check_not_public(name)?;
            let mut changes = vec![set(EntryKind::ROLE, name, None)];
            changes.extend(reassigned(entries, |roles| roles.remove(name)));
            Ok(changes)
        }
        RoleCommand::Rename { from, to, .. } => {
            check_own(entries, from)?;
            check_not_public(from)?;
            check_new(entries, to)?;
            let privileges = readable(entries, from)?;
            let mut changes = vec![
                set(EntryKind::ROLE, from, None),
                set(EntryKind::ROLE, to, Some(&encode_role(to, &privileges))),
            ];
            changes.extend(reassigned(entries, |roles| roles.remove(from) && roles.insert(to.clone())));
            Ok(changes)
        }
        RoleCommand::Assign { granted, roles, users } => assign(entries, *granted, roles, users, own),
        RoleCommand::Add { effect, privileges, roles } => {
            let added = |own: &mut BTreeSet<(Effect, Privilege)>| {
                own.extend(privileges.iter().map(|privilege| (*effect, privilege.clone())));
            };
            altered(entries, roles, added)
        }
        RoleCommand::Revoke { effect, privileges, roles } => {
            let revoked = |own: &mut BTreeSet<(Effect, Privilege)>| {
                own.retain(|(of, privilege)| {
                    effect.is_some_and(|effect| effect != *of) || !privileges.contains(privilege)
                });
            };
            altered(entries, roles, revoked)
        }
    }
}

fn is_known(entries: &Entries, role: &str) -> bool {
    role == PUBLIC || BUILT_IN.contains(&role) || entries.get(EntryKind::ROLE, role).is_some()
}

/// A name under which a role can be made.
fn check_new(entries: &Entries, name: &str) -> Result<(), Error> {
    let is_named = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.is_empty() || name.len() > ROLE_NAME_BYTES_MAX || !name.bytes().all(is_named) {
        let max = ROLE_NAME_BYTES_MAX;
        return Err(refused(format!(
            "a role's name is 1 to {max} bytes of letters, digits, `_`, `-` and `.`"
        )));
    }
    if is_known(entries, name) {
        return Err(refused(format!("there is a role `{name}` already")));
    }
    if entries.table(EntryKind::ROLE).is_some_and(|table| table.len() >= ROLES_MAX) {
        return Err(refused(format!("there are {ROLES_MAX} roles already, which is the limit")));
    }
    Ok(())
}

fn check_known(entries: &Entries, role: &str) -> Result<(), Error> {
    let missing = || refused(format!("there is no role `{role}`")).hint("SHOW ROLES lists them");
    if is_known(entries, role) { Ok(()) } else { Err(missing()) }
}

/// A role that is there, and that can be changed.
fn check_own(entries: &Entries, role: &str) -> Result<(), Error> {
    check_known(entries, role)?;
    if BUILT_IN.contains(&role) {
        let error = refused(format!("the role `{role}` is built in and does not change"));
        return Err(error.hint(format!("CREATE ROLE name AS COPY OF {role} makes one that does")));
    }
    Ok(())
}

/// Fails for `PUBLIC`, which every user always has.
fn check_not_public(role: &str) -> Result<(), Error> {
    if role != PUBLIC {
        return Ok(());
    }
    let error =
        refused(format!("everybody has the role `{PUBLIC}`: it is not dropped, renamed, granted or revoked"));
    Err(error
        .hint(format!("GRANT and REVOKE privileges of it: REVOKE EXECUTE PROCEDURE * ON DBMS FROM {PUBLIC}")))
}

/// The privileges of a role that is there.
fn readable(entries: &Entries, role: &str) -> Result<BTreeSet<(Effect, Privilege)>, Error> {
    check_known(entries, role)?;
    match entries.get(EntryKind::ROLE, role) {
        Some(content) => decode_role(content)
            .map_err(|why| refused(format!("the entry of the role `{role}` cannot be read: {why}"))),
        None => Ok(privileges_of(entries, role)),
    }
}

fn altered(
    entries: &Entries,
    roles: &[Name],
    change: impl Fn(&mut BTreeSet<(Effect, Privilege)>),
) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    for role in roles.iter().collect::<BTreeSet<_>>() {
        check_own(entries, role)?;
        let before = readable(entries, role)?;
        let mut after = before.clone();
        change(&mut after);
        if after.len() > ROLE_PRIVILEGES_MAX {
            return Err(refused(format!("a role has {ROLE_PRIVILEGES_MAX} privileges at most")));
        }
        if after != before {
            changes.push(set(EntryKind::ROLE, role, Some(&encode_role(role, &after))));
        }
    }
    Ok(changes)
}

/// The entries of all users whose roles this changes.
fn reassigned(entries: &Entries, change: impl Fn(&mut BTreeSet<Arc<str>>) -> bool) -> Vec<Change> {
    let table = entries.table(EntryKind::USER_ROLES);
    let users = table.iter().flat_map(|table| table.keys());
    let changed = |user: &Arc<str>| {
        let mut roles: BTreeSet<Arc<str>> = roles_of(entries, user).into_iter().collect();
        change(&mut roles).then(|| set(EntryKind::USER_ROLES, user, Some(&encode_user_roles(&roles))))
    };
    users.filter_map(changed).collect()
}

fn assign(
    entries: &Entries,
    granted: bool,
    roles: &[Name],
    users: &[Name],
    own: Option<&str>,
) -> Result<Vec<Change>, Error> {
    roles.iter().try_for_each(|role| check_known(entries, role).and_then(|()| check_not_public(role)))?;
    let mut changes = Vec::new();
    for user in users.iter().collect::<BTreeSet<_>>() {
        if entries.get(EntryKind::USER, user).is_none() {
            return Err(refused(format!("there is no user `{user}`")).hint("SHOW USERS lists them"));
        }
        let entry = entries.get(EntryKind::USER_ROLES, user);
        // The first role that is granted takes the place of being allowed everything.
        let before: Option<BTreeSet<Arc<str>>> = entry.map(|_| roles_of(entries, user).into_iter().collect());
        let mut after = match (&before, granted) {
            (Some(before), _) => before.clone(),
            (None, true) => BTreeSet::new(),
            (None, false) => roles_of(entries, user).into_iter().collect(),
        };
        for role in roles {
            if granted {
                after.insert(role.clone())
            } else {
                after.remove(role)
            };
        }
        let was_admin = roles_of(entries, user).iter().any(|role| &**role == ADMIN);
        if own == Some(&**user) && was_admin && !after.contains(ADMIN) {
            let message =
                format!("`{user}` asks for this itself: a user cannot take the role `{ADMIN}` from itself");
            return Err(refused(message).hint("log on as another user"));
        }
        if before.as_ref() != Some(&after) {
            changes.push(set(EntryKind::USER_ROLES, user, Some(&encode_user_roles(&after))));
        }
    }
    Ok(changes)
}
