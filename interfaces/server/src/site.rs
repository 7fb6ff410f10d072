//! Requests of pages of other sites, checked by `Host`, `Origin` and `Sec-Fetch-Site`. All are refused, unless the sites are named.
//!
//! A browser names the site of the requesting page in `Origin`. Where no password is demanded, a page could still reach a server on this machine
//! under a name of its own that resolves to this machine (DNS rebinding); its browser still sends that name. So `Host` must be `localhost` or a
//! loopback address there. A client that is no browser may send none of the three.

use hyper::header::HeaderMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Headers of a request, by their names in small letters.
pub(crate) trait HeaderFields {
    /// All values of a header, in order. One that is no text is empty.
    fn values(&self, name: &str) -> impl Iterator<Item = &str>;
}

impl HeaderFields for HeaderMap {
    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.get_all(name).iter().map(|value| value.to_str().unwrap_or_default())
    }
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is more than one `Host`.
    Hosts,
    /// There is none, which HTTP/1.1 demands.
    NoHost,
    /// It is another than the one in the first line.
    OtherHost,
    /// The server demands no password, and `Host` does not name this machine.
    Name,
    /// The requesting page is of another site.
    Page,
}

impl Fault {
    pub fn message(self) -> &'static str {
        match self {
            Fault::Hosts => "there is more than one Host",
            Fault::NoHost => "a request of HTTP/1.1 must have a Host",
            Fault::OtherHost => "the Host is another than the one in the first line",
            Fault::Name => {
                "a server that asks for no password answers only to localhost or a loopback address as Host"
            }
            Fault::Page => "pages of other sites may not ask here",
        }
    }
}

/// Parts of a request's first line beside the path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestTarget<'t> {
    /// Host and port, where the line names a whole address (RFC 9112, 3.2.2).
    pub authority: Option<&'t str>,
    /// Is it HTTP/1.1, so that there must be a `Host`?
    pub needs_host: bool,
}

/// Does the server answer to the name by which the client reached it?
///
/// # Errors
/// It does not, or the name is missing.
pub(crate) fn check_name(
    fields: &impl HeaderFields,
    target: RequestTarget<'_>,
    asks_passwords: bool,
) -> Result<(), Fault> {
    let mut hosts = fields.values("host");
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(Fault::Hosts);
    }
    if target.needs_host && host.is_none() {
        return Err(Fault::NoHost);
    }
    // Pages are judged by `Host`, so no other name may hide in the first line.
    if let (Some(host), Some(authority)) = (host, target.authority)
        && !host.eq_ignore_ascii_case(authority)
    {
        return Err(Fault::OtherHost);
    }
    match host.or(target.authority).is_none_or(|host| asks_passwords || names_this_machine(host)) {
        true => Ok(()),
        false => Err(Fault::Name),
    }
}

/// The site of the requesting page, if it is allowed and another than ours: a named one (`https://app.example`, or `*` for all). Ours is the very
/// address of the request, port and all.
///
/// # Errors
/// It is not allowed.
pub(crate) fn check_page<'f>(
    fields: &'f impl HeaderFields,
    named: &[String],
) -> Result<Option<&'f str>, Fault> {
    let (origin, host) = (fields.values("origin").next(), fields.values("host").next().unwrap_or_default());
    let is_own = origin.is_none_or(|origin| is_same(origin, host));
    // Another port is `same-site`, and a page there that shows an image sends no `Origin`. `none` is an address that a person typed.
    let is_ours = |site: &str| ["same-origin", "none"].contains(&site);
    if is_own && fields.values("sec-fetch-site").all(is_ours) {
        return Ok(None);
    }
    let other = origin.filter(|origin| named.iter().any(|one| one == "*" || one == origin));
    other.map(Some).ok_or(Fault::Page)
}

fn is_same(origin: &str, host: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    !host.is_empty() && authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// A host with its port or without: `localhost`, or a loopback address.
fn names_this_machine(host: &str) -> bool {
    let is_port = |text: &str| text.parse::<u16>().is_ok();
    let loopback_6 = |text: &str| text.parse::<Ipv6Addr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
    if let Some((ip, behind)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        return loopback_6(ip) && (behind.is_empty() || behind.strip_prefix(':').is_some_and(is_port));
    }
    let bare = match host.split_once(':') {
        Some((bare, port)) if is_port(port) => bare,
        Some(_) => return false,
        None => host,
    };
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (
                hyper::header::HeaderName::from_static(name),
                hyper::header::HeaderValue::from_str(value).unwrap(),
            )
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn other_sites_ask_nothing_unless_they_are_named() {
        let ours = [("host", "127.0.0.1:7474")];
        assert_eq!(check_page(&headers(&ours), &[]), Ok(None));
        for (host, origin, asks, may) in [
            ("localhost:7474", "http://localhost:7474", false, true),
            ("[::1]:7474", "http://[::1]:7474", false, true),
            ("localhost:7474", "http://localhost:7475", false, false),
            ("localhost:7474", "http://127.0.0.1:7474", false, false),
            ("localhost:7474", "null", false, false),
            ("evil.example:7474", "http://evil.example:7474", false, false),
            ("10.0.0.1:7474", "http://10.0.0.1:7474", false, false),
            ("", "http://evil.example", false, false),
            ("graph.example", "https://graph.example", true, true),
            ("graph.example", "https://evil.example", true, false),
            ("graph.example", "https://graph.example.evil.example", true, false),
        ] {
            let asked = headers(&[("host", host), ("origin", origin)]);
            let outcome =
                check_name(&asked, RequestTarget::default(), asks).and_then(|()| check_page(&asked, &[]));
            assert_eq!(outcome.is_ok(), may, "{origin} at {host}");
        }
        let named = ["https://app.example".to_string()];
        let asked = headers(&[
            ("host", "graph.example"),
            ("origin", "https://app.example"),
            ("sec-fetch-site", "cross-site"),
        ]);
        assert_eq!(check_page(&asked, &named), Ok(Some("https://app.example")));
        assert_eq!(check_page(&asked, &[]), Err(Fault::Page));
        for (site, outcome) in [
            ("same-origin", Ok(None)),
            ("none", Ok(None)),
            ("same-site", Err(Fault::Page)),
            ("cross-site", Err(Fault::Page)),
            ("", Err(Fault::Page)),
        ] {
            let silent = headers(&[("host", "localhost"), ("sec-fetch-site", site)]);
            assert_eq!(check_page(&silent, &[]), outcome, "{site}");
        }
        let twice =
            headers(&[("host", "localhost"), ("sec-fetch-site", "none"), ("sec-fetch-site", "same-site")]);
        assert_eq!(check_page(&twice, &[]), Err(Fault::Page));
    }

    #[test]
    fn the_first_line_names_no_other_host() {
        for (host, authority, needs_host, outcome) in [
            (Some("localhost:1"), Some("localhost:1"), true, Ok(())),
            (Some("localhost:1"), Some("LOCALHOST:1"), true, Ok(())),
            (Some("localhost:1"), Some("evil.example"), true, Err(Fault::OtherHost)),
            (Some("evil.example"), Some("localhost:1"), true, Err(Fault::OtherHost)),
            (Some("evil.example"), Some("evil.example"), true, Err(Fault::Name)),
            (None, Some("localhost:1"), true, Err(Fault::NoHost)),
            (None, None, true, Err(Fault::NoHost)),
            (None, Some("evil.example"), false, Err(Fault::Name)),
            (None, Some("localhost:1"), false, Ok(())),
            (None, None, false, Ok(())),
        ] {
            let asked = headers(&host.map(|host| ("host", host)).into_iter().collect::<Vec<_>>());
            let told = check_name(&asked, RequestTarget { authority, needs_host }, false);
            assert_eq!(told, outcome, "{host:?} {authority:?} {needs_host}");
        }
    }

    #[test]
    fn there_is_one_host_at_most() {
        let two = headers(&[("host", "localhost"), ("host", "localhost")]);
        assert_eq!(check_name(&two, RequestTarget::default(), true), Err(Fault::Hosts));
    }
}
