//! CORS headers for browsers; [`crate::site`] decides which sites are allowed.

use super::refusal::Refusal;
use crate::site::{self, Fault};
use hyper::StatusCode;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, HeaderMap, HeaderValue, ORIGIN, VARY,
};

/// Seconds for which a browser caches the permission.
const PREFLIGHT_SECONDS: &str = "600";

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        match fault {
            Fault::Hosts | Fault::NoHost | Fault::OtherHost => Refusal::invalid(fault.message()),
            Fault::Name => Refusal::new(StatusCode::MISDIRECTED_REQUEST, fault.message()),
            Fault::Page => Refusal::new(StatusCode::FORBIDDEN, fault.message()),
        }
    }
}

/// The site of the requesting page, if it is allowed and another than ours.
///
/// # Errors
/// It is not allowed.
pub(super) fn check(headers: &HeaderMap, allowed: &[String]) -> Result<Option<HeaderValue>, Refusal> {
    let other = site::check_page(headers, allowed)?;
    Ok(other.and_then(|_| headers.get(ORIGIN).cloned()))
}

/// Allows the page of this site to read the answer.
pub(super) fn permit(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// The methods and headers that a page may use.
pub(super) fn permit_methods(headers: &mut HeaderMap) {
    let methods = HeaderValue::from_static("GET, POST, DELETE");
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    let fields = HeaderValue::from_static("authorization, content-type, accept, last-event-id");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, fields);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(PREFLIGHT_SECONDS));
}
