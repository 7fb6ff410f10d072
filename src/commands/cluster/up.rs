//! Starting and ending a cluster: a process that watches it is left behind.

use super::super::Exit;
use super::layout::{self, Certificates, Interfaces, Layout};
use super::{Up, load, status};
use cluster::Addresses;
use cluster::node::{NodeRole, free_addresses};
use database::Error;
use ingest::remote::blobs::NamedFiles;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use world::chance::Chance;
use world::clock;

/// A cluster is waited for so long.
const UP_PATIENCE: Duration = Duration::from_secs(180);
/// Its end is waited for so long.
const DOWN_PATIENCE: Duration = Duration::from_secs(60);
/// How often its state is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Bytes of the log that are shown where it does not come up.
const LOG_SHOWN_BYTES: usize = 2_000;

fn failed(message: impl Into<String>) -> Error {
    Error::new("Tanglewood.DatabaseError.Cluster.Start", message)
}

/// Runs a small program of the system.
pub fn shell(program: &str, arguments: &[&str]) -> Result<(), Error> {
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err(failed(format!("`{program} {}` failed", arguments.join(" ")))),
    }
}

pub fn up(up: &Up) -> Result<(), Exit> {
    let folder = std::path::absolute(&up.folder)?;
    world::files::create_folder(&folder)?;
    if status::read(&folder).is_some() {
        let message = format!("the cluster in {} is up already", folder.display());
        return Err(Error::new("Tanglewood.ClientError.Cluster.IsUp", message).into());
    }
    if world::files::exists(&layout::file(&folder)) {
        let mut known = Layout::read(&layout::file(&folder))?;
        let Addresses { gates, shards, oracles, .. } = &known.addresses;
        let sizes = [gates.len(), shards.len(), oracles.len()];
        let processes = NodeRole::processes(&known.addresses).len();
        let given = [up.gates, up.shards, up.oracles].map(usize::from);
        let is_known = sizes == given && process_count(up) == processes;
        if !is_known || known.truth != up.truth {
            let [gates, shards, oracles] = sizes;
            let shared = match sizes.iter().sum::<usize>() + 2 == processes {
                true => String::new(),
                false => format!(", in --processes {processes}"),
            };
            let message = format!(
                "the cluster in this folder has --gates {gates}, --shards {shards} and --oracles {oracles}{shared}"
            );
            return Err(Error::new("Tanglewood.ClientError.Cluster.Layout", message)
                .hint("these numbers and --truth are chosen when a cluster is made")
                .into());
        }
        if up.from.is_some() && known.from.as_deref() != from(up)?.as_deref() {
            let message = "the cluster in this folder has its content already";
            return Err(Error::new("Tanglewood.ClientError.Cluster.Layout", message)
                .hint("--from is for a cluster that is made now; name another folder")
                .into());
        }
        let before = known.clone();
        let given = certificates(up)?;
        known.peer_tls = given.0.or(known.peer_tls);
        known.interface_tls = given.1.or(known.interface_tls);
        known.tau_us = up.tau_us.or(known.tau_us);
        known.blobs = blobs(up, known.blobs)?;
        if known != before {
            known.peer_tls.iter().try_for_each(|peers| peers.check_peers(&known.addresses))?;
            known.write(&layout::file(&folder))?;
        }
    } else {
        let from = from(up)?;
        if let Some(from) = &from {
            // Whether it can be read is said before anything is made.
            drop(load::source(Path::new(from))?);
        }
        let (peer_tls, interface_tls) = certificates(up)?;
        let (tau_us, blobs) = (up.tau_us, blobs(up, None)?);
        let made = Layout { from, peer_tls, interface_tls, tau_us, blobs, ..made(up)? };
        made.peer_tls.iter().try_for_each(|peers| peers.check_peers(&made.addresses))?;
        made.write(&layout::file(&folder))?;
    }
    start_watching(&folder)?;
    await_service(&folder)?;
    status::print(&folder, false)
}

/// The database that it begins with, wherever the watcher's folder is.
fn from(up: &Up) -> Result<Option<String>, Error> {
    up.from.as_ref().map(|from| Ok(absolute(from)?.display().to_string())).transpose()
}

/// The store of checkpoints: what it was, or a new name below the folder or prefix that is given, so that no two clusters share one.
fn blobs(up: &Up, known: Option<String>) -> Result<Option<String>, Error> {
    let Some(given) = &up.blobs else { return Ok(known) };
    NamedFiles::open(given).map_err(|why| Error::new("Tanglewood.ClientError.Cluster.Blobs", why))?;
    let given = match given.contains("://") {
        true => given.trim_end_matches('/').to_string(),
        false => absolute(Path::new(given))?.display().to_string(),
    };
    let is_below = |known: &String| known.rsplit_once('/').is_some_and(|(folder, _)| folder == given);
    Ok(known.filter(is_below).or_else(|| Some(format!("{given}/cluster-{:016x}", Chance::system_seed()))))
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| failed(format!("{}: {error}", path.display())))
}

/// What processes show to each other, and gates to drivers. Files that do not fit are told here, where somebody reads it.
fn certificates(up: &Up) -> Result<(Option<Certificates>, Option<Certificates>), Exit> {
    let files = |certificate: &Option<PathBuf>, key: &Option<PathBuf>| -> Result<_, Error> {
        let (Some(certificate), Some(key)) = (certificate, key) else { return Ok(None) };
        let (certificate, key) = (absolute(certificate)?, absolute(key)?);
        Ok(Some(Certificates { certificate, key, authority: None }))
    };
    let (mut peers, interfaces) = (files(&up.peer_cert, &up.peer_key)?, files(&up.tls_cert, &up.tls_key)?);
    if let Some(peers) = &mut peers {
        peers.authority = up.peer_ca.as_deref().map(absolute).transpose()?;
        peers.of_peers()?;
    }
    if let Some(interfaces) = &interfaces {
        interfaces.of_interfaces()?;
    }
    Ok((peers, interfaces))
}

/// How many processes have all roles among them.
fn process_count(up: &Up) -> usize {
    let roles = usize::from(up.gates) + usize::from(up.shards) + usize::from(up.oracles) + 2;
    up.processes.map_or(roles, |processes| usize::from(processes).min(roles))
}

/// The address of each role: all processes in turns.
fn addresses(up: &Up, listens: &[String]) -> Addresses {
    let mut next = listens.iter().cycle().cloned();
    let mut some = |count: u16| next.by_ref().take(usize::from(count)).collect::<Vec<String>>();
    let (gates, shards, oracles) = (some(up.gates), some(up.shards), some(up.oracles));
    let (scribe, keeper) = (some(1).concat(), some(1).concat());
    Addresses { gates, shards, oracles, scribe, keeper }.named()
}

fn made(up: &Up) -> Result<Layout, Error> {
    let gates = usize::from(up.gates);
    if let Some(processes) = up.processes.filter(|processes| *processes < up.gates.max(up.oracles)) {
        let message =
            format!("{processes} processes cannot hold {} gates and {} oracles", up.gates, up.oracles);
        return Err(Error::new("Tanglewood.ClientError.Cluster.Layout", message)
            .hint("a process has one gate and one oracle at most; it may have several shards"));
    }
    let count = process_count(up);
    let mut free = free_addresses(count + 3 * gates).map_err(|error| failed(error.to_string()))?;
    let mut others = free.split_off(count).into_iter();
    let mut next = || others.next().unwrap_or_default();
    let addresses = addresses(up, &free);
    let mut interfaces = Vec::new();
    interfaces.resize_with(gates, || Interfaces { bolt: next(), gremlin: next(), http: next() });
    let word = || format!("{:016x}", Chance::system_seed());
    let secret = [word(), word()].concat();
    Ok(Layout {
        addresses,
        interfaces,
        secret,
        truth: up.truth.clone(),
        from: None,
        binds: BTreeMap::new(),
        tau_us: None,
        blobs: None,
        peer_tls: None,
        interface_tls: None,
    })
}

/// Leaves a process behind that starts the others and watches them; it writes into the folder's log.
fn start_watching(folder: &Path) -> Result<(), Error> {
    let binary = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let script = "exec \"$0\" cluster watch \"$1\" </dev/null >>\"$1/log\" 2>&1";
    Command::new("sh")
        .args(["-c", script])
        .arg(binary)
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map(|_| ())
        .map_err(|error| failed(format!("the cluster's processes cannot be started: {error}")))
}

fn await_service(folder: &Path) -> Result<(), Error> {
    let (mut until_ns, mut began) = (clock::after_ns(UP_PATIENCE), false);
    let patience_ns = clock::after_ns(Duration::from_secs(10));
    while clock::monotonic_ns() < until_ns {
        let now = status::read(folder);
        began |= now.is_some();
        match now {
            Some(value) if value["state"] == "serving" => return Ok(()),
            // What is loaded takes as long as it takes; it ends with the watcher.
            Some(value) if value["state"] == "loading" => {
                until_ns = clock::after_ns(UP_PATIENCE);
                world::threads::sleep(LOOK_EVERY);
            }
            None if began || clock::monotonic_ns() > patience_ns => break,
            _ => world::threads::sleep(LOOK_EVERY),
        }
    }
    let log = world::files::read_text(&folder.join("log")).unwrap_or_default();
    let shown = &log[log.ceil_char_boundary(log.len().saturating_sub(LOG_SHOWN_BYTES))..];
    let _ = down(folder);
    Err(failed(format!("the cluster did not come up; the end of its log:\n{shown}")))
}

pub fn down(folder: &Path) -> Result<(), Exit> {
    let folder = std::path::absolute(folder)?;
    let Some(watcher) = status::read(&folder).and_then(|value| value["watcher"].as_u64()) else {
        writeln!(world::files::stdout(), "the cluster is down")?;
        return Ok(());
    };
    shell("kill", &["-TERM", &watcher.to_string()])?;
    let until_ns = clock::after_ns(DOWN_PATIENCE);
    while status::lives(watcher) {
        if clock::monotonic_ns() > until_ns {
            return Err(failed(format!("process {watcher} does not end")).into());
        }
        world::threads::sleep(LOOK_EVERY);
    }
    writeln!(world::files::stdout(), "the cluster is down")?;
    Ok(())
}
