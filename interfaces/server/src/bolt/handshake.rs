//! The handshake: the client sends a magic number and four proposals, the server answers with one version or zero.

use super::Version;

/// First four bytes of every connection.
pub const MAGIC: [u8; 4] = [0x60, 0x60, 0xB0, 0x17];
/// Magic and four proposals of four bytes.
pub const HANDSHAKE_BYTES: usize = 20;

/// The proposal of a client that wants the manifest.
const MANIFEST: [u8; 4] = [0, 0, 1, 0xFF];
/// Bytes of the mask of capabilities that a client may send; there are none yet.
pub const CAPABILITY_BYTES_MAX: usize = 10;

/// Newest first. 5.5 was never released.
const SUPPORTED: [Version; 9] = [
    Version { major: 5, minor: 8 },
    Version { major: 5, minor: 7 },
    Version { major: 5, minor: 6 },
    Version { major: 5, minor: 4 },
    Version { major: 5, minor: 3 },
    Version { major: 5, minor: 2 },
    Version { major: 5, minor: 1 },
    Version { major: 5, minor: 0 },
    Version { major: 4, minor: 4 },
];
/// The same as ranges: a minor version and the number of those below it.
const RANGES: [(Version, u8); 3] = [
    (Version { major: 5, minor: 8 }, 2),
    (Version { major: 5, minor: 4 }, 4),
    (Version { major: 4, minor: 4 }, 0),
];

/// How a client and the server go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// With this version.
    Version(Version),
    /// The server sends its versions ([`manifest`]), and the client chooses ([`chosen`]).
    Manifest,
}

/// Takes the first proposal that can be served, with the newest version of it. `None`: the client speaks something else.
///
/// A proposal is `00 range minor major`: that minor version and `range` ones below it; or the manifest's `00 00 01 FF`.
pub fn negotiate(bytes: &[u8; HANDSHAKE_BYTES]) -> Option<Proposal> {
    if bytes[..4] != MAGIC {
        return None;
    }
    bytes[4..].chunks_exact(4).find_map(|proposal| {
        if proposal == MANIFEST {
            return Some(Proposal::Manifest);
        }
        let (range, minor, major) = (proposal[1], proposal[2], proposal[3]);
        let lowest = minor.saturating_sub(range);
        SUPPORTED
            .into_iter()
            .find(|version| version.major == major && (lowest..=minor).contains(&version.minor))
            .map(Proposal::Version)
    })
}

/// The answer to a handshake that named versions.
pub fn answer(version: Option<Version>) -> [u8; 4] {
    version.map_or([0; 4], |version| [0, 0, version.minor, version.major])
}

/// The answer with the manifest: its form, the number of ranges, the ranges, no capabilities.
pub fn manifest() -> Vec<u8> {
    let mut bytes = MANIFEST.to_vec();
    bytes.push(RANGES.len() as u8);
    RANGES.iter().for_each(|(newest, below)| bytes.extend([0, *below, newest.minor, newest.major]));
    bytes.push(0);
    bytes
}

/// The version that a client chose from the manifest.
pub fn chosen(bytes: [u8; 4]) -> Option<Version> {
    let version = Version { major: bytes[3], minor: bytes[2] };
    (bytes[..2] == [0, 0] && SUPPORTED.contains(&version)).then_some(version)
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
    fn the_first_proposal_that_can_be_served_is_taken() {
        let version = |major, minor| Some(Proposal::Version(Version { major, minor }));
        for (proposals, taken) in [
            ([[0, 0, 1, 0xFF], [0, 8, 8, 5], [0, 2, 4, 4], [0, 0, 0, 3]], Some(Proposal::Manifest)),
            ([[0, 8, 8, 5], [0, 2, 4, 4], [0; 4], [0; 4]], version(5, 8)),
            ([[0, 5, 5, 5], [0; 4], [0; 4], [0; 4]], version(5, 4)),
            ([[0, 0, 9, 6], [0, 2, 4, 4], [0, 8, 8, 5], [0; 4]], version(4, 4)),
            ([[0, 0, 0, 3], [0; 4], [0; 4], [0; 4]], None),
        ] {
            assert_eq!(negotiate(&handshake(proposals)), taken, "{proposals:?}");
        }
        assert_eq!(negotiate(b"GET / HTTP/1.1\r\nHost"), None);
        assert_eq!((answer(Some(SUPPORTED[3])), answer(None)), ([0, 0, 4, 5], [0; 4]));
    }

    #[test]
    fn the_manifest_tells_of_all_that_is_supported() {
        let bytes = manifest();
        assert_eq!((&bytes[..5], bytes.last()), (&[0, 0, 1, 0xFF, 3][..], Some(&0)));
        let offered = bytes[5..bytes.len() - 1].chunks_exact(4).flat_map(|range| {
            let newest = range[2];
            (newest - range[1]..=newest).rev().map(|minor| Version { major: range[3], minor })
        });
        assert_eq!(offered.collect::<Vec<_>>(), SUPPORTED);
        assert_eq!(chosen([0, 0, 7, 5]), Some(Version { major: 5, minor: 7 }));
        assert_eq!((chosen([0, 0, 5, 5]), chosen([0, 0, 0, 6]), chosen([1, 0, 4, 5])), (None, None, None));
    }
}
