#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]
