//! Which URLs may be read: a list of hosts, empty unless someone fills it.
//!
//! Idea: a database that reads URLs on request is a way into its network. So a host is read only if it is listed; one that matches a `*` is read at
//! public addresses only, and a host that is listed by its whole name at any address. The address is checked after its name was resolved, and that
//! very address is connected to; the same holds for every host of a redirect. Reading itself is the feature `urls` ([`fetch`]).

use formats::urls::UrlReader;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

#[cfg(feature = "urls")]
mod fetch;

/// Hosts that a list may have.
const HOSTS_MAX: usize = 256;

/// The hosts of which URLs may be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UrlRules {
    hosts: Vec<Host>,
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    /// Without TLS?
    is_plain: bool,
    name: HostName,
    /// Any where absent.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    /// At any address: no list says so.
    Everywhere,
    /// At public addresses.
    Any,
    /// Below a domain.
    Below(String),
    Whole(String),
}

/// The parts of a URL by which its host is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UrlTarget<'u> {
    pub is_plain: bool,
    pub host: &'u str,
    pub port: u16,
}

impl UrlRules {
    /// Reads a list: hosts between commas, such as `data.example.org, *.example.com, http://localhost:8000, *`. Without `http://` before it a host is read by
    /// https alone.
    ///
    /// # Errors
    /// An entry is no host.
    pub fn parse(text: &str) -> Result<UrlRules, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let hosts = entries.map(host).collect::<Result<Vec<Host>, String>>()?;
        if hosts.len() > HOSTS_MAX {
            return Err(format!("there are more than {HOSTS_MAX} hosts"));
        }
        Ok(UrlRules { hosts })
    }
    /// All hosts, at any address, with and without TLS: for users who may read anything anyhow.
    #[must_use]
    pub(crate) fn everything() -> UrlRules {
        UrlRules { hosts: vec![Host { is_plain: true, name: HostName::Everywhere, port: None }] }
    }
    /// May nothing be read?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }
    /// The reader of URLs by these rules; none where the list is empty.
    ///
    /// # Errors
    /// This build lacks the feature `urls`.
    pub fn reader(&self) -> Result<Option<Arc<dyn UrlReader>>, String> {
        if self.is_empty() {
            return Ok(None);
        }
        #[cfg(feature = "urls")]
        return Ok(Some(Arc::new(fetch::Fetcher::new(self.clone()))));
        #[cfg(not(feature = "urls"))]
        Err("this program was built without the feature `urls`, which reads URLs".into())
    }
    /// May a host be read, and at addresses that are not public?
    pub(crate) fn allow(&self, target: UrlTarget<'_>) -> Option<AddressReach> {
        let name = target.host.trim_end_matches('.').trim_matches(['[', ']']).to_ascii_lowercase();
        let fits = |host: &&Host| {
            (host.is_plain || !target.is_plain)
                && host.port.is_none_or(|port| port == target.port)
                && match &host.name {
                    HostName::Any | HostName::Everywhere => true,
                    HostName::Below(domain) => {
                        name.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'))
                    }
                    HostName::Whole(whole) => *whole == name,
                }
        };
        let reach = |host: &Host| match host.name {
            HostName::Whole(_) | HostName::Everywhere => AddressReach::Anywhere,
            _ => AddressReach::Public,
        };
        self.hosts.iter().filter(fits).map(reach).max()
    }
}

impl FromIterator<UrlRules> for UrlRules {
    fn from_iter<I: IntoIterator<Item = UrlRules>>(lists: I) -> UrlRules {
        UrlRules { hosts: lists.into_iter().flat_map(|rules| rules.hosts).collect() }
    }
}

impl fmt::Display for UrlRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, host) in self.hosts.iter().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            f.write_str(if host.is_plain { "http://" } else { "" })?;
            match &host.name {
                HostName::Any | HostName::Everywhere => f.write_str("*")?,
                HostName::Below(domain) => write!(f, "*.{domain}")?,
                HostName::Whole(name) if name.contains(':') => write!(f, "[{name}]")?,
                HostName::Whole(name) => f.write_str(name)?,
            }
            if let Some(port) = host.port {
                write!(f, ":{port}")?;
            }
        }
        Ok(())
    }
}

/// At which addresses a host may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressReach {
    Public,
    Anywhere,
}

impl AddressReach {
    pub fn allows(self, address: IpAddr) -> bool {
        self == AddressReach::Anywhere || is_public(address)
    }
}

fn host(entry: &str) -> Result<Host, String> {
    let wrong = || {
        format!(
            "`{entry}` is no host; hosts are data.example.org, *.example.org, http://localhost:8000, or *"
        )
    };
    let (is_plain, rest) = match entry.split_once("://") {
        Some(("http", rest)) => (true, rest),
        Some(("https", rest)) => (false, rest),
        Some(_) => return Err(wrong()),
        None => (false, entry),
    };
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') && (!name.contains(':') || name.ends_with(']')) => {
            (name, Some(port.parse().map_err(|_| wrong())?))
        }
        _ => (rest, None),
    };
    let name = name.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let is_name = |name: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        !name.is_empty() && (name.bytes().all(known) || name.parse::<Ipv6Addr>().is_ok())
    };
    let name = match name.strip_prefix("*.") {
        _ if name == "*" => HostName::Any,
        Some(domain) if is_name(domain) => HostName::Below(domain.to_string()),
        None if is_name(&name) => HostName::Whole(name),
        _ => return Err(wrong()),
    };
    Ok(Host { is_plain, name, port })
}

/// Is it an address of the public network, and of one machine? By the registries of special addresses (RFC 6890 and what follows it).
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224.., ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18..=19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let inner = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (a, b) {
        // Addresses of the older kind within: translated, or tunnelled.
        (0x64, 0xff9b) => [c, d, e, f] == [0; 4] && is_public_v4(inner(g, h)),
        (0x2002, _) => is_public_v4(inner(b, c)),
        // Special purposes, Teredo among them, and examples.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
        (0x2000..=0x3fff, _) => true,
        _ => address.to_ipv4_mapped().is_some_and(is_public_v4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(rules: &str, url: &str) -> Option<AddressReach> {
        let (scheme, rest) = url.split_once("://").unwrap();
        let (host, port) = rest.rsplit_once(':').unwrap();
        let target = UrlTarget { is_plain: scheme == "http", host, port: port.parse().unwrap() };
        UrlRules::parse(rules).unwrap().allow(target)
    }

    #[test]
    fn hosts_are_read_as_they_are_listed() {
        let (public, anywhere) = (Some(AddressReach::Public), Some(AddressReach::Anywhere));
        for (rules, url, expected) in [
            ("", "https://x.org:443", None),
            ("x.org", "https://X.org.:443", anywhere),
            ("x.org", "http://x.org:80", None),
            ("http://x.org", "https://x.org:443", anywhere),
            ("https://x.org", "http://x.org:80", None),
            ("x.org", "https://ax.org:443", None),
            ("*.x.org", "https://a.x.org:443", public),
            ("*.x.org", "https://x.org:443", None),
            ("*.x.org", "https://ax.org:443", None),
            ("*", "https://10.0.0.1:443", public),
            ("*, 10.0.0.1", "https://10.0.0.1:443", anywhere),
            ("http://localhost:8000", "http://localhost:8000", anywhere),
            ("http://localhost:8000", "http://localhost:8001", None),
            ("[::1]:9", "https://[::1]:9", anywhere),
            ("::1", "https://[::1]:9", anywhere),
        ] {
            assert_eq!(allow(rules, url), expected, "{rules}: {url}");
        }
        for wrong in ["a b", "ftp://x", "x:port", "*x", "x.*", "x:70000", "x/y", "http://"] {
            assert!(UrlRules::parse(wrong).is_err(), "{wrong}");
        }
        let text = "http://localhost:8000, *.x.org, [::1]:9, *";
        assert_eq!(UrlRules::parse(text).unwrap().to_string(), text);
        assert!(UrlRules::parse(&"x,".repeat(HOSTS_MAX)).is_ok());
        assert!(UrlRules::parse(&"x,".repeat(HOSTS_MAX + 1)).is_err());
    }

    #[test]
    fn only_addresses_of_the_public_network_are_public() {
        let public = |text: &str| is_public(text.parse().unwrap());
        for text in [
            "8.8.8.8",
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(public(text), "{text}");
        }
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "::127.0.0.1",
            "64:ff9c::1",
        ] {
            assert!(!public(text), "{text}");
        }
    }
}
