//! A server that serves: what signals do to it, until it ends.

use super::{Starting, tell_manager};
use crate::commands::config::variable;
use crate::commands::logging::Logging;
use database::Database;
use server::beside::{Announcement, Beside};
use server::configuration::Configuration;
use server::notify::ServiceStage;
use server::users::Gate;
use server::{EndSignal, ServeOptions, Server, SignalKind, Tls};
use std::net::SocketAddr;
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

/// How often whoever waits for running queries looks again.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Time in which the last answers leave the server, and queries that were ended tell their clients.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a signal may change.
pub struct Running<'r> {
    starting: &'r Starting,
    logging: &'r Logging,
    databases: Vec<&'r Database>,
    tls: Option<&'r Tls>,
    gate: &'r Gate,
    bolt: SocketAddr,
    drain: Duration,
    announced: Option<Announcement>,
}

impl<'r> Running<'r> {
    pub fn new(
        starting: &'r Starting,
        logging: &'r Logging,
        (database, others): (&'r Database, &'r [Database]),
        (server, options): (&Server, &'r ServeOptions),
    ) -> Running<'r> {
        let mut running = Running {
            starting,
            logging,
            databases: [database].into_iter().chain(others).collect(),
            tls: options.tls.as_ref(),
            gate: &options.gate,
            bolt: server.address(),
            drain: options.limits.drain_timeout,
            announced: None,
        };
        running.announce();
        running
    }

    /// Tells commands of this machine how to come: `query`, `shell` and the like on the folder. Without it they say that it is open.
    fn announce(&mut self) {
        let Some(path) = self.databases[0].path() else { return };
        let beside = Beside {
            process: std::process::id(),
            bolt: self.bolt,
            passwords: self.gate.asks(),
            certificate: self.tls.map(Tls::certificate),
        };
        // The one before takes its file with it.
        self.announced = None;
        match beside.announce(path) {
            Ok(announced) => self.announced = Some(announced),
            Err(error) => {
                tracing::warn!(target: "tanglewood::server", %error, "no command of this machine finds the server");
            }
        }
    }

    /// Serves until a signal asks for the end, and what runs then has ended or had its time.
    pub fn until_end(&mut self, mut signals: EndSignal) {
        while signals.next_kind() == SignalKind::Reload {
            tell_manager(ServiceStage::Reloading);
            self.reload();
            tell_manager(ServiceStage::Ready);
        }
        tell_manager(ServiceStage::Stopping);
        let (open, limit_ms) = (self.open_work(), self.drain.as_millis() as u64);
        tracing::info!(target: "tanglewood::server", open, limit_ms, "stopping: nothing new begins");
        self.databases.iter().for_each(|database| database.drain());
        let until_ns = after_ns(self.drain);
        // A second signal ends the waiting.
        while self.open_work() > 0 && monotonic_ns() < until_ns && !signals.came() {
            world::threads::sleep(LOOK_EVERY);
        }
        let ended = self.open_work();
        if ended > 0 {
            self.databases.iter().for_each(|database| database.end_running());
            let until_ns = after_ns(LAST_WORDS);
            while self.open_work() > 0 && monotonic_ns() < until_ns {
                world::threads::sleep(LOOK_EVERY);
            }
        }
        if open > 0 {
            // The last answers may still be on their way to a socket.
            world::threads::sleep(LOOK_EVERY);
        }
        tracing::info!(target: "tanglewood::server", ended, "stopped");
    }

    fn open_work(&self) -> usize {
        self.databases.iter().map(|database| database.open_work()).sum()
    }

    /// Reads again what can be changed while the server runs. Where a file is wrong, what held goes on.
    fn reload(&mut self) {
        let starting = self.starting;
        let read = Configuration::read(starting.file.as_deref(), variable, starting.flags.clone());
        let configuration = match read {
            Ok(configuration) => configuration,
            Err(faults) => {
                let faults = faults.to_string();
                return tracing::error!(target: "tanglewood::server", faults, "settings are wrong; nothing changes");
            }
        };
        if let Err(faults) = self.logging.reload(&configuration) {
            tracing::error!(target: "tanglewood::server", %faults, "the log keeps its levels");
        }
        let slow = configuration.time("log.slow_query");
        self.databases.iter().for_each(|database| database.set_slow_query(slow));
        let files = configuration.path("tls.certificate").zip(configuration.path("tls.key"));
        if let (Some(tls), Some((certificate, key))) = (self.tls, files) {
            match tls.reload(&certificate, &key) {
                Ok(()) => self.announce(),
                Err(error) => {
                    tracing::error!(target: "tanglewood::server", %error, "the certificate stays as it was");
                }
            }
        }
        if let Err(why) = self.gate.reload() {
            tracing::error!(target: "tanglewood::server", why, "the keys of tokens stay as they were");
        }
        let mut settings = starting.settings.clone();
        settings.take_reloaded(&configuration);
        self.databases[0].set_interface_settings(super::SETTINGS_INTERFACE, settings.settings());
        tracing::info!(target: "tanglewood::server", "settings were read again");
    }
}
