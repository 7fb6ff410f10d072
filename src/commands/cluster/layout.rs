//! The layout of a cluster: addresses of all processes, the secret that they share, and the database that they trust. A file that is made once.

use crate::commands::Exit;
use crate::commands::serve::failed;
use cluster::node::NodeRole;
use cluster::{Addresses, PeerTls, host};
use database::Error;
use serde_json::{Value, json};
use server::Tls;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use world::disk::{RealDisk, replace_whole};

/// The interfaces of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interfaces {
    pub bolt: String,
    pub gremlin: String,
    pub http: String,
}

/// Files that a process shows who it is by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificates {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Who signs those of the other processes; nobody is asked for one at the interfaces of gates.
    pub authority: Option<PathBuf>,
}

impl Certificates {
    fn of(value: &Value) -> Option<Certificates> {
        let path = |name: &str| value[name].as_str().map(PathBuf::from);
        let (certificate, key) = (path("certificate")?, path("key")?);
        Some(Certificates { certificate, key, authority: path("authority") })
    }
    /// For connections between processes.
    ///
    /// # Errors
    /// The files do not fit.
    pub fn of_peers(&self) -> Result<PeerTls, Error> {
        let authority = self.authority.as_deref().unwrap_or(Path::new(""));
        PeerTls::from_files(&self.certificate, &self.key, authority)
            .map_err(|what| Error::new("Tanglewood.ClientError.Cluster.Certificates", what))
    }
    /// Does what a process shows at these addresses prove who it is to another?
    ///
    /// # Errors
    /// It does not, or the files do not fit.
    pub fn check_peers(&self, addresses: &Addresses) -> Result<(), Error> {
        let tls = self.of_peers()?;
        for role in NodeRole::all(addresses) {
            let address = role.address(addresses).unwrap_or_default();
            tls.check(host(address)).map_err(|what| {
                Error::new("Tanglewood.ClientError.Cluster.Certificates", what)
                    .hint("one certificate, signed by --peer-ca, for all addresses and both uses, server and client")
            })?;
        }
        Ok(())
    }
    /// For those of drivers.
    ///
    /// # Errors
    /// The files do not fit.
    pub fn of_interfaces(&self) -> Result<Tls, Exit> {
        Tls::from_files(&self.certificate, &self.key).map_err(failed)
    }
    fn value(&self) -> Value {
        let Certificates { certificate, key, authority } = self;
        json!({ "certificate": certificate, "key": key, "authority": authority })
    }
}

/// See the head of this file.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub addresses: Addresses,
    pub interfaces: Vec<Interfaces>,
    pub secret: String,
    /// None where the cluster starts its own.
    pub truth: Option<String>,
    /// The database whose content it begins with.
    pub from: Option<String>,
    /// Where processes really listen that others reach by another address, by that address. Whoever puts proxies between them writes it.
    pub binds: BTreeMap<String, String>,
    /// The time between announcements of gates, where they do not adapt it.
    pub tau_us: Option<u64>,
    /// Where shards store copies of their checkpoints: a folder or an object store.
    pub blobs: Option<String>,
    /// With these processes speak TLS to each other.
    pub peer_tls: Option<Certificates>,
    /// With these gates serve TLS.
    pub interface_tls: Option<Certificates>,
}

/// The file in the cluster's folder.
pub fn file(folder: &Path) -> PathBuf {
    folder.join("cluster.json")
}

fn wrong(path: &Path, what: &str) -> Error {
    let message = format!("{} is no layout of a cluster: {what}", path.display());
    Error::new("Tanglewood.ClientError.Cluster.Layout", message)
}

impl Layout {
    pub fn read(path: &Path) -> Result<Layout, Error> {
        let failed = |error: world::disk::DiskError| {
            let message = format!("{} cannot be read: {error}", path.display());
            Error::new("Tanglewood.ClientError.Cluster.Layout", message)
                .hint("`tanglewood cluster up DIR` makes one")
        };
        let text = world::files::read_text(path).map_err(failed)?;
        let value: Value = serde_json::from_str(&text).map_err(|error| wrong(path, &error.to_string()))?;
        Layout::of(&value)
            .ok_or_else(|| wrong(path, "an address, the secret, or a file of certificates is missing"))
    }
    fn of(value: &Value) -> Option<Layout> {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let listens = |one: &Value| text(&one["listen"]);
        let addresses = |of: &str| value[of].as_array()?.iter().map(listens).collect::<Option<Vec<String>>>();
        let interfaces = |gate: &Value| {
            Some(Interfaces {
                bolt: text(&gate["bolt"])?,
                gremlin: text(&gate["gremlin"])?,
                http: text(&gate["http"])?,
            })
        };
        // Clusters of before had one, and named it alone.
        let oracles = text(&value["oracle"]).map_or_else(|| addresses("oracles"), |one| Some(vec![one]))?;
        let addresses = Addresses {
            gates: addresses("gates")?,
            shards: addresses("shards")?,
            oracles,
            scribe: text(&value["scribe"])?,
            keeper: text(&value["keeper"])?,
        }
        .named();
        let binds = value["binds"].as_object().into_iter().flatten();
        let binds = binds.map(|(listen, bind)| Some((listen.clone(), text(bind)?))).collect::<Option<_>>()?;
        let certificates = |value: &Value| match value {
            Value::Null => Some(None),
            value => Certificates::of(value).map(Some),
        };
        let interfaces =
            value["gates"].as_array()?.iter().map(interfaces).collect::<Option<Vec<Interfaces>>>()?;
        Some(Layout {
            addresses,
            interfaces,
            secret: text(&value["secret"])?,
            truth: text(&value["truth"]),
            from: text(&value["from"]),
            binds,
            tau_us: value["tau_us"].as_u64(),
            blobs: text(&value["blobs"]),
            peer_tls: certificates(&value["peer_tls"])?,
            interface_tls: certificates(&value["door_tls"])?,
        })
    }
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let gate = |(listen, interfaces): (&String, &Interfaces)| json!({ "listen": host(listen), "bolt": interfaces.bolt, "gremlin": interfaces.gremlin, "http": interfaces.http });
        let gates: Vec<Value> = self.addresses.gates.iter().zip(&self.interfaces).map(gate).collect();
        let listening = |all: &[String]| {
            all.iter().map(|listen| json!({ "listen": host(listen) })).collect::<Vec<Value>>()
        };
        let value = json!({
            "gates": gates,
            "shards": listening(&self.addresses.shards),
            "oracles": listening(&self.addresses.oracles),
            "scribe": host(&self.addresses.scribe),
            "keeper": host(&self.addresses.keeper),
            "secret": self.secret,
            "truth": self.truth,
            "from": self.from,
            "binds": self.binds,
            "tau_us": self.tau_us,
            "blobs": self.blobs,
            "peer_tls": self.peer_tls.as_ref().map(Certificates::value),
            "door_tls": self.interface_tls.as_ref().map(Certificates::value),
        });
        let failed = |error: world::disk::DiskError| {
            Error::new("Tanglewood.DatabaseError.General.Io", format!("{}: {error}", path.display()))
        };
        // Whole or not at all, and readable by its owner alone.
        let (folder, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
        replace_whole(&RealDisk, folder, &name.to_string_lossy(), format!("{value:#}\n").as_bytes())
            .map_err(failed)
    }
}
