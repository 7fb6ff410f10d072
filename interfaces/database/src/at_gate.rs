//! How a gate of a cluster uses its replica: standing queries, the past, backups; and how the replica applies the commits that it follows.

use crate::entries::{self, SetAside};
use crate::replica::{Interrupted, REPLICA_PATIENCE};
use crate::standing::definition::Definition;
use crate::standing::{Creator, SubscriptionRows};
use crate::{Database, Error, Params};
use ::standing::{Standing, StandingError, State};
use plan::standing::StandingCommand;
use std::sync::Arc;
use std::time::Duration;
use store::EntryKind;
use transact::{Followed, TransactError};
use world::clock;

/// A listing waits so long for it.
const LISTING_PATIENCE: Duration = Duration::from_secs(2);

impl Database {
    /// Applies commits of a cluster in order of their commit versions. The first must follow the last commit of this database; in an empty database
    /// it may have any version. They are on disk on return. For a replica only, which has no other source of commits.
    ///
    /// # Errors
    /// A commit version is not the next one, or the changes do not fit: this database is no replica of that cluster. Or the disk fails.
    pub fn follow(&self, commits: Vec<Followed>) -> Result<(), Error> {
        self.engine().follow(commits)?;
        let snapshot = self.snapshot();
        let entries = snapshot.catalog().entries();
        self.accounts().hear(entries, self.runtime());
        self.hear_standing(entries);
        self.after_commit();
        Ok(())
    }
    /// The version of the last commit.
    pub fn commit_version(&self) -> u64 {
        self.snapshot().commit_version()
    }
    /// The replica with everything that was acknowledged so far.
    ///
    /// # Errors
    /// As [`ReplicaHost::caught_up`](crate::ReplicaHost::caught_up); or there is none, since this is no gate that was given one.
    pub(crate) fn replica(
        &self,
        time: Option<Duration>,
        interrupted: Interrupted<'_>,
        what: &'static str,
    ) -> Result<Database, Error> {
        let replica =
            self.own_replica().ok_or(TransactError::NotInCluster { what, instead: transact::SEE_GUIDE })?;
        replica.caught_up(time.unwrap_or(REPLICA_PATIENCE).min(REPLICA_PATIENCE), interrupted)
    }
    /// At a gate, lets the replica catch up for a moment, where the cluster has or had a standing query: one that does not run is begun.
    pub(crate) fn await_standing_at_gate(&self) {
        let Some(replica) = self.own_replica() else { return };
        let snapshot = self.latest().unwrap_or_else(|_| self.snapshot());
        let has_some = snapshot.catalog().entries().table(EntryKind::STANDING).is_some();
        if has_some || replica.running().is_some() {
            // What it has not heard of is listed as it was.
            let _ = replica.caught_up(LISTING_PATIENCE, &|| None);
        }
    }
    /// Standing queries of the cluster as this gate sees them: as its replica runs them, or, without a replica, as not installed here.
    pub(crate) fn standing_at_gate(&self) -> Vec<Standing> {
        if let Some(replica) = self.own_replica().and_then(|replica| replica.running()) {
            return replica.standing();
        }
        let snapshot = self.snapshot();
        let read = Definition::read_all(snapshot.catalog().entries()).into_iter();
        let listed = |(name, read): (Arc<str>, Result<Definition, Error>)| match read {
            Ok(definition) => {
                let payer = self.accounts().tenant(&definition.tenant);
                Standing::not_running(&name, &definition.text, payer, State::Installing)
            }
            Err(error) => Standing {
                failure: Some(StandingError::SetAside(error.message)),
                ..Standing::not_running(&name, "", 0, State::SetAside)
            },
        };
        read.map(listed).collect()
    }
    /// Standing queries and entries of the cluster that are set aside, as far as the replica here knows.
    pub(crate) fn set_aside_at_gate(&self) -> Vec<SetAside> {
        let replica = self.own_replica().and_then(|replica| replica.running());
        replica.map_or_else(Vec::new, |replica| replica.set_aside())
    }

    /// Creates a standing query of a cluster: it is committed for all gates, and then installed by each replica. It is dropped again if the replica
    /// here refuses it.
    ///
    /// # Errors
    /// As [`Database::create_standing`]. Where its first answer takes longer than `creator` may wait, it stays.
    pub(crate) fn create_at_gate(
        &self,
        command: &StandingCommand,
        tenant: &str,
        creator: &Creator<'_>,
    ) -> Result<(), Error> {
        let StandingCommand::Create { name, if_not_exists, tenant: payer, text, retain } = command else {
            return Ok(());
        };
        let tenant = payer.clone().unwrap_or_else(|| tenant.into());
        let definition = Definition::of(name.clone(), text.clone(), Some(tenant), *retain);
        let content = definition.content();
        let definition = Definition::read(name, content.as_bytes()).map_err(|error| {
            // An error of the text itself is told as such, at its place in the text.
            definition.planned(&self.snapshot()).err().unwrap_or(error)
        })?;
        let what = "standing queries";
        let replica = self.replica(creator.time, creator.interrupted, what)?;
        definition.planned(&replica.snapshot())?;
        let mut was_there = false;
        self.change_entries(|entries| {
            was_there = entries.get(EntryKind::STANDING, name).is_some();
            match was_there {
                true if *if_not_exists => Ok(Vec::new()),
                true => Err(StandingError::NameTaken((&**name).into()).into()),
                false => Ok(vec![entries::set(EntryKind::STANDING, name, Some(content.as_bytes()))]),
            }
        })?;
        if was_there {
            return Ok(());
        }
        // It is there for all from now on, and installed whoever waits for it.
        let replica =
            self.replica(creator.time, creator.interrupted, what).map_err(|error| made(name, &error))?;
        let installed = replica.await_installed_by_log(name, creator);
        match installed {
            Err(error) if error.code == INSTALLING => Err(made(name, &error)),
            Err(refused) => {
                // Whoever asked is told why; nobody else has been told that it is there. Another of this name, made meanwhile, is not this one.
                self.change_entries(|entries| match entries.get(EntryKind::STANDING, name) {
                    Some(now) if **now == *content.as_bytes() => {
                        Ok(vec![entries::set(EntryKind::STANDING, name, None)])
                    }
                    _ => Ok(Vec::new()),
                })?;
                Err(refused)
            }
            Ok(()) => Ok(()),
        }
    }
    /// Drops a standing query of a cluster.
    ///
    /// # Errors
    /// There is none of this name.
    pub(crate) fn drop_at_gate(&self, name: &str, if_exists: bool) -> Result<(), Error> {
        self.change_entries(|entries| match entries.get(EntryKind::STANDING, name) {
            Some(_) => Ok(vec![entries::set(EntryKind::STANDING, name, None)]),
            None if if_exists => Ok(Vec::new()),
            None => Err(StandingError::NoSuchQuery(name.into()).into()),
        })
    }
    /// Waits until a query that the log brought runs here.
    fn await_installed_by_log(&self, name: &str, creator: &Creator<'_>) -> Result<(), Error> {
        let until_ns = creator.time.map(clock::after_ns);
        loop {
            let outcome = self.await_standing(name, creator);
            match outcome {
                Err(error) if error.code == INSTALLING => {
                    if until_ns.is_some_and(|until_ns| clock::monotonic_ns() >= until_ns) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(self.refusal(name).unwrap_or(error)),
                Ok(()) => return Ok(()),
            }
        }
    }
}

/// Code of a query that is still being installed.
const INSTALLING: &str = "Tanglewood.TransientError.Standing.Installing";

/// The error for a creator that cannot wait until the query runs. Trying again would find the name taken.
fn made(name: &str, why: &Error) -> Error {
    let message = format!("the standing query `{name}` is made, and not installed yet: {}", why.message);
    Error::new(INSTALLING, message).hint("SHOW STANDING QUERIES tells its state; SUBSCRIBE waits for it")
}

/// Carries out a statement about standing queries at a gate; a subscription comes back with the replica that it reads.
pub(crate) fn carry_out(
    gate: &Database,
    command: &StandingCommand,
    params: &Params,
    (tenant, creator): (&str, &Creator<'_>),
) -> Result<Option<SubscriptionRows>, Error> {
    let replica = || gate.replica(creator.time, creator.interrupted, "standing queries");
    match command {
        StandingCommand::Create { .. } => gate.create_at_gate(command, tenant, creator)?,
        StandingCommand::Drop { name, if_exists } => gate.drop_at_gate(name, *if_exists)?,
        StandingCommand::Retry { name } => replica()?.retry_standing(name)?,
        StandingCommand::Subscribe { .. } => return replica()?.carry_out(command, params, creator),
    }
    Ok(None)
}
