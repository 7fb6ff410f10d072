//! Durable: what survives the process. A commit log, checkpoints, and the recovery that joins them.
//!
//! ```text
//! folder/
//!   IDENTITY                        that this is a database, which, and in which format
//!   LOCK                            held while it is open
//!   log/00000000000000000001.log    commits, in segments                  docs/formats/log.md
//!   CURRENT                         names the latest checkpoint           docs/formats/checkpoint.md
//!   MANIFEST-00000000000000000042   what that checkpoint consists of
//!   data/00000001.blobs             its pieces, shared by later checkpoints
//! ```
//!
//! Reading order: [`BackingStore`] is what the crates above see, [`LocalFolder`] joins the parts, [`Log`] and [`Checkpoints`] are the
//! parts, [`backup()`] copies them while they are used, [`verify()`] reads everything and tells the truth about it.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod backing;
mod double;
mod local;
mod volatile;

mod log;

mod anchor;
mod backup;
mod blob;
mod checkpoints;

mod error;
mod folder;
mod header;
mod verify;

#[cfg(test)]
mod testing;

pub use anchor::{Anchor, CheckpointMark};
pub use backing::{BackingStore, CheckpointSink, Record, Records};
pub use backup::{BackupReport, Examine, as_database, backup, is_backup, restore};
pub use blob::BlobRef;
pub use checkpoints::{BLOB_BYTES_MAX, BLOB_FILE_BYTES_MAX, CheckpointWriter, Checkpoints};
pub use double::{Meddled, Meddler};
pub use error::{DurableError, DurableResult};
pub use folder::{Folder, OpenMode, lock_path};
pub use header::FORMAT_VERSION;
pub use local::LocalFolder;
pub use log::{GROUP_BYTES_MAX, Log, LogOptions, RECORD_FRAME_BYTES, Recovery, SEGMENT_BYTES_LARGEST};
pub use verify::{Problem, Report, verify};
pub use volatile::Volatile;

/// Blobs begin at multiples of this, so that columns in them can be read in place.
pub const BLOB_ALIGNMENT_BYTES: u64 = 16;
