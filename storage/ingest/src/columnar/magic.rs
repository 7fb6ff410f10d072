//! How files of columns begin.

/// How a file of Parquet begins and ends.
pub(super) const PARQUET_MAGIC: &[u8] = b"PAR1";
/// How one begins whose footer is encrypted.
pub(super) const ENCRYPTED_MAGIC: &[u8] = b"PARE";
/// How a file of Arrow begins and ends.
pub(super) const ARROW_MAGIC: &[u8] = b"ARROW1";
/// How a stream of Arrow begins.
pub(super) const STREAM_MAGIC: &[u8] = b"\xff\xff\xff\xff";
/// How Feather's first version begins.
pub(super) const FEATHER_MAGIC: &[u8] = b"FEA1";
