//! Roles and their privileges.
//!
//! Idea: a role is an entry of the graph's catalogue, as a user is: the statements that grant and deny. The roles of a user are an entry too. A user
//! to whom no role was ever granted may do everything, as all users could before there were roles; so may a client without a log-on, where the
//! interface allows that. Five roles are built in and never change. The rights of a session are looked up before each statement, so a change holds at
//! once; an open transaction that began with other rights can only be rolled back.
//! Invariant: an entry that cannot be read allows nothing. Hidden data is hidden by the snapshot that a session reads, and forbidden writes are
//! refused by its transaction, below all languages.
//! Cost: two look-ups in B-trees for each statement; none for users who may do everything.

mod authorize;
mod commands;
mod listing;
mod rights;

pub(crate) use commands::changes;
pub(crate) use listing::{listed_privileges, listed_role_privileges, listed_roles, listed_user_privileges};
pub(crate) use rights::Rights;

use crate::Error;
use crate::cache::PlanCache;
use execute::planning::Samples;
use parking_lot::Mutex;
use plan::StatementKind;
use plan::roles::{Action, Effect, Privilege, RoleCommand, Scope};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use store::{Entries, EntryKind, EntryTable, Restriction, Snapshot};
use transact::Party;
use world::panics::caught;

/// Roles that are made by users.
pub const ROLES_MAX: usize = 1_000;
/// Bytes of a role's name.
pub const ROLE_NAME_BYTES_MAX: usize = 128;
/// Privileges of one role.
pub const ROLE_PRIVILEGES_MAX: usize = 4_000;
/// The role that may do everything.
pub const ADMIN: &str = "admin";
/// Roles that are always there, from the least to the most.
pub const BUILT_IN: [&str; 5] = ["reader", "editor", "publisher", "architect", ADMIN];
/// The role that every user has. It exists without an entry, and privileges can be granted to it and revoked from it.
pub const PUBLIC: &str = "PUBLIC";
/// The head of the entry of a user's roles.
const USER_ROLES_HEAD: &str = "roles 1";

/// The privileges of a built-in role.
fn built_in(name: &str) -> Option<Vec<Privilege>> {
    let rank = BUILT_IN.iter().position(|known| *known == name)?;
    let first_rank = |privilege: &Privilege| match privilege.action {
        Action::Traverse | Action::Read | Action::Execute | Action::Subscribe => 0,
        Action::Create | Action::Delete | Action::SetLabel | Action::RemoveLabel | Action::SetProperty => 1,
        Action::NameManagement => 2,
        Action::IndexManagement | Action::ConstraintManagement | Action::StandingQueryManagement => 3,
        _ => 4,
    };
    Some(rights::everything().into_iter().filter(|privilege| first_rank(privilege) <= rank).collect())
}

/// The privileges of a user-defined role.
///
/// # Errors
/// The reason why the entry cannot be read.
fn decode_role(content: &[u8]) -> Result<BTreeSet<(Effect, Privilege)>, String> {
    let text = std::str::from_utf8(content).map_err(|_| "it is no text".to_string())?;
    let mut found = BTreeSet::new();
    for statement in cypher::split_statements(text) {
        let read = caught(|| cypher::compile(statement.text)).map_err(|panicked| panicked.to_string())?;
        match read.map_err(|error| error.message)?.kind {
            StatementKind::Roles(RoleCommand::Add { effect, privileges, .. }) => {
                found.extend(privileges.into_iter().map(|privilege| (effect, privilege)));
            }
            // It is how an entry begins, and one without privileges has nothing else.
            StatementKind::Roles(RoleCommand::Create { .. }) => {}
            _ => return Err("it holds a statement that grants nothing".into()),
        }
    }
    Ok(found)
}

/// Inverse of [`decode_role`].
fn encode_role(name: &str, privileges: &BTreeSet<(Effect, Privilege)>) -> Vec<u8> {
    let role: Arc<str> = name.into();
    let begin = RoleCommand::Create { name: role.clone(), if_not_exists: false, copy_of: None };
    let mut text = format!("{begin};\n");
    for (effect, privilege) in privileges {
        let privileges = vec![privilege.clone()];
        let add = RoleCommand::Add { effect: *effect, privileges, roles: vec![role.clone()] };
        text.push_str(&format!("{add};\n"));
    }
    text.into_bytes()
}

/// The roles of a user's entry; none where it cannot be read.
fn decode_user_roles(content: &[u8]) -> Vec<Arc<str>> {
    let text = std::str::from_utf8(content).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() != Some(USER_ROLES_HEAD) { Vec::new() } else { lines.map(Arc::from).collect() }
}

fn encode_user_roles(roles: &BTreeSet<Arc<str>>) -> Vec<u8> {
    let mut text = format!("{USER_ROLES_HEAD}\n");
    roles.iter().for_each(|role| text.push_str(&format!("{role}\n")));
    text.into_bytes()
}

/// The roles of a user: those granted to it, or the role of all where no role ever was.
pub(crate) fn roles_of(entries: &Entries, user: &str) -> Vec<Arc<str>> {
    match entries.get(EntryKind::USER_ROLES, user) {
        Some(content) => decode_user_roles(content),
        None => vec![ADMIN.into()],
    }
}

/// May a user do everything?
pub(crate) fn is_admin(entries: &Entries, user: &str) -> bool {
    roles_of(entries, user).iter().any(|role| &**role == ADMIN)
}

/// The entry of a user who has no role and is not unrestricted either.
pub(crate) fn no_roles() -> Vec<u8> {
    encode_user_roles(&BTreeSet::new())
}

/// The initial privileges of `PUBLIC`: calling procedures, which show no more than the caller may see.
fn public_by_default() -> BTreeSet<(Effect, Privilege)> {
    BTreeSet::from([(Effect::Grant, Privilege::all(Action::Execute, Scope::Server))])
}

/// The roles of a user, with `PUBLIC`.
fn roles_with_public(entries: &Entries, user: &str) -> Vec<Arc<str>> {
    let mut roles = roles_of(entries, user);
    roles.push(PUBLIC.into());
    roles
}

/// The privileges of a role; none where there is no such role, or its entry cannot be read.
fn privileges_of(entries: &Entries, role: &str) -> BTreeSet<(Effect, Privilege)> {
    if let Some(all) = built_in(role) {
        return all.into_iter().map(|privilege| (Effect::Grant, privilege)).collect();
    }
    let content = entries.get(EntryKind::ROLE, role);
    if role == PUBLIC && content.is_none() {
        return public_by_default();
    }
    content.and_then(|content| decode_role(content).ok()).unwrap_or_default()
}

/// The rights of a user.
fn rights_of(entries: &Entries, user: &str) -> Rights {
    let roles = match entries.get(EntryKind::USER_ROLES, user) {
        // Who was never granted a role may do everything, whatever is denied to all.
        None => roles_of(entries, user),
        Some(_) => roles_with_public(entries, user),
    };
    // A role that cannot be read may have denied something: then nothing is allowed.
    let is_whole = |role: &Arc<str>| {
        entries.get(EntryKind::ROLE, role).is_none_or(|content| decode_role(content).is_ok())
    };
    if !roles.iter().all(is_whole) {
        return Rights::default();
    }
    Rights { privileges: roles.iter().flat_map(|role| privileges_of(entries, role)).collect() }
}

/// Restricted rights, with the cached plans and samples for users who have them.
pub(crate) struct RestrictedView {
    pub rights: Arc<Rights>,
    pub party: Party,
    pub plans: PlanCache,
    /// Samples of the visible graph.
    pub samples: Arc<Samples>,
    pub traversals: traverse::answer::planned::Plans,
}

impl RestrictedView {
    fn new(rights: Rights) -> RestrictedView {
        let rights = Arc::new(rights);
        let restriction = (!rights.sees_everything()).then(|| Restriction::new(rights.clone()));
        let party = Party { restriction, permission: rights.clone() };
        RestrictedView {
            rights,
            party,
            plans: PlanCache::default(),
            samples: Arc::default(),
            traversals: Default::default(),
        }
    }
    /// The snapshot as these rights show it.
    pub fn shown(&self, snapshot: Snapshot) -> Snapshot {
        self.party.shown(snapshot)
    }
    /// Is anything hidden from them?
    pub fn hides(&self) -> bool {
        self.party.restriction.is_some()
    }
}

/// The rights that a session was found to have, and the entries that they were read from.
#[derive(Clone, Default)]
pub(crate) struct Allowed {
    of: Option<[Option<Arc<EntryTable>>; 2]>,
    restricted_view: Option<Arc<RestrictedView>>,
}

impl Allowed {
    /// None where everything is allowed.
    pub fn restricted_view(&self) -> Option<&Arc<RestrictedView>> {
        self.restricted_view.as_ref()
    }
    /// Looks the rights up anew, if any role or any user's roles changed.
    pub fn settle(&mut self, user: &str, entries: &Entries, restricted_views: &RestrictedViews) {
        let now = [EntryKind::ROLE, EntryKind::USER_ROLES].map(|kind| entries.table(kind).cloned());
        let is_same = |a: &Option<Arc<EntryTable>>, b: &Option<Arc<EntryTable>>| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if let Some([roles, users]) = &self.of
            && is_same(roles, &now[0])
            && is_same(users, &now[1])
        {
            return;
        }
        let rights = rights_of(entries, user);
        self.restricted_view = (!rights.is_everything()).then(|| restricted_views.find(rights));
        self.of = Some(now);
    }
}

/// The restricted views in use, shared by all sessions with the same rights.
#[derive(Default)]
pub(crate) struct RestrictedViews {
    known: Mutex<BTreeMap<Rights, Weak<RestrictedView>>>,
}

impl RestrictedViews {
    fn find(&self, rights: Rights) -> Arc<RestrictedView> {
        let mut known = self.known.lock();
        if let Some(restricted_view) = known.get(&rights).and_then(Weak::upgrade) {
            return restricted_view;
        }
        known.retain(|_, restricted_view| restricted_view.strong_count() > 0);
        let restricted_view = Arc::new(RestrictedView::new(rights.clone()));
        known.insert(rights, Arc::downgrade(&restricted_view));
        restricted_view
    }
}

/// Refuses something in the words of Neo4j.
pub(crate) fn forbidden(what: &str) -> Error {
    let message = format!("it is not allowed to {what}");
    Error::new("Neo.ClientError.Security.Forbidden", message)
        .hint("SHOW CURRENT USER PRIVILEGES lists what is allowed")
}
