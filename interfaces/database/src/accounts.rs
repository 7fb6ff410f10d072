//! Tenants and users: which tenant pays for a query, the limits of each, and where they are stored.
//!
//! Idea: a tenant is a name with limits; a user belongs to one tenant, or is a tenant of its own. Executors know tenants by number only. A name gets
//! its number here when it first comes and keeps it, so a query is charged to the tenant that it began with. Declarations are stored in the graph's
//! catalogue, one entry for each tenant and each user of one. Invariant: the entries that can be read, this table, and the runtime's accounts agree
//! whenever the lock is free. Cost: a session looks up its numbers again only after a change.

mod declared;

pub(crate) use declared::{Declared, Tenants};

use crate::Error;
use crate::entries::{self, SetAside};
use execute::{AccountOptions, Action, Rule, Runtime, TenantNo, Threshold, UserNo};
use hashbrown::HashMap;
use parking_lot::Mutex;
use plan::accounts::{AccountCommand, Measure, Remedy, RunawayRule, Setting};
use plan::expr::Name;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::{Entries, EntryKind, EntryTable};
use transact::Engine;

/// The tenant of sessions for which none is set.
pub const DEFAULT_TENANT: &str = "default";
/// Tenants that may be known at once; each has an account on every executor.
pub const TENANTS_MAX: usize = 4_096;
/// Users that may be known at once over all tenants; further ones share one account in their tenant.
pub const USERS_MAX: usize = 65_536;
/// Rules of one tenant or user.
pub const RULES_MAX: usize = 32;
/// Bytes of a tenant's or a user's name.
const NAME_BYTES_MAX: usize = 128;

/// Limits of a tenant, or of a user within one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Share of the machine, relative to other tenants that have work; the default is 100.
    pub share: u32,
    /// Bytes that all its queries together may hold.
    pub memory: Option<u64>,
    /// Bytes that all queries together put aside on disk.
    pub spill: Option<u64>,
    /// Queries that may run at once; further ones wait in the admission queue.
    pub concurrent: Option<u64>,
    /// Time after which a query ends.
    pub time: Option<Duration>,
    /// What is done with queries that run away.
    pub rules: Vec<RunawayRule>,
}

impl Default for Allowance {
    fn default() -> Allowance {
        let share = AccountOptions::default().share;
        Allowance { share, memory: None, spill: None, concurrent: None, time: None, rules: Vec::new() }
    }
}

/// A tenant as it was declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tenant {
    /// Limits of the tenant as a whole.
    pub allowance: Allowance,
    /// Its users, and the limits of each within the tenant's.
    pub users: BTreeMap<String, Allowance>,
}

/// The tenant and user that a query is charged to, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Payer {
    pub tenant: TenantNo,
    pub user: UserNo,
}

/// The tenant and user that a session acts for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Speaker {
    pub tenant: Option<String>,
    pub user: Option<String>,
    /// The numbers, and the count of changes at which they were looked up.
    found: Option<(u64, Payer)>,
}

impl Speaker {
    pub fn of(tenant: Option<String>, user: Option<String>) -> Speaker {
        Speaker { tenant, user, found: None }
    }
    /// The payer, looked up anew after each change.
    pub fn payer(&self, accounts: &Accounts) -> Payer {
        match self.found {
            Some((changes, payer)) if changes == accounts.changes.load(Ordering::Acquire) => payer,
            _ => accounts.payer(self),
        }
    }
    /// The payer by the accounts of another database.
    pub fn payer_anew(&self, accounts: &Accounts) -> Payer {
        accounts.payer(self)
    }
    /// Remembers the payer.
    pub fn settle(&mut self, accounts: &Accounts) {
        let changes = accounts.changes.load(Ordering::Acquire);
        if self.found.is_none_or(|(then, _)| then != changes) {
            self.found = Some((changes, accounts.payer(self)));
        }
    }
}

/// Everyone that pays.
pub(crate) struct Accounts {
    table: Mutex<Table>,
    /// Entries that were heard of last; locked before the table.
    heard: Mutex<[Option<Arc<EntryTable>>; 2]>,
    /// Counts changes of which user belongs to which tenant.
    changes: AtomicU64,
}

#[derive(Default)]
struct Table {
    declared: Tenants,
    /// Entries that declare nothing.
    aside: Vec<SetAside>,
    tenants: AccountNumbers<String>,
    users: AccountNumbers<(TenantNo, String)>,
}

/// Numbers by name, from 0, up to a maximum.
struct AccountNumbers<K> {
    names: Vec<K>,
    numbers: HashMap<K, u32, foldhash::fast::RandomState>,
}

impl<K> Default for AccountNumbers<K> {
    fn default() -> AccountNumbers<K> {
        AccountNumbers { names: Vec::new(), numbers: HashMap::default() }
    }
}

impl<K: Clone + Eq + std::hash::Hash> AccountNumbers<K> {
    /// The number of this name; beyond `count_max` all get 0.
    fn of(&mut self, name: &K, count_max: usize) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.names.len() >= count_max {
            return 0;
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name.clone(), number);
        number
    }
}

impl Table {
    fn tenant(&mut self, name: &str) -> TenantNo {
        self.tenants.of(&name.to_string(), TENANTS_MAX)
    }
    /// Number 0 stands for a tenant's queries without a user.
    fn user(&mut self, tenant: TenantNo, name: &str) -> UserNo {
        self.users.of(&(tenant, name.to_string()), USERS_MAX) + 1
    }
    fn tenant_of(&self, user: &str) -> Option<&str> {
        let mut declared = self.declared.iter();
        declared.find(|(_, tenant)| tenant.users.contains_key(user)).map(|(name, _)| name.as_str())
    }
}

impl Accounts {
    /// Reads the catalogue's entries and declares them to the runtime.
    pub fn open(entries: &Entries, runtime: &Runtime) -> Accounts {
        let mut table = Table::default();
        table.tenant(DEFAULT_TENANT);
        (table.declared, table.aside) = Declared::read(entries);
        let heard = Mutex::default();
        let accounts = Accounts { table: Mutex::new(table), heard, changes: AtomicU64::new(0) };
        let mut table = accounts.table.lock();
        let names: Vec<String> = table.declared.keys().cloned().collect();
        names.iter().for_each(|name| tell(&mut table, name, runtime));
        drop(table);
        accounts
    }

    /// Carries out a command: in the catalogue first, so that an acknowledged command is durable. Returns whether anything changed.
    pub fn carry_out(
        &self,
        command: &AccountCommand,
        engine: &Engine,
        runtime: &Runtime,
    ) -> Result<bool, Error> {
        let mut table = self.table.lock();
        let mut declared = Tenants::default();
        let mut has_changed = false;
        entries::change(engine, |entries| {
            // Another gate of a cluster may have declared something.
            let known = match engine.is_gate() {
                true => Declared::read(entries).0,
                false => table.declared.clone(),
            };
            declared = known.clone();
            // What cannot be read is dropped by the same commands.
            has_changed =
                declared::drops_set_aside(entries, &declared, command) || change(&mut declared, command)?;
            Ok(Declared::changes(entries, &known, &declared, command))
        })?;
        if !has_changed {
            return Ok(false);
        }
        table.aside = Declared::read(engine.snapshot().catalog().entries()).1;
        self.replace(&mut table, declared, runtime);
        Ok(true)
    }

    /// Takes over declarations from a catalogue that other processes may have changed.
    pub fn hear(&self, entries: &Entries, runtime: &Runtime) {
        let tables = [EntryKind::TENANT, EntryKind::TENANT_USER].map(|kind| entries.table(kind).cloned());
        let mut heard = self.heard.lock();
        let is_same = |(own, told): (&Option<Arc<EntryTable>>, &Option<Arc<EntryTable>>)| match (own, told) {
            (Some(own), Some(told)) => Arc::ptr_eq(own, told) || own == told,
            (None, None) => true,
            _ => false,
        };
        if heard.iter().zip(&tables).all(is_same) {
            return;
        }
        let mut table = self.table.lock();
        let (declared, aside) = Declared::read(entries);
        table.aside = aside;
        self.replace(&mut table, declared, runtime);
        *heard = tables;
    }

    /// Declares the changes to the runtime.
    fn replace(&self, table: &mut Table, declared: Tenants, runtime: &Runtime) {
        let before = std::mem::replace(&mut table.declared, declared);
        let names = before.keys().chain(table.declared.keys());
        let touched = |name: &&String| before.get(*name) != table.declared.get(*name);
        let mut touched: Vec<String> = names.filter(touched).cloned().collect();
        touched.dedup();
        // Users that went get what everyone has.
        for (name, user) in
            before.iter().flat_map(|(name, tenant)| tenant.users.keys().map(move |user| (name, user)))
        {
            if !table.declared.get(name).is_some_and(|tenant| tenant.users.contains_key(user)) {
                let number = table.tenant(name);
                let user = table.user(number, user);
                runtime.set_user(number, user, &AccountOptions::default());
            }
        }
        touched.iter().for_each(|name| tell(table, name, runtime));
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// All declared tenants by name.
    pub fn declared(&self) -> Tenants {
        self.table.lock().declared.clone()
    }

    /// Entries of tenants and their users that declare nothing.
    pub fn set_aside(&self) -> Vec<SetAside> {
        self.table.lock().aside.clone()
    }

    /// Names by number: of a tenant, and of its user.
    pub fn names(&self, tenant: TenantNo, user: UserNo) -> (String, Option<String>) {
        let table = self.table.lock();
        let name = table.tenants.names.get(tenant as usize).cloned().unwrap_or_default();
        let user = user.checked_sub(1).and_then(|at| table.users.names.get(at as usize));
        (name, user.map(|(_, name)| name.clone()))
    }

    /// The number of a tenant by name.
    pub fn tenant(&self, name: &str) -> TenantNo {
        self.table.lock().tenant(name)
    }

    /// A user pays from the account of its tenant, or is a tenant of its own.
    fn payer(&self, speaker: &Speaker) -> Payer {
        let mut table = self.table.lock();
        let own = speaker.user.as_deref().map(|user| table.tenant_of(user).unwrap_or(user).to_string());
        let Some(name) = speaker.tenant.clone().or(own) else { return Payer::default() };
        let tenant = table.tenant(&name);
        let user = speaker.user.as_deref().map_or(0, |user| table.user(tenant, user));
        Payer { tenant, user }
    }
}

/// Sets the limits of a tenant and its users in the runtime; the defaults, if it is no longer declared.
fn tell(table: &mut Table, name: &str, runtime: &Runtime) {
    let number = table.tenant(name);
    let Some(tenant) = table.declared.get(name).cloned() else {
        return runtime.set_tenant(number, &AccountOptions::default());
    };
    let options = options(&tenant.allowance, table);
    runtime.set_tenant(number, &options);
    for (user, allowance) in &tenant.users {
        let options = self::options(allowance, table);
        let user = table.user(number, user);
        runtime.set_user(number, user, &options);
    }
}

fn options(allowance: &Allowance, table: &mut Table) -> AccountOptions {
    AccountOptions {
        share: allowance.share,
        queries_max: allowance.concurrent,
        bytes_max: allowance.memory,
        spilled_max: allowance.spill,
        time_max: allowance.time,
        rules: allowance.rules.iter().map(|rule| runtime_rule(rule, table)).collect(),
    }
}

fn runtime_rule(rule: &RunawayRule, table: &mut Table) -> Rule {
    let time = Duration::from_millis(rule.beyond);
    let beyond = match rule.measure {
        Measure::Time => Threshold::Age(time),
        Measure::Cpu => Threshold::Cpu(time),
        Measure::Rows => Threshold::Rows(rule.beyond),
        Measure::Memory => Threshold::Bytes(rule.beyond),
    };
    let then = match &rule.then {
        Remedy::Kill => Action::Kill,
        Remedy::Slow(weight) => Action::Slow { weight: *weight },
        Remedy::Move(tenant) => Action::MoveTo(table.tenant(tenant)),
    };
    Rule { beyond, then }
}

// --- commands ---

/// Changes the declarations; returns whether anything changed.
fn change(declared: &mut Tenants, command: &AccountCommand) -> Result<bool, Error> {
    match command {
        AccountCommand::CreateTenant { name, if_not_exists, settings } => {
            if declared.contains_key(&**name) {
                return if *if_not_exists { Ok(false) } else { Err(exists(name)) };
            }
            check_name(name)?;
            if declared.len() + 1 >= TENANTS_MAX {
                let message = format!("there are {TENANTS_MAX} tenants already, which is the limit");
                return Err(
                    Error::new(ARGUMENT, message).hint("SHOW TENANTS lists them; DROP TENANT removes one")
                );
            }
            let mut tenant = Tenant::default();
            set(&mut tenant.allowance, settings)?;
            declared.insert(name.to_string(), tenant);
        }
        AccountCommand::AlterTenant { name, if_exists, settings } => match declared.get_mut(&**name) {
            Some(tenant) => set(&mut tenant.allowance, settings)?,
            None if *if_exists => return Ok(false),
            None => return Err(missing(name, declared)),
        },
        AccountCommand::AddUser { tenant, user, settings } => {
            check_name(user)?;
            let count = declared.values().map(|tenant| tenant.users.len()).sum::<usize>();
            let Some(found) = declared.get_mut(&**tenant) else { return Err(missing(tenant, declared)) };
            if count >= USERS_MAX - 1 {
                let message = format!("tenants have {USERS_MAX} users already, which is the limit");
                return Err(Error::new(ARGUMENT, message));
            }
            set(found.users.entry(user.to_string()).or_default(), settings)?;
            for (_, other) in declared.iter_mut().filter(|(name, _)| **name != **tenant) {
                other.users.remove(&**user);
            }
        }
        AccountCommand::RemoveUser { tenant, user } => {
            let Some(found) = declared.get_mut(&**tenant) else { return Err(missing(tenant, declared)) };
            if found.users.remove(&**user).is_none() {
                let message = format!("tenant `{tenant}` has no user `{user}`");
                return Err(
                    Error::new(NOT_FOUND, message).hint("SHOW TENANTS lists tenants with their users")
                );
            }
        }
        AccountCommand::DropTenant { name, if_exists } => {
            if declared.remove(&**name).is_none() {
                return if *if_exists { Ok(false) } else { Err(missing(name, declared)) };
            }
        }
    }
    Ok(true)
}

fn set(allowance: &mut Allowance, settings: &[Setting]) -> Result<(), Error> {
    for setting in settings {
        match setting {
            Setting::Share(share) => allowance.share = *share,
            Setting::Memory(bytes) => allowance.memory = *bytes,
            Setting::Spill(bytes) => allowance.spill = *bytes,
            Setting::Concurrent(count) => allowance.concurrent = *count,
            Setting::Time(ms) => allowance.time = ms.map(Duration::from_millis),
            Setting::Rule(_) if allowance.rules.len() >= RULES_MAX => {
                let message = format!("there are {RULES_MAX} rules already, which is the limit");
                return Err(Error::new(ARGUMENT, message).hint("begin anew with SET NO RULES, RULE …"));
            }
            Setting::Rule(rule) => allowance.rules.push(rule.clone()),
            Setting::NoRules => allowance.rules.clear(),
        }
    }
    Ok(())
}

/// The settings that turn the default allowance into this one.
pub(crate) fn settings(allowance: &Allowance) -> Vec<Setting> {
    let everyone = Allowance::default();
    let mut settings = Vec::new();
    if allowance.share != everyone.share {
        settings.push(Setting::Share(allowance.share));
    }
    settings.extend(allowance.memory.map(|bytes| Setting::Memory(Some(bytes))));
    settings.extend(allowance.spill.map(|bytes| Setting::Spill(Some(bytes))));
    settings.extend(allowance.concurrent.map(|count| Setting::Concurrent(Some(count))));
    settings.extend(allowance.time.map(|time| Setting::Time(Some(time.as_millis() as u64))));
    settings.extend(allowance.rules.iter().cloned().map(Setting::Rule));
    settings
}

const ARGUMENT: &str = "Neo.ClientError.Statement.ArgumentError";
const NOT_FOUND: &str = "Neo.ClientError.Statement.EntityNotFound";

fn check_name(name: &Name) -> Result<(), Error> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(Error::new(
            ARGUMENT,
            format!("a name is 1 to {NAME_BYTES_MAX} bytes of printable characters"),
        ));
    }
    Ok(())
}

fn exists(name: &str) -> Error {
    Error::new(ARGUMENT, format!("there is a tenant `{name}` already"))
        .hint("change it with ALTER TENANT, or write IF NOT EXISTS")
}

fn missing(name: &str, declared: &Tenants) -> Error {
    let known: Vec<&str> = declared.keys().map(String::as_str).take(5).collect();
    let hint = match known.is_empty() {
        true => "there is none yet; CREATE TENANT makes one".to_string(),
        false => format!("known: {}; CREATE TENANT makes one", known.join(", ")),
    };
    Error::new(NOT_FOUND, format!("there is no tenant `{name}`")).hint(hint)
}
