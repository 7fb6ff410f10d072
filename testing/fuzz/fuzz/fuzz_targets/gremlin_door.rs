//! See `targets::gremlin_door`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::targets::gremlin_door(bytes));
