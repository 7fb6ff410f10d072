//! The way to the database: plain, or by TLS where its address says `sslmode=require` or more.
//!
//! `sslrootcert` and the modes `verify-ca` and `verify-full` are libpq's words, which the driver does not know, so they are read here. Whatever TLS is asked
//! for, the server's certificate is checked, and its name is: a way that hides what it carries from everybody but a stranger in the middle is none.

use postgres::config::SslMode;
use postgres::{Client, Config, NoTls};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// The database says so, or does not answer.
    Database(postgres::Error),
    /// The address is wrong, or the certificates that it names are.
    Address(String),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Address(what) => f.write_str(what),
            ConnectError::Database(error) => {
                // The driver keeps the reason to itself.
                let cause = std::error::Error::source(error);
                cause.map_or(Ok(()), |cause| write!(f, "{cause} ("))?;
                write!(f, "{error}")?;
                f.write_str(if cause.is_some() { ")" } else { "" })
            }
        }
    }
}

impl std::error::Error for ConnectError {}

impl From<postgres::Error> for ConnectError {
    fn from(error: postgres::Error) -> ConnectError {
        ConnectError::Database(error)
    }
}

/// An address without libpq's words, and what they said.
#[derive(Debug, PartialEq, Eq)]
struct Plain {
    address: String,
    roots: Option<String>,
}

/// Takes `sslrootcert` out of an address, a URL or words with `=`, and makes one mode of those that check.
fn plain(address: &str) -> Plain {
    let is_url = address.starts_with("postgres://") || address.starts_with("postgresql://");
    let (head, words, between) = match (is_url, address.split_once('?')) {
        (true, Some((head, query))) => (format!("{head}?"), query.split('&').collect::<Vec<_>>(), "&"),
        (true, None) => (address.to_string(), Vec::new(), "&"),
        (false, _) => (String::new(), address.split(' ').collect(), " "),
    };
    let (mut kept, mut roots) = (Vec::new(), None);
    for word in words {
        match word.split_once('=') {
            Some(("sslrootcert", file)) => roots = Some(file.trim_matches('\'').replace("%2F", "/")),
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            _ => kept.push(word),
        }
    }
    Plain { address: head + &kept.join(between), roots }
}

/// Connects as the address says.
///
/// # Errors
/// See [`ConnectError`].
pub(crate) fn connect(address: &str) -> Result<Client, ConnectError> {
    let Plain { address, roots } = plain(address);
    let config: Config = address.parse()?;
    if config.get_ssl_mode() != SslMode::Require {
        return match roots {
            None => Ok(config.connect(NoTls)?),
            Some(_) => Err(ConnectError::Address("sslrootcert needs sslmode=verify-full as well".into())),
        };
    }
    let provider = Arc::new(ring::default_provider());
    let unusable = |error: rustls::Error| ConnectError::Address(format!("TLS cannot be set up: {error}"));
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_root_certificates(trusted(roots.as_deref())?)
        .with_no_client_auth();
    Ok(config.connect(MakeRustlsConnect::new(tls))?)
}

/// The certificates of a file, or those that the system trusts.
fn trusted(file: Option<&str>) -> Result<RootCertStore, ConnectError> {
    let mut roots = RootCertStore::empty();
    let system = || {
        world::files::SYSTEM_CERTIFICATES.iter().copied().find(|path| world::files::exists(Path::new(path)))
    };
    let bytes = file.or_else(system).and_then(|file| world::files::read_bytes(Path::new(file)).ok());
    let bytes = bytes.unwrap_or_default();
    let found = CertificateDer::pem_slice_iter(&bytes).filter_map(Result::ok);
    match roots.add_parsable_certificates(found) {
        (0, _) => Err(ConnectError::Address(match file {
            Some(file) => format!("sslrootcert: no certificate can be read in {file}"),
            None => "the system trusts no certificate that can be found; sslrootcert names a file".into(),
        })),
        _ => Ok(roots),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_libpq_are_read() {
        let of = |address: &str, roots: Option<&str>| Plain {
            address: address.into(),
            roots: roots.map(str::to_string),
        };
        for (address, expected) in [
            ("host=db user=me", of("host=db user=me", None)),
            (
                "host=db sslmode=verify-full sslrootcert=/a/b.pem",
                of("host=db sslmode=require", Some("/a/b.pem")),
            ),
            ("host=db sslrootcert='/a/b.pem'", of("host=db", Some("/a/b.pem"))),
            ("postgres://me@db/tw", of("postgres://me@db/tw", None)),
            (
                "postgresql://me@db/tw?sslrootcert=%2Fa%2Fb.pem&sslmode=verify-ca&connect_timeout=3",
                of("postgresql://me@db/tw?sslmode=require&connect_timeout=3", Some("/a/b.pem")),
            ),
            ("postgres://me:sslmode=x@db/tw", of("postgres://me:sslmode=x@db/tw", None)),
        ] {
            assert_eq!(plain(address), expected, "{address}");
        }
        for wrong in ["host=db sslrootcert=/none", "host=db sslmode=require sslrootcert=/none"] {
            assert!(matches!(connect(wrong), Err(ConnectError::Address(_))), "{wrong}");
        }
    }
}
