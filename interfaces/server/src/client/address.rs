//! The address of a server and its transport: `bolt://host:port`, `bolt+s://`, `bolt+ssc://`, the same with `neo4j`.

use database::Error;

/// Port of Bolt where none is said.
const PORT: u16 = 7687;

/// How a connection is wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// It is not.
    Plain,
    /// TLS; the certificate must be one that the system trusts, or of this file (PEM).
    Trusted(Option<std::path::PathBuf>),
    /// TLS with any certificate.
    Any,
    /// TLS with exactly this certificate (DER).
    Pinned(Vec<u8>),
}

/// A server's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or number.
    pub host: String,
    /// Port.
    pub port: u16,
    /// TLS or not.
    pub security: Security,
}

/// Does a text look like a server's URL, and not like a folder?
pub fn is_url(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, _)| scheme.starts_with("bolt") || scheme.starts_with("neo4j"))
}

impl Address {
    /// Parses a URL. `neo4j` means the same as `bolt`: the named server is used, without routing.
    ///
    /// # Errors
    /// It is no such URL.
    pub fn parse(url: &str) -> Result<Address, Error> {
        let wrong = |why: &str| {
            Error::new(
                "Tanglewood.ClientError.Client.Address",
                format!("`{url}` is no address of a server: {why}"),
            )
            .hint("write bolt://HOST:PORT, or bolt+s:// for TLS")
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("it has no scheme"))?;
        let security = match scheme {
            "bolt" | "neo4j" => Security::Plain,
            "bolt+s" | "neo4j+s" => Security::Trusted(None),
            "bolt+ssc" | "neo4j+ssc" => Security::Any,
            _ => return Err(wrong("its scheme is not known")),
        };
        let rest = rest.trim_end_matches('/');
        if rest.contains(['/', '?', '@']) {
            return Err(wrong("nothing follows the port, and no name comes before the host"));
        }
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') && (!host.contains(':') || host.ends_with(']')) => {
                (host, port.parse().map_err(|_| wrong("its port is no number from 0 to 65535"))?)
            }
            _ => (rest, PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(wrong("it names no host"));
        }
        Ok(Address { host: host.into(), port, security })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let of = |url: &str| Address::parse(url).map(|a| (a.host, a.port, a.security)).ok();
        let plain = |host: &str, port| Some((host.to_string(), port, Security::Plain));
        assert_eq!(of("bolt://localhost"), plain("localhost", 7687));
        assert_eq!(of("neo4j://10.0.0.1:7000/"), plain("10.0.0.1", 7000));
        assert_eq!(of("bolt://[::1]:9"), plain("::1", 9));
        assert_eq!(of("bolt://[::1]"), plain("::1", 7687));
        assert_eq!(of("bolt+ssc://h").unwrap().2, Security::Any);
        assert_eq!(of("bolt+s://h").unwrap().2, Security::Trusted(None));
        for bad in ["bolt://", "http://h", "bolt://h:x", "h:7687", "bolt://a@h", "bolt://h/db"] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert!(is_url("bolt+s://h") && !is_url("people.db") && !is_url("s3://bucket"));
    }
}
