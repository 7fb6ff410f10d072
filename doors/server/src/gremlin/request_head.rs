//! The head of an HTTP/1.1 request: its first line and its headers.

use super::reading::Malformed;
use crate::percent;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Headers of one request.
pub const HEADERS_MAX: usize = 100;

/// What stands before the body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `GET`, `POST`, …
    pub method: String,
    /// Without what is asked.
    pub path: String,
    /// What stands behind the question mark, as it came.
    pub query: String,
    /// May the client send another request on the same connection?
    pub keeps_alive: bool,
    /// Does it know chunks, as all do but those of HTTP/1.0?
    pub knows_chunks: bool,
    /// Names in small letters.
    headers: Vec<(String, String)>,
}

fn malformed<T>(why: &str) -> Result<T, Malformed> {
    Err(Malformed::new(why))
}

impl Head {
    /// Reads a head from the front of what came; none where its end is not here yet. Tells how long it is.
    ///
    /// # Errors
    /// It is no HTTP/1.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, Malformed> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
        let Ok(text) = std::str::from_utf8(&bytes[..end]) else { return malformed("its head is no text") };
        let mut lines = text.split("\r\n");
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, version @ ("HTTP/1.1" | "HTTP/1.0")] = words[..] else {
            return malformed("its first line is not that of HTTP/1");
        };
        if !target.starts_with('/') || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return malformed("its first line is not that of HTTP/1");
        }
        let mut headers = Vec::new();
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { return malformed("a header has no value") };
            if name.is_empty() || name.contains(char::is_whitespace) || headers.len() == HEADERS_MAX {
                return malformed("a header has no name, or there are too many");
            }
            headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut head = Head {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            keeps_alive: false,
            knows_chunks: version == "HTTP/1.1",
            headers,
        };
        head.keeps_alive = match version {
            "HTTP/1.1" => !head.says("connection", "close"),
            _ => head.says("connection", "keep-alive"),
        };
        Ok(Some((head, end + 4)))
    }
    /// The value of a header; its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
    /// Is a word among those of a header?
    pub fn says(&self, name: &str, word: &str) -> bool {
        let all = self.header(name).into_iter().flat_map(|value| value.split(','));
        all.map(str::trim).any(|one| one.eq_ignore_ascii_case(word))
    }
    /// Does it ask for WebSocket? Its key, then.
    pub fn web_socket_key(&self) -> Option<&str> {
        let asks = self.says("upgrade", "websocket") && self.says("connection", "upgrade");
        let fits = self.header("sec-websocket-version") == Some("13") && self.method == "GET";
        self.header("sec-websocket-key").filter(|_| asks && fits)
    }
    /// Length of the body.
    ///
    /// # Errors
    /// It cannot be told before the body is read, or is none.
    pub fn body_bytes(&self) -> Result<usize, Malformed> {
        if self.header("transfer-encoding").is_some() {
            return malformed("a body must say its length: Content-Length");
        }
        let mut lengths = self.headers.iter().filter(|(name, _)| name == "content-length");
        match (lengths.next(), lengths.next()) {
            (None, _) => Ok(0),
            (Some((_, length)), None) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                length.parse().map_err(|_| Malformed::new("its length is none"))
            }
            _ => malformed("its length is none"),
        }
    }
    /// Does it name this machine by `localhost` or a loopback address? A page can have its own name mean this machine and so be of the same
    /// site as the server, but its browser still says that name. Who is no browser may name nothing.
    pub fn is_for_this_machine(&self) -> bool {
        let mut hosts = self.headers.iter().filter(|(name, _)| name == "host").map(|(_, host)| host.as_str());
        hosts.all(names_this_machine)
    }
    /// Was it sent by a page of another site, in somebody's browser? Such a page must not reach a server that asks for no password.
    pub fn is_of_another_site(&self) -> bool {
        let host_of = |text: &str| {
            let text = text.rsplit_once("//").map_or(text, |(_, host)| host);
            let bare =
                text.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
            match bare.map_or(text, |(host, _)| host).to_ascii_lowercase() {
                // All of them are this machine.
                host if ["127.0.0.1", "[::1]"].contains(&host.as_str()) => "localhost".into(),
                host => host,
            }
        };
        let origin = self.header("origin").map(host_of);
        let host = self.header("host").map(host_of).unwrap_or_default();
        self.header("sec-fetch-site") == Some("cross-site") || origin.is_some_and(|origin| origin != host)
    }
}

/// A host with its port or without.
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

/// Pairs of what is asked, percent signs and pluses undone.
///
/// # Errors
/// What stands behind a percent sign is no byte, or the whole no UTF-8.
pub fn decoded_pairs(query: &str) -> Result<Vec<(String, String)>, Malformed> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(key)?, decoded(value)?))
        })
        .collect()
}

fn decoded(text: &str) -> Result<String, Malformed> {
    let Some(bytes) = percent::decoded(&text.replace('+', " ")) else {
        return malformed("a percent sign stands before no byte");
    };
    String::from_utf8(bytes).map_err(|_| Malformed::new("what is asked is not UTF-8"))
}
