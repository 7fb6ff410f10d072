//! See `targets::gremlin_interface`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::targets::gremlin_interface(bytes));
