//! Authentication: tokens of clients and of replicas, and TLS around every connection.
//!
//! Idea: a call shows `authorization: Bearer TOKEN`. Any token of the file is valid, so that a new one can be added before the old one goes. Replicas
//! show each other a token of their own: clients that may order events must not be able to pose as a replica.
//! Invariant: a token is compared in a time that does not depend on where it differs, and is never printed.

use crate::KronosServerError;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};
use tonic::{Request, Status};

/// The shortest token: it must not be guessed.
pub const TOKEN_BYTES_MIN: usize = 16;
/// The longest token.
pub const TOKEN_BYTES_MAX: usize = 512;
/// Tokens of one file.
pub const TOKENS_MAX: usize = 1_024;
/// How long a client may take to agree on keys.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Tokens that are good, from a file: one a line; empty lines and those with `#` in front do not count.
#[derive(Clone)]
pub struct Tokens(Arc<Vec<String>>);

impl Tokens {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or a line is no token.
    pub fn from_file(path: &Path) -> Result<Tokens, KronosServerError> {
        let wrong = |what: String| KronosServerError::Tokens(format!("{}: {what}", path.display()));
        let text = world::files::read_text(path).map_err(|error| wrong(error.to_string()))?;
        Tokens::from_text(&text).map_err(|error| match error {
            KronosServerError::Tokens(what) => wrong(what),
            other => other,
        })
    }
    /// The same from a text.
    ///
    /// # Errors
    /// A line is no token, or there is none.
    pub fn from_text(text: &str) -> Result<Tokens, KronosServerError> {
        let wrong = |what: String| Err(KronosServerError::Tokens(what));
        let mut tokens = Vec::new();
        for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if !line.bytes().all(|byte| byte.is_ascii_graphic()) {
                return wrong(format!(
                    "line {at}: a token has letters, digits and signs of ASCII, no spaces"
                ));
            }
            if !(TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&line.len()) {
                return wrong(format!(
                    "line {at}: a token has {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} characters"
                ));
            }
            tokens.push(line.to_string());
        }
        match tokens.len() {
            0 => wrong("there is no token in it".into()),
            1..=TOKENS_MAX => Ok(Tokens(Arc::new(tokens))),
            count => wrong(format!("it has {count} tokens; {TOKENS_MAX} are the limit")),
        }
    }

    /// The first of the file: the one that its owner shows.
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }
    fn admit(&self, shown: &str) -> bool {
        self.0.iter().fold(false, |known, token| known | is_same(token.as_bytes(), shown.as_bytes()))
    }
    /// The first, as metadata.
    fn own(&self) -> Option<MetadataValue<Ascii>> {
        let mut value: MetadataValue<Ascii> = format!("Bearer {}", self.first()?).parse().ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens", self.0.len())
    }
}

/// Equal? In a time that depends on the lengths alone.
fn is_same(known: &[u8], shown: &[u8]) -> bool {
    let differences = known.iter().zip(shown).fold(0, |found, (a, b)| found | (a ^ b));
    known.len() == shown.len() && std::hint::black_box(differences) == 0
}

/// On whose behalf a call comes; an extension of each request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rank {
    /// Orders events.
    Client,
    /// Acts as a replica, or changes the members.
    Replica,
}

/// Asks every call of one service for a token.
#[derive(Clone)]
pub(crate) struct Guard {
    clients: Option<Tokens>,
    replicas: Option<Tokens>,
    /// Only replicas may come.
    is_inner: bool,
}

impl Guard {
    /// Of the service for clients.
    pub(crate) fn outer(clients: Option<Tokens>, replicas: Option<Tokens>) -> Guard {
        Guard { clients, replicas, is_inner: false }
    }
    /// Of the service between replicas.
    pub(crate) fn inner(clients: Option<Tokens>, replicas: Option<Tokens>) -> Guard {
        Guard { clients, replicas, is_inner: true }
    }

    fn rank(&self, shown: Option<&str>) -> Result<Rank, Status> {
        let holds = |tokens: &Option<Tokens>| match (tokens, shown) {
            (Some(tokens), Some(shown)) => tokens.admit(shown),
            _ => false,
        };
        let refused = || {
            let what =
                if shown.is_some() { "the token is not known here" } else { "this server asks for a token" };
            Err(Status::unauthenticated(format!("{what}; send the metadata `authorization: Bearer TOKEN`")))
        };
        match (&self.clients, &self.replicas) {
            (None, None) => Ok(Rank::Replica),
            _ if holds(&self.replicas) => Ok(Rank::Replica),
            _ if self.is_inner => refused(),
            (None, Some(_)) => Ok(Rank::Client),
            _ if holds(&self.clients) => Ok(Rank::Client),
            _ => refused(),
        }
    }
}

impl Interceptor for Guard {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let shown = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        let rank = self.rank(shown.and_then(|shown| shown.strip_prefix("Bearer ")))?;
        request.extensions_mut().insert(rank);
        Ok(request)
    }
}

/// The token that this replica shows to the others.
#[derive(Clone)]
pub(crate) struct Pass(Option<MetadataValue<Ascii>>);

impl Pass {
    pub(crate) fn of(replicas: Option<&Tokens>) -> Pass {
        Pass(replicas.and_then(Tokens::own))
    }
}

impl Interceptor for Pass {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// A certificate and its key, and the authority of the replicas' certificates.
#[derive(Clone)]
pub struct Tls {
    identity: Identity,
    authority: Certificate,
}

impl Tls {
    /// Reads a chain of certificates (the server's own first), its private key, and the certificates that vouch for the other replicas', all
    /// PEM. Without the last, the first chain vouches for all.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn from_files(
        certificate: &Path,
        key: &Path,
        authority: Option<&Path>,
    ) -> Result<Tls, KronosServerError> {
        let read = |path: &Path| {
            world::files::read_bytes(path).map_err(|error| {
                KronosServerError::Tls(format!("{} cannot be read: {error}", path.display()))
            })
        };
        let certificate = read(certificate)?;
        let authority = authority.map(read).transpose()?.unwrap_or_else(|| certificate.clone());
        Ok(Tls::from_pem(&certificate, &read(key)?, &authority))
    }
    /// The same from texts.
    pub fn from_pem(certificate: &[u8], key: &[u8], authority: &[u8]) -> Tls {
        Tls { identity: Identity::from_pem(certificate, key), authority: Certificate::from_pem(authority) }
    }
    pub(crate) fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new().identity(self.identity.clone()).timeout(HANDSHAKE_TIMEOUT)
    }
    pub(crate) fn client(&self) -> ClientTlsConfig {
        ClientTlsConfig::new().ca_certificate(self.authority.clone())
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tokens_have_limits() {
        let good = Tokens::from_text("# two\n\n0123456789abcdef\n  abcdefghijklmnop-2  \n").unwrap();
        assert!(good.admit("0123456789abcdef") && good.admit("abcdefghijklmnop-2"));
        assert_eq!(good.first(), Some("0123456789abcdef"), "a comment is no token");
        assert!(!good.admit("") && !good.admit("0123456789abcde") && !good.admit("0123456789abcdefg"));
        assert_eq!(format!("{good:?}"), "2 tokens");
        let longest = "x".repeat(TOKEN_BYTES_MAX);
        assert!(Tokens::from_text(&longest).is_ok());
        let many = |count| (0..count).map(|at| format!("token-{at:016}\n")).collect::<String>();
        assert!(Tokens::from_text(&many(TOKENS_MAX)).is_ok());
        for bad in ["", "# only\n", "short", "with spaces in between", "naïve-naïve-naïve", &(longest + "x")]
        {
            assert!(Tokens::from_text(bad).is_err(), "{bad}");
        }
        assert!(Tokens::from_text(&many(TOKENS_MAX + 1)).is_err());
    }

    #[test]
    fn who_may_do_what() {
        let tokens = |text: &str| Some(Tokens::from_text(text).unwrap());
        let (client, replica) = ("client-client-client", "replica-replica-replica");
        let rank = |guard: &Guard, shown| guard.rank(shown).map_err(|status| status.code());
        let refused = Err(tonic::Code::Unauthenticated);
        let open = Guard::inner(None, None);
        assert_eq!(rank(&open, None), Ok(Rank::Replica));
        let outer = Guard::outer(tokens(client), tokens(replica));
        assert_eq!(rank(&outer, Some(client)), Ok(Rank::Client));
        assert_eq!(rank(&outer, Some(replica)), Ok(Rank::Replica));
        assert_eq!((rank(&outer, None), rank(&outer, Some("x"))), (refused, refused));
        let inner = Guard::inner(tokens(client), tokens(replica));
        assert_eq!(rank(&inner, Some(replica)), Ok(Rank::Replica));
        assert_eq!((rank(&inner, None), rank(&inner, Some(client))), (refused, refused));
        // Tokens of clients alone: nobody speaks for a replica.
        let alone = Guard::inner(tokens(client), None);
        assert_eq!((rank(&alone, None), rank(&alone, Some(client))), (refused, refused));
        // Tokens of replicas alone: everybody orders events, and replicas change who they are.
        let half = Guard::outer(None, tokens(replica));
        assert_eq!((rank(&half, None), rank(&half, Some(replica))), (Ok(Rank::Client), Ok(Rank::Replica)));
    }
}
