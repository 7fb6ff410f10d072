//! See `targets::files`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::targets::files(bytes));
