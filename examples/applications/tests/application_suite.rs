//! The applications in process, each against an obvious twin.
#![allow(clippy::disallowed_methods)]

#[path = "suite"]
mod suite {
    mod access;
    mod blockchain;
    mod knowledge;
    mod packages;
    mod pages;
    mod rings;
    mod social;
}
