//! The head of an HTTP/1.1 request: its first line and its headers, as `httparse` reads them, which the HTTP interface's library does too.

use super::reading::Malformed;
use crate::percent;
use crate::site::HeaderFields;
use httparse::Status;

/// Headers of one request.
pub const HEADERS_MAX: usize = 100;

/// The part before the body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `GET`, `POST`, …
    pub method: String,
    /// Without the query.
    pub path: String,
    /// The part behind the question mark, undecoded.
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
    /// Parses a head from the front of the received bytes; none where it is incomplete. Returns its length.
    ///
    /// # Errors
    /// It is no HTTP/1.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, Malformed> {
        let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut fields);
        let length = match request.parse(bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(error) => return malformed(&format!("its head is not that of HTTP/1: {error}")),
        };
        let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version)
        else {
            return malformed("its first line is not that of HTTP/1");
        };
        if !target.starts_with('/') || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return malformed("its first line is not that of HTTP/1");
        }
        let mut headers = Vec::with_capacity(request.headers.len());
        for field in request.headers.iter() {
            let Ok(value) = std::str::from_utf8(field.value) else { return malformed("a header is no text") };
            headers.push((field.name.to_ascii_lowercase(), value.trim().to_string()));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut head = Head {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            keeps_alive: false,
            knows_chunks: version == 1,
            headers,
        };
        head.keeps_alive = match version {
            1 => !head.says("connection", "close"),
            _ => head.says("connection", "keep-alive"),
        };
        Ok(Some((head, length)))
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
    /// The key of a WebSocket upgrade, if it is one.
    pub fn web_socket_key(&self) -> Option<&str> {
        let asks = self.says("upgrade", "websocket") && self.says("connection", "upgrade");
        let fits = self.header("sec-websocket-version") == Some("13") && self.method == "GET";
        self.header("sec-websocket-key").filter(|_| asks && fits)
    }
    /// Length of the body.
    ///
    /// # Errors
    /// It is not given in the head, or invalid.
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
}

impl HeaderFields for Head {
    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Pairs of the query, percent-decoded, pluses as blanks.
///
/// # Errors
/// A percent sign is not followed by a byte, or the result is no UTF-8.
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
