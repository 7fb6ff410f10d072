//! The connection to the database: plain, or by TLS where its address says `sslmode=require` or more.
//!
//! `sslrootcert` and the modes `verify-ca` and `verify-full` are libpq's words, which the driver does not know, so they are parsed here. In every
//! mode with TLS the server's certificate and its name are verified: encryption without that does not protect against a man in the middle.

use postgres::config::SslMode;
use postgres::{Client, Config, NoTls};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
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

/// An address without libpq's words, and their values.
#[derive(Debug, PartialEq, Eq)]
struct Plain {
    address: String,
    roots: Option<String>,
}

/// Takes `sslrootcert` out of an address, a URL or words with `=`, and makes one mode of those that check.
fn plain(address: &str) -> Plain {
    let is_url = address.starts_with("postgres://") || address.starts_with("postgresql://");
    let (head, words, between) = match (is_url, address.split_once('?')) {
        (true, Some((head, query))) => {
            (format!("{head}?"), query.split('&').map(str::to_string).collect::<Vec<_>>(), "&")
        }
        (true, None) => (address.to_string(), Vec::new(), "&"),
        (false, _) => (String::new(), words(address), " "),
    };
    let (mut kept, mut roots) = (Vec::new(), None);
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((&word, ""));
        let value = if is_url { unescaped(value) } else { unquoted(value.trim()) };
        match (name.trim(), value.as_str()) {
            ("sslrootcert", _) => roots = Some(value),
            ("sslmode", "verify-ca" | "verify-full") => kept.push("sslmode=require".to_string()),
            _ => kept.push(word),
        }
    }
    Plain { address: head + &kept.join(between), roots }
}

/// The words of an address, cut at blanks outside of quotes; a blank before or after `=` is left out.
fn words(address: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted, mut is_escaped) = (Vec::new(), String::new(), false, false);
    for letter in address.chars() {
        match letter {
            ' ' if !is_quoted && !is_escaped && word.ends_with('=') => {}
            ' ' if !is_quoted && !is_escaped => words.push(std::mem::take(&mut word)),
            '=' if !is_quoted && word.is_empty() => {
                // The name stood before a blank.
                word = words.pop().unwrap_or_default() + "=";
            }
            letter => word.push(letter),
        }
        is_quoted ^= letter == '\'' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(value);
    let (mut plain, mut is_escaped) = (String::new(), false);
    for letter in inner.chars() {
        is_escaped = letter == '\\' && !is_escaped;
        if !is_escaped {
            plain.push(letter);
        }
    }
    plain
}

/// A part of a URL without its percent signs.
fn unescaped(value: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), value.as_bytes());
    while let Some((first, left)) = rest.split_first() {
        let code = (*first == b'%').then(|| left.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &left[2..] } else { left };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Connects as the address says.
///
/// # Errors
/// See [`ConnectError`].
/// A database that takes no connection, or does not even say that it received something, for so long is away; an address may say otherwise.
const SILENCE_MAX: Duration = Duration::from_secs(3);

pub(crate) fn connect(address: &str) -> Result<Client, ConnectError> {
    let Plain { address, roots } = plain(address);
    if let Some(file) = roots.as_ref().filter(|file| !Path::new(file).is_absolute()) {
        return Err(ConnectError::Address(format!("sslrootcert={file}: name the file by its whole path")));
    }
    let mut config: Config = address.parse()?;
    // A database that hangs is one that is away.
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(SILENCE_MAX);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE_MAX);
    }
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
            (
                "host=db  sslmode = 'verify-full' sslrootcert='/a b/it\\'s.pem' user=me",
                of("host=db sslmode=require user=me", Some("/a b/it's.pem")),
            ),
            ("password='a b sslmode=c' host=db", of("password='a b sslmode=c' host=db", None)),
            (
                "postgres://db/?sslrootcert=/a%20b%2fc&sslmode=verify%2Dfull",
                of("postgres://db/?sslmode=require", Some("/a b/c")),
            ),
        ] {
            assert_eq!(plain(address), expected, "{address}");
        }
        for wrong in [
            "host=db sslmode=require sslrootcert=ca.pem",
            "host=db sslrootcert=/none",
            "host=db sslmode=require sslrootcert=/none",
        ] {
            assert!(matches!(connect(wrong), Err(ConnectError::Address(_))), "{wrong}");
        }
    }
}
