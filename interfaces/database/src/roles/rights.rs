//! The rights of one user: the privileges of all its roles together.
//!
//! An action is allowed if a privilege grants it and none denies it. A vertex is visible if one of its labels may be traversed and none is denied; a
//! vertex without labels needs a privilege on all. A property is shown, set or read likewise, by any label of its vertex. To create a vertex, all its
//! labels must be allowed.

use plan::expr::Name;
use plan::roles::{Action, Effect, Privilege, Scope, WHOLE_ACTIONS};
use plan::statement::Target;
use std::collections::BTreeSet;
use store::Visibility;
use transact::{Act, Permission};

/// Privileges that the line about a restriction names.
const SUMMARY_PRIVILEGES_MAX: usize = 12;

/// The privileges of a user, in order: equal ones allow the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rights {
    pub privileges: BTreeSet<(Effect, Privilege)>,
}

/// Everything that can be granted.
pub(super) fn everything() -> Vec<Privilege> {
    let mut all: Vec<Privilege> = Vec::new();
    let about = [Action::Traverse, Action::Read, Action::Create, Action::Delete, Action::SetProperty];
    for action in about {
        all.extend([Scope::Nodes, Scope::Relationships].map(|scope| Privilege::all(action, scope)));
    }
    all.extend([Action::SetLabel, Action::RemoveLabel].map(|action| Privilege::all(action, Scope::Graph)));
    all.extend(WHOLE_ACTIONS.iter().map(|(_, action, scope)| Privilege::all(*action, *scope)));
    all.extend([Action::Execute, Action::Impersonate].map(|action| Privilege::all(action, Scope::Server)));
    all
}

impl Rights {
    /// Is everything allowed?
    pub fn is_everything(&self) -> bool {
        self.allows_all(&everything()) && !self.denies_any(|_| true)
    }
    /// Is nothing hidden?
    pub fn sees_everything(&self) -> bool {
        let reading = |privilege: &Privilege| matches!(privilege.action, Action::Traverse | Action::Read);
        let all: Vec<Privilege> = everything().into_iter().filter(reading).collect();
        self.allows_all(&all) && !self.denies_any(reading)
    }
    fn allows_all(&self, wanted: &[Privilege]) -> bool {
        wanted.iter().all(|privilege| self.privileges.contains(&(Effect::Grant, privilege.clone())))
    }
    fn denies_any(&self, of: impl Fn(&Privilege) -> bool) -> bool {
        self.privileges.iter().any(|(effect, privilege)| *effect == Effect::Deny && of(privilege))
    }
    fn has(&self, effect: Effect, action: Action, scope: Scope, name: &str, property: &str) -> bool {
        let is_of = |(own, privilege): &(Effect, Privilege)| {
            *own == effect && privilege.covers(action, scope, name, property)
        };
        self.privileges.iter().any(is_of)
    }
    /// Is it allowed on this name?
    pub fn allows(&self, action: Action, scope: Scope, name: &str, property: &str) -> bool {
        self.has(Effect::Grant, action, scope, name, property)
            && !self.has(Effect::Deny, action, scope, name, property)
    }
    /// Is it allowed on a vertex with these labels: granted for one of them, and denied for none?
    fn allows_on(&self, action: Action, labels: &[&str], property: &str) -> bool {
        // What is about all labels has no name, which no label equals.
        let has = |effect| {
            self.has(effect, action, Scope::Nodes, "", property)
                || labels.iter().any(|label| self.has(effect, action, Scope::Nodes, label, property))
        };
        has(Effect::Grant) && !has(Effect::Deny)
    }
    /// Is the action denied on nodes, by whatever label; for this property, if it is about one?
    fn denies_on_nodes(&self, action: Action, property: Option<&str>) -> bool {
        let is_about = |own: &Option<Name>| match (property, own) {
            (Some(wanted), Some(own)) => wanted == &**own,
            _ => true,
        };
        self.denies_any(|privilege| {
            privilege.action == action && privilege.scope == Scope::Nodes && is_about(&privilege.property)
        })
    }
    /// Is all data in an index or a constraint over these keys visible, whatever the graph comes to hold?
    pub fn shows_all(&self, target: &Target, keys: &[Name]) -> bool {
        match target {
            Target::Vertices(label) => {
                let reads = |key: &Name| {
                    self.has(Effect::Grant, Action::Read, Scope::Nodes, label, key)
                        && !self.denies_on_nodes(Action::Read, Some(key))
                };
                self.shows_all_vertices(Some(label)) && keys.iter().all(reads)
            }
            Target::Edges(edge_type) => {
                self.shows_all_vertices(None)
                    && self.shows_edge_type(edge_type)
                    && keys.iter().all(|key| self.shows_edge_property(edge_type, key))
            }
        }
    }
    /// Is this action allowed on the database or the server as a whole?
    pub fn allows_whole(&self, action: Action) -> bool {
        let scope = WHOLE_ACTIONS.iter().find(|(_, known, _)| *known == action).map(|(.., scope)| *scope);
        scope.is_some_and(|scope| self.allows(action, scope, "", ""))
    }
    /// The visible part of the graph, in one line.
    pub fn summary(&self) -> String {
        let reading = |(_, privilege): &&(Effect, Privilege)| {
            matches!(privilege.action, Action::Traverse | Action::Read)
        };
        let told = self.privileges.iter().filter(reading).map(|(effect, privilege)| {
            let verb = if *effect == Effect::Grant { "" } else { "not " };
            format!("{verb}{privilege}")
        });
        let told: Vec<String> = told.take(SUMMARY_PRIVILEGES_MAX + 1).collect();
        match told.len() {
            0 => "nothing".to_string(),
            count if count > SUMMARY_PRIVILEGES_MAX => {
                format!("{}, …", told[..SUMMARY_PRIVILEGES_MAX].join(", "))
            }
            _ => told.join(", "),
        }
    }
    /// All grants and denials as text: equal rights give equal text, in every version.
    pub fn told(&self) -> String {
        let told = self.privileges.iter().map(|(effect, privilege)| match effect {
            Effect::Grant => format!("GRANT {privilege}"),
            Effect::Deny => format!("DENY {privilege}"),
        });
        told.collect::<Vec<_>>().join("; ")
    }
    /// May this user be acted as?
    pub fn may_act_as(&self, user: &str) -> bool {
        self.allows(Action::Impersonate, Scope::Server, user, "")
    }
    /// May this procedure be called?
    pub fn may_call(&self, procedure: &str) -> bool {
        self.allows(Action::Execute, Scope::Server, procedure, "")
    }
}

impl Visibility for Rights {
    fn shows_vertex(&self, labels: &[&str]) -> bool {
        self.allows_on(Action::Traverse, labels, "")
    }
    fn shows_label(&self, label: &str) -> bool {
        self.allows(Action::Traverse, Scope::Nodes, label, "")
    }
    fn shows_edge_type(&self, edge_type: &str) -> bool {
        self.allows(Action::Traverse, Scope::Relationships, edge_type, "")
    }
    fn shows_property(&self, labels: &[&str], key: &str) -> bool {
        self.allows_on(Action::Read, labels, key)
    }
    fn shows_edge_property(&self, edge_type: &str, key: &str) -> bool {
        self.allows(Action::Read, Scope::Relationships, edge_type, key)
    }
    fn shows_all_vertices(&self, label: Option<&str>) -> bool {
        let is_granted =
            self.has(Effect::Grant, Action::Traverse, Scope::Nodes, label.unwrap_or_default(), "");
        is_granted && !self.denies_on_nodes(Action::Traverse, None)
    }
}

impl Permission for Rights {
    fn allows(&self, act: &Act<'_>) -> bool {
        let on_edge = |action, kind: &str, key: &str| self.allows(action, Scope::Relationships, kind, key);
        match *act {
            Act::CreateVertex([]) => self.allows(Action::Create, Scope::Nodes, "", ""),
            Act::CreateVertex(labels) => {
                labels.iter().all(|label| self.allows(Action::Create, Scope::Nodes, label, ""))
            }
            Act::CreateEdge(kind) => on_edge(Action::Create, kind, ""),
            Act::DeleteVertex(labels) => self.allows_on(Action::Delete, labels, ""),
            Act::DeleteEdge(kind) => on_edge(Action::Delete, kind, ""),
            Act::SetProperty(labels, key) => self.allows_on(Action::SetProperty, labels, key),
            Act::SetEdgeProperty(kind, key) => on_edge(Action::SetProperty, kind, key),
            Act::AddLabel(label) => self.allows(Action::SetLabel, Scope::Graph, label, ""),
            Act::RemoveLabel(label) => self.allows(Action::RemoveLabel, Scope::Graph, label, ""),
            Act::NewLabel(_) | Act::NewEdgeType(_) | Act::NewKey(_) => {
                self.allows_whole(Action::NameManagement)
            }
        }
    }
}
