//! World: clock, chance, disk, memory, network and threads, the only crate that uses the operating system.
//!
//! Every other crate reaches these through here, so that a test can put a simulated one in the place of a real one; clippy
//! forbids the ways around (`clippy.toml` at the root names the replacement of each).
#![cfg_attr(not(test), deny(clippy::unwrap_used))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod chance;
pub mod clock;
pub mod disk;
pub mod failpoint;
pub mod fiber;
pub mod files;
pub mod machine;
pub mod memory;
pub mod net;
pub mod panics;
pub mod threads;
pub mod watched_disk;
pub mod workers;
