//! The handshake: the client sends a magic number and four proposals, the server answers with one version or zero.

use super::Version;

/// First four bytes of every connection.
pub const MAGIC: [u8; 4] = [0x60, 0x60, 0xB0, 0x17];
/// Magic and four proposals of four bytes.
pub const HANDSHAKE_BYTES: usize = 20;

const SUPPORTED: [Version; 6] = [
    Version { major: 5, minor: 4 },
    Version { major: 5, minor: 3 },
    Version { major: 5, minor: 2 },
    Version { major: 5, minor: 1 },
    Version { major: 5, minor: 0 },
    Version { major: 4, minor: 4 },
];

/// Picks the newest supported version of the first proposal that has one. `None`: the client speaks something else.
///
/// A proposal is `00 range minor major`: that minor version and `range` ones below it. The manifest proposal `00 00 01 FF` of
/// newer drivers is passed over; they all send plain versions too.
pub fn negotiate(bytes: &[u8; HANDSHAKE_BYTES]) -> Option<Version> {
    if bytes[..4] != MAGIC {
        return None;
    }
    bytes[4..].chunks_exact(4).find_map(|proposal| {
        let (range, minor, major) = (proposal[1], proposal[2], proposal[3]);
        let lowest = minor.saturating_sub(range);
        SUPPORTED
            .into_iter()
            .find(|version| version.major == major && (lowest..=minor).contains(&version.minor))
    })
}

/// The answer to a handshake.
pub fn answer(version: Option<Version>) -> [u8; 4] {
    version.map_or([0; 4], |version| [0, 0, version.minor, version.major])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(proposals: [[u8; 4]; 4]) -> [u8; HANDSHAKE_BYTES] {
        let mut bytes = [0; HANDSHAKE_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        proposals
            .iter()
            .enumerate()
            .for_each(|(at, proposal)| bytes[4 + at * 4..8 + at * 4].copy_from_slice(proposal));
        bytes
    }

    #[test]
    fn current_drivers_get_5_4() {
        let current = handshake([[0, 0, 1, 0xFF], [0, 8, 8, 5], [0, 2, 4, 4], [0, 0, 0, 3]]);
        assert_eq!(negotiate(&current), Some(Version { major: 5, minor: 4 }));
        assert_eq!(answer(negotiate(&current)), [0, 0, 4, 5]);
    }

    #[test]
    fn strangers_get_zero() {
        assert_eq!(negotiate(&handshake([[0, 0, 0, 3], [0; 4], [0; 4], [0; 4]])), None);
        assert_eq!(negotiate(b"GET / HTTP/1.1\r\nHost"), None);
        assert_eq!(answer(None), [0; 4]);
    }
}
