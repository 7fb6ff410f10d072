//! Commands that this build was made without: each is known by its name, and says how to get it.
#![cfg_attr(
    all(feature = "bench", feature = "cluster", feature = "kronos"),
    allow(unused_macros, unused_imports, reason = "nothing was left out")
)]

use super::Exit;
use clap::Args;
use database::Error;
use std::ffi::OsString;

/// A module with a command of this name that a feature would have brought.
macro_rules! left_out {
    ($module:ident, $command:ident, $feature:literal, $help:literal) => {
        pub mod $module {
            use super::*;

            #[doc = $help]
            #[derive(Args)]
            #[command(disable_help_flag = true)]
            pub struct $command {
                #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
                _words: Vec<OsString>,
            }

            impl $command {
                pub fn run(self) -> Result<(), Exit> {
                    let message = concat!("this build has no command `", stringify!($module), "`");
                    let hint = concat!(
                        "build with `cargo build --release` and its default features, or with `--features ",
                        $feature,
                        "`; the binaries that are handed out have it"
                    );
                    Err(Error::new("Tanglewood.ClientError.Command.LeftOut", message).hint(hint).into())
                }
            }
        }
    };
}

#[cfg(not(feature = "bench"))]
left_out!(bench, Bench, "bench", "Left out of this build: measure, verify every answer");
#[cfg(not(feature = "cluster"))]
left_out!(cluster, Cluster, "cluster", "Left out of this build: a cluster on one machine");
#[cfg(not(feature = "cluster"))]
left_out!(node, Node, "cluster", "Left out of this build: one process of a cluster");
#[cfg(not(feature = "kronos"))]
left_out!(kronos, Kronos, "kronos", "Left out of this build: an event ordering service");
