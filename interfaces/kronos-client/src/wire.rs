//! The types of the wire: `docs/formats/kronos.proto`.

#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::disallowed_methods,
    reason = "made from the proto file"
)]
mod made {
    include!("made/kronos.v1.rs.in");
}

pub use made::*;
