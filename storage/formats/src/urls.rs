//! Files behind URLs, as `LOAD` reads them: the engine asks by this trait, and a room that knows the protocol answers.

use std::io::Write;

/// Who reads URLs, by rules of its own.
pub trait UrlReader: Send + Sync {
    /// Writes what lies behind a URL into `sink`; `goes_on` is asked now and then. It may take long: it is not for the threads of queries.
    ///
    /// # Errors
    /// The rules forbid it, it cannot be read, or `goes_on` said no.
    fn read(&self, url: &str, sink: &mut dyn Write, goes_on: &dyn Fn() -> bool) -> Result<(), String>;
}
