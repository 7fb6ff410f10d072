//! The body of a request: read within a size, a time and the bytes that all clients together may hold.

use super::refusal::Refusal;
use crate::Limits;
use crate::listener::crowd::Account;
use crate::listener::wire::patience_ns;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use std::time::Duration;
use tokio::time::timeout;
use world::clock::monotonic_ns;

/// A body, and the account that its bytes are on.
pub(super) struct Received {
    pub bytes: Vec<u8>,
    pub _account: Account,
}

/// Reads a body to its end.
pub(super) async fn read(
    mut body: Incoming,
    limits: &Limits,
    mut account: Account,
) -> Result<Received, Refusal> {
    let too_large = || {
        let message =
            format!("the body is longer than {} bytes, which is the limit", limits.message_bytes_max);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    let too_slow = || Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
    if body.size_hint().lower() > limits.message_bytes_max as u64 {
        return Err(too_large());
    }
    let (mut bytes, began_ns) = (Vec::new(), monotonic_ns());
    loop {
        let patience_ns =
            patience_ns(limits.message_timeout, bytes.len(), limits.message_bytes_per_second_min);
        let until_ns = began_ns.saturating_add(patience_ns);
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        let frame = timeout(left.min(limits.message_timeout), body.frame()).await.map_err(|_| too_slow())?;
        let frame = match frame {
            None => return Ok(Received { bytes, _account: account }),
            Some(Err(error)) => return Err(Refusal::invalid(format!("the body cannot be read: {error}"))),
            Some(Ok(frame)) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > limits.message_bytes_max {
            return Err(too_large());
        }
        account.hold(bytes.len() + data.len()).map_err(Refusal::busy)?;
        bytes.extend_from_slice(&data);
    }
}
