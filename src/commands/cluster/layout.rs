//! The layout of a cluster: addresses of all processes, the secret that they share, and the database that they trust. A file that is made once.

use cluster::Addresses;
use database::Error;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The doors of a gate.
#[derive(Clone, Debug)]
pub struct Doors {
    pub bolt: String,
    pub gremlin: String,
    pub http: String,
}

/// See the head of this file.
#[derive(Clone, Debug)]
pub struct Layout {
    pub addresses: Addresses,
    pub doors: Vec<Doors>,
    pub secret: String,
    /// None where the cluster starts its own.
    pub truth: Option<String>,
    /// The database whose content it begins with.
    pub from: Option<String>,
    /// Where processes really listen that others reach by another address, by that address. Whoever puts proxies between them writes it.
    pub binds: BTreeMap<String, String>,
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
        Layout::of(&value).ok_or_else(|| wrong(path, "an address is missing"))
    }
    fn of(value: &Value) -> Option<Layout> {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let listens = |one: &Value| text(&one["listen"]);
        let addresses = |of: &str| value[of].as_array()?.iter().map(listens).collect::<Option<Vec<String>>>();
        let doors = |gate: &Value| {
            Some(Doors {
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
        };
        let binds = value["binds"].as_object().into_iter().flatten();
        let binds = binds.map(|(listen, bind)| Some((listen.clone(), text(bind)?))).collect::<Option<_>>()?;
        let doors = value["gates"].as_array()?.iter().map(doors).collect::<Option<Vec<Doors>>>()?;
        Some(Layout {
            addresses,
            doors,
            secret: text(&value["secret"])?,
            truth: text(&value["truth"]),
            from: text(&value["from"]),
            binds,
        })
    }
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let gate = |(listen, doors): (&String, &Doors)| json!({ "listen": listen, "bolt": doors.bolt, "gremlin": doors.gremlin, "http": doors.http });
        let gates: Vec<Value> = self.addresses.gates.iter().zip(&self.doors).map(gate).collect();
        let listening =
            |all: &[String]| all.iter().map(|listen| json!({ "listen": listen })).collect::<Vec<Value>>();
        let value = json!({
            "gates": gates,
            "shards": listening(&self.addresses.shards),
            "oracles": listening(&self.addresses.oracles),
            "scribe": self.addresses.scribe,
            "keeper": self.addresses.keeper,
            "secret": self.secret,
            "truth": self.truth,
            "from": self.from,
            "binds": self.binds,
        });
        let failed = |error: world::disk::DiskError| {
            Error::new("Tanglewood.DatabaseError.General.Io", format!("{}: {error}", path.display()))
        };
        // Only its owner may read the secret: it is closed to others before it has one.
        world::files::write_bytes(path, b"").map_err(failed)?;
        super::up::shell("chmod", &["600", &path.display().to_string()])?;
        world::files::write_bytes(path, format!("{value:#}\n").as_bytes()).map_err(failed)
    }
}
