//! The page that people look at: files of `interfaces/web`, built by `cargo xtask web`, compressed, and part of this program.
//!
//! A request to the root that accepts HTML gets the page, any other the document for drivers. A browser revalidates by ETag, so a new version of the
//! server brings a new page at once. The page runs no script but its own, and connects to no other server: see [`POLICY`].

use super::outlet::{Answer, Outgoing, response, whole};
use bytes::Bytes;
use flate2::read::GzDecoder;
use hyper::StatusCode;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, HeaderMap,
    HeaderName, HeaderValue, IF_NONE_MATCH, VARY,
};
use ring::digest::{SHA256, digest};
use std::io::Read;
use std::sync::OnceLock;

/// The content security policy: its own scripts, styles, pictures and worker; requests to this server; nothing inline, in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Bytes of a file once it is unpacked; it is one of ours.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A file of the page.
#[derive(Debug)]
pub(super) struct PageFile {
    path: &'static str,
    mime: &'static str,
    /// Its bytes, compressed by gzip.
    gzip: &'static [u8],
    tag: OnceLock<String>,
}

impl PartialEq for PageFile {
    fn eq(&self, other: &PageFile) -> bool {
        self.path == other.path
    }
}

impl Eq for PageFile {}

const fn file(path: &'static str, mime: &'static str, gzip: &'static [u8]) -> PageFile {
    PageFile { path, mime, gzip, tag: OnceLock::new() }
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

static INDEX: PageFile =
    file("/", "text/html; charset=utf-8", include_bytes!("../../../web/dist/index.html.gz"));
static FILES: [PageFile; 4] = [
    file("/page/page.js", SCRIPT, include_bytes!("../../../web/dist/page.js.gz")),
    file("/page/layout.js", SCRIPT, include_bytes!("../../../web/dist/layout.js.gz")),
    file("/page/page.css", "text/css; charset=utf-8", include_bytes!("../../../web/dist/page.css.gz")),
    file("/page/icon.svg", "image/svg+xml", include_bytes!("../../../web/dist/icon.svg.gz")),
];

/// The file at a path below `/page/`.
pub(super) fn find(path: &str) -> Option<&'static PageFile> {
    FILES.iter().find(|file| file.path == path)
}

/// Does the request come from a browser's navigation?
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|one| one.split(';').next().unwrap_or_default().trim() == "text/html")
}

/// The page itself.
pub(super) fn index(headers: &HeaderMap) -> Answer {
    INDEX.answer(headers)
}

impl PageFile {
    /// The file, or that the client has it already.
    pub fn answer(&self, headers: &HeaderMap) -> Answer {
        let known = headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
        let is_known = known.split(',').any(|tag| tag.trim() == self.tag() || tag.trim() == "*");
        let (packed, unpacked) = (Bytes::from_static(self.gzip), takes_gzip(headers));
        let mut answer = match (is_known, unpacked) {
            (true, _) => response(StatusCode::NOT_MODIFIED, self.mime, Outgoing::Whole(None)),
            (false, true) => whole(StatusCode::OK, self.mime, packed),
            (false, false) => whole(StatusCode::OK, self.mime, self.unpacked()),
        };
        let fields = answer.headers_mut();
        if !is_known && unpacked {
            fields.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Ok(tag) = HeaderValue::from_str(self.tag()) {
            fields.insert(ETAG, tag);
        }
        for (name, value) in [
            (CACHE_CONTROL, "no-cache"),
            (VARY, "Accept, Accept-Encoding"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ] {
            fields.insert(name, HeaderValue::from_static(value));
        }
        answer
    }
    /// The same for the packed and the unpacked file, and so a weak one.
    fn tag(&self) -> &str {
        self.tag.get_or_init(|| {
            let hash = digest(&SHA256, self.gzip);
            format!("W/\"{}\"", data_encoding::HEXLOWER.encode(&hash.as_ref()[..16]))
        })
    }
    fn unpacked(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // What the build wrote unpacks; a test asks for each file.
        let _ = GzDecoder::new(self.gzip).take(FILE_BYTES_MAX).read_to_end(&mut bytes);
        bytes
    }
}

/// Does the client take gzip? One that says nothing of encodings takes each (RFC 9110, 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let Some(accept) = headers.get(ACCEPT_ENCODING) else { return true };
    let accept = accept.to_str().unwrap_or_default();
    accept.split(',').any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let is_refused = weight.trim().strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0));
        ["gzip", "x-gzip", "*"].contains(&name.trim()) && !is_refused
    })
}
