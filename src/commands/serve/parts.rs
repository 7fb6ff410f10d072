//! The parts of a server that are built from its settings before it opens a database or listens: all errors that depend on the settings alone.
//!
//! `serve` starts by it, and `config check` looks by it, so the one refuses what the other does. What only the machine can tell is not here: whether
//! a database opens, whether an address is free, whether there are users.

use crate::commands::Exit;
use crate::commands::logging::Logging;
use crate::commands::serve::failed;
use crate::commands::traces::Traces;
use database::{Error, MEMORY, Options};
use server::configuration::forms::{address, named};
use server::configuration::{Configuration, DATABASE_KEY};
use server::gremlin::DEFAULT_SOURCE;
use server::users::{JwtOptions, JwtVerifier};
use server::{Limits, ServeError, Tls};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// The interfaces, by the keys of their addresses.
const ADDRESS_KEYS: [&str; 3] = ["bolt.address", "http.address", "gremlin.address"];

/// What settings come to.
#[derive(Debug)]
pub struct Parts {
    /// How databases are opened.
    pub options: Options,
    /// What clients may cost.
    pub limits: Limits,
    /// Wraps every connection, where there is a certificate.
    pub tls: Option<Tls>,
    /// Who looks at tokens of an identity provider.
    pub jwt: Option<JwtVerifier>,
    /// Other databases for Gremlin clients, by name.
    pub sources: Vec<(String, PathBuf)>,
}

impl Parts {
    /// Makes them.
    ///
    /// # Errors
    /// A file cannot be read or does not serve; settings contradict each other.
    pub fn of(settings: &Configuration) -> Result<Parts, Exit> {
        check_addresses(settings)?;
        Traces::check(settings)?;
        let files = settings.path("tls.certificate").zip(settings.path("tls.key"));
        let tls = files.map(|(certificate, key)| Tls::from_files(&certificate, &key));
        Ok(Parts {
            options: settings.options(),
            limits: settings.limits(),
            tls: tls.transpose().map_err(failed)?,
            jwt: jwt(settings)?,
            sources: sources(settings)?,
        })
    }
    /// Looks whether they can be made, and whether the files of the log can be written. Leaves nothing behind.
    ///
    /// # Errors
    /// As [`Parts::of`]; a file of the log cannot be written.
    pub fn check(settings: &Configuration) -> Result<(), Exit> {
        Logging::check(settings)?;
        settings.options().check()?;
        Parts::of(settings).map(drop)
    }
}

/// No two interfaces are to stand at one address, and none that others can reach asks for no password.
fn check_addresses(settings: &Configuration) -> Result<(), Exit> {
    let mut taken: Vec<(&str, SocketAddr)> = Vec::new();
    for key in ADDRESS_KEYS {
        let Some(text) = settings.text(key) else { continue };
        let address = address(text).map_err(|_| failed(ServeError::Address(text.to_string())))?;
        if settings.text("auth") == Some("none") && !address.ip().is_loopback() {
            return Err(failed(ServeError::NotLoopback(address)));
        }
        if let Some((other, _)) = taken.iter().find(|(_, other)| collide(*other, address)) {
            let message = format!("`{other}` and `{key}` are the same port {}", address.port());
            let error = Error::new("Tanglewood.ClientError.Serve.Settings", message);
            return Err(error.hint("give each interface a port of its own").into());
        }
        taken.push((key, address));
    }
    Ok(())
}

/// Can only one of them be listened on?
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    // All addresses of IPv6 are those of IPv4 too.
    let covers = |all: IpAddr, ip: IpAddr| all.is_unspecified() && (all.is_ipv6() || ip.is_ipv4());
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    one.port() == other.port() && one.port() != 0 && (a == b || covers(a, b) || covers(b, a))
}

fn jwt(settings: &Configuration) -> Result<Option<JwtVerifier>, Exit> {
    let text = |key: &str| settings.text(key).unwrap_or_default().to_string();
    let Some(keys) = settings.path("jwt.keys") else { return Ok(None) };
    let (issuer, audience, user_claim) = (text("jwt.issuer"), text("jwt.audience"), text("jwt.user_claim"));
    let leeway = settings.time("jwt.leeway").unwrap_or_default();
    let opened = JwtVerifier::open(JwtOptions { keys, issuer, audience, user_claim, leeway });
    opened.map(Some).map_err(|why| Error::new("Tanglewood.ClientError.Serve.Jwt", why).into())
}

fn sources(settings: &Configuration) -> Result<Vec<(String, PathBuf)>, Exit> {
    let wrong = |message: String| Error::new("Tanglewood.ClientError.Serve.Source", message);
    let mut names = vec![DEFAULT_SOURCE];
    let mut paths: Vec<PathBuf> = settings.path(DATABASE_KEY).into_iter().collect();
    let mut sources = Vec::new();
    for text in settings.texts("gremlin.sources") {
        let (name, path) = named(text).map_err(wrong)?;
        if names.contains(&name) {
            let error = wrong(format!("two databases are called `{name}`"));
            return Err(error.hint(format!("`{DEFAULT_SOURCE}` is the first one")).into());
        }
        let path = PathBuf::from(path);
        if path.as_os_str() != MEMORY && paths.contains(&path) {
            return Err(wrong(format!("{} is named twice", path.display())).into());
        }
        names.push(name);
        paths.push(path.clone());
        sources.push((name.to_string(), path));
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_collide_where_the_system_says_so() {
        let of = |text: &str| text.parse::<SocketAddr>().unwrap();
        for (one, other, outcome) in [
            ("127.0.0.1:1", "127.0.0.1:1", true),
            ("127.0.0.1:1", "127.0.0.1:2", false),
            ("127.0.0.1:0", "127.0.0.1:0", false),
            ("127.0.0.1:1", "127.0.0.2:1", false),
            ("127.0.0.1:1", "0.0.0.0:1", true),
            ("127.0.0.1:1", "[::]:1", true),
            ("127.0.0.1:1", "[::1]:1", false),
            ("0.0.0.0:1", "[::1]:1", false),
            ("[::1]:1", "[::]:1", true),
            ("[::ffff:127.0.0.1]:1", "127.0.0.1:1", true),
        ] {
            let told = [collide(of(one), of(other)), collide(of(other), of(one))];
            assert_eq!(told, [outcome; 2], "{one} and {other}");
        }
    }
}
