//! Chooses what runs next on an executor: tenants and roots by their shares, within a tenant its users, within a user its queries.
//!
//! The upper levels of the paper's operator tree (Banyan, section 4.2), each with stride scheduling of its own, so that neither many users
//! nor many queries make a tenant's part larger. Within a user a query weighs less the longer it has run, so that a short one overtakes
//! long ones without being declared short, and the long ones go on.

use crate::accounting::stride::{SHARE_DEFAULT, Stride};
use crate::terms::ids::UserNo;
use crate::terms::limits::{DECAY_AFTER_NS, DECAY_LEVELS_MAX};
use hashbrown::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Payer {
    Tenant(u32),
    Root(usize),
}

/// The tenant and user of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) tenant: u32,
    pub(crate) user: UserNo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Query(Owner, u64),
    Root(usize),
}

#[derive(Default)]
struct Users {
    stride: Stride<UserNo>,
    queries: HashMap<UserNo, Stride<u64>, foldhash::fast::FixedState>,
}

#[derive(Default)]
pub(crate) struct Tenants {
    payers: Stride<Payer>,
    tenants: HashMap<u32, Users, foldhash::fast::FixedState>,
}

impl Tenants {
    pub(crate) fn set_share(&mut self, payer: Payer, share: u32) {
        self.payers.set_share(payer, share);
    }

    pub(crate) fn set_user_share(&mut self, owner: Owner, share: u32) {
        self.tenants.entry(owner.tenant).or_default().stride.set_share(owner.user, share);
    }

    /// A query has something to run.
    pub(crate) fn push(&mut self, owner: Owner, query: u64) {
        let users = self.tenants.entry(owner.tenant).or_default();
        users.queries.entry(owner.user).or_default().push(query);
        users.stride.push(owner.user);
        self.payers.push(Payer::Tenant(owner.tenant));
    }

    /// A root has something to run.
    pub(crate) fn push_root(&mut self, root: usize) {
        self.payers.push(Payer::Root(root));
    }

    /// The next piece of work; it must be [charged](Self::charge).
    pub(crate) fn pick(&mut self) -> Option<Work> {
        let tenant = match self.payers.next()? {
            Payer::Root(root) => return Some(Work::Root(root)),
            Payer::Tenant(tenant) => tenant,
        };
        let users = self.tenants.get_mut(&tenant).expect("a runnable tenant has users");
        let user = users.stride.next().expect("a runnable tenant has a runnable user");
        let queries = users.queries.get_mut(&user).expect("a runnable user has queries");
        let query = queries.next().expect("a runnable user has a runnable query");
        Some(Work::Query(Owner { tenant, user }, query))
    }

    /// A root used time.
    pub(crate) fn charge_root(&mut self, root: usize, used_ns: u64, more: bool) {
        self.payers.charge(Payer::Root(root), used_ns, more);
    }

    /// A root worked for this tenant.
    pub(crate) fn owe(&mut self, tenant: u32, used_ns: u64) {
        self.payers.owe(Payer::Tenant(tenant), used_ns);
    }

    /// Charges a query for time; within its user the time counts as `100 / share` times as much.
    pub(crate) fn charge(&mut self, owner: Owner, query: u64, used_ns: u64, share: u32, more: bool) {
        let Some(users) = self.tenants.get_mut(&owner.tenant) else { return };
        let Some(queries) = users.queries.get_mut(&owner.user) else { return };
        let weighed_ns = used_ns.saturating_mul(u64::from(SHARE_DEFAULT)) / u64::from(share.max(1));
        queries.charge(query, weighed_ns, more);
        users.stride.charge(owner.user, used_ns, !queries.is_idle());
        self.payers.charge(Payer::Tenant(owner.tenant), used_ns, !users.stride.is_idle());
    }

    /// A query is over, or has moved to another owner.
    pub(crate) fn remove(&mut self, owner: Owner, query: u64) {
        let Some(users) = self.tenants.get_mut(&owner.tenant) else { return };
        let Some(queries) = users.queries.get_mut(&owner.user) else { return };
        queries.remove(query);
        if queries.is_idle() {
            users.stride.idle(owner.user);
        }
        if queries.is_empty() {
            users.queries.remove(&owner.user);
        }
        if users.stride.is_idle() {
            self.payers.idle(Payer::Tenant(owner.tenant));
        }
    }
}

/// The weight of a query that has run so long, beside others of its user: 100 at first, half as much each time its running time doubles beyond
/// [`DECAY_AFTER_NS`], never less than a 64th.
pub(crate) fn weight(used_ns: u64) -> u32 {
    let doublings = (used_ns / DECAY_AFTER_NS).checked_ilog2().map_or(0, |doublings| doublings + 1);
    (SHARE_DEFAULT >> doublings.min(DECAY_LEVELS_MAX)).max(1)
}

#[cfg(test)]
mod tests;
