//! The types of the wire: `docs/formats/kronos.proto`.

#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::disallowed_methods,
    reason = "made from the proto file"
)]
mod made {
    tonic::include_proto!("kronos.v1");
}

pub use made::*;
