//! Standing queries: made and dropped by name, kept with the database, read by subscription.
//!
//! They are fed on an executor, as one more root of its scheduling, woken by each commit.

mod told;

pub(crate) use told::Told;

use crate::accounts::{Accounts, DEFAULT_TENANT};
use crate::error::in_text;
use crate::{Database, Error, Params, Value, datalog, kept_text};
use ::standing::{Definition as Asked, Keeper, Standing, StandingError, Subscription, TurnEnd};
use execute::{Root, RootHandle, RootStatus};
use parking_lot::{Condvar, Mutex};
use plan::StatementKind;
use plan::expr::Name;
use plan::standing::{Resume, StandingCommand};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use world::disk::Disk;

/// How soon a turn that found somebody in its way is tried again.
const TRY_AGAIN_NS: u64 = 100_000;

/// Share of an executor that standing queries have, as a tenant has that was given none.
const SHARE: u32 = 100;

/// Feeds the queries of one place, on the executor of that number.
struct Feeding {
    keeper: Keeper,
    at: usize,
}

impl Root for Feeding {
    fn run(&mut self, _quota_ns: u64) -> RootStatus {
        match self.keeper.turn(self.at) {
            TurnEnd::Done => RootStatus::Idle,
            TurnEnd::More => RootStatus::Busy,
            TurnEnd::InTheWay => RootStatus::WakeAt(world::clock::monotonic_ns() + TRY_AGAIN_NS),
        }
    }
    fn charges(&mut self) -> Vec<(u32, u64)> {
        self.keeper.take_spent(self.at)
    }
}

/// The file of their definitions, in the database's folder.
pub const FILE: &str = "standing.cypher";
/// What it begins with.
const HEAD: &str =
    "// Standing queries of this database, version 1; changed by CREATE and DROP STANDING QUERY.\n";

/// What one database needs to keep its standing queries.
pub(crate) struct StandingQueries {
    keeper: Keeper,
    wake: OnceLock<RootHandle>,
    /// Where they are written down, unless the database lives in memory.
    kept: Option<(Arc<dyn Disk>, PathBuf)>,
    /// Held by whoever changes the file.
    file: Mutex<()>,
    /// Those of the file have been made again.
    ready: Mutex<bool>,
    becomes_ready: Condvar,
}

impl StandingQueries {
    /// Reads the definitions; [`Database::wake_standing`] makes the queries again.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn open(
        keeper: Keeper,
        kept: Option<(Arc<dyn Disk>, PathBuf)>,
    ) -> Result<(StandingQueries, Vec<Definition>), Error> {
        let text = match &kept {
            Some((disk, folder)) => kept_text::read(&**disk, folder, FILE)?,
            None => String::new(),
        };
        let definition = |statement: &cypher::StatementText<'_>| {
            let line = 1 + text[..statement.span.start as usize].matches('\n').count();
            match cypher::compile(statement.text) {
                Ok(plan::Statement {
                    kind: StatementKind::Standing(StandingCommand::Create { name, text, tenant, .. }),
                    ..
                }) => Ok(Definition::of(name, text, tenant)),
                Ok(_) => Err(kept_text::damaged(FILE, line, "it creates no standing query")),
                Err(error) => Err(kept_text::damaged(FILE, line, &error.message)),
            }
        };
        let definitions: Vec<Definition> =
            cypher::split_statements(&text).iter().map(definition).collect::<Result<_, _>>()?;
        let ready = Mutex::new(definitions.is_empty());
        let standing = StandingQueries {
            keeper,
            wake: OnceLock::new(),
            kept,
            file: Mutex::default(),
            ready,
            becomes_ready: Condvar::new(),
        };
        Ok((standing, definitions))
    }
    /// Ends all subscriptions.
    pub fn close(&self) {
        self.keeper.close();
    }
    /// Waits until those of the file are there again.
    fn settle(&self) {
        let mut ready = self.ready.lock();
        while !*ready {
            self.becomes_ready.wait(&mut ready);
        }
    }
    /// Writes down these and no others.
    fn write(&self, definitions: impl Iterator<Item = Definition>) -> Result<(), Error> {
        let Some((disk, folder)) = &self.kept else { return Ok(()) };
        let mut text = String::from(HEAD);
        for Definition { name, text: query, tenant } in definitions {
            let tenant = Some(tenant).filter(|tenant| &**tenant != DEFAULT_TENANT);
            let command = StandingCommand::Create { name, if_not_exists: false, tenant, text: query };
            text.push_str(&format!("{command};\n"));
        }
        kept_text::write(&**disk, folder, FILE, &text)
    }
    fn definitions(&self, accounts: &Accounts) -> Vec<Definition> {
        let definition = |query: Standing| Definition {
            name: query.name.into(),
            text: query.text.into(),
            tenant: accounts.names(query.payer, 0).0.into(),
        };
        self.keeper.list().into_iter().map(definition).collect()
    }
}

/// What is written down of a query.
pub(crate) struct Definition {
    name: Name,
    text: Name,
    /// Who pays for it.
    tenant: Name,
}

impl Definition {
    fn of(name: Name, text: Name, tenant: Option<Name>) -> Definition {
        Definition { name, text, tenant: tenant.unwrap_or_else(|| DEFAULT_TENANT.into()) }
    }
}

impl Database {
    /// What a command about standing queries does, in words for people; to be asked before it is carried out.
    pub(crate) fn will_do(&self, command: &StandingCommand) -> Option<String> {
        let is_there = |name: &str| self.standing().iter().any(|query| query.name == name);
        Some(match command {
            StandingCommand::Create { name, .. } if is_there(name) => {
                format!("standing query {name} was there already")
            }
            StandingCommand::Create { name, .. } => {
                format!("standing query {name} made; SUBSCRIBE {name} tells what changes")
            }
            StandingCommand::Drop { name, .. } if is_there(name) => format!("standing query {name} dropped"),
            StandingCommand::Drop { name, .. } => format!("there was no standing query {name}"),
            StandingCommand::Subscribe { .. } => return None,
        })
    }
    /// Makes a standing query: its first answer is computed now, and kept true from now on, on the account of those who belong to no tenant.
    ///
    /// # Errors
    /// The text is no query, or one that cannot be kept up to date (the reason is said); the name is taken.
    pub fn create_standing(&self, name: &str, text: &str) -> Result<(), Error> {
        self.create_standing_for(DEFAULT_TENANT, name, text)
    }
    /// As [`Database::create_standing`]; this tenant pays for it.
    ///
    /// # Errors
    /// As there.
    pub fn create_standing_for(&self, tenant: &str, name: &str, text: &str) -> Result<(), Error> {
        let standing = self.standing_queries();
        standing.settle();
        // The first answer may take its time; nobody else waits for it.
        self.make_standing(name, text, self.accounts().tenant(tenant))?;
        let _file = standing.file.lock();
        standing.write(standing.definitions(self.accounts()).into_iter()).inspect_err(|_| {
            // What is not written down would be gone after the next open.
            let _ = standing.keeper.drop_query(name);
        })
    }
    /// Makes the queries of the file again, in the background; until then, whoever asks for one waits.
    pub(crate) fn wake_standing(&self, definitions: Vec<Definition>) {
        if definitions.is_empty() {
            return;
        }
        let database = self.downgrade();
        world::threads::spawn("standing", move || {
            for Definition { name, text, tenant } in definitions {
                let Some(database) = database.upgrade() else { return };
                let payer = database.accounts().tenant(&tenant);
                if let Err(error) = database.make_standing(&name, &text, payer) {
                    let error = StandingError::Failed(error.message);
                    database.standing_queries().keeper.keep_failed(&name, &text, payer, error);
                }
            }
            if let Some(database) = database.upgrade() {
                let standing = database.standing_queries();
                *standing.ready.lock() = true;
                standing.becomes_ready.notify_all();
            }
        });
    }
    fn make_standing(&self, name: &str, text: &str, payer: u32) -> Result<(), Error> {
        let definition = match datalog::statement(text) {
            Some(wrapped) => {
                let wrapped = datalog::kept(text, wrapped)?;
                let (snapshot, offset) = (self.snapshot(), wrapped.offset);
                Asked::from(datalog::compile(wrapped.program, text, offset, snapshot.catalog())?)
            }
            None => {
                let statement = cypher::compile(text).map_err(|error| in_text(error, text))?;
                Asked::from(plan::normalize(statement)?)
            }
        };
        let standing = self.standing_queries();
        let handle = standing.wake.get_or_init(|| {
            let keeper = standing.keeper.clone();
            self.runtime()
                .add_root(SHARE, move |at| Box::new(Feeding { keeper: keeper.clone(), at }) as Box<dyn Root>)
        });
        let handle = handle.clone();
        Ok(standing.keeper.create(name, text, definition, payer, Arc::new(move |at| handle.wake(at)))?)
    }
    /// Carries out a command of a statement, for good.
    pub(crate) fn carry_out(
        &self,
        command: &StandingCommand,
        params: &Params,
        payer: u32,
    ) -> Result<Option<Told>, Error> {
        match command {
            StandingCommand::Create { name, if_not_exists, .. }
                if *if_not_exists && self.has_standing(name) => {}
            StandingCommand::Create { name, text, tenant, .. } => {
                let own = || self.accounts().names(payer, 0).0;
                let tenant = tenant.as_ref().map_or_else(own, |tenant| tenant.to_string());
                self.create_standing_for(&tenant, name, text)?;
            }
            StandingCommand::Drop { name, if_exists } if *if_exists && !self.has_standing(name) => {}
            StandingCommand::Drop { name, .. } => self.drop_standing(name)?,
            StandingCommand::Subscribe { name, from, snapshot, key } => {
                let from = from.as_ref().map(|from| place(from, params)).transpose()?;
                let subscription = self.subscribe(name, params, from, *snapshot)?;
                return Told::new(subscription, key, self.clone()).map(Some);
            }
        }
        Ok(None)
    }
    fn has_standing(&self, name: &str) -> bool {
        self.standing().iter().any(|query| query.name == name)
    }
    /// Ends a standing query and its subscriptions.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn drop_standing(&self, name: &str) -> Result<(), Error> {
        let standing = self.standing_queries();
        standing.settle();
        let _file = standing.file.lock();
        let all = standing.definitions(self.accounts());
        if all.iter().any(|other| *other.name == *name) {
            standing.write(all.into_iter().filter(|other| *other.name != *name))?;
        }
        Ok(standing.keeper.drop_query(name)?)
    }
    /// All standing queries, in order of their names.
    pub fn standing(&self) -> Vec<Standing> {
        let standing = self.standing_queries();
        standing.settle();
        standing.keeper.list()
    }
    /// Reads a standing query, of which these are the arguments: what changes from now on, or after the commit at place `from`; with `snapshot`, its whole answer first.
    ///
    /// # Errors
    /// No such query; it has failed; an argument is missing; what changed since `from` is not known any more.
    pub fn subscribe(
        &self,
        name: &str,
        arguments: &Params,
        from: Option<u64>,
        snapshot: bool,
    ) -> Result<Subscription, Error> {
        let standing = self.standing_queries();
        standing.settle();
        Ok(standing.keeper.subscribe(name, &|name| arguments.get(name).cloned(), from, snapshot)?)
    }
}

/// The commit that a subscription goes on from.
fn place(from: &Resume, params: &Params) -> Result<u64, Error> {
    let given = match from {
        Resume::Place(place) => return Ok(*place),
        Resume::Parameter(name) => params.get(name).and_then(Value::as_int),
    };
    given.and_then(|place| u64::try_from(place).ok()).ok_or_else(|| {
        Error::new("Neo.ClientError.Statement.ArgumentError", "FROM takes the number of a commit")
            .hint("give what the column `commit` of the last row said")
    })
}

impl From<StandingError> for Error {
    fn from(error: StandingError) -> Error {
        let code = match &error {
            StandingError::Unsupported { .. } => "Tanglewood.ClientError.Standing.Unsupported",
            StandingError::Failed(_) => "Tanglewood.ClientError.Standing.Failed",
            StandingError::TooLarge { .. } | StandingError::TooMany => {
                "Tanglewood.ClientError.Standing.Limit"
            }
            StandingError::Storage(_) => "Tanglewood.DatabaseError.General.Storage",
            StandingError::NoSuchColumn { .. } => "Neo.ClientError.Statement.ArgumentError",
            StandingError::NoSuchQuery(_) => "Tanglewood.ClientError.Standing.NotFound",
            StandingError::MissingArgument(_) => "Neo.ClientError.Statement.ParameterMissing",
            StandingError::NameTaken(_) => "Tanglewood.ClientError.Standing.NameTaken",
            StandingError::Unreached { .. } | StandingError::Forgotten { .. } => {
                "Tanglewood.ClientError.Standing.NotKept"
            }
        };
        let found = Error::new(code, error.to_string());
        match error.hint() {
            Some(hint) => found.hint(hint),
            None => found,
        }
    }
}
