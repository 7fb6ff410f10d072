//! Reading a URL: one GET, under limits of size, time and redirects.

use super::{UrlRules, UrlTarget};
use crate::certificates;
use formats::urls::UrlReader;
use std::io::{Read, Write};
use std::time::Duration;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

/// Bytes behind a URL.
const URL_BYTES_MAX: u64 = 16 << 30;
/// Time until a host is connected to.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// Time without a byte.
const QUIET_TIME_MAX: Duration = Duration::from_secs(30);
/// Time for all.
const URL_TIME_MAX: Duration = Duration::from_secs(3600);
/// Hosts that an answer leads on to, one after another.
const REDIRECTS_MAX: u32 = 5;
/// Bytes of a URL.
const URL_LENGTH_MAX: usize = 8192;
/// Bytes read between two looks at whether it goes on.
const PIECE_BYTES: usize = 64 << 10;

/// Reads URLs by rules.
#[derive(Debug)]
pub(super) struct Fetcher {
    rules: UrlRules,
    bytes_max: u64,
    /// How TLS is spoken, or why it cannot be.
    tls: Result<TlsConfig, String>,
}

impl Fetcher {
    pub fn new(rules: UrlRules) -> Fetcher {
        Fetcher { rules, bytes_max: URL_BYTES_MAX, tls: certificates::tls() }
    }
    fn agent(&self) -> Result<Agent, String> {
        let config = Config::builder()
            .tls_config(self.tls.clone()?)
            .proxy(None)
            .max_redirects(REDIRECTS_MAX)
            .timeout_connect(Some(CONNECT_TIME_MAX))
            .timeout_resolve(Some(CONNECT_TIME_MAX))
            .timeout_recv_response(Some(QUIET_TIME_MAX))
            .timeout_per_read(Some(QUIET_TIME_MAX))
            .timeout_global(Some(URL_TIME_MAX))
            .max_idle_connections(0)
            .user_agent(concat!("tanglewood/", env!("CARGO_PKG_VERSION")))
            .build();
        let names = ByRules { rules: self.rules.clone(), names: DefaultResolver::default() };
        Ok(Agent::with_parts(config, DefaultConnector::default(), names))
    }
}

impl UrlReader for Fetcher {
    fn read(&self, url: &str, sink: &mut dyn Write, goes_on: &dyn Fn() -> bool) -> Result<(), String> {
        if url.len() > URL_LENGTH_MAX {
            return Err(format!("the URL has more than {URL_LENGTH_MAX} bytes"));
        }
        let answer = self.agent()?.get(url).call().map_err(told)?;
        let mut body = answer.into_body().into_with_config().limit(u64::MAX).reader();
        let (mut piece, mut total) = (vec![0; PIECE_BYTES], 0);
        loop {
            if !goes_on() {
                return Err("the reading was ended".into());
            }
            let count =
                body.read(&mut piece).map_err(|error| format!("it cannot be read to its end: {error}"))?;
            if count == 0 {
                return Ok(());
            }
            total += count as u64;
            if total > self.bytes_max {
                return Err(format!("it has more than {} bytes", self.bytes_max));
            }
            sink.write_all(&piece[..count]).map_err(|error| format!("it cannot be kept: {error}"))?;
        }
    }
}

/// The error, in words of one line.
fn told(error: Error) -> String {
    match error {
        Error::StatusCode(code) => format!("the server answers with status {code}"),
        Error::HostNotFound => "its host is not found".into(),
        Error::TooManyRedirects => format!("it leads on more than {REDIRECTS_MAX} times"),
        Error::Timeout(what) => format!("it took too long ({what})"),
        // What the rules say, or a handshake of TLS.
        Error::Io(error) => match error.to_string() {
            what if what.contains("peer certificate") => {
                format!("{what}; SSL_CERT_FILE names a file of certificates that are trusted instead")
            }
            what => what,
        },
        other => other.to_string(),
    }
}

/// Resolves the names that the rules allow, to the addresses that they allow.
#[derive(Debug)]
struct ByRules {
    rules: UrlRules,
    names: DefaultResolver,
}

impl Resolver for ByRules {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let refuse =
            |what: String| Error::Io(std::io::Error::new(std::io::ErrorKind::PermissionDenied, what));
        let is_plain = uri.scheme_str() != Some("https");
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().unwrap_or(if is_plain { 80 } else { 443 });
        let Some(reach) = self.rules.allow(UrlTarget { is_plain, host, port }) else {
            let scheme = if is_plain { "http" } else { "https" };
            return Err(refuse(format!("import_urls does not list {scheme}://{host}:{port}")));
        };
        let found = self.names.resolve(uri, config, timeout)?;
        let mut allowed = self.empty();
        for address in found.iter().filter(|address| reach.allows(address.ip())) {
            allowed.push(*address);
        }
        if allowed.is_empty() {
            return Err(refuse(format!(
                "{host} is at an address that is not public, and import_urls does not list it by its whole name"
            )));
        }
        Ok(allowed)
    }
}

#[cfg(test)]
mod tests;
