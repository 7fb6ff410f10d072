//! See `targets::chunk`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::targets::chunk(bytes));
