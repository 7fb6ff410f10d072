//! Pages of other sites: what a browser may ask for them. Nothing, unless `--http-cors` names them.
//!
//! A browser says in `Origin` which page asks. Where no password is asked, a page could still reach a server on this machine under a name
//! of its own (DNS rebinding), so `Host` must be an address or `localhost` there.

use super::refusal::Refusal;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, HOST, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{StatusCode, Uri};
use std::net::IpAddr;

/// Seconds for which a browser remembers what it may ask.
const PREFLIGHT_SECONDS: &str = "600";

/// Is the name by which the client reached the server one that it answers to?
///
/// # Errors
/// It is not.
pub(super) fn check_host(headers: &HeaderMap, asks_passwords: bool) -> Result<(), Refusal> {
    if headers.get_all(HOST).iter().count() > 1 {
        return Err(Refusal::invalid("there is more than one Host"));
    }
    if !asks_passwords && !is_local_name(host(headers)) {
        let message = "this server asks for no password, so it answers to its address or `localhost` alone";
        return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, message));
    }
    Ok(())
}

fn host(headers: &HeaderMap) -> &str {
    headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

/// The site whose page asks, if it may and is another than ours.
///
/// # Errors
/// It may not.
pub(super) fn check(headers: &HeaderMap, allowed: &[String]) -> Result<Option<HeaderValue>, Refusal> {
    let foreign = || Refusal::new(StatusCode::FORBIDDEN, "pages of other sites may not ask here");
    let Some(origin) = headers.get(ORIGIN) else {
        let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        return if site == Some("cross-site") { Err(foreign()) } else { Ok(None) };
    };
    let text = origin.to_str().map_err(|_| foreign())?;
    if is_same(text, host(headers)) {
        return Ok(None);
    }
    if allowed.iter().any(|one| one == "*" || one == text) {
        return Ok(Some(origin.clone()));
    }
    Err(foreign())
}

fn is_same(origin: &str, host: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    !host.is_empty() && authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// A name that nobody else's domain can be.
fn is_local_name(host: &str) -> bool {
    let uri: Option<Uri> = format!("http://{host}/").parse().ok();
    let name = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    // A client without Host speaks HTTP/1.0 and is no browser.
    host.is_empty() || bare.parse::<IpAddr>().is_ok() || bare.eq_ignore_ascii_case("localhost")
}

/// Tells a browser that the page of this site may read the answer.
pub(super) fn permit(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// Tells a browser what a page may ask.
pub(super) fn permit_methods(headers: &mut HeaderMap) {
    let methods = HeaderValue::from_static("GET, POST, DELETE");
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    let fields = HeaderValue::from_static("authorization, content-type, accept, last-event-id");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, fields);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(PREFLIGHT_SECONDS));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (hyper::header::HeaderName::from_static(name), HeaderValue::from_str(value).expect("plain text"))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn other_sites_ask_nothing_unless_they_are_named() {
        let ours = [("host", "127.0.0.1:7474")];
        assert!(check(&headers(&ours), &[]).is_ok_and(|site| site.is_none()));
        for (host, origin, asks, may) in [
            ("localhost:7474", "http://localhost:7474", false, true),
            ("[::1]:7474", "http://[::1]:7474", false, true),
            ("localhost:7474", "http://localhost:7475", false, false),
            ("localhost:7474", "null", false, false),
            ("evil.example:7474", "http://evil.example:7474", false, false),
            ("graph.example", "https://graph.example", true, true),
            ("graph.example", "https://evil.example", true, false),
            ("graph.example", "https://graph.example.evil.example", true, false),
        ] {
            let asked = headers(&[("host", host), ("origin", origin)]);
            let outcome = check_host(&asked, asks).and_then(|()| check(&asked, &[]));
            assert_eq!(outcome.is_ok(), may, "{origin} at {host}");
        }
        let named = ["https://app.example".to_string()];
        let asked = headers(&[("host", "graph.example"), ("origin", "https://app.example")]);
        assert!(check(&asked, &named).is_ok_and(|site| site.is_some()));
        let silent = headers(&[("host", "localhost"), ("sec-fetch-site", "cross-site")]);
        assert!(check(&silent, &[]).is_err());
    }
}
