//! Percent-decoding in paths and queries of HTTP.

/// The bytes of a text in which `%` and two digits mean a byte; none where a percent sign begins no byte (RFC 3986, section 2.1).
pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.extend(data_encoding::HEXLOWER_PERMISSIVE.decode(&digits).ok()?);
    }
    Some(bytes)
}
