//! Where a blob lies: twenty bytes that a manifest keeps for each chunk.

/// Reference to a blob in a checkpoint's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobRef {
    /// Number of the file in `data/`, from 1.
    pub file: u32,
    /// Where the blob's bytes begin in it, a multiple of [`crate::BLOB_ALIGNMENT_BYTES`].
    pub offset: u64,
    /// Length of the blob in bytes.
    pub length: u32,
    /// CRC-32 of the blob's bytes.
    pub crc: u32,
}

impl BlobRef {
    /// Set in the offset of a blob that is kept in parts: the list of their references is stored there. Offsets are multiples of 16.
    const PARTS_FLAG: u64 = 1;

    /// The reference to a blob whose parts are listed in the blob at this one.
    pub(crate) fn of_parts(self) -> Self {
        Self { offset: self.offset | Self::PARTS_FLAG, ..self }
    }

    /// The reference to the list of parts; none where the blob is whole.
    pub(crate) fn parts(self) -> Option<Self> {
        (self.offset & Self::PARTS_FLAG != 0)
            .then_some(Self { offset: self.offset & !Self::PARTS_FLAG, ..self })
    }

    /// Length of the encoded form.
    pub const ENCODED_BYTES: usize = 20;

    /// The encoded form: file, offset, length, crc, little-endian.
    #[must_use]
    pub fn encode(self) -> [u8; Self::ENCODED_BYTES] {
        let mut bytes = [0; Self::ENCODED_BYTES];
        bytes[0..4].copy_from_slice(&self.file.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.offset.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.crc.to_le_bytes());
        bytes
    }

    /// Reads the encoded form back. Any twenty bytes decode; whether a blob lies there shows when it is read.
    #[must_use]
    pub fn decode(bytes: &[u8; Self::ENCODED_BYTES]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let offset = u64::from(word(4)) | u64::from(word(8)) << 32;
        Self { file: word(0), offset, length: word(12), crc: word(16) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_is_reversible_and_as_documented() {
        let blob = BlobRef { file: 1, offset: 0x0203_0405_0607_0809, length: 10, crc: 0x0B0C_0D0E };
        let bytes = blob.encode();
        assert_eq!(bytes, [1, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2, 10, 0, 0, 0, 14, 13, 12, 11]);
        assert_eq!(BlobRef::decode(&bytes), blob);
    }
}
