//! The sources that LOAD may read, and their readers.

use dataflow::{TenantNo, UserNo};
use formats::tables::TableFormat;
use formats::urls::UrlReader;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The folder for files that statements name, and readers for sources that the engine cannot read by itself.
#[derive(Clone, Default)]
pub struct Imports {
    /// Files lie below it; none can be named where absent.
    pub folder: Option<Arc<Path>>,
    /// Reads Parquet.
    pub parquet: Option<Arc<dyn TableFormat>>,
    /// Reads URLs; none can be named where absent.
    pub urls: Option<Arc<dyn UrlReader>>,
}

impl fmt::Debug for Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parquet, urls) = (self.parquet.is_some(), self.urls.is_some());
        write!(f, "Imports {{ folder: {:?}, parquet: {parquet}, urls: {urls} }}", self.folder)
    }
}

/// The tenant and user that are charged for a statement that reads URLs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FetchAccount {
    pub(crate) tenant: TenantNo,
    pub(crate) user: UserNo,
}
